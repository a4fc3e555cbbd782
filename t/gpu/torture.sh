#!/usr/bin/env bash
# Sends KILLS (30) SIGKILLs to processes that use a GPU: a third to a worker, a third to one of two workers on a
# spool, a third to `hone eval`. Afterwards no process may run, no GPU memory may be in use, and all files must be whole.
#   HONE=bin/hone OUT=results t/gpu/torture.sh
# Exits 77 where there is no GPU.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
export HONE=${HONE:-$root/bin/hone} DEVICE=cuda
OUT=${OUT:-$(mktemp -d)} kills=${KILLS:-30}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
mkdir -p "$OUT"
used() { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | head -1; }
apps() { nvidia-smi --query-compute-apps=pid --format=csv,noheader 2>/dev/null | grep -c '[0-9]'; }
before=$(used) n=0 bad=0
ok() { # ok STATUS NAME: a check that passes if STATUS is 0
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; bad=$((bad + 1)); fi
}
part() { # part SCRIPT KILLS
    KILLS=$2 WORKER=$(dirname "$HONE")/hone-worker "t/torture/$1.sh" >"$OUT/torture.$1.tap" 2>&1
    grep -q '^1\.\.' "$OUT/torture.$1.tap" && ! grep -q '^not ok\|SKIP\|Bail' "$OUT/torture.$1.tap"
    ok $? "$(grep -c '^ok' "$OUT/torture.$1.tap") checks of t/torture/$1.sh pass after $2 kills"
    grep '^#' "$OUT/torture.$1.tap"
}
part worker $((kills * 2 / 3))
part eval $((kills / 3))
for _ in $(seq 50); do
    [ "$(apps)" -eq 0 ] && break
    sleep 0.1
done
ok "$(apps)" "no process is left on the GPU"
after=$(used)
[ $((after - before)) -le 16 ]
ok $? "no GPU memory is left in use ($before MiB before, $after MiB after)"
echo "1..$n"
exit $((bad > 0))
