#!/usr/bin/env bash
# Checks that Hone times PyTorch baselines as it times candidates. Both sides run the same cubin: as the
# candidate, and from the task's PyTorch program, which launches it through the driver.
#   HONE=bin/hone OUT=results t/gpu/clock.sh [TASK...]
# Prints both times and their ratio with its interval. Exits 77 where there is no GPU, 1 if two
# times differ by more than 2% and by more than 0.1 us.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
export HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)}
[ -e /dev/nvidiactl ] || [ -n "${DRY-}" ] || { echo "no GPU"; exit 77; }
exec python3 - "$root" ${*:-silu_and_mul gelu_tanh softmax} <<'PY'
import json, os, re, subprocess, sys
from pathlib import Path

root, *tasks = sys.argv[1:]
hone, out = os.environ["HONE"], Path(os.environ["OUT"]) / "clock"

PROGRAM = '''
import ctypes
cuda, fn = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()

def run({names}):
    cdiv = lambda a, b: -(-a // b)
    if not fn.value:
        torch.cuda.current_stream().synchronize()
        module = ctypes.c_void_p()
        if cuda.cuModuleLoadData(ctypes.byref(module), open({cubin!r}, "rb").read()) or \\
                cuda.cuModuleGetFunction(ctypes.byref(fn), module, {kernel!r}):
            raise RuntimeError("cannot load the cubin")
    {output} = torch.empty(({shape},), dtype=torch.{dtype}, device="cuda")
    args = [{args}]
    where = (ctypes.c_void_p * len(args))(*[ctypes.addressof(a) for a in args])
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    if cuda.cuLaunchKernel(fn, {grid}, {block}, 0, stream, where, None):
        raise RuntimeError("cannot launch")
    return {output}
'''


def make(task):
    """Writes a copy of the task whose PyTorch program launches our kernel. Returns its folder and the kernel."""
    folder, source = out / task, Path(root, "kernels", task + ".cu")
    folder.mkdir(parents=True, exist_ok=True)
    cubin = str(out / (task + ".cubin"))
    subprocess.run([hone, "compile", "--arch", "sm_90a", "--cubin", "-o", cubin, source], check=True, capture_output=True)
    text = source.read_text()
    launch = json.loads(re.search(r"/\* hone-plan\n(.*?)\*/", text, re.S).group(1))["launches"][0]
    params = re.search(r"__global__ void \w+\(([^)]*)\)", text).group(1).split(",")
    t = json.loads(Path(root, "tasks", task, "task.json").read_text())
    (y, spec), = t["outputs"].items()
    three = lambda v: ", ".join((v + ["1", "1"])[:3]).replace("/", "//")
    args = [f"ctypes.c_uint64({a}.data_ptr())" if "*" in p else
            f"ctypes.{'c_int64' if 'long long' in p else 'c_int32'}({a})" for a, p in zip(launch["args"], params)]
    t["torch"] = PROGRAM.format(
        names=", ".join([*t["inputs"], *t["axes"]]), cubin=cubin, kernel=launch["kernel"].encode(), output=y,
        shape=", ".join(map(str, spec["shape"])), dtype=spec["dtype"], args=", ".join(args),
        grid=three([str(g) for g in launch["grid"]]), block=three([str(b) for b in launch["block"]]))
    t["baselines"] = ["torch"]
    (folder / "task.json").write_text(json.dumps(t))
    (folder / "reference.c").write_text(Path(root, "tasks", task, "reference.c").read_text())
    return folder, source


wrong = 0
print(f"{'task':16} {'shape':28} {'candidate':>10} {'PyTorch':>10} {'ratio':>6} {'95% interval':>16}")
for task in tasks:
    folder, source = make(task)
    r = subprocess.run([hone, "eval", "--json", *([] if os.environ.get("DRY") else ["--device", "cuda"]),
                        "--measure-time", "1s", folder, source], capture_output=True, text=True)
    try:
        v = json.loads(r.stdout)
        mine = {t["workload"]: t for t in v["times"] if t["who"] == "candidate"}
        theirs = [t for t in v["times"] if t["who"] == "torch"]
    except ValueError:
        mine, theirs = {}, []
    if not theirs:
        wrong += 1
        print(f"{task:16} no times: {r.stderr.strip()[-300:]} {r.stdout[:200]}")
    for t in theirs:
        c = mine[t["workload"]]
        bad = abs(t["ratio"] - 1) > 0.02 and abs(t["median_ns"] - c["median_ns"]) > 100
        wrong += bad
        print(f"{task:16} {t['shape']:28} {c['median_ns'] / 1e3:8.2f}us {t['median_ns'] / 1e3:8.2f}us {t['ratio']:6.3f} "
              f"[{t['ratio_lo']:.3f}, {t['ratio_hi']:.3f}]{'  <--' if bad else ''}")
sys.exit(wrong > 0)
PY
