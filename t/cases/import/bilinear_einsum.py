"""torch.einsum over three operands."""
import torch
import torch.nn as nn


class Bilinear(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.form = nn.Parameter(torch.randn(features, features) / features)

    def forward(self, a, b):
        return torch.einsum("bik,kl,bjl->bij", a, self.form, b)


batch, length, features = 4, 40, 24


def get_inputs():
    return [torch.rand(batch, length, features), torch.rand(batch, length, features)]


def get_init_inputs():
    return [features]
