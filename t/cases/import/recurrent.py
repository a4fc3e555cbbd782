"""An LSTM with its batch first, whose cell is a result too, and a GRU with its time first."""
import torch
import torch.nn as nn


class Recurrent(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden, batch_first=True)
        self.gru = nn.GRU(features, hidden)

    def forward(self, x):
        y, (_, cell) = self.lstm(x)
        z, _ = self.gru(x.transpose(0, 1))
        return y, cell[0], z


batch, seq, features, hidden = 4, 12, 8, 16


def get_inputs():
    return [torch.randn(batch, seq, features)]


def get_init_inputs():
    return [features, hidden]
