/* compare.js - two candidates, or two runs, side by side. */
"use strict";
(() => {
  const { el, num, table, section } = Hone;

  /* The form: two runs, and perhaps a candidate of each. */
  async function form(a, b) {
    const runs = await Hone.allRuns();
    const side = (chosen, name) => {
      const run = el("select", { "aria-label": name + " run" }, runs.map((r) => el("option", { value: r.run, selected: r.run === chosen.run }, r.run)));
      const index = el("input", { type: "number", min: 0, value: chosen.index, placeholder: "candidate", "aria-label": name + " candidate; empty compares the runs" });
      return { run, index };
    };
    const one = side(a, "First"), two = side(b, "Second");
    return el("form", { class: "tools", submit: (e) => {
      e.preventDefault();
      const whole = one.index.value === "" || two.index.value === "";
      location.hash = whole ? "/compare/" + one.run.value + "/" + two.run.value
        : "/compare/" + one.run.value + "/" + one.index.value + "/" + two.run.value + "/" + two.index.value;
    } }, one.run, one.index, el("span", {}, "with"), two.run, two.index, el("button", { type: "submit" }, "Compare"));
  }

  const rows = (list) => list.map(([name, x, y]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, x), el("td", {}, y)));

  function timesBeside(a, b) {
    const own = (c) => (c.verdict ? c.verdict.times : []).filter((t) => t.who === "candidate");
    const other = new Map(own(b).map((t) => [t.shape, t]));
    return table("Times by shape", ["Shape", "#First", "#Second", "#First / second"], own(a).map((t) => {
      const u = other.get(t.shape);
      return el("tr", {}, el("th", { scope: "row" }, t.shape || t.workload), num(Hone.time(t.median_ns, t.model)), num(u ? Hone.time(u.median_ns, u.model) : "\u2013"),
        num(u && u.median_ns > 0 ? (t.median_ns / u.median_ns).toFixed(2) + "\u00d7" : ""));
    }));
  }

  async function candidates(a, b) {
    const [x, y] = await Promise.all([a, b].map((s) => Hone.get("candidate?run=" + s.run + "&n=" + s.index)));
    const link = (c) => el("a", { href: Hone.candidateLink(c.run, c.index) }, c.run + " " + c.index);
    const v = (c, key) => c.verdict ? c.verdict[key] : "";
    return [table("Two candidates", ["", "First", "Second"], rows([
      ["Candidate", link(x), link(y)], ["Verdict", Hone.verdict(x.kind), Hone.verdict(y.kind)],
      ["Time", Hone.time(v(x, "time_ns"), v(x, "model")), Hone.time(v(y, "time_ns"), v(y, "model"))],
      ["Ratio", Hone.ratio(v(x, "ratio")), Hone.ratio(v(y, "ratio"))], ["Move", x.move, y.move],
      ["Summary", v(x, "summary"), v(y, "summary")], ["Limit", v(x, "bottleneck"), v(y, "bottleneck")]]), "beside"),
    section("Times", timesBeside(x, y), el("p", { class: "quiet" }, "Times of two evaluations were not measured side by side.")),
    section("Difference", Hone.difference(x.source, y.source, [x.run + " " + x.index, y.run + " " + y.index]))];
  }

  async function wholeRuns(a, b) {
    const [x, y] = await Promise.all([a, b].map((s) => Hone.get("run?run=" + s.run)));
    const [p, q] = await Promise.all([a, b].map((s) => Hone.points(s.run)));
    const link = (r) => el("a", { href: Hone.runLink(r.run) }, r.run);
    const best = (r) => r.best >= 0 ? el("a", { href: Hone.candidateLink(r.run, r.best) }, Hone.time(r.best_time_ns, r.model)) : "\u2013";
    const both = (name, f) => [name, f(x), f(y)];
    return [table("Two runs", ["", "First", "Second"], rows([both("Run", link), both("Task", (r) => r.task), both("Strategy", (r) => r.strategy),
      both("Author", (r) => r.author), both("Device", (r) => r.device || "\u2013"), both("State", (r) => Hone.state(r.state)), both("Best", best),
      both("Ratio", (r) => Hone.ratio(r.ratio) + " " + Hone.interval(r.ratio)), both("Passed", (r) => r.passes + "/" + r.candidates),
      both("Tokens", (r) => Hone.count(r.tokens)), both("Cost", (r) => Hone.money(r.usd)), both("Time", (r) => Hone.seconds(r.wall_s))]), "beside"),
    x.task !== y.task && el("p", { class: "alert" }, "The runs have different tasks: their times cannot be compared."),
    section("Best so far", Hone.racePlot([{ name: a.run, points: p }, { name: b.run, points: q }]))];
  }

  Hone.views.compare = async (page, ...parts) => {
    const [a, b] = parts.length === 4 ? [{ run: parts[0], index: parts[1] }, { run: parts[2], index: parts[3] }]
      : [{ run: parts[0], index: "" }, { run: parts[1], index: "" }];
    const body = parts.length === 4 ? await candidates(a, b) : parts.length === 2 ? await wholeRuns(a, b)
      : el("p", { class: "quiet" }, "Choose two runs, or two candidates.");
    page.show("Compare", [["Runs", "#/"]], [await form(a, b), body]);
    return null;
  };
})();
