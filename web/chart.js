/*
 * chart.js - the frame of a plot: scales, axes, a label for screen readers, and drawing again when
 * the width changes. plots.js draws the contents.
 */
"use strict";
(() => {
  const { el, svg } = Hone;

  /* A scale maps values to pixels. */
  function linear(lo, hi, from, to) {
    const span = hi > lo ? hi - lo : 1;
    const f = (v) => from + (v - lo) / span * (to - from);
    f.ticks = (n) => {
      const raw = span / n, power = 10 ** Math.floor(Math.log10(raw));
      const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw);
      const out = [];
      for (let k = Math.ceil(lo / step); k * step <= hi * (1 + 1e-9); k++) out.push(k * step);
      return out;
    };
    return f;
  }
  function log(lo, hi, from, to) {
    const f = (v) => from + Math.log(v / lo) / Math.log(hi / lo) * (to - from);
    f.ticks = (n) => {
      const all = [];
      for (let p = Math.floor(Math.log10(lo)); p <= Math.log10(hi); p++)
        for (const k of [1, 2, 5])
          if (k * 10 ** p >= lo && k * 10 ** p <= hi) all.push(k * 10 ** p);
      const tens = all.filter((v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9);
      const step = Math.ceil(tens.length / (2 * n)); /* of many powers of ten, show every second, third, ... */
      return all.length > n && tens.length > 1 ? tens.filter((v, i) => i % step === 0) : all;
    };
    return f;
  }

  /*
   * plot({label, height, draw}) makes a figure. `draw(frame)` gets the width and height and returns
   * elements of SVG. The label says in words what the plot shows.
   */
  function plot({ label, height, draw, legend }) {
    const holder = el("div", { class: "plot" });
    const figure = el("figure", {}, holder, el("figcaption", {}, legend));
    let drawn = 0;
    const again = () => {
      if (!holder.isConnected) return;
      const width = Math.max(Math.floor(holder.clientWidth), 240);
      if (width === drawn) return;
      drawn = width;
      const picture = svg("svg", { role: "img", "aria-label": Hone.plain(label()), width, height,
        viewBox: "0 0 " + width + " " + height });
      picture.append(...draw({ width, height }).flat(Infinity).filter(Boolean));
      holder.replaceChildren(picture);
    };
    new ResizeObserver(again).observe(holder);
    figure.redraw = () => { drawn = 0; again(); };
    return figure;
  }

  const line = (x1, y1, x2, y2, name) => svg("line", { x1, y1, x2, y2, class: name });
  const text = (x, y, anchor, words, name) =>
    svg("text", { x, y, "text-anchor": anchor, class: name }, words);

  /* Axes at the left and the bottom of `box`, with quiet lines across. */
  function axes(box, x, y, { xTicks, yTicks, xText, yText, xTitle, yTitle }) {
    return [
      yTicks.map((v) => [line(box.left, y(v), box.right, y(v), "grid"),
        text(box.left - 8, y(v) + 4, "end", yText(v), "tick")]),
      xTicks.map((v) => text(x(v), box.bottom + 18, "middle", xText(v), "tick")),
      line(box.left, box.bottom, box.right, box.bottom, "axis"),
      xTitle && text(box.right, box.bottom + 34, "end", xTitle, "tick"),
      yTitle && text(box.left - 8, box.top - 10, "start", yTitle, "tick"),
    ];
  }
  const key = (name, words, more) => el("span", { class: "key" },
    el("span", { class: "swatch " + name, "aria-hidden": "true" }), words, more && el("b", {}, " " + more));
  Hone.chart = { linear, log, plot, line, text, axes, key };
})();
