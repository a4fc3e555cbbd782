#!/usr/bin/env bash
# The simulated cluster of t/unit/cluster.c in full: SEEDS (200) seeds from FIRST (1) on, BUNDLES (100000) bundles,
# WORKERS (1000) workers. A seed takes about 100 s; JOBS processes (one for each core) share the seeds.
. "$(dirname "$0")/../lib.sh"
MODE=${MODE:-release}
make -s -C "$ROOT" "build/$MODE/t/cluster" || exit 1
seeds=${SEEDS:-200} first=${FIRST:-1} jobs=${JOBS:-$(nproc)}
[ "$jobs" -le "$seeds" ] || jobs=$seeds
pids=()
for ((j = 0; j < jobs; j++)); do
    from=$((first + j * seeds / jobs)) to=$((first + (j + 1) * seeds / jobs))
    CLUSTER="$((to - from)) ${BUNDLES:-100000} ${WORKERS:-1000} $from" "$ROOT/build/$MODE/t/cluster" >"$T/out.$j" 2>&1 &
    pids+=($!)
done
for ((j = 0; j < jobs; j++)); do
    wait "${pids[j]}"
    is "the simulated cluster loses no bundle (process $((j + 1)) of $jobs)" "$?" 0
    grep '^#' "$T/out.$j"
done
done_testing
