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

  Hone.views.campaigns = async (page) => {
    const load = async () => {
      const list = await all();
      const rows = list.map((c) => el("tr", {}, el("th", { scope: "row" }, el("a", { href: link(c.campaign) }, c.campaign)),
        num(c.done + "/" + c.tasks), num(el("span", { title: Hone.date(c.created_ms) }, Hone.age(c.created_ms)))));
      page.show("Campaigns", [["Runs", "#/"]], list.length === 0
        ? el("p", {}, "The store has no campaigns yet: ", el("code", {}, "hone bench SUITE"), " makes one.")
        : Hone.table("Campaigns", ["Campaign", "#Done", "#Begun"], rows));
    };
    await load();
    return load;
  };

  /* ---- one campaign ---- */
  const heads = ["#No.", "Task", "State", "Kind", "#Ours", "#Baseline", "#Ratio", "#Roofline", "#Candidates", "#Tokens", "Notes"];
  const against = (r) => r.against && { mid: r.against.ratio, lo: r.against.lo, hi: r.against.hi };
  const baseline = (r) => r.against && r.baselines.find((b) => b.who === r.against.who);
  const notes = (r) => [r.standing, r.ours_ns > 0 && r.model && "modelled", r.degenerate && "degenerate",
    r.collapsed && "collapsed by algebra", r.state !== "pass" && r.reason].filter(Boolean).join(", ");

  function row(r) {
    const b = baseline(r), ratio = against(r);
    return el("tr", {}, num(r.number),
      el("th", { scope: "row" }, r.run ? el("a", { href: Hone.runLink(r.run) }, r.task) : r.task,
        el("small", {}, [r.precision, r.hone].filter(Boolean).join(" \u00b7 "))),
      el("td", {}, el("span", { class: "verdict " + ({ pass: "good", "no pass": "bad", failed: "bad" }[r.state] || "quiet") }, r.state)),
      el("td", {}, r.kind), num(Hone.time(r.ours_ns)), num(b ? Hone.time(b.ns) : "\u2013", b && el("small", {}, b.who)),
      num(Hone.ratio(ratio), el("small", {}, r.model ? "model" : Hone.interval(ratio))), num(Hone.percent(r.roofline_pct)),
      num(r.candidates), num(Hone.count(r.tokens)), el("td", {}, notes(r)));
  }

  function means(name, s, model) {
    const mean = (x) => x > 0 ? x.toFixed(2) + "\u00d7" : "\u2013";
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
        Hone.section("Tasks", Hone.table("Tasks", heads, c.rows.map(row), "cards")));
    };
    await load();
    return load;
  };
})();
