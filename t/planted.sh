#!/usr/bin/env bash
# Planted bugs: for every t/cases/planted/NAME.bug.cu the sanitizer reports the kind and the line that
# NAME.json names. The corrected file NAME.ok.cu passes without a finding. See
# t/cases/planted/README.md.
# PLANTED="name name" t/planted.sh runs only these bugs. JOBS=N runs N kernels at a time (default 2). With DEVICE=cuda
# `hone eval` judges the kernels, and the corrected files must also pass on the GPU.
. "$(dirname "$0")/lib.sh"
share_cache
export CASES=$ROOT/t/cases/planted HONE T
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"

field() { tr -d '\n' <"$CASES/$1.json" | sed -n 's/.*"'"$2"'": *\[\{0,1\}"\{0,1\}\([^]"}]*[^]"}, ]\).*/\1/p'; }
export -f field
judge() { # judge NAME.bug|NAME.ok NAME bug|ok: writes the verdict to $T/NAME.bug.json or $T/NAME.ok.json
    local name=$2 file=$2 command=(emu) workload limit
    [ "$3" = bug ] || file=$(field "$name" twin)
    workload=$(field "$name" workload)
    limit=$(field "$name" limit)
    [ -z "$limit" ] || command=(eval --device emu --skip-baselines --call-limit "$limit")
    case "${DEVICE:-emu} $3 $workload" in
    emu* | *" bug check:"*) ;; # an evaluation on a GPU emulates only smoke workloads, and would miss these bugs
    *)
        command=(eval --device "$DEVICE" --skip-baselines)
        # Nothing is timed, so the kernels need not take turns on the GPU.
        export HONE_GPU_LOCK_DIR=$T/locks/$SLOT && mkdir -p "$HONE_GPU_LOCK_DIR"
        ;;
    esac
    "$HONE" "${command[@]}" --json --workload "$workload" "$(field "$name" task)" \
        "$CASES/${file:-$name}.$3.cu" >"$T/$1.json" 2>"$T/$1.err"
}
export -f judge
found() { # found FILE: prints "KIND LINE" for each finding of the verdict in FILE
    sed -n '/^  "findings"/,/^  \]/p' "$1" |
        sed -n 's/^      "line": \([0-9]*\).*/line \1/p; s/^      "kind": "\(.*\)".*/kind \1/p' |
        awk '$1 == "line" { l = $2 } $1 == "kind" { k = $2 } l != "" && k != "" { print k, l; l = k = "" }'
}
summary() { sed -n 's/^  "summary": //p' "$1" | cut -c1-300; }

names=${PLANTED-}
[ -n "$names" ] || for file in "$CASES"/*.json; do
    name=$(basename "$file" .json)
    mark=$(field "$name" tier)
    in_tier "${mark:-rest}" && names+=" $name"
done
side_by_side 2 judge < <(for name in $names; do
    echo "$name.bug $name bug"
    echo "$name.ok $name ok"
done)

for name in $names; do
    await "$name.bug"
    await "$name.ok"
    kind=$(field "$name" kind)
    got=$(found "$T/$name.bug.json")
    hit=
    for line in $(field "$name" line | tr ',' ' '); do
        grep -qx "$kind $line" <<<"$got" && hit=1
    done
    also=$(field "$name" also)
    [ -z "$also" ] || grep -qx "$also" <<<"$got" || hit=
    if [ -n "$hit" ]; then pass "$name: the sanitizer finds $kind${also:+ and $also}"; else
        fail "$name: the sanitizer finds $kind at line $(field "$name" line)${also:+ and $also}" \
            "got: $got: $(summary "$T/$name.bug.json") $(cat "$T/$name.bug.err")"
    fi
    if grep -qx '  "kind": "pass",' "$T/$name.ok.json" && [ -z "$(found "$T/$name.ok.json")" ]; then
        pass "$name: the corrected file has no finding"
    else
        fail "$name: the corrected file has no finding" \
            "$(found "$T/$name.ok.json") $(summary "$T/$name.ok.json") $(cat "$T/$name.ok.err")"
    fi
done
done_testing
