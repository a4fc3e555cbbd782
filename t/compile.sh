#!/usr/bin/env bash
# `hone compile` as a user sees it: its output, its exit status, the files it leaves.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "no python3 to read JSON with"
[ "$("$HONE" compile "$ROOT/bench/compile/plain.cu" >/dev/null 2>&1; echo $?)" = 3 ] &&
    skip_all "no CUDA compiler on this machine"

field() { # field FILE EXPRESSION-over-j
    python3 -c "import json,sys; j=json.load(open(sys.argv[1])); print($2)" "$1"
}

plain=$ROOT/bench/compile/plain.cu
# Every architecture that this compiler supports.
for arch in sm_80:quick sm_86:rest sm_89:rest sm_90:rest sm_90a:quick sm_100a:rest sm_120:quick; do
    in_tier "${arch#*:}" || continue
    arch=${arch%:*}
    "$HONE" compile --arch $arch "$plain" >"$T/out" 2>"$T/err"
    case $? in
    0) out_has "for $arch" "for $arch," ;;
    3) skip "for $arch" "$(head -1 "$T/err")" ;;
    *) fail "for $arch" "$(cat "$T/err")" ;;
    esac
done

printf '#include "/etc/passwd"\n' >evil.cu
quick_checks() {
    runs 0 "compiles" "$HONE" compile "$plain"
    out_has "says it came from the cache" "(cached)"
    runs 0 "--json" "$HONE" compile --json "$plain"
    is "names the kernel and its parameters" \
        "$(field "$T/out" "[(k['name'], [p['kind'] for p in k['params']]) for k in j['kernels']]")" \
        "[('softmax', ['pointer', 'pointer', 'int'])]"
    runs 0 "--ptx" "$HONE" compile --ptx "$plain"
    out_has "prints PTX" ".entry softmax"
    out_lacks "without the trailer" "hone_"
    runs 0 "--cubin" "$HONE" compile --cubin -o k.cubin "$plain"
    is "writes ELF" "$(head -c4 k.cubin | tail -c3)" "ELF"
    runs 0 "--sass" "$HONE" compile --sass "$plain"
    out_has "counts instructions by kind" "global"
    runs 2 "no such architecture is the user's mistake" "$HONE" compile --arch sm_12 "$plain"
    err_has "with an example" "'sm_12' is not an architecture: write sm_75, sm_80"

    [ -e /dev/nvidiactl ] || {
        runs 0 "without a GPU" "$HONE" compile "$plain"
        out_has "for Hopper" "for sm_90a,"
    }

    # Hone finds CuTe headers below the current directory, although the compiler runs in another
    # one.
    mkdir -p .deps/cutlass/include/cute "$T/away"
    echo '#define FOUND_THEM 1' >.deps/cutlass/include/cute/tensor.hpp
    printf '#include <cute/tensor.hpp>\nextern "C" __global__ void k(int *p) { *p = FOUND_THEM; }\n' >c.cu
    cp "$HONE" "$T/away/hone"
    runs 0 "headers below the current directory" "$T/away/hone" compile --no-pch c.cu
    rm -r .deps

    runs 0 "standard headers" "$HONE" compile "$ROOT/t/cases/standard_headers.cu"

    start=$(date +%s%N)
    "$HONE" compile "$plain" >/dev/null
    ms=$((($(date +%s%N) - start) / 1000000))
    if [ $ms -le 500 ]; then pass "a cache hit takes $ms ms"; else fail "a cache hit took $ms ms"; fi

    runs 1 "a forbidden include is a negative result" "$HONE" compile evil.cu
    err_has "with its reason" "forbidden include"
    head -c 2000000 /dev/zero | tr '\0' '\n' >big.cu
    runs 1 "a source that is too large" "$HONE" compile big.cu
    runs 3 "a missing file" "$HONE" compile nothere.cu
    runs 2 "what is no architecture" "$HONE" compile --arch hopper "$plain"
    runs 3 "an architecture the compiler does not know" "$HONE" compile --arch sm_150 "$plain"
    err_has "is named" "for sm_150"

    # ---- the other compiler
    if command -v nvcc >/dev/null; then
        runs 0 "nvcc" "$HONE" compile --compiler nvcc --json "$plain"
        is "gives the same signature" \
            "$(field "$T/out" "[p['kind'] for p in j['kernels'][0]['params']], j['compiler'][:4]")" \
            "['pointer', 'pointer', 'int'] nvcc"
        runs 1 "nvcc, a forbidden include" "$HONE" compile --compiler nvcc evil.cu
        for text in "died due to signal 9" "Unsupported gpu architecture"; do
            printf 'static_assert(false, "x\\nnvcc fatal   : %s");\n#error nvcc error   : %s\n' \
                "$text" "$text" >liar.cu
            runs 1 "nvcc, a source that says '$text'" "$HONE" compile --compiler nvcc liar.cu
        done
        printf '\n#error not today\n' >refuse.cu
        runs 1 "nvcc, an #error" "$HONE" compile --compiler nvcc refuse.cu
        err_has "is placed" "refuse.cu:2"
        err_has "and told" "not today"
        runs 3 "nvcc, an architecture it does not know" "$HONE" compile --compiler nvcc --arch sm_150 "$plain"
    fi
}

long_checks() {
    printf 'template <int A, int B> struct W { static const int v = W<A-1, B*2>::v + W<A-1, B*2+1>::v; };
template <int B> struct W<0, B> { static const int v = B; };
extern "C" __global__ void k(int *p) { *p = W<28, 0>::v; }\n' >bomb.cu
    runs 1 "a template bomb" "$HONE" compile --time-limit 5s --memory-limit 500M bomb.cu

    # ---- precompiled headers
    light=$ROOT/bench/compile/light.cu
    "$HONE" compile "$light" >/dev/null # makes the precompiled header, or finds that it cannot
    runs 0 "a CuTe kernel" "$HONE" compile --no-cache --json "$light"
    is "behind the precompiled header" "$(field "$T/out" "j['pch']")" True
    for f in "$HONE_CACHE_DIR"/pch/*.pch; do
        dd if=/dev/urandom of="$f" bs=4096 seek=20000 count=4 conv=notrunc 2>/dev/null
    done
    runs 0 "a damaged one does no harm" "$HONE" compile --no-cache --json "$light"
    is "it was made again" "$(field "$T/out" "j['pch'], j['ok']")" "True True"

    # ---- a few rounds of the torture
    if HONE=$HONE "$ROOT/t/torture/compile.sh" 20 >"$T/torture" 2>&1; then pass "torture, 20 rounds"; else
        fail "torture, 20 rounds" "$(cat "$T/torture")"
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
    "$name 1 "*"$piece"*) pass "$name: line $first" ;;
    *) fail "$name: line $first" "$got" ;;
    esac
    lines=$(wc -l <"$T/$name.txt")
    if [ "$lines" -le 40 ] && [ "$lines" -gt 0 ]; then pass "$name: $lines lines"; else fail "$name: $lines lines"; fi
done <"$T/wrong.tsv"

runs 0 "cache stat" "$HONE" cache stat
out_has "counts results" "results"
runs 0 "cache prune" "$HONE" cache prune --max 0
runs 0 "cache stat --json" "$HONE" cache stat --json
is "is empty now" "$(field "$T/out" "j['entries'], j['headers'], j['families']")" "0 0 0"
done_testing
