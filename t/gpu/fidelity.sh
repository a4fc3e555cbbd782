#!/usr/bin/env bash
# Compares the emulator with the GPU of this machine: runs every case of t/cases/fidelity on both.
#   OUT=DIR t/gpu/fidelity.sh [FILE...]
# Needs gcc and the driver. Prints a table by family. Writes three files to OUT: fidelity.txt (a line for each
# case), fidelity.err (the differences) and h200.record (the outputs of the GPU). t/cases/fidelity/h200.record is
# such a file; we added a first line with its origin. Exits 77 where there is no GPU.
set -u
cd "$(dirname "$0")/../.." || exit 1
OUT=${OUT:-$(mktemp -d)}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
mkdir -p "$OUT"
[ $# -gt 0 ] || set -- t/cases/fidelity/*.case t/cases/fidelity/*.ops
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# the flags of the Makefile; the compiler must not fuse operations, because PTX says which are fused
flags="-std=gnu17 -D_GNU_SOURCE -iquote src -O2 -w -fno-math-errno -fno-trapping-math -fno-strict-aliasing"
find src/base src/job src/cuda src/device src/emu t/gpu/fidelity*.c -name '*.c' | grep -v -F emu/tensor/tile.c |
    xargs -P "$(nproc)" -I{} sh -c "gcc $flags -ffp-contract=off -c {} -o $tmp/\$(echo {} | tr / _).o" || exit 1
gcc $flags -O3 -ffp-contract=fast -c src/emu/tensor/tile.c -o "$tmp/tile.o" &&
    gcc -o "$tmp/fidelity" "$tmp"/*.o -ldl -lpthread -lm || exit 1

"$tmp/fidelity" --gpu --save "$OUT/h200.record" "$@" >"$OUT/fidelity.txt" 2>"$OUT/fidelity.err"
rc=$?
echo "# emulator against $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1), $(date -u +%F)"
sed -n '/^| family/,$p' "$OUT/fidelity.txt"
cut -c1-220 "$OUT/fidelity.err" | head -"${SHOW:-60}"
exit $rc
