import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        y = x if self.last is None else x + self.last
        self.last = torch.tanh(y)
        return y


def get_inputs():
    return [torch.randn(64, 64)]
