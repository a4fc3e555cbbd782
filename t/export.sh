#!/usr/bin/env bash
# `hone export`: without --unverified, it exports only kernels with a passing verdict. Exported C builds, launches
# the kernels of the plan and refuses wrong calls. `make test-all` also checks exported Python, with PyTorch for the
# CPU.
. "$(dirname "$0")/lib.sh"
share_cache
export HONE_STORE=$T/store.db
cases=$ROOT/t/cases/export
cp -r "$cases/rowmix" . && chmod -R u+w rowmix
export_it() { "$HONE" export rowmix "$cases/rowmix.cu" --verdict verdict.json "$@"; }

# ---- usage and evidence
runs 2 "hone export without a format is a usage error" "$HONE" export last --out x
runs 2 "an unknown format is a usage error" "$HONE" export last --as rust --out x
err_has "the message about an unknown format lists the formats" "torch, c, kernelbench, flashinfer-bench, cubin"
runs 2 "--backward with a format other than torch is a usage error" "$HONE" export last --as c --out x --backward last
runs 2 "--ptx with a format other than c is a usage error" "$HONE" export last --as torch --out x --ptx
runs 2 "a kernel file without its task is a usage error" "$HONE" export mine.cu --as c --out x
err_has "the message says that the task comes first" "give the TASK first: hone export TASK mine.cu"
runs 0 "the kernel of the task rowmix passes" \
    "$HONE" eval --device emu --skip-time --skip-baselines --json rowmix "$cases/rowmix.cu"
cp "$T/out" verdict.json
runs 0 "hone export --as c accepts a kernel with its verdict" export_it --as c --out lib
ok "the exported header has the verdict" grep -q "Verdict: passes" lib/rowmix.h
runs 0 "hone export --as c --ptx exits with 0" export_it --as c --ptx --out with_ptx
ok "C code with PTX compiles without warnings" cc -std=c11 -Wall -Wextra -Werror -c -o ptx.o with_ptx/rowmix.c
ok "the object file has the PTX" grep -q "visible .entry mix4" ptx.o
sed 's/+ shift;$/+ shift + 0;/' "$cases/rowmix.cu" >other.cu
runs 1 "a verdict about another source is refused" "$HONE" export rowmix other.cu --verdict verdict.json --as c --out x
err_has "the message says that the verdict is about another source" "the verdict is about another source"
cp -r rowmix newer && sed -i 's/"budget": 4/"budget": 5/' newer/task.json
runs 1 "a verdict for another version of the task is refused" \
    "$HONE" export newer "$cases/rowmix.cu" --verdict verdict.json --as c --out x
err_has "the message says that the verdict is for another version of the task" "another version of task 'rowmix'"
cp -r rowmix wordy && sed -i 's/"description": "/"description": "A sentence that has many words and is too long for the first line of a header, /' wordy/task.json
runs 0 "hone export accepts a task with a long description" \
    "$HONE" export wordy "$cases/rowmix.cu" --unverified --as c --out wordy_c
ok "the header cuts a long description between words" \
    grep -q 'A sentence that has many words and is too long for the first line of a header, \.\.\.' wordy_c/rowmix.h
python3 - <<'PY'
import json
v = json.load(open("verdict.json"))
v["workloads"] = [w for w in v["workloads"] if w["role"] == "smoke"]
json.dump(v, open("smoke.json", "w"))
v["kind"] = "mismatch"
json.dump(v, open("wrong.json", "w"))
PY
runs 1 "a verdict of an evaluation with --smoke is refused" \
    "$HONE" export rowmix "$cases/rowmix.cu" --verdict smoke.json --as c --out x
err_has "the message says that no check workload was checked" "no check workload was checked"
runs 1 "a failed verdict is refused" "$HONE" export rowmix "$cases/rowmix.cu" --verdict wrong.json --as c --out x
err_has "the message names the failed verdict" "its verdict is mismatch"
runs 3 "an export fails with the status of the environment if Hone cannot judge the kernel" \
    env CC=/none/cc "$HONE" export rowmix "$cases/rowmix.cu" --device emu --as c --out x
