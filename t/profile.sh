#!/usr/bin/env bash
# `hone profile` on the emulator names the bottleneck of each kernel of t/cases/bottleneck, except of the one
# that uses wgmma. t/gpu/profile.sh runs all of them on a GPU.
. "$(dirname "$0")/lib.sh"
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"

while IFS=$'\t' read -r name task workload want; do
    tier=quick
    case $name in
    '#'* | tensor) continue ;; # wgmma takes long on the emulator
    l2) tier=rest ;;           # so does a matrix that is larger than L1
    esac
    in_tier $tier || continue
    runs 0 "$name: hone profile exits with 0" "$HONE" profile --device emu --workload "$workload" "$task" \
        "$ROOT/t/cases/bottleneck/$name.cu"
    out_has "$name: the bottleneck is $want" "$want: "
done <"$ROOT/t/cases/bottleneck/expect.tsv"
in_tier quick || done_testing

runs 0 "hone profile --json exits with 0" "$HONE" profile --json --device emu --workload time:0 vector_add "$ROOT/kernels/vector_add.cu"
cp "$T/out" v.json
ok "the JSON has counters of the timed workload and of the code, and no others" \
    python3 - v.json <<'PY'
import json, sys
v = json.load(open(sys.argv[1]))
roles = {c["role"] for c in v["counters"]}
assert roles == {"time", "static"}, roles
assert any(c["name"] == "dram_pct" and c["unit"] == "%" and c["workload"] == "time:0" for c in v["counters"])
assert any(c["name"] == "registers" and c["role"] == "static" and c["value"] > 0 for c in v["counters"])
assert v["bottleneck"].startswith("dram-bound: ") and "(kernel vector_add, 100% of the time; model)" in v["bottleneck"]
PY
runs 0 "hone profile --counters exits with 0" "$HONE" profile --device emu --workload time:0 --counters vector_add "$ROOT/kernels/vector_add.cu"
is "every counter has a description" "$(grep -E '^  [a-z_0-9]+ +[0-9.kMG]+ *(B|%|ns)? *$' "$T/out")" ""
out_has "a counter has its unit" "%  of the DRAM's peak throughput"
runs 0 "hone profile without --workload exits with 0" "$HONE" profile --device emu vector_add "$ROOT/kernels/vector_add.cu"
out_has "the first timed workload has a line" "time:0: "
out_has "the second timed workload has a line" "time:1: "
runs 1 "hone profile fails for a wrong kernel" "$HONE" profile --device emu vector_add "$ROOT/t/redteam/constant_output.cu"
out_lacks "hone profile names no bottleneck of a wrong kernel" "-bound"
runs 2 "a workload that is not timed is a usage error" "$HONE" profile --device emu --workload smoke:0 vector_add "$ROOT/kernels/vector_add.cu"
runs 0 "hone profile --help exits with 0" "$HONE" profile --help
out_has "hone profile --help has an example" "hone profile --workload time:0 softmax"
done_testing
