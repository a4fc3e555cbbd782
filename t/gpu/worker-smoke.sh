#!/usr/bin/env bash
# A first test on a new GPU machine: builds hone-worker with cc and libc alone, measures the ceilings, runs the
# smoke kernels. With two arguments it also runs a tar of bundles: worker-smoke.sh [IN.tar OUT.tar]
# Exits 77 where there is no GPU.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU || { echo "no GPU here"; exit 77; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm --format=csv,noheader
make -s worker || exit 1
worker=$PWD/bin/hone-worker
"$worker" --version
out=${OUT:-$(mktemp -d)}
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ -n "$nvcc" ]; then
    "$nvcc" -cubin -arch=sm_90a -std=c++17 -Isrc -o "$out/service.cubin" src/device/service.cu
    time "$worker" --ceilings "$out/service.cubin" | tee "$out/ceilings.json"
    time t/gpu/smoke.sh cuda "$worker" | tee "$out/smoke.tap"
fi
if [ $# -eq 2 ]; then
    time "$worker" --tar "$1" "$2"
    mkdir -p "$out/results" && tar xf "$2" -C "$out/results"
    for r in "$out"/results/done/*/result.bin; do
        echo "== $r"
        "$worker" --show "$r" | grep -vE 'call [0-9]+ .*timed ok|compare' | head -12
    done
fi
! grep -q '^not ok' "$out/smoke.tap" 2>/dev/null
