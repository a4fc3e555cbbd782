#!/usr/bin/env bash
# Finds the best settings of each playbook on this GPU, and compares them with the task's baselines. Each task has
# one evaluation: Hone judges the kernel of the first line of t/gpu/playbook.list, and times the other kernels
# (--against) and the baselines in turn with it.
#   HONE=bin/hone OUT=results t/gpu/playbook.sh [-n] [TASK...]      -n: no baselines
# LIST names another list. The script starts nothing new after LIMIT seconds (default 540). Exits 77 where there is no GPU.
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

cands = {}  # task -> {file: settings}
for line in open(os.environ.get("LIST", f"{root}/t/gpu/playbook.list")):
    words = line.split("#")[0].split()
    if not words or (only and words[0] not in only):
        continue
    task, book, *sets = words
    path = out / "cu" / f"{task}.{len(cands.setdefault(task, {}))}.cu"
    r = subprocess.run([hone, "playbook", "kernel", book, task, *sets], capture_output=True, text=True)
    if r.returncode:
        print(f"{task} {' '.join(sets)}: {r.stderr.strip()}")
        continue
    path.write_text(r.stdout)
    cands[task][str(path)] = book + " " + " ".join(sets)


def run(argv, seconds):
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 124, "", "timeout")


def evaluate(task, files, name, *opts):
    argv = [hone, "eval", "--device", "cuda", "--json", "--skip-sanitizer", *opts]
    for f in files[1:]:
        argv += ["--against", f]
    r = run([*argv, task, files[0]], 150)
    (out / f"{name}.json").write_text(r.stdout)
    (out / f"{name}.err").write_text(r.stderr)
    try:
        return json.loads(r.stdout)
    except ValueError:
        return {"kind": "none", "summary": r.stderr.strip()[:150], "times": []}


files = [p for c in cands.values() for p in c]
with ThreadPoolExecutor(16) as pool:
    list(pool.map(lambda p: run([hone, "compile", p], 200), files))
print(f"# {len(files)} kernels compiled, {time.time() - began:.0f} s")
if base:  # fills torch.compile's cache, many at a time; the times are thrown away
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda c: evaluate(c[0], list(c[1])[:1], c[0] + ".warm",
                                         "--measure-time=10ms"), cands.items()))
    print(f"# baselines warm, {time.time() - began:.0f} s")

table = []
for task, sets in cands.items():
    if time.time() - began > limit:
        print(f"# out of time before {task}")
        continue
    v = evaluate(task, list(sets), task, "--measure-time=1s", *([] if base else ["--skip-baselines"]))
    if v["kind"] != "pass":
        print(f"{task:22} {v['kind']} {v['summary'][:200]}")
    first = next(iter(sets))
    by = {}  # who -> {shape: us}
    for t in v["times"]:
        who = first if t["who"] == "candidate" else t["who"]
        by.setdefault(who, {})[t["shape"]] = t["median_ns"] / 1e3
    score = {f: math.exp(sum(map(math.log, by[f].values())) / len(by[f])) for f in sets if f in by}
    for who, t in by.items():
        mark = "*" if score and who == min(score, key=score.get) else " "
        print(f"{task:22}{mark} {' '.join(f'{x:9.2f}' for x in t.values())}  {sets.get(who, who)}")
    if not score:
        continue
    best = min(score, key=score.get)
    for shape, us in by[best].items():
        others = sorted((t[shape], who) for who, t in by.items() if who not in sets and shape in t)
        if others:
            table.append((task, shape, us, *others[0], us / others[0][0]))
if base:
    print(f"\n{'task':22} {'shape':36} {'time us':>9} {'baseline':>9} {'who':14} {'ratio':>6}")
    for task, shape, us, other, who, ratio in table:
        print(f"{task:22} {shape[:36]:36} {us:9.2f} {other:9.2f} {who:14} {ratio:6.3f}"
              f"{'  MISS' if ratio > 1.05 else ''}")
print(f"# done, {time.time() - began:.0f} s")
PY
