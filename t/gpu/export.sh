#!/usr/bin/env bash
# Exports three kernels and uses them as a program would: in a fresh process, eager, in torch.compile and
# in a captured CUDA graph. Compares the results with PyTorch, and the time in the graph with the time in the
# verdict. Compares the host's time for an eager call with that of a compiled extension. Builds and runs the C
# example, and runs ModelNew in both forms and a FlashInfer-Bench solution. That takes less than a minute.
#   HONE=bin/hone OUT=results t/gpu/export.sh
# Two more parts take minutes (export_upstream.py). Each needs a folder, which you must bring if this machine has no
# network:
#   KERNELBENCH=DIR       a checkout of KernelBench: its own evaluation judges ten exported ModelNew
#   FLASHINFER_BENCH=DIR  the package, which runs three exported Solutions. To make DIR for Python 3.12 on x86_64:
#     pip install --no-deps --target DIR flashinfer-bench==0.1.2
#     pip install --target DIR --platform manylinux2014_x86_64 --python-version 312 --only-binary=:all: \
#         pydantic safetensors docstring-parser
# Exits 77 where there is no GPU, 1 if a check fails.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=$(realpath "${HONE:-$root/bin/hone}") OUT=${OUT:-$(mktemp -d)} python=${HONE_PYTHON:-python3}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
mkdir -p "$OUT/export" && cd "$OUT/export" || exit 1
export HONE root
t0=$(date +%s)

# PyTorch builds the extension in the background, because that takes a minute and needs no verdict.
"$HONE" export vector_add "$root/kernels/vector_add.cu" --unverified --as kernelbench --out model_source.py >/dev/null
"$python" -c 'import model_source' >extension.txt 2>&1 &
extension=$!

# One evaluation after the other, because two at the same time would disturb each other's times.
for name in vector_add softmax matmul_f16.sm90; do echo $name; done | xargs -P 1 -I{} bash -c '
    task=${1%%.*}
    timeout 100 "$HONE" eval --device cuda --skip-baselines --json "$task" "$root/kernels/$1.cu" \
        >"$task.json" 2>"$task.err" || { cat "$task.err"; exit 1; }
    "$HONE" export "$task" "$root/kernels/$1.cu" --verdict "$task.json" --as torch --out "${task}_op.py" >/dev/null' - {} || exit 1
"$HONE" export vector_add "$root/kernels/vector_add.cu" --verdict vector_add.json --as c --out c >/dev/null || exit 1
"$HONE" export vector_add "$root/kernels/vector_add.cu" --verdict vector_add.json --as kernelbench --cubin-form \
    --out model_cubin.py >/dev/null || exit 1
"$HONE" export softmax "$root/kernels/softmax.cu" --verdict softmax.json --as flashinfer-bench --out bench >/dev/null || exit 1
"$HONE" export "$root/t/cases/export/rowmix" "$root/t/cases/export/rowmix.cu" --unverified --as torch --out rowmix_op.py >/dev/null || exit 1
cc -std=c11 -O2 -Wall -Wextra -Werror -o example c/example.c c/vector_add.c -ldl -lm && ./example >example.txt || exit 1
echo "# $(($(date +%s) - t0)) s of evaluating and exporting"
wait $extension || cat extension.txt
timeout 150 "$python" "$root/t/gpu/export.py"
status=$?
echo "# $(($(date +%s) - t0)) s in all"
upstream() { timeout 400 "$python" "$root/t/gpu/export_upstream.py" "$@" 2>"$1.err" || { tail -5 "$1.err"; status=1; }; }
if [ -n "${FLASHINFER_BENCH-}" ]; then upstream flashinfer-bench "$FLASHINFER_BENCH"; fi
if [ -n "${KERNELBENCH-}" ]; then upstream kernelbench "$KERNELBENCH"; fi
echo "# $(($(date +%s) - t0)) s with all parts"
exit $status
