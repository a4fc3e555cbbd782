#!/usr/bin/env bash
# Measures the speed of the emulator: compiles three kernels to PTX, then runs bench/emu on them.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=build/bench-emu
mkdir -p $dir
bin/hone compile --ptx -o $dir/gelu.ptx kernels/gelu_tanh.cu
bin/hone compile --ptx -o $dir/sm80.ptx kernels/matmul_f16.sm80.cu
bin/hone compile --ptx -o $dir/sm90.ptx kernels/matmul_f16.sm90.cu
echo "$(date -u +%F), $(uname -m), $(nproc) cores"
build/"${MODE:-release}"/bench/emu $dir
