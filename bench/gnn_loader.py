"""Compares the Python package hone_gnn with DGL's DataLoader: both sample and slice on the same graph, in turns.

usage: gnn_loader.py DIR BATCH FANOUT,... SECONDS ROUNDS

Prints a row for each loader: the size of its batches, and batches and sampled edges per CPU second, as medians
over the rounds. Both use one thread. The CPU time is that of the whole process: sampling, slicing, Python. DGL
has two paths on the CPU. In DGL 1.1.3, the fused path gives much smaller batches from the second batch on. So do
not compare its rates with the others.
"""
import os
import statistics
import sys
import time
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["DGLBACKEND"] = "pytorch"
import torch
torch.set_num_threads(1)
import dgl
import hone_gnn

folder, batch, fanouts = sys.argv[1], int(sys.argv[2]), [int(k) for k in sys.argv[3].split(",")]
seconds, rounds = float(sys.argv[4]), int(sys.argv[5])

data = hone_gnn.Dataset(folder, memory="read")
arrays = {name: data.array(name).torch() for name in ("offsets", "neighbours", "features", "labels", "train")}
# hone-gnn samples the neighbours in a node's row. DGL samples in-edges, which are in the columns. The graph is
# symmetric, so both sample from the same edges.
ids = torch.int32 if data.num_edges < 2**31 else torch.int64
graph = dgl.graph(("csc", (arrays["offsets"].to(ids), arrays["neighbours"].to(ids), [])), num_nodes=data.num_nodes)
graph.ndata["x"], graph.ndata["y"] = arrays["features"], arrays["labels"]


def ours():
    with hone_gnn.NeighborLoader(data, fanouts, batch, num_threads=1) as loader:
        while True:
            for b in loader:
                yield sum(k.num_edges for k in b.blocks), b.x, b.y


def theirs(fused):
    # DGL lists the last hop first.
    sampler = dgl.dataloading.NeighborSampler(fanouts[::-1], prefetch_node_feats=["x"], prefetch_labels=["y"],
                                              fused=fused)
    loader = dgl.dataloading.DataLoader(graph, arrays["train"].to(ids), sampler, batch_size=batch, shuffle=True)
    while True:
        for _, _, blocks in loader:
            yield sum(k.num_edges() for k in blocks), blocks[0].srcdata["x"], blocks[-1].dstdata["y"]


def measure(batches):
    """Input nodes and edges of a batch, batches and edges per CPU second."""
    for _ in range(2):  # the first batches warm up
        next(batches)
    n = edges = rows = 0
    start = time.process_time()
    while time.process_time() - start < seconds:
        e, x, _ = next(batches)
        n, edges, rows = n + 1, edges + e, rows + x.shape[0]
    spent = time.process_time() - start
    batches.close()
    return rows / n, edges / n, n / spent, edges / spent / 1e6


loaders = {"hone_gnn": ours, "DGL": lambda: theirs(False), "DGL, fused": lambda: theirs(True)}
measured = {name: [] for name in loaders}
for _ in range(rounds):
    for name, make in loaders.items():
        measured[name].append(measure(make()))
print(f"{'DGL ' + dgl.__version__:12} {'input nodes':>12} {'edges':>12} {'batches/CPU s':>14} {'M edges/CPU s':>14}")
for name, rounds_of in measured.items():
    nodes, edges, batches, rate = (statistics.median(column) for column in zip(*rounds_of))
    print(f"{name:12} {nodes:12.0f} {edges:12.0f} {batches:14.2f} {rate:14.2f}")
