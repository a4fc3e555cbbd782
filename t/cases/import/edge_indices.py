"""Slices from the end, constant and negative indices, and an input that is not contiguous."""
import torch
import torch.nn as nn

rows, width = 24, 40


class EdgeIndices(nn.Module):
    def forward(self, x, at):
        tail = x[-10:, 2:-2:2]
        picked = x[:, [0, 5, -2]]
        before = x[at - 1]
        return tail, picked, before


def get_inputs():
    return [torch.randn(width, rows).t(), torch.randint(0, rows, (rows,))]


def get_init_inputs():
    return []
