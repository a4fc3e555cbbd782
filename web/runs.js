/* runs.js - the list of runs, with filter and order. */
"use strict";
(() => {
  const { el, num } = Hone;
  const columns = [
    { name: "Run", value: (r) => r.run },
    { name: "State", value: (r) => r.state },
    { name: "Device", value: (r) => r.device || "" },
    { name: "Best time", value: (r) => r.best_time_ns || Infinity, num: true },
    { name: "Ratio", value: (r) => -(r.ratio ? r.ratio.mid : 0), num: true, title: "the baseline's time over the best kernel's, with its 95% interval" },
    { name: "Passed", value: (r) => -r.passes, num: true },
    { name: "Tokens", value: (r) => -r.tokens, num: true },
    { name: "Cost", value: (r) => -r.usd, num: true },
    { name: "Begun", value: (r) => -r.created_ms, num: true },
  ];
  const STEP = 200;
  const order = { column: 8, down: false }; /* kept while other views are shown */
  let filter = { words: "", state: "" };

  function row(r) {
    const cells = [
      el("th", { scope: "row" }, el("a", { href: Hone.runLink(r.run) }, r.run),
        el("small", {}, [r.task, r.strategy, r.author].filter(Boolean).join(" \u00b7 "))),
      el("td", {}, Hone.state(r.state), r.reason && el("small", {}, r.reason)),
      el("td", {}, r.device || "\u2013"),
      num(Hone.time(r.best_time_ns), r.model && el("small", {}, "model")),
      num(Hone.ratio(r.ratio), el("small", {}, r.ratio ? (Hone.interval(r.ratio) + " over " + r.ratio.who).trim() : "")),
      num(r.passes + "/" + r.candidates), num(Hone.count(r.tokens)), num(Hone.money(r.usd)),
      num(el("span", { title: Hone.date(r.created_ms) }, Hone.age(r.created_ms))),
    ];
    cells.forEach((c, i) => c.setAttribute("data-label", columns[i].name));
    return el("tr", {}, cells);
  }

  function chosen(runs) {
    const words = filter.words.toLowerCase().split(/\s+/).filter(Boolean);
    const hit = (r) => (!filter.state || r.state === filter.state) &&
      words.every((w) => [r.run, r.task, r.strategy, r.author, r.device].join(" ").toLowerCase().includes(w));
    return runs.filter(hit);
  }

  Hone.views.runs = async (page) => {
    let runs = [], limit = STEP;
    const body = el("tbody"), tell = el("p", { class: "quiet", role: "status" }), foot = el("p");
    const { heads, sort } = Hone.ordered(columns, order, draw);

    function draw() {
      const list = sort(chosen(runs));
      body.replaceChildren(...list.slice(0, limit).map(row));
      tell.textContent = list.length === runs.length ? runs.length + " runs" : list.length + " of " + runs.length + " runs";
      foot.replaceChildren(...(list.length > limit ? [el("button", { type: "button", click: () => { limit += STEP; draw(); } }, "Show more")] : []));
    }
    const load = () => Hone.allRuns((all, done) => {
      if (!done && all.length < runs.length) return;
      runs = [...all];
      draw();
    });
    const search = el("input", { type: "search", value: filter.words, placeholder: "task, device, author ...", "aria-label": "Filter runs",
      input: (e) => { filter.words = e.target.value; draw(); } });
    const states = el("select", { "aria-label": "State", input: (e) => { filter.state = e.target.value; draw(); } },
      ["", ...Object.keys(Hone.words.states)].map((s) => el("option", { value: s, selected: s === filter.state }, s || "all states")));
    await load();
    const to = (href, name) => el("a", { class: "button", href }, name);
    const others = [to("#/campaigns", "Campaigns"), to("#/training", "Training")];
    page.show("Runs", [], runs.length === 0 ? [el("div", { class: "tools" }, others),
      el("p", {}, "The store has no runs yet: ", el("code", {}, "hone optimize TASK"), " makes one.")] : [
      el("div", { class: "tools" }, search, states, to("#/compare", "Compare"), others, tell),
      el("table", { class: "runs cards" }, el("thead", {}, el("tr", {}, heads)), body), foot]);
    return load;
  };
})();
