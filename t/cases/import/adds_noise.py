import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        noise = torch.randn(x.shape, device=x.device)
        return x + 0.1 * noise


def get_inputs():
    return [torch.randn(64, 64)]
