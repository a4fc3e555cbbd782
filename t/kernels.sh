#!/usr/bin/env bash
# Every kernel that comes with Hone passes on the emulator, under the sanitizer, on every smoke,
# check and held-out workload of its task. A smoke workload takes less than a second. `make test`
# runs most kernels on the smoke workloads only, and leaves out those of long_compiles.
. "$(dirname "$0")/lib.sh"
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"

field() { # field NAME < verdict.json: a number or string at the top level
    sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" | head -1
}

short_runs=" embedding_gather rmsnorm rope segment_mean vector_add "
long_compiles=" matmul_f16.sm80 matmul_f16.sm90 gelu_tanh.cute reduce_max_dim1.cute softmax.cute transpose.cute "

for kernel in "$ROOT"/kernels/*.cu; do
    name=$(basename "$kernel" .cu)
    smoke_in=quick full_in=rest
    case $long_compiles in *" $name "*) smoke_in=rest ;; esac
    case $short_runs in *" $name "*) full_in=quick ;; esac
    in_tier $full_in &&
        runs 0 "$name passes" "$HONE" eval --device emu --skip-time --skip-baselines --json \
            "${name%%.*}" "$kernel"
    in_tier $smoke_in || continue
    runs 0 "$name passes the smoke workloads" "$HONE" eval --device emu --smoke --skip-time \
        --skip-baselines --json "${name%%.*}" "$kernel"
    smoke=$(grep -c '"role": "smoke"' "$T/out")
    ms=$(($(field run_ns <"$T/out") / 1000000 / (smoke ? smoke : 1)))
    if [ $ms -lt 1000 ]; then pass "$name: a smoke workload takes less than a second"; else
        fail "$name: a smoke workload takes less than a second" "$ms ms"
    fi
done
done_testing
