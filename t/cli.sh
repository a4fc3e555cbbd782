#!/usr/bin/env bash
# The command line as a whole: help, typos, exit statuses, where output goes.
. "$(dirname "$0")/lib.sh"

runs 0 "--help" "$HONE" --help
is "fits a screen" "$(awk 'length > 80 {w++} END {print (NR <= 40) && !w}' "$T/out")" 1
err_empty "help is a result: stdout"
out_has "has the units of times" "TIME is in seconds, or 500ns"
out_has "and how to take a flag back" "--no-FLAG"
runs 0 "--version" "$HONE" --version
is "prints the newest version of CHANGELOG.md" "$(cat "$T/out")" "hone $(sed -n 's/^## \([0-9][0-9.]*\) .*/\1/p' "$ROOT/CHANGELOG.md" | head -1)"
runs 2 "no command" "$HONE"
runs 2 "an unknown command" "$HONE" doctr
err_has "suggests the nearest" "did you mean 'hone doctor'"
out_lacks "prints nothing on stdout" "doctor"
runs 2 "an unknown option" "$HONE" doctor --jsn
err_has "suggests the nearest option" "did you mean --json"
runs 2 "an operand too many" "$HONE" doctor now

for c in $("$HONE" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'); do
    runs 0 "$c --help" "$HONE" "$c" --help
    out_has "$c --help has an example" "example:"
    runs 0 "help $c" "$HONE" help "$c"
done
gnn=$(dirname "$HONE")/hone-gnn
forms() { "$@" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'; } # forms PROGRAM [COMMAND]: what its help lists
layout() { # layout PROGRAM COMMANDS...: the lines of these helps that are too long, and doubled blank lines
    local c
    for c in "${@:2}"; do
        "$1" $c --help | awk -v c="$c" 'length > 110 || (NR > 1 && !length && !last) {print c ":" NR ": " $0} {last = length}'
    done
}
is "every help fits the screen" "$(layout "$HONE" $(forms "$HONE"))" ""
is "that of forms too" "$(layout "$HONE" "task show" "import torch" "import flashinfer-bench" "memory show")" ""
is "and those of hone-gnn" "$(layout "$gnn" $(forms "$gnn") "make rmat" "import npy")" ""
is "the forms of usage stand below each other" "$("$HONE" bench --help | sed -n 2p | sed 's/[^ ].*//')" "       "
is "the help of a command with forms lists them" "$(forms "$HONE" task | tr '\n' ' ')$(forms "$gnn" make | tr '\n' ' ')" \
    "list show check new rmat blocks debian "
runs 0 "hone-gnn bench --help" "$gnn" bench --help
out_lacks "offers no option that it ignores" "--threads"

# ---- completions and manual pages come from the tables of commands and options
for c in $("$HONE" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'); do
    runs 0 "$c has a manual page" "$HONE" __man "$c"
    out_has "$c: with its name" "hone\\-$c \\-"
done
runs 0 "commands complete" "$HONE" __complete ev
out_has "with what they do" "eval	evaluate one kernel"
runs 0 "options complete" "$HONE" __complete eval softmax --d
out_has "with their help" "--device	what runs the kernels: emu"
runs 0 "tasks complete" "$HONE" __complete eval so
out_has "by name" "softmax	"
runs 0 "authors complete" "$HONE" __complete optimize --author m
out_has "by scheme" "mailbox:	"
runs 0 "subcommands complete" "$HONE" __complete task s
out_has "with what they do" "show	one task in full"
runs 0 "strategies complete" "$HONE" __complete optimize -s ""
out_has "by name" "refine	"
"$HONE" optimize --author "replay:$ROOT/t/cases/replay/refine.jsonl" -q >/dev/null
runs 0 "runs complete" "$HONE" __complete show ""
out_has "by name" "softmax-refine-"
rm -r hone-out
tools=$("$ROOT/tools/man" "$HONE" "$T/share" 2>&1)
is "tools/man says nothing" "$tools" ""
bash_completes() { # bash_completes WORD...: what bash offers for the last WORD
    PATH=$(dirname "$HONE"):$PATH bash --norc -c '. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _hone; printf "%s\n" "${COMPREPLY[@]}"' \
        bash "$T/share/bash-completion/completions/hone" "$@"
}
is "bash completes" "$(bash_completes hone task sh)" show

# ---- if stdout cannot be written, the command fails
k=$ROOT/kernels/vector_add.cu
for c in --help doctor "doctor --json" "task list" "cache stat" "compile --help" "worker --version"; do
    runs 3 "$c on a full disk" sh -c '"$@" >/dev/full' sh "$HONE" $c
    runs 3 "$c with stdout closed" sh -c '"$@" >&-' sh "$HONE" $c
    "$HONE" $c 2>"$T/err" | true
done
runs 3 "whose reader left" bash -c '"$1" playbook list | true; exit ${PIPESTATUS[0]}' bash "$HONE"
err_empty "says nothing about it"

# ---- with stdout closed, no file that Hone opens becomes its stdout
runs 3 "nothing open" sh -c 'HONE_LOG=debug exec "$1" task check vector_add <&- >&- 2>&-' sh "$HONE"
HONE_LOG=debug "$HONE" runs --store "$T/s.db" 2>&- <&-
is "only a store is made" "$(grep -rl 'hone:' "$T/cwd" "$T/cache" 2>/dev/null)" ""

# ---- status 2 if the command line names something unknown, 3 if something it names is missing or
# broken
mkdir dir && : >empty
runs 2 "an unknown device" "$HONE" eval vector_add "$k" --device tpu
runs 2 "an unknown workload" "$HONE" eval vector_add "$k" --device emu --workload smoke:999
err_has "the message lists the workloads" "task 'vector_add' has no workload 'smoke:999'; it has smoke:0 to"
runs 2 "an unknown architecture" "$HONE" eval vector_add "$k" --device emu --arch sm_12
err_has "the message has examples" "'sm_12' is not an architecture"
runs 2 "an architecture that no GPU has" "$HONE" eval vector_add "$k" --device emu --arch sm_95
err_has "lists those that exist" "sm_89, sm_90a"
runs 2 "task and kernel in the wrong order" "$HONE" eval "$k" vector_add
err_has "are put right" "did you mean \`vector_add $k\`"
sed 's/"kernel": "vector_add"/"kernel": "vector_sum"/' "$k" >other.cu
runs 1 "a plan whose kernel does not exist" "$HONE" eval vector_add other.cu --device emu
out_has "is a plan error" "plan_error"
out_has "at the plan's line, with the kernels of the file" "but the file has no extern \"C\" __global__ function of this name; it has vector_add"
printf '/* hone-plan\n{ "launches": [ { "kernel": "k", "grid": ["kA"], "block": [32], "args": ["c"] } ] }\n*/\nconstexpr int kA = 4; // hone: 1 2 four\n' >broken.cu
runs 1 "a setting whose values cannot be read" "$HONE" eval vector_add broken.cu --device emu
out_has "is named with its line" "broken.cu:4: 'kA' is not a setting"
runs 2 "no file to compare with" "$HONE" eval vector_add "$k" --device emu --against none.cu
err_has "is named" "--against: there is no file 'none.cu'"
mkdir vector_add && : >vector_add/task.json
runs 0 "a task's name that is also a folder" "$HONE" playbook kernel elementwise vector_add
err_has "means the task, and says how to mean the folder" "write ./vector_add for the folder"
rm -r vector_add
printf '#!/bin/sh\n' >x.sh
runs 2 "a program beside me" "$HONE" optimize vector_add --device emu --author exec:./x.sh
err_has "is not found in an empty directory" "the command runs in an empty directory"
err_has "so its full path is named" "exec:$PWD/x.sh"
runs 2 "a program that may not be run" "$HONE" optimize vector_add --device emu --author "exec:$PWD/x.sh" --store s.db
err_has "says what to do" "'$PWD/x.sh' is not executable: chmod +x makes it so"
runs 2 "a program that is not there" "$HONE" optimize vector_add --device emu --author exec:/no/such --store s.db
err_has "is named before a run begins" "author 'exec:/no/such': '/no/such' does not exist"
runs 2 "an unknown place" "$HONE" eval vector_add "$k" --device emu --on mars
runs 2 "an unknown GPU" "$HONE" eval vector_add "$k" --device emu --gpu h9000
err_has "lists the known ones" "h200"
runs 2 "an unknown compiler" "$HONE" eval vector_add "$k" --device emu --compiler tcc
runs 2 "a limit of nothing" "$HONE" eval vector_add "$k" --call-limit 0
err_has "is not taken for the default" "above 0"
# over_most MOST COMMAND... OPTION VALUE: a value over the largest one is refused, not cut
over_most() { runs 2 "too large a value: ${*:3}" "${@:2}"; err_has "the most is named" "takes at most $1, not"; }
over_most 64 "$HONE" optimize softmax --proposals 65
over_most 64 "$HONE" optimize softmax --wave 65
over_most 1000 "$HONE" optimize softmax --repairs 1001
over_most 64 "$HONE" bench classics --proposals 65
over_most 64 "$HONE" bench classics --jobs 65
over_most 100000 "$HONE" resume last --steps 100001
over_most 10000 "$HONE" study softmax --seeds 10001
over_most 99 "$gnn" bench x --rounds 100
runs 0 "a number with a leading 0" "$gnn" make rmat -n 0100 -e 010 --json "$T/rmat"
out_has "is decimal" '"nodes": 100,'
runs 2 "two kinds of output" "$HONE" compile --ptx --cubin "$k"
runs 2 "a file for JSON" "$HONE" compile --json -o x "$k"
runs 2 "worker without a bundle" "$HONE" worker
for f in nothere dir /dev/null; do
    runs 3 "a kernel that is $f" "$HONE" eval vector_add "$f" --device emu
    err_has "is named" "'$f'"
done
runs 3 "an unknown task" "$HONE" eval vectr_add "$k" --device emu
runs 3 "an empty task" "$HONE" eval ./empty "$k" --device emu
runs 1 "an empty kernel to begin with" "$HONE" optimize vector_add --from empty
err_has "is not ignored" "'empty' is empty"

# ---- a run that cannot begin leaves no store
runs 2 "an unknown author" "$HONE" optimize vector_add -a nobody:x --device emu --store s.db
runs 2 "an unknown GPU" "$HONE" optimize vector_add --gpu h9000 --device emu --store s.db
runs 1 "runs" "$HONE" runs --json --store s.db
err_has "there are none" "there is no store 's.db' yet"
"$HONE" optimize --author "replay:$ROOT/t/cases/replay/refine.jsonl" -q --store s.db >/dev/null
"$HONE" runs --rm last --yes --store s.db >/dev/null

# ---- a store that belongs to somebody else can be read
other=
[ "$(id -u)" = 0 ] && other="setpriv --reuid=65534 --regid=65534 --clear-groups"
mkdir open && chmod 777 open
mkdir theirs && cp s.db theirs/ && chmod 555 theirs && chmod 444 theirs/s.db && chmod 755 "$T"
if $other "$HONE" --version >/dev/null 2>&1; then
    runs 0 "runs of a store that may not be written" $other "$HONE" runs --json --store theirs/s.db
    is "are listed" "$(cat "$T/out")" "[]"
    runs 3 "but none is added" $other "$HONE" optimize vector_add --device emu --store theirs/s.db -o open
    err_has "and it says why" "readonly"
else
    skip "a store that may not be written" "no other user can run $HONE"
fi
chmod 755 theirs

# ---- names that are not UTF-8
bad=$(printf 'x\377')
mkdir "$bad" && printf 'int x = ;' >"$bad/$bad.cu"
HONE_CACHE_DIR=$T/cwd/$bad runs 0 "a cache directory" "$HONE" cache stat --json
out_has "is shown as far as it can be" "$(printf '/x\357\277\275"')"
runs 1 "a kernel" "$HONE" compile --json "$bad/$bad.cu"
out_has "is named as far as it can be" "$(printf '"x\357\277\275.cu"')"
# Studies set all their settings with the option --ablate.
runs 2 "an ablation that does not exist is refused" "$HONE" optimize softmax --ablate colour=off
err_has "with those that do" "class-prompts"
runs 2 "so is a value it does not have" "$HONE" optimize softmax --ablate context=round
err_has "with its values" "flat, dynamic"
runs 2 "and a step that is no number" "$HONE" optimize softmax --ablate profile-delay=soon
err_has "with what it takes" "a step from 0"
done_testing
