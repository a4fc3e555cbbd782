#!/usr/bin/env bash
# Every instruction family, in PTX, on the emulator with the sanitizer: it runs, nothing is
# found. On a machine with a GPU the outputs are compared too (--gpu; see t/gpu/fidelity.c).
. "$(dirname "$0")/lib.sh"

cd "$ROOT" || exit 1
for f in t/cases/fidelity/*.case t/cases/fidelity/*.ops; do
    runs 0 "${f##*/}" "$ROOT/build/${MODE:-release}/fidelity" --quiet "$f"
done
done_testing
