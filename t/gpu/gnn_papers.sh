#!/usr/bin/env bash
# hone-gnn on a GPU at the size of ogbn-papers100M. Each command generates the graph in the GPU's memory
# (docs/gnn.md), because the graph is too large to copy. Prints the sizes of the batches beside every time.
#   HONE=bin/hone OUT=results [SCALE=1] [EPOCHS=2] [HOST_SCALE=1] [HONE_PYTHON=python3] [ONLY=pipeline] t/gpu/gnn_papers.sh
# Without `split`, all parts take about 150 seconds on an H200 with 16 cores and 64 GiB of host memory. `split` needs
# 66 GiB at scale 1: the dataset and, once more, the rows that are not cached. SPLIT_SCALE=0.5 needs half of that.
# ONLY names the parts to run, of: train learn infer kernels counters models nccl split pipeline torch (default: all).
# `pipeline` needs `train`, and `counters` needs ncu.
# EXPOSED=8 also measures exposed times, with 8 batches, in the run `fp32` and in the parts of the pipeline.
# hone-gnn must be beside $HONE. Each step has a time limit. If a step fails or hangs, the others still run.
# Exits 77 where there is no GPU, 1 if a step failed. DEVICE=emulator with a tiny SCALE tests
# the script itself.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)} DEVICE=${DEVICE:-cuda}
gnn=$(dirname "$HONE")/hone-gnn python=${HONE_PYTHON:-python3}
scale=${SCALE:-1} epochs=${EPOCHS:-2} hidden=${HIDDEN:-256} more=${MORE:-} fanout=${FANOUT:-15,10,5}
infer_fanout=${INFER_FANOUT:-20,20,20} host_scale=${HOST_SCALE:-1} same_scale=${SAME_SCALE:-0.1} threads=${THREADS:-$(nproc)}
split_scale=${SPLIT_SCALE:-$host_scale} counters_scale=${COUNTERS_SCALE:-0.1}
only=${ONLY:-train learn infer kernels counters models nccl split pipeline torch}
# The numbers of training nodes for the four rows of `pipeline`. They are small, so that epochs are short.
read -r -a trains <<<"${TRAINS:-20480 20480 204800 409600}"
[ "$DEVICE" != cuda ] || [ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
mkdir -p "$OUT"
status=0
made=papers:scale=$scale$more
host_made=papers:scale=$host_scale$more
wanted() { case " $only " in *" $1 "*) ;; *) return 1 ;; esac; }

# step NAME SECONDS COMMAND...: the output goes to $OUT/NAME.json, messages to $OUT/NAME.err
step() {
    local name=$1 limit=$2 start=$SECONDS rc
    shift 2
    timeout -k 5 "$limit" "$@" >"$OUT/$name.json" 2>"$OUT/$name.err"
    rc=$?
    echo "$name: $((SECONDS - start)) s for the whole command"
    [ $rc = 0 ] || { echo "  exit $rc: $(tail -c 500 "$OUT/$name.err")"; status=1; }
    return $rc
}

# show NAME: prints the figures of a training or inference run.
show() {
    python3 - "$OUT/$1.json" <<'PY'
import json, sys
run = json.load(open(sys.argv[1]))
if "epochs" not in run:
    print(f"  {run['precision']}, {run['nodes']} nodes, fanouts {run['fanout']}: {run['wall_s']:.3f} s (accuracy "
          f"{100 * run['accuracy']:.2f}%, {run['input_nodes']} input nodes, {run['edges']} edges in all)")
    sys.exit()
print(f"  {run['precision']}, {run['products']}, {run['weights']} weights")
cache = run.get("cache")
if cache:
    print(f"  cached: {cache['rows']} of {cache['all_rows']} rows, {cache['bytes'] / 2**30:.2f} GiB; chosen in "
          f"{cache['choose_s']:.1f} s")
for e in run["epochs"]:
    n = e["batches"]
    nodes = " ".join(f"{v / n:.0f}" for v in e["hop_nodes"])
    edges = " ".join(f"{v / n:.0f}" for v in e["hop_edges"])
    print(f"  epoch {e['epoch']}: {e['wall_s']:.3f} s, {1e3 * e['wall_s'] / n:.3f} ms a batch ({n} batches), "
          f"loss {e['loss']:.4f}, accuracy {100 * e['accuracy']:.2f}%, waited for batches "
          f"{e['exposed_preparation_s']:.3f} s, for copies {e['exposed_transfer_s']:.3f} s; "
          f"a batch: nodes {nodes}, edges {edges}")
    if cache:
        print(f"    {100 * e['cache_hits']:.2f}% of the input rows in the cache; {e['host_bytes'] / 1e9:.2f} GB from the "
              f"host, {e['host_bytes'] / 1e9 / e['wall_s']:.1f} GB/s")
x = run.get("exposed")
if x:
    print(f"  an epoch of {x['epoch_batches']} batches: {x['epoch_s']:.3f} s = train {x['train_s']:.3f} s + exposed preparation "
          f"{x['preparation_s']:.3f} s + exposed transfer {x['transfer_s']:.3f} s (from {x['batches']} batches)")
PY
}

