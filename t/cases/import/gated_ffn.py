"""Weights, and a bias for one of two projections."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class GatedFFN(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.gate = nn.Linear(features, hidden)
        self.up = nn.Linear(features, hidden, bias=False)

    def forward(self, x):
        return F.silu(self.gate(x)) * self.up(x)


rows = 96
features = 64
hidden = 80


def get_inputs():
    return [torch.randn(rows, features)]


def get_init_inputs():
    return [features, hidden]
