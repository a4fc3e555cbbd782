"""A custom autograd.Function in a checkpoint, a hook that makes a weight, a product of int8, numbers that cancel."""
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class QuickGelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(1.702 * x)
        ctx.save_for_backward(x, s)
        ctx.scale = 1.702
        return x * s

    @staticmethod
    def backward(ctx, grad):
        x, s = ctx.saved_tensors
        return grad * (s + ctx.scale * x * s * (1 - s))


class OwnFunction(nn.Module):
    def __init__(self):
        super().__init__()
        self.normed = nn.utils.weight_norm(nn.Linear(width, depth))
        self.register_buffer("weight", torch.randint(-127, 128, (width, depth), dtype=torch.int8))

    def forward(self, x, q):
        y = checkpoint(QuickGelu.apply, x, use_reentrant=False)
        return self.normed(y), x - 0.35, torch._int_mm(q, self.weight)


height, width, depth = 24, 32, 16


def get_inputs():
    return [torch.randn(height, width), torch.randint(-128, 128, (height, width), dtype=torch.int8)]


def get_init_inputs():
    return []
