"""usage: torch_steps.py DATA BEFORE.ckpt AFTER.ckpt

Repeats training steps of `hone-gnn train` in PyTorch and compares the result: reads the state of
BEFORE, does the steps that lie between the two checkpoints, and prints the largest difference of
weights and running statistics to AFTER, relative to the change that the steps made. The training
must have used all neighbours, two layers, one batch for each epoch and no dropout.
"""
import struct
import sys

import numpy as np
import torch

MODELS = ["sage", "gat", "gin", "sage-ri"]
HEAD = "<8sII7q2d10qq2Q128s5qd2q"


class Checkpoint:
    def __init__(self, path):
        with open(path, "rb") as f:
            text = f.read()
        h = struct.unpack_from(HEAD, text)
        self.kind, self.layers, self.features, self.hidden, self.classes, self.heads = h[3:9]
        self.lr = h[11]
        self.steps = h[28]
        n_weights, n_running = h[32:34]
        v = np.frombuffer(text[struct.calcsize(HEAD):-8], dtype=np.float32).astype(np.float64)
        self.weights, self.moment1, self.moment2 = v[:3 * n_weights].reshape(3, -1)
        self.running = v[3 * n_weights:]
        assert len(self.running) == n_running


def read(path, dtype):
    return np.fromfile(f"{path}.bin", dtype=dtype)


class Batch:
    """All neighbours of the training nodes, two hops deep."""

    def __init__(self, data, features):
        offset, neighbour = read(f"{data}/offsets", np.int64), read(f"{data}/neighbours", np.int32)
        level = [read(f"{data}/train", np.int32)]
        place = {int(v): i for i, v in enumerate(level[0])}
        self.hops = []
        nodes = list(place)
        for _ in range(2):
            dst, src = [], []
            for i, v in enumerate(list(nodes)):
                for u in neighbour[offset[v]:offset[v + 1]]:
                    u = int(u)
                    if u not in place:
                        place[u] = len(nodes)
                        nodes.append(u)
                    dst.append(i)
                    src.append(place[u])
            level.append(np.array(nodes))
            self.hops.append((torch.tensor(dst), torch.tensor(src)))
        self.rows = [len(v) for v in level]
        x = read(f"{data}/features", np.float16).reshape(-1, features)[level[2]]
        self.x = torch.tensor(x.astype(np.float64))
        self.label = torch.tensor(read(f"{data}/labels", np.int32)[level[0]].astype(np.int64))


class Weights:
    """Hands out the weights in the order in which gnn/model/models.c creates them."""

    def __init__(self, flat, running):
        self.flat, self.running, self.at, self.running_at = flat, running, 0, 0

    def take(self, rows, width):
        w = self.flat[self.at:self.at + rows * width].view(rows, width)
        self.at += (rows * width + 15) // 16 * 16
        return w

    def norm(self, x):
        width = x.shape[1]
        gain = self.take(2, width)
        r = self.running[self.running_at:self.running_at + 2 * width].view(2, width)
        self.running_at += 2 * width
        return torch.nn.functional.batch_norm(x, r[0], r[1], gain[0], gain[1], training=True)


def summed(x, hop, rows):
    return torch.zeros(rows, x.shape[1], dtype=x.dtype).index_add(0, hop[0], x[hop[1]])


def mean(x, hop, rows):
    count = torch.zeros(rows, dtype=x.dtype).index_add(0, hop[0], torch.ones_like(hop[0]).to(x.dtype))
    return summed(x, hop, rows) / count.clamp(min=1)[:, None]


def sage_conv(w, x, hop, rows, width):
    a, b = w.take(x.shape[1], width), w.take(x.shape[1], width)
    return mean(x, hop, rows) @ a + x[:rows] @ b


def gat_conv(w, x, hop, rows, heads, dim):
    z = (x @ w.take(x.shape[1], heads * dim)).view(-1, heads, dim)
    a_src = w.take(heads, dim)
    a_dst = w.take(heads, dim)
    keep = hop[0] != hop[1]
    own = torch.arange(rows)
    dst, src = torch.cat([hop[0][keep], own]), torch.cat([hop[1][keep], own])
    score = torch.nn.functional.leaky_relu((z * a_src).sum(-1)[src] + (z[:rows] * a_dst).sum(-1)[dst], 0.2)
    e = (score - score.max()).exp()
    total = torch.zeros(rows, heads, dtype=x.dtype).index_add(0, dst, e)
    weight = e / total[dst]
    out = torch.zeros(rows, heads, dim, dtype=x.dtype)
    return out.index_add(0, dst, weight[:, :, None] * z[src])


def logits(c, w, b):
    x, carry = b.x, [b.x]
    for layer in range(c.layers):
        hop, rows, last = b.hops[1 - layer], b.rows[1 - layer], layer == c.layers - 1
        if c.kind == 0:
            x = sage_conv(w, x, hop, rows, c.classes if last else c.hidden)
            x = x if last else x.relu()
        elif c.kind == 1:
            y = gat_conv(w, x, hop, rows, c.heads, c.classes if last else c.hidden // c.heads)
            x = y.mean(1) if last else y.flatten(1).relu()
        elif c.kind == 2:
            y = x[:rows] + summed(x, hop, rows)
            y = y @ w.take(x.shape[1], c.hidden) + w.take(1, c.hidden)
            y = w.norm(y).relu()
            x = (y @ w.take(c.hidden, c.hidden) + w.take(1, c.hidden)).relu()
        else:
            y = torch.nn.functional.leaky_relu(w.norm(sage_conv(w, x, hop, rows, c.hidden)), 0.01)
            own = x[:rows]
            if layer == 0:
                own = own @ w.take(x.shape[1], c.hidden) + w.take(1, c.hidden)
            x = y + own
        carry.append(x)
    if c.kind == 2:
        x = (x @ w.take(c.hidden, c.hidden) + w.take(1, c.hidden)).relu()
        x = x @ w.take(c.hidden, c.classes) + w.take(1, c.classes)
    elif c.kind == 3:
        side_by_side = torch.cat([v[:b.rows[0]] for v in carry], 1)
        inner = torch.cat([w.take(v.shape[1], 2 * c.classes) for v in carry])
        x = side_by_side @ inner + w.take(1, 2 * c.classes)
        x = x @ w.take(2 * c.classes, c.classes) + w.take(1, c.classes)
    return x


def main(data, before, after):
    c, end = Checkpoint(before), Checkpoint(after)
    batch = Batch(data, c.features)
    flat = torch.tensor(c.weights, requires_grad=True)
    running = torch.tensor(c.running)
    adam = torch.optim.Adam([flat], lr=c.lr)
    adam.state[flat] = {"step": torch.tensor(float(c.steps)), "exp_avg": torch.tensor(c.moment1),
                        "exp_avg_sq": torch.tensor(c.moment2)}
    for _ in range(end.steps - c.steps):
        adam.zero_grad()
        w = Weights(flat, running)
        torch.nn.functional.nll_loss(logits(c, w, batch).log_softmax(1), batch.label).backward()
        assert w.at == len(flat)
        adam.step()
    worst = 0
    for mine, theirs, old in [(flat.detach().numpy(), end.weights, c.weights),
                              (running.numpy(), end.running, c.running)]:
        if len(old):
            worst = max(worst, np.linalg.norm(mine - theirs) / np.linalg.norm(theirs - old))
    print(f"{MODELS[c.kind]} {end.steps - c.steps} steps: {worst:.3g}")


main(*sys.argv[1:])
