"""An array in memory of libhone_gnn.so, which other libraries can use without a copy."""
import ctypes
from ctypes import c_char_p, c_int, c_void_p, py_object

from ._library import Tensor, library

TYPES = {(0, 32): ("int32", "i"), (0, 64): ("int64", "q"), (2, 32): ("float32", "f"), (2, 16): ("float16", "H")}
CPU = 1


def python_function(name, result, *arguments):
    """A function of Python's C interface. Other users of ctypes.pythonapi do not see these types."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


new_capsule = python_function("PyCapsule_New", py_object, c_void_p, c_char_p, c_void_p)
is_capsule = python_function("PyCapsule_IsValid", c_int, c_void_p, c_char_p)
capsule_pointer = python_function("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)
DLTENSOR = b"dltensor"  # a consumer renames the capsule: then the tensor belongs to the consumer


@ctypes.CFUNCTYPE(None, c_void_p)
def drop_unused(capsule):
    if is_capsule(capsule, DLTENSOR):
        library.tensor_drop(capsule_pointer(capsule, DLTENSOR))


class Array:
    """A view of memory, in row-major order.

    The memory stays valid as long as the array, or anything made from it, exists. `dtype` is the name
    of the type. torch.from_dlpack, numpy.asarray and other consumers of DLPack take an Array.
    """

    def __init__(self, pointer, read_only=False):
        """Owns `pointer`, a struct hone_gnn_tensor."""
        self._pointer = library.check(pointer)
        self._drop = library.tensor_drop  # at the end of the process, `library` may be gone before this object
        tensor = Tensor.from_address(pointer)
        self.shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        self.dtype, self._format = TYPES[tensor.code, tensor.bits]
        self.itemsize = tensor.bits // 8
        self._address = tensor.data
        self._read_only = read_only

    def __del__(self):
        if getattr(self, "_drop", None):
            self._drop(self._pointer)

    def __len__(self):
        return self.shape[0]

    @property
    def nbytes(self):
        size = self.itemsize
        for n in self.shape:
            size *= n
        return size

    def __dlpack_device__(self):
        return CPU, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            raise BufferError("hone_gnn gives views; copy the result")
        if dl_device is not None and tuple(dl_device) != (CPU, 0):
            raise BufferError("hone_gnn gives memory of the CPU; copy the result to the device")
        return new_capsule(library.tensor_keep(self._pointer), DLTENSOR, drop_unused)

    @property
    def __array_interface__(self):
        kind = {"i": "i", "f": "f"}[self.dtype[0]]
        return {"version": 3, "shape": self.shape, "typestr": f"<{kind}{self.itemsize}",
                "data": (self._address, self._read_only)}

    def memoryview(self):
        """A view that needs no other package. Float16 values come as their bits, in unsigned shorts."""
        if self.nbytes == 0:  # a memoryview cannot have shapes with 0 in them
            return memoryview(b"").cast(self._format)
        memory = (ctypes.c_char * self.nbytes).from_address(self._address)
        memory.owner = self
        return memoryview(memory).cast("B").cast(self._format, self.shape)

    def tolist(self):
        return self.memoryview().tolist()

    def numpy(self):
        import numpy
        return numpy.asarray(self)

    def torch(self):
        import torch
        return torch.from_dlpack(self)

    def __repr__(self):
        return f"hone_gnn.Array(shape={self.shape}, dtype={self.dtype})"
