#!/usr/bin/env bash
# `hone serve` and `hone report --html`: which requests the server allows, what it answers, and that hostile text
# stays text. t/serve_browser.sh tests the pages in a browser.
. "$(dirname "$0")/lib.sh"
command -v curl >/dev/null || skip_all "curl is not installed"
store() { "$ROOT/t/fake/store" "$@"; }

runs 0 "a recording makes a store" "$HONE" optimize --store s.db --out out --quiet \
    --author "replay:$ROOT/t/cases/recordings/team_merge.jsonl"
run=$("$HONE" runs --store s.db --json | sed -n 's/.*"run": "\(.*\)",/\1/p')
evil=$(store s.db hostile)

# ---- the server ----
"$HONE" serve --store s.db --port 0 >link 2>serve.err &
server=$!
trap 'kill $server 2>/dev/null; cd /; rm -rf "$T"' EXIT
for _ in $(seq 100); do [ -s link ] && break; sleep 0.05; done
link=$(cat link)
base=${link%/login*} token=${link#*token=}
port=${base##*:}
get() { # get PATH CURL_OPTION...: sets $code to the status; writes the body to $T/out, the headers to $T/head
    local path=$1
    shift
    code=$(curl -s --path-as-is --max-time 10 -o "$T/out" -D "$T/head" -w '%{http_code}' "$@" "$base$path")
}
status() { # status WANTED DESCRIPTION PATH CURL_OPTION...: checks the status of the answer
    local want=$1 what=$2
    shift 2
    get "$@"
    is "$what" "$code" "$want"
}
head_has() { if grep -qiF -- "$2" "$T/head"; then pass "$1"; else fail "$1" "$(cat "$T/head")"; fi; }

is "the link leads to this machine" "${base%:*}" "http://127.0.0.1"
is "the link has a token of 256 bits" "$(tr -d 0-9a-f <<<"$token" | tr -d '\n' | wc -c) ${#token}" "0 64"
is "the token is on no command line" "$(grep -lF "$token" /proc/[0-9]*/cmdline 2>/dev/null)" ""

status 401 "a request for the page without a cookie is refused" /
out_has "the refusal says which link to open" "Open the link that \`hone serve\` printed"
status 401 "a request for data without a cookie is refused" "/api/runs?before=0"
status 401 "a request for a script without a cookie is refused" /web/app.js
status 401 "a login with a wrong token is refused" "/login?token=$(tr 0-9a-f 1-9a-f0 <<<"$token")"
status 401 "a login with a short token is refused" "/login?token=${token:1}"
status 200 "a login with the right token succeeds" "/login?token=$token"
head_has "the login gives a cookie" "Set-Cookie: hone-$port="
head_has "no script and no other site can use the cookie" "; HttpOnly; SameSite=Strict; Path=/"
is "the cookie is not the token" "$(grep -cF "$token" "$T/head")" 0
cookie=$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' "$T/head")
me=(-H "Cookie: a=b; $cookie")

status 200 "a request with the cookie gets the page" / "${me[@]}"
head_has "the policy of the page allows no inline script" "script-src 'self'; style-src 'self'"
head_has "the policy of the page allows no frame around it" "frame-ancestors 'none'"
head_has "the browser must not guess the type of the page" "X-Content-Type-Options: nosniff"
head_has "the browser must not store the page" "Cache-Control: no-store"
is "the page has no inline script" \
    "$(grep -c '<script' "$T/out")" "$(grep -c '<script src="/web/[a-z]*.js" defer></script>' "$T/out")"
status 200 "a request with the cookie gets the style" /web/style.css "${me[@]}"
head_has "the style has its type" "Content-Type: text/css"
for cut in "${cookie:0:-1}" "${cookie}0" "hone-$port=" "x$cookie" "hone-$port"; do
    status 401 "a cookie that is not the right one is refused: ${cut:0:16}... of ${#cut}" / -H "Cookie: $cut"
done

for host in evil.example:$port "127.0.0.1" "127.0.0.1:1" "localhost.evil:$port" "127.0.0.1:$port.evil" "10.0.0.1:$port" ""; do
    get / "${me[@]}" -H "Host: $host"
    case $code in 421 | 400) pass "Host '$host' is refused" ;; *) fail "Host '$host' is refused" "$code" ;; esac
done
status 200 "the Host localhost is accepted" / "${me[@]}" -H "Host: localhost:$port"
exec 5<>"/dev/tcp/127.0.0.1/$port"
printf 'GET / HTTP/1.1\r\nHost: localhost:%s\r\nHost: evil.example\r\nConnection: close\r\n\r\n' "$port" >&5
read -r _ code _ <&5
exec 5>&-
case $code in 421 | 400) pass "two Host headers are refused" ;; *) fail "two Host headers are refused" "$code" ;; esac
status 403 "a request of another site's script is refused" "/api/runs?before=0" "${me[@]}" -H "Origin: http://evil.example"
status 403 "a request of a script in a file is refused" "/api/runs?before=0" "${me[@]}" -H "Origin: null"
status 200 "a request of the page's own script is accepted" "/api/runs?before=0" "${me[@]}" -H "Origin: $base"
status 403 "a request that the browser calls cross-site is refused" "/api/runs?before=0" "${me[@]}" -H "Sec-Fetch-Site: cross-site"

