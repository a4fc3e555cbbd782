#!/usr/bin/env bash
# The length of the prompts of the recorded runs (docs/prompts.md has the table). For each candidate they take
# at most 60% of 16,794 input tokens, which an earlier version of the prompts took. At least half of most
# prompts is, byte for byte, the beginning of the role's previous prompt.
. "$(dirname "$0")/lib.sh"
in_tier rest || skip_all "make test-all runs this"
runs 0 "the prompts are short, and begin alike" "$ROOT/bench/prompts.py" --most 10076.5 --half 51 "$HONE"
out_has "every run is counted" "| search_softmax |"
out_has "by part" "| contract |"
runs 1 "a limit can fail" "$ROOT/bench/prompts.py" --most 100 "$HONE"
err_has "and says so" "more than 100 tokens"
done_testing
