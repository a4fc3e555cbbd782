#!/usr/bin/env bash
# Evaluates kernels on a GPU of another machine. This machine compiles every kernel of kernels/ and packs the
# bundles into a tar. The other machine runs them and packs the results into a tar. This machine then judges.
# The two machines can have different CPU architectures.
#
#   t/gpu/cubins.sh pack DIR [NAME...]           here: writes DIR/bundles.tar; the evaluations wait for results
#   hone-worker --tar bundles.tar results.tar    there (no `hone`, no compiler, no network needed)
#   t/gpu/cubins.sh take DIR results.tar         here: gives the results to the evaluations, prints the verdicts
#   t/gpu/cubins.sh self DIR                     does all three on this machine
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=${HONE:-$root/bin/hone} ARCH=${ARCH:-sm_90a}
verb=${1-} dir=${2-}
[ -n "$dir" ] || { sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' >&2; exit 2; }
shift 2

bundles() { find "$dir/spool/todo" -mindepth 1 -maxdepth 1 -type d 2>/dev/null | wc -l; }

start() { # start NAME: starts an evaluation in the background; it waits there for its result
    setsid nohup "$HONE" eval --on "spool:$dir/spool" --arch "$ARCH" --skip-baselines \
        --measure-time 300ms --json "${1%%.*}" "$root/kernels/$1.cu" \
        >"$dir/$1.json" 2>"$dir/$1.err" </dev/null &
    echo $! >"$dir/$1.pid"
}
handed_over() { # handed_over NAME COUNT: waits until the evaluation has made a bundle beyond COUNT, or has ended
    local before=$2
    while kill -0 "$(cat "$dir/$1.pid")" 2>/dev/null && [ "$(bundles)" -le "$before" ]; do sleep 0.1; done
}

case $verb in
pack)
    rm -rf "$dir" && mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 3
    [ $# -gt 0 ] || set -- $(cd "$root/kernels" && ls *.cu | sed 's/\.cu$//')
    for name in "$@"; do
        n=$(bundles)
        start "$name"
        handed_over "$name" "$n"
    done
    tar -C "$dir/spool" -cf "$dir/bundles.tar" todo
    echo "$(bundles) of $# bundles, made on $(uname -m), in $dir/bundles.tar ($(du -h "$dir/bundles.tar" | cut -f1))"
    [ "$(bundles)" -eq $# ]
    ;;
take)
    tar -C "$dir/spool/tmp" -xf "$1" && mv "$dir"/spool/tmp/done/* "$dir/spool/done/" || exit 3
    rm -rf "$dir"/spool/todo/*
    for pid in "$dir"/*.pid; do
        for ((i = 0; i < 300; i++)); do
            kill -0 "$(cat "$pid")" 2>/dev/null || break
            sleep 0.1
        done
    done
    python3 - "$root" "$dir" <<'PY'
import glob, json, os, sys
root, dir = sys.argv[1:]
good = 0
paths = sorted(glob.glob(dir + "/*.json"))
print(f"{'kernel':28} {'verdict':9} {'workloads':>9}  {'device':14} times (us)")
for path in paths:
    name = os.path.basename(path)[:-5]
    maps = " tensor maps from the plan" if '"tensormaps"' in open(f"{root}/kernels/{name}.cu").read() else ""
    try:
        v = json.load(open(path))
    except ValueError:
        print(f"{name:28} none      {open(path[:-5] + '.err').read().strip()[:120]}")
        continue
    times = " ".join(f"{t['median_ns'] / 1e3:.1f}" for t in v["times"] if t["who"] == "candidate")
    why = "" if v["kind"] == "pass" else f" {v['detector']}: {v['summary'][:100]}"
    good += v["kind"] == "pass"
    print(f"{name:28} {v['kind']:9} {len(v['workloads']):9}  {v['device'][:14]:14} {times}{maps}{why}")
print(f"{good} of {len(paths)} pass")
sys.exit(good != len(paths))
PY
    ;;
self)
    "$0" pack "$dir" "$@" && "${HONE_WORKER:-${HONE%/*}/hone-worker}" --tar "$dir/bundles.tar" \
        "$dir/results.tar" && "$0" take "$dir" "$dir/results.tar"
    ;;
*) echo "cubins.sh: pack, take or self" >&2; exit 2 ;;
esac
