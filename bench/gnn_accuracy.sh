#!/usr/bin/env bash
# usage: bench/gnn_accuracy.sh [DIR]
#
# Measures how much accuracy sampled inference costs. Trains five models on Debian's package graph and on a random
# graph (a block model). Predicts the test nodes with 2, 5, 10 and 20 sampled neighbours of each node, and with all
# neighbours. Prints a table in Markdown. A cell compares sampled with all neighbours, for the same trained model: the
# difference of the two accuracies, as its mean over the seeds and a 95% t interval.
#
# DIR (default: a temporary directory) keeps data and results. A run that was interrupted continues
# there. `make bench` does not run this script, because it takes 20 minutes on one core. A smaller run:
#     SEEDS="1 2" EPOCHS=2 MODELS=sage bench/gnn_accuracy.sh
# PRECISION=fp16 multiplies in half precision (hone-gnn train --precision); take another DIR for it.
set -euo pipefail
cd "$(dirname "$0")/.."
gnn=${GNN:-build/${MODE:-release}/hone-gnn}
sets=${DATA:-debian blocks}
models=${MODELS:-sage gat gin gin:mean sage-ri} # gin:mean is gin with --aggregate mean
seeds=${SEEDS:-1 2 3 4 5}
fanouts=${FANOUTS:-2 5 10 20}
epochs=${EPOCHS:-8}
train="--hidden ${HIDDEN:-64} --fanout ${TRAIN_FANOUT:-5,5} --batch ${BATCH:-512} --lr ${LR:-0.01} --precision ${PRECISION:-fp32}"
threads="--threads ${THREADS:-1} --compute-threads ${THREADS:-1}"
blocks="--nodes ${BLOCK_NODES:-30000} --edges ${BLOCK_EDGES:-300000}"

[ $# -le 1 ] || { sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ -x "$gnn" ] || { echo "there is no $gnn: run make first" >&2; exit 3; }
if [ $# -eq 1 ]; then
    dir=$1
    mkdir -p "$dir"
else
    dir=$(mktemp -d)
    trap 'rm -rf "$dir"' EXIT
fi
raw=$dir/accuracy.tsv
touch "$raw"

[ -d "$dir/debian" ] || "$gnn" make debian "$dir/debian" >&2
# shellcheck disable=SC2086
[ -d "$dir/blocks" ] || "$gnn" make blocks $blocks "$dir/blocks" >&2

accuracy() { # accuracy OPTION... DIR: prints the accuracy of `hone-gnn infer`
    "$gnn" infer --json --precision "${PRECISION:-fp32}" "$@" | sed -n 's/^ *"accuracy": \([0-9.e-]*\),*$/\1/p'
}

# $raw gets a line for each inference: data, model, seed, fanout, accuracy.
for data in $sets; do
    for model in $models; do
        for seed in $seeds; do
            grep -q "^$data	$model	$seed	full	" "$raw" && continue
            ckpt=$dir/$data.$model.$seed.ckpt
            # shellcheck disable=SC2086
            "$gnn" train --model ${model/:/ --aggregate } $train $threads --epochs "$epochs" --seed "$seed" \
                --eval none --checkpoint "$ckpt" --resume "$dir/$data" >/dev/null
            lines=
            for fanout in $fanouts full; do
                how="--fanout $fanout --seed $seed"
                [ "$fanout" = full ] && how=--full
                # shellcheck disable=SC2086
                a=$(accuracy -c "$ckpt" $how $threads "$dir/$data")
                lines+=$(printf '%s\t%s\t%s\t%s\t%s' "$data" "$model" "$seed" "$fanout" "$a")$'\n'
            done
            printf '%s' "$lines" >>"$raw"
            rm -f "$ckpt"
        done
    done
done

echo "hone-gnn train $train --epochs $epochs, seeds $seeds; make blocks $blocks"
echo
awk -F'\t' -v fanouts="$fanouts" -v seeds="$seeds" '
    function t975(n) { return n < 2 ? 0 : n > 10 ? 2.1 : substr(quantiles, 7 * (n - 2) + 1, 6) + 0 }
    BEGIN {
        quantiles = "12.706  4.303  3.182  2.776  2.571  2.447  2.365  2.306  2.262"
        n_fanouts = split(fanouts, fanout, " ")
        n_seeds = split(seeds, seed, " ")
        head = "| data | model | full, % |"; rule = "| --- | --- | ---: |"
        for (f = 1; f <= n_fanouts; f++) {
            head = head " " fanout[f] " |"; rule = rule " ---: |"
        }
        print head; print rule
    }
    { value[$1, $2, $3, $4] = 100 * $5; key = $1 "\t" $2; if (!(key in seen)) { seen[key] = 1; order[++rows] = key } }
    END {
        for (r = 1; r <= rows; r++) {
            split(order[r], name, "\t")
            full = 0; n = 0
            for (s = 1; s <= n_seeds; s++)
                if ((name[1], name[2], seed[s], "full") in value) {
                    full += value[name[1], name[2], seed[s], "full"]; n++
                }
            if (n == 0) continue
            line = sprintf("| %s | %s | %.2f |", name[1], name[2], full / n)
            for (f = 1; f <= n_fanouts; f++) {
                sum = 0; square = 0
                for (s = 1; s <= n_seeds; s++) {
                    if (!((name[1], name[2], seed[s], "full") in value)) continue
                    d = value[name[1], name[2], seed[s], fanout[f]] - value[name[1], name[2], seed[s], "full"]
                    sum += d; square += d * d
                }
                mean = sum / n
                spread = n > 1 ? sqrt((square - n * mean * mean) / (n - 1) / n) : 0
                line = line sprintf(" %+.2f ± %.2f |", mean, t975(n) * spread)
            }
            print line
        }
    }' "$raw"
