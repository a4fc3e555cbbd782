import numpy as np
import torch

rows = 64


def sorted_rows(x):
    return torch.from_numpy(np.sort(x.numpy()))


def get_inputs():
    return [torch.randn(rows)]
