#!/usr/bin/env bash
# The commands that look at runs: `hone runs`, `show`, `compare`, `report`. Recordings replace the model and the judge.
. "$(dirname "$0")/lib.sh"
rec=$ROOT/t/cases/replay

"$HONE" optimize --author "replay:$rec/refine.jsonl" -q >/dev/null
"$HONE" optimize --author "replay:$rec/search.jsonl" -q >/dev/null
refine=$("$HONE" runs --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["run"])')
search=$("$HONE" runs --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[1]["run"])')
blobs() { python3 -c 'import sqlite3; print(sqlite3.connect("hone-out/hone.db").execute("select count(*) from blob").fetchone()[0])'; }

# ---- hone show: the verdict for people
runs 0 "show RUN N into a file" "$HONE" show "$refine" best
out_has "is the source" "hone-plan"
err_has "and says so" "stdout is not a terminal, so this is the source of candidate"
runs 0 "--source" "$HONE" show "$refine" best --source
err_empty "says nothing"
runs 0 "--verdict" "$HONE" show "$refine" best --verdict
out_has "is for people" "pass  60.00 us (measured)"
out_has "names the candidate" "$refine, candidate"
runs 0 "--verdict --json" "$HONE" show "$refine" best --verdict --json
out_has "is the verdict alone" '"kind"'
out_lacks "without the source" '"source":'
runs 2 "a candidate that is no number" "$HONE" show "$refine" foo
err_has "says what a candidate is" "must be a number, or best"
runs 2 "one of them" "$HONE" show "$refine" best --source --verdict
python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$HONE" show "$refine" best >"$T/out" 2>"$T/err" </dev/null
out_has "on a terminal, show RUN N is the verdict" "pass  60.00 us (measured)"
out_lacks "not the source" "hone-plan"

