"""libhone_gnn.so through ctypes; src/gnn/api/hone_gnn.h describes each function."""
import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from pathlib import Path

API = 1
HOPS = 8


class HoneGnnError(RuntimeError):
    """An error that libhone_gnn.so reports."""


class Tensor(ctypes.Structure):
    """struct hone_gnn_tensor: a DLManagedTensor of DLPack."""
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64), ("context", c_void_p),
                ("deleter", c_void_p)]


class DataInfo(ctypes.Structure):
    _fields_ = [("nodes", c_int64), ("edges", c_int64), ("classes", c_int64), ("feature_dim", c_int64),
                ("feature_bits", c_int32), ("labelled", c_int32)]


class Options(ctypes.Structure):
    _fields_ = [("size", c_int64), ("split", c_char_p), ("ids", c_void_p), ("n_ids", c_int64),
                ("batch_size", c_int64), ("sampler", c_char_p), ("fanout", c_int32 * HOPS), ("hops", c_int32),
                ("seed", c_uint64), ("threads", c_int32), ("slots", c_int32), ("rank", c_int32),
                ("ranks", c_int32), ("shuffle", c_int32), ("as_ready", c_int32), ("no_features", c_int32)]


class BatchInfo(ctypes.Structure):
    _fields_ = [("hops", c_int64), ("n_nodes", c_int64 * (HOPS + 1)), ("n_edges", c_int64 * HOPS),
                ("epoch", c_int64), ("index", c_int64)]


FUNCTIONS = {
    "api": (c_int, []),
    "error": (c_char_p, []),
    "tensor_keep": (c_void_p, [c_void_p]),
    "tensor_drop": (None, [c_void_p]),
    "data_open": (c_void_p, [c_char_p, c_char_p]),
    "data_info": (DataInfo, [c_void_p]),
    "data_tensor": (c_void_p, [c_void_p, c_char_p]),
    "data_close": (None, [c_void_p]),
    "open": (c_void_p, [c_void_p, POINTER(Options)]),
    "batches": (c_int64, [c_void_p]),
    "start": (c_int, [c_void_p, c_int64, c_int64]),
    "next": (c_int, [c_void_p, c_int64, POINTER(c_void_p)]),
    "cancel": (None, [c_void_p]),
    "close": (None, [c_void_p]),
    "batch_info": (BatchInfo, [c_void_p]),
    "batch_tensor": (c_void_p, [c_void_p, c_int, c_int]),
    "batch_digest": (c_uint64, [c_void_p]),
    "batch_drop": (None, [c_void_p]),
}


def places():
    """Where the library may be: HONE_GNN_LIBRARY, beside this file, PREFIX/lib, the source tree."""
    here = Path(__file__).resolve()
    if os.environ.get("HONE_GNN_LIBRARY"):
        return [Path(os.environ["HONE_GNN_LIBRARY"])]
    return [here.parent / "libhone_gnn.so"] + [here.parents[4] / d / "libhone_gnn.so" for d in ("lib", "build/release")]


class Library:
    """The functions of hone_gnn.h without the prefix: library.open is hone_gnn_open."""

    def __init__(self):
        path = next((p for p in places() if p.exists()), None)
        if path is None:
            raise ImportError("there is no libhone_gnn.so in " + ", ".join(str(p) for p in places()) +
                              "; run `make gnn-library`, or set HONE_GNN_LIBRARY to the file")
        dll = ctypes.CDLL(str(path))
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(dll, "hone_gnn_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        if self.api() != API:
            raise ImportError(f"{path} has version {self.api()} of the interface, this package needs {API}; "
                              "take both from one version of Hone")

    def check(self, result):
        """Raises the library's error if a function returned NULL or -1."""
        if result is None or result == -1:
            raise HoneGnnError(self.error().decode(errors="replace"))
        return result


library = Library()
