"""trace.py - reads what a PyTorch module computes and prints it as a graph (docs/import.md).

Hone runs this program in the user's own Python, in a child process with limits:

    python trace.py '{"file": "model.py", "name": "Model", "inputs": {}, "sizes": {}}'

The program executes the user's file. It prints one JSON object: the graph in the form of
schema/graph.json, and facts that a task needs (how inputs and parameters are filled, the original
sizes). If it refuses the module, the object is {"refused": {"why": ..., "line": ..., "file": ...}}.

The steps: `Source` finds the integers of the file that are sizes. `capture` runs the module on fake
tensors whose sizes are symbols, and records core-ATen operations. `Translation` writes each of them
as operations of src/graph/ops.def. If a size cannot be a symbol, `main` fixes it and starts again.
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
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import sympy
import torch
import torch.fx
from torch._decomp import core_aten_decompositions
from torch._dispatch.python import enable_python_dispatcher
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import PythonKeyTracer, make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

Operand = Any  # "x", "%3", a number, {"number": ...}, {"size": ...}, None
DTYPES = {
    torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32",
    torch.float64: "float64", torch.int8: "int8", torch.int16: "int16", torch.int32: "int32",
    torch.int64: "int64", torch.uint8: "uint8", torch.bool: "bool",
}  # fmt: skip
numbers.Integral.register(torch.SymInt)  # nn.LayerNorm and others ask for this class
NAMED_DTYPES = {name: dtype for dtype, name in DTYPES.items()}


class Refused(Exception):
    """The module cannot become a task; `line` is a line of the user's file, 0 if none is known."""

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.why, self.line = why, line


class NotFree(Exception):
    """These sizes cannot be symbols: the caller fixes them and traces again."""

    def __init__(self, names: set[str], why: str) -> None:
        super().__init__(why)
        self.names, self.why = names, why


# ---- the user's file -------------------------------------------------------------------------


class Source:
    """The user's file, and the module-level integers in it that may be sizes."""

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
            self.tree = ast.parse(self.text, path)
        except SyntaxError as e:
            raise Refused(f"the file is not Python: {e.msg}", e.lineno or 0) from None
        self.plain = self.load({})

    def load(self, values: dict[str, Any]) -> dict[str, Any]:
        """Executes the file; each module-level `name = ...` gets the values that `values` has for it."""

        def replaced(name: str) -> Any:
            old = self.plain[name]
            if name in values or not isinstance(old, (tuple, list)):
                return values.get(name, old)
            return type(old)(values.get(f"{name}{i}", v) for i, v in enumerate(old))

        known = {n for n in getattr(self, "plain", {}) if n in values or f"{n}0" in values}

        class Replace(ast.NodeTransformer):
            def visit_Assign(self, node: ast.Assign) -> ast.AST:
                names = [t.id if isinstance(t, ast.Name) else "" for t in node.targets]
                if not any(n in known for n in names):
                    return node
                made: list[ast.AST] = []
                for target, name in zip(node.targets, names):  # height = width = 64 are two sizes
                    value = node.value
                    if name in known:
                        value = ast.parse(f"__hone_replaced__({name!r})", mode="eval").body
                    assign = ast.Assign(targets=[target], value=value)
                    made.append(ast.copy_location(assign, node))
                return made  # type: ignore[return-value]

            def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
                return node

            visit_ClassDef = visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

        tree = ast.fix_missing_locations(Replace().visit(ast.parse(self.text, self.path)))
        module = types.ModuleType("hone_import")
        module.__file__ = self.path
        module.__dict__.update(__hone_values__=values, __hone_replaced__=replaced)
        sys.modules["hone_import"] = module
        folder = os.path.dirname(self.path)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        exec(compile(tree, self.path, "exec"), module.__dict__)
        return module.__dict__

    def constants(self) -> dict[str, int]:
        """Module-level integers that are assigned as literals (or arithmetic on literals)."""
        found: dict[str, int] = {}
        for node in self.tree.body:
            if not isinstance(node, ast.Assign):
                continue
            if any(isinstance(n, (ast.Name, ast.Call)) for n in ast.walk(node.value)):
                continue
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.update(self.integers(target.id, self.plain.get(target.id)))
        return found

    @staticmethod
    def integers(name: str, value: Any) -> dict[str, int]:
        """An integer by its name; the entries of a tuple as name0, name1, ..."""
        if type(value) is int:
            return {name: value}
        if isinstance(value, (tuple, list)) and value and all(type(v) is int for v in value):
            return {f"{name}{i}": v for i, v in enumerate(value)}
        return {}

    def sizes(self) -> dict[str, int]:
        """The constants that are likely to be sizes of tensors."""

        def likely(name: str, value: int) -> bool:
            if value >= 16:
                return not re.search(r"seed|kernel|stride|pad|dilat|group|layers|steps", name, re.I)
            return value >= 2 and bool(self.SIZE.search(name)) and not self.FIXED.search(name)

        return {n: v for n, v in self.constants().items() if likely(n, v)}

    def baseline(self, values: dict[str, str]) -> str:
        """The file with each size replaced by the Python expression that `values` has for it."""
        lines = self.text.splitlines(keepends=True)
        starts = [0]
        for text in lines:
            starts.append(starts[-1] + len(text.encode()))
        edits: list[tuple[int, int, str]] = []

        def replace(node: ast.expr | ast.stmt, text: str) -> None:
            assert node.end_lineno and node.end_col_offset is not None
            begin = starts[node.lineno - 1] + node.col_offset
            edits.append((begin, starts[node.end_lineno - 1] + node.end_col_offset, text))

        for node in self.tree.body:
            if not isinstance(node, ast.Assign):
                continue
            names = [t.id if isinstance(t, ast.Name) else "" for t in node.targets]
            if any(n in values for n in names):
                if len(names) == 1:
                    replace(node.value, values[names[0]])
                else:
                    old = ast.unparse(node.value)
                    parts = [f"{ast.unparse(t)} = {values.get(n, old)}"
                             for t, n in zip(node.targets, names)]  # fmt: skip
                    replace(node, "; ".join(parts))
            elif isinstance(node.value, (ast.Tuple, ast.List)) and len(names) == 1:
                for i, item in enumerate(node.value.elts):
                    if f"{names[0]}{i}" in values:
                        replace(item, values[f"{names[0]}{i}"])
        data = self.text.encode()
        for begin, end, text in sorted(edits, reverse=True):
            data = data[:begin] + text.encode() + data[end:]
        return data.decode()

    def line_of(self, tb: types.TracebackType | None) -> int:
        """The last line of the user's file in a traceback."""
        lines = [f.lineno or 0 for f in traceback.extract_tb(tb) if f.filename == self.path]
        return lines[-1] if lines else 0


