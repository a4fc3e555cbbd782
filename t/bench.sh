#!/usr/bin/env bash
# `hone bench`: suites, tables, failures, budgets, resuming. t/torture/bench.sh kills it more often.
. "$(dirname "$0")/lib.sh"
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1
[ $? = 3 ] && skip_all "no CUDA compiler on this machine"
smoke=(--device emu --smoke --steps 1)
field() { python3 -c 'import json, sys; t = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$T/out" "$1"; }

if in_tier quick; then
    # A task that cannot be loaded is a failure of its row, and the others go on.
    mkdir -p broken && echo '{"name": 1}' >broken/task.json
    runs 1 "a campaign with a broken task" "$HONE" bench vector_add ./broken "${smoke[@]}" --jobs 2 --json \
        --markdown t.md --csv t.csv
    is "shows both" "$(field '[(r["task"], r["state"]) for r in t["rows"]]')" "[('vector_add', 'pass'), ('broken', 'failed')]"
    is "counts the failure" "$(field 't["all"]["tasks"], t["all"]["passes"], t["all"]["failures"], t["complete"]')" "(2, 1, 1, True)"
    is "says why" "$(field '"task.json" in t["rows"][1]["reason"]')" True
    is "names the kind" "$(field 't["rows"][0]["kind"]')" elementwise
    is "the Markdown has a row for each" "$(grep -c '^| [0-9]' t.md)" 2
    is "the CSV too" "$(wc -l <t.csv)" 3
    campaign=$(field 't["campaign"]')
    runs 0 "a campaign as one file" "$HONE" report "$campaign" --html c.html
    ok "begins with the campaign" grep -q '<body data-home="campaign/' c.html
    runs 2 "one kind of table at a time" "$HONE" report "$campaign" --html c.html --csv t.csv
    runs 1 "resuming repeats nothing" "$HONE" bench --resume last --json
    is "one run was made" "$("$HONE" runs --json | grep -c '"run"')" 1
    runs 1 "after a campaign, resume last means the campaign" "$HONE" resume last
    out_has "prints its table" "all: 1 of 2 pass, 1 fail"
    is "a note's line break is not printed as ?" "$(grep -c '?hone' "$T/out")" 0
    err_has "and says so" "\`last\` means the campaign $campaign; the newest run is vector_add-refine-"
    runs 0 "report last too" "$HONE" report last
    out_has "prints the table" "$campaign"
    runs 0 "a run of it can be named" "$HONE" report vector_add-refine -o one
    "$HONE" optimize --author "replay:$ROOT/t/cases/replay/refine.jsonl" -q >/dev/null
    runs 0 "after another run, last means that run" "$HONE" report last -o one
    err_empty "without a word"
    "$HONE" runs --rm last --yes >/dev/null
    runs 1 "--retry tries the failure again" "$HONE" bench --resume last --retry --json
    is "and it fails again" "$(field 't["rows"][1]["state"]')" failed

    # Bad input.
    runs 2 "without a task" "$HONE" bench
    mkdir nothing && cd nothing || exit 1
    runs 2 "an unknown place" "$HONE" bench vector_add --device emu --on nowhere
    runs 2 "an unknown GPU" "$HONE" bench vector_add --device emu --gpu h9000
    is "these leave nothing" "$(ls -A)" ""
    cd .. || exit 1
    runs 1 "a name that nothing has" "$HONE" bench no_such_thing
    err_has "lists the suites" "cutegen19"
    printf 'softmax\n../up.py:f\n' >s.suite
    runs 1 "a suite that leads out of its folder" "$HONE" bench s.suite
    err_has "names the line" "s.suite:2"
    runs 1 "an unknown campaign" "$HONE" bench --resume nothing
    runs 2 "--resume with another strategy" "$HONE" bench --resume last -s team
    err_has "says what stays" "a campaign keeps its strategy"
    runs 2 "--retry without --resume" "$HONE" bench softmax --retry
    runs 1 "known times that are none" "$HONE" bench softmax --known-times s.suite --device emu
    err_has "says what is expected" "there is no column 'level'"
    err_has "with all columns and the unit" "eager, and if you have them compile and cudnn_bench (times in microseconds)"
fi

if in_tier rest; then
    # Budgets. Two candidates for two tasks: each gets one.
    runs 0 "a budget of candidates" "$HONE" bench softmax vector_add --device emu --smoke --steps 3 --budget-steps 2 \
        --store b.db --json
    is "is shared" "$(field '[r["candidates"] for r in t["rows"]]')" "[1, 1]"
    runs 1 "a budget of time" "$HONE" bench softmax rmsnorm layernorm cumsum --device emu --steps 20 --budget-time 2s \
        --store t.db --json
    is "stops before the end" "$(field 't["complete"]')" False
    err_has "says how to go on" "goes on"
    # Another machine: only the store travels.
    mkdir -p away mine && cp -r "$ROOT/tasks/sigmoid" mine/own
    runs 0 "tasks are made in advance" "$HONE" bench ./mine/own --import-only --store away/h.db "${smoke[@]}"
    rm -r mine
    runs 0 "and the campaign goes on without their files" "$HONE" bench --resume last --store away/h.db --json
    is "with a pass" "$(field 't["rows"][0]["state"]')" pass
    runs 0 "modelled times" "$HONE" bench vector_add --device emu --steps 1 --store m.db --json
    is "are marked" "$(field 't["model"], t["rows"][0]["model"], t["rows"][0]["standing"]')" "(True, True, '')"
    is "and compared with the simple kernel" "$(field 't["rows"][0]["against"]["who"]')" naive
    KILLS=6 "$ROOT/t/torture/bench.sh" softmax vector_add rmsnorm sigmoid >kills.txt 2>&1
    if [ $? = 0 ]; then pass "kill -9 at six moments"; else fail "kill -9 at six moments" "$(cat kills.txt)"; fi
fi
done_testing
