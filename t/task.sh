#!/usr/bin/env bash
# Tests `hone task`: the built-in tasks are good, broken tasks are refused with the problem and its
# place, and FlashInfer-Bench definitions load.
. "$(dirname "$0")/lib.sh"

runs 0 "list" "$HONE" task list
out_has "lists softmax" "softmax"
runs 0 "list --json" "$HONE" task list --json
is "24 tasks or more" "$(($(grep -c '"name"' "$T/out") >= 24))" 1
runs 0 "show" "$HONE" task show segment_mean
out_has "shows tensors with their generators" "csr(E)"
out_has "shows why the tolerance is what it is" "half an ulp"
runs 0 "show --json" "$HONE" task show --json softmax
out_has "with shapes" '"shape"'
# The graph of a task's PyTorch expression.
runs 0 "show --graph" "$HONE" task show --graph layernorm
is "is a line for each input, scalar, value and output" "$(sed '$d' "$T/out")" "x: float32[R, C]
w: float32[C]
b: float32[C]
eps: float32
y: float32[R, C] = layer_norm(x, w, b, eps)"
out_has "the last says what kind of work it is, and how much" "class norm, flops 8*C*R, bytes 8*C*R+8*C"
runs 0 "show --graph of a task with views" "$HONE" task show --graph silu_and_mul
out_has "has sizes over the axes" "%3 = slice(x, dim=-1, start=D, length=D): float16[B, D]"
runs 0 "show --graph --json" "$HONE" task show --graph --json layernorm
out_has "names the operation" '"op": "layer_norm"'
runs 0 "show --reference writes the reference of a graph" "$HONE" task show --reference softmax
cp "$T/out" written.c
runs 0 "and with --json its phases" "$HONE" task show --reference --json softmax
mkdir written && python3 - "$ROOT/tasks/softmax/task.json" "$T/out" written <<'PY'
import json, sys
task, made = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
task["oracle"] = made["oracle"]
json.dump(task, open(sys.argv[3] + "/task.json", "w"))
open(sys.argv[3] + "/reference.c", "w").write(made["source"])
PY
ok "which is the same text" cmp written.c written/reference.c
runs 0 "and makes a good task" "$HONE" task check ./written
runs 0 "show --reference --sigma" "$HONE" task show --reference --sigma --json softmax
mkdir sigmas && python3 - "$ROOT/tasks/softmax/task.json" "$T/out" sigmas <<'PY'
import json, sys
task, made = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
task["oracle"] = made["oracle"]
task["tolerance"] = {"y": {"sigmas": 8, "why": "derived from the graph"}}
json.dump(task, open(sys.argv[3] + "/task.json", "w"))
open(sys.argv[3] + "/reference.c", "w").write(made["source"])
PY
in_tier rest && runs 0 "makes a good task with a tolerance in sigmas" "$HONE" task check ./sigmas
runs 0 "which task show can tell" "$HONE" task show ./sigmas
out_has "by its tolerance" "y may be off by 8 sigma + half an ulp"
runs 2 "--sigma without --reference" "$HONE" task show --sigma softmax
runs 2 "one of --graph and --reference" "$HONE" task show --graph --reference softmax
runs 1 "show --graph of a task without an expression" \
    "$HONE" task show --graph "$ROOT/t/cases/flashinfer/rmsnorm_h2048.json"
err_has "says so" "nor the key \"torch\" (a PyTorch expression)"
mkdir graphs && cp -r "$ROOT/tasks/sigmoid" graphs/ && chmod -R u+w graphs
sed -i 's/torch.sigmoid(x)/torch.sigmoidd(x)/' graphs/sigmoid/task.json
runs 1 "show --graph of an expression nobody knows" "$HONE" task show --graph graphs/sigmoid
err_has "names the function" "sigmoidd"
is "the page about graphs lists the operations of ops.def" \
    "$(grep -E '^\| [a-z0-9_]+ \| [a-z]+ \| .* \| .* \| [0-9]+ \| [a-z_]+ \|$' "$ROOT/docs/graph.md")" \
    "$("$ROOT/tools/ops-table" | tail -n +3)"

runs 1 "show of a task that is not there" "$HONE" task show sofmax
err_has "suggests one" "did you mean 'softmax'"
runs 2 "no subcommand" "$HONE" task
runs 2 "a wrong one" "$HONE" task chek
runs 2 "check of nothing" "$HONE" task check
runs 2 "check of all and one" "$HONE" task check --all softmax

# Judging every naive kernel and checking every oracle takes a minute or two: only `make test-all` does
# it. Without PyTorch the checks say so once. The fake PyTorch below tests Hone's side of the
# comparison.
export HONE_PYTHON=no-such-python
if in_tier rest; then
    runs 0 "all built-in tasks are good, with their baselines" "$HONE" task check --all
    err_empty "without a word on stderr"
    out_has "and are counted" "24 of 24 tasks are good"
fi
runs 0 "built-in tasks are good" \
    env HONE_WORKER=/nonexistent "$HONE" task check fused_add_rmsnorm segment_mean
