#!/usr/bin/env bash
# Judges every kernel of kernels/ on the GPU and prints a table: verdict, time and interval at each
# timed shape, share of the measured ceilings, ratio to each baseline (PyTorch eager and compiled,
# cuBLASLt, the simple kernel).
#   HONE=bin/hone OUT=results t/gpu/kernels.sh [--skip-baselines] [--measure-time=T] [NAME...]
# JOBS evaluations run at a time (default 4) and take turns on the GPU. DEVICE=emu tries the script without a GPU.
# Exits 77 where there is no GPU, 1 if a kernel does not pass.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)}
export DEVICE=${DEVICE:-cuda}
[ "$DEVICE" = emu ] || [ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
mkdir -p "$OUT"
opts=(--measure-time=600ms)
while case ${1-} in -*) true ;; *) false ;; esac; do opts+=("$1"); shift; done
[ $# -gt 0 ] || set -- $(cd "$root/kernels" && ls *.cu | sed 's/\.cu$//')

# Compiles everything beforehand, several kernels at a time: our kernels, and the baselines of torch.compile, which
# keeps them in its cache.
export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR:-$OUT/inductor}
t0=$(date +%s)
printf '%s\n' "$@" | xargs -P "${JOBS:-8}" -I{} timeout 200 "$HONE" compile "$root/kernels/{}.cu" >/dev/null 2>&1
case " ${PREWARMED:+skip-baselines} ${opts[*]} " in *skip-baselines*) ;; *)
    timeout 200 python3 "$root/t/gpu/prewarm.py" $(printf '%s\n' "$@" | sed 's/\..*//' | sort -u) 2>"$OUT/prewarm.txt" ;;
esac
t1=$(date +%s)

# Several evaluations at a time, because PyTorch takes longer to start than we time.
export HONE OUT root
printf '%s\n' "$@" | xargs -P "${JOBS:-4}" -I{} bash -c 'name=$1; shift; timeout 200 "$HONE" eval --device "$DEVICE" --json "$@" \
    "${name%%.*}" "$root/kernels/$name.cu" >"$OUT/$name.json" 2>"$OUT/$name.err"' - {} "${opts[@]}"
printf '%-28s %-9s %-28s %-14s %11s %23s %5s %7s %7s\n' kernel verdict shape who time '95% interval' n roof ratio
status=0
for name in "$@"; do
    python3 - "$name" "$OUT/$name.json" "$OUT/$name.err" <<'PY' || status=1
import json, sys
name, path, errs = sys.argv[1:]
try:
    v = json.load(open(path))
except ValueError:
    print(f"{name:28} none      {open(errs).read().strip()[:150]}")
    sys.exit(1)
if v["kind"] != "pass" or not v["times"]:
    print(f"{name:28} {v['kind']:9} {v['detector']}: {v['summary'][:160]}")
for t in v["times"]:
    ratio = f"{t['ratio']:.2f}x" if t["ratio"] else ""
    print(f"{name:28} {v['kind']:9} {t['shape'][:28]:28} {t['who']:14} {t['median_ns']/1e3:9.2f}us "
          f"[{t['lo_ns']/1e3:9.2f},{t['hi_ns']/1e3:9.2f}] {t['n']:5} {t['roofline_pct']:6.1f}% {ratio:>7}")
for w in v["warnings"]:
    if "left out" not in w:
        print(f"{name:28}   warning: {w[:140]}")
sys.exit(v["kind"] != "pass")
PY
done
echo "# $# kernels; $((t1 - t0)) s of compiling beforehand, $(($(date +%s) - t1)) s of judging"
exit $status
