#!/usr/bin/env bash
# `hone task`: the built-in tasks are good; for broken ones it prints the problem and its place;
# FlashInfer-Bench definitions load.
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
runs 2 "one of --graph and --reference" "$HONE" task show --graph --reference softmax
runs 1 "show --graph of a task without an expression" \
    "$HONE" task show --graph "$ROOT/t/cases/flashinfer/rmsnorm_h2048.json"
err_has "says so" "has no PyTorch expression"
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

# Judging every naive kernel takes a minute: only `make test-all` does it.
if in_tier rest; then
    runs 0 "all built-in tasks are good, with their baselines" "$HONE" task check --all
    err_empty "without a word on stderr"
fi
runs 0 "all built-in tasks are good" env HONE_WORKER=/nonexistent "$HONE" task check --all
is "nothing else is said on stderr" "$(grep -vc "the baseline 'naive' was not judged" "$T/err")" 0
out_has "and are counted" "tasks are good"

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
    timeout 20 "$HONE" task check "$d" >"$T/out" 2>"$T/err" </dev/null
    rc=$?
    want=$(cat "$d/want")
    if [ $rc != 1 ] || ! sed "s|$d/||g" "$T/err" | grep -qF -- "$want"; then
        wrong=$((wrong + 1))
        printf '# %s: status %d, want: %s\n# got: %s\n' "${d##*/}" $rc "$want" "$(head -c 600 "$T/err")"
    fi
done
is "$n broken tasks say what and where" "$wrong" 0
is "every row of the table is one" "$n" "$(grep -vc '^#' "$ROOT/t/cases/badtasks/changes.tsv")"
is "there are 123 of them or more" "$((n >= 123))" 1
is "no two for the same reason" "$(cat "$T"/badtasks/*/want | cut -d' ' -f2- | sort | uniq -d)" ""

runs 1 "check --json of a broken task" "$HONE" task check --json "$T/badtasks/class-word"
out_has "has the problems" '"ok": false'

# Files that are no tasks at all: `hone task check` answers within 10 s and 400 MB.
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

# Files that are no kernels at all.
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
    err_has "says that it needs the sidecar" "PyTorch sidecar"
    runs 0 "and shows" "$HONE" task show "$f"
done
runs 0 "a definition with Python constraints" "$HONE" task check "$ROOT"/t/cases/flashinfer/gqa_*.json
err_has "says what was not checked" "constraint not checked: num_kv_indices == kv_indptr[-1].item()"
err_has "and what was assumed" "scalar 'sm_scale' has no value here"
done_testing
