#!/usr/bin/env python3
"""Fills in a playbook's template for a task, outside of hone: for tuning the templates.

    tools/playbook.py softmax softmax vec=4 per=8 > kernel.cu

Settings not named have their `start`. `--list` prints the settings instead.
"""
import json, re, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TYPES = {"float32": "float", "float16": "cute::half_t", "bfloat16": "cute::bfloat16_t",
         "int32": "int", "int64": "int64_t"}
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int32": 4, "int64": 8}


def bind_shape(role_shape, task_shape, axes, check):
    if role_shape and str(role_shape[0]).startswith("*"):
        text = "*".join(str(s) for s in task_shape)
        axes.setdefault(role_shape[0][1:], text if text.isidentifier() else f"({text})")
        return True
    if len(role_shape) != len(task_shape):
        return False
    for want, have in zip(role_shape, map(str, task_shape)):
        want = str(want)
        have = have if have.isalnum() else f"({have})"
        if want.isidentifier() and want not in axes:
            axes[want] = have
        elif check:
            spelled = re.sub(r"[A-Za-z_]\w*", lambda m: axes[m.group()], want)
            if spelled.replace(" ", "") != have.strip("()").replace(" ", ""):
                return False
    return True


def bind(book, op, task):
    """Texts for roles, axes and types, or None where the task has another signature."""
    roles = op.get("tensors", book.get("tensors"))
    ins, outs = list(task["inputs"].items()), list(task["outputs"].items())
    ins_r = [r for r in roles if r["io"] != "out"]
    outs_r = [r for r in roles if r["io"] != "in"]
    text, axes = {}, {}
    if ins_r and ins_r[0].get("repeat"):
        names = [n for n, _ in ins]
        letters = op.get("args") or [chr(97 + i) for i in range(len(names))]
        if len(letters) != len(names):
            return None
        role = ins_r[0]["role"]
        text[f"{role}:args"] = ", ".join(f'"{n}"' for n in names)
        text[f"{role}:params"] = ", ".join(f"const T *__restrict__ {n}" for n in letters)
        text[f"{role}:names"] = ", ".join(letters)
        text[f"{role}:n"] = str(len(names))
        text[f"{role}:floats"] = ", ".join(f"float {n}" for n in letters)
        text[f"{role}:align"] = ", ".join(f"alignof({n})" for n in names)
        ins_r = ins_r * len(names)
    if len(ins) != len(ins_r) or len(outs) != len(outs_r):
        return None
    pairs = list(zip(ins, ins_r)) + list(zip(outs, outs_r))
    for (name, t), r in pairs:
        if t["dtype"] not in r["dtype"] or not bind_shape(r["shape"], t["shape"], axes, False):
            return None
    for (name, t), r in pairs: # now that every plain axis is known
        if not bind_shape(r["shape"], t["shape"], axes, True):
            return None
        text[r["role"]] = name
        text[r["role"] + ":type"] = TYPES[t["dtype"]]
        text[r["role"] + ":elem"] = str(BYTES[t["dtype"]])
    for role, name in zip(op.get("scalars", book.get("scalars", [])), task.get("scalars", {})):
        text[role] = name
    text.update(axes)
    text["elem"] = str(BYTES[outs[0][1]["dtype"]])
    return text


def main():
    book_name, task_name, *sets = sys.argv[1:]
    book = json.loads((ROOT / "playbooks" / book_name / "playbook.json").read_text())
    if "--list" in sets:
        for s in book["settings"]:
            print(s["name"], s["start"], *s["values"])
        return
    task = json.loads((ROOT / "tasks" / task_name / "task.json").read_text())
    for key in (task["name"], task["op_type"], "*"):
        if key in book["ops"]:
            op = book["ops"][key]
            break
    else:
        sys.exit(f"{book_name} does not do {task_name}")
    text = bind(book, op, task)
    if text is None:
        sys.exit(f"{task_name} has another signature than {book_name}")
    settings = {s["name"]: s["start"] for s in book["settings"]}
    known = {s["name"]: s["values"] for s in book["settings"]}
    for s in sets:
        k, v = s.split("=")
        if k not in known or int(v) not in known[k]:
            sys.exit(f"{book_name}: no setting {s}")
        settings[k] = int(v)
    for rule in book.get("require", []):
        e = rule.replace("&&", " and ").replace("||", " or ").replace("/", "//")
        if not eval(e, {}, {**settings, "elem": int(text["elem"])}):
            sys.exit(f"{book_name}: {rule} is broken")
    text.update({k: str(v) for k, v in settings.items()})
    for k, v in op.items():
        if k not in ("tensors", "scalars", "args") or isinstance(v, (str, int)):
            text[k] = str(v)
    out = (ROOT / "playbooks" / book_name / "kernel.cu").read_text()
    for _ in range(2):
        out = re.sub(r"@\{([\w:]+)\}", lambda m: text[m.group(1)], out)
    print(out, end="")


main()
