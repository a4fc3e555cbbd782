"""Times kernel variants on the GPU in one process, for rank.sh. This is faster than an evaluation of each.

    rank_time.py LIST OUT.tsv DIR       LIST has lines of file, task, workload, set, macros; DIR has the cubins

The plan in a variant's first comment says how to launch it. Inputs are random. Before every timed launch
the L2 is overwritten. The time of a variant is the median of its launches. A variant gets no
time if its output differs from that of the task's first variant.
"""
import ctypes
import json
import os
import re
import statistics
import sys

import torch

cuda = ctypes.CDLL("libcuda.so.1")
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def check(rc, what):
    if rc:
        raise RuntimeError(f"{what}: CUDA error {rc}")


def value(e, axes):
    return e if isinstance(e, int) else int(eval(e, {}, axes))


def task_tensors(task, workload):
    """Returns the axes, the tensors (with random elements; indices are within their range), and the first output."""
    t = json.load(open(f"{root}/tasks/{task}/task.json"))
    role, index = workload.split(":")
    axes = [w["axes"] for w in t["workloads"] if w["role"] == role][int(index)]
    tensors = {}
    for name, v in {**t["inputs"], **t["outputs"]}.items():
        shape, dtype = [value(d, axes) for d in v["shape"]], getattr(torch, v["dtype"])
        init = t["init"].get(name, {})
        if init.get("dist") == "int":
            lo, hi = value(init["min"], axes), value(init["max"], axes)
            tensors[name] = torch.randint(lo, hi + 1, shape, dtype=dtype, device="cuda")
        else:
            tensors[name] = torch.randn(shape, dtype=dtype, device="cuda")
    return axes, tensors, tensors[list(t["outputs"])[0]]


def signature(path):
    """Sizes of the kernel's parameters, from its text: pointers and long long 8, int 4."""
    text = re.search(r"__global__ void[^(]*(?:\([^)]*\)\s*)?\w*\s*\w+\(([^)]*)\)", open(path).read()).group(1)
    return [8 if "*" in p or "long long" in p else 4 for p in text.split(",")]


def main():
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    current = None
    out = open(sys.argv[2], "w")
    for line in open(sys.argv[1]):
        path, task, workload, kind, macros = line.rstrip("\n").split("\t")
        if (task, workload) != current:
            current = task, workload
            tensors = result = first = None
            torch.cuda.empty_cache()
            axes, tensors, result = task_tensors(task, workload)
        try:
            t = time_one(path, tensors, axes, flush, result)
            sample = result.flatten()[:: max(1, result.numel() // 65536)].clone()
            if first is None:
                first = sample
            elif not torch.allclose(sample.float(), first.float(), rtol=4e-3, atol=1e-3):
                t = "wrong result"
        except (RuntimeError, OSError) as e:
            t = str(e)
        out.write(f"{task}\t{kind}\t{macros}\t{t}\n")


def time_one(path, tensors, axes, flush, result):
    launch = json.loads(re.search(r"/\* hone-plan\n(.*?)\*/", open(path).read(), re.S).group(1))["launches"][0]
    env = dict(axes, cdiv=lambda a, b: -(-a // b))
    grid = [int(eval(g, {}, env)) for g in launch["grid"]] + [1, 1]
    block = list(launch["block"]) + [1, 1]
    module, fn = ctypes.c_void_p(), ctypes.c_void_p()
    name = os.path.splitext(os.path.basename(path))[0]
    code = open(os.path.join(sys.argv[3], name + ".cubin"), "rb").read()
    check(cuda.cuModuleLoadData(ctypes.byref(module), code), "load")
    check(cuda.cuModuleGetFunction(ctypes.byref(fn), module, launch["kernel"].encode()), "function")
    smem = int(launch["smem"])
    check(cuda.cuFuncSetAttribute(fn, 8, smem), "shared memory")
    values = []
    for arg, size in zip(launch["args"], signature(path)):
        v = tensors[arg].data_ptr() if arg in tensors else axes[arg]
        values.append(ctypes.c_uint64(v) if size == 8 else ctypes.c_int32(v))
    params = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    times = []
    result.fill_(float("nan"))
    for i in range(13):
        flush.fill_(i)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        check(cuda.cuLaunchKernel(fn, *grid[:3], *block[:3], smem, stream, params, None), "launch")
        end.record()
        torch.cuda.synchronize()
        if i >= 2:
            times.append(begin.elapsed_time(end) * 1e6)
    cuda.cuModuleUnload(module)
    return statistics.median(times)


main()
