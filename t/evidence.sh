#!/usr/bin/env bash
# The evidence in a verdict: Hone judges baselines, names the workload of each counter, says which workloads it
# verified, and notices a changed task.
. "$(dirname "$0")/lib.sh"
share_cache
rec=$ROOT/t/cases/replay

# get PATH < JSON prints one value of the JSON, as in get 'baselines.0.state'
get() {
    python3 -c '
import json, sys
v = json.load(sys.stdin)
for k in sys.argv[1].split("."):
    v = v[int(k)] if isinstance(v, list) else v[k]
print(v)' "$1"
}

# The folder add/ has the task vector_add with two smaller timed shapes and its own naive.cu.
mkdir add
cp "$ROOT"/tasks/vector_add/reference.c add/
python3 - "$ROOT/tasks/vector_add/task.json" >add/task.json <<'PY'
import json, sys
t = json.load(open(sys.argv[1]))
t["name"] = "add"
keep = lambda w: w["role"] != "time" and not isinstance(w["axes"]["N"], dict) and w["axes"]["N"] != 65536
t["workloads"] = [w for w in t["workloads"] if keep(w)] + [{"role": "time", "axes": {"N": 1048576}},
                                                           {"role": "time", "axes": {"N": 4194304}}]
json.dump(t, open("/dev/stdout", "w"), indent=1)
PY
good=$ROOT/kernels/vector_add.cu
{ cat "$good"; echo '// the candidate'; } >cand.cu
naive() { sed "$1" "$good" >add/naive.cu; } # naive SED: writes the baseline, changed by SED
eval_add() { "$HONE" eval --device emu --seed 5 "$@" add/ cand.cu; }

# ---- Hone judges baselines as it judges candidates ----

naive ''
runs 0 "an evaluation with a right baseline passes" eval_add
out_has "the verdict gives the ratio to the baseline by its name" "x naive"
out_has "the ratio over several shapes is called a geometric mean" "geometric mean of 2 shapes"
out_lacks "the verdict does not count whole and sampled workloads together" "workloads right; worst"
is "the verdict counts the workloads that were verified whole" \
    "$(grep -cE "^verified whole: ([0-9]+) of \1 workloads right" "$T/out")" 1
out_has "the verdict counts the workloads that were verified by sample" "verified by sample: 2 of 2 workloads right (time:0 "
out_has "the verdict names the task" "task add "

naive 's/a\[i\] + b/a[i] - b/'
runs 0 "a wrong baseline does not make a right candidate fail" eval_add
out_has "the verdict says that the baseline is wrong" "baseline naive is wrong: mismatch"
out_lacks "a wrong baseline gives no ratio" "x naive"
out_lacks "no row of times compares the candidate with a wrong baseline" "candidate is"
runs 0 "an evaluation with a wrong baseline passes as JSON" eval_add --json
is "the JSON says that the baseline is wrong" "$(get baselines.0.state <"$T/out")" wrong
is "the JSON has no ratio to a wrong baseline" "$(get speedup <"$T/out")" 0.0
is "the JSON has no times of a wrong baseline" "$(get times <"$T/out" | grep -c "'naive'")" 0
runs 1 "hone task check fails if a baseline is wrong" "$HONE" task check add/
err_has "hone task check names file and line of the wrong baseline" "add/naive.cu:7: the baseline 'naive' is wrong: mismatch"

echo garbage >add/naive.cu
runs 1 "hone task check fails if a baseline is no CUDA source" "$HONE" task check add/
err_has "hone task check names the line of a baseline without a plan" \
    "add/naive.cu:1: the baseline 'naive' is wrong: plan_error"
runs 0 "a baseline that is no CUDA source does not make a right candidate fail" eval_add
out_has "the verdict says that the baseline has no plan" "baseline naive is wrong: plan_error"

if in_tier rest; then
    naive 's/i < n/i < n + 1/'
    runs 1 "hone task check fails if a baseline reads past the end" "$HONE" task check add/
    err_has "hone task check names the line of the access past the end" \
        "add/naive.cu:11: the baseline 'naive' is wrong: fault"

    naive 's/i < n/i < m/'
    runs 1 "hone task check fails if a baseline does not compile" "$HONE" task check add/
    err_has "hone task check names the line of the compile error" \
        "add/naive.cu:10: the baseline 'naive' is wrong: compile_error"

    : >add/naive.cu
    runs 1 "hone task check fails if a baseline is empty" "$HONE" task check add/
    err_has "hone task check says that an empty baseline has no code" \
        "add/naive.cu:1: the baseline 'naive' is wrong: no_code"

    naive ''
    sed 's/a\[i\] + b/a[i] * b/' "$good" >wrong.cu
    runs 0 "a wrong file of --against does not make a right candidate fail" eval_add --against wrong.cu
    out_has "the verdict says that the file of --against is wrong" "baseline wrong.cu is wrong: mismatch"
    out_has "a wrong file of --against leaves the ratio to naive" "x naive"
    runs 0 "hone task check passes if the baseline is right" "$HONE" task check add/
fi

# ---- a timed call that runs past its limit ----

