"""Several outputs in a dict, and buffers that are no parameters."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, cols, eps=1e-3):
        super().__init__()
        self.eps = eps
        self.register_buffer("offset", torch.linspace(-1.0, 1.0, cols))

    def forward(self, x):
        z = x - self.offset
        mean = z.mean(dim=-1)
        rstd = torch.rsqrt(z.var(dim=-1, unbiased=False) + self.eps)
        y = (z - mean[:, None]) * rstd[:, None]
        return {"y": y, "mean": mean, "rstd": rstd}


rows, cols = 256, 512


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return [cols]
