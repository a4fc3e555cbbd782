#!/usr/bin/env bash
# `hone bench`: suites, tables, failures, budgets, resuming. t/torture/bench.sh kills `hone bench` more often.
. "$(dirname "$0")/lib.sh"
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1
[ $? = 3 ] && skip_all "no CUDA compiler on this machine"
smoke=(--device emu --smoke --steps 1)
field() { python3 -c 'import json, sys; t = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$T/out" "$1"; }

if in_tier quick; then
    # If a task cannot be loaded, only its row fails. The campaign goes on with the other tasks.
    mkdir -p broken && echo '{"name": 1}' >broken/task.json
    runs 1 "a campaign with a broken task exits with 1" "$HONE" bench vector_add ./broken "${smoke[@]}" --jobs 2 --json \
        --markdown t.md --csv t.csv
    is "the table shows the good and the broken task" \
        "$(field '[(r["task"], r["state"]) for r in t["rows"]]')" "[('vector_add', 'pass'), ('broken', 'failed')]"
    is "the summary counts one pass and one failure" \
        "$(field 't["all"]["tasks"], t["all"]["passes"], t["all"]["failures"], t["complete"]')" "(2, 1, 1, True)"
    is "the row of the broken task gives the reason" "$(field '"task.json" in t["rows"][1]["reason"]')" True
    is "a row names the kind of work" "$(field 't["rows"][0]["kind"]')" elementwise
    is "the Markdown table has a row for each task" "$(grep -c '^| [0-9]' t.md)" 2
    is "the CSV table has a row for each task" "$(wc -l <t.csv)" 3
    campaign=$(field 't["campaign"]')
    runs 0 "hone report writes a campaign as one HTML file" "$HONE" report "$campaign" --html c.html
    ok "the HTML file opens at the campaign" grep -q '<body data-home="campaign/' c.html
    runs 2 "hone report refuses --html together with --csv" "$HONE" report "$campaign" --html c.html --csv t.csv
    runs 1 "a resumed campaign keeps the failure" "$HONE" bench --resume last --json
    is "a resumed campaign makes no second run" "$("$HONE" runs --json | grep -c '"run"')" 1
    runs 1 "after a campaign, hone resume last resumes the campaign" "$HONE" resume last
    out_has "hone resume last prints the table of the campaign" "all: 1 of 2 pass, 1 fail"
    is "a note's line break is not printed as ?" "$(grep -c '?hone' "$T/out")" 0
    err_has "hone resume last says that last means the campaign" \
        "\`last\` means the campaign $campaign. To choose the newest run, give its name: vector_add-refine-"
    runs 0 "after a campaign, hone report last reports the campaign" "$HONE" report last
    out_has "hone report last prints the table of the campaign" "$campaign"
    runs 0 "hone report accepts the name of one run of a campaign" "$HONE" report vector_add-refine -o one
    "$HONE" optimize --author "replay:$ROOT/t/cases/replay/refine.jsonl" -q >/dev/null
    runs 0 "after another run, last means that run" "$HONE" report last -o one
    err_empty "hone report last prints no note if last means a run"
    "$HONE" runs --rm last --yes >/dev/null
    runs 1 "--retry tries a failed task again" "$HONE" bench --resume last --retry --json
    is "the task that was tried again fails again" "$(field 't["rows"][1]["state"]')" failed

    # Bad input.
    runs 2 "hone bench without a task is a usage error" "$HONE" bench
    mkdir nothing && cd nothing || exit 1
    runs 2 "an unknown place for --on is a usage error" "$HONE" bench vector_add --device emu --on nowhere
    runs 2 "an unknown GPU is a usage error" "$HONE" bench vector_add --device emu --gpu h9000
    is "a refused campaign leaves no files" "$(ls -A)" ""
    cd .. || exit 1
    runs 1 "a name that is no task and no suite is an error" "$HONE" bench no_such_thing
    err_has "the message about an unknown name lists the suites" "cutegen19"
    printf 'softmax\n../up.py:f\n' >s.suite
    runs 1 "a suite must not name a file outside its folder" "$HONE" bench s.suite
    err_has "the message names the line of the suite" "s.suite:2"
    runs 1 "--resume with an unknown campaign is an error" "$HONE" bench --resume nothing
    runs 2 "--resume with another strategy is a usage error" "$HONE" bench --resume last -s team
    err_has "the message says that a campaign keeps its strategy" "a campaign keeps its strategy"
    runs 2 "--resume with the default strategy is a usage error too" "$HONE" bench --resume last -s refine
    runs 2 "--resume with another seed is a usage error" "$HONE" bench --resume last --seed 3
    runs 2 "--resume with other PyTorch variants is a usage error" "$HONE" bench --resume last --torch-variants high
    printf '\xef\xbb\xbfdef run(x):\n    return x\n' >own.py # it begins with a byte order mark
    runs 2 "--resume with a PyTorch program is a usage error" "$HONE" bench --resume last --against own.py
    runs 2 "--against is for a single task" "$HONE" bench softmax gelu_tanh --against own.py
    err_has "the message names the word of a suite" "against=FILE.py"
    runs 2 "--against takes no kernel" "$HONE" bench softmax --against k.cu
    runs 0 "a campaign takes a PyTorch program" \
        "$HONE" bench softmax --against own.py --import-only --store own.db --out own
    is "a campaign keeps the text of its PyTorch program, without a byte order mark" "$(grep -ac '"name":"own.py","source":"def run(x)' own.db)" 1
    runs 2 "a campaign with a PyTorch program does not go on without a GPU" \
        "$HONE" bench --resume last --device emu --store own.db
    err_has "the message of --resume says that the program needs a GPU" "needs a GPU"
    printf 'softmax against=own.py\n' >p.suite
    runs 2 "a PyTorch program of a suite needs a GPU" "$HONE" bench p.suite --device emu
    err_has "the message says that it needs a GPU" "needs a GPU"
    runs 0 "with --smoke, which times nothing, a suite with a PyTorch program needs no GPU" \
        "$HONE" bench p.suite --smoke --strategy sample --steps 1 --device emu --store smoke.db --out smoke
    printf 'softmax against=none.py\n' >p.suite
    runs 3 "a PyTorch program of a suite must exist" "$HONE" bench p.suite --device emu
    err_has "the message names the task and the file" "the baseline of 'softmax'"
    runs 2 "--retry without --resume is a usage error" "$HONE" bench softmax --retry
    runs 1 "a file of known times without the right columns is an error" \
        "$HONE" bench softmax --known-times s.suite --device emu
    err_has "the message names a missing column" "there is no column 'level'"
    err_has "the message lists all columns and the unit" \
        "eager, and if you have them compile and cudnn_bench (times in microseconds)"
fi

if in_tier rest; then
    # Budgets. Two candidates for two tasks: each task gets one.
    runs 0 "a campaign with a budget of candidates ends well" \
        "$HONE" bench softmax vector_add --device emu --smoke --steps 3 --budget-steps 2 \
        --store b.db --json
    is "the tasks share the budget of candidates" "$(field '[r["candidates"] for r in t["rows"]]')" "[1, 1]"
    # With a larger budget, the tasks that had used up their shares go on. Otherwise they are left alone.
    runs 0 "a campaign with one candidate for each task ends well" \
        "$HONE" bench vector_add sigmoid --device emu --steps 8 --budget-steps 2 --store g.db --json
    is "each task had one candidate" "$(field '[r["candidates"] for r in t["rows"]]')" "[1, 1]"
    for more in "" "--budget-steps 2" "--budget-steps 1" "--budget-steps 2" "--budget-tokens 5"; do
        # shellcheck disable=SC2086
        runs 0 "the campaign is resumed without a larger budget ($more)" \
            "$HONE" bench --resume last --store g.db --json $more
        is "its tasks are left alone ($more)" "$(field '[r["candidates"] for r in t["rows"]], t["complete"]')" "([1, 1], True)"
    done
    runs 0 "the campaign is resumed with a larger budget" "$HONE" bench --resume last --store g.db --json --budget-steps 5
    is "the tasks share the larger budget" \
        "$(field 'sorted(r["candidates"] for r in t["rows"]), {r["state"] for r in t["rows"]}, t["complete"]')" \
        "([2, 3], {'pass'}, True)"
    runs 1 "a larger budget that finds no time exits with 1" \
        "$HONE" bench --resume last --store g.db --json --budget-steps 9 --budget-time 1us
    is "the tasks wait for the larger budget" "$(field '{r["state"] for r in t["rows"]}, t["complete"]')" \
        "({'stopped'}, False)"
    runs 0 "the campaign is resumed once more" "$HONE" bench --resume last --store g.db --json
    is "the tasks then share the larger budget" \
        "$(field 'sorted(r["candidates"] for r in t["rows"]), {r["state"] for r in t["rows"]}, t["complete"]')" \
        "([4, 5], {'pass'}, True)"
    is "each task still has one run" "$("$HONE" runs --store g.db --json | grep -c '"run"')" 2
    runs 1 "a campaign that runs out of time exits with 1" \
        "$HONE" bench softmax rmsnorm layernorm cumsum --device emu --steps 20 --budget-time 2s \
        --store t.db --json
    is "a budget of time stops a campaign before its end" "$(field 't["complete"]')" False
    err_has "the message says how to go on with the campaign" "goes on"
    # To move a campaign to another machine, it is enough to copy the store.
    mkdir -p away mine && cp -r "$ROOT/tasks/sigmoid" mine/own
    runs 0 "--import-only puts the tasks into the store" \
        "$HONE" bench ./mine/own --import-only --store away/h.db "${smoke[@]}"
    rm -r mine
    runs 0 "a campaign goes on without the files of its tasks" "$HONE" bench --resume last --store away/h.db --json
    is "the campaign without files passes" "$(field 't["rows"][0]["state"]')" pass
    # A campaign remembers its --out, also if it goes on from another folder.
    runs 0 "--import-only with --out ends well" \
        "$HONE" bench sigmoid --import-only --store o.db --out my/results "${smoke[@]}"
    (cd away && "$HONE" bench --resume last --store ../o.db -q >/dev/null)
    ok "a resumed campaign writes into its earlier --out" ls my/results/*sigmoid/report.md
    ok "a resumed campaign writes nowhere else" test ! -e away/hone-out
    runs 0 "a campaign on the emulator with timing ends well" \
        "$HONE" bench vector_add --device emu --steps 1 --store m.db --json
    is "modelled times are marked" \
        "$(field 't["model"], t["rows"][0]["model"], t["rows"][0]["standing"]')" "(True, True, '')"
    is "modelled times are compared with the simple kernel" "$(field 't["rows"][0]["against"]["who"]')" naive
    KILLS=6 "$ROOT/t/torture/bench.sh" softmax vector_add rmsnorm sigmoid >kills.txt 2>&1
    if [ $? = 0 ]; then pass "a campaign that is killed at six moments resumes"; else fail "a campaign that is killed at six moments resumes" "$(cat kills.txt)"; fi
fi
done_testing
