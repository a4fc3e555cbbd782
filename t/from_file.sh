#!/usr/bin/env bash
# `hone optimize --from FILE` with the built-in author. Command lines that Hone refuses before a run begins.
. "$(dirname "$0")/lib.sh"

cat >mine.cu <<'EOF'
/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["cdiv(N, kThreads*kPer)"], "block": ["kThreads"],
                  "args": ["a", "b", "c", "N"] } ] }
*/
constexpr int kThreads = 64; // hone: 64 128
constexpr int kPer = 1;      // hone: 1 2
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x * kPer + threadIdx.x;
    for (int k = 0; k < kPer; k++, i += kThreads)
        if (i < n)
            c[i] = a[i] + b[i];
}
EOF
printf '__global__ void k(float *x) {}\nint main() { k<<<1, 1>>>(0); }\n' >host.cu

# ---- Hone refuses a wrong command line before the run begins, and writes no file
nothing() { is "$1 leaves no file" "$(ls)" "$(printf 'host.cu\nmine.cu')"; }
optimize() { "$HONE" optimize --device emu "$@"; }
runs 2 "host code without a model is refused" optimize vector_add --from host.cu
err_has "the message says that porting needs a model" \
    "host.cu has no launch plan, so Hone must port its host code first, and porting needs a model"
nothing "host code without a model"
runs 2 "--from with the strategy sample is refused" optimize vector_add --from mine.cu -s sample
err_has "the message names the strategies that take a file" "--from is for the strategies refine, team and search"
runs 1 "a task that no playbook fits is refused" optimize triplet_margin_loss --arch sm_75
err_has "the message says that no playbook fits the task" "no playbook fits it"
nothing "a task that no playbook fits"
runs 2 "an unknown architecture is refused" optimize vector_add --arch sm_12 --author mailbox:box
nothing "an unknown architecture"
runs 2 "an unknown device is refused" env -u HONE_STORE "$HONE" optimize vector_add --device tpu --author mailbox:box
nothing "an unknown device"
runs 3 "a report folder that cannot be written is an error" optimize vector_add -o /dev/null/x
err_has "the message names the option --out" "--out: "
nothing "a report folder that cannot be written"
runs 2 "an unknown dialect is refused" optimize vector_add --dialect ptx
# tools/setup puts CuTe's headers into .deps. A copy of Hone far from .deps finds them only if the machine has its own.
mkdir "$T/away" && cp "$HONE" "$T/away/hone" && cd "$T/away" || exit 1
if "$T/away/hone" doctor 2>/dev/null | grep -q 'no cute/tensor.hpp'; then
    runs 3 "CuTe is refused where its headers are missing" ./hone optimize vector_add --dialect cute --author exec:true --device emu
    err_has "the message says what to do" "run tools/setup, set HONE_CUTLASS_HOME, or use --dialect cuda"
    HONE_WORKER=${HONE%/*}/hone-worker runs 1 "without --dialect the run goes on there" \
        ./hone optimize vector_add --author exec:true --device emu --smoke --tries 1 --store s.db
    err_has "Hone says that it asks for plain CUDA" "kernels are asked for in plain CUDA"
fi
cd "$T/cwd" || exit 1
runs 2 "an unknown rule for the dialect is refused" optimize vector_add --ablate dialect=never
err_has "the message lists the rules" "report, strict"
nothing "an unknown rule for the dialect"

# ---- a file that does not compile stops the run, because the built-in author cannot repair code
share_cache
sed 's/a\[i\] + b\[i\]/a[i] + oops/' mine.cu >broken.cu
sed 's/cdiv(/div(/' mine.cu >plan.cu
for strategy in refine search; do
    runs 1 "$strategy: a file that does not compile stops the run" \
        optimize vector_add --from broken.cu -s $strategy --skip-baselines
    err_has "$strategy: the message names the file and the line" \
        'your file broken.cu does not compile (line 12: identifier "oops" is undefined)'
    out_has "$strategy: the run tries no other kernel" "1 candidate: 0 pass, 1 fail (0 rejected or without code); 0 of 1 failures repaired"
done
runs 1 "a file with a wrong plan stops the run" optimize vector_add --from plan.cu --skip-baselines
err_has "the message names the wrong plan and its line" \
    "your file plan.cu has a wrong launch plan (line 2: unknown function 'div'"

# When no playbook fits, the built-in author gives a long reason: it says of each playbook why it does not fit, and then
# what to do. The author of this test gives a reason of the same length.
printf 'echo "STOP: no playbook fits (%s). Do this"\n' "$(printf 'reason%.0s ' {1..200})" >stop.sh
runs 1 "a run whose author stops with a long reason ends" \
    optimize vector_add --author "exec:sh $PWD/stop.sh" --tries 1
out_has "the reason is printed to its end" "reason ). Do this"

# ---- Hone judges a kernel with a plan and tunes its settings; a kernel in another dialect is not rejected
in_tier rest || done_testing
runs 0 "a run from a kernel of the user succeeds" \
    optimize vector_add --from mine.cu --steps 2 --skip-baselines --dialect cute -o out
err_has "the run judges the kernel of the user" "  0 first      pass"
err_has "the run says that the kernel is not CuTe" "not CuTe"
out_has "the last lines give the verdict of the kernel of the user" "your file mine.cu (candidate 0): pass, "
runs 0 "hone show last exits with 0" "$HONE" show last
out_has "the run tries another value of the first setting" "kThreads 64 -> 128 [kThreads=128 kPer=1]"
out_has "the run tries another value of the second setting" "kPer 1 -> 2"
ok "best.cu has the best value of a setting" grep -q 'kThreads = 128; // hone: 64 128' out/best.cu
ok "the report says that the best kernel is not in CuTe" \
    grep -q 'the run asked for CuTe, and the best kernel is not in CuTe' out/report.md
mkdir elsewhere
runs 0 "a run can be resumed from another directory" env -C elsewhere "$HONE" resume last --store ../hone-out/hone.db -n 4
out_has "a run resumed from another directory keeps its report folder" "report: $PWD/out/report.md"
runs 2 "hone resume refuses to change another rule than the dialect" "$HONE" resume last --ablate profile=never
err_has "the message says which rule can change" "can change only dialect=strict"
runs 0 "hone resume can change the dialect rule" "$HONE" resume last --ablate dialect=strict --dialect cuda -n 4
done_testing
