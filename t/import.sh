#!/usr/bin/env bash
# `hone import torch` on the problem files of cases/import: `make test` replays recorded traces and tries
# traces that nobody should trust, without PyTorch. `make test-all` traces every file with PyTorch for the
# CPU, compares each task with PyTorch, and judges a right and a wrong kernel for some of the tasks.
# IMPORTS="scans row_stats" t/import.sh runs some rows of cases/import/expect.tsv.
. "$(dirname "$0")/lib.sh"
share_cache
export CASES=$ROOT/t/cases/import HONE
mkdir tasks logs
kept=" ${IMPORTS-} "

rows() { # rows: the lines of the table that run, with '|' between the fields, because some are empty
    grep -v '^#' "$CASES/expect.tsv" | tr '\t' '|' | while IFS='|' read -r name rest; do
        [ "$kept" = "  " ] || [[ $kept == *" $name "* ]] || continue
        echo "$name|$rest"
    done
}
imports_to() { [[ $1 =~ ^[0-9]+$ ]]; } # is this entry a number of free sizes?

# ---- recorded traces, without PyTorch
replay() { # replay NAME: the output to logs/NAME, the task to replayed/NAME
    HONE_PYTHON=no-such-python "$HONE" import torch --out replayed --trace "$CASES/$1.trace.json" "$1.py" \
        >"logs/$1" 2>&1 || echo "status $?" >>"logs/$1"
}
export -f replay
recorded=$(rows | while IFS='|' read -r name args tier kernel want; do
    [ -e "$CASES/${name#*:}.trace.json" ] && imports_to "$want" && in_tier "$tier" && echo "${name#*:} $want"
done)
cut -d' ' -f1 <<<"$recorded" | xargs -P 2 -I{} bash -c 'replay {}'
while read -r name sizes; do
    [ -n "$name" ] || continue
    is "$name: a recorded trace becomes a task" "$(head -2 "logs/$name")" \
        "replayed/$name: $sizes free size$([ "$sizes" = 1 ] || echo s)
  not compared with PyTorch: the trace is a recorded one"
    is "$name: rounding errors were tried" \
        "$(grep -cE '^  with random rounding, the largest error is [01]\.[0-9][0-9] of the tolerance$' "logs/$name")" 1
    is "$name: the folder has the task's files" "$(ls "replayed/$name" 2>&1 | tr '\n' ' ')" "reference.c task.json "
    runs 0 "$name: the task has a graph" "$HONE" task show --graph "replayed/$name"
done <<<"$recorded"

# ---- traces that are wrong
bad_trace() { # bad_trace DESCRIPTION PYTHON WANTED: a trace t, changed by PYTHON, is refused with WANTED
    python3 - "$CASES/embed_pick.trace.json" "$2" >bad.json <<'PY'
import json, sys
t = json.load(open(sys.argv[1]))
g = t["graph"]
exec(sys.argv[2])
json.dump(t, sys.stdout)
PY
    runs 1 "a trace with $1" "$HONE" import torch --out bad --trace bad.json embed_pick.py
    err_has "is refused with the reason" "$3"
    is "and leaves no task" "$(ls bad 2>/dev/null)" ""
}
if in_tier quick; then
    runs 2 "import of nothing" "$HONE" import torch
    runs 3 "a trace that is not there" "$HONE" import torch --trace none.json model.py
    err_has "is named" "none.json"
    echo '{"graph": ' >broken.json
    runs 1 "a trace that is no JSON" "$HONE" import torch --trace broken.json model.py
    err_has "is refused with its place" "broken.json:"
    echo '[1, 2]' >list.json
    runs 1 "a trace that is a list" "$HONE" import torch --trace list.json model.py
    err_has "is no graph" "expected an object"
    echo '{"refused": {"why": "forward draws random numbers", "line": 7}}' >refused.json
    runs 1 "a trace that refuses" "$HONE" import torch --trace refused.json model.py
    err_has "gives its line" "model.py:7: forward draws random numbers"
    bad_trace "an unknown operation" 'g["values"][0]["op"] = "launch_missiles"' "launch_missiles"
    bad_trace "a tensor of 4,000 axes" 'g["inputs"][0]["shape"] = [1] * 4000' "4000 entries, more than the limit of 8"
    bad_trace "a wrong shape" 'g["values"][1]["shape"] = ["vocab", 7]' \
        "but float32[vocab, 7] is declared"
    bad_trace "a wrong dtype" 'g["inputs"][0]["dtype"] = "float12"' "float12"
    bad_trace "an operand that does not exist" 'g["values"][0]["args"][0] = "%99"' "%99"
    bad_trace "a size that does not exist" 'g["outputs"][0]["shape"][0] = "depth"' "depth"
    bad_trace "no original size" 'del t["sizes"]["vocab"]' "vocab"
    bad_trace "a size that is no number" 't["sizes"]["vocab"] = "many"' "the trace has no size for axis 'vocab'"
    bad_trace "a huge size" 't["sizes"]["vocab"] = 10**18' "is out of range"
    bad_trace "a guard that cannot be computed" 'g["guards"] = ["1/0 == 7"]' "do not satisfy the graph's guards"
    bad_trace "a name that is a path" 'g["inputs"][0]["name"] = "../x"' "'../x' is not a name"
    bad_trace "too many operations" 'g["values"] *= 5000' "more than the limit of 16384"
    bad_trace "a distribution that Hone does not have" 't["init"]["tokens"]["dist"] = "evil"' 'unknown "evil"'
    bad_trace "no graph" 'del t["graph"]' "graph"

    # ---- sizes that nothing has, and folders that hold something else
    trace=(--trace "$CASES/swish_gate.trace.json" swish_gate.py)
    runs 2 "a size without an input" "$HONE" import torch --size T=4 "${trace[@]}"
    err_has "has no effect, so it is refused" "--size T=4: it sets a size of an --input, and there is none"
    runs 2 "a size that no input has" "$HONE" import torch --input 'x=float16[T,2*D]' --size ZZ=4 ops.py
    err_has "is refused with those that there are" "no --input has the size 'ZZ'; they have: T, D"
    runs 2 "a size that is no number" "$HONE" import torch --input 'x=float16[T]' --size T=many ops.py
    err_has "is refused" "--size T=many: write NAME=N with a whole number above 0"
    mkdir -p own/swish_gate
    echo mine >own/swish_gate/reference.c
    runs 1 "a folder with a file of one's own" "$HONE" import torch -o own "${trace[@]}"
    err_has "is not written over" "'own/swish_gate' holds a task that was not imported from swish_gate.py"
    is "and keeps the file" "$(cat own/swish_gate/*)" mine
    rm -r own/swish_gate
    runs 0 "an empty one is used" "$HONE" import torch -o own "${trace[@]}"
    runs 0 "the same import once more" "$HONE" import torch -o own "${trace[@]}"
    out_has "replaces its task, and says so" "it replaces the task of an earlier import"
    runs 1 "another file with the same name" "$HONE" import torch -o own --trace "$CASES/swish_gate.trace.json" b/swish_gate.py
    err_has "does not" "was not imported from b/swish_gate.py: remove it, or give another folder with --out"
    HONE_PYTHON=no-such-python runs 3 "no Python" "$HONE" import torch "$CASES/scans.py"
    err_has "is an error that names it" "no-such-python"
