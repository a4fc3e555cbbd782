"""Runs a PyTorch program in lock-step with hone-worker: one request line in, one reply line out.

Requests are JSON objects, one per line, on stdin:
    {"op": "load", "mode": MODE}
    {"op": "open", "source": TEXT, "mode": MODE, "weights": "NAME NAME..", "tf32": BOOL|"convs", "gpu": N}
    {"op": "case", "axes": {..}, "scalars": {..}, "buffers": [{"name","role","dtype","shape"}, ..]}
    {"op": "call", "timed": BOOL, "buffers": [{"handle": HEX, "offset": N}, ..]}
    {"op": "syntax", "source": TEXT}
Replies, on file descriptor 3: "ok", "ok NANOSECONDS", "ok TEXT", or "error TEXT".
MODE is a key of MODES, below. "weights" is for the mode frozen-weights only.

TEXT is a PyTorch expression over the input tensors, scalars and axes by name, or a module that
defines run(...). The program returns the output, or the outputs in order or by name. Buffers are the
worker's own device memory, opened by IPC handle: inputs are copied out of it, outputs into it.

`hone task check`, and a task whose reference is in Python, run the program without a GPU: "gpu" is
null, and a buffer is {"file": PATH}. An input's file holds its bytes; the call writes an output's file
as doubles. With "wide": true, float inputs are converted to float64 first, and casts to narrower
floats in the program give float64 too.
"""
import ast
import contextlib
import ctypes
import inspect
import json
import linecache
import math
import os
import sys
import time
import types
import typing


class Mode(typing.NamedTuple):
    """How the program runs. src/job/torch_variants.c has a contender for each mode."""
    compiled: bool = False
    benchmark: bool = True  # cudnn.benchmark, which PyTorch's default setting switches off
    tuning: typing.Optional[str] = None  # the mode of torch.compile
    tf32: bool = False  # products and convolutions in TF32, whatever the task allows
    frozen: bool = False  # the compiler takes the weights of the first call as constants
    layout: str = ""  # convert inputs to channels-last "before" the timed call, or in it ("timed")


MODES = {
    "eager": Mode(),
    "compile": Mode(compiled=True),
    "eager-default": Mode(benchmark=False),
    "compile-default": Mode(compiled=True, benchmark=False),
    "max-autotune": Mode(compiled=True, tuning="max-autotune-no-cudagraphs"),
    "high": Mode(compiled=True, tf32=True),
    "channels-last": Mode(compiled=True, layout="before"),
    "channels-last-timed": Mode(compiled=True, layout="timed"),
    "frozen-weights": Mode(compiled=True, frozen=True),
}


def mode_of(rq):
    """The request's mode. `hone task check` sends none."""
    name = rq.get("mode", "eager")
    if name not in MODES:
        raise ValueError("this sidecar has no mode '%s'" % name)
    return MODES[name]


def in_channels_last(tensors):
    """The tensors by name. Floats with four or five dimensions are copied into channels-last layout."""
    layouts = {4: torch.channels_last, 5: torch.channels_last_3d}
    return {name: t.contiguous(memory_format=layouts[t.dim()])
            if t.is_floating_point() and t.dim() in layouts else t for name, t in tensors.items()}


class IpcHandle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_char * 64)]


class View:
    """Device memory, described by the CUDA array interface."""

    def __init__(self, ptr, nbytes):
        self.__cuda_array_interface__ = {
            "shape": (nbytes,), "typestr": "|u1", "data": (ptr, False), "version": 3}


