/*
 * data.js - where the JSON comes from. On a server each query is a request. In a report file the
 * answers are in the page: compressed, and with each line of their texts stored once.
 */
"use strict";
(() => {
  const embedded = document.getElementById("answers");
  Hone.isFile = embedded !== null;

  async function unpack() {
    const raw = Uint8Array.from(atob(embedded.textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
    const packed = JSON.parse(await new Response(stream).text());
    return packed;
  }

  /* {"$": [first, count, first, count, ...]} stands for these lines of the table. */
  function expand(value, lines) {
    if (Array.isArray(value)) return value.map((v) => expand(v, lines));
    if (value === null || typeof value !== "object") return value;
    if (value.$) {
      const text = [];
      for (let i = 0; i < value.$.length; i += 2)
        text.push(...lines.slice(value.$[i], value.$[i] + value.$[i + 1]));
      return text.join("\n");
    }
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, expand(v, lines)]));
  }

  let packed = null;
  async function fromFile(query) {
    packed = packed || unpack();
    const { answers, lines } = await packed;
    if (!Object.hasOwn(answers, query)) {
      const [, run, n] = query.match(/^candidate\?run=(.*)&n=(.*)$/) || [];
      throw new Error(run ? `this file does not hold candidate ${n}; "hone show ${run} ${n}" prints it where the store is`
        : "this file does not hold " + query);
    }
    return expand(answers[query], lines);
  }

  async function fromServer(query) {
    const reply = await fetch("/api/" + query, { credentials: "same-origin" });
    if (reply.status === 401) throw new Error("the server was started again: open the link that it printed");
    const answer = await reply.json();
    if (!reply.ok) throw new Error(answer.error);
    return answer;
  }
  Hone.get = Hone.isFile ? fromFile : fromServer;

  /* All candidates of a run, as objects. The page asks again only for the newest of those that it
   * knows, because old ones seldom change. */
  Hone.points = async (run, known) => {
    const all = (known || []).slice(0, -500);
    for (let from = all.length ? all[all.length - 1].index + 1 : 0; from !== undefined;) {
      const page = await Hone.get("points?run=" + run + "&from=" + from);
      for (const row of page.rows)
        all.push(Object.fromEntries(page.columns.map((name, i) => [name, row[i]])));
      from = page.next;
    }
    return all;
  };

  Hone.allRuns = async (progress) => {
    const all = [];
    for (let before = 0; before !== undefined;) {
      const page = await Hone.get("runs?before=" + before);
      all.push(...page.runs);
      before = page.next;
      if (progress) progress(all, before === undefined);
    }
    return all;
  };
})();
