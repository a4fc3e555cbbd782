#!/usr/bin/env bash
# Which GPU `hone eval` uses on a machine with two GPUs. The fake driver of fake/libcuda.c plays the machine.
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
# device OPTION...: prints the GPU that the verdict names. The kernels of the fake driver do nothing, so no verdict
# is a pass.
device() {
    timeout 200 "$HONE" eval --json --skip-baselines "$@" vector_add "$ROOT/kernels/vector_add.cu" 2>"$T/err" |
        sed -n 's/^  "device": "\(.*\)",$/\1/p'
}
host=$(hostname)
is "with two GPUs of one model, the verdict names the GPU and its number" "$(device)" "Fake GPU (GPU 0 of $host)"
is "--device cuda:1 uses only this GPU, and gives no number" "$(device --device cuda:1)" "Fake GPU"
is "--on local:1 uses GPU 1" "$(device --on local:1)" "Fake GPU (GPU 1 of $host)"
is "with one GPU, the verdict gives no number" "$(FAKE_CUDA_GPUS=1 device)" "Fake GPU"
is "a GPU of another model is not used" "$(FAKE_CUDA_OTHER=Toy device)" "Fake GPU"

# ---- which data sheet Hone uses
gpu() { # gpu MODEL COMMAND...: prints the data sheet of the run that COMMAND begins
    FAKE_CUDA_GPUS=1 FAKE_CUDA_NAME=$1 timeout 100 "$HONE" "${@:2}" --store gpu.db --skip-baselines >"$T/out" 2>"$T/err"
    python3 -c 'import json, sqlite3
print(json.loads(sqlite3.connect("gpu.db").execute("select config from run order by id desc").fetchone()[0])["gpu"])'
}
optimize="optimize vector_add --author exec:false"
is "hone optimize uses the data sheet of the GPU" "$(gpu "NVIDIA A100-SXM4-80GB" $optimize)" a100
is "hone optimize uses the data sheet that --gpu names" "$(gpu "NVIDIA A100-SXM4-80GB" $optimize --gpu l4)" l4
is "an L40S does not get the data sheet of an L4" "$(gpu "NVIDIA L40S" $optimize)" h200
err_has "a message says that there is no data sheet of the L40S" "Hone has no data sheet of 'NVIDIA L40S': the roofline is that of h200"
is "hone bench uses the data sheet of the GPU" "$(gpu "NVIDIA H100 PCIe" bench vector_add --author exec:false)" h100
echo "0000:00:00.0 $$ -1" >users
is "a GPU that another program uses is not used" "$(device)" "Fake GPU (GPU 1 of $host)"
err_has "a message names the process that uses the GPU" "GPU 0 is in use by process $$ ("
is "with HONE_SHARE_GPU, Hone uses a GPU that another program uses" "$(HONE_SHARE_GPU=1 device)" "Fake GPU (GPU 0 of $host)"
: >users
exec 9>hone-gpu-0.lock
flock 9
is "a GPU that another process of Hone uses is not used" "$(device)" "Fake GPU (GPU 1 of $host)"
done_testing
