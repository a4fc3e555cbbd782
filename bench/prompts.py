#!/usr/bin/env python3
"""Counts the input tokens of the prompts of recorded runs, part by part, for one or two builds of Hone.

    make all && bench/prompts.py build/release/hone             # this build
    bench/prompts.py OLD/build/release/hone build/release/hone  # two builds: the table of docs/prompts.md
    bench/prompts.py --prompts build/release/hone               # one line for each prompt

Each build replays every recording of t/cases/recordings into a new store. A replay writes every prompt again, from
the recorded replies and verdicts. This program reads the prompts from the store. It
divides them at their headings and counts tokens as src/base/tokens.c does. It also compares each prompt with the
previous prompt of the same role, and measures how many tokens from the beginning on are the same, byte for byte.
A provider has that part in its cache.

Exit status: 0; 1 if a build cannot replay a recording, if the replay gives another lineage, or if a limit of
--most or --half does not hold.
"""
import argparse
import collections
import glob
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

RECORDINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "t", "cases", "recordings")

# A heading of a prompt, or its first words, and the row of the table that counts the text below this heading.
PARTS = [
    ("", "the beginning"),
    ("The contract", "contract"),
    ("What to write in", "dialect"),
    ("The machine", "machine"),
    ("A complete file", "example"),
    ("Changes that help", "class"),
    ("The task", "task"),
    ("The kernel", "source"),
    ("A kernel that fails", "source"),
    ("Your last kernel", "source"),
    ("An existing implementation", "source"),
    ("How it did", "feedback"),
    ("Measurements", "feedback"),
    ("What happened", "feedback"),
    ("What was tried before", "ledger"),
    ("Repairs already tried", "ledger"),
    ("Earlier attempts", "ledger"),
    ("Other candidates", "other candidates"),
    ("Note", "other candidates"),
    ("The plan", "plan, reading or diagnosis"),
    ("What the profiler says", "plan, reading or diagnosis"),
    ("Diagnosis", "plan, reading or diagnosis"),
    ("The form of your reply", "form of the reply"),
    ("Now", "what to do now"),
    ("Your last reply", "a reply that was refused"),
]
HALF = 0.5
ROWS = list(dict.fromkeys(row for _, row in PARTS))


