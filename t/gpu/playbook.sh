#!/usr/bin/env bash
# Which settings of each playbook are best on this GPU, and how does the best stand beside the
# task's baselines? Judges every setting without
# baselines, then the best one of each task with them; prints a table.
#   HONE=bin/hone OUT=results t/gpu/playbook.sh [-n] [TASK...]      -n: no baselines
# t/gpu/playbook.list holds the settings. Stops starting new work after LIMIT seconds (default 540).
# Exits 77 where there is no GPU.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
export HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)} LIMIT=${LIMIT:-540}
[ -e /dev/nvidiactl ] || [ -n "${DRY-}" ] || { echo "no GPU"; exit 77; }
exec python3 - "$root" "$@" <<'PY'
import json, math, os, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

root, *args = sys.argv[1:]
base = "-n" not in args
only = [a for a in args if a != "-n"]
hone, out, limit = os.environ["HONE"], Path(os.environ["OUT"]), float(os.environ["LIMIT"])
began = time.time()
(out / "cu").mkdir(parents=True, exist_ok=True)

cands = {}  # task -> [(settings, file)]
for line in open(f"{root}/t/gpu/playbook.list"):
    words = line.split("#")[0].split()
    if not words or (only and words[0] not in only):
        continue
    task, book, *sets = words
    n = len(cands.setdefault(task, []))
    path = out / "cu" / f"{task}.{n}.cu"
    r = subprocess.run([hone, "playbook", "kernel", book, task, *sets], capture_output=True, text=True)
    if r.returncode:
        print(f"{task} {' '.join(sets)}: {r.stderr.strip()}")
        continue
    path.write_text(r.stdout)
    cands[task].append((book + " " + " ".join(sets), path))


def left():
    return limit - (time.time() - began)


def run(argv, seconds):
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 124, "", "timeout")


def evaluate(task, path, name, *opts, seconds=120):
    r = run([hone, "eval", "--device", "cuda", "--json", *opts, task, str(path)], seconds)
    (out / f"{name}.json").write_text(r.stdout)
    (out / f"{name}.err").write_text(r.stderr)
    try:
        return json.loads(r.stdout)
    except ValueError:
        return {"kind": "none", "summary": r.stderr.strip()[:150], "times": []}


def shapes(v, who):
    return {t["shape"]: t["median_ns"] / 1e3 for t in v["times"] if t["who"] == who}


files = [p for c in cands.values() for _, p in c]
with ThreadPoolExecutor(16) as pool:
    list(pool.map(lambda p: run([hone, "compile", str(p)], 200), files))
print(f"# {len(files)} kernels compiled, {time.time() - began:.0f} s")
if base:  # fills torch.compile's cache, many at a time: the times are thrown away
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda c: evaluate(c[0], c[1][0][1], c[0] + ".warm", "--measure-time=10ms",
                                         "--skip-sanitizer"), cands.items()))
    print(f"# baselines warm, {time.time() - began:.0f} s")

best = {}
for task, list_ in cands.items():
    for n, (sets, path) in enumerate(list_):
        if left() < 0:
            print(f"# out of time before {task} {sets}")
            continue
        v = evaluate(task, path, f"{task}.{n}", "--skip-baselines", "--skip-sanitizer",
                     "--measure-time=150ms", seconds=60)
        t = shapes(v, "candidate")
        if v["kind"] != "pass" or not t:
            print(f"{task:22} {v['kind']} {sets}: {v['summary'][:200]}")
            continue
        score = math.exp(sum(map(math.log, t.values())) / len(t))
        print(f"{task:22} {score:9.2f}us  {' '.join(f'{x:.2f}' for x in t.values()):40} {sets}")
        if task not in best or score < best[task][0]:
            best[task] = (score, sets, path)
print(f"# swept, {time.time() - began:.0f} s\n")

print(f"{'task':22} {'shape':32} {'time':>9} {'baseline':>9} {'who':14} {'ratio':>6} {'roof':>6}")
for task, (_, sets, path) in best.items():
    if not base or left() < -40:
        continue
    v = evaluate(task, path, task + ".base", "--skip-sanitizer", "--measure-time=400ms")
    mine = shapes(v, "candidate")
    for t in v["times"]:
        if t["who"] != "candidate":
            continue
        others = sorted((o["median_ns"] / 1e3, o["who"]) for o in v["times"]
                        if o["shape"] == t["shape"] and o["who"] != "candidate")
        us, who = others[0] if others else (0, "none")
        ratio = mine[t["shape"]] / us if us else 0
        print(f"{task:22} {t['shape'][:32]:32} {mine[t['shape']]:9.2f} {us:9.2f} {who:14} {ratio:6.3f} "
              f"{t['roofline_pct']:5.1f}%  {'MISS' if ratio > 1.05 else ''}")
    print(f"{'':22} {sets}  {v['kind']}")
print(f"# done, {time.time() - began:.0f} s")
PY
