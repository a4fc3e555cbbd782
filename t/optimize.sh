#!/usr/bin/env bash
# `hone optimize` and the other commands about runs. Recordings replace the model and the judge.
. "$(dirname "$0")/lib.sh"
rec=$ROOT/t/cases/replay

for s in refine search team; do
    runs 0 "$s: replayed" "$HONE" optimize --author "replay:$rec/$s.jsonl"
    out_has "$s: to the same lineage" "the same as the recording's lineage"
done
run=$("$HONE" runs --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["run"])')

runs 0 "runs are listed" "$HONE" runs
out_has "with their strategy" "-search-"
runs 0 "a run is shown" "$HONE" show "$run"
out_has "with its lineage" "<== best"
out_has "and what was repaired" "1 of 1 failures repaired"
runs 0 "the best kernel" "$HONE" show "$run" best
out_has "is a file with a plan" "hone-plan"
runs 0 "a verdict" "$HONE" show "$run" 0 --verdict --json
out_has "is JSON" '"kind"'
runs 0 "a candidate as JSON" "$HONE" show "$run" best --json
is "has its source and its verdict" "$(python3 -c 'import json,sys; c = json.load(sys.stdin)
print("hone-plan" in c["source"], c["verdict"]["kind"], c["run"], int(c["candidate"]) >= 0)' <"$T/out")" "True pass $run True"
runs 0 "the log" "$HONE" log "$run"
out_has "has every role" "diagnose"
runs 0 "one call" "$HONE" log "$run" code/1
out_has "has its prompt" "The contract: device code plus a launch plan"
out_has "and its reply" "======== reply ========"
runs 0 "as JSON" "$HONE" log "$run" code/1 --json
out_has "with both" '"reply"'
for odd in code/ code/1x code/-1 code 1 ""; do
    runs 1 "no call '$odd'" "$HONE" log "$run" "$odd"
done
for odd in 1x ""; do
    runs 2 "no candidate '$odd'" "$HONE" show "$run" -- "$odd"
    err_has "and how to write one" "must be a number, or best"
done
runs 1 "no candidate of a large number" "$HONE" show "$run" 9999
err_has "and how many there are" "it has"
runs 2 "a verdict is a candidate's" "$HONE" show "$run" --verdict
runs 0 "a difference" "$HONE" diff "$run" best
out_has "is unified" "@@ "
runs 1 "the first candidate has no parent" "$HONE" diff "$run" 0
err_has "to differ from" "has no parent"
runs 0 "but two may be named" "$HONE" diff "$run" 0 best
runs 0 "a report" "$HONE" report "$run" -o page
ok "has a page" grep -q '## Lineage' page/report.md
ok "and a plot" grep -q '<svg' page/time.svg
ok "and the kernel" grep -q hone-plan page/best.cu
runs 0 "the store is in order" "$HONE" runs --check
runs 0 "exported again" "$HONE" log "$run" --export again.jsonl
runs 0 "and replayed from there" "$HONE" optimize --author replay:again.jsonl --json
out_has "the same" '"lineage_differs": 0'

runs 0 "carried on with a budget" "$HONE" resume "$run" --budget-steps 77
runs 0 "which the run keeps" "$HONE" log "$run" --export kept.jsonl
ok "and its recording" grep -q '"steps":77' kept.jsonl

cp "$rec/refine.jsonl" mine.jsonl
runs 0 "a recording of one's own" "$HONE" optimize --author replay:mine.jsonl
mkdir elsewhere
runs 0 "is found again from elsewhere" env -C elsewhere "$HONE" resume last --store ../hone-out/hone.db
out_has "and the run is as it was" "the same as the recording's lineage"
cp mine.jsonl elsewhere/
runs 0 "what resume is told is kept in full" env -C elsewhere "$HONE" resume last --store ../hone-out/hone.db --author replay:mine.jsonl
runs 0 "so it is found" "$HONE" resume last
runs 3 "a report that cannot be written" "$HONE" report last -o /dev/null/page
runs 3 "of a run that is carried on" "$HONE" resume last -o /dev/null/page
out_lacks "is not pointed to" "report.md"

# another author goes on: the run names both, and who wrote the best kernel
sed -n -E '/^\{"hone-replay"|"role":"code","index":0,|^\{"verdict":\{"index":0,|^\{"node":\{"index":0,/p' mine.jsonl >begin.jsonl
runs 1 "a run whose author has no more replies" "$HONE" optimize --author replay:begin.jsonl
runs 0 "is shown" "$HONE" show last
out_has "with its author" "written by replay:$PWD/begin.jsonl, "
runs 0 "that another goes on with" "$HONE" resume last --author replay:mine.jsonl -o two
both="replay:$PWD/begin.jsonl, then replay:$PWD/mine.jsonl (best: replay:$PWD/mine.jsonl)"
out_has "names both" "written by $both, "
ok "so does its report" grep -qF "written by ${both//$PWD/.}." two/report.md
runs 0 "so does the list of runs" "$HONE" runs
out_has "in its last column" "$both"
runs 0 "and the JSON" "$HONE" show last --json
is "which has the author of each candidate" "$(python3 -c 'import json,sys; r = json.load(sys.stdin)
print(r["author"] == sys.argv[1], *[n["author"].split("/")[-1][:-6] for n in r["nodes"]][:2], r["best_author"].split("/")[-1])' "$both" <"$T/out")" "True begin mine mine.jsonl"

