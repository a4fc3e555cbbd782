#!/usr/bin/env bash
# `hone study`: its tables and plot from known rows; a small study on the emulator, stopped and resumed
# (TIER=rest).
. "$(dirname "$0")/lib.sh"

mkdir d && cp "$ROOT/t/cases/study/study.tsv" d
runs 0 "the tables of known rows" "$HONE" study softmax --table -o d --seeds 2 --budget 2
out_has "refine is at 75 of 100" "| refine | 2 | 75.0 [50.0, 100.0] | 62.5"
out_has "search is 25 better" "| search | 2 | 100.0 [100.0, 100.0] | 75.0 [50.0, 100.0] | +25.0"
out_has "memory needs 1.5 of 2 candidates" "| softmax | 2 | 1.5 | 75%"
out_has "which is too many" "0 of 1 tasks need at most 60% of the candidates. 0 reach the time with their first kernel"
ok "a plot" grep -q "</svg>" d/study.svg
ok "that says how many seeds it has" grep -q "tasks: 1, seeds: at most 2" d/study.svg
ok "is well formed" python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("d/study.svg")'
printf 'sample\tsoftmax\t1' >>d/study.tsv # a killed study
runs 0 "a line that was cut off" "$HONE" study softmax --table -o d --seeds 2 --budget 2
out_lacks "does not count" "| sample |"
runs 0 "another budget" "$HONE" study softmax --table -o d --seeds 2 --budget 3
out_lacks "has no rows yet" "| refine |"
out_has "and says so" "it has 0 of"
out_has "and which seeds count" "only if every task has a run with it"
runs 2 "too large a budget" "$HONE" study softmax --budget 100
runs 1 "an unknown task" "$HONE" study no_such_task
runs 2 "an unknown arm" "$HONE" study softmax --arms 'refine;no such arm' -o e
err_has "lists the arms" "search, greedy"

if in_tier rest && "$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1; then
    share_cache
    runs 0 "a study" "$HONE" study vector_add --seeds 1 --budget 2 -j 1 -o s \
        --arms 'refine;playbook;playbook, with memory'
    out_has "has a table" "| refine | 1 |"
    n=$(ls s/verdicts | wc -l)
    runs 0 "again" "$HONE" study vector_add --seeds 1 --budget 2 -j 1 -o s \
        --arms 'refine;playbook;playbook, with memory'
    is "judges nothing twice" "$(ls s/verdicts | wc -l)" "$n"
    is "and runs nothing twice" "$(wc -l <s/study.tsv)" 3
    head -c -5 s/study.tsv >cut && cp cut s/study.tsv # a killed study
    runs 0 "goes on" "$HONE" study vector_add --seeds 1 --budget 2 -j 1 -o s \
        --arms 'refine;playbook;playbook, with memory'
    is "with the row that was cut off" "$(wc -l <s/study.tsv)" 3
    out_lacks "and is complete" "not complete"
    runs 0 "an idle author" "$HONE" study vector_add --seeds 1 --budget 2 -j 1 -o s --arms refine \
        --author noisy:compile=0,wrong=0,slower=0,idle=1
    is "adds only comments, which nobody judges again" "$(ls s/verdicts | wc -l)" "$n"
fi
done_testing