# ---- tracing ---------------------------------------------------------------------------------


class Captured(NamedTuple):
    graph: torch.fx.GraphModule
    axes: dict[str, sympy.Symbol]  # name -> symbol
    inputs: list[tuple[str, torch.Tensor]]
    parameters: list[tuple[str, torch.Tensor]]
    env: ShapeEnv
    arguments: list[tuple[str, Any]]  # of forward, in order
    changed: list[str]  # parameters and buffers that forward changes, which are outputs too
    ranges: dict[str, tuple[Any, Any]]  # input -> the bounds that get_inputs gave torch.randint


@contextlib.contextmanager
def without_init() -> Iterator[None]:
    """Makes the functions of nn.init do nothing: they would fix sizes, and take time."""
    saved = {n: f for n, f in vars(torch.nn.init).items() if n.endswith("_") and callable(f)}
    fans = "_calculate_fan_in_and_fan_out"
    saved[fans] = getattr(torch.nn.init, fans)
    for name in saved:
        setattr(torch.nn.init, name, lambda tensor, *a, **k: tensor)
    setattr(torch.nn.init, fans, lambda tensor: (1, 1))
    try:
        yield
    finally:
        for name, function in saved.items():
            setattr(torch.nn.init, name, function)


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


class Target(NamedTuple):
    """What to trace: a module or a function, and how to make its arguments."""

    name: str
    is_module: bool
    construction: str  # Python code that makes the module
    make: Callable[[dict[str, Any]], Callable[..., Any]]
    arguments: Callable[[dict[str, Any]], list[Any]]
    names: list[str]


