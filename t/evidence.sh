#!/usr/bin/env bash
# The chain of evidence around a verdict: baselines are judged, counters belong to their workload, the
# verdict says what was verified, and a changed task is noticed.
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

# The folder add/ has the task vector_add with a small timed shape and its own naive.cu.
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
naive() { sed "$1" "$good" >add/naive.cu; }
eval_add() { "$HONE" eval --device emu --seed 5 "$@" add/ cand.cu; }

# ---- baselines are judged as candidates are ----

naive ''
runs 0 "a right baseline" eval_add
out_has "gives a ratio, by its name" "x naive"
out_has "over several shapes, as a mean that is named" "geometric mean of 2 shapes"
out_lacks "never all workloads alike" "workloads right; worst"
is "it says what was verified whole" "$(grep -cE "^verified whole: ([0-9]+) of \1 workloads right" "$T/out")" 1
out_has "and what by sample" "verified by sample: 2 of 2 workloads right (time:0 "
out_has "and whose task it was" "task add "

naive 's/a\[i\] + b/a[i] - b/'
runs 0 "a baseline with a sign bug" eval_add
out_has "is called wrong" "baseline naive is wrong: mismatch"
out_lacks "and gives no ratio" "x naive"
out_lacks "in no row" "candidate is"
runs 0 "as JSON" eval_add --json
is "its state" "$(get baselines.0.state <"$T/out")" wrong
is "no ratio" "$(get speedup <"$T/out")" 0.0
is "no times" "$(get times <"$T/out" | grep -c "'naive'")" 0
runs 1 "task check says so" "$HONE" task check add/
err_has "with file and line" "add/naive.cu:7: the baseline 'naive' is wrong: mismatch"

echo garbage >add/naive.cu
runs 1 "task check: garbage for a baseline" "$HONE" task check add/
err_has "with its line" "add/naive.cu:1: the baseline 'naive' is wrong: plan_error"
runs 0 "garbage in an evaluation" eval_add
out_has "is called wrong, too" "baseline naive is wrong: plan_error"

if in_tier rest; then
    naive 's/i < n/i < n + 1/'
    runs 1 "task check: an unsafe baseline" "$HONE" task check add/
    err_has "with the line of the access" "add/naive.cu:11: the baseline 'naive' is wrong: fault"

    naive 's/i < n/i < m/'
    runs 1 "task check: a baseline that does not compile" "$HONE" task check add/
    err_has "with the line of the error" "add/naive.cu:10: the baseline 'naive' is wrong: compile_error"

    : >add/naive.cu
    runs 1 "task check: an empty baseline" "$HONE" task check add/
    err_has "is no kernel" "add/naive.cu:1: the baseline 'naive' is wrong: no_code"

    naive ''
    sed 's/a\[i\] + b/a[i] * b/' "$good" >wrong.cu
    runs 0 "a wrong file of --against" eval_add --against wrong.cu
    out_has "is called wrong" "baseline wrong.cu is wrong: mismatch"
    out_has "and leaves the others their ratio" "x naive"
    runs 0 "task check: a right baseline" "$HONE" task check add/
fi

# ---- a timed call that runs past its limit ----

# slow LAUNCHES OPERATOR: adds in the last of one or two launches, and takes forever at the timed shapes
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
    runs 3 "$launches launches, the last one past its limit" eval_slow $launches +
    is "is no cheat" "$(head -1 "$T/out")" unjudged
    out_has "names the limit" "the kernel ran past its time limit"
    is "and says what was right" "$(grep -cE "^verified whole: ([0-9]+) of \1 workloads right" "$T/out")" 1
    runs 1 "$launches launches, and a wrong result" eval_slow $launches -
    is "which the limit does not hide" "$(sed 's/(.*//' "$T/out" | head -2)" "mismatch
wrong on smoke:0 "
    out_has "the limit is named too" "warning: the run ended early"
done

# ---- counters belong to their workload ----

naive ''
runs 0 "counters" "$HONE" eval --device emu --seed 5 --json --smoke add/ cand.cu
python3 - "$T/out" >counts <<'PY'
import json, sys
v = json.load(open(sys.argv[1]))
for w in ("smoke:0", "smoke:1", "smoke:2"):
    print(w, *[c["value"] for c in v["counters"] if c["workload"] == w and c["name"] == "launches"])
PY
is "one counted call per workload" "$(cat counts)" "smoke:0 1.0
smoke:1 1.0
smoke:2 1.0"

# ---- a changed task is noticed ----

hash() { "$HONE" task show --json "$1" | get hash; }
was=$(hash add/)
if in_tier rest; then
    touch add/task.json add/reference.c
    python3 -c 'import json; t = json.load(open("add/task.json")); json.dump(t, open("add/task.json", "w"), indent=7)'
    is "the hash does not depend on dates and layout" "$(hash add/)" "$was"
    cp -r add moved
    is "nor on the place" "$(hash moved/)" "$was"
    echo '// a comment' >>moved/naive.cu
    ok "but on naive.cu" test "$(hash moved/)" != "$was"
    cp -r add moved2
    echo '// a comment' >>moved2/reference.c
    ok "and on reference.c" test "$(hash moved2/)" != "$was"
fi
runs 0 "a verdict has the hash" eval_add --smoke --json
is "of its task" "$(get task_sha <"$T/out")" "$was"

cp -r "$ROOT/tasks/softmax" softmax
cp "$ROOT/kernels/softmax.cu" softmax/naive.cu
runs 0 "a run of a task of one's own" "$HONE" optimize softmax/ --author "replay:$rec/refine.jsonl"
runs 0 "its recording" "$HONE" log last --export mine.jsonl
ok "has the task's hash" grep -q "\"task_sha\":\"$(hash softmax/)\"" mine.jsonl
runs 0 "carried on" "$HONE" resume last
err_lacks() { if grep -qF -- "$2" "$T/err"; then fail "$1" "'$2' is in: $(cat "$T/err")"; else pass "$1"; fi; }
err_lacks "as long as nothing changed, nothing is said" "has changed"

sed -i 's/"rtol": [^,]*/"rtol": 0.5/' softmax/task.json
echo '/* changed */' >>softmax/reference.c
runs 0 "carried on after a change" "$HONE" resume last
err_has "which is named" 'has changed (task.json: "tolerance"; reference.c) since the run began'
err_has "the run keeps its task" "goes on with the task as it was then"
out_has "and its lineage" "the same as the recording's lineage"
runs 0 "a replay with another task" "$HONE" optimize softmax/ --author replay:mine.jsonl
err_has "says so" "the recording was made with another version of task 'softmax'"
rm -r softmax
runs 0 "carried on without the task's files" "$HONE" resume 1
err_has "which is said" "cannot be loaded any more"

in_tier rest || done_testing
runs 0 "an older recording, without a hash" "$HONE" optimize --author "replay:$rec/refine.jsonl"
err_lacks "is replayed in silence" "another version"
python3 - <<'PY'
import json, sqlite3
db = sqlite3.connect("hone-out/hone.db")
(id, config), = db.execute("SELECT id, config FROM run ORDER BY id DESC LIMIT 1")
config = json.loads(config)
del config["task_sha"]
db.execute("UPDATE run SET config = ? WHERE id = ?", (json.dumps(config), id))
db.commit()
PY
runs 0 "a run of an older store is carried on" "$HONE" resume last
err_has "and it says that the task is today's" "kept no copy of task"

done_testing
