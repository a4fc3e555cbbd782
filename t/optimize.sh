#!/usr/bin/env bash
# `hone optimize` and the other commands about runs. Recordings replace the model and the judge.
. "$(dirname "$0")/lib.sh"
rec=$ROOT/t/cases/replay

for s in refine search team; do
    runs 0 "$s: the recording replays" "$HONE" optimize --author "replay:$rec/$s.jsonl"
    out_has "$s: the replay gives the same lineage" "the same as the recording's lineage"
done
run=$("$HONE" runs --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["run"])')

runs 0 "hone runs exits with 0" "$HONE" runs
out_has "hone runs shows the strategy of each run" "-search-"
runs 0 "hone show RUN exits with 0" "$HONE" show "$run"
out_has "hone show RUN shows the lineage" "<== best"
out_has "hone show RUN counts the repaired failures" "1 of 1 failures repaired"
runs 0 "hone show RUN best exits with 0" "$HONE" show "$run" best
out_has "hone show RUN best prints a file with a plan" "hone-plan"
runs 0 "hone show --verdict --json exits with 0" "$HONE" show "$run" 0 --verdict --json
out_has "hone show --verdict --json prints JSON" '"kind"'
runs 0 "hone show RUN best --json exits with 0" "$HONE" show "$run" best --json
is "the JSON of a candidate has its source and its verdict" "$(python3 -c 'import json,sys; c = json.load(sys.stdin)
print("hone-plan" in c["source"], c["verdict"]["kind"], c["run"], int(c["candidate"]) >= 0)' <"$T/out")" "True pass $run True"
runs 0 "hone log RUN exits with 0" "$HONE" log "$run"
out_has "hone log RUN lists the calls of every role" "diagnose"
runs 0 "hone log RUN code/1 exits with 0" "$HONE" log "$run" code/1
out_has "hone log RUN code/1 prints the prompt" "The contract: device code plus a launch plan"
out_has "hone log RUN code/1 prints the reply" "======== reply ========"
runs 0 "hone log RUN code/1 --json exits with 0" "$HONE" log "$run" code/1 --json
out_has "the JSON of a call has the reply" '"reply"'
for wrong in code/ code/1x code/-1 code 1 ""; do
    runs 1 "hone log fails for the call '$wrong'" "$HONE" log "$run" "$wrong"
done
for wrong in 1x ""; do
    runs 2 "hone show refuses the candidate '$wrong'" "$HONE" show "$run" -- "$wrong"
    err_has "the message about the candidate '$wrong' shows the form of a candidate" "must be a number, or best"
done
runs 1 "hone show fails for a candidate that does not exist" "$HONE" show "$run" 9999
err_has "the message says how many candidates the run has" "it has"
runs 2 "hone show --verdict without a candidate is a usage error" "$HONE" show "$run" --verdict
runs 0 "hone diff RUN best exits with 0" "$HONE" diff "$run" best
out_has "hone diff prints a unified difference" "@@ "
runs 1 "hone diff fails for the first candidate" "$HONE" diff "$run" 0
err_has "the message says that the first candidate has no parent" "has no parent"
runs 0 "hone diff compares two candidates" "$HONE" diff "$run" 0 best
runs 0 "hone report writes a report" "$HONE" report "$run" -o page
ok "the report has the lineage" grep -q '## Lineage' page/report.md
ok "the report has a plot" grep -q '<svg' page/time.svg
ok "the report has the best kernel" grep -q hone-plan page/best.cu
runs 0 "hone runs --check finds no damage in the store" "$HONE" runs --check
runs 0 "hone log --export writes a recording" "$HONE" log "$run" --export again.jsonl
runs 0 "the new recording replays" "$HONE" optimize --author replay:again.jsonl --json
out_has "the new recording gives the same lineage" '"lineage_differs": 0'

