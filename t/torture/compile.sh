#!/usr/bin/env bash
# Runs N compiles (200). At a random moment of most of them, kills the compile service, one of its children or hone
# itself. Every compile whose `hone` was not killed must succeed. At the end there must be no process left, no damaged
# cache entry and no lock that is still held.
. "$(dirname "$0")/../lib.sh"
rounds=${1:-200}
RANDOM=${HONE_SEED:-$$}
echo "# seed ${HONE_SEED:-$$}"
"$HONE" compile "$ROOT/bench/compile/plain.cu" >/dev/null 2>&1
[ $? = 3 ] && skip_all "no CUDA compiler on this machine"

# ours: prints the processes of hone and of compilers that have our cache directory in their environment
ours() {
    local p
    for p in /proc/[0-9]*; do
        [ "${p#/proc/}" = $$ ] && continue
        tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qxF "HONE_CACHE_DIR=$HONE_CACHE_DIR" || continue
        case $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null) in
        *hone*compile* | *nvcc* | *cicc* | *ptxas*) echo "${p#/proc/}" ;;
        esac
    done 2>/dev/null
}

# tree PID: appends PID and its descendants to `pids`. It starts no process, so that it is fast enough to see
# processes that live for a short time.
tree() {
    local kids k
    pids+=("$1")
    read -r kids 2>/dev/null <"/proc/$1/task/$1/children" || return 0
    for k in $kids; do tree "$k"; done
}

source_text() { # source_text N: prints the N-th source; every fourth uses CuTe
    if [ $(($1 % 4)) = 0 ]; then
        printf '#include <cute/tensor.hpp>\nusing namespace cute;\n'
        printf 'extern "C" __global__ void k(float *p) { auto t = make_tensor(make_gmem_ptr(p), make_layout(Int<%d>{})); t(0) = %d; }\n' $((64 + $1)) "$1"
    else
        printf 'extern "C" __global__ void k(float *p, int n) { for (int i = 0; i < n; i++) p[i] += %d; }\n' "$1"
    fi
}

bad=0 killed=0
for ((i = 1; i <= rounds; i++)); do
    source_text $i >k.cu
    [ $((i % 25)) = 0 ] && rm -f "$HONE_CACHE_DIR"/pch/* # so that some kills hit the building of a precompiled header
    compiler=
    [ $((i % 16)) = 5 ] && command -v nvcc >/dev/null && compiler="--compiler nvcc"
    "$HONE" compile $compiler k.cu >out.$i 2>err.$i &
    client=$!
    sleep "0.$(printf %03d $((RANDOM % 150)))"
    pids=() victim=
    tree $client 2>/dev/null
    if [ $((RANDOM % 10)) -lt 9 ]; then
        victim=${pids[RANDOM % ${#pids[@]}]}
        kill -9 "$victim" 2>/dev/null && killed=$((killed + 1))
    fi
    wait $client 2>/dev/null
    status=$?
    if [ "$victim" != "$client" ] && [ $status != 0 ]; then
        bad=$((bad + 1))
        echo "# round $i: status $status: $(cat err.$i)"
    fi
done
is "$killed kills in $rounds compiles: each compile that was not killed succeeded" "$bad" 0

for _ in $(seq 50); do # the last processes may still be ending
    left=$(ours)
    [ -z "$left" ] && break
    sleep 0.1
done
is "no process is left" "$left" ""
runs 0 "hone cache stat --verify exits with 0" "$HONE" cache stat --verify --json
out_has "no cache entry is damaged" '"bad": 0'
for i in 4 8 $rounds; do
    source_text "$i" >k.cu
    runs 0 "source $i compiles" timeout 60 "$HONE" compile --ptx k.cu
    cp "$T/out" cached.ptx
    runs 0 "source $i compiles without the cache" timeout 60 "$HONE" compile --no-cache --ptx k.cu
    is "source $i gives the same code with and without the cache" "$(cmp "$T/out" cached.ptx 2>&1)" ""
done
done_testing
