#!/usr/bin/env bash
# Times products of fp32 matrices from the built-in author's templates beside PyTorch.
#   HONE=bin/hone OUT=results t/gpu/sgemm.sh [tiny|errors|CASE...]
# 1. tiny: judges small products with each number of consumer warpgroups, and products of infinite operands.
# 2. errors: compares the errors of fp32, of three TF32 products and of one TF32 product. Each kernel runs in a
#    process of its own, from the smallest size to the largest.
# 3. The cases, smallest first: Hone judges the first kernel of a case and times the others beside it.
# Each step prints a line when it begins or ends, and has a time limit: 180 s to compile a kernel, STEP
# seconds (default 90) for anything that runs on the GPU. Starts nothing new after LIMIT seconds
# (default 480). DRY=1 needs no GPU: the emulator judges the first kernels at small shapes, and the
# errors are those of the emulator, which does not cut off sums as tensor cores do.
# Exits 77 where there is no GPU, 1 if a step failed.
#
# Expected times on a machine with 16 cores and an H200: tiny 40 s, errors 70 s, each case 20 s. To compile the
# kernels takes 20 s more for tiny, 20 s for errors and 40 s for all cases.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
export HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)} LIMIT=${LIMIT:-480} STEP=${STEP:-${DRY:+3}90}
export ERRORS=$root/t/gpu/sgemm_errors.py INFINITE=$root/t/cases/playbooks/infinite_product
[ -e /dev/nvidiactl ] || [ -n "${DRY-}" ] || { echo "no GPU"; exit 77; }
exec python3 -u - "$@" <<'PY'
import json, os, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

hone, out, limit = os.environ["HONE"], Path(os.environ["OUT"]).resolve(), float(os.environ["LIMIT"])
dry, only, began, step = os.environ.get("DRY"), sys.argv[1:], time.time(), float(os.environ["STEP"])
H, L, F = "gemm_3tf32_sm90", "gemm_3tf32_sm80", "gemm_f32"
f32 = f"{F} bm=128 bn=128 vec=4 bk=16 buffers=2 group=8"
# name, layout of A and B (t: transposed), batch, M, N, K, kernels
cases = [
    ("tiny", "nn", 0, 128, 128, 256,
     [f"{H} groups=1", H, f"{H} groups=3 cols=64", f"{H} flip=1", f"{H} split=2", f"{H} turns=0", L]),
    ("skinny", "nt", 0, 32, 8192, 8192,
     [f"{H} flip=1 groups=2 cols=32 split=2", f"{H} flip=1 groups=1 cols=32", f"{H} flip=1 groups=1 cols=32 split=4", f32]),
    ("long", "nn", 0, 256, 256, 524288, [f"{H} split=32", f"{H} split=16", f"{H} cols=64 split=16", f"{L} split=16"]),
    ("square", "nn", 0, 4096, 4096, 4096,
     [H, f"{H} turns=0", f"{H} blocks=0", f"{H} stages=3", f"{H} promote=128", f"{H} depth=16", f"{H} group=16", f"{H} flip=1 stages=3",
      f"{H} groups=1 cols=128", f"{L} bm=128 bn=128 warps=8", f32]),
    ("wide", "nt", 0, 2048, 8192, 4096, [H, f"{H} flip=1", f"{H} promote=128", f32]),
    ("turned", "tn", 0, 2048, 4096, 8192, [f"{H} pack=1", f"{H} pack=2", H, f"{H} flip=1", f"{L} bm=128 bn=128 warps=8", f32]),
    ("batched", "nn", 128, 512, 2048, 1024, [H, f"{H} turns=0", f"{H} blocks=0", f"{H} group=1", f32]),
    ("odd", "nn", 0, 8205, 5921, 2949, [f"{H} pack=3", H, f32]),
    ("short", "nn", 0, 32768, 32768, 64, [f"{H} run=32", f"{H} run=8", f"{H} run=32 turns=0", f"{H} run=0"]),
]
failed = []


def say(text):
    print(f"# {time.time() - began:6.1f} s  {text}", flush=True)


def fail(text):
    failed.append(text)
    say(f"FAILED: {text}")


def run(argv, seconds=step, **more):
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, text=True, timeout=seconds,
                              **(more or {"capture_output": True}))
    except subprocess.TimeoutExpired:  # the process was killed
        return subprocess.CompletedProcess(argv, 124, "", f"it ran longer than {seconds:.0f} s")


def in_time(what):
    if time.time() - began > limit:
        say(f"out of time before {what}")
        return False
    return True


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


def compile_all(jobs):
    """jobs: {label: argv}. Prints each label when it is compiled. Returns the labels without an error."""
    good = set()
    with ThreadPoolExecutor(2 if dry else 16) as pool:
        began_at = time.time()
        tasks = {pool.submit(run, argv, 180): label for label, argv in jobs.items()}
        for t in as_completed(tasks):
            r, label = t.result(), tasks[t]
            if r.returncode:
                fail(f"to compile {label}: {(r.stdout + r.stderr).strip()[:300]}")
            else:
                good.add(label)
                say(f"compiled after {time.time() - began_at:.1f} s: {label}")
    return good


def kernels_of(case, all_of_them):
    """{file: words} of a case's kernels that compile"""
    name, words = case[0], case[6] if all_of_them else case[6][:1]
    task = write_task(*case[:6])
    files = {write_kernel(task, w, f"{name}.{i}"): w for i, w in enumerate(words)}
    good = compile_all({f: [hone, "compile", f] for f in files})
    return {f: w for f, w in files.items() if f in good}