runs 0 "hone resume accepts a new budget" "$HONE" resume "$run" --budget-steps 77
err_has "a resumed run marks the verdicts that were recorded" "*best*  (recorded)"
err_has "hone resume says that the run was done, and how to go further" \
    "was done before, and nothing was left to do. To go further: \`hone resume $run --steps N\` with N over"
python3 - <<'PY'
import sqlite3
with sqlite3.connect("measured.db") as copy:
    sqlite3.connect("hone-out/hone.db").backup(copy)
    copy.execute("UPDATE node SET is_model = 0") # as if a GPU had measured the times
PY
runs 1 "hone resume refuses to judge on another device than before" "$HONE" resume "$run" --store measured.db --device emu \
    --author playbook
err_has "the message names the device" "and the emulator would judge now: their times cannot be compared"
err_has "the message says how to go on" "hone optimize softmax --from best.cu"
runs 0 "the resumed run can be exported" "$HONE" log "$run" --export kept.jsonl
ok "the recording has the new budget" grep -q '"steps":77' kept.jsonl

cp "$rec/refine.jsonl" mine.jsonl
runs 0 "a copy of the recording in this directory replays" "$HONE" optimize --author replay:mine.jsonl
mkdir elsewhere
runs 0 "hone resume finds a recording with a relative path from another directory" \
    env -C elsewhere "$HONE" resume last --store ../hone-out/hone.db
out_has "the run resumed from another directory keeps its lineage" "the same as the recording's lineage"
cp mine.jsonl elsewhere/
runs 0 "hone resume accepts a recording with a relative path" \
    env -C elsewhere "$HONE" resume last --store ../hone-out/hone.db --author replay:mine.jsonl
runs 0 "hone resume finds the new recording from the first directory" "$HONE" resume last
runs 3 "hone report fails if the report cannot be written" "$HONE" report last -o /dev/null/page
runs 3 "hone resume fails if the report cannot be written" "$HONE" resume last -o /dev/null/page
out_lacks "hone resume does not name a report that it could not write" "report.md"

# Another author continues a run. The run then names both authors, and the author of the best kernel.
sed -n -E '/^\{"hone-replay"|"role":"code","index":0,|^\{"verdict":\{"index":0,|^\{"node":\{"index":0,/p' mine.jsonl >begin.jsonl
runs 1 "a run whose author has no more replies fails" "$HONE" optimize --author replay:begin.jsonl
runs 0 "hone show prints the run with one author" "$HONE" show last
out_has "hone show names the author of the run" "written by replay:$PWD/begin.jsonl, "
runs 0 "another author continues the run" "$HONE" resume last --author replay:mine.jsonl -o two
both="replay:$PWD/begin.jsonl, then replay:$PWD/mine.jsonl (best: replay:$PWD/mine.jsonl)"
out_has "hone resume names both authors" "written by $both, "
ok "the report names both authors" grep -qF "written by ${both//$PWD/.}." two/report.md
runs 0 "hone runs lists the run with two authors" "$HONE" runs
out_has "hone runs names both authors in its last column" "$both"
runs 0 "hone show --json prints the run with two authors" "$HONE" show last --json
is "the JSON has the author of each candidate" "$(python3 -c 'import json,sys; r = json.load(sys.stdin)
print(r["author"] == sys.argv[1], *[n["author"].split("/")[-1][:-6] for n in r["nodes"]][:2], r["best_author"].split("/")[-1])' "$both" <"$T/out")" "True begin mine mine.jsonl"

# The best kernel fails its confirmation.
runs 0 "a recording with a failed confirmation replays" "$HONE" optimize --author "replay:$rec/confirm.jsonl" -o confirmed
out_has "the replay with a failed confirmation gives the same lineage" "the same as the recording's lineage"
out_has "the run says which candidate was not confirmed" \
    "NOT CONFIRMED: candidate 3 passed, but failed when it was evaluated again: unsafe"
