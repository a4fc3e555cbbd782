#!/usr/bin/env bash
# The commands that show runs: `hone runs`, `show`, `compare`, `report`. Recordings replace the model and the judge.
. "$(dirname "$0")/lib.sh"
rec=$ROOT/t/cases/replay

"$HONE" optimize --author "replay:$rec/refine.jsonl" -q >/dev/null
"$HONE" optimize --author "replay:$rec/search.jsonl" -q >/dev/null
refine=$("$HONE" runs --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["run"])')
search=$("$HONE" runs --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[1]["run"])')
blobs() { python3 -c 'import sqlite3; print(sqlite3.connect("hone-out/hone.db").execute("select count(*) from blob").fetchone()[0])'; }

# ---- hone show: the verdict as text for people
runs 0 "hone show RUN best into a file exits with 0" "$HONE" show "$refine" best
out_has "hone show RUN best into a file prints the source" "hone-plan"
err_has "hone show says that it prints the source because stdout is no terminal" \
    "stdout is not a terminal, so this is the source of candidate"
runs 0 "hone show --source exits with 0" "$HONE" show "$refine" best --source
err_empty "hone show --source prints nothing on stderr"
runs 0 "hone show --verdict exits with 0" "$HONE" show "$refine" best --verdict
out_has "hone show --verdict prints the verdict as text" "pass  60.00 us (measured)"
out_has "hone show --verdict names the candidate" "$refine, candidate"
runs 0 "hone show --all into a file exits with 0" "$HONE" show "$refine" best --all
out_has "hone show --all into a file prints the verdict" "pass  60.00 us (measured)"
out_lacks "hone show --all into a file does not print the source" "hone-plan"
runs 0 "hone show --all --json exits with 0" "$HONE" show "$refine" best --all --json
out_has "hone show --all --json still prints the source" '"source":'
runs 0 "hone show --verdict --json exits with 0" "$HONE" show "$refine" best --verdict --json
out_has "hone show --verdict --json prints the verdict" '"kind"'
out_lacks "hone show --verdict --json does not print the source" '"source":'
runs 2 "a candidate that is not a number is a usage error" "$HONE" show "$refine" foo
err_has "the message shows the form of a candidate" "must be a number, or best"
runs 2 "--source together with --verdict is a usage error" "$HONE" show "$refine" best --source --verdict
python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$HONE" show "$refine" best >"$T/out" 2>"$T/err" </dev/null
out_has "on a terminal, hone show RUN best prints the verdict" "pass  60.00 us (measured)"
out_lacks "on a terminal, hone show RUN best does not print the source" "hone-plan"

