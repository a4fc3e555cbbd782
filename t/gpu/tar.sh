#!/usr/bin/env bash
# Makes twenty evaluations on this machine. Their kernels run on the GPU of another machine. You copy one tar there and
# one tar back.
#   t/gpu/tar.sh make DIR             here: starts 20 evaluations and writes their bundles to DIR/in.tar
#   hone-worker --tar in.tar out.tar  on the machine with the GPU
#   t/gpu/tar.sh take DIR out.tar     here: gives the results to the evaluations, lists the verdicts
# `take` exits with 0 if all 20 kernels pass and have times.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=${HONE:-$root/bin/hone} n=${BUNDLES:-20}
what=$1 dir=$2
case $what in
make)
    mkdir -p "$dir"
    names=$(cd "$root/kernels" && ls *.cu | grep -v '\..*\.' | sed 's/\.cu$//' | head -n "$n")
    for name in $names; do
        setsid "$HONE" eval --json --on "spool:$dir/spool" --arch sm_90a --skip-baselines --measure-time 200ms \
            "$name" "$root/kernels/$name.cu" >"$dir/$name.json" 2>"$dir/$name.err" </dev/null &
        while [ "$(jobs -r | wc -l)" -ge 40 ]; do sleep 0.1; done
    done
    for _ in $(seq 3000); do
        [ "$(ls "$dir/spool/todo" 2>/dev/null | wc -l)" -ge "$(wc -w <<<"$names")" ] && break
        sleep 0.2
    done
    tar cf "$dir/in.tar" -C "$dir/spool" todo
    echo "$(ls "$dir/spool/todo" | wc -l) bundles, $(stat -c %s "$dir/in.tar") bytes in $dir/in.tar, made on $(uname -m)"
    ;;
take)
    mkdir -p "$dir/spool/home" && tar xf "$3" -C "$dir/spool/home" || exit 1
    for r in "$dir"/spool/home/done/*; do mv "$r" "$dir/spool/done/"; done
    for _ in $(seq 100); do
        [ "$(find "$dir" -maxdepth 1 -name '*.json' -size 0 | wc -l)" -eq 0 ] && break
        sleep 0.2
    done
    python3 - "$dir" "$n" <<'PY'
import glob, json, os, sys
good = 0
for p in sorted(glob.glob(sys.argv[1] + "/*.json")):
    name = os.path.basename(p)[:-5]
    try:
        v = json.load(open(p))
    except ValueError:
        print(f"{name:28} no verdict")
        continue
    good += v["kind"] == "pass" and len(v["times"]) > 0
    print(f"{name:28} {v['kind']:9} {v['time_ns']/1e3:10.2f} us  {len(v['workloads'])} workloads  {v['device']}")
print(f"{good} of {sys.argv[2]} complete")
sys.exit(good < int(sys.argv[2]))
PY
    ;;
*) exit 2 ;;
esac
