#!/usr/bin/env bash
# PyTorch's variants (src/job/torch_variants.c): how a job on a GPU calls them, on the fake driver of fake/libcuda.c;
# and the modes of src/worker/torch_sidecar.py on the CPU, for expressions and for modules.
. "$(dirname "$0")/lib.sh"
SIDECAR=$ROOT/src/worker/torch_sidecar.py
must() { "$@" || { echo "Bail out! $1 failed"; exit 1; }; }

modes() { sed -n 's/.*\.mode = "\([^"]*\)".*/\1/p' "$ROOT/src/job/torch_variants.c"; }
known=$(sed -n '/^MODES = {/,/^}/s/^    "\([^"]*\)": .*/\1/p' "$SIDECAR")
is "the sidecar has the modes of all PyTorch variants" "$(sort <<<"$known")" "$(modes | sort)"

# ---- a job on a fake GPU, with a program in place of Python that writes each call to the file `calls`
cat >python <<'END'
#!/bin/sh
while read -r line; do
    case $line in
    *'"op": "open"'*)
        mode=$(echo "$line" | sed 's/.*"mode": "\([^"]*\)".*/\1/')
        echo "ok PyTorch 0, $mode" >&3 ;;
    *'"timed": true'*) echo "$mode" >>calls && echo "ok 4321.5" >&3 ;;
    *'"timed": false'*) echo "untimed $mode" >>calls && echo ok >&3 ;;
    *) echo ok >&3 ;;
    esac
done
END
sed -i "s|>>calls|>>'$PWD/calls'|" python && chmod +x python
# time_variants TASK [OPTION]...: times a kernel of the task with all variants. The kernels of the fake driver do nothing, so there
# is no verdict.
time_variants() {
    : >users && : >calls
    LD_LIBRARY_PATH=$PWD HONE_GPU_LOCK_DIR=$PWD FAKE_NVML_USERS=$PWD/users FAKE_CUDA_GPUS=1 HONE_PYTHON=$PWD/python \
        timeout 200 "$HONE" eval "$1" "$ROOT/kernels/$1.cu" --torch-variants all --workload time:0 "${@:2}" >"$T/out" 2>"$T/err"
}
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1
if [ $? = 3 ]; then
    skip "a job times all variants" "no CUDA compiler on this machine"
elif in_tier rest; then
    must cc -std=gnu17 -D_GNU_SOURCE -shared -fPIC -iquote "$ROOT/src" -o libcuda.so.1 "$ROOT/t/fake/libcuda.c"
    must cc -std=gnu17 -shared -fPIC -o libnvidia-ml.so.1 "$ROOT/t/fake/libnvidia-ml.c"
    time_variants conv3x3_bn_relu
    forth="eager compile eager-default compile-default max-autotune high channels-last channels-last-timed"
    back="channels-last-timed channels-last high max-autotune compile-default eager-default compile eager"
    is "variants are timed in rounds, in alternating order" \
        "$(grep -v untimed calls | head -24 | tr '\n' ' ')" "$forth $back $forth "
    is "each variant makes a verified call and another one before it is timed, but high is not verified" \
        "$(grep untimed calls | sort | uniq -c | awk '{print $1, $3}' | sort | tr '\n' ' ')" \
        "1 high 2 channels-last 2 channels-last-timed 2 compile 2 compile-default 2 eager 2 eager-default 2 max-autotune "
    printf 'def run(x):\n    return x.softmax(-1)\n' >own.py
    time_variants softmax --against own.py
    is "without inputs of 4 or 5 dimensions, channels-last is left out" "$(grep -c channels calls)" 0
    is "without a convolution, PyTorch with its default settings is not timed again" "$(grep -c default calls)" 0
    is "a PyTorch program of --against is verified and timed beside PyTorch eager" \
        "$(grep -c '^eager' calls) $(grep -c 'untimed eager' calls)" "$((2 * $(grep -c '^compile' calls))) 4"
    out_has "a note says why channels-last is left out" \
        "variant 'torch.channels-last' left out: the task has no float input with 4 or 5 dimensions"
fi

# ---- the sidecar itself
in_tier rest || done_testing
find_torch || { skip "PyTorch runs on the CPU" "$(tail -1 "$T/setup")"; done_testing; exit; }

