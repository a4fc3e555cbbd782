#!/usr/bin/env bash
# Products of fp32 matrices by the built-in author's templates, beside PyTorch: first the errors of
# fp32, three TF32 products and one TF32 product side by side, then times of some settings.
#   HONE=bin/hone OUT=results t/gpu/sgemm.sh [errors|CASE...]
# In each case the first kernel is judged, the others are timed beside it. Starts nothing new after
# LIMIT seconds (default 150). DRY=1 needs no GPU: the emulator judges the first kernels at small shapes,
# and the errors are those that the emulator makes, which does not cut off sums as tensor cores do.
# Exits 77 where there is no GPU.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
export HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)} LIMIT=${LIMIT:-150}
[ -e /dev/nvidiactl ] || [ -n "${DRY-}" ] || { echo "no GPU"; exit 77; }
exec python3 - "$@" <<'PY'
import importlib.util, json, os, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

hone, out, limit = os.environ["HONE"], Path(os.environ["OUT"]).resolve(), float(os.environ["LIMIT"])
dry, only, began = os.environ.get("DRY"), sys.argv[1:], time.time()
H, L, F = "gemm_3tf32_sm90", "gemm_3tf32_sm80", "gemm_f32"
f32 = f"{F} bm=128 bn=128 vec=4 bk=16 buffers=2 group=8"
# name, layout of A and B (t: transposed), batch, M, N, K, kernels; the first is judged
cases = [
    ("square", "nn", 0, 4096, 4096, 4096,
     [H, f"{H} stages=3", f"{H} promote=128", f"{H} depth=16", f"{H} cols=192 depth=16 stages=3", f"{H} group=16",
      f"{H} flip=1 stages=3", f"{H} groups=1 cols=128", f"{L} bm=128 bn=128 warps=8", f32]),
    ("wide", "nt", 0, 2048, 8192, 4096, [H, f"{H} flip=1", f"{H} promote=128", f32]),
    ("turned", "tn", 0, 2048, 4096, 8192, [H, f"{H} flip=1", f"{L} bm=128 bn=128 warps=8", f32]),
    ("batched", "nn", 128, 512, 2048, 1024, [H, f"{H} group=1", f32]),
    ("skinny", "nt", 0, 32, 8192, 8192,
     [f"{H} flip=1 groups=2 cols=32 split=2", f"{H} flip=1 groups=1 cols=32", f"{H} flip=1 groups=1 cols=32 split=4", f32]),
    ("long", "nn", 0, 256, 256, 524288, [f"{H} split=32", f"{H} split=16", f"{H} cols=64 split=16", f"{L} split=16"]),
    ("odd", "nn", 0, 8205, 5921, 2949, [H, f32]),
]


def run(argv, seconds=200):
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 124, "", "timeout")


def write_task(name, layout, batch, m, n, k, tf32=False, dist="uniform"):
    lead = ["Z"] if batch else []
    turned = [layout[0] == "t", layout[1] == "t"]
    a, b = [["K", "M"] if turned[0] else ["M", "K"], ["N", "K"] if turned[1] else ["K", "N"]]
    axes = lead + ["M", "N", "K"]
    sizes = lambda z, *s: dict(zip(axes, ([z] if batch else []) + list(s)))
    data = {"dist": dist, "min": 0, "max": 1} if dist == "uniform" else {"dist": dist, "mean": 0, "std": 1}
    z = "Z*" if batch else ""
    task = {
        "name": name, "description": "A product of fp32 matrices.", "class": "gemm",
        "axes": {x: {"type": "var"} for x in axes},
        "inputs": {"A": {"shape": lead + a, "dtype": "float32"}, "B": {"shape": lead + b, "dtype": "float32"}},
        "outputs": {"C": {"shape": lead + ["M", "N"], "dtype": "float32"}},
        "constraints": [f"{x} >= 1" for x in axes], "compute": "float32",
        "flops": f"2*{z}M*N*K", "bytes": f"4*{z}(M*K + K*N + M*N)",
        "tolerance": {"C": {"sigmas": 8, "why": "derived from the graph"}}, "init": {"A": data, "B": data},
        "oracle": {"phases": [{"fn": "reference", "units": f"{z}M*N"}]}, "baselines": ["torch"],
        "torch": ("A.mT" if turned[0] else "A") + " @ " + ("B.mT" if turned[1] else "B"),
        "flags": ["no_small_shape"] + (["allow_tf32"] if tf32 else []),
        "workloads": [
            {"role": "smoke", "axes": sizes(2, 68, 36, 132)},
            {"role": "check", "axes": sizes(1, 64, 64, 4096)},
            {"role": "heldout", "axes": sizes([1, 3], [1, 150], [1, 150], [1, 150])},
            {"role": "time", "axes": sizes(batch, m, n, k)}]}
    path = out / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "task.json").write_text(json.dumps(task))
    (path / "reference.c").write_text('#include "hone_ref.h"\nPHASE(reference) { OUT(C, unit, 0); }\n')
    r = run([hone, "task", "show", str(path), "--reference", "--sigma"])
    if r.returncode:
        sys.exit(f"{name}: {r.stderr}")
    (path / "reference.c").write_text(r.stdout)
    return str(path)


def write_kernel(task, words, name):
    r = run([hone, "playbook", "kernel", words.split()[0], task, *words.split()[1:]])
    if r.returncode:
        sys.exit(f"{words}: {r.stderr}")
    path = out / f"{name}.cu"
    path.write_text(r.stdout)
    return str(path)


wanted = [c for c in cases if not only or c[0] in only]
if not dry and only != ["errors"]:
    kernels = {}  # case -> {file: words}
    for name, layout, batch, m, n, k, words in wanted:
        task = write_task(name, layout, batch, m, n, k)
        kernels[name] = {write_kernel(task, w, f"{name}.{i}"): w for i, w in enumerate(words)}
