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
gnn=$(dirname "$HONE")/hone-gnn
"$gnn" make blocks -n 3000 -e 30000 -c 4 --dim 16 --within 0.8 --noise 1 data >/dev/null 2>&1
"$gnn" train --hidden 16 -f 8,5 -b 128 --lr 0.02 -e 12 -t 2 --record training/blocks.json data >/dev/null 2>&1
"$ROOT/t/fake/store" s.db training || exit 1
"$ROOT/t/fake/store" s.db odd >/dev/null || exit 1
"$HONE" serve --store s.db --port 0 >link 2>serve.err &
server=$!
trap 'kill $server 2>/dev/null; cd /; rm -rf "$T"' EXIT
for _ in $(seq 100); do [ -s link ] && break; sleep 0.05; done
shots=${SHOTS:-$T/shots}
mkdir -p "$shots"
"$HONE" report "$hostile" --store s.db --html "$T/evil.html" >/dev/null
export HONE
if "$ROOT/tools/pictures" pictures >"$T/pictures" 2>&1 && [ -s pictures/run.svg ] && [ -s pictures/candidate.svg ]; then
    export PICTURES=drawn
fi
timeout 400 python3 "$ROOT/t/browser/check.py" "$(cat link)" s.db "$run" "$hostile" "$campaign" "$T/report.html" "$T/evil.html" "$shots"
