#!/usr/bin/env bash
# Measures `hone eval` on the emulator.
#   bench/eval.sh                     the overhead of an evaluation of smoke workloads: the wall time minus the worker's
#                                     time, in the column "beside". The script compiles the kernels first. All times are
#                                     medians of 7 evaluations. The overhead must be at most 0.3 s.
#   bench/eval.sh OLD NEW [TASK...]   the CPU time of whole evaluations with two programs, OLD and NEW. They evaluate
#                                     the kernel of each task in turns, with 3 seeds. The script prints the median of
#                                     the 3. If OLD takes less than 2 s, the ratio NEW/OLD must be at most 1.3.
# Exits 1 if a limit is exceeded. With OLD and NEW, also exits 1 if a kernel does not pass.
set -euo pipefail
cd "$(dirname "$0")/.."
export HONE_CACHE_DIR=$PWD/build/bench-eval
mkdir -p "$HONE_CACHE_DIR"
echo "$(date -u +%F), $(uname -m), $(nproc) cores"
if [ $# -ge 2 ]; then
    exec python3 /dev/fd/3 "$@" 3<<'PY'
import os, resource, statistics as st, subprocess, sys
programs, tasks = sys.argv[1:3], sys.argv[3:]
tasks = tasks or sorted(t for t in os.listdir("tasks") if os.path.exists(f"kernels/{t}.cu"))


def cpu(program, task, seed, *options):
    env = dict(os.environ, HONE_CACHE_DIR=f"{os.environ['HONE_CACHE_DIR']}/{programs.index(program)}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run([program, "eval", "--device", "emu", "--seed", str(seed), "--skip-baselines", *options,
                          task, f"kernels/{task}.cu"], env=env, capture_output=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    kind = out.split(maxsplit=1)[0].decode() if out else "?"
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, kind


print(f"{'task':26} {'old':>8} {'new':>8} {'ratio':>6}   smoke stage: old, new")
over = 0
for t in tasks:
    times = {(p, o): [] for p in programs for o in ("", "--smoke")}
    kinds = {cpu(p, t, 1, "--smoke")[1] for p in programs}  # compiles
    for seed in (1, 2, 3):
        for p, o in times:
            seconds, kind = cpu(p, t, seed, *[o] * bool(o))
            times[p, o].append(seconds)
            kinds.add(kind)
    old, new, old_smoke, new_smoke = (st.median(times[p, o]) for o in ("", "--smoke") for p in programs)
    bad = old < 2 and new > 1.3 * old or kinds != {"pass"}
    over += bad
    note = "" if kinds == {"pass"} else f"   {', '.join(sorted(kinds))}"
    print(f"{t:26} {old:7.2f}s {new:7.2f}s {new / old:6.2f}   {old_smoke:.2f}s {new_smoke:.2f}s{note}" +
          ("   <--" if bad else ""), flush=True)
sys.exit(over > 0)
PY
fi
hone=build/${MODE:-release}/hone
python3 - "$hone" <<'PY'
import json, statistics as st, subprocess, sys, time
hone, over = sys.argv[1], 0
print(f"{'kernel':20} {'wall':>8} {'worker':>8} {'compile':>8} {'beside':>8}")
for k in ["vector_add", "softmax", "gelu_tanh.cute", "matmul_f16.sm80", "fused_add_rmsnorm"]:
    cmd = [hone, "eval", "--json", "--device", "emu", "--smoke", "--skip-baselines", k.split(".")[0], f"kernels/{k}.cu"]
    subprocess.run(cmd, stdout=subprocess.DEVNULL)
    rows = []
    for _ in range(7):
        t = time.monotonic()
        out = subprocess.run(cmd, capture_output=True, check=True).stdout
        wall, v = time.monotonic() - t, json.loads(out)
        run = int(v["run_ns"]) / 1e9
        rows.append((wall, run, wall - run))
    wall, run, beside = (st.median(r[i] for r in rows) for i in range(3))
    over += beside > 0.3
    print(f"{k:20} {wall:7.3f}s {run:7.3f}s {'cached':>8} {beside:7.3f}s" + ("   <-- over 0.3 s" if beside > 0.3 else ""))
sys.exit(over > 0)
PY
