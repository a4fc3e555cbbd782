#!/usr/bin/env bash
# `hone optimize --from FILE` with the built-in author, and runs that are refused before they exist.
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

# ---- a refusal comes before a run exists, and leaves nothing behind
nothing() { is "$1 leaves nothing" "$(ls)" "$(printf 'host.cu\nmine.cu')"; }
optimize() { "$HONE" optimize --device emu "$@"; }
runs 2 "host code without a model" optimize vector_add --from host.cu
err_has "says that porting needs a model" "host.cu has no launch plan, so Hone must port its host code first, and porting needs a model"
nothing "it"
runs 2 "a strategy that starts from nothing" optimize vector_add --from mine.cu -s sample
err_has "takes no file" "--from is for the strategies refine, team and search"
runs 1 "a task that no playbook fits" optimize triplet_margin_loss --arch sm_75
err_has "is refused" "no playbook fits it"
nothing "it"
runs 2 "an unknown architecture" optimize vector_add --arch sm_12 --author mailbox:box
nothing "it"
runs 2 "an unknown device" env -u HONE_STORE "$HONE" optimize vector_add --device tpu --author mailbox:box
nothing "it"
runs 3 "a report folder that cannot be written" optimize vector_add -o /dev/null/x
err_has "is noticed at once" "--out: "
nothing "it"
runs 2 "an unknown dialect" optimize vector_add --dialect ptx
runs 2 "an unknown rule" optimize vector_add --ablate dialect=never
err_has "lists the rules" "report, strict"
nothing "it"

# ---- a file that does not compile stops the run: the built-in author cannot mend code
share_cache
sed 's/a\[i\] + b\[i\]/a[i] + oops/' mine.cu >broken.cu
sed 's/cdiv(/div(/' mine.cu >plan.cu
for strategy in refine search; do
    runs 1 "$strategy: a file that does not compile" optimize vector_add --from broken.cu -s $strategy --skip-baselines
    err_has "$strategy: is named with its line" 'your file broken.cu does not compile (line 12: identifier "oops" is undefined)'
    out_has "$strategy: no other kernel is tried" "1 candidate: 0 pass, 1 fail (0 refused); 0 of 1 failures repaired"
done
runs 1 "a wrong plan" optimize vector_add --from plan.cu --skip-baselines
err_has "is named too" "your file plan.cu has a wrong launch plan (line 2: unknown function 'div'"

# ---- a kernel with a plan is judged, and its settings are tuned; a dialect rejects nothing
in_tier rest || done_testing
runs 0 "a kernel of one's own" optimize vector_add --from mine.cu --steps 2 --skip-baselines --dialect cute -o out
err_has "is judged" "  0 first      pass"
err_has "and is told to be no CuTe" "not CuTe"
out_has "and named at the end" "your file mine.cu (candidate 0): pass, "
runs 0 "its run" "$HONE" show last
out_has "tries other values" "kThreads 64 -> 128 [settings 1.0]"
out_has "of each setting" "kPer 1 -> 2"
ok "the best one is written" grep -q 'kThreads = 128; // hone: 64 128' out/best.cu
ok "and the report says that it is not in CuTe" grep -q 'the run asked for CuTe, and the best kernel is not in CuTe' out/report.md
mkdir elsewhere
runs 0 "the run, resumed elsewhere" env -C elsewhere "$HONE" resume last --store ../hone-out/hone.db -n 4
out_has "keeps its folder" "report: $PWD/out/report.md"
runs 2 "resume changes only the dialect" "$HONE" resume last --ablate profile=never
err_has "and says so" "can change only dialect=strict"
runs 0 "it does change that" "$HONE" resume last --ablate dialect=strict --dialect cuda -n 4
done_testing