else:
    kernels = {c[0]: {write_kernel(write_task(*c[:6]), c[6][0], f"{c[0]}.0"): c[6][0]} for c in wanted}
error_kernels = {}
if not only or "errors" in only:
    size = (64, 64, 4096) if dry else (4096, 4096, 4096)
    plain, tf32 = write_task("exact", "nn", 0, *size), write_task("tf32", "nn", 0, *size, tf32=True)
    for label, task, words in (("gemm_f32", plain, f32), ("3 x TF32, WGMMA", plain, H),
                               ("3 x TF32, WGMMA, promote=128", plain, f"{H} promote=128"),
                               ("3 x TF32, mma.sync", plain, L), ("1 x TF32, WGMMA", tf32, H)):
        error_kernels[label] = (task, write_kernel(task, words, f"error.{len(error_kernels)}"))


def export(item):
    label, (task, kernel) = item
    r = run([hone, "export", task, kernel, "--as", "torch", "--unverified", "--out", kernel[:-3] + ".py"])
    return label, kernel[:-3] + ".py", Path(task).name, r


with ThreadPoolExecutor(2 if dry else 16) as pool:
    compiled = pool.map(lambda p: run([hone, "compile", p], 200), [p for c in kernels.values() for p in c])
    exported = [] if dry else list(pool.map(export, error_kernels.items()))
    for p, r in zip([p for c in kernels.values() for p in c], compiled):
        if r.returncode:
            print(f"{p}: {r.stdout[:300]}{r.stderr[:300]}")
print(f"# compiled after {time.time() - began:.0f} s", flush=True)
for label, path, _, r in exported:
    if r.returncode:
        print(f"{label}: {r.stderr[:300]}")


def print_errors():
    import torch
    ops = {"cuBLAS fp32": lambda a, b: a @ b}
    for label, path, name, r in exported:
        if r.returncode == 0:
            spec = importlib.util.spec_from_file_location(Path(path).stem.replace(".", "_"), path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            ops[label] = getattr(module, name)

    def cublas_tf32(a, b):
        torch.backends.cuda.matmul.allow_tf32 = True
        c = a @ b
        torch.backends.cuda.matmul.allow_tf32 = False
        return c
    ops["cuBLAS TF32"] = cublas_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(1)
    print(f"\n{'rms error in 2^-24 sum|ab|':32}" + "".join(f"{h:>22}" for h in
          ("uniform K=4096", "normal K=4096", "uniform K=65536", "normal K=65536")))
    cells = {label: [] for label in ops}
    for n, k in ((4096, 4096), (512, 65536)):
        for draw in (torch.rand, torch.randn):
            a, b = draw(n, k, device="cuda"), draw(k, n, device="cuda")
            truth, size = a.double() @ b.double(), a.double().abs() @ b.double().abs()
            for label, op in ops.items():
                try:
                    e = (op(a, b).double() - truth) / size * 2.0**24
                    cells[label].append(f"{e.square().mean().sqrt().item():12.3f} (max {e.abs().max().item():.3g})")
                except Exception as x:
                    cells[label].append("failed")
                    print(f"{label}: {str(x)[:200]}")
    for label, row in cells.items():
        print(f"{label:32}" + "".join(f"{c:>22}" for c in row))
    print(f"# errors after {time.time() - began:.0f} s", flush=True)


def print_emulated_errors():
    print(f"\n{'rms error / sigma, K=4096':32}{'uniform':>12}{'normal':>12}")
    tasks = [write_task(f"exact_{d}", "nn", 0, 64, 64, 4096, dist=d) for d in ("uniform", "normal")]
    for label, (_, kernel) in error_kernels.items():
        row = []
        for task in tasks:
            r = run([hone, "eval", "--json", "--skip-sanitizer", "--skip-time", "--skip-baselines", "--device", "emu",
                     "--seed", "1", "--workload", "check:0", task, kernel])
            try:
                row.append(f"{json.loads(r.stdout)['workloads'][-1]['rms_ratio']:12.3f}")
            except (ValueError, KeyError, IndexError):
                row.append(f"{'failed':>12}")
        print(f"{label:32}" + "".join(row), flush=True)


if error_kernels and dry:
    print_emulated_errors()
elif error_kernels:
    try:
        print_errors()
    except Exception as x:
        print(f"no errors: {x}")

for name, layout, batch, m, n, k, _ in wanted:
    if time.time() - began > limit:
        print(f"# out of time before {name}")
        continue
    files = list(kernels[name])
    argv = [hone, "eval", "--json", "--skip-sanitizer"]
    if dry:
        argv += ["--device", "emu", "--smoke"]
    else:
        argv += ["--device", "cuda", "--measure-time=300ms"] + [w for f in files[1:] for w in ("--against", f)]
    r = run([*argv, str(out / name), files[0]])
    (out / f"{name}.json").write_text(r.stdout)
    try:
        v = json.loads(r.stdout)
    except ValueError:
        print(f"{name}: {r.stderr.strip()[:300]}")
        continue
    print(f"\n{name} ({layout} {f'{batch} x ' if batch else ''}{m} x {n} x {k}): {v['kind']}: {v['summary'][:200]}")
    for t in v.get("times", []):
        who = files[0] if t["who"] == "candidate" else t["who"]
        rate = 2e-3 * max(batch, 1) * m * n * k / t["median_ns"]
        print(f"  {t['median_ns'] / 1e3:10.1f} us {rate:7.1f} TFLOP/s  {kernels[name].get(who, who)}", flush=True)
print(f"# done after {time.time() - began:.0f} s")
PY
