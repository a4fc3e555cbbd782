#!/usr/bin/env bash
# Tests whether the cost model orders variants of kernels as a GPU does. t/cases/rank/variants.tsv lists variants of
# five tasks. A variant is TASK.cu in the same folder, with each @NAME@ replaced by a value.
#   OUT=DIR t/gpu/rank.sh measure [TASK...]   times them on this machine's GPU: DIR/rank.measured.tsv
#   OUT=DIR t/gpu/rank.sh model [TASK...]     models them on the emulator:      DIR/rank.model.tsv
#   OUT=DIR t/gpu/rank.sh compare             prints the table from both files
# HONE names the program, GPU the modelled GPU (h200), CASES another folder of variants. t/cases/rank/blind has
# variants of five other tasks. They were written after the cost model was fitted, by an author who had not seen it.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)} GPU=${GPU:-h200}
cases=${CASES:-$root/t/cases/rank}
what=${1-} && shift
only=" $* "
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

n=0
while IFS=$'\t' read -r task workload set macros; do
    case $task in '#'*) continue ;; esac
    n=$((n + 1))
    [ "$only" = "  " ] || case $only in *" $task "*) ;; *) continue ;; esac
    args=() file=$dir/$(printf '%03d' $n).$task.cu
    for m in $macros; do args+=(-e "s#@${m%%=*}@#${m#*=}#g"); done
    sed "${args[@]}" -e 's#@SMEM@#0#g' "$cases/$task.cu" >"$file"
    printf '%s\t%s\t%s\t%s\t%s\n' "$file" "$task" "$workload" "$set" "$macros"
done <"$cases/variants.tsv" >"$dir/list"

time_of() { # time_of FILE: prints the candidate's time in ns from a verdict, or why there is none
    python3 - "$1" <<'PY'
import json, sys
try:
    v = json.load(open(sys.argv[1]))
    print(v["times"][0]["median_ns"] if v["kind"] == "pass" else v["kind"] + ": " + v["summary"][:80])
except (ValueError, IndexError):
    print("none")
PY
}

each() { # each FILE COMMAND...: runs COMMAND on every variant and writes the times to FILE
    local out=$1 file task workload set macros
    shift
    : >"$out"
    while IFS=$'\t' read -r file task workload set macros; do
        timeout 120 "$@" --workload "$workload" --json "$task" "$file" >"$dir/v.json" 2>"$dir/err" </dev/null
        [ "${KEEP-}" ] && cp "$dir/v.json" "$KEEP/$(basename "$file" .cu).json"
        printf '%s\t%s\t%s\t%s\n' "$task" "$set" "$macros" "$(time_of "$dir/v.json")" >>"$out"
    done <"$dir/list"
}

case $what in
measure)
    [ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
    mkdir "$dir/cubin"
    cut -f1 "$dir/list" | xargs -P "$(nproc)" -I{} sh -c \
        '"$0" compile --arch sm_90a --cubin -o "$1/$(basename "$2" .cu).cubin" "$2" >/dev/null 2>&1' "$HONE" "$dir/cubin" {}
    python3 "$root/t/gpu/rank_time.py" "$dir/list" "$OUT/rank.measured.tsv" "$dir/cubin" || exit 1
    awk -F'\t' '$4 + 0 > 0 { n[$1]++ } END { for (t in n) print t, n[t], "variants timed" }' "$OUT/rank.measured.tsv"
    awk -F'\t' '!($4 + 0 > 0)' "$OUT/rank.measured.tsv" | head
    ;;
model)
    each "$OUT/rank.model.tsv" "$HONE" emu --gpu "$GPU" --skip-sanitizer
    awk -F'\t' '!($4 + 0 > 0)' "$OUT/rank.model.tsv" | head
    ;;
compare) python3 "$root/t/gpu/rank.py" "$OUT/rank.measured.tsv" "$OUT/rank.model.tsv" ;;
*) sed -n '2,8s/^# //p' "$0" && exit 2 ;;
esac
