#!/usr/bin/env bash
# SIGKILL on a GPU: KILLS (30) in all, a third each of the worker, of one of two workers on a spool,
# and of `hone eval` itself. Nothing may run on, no GPU memory stay taken, every file be whole.
#   HONE=bin/hone OUT=results t/gpu/torture.sh
# Exits 77 where there is no GPU.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)} kills=${KILLS:-30}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
mkdir -p "$OUT"
RANDOM=${HONE_SEED:-$$}
used() { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | head -1; }
apps() { nvidia-smi --query-compute-apps=pid --format=csv,noheader 2>/dev/null | grep -c '[0-9]'; }
before=$(used) n=0 bad=0
ok() { # status, name
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; bad=$((bad + 1)); fi
}
echo "# seed ${HONE_SEED:-$$}, $before MiB used before"
KILLS=$((kills * 2 / 3)) DEVICE=cuda WORKER=$(dirname "$HONE")/hone-worker t/torture/worker.sh \
    >"$OUT/torture.worker.tap" 2>&1
grep -q '^1\.\.' "$OUT/torture.worker.tap" && ! grep -q '^not ok\|SKIP\|Bail' "$OUT/torture.worker.tap"
ok $? "$(grep -c '^ok' "$OUT/torture.worker.tap") checks after $((kills * 2 / 3)) kills of workers, half of them on a spool"

export TMPDIR=$OUT/tmp
mkdir -p "$TMPDIR"
eval_once() { "$HONE" eval --json --device cuda --skip-baselines --measure-time 500ms vector_add kernels/vector_add.cu; }
t0=$(date +%s%N)
eval_once >"$OUT/torture.json" 2>&1
span=$((($(date +%s%N) - t0) / 1000000))
early=0
for ((i = 0; i < kills / 3; i++)); do
    eval_once >"$OUT/torture.$i.json" 2>/dev/null &
    ms=$((RANDOM % span))
    sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
    # the function runs in a subshell whose child is hone
    victim=$(pgrep -P $! -x hone | head -1)
    kill -9 "${victim:-$!}" 2>/dev/null
    wait $! 2>/dev/null
    [ -s "$OUT/torture.$i.json" ] && python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$OUT/torture.$i.json" 2>/dev/null || early=$((early + 1))
done
echo "# $early of $i evaluations were killed before they had printed anything; one takes $span ms"
for _ in $(seq 50); do
    left=$(pgrep -x hone-worker | wc -l)
    [ "$left" -eq 0 ] && [ "$(apps)" -eq 0 ] && break
    sleep 0.1
done
ok "$left" "no worker is left after $i kills of hone eval"
ok "$(apps)" "nothing is left on the GPU"
after=$(used)
[ $((after - before)) -le 16 ]
ok $? "no GPU memory is held ($before MiB before, $after MiB after)"
find "$TMPDIR" -mindepth 1 -maxdepth 1 -exec touch -d '2 minutes ago' {} + # swept a minute later
eval_once >"$OUT/torture.json" 2>"$OUT/torture.err"
grep -q '"kind": "pass"' "$OUT/torture.json"
ok $? "an evaluation afterwards passes"
"$HONE" cache stat --verify --json >"$OUT/torture.cache" 2>&1 && grep -q '"bad": 0' "$OUT/torture.cache"
ok $? "the compile cache is whole"
left=$(ls "$TMPDIR" | wc -l)
[ "$left" -eq 0 ]
ok $? "what the killed left behind was swept up ($left left)"
echo "1..$n"
exit $((bad > 0))
