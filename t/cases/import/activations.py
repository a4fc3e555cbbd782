"""Activations that are modules: slopes from a parameter, slopes that are random in training only, halves that gate."""
import torch
import torch.nn as nn
import torch.nn.functional as F

batch, channels, length = 4, 6, 12


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.slopes = nn.PReLU(channels)
        self.random = nn.RReLU().eval()

    def forward(self, x):
        return F.glu(self.slopes(x), dim=1), self.random(x), F.celu(x) + F.logsigmoid(x), F.hardshrink(x)


def get_inputs():
    return [torch.randn(batch, channels, length)]


def get_init_inputs():
    return []
