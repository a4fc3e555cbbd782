#!/usr/bin/env python3
"""Judges right and wrong kernels of imported tasks. Prints a table and a summary (docs/tolerance.md#the-table).

    t/gpu/tolerance.py [options] TASK_DIR ... >table.tsv

The built-in author writes the right kernels: the generated one, the same with other settings (other orders of
sums), a template that fits, and the generated one with compensated products. The wrong kernels are the generated
one with a mechanical fault: products or inputs rounded to TF32 or float16, a term left out of a sum, an epsilon ten
times as large, an element that is not written. Every kernel is judged with several seeds.

With --results FILE, a later run goes on where an earlier one stopped. Without tasks, the program only prints the table
of that file. Exits with 1 if a right kernel fails, or if a wrong kernel passes that must fail; with 3 if --stop left
evaluations for a later run.

A wrong kernel may pass only in a task that computes in less than float32, and only if its error is at most 8 times
that of the right kernel in the declared precision.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FACTOR = 8
HELP = r"""
__device__ __forceinline__ float fault_tf32(float x)
{
    unsigned y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return __uint_as_float(y);
}
__device__ __forceinline__ float fault_f16(float x)
{
    float y;
    asm("{ .reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(y) : "f"(x));
    return y;
}
__device__ __forceinline__ float three_tf32(float a, float b)
{
    const float ah = fault_tf32(a), bh = fault_tf32(b), al = fault_tf32(a - ah), bl = fault_tf32(b - bh);
    return (al * bh + ah * bl) + ah * bh;
}
template <class T> __device__ T fault_input(T x) { return x; }
__device__ __forceinline__ float fault_input(float x) { return fault_f16(x); }
"""
PRODUCT = re.compile(r"const float (v\d+) = (v\d+) \* (v\d+);")
LOOP = re.compile(r"""^( *)(?:_Pragma\("unroll \d+"\) )?for \(I (i\d+) = (.+?); i\d+ < (.+?); (.+)\) \{$""")
EPSILON = re.compile(r"(?<![\w.])(\d(?:\.\d+)?e-(?:0[3-9]|1\d))(f?)(?!\w)")


class Kernels:
    """The text of a generated kernel file, cut before each launch's comment."""

    def __init__(self, text):
        head, *self.parts = re.split(r"(?m)^(?=// Units: )", text)
        self.head = head

    def text(self, parts=None, head=None):
        return (head or self.head) + "".join(self.parts if parts is None else parts)


def operation(part):
    found = re.search(r"void k\d+_(\w+)_of\(", part)
    return found.group(1) if found else ""


def change_products(kernels, which, new):
    """Replaces the products of the launches that `which` accepts; None if there are none."""
    parts, n = [], 0
    for part in kernels.parts:
        if which(operation(part)):
            part, changed = PRODUCT.subn(lambda m: f"const float {m[1]} = {new.format(m[2], m[3])};", part)
            n += changed
        parts.append(part)
    return kernels.text(parts, with_help(kernels.head)) if n else None


def with_help(head):
    return head + HELP


def sums(part):
    """The lines that add a term to a sum inside of a loop, each with the test for the last term."""
    loops, found = [], []
    for number, line in enumerate(part.split("\n")):
        indent = len(line) - len(line.lstrip())
        while loops and line.strip() == "}" and indent <= loops[-1][0]:
            loops.pop()
        loop = LOOP.match(line)
        if loop:
            loops.append((len(loop[1]), loop[2], loop[4], loop[5], loop[3]))
        add = re.match(r"^ *(v\d+) \+= v\d+;$", line)
        inner = [x for x in loops if "1024" not in x[3]]
        if add and loops and "1024" not in loops[-1][3]:
            if re.search(r"k\d+_(lstm|gru|rnn)_of", part):
                inner = inner[-1:]
            found.append((number, " && ".join(f"{x[1]} == ({x[2]}) - 1" for x in inner)))
    return found


def drop_term(kernels, last):
    """Leaves out the last term of the first or the last sum; None if there is no sum."""
    places = [(p, n, test) for p, part in enumerate(kernels.parts) for n, test in sums(part)]
    if not places or (last and len(places) < 2):
        return None
    p, number, test = places[-1 if last else 0]
    lines = kernels.parts[p].split("\n")
    lines[number] = f"if (!({test})) {lines[number].strip()}"
    return kernels.text(kernels.parts[:p] + ["\n".join(lines)] + kernels.parts[p + 1:])


def larger_epsilon(kernels):
    body = "".join(kernels.parts)
    found = EPSILON.search(body)
    if not found:
        return None
    value = found[1]
    changed = EPSILON.sub(lambda m: f"{float(value) * 10:.9g}{m[2]}" if m[1] == value else m[0], body)
    return kernels.text([changed])


def skip_element(kernels):
    """Does not write the last element of the last output."""
    for p in range(len(kernels.parts) - 1, -1, -1):
        part = kernels.parts[p]
        place = part.rfind("OUT(")
        if place >= 0:
            part = part[:place] + "if (unit != units - 1) " + part[place:]
            return kernels.text(kernels.parts[:p] + [part] + kernels.parts[p + 1:])
    return None


def is_conv(op):
    return op.startswith("conv")


def is_other(op):
    return not is_conv(op)


class Task:
    def __init__(self, path, args):
        self.path, self.args = path, args
        self.name = os.path.basename(path.rstrip("/"))
        with open(os.path.join(path, "task.json")) as f:
            self.text = f.read()
        self.json = json.loads(self.text)
        flags = self.json.get("flags", [])
        self.degenerate = "degenerate" in flags
        self.tf32 = "allow_tf32" in flags
        self.tf32_convs = self.tf32 or "allow_tf32_convs" in flags
        ops = {v["op"] for v in self.json["graph"]["values"]}
        self.has_conv = bool(ops & {"conv", "conv_transpose"})
        self.has_other = bool(ops & {"matmul", "attention", "lstm", "gru", "rnn"})
        dtypes = {t["dtype"] for io in ("inputs", "outputs") for t in self.json[io].values()}
        self.narrow = sorted(dtypes & {"float16", "bfloat16"})

    def precision(self):
        if self.narrow:
            return self.narrow[0]
        return "tf32" if self.tf32 or (self.tf32_convs and self.has_conv) else "float32"

    def playbook(self, name, *what):
        done = subprocess.run([self.args.hone, "playbook", "kernel", name, self.path, *what],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        return done.stdout if done.returncode == 0 else None

    def template(self, names):
        for name in names:
            text = self.playbook(name)
            if text:
                return name, text
        return None, None

    def kernels(self, books):
        """Yields (name, is it right, text); the text is None if the task has no such kernel."""
        simple = self.playbook("generate", "--plain")
        yield "simple", True, simple
        yield "reordered", True, self.playbook("generate", "--plain", "lanes=256", "threads=256")
        yield "reordered2", True, self.playbook("generate", "--plain", "lanes=1", "items=4", "threads=64")
        name, text = self.template(books)
        if not text:  # the author may have a template for a part of the task
            text = self.playbook("generate")
            name, text = ("parts", text) if text and "namespace c0" in text else (None, None)
        yield f"template {name}" if name else "template", True, text
        if not simple:
            return
        k = Kernels(simple)
        # A launch that writes an output may have either kind of product.
        def named(op):
            return is_conv(op) if self.has_other else self.has_conv
        def unnamed(op):
            return not is_conv(op) and op != "output" if self.has_conv else self.has_other
        yield "compensated", True, change_products(k, lambda op: True, "three_tf32({}, {})")
        if self.tf32_convs and not self.narrow:
            which = (lambda op: True) if self.tf32 else named
            yield "declared tf32", True, change_products(k, which, "fault_tf32({}) * fault_tf32({})")
        if not self.narrow:
            if not self.tf32:
                which = unnamed if self.tf32_convs else lambda op: True
                yield "tf32 products", False, change_products(k, which, "fault_tf32({}) * fault_tf32({})")
            yield "f16 products", False, change_products(k, lambda op: True, "fault_f16({}) * fault_f16({})")
            inputs = simple.replace("#define IN(t, i) hone_load(in_##t[i])",
                                    "#define IN(t, i) fault_input(hone_load(in_##t[i]))")
            has = "float32" in {t["dtype"] for t in self.json["inputs"].values()}
            yield "f16 inputs", False, HELPED(inputs) if has else None
        yield "drops first", False, drop_term(k, False)
        yield "drops last", False, drop_term(k, True)
        yield "epsilon", False, larger_epsilon(k)
        yield "skips element", False, skip_element(k)


def HELPED(text):
    k = Kernels(text)
    return k.text(head=with_help(k.head))


class Judge:
    def __init__(self, args, temp):
        self.args, self.temp, self.start = args, temp, time.monotonic()
        self.env = dict(os.environ, CC=temp + "/bin/cc")
        os.mkdir(temp + "/bin")
        os.mkdir(temp + "/oracles")
        # Hone compiles a task's reference at every evaluation. This `cc` compiles each text once.
        with open(temp + "/bin/cc", "w") as f:
            f.write(f"""#!/bin/bash
for a; do case $a in *.c) in=$a ;; esac; if [ "$prev" = -o ]; then out=$a; fi; prev=$a; done
key={temp}/oracles/$(cat "$in" | sha256sum | cut -c1-32)
if ! [ -e "$key" ]; then
    cc "$@" || exit
    cp "$out" "$key.$$" && mv "$key.$$" "$key"
else
    cp "$key" "$out"
fi
""")
        os.chmod(temp + "/bin/cc", 0o755)

    def late(self):
        return self.args.stop and time.monotonic() - self.start > self.args.stop

    def workloads(self, task):
        """The task's own smoke workloads, and the last ones, whose data show a wrong precision or epsilon."""
        shown = subprocess.run([self.args.hone, "task", "show", "--json", task.path], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, check=True)
        t = json.loads(shown.stdout)
        own = sum(w["role"] == "smoke" for w in t["workloads"])
        extra = own + len(t["regimes"])
        return ",".join(f"smoke:{i}" for i in [*range(own), extra, extra + 1])

    def run(self, task, kernel, seed, what):
        a = self.args
        command = [a.hone, "eval", "--device", a.device, "--skip-baselines", "--json", "--seed", str(seed), *what,
                   task.path, kernel]
        if a.device != "emu":
            command.insert(2, "--skip-sanitizer")
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env,
                                  timeout=a.limit, check=False)
            v = json.loads(done.stdout)
        except (subprocess.TimeoutExpired, ValueError) as e:
            text = str(e) if isinstance(e, subprocess.TimeoutExpired) else done.stderr
            return {"kind": "unjudged", "summary": text.strip()[:200], "ratio": 0.0, "detector": ""}
        ratios = [float(w["max_ratio"]) for w in v.get("workloads", [])]  # "inf", "nan" are texts
        return {"kind": v["kind"], "summary": v["summary"], "detector": v["detector"],
                "ratio": max(ratios, default=0.0)}


class Kept:
    """The results of all evaluations, also of earlier runs. A file gets each result as soon as there is one."""

    def __init__(self, path):
        self.path, self.all, self.lock, self.new = path, {}, threading.Lock(), 0
        if path and os.path.exists(path):
            with open(path) as f:
                for line in f:
                    try:
                        r = json.loads(line)
                    except ValueError:
                        continue  # a run was killed while it wrote this line
                    self.all[r["task"], r["kernel"], r["seed"]] = r

    def has(self, task, kernel, seed, key):
        r = self.all.get((task, kernel, seed))
        return r is not None and r["key"] == key

    def put(self, r):
        with self.lock:
            self.all[r["task"], r["kernel"], r["seed"]] = r
            self.new += 1
            if self.path and r["kind"] != "unjudged":  # a later run tries an unjudged kernel again
                with open(self.path, "a") as f:
                    f.write(json.dumps(r) + "\n")


def judge_task(task, judge, books, pool, kept):
    """Queues the evaluations of a task that no earlier run has made. Returns them."""
    kernels, queued = [], []
    if task.degenerate:  # a constant result passes, so no fault shows
        print(f"{task.name}: left out, because its result hardly depends on the inputs", file=sys.stderr)
        return queued

    def queue(path, about, seed):
        return pool.submit(judge_seed, judge, task, path, {**about, "seed": seed}, few, kept)

    try:
        few = judge.workloads(task)
    except (subprocess.CalledProcessError, ValueError) as e:
        print(f"{task.path}: no task: {e}", file=sys.stderr)
        return queued
    for name, right, text in task.kernels(books):
        if not text or (judge.args.kernel and name not in judge.args.kernel + ["simple", "declared tf32"]):
            continue
        path = f"{judge.temp}/{task.name}.{name.replace(' ', '_')}.cu"
        with open(path, "w") as f:
            f.write(text)
        key = hashlib.sha256((task.text + text).encode()).hexdigest()[:16]
        about = {"task": task.name, "precision": task.precision(), "kernel": name, "right": right, "key": key}
        todo = [seed for seed in range(1, judge.args.seeds + 1) if not kept.has(task.name, name, seed, key)]
        if todo:
            kernels.append((path, about, todo, queue(path, about, todo[0])))
    # The first evaluation compiles the kernel. The others find the machine code in the cache.
    for path, about, todo, first in kernels:
        first.result()
        queued += [first] + [queue(path, about, seed) for seed in todo[1:]]
    return queued


def judge_seed(judge, task, path, about, few, kept):
    if judge.late():
        return False
    seed, right = about["seed"], about["right"]
    found = judge.run(task, path, seed, ["--workload", few])
    if found["kind"] == "pass" and (not right or seed == 1) and not judge.args.quick:
        found = judge.run(task, path, seed, ["--skip-time"])
    kept.put({**about, **found})
    return True


def rows_of(results):
    """The rows of one task."""
    by_kernel = {}
    for r in results:
        by_kernel.setdefault(r["kernel"], []).append(r)
    ratios_of = lambda name: [r["ratio"] for r in by_kernel.get(name, [])]
    honest = max(ratios_of("declared tf32") or ratios_of("simple") or [0.0])
    for name, found in by_kernel.items():
        right, precision = found[0]["right"], found[0]["precision"]
        passed = sum(f["kind"] == "pass" for f in found)
        wrong = sum(f["kind"] in ("mismatch", "cheat") for f in found)
        ratios = [f["ratio"] for f in found if f["kind"] == "pass" or not right]
        worst = max(ratios, default=0.0) if right else min(ratios, default=0.0)
        size = worst / honest if honest else 0.0
        note = next((f"{f['kind']}: {f['summary']}" for f in found
                     if (f["kind"] == "pass") != right and (right or f["kind"] not in ("mismatch", "cheat"))), "")
        if any(f["kind"] == "unjudged" for f in found):
            state = "UNJUDGED"
        elif right:
            state = "pass" if passed == len(found) else "REFUSED"
        elif wrong == len(found):
            state = "fails"
        elif not passed:
            state = "BROKEN"  # it does not compile, or stops
        elif precision != "float32" and size <= FACTOR:
            state = "small"
        else:
            state = "MISSED"
        yield [found[0]["task"], precision, name, state, str(passed), str(len(found)), f"{worst:.3g}",
               f"{size:.3g}", note.replace("\t", " ").replace("\n", " ")[:160]]


def table(kept):
    by_task = {}
    for r in kept.all.values():
        by_task.setdefault(r["task"], []).append(r)
    rows = [row for results in by_task.values() for row in rows_of(results)]
    print("\t".join(["task", "precision", "kernel", "state", "passed", "seeds", "error", "times_honest", "note"]))
    for row in rows:
        print("\t".join(row))
    sys.stdout.flush()
    return rows


def summary(rows):
    """Counts the states of each kind of kernel."""
    names = list(dict.fromkeys(r[2].split(" ")[0] if r[2].startswith("template") else r[2] for r in rows))
    states = ["pass", "REFUSED", "fails", "small", "MISSED", "BROKEN", "UNJUDGED"]
    print("\n" + f"{'kernel':16}" + "".join(f"{s:>10}" for s in states), file=sys.stderr)
    for n in names:
        own = [r for r in rows if r[2] == n or (n == "template" and r[2].startswith("template"))]
        print(f"{n:16}" + "".join(f"{sum(r[3] == s for r in own):10}" for s in states), file=sys.stderr)
    bad = sum(r[3].isupper() for r in rows)
    print(f"{len({r[0] for r in rows})} tasks, {len(rows)} kernels, {sum(int(r[5]) for r in rows)} evaluations, "
          f"{bad} wrong states", file=sys.stderr)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tasks", nargs="*", metavar="TASK_DIR")
    p.add_argument("--hone", default=os.environ.get("HONE", ROOT + "/build/release/hone"))
    p.add_argument("--device", default="emu")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--seeds", type=int, default=10)
    p.add_argument("--limit", type=float, default=120, help="seconds of one evaluation")
    p.add_argument("--stop", type=float, default=0, help="seconds after which no further evaluation begins")
    p.add_argument("--results", help="keep the results in this file, and do not repeat those that it has")
    p.add_argument("--quick", action="store_true", help="only the task's own smoke shapes and the few-terms data")
    p.add_argument("--kernel", action="append", help="only this kind of kernel, beside the simple one")
    p.add_argument("--keep", help="keep the kernels in this folder")
    args = p.parse_args()
    args.hone, kept, left = os.path.abspath(args.hone), Kept(args.results), 0
    if args.tasks:
        with tempfile.TemporaryDirectory() as temp:
            if args.keep:
                temp = os.path.abspath(args.keep)
                os.makedirs(temp)
            left = judge_all(args, Judge(args, temp), kept)
    rows = table(kept)
    summary(rows)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{kept.new} evaluations in this run, {used.ru_utime + used.ru_stime:.0f} CPU seconds; {left} are left",
          file=sys.stderr)
    if any(r[3].isupper() for r in rows):
        return 1
    return 3 if left else 0


def judge_all(args, judge, kept):
    """Judges all tasks, the first ones first. Returns the number of evaluations that did not begin in time."""
    listed = json.loads(subprocess.run([args.hone, "playbook", "list", "--json"], stdout=subprocess.PIPE,
                                       check=True).stdout)
    books = [b["name"] for b in listed if b["name"] != "generate"]

    def one(path, pool):
        if judge.late():
            return 1
        queued = judge_task(Task(os.path.abspath(path), args), judge, books, pool, kept)
        return sum(not q.result() for q in queued)

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, \
            concurrent.futures.ThreadPoolExecutor(max(args.jobs // 4, 1) + 1) as tasks:
        return sum(done.result() for done in [tasks.submit(one, path, pool) for path in args.tasks])


if __name__ == "__main__":
    sys.exit(main())
