"""A BatchNorm in training mode: batch statistics, and new running statistics as outputs."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels, momentum=0.2)

    def forward(self, x):
        return torch.relu(self.norm(x))


batch, channels, height, width = 8, 16, 12, 12


def get_inputs():
    return [torch.rand(batch, channels, height, width)]


def get_init_inputs():
    return [channels]
