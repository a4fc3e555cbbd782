#!/usr/bin/env bash
# hone-gnn on a GPU. Judges every kernel of kernels/gnn/ on the GPU. Then trains the models on Debian's package
# graph, on the CPU and on the GPU, with the data on the GPU, on the host, and with split features. Compares losses,
# accuracies and predictions. Prints the time of each epoch.
#   HONE=bin/hone OUT=results [JOBS=8] [MODELS="sage gat"] [EPOCHS=3] [HIDDEN=256] [FANOUT=15,10,5] t/gpu/gnn.sh
# hone-gnn must be beside $HONE. Exits 77 where there is no GPU, 1 if something disagrees.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)}
gnn=$(dirname "$HONE")/hone-gnn
epochs=${EPOCHS:-3} hidden=${HIDDEN:-256} fanout=${FANOUT:-15,10,5}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
mkdir -p "$OUT"
status=0

echo "== kernels"
export root HONE OUT
judge() { # judge NAME: evaluates a kernel
    "$root/tools/gnn-kernels" source "$1" >"$OUT/$1.cu" &&
        "$HONE" eval --device cuda --json "$root/kernels/gnn/$1" "$OUT/$1.cu" >"$OUT/$1.json" 2>"$OUT/$1.err"
}
export -f judge
names=$(for task in "$root"/kernels/gnn/*/task.json; do basename "$(dirname "$task")"; done)
# Hone locks the GPU while it times a kernel, so several evaluations do not disturb each other's times.
xargs -P "${JOBS:-8}" -I{} bash -c 'judge {}' <<<"$names" || status=1
for name in $names; do
    python3 - "$name" "$OUT/$name.json" <<'PY' || status=1
import json, sys
name, path = sys.argv[1:]
try:
    v = json.load(open(path))
except ValueError:
    print(f"{name:16} no verdict")
    sys.exit(1)
print(f"{name:16} {v['kind']:10} {v['time_ns'] / 1e3:10.1f} us  {v['summary'][:100]}")
sys.exit(v["kind"] != "pass")
PY
done

[ -d "$OUT/debian" ] || "$gnn" make debian "$OUT/debian" 2>/dev/null || exit 1
# train MODEL RUN: trains and predicts; RUN is cpu, cuda, cuda.host (the data on the host) or cuda.split (3 rows of
# features in 10 on the GPU)
train() {
    local model=$1 run=$2 out=$OUT/$1.$2 device=${2%.*} place=
    case $run in
    cuda.host) place="--place host" ;;
    cuda.split) place="--place split --cache 0.3" ;;
    esac
    rm -f "$out.ckpt"
    # shellcheck disable=SC2086
    "$gnn" train --device "$device" $place -m "$model" --hidden "$hidden" -f "$fanout" -e "$epochs" -t 8 --slots 16 \
        -c "$out.ckpt" --trace "$out.trace.json" --json "$OUT/debian" >"$out.train.json" 2>"$out.err" &&
        "$gnn" infer --device "$device" $place -c "$OUT/$model.cpu.ckpt" -f 20 --predictions "$out.tsv" --json \
            "$OUT/debian" >"$out.infer.json" 2>>"$out.err" || { cat "$out.err"; return 1; }
}
for model in ${MODELS:-sage gat gin sage-ri}; do
    echo "== $model"
    train "$model" cpu && train "$model" cuda && train "$model" cuda.host && train "$model" cuda.split ||
        { status=1; continue; }
    for place in host split; do
        cmp -s "$OUT/$model.cuda.ckpt" "$OUT/$model.cuda.$place.ckpt" ||
            { echo "--place gpu and --place $place give different weights"; status=1; }
    done
    python3 - "$OUT/$model" <<'PY' || status=1
import json, sys
out = sys.argv[1]
load = lambda n: json.load(open(f"{out}.{n}.json"))
runs = ("cpu", "cuda", "cuda.host", "cuda.split")
trained = [load(r + ".train") for r in runs]
print("products:", trained[0]["products"], "|", trained[1]["products"])
bad = 0
for epochs in zip(*(t["epochs"] for t in trained)):
    a, b = epochs[0], epochs[1]
    off = abs(b["loss"] / a["loss"] - 1)
    bad += not off < 0.02
    print(f"epoch {a['epoch']}: loss {a['loss']:.6f} {b['loss']:.6f} (off by {off:.1e}), "
          f"eval {a['eval_accuracy']:.4f} {b['eval_accuracy']:.4f}, "
          f"{a['input_nodes']} input nodes, {a['edges']} edges")
    for run, e in zip(runs, epochs):
        print(f"    {run:10} wall {e['wall_s']:.3f} s, computing {e['train_s']:.3f} s, "
              f"waiting {e['exposed_preparation_s']:.3f} s, {e['batches'] / e['wall_s']:.1f} batches/s" +
              (f", {100 * e['cache_hits']:.1f}% of the input rows in the cache" if "cache_hits" in e else ""))
print("inference, wall s:", *(f"{r} {load(r + '.infer')['wall_s']:.3f}" for r in runs))
rows = [open(f"{out}.{r}.tsv").read().split() for r in runs]
n = len(rows[0]) // 2
differ = [sum(x != y for x, y in zip(rows[0], other)) for other in rows[1:]]
print(f"predictions of one checkpoint that differ from the CPU's: {differ} of {n}")
sys.exit(bool(bad) or max(differ) > n * 0.002)
PY
done

# The GPU samples the batches of the first run, and threads of the host sample those of the second. One batch that
# differs would change the weights.
echo "== over 1,000 batches, sampled by the GPU and by the host"
for place in gpu host; do
    rm -f "$OUT/batches.$place.ckpt"
    "$gnn" train --device cuda --place $place -m sage --hidden 16 -f 15,10,5 -b 64 -e 2 -t 8 --slots 16 --eval none \
        -c "$OUT/batches.$place.ckpt" --json "$OUT/debian" >"$OUT/batches.$place.json" || status=1
done
if cmp -s "$OUT/batches.gpu.ckpt" "$OUT/batches.host.ckpt"; then
    echo "$(sed -n 's/^ *"batches": \([0-9]*\),*$/\1/p' "$OUT/batches.gpu.json" |
        awk '{ n += $1 } END { print n }') batches give the same weights"
else
    echo "the weights differ"
    status=1
fi
exit $status
