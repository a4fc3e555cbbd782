#!/usr/bin/env bash
# `hone task`: the built-in tasks are good, broken tasks are refused with the problem and its place, and
# FlashInfer-Bench definitions load.
. "$(dirname "$0")/lib.sh"

runs 0 "hone task list exits with 0" "$HONE" task list
out_has "hone task list lists softmax" "softmax"
runs 0 "hone task list --json exits with 0" "$HONE" task list --json
is "there are at least 24 built-in tasks" "$(($(grep -c '"name"' "$T/out") >= 24))" 1
runs 0 "hone task show exits with 0" "$HONE" task show segment_mean
out_has "hone task show shows the generators of tensors" "csr(E)"
out_has "hone task show gives the reason for the tolerance" "half an ulp"
runs 0 "hone task show --json exits with 0" "$HONE" task show --json softmax
out_has "hone task show --json has shapes" '"shape"'
# The graph of a task comes from its PyTorch expression.
runs 0 "hone task show --graph exits with 0" "$HONE" task show --graph layernorm
is "the graph has a line for each input, scalar, value and output" "$(sed '$d' "$T/out")" "x: float32[R, C]
w: float32[C]
b: float32[C]
eps: float32
y: float32[R, C] = layer_norm(x, w, b, eps)"
out_has "the last line of the graph gives class, flops and bytes" "class norm, flops 8*C*R, bytes 8*C*R+8*C"
cp -r "$ROOT/tasks/rmsnorm" viewed && sed -i \
    's/"torch": ".*"/"torch": "(x.float() * torch.rsqrt(x.float().square().mean(-1).unsqueeze(-1) + eps) * w).to(x.dtype)"/' viewed/task.json
runs 0 "hone task show --graph accepts a mean whose axis a view restores" "$HONE" task show --graph ./viewed
out_has "a mean that a view makes broadcast is a norm too" "class norm, "
runs 0 "hone task show --graph accepts a task with views" "$HONE" task show --graph silu_and_mul
out_has "the graph with views has sizes in terms of the axes" "%3 = slice(x, dim=-1, start=D, length=D): float16[B, D]"
runs 0 "hone task show --graph accepts a triangle of a product" "$HONE" task show --graph "$ROOT/t/cases/playbooks/upper_product"
out_has "the graph counts only the flops of the triangle" "flops K*min(M,N)*min(M,N)+"
runs 0 "hone task show --graph --json exits with 0" "$HONE" task show --graph --json layernorm
out_has "the graph as JSON names the operation" '"op": "layer_norm"'
runs 0 "hone task show --reference exits with 0" "$HONE" task show --reference softmax
cp "$T/out" written.c
runs 0 "hone task show --reference --json exits with 0" "$HONE" task show --reference --json softmax
mkdir written && python3 - "$ROOT/tasks/softmax/task.json" "$T/out" written <<'PY'
import json, sys
task, made = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
task["oracle"] = made["oracle"]
json.dump(task, open(sys.argv[3] + "/task.json", "w"))
open(sys.argv[3] + "/reference.c", "w").write(made["source"])
PY
ok "both forms of --reference give the same text" cmp written.c written/reference.c
in_tier rest && runs 0 "a task with the written reference is good" "$HONE" task check ./written
printf '#!/bin/sh\nkill -9 $$\n' >killed && chmod +x killed
runs 1 "hone task check fails if something kills the compiler" env CC="$PWD/killed" "$HONE" task check ./written
err_has "the message says how the compiler ended" "reference.c could not be checked as C17: $PWD/killed: killed by signal 9"
runs 3 "hone task check blames the machine if there is no compiler" \
    env CC=/none/cc CXX=/none/c++ "$HONE" task check ./written
out_has "it says that the task could not be checked" "softmax: could not be checked on this machine"
err_has "the message names the variables that give a compiler" "set CC and CXX"
mkdir full
if unshare -rm mount -t tmpfs -o size=4k tmpfs full 2>/dev/null; then
    runs 3 "hone task check blames the machine if the folder of temporary files is full" unshare -rm sh -c \
        'mount -t tmpfs -o size=64k tmpfs full && { cat /dev/zero >full/zeros; TMPDIR=$PWD/full "$@"; }' sh \
        "$HONE" task check ./written
    err_has "the message says that the disk is full" "No space left on device"