err_has "the message says that the verdict is unjudged" "its verdict is unjudged: compiling the oracle"
ok "a refused export writes no file" test ! -e x
runs 0 "hone export --unverified --arch sm_80 exits with 0" \
    "$HONE" export rowmix "$cases/rowmix.cu" --verdict wrong.json --unverified --arch sm_80 --as cubin --out x80.cubin
is "the cubin has no debug sections and no paths" "$(grep -ac -e nv_debug -e debug_line -e "$ROOT" x80.cubin)" 0
runs 0 "--unverified exports a kernel with a failed verdict" \
    "$HONE" export rowmix "$cases/rowmix.cu" --verdict wrong.json --unverified --as c --out x
ok "the exported files say UNVERIFIED" grep -q "UNVERIFIED" x/rowmix.c x/rowmix.h
runs 0 "hone export --arch evaluates a kernel without a verdict for that architecture" \
    "$HONE" export vector_add "$ROOT/kernels/vector_add.cu" --device emu --arch sm_80 --as cubin --out add80.cubin
err_has "hone export says that it evaluates" "so Hone evaluates it now"
is "the exported kernel is verified for that architecture" \
    "$(python3 -c 'import json; j = json.load(open("add80.cubin.json")); print(j["verified"], j["arch"])')" \
    "True sm_80"
runs 1 "an export of a run that does not exist fails" "$HONE" export last --as c --out x

# ---- integer inputs: the header gives the range of their values, and the example stays within it
runs 0 "hone export accepts a task with an integer input" \
    "$HONE" export "$ROOT/t/cases/lengths" "$ROOT/t/cases/lengths/naive.cu" --unverified --as c --out lengths_c
ok "the header has the range of the integer input" \
    grep -q 'Precondition: the values of len are integers from 0 to C' lengths_c/lengths.h
ok "the example stays within the range of the integer input" \
    grep -q 'args.len = new_tensor(4, 4, 0, 0, 0, 128);' lengths_c/example.c
ok "the example with an integer input compiles" gcc -std=c11 -Wall -Wextra -Werror -c -o example.o lengths_c/example.c
sed -e 's/^int main(void)/int unused_main(void)/' -e '$a int main(void) { return !(isinf(decode(0xff800000u, 4, 8, 23)) \&\& isnan(decode(0x7fc00000u, 4, 8, 23)) \&\& decode(0x40400000u, 4, 8, 23) == 3); }' \
    lengths_c/example.c >decode.c
ok "the example decodes infinities and NaN" \
    sh -c 'gcc -std=c11 -Ilengths_c -o decode decode.c lengths_c/lengths.c -ldl -lm && ./decode'

# ---- a run that replays a recording; the test adds the task hash to the recorded verdicts
hash=$("$HONE" task show --json fused_add_rmsnorm | python3 -c 'import json,sys; print(json.load(sys.stdin)["hash"])')
rec=$ROOT/t/cases/recordings/team_norm.jsonl
if in_tier rest; then
    runs 0 "a recording without task hashes replays" "$HONE" optimize --author "replay:$rec"
    runs 1 "a run without task hashes is not exported" "$HONE" export last --as cubin --out x.cubin
    err_has "the message says that the run is from an older Hone" "from an older Hone"
fi
python3 - "$rec" "$hash" >new.jsonl <<'PY'
import json, sys
for line in open(sys.argv[1]):
    d = json.loads(line)
    if "verdict" in d:
        d["verdict"]["verdict"]["task_sha"] = sys.argv[2]
    print(json.dumps(d))
PY
runs 0 "a recording with task hashes replays" "$HONE" optimize --author replay:new.jsonl
runs 0 "hone export last exits with 0" "$HONE" export last --as cubin --out best.cubin
ok "the exported cubin is machine code" cmp -n 4 best.cubin <(printf '\177ELF')
ok "the file beside the cubin has the plan" grep -q '"launches"' best.cubin.json
runs 0 "hone export exports one candidate of a run" "$HONE" export last:0 --as cubin --out first.cubin
runs 1 "a candidate that does not exist cannot be exported" "$HONE" export last:99 --as cubin --out x.cubin
err_has "the message names the candidate that does not exist" "has no candidate '99'"
"$HONE" show last best >best.cu
runs 0 "hone export finds the verdict of a file in the store" \
    "$HONE" export fused_add_rmsnorm best.cu --as cubin --out b.cubin --json
