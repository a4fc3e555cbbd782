#!/usr/bin/env bash
# The line of progress of `hone optimize`, the time budget during an author's call, file names in messages.
. "$(dirname "$0")/lib.sh"

optimize() { "$HONE" optimize vector_add --device emu "$@"; }
budget() { # budget DESCRIPTION OPTION...: the run ends because of --budget-time, in a few seconds
    local begin=$SECONDS what=$1
    shift
    optimize --budget-time 400ms "$@" >"$T/out" 2>"$T/err" </dev/null
    err_has "--budget-time ends $what" "stopped: the budget of 0.4 s is used up"
    err_has "and says how to go on" "continues the run; give it a larger budget"
    is "at once" $((SECONDS - begin < 20)) 1
}

optimize --author exec:true --budget-time 1s --tries 1 >"$T/out" 2>"$T/err"
if [ $? = 3 ] && ! grep -q "cannot be used" "$T/err"; then
    skip_all "$(head -1 "$T/err")" # no CUDA compiler to judge with
fi
budget "a wait for a mailbox" --author mailbox:box
err_has "the file is named that is awaited" "waiting for the file box/0000.reply.md, the reply to 0000.prompt.md"
mkdir box2
(for _ in $(seq 100); do [ -e box2/0000.prompt.md ] && break; sleep 0.05; done; : >box2/0000.reply.md) &
optimize --budget-time 2s --author mailbox:box2 >"$T/out" 2>"$T/err" </dev/null
err_has "an empty reply is said to be empty" "box2/0000.reply.md, the reply to 0000.prompt.md, which is empty so far"
wait
budget "a program that hangs" --author exec:'sleep 60'
runs 1 "the run can go on" "$HONE" resume last --budget-time 700ms --author exec:'sleep 60'
export OPENAI_API_KEY=sk-test-0 OPENAI_BASE_URL=http://127.0.0.1:9
budget "a wait between two tries" --author openai:gpt-5
err_has "why Hone waits is said" "waiting for no connection"
err_has "and when it tries again" "trying again in"

printf 'I would rather not.\n' >reply.md
optimize --author exec:"cat $PWD/reply.md" --tries 1 >"$T/out" 2>"$T/err"
err_has "why a reply was refused is said" "the reply code/0 cannot be used, asking once more: no \`\`\`cuda block"

# ---- the user's own file name
sed 's/\[256\]/[2560]/' "$ROOT/kernels/vector_add.cu" >my_plan.cu
sed 's/a\[i\] + b/a[i] + zz/' "$ROOT/kernels/vector_add.cu" >my_code.cu
runs 1 "a wrong plan" "$HONE" eval vector_add my_plan.cu --device emu
is "is told of once, with the file's own name" "$(grep -c 'my_plan.cu:2:.*: block.x is 2560' "$T/out")" 1
runs 1 "wrong code" "$HONE" eval vector_add my_code.cu --device emu
out_has "has the file's name" "my_code.cu:11: error:"
out_lacks "and no other" "kernel.cu"
runs 1 "as JSON too" "$HONE" eval vector_add my_code.cu --device emu --json
out_has "it has" "my_code.cu:11: error:"
done_testing
