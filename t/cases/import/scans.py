"""Scans along different axes: a running sum, a running product, an exclusive sum."""
import torch
import torch.nn as nn


class Scans(nn.Module):
    def forward(self, x):
        decay = torch.cumprod(torch.sigmoid(x) * 0.5 + 0.75, dim=1)
        before = torch.cumsum(x, dim=1) - x
        return decay, before, x.flip(0).cumsum(0).flip(0)


rows, cols = 64, 48


def get_inputs():
    return [torch.randn(rows, cols)]
