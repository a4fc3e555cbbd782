"""usage: python_train.py DATA EPOCHS

Trains a GraphSAGE that is written in PyTorch on batches of hone_gnn. Prints the accuracy on the
validation nodes in percent.
"""
import sys

import torch
from torch.nn.functional import cross_entropy, dropout, relu

import hone_gnn


class Layer(torch.nn.Module):
    """mean over the neighbours times A + own row times B"""

    def __init__(self, width_in, width_out):
        super().__init__()
        self.neighbours = torch.nn.Linear(width_in, width_out, bias=False)
        self.own = torch.nn.Linear(width_in, width_out)

    def forward(self, x, block):
        source, target = block.edge_index
        total = torch.zeros(block.num_dst, x.shape[1]).index_add(0, target, x[source])
        degree = block.indptr.diff().clamp(min=1)
        return self.neighbours(total / degree[:, None]) + self.own(x[:block.num_dst])


class GraphSAGE(torch.nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(features, hidden), Layer(hidden, classes)])

    def forward(self, batch):
        x = batch.x.float()
        for i, (layer, block) in enumerate(zip(self.layers, batch.blocks)):
            if i > 0:
                x = dropout(relu(x), 0.5, self.training)
            x = layer(x, block)
        return x


torch.manual_seed(1)
data = hone_gnn.Dataset(sys.argv[1])
train = hone_gnn.NeighborLoader(data, [10, 10], batch_size=512, input_nodes="train")
valid = hone_gnn.NeighborLoader(data, [20, 20], batch_size=512, input_nodes="valid", shuffle=False)
model = GraphSAGE(data.num_features, 64, data.num_classes)
adam = torch.optim.Adam(model.parameters(), lr=0.01)

for _ in range(int(sys.argv[2])):
    model.train()
    for batch in train:
        loss = cross_entropy(model(batch), batch.y, ignore_index=-1)
        adam.zero_grad()
        loss.backward()
        adam.step()
    print(f"epoch {train.epoch}: the last loss is {loss.item():.4f}", file=sys.stderr)

model.eval()
right = known = 0
with torch.no_grad():
    for batch in valid:
        right += (model(batch).argmax(1) == batch.y).sum().item()
        known += (batch.y >= 0).sum().item()
print(f"{100 * right / known:.2f}")
