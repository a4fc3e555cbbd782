#!/usr/bin/env bash
# Measures how long a full evaluation takes on the GPU after compiling, for kernels of less than a millisecond:
# checks, held-out shapes, timing, and one baseline (the kernel itself).
#   HONE=bin/hone OUT=results t/gpu/overhead.sh
# Exits 77 where there is no GPU, 1 if an evaluation takes more than 5 s.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
mkdir -p "$OUT"
status=0
printf '%-20s %-9s %10s %8s %8s %8s\n' kernel verdict 'time' 'wall' 'worker' 'rest'
for name in conv2d_depthwise triplet_margin_loss matmul_f16.sm90; do
    task=${name%%.*} file=$root/kernels/$name.cu
    "$HONE" eval --json --device cuda --smoke --skip-baselines "$task" "$file" >/dev/null 2>&1 # compiles
    t0=$(date +%s%N)
    HONE_LOG=info "$HONE" eval --json --device cuda --skip-baselines --against "$file" "$task" "$file" \
        >"$OUT/overhead.$name.json" 2>"$OUT/overhead.$name.err"
    python3 - "$name" "$OUT/overhead.$name.json" $(($(date +%s%N) - t0)) <<'PY' || status=1
import json, sys
name, path, wall = sys.argv[1], sys.argv[2], int(sys.argv[3]) / 1e9
v = json.load(open(path))
run = int(v["run_ns"]) / 1e9
print(f"{name:20} {v['kind']:9} {v['time_ns']/1e3:8.1f}us {wall:7.2f}s {run:7.2f}s {wall-run:7.2f}s"
      + ("" if wall <= 5 else "   <-- over 5 s"))
sys.exit(0 if wall <= 5 and v["kind"] == "pass" else 1)
PY
    grep -h 'calls:' "$OUT/overhead.$name.err" | tail -1 | sed 's/^.*worker: /    /'
done
exit $status
