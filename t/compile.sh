#!/usr/bin/env bash
# `hone compile` as a user sees it: its output, its exit status, the files that it writes.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "no python3 to read JSON with"
[ "$("$HONE" compile "$ROOT/bench/compile/plain.cu" >/dev/null 2>&1; echo $?)" = 3 ] &&
    skip_all "no CUDA compiler on this machine"

field() { # field FILE EXPRESSION: prints a Python expression over j, the JSON in FILE
    python3 -c "import json,sys; j=json.load(open(sys.argv[1])); print($2)" "$1"
}

plain=$ROOT/bench/compile/plain.cu
# A kernel compiles for every architecture that this compiler supports.
for arch in sm_80:quick sm_86:rest sm_89:rest sm_90:rest sm_90a:quick sm_100a:rest sm_120:quick; do
    in_tier "${arch#*:}" || continue
    arch=${arch%:*}
    "$HONE" compile --arch $arch "$plain" >"$T/out" 2>"$T/err"
    case $? in
    0) out_has "hone compile compiles for $arch" "for $arch," ;;
    3) skip "hone compile compiles for $arch" "$(head -1 "$T/err")" ;;
    *) fail "hone compile compiles for $arch" "$(cat "$T/err")" ;;
    esac
done

printf '#include "/etc/passwd"\n' >evil.cu
quick_checks() {
    runs 0 "hone compile compiles a kernel a second time" "$HONE" compile "$plain"
    out_has "the second compile takes the result from the cache" "(cached)"
    runs 0 "hone compile --json exits with 0" "$HONE" compile --json "$plain"
    is "--json names the kernel and its parameters" \
        "$(field "$T/out" "[(k['name'], [p['kind'] for p in k['params']]) for k in j['kernels']]")" \
        "[('softmax', ['pointer', 'pointer', 'int'])]"
    runs 0 "hone compile --ptx exits with 0" "$HONE" compile --ptx "$plain"
    out_has "--ptx prints PTX" ".entry softmax"
    out_lacks "--ptx leaves out the trailer that Hone adds to the source" "hone_"
    runs 0 "hone compile --cubin exits with 0" "$HONE" compile --cubin -o k.cubin "$plain"
    is "--cubin writes an ELF file" "$(head -c4 k.cubin | tail -c3)" "ELF"
    runs 0 "hone compile --sass exits with 0" "$HONE" compile --sass "$plain"
    out_has "--sass counts instructions by kind" "global"
    printf '%s\n' '/* hone-plan' \
        '{ "launches": [ { "kernel": "put<4>", "grid": [1], "block": [1], "args": ["x"] } ] } */' \
        'template <int n> __global__ void put(int *p) { *p = n; }' >instance.cu
    runs 0 "hone compile compiles an instance of a template that the plan names" "$HONE" compile instance.cu
    is "it prints the facts of the instance once" "$(grep -c '_Z3putILi4EEvPi .* registers' "$T/out")" 1
    runs 2 "an architecture that no GPU has is a usage error" "$HONE" compile --arch sm_12 "$plain"
    err_has "the message about the architecture has examples" "'sm_12' is not an architecture: write sm_75, sm_80"

    [ -e /dev/nvidiactl ] || {
        runs 0 "hone compile works without a GPU" "$HONE" compile "$plain"
        out_has "without a GPU, hone compile compiles for sm_90a" "for sm_90a,"
    }

    # Hone finds CuTe headers below the current directory, although the compiler runs in another
    # one.
    mkdir -p .deps/cutlass/include/cute "$T/away"
    echo '#define FOUND_THEM 1' >.deps/cutlass/include/cute/tensor.hpp
    printf '#include <cute/tensor.hpp>\nextern "C" __global__ void k(int *p) { *p = FOUND_THEM; }\n' >c.cu
    cp "$HONE" "$T/away/hone"
    runs 0 "Hone finds CuTe headers below the current directory" "$T/away/hone" compile --no-pch c.cu
    rm -r .deps

    mkdir own
    echo '#define OWN_NUMBER 7' >own/own.cuh
    printf '#include <own.cuh>\nextern "C" __global__ void k(int *p) { *p = OWN_NUMBER; }\n' >o.cu
    runs 1 "a header that is in no include folder is refused" "$HONE" compile o.cu
    runs 0 "HONE_INCLUDE names a folder with further headers" env HONE_INCLUDE=own "$HONE" compile o.cu
    sed -i s/7/8765/ own/own.cuh
    runs 0 "a kernel compiles with a changed header" env HONE_INCLUDE=own "$HONE" compile --ptx o.cu
    out_has "a changed header is not taken from the cache" 8765

    printf '/* hone-plan\n{"fast_math": FAST, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": ["p"]}]}\n*/
extern "C" __global__ void k(float *p) { *p = p[1] / p[2]; }\n' >f.cu
    sed 's/FAST/false/' f.cu >slow.cu && sed 's/FAST/true/' f.cu >fast.cu
    runs 0 "a plan without fast_math compiles" "$HONE" compile --ptx slow.cu
    out_has "without fast_math, a division is exact" "div.rn.f32"
    runs 0 "a plan with fast_math compiles" "$HONE" compile --ptx fast.cu
    out_has "with fast_math, a division is approximate" "div.approx.ftz.f32"

    runs 0 "a kernel can include standard headers" "$HONE" compile "$ROOT/t/cases/standard_headers.cu"

    start=$(date +%s%N)
    "$HONE" compile "$plain" >/dev/null
    ms=$((($(date +%s%N) - start) / 1000000))
    if [ $ms -le 500 ]; then pass "a cache hit takes $ms ms"; else fail "a cache hit took $ms ms"; fi

    runs 1 "a kernel with a forbidden include is refused" "$HONE" compile evil.cu
    err_has "the message says that the include is forbidden" "forbidden include"
    head -c 5000000 /dev/zero | tr '\0' '\n' >big.cu
    runs 1 "a source that is too large is refused" "$HONE" compile big.cu
    runs 3 "a missing source file is an error" "$HONE" compile nothere.cu
    runs 2 "a word that is not an architecture is a usage error" "$HONE" compile --arch hopper "$plain"
    runs 3 "an architecture that the compiler does not know is an error" "$HONE" compile --arch sm_150 "$plain"
    err_has "the message names the architecture that the compiler does not know" "for sm_150"

    # ---- the other compiler
    if command -v nvcc >/dev/null; then
        runs 0 "hone compile --compiler nvcc exits with 0" "$HONE" compile --compiler nvcc --json "$plain"
        is "nvcc gives the same signature as NVRTC" \
            "$(field "$T/out" "[p['kind'] for p in j['kernels'][0]['params']], j['compiler'][:4]")" \
            "['pointer', 'pointer', 'int'] nvcc"
        runs 1 "with nvcc, a forbidden include is refused" "$HONE" compile --compiler nvcc evil.cu
        for text in "died due to signal 9" "Unsupported gpu architecture"; do
            printf 'static_assert(false, "x\\nnvcc fatal   : %s");\n#error nvcc error   : %s\n' \
                "$text" "$text" >liar.cu
            runs 1 "with nvcc, a source that prints '$text' is refused" "$HONE" compile --compiler nvcc liar.cu
        done
        printf '\n#error not today\n' >refuse.cu
        runs 1 "with nvcc, a source with an #error is refused" "$HONE" compile --compiler nvcc refuse.cu
        err_has "with nvcc, the message about an #error names its line" "refuse.cu:2"
        err_has "with nvcc, the message about an #error has its text" "not today"
        runs 3 "with nvcc, an architecture that it does not know is an error" \
            "$HONE" compile --compiler nvcc --arch sm_150 "$plain"
    fi
}

