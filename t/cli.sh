#!/usr/bin/env bash
# The command line as a whole: help, typos, exit statuses, where output goes.
. "$(dirname "$0")/lib.sh"

runs 0 "hone --help exits with 0" "$HONE" --help
is "hone --help fits a screen" "$(awk 'length > 80 {w++} END {print (NR <= 40) && !w}' "$T/out")" 1
err_empty "hone --help prints nothing on stderr"
out_has "hone --help gives the units of times" "TIME is in seconds, or 500ns"
out_has "hone --help says how to take back a flag" "--no-FLAG"
out_has "hone --help says what TASK may be" "TASK is a built-in task"
runs 0 "hone --version exits with 0" "$HONE" --version
is "hone --version prints the newest version of CHANGELOG.md" \
    "$(cat "$T/out")" "hone $(sed -n 's/^## \([0-9][0-9.]*\) .*/\1/p' "$ROOT/CHANGELOG.md" | head -1)"
runs 2 "hone without a command is a usage error" "$HONE"
runs 2 "an unknown command is a usage error" "$HONE" doctr
err_has "the message about an unknown command suggests the nearest" "did you mean 'hone doctor'"
out_lacks "an unknown command prints nothing on stdout" "doctor"
runs 2 "an unknown option is a usage error" "$HONE" doctor --jsn
err_has "the message about an unknown option suggests the nearest" "did you mean --json"
runs 2 "too many operands are a usage error" "$HONE" doctor now