out_has "the next candidate is the best" "best: 70.0 us"
out_has "the best candidate is timed beside PyTorch" "      torch             50.0 us  0.71x [0.71, 0.72]"
ok "the report has the times of the confirmed candidate" grep -q '^| R=1 | 70.0 us | 200.0 us, 2.86x' confirmed/report.md
ok "best.cu is the confirmed candidate" grep -q 'pass 70' confirmed/best.cu
runs 0 "hone show --confirmation exits with 0" "$HONE" show last best --confirmation --json
out_has "hone show --confirmation prints a verdict with PyTorch's times" '"torch"'
runs 1 "hone show --confirmation fails for another candidate" "$HONE" show last 0 --confirmation
err_has "the message says that the candidate has no confirmation" "has no confirmation"
runs 2 "hone show --confirmation without a candidate is a usage error" "$HONE" show last --confirmation
runs 0 "hone show exits with 0 for the run with a failed confirmation" "$HONE" show last
out_has "the lineage marks the unconfirmed candidate" "(unconfirmed)"

# A changed recording gives another lineage.
sed 's/"fate":"regression"/"fate":"kept"/' "$rec/refine.jsonl" >other.jsonl
runs 1 "a replay with another lineage exits with 1" "$HONE" optimize --author replay:other.jsonl
out_has "the replay says how many candidates differ" "differs in"

timeout 60 "$HONE" optimize softmax --device emu --author mailbox:box --budget-time 1s >"$T/out" 2>"$T/err"
if [ $? = 3 ]; then
    skip "a run waits for a mailbox until its time budget is used up" "$(head -1 "$T/err")" # no CUDA compiler to judge with
else
    err_has "a run waits for a mailbox until its time budget is used up" "the budget of 1 s is used up"
    runs 1 "a run that waited for a mailbox can be resumed" timeout 60 "$HONE" resume last --budget-time 2s
    is "the resumed run asks the same prompt again" "$(ls box)" 0000.prompt.md
    ok "the prompts of a run with a mailbox show whole files" grep -aq '"whole_files":true' "${HONE_STORE:-hone-out/hone.db}"*
fi

# ---- hone optimize takes a PyTorch file in place of a task; recorded traces replace PyTorch
trace=$ROOT/t/cases/import/swish_gate.trace.json
optimize_file() { HONE_PYTHON=no-such-python "$HONE" optimize --device emu --author exec:false --store py/hone.db "$@"; }
runs 3 "a run on a PyTorch file stops if its author fails" optimize_file swish_gate.py --trace "$trace"
task=$(sed -n 's/: 2 free sizes$//p' "$T/err")
err_has "the message names the author that failed" "author 'exec:false'"
is "the imported task is in a folder beside the store" \
    "$(dirname "$(dirname "$task")")/$(basename "$task")" py/imported/swish_gate
runs 0 "hone task show accepts the imported task" "$HONE" task show --graph "$task"
runs 3 "a second run on the same file stops too" optimize_file swish_gate.py --trace "$trace"
err_has "the second run does not import the file again" "$task: imported before; nothing has changed since"
runs 3 "a run on the same file with other options stops too" optimize_file swish_gate.py --trace "$trace" --precision tf32
err_has "other options make Hone import the file again" "with random rounding"
is "the import with other options has its own folder" "$(ls py/imported | wc -l)" 2
rm "$task/task.json"
runs 3 "a run whose imported task lacks a file stops too" optimize_file swish_gate.py --trace "$trace" --quiet
ok "Hone imports again if the imported task lacks a file" test -e "$task/task.json"
runs 3 "hone resume of a run on a file stops too" env -C py HONE_PYTHON=no-such-python "$HONE" resume last --store hone.db
err_has "hone resume needs no Python" "author 'exec:false'"
before=$("$HONE" runs --store py/hone.db --json | grep -c '"run"')
echo '{"refused": {"why": "forward draws random numbers", "line": 7}}' >refused.json
runs 1 "a run on a file that cannot be traced is refused" optimize_file model.py --trace refused.json
err_has "the message names the line that cannot be traced" "model.py:7: forward draws random numbers"
runs 1 "a run on a file that does not exist is refused" optimize_file none.py
err_has "the message names the file that does not exist" "none.py"
runs 2 "an unknown precision is a usage error" optimize_file swish_gate.py --trace "$trace" --precision fp8
runs 2 "an import option with a task is a usage error" optimize_file softmax --precision fp32
err_has "the message says that the name is a task" "'softmax' is a task"
is "a refused file begins no run" "$("$HONE" runs --store py/hone.db --json | grep -c '"run"')" "$before"
is "a refused file leaves no task" "$(ls py/imported | wc -l)" 2

