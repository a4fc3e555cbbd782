"""Checks every view of a store in a real browser; prints TAP. t/serve_browser.sh starts it.

    check.py LINK STORE RUN HOSTILE CAMPAIGN REPORT HOSTILE_REPORT SHOTS
"""
import difflib
import os
import subprocess
import sys
import time

from cdp import Browser

link, store, run, hostile, campaign, report, evil_report, shots = sys.argv[1:]
base = link.split("login")[0]
fake = os.path.join(os.path.dirname(__file__), "..", "fake", "store")
tests = failures = 0


def ok(what, good, detail=""):
    global tests, failures
    tests += 1
    print(("ok" if good else "not ok"), tests, "-", what, flush=True)
    if not good:
        failures += 1
        print("#", str(detail)[:2000].replace("\n", "\n# "), file=sys.stderr, flush=True)


READY = "document.querySelector('h1') && !document.getElementById('main').hasAttribute('aria-busy')"

# Finds texts that are less than 4.5 times as bright or as dark as their background.
CONTRAST = """(() => {
  const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = (c) => { const f = c.slice(0, 3).map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > .99) return c; } return [255, 255, 255, 1]; };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length) continue;
    if (['SCRIPT', 'STYLE', 'NOSCRIPT', 'OPTION', 'TITLE'].includes(e.tagName) || e.tagName === 'title') continue;
    const style = getComputedStyle(e), svg = e.namespaceURI.endsWith('svg');
    const a = light(parse(svg ? style.fill : style.color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) bad.push(e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + ratio.toFixed(2) + ' ' + e.textContent.slice(0, 30));
  }
  return [...new Set(bad)].slice(0, 10).join('\\n');
})()"""

NEED_NAME = {"link", "button", "textbox", "searchbox", "combobox", "spinbutton", "tree", "treeitem", "img", "region",
             "SvgRoot", "navigation"}


def unnamed(page):
    """Returns the roles of elements that have no name for a screen reader."""
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    return [n["role"]["value"] for n in nodes if not n.get("ignored") and n["role"]["value"] in NEED_NAME
            and not n.get("name", {}).get("value", "").strip()]


def show(page, where):
    page.eval(f"location.hash = {where!r}")
    good = page.wait(f"{READY} && document.getElementById('main').dataset.where === {where!r}")
    page.eval("new Promise(r => setTimeout(r, 150))")
    return good


def check_view(page, name, where, wanted, width, dark):
    label = f"{name}, {width} px, {'dark' if dark else 'light'}"
    ok(f"{label}: the view is shown", show(page, where), page.eval("document.body.innerText"))
    missing = [w for w in wanted if not page.eval(f"document.getElementById('main').innerText.includes({w!r})")]
    ok(f"{label}: the view has its parts", not missing, f"missing {missing} in: " + page.eval("document.body.innerText"))
    ok(f"{label}: the view is not wider than the window", page.eval("document.documentElement.scrollWidth <= innerWidth"))
    bad = page.eval(CONTRAST)
    ok(f"{label}: texts have enough contrast", not bad, bad)
    bad = unnamed(page)
    ok(f"{label}: controls and pictures have names", not bad, bad)
    page.screenshot(f"{shots}/{name}-{width}-{'dark' if dark else 'light'}.png")


def errors(page):
    log = [e["entry"]["text"] for e in page.seen("Log.entryAdded") if e["entry"]["level"] == "error"]
    return log + [e["exceptionDetails"]["text"] for e in page.seen("Runtime.exceptionThrown")]


def log_in(browser, width=1600, dark=False):
    page = browser.page(width, 1000, dark)
    page.open(link)
    ok("the link leads to the runs", page.wait(f"{READY} && location.pathname === '/' && document.querySelector('h1').textContent === 'Runs'"),
       page.eval("document.body.innerText"))
    return page