else
    skip "hone task check blames the machine if the folder of temporary files is full" "no mounts here"
fi
# A PyTorch module of a deep network names a thousand tensors.
mkdir long && cp written/reference.c long && for n in 3000 60000; do
    python3 - $n <<'PY'
import json, sys
task = json.load(open("written/task.json"))
task["torch"] = "import torch\n" + "# a line of a comment\n" * int(sys.argv[1]) + \
    "def run(x):\n    return torch.softmax(x, dim=-1)\n"
json.dump(task, open("long/task.json", "w"))
PY
    [ $n = 60000 ] || runs 0 "a PyTorch module of 66 kB is accepted" "$HONE" task show ./long
done
runs 1 "a PyTorch module of 1.3 MB is refused" "$HONE" task show ./long
err_has "the message gives the limit of the module" "more than the limit of 1048576"
runs 0 "hone task show --reference --sigma exits with 0" "$HONE" task show --reference --sigma --json softmax
mkdir sigmas && python3 - "$ROOT/tasks/softmax/task.json" "$T/out" sigmas <<'PY'
import json, sys
task, made = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
task["oracle"] = made["oracle"]
task["tolerance"] = {"y": {"sigmas": 8, "why": "derived from the graph"}}
json.dump(task, open(sys.argv[3] + "/task.json", "w"))
open(sys.argv[3] + "/reference.c", "w").write(made["source"])
PY
in_tier rest && runs 0 "a task with the written tolerance in sigmas is good" "$HONE" task check ./sigmas
runs 0 "hone task show accepts a task with a tolerance in sigmas" "$HONE" task show ./sigmas
out_has "hone task show gives the tolerance in sigmas" "y may be off by 8 sigma + half an ulp"
mkdir draft && python3 - "$ROOT/tasks/softmax/task.json" <<'PY'
import json, sys
task = json.load(open(sys.argv[1]))
for key in "oracle", "init", "tolerance", "workloads", "flops", "bytes":
    del task[key]
json.dump(task, open("draft/task.json", "w"))
PY
runs 0 "hone task show --reference accepts a task.json without an oracle" "$HONE" task show --reference draft
cp "$T/out" draft.c
ok "the reference of a draft is that of the whole task" cmp draft.c written.c
runs 0 "hone task show --graph accepts a task.json without an oracle" "$HONE" task show --graph draft
runs 1 "hone task check refuses a task.json without an oracle" "$HONE" task check draft
err_has "the message names the command that writes an oracle" \
    'missing "oracle"; Hone writes it from "torch" or "graph", with reference.c: hone task show --reference --json draft/task.json'
runs 2 "--sigma without --reference is a usage error" "$HONE" task show --sigma softmax
runs 2 "--graph together with --reference is a usage error" "$HONE" task show --graph --reference softmax
runs 1 "hone task show --graph fails for a task without an expression" \
    "$HONE" task show --graph "$ROOT/t/cases/flashinfer/rmsnorm_h2048.json"
err_has "the message says that the task has no PyTorch expression" "nor the key \"torch\" (a PyTorch expression)"
mkdir graphs && cp -r "$ROOT/tasks/sigmoid" graphs/ && chmod -R u+w graphs
sed -i 's/torch.sigmoid(x)/torch.sigmoidd(x)/' graphs/sigmoid/task.json
runs 1 "hone task show --graph fails for an unknown function" "$HONE" task show --graph graphs/sigmoid
err_has "the message names the unknown function" "sigmoidd"
is "docs/graph.md lists the operations of ops.def" \
    "$(grep -E '^\| [a-z0-9_]+ \| [a-z]+ \| .* \| .* \| [0-9]+ \| [a-z_]+ \|$' "$ROOT/docs/graph.md")" \
    "$("$ROOT/tools/ops-table" | tail -n +3)"

