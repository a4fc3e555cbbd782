"""client.py - `make test-all`: the protocol's own client library (PyPI `mcp`) lists and calls every
tool in both eras of the protocol (see quick.py), and all messages of the server are validated.

Every message is validated with the library's types for its revision. If the folder that
HONE_MCP_SCHEMAS names (default: .deps/mcp/schemas, which tools/setup fills where it can) has the
protocol's schema files, every message is validated with them too.
"""
import asyncio
import glob
import json
import os
import sys

import jsonschema
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import methods

sys.path.insert(0, os.path.dirname(__file__))
from talk import STATELESS, VERSION, CAPABILITIES, Server, check, same, words  # noqa: E402

ROOT = sys.argv[1]
SCHEMAS = os.environ.get("HONE_MCP_SCHEMAS", ROOT + "/.deps/mcp/schemas")
KERNEL = open(ROOT + "/kernels/vector_add.cu").read()
BROKEN = KERNEL.replace("i < n", "i <= n")
RESULTS = {"server/discover": "DiscoverResult", "initialize": "InitializeResult",
           "tools/list": "ListToolsResult", "tools/call": "CallToolResult",
           "resources/list": "ListResourcesResult", "resources/read": "ReadResourceResult",
           "resources/templates/list": "ListResourceTemplatesResult", "ping": "EmptyResult"}


# ---- validation
class Validator:
    def __init__(self):
        self.count = 0
        self.schemas = {}
        self.problems = []
        for path in glob.glob(SCHEMAS + "/*.json"):
            with open(path) as f:
                self.schemas[os.path.basename(path)[:-5]] = json.load(f)

    def schema(self, revision, name, value):
        whole = self.schemas.get(revision)
        if not whole:
            return
        key = "$defs" if "$defs" in whole else "definitions"
        if name not in whole[key] and name == "JSONRPCErrorResponse":
            name = "JSONRPCError"
        if name not in whole[key] and name == "EmptyResult":
            name = "Result"
        jsonschema.validate(value, {"$ref": "#/%s/%s" % (key, name), key: whole[key]})

    def message(self, revision, method, message):
        self.count += 1
        try:
            if "error" in message:
                self.schema(revision, "JSONRPCErrorResponse", message)
            elif "method" in message:
                methods.parse_server_notification(message["method"], revision, message["params"])
                self.schema(revision, "ProgressNotification", message)
            else:
                methods.validate_server_result(method, revision, message["result"])
                self.schema(revision, RESULTS[method], message["result"])
        except Exception as e:  # a validation error of either library
            self.problems.append("%s %s: %s" % (revision, method, str(e)[:300]))

    def logs(self, revision):
        """Validates the messages of a client and the server in to.log and from.log."""
        asked = {}
        for line in open("to.log"):
            m = json.loads(line)
            asked[json.dumps(m.get("id"))] = m["method"]
        for line in open("from.log"):
            m = json.loads(line)
            self.message(revision, asked.get(json.dumps(m.get("id"))), m)


def structured(result):
    return result.structured_content


