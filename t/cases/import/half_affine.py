"""float16 inputs and parameters."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(channels).half() + 0.5)
        self.shift = nn.Parameter(torch.randn(channels).half())

    def forward(self, x, residual):
        return torch.relu(x * self.scale + self.shift) + residual


batch = 256
channels = 96


def get_inputs():
    return [torch.randn(batch, channels).half(), torch.randn(batch, channels).half()]


def get_init_inputs():
    return [channels]
