#!/usr/bin/env bash
# Evaluates the attacks of t/redteam/, and honest kernels that resemble attacks.
#
# Each attack must be caught by the detector that its row names. With this detector switched off (hone-test, see
# docs/testing.md), the verdict must change. If it does not, another detector catches the attack too, and the attack
# does not test the one that its row names.
#
# Each honest kernel must pass, although it does things that attacks do too. For example:
# - It keeps counters, queues, flags or locks in a workspace.
# - It adds with atomics, in whatever order the blocks run.
# - It waits at barriers of the grid or of a cluster, reads the clock, or updates outputs in place.
# - At timed sizes, a block's tiles lie far apart, blocks write different amounts, large sizes take another path, or the
#   kernel overwrites values that it stored earlier in an output.
#
# DEVICE=cuda runs the attacks on a GPU. ATTACKS="name name" runs only these. JOBS=N runs N rows at a time (default 1).
# The tables are expect.tsv, timed.tsv and honest.tsv.
. "$(dirname "$0")/lib.sh"
share_cache
device=${DEVICE:-emu}
tester=$(dirname "$HONE")/hone-test

field() { sed -n 's/^  "'"$2"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' "$1" | head -1; }

# judge NAME PROGRAM SCOPE TASK FILE OPTION...: evaluates FILE and writes the verdict to $T/NAME.json. SCOPE selects the
# workloads: smoke; check (all except the timed ones); time (all timed ones); or a single timed one, such as time:2.
judge() {
    local out=$T/$1 program=$2 scope=() task=$4 file=$5 limit=20s
    [ "${file##*/}" != barrier_without_cooperation.cu ] || limit=5s # it never ends
    case $3 in smoke) scope=(--smoke) ;; check) scope=(--skip-time) ;; time*) scope=(--workload "$3") ;; esac
    "$program" eval --json --device "$device" --skip-baselines --call-limit $limit --measure-time 400ms "${scope[@]}" \
        "${@:6}" "$task" "$file" >"$out.json" 2>"$out.err"
    echo "exit status $?" >>"$out.err"
}
# judge_row NAME SCOPE TASK FILE [DETECTOR]: evaluates a kernel, and once more with DETECTOR switched off. Kernels that
# Hone does not time may share the GPU. So each SLOT (see side_by_side in lib.sh) has a GPU lock of its own for them.
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

# Prints the rows that run here: NAME, TASK, SCOPE, FILE, KIND, DETECTOR, IDEA, with tabs between them. For an honest
# kernel, DETECTOR is "-" and IDEA is empty.
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

# The rows that Hone times come last. So no row of the other kind uses the GPU while Hone times a kernel.
check_rows < <(rows | awk -F'\t' '$3 !~ /^time/')
check_rows < <(rows | awk -F'\t' '$3 ~ /^time/')
# With this seed, constant_shift gives NaN before and after one input element changes. The truth is 1 in both calls. So
# the NaN is wrong, but it does not show that the kernel ignored the change.
if wanted constant_shift rest; then
    judge same_nan "$HONE" smoke softmax "$ROOT/t/redteam/constant_shift.cu" --seed 72
    is "a NaN in both calls is not a stale output" "$(field "$T/same_nan.json" kind)" mismatch
fi
runs 2 "hone without test code has no option --disable-detector" "$HONE" eval --disable-detector floor vector_add "$ROOT/kernels/vector_add.cu"
done_testing