runs 2 "hone optimize without a task is a usage error" "$HONE" optimize
runs 0 "hone optimize with a recording needs no task" env HONE_AUTHOR="replay:$rec/refine.jsonl" "$HONE" optimize
for scheme in openai: exec: mailbox: replay:; do
    runs 2 "the author '$scheme' without a name is a usage error" "$HONE" optimize softmax --author "$scheme"
done
runs 2 "an unknown task is a usage error" "$HONE" optimize no_such_task --author exec:true
runs 2 "an unknown strategy is a usage error" "$HONE" optimize softmax -s magic --author exec:true
runs 2 "a misspelt strategy is a usage error" "$HONE" optimize softmax -s serch --author exec:true
err_has "the message suggests a strategy" "did you mean 'search'?"
runs 2 "a misspelt author is a usage error" "$HONE" optimize softmax --author anthropc:x
err_has "the message suggests an author" "did you mean 'anthropic:x'?"
runs 2 "a budget of 0 dollars is a usage error" "$HONE" optimize softmax --budget-usd 0
ok "an unknown author is refused" bash -c "! '$HONE' optimize softmax --author magic 2>msg && grep -q 'openai:MODEL' msg"
ok "a budget of money is refused if the price of the model is unknown" \
    bash -c "! OPENAI_API_KEY=sk-test-000000 '$HONE' optimize softmax --author openai:no-such-model --budget-usd 1 2>msg && grep -q 'no price is known' msg"
ok "the message names the variable of the missing key" \
    bash -c "! env -u OPENAI_API_KEY HOME=/nonexistent '$HONE' optimize softmax --author openai:gpt-5 2>msg && grep -q OPENAI_API_KEY msg"
ok "a missing key is reported before a file is imported" \
    bash -c "! env -u OPENAI_API_KEY HOME=/nonexistent '$HONE' optimize f.py --author openai:gpt-5 2>msg && grep -q OPENAI_API_KEY msg && ! grep -q importing msg"

# A run that waits for its author saves its wall time, so that --budget-time counts this time even after a kill.
"$HONE" optimize softmax --author mailbox:slow_box --device emu --store waits.db -q >/dev/null 2>&1 &
waiter=$!
saved() { python3 -c 'import sqlite3; print(sqlite3.connect("waits.db").execute("select max(wall_ns) from run").fetchone()[0] or 0)' 2>/dev/null; }
for ((i = 0; i < 600; i++)); do
    [ "$(saved || echo 0)" -gt 1000000000 ] 2>/dev/null && break
    sleep 0.2
done
kill -9 $waiter
wait $waiter 2>/dev/null
ok "a run that waits for its author saves its wall time" test "$(saved)" -gt 1000000000
runs 1 "hone show fails for an unknown run" "$HONE" show nothing
head -4 "$rec/refine.jsonl" >cut.jsonl
"$HONE" optimize --author replay:cut.jsonl >"$T/out" 2>"$T/err"
err_has "a truncated recording says which verdict is missing" "the recording has no verdict 0"
ok "the store does not hold a key" bash -c "! grep -q sk-test-000000 hone-out/hone.db"
done_testing
