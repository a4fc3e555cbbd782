#!/usr/bin/env bash
# Kills `hone eval` itself with SIGKILL at a random moment, N times (100): its worker, its compile
# service and all processes they started must end too. The files that are left must be whole, and the next
# evaluation must remove them.
# KILLS=10 t/torture/eval.sh kills ten times. With DEVICE=cuda, kernels run on a GPU (t/gpu/torture.sh).
. "$(dirname "$0")/../lib.sh"
kills=${KILLS:-100} device=${DEVICE:-emu}
RANDOM=${HONE_SEED:-$$}
echo "# seed ${HONE_SEED:-$$}"
export TMPDIR=$T/tmp
mkdir -p "$TMPDIR"
once() {
    exec "$HONE" eval --json --device "$device" --skip-baselines --measure-time 300ms vector_add \
        "$ROOT/kernels/vector_add.cu"
}
# ours: prints the processes with our cache directory: hone, its supervisors, compile service and workers
ours() {
    local p
    for p in /proc/[0-9]*; do
        tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qxF "HONE_CACHE_DIR=$HONE_CACHE_DIR" || continue
        case $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null) in *hone*) echo "${p#/proc/}" ;; esac
    done 2>/dev/null
}
(once) >first.json 2>first.err
[ $? = 3 ] && skip_all "no CUDA compiler on this machine"
t0=$(date +%s%N)
(once) >first.json 2>first.err
span=$((($(date +%s%N) - t0) / 1000000 + 20))
late=0 torn=0
for ((i = 0; i < kills; i++)); do
    (once) >out.json 2>/dev/null &
    ms=$((RANDOM % span))
    sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    [ -s out.json ] || continue
    late=$((late + 1)) # it ended before the kill; its output must be complete
    grep -q '"kind": "pass"' out.json && tail -1 out.json | grep -qx '}' || torn=$((torn + 1))
done
echo "# $late of $kills evaluations ended before the kill; one takes $span ms"
is "no verdict is incomplete after $kills kills" "$torn" 0
for _ in $(seq 80); do # the supervisors may still be ending
    left=$(ours)
    [ -z "$left" ] && break
    sleep 0.1
done
is "no process is left" "$left" ""
runs 0 "hone cache stat --verify exits with 0" "$HONE" cache stat --verify --json
out_has "no cache entry is damaged" '"bad": 0'
find "$TMPDIR" -mindepth 1 -maxdepth 1 -exec touch -d '2 minutes ago' {} + # Hone removes files that are older than a minute
left=$(ls "$TMPDIR" | wc -l)
(once) >last.json 2>last.err
is "an evaluation after the kills passes" "$(grep -c '"kind": "pass"' last.json)" 1
is "an evaluation after the kills removes the files of $left killed evaluations" "$(ls "$TMPDIR" | wc -l)" 0
done_testing