# ---- hone compare: two candidates
runs 0 "two candidates" "$HONE" compare "$refine:0" "$refine"
out_has "are named" "A is $refine:0"
out_has "and compared shape by shape" "time:0 R=1"
out_has "without a ratio, because they come from two jobs" "The times come from two jobs, so there is no ratio"
out_lacks "so neither is called slower" "x slower"
bad=$("$HONE" show "$refine" --json | python3 -c 'import json,sys
print(next(n["index"] for n in json.load(sys.stdin)["nodes"] if n["kind"] != "pass"))')
runs 1 "one that fails" "$HONE" compare "$refine:$bad" "$search"
runs 0 "as JSON" "$HONE" compare "$refine" "$search:best" --json
is "has no ratio" "$(python3 -c 'import json,sys; c = json.load(sys.stdin)
print(c["a"]["kind"], c["b"]["kind"], c["ratio"], c["one_job"])' <"$T/out")" "pass pass None False"
runs 1 "no such candidate" "$HONE" compare "$refine:99" "$search"
runs 2 "one operand" "$HONE" compare "$refine"
runs 2 "two files without a task" "$HONE" compare a.cu b.cu
err_has "ask for it" "two files need their TASK first: hone compare TASK a.cu b.cu"
runs 2 "a candidate and a file" "$HONE" compare last:best a.cu
err_has "says how" "write it first: hone show last best --source > b.cu; then: hone compare TASK b.cu FILE"
runs 2 "also with the task" "$HONE" compare softmax a.cu last:3
err_has "says how to" "hone show last 3 --source > b.cu; then: hone compare softmax b.cu FILE"
runs 2 "an option for files" "$HONE" compare "$refine" "$search" --device emu

# ---- the report
runs 0 "a report" "$HONE" report "$refine" -o page
ok "says why candidates failed" grep -q '^## Why candidates failed' page/report.md
ok "with the verdict's words" grep -Eq '^\| [0-9]+ \| (mismatch|compile_error|unsafe|fault) \| .+ \|$' page/report.md
ok "shows the best kernel's source" bash -c "sed -n '/^## The best kernel/,/^## /p' page/report.md | grep -q hone-plan"
ok "how to use it" grep -q "hone export $refine --as torch" page/report.md
ok "and its seed and compiler" grep -q 'It was compiled by .* The seed of its data' page/report.md

# Prints the commands of a report, one in a line, without their comments.
commands() { sed -n '/^## The best kernel/,/^```/s/^    \(hone .*[^ ]\) *# .*/\1/p' "$1"; }
cp -r "$ROOT/tasks/softmax" "my softmax"
sed 's/"warnings":\[\]/"warnings":["time:0: the output was not verified","b","c","d","e"]/' "$rec/refine.jsonl" >warned.jsonl
runs 0 "a run of one's own task" "$HONE" optimize "./my softmax" --author "replay:warned.jsonl" -q --store s.db
out_has "its summary shows the best kernel's warnings" "  warning: time:0: the output was not verified"
out_has "and counts the last ones" "  and 1 more: hone show"
mine=$("$HONE" runs --store s.db --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["run"])')
is "its report's commands work from here" "$(commands "hone-out/$mine/report.md")" "\
hone export $mine --store s.db --as torch --out op.py
hone eval './my softmax' hone-out/$mine/best.cu
hone show $mine best --store s.db"
ok "it holds no absolute path" bash -c "! grep -F '$PWD' 'hone-out/$mine/report.md'"
is "it shows the warnings once" "$(grep -c 'the output was not verified' "hone-out/$mine/report.md")" 1
mkdir below
runs 0 "a report from another directory" bash -c "cd below && '$HONE' report last --store ../s.db -o page"
is "has other paths" "$(commands below/page/report.md | sed -n 2p)" "hone eval '../my softmax' page/best.cu"
runs 1 "a missing store" "$HONE" show last --store none.db
err_has "asks for another one" "name it with --store or HONE_STORE"

# ---- hone runs
runs 0 "the runs of a task" "$HONE" runs --task softmax
out_has "have numbers" "   1  $refine"
out_has "are listed" "$refine"
runs 0 "of another" "$HONE" runs --task soft
out_lacks "are not" "$refine"
err_has "and it says so" "no run of a task 'soft'"
python3 -c 'import sqlite3
d = sqlite3.connect("hone-out/hone.db"); d.execute("update run set state = ? where name like ?", ("running", "%search%")); d.commit()'
runs 0 "a run whose process was killed" "$HONE" runs
out_has "is shown as killed" "  killed "
runs 0 "also by show" "$HONE" show "$search"
out_has "in its first line" "search on softmax, killed"

runs 0 "the end of its name is enough" "$HONE" show "${search##*-}"
runs 1 "a beginning that fits two runs" "$HONE" show softmax-
err_has "is not" "$search, $refine"

before=$(blobs)
runs 2 "a run is not removed unasked" "$HONE" runs --rm "$search"
err_has "and --yes is named" "--yes"
rm_on_terminal() { # rm_on_terminal ANSWER: hone runs --rm, with a terminal for stdin
    python3 -c 'import os, pty, sys
pid, fd = pty.fork()
if pid == 0: os.execvp(sys.argv[2], sys.argv[2:])
text = b""
try:
    while b"? " not in text: text += os.read(fd, 1000)
    os.write(fd, sys.argv[1].encode() + b"\n")
    while True: text += os.read(fd, 1000)
except OSError: pass
sys.stdout.write(text.decode())' "$1" "$HONE" runs --rm "$search" >"$T/out"
}
rm_on_terminal no
out_has "on a terminal it asks" "Remove run $search"
out_has "and keeps the run" "run $search stays"
runs 2 "--yes alone" "$HONE" runs --yes
id=$("$HONE" runs --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)))')
python3 -c 'import fcntl, struct, sys, time
f = open("hone-out/hone.db-runs.lock", "r+")
fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, int(sys.argv[1]), 1, 0)) # F_OFD_SETLK
print("locked", flush=True); time.sleep(60)' "$id" >locked &
holder=$!
for _ in $(seq 50); do [ -s locked ] && break; sleep 0.1; done
runs 1 "a live run" "$HONE" runs --rm "$search" --yes
err_has "is not removed" "a process is working on run $search"
kill $holder
wait $holder 2>/dev/null
runs 0 "a dead one" "$HONE" runs --rm "$search" --yes
out_has "is" "removed $search"
ok "its blobs go" test "$(blobs)" -lt "$before"
runs 0 "the others stay" "$HONE" runs --check
out_has "with all they need" "$refine"
runs 0 "and are whole" "$HONE" log "$refine" --export again.jsonl
runs 1 "no such run" "$HONE" runs --rm nothing --yes

# ---- hone compare: two files, judged in one job
if in_tier rest; then
    sed 's/^extern/__device__ int unused;\nextern/' "$ROOT/kernels/vector_add.cu" >other.cu
    sed 's/ + / - /' "$ROOT/kernels/vector_add.cu" >wrong.cu
    compare_files() { "$HONE" compare --device emu vector_add "$@"; }
    runs 0 "two files" compare_files "$ROOT/kernels/vector_add.cu" other.cu
    out_has "are judged in one job, with the same data" "  equal"
    out_lacks "so that is all" "two jobs"
    runs 1 "the second is wrong" compare_files "$ROOT/kernels/vector_add.cu" wrong.cu
    out_has "and says so" "wrong"
    runs 1 "the first is wrong" compare_files wrong.cu other.cu
    out_has "the second has its own verdict" "fault                               pass"
    runs 3 "no such file" compare_files other.cu none.cu
    # The time of this kernel depends on the data. Both kernels get the same data and sample of blocks.
    cp -r "$ROOT/t/cases/lengths" . && cp lengths/naive.cu other_lengths.cu
    runs 0 "two equal files" "$HONE" compare --device emu ./lengths lengths/naive.cu other_lengths.cu --seed 5
    out_has "take equally long" "  equal"
fi
done_testing