runs 2 "an unknown task is a usage error" "$HONE" task show sofmax
err_has "the message suggests a task" "did you mean 'softmax'"
runs 2 "a misspelt folder of a task is a usage error" "$HONE" task show writen
err_has "the message suggests a task in this directory" "did you mean 'written'"
runs 1 "a path that does not exist is an error" "$HONE" task show ./nothere
runs 2 "hone task without a subcommand is a usage error" "$HONE" task
runs 2 "an unknown subcommand is a usage error" "$HONE" task chek
runs 2 "hone task check without a task is a usage error" "$HONE" task check
runs 2 "hone task check --all with a task is a usage error" "$HONE" task check --all softmax

# Only `make test-all` judges every naive kernel and checks every oracle, because that takes a minute or two. Without
# PyTorch, `hone task check` says once that it compared nothing with PyTorch. The fake PyTorch below tests Hone's side
# of the comparison.
export HONE_PYTHON=no-such-python
# segment_mean takes longer than the others.
runs 1 "hone task check of good and missing tasks side by side fails" \
    "$HONE" task check -j 3 segment_mean ./nothere transpose
is "it prints the results in the order of the command line" \
    "$(sed -E 's/(: | of ).*//' "$T/out" | grep -v '^[ "]' | xargs)" "segment_mean ./nothere transpose 2"
if in_tier rest; then
    runs 0 "all built-in tasks and their baselines are good" "$HONE" task check --all
    err_empty "hone task check --all prints nothing on stderr"
    out_has "hone task check --all counts the good tasks" "24 of 24 tasks are good"
fi
runs 0 "two built-in tasks are good without a worker" \
    env HONE_WORKER=/nonexistent "$HONE" task check fused_add_rmsnorm segment_mean
is "hone task check without a worker prints only notes about naive kernels" \
    "$(grep -vc "the baseline 'naive' was not judged" "$T/err")" 0
out_has "hone task check counts the good tasks" "tasks are good"
is "one line says that PyTorch was not run" "$(grep -c '"torch" was read but not run' "$T/out")" 1

runs 0 "hone task new writes a task" "$HONE" task new my_op
runs 0 "the new task is good" "$HONE" task check my_op
err_empty "hone task check prints nothing on stderr for the new task"
runs 1 "hone task new does not overwrite a task" "$HONE" task new my_op
err_has "the message says that the task exists" "exists; not overwritten"
runs 2 "hone task new with a path for a name is a usage error" "$HONE" task new ../evil

# Each broken task of t/cases/badtasks/broken.tsv is refused with its own reason and place.
mkdir "$T/badtasks"
ok "the broken tasks are written" "$ROOT/t/cases/badtasks/expand" "$T/badtasks"
n=0 wrong=0
for d in "$T"/badtasks/*; do
    n=$((n + 1))
    case ${d##*/} in # tasks that need a compiler take long, so `make test` checks only a few of them
    oracle-scratch-small | oracle-in-next | torch-syntax | torch-constant) ;;
    oracle-[ailmnost]* | torch-* | tolerance-[az]*) in_tier rest || continue ;;
    esac
    timeout 60 "$HONE" task check "$d" >"$T/out" 2>"$T/err" </dev/null
    rc=$?
    want=$(cat "$d/want")
    if [ $rc != 1 ] || ! sed "s|$d/||g" "$T/err" | grep -qF -- "$want"; then
        wrong=$((wrong + 1))
        printf '# %s: status %d, want: %s\n# got: %s\n' "${d##*/}" $rc "$want" "$(head -c 600 "$T/err")"
    fi
done
is "each of $n broken tasks is refused with its reason and place" "$wrong" 0
is "each row of broken.tsv gives one broken task" "$n" "$(grep -vc '^#' "$ROOT/t/cases/badtasks/broken.tsv")"
is "there are at least 150 broken tasks" "$((n >= 150))" 1
is "no two broken tasks have the same reason" "$(cat "$T"/badtasks/*/want | cut -d' ' -f2- | sort | uniq -d)" ""

