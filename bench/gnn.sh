#!/usr/bin/env bash
# Measures the speed of hone-gnn's sampler and slicing, and compares it with this machine's memory and with DGL.
#   bench/gnn.sh               a graph of 2 M nodes: our rates, then DGL's sampler and loader in turns with ours
#   LARGE=1 bench/gnn.sh       also the time for an edge in graphs of 2 M and 64 M nodes (7 GB of disk and memory)
# DGL runs if PYTHON (default python3) has it: python3.11 -m venv V && V/bin/pip install torch==2.9.1
# dgl==1.1.3 numpy==1.26.4 torchdata pandas pyyaml pydantic packaging; PYTHON=V/bin/python bench/gnn.sh
# All rates count CPU time. The graphs stay in build/bench-gnn, or in DATA.
set -euo pipefail
cd "$(dirname "$0")/.."
gnn=build/${MODE:-release}/hone-gnn data=${DATA:-build/bench-gnn} python=${PYTHON:-python3} rounds=${ROUNDS:-5}
mkdir -p "$data"
echo "$(date -u +%F), $(uname -m), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
[ -e "$data/2m" ] || "$gnn" make rmat -n 2097152 -e 30000000 --no-isolated "$data/2m"
"$gnn" bench --far --rounds "$rounds" "$data/2m"

if "$python" -c 'import dgl' 2>/dev/null; then
    printf '\n%-10s %14s %14s %8s   (million edges per CPU second of one core)\n' fanout hone-gnn DGL ratio
    for f in 15,10,5 20,20,20; do
        for _ in 1 2 3; do
            ours=$("$gnn" bench --rounds 1 -f $f --json "$data/2m" | sed -n 's/.*"edges_per_cpu_s": \([0-9]*\).*/\1/p')
            read -r theirs _ < <("$python" bench/gnn_dgl.py "$data/2m" 1024 $f 2 2>/dev/null)
            echo "$f $ours $theirs"
        done | sort -k2n | awk 'NR == 2 {ours = $2} {their[NR] = $3; f = $1} END {
            t = their[1] < their[2] ? (their[2] < their[3] ? their[2] : (their[1] < their[3] ? their[3] : their[1])) \
                                    : (their[1] < their[3] ? their[1] : (their[2] < their[3] ? their[3] : their[2]))
            printf "%-10s %14.2f %14.2f %8.2f\n", f, ours / 1e6, t / 1e6, ours / t}'
    done
    echo
    echo "loaders in Python, with features and labels, batches of 1024, fanouts 15,10,5:"
    HONE_GNN_LIBRARY=${gnn%/*}/libhone_gnn.so PYTHONPATH=src/gnn/python \
        "$python" bench/gnn_loader.py "$data/2m" 1024 15,10,5 2 3 2>/dev/null
else
    echo "(no DGL in $python: see the top of bench/gnn.sh)"
fi

[ -n "${LARGE-}" ] || exit 0
# Both graphs have the same mean degree. They have no features, so that the large one fits into memory.
for n in 2097152 67108864; do
    d=$data/degree8-$n
    [ -e "$d" ] || "$gnn" make rmat -n $n -e $((n * 4)) --no-isolated --dim 0 --memory 2G "$d"
    printf '\n%s nodes, degree 8: ' "$n"
    "$gnn" bench --rounds "$rounds" --json "$d" |
        sed -n 's/.*"edges_per_cpu_s": \([0-9]*\).*/\1/p' | awk '{printf "%.2f M edges per CPU second, %.1f ns an edge\n", $1 / 1e6, 1e9 / $1}'
done
