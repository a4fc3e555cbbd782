#!/usr/bin/env bash
# Measures the speed of hone-gnn's sampler and slicing, and compares it with this machine's memory and with DGL.
#   bench/gnn.sh               a graph of 2 M nodes: our rates, then DGL's sampler and loader in turns with ours
#   LARGE=1 bench/gnn.sh       also the time for an edge in graphs of 2 M and 64 M nodes (7 GB of disk and memory)
# DGL runs if PYTHON (default python3) has it: python3.11 -m venv V && V/bin/pip install torch==2.9.1
# dgl==1.1.3 numpy==1.26.4 torchdata pandas pyyaml pydantic packaging; PYTHON=V/bin/python bench/gnn.sh
# All rates are per second of CPU time. Measurements that the script compares take turns. At the end, a table says which
# goals hold. The goals say how much slower hone-gnn may be than this machine's memory, how much faster than DGL it
# must be, what a second thread must gain, how much memory it may use, and with LARGE=1 how much longer an edge may take
# in the large graph. With LARGE=1 and DGL the script takes about 15 minutes on a quiet machine. The graphs stay in
# build/bench-gnn, or in DATA.
set -euo pipefail
cd "$(dirname "$0")/.."
gnn=build/${MODE:-release}/hone-gnn data=${DATA:-build/bench-gnn} python=${PYTHON:-python3} rounds=${ROUNDS:-5}
mkdir -p "$data"
echo "$(date -u +%F), $(uname -m), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
[ -e "$data/2m" ] || "$gnn" make rmat -n 2097152 -e 30000000 --no-isolated "$data/2m"
goals=$(mktemp)
trap 'rm -f "$goals"' EXIT
# goal NAME VALUE OP LIMIT: notes a goal; OP is >= or <=
goal() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$goals"; }
number() { sed -n "s/^ *\"$2\": \([0-9.e+-]*\),*\$/\1/p" <<<"$1"; }
over() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", (b > 0 ? a / b : 0) }'; }

"$gnn" bench --far --rounds "$rounds" "$data/2m"
# One goal limits the peak memory, and --far keeps 4 GiB in memory. So `run` comes from a measurement without --far.
far=$(number "$("$gnn" bench --far --rounds 1 --json "$data/2m")" far_reads_per_cpu_s)
run=$("$gnn" bench --rounds "$rounds" --json "$data/2m")
goal "sampled edges / random reads of 4 GiB" "$(over "$(number "$run" edges_per_cpu_s)" "$far")" ">=" 0.4
goal "rows sliced / random rows copied" "$(over "$(number "$run" rows_per_cpu_s)" "$(number "$run" row_copies_per_cpu_s)")" ">=" 0.6
two=$(number "$run" loader_edges_per_cpu_s_2)
goal "work of two threads / work of one" "$(awk -v a="$two" -v b="$(number "$run" loader_edges_per_cpu_s_1)" \
    'BEGIN { printf "%.3f", (b > 0 ? 2 * a / b : 0) }')" ">=" 1.8
# The loader has four slots, each with room for one batch. The measurement of one thread keeps a fifth batch.
goal "memory at most / (data + 1.1 slots)" "$(awk -v p="$(number "$run" peak_bytes)" -v d="$(number "$run" data_bytes)" \
    -v s="$(number "$run" slot_bytes)" 'BEGIN { printf "%.3f", p / (d + 1.1 * 5 * s) }')" "<=" 1

if "$python" -c 'import dgl' 2>/dev/null; then
    printf '\n%-10s %14s %14s %8s   (million edges per CPU second of one core)\n' fanout hone-gnn DGL ratio
    for f in 15,10,5 20,20,20; do
        line=$(for _ in 1 2 3; do
            ours=$("$gnn" bench --rounds 1 -f $f --json "$data/2m" | sed -n 's/.*"edges_per_cpu_s": \([0-9]*\).*/\1/p')
            read -r theirs _ < <("$python" bench/gnn_dgl.py "$data/2m" 1024 $f 2 2>/dev/null)
            echo "$f $ours $theirs"
        done | sort -k2n | awk 'NR == 2 {ours = $2} {their[NR] = $3; f = $1} END {
            t = their[1] < their[2] ? (their[2] < their[3] ? their[2] : (their[1] < their[3] ? their[3] : their[1])) \
                                    : (their[1] < their[3] ? their[1] : (their[2] < their[3] ? their[3] : their[2]))
            printf "%-10s %14.2f %14.2f %8.2f\n", f, ours / 1e6, t / 1e6, ours / t}')
        echo "$line"
        goal "sampled edges / DGL's, fanouts $f" "${line##* }" ">=" 2
    done
    echo
    echo "loaders in Python, with features and labels, batches of 1024, fanouts 15,10,5:"
    HONE_GNN_LIBRARY=${gnn%/*}/libhone_gnn.so PYTHONPATH=src/gnn/python \
        "$python" bench/gnn_loader.py "$data/2m" 1024 15,10,5 2 3 2>/dev/null
else
    echo "(no DGL in $python: see the top of bench/gnn.sh)"
fi

# Measures two graphs with the same mean degree. They have no features, so that the large one fits into memory. The rate
# of a graph is the best of three measurements; the graphs take turns.
if [ -n "${LARGE-}" ]; then
    declare -A best
    for n in 2097152 67108864; do
        d=$data/degree8-$n
        [ -e "$d" ] || "$gnn" make rmat -n $n -e $((n * 4)) --no-isolated --dim 0 --memory 2G "$d"
        best[$n]=0
    done
    for _ in 1 2 3; do
        for n in 2097152 67108864; do
            rate=$(number "$("$gnn" bench --rounds 1 --json "$data/degree8-$n")" edges_per_cpu_s)
            best[$n]=$(awk -v a="$rate" -v b="${best[$n]}" 'BEGIN { printf "%.0f", (a > b ? a : b) }')
        done
    done
    echo
    for n in 2097152 67108864; do
        awk -v n=$n -v r="${best[$n]}" \
            'BEGIN { printf "%d nodes, degree 8: %.2f M edges per CPU second, %.1f ns an edge\n", n, r / 1e6, 1e9 / r }'
    done
    goal "time for an edge, 64 M nodes / 2 M nodes" "$(over "${best[2097152]}" "${best[67108864]}")" "<=" 2
fi

echo
printf '%-45s %8s   %s\n' goal value ''
awk -F'\t' '{ holds = $3 == ">=" ? $2 >= $4 : $2 <= $4
    printf "%-45s %8.2f   %s %s: %s\n", $1, $2, $3, $4, holds ? "holds" : "MISSED" }' "$goals"
