import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        y = x * 2
        if y.sum() > 0:
            y = -y
        return y


def get_inputs():
    return [torch.randn(64, 64)]