@contextlib.contextmanager
def keeping_double(own):
    """A scope in which new tensors are float64, and casts to narrower floats give float64.

    Constants that depend on the dtype (torch.finfo, the default eps of rms_norm) are those of `own`,
    the dtype in which the program computes outside of this scope.
    """
    from torch.utils._python_dispatch import TorchDispatchMode
    narrow = (torch.float16, torch.bfloat16, torch.float32)

    class KeepingDouble(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if kwargs.get("dtype") in narrow:
                kwargs["dtype"] = torch.float64
            return func(*args, **kwargs)

    plain, finfo, rms_norm = torch.get_default_dtype(), torch.finfo, torch.rms_norm
    eps = finfo(own).eps
    torch.set_default_dtype(torch.float64)
    torch.finfo = lambda t=own: finfo(own if t == torch.float64 else t)
    torch.rms_norm = lambda x, shape, weight=None, e=None: rms_norm(x, shape, weight, eps if e is None else e)
    try:
        with KeepingDouble():
            yield
    finally:
        torch.set_default_dtype(plain)
        torch.finfo, torch.rms_norm = finfo, rms_norm


class Sidecar:
    def __init__(self):
        self.on_cpu = False
        self.bases = {}
        self.case = None
        self.queue_s = 0.0005

    # ---- set-up

    @staticmethod
    def load(rq):
        """Imports PyTorch and leaves the GPU alone: another process may be timing there."""
        global torch
        import torch
        if mode_of(rq).compiled:
            import torch._dynamo
            import torch._inductor.compile_fx
            # The processes that compile Triton's kernels take seconds to start, so we start them now.
            with contextlib.suppress(ImportError, AttributeError):
                from torch._inductor.async_compile import AsyncCompile
                AsyncCompile.warm_pool()

    def open(self, rq):
        global torch
        import torch
        self.on_cpu = rq["gpu"] is None
        self.source, self.mode = rq["source"], mode_of(rq)
        self.weights = rq.get("weights", "").split()
        if self.on_cpu:
            torch.set_num_threads(1)
            torch.set_grad_enabled(False)
            self.set_up_mode()
            return "PyTorch %s" % torch.__version__
        torch.cuda.set_device(rq["gpu"])
        torch.backends.cuda.matmul.allow_tf32 = rq["tf32"] is True
        torch.backends.cudnn.allow_tf32 = bool(rq["tf32"])
        torch.set_grad_enabled(False)
        props = torch.cuda.get_device_properties(rq["gpu"])
        l2 = getattr(props, "L2_cache_size", 64 << 20)
        self.dirty = torch.zeros(2 * l2 // 4, dtype=torch.int32, device="cuda")
        self.clean = torch.zeros(2 * l2 // 4, dtype=torch.int32, device="cuda")
        self.clock_hz = getattr(props, "clock_rate", 1980000) * 1e3
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.set_up_mode()
        return "PyTorch %s, %s" % (torch.__version__, rq["mode"])

    def set_up_mode(self):
        global torch
        torch.backends.cudnn.benchmark = self.mode.benchmark
        if self.mode.tf32:
            torch.set_float32_matmul_precision("high")
            torch.backends.cudnn.allow_tf32 = True
        if self.mode.compiled:  # by default PyTorch compiles eight shapes and silently runs the ninth eagerly
            import torch._dynamo
            for limit in ("recompile_limit", "cache_size_limit", "accumulated_recompile_limit",
                          "accumulated_cache_size_limit"):
                if hasattr(torch._dynamo.config, limit):
                    setattr(torch._dynamo.config, limit, 1 << 20)
        if self.mode.frozen:
            import torch._inductor.config
            torch._inductor.config.freezing = True
        if self.mode.tuning:  # otherwise PyTorch prints a table of times for each product
            with contextlib.suppress(ImportError, AttributeError):
                import torch._inductor.select_algorithm
                torch._inductor.select_algorithm.PRINT_AUTOTUNE = False

    @staticmethod
    def syntax(rq):
        """Says whether the program is an expression or a module, without PyTorch."""
        try:
            ast.parse(rq["source"].strip(), mode="eval")
            return "expression"
        except SyntaxError as e:
            if not any(line.startswith("def run") for line in rq["source"].splitlines()):
                raise SyntaxError("%s (line %s, column %s)" % (e.msg, e.lineno, e.offset)) from e
        ast.parse(rq["source"])
        return "module"

    def function(self, names, sizes):
        """Returns the program as a function of keyword arguments. A module finds the case's sizes in SIZES."""
        space = {"torch": torch, "F": torch.nn.functional, "math": __import__("math"),
                 "SIZES": sizes, "__name__": "baseline"}
        try:
            ast.parse(self.source.strip(), mode="eval")
            text = "def run(%s):\n    return (%s)\n" % (", ".join(names), self.source.strip())
        except SyntaxError:
            text = self.source
        # torch.compile looks up the module of a class by its name.
        module = sys.modules["baseline"] = types.ModuleType("baseline")
        module.__dict__.update(space)
        space = module.__dict__
        # Triton and CuTe DSL read the source of their kernels, and find it only through linecache.
        linecache.cache["<baseline>"] = (len(text), None, text.splitlines(True), "<baseline>")
        with torch.device("cpu" if self.on_cpu else "cuda"):
            exec(compile(text, "<baseline>", "exec"), space)
        fn = space.get("run")
        if not callable(fn):
            raise NameError("the program has no function run(...)")
        wanted = self.parameters(fn, names)
        if self.mode.frozen:
            fn = self.freezing(fn, [n for n in self.weights if n in wanted])
        elif self.mode.compiled:
            fn = torch.compile(fn, dynamic=False, mode=self.mode.tuning)
        return lambda **kw: fn(**{k: kw[k] for k in wanted})

    @staticmethod
    def freezing(fn, names):
        """fn, compiled in its first call with the weights of that call as constants.

        The compiler prepares the weights once: it folds batch norms into convolutions, changes
        layouts and computes what depends on weights alone. Later calls do not read their weights.
        """

        class Frozen(torch.nn.Module):
            def __init__(self, weights):
                super().__init__()
                for i, t in enumerate(weights):
                    self.register_buffer("w%d" % i, t.clone())

            def forward(self, rest):
                return fn(**rest, **{n: getattr(self, "w%d" % i) for i, n in enumerate(names)})

        compiled = []

        def call(**tensors):
            weights = [tensors.pop(n) for n in names]
            if not compiled:
                compiled.append(torch.compile(Frozen(weights), dynamic=False, mode=None))
            return compiled[0](tensors)

        return call

    @staticmethod
    def parameters(fn, names):
        """The parameters of run() that the task has."""
        parameters = inspect.signature(fn).parameters.values()
        needed = [p.name for p in parameters if p.name not in names and p.default is p.empty
                  and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        if needed:
            raise TypeError("run() needs '%s', which the task does not have; it has %s" %
                            (needed[0], ", ".join(names)))
        return [p.name for p in parameters if p.name in names]

    def begin_case(self, rq):
        self.case = rq
        inputs = [b["name"] for b in rq["buffers"] if b["role"] in ("input", "inout")]
        fixed = dict(rq["axes"])
        fixed.update(rq["scalars"])
        for name in inputs:
            fixed.pop(name, None)
        fn = self.function(inputs + list(fixed), fixed)
        if self.mode.layout == "timed":
            self.call_fn = lambda tensors: fn(**in_channels_last(tensors), **fixed)
        else:
            self.call_fn = lambda tensors: fn(**tensors, **fixed)
        return None

    def prepared(self, tensors):
        """The inputs as the timed call gets them."""
        return in_channels_last(tensors) if self.mode.layout == "before" else tensors

    # ---- memory

    def view(self, where, buf):
        """The worker's buffer as a flat tensor of its dtype."""
        key = where["handle"]
        if key not in self.bases:
            ptr = ctypes.c_uint64()
            rc = self.driver.cuIpcOpenMemHandle_v2(
                ctypes.byref(ptr), IpcHandle.from_buffer_copy(bytes.fromhex(key)), 1)
            if rc != 0:
                raise RuntimeError("cuIpcOpenMemHandle: error %d" % rc)
            self.bases[key] = ptr.value
        dtype = getattr(torch, buf["dtype"])
        n = 1
        for d in buf["shape"]:
            n *= d
        size = torch.empty(0, dtype=dtype).element_size()
        if n == 0:
            return torch.empty(0, dtype=torch.uint8, device="cuda"), dtype
        ptr = self.bases[key] + where["offset"]
        return torch.as_tensor(View(ptr, n * size), device="cuda"), dtype

    def take(self, where, buf):
        raw, dtype = self.view(where, buf)
        return raw.clone().view(dtype).reshape(buf["shape"])

    def give(self, where, buf, value):
        raw, dtype = self.view(where, buf)
        flat = value.to(dtype).contiguous().reshape(-1).view(torch.uint8)
        self.check_size(buf, value, flat.numel(), raw.numel())
        raw.copy_(flat)

    # ---- one call

    def measure(self, tensors):
        self.dirty.fill_(1)
        self.clean.max()
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        # The stream sleeps while the host queues the call, so that host time is not measured. It
        # sleeps at least as long as a candidate waits after the flush (REST_NS in
        # src/device/cuda_run.c).
        torch.cuda._sleep(int(self.clock_hz * min(max(3 * self.queue_s, 0.0005), 0.05)))
        begin.record()
        t = time.perf_counter()
        out = self.call_fn(tensors)
        self.queue_s = 0.8 * self.queue_s + 0.2 * (time.perf_counter() - t)
        end.record()
        end.synchronize()
        return out, begin.elapsed_time(end) * 1e6

    def warm_up(self, tensors):
        """Makes two calls. The first one compiles; the second one shows how long the host takes to queue a call.

        Then the process keeps only as much memory as one call needs: other contenders need some too.
        """
        self.call_fn({k: v.clone() for k, v in tensors.items()})
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        t = time.perf_counter()
        out = self.call_fn(tensors)
        self.queue_s = time.perf_counter() - t
        return out

    def call_on_cpu(self, rq):
        pairs = list(zip(rq["buffers"], self.case["buffers"]))
        tensors = {}
        for where, buf in pairs:
            if buf["role"] == "output":
                continue
            with open(where["file"], "rb") as f:
                raw = torch.frombuffer(bytearray(f.read()), dtype=torch.uint8)
            value = raw.view(getattr(torch, buf["dtype"])).reshape(buf["shape"])
            wide = rq["wide"] and value.is_floating_point()
            tensors[buf["name"]] = value.double() if wide else value
        own = torch.float64 if any(buf["dtype"] == "float64" for _, buf in pairs) else torch.float32
        with keeping_double(own) if rq["wide"] else contextlib.nullcontext():
            out = self.call_fn(self.prepared(tensors))
        for (where, buf), value in self.outputs(pairs, out):
            flat = value.to(torch.float64).contiguous().reshape(-1)
            self.check_size(buf, value, flat.numel(), math.prod(buf["shape"]))
            with open(where["file"], "wb") as f:
                f.write(ctypes.string_at(flat.data_ptr(), 8 * flat.numel()))

    @staticmethod
    def check_size(buf, value, n, expected):
        if n != expected:
            raise RuntimeError("'%s' has shape %s, %s was expected" %
                               (buf["name"], list(value.shape), buf["shape"]))

    @staticmethod
    def outputs(pairs, out):
        outputs = [p for p in pairs if p[1]["role"] != "input"]
        if isinstance(out, dict):
            missing = [buf["name"] for _, buf in outputs if buf["name"] not in out]
            if missing:
                raise KeyError("the dictionary that run() returned has no '%s'" % missing[0])
            out = [out[buf["name"]] for _, buf in outputs]
        values = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(values) != len(outputs):
            raise RuntimeError("%d outputs, %d were expected" % (len(values), len(outputs)))
        for (_, buf), value in zip(outputs, values):
            if not isinstance(value, torch.Tensor):
                raise TypeError("'%s' has type %s; a tensor was expected" %
                                (buf["name"], type(value).__name__))
        return zip(outputs, values)

    def call(self, rq):
        if self.on_cpu:
            return self.call_on_cpu(rq)
        buffers = [b for b in self.case["buffers"] if b["role"] != "workspace"]
        pairs = list(zip(rq["buffers"], buffers))
        tensors = self.prepared({b["name"]: self.take(w, b) for w, b in pairs if b["role"] != "output"})
        if rq["timed"]:
            out, ns = self.measure(tensors)
        else:
            out, ns = self.warm_up(tensors), None
        for (w, b), v in self.outputs(pairs, out):
            self.give(w, b, v)
        torch.cuda.synchronize()
        return None if ns is None else "%.1f" % ns


def main():
    reply = os.fdopen(3, "w", buffering=1)
    sidecar = Sidecar()
    ops = {"load": sidecar.load, "open": sidecar.open, "case": sidecar.begin_case, "call": sidecar.call,
           "syntax": sidecar.syntax}
    for line in sys.stdin:
        try:
            rq = json.loads(line)
            answer = ops[rq["op"]](rq)
            reply.write("ok %s\n" % answer if answer else "ok\n")
        except BaseException as e:  # the worker reports a baseline that fails
            text = " ".join(("%s: %s" % (type(e).__name__, e)).split())
            reply.write("error %s\n" % text[:900])
        reply.flush()


main()