# show_kernels NAME: prints the times of the kernels of a batch, each beside the least time that memory (4.2 TB/s)
# and arithmetic (TF32 tensor cores: 400 TFLOP/s, three products for one in fp32, half a product in fp16) allow.
show_kernels() {
    python3 - "$OUT/$1.json" <<'PY'
import json, sys
run = json.load(open(sys.argv[1]))
epoch = run["epochs"][0]
n = epoch["batches"]
nodes = [v / n for v in epoch["hop_nodes"]]
edges = [v / n for v in epoch["hop_edges"]]
hops = len(edges)
D, H, C = 128, 256, 172
width = [D] + [H] * (hops - 1)  # of the input of each layer
out = [H] * (hops - 1) + [C]
B = {}
F = {}
def add(name, b, f=0):
    B[name] = B.get(name, 0) + b
    F[name] = F.get(name, 0) + f
for layer in range(hops):
    h = hops - 1 - layer
    m, k, w = nodes[h], width[layer], out[layer]
    if layer:
        add("segment_sum", 4 * k * (min(edges[h], nodes[h + 1]) + m) + 4 * edges[h])
    else:
        add("segment_half", k * (2 * min(edges[h], nodes[h + 1]) + 4 * m) + 8 * edges[h])
    add("product", 4 * (2 * m * k + 2 * k * w + m * w), 4 * m * k * w)
    add("product_tn", 4 * (2 * m * k + 2 * k * w + m * w), 4 * m * k * w)
    if layer:
        for term in range(2):
            add("product_nt", 4 * (m * k + k * w + m * w), 2 * m * k * w)
        add("segment_grad", 4 * k * (min(edges[h], m) + 2 * nodes[h + 1] + m) + 4 * edges[h])
        add("transpose_hop", 4 * (edges[h] * 5 + nodes[h + 1] * 2))
    # every random access moves 32 bytes
    add("sample_hop", nodes[h] * 36 + edges[h] * 36)
    add("number_hop", edges[h] * (32 * 3 + 4 * 6))
add("gather_half", nodes[hops - 1] * D * 6)
add("mark_nodes", nodes[hops] * 36)
total = 0
print(f"  {'kernel':16} {'calls':>6} {'us a batch':>11} {'roofline us':>12} {'share':>6}")
for name, k in sorted(run["kernels"].items(), key=lambda i: -i[1]["ms"]):
    if name.startswith("make_"):
        print(f"  {name:16} once {k['ms']:9.1f} ms")
        continue
    us = 1e3 * k["ms"] / n
    total += us
    base = name.replace("_tf32", "").replace("_fp16", "")
    products = 1 if "tf32" in name else 0.5 if "fp16" in name else 3
    best = 1e6 * max(B.get(base, 0) / 4.2e12, F.get(base, 0) * products / 400e12)
    share = f"{100 * best / us:5.0f}%" if best and us else "     -"
    print(f"  {name:16} {k['calls'] / n:6.1f} {us:11.1f} {best:12.1f} {share}")
print(f"  all kernels one by one: {total:.0f} us a batch, {sum(k['calls'] for k in run['kernels'].values()) / n:.0f} calls")
PY
}

