#!/usr/bin/env bash
# `hone optimize` with a real model server: `transformers serve` on the CPU, with small models of random weights. The
# replies are nonsense. Every run must end with a message that says why it ended.
. "$(dirname "$0")/lib.sh"
in_tier rest || skip_all "make test-all runs this"
python=${HONE_SERVER_PYTHON:-$ROOT/.deps/model-server/bin/python}
[ -x "$python" ] && "$python" -c 'import torch, transformers, fastapi, uvicorn, openai, accelerate' 2>"$T/err" ||
    skip_all "no model server: \`tools/setup model-server\` installs one, or set HONE_SERVER_PYTHON"
export HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1

serve() { # serve: starts the server on a free port and waits for it
    port=$("$python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$python" -m transformers.cli.transformers serve --host 127.0.0.1 --port "$port" --device cpu >"$T/server" 2>&1 &
    server=$!
    export OPENAI_BASE_URL=http://127.0.0.1:$port/v1 OPENAI_API_KEY=none-needed
    for _ in $(seq 120); do
        curl -sf "http://127.0.0.1:$port/health" >/dev/null && return
        kill -0 $server 2>/dev/null || break
        sleep 0.5
    done
    fail "the model server starts" "$(tail -20 "$T/server")"
    done_testing
}
end_server() { kill -9 $server 2>/dev/null; wait $server 2>/dev/null; }
trap 'end_server; cd /; rm -rf "$T"' EXIT
options=(vector_add --device emu --skip-baselines --tries 1)
optimize() { "$HONE" optimize "${options[@]}" "$@" >"$T/out" 2>"$T/err" </dev/null; }
log() { "$HONE" log last >"$T/out" 2>"$T/err"; }

text=("$ROOT"/prompts/*.md "$ROOT"/kernels/*.cu)
ok "the small models are made" "$python" "$ROOT/t/cases/server/tiny_model" "$T/models" "${text[@]}"
serve

# ---- a whole run: streaming, token counts, the end of a reply
optimize --author "openai:$T/models/short"
is "a run with nonsense replies ends without a kernel" $? 1
err_has "the run says that no first kernel passed" "stopped: no first kernel passed in 1 tries"
log
is "the log has the token counts of the server" "$(grep -cE '^code +[01] +ok +[0-9]{4,} in +[0-9]+ out' "$T/out")" 2
"$HONE" runs --json >"$T/out"
out_has "the state of the run is stopped" '"state": "stopped"'

# ---- the token limit cuts off a reply that does not end
optimize --author "openai:$T/models/endless" --budget-tokens 10
err_has "a budget that pays for no call ends the run" "the budget of 10 tokens is used up"
prompt=$(sed -n 's/.*a prompt of about \([0-9]*\) tokens.*/\1/p' "$T/err")
budget=$((prompt + 2100)) # a reply of 2100 tokens
optimize --author "openai:$T/models/endless" --budget-tokens $budget
err_has "a budget ends a run whose replies do not end" "stopped: the budget of $budget tokens is used up"
log
out_has "the server obeys the token limit that Hone sends" "the budget pays for a reply of"
out_has "the server says that the token limit ended the reply" "cut off at the token limit"
spent=$("$HONE" runs --json | "$python" -c 'import json, sys
r = json.load(sys.stdin)[-1]; print(r["in_tokens"] + r["out_tokens"])')
is "the run does not overdraw its budget of tokens" $((spent > 2100 && spent <= budget)) 1

# ---- a prompt that is longer than the model's context
optimize --author "openai:$T/models/narrow" --budget-time 15s
err_has "a prompt that is too long for the model gives the server's error" "index out of range"

# ---- the server dies in the middle of a reply
before=$(grep -c "models/endless" "$T/server")
"$HONE" optimize "${options[@]}" --author "openai:$T/models/endless" >"$T/out" 2>"$T/err" </dev/null &
run=$!
for _ in $(seq 300); do
    [ "$(grep -c "models/endless" "$T/server")" -gt "$before" ] && break
    sleep 0.1
done
sleep 1
end_server
for _ in $(seq 200); do
    grep -q "no connection" "$T/err" && break
    sleep 0.1
done
err_has "the run says that the server is gone" "no connection"
kill -TERM $run
wait $run
is "a run that waits for a lost server can be interrupted" $? 130
serve
"$HONE" resume last --author "openai:$T/models/short" >"$T/out" 2>"$T/err" </dev/null
is "a run whose server died can be resumed with another server" $? 1
err_has "the resumed run comes to its end" "stopped: no first kernel passed in 1 tries"
done_testing
