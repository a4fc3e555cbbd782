"""Builds an exported source for another GPU with NVRTC. It runs without the fake driver, which NVRTC cannot load.
usage: check_nvrtc.py DIR"""

import sys

sys.path.insert(0, sys.argv[1])
import softmax_op as softmax  # noqa: E402

if softmax._find_nvrtc() is None:
    sys.exit("skip: no NVRTC here")
image = softmax._compile(softmax._softmax_code()[2], (8, 0), "sm_90a")
assert image[:4] == b"\x7fELF"
try:
    softmax._compile('extern "C" __global__ void k() { nonsense }', (8, 0), "sm_90a")
except RuntimeError as e:
    assert all(w in str(e) for w in ("built for sm_90a", "sm_80", "nonsense")), e
else:
    sys.exit("nothing was raised")
