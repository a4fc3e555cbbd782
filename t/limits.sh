#!/usr/bin/env bash
# Author calls at the same time do not overdraw a budget of tokens or money. `hone bench` and `hone optimize` ask
# fake/limited_provider, whose replies are long.
. "$(dirname "$0")/lib.sh"

# ask_fake REPLY_TOKENS: starts the provider and sets the variables of the author openai:fake
ask_fake() {
    coproc FAKE { "$ROOT/t/fake/limited_provider" last 100000 1000000000 60 "$1"; }
    read -r port <&"${FAKE[0]}"
    export OPENAI_BASE_URL=http://127.0.0.1:$port/v1 OPENAI_API_KEY=sk-test-0123456789
}
end_fake() { kill "$FAKE_PID" && wait "$FAKE_PID" 2>/dev/null; }
tokens() { curl -s "http://127.0.0.1:$port/count" | sed 's/.*"tokens": \([0-9]*\).*/\1/'; }
within() { if [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; then pass "$1"; else fail "$1" "$2, not $3 to $4"; fi; }

ask_fake 9000
"$HONE" optimize vector_add --device emu --author openai:fake --tries 1 --skip-baselines >"$T/out" 2>"$T/err"
[ $? != 3 ] || skip_all "$(head -1 "$T/err")" # no CUDA compiler to judge with
end_fake

bench() { "$HONE" bench softmax layernorm rmsnorm vector_add --device emu --smoke --skip-baselines --jobs 4 "$@"; }
ask_fake 9000 # four calls at once would spend 80,000 tokens
bench --author openai:fake --budget-tokens 60000 -q >"$T/out" 2>"$T/err"
within "the tasks of a campaign do not overdraw its budget of tokens" "$(tokens)" 30000 60000
out_has "a task says that the budget of tokens is used up" "the budget of 60000 tokens is used up"
spent=$(tokens)
bench --resume last --retry --budget-tokens 60000 -q >"$T/out" 2>"$T/err"
within "a resumed campaign does not overdraw its budget of tokens" "$(tokens)" "$spent" 60000
end_fake

ask_fake 9000
cat >prices.json <<'END'
{"models": [{"match": "fake", "in": 10, "out": 100}]}
END
export HONE_PRICES=$PWD/prices.json
bench --author openai:fake --budget-usd 3 --json >"$T/out" 2>"$T/err"
is "the tasks of a campaign do not overdraw its budget of money" "$("$HONE" runs --json | python3 -c '
import json, sys
print(0 < sum(r["usd"] for r in json.load(sys.stdin)) <= 3)')" True
end_fake

ask_fake 9000
"$HONE" optimize vector_add --device emu --author openai:fake --strategy sample --steps 8 --wave 8 --skip-baselines \
    --budget-tokens 40000 >"$T/out" 2>"$T/err"
within "the calls of one run do not overdraw its budget of tokens" "$(tokens)" 15000 40000
err_has "the run says that its budget of tokens is used up" "stopped: the budget of 40000 tokens is used up"
end_fake
done_testing