train() { # train NAME SECONDS GRAPH OPTION...
    local name=$1 limit=$2 data=$3
    shift 3
    step "$name" "$limit" "$gnn" train --device "$DEVICE" --hidden "$hidden" -f "$fanout" --eval none --json \
        --make "$data" "$@" && show "$name"
}

if wanted train; then
    echo "== train, graph and features in the GPU's memory"
    rm -f "$OUT/papers.ckpt"
    train fp32 100 "$made" -e "$epochs" -t 4 --slots 8 -c "$OUT/papers.ckpt" ${EXPOSED:+--exposed "$EXPOSED"}
    train tf32 60 "$made" -e "$epochs" -t 4 --slots 8 --precision tf32
    train fp16 60 "$made" -e "$epochs" -t 4 --slots 8 --precision fp16
    for precision in fp32 tf32 fp16; do
        train $precision-mma 60 "$made" -e "$epochs" -t 4 --slots 8 --precision $precision --products mma
    done
fi

if wanted learn; then
    echo "== GraphSAGE with less dropout, graph and features in the GPU's memory"
    for dropout in 0 0.1 0.25; do
        echo "-- dropout $dropout"
        train "learn-$dropout" 60 "$made" -e "${LEARN_EPOCHS:-6}" -t 4 --slots 8 --dropout "$dropout"
    done
fi

if wanted infer; then
    echo "== sampled inference, graph and features in the GPU's memory"
    for precision in fp32 tf32 fp16; do
        [ -f "$OUT/papers.ckpt" ] || continue
        step infer-$precision 50 "$gnn" infer --device "$DEVICE" --make "$made" -t 4 --slots 8 --json -c "$OUT/papers.ckpt" \
            -f "$infer_fanout" --split test --precision $precision && show infer-$precision
    done
fi

if wanted kernels; then
    echo "== kernels, one by one"
    for products in wgmma mma; do
        for precision in fp32 tf32 fp16; do
            name=kernels-$precision-$products
            train "$name" 60 "$made" -e 1 -t 4 --slots 8 --profile --precision $precision --products $products && show_kernels "$name"
        done
    done
fi

# show_counters FILE: prints for each kernel the counters that say what it waits for, added up or averaged by time.
show_counters() {
    python3 - "$1" <<'PY'
import csv, re, sys
lines = open(sys.argv[1]).read().splitlines()
start = next((i for i, l in enumerate(lines) if '"Kernel Name"' in l), None)
if start is None:
    sys.exit("no counters: " + " ".join(lines)[:300])
rows = list(csv.reader(lines[start:]))
head, units, rows = rows[0], rows[1], rows[2:]
column = {name: i for i, name in enumerate(head)}
scale = {"ns": 1e-3, "nsecond": 1e-3, "us": 1, "usecond": 1, "ms": 1e3, "msecond": 1e3}
def value(row, name):
    text = row[column[name]].replace(",", "") if name in column else ""
    return float(text) if text else 0.0
time = "gpu__time_duration.sum"
stall = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)_per_issue_active.ratio$")
stalls = {m.group(1): name for name in head if (m := stall.match(name))}
kernels = {}
for row in rows:
    kernels.setdefault(row[column["Kernel Name"]].split("(")[0], []).append(row)
print(f"  {'kernel':24} {'calls':>5} {'us':>8} {'blocks':>7} {'DRAM':>6} {'L2':>6} {'SM':>6} {'warps':>6}  waits of a warp, of 100")
for name, calls in sorted(kernels.items(), key=lambda k: -sum(value(r, time) for r in k[1])):
    weight = [value(r, time) * scale.get(units[column[time]], 1) for r in calls]
    total = sum(weight) or 1
    mean = lambda n: sum(w * value(r, n) for w, r in zip(weight, calls)) / total
    waits = {s: mean(n) for s, n in stalls.items()}
    all_waits = sum(waits.values()) or 1
    top = sorted(waits.items(), key=lambda w: -w[1])[:3]
    print(f"  {name:24} {len(calls):5} {total:8.1f} {mean('launch__grid_size'):7.0f} "
          f"{mean('dram__throughput.avg.pct_of_peak_sustained_elapsed'):5.0f}% "
          f"{mean('lts__throughput.avg.pct_of_peak_sustained_elapsed'):5.0f}% "
          f"{mean('sm__throughput.avg.pct_of_peak_sustained_elapsed'):5.0f}% "
          f"{mean('sm__warps_active.avg.pct_of_peak_sustained_active'):5.0f}%  " +
          ", ".join(f"{s} {100 * v / all_waits:.0f}" for s, v in top))