# ---- every tool
async def use_every_tool(client, era):
    used = set()

    async def call(name, arguments, **more):
        used.add(name)
        return await client.call_tool(name, arguments, **more)

    def say(text, good, detail=""):
        check("%s: %s" % (era, text), good, detail)

    tools = (await client.list_tools()).tools
    say("15 tools are listed", len(tools) == 15)
    r = await call("list_tasks", {})
    say("tasks are listed", any(t["name"] == "softmax" for t in structured(r)["tasks"]))
    r = await call("show_task", {"task": "softmax"})
    say("a task is shown", structured(r)["name"] == "softmax")
    r = await call("check_task", {"task": "mine"})
    say("a task of the directory is checked", structured(r)["ok"], structured(r))
    r = await call("import_task", {"file": "model.py"})
    say("an import is refused without --allow-python", r.is_error)
    r = await call("compile_kernel", {"source": KERNEL})
    say("a kernel is compiled", structured(r)["ok"])
    r = await call("emulate_kernel", {"task": "vector_add", "source": BROKEN})
    say("a broken kernel has its finding", structured(r)["findings"][0]["line"] == 11)
    r = await call("evaluate_kernel", {"task": "vector_add", "file": "kernel.cu", "device": "emu",
                                       "depth": "check", "baselines": False})
    say("the fixed kernel passes", structured(r)["kind"] == "pass", structured(r)["report"])
    r = await call("profile_kernel", {"task": "mine", "source": MINE, "device": "emu",
                                      "workload": "time:0"})
    say("a kernel is profiled", structured(r)["kind"] == "pass" and structured(r)["bottleneck"],
        words_of(r))

    told = []

    async def on_progress(progress, total, message):
        told.append((progress, message))

    r = await call("start_optimization", {"task": "softmax", "author": "replay:refine.jsonl"})
    run = structured(r)["run"]
    r = await call("poll_optimization", {"run": run, "wait_s": 120}, progress_callback=on_progress)
    say("an optimisation is followed to its end", structured(r)["state"] == "done", structured(r))
    r = await call("start_optimization", {"task": "mine", "device": "emu", "steps": 50})
    other = structured(r)["run"]
    await call("poll_optimization", {"run": other, "wait_s": 3}, progress_callback=on_progress)
    say("an optimisation reports progress", told and all(a[0] < b[0] for a, b in zip(told, told[1:])
                                            if b[0] != 1), told)
    r = await call("stop_optimization", {"run": other})
    say("another optimisation is stopped", structured(r)["state"] == "stopped", structured(r))
    r = await call("list_runs", {})
    say("both optimisations are in the list of runs", {x["run"] for x in structured(r)["runs"]} >= {run, other})
    r = await call("show_run", {"run": run})
    say("a run is shown", structured(r)["best"] >= 0)
    r = await call("show_candidate", {"run": run})
    say("the best kernel of a run is shown", "hone-plan" in structured(r)["source"])
    r = await call("export_kernel", {"task": "mine", "file": "mine.cu", "as": "c", "out": "lib_" + era})
    say("a kernel is exported", not r.is_error and glob.glob("lib_%s/*.h" % era), words_of(r))
    say("every tool was called", used == {t.name for t in tools}, used)

    contents = (await client.read_resource("hone://run/%s/candidate/best/verdict" % run)).contents
    say("a resource is read", json.loads(contents[0].text)["kind"] == "pass")
    say("resources are listed", len((await client.list_resources()).resources) > 20)
    say("templates of resources are listed", len((await client.list_resource_templates()).resource_templates) == 5)
    for what in (client.read_resource("hone://run/none"), client.call_tool("none", {})):
        try:
            await what
            say("an unknown name is a protocol error", False)
        except MCPError as e:
            say("an unknown name is a protocol error", e.error.code in (-32602, -32002), e)
    try:
        await client.call_tool("evaluate_kernel", {"task": "softmax", "source": SOFTMAX,
                                                   "device": "emu"}, read_timeout_seconds=1)
        say("after a call that the client gave up, the server answers", False)
    except MCPError:
        r = await client.call_tool("list_tasks", {})
        say("after a call that the client gave up, the server answers", not r.is_error)


async def import_with_torch(client, era):
    """Needs HONE_PYTHON, a Python that has PyTorch, and a server with --allow-python."""
    r = await client.call_tool("import_task", {"file": "model.py", "out": "from_" + era})
    check("%s: a PyTorch module becomes a task" % era,
          not r.is_error and structured(r)["compared"], words_of(r))
    if not r.is_error:
        task = structured(r)["dir"]
        r = await client.call_tool("check_task", {"task": task})
        check("%s: which is good" % era, structured(r)["ok"], words_of(r))
        r = await client.call_tool("evaluate_kernel", {"task": task, "source": DOUBLED,
                                                       "device": "emu", "depth": "smoke"})
        check("%s: and judges a kernel" % era, structured(r)["kind"] == "pass", words_of(r))
    r = await client.call_tool("import_task", {"file": "escape.py", "out": "escape_" + era})
    check("%s: a hostile module leaves the directory alone" % era,
          r.is_error and not os.path.exists("../planted") and "root:" not in words_of(r), words_of(r))


