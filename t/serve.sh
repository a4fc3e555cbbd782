#!/usr/bin/env bash
# `hone serve` and `hone report --html`: which requests are allowed, what the answers are, and that hostile
# text stays text. t/serve_browser.sh tests the pages themselves in a browser.
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
get() { # get PATH [CURL OPTIONS]: the status in $code, the body in $T/out, the headers in $T/head
    local path=$1
    shift
    code=$(curl -s --path-as-is --max-time 10 -o "$T/out" -D "$T/head" -w '%{http_code}' "$@" "$base$path")
}
status() { # status WANTED DESCRIPTION PATH [CURL OPTIONS]
    local want=$1 what=$2
    shift 2
    get "$@"
    is "$what" "$code" "$want"
}
head_has() { if grep -qiF -- "$2" "$T/head"; then pass "$1"; else fail "$1" "$(cat "$T/head")"; fi; }

is "the link is on this machine" "${base%:*}" "http://127.0.0.1"
is "with a token of 256 bits" "$(tr -d 0-9a-f <<<"$token" | tr -d '\n' | wc -c) ${#token}" "0 64"
is "which is in no command line" "$(grep -lF "$token" /proc/[0-9]*/cmdline 2>/dev/null)" ""

status 401 "no cookie: no page" /
out_has "says what to do" "Open the link that \`hone serve\` printed"
status 401 "no cookie: no data" "/api/runs?before=0"
status 401 "no cookie: no asset" /web/app.js
status 401 "a wrong token" "/login?token=$(tr 0-9a-f 1-9a-f0 <<<"$token")"
status 401 "a short token" "/login?token=${token:1}"
status 200 "the right token" "/login?token=$token"
head_has "gives a cookie" "Set-Cookie: hone-$port="
head_has "that no script and no other site can use" "; HttpOnly; SameSite=Strict; Path=/"
is "the cookie is not the token" "$(grep -cF "$token" "$T/head")" 0
cookie=$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' "$T/head")
me=(-H "Cookie: a=b; $cookie")

status 200 "the page" / "${me[@]}"
head_has "its policy allows no inline script" "script-src 'self'; style-src 'self'"
head_has "and no frame around it" "frame-ancestors 'none'"
head_has "its type is not guessed" "X-Content-Type-Options: nosniff"
head_has "it is not kept" "Cache-Control: no-store"
is "it has no inline script" "$(grep -c '<script' "$T/out")" "$(grep -c '<script src="/web/[a-z]*.js" defer></script>' "$T/out")"
status 200 "an asset" /web/style.css "${me[@]}"
head_has "with its type" "Content-Type: text/css"
for cut in "${cookie:0:-1}" "${cookie}0" "hone-$port=" "x$cookie" "hone-$port"; do
    status 401 "not the cookie: ${cut:0:16}... of ${#cut}" / -H "Cookie: $cut"
done

for host in evil.example:$port "127.0.0.1" "127.0.0.1:1" "localhost.evil:$port" "127.0.0.1:$port.evil" "10.0.0.1:$port" ""; do
    get / "${me[@]}" -H "Host: $host"
    case $code in 421 | 400) pass "Host '$host' is refused" ;; *) fail "Host '$host' is refused" "$code" ;; esac
done
status 200 "localhost is this server" / "${me[@]}" -H "Host: localhost:$port"
status 403 "another site's script" "/api/runs?before=0" "${me[@]}" -H "Origin: http://evil.example"
status 403 "a file's script" "/api/runs?before=0" "${me[@]}" -H "Origin: null"
status 200 "its own script" "/api/runs?before=0" "${me[@]}" -H "Origin: $base"
status 403 "a request that the browser calls cross-site" "/api/runs?before=0" "${me[@]}" -H "Sec-Fetch-Site: cross-site"

for method in POST PUT DELETE OPTIONS PATCH TRACE; do
    status 405 "$method is refused" / "${me[@]}" -X $method
done
head_has "and it says what is allowed" "Allow: GET, HEAD"
status 200 "HEAD is a GET without a body" / "${me[@]}" -I
for path in /api/ /api/runs /api/run "/api/run?run=nothing" "/api/run?run=last" "/api/run?run=1" "/api/run?run=${run:0:8}" \
    "/api/run?run=$run&x=1" "/api/run?run=%2e%2e" "/api/run?run=../../etc/passwd" "/api/candidate?run=$run&n=-1" \
    "/api/candidate?run=$run&n=99" "/api/candidate?run=$run&n=1e3" "/api/candidate?run=$run&n=99999999999999999999" \
    "/api/call?run=$run&role=code&n=99" "/api/campaign?name=last" /web/ /web/../Makefile /web/%2e%2e/Makefile //etc/passwd /etc/passwd /tasks/softmax/task.json \
    /web/style.css?x "/api/points?from=0&run=$run" /events/ "/$(printf 'x%.0s' $(seq 600))"; do
    status 404 "no such page: ${path:0:60}" "$path" "${me[@]}"
done
status 413 "a request with a body" / "${me[@]}" -X GET -d x=1
is "a connection is kept for the next request" \
    "$(curl -s -o /dev/null -o /dev/null -w '%{num_connects} ' "${me[@]}" "$base/" "$base/web/style.css")" "1 0 "
get / "${me[@]}" -H "X: $(printf 'x%.0s' $(seq 20000))"
case $code in 431 | 413 | 000) pass "a header of 20 kB is refused" ;; *) fail "a header of 20 kB is refused" "$code" ;; esac