PY
}

if wanted counters; then
    # ncu needs seconds for each launch. So `timeout` interrupts it, and it prints the counters that it has.
    echo "== counters, scale $counters_scale: the launches for which ncu found time"
    metrics=gpu__time_duration.sum,launch__grid_size,sm__warps_active.avg.pct_of_peak_sustained_active
    for unit in dram lts sm; do
        metrics+=,${unit}__throughput.avg.pct_of_peak_sustained_elapsed
    done
    for stall in long_scoreboard short_scoreboard barrier wait math_pipe_throttle lg_throttle mio_throttle gmma drain; do
        metrics+=,smsp__average_warps_issue_stalled_${stall}_per_issue_active.ratio
    done
    timeout -s INT "${COUNTERS_LIMIT:-60}" "$(command -v ncu || echo /usr/local/cuda/bin/ncu)" --csv --page raw --clock-control none \
        --launch-skip "${COUNTERS_SKIP:-200}" --launch-count 80 --metrics "$metrics" "$gnn" train --device "$DEVICE" \
        --hidden "$hidden" -f "$fanout" --eval none --profile --json --make "papers:scale=$counters_scale$more,train=20480" \
        -e 1 -t 4 --slots 8 >"$OUT/counters.csv" 2>"$OUT/counters.err"
    show_counters "$OUT/counters.csv" || status=1
fi

if wanted models; then
    echo "== the other models, graph and features in the GPU's memory"
    for model in gat gin sage-ri; do
        for precision in fp32 tf32 fp16; do
            echo "-- $model"
            train $model-$precision 40 "$made" -m $model -e "$epochs" -t 4 --slots 8 --precision $precision
        done
    done
fi

if wanted nccl; then
    echo "== NCCL with one rank"
    # PyTorch's packages bring libnccl.so.2 in a folder of their own.
    nccl=$("$python" -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0] + "/lib")' 2>/dev/null)
    LD_LIBRARY_PATH=${nccl:+$nccl:}${LD_LIBRARY_PATH:-}
    export LD_LIBRARY_PATH
    if train nccl 60 "$made" -e "$epochs" -t 4 --slots 8 --gpus 1; then
        python3 - "$OUT/nccl.json" "$OUT/fp32.json" <<'PY'
import json, os, sys
run = json.load(open(sys.argv[1]))
print("  averaged by " + ("NCCL" if run["nccl"] else "host memory: there is no libnccl.so.2"))
if os.path.exists(sys.argv[2]):
    alone = json.load(open(sys.argv[2]))
    print("  the losses of one process without NCCL: " + " ".join(f"{e['loss']:.4f}" for e in alone["epochs"]))
PY
    fi
fi

if wanted split; then
    echo "== features split between the GPU and the host, scale $split_scale: the GPU samples and fetches rows by itself"
    for cache in ${CACHES:-0.5 0.25}; do
        echo "-- a cache of $cache of the rows"
        train "split-$cache" 150 "papers:scale=$split_scale$more" --place split --cache "$cache" -e "$epochs" -t 4 --slots 8
    done
    python3 - "$OUT" <<'PY'
import glob, json, os, sys
losses = {}
for path in [f"{sys.argv[1]}/fp32.json"] + sorted(glob.glob(f"{sys.argv[1]}/split-*.json")):
    if os.path.exists(path) and os.path.getsize(path):
        losses[os.path.basename(path)[:-5]] = " ".join(f"{e['loss']:.6f}" for e in json.load(open(path))["epochs"])