VIEWS = [
    ("runs", "#/", [run, "Best time", "Ratio", "Tokens"]),
    ("run", f"#/run/{run}", ["Time per candidate", "Lineage", "Roofline", "Verdicts", "Tokens and cost", "What was tried"]),
    ("candidate", f"#/run/{run}/2", ["Source", "Verdict in words", "Times", "Errors by workload", "Counters",
                                     "Prompt and reply", "Export", "Difference to its parent"]),
    ("compare", f"#/compare/{run}/0/{run}/2", ["First", "Second", "Difference"]),
    ("campaigns", "#/campaigns", [campaign, "Done", "Mean", "2/3"]),
    ("campaign", f"#/campaign/{campaign}", ["Means", "Tasks", "Ratio", "Roofline", "failed"]),
    ("trainings", "#/training", ["blocks", "many", "Epochs", "Evaluation"]),
    ("training", "#/training/blocks", ["Loss", "Accuracy", "Time of each epoch", "Time line of the last batches", "forward, backward",
                                       "waiting for batches", "12/12"]),
    ("compare-runs", f"#/compare/{run}/{run}", ["Best so far", "Strategy"]),
]


def keyboard(page):
    show(page, "#/")
    page.eval("document.activeElement.blur(); window.scrollTo(0, 0)")
    order, hidden = [], 0
    for _ in range(14):
        page.key("Tab")
        order.append(page.eval("(() => { const e = document.activeElement; const all = [...document.querySelectorAll('*')];"
                               "return [all.indexOf(e), getComputedStyle(e).outlineStyle]; })()"))
    places = [o[0] for o in order]
    ok("Tab goes through the page in its order", places == sorted(places) and len(set(places)) == len(places), order)
    ok("the element with the focus has an outline", all(o[1] != "none" for o in order), order)
    show(page, f"#/run/{run}")
    page.eval("document.querySelector('.tree').focus()")
    page.key("Home")
    first = page.eval("document.querySelector('.tree').getAttribute('aria-activedescendant')")
    page.key("ArrowDown")
    second = page.eval("document.querySelector('.tree').getAttribute('aria-activedescendant')")
    ok("arrow keys walk the lineage", first != second and page.eval(f"document.getElementById({second!r}).getAttribute('aria-selected')") == "true",
       (first, second))
    rows = page.eval("document.querySelectorAll('.tree .row').length")
    page.key("Home")
    page.key("ArrowLeft")
    ok("the left arrow key folds a branch", page.eval("document.querySelectorAll('.tree .row').length") < rows)
    page.key("ArrowRight")
    ok("the right arrow key opens a branch", page.eval("document.querySelectorAll('.tree .row').length") == rows)
    page.key("Enter")
    ok("Enter opens the candidate", page.wait("document.querySelector('h1').textContent === 'Candidate 0'"))
    ok("Enter moves the focus to the page of the candidate", page.eval("document.activeElement.id") == "main")


def live(page):
    show(page, f"#/run/{run}")
    before = page.eval("document.querySelectorAll('.tree .row').length")
    at = int(subprocess.run([fake, store, "add", run], capture_output=True, text=True, check=True).stdout)
    seen = page.wait(f"document.querySelectorAll('.tree .row').length > {before}", 5)
    took = (time.time_ns() - at) / 1e9
    ok(f"a new candidate shows within 2 s ({took:.2f} s)", seen and took < 2)
    ok("a new candidate is announced", page.wait("document.getElementById('news').textContent.startsWith('Candidate ')"))
    show(page, "#/training/blocks")
    at = int(subprocess.run([fake, store, "epoch", "blocks"], capture_output=True, text=True, check=True).stdout)
    seen = page.wait("document.getElementById('main').innerText.includes('13/12')", 5)
    took = (time.time_ns() - at) / 1e9
    ok(f"a new epoch of a training run shows within 2 s ({took:.2f} s)", seen and took < 2)
    ok("a new epoch is announced", page.wait("document.getElementById('news').textContent.startsWith('Epoch 13')"))
    show(page, "#/training/many")
    ok("a training run of 5000 epochs is shown", page.eval("document.getElementById('main').innerText.includes('5000/9000')"),
       page.eval("document.body.innerText"))
    show(page, "#/")
    page.eval("(() => { const s = document.querySelector('input[type=search]'); s.value = 'hostile'; s.dispatchEvent(new Event('input', {bubbles: true})); })()")
    ok("the filter shows only runs that match", page.eval("document.querySelectorAll('.runs tbody tr').length") == 1)
    page.eval("(() => { const s = document.querySelector('input[type=search]'); s.value = ''; s.dispatchEvent(new Event('input', {bubbles: true})); })()")
    page.eval("document.querySelector('.runs th button').click()")
    ok("a click on the head of a column orders the rows", page.eval("document.querySelector('.runs th').getAttribute('aria-sort')") == "ascending")