for method in POST PUT DELETE OPTIONS PATCH TRACE; do
    status 405 "$method is refused" / "${me[@]}" -X $method
done
head_has "the refusal of a method lists the allowed methods" "Allow: GET, HEAD"
status 200 "HEAD is answered without a body" / "${me[@]}" -I
for path in /api/ /api/runs /api/run "/api/run?run=nothing" "/api/run?run=last" "/api/run?run=1" "/api/run?run=${run:0:8}" \
    "/api/run?run=$run&x=1" "/api/run?run=%2e%2e" "/api/run?run=../../etc/passwd" "/api/candidate?run=$run&n=-1" \
    "/api/candidate?run=$run&n=99" "/api/candidate?run=$run&n=1e3" "/api/candidate?run=$run&n=99999999999999999999" \
    "/api/call?run=$run&role=code&n=99" "/api/campaign?name=last" /web/ /web/../Makefile /web/%2e%2e/Makefile //etc/passwd /etc/passwd /tasks/softmax/task.json \
    /web/style.css?x "/api/points?from=0&run=$run" /events/ "/$(printf 'x%.0s' $(seq 600))"; do
    status 404 "there is no page ${path:0:60}" "$path" "${me[@]}"
done
status 413 "a request with a body is refused" / "${me[@]}" -X GET -d x=1
is "a connection is kept for the next request" \
    "$(curl -s -o /dev/null -o /dev/null -w '%{num_connects} ' "${me[@]}" "$base/" "$base/web/style.css")" "1 0 "
get / "${me[@]}" -H "X: $(printf 'x%.0s' $(seq 20000))"
case $code in 431 | 413 | 000) pass "a header of 20 kB is refused" ;; *) fail "a header of 20 kB is refused" "$code" ;; esac

# ---- the answers ----
status 200 "the server answers with the list of runs" "/api/runs?before=0" "${me[@]}"
out_has "the list has the run" "\"run\":\"$run\""
head_has "the list is JSON" "Content-Type: application/json"
status 200 "the server answers with the list of campaigns" "/api/campaigns?before=0" "${me[@]}"
status 200 "the server answers with a run" "/api/run?run=$run" "${me[@]}"
out_has "the run has its recording without the path" '"author":"replay:team_merge.jsonl"'
status 200 "the server answers with the candidates of a run" "/api/points?run=$run&from=0" "${me[@]}"
rows() { grep -o '\[[0-9]*,-\?[0-9]*,"' "$T/out" | wc -l; }
is "the answer has all 7 candidates" "$(rows)" 7
status 200 "the server answers with a candidate" "/api/candidate?run=$run&n=2" "${me[@]}"
out_has "the candidate names the call that wrote it" '"call":{"role":"code","index":0}'
status 200 "the server answers with that call" "/api/call?run=$run&role=code&n=0" "${me[@]}"

store s.db grow "$run" 2500
status 200 "the server answers with the first page of many candidates" "/api/points?run=$run&from=0" "${me[@]}"
is "a page of candidates has at most 2000 rows" "$(rows)" 2000
out_has "the first page says where the next page begins" '"next":2000}'
ok "a page of candidates has less than 1 MB" \
    test "$(curl -s "${me[@]}" "$base/api/points?run=$run&from=0" | wc -c)" -lt 1048576
status 200 "the server answers with the second page of candidates" "/api/points?run=$run&from=2000" "${me[@]}"
is "the second page has the other candidates" "$(rows)" 507
out_lacks "the second page is the last one" '"next"'

# ---- hostile texts ----
for q in "run?run=$evil" "points?run=$evil&from=0" "candidate?run=$evil&n=0" "candidate?run=$evil&n=1" "call?run=$evil&role=code&n=0"; do
    status 200 "the server answers with a hostile run: ${q%%\?*}" "/api/$q" "${me[@]}"
    out_has "${q%%\?*}: the answer has the hostile text" '<script>window.alarm'
    cp "$T/out" "answer-${q//[?&=]/-}"
    head_has "${q%%\?*}: the answer is JSON, never markup" "Content-Type: application/json"
done

ok "all answers about the hostile run are valid JSON" \
    python3 -c 'import glob, json; [json.load(open(f)) for f in glob.glob("answer-*")]'

