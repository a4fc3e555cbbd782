"""quick.py - the checks of `hone mcp` in `make test`: both eras of the protocol, the tools, hostile input, the end.

The eras: revisions up to 2025-11-25 begin with a handshake; since 2026-07-28 each request names its revision.
"""
import json
import os
import random
import sys
import time

from talk import STATELESS, VERSION, CAPABILITIES, Server, check, descendants, same, words

ROOT = sys.argv[1]
KERNEL = open(ROOT + "/kernels/vector_add.cu").read()
BROKEN = KERNEL.replace("i < n", "i <= n")
ERRORS = {"parse": -32700, "request": -32600, "method": -32601, "params": -32602, "version": -32022}


def code(answer):
    return (answer or {}).get("error", {}).get("code")


# ---- the two eras
def handshake():
    for asked, agreed in (("2025-06-18",) * 2, ("2025-11-25",) * 2, ("1999-01-01", "2025-11-25"),
                          ("2026-07-28", "2025-11-25")):
        s = Server("--dir", ".")
        same("initialize with %s is answered with %s" % (asked, agreed), s.initialize(asked)["result"]["protocolVersion"], agreed)
        answer = s.ask("tools/list")["result"]
        check("after initialize with %s, tools are listed" % asked, len(answer["tools"]) == 15 and "resultType" not in answer)
        s.close()
    s = Server("--dir", ".")
    same("without a handshake a request without a version is refused",
         code(s.ask("tools/list", meta={})), ERRORS["params"])
    same("without a handshake, a ping is answered", s.ask("ping", meta={})["result"], {})
    same("initialize needs a version", code(s.ask("initialize", {}, meta={})), ERRORS["params"])
    return s


