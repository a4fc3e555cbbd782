#!/usr/bin/env bash
# Lets the built-in author of Hone optimise the kernels of hone-gnn: each run begins with the kernel of kernels/gnn/,
# then tunes its settings and tries the playbooks that fit its task. Prints the table of `hone runs`, in which "before"
# is the kernel of kernels/gnn/, and below it why runs ended early. A task that no playbook fits ends after one kernel.
#   HONE=bin/hone OUT=results [STEPS=6] [BUDGET=2m] [JOBS=8] [NAMES="column_sum adam_step"] t/gpu/gnn_optimize.sh
# DEVICE=emu runs on the emulator, whose times are modelled. Exits 77 where there is no GPU, 1 if a kernel does not pass.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=$(realpath "${HONE:-$root/bin/hone}") OUT=${OUT:-$(mktemp -d)} DEVICE=${DEVICE:-cuda}
[ "$DEVICE" = emu ] || [ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
mkdir -p "$OUT/gnn_optimize" && cd "$OUT/gnn_optimize" || exit 1
names=${NAMES:-$(for task in "$root"/kernels/gnn/*/task.json; do basename "$(dirname "$task")"; done)}
status=0
export root HONE DEVICE STEPS BUDGET
optimize() { # optimize NAME: runs beside others; Hone locks the GPU while it times a kernel
    "$root/tools/gnn-kernels" source "$1" >"$1.cu" &&
        "$HONE" optimize "$root/kernels/gnn/$1" --from "$1.cu" --author playbook --steps "${STEPS:-6}" \
            --budget-time "${BUDGET:-2m}" --skip-baselines --device "$DEVICE" --store gnn.db --out "$1" >"$1.log" 2>&1
}
export -f optimize
xargs -P "${JOBS:-8}" -I{} bash -c 'optimize {}' <<<"$names"
for name in $names; do
    grep -q 'your file .*(candidate 0): pass' "$name.log" || { echo "$name: $(tail -1 "$name.log")"; status=1; }
done
"$HONE" runs --store gnn.db
"$HONE" runs --store gnn.db --json | python3 -c '
import json, os, sys
for r in json.load(sys.stdin):
    if r["reason"]:
        print(os.path.basename(r["task"]) + ": " + r["reason"].split(", and no playbook")[0][:160])'
exit $status
