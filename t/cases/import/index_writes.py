"""Sums at indices, one-hot rows, diagonals, distances, constants; an input has the name of an output."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class IndexWrites(nn.Module):
    def forward(self, x, y, at):
        sums = torch.zeros(bins, width).index_add(0, at, x)
        counts = torch.zeros(bins).scatter_add(0, at, torch.ones(rows))
        means = sums / counts.clamp(min=1)[:, None]
        blurred = F.conv1d(means[:, None], torch.tensor([[[0.25, 0.5, 0.25]]]), padding=1)[:, 0]
        blurred[:, 0] = 0
        distance = torch.cdist(x, y) + torch.diagonal(y @ y.T, 1).sum()
        return distance, blurred, torch.cummax(x, 1).values + F.one_hot(at, bins).sum(1, keepdim=True)


rows, others, width, bins = 40, 24, 32, 12


def get_inputs():
    return [torch.randn(rows, width), torch.randn(others, width), torch.randint(0, bins, (rows,))]


def get_init_inputs():
    return []
