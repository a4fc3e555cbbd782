#!/usr/bin/env bash
# A campaign on a real Slurm of two nodes (slurm/cluster). A job is cancelled, a node dies, a job reaches its time
# limit, and `hone` itself is killed. Then `hone-gnn` trains with two ranks. The test takes 2 to 4 minutes, because
# the shortest time limit of Slurm is one minute.
. "$(dirname "$0")/lib.sh"
in_tier rest || skip_all "make test-all runs this"
PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd sbatch srun; do
    command -v $program >/dev/null || skip_all "no $program (tools/setup slurm)"
done
share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1
[ $? = 3 ] && skip_all "no CUDA compiler on this machine"

for variable in "${!SLURM@}" "${!SBATCH@}" "${!SQUEUE@}" "${!SCANCEL@}"; do unset "$variable"; done
cluster=$ROOT/t/slurm/cluster here=$T/slurm places=$T/places store=$T/store.db
export SLURM_CONF=$here/slurm.conf HONE_SLURM_POLL_MS=1000 HONE_SPOOL_LEASE_S=8
hone_pid=
end() {
    # Children of `hone` end when it dies. Daemons and jobs of Slurm end here.
    [ -z "$hone_pid" ] || kill -9 "$hone_pid" 2>/dev/null
    "$cluster" stop "$here"
    cd / && rm -rf "$T"
}
trap end EXIT
trap 'exit 1' INT TERM HUP

# await SECONDS COMMAND...: repeats COMMAND until it succeeds. The limits are long, because a machine may be slow.
await() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $until ] || return 1
        sleep 0.2
    done
}
# give_up DESCRIPTION: fails this check and ends the test, because the later checks need it
give_up() {
    fail "$1" "$(tail -5 "$T"/*.err "$here"/log/* 2>/dev/null)"
    done_testing
}
environment() { tr '\0' '\n' <"/proc/$1/environ" | sed -n "s/^$2=//p"; } 2>/dev/null
# hold_worker [NODE]: waits until a worker runs a bundle, and suspends the worker. Sets worker (its process), job,
# element (the job's name in its array) and node.
# A bundle runs only for a short time. So this function starts no program before the worker is suspended: it waits with
# `read` from the empty pipe `never`.
exec {never}<> <(:)
hold_worker() {
    local until=$((SECONDS + 200)) claim
    while [ $SECONDS -lt $until ]; do
        for claim in "$places"/hone-*/spool/claimed/*; do
            worker=${claim##*.} && worker=${worker%-*} && worker=${worker##*-} # claimed/ID.g0f0.HOST-PROCESS-RANDOM
            kill -STOP "$worker" 2>/dev/null || continue
            read -r -t 0.05 -u "$never"
            node=$(environment "$worker" SLURMD_NODENAME) job=$(environment "$worker" SLURM_JOB_ID)
            element=$(environment "$worker" SLURM_ARRAY_JOB_ID)_$(environment "$worker" SLURM_ARRAY_TASK_ID)
            [ -e "$claim" ] && [ -n "$node" ] && [ "$node" = "${1:-$node}" ] &&
                [ "$(squeue --noheader -j "$element" -o %T 2>/dev/null)" = RUNNING ] && return 0
            # The worker has just finished the bundle, or is on another node, or its job is ending.
            kill -CONT "$worker" 2>/dev/null
        done
        read -r -t 0.005 -u "$never"
    done
    return 1
}
job_state() { # job_state JOB: prints how the job ended, or nothing while it runs
    sed -n "s/^JobId=$1 .* JobState=\([A-Z_]*\) .*/\1/p" "$here/log/jobs" | tail -1
}
job_ended() { [ -n "$(job_state "$1")" ]; }
hone_ended() { ! kill -0 "$hone_pid" 2>/dev/null; }
none_in_queue() { squeue --noheader >"$T/queue" 2>/dev/null && [ ! -s "$T/queue" ]; }

"$cluster" start "$here" 2>"$T/start.err" || give_up "a Slurm of two nodes starts"
pass "a Slurm of two nodes starts"

# ---- a campaign ------------------------------------------------------------------------------------
tasks=(softmax matmul_f32 vector_add attention_f16 rmsnorm layernorm_matmul_residual sigmoid conv3x3_bn_relu cumsum
    mlp_swiglu layernorm matvec_f32)
options=(-q --device emu --smoke --steps 1 --jobs 3)
place=slurm:gres=gpu:1,max-workers=2,idle=60,dir=$places
"$HONE" bench "${tasks[@]}" "${options[@]}" --on "$place,time=30" --store "$store" -o "$T/results" >"$T/first.out" 2>"$T/first.err" &
hone_pid=$!

hold_worker || give_up "a job runs a bundle"
cancelled=$job
scancel "$element" # not $job, because the number of an array's last job names the whole array too
await 200 job_ended "$cancelled"
is "one job is cancelled by hand" "$(job_state "$cancelled")" CANCELLED

