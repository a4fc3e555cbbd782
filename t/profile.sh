#!/usr/bin/env bash
# `hone profile` on the emulator: it names the bottleneck of kernels that were made to have one
# (t/gpu/profile.sh runs all of them on a GPU), and its output is as documented.
. "$(dirname "$0")/lib.sh"
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"

while IFS=$'\t' read -r name task workload want; do
    case $name in '#'*) continue ;; tensor) continue ;; esac # wgmma takes long
    runs 0 "$name: profiled" "$HONE" profile --device emu --workload "$workload" "$task" \
        "$ROOT/t/cases/bottleneck/$name.cu"
    out_has "$name: $want" "$want: "
done <"$ROOT/t/cases/bottleneck/expect.tsv"

runs 0 "as JSON" "$HONE" profile --json --device emu --workload time:0 vector_add "$ROOT/kernels/vector_add.cu"
cp "$T/out" v.json
ok "it is a verdict with counters of the timed workload and of the code, none of a held-out one" \
    python3 - v.json <<'PY'
import json, sys
v = json.load(open(sys.argv[1]))
roles = {c["role"] for c in v["counters"]}
assert roles == {"time", "static"}, roles
assert any(c["name"] == "dram_pct" and c["unit"] == "%" and c["workload"] == "time:0" for c in v["counters"])
assert any(c["name"] == "registers" and c["role"] == "static" and c["value"] > 0 for c in v["counters"])
assert v["bottleneck"].startswith("dram-bound: ") and "(kernel vector_add, 100% of the time; model)" in v["bottleneck"]
PY
runs 0 "every counter" "$HONE" profile --device emu --workload time:0 --counters vector_add "$ROOT/kernels/vector_add.cu"
is "has a meaning" "$(grep -E '^  [a-z_0-9]+ +[0-9.kMG]+ *(B|%|ns)? *$' "$T/out")" ""
out_has "and its unit" "%  of the DRAM's peak throughput"
runs 0 "every workload has its line" "$HONE" profile --device emu vector_add "$ROOT/kernels/vector_add.cu"
out_has "the first" "time:0: "
out_has "the second" "time:1: "
runs 1 "a wrong kernel has no profile" "$HONE" profile --device emu vector_add "$ROOT/t/redteam/constant_output.cu"
out_lacks "none at all" "-bound"
runs 2 "only timed workloads" "$HONE" profile --device emu --workload smoke:0 vector_add "$ROOT/kernels/vector_add.cu"
runs 0 "help" "$HONE" profile --help
out_has "with an example" "hone profile --workload time:0 softmax"
done_testing
