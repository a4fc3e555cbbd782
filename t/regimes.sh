#!/usr/bin/env bash
# Every kernel of cases/regimes is wrong in one regime of sizes or addresses (docs/regimes.md), and right on
# all other smoke workloads. `hone eval --smoke` must catch each one, whatever the seed, and must name the
# regime. `make test` tries one seed, `make test-all` ten more. SEEDS="1 2 3" t/regimes.sh tries
# these seeds instead.
. "$(dirname "$0")/lib.sh"
share_cache
export CASES=$ROOT/t/cases/regimes HONE T
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"

judge() { # judge NAME TASK SEED: writes the verdict to $T/NAME.SEED
    "$HONE" eval --device emu --smoke --skip-baselines --seed "$3" "$2" "$CASES/$1.cu" >"$T/$1.$3" 2>&1
}
export -f judge

seeds=${SEEDS-}
[ -n "$seeds" ] || { in_tier quick && seeds=7; }
[ -n "${SEEDS-}" ] || { in_tier rest && seeds+=" 1 2 3 4 5 1000 99999 18446744073709551615 31337 4242"; }
grep -v '^#' "$CASES/expect.tsv" | while IFS=$'\t' read -r name task regime; do
    for seed in $seeds; do echo "$name $task $seed"; done
done | xargs -P 2 -L 1 bash -c 'judge "$0" "$1" "$2"'

while IFS=$'\t' read -r name task regime; do
    case $name in '#'*) continue ;; esac
    caught=0 tried=0 missed=
    for seed in $seeds; do
        tried=$((tried + 1))
        if head -1 "$T/$name.$seed" | grep -qE '^(fault|mismatch|unsafe)' && grep -qF -- "$regime" "$T/$name.$seed"; then
            caught=$((caught + 1))
        else
            missed="seed $seed: $(head -2 "$T/$name.$seed")"
        fi
    done
    is "$name: for every seed, the kernel fails in the regime '$regime'" "$caught of $tried${missed:+ ($missed)}" "$tried of $tried"
done <"$CASES/expect.tsv"
done_testing
