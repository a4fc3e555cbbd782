"""A loss of PyTorch that looks at its data: it refuses negative variances."""
import torch
import torch.nn.functional as F


def checked(x, target, variance):
    return F.gaussian_nll_loss(x, target, variance)


def get_inputs():
    return [torch.randn(8, 16), torch.randn(8, 16), torch.rand(8, 16) + 0.5]
