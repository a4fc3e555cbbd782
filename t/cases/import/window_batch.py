"""A batch size that forward computes from the number of windows, as a float: int(B * 4 / 4.0)."""
import torch
from torch import nn


def windows_of(x, side):
    B, H, W = x.shape
    x = x.view(B, H // side, side, W // side, side)
    return x.permute(0, 1, 3, 2, 4).reshape(-1, side * side)


def image_of(windows, side, H, W):
    B = int(windows.shape[0] / (H * W / side / side))
    x = windows.view(B, H // side, W // side, side, side)
    return x.permute(0, 1, 3, 2, 4).reshape(B, H, W)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(16, 16)

    def forward(self, x):
        return x + image_of(self.mix(windows_of(x, 4)), 4, 8, 8)


batch_size = 6


def get_inputs():
    return [torch.randn(batch_size, 8, 8)]


def get_init_inputs():
    return []
