"""Datasets, loaders and batches: the classes that a program uses, on the functions of _library.py."""
import ctypes
import os
import threading

from ._library import HOPS, Options, library
from .array import Array

NODES, FEATURES, LABELS, ROW, COL, EDGES, LABELS_64 = range(7)
OUTPUTS = ("torch", "numpy", "dlpack")
NOT_YET = 2
WAIT_MS = 100  # how long the library waits before Python looks for Ctrl-C


class Dataset:
    """A dataset of hone-gnn on disk. memory is "read" (into memory), "map", or "auto"."""

    def __init__(self, path, memory="auto"):
        self._handle = None
        self._handle = library.check(library.data_open(os.fsencode(path), str(memory).encode()))
        self._close = library.data_close
        self.path = os.fspath(path)
        info = library.data_info(self._handle)
        self.num_nodes, self.num_edges, self.num_classes = info.nodes, info.edges, info.classes
        self.num_features = info.feature_dim

    def array(self, name):
        """offsets, neighbours, features, labels, train, valid or test, as an Array. Do not write to it."""
        return Array(library.data_tensor(self._open(), name.encode()), read_only=True)

    def close(self):
        """Closes the dataset. Loaders and arrays of it stay usable."""
        handle, self._handle = self._handle, None
        if handle:
            self._close(handle)

    def _open(self):
        if not self._handle:
            raise ValueError("the dataset is closed")
        return self._handle

    def __del__(self):
        self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return (f"hone_gnn.Dataset({self.path!r}, num_nodes={self.num_nodes}, num_edges={self.num_edges}, "
                f"num_features={self.num_features}, num_classes={self.num_classes})")


class Slot:
    """A slot of the loader with one batch. The library fills the slot again when this object and all
    arrays of the batch are gone."""

    def __init__(self, pointer, output, copy):
        self.pointer, self.output, self.copy = pointer, output, copy
        self._drop = library.batch_drop
        self.info = library.batch_info(pointer)

    def __del__(self):
        self._drop(self.pointer)

    def array(self, what, hop=0):
        a = Array(library.batch_tensor(self.pointer, what, hop))
        copy = self.copy and what not in (EDGES, LABELS_64)  # these two are copies already
        if self.output == "torch":
            return a.torch().clone() if copy else a.torch()
        if self.output == "numpy":
            return a.numpy().copy() if copy else a.numpy()
        return a


class Lazy:
    """An attribute that is computed when it is first read."""

    def __init__(self, compute):
        self.compute, self.name, self.__doc__ = compute, compute.__name__, compute.__doc__

    def __get__(self, owner, _):
        if owner is None:
            return self
        value = owner.__dict__[self.name] = self.compute(owner)
        return value


class Block:
    """The sampled edges of one layer. The layer reads num_src rows and writes num_dst rows.

    Row i of the result belongs to the same node as row i of the input.
    """

    def __init__(self, slot, hop):
        self._slot, self._hop = slot, hop
        self.num_src, self.num_dst = slot.info.n_nodes[hop + 1], slot.info.n_nodes[hop]
        self.num_edges = slot.info.n_edges[hop]

    @Lazy
    def indptr(self):
        """int32 [num_dst + 1]: the neighbours of target i are indices[indptr[i]:indptr[i + 1]]."""
        return self._slot.array(ROW, self._hop)

    @Lazy
    def indices(self):
        """int32 [num_edges]: rows of the input."""
        return self._slot.array(COL, self._hop)

    @Lazy
    def edge_index(self):
        """int64 [2, num_edges]: sources, then targets, as in PyTorch Geometric. A copy."""
        return self._slot.array(EDGES, self._hop)

    def __repr__(self):
        return f"hone_gnn.Block(num_src={self.num_src}, num_dst={self.num_dst}, num_edges={self.num_edges})"


