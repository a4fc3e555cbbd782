#!/usr/bin/env bash
# Tolerances in sigmas, derived from a task's graph (docs/tolerance.md): honest kernels pass; kernels with a
# lower precision, a missing term or a wrong epsilon fail. cases/sigmas/expect.tsv has the kernels.
. "$(dirname "$0")/lib.sh"
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"

derive() { # derive TASK: writes a copy of the task with the reference and the tolerance that Hone derives
    local from=$ROOT/tasks/$1
    [ -d "$from" ] || from=$ROOT/t/cases/playbooks/$1
    [ -d "$from" ] || from=$ROOT/t/cases/sigmas/$1
    [ -d "$1" ] && return
    python3 - "$from" "$1" "$HONE" <<'PY'
import json, os, subprocess, sys
source, to, hone = sys.argv[1:]
task = json.load(open(source + "/task.json"))
task.setdefault("torch", "torch.argmax(x, dim=-1)")
task["tolerance"] = {name: {"sigmas": 8, "why": "derived from the graph"} for name in task["outputs"]}
task["baselines"] = []
os.mkdir(to)
def write(name, text):
    open(f"{to}/{name}", "w").write(text)
write("task.json", json.dumps(task))
write("reference.c", open(source + "/reference.c").read())
made = json.loads(subprocess.check_output([hone, "task", "show", "--reference", "--sigma", "--json", "./" + to]))
task["oracle"] = made["oracle"]
write("task.json", json.dumps(task))
write("reference.c", made["source"])
PY
}

while IFS=$'\t' read -r tier kernel task verdict; do
    case $tier in '#'*) continue ;; esac
    in_tier "$tier" || continue
    derive "$task"
    file=$ROOT/t/cases/sigmas/$kernel stage=
    [ "$kernel" = - ] && file=$ROOT/kernels/$task.cu
    [ "$tier" = quick ] && stage=--smoke
    "$HONE" eval --device emu --skip-time --skip-baselines $stage --seed 7 "./$task" "$file" >"$T/out" 2>/dev/null
    is "$task: ${kernel/#-/the simple kernel} gets $verdict ($(sed -n 2p "$T/out"))" "$(head -1 "$T/out")" "$verdict"
done <"$ROOT/t/cases/sigmas/expect.tsv"
done_testing