# ---- the answers ----
status 200 "the runs" "/api/runs?before=0" "${me[@]}"
out_has "with the run" "\"run\":\"$run\""
head_has "as JSON" "Content-Type: application/json"
status 200 "the campaigns" "/api/campaigns?before=0" "${me[@]}"
status 200 "a run" "/api/run?run=$run" "${me[@]}"
out_has "without the path of its recording" '"author":"replay:team_merge.jsonl"'
status 200 "its candidates" "/api/points?run=$run&from=0" "${me[@]}"
rows() { grep -o '\[[0-9]*,-\?[0-9]*,"' "$T/out" | wc -l; }
is "all of them" "$(rows)" 7
status 200 "a candidate" "/api/candidate?run=$run&n=2" "${me[@]}"
out_has "with the call that wrote it" '"call":{"role":"code","index":0}'
status 200 "that call" "/api/call?run=$run&role=code&n=0" "${me[@]}"

store s.db grow "$run" 2500
status 200 "a page of candidates" "/api/points?run=$run&from=0" "${me[@]}"
is "has at most 2000 rows" "$(rows)" 2000
out_has "says where to go on" '"next":2000}'
ok "and is less than 1 MB" test "$(curl -s "${me[@]}" "$base/api/points?run=$run&from=0" | wc -c)" -lt 1048576
status 200 "the next page" "/api/points?run=$run&from=2000" "${me[@]}"
is "has the others" "$(rows)" 507
out_lacks "and is the last" '"next"'

# ---- texts from outside ----
for q in "run?run=$evil" "points?run=$evil&from=0" "candidate?run=$evil&n=0" "candidate?run=$evil&n=1" "call?run=$evil&role=code&n=0"; do
    status 200 "a hostile run: ${q%%\?*}" "/api/$q" "${me[@]}"
    out_has "${q%%\?*}: its texts are all there, as JSON" '<script>window.alarm'
    cp "$T/out" "answer-${q//[?&=]/-}"
    head_has "${q%%\?*}: and never markup" "Content-Type: application/json"
done

ok "all answers are valid" python3 -c 'import glob, json; [json.load(open(f)) for f in glob.glob("answer-*")]'

# ---- events ----
curl -sN --max-time 8 "${me[@]}" "$base/events" >events 2>/dev/null &
listener=$!
for _ in $(seq 40); do [ -s events ] && break; sleep 0.05; done
begun=$(store s.db add "$run")
for _ in $(seq 80); do grep -q '"candidates":2508' events && break; sleep 0.025; done
took=$((($(date +%s%N) - begun) / 1000000))
if [ $took -lt 2000 ]; then pass "a new candidate is told in $took ms"; else fail "a new candidate is told in $took ms" "$(cat events)"; fi
ok "as an event" grep -qx "event: change" events
status 200 "and it is there" "/api/candidate?run=$run&n=2507" "${me[@]}"
is "the server wrote nothing to the store" "$("$HONE" runs --store s.db --check --json | grep -c '"run"')" 2

kill $server
wait $server
is "a signal ends it well, with a listener" "$?" 0
kill $listener 2>/dev/null
is "and it said nothing else" "$(cat serve.err)" ""

runs 1 "no store" "$HONE" serve --store none.db
err_has "says what makes one" "hone optimize"
runs 2 "a port that is none" "$HONE" serve --store s.db --port 70000
runs 2 "an address that is none" "$HONE" serve --store s.db --address example.com
runs 2 "an operand" "$HONE" serve x

# ---- the report as one file ----
runs 0 "a run as one file" "$HONE" report "$evil" --store s.db --html "$T/evil.html"
is "names the file" "$(cat "$T/out")" "$T/evil.html"
is "its texts are not markup" "$(grep -c 'window.alarm' "$T/evil.html")" 0
is "it has one script that runs" "$(grep -c '<script>' "$T/evil.html")" 1
ok "and a policy that allows only it" grep -q "default-src 'none'.*script-src 'sha256-[A-Za-z0-9+/]*='; style-src 'sha256-" "$T/evil.html"
is "it loads nothing" "$(grep -cE '(src|href)="[^#]' "$T/evil.html")" 0
runs 0 "another" "$HONE" report "$run" --store s.db --html r.html
runs 0 "without prompts" "$HONE" report "$run" --store s.db --html short.html --without-prompts
python3 - "$ROOT" r.html short.html >seen <<'PY'
import base64, json, re, sys, zlib
roots = "|".join(f"/{re.escape(d)}/" for d in ["home", "root", "tmp", sys.argv[1].split("/")[1]])
for name in sys.argv[2:]:
    data = re.search(r'id="answers">\n(.*?)</script>', open(name).read(), re.S).group(1)
    j = json.loads(zlib.decompress(base64.b64decode(data)))
    kinds = sorted({k.split("?")[0] for k in j["answers"]})
    print(name, *kinds, "paths:", len(re.findall(rf'"[^"]*(?:{roots})', json.dumps(j))))
PY
is "both hold what they should, and no path of this machine" "$(cat seen)" \
    "r.html call candidate points run runs paths: 0
short.html candidate points run runs paths: 0"
ok "a run of 500 candidates and more is still small" test "$(stat -c %s r.html)" -lt 2000000
runs 2 "--without-prompts alone" "$HONE" report "$run" --store s.db --without-prompts
runs 1 "no such run" "$HONE" report nothing --store s.db --html x.html
done_testing
