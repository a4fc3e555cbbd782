"""trace.py - reads what a PyTorch module computes and prints it as a graph (docs/import.md).

Hone runs this program in the user's own Python, in a child process with limits:

    python3 - '{"file": "model.py", "name": "Model", "inputs": {}, "sizes": {}}' < trace.py

The program executes the user's file. It prints one JSON object: the graph in the form of
schema/graph.json, and facts that a task needs (how inputs and parameters are filled, the original
sizes). If it refuses the module, the object is {"refused": {"why": ..., "line": ...}}.

The steps: `Source` finds the integers of the file that are sizes. `capture` runs the module on fake
tensors whose sizes are symbols, and records core-ATen operations. `Translation` writes each of them
as operations of src/graph/ops.def. A size that cannot be a symbol is fixed to its original value:
by `trace`, which then captures again, or by `translated`, which then translates again.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import json
import math
import numbers
import os
import re
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Optional

import sympy
import torch
import torch.fx
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._dispatch.python import enable_python_dispatcher
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental import proxy_tensor
from torch.fx.experimental.proxy_tensor import PythonKeyTracer, make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from torch.utils._thunk import Thunk

Operand = Any  # "x", "%3", a number, {"number": ...}, {"size": ...}, None
DTYPES = {
    torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32",
    torch.float64: "float64", torch.int8: "int8", torch.int16: "int16", torch.int32: "int32",
    torch.int64: "int64", torch.uint8: "uint8", torch.bool: "bool",
}  # fmt: skip
# nn.LayerNorm and other layers ask whether a size is a numbers.Integral.
numbers.Integral.register(torch.SymInt)
NAMED_DTYPES = {name: dtype for dtype, name in DTYPES.items()}
# Tells make_fx to record lines of the source. Older versions do not have this argument; for them,
# capture() sets PythonKeyTracer.record_stack_traces.
RECORD_LINES: dict[str, Any] = (
    {"record_stack_traces": True} if "record_stack_traces" in inspect.signature(make_fx).parameters
    else {})  # fmt: skip


# PyTorch's rules that write larger operations with simpler ones. Its default rules leave out the
# operations that are listed here by name.
DECOMPOSITIONS = {
    **core_aten_decompositions(),
    **get_decompositions([
        torch.ops.aten.grid_sampler_2d, torch.ops.aten.repeat, torch.ops.aten.slice_scatter, torch.ops.aten.upsample_bilinear2d,
        torch.ops.aten.upsample_bicubic2d, torch.ops.aten.upsample_nearest2d,
        torch.ops.aten.upsample_trilinear3d,
    ]),
}  # fmt: skip
# We translate these operations whole: their decompositions do not say how large the input must be.
for padding in (torch.ops.aten.reflection_pad1d, torch.ops.aten.reflection_pad2d, torch.ops.aten.reflection_pad3d):
    DECOMPOSITIONS.pop(padding.default, None)


class Refused(Exception):
    """The module cannot become a task; `line` is a line of the user's file, 0 if none is known."""

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.why, self.line = why, line


class NotFree(Exception):
    """These sizes cannot be symbols: translated() fixes them and translates again."""

    def __init__(self, names: set[str], why: str) -> None:
        super().__init__(why)
        self.names, self.why = names, why


# ---- the user's file -------------------------------------------------------------------------


def is_literal(node: ast.AST) -> bool:
    """Whether the node is an integer, or arithmetic on integers: 64, 4096 * 2."""
    if isinstance(node, ast.BinOp):
        return is_literal(node.left) and is_literal(node.right)
    return isinstance(node, ast.Constant) and type(node.value) is int


def literal(node: ast.expr) -> int:
    return int(eval(compile(ast.Expression(node), "<size>", "eval"), {}))


def quotient(e: sympy.Basic) -> Any:
    """The float e with exact divisions in place of PyTorch's divisions of floats."""
    name = type(e).__name__
    args = [quotient(a) for a in e.args]
    if name == "ToFloat":
        return args[0]
    if name in ("FloatTrueDiv", "IntTrueDiv"):
        return args[0] / args[1]
    if e.is_Float:
        return sympy.Integer(int(e)) if float(e).is_integer() else e
    return e.func(*args) if args else e


def whole_number(x: Any, **base: Any) -> Any:
    """int(x). If x is a quotient of sizes that has no remainder at any size, such as 64*B / 64.0, the
    result stays a size; int() would fix B."""
    if not isinstance(x, torch.SymFloat):
        return int(x, **base)
    e = sympy.expand(quotient(x.node.expr))
    symbols = sorted(e.free_symbols, key=str)
    if not symbols or not e.is_polynomial(*symbols):
        return int(x)
    if not all(c.is_Integer for c in sympy.Poly(e, *symbols).coeffs()):
        return int(x)
    return x.node.shape_env.create_symintnode(e, hint=int(x.node.hint))


class Source:
    """The user's file, and the integers in it that may be sizes."""

    FIXED = re.compile(
        r"kernel|stride|pad|dilat|group|layers|heads|factor|ratio|scale|dim\d?$|axis|depth_mult"
        r"|pool|num_iter|steps|alpha|beta|gamma|seed|expan", re.I)  # fmt: skip
    SIZE = re.compile(
        r"batch|channel|feature|height|width|length|seq|hidden|classes|size|tokens|embed|vocab"
        r"|^[A-Za-z]$|^depth$|rows|cols|nodes|points", re.I)  # fmt: skip

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        try:
            self.text = self.one_target_each(self.text, path)
            self.tree = ast.parse(self.text, path)
        except SyntaxError as e:
            raise Refused(f"the file is not Python: {e.msg}", e.lineno or 0) from None
        self.declared: dict[str, int] = {}  # the sizes that --input names
        self.plain = self.load({})

    @staticmethod
    def one_target_each(text: str, path: str) -> str:
        """Writes `height = width = 64` as `height = 64; width = 64`, because these are two sizes."""
        lines = text.splitlines(keepends=True)
        for node in ast.parse(text, path).body:
            if isinstance(node, ast.Assign) and len(node.targets) > 1 and node.lineno == node.end_lineno:
                value = ast.unparse(node.value)
                parts = [f"{ast.unparse(t)} = {value}" for t in node.targets]
                data = lines[node.lineno - 1].encode()
                assert node.end_col_offset is not None
                if is_literal(node.value):
                    data = data[: node.col_offset] + "; ".join(parts).encode() + data[node.end_col_offset :]
                    lines[node.lineno - 1] = data.decode()
        return "".join(lines)

    @classmethod
    def places(cls, tree: ast.Module) -> dict[str, ast.expr]:
        """The integer literals that may be sizes, in module-level assignments and in get_inputs().
        Leaves out a name that has several literals."""
        found: dict[str, list[ast.expr]] = {}

        def note(name: str, node: ast.expr) -> None:
            if isinstance(node, (ast.Tuple, ast.List)):
                for i, item in enumerate(node.elts):
                    note(f"{name}{i}", item)
            elif is_literal(node):
                found.setdefault(name, []).append(node)

        for node in tree.body:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
                    values = [node.value]
                    if names[0] is not target:
                        whole = isinstance(node.value, (ast.Tuple, ast.List))
                        values = node.value.elts if whole else []  # type: ignore[attr-defined]
                    for name, value in zip(names, values):
                        if isinstance(name, ast.Name):
                            note(name.id, value)
            elif isinstance(node, ast.FunctionDef) and node.name == "get_inputs":
                cls.note_shapes(node, note)
        return {n: nodes[0] for n, nodes in found.items() if len(nodes) == 1}

    @staticmethod
    def note_shapes(function: ast.FunctionDef, note: Callable[[str, ast.expr], None]) -> None:
        """Names the literals in the shapes of tensors that get_inputs() makes: shape0, shape1, ..."""
        makers = ("rand", "randn", "ones", "zeros", "empty", "full", "randint")
        n = 0
        for call in ast.walk(function):
            name = getattr(call.func, "attr", getattr(call.func, "id", "")) if isinstance(
                call, ast.Call) else ""  # fmt: skip
            if not isinstance(call, ast.Call) or name not in makers:
                continue
            args: list[ast.expr] = list(call.args)
            if name in ("full", "randint"):  # only a tuple is a shape
                args = [a for a in args if isinstance(a, (ast.Tuple, ast.List))]
            for arg in args:
                for item in arg.elts if isinstance(arg, (ast.Tuple, ast.List)) else [arg]:
                    note(f"shape{n}", item)
                    n += 1

    def load(self, values: dict[str, Any]) -> dict[str, Any]:
        """Executes the file, with each literal of places() replaced by the value given for it. In
        place of int(x), the file calls whole_number(x)."""
        tree = ast.parse(self.text, self.path)
        chosen = {id(node): name for name, node in self.places(tree).items() if name in values}

        class Replace(ast.NodeTransformer):
            def visit(self, node: ast.AST) -> ast.AST:
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "int" and len(node.args) == 1:
                    node.func = ast.copy_location(ast.Name("__hone_int__", ast.Load()), node.func)
                if id(node) not in chosen:
                    return self.generic_visit(node)
                made = ast.parse(f"__hone_values__[{chosen[id(node)]!r}]", mode="eval").body
                return ast.copy_location(made, node)

        tree = ast.fix_missing_locations(Replace().visit(tree))
        module = types.ModuleType("hone_import")
        module.__file__ = self.path
        module.__dict__.update(__hone_values__={**self.declared, **values}, __hone_int__=whole_number)
        sys.modules["hone_import"] = module
        folder = os.path.dirname(self.path)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        exec(compile(tree, self.path, "exec"), module.__dict__)
        return module.__dict__

    def constants(self) -> dict[str, int]:
        return {name: literal(node) for name, node in self.places(self.tree).items()}

    def sizes(self) -> dict[str, int]:
        """The constants that are likely to be sizes of tensors."""

        def likely(name: str, value: int) -> bool:
            if value >= 16:
                return not re.search(r"seed|kernel|stride|pad|dilat|group|layers|steps", name, re.I)
            return value >= 2 and bool(self.SIZE.search(name)) and not self.FIXED.search(name)

        return {n: v for n, v in self.constants().items() if likely(n, v)}

    def baseline(self, values: dict[str, str]) -> str:
        """The file with each size replaced by the Python expression that `values` has for it."""
        data, lines = self.text.encode(), self.text.encode().splitlines(keepends=True)
        edits: list[tuple[int, int, str]] = []
        for name, node in self.places(self.tree).items():
            if name in values:
                assert node.end_lineno and node.end_col_offset is not None
                begin = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
                end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
                edits.append((begin, end, values[name]))
        for begin, end, text in sorted(edits, reverse=True):
            data = data[:begin] + text.encode() + data[end:]
        return data.decode()

    def line_of_assignment(self, name: str) -> int:
        """The line that assigns to self.NAME outside of a constructor, else the first line that calls a
        method of self.NAME, such as self.NAME.append(); 0 if there is no such line."""
        called = 0
        for function in ast.walk(self.tree):
            if not isinstance(function, ast.FunctionDef) or function.name == "__init__":
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and node.attr == name and isinstance(
                        node.ctx, ast.Store):  # fmt: skip
                    return node.lineno
                inner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
                if not called and isinstance(inner, ast.Attribute) and inner.attr == name:
                    called = inner.lineno
        return called


# ---- tracing ---------------------------------------------------------------------------------


class Captured(NamedTuple):
    graph: torch.fx.GraphModule
    axes: dict[str, sympy.Symbol]  # name -> symbol
    inputs: list[tuple[str, torch.Tensor]]
    parameters: list[tuple[str, torch.Tensor]]
    env: ShapeEnv
    arguments: list[tuple[str, Any]]  # of forward, in order
    changed: list[str]  # parameters and buffers that forward changes, which are outputs too
    is_recurrent: bool  # the module has an nn.LSTM, nn.GRU or nn.RNN
    ranges: dict[str, tuple[Any, Any]]  # input -> the bounds that get_inputs gave torch.randint
    is_plain: bool  # the result is a tensor, or a tuple or list of tensors
    hints: dict[sympy.Symbol, int]  # the original value of each symbol
    pins: dict[sympy.Symbol, int]  # sizes that are fixed after all, with their values
    ordered: set[str]  # inputs that the module takes as sorted


class IntOrSize(type):
    """A stand-in for `int` in isinstance(hidden_size, int). To it, a symbol is an integer too."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, (int, torch.SymInt))


def copied(t: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    """copy.deepcopy() of a tensor without data. PyTorch's own fails if a size is a symbol."""
    new = torch.empty_like(t)
    if isinstance(t, torch.nn.Parameter):
        new = torch.nn.Parameter(new, t.requires_grad)
    memo[id(t)] = new
    return new


@contextlib.contextmanager
def without_init() -> Iterator[None]:
    """Makes the functions of nn.init do nothing: they would fix sizes, and take time. Also lets
    recurrent layers take symbols as sizes, and copy.deepcopy() copy layers."""
    FakeTensor.__deepcopy__ = copied  # type: ignore[method-assign,assignment]
    torch.nn.modules.rnn.int = IntOrSize("int", (), {})  # type: ignore[attr-defined]
    saved = {n: f for n, f in vars(torch.nn.init).items() if n.endswith("_") and callable(f)}
    fans = "_calculate_fan_in_and_fan_out"
    saved[fans] = getattr(torch.nn.init, fans)
    for name in saved:
        setattr(torch.nn.init, name, lambda tensor, *a, **k: tensor)
    setattr(torch.nn.init, fans, lambda tensor: (1, 1))
    recurrent_classes = (torch.nn.RNNBase, torch.nn.modules.rnn.RNNCellBase)
    resets = [c.reset_parameters for c in recurrent_classes]  # they would compute the square root of a size
    for c in recurrent_classes:
        c.reset_parameters = lambda self: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        for c, reset in zip(recurrent_classes, resets):
            c.reset_parameters = reset  # type: ignore[method-assign]
        for name, function in saved.items():
            setattr(torch.nn.init, name, function)
        del FakeTensor.__deepcopy__
        del torch.nn.modules.rnn.int  # type: ignore[attr-defined]


# ---- recurrent layers: one operation with a loop over time -------------------------------------


@torch.library.custom_op("hone::lstm", mutates_args=())
def lstm_steps(gates: torch.Tensor, weight: torch.Tensor, hidden: torch.Tensor,
               cell: torch.Tensor) -> torch.Tensor:  # fmt: skip
    """All steps of one layer. Returns h and c of each step, side by side. `gates` has the part of the
    gates that comes from the inputs; the loop adds the part that comes from h."""
    raise NotImplementedError


@lstm_steps.register_fake
def _(gates: Any, weight: Any, hidden: Any, cell: Any) -> torch.Tensor:
    return gates.new_empty(gates.shape[0], gates.shape[1], 2 * hidden.shape[1])


@torch.library.custom_op("hone::gru", mutates_args=())
def gru_steps(gates: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor,
              hidden: torch.Tensor) -> torch.Tensor:  # fmt: skip
    raise NotImplementedError


@gru_steps.register_fake
def _(gates: Any, weight: Any, bias: Any, hidden: Any) -> torch.Tensor:
    return gates.new_empty(gates.shape[0], gates.shape[1], hidden.shape[1])


@torch.library.custom_op("hone::rnn", mutates_args=())
def rnn_steps(gates: torch.Tensor, weight: torch.Tensor, hidden: torch.Tensor,
              relu: bool) -> torch.Tensor:  # fmt: skip
    raise NotImplementedError


@rnn_steps.register_fake
def _(gates: Any, weight: Any, hidden: Any, relu: bool) -> torch.Tensor:
    return gates.new_empty(gates.shape[0], gates.shape[1], hidden.shape[1])


def recurrent(kind: str) -> Callable[..., Any]:
    """Returns a replacement of torch._VF.lstm, gru, rnn_tanh or rnn_relu."""

    def layer(x: Any, weights: list[Any], has_bias: bool, h0: Any, c0: Any) -> tuple[Any, Any]:
        w_ih, w_hh = weights[0], weights[1]
        b_ih, b_hh = (weights[2], weights[3]) if has_bias else (None, None)
        gates = torch.matmul(x, w_ih.t())
        if has_bias:
            gates = gates + b_ih if kind == "gru" else gates + b_ih + b_hh
        if kind == "lstm":
            both = lstm_steps(gates, w_hh, h0, c0)
            n = h0.shape[1]
            return both[:, :, :n], both[-1, :, n:]
        if kind == "gru":
            zero = gates.new_zeros(w_hh.shape[0]) if b_hh is None else b_hh
            return gru_steps(gates, w_hh, zero, h0), None
        return rnn_steps(gates, w_hh, h0, kind == "rnn_relu"), None

    def run(x: Any, hx: Any, weights: list[Any], has_bias: bool, layers: int, dropout: float,
            train: bool, bidirectional: bool, batch_first: Any = None) -> Any:  # fmt: skip
        if batch_first is None or isinstance(hx, (list, tuple)) and len(hx) != 2:
            raise Refused(f"Hone cannot trace nn.{kind.upper()} on a packed sequence")
        if dropout and train and layers > 1:
            raise Refused("forward draws random numbers (dropout): no two calls agree")
        hidden, cell = hx if kind == "lstm" else (hx, hx)
        each = 4 if has_bias else 2
        ways = 2 if bidirectional else 1
        if len(weights) != each * ways * layers:
            raise Refused("Hone cannot trace nn.LSTM with proj_size")
        if batch_first:
            x = x.transpose(0, 1)
        ends, cells = [], []
        for i in range(layers):
            found = []
            for d in range(ways):
                k = i * ways + d
                own = weights[each * k : each * (k + 1)]
                steps, last = layer(x.flip(0) if d else x, own, has_bias, hidden[k], cell[k])
                ends.append(steps[-1])
                cells.append(last)
                found.append(steps.flip(0) if d else steps)
            x = torch.cat(found, 2) if ways == 2 else found[0]
        out = x.transpose(0, 1) if batch_first else x
        end = torch.stack(ends)
        return (out, end, torch.stack(cells)) if kind == "lstm" else (out, end)

    return run


# nn.RNNBase keeps a list of its weights, and functional_call does not replace the weights in that
# list. So fresh_weights() makes the list again before each call.
FRESH_WEIGHTS = """
def fresh_weights(module, args):
    module._flat_weights = [getattr(module, n) for n in module._flat_weights_names]
"""
exec(FRESH_WEIGHTS)


