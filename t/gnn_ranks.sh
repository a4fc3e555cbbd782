#!/usr/bin/env bash
# `hone-gnn train` with several ranks: the losses are those of one process; a rank dies; Ctrl-C and --resume.
# TIER=rest also trains with Open MPI, which gives the same bits.
. "$(dirname "$0")/lib.sh"

gnn=$(dirname "$HONE")/hone-gnn
"$gnn" make blocks -n 3000 -e 30000 -c 4 --dim 16 --within 0.8 --noise 1 data >"$T/out" 2>&1 || {
    fail "make blocks writes a dataset" "$(cat "$T/out")"
    done_testing
}
small="--hidden 16 -f 8,5 -b 130 --lr 0.02 -t 1 --compute-threads 1"
field() { perl -MJSON::PP -0777 -e 'print join " ", map { '"$1"' } @{decode_json(<STDIN>)->{epochs}}' <"$2"; }
# close_to A B: true if the numbers of two lists differ by at most 1 in 10^4
close_to() {
    paste <(tr ' ' '\n' <<<"$1") <(tr ' ' '\n' <<<"$2") |
        awk 'NF != 2 || ($1 - $2) ^ 2 > 1e-8 * $1 ^ 2 { bad = 1 } END { exit bad || NR == 0 }'
}
train() { # train FILE OPTION...: trains on `data` and writes the JSON to FILE
    # shellcheck disable=SC2086
    "$gnn" train $small --json "${@:2}" data >"$1" 2>"$T/err"
}

# ---- several ranks give the losses of one process ----
# 1800 training nodes in batches of 130: the last batch has 110 seeds, 27 or 28 for each of 4 ranks.
for model in sage gat; do
    train one.json -m $model -e 4 || fail "$model: one process trains" "$(cat "$T/err")"
    for ranks in 2 4; do
        train several.json -m $model -e 4 --ranks $ranks
        is "$model: $ranks ranks train" "$?" 0
        ok "$model: the losses of $ranks ranks are those of one process" \
            close_to "$(field '$_->{loss}' one.json)" "$(field '$_->{loss}' several.json)"
        is "$model: in each epoch, $ranks ranks see as many seeds as one process" \
            "$(field '$_->{seed_nodes}' several.json)" "$(field '$_->{seed_nodes}' one.json)"
    done
done
train a.json -e 2 --ranks 3 -c a.ckpt && train b.json -e 2 --ranks 3 -c b.ckpt
ok "two runs with three ranks give the same bits" cmp a.ckpt b.ckpt
for model in gin sage-ri; do # batch norm: every rank has its own statistics
    train several.json -m $model -e 5 --ranks 2
    ok "$model learns with two ranks" \
        awk -v a="$(field '$_->{eval_accuracy}' several.json)" 'BEGIN { split(a, v, " "); exit !(v[5] > 0.8) }'
done
# A batch with fewer seeds than ranks: 1800 = 56 * 32 + 8.
train one.json -e 2 -b 32 && train several.json -e 2 -b 32 --ranks 11
ok "training with more ranks than seeds gives the losses of one process" \
    close_to "$(field '$_->{loss}' one.json)" "$(field '$_->{loss}' several.json)"

# ---- a rank that dies ----
# shellcheck disable=SC2086
"$gnn" train $small --ranks 3 -e 100000 --eval none data >job.out 2>job.err &
pid=$!
for _ in {1..100}; do
    ranks=$(pgrep -P $pid | wc -l)
    [ "$ranks" = 3 ] && grep -q '^    1 ' job.out && break
    sleep 0.1
done
kill -9 "$(pgrep -P $pid | tail -1)"
start=$(date +%s%N)
wait $pid
is "a killed rank ends the job with a failure" "$?" 3
ok "a killed rank ends the job within 5 seconds" test $((($(date +%s%N) - start) / 1000000)) -lt 5000
ok "the message says that a rank was killed" \
    grep -q 'rank [0-2] was ended by signal 9 (Killed); the others were ended too' job.err
is "a killed rank leaves no other rank running" "$(pgrep -c -f "train.*--ranks 3 -e 100000")" 0

