#!/usr/bin/env bash
# Measures how well workers share a campaign, on the emulator. Run it on two quiet cores. It takes some minutes.
#   [N=200] [REPEAT=1] bench/scale.sh [TASK...]
# 1. The overhead of a bundle: the time of a bundle through a spool with one worker (mean of N), minus the time of
#    hone-worker on the same bundle without a spool. The goal is less than 20 ms.
# 2. A campaign with one worker of one thread, with two such workers, and with one worker of two threads. Two workers
#    must be at least 1.9 times as fast as one, and at most 2% slower than the worker with two threads. The script takes
#    the least time of REPEAT rounds.
# It also prints the CPU time of the workers. If other programs use the cores, wall times say little. Then the goals
# apply to CPU time. For a campaign, that is the CPU time of the busiest worker, divided by its threads: the time that
# this worker would need if it had its cores for itself.
# Exits 1 if a goal is missed.
set -euo pipefail
cd "$(dirname "$0")/.."
B=$PWD/build/${MODE:-release}
tasks=("$@")
[ $# -gt 0 ] || tasks=(softmax layernorm rmsnorm gelu_tanh sigmoid transpose cumsum reduce_max_dim1 matvec_f32 silu_and_mul
    fused_add_rmsnorm embedding_gather matmul_f16 matmul_f32 layernorm_matmul_residual)
export HONE_CACHE_DIR=$PWD/build/bench-scale
mkdir -p "$HONE_CACHE_DIR"
T=$(mktemp -d)
workers=()
# cpu_of PID: prints the CPU seconds of the process and of its children that have ended
cpu_of() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13 + $14 + $15) / hz }' "/proc/$1/stat"; }
# count_cpu: sets cpu_all and cpu_most to the CPU seconds of all workers, and of the busiest one
count_cpu() {
    local pid c
    cpu_all=0 cpu_most=0
    for pid in "${workers[@]}"; do
        c=$(cpu_of "$pid")
        cpu_all=$(awk "BEGIN { print $cpu_all + $c }") cpu_most=$(awk "BEGIN { print ($c > $cpu_most ? $c : $cpu_most) }")
    done
}
stop_workers() {
    [ ${#workers[@]} = 0 ] || { kill "${workers[@]}" 2>/dev/null && wait "${workers[@]}" 2>/dev/null; } || true
    workers=()
}
trap 'stop_workers; rm -rf "$T"' EXIT
start_workers() { # start_workers SPOOL COUNT THREADS
    local i
    for ((i = 0; i < $2; i++)); do
        "$B/hone-worker" --spool "$1" --threads "$3" 2>"$T/worker.$i" &
        workers+=($!)
    done
}
now() { date +%s%N; }
missed=0
goal() { # goal WORDS CONDITION: prints ok or MISSED
    if awk "BEGIN { exit !($2) }"; then echo "ok: $1"; else echo "MISSED: $1" && missed=1; fi
}
load() { cut -d' ' -f1 /proc/loadavg; }
echo "$(date -u +%F), $(uname -m), $(nproc) cores, load $(load)"
busy=$(awk "BEGIN { print ($(load) > 0.5) }")
[ "$busy" = 0 ] || echo "other programs use the cores, so the goals are judged by CPU time"

# ---- the overhead of a bundle ----
"$B/hone" eval --device emu --smoke --skip-baselines --on "spool:$T/catch" vector_add kernels/vector_add.cu >/dev/null 2>&1 &
catcher=$!
for _ in {1..600}; do
    bundle=$(ls -d "$T"/catch/todo/* 2>/dev/null | head -1) || true
    [ -z "$bundle" ] || break
    sleep 0.1
done
[ -n "$bundle" ] || { echo "hone eval made no bundle"; exit 1; }
cp -r "$bundle" "$T/bundle"
kill $catcher && wait $catcher 2>/dev/null || true
n=${N:-200}
export HONE_WORKER_PLACE="-1 0 1" # one thread, like the worker of the spool
"$B/hone-worker" "$T/bundle" >/dev/null 2>&1
start=$(now) cpu=$(cpu_of $$)
for ((i = 0; i < n; i++)); do "$B/hone-worker" "$T/bundle" >/dev/null 2>&1; done
alone=$(awk "BEGIN { print ($(now) - $start) / 1e9 / $n }")
alone_cpu=$(awk "BEGIN { print ($(cpu_of $$) - $cpu) / $n }")
unset HONE_WORKER_PLACE
start_workers "$T/spool" 1 1
"$B/bench/scale" "$T/bundle" 5 "$T/spool" >/dev/null
count_cpu && cpu=$(awk "BEGIN { print $cpu_all + $(cpu_of $$) }")
through=$("$B/bench/scale" "$T/bundle" "$n" "$T/spool")
count_cpu
through_cpu=$(awk "BEGIN { print ($cpu_all + $(cpu_of $$) - $cpu) / $n }") # of the worker and of bench/scale
stop_workers
awk "BEGIN { printf \"a bundle takes %.1f ms alone, %.1f ms through a spool; %.1f and %.1f ms of CPU time ($n bundles)\n\",
    1e3 * $alone, 1e3 * $through, 1e3 * $alone_cpu, 1e3 * $through_cpu }"
overhead=$(awk "BEGIN { printf \"%.1f\", 1e3 * ($busy ? $through_cpu - $alone_cpu : $through - $alone) }")
goal "the overhead of a bundle is $overhead ms, less than 20 ms" "$overhead < 20"

# ---- campaigns ----
declare -A least
campaign() { # campaign NAME WORKERS THREADS: runs the campaign; least[NAME] is the least time so far
    local from seconds
    rm -rf "$T/$1".*
    start_workers "$T/$1.spool" "$2" "$3"
    from=$(now)
    "$B/hone" bench -q "${tasks[@]}" --device emu --steps 2 --jobs ${#tasks[@]} --on "spool:$T/$1.spool" \
        --store "$T/$1.db" -o "$T/$1.out" >"$T/$1.txt" 2>"$T/$1.err" || true
    seconds=$(awk "BEGIN { printf \"%.2f\", ($(now) - $from) / 1e9 }")
    count_cpu
    stop_workers
    printf '%s: %s s, load %s; the workers had %.1f s of CPU time, the busiest one %.1f s;' "$1" "$seconds" "$(load)" \
        "$cpu_all" "$cpu_most"
    grep -E '^ *all:' "$T/$1.txt" | sed 's/^ *all:/ /'
    # The busiest worker needs at least its CPU time divided by its threads.
    [ "$busy" = 0 ] || seconds=$(awk "BEGIN { printf \"%.2f\", $cpu_most / $3 }")
    least[$1]=$(awk "BEGIN { print (${least[$1]:-1e9} < $seconds ? ${least[$1]:-1e9} : $seconds) }")
}
echo "compiling"
campaign warm-up 2 1 >/dev/null
for ((round = 0; round < ${REPEAT:-1}; round++)); do
    campaign one-worker 1 1
    campaign two-workers 2 1
    campaign two-threads 1 2
done
one=${least[one-worker]} two=${least[two-workers]} threads=${least[two-threads]}
goal "two workers are $(awk "BEGIN { printf \"%.2f\", $one / $two }") times as fast as one, at least 1.9" "$one / $two >= 1.9"
goal "two workers take $two s, one worker with two threads $threads s" "$two <= 1.02 * $threads"
exit $missed