long_checks() {
    printf 'template <int A, int B> struct W { static const int v = W<A-1, B*2>::v + W<A-1, B*2+1>::v; };
template <int B> struct W<0, B> { static const int v = B; };
extern "C" __global__ void k(int *p) { *p = W<28, 0>::v; }\n' >bomb.cu
    runs 1 "a source with exponentially many templates is refused" \
        "$HONE" compile --time-limit 5s --memory-limit 500M bomb.cu

    # ---- precompiled headers
    light=$ROOT/bench/compile/light.cu
    "$HONE" compile "$light" >/dev/null # makes the precompiled header, or finds that it cannot
    runs 0 "a CuTe kernel compiles" "$HONE" compile --no-cache --json "$light"
    is "the compile of a CuTe kernel uses the precompiled header" "$(field "$T/out" "j['pch']")" True
    for f in "$HONE_CACHE_DIR"/pch/*.pch; do
        dd if=/dev/urandom of="$f" bs=4096 seek=20000 count=4 conv=notrunc 2>/dev/null
    done
    runs 0 "a CuTe kernel compiles although the precompiled header is damaged" "$HONE" compile --no-cache --json "$light"
    is "Hone makes a damaged precompiled header again" "$(field "$T/out" "j['pch'], j['ok']")" "True True"

    # ---- 20 rounds of t/torture/compile.sh
    if HONE=$HONE "$ROOT/t/torture/compile.sh" 20 >"$T/torture" 2>&1; then pass "20 rounds of t/torture/compile.sh succeed"; else
        fail "20 rounds of t/torture/compile.sh succeed" "$(cat "$T/torture")"
    fi
}

in_tier quick && quick_checks
in_tier rest && long_checks

# ---- wrong kernels: see t/cases/badkernels/README.md
cases=$ROOT/t/cases/badkernels
while IFS=$'\t' read -r name tier columns; do
    in_tier "$tier" && printf '%s\t%s\n' "$name" "$columns"
done <"$cases/expected.tsv" >"$T/wrong.tsv"
cut -f1 "$T/wrong.tsv" | xargs -P2 -I{} sh -c \
    '"$1" compile --json "$2/{}" >"$3/{}.json" 2>/dev/null; "$1" compile "$2/{}" 2>"$3/{}.txt" >/dev/null' \
    sh "$HONE" "$cases" "$T"
while IFS=$'\t' read -r name first last piece; do
    got=$(field "$T/$name.json" \
        "(lambda d: '%s %d %s' % (d['file'], $first <= d['line'] <= $last, d['message']))(j['diagnostics'][0])")
    case $got in
    "$name 1 "*"$piece"*) pass "$name: the first diagnostic is at line $first" ;;
    *) fail "$name: the first diagnostic is at line $first" "$got" ;;
    esac
    lines=$(wc -l <"$T/$name.txt")
    if [ "$lines" -le 40 ] && [ "$lines" -gt 0 ]; then pass "$name: the message has 1 to 40 lines"; else
        fail "$name: the message has 1 to 40 lines" "$lines lines"
    fi
done <"$T/wrong.tsv"

runs 0 "hone cache stat exits with 0" "$HONE" cache stat
out_has "hone cache stat counts results" "results"
runs 0 "hone cache prune exits with 0" "$HONE" cache prune --max 0
runs 0 "hone cache stat --json exits with 0" "$HONE" cache stat --json
is "the cache is empty after hone cache prune --max 0" \
    "$(field "$T/out" "j['entries'], j['headers'], j['families']")" "0 0 0"
done_testing