# ---- hone compare: two candidates
runs 0 "hone compare accepts two candidates" "$HONE" compare "$refine:0" "$refine"
out_has "hone compare names the candidates" "A is $refine:0"
out_has "hone compare prints a row for each shape" "time:0 R=1"
out_has "hone compare gives no ratio of times from two jobs" "The times come from two jobs, so there is no ratio"
out_lacks "hone compare calls no candidate from another job slower" "x slower"
bad=$("$HONE" show "$refine" --json | python3 -c 'import json,sys
print(next(n["index"] for n in json.load(sys.stdin)["nodes"] if n["kind"] != "pass"))')
runs 1 "hone compare fails if a candidate failed" "$HONE" compare "$refine:$bad" "$search"
runs 0 "hone compare --json exits with 0" "$HONE" compare "$refine" "$search:best" --json
is "hone compare --json has no ratio of times from two jobs" "$(python3 -c 'import json,sys; c = json.load(sys.stdin)
print(c["a"]["kind"], c["b"]["kind"], c["ratio"], c["one_job"])' <"$T/out")" "pass pass None False"
runs 1 "hone compare fails for a candidate that does not exist" "$HONE" compare "$refine:99" "$search"
runs 2 "hone compare with one operand is a usage error" "$HONE" compare "$refine"
runs 2 "hone compare with two files without a task is a usage error" "$HONE" compare a.cu b.cu
err_has "the message says that the task comes first" "files need their TASK first: hone compare TASK a.cu b.cu"
runs 2 "hone compare with a candidate and a file, but no task, is a usage error" "$HONE" compare last:best a.cu
err_has "the message says that the task comes first, also for a candidate" "hone compare TASK last:best a.cu"
runs 1 "hone compare fails for a candidate that does not exist beside a file" "$HONE" compare softmax a.cu last:99
err_has "the message names the candidate that does not exist" "99"
runs 2 "--device with two candidates is a usage error" "$HONE" compare "$refine" "$search" --device emu

# ---- the report
runs 0 "hone report writes a report" "$HONE" report "$refine" -o page
ok "the report says why candidates failed" grep -q '^## Why candidates failed' page/report.md
ok "the report has a row for each failed candidate" \
    grep -Eq '^\| [0-9]+ \| (mismatch|compile_error|unsafe|fault) \| .+ \|$' page/report.md
ok "the report has the source of the best kernel" \
    bash -c "sed -n '/^## The best kernel/,/^## /p' page/report.md | grep -q hone-plan"
ok "the report says how to export the best kernel" grep -q "hone export $refine --as torch" page/report.md
ok "the report names the compiler and the seed" grep -q 'It was compiled by .* The seed of its data' page/report.md

# commands REPORT: prints the commands of a report, one in a line, without their comments
commands() { sed -n '/^## The best kernel/,/^```/s/^    \(hone .*[^ ]\) *# .*/\1/p' "$1"; }
cp -r "$ROOT/tasks/softmax" "my softmax"
sed 's/"warnings":\[\]/"warnings":["time:0: the output was not verified","b","c","d","e"]/' "$rec/refine.jsonl" >warned.jsonl
runs 0 "a run on a task in a folder of the user replays" \
    "$HONE" optimize "./my softmax" --author "replay:warned.jsonl" -q --store s.db
out_has "the summary shows the warnings of the best kernel" "  warning: time:0: the output was not verified"
out_has "the summary counts the warnings that it leaves out" "  and 1 more: hone show"
mine=$("$HONE" runs --store s.db --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["run"])')
is "the commands of the report work from this directory" "$(commands "hone-out/$mine/report.md")" "\
hone export $mine --store s.db --as torch --out op.py
hone eval './my softmax' hone-out/$mine/best.cu
hone show $mine best --store s.db"
ok "the report has no absolute path" bash -c "! grep -F '$PWD' 'hone-out/$mine/report.md'"
is "the report shows a warning once" "$(grep -c 'the output was not verified' "hone-out/$mine/report.md")" 1
mkdir below
runs 0 "hone report works from another directory" bash -c "cd below && '$HONE' report last --store ../s.db -o page"
is "a report from another directory has paths that work from there" \
    "$(commands below/page/report.md | sed -n 2p)" "hone eval '../my softmax' page/best.cu"
mkdir "$T/elsewhere"
runs 0 "hone report works outside the user's home" env HOME="$PWD" bash -c "cd '$T/elsewhere' && '$HONE' report last --store '$PWD/s.db' -o page"
is "a report from outside the home writes the home as ~" "$(commands "$T/elsewhere/page/report.md" | sed -n 2p)" "hone eval ~/'my softmax' page/best.cu"
ok "a report from outside the home has no path to it" bash -c "! grep -F '${PWD#/}' '$T/elsewhere/page/report.md'"
echo 'My notes are in /home/alice/private/notes.txt.' >reply.txt
"$HONE" optimize vector_add --device emu --author "exec:cat $PWD/reply.txt" --steps 1 -q --store exec.db --out exec >"$T/out" 2>&1
ok "a report names a program's file without its folder" grep -qF "written by exec:cat reply.txt" exec/report.md
ok "a report has no path that an author named" bash -c "! grep -E '$PWD|alice' exec/report.md"
runs 1 "a missing store is an error" "$HONE" show last --store none.db
err_has "the message says how to name another store" "name it with --store or HONE_STORE"

# ---- hone runs
runs 0 "hone runs --task exits with 0" "$HONE" runs --task softmax
out_has "hone runs numbers the runs" "   1  $refine"
out_has "without a baseline, the column before has the run's first kernel" " 100.0 us*            60.0 us        - "
out_has "a line says what the star means" "* no baseline was timed: before is the run's first kernel that passed"
"$HONE" runs --store exec.db >"$T/out"
out_has "hone runs does not know the cost of a program" " unknown  exec:cat"
out_has "a run without a kernel has dashes for its times" "                 -                  -        - "
"$HONE" show last --store exec.db >"$T/out"
out_has "the summary of a run says that its cost is unknown" "cost unknown"
"$HONE" runs --task softmax >"$T/out"
out_has "hone runs --task lists a run of the task" "$refine"
runs 0 "hone runs --task exits with 0 for a task without runs" "$HONE" runs --task soft
out_lacks "hone runs --task does not list runs of other tasks" "$refine"
err_has "hone runs --task says that the task has no run" "no run of a task 'soft'"
python3 -c 'import sqlite3
d = sqlite3.connect("hone-out/hone.db"); d.execute("update run set state = ? where name like ?", ("running", "%search%")); d.commit()'
runs 0 "hone runs exits with 0 if a run was killed" "$HONE" runs
out_has "hone runs shows that a run was killed" "  killed "
runs 0 "hone show exits with 0 for a killed run" "$HONE" show "$search"
out_has "the first line of hone show says that the run was killed" "search on softmax, killed"

runs 0 "hone show finds a run by the end of its name" "$HONE" show "${search##*-}"
runs 1 "hone show fails if a name fits two runs" "$HONE" show softmax-
err_has "the message lists the runs that the name fits" "$search, $refine"

before=$(blobs)
runs 2 "hone runs --rm without a terminal needs --yes" "$HONE" runs --rm "$search"
err_has "the message about --rm names --yes" "--yes"
rm_on_terminal() { # rm_on_terminal ANSWER: runs hone runs --rm on a terminal and answers its question
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
out_has "on a terminal, hone runs --rm asks first" "Remove run $search"
out_has "hone runs --rm keeps the run if the answer is no" "run $search was not removed"
runs 2 "--yes without --rm is a usage error" "$HONE" runs --yes
id=$("$HONE" runs --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)))')
python3 -c 'import fcntl, struct, sys, time
f = open("hone-out/hone.db-runs.lock", "r+")
fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, int(sys.argv[1]), 1, 0)) # F_OFD_SETLK
print("locked", flush=True); time.sleep(60)' "$id" >locked &
holder=$!
for _ in $(seq 50); do [ -s locked ] && break; sleep 0.1; done
runs 1 "hone runs --rm refuses a run with a live process" "$HONE" runs --rm "$search" --yes
err_has "the message says that a process works on the run" "a process is working on run $search"
kill $holder
wait $holder 2>/dev/null
runs 0 "hone runs --rm removes a run without a process" "$HONE" runs --rm "$search" --yes
is "hone runs --rm names the removed run, and the folder that stays" "$(cat "$T/out")" \
    "removed $search from the store; its folder hone-out/$search stays"