# An oracle that never ends; a function that PyTorch knows and Hone does not; disagreement with PyTorch.
bad() { # bad NAME SED FILE: makes the task NAME, a copy of the good task in which SED changed FILE
    rm -rf "$1" && cp -r "$ROOT/t/cases/badtasks/base" "$1" && chmod -R u+w "$1" && sed -i "$2" "$1/$3"
}
if in_tier rest; then
    bad hang 's/double ax/for (volatile int64_t k = 0; unit == 3 \&\& k < 1; k += 0);\n    double ax/' reference.c
    runs 1 "a task whose oracle does not end is refused" "$HONE" task check hang
    err_has "the message names the unit that does not end" "in unit 3 of PHASE(reference)"
fi
# A repeated phase: each unit reads what its neighbour has stored in the step before.
bad steps 's/"phases": \[/&{"fn": "walk", "units": "R*C", "repeat": 2}, /; s/"scratch": "R"/"scratch": "2*R*C"/' task.json
cat >steps/reference.c <<'C'
#include "hone_ref.h"
PHASE(walk)
{
    int64_t n = AX(R) * AX(C);
    SCRATCH(STEP * n + unit) = STEP ? SCRATCH((unit + 1) % n) : IN(x, unit);
}
PHASE(reference)
{
    int64_t n = AX(R) * AX(C);
    double ax = SC(alpha) * SCRATCH(n + (unit + n - 1) % n), b = IN(b, unit % AX(C));
    OUT_MAG(y, unit, ax + b, fabs(ax) + fabs(b));
}
C
runs 0 "a task with a repeated phase is good" "$HONE" task check steps
sed -i 's/SCRATCH(STEP \* n + unit)/SCRATCH(unit)/' steps/reference.c
runs 1 "a repeated phase whose units use the same slot in one step is refused" "$HONE" task check steps
err_has "the message names the unit and the slot" \
    "unit 1 of PHASE(walk) writes SCRATCH(1), which another unit of the same phase reads"
bad bare 's/^  "baselines.*/  "baselines": ["naive"],/; /^  "torch"/d' task.json
runs 0 "a task without \"torch\" and naive.cu is good" "$HONE" task check bare
err_has "a note says that naive.cu is missing" '"baselines" names "naive", but there is no naive.cu beside task.json'
err_has "a note says which key the built-in author needs" 'add "torch": "EXPRESSION" to task.json'
runs 1 "the built-in author has no kernel for a task without \"torch\"" "$HONE" optimize ./bare
err_has "the message names the key to add" 'Add "torch": "EXPRESSION" to task.json'
bad few 's/"bytes": "[^"]*"/"bytes": "4*R*C"/' task.json
runs 0 "a task that declares half of its bytes is good" "$HONE" task check few
err_has "a note says that the graph has twice the bytes" \
    'note: few/task.json:26:12: at R=4096 C=4096 "bytes" is 67108864, but the graph has 134234112 (8*C*R+4*C)'
bad zero 's/"budget": [0-9]*/"budget": 0/' task.json
runs 0 "a task with an error budget of 0 is good" "$HONE" task check zero
err_has "a note says that an error budget of 0 is none" "'y' has no error budget"
bad large 's/"bytes": "[^"]*"/"bytes": "400*R*C"/' task.json
runs 1 "a task that declares too many bytes is refused" "$HONE" task check large
is "bytes that are too many at every workload are reported once" "$(grep -c '"bytes" is' "$T/err")" 1
bad unknown 's/alpha \* x + b/torch.nonesuch(x, b)/' task.json
runs 0 "a task with a function of PyTorch that Hone does not know is good" "$HONE" task check unknown
err_has "a note says that the expression has no graph" \
    "task.json:26:12: \"torch\" has no graph, so playbooks cannot use it: "
err_has "a note names the function that Hone does not know" "the function 'nonesuch' is not known"
export HONE_PYTHON=python3 PYTHONPATH=$ROOT/t/fake/pytorch
bad right 's/float32", "value": 1.5/float32", "value": 0.1/' task.json
runs 0 "a task whose oracle agrees with PyTorch is good" "$HONE" task check right
is "hone task check prints no further line if the oracle agrees with PyTorch" \
    "$(sed 's/ and [0-9]* added.*//' "$T/out")" "bad: good, 4 workloads"
