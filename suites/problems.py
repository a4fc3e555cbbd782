"""The problems of the built-in suites that are not built-in tasks. A line of a suite names a function
here, the dtypes and shapes of its arguments, and the sizes at which it is timed."""
import torch
import torch.nn.functional as F


# ---- products

def matmul(A, B):
    return torch.matmul(A, B)


def matmul_transposed_a(A, B):
    return torch.matmul(A.transpose(0, 1), B)


def matmul_transposed_b(A, B):
    return torch.matmul(A, B.transpose(0, 1))


def matmul_transposed_both(A, B):
    return torch.matmul(A.transpose(0, 1), B.transpose(0, 1))


def attention(query, key, value):
    return F.scaled_dot_product_attention(query, key, value)


# ---- activations

def relu(x):
    return torch.relu(x)


def leaky_relu(x):
    return F.leaky_relu(x, negative_slope=0.01)


def sigmoid(x):
    return torch.sigmoid(x)


def tanh(x):
    return torch.tanh(x)


def softmax(x):
    return torch.softmax(x, dim=1)


def log_softmax(x):
    return torch.log_softmax(x, dim=1)


def swish(x):
    return x * torch.sigmoid(x)


def gelu(x):
    return F.gelu(x)


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


def selu(x):
    return torch.selu(x)


def hard_sigmoid(x):
    return F.hardsigmoid(x)


def softplus(x):
    return F.softplus(x)


def softsign(x):
    return F.softsign(x)


def elu(x):
    return F.elu(x, alpha=1.0)


def hard_tanh(x):
    return F.hardtanh(x)


# ---- norms, reductions, losses

def batch_norm(x, mean, deviation, weight, bias):
    """Batch norm at inference, written out. The variance is a square, so that any data gives a valid variance."""
    scale = weight * torch.rsqrt(deviation * deviation + 1e-5)
    return (x - mean[:, None, None]) * scale[:, None, None] + bias[:, None, None]


def layer_norm(x, weight, bias):
    return F.layer_norm(x, weight.shape, weight, bias)


def max_dim1(x):
    return torch.amax(x, dim=1)


def min_dim1(x):
    return torch.amin(x, dim=1)


def triplet_margin_loss(anchor, positive, negative):
    return F.triplet_margin_loss(anchor, positive, negative, margin=1.0)


# ---- convolutions

def conv2d(x, weight):
    return F.conv2d(x, weight)


def conv2d_stride4(x, weight):
    return F.conv2d(x, weight, stride=4, padding=2)


def conv2d_dilated(x, weight):
    return F.conv2d(x, weight, padding=(2, 4), dilation=(2, 3))


def conv2d_depthwise(x, weight):
    return F.conv2d(x, weight, groups=8)


def conv3d(x, weight):
    return F.conv3d(x, weight)


def conv_transpose3d(x, weight):
    return F.conv_transpose3d(x, weight)


# ---- blocks of language and image models

def rotary(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return (x * cos + turned * sin).to(x.dtype)


def rotary_interleaved(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2).to(x.dtype)


def cross_entropy(logits, target):
    return F.cross_entropy(logits, target)


def group_norm_silu(x, weight, bias):
    return F.silu(F.group_norm(x, 32, weight, bias))


def mlp_gelu(x, up, up_bias, down, down_bias):
    return F.linear(F.gelu(F.linear(x, up, up_bias)), down, down_bias)


def mlp_gated(x, gate, up, down):
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def decoder_block(x, cos, sin, norm1, qkv, out, norm2, gate, up, down):
    """A layer of a language model: attention with a rotary embedding, and a gated MLP, each after an RMS norm."""
    def turned(t):
        a, b = t.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)

    h = F.linear(F.rms_norm(x, norm1.shape, norm1, 1e-6), qkv.flatten(0, 2))
    q, k, v = h.unflatten(-1, qkv.shape[:3]).permute(2, 0, 3, 1, 4).unbind(0)
    y = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
    x = x + F.linear(y.transpose(1, 2).flatten(2), out.flatten(1))
    return x + mlp_gated(F.rms_norm(x, norm2.shape, norm2, 1e-6), gate, up, down)