def in_progress(page):
    """Follows a run that Hone carries out on the emulator, without loading a page again."""
    show(page, "#/")
    command = [os.environ["HONE"], "optimize", "vector_add", "--device", "emu", "--author", "playbook", "--steps", "3",
               "--store", store, "--out", "live-out", "--quiet"]
    optimize = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    row = "[...document.querySelectorAll('.runs tbody tr')].find((r) => r.textContent.includes('vector_add'))"
    ok("a run that begins appears in the list", page.wait(f"{row} && {row}.querySelector('.state').textContent === 'running'", 60),
       page.eval("document.body.innerText"))
    name = page.eval(f"{row}.querySelector('a').textContent")
    show(page, f"#/run/{name}")
    ok("its first candidate appears", page.wait("document.querySelectorAll('.tree .row').length > 0", 120), page.eval("document.body.innerText"))
    for where, title in ((f"#/run/{name}/0", "Candidate 0"), (f"#/compare/{name}/{name}", "Compare"), (f"#/run/{name}", name)):
        show(page, where)
        ok(f"while it goes on: {title.split('-')[0]} is shown", page.eval("document.querySelector('h1').textContent") == title)
    ok("its end is shown", page.wait("document.querySelector('.lead .state').textContent === 'done'", 240), page.eval("document.body.innerText"))
    ok("and it ended well", optimize.wait(60) == 0)


def league(page):
    show(page, CAMPAIGN_PLACE)
    order = "[...document.querySelectorAll('main section:last-of-type tbody tr td:first-child')].map((c) => c.textContent).join(' ')"
    ok("a campaign's tasks are in their order", page.eval(order) == "1 2 3", page.eval(order))
    page.eval("[...document.querySelectorAll('th button')].find((b) => b.textContent === 'Ours').click()")
    page.eval("[...document.querySelectorAll('th button')].find((b) => b.textContent === 'Ours').click()")
    ok("a head orders them, the slowest first", page.eval(order) == "3 2 1", page.eval(order))


def damaged(page):
    """A run whose rows are damaged. Every page shows what there is."""
    for where, parts in [("#/run/odd-refine-0001", ["no such parent", "a circle", "its own parent"]), ("#/run/odd-refine-0002", ["none passes yet"]),
                         ("#/compare/odd-refine-0001/odd-refine-0002", ["Best so far"])] + [
                        (f"#/run/odd-refine-0001/{i}", ["Source", "Verdict in words"]) for i in range(6)]:
        show(page, where)
        text = page.eval("document.getElementById('main').innerText")
        ok(f"damaged rows: {where[2:]} is shown", all(p in text for p in parts) and "Sorry" not in text, text)
    show(page, "#/run/odd-refine-0001")
    ok("the lineage has all candidates", page.eval("document.querySelectorAll('.tree .row').length") == 6)
    ticks = page.eval("document.querySelector('.plot svg').querySelectorAll('.grid').length")
    ok(f"absurd times give few lines: {ticks}", 0 < ticks < 20)
    show(page, "#/run/odd-refine-0001/0")
    ok("a NUL does not end a source", page.eval("document.querySelector('.listing').innerText.includes('int b;')"))


