"""The loss of a language model: labels are a part of the tokens, whose bound is a number."""
import torch
import torch.nn.functional as F


def next_tokens(x, w, tokens):
    logits = (x @ w.t())[:, :-1]
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), tokens[:, 1:].reshape(-1))


def get_inputs():
    return [torch.randn(4, 16, 24), torch.randn(40, 24), torch.randint(0, 40, (4, 16))]
