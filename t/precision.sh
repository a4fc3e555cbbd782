#!/usr/bin/env bash
# Data that leaves at most four terms in each product shows how precisely a kernel computes (docs/regimes.md).
# On the ordinary data of cases/precision/long_product, the errors of many terms cancel.
. "$(dirname "$0")/lib.sh"
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"
cases=$ROOT/t/cases/precision

judged() { # judged KERNEL VERDICT DESCRIPTION OPTION...: checks the verdict of KERNEL
    "$HONE" eval --device emu --seed 7 "${@:4}" "$cases/$task" "$cases/$1.cu" >"$T/out" 2>"$T/err"
    is "$1: $3 ($(sed -n 2p "$T/out"))" "$(head -1 "$T/out" | cut -d' ' -f1)" "$2"
}
task=long_product
few="at most 4 terms in each product, A / 2^20, B * 2^20"
if in_tier quick; then
    judged half_pairs mismatch "operands with the range of float16 fail" --smoke
    out_has "half_pairs: the kernel fails on data beyond the range of float16" "$few"
    judged half_pairs pass "operands with the range of float16 pass on ordinary data" --workload smoke:0
    judged one_tf32 mismatch "one TF32 product fails on products with few terms" --workload smoke:1
    out_has "one_tf32: the kernel fails on products with few terms" "$few"
    # The emulator counts the tensor-core products. The count shows the low precision without a comparison.
    tester=$(dirname "$HONE")/hone-test
    if [ -x "$tester" ]; then
        HONE=$tester judged one_tf32 mismatch "too few TF32 products fail" \
            --workload smoke:0 --disable-detector compare
        out_has "one_tf32: the verdict says that float32 needs 3 products" \
            "do 1 TF32 products and 0 products of narrower types for each product of the task; float32 precision needs 3"
    else
        skip "one_tf32: too few TF32 products fail" "hone-test is not built"
    fi
fi
if in_tier rest; then
    judged exact pass "float32 terms, added up in float64, pass"
    out_has "exact: the verdict names the precision" "precision: float32"
    judged three_tf32 pass "three products of TF32 parts pass"
    out_has "three_tf32: the verdict names the precision" \
        "precision: float32; for each product of the task, tensor cores do 3 products in TF32 and 0 in narrower types"
    judged one_tf32 mismatch "one TF32 product fails on products with few terms of a checked shape" --workload check:1
    out_has "one_tf32: the kernel fails on few terms of the checked shape" "$few"
fi

# Hone tries sums of few terms only if the kernel could be less precise than float32.
task=row_sum
if in_tier quick; then
    smoke=smoke:$("$HONE" task show --json "$cases/row_sum" | python3 -c 'import json, sys
t = json.load(sys.stdin)
print(sum(w["role"] == "smoke" for w in t["workloads"]) + len(t["regimes"]))')
    judged sum_of_halves mismatch "numbers rounded to float16 fail" --workload "$smoke"
    out_has "sum_of_halves: the kernel fails on sums of few terms" "at most 4 terms in each sum"
    runs 3 "sum: a kernel that computes in float32 has no workload with few terms" \
        "$HONE" eval --device emu --workload "$smoke" "$cases/row_sum" "$cases/sum.cu"
    out_has "sum: the message says that there is no such workload" "has no workload '$smoke'"
fi
done_testing
