import torch

rows = 64


def positive(x):
    return x[torch.nonzero(x > 0).squeeze(1)]


def get_inputs():
    return [torch.randn(rows)]
