"""usage: python_tensors.py DATA

Tests the tensors and NumPy arrays of the package hone_gnn. Prints "ok TEST" or "not ok TEST" for each.
"""
import gc
import sys
import threading

import numpy
import torch

import hone_gnn

data = hone_gnn.Dataset(sys.argv[1])
failures = 0


def loader(**options):
    return hone_gnn.NeighborLoader(data, [5, 3], 100, **options)


def check(name, right):
    global failures
    failures += not right
    print("ok" if right else "not ok", name)


def arrays(batch):
    yield from (batch.n_id, batch.x, batch.y)
    for block in batch.blocks:
        yield from (block.indptr, block.indices, block.edge_index)


tensors = [list(arrays(b)) for b in loader(copy=True)]
check("all batches can be kept as copies", len(tensors) == len(loader()))
batches = list(loader(copy=True, output="numpy"))
check("copied batches keep no slots in use", len(batches) == len(tensors))
same = all(torch.equal(t, torch.from_numpy(a)) for ts, b in zip(tensors, batches) for t, a in zip(ts, arrays(b)))
check("tensors and NumPy arrays have the same contents", same)
same = all(torch.equal(t, v) for ts, b in zip(tensors, loader()) for t, v in zip(ts, arrays(b)))
check("views and copies have the same contents", same)

labels = data.array("labels").numpy()
check("arrays of the data cannot be written", not labels.flags.writeable)
check("the classes of a batch are those of the dataset", all((b.y == labels[b.n_id[:b.batch_size]]).all() for b in batches))

with loader() as l:
    views = [next(iter(l)).x for _ in range(2)]
    check("views of one batch share nothing with those of another", views[0].data_ptr() != views[1].data_ptr())
    batch = next(iter(l))
    check("a tensor is a view of the batch's slot", batch.x.data_ptr() == batch._slot.array(hone_gnn.loader.FEATURES).data_ptr())
    kept = batch.x.clone()
    x = batch.x
    del batch, views
    for _ in range(3):
        for _ in l:
            pass
check("a view outlives epochs and the loader", torch.equal(x, kept))
part = x[3:5].T
del x, l
gc.collect()
check("a part of a view outlives the view and the loader", torch.equal(part, kept[3:5].T))

with loader(slots=3) as l:  # tensors die in other threads
    taken = 0
    for batch in l:
        thread = threading.Thread(target=lambda t: t.sum(), args=(batch.x,))
        thread.start()
        thread.join()
        taken += 1
    check("other threads may drop tensors", taken == len(l))

alive = next(iter(loader())).x  # at the end of the process
sys.exit(failures > 0)
