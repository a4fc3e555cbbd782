#!/usr/bin/env bash
# `hone study`: its tables and its plot from known rows. With TIER=rest also a small study on the emulator, which
# is stopped and resumed.
. "$(dirname "$0")/lib.sh"

mkdir d && cp "$ROOT/t/cases/study/study.tsv" d
runs 0 "hone study --table prints the tables of known rows" "$HONE" study softmax --table -o d --seeds 2 --budget 2
out_has "the table has the mean of refine, 75 of 100" "| refine | 2 | 75.0 [50.0, 100.0] | 62.5"
out_has "the table says that search is 25 better" "| search | 2 | 100.0 [100.0, 100.0] | 75.0 [50.0, 100.0] | +25.0"
out_has "the table says that memory needs 1.5 of 2 candidates" "| softmax | 2 | 1.5 | 75%"
out_has "the text says that no task needs at most 60% of the candidates" \
    "0 of 1 tasks need at most 60% of the candidates that they need without memory. 0 reach the time with their first kernel"
ok "hone study --table writes a plot" grep -q "</svg>" d/study.svg
ok "the plot gives the number of tasks and seeds" grep -q "tasks: 1, seeds: at most 2" d/study.svg
ok "the plot is well-formed XML" python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("d/study.svg")'
printf 'sample\tsoftmax\t1' >>d/study.tsv # as if the study was killed while it wrote a row
runs 0 "hone study --table accepts a row that was cut off" "$HONE" study softmax --table -o d --seeds 2 --budget 2
out_lacks "a row that was cut off does not count" "| sample |"
runs 0 "hone study --table accepts more seeds than there are" "$HONE" study softmax --table -o d --seeds 9 --budget 2
out_has "the text says that the study is not complete" "The study is not complete"
out_has "the text says which seeds count" "only if every task has a run with it"
cp d/study.svg before.svg
runs 1 "without a run of this budget, hone study --table exits with 1" \
    "$HONE" study softmax --table -o d --seeds 2 --budget 3
err_has "the message says which options to repeat" \
    "d/study.tsv has no run with these TASKs, --budget 3 and --author noisy: repeat those of the study"
ok "the plot stays as it was" cmp before.svg d/study.svg
is "no table is printed" "$(cat "$T/out")" ""
runs 1 "without a run of this task, hone study --table exits with 1" "$HONE" study rmsnorm --table -o d --budget 2
runs 1 "in an empty folder, hone study --table exits with 1" "$HONE" study softmax --table -o none
runs 1 "without a run of these arms, hone study --table exits with 1" \
    "$HONE" study softmax --table -o d --seeds 2 --budget 2 --arms team
ok "the plot still stays as it was" cmp before.svg d/study.svg
ok "hone study --table makes no folder" test ! -e none
runs 2 "a budget that is too large is a usage error" "$HONE" study softmax --budget 100
runs 1 "an unknown task is an error" "$HONE" study no_such_task
runs 2 "an unknown arm is a usage error" "$HONE" study softmax --arms 'refine;no such arm' -o e
err_has "the message about an unknown arm lists the arms" "search, greedy"

if in_tier rest && "$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1; then
    share_cache
    runs 0 "a study runs" "$HONE" study vector_add --seeds 1 --budget 2 -j 1 -o s \
        --arms 'refine;playbook;playbook, with memory'
    out_has "the study has a table" "| refine | 1 |"
    n=$(ls s/verdicts | wc -l)
    runs 0 "the same study runs again" "$HONE" study vector_add --seeds 1 --budget 2 -j 1 -o s \
        --arms 'refine;playbook;playbook, with memory'
    is "the same study evaluates no candidate again" "$(ls s/verdicts | wc -l)" "$n"
    is "the same study adds no rows" "$(wc -l <s/study.tsv)" 3
    head -c -5 s/study.tsv >cut && cp cut s/study.tsv # as if the study was killed while it wrote a row
    runs 0 "a study with a row that was cut off runs" "$HONE" study vector_add --seeds 1 --budget 2 -j 1 -o s \
        --arms 'refine;playbook;playbook, with memory'
    is "the study makes the row that was cut off again" "$(wc -l <s/study.tsv)" 3
    out_lacks "the study is complete" "not complete"
    runs 0 "a study with an author that changes only comments runs" \
        "$HONE" study vector_add --seeds 1 --budget 2 -j 1 -o s --arms refine \
        --author noisy:compile=0,wrong=0,slower=0,idle=1
    is "no candidate with changed comments is evaluated" "$(ls s/verdicts | wc -l)" "$n"
fi
done_testing
