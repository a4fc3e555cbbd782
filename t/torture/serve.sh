#!/usr/bin/env bash
# hone serve under load: LISTENERS (200) clients on server-sent events and RATE (2000) requests a second
# for SERVE_SECONDS (60), while a process writes to the store; then broken requests for FUZZ (600)
# seconds, and clients that stop in the middle.
# SERVE_SECONDS=2 FUZZ=2 IDLE=0 LISTENERS=50 RATE=400 t/torture/serve.sh
. "$(dirname "$0")/../lib.sh"
seconds=${SERVE_SECONDS:-60} listeners=${LISTENERS:-200} rate=${RATE:-2000} fuzz=${FUZZ:-600} idle=${IDLE:-30}
slow=${SLOWEST_MS:-50}
"$HONE" optimize --store s.db --out out --quiet --author "replay:$ROOT/t/cases/recordings/team_merge.jsonl" >/dev/null 2>&1
run=$("$HONE" runs --store s.db --json | sed -n 's/.*"run": "\(.*\)",/\1/p')
"$HONE" serve --store s.db --port 0 >link 2>serve.err &
server=$!
trap 'kill $server 2>/dev/null; cd /; rm -rf "$T"' EXIT
for _ in $(seq 100); do [ -s link ] && break; sleep 0.05; done
field() { sed -n "s/^$1=//p" "$T/out"; }
at_most() { if awk "BEGIN { exit !($2 <= $3) }"; then pass "$1: $2, at most $3"; else fail "$1: $2, at most $3" "$(cat "$T/out")"; fi; }

timeout $((seconds + 120)) "$ROOT/t/fake/http_load" load "$(cat link)" s.db "$run" $server "$seconds" "$listeners" "$rate" >"$T/out" 2>"$T/err"
is "$listeners listeners and $rate requests a second: no error" "$(field errors)$(cat "$T/err")" 0
[ "$listeners" -lt 200 ] || at_most "the server fell behind by requests a second" $((rate - $(field rate))) $((rate / 20))
at_most "percent of one core" "$(field cpu_pct)" "${MAX_CPU:-50}"
at_most "kB that the server grew" "$(field grown_kb)" 2048
at_most "ms of the slowest write to the store" "$(field slowest_write_ms)" "$slow"
if [ "$(field events)" -ge "$listeners" ]; then pass "every listener heard of changes"; else fail "every listener heard of changes" "$(cat "$T/out")"; fi
cp "$T/out" load.txt

timeout $((fuzz + 60)) "$ROOT/t/fake/http_load" fuzz "$(cat link)" "$fuzz" >"$T/out" 2>"$T/err"
is "$(field sent) broken requests: it still answers" "$(field status)$(cat "$T/err")" 200
if [ "$idle" -gt 0 ]; then
    timeout $((idle + 120)) "$ROOT/t/fake/http_load" idle "$(cat link)" "$idle" >"$T/out" 2>"$T/err"
    is "clients that stop in the middle are dropped after $idle s, others answered" "$(field dropped) $(field status)$(cat "$T/err")" "30 200"
fi
ok "it lives" kill -0 $server
kill $server
wait $server
is "and ends well" "$?" 0
is "it said nothing" "$(cat serve.err)" ""
sed 's/^/# /' load.txt >&2
done_testing
