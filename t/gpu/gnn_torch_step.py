"""The training step of `hone-gnn train -m sage` in PyTorch, for t/gpu/gnn_papers.sh.

usage: gnn_torch_step.py RUN.json      RUN.json is what hone-gnn train --json printed

Makes a random batch with the mean sizes of the run's batches: nodes and edges of each hop. Prints the
time of a step (forward, backward, Adam) with features gathered and converted from float16, without
sampling.
"""
import json
import sys
import time

import torch

run = json.load(open(sys.argv[1]))
epoch = run["epochs"][-1]
count = epoch["batches"]
nodes = [v // count for v in epoch["hop_nodes"]]
edges = [v // count for v in epoch["hop_edges"]]
hops, dim, hidden, classes = len(edges), 128, 256, 172
gpu = torch.device("cuda")
torch.manual_seed(1)
table = torch.randn(20_000_000, dim, device=gpu).half()
ids = torch.randint(0, table.shape[0], (nodes[-1],), device=gpu)
labels = torch.randint(0, classes, (nodes[0],), device=gpu)
hop = []
for h in range(hops):
    row = torch.arange(nodes[h] + 1, device=gpu) * edges[h] // nodes[h]
    hop.append((row, torch.randint(0, nodes[h + 1], (int(row[-1]),), device=gpu)))


class Sage(torch.nn.Module):
    def __init__(self):
        super().__init__()
        widths = [dim] + [hidden] * (hops - 1) + [classes]
        self.a = torch.nn.ModuleList(torch.nn.Linear(i, o, bias=False) for i, o in zip(widths, widths[1:]))
        self.b = torch.nn.ModuleList(torch.nn.Linear(i, o, bias=False) for i, o in zip(widths, widths[1:]))

    def forward(self, x):
        for layer in range(hops):
            row, col = hop[hops - 1 - layer]
            targets = x[: row.shape[0] - 1]
            mean = torch.segment_reduce(x[col], "mean", offsets=row, axis=0)
            x = self.a[layer](mean) + self.b[layer](targets)
            if layer < hops - 1:
                x = torch.nn.functional.dropout(torch.relu(x), 0.5)
        return x


def measure(precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    model = Sage().to(gpu)
    adam = torch.optim.Adam(model.parameters(), lr=0.003)

    def step():
        adam.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(table[ids].float()), labels)
        loss.backward()
        adam.step()

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    start = time.time()
    for _ in range(30):
        step()
    torch.cuda.synchronize()
    return (time.time() - start) / 30


for precision in ("fp32", "tf32"):
    print(f"  PyTorch {torch.__version__}, {precision}: {1e3 * measure(precision):.3f} ms a step; a batch: nodes "
          f"{' '.join(map(str, nodes))}, edges {' '.join(map(str, edges))}")