ok "the folder of the removed run stays" test -f "hone-out/$search/report.md"
ok "hone runs --rm removes the blobs of the run" test "$(blobs)" -lt "$before"
runs 0 "hone runs --check finds no damage after the removal" "$HONE" runs --check
out_has "the other run is still there" "$refine"
runs 0 "the other run can be exported" "$HONE" log "$refine" --export again.jsonl
runs 1 "hone runs --rm fails for an unknown run" "$HONE" runs --rm nothing --yes

# ---- hone compare: two files, evaluated in one job
if in_tier rest; then
    sed 's/^extern/__device__ int unused;\nextern/' "$ROOT/kernels/vector_add.cu" >other.cu
    sed 's/ + / - /' "$ROOT/kernels/vector_add.cu" >wrong.cu
    compare_files() { "$HONE" compare --device emu vector_add "$@"; }
    runs 0 "hone compare evaluates two files" compare_files "$ROOT/kernels/vector_add.cu" other.cu
    out_has "two files of the same kernel are equal" "  equal"
    out_has "hone compare has a line about a second file that passes" "B: passes: "
    out_lacks "two files come from one job" "two jobs"
    runs 1 "hone compare fails if the second file is wrong" compare_files "$ROOT/kernels/vector_add.cu" wrong.cu
    out_has "hone compare says that the second file is wrong" "wrong"
    runs 1 "hone compare fails if the first file is wrong" compare_files wrong.cu other.cu
    out_has "the second file has its own verdict" "fault                               pass"
    runs 3 "hone compare fails for a file that does not exist" compare_files other.cu none.cu
    # The recorded candidate is for another task. Its plan does not fit the inputs of vector_add, so it fails.
    runs 1 "hone compare evaluates a candidate of a run beside a file" compare_files other.cu "$refine:best"
    out_has "hone compare names the candidate, not a temporary file" "B is $refine:"
    out_lacks "no path of a temporary file appears" "/b.cu"
    # The time of this kernel depends on the data. Both contenders get the same data and the same sample of blocks.
    cp -r "$ROOT/t/cases/lengths" . && cp lengths/naive.cu other_lengths.cu
    runs 0 "hone compare evaluates two files whose time depends on the data" \
        "$HONE" compare --device emu ./lengths lengths/naive.cu other_lengths.cu --seed 5
    out_has "two equal files take equally long" "  equal"
fi
done_testing
