#!/usr/bin/env bash
# Runs every instruction family, in PTX, on the emulator with the sanitizer. There must be no
# findings, and the output must be the same as on an H200 (h200.record; t/gpu/fidelity.sh makes that
# file on a GPU).
. "$(dirname "$0")/lib.sh"

cd "$ROOT" || exit 1
fidelity=build/${MODE:-release}/fidelity cases=t/cases/fidelity
for f in $cases/*.case $cases/*.ops; do
    runs 0 "${f##*/}: the emulator agrees with the H200" "$fidelity" --quiet --against $cases/h200.record "$f"
done

# The program `fidelity` notices one wrong bit, or one changed input, in the record.
sed '/^int.ops 3 /s/= ./= x/' $cases/h200.record >"$T/bit"
runs 1 "an output that differs from the record fails" "$fidelity" --quiet --against "$T/bit" $cases/int.ops
err_has "the message says that the output differs from the GPU's" "is not what the GPU wrote"
sed '/^int.ops 3 /s/ 3 ./ 3 x/' $cases/h200.record >"$T/input"
runs 1 "a record of other inputs fails" "$fidelity" --quiet --against "$T/input" $cases/int.ops
err_has "the message says that the case has changed since it was recorded" "has changed since it was recorded"
done_testing
