#!/usr/bin/env bash
# `hone import flashinfer-bench` on the data set cases/import/fib. `make test` replays recorded traces and tries
# broken workloads and files, without PyTorch. `make test-all` imports every definition with PyTorch for the CPU,
# judges a right and a wrong kernel, and validates the exported Solution and Traces with FlashInfer-Bench's package.
. "$(dirname "$0")/lib.sh"
share_cache
export CASES=$ROOT/t/cases/import/fib HONE
blob() { "$ROOT/t/fake/safetensors.py" "$@"; }
cp -r "$CASES" set
rows=set/blob/workloads/embedding/embedding_v50_d24
blob $rows/3.safetensors 'indices=I64[3]:0,49,7'
blob $rows/40.safetensors "indices=I64[40]:$(seq -s, 5 44)"
blob set/blob/workloads/gqa_paged/gqa/0.safetensors 'indptr=I32[3]:0,4,7' 'indices=I32[7]:8,1,2,3,4,5,0'

# ---- recorded traces, without PyTorch
replay() { # replay NAME ARGUMENTS...: imports the definition NAME from its recorded trace
    local file
    file=$(ls set/definitions/*/"$1.json")
    HONE_PYTHON=no-such-python "$HONE" import flashinfer-bench --out tasks --trace "$CASES/$1.trace.json" "${@:2}" "$file"
}
if in_tier quick; then
    runs 0 "a definition with workloads is imported" replay rmsnorm_h96
    out_has "a definition with workloads becomes a task" "tasks/rmsnorm_h96: 1 free size"
    out_has "the task keeps the workloads with the most frequent value of the scalar" \
        "scalar 'eps' is 1e-05 in 5 of 6 workloads, and only these are used"
    runs 0 "hone task show exits with 0 for the task" "$HONE" task show tasks/rmsnorm_h96
    out_has "the task keeps the scalar" eps
    is "the task times four of the workloads" "$(python3 -c 'import json
t = json.load(open("tasks/rmsnorm_h96/task.json"))
print([w["axes"]["batch_size"] for w in t["workloads"] if w["role"] == "time"], t["scalars"]["eps"]["value"])')" \
        "[1, 7, 33, 512] 1e-05"
    runs 2 "--scalar with a word for the value is a usage error" replay rmsnorm_h96 --scalar eps=small
    runs 2 "--size for an axis that does not exist is a usage error" replay rmsnorm_h96 --size rows=4
    err_has "the message lists the axes of the definition" \
        "--size rows=4: the definition has no such axis; it has: batch_size"
    runs 2 "--size for a definition with workloads is a usage error" replay rmsnorm_h96 --size batch_size=4
    err_has "the message says that the workloads give the sizes" "the definition has workloads, which give its sizes"
    runs 0 "a definition with data in files is imported" replay embedding_v50_d24 --json
    out_has "--json prints the report of the import" '"free_sizes": 1'
    ok "the values of the task have the range of the values in the files" \
        grep -q '"max": 49' tasks/embedding_v50_d24/task.json

    # -- a reference that cannot be traced
    runs 0 "a reference with a loop over .item() is imported" replay gqa_paged_decode_h4_kv2_d16_ps1
    out_has "the report says that the reference stays in Python" \
        "needs PyTorch: its reference stays in Python, because it cannot be traced"
    out_has "the report names the line that cannot be traced" \
        "ps1.json (reference):8: forward decides by the data of a tensor"
    is "the distributions fit the data of the files, and the sizes satisfy the constraints" "$(python3 -c 'import json
t = json.load(open("tasks/gqa_paged_decode_h4_kv2_d16_ps1/task.json"))
print(t["init"]["indptr"], t["init"]["indices"], all(w["axes"]["len_indptr"] == w["axes"]["batch"] + 1
      for w in t["workloads"] if w["role"] != "heldout"), t["scalars"]["sm_scale"]["value"])')" \
        "{'dist': 'csr', 'total': 'nindices'} {'dist': 'int', 'min': 0, 'max': 'pages - 1'} True 0.25"
    runs 3 "an evaluation fails if its Python reference has no PyTorch" \
        env HONE_PYTHON=/bin/false "$HONE" eval --device emu --smoke \
        --skip-baselines tasks/gqa_paged_decode_h4_kv2_d16_ps1 "$CASES/gqa_paged_decode_h4_kv2_d16_ps1.ok.cu"
    grep -q 'no CUDA compiler' "$T/err" ||
        out_has "the verdict says that the reference needs PyTorch" \
            "the task's reference is in Python and needs PyTorch (HONE_PYTHON)"

    # -- files that are wrong
    rm -rf tasks
    refused() { # refused DESCRIPTION MESSAGE: checks that the import of this data set fails with MESSAGE
        runs 1 "$1 is refused" replay embedding_v50_d24
        err_has "the message about $1 gives the reason" "$2"
        is "$1 leaves no task" "$(ls tasks 2>/dev/null)" ""
    }
    blob $rows/3.safetensors 'indices=I64[2,2]:0,4,7,1'
    refused "a tensor of another shape" "3.safetensors: 'indices' does not have the shape of this workload"
    blob $rows/3.safetensors 'indices=I32[3]:0,4,7'
    refused "a tensor of another dtype" "'indices' is int32, but the definition says int64"
    blob $rows/3.safetensors 'other=I64[3]:0,4,7'
    refused "a file without the tensor" "there is no tensor 'indices'"
    head -c 20 $rows/40.safetensors >$rows/3.safetensors
    refused "a file that is cut off" "not a safetensors file: it has 20 bytes"
    printf '\377\377\377\377\377\377\377\377{}' >$rows/3.safetensors
    refused "a header that is longer than its file" "not a safetensors file"
    rm $rows/3.safetensors
    refused "a missing file" "3.safetensors"
    mkfifo $rows/3.safetensors
    refused "a pipe in place of a file" "not a safetensors file"
    lines=set/workloads/embedding/embedding_v50_d24.jsonl
    good=$(head -1 $lines)
    broken() { # broken DESCRIPTION SED MESSAGE: like `refused`, after SED changed the first workload
        sed "$2" <<<"$good" >$lines
        refused "$1" "$3"
    }
    broken "a path that leads out of the data set" 's,"./blob,"../blob,' "the file must lie inside the data set"
    broken "an absolute path" 's,"./blob,"/blob,' "the file must lie inside the data set"
    broken "a workload of another definition" 's,"definition": "e,"definition": "f,' \
        "embedding_v50_d24.jsonl:1: this workload is for definition 'fmbedding"
    broken "an axis that is not declared" 's,"n": 3,"m": 3,' "the definition has no axis 'm'"
    broken "an axis of size 0" 's,"n": 3,"n": 0,' "axis 'n' needs a value from 1 to 2^40"
    broken "an input that is not declared" 's,"table":,"tabel":,' "the definition has no input 'tabel'"
    broken "an input of an unknown kind" 's,"random","magic",' 'it must be random, scalar or safetensors'
    broken "a scalar in place of a tensor" 's,"random","scalar",' "the definition says it is a tensor"
    broken "a line that is not JSON" 's,},,' "embedding_v50_d24.jsonl:1:"
    runs 1 "a task in place of a definition is refused" "$HONE" import flashinfer-bench "$ROOT/tasks/softmax/task.json"
    err_has "the message says that the file is no definition" "is not a definition of FlashInfer-Bench"
    runs 2 "an import without a file is a usage error" "$HONE" import flashinfer-bench
    cp "$CASES"/workloads/embedding/*.jsonl $lines
    rm $rows/3.safetensors
    blob $rows/3.safetensors 'indices=I64[3]:0,49,7'
fi

# ---- with PyTorch
in_tier rest || done_testing
rm -rf tasks
runs 0 "--scalar selects another value of the scalar" replay rmsnorm_h96 --scalar eps=1e-3
out_has "the task keeps the workloads with the value of --scalar" "scalar 'eps' is 0.001 in 1 of 6 workloads"
rm -rf tasks
find_torch || { skip "the data set is imported with PyTorch" "$(tail -1 "$T/setup")" && done_testing; }
runs 1 "an import of a data set with a refused definition exits with 1" "$HONE" import flashinfer-bench set --out tasks
cp "$T/out" table
is "eight of nine definitions become tasks" "$(tail -1 table)" "# 8 of 9 imported"
for name in silu_and_mul_d64 embedding_v50_d24 gemm_n48_k96 moe_top1_routing_e16 moe_topk_routing_e16_k4 fused_add_rmsnorm_h80 rmsnorm_h96; do
    ok "$name agrees with PyTorch" grep -qP "^$name\t[0-9.]+\t1\t(0\.0e\+00|[0-9.]+e-1[0-9])\t" table
done
refused() { ok "$1 is refused, and the message names the line" grep -qP "^$1\t.*$2" table; }
ok "a reference with a loop over .item() stays in Python" \
    grep -qP "^gqa_paged_decode_h4_kv2_d16_ps1\t.*\tneeds PyTorch\t" table
refused top_p_sampling_v64 '\(reference\):5: forward draws random numbers'
is "the task keeps the constraints of the definition" "$(python3 -c 'import json
print([c for c in json.load(open("tasks/silu_and_mul_d64/task.json"))["constraints"] if "%" in c or "128" in c])')" \
    "['128 == 2 * 64', 'T % 2 == 0']"

paged() { # paged KERNEL: evaluates KERNEL; PyTorch computes the truth after the kernel ran
    "$HONE" eval --device emu --skip-baselines --skip-time --seed 1 tasks/gqa_paged_decode_h4_kv2_d16_ps1 \
        "$CASES/gqa_paged_decode_h4_kv2_d16_ps1.$1.cu"
}
paged ok >"$T/out" 2>"$T/err"
if [ $? != 3 ]; then
    is "a right kernel passes a Python reference" "$(head -1 "$T/out")" pass
    runs 1 "a wrong kernel fails a Python reference" paged bad
    out_has "a wrong kernel gets a mismatch against a Python reference" mismatch
fi

judge() { "$HONE" eval --device emu --skip-baselines --seed 1 tasks/rmsnorm_h96 "$CASES/rmsnorm_h96.$1.cu" "${@:2}"; }
judge ok --json >ok.json 2>"$T/err"
if [ $? = 3 ]; then skip "a right kernel passes, and a wrong one fails" "$(head -1 "$T/err")" && done_testing; fi # no CUDA compiler
runs 1 "a wrong kernel fails" judge bad --skip-time
out_has "a wrong kernel gets a mismatch" mismatch
runs 0 "a right kernel is exported" "$HONE" export tasks/rmsnorm_h96 "$CASES/rmsnorm_h96.ok.cu" --verdict ok.json \
    --as flashinfer-bench --out bench
is "the export has the definition unchanged" "$(python3 -c 'import json, sys
print(json.load(open(sys.argv[1])) == json.load(open(sys.argv[2])))' bench/definitions/*.json "$CASES"/definitions/rmsnorm/rmsnorm_h96.json)" True
python3 -c 'import glob, json; print(json.load(open(glob.glob("bench/solutions/*.json")[0]))["sources"][0]["content"])' >run.py
ok "run() takes the definition's inputs and outputs" grep -q '^def run(hidden_states, weight, eps, output):' run.py
ok "run() says with which value of eps the kernel was verified" grep -q 'it was verified with 9.99999975e-06' run.py

# ---- with FlashInfer-Bench's package
if ! "$HONE_PYTHON" -m pip install -q --no-deps --target pkg flashinfer-bench==0.1.2 >"$T/out" 2>&1 ||
    ! "$HONE_PYTHON" -m pip install -q --target pkg pydantic safetensors docstring-parser >"$T/out" 2>&1; then
    skip "the package of FlashInfer-Bench reads the export" "$(tail -1 "$T/out")" && done_testing
fi
cat >validate.py <<'PY'
import sys
from flashinfer_bench.data import TraceSet

given, made = TraceSet.from_path(sys.argv[1]), TraceSet.from_path(sys.argv[2])
print(len(given.definitions), sum(map(len, given.workloads.values())))
for name, definition in made.definitions.items():
    assert definition == given.definitions[name]
    (solution,) = made.solutions[name]
    assert solution.definition == name and solution.spec.destination_passing_style
    for trace in made.traces[name]:
        assert trace.solution == solution.name and trace.is_successful()
        print(trace.workload.axes, trace.evaluation.status.value)
PY
runs 0 "the package reads definitions, workloads, Solution and Traces" env PYTHONPATH=pkg "$HONE_PYTHON" validate.py set bench
is "the package reads all definitions, workloads and traces" \
    "$(tr '\n' ' ' <"$T/out")" "9 14 {'batch_size': 1} PASSED {'batch_size': 7} PASSED \
{'batch_size': 33} PASSED {'batch_size': 512} PASSED "
done_testing
