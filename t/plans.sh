#!/usr/bin/env bash
# Plans with the features that replace host code: null pointers, computed floats, template instances, memset, copy.
# The kernels of cases/plans pass, small changes of their plans fail for the right reason, and all exports build.
. "$(dirname "$0")/lib.sh"
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"
cases=$ROOT/t/cases/plans

judge() { # judge STATUS WHAT TASK FILE [options]
    runs "$1" "$2" "$HONE" eval --device emu --skip-baselines "${@:5}" "$cases/$3" "$4"
}
changed() { sed "$1" "$cases/scaled/naive.cu" >k.cu; } # changed SED

judge 0 "null, computed floats, memset and copy" scaled "$cases/scaled/naive.cu"
runs 0 "counters" "$HONE" eval --device emu --skip-baselines --json "$cases/scaled" "$cases/scaled/naive.cu"
out_has "a memset is timed" '"kernel": "memset"'
out_has "a copy is timed" '"kernel": "copy"'
judge 0 "a kernel that changes a part of what a copy left" relu "$cases/relu/naive.cu"
out_has "is verified where it is timed" "verified by sample: 1 of 1"
template='s/extern "C" __global__ void scale(const float \*x/template <class T, int N> __global__ void scale(const T *x/
    s/"kernel": "scale"/"kernel": "scale<float, 4>"/'
changed "$template"
judge 0 "a template instance" scaled k.cu --smoke
changed "$template; s/if (i < n)/if (i <= n)/"
judge 1 "its faults" scaled k.cu --smoke
out_has "have its name" "of kernel 'scale<float, 4>'"
judge 0 "a kernel that relies on the structure of its inputs" padded_sums "$cases/padded_sums/naive.cu"
out_has "the verdict names it" "preconditions of the task: x is padded with 1000"
changed '/"memset": "s"/d'
judge 1 "without the memset an element is unwritten" scaled k.cu --smoke
out_has "says which" "'s'"
in_tier rest || done_testing
changed '/"copy"/s/"k"/"k", "bytes": "4*C*(R-1)"/'
judge 1 "half a copy" scaled k.cu --smoke
changed 's/"value": 1065353216/"value": 1073741824/'
judge 1 "a memset with another value" scaled k.cu --smoke
out_has "is a wrong result" "mismatch"
changed '/"memset": "ones"/d'
judge 1 "a workspace that nothing sets" scaled k.cu --smoke
out_has "is read before it is written" "uninit"
changed 's/1\/sqrt(C)/1\/C/'
judge 1 "1/C is an integer division" scaled k.cu --smoke
changed 's/bias ? bias\[i\] : (float)b/bias[0]/'
judge 1 "a null pointer that is read" scaled k.cu --smoke
out_has "is a fault" "fault"

changed "$template"
judge 0 "a template instance, by nvcc" scaled k.cu --smoke --compiler nvcc
for as in c torch kernelbench; do
    runs 0 "export it as $as" "$HONE" export "$cases/scaled" k.cu --unverified --as $as --out it-$as
done
ok "the C file calls it by its lowered name" grep -q 'launch_begin(plan, KERNEL__Z5scaleIfLi4E' it-c/scaled.c
ok "the Python file too" grep -q 'plan.launch("_Z5scaleIfLi4E.*# scale<float, 4>$' it-torch
ok "the CUDA file by its own" grep -q '&::scale<float, 4>' it-kernelbench
changed "$template; s/__global__ void scale/__device__ void scale/"
judge 1 "a device function is no kernel" scaled k.cu --smoke
out_has "says so" "'scale<float, 4>' is not a __global__ function"
changed "s/extern \"C\" __global__ void sums/#define kN 4>); int evil = (4\n&/; $template; s/scale<float, 4>/scale<float, kN>/"
judge 1 "a macro in the name" scaled k.cu --smoke
out_has "is not expanded" 'identifier "kN" is undefined'

for as in c torch kernelbench; do
    case $as in c) to=lib ;; *) to=$as.py ;; esac
    runs 0 "export as $as" "$HONE" export "$cases/scaled" "$cases/scaled/naive.cu" --unverified --as $as --out $to
done
ok "the C file builds" "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -c -o x.o lib/scaled.c
ok "it computes the float" grep -q 'arg_real(plan, "1/sqrt(C)", 1 / sqrt(C), 4);' lib/scaled.c
ok "it copies" grep -q 'launch_copy(plan, "x", plan->tensor\[0\].address' lib/scaled.c
ok "the Python file compiles" "${HONE_PYTHON:-python3}" -m py_compile torch.py
ok "it sets memory" grep -q 'plan.memset("ones", value=1065353216, width=4, offset=0, size=None)' torch.py
done_testing
