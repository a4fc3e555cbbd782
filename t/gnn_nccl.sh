#!/usr/bin/env bash
# `hone-gnn train --gpus N` on the emulator: ranks on GPUs give the losses of one process, through host memory and
# through NCCL. t/fake/libnccl.c stands in for NCCL.
. "$(dirname "$0")/lib.sh"

gnn=$(dirname "$HONE")/hone-gnn
"$gnn" make blocks -n 300 -e 1500 -c 4 --dim 12 --within 0.8 --noise 1 data >"$T/out" 2>&1 || {
    fail "make blocks writes a dataset" "$(cat "$T/out")"
    done_testing
}
small="--hidden 16 -f 4,3 -b 90 --lr 0.02 -e 2 --device emulator"
field() { perl -MJSON::PP -0777 -e 'print '"$1"' for decode_json(<STDIN>)' <"$T/out"; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < (1e-4 * a) ^ 2) }'; }
mkdir nccl none
${CC:-cc} -std=gnu17 -shared -fPIC -o nccl/libnccl.so.2 "$ROOT/t/fake/libnccl.c" || fail "the fake NCCL builds"
echo | ${CC:-cc} -shared -x c -o none/libnccl.so.2 - && cp none/libnccl.so.2 none/libnccl.so # without a symbol of NCCL
with_nccl() { env LD_LIBRARY_PATH="$PWD/nccl" HONE_GNN_NCCL=always FAKE_NCCL_LOG="$PWD/calls" "$@"; }

# shellcheck disable=SC2086
runs 0 "one process trains" "$gnn" train $small -c one.ckpt --json data
loss_one=$(field '$_->{epochs}[1]{loss}') seeds=$(field '$_->{epochs}[1]{seed_nodes}')

# ---- NCCL with one rank ----
# shellcheck disable=SC2086
runs 0 "one rank trains with NCCL" with_nccl "$gnn" train $small --gpus 1 -c nccl.ckpt --json data
weights=$(field '$_->{weights}') batches=$(field '$_->{epochs}[0]{batches}')
is "the JSON says that NCCL averaged" "$(field '$_->{nccl} ? "yes" : "no"')" yes
ok "one rank with NCCL gives the weights of one process to the bit" cmp one.ckpt nccl.ckpt
is "NCCL gets the group's id and both numbers of the rank" "$(head -1 calls)" "init 0 of 1, same id"
is "NCCL averages all weights once for each batch" "$(grep -c "^reduce $weights\$" calls)" $((2 * batches))
is "the group of ranks is closed at the end" "$(tail -1 calls)" destroy
# shellcheck disable=SC2086
runs 3 "a failure of NCCL ends the training" env FAKE_NCCL_FAIL=1 LD_LIBRARY_PATH="$PWD/nccl" HONE_GNN_NCCL=always \
    "$gnn" train $small --gpus 1 data
err_has "the message names the call of NCCL" "ncclAllReduce: invalid argument"
# shellcheck disable=SC2086
runs 3 "an NCCL without its functions is an error if it is demanded" env HONE_GNN_NCCL=always LD_LIBRARY_PATH="$PWD/none" \
    "$gnn" train $small --gpus 1 data
err_has "the message says what does not work" "averaging over GPUs with NCCL"

# ---- two ranks, through host memory ----
for model in sage gin; do
    # shellcheck disable=SC2086
    runs 0 "$model: two ranks train on two emulators" "$gnn" train -m $model $small --gpus 2 -c $model.ckpt --json data
    loss=$(field '$_->{epochs}[1]{loss}') seen=$(field '$_->{epochs}[1]{seed_nodes}')
    if [ $model = sage ]; then
        ok "$model: the loss of two ranks is that of one: $loss_one, $loss" near "$loss_one" "$loss"
        is "$model: two ranks see as many seeds as one" "$seen" "$seeds"
    fi
done
# shellcheck disable=SC2086
runs 0 "two ranks begin a run" "$gnn" train $small -e 1 --gpus 2 -c parts.ckpt --eval none data
# shellcheck disable=SC2086
runs 0 "two ranks resume it" "$gnn" train $small --gpus 2 -c parts.ckpt --resume --eval none data
ok "a run in two parts gives the bits of a whole one" cmp sage.ckpt parts.ckpt

# ---- refusals ----
runs 2 "--gpus on the CPU is a usage error" "$gnn" train --gpus 2 data
err_has "the message says that --gpus needs a GPU" "--gpus needs --device cuda"
runs 2 "--gpus with --ranks is a usage error" "$gnn" train --gpus 2 --ranks 2 data
err_has "the message says that --gpus starts the ranks" "--gpus starts ranks by itself"
done_testing
