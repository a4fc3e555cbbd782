#!/usr/bin/env bash
# Kills a replayed run with SIGKILL at a random moment and resumes it. The result must have the
# recording's lineage, the store must be sound, and no call may be made twice. KILLS sets the number of
# kills (300; CI runs 20).
[ -w /dev/shm ] && export TMPDIR=${TMPDIR:-/dev/shm} # because the test makes many small writes with fsync
. "$(dirname "$0")/../lib.sh"
kills=${KILLS:-300}
record() { echo "$ROOT/t/cases/replay/$1.jsonl"; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }

# We measure the shortest time of each run, so that the kills are spread over the whole run.
declare -A span
for name in refine search team; do
    for _ in 1 2 3; do
        rm -f warm.db*
        t0=$(now_ms)
        "$HONE" optimize -q --author "replay:$(record $name)" --store warm.db -o out >/dev/null ||
            exit 1
        t=$(($(now_ms) - t0))
        [ "${span[$name]:-9999}" -le $t ] || span[$name]=$t
    done
done

bad=0 early=0 late=0
for i in $(seq "$kills"); do
    case $((i % 3)) in 0) name=refine ;; 1) name=search ;; *) name=team ;; esac
    rm -rf db.* out
    "$HONE" optimize -q --author "replay:$(record $name)" --store db.sqlite -o out >run.txt 2>&1 &
    pid=$!
    ms=$((RANDOM % (span[$name] + 1)))
    sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ $? = 137 ] || late=$((late + 1)) # the run ended before the kill
    if ! "$HONE" show last --store db.sqlite >/dev/null 2>&1; then
        early=$((early + 1)) # the run was not recorded yet, so there is nothing to resume
        continue
    fi
    "$HONE" log last --json --store db.sqlite >before.json
    if ! "$HONE" resume last --store db.sqlite -o out >resumed.txt 2>&1; then
        bad=$((bad + 1)) && sed 's/^/# /' resumed.txt >&2
    elif ! grep -q 'the same as the recording' resumed.txt; then
        bad=$((bad + 1)) && echo "# kill $i: another lineage" >&2
    elif ! "$HONE" runs --check --store db.sqlite >/dev/null; then
        bad=$((bad + 1)) && echo "# kill $i: the store is damaged" >&2
    fi
    # calls that had ended before the kill must not change
    "$HONE" log last --json --store db.sqlite >after.json
    python3 - <<'PY' || { bad=$((bad + 1)) && echo "# kill $i: a recorded call was repeated" >&2; }
import json
key = lambda c: (c["role"], c["index"])
after = {key(c): c for c in json.load(open("after.json"))}
assert all(after[key(c)] == c for c in json.load(open("before.json")) if c["ended"])
PY
done
is "every killed run resumes to the same lineage ($kills kills, $early before the run began, $late after its end)" "$bad" 0
ok "at least a third of the kills hit a run in progress" [ $((early + late)) -lt $((kills * 2 / 3 + 1)) ]
done_testing
