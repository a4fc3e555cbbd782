#!/usr/bin/env bash
# The detector that is meant to catch an attack of t/redteam/ must catch it. With that detector
# switched off (hone-test, see docs/testing.md) the verdict must change. Otherwise another detector
# caught the attack, and this one is not tested. No honest kernel may be accused, even if it
# resembles an attack: kernels with atomics in any order, counters, queues, flags and locks in a
# workspace, barriers across the grid and in clusters, clocks, in-place outputs; and timed kernels
# with tiles far apart, a separate path for large sizes, provisional values, or blocks that write
# different amounts.
# DEVICE=cuda runs the attacks on a GPU. ATTACKS="name name" runs only these. The tables are expect.tsv,
# timed.tsv and honest.tsv.
. "$(dirname "$0")/lib.sh"
share_cache
device=${DEVICE:-emu}
tester=$(dirname "$HONE")/hone-test

field() { sed -n 's/^  "'"$2"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' "$1" | head -1; }

# judge OUT PROGRAM SCOPE TASK FILE OPTION...: writes the verdict to OUT; SCOPE is smoke, check, or one timed
# workload, and selects the checks that can see the attack
judge() {
    local out=$1 program=$2 scope=() task=$4 file=$5
    case $3 in smoke) scope=(--smoke) ;; check) scope=(--skip-time) ;; time:*) scope=(--workload "$3") ;; esac
    "$program" eval --json --device "$device" --skip-baselines --call-limit 20s "${scope[@]}" \
        "${@:6}" "$task" "$file" >"$out" 2>"$T/err"
}
# here FIELD: prints the part of FIELD for this device; a field can be "ON_THE_EMULATOR|ON_A_GPU"
here() { case $device in emu) echo "${1%|*}" ;; *) echo "${1#*|}" ;; esac; }
wanted() { # wanted NAME TIER: true if ATTACKS or the tier selects this row
    case " ${ATTACKS-} " in
    *" $1 "*) return 0 ;;
    "  ") in_tier "$2" ;;
    *) return 1 ;;
    esac
}

while IFS=$'\t' read -r name task scope tier kind detector idea; do
    case $name in '#'*) continue ;; esac
    wanted "$name" "$tier" || continue
    kind=$(here "$kind") detector=$(here "$detector")
    file=$ROOT/t/redteam/$name.cu
    judge "$T/v.json" "$HONE" "$scope" "$task" "$file"
    got="$(field "$T/v.json" kind) by $(field "$T/v.json" detector)"
    if [ "$got" = "$kind by $detector" ]; then pass "$name: the attack ($idea) gets $got"; else
        fail "$name: the attack ($idea) gets $kind by $detector, not $got" "$(field "$T/v.json" summary) $(cat "$T/err")"
    fi
    case $detector in plan | compile)
        continue ;; # the kernel is refused before it runs, so there is no detector to switch off
    esac
    [ -x "$tester" ] || { skip "$name: the verdict changes without the detector $detector" "hone-test is not built"; continue; }
    judge "$T/v.json" "$tester" "$scope" "$task" "$file" --disable-detector "$detector"
    blind="$(field "$T/v.json" kind) by $(field "$T/v.json" detector)"
    if [ -n "$(field "$T/v.json" kind)" ] && [ "$blind" != "$kind by $detector" ] &&
        [ "$(field "$T/v.json" kind)" != unjudged ]; then
        pass "$name: the verdict changes without the detector $detector: $blind"
    else
        fail "$name: the verdict changes without the detector $detector" "$blind $(cat "$T/err")"
    fi
done < <(cat "$ROOT/t/redteam/expect.tsv" "$ROOT/t/redteam/timed.tsv")

while IFS=$'\t' read -r file task scope tier; do
    case $file in '#'*) continue ;; esac
    wanted "$(basename "$file")" "$tier" || continue
    judge "$T/v.json" "$HONE" "$scope" "$task" "$ROOT/$file.cu"
    is "the honest kernel $(basename "$file") passes" "$(field "$T/v.json" kind)" pass
done <"$ROOT/t/redteam/honest.tsv"
runs 2 "hone without test code has no option --disable-detector" "$HONE" eval --disable-detector floor vector_add "$ROOT/kernels/vector_add.cu"
done_testing