hold_worker || give_up "another job runs a bundle"
lost=$job lost_node=$node
"$cluster" kill-node "$here" "$lost_node"
alive=n1
[ "$lost_node" = n1 ] && alive=n2
pass "one node dies with a bundle ($lost_node)"

hold_worker $alive || give_up "a job of the other node runs a bundle"
await 200 job_ended "$lost"
is "the job of the lost node fails with it" "$(job_state "$lost")" NODE_FAIL
kill -9 "$hone_pid"
wait "$hone_pid" 2>/dev/null
kill -CONT "$worker"
is "hone is killed and its jobs stay in the queue" "$(($(squeue --noheader | wc -l) > 0))" 1
# Only one node is left. The first job hangs there before it becomes a worker. So the campaign waits until Slurm
# ends that job.
hang="mkdir $T/hangs 2>/dev/null && trap '' TERM && echo \$SLURM_JOB_ID >$T/hangs/job && sleep 600"
"$HONE" bench --resume last -q --on "$place,time=2,prolog=$hang" --store "$store" -o "$T/results" --json >"$T/table" \
    2>"$T/second.err" &
hone_pid=$!
await 120 test -s "$T/hangs/job" || give_up "a job of the resumed campaign begins"
job=$(cat "$T/hangs/job")
await 300 job_ended "$job"
is "the time limit ends one job" "$(job_state "$job")" TIMEOUT
"$cluster" start-node "$here" "$lost_node" || give_up "the lost node comes back"
await 400 hone_ended || give_up "the campaign ends"
wait "$hone_pid"
is "the campaign ends with a pass for every task" "$?" 0
hone_pid=
await 200 none_in_queue
is "no job is left in the queue" "$(cat "$T/queue")" ""
is "no directory of a place is left" "$(ls "$places")" ""

# The built-in author writes the same kernels again, so a campaign without Slurm gives the right verdicts.
runs 0 "the same campaign without Slurm passes" \
    "$HONE" bench "${tasks[@]}" "${options[@]}" --store "$T/local.db" -o "$T/results2"
cat >"$T/records.py" <<'PY'
import sqlite3, sys
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
for row in db.execute("SELECT e.label, v.idx, v.source_sha, v.kind, count(*) FROM entry e JOIN verdict v ON v.run = e.run "
                      "GROUP BY 1, 2, 3, 4 ORDER BY 1, 2"):
    print(*row)
print("runs", *db.execute("SELECT count(*), count(DISTINCT task) FROM run").fetchone())
PY
python3 "$T/records.py" "$store" >"$T/with" && python3 "$T/records.py" "$T/local.db" >"$T/without"
ok "the store has verdicts of all tasks" test "$(wc -l <"$T/with")" -gt 12
is "the verdicts are those of the campaign without Slurm, each once" "$(cat "$T/with")" "$(cat "$T/without")"
runs 0 "hone runs --check finds no damage in the store" "$HONE" runs --check --store "$store"

# ---- ranks of hone-gnn -------------------------------------------------------------------------------
gnn=$(dirname "$HONE")/hone-gnn
"$gnn" make blocks -n 3000 -e 30000 -c 4 --dim 16 --within 0.8 --noise 1 data >"$T/out" 2>&1
train=(train -m sage -e 3 --hidden 16 -f "8,5" -b 130 --lr 0.02 -t 1 --compute-threads 1)
"$gnn" "${train[@]}" --ranks 2 -c shared.ckpt data >"$T/shared.out" 2>&1
runs 0 "srun starts two ranks of hone-gnn on two nodes" timeout 200 srun -N 2 -n 2 "$gnn" "${train[@]}" \
    -c slurm.ckpt data
err_has "the two ranks find each other" "2 ranks"
ok "the two ranks give the bits of --ranks 2" cmp slurm.ckpt shared.ckpt
is "the ranks leave no file" "$(find . -name '.hone-gnn*')" ""
cat >job.sh <<JOB
#!/bin/sh
exec "$gnn" ${train[*]} data
JOB
runs 0 "an sbatch script with two tasks trains" timeout 200 sbatch --wait -n 2 -o job.txt job.sh
ok "an sbatch script with two tasks is one rank" grep -q '^    3 ' job.txt
timeout 200 srun -N 2 -n 2 "$gnn" "${train[@]}" -e 100000 --eval none data >"$T/long.out" 2>"$T/long.err" &
srun_pid=$!
await 120 grep -q '^    1 ' "$T/long.out" || give_up "the ranks train"
victim=
for p in $(pgrep -f -- "-e 100000 --eval none data"); do
    [ "$(environment "$p" SLURM_PROCID)" = 1 ] && [ "$(environment "$p" SLURM_CONF)" = "$SLURM_CONF" ] && victim=$p
done
[ -n "$victim" ] || give_up "rank 1 is found"
kill -9 "$victim"
await 60 eval '! kill -0 $srun_pid 2>/dev/null' || give_up "the other rank ends after the death of one"
wait $srun_pid
is "the death of a rank ends the job" "$(($? != 0))" 1
ok "the other rank says that rank 1 ended" grep -q 'rank 1 ended' "$T/long.err"
done_testing