# ask MODE SOURCE: runs the program on x = 0, 1, 2, ... of shape [2,3,2,2]. Prints the sidecar's replies, then y.
python3 -c 'import struct; open("x", "wb").write(struct.pack("24f", *range(24)))'
ask() {
    python3 - "$1" "$2" <<'PY' >requests
import json, sys
shape = [2, 3, 2, 2]
print(json.dumps({"op": "open", "source": sys.argv[2], "mode": sys.argv[1], "gpu": None}))
print(json.dumps({"op": "case", "axes": {"N": 2}, "scalars": {"s": 0.5}, "buffers": [
    {"name": "x", "role": "input", "dtype": "float32", "shape": shape},
    {"name": "y", "role": "output", "dtype": "float32", "shape": shape}]}))
print(json.dumps({"op": "call", "timed": False, "wide": False, "buffers": [{"file": "x"}, {"file": "y"}]}))
PY
    rm -f y
    "$HONE_PYTHON" -u "$SIDECAR" <requests 3>replies >log 2>&1
    cut -c1-200 replies
    python3 -c 'import struct; print("y", *("%g" % v for v in struct.unpack("24d", open("y", "rb").read())))'
}
# says MODE SOURCE FACTOR DESCRIPTION: y must be FACTOR times x.
says() {
    local want
    want="y $(python3 -c "print(*('%g' % (i * $3) for i in range(24)))")"
    is "$4" "$(ask "$1" "$2" | tail -1)" "$want"
}
MODULE='P = torch.get_float32_matmul_precision()
L = torch.channels_last
def run(x, s, N):
    return x * (s * N + 2 * (P == "high") + 4 * x.is_contiguous(memory_format=L))'

while read -r mode expression module; do
    says "$mode" "x * s * N + torch.relu(x)" "$expression" "the mode $mode computes an expression"
    says "$mode" "$MODULE" "$module" "the mode $mode sets precision and layout for a module"
done <<END
eager                2 1
compile              2 1
eager-default        2 1
compile-default      2 1
max-autotune         2 1
high                 2 3
channels-last        2 5
channels-last-timed  2 5
frozen-weights       2 1
END
# The weights of the first call are constants: a second call with other weights gives the same result.
python3 - <<'PY' >requests
import json, struct
case = [{"name": n, "role": r, "dtype": "float32", "shape": [4]}
        for n, r in (("x", "input"), ("w", "input"), ("y", "output"))]
open("four", "wb").write(struct.pack("4f", 1, 2, 3, 4))
open("w1", "wb").write(struct.pack("4f", 1, 10, 100, 1000))
open("w2", "wb").write(struct.pack("4f", 0, 0, 0, 0))
print(json.dumps({"op": "open", "source": "x * (w + 1)", "mode": "frozen-weights", "weights": "w", "gpu": None}))
print(json.dumps({"op": "case", "axes": {}, "scalars": {}, "buffers": case}))
for w, y in (("w1", "y1"), ("w2", "y2")):
    files = [{"file": n} for n in ("four", w, y)]
    print(json.dumps({"op": "call", "timed": False, "wide": False, "buffers": files}))
PY
"$HONE_PYTHON" -u "$SIDECAR" <requests 3>replies >log 2>&1
is "frozen weights are those of the first call" \
    "$(python3 -c 'import struct; print(*(struct.unpack("4d", open(y, "rb").read()) for y in ("y1", "y2")))')" \
    "(2.0, 22.0, 303.0, 4004.0) (2.0, 22.0, 303.0, 4004.0)"
is "an unknown mode is an error" "$(ask turbo x 2>/dev/null | head -1)" \
    "error ValueError: this sidecar has no mode 'turbo'"

