#!/usr/bin/env bash
# A GPU that is lost in the middle of a job: on the fake driver of t/fake/libcuda.c, one call of a driver
# function returns an error, and so does every later call. hone-worker must not crash. Its result must say
# that the kernel faulted or that the machine failed, and must blame nothing else.
. "$(dirname "$0")/lib.sh"
worker=${HONE%/*}/hone-worker
base="job/job.c job/wire.c base/strbuf.c base/arena.c base/util.c base/err.c base/dtype.c"
must() { "$@" || { echo "Bail out! $1 failed"; exit 1; }; }
# shellcheck disable=SC2086
(cd "$ROOT/src" && must cc -std=gnu17 -D_GNU_SOURCE -iquote . -o "$T/smoke_job" ../t/gpu/smoke_job.c $base -lm)
must cc -std=gnu17 -D_GNU_SOURCE -shared -fPIC -iquote "$ROOT/src" -o libcuda.so.1 "$ROOT/t/fake/libcuda.c"
mkdir bundle
echo 'int nothing;' | must cc -xc -c -o elf -
for part in cand service oracle; do cp elf bundle/$part.cubin; done
must "$T/smoke_job" bundle cuda good
export LD_LIBRARY_PATH=$PWD ASAN_OPTIONS=detect_leaks=0

# lost FUNCTION N CODE: the GPU is lost in the N-th call of FUNCTION, which returns CODE. Writes the exit status and
# the result of the worker to $T/shown.
lost() {
    rm -f bundle/result.bin
    FAKE_CUDA_LOST=$1:$2:$3 "$worker" bundle >"$T/out" 2>"$T/err"
    echo "exit $?" >"$T/shown"
    "$worker" --show bundle/result.bin >>"$T/shown" 2>&1
}
# is_clear: true if the worker exited with 0 and its result says fault or machine failed
is_clear() { grep -q '^exit 0$' "$T/shown" && grep -qE '^status: (fault|machine failed)$' "$T/shown"; }

FAKE_CUDA_LOG=$PWD/log "$worker" bundle >/dev/null 2>&1
calls=$(wc -l <log)
ok "the job calls the driver more than 500 times ($calls)" test "$calls" -gt 500

lost cuEventQuery 1 700 # the wait for the candidate's first launch
ok "an illegal address in the kernel is a fault" grep -q '^status: fault$' "$T/shown"
ok "the message says that the address is outside every allocation" \
    grep -q 'illegal address: an access outside every allocation' "$T/shown"
lost cuEventQuery 1 716
ok "a misaligned address in the kernel is named" grep -q '^message: misaligned address' "$T/shown"
lost cuFuncGetAttribute 1 700
ok "an error while the driver looks up the kernel is a fault or a failure of the machine" is_clear

in_tier rest || done_testing
# We lose the GPU in each function: in its first eight calls and in its last call.
first="1 2 3 4 5 6 7 8"
cut -d' ' -f1 log | sort | uniq -c >counts
while read -r count name; do
    bad=
    for n in $first "$count"; do
        [ "$n" -le "$count" ] || continue
        lost "$name" "$n" 700
        is_clear || bad+="call $n: $(head -3 "$T/shown" | tr '\n' ' ')"
    done
    is "the worker survives the loss of the GPU in $name" "$bad" ""
done <counts
done_testing
