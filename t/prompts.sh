#!/usr/bin/env bash
# The length of the prompts of the recorded runs (docs/prompts.md has the table). For each candidate they have at
# most 60% of 16,794 input tokens, the length of an earlier version of the prompts. In at least 51 prompts, half of
# the tokens or more are also the beginning of the previous prompt of the same role.
. "$(dirname "$0")/lib.sh"
in_tier rest || skip_all "make test-all runs this"
runs 0 "the prompts are short, and begin like the prompts before them" "$ROOT/bench/prompts.py" --most 10076.5 --half 51 "$HONE"
out_has "the table has a row for a run" "| search_softmax |"
out_has "the table has a row for a part of the prompts" "| contract |"
runs 1 "bench/prompts.py fails if the prompts are too long" "$ROOT/bench/prompts.py" --most 100 "$HONE"
err_has "the message gives the limit of tokens" "more than 100 tokens"
done_testing
