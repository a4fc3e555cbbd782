"""Compiles the torch.compile baselines of the named tasks at their timed shapes, several at a time, into the cache
of torch.compile (TORCHINDUCTOR_CACHE_DIR): python3 t/gpu/prewarm.py TASK|FOLDER...
This only saves time. If a baseline does not compile here, an evaluation compiles it again."""
import json
import multiprocessing
import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def one(name):
    try:
        folder = name if os.path.isdir(name) else os.path.join(ROOT, "tasks", name)
        task = json.load(open(os.path.join(folder, "task.json")))
        flags = task.get("flags", [])
        text = open(os.path.join(ROOT, "src", "worker", "torch_sidecar.py")).read()
        space = {}
        exec(text.rsplit("\nmain()", 1)[0], space)
        side = space["Sidecar"]()
        side.open({"source": task["torch"], "mode": "compile", "gpu": 0,
                   "tf32": "allow_tf32" in flags or ("convs" if "allow_tf32_convs" in flags else False)})
        torch = space["torch"]
        helpers = {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}
        scalars = {k: s["value"] for k, s in task.get("scalars", {}).items()}
        for w in (w for w in task["workloads"] if w["role"] == "time"):
            axes = {k: w["axes"].get(k, a.get("value")) for k, a in task["axes"].items()}
            size = lambda e: e if isinstance(e, int) else int(eval(str(e).replace("/", "//"), dict(helpers), axes))
            tensors, buffers = {}, []
            for t, d in {**task["inputs"], **task["outputs"]}.items():
                role = "inout" if t in task["inputs"] and t in task["outputs"] else \
                       "input" if t in task["inputs"] else "output"
                shape = [size(e) for e in d["shape"]]
                buffers.append({"name": t, "role": role, "dtype": d["dtype"], "shape": shape})
                if role != "output":
                    tensors[t] = torch.zeros(shape, dtype=getattr(torch, d["dtype"]), device="cuda")
            side.begin_case({"axes": axes, "scalars": scalars, "buffers": buffers})
            side.call_fn(tensors)
            torch.cuda.synchronize()
            del tensors
            torch.cuda.empty_cache()
        return name + " ok"
    except Exception as e:
        return "%s: %s" % (name, " ".join(str(e).split())[:120])


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(12, maxtasksperchild=1) as pool:
        for line in pool.imap_unordered(one, sys.argv[1:], chunksize=1):
            print(line, file=sys.stderr)
