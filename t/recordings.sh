#!/usr/bin/env bash
# Replays runs in which a model wrote the kernels and an H200 ran them. Each replay must give the recorded lineage.
# The best kernel and two others of each run are evaluated again, by the emulator, on the task's smoke workloads.
# `make test` replays all runs, but evaluates only one kernel, because the kernels take long to compile.
. "$(dirname "$0")/lib.sh"
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || compiler=none

quick_best=" team_merge "
for rec in "$ROOT"/t/cases/recordings/*.jsonl; do
    name=$(basename "$rec" .jsonl)
    best_in=rest
    case $quick_best in *" $name "*) best_in=quick ;; esac
    runs 0 "$name: the recording replays" "$HONE" optimize --author "replay:$rec" --store "$name.db" --json
    out_has "$name: the replay gives the same lineage" '"lineage_differs": 0'
    [ "${compiler-}" = none ] && continue
    # the best kernel, and the first and the last of the others that passed
    python3 - "$T/out" >picks <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
others = [n["index"] for n in r["nodes"] if n["kind"] == "pass" and n["index"] != r["best"]]
print(r["task"], *([r["best"]] + others[:1] + others[1:][-1:]))
PY
    read -r task best others <picks
    picks=
    in_tier $best_in && picks=$best
    in_tier rest && picks+=" $others"
    for i in $picks; do
        "$HONE" show --store "$name.db" last "$i" >kernel.cu
        runs 0 "$name: candidate $i passes on the emulator" "$HONE" eval --device emu --smoke --skip-time \
            --skip-baselines "$task" kernel.cu
    done
done
done_testing
