/*
 * tree.js - the lineage as a tree that keys can walk. Only the rows in sight are in the page, so
 * that a run of 10,000 candidates stays smooth.
 *
 * A child is drawn below its parent in the same column if it is the only child, else one column to
 * the right.
 */
"use strict";
(() => {
  const { el, svg } = Hone;
  const ROW = 30, SPARE = 12, COLUMN = 16, DEEPEST = 10;

  /* The rows in the order of the tree, with their columns and the lines that pass each row. */
  function layout(points, closed) {
    const children = new Map(), known = new Set(points.map((p) => p.index)), rows = [];
    for (const p of points) {
      const parent = known.has(p.parent) && p.parent < p.index ? p.parent : -1;
      if (!children.has(parent)) children.set(parent, []);
      children.get(parent).push(p);
    }
    const stack = (children.get(-1) || []).map((p, i, all) => ({ p, level: 1, column: 0, place: i, of: all.length, parent: null })).reverse();
    while (stack.length) {
      const row = stack.pop();
      const below = children.get(row.p.index) || [];
      row.at = rows.length;
      row.children = below.length;
      row.open = below.length > 0 && !closed.has(row.p.index);
      row.passes = 0;
      rows.push(row);
      if (!row.open) continue;
      const column = Math.min(row.column + (below.length > 1 ? 1 : 0), DEEPEST);
      for (let i = below.length - 1; i >= 0; i--)
        stack.push({ p: below[i], level: row.level + 1, column, place: i, of: below.length, parent: row });
    }
    /* row.passes gets a bit for each column in which a line passes the row on its way to a later child.
     * We count the lines that begin and end at each row, so that this takes one step for each row and
     * column. */
    for (const row of rows)
      if (row.parent)
        row.parent.lastChild = row.at;
    const change = Array.from({ length: DEEPEST + 1 }, () => new Int32Array(rows.length + 1));
    for (const row of rows)
      if (row.lastChild > row.at + 1) {
        change[row.column][row.at + 1]++;
        change[row.column][row.lastChild]--;
      }
    change.forEach((steps, column) => {
      let lines = 0;
      for (const row of rows)
        if ((lines += steps[row.at]) > 0) row.passes |= 1 << column;
    });
    return rows;
  }

  const middle = (column) => column * COLUMN + 9;

  function gutter(row) {
    const parts = [], x = middle(row.column), up = row.parent && middle(row.parent.column);
    for (let c = 0; c <= DEEPEST; c++)
      if (row.passes & (1 << c)) parts.push("M" + middle(c) + " 0V" + ROW);
    if (row.parent) parts.push(up === x ? "M" + x + " 0V" + ROW / 2 : "M" + up + " 0V" + (ROW / 2 - 6) + "q0 6 6 6H" + x);
    if (row.open) parts.push("M" + x + " " + ROW / 2 + "V" + ROW);
    const width = middle(row.column) + 10;
    return svg("svg", { width, height: ROW, "aria-hidden": "true", class: "gutter" },
      svg("path", { d: parts.join(""), class: "branch" }),
      row.p.kind === "pass" ? svg("circle", { cx: x, cy: ROW / 2, r: row.best ? 5.5 : 4, class: "dot " + (row.best ? "best" : "pass") })
        : svg("path", { class: "cross", d: "M" + (x - 4) + " " + (ROW / 2 - 4) + "l8 8m0 -8l-8 8" }));
  }

  const spoken = (p, best) => "Candidate " + p.index + (best ? ", the best" : "") + ", " + p.kind.replace(/_/g, " ") +
    (p.time_ns > 0 ? ", " + Hone.time(p.time_ns, p.model) : "") + (p.move ? ". " + p.move : "");

  Hone.tree = (run, points, best) => {
    let rows = [], active = 0;
    const closed = new Set();
    const space = el("div", { class: "space", role: "presentation" });
    const box = el("div", { class: "tree", role: "tree", tabindex: "0", "aria-label": "Lineage: arrow keys walk, Enter opens a candidate" }, space);

    let printing = false;
    function draw() {
      const first = printing ? 0 : Math.max(Math.floor(box.scrollTop / ROW) - SPARE, 0);
      const last = printing ? rows.length : Math.min(Math.ceil((box.scrollTop + (box.clientHeight || 480)) / ROW) + SPARE, rows.length);
      const shown = [];
      for (let i = first; i < last; i++) shown.push(line(rows[i], i));
      space.replaceChildren(...shown);
      space.style.height = rows.length * ROW + "px";
      box.setAttribute("aria-activedescendant", rows.length ? "node-" + rows[active].p.index : "");
    }

    function line(row, i) {
      const p = row.p;
      row.best = p.index === best;
      const node = el("div", { id: "node-" + p.index, role: "treeitem", "aria-level": row.level, "aria-posinset": row.place + 1,
        "aria-setsize": row.of, "aria-expanded": row.children ? String(row.open) : null, "aria-selected": String(i === active),
        "aria-label": Hone.plain(spoken(p, row.best)), class: "row" + (i === active ? " active" : "") + (row.best ? " best" : ""),
        click: () => { active = i; open(); } },
        gutter(row),
        el("span", { class: "index" }, String(p.index)),
        el("span", { class: "time" }, p.time_ns > 0 ? Hone.time(p.time_ns) : p.kind.replace(/_/g, " ")),
        el("span", { class: "move", title: Hone.plain(p.move) }, p.move || p.role),
        p.fate && p.fate !== "kept" && p.fate !== "failed" && el("span", { class: "fate", title: Hone.words.of("fates", p.fate) }, p.fate));
      node.style.top = i * ROW + "px";
      return node;
    }

    function open() { location.hash = Hone.candidateLink(run, rows[active].p.index).slice(1); }
    function to(i) {
      active = Math.max(0, Math.min(i, rows.length - 1));
      if (active * ROW < box.scrollTop) box.scrollTop = active * ROW;
      else if ((active + 1) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = (active + 1) * ROW - box.clientHeight;
      draw();
    }
    function fold(close) {
      const row = rows[active];
      if (close && row.open) closed.add(row.p.index);
      else if (!close && row.children && !row.open) closed.delete(row.p.index);
      else return to(close ? (row.parent ? row.parent.at : active) : active + (row.open ? 1 : 0));
      rows = layout(points, closed);
      to(active);
    }
    const keys = { ArrowDown: () => to(active + 1), ArrowUp: () => to(active - 1), Home: () => to(0),
      End: () => to(rows.length - 1), PageDown: () => to(active + 12), PageUp: () => to(active - 12),
      ArrowRight: () => fold(false), ArrowLeft: () => fold(true), Enter: open };
    box.addEventListener("keydown", (e) => {
      if (!keys[e.key] || !rows.length || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      keys[e.key]();
    });
    box.addEventListener("scroll", () => requestAnimationFrame(draw));
    /* When the tree first has a height, its best candidate comes into sight. */
    let placed = false;
    new ResizeObserver(() => {
      if (placed || !rows.length) return draw();
      placed = true;
      to(active);
    }).observe(box);
    /* On paper nobody can scroll. So we print all rows, if they fill only a few pages. */
    window.addEventListener("beforeprint", () => { printing = box.isConnected && rows.length < 1000; if (printing) draw(); });
    window.addEventListener("afterprint", () => { printing = false; });

    box.update = (newPoints, newBest) => {
      points = newPoints;
      best = newBest;
      rows = layout(points, closed);
      active = Math.min(active, Math.max(rows.length - 1, 0));
      box.style.height = Math.min(Math.max(rows.length, 1) * ROW + 2, 480) + "px";
      draw();
    };
    box.update(points, best);
    const start = rows.findIndex((r) => r.p.index === best);
    if (start >= 0) active = start;
    return box;
  };
})();
