#!/usr/bin/env bash
# Runs hone-worker on one device, without `hone`, on kernels with one mistake each, and checks the facts in the
# result. Prints TAP. Needs cc and nvcc.
#   t/gpu/smoke.sh emu|cuda WORKER
#   t/gpu/smoke.sh emu|cuda WORKER --prepare DIR    only puts the compiled parts of a bundle into DIR
device=$1 worker=$2
cd "$(dirname "$0")/../.." || exit 1
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
[ -n "$nvcc" ] || { echo "1..0 # SKIP no nvcc"; exit 0; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0
ok() { # ok STATUS NAME: a check that passes if STATUS is 0
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else
        echo "not ok $n - $2"
        sed 's/^/# /' "$tmp/shown" | head -20
    fi
}
must() { "$@" >"$tmp/log" 2>&1 || { sed 's/^/# /' "$tmp/log"; echo "Bail out! $1 failed"; exit 1; }; }

must cc -std=gnu17 -D_GNU_SOURCE -iquote src -o "$tmp/smoke_job" t/gpu/smoke_job.c src/job/job.c \
    src/job/wire.c src/base/strbuf.c src/base/arena.c src/base/util.c src/base/err.c src/base/dtype.c -lm
mkdir "$tmp/code"
if [ "$device" = cuda ]; then
    must "$nvcc" -cubin -arch=native -o "$tmp/code/cand.cubin" t/gpu/smoke.cu
    must "$nvcc" -cubin -arch=native -std=c++17 -Isrc -o "$tmp/code/service.cubin" src/device/service.cu
    must "$nvcc" -cubin -arch=native -std=c++17 -x cu -Isrc/task -o "$tmp/code/oracle.cubin" t/gpu/smoke_oracle.c
else
    must "$nvcc" -ptx -arch=sm_90 -lineinfo -o "$tmp/code/cand.ptx" t/gpu/smoke.cu
    must cc -shared -fPIC -O2 -Isrc/task -o "$tmp/code/oracle.so" t/gpu/smoke_oracle.c -lm
fi

if [ "${3:-}" = --prepare ]; then
    cp -r "$tmp/code" "$4" && cp "$tmp/smoke_job" "$4/"
    exit
fi

run() { # run KERNEL: writes the facts of the result to $tmp/shown
    rm -rf "$tmp/b" && cp -r "$tmp/code" "$tmp/b"
    must "$tmp/smoke_job" "$tmp/b" "$device" "$1"
    "$worker" "$tmp/b" >"$tmp/out" 2>"$tmp/shown" || return 1
    "$worker" --show "$tmp/b/result.bin" >"$tmp/shown" 2>&1
}
sees() { # sees KERNEL PATTERN...: the facts must match every PATTERN; for "!PATTERN" they must not
    kernel=$1
    shift
    run "$kernel"
    bad=$?
    for p in "$@"; do
        case $p in
        !*) grep -qE "${p#!}" "$tmp/shown" && bad=1 ;;
        *) grep -qE "$p" "$tmp/shown" || bad=1 ;;
        esac
    done
    ok $bad "the worker reports the right facts about the kernel $kernel"
}
clean="!(changed|not repeatable|[1-9][0-9]* bad|[1-9][0-9]* unwritten)"
sees good '^status: ok' 'call 0 .* ok' 'compare buffer 2: [0-9]+ elements, 0 bad, 0 unwritten' "$clean"
if [ "$device" = cuda ]; then
    grep -E 'empty|timed' "$tmp/shown" | head -6 | sed 's/^/# /'
    grep -qE 'timed.* ok, [0-9.]+ ns' "$tmp/shown"
    ok $? "timed calls have times"
    grep -qE 'timed verified ok' "$tmp/shown"
    ok $? "a sample of timed calls was verified"
fi
sees partial '[1-9][0-9]* unwritten' 'the last 37 of'
sees wrong '[1-9][0-9]* bad' 'every 4th element, starting at element 1'
sees past_end 'guard zones changed' "past the end of 'z'"
sees write_input 'inputs changed' "'x' was changed"
sees stateful 'globals changed' "'calls'"
sees wild '^status: fault'
sees odd '^status: fault'
sees trap '^status: fault'
sees hang '^status: hang'
sees chatty '^status: ok' 'printed: [0-9]+ bytes: thread'
sees big_shared '^status: ok' "$clean"
sees cluster '^status: ok' "$clean"
sees cooperative '^status: (ok|launch refused)'
sees too_many_threads '^status: launch refused'
sees no_such_kernel '^status: load failed' 'no_such_kernel'
if [ "$device" = cuda ] && command -v nvidia-smi >/dev/null; then
    left=$(nvidia-smi --query-compute-apps=pid --format=csv,noheader 2>/dev/null | wc -l)
    [ "$left" -eq 0 ]
    ok $? "no process is left on the GPU"
fi
echo "1..$n"
