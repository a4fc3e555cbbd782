#!/usr/bin/env bash
# The same kernel, task and seed give the same verdict every time, for any order of host
# threads and any load of the machine. cases/stable/expect.tsv names kernels whose blocks or
# warps race, or look as if they did, and what the verdict must say.
# STABLE="tail swap_loop" t/stable.sh runs only these kernels.
. "$(dirname "$0")/lib.sh"
share_cache
cases=$ROOT/t/cases/stable
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"

# source_of KERNEL LESS: writes the kernel without the lines that end in "// WORD", for each WORD of LESS ("-" = none),
# and sets $name
source_of() {
    local word script=
    name=$1
    [ "$2" = - ] || name+=" without $2"
    for word in $2; do script+="/\/\/ $word\$/d;"; done
    sed "$script" "$cases/$1.cu" >"$T/$1.cu"
}
judge() { # judge TASK KERNEL SEED OPTIONS: prints the verdict without its durations, which may differ
    "$HONE" eval --json --device emu --skip-baselines --seed "$3" $4 "$cases/$1" "$T/$2.cu" 2>"$T/err" |
        grep -vE '"(compile_ns|run_ns|total_ns)"'
}
rows() { grep -v '^#' "$cases/expect.tsv" | while IFS= read -r row; do tr '\t' '|' <<<"$row"; done; }
wanted() { [ -z "${STABLE-}" ] || [[ " $STABLE " == *" $1 "* ]]; }

while IFS='|' read -r kernel less task options kind text mark; do
    wanted "$kernel" && in_tier "$mark" || continue
    source_of "$kernel" "$less"
    judge "$task" "$kernel" 1 "$options" >"$T/v.json"
    if ! grep -q "^  \"kind\": \"$kind\"" "$T/v.json"; then
        fail "$name: the verdict is $kind" "$(grep -E '^  "(kind|summary)"' "$T/v.json"; cat "$T/err")"
    elif [ "$text" != - ] && ! grep -qE "$text" "$T/v.json"; then
        fail "$name: the verdict has the text '$text'" "$(cat "$T/v.json")"
    else
        pass "$name: the verdict is $kind"
    fi
done < <(rows)

# The same kernels under load, with several seeds. No byte of a verdict may change.
if in_tier rest; then
    for _ in 1 2; do (exec -a busy timeout 600 sh -c 'while :; do :; done') & busy+=($!); done
    while IFS='|' read -r kernel less task options kind text mark; do
        wanted "$kernel" || continue
        source_of "$kernel" "$less"
        bad=
        for seed in 1 2 3; do
            judge "$task" "$kernel" $seed "$options" >"$T/first.json"
            grep -q "^  \"kind\": \"$kind\"" "$T/first.json" || bad+=" seed $seed is no $kind;"
            for _ in 1 2; do
                judge "$task" "$kernel" $seed "$options" >"$T/again.json"
                cmp -s "$T/first.json" "$T/again.json" ||
                    bad+=" seed $seed: $(diff "$T/first.json" "$T/again.json" | head -5);"
            done
        done
        if [ -z "$bad" ]; then pass "$name: the verdict does not change under load"; else
            fail "$name: the verdict does not change under load" "$bad"
        fi
    done < <(rows)
    kill "${busy[@]}" 2>/dev/null
fi
done_testing
