/* run.js - one run: plots, lineage, baselines, ideas, calls. It follows a run that goes on. */
"use strict";
(() => {
  const { el, num, table, section, fact } = Hone;

  function facts(r) {
    return el("dl", { class: "facts" },
      fact("Best", r.best >= 0 ? el("a", { href: Hone.candidateLink(r.run, r.best) }, Hone.time(r.best_time_ns)) : "\u2013",
        r.best >= 0 ? "candidate " + r.best + (r.model ? ", model" : r.confirmed ? ", confirmed" : "") : "none passes yet"),
      fact("Ratio", Hone.ratio(r.ratio), r.ratio ? (Hone.interval(r.ratio) + " over " + r.ratio.who).trim() : "no baseline"),
      fact("Candidates", String(r.candidates), r.passes + " pass, " + r.failures + " fail"),
      fact("Repaired", r.failures_repaired + "/" + r.failures_entered, "failures"),
      fact("Tokens", Hone.count(r.tokens), r.calls + " calls" + (r.tokens_estimated ? ", estimated" : "")),
      fact("Cost", Hone.money(r.usd), r.usd_unknown ? "some prices unknown" : ""),
      fact("Time", Hone.seconds(r.wall_s), "begun " + Hone.date(r.created_ms)));
  }

  function beside(rows) {
    return table("Times beside baselines", ["Shape", "Contender", "#Time", "#Ratio", "#95% interval"], rows.map((t, i) =>
      el("tr", { class: t.who === "candidate" ? "own" : null },
        el("th", { scope: "row" }, i && rows[i - 1].workload === t.workload ? "" : t.shape || t.workload),
        el("td", {}, t.who === "candidate" ? "the kernel" : t.who), num(Hone.time(t.median_ns)),
        num(t.ratio > 0 ? t.ratio.toFixed(2) + "\u00d7" : ""), num(Hone.interval({ lo: t.ratio_lo, hi: t.ratio_hi })))));
  }

  function ideas(r) {
    const body = r.ideas.map((i) => el("tr", {}, el("td", {}, i.kind), el("td", { class: "wide" }, i.text), el("td", {}, i.outcome),
      num(i.gain > 0 ? i.gain.toFixed(2) + "\u00d7" : ""),
      num(i.node >= 0 ? el("a", { href: Hone.candidateLink(r.run, i.node) }, String(i.node)) : "")));
    return table("Ideas", ["Kind", "Idea", "Outcome", "#Gain", "#Candidate"], body);
  }

  function roles(r) {
    const sums = new Map();
    for (const [role, , , tin, tout, usd, s] of r.calls_list) {
      const at = sums.get(role) || [0, 0, 0, 0, 0];
      [1, tin, tout, usd, s].forEach((v, k) => { at[k] += v; });
      sums.set(role, at);
    }
    return table("Author calls", ["Role", "#Calls", "#Tokens in", "#Tokens out", "#Cost", "#Time"], [...sums].map(([role, s]) =>
      el("tr", {}, el("th", { scope: "row" }, role), num(String(s[0])), num(Hone.count(s[1])), num(Hone.count(s[2])), num(Hone.money(s[3])), num(Hone.seconds(s[4])))));
  }

  const notes = (r) => el("ul", {}, r.events.map((e) => el("li", {}, el("b", {}, e.kind + ": "), e.text)));
  const unconfirmed = (r) => r.unconfirmed.map((u) => el("p", { class: "alert" }, "Not confirmed: candidate ",
    el("a", { href: Hone.candidateLink(r.run, u.candidate) }, String(u.candidate)), " passed, but failed when it was evaluated again: " + u.summary));

  Hone.views.run = async (page, run) => {
    let [r, points] = await Promise.all([Hone.get("run?run=" + run), Hone.points(run)]);
    const data = { points, best: r.best, baselines: r.baseline_times, roofline: r.roofline };
    const head = el("div"), below = el("div");
    const tree = Hone.tree(run, data.points, r.best);
    const plots = [Hone.timePlot(run, data)];
    const kinds = el("div"), tokens = el("div"), roof = el("div");

    function draw() {
      head.replaceChildren(el("p", { class: "lead" }, Hone.state(r.state), " ", r.strategy, " on ", el("b", {}, r.task),
        r.device ? ", " + r.device : "", ", written by " + r.author, r.reason ? ". " + r.reason : ""), ...unconfirmed(r), facts(r));
      data.baselines = r.baseline_times;
      data.roofline = r.roofline;
      data.best = r.best;
      plots.forEach((p) => p.redraw());
      kinds.replaceChildren(Hone.kindsPlot(data));
      tokens.replaceChildren(Hone.tokensPlot(r.calls_list));
      roof.replaceChildren(r.roofline ? Hone.rooflinePlot(run, data) : el("p", { class: "quiet" },
        r.best < 0 ? "No candidate passes yet." : "The run does not say how many flops and bytes the task needs."));
      tree.update(data.points, r.best);
      below.replaceChildren(...[
        r.beside.length > 0 && section("Beside its baselines", beside(r.beside)),
        r.ideas.length > 0 && section("What was tried", ideas(r)),
        r.calls_list.length > 0 && section("Author calls", roles(r)),
        r.events.length > 0 && section("Notes", notes(r)),
        section("Configuration", el("details", {}, el("summary", {}, "as JSON"), el("pre", {}, JSON.stringify(r.config, null, 2)))),
      ].filter(Boolean));
    }
    draw();
    page.show(run, [["Runs", "#/"]], [head,
      el("div", { class: "pair" },
        section("Time per candidate", plots[0]),
        section("Lineage", tree),
        section("Roofline", roof),
        el("div", {}, section("Verdicts", kinds), r.tokens > 0 && section("Tokens and cost", tokens))),
      below]);

    return async (changes) => {
      if (changes && !changes.some((c) => c.run === run)) return;
      const known = data.points.length;
      r = await Hone.get("run?run=" + run);
      data.points = await Hone.points(run, changes ? data.points : null);
      draw();
      const fresh = data.points[data.points.length - 1];
      if (data.points.length > known) page.tell("Candidate " + fresh.index + ": " + fresh.kind.replace(/_/g, " ") +
        (fresh.time_ns > 0 ? ", " + Hone.time(fresh.time_ns, fresh.model) : ""));
    };
  };
})();