for c in $("$HONE" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'); do
    runs 0 "hone $c --help exits with 0" "$HONE" "$c" --help
    out_has "hone $c --help has an example" "example:"
    runs 0 "hone help $c exits with 0" "$HONE" help "$c"
done
runs 0 "hone help task check exits with 0" "$HONE" help task check
out_has "hone help task check is the help of hone task check" "usage: hone task check"
runs 2 "hone help with an unknown subcommand is a usage error" "$HONE" help task chek
err_has "the message about an unknown subcommand suggests the nearest" "did you mean 'hone task check'"
gnn=$(dirname "$HONE")/hone-gnn
runs 0 "hone-gnn help make rmat exits with 0" "$gnn" help make rmat
out_has "hone-gnn help make rmat is the help of hone-gnn make rmat" "usage: hone-gnn make rmat"
# forms PROGRAM [COMMAND]: prints the commands that the help of PROGRAM, or of its COMMAND, lists
forms() { "$@" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'; }
layout() { # layout PROGRAM COMMANDS...: prints lines of these helps that are too long, and doubled blank lines
    local c
    for c in "${@:2}"; do
        "$1" $c --help | awk -v c="$c" 'length > 110 || (NR > 1 && !length && !last) {print c ":" NR ": " $0} {last = length}'
    done
}
is "the help of every command of hone fits the screen" "$(layout "$HONE" $(forms "$HONE"))" ""
is "the help of subcommands fits the screen" \
    "$(layout "$HONE" "task show" "import torch" "import flashinfer-bench" "memory show" "memory forget" \
        "playbook kernel")" ""
is "the help of every command of hone-gnn fits the screen" \
    "$(layout "$gnn" $(forms "$gnn") "make rmat" "make blocks" "make debian" "import npy" "import ogb")" ""
is "the second line of a usage is indented below the first" \
    "$("$HONE" bench --help | sed -n 2p | sed 's/[^ ].*//')" "       "
is "the help of a command with subcommands lists them" \
    "$(forms "$HONE" task | tr '\n' ' ')$(forms "$gnn" make | tr '\n' ' ')" \
    "list show check new rmat blocks debian "
runs 0 "hone-gnn bench --help exits with 0" "$gnn" bench --help
out_lacks "hone-gnn bench --help offers no option that the command ignores" "--threads"
runs 0 "hone-gnn infer --help exits with 0" "$gnn" infer --help
out_lacks "hone-gnn infer --help does not name ranks, which infer lacks" "ranks"

# ---- completions and manual pages come from the tables of commands and options
for c in $("$HONE" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'); do
    runs 0 "hone $c has a manual page" "$HONE" __man "$c"
    out_has "the manual page of hone $c has the name of the command" "hone\\-$c \\-"
done
runs 0 "hone completes commands" "$HONE" __complete ev
out_has "a completed command comes with a description" "eval	evaluate one kernel"
runs 0 "hone completes options" "$HONE" __complete eval softmax --d
out_has "a completed option comes with its help" "--device	what runs the kernels: emu"
runs 0 "hone completes names of tasks" "$HONE" __complete eval so
out_has "a completed task is a task's name" "softmax	"
runs 0 "hone completes authors" "$HONE" __complete optimize --author m
out_has "a completed author is a scheme such as mailbox:" "mailbox:	"
runs 0 "hone completes subcommands" "$HONE" __complete task s
out_has "a completed subcommand comes with a description" "show	one task in full"
runs 0 "hone completes strategies" "$HONE" __complete optimize -s ""
out_has "a completed strategy is a strategy's name" "refine	"
"$HONE" optimize --author "replay:$ROOT/t/cases/replay/refine.jsonl" -q >/dev/null
runs 0 "hone completes runs" "$HONE" __complete show ""
out_has "a completed run is a run's name" "softmax-refine-"
rm -r hone-out
tools=$("$ROOT/tools/man" "$HONE" "$T/share" 2>&1)
is "tools/man prints nothing" "$tools" ""
bash_completes() { # bash_completes WORD...: prints what bash offers for the last WORD
    PATH=$(dirname "$HONE"):$PATH bash --norc -c '. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _hone; printf "%s\n" "${COMPREPLY[@]}"' \
        bash "$T/share/bash-completion/completions/hone" "$@"
}
is "bash completes hone task sh" "$(bash_completes hone task sh)" show

# ---- if stdout cannot be written, the command fails
k=$ROOT/kernels/vector_add.cu
for c in --help doctor "doctor --json" "task list" "cache stat" "compile --help" "worker --version"; do
    runs 3 "hone $c fails on a full disk" sh -c '"$@" >/dev/full' sh "$HONE" $c
    runs 3 "hone $c fails if stdout is closed" sh -c '"$@" >&-' sh "$HONE" $c
    "$HONE" $c 2>"$T/err" | true
done
runs 3 "hone playbook list fails if its reader closes the pipe" \
    bash -c '"$1" playbook list | true; exit ${PIPESTATUS[0]}' bash "$HONE"
err_empty "hone playbook list prints no message if its reader closes the pipe"

# ---- with stdout closed, no file that Hone opens becomes its stdout
runs 3 "hone task check fails if stdin, stdout and stderr are closed" \
    sh -c 'HONE_LOG=debug exec "$1" task check vector_add <&- >&- 2>&-' sh "$HONE"
HONE_LOG=debug "$HONE" runs --store "$T/s.db" 2>&- <&-
is "no log text gets into a file if stderr is closed" "$(grep -rl 'hone:' "$T/cwd" "$T/cache" 2>/dev/null)" ""

# ---- exit status 2 if the command line names something unknown; exit status 3 if a file or task that it
# names is missing or broken
mkdir dir && : >empty
runs 2 "an unknown device is a usage error" "$HONE" eval vector_add "$k" --device tpu
runs 2 "an unknown workload is a usage error" "$HONE" eval vector_add "$k" --device emu --workload smoke:999
err_has "the message about an unknown workload lists the workloads" \
    "task 'vector_add' has no workload 'smoke:999'; it has smoke:0 to"
runs 2 "--warm-l2 with --skip-time is a usage error" "$HONE" eval vector_add "$k" --device emu --warm-l2 --skip-time
runs 2 "--warm-l2 on the emulator is a usage error" "$HONE" eval vector_add "$k" --device emu --warm-l2
err_has "the message says that the emulator has no warm L2" "the emulator models times with a cold L2 only"
runs 2 "an unknown architecture is a usage error" "$HONE" eval vector_add "$k" --device emu --arch sm_12
err_has "the message about an unknown architecture has examples" "'sm_12' is not an architecture"
runs 2 "an architecture that no GPU has is a usage error" "$HONE" eval vector_add "$k" --device emu --arch sm_95
err_has "the message about such an architecture lists those that exist" "sm_89, sm_90a"
runs 0 "hone eval --help exits with 0" "$HONE" eval --help
out_has "the help about --arch has the same first and last architecture as the message" "sm_75 ... sm_121a"
runs 2 "task and kernel in the wrong order are a usage error" "$HONE" eval "$k" vector_add
err_has "the message gives task and kernel in the right order" "did you mean \`vector_add $k\`"
sed 's/"kernel": "vector_add"/"kernel": "vector_sum"/' "$k" >other.cu
runs 1 "a plan whose kernel does not exist fails" "$HONE" eval vector_add other.cu --device emu
out_has "a plan whose kernel does not exist gets the verdict plan_error" "plan_error"
out_has "the message about the plan lists the kernels of the file" \
    "but the file has no extern \"C\" __global__ function of this name; it has vector_add"
printf '/* hone-plan\n{ "launches": [ { "kernel": "k", "grid": ["kA"], "block": [32], "args": ["c"] } ] }\n*/\nconstexpr int kA = 4; // hone: 1 2 four\n' >broken.cu
runs 1 "a setting whose values cannot be read is refused" "$HONE" eval vector_add broken.cu --device emu
out_has "the message about the setting names its line" "broken.cu:4: 'kA' is not a setting"
runs 2 "--against with a file that does not exist is a usage error" \
    "$HONE" eval vector_add "$k" --device emu --against none.cu
err_has "the message names the file of --against" "--against: there is no file 'none.cu'"
runs 2 "nine files of --against are a usage error" \
    "$HONE" eval vector_add "$k" --device emu $(yes -- "--against $k" | head -9)
err_has "the message says how many files of --against there may be" "at most 7 files, not 9"
printf 'def softmax(x):\n    return x\n' >"$T/none.py"
printf 'def run(x):\n    return x\n' >"$T/run.py" && mkdir -p "$T/two" && cp "$T/run.py" "$T/two"
runs 1 "a PyTorch program without run() is refused" "$HONE" eval vector_add "$k" --against "$T/none.py"
err_has "the message says what Hone calls" "none.py' has no function run(...): Hone calls run() with the task's tensors"
{ head -c 50000 /dev/zero | tr '\0' '#'; printf '\ndef run(x):\n    return x\n'; } >"$T/large.py"
runs 1 "a PyTorch program of 50 kB is refused" "$HONE" task check softmax --against "$T/large.py"
err_has "the message names the limit" "more than the limit of 49152"
runs 1 "two PyTorch programs of one name are refused" \
    "$HONE" eval vector_add "$k" --against "$T/run.py" --against "$T/two/run.py"
runs 2 "a PyTorch program as a baseline needs a GPU" "$HONE" eval vector_add "$k" --device emu --against "$T/run.py"
err_has "the message says how to run it without a GPU" "hone task check TASK --against run.py"
runs 2 "--warm-l2 and a PyTorch program exclude each other" \
    "$HONE" eval vector_add "$k" --warm-l2 --against "$T/run.py"
runs 2 "hone task check takes a PyTorch program for one task only" \
    "$HONE" task check softmax gelu_tanh --against "$T/run.py"
cp "$k" "$T/torch.compile"
runs 2 "a file of --against with the name of a baseline of PyTorch is a usage error" \
    sh -c 'cd "$1" && exec "$2" eval vector_add "$3" --device emu --against torch.compile' sh "$T" "$HONE" "$PWD/$k"
err_has "the message says to rename the file" "rename the file"
mkdir vector_add && : >vector_add/task.json
runs 0 "a name that is both a task and a folder means the task" "$HONE" playbook kernel elementwise vector_add
err_has "a message says how to name the folder instead" "write ./vector_add for the folder"
rm -r vector_add
printf '#!/bin/sh\n' >x.sh
runs 2 "a relative path of an exec author is a usage error" "$HONE" optimize vector_add --device emu --author exec:./x.sh
err_has "the message says that the author runs in an empty directory" "the command runs in an empty directory"
err_has "the message gives the full path of the author" "exec:$PWD/x.sh"
runs 2 "an exec author that is not executable is a usage error" \
    "$HONE" optimize vector_add --device emu --author "exec:$PWD/x.sh" --store s.db
err_has "the message says how to make the author executable" "'$PWD/x.sh' is not executable: chmod +x makes it so"
runs 2 "an exec author that does not exist is a usage error" \
    "$HONE" optimize vector_add --device emu --author exec:/no/such --store s.db
err_has "the message names the author that does not exist" "author 'exec:/no/such': '/no/such' does not exist"
runs 2 "an unknown place for --on is a usage error" "$HONE" eval vector_add "$k" --device emu --on mars
runs 2 "an unknown GPU is a usage error" "$HONE" eval vector_add "$k" --device emu --gpu h9000
err_has "the message about an unknown GPU lists the known ones" "h200"
runs 2 "an unknown compiler is a usage error" "$HONE" eval vector_add "$k" --device emu --compiler tcc
runs 2 "--call-limit 0 is a usage error" "$HONE" eval vector_add "$k" --call-limit 0
err_has "the message says that --call-limit must be above 0" "above 0"
# over_most MOST COMMAND... OPTION VALUE: checks that VALUE, which is larger than MOST, is refused
over_most() {
    runs 2 "too large a value is a usage error: ${*:3}" "${@:2}"
    err_has "the message names the largest value: ${*:3}" "takes at most $1, not"
}
over_most 64 "$HONE" optimize softmax --proposals 65
over_most 64 "$HONE" optimize softmax --wave 65
over_most 1000 "$HONE" optimize softmax --repairs 1001
over_most 64 "$HONE" bench classics --proposals 65
over_most 64 "$HONE" bench classics --jobs 65
over_most 100000 "$HONE" resume last --steps 100001
over_most 10000 "$HONE" study softmax --seeds 10001
over_most 99 "$gnn" bench x --rounds 100
runs 0 "hone-gnn accepts a number with a leading 0" "$gnn" make rmat -n 0100 -e 010 --json "$T/rmat"
out_has "a number with a leading 0 is decimal" '"nodes": 100,'
runs 2 "--ptx together with --cubin is a usage error" "$HONE" compile --ptx --cubin "$k"
runs 2 "--json together with -o is a usage error" "$HONE" compile --json -o x "$k"
runs 2 "hone worker without a bundle is a usage error" "$HONE" worker
runs 2 "--ceilings with a GPU that is not a number is a usage error" "$HONE" worker --ceilings service.cubin one
runs 2 "--gpu together with --pretend-gpu is a usage error" "$HONE" worker --spool dir --gpu 0 --pretend-gpu 1 --once
for f in nothere dir /dev/null; do
    runs 3 "a kernel file that is $f is an error" "$HONE" eval vector_add "$f" --device emu
    err_has "the message names the kernel file $f" "'$f'"
done
runs 2 "an unknown task is a usage error" "$HONE" eval vectr_add "$k" --device emu
runs 3 "an empty task file is an error" "$HONE" eval ./empty "$k" --device emu
runs 1 "--from with an empty file is an error" "$HONE" optimize vector_add --from empty
err_has "the message about --from says that the file is empty" "'empty' is empty"

# ---- a run that cannot begin leaves no store
runs 2 "a run with an unknown author is a usage error" "$HONE" optimize vector_add -a nobody:x --device emu --store s.db
runs 2 "a run with an unknown GPU is a usage error" "$HONE" optimize vector_add --gpu h9000 --device emu --store s.db
runs 1 "hone runs fails if there is no store" "$HONE" runs --json --store s.db
err_has "refused runs leave no store" "there is no store 's.db' yet"
"$HONE" optimize --author "replay:$ROOT/t/cases/replay/refine.jsonl" -q --store s.db >/dev/null
"$HONE" runs --rm last --yes --store s.db >/dev/null

# ---- Hone can read a store that belongs to another user
other=
[ "$(id -u)" = 0 ] && other="setpriv --reuid=65534 --regid=65534 --clear-groups"
mkdir open && chmod 777 open
mkdir theirs && cp s.db theirs/ && chmod 555 theirs && chmod 444 theirs/s.db && chmod 755 "$T"
if $other "$HONE" --version >/dev/null 2>&1; then
    runs 0 "hone runs reads a store that it may not write" $other "$HONE" runs --json --store theirs/s.db
    is "hone runs lists the runs of a read-only store" "$(cat "$T/out")" "[]"
    runs 3 "a run cannot be added to a read-only store" \
        $other "$HONE" optimize vector_add --device emu --store theirs/s.db -o open
    err_has "the message says that the store is read-only" "readonly"
else
    skip "hone runs reads a store that it may not write" "no other user can run $HONE"
fi
chmod 755 theirs

# ---- names that are not UTF-8
bad=$(printf 'x\377')
mkdir "$bad" && printf 'int x = ;' >"$bad/$bad.cu"
HONE_CACHE_DIR=$T/cwd/$bad runs 0 "hone cache stat accepts a cache directory whose name is not UTF-8" \
    "$HONE" cache stat --json
out_has "hone cache stat shows the replacement character for the bytes that are not UTF-8" "$(printf '/x\357\277\275"')"
runs 1 "a broken kernel whose name is not UTF-8 does not compile" "$HONE" compile --json "$bad/$bad.cu"
out_has "the name of the kernel has the replacement character for the bytes that are not UTF-8" \
    "$(printf '"x\357\277\275.cu"')"
# ---- studies leave out parts of a strategy with --ablate
runs 2 "an unknown --ablate is a usage error" "$HONE" optimize softmax --ablate colour=off
err_has "the message about an unknown --ablate lists the known ones" "class-prompts"
runs 2 "--ablate with an unknown value is a usage error" "$HONE" optimize softmax --ablate context=round
err_has "the message about the value lists the values" "flat, dynamic"
runs 2 "--ablate profile-delay with a word for the step is a usage error" \
    "$HONE" optimize softmax --ablate profile-delay=soon
err_has "the message about the step says which numbers are allowed" "a step from 0"
done_testing
