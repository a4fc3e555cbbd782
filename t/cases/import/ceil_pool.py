"""Pooling whose last windows hang over the edge (ceil_mode)."""
import torch
import torch.nn as nn


class CeilPool(nn.Module):
    def __init__(self):
        super().__init__()
        self.most = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.mean = nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=False)

    def forward(self, x):
        return self.most(x), self.mean(x)


batch, channels, height, width = 2, 8, 56, 60


def get_inputs():
    return [torch.randn(batch, channels, height, width)]