class Batch:
    """One batch. The seed nodes are the first batch_size nodes.

    blocks has the layers in the order in which a model runs them. The arrays are views of a slot of the
    loader, unless the loader has copy=True. The slot stays in use while the batch or an array exists.
    """

    def __init__(self, slot, has_features, has_labels, copy):
        info = slot.info
        self._slot, self._has_features, self._has_labels = slot, has_features, has_labels
        self.batch_size, self.num_nodes = info.n_nodes[0], info.n_nodes[info.hops]
        self.epoch, self.index = info.epoch, info.index
        self.blocks = [Block(slot, hop) for hop in reversed(range(info.hops))]
        if copy:
            self._detach()

    def _detach(self):
        """Reads all arrays, which are copies, and gives the slot back."""
        self.n_id, self.x, self.y
        self._slot = None
        for b in self.blocks:
            b.indptr, b.indices, b.edge_index
            b._slot = None

    @Lazy
    def n_id(self):
        """int32 [num_nodes]: the nodes' numbers in the dataset."""
        return self._slot.array(NODES)

    @Lazy
    def x(self):
        """float16 or float32 [num_nodes, num_features]: features; None if there are none."""
        return self._slot.array(FEATURES) if self._has_features else None

    @Lazy
    def y(self):
        """int64 [batch_size]: classes of the seed nodes, -1 = unknown; None if there are none. A copy."""
        return self._slot.array(LABELS_64) if self._has_labels else None

    def digest(self):
        """A checksum of the batch. `hone-gnn sample --digest` prints the sum over an epoch, mod 2**64."""
        if not self._slot:
            raise ValueError("a batch of a loader with copy=True has no digest")
        return library.batch_digest(self._slot.pointer)

    def __repr__(self):
        return f"hone_gnn.Batch(index={self.index}, batch_size={self.batch_size}, blocks={self.blocks})"


def node_ids(nodes):
    """A ctypes array of int32 from a list, a range, a NumPy array or a tensor."""
    if hasattr(nodes, "dtype") and str(nodes.dtype) in ("bool", "torch.bool"):
        raise TypeError("input_nodes is a list of node numbers, not a mask; use mask.nonzero()")
    ids = [int(i) for i in (nodes.tolist() if hasattr(nodes, "tolist") else nodes)]
    if any(not -2**31 <= i < 2**31 for i in ids):
        raise ValueError("a node number in input_nodes does not fit 32 bits")
    return (ctypes.c_int32 * len(ids))(*ids)


def integer(name, value, low, high):
    if isinstance(value, bool) or int(value) != value or not low <= value <= high:
        raise ValueError(f"{name} is a whole number from {low} to {high}, not {value!r}")
    return int(value)


