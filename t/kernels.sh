#!/usr/bin/env bash
# Every kernel that comes with Hone passes on the emulator, under the sanitizer, on every smoke,
# check and held-out workload of its task; and a smoke workload takes less than a second.
. "$(dirname "$0")/lib.sh"

# The CuTe kernels compile for minutes in all; keep what was compiled between runs.
export HONE_CACHE_DIR=$ROOT/build/kernel-cache
mkdir -p "$HONE_CACHE_DIR"
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"

field() { # field NAME < verdict.json: a number or string at the top level
    sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" | head -1
}

for kernel in "$ROOT"/kernels/*.cu; do
    name=$(basename "$kernel" .cu)
    runs 0 "$name passes" "$HONE" eval --device emu --skip-time --skip-baselines --json \
        "${name%%.*}" "$kernel"
    "$HONE" eval --device emu --smoke --skip-time --skip-baselines --json "${name%%.*}" "$kernel" \
        >"$T/smoke" 2>/dev/null
    smoke=$(grep -c '"role": "smoke"' "$T/smoke")
    ms=$(($(field run_ns <"$T/smoke") / 1000000 / (smoke ? smoke : 1)))
    if [ $ms -lt 1000 ]; then pass "$name: $ms ms a smoke workload"; else
        fail "$name: $ms ms a smoke workload"
    fi
done
done_testing
