#!/usr/bin/env bash
# Times kernels for the three tasks of suites/astra3 beside FlashInfer's own kernels (t/gpu/flashinfer), with a cold and
# with a warm L2. Prints a table, and says which goals are missed.
#   FLASHINFER_INCLUDE=DIR [OUT=DIR] t/gpu/astra.sh [TASK...]
# FLASHINFER_INCLUDE is the folder flashinfer/data/include of the PyPI package flashinfer-python. It is not needed where
# python3 finds the package. Further variables:
#   OURS     a folder with our kernels, TASK.cu; without it the built-in author writes them
#   STEPS    steps of the built-in author for each task (7), at most BUDGET (5m) for each
#   MEASURE  how long to time each task (4s)
#   DEVICE   emu: times are modelled, with a cold L2 only
# nvcc compiles all kernels, FlashInfer's with its flag -use_fast_math. Both kernels of a task run in one job.
# Exits 77 where there is no GPU, no nvcc or no FlashInfer, 1 if a goal is missed or a kernel does not pass.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=$(realpath "${HONE:-$root/bin/hone}") OUT=${OUT:-$(mktemp -d)} DEVICE=${DEVICE:-cuda}
[ -z "${OURS-}" ] || OURS=$(realpath "$OURS")
[ "$DEVICE" = emu ] || [ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
include=${FLASHINFER_INCLUDE:-$(python3 -c 'import importlib.util as u
print(u.find_spec("flashinfer").submodule_search_locations[0] + "/data/include")' 2>/dev/null)}
include=$(realpath "$include" 2>/dev/null)
[ -e "$include/flashinfer/norm.cuh" ] || { echo "no FlashInfer: set FLASHINFER_INCLUDE"; exit 77; }
command -v "${HONE_NVCC:-nvcc}" >/dev/null || [ -x /usr/local/cuda/bin/nvcc ] || { echo "no nvcc"; exit 77; }
tasks=${*:-$(sed 's/#.*//' "$root/suites/astra3")}
mkdir -p "$OUT/astra" && cd "$OUT/astra" || exit 1

write_kernel() { # write_kernel TASK: writes our kernel to TASK.cu
    if [ -n "${OURS-}" ]; then
        cp "$OURS/$1.cu" "$1.cu"
    else
        "$HONE" optimize "$1" --device "$DEVICE" --author playbook --steps "${STEPS:-7}" --budget-time "${BUDGET:-5m}" \
            --skip-baselines --store "$1.db" --out "$1" >"$1.log" 2>&1
        cp "$1/best.cu" "$1.cu"
    fi
}
compare() { # compare TASK L2: judges and times our kernel beside FlashInfer's
    local warm=()
    [ "$2" = warm ] && warm=(--warm-l2)
    HONE_INCLUDE=$include "$HONE" eval "$1" "$1.cu" --device "$DEVICE" --compiler nvcc --skip-baselines \
        --measure-time "${MEASURE:-4s}" --against "$root/t/gpu/flashinfer/$1.cu" "${warm[@]}" --json \
        >"$1.$2.json" 2>"$1.$2.err"
}
for task in $tasks; do
    echo "# $SECONDS s: $task" >&2
    write_kernel "$task" || { cat "$task.log" >&2; continue; }
    compare "$task" cold
    [ "$DEVICE" = emu ] || compare "$task" warm
done
python3 - "$DEVICE" $tasks <<'PY'
import json, math, sys
device, tasks = sys.argv[1], sys.argv[2:]
missed, mean = [], lambda v: math.exp(sum(map(math.log, v)) / len(v))


def ratios(task, l2):
    """Prints a line for each shape. Returns the ratios of the task, or none if there is no comparison."""
    try:
        v = json.load(open(f"{task}.{l2}.json"))
    except (OSError, ValueError):
        missed.append(f"{task}, {l2} L2: no verdict; see {task}.log and {task}.{l2}.err")
        return []
    theirs = [t for t in v["times"] if t["who"] != "candidate"]
    if v["kind"] != "pass" or not theirs:
        missed.append(f"{task}, {l2} L2: " + (v["summary"] if v["kind"] != "pass" else
                      "; ".join(f"FlashInfer's kernel: {b}" for b in v.get("baselines", [])) or "no times"))
        return []
    for t in theirs:
        ours = next(c for c in v["times"] if c["who"] == "candidate" and c["workload"] == t["workload"])
        print(f"{l2:5} {task:18} {t['shape']:20} {ours['median_ns'] / 1e3:9.2f} {t['median_ns'] / 1e3:11.2f} "
              f"{t['ratio']:6.3f}x  {t['ratio_lo']:.3f} to {t['ratio_hi']:.3f}")
        if t["ratio_hi"] < 1:
            missed.append(f"{task}, {l2} L2, {t['shape']}: the whole interval is below 1.0x")
    return [t["ratio"] for t in theirs]


if device == "emu":
    print("MODELLED times of the emulator: no GPU measured them. There is no warm L2.")
print(f"{'L2':5} {'task':18} {'shape':20} {'ours, us':>9} {'FlashInfer':>11} {'ratio':>7}  95% interval")
for l2 in ["cold"] if device == "emu" else ["cold", "warm"]:
    means = {task: mean(r) for task in tasks if (r := ratios(task, l2))}
    for task, m in means.items():
        print(f"{l2:5} {task:18} {'geometric mean':42} {m:6.3f}x")
    if means:
        m = mean(means.values())
        print(f"{l2:5} {f'{len(means)} tasks':18} {'geometric mean of the means':42} {m:6.3f}x")
        if m < 1.2:
            missed.append(f"{l2} L2: the mean over the tasks is {m:.3f}x, and the goal is 1.2x")
for text in missed:
    print(f"MISSED: {text}")
if not missed:
    print("all goals are met: a mean of at least 1.2x, and no shape with its whole interval below 1.0x")
sys.exit(1 if missed else 0)
PY
