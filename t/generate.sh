#!/usr/bin/env bash
# Kernels that the built-in author writes from a graph, for tasks that no template fits. The graphs are
# recorded traces, so this needs no PyTorch. `make test` evaluates two kernels. `make test-all` evaluates those for
# all traces, and for the built-in tasks that `hone playbook list` names for the playbook `generate`.
. "$(dirname "$0")/lib.sh"
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"
export HONE_PYTHON=no-such-python

judge() { # judge TASK: checks that the built-in author writes a right kernel from the graph of TASK
    runs 0 "${1##*/}: the built-in author writes a kernel" "$HONE" playbook kernel generate "$1"
    cp "$T/out" kernel.cu
    runs 0 "${1##*/}: the written kernel passes" "$HONE" eval --device emu --smoke --skip-baselines "$1" kernel.cu
}

# The kernel for cumsum adds its terms in chains of 1024.
in_tier quick && judge cumsum
if in_tier quick; then
    has_template() { grep -c "^namespace c0" "$T/out"; }
    runs 0 "the built-in author writes a product by a template" "$HONE" playbook kernel generate matmul_f32
    is "the product's template is in a namespace" "$(has_template)" 1
    runs 0 "with --plain it writes a product by itself" "$HONE" playbook kernel generate --plain matmul_f32
    is "the plain kernel has no template" "$(has_template)" 0
    runs 0 "a trace with recurrent layers is imported" "$HONE" import torch --out tasks \
        --trace "$ROOT/t/cases/generate/recurrent.trace.json" recurrent.py
    runs 0 "the built-in author writes a kernel for recurrent layers" "$HONE" playbook kernel generate tasks/recurrent
    is "the template writes both layers" "$(grep -c 'recurrent<true' "$T/out")" 2
    # The settings join, whole and repeat say where the graph is cut into launches (docs/playbooks.md#settings). The
    # trace is a convolution, silu, a norm over groups of channels, and a gate.
    runs 0 "a trace of a convolution and a norm is imported" "$HONE" import torch --out tasks \
        --trace "$ROOT/t/cases/generate/conv_norm.trace.json" conv_norm.py
    cut() { "$HONE" playbook kernel generate tasks/conv_norm "$@"; }
    cut >joined.cu
    cut join=0 >apart.cu
    cut whole=0 >in_steps.cu
    cut whole=0 repeat=8 >stored.cu
    silu() { grep -c 'return .*expf(-(v + float(e' "$1"; }
    is "the convolution's launch also computes silu" "$(silu joined.cu)" 1
    is "join=0 takes silu out of it" "$(silu apart.cu)" 0
    is "a template computes the norm and the gate" "$(grep -c '"kernel": "c2::rows' joined.cu)" 2
    is "with whole=0 generated launches do" "$(grep -c '"kernel": "c2::rows' in_steps.cu)" 0
    launches() { grep -c '"kernel": ' "$1"; }
    ok "repeat=8 stores another value" test "$(launches stored.cu)" -gt "$(launches in_steps.cu)"
    runs 1 "a setting of launches that templates replace is refused" "$HONE" playbook kernel generate tasks/conv_norm lanes=8
    runs 0 "the setting counts if a cut brings such launches back" "$HONE" playbook kernel generate tasks/conv_norm whole=0 lanes=8
    runs 1 "a cut that changes nothing is refused" "$HONE" playbook kernel generate cumsum join=0
    err_has "the message names the conditions" "does not allow these settings together for this task"
fi
if in_tier quick; then
    # The plan chooses a launch by the length of a row: 64 and 128 are multiples of 8, 14 and 98 are not.
    runs 0 "a trace with a rotary embedding is imported" "$HONE" import torch --out tasks \
        --trace "$ROOT/t/cases/generate/ops_rotary.trace.json" ops_rotary.py
    runs 0 "the built-in author writes a rotary embedding" "$HONE" playbook kernel generate tasks/ops_rotary
    cp "$T/out" rotary.cu
    is "the rotary embedding reads each half of a row in vectors" "$(grep -c 'hone_read<8>(&IN_AT(x,' rotary.cu)" 3
    is "the launch with vectors needs aligned rows, and another launch serves all others" \
        "$(grep -c '"k0_output\(_vector\)\?",.*D%8 == 0 && .*alignof(x) >= 16' rotary.cu)" 2
    runs 0 "the rotary embedding passes at all lengths of rows" \
        "$HONE" eval --device emu --skip-baselines tasks/ops_rotary rotary.cu