# slow LAUNCHES OPERATOR: prints a candidate with 1 or 2 launches. The last launch computes a OPERATOR b, and hangs at
# the timed shapes.
slow() {
    local first=
    [ "$1" = 1 ] || first='{"kernel":"first","grid":["1"],"block":[32],"args":["ws"]},'
    cat <<CU
/* hone-plan
{"launches":[$first {"kernel":"add","grid":["cdiv(N,256)"],"block":[256],"args":["a","b","c","N"]}],
 "workspace":{"ws":{"bytes":"128"}}} */
extern "C" __global__ void first(int *ws) { ws[threadIdx.x] = 0; }
extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    for (volatile int k = 0; n > 1000000 && k < 1000000000; k++)
        ;
    if (i < n)
        c[i] = a[i] $2 b[i];
}
CU
}
eval_slow() { slow "$@" >slow.cu && "$HONE" eval --device emu --seed 5 --skip-baselines --call-limit 300ms add/ slow.cu; }
for launches in 1 2; do
    [ $launches = 2 ] || in_tier rest || continue
    runs 3 "$launches launches: a right candidate whose timed call runs past its limit gets no verdict" eval_slow $launches +
    is "$launches launches: the kind of a candidate past its limit is unjudged" "$(head -1 "$T/out")" unjudged
    out_has "$launches launches: the message names the time limit" "the kernel ran past its time limit"
    is "$launches launches: the workloads verified before the limit are counted" \
        "$(grep -cE "^verified whole: ([0-9]+) of \1 workloads right" "$T/out")" 1
    runs 1 "$launches launches: a wrong candidate past its limit fails" eval_slow $launches -
    is "$launches launches: the verdict past the limit is mismatch" "$(sed 's/(.*//' "$T/out" | head -2)" "mismatch
wrong on smoke:1 "
    out_has "$launches launches: a warning says that the run ended early" "warning: the run ended early"
done

# ---- each counter names its workload ----

naive ''
runs 0 "an evaluation with counters passes" "$HONE" eval --device emu --seed 5 --json --smoke add/ cand.cu
python3 - "$T/out" >counts <<'PY'
import json, sys
v = json.load(open(sys.argv[1]))
for w in ("smoke:0", "smoke:1", "smoke:2"):
    print(w, *[c["value"] for c in v["counters"] if c["workload"] == w and c["name"] == "launches"])
PY
is "each workload has the counters of one call" "$(cat counts)" "smoke:0 1.0
smoke:1 1.0
smoke:2 1.0"

# ---- Hone notices a changed task ----

hash() { "$HONE" task show --json "$1" | get hash; }
was=$(hash add/)
if in_tier rest; then
    touch add/task.json add/reference.c
    python3 -c 'import json; t = json.load(open("add/task.json")); json.dump(t, open("add/task.json", "w"), indent=7)'
    is "the task hash does not depend on dates and layout" "$(hash add/)" "$was"
    cp -r add moved
    is "the task hash does not depend on the folder" "$(hash moved/)" "$was"
    echo '// a comment' >>moved/naive.cu
    ok "the task hash depends on naive.cu" test "$(hash moved/)" != "$was"
    cp -r add moved2
    echo '// a comment' >>moved2/reference.c
    ok "the task hash depends on reference.c" test "$(hash moved2/)" != "$was"
fi
runs 0 "an evaluation with --smoke passes" eval_add --smoke --json
is "the verdict has the task hash" "$(get task_sha <"$T/out")" "$was"

cp -r "$ROOT/tasks/softmax" softmax
cp "$ROOT/kernels/softmax.cu" softmax/naive.cu
runs 0 "a run of a task in a folder of the user replays" "$HONE" optimize softmax/ --author "replay:$rec/refine.jsonl"
runs 0 "hone log --export writes its recording" "$HONE" log last --export mine.jsonl
ok "the recording has the task hash" grep -q "\"task_sha\":\"$(hash softmax/)\"" mine.jsonl
runs 0 "hone resume of a complete run succeeds" "$HONE" resume last
err_lacks() { if grep -qF -- "$2" "$T/err"; then fail "$1" "'$2' is in: $(cat "$T/err")"; else pass "$1"; fi; }
err_lacks "hone resume does not say that an unchanged task has changed" "has changed"

sed -i 's/"rtol": [^,]*/"rtol": 0.5/' softmax/task.json
echo '/* changed */' >>softmax/reference.c
runs 0 "hone resume succeeds after a change of the task" "$HONE" resume last
err_has "hone resume names the changed parts of the task" \
    'has changed (task.json: "tolerance"; reference.c) since the run began'
err_has "hone resume goes on with the task as it was" "goes on with the task as it was then"
out_has "the resumed run keeps its lineage" "the same as the recording's lineage"
runs 0 "a recording replays with a changed task" "$HONE" optimize softmax/ --author replay:mine.jsonl
err_has "the replay says that the task is another version" "the recording was made with another version of task 'softmax'"
rm -r softmax
runs 0 "hone resume succeeds without the files of the task" "$HONE" resume 1
err_has "hone resume says that the task cannot be loaded any more" "cannot be loaded any more"

in_tier rest || done_testing
runs 0 "a recording without a task hash replays" "$HONE" optimize --author "replay:$rec/refine.jsonl"
err_lacks "the replay of a recording without a task hash does not warn" "another version"
python3 - <<'PY'
import json, sqlite3
db = sqlite3.connect("hone-out/hone.db")
(id, config), = db.execute("SELECT id, config FROM run ORDER BY id DESC LIMIT 1")
config = json.loads(config)
del config["task_sha"]
db.execute("UPDATE run SET config = ? WHERE id = ?", (json.dumps(config), id))
db.commit()
PY
runs 0 "hone resume succeeds for a run without a copy of its task" "$HONE" resume last
err_has "hone resume says that the run kept no copy of its task" "kept no copy of task"

done_testing
