#!/usr/bin/env bash
# The progress line of `hone optimize`, the time budget during an author call, file names in messages.
. "$(dirname "$0")/lib.sh"

optimize() { "$HONE" optimize vector_add --device emu "$@"; }
budget() { # budget DESCRIPTION OPTION...: checks that --budget-time ends the run within 20 s
    local begin=$SECONDS what=$1
    shift
    optimize --budget-time 400ms "$@" >"$T/out" 2>"$T/err" </dev/null
    err_has "--budget-time ends $what" "stopped: the budget of 0.4 s is used up"
    err_has "after $what, a message says how to continue the run" "continues the run; give it a larger budget"
    is "--budget-time ends $what within 20 s" $((SECONDS - begin < 20)) 1
}

optimize --author exec:true --budget-time 1s --tries 1 >"$T/out" 2>"$T/err"
if [ $? = 3 ] && ! grep -q "cannot be used" "$T/err"; then
    skip_all "$(head -1 "$T/err")" # no CUDA compiler to judge with
fi
budget "a wait for a mailbox" --author mailbox:box
err_has "the progress line names the file that Hone waits for" \
    "waiting for the file box/0000.reply.md, the reply to 0000.prompt.md"
mkdir box2
(for _ in $(seq 100); do [ -e box2/0000.prompt.md ] && break; sleep 0.05; done; : >box2/0000.reply.md) &
optimize --budget-time 2s --author mailbox:box2 >"$T/out" 2>"$T/err" </dev/null
err_has "the progress line says that the reply is empty so far" \
    "box2/0000.reply.md, the reply to 0000.prompt.md, which is empty so far"
wait
budget "a program that hangs" --author exec:'sleep 60'
runs 1 "a run that the time budget stopped can be resumed" "$HONE" resume last --budget-time 700ms --author exec:'sleep 60'
export OPENAI_API_KEY=sk-test-0 OPENAI_BASE_URL=http://127.0.0.1:9
budget "a wait between two tries" --author openai:gpt-5
err_has "the progress line says why Hone waits" "waiting for no connection"
err_has "the progress line says when Hone tries again" "trying again in"

printf 'I would rather not.\n' >reply.md
optimize --author exec:"cat $PWD/reply.md" --tries 1 >"$T/out" 2>"$T/err"
err_has "the progress line says why a reply was refused" \
    "the reply code/0 cannot be used, asking once more: no \`\`\`cuda block"

# ---- messages name the file of the user
sed 's/\[256\]/[2560]/' "$ROOT/kernels/vector_add.cu" >my_plan.cu
sed 's/a\[i\] + b/a[i] + zz/' "$ROOT/kernels/vector_add.cu" >my_code.cu
runs 1 "an evaluation of a wrong plan fails" "$HONE" eval vector_add my_plan.cu --device emu
is "one message names the file and the line of the wrong plan" "$(grep -c 'my_plan.cu:2:.*: block.x is 2560' "$T/out")" 1
runs 1 "an evaluation of wrong code fails" "$HONE" eval vector_add my_code.cu --device emu
out_has "the message about wrong code names the file of the user" "my_code.cu:11: error:"
out_lacks "the message about wrong code names no file of Hone" "kernel.cu"
runs 1 "an evaluation of wrong code with --json fails" "$HONE" eval vector_add my_code.cu --device emu --json
out_has "the JSON names the file of the user" "my_code.cu:11: error:"
sed 's/extern "C" //' "$ROOT/kernels/vector_add.cu" >my_name.cu
runs 1 "an evaluation of a kernel that is not extern \"C\" fails" "$HONE" eval vector_add my_name.cu --device emu
out_has "the message says where the kernel is declared in the file of the user" "(declared at line 7 of my_name.cu)"
out_lacks "the message about extern \"C\" names no file of Hone" "kernel.cu"
echo 'int x;' >my_empty.cu
runs 1 "an evaluation of a file without a plan fails" "$HONE" eval vector_add my_empty.cu --device emu
out_has "the message about a missing plan names the page about plans" "(docs/plan.md)"
sed 's/256/128/g' "$ROOT/kernels/vector_add.cu" >from.cu
python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$HONE" optimize vector_add --device emu --from from.cu --steps 1 \
    --smoke >"$T/out" 2>"$T/err" </dev/null
out_has "the progress line says that a candidate is compiled" "judging 1 candidate, 0 s: compiling"
done_testing
