/* campaigns.js - the list of campaigns, and the league table of one. */
"use strict";
(() => {
  const { el, num } = Hone;
  const link = (name) => "#/campaign/" + name;

  async function all() {
    const list = [];
    for (let before = 0; before !== undefined;) {
      const page = await Hone.get("campaigns?before=" + before);
      list.push(...page.campaigns);
      before = page.next;
    }
    return list;
  }

  const mean = (x) => x > 0 ? x.toFixed(2) + "\u00d7" : "\u2013";

  /* ---- all campaigns ---- */
  const LOADED = 40; /* we load the means of only this many campaigns, the newest ones */
  const leagueOrder = { column: 7, down: false };
  const league = [
    { name: "Campaign", value: (c) => c.campaign },
    { name: "Done", value: (c) => -c.done, num: true },
    { name: "Passed", value: (c) => c.all ? -c.all.passes / c.all.tasks : 1, num: true },
    { name: "Failed", value: (c) => c.all ? c.all.failures : Infinity, num: true },
    { name: "Mean", value: (c) => c.all ? -c.all.mean : 1, num: true, title: "geometric mean of the ratios; a failure counts 1.00\u00d7" },
    { name: "Mean of passes", value: (c) => c.all ? -c.all.mean_passes : 1, num: true },
    { name: "Wins / losses / ties", value: (c) => c.all && !c.model ? -c.all.wins : 1, num: true },
    { name: "Begun", value: (c) => -c.created_ms, num: true },
  ];

  function leagueRow(c) {
    const s = c.all;
    return [el("th", { scope: "row" }, el("a", { href: link(c.campaign) }, c.campaign)), num(c.done + "/" + c.tasks),
      num(s ? s.passes + "/" + s.tasks : "\u2013"), num(s ? s.failures : "\u2013"), num(s ? mean(s.mean) : "\u2013", s && c.model && el("small", {}, "model")),
      num(s ? mean(s.mean_passes) : "\u2013"), num(s && !c.model ? s.wins + " / " + s.losses + " / " + s.ties : "\u2013"),
      num(el("span", { title: Hone.date(c.created_ms) }, Hone.age(c.created_ms)))];
  }

  Hone.views.campaigns = async (page) => {
    const load = async () => {
      const list = await all();
      for (const c of list.slice(0, LOADED)) {
        const { all: scores, model } = await Hone.get("campaign?name=" + c.campaign).catch(() => ({}));
        Object.assign(c, { all: scores, model });
      }
      page.show("Campaigns", [["Runs", "#/"]], list.length === 0
        ? el("p", {}, "The store has no campaigns yet: ", el("code", {}, "hone bench SUITE"), " makes one.")
        : Hone.orderedTable("Campaigns", league, leagueOrder, list, leagueRow));
    };
    await load();
    return load;
  };

  /* ---- one campaign ---- */
  const against = (r) => r.against && { mid: r.against.ratio, lo: r.against.lo, hi: r.against.hi };
  const baseline = (r) => r.against && r.baselines.find((b) => b.who === r.against.who);
  const notes = (r) => [r.standing, r.ours_ns > 0 && r.model && "modelled", r.degenerate && "degenerate",
    r.collapsed && "collapsed by algebra", r.state !== "pass" && r.reason].filter(Boolean).join(", ");

  const taskOrder = { column: 0, down: false };
  const columns = [
    { name: "No.", value: (r) => r.number, num: true },
    { name: "Task", value: (r) => r.task },
    { name: "State", value: (r) => r.state },
    { name: "Kind", value: (r) => r.kind },
    { name: "Ours", value: (r) => r.ours_ns > 0 ? r.ours_ns : Infinity, num: true },
    { name: "Baseline", value: (r) => baseline(r) ? baseline(r).ns : Infinity, num: true },
    { name: "Ratio", value: (r) => r.against ? -r.against.ratio : 1, num: true, title: "the baseline's time over ours, with its 95% interval" },
    { name: "Roofline", value: (r) => -(r.roofline_pct || 0), num: true },
    { name: "Candidates", value: (r) => -r.candidates, num: true },
    { name: "Tokens", value: (r) => -r.tokens, num: true },
    { name: "Notes", value: notes },
  ];

  function row(r) {
    const b = baseline(r), ratio = against(r);
    return [num(r.number),
      el("th", { scope: "row" }, r.run ? el("a", { href: Hone.runLink(r.run) }, r.task) : r.task,
        el("small", {}, [r.precision, r.hone].filter(Boolean).join(" \u00b7 "))),
      el("td", {}, el("span", { class: "verdict " + ({ pass: "good", "no pass": "bad", failed: "bad" }[r.state] || "quiet") }, r.state)),
      el("td", {}, r.kind), num(Hone.time(r.ours_ns)), num(b ? Hone.time(b.ns) : "\u2013", b && el("small", {}, b.who)),
      num(Hone.ratio(ratio), el("small", {}, r.model ? "model" : Hone.interval(ratio))), num(Hone.percent(r.roofline_pct)),
      num(r.candidates), num(Hone.count(r.tokens)), el("td", {}, notes(r))];
  }

  function means(name, s, model) {
    return el("tr", {}, el("th", { scope: "row" }, name), num(s.passes + "/" + s.tasks), num(s.failures), num(mean(s.mean)),
      num(mean(s.mean_passes), el("small", {}, s.in_mean + " passes")),
      num(model ? "\u2013" : s.wins + " / " + s.losses + " / " + s.ties));
  }

  Hone.views.campaign = async (page, name) => {
    const load = async () => {
      const c = await Hone.get("campaign?name=" + name);
      const scores = [means("all", c.all, c.model)];
      if (c.collapsed) scores.push(means("without tasks that algebra collapses", c.without_collapsed, c.model));
      for (const [kind, s] of Object.entries(c.kinds)) scores.push(means(kind, s, c.model));
      page.show(c.campaign, [["Runs", "#/"], ["Campaigns", "#/campaigns"]],
        c.model && c.all.in_mean > 0 && el("p", { class: "alert" },
          "Ratios are modelled on the emulator, against each task's first baseline. They say nothing about PyTorch."),
        el("p", { class: "quiet" }, c.unfinished ? c.unfinished + " tasks are not done. " : "",
          c.degenerate ? c.degenerate + " degenerate tasks are left out of the means. " : "", "A failure counts 1.00\u00d7 in the mean."),
        Hone.section("Means", Hone.table("Means", ["Kind", "#Passed", "#Failed", "#Mean", "#Mean of passes", "#Wins / losses / ties"], scores, "cards")),
        Hone.section("Tasks", Hone.orderedTable("Tasks", columns, taskOrder, c.rows, row)));
    };
    await load();
    return load;
  };
})();