# a best kernel that fails its confirmation
runs 0 "an unconfirmed best" "$HONE" optimize --author "replay:$rec/confirm.jsonl" -o confirmed
out_has "is replayed" "the same as the recording's lineage"
out_has "is told of" "NOT CONFIRMED: candidate 3 passed, but failed when it was evaluated again: unsafe"
out_has "and the next is the best" "best: 70.0 us"
out_has "timed beside PyTorch" "      torch             50.0 us  0.71x [0.71, 0.72]"
ok "the report has a table" grep -q '^| R=1 | 70.0 us | 200.0 us, 2.86x' confirmed/report.md
ok "and the best kernel" grep -q 'pass 70' confirmed/best.cu
runs 0 "its confirmation" "$HONE" show last best --confirmation --json
out_has "is a verdict" '"torch"'
runs 1 "the others have none" "$HONE" show last 0 --confirmation
err_has "and say so" "has no confirmation"
runs 2 "which is a candidate's" "$HONE" show last --confirmation
runs 0 "the tree" "$HONE" show last
out_has "marks it" "(unconfirmed)"

# a recording that was changed gives another lineage
sed 's/"fate":"regression"/"fate":"kept"/' "$rec/refine.jsonl" >other.jsonl
runs 1 "another lineage is a negative result" "$HONE" optimize --author replay:other.jsonl
out_has "and says where" "differs in"

timeout 60 "$HONE" optimize softmax --device emu --author mailbox:box --budget-time 1s >"$T/out" 2>"$T/err"
if [ $? = 3 ]; then
    skip "a mailbox nobody answers" "$(head -1 "$T/err")" # no CUDA compiler to judge with
else
    err_has "a mailbox nobody answers is waited for as long as there is time" "the budget of 1 s is used up"
    runs 1 "and taken up again" timeout 60 "$HONE" resume last --budget-time 2s
    is "by its one prompt" "$(ls box)" 0000.prompt.md
fi

# ---- a PyTorch file in place of a task; recorded traces replace PyTorch
trace=$ROOT/t/cases/import/swish_gate.trace.json
optimize_file() { HONE_PYTHON=no-such-python "$HONE" optimize --device emu --author exec:false --store py/hone.db "$@"; }
runs 3 "a PyTorch file is imported" optimize_file swish_gate.py --trace "$trace"
task=$(sed -n 's/: 2 free sizes$//p' "$T/err")
err_has "its author is asked, and fails" "author 'exec:false'"
is "the task is beside the store" "$(dirname "$(dirname "$task")")/$(basename "$task")" py/imported/swish_gate
runs 0 "it is a task like any other" "$HONE" task show --graph "$task"
runs 3 "the same file" optimize_file swish_gate.py --trace "$trace"
err_has "is not imported again" "$task: imported before; nothing has changed since"
runs 3 "other options" optimize_file swish_gate.py --trace "$trace" --precision tf32
err_has "are another import" "with random rounding"
is "in a folder of its own" "$(ls py/imported | wc -l)" 2
rm "$task/task.json"
runs 3 "an import that is not whole" optimize_file swish_gate.py --trace "$trace" --quiet
ok "is made again" test -e "$task/task.json"
runs 3 "the run goes on without Python" env -C py HONE_PYTHON=no-such-python "$HONE" resume last --store hone.db
err_has "with its task" "author 'exec:false'"
before=$("$HONE" runs --store py/hone.db --json | grep -c '"run"')
echo '{"refused": {"why": "forward draws random numbers", "line": 7}}' >refused.json
runs 1 "a file that is refused" optimize_file model.py --trace refused.json
err_has "names the line" "model.py:7: forward draws random numbers"
runs 1 "a file that is not there" optimize_file none.py
err_has "is named" "none.py"
runs 2 "an unknown precision" optimize_file swish_gate.py --trace "$trace" --precision fp8
runs 2 "options of the import" optimize_file softmax --precision fp32
err_has "do not fit a task" "'softmax' is a task"
is "these begin no run" "$("$HONE" runs --store py/hone.db --json | grep -c '"run"')" "$before"
is "and leave no task" "$(ls py/imported | wc -l)" 2

runs 2 "no task is a usage error" "$HONE" optimize
runs 0 "but a recording brings its own" env HONE_AUTHOR="replay:$rec/refine.jsonl" "$HONE" optimize
for none in openai: exec: mailbox: replay:; do
    runs 2 "nothing after '$none' is a usage error" "$HONE" optimize softmax --author "$none"
done
runs 3 "an unknown task" "$HONE" optimize no_such_task --author exec:true
runs 2 "an unknown strategy" "$HONE" optimize softmax -s magic --author exec:true
runs 2 "a budget of nothing is no budget at all" "$HONE" optimize softmax --budget-usd 0
ok "an unknown author is refused" bash -c "! '$HONE' optimize softmax --author magic 2>msg && grep -q 'openai:MODEL' msg"
ok "no price, no money budget" bash -c "! OPENAI_API_KEY=sk-test-000000 '$HONE' optimize softmax --author openai:no-such-model --budget-usd 1 2>msg && grep -q 'no price is known' msg"
ok "a key is asked for by name" bash -c "! env -u OPENAI_API_KEY HOME=/nonexistent '$HONE' optimize softmax --author openai:gpt-5 2>msg && grep -q OPENAI_API_KEY msg"
runs 1 "no such run" "$HONE" show nothing
head -4 "$rec/refine.jsonl" >cut.jsonl
"$HONE" optimize --author replay:cut.jsonl >"$T/out" 2>"$T/err"
err_has "a truncated recording says that it ends" "the recording has no verdict 0"
ok "no key is in the store" bash -c "! grep -q sk-test-000000 hone-out/hone.db"
done_testing
