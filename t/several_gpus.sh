#!/usr/bin/env bash
# A machine with two GPUs, on the fake driver of fake/libcuda.c: which of them `hone eval` uses.
. "$(dirname "$0")/lib.sh"
in_tier rest || skip_all "make test-all runs this"
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1
[ $? = 3 ] && skip_all "no CUDA compiler on this machine"
must() { "$@" || { echo "Bail out! $1 failed"; exit 1; }; }
must cc -std=gnu17 -D_GNU_SOURCE -shared -fPIC -iquote "$ROOT/src" -o libcuda.so.1 "$ROOT/t/fake/libcuda.c"
must cc -std=gnu17 -shared -fPIC -o libnvidia-ml.so.1 "$ROOT/t/fake/libnvidia-ml.c"
export LD_LIBRARY_PATH=$PWD HONE_GPU_LOCK_DIR=$PWD FAKE_NVML_USERS=$PWD/users FAKE_CUDA_GPUS=2
: >users
# The kernels of the fake driver do nothing, so no verdict is a pass. But each verdict names the GPU.
device() {
    timeout 200 "$HONE" eval --json --skip-baselines "$@" vector_add "$ROOT/kernels/vector_add.cu" 2>"$T/err" |
        sed -n 's/^  "device": "\(.*\)",$/\1/p'
}
host=$(hostname)
is "several GPUs of one model are all used" "$(device)" "Fake GPU (GPU 0 of $host)"
is "--device cuda:1 means that GPU alone" "$(device --device cuda:1)" "Fake GPU"
is "--on local:1 too" "$(device --on local:1)" "Fake GPU (GPU 1 of $host)"
is "one GPU needs no number" "$(FAKE_CUDA_GPUS=1 device)" "Fake GPU"
is "another model is left out" "$(FAKE_CUDA_OTHER=Toy device)" "Fake GPU"

# ---- whose data sheet is used
gpu() { # gpu MODEL COMMAND...: the data sheet that the run begins with
    FAKE_CUDA_GPUS=1 FAKE_CUDA_NAME=$1 timeout 100 "$HONE" "${@:2}" --store gpu.db --skip-baselines >"$T/out" 2>"$T/err"
    python3 -c 'import json, sqlite3
print(json.loads(sqlite3.connect("gpu.db").execute("select config from run order by id desc").fetchone()[0])["gpu"])'
}
optimize="optimize vector_add --author exec:false"
is "optimize uses the data sheet of the GPU" "$(gpu "NVIDIA A100-SXM4-80GB" $optimize)" a100
is "unless --gpu names another" "$(gpu "NVIDIA A100-SXM4-80GB" $optimize --gpu l4)" l4
is "an L40S is no L4" "$(gpu "NVIDIA L40S" $optimize)" h200
err_has "hone says that it has no data sheet" "Hone has no data sheet of 'NVIDIA L40S': the roofline is that of h200"
is "bench too uses that of the GPU" "$(gpu "NVIDIA H100 PCIe" bench vector_add --author exec:false)" h100
echo "0000:00:00.0 $$ -1" >users
is "a GPU that others use is left alone" "$(device)" "Fake GPU (GPU 1 of $host)"
err_has "hone says so" "GPU 0 is in use by process $$ ("
is "HONE_SHARE_GPU uses it all the same" "$(HONE_SHARE_GPU=1 device)" "Fake GPU (GPU 0 of $host)"
: >users
exec 9>hone-gpu-0.lock
flock 9
is "a GPU that another process of Hone uses is left alone" "$(device)" "Fake GPU (GPU 1 of $host)"
done_testing
