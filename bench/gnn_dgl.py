"""Runs DGL's sampler with one thread on a dataset of hone-gnn. Prints the sampled edges per CPU second.

usage: gnn_dgl.py DIR BATCH FANOUT,... SECONDS

The graph is in huge pages, as in hone-gnn. Its ids have 32 bits if the number of edges allows it.
"""
import json, mmap, os, sys, time
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["DGLBACKEND"] = "pytorch"
import numpy as np
import torch
torch.set_num_threads(1)
import dgl

folder, batch, fanouts, seconds = sys.argv[1], int(sys.argv[2]), [int(k) for k in sys.argv[3].split(",")], float(sys.argv[4])
manifest = json.load(open(f"{folder}/manifest.json"))
ids = np.int32 if manifest["edges"] < 2**31 else np.int64


def in_huge_pages(name, stored):
    data = np.fromfile(f"{folder}/{name}.bin", stored)
    memory = mmap.mmap(-1, max(data.size * ids().itemsize, 1))
    memory.madvise(mmap.MADV_HUGEPAGE)
    array = np.frombuffer(memory, ids, data.size)
    array[:] = data
    return torch.from_numpy(array)


# hone-gnn samples the neighbours in a node's row. DGL samples in-edges, which are in the columns. The graph is
# symmetric, so both sample from the same edges.
graph = dgl.graph(("csc", (in_huge_pages("offsets", np.int64), in_huge_pages("neighbours", np.int32), [])),
                  num_nodes=manifest["nodes"])
train = torch.from_numpy(np.fromfile(f"{folder}/train.bin", np.int32).astype(ids))
train = train[torch.randperm(len(train), generator=torch.Generator().manual_seed(1))]


def rate(fused):
    sampler = dgl.dataloading.NeighborSampler(fanouts[::-1], fused=fused)  # DGL lists the last hop first
    edges = spent = 0
    for i in range(10**9):
        seeds = train[i * batch % len(train):][:batch]
        start = time.process_time()
        blocks = sampler.sample_blocks(graph, seeds)[2]
        took = time.process_time() - start
        if i >= 2:  # the first batches warm up
            edges += sum(b.num_edges() for b in blocks)
            spent += took
        if spent > seconds:
            return edges / spent


# DGL has two paths on the CPU; the faster one counts.
rates = {fused: rate(fused) for fused in (True, False)}
print(f"{max(rates.values()):.0f} DGL {dgl.__version__}, fused {rates[True]:.0f}, not fused {rates[False]:.0f}")
