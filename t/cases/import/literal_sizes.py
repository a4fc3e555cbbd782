"""The sizes are literals in get_inputs()."""
import torch
import torch.nn as nn


class PairDistance(nn.Module):
    def forward(self, a, b):
        d = a[:, None, :] - b[None, :, :]
        return (d * d).sum(-1).clamp_min(1e-6).sqrt().amin(dim=1)


def get_inputs():
    return [torch.rand(40, 24), torch.rand(48, 24)]