def tokens(text):
    """Estimates the tokens as src/base/tokens.c does."""
    words = sum(1 + (len(w) - 1) // 6 for w in re.findall(r"[A-Za-z0-9_]+", text))
    marks = len(re.sub(r"[A-Za-z0-9_ \n\t\r]", "", text).encode())
    return words + marks * 2 // 3


def part_of(heading):
    for begins, row in reversed(PARTS):
        if heading.startswith(begins):
            return row if begins or not heading else None
    return None


def divide(prompt):
    """Yields (row of the table, text) for each part of a prompt. Headings inside fences do not count."""
    row, text, fence = ROWS[0], [], False
    for line in prompt.splitlines(keepends=True):
        if line.startswith("```"):
            fence = not fence
        heading = part_of(line[2:].strip()) if line.startswith("# ") and not fence else None
        if heading:
            yield row, "".join(text)
            row, text = heading, []
        text.append(line)
    yield row, "".join(text)


def common(a, b):
    n = min(len(a), len(b))
    return next((i for i in range(n) if a[i] != b[i]), n)


def replay(hone, recording, folder):
    """Replays a recording. Returns its prompts in order as (role, index, text), and its candidates."""
    store = os.path.join(folder, "store.db")
    done = subprocess.run([hone, "optimize", "--author", "replay:" + recording, "--store", store,
                           "--out", os.path.join(folder, "out"), "--json"],
                          capture_output=True, text=True, cwd=folder)
    if done.returncode:
        sys.exit(f"{hone} cannot replay {recording}:\n{done.stderr}")
    result = json.loads(done.stdout)
    if result.get("lineage_differs"):
        sys.exit(f"{hone} replays {recording} to another lineage:\n{done.stderr}")
    with sqlite3.connect(store) as db:
        rows = db.execute("select role, idx, (select data from blob where sha = stable_sha),"
                          " (select data from blob where sha = turn_sha) from call"
                          " order by at_ms, role, idx").fetchall()
        judged = db.execute("select count(*) from node").fetchone()[0]
    os.remove(store)
    return [(role, i, s + t) for role, i, s, t in rows], judged


class Count:
    """The prompts of one build."""

    def __init__(self, hone, show):
        self.parts = collections.Counter()
        self.new_tokens = 0
        self.runs = {}   # name -> (tokens of its prompts, number of its candidates)
        # For each prompt except the first of its role: (share of its tokens that the role's previous prompt begins
        # with, name of the prompt).
        self.known = []
        for recording in sorted(glob.glob(os.path.join(RECORDINGS, "*.jsonl"))):
            with tempfile.TemporaryDirectory() as folder:
                self.add(os.path.basename(recording)[:-len(".jsonl")],
                         *replay(os.path.abspath(hone), os.path.abspath(recording), folder), show)

    def add(self, run, prompts, judged, show):
        total, before = 0, {}
        for role, i, raw in prompts:
            parts = collections.Counter()
            for row, text in divide(raw.decode("utf-8", "replace")):
                parts[row] += tokens(text)
            total += sum(parts.values())
            self.parts += parts
            known = None
            if role in before:
                shared = raw[:common(before[role], raw)].decode("utf-8", "replace")
                known = tokens(shared) / sum(parts.values())
            if known is not None:
                self.known.append((known, f"{run} {role}/{i}"))
            self.new_tokens += sum(parts.values()) * (1 - (known or 0))
            before[role] = raw
            if show:
                print(f"{run} {role}/{i}: {sum(parts.values())} tokens,",
                      "first of its role" if known is None else f"{known:.0%} known;",
                      ", ".join(f"{row} {n}" for row, n in parts.items()))
        self.runs[run] = (total, judged)

    def judged(self):
        return sum(n for _, n in self.runs.values())

    def per_candidate(self):
        return sum(n for n, _ in self.runs.values()) / self.judged()


def table(title, rows, head):
    print(f"| {title} | " + " | ".join(head) + " |\n| --- |" + " ---: |" * len(head))
    for name, values in rows:
        change = f" | {100 * (values[1] / values[0] - 1):+.0f}%" if len(values) == 2 and values[0] else \
            " | new" if len(values) == 2 else ""
        print(f"| {name} | " + " | ".join(f"{v:,.0f}" for v in values) + change + " |")
    print()


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("hone", nargs="+", help="one build of hone, or the old and the new one")
    ap.add_argument("--prompts", action="store_true", help="also print a line for each prompt")
    ap.add_argument("--most", type=float, help="fail if the last build needs more tokens for each candidate")
    ap.add_argument("--half", type=int, help="fail if fewer prompts share half of their tokens with the prompt before")
    args = ap.parse_args()
    if len(args.hone) > 2:
        ap.error("give one build, or two to compare")
    builds = [Count(hone, args.prompts) for hone in args.hone]
    head = ["tokens"] if len(builds) == 1 else ["before", "after", "change"]
    print("Input tokens for each candidate that was judged:\n")
    table("run", [(run, [b.runs[run][0] / b.runs[run][1] for b in builds]) for run in builds[0].runs] +
          [("**all runs**", [b.per_candidate() for b in builds])], head)
    rows = [(row, [b.parts[row] / b.judged() for b in builds]) for row in ROWS]
    table("part", [r for r in rows if any(r[1])], head)
    for b, hone in zip(builds, args.hone):
        shares = sorted(b.known)
        half = sum(share >= HALF for share, _ in shares)
        print(f"{hone}: {len(shares)} prompts have an earlier prompt of their role. {half} of them share at "
              f"least half of their tokens with its beginning; the least is {shares[0][0]:.0%} "
              f"({shares[0][1]}), the median {shares[len(shares) // 2][0]:.0%}. "
              f"{b.new_tokens / b.judged():,.0f} tokens for each candidate are not in a cache.")
    if args.most is not None and builds[-1].per_candidate() > args.most:
        sys.exit(f"more than {args.most:,.0f} tokens for each candidate")
    if args.half is not None and sum(share >= HALF for share, _ in builds[-1].known) < args.half:
        sys.exit(f"fewer than {args.half} prompts share half of their tokens with the prompt before")


if __name__ == "__main__":
    main()
