#!/usr/bin/env bash
# Kernels that the built-in author writes from a graph, for tasks that no template fits. The graphs are
# recorded traces, so this needs no PyTorch. `make test` evaluates one kernel;
# `make test-all` evaluates those for all traces and for all built-in tasks.
. "$(dirname "$0")/lib.sh"
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"
export HONE_PYTHON=no-such-python

judge() { # judge TASK: the kernel that is written from its graph passes
    runs 0 "${1##*/}: a kernel is written" "$HONE" playbook kernel generate "$1"
    cp "$T/out" kernel.cu
    runs 0 "${1##*/}: and passes" "$HONE" eval --device emu --smoke --skip-baselines "$1" kernel.cu
}

# Sums of more than 1024 terms go in chains.
in_tier quick && judge cumsum
in_tier rest || done_testing

# A norm over groups of channels: no template fits, and a run gets a kernel all the same.
runs 0 "a task that no template fits is served" "$HONE" optimize group_norm.py \
    --trace "$ROOT/t/cases/generate/group_norm.trace.json" --device emu --steps 1 --skip-baselines \
    --out o --store s.db
out_has "by kernels that pass" "2 pass, 0 fail"
# The task is used again, with its report.
python3 - imported/*/import.json <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["few_runs"] == 0, report
report["notes"] = ["random rounding was tried in 2 runs"]
json.dump(report, open(sys.argv[1], "w"))
PY
runs 0 "the file is not imported twice" "$HONE" optimize group_norm.py \
    --trace "$ROOT/t/cases/generate/group_norm.trace.json" --device emu --steps 1 --skip-baselines --smoke \
    --out o --store s.db
err_has "the task is used again" "imported before; nothing has changed since"
err_has "and the notes of its import are shown" "note: random rounding was tried in 2 runs"
# A template that fits comes first.
runs 0 "softmax has a template" "$HONE" optimize softmax --device emu --steps 1 --skip-baselines --out o \
    --store s.db
runs 0 "and its kernel is shown" "$HONE" show --store s.db last 0
is "which the generator did not write" "$(grep -c 'from the task.s graph' "$T/out")" 0

for trace in "$ROOT"/t/cases/generate/*.trace.json; do
    name=$(basename "$trace" .trace.json)
    runs 0 "$name: imported" "$HONE" import torch --out tasks --trace "$trace" "$name.py"
    judge "tasks/$name"
done
for task in $("$HONE" playbook list --json |
    python3 -c 'import json, sys; print(*[t for b in json.load(sys.stdin) if b["name"] == "generate" for t in b["tasks"]])'); do
    judge "$task"
done
done_testing
