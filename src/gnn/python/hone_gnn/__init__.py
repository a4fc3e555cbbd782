"""Sampled mini-batches of hone-gnn for PyTorch, NumPy and everything else that reads DLPack.

    import hone_gnn
    data = hone_gnn.Dataset("data/debian")
    for batch in hone_gnn.NeighborLoader(data, [15, 10], batch_size=1024, input_nodes="train"):
        h = batch.x.float()
        for layer, block in zip(layers, batch.blocks):
            h = layer(h, block)
        loss = cross_entropy(h, batch.y, ignore_index=-1)

docs/gnn-python.md describes the package. It needs Python 3.8 and libhone_gnn.so, and nothing else.
"""
from ._library import HoneGnnError
from .array import Array
from .loader import Batch, Block, Dataset, NeighborLoader

__all__ = ["Array", "Batch", "Block", "Dataset", "HoneGnnError", "NeighborLoader"]
