import torch
import torch.nn as nn

rows = 64


class Appends(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append(x)
        return sum(self.seen)


def get_inputs():
    return [torch.randn(rows)]
