/* base.js - elements and numbers. All text goes into the page as text, never as markup. */
"use strict";
const Hone = { views: {} };

(() => {
  /* Characters that change the direction of text or are not shown. We show them by their code, so
   * that a source reads as the compiler reads it. */
  const tricks = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;
  const plain = (text) => String(text).replace(tricks, (c) =>
    "\u27e8U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "\u27e9");

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (typeof value === "function") node.addEventListener(name, value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat(Infinity)) {
      if (child === undefined || child === null || child === false) continue;
      node.append(child instanceof Node ? child : plain(child));
    }
    return node;
  }

  /* el("td", {class: "num"}, "1.2") makes an element. Only this file sets attributes whose names
   * are in variables. A link must begin with "#". */
  function el(name, attributes, ...children) {
    if (attributes && attributes.href !== undefined && !attributes.href.startsWith("#"))
      throw new Error("a link must stay on this page");
    return fill(document.createElement(name), attributes, children);
  }
  const svg = (name, attributes, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

  /* ---- numbers ---- */
  const digits = (value, n) => Number(value.toPrecision(n)).toString();

  function time(ns, model) {
    if (!(ns > 0)) return "\u2013";
    const [scale, unit] = ns < 1e3 ? [1, "ns"] : ns < 1e6 ? [1e3, "\u00b5s"] : ns < 1e9 ? [1e6, "ms"] : [1e9, "s"];
    const value = ns / scale;
    return (value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value < 1e6 ? value.toFixed(0) : digits(value, 3)) +
      "\u00a0" + unit + (model ? " (model)" : "");
  }

  function count(value) {
    if (value === null || value === undefined) return "\u2013";
    const units = ["", "k", "M", "G", "T", "P"];
    let u = 0;
    while (Math.abs(value) >= 999.5 && u < 5) { value /= 1000; u++; }
    return digits(value, 3) + units[u];
  }

  /* A counter's value with its unit. */
  function amount(value, unit) {
    if (unit === "ns") return time(value);
    if (unit === "B" || unit === "flop/s") return count(value).replace(/([kMGTP]?)$/, "\u00a0$1" + unit);
    return count(value) + (unit === "1" || !unit ? "" : "\u00a0" + unit);
  }

  const ratio = (r) => r && r.mid > 0 ? r.mid.toFixed(2) + "\u00d7" : "\u2013";
  const interval = (r) => r && r.hi > r.lo ? "[" + r.lo.toFixed(2) + ", " + r.hi.toFixed(2) + "]" : "";
  const money = (usd) => usd > 0 ? "$" + usd.toFixed(usd < 10 ? 2 : 0) : "\u2013";
  const percent = (value) => value > 0 ? value.toFixed(value < 10 ? 1 : 0) + "%" : "\u2013";

  function seconds(s) {
    if (!(s > 0)) return "\u2013";
    if (s < 90) return digits(s, 2) + " s";
    if (s < 5400) return Math.round(s / 60) + " min";
    return s < 129600 ? digits(s / 3600, 2) + " h" : Math.round(s / 86400) + " days";
  }
  const age = (ms) => seconds(Math.max((Date.now() - ms) / 1000, 1)) + " ago";
  const date = (ms) => new Date(ms).toISOString().slice(0, 16).replace("T", " ") + " UTC";

  /* ---- pieces that several views use ---- */
  const kindClass = (kind) => kind === "pass" ? "good" : kind === "unjudged" || !kind ? "quiet" : "bad";
  const mark = (kind) => kind === "pass" ? "\u25cf" : kind === "unjudged" || !kind ? "\u25cb" : "\u2715";
  const verdict = (kind) => el("span", { class: "verdict " + kindClass(kind), title: Hone.words.of("kinds", kind) },
    el("span", { "aria-hidden": "true" }, mark(kind) + "\u00a0"), kind.replace(/_/g, " "));
  const state = (name) => {
    const title = Hone.words.of("states", name);
    return el("span", { class: title && "state " + name, title }, name);
  };

  function fact(name, value, more) {
    return el("div", {}, el("dt", {}, name), el("dd", {}, value, more && el("small", {}, more)));
  }
  const section = (title, ...children) => {
    const id = "s-" + title.toLowerCase().replace(/[^a-z]+/g, "-");
    return el("section", { "aria-labelledby": id }, el("h2", { id }, title), children);
  };
  /* A table that scrolls by itself if it is wider than the page. On a narrow page a table with the
   * class "cards" becomes a list, and each cell shows the head of its column. */
  function table(caption, heads, rows, name) {
    for (const r of rows) [...r.cells].forEach((c, i) => c.setAttribute("data-label", (heads[i] || "").replace(/^#/, "")));
    return el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption },
      el("table", { class: name },
        el("thead", {}, el("tr", {}, heads.map((h) =>
          el("th", { scope: "col", class: h.startsWith("#") ? "num" : null }, h.replace(/^#/, ""))))),
        el("tbody", {}, rows)));
  }
  /*
   * Makes the heads of columns. A click on a head orders the rows. Each column is an object {name,
   * value, num, title}; value(row) gives what to compare. `order` is {column, down}, which the
   * caller keeps. sort(list) returns the list in that order.
   */
  function ordered(columns, order, redraw) {
    const heads = columns.map((c, i) => el("th", { scope: "col", class: c.num ? "num" : null },
      el("button", { type: "button", title: c.title, click: () => {
        Object.assign(order, { column: i, down: order.column === i && !order.down });
        redraw();
      } }, c.name)));
    const sort = (list) => {
      heads.forEach((h, i) => i === order.column ? h.setAttribute("aria-sort", order.down ? "descending" : "ascending") : h.removeAttribute("aria-sort"));
      const value = columns[order.column].value, sign = order.down ? -1 : 1;
      return [...list].sort((a, b) => {
        const x = value(a), y = value(b);
        return sign * (x < y ? -1 : x > y ? 1 : 0);
      });
    };
    return { heads, sort };
  }
  /* A table whose heads order the rows; row(item) gives the cells. On a narrow page it becomes a
   * list. */
  function orderedTable(caption, columns, order, items, row) {
    const body = el("tbody");
    const draw = () => body.replaceChildren(...sort(items).map((item) => {
      const cells = row(item);
      cells.forEach((c, i) => c.setAttribute("data-label", columns[i].name));
      return el("tr", {}, cells);
    }));
    const { heads, sort } = ordered(columns, order, draw);
    draw();
    return el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption },
      el("table", { class: "cards" }, el("thead", {}, el("tr", {}, heads)), body));
  }
  const num = (...children) => el("td", { class: "num" }, children);
  /* Shows the first items of a list. Returns a button that shows the others, or null if there are
   * none. */
  function more(parent, items, first) {
    parent.append(...items.slice(0, first));
    if (items.length <= first) return null;
    const button = el("button", { type: "button", click: () => {
      parent.append(...items.slice(first));
      button.remove();
    } }, "Show all " + items.length);
    return button;
  }

  const runLink = (run) => "#/run/" + run;
  const candidateLink = (run, index) => "#/run/" + run + "/" + index;
  Object.assign(Hone, { plain, el, svg, time, count, amount, ratio, interval, money, percent, seconds, age, date,
    verdict, state, fact, section, table, ordered, orderedTable, num, more, kindClass, mark, digits, runLink, candidateLink });
})();
