#!/usr/bin/env python3
"""Measures the errors of one product of fp32 matrices on a GPU, for t/gpu/sgemm.sh, from the smallest size up.

    sgemm_errors.py FILE.py OP OUT.json     the op OP of a file that `hone export --as torch` wrote
    sgemm_errors.py cublas fp32|tf32 OUT.json

After each size it prints a line and adds the size to OUT.json. If a kernel hangs, this process hangs too, and
the caller must end it.
"""
import importlib.util
import json
import sys
import time

SIZES = [(128, 256), (512, 65536), (4096, 4096)]  # M = N, K


def load(path, op):
    import torch
    if path == "cublas":
        torch.backends.cuda.matmul.allow_tf32 = op == "tf32"
        return lambda a, b: a @ b
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, op)


def main(path, op, out):
    began = time.time()
    import torch
    product, done = load(path, op), {}
    torch.cuda.init()
    print(f"    {time.time() - began:6.1f} s  PyTorch and the op are loaded", flush=True)
    for n, k in SIZES:
        for draw in (torch.rand, torch.randn):
            torch.manual_seed(1)
            a, b = draw(n, k, device="cuda"), draw(k, n, device="cuda")
            c = product(a, b).double()
            torch.cuda.synchronize()
            tf32, torch.backends.cuda.matmul.allow_tf32 = torch.backends.cuda.matmul.allow_tf32, False
            truth, size = a.double() @ b.double(), a.double().abs() @ b.double().abs()
            torch.backends.cuda.matmul.allow_tf32 = tf32
            e = (c - truth) / size * 2.0**24
            name = f"{'uniform' if draw is torch.rand else 'normal'} {n} x {n} x {k}"
            done[name] = [e.square().mean().sqrt().item(), e.abs().max().item()]
            print(f"    {time.time() - began:6.1f} s  {name}: rms {done[name][0]:.3f}, "
                  f"max {done[name][1]:.3g}", flush=True)
            with open(out, "w") as f:
                json.dump(done, f)


if __name__ == "__main__":
    main(*sys.argv[1:])