out_has "the JSON says that the export is verified" '"verified": true'

# ---- C
export_c() { ${CC:-cc} -std=c11 -Wall -Wextra -Werror -Ilib -o "$1" "$2" lib/rowmix.c -ldl -lm; }
ok "the C library builds without warnings" export_c calls "$cases/calls.c"
ok "the C example builds without warnings" export_c example lib/example.c
mkdir fake && cc -std=gnu17 -D_GNU_SOURCE -shared -fPIC -iquote "$ROOT/src" -o fake/libcuda.so.1 "$ROOT/t/fake/libcuda.c"
on_fake() { LD_LIBRARY_PATH=$PWD/fake FAKE_CUDA_LOG=$PWD/log "$@"; }
runs 0 "the C example runs on the fake driver" on_fake ./example
is "the C example launches the kernels of the plan" "$(grep -E 'Launch|Memset' log)" "cuMemsetD8Async 0 32
cuLaunchKernelEx mix4 1,4,1 64,1,1 0 attributes 0: 0 0,0,0
cuLaunchKernelEx sums 8,1,1 128,1,1 512 attributes 1: 4 2,1,1
cuLaunchKernelEx finish 1,1,1 64,1,1 0 attributes 1: 2 1,0,0"
rm log
runs 0 "the program with right and wrong calls exits with 0" on_fake ./calls
is "each wrong call is refused with the reason" "$(sed 's/0x[0-9a-f]*/ADDRESS/' "$T/out")" "good: ok
misaligned for vectors: ok
null: rowmix: in is NULL; it must be the address of device memory
odd address: rowmix: the address of in, ADDRESS, must be a multiple of 4
empty: rowmix: R is 0; it must be 1 to 2147483647
huge: rowmix: R is 1099511627776; it must be 1 to 2147483647
large: rowmix: in is larger than a GPU's memory
constraint: rowmix: R is 3, C is 7; the task requires R % 2 == 0 || C != 7
grid: rowmix: these sizes need a grid of 70000 blocks or threads in y; the GPU allows 1 to 65535
workspace: rowmix: the workspace has 16 bytes; this call needs 256
no workspace: rowmix: this call needs a workspace of 256 bytes; rowmix_workspace() gives the number
odd workspace: rowmix: the address of the workspace must be a multiple of 256"
is "an address that is not aligned for vectors takes the other kernel" "$(grep -c 'LaunchKernelEx mix ' log)" 1
is "a refused call launches nothing" "$(grep -c LaunchKernelEx log)" 6
runs 1 "a call fails if the driver fails" env LD_LIBRARY_PATH="$PWD/fake" FAKE_CUDA_FAIL=cuModuleLoadData:209 ./calls
out_has "the message names the driver function that failed" "load: rowmix: cuModuleLoadData failed: error 209"

# ---- Python
runs 0 "hone export --as torch exits with 0" export_it --as torch --out rowmix_op.py
runs 0 "hone export --as kernelbench exits with 0" export_it --as kernelbench --out model_new.py
ok "the file for KernelBench has no word that KernelBench's static check bans" \
    bash -c '! grep -nwE "try:|except|pass" model_new.py'
sed "s,^    float sum = 0;,    float sum = 1'0 - 10; /* pass */," "$cases/rowmix.cu" >digits.cu
runs 0 "hone export --as kernelbench accepts a number with a digit separator" \
    "$HONE" export rowmix digits.cu --unverified --as kernelbench --out digits.py
ok "a comment with a banned word is left out after a number with a digit separator" \
    bash -c '! grep -nwE "try:|except|pass" digits.py'
