/* training.js - the training runs of hone-gnn: the list, and the curves and the time line of one. */
"use strict";
(() => {
  const { el, num, svg, table, section, fact } = Hone;
  const { linear, log, plot, line, text, axes, key } = Hone.chart;
  const link = (name) => "#/training/" + name;
  const percent = (share) => typeof share === "number" ? (100 * share).toFixed(2) + "%" : "\u2013";
  const value = (x) => typeof x === "number" ? Hone.digits(x, 4) : "\u2013";
  const byName = (columns, row) => row && Object.fromEntries(columns.map((name, i) => [name, row[i]]));
  const is = Number.isFinite;
  const took = (s) => s < 60 ? Hone.time(s * 1e9) : Hone.seconds(s);

  async function all() {
    const list = [];
    for (let from = 0; from !== undefined;) {
      const page = await Hone.get("trainings?from=" + from);
      list.push(...page.trainings.map((t) => ({ ...t, last: byName(page.columns, t.last) })));
      from = page.next;
    }
    return list;
  }

  const about = (t) => [t.model, t.data, t.device, t.ranks > 1 ? t.ranks + " ranks" : ""].filter(Boolean).join(" \u00b7 ");

  Hone.views.trainings = async (page) => {
    const load = async () => {
      const list = await all();
      const rows = list.map((t) => el("tr", {},
        el("th", { scope: "row" }, el("a", { href: link(t.name) }, t.name), el("small", {}, about(t))),
        el("td", {}, Hone.state(t.state)), num((t.epochs_done || 0) + "/" + (t.planned_epochs || "?")), num(value(t.last && t.last.loss)),
        num(percent(t.last && t.last.accuracy)), num(percent(t.last && t.last.eval_accuracy)),
        num(took(t.last && t.last.wall_s)), num(el("span", { title: Hone.date(t.changed_ms) }, Hone.age(t.changed_ms)))));
      page.show("Training", [["Runs", "#/"]], list.length === 0
        ? el("p", {}, "There are no training runs beside the store: ",
          el("code", {}, "hone-gnn train --record hone-out/training/NAME.json DIR"), " writes one.")
        : table("Training runs", ["Run", "State", "#Epochs", "#Loss", "#Training", "#Evaluation", "#Epoch takes", "#Changed"], rows, "runs cards"));
    };
    await load();
    return async (changes) => { if (!changes || changes.some((c) => c.training)) await load(); };
  };

  /* ---- curves ---- */
  function range(rows, series) {
    let lo = Infinity, hi = -Infinity;
    for (const r of rows) for (const s of series) if (is(r[s.key])) { lo = Math.min(lo, r[s.key]); hi = Math.max(hi, r[s.key]); }
    return lo <= hi ? [lo, hi] : [0, 1];
  }

  /* Draws lines over the epochs. If an epoch lacks a value, the line has a gap there. */
  function curves(rows, series, { name, say, tick, wide }) {
    const words = () => name + " over " + rows.length + " epochs: " + series.map((s) => {
      const known = rows.map((r) => r[s.key]).filter(is);
      return s.name + (known.length ? " from " + say(known[0]) + " to " + say(known[known.length - 1]) : " is not known");
    }).join(", ") + ".";
    return plot({ label: words, height: 240, legend: series.map((s) => key(s.line, s.name)),
      draw: ({ width, height }) => {
        const box = { left: 64, right: width - 14, top: 16, bottom: height - 46 };
        const [lo, hi] = range(rows, series), room = Math.max(hi - lo, Math.abs(hi) * 0.02) * 0.06 || 1;
        const x = linear(rows[0].epoch, Math.max(rows[rows.length - 1].epoch, rows[0].epoch + 1), box.left, box.right);
        const y = wide && lo > 0 && hi > 20 * lo ? log(lo / 1.2, hi * 1.2, box.bottom, box.top)
          : linear(lo - room, hi + room, box.bottom, box.top);
        return [axes(box, x, y, { yTicks: y.ticks(5), yText: tick || say, xTicks: x.ticks(Math.min(8, width / 70)).filter(Number.isInteger),
          xText: String, xTitle: "epoch" }),
        series.map((s) => {
          let d = "", pen = false;
          for (const r of rows) {
            if (is(r[s.key])) d += (pen ? "L" : "M") + x(r.epoch).toFixed(1) + " " + y(r[s.key]).toFixed(1);
            pen = is(r[s.key]);
          }
          const last = [...rows].reverse().find((r) => is(r[s.key]));
          return [svg("path", { class: s.line, d }),
            last && svg("circle", { class: "dot " + s.dot, r: 3.6, cx: x(last.epoch), cy: y(last[s.key]) },
              svg("title", {}, s.name + " after epoch " + last.epoch + ": " + say(last[s.key])))];
        })];
      } });
  }

  /* ---- the parts of each epoch's time, as stacked bars ---- */
  const parts = [{ key: "train_s", name: "computing", color: "accent" }, { key: "exposed_preparation_s", name: "waiting for batches", color: "warn" },
    { key: "checkpoint_s", name: "saving", color: "muted" }];

  function bars(rows) {
    const sum = (k) => rows.reduce((a, r) => a + (r[k] > 0 ? r[k] : 0), 0);
    const shown = rows.slice(-120);
    return plot({ height: 220, legend: parts.map((p) => key("fill-" + p.color, p.name, took(sum(p.key)))),
      label: () => "Time of " + (shown.length < rows.length ? "the last " : "") + shown.length + " epochs: " +
        parts.map((p) => p.name + " " + took(sum(p.key))).join(", ") + ".",
      draw: ({ width, height }) => {
        const box = { left: 64, right: width - 14, top: 14, bottom: height - 42 };
        const first = shown[0].epoch, end = shown[shown.length - 1].epoch;
        const x = linear(first - 0.5, Math.max(end, first + 7) + 0.5, box.left, box.right);
        const top = Math.max(...shown.map((r) => parts.reduce((a, p) => a + (r[p.key] || 0), 0)), 1e-9);
        const y = linear(0, top * 1.05, box.bottom, box.top);
        return [axes(box, x, y, { yTicks: y.ticks(3), yText: (s) => s > 0 ? Hone.time(s * 1e9) : "0",
          xTicks: x.ticks(Math.min(8, width / 70)).filter((v) => Number.isInteger(v) && v >= first && v <= end), xText: String, xTitle: "epoch" }),
        shown.map((r) => {
          let at = 0;
          return parts.map((p) => {
            if (!(r[p.key] > 0)) return null;
            const bar = svg("rect", { class: "fill-" + p.color, x: x(r.epoch - 0.4), width: Math.max(x(r.epoch + 0.4) - x(r.epoch - 0.4), 1),
              y: y(at + r[p.key]), height: y(at) - y(at + r[p.key]) },
              svg("title", {}, "epoch " + r.epoch + ", " + p.name + ": " + Hone.time(r[p.key] * 1e9)));
            at += r[p.key];
            return bar;
          });
        })];
      } });
  }

  /* ---- the time line: what each thread did for the last batches ---- */
  const colors = new Map([["forward, backward", "accent"], ["wait for a batch", "warn"], ["update", "good"], ["sample", "second"],
    ["sample on the GPU", "second"], ["sum over ranks", "bad"]]);
  const BATCHES = 12;

  /* The spans of the last BATCHES batches, from the end of the update before them to the end of the
   * last update. */
  function lastBatches(t) {
    const spans = t.spans.map(([thread, work, start, length, epoch, batch]) => ({ thread, work: t.work[work], start, end: start + length, epoch, batch }));
    const steps = spans.filter((s) => s.work === "update");
    if (!steps.length) return { spans, from: 0, to: Math.max(1, ...spans.map((s) => s.end)) };
    const to = steps[steps.length - 1].end, from = steps.length > BATCHES ? steps[steps.length - 1 - BATCHES].end : spans[0].start;
    return { spans: spans.filter((s) => s.end > from && s.start < to), from, to };
  }

  /* A lane for each thread. If a thread begins after another of the same name has ended, the two
   * share a lane. */
  function lanes(spans, names) {
    const out = [], threads = new Map();
    for (const s of spans) {
      const t = threads.get(s.thread) || { name: names[s.thread], start: Infinity, end: 0, spans: [] };
      t.start = Math.min(t.start, s.start);
      t.end = Math.max(t.end, s.end);
      t.spans.push(s);
      threads.set(s.thread, t);
    }
    for (const t of [...threads.values()].sort((a, b) => a.start - b.start)) {
      const lane = out.find((l) => l.name === t.name && l.end <= t.start);
      if (lane) Object.assign(lane, { end: t.end, spans: [...lane.spans, ...t.spans] });
      else out.push(t);
    }
    return out.sort((a, b) => (a.name < b.name ? 1 : a.name > b.name ? -1 : 0)).slice(0, 24);
  }

  function timeline(t) {
    const { spans, from, to } = lastBatches(t), all = lanes(spans, t.threads), ROW = 26;
    const work = [...new Set(spans.map((s) => s.work))];
    const color = (w) => "fill-" + (colors.get(w) || "muted");
    const busy = (w) => spans.filter((s) => s.work === w).reduce((a, s) => a + Math.min(s.end, to) - Math.max(s.start, from), 0);
    return plot({ height: all.length * ROW + 62,
      label: () => "Time line of the last batches, " + Hone.time((to - from) * 1e3) + " in " + all.length + " threads: " +
        work.map((w) => w + " " + Hone.time(busy(w) * 1e3)).join(", ") + ".",
      legend: work.map((w) => key(color(w), w, Hone.time(busy(w) * 1e3))),
      draw: ({ width, height }) => {
        const box = { left: width > 600 ? 140 : 14, right: width - 14, top: 12, bottom: height - 46 };
        const x = linear(0, to - from, box.left, box.right);
        return [x.ticks(Math.max(width / 160, 2)).map((v) => [line(x(v), box.top, x(v), box.bottom, "grid"),
          text(x(v), box.bottom + 18, "middle", v > 0 ? Hone.time(v * 1e3) : "0", "tick")]),
        all.map((lane, i) => [width > 600 && text(box.left - 10, box.top + i * ROW + 17, "end", lane.name, "tick"),
          lane.spans.map((s) => svg("rect", { class: color(s.work), x: x(Math.max(s.start, from) - from), y: box.top + i * ROW + 4, height: ROW - 8,
            width: Math.max(x(Math.min(s.end, to)) - x(Math.max(s.start, from)), 0.6) },
            svg("title", {}, lane.name + ": " + s.work + ", batch " + s.batch + ", " + Hone.time((s.end - s.start) * 1e3))))]),
        line(box.left, box.bottom, box.right, box.bottom, "axis")];
      } });
  }

  /* ---- one run ---- */
  function facts(t, last, rows) {
    const best = rows.reduce((a, r) => r.eval_accuracy > (a ? a.eval_accuracy : -1) ? r : a, null);
    const rate = last && last.wall_s > 0 && is(last.batches) ? last.batches / last.wall_s : 0;
    return el("dl", { class: "facts" },
      fact("Epochs", (t.epochs_done || 0) + "/" + (t.planned_epochs || "?"), "begun " + (t.begun_ms > 0 ? Hone.date(t.begun_ms) : "\u2013")),
      fact("Loss", value(last && last.loss), "training, last epoch"),
      fact("Evaluation", percent(last && last.eval_accuracy), best ? "best " + percent(best.eval_accuracy) + " after epoch " + best.epoch : "not evaluated"),
      fact("Epoch takes", took(last && last.wall_s), rate ? Hone.count(rate) + " batches/s" : ""),
      fact("Waiting", last && last.wall_s > 0 ? Hone.percent(100 * (last.exposed_preparation_s || 0) / last.wall_s) : "\u2013", "of the last epoch, for batches"),
      fact("Weights", Hone.count(t.weights), "matrix products by " + (t.products || "?") + ", " + (t.precision || "?")));
  }

  function epochTable(rows) {
    const body = [...rows].reverse().slice(0, 200).map((r) => el("tr", {}, el("th", { scope: "row" }, String(r.epoch)), num(value(r.loss)), num(percent(r.accuracy)),
      num(percent(r.eval_accuracy)), num(Hone.count(r.batches)), num(Hone.count(r.input_nodes)), num(Hone.count(r.edges)),
      num(took(r.wall_s)), num(took(r.train_s)), num(took(r.exposed_preparation_s))));
    return table("Epochs, the newest first", ["Epoch", "#Loss", "#Training", "#Evaluation", "#Batches", "#Input nodes", "#Edges", "#Total", "#Computing", "#Waiting"], body);
  }

  const kernelTable = (list) => table("Kernels", ["Kernel", "#Calls", "#Time", "#Each"], [...list].sort((a, b) => b[2] - a[2]).map(([name, calls, ms]) =>
    el("tr", {}, el("th", { scope: "row" }, name), num(Hone.count(calls)), num(Hone.time(ms * 1e6)), num(calls > 0 ? Hone.time(ms * 1e6 / calls) : "\u2013"))));

  /* Warns if a run that should go on has been silent for long, because its process may be gone. */
  function silent(t, rows) {
    const longest = rows.reduce((a, r) => Math.max(a, r.wall_s || 0), 0), quiet = (Date.now() - t.changed_ms) / 1000;
    return t.state === "running" && quiet > Math.max(60, 10 * longest) && el("p", { class: "alert" },
      "No news for " + Hone.seconds(quiet) + ". If the process was killed, --resume continues from its checkpoint.");
  }

  Hone.views.training = async (page, name) => {
    let told = -1;
    const load = async () => {
      const t = await Hone.get("training?name=" + name);
      const rows = t.rows.map((r) => byName(t.columns, r)).filter((r) => is(r.epoch)), last = byName(t.columns, t.last);
      const loss = [{ key: "loss", name: "training loss", line: "best-line", dot: "best" }];
      const accuracy = [{ key: "accuracy", name: "training", line: "second-line", dot: "pass" }, { key: "eval_accuracy", name: "evaluation", line: "best-line", dot: "best" }];
      page.show(t.name, [["Runs", "#/"], ["Training", "#/training"]],
        el("p", { class: "lead" }, Hone.state(t.state), " ", el("b", {}, t.model || "a model"), " on ", el("b", {}, t.data || "a dataset"), ", ",
          t.device || "unknown device", t.ranks > 1 ? ", " + t.ranks + " ranks" : "", t.reason ? ". " + t.reason : ""),
        silent(t, rows), facts(t, last, rows),
        rows.length === 0 ? el("p", { class: "quiet" }, "No epoch is done yet.") : [
          el("div", { class: "pair" },
            section("Loss", curves(rows, loss, { name: "Loss", say: value, wide: true })),
            section("Accuracy", curves(rows, accuracy, { name: "Accuracy", say: percent, tick: (v) => Hone.digits(100 * v, 3) + "%" })),
            section("Time of each epoch", bars(rows)),
            t.timeline.spans.length > 0 && section("Time line of the last batches", timeline(t.timeline))),
          section("Epochs", epochTable(rows))],
        t.kernels.length > 0 && section("Kernels", kernelTable(t.kernels)));
      if (told >= 0 && t.epochs_done > told && last) page.tell("Epoch " + last.epoch + ": loss " + value(last.loss));
      told = t.epochs_done;
    };
    await load();
    return async (changes) => { if (!changes || changes.some((c) => c.training)) await load(); };
  };
})();
