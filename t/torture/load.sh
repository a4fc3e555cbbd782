#!/usr/bin/env bash
# Runs LOAD (200) evaluations, eight at a time, with one compile cache. Each must get the verdict that it gets alone,
# and none may leave a process or a temporary file.
. "$(dirname "$0")/../lib.sh"
export TMPDIR=$T/tmp HONE T ROOT
mkdir "$TMPDIR"
n=${LOAD:-200}
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1
[ $? = 3 ] && skip_all "no CUDA compiler on this machine"

printf 'not a kernel\n' >broken.cu
one() { # one N: runs evaluation N, writes its verdict to verdict.N, and prints a line if the verdict is wrong
    case $(($1 % 4)) in
    0) kernel=$ROOT/kernels/vector_add.cu want=pass ;;
    1) kernel=$ROOT/t/redteam/constant_output.cu want=mismatch ;;
    2) kernel=broken.cu want=plan_error ;;
    *) # a different source, so that compiles run at the same time too
        sed "s/vector_add(/vector_add_$1(/; s/\"vector_add\"/\"vector_add_$1\"/" "$ROOT/kernels/vector_add.cu" >"own.$1.cu"
        kernel=own.$1.cu want=pass ;;
    esac
    "$HONE" eval --json --device emu --smoke --skip-time --skip-baselines vector_add "$kernel" \
        >"verdict.$1" 2>"err.$1"
    grep -q "^  \"kind\": \"$want\"" "verdict.$1" ||
        echo "$1: want $want, got $(grep '^  "kind"' "verdict.$1") $(head -1 "err.$1")"
}
export -f one
seq "$n" | xargs -P 8 -I{} bash -c 'one {}' >wrong
is "$n evaluations, eight at a time, get the right verdicts" "$(cat wrong)" ""
left() { # prints the processes with our cache directory
    local p
    for p in /proc/[0-9]*; do
        tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qxF "HONE_CACHE_DIR=$HONE_CACHE_DIR" || continue
        case $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null) in *hone*eval* | *hone*compile* | *hone-worker*) echo "${p#/proc/}" ;; esac
    done 2>/dev/null
}
for _ in $(seq 50); do # the supervisors may still be ending
    [ -z "$(left)" ] && break
    sleep 0.1
done
is "no process is left" "$(left)" ""
is "no temporary file is left" "$(find "$TMPDIR" -mindepth 1 | head -3)" ""
runs 0 "hone cache stat --verify exits with 0" "$HONE" cache stat --verify --json
out_has "no cache entry is damaged" '"bad": 0'
done_testing
