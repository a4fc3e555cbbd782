#!/usr/bin/env bash
# Kills hone-worker with SIGKILL at random moments, KILLS (200) times: one half while it runs a bundle, the other
# half while two workers serve a spool. No process may be left, every file must be whole, and the spool must have one
# result for each bundle. With DEVICE=cuda, kernels run on a GPU (t/gpu/torture.sh).
cd "$(dirname "$0")/../.." || exit 1
kills=${KILLS:-200} device=${DEVICE:-emu} worker=${WORKER:-$PWD/bin/hone-worker}
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
[ -n "$nvcc" ] || { echo "1..0 # SKIP no nvcc"; exit 0; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
RANDOM=${HONE_SEED:-$$}
echo "# seed ${HONE_SEED:-$$}"
t/gpu/smoke.sh "$device" "$worker" --prepare "$tmp/code" || { echo "Bail out! cannot prepare"; exit 1; }
export HONE_SPOOL_LEASE_S=0.5

bundle() { # bundle DIR: writes a bundle to DIR
    cp -r "$tmp/code" "$1" && "$tmp/code/smoke_job" "$1" "$device" good
}
whole() { # whole DIR: true if every result file in DIR can be read
    for f in "$1"/result.bin "$1"/progress.bin; do
        [ ! -e "$f" ] || "$worker" --show "$f" >/dev/null || return 1
    done
}
left() { pgrep -f "$worker $tmp" | wc -l; }

bundle "$tmp/one"
t0=$(date +%s%N)
"$worker" "$tmp/one" || { echo "Bail out! the bundle does not run"; exit 1; }
span=$((($(date +%s%N) - t0) / 1000000 + 20))
damaged=0 finished=0
for ((i = 0; i < kills / 2; i++)); do
    rm -rf "$tmp/b" && bundle "$tmp/b"
    "$worker" "$tmp/b" 2>/dev/null &
    sleep "0.$(printf %03d $((RANDOM % span % 1000)))"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
    whole "$tmp/b" || damaged=$((damaged + 1))
    [ ! -e "$tmp/b/result.bin" ] || finished=$((finished + 1))
done
echo "# $finished of $i workers had finished before the kill"
[ "$damaged" -eq 0 ] && echo "ok 1 - all result files are whole after $i kills" ||
    echo "not ok 1 - all result files are whole after $i kills ($damaged damaged)"
sleep 0.2
[ "$(left)" -eq 0 ] && echo "ok 2 - no worker is left" || echo "not ok 2 - no worker is left ($(left) are)"

mkdir -p "$tmp/spool"/{tmp,todo,claimed,done}
jobs=$((kills / 10 + 2))
for ((j = 0; j < jobs; j++)); do bundle "$tmp/spool/tmp/$j" && mv "$tmp/spool/tmp/$j" "$tmp/spool/todo/$j"; done
pids=()
for ((i = 0; i < kills / 2; i++)); do
    for w in 0 1; do # two workers run at all times: a killed one is replaced
        [ -n "${pids[w]-}" ] && kill -0 "${pids[w]}" 2>/dev/null && continue
        "$worker" --spool "$tmp/spool" 2>/dev/null &
        pids[w]=$!
    done
    sleep "0.$(printf %03d $((RANDOM % 300)))"
    victim=${pids[RANDOM % 2]}
    kill -9 "$victim" 2>/dev/null
    wait "$victim" 2>/dev/null
done
kill -9 "${pids[@]}" 2>/dev/null
wait "${pids[@]}" 2>/dev/null
for ((k = 0; k < 40; k++)); do
    "$worker" --spool "$tmp/spool" --once
    [ "$(ls "$tmp/spool/done" | wc -l)" -eq "$jobs" ] && break
    sleep 0.3
done
n=$(ls "$tmp/spool/done"/*/result.bin | wc -l)
[ "$n" -eq "$jobs" ] && echo "ok 3 - each of $jobs bundles has one result after $i kills" ||
    echo "not ok 3 - each of $jobs bundles has one result after $i kills ($n results)"
bad=0
for d in "$tmp/spool/done"/*; do whole "$d" || bad=$((bad + 1)); done
[ "$bad" -eq 0 ] && echo "ok 4 - all results in the spool are whole" || echo "not ok 4 - all results in the spool are whole ($bad damaged)"
[ -z "$(ls "$tmp/spool/todo" "$tmp/spool/claimed" | grep -v :)" ] && echo "ok 5 - no bundle waits in the spool" ||
    echo "not ok 5 - no bundle waits in the spool"
sleep 0.2
[ "$(left)" -eq 0 ] && echo "ok 6 - no worker of the spool is left" || echo "not ok 6 - no worker of the spool is left ($(left) are)"
echo "1..6"