def alarms(page, what, places):
    for where in places:
        show(page, where)
        page.eval("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        page.eval("new Promise(r => setTimeout(r, 400))")
        ok(f"{what}: {where.split('/')[1]}: hostile text is shown as text", page.eval(
            "document.getElementById('main').innerText.includes('<script>window.alarm')"), page.eval("document.body.innerText"))
        ok(f"{what}: {where.split('/')[1]}: no hostile script runs", page.eval("window.alarm === undefined"))
        ok(f"{what}: {where.split('/')[1]}: no text makes elements or links", page.eval(
            "document.querySelectorAll('main script, main img, main [onerror], a[href^=\"javascript\"]').length") == 0)
        ok(f"{what}: {where.split('/')[1]}: no character turns the text around",
           page.eval("!/[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.documentElement.outerHTML)"))


CAMPAIGN_PLACE = f"#/campaign/{campaign}"
EVIL_PLACES = [f"#/run/{hostile}", f"#/run/{hostile}/0", f"#/run/{hostile}/1", f"#/compare/{hostile}/0/{hostile}/1"]

ok("tools/pictures draws the pictures of docs/serve.md", os.environ.get("PICTURES") == "drawn")
with Browser() as browser:
    for width, dark in ((1600, False), (1600, True), (375, False), (375, True)):
        page = log_in(browser, width, dark)
        for view in VIEWS:
            check_view(page, *view, width, dark)
        ok(f"{width} px: no error in the console", not errors(page), errors(page))
        page.close()  # a browser opens only six connections to a server, and each page keeps one
    page = log_in(browser)
    keyboard(page)
    live(page)
    league(page)
    damaged(page)
    in_progress(page)

    # A page that takes the hostile text as markup sets window.alarm, so alarms() can notice a script.
    page.open("about:blank")
    page.eval("document.body.innerHTML = '<img src=x onerror=\"window.alarm=(window.alarm||0)+1\">'")
    ok("the test notices a hostile script that runs", page.wait("window.alarm === 1"))
    page = log_in(browser)
    alarms(page, "server", ["#/", CAMPAIGN_PLACE, "#/training", "#/training/evil"] + EVIL_PLACES)
    ok("hostile texts: no error in the console", not errors(page), errors(page))
    page.close()

    # The report file shows what the server shows, with no request.
    texts = {}
    subprocess.run([fake, store, "vary", run, "100"], check=True)
    places = [f"#/run/{run}", f"#/run/{run}/2", f"#/run/{run}/60"]
    page = log_in(browser)
    for where in places:
        show(page, where)
        texts[where] = page.eval("document.getElementById('main').innerText")
    subprocess.run([os.environ["HONE"], "report", run, "--store", store, "--html", report], check=True, stdout=subprocess.DEVNULL)
    size = os.path.getsize(report)
    ok(f"the report of 100 candidates and their prompts has at most 2 MB ({size / 1e6:.2f} MB)", 1e5 < size <= 2e6)
    page = browser.page()
    page.open("file://" + report)
    ok("the report opens from disk", page.wait(READY))
    for where in places:
        show(page, where)
        same = page.eval("document.getElementById('main').innerText")
        ok(f"the report shows what the server shows: {where.count('/') == 2 and 'run' or 'candidate'}", same == texts[where],
           "\n".join(difflib.unified_diff(texts[where].split("\n"), same.split("\n"), "server", "report", lineterm="")))
    page.eval("document.querySelector('details').open = true")
    ok("the report has prompts and replies", page.wait("document.querySelector('details pre')"))
    asked = [r["request"]["url"] for r in page.seen("Network.requestWillBeSent") if not r["request"]["url"].startswith("file://" + report)]
    ok("the report makes no request", not asked, asked)
    ok("the report: no error in the console", not errors(page), errors(page))
    page.media(kind="print")
    page.screenshot(f"{shots}/print.png")
    show(page, f"#/run/{run}")
    ok("colours that say something are printed", page.eval("getComputedStyle(document.querySelector('.swatch')).printColorAdjust") == "exact")
    page.media(kind="print", dark=True)
    bad = page.eval(CONTRAST)
    ok("a dark page is printed dark on white", not bad, bad)
    ok("paper has no buttons", page.eval("[...document.querySelectorAll('button, .button')].every((b) => !b.getClientRects().length)"))
    page = browser.page()
    page.open("file://" + evil_report)
    ok("a hostile report opens", page.wait(READY))
    alarms(page, "report", EVIL_PLACES)
    ok("hostile report: no error in the console", not errors(page), errors(page))

    # The file of a campaign begins with its table and leads to its runs and back.
    page = log_in(browser)
    show(page, CAMPAIGN_PLACE)
    table = page.eval("document.getElementById('main').innerText")
    subprocess.run([os.environ["HONE"], "report", campaign, "--store", store, "--html", report], check=True, stdout=subprocess.DEVNULL)
    page = browser.page()
    page.open("file://" + report)
    ok("the file of a campaign opens from disk", page.wait(READY))
    same = page.eval("document.getElementById('main').innerText")
    ok("the file of a campaign shows the server's table", same == table,
       "\n".join(difflib.unified_diff(table.split("\n"), same.split("\n"), "server", "report", lineterm="")))
    page.eval("document.querySelector('main td a, main th a').click()")
    ok("the file of a campaign: a link leads from a task to its run", page.wait(f"document.querySelector('h1').textContent === {run!r}"), page.eval("document.body.innerText"))
    page.eval("document.querySelector('#path a').click()")
    ok("the file of a campaign: a link leads from a run to the campaign", page.wait(f"document.querySelector('h1').textContent === {campaign!r}"),
       page.eval("document.body.innerText"))
    alarms(page, "campaign's file", [CAMPAIGN_PLACE] + EVIL_PLACES)
    ok("the file of a campaign: no error in the console", not errors(page), errors(page))

    # A run of 10,000 candidates opens in less than a second, and the keys go through it.
    subprocess.run([fake, store, "grow", hostile, "9998"], check=True)
    page = log_in(browser)
    best = 9.0
    for _ in range(3):
        show(page, "#/")
        start = time.time()
        page.eval(f"location.hash = '#/run/{hostile}'")
        page.wait(f"{READY} && document.getElementById('main').dataset.where === '#/run/{hostile}' && document.querySelectorAll('.tree .row').length")
        best = min(best, time.time() - start)
    ok(f"a run of 10,000 candidates opens in less than a second ({best:.2f} s)", best < 1)
    page.eval("document.querySelector('.tree').focus()")
    took = page.eval("""(() => { const tree = document.querySelector('.tree');
        const press = (key) => { const start = performance.now(); tree.dispatchEvent(new KeyboardEvent('keydown', { key }));
          tree.getBoundingClientRect(); return performance.now() - start; };
        let best = Infinity;
        press('Home');
        for (let i = 0; i < 8; i++) best = Math.min(best, press('ArrowLeft') + press('ArrowRight') + press('End') + press('Home'));
        return best; })()""")
    ok(f"to fold it, open it and go to its ends takes less than 400 ms ({took:.0f} ms)", took < 400)
    ok("only rows in sight are in the page", 10 < page.eval("document.querySelectorAll('.tree .row').length") < 60)

    # The file of a long run does not hold all candidates. A candidate opens even if its parent is not in the file.
    subprocess.run([fake, store, "grow", run, "700"], check=True)
    subprocess.run([os.environ["HONE"], "report", run, "--store", store, "--html", report], check=True, stdout=subprocess.DEVNULL)
    page = browser.page()
    page.open("file://" + report)
    ok("the file of a long run opens", page.wait(READY) and os.path.getsize(report) < 2e6)
    show(page, f"#/run/{run}/807")
    ok("its newest candidate opens", page.eval("document.querySelector('h1').textContent") == "Candidate 807", page.eval("document.body.innerText"))
    show(page, f"#/run/{run}/9")
    ok("an old one is not held, and it says where it is", page.eval(f"document.body.innerText.includes('hone show {run} 9')"),
       page.eval("document.body.innerText"))
    held = page.eval("""(async () => { for (let i = 808; i > 0; i--) {
        const c = await Hone.get('candidate?run=%s&n=' + i).catch(() => null);
        if (c && c.parent >= 0 && !await Hone.get('candidate?run=%s&n=' + c.parent).catch(() => null)) return i;
      } return -1; })()""" % (run, run))
    show(page, f"#/run/{run}/{held}")
    ok("a candidate whose parent is not in the file opens", page.eval("document.getElementById('main').innerText.includes('is not in this file')"),
       (held, page.eval("document.body.innerText")))

print(f"1..{tests}")
sys.exit(failures > 0)
