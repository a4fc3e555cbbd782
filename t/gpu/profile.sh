#!/usr/bin/env bash
# Profiles the kernels of t/cases/bottleneck, each built to have one bottleneck. The verdict must name the
# bottleneck, and its counters must have the values and the units of ncu's CSV.
#   HONE=bin/hone OUT=results t/gpu/profile.sh [NAME...]
# Exits 77 where there is no GPU, 1 if a name or a value is wrong.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=${HONE:-$root/bin/hone} OUT=${OUT:-$(mktemp -d)}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
mkdir -p "$OUT"
cases=$root/t/cases/bottleneck
{ grep -v '^#' "$cases/expect.tsv"
  printf '../../../kernels/matmul_f16.sm90\tmatmul_f16\ttime:0\ttensor-bound\n'
} >"$OUT/profile.tsv"
status=0
printf '%-12s %-14s %-14s %9s %-9s %s\n' kernel want named counters equal evidence
while IFS=$'\t' read -r name task workload want _; do
    short=$(basename "$name")
    [ $# -eq 0 ] || case " $* " in *" $short "*) ;; *) continue ;; esac
    timeout 100 "$HONE" profile --device cuda --json --workload "$workload" --measure-time 200ms \
        --save-csv "$OUT/$short.csv" "$task" "$cases/$name.cu" >"$OUT/$short.json" 2>"$OUT/$short.err"
    python3 - "$short" "$want" "$OUT/$short.json" "$OUT/$short.csv" "$OUT/$short.err" <<'PY' || status=1
import csv, json, math, sys
name, want, vpath, cpath, epath = sys.argv[1:]
try:
    v = json.load(open(vpath))
except (OSError, ValueError):
    print(f"{name:12} {want:14} no verdict: {open(epath).read().strip()[:120]}")
    sys.exit(1)
named = v["bottleneck"].split(":")[0] or v["kind"]
rows = []
try:
    lines = open(cpath).read().splitlines()
    start = next(i for i, l in enumerate(lines) if '"Kernel Name"' in l)
    rows = list(csv.reader(lines[start:]))
except (OSError, StopIteration):
    pass
equal = total = 0
asked = {x["name"] for x in v["counters"] if "__" in x["name"]}
wrong = []
if rows:
    head, units, launches = rows[0], rows[1], [r for r in rows[2:] if len(r) == len(rows[0])]
    num = lambda s: float(s.replace(",", ""))
    kernel, dur = head.index("Kernel Name"), head.index("gpu__time_duration.sum")
    for c, metric in enumerate(head):
        if metric not in asked:
            continue
        for k in {r[kernel] for r in launches}:
            mine = [r for r in launches if r[kernel] == k]
            try:
                vals, w = [num(r[c]) for r in mine], [num(r[dur]) for r in mine]
            except ValueError:
                continue
            truth = sum(vals) if metric.endswith(".sum") else sum(a * b for a, b in zip(vals, w)) / sum(w)
            got = [x for x in v["counters"] if x["kernel"] == k and x["name"] == metric]
            total += 1
            if len(got) == 1 and got[0]["unit"] == units[c] and math.isclose(got[0]["value"], truth, rel_tol=1e-12):
                equal += 1
            else:
                wrong.append(metric)
ok = named == want and total > 10 and equal == total
print(f"{name:12} {want:14} {named:14} {total:9} {equal:<9} {v['bottleneck'][:150] or v['summary'][:150]}"
      + ("" if ok else "   <-- WRONG " + " ".join(wrong[:3]) + " " + "; ".join(w for w in v["warnings"] if "counters" in w)[:200]))
sys.exit(0 if ok else 1)
PY
done <"$OUT/profile.tsv"
ls "${HONE_CACHE_DIR:-$HOME/.cache/hone}"/ceilings/*.json >/dev/null 2>&1 &&
    tail -n +1 "${HONE_CACHE_DIR:-$HOME/.cache/hone}"/ceilings/*.json
exit $status
