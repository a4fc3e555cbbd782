#!/usr/bin/env bash
# The detector that is meant to catch an attack of t/redteam/ must catch it. With that detector
# switched off (hone-test, see docs/testing.md) the verdict must change. Otherwise another detector
# caught the attack, and this one is not tested. No honest kernel may be accused, even if it
# resembles an attack: kernels with atomics in any order, counters, queues, flags and locks in a
# workspace, barriers across the grid and in clusters, clocks, in-place outputs; and timed kernels
# with tiles far apart, a separate path for large sizes, provisional values, or blocks that write
# different amounts.
# DEVICE=cuda runs the attacks on a GPU. ATTACKS="name name" runs only these. JOBS=N runs N rows at a time (default 1).
# The tables are expect.tsv, timed.tsv and honest.tsv.
. "$(dirname "$0")/lib.sh"
share_cache
device=${DEVICE:-emu}
tester=$(dirname "$HONE")/hone-test

field() { sed -n 's/^  "'"$2"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' "$1" | head -1; }

# judge NAME PROGRAM SCOPE TASK FILE OPTION...: writes the verdict to $T/NAME.json; SCOPE is smoke, check, time or one timed
# workload, and selects the checks that can see the attack
judge() {
    local out=$T/$1 program=$2 scope=() task=$4 file=$5 limit=20s
    [ "${file##*/}" != barrier_without_cooperation.cu ] || limit=5s # it never ends
    case $3 in smoke) scope=(--smoke) ;; check) scope=(--skip-time) ;; time*) scope=(--workload "$3") ;; esac
    "$program" eval --json --device "$device" --skip-baselines --call-limit $limit --measure-time 400ms "${scope[@]}" \
        "${@:6}" "$task" "$file" >"$out.json" 2>"$out.err"
    echo "exit status $?" >>"$out.err"
}
# judge_row NAME SCOPE TASK FILE [DETECTOR]: judges a kernel, and once more without the detector. Rows without times may
# use the GPU at the same time: each slot has a lock of its own.
judge_row() {
    case $2 in smoke | check) export HONE_GPU_LOCK_DIR=$T/locks/$SLOT && mkdir -p "$HONE_GPU_LOCK_DIR" ;; esac
    judge "$1" "$HONE" "${@:2:3}"
    [ -z "${5-}" ] || judge "$1.blind" "$tester" "${@:2:3}" --disable-detector "$5"
}
export device tester
export -f judge judge_row
# here FIELD: prints the part of FIELD for this device; a field can be "ON_THE_EMULATOR|ON_A_GPU"
here() { case $device in emu) echo "${1%|*}" ;; *) echo "${1#*|}" ;; esac; }
wanted() { # wanted NAME TIER: true if ATTACKS or the tier selects this row
    case " ${ATTACKS-} " in
    *" $1 "*) return 0 ;;
    "  ") in_tier "$2" ;;
    *) return 1 ;;
    esac
}

# Prints the rows that run here: NAME, TASK, SCOPE, FILE, KIND, DETECTOR, IDEA, with tabs between them. An honest kernel
# has no idea.
rows() {
    local n=0
    cat "$ROOT/t/redteam/expect.tsv" "$ROOT/t/redteam/timed.tsv" |
        while IFS=$'\t' read -r name task scope tier kind detector idea; do
            case $name in '#'*) continue ;; esac
            wanted "$name" "$tier" || continue
            printf '%s\t' "$name" "$task" "$scope" "t/redteam/$name" "$(here "$kind")" "$(here "$detector")"
            echo "$idea"
        done
    while IFS=$'\t' read -r file task scope tier; do
        case $file in '#'*) continue ;; esac
        wanted "$(basename "$file")" "$tier" && printf '%s\t' "honest.$((++n))" "$task" "$scope" "$file" pass - && echo
    done <"$ROOT/t/redteam/honest.tsv"
}
# A kernel that is refused before it runs has no detector to switch off; nor has an honest one.
has_detector() { case $1 in plan | compile | -) return 1 ;; esac; }
check_attack() {
    local v=$T/$name.json got blind
    got="$(field "$v" kind) by $(field "$v" detector)"
    if [ "$got" = "$kind by $detector" ]; then pass "$name: the attack ($idea) gets $got"; else
        fail "$name: the attack ($idea) gets $kind by $detector, not $got" "$(field "$v" summary) $(cat "$T/$name.err")"
    fi
    has_detector "$detector" || return
    [ -x "$tester" ] || { skip "$name: the verdict changes without the detector $detector" "hone-test is not built"; return; }
    v=$T/$name.blind.json
    blind="$(field "$v" kind) by $(field "$v" detector)"
    if [ -n "$(field "$v" kind)" ] && [ "$blind" != "$kind by $detector" ] && [ "$(field "$v" kind)" != unjudged ]; then
        pass "$name: the verdict changes without the detector $detector: $blind"
    else
        fail "$name: the verdict changes without the detector $detector" "$blind $(cat "$T/$name.blind.err")"
    fi
}
check_rows() { # judges and checks the rows of stdin
    cat >"$T/rows"
    side_by_side 1 judge_row < <(while IFS=$'\t' read -r name task scope file kind detector idea; do
        has_detector "$detector" && [ -x "$tester" ] || detector=
        echo "$name $scope $task $ROOT/$file.cu $detector"
    done <"$T/rows")
    while IFS=$'\t' read -r name task scope file kind detector idea; do
        await "$name"
        if [ -n "$idea" ]; then check_attack; else
            is "the honest kernel $(basename "$file") passes" "$(field "$T/$name.json" kind)" pass
        fi
    done <"$T/rows"
}

# Rows with times come last. So no other row runs on the GPU while Hone times a kernel.
check_rows < <(rows | awk -F'\t' '$3 !~ /^time/')
check_rows < <(rows | awk -F'\t' '$3 ~ /^time/')
# With this seed, constant_shift gives NaN before and after one input element changes, and the truth is 1 both times. The
# NaN is wrong, but it does not show that the kernel ignored the change.
if wanted constant_shift rest; then
    judge same_nan "$HONE" smoke softmax "$ROOT/t/redteam/constant_shift.cu" --seed 72
    is "a NaN in both calls is not a stale output" "$(field "$T/same_nan.json" kind)" mismatch
fi
runs 2 "hone without test code has no option --disable-detector" "$HONE" eval --disable-detector floor vector_add "$ROOT/kernels/vector_add.cu"
done_testing
