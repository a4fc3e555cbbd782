#!/usr/bin/env bash
# Settings for ranges of shapes: tables on the command line and in files, the kernels that they give, and the modelled
# times of such kernels. With TIER=soak also the times of larger kernels, which take half a minute to compile, and a run
# in which the built-in author finds the ranges.
. "$(dirname "$0")/lib.sh"
[ "$TIER" != rest ] || skip_all "make test runs this"

share_cache
few=$ROOT/t/cases/ranges/product_of_few_or_many
table='M <= 64: bm=32 stages=3; else: bm=64 bn=64 warps=4 stages=2 group=1'
kernel() { "$HONE" playbook kernel "$@"; }

runs 0 "a table gives a kernel" kernel --when "$table" gemm_sm80 "$few"
cp "$T/out" both.cu
out_has "the kernel file has the table, with all settings" "//   M <= 64: bm=32 bn=64 warps=4 stages=3 group=1"
out_has "the plan launches the kernel of the first range" '"range1::gemm", "when": "M <= 64 && '
out_has "the plan launches the kernel of the last range" '"range2::gemm", "when": "M > 64 && '
is "both ranges share the kernel that does not depend on settings" "$(grep -c 'extern "C" __global__ .*gemm_any\|^ *gemm_any(' both.cu)" 1
sed -n '/^\/\/ hone-when/,/else/p' both.cu | tail -n +2 >lines
runs 0 "the table of a file is accepted again" kernel --when "$(cat lines)" gemm_sm80 "$few"
cp "$T/out" again.cu
ok "the table of a file gives the same file" cmp again.cu both.cu
kernel gemm_sm80 "$few" bm=32 >one.cu
runs 0 "a table with equal settings gives a kernel" kernel --when 'M <= 9: bm=32; else: bm=32' gemm_sm80 "$few"
cp "$T/out" again.cu
ok "a table with equal settings gives the kernel without a table" cmp again.cu one.cu

# Bad tables. Each message says what is wrong and where.
while IFS='|' read -r what text message; do
    runs 1 "$what is refused" kernel --when "$text" gemm_sm80 "$few"
    err_has "the message about $what names the place" "table of ranges, line 1, column"
    err_has "the message about $what says what is wrong" "$message"
done <<'TABLE'
a range twice|M <= 64: bm=32; M <= 64: bm=64; else:|column 17: the range is unreachable
an overlapping range|M <= 64: bm=32; 9 < M <= 99: bm=64; else:|the range overlaps the one before
a range after else|else: bm=32; M <= 64: bm=64|the range before it has no end
a table without an end|M <= 64: bm=32|end the table with 'else: ...'
an unknown axis|Q <= 64: bm=32; else:|the task has no free axis 'Q'
an unknown setting|M <= 64: tile=32; else:|playbook gemm_sm80 has no setting 'tile'
a wrong value|M <= 64: bm=33; else:|the setting bm has no value 33, only 32 64 128
a table with too many ranges|M <= 1:;M <= 2:;M <= 3:;M <= 4:;M <= 5:;M <= 6:;M <= 7:;M <= 8:;else:|too many ranges
TABLE
runs 2 "a table beside single settings is a usage error" kernel --when "$table" gemm_sm80 "$few" bm=32

# A file with a table, as the start of a run.
sed 's|^//   else: bm=64|//   else: bm=65|' both.cu >broken.cu
runs 1 "a file with a broken table is refused" "$HONE" optimize "$few" --from broken.cu --device emu --steps 1
err_has "the message about the file names its line" \
    "broken.cu: table of ranges, line $(grep -n 'else: bm=65' broken.cu | cut -d: -f1), column 15: the setting bm has no value 65"

"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || { done_testing; exit; }

# Each range is right, and takes the time of a kernel with its settings.
kernel --when 'C <= 64: per=1 block=32; C <= 1000: vec=1; else: cluster=8 threads=256' softmax softmax >rows.cu
runs 0 "a kernel with a table for rows passes" "$HONE" eval --device emu --smoke --skip-time --skip-baselines softmax rows.cu
in_tier soak || { done_testing; exit; }

# times FILE: the modelled times of all shapes in ns
times() {
    "$HONE" eval "$few" "$1" --device emu --skip-baselines --json >"$1.json" 2>/dev/null
    python3 -c 'import json,sys
print(*[round(t["median_ns"]) for t in json.load(open(sys.argv[1]))["times"] if t["who"] == "candidate"])' "$1.json"
}
kernel gemm_sm80 "$few" bm=32 stages=3 >small.cu
kernel gemm_sm80 "$few" bm=64 bn=64 warps=4 stages=2 group=1 >large.cu
read -r small_few small_many <<<"$(times small.cu)"
read -r large_few large_many <<<"$(times large.cu)"
read -r both_few both_many <<<"$(times both.cu)"
echo "# 16 and 2048 rows: bm=32 $small_few $small_many ns, bm=64 $large_few $large_many ns, both $both_few $both_many ns"
gains() { python3 -c 'import sys; a, b, c, d, margin = map(float, sys.argv[1:]); sys.exit(not a * b > margin ** 2 * c * d)' "$@"; }
ok "with a table, few rows take the time of their own settings" gains "$small_few" 1 "$both_few" 1 0.98
ok "with a table, many rows take the time of their own settings" gains "$large_many" 1 "$both_many" 1 0.98
ok "the table is at least 1.06 times as fast as the settings for many rows" gains "$large_few" "$large_many" "$both_few" "$both_many" 1.06
ok "the table is at least 1.06 times as fast as the settings for few rows" gains "$small_few" "$small_many" "$both_few" "$both_many" 1.06

# The author finds the ranges itself, and goes on from a file with a table.
runs 0 "a run on a task with two shapes succeeds" "$HONE" optimize "$few" --device emu --steps 3 --skip-baselines --store r.db -o run
runs 0 "hone show prints the run" "$HONE" show last --store r.db
out_has "the author gives few rows and many rows their own settings" "[gemm_sm80 M<=128:0.0.0.0.0 1.0.0.0.0]"
ok "the best kernel has a table" grep -q '^//   M <= 128: bm=32 bn=64' run/best.cu
done_testing
