#!/usr/bin/env bash
# Tests `hone serve` under load. For SERVE_SECONDS (60), LISTENERS (200) clients listen to events and RATE (2000)
# requests a second come in, while a process writes to the store. Then broken requests come in for FUZZ (600) seconds.
# Then clients stop in the middle of a request for IDLE (30) seconds. `make soak` also runs this test with MODE=asan,
# where the server is slow and its memory grows. A short form:
#   SERVE_SECONDS=2 FUZZ=2 IDLE=0 LISTENERS=50 RATE=400 t/torture/serve.sh
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
at_most() { # at_most DESCRIPTION VALUE MOST
    if awk "BEGIN { exit !($2 <= $3) }"; then pass "$1 is at most $3 ($2)"; else fail "$1 is at most $3 ($2)" "$(cat "$T/out")"; fi
}

timeout $((seconds + 120)) "$ROOT/t/fake/http_load" load "$(cat link)" s.db "$run" $server "$seconds" "$listeners" "$rate" >"$T/out" 2>"$T/err"
is "with $listeners listeners and $rate requests a second there is no error" "$(field errors)$(cat "$T/err")" 0
[ "$listeners" -lt 200 ] || at_most "the number of requests a second that the server does not answer in time" $((rate - $(field rate))) $((rate / 20))
at_most "the server's share of one core in percent" "$(field cpu_pct)" "${MAX_CPU:-50}"
at_most "the growth of the server's memory in kB" "$(field grown_kb)" "${MAX_GROWN_KB:-2048}"
at_most "the time of the slowest write to the store in ms" "$(field slowest_write_ms)" "$slow"
if [ "$(field events)" -ge "$listeners" ]; then pass "every listener gets events"; else fail "every listener gets events" "$(cat "$T/out")"; fi
cp "$T/out" load.txt

timeout $((fuzz + 60)) "$ROOT/t/fake/http_load" fuzz "$(cat link)" "$fuzz" >"$T/out" 2>"$T/err"
is "the server answers after $(field sent) broken requests" "$(field status)$(cat "$T/err")" 200
is "no answer to a broken request is wrong" "$(field wrong)$(grep '^# ' "$T/out")" 0
if [ "$idle" -gt 0 ]; then
    timeout $((idle + 120)) "$ROOT/t/fake/http_load" idle "$(cat link)" "$idle" >"$T/out" 2>"$T/err"
    is "the server drops clients that stop in the middle of a request, and answers others" "$(field dropped) $(field status)$(cat "$T/err")" "30 200"
fi
ok "the server still runs" kill -0 $server
kill $server
wait $server
is "a signal ends the server with status 0" "$?" 0
is "the server printed nothing on stderr" "$(cat serve.err)" ""
sed 's/^/# /' load.txt >&2
done_testing
