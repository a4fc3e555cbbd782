"""Runs the files that t/gpu/export.sh exported, and prints one table. Run it in the folder with these files."""

import glob
import importlib
import importlib.util
import json
import math
import os
import sys
import time

import torch

sys.path.insert(0, ".")
torch.manual_seed(1)
failures = 0
device = "cuda"
props = torch.cuda.get_device_properties(0)
clean = torch.zeros(2 * getattr(props, "L2_cache_size", 64 << 20) // 4, dtype=torch.int32, device=device)
CYCLES_PER_MS = 1_900_000


def check(what, good, detail=""):
    global failures
    failures += not good
    print(f"{'ok' if good else 'FAILED':6} {what} {detail}")


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def cold_time(call, events=None, n=30):
    """Median microseconds of a call with a cold L2. As in Hone's worker, the stream sleeps until the whole call is
    queued."""
    times = []
    begin, end = events or (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
    for _ in range(n):
        clean.sum()
        torch.cuda._sleep(CYCLES_PER_MS)
        if not events:
            begin.record()
        call()
        if not events:
            end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return median(times)


def captured(call, with_events):
    """A graph of the call, and the events inside it."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph, events = torch.cuda.CUDAGraph(), None
    if with_events:
        events = [torch.cuda.Event(enable_timing=True, external=True) for _ in range(2)]
    with torch.cuda.graph(graph):
        if events:
            events[0].record()
        out = call()
        if events:
            events[1].record()
    return graph, events, out


def close(got, want, rtol=1e-3, atol=1e-3):
    error = (got.float() - want.float()).abs().max().item()
    return torch.allclose(got.float(), want.float(), rtol=rtol, atol=atol), f"largest difference {error:.3g}"


# ---- data as in the verdict, because the time of a kernel may depend on them


def mix(seed, a, b):
    """As mix() in src/eval/cases.c."""
    wrap = (1 << 64) - 1
    z = (seed + a * 0x9e3779b97f4a7c15 + b * 0xd1b54a32d192ed03 + 0x2545f4914f6cdd1d) & wrap
    z = ((z ^ z >> 30) * 0xbf58476d1ce4e5b9) & wrap
    z = ((z ^ z >> 27) * 0x94d049bb133111eb) & wrap
    return z ^ z >> 31


def turn_of(task, verdict, workload):
    """In a task's "init", a value can be a list, of which each evaluation chooses one entry (docs/data.md). Returns the
    number by which the evaluation chose for this workload, such as "time:1"."""
    role, number = workload.split(":")
    places = [i for i, w in enumerate(task["workloads"]) if w["role"] == role]
    return places[int(number)] + (mix(int(verdict["seed"]), 11, 0) >> 32)


def fill(tensor, init, turn):
    """Draws values with the distribution of an input's "init". Returns the distribution as a text."""
    pick = lambda v: v[turn % len(v)] if isinstance(v, list) else v
    if init["dist"] != "normal":
        raise SystemExit(f"export.py cannot draw {init['dist']}")
    drawn = torch.randn(tensor.shape, device=device) * pick(init["std"]) + pick(init["mean"])
    values = {"inf": math.inf, "-inf": -math.inf, "zero": 0.0, "denormal": torch.finfo(tensor.dtype).tiny / 4}
    for special in init.get("special", []):
        drawn[torch.rand(tensor.shape, device=device) * special["every"] < 1] = values[special["value"]]
    tensor.copy_(drawn)
    return f"N({pick(init['mean'])}, {pick(init['std'])})"


f32 = lambda *s: torch.randn(*s, device=device)
f16 = lambda *s: torch.randn(*s, device=device).half()
CASES = {
    "vector_add": (lambda a: (f32(a["N"]), f32(a["N"])), lambda a, b: a + b),
    "softmax": (lambda a: (f32(a["R"], a["C"]),), lambda x: torch.softmax(x, -1)),
    "matmul_f16": (lambda a: (f16(a["M"], a["K"]), f16(a["N"], a["K"])), lambda a, b: a @ b.T),
}
small = {"vector_add": {"N": 1000}, "softmax": {"R": 33, "C": 1000}, "matmul_f16": {"M": 130, "N": 72, "K": 64}}
odd = {"vector_add": {"N": 1001}, "softmax": {"R": 3, "C": 7}, "matmul_f16": {"M": 17, "N": 33, "K": 71}}
rows = []
with_events = True
for name, (make, eager) in CASES.items():
    module = importlib.import_module(name + "_op")
    op = getattr(module, name)
    for shape in (small[name], odd[name]):
        args = make(shape)
        want = eager(*args)
        scale = 0.02 if name == "matmul_f16" else 1e-5
        check(f"{name} {shape} eager", *close(op(*args), want, scale, scale))
        compiled = torch.compile(lambda *a: op(*a) * 2 + 1, fullgraph=True)
        check(f"{name} {shape} torch.compile", *close(compiled(*args), want * 2 + 1, scale, 2 * scale))
        graph, _, out = captured(lambda: op(*args), False)
        for a in args:
            a.copy_(torch.randn_like(a))
        out.zero_()
        graph.replay()
        check(f"{name} {shape} captured graph, other data", *close(out, eager(*args), scale, scale))
    view = make(small[name])
    strided = [torch.stack([v, v], -1)[..., 0] for v in view]
    check(f"{name} strided inputs", *close(op(*strided), eager(*view), scale, scale))
    grads = []
    for f in (op, eager):
        inputs = [v.clone().requires_grad_() for v in view]
        f(*inputs).float().square().sum().backward()
        grads.append(inputs[0].grad)
    check(f"{name} gradient", *close(grads[0], grads[1], 0.02, 0.02))
    verdict = json.load(open(name + ".json"))
    task = json.load(open(f"{os.environ['root']}/tasks/{name}/task.json"))
    for t in (t for t in verdict["times"] if t["who"] == "candidate"):
        shape = dict((k, int(v)) for k, v in (part.split("=") for part in t["shape"].split() if "=" in part))
        args = make(shape)
        turn = turn_of(task, verdict, t["workload"])
        data = " ".join(fill(tensor, init, turn) for tensor, init in zip(args, task["init"].values()))
        stream_us = cold_time(lambda: op(*args))
        graph, _, _ = captured(lambda: op(*args), False)
        graph_us = cold_time(graph.replay)
        inside_us = None
        if with_events:
            try:
                graph, events, _ = captured(lambda: op(*args), True)
                inside_us = cold_time(graph.replay, events)
            except Exception as e:  # noqa: BLE001  older PyTorch
                with_events = False
                print(f"# no events inside graphs: {type(e).__name__}: {str(e)[:100]}")
        verdict_us = t["median_ns"] / 1e3
        best = inside_us if inside_us is not None else graph_us
        rows.append((name, t["shape"], verdict_us, stream_us, graph_us, inside_us, best, data))
        del args, graph

print(f"\n# {torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}; microseconds, cold L2, median of 30")
print(f"{'kernel':12} {'shape':24} {'verdict':>9} {'stream':>9} {'graph':>9} {'inside':>9} {'off':>8}  data")
for name, shape, verdict_us, stream_us, graph_us, inside_us, best, data in rows:
    within = abs(best - verdict_us) <= 0.03 * verdict_us + 0.5
    failures += not within
    inside = f"{inside_us:9.2f}" if inside_us is not None else "        -"
    print(f"{name:12} {shape:24} {verdict_us:9.2f} {stream_us:9.2f} {graph_us:9.2f} {inside} "
          f"{(best / verdict_us - 1) * 100:+7.1f}%  {data} {'' if within else '<-- beyond 3% + 0.5 us'}")
print("# stream: events around the call; graph: events around the replay; inside: events in the captured graph")

# ---- the host's time for one eager call on a small tensor


def host_us(call, n=3000):
    for _ in range(300):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(n):
            call()
        times.append((time.perf_counter() - start) / n * 1e6)
        torch.cuda.synchronize()
    return median(times)


vector_add = importlib.import_module("vector_add_op").vector_add
matmul = importlib.import_module("matmul_f16_op").matmul_f16
a, b = f32(1024), f32(1024)
A, B = f16(256, 64), f16(256, 64)
print("\nhost microseconds of one eager call on small tensors:")
with torch.no_grad():
    print(f"  exported vector_add            {host_us(lambda: vector_add(a, b)):7.2f}")
    print(f"  exported matmul_f16 (3 maps)   {host_us(lambda: matmul(A, B)):7.2f}")
    print(f"  torch a + b                    {host_us(lambda: a + b):7.2f}")
    for file, what in (("model_source", "load_inline extension (ModelNew)"), ("model_cubin", "ModelNew, machine code")):
        try:
            model = importlib.import_module(file).ModelNew()
        except Exception as e:  # noqa: BLE001
            check(file, False, f"{type(e).__name__}: {str(e)[-400:]}")
            continue
        check(f"{file}: ModelNew", *close(model(a, b), a + b, 1e-6, 1e-6))
        print(f"  {what:30} {host_us(lambda: model(a, b)):7.2f}")

# ---- other formats and refusals
solution = json.load(open(glob.glob("bench/solutions/*.json")[0]))
open("solution_main.py", "w").write(solution["sources"][0]["content"])
run = importlib.import_module("solution_main").run
x = f32(100, 300)
y = torch.empty_like(x)
run(x, y)
check("FlashInfer-Bench solution", *close(y, torch.softmax(x, -1), 1e-5, 1e-6))
rowmix = importlib.import_module("rowmix_op").rowmix
x, s = f32(6, 600), f32(300)
out, total = rowmix(x, s)
want = 1.5 * x[:, :300] * s + x[:, 300:] + 3
check("workspace, cluster, cooperative launch", *close(out, want, 1e-5, 1e-5))
check("and the second output", *close(total, want.sum(1), 1e-4, 1e-2))
out, total = rowmix(x.flatten()[1:1 + 5 * 600].view(5, 600), s)
want = 1.5 * x.flatten()[1:3001].view(5, 600)[:, :300] * s + x.flatten()[1:3001].view(5, 600)[:, 300:] + 3
check("an address that is not aligned for vectors", *close(out, want, 1e-5, 1e-5))
pattern = torch.tensor([(i % 17 - 8) / 8 for i in range(4096)])
line = [float(v) for v in open("example.txt").read().split(":")[1].split()]
check("C example", *close(torch.tensor(line), (pattern + pattern)[:8], 1e-6, 1e-6))
try:
    vector_add(a, b.cpu())
    check("a tensor on the CPU is refused", False)
except Exception as e:  # noqa: BLE001
    check("a tensor on the CPU is refused", "cpu" in str(e), str(e)[:100])
print(f"# {failures} failures")
sys.exit(failures > 0)
