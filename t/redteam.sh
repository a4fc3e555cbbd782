#!/usr/bin/env bash
# Every attack of t/redteam/ must be caught, by the detector that is meant to catch it. With that
# detector switched off the verdict must be another one: a detector nobody needs is not tested.
# DEVICE=cuda runs the same attacks on a GPU; ATTACKS="name name" runs a few.
. "$(dirname "$0")/lib.sh"

field() { sed -n 's/^  "'"$2"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' "$1" | head -1; }
among() { case ",$2," in *",$1,"*) return 0 ;; esac; return 1; }

judge() { # judge OUT TASK FILE [options]
    local out=$1
    shift
    "$HONE" eval --json --device "${DEVICE:-emu}" --skip-baselines "${@:3}" "$1" "$2" >"$out" 2>"$T/err"
}

while IFS=$'\t' read -r name task kinds detectors idea; do
    case $name in '#'*) continue ;; esac
    [ -z "${ATTACKS-}" ] || case " $ATTACKS " in *" $name "*) ;; *) continue ;; esac
    file=$ROOT/t/redteam/$name.cu
    # only what hides from the checks needs the clock
    timed=--skip-time
    among floor "$detectors" && timed=
    judge "$T/v.json" "$task" "$file" $timed
    kind=$(field "$T/v.json" kind) detector=$(field "$T/v.json" detector)
    if among "$kind" "$kinds" && among "$detector" "$detectors"; then
        pass "$name: $idea: $kind by $detector"
    else
        fail "$name: $idea: want $kinds by $detectors, got $kind by $detector" \
            "$(field "$T/v.json" summary) $(cat "$T/err")"
    fi
done <"$ROOT/t/redteam/expect.tsv"
done_testing
