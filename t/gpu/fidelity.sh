#!/usr/bin/env bash
# The emulator against this machine's GPU: every case of t/cases/fidelity on both, outputs compared.
#   OUT=DIR t/gpu/fidelity.sh [FILE...]
# Needs gcc and the driver. Leaves fidelity.txt (a line per case), fidelity.err (what differs) and
# h200.record (what the GPU wrote: t/cases/fidelity/h200.record is one, after a line that says where
# it is from) in OUT and prints the table by family. Exits 77 where there is no GPU.
set -u
cd "$(dirname "$0")/../.." || exit 1
OUT=${OUT:-$(mktemp -d)}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
mkdir -p "$OUT"
[ $# -gt 0 ] || set -- t/cases/fidelity/*.case t/cases/fidelity/*.ops
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# as the Makefile does: PTX says which operations are fused
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