# ---- events ----
curl -sN --max-time 8 "${me[@]}" "$base/events" >events 2>/dev/null &
listener=$!
for _ in $(seq 40); do [ -s events ] && break; sleep 0.05; done
begun=$(store s.db add "$run")
for _ in $(seq 80); do grep -q '"candidates":2508' events && break; sleep 0.025; done
took=$((($(date +%s%N) - begun) / 1000000))
if [ $took -lt 2000 ]; then pass "the server reports a new candidate within 2 s"; else
    fail "the server reports a new candidate within 2 s" "$took ms: $(cat events)"
fi
ok "the change comes as an event" grep -qx "event: change" events
status 200 "the server answers with the new candidate" "/api/candidate?run=$run&n=2507" "${me[@]}"
is "the server changed nothing in the store" "$("$HONE" runs --store s.db --check --json | grep -c '"run"')" 2

kill $server
wait $server
is "a signal ends the server well, even with a listener" "$?" 0
kill $listener 2>/dev/null
is "the server printed nothing on stderr" "$(cat serve.err)" ""

# ---- a browser, and another address ----
# This script stands in for the browser. It writes the number of its arguments, and the mode, the owner and the text of
# the file that it gets, to `opened`.
mkdir bin
cat >bin/xdg-open <<'SH'
#!/bin/sh
{ printf '%s %s\n' "$#" "$(stat -c '%a %u' "$1")"; cat "$1"; } >opened.partial
mv opened.partial opened
SH
chmod +x bin/xdg-open
wait_for() { for _ in $(seq 100); do [ -s "$1" ] && break; sleep 0.05; done; }
PATH=$PWD/bin:$PATH "$HONE" serve --store s.db --port 0 --open >link2 2>serve.err &
server=$!
wait_for opened
link=$(cat link2)
is "--open gives the browser a file that only its owner can read" "$(head -1 opened)" "1 600 $(id -u)"
ok "the file of --open leads to the link" grep -qF "url=$link" opened
is "the token of --open is in no command line" "$(grep -lF "${link#*token=}" /proc/[0-9]*/cmdline 2>/dev/null)" ""
kill $server
wait $server
"$HONE" serve --store s.db --port 0 --address 0.0.0.0 >link3 2>serve.err &
server=$!
wait_for link3
ok "--address with another address warns that there is no TLS" grep -q "TLS" serve.err
ok "the warning about TLS names a tunnel" grep -q "tunnel\|ssh -L" serve.err
kill $server
wait $server

runs 1 "hone serve without a store is an error" "$HONE" serve --store none.db
err_has "the message says what makes a store" "hone optimize"
runs 2 "a port above 65535 is a usage error" "$HONE" serve --store s.db --port 70000
runs 2 "--address with a name of a host is a usage error" "$HONE" serve --store s.db --address example.com
runs 2 "hone serve with an operand is a usage error" "$HONE" serve x

# ---- the report as one file ----
runs 0 "hone report --html writes a run into one file" "$HONE" report "$evil" --store s.db --html "$T/evil.html"
is "hone report --html prints the name of the file" "$(cat "$T/out")" "$T/evil.html"
is "the hostile texts are no markup in the file" "$(grep -c 'window.alarm' "$T/evil.html")" 0
is "the file has one script that runs" "$(grep -c '<script>' "$T/evil.html")" 1
ok "the policy of the file allows only its own script and style" \
    grep -q "default-src 'none'.*script-src 'sha256-[A-Za-z0-9+/]*='; style-src 'sha256-" "$T/evil.html"
is "the file loads nothing" "$(grep -cE '(src|href)="[^#]' "$T/evil.html")" 0
runs 0 "hone report --html writes another run" "$HONE" report "$run" --store s.db --html r.html
runs 0 "hone report --html --without-prompts exits with 0" \
    "$HONE" report "$run" --store s.db --html short.html --without-prompts
python3 - "$ROOT" r.html short.html >seen <<'PY'
import base64, json, re, sys, zlib
roots = "|".join(f"/{re.escape(d)}/" for d in ["home", "root", "tmp", sys.argv[1].split("/")[1]])
for name in sys.argv[2:]:
    data = re.search(r'id="answers">\n(.*?)</script>', open(name).read(), re.S).group(1)
    j = json.loads(zlib.decompress(base64.b64decode(data)))
    kinds = sorted({k.split("?")[0] for k in j["answers"]})
    print(name, *kinds, "paths:", len(re.findall(rf'"[^"]*(?:{roots})', json.dumps(j))))
PY
is "both files have the right answers, and no path of this machine" "$(cat seen)" \
    "r.html call candidate points run runs paths: 0
short.html candidate points run runs paths: 0"
ok "the file of a run with more than 500 candidates has less than 2 MB" test "$(stat -c %s r.html)" -lt 2000000
runs 2 "--without-prompts without --html is a usage error" "$HONE" report "$run" --store s.db --without-prompts
runs 1 "hone report --html fails for an unknown run" "$HONE" report nothing --store s.db --html x.html
done_testing
