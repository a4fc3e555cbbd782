#!/usr/bin/env python3
"""Writes a safetensors file without the package: safetensors.py FILE KEY=I32[2,3]:1,2,3,4,5,6 ..."""
import json
import os
import struct
import sys

FORMATS = {"I64": "q", "I32": "i", "U8": "B", "F32": "f", "F64": "d"}
header, data = {"__metadata__": {"by": "a test"}}, b""
for spec in sys.argv[2:]:
    key, _, rest = spec.partition("=")
    kind, _, values = rest.partition(":")
    dtype, shape = kind.rstrip("]").split("[")
    made = b"".join(struct.pack("<" + FORMATS[dtype], float(v) if dtype[0] == "F" else int(v)) for v in values.split(","))
    header[key] = {"dtype": dtype, "shape": [int(n) for n in shape.split(",") if n],
                   "data_offsets": [len(data), len(data) + len(made)]}
    data += made
text = json.dumps(header).encode()
os.makedirs(os.path.dirname(sys.argv[1]) or ".", exist_ok=True)
with open(sys.argv[1], "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text + data)
