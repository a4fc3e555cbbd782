#!/usr/bin/env bash
# Says how much faster than FlashInfer's kernels for the tasks of suites/astra3 a kernel can be: times them beside
# kernels that only move the same bytes (astra_ceiling.cu).
#   FLASHINFER_INCLUDE=DIR t/gpu/astra_ceiling.sh
# DIR is the folder flashinfer/data/include of the PyPI package flashinfer-python.
# Exits 77 where there is no GPU, no nvcc or no FlashInfer.
set -u
here=$(cd "$(dirname "$0")" && pwd)
nvcc=$(command -v "${HONE_NVCC:-nvcc}" || echo /usr/local/cuda/bin/nvcc)
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
[ -e "${FLASHINFER_INCLUDE-}/flashinfer/norm.cuh" ] || { echo "no FlashInfer: set FLASHINFER_INCLUDE"; exit 77; }
[ -x "$nvcc" ] || { echo "no nvcc"; exit 77; }
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
"$nvcc" -std=c++20 -O3 -use_fast_math -arch=native -I"$FLASHINFER_INCLUDE" "$here/astra_ceiling.cu" -o "$dir/ceiling" &&
    "$dir/ceiling"