runs 1 "a task with a function that PyTorch does not have is refused" "$HONE" task check unknown
err_has "the message has the error of PyTorch" "\"torch\" does not run in PyTorch 0.fake: AttributeError"
bad wrong 's/alpha \* x + b/torch.off_by_two(alpha * x + b)/' task.json
runs 1 "a task whose oracle disagrees with PyTorch is refused" "$HONE" task check wrong
err_has "the message names the output and the element that differ" \
    "reference.c and \"torch\" disagree: element 3 of 'y' is "
err_has "the message names the version of PyTorch" "by PyTorch 0.fake"
bad dies 's/"alpha \* x + b"/"import os\\ndef run(x, b, alpha):\\n    os._exit(3)\\n"/' task.json
runs 1 "a task whose PyTorch module ends Python is refused" "$HONE" task check dies
err_has "the message says that the module ended Python" \
    "\"torch\" does not run in PyTorch: python3 ended without an answer"
bad opens 's/"alpha \* x + b"/"import os\\nos._exit(3)\\ndef run(x, b, alpha):\\n    return x\\n"/' task.json
runs 1 "a task whose PyTorch module ends Python when it is loaded is refused" "$HONE" task check opens
err_has "the message says that Python ended" "\"torch\" does not run in PyTorch: python3 ended without an answer"
if in_tier rest; then
    bad module 's/"alpha \* x + b"/"def run(x, b, alpha):\\n    s = alpha * x\\n    return s + b\\n"/' task.json
    runs 0 "a task with a Python module that defines run() is good" "$HONE" task check module
    err_has "a note says that the module has no graph" "has no graph"
    bad narrow 's/alpha \* x + b/torch.needs_double(alpha * x + b)/' task.json
    runs 1 "a task is refused if PyTorch refuses its dtypes" "$HONE" task check narrow
    err_has "the message has PyTorch's words about the dtypes" "RuntimeError: expected double"
fi
export HONE_PYTHON=no-such-python && unset PYTHONPATH
real=${REAL_PYTHON-python3}
if in_tier rest && "$real" -c 'import torch' 2>/dev/null; then
    HONE_PYTHON=$real runs 0 "all built-in tasks agree with PyTorch" "$HONE" task check --all
    bad erf 's/alpha \* x + b/torch.special.erfcx(alpha * x + b)/' task.json
    HONE_PYTHON=$real runs 1 "PyTorch runs a function that Hone does not know" "$HONE" task check erf
    err_has "the message says that the oracle disagrees with that function" \
        "reference.c and \"torch\" disagree: element 0 of 'y'"
fi

