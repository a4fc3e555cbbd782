/* plots.js - the plots of a run: time, roofline, verdict kinds, tokens. */
"use strict";
(() => {
  const { svg, time, count, digits } = Hone;
  const { linear, log, plot, line, text, axes, key } = Hone.chart;

  /* Where to go when a point is chosen. */
  const go = (run, index) => () => { location.hash = Hone.candidateLink(run, index).slice(1); };

  function dot(run, p, x, y, name, r) {
    return svg("circle", { cx: x, cy: y, r, class: "dot " + name, click: go(run, p.index) },
      svg("title", {}, p.index + ": " + p.kind + (p.time_ns > 0 ? ", " + time(p.time_ns, p.model) : "") +
        (p.move ? "\n" + p.move : "")));
  }

  const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const timed = (points) => points.filter((p) => p.kind === "pass" && p.time_ns > 0);

  /* The best time so far, as steps: [{index, time_ns}, ...]. */
  function records(points) {
    const out = [];
    for (const p of timed(points))
      if (!out.length || p.time_ns < out[out.length - 1].time_ns) out.push(p);
    return out;
  }

  function timeScale(times, top, bottom) {
    const lo = least(times), hi = -least(times.map((t) => -t)), room = Math.max(hi - lo, hi * 0.05) * 0.2;
    return hi > 3 * lo ? log(lo / 1.25, hi * 1.25, bottom, top) : linear(lo - room, hi + room, bottom, top);
  }

  function stepPath(best, x, y, end) {
    let d = "M" + x(best[0].index) + " " + y(best[0].time_ns);
    for (let i = 1; i < best.length; i++) d += "H" + x(best[i].index) + "V" + y(best[i].time_ns);
    return d + "H" + end;
  }

  /* Labels of baselines must not cover each other: each is at least 14 pixels below the label above
   * it. */
  function spread(rows, y) {
    let last = -Infinity;
    return [...rows].sort((a, b) => y(a.time_ns) - y(b.time_ns)).map((b) => {
      last = Math.max(y(b.time_ns) - 5, last + 14);
      return { ...b, at: last };
    });
  }

  /* The run's best candidate. A faster one may have failed its confirmation. */
  const bestOf = (data) => data.points.find((p) => p.index === data.best);

  Hone.timePlot = (run, data) => {
    const label = () => {
      const ok = timed(data.points), best = bestOf(data);
      return "Time per candidate. " + data.points.length + " candidates, " + ok.length + " with a time" +
        (best ? "; the best is candidate " + best.index + " with " + time(best.time_ns, best.model) : "") + ".";
    };
    return plot({ label, height: 300,
      legend: [key("best-line", "best so far"), key("pass", "pass"), key("fail", "does not pass"),
        data.baselines.length > 0 && key("base", "baselines")],
      draw: ({ width, height }) => {
        const { points, baselines } = data;
        const box = { left: 64, right: width - 14, top: 18, bottom: height - 58 };
        const ok = timed(points), failed = points.filter((p) => !(p.kind === "pass" && p.time_ns > 0));
        const last = points.length ? points[points.length - 1].index : 0;
        const x = linear(-0.5, Math.max(last, 4) + 0.5, box.left, box.right);
        const times = [...ok, ...baselines].map((p) => p.time_ns);
        const y = timeScale(times.length ? times : [1], box.top, box.bottom);
        const best = records(points);
        const many = points.length > 1500; /* then one path holds all points, so that drawing stays fast */
        return [
          axes(box, x, y, { yTicks: times.length ? y.ticks(5) : [], yText: (v) => time(v),
            xTicks: x.ticks(Math.min(width / 70, Math.max(last, 4))).filter((v) => Number.isInteger(v) && v >= 0),
            xText: String, xTitle: "candidate" }),
          spread(baselines, y).map((b) => [line(box.left, y(b.time_ns), box.right, y(b.time_ns), "base"),
            text(box.right, b.at, "end", b.who + " " + time(b.time_ns, b.model), "base-text")]),
          best.length > 0 && svg("path", { d: stepPath(best, x, y, x(last)), class: "best-line" }),
          many ? svg("path", { class: "cross thin", d: failed.map((p) => "M" + x(p.index).toFixed(1) + " " + (box.bottom - 8) + "v6").join("") })
            : failed.map((p) => svg("path", { class: "cross", click: go(run, p.index),
              d: "M" + (x(p.index) - 3) + " " + (box.bottom - 10) + "l6 6m0 -6l-6 6" },
              svg("title", {}, p.index + ": " + p.kind + "\n" + p.move))),
          many && svg("path", { class: "dots", d: ok.map((p) => "M" + x(p.index).toFixed(1) + " " + y(p.time_ns).toFixed(1) + "h0").join("") }),
          (many ? ok.filter((p) => p.index === data.best) : ok).map((p) => dot(run, p, x(p.index), y(p.time_ns),
            p.index === data.best ? "best" : "pass", p.index === data.best ? 5.5 : 3.6)),
        ];
      } });
  };

  Hone.rooflinePlot = (run, data) => {
    const r = data.roofline, intensity = r.flops / r.bytes, ridge = r.gflops / r.gbps;
    const rate = (p) => r.flops / p.time_ns; /* flops per ns are Gflop/s */
    const best = () => bestOf(data);
    const flops = (v) => Hone.amount(v * 1e9, "flop/s");
    const label = () => "Roofline. The task does " + digits(intensity, 3) + " flops per byte. The memory ceiling is " +
      Math.round(r.gbps) + " GB/s, the arithmetic ceiling " + flops(r.gflops) + "." +
      (best() ? " The best candidate reaches " + flops(rate(best())) + "." : "");
    return plot({ label, height: 300,
      legend: [key("roof-line", "ceilings " + (r.measured ? "measured on the GPU" : "from the data sheet of " + r.gpu)),
        key("pass", "a candidate"), r.shapes > 1 && "means of " + r.shapes + " shapes"],
      draw: ({ width, height }) => {
        const box = { left: 84, right: width - 16, top: 22, bottom: height - 58 };
        /* Both ceilings are shown, unless the ridge where they meet is so far away that all candidates
         * would lie on one point. */
        const near = ridge / intensity < 2000 && intensity / ridge < 2000;
        const lo = intensity / 8 / (near && ridge < intensity ? intensity / ridge : 1);
        const hi = intensity * 8 * (near && ridge > intensity ? ridge / intensity : 1);
        const x = log(lo, hi, box.left, box.right);
        const roof = (v) => Math.min(v * r.gbps, r.gflops);
        const ok = timed(data.points), rates = ok.map(rate), middle = Math.sqrt(lo * Math.min(hi, ridge));
        const y = log(Math.min(least(rates), roof(lo)) / 1.6, Math.max(-least(rates.map((v) => -v)), roof(hi)) * 1.6, box.bottom, box.top);
        const top = best();
        return [
          axes(box, x, y, { yTicks: y.ticks(5), yText: flops, xTicks: x.ticks(5), xText: (v) => digits(v, 2),
            xTitle: "flops per byte" }),
          svg("path", { class: "roof-line", d: "M" + x(lo) + " " + y(roof(lo)) +
            (ridge > lo && ridge < hi ? "L" + x(ridge) + " " + y(r.gflops) : "") + "L" + x(hi) + " " + y(roof(hi)) }),
          ridge > lo && text(x(middle) - 8, y(roof(middle)) - 8, "end", Math.round(r.gbps) + " GB/s", "tick"),
          ridge < hi && text(box.right, y(r.gflops) - 8, "end", flops(r.gflops), "tick"),
          line(x(intensity), box.bottom, x(intensity), y(Math.min(intensity * r.gbps, r.gflops)), "grid"),
          (ok.length > 1500 ? [...records(data.points), top].filter(Boolean) : ok).map((p) =>
            dot(run, p, x(intensity), y(rate(p)), p === top ? "best" : "pass", p === top ? 5.5 : 3.6)),
          top && text(x(intensity) + 12, y(rate(top)) + 4, "start",
            "candidate " + top.index + ", " + Hone.percent(top.roofline_pct), "tick"),
        ];
      } });
  };

  Hone.kindsPlot = (data) => {
    const groups = Hone.words.groups;
    const groupOf = (p) => groups.findIndex((g) => g.kinds.includes(p.kind));
    const totals = () => groups.map((g) => data.points.filter((p) => g.kinds.includes(p.kind)).length);
    const figure = plot({ height: 150,
      label: () => "Verdicts over time: " + groups.map((g, i) => totals()[i] + " " + g.name).join(", ") + ".",
      legend: groups.map((g, i) => totals()[i] > 0 && key("fill-" + g.color, g.name, String(totals()[i]))),
      draw: ({ width, height }) => {
        const n = data.points.length, bins = Math.max(Math.min(n, 48), 1), size = Math.ceil(n / bins) || 1;
        const box = { left: 40, right: width - 14, top: 14, bottom: height - 42 };
        const stacks = Array.from({ length: Math.ceil(n / size) }, () => groups.map(() => 0));
        data.points.forEach((p, i) => { const g = groupOf(p); if (g >= 0) stacks[Math.floor(i / size)][g]++; });
        const x = linear(0, Math.max(stacks.length, 24), box.left, box.right);
        const y = linear(0, size, box.bottom, box.top);
        return [
          axes(box, x, y, { yTicks: y.ticks(2).filter(Number.isInteger), yText: String, xTicks: [], xText: String,
            xTitle: size > 1 ? "candidates, " + size + " in each bar" : "candidate" }),
          stacks.map((counts, i) => {
            let at = 0;
            return counts.map((c, g) => {
              if (!c) return null;
              const bar = svg("rect", { x: x(i) + 1, width: Math.max(x(i + 1) - x(i) - 2, 1), y: y(at + c),
                height: y(at) - y(at + c), class: "fill-" + groups[g].color },
                svg("title", {}, c + " " + groups[g].name));
              at += c;
              return bar;
            });
          }),
        ];
      } });
    return figure;
  };

  /* calls: [role, index, ok, tokens in, tokens out, usd, seconds, ms] */
  Hone.tokensPlot = (calls) => {
    let sum = 0, usd = 0;
    const steps = calls.map((c) => ({ tokens: sum += c[3] + c[4], usd: usd += c[5] }));
    return plot({ height: 190,
      label: () => "Tokens: " + count(sum) + " in " + calls.length + " author calls" + (usd > 0 ? ", " + Hone.money(usd) : "") + ".",
      legend: [key("best-line", "tokens", count(sum)), usd > 0 && key("base", "cost", Hone.money(usd))],
      draw: ({ width, height }) => {
        const box = { left: 54, right: width - 14, top: 14, bottom: height - 42 };
        const x = linear(0, Math.max(calls.length, 1), box.left, box.right);
        const y = linear(0, sum * 1.05 || 1, box.bottom, box.top);
        const money = linear(0, usd * 1.05 || 1, box.bottom, box.top);
        const path = (scale, k) => "M" + box.left + " " + box.bottom +
          steps.map((s, i) => "L" + x(i + 1) + " " + scale(s[k])).join("");
        return [
          axes(box, x, y, { yTicks: sum ? y.ticks(3) : [], yText: count, xTicks: [], xText: String, xTitle: "author calls" }),
          sum > 0 && svg("path", { class: "best-line", d: path(y, "tokens") }),
          usd > 0 && svg("path", { class: "base", d: path(money, "usd") }),
        ];
      } });
  };

  /* The best-so-far lines of two runs in one plot. */
  Hone.racePlot = (runs) => plot({ height: 280,
    label: () => "Best time so far: " + runs.map((r) => r.name + " reaches " +
      (records(r.points).length ? time(records(r.points).pop().time_ns) : "no time")).join("; ") + ".",
    legend: runs.map((r, i) => key(i ? "second-line" : "best-line", r.name)),
    draw: ({ width, height }) => {
      const box = { left: 64, right: width - 14, top: 18, bottom: height - 48 };
      const best = runs.map((r) => records(r.points));
      const last = Math.max(4, ...runs.map((r) => r.points.length ? r.points[r.points.length - 1].index : 0));
      const times = best.flat().map((p) => p.time_ns);
      const x = linear(0, last, box.left, box.right), y = timeScale(times.length ? times : [1], box.top, box.bottom);
      return [axes(box, x, y, { yTicks: times.length ? y.ticks(5) : [], yText: (v) => time(v),
        xTicks: x.ticks(6).filter(Number.isInteger), xText: String, xTitle: "candidate" }),
      best.map((b, i) => b.length > 0 && svg("path", { class: i ? "second-line" : "best-line",
        d: stepPath(b, x, y, x(runs[i].points[runs[i].points.length - 1].index)) }))];
    } });
})();
