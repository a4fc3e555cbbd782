#!/usr/bin/env bash
# Plans with the features that replace host code: null pointers, computed floats, template instances, memset, copy.
# The kernels of cases/plans pass, small changes of their plans fail for the right reason, and all exports build.
. "$(dirname "$0")/lib.sh"
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"
cases=$ROOT/t/cases/plans

judge() { # judge STATUS DESCRIPTION TASK FILE OPTION...: checks the exit status of an evaluation
    runs "$1" "$2" "$HONE" eval --device emu --skip-baselines "${@:5}" "$cases/$3" "$4"
}
changed() { sed "$1" "$cases/scaled/naive.cu" >k.cu; } # changed SED: writes k.cu, the kernel changed by SED

judge 0 "a plan with null pointers, computed floats, memset and copy passes" scaled "$cases/scaled/naive.cu"
runs 0 "an evaluation of that plan with --json passes" \
    "$HONE" eval --device emu --skip-baselines --json "$cases/scaled" "$cases/scaled/naive.cu"
out_has "a memset has counters" '"kernel": "memset"'
out_has "a copy has counters" '"kernel": "copy"'
judge 0 "a kernel that changes a part of a copied output passes" relu "$cases/relu/naive.cu"
out_has "the copied output is verified at the timed shape" "verified by sample: 1 of 1"
template='s/extern "C" __global__ void scale(const float \*x/template <class T, int N> __global__ void scale(const T *x/
    s/"kernel": "scale"/"kernel": "scale<float, 4>"/'
changed "$template"
judge 0 "a template instance as a kernel passes" scaled k.cu --smoke
changed "$template; s/if (i < n)/if (i <= n)/"
judge 1 "a template instance with an access past the end fails" scaled k.cu --smoke
out_has "the finding names the template instance" "of kernel 'scale<float, 4>'"
judge 0 "a kernel that relies on a precondition of its inputs passes" padded_sums "$cases/padded_sums/naive.cu"
out_has "the verdict names the precondition" "preconditions of the task: x is padded with 1000"
changed '/"memset": "s"/d'
judge 1 "a plan without the memset of an output fails" scaled k.cu --smoke
out_has "the verdict names the output without memset" "'s'"
in_tier rest || done_testing
changed '/"copy"/s/"k"/"k", "bytes": "4*C*(R-1)"/'
judge 1 "a plan that copies a part of the output fails" scaled k.cu --smoke
changed 's/"value": 1065353216/"value": 1073741824/'
judge 1 "a memset with another value fails" scaled k.cu --smoke
out_has "a memset with another value is a mismatch" "mismatch"
changed '/"memset": "ones"/d'
judge 1 "a plan without the memset of a workspace fails" scaled k.cu --smoke
out_has "the finding says that the workspace is not initialised" "uninit"
changed 's/1\/sqrt(C)/1\/C/'
judge 1 "a plan with 1/C, an integer division, fails" scaled k.cu --smoke
changed 's/bias ? bias\[i\] : (float)b/bias[0]/'
judge 1 "a kernel that reads a null pointer fails" scaled k.cu --smoke
out_has "a read of a null pointer is a fault" "fault"

changed "$template"
judge 0 "a template instance compiled by nvcc passes" scaled k.cu --smoke --compiler nvcc
for as in c torch kernelbench; do
    runs 0 "a template instance is exported as $as" "$HONE" export "$cases/scaled" k.cu --unverified --as $as --out it-$as
done
ok "the C file launches the template instance by its lowered name" \
    grep -q 'launch_begin(plan, KERNEL__Z5scaleIfLi4E' it-c/scaled.c
ok "the Python file launches the template instance by its lowered name" \
    grep -q 'plan.launch("_Z5scaleIfLi4E.*# scale<float, 4>$' it-torch
ok "the CUDA file launches the template instance by its C++ name" grep -q '&::scale<float, 4>' it-kernelbench
changed "$template; s/__global__ void scale/__device__ void scale/"
judge 1 "a plan that launches a __device__ function fails" scaled k.cu --smoke
out_has "the message says that the function is not a __global__ function" "'scale<float, 4>' is not a __global__ function"
changed "s/extern \"C\" __global__ void sums/#define kN 4>); int evil = (4\n&/; $template; s/scale<float, 4>/scale<float, kN>/"
judge 1 "a plan with a macro in the name of a kernel fails" scaled k.cu --smoke
out_has "the macro in the name is not expanded" 'identifier "kN" is undefined'

for as in c torch kernelbench; do
    case $as in c) to=lib ;; *) to=$as.py ;; esac
    runs 0 "the plan with memset and copy is exported as $as" \
        "$HONE" export "$cases/scaled" "$cases/scaled/naive.cu" --unverified --as $as --out $to
done
ok "the exported C file builds without warnings" "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -c -o x.o lib/scaled.c
ok "the exported C file computes the float" grep -q 'arg_real(plan, "1/sqrt(C)", 1 / sqrt(C), 4);' lib/scaled.c
ok "the exported C file copies" grep -q 'launch_copy(plan, "x", plan->tensor\[0\].address' lib/scaled.c
ok "the exported Python file compiles" "${HONE_PYTHON:-python3}" -m py_compile torch.py
ok "the exported Python file sets memory" \
    grep -q 'plan.memset("ones", value=1065353216, width=4, offset=0, size=None)' torch.py
done_testing
