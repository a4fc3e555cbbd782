"""Checks exported operators with PyTorch for the CPU: shapes, errors, gradients, torch.compile, and the launches on
the fake driver. usage: check_torch.py DIR   (DIR has rowmix_op.py, softmax_op.py, ...)"""

import ctypes
import importlib
import importlib.util
import os
import sys
import warnings

import torch

warnings.filterwarnings("ignore", message="Warning only once")
sys.path.insert(0, sys.argv[1])
softmax, layernorm, rmsnorm, silu, matmul, rowmix, wide = (
    importlib.import_module(n + "_op")
    for n in ("softmax", "layernorm", "fused_add_rmsnorm", "silu_and_mul", "matmul_f16", "rowmix", "wide"))
count = 0


def ok(what, good, detail=""):
    if not good:
        sys.exit(f"not ok: {what}: {detail}")
    print("ok", what)


def raises(what, call, *words):
    try:
        call()
    except Exception as e:  # noqa: BLE001
        missing = [w for w in words if w not in str(e)]
        ok(what, not missing, f"{missing} not in: {e}")
        return
    ok(what, False, "nothing was raised")


def on_cpu(module, function):
    """The kernel cannot run here: eager PyTorch takes its place."""
    name = module._operator.name().split("::")[1]
    library = torch.library.Library("hone", "IMPL")
    library.impl(name, function, "CPU", allow_override=True)
    return library


# ---- errors
x = torch.randn(3, 5)
raises("a tensor on the CPU is refused", lambda: softmax.softmax(x), "softmax: a tensor is on cpu", "CUDA devices only")
fake = torch._subclasses.FakeTensorMode()
meta = lambda *s, dtype=torch.float32: torch.empty(*s, dtype=dtype, device="meta")
raises("a tensor with a wrong dtype is refused", lambda: softmax.softmax(meta(2, 3, dtype=torch.float64)), "x has dtype torch.float64",
       "must be torch.float32")
raises("a tensor with a wrong rank is refused", lambda: softmax.softmax(meta(3)), "x has shape (3,)", "float32[R, C]")
raises("an empty tensor is refused", lambda: softmax.softmax(meta(0, 3)), "R is 0; it must be 1 to 2147483647")
raises("tensors whose sizes do not agree are refused", lambda: layernorm.layernorm(x.to("meta"), meta(5), meta(4)),
       "b has shape (4,)", "dimension 0 must be C = 5")
raises("a size that no axis can give is refused", lambda: silu.silu_and_mul(meta(2, 5, dtype=torch.half)), "2*D = 4")
raises("a call that breaks a constraint of the task is refused", lambda: rowmix.rowmix(meta(3, 14), meta(7)), "R is 3, C is 7",
       "R % 2 == 0 || C != 7")
raises("a fake tensor that needs more shared memory than a GPU has is refused",
       lambda: wide.rowmix(meta(2, 400000), meta(200000)), "C is 200000",
       "these sizes need 800000 bytes of shared memory; the GPU allows 232448")
ok("a fake tensor that needs less is accepted", wide.rowmix(meta(2, 100000), meta(50000))[0].shape == (2, 50000))
y = softmax.softmax(meta(7, 9))
ok("the fake kernel gives shape and dtype", y.shape == (7, 9) and y.dtype == torch.float32 and y.is_meta)
out, total = rowmix.rowmix(meta(4, 16), meta(8))
ok("the fake kernel gives the shape of every output", out.shape == (4, 8) and total.shape == (4,))
ok("VERDICT says whether the kernel is verified", rowmix.VERDICT["verified"] and not softmax.VERDICT["verified"]
   and rowmix.VERDICT["axes"]["G"]["largest"] == 2)