def find_target(source: Source, name: str, declared: dict[str, str]) -> Target:
    space = source.plain
    own = [
        (n, v)
        for n, v in space.items()
        if getattr(v, "__module__", None) == "hone_import"
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
    return Target(name, is_module, construction, make, arguments, params)


def declared_inputs(declared: dict[str, str], params: list[str], ns: dict[str, Any]) -> list[Any]:
    """Tensors for --input x=float16[B,128]; the names of sizes are in ns['__hone_values__']."""
    made = []
    for name in params:
        if name not in declared:
            break
        m = re.fullmatch(r"(\w+)\[([^\]]*)\]", declared[name].replace(" ", ""))
        if not m:
            made.append(ast.literal_eval(declared[name]))
            continue
        dtype = NAMED_DTYPES.get(m[1])
        if dtype is None:
            raise Refused(f"--input {name}: '{m[1]}' is no dtype; known: {', '.join(NAMED_DTYPES)}")
        sizes = [
            int(d) if d.isdigit() else ns["__hone_values__"][d] for d in m[2].split(",") if d
        ]
        if dtype.is_floating_point:
            made.append(torch.randn(sizes, dtype=dtype))
        else:
            made.append(torch.randint(0, 2, sizes, dtype=dtype))
    unknown = [n for n in declared if n not in params]
    if unknown:
        raise Refused(f"--input {unknown[0]}: no such argument; it takes {', '.join(params)}")
    return made


def refuse_state(before: dict[str, Any], model: Any) -> None:
    for path, value in attributes(model).items():
        old = before.get(path)
        if isinstance(value, torch.Tensor) and value is not old:
            raise Refused(f"forward keeps state between calls: it assigns self.{path}")


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
    raise Refused(f"forward returns a {type(result).__name__}, not a tensor")


def task_name(path: str) -> str:
    name = re.sub(r"\W", "_", path)
    return name if re.match(r"[A-Za-z_]", name) else "p_" + name


def capture(source: Source, target: Target, free: dict[str, int]) -> tuple[Captured, list[str]]:
    """Records the module's operations; the sizes in `free` are symbols."""
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
    with enable_python_dispatcher(), mode:
        with without_init():
            space = source.load(values)
            model = target.make(space)
            drawn: list[tuple[torch.Tensor, Any, Any]] = []
            with noted_ranges(drawn):
                given = target.arguments(space)
    tensors = [a for a in given if isinstance(a, torch.Tensor)]
    names = [n for n, a in zip(target.names, given) if isinstance(a, torch.Tensor)]
    if len(names) < len(tensors):
        raise Refused("forward takes *args: give its arguments names")
    ranges = {
        n: (low, high)
        for n, t in zip(names, tensors)
        for made, low, high in drawn
        if made is t or (made.dtype == t.dtype and len(drawn) == 1 and made.shape == t.shape)
    }
    held: dict[str, torch.Tensor] = {}
    if isinstance(model, torch.nn.Module):
        held.update(model.named_parameters())
        held.update(model.named_buffers())
    before = attributes(model)
    outputs: list[str] = []
    changed: list[str] = []

    def run(
        state: list[torch.Tensor], args: list[torch.Tensor], sizes: list[Any]
    ) -> list[torch.Tensor]:  # make_fx must know each size as an argument
        rest = iter(args)
        full = [next(rest) if isinstance(a, torch.Tensor) else a for a in given]
        if isinstance(model, torch.nn.Module):
            bound = dict(zip(held, state))
            result = torch.func.functional_call(model, bound, tuple(full))
            refuse_state(before, model)
        else:
            bound, result = {}, model(*full)
        flat = flatten(result)
        if not flat:
            raise Refused("forward returns no tensor")
        outputs[:] = [n for n, _ in flat]
        outs = [t for _, t in flat]
        changed.clear()
        for name, old in zip(held, state):
            new = bound.get(name)
            if new is not old and isinstance(new, torch.Tensor):
                changed.append(name)
                outputs.append(name)
                outs.append(new)
        return outs

    with enable_python_dispatcher(), mode, torch.nn.attention.sdpa_kernel(
        torch.nn.attention.SDPBackend.MATH
    ), torch.no_grad():
        fx = make_fx(
            torch.func.functionalize(run, remove="mutations_and_views"),
            decomposition_table=core_aten_decompositions(),
            tracing_mode="real",
            _allow_non_fake_inputs=True,
        )(list(held.values()), tensors, list(values.values()))
    return (
        Captured(
            fx, symbols, list(zip(names, tensors)), list(held.items()), env,
            list(zip(target.names, given)), changed, ranges,
        ),
        outputs,
    )  # fmt: skip


# ---- sizes -----------------------------------------------------------------------------------


class Sizes:
    """Writes sizes as expressions over the axes, in the form of docs/plan.md."""

    def __init__(self, captured: Captured) -> None:
        self.env = captured.env
        self.names = {symbol: name for name, symbol in captured.axes.items()}

    def expression(self, size: Any) -> sympy.Expr:
        node = getattr(size, "node", None)
        if node is None:
            return sympy.Integer(int(size))
        return self.env.simplify(self.env.replace(node.expr))

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

    def is_free(self, symbol: sympy.Symbol) -> bool:
        """False for a size that a guard has made a number, or another size."""
        return bool(self.env.replace(symbol) == symbol)

    def in_python(self, symbol: sympy.Symbol) -> str:
        """The size as Python code over SIZES, the axes of the task."""
        text = str(self.write(self.env.replace(symbol))).replace("/", "//")
        return re.sub(r"[A-Za-z_]\w*(?!\w*\()", lambda m: f'SIZES["{m[0]}"]', text)

    def guards(self, user_file: str) -> list[str]:
        """The conditions under which the recorded operations are right for other sizes too.

        Equations and remainders count wherever they come from. An inequality counts only if the
        user's own code compares: inside PyTorch they choose between equal algorithms.
        """
        kept: dict[str, None] = {}
        for guard in self.env.guards:
            e = guard.expr
            if not isinstance(e, (sympy.Eq, sympy.Ne, sympy.Rel, sympy.And, sympy.Or)):
                continue
            place = str(getattr(getattr(guard, "sloc", None), "framework_loc", ""))
            if not isinstance(e, sympy.Eq) and user_file not in place:
                continue
            e = self.env.simplify(self.env.replace(e))
            if e in (sympy.true, sympy.false) or not e.free_symbols:
                continue
            kept[self.write(e)] = None
        return list(kept)


# ---- operations ------------------------------------------------------------------------------

# Core-ATen names whose operands and meaning are those of a row of ops.def.
SAME = """abs acos acosh asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor
ceil cos cosh eq erf erfc exp exp2 expm1 floor fmod ge gt hypot isinf isnan isfinite le log log10
log1p log2 logical_and logical_not logical_or logical_xor lt maximum minimum mul ne neg pow
reciprocal relu remainder round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc where silu
mish hardsigmoid hardswish logaddexp copysign""".split()
IDENTITY = """alias clone detach contiguous lift_fresh lift_fresh_copy lift view_as_real_copy
alias_copy detach_copy""".split()
RANDOM = """rand rand_like randn randn_like randint randint_like randperm bernoulli multinomial
normal normal_functional uniform native_dropout rrelu_with_noise exponential geometric
dropout poisson""".split()


class Translation:
    """Writes the recorded operations as operations of src/graph/ops.def."""

    def __init__(self, captured: Captured, source: Source) -> None:
        self.captured, self.source = captured, source
        self.sizes = Sizes(captured)
        self.values: list[dict[str, Any]] = []
        self.of: dict[torch.fx.Node, Any] = {}  # an operand, or a list for several results
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
                raise NotFree(self.names_in(v), "a number is computed from a size")
            text = self.sizes.text(v)
            return text if isinstance(text, int) else {"size": text}
        if isinstance(v, float) and not math.isfinite(v):
            return {"number": "nan" if v != v else "inf" if v > 0 else "-inf"}
        return v

    def names_in(self, v: Any) -> set[str]:
        free = v.node.expr.free_symbols
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

    # -- the whole

    def run(self, outputs: list[str]) -> dict[str, Any]:
        c = self.captured
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
            if name in used:
                inputs.append({"name": name, "dtype": self.dtype(t), "shape": self.dims(t.shape)})
        own = [n for n, _ in c.inputs]
        inputs.sort(key=lambda i: i["name"] not in own)  # arguments first, then parameters
        guards = self.sizes.guards(self.source.path)
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
            raise Refused(f"Hone has no {str(t.dtype).removeprefix('torch.')} tensors")
        return DTYPES[t.dtype]

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
        raise self.refuse("forward makes a tensor of constants: register it as a buffer")

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
            self.of[node] = getattr(self, "hone_" + str(node.target).split(".")[1])(node, *node.args)
        else:
            raise self.refuse(f"Hone does not know the operation {node.target}")
        if isinstance(value, torch.Tensor) and isinstance(self.of[node], str):
            self.check_dtype(node, value)

    def check_dtype(self, node: torch.fx.Node, t: torch.Tensor) -> None:
        """Declares the last value's dtype and shape, so that Hone's own rules are held to them."""
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

    def op_div(self, node: Any, input: Any, other: Any, rounding_mode: Any = None) -> str:
        if rounding_mode == "floor":
            return self.binary("floor_divide", input, other)
        made = self.binary("div", input, other)
        return made if rounding_mode is None else self.add("trunc", made)

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

    def op_to_copy(self, node: Any, input: Any, dtype: Any = None, **rest: Any) -> Operand:
        x = self.operand(input)
        target = node.meta["val"].dtype
        if isinstance(input, torch.fx.Node) and input.meta["val"].dtype == target:
            return x
        return self.add("cast", x, dtype=self.dtype(node.meta["val"]))

    def op_copy(self, node: Any, input: Any, src: Any, non_blocking: bool = False) -> str:
        t = node.meta["val"]
        made = self.operand(src)
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
        return self.add("reshape", self.operand(input), shape=self.dims(node.meta["val"].shape))

    op_reshape = op_unsafe_view = op_view_copy = op_reshape_copy = op_view

    def op_unsqueeze(self, node: Any, input: Any, dim: Any) -> str:
        return self.op_view(node, input, None)

    def op_squeeze(self, node: Any, input: Any, dim: Any = None) -> str:
        return self.op_view(node, input, None)

    op_unsqueeze_copy, op_squeeze_copy = op_unsqueeze, op_squeeze

    def op_permute(self, node: Any, input: Any, dims: Sequence[int]) -> str:
        rank = len(self.shape(input))
        return self.add("permute", self.operand(input), dims=[d % rank for d in dims])

    op_permute_copy = op_permute

    def op_transpose(self, node: Any, input: Any, dim0: int, dim1: int) -> str:
        order = list(range(len(self.shape(input))))
        order[dim0], order[dim1] = order[dim1], order[dim0]
        return self.op_permute(node, input, order)

    op_transpose_copy = op_transpose

    def op_t(self, node: Any, input: Any) -> Operand:
        if len(self.shape(input)) < 2:
            return self.operand(input)
        return self.op_permute(node, input, [1, 0])

    op_t_copy = op_t

    def op_expand(self, node: Any, input: Any, size: Any, implicit: bool = False) -> str:
        return self.add("expand", self.operand(input), shape=self.dims(node.meta["val"].shape))

    op_expand_copy = op_expand

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
        return self.part(self.operand(input), len(shape), dim, begin, t.shape[dim], step)

    op_slice_copy = op_slice

    def op_select(self, node: Any, input: Any, dim: int, index: Any) -> str:
        shape = self.shape(input)
        at = self.value_of(index)
        if isinstance(at, int) and at < 0:
            at = shape[dim] + at
        made = self.part(self.operand(input), len(shape), dim, at, 1)
        return self.add("reshape", made, shape=self.dims(node.meta["val"].shape))

    op_select_copy = op_select

    def op_split_with_sizes(self, node: Any, input: Any, split_sizes: Any, dim: int = 0) -> list[str]:
        made, at = [], 0
        for size in split_sizes:
            size = self.value_of(size)
            made.append(self.part(self.operand(input), len(self.shape(input)), dim, at, size))
            at = at + size
        return made

    op_split_with_sizes_copy = op_split_with_sizes

    def op_unbind(self, node: Any, input: Any, dim: int = 0) -> list[str]:
        shape = self.shape(input)
        rest = self.dims([s for d, s in enumerate(shape) if d != dim % len(shape)])
        made = []
        for i in range(len(node.meta["val"])):
            part = self.part(self.operand(input), len(shape), dim, i, 1)
            made.append(self.add("reshape", part, shape=rest))
        return made

    op_unbind_copy = op_unbind

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

    op_unfold_copy = op_unfold

    def windows(self, x: Operand, dim: int, size: Any, step: Any, dilation: Any) -> str:
        return self.add("windows", x, dim=[dim], size=self.sizes.text(self.value_of(size)),
                        step=self.fixed(step, "a stride"),
                        dilation=self.fixed(dilation, "a dilation"))  # fmt: skip

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

    def reduce(self, op: str, input: Any, dim: Any, keepdim: Any = False, **more: Any) -> str:
        rank = len(self.shape(input))
        if dim is None or (isinstance(dim, (list, tuple)) and not dim):
            axes = list(range(rank))
        else:
            axes = sorted(d % max(rank, 1) for d in (dim if isinstance(dim, (list, tuple)) else [dim]))
        if rank == 0:
            return self.operand(input)
        return self.add(op, self.operand(input), dim=axes, keepdim=bool(keepdim), **more)

    def op_sum(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False,
               dtype: Any = None) -> str:  # fmt: skip
        return self.typed(node, self.reduce("sum", input, dim, keepdim))

    def op_mean(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False,
                dtype: Any = None) -> str:  # fmt: skip
        return self.typed(node, self.reduce("mean", input, dim, keepdim))

    def typed(self, node: Any, made: str) -> str:
        return made

    def op_prod(self, node: Any, input: Any, dim: Any = None, keepdim: bool = False,
                dtype: Any = None) -> str:  # fmt: skip
        return self.reduce("prod", input, dim, keepdim)

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
            size = self.add("abs", self.operand(input))
            axes = list(range(len(self.shape(input)))) if dim is None else list(dim)
            return self.add("amax" if p > 0 else "amin", size, dim=axes, keepdim=bool(keepdim))
        return self.reduce("norm", input, dim, keepdim, p=p)

    def op_logsumexp(self, node: Any, input: Any, dim: Any, keepdim: bool = False) -> str:
        return self.reduce("logsumexp", input, dim, keepdim)

    def along(self, op: str, input: Any, dim: int) -> str:
        return self.add(op, self.operand(input), dim=[dim % len(self.shape(input))])

    def op_softmax(self, node: Any, input: Any, dim: int, half_to_float: bool = False) -> str:
        return self.along("softmax", input, dim)

    def op_log_softmax(self, node: Any, input: Any, dim: int, half_to_float: bool = False) -> str:
        return self.along("log_softmax", input, dim)

    def op_cumsum(self, node: Any, input: Any, dim: int, dtype: Any = None) -> str:
        return self.along("cumsum", input, dim)

    def op_cumprod(self, node: Any, input: Any, dim: int, dtype: Any = None) -> str:
        return self.along("cumprod", input, dim)

    # -- products

    def op_mm(self, node: Any, input: Any, mat2: Any) -> str:
        return self.add("matmul", self.operand(input), self.operand(mat2))

    op_bmm = op_mm

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
        if transposed:
            more = self.all_fixed(output_padding, n, "padding")
            return self.add("conv_transpose", *args, stride=step, padding=pads,
                            output_padding=more, dilation=holes, groups=parts)  # fmt: skip
        return self.add("conv", *args, stride=step, before=pads, after=pads, dilation=holes,
                        groups=parts)  # fmt: skip

    # -- norms

    def op_native_layer_norm(self, node: Any, input: Any, normalized_shape: Any, weight: Any,
                             bias: Any, eps: Any) -> list[Operand]:  # fmt: skip
        axes = len(normalized_shape)
        made = self.add("layer_norm", self.operand(input), self.operand(weight),
                        self.operand(bias), self.number(eps), axes=axes)  # fmt: skip
        return [made, None, None]

    def normalized(self, x: Operand, axes: list[int], eps: Any) -> tuple[str, str, str]:
        """(x - mean) / sqrt(var + eps); also the mean and the variance, with axes of size 1."""
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
        scale = self.add("rsqrt", self.add("add", var, self.number(eps)))
        made = self.add("mul", self.add("sub", self.operand(input), mean), scale)
        return [self.affine(made, weight, bias, channel), None, None]

    # -- pooling

    def pool(self, input: Any, kernel: Any, stride: Any, padding: Any, dilation: Any,
             ceil_mode: bool, fill: Operand, n: int) -> tuple[str, list[int]]:  # fmt: skip
        """The windows of a pooling, as n further axes at the end."""
        shape = self.shape(input)
        rank = len(shape)
        size = self.all_fixed(kernel, n, "a kernel size")
        step = self.all_fixed(stride, n, "a stride") if stride else size
        pads = self.all_fixed(padding, n, "padding")
        holes = self.all_fixed(dilation, n, "a dilation")
        x = self.operand(input)
        after = list(pads)
        if ceil_mode:
            raise self.refuse("pooling with ceil_mode")
        if any(pads):
            none = [0] * (rank - n)
            x = self.add("pad", x, fill, before=none + pads, after=none + after)
        for i in range(n):
            x = self.windows(x, rank - n + i, size[i], step[i], holes[i])
        return x, list(range(rank, rank + n))

    def max_pool(self, node: Any, n: int, input: Any, kernel_size: Any, stride: Any, padding: Any,
                 dilation: Any, ceil_mode: bool) -> list[Operand]:  # fmt: skip
        low = {"number": "-inf"}
        x, axes = self.pool(input, kernel_size, stride, padding, dilation, ceil_mode, low, n)
        return [self.add("amax", x, dim=axes, keepdim=False), None]

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
        if count_include_pad or not any(pads):
            size = self.all_fixed(kernel_size, n, "a kernel size")
            return self.add("div", total, math.prod(size))
        raise self.refuse("average pooling with padding that does not count")

    def op_avg_pool1d(self, node: Any, **a: Any) -> Operand:
        return self.avg_pool(node, 1, **a)

    def op_avg_pool2d(self, node: Any, **a: Any) -> Operand:
        return self.avg_pool(node, 2, **a)

    def op_avg_pool3d(self, node: Any, **a: Any) -> Operand:
        return self.avg_pool(node, 3, **a)

    def adaptive(self, node: Any, n: int, input: Any, output_size: Any) -> str:
        shape, rank = self.shape(input), len(self.shape(input))
        want = self.all_fixed(output_size, n, "an output size")
        if all(w == 1 for w in want):
            return self.add("mean", self.operand(input), dim=list(range(rank - n, rank)),
                            keepdim=True)  # fmt: skip
        split: list[Any] = list(shape[: rank - n])
        for size, w in zip(shape[rank - n :], want):
            if self.sizes.expression(size) % w != 0:
                raise NotFree({*self.names_in(size)} if hasattr(size, "node") else set(),
                              "adaptive pooling whose windows differ in size")  # fmt: skip
            split += [w, size // w]
        x = self.add("reshape", self.operand(input), shape=self.dims(split))
        axes = [rank - n + 1 + 2 * i for i in range(n)]
        return self.add("mean", x, dim=axes, keepdim=False)

    def op_adaptive_avg_pool2d(self, node: Any, input: Any, output_size: Any) -> str:
        return self.adaptive(node, 2, input, output_size)

    def op_adaptive_avg_pool3d(self, node: Any, input: Any, output_size: Any) -> str:
        return self.adaptive(node, 3, input, output_size)

    # -- by index

    def rows(self, input: Any, dim: int, index: Any, node: Any) -> str:
        """input[..., index, ...] for an index tensor of any rank."""
        made = self.operand(index)
        if len(self.shape(index)) != 1:
            n: Any = 1
            for s in self.shape(index):
                n = n * s
            made = self.add("reshape", made, shape=self.dims([n]))
        made = self.add("index_select", self.operand(input), made, dim=[dim])
        return self.add("reshape", made, shape=self.dims(node.meta["val"].shape))

    def op_embedding(self, node: Any, weight: Any, indices: Any, **rest: Any) -> str:
        return self.rows(weight, 0, indices, node)

    def op_index_select(self, node: Any, input: Any, dim: int, index: Any) -> str:
        return self.rows(input, dim % len(self.shape(input)), index, node)

    def op_index(self, node: Any, input: Any, indices: Any) -> str:
        used = [(d, i) for d, i in enumerate(indices) if i is not None]
        if len(used) != 1 or self.value_of(used[0][1]).dtype == torch.bool:
            raise self.refuse("indexing by several tensors, or by a bool tensor")
        return self.rows(input, used[0][0], used[0][1], node)

    def op_gather(self, node: Any, input: Any, dim: int, index: Any, **rest: Any) -> str:
        rank = len(self.shape(input))
        return self.add("gather", self.operand(input), self.operand(index), dim=[dim % rank])


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
        # A kernel that leaves out a weight of 1, or a bias of 0, would pass: draw around the value.
        return {"dist": "uniform", "min": low - 0.25, "max": low + 0.25}
    mean, std = float(x.mean()), float(x.std()) if x.numel() > 1 else 0.0
    # A uniform distribution over [low, high] has the standard deviation (high - low) / sqrt(12).
    if x.numel() < 16 or abs(std * math.sqrt(12) / (high - low) - 1) < 0.12:
        if x.numel() >= 16:
            low, high = snap(low, high)
        return {"dist": "uniform", "min": low, "max": high}
    return {"dist": "normal", "mean": 0.0 if abs(mean) < std * 0.05 else mean, "std": std}


def snap(low: float, high: float) -> tuple[float, float]:
    """0.00003 and 0.99998 come from [0, 1)."""
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
    for name, a in zip(target.names, target.arguments(source.load(dict(sizes)))):
        if isinstance(a, torch.Tensor):
            found[name] = describe(a)
            if not a.is_contiguous():
                found[name]["contiguous"] = False
    return found


# ---- the program -----------------------------------------------------------------------------


LARGEST_FILL = 1 << 26  # elements of the tensors that are made for real


def small(sizes: dict[str, int]) -> dict[str, int]:
    """Sizes that take little memory, and keep what they are multiples of."""
    return {n: v if v < 64 else 64 * math.gcd(v // 64, 1) for n, v in sizes.items()}


def elements(tensors: list[tuple[str, torch.Tensor]]) -> int:
    return sum(int(math.prod(int(s) for s in map(hint, t.shape))) for _, t in tensors)


def hint(size: Any) -> int:
    node = getattr(size, "node", None)
    return int(size) if node is None else int(node.hint)


def trace(request: dict[str, Any]) -> dict[str, Any]:
    source = Source(request["file"])
    declared = request.get("inputs") or {}
    target = find_target(source, request.get("name") or "", declared)
    free = dict(source.sizes())
    for text in declared.values():
        for d in re.findall(r"[A-Za-z_]\w*", text.partition("[")[2]):
            free.setdefault(d, int((request.get("sizes") or {}).get(d, 64)))
    original = dict(free)
    notes: list[str] = []
    dropped: set[str] = set()
    while True:
        try:
            captured, outputs = capture(source, target, free)
            graph = Translation(captured, source).run(outputs)
            break
        except NotFree as e:
            fixed = {n for n in e.names if n in free}
            if not fixed:
                raise Refused(e.why) from None
            notes.append(f"{', '.join(sorted(fixed))}: fixed, because {e.why}")
            for n in fixed:
                del free[n]
        except Refused:
            raise
        except Exception as e:
            if not free:
                raise
            # Sizes that are small are the likeliest to be something else: fix these first.
            rest = {n: v for n, v in free.items() if v >= 16}
            gone = [n for n in free if n not in rest] or list(free)
            notes.append(f"{', '.join(gone)}: fixed, because tracing with symbols failed ({brief(e)})")
            for n in gone:
                del free[n]
            dropped.update(gone)
    known = set(graph["axes"])
    sizes = Sizes(captured)
    code = {n: sizes.in_python(s) for n, s in captured.axes.items()}
    for n in free:
        if n not in known:
            notes.append(f"{n}: always {code[n].replace('SIZES', '')}")
    init = {
        **fill_facts(fill_parameters, captured.parameters, source, target, original, notes),
        **fill_facts(fill_inputs, captured.inputs, source, target, original, notes),
    }
    for n, (low, high) in captured.ranges.items():
        if init.get(n, {}).get("dist") == "int" and high is not None:
            init[n].update(min=sizes.text(low), max=sizes.text(high - 1))
    return {
        "graph": graph,
        "sizes": {n: v for n, v in original.items() if n in known},
        "init": init,
        "torch": baseline(source, target, captured, code, [i["name"] for i in graph["inputs"]]),
        "notes": notes,
    }


def baseline(
    source: Source, target: Target, captured: Captured, code: dict[str, str], taken: list[str]
) -> str:
    """The user's file as a PyTorch baseline: sizes come from SIZES, and run() takes all inputs."""

    def argument(name: str, v: Any) -> str:
        if isinstance(v, torch.Tensor):
            return name if name in taken else "None"
        return repr(v)

    call = ", ".join(argument(n, v) for n, v in captured.arguments)
    text = source.baseline(code).rstrip() + "\n\n\n# ---- added by hone import\n\n"
    head = f"def run({', '.join(taken)}):\n"
    if not target.is_module:
        return text + head + f"    return {target.name}({call})\n"
    names = [(n, task_name(n)) for n, _ in captured.parameters]
    held = "".join(f"        {n!r}: {t},\n" for n, t in names if t in taken)
    changed = "".join(f", {task_name(n)}" for n in captured.changed)
    lines = [
        "    held = {\n" + held + "    }\n",
        f"    result = torch.func.functional_call(model, held, ({call}{',' if call else ''}))\n",
        "    results = result if isinstance(result, (tuple, list)) else (result,)\n" if changed else "",
        f"    return (*results{changed})\n" if changed else "    return result\n",
    ]
    return text + f"model = {target.construction}\n\n\n" + head + "".join(lines)


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
    notes.append(f"tensors could not be made for real ({why}): they are drawn normal")
    return {}


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
        answer = {"refused": {"why": e.why, "line": e.line}}
    except BaseException as e:
        lines = [f.lineno or 0 for f in traceback.extract_tb(e.__traceback__)
                 if f.filename == source_path]  # fmt: skip
        if isinstance(e, KeyboardInterrupt):
            raise
        answer = {"refused": {"why": reason(e), "line": lines[-1] if lines else 0}}
    json.dump(answer, out)
    out.write("\n")
    out.flush()
    return 0


def reason(e: BaseException) -> str:
    name = type(e).__name__
    if "DataDependent" in name or "data-dependent" in str(e):
        return "forward decides by the data of a tensor (an `if`, a loop or `.item()`)"
    return f"PyTorch refuses it: {brief(e)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv))
