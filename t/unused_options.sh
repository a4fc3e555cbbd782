#!/usr/bin/env bash
# Options that would have no effect are refused in one sentence, before anything begins.
. "$(dirname "$0")/lib.sh"
gnn=$(dirname "$HONE")/hone-gnn
k=$ROOT/kernels/vector_add.cu

refused() { # refused MESSAGE COMMAND...: checks that the command is a usage error with this message
    runs 2 "is refused: ${*:3}" "${@:2}"
    err_has "the message says: $1" "$1"
}
optimize() { refused "$1" "$HONE" optimize vector_add --device emu "${@:2}"; }

# ---- options of other strategies
optimize "--author-plan is for the strategies search and team; refine has no use for it" --author-plan playbook
optimize "--author-debug is for the strategies refine, search and team; sample has no use for it" \
    -s sample --author-debug playbook
optimize "--author-test is for the strategy team; search has no use for it" -s search --author-test playbook
optimize "--author-profile is for the strategy team; reflect has no use for it" -s reflect --author-profile playbook
optimize "--author-port is for the file of --from, and none is given" --author-port playbook
optimize "--repairs is for the strategies refine and team; search has no use for it" -s search --repairs 0
optimize "--tries is for the strategies refine and search; team has no use for it" -s team --tries 1
optimize "--wave is for the strategies search and sample; team has no use for it" -s team --wave 1
optimize "--proposals is for the strategy refine; search has no use for it" -s search --proposals 1
optimize "--ablate select= is for the strategy search; refine has no use for it" --ablate select=greedy
optimize "--ablate restore= is for the strategy refine; search has no use for it" -s search --ablate restore=off
optimize "--rejudge is for --author replay:FILE" --rejudge
ok "no run began" test ! -e hone-out
for o in "strategy refine" "author-debug playbook" "from $k" "dialect cuda" "steps 2" "repairs 0" "seed 1" \
    "budget-time 1h" "gpu h100" "arch sm_80" skip-baselines smoke torch-at-end "ablate memory=off"; do
    # shellcheck disable=SC2086
    refused "--${o% *} has no effect with --author replay:FILE" \
        "$HONE" optimize --author "replay:$ROOT/t/cases/replay/refine.jsonl" --$o
done
ok "no replay began" test ! -e hone-out
for s in "refine --repairs 0 --tries 1 --proposals 1" "search --tries 1 --wave 1" "sample --wave 1" "team --repairs 0"; do
    # shellcheck disable=SC2086
    runs 2 "$s: these options are accepted" "$HONE" optimize vector_add --device emu -s $s --author nobody:x
    err_has "$s: only the author is refused" "there is no author 'nobody:x'"
done
refused "--proposals is for the strategy refine; search has no use for it" \
    "$HONE" bench vector_add --device emu -s search --proposals 2
refused "there is no author 'nobody:x'" "$HONE" bench vector_add --device emu --author nobody:x
OPENAI_API_KEY=x refused "no price is known for 'openai:none'" \
    "$HONE" bench vector_add --device emu --author openai:none --budget-usd 1
ok "no campaign began" test ! -e hone-out

# ---- options of other operands, or beside other options
mkdir -p set/definitions
for o in json "workloads w" "trace t" "save-trace t"; do
    # shellcheck disable=SC2086
    refused "--${o% *} is for one DEFINITION.json, and 'set' is a data set" "$HONE" import flashinfer-bench set --$o
done
refused "--scalar epsilon=1: the definition has no such scalar; it has: eps" "$HONE" import flashinfer-bench \
    "$ROOT/t/cases/flashinfer/rmsnorm_h2048.json" --scalar epsilon=1
for c in "import torch" "optimize"; do
    # shellcheck disable=SC2086
    refused "--input x=float16[8]: the file of --trace has the dtypes and shapes already" \
        "$HONE" $c model.py --trace t.json --input 'x=float16[8]'
done
refused "--against times a kernel, and --smoke times nothing" "$HONE" eval vector_add "$k" --smoke --against "$k"
refused "--against times a kernel, and --skip-time times nothing" \
    "$HONE" eval vector_add "$k" --skip-time --against "$k"
for o in smoke skip-time skip-baselines warm-l2; do
    refused "--torch-variants times PyTorch, and --$o does not" \
        "$HONE" eval vector_add "$k" --torch-variants all --$o
done
refused "--torch-variants needs a GPU: PyTorch does not run on the emulator" \
    "$HONE" eval vector_add "$k" --device emu --torch-variants high
refused "--torch-variants needs a GPU: PyTorch does not run on the emulator" \
    "$HONE" bench vector_add --device emu --torch-variants high
for o in smoke skip-baselines; do
    refused "--torch-variants times PyTorch, and --$o does not" \
        "$HONE" bench vector_add --torch-variants all --$o
done
for c in "eval vector_add $k" "bench vector_add"; do
    # shellcheck disable=SC2086
    refused "there is no PyTorch variant 'low'; give \`all\` or some of max-autotune,high,channels-last," \
        "$HONE" $c --torch-variants high,low
done
ok "no campaign with variants began" test ! -e hone-out
for o in smoke skip-time; do
    for w in time time:0 smoke:0,time:1; do
        refused "--workload $w asks for workloads that --$o leaves out" \
            "$HONE" eval vector_add "$k" --$o --workload $w
    done
done
for w in check heldout:0 smoke:0,check:1; do
    refused "--workload $w asks for workloads that --smoke leaves out" \
        "$HONE" eval vector_add "$k" --smoke --workload $w
done
refused "--export writes the whole run: it excludes ROLE/INDEX and --json" "$HONE" log last --export x --json
refused "--export writes the whole run: it excludes ROLE/INDEX and --json" "$HONE" log last code/0 --export x
refused "--all needs a CANDIDATE" "$HONE" show last --all
refused "--all is for a verdict, and --source prints none" "$HONE" show last 0 --all --source
refused "--gpu needs a TASK" "$HONE" memory show --gpu h100
refused "--plain is for the playbook generate, not for elementwise" \
    "$HONE" playbook kernel --plain elementwise vector_add
refused "a study simulates its author: give noisy[:RATES]" "$HONE" study softmax --author playbook
refused "author 'noisy:colour=1'" "$HONE" study softmax --author noisy:colour=1
refused "there is no author 'nobody'" "$HONE" mcp --dir . --author nobody
refused "--cache needs --place split" "$gnn" train --make papers --device emulator --cache 0.5
refused "--heads is for gat, not for sage" "$gnn" train --make papers:scale=0.0001 -m sage --heads 2
for o in "fanout 5" "sampler replace" "seed 2" "ahead 1" "place host" "cache 0.5"; do
    # shellcheck disable=SC2086
    refused "--full uses all neighbours: --${o% *} has no effect, leave it out" \
        "$gnn" infer --make papers:scale=0.0001 -c x --full --$o
done
refused "--quadrants takes three numbers such as 0.57,0.19,0.19, not '0.5,0.2'" \
    "$gnn" make rmat --quadrants 0.5,0.2 data
refused "must be at least 0 and at most 1 together" "$gnn" make rmat --quadrants 0.5,0.2,0.4 data
refused "--data is for the files of a DIR, and --make has none" \
    "$gnn" sample --make papers:scale=0.0001 --data map
done_testing
