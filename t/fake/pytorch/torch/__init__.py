"""A stand-in for PyTorch: as much of it as t/task.sh and src/worker/torch_sidecar.py use."""
import ctypes
import struct
import types

__version__ = "0.fake"
uint8, float32, float64, int32 = "B", "f", "d", "i"
nn = types.SimpleNamespace(functional=types.SimpleNamespace())
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace())


def set_num_threads(n):
    pass


class device:
    def __init__(self, name):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *why):
        return None


def set_grad_enabled(on):
    pass


class Tensor:
    def __init__(self, dtype, values, shape):
        self.dtype, self.values, self.shape = dtype, list(values), list(shape)

    def view(self, dtype):
        raw = bytes(self.values)
        n = len(raw) // struct.calcsize(dtype)
        return Tensor(dtype, struct.unpack("%d%s" % (n, dtype), raw), [n])

    def reshape(self, *shape):
        shape = shape[0] if isinstance(shape[0], list) else list(shape)
        return Tensor(self.dtype, self.values, [len(self.values)] if shape == [-1] else shape)

    def is_floating_point(self):
        return self.dtype in "fd"

    def double(self):
        return self.to("d")

    def to(self, dtype):
        return Tensor(dtype, self.values, self.shape)

    def contiguous(self):
        return self

    def numel(self):
        return len(self.values)

    def data_ptr(self):
        self.memory = (ctypes.c_double * len(self.values))(*self.values)
        return ctypes.addressof(self.memory)

    def pairs(self, other):
        """Each element beside `other`, if that is a number, or beside the elements of the tensor `other` in turn."""
        values = other.values if isinstance(other, Tensor) else [other]
        return [(v, values[i % len(values)]) for i, v in enumerate(self.values)]

    def __add__(self, other):
        return Tensor(self.dtype, (a + b for a, b in self.pairs(other)), self.shape)

    def __mul__(self, other):
        return Tensor(self.dtype, (a * b for a, b in self.pairs(other)), self.shape)

    __rmul__ = __mul__


def frombuffer(raw, dtype):
    return Tensor(dtype, raw, [len(raw)])


def off_by_two(x):
    """Element 3 is wrong."""
    return Tensor(x.dtype, (v + 2 * (i == 3) for i, v in enumerate(x.values)), x.shape)


def needs_double(x):
    if x.dtype != "d":
        raise RuntimeError("expected double")
    return x
