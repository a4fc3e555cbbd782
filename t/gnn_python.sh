#!/usr/bin/env bash
# The Python package of docs/gnn-python.md. The quick checks need only Python's standard library. TIER=rest needs
# PyTorch: a model that is written in PyTorch must reach the accuracy of hone-gnn's model.
. "$(dirname "$0")/lib.sh"
gnn=$(dirname "$HONE")/hone-gnn
[ "${MODE:-release}" = release ] || skip_all "Python does not run with sanitizers"
HONE_GNN_LIBRARY=$(dirname "$HONE")/libhone_gnn.so
export HONE_GNN_LIBRARY PYTHONPATH=$ROOT/src/gnn/python PYTHONDONTWRITEBYTECODE=1

# report COMMAND...: runs COMMAND, which prints "ok NAME" or "not ok NAME", and makes each line a check
report() {
    local verdict name n=0
    timeout 300 "$@" >"$T/out" 2>"$T/err"
    local status=$?
    while read -r verdict name; do
        n=$((n + 1))
        case $verdict in
            ok) pass "$name" ;;
            not) fail "${name#ok }" "$(cat "$T/err")" ;;
        esac
    done <"$T/out"
    [ $status = 0 ] && [ $n -gt 0 ] || fail "${2##*/} ends well" "status $status: $(cat "$T/err")"
}

"$gnn" make blocks -n 2000 -e 16000 -c 5 --dim 6 data >/dev/null 2>&1 || fail "make blocks writes a dataset"
if in_tier quick; then
    report python3 "$ROOT/t/cases/gnn/python_batches.py" data "$gnn"
fi

in_tier rest || done_testing
has_torch() { "$1" -c 'import torch, numpy' 2>/dev/null; }
for python in "${HONE_PYTHON:-python3}" "$ROOT/.deps/torch/bin/python"; do has_torch "$python" && break; done
if ! has_torch "$python"; then
    skip "tensors of PyTorch work with the package" "there is no PyTorch with NumPy: tools/setup torch"
    done_testing
fi
report "$python" "$ROOT/t/cases/gnn/python_tensors.py" data

# A GraphSAGE in PyTorch, compared with hone-gnn's GraphSAGE of the same size.
"$gnn" make debian debian >/dev/null 2>&1 || fail "make debian writes a dataset"
epochs=4
runs 0 "hone-gnn trains" "$gnn" train -m sage --hidden 64 -f 10,10 -b 512 --lr 0.01 -e $epochs --json debian
ours=$(perl -MJSON::PP -0777 -e 'printf "%.2f", 100 * decode_json(<STDIN>)->{epochs}[-1]{eval_accuracy}' <"$T/out")
runs 0 "a model in PyTorch trains" "$python" "$ROOT/t/cases/gnn/python_train.py" debian $epochs
theirs=$(tail -1 "$T/out")
ok "the model in PyTorch is right as often as hone-gnn's: $theirs%, hone-gnn $ours%" \
    awk -v a="$theirs" -v b="$ours" 'BEGIN { exit !(a > b - 1 && a < b + 1) }'
done_testing
