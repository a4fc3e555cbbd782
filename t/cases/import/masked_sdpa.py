"""F.scaled_dot_product_attention with a mask that is added."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MaskedAttention(nn.Module):
    def forward(self, q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


batch, num_heads, length, head_dim = 2, 4, 32, 16


def get_inputs():
    q, k, v = (torch.randn(batch, num_heads, length, head_dim) for _ in range(3))
    return [q, k, v, torch.randn(length, length)]


def get_init_inputs():
    return []