# ---- Ctrl-C and --resume ----
# shellcheck disable=SC2086
"$gnn" train $small --ranks 2 -e 80 --eval none -c whole.ckpt data >"$T/out" 2>&1
# shellcheck disable=SC2086
"$gnn" train $small --ranks 2 -e 80 --eval none -c parts.ckpt data >parts.out 2>"$T/err" &
pid=$!
for _ in {1..500}; do
    grep -qs '^    1 ' parts.out && break
    sleep 0.02
done
kill -TERM $pid # not SIGINT, which bash lets its background jobs ignore
wait $pid
is "SIGTERM, like Ctrl-C, ends the job with 130" "$?" 130
for _ in {1..20}; do
    # shellcheck disable=SC2086
    "$gnn" train $small --ranks 2 -e 80 --eval none -c parts.ckpt --resume data >"$T/out" 2>"$T/err" && break
done
ok "an interrupted run with two ranks gives the same bits after --resume" cmp whole.ckpt parts.ckpt
# shellcheck disable=SC2086
runs 0 "one process resumes the training of two ranks" "$gnn" train $small -e 81 --eval none -c parts.ckpt --resume data

# ---- refusals ----
runs 2 "--ranks 2000 is a usage error" "$gnn" train --ranks 2000 data
err_has "the message about --ranks gives the limit" "at most 1024 ranks"
OMPI_COMM_WORLD_SIZE=2 runs 2 "--ranks under mpirun is a usage error" "$gnn" train --ranks 2 data
err_has "the message says to leave out --ranks under mpirun" "under mpirun or srun leave it out"

# ---- srun sets the variables of PMIx, and there is no usable libmpi ----
mkdir none
echo | ${CC:-cc} -shared -x c -o none/libmpi.so - # without a symbol of MPI
cp none/libmpi.so none/libmpi.so.40 && cp none/libmpi.so none/libmpi.so.12
as_rank() { # as_rank N: trains as rank N of 2
    # shellcheck disable=SC2086
    env LD_LIBRARY_PATH="$PWD/none" SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID="$1" PMIX_RANK="$1" \
        timeout 100 "$gnn" train $small -e 2 -c pmix.ckpt data >"pmix.$1" 2>&1
}
as_rank 1 &
as_rank 0
is "PMIx without libmpi: rank 0 trains" "$?" 0
wait $!
is "PMIx without libmpi: rank 1 trains" "$?" 0
train shared.json -e 2 --ranks 2 -c shared.ckpt
ok "two ranks under PMIx without libmpi give the bits of --ranks 2" cmp pmix.ckpt shared.ckpt

# ---- Open MPI ----
if in_tier rest; then
    if ! command -v mpirun >/dev/null; then
        skip "mpirun gives the bits of --ranks" "no mpirun (tools/setup mpi)"
    else
        mpi() { # mpi RANKS FILE OPTION...: trains under mpirun and writes the JSON to FILE
            # shellcheck disable=SC2086
            timeout 100 mpirun --allow-run-as-root --oversubscribe -n "$1" "$gnn" train $small --json "${@:3}" data \
                >"$2" 2>"$T/err"
        }
        for ranks in 2 4; do
            rm -f shared.ckpt mpi.ckpt
            train shared.json -e 3 --ranks $ranks -c shared.ckpt
            mpi $ranks mpi.json -e 3 -c mpi.ckpt || fail "mpirun -n $ranks trains" "$(tail -5 "$T/err")"
            ok "mpirun -n $ranks gives the bits of --ranks $ranks" cmp shared.ckpt mpi.ckpt
        done
        mpi 2 mpi.json -e 100000 --eval none &
        pid=$!
        sleep 3
        start=$(date +%s%N)
        pkill -9 -n -f "train.*-e 100000 --eval none data"
        wait $pid
        is "a killed rank ends the job under mpirun" "$(($? != 0))" 1
        ok "a killed rank ends the job under mpirun within 5 seconds" test $((($(date +%s%N) - start) / 1000000)) -lt 5000
    fi
fi
done_testing
