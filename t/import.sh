#!/usr/bin/env bash
# `hone import torch` on the PyTorch files of cases/import. `make test` needs no PyTorch: it imports recorded
# traces, and damaged traces, which Hone must refuse. `make test-all` traces every file with PyTorch on the
# CPU, compares each task with PyTorch, and judges a right and a wrong kernel for some of the tasks.
# IMPORTS="scans row_stats" t/import.sh runs only these rows of cases/import/expect.tsv.
. "$(dirname "$0")/lib.sh"
share_cache
export CASES=$ROOT/t/cases/import HONE
mkdir tasks logs
kept=" ${IMPORTS-} "

# rows: prints the rows of expect.tsv that IMPORTS selects. A '|' separates the fields, because `read` skips
# empty fields between tabs.
rows() {
    grep -v '^#' "$CASES/expect.tsv" | tr '\t' '|' | while IFS='|' read -r name rest; do
        [ "$kept" = "  " ] || [[ $kept == *" $name "* ]] || continue
        echo "$name|$rest"
    done
}
# imports_to WANTED: true if the row's last field is a number, the count of the task's free sizes. If not, the
# field is a pattern that matches the message of the refused import.
imports_to() { [[ $1 =~ ^[0-9]+$ ]]; }

# ---- recorded traces, without PyTorch
replay() { # replay NAME: writes the output to logs/NAME, and the task to replayed/NAME
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
    is "$name: a recorded trace becomes a task" "$(head -3 "logs/$name")" \
        "hone: importing $name.py ...
replayed/$name: $sizes free size$([ "$sizes" = 1 ] || echo s)
  not compared with PyTorch: the trace is a recorded one"
    is "$name: Hone tried random rounding errors" \
        "$(grep -cE '^  with random rounding, the largest error is [01]\.[0-9][0-9] of the tolerance$' "logs/$name")" 1
    is "$name: the folder has the task's files" "$(ls "replayed/$name" 2>&1 | tr '\n' ' ')" "reference.c task.json "
    runs 0 "$name: the task has a graph" "$HONE" task show --graph "replayed/$name"
done <<<"$recorded"

# ---- traces that are wrong
# bad_trace DESCRIPTION PYTHON MESSAGE: checks that Hone refuses, with MESSAGE, a trace t that PYTHON changed
bad_trace() {
    python3 - "$CASES/embed_pick.trace.json" "$2" >bad.json <<'PY'
import json, sys
t = json.load(open(sys.argv[1]))
g = t["graph"]
exec(sys.argv[2])
json.dump(t, sys.stdout)
PY
    runs 1 "a trace with $1 is refused" "$HONE" import torch --out bad --trace bad.json embed_pick.py
    err_has "the message about a trace with $1 gives the reason" "$3"
    is "a trace with $1 leaves no task" "$(ls bad 2>/dev/null)" ""
}
if in_tier quick; then
    runs 2 "an import without a file is a usage error" "$HONE" import torch
    runs 3 "a trace file that does not exist is an error" "$HONE" import torch --trace none.json model.py
    err_has "the message names the missing trace file" "none.json"
    echo '{"graph": ' >broken.json
    runs 1 "a trace that is not JSON is refused" "$HONE" import torch --trace broken.json model.py
    err_has "the message about broken JSON names the trace file" "broken.json:"
    echo '[1, 2]' >list.json
    runs 1 "a trace that is a list is refused" "$HONE" import torch --trace list.json model.py
    err_has "the message about a list says that an object was expected" "expected an object"
    echo '{"refused": {"why": "forward draws random numbers", "line": 7}}' >refused.json
    runs 1 "a trace that records why PyTorch could not trace the file is refused" "$HONE" import torch --trace refused.json model.py
    err_has "the message gives the recorded line and reason" "model.py:7: forward draws random numbers"
    bad_trace "an unknown operation" 'g["values"][0]["op"] = "launch_missiles"' "launch_missiles"
    bad_trace "a tensor of 4,000 axes" 'g["inputs"][0]["shape"] = [1] * 4000' "4000 entries, more than the limit of 8"
    bad_trace "a wrong shape" 'g["values"][1]["shape"] = ["vocab", 7]' \
        "but float32[vocab, 7] is declared"
    bad_trace "a wrong dtype" 'g["inputs"][0]["dtype"] = "float12"' "float12"
    bad_trace "an operand that does not exist" 'g["values"][0]["args"][0] = "%99"' "%99"
    bad_trace "a size that does not exist" 'g["outputs"][0]["shape"][0] = "depth"' "depth"
    bad_trace "no value for a size of the graph" 'del t["sizes"]["vocab"]' "vocab"
    bad_trace "a size that is not a number" 't["sizes"]["vocab"] = "many"' "the trace has no size for axis 'vocab'"
    bad_trace "a huge size" 't["sizes"]["vocab"] = 10**18' "is out of range"
    bad_trace "a guard that cannot be computed" 'g["guards"] = ["1/0 == 7"]' "do not satisfy the graph's guards"
    bad_trace "a name that is a path" 'g["inputs"][0]["name"] = "../x"' "'../x' is not a name"
    bad_trace "too many operations" 'g["values"] *= 5000' "more than the limit of 16384"
    bad_trace "a distribution that Hone does not have" 't["init"]["tokens"]["dist"] = "evil"' 'unknown "evil"'
    bad_trace "no graph" 'del t["graph"]' "graph"

    # ---- --size for a size that no input has; --out with a folder whose files Hone did not write
    trace=(--trace "$CASES/swish_gate.trace.json" swish_gate.py)
    runs 2 "--size without --input is a usage error" "$HONE" import torch --size T=4 "${trace[@]}"
    err_has "the message says that --size needs an --input" "--size T=4: --size works only with --input"
    runs 2 "--size for a size that no --input has is a usage error" "$HONE" import torch --input 'x=float16[T,2*D]' --size ZZ=4 ops.py
    err_has "the message lists the sizes of the inputs" "no --input has the size 'ZZ'; they have: T, D"
    runs 2 "--size with a value that is not a number is a usage error" "$HONE" import torch --input 'x=float16[T]' --size T=many ops.py
    err_has "the message shows the form of --size" "--size T=many: write NAME=N with a whole number above 0"
    mkdir -p own/swish_gate
    echo mine >own/swish_gate/reference.c
    runs 1 "an import does not overwrite a folder that holds a user's own file" "$HONE" import torch -o own "${trace[@]}"
    err_has "the message says that the folder's task was not imported from this file" \
        "'own/swish_gate' holds a task that was not imported from swish_gate.py"
    is "the user's own file is unchanged" "$(cat own/swish_gate/*)" mine
    rm -r own/swish_gate
    runs 0 "an import writes into a folder without that task" "$HONE" import torch -o own "${trace[@]}"
    runs 0 "an import of the same file again succeeds" "$HONE" import torch -o own "${trace[@]}"
    out_has "the second import says that it replaces the first task" "it replaces the task of an earlier import"
    runs 1 "an import of another file with the same name is refused" \
        "$HONE" import torch -o own --trace "$CASES/swish_gate.trace.json" b/swish_gate.py
    err_has "the message says how to import the other file" \
        "was not imported from b/swish_gate.py: remove it, or give another folder with --out"
    HONE_PYTHON=no-such-python runs 3 "an import with a Python that does not exist is an error" "$HONE" import torch "$CASES/scans.py"
    err_has "the message names the Python that does not exist" "no-such-python"
fi

# ---- with PyTorch
in_tier rest || done_testing
find_torch || { skip "the files are imported with PyTorch" "$(tail -1 "$T/setup")" && done_testing; }

# import_row N NAME ARGUMENTS...: writes the output to logs/N, and the verdicts of the kernels NAME.ok.cu and
# NAME.bad.cu to logs/N.ok and logs/N.bad
import_row() {
    local n=$1 name=$2 file member=
    shift 2
    file=$CASES/${name%%:*}.py
    [[ $name != *:* ]] || member=:${name#*:}
    "$HONE" import torch --out tasks "$@" "$file$member" >"logs/$n" 2>&1 || echo "status $?" >>"logs/$n"
    sed -i '/^hone: importing /d' "logs/$n" # says only that the import began
    for k in ok bad; do
        [ ! -e "$CASES/$name.$k.cu" ] || "$HONE" eval --device emu --skip-baselines --skip-time --seed 1 \
            "tasks/$name" "$CASES/$name.$k.cu" >"logs/$n.$k" 2>"logs/$n.$k.err"
    done
}
export -f import_row
# The rows run in processes that one Python forks, so that PyTorch is loaded only once. The runs of `hone optimize`
# below start the user's Python, as Hone does for its users.
(export OMP_NUM_THREADS=2 TORCHDYNAMO_DISABLE=1 # as Hone sets them
    exec "$HONE_PYTHON" "$ROOT/t/fake/loaded_python" --serve "$T/loaded") >"$T/loaded.log" 2>&1 &
server=$!
while [ ! -e "$T/loaded" ] && kill -0 $server 2>/dev/null; do sleep 0.1; done
ok "one Python loads PyTorch for all rows" kill -0 $server
export LOADED_PYTHON=$T/loaded
real=$HONE_PYTHON HONE_PYTHON=$ROOT/t/fake/loaded_python
rows | cat -n | while IFS='|' read -r name args tier kernel want; do echo "$name $args"; done | sed "s, *$,," |
    xargs -P 2 -L 1 bash -c 'import_row "$@"' import
kill $server
HONE_PYTHON=$real
n=0
while IFS='|' read -r name args tier kernel want; do
    n=$((n + 1)) log=logs/$n
    if ! imports_to "$want"; then
        if grep -qE -- "$want" "$log" && [ "$(tail -1 "$log")" = "status 1" ]; then
            pass "$name $args: the import is refused with the reason"
        else
            fail "$name $args: the import is refused with the reason" "want: $want, got: $(cat "$log")"
        fi
        continue
    fi
    is "$name: the import writes the task" "$(head -1 "$log")" "tasks/${name#*:}: $want free size$([ "$want" = 1 ] || echo s)"
    if [[ $(sed -n 2p "$log") =~ ^\ \ agrees\ with\ PyTorch\ in\ double:\ largest\ difference\ (0|[0-9.]+e-1[0-9])$ ]]; then
        pass "$name: the task agrees with PyTorch"
    else
        fail "$name: the task agrees with PyTorch" "$(cat "$log")"
    fi
    [ "$kernel" = kernel ] || continue
    is "$name: the right kernel passes" "$(head -1 "$log.ok")" pass
    case $(head -1 "$log.bad") in
    mismatch) pass "$name: the wrong kernel gets a mismatch" ;;
    *) fail "$name: the wrong kernel gets a mismatch" "$(cat "$log.bad")" ;;
    esac
