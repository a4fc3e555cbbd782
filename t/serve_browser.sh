#!/usr/bin/env bash
# Every view of `hone serve` and of a report file in headless Chromium: contents, live changes, keys,
# names, contrast, hostile texts. SHOTS=DIR keeps the screenshots.
. "$(dirname "$0")/lib.sh"
in_tier rest || skip_all "make test-all runs this"
command -v chromium >/dev/null || skip_all "Chromium is not here and cannot be installed (Debian: chromium)"

"$HONE" optimize --store s.db --out out --quiet --author "replay:$ROOT/t/cases/recordings/team_merge.jsonl" >/dev/null 2>&1
run=$("$HONE" runs --store s.db --json | sed -n 's/.*"run": "\(.*\)",/\1/p')
hostile=$("$ROOT/t/fake/store" s.db hostile)
campaign=$("$ROOT/t/fake/store" s.db campaign "$run" "$hostile")
"$HONE" serve --store s.db --port 0 >link 2>serve.err &
server=$!
trap 'kill $server 2>/dev/null; cd /; rm -rf "$T"' EXIT
for _ in $(seq 100); do [ -s link ] && break; sleep 0.05; done
shots=${SHOTS:-$T/shots}
mkdir -p "$shots"
"$HONE" report "$hostile" --store s.db --html "$T/evil.html" >/dev/null
export HONE
timeout 240 python3 "$ROOT/t/browser/check.py" "$(cat link)" s.db "$run" "$hostile" "$campaign" "$T/report.html" "$T/evil.html" "$shots"
