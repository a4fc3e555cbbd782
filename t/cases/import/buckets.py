"""Places in sorted rows: fixed borders of a buffer, and a sorted row for each row of values."""
import torch
import torch.nn as nn


class Buckets(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("borders", torch.linspace(-2, 2, 9))

    def forward(self, x, rows):
        return torch.bucketize(x, self.borders), torch.searchsorted(rows, x, right=True, out_int32=True)


height, width, steps = 12, 20, 15


def get_inputs():
    return [torch.randn(height, width), torch.randn(height, steps).sort(-1).values]


def get_init_inputs():
    return []
