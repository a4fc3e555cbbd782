"""Integer and bool inputs, and a tuple of an integer, a bool and a real output."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, codes, keep, price):
        odd = (codes & 1).bool() & keep
        total = torch.where(keep, codes * 3 - 7, torch.zeros_like(codes)).sum(dim=1)
        return total, odd, torch.where(odd, price, -price * 0.5)


rows, cols = 40, 24


def get_inputs():
    codes = torch.randint(-50, 50, (rows, cols), dtype=torch.int32)
    keep = torch.rand(rows, cols) > 0.3
    return [codes, keep, torch.randn(rows, cols)]
