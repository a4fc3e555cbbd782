#!/usr/bin/env bash
# Runs `hone optimize` with the built-in author on many tasks, then times the best kernel of each beside the
# baselines of the task. Prints a table.
#   HONE=bin/hone OUT=results BUDGET=5m MEASURE=1s t/gpu/optimize.sh [-n STEPS] [TASK...]
# Several runs are in progress at a time, and take turns on the GPU. Exits 77 where there is no GPU.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
export HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
steps=7
[ "${1-}" = -n ] && { steps=$2; shift 2; }
tasks=${*:-vector_add sigmoid gelu_tanh silu_and_mul layernorm rmsnorm fused_add_rmsnorm softmax reduce_max_dim1
    transpose cumsum embedding_gather segment_mean matmul_f16}
mkdir -p "$OUT/optimize" && cd "$OUT/optimize" || exit 1
start=$SECONDS
export steps BUDGET=${BUDGET:-5m} MEASURE=${MEASURE:-1s}
printf '%s\n' $tasks | xargs -P 6 -I{} sh -c '"$HONE" optimize {} --author playbook --steps $steps \
    --budget-time $BUDGET --skip-baselines --store {}.db --out {} >{}.log 2>&1'
echo "# runs: $((SECONDS - start)) s"
export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR:-$OUT/inductor}
[ -n "${PREWARMED-}" ] || timeout 200 python3 "$root/t/gpu/prewarm.py" $tasks 2>"$OUT/prewarm.txt"
printf '%s\n' $tasks | xargs -P 4 -I{} sh -c '"$HONE" eval {} {}/best.cu --measure-time $MEASURE --json >{}.json 2>{}.err'
echo "# with baselines: $((SECONDS - start)) s"
python3 - $tasks <<'PY'
import json, sys
print(f"{'task':20} {'shape':30} {'time':>10} {'best baseline':>14} {'':14} {'time/baseline':>13} {'roofline':>9}")
for task in sys.argv[1:]:
    try:
        v = json.load(open(f"{task}.json"))
    except (OSError, ValueError):
        print(f"{task:20} no verdict: {open(task + '.err').read()[:100]}")
        continue
    if v["kind"] != "pass":
        print(f"{task:20} {v['kind']}: {v['summary'][:90]}")
    worst = 0
    for c in (t for t in v["times"] if t["who"] == "candidate"):
        others = [t for t in v["times"] if t["who"] != "candidate" and t["workload"] == c["workload"]]
        b = min(others, key=lambda t: t["median_ns"], default=None)
        ratio = c["median_ns"] / b["median_ns"] if b else 0
        worst = max(worst, ratio)
        print(f"{task:20} {c['shape'][:30]:30} {c['median_ns'] / 1e3:8.2f}us "
              f"{b['median_ns'] / 1e3 if b else 0:12.2f}us {b['who'] if b else '-':14} {ratio:13.2f} {c['roofline_pct']:8.1f}%")
PY
