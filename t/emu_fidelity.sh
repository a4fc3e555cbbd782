#!/usr/bin/env bash
# Runs every instruction family, in PTX, on the emulator with the sanitizer. There must be no
# findings, and the output must be the same as on an H200 (h200.record; t/gpu/fidelity.sh makes that
# file on a GPU).
. "$(dirname "$0")/lib.sh"

cd "$ROOT" || exit 1
fidelity=build/${MODE:-release}/fidelity cases=t/cases/fidelity
for f in $cases/*.case $cases/*.ops; do
    runs 0 "${f##*/}" "$fidelity" --quiet --against $cases/h200.record "$f"
done

# One wrong bit, or one changed input, in the record is noticed.
sed '/^int.ops 3 /s/= ./= x/' $cases/h200.record >"$T/bit"
runs 1 "another output than the GPU's" "$fidelity" --quiet --against "$T/bit" $cases/int.ops
err_has "is named" "is not what the GPU wrote"
sed '/^int.ops 3 /s/ 3 ./ 3 x/' $cases/h200.record >"$T/input"
runs 1 "a record of other inputs" "$fidelity" --quiet --against "$T/input" $cases/int.ops
err_has "is stale" "has changed since it was recorded"
done_testing
