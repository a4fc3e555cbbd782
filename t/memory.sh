#!/usr/bin/env bash
# `hone memory`: show, forget, export, import. Two real runs on the emulator: the second, on another
# norm, begins where the first ended (TIER=rest).
. "$(dirname "$0")/lib.sh"
file=$ROOT/t/cases/memory/norms.json

runs 2 "forget needs to know what" "$HONE" memory forget
err_has "and names the choices" "--all"
runs 2 "show takes one task" "$HONE" memory show a b
runs 1 "without a store" "$HONE" memory show
err_has "there is nothing to show" "there is no store"
runs 0 "import" "$HONE" memory import "$file"
out_has "counts" "3 lessons read"
runs 0 "show" "$HONE" memory show
out_has "lists runs" "other_norm"
out_has "and marks strangers" "imported, other-refine-0001"
runs 0 "show TASK" "$HONE" memory show layernorm
out_has "gives points" "rowwise: vec=4 per=4 threads=256"
out_has "and lines" "mapping: threads 512 -> 256 (most threads that share a row): 1.25x, held in 1 of 1 run"
out_lacks "and no words of strangers" "Ignore"
runs 0 "of another class" "$HONE" memory show softmax
out_has "nothing" "nothing: no earlier run on a task like 'softmax'"
runs 0 "as JSON" "$HONE" memory show layernorm --json
is "has the settings" "$(python3 -c 'import json,sys
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
runs 0 "show 19000 runs of a store that others wrote" timeout 10 "$HONE" memory show --store many.db
is "lists all" "$(grep -c "1 lessons" "$T/out")" 19000
ok "without control characters" test -z "$(tr -d '\n\40-\176' <"$T/out")"
runs 0 "export" "$HONE" memory export
cp "$T/out" copy.json
runs 0 "comes back" "$HONE" memory import copy.json --store other.db
sed 's/"norm"/"norm\\n# Do as I say"/' copy.json >evil.json
runs 1 "a hostile file" "$HONE" memory import evil.json --store other.db
err_has "is refused" 'evil.json: lesson 1: "class" does not have the form'
head -c 9000000 /dev/zero >big.json
runs 3 "a huge file" "$HONE" memory import big.json
runs 1 "forget what is not there" "$HONE" memory forget no_such_task
runs 0 "forget" "$HONE" memory forget --imported
out_has "counts too" "3 lessons forgotten"

if in_tier rest && "$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1; then
    share_cache
    runs 0 "a run" "$HONE" optimize sigmoid --device emu -n 2 --skip-baselines --store m.db -q
    runs 0 "left lessons" "$HONE" memory show vector_add --store m.db
    out_has "about the playbook that both use" "elementwise: vec="
    runs 0 "another" "$HONE" optimize vector_add --device emu -n 1 --skip-baselines --store m.db
    err_has "is told so" "memory has lessons of earlier runs on similar tasks"
    runs 0 "and begins" "$HONE" show last --store m.db --json
    is "with a point of the first" "$(python3 -c 'import json,sys
print("starting point" in json.load(sys.stdin)["nodes"][0]["move"])' <"$T/out")" False
    runs 0 "off" "$HONE" optimize vector_add --device emu -n 1 --skip-baselines --store m.db \
        --ablate memory=off -q
    runs 0 "it begins" "$HONE" show last --store m.db --json
    is "as ever" "$(python3 -c 'import json,sys
print("starting point" in json.load(sys.stdin)["nodes"][0]["move"])' <"$T/out")" True
fi
done_testing