ok "the file for KernelBench has a __global__ function" grep -q "__global__.*" model_new.py
runs 0 "hone export --as kernelbench --cubin-form exits with 0" export_it --as kernelbench --cubin-form --out model_cubin.py
runs 0 "hone export --as flashinfer-bench exits with 0" export_it --as flashinfer-bench --out bench
python3 -c 'import glob, json; print(json.load(open(glob.glob("bench/solutions/*.json")[0]))["sources"][0]["content"])' >run.py
ok "all exported Python files compile" python3 -m py_compile rowmix_op.py model_new.py model_cubin.py run.py

# ---- shared memory that grows with an axis
sed 's/"smem": "4\*128"/"smem": "4*C"/' "$cases/rowmix.cu" >wide.cu
export_wide() { "$HONE" export rowmix wide.cu --unverified "$@"; }
runs 0 "hone export --as c accepts shared memory that grows with an axis" export_wide --as c --out wide
ok "the header says how far the axis goes" \
    grep -q "Axis C: 1 to 2147483647, as far as shared memory allows; " wide/rowmix.h
ok "the header states the limit" \
    grep -q "Limit: the kernel sums needs 4\*C bytes of shared memory; the GPU allows 232448" wide/rowmix.h
ok "the header says nothing of the kind about shared memory of a fixed size" \
    bash -c '! grep -q "shared memory" lib/rowmix.h'
runs 0 "hone export --as torch accepts shared memory that grows with an axis" export_wide --as torch --out wide_op.py
ok "the check of the sizes, which fake tensors take too, refuses too large an axis" \
    grep -A1 -x "    if 4 \* C > 232448:" wide_op.py

# ---- the gradient as a kernel
backward() { # backward TASK KERNEL: exports softmax with this backward kernel
    "$HONE" export softmax "$ROOT/kernels/softmax.cu" --unverified --backward "$1=$2" --as torch --out softmax_grad_op.py
}
runs 0 "hone export accepts a backward kernel" backward "$cases/softmax_grad" "$cases/softmax_grad.cu"
ok "the Python file with a backward kernel compiles" python3 -m py_compile softmax_grad_op.py
runs 1 "a backward kernel of another operation is refused" backward rowmix "$cases/rowmix.cu"
err_has "the message about the backward kernel names the input that does not belong" \
    "its input 'in' is neither a tensor of task 'softmax' nor the gradient of an output"
runs 2 "a task that does not exist is refused" "$HONE" export nosuchtask "$cases/rowmix.cu" --as torch --out x.py
err_has "the message names the task that does not exist" "nosuchtask"

# ---- with PyTorch
if in_tier rest; then
    python=${HONE_PYTHON:-python3}
    for name in softmax layernorm fused_add_rmsnorm silu_and_mul; do
        "$HONE" export $name "$ROOT/kernels/$name.cu" --unverified --as torch --out ${name}_op.py >"$T/out" 2>&1
    done
    "$HONE" export matmul_f16 "$ROOT/kernels/matmul_f16.sm90.cu" --unverified --as torch --out matmul_f16_op.py >"$T/out" 2>&1
    "$HONE" export "$cases/affine" "$cases/affine.cu" --unverified --as torch --out affine_op.py >"$T/out" 2>&1
    if "$python" -c 'import torch' 2>/dev/null; then
        runs 0 "the exported operators work in PyTorch" on_fake "$python" "$cases/check_torch.py" "$PWD"
        while read -r line; do pass "${line#ok }"; done < <(grep '^ok ' "$T/out")
        "$python" "$cases/check_nvrtc.py" "$PWD" >"$T/out" 2>&1
        case $?/$(cat "$T/out") in
        0/*) pass "NVRTC builds the exported source for another GPU" ;;
        */*skip:*) skip "NVRTC builds the exported source for another GPU" "no NVRTC" ;;
        *) fail "NVRTC builds the exported source for another GPU" "$(cat "$T/out")" ;;
        esac
    else
        skip "the exported operators work in PyTorch" "no PyTorch in $python"
    fi
fi
done_testing