def words_of(result):
    return "\n".join(getattr(b, "text", "") for b in result.content)


def through_logs(options):
    """A server whose input and output are also written to to.log and from.log."""
    command = 'tee to.log | "$HONE" mcp --dir . %s | tee from.log' % options
    return StdioServerParameters(command="sh", args=["-c", command], env=dict(os.environ))


async def with_torch(validator):
    if "HONE_PYTHON" not in os.environ:
        return
    for mode, revision in (("legacy", "2025-11-25"), ("auto", "2026-07-28")):
        async with Client(through_logs("--allow-python"), mode=mode) as client:
            await import_with_torch(client, mode)
        validator.logs(revision)


async def with_library(validator):
    for mode, revision in (("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28",) * 2):
        async with Client(through_logs("--author replay:refine.jsonl"), mode=mode) as client:
            same("mode %s speaks %s" % (mode, revision), client.protocol_version, revision)
            same("the server has a name", client.server_info and client.server_info.name,
                 None if mode == revision else "hone")
            if mode == revision:
                check("a client needs no handshake", len((await client.list_tools()).tools) == 15)
            else:
                await use_every_tool(client, mode)
        validator.logs(revision)


# ---- messages that the library does not send
def by_hand(validator):
    for revision in ("2025-06-18", "2025-11-25", "2026-07-28"):
        s = Server("--dir", ".")
        if revision != "2026-07-28":
            validator.message(revision, "initialize", s.initialize(revision))
            validator.message(revision, "ping", s.ask("ping"))
        else:
            validator.message(revision, "server/discover", s.ask("server/discover"))
            validator.message(revision, "x", s.ask("x", meta={VERSION: "x", CAPABILITIES: {}}))
        for method in ("tools/list", "resources/list", "resources/templates/list"):
            validator.message(revision, method, s.ask(method))
        for name, arguments in (("list_tasks", {}), ("show_task", {"task": "none"}),
                                ("compile_kernel", {"source": KERNEL, "want": "sass"}),
                                ("emulate_kernel", {"task": "vector_add", "source": BROKEN, "annotate": True})):
            answer = s.ask("tools/call", {"name": name, "arguments": arguments})
            validator.message(revision, "tools/call", answer)
        validator.message(revision, "none", s.ask("none"))
        s.close()