for name, text in losses.items(): # the same bits, if the data is the same
    print(f"  the losses of {name}: {text}")
PY
fi

if wanted pipeline; then
    echo "== the parts of the pipeline, scale $host_scale: the GPU makes the graph, and its copy lies in the host's memory"
    row() { # row NAME TRAINING_NODES OPTION...
        local name=$1 nodes=$2
        shift 2
        train "$name" 60 "$host_made,train=$nodes" --place host -e 2 ${EXPOSED:+--exposed "$EXPOSED"} "$@"
    }
    echo "-- sequential: one thread samples node by node and slices; then the copy; then the GPU computes"
    row sequential "${trains[0]}" -t 1 --slots 1 --ahead 0 --sampler plain
    echo "-- + the sampler with its passes"
    row sampler "${trains[1]}" -t 1 --slots 1 --ahead 0
    echo "-- + $threads threads prepare in shared memory"
    row threads "${trains[2]}" -t "$threads" --slots $((2 * threads)) --ahead 0
    echo "-- + pinned slots, copies overlap with computing"
    row pipelined "${trains[3]}" -t "$threads" --slots $((2 * threads)) --ahead 2
    echo "-- the table; all in fp32; the last epoch of each run. + GPU: graph, features and sampler on the GPU (the first run above)"
    python3 - "$OUT" <<'PY'
import json, os, sys
rows = [("sequential", "sequential"), ("+ sampler", "sampler"), ("+ shared-memory preparation", "threads"),
        ("+ pipelining", "pipelined"), ("+ GPU placement and sampling", "fp32")]
epoch_batches = 1179
print("  | what | batches measured | ms a batch | epoch of 1,179 batches, s | train, s | exposed preparation, s | exposed transfer, s |")
print("  | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
for name, file in rows:
    path = f"{sys.argv[1]}/{file}.json"
    if not os.path.exists(path) or not os.path.getsize(path):
        print(f"  | {name} | failed |")
        continue
    run = json.load(open(path))
    e = run["epochs"][-1]
    n = e["batches"]
    ms = 1e3 * e["wall_s"] / n
    cells = ["-"] * 3
    if x := run.get("exposed"): # of an epoch of x["epoch_batches"] batches
        cells = [f"{x[k] * epoch_batches / x['epoch_batches']:.2f}" for k in ("train_s", "preparation_s", "transfer_s")]
    print(f"  | {name} | {n} | {ms:.2f} | {ms * epoch_batches / 1e3:.2f} | {' | '.join(cells)} |")
PY
fi

if wanted torch; then
    echo "== other programs for the same work"
    for module in dgl torch_geometric cugraph_dgl; do
        "$python" -c "import $module; print('  $module', $module.__version__, 'is installed')" 2>/dev/null && continue
        timeout 10 "$python" -m pip download --no-deps --retries 0 --timeout 3 -q -d "$OUT/pip" "${module/_/-}" >/dev/null 2>&1 &&
            echo "  $module is not installed, but pip can download it" ||
            echo "  $module is not installed, and pip cannot download it here"
    done
    if "$python" -c "import torch; assert torch.cuda.is_available()" 2>/dev/null; then
        # The graph is smaller, because the CPU makes it here. Its batches are as large.
        small=papers:scale=$same_scale$more
        echo "== one step on the same batches: ours (with sampling), PyTorch's and PyG's (without); scale $same_scale"
        for p in fp32 tf32 fp16; do
            step "same-$p" 60 "$gnn" train --device "$DEVICE" --make "$small,train=51200" -m sage --hidden "$hidden" -f "$fanout" \
                -e 2 --precision $p --json && show "same-$p"
        done
        step batches 90 "$gnn" sample --make "$small,train=51200" -f "$fanout" -t "$threads" --slots $((2 * threads)) --most 10 \
            --save "$OUT/batches" --json &&
            step torch 60 "$python" "$root/t/gpu/gnn_torch_step.py" "$OUT/batches" && cat "$OUT/torch.json"
    fi
fi
exit $status