is "nothing else is said on stderr" "$(grep -vc "the baseline 'naive' was not judged" "$T/err")" 0
out_has "and are counted" "tasks are good"
is "one line says that PyTorch was not run" "$(grep -c '"torch" was read but not run' "$T/out")" 1

runs 0 "new" "$HONE" task new my_op
runs 0 "its skeleton passes check" "$HONE" task check my_op
err_empty "without notes"
runs 1 "new does not overwrite" "$HONE" task new my_op
err_has "and says so" "exists; not overwritten"
runs 2 "new with a path for a name" "$HONE" task new ../evil

# Every broken task is refused with its own reason and place: t/cases/badtasks/changes.tsv.
mkdir "$T/badtasks"
ok "the broken tasks are written" "$ROOT/t/cases/badtasks/expand" "$T/badtasks"
n=0 wrong=0
for d in "$T"/badtasks/*; do
    n=$((n + 1))
    case ${d##*/} in # most of those that compile take a while
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
is "$n broken tasks say what and where" "$wrong" 0
is "every row of the table is one" "$n" "$(grep -vc '^#' "$ROOT/t/cases/badtasks/changes.tsv")"
is "there are 150 of them or more" "$((n >= 150))" 1
is "no two for the same reason" "$(cat "$T"/badtasks/*/want | cut -d' ' -f2- | sort | uniq -d)" ""

# An oracle that never ends, an oracle that Python knows and Hone does not, and PyTorch itself.
bad() { # bad NAME SED-SCRIPT FILE: a copy of the good task, changed
    rm -rf "$1" && cp -r "$ROOT/t/cases/badtasks/base" "$1" && chmod -R u+w "$1" && sed -i "$2" "$1/$3"
}
if in_tier rest; then
    bad hang 's/double ax/for (volatile int64_t k = 0; unit == 3 \&\& k < 1; k += 0);\n    double ax/' reference.c
    runs 1 "an oracle that does not end" "$HONE" task check hang
    err_has "is ended" "in unit 3 of PHASE(reference)"
fi
bad bare 's/^  "baselines.*/  "baselines": ["naive"],/; /^  "torch"/d' task.json
runs 0 "a task without \"torch\" and naive.cu is good" "$HONE" task check bare
err_has "a note says that naive.cu is missing" '"baselines" names "naive", but there is no naive.cu beside task.json'
err_has "another one what the built-in author reads" 'add "torch": "EXPRESSION" to task.json'
runs 1 "the built-in author has no kernel for it" "$HONE" optimize ./bare
err_has "and names the simplest mend first" 'Add "torch": "EXPRESSION" to task.json'
bad unknown 's/alpha \* x + b/torch.nonesuch(x, b)/' task.json
runs 0 "a function of PyTorch that Hone does not know" "$HONE" task check unknown
err_has "is a note" "task.json:26:12: \"torch\" has no graph, so playbooks cannot use it: "
err_has "that names it" "the function 'nonesuch' is not known: note"
export HONE_PYTHON=python3 PYTHONPATH=$ROOT/t/fake/pytorch
bad right 's/float32", "value": 1.5/float32", "value": 0.1/' task.json
runs 0 "PyTorch on the CPU agrees with the oracle" "$HONE" task check right
is "and nothing is said about it" "$(sed 's/ and [0-9]* added.*//' "$T/out")" "bad: good, 4 workloads"
runs 1 "a function that PyTorch does not have either" "$HONE" task check unknown
err_has "is a problem" "\"torch\" does not run in PyTorch 0.fake: AttributeError"
bad wrong 's/alpha \* x + b/torch.off_by_two(alpha * x + b)/' task.json
runs 1 "PyTorch disagrees with the oracle" "$HONE" task check wrong
err_has "the problem names output, element and both values" \
    "reference.c and \"torch\" disagree: element 3 of 'y' is "
err_has "and the version" "by PyTorch 0.fake"
if in_tier rest; then
    bad module 's/"alpha \* x + b"/"def run(x, b, alpha):\\n    s = alpha * x\\n    return s + b\\n"/' task.json
    runs 0 "a module that defines run()" "$HONE" task check module
    err_has "has no graph" "has no graph"
    bad narrow 's/alpha \* x + b/torch.needs_double(alpha * x + b)/' task.json
    runs 1 "an expression that PyTorch refuses for the task's dtypes" "$HONE" task check narrow
    err_has "is a problem with PyTorch's words" "RuntimeError: expected double"
fi
export HONE_PYTHON=no-such-python && unset PYTHONPATH
real=${REAL_PYTHON-python3}
if in_tier rest && "$real" -c 'import torch' 2>/dev/null; then
    HONE_PYTHON=$real runs 0 "PyTorch agrees with all built-in tasks" "$HONE" task check --all
    bad erf 's/alpha \* x + b/torch.special.erfcx(alpha * x + b)/' task.json
    HONE_PYTHON=$real runs 1 "PyTorch runs what Hone cannot read" "$HONE" task check erf
    err_has "and disagrees" "reference.c and \"torch\" disagree: element 0 of 'y'"
