#!/usr/bin/env bash
# Speed of the emulator on three kernels: compiles their PTX (cached), then runs bench/emu.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=build/bench-emu
mkdir -p $dir
bin/hone compile --ptx -o $dir/gelu.ptx kernels/gelu_tanh.cu
bin/hone compile --ptx -o $dir/sm80.ptx kernels/matmul_f16.sm80.cu
bin/hone compile --ptx -o $dir/sm90.ptx kernels/matmul_f16.sm90.cu
echo "$(date -u +%F), $(uname -m), $(nproc) cores"
build/"${MODE:-release}"/bench/emu $dir
