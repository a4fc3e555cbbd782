#!/usr/bin/env python3
"""usage: t/gpu/host_rows.py [GIB]

Measures how fast a GPU reads rows of 256 bytes from pinned host memory (GIB, default 16), in GB/s: with the kernels of
kernels/gnn/gather_split, for several numbers of blocks, orders of the rows and kinds of pages, beside one large copy.
If rows in order are as slow as random ones, the bus limits the number of requests. If only random ones are slow, the
translation of addresses does. Needs PyTorch 2.9 with CUDA.
"""
import mmap
import pathlib
import sys

import torch

ROW, COUNT = 256, 200_000
source = (pathlib.Path(__file__).parents[2] / "kernels/gnn/gather_split/kernel.cu").read_text()
gib = float(sys.argv[1]) if len(sys.argv) > 1 else 16
rows = int(gib * 2**30) // ROW
y = torch.empty(COUNT * ROW, dtype=torch.uint8, device="cuda")
missed = torch.tensor([COUNT], dtype=torch.int32, device="cuda")


def pinned():
    return torch.zeros(rows * ROW, dtype=torch.uint8, pin_memory=True)


def huge():
    area = mmap.mmap(-1, rows * ROW, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_HUGEPAGE)
    host = torch.frombuffer(area, dtype=torch.uint8)
    host.zero_()
    rc = torch.cuda.cudart().cudaHostRegister(host.data_ptr(), rows * ROW, 2)
    assert int(rc) == 0, f"cudaHostRegister: {rc}"
    return host


def rate(call, bytes):
    """The best of five, in GB/s."""
    best = 0.0
    for _ in range(5):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        best = max(best, bytes / begin.elapsed_time(end) / 1e6)
    return best


def orders():
    generator = torch.Generator().manual_seed(1)
    few = torch.randint(0, rows, (COUNT,), generator=generator)
    yield "in order", torch.arange(COUNT)
    yield "random", few
    yield "random, sorted", few.sort().values
    runs = torch.randint(0, rows - 512, (COUNT // 64 + 1, 1), generator=generator)
    yield "runs of 64 nearby rows", (runs + 4 * torch.arange(64)).flatten()[:COUNT]


compile = lambda name: torch.cuda._compile_kernel(source, name, compute_capability="90a")
kernels = {"fetch_rows": (compile("fetch_rows"), 32, 24576, ROW, (66, 132, 264, 1056)),
           "fetch8": (compile("fetch8"), 256, 0, ROW // 16, (33, 132, 528))}
for pages in (pinned, huge):
    try:
        host = pages()
    except Exception as e:
        print(f"{pages.__name__}: {e}")
        continue
    part = host[: 1 << 30]
    device = torch.empty_like(part, device="cuda")
    copied = rate(lambda: device.copy_(part, non_blocking=True), part.numel())
    print(f"{pages.__name__}: one copy of {part.numel() >> 20} MiB: {copied:.1f} GB/s")
    for order, ids in orders():
        to = torch.arange(COUNT, dtype=torch.int32)
        pairs = torch.stack([to, ids.to(torch.int32)], dim=1).contiguous().cuda()
        for name, (kernel, block, smem, last, blocks) in kernels.items():
            for n in blocks:
                args = [pairs, missed, host, y, last]
                got = rate(lambda: kernel((n, 1, 1), (block, 1, 1), args, smem), COUNT * ROW)
                print(f"{pages.__name__:8} {order:24} {name:12} {n:5} blocks: {got:6.1f} GB/s", flush=True)
    if pages is huge:
        torch.cuda.cudart().cudaHostUnregister(host.data_ptr())
    del host, part, device
