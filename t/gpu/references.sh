#!/usr/bin/env bash
# Tests, on the GPU, the references that Hone writes from graphs. NVRTC compiles them. Hone judges the simple kernel of
# each built-in task by the reference from the task's PyTorch expression, not by the hand-written one.
#   HONE=bin/hone OUT=results t/gpu/references.sh [TASK...]
# Exits 77 where there is no GPU, 1 if a kernel does not pass.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
[ $# -gt 0 ] || set -- $(ls "$root/tasks")
status=0
for task in "$@"; do
    dir=$OUT/$task
    mkdir -p "$dir"
    "$HONE" task show --reference --json "$task" >"$OUT/$task.json" || { status=1; continue; }
    python3 - "$root/tasks/$task/task.json" "$OUT/$task.json" "$dir" <<'PY'
import json, sys
task, made = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
task["oracle"] = made["oracle"]
json.dump(task, open(sys.argv[3] + "/task.json", "w"))
open(sys.argv[3] + "/reference.c", "w").write(made["source"])
PY
    line=$("$HONE" eval --device cuda --skip-baselines "$dir" "$root/kernels/$task.cu" 2>"$dir/err" | head -1)
    printf '%-28s %s\n' "$task" "$line"
    case $line in pass*) ;; *) status=1 ;; esac
done
exit $status