fi

# ---- with PyTorch
in_tier rest || done_testing
has_torch() { "$1" -c 'import torch, sys; sys.exit(torch.__version__ < "2.6")' 2>/dev/null; }
for python in "${HONE_PYTHON:-python3}" "$ROOT/.deps/torch/bin/python"; do has_torch "$python" && break; done
if ! has_torch "$python"; then
    "$ROOT/tools/setup" torch >"$T/setup" 2>&1
    has_torch "$python" || { skip "imports with PyTorch" "$(tail -1 "$T/setup")" && done_testing; }
fi
export HONE_PYTHON=$python

import_row() { # import_row NUMBER NAME ARGUMENTS...: the output to logs/N, the kernels' verdicts to logs/N.ok, .bad
    local n=$1 name=$2 file member=
    shift 2
    file=$CASES/${name%%:*}.py
    [[ $name != *:* ]] || member=:${name#*:}
    "$HONE" import torch --out tasks "$@" "$file$member" >"logs/$n" 2>&1 || echo "status $?" >>"logs/$n"
    for k in ok bad; do
        [ ! -e "$CASES/$name.$k.cu" ] || "$HONE" eval --device emu --skip-baselines --skip-time --seed 1 \
            "tasks/$name" "$CASES/$name.$k.cu" >"logs/$n.$k" 2>"logs/$n.$k.err"
    done
}
export -f import_row
rows | cat -n | while IFS='|' read -r name args tier kernel want; do echo "$name $args"; done | sed "s, *$,," |
    xargs -P 2 -L 1 bash -c 'import_row "$@"' import
n=0
while IFS='|' read -r name args tier kernel want; do
    n=$((n + 1)) log=logs/$n
    if ! imports_to "$want"; then
        if grep -qE -- "$want" "$log" && [ "$(tail -1 "$log")" = "status 1" ]; then
            pass "$name $args: refused with the reason"
        else
            fail "$name $args: refused with the reason" "want: $want, got: $(cat "$log")"
        fi
        continue
    fi
    is "$name: imports" "$(head -1 "$log")" "tasks/${name#*:}: $want free size$([ "$want" = 1 ] || echo s)"
    if [[ $(sed -n 2p "$log") =~ ^\ \ agrees\ with\ PyTorch\ in\ double:\ largest\ difference\ (0|[0-9.]+e-1[0-9])$ ]]; then
        pass "$name: agrees with PyTorch"
    else
        fail "$name: agrees with PyTorch" "$(cat "$log")"
    fi
    [ "$kernel" = kernel ] || continue
    is "$name: the right kernel passes" "$(head -1 "$log.ok")" pass
    case $(head -1 "$log.bad") in
    mismatch) pass "$name: the wrong kernel does not" ;;
    *) fail "$name: the wrong kernel does not" "$(cat "$log.bad")" ;;
    esac
done < <(rows)

# ---- `hone optimize FILE.py` imports again if a file that it imports has changed
mkdir project
echo 'FACTOR = 2.0' >project/numbers_of.py
printf 'import torch\nfrom numbers_of import FACTOR\n\ndef scaled(x):\n    return torch.relu(x) * FACTOR\n' >project/ops.py
optimize_ops() { env -C project "$HONE" optimize ops.py:scaled --input 'x=float32[R,C]' --device emu --author exec:false; }
runs 3 "a run on a file" optimize_ops
err_has "imports it" "agrees with PyTorch in double"
runs 3 "a second run" optimize_ops
err_has "uses the task again" "imported before; nothing has changed since"
echo 'FACTOR = 3.0' >project/numbers_of.py
runs 3 "after a change in a file beside it" optimize_ops
err_has "it is imported again" "agrees with PyTorch in double"
ok "with the new number" grep -q 'FACTOR = 3.0' project/hone-out/imported/*/scaled/task.json
done_testing