# ---- attention: one operation, as the fused kernels have it -------------------------------------


@torch.library.custom_op("hone::attention", mutates_args=())
def fused_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                    mask: Optional[torch.Tensor], causal: bool,
                    scale: Optional[float]) -> torch.Tensor:  # fmt: skip
    raise NotImplementedError


@fused_attention.register_fake
def _(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: Any) -> torch.Tensor:
    return query.new_empty(*query.shape[:-1], value.shape[-1])


def attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
              is_causal: bool = False, scale: Any = None, enable_gqa: bool = False) -> Any:  # fmt: skip
    """F.scaled_dot_product_attention as one operation, unless the mask has more axes than q."""
    if dropout_p > 0:
        raise Refused("forward draws random numbers (dropout): no two calls agree")
    if attn_mask is not None and attn_mask.dim() > query.dim():
        return PLAIN_ATTENTION(query, key, value, attn_mask, 0.0, is_causal, scale=scale)
    if enable_gqa:
        key, value = (repeated(t, query.shape[-3] // t.shape[-3]) for t in (key, value))
    batch = torch.broadcast_shapes(*(t.shape[:-2] for t in (query, key, value)))
    query, key, value = (t.expand(*batch, *t.shape[-2:]) for t in (query, key, value))
    return fused_attention(query, key, value, attn_mask, is_causal,
                           None if scale is None else float(scale))  # fmt: skip


def repeated(t: torch.Tensor, n: Any) -> torch.Tensor:
    """Repeats each head n times. The copies of a head are neighbours."""
    shape = t.shape
    wide = t.unsqueeze(-3).expand(*shape[:-2], n, *shape[-2:])
    return wide.reshape(*shape[:-3], shape[-3] * n, *shape[-2:])


# We replace this function for the whole program, not only in replaced_layers(). Otherwise a user's
# file with "from torch.nn.functional import scaled_dot_product_attention" would keep PyTorch's own.
PLAIN_ATTENTION = torch.nn.functional.scaled_dot_product_attention
torch.nn.functional.scaled_dot_product_attention = attention


def linear(input: torch.Tensor, weight: torch.Tensor, bias: Any = None) -> torch.Tensor:
    """Replaces F.linear, whose C++ code would turn the sizes of a 3-D input into numbers."""
    made = torch.matmul(input, weight.t())
    return made if bias is None else made + bias


def refuse_numpy(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """Replaces Tensor.numpy(): fake tensors have no data."""
    raise Refused("forward turns a tensor into a NumPy array: Hone traces only operations of PyTorch")


def refuse_autocast(context: Any, device_type: str, dtype: Any = None, enabled: bool = True, *rest: Any,
                    **more: Any) -> None:  # fmt: skip
    """Replaces autocast.__init__(). For a GPU it would have no effect on the tensors of a trace, and the
    task would have other dtypes than the module."""
    if device_type == "cuda" and enabled:
        raise Refused("forward uses autocast for a GPU: Hone traces without a GPU; "
                      "convert to the narrow dtype with .to()")  # fmt: skip
    PLAIN_AUTOCAST(context, device_type, dtype, enabled, *rest, **more)


PLAIN_AUTOCAST = torch.autocast.__init__


def one_hot(tensor: torch.Tensor, num_classes: int = -1) -> torch.Tensor:
    """Replaces F.one_hot, which checks the data of its argument: fake tensors have no data."""
    if isinstance(num_classes, int) and num_classes < 0:
        raise Refused("one_hot without num_classes: the size of the result depends on data")
    return (tensor.unsqueeze(-1) == torch.arange(num_classes, device=tensor.device)).to(torch.int64)


PLAIN_QUANTILE = torch.quantile


def quantile(input: torch.Tensor, q: Any, dim: Any = None, keepdim: bool = False, *,
             interpolation: str = "linear", out: Any = None) -> torch.Tensor:  # fmt: skip
    """torch.quantile, which looks at q as data, for a number q: between two elements of the sorted row."""
    if isinstance(q, torch.Tensor) or interpolation != "linear" or out is not None:
        return PLAIN_QUANTILE(input, q, dim, keepdim, interpolation=interpolation, out=out)
    x = input.flatten() if dim is None else input
    along = 0 if dim is None else dim
    row = x.sort(along).values
    last = int(row.shape[along]) - 1
    at = float(q) * last
    low = min(int(at), last)
    a, b = row.select(along, low), row.select(along, min(low + 1, last))
    end = row.select(along, last)  # a NaN comes last, and makes the result NaN
    made = torch.where(end.isnan(), end, torch.lerp(a, b, at - low))
    if not keepdim:
        return made
    return made.reshape([1] * input.dim()) if dim is None else made.unsqueeze(along)


class NoBackward:
    """The `ctx` of an autograd.Function. Hone traces only forward, so it keeps what forward saves and does not
    use it."""

    needs_input_grad: tuple[bool, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name in ("save_for_backward", "save_for_forward", "mark_dirty", "mark_non_differentiable",
                    "set_materialize_grads"):  # fmt: skip
            return lambda *args: None
        raise AttributeError(name)


@classmethod  # type: ignore[misc]
def only_forward(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Function.apply() without autograd, which cannot record custom functions."""
    if cls.setup_context is not torch.autograd.Function.setup_context:
        return cls.forward(*args, **kwargs)
    return cls.forward(NoBackward(), *args, **kwargs)


@contextlib.contextmanager
def replaced_layers(model: Any) -> Iterator[None]:
    """Replaces the layers that PyTorch's own code would unroll, or whose sizes it would fix."""
    plain_linear, plain_one_hot = torch.nn.functional.linear, torch.nn.functional.one_hot
    plain_numpy, plain_array = torch.Tensor.numpy, torch.Tensor.__array__
    plain_apply = torch.autograd.Function.__dict__["apply"]
    plain_method = torch.Tensor.quantile
    kinds = ("lstm", "gru", "rnn_tanh", "rnn_relu")
    saved = {k: getattr(torch._VF, k) for k in kinds}
    parts = model.modules() if isinstance(model, torch.nn.Module) else []
    hooks = [p.register_forward_pre_hook(globals()["fresh_weights"]) for p in parts
             if isinstance(p, torch.nn.RNNBase)]  # fmt: skip
    try:
        torch.nn.functional.linear = linear
        torch.nn.functional.one_hot = one_hot
        torch.Tensor.numpy = torch.Tensor.__array__ = refuse_numpy  # type: ignore[method-assign,assignment]
        torch.autocast.__init__ = refuse_autocast  # type: ignore[method-assign]
        torch.autograd.Function.apply = only_forward  # type: ignore[method-assign]
        torch.quantile = torch.Tensor.quantile = quantile  # type: ignore[method-assign,assignment]
        for k in kinds:
            setattr(torch._VF, k, recurrent(k))
        yield
    finally:
        torch.nn.functional.linear = plain_linear
        torch.nn.functional.one_hot = plain_one_hot
        torch.Tensor.numpy, torch.Tensor.__array__ = plain_numpy, plain_array  # type: ignore[method-assign]
        torch.autocast.__init__ = PLAIN_AUTOCAST  # type: ignore[method-assign]
        torch.autograd.Function.apply = plain_apply  # type: ignore[method-assign]
        torch.quantile, torch.Tensor.quantile = PLAIN_QUANTILE, plain_method  # type: ignore[method-assign]
        for k in kinds:
            setattr(torch._VF, k, saved[k])
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def noted_ranges(found: list[tuple[torch.Tensor, Any, Any]]) -> Iterator[None]:
    """Notes the bounds of every torch.randint: the bound of an index is a size."""
    plain = torch.randint

    def noting(*args: Any, **kwargs: Any) -> torch.Tensor:
        made = plain(*args, **kwargs)
        bounds = [a for a in args if not isinstance(a, (tuple, list, torch.Size))]
        low = kwargs.get("low", bounds[0] if len(bounds) > 1 else 0)
        high = kwargs.get("high", bounds[-1] if bounds else None)
        found.append((made, low, high))
        return made

    torch.randint = noting
    try:
        yield
    finally:
        torch.randint = plain


def range_of(t: torch.Tensor, drawn: list[tuple[torch.Tensor, Any, Any]]) -> tuple[Any, Any] | None:
    """The bounds of the torch.randint that made t. None if it was made in another way."""
    for made, low, high in drawn:
        if made is t or (made.dtype == t.dtype and len(drawn) == 1 and made.shape == t.shape):
            return low, high
    return None


class Target(NamedTuple):
    """What to trace: a module or a function, and how to make its arguments."""

    name: str
    is_module: bool
    is_class: bool
    construction: str  # Python code that makes the module
    make: Callable[[dict[str, Any]], Callable[..., Any]]
    arguments: Callable[[dict[str, Any]], list[Any]]
    names: list[str]  # of the arguments of forward


def find_target(source: Source, name: str, declared: dict[str, str]) -> Target:
    space = source.plain
    own = [
        (n, v)
        for n, v in space.items()
        if getattr(v, "__module__", None) == "hone_import" and n not in ("get_inputs", "get_init_inputs")
        and (inspect.isclass(v) and issubclass(v, torch.nn.Module) or inspect.isfunction(v))
    ]
    if name and name not in space:
        known = ", ".join(n for n, _ in own) or "nothing that could be imported"
        raise Refused(f"the file defines no '{name}'; it defines {known}")
    if not name:
        modules = [n for n, v in own if inspect.isclass(v)]
        if "Model" in modules:
            name = "Model"
        elif len(modules) == 1:
            name = modules[0]
        elif len(own) == 1:
            name = own[0][0]
        else:
            raise Refused(f"name one of {', '.join(n for n, _ in own)}: FILE.py:NAME")
    what = space[name]
    is_class = inspect.isclass(what)
    call = what.forward if is_class or isinstance(what, torch.nn.Module) else what
    params = [
        p.name
        for p in inspect.signature(call).parameters.values()
        if p.name != "self" and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]

    def make(ns: dict[str, Any]) -> Callable[..., Any]:
        if not is_class:
            return ns[name]
        init = ns["get_init_inputs"]() if "get_init_inputs" in ns else []
        if isinstance(init, dict):
            return ns[name](**init)
        if len(init) == 2 and isinstance(init[1], dict) and isinstance(init[0], (list, tuple)):
            return ns[name](*init[0], **init[1])
        return ns[name](*init)

    def arguments(ns: dict[str, Any]) -> list[Any]:
        if declared:
            return declared_inputs(declared, params, ns)
        if "get_inputs" not in ns:
            raise Refused(
                f"the file has no get_inputs(): say what {name} takes, "
                f"as --input {params[0] if params else 'x'}=float32[B,128]"
            )
        return list(ns["get_inputs"]())

    init = "*get_init_inputs()" if "get_init_inputs" in space else ""
    if init and isinstance(made := space["get_init_inputs"](), dict):
        init = "**get_init_inputs()"
    elif init and len(made) == 2 and isinstance(made[1], dict) and isinstance(made[0], (list, tuple)):
        init = "*get_init_inputs()[0], **get_init_inputs()[1]"
    is_module = is_class or isinstance(what, torch.nn.Module)
    construction = f"{name}({init})" if is_class else name
    return Target(name, is_module, is_class, construction, make, arguments, params)


def declared_size(tensor: str, text: str, values: dict[str, Any]) -> Any:
    """The size that an --input gives: a number, a name, or an expression of both such as 2*D."""
    operators = {ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
                 ast.Div: lambda a, b: a // b, ast.FloorDiv: lambda a, b: a // b}  # fmt: skip

    def value(e: ast.expr) -> Any:
        if isinstance(e, ast.Constant) and type(e.value) is int:
            return e.value
        if isinstance(e, ast.Name):
            return values[e.id]
        if isinstance(e, ast.BinOp) and type(e.op) in operators:
            return operators[type(e.op)](value(e.left), value(e.right))
        raise ValueError

    try:
        return value(ast.parse(text, mode="eval").body)
    except (ValueError, SyntaxError, KeyError, ZeroDivisionError, RecursionError, MemoryError):
        raise Refused(f"--input {tensor}: '{text}' is no size: write numbers, names, + - * and /") from None


def declared_inputs(declared: dict[str, str], params: list[str], ns: dict[str, Any]) -> list[Any]:
    """Tensors for --input x=float16[B,128], plain values for --input n=3. In w=float16[B,128]*0.02,
    0.02 is the standard deviation. The values of names such as B are in ns['__hone_values__']."""
    made = []
    for name in params:
        if name not in declared:
            break
        m = re.fullmatch(r"(\w+)\[([^\]]*)\](?:\*(\d*\.?\d+(?:e-?\d+)?))?", declared[name].replace(" ", ""))
        if not m:
            made.append(ast.literal_eval(declared[name]))
            continue
        dtype = NAMED_DTYPES.get(m[1])
        if dtype is None:
            raise Refused(f"--input {name}: '{m[1]}' is no dtype; known: {', '.join(NAMED_DTYPES)}")
        sizes = [declared_size(name, d, ns["__hone_values__"]) for d in m[2].split(",") if d]
        if dtype.is_floating_point:
            made.append(torch.empty(sizes, dtype=dtype).normal_(0.0, float(m[3] or 1)))
        elif m[3]:
            raise Refused(f"--input {name}: only floats can have a standard deviation (*{m[3]})")
        else:
            made.append(torch.randint(0, 2, sizes, dtype=dtype))
    unknown = [n for n in declared if n not in params]
    if unknown:
        raise Refused(f"--input {unknown[0]}: no such argument; it takes {', '.join(params)}")
    late = [n for n in params[len(made) :] if n in declared]
    if late:
        raise Refused(
            f"--input {late[0]}: {params[len(made)]} comes before it and needs an --input too"
        )
    return made


def made_by_hook(model: torch.nn.Module, path: str) -> bool:
    """Does a hook of torch.nn.utils.weight_norm or spectral_norm compute this attribute before each call?"""
    where, _, name = path.rpartition(".")
    hooks = model.get_submodule(where)._forward_pre_hooks.values()
    return any(type(h).__module__.startswith("torch.nn.utils.") and getattr(h, "name", None) == name for h in hooks)


def refuse_state(before: dict[str, Any], model: Any, source: Source) -> None:
    for path, value in attributes(model).items():
        old = before.get(path)
        if isinstance(value, torch.Tensor) and value is not old and not made_by_hook(model, path):
            raise Refused(f"forward keeps state between calls: it assigns self.{path}",
                          source.line_of_assignment(path.rpartition(".")[2]))  # fmt: skip


def plain_state(model: Any) -> dict[str, Any]:
    """The numbers, texts and None among the attributes of the module and its parts, and the lengths
    of lists, tuples and dicts. Leaves out names that begin with '_'."""
    if not isinstance(model, torch.nn.Module):
        return {}
    found = {}
    for prefix, part in model.named_modules():
        for name, value in vars(part).items():
            if name.startswith("_") or name == "training":
                continue
            if isinstance(value, (int, float, str, type(None))):
                found[f"{prefix}.{name}" if prefix else name] = value
            elif isinstance(value, (list, dict, tuple)):
                found[f"{prefix}.{name}" if prefix else name] = len(value)
    return found


def attributes(model: Any) -> dict[str, Any]:
    """Tensors that are plain attributes of the module or of its parts."""
    if not isinstance(model, torch.nn.Module):
        return {}
    found = {}
    for prefix, part in model.named_modules():
        for name, value in vars(part).items():
            if isinstance(value, torch.Tensor):
                found[f"{prefix}.{name}" if prefix else name] = value
    return found


def flatten(result: Any, prefix: str = "y") -> list[tuple[str, torch.Tensor]]:
    """The tensors in a result, with names for the task's outputs."""
    if isinstance(result, torch.Tensor):
        return [(prefix, result)]
    if isinstance(result, (list, tuple)):
        if len(result) == 1:
            return flatten(result[0], prefix)
        parts = [flatten(r, f"{prefix}{i}") for i, r in enumerate(result)]
        return [p for part in parts for p in part]
    if isinstance(result, dict):
        parts = [flatten(r, re.sub(r"\W", "_", str(k))) for k, r in result.items()]
        return [p for part in parts for p in part]
    if result is None:
        return []
    raise Refused(f"forward returns a value of type {type(result).__name__}: return tensors, in tuples, lists or dicts")


def is_plain(result: Any) -> bool:
    parts = result if isinstance(result, (list, tuple)) else [result]
    return all(isinstance(r, torch.Tensor) for r in parts)


def drop_unchanged(fx: torch.fx.GraphModule, held: list[str]) -> list[str]:
    """The last outputs of the graph are the state after the call. Keeps only those that forward has changed,
    and returns their names."""
    nodes = list(fx.graph.nodes)
    given = [n for n in nodes if n.op == "placeholder"]
    end = nodes[-1]
    results = list(end.args[0])
    own, state = results[: len(results) - len(held)], results[len(results) - len(held) :]
    changed = [(n, new) for n, new, old in zip(held, state, given) if new is not old]
    end.args = (own + [new for _, new in changed],)
    return [n for n, _ in changed]


def task_name(path: str) -> str:
    name = re.sub(r"\W", "_", path)
    return name if re.match(r"[A-Za-z_]", name) else "p_" + name


def own_name(name: str, taken: set[str]) -> str:
    """Returns a name that no tensor has yet. If an output had the name of an input, the task would work
    in place."""
    while name in taken:
        name += "_out"
    taken.add(name)
    return name


def forward(function: Callable[..., Any], *args: Any) -> Any:
    """Calls the function. Older versions of PyTorch record lines only below a function with the name
    `forward`."""
    return function(*args)


def made_before() -> None:
    """The target of nodes that stand for a size which was computed before the recording."""


@contextlib.contextmanager
def sizes_made_before() -> Iterator[None]:
    """A scope in which forward may use sizes that the constructor computed, such as dim // heads.

    PyTorch records only sizes that are arguments, or that forward itself computes. For any other
    size we add a node without arguments. Translation reads the size from the node's "val".
    """
    plain = proxy_tensor.get_proxy_slot

    def slot(obj: Any, tracer: Any, default: Any = proxy_tensor.no_default, *rest: Any) -> Any:
        size = isinstance(obj, (torch.SymInt, torch.SymFloat)) and obj.node.constant is None
        # If `default` is False, PyTorch only asks whether there is a node.
        if size and default is not False and plain(obj, tracer, None) is None:
            proxy = tracer.create_proxy("call_function", made_before, (), {})
            proxy.node.meta["val"] = obj
            proxy_tensor.set_proxy_slot(obj, tracer, Thunk(lambda: proxy))
        return plain(obj, tracer, default, *rest)

    proxy_tensor.get_proxy_slot = slot  # type: ignore[assignment]
    try:
        yield
    finally:
        proxy_tensor.get_proxy_slot = plain


def capture(
    source: Source, target: Target, free: dict[str, int], real: bool
) -> tuple[Captured, list[str]]:
    """Records the module's operations; the sizes in `free` are symbols.

    With `real` the module is made from real tensors at its original sizes: its constructor may look
    at their data.
    """
    env = ShapeEnv()
    symbols: dict[str, sympy.Symbol] = {}
    values: dict[str, Any] = {}
    for name, value in free.items():
        origin = ConstantSource(name)
        symbol = env.create_symbol(value, origin, DimDynamic.DYNAMIC, None)
        symbols[name] = symbol
        values[name] = env.create_symintnode(symbol, hint=value, source=origin)
    mode = FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
    PythonKeyTracer.record_stack_traces = True
    # Newer versions of PyTorch record only the lines of functions with the name forward. Keep all
    # lines of the user's file instead.
    PythonKeyTracer._filter_traceback_frames = lambda tracer, frames: traceback.StackSummary.from_list(
        [f for f in frames if f.filename == source.path])  # fmt: skip
    if real:
        model = target.make(source.load({}))
        for part in model.modules() if isinstance(model, torch.nn.Module) else []:
            for held_by in (part._parameters, part._buffers):
                for name, t in held_by.items():
                    if t is not None:
                        held_by[name] = mode.from_tensor(t, static_shapes=True)
    with enable_python_dispatcher(), mode:
        with without_init():
            space = source.load(values)
            if not real:
                model = target.make(space)
            drawn: list[tuple[torch.Tensor, Any, Any]] = []
            with noted_ranges(drawn):
                given = target.arguments(space)
    for name, a in zip(target.names, given):
        if isinstance(a, (list, tuple, dict)):
            raise Refused(f"argument {name} is a {type(a).__name__}: give each tensor its own parameter")
    tensors = [a for a in given if isinstance(a, torch.Tensor)]
    names = [n for n, a in zip(target.names, given) if isinstance(a, torch.Tensor)]
    if len(names) < len(tensors):
        raise Refused("forward takes *args: give its arguments names")
    bounds = [(n, range_of(t, drawn)) for n, t in zip(names, tensors)]
    ranges = {n: found for n, found in bounds if found}
    held: dict[str, torch.Tensor] = {}
    if isinstance(model, torch.nn.Module):
        held.update(model.named_parameters())
        held.update(model.named_buffers())
    before = attributes(model)
    outputs: list[str] = []
    shape = [True]

    def run(
        state: list[torch.Tensor], args: list[torch.Tensor], sizes: list[Any]
    ) -> list[torch.Tensor]:  # make_fx must know each size as an argument
        rest = iter(args)
        full = [next(rest) if isinstance(a, torch.Tensor) else a for a in given]
        if isinstance(model, torch.nn.Module):
            bound = dict(zip(held, state))
            result = torch.func.functional_call(model, bound, tuple(full))
            refuse_state(before, model, source)
        else:
            bound, result = {}, forward(model, *full)
        flat = flatten(result)
        if not flat:
            raise Refused("forward returns no tensor")
        taken = {*names, *map(task_name, held)}
        outputs[:] = [own_name(task_name(n), taken) for n, _ in flat]
        shape[0] = is_plain(result)
        # We return all of the state: the graph shows which part of it forward has changed.
        return [t for _, t in flat] + [bound.get(n, old) for n, old in zip(held, state)]

    def record() -> torch.fx.GraphModule:
        return make_fx(
            torch.func.functionalize(run, remove="mutations"),
            decomposition_table=DECOMPOSITIONS,
            tracing_mode="real",
            _allow_non_fake_inputs=True,
            **RECORD_LINES,
        )(list(held.values()), tensors, list(values.values()))

    with enable_python_dispatcher(), mode, torch.nn.attention.sdpa_kernel(
        torch.nn.attention.SDPBackend.MATH
    ), torch.no_grad(), replaced_layers(model), sizes_made_before():
        plain = plain_state(model)
        fx = record()
        assigned = [n for n, v in plain_state(model).items() if n not in plain or plain[n] is not v]
        if assigned and record().code != fx.code:  # the second call differs from the first
            raise Refused(f"forward keeps state between calls: it changes self.{assigned[0]}",
                          source.line_of_assignment(assigned[0].rpartition(".")[2]))  # fmt: skip
    changed = drop_unchanged(fx, list(held))
    outputs += changed
    return (
        Captured(
            fx, symbols, list(zip(names, tensors)), list(held.items()), env,
            list(zip(target.names, given)), changed,
            isinstance(model, torch.nn.Module)
            and any(isinstance(p, torch.nn.RNNBase) for p in model.modules()), ranges, shape[0],
            {s: free[n] for n, s in symbols.items()}, {}, set(),
        ),
        outputs,
    )  # fmt: skip


# ---- sizes -----------------------------------------------------------------------------------


class Sizes:
    """Writes sizes as expressions over the axes, in the form of docs/plan.md."""

    def __init__(self, captured: Captured) -> None:
        self.env, self.pins, self.hints = captured.env, captured.pins, captured.hints
        self.names = {symbol: name for name, symbol in captured.axes.items()}

    def simplified(self, e: sympy.Basic) -> Any:
        e = self.env.simplify(self.env.replace(e))
        return e.subs(self.pins) if self.pins else e

    def expression(self, size: Any) -> sympy.Expr:
        node = getattr(size, "node", None)
        if node is None:
            return sympy.Integer(int(size))
        return self.simplified(node.expr)

    def pin_equations(self) -> set[str]:
        """Fixes the sizes in equations like 16*(H//4)*(W//4) == 400, which few other sizes satisfy.
        Returns their names."""
        found: set[str] = set()
        for guard in self.env.guards:
            if not isinstance(guard.expr, sympy.Eq):
                continue
            e = self.simplified(guard.expr)
            if not isinstance(e, sympy.Eq) or type(e.lhs).__name__ in ("Mod", "PythonMod"):
                continue
            if e.rhs.is_Integer or e.lhs.is_Integer:
                for symbol in [s for s in e.free_symbols if s in self.names]:
                    if not self.holds_elsewhere(e, symbol):
                        self.pin(symbol)
                        found.add(self.names[symbol])
        return found

    def holds_elsewhere(self, e: sympy.Basic, symbol: sympy.Symbol) -> bool:
        """Does the equation hold if this size doubles, halves or triples?"""
        here = {s: self.hints[s] for s in e.free_symbols}
        size = self.hints[symbol]
        others = [e.subs({**here, symbol: v}) for v in (2 * size, 3 * size, size // 2)]
        return any(o == sympy.true for o in others)

    def pin(self, symbol: sympy.Symbol) -> None:
        self.pins[symbol] = sympy.Integer(self.hints[symbol])

    def text(self, size: Any) -> str | int:
        e = size if isinstance(size, sympy.Basic) else self.expression(size)
        return int(e) if e.is_Integer else self.write(e)

    def write(self, e: sympy.Basic) -> str:
        if e.is_Integer:
            return str(int(e)) if int(e) >= 0 else f"(0-{-int(e)})"
        if e.is_Symbol:
            if e not in self.names:
                raise Refused("a size depends on the data of a tensor")
            return self.names[e]
        name = type(e).__name__
        args = e.args
        if e.is_Add:
            plus = [a for a in args if not a.could_extract_minus_sign()]
            minus = [-a for a in args if a.could_extract_minus_sign()]
            text = "+".join(self.write(a) for a in plus) or "0"
            return "(" + text + "".join("-" + self.write(a) for a in minus) + ")"
        if e.is_Mul:
            if all(a.is_integer for a in args):
                return "(" + "*".join(self.write(a) for a in args) + ")"
            top, bottom = e.as_numer_denom()
            return f"({self.write(top)}/{self.write(bottom)})"
        if e.is_Pow and args[1].is_Integer and int(args[1]) > 0:
            return "(" + "*".join([self.write(args[0])] * int(args[1])) + ")"
        if name in ("FloorDiv", "CleanDiv"):
            return f"({self.write(args[0])}/{self.write(args[1])})"
        if name == "CeilDiv":
            return f"cdiv({self.write(args[0])},{self.write(args[1])})"
        if name in ("Mod", "PythonMod"):
            return f"({self.write(args[0])}%{self.write(args[1])})"
        if name in ("Max", "Min"):
            return f"{name.lower()}({','.join(self.write(a) for a in args)})"
        relations = {"Equality": "==", "Unequality": "!=", "StrictLessThan": "<",
                     "LessThan": "<=", "StrictGreaterThan": ">", "GreaterThan": ">="}  # fmt: skip
        if name in relations:
            return f"{self.write(args[0])} {relations[name]} {self.write(args[1])}"
        if name in ("And", "Or"):
            joint = " && " if name == "And" else " || "
            return "(" + joint.join(self.write(a) for a in args) + ")"
        raise NotFree({self.names[s] for s in e.free_symbols if s in self.names},
                      f"a size is {e}, which a task cannot say")  # fmt: skip

    def follows(self, e: sympy.Basic) -> bool:
        """Does the equation hold at all sizes at which each division in it has no remainder? For each such
        division, another guard says that the remainder is 0."""
        if not isinstance(e, sympy.Eq):
            return False
        exact = [g.expr.lhs.args for g in self.env.guards
                 if isinstance(g.expr, sympy.Eq) and type(g.expr.lhs).__name__ in ("Mod", "PythonMod")
                 and g.expr.rhs == 0]  # fmt: skip
        if type(e.lhs).__name__ in ("Mod", "PythonMod"):
            return False

        def divide(x: sympy.Basic) -> sympy.Basic:
            if type(x).__name__ in ("FloorDiv", "CleanDiv") and any(a == x.args for a in exact):
                return x.args[0] / x.args[1]
            return x.func(*map(divide, x.args)) if x.args else x

        try:
            return bool(sympy.simplify(divide(e.lhs) - divide(e.rhs)) == 0)
        except Exception:
            return False

    def is_free(self, symbol: sympy.Symbol) -> bool:
        """False for a size that a guard has made a number, or another size."""
        return symbol not in self.pins and bool(self.env.replace(symbol) == symbol)

    def in_python(self, symbol: sympy.Symbol) -> str:
        """The size as Python code over SIZES, the axes of the task."""
        text = str(self.write(self.simplified(symbol))).replace("/", "//")
        return re.sub(r"[A-Za-z_]\w*(?!\w*\()", lambda m: f'SIZES["{m[0]}"]', text)

    def divisors(self, e: sympy.Basic, by: int, found: dict[sympy.Symbol, int]) -> None:
        """Notes by which number each size in e is divided, divisions of divisions included."""
        if e.is_Symbol:
            found[e] = math.lcm(found.get(e, 1), by)
        if type(e).__name__ in ("FloorDiv", "CleanDiv", "Mod", "PythonMod") and e.args[1].is_Integer:
            self.divisors(e.args[0], by * abs(int(e.args[1])), found)
        else:
            for a in e.args:
                self.divisors(a, by, found)

    def multiples(self) -> dict[sympy.Symbol, int]:
        """Returns a number for each size that is divided in an equation. The equations hold at multiples of
        this number: 16 for H, if H is halved four times. Hone's shape rules know such a condition, but not
        2*(H//16) == H//8. Also fixes a size that is itself a divisor in an equation, if multiples do not make
        that equation true."""
        equations = [g.expr for g in self.env.guards if isinstance(g.expr, sympy.Eq)]
        for e in equations:  # fix each divisor that is a size, if multiples do not help
            own: dict[sympy.Symbol, int] = {}
            self.divisors(self.simplified(e), 1, own)
            if self.holds_at(self.simplified(e), own):
                continue
            for part in e.atoms(sympy.Function):
                by = part.args[-1]
                if type(part).__name__ in ("Mod", "PythonMod") and by.is_Symbol and by in self.names:
                    self.pin(by)
        found: dict[sympy.Symbol, int] = {}
        for e in equations:
            self.divisors(self.simplified(e), 1, found)
        return {s: n for s, n in found.items()
                if s in self.names and s not in self.pins and n > 1 and self.hints[s] % n == 0}  # fmt: skip

    def holds_at(self, e: sympy.Basic, multiples: dict[sympy.Symbol, int]) -> set[sympy.Symbol]:
        """Returns the sizes of the equation if it holds whenever each size is a multiple of its number in
        `multiples`, else the empty set."""
        used = {s: n for s, n in multiples.items() if s in e.free_symbols}
        if not used or not isinstance(e, sympy.Eq):
            return set()
        steps = {s: n * sympy.Symbol(f"{s}_step", positive=True, integer=True)
                 for s, n in used.items()}  # fmt: skip
        wide = e.subs(steps)
        free = sorted(wide.free_symbols, key=str)
        tried = 0
        for k in range(1, 9):  # if sympy cannot decide, try numbers
            values = {s: 2 + (k * (3 + 2 * i)) % 11 for i, s in enumerate(free)}
            try:
                holds = wide == sympy.true or wide.subs(values) == sympy.true
            except ZeroDivisionError:  # at these sizes, a divisor rounds down to 0
                continue
            if not holds:
                return set()
            tried += 1
        return set(used) if tried else set()

    def guards(self, user_file: str) -> list[str]:
        """The conditions under which the recorded operations are right for other sizes too.

        Equations and remainders are kept wherever they come from. An inequality is kept only if the user's
        own code makes the comparison. PyTorch's own inequalities only choose between algorithms with the
        same result.
        """
        kept: dict[str, None] = {}
        multiples = self.multiples()
        for guard in self.env.guards:
            e = guard.expr
            if not isinstance(e, (sympy.Eq, sympy.Ne, sympy.Rel, sympy.And, sympy.Or)):
                continue
            place = str(getattr(getattr(guard, "sloc", None), "framework_loc", ""))
            if not isinstance(e, sympy.Eq) and user_file not in place:
                continue
            e = self.simplified(e)
            if e in (sympy.true, sympy.false) or not e.free_symbols or self.follows(e):
                continue
            by = self.holds_at(e, multiples)
            for s in by:
                kept[f"({self.names[s]}%{multiples[s]}) == 0"] = None
            if not by:
                kept[self.write(e)] = None
        return list(kept)


# ---- operations ------------------------------------------------------------------------------

# Core-ATen names whose operands and meaning are those of a row of ops.def.
SAME = """abs acos acosh asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor
ceil cos cosh eq erf erfc exp exp2 expm1 floor fmod ge gt hypot isinf isnan isfinite le log log10
log1p log2 logical_and logical_not logical_or logical_xor lt maximum minimum mul ne neg pow
reciprocal relu remainder round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc where silu
mish hardsigmoid hardswish logaddexp copysign""".split()
IDENTITY = "alias clone detach contiguous lift_fresh lift".split()
RANDOM = """rand rand_like randn randn_like randint randint_like randperm bernoulli multinomial
normal normal_functional uniform native_dropout rrelu_with_noise exponential geometric
dropout poisson""".split()
# The sizes of their results depend on data.
UNSIZED = "nonzero _unique _unique2 unique_dim unique_consecutive masked_select".split()


LARGEST_CONSTANT = 32  # the most elements of a tensor of constants that constants() writes


class Translation:
    """Writes the recorded operations as operations of src/graph/ops.def."""

    def __init__(self, captured: Captured, source: Source) -> None:
        self.captured, self.source = captured, source
        self.sizes = Sizes(captured)
        self.values: list[dict[str, Any]] = []
        self.of: dict[torch.fx.Node, Any] = {}  # an operand, or a list for several results
        self.conditions: dict[str, None] = {}  # on sizes: windows must fit, and so on
        self.node: torch.fx.Node | None = None

    # -- emitting

    def add(self, op: str, *args: Operand, **attrs: Any) -> str:
        name = f"%{len(self.values) + 1}"
        row: dict[str, Any] = {"id": name, "op": op, "args": list(args)}
        if attrs:
            row["attrs"] = attrs
        self.values.append(row)
        return name

    def number(self, v: Any) -> Operand:
        if isinstance(v, bool):
            return int(v)
        if isinstance(v, (torch.SymInt, torch.SymFloat)):
            if isinstance(v, torch.SymFloat):
                e = self.sizes.simplified(v.node.expr)
                if not e.is_number:
                    raise NotFree(self.names_in(v), "a number is computed from a size")
                return float(e)
            text = self.sizes.text(v)
            return text if isinstance(text, int) else {"size": text}
        if isinstance(v, float) and not math.isfinite(v):
            return {"number": "nan" if v != v else "inf" if v > 0 else "-inf"}
        return v

    def names_in(self, v: Any) -> set[str]:
        free = self.sizes.simplified(v.node.expr).free_symbols
        return {n for n, s in self.captured.axes.items() if s in free}

    def operand(self, a: Any) -> Operand:
        if isinstance(a, torch.fx.Node):
            if a in self.of:
                return self.of[a]
            value = a.meta.get("val")
            if isinstance(value, (torch.SymInt, torch.SymFloat, int, float)):
                return self.number(value)
            raise Refused(f"{a.target} gives something that is not a tensor", self.line(a))
        return a if a is None else self.number(a)

    def value_of(self, a: Any) -> Any:
        """An argument as Python sees it: sizes as SymInt, tensors as their fake tensors."""
        if isinstance(a, torch.fx.Node):
            return a.meta.get("val")
        if isinstance(a, (list, tuple)):
            return [self.value_of(x) for x in a]
        return a

    def shape(self, a: torch.fx.Node) -> list[Any]:
        return list(a.meta["val"].shape)

    def dims(self, sizes: Sequence[Any]) -> list[str | int]:
        return [self.sizes.text(self.value_of(s)) for s in sizes]

    def line(self, node: torch.fx.Node | None) -> int:
        trace = (node.meta.get("stack_trace") if node else None) or ""
        found = re.findall(r'File "([^"]*)", line (\d+)', trace)
        lines = [int(n) for f, n in found if f == self.source.path]
        return lines[-1] if lines else 0

    def refuse(self, why: str) -> Refused:
        return Refused(why, self.line(self.node))

    def fixed(self, v: Any, what: str) -> int:
        """An integer that must not depend on sizes."""
        v = self.value_of(v)
        if isinstance(v, torch.SymInt):
            e = self.sizes.expression(v)
            if not e.is_Integer:
                raise NotFree(self.names_in(v), f"{what} depends on a size")
            return int(e)
        return int(v)

    def all_fixed(self, v: Any, n: int, what: str) -> list[int]:
        items = list(v) if isinstance(v, (list, tuple)) else [v]
        found = [self.fixed(x, what) for x in items]
        return found * n if len(found) == 1 else found

    def tensor(self, a: Any) -> Operand:
        """The operand of a tensor as a tensor also if it is a constant, which operand() gives as a number. A
        number has no dtype of its own."""
        made = self.operand(a)
        return made if isinstance(made, str) else self.full(made, self.value_of(a))

    # -- the whole

    def run(self, outputs: list[str]) -> dict[str, Any]:
        c = self.captured
        c.graph.graph.eliminate_dead_code()
        inputs = []
        kept = [n for n in c.graph.graph.nodes if n.op == "placeholder"]
        names = [task_name(n) for n, _ in c.parameters] + [n for n, _ in c.inputs]
        for node, name in zip(kept, names):
            self.of[node] = name
        result: list[dict[str, Any]] = []
        for node in c.graph.graph.nodes:
            self.node = node
            if node.op == "call_function":
                self.translate(node)
            elif node.op == "get_attr":
                self.constant(node)
            elif node.op == "output":
                flat = node.args[0]
                for name, value in zip(outputs, flat):
                    result.append(self.output(name, value))
        self.node = None
        used = {a for v in self.values for a in v["args"] if isinstance(a, str)}
        used |= {o["value"] for o in result if isinstance(o["value"], str)}
        for name, (_, t) in zip(names, [*c.parameters, *c.inputs]):
            if name in used and t.dtype not in DTYPES:
                raise Refused(f"{name} is a {str(t.dtype).removeprefix('torch.')} tensor, which Hone cannot trace: "
                              f"{self.instead_of(t.dtype)}")  # fmt: skip
            if name in used:
                inputs.append({"name": name, "dtype": self.dtype(t), "shape": self.dims(t.shape)})
        own = [n for n, _ in c.inputs]
        inputs.sort(key=lambda i: i["name"] not in own)  # arguments first, then parameters
        guards = [*self.sizes.guards(self.source.path), *self.conditions]
        return {
            "version": 1,
            "axes": [n for n, s in c.axes.items() if self.sizes.is_free(s)],
            "inputs": inputs,
            "scalars": [],
            "values": self.values,
            "outputs": result,
            "guards": guards,
        }

    def dtype(self, t: torch.Tensor) -> str:
        if t.dtype not in DTYPES:
            name = str(t.dtype).removeprefix("torch.")
            raise self.refuse(f"Hone cannot trace {name} tensors: {self.instead_of(t.dtype)}")
        return DTYPES[t.dtype]

    @staticmethod
    def instead_of(dtype: torch.dtype) -> str:
        if dtype.is_complex:
            return "compute with real and imaginary parts"
        return f"give forward tensors of another dtype, and convert outside of it; known: {', '.join(NAMED_DTYPES)}"

    def output(self, name: str, node: Any) -> dict[str, Any]:
        if not isinstance(node, torch.fx.Node):
            raise Refused("an output does not depend on any input")
        t = node.meta["val"]
        declared = {"dtype": self.dtype(t), "shape": self.dims(t.shape)}
        value = self.operand(node)
        if not isinstance(value, str):  # a number: make a tensor of it
            value = self.full(value, t)
        return {"name": task_name(name), **declared, "value": value}

    def constant(self, node: torch.fx.Node) -> None:
        t = getattr(self.captured.graph, str(node.target))
        if isinstance(t, torch.Tensor) and t.numel() == 1 and not is_fake(t):
            self.of[node] = self.full(t.item(), t) if t.dim() else self.number(t.item())
            return
        if isinstance(t, torch.Tensor) and not is_fake(t) and t.numel() <= LARGEST_CONSTANT:
            self.of[node] = self.constants(t)
            return
        if "flex_attention" in (node.meta.get("stack_trace") or ""):
            raise self.refuse("Hone cannot trace flex_attention: write the scores out, or give "
                              "scaled_dot_product_attention a mask")  # fmt: skip
        raise self.refuse("forward makes a tensor of constants: register it as a buffer")

    def constants(self, t: torch.Tensor) -> str:
        """Writes a small tensor of constants as nested choices by index."""
        at = self.add("iota", shape=[t.numel()])
        flat = t.flatten().tolist()
        made: Operand = self.full(self.number(flat[-1]), t.flatten())
        for i in range(len(flat) - 2, -1, -1):
            made = self.add("where", self.add("eq", at, i), self.number(flat[i]), made)
        return self.add("reshape", made, shape=list(t.shape))

    def translate(self, node: torch.fx.Node) -> None:
        name = str(node.target).removeprefix("aten.").split(".")[0].rstrip("_")
        value = node.meta.get("val")
        if isinstance(value, (tuple, list)) and not any(isinstance(v, torch.Tensor) for v in value):
            return  # the sizes of a tensor
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)):
            return  # arithmetic on sizes: operand() reads the value
        if node.target is __import__("operator").getitem:
            whole = self.of[node.args[0]]
            if whole[node.args[1]] is None and node.users:
                raise self.refuse(f"Hone does not compute result {node.args[1]} of {node.args[0]}")
            self.of[node] = whole[node.args[1]]
            return
        if name in RANDOM:
            raise self.refuse("forward draws random numbers: no two calls agree")
        if name in UNSIZED:
            raise self.refuse(f"the size of the result of {name.strip('_').rstrip('2')} depends on data: keep all "
                              "elements, and choose with torch.where")  # fmt: skip
        name = name.removesuffix("_copy") or name
        if name in IDENTITY:
            self.of[node] = self.operand(node.args[0])
            return
        method = getattr(self, "op_" + name.lstrip("_"), None)
        if method is not None:
            bound = self.arguments(node)
            self.of[node] = method(node, **bound)
        elif name in SAME:
            args = [self.operand(a) for a in node.args]
            self.of[node] = self.add(name, *args)
        elif str(node.target).startswith("hone."):
            self.of[node] = self.own(str(node.target).split(".")[1], list(node.args))
        else:
            if isinstance(value, torch.Tensor):
                self.dtype(value)  # refuses complex numbers
            raise self.refuse(f"Hone does not know the operation {node.target}: write it with others, or make its "
                              "result an argument of forward")  # fmt: skip
        if isinstance(value, torch.Tensor) and isinstance(self.of[node], str):
            self.check_dtype(node, value)

    def check_dtype(self, node: torch.fx.Node, t: torch.Tensor) -> None:
        """Declares the dtype and shape of the last value. Hone refuses the graph if its own rules differ."""
        last = self.values[-1] if self.values else None
        if last is not None and last["id"] == self.of[node] and "dtype" not in last:
            last["dtype"], last["shape"] = self.dtype(t), self.dims(t.shape)

    def arguments(self, node: torch.fx.Node) -> dict[str, Any]:
        """The node's arguments by the names in the operation's schema, defaults included."""
        bound: dict[str, Any] = {}
        for i, p in enumerate(node.target._schema.arguments):
            name = "input" if p.name == "self" else p.name
            if i < len(node.args) and not p.kwarg_only:
                bound[name] = node.args[i]
            elif p.name in node.kwargs:
                bound[name] = node.kwargs[p.name]
            else:
                bound[name] = p.default_value if p.has_default_value() else None
        return bound

    def full(self, value: Operand, t: torch.Tensor) -> str:
        made = self.add("cast", value, dtype=self.dtype(t))
        return self.add("expand", made, shape=self.dims(t.shape)) if t.dim() else made

    # -- elementwise

    def binary(self, op: str, a: Any, b: Any, alpha: Any = 1) -> str:
        right = self.operand(b)
        if alpha not in (1, None):
            right = self.add("mul", right, self.number(alpha))
        return self.add(op, self.operand(a), right)

    def op_add(self, node: Any, input: Any, other: Any, alpha: Any = 1) -> str:
        return self.binary("add", input, other, alpha)

    def op_sub(self, node: Any, input: Any, other: Any, alpha: Any = 1) -> str:
        return self.binary("sub", input, other, alpha)

    def op_rsub(self, node: Any, input: Any, other: Any, alpha: Any = 1) -> str:
        return self.binary("sub", other, input, alpha)

    def op_lshift(self, node: Any, input: Any, other: Any) -> str:
        return self.binary("shift_left", input, other)

    def op_rshift(self, node: Any, input: Any, other: Any) -> str:
        return self.binary("shift_right", input, other)

    op_bitwise_left_shift, op_bitwise_right_shift = op_lshift, op_rshift

    def op_div(self, node: Any, input: Any, other: Any, rounding_mode: Any = None) -> str:
        if rounding_mode == "floor":
            return self.binary("floor_divide", input, other)
        if rounding_mode is None or node.meta["val"].dtype.is_floating_point:
            made = self.binary("div", input, other)
            return made if rounding_mode is None else self.add("trunc", made)
        a, b = self.operand(input), self.operand(other)
        size = self.add("floor_divide", self.add("abs", a), self.add("abs", b))
        return self.add("mul", self.add("mul", self.add("sign", a), self.add("sign", b)), size)

    def op_fmod(self, node: Any, input: Any, other: Any) -> str:
        a, b = self.operand(input), self.operand(other)
        if node.meta["val"].dtype.is_floating_point:
            return self.add("fmod", a, b)
        rest = self.add("remainder", self.add("abs", a), self.add("abs", b))
        return self.add("mul", self.add("sign", a), rest)

    def op_gelu(self, node: Any, input: Any, approximate: str) -> str:
        op = "gelu_tanh" if approximate == "tanh" else "gelu"
        return self.add(op, self.operand(input))

    def op_clamp(self, node: Any, input: Any, min: Any = None, max: Any = None) -> str:
        low, high = self.operand(min), self.operand(max)
        x = self.operand(input)
        if low is not None and high is not None:
            return self.add("clamp", x, low, high)
        if low is None:
            return self.add("clamp_max", x, high)
        return self.add("clamp_min", x, low)

    def op_hardtanh(self, node: Any, input: Any, min_val: Any, max_val: Any) -> str:
        return self.add("clamp", self.operand(input), self.number(min_val), self.number(max_val))

    def op_rrelu_with_noise_functional(self, node: Any, input: Any, lower: Any, upper: Any, training: Any,
                                       **rest: Any) -> list[Any]:  # fmt: skip
        if training:
            raise self.refuse("forward draws random numbers: no two calls agree")
        return [self.op_leaky_relu(node, input, (lower + upper) / 2), None]

    def op_leaky_relu(self, node: Any, input: Any, negative_slope: Any) -> str:
        return self.add("leaky_relu", self.operand(input), self.number(negative_slope))

    def op_elu(self, node: Any, input: Any, alpha: Any, scale: Any, input_scale: Any) -> str:
        x = self.operand(input)
        if scale == 1 and input_scale == 1:
            return self.add("elu", x, self.number(alpha))
        low = self.add("expm1", self.add("mul", x, self.number(float(input_scale))))
        low = self.add("mul", low, self.number(float(alpha) * float(scale)))
        high = self.add("mul", x, self.number(float(scale)))
        return self.add("where", self.add("gt", x, 0), high, low)

    def op_softplus(self, node: Any, input: Any, beta: Any, threshold: Any) -> str:
        x = self.operand(input)
        return self.add("softplus", x, self.number(beta), self.number(threshold))

    def op_to(self, node: Any, input: Any, dtype: Any = None, **rest: Any) -> Operand:
        x = self.operand(input)
        target = node.meta["val"].dtype
        if isinstance(input, torch.fx.Node) and input.meta["val"].dtype == target:
            return x
        return self.add("cast", x, dtype=self.dtype(node.meta["val"]))

    def op_copy(self, node: Any, input: Any, src: Any, non_blocking: bool = False) -> str:
        t = node.meta["val"]
        made = self.tensor(src)
        if self.value_of(src).dtype != t.dtype:
            made = self.add("cast", made, dtype=self.dtype(t))
        if self.dims(self.shape(src)) != self.dims(t.shape):
            made = self.add("expand", made, shape=self.dims(t.shape))
        return made

    # -- constants

    def op_full(self, node: Any, size: Any, fill_value: Any, **rest: Any) -> str:
        return self.full(self.operand(fill_value), node.meta["val"])

    def op_full_like(self, node: Any, input: Any, fill_value: Any, **rest: Any) -> str:
        return self.full(self.operand(fill_value), node.meta["val"])

    def op_scalar_tensor(self, node: Any, s: Any, **rest: Any) -> str:
        return self.full(self.operand(s), node.meta["val"])

    def op_zeros(self, node: Any, size: Any, **rest: Any) -> str:
        return self.full(0, node.meta["val"])

    def op_ones(self, node: Any, size: Any, **rest: Any) -> str:
        return self.full(1, node.meta["val"])

    def op_empty(self, node: Any, **rest: Any) -> str:
        return self.full(0, node.meta["val"])

    op_empty_like = op_new_empty = op_empty_permuted = op_empty

    def op_zeros_like(self, node: Any, **rest: Any) -> str:
        return self.full(0, node.meta["val"])

    def op_ones_like(self, node: Any, **rest: Any) -> str:
        return self.full(1, node.meta["val"])

    def op_arange(self, node: Any, start: Any = 0, end: Any = None, step: Any = 1, **r: Any) -> str:
        t = node.meta["val"]
        made = self.add("iota", shape=self.dims(t.shape))
        if step != 1:
            made = self.add("mul", made, self.operand(step))
        if not (isinstance(start, int) and start == 0):
            made = self.add("add", made, self.operand(start))
        return made if t.dtype == torch.int64 else self.add("cast", made, dtype=self.dtype(t))

    # -- views

    def op_view(self, node: Any, input: Any, size: Any, **rest: Any) -> str:
        return self.add("reshape", self.tensor(input), shape=self.dims(node.meta["val"].shape))

    op_reshape = op_unsafe_view = op_view

    def op_as_strided(self, node: Any, input: Any, size: Any, stride: Any,
                      storage_offset: Any = None) -> Operand:  # fmt: skip
        """Accepts only a view that shows the same elements: pooling to one element makes such views."""
        old, new = self.value_of(input), node.meta["val"]
        same = self.dims(old.shape) == self.dims(new.shape) and all(
            self.same(n, 1) or self.same(a, b)
            for n, a, b in zip(new.shape, old.stride(), new.stride()))  # fmt: skip
        if not same or storage_offset not in (None, 0):
            raise self.refuse("Hone cannot trace torch.as_strided")
        return self.operand(input)

    def op_unsqueeze(self, node: Any, input: Any, dim: Any) -> str:
        return self.op_view(node, input, None)

    def op_squeeze(self, node: Any, input: Any, dim: Any = None) -> str:
        return self.op_view(node, input, None)

    def op_permute(self, node: Any, input: Any, dims: Sequence[int]) -> str:
        rank = len(self.shape(input))
        return self.add("permute", self.operand(input), dims=[d % rank for d in dims])

    def op_transpose(self, node: Any, input: Any, dim0: int, dim1: int) -> str:
        order = list(range(len(self.shape(input))))
        order[dim0], order[dim1] = order[dim1], order[dim0]
        return self.op_permute(node, input, order)

    def op_t(self, node: Any, input: Any) -> Operand:
        if len(self.shape(input)) < 2:
            return self.operand(input)
        return self.op_permute(node, input, [1, 0])

    def op_expand(self, node: Any, input: Any, size: Any, implicit: bool = False) -> str:
        return self.add("expand", self.tensor(input), shape=self.dims(node.meta["val"].shape))

    def part(self, x: Operand, rank: int, dim: int, start: Any, length: Any, step: int = 1) -> str:
        text = self.sizes.text
        return self.add("slice", x, dim=[dim % rank], start=text(start), length=text(length),
                        step=step)  # fmt: skip

    def op_slice(self, node: Any, input: Any, dim: int, start: Any, end: Any, step: Any) -> Operand:
        shape, t = self.shape(input), node.meta["val"]
        begin = self.value_of(start) or 0
        size = shape[dim]
        if isinstance(begin, int) and begin < 0:
            begin = size + begin
        step = self.fixed(step, "the step of a slice")
        if self.dims([size]) == self.dims([t.shape[dim]]) and step == 1:
            return self.operand(input)
        self.at_least(begin, 0)
        self.at_least(size, begin + (t.shape[dim] - 1) * step + 1)
        return self.part(self.operand(input), len(shape), dim, begin, t.shape[dim], step)

    def op_select(self, node: Any, input: Any, dim: int, index: Any) -> str:
        shape = self.shape(input)
        at = self.value_of(index)
        if isinstance(at, int) and at < 0:
            at = shape[dim] + at
        self.at_least(at, 0)
        self.at_least(shape[dim], at + 1)
        made = self.part(self.operand(input), len(shape), dim, at, 1)
        return self.add("reshape", made, shape=self.dims(node.meta["val"].shape))

    def op_split_with_sizes(self, node: Any, input: Any, split_sizes: Any, dim: int = 0) -> list[str]:
        made, at = [], 0
        for size in split_sizes:
            size = self.value_of(size)
            made.append(self.part(self.operand(input), len(self.shape(input)), dim, at, size))
            at = at + size
        return made

    def op_split(self, node: Any, input: Any, split_size: Any, dim: int = 0) -> list[str]:
        sizes = [t.shape[dim] for t in node.meta["val"]]
        return self.op_split_with_sizes(node, input, sizes, dim)

    def op_unbind(self, node: Any, input: Any, dim: int = 0) -> list[str]:
        shape = self.shape(input)
        rest = self.dims([s for d, s in enumerate(shape) if d != dim % len(shape)])
        made = []
        for i in range(len(node.meta["val"])):
            part = self.part(self.operand(input), len(shape), dim, i, 1)
            made.append(self.add("reshape", part, shape=rest))
        return made

    def op_flip(self, node: Any, input: Any, dims: Sequence[int]) -> str:
        rank = len(self.shape(input))
        return self.add("flip", self.operand(input), dims=[d % rank for d in dims])

    def op_cat(self, node: Any, tensors: Sequence[Any], dim: int = 0) -> str:
        rank = len(node.meta["val"].shape)
        parts = [t for t in tensors if len(self.shape(t)) == rank]
        made = self.operand(parts[0])
        for t in parts[1:]:
            made = self.add("cat", made, self.operand(t), dim=[dim % rank])
        return made

    def op_stack(self, node: Any, tensors: Sequence[Any], dim: int = 0) -> str:
        rank = len(node.meta["val"].shape)
        one = list(node.meta["val"].shape)
        one[dim % rank] = 1
        parts = [self.add("reshape", self.operand(t), shape=self.dims(one)) for t in tensors]
        made = parts[0]
        for t in parts[1:]:
            made = self.add("cat", made, t, dim=[dim % rank])
        return made

    def op_unfold(self, node: Any, input: Any, dimension: int, size: Any, step: Any) -> str:
        rank = len(self.shape(input))
        return self.windows(self.operand(input), dimension % rank, size, step, 1)

    def at_least(self, size: Any, least: Any) -> None:
        """Notes that `size` must be at least `least`, unless that is true of all sizes from 1 on."""
        wanted = self.sizes.expression(size) - self.sizes.expression(least)
        symbols = wanted.free_symbols
        grows = all(wanted.coeff(s) > 0 for s in symbols) and wanted.is_polynomial(*symbols)
        at_ones = wanted.subs(dict.fromkeys(symbols, 1))
        if symbols and not (grows and sympy.Poly(wanted, *symbols).is_linear and at_ones >= 0):
            self.conditions[f"{self.sizes.write(wanted)} >= 0"] = None

    def windows(self, x: Operand, dim: int, size: Any, step: Any, dilation: Any) -> str:
        return self.add("windows", x, dim=[dim], size=self.sizes.text(self.value_of(size)),
                        step=self.fixed(step, "a stride"),
                        dilation=self.fixed(dilation, "a dilation"))  # fmt: skip

    def op_reflection_pad1d(self, node: Any, input: Any, padding: Any) -> Operand:
        """Pads by reflection: beyond each edge lie the elements beside it, in reverse order."""
        shape, x = self.shape(input), self.operand(input)
        amounts = [self.fixed(p, "padding") for p in padding]
        if min(amounts) < 0:
            raise self.refuse("Hone does not know reflect padding with negative amounts")
        for i in range(len(amounts) // 2):
            d, before, after = len(shape) - 1 - i, amounts[2 * i], amounts[2 * i + 1]
            self.at_least(shape[d], max(before, after) + 1)
            parts = [x]
            if before:
                parts.insert(0, self.add("flip", self.part(x, len(shape), d, 1, before), dims=[d]))
            if after:
                last = self.part(x, len(shape), d, shape[d] - 1 - after, after)
                parts.append(self.add("flip", last, dims=[d]))
            x = parts[0]
            for part in parts[1:]:
                x = self.add("cat", x, part, dim=[d])
        return x

    op_reflection_pad2d = op_reflection_pad1d
    op_reflection_pad3d = op_reflection_pad1d

    def op_constant_pad_nd(self, node: Any, input: Any, pad: Any, value: Any = 0) -> Operand:
        rank = len(self.shape(input))
        amounts = [self.fixed(p, "padding") for p in pad]
        before, after = [0] * rank, [0] * rank
        for i in range(len(amounts) // 2):
            before[rank - 1 - i], after[rank - 1 - i] = amounts[2 * i], amounts[2 * i + 1]
        x = self.operand(input)
        for d in range(rank):  # a negative amount cuts
            cut0, cut1 = max(0, -before[d]), max(0, -after[d])
            if cut0 or cut1:
                x = self.part(x, rank, d, cut0, self.shape(input)[d] - cut0 - cut1)
        before, after = [max(0, b) for b in before], [max(0, a) for a in after]
        if not any(before) and not any(after):
            return x
        return self.add("pad", x, self.number(value), before=before, after=after)

    # -- reductions

    def converted(self, input: Any, dtype: Any) -> Operand:
        """The input of an operation that converts it first, if its argument `dtype` is given."""
        x = self.operand(input)
        if dtype is None or dtype == input.meta["val"].dtype:
            return x
        return self.add("cast", x, dtype=self.dtype(input.meta["val"].to(dtype)))

    def reduce(self, op: str, input: Any, dim: Any, keepdim: Any = False, dtype: Any = None, **more: Any) -> str:
        rank = len(self.shape(input))
        if dim is None or (isinstance(dim, (list, tuple)) and not dim):
            axes = list(range(rank))
        else:
            axes = sorted(d % max(rank, 1) for d in (dim if isinstance(dim, (list, tuple)) else [dim]))
        x = self.converted(input, dtype)
        return x if rank == 0 else self.add(op, x, dim=axes, keepdim=bool(keepdim), **more)

    def op_sum(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False,
               dtype: Any = None) -> str:  # fmt: skip
        return self.reduce("sum", input, dim, keepdim, dtype)

    def op_mean(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False,
                dtype: Any = None) -> str:  # fmt: skip
        return self.reduce("mean", input, dim, keepdim, dtype)

    def op_prod(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False,
                dtype: Any = None) -> str:  # fmt: skip
        return self.reduce("prod", input, dim, keepdim, dtype)

    def op_amax(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False) -> str:
        return self.reduce("amax", input, dim, keepdim)

    def op_amin(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False) -> str:
        return self.reduce("amin", input, dim, keepdim)

    def op_any(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False) -> str:
        return self.reduce("any", input, dim, keepdim)

    def op_all(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False) -> str:
        return self.reduce("all", input, dim, keepdim)

    def op_argmax(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False) -> str:
        return self.reduce("argmax", input, dim, keepdim)

    def op_argmin(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False) -> str:
        return self.reduce("argmin", input, dim, keepdim)

    def op_max(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return self.reduce("amax", input, None)
        return [self.reduce(op, input, dim, keepdim) for op in ("amax", "argmax")]

    def op_min(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return self.reduce("amin", input, None)
        return [self.reduce(op, input, dim, keepdim) for op in ("amin", "argmin")]

    # -- order: the rank of an element is the number of elements that come before it

    def ranked(self, input: Any, dim: int, descending: bool) -> tuple[Operand, Operand, list[Any], list[int]]:
        """The input with `dim` moved to the end, the ranks of its elements, its sizes, and its axes in their
        new order."""
        shape = self.shape(input)
        d = dim % len(shape)
        axes = [*[i for i in range(len(shape)) if i != d], d]
        sizes = [shape[i] for i in axes]
        x: Operand = self.operand(input)
        if d != len(shape) - 1:
            x = self.add("permute", x, dims=axes)
        return x, self.ranks(x, sizes, descending), sizes, axes

    def ranks(self, x: Operand, sizes: list[Any], descending: bool) -> str:
        """The ranks along the last axis. Equal elements keep their order."""
        lead, n = self.dims(sizes[:-1]), self.dims(sizes[-1:])
        one = self.add("reshape", x, shape=[*lead, *n, 1])
        other = self.add("reshape", x, shape=[*lead, 1, *n])
        iota = self.add("iota", shape=n)
        column = self.add("reshape", iota, shape=[*n, 1])
        least, equal = ("gt", "ge") if descending else ("lt", "le")
        before = self.add("where", self.add("lt", iota, column), self.add(equal, other, one), self.add(least, other, one))
        # An element does not come before itself. Say so explicitly, so that rounding cannot change it.
        before = self.add("logical_and", self.add("ne", iota, column), before)
        return self.add("sum", before, dim=[len(sizes)], keepdim=False)

    def at_ranks(self, x: Operand, rank: Operand, sizes: list[Any], want: Operand, like: Any) -> list[Operand]:
        """The elements with the ranks `want`, and their indices. `want` is a number, or a tensor whose last
        axis has size 1."""
        lead, n = self.dims(sizes[:-1]), self.dims(sizes[-1:])
        row = [*lead, 1, *n] if isinstance(want, str) else [*lead, *n]
        hit = self.add("eq", self.add("reshape", rank, shape=row), want)
        x, iota = self.add("reshape", x, shape=row), self.add("iota", shape=n)
        last = [len(row) - 1]
        if like.dtype.is_floating_point:  # use a maximum: unlike a sum, it does not round
            value = self.add("amax", self.add("where", hit, x, {"number": "-inf"}), dim=last, keepdim=False)
        else:
            value = self.add("sum", self.add("where", hit, x, 0), dim=last, keepdim=False)
            value = self.add("cast", value, dtype=self.dtype(like))
        return [value, self.add("amax", self.add("where", hit, iota, -1), dim=last, keepdim=False)]

    def sorted(self, input: Any, dim: int, descending: bool, count: Any) -> list[Operand]:
        """The first `count` elements in order along `dim`, and their indices."""
        like = input.meta["val"]
        if not self.shape(input):
            return [self.operand(input), self.full(0, like)]
        x, rank, sizes, axes = self.ranked(input, dim, descending)
        iota = self.add("iota", shape=self.dims([count]))
        want = self.add("reshape", iota, shape=[*self.dims([count]), 1])
        made = self.at_ranks(x, rank, sizes, want, like)
        if axes != list(range(len(axes))):
            back = [axes.index(i) for i in range(len(axes))]
            made = [self.add("permute", m, dims=back) for m in made]
        return made

    def op_sort(self, node: Any, input: Any, dim: int = -1, descending: bool = False, **r: Any) -> list[Operand]:
        sizes = self.shape(input)
        return self.sorted(input, dim, bool(descending), sizes[dim % len(sizes)] if sizes else 1)

    def op_topk(self, node: Any, input: Any, k: Any, dim: int = -1, largest: bool = True,
                sorted: bool = True) -> list[Operand]:  # fmt: skip
        if not sorted:
            raise self.refuse("topk with sorted=False gives its elements in no particular order")
        if self.shape(input):
            self.at_least(self.shape(input)[dim % len(self.shape(input))], k)
        return self.sorted(input, dim, bool(largest), k)

    def kth(self, input: Any, want: Operand, dim: int, keepdim: bool) -> list[Operand]:
        x, rank, sizes, axes = self.ranked(input, dim, False)
        made = self.at_ranks(x, rank, sizes, want, input.meta["val"])
        if not keepdim:
            return made
        shape = self.shape(input)
        shape[dim % len(shape)] = 1
        return [self.add("reshape", m, shape=self.dims(shape)) for m in made]

    def op_kthvalue(self, node: Any, input: Any, k: Any, dim: int = -1, keepdim: bool = False) -> list[Operand]:
        self.at_least(self.shape(input)[dim % len(self.shape(input))], k)
        return self.kth(input, self.number(k - 1), dim, bool(keepdim))

    def op_median(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        shape = self.shape(input)
        if dim is None:
            n = product(shape)
            x = self.add("reshape", self.operand(input), shape=self.dims([n]))
            rank = self.ranks(x, [n], False)
            return self.at_ranks(x, rank, [n], self.number((n - 1) // 2), input.meta["val"])[0]
        return self.kth(input, self.number((shape[dim % len(shape)] - 1) // 2), dim, bool(keepdim))

    def op_var(self, node: Any, input: Any, dim: Any = None, correction: Any = None,
               keepdim: bool = False) -> str:  # fmt: skip
        by = 1 if correction is None else int(correction)
        return self.reduce("var", input, dim, keepdim, correction=by)

    def op_std(self, node: Any, input: Any, dim: Any = None, correction: Any = None,
               keepdim: bool = False) -> str:  # fmt: skip
        by = 1 if correction is None else int(correction)
        return self.reduce("std", input, dim, keepdim, correction=by)

    def op_var_mean(self, node: Any, input: Any, **rest: Any) -> list[str]:
        mean = self.reduce("mean", input, rest.get("dim"), rest.get("keepdim"))
        return [self.op_var(node, input, **rest), mean]

    def op_linalg_vector_norm(self, node: Any, input: Any, ord: Any = 2, dim: Any = None,
                              keepdim: bool = False, dtype: Any = None) -> str:  # fmt: skip
        p = float(ord)
        if math.isinf(p):
            size = self.add("abs", self.converted(input, dtype))
            axes = list(range(len(self.shape(input)))) if dim is None else list(dim)
            return self.add("amax" if p > 0 else "amin", size, dim=axes, keepdim=bool(keepdim))
        return self.reduce("norm", input, dim, keepdim, dtype, p=p)

    def op_logsumexp(self, node: Any, input: Any, dim: Any, keepdim: bool = False) -> str:
        return self.reduce("logsumexp", input, dim, keepdim)

    def along(self, op: str, input: Any, dim: int, dtype: Any = None) -> str:
        return self.add(op, self.converted(input, dtype), dim=[dim % len(self.shape(input))])

    def op_softmax(self, node: Any, input: Any, dim: int, half_to_float: bool = False) -> str:
        return self.along("softmax", input, dim)

    def op_log_softmax(self, node: Any, input: Any, dim: int, half_to_float: bool = False) -> str:
        return self.along("log_softmax", input, dim)

    def op_cumsum(self, node: Any, input: Any, dim: int, dtype: Any = None) -> str:
        return self.along("cumsum", input, dim, dtype)

    def op_cumprod(self, node: Any, input: Any, dim: int, dtype: Any = None) -> str:
        return self.along("cumprod", input, dim, dtype)

    def op_cummax(self, node: Any, input: Any, dim: int) -> list[Operand]:
        return [self.along("cummax", input, dim), None]

    def op_cummin(self, node: Any, input: Any, dim: int) -> list[Operand]:
        return [self.along("cummin", input, dim), None]

    def op_logcumsumexp(self, node: Any, input: Any, dim: int) -> str:
        """Subtracts the maximum of all elements before exp. The running maximum would need another scan, and
        in double the maximum of all is as good."""
        x = self.operand(input)
        axis = dim % len(self.shape(input))
        high = self.add("amax", x, dim=[axis], keepdim=True)
        sums = self.add("cumsum", self.add("exp", self.add("sub", x, high)), dim=[axis])
        return self.add("add", self.add("log", sums), high)

    # -- products

    def op_mm(self, node: Any, input: Any, mat2: Any) -> str:
        return self.add("matmul", self.operand(input), self.operand(mat2))

    def op_int_mm(self, node: Any, input: Any, mat2: Any) -> str:
        x, y = (self.add("cast", self.operand(t), dtype="int32") for t in (input, mat2))
        return self.add("matmul", x, y)

    def op_trilinear(self, node: Any, i1: Any, i2: Any, i3: Any, expand1: Any, expand2: Any,
                     expand3: Any, sumdim: Any, **rest: Any) -> str:  # fmt: skip
        """The sum over some axes of a product of three tensors."""
        made: Operand = None
        for t, axes in ((i1, expand1), (i2, expand2), (i3, expand3)):
            shape = self.dims(self.shape(t))
            for d in sorted(axes):
                shape.insert(d, 1)
            part = self.add("reshape", self.operand(t), shape=shape)
            made = part if made is None else self.add("mul", made, part)
        return self.add("sum", made, dim=list(sumdim), keepdim=False)

    def op_cdist_forward(self, node: Any, x1: Any, x2: Any, p: float, compute_mode: Any) -> str:
        """The norm of the difference of every pair of rows."""
        a, b = self.shape(x1), self.shape(x2)
        left = self.add("reshape", self.operand(x1), shape=self.dims([*a[:-1], 1, a[-1]]))
        right = self.add("reshape", self.operand(x2), shape=self.dims([*b[:-2], 1, *b[-2:]]))
        diff, axis = self.add("sub", left, right), [len(a)]
        if p == 2:
            return self.add("sqrt", self.add("sum", self.add("square", diff), dim=axis, keepdim=False))
        size = self.add("abs", diff)
        if p == math.inf:
            return self.add("amax", size, dim=axis, keepdim=False)
        if p == 1:
            return self.add("sum", size, dim=axis, keepdim=False)
        total = self.add("sum", self.add("pow", size, p), dim=axis, keepdim=False)
        return self.add("pow", total, 1 / p)

    def op_bmm(self, node: Any, input: Any, mat2: Any) -> str:
        made = self.attention(node, input, mat2)
        return self.op_mm(node, input, mat2) if made is None else made

    # -- attention written as softmax(q k * scale + mask) v

    VIEWS = "view reshape _unsafe_view expand clone alias detach contiguous".split()

    def base(self, node: Any, views: Sequence[str] = VIEWS) -> Any:
        """The value that a chain of views shows. None if anything else reads this value or one of
        the views."""
        while isinstance(node, torch.fx.Node) and self.name_of(node) in views:
            if len(node.users) > 1:
                return None
            node = node.args[0]
        return node if isinstance(node, torch.fx.Node) and len(node.users) == 1 else None

    @staticmethod
    def name_of(node: Any) -> str:
        return str(node.target).removeprefix("aten.").split(".")[0]

    def attention(self, node: Any, weights: Any, value: Any) -> Operand:
        """Writes softmax(scores) value as one operation, without the matrix of weights, which would take
        much memory. Returns None if the nodes compute something else.

        Does so only in float32: in narrower types, PyTorch rounds the matrix when it stores it.
        """
        if node.meta["val"].dtype != torch.float32:
            return None
        soft = self.base(weights)
        if soft is None or self.name_of(soft) != "_softmax" or soft.meta["val"].dim() < 3:
            return None
        shape = self.shape(soft)
        if self.value_of(soft.args[1]) % len(shape) != len(shape) - 1:
            return None
        found = self.scores(soft.args[0], len(shape))
        if found is None:
            return None
        product, scale, masks = found
        query, key = product.args[0], product.args[1]
        if len(masks) > 1 or not self.same(self.shape(value)[-2], shape[-1]):
            return None
        batch = shape[:-2]
        q, k, v = self.operand(query), self.operand(key), self.operand(value)
        k = self.add("permute", k, dims=[0, 2, 1])
        rows, inner, keys = shape[-2], self.shape(query)[-1], shape[-1]
        q = self.add("reshape", q, shape=self.dims([*batch, rows, inner]))
        k = self.add("reshape", k, shape=self.dims([*batch, keys, inner]))
        v = self.add("reshape", v, shape=self.dims([*batch, keys, self.shape(value)[-1]]))
        made = self.add("attention", q, k, v, masks[0] if masks else None, scale, causal=False)
        return self.add("reshape", made, shape=self.dims(self.shape(node)))

    def scores(self, node: Any, rank: int) -> tuple[Any, Operand, list[Operand]] | None:
        """The product q k that the scores come from, the number that it is scaled by, and at most
        one mask. None if something else is done to the product."""
        scale: float = 1.0
        masks: list[Operand] = []
        while True:
            node = self.base(node)
            if node is None:
                return None
            name, args = self.name_of(node), node.args
            if name == "bmm":
                return node, float(scale), masks
            if name in ("mul", "div") and not self.is_tensor(args[1]):
                by = self.operand(args[1])
                if not isinstance(by, (int, float)):
                    return None
                scale = scale * by if name == "mul" else scale / by
                node = args[0]
            elif name == "add" and not masks and scale == 1 and all(map(self.is_tensor, args)):
                for part, mask in (args, args[::-1]):
                    found = self.scores(part, rank)
                    if found is not None and not found[2] and not node.kwargs:
                        return found[0], found[1], [self.operand(mask)]
                return None
            elif name == "where" and not masks and self.is_minus_infinity(args[1]):
                hidden = args[0]
                masks.append(self.add("logical_not", self.operand(hidden)))
                node = args[2]
            elif name == "where" and not masks and self.is_minus_infinity(args[2]):
                masks.append(self.operand(args[0]))
                node = args[1]
            else:
                return None
            if masks and len(node.meta["val"].shape) != rank:
                return None

    def is_tensor(self, a: Any) -> bool:
        return isinstance(self.value_of(a), torch.Tensor)

    def is_minus_infinity(self, node: Any) -> bool:
        if not isinstance(node, torch.fx.Node) or self.name_of(node) not in (
                "full", "scalar_tensor", "full_like"):  # fmt: skip
            return False
        fill = node.args[0 if self.name_of(node) == "scalar_tensor" else 1]
        return isinstance(fill, float) and fill == -math.inf

    def op_mv(self, node: Any, input: Any, vec: Any) -> str:
        return self.add("matmul", self.operand(input), self.operand(vec))

    def op_dot(self, node: Any, input: Any, tensor: Any) -> str:
        return self.add("matmul", self.operand(input), self.operand(tensor))

    def scaled(self, x: Operand, by: Any) -> Operand:
        return x if by == 1 else self.add("mul", x, self.number(by))

    def op_addmm(self, node: Any, input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> str:
        product = self.scaled(self.op_mm(node, mat1, mat2), alpha)
        if beta == 0:
            return product
        return self.add("add", product, self.scaled(self.operand(input), beta))

    def op_baddbmm(self, node: Any, input: Any, batch1: Any, batch2: Any, beta: Any,
                   alpha: Any) -> str:  # fmt: skip
        return self.op_addmm(node, input, batch1, batch2, beta, alpha)

    def op_addmv(self, node: Any, input: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> str:
        return self.op_addmm(node, input, mat, vec, beta, alpha)

    def op_convolution(self, node: Any, input: Any, weight: Any, bias: Any, stride: Any,
                       padding: Any, dilation: Any, transposed: bool, output_padding: Any,
                       groups: Any) -> str:  # fmt: skip
        n = len(self.shape(input)) - 2
        step = self.all_fixed(stride, n, "a stride")
        pads = self.all_fixed(padding, n, "padding")
        holes = self.all_fixed(dilation, n, "a dilation")
        args = [self.operand(input), self.operand(weight), self.operand(bias)]
        parts = self.sizes.text(self.value_of(groups))
        window = self.shape(weight)[2:]
        for s, k, p, d in zip(self.shape(input)[2:], window, pads, holes):
            if not transposed:
                self.at_least(s + 2 * p, d * (k - 1) + 1)
        if transposed:
            more = self.all_fixed(output_padding, n, "padding")
            return self.add("conv_transpose", *args, stride=step, padding=pads,
                            output_padding=more, dilation=holes, groups=parts)  # fmt: skip
        return self.add("conv", *args, stride=step, before=pads, after=pads, dilation=holes,
                        groups=parts)  # fmt: skip

    def own(self, name: str, args: list[Any]) -> str:
        """One of the operations hone::lstm, hone::attention and so on."""
        if name == "attention":
            query, key, value, mask, causal, scale = [*args, *[None] * (6 - len(args))]
            return self.add("attention", *[self.operand(a) for a in (query, key, value, mask, scale)],
                            causal=bool(causal))  # fmt: skip
        if name == "rnn":
            relu = bool(args.pop())
            return self.add("rnn", *[self.operand(a) for a in args], relu=relu)
        return self.add(name, *[self.operand(a) for a in args])

    # -- norms

    def op_native_layer_norm(self, node: Any, input: Any, normalized_shape: Any, weight: Any,
                             bias: Any, eps: Any) -> list[Operand]:  # fmt: skip
        axes = len(normalized_shape)
        made = self.add("layer_norm", self.operand(input), self.operand(weight),
                        self.operand(bias), self.number(eps), axes=axes)  # fmt: skip
        return [made, None, None]

    def normalized(self, x: Operand, axes: list[int], eps: Any) -> tuple[str, str, str]:
        """(x - mean) / sqrt(var + eps); also the mean and the variance, where `axes` have size 1."""
        mean = self.add("mean", x, dim=axes, keepdim=True)
        var = self.add("var", x, dim=axes, correction=0, keepdim=True)
        scale = self.add("rsqrt", self.add("add", var, self.number(eps)))
        return self.add("mul", self.add("sub", x, mean), scale), mean, var

    def affine(self, x: Operand, weight: Any, bias: Any, shape: list[str | int]) -> Operand:
        for op, by in (("mul", weight), ("add", bias)):
            if by is not None:
                x = self.add(op, x, self.add("reshape", self.operand(by), shape=shape))
        return x

    def op_native_group_norm(self, node: Any, input: Any, weight: Any, bias: Any, N: Any, C: Any,
                             HxW: Any, group: Any, eps: Any) -> list[Operand]:  # fmt: skip
        shape = self.shape(input)
        groups = self.value_of(group)
        split = [shape[0], groups, shape[1] // groups, *shape[2:]]
        x = self.add("reshape", self.operand(input), shape=self.dims(split))
        made, _, _ = self.normalized(x, list(range(2, len(split))), eps)
        made = self.add("reshape", made, shape=self.dims(shape))
        channel = self.dims([1, shape[1], *[1] * (len(shape) - 2)])
        return [self.affine(made, weight, bias, channel), None, None]

    def batch_norm(self, input: Any, weight: Any, bias: Any, eps: Any) -> tuple[Operand, str, str]:
        shape = self.shape(input)
        axes = [d for d in range(len(shape)) if d != 1]
        made, mean, var = self.normalized(self.operand(input), axes, eps)
        channel = self.dims([1, shape[1], *[1] * (len(shape) - 2)])
        return self.affine(made, weight, bias, channel), mean, var

    def op_native_batch_norm_legit_functional(
        self, node: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
        training: bool, momentum: Any, eps: Any,
    ) -> list[Operand]:  # fmt: skip
        if not training:
            made = self.op_native_batch_norm_legit_no_training(
                node, input, weight, bias, running_mean, running_var, momentum, eps)  # fmt: skip
            return [*made, self.operand(running_mean), self.operand(running_var)]
        shape = self.shape(input)
        made, mean, var = self.batch_norm(input, weight, bias, eps)
        flat = self.dims([shape[1]])
        count = 1
        for d, s in enumerate(shape):
            count = count * s if d != 1 else count
        mean = self.add("reshape", mean, shape=flat)
        var = self.add("reshape", var, shape=flat)
        unbiased = self.add("div", self.add("mul", var, self.number(count)), self.number(count - 1))
        new = []
        for old, now in ((running_mean, mean), (running_var, unbiased)):
            kept = self.add("mul", self.operand(old), self.number(1 - momentum))
            new.append(self.add("add", kept, self.add("mul", now, self.number(momentum))))
        return [made, None, None, *new]

    def op_native_batch_norm_legit(self, node: Any, input: Any, weight: Any, bias: Any,
                                   training: bool, momentum: Any, eps: Any, running_mean: Any = None,
                                   running_var: Any = None) -> list[Operand]:  # fmt: skip
        return [self.batch_norm(input, weight, bias, eps)[0], None, None]

    def op_native_batch_norm_legit_no_training(
        self, node: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
        momentum: Any, eps: Any,
    ) -> list[Operand]:  # fmt: skip
        shape = self.shape(input)
        channel = self.dims([1, shape[1], *[1] * (len(shape) - 2)])
        mean = self.add("reshape", self.operand(running_mean), shape=channel)
        var = self.add("reshape", self.operand(running_var), shape=channel)
        # Libraries fold the statistics into one factor and one term: x * scale + shift. We write this form,
        # so that the tolerance allows its roundings.
        scale = self.add("rsqrt", self.add("add", var, self.number(eps)))
        if weight is not None:
            scale = self.add("mul", scale, self.add("reshape", self.operand(weight), shape=channel))
        shift = self.add("neg", self.add("mul", mean, scale))
        if bias is not None:
            shift = self.add("add", self.add("reshape", self.operand(bias), shape=channel), shift)
        return [self.add("add", self.add("mul", self.operand(input), scale), shift), None, None]

    # -- pooling

    def pool(self, input: Any, *rest: Any) -> tuple[str, list[int]]:
        return self.pool_of(self.operand(input), self.shape(input), *rest)

    def pool_of(self, x: Operand, shape: list[Any], kernel: Any, stride: Any, padding: Any,
                dilation: Any, ceil_mode: bool, fill: Operand, n: int,
                ) -> tuple[str, list[int]]:  # fmt: skip
        """The windows of a pooling, as n further axes at the end."""
        rank = len(shape)
        size = self.all_fixed(kernel, n, "a kernel size")
        step = self.all_fixed(stride, n, "a stride") if stride else size
        pads = self.all_fixed(padding, n, "padding")
        holes = self.all_fixed(dilation, n, "a dilation")
        after = [
            p + self.extra(s, p, k, t, d) if ceil_mode else p
            for s, p, k, t, d in zip(shape[rank - n :], pads, size, step, holes)
        ]
        for s, p, k, d in zip(shape[rank - n :], pads, size, holes):
            self.at_least(s + 2 * p, d * (k - 1) + 1)
            self.at_least(s, k)
        if any(pads) or any(after):
            none = [0] * (rank - n)
            x = self.add("pad", x, fill, before=none + pads, after=none + after)
        for i in range(n):
            x = self.windows(x, rank - n + i, size[i], step[i], holes[i])
        return x, list(range(rank, rank + n))

    def extra(self, size: Any, pad: int, kernel: int, step: int, dilation: int) -> int:
        """How much more padding ceil_mode needs behind the input. It must not depend on sizes."""
        s = self.fixed(size, "the padding of a pooling with ceil_mode")
        span = s + 2 * pad - dilation * (kernel - 1) - 1
        more = -(-span // step) * step - span
        if more and (-(-span // step)) * step >= s + pad:  # the last window must start in the input
            more = 0
        return more

    def max_pool(self, node: Any, n: int, input: Any, kernel_size: Any, stride: Any, padding: Any,
                 dilation: Any, ceil_mode: bool) -> list[Operand]:  # fmt: skip
        low = {"number": "-inf"}
        x, axes = self.pool(input, kernel_size, stride, padding, dilation, ceil_mode, low, n)
        made = self.add("amax", x, dim=axes, keepdim=False)
        used = any(u.args[1] == 1 and u.users for u in node.users if len(u.args) > 1)
        if not used:
            return [made, None]
        return [made, self.places(node, n, x, input, kernel_size, stride, padding, dilation)]

    def places(self, node: Any, n: int, x: str, input: Any, kernel: Any, stride: Any, padding: Any,
               dilation: Any) -> Operand:  # fmt: skip
        """Where in its plane the largest element of each window is; of several, the first."""
        out, shape = list(node.meta["val"][0].shape), self.shape(input)
        lead = len(out) - n
        size = self.all_fixed(kernel, n, "a kernel size")
        step = self.all_fixed(stride, n, "a stride") if stride else size
        pads, holes = self.all_fixed(padding, n, "padding"), self.all_fixed(dilation, n, "a dilation")
        flat = self.add("reshape", x, shape=[*self.dims(out), product(size)])
        at: Operand = self.add("argmax", flat, dim=[len(out)], keepdim=False)
        place: Operand = 0
        for d in range(n):
            inner = product(size[d + 1 :])
            here = self.add("remainder", self.add("floor_divide", at, inner), size[d])
            begin = self.add("iota", shape=self.dims([out[lead + d]]))
            begin = self.add("reshape", begin, shape=[*self.dims([out[lead + d]]), *[1] * (n - 1 - d)])
            begin = self.add("sub", self.add("mul", begin, step[d]), pads[d])
            here = self.add("add", self.add("mul", here, holes[d]), begin)
            if d:
                place = self.add("add", self.add("mul", place, self.number(shape[lead + d])), here)
            else:
                place = here
        return place

    def op_max_pool2d_with_indices(self, node: Any, **a: Any) -> list[Operand]:
        return self.max_pool(node, 2, **a)

    def op_max_pool3d_with_indices(self, node: Any, **a: Any) -> list[Operand]:
        return self.max_pool(node, 3, **a)

    def avg_pool(self, node: Any, n: int, input: Any, kernel_size: Any, stride: Any, padding: Any,
                 ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: Any = None) -> Operand:  # fmt: skip
        x, axes = self.pool(input, kernel_size, stride, padding, 1, ceil_mode, 0, n)
        total = self.add("sum", x, dim=axes, keepdim=False)
        pads = self.all_fixed(padding, n, "padding")
        if divisor_override:
            return self.add("div", total, self.number(divisor_override))
        if not ceil_mode and (count_include_pad or not any(pads)):
            size = self.all_fixed(kernel_size, n, "a kernel size")
            return self.add("div", total, math.prod(size))
        shape = self.shape(input)
        ones = self.add("cast", 1, dtype=self.dtype(self.value_of(input)))
        ones = self.add("expand", ones, shape=self.dims(shape))
        if count_include_pad and any(pads):  # count the user's padding, not that of ceil_mode
            none = [0] * (len(shape) - n)
            ones = self.add("pad", ones, 1, before=none + pads, after=none + pads)
            shape = [s if d < len(shape) - n else s + 2 * pads[d - len(shape) + n]
                     for d, s in enumerate(shape)]  # fmt: skip
            padding = 0
        count, axes = self.pool_of(ones, shape, kernel_size, stride, padding, 1, ceil_mode, 0, n)
        return self.add("div", total, self.add("sum", count, dim=axes, keepdim=False))

    def op_avg_pool1d(self, node: Any, **a: Any) -> Operand:
        return self.avg_pool(node, 1, **a)

    def op_avg_pool2d(self, node: Any, **a: Any) -> Operand:
        return self.avg_pool(node, 2, **a)

    def op_avg_pool3d(self, node: Any, **a: Any) -> Operand:
        return self.avg_pool(node, 3, **a)

    def adaptive(self, reduce: str, n: int, input: Any, output_size: Any) -> Operand:
        """Adaptive pooling of the last n axes. Each window is a product of ranges, one for each axis, so we
        reduce one axis after the other."""
        shape, rank = self.shape(input), len(self.shape(input))
        want = list(self.value_of(output_size)) if isinstance(output_size, (list, tuple)) else [output_size]
        made = self.operand(input)
        for i in range(n):
            d, size = rank - n + i, shape[rank - n + i]
            out = size if want[i] is None else self.fixed(want[i], "an output size")
            if self.same(size, out):
                continue
            before = [*shape[: rank - n], *[want[k] or shape[rank - n + k] for k in range(i)]]
            behind = shape[d + 1 :]
            if out == 1:
                made = self.add(reduce, made, dim=[d], keepdim=True)
            elif self.is_multiple(size, out):
                split = self.dims([*before, out, size // out, *behind])
                made = self.add("reshape", made, shape=split)
                made = self.add(reduce, made, dim=[d + 1], keepdim=False)
            else:
                made = self.uneven(reduce, made, rank, d, size, out)
        return made

    def uneven(self, reduce: str, x: Operand, rank: int, d: int, size: Any, out: int) -> Operand:
        whole = self.fixed(size, "adaptive pooling whose windows differ in size")
        parts = []
        for k in range(out):
            low, high = k * whole // out, -(-(k + 1) * whole // out)
            part = self.part(x, rank, d, low, high - low)
            parts.append(self.add(reduce, part, dim=[d], keepdim=True))
        made = parts[0]
        for part in parts[1:]:
            made = self.add("cat", made, part, dim=[d])
        return made

    def same(self, a: Any, b: Any) -> bool:
        return bool(self.sizes.expression(a) == self.sizes.expression(b))

    def is_multiple(self, size: Any, n: int) -> bool:
        e = self.sizes.expression(size)
        return bool(e % n == 0) if e.is_Integer else bool(self.sizes.env.evaluate_expr(sympy.Eq(
            torch.utils._sympy.functions.Mod(e, n), 0)))  # fmt: skip

    def op_adaptive_avg_pool2d(self, node: Any, input: Any, output_size: Any) -> Operand:
        return self.adaptive("mean", 2, input, output_size)

    def op_adaptive_avg_pool3d(self, node: Any, input: Any, output_size: Any) -> Operand:
        return self.adaptive("mean", 3, input, output_size)

    def op_adaptive_avg_pool1d(self, node: Any, input: Any, output_size: Any) -> Operand:
        return self.adaptive("mean", 1, input, output_size)

    def op_adaptive_max_pool2d(self, node: Any, input: Any, output_size: Any) -> list[Operand]:
        return [self.adaptive("amax", 2, input, output_size), None]

    def op_adaptive_max_pool3d(self, node: Any, input: Any, output_size: Any) -> list[Operand]:
        return [self.adaptive("amax", 3, input, output_size), None]

    def op_bucketize(self, node: Any, input: Any, boundaries: Any, out_int32: bool = False,
                     right: bool = False) -> str:  # fmt: skip
        return self.op_searchsorted(node, boundaries, input, out_int32, right)

    def op_searchsorted(self, node: Any, sorted_sequence: Any, input: Any, out_int32: bool = False,
                        right: bool = False, side: Any = None, sorter: Any = None) -> str:  # fmt: skip
        """Counts the elements of the sorted row that come before each value. A NaN comes after all."""
        if sorter is not None:
            raise self.refuse("Hone knows searchsorted only without a sorter")
        right = bool(right) or side == "right"
        row = self.shape(sorted_sequence)
        values = self.shape(input) if isinstance(input, torch.fx.Node) else []
        at = self.origin_of(sorted_sequence)
        if at is not None and at.op == "placeholder":
            self.captured.ordered.add(str(self.of[at]))
        one = values and len(row) > 1  # a row for each row of values
        b = self.add("reshape", self.tensor(sorted_sequence), shape=self.dims(
            [*row[:-1], 1, row[-1]] if one else [*[1] * len(values), row[-1]]))  # fmt: skip
        v: Operand = self.operand(input)
        if values:
            v = self.add("reshape", self.tensor(input), shape=self.dims([*values, 1]))
        before = self.add("logical_not", self.add("lt" if right else "le", v, b))
        made = self.add("sum", before, dim=[len(values)], keepdim=False)
        return self.add("cast", made, dtype="int32") if out_int32 else made

    # -- by index

    @staticmethod
    def origin_of(index: Any) -> Any:
        """The input, constant or result of arithmetic that an index is a view or a copy of."""
        at = index
        while isinstance(at, torch.fx.Node) and at.op == "call_function" and at.args:
            name = str(at.target).split(".")[1] if "." in str(at.target) else ""
            if name not in ("view", "reshape", "unsqueeze", "squeeze", "expand", "clone", "_to_copy",
                            "lift_fresh_copy", "alias", "detach"):  # fmt: skip
                break
            at = at.args[0]
        return at if isinstance(at, torch.fx.Node) else None

    def constant_of(self, node: Any) -> Any:
        """The tensor of constants that a node stands for. None if it stands for something else."""
        if node is None or node.op != "get_attr":
            return None
        made = getattr(self.captured.graph, str(node.target))
        return made if isinstance(made, torch.Tensor) and not is_fake(made) else None

    def may_be_negative(self, index: Any) -> bool:
        """Could an index count from the end, as -1 does? Hone draws no such inputs."""
        at = self.origin_of(index)
        made = self.constant_of(at)
        if made is not None:
            return bool(made.numel()) and int(made.min()) < 0
        return at is not None and at.op == "call_function" and self.name_of(at) in ("add", "sub", "mul", "neg", "where")

    def sources_of(self, index: Any) -> list[Any]:
        """The inputs, constants and results of arithmetic from which an index takes its values: origin_of() also
        through parts of a tensor and through the choices of torch.where."""
        at = self.origin_of(index)
        if at is None or at.op != "call_function":
            return [] if at is None else [at]
        if self.name_of(at) in ("slice", "select", "permute", "transpose", "t", "flip"):
            return self.sources_of(at.args[0])
        if self.name_of(at) == "where":
            return [s for branch in at.args[1:] for s in self.sources_of(branch)]
        return [at]

    def hold_below(self, index: Any, size: Any) -> None:
        """Makes sure that the index stays below the size. If the index is an input whose bound is another
        size or a number below the size, or a constant of the file, adds a condition. If its bound is not known,
        or is the size as a number, fixes the size."""
        for at in self.sources_of(index):
            made = self.constant_of(at)
            if made is not None and made.numel():
                self.at_least(size, max(int(made.max()) + 1, -int(made.min())))
            if at.op != "placeholder":
                continue
            high = self.captured.ranges.get(str(self.of[at]), (None, None))[1]
            if isinstance(high, torch.SymInt):
                self.at_least(size, high)
            if isinstance(high, int) and high < hint(size):
                self.at_least(size, high)
                continue
            if isinstance(size, torch.SymInt) and not isinstance(high, torch.SymInt):
                free = {n for n in self.names_in(size) if self.sizes.is_free(self.captured.axes[n])}
                if free:
                    raise NotFree(free, "an index must stay below it")

    def rows(self, input: Any, dim: int, index: Any, node: Any) -> str:
        """input[..., index, ...] for an index tensor of any rank."""
        self.hold_below(index, self.shape(input)[dim])
        made = self.operand(index)
        if len(self.shape(index)) != 1:
            made = self.add("reshape", made, shape=self.dims([product(self.shape(index))]))
        made = self.add("index_select", self.operand(input), made, dim=[dim])
        return self.add("reshape", made, shape=self.dims(node.meta["val"].shape))

    def op_embedding(self, node: Any, weight: Any, indices: Any, **rest: Any) -> str:
        return self.rows(weight, 0, indices, node)

    def op_embedding_bag(self, node: Any, weight: Any, indices: Any, offsets: Any,
                         mode: int = 0, per_sample_weights: Any = None,
                         include_last_offset: bool = False, padding_idx: int = -1,
                         **rest: Any) -> list[Operand]:  # fmt: skip
        if per_sample_weights is not None or padding_idx >= 0:
            raise self.refuse("Hone knows embedding_bag only without per_sample_weights and padding_idx")
        if isinstance(offsets, torch.fx.Node) and offsets.op == "placeholder":
            raise self.refuse("offsets of embedding_bag are an input: Hone cannot draw such data; "
                              "take indices of two axes")  # fmt: skip
        self.hold_below(indices, self.shape(weight)[0])
        at = self.operand(offsets)
        if not include_last_offset:
            t = self.value_of(offsets)
            end = self.full(self.number(self.shape(indices)[0]), t.new_empty([1]))
            at = self.add("cat", at, end, dim=[0])
        mode_name = ("sum", "mean", "max")[mode]
        made = self.add("embedding_bag", self.operand(indices), self.operand(weight), at, mode=mode_name)
        return [made, None, None, None]

    op_embedding_bag_forward_only = op_embedding_bag

    def op_index_select(self, node: Any, input: Any, dim: int, index: Any) -> str:
        return self.rows(input, dim % len(self.shape(input)), index, node)

    def op_index(self, node: Any, input: Any, indices: Any) -> str:
        used = [(d, i) for d, i in enumerate(indices) if i is not None]
        if any(self.value_of(i).dtype == torch.bool for _, i in used):
            raise self.refuse("indexing by a bool tensor: the size of the result depends on data")
        if len(used) == 1 and not self.may_be_negative(used[0][1]):
            return self.rows(input, used[0][0], used[0][1], node)
        return self.by_several(node, input, used)

    def by_several(self, node: Any, input: Any, used: list[tuple[int, Any]]) -> str:
        """x[i, j]: the indexed axes become one axis, and the indices become one index into that axis."""
        shape, rank = self.shape(input), len(self.shape(input))
        axes = [d for d, _ in used]
        rest = [d for d in range(rank) if d not in axes]
        x = self.add("permute", self.operand(input), dims=axes + rest)
        n = product(shape[d] for d in axes)
        x = self.add("reshape", x, shape=self.dims([n, *[shape[d] for d in rest]]))
        index_shape = list(torch.broadcast_shapes(*[self.value_of(i).shape for _, i in used]))
        flat = self.flat_index(used, shape, index_shape)
        made = self.add("index_select", x, flat, dim=[0])
        made = self.add("reshape", made, shape=self.dims([*index_shape, *[shape[d] for d in rest]]))
        if axes != list(range(axes[0], axes[0] + len(axes))) or axes[0] == 0:
            return made  # the axes of the index come first
        k = len(index_shape)
        order = [*range(k, k + axes[0]), *range(k), *range(k + axes[0], k + len(rest))]
        return self.add("permute", made, dims=order)

    # -- writing by an index

    def op_index_put(self, node: Any, input: Any, indices: Any, values: Any,
                     accumulate: bool = False) -> str:  # fmt: skip
        used = [(d, i) for d, i in enumerate(indices) if i is not None]
        masks = [self.value_of(i).dtype == torch.bool for _, i in used]
        if len(used) == 1 and masks[0] and used[0][0] == 0 and not accumulate:
            return self.masked_put(input, used[0][1], values)
        if any(masks):
            raise self.refuse("writing by a bool tensor: how many elements it writes depends on data")
        if not accumulate:
            return self.put_distinct(input, used, values)
        shape, rank = self.shape(input), len(self.shape(input))
        first, last = used[0][0], used[-1][0] + 1
        if last - first != len(used):
            raise self.refuse("Hone cannot trace writing by indices of axes that are not side by side")
        index_shape = list(torch.broadcast_shapes(*[self.value_of(i).shape for _, i in used]))
        at = self.flat_index(used, shape, index_shape)
        before, within, after = shape[:first], shape[first:last], shape[last:rank]
        x = self.add("reshape", self.operand(input), shape=self.dims([*before, product(within), *after]))
        v = self.add("expand", self.operand(values), shape=self.dims([*before, *index_shape, *after]))
        v = self.add("reshape", v, shape=self.dims([*before, product(index_shape), *after]))
        made = self.add("index_add", x, at, v, dim=[first])
        return self.add("reshape", made, shape=self.dims(shape))

    op_unsafe_index_put = op_index_put

    def put_distinct(self, input: Any, used: list[tuple[int, Any]], values: Any) -> str:
        """x[..., i, ...] = v if no two indices can name one element: there is one index (a step of a KV cache),
        or all indices but one count from 0 to the end of their axis (x[torch.arange(B), label] = v). Each
        element compares its place with the index."""
        shape, rank = self.shape(input), len(self.shape(input))
        index_shape = list(torch.broadcast_shapes(*[self.value_of(i).shape for _, i in used]))
        first, last = used[0][0], used[-1][0] + 1
        counts = [(d, i) for d, i in used if self.is_count(i, shape[d])]
        others = [(d, i) for d, i in used if (d, i) not in counts]
        one = self.same(product(index_shape), 1)
        if not one and (len(index_shape) != 1 or len(counts) != 1 or len(others) != 1):
            raise self.refuse("writing by an index: if it names an element twice, either write may win")
        if last - first != len(used):
            raise self.refuse("Hone cannot trace writing by indices of axes that are not side by side")
        # Here `count` is the axis that the values lie along.
        count = counts[0][0] if not one else -1
        hit: Operand = None
        for d, i in used if one else others:
            self.hold_below(i, shape[d])
            here = self.tensor(i)
            if self.may_be_negative(i):
                here = self.add("where", self.add("lt", here, 0), self.add("add", here, self.number(shape[d])), here)
            along = [1] * rank
            if not one:
                along[count] = shape[count]
            place = self.add("reshape", self.add("iota", shape=self.dims([shape[d]])),
                             shape=self.dims([shape[d] if k == d else 1 for k in range(rank)]))  # fmt: skip
            same = self.add("eq", place, self.add("reshape", here, shape=self.dims(along)))
            hit = same if hit is None else self.add("logical_and", hit, same)
        # The values have the axes before the indices, those of the index, and those after them.
        written = [*shape[:first], *index_shape, *shape[last:]]
        v = self.add("expand", self.tensor(values), shape=self.dims(written))
        v = self.add("reshape", v, shape=self.dims(
            [1 if first <= k < last and k != count else shape[k] for k in range(rank)]))  # fmt: skip
        return self.add("where", hit, v, self.operand(input))

    def is_count(self, index: Any, size: Any) -> bool:
        """Is the index 0, 1, ... up to the end of an axis of this size?"""
        at = self.origin_of(index)
        made = self.constant_of(at)
        if made is not None:
            return made.dim() == 1 and self.same(size, len(made)) and made.tolist() == list(range(len(made)))
        if at is None or at.op != "call_function" or self.name_of(at) != "arange":
            return False
        bound = self.arguments(at)
        return (bound.get("start", 0) in (0, None) and bound.get("step", 1) in (1, None)
                and self.same(self.shape(at)[0], size))  # fmt: skip

    def masked_put(self, input: Any, mask: Any, values: Any) -> str:
        """x[mask] = v for one value v."""
        if product(self.value_of(values).shape) != 1:
            raise self.refuse("writing several values by a bool tensor: where they go depends on data")
        shape, m = self.shape(input), self.operand(mask)
        ranks = len(shape) - len(self.shape(mask))
        if ranks:
            m = self.add("reshape", m, shape=self.dims([*self.shape(mask), *[1] * ranks]))
        v = self.add("reshape", self.operand(values), shape=[1] * len(shape))
        return self.add("where", m, v, self.operand(input))

    def flat_index(self, used: list[tuple[int, Any]], shape: list[Any],
                   index_shape: list[Any]) -> str:  # fmt: skip
        """Several indices as one index into the indexed axes, as a vector."""
        at: Operand = None
        for d, i in used:
            self.hold_below(i, shape[d])
            here, size = self.operand(i), self.number(shape[d])
            here = self.add("where", self.add("lt", here, 0), self.add("add", here, size), here)
            at = here if at is None else self.add("add", self.add("mul", at, size), here)
        made = self.add("expand", at, shape=self.dims(index_shape))
        return self.add("reshape", made, shape=self.dims([product(index_shape)]))

    def op_index_add(self, node: Any, input: Any, dim: int, index: Any, source: Any,
                     alpha: Any = 1) -> str:  # fmt: skip
        v = self.operand(source)
        if alpha != 1:
            v = self.add("mul", v, self.number(alpha))
        at = dim % len(self.shape(input))
        self.hold_below(index, self.shape(input)[at])
        return self.add("index_add", self.operand(input), self.operand(index), v, dim=[at])

    def op_scatter_add(self, node: Any, input: Any, dim: int, index: Any, src: Any) -> str:
        """Writes scatter_add as index_add: all elements of the input become one axis, and the index becomes
        an index into that axis."""
        shape, at = self.shape(input), self.shape(index)
        self.hold_below(index, shape[dim % len(shape)])
        v = self.operand(src)
        for d, (have, want) in enumerate(zip(self.shape(src), at)):
            self.at_least(have, want)
            if d != dim % len(shape):
                self.at_least(shape[d], want)
            if self.dims([have]) != self.dims([want]):
                v = self.add("slice", v, dim=[d], start=0, length=self.dims([want])[0], step=1)
        flat: Operand = 0
        for d, size in enumerate(shape):
            if d == dim % len(shape):
                here = self.operand(index)
            else:
                here = self.add("iota", shape=self.dims([at[d]]))
                here = self.add("reshape", here,
                                shape=[*[1] * d, *self.dims([at[d]]), *[1] * (len(shape) - d - 1)])  # fmt: skip
            flat = here if d == 0 else self.add("add", self.add("mul", flat, self.number(size)), here)
        n = product(at)
        made = self.add("index_add", self.add("reshape", self.operand(input), shape=self.dims([product(shape)])),
                        self.add("reshape", flat, shape=self.dims([n])),
                        self.add("reshape", v, shape=self.dims([n])), dim=[0])  # fmt: skip
        return self.add("reshape", made, shape=self.dims(shape))

    def op_scatter_reduce(self, node: Any, input: Any, dim: int, index: Any, src: Any, reduce: str,
                          include_self: bool = True) -> str:  # fmt: skip
        if reduce in ("amax", "amin") and input.meta["val"].dtype.is_floating_point:
            return self.scatter_extreme(input, dim, index, src, reduce, include_self)
        if reduce != "sum" or not include_self:
            raise self.refuse("Hone knows scatter_reduce only with 'sum' and include_self, and with 'amax' and "
                              f"'amin' of floats, not {reduce!r}")  # fmt: skip
        return self.op_scatter_add(node, input, dim, index, src)

    def scatter_extreme(self, input: Any, dim: int, index: Any, src: Any, reduce: str,
                        include_self: bool) -> str:  # fmt: skip
        """Each element is the extreme of those whose index names it."""
        d, at = dim % len(self.shape(input)), self.shape(index)
        last = [len(at)]
        hit = self.hits(input, d, index)
        least = {"number": "-inf" if reduce == "amax" else "inf"}
        v = self.add("where", hit, self.along_last(src, d, at), least)
        v = self.add(reduce, v, dim=last, keepdim=False)
        if include_self:
            return self.add("maximum" if reduce == "amax" else "minimum", self.operand(input), v)
        return self.add("where", self.add("any", hit, dim=last, keepdim=False), v, self.operand(input))

    def hits(self, input: Any, d: int, index: Any) -> str:
        """Which indices of its row name an element: along a further axis, each element looks at all of them."""
        shape, at = self.shape(input), self.shape(index)
        self.hold_below(index, shape[d])
        if any(self.dims([a]) != self.dims([b]) for i, (a, b) in enumerate(zip(at, shape)) if i != d):
            raise self.refuse("Hone cannot trace scatter with an index smaller than its input along other axes")
        place = [*[1] * d, *self.dims([shape[d]]), *[1] * (len(shape) - d - 1)]
        iota = self.add("reshape", self.add("iota", shape=self.dims([shape[d]])), shape=[*place, 1])
        return self.add("eq", iota, self.along_last(index, d))

    def op_scatter(self, node: Any, input: Any, dim: int, index: Any, src: Any = None,
                   value: Any = None, reduce: Any = None) -> str:  # fmt: skip
        """Accepts a scatter if no two writes of different values can meet in one element."""
        shape, at = self.shape(input), self.shape(index)
        d = dim % len(shape)
        if reduce is not None:
            raise self.refuse("Hone does not know scatter with a reduction: use scatter_add")
        one = self.dims([at[d]]) == [1]
        if not one and value is None and not self.has_distinct(index, d):
            raise self.refuse("scatter with several indices in a row: if two are equal, either write may win")
        hit = self.hits(input, d, index)
        v = self.operand(src if value is None else value)
        last = [len(shape)]
        if one:
            hit = self.add("reshape", hit, shape=self.dims(shape))
            if value is None:
                v = self.add("reshape", self.along_last(src, d, at), shape=self.dims(at))
            return self.add("where", hit, v, self.operand(input))
        if value is None and input.meta["val"].dtype.is_floating_point:  # a maximum does not round, a sum may
            rows = self.add("where", hit, self.along_last(src, d, at), {"number": "-inf"})
            v = self.add("amax", rows, dim=last, keepdim=False)
        elif value is None:
            rows = self.add("where", hit, self.along_last(src, d, at), 0)
            v = self.add("cast", self.add("sum", rows, dim=last, keepdim=False), dtype=self.dtype(input.meta["val"]))
        return self.add("where", self.add("any", hit, dim=last, keepdim=False), v, self.operand(input))

    def along_last(self, input: Any, d: int, sizes: Any = None) -> str:
        """Moves axis d to the end, and puts an axis of size 1 in its place. If `sizes` is given, keeps only the
        first sizes[i] elements along each axis i."""
        shape = self.shape(input)
        x: Operand = self.operand(input)
        for i, n in enumerate(sizes or []):
            if self.dims([n]) != self.dims([shape[i]]):
                self.at_least(shape[i], n)
                x = self.add("slice", x, dim=[i], start=0, length=self.dims([n])[0], step=1)
        shape = list(sizes or shape)
        axes = [*[i for i in range(len(shape)) if i != d], d]
        x = self.add("permute", x, dims=axes) if axes != sorted(axes) else x
        shape.insert(d, 1)
        return self.add("reshape", x, shape=self.dims([*shape[:d + 1], *shape[d + 2:], shape[d + 1]]))

    def has_distinct(self, index: Any, d: int) -> bool:
        """Are the indices in a row along axis d distinct, because sort or topk made them?"""
        name = str(index.target).removeprefix("aten.").split(".")[0]
        if name in ("slice", "clone", "_to_copy", "alias"):
            return self.has_distinct(index.args[0], d)
        if index.target is not __import__("operator").getitem or index.args[1] != 1:
            return False
        order = index.args[0]
        name = str(order.target).removeprefix("aten.").split(".")[0]
        if name not in ("sort", "topk"):
            return False
        return int(self.arguments(order)["dim"]) % len(self.shape(index)) == d

    def op_diagonal(self, node: Any, input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> str:
        """The two axes become one, and the elements of the diagonal are chosen by an index."""
        shape, rank = self.shape(input), len(self.shape(input))
        a, b = dim1 % rank, dim2 % rank
        rest = [d for d in range(rank) if d not in (a, b)]
        x = self.add("permute", self.operand(input), dims=[*rest, a, b])
        x = self.add("reshape", x, shape=self.dims([*[shape[d] for d in rest], shape[a] * shape[b]]))
        at: Operand = self.add("iota", shape=self.dims([node.meta["val"].shape[-1]]))
        at = self.add("mul", at, self.number(shape[b] + 1))
        begin = offset if offset >= 0 else -offset * shape[b]
        at = self.add("add", at, self.number(begin))
        return self.add("index_select", x, at, dim=[len(rest)])

    def op_gather(self, node: Any, input: Any, dim: int, index: Any, **rest: Any) -> str:
        rank = len(self.shape(input))
        self.hold_below(index, self.shape(input)[dim % rank])
        return self.add("gather", self.operand(input), self.operand(index), dim=[dim % rank])


def product(sizes: Iterable[Any]) -> Any:
    """The product of sizes, which may be symbols."""
    n: Any = 1
    for s in sizes:
        n = n * s
    return n


def is_fake(t: torch.Tensor) -> bool:
    return type(t).__name__ == "FakeTensor"


# ---- how tensors are filled ------------------------------------------------------------------


def describe(t: torch.Tensor) -> dict[str, Any]:
    """How to draw tensors like this one: the `init` of a task (docs/data.md)."""
    if t.dtype == torch.bool:
        return {"dist": "int", "min": 0, "max": 1}
    if not t.dtype.is_floating_point:
        low, high = (int(t.min()), int(t.max())) if t.numel() else (0, 0)
        return {"dist": "int", "min": low, "max": high}
    x = t.detach().double().flatten()
    if not x.numel():
        return {"dist": "normal", "mean": 0.0, "std": 1.0}
    low, high = float(x.min()), float(x.max())
    if low == high:
        # If all weights were 1, or all biases 0, a kernel that leaves them out would pass. So we draw
        # numbers around the value.
        return {"dist": "uniform", "min": low - 0.25, "max": low + 0.25}
    mean, std = float(x.mean()), float(x.std()) if x.numel() > 1 else 0.0
    # A uniform distribution over [low, high] has the standard deviation (high - low) / sqrt(12).
    if x.numel() < 16 or abs(std * math.sqrt(12) / (high - low) - 1) < 0.12:
        if x.numel() >= 16:
            low, high = snap(low, high)
        return {"dist": "uniform", "min": low, "max": high}
    if (low >= 0 or high <= 0) and abs(mean) < 4 * std:
        # Probabilities, variances: the module may be undefined for the other sign, which a normal
        # distribution would draw too.
        return {"dist": "uniform", "min": low, "max": high}
    return {"dist": "normal", "mean": 0.0 if abs(mean) < std * 0.05 else mean, "std": std}


def snap(low: float, high: float) -> tuple[float, float]:
    """The range that the numbers were probably drawn from: [0, 1] for 0.00003 and 0.99998."""
    for a, b in ((0.0, 1.0), (-1.0, 1.0)):
        if abs(low - a) < 0.02 and abs(high - b) < 0.02:
            return a, b
    return low, high


def fill_parameters(source: Source, target: Target, sizes: dict[str, int]) -> dict[str, Any]:
    """Constructs the module for real, to see how its parameters and buffers are filled."""
    torch.manual_seed(42)
    model = target.make(source.load(dict(sizes)))
    if not isinstance(model, torch.nn.Module):
        return {}
    held = [*model.named_parameters(), *model.named_buffers()]
    return {task_name(name): describe(t) for name, t in held}


def fill_inputs(source: Source, target: Target, sizes: dict[str, int]) -> dict[str, Any]:
    torch.manual_seed(42)
    found: dict[str, Any] = {}
    drawn: list[tuple[torch.Tensor, Any, Any]] = []
    with noted_ranges(drawn):
        given = target.arguments(source.load(dict(sizes)))
    for name, a in zip(target.names, given):
        if isinstance(a, torch.Tensor):
            found[name] = describe(a)
            drawn_from = range_of(a, drawn)
            if drawn_from:
                found[name].update(beyond(a, *drawn_from))
    return found


def beyond(t: torch.Tensor, low: Any, high: Any) -> dict[str, Any]:
    """The values of t that do not come from its torch.randint(low, high), such as the -100 of a
    label to ignore, as the "special" values of a task (docs/data.md)."""
    values, counts = t[(t < low) | (t >= high)].unique(return_counts=True)
    pairs = list(zip(values.tolist(), counts.tolist()))
    if not pairs or len(pairs) > 2:
        return {}
    return {"special": [{"value": v, "every": max(1, round(t.numel() / n))} for v, n in pairs]}


# ---- the program -----------------------------------------------------------------------------


# If the tensors have more elements together, they are made for real only at small() sizes.
LARGEST_FILL = 1 << 26


def small(sizes: dict[str, int]) -> dict[str, int]:
    """Sizes that take little memory: none is above 64."""
    return {n: v if v < 64 else 64 * math.gcd(v // 64, 1) for n, v in sizes.items()}


def elements(tensors: list[tuple[str, torch.Tensor]]) -> int:
    return sum(int(math.prod(int(s) for s in map(hint, t.shape))) for _, t in tensors)


def hint(size: Any) -> int:
    node = getattr(size, "node", None)
    return int(size) if node is None else int(node.hint)


def translated(
    captured: Captured, source: Source, outputs: list[str], notes: list[str]
) -> dict[str, Any]:
    """Writes the graph. A size that cannot be a symbol is fixed to its original value."""
    sizes = Sizes(captured)
    equal = sizes.pin_equations()
    sizes.multiples()
    if equal:
        notes.append(f"{', '.join(sorted(equal))}: fixed, because an equation of sizes holds there")
    while True:
        try:
            return Translation(captured, source).run(outputs)
        except NotFree as e:
            fixed = {n for n in e.names if captured.axes[n] not in captured.pins}
            if not fixed:
                raise Refused(e.why) from None
            notes.append(f"{', '.join(sorted(fixed))}: fixed, because {e.why}")
            for n in fixed:
                sizes.pin(captured.axes[n])


def trace(request: dict[str, Any]) -> dict[str, Any]:
    source = Source(request["file"])
    declared = request.get("inputs") or {}
    target = find_target(source, request.get("name") or "", declared)
    free = {} if request.get("only_declared") else dict(source.sizes())
    for text in declared.values():
        for d in re.findall(r"[A-Za-z_]\w*", text.partition("[")[2]):
            given = (request.get("sizes") or {}).get(d)
            free[d] = int(given) if given else free.get(d, 64)
            source.declared[d] = free[d]
    original = dict(free)
    notes: list[str] = []
    for n in request.get("fixed") or []:
        free.pop(n, None)
        notes.append(f"{n}: fixed, because Hone's shape rules cannot follow it")
    real = False
    while True:
        try:
            captured, outputs = capture(source, target, free, real)
            graph = translated(captured, source, outputs, notes)
            break
        except Refused:
            raise
        except Exception as e:
            if not real and looks_at_data(e):
                real = True
                notes.append("the module was made at its original sizes: its constructor reads data")
                continue
            if not free:
                raise
            # A small integer is often not a size, so fix the small ones first.
            rest = {n: v for n, v in free.items() if v >= 16}
            gone = [n for n in free if n not in rest] or list(free)
            notes.append(f"{', '.join(gone)}: fixed, because tracing with symbols failed ({brief(e)})")
            for n in gone:
                del free[n]
    known = set(graph["axes"])
    sizes = Sizes(captured)
    code = {n: sizes.in_python(s) for n, s in captured.axes.items()}
    for n in free:
        if n not in known:
            notes.append(f"{n}: always {sizes.write(sizes.simplified(captured.axes[n]))}")
    init = {
        **fill_facts(fill_parameters, captured.parameters, source, target, original, notes),
        **fill_facts(fill_inputs, captured.inputs, source, target, original, notes),
    }
    for n in captured.ordered & set(init):
        if init[n]["dist"] == "normal":
            spread = 3 * init[n]["std"]
            init[n] = {"min": init[n]["mean"] - spread, "max": init[n]["mean"] + spread}
        init[n]["dist"] = "sorted"
    for n, (low, high) in captured.ranges.items():
        if init.get(n, {}).get("dist") == "int" and high is not None:
            init[n].update(min=sizes.text(low), max=sizes.text(high - 1))
    return {
        "graph": graph,
        "sizes": {n: v for n, v in original.items() if n in known},
        "init": init,
        "torch": baseline(source, target, captured, code, [i["name"] for i in graph["inputs"]]),
        "origin": origin(target, captured, graph) if target.is_class else None,
        "notes": notes,
        "files": sorted({source.path, *(path for path, _ in modules_beside(source).values())}),
    }


def modules_beside(source: Source) -> dict[str, tuple[str, bool]]:
    """The modules that the user's file imports from its folder: name -> (path, is a package)."""
    folder = os.path.dirname(source.path) + os.sep
    installed = tuple(os.path.abspath(p) + os.sep for p in {sys.prefix, sys.base_prefix})
    found = {}
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None) or ""  # torch.ops has "_ops.py", which is no file
        if name != "hone_import" and path.endswith(".py") and path.startswith(folder):
            if os.path.isfile(path) and not path.startswith(installed):
                found[name] = (path, hasattr(module, "__path__"))
    return found


# A baseline must run without the user's folder. So it brings the modules of that folder along.
BESIDE = """# ---- added by hone import: the modules beside {file}
import importlib.abc
import importlib.util
import sys


class ModulesBeside(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    texts = {texts}

    def find_spec(self, name, path=None, target=None):
        if name in self.texts:
            return importlib.util.spec_from_loader(name, self, is_package=self.texts[name][1])

    def exec_module(self, module):
        exec(compile(self.texts[module.__name__][0], module.__name__, "exec"), module.__dict__)


for name in ModulesBeside.texts:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, ModulesBeside())

# ---- {file}
"""


def with_modules(source: Source, text: str) -> str:
    """The text of the user's file. The modules beside it are inserted after its docstring and its
    imports from __future__."""
    beside = modules_beside(source)
    if not beside:
        return text
    texts = {}
    for name, (path, is_package) in beside.items():
        with open(path, encoding="utf-8") as f:
            texts[name] = (f.read(), is_package)
    line = 0
    for node in ast.parse(text).body:
        is_doc = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_doc and getattr(node, "module", "") != "__future__":
            break
        line = node.end_lineno or 0
    lines = text.splitlines(keepends=True)
    own = os.path.basename(source.path)
    prelude = BESIDE.format(file=own, texts=as_python(texts))
    return "".join(lines[:line]) + prelude + "".join(lines[line:])


def as_python(texts: dict[str, tuple[str, bool]]) -> str:
    return "{" + "".join(f"\n        {n!r}: {t!r}," for n, t in texts.items()) + "\n    }"


def origin(target: Target, captured: Captured, graph: dict[str, Any]) -> dict[str, Any]:
    """How the module and the task belong together, for an export (src/export/origin.h)."""
    taken = {i["name"] for i in graph["inputs"]}
    state = {n: task_name(n) for n, _ in captured.parameters}
    return {
        "class": target.name,
        "arguments": [n for n, _ in captured.inputs if n in taken],
        "state": {n: t for n, t in state.items() if t in taken},
        "updates": {n: task_name(n) for n in captured.changed},
    }


# Functions that a baseline needs. They are text because this program has no file to read them from.
FLAT = """def flat(result):
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [t for part in result for t in flat(part)]
    return [] if result is None else [result]


"""


def baseline(
    source: Source, target: Target, captured: Captured, code: dict[str, str], taken: list[str]
) -> str:
    """The user's file as a PyTorch baseline: sizes come from SIZES, and run() takes all inputs."""

    def argument(name: str, v: Any) -> str:
        if isinstance(v, torch.Tensor):
            return name if name in taken else "None"
        return repr(v)

    call = ", ".join(argument(n, v) for n, v in captured.arguments)
    text = with_modules(source, source.baseline(code)).rstrip()
    text += "\n\n\n# ---- added by hone import\n\n"
    head = f"def run({', '.join(taken)}):\n"
    if captured.changed or not captured.is_plain:
        text += FLAT
    if not target.is_module:
        made = f"{target.name}({call})"
        return text + head + f"    return {made if captured.is_plain else f'flat({made})'}\n"
    names = [(n, task_name(n)) for n, _ in captured.parameters]
    held = "".join(f"        {n!r}: {t},\n" for n, t in names if t in taken)
    # A task lists its inputs before its outputs. So an input that forward changes comes before the
    # results.
    updated = "".join(f"held[{n!r}], " for n in captured.changed if task_name(n) in taken)
    made = "".join(f", held[{n!r}]" for n in captured.changed if task_name(n) not in taken)
    # Tensors that the results do not need still take part in forward, so they must have the dtype of
    # the inputs.
    tensors = {**dict(captured.inputs), **{task_name(n): t for n, t in captured.parameters}}
    like = next((n for n in taken if tensors[n].dtype.is_floating_point), None)
    rest = ""
    if like and any(t not in taken for _, t in names):
        rest = ("    rest = [*model.named_parameters(), *model.named_buffers()]\n"
                f"    held.update({{n: t.to({like}) for n, t in rest\n"
                "                 if n not in held and t.is_floating_point()})\n")  # fmt: skip
    lines = [
        "    held = {\n" + held + "    }\n" + rest,
        f"    result = torch.func.functional_call(model, held, ({call}{',' if call else ''}))\n",
        "    result = flat(result)\n" if captured.changed or not captured.is_plain else "",
        f"    return ({updated}*result{made})\n" if captured.changed else "    return result\n",
    ]
    hooks = ""
    if captured.is_recurrent:
        hooks = FRESH_WEIGHTS.lstrip() + (
            "\n\nfor part in model.modules():\n"
            "    if isinstance(part, torch.nn.RNNBase):\n"
            "        part.register_forward_pre_hook(fresh_weights)\n\n\n")  # fmt: skip
    return text + f"model = {target.construction}\n\n\n" + hooks + head + "".join(lines)


def fill_facts(
    fill: Callable[[Source, Target, dict[str, int]], dict[str, Any]],
    tensors: list[tuple[str, torch.Tensor]],
    source: Source,
    target: Target,
    sizes: dict[str, int],
    notes: list[str],
) -> dict[str, Any]:
    attempts = [small(sizes)]
    if elements(tensors) <= LARGEST_FILL:
        attempts.insert(0, sizes)
    why = ""
    for attempt in attempts:
        try:
            return fill(source, target, attempt)
        except Exception as e:
            why = brief(e)
    notes.append(f"tensors could not be made with real data ({why}), so they get normally distributed values")
    return {}


def looks_at_data(e: BaseException) -> bool:
    return "Unbacked" in type(e).__name__ or "DataDependent" in type(e).__name__


def brief(e: BaseException) -> str:
    lines = str(e).strip().splitlines()
    return f"{type(e).__name__}: {lines[0] if lines else ''}"[:200]


def main(argv: list[str]) -> int:
    import warnings

    warnings.filterwarnings("ignore")
    request = json.loads(argv[1])
    answer: dict[str, Any]
    source_path = os.path.abspath(request["file"])
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the user's file prints goes to stderr
    try:
        answer = trace(request)
    except Refused as e:
        answer = {"refused": {"why": e.why, "line": e.line or last_line(e, source_path)}}
    except BaseException as e:
        if isinstance(e, KeyboardInterrupt):
            raise
        answer = {"refused": {"why": reason(e), "line": last_line(e, source_path)}}
    json.dump(answer, out)
    out.write("\n")
    out.flush()
    return 0


def last_line(e: BaseException, path: str) -> int:
    """The last line of the user's file in the exception's traceback; 0 if there is none."""
    lines = [f.lineno or 0 for f in traceback.extract_tb(e.__traceback__) if f.filename == path]
    return lines[-1] if lines else 0


def torch_function(e: BaseException) -> str:
    """The function of PyTorch's library in which the exception arose. Empty if PyTorch's own operations, which
    the user's file calls, refused it."""
    for f in reversed(traceback.extract_tb(e.__traceback__)):
        where = f.filename.replace(os.sep, "/")
        if where.endswith("torch/nn/functional.py"):
            return f"torch.nn.functional.{f.name}"
        if where.endswith("torch/functional.py"):
            return f"torch.{f.name}"
    return ""


def reason(e: BaseException) -> str:
    if "mutating a non-functional tensor" in str(e):
        return "forward changes a tensor that it keeps between calls, and that is no buffer"
    if "DynamicOutputShape" in type(e).__name__:
        return f"PyTorch cannot tell the sizes of the results of {e} without data: write it with simpler operations"
    if looks_at_data(e) or "data-dependent" in str(e):
        inside = torch_function(e)
        if inside:
            return f"{inside} decides by the data of a tensor: write what it computes with simpler operations"
        return ("forward decides by the data of a tensor (an `if`, a loop or `.item()`): compute all cases, and "
                "choose with torch.where")  # fmt: skip
    if not torch.cuda.is_available() and re.search("CUDA (error|driver)|NVIDIA driver|compiled with CUDA", str(e)):
        return "it needs a GPU: leave out .cuda() and device=\"cuda\", because Hone traces without a GPU"
    if isinstance(e, ModuleNotFoundError) and e.name:
        return f"it needs the Python package '{e.name}', which {sys.executable} does not have"
    return f"PyTorch refuses it: {brief(e)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv))
