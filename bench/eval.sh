#!/usr/bin/env bash
# Measures the overhead of `hone eval`: smoke workloads on the emulator, compiled before, median of 7.
# "beside" is the wall clock less the worker's time; the goal is 0.3 s.
set -euo pipefail
cd "$(dirname "$0")/.."
hone=build/${MODE:-release}/hone
export HONE_CACHE_DIR=$PWD/build/bench-eval
mkdir -p "$HONE_CACHE_DIR"
echo "$(date -u +%F), $(uname -m), $(nproc) cores"
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