class NeighborLoader:
    """Iterates over the batches of an epoch; threads of the library prepare them.

    data           a Dataset, or the path of one
    num_neighbors  fanouts: neighbours of each node, hop by hop; -1 takes all
    batch_size     seed nodes of a batch
    input_nodes    seed nodes: "train", "valid", "test", or different node numbers
    shuffle        shuffle the seed nodes anew for each epoch
    seed           of the shuffle and the sampler; equal arguments give equal batches
    sampler        "uniform" (without replacement), "replace" or "labor"
    num_threads    threads that prepare batches
    slots          batches in memory: those in use and those that are being prepared
    in_order       False delivers batches as they are ready
    features       False leaves x and y out
    rank, ranks    this process's share of every batch, for data-parallel training
    output         arrays are "torch" tensors, "numpy" arrays or "dlpack" Arrays
    copy           give copies in place of views of slots

    Each `for` runs the epoch with the number `loader.epoch`, and adds 1 to this number. Batches do
    not depend on threads.
    """

    def __init__(self, data, num_neighbors, batch_size=1024, input_nodes="train", *, shuffle=True, seed=1,
                 sampler="uniform", num_threads=2, slots=4, in_order=True, features=True, rank=0, ranks=1,
                 output="torch", copy=False):
        self._handle = None
        self._lock = threading.Lock()  # guards the handle; only one thread at a time may wait for a batch
        self._pid = os.getpid()
        self._cancel, self._close = library.cancel, library.close
        self.data = data if isinstance(data, Dataset) else Dataset(data)
        self.epoch = 0
        self._run = 0  # counts epochs, so that an iterator knows whether its epoch still runs
        self._output, self._copy = self._check_output(output, copy), bool(copy)
        fanouts = [integer("a fanout in num_neighbors", k, -1, 2**31 - 1) for k in num_neighbors]
        if not 1 <= len(fanouts) <= HOPS:
            raise ValueError(f"num_neighbors has 1 to {HOPS} fanouts, not {len(fanouts)}")
        options = Options(size=ctypes.sizeof(Options), hops=len(fanouts),
                          batch_size=integer("batch_size", batch_size, 1, 2**31 - 1),
                          sampler=str(sampler).encode(), seed=integer("seed", seed, 0, 2**64 - 1),
                          threads=integer("num_threads", num_threads, 1, 256),
                          slots=integer("slots", slots, 1, 1024), rank=integer("rank", rank, 0, 2**31 - 1),
                          ranks=integer("ranks", ranks, 1, 2**31 - 1), shuffle=bool(shuffle),
                          as_ready=not in_order, no_features=not features)
        options.fanout[:len(fanouts)] = fanouts
        if isinstance(input_nodes, str):
            options.split = input_nodes.encode()
        else:
            ids = node_ids(input_nodes)
            options.ids, options.n_ids = ctypes.cast(ids, ctypes.c_void_p), len(ids)
        self._handle = library.check(library.open(self.data._open(), ctypes.byref(options)))
        self._length = library.batches(self._handle)
        info = library.data_info(self.data._open())
        self._has = (features and info.feature_dim > 0, features and info.labelled)

    @staticmethod
    def _check_output(output, copy):
        if output not in OUTPUTS:
            raise ValueError(f"output is one of {', '.join(OUTPUTS)}, not {output!r}")
        if output == "dlpack" and copy:
            raise ValueError('output="dlpack" gives views; copy them with the library that you use')
        if output != "dlpack":
            try:
                __import__(output)
            except ImportError as e:
                raise ImportError(f'{e}; give output="numpy" or output="dlpack" to do without') from e
        return output

    def __len__(self):
        """How many batches an epoch has."""
        return self._length

    def __iter__(self):
        epoch = self.epoch
        iterator = self.batches(epoch)
        self.epoch = epoch + 1
        return iterator

    def batches(self, epoch, first=0):
        """The batches of an epoch, from number `first` on. Ends the epoch that runs."""
        epoch, first = integer("epoch", epoch, 0, 2**32 - 1), integer("first", first, 0, 2**63 - 1)
        with self._mutex():
            library.check(library.start(self._open(), epoch, first))
            self._run += 1
            return Epoch(self, self._run)

    def close(self):
        """Ends the threads. Batches and arrays that you still have stay valid."""
        if self._handle:
            self._cancel(self._handle)  # a thread that waits for a batch gives up the lock
        with self._mutex():
            handle, self._handle = self._handle, None
        if handle:
            self._close(handle)

    def _mutex(self):
        """Returns the lock. In a forked process, the parent's lock may be locked for ever, so this returns
        a new one; there the library refuses all calls anyway."""
        return self._lock if os.getpid() == self._pid else threading.Lock()

    def _open(self):
        if not self._handle:
            raise ValueError("the loader is closed")
        return self._handle

    def _next(self, run):
        pointer = ctypes.c_void_p()
        with self._mutex():
            if run != self._run:
                raise RuntimeError("this iterator's epoch ended when the loader began another one")
            found = library.check(library.next(self._open(), WAIT_MS, ctypes.byref(pointer)))
        if found != 1:
            return found
        return Batch(Slot(pointer.value, self._output, self._copy), *self._has, self._copy)

    def __del__(self):
        if getattr(self, "_handle", None):
            self._close(self._handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __reduce__(self):
        raise TypeError("a NeighborLoader has threads and cannot go to another process; open one there")


class Epoch:
    """An iterator over the batches of one epoch."""

    def __init__(self, loader, run):
        self._loader, self._run = loader, run

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            batch = self._loader._next(self._run)
            if batch == 0:
                raise StopIteration
            if batch != NOT_YET:
                return batch
