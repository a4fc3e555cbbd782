/* source.js - listings: a source with findings and counters at its lines, and differences. */
"use strict";
(() => {
  const { el, count } = Hone;

  /* ---- colours: comments, strings, preprocessor, words of the language ---- */
  const token = /(\/\/.*|\/\*.*?(?:\*\/|$)|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|^\s*#\s*\w+|\b(?:if|else|for|while|do|return|break|continue|switch|case|const|constexpr|static|inline|template|typename|struct|using|namespace|void|int|unsigned|float|double|half|bool|auto|char|long|extern|__global__|__device__|__shared__|__restrict__|__forceinline__|__launch_bounds__|uint32_t|uint64_t|int64_t|size_t)\b)/g;
  const className = (t) => t.startsWith("//") || t.startsWith("/*") ? "c" : t.startsWith('"') || t.startsWith("'") ? "s" :
    t.trimStart().startsWith("#") ? "p" : "k";

  /* Returns the pieces of one line, and whether a comment goes on in the next line. */
  function colour(text, inComment) {
    const parts = [];
    let at = 0;
    if (inComment) {
      const end = text.indexOf("*/");
      if (end < 0) return { parts: [el("i", { class: "c" }, text)], inComment: true };
      parts.push(el("i", { class: "c" }, text.slice(0, end + 2)));
      at = end + 2;
    }
    const rest = text.slice(at);
    let from = 0, open = false;
    if (text.length < 2000)
      for (const m of rest.matchAll(token)) {
        parts.push(rest.slice(from, m.index), el("i", { class: className(m[0]) }, m[0]));
        from = m.index + m[0].length;
        open = m[0].startsWith("/*") && !m[0].endsWith("*/");
      }
    parts.push(rest.slice(from));
    return { parts, inComment: open };
  }

  const columns = [["warp_instructions", "warp ins"], ["global_sectors", "sectors"], ["bank_conflicts", "conflicts"]];

  /* The source as a table. `findings` have a line; `lines` maps a line to its counters. */
  Hone.listing = (text, findings, lines) => {
    const shown = columns.filter(([name]) => Object.values(lines || {}).some((at) => at[name] > 0));
    const rows = [];
    let inComment = false;
    text.replace(/\n$/, "").split("\n").forEach((source, i) => {
      const number = i + 1, at = (lines || {})[number] || {};
      const painted = colour(source, inComment);
      inComment = painted.inComment;
      const here = (findings || []).filter((f) => f.line === number);
      rows.push(el("tr", { id: "line-" + number, class: here.length ? "found" : null },
        shown.map(([name]) => el("td", { class: "count" }, at[name] > 0 ? count(at[name]) : "")),
        el("th", { scope: "row", class: "line" }, String(number)), el("td", { class: "code" }, painted.parts)));
      for (const f of here)
        rows.push(el("tr", { class: "finding" }, el("td", { colspan: shown.length + 2 },
          el("div", {}, el("b", {}, f.kind), ": ", f.text, f.count > 1 ? " (" + count(f.count) + " times)" : ""))));
    });
    const head = shown.length > 0 && el("thead", {}, el("tr", {}, shown.map(([, title]) => el("th", { scope: "col" }, title)),
      el("th", { scope: "col" }, "line"), el("th", { scope: "col" }, "source")));
    return el("div", { class: "listing", role: "region", tabindex: "0", "aria-label": "Source" },
      el("table", {}, head, el("tbody", {}, rows)));
  };

  /* ---- differences (Myers) ---- */

  /* The shortest edit from a to b, as [["=", line], ["-", line], ["+", line], ...]. Texts that differ in
   * more than `most` lines are shown as replaced. */
  function edits(a, b, most) {
    let head = 0, tail = 0;
    while (head < a.length && head < b.length && a[head] === b[head]) head++;
    while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
    const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
    const same = (lines) => lines.map((l) => ["=", l]);
    return [...same(a.slice(0, head)), ...middleEdits(x, y, most), ...same(a.slice(a.length - tail))];
  }
  function middleEdits(a, b, most) {
    const trace = [], reach = new Map([[1, 0]]);
    for (let d = 0; d <= Math.min(a.length + b.length, most); d++) {
      trace.push(new Map(reach));
      for (let k = -d; k <= d; k += 2) {
        let x = k === -d || (k !== d && reach.get(k - 1) < reach.get(k + 1)) ? reach.get(k + 1) : reach.get(k - 1) + 1;
        while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
        reach.set(k, x);
        if (x >= a.length && x - k >= b.length) return walk(a, b, trace, d);
      }
    }
    return [...a.map((l) => ["-", l]), ...b.map((l) => ["+", l])];
  }
  function walk(a, b, trace, d) {
    const out = [];
    let x = a.length, y = b.length;
    for (; d >= 0; d--) {
      const reach = trace[d], k = x - y;
      const before = k === -d || (k !== d && reach.get(k - 1) < reach.get(k + 1)) ? k + 1 : k - 1;
      const px = d ? reach.get(before) : 0, py = d ? px - before : 0;
      while (x > px && y > py && x > 0 && y > 0) { out.push(["=", a[--x]]); y--; }
      if (d) out.push(x === px ? ["+", b[--y]] : ["-", a[--x]]);
    }
    return out.reverse();
  }

  Hone.difference = (before, after, names) => {
    const all = edits(before.split("\n"), after.split("\n"), 1500), near = new Set();
    all.forEach(([sign], i) => { if (sign !== "=") for (let k = i - 3; k <= i + 3; k++) near.add(k); });
    const added = all.filter(([s]) => s === "+").length, removed = all.filter(([s]) => s === "-").length;
    if (!added && !removed) return el("p", { class: "quiet" }, "The two sources are equal.");
    const rows = [];
    let old = 0, fresh = 0, last = -1;
    all.forEach(([sign, text], i) => {
      old += sign !== "+";
      fresh += sign !== "-";
      if (!near.has(i)) return;
      if (i !== last + 1 && rows.length) rows.push(el("tr", { class: "gap" }, el("td", { colspan: 4 }, "\u22ef")));
      last = i;
      rows.push(el("tr", { class: sign === "+" ? "added" : sign === "-" ? "removed" : null },
        el("th", { class: "line" }, sign === "+" ? "" : String(old)), el("th", { class: "line" }, sign === "-" ? "" : String(fresh)),
        el("td", { class: "sign" }, sign === "=" ? "" : sign), el("td", { class: "code" }, text)));
    });
    return [el("p", { class: "quiet" }, names[0] + " \u2192 " + names[1] + ": " + added + " lines added, " + removed + " removed"),
      el("div", { class: "listing", role: "region", tabindex: "0", "aria-label": "Difference" }, el("table", {}, el("tbody", {}, rows)))];
  };
  Hone.edits = edits;
})();
