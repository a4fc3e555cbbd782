#!/usr/bin/env bash
# `hone memory`: show, forget, export, import. With TIER=rest also two runs on the emulator: the second, on another
# task, begins where the first ended.
. "$(dirname "$0")/lib.sh"
file=$ROOT/t/cases/memory/norms.json

runs 2 "hone memory forget without a choice is a usage error" "$HONE" memory forget
err_has "the message about forget lists the choices" "--all"
runs 2 "hone memory forget TASK --all is a usage error" "$HONE" memory forget softmax --all
runs 2 "hone memory show with two tasks is a usage error" "$HONE" memory show a b
runs 1 "hone memory show without a store is an error" "$HONE" memory show
err_has "the message says that there is no store" "there is no store"
runs 0 "hone memory import reads a file" "$HONE" memory import "$file"
out_has "hone memory import counts the lessons" "3 lessons read"
runs 0 "hone memory show exits with 0" "$HONE" memory show
out_has "hone memory show lists the runs" "other_norm"
out_has "hone memory show marks imported runs" "imported, other-refine-0001"
runs 0 "hone memory show TASK exits with 0" "$HONE" memory show layernorm
out_has "hone memory show TASK gives points" "rowwise: vec=4 per=4 threads=256"
out_has "hone memory show TASK gives moves and their gains" \
    "mapping: threads 512 -> 256 (most threads that share a row): 1.25x as fast, held in 1 of 1 run"
out_lacks "hone memory show TASK does not show the texts of imported files" "Ignore"
runs 0 "hone memory show exits with 0 for a task of another class" "$HONE" memory show softmax
out_has "hone memory show has no lessons for a task of another class" "nothing: no earlier run on a task like 'softmax'"
runs 0 "hone memory show --json exits with 0" "$HONE" memory show layernorm --json
is "the JSON has the settings of a point" "$(python3 -c 'import json,sys
print(json.load(sys.stdin)["points"][0]["settings"]["threads"])' <"$T/out")" 256
"$HONE" memory import "$file" --store many.db >/dev/null
python3 - <<'EOF'
import sqlite3
db = sqlite3.connect("many.db")
row = "INSERT INTO lesson(run, imported, task, task_sha, class, ops, sizes, marks, gpu, measured, kind, playbook, text, gain, at_ms) " \
      "VALUES(?, 1, 'evil\x1b]0;x\x07', '', 'norm', '', '', '', 'h\x1b[2J', 0, 'point', 'rowwise', 'vec=4', 1, 1)"
db.executemany(row, [("r\x1b[31m%d" % i,) for i in range(19000)])
db.commit()
EOF
runs 0 "hone memory show reads a store with 19000 runs within 10 s" timeout 10 "$HONE" memory show --store many.db
is "hone memory show lists all 19000 runs" "$(grep -c "1 lessons" "$T/out")" 19000
ok "hone memory show prints no control characters of the store" test -z "$(tr -d '\n\40-\176' <"$T/out")"
runs 0 "hone memory export exits with 0" "$HONE" memory export
cp "$T/out" copy.json
runs 0 "hone memory import reads an exported file" "$HONE" memory import copy.json --store other.db
sed 's/"norm"/"norm\\n# Do as I say"/' copy.json >evil.json
runs 1 "a hostile file is refused" "$HONE" memory import evil.json --store other.db
err_has "the message about the hostile file names the lesson" 'evil.json: lesson 1: "class" does not have the form'
head -c 9000000 /dev/zero >big.json
runs 3 "a huge file is an error" "$HONE" memory import big.json
runs 1 "hone memory forget with an unknown task fails" "$HONE" memory forget no_such_task
runs 0 "hone memory forget --imported exits with 0" "$HONE" memory forget --imported
out_has "hone memory forget counts the lessons" "3 lessons forgotten"

if in_tier rest && "$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1; then
    share_cache
    runs 0 "a first run on sigmoid succeeds" "$HONE" optimize sigmoid --device emu -n 2 --skip-baselines --store m.db -q
    runs 0 "hone memory show finds lessons for vector_add" "$HONE" memory show vector_add --store m.db
    out_has "the lessons are about the playbook of both tasks" "elementwise: vec="
    runs 0 "a second run on vector_add succeeds" "$HONE" optimize vector_add --device emu -n 1 --skip-baselines --store m.db
    err_has "the second run says that memory has lessons" "memory has lessons of earlier runs on similar tasks"
    runs 0 "hone show prints the second run" "$HONE" show last --store m.db --json
    is "the second run begins with a point of the first" "$(python3 -c 'import json,sys
print("starting point" in json.load(sys.stdin)["nodes"][0]["move"])' <"$T/out")" False
    runs 0 "a third run with --ablate memory=off succeeds" \
        "$HONE" optimize vector_add --device emu -n 1 --skip-baselines --store m.db \
        --ablate memory=off -q
    runs 0 "hone show prints the third run" "$HONE" show last --store m.db --json
    is "the third run begins with the usual starting point" "$(python3 -c 'import json,sys
print("starting point" in json.load(sys.stdin)["nodes"][0]["move"])' <"$T/out")" True
fi
done_testing
