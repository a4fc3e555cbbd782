#!/usr/bin/env bash
# Measures how well times repeat. Hone evaluates each kernel 40 times, each time beside itself. The 20 pairs of
# evaluations give the difference between two measurements. The 40 evaluations give the ratio of a kernel to itself.
#   HONE=bin/hone OUT=results [KERNELS=NAME:TASK:ROLE:N...] t/gpu/noise.sh [RUNS [MEASURE_TIME]]
# Exits 77 where there is no GPU, 1 if a goal is missed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)} runs=${1:-40} time=${2:-300ms}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
mkdir -p "$OUT/noise"
kernels=${KERNELS:-"softmax.cute:softmax:time:0 gelu_tanh.cute:gelu_tanh:time:0 silu_and_mul:silu_and_mul:time:0"}
for k in $kernels; do
    IFS=: read -r name task role n <<<"$k"
    for ((i = 0; i < runs; i++)); do
        HONE_LOG=info "$HONE" eval --json --device cuda --workload "$role:$n" --skip-baselines --measure-time "$time" \
            --against "$root/kernels/$name.cu" "$task" "$root/kernels/$name.cu" \
            >"$OUT/noise/$name.$i.json" 2>"$OUT/noise/$name.$i.err"
    done
done
python3 - "$OUT/noise" "$runs" "$time" $kernels <<'PY'
import json, statistics as st, sys
where, runs, time, kernels = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
missed = 0
print(f"{runs} processes a kernel, --measure-time {time}")
print(f"{'kernel':16} {'time':>9} {'pairs':>5} {'median':>7} {'worst':>7} {'<2%':>6}   {'1.00 in':>8} {'mean ratio':>10}  goals")
for k in kernels:
    name = k.split(":")[0]
    times, ratios, holds, n = [], [], 0, []
    for i in range(runs):
        try:
            v = json.load(open(f"{where}/{name}.{i}.json"))
            c = next(t for t in v["times"] if t["who"] == "candidate")
            b = next(t for t in v["times"] if t["who"] != "candidate")
        except (ValueError, StopIteration, OSError):
            print(f"{name}: run {i} has no times: {open(f'{where}/{name}.{i}.err').read()[:200]}")
            missed += 1
            continue
        times.append(c["median_ns"])
        n.append(c["n"])
        ratios.append(b["ratio"])
        holds += b["ratio_lo"] <= 1 <= b["ratio_hi"]
    if len(times) < 2:
        continue
    us = st.median(times) / 1e3
    diffs = [abs(a - b) / min(a, b) for a, b in zip(times[::2], times[1::2])]
    under = sum(d < 0.02 for d in diffs)
    if us > 20:
        ok = st.median(diffs) < 0.01 and under >= 0.9 * len(diffs)
        goal = "median < 1%, 90% of pairs < 2%"
    else:
        limit = max(0.05, 0.3 / us)
        ok = all(d < limit for d in diffs)
        goal = f"all pairs < {100*limit:.1f}%"
    mean = st.mean(ratios)
    ok2 = holds >= 0.85 * len(ratios) and abs(mean - 1) <= 0.005
    missed += (not ok) + (not ok2)
    print(f"{name:16} {us:7.2f}us {len(diffs):5} {100*st.median(diffs):6.2f}% {100*max(diffs):6.2f}% {under:3}/{len(diffs):<3} "
          f"{holds:4}/{len(ratios):<3} {mean:10.4f}  {'ok' if ok else 'MISSED'} ({goal}), {'ok' if ok2 else 'MISSED'} (34 of 40, 0.5%); "
          f"ratio sd {st.pstdev(ratios):.4f}, n {min(n)}..{max(n)}")
sys.exit(1 if missed else 0)
PY