fi
in_tier rest || done_testing

# A run imports a trace. (t/playbooks.sh judges a norm over groups of channels, which takes much longer to compile.)
runs 0 "a run on a task from a trace succeeds" "$HONE" optimize bf16_rows.py \
    --trace "$ROOT/t/cases/generate/bf16_rows.trace.json" --device emu --steps 1 --skip-baselines \
    --out o --store s.db
out_has "its kernels pass" "2 pass, 0 fail"
# A second run uses the imported task again, and shows the notes of its import.
python3 - imported/*/import.json <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["few_runs"] == 0, report
report["notes"] = ["random rounding was tried in 2 runs"]
json.dump(report, open(sys.argv[1], "w"))
PY
runs 0 "a second run on the same file succeeds" "$HONE" optimize bf16_rows.py \
    --trace "$ROOT/t/cases/generate/bf16_rows.trace.json" --device emu --steps 1 --skip-baselines --smoke \
    --out o --store s.db
err_has "the second run does not import the file again" "imported before; nothing has changed since"
err_has "the second run shows the notes of the import" "note: random rounding was tried in 2 runs"
# If a template fits a task, the built-in author takes the template first.
runs 0 "a run on softmax, which has a template, succeeds" \
    "$HONE" optimize softmax --device emu --steps 1 --skip-baselines --out o \
    --store s.db
runs 0 "hone show prints the first kernel of softmax" "$HONE" show --store s.db last 0
is "the first kernel of softmax comes from the template" "$(grep -c 'from the task.s graph' "$T/out")" 0

for trace in "$ROOT"/t/cases/generate/*.trace.json; do
    name=$(basename "$trace" .trace.json)
    runs 0 "$name: the trace is imported" "$HONE" import torch --out tasks --trace "$trace" "$name.py"
    judge "tasks/$name"
done

# Kernels with other cuts are right. With repeat=8, norm_chain stores distances from a mean, and adds up their squares.
judge_cut() { # judge_cut NAME SETTING
    runs 0 "$1: a kernel with $2" "$HONE" playbook kernel generate "tasks/$1" "$2"
    cp "$T/out" kernel.cu
    runs 0 "$1: it passes with $2" "$HONE" eval --device emu --smoke --skip-baselines "tasks/$1" kernel.cu
}
judge_cut norm_chain repeat=8
judge_cut conv_norm join=0
judge_cut conv_norm whole=0
# special OP: checks OP in rows with infinities and NaN. The kernel computes the maximum of a row and the sum of its
# exponentials in one loop.
special() {
    python3 - "$1" >"special_$1.trace.json" <<'PY'
import json, sys
op = sys.argv[1]
shape = ["N"] if op == "logsumexp" else ["N", 128]
y = {"dtype": "float32", "shape": shape}
graph = {"version": 1, "axes": ["N"], "scalars": [], "guards": [],
         "inputs": [{"name": "x", "dtype": "float32", "shape": ["N", 128]}],
         "values": [{"id": "%1", "op": op, "args": ["x"], "attrs": {"dim": [1]}, **y}],
         "outputs": [{"name": "y", "value": "%1", **y}]}
json.dump({"graph": graph, "sizes": {"N": 40}, "init": {"x": {"dist": "normal", "mean": 0, "std": 3}}, "torch": "",
           "notes": [], "origin": {"class": op, "arguments": ["x"], "state": {}, "updates": {}}}, sys.stdout)
PY
    runs 0 "$1: the trace is imported" "$HONE" import torch --out tasks --trace "special_$1.trace.json" "special_$1.py"
    runs 0 "$1: the built-in author writes a kernel" "$HONE" playbook kernel generate "tasks/special_$1"
    cp "$T/out" special.cu
    is "$1: one loop computes the maximum and the sum" "$(grep -c 'hone_exps<float, 4> ' special.cu)" 1
    while IFS='|' read -r what mean list; do
        python3 - "tasks/special_$1/task.json" "$mean" "$list" <<'PY'
import json, sys
task = json.load(open(sys.argv[1]))
task["init"]["x"] = {"dist": "normal", "mean": int(sys.argv[2]), "std": 30,
                     "special": [{"value": v, "every": n} for v, n in json.loads(sys.argv[3])]}
json.dump(task, open(sys.argv[1], "w"))
PY
        runs 0 "$1: it passes for $what" "$HONE" eval --device emu --smoke --skip-baselines "tasks/special_$1" special.cu
    done <<'LIST'
rows whose exponentials are all 0|-300|[["-inf", 3]]
rows whose exponentials are infinite|300|[["-inf", 3]]
rows of -inf|0|[["-inf", 1]]
rows with inf|0|[["inf", 300]]
rows with NaN|0|[["nan", 300]]
rows with -inf and inf|800|[["-inf", 2], ["inf", 500]]
LIST
}
special softmax
special logsumexp

# layer OP [RELU]: writes the trace of one recurrent layer, with initial states as inputs
layer() {
    python3 - "$ROOT" "$@" >"layer_$1.trace.json" <<'PY'
import json, sys
root, op, relu = *sys.argv[1:3], sys.argv[3:] == ["relu"]
n = {"lstm": 4, "gru": 3, "rnn": 1}[op]
trace = json.load(open(root + "/t/cases/generate/recurrent.trace.json"))
gates, state = f"({n}*H)" if n > 1 else "H", "(2*H)" if op == "lstm" else "H"
inputs = {"gates": ["T", "B", gates], "weight": [gates, "H"]}
if op == "gru":
    inputs["bias"] = [gates]
inputs["hidden"] = ["B", "H"]
if op == "lstm":
    inputs["cell"] = ["B", "H"]
y = {"dtype": "float32", "shape": ["T", "B", state]}
layer = {"id": "%1", "op": op, "args": list(inputs), **y}
if op == "rnn":
    layer["attrs"] = {"relu": relu}
trace["graph"] = {
    "version": 1, "axes": ["B", "T", "H"], "scalars": [], "guards": [], "values": [layer],
    "inputs": [{"name": name, "dtype": "float32", "shape": shape} for name, shape in inputs.items()],
    "outputs": [{"name": "y", "value": "%1", **y}]}
trace["sizes"] = {"B": 5, "T": 9, "H": 150}
trace["init"] = {"weight": {"dist": "uniform", "min": -0.1, "max": 0.1}}
json.dump(trace, sys.stdout)
PY
    runs 0 "layer_$1: the trace is imported" "$HONE" import torch --out tasks --trace "layer_$1.trace.json" "layer_$1.py"
}
# judge_layer OP SETTING...: checks the kernel of the playbook `recurrent`, and a copy that behaves as if shared memory
# were too small for the weights
judge_layer() {
    runs 0 "layer_$1: the template writes a kernel, ${*:2}" "$HONE" playbook kernel recurrent "tasks/layer_$1" "${@:2}"
    cp "$T/out" held.cu
    sed 's/<= 232448"/<= 0"/; s/> 232448 && \(.*\) <= 0"/> 0 \&\& \1 <= 232448"/' held.cu >read.cu
    runs 0 "layer_$1: it passes" "$HONE" eval --device emu --smoke --skip-baselines "tasks/layer_$1" held.cu
    runs 0 "layer_$1: it passes if it reads the weights in each step" \
        "$HONE" eval --device emu --smoke --skip-baselines "tasks/layer_$1" read.cu
}
layer lstm
layer gru
layer rnn
judge_layer lstm cluster=1 rows=1 units=4 threads=256
judge_layer lstm cluster=8 rows=4 units=2 threads=512
judge_layer gru cluster=4 rows=2 units=4 threads=128
judge_layer rnn cluster=2 rows=8 units=1 threads=128
layer rnn relu
judge_layer rnn cluster=8 rows=1 units=8 threads=256
for task in $("$HONE" playbook list --json |
    python3 -c 'import json, sys; print(*[t for b in json.load(sys.stdin) if b["name"] == "generate" for t in b["tasks"]])'); do
    judge "$task"
done
done_testing
