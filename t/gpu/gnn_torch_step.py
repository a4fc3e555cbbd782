"""The training step of `hone-gnn train -m sage` in PyTorch and in PyG, for t/gpu/gnn_papers.sh.

usage: gnn_torch_step.py DIR      DIR has batches that `hone-gnn sample --save DIR` wrote

Trains on these batches, one after the other, with all arrays in the GPU's memory. Prints the mean time of a step
(forward, backward, Adam; features gathered and converted from float16), without sampling.
"""
import os
import sys
import time

import numpy
import torch

hidden, classes, rounds = 256, 172, 5
gpu = torch.device("cuda")
torch.manual_seed(1)


class Batch:
    def __init__(self, folder):
        load = lambda name: torch.from_numpy(numpy.load(f"{folder}/{name}.npy")).to(gpu)
        self.feature, self.label = load("feature"), load("label").long()
        self.hop = [(load(f"row{h}").long(), load(f"col{h}").long()) for h in range(3)]
        # `table[ids]` gathers rows in random order, as a training step does from the table of all nodes.
        self.ids = torch.randperm(self.feature.shape[0], device=gpu)
        self.table = torch.empty_like(self.feature)
        self.table[self.ids] = self.feature
        # PyG takes edges as pairs (source, target).
        self.edges = [torch.stack([col, torch.repeat_interleave(torch.arange(row.shape[0] - 1, device=gpu), row.diff())])
                      for row, col in self.hop]


class Sage(torch.nn.Module):
    """With PyTorch alone."""

    def __init__(self, dim):
        super().__init__()
        widths = [dim, hidden, hidden, classes]
        self.a = torch.nn.ModuleList(torch.nn.Linear(i, o, bias=False) for i, o in zip(widths, widths[1:]))
        self.b = torch.nn.ModuleList(torch.nn.Linear(i, o, bias=False) for i, o in zip(widths, widths[1:]))

    def forward(self, x, batch):
        for layer in range(3):
            row, col = batch.hop[2 - layer]
            mean = torch.segment_reduce(x[col], "mean", offsets=row, axis=0)
            x = self.a[layer](mean) + self.b[layer](x[: row.shape[0] - 1])
            if layer < 2:
                x = torch.nn.functional.dropout(torch.relu(x), 0.5)
        return x


def pyg_sage(dim):
    from torch_geometric.nn import SAGEConv

    class PygSage(torch.nn.Module):
        def __init__(self):
            super().__init__()
            widths = [dim, hidden, hidden, classes]
            self.layers = torch.nn.ModuleList(SAGEConv(i, o, bias=False) for i, o in zip(widths, widths[1:]))

        def forward(self, x, batch):
            for layer, conv in enumerate(self.layers):
                targets = x[: batch.hop[2 - layer][0].shape[0] - 1]
                x = conv((x, targets), batch.edges[2 - layer])
                if layer < 2:
                    x = torch.nn.functional.dropout(torch.relu(x), 0.5)
            return x

    return PygSage()


def measure(model, batches, precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    model = model.to(gpu)
    adam = torch.optim.Adam(model.parameters(), lr=0.003)

    def epoch():
        for b in batches:
            adam.zero_grad(set_to_none=True)
            loss = torch.nn.functional.cross_entropy(model(b.table[b.ids].float(), b), b.label)
            loss.backward()
            adam.step()

    epoch()
    torch.cuda.synchronize()
    start = time.time()
    for _ in range(rounds):
        epoch()
    torch.cuda.synchronize()
    return (time.time() - start) / rounds / len(batches)


batches = [Batch(f"{sys.argv[1]}/{name}") for name in sorted(os.listdir(sys.argv[1]), key=int)]
dim, n = batches[0].feature.shape[1], len(batches)
nodes = [sum(b.hop[h][0].shape[0] - 1 for b in batches) / n for h in range(3)] + [sum(len(b.ids) for b in batches) / n]
edges = [sum(len(b.hop[h][1]) for b in batches) / n for h in range(3)]
print(f"  {n} batches; a batch: nodes {' '.join(f'{v:.0f}' for v in nodes)}, edges {' '.join(f'{v:.0f}' for v in edges)}")
for name in ("torch", "torch_geometric"):
    try:
        version = __import__(name).__version__
    except ImportError:
        print(f"  {name} is not installed")
        continue
    for precision in ("fp32", "tf32"):
        model = Sage(dim) if name == "torch" else pyg_sage(dim)
        print(f"  {name} {version}, {precision}: {1e3 * measure(model, batches, precision):.3f} ms a step")
