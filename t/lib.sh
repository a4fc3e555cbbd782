# t/lib.sh - TAP for shell tests. A test is t/NAME.sh, executable:
#
#     #!/usr/bin/env bash
#     . "$(dirname "$0")/lib.sh"
#     runs 0 "hone doctor exits with 0" "$HONE" doctor
#     out_has "hone doctor says what is missing" "would enable"
#     runs 2 "an unknown command is a usage error" "$HONE" doctr
#     err_has "the message suggests the right word" "did you mean"
#     done_testing
#
# The name of a check is a sentence that can be understood without the checks before it.
# The test runs in an empty directory of its own; $ROOT is the source tree, $HONE the program.
# `runs` and `ok` write the output of the command to $T/out and $T/err, where `out_has` and `err_has` look.
#
# TIER says which checks of a test run: `quick` means the checks of `make test`, `rest` those that `make test-all`
# adds, `all` (the default) both, `soak` those of `make soak`. A test with long checks asks in_tier; see t/README.md.
#
#     in_tier rest || skip_all "make test-all runs this"     a whole file
#     in_tier rest && runs 0 "a long check" ...              one check
#     in_tier "$mark" || continue                            a row of a table, marked quick, rest or soak
#
# A test whose checks are slow and do not depend on each other can run several at a time and print them in order:
#
#     judge() { "$HONE" eval vector_add "$2" >"$T/$1.out"; }; export -f judge
#     side_by_side 2 judge < <(printf '%s\n' "one one.cu" "two two.cu")    two at a time, or as many as JOBS says
#     await one; grep ...

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
HONE=${HONE:-$ROOT/build/${MODE:-release}/hone}
T=$(mktemp -d "${TMPDIR:-/tmp}/hone-test.XXXXXX")
trap '[ $BASHPID != $$ ] || { cd /; rm -rf "$T"; }' EXIT # a child that dies before exec may run it too
mkdir "$T/cwd" && cd "$T/cwd" || exit 1
export HONE_CACHE_DIR=$T/cache
tests=0 failures=0

in_tier() { [ "$TIER" = "$1" ] || [ "$TIER:$1" = all:quick ] || [ "$TIER:$1" = all:rest ]; } # quick, rest or soak
TIER=${TIER:-all}
# Tests that call this share compiled kernels in build/. This is safe, because the compile cache
# finds kernels by their content.
share_cache() { export HONE_CACHE_DIR=$ROOT/build/kernel-cache && mkdir -p "$HONE_CACHE_DIR"; }
pass() { printf 'ok %d - %s\n' $((++tests)) "$1"; }
fail() { # fail DESCRIPTION [DETAIL]
    printf 'not ok %d - %s\n' $((++tests)) "$1"
    failures=$((failures + 1))
    [ -z "${2-}" ] || printf '%s\n' "$2" | head -40 | sed 's/^/# /' >&2
}
skip() { printf 'ok %d - %s # SKIP %s\n' $((++tests)) "$1" "$2"; }
skip_all() { printf '1..0 # SKIP %s\n' "$1"; exit 0; }

ok() { # ok DESCRIPTION COMMAND...
    local what=$1
    shift
    if "$@" >"$T/out" 2>"$T/err"; then pass "$what"; else fail "$what" "$*: $(cat "$T/out" "$T/err")"; fi
}
runs() { # runs STATUS DESCRIPTION COMMAND...
    local want=$1 what=$2 got
    shift 2
    "$@" >"$T/out" 2>"$T/err" </dev/null
    got=$?
    if [ $got = "$want" ]; then pass "$what"; else
        fail "$what" "exit status $got, not $want: $*"$'\n'"$(cat "$T/out" "$T/err")"
    fi
}
is() { # is DESCRIPTION GOT WANTED
    if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "got:  $2"$'\n'"want: $3"; fi
}
out_has() { if grep -qF -- "$2" "$T/out"; then pass "$1"; else fail "$1" "no '$2' in: $(cat "$T/out")"; fi; }
err_has() { if grep -qF -- "$2" "$T/err"; then pass "$1"; else fail "$1" "no '$2' in: $(cat "$T/err")"; fi; }
out_lacks() { if grep -qF -- "$2" "$T/out"; then fail "$1" "'$2' is in the output"; else pass "$1"; fi; }
err_empty() { if [ -s "$T/err" ]; then fail "$1" "$(cat "$T/err")"; else pass "$1"; fi; }
# Sets HONE_PYTHON to a Python with PyTorch 2.6 or newer. If there is none, tools/setup installs PyTorch. If that
# fails, returns 1, and the last line of $T/setup says why.
find_torch() {
    local python try=(-c 'import torch, sys; sys.exit(torch.__version__ < "2.6")')
    for python in "${HONE_PYTHON:-python3}" "$ROOT/.deps/torch/bin/python"; do
        "$python" "${try[@]}" 2>/dev/null && export HONE_PYTHON=$python && return 0
    done
    "$ROOT/tools/setup" torch >"$T/setup" 2>&1
    "$python" "${try[@]}" 2>/dev/null && export HONE_PYTHON=$python
}
# side_by_side N FUNCTION: calls the exported FUNCTION for each line of stdin, with the words of the line as arguments,
# and returns at once. Up to N calls run at a time, or JOBS if that is set; SLOT, from 0 on, differs between calls at
# the same time. The first word of a line is the name of its call.
declare -A ended=()
side_by_side() {
    export T ROOT HONE
    exec 3< <(xargs -r -d '\n' -n 1 -P "${JOBS:-$1}" --process-slot-var=SLOT \
        bash -c '"$0" $1 </dev/null >/dev/null; echo "${1%% *}"' "$2")
}
await() { # await NAME: returns when the call of this name has ended
    local name
    while [ -z "${ended[$1]-}" ] && read -r name <&3; do ended[$name]=1; done
}
done_testing() {
    printf '1..%d\n' $tests
    exit $((failures > 0))
}
