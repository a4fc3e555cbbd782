#!/usr/bin/env bash
# Training steps of `hone-gnn` compared with the same steps in PyTorch, which computes in double: forward and
# backward pass, batch norm, loss and Adam of all four models.
. "$(dirname "$0")/lib.sh"
in_tier rest || skip_all "make test-all runs this"

gnn=$(dirname "$HONE")/hone-gnn
has_torch() { "$1" -c 'import torch, numpy' 2>/dev/null; }
for python in "${HONE_PYTHON:-python3}" "$ROOT/.deps/torch/bin/python"; do has_torch "$python" && break; done
has_torch "$python" || skip_all "there is no PyTorch with NumPy: tools/setup torch"

"$gnn" make blocks -n 400 -e 3000 -c 4 --dim 12 data >/dev/null 2>&1
for model in "sage" "gat --heads 2" "gin" "sage-ri"; do
    # shellcheck disable=SC2086
    train() { "$gnn" train -m $model --hidden 16 -f all,all -b 1000 --dropout 0 --eval none -c "$@" data; }
    train run.ckpt -e 3 >/dev/null 2>&1 && cp run.ckpt before.ckpt
    runs 0 "$model trains" train run.ckpt --resume -e 8
    runs 0 "$model: PyTorch repeats the training steps" \
        "$python" "$ROOT/t/cases/gnn/torch_steps.py" data before.ckpt run.ckpt
    # A bias before batch norm has gradient 0, and only rounding errors remain. Adam turns them into whole steps. So we
    # allow 1e-3; gin differs by 1e-4.
    difference=$(sed -n 's/.*steps: //p' "$T/out")
    ok "$model: the steps in PyTorch agree with hone-gnn to rounding: $difference" \
        awk -v d="${difference:-1}" 'BEGIN { exit !(d < 1e-3) }'
    rm -f run.ckpt
done
done_testing
