#!/usr/bin/env bash
# Judges every kernel of kernels/ on the GPU and prints a table: verdict, time and interval at each
# timed shape, share of the roofline, ratio to each baseline.
#   HONE=bin/hone OUT=results t/gpu/kernels.sh [--skip-baselines] [NAME...]
# Exits 77 where there is no GPU.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
opts=()
while case ${1-} in -*) true ;; *) false ;; esac; do opts+=("$1"); shift; done
[ $# -gt 0 ] || set -- $(cd "$root/kernels" && ls *.cu | sed 's/\.cu$//')

# Compile all of them first, side by side: evaluation then finds them in the cache.
printf '%s\n' "$@" | xargs -P 8 -I{} timeout 200 "$HONE" compile "$root/kernels/{}.cu" >/dev/null 2>&1

printf '%-28s %-9s %-28s %-14s %11s %23s %7s %7s\n' kernel verdict shape who time '95% interval' roof ratio
for name in "$@"; do
    timeout 150 "$HONE" eval --device cuda --json "${opts[@]}" "${name%%.*}" "$root/kernels/$name.cu" \
        >"$OUT/$name.json" 2>"$OUT/$name.err"
    python3 - "$name" "$OUT/$name.json" "$OUT/$name.err" <<'PY'
import json, sys
name, path, errs = sys.argv[1:]
try:
    v = json.load(open(path))
except ValueError:
    print(f"{name:28} none      {open(errs).read().strip()[:150]}")
    sys.exit()
if v["kind"] != "pass" or not v["times"]:
    print(f"{name:28} {v['kind']:9} {v['detector']}: {v['summary'][:160]}")
for t in v["times"]:
    ratio = f"{t['ratio']:.2f}x" if t["ratio"] else ""
    print(f"{name:28} {v['kind']:9} {t['shape'][:28]:28} {t['who']:14} {t['median_ns']/1e3:9.2f}us "
          f"[{t['lo_ns']/1e3:9.2f},{t['hi_ns']/1e3:9.2f}] {t['roofline_pct']:6.1f}% {ratio:>7}")
for w in v["warnings"]:
    if "left out" not in w:
        print(f"{name:28}   warning: {w[:140]}")
PY
done
