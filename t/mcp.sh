#!/usr/bin/env bash
# `hone mcp`. `make test` drives it over pipes (t/mcp/quick.py). `make test-all` also uses the
# protocol's own client library (t/mcp/client.py), which tools/setup installs.
. "$(dirname "$0")/lib.sh"
share_cache
export HONE

tap() { # tap COMMAND...: turns its lines "ok NAME" and "not ok NAME<tab>DETAIL" into checks
    local line ended
    while IFS= read -r line; do
        case $line in
        "ok "*) pass "${line#ok }" ;;
        "not ok "*) line=${line#not ok } && fail "${line%%$'\t'*}" "${line#*$'\t'}" ;;
        "ended "*) ended=${line#ended } ;;
        *) printf '# %s\n' "$line" >&2 ;;
        esac
    done < <("$@" 2>"$T/err"; echo "ended $?")
    is "$(basename "$2") ran to its end" "${ended-}$(tail -5 "$T/err")" 0
}

if in_tier quick; then
    runs 2 "hone mcp without --dir is a usage error" "$HONE" mcp
    runs 3 "hone mcp with a directory that does not exist is an error" "$HONE" mcp --dir none
    runs 2 "an author that costs money without a budget is a usage error" "$HONE" mcp --dir . --author openai:x
    err_has "the message about the author names --budget-usd" "--budget-usd"
    runs 0 "hone mcp ends if its input ends" "$HONE" mcp --dir .
    is "hone mcp prints nothing if it gets no request" "$(cat "$T/out")" ""
    cp "$ROOT/t/cases/replay/refine.jsonl" .
    tap python3 "$ROOT/t/mcp/quick.py" "$ROOT"
fi
if in_tier rest; then
    "$ROOT/tools/setup" mcp >"$T/setup" 2>&1
    python=$ROOT/.deps/mcp/bin/python
    if [ -x "$python" ]; then
        mkdir rest && cd rest && cp "$ROOT/t/cases/replay/refine.jsonl" .
        find_torch || { unset HONE_PYTHON && skip "an import with PyTorch" "$(tail -1 "$T/setup")"; }
        tap "$python" "$ROOT/t/mcp/client.py" "$ROOT"
    else
        skip "hone mcp works with the protocol's own client library" "tools/setup cannot install it: $(tail -1 "$T/setup")"
    fi
fi
done_testing