# An evaluation checks the bounds of the oracle too. If the oracle leaves them, the kernel gets no verdict, and Hone
# does not crash.
mkdir small && cp "$ROOT"/tasks/softmax/* small && chmod u+w small/*
sed -i 's/"scratch": "2\*R"/"scratch": "1"/' small/task.json
share_cache
"$HONE" eval --device emu --smoke small "$ROOT/kernels/softmax.cu" >"$T/out" 2>"$T/err" </dev/null
out_has "a kernel is unjudged if the oracle leaves its bounds" "unjudged"
out_has "the message names the line where the oracle leaves its bounds" \
    "reference.c:12: SCRATCH(2) is out of bounds: the task's \"scratch\" is 1 here"
if in_tier rest; then
    cp "$ROOT/tasks/softmax/task.json" small/ && sed -i 's/    OUT(y/    if (unit % 7) OUT(y/' small/reference.c
    "$HONE" eval --device emu --smoke small "$ROOT/kernels/softmax.cu" >"$T/out" 2>"$T/err" </dev/null
    out_has "a message names an element that the oracle does not write" "reference.c does not write element 0 of 'y'"
fi
export HONE_CACHE_DIR=$T/cache

runs 1 "hone task check --json fails for a broken task" "$HONE" task check --json "$T/badtasks/class-word"
out_has "hone task check --json says that the task is not good" '"ok": false'

# Files that are no tasks: `hone task check` refuses each within 10 s and 400 MB.
bounded() ( # bounded COMMAND...: runs it with these limits; ASan reserves far more memory, so it gets no limit
    [ "${MODE:-release}" = asan ] || ulimit -v 400000
    exec timeout 10 "$@"
)
truncate -s 1G huge.json
runs 1 "a task file of 1 GB is refused" bounded "$HONE" task check huge.json
err_has "the message names the task file of 1 GB" "huge.json"
mkdir dir && cp "$T/badtasks/class-word/task.json" dir/ && truncate -s 1G dir/reference.c
runs 1 "a reference.c of 1 GB is refused" bounded "$HONE" task check dir
mkdir empty_dir
runs 1 "a directory without task.json is refused" "$HONE" task check empty_dir
runs 1 "a device as a task file is refused" bounded "$HONE" task check /dev/zero
head -c 3000000 /dev/zero | tr '\0' '[' >deep.json
runs 1 "a task file of three million brackets is refused" bounded "$HONE" task check deep.json
err_has "the message says that the file is nested too deep" "nested more than"
{ printf '{"axes": {'; for i in $(seq 20000); do printf '"a%d": {"type": "var"},' "$i"; done
  printf '"z": {"type": "var"}}}'; } >many.json
runs 1 "a task with 20,000 axes is refused" bounded "$HONE" task check many.json
err_has "the message gives the limit of the axes" "more than the limit of 32"
{ printf '{'; for i in $(seq 20000); do printf '"k%d": 1,' "$i"; done; printf '"z": 1}'; } >keys.json
runs 1 "a task with 20,000 unknown keys is refused" bounded "$HONE" task check keys.json
is "the message does not list all unknown keys" "$(awk 'END {print NR <= 102}' "$T/err")" 1

# Files that are no kernels.
truncate -s 1G huge.cu
runs 1 "a kernel file of 1 GB is refused" bounded "$HONE" eval --device emu softmax huge.cu
err_has "the message names the kernel file of 1 GB" "huge.cu"
{ printf '/* hone-plan\n'; head -c 3000000 /dev/zero | tr '\0' '['; printf '\n*/\n'; } >deep.cu
runs 1 "a plan of three million brackets is refused" bounded "$HONE" eval --device emu softmax deep.cu
out_has "the message says that the plan is nested too deep" "nested more than"
{ printf '/* hone-plan\n{"launches": [{"kernel": "k", "grid": ["'; head -c 10000 /dev/zero | tr '\0' '('
  printf 'R'; head -c 10000 /dev/zero | tr '\0' ')'; printf '"]}]}\n*/\n'; } >parens.cu
runs 1 "a plan with 10,000 parentheses is refused" bounded "$HONE" eval --device emu softmax parens.cu
out_has "the message says that the expression is too long" "longer than 4096"

# FlashInfer-Bench definitions, unchanged.
for f in "$ROOT"/t/cases/flashinfer/*.json; do
    runs 0 "${f##*/}: the definition is a good task" "$HONE" task check "$f"
    err_has "${f##*/}: a note says that only PyTorch can compute the truth" "only PyTorch can compute its truth"
    runs 0 "${f##*/}: hone task show exits with 0" "$HONE" task show "$f"
done
runs 0 "a definition with constraints in Python is a good task" "$HONE" task check "$ROOT"/t/cases/flashinfer/gqa_*.json
err_has "a note names a constraint that was not checked" "constraint not checked: num_kv_indices == kv_indptr[-1].item()"
err_has "a note names a scalar without a value" "scalar 'sm_scale' has no value here"
cp -r "$ROOT/t/cases/lengths" no_tensor && sed -i 's/IN(len,/IN(lens,/' no_tensor/reference.c
runs 1 "a reference with an unknown tensor is refused" "$HONE" task check ./no_tensor
err_has "the message gives the line and the tensors of the task" \
    "reference.c:5: the task has no tensor 'lens'; it has x, len, y"
done_testing
