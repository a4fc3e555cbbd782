/* candidate.js - one candidate: its verdict in words, times, errors, source, counters, calls. */
"use strict";
(() => {
  const { el, num, table, section, fact } = Hone;

  function facts(c, v) {
    return el("dl", { class: "facts" },
      fact("Verdict", Hone.verdict(c.kind), v && v.kind !== "pass" ? "at stage " + v.stage : ""),
      fact("Time", Hone.time(v && v.time_ns), v && v.time_ns > 0 ? (v.model ? "model" : "measured") : ""),
      fact("Ratio", Hone.ratio(v && v.ratio), v && v.ratio ? (Hone.interval(v.ratio) + " over " + v.ratio.who).trim() : ""),
      fact("Fate", c.fate || "\u2013", Hone.words.of("fates", c.fate)),
      fact("Parent", c.parent >= 0 ? el("a", { href: Hone.candidateLink(c.run, c.parent) }, "candidate " + c.parent) : "none"),
      fact("Written by", c.role, [c.stage, c.author].filter(Boolean).join(", ")));
  }

  function words(v) {
    if (!v) return el("p", { class: "quiet" }, "The store has no verdict of this candidate that this version can read.");
    return [el("p", {}, Hone.words.of("kinds", v.kind)), el("p", { class: "summary" }, v.summary),
      v.bottleneck && el("pre", { class: "words" }, v.bottleneck),
      v.detail && el("pre", { class: "words", tabindex: "0" }, v.detail),
      v.warnings.map((w) => el("p", { class: "alert" }, "Warning: " + w)),
      v.baselines.filter((b) => b.state !== "right").map((b) => el("p", {}, "Baseline " + b.who + " is " + b.state + ": " + b.text)),
      el("p", { class: "quiet" }, [v.device, v.compiler, v.arch, "seed " + v.seed].filter(Boolean).join("; "))];
  }

  /* A bar from 0 to the median, with the interval as a line across its end. */
  function bar(t, most) {
    const x = (ns) => 2 + 116 * Math.min(ns / most, 1);
    return Hone.svg("svg", { width: 122, height: 14, class: "bar", "aria-hidden": "true" },
      Hone.svg("rect", { x: 0, y: 3, width: x(t.median_ns), height: 8, class: t.who === "candidate" ? "fill-good" : "fill-muted" }),
      t.hi_ns > t.lo_ns && Hone.svg("path", { class: "whisker", d: "M" + x(t.lo_ns) + " 7H" + x(t.hi_ns) + "M" + x(t.lo_ns) + " 3v8M" + x(t.hi_ns) + " 3v8" }));
  }
  function times(v) {
    const most = new Map();
    for (const t of v.times) most.set(t.workload, Math.max(most.get(t.workload) || 0, t.hi_ns, t.median_ns));
    const rivals = v.times.some((t) => t.who !== "candidate"); /* without rivals, some columns would be empty */
    const heads = rivals ? ["Shape", "Contender", "#Time", "", "#Interval", "#Ratio", "#Roofline"] : ["Shape", "#Time", "#Interval", "#Roofline"];
    return table("Times", heads, v.times.map((t, i) =>
      el("tr", { class: rivals && t.who === "candidate" ? "own" : null },
        el("th", { scope: "row" }, i && v.times[i - 1].workload === t.workload ? "" : t.shape || t.workload),
        rivals && el("td", {}, t.who === "candidate" ? "this kernel" : t.who), num(Hone.time(t.median_ns), t.model && el("small", {}, "model")),
        rivals && el("td", {}, bar(t, most.get(t.workload))),
        num(t.hi_ns > t.lo_ns ? Hone.time(t.lo_ns) + " \u2013 " + Hone.time(t.hi_ns) : ""),
        rivals && num(t.ratio > 0 ? t.ratio.toFixed(2) + "\u00d7" : "", el("small", {}, Hone.interval({ lo: t.ratio_lo, hi: t.ratio_hi }))),
        num(Hone.percent(t.roofline_pct)))));
  }

  /* Each workload is a list: name, role, shape, ok, verified, percent, worst error, rms error, output, note. */
  function errors(v) {
    const rows = [...v.workloads].sort((a, b) => a[3] - b[3] || (b[6] || 0) - (a[6] || 0));
    const wrong = rows.filter((w) => !w[3]).length;
    const lines = rows.map(([name, role, shape, ok, verified, pct, worst, rms, output, note]) =>
      el("tr", { class: ok ? null : "wrong" },
        el("th", { scope: "row" }, name, el("small", {}, shape)), el("td", {}, ok ? "right" : "wrong", note && el("small", {}, note)),
        el("td", {}, verified === "sample" ? "sample of " + Hone.digits(pct, 2) + "%" : verified || "\u2013"),
        num(output ? Hone.digits(worst || 0, 2) : "\u2013"), num(output ? Hone.digits(rms || 0, 2) : "\u2013")));
    const holder = table("Errors by workload", ["Workload", "Result", "Verified", "#Worst error", "#Rms error"], []);
    const button = Hone.more(holder.querySelector("tbody"), lines, 10);
    return [el("p", { class: "quiet" }, (wrong ? wrong + " of " + rows.length + " workloads are wrong. " : "All " + rows.length + " workloads are right. ") +
      "The worst error is divided by the tolerance, the rms error by that of an ideal implementation. The largest are first."), holder, button];
  }

  function counters(v) {
    const groups = [...new Set(v.counters.map((c) => c[0] + " \u00b7 " + c[1]))];
    const timed = groups.findIndex((g) => g.startsWith("time:"));
    const body = el("tbody"), foot = el("div");
    const draw = (name) => {
      const rows = v.counters.filter((c) => c[0] + " \u00b7 " + c[1] === name).map(([, , counter, unit, value]) =>
        el("tr", {}, el("th", { scope: "row" }, counter), num(Hone.amount(value, unit)), el("td", { class: "wide" }, Hone.words.counter(counter))));
      body.replaceChildren();
      foot.replaceChildren(Hone.more(body, rows, 12) || "");
    };
    draw(groups[Math.max(timed, 0)]);
    const holder = table("Counters", ["Counter", "#Value", "Meaning"], []);
    holder.querySelector("tbody").replaceWith(body);
    return [el("label", {}, "Workload and kernel ", el("select", { input: (e) => draw(e.target.value) },
      groups.map((g, i) => el("option", { value: Hone.plain(g), selected: i === Math.max(timed, 0) }, g)))), holder, foot];
  }

  const cut = (c, key) => c[key + "_bytes"] && el("p", { class: "quiet" }, "This is the beginning; the whole text has " + Hone.count(c[key + "_bytes"]) + " bytes.");
  function textBlock(title, c, key) {
    return [el("h3", {}, title), cut(c, key), el("pre", { class: "text", tabindex: "0" }, c[key] || "(empty)")];
  }
  function calls(c) {
    if (!c.call) return el("p", { class: "quiet" }, c.role === "given" ? "The user gave this kernel; no author wrote it." : "No author call gave exactly this source.");
    const name = c.call.role + "/" + c.call.index;
    const holder = el("div");
    let begun = false;
    return el("details", { toggle: async () => {
      if (begun) return;
      begun = true;
      try {
        const call = await Hone.get("call?run=" + c.run + "&role=" + c.call.role + "&n=" + c.call.index);
        holder.append(el("p", { class: "quiet" }, [call.author, call.model, Hone.count(call.in_tokens) + " tokens in, " + Hone.count(call.out_tokens) + " out",
          call.usd > 0 && Hone.money(call.usd), Hone.seconds(call.seconds), call.error, call.notes].filter(Boolean).join("; ")),
          ...[textBlock("Prompt, the part that all calls share", call, "stable"), textBlock("Prompt, the part of this call", call, "turn"), textBlock("Reply", call, "reply")].flat().filter(Boolean));
      } catch (e) {
        holder.append(el("p", { class: "quiet" }, Hone.isFile ? "This file was written without the prompt: hone log " + c.run + " " + name + " prints it." : e.message));
      }
    } }, el("summary", {}, "Prompt and reply of call " + name), holder);
  }

  function exports(c) {
    const commands = ["hone show " + c.run + " " + c.index + " > kernel.cu"];
    if (c.kind === "pass") commands.push("hone export " + c.run + ":" + c.index + " --as torch --out op.py", "hone export " + c.run + ":" + c.index + " --as c --out kernel_c");
    return [el("p", {}, "The source, and the kernel for other programs:"), el("pre", { class: "text" }, commands.join("\n"))];
  }

  const anywhere = (v) => v ? v.findings.filter((f) => !f.line) : [];
  Hone.views.candidate = async (page, run, index) => {
    const c = await Hone.get("candidate?run=" + run + "&n=" + index), v = c.verdict;
    /* A report file of a long run does not hold every candidate. */
    const parent = c.parent >= 0 ? await Hone.get("candidate?run=" + run + "&n=" + c.parent).catch(() => null) : null;
    const compare = "#/compare/" + run + "/" + (c.parent >= 0 ? c.parent : index) + "/" + run + "/" + index;
    page.show("Candidate " + index, [["Runs", "#/"], [run, Hone.runLink(run)]], [
      el("p", { class: "lead" }, c.move || "no move was named", c.best && el("b", { class: "tag" }, "best")),
      facts(c, v),
      el("div", { class: "split" },
        el("div", { class: "sticky" },
          section("Source", cut(c, "source"), anywhere(v).map((f) => el("p", { class: "alert" }, f.kind + ": " + f.text)),
            Hone.listing(c.source, v && v.findings, v && v.lines))),
        el("div", {},
          section("Verdict in words", words(v)),
          v && v.times.length > 0 && section("Times", times(v)),
          v && v.workloads.length > 0 && section("Errors by workload", errors(v)),
          c.confirmation && section("Confirmation", el("p", {}, c.confirmation.summary), c.confirmation.times.length > 0 && times(c.confirmation)),
          v && v.counters.length > 0 && section("Counters", counters(v)),
          section("Prompt and reply", calls(c)),
          section("Export", exports(c)))),
      c.parent >= 0 && section("Difference to its parent", !parent ? el("p", { class: "quiet" }, "Candidate " + c.parent + " is not " + (Hone.isFile ? "in this file." : "in the store.")) : Hone.difference(parent.source, c.source, ["candidate " + c.parent, "candidate " + c.index])),
      el("p", {}, el("a", { class: "button", href: compare }, "Compare with another candidate"))]);
    const found = document.querySelector(".listing .found");
    if (found) found.closest(".listing").scrollTop = found.offsetTop - 120;
    return null;
  };
})();