# ---- gradients and torch.compile, with eager PyTorch in place of the kernel
keep = [on_cpu(softmax, softmax.reference), on_cpu(layernorm, layernorm.reference), on_cpu(silu, silu.reference),
        on_cpu(rmsnorm, lambda x, r, w: (r.add_(x), x.copy_(r * w), None)[-1]),
        on_cpu(rowmix, lambda i, s: (i[:, :i.shape[1] // 2] * s, i.sum(1)))]


def grads(f, *args):
    args = [a.clone().requires_grad_() for a in args]
    f(*args).sin().sum().backward()
    return [a.grad for a in args]


w, b = torch.randn(5), torch.randn(5)
same = lambda p, q: all(torch.allclose(g, h, atol=1e-6) for g, h in zip(p, q))
ok("the gradient of softmax is PyTorch's", same(grads(softmax.softmax, x), grads(lambda x: torch.softmax(x, -1), x)))
ok("the gradient of every input of layernorm is PyTorch's", same(grads(layernorm.layernorm, x, w, b),
                          grads(lambda x, w, b: torch.nn.functional.layer_norm(x, (5,), w, b, 1e-5), x, w, b)))


def second(f):
    z = x.clone().requires_grad_()
    g, = torch.autograd.grad(f(z).sin().sum(), z, create_graph=True)
    return torch.autograd.grad(g.pow(2).sum(), z)


ok("softmax has a second derivative", same(second(softmax.softmax), second(lambda x: torch.softmax(x, -1))))
z = torch.randn(4, 16, requires_grad=True)
raises("an operator without a gradient raises in backward()", lambda: rowmix.rowmix(z, torch.randn(8))[0].sum().backward(),
       "rowmix: the export has no gradient")
h = [torch.randn(2, 4).half(), torch.randn(2, 4).half(), torch.randn(4).half()]
raises("an operator that works in place refuses tensors that need a gradient",
       lambda: rmsnorm.fused_add_rmsnorm(h[0].clone().requires_grad_(), h[1], h[2]), "updates tensors in place")
for name, operator, args in (("softmax", softmax._operator, (x.clone().requires_grad_(),)),
                             ("layernorm", layernorm._operator, (x.clone().requires_grad_(), w, b)),
                             ("fused_add_rmsnorm", rmsnorm._operator, tuple(h))):
    result = torch.library.opcheck(operator, args)
    ok(f"{name} passes torch.library.opcheck", set(result.values()) == {"SUCCESS"}, result)
f = torch.compile(lambda x, w, b: layernorm.layernorm(softmax.softmax(x) * 2, w, b).relu(), backend="aot_eager",
                  fullgraph=True)
g = lambda x, w, b: torch.nn.functional.layer_norm(torch.softmax(x, -1) * 2, (5,), w, b, 1e-5).relu()
ok("torch.compile takes two operators as one graph", torch.allclose(f(x, w, b), g(x, w, b), atol=1e-6))
ok("the compiled operators have gradients", same(grads(f, x, w, b), grads(g, x, w, b)))
f = torch.compile(softmax.softmax, backend="aot_eager", fullgraph=True, dynamic=True)
ok("a compiled operator accepts sizes that change", f(torch.randn(7, 9)).shape == (7, 9) and f(torch.randn(4, 6)).shape == (4, 6))
spec = importlib.util.spec_from_file_location("again", os.path.join(sys.argv[1], "softmax_op.py"))
again = importlib.util.module_from_spec(spec)
spec.loader.exec_module(again)
ok("a second copy of the file can be loaded", torch.equal(again.softmax(x), softmax.softmax(x)))

# ---- a gradient that is a kernel
bound = importlib.import_module("softmax_grad_op")
keep += [on_cpu(bound, lambda x: torch.softmax(x, -1))]
backward = [n for n in dir(torch.ops.hone) if n.startswith("softmax_grad_")]
calls = []


def softmax_backward(y, g):
    calls.append(1)
    return y * (g - (y * g).sum(-1, keepdim=True))


library = torch.library.Library("hone", "IMPL")
library.impl(backward[0], softmax_backward, "CPU", allow_override=True)
ok("the gradient comes from the backward kernel", same(grads(bound.softmax, x), grads(lambda x: torch.softmax(x, -1), x))
   and len(calls) == 1)
f = torch.compile(bound.softmax, backend="aot_eager", fullgraph=True)
ok("in torch.compile the gradient comes from the backward kernel", same(grads(f, x), grads(lambda x: torch.softmax(x, -1), x)) and len(calls) == 2)
raises("a backward kernel has no second derivative", lambda: second(bound.softmax), "cannot be differentiated again")

# ---- a task that was imported from a module
affine = importlib.import_module("affine_op")
keep += [on_cpu(affine, affine.reference)]
Original = affine._reference_space({"B": 4, "C": 8}, "cpu")["Model"]
torch.manual_seed(42)
original = Original(8)
torch.manual_seed(42)
model = affine.Model(8)
ok("the module makes the parameters of the original", all(
    torch.equal(p, q) for p, q in zip(original.state_dict().values(), model.state_dict().values())))
other = Original(8)
model.load_state_dict(other.state_dict())
z = torch.randn(3, 8)
ok("the module loads the state_dict of the original, and forward uses it", torch.equal(model(z), other(z)))
ok("buffers that forward changes are updated", torch.equal(model.last, other.last) and model.last.abs().sum() > 0)
before = torch.random.get_rng_state()
affine._reference_spaces.clear()
affine.reference(z, model.last, model.norm.scale, model.norm.shift)
ok("the module does not change the random state", torch.equal(before, torch.random.get_rng_state()))
for m in (model, other):
    m.zero_grad()
    m(z).sin().sum().backward()
ok("gradients reach the parameters of the module", torch.allclose(model.norm.scale.grad, other.norm.scale.grad))
step = torch.compile(model, backend="aot_eager", fullgraph=True)
model.zero_grad()
step(z).sin().sum().backward()
ok("in torch.compile gradients reach the parameters of the module", torch.allclose(model.norm.scale.grad, other.norm.scale.grad))

# ---- launches, on the fake driver: its device memory is host memory
log = os.environ["FAKE_CUDA_LOG"]


def launch(module, kernel, tensors, sizes, align=256):
    module._current_stream = lambda device: 7
    cuda, handle = module._cuda(), ctypes.c_void_p()
    cuda.check(cuda.cuModuleLoadData(ctypes.byref(handle), kernel.code()[0]), "loading")
    functions = {}
    for name in kernel.kernels:
        functions[name] = ctypes.c_void_p()
        cuda.check(cuda.cuModuleGetFunction(ctypes.byref(functions[name]), handle, name.encode()), name)
    known = {name: align for name in kernel.tensors}
    plan = module._Plan({n: t.numel() * t.element_size() for n, t in zip(kernel.tensors, tensors)}, known)
    kernel.plan(plan, known, *sizes)
    call = module._Call(cuda, functions, plan)
    real, torch.empty = torch.empty, lambda n, dtype, device: real(n, dtype=dtype)
    open(log, "w").close()
    try:
        call.queue([t.data_ptr() for t in tensors], 0)
    finally:
        torch.empty = real
    return [line.strip() for line in open(log)]


half = lambda *s: torch.zeros(*s, dtype=torch.half)
lines = launch(matmul, matmul._matmul_f16, (half(512, 64), half(304, 64), half(512, 304)), (512, 304, 64))
ok("tensor maps are encoded and the cluster is set", [l for l in lines if "Launch" in l] == [
    "cuLaunchKernelEx gemm 8,1,1 384,1,1 196736 attributes 1: 4 2,1,1"] and sum("TensorMap" in l for l in lines) == 3,
   lines)
lines = launch(matmul, matmul._matmul_f16, (half(512, 64), half(304, 64), half(512, 304)), (512, 304, 64), align=2)
ok("addresses without the alignment of TMA take the simple kernel", ["gemm_simple" in l for l in lines] == [True], lines)
lines = launch(rowmix, rowmix._rowmix, (torch.zeros(4, 256), torch.zeros(128), torch.zeros(4, 128), torch.zeros(4)),
               (4, 128, 2, 3))
ok("the launches of rowmix are those of the C export", lines == [
    "cuMemsetD8Async 0 32", "cuLaunchKernelEx mix4 1,4,1 64,1,1 0 attributes 0: 0 0,0,0",
    "cuLaunchKernelEx sums 8,1,1 128,1,1 512 attributes 1: 4 2,1,1",
    "cuLaunchKernelEx finish 1,1,1 64,1,1 0 attributes 1: 2 1,0,0"], lines)
raises("a tensor map that reaches beyond its tensor is refused", lambda: launch(
    matmul, matmul._matmul_f16, (half(512, 64), half(304, 64), half(512, 304)), (512, 400, 64)), "reaches beyond B")
raises("a grid that the GPU does not allow is refused", lambda: launch(
    rowmix, rowmix._rowmix, (torch.zeros(4), torch.zeros(4), torch.zeros(4), torch.zeros(4)), (70000, 8, 2, 3)),
    "grid", "65535")

# ---- the whole path of a call, with the parts of PyTorch that need a GPU replaced


class OnGpu:
    """A CPU tensor that says it is on GPU 0."""

    def __init__(self, tensor, gpu=0):
        self.tensor, self.gpu, self.device = tensor, gpu, f"cuda:{gpu}"

    def get_device(self):
        return self.gpu

    def __getattr__(self, name):
        return getattr(self.tensor, name)


def with_gpu(capability, call):
    real = torch.empty, torch.cuda.device, torch.cuda.get_device_capability, getattr(torch._C, "_cuda_getDevice", None)
    torch.empty = lambda *s, dtype=torch.float32, device=None: real[0](*s, dtype=dtype)
    torch.cuda.device = lambda index: __import__("contextlib").nullcontext()
    torch.cuda.get_device_capability = lambda index: capability
    torch._C._cuda_getDevice = lambda: 0
    open(log, "w").close()
    try:
        call()
        return [line.strip() for line in open(log)]
    finally:
        torch.empty, torch.cuda.device, torch.cuda.get_device_capability = real[:3]


k = rowmix._rowmix
tensors = tuple(OnGpu(t) for t in (torch.zeros(4, 256), torch.zeros(128), torch.zeros(4, 128), torch.zeros(4)))
low = OnGpu(torch.zeros(1025)[1:].view(4, 256))
lines = with_gpu((9, 0), lambda: (k.launch(tensors, (4, 128, 2, 3)), k.launch(tensors, (4, 128, 2, 3)),
                                  k.launch((low,) + tensors[1:], (4, 128, 2, 3))))
launches = [line.split()[1] for line in lines if "LaunchKernelEx" in line]
ok("a call is prepared once and queued each time", launches == ["mix4", "sums", "finish"] * 2 + ["mix", "sums", "finish"]
   and sum("cuModuleLoadData" in line for line in lines) == 1 and len(k.calls) == 2, lines)
raises("tensors on two devices are refused", lambda: with_gpu((9, 0), lambda: k.launch(
    tensors[:3] + (OnGpu(torch.zeros(4), 1),), (4, 128, 2, 4))), "total is on cuda:1", "one CUDA device")
k.modules.clear(), k.calls.clear()
rowmix.OTHER_GPUS = "refuse"
raises("with OTHER_GPUS = refuse, another GPU is refused", lambda: with_gpu((8, 0), lambda: k.launch(tensors, (4, 128, 2, 3))),
       "verified for sm_90a", "this GPU is sm_80")
rowmix.OTHER_GPUS = "build"
rowmix._compile = lambda source, capability, arch: rowmix._rowmix_code()[0]
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    with_gpu((8, 0), lambda: k.launch(tensors, (4, 128, 2, 3)))
ok("with OTHER_GPUS = build, a warning says that nobody verified the kernel", any("nobody has verified it" in str(w.message) for w in seen), seen)