def stateless(s):
    r = s.ask("server/discover")["result"]
    same("discover names the versions", r["supportedVersions"],
         ["2026-07-28", "2025-11-25", "2025-06-18"])
    same("the answer to discover is complete", (r["resultType"], r["cacheScope"], r["ttlMs"] > 0),
         ("complete", "public", True))
    same("the server names itself", r["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "hone")
    unknown = s.ask("tools/list", meta={VERSION: "2099-01-01", CAPABILITIES: {}})
    same("a request with an unknown version is refused", code(unknown), ERRORS["version"])
    same("the refusal lists the known versions", unknown["error"]["data"],
         {"supported": r["supportedVersions"], "requested": "2099-01-01"})
    same("a request without capabilities is refused", code(s.ask("tools/list", meta={VERSION: "2026-07-28"})),
         ERRORS["params"])
    for method in ("ping", "initialize", "logging/setLevel", "prompts/list", "no/such"):
        same("without a handshake, there is no method %s" % method, code(s.ask(method)), ERRORS["method"])
    one = s.ask("tools/list")["result"]
    two = s.ask("tools/list", meta={VERSION: "2025-06-18"})["result"]
    same("both eras have the same tools", one["tools"], two["tools"])
    same("a request for an unknown page of tools is refused", code(s.ask("tools/list", {"cursor": "x"})), ERRORS["params"])
    for tool in one["tools"]:
        hints = tool["annotations"]
        check("the tool %s has a description, schemas and hints" % tool["name"],
              tool["inputSchema"]["type"] == "object" and tool["outputSchema"]["type"] == "object"
              and len(tool["description"]) > 40 and "readOnlyHint" in hints and "openWorldHint" in hints
              and (hints["readOnlyHint"] or "destructiveHint" in hints))
    same("templates are listed", len(s.ask("resources/templates/list")["result"]["resourceTemplates"]), 5)


# ---- kernels
def kernels(s):
    r = s.tool("list_tasks")
    check("tasks are listed", any(t["name"] == "vector_add" for t in r["structuredContent"]["tasks"]))
    r = s.tool("show_task", task="vector_add")["structuredContent"]
    check("a task is shown", {t["name"] for t in r["tensors"]} == {"a", "b", "c"})
    check("a task is shown without its held-out shapes", all(w["role"] != "heldout" for w in r["workloads"]))
    r = s.tool("emulate_kernel", task="vector_add", source=BROKEN, annotate=True)
    f = r["structuredContent"]["findings"][0]
    same("a broken kernel has a finding", (r["isError"], r["structuredContent"]["kind"], f["kind"], f["line"]),
         (False, "fault", "out-of-bounds", 11))
    link = [b for b in r["content"] if b["type"] == "resource_link"][0]
    text = s.ask("resources/read", {"uri": link["uri"]})["result"]["contents"][0]["text"]
    check("the annotated source of a broken kernel is a resource", "out-of-bounds" in text and "c[i] = a[i] + b[i]" in text)
    with open("fixed.cu", "w") as out:
        out.write(KERNEL)
    r = s.tool("evaluate_kernel", task="vector_add", file="fixed.cu", device="emu", depth="smoke")
    same("the fixed kernel passes", (r["structuredContent"]["kind"], r["structuredContent"]["passes"]),
         ("pass", True))
    check("foreign text is marked", any(b.get("_meta", {}).get("hone/untrusted") for b in r["content"])
          and "report" in r["structuredContent"]["untrusted"])
    r = s.tool("compile_kernel", source="this is no CUDA")
    check("a kernel that does not compile gets diagnostics", not r["isError"] and not r["structuredContent"]["ok"]
          and r["structuredContent"]["diagnostics"])
    r = s.tool("compile_kernel", source='extern "C" __global__ void k() {}' + "\n" * 4000000)
    check("a kernel may be as long as one of the built-in author", not r["isError"] and r["structuredContent"]["ok"], r)
    r = s.tool("compile_kernel", source='extern "C" __global__ void k() {}', want="ptx")
    uri = [b["uri"] for b in r["content"] if b["type"] == "resource_link"][0]
    check("PTX is a resource", ".entry k" in s.ask("resources/read", {"uri": uri})["result"]["contents"][0]["text"])
    same("an unknown resource is refused", code(s.ask("resources/read", {"uri": "hone://result/none"})), ERRORS["params"])
    same("after a handshake, an unknown resource is refused", code(s.ask("resources/read", {"uri": "file:///etc/passwd"}, meta={VERSION: "2025-11-25"})), -32002)


def subscriptions(s):
    request = s.begin("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    m = s.receive(10)
    same("a listener is acknowledged", (m["method"], m["params"]),
         ("notifications/subscriptions/acknowledged",
          {"_meta": {"io.modelcontextprotocol/subscriptionId": request}, "notifications": {}}))
    s.cancel(request)
    same("a request to listen without notifications is refused", s.ask("subscriptions/listen")["error"]["code"], ERRORS["params"])


def cancelled(s):
    request = s.begin("tools/call", {"name": "evaluate_kernel", "arguments": {
        "task": "softmax", "source": open(ROOT + "/kernels/softmax.cu").read(), "device": "emu"}})
    until = time.monotonic() + 10
    while not descendants(s.process.pid) and time.monotonic() < until:
        time.sleep(0.02)
    check("an evaluation runs in other processes", descendants(s.process.pid))
    s.cancel(request)
    same("after an evaluation is cancelled, other requests are answered", s.ask("resources/list")["result"]["resultType"], "complete")
    check("a cancelled evaluation leaves no process", not descendants(s.process.pid))
    check("a cancelled evaluation is never answered", s.receive(0.2) is None and not s.others, s.others)


# ---- optimisations
def optimisations():
    s = Server("--dir", ".", "--author", "replay:refine.jsonl")
    r = s.tool("show_run", run="softmax-refine-3f2a")
    check("before the first run, an agent reads which tool begins one",
          r["isError"] and "start_optimization begins one" in words(r), words(r))
    r = s.tool("start_optimization", task="softmax", author="replay:refine.jsonl")
    run = r["structuredContent"]["run"]
    r = s.tool("poll_optimization", run=run, wait_s=60, token="t")["structuredContent"]
    same("an optimisation is followed to its end", (r["state"], r["summary"]["passes"] > 0), ("done", True))
    r = s.tool("show_candidate", run=run)["structuredContent"]
    check("the best kernel of a run is shown", "hone-plan" in r["source"] and r["verdict"]["kind"] == "pass")
    uri = "hone://run/%s/candidate/best/source" % run
    same("the best kernel of a run is a resource", s.ask("resources/read", {"uri": uri})["result"]["contents"][0]["text"], r["source"])
    check("the candidates of a run are shown", s.tool("show_run", run=run)["structuredContent"]["nodes"])
    same("the run is in the list of runs", [x["run"] for x in s.tool("list_runs")["structuredContent"]["runs"]], [run])
    r = s.tool("start_optimization", task="vector_add", device="emu", token=1)
    other = r["structuredContent"]["run"]
    r = s.tool("stop_optimization", run=other)["structuredContent"]
    same("an optimisation is stopped", (r["run"], r["state"]), (other, "stopped"))
    r = s.tool("start_optimization", task="vector_add", device="emu")
    last = r["structuredContent"]["run"]
    below = descendants(s.process.pid)
    same("the end of input ends the server", s.close(), 0)
    check("the end of input ends all processes of the server", below and not any(os.path.exists("/proc/%d" % p) for p in below), below)
    s = Server("--dir", ".")
    r = s.tool("poll_optimization", run=last)["structuredContent"]
    same("a later server knows the stopped run", (r["state"], r["here"]), ("stopped", False))
    check("a later server cannot stop a run that it did not start", s.tool("stop_optimization", run=last)["isError"])
    s.close()


# ---- hostile input
def hostile(s):
    os.symlink("/etc/passwd", "link.cu")
    os.symlink("/etc", "etc")
    os.mkdir("linked")
    os.symlink("/etc/passwd", "linked/task.json")
    os.mkfifo("pipe.cu")
    for path in ("/etc/passwd", "../x.cu", "a/../../x.cu", "link.cu", "etc/passwd", "/proc/self/environ",
                 "/dev/stdin", "pipe.cu", ".", "none.cu", "x" * 1025, "a\nb.cu"):
        r = s.tool("compile_kernel", file=path)
        check("file %.20r is refused" % path, r["isError"] and "root:" not in words(r), words(r))
    for path in ("..", "/etc", "etc", "linked", "linked/task.json", "--help", "none"):
        check("task %r is refused" % path, s.tool("show_task", task=path)["isError"])
    for include in ('"/etc/passwd"', '"../../etc/passwd"', '"link.cu"', '<../../../etc/passwd>'):
        r = s.tool("compile_kernel", source="#include %s\n" % include + KERNEL)
        check("#include %s is refused" % include,
              not r["structuredContent"]["ok"] and "root:" not in json.dumps(r), words(r))
    for out in ("../k", "/tmp/k", "etc/k", "none/k", "link.cu", ".."):
        r = s.tool("export_kernel", task="vector_add", file="fixed.cu", out=out, **{"as": "c"})
        check("export to %r is refused" % out, r["isError"])
    for author in ("exec:touch pwned", "openai:x", "anthropic:x", "mailbox:/tmp", "replay:/etc/passwd"):
        check("author %s is refused" % author.split(":")[0],
              s.tool("start_optimization", task="softmax", author=author)["isError"])
    check("an import is refused without --allow-python", "--allow-python" in words(s.tool("import_task", file="fixed.cu")))
    check("an answer never has the key of a provider", "sk-0123456789abcdef" not in words(s.tool("show_run", run="sk-0123456789abcdef")))
    for wrong in ({}, {"task": 1}, {"task": "softmax", "x": 1}, {"task": ""}, {"task": None}):
        check("arguments %r are refused" % wrong, s.tool("show_task", **wrong)["isError"])


def big(s):
    s.write(b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"x":"')
    for _ in range(24):
        s.write(b"x" * (1 << 20))
    s.write(b'"}}\n')
    answer = s.receive(20)
    same("a message of 24 MB is refused", code(answer), ERRORS["request"])
    with open("/proc/%d/status" % s.process.pid) as f:
        peak = [int(line.split()[1]) for line in f if line.startswith("VmHWM")][0]
    check("the server does not keep a message of 24 MB", os.environ.get("MODE") == "asan" or peak < 60 << 10, peak)


def malformed(s):
    """Sends malformed messages. Each must be answered with the expected error, or ignored."""
    rng = random.Random(20)
    good = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": STATELESS}}
    text = json.dumps(good).encode()
    shapes = [
        (lambda: b"[" + text + b"]", "request"), (lambda: b"[]", "request"), (lambda: b"17", "request"),
        (lambda: b'"x"', "request"), (lambda: b"null", "request"),
        (lambda: text[:rng.randrange(1, len(text))], "parse"),
        (lambda: bytes(rng.randrange(128, 255) for _ in range(rng.randrange(1, 60))), "parse"),
        (lambda: b"{" * rng.randrange(1, 3000), "parse"), (lambda: b"[" * 100000, "parse"),
        (lambda: json.dumps(dict(good, jsonrpc=rng.choice(["1.0", 2, None, [], "2.00"]))).encode(), "request"),
        (lambda: json.dumps(dict(good, id=rng.choice([None, 1.5, [], {}, True]))).encode(), "request"),
        (lambda: json.dumps(dict(good, method=rng.choice([1, None, [], {}]))).encode(), "request"),
        (lambda: json.dumps(dict(good, method=rng.choice(["", "x", "tools", "tools/list/", "a" * 5000]))).encode(), "method"),
        (lambda: json.dumps(dict(good, params=rng.choice([1, "x", [], [1]]))).encode(), "params"),
        (lambda: json.dumps(dict(good, params={"_meta": rng.choice([1, "x", [], {VERSION: 1}, {}, {VERSION: None}])})).encode(), "params"),
        (lambda: json.dumps(dict(good, method="tools/call", params={"_meta": STATELESS, "name": rng.choice([1, None, "none", ["x"]])})).encode(), "params"),
        (lambda: json.dumps(dict(good, method="tools/call", params={"_meta": STATELESS, "name": "list_tasks", "arguments": rng.choice([1, "x", []])})).encode(), "params"),
        (lambda: text.replace(b'"tools/list"', b'"a\\u0000b"'), "parse"),
        (lambda: text[:-1] + b',"id":2}', "parse"),
        (lambda: b"  \t ", None), (lambda: b"", None),
        (lambda: b'{"jsonrpc":"2.0","method":"notifications/%d"}' % rng.randrange(99), None),
        (lambda: b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":%s}'
         % rng.choice([b"[]", b"{}", b'{"requestId":9}', b'{"requestId":{}}', b"3"]), None),
        (lambda: b'{"jsonrpc":"2.0","id":%d,"result":{}}' % rng.randrange(9), None),
    ]
    wrong = []
    for i in range(500):
        make, want = shapes[i % len(shapes)]
        line = make()
        s.write(line + b"\n")
        if want:
            answer = s.receive(10)
            if code(answer) != ERRORS[want]:
                wrong.append((line[:80], want, answer))
    check("each of 500 malformed messages is answered with its error, or ignored", not wrong, wrong[:3])
    same("the server answers after 500 malformed messages", s.ask("server/discover")["result"]["resultType"], "complete")
    same("the server sends no other message", s.others, [])


def main():
    s = handshake()
    stateless(s)
    kernels(s)
    subscriptions(s)
    cancelled(s)
    same("the server ends if its input ends", s.close(), 0)
    optimisations()
    s = Server("--dir", ".", env={"OPENAI_API_KEY": "sk-0123456789abcdef"})
    hostile(s)
    malformed(s)
    big(s)
    s.process.stdin.close()
    s.close()


main()