fi

# An evaluation checks bounds too. It never judges a kernel by a truth that was computed out of
# bounds, and does not crash.
mkdir small && cp "$ROOT"/tasks/softmax/* small && chmod u+w small/*
sed -i 's/"scratch": "2\*R"/"scratch": "1"/' small/task.json
share_cache
"$HONE" eval --device emu --smoke small "$ROOT/kernels/softmax.cu" >"$T/out" 2>"$T/err" </dev/null
out_has "an oracle out of bounds gives no verdict" "unjudged"
out_has "but its line" "reference.c:12: SCRATCH(2) is out of bounds: the task's \"scratch\" is 1 here"
if in_tier rest; then
    cp "$ROOT/tasks/softmax/task.json" small/ && sed -i 's/    OUT(y/    if (unit % 7) OUT(y/' small/reference.c
    "$HONE" eval --device emu --smoke small "$ROOT/kernels/softmax.cu" >"$T/out" 2>"$T/err" </dev/null
    out_has "an oracle that leaves out elements gives no verdict" "reference.c does not write element 0 of 'y'"
fi
export HONE_CACHE_DIR=$T/cache

runs 1 "check --json of a broken task" "$HONE" task check --json "$T/badtasks/class-word"
out_has "has the problems" '"ok": false'

# Files that are not tasks at all: `hone task check` answers within 10 s and 400 MB.
bounded() ( # no memory limit with ASan: it reserves far more
    [ "${MODE:-release}" = asan ] || ulimit -v 400000
    exec timeout 10 "$@"
)
truncate -s 1G huge.json
runs 1 "a file of 1 GB" bounded "$HONE" task check huge.json
err_has "is refused by its size" "huge.json"
mkdir dir && cp "$T/badtasks/class-word/task.json" dir/ && truncate -s 1G dir/reference.c
runs 1 "a reference.c of 1 GB" bounded "$HONE" task check dir
mkdir empty_dir
runs 1 "a directory without task.json" "$HONE" task check empty_dir
runs 1 "a device" bounded "$HONE" task check /dev/zero
head -c 3000000 /dev/zero | tr '\0' '[' >deep.json
runs 1 "three million brackets" bounded "$HONE" task check deep.json
err_has "are nested too deep" "nested more than"
{ printf '{"axes": {'; for i in $(seq 20000); do printf '"a%d": {"type": "var"},' "$i"; done
  printf '"z": {"type": "var"}}}'; } >many.json
runs 1 "20,000 axes" bounded "$HONE" task check many.json
err_has "are more than the limit" "more than the limit of 32"
{ printf '{'; for i in $(seq 20000); do printf '"k%d": 1,' "$i"; done; printf '"z": 1}'; } >keys.json
runs 1 "20,000 unknown keys" bounded "$HONE" task check keys.json
is "are not all listed" "$(awk 'END {print NR <= 102}' "$T/err")" 1

# Files that are not kernels at all.
truncate -s 1G huge.cu
runs 1 "a kernel of 1 GB" bounded "$HONE" eval --device emu softmax huge.cu
err_has "is refused by its size" "huge.cu"
{ printf '/* hone-plan\n'; head -c 3000000 /dev/zero | tr '\0' '['; printf '\n*/\n'; } >deep.cu
runs 1 "a plan of three million brackets" bounded "$HONE" eval --device emu softmax deep.cu
out_has "is a plan error" "nested more than"
{ printf '/* hone-plan\n{"launches": [{"kernel": "k", "grid": ["'; head -c 10000 /dev/zero | tr '\0' '('
  printf 'R'; head -c 10000 /dev/zero | tr '\0' ')'; printf '"]}]}\n*/\n'; } >parens.cu
runs 1 "10,000 parentheses" bounded "$HONE" eval --device emu softmax parens.cu
out_has "are too long an expression" "longer than 4096"

# FlashInfer-Bench definitions, as they are.
for f in "$ROOT"/t/cases/flashinfer/*.json; do
    runs 0 "definition ${f##*/}" "$HONE" task check "$f"
    err_has "says that it needs the sidecar" "only PyTorch can compute its truth"
    runs 0 "and shows" "$HONE" task show "$f"
done
runs 0 "a definition with Python constraints" "$HONE" task check "$ROOT"/t/cases/flashinfer/gqa_*.json
err_has "says what was not checked" "constraint not checked: num_kv_indices == kv_indptr[-1].item()"
err_has "and what was assumed" "scalar 'sm_scale' has no value here"
cp -r "$ROOT/t/cases/lengths" no_tensor && sed -i 's/IN(len,/IN(lens,/' no_tensor/reference.c
runs 1 "a reference that names no tensor" "$HONE" task check ./no_tensor
err_has "is told the line and the tensors" "reference.c:5: the task has no tensor 'lens'; it has x, len, y"
done_testing
