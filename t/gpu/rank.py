"""Compares modelled with measured times of kernel variants: a table, and Spearman's rank correlation.

    rank.py rank.measured.tsv rank.model.tsv [--all]

Lines are task, set (fit, held or blind), macros, nanoseconds. In each task and set, only some variants count.
Their measured times are at least 3% apart: of two closer ones, only the faster counts. The slowest ones do not
count either, so that at least half of the variants are within 1.5x of the best. --all lists every variant.
"""
import sys


def read(path):
    out = {}
    for line in open(path):
        task, kind, macros, ns = line.rstrip("\n").split("\t")
        try:
            out[task, kind, macros] = float(ns)
        except ValueError:
            pass
    return out


def ranks(values):
    order = sorted(values)
    return [order.index(v) + (order.count(v) - 1) / 2 for v in values]


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    n = len(a)
    ma, mb = sum(a) / n, sum(b) / n
    cov = sum((x - ma) * (y - mb) for x, y in zip(a, b))
    va, vb = sum((x - ma) ** 2 for x in a), sum((y - mb) ** 2 for y in b)
    return cov / (va * vb) ** 0.5 if va and vb else 0


def choose(variants):
    kept = []
    for v in sorted(variants):
        if not kept or v[0] >= 1.03 * kept[-1][0]:
            kept.append(v)
    while kept and 2 * sum(v[0] <= 1.5 * kept[0][0] for v in kept) < len(kept):
        kept.pop()
    return kept


def main():
    measured, model = read(sys.argv[1]), read(sys.argv[2])
    summary = []
    for task in dict.fromkeys(k[0] for k in measured):
        for kind in sorted({k[1] for k in measured if k[0] == task}):
            both = [(t, model[k], k[2]) for k, t in measured.items() if k[:2] == (task, kind) and k in model]
            chosen = sorted(both) if "--all" in sys.argv else choose(both)
            if kind != "fit" or "--all" in sys.argv:
                print(f"\n{task}, {kind}: measured us, model us, variant")
                for t, m, macros in chosen:
                    print(f"{t/1e3:11.2f} {m/1e3:11.2f}  {macros}")
            near = sum(t <= 1.5 * chosen[0][0] for t, _, _ in chosen)
            rho = spearman([v[0] for v in chosen], [v[1] for v in chosen])
            summary.append(f"| {task} | {kind} | {len(both)} | {len(chosen)} | {near} | {rho:.2f} |")
    print("\n| task | set | variants | >= 3% apart | within 1.5x of the best | Spearman |")
    print("| --- | --- | --- | --- | --- | --- |")
    print("\n".join(summary))


main()
