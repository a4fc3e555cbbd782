import torch
import torch.nn as nn


class Autocasts(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return self.linear(x)


rows, width = 64, 32


def get_inputs():
    return [torch.randn(rows, width)]


def get_init_inputs():
    return [width]
