#!/usr/bin/env bash
# Models that answer badly: every strategy ends with a report, keeps its best kernel, and evaluates no source
# twice. The first reply of the models `then_*` is right, the later ones are not.
. "$(dirname "$0")/lib.sh"
good=$ROOT/kernels/vector_add.cu

# model NAME BODY: makes a program that reads its prompt and answers with the output of BODY
model() { printf '#!/bin/sh\nprompt=$(cat)\n%s\n' "$2" >"$1" && chmod +x "$1"; }
# file COMMAND: prints a BODY that answers with the file that COMMAND prints
file() { printf "echo 'MOVE: mapping: a file'; echo '\`\`\`cuda'; %s; echo '\`\`\`'" "$1"; }
# later BODY: prints a BODY that answers with a right file first, and then with BODY
later() { printf 'case $prompt in *"# The kernel"*) %s ;; *) %s ;; esac' "$1" "$(file "cat $good")"; }

model prose "echo 'I would use wide loads. Shall I go on?'"
model empty ":"
model huge "head -c 5000000 /dev/zero | tr '\\0' a"
model cut "echo '\`\`\`cuda'; head -c 300 $good"
model broken "$(file "sed s/blockIdx/blokIdx/ $good")"
model then_prose "$(later "echo nothing")"
model then_empty "$(later ":")"
model then_fails "$(later "echo out of memory >&2; exit 1")"
model then_edits "$(later "printf '<<<<<<< SEARCH\nnot there\n=======\nx\n>>>>>>> REPLACE\n'")"
model then_same "$(later "$(file "cat $good")")"
model colours "printf 'MOVE: mapping: \\033[31mred\\033]0;x\\007\\n'; $(file "sed s/blockIdx/blokIdx/ $good") | tail -n +2"
model two "$(file "sed s/blockIdx/blokIdx/ $good"); echo 'That was wrong, this is right:'; $(file "cat $good")"

declare -A limits=([refine]="--repairs 1 --tries 2" [search]="--tries 2" [team]="--repairs 1")
weak() { # weak STATUS STRATEGY MODEL TEXT: checks the exit status, and that the run prints TEXT
    # shellcheck disable=SC2086
    runs "$1" "$2: a run with the model $3 exits with $1" \
        "$HONE" optimize vector_add --device emu --dialect cuda --skip-baselines \
        -s "$2" -n 2 ${limits[$2]} -a "exec:$PWD/$3" -o "out/$2-$3"
    out_has "$2: a run with the model $3 prints '$4'" "$4"
    ok "$2: a run with the model $3 leaves a report" grep -q '## Candidates' "out/$2-$3/report.md"
}
for s in refine search; do
    for m in prose empty huge cut; do weak 1 $s $m "2 rejected or without code"; done
    weak 1 $s broken "0 pass"
    weak 0 $s two "pass"
done
for s in refine search team; do
    weak 0 $s then_prose "1 pass"
    weak 0 $s then_empty "1 pass"
    weak 0 $s then_edits "1 pass"
    weak 0 $s then_same "1 pass"
    ok "$s: the same file is not evaluated again" grep -q 'again, unchanged' <("$HONE" log last)
    weak 3 $s then_fails "it said: out of memory"
    ok "$s: the best kernel is kept if the author fails" grep -q hone-plan "out/$s-then_fails/best.cu"
done
weak 1 refine colours "0 pass"
ok "the report has no control characters of a move" bash -c "! grep -q \$'\\033' out/refine-colours/report.md"
ok "the report has the words of the move" grep -q 'red' out/refine-colours/report.md
# A file with host code goes to the porter, with every strategy.
printf '#include <cstdio>\n__global__ void add(float *a) {}\nint main() { add<<<1, 1>>>(0); }\n' >legacy.cu
model porter "$(printf 'case $prompt in *"You are the porter"*) %s ;; *) echo nothing ;; esac' "$(file "cat $good")")"
for s in refine search team; do
    runs 0 "$s: a run from a file with host code passes" "$HONE" optimize vector_add --device emu \
        --dialect cuda --skip-baselines -s $s -n 1 --from legacy.cu -a "exec:$PWD/porter" -o out/own
    out_has "$s: the ported file passes" "1 pass"
    runs 0 "$s: the porter's call is recorded" "$HONE" log last port/0
done
# --repairs 0 makes no repairs.
runs 1 "a run with --repairs 0 fails" "$HONE" optimize vector_add --device emu --dialect cuda --skip-baselines \
    -n 1 --repairs 0 --tries 1 -a "exec:$PWD/broken" -o out/unrepaired
out_has "a run with --repairs 0 has one candidate" "0 pass, 1 fail"

# `hone resume` finds a task in a folder of the user from another directory.
runs 0 "hone task new writes a task" "$HONE" task new fresh
runs 3 "a run on a task with a relative path stops if its author fails" \
    "$HONE" optimize fresh --device emu -a "exec:exit 1" -o out/fresh
mkdir elsewhere
runs 3 "hone resume from another directory stops if its author fails" \
    env -C elsewhere "$HONE" resume last -a "exec:echo again >&2; exit 1" \
    --store ../hone-out/hone.db -o out
err_has "hone resume from another directory asks the author" "it said: again"
runs 0 "hone runs --check finds no damage in the store" "$HONE" runs --check
done_testing