# ---- programs of users
softmax='    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)'
printf 'import inspect\nimport torch\n\n\ndef run(x):\n    assert "amax" in inspect.getsource(run)\n%s\n' "$softmax" >own.py
runs 0 "hone task check runs a PyTorch program as a baseline" "$HONE" task check softmax --against own.py
out_has "hone task check says that the program is right" "own.py agrees with reference.c"
printf 'def run(x):\n    return x\n' >wrong.py
runs 1 "a PyTorch program with a wrong result is refused" "$HONE" task check softmax --against wrong.py
err_has "the message names the program and the element" "reference.c and wrong.py disagree: element 0 of 'y'"
# fails SOURCE MESSAGE DESCRIPTION
fails() { is "$3" "$(ask eager "$1" 2>/dev/null | grep -m1 ^error)" "error $2"; }
fails 'run = 3' "NameError: the program has no function run(...)" "a program without a function run is an error"
fails 'def run(x, gamma):
    return x' "TypeError: run() needs 'gamma', which the task does not have; it has x, N, s" \
    "a program that wants an unknown tensor is an error"
fails 'def run(x):
    return x[:, 1:]' "RuntimeError: 'y' has shape [2, 2, 2, 2], [2, 3, 2, 2] was expected" \
    "a program that returns another shape is an error"
fails 'def run(x):
    return 3' "TypeError: 'y' has type int; a tensor was expected" "a program that returns no tensor is an error"
fails 'def run(x):
    return {"z": x}' "KeyError: \"the dictionary that run() returned has no 'y'\"" \
    "a program that returns other names is an error"
fails 'def run(x):
    raise ValueError("boom")' "ValueError: boom" "the exception of a program is its error"

# Checks whether cudnn.benchmark searches, which layout the inputs of a timed call have, whether the call converts
# them, how the sidecar calls torch.compile, and whether the compiler may take weights as constants.
cat >inside.py <<'PY'
import sys

space = {}
exec(open(sys.argv[1]).read().rsplit("\nmain()", 1)[0], space)
import torch

calls = []
torch.compile = lambda fn, **how: calls.append(how) or fn
shape = [2, 3, 2, 2]
for name in space["MODES"]:
    calls.clear()
    side = space["Sidecar"]()
    side.open({"source": "seen(x)", "mode": name, "gpu": None})
    side.begin_case({"axes": {}, "scalars": {}, "buffers": [
        {"name": "x", "role": "input", "dtype": "float32", "shape": shape}]})
    seen = []
    sys.modules["baseline"].seen = seen.append
    given = side.prepared({"x": torch.zeros(shape)})
    side.call_fn(given)
    how = calls[0] if calls else {"mode": "not compiled"}
    search = "search" if torch.backends.cudnn.benchmark else "default"
    config = sys.modules.get("torch._inductor.config")
    freezing = ["freezing"] if config and config.freezing else []
    print(name, how["mode"], search, *(t.is_contiguous(memory_format=torch.channels_last) for t in (given["x"], seen[0])),
          *freezing)
    # A call on the GPU, without one: the first call must not change the inputs of the second.
    torch.cuda.synchronize = torch.cuda.empty_cache = lambda: None
    side.source, side.given = "x.add_(1)", {}
    side.case["buffers"][0]["role"] = "inout"
    side.begin_case(side.case)
    side.on_cpu = False
    side.take = lambda where, buf: torch.zeros(shape)
    side.give = lambda where, buf, value: side.given.update({buf["name"]: value})
    side.measure = lambda tensors: (side.call_fn(tensors), 1500.0)
    for timed in (False, True):
        reply = side.call({"timed": timed, "buffers": [{}]})
        assert reply == ("1500.0" if timed else None) and bool((side.given["x"] == 1).all()), (name, timed)
five = space["in_channels_last"]({"x": torch.zeros(2, 3, 2, 2, 2), "i": torch.zeros(2, 3, 2, 2).int(),
                                  "w": torch.zeros(3, 2)})
print(five["x"].is_contiguous(memory_format=torch.channels_last_3d), five["i"].stride(), five["w"].stride())
PY
# A PyTorch with CUDA warns if there is a driver but no GPU.
is "a variant converts its inputs before the timed call or in it" \
    "$("$HONE_PYTHON" -W ignore::UserWarning inside.py "$SIDECAR" 2>&1)" \
    "eager not compiled search False False
compile None search False False
eager-default not compiled default False False
compile-default None default False False
max-autotune max-autotune-no-cudagraphs search False False
high None search False False
channels-last None search True True
channels-last-timed None search False True
frozen-weights None search False False freezing
True (12, 4, 2, 1) (2, 1)"

done_testing
