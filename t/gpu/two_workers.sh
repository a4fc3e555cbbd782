#!/usr/bin/env bash
# Two workers on one GPU take turns. Their times differ from the times of a single worker by no more than times of
# two processes differ (t/gpu/noise.sh, results/h200/noise.txt). Takes about 90 seconds.
#   HONE=bin/hone OUT=results [KERNELS=NAME:TASK:ROLE:N...] t/gpu/two_workers.sh [PAIRS [MEASURE_TIME]]
# Exits 77 where there is no GPU, 1 if jobs overlap or a goal is missed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)} pairs=${1:-6} time=${2:-200ms}
worker=${HONE_WORKER:-$(dirname "$HONE")/hone-worker}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
kernels=${KERNELS:-"softmax.cute:softmax:time:0 gelu_tanh.cute:gelu_tanh:time:0 silu_and_mul:silu_and_mul:time:0"}
dir=$OUT/two_workers
mkdir -p "$dir"
workers=()
end() {
    [ ${#workers[@]} = 0 ] || kill "${workers[@]}" 2>/dev/null
    wait
}
trap end EXIT

# measure LABEL COUNT: evaluates every kernel `pairs` times, through a spool that COUNT workers of GPU 0 serve
measure() {
    local label=$1 count=$2 i k name task role n running=0
    workers=()
    for ((i = 0; i < count; i++)); do
        HONE_LOG=worker:info "$worker" --spool "$dir/spool.$label" --gpu 0 2>"$dir/log.$label.$i" &
        workers+=($!)
    done
    local evals=()
    for ((i = 0; i < pairs; i++)); do
        for k in $kernels; do
            IFS=: read -r name task role n <<<"$k"
            timeout 60 "$HONE" eval --json --device cuda --on "spool:$dir/spool.$label" --workload "$role:$n" \
                --skip-baselines --measure-time "$time" --against "$root/kernels/$name.cu" "$task" \
                "$root/kernels/$name.cu" >"$dir/$label.$name.$i.json" 2>"$dir/$label.$name.$i.err" &
            evals+=($!)
            # Two evaluations at a time, so that two workers ask for the GPU at once.
            running=$((running + 1))
            if [ $running = 2 ]; then
                wait "${evals[@]}"
                evals=() running=0
            fi
        done
    done
    [ ${#evals[@]} = 0 ] || wait "${evals[@]}"
    kill "${workers[@]}"
    wait "${workers[@]}"
    workers=()
}

for k in $kernels; do timeout 60 "$HONE" compile "$root/kernels/${k%%:*}.cu" >/dev/null 2>&1; done
measure lone 1
measure two 2
python3 - "$dir" "$pairs" "$time" $kernels <<'PY'
import glob, json, re, statistics as st, sys
where, pairs, time, kernels = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
missed = 0
jobs, served = [], []
for log in sorted(glob.glob(f"{where}/log.two.*")):
    text = open(log).read()
    ends = dict(re.findall(r"ends (\S+) at (\d+) ns", text))
    mine = [(int(at), int(ends[job])) for job, at in re.findall(r"begins (\S+) at (\d+) ns", text) if job in ends]
    served.append(len(mine))
    jobs += mine
jobs.sort()
overlaps = sum(b[0] < a[1] for a, b in zip(jobs, jobs[1:]))
missed += overlaps > 0 or len(jobs) == 0 or min(served) == 0
print(f"{len(jobs)} jobs of two workers ({' and '.join(map(str, served))}), {overlaps} overlap: "
      f"{'ok' if not overlaps and jobs and min(served) else 'MISSED'}")
print(f"{pairs} pairs a kernel, --measure-time {time}")
print(f"{'kernel':16} {'lone':>9} {'two':>9} {'median':>8} {'worst':>7} {'<2%':>6}  goal")
for k in kernels:
    name = k.split(":")[0]
    times = {"lone": [], "two": []}
    for label, out in times.items():
        for i in range(pairs):
            try:
                v = json.load(open(f"{where}/{label}.{name}.{i}.json"))
                out.append(next(t for t in v["times"] if t["who"] == "candidate")["median_ns"])
            except (ValueError, StopIteration, OSError, KeyError):
                print(f"{name}: {label} {i} has no time: {open(f'{where}/{label}.{name}.{i}.err').read()[:300]}")
                missed += 1
    diffs = [abs(a - b) / min(a, b) for a, b in zip(times["lone"], times["two"])]
    if not diffs:
        continue
    us = st.median(times["lone"]) / 1e3
    under = sum(d < 0.02 for d in diffs)
    if us > 20:
        ok, goal = st.median(diffs) < 0.01 and under >= 0.9 * len(diffs) - 0.5, "median < 1%, 90% of pairs < 2%"
    else:
        limit = max(0.05, 0.3 / us)
        ok, goal = all(d < limit for d in diffs), f"all pairs < {100 * limit:.1f}%"
    missed += not ok
    print(f"{name:16} {us:7.2f}us {st.median(times['two']) / 1e3:7.2f}us {100 * st.median(diffs):7.2f}% "
          f"{100 * max(diffs):6.2f}% {under:3}/{len(diffs):<3} {'ok' if ok else 'MISSED'} ({goal})")
sys.exit(missed > 0)
PY