def huge():
    """Sends a message of 1 GB."""
    s = Server("--dir", ".")
    s.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"compile_kernel","arguments":{"source":"')
    for _ in range(1024):
        s.write(b"x" * (1 << 20))
    s.write(b'"}}}\n')
    same("a message of 1 GB is refused", s.receive(60)["error"]["code"], -32600)
    with open("/proc/%d/status" % s.process.pid) as f:
        peak = [int(line.split()[1]) for line in f if line.startswith("VmHWM")][0]
    check("the server does not keep a message of 1 GB", os.environ.get("MODE") == "asan" or peak < 60 << 10, peak)
    same("the server answers after a message of 1 GB", s.ask("server/discover")["result"]["resultType"], "complete")
    s.close()


# The reference.c of this task tries to open files and sockets and to start processes, and reports the results.
ATTACK = """
#ifdef __cplusplus
extern "C" {
#endif
int open(const char *, int, ...); int socket(int, int, int); long write(int, const void *, unsigned long);
int snprintf(char *, unsigned long, const char *, ...); int kill(int, int); int unlink(const char *);
#ifdef __cplusplus
}
#endif
static void attack(void) {
    static int done;
    char b[200];
    if (done++) return;
    int r = open("@HOME@/secret", 0) >= 0, w = open("@DIR@/planted", 0101, 0644) >= 0;
    int s = socket(2, 1, 0) >= 0, u = socket(1, 1, 0) >= 0, k = kill(@PID@, 0) == 0;
    int x = unlink("@DIR@/kernel.cu") == 0;
    int n = snprintf(b, 200, "attack: read %d write %d inet %d unix %d kill %d unlink %d\\n", r, w, s, u, k, x);
    if (write(2, b, n) < 0) return;
}
"""


def hostile_reference():
    s = Server("--dir", ".")
    home = os.path.dirname(os.getcwd())
    with open(home + "/secret", "w") as f:
        f.write("secret")
    os.system('"$HONE" task new evil >/dev/null')
    with open("evil/reference.c") as f:
        text = f.read()
    attack = ATTACK.replace("@HOME@", home).replace("@DIR@", os.getcwd()).replace("@PID@", str(s.process.pid))
    bad = text.replace('#include "hone_ref.h"', '#include "hone_ref.h"\n' + attack)
    bad = bad.replace("PHASE(reference)\n{", "PHASE(reference)\n{\n    attack();")
    with open("evil/reference.c", "w") as f:
        f.write(bad)
    kernel = MINE
    r = s.tool("evaluate_kernel", task="evil", source=kernel, device="emu", depth="smoke", seconds=120)
    check("a task with a hostile reference is judged", r["structuredContent"]["kind"] in ("pass", "unjudged"), words(r))
    check("a hostile reference changes no file", os.path.exists("kernel.cu") and not os.path.exists("planted"))
    for trick in ('%%:include "%s/secret"', '#\\\ninclude "%s/secret"', '/**/ # include "%s/secret"',
                  'asm(".incbin \\"%s/secret\\"");'):
        with open("evil/reference.c", "w") as f:
            f.write(trick % home + "\n" + text)
        r = s.tool("check_task", task="evil", seconds=120)
        check("reference.c cannot include a file outside (%s)" % trick[:8].replace("\n", " "),
              "secret\n" not in words(r).replace("/secret", "") and not r["structuredContent"]["ok"], words(r))
    s.close()


# `hone task new` makes a task y = alpha*x + b; this is a kernel for it.
MINE = """/* hone-plan
{ "launches": [ { "kernel": "axpb", "grid": ["cdiv(R*C,256)"], "block": [256],
                  "args": ["x", "b", "y", "alpha", "R", "C"] } ] }
*/
extern "C" __global__ void axpb(const float *x, const float *b, float *y, float alpha, int R, int C)
{
    long i = blockIdx.x * 256l + threadIdx.x;
    if (i < (long)R * C)
        y[i] = alpha * x[i] + b[i % C];
}
"""
# A module in PyTorch, a kernel for it, and a module that reads and writes outside the directory.
MODULE = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 + 1
def get_inputs():
    return [torch.randn(512, 1024)]
def get_init_inputs():
    return []
"""
ESCAPE = MODULE + """
try:
    open("../planted", "w")
except OSError:
    raise RuntimeError(open("/etc/passwd").read())
"""
DOUBLED = """/* hone-plan
{ "launches": [ { "kernel": "doubled", "grid": ["cdiv(shape0*shape1,256)"], "block": [256],
                  "args": ["x", "y", "shape0", "shape1"] } ] }
*/
extern "C" __global__ void doubled(const float *x, float *y, int rows, int columns)
{
    long i = blockIdx.x * 256l + threadIdx.x;
    if (i < (long)rows * columns)
        y[i] = 2 * fmaxf(x[i], 0) + 1;
}
"""
SOFTMAX = open(ROOT + "/kernels/softmax.cu").read()


def main():
    for name, text in (("kernel.cu", KERNEL), ("mine.cu", MINE), ("model.py", MODULE),
                       ("escape.py", ESCAPE)):
        with open(name, "w") as f:
            f.write(text)
    os.system('"$HONE" task new mine >/dev/null')
    validator = Validator()
    asyncio.run(with_library(validator))
    asyncio.run(with_torch(validator))
    by_hand(validator)
    check("%d messages are valid%s" % (validator.count, " by %d schema files" % len(validator.schemas)
                                       if validator.schemas else ""),
          not validator.problems and validator.count > 50, "\n".join(validator.problems[:8]))
    hostile_reference()
    huge()


main()
