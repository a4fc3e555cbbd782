/*
 * app.js - shows the view that the address names, and keeps it up to date.
 *
 *     #/                      all runs           (a report file shows its run or campaign)
 *     #/run/NAME              a run
 *     #/run/NAME/3            a candidate
 *     #/campaigns             all campaigns      #/campaign/NAME   the table of one
 *     #/training              training runs      #/training/NAME   one of them
 *     #/compare/A/1/B/2       two candidates     #/compare/A/B   two runs
 *
 * A view is a function that shows a page and returns a function that brings it up to date, or null.
 */
"use strict";
(() => {
  const { el } = Hone;
  const main = document.getElementById("main"), path = document.getElementById("path");
  let refresh = null, turn = 0;

  const good = /^[A-Za-z0-9_.-]+$/;
  function route() {
    let parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean);
    if (!parts.every((p) => good.test(p))) return null;
    if (parts.length === 0 && !Hone.isFile) return ["runs"];
    if (parts.length === 0) parts = document.body.dataset.home.split("/");
    if (parts[0] === "run" && parts.length === 2) return ["run", parts[1]];
    if (parts[0] === "run" && parts.length === 3) return ["candidate", parts[1], parts[2]];
    if (parts[0] === "campaigns" && parts.length === 1) return ["campaigns"];
    if (parts[0] === "campaign" && parts.length === 2) return ["campaign", parts[1]];
    if (parts[0] === "training" && parts.length === 1) return ["trainings"];
    if (parts[0] === "training" && parts.length === 2) return ["training", parts[1]];
    if (parts[0] === "compare" && [1, 3, 5].includes(parts.length)) return ["compare", ...parts.slice(1)];
    return null;
  }

  /* The links that lead to a page, as pairs of name and link. A report file has no list of all runs;
   * the file of a campaign has a link to the campaign instead. */
  function pathOf(way) {
    if (!Hone.isFile) return way;
    const ofCampaign = document.body.dataset.home.startsWith("campaign/");
    return way.filter(([, href]) => href !== "#/campaigns" && (ofCampaign || href !== "#/"))
      .map(([name, href]) => [href === "#/" ? "Campaign" : name, href]);
  }

  function pageFor(mine) {
    return {
      show(title, way, ...body) {
        if (mine !== turn) return;
        document.title = title + " \u00b7 Hone";
        path.replaceChildren(...pathOf(way).map(([name, href]) => el("a", { href }, name)));
        main.replaceChildren(el("h1", {}, title), ...body.flat(Infinity).filter(Boolean));
      },
      tell(words) { document.getElementById("news").textContent = Hone.plain(words); },
    };
  }

  async function show() {
    const mine = ++turn, where = route();
    refresh = null;
    main.setAttribute("aria-busy", "true");
    try {
      if (!where) throw new Error("there is no such page");
      const again = await Hone.views[where[0]](pageFor(mine), ...where.slice(1));
      if (mine === turn) refresh = again;
    } catch (e) {
      pageFor(mine).show("Sorry", [["Runs", "#/"]], el("p", { class: "alert", role: "alert" }, e.message));
    }
    if (mine !== turn) return;
    main.removeAttribute("aria-busy");
    main.dataset.where = location.hash;
    window.scrollTo(0, 0);
  }
  window.addEventListener("hashchange", async () => {
    if (location.hash === "#main") return;
    await show();
    main.focus({ preventScroll: true });
  });

  /* ---- news from the server. At most one refresh runs at a time. ---- */
  let busy = false, waiting = [];
  async function update(changes) {
    waiting.push(...changes);
    if (busy || !refresh) return;
    busy = true;
    while (waiting.length && refresh) {
      const now = waiting;
      waiting = [];
      try { await refresh(now); } catch (e) { console.warn(e.message); }
    }
    busy = false;
  }
  /* A browser opens at most six connections to a server. So only a page that is in sight listens;
   * when it comes into sight again, it first catches up. */
  let events = null, missed = false;
  function follow() {
    const live = document.getElementById("live");
    const say = (name, words) => { live.className = name; live.textContent = words; };
    if (document.hidden && events) {
      events.close();
      events = null;
      missed = true;
    } else if (!document.hidden && !events) {
      events = new EventSource("/events");
      events.addEventListener("open", () => {
        say("on", "live");
        if (missed && refresh) refresh(null);
        missed = false;
      });
      events.addEventListener("error", () => { say("off", "not connected"); missed = true; });
      events.addEventListener("change", (e) => {
        const { runs, training } = JSON.parse(e.data);
        update(training ? [...runs, { training }] : runs);
      });
    }
  }
  show();
  if (!Hone.isFile) {
    follow();
    document.addEventListener("visibilitychange", follow);
  }
})();
