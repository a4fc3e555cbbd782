#!/usr/bin/env bash
# Kills `hone bench` with SIGKILL at random moments and resumes it until the campaign is done. Each
# task must have one run, and no verdict may be made twice.
#   KILLS=20 t/torture/bench.sh TASK...      kills 20 times; without TASK it runs eight built-in tasks
#   KERNELBENCH=PATH t/torture/bench.sh      runs the 100 problems of PATH/level1 with five kills, which must
#                                            take less than an hour on two cores
. "$(dirname "$0")/../lib.sh"
share_cache
tasks=("$@") kills=${KILLS:-20} most=${MOST_MS:-1500} limit=
if [ $# = 0 ] && [ -n "${KERNELBENCH:-}" ]; then
    tasks=("$(realpath "$OLDPWD/$KERNELBENCH" 2>/dev/null || realpath "$KERNELBENCH")/level1")
    kills=${KILLS:-5} most=${MOST_MS:-240000} limit=3600
elif [ $# = 0 ]; then
    tasks=(softmax vector_add rmsnorm sigmoid reduce_max_dim1 transpose cumsum gelu_tanh)
fi
for i in "${!tasks[@]}"; do
    case ${tasks[i]} in */*) tasks[i]=$(cd "$OLDPWD" && realpath "${tasks[i]}") ;; esac
done
RANDOM=${HONE_SEED:-$$}
echo "# seed ${HONE_SEED:-$$}"
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1
[ $? = 3 ] && skip_all "no CUDA compiler on this machine"

begin() { exec "$HONE" bench -q "${tasks[@]}" --device emu --smoke --steps 1 --jobs "${JOBS:-2}" --store db.sqlite -o out; }
resume() { exec "$HONE" bench -q --resume last --store db.sqlite -o out "$@"; }
# records FILE: writes every verdict and every author call with its time to FILE
records() {
    python3 - >"$1" <<'PY'
import sqlite3
db = sqlite3.connect("file:db.sqlite?mode=ro", uri=True)
for row in db.execute("SELECT 'verdict', run, idx, at_ms FROM verdict UNION ALL "
                      "SELECT 'call', run, role || idx, at_ms FROM call WHERE ended ORDER BY 1, 2, 3"):
    print(*row)
PY
}
start=$(date +%s)
(begin) >out.txt 2>err.txt &
pid=$!
lost=0 done=0
for ((i = 0; i < kills && !done; i++)); do
    ms=$((100 + RANDOM % most))
    sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ $? = 137 ] || done=1
    if [ ! -s db.sqlite ] || ! python3 -c "
import sqlite3
sqlite3.connect('file:db.sqlite?mode=ro', uri=True).execute('SELECT 1 FROM campaign').fetchone() or exit(1)" 2>/dev/null; then
        (begin) >out.txt 2>err.txt & # killed before the campaign was recorded
        pid=$! done=0
        continue
    fi
    sleep 0.3 # the children of `hone bench` end when they notice its death
    records before.$i
    [ $done = 1 ] && break
    (resume) >out.txt 2>err.txt &
    pid=$!
done
wait $pid 2>/dev/null
(resume --json) >table.json 2>err.txt
rc=$?
records after
for f in before.*; do
    [ -e "$f" ] && lost=$((lost + $(comm -23 <(sort "$f") <(sort after) | wc -l)))
done
took=$(($(date +%s) - start))
echo "# $(grep -c '' after) records, $i kills, $took s"
[ -z "$limit" ] || is "the campaign takes less than $limit s" "$((took < limit))" 1
is "no record was made again after $i kills" "$lost" 0
python3 - "$rc" >check.txt <<'PY'
import json, sqlite3, sys
t = json.load(open("table.json"))
db = sqlite3.connect("file:db.sqlite?mode=ro", uri=True)
runs = db.execute("SELECT count(*) FROM run").fetchone()[0]
with_run = db.execute("SELECT count(*), count(DISTINCT run) FROM entry WHERE run IS NOT NULL").fetchone()
states = [r["state"] for r in t["rows"]]
print("complete", t["complete"], "runs", runs == with_run[0] == with_run[1],
      "status", int(sys.argv[1]) == (0 if all(s == "pass" for s in states) else 1))
print("#", {s: states.count(s) for s in set(states)}, file=sys.stderr)
PY
is "the campaign is complete, with one run for each task" "$(cat check.txt)" "complete True runs True status True"
runs 0 "hone runs --check finds no damage in the store" "$HONE" runs --check --store db.sqlite
done_testing
