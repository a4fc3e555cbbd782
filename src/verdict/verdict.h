/*
 * verdict.h - the graded judgement of one candidate, and its JSON (schema/verdict.json).
 *
 * Kinds are ordered: a near miss is worth more than a miss. `unjudged` stands apart: Hone or the
 * machine failed, it is retried and never counts against a candidate.
 */
#ifndef VERDICT_VERDICT_H
#define VERDICT_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "job/result.h"

#define VERDICT_VERSION 1

enum verdict_kind {
    V_NO_CODE,
    V_REJECTED,
    V_CHEAT,
    V_COMPILE_ERROR,
    V_PLAN_ERROR,
    V_OOM,
    V_HANG,
    V_FAULT,
    V_MISMATCH,
    V_UNSAFE,
    V_PASS,
    V_UNJUDGED
};

/* One workload's outcome. */
/* The note of a workload that was not reached: something failed before it. */
#define VERDICT_DID_NOT_RUN "did not run"

struct verdict_workload {
    const char *name; /* "smoke:0"; held-out shapes are recorded, never shown to an author */
    const char *role;
    const char *shape; /* "M=256 N=512"; "" where an author must not see it */
    bool ok;
    double max_ratio, rms_ratio;
    const char *output; /* the tensor that is worst */
    const char *note;   /* mismatch in words */
};

struct verdict_time {
    const char *workload; /* "time:0" */
    const char *shape;
    const char *who; /* "candidate", "naive", "torch", "torch.compile", "cublaslt", file */
    bool is_model;   /* else measured */
    double median_ns, mad_ns, lo_ns, hi_ns; /* 95% interval of the median */
    uint32_t n;
    double ratio, ratio_lo, ratio_hi; /* baseline time / candidate time; 0 for itself */
    double roofline_pct;              /* of the measured (or data-sheet) ceiling; 0 = n/a */
};

/* Something the emulator saw. `workload` is where ("check:1"), `role` what that is for: of a
 * held-out one an author may be told the kind and the line, no more (see verdict_hidden). */
struct verdict_finding {
    const char *workload, *role;
    enum finding_kind kind;
    const char *kernel, *file;
    uint32_t line;
    uint32_t block[3], thread[3];
    const char *object;
    int64_t index;
    const char *text, *other;
    uint64_t count;
};

/* Counters of held-out workloads are never in a verdict; facts about the code itself have the
 * workload "code" and the role "static". */
struct verdict_counter {
    const char *workload, *role;
    const char *kernel, *name, *unit;
    uint32_t line;
    double value;
};

struct verdict {
    struct arena arena;
    enum verdict_kind kind;
    const char *stage;    /* extract, compile, plan, emulate, run, check, time, profile */
    const char *detector; /* which check decided: "input-hash", "oob", "floor", ... */
    const char *summary;  /* one sentence */
    const char *detail;   /* what an author needs to repair it: folded, at most ~60 lines */
    double score;         /* orders verdicts of one task: kind first, then error or time */
    double time_ns;       /* geomean over time workloads; 0 = none */
    double speedup;       /* against the first baseline; 0 = none */
    bool time_is_model;
    VEC(struct verdict_workload) workloads;
    VEC(struct verdict_time) times;
    VEC(struct verdict_finding) findings;
    VEC(struct verdict_counter) counters;
    VEC(const char *) warnings;
    const char *bottleneck; /* "dram-bound: 91% of measured copy bandwidth"; "" = unknown */
    const char *device, *gpu, *driver, *arch, *compiler;
    const char *source_sha, *task;
    uint64_t seed;
    uint64_t compile_ns, run_ns, total_ns;
};

const char *verdict_kind_name(enum verdict_kind k);
/* Must an author not know of what was seen at a workload of this role? True for held-out ones and
 * for a role that is not known. */
bool verdict_hidden(const char *role);
enum verdict_kind verdict_kind_from(const char *name, bool *ok);

json_t *verdict_to_json(const struct verdict *v);
/* Validates completely; for stores, replays and anything else that was once written. */
int verdict_from_json(struct verdict *v, const json_t *j, struct err *err);
/* Fills `score` from the kind, and the error or time within it. */
void verdict_set_score(struct verdict *v);
/* Makes what candidates had a hand in (names, source lines, what they print) plain text: control
 * characters, with which a terminal could be made to show another verdict, become '?'. */
void verdict_plain_text(struct verdict *v);
/* Orders by worth: <0 if a is worse than b. */
int verdict_cmp(const struct verdict *a, const struct verdict *b);
void verdict_release(struct verdict *v);

#endif
