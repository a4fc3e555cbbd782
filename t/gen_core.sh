#!/bin/sh
# gen_core.h gives the same bits with every compiler.
cd "$(dirname "$0")/.." || exit 1
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
src=t/cases/gen_core.c
n=0
check() { # check NAME COMMAND...
    name=$1
    shift
    n=$((n + 1))
    if "$@" >"$tmp/log" 2>&1; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        sed 's/^/# /' "$tmp/log"
    fi
}
same() { # same COMPILER OPTION...: checks that the built program prints the same bits as the reference
    "$@" -Wall -Werror -Isrc -o "$tmp/got" && "$tmp/got" >"$tmp/got.txt" && cmp "$tmp/want.txt" "$tmp/got.txt"
}
# Only `make test-all` compares with a build without optimisation, because that build takes long.
reference=-O0
[ "${TIER:-all}" = quick ] && reference=-O1
${CC:-cc} -std=c17 $reference -ffp-contract=off -Isrc -o "$tmp/want" $src && "$tmp/want" >"$tmp/want.txt"
check "the reference program prints 135 lines" test "$(wc -l <"$tmp/want.txt")" -eq 135
check "C17 with -O3 and contraction gives the same bits" same ${CC:-cc} -std=c17 -O3 -ffp-contract=fast -march=native $src
check "C++17 gives the same bits" same ${CXX:-c++} -std=c++17 -x c++ -O2 -ffp-contract=fast -march=native $src
if command -v clang >/dev/null || command -v clang-14 >/dev/null; then
    clang=$(command -v clang || command -v clang-14)
    check "clang gives the same bits" same "$clang" -std=c17 -O3 -ffp-contract=fast $src
else
    n=$((n + 1)) && echo "ok $n - clang gives the same bits # SKIP no clang"
fi
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ -n "$nvcc" ]; then
    cat >"$tmp/k.cu" <<'CU'
#include "job/gen_core.h"
#include "job/poison.h"
extern "C" __global__ void k(struct gen_spec s, int t, uint64_t *out)
{
    struct gen_plan p = gen_prepare(&s, t, 1, 2);
    uint64_t i = blockIdx.x;
    out[i] = gen_element(&p, i) + gen_perturbed(&p, i) + poison_bits(t, 3, i) + gen_hash_word(i, i);
}
CU
    check "nvcc compiles gen_core.h as device code" "$nvcc" -std=c++17 -arch=sm_90 -ptx -Isrc -o "$tmp/k.ptx" "$tmp/k.cu"
else
    n=$((n + 1)) && echo "ok $n - nvcc compiles gen_core.h as device code # SKIP no nvcc"
fi
echo "1..$n"