def judge_tiny(case):
    jobs = [(str(out / case[0]), k, w) for k, w in kernels_of(case, not dry).items()]
    if not dry:
        infinite = os.environ["INFINITE"]
        jobs += [(infinite, write_kernel(infinite, w, f"infinite.{i}"), f"infinite operands, {w}")
                 for i, w in enumerate((H, f"{H} flip=1 groups=3 cols=64", L))]
    for task, kernel, words in jobs:
        if not in_time(words):
            return
        argv = [hone, "eval", "--json", "--skip-sanitizer", "--skip-time", "--skip-baselines", "--smoke", "--device",
                "emu" if dry else "cuda", task, kernel]
        say(f"judging {words}")
        r = run(argv)
        try:
            v = json.loads(r.stdout)
        except ValueError:
            fail(f"{words}: {r.stderr.strip()[-300:]}")
            continue
        (say if v["kind"] == "pass" else fail)(f"{words}: {v['kind']}: {v['summary'][:200]}")


def error_kernels():
    size = (64, 64, 4096) if dry else (4096, 4096, 4096)
    plain, tf32 = write_task("exact", "nn", 0, *size), write_task("tf32", "nn", 0, *size, tf32=True)
    kernels = {}
    for label, task, words in (("gemm_f32", plain, f32), ("3 x TF32, WGMMA", plain, H),
                               ("3 x TF32, WGMMA, promote=128", plain, f"{H} promote=128"),
                               ("3 x TF32, mma.sync", plain, L), ("1 x TF32, WGMMA", tf32, H)):
        kernels[label] = (task, write_kernel(task, words, f"error.{len(kernels)}"))
    return kernels


def print_errors():
    jobs, ops = {}, {"cuBLAS fp32": ("cublas", "fp32"), "cuBLAS TF32": ("cublas", "tf32")}
    for label, (task, kernel) in error_kernels().items():
        ops[label] = (kernel[:-3] + ".py", Path(task).name)
        jobs[label] = [hone, "export", task, kernel, "--as", "torch", "--unverified", "--out", ops[label][0]]
    good, rows = compile_all(jobs), {}
    for i, (label, (path, op)) in enumerate(ops.items()):
        if (label in jobs and label not in good) or not in_time(f"the errors of {label}"):
            continue
        result = out / f"errors.{i}.json"
        result.unlink(missing_ok=True)
        say(f"errors of {label}")
        r = run([sys.executable, "-u", os.environ["ERRORS"], path, op, str(result)], capture_output=False)
        if r.returncode:
            fail(f"errors of {label}: {r.stderr or 'see above'}")
        rows[label] = json.loads(result.read_text()) if result.exists() else {}
    sizes = list(dict.fromkeys(s for row in rows.values() for s in row))
    print("\nrms error (and the largest) in 2^-24 sum|ab|:")
    for size in sizes:
        print(f"  {size}")
        for label, row in rows.items():
            print(f"    {label:32}" + (f"{row[size][0]:10.3f} ({row[size][1]:.3g})" if size in row else "      none"))
    sys.stdout.flush()


def print_emulated_errors():
    print(f"\n{'rms error / sigma, K=4096':32}{'uniform':>12}{'normal':>12}")
    tasks = [write_task(f"exact_{d}", "nn", 0, 64, 64, 4096, dist=d) for d in ("uniform", "normal")]
    for label, (_, kernel) in error_kernels().items():
        row = []
        for task in tasks:
            r = run([hone, "eval", "--json", "--skip-sanitizer", "--skip-time", "--skip-baselines", "--device", "emu",
                     "--seed", "1", "--workload", "check:0", task, kernel])
            try:
                row.append(f"{json.loads(r.stdout)['workloads'][-1]['rms_ratio']:12.3f}")
            except (ValueError, KeyError, IndexError):
                failed.append(label)
                row.append(f"{'failed':>12}")
        print(f"{label:32}" + "".join(row), flush=True)


def time_case(case):
    name, layout, batch, m, n, k, _ = case
    kernels = kernels_of(case, not dry)
    files = list(kernels)
    if not files or not in_time(name):
        return
    argv = [hone, "eval", "--json", "--skip-sanitizer"]
    if dry:
        argv += ["--device", "emu", "--smoke"]
    else:
        argv += ["--device", "cuda", "--measure-time=300ms"] + [w for f in files[1:] for w in ("--against", f)]
    say(f"judging and timing {name}")
    r = run([*argv, str(out / name), files[0]])
    (out / f"{name}.json").write_text(r.stdout)
    try:
        v = json.loads(r.stdout)
    except ValueError:
        fail(f"{name}: {r.stderr.strip()[-300:]}")
        return
    (say if v["kind"] == "pass" else fail)(
        f"{name} ({layout} {f'{batch} x ' if batch else ''}{m} x {n} x {k}): {v['kind']}: {v['summary'][:200]}")
    for t in v.get("times", []):
        who = files[0] if t["who"] == "candidate" else t["who"]
        rate = 2e-3 * max(batch, 1) * m * n * k / t["median_ns"]
        print(f"  {t['median_ns'] / 1e3:10.1f} us {rate:7.1f} TFLOP/s  {kernels.get(who, who)}", flush=True)


unknown = [w for w in only if w != "errors" and w not in [c[0] for c in cases]]
if unknown:
    sys.exit(f"no case {unknown[0]}; there are: errors {' '.join(c[0] for c in cases)}")
say(f"files go to {out}")
if not only or "tiny" in only:
    judge_tiny(cases[0])
if not only or "errors" in only:
    print_emulated_errors() if dry else print_errors()
for case in cases[1:]:
    if (not only or case[0] in only) and in_time(case[0]):
        time_case(case)
say(f"done, {len(failed)} failed")
sys.exit(1 if failed else 0)
PY