done < <(rows)

# ---- `hone optimize ops.py` imports the task again if a file that ops.py imports has changed
mkdir project
echo 'FACTOR = 2.0' >project/numbers_of.py
printf 'import torch\nfrom numbers_of import FACTOR\n\ndef scaled(x):\n    return torch.relu(x) * FACTOR\n' >project/ops.py
optimize_ops() { env -C project "$HONE" optimize ops.py:scaled --input 'x=float32[R,C]' --device emu --author exec:false; }
runs 3 "hone optimize on a file stops when its author fails" optimize_ops
err_has "hone optimize imports the file" "agrees with PyTorch in double"
runs 3 "a second run stops too" optimize_ops
err_has "the second run uses the imported task" "imported before; nothing has changed since"
echo 'FACTOR = 3.0' >project/numbers_of.py
runs 3 "a run after a change in numbers_of.py stops too" optimize_ops
err_has "the changed file makes Hone import again" "agrees with PyTorch in double"
ok "the new task records the new number" grep -q 'FACTOR = 3.0' project/hone-out/imported/*/scaled/task.json

# ---- values in --input
cd project
runs 0 "an --input may have a standard deviation" "$HONE" import torch ops.py:scaled --input 'x=float32[R,C]*0.02' --out .
ok "the task draws such values" grep -q '"std": 0.0[12]' scaled/task.json
runs 1 "an --input of integers has none" "$HONE" import torch ops.py:scaled --input 'x=int32[R,C]*2' --out .
err_has "the message says so" "only floats can have a standard deviation (*2)"
cd ..
done_testing
