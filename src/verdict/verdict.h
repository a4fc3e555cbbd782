/*
 * verdict.h - the graded judgement of one candidate, and its JSON (schema/verdict.json).
 *
 * Kinds are ordered from worst to best. Mostly, the later the stage at which a candidate failed,
 * the better its kind; but `rejected` and `cheat` are among the worst, whichever stage they come
 * from. `unjudged` is outside the order. It means that Hone or the machine failed, so it never
 * counts against a candidate.
 */
#ifndef VERDICT_VERDICT_H
#define VERDICT_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
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

/* The note of a workload that did not run because something failed before it. */
#define VERDICT_DID_NOT_RUN "did not run"
/* The detail of a verdict describes at most this many wrong workloads; `workloads` has them all. */
enum { VERDICT_TOLD_WORKLOADS = 4 };
/* The note of a workload in which the run ended without results, for example by a fault. */
#define VERDICT_FAILED "failed"

struct verdict_workload {
    const char *name;  /* "smoke:0"; the verdict has held-out workloads too, but no author sees
                          them */
    const char *role;  /* the workload's role: "smoke", "check", "time", "heldout" */
    const char *shape; /* "M=256 N=512"; "" if an author must not see it */
    bool ok;           /* Hone saw nothing wrong; `verified` says how much it compared */
    /* "whole": every output element of some call was compared with the truth; "sample":
     * `verified_pct` percent were; "none": no element was; "" = an older verdict */
    const char *verified;
    double verified_pct; /* share of the output elements that were compared, in percent */
    /* the largest error as a multiple of the tolerance; the rms error as a multiple of the rms
     * error of an ideal implementation */
    double max_ratio, rms_ratio;
    const char *output; /* the tensor with the worst error */
    const char *note;   /* the mismatch in words */
    /* Set on the emulator if only some blocks ran: the number of blocks of all launches, how many
     * of them ran, and how many of those wrote an element that was compared with the truth. All 0
     * if all blocks of every call ran. */
    double blocks, blocks_ran, blocks_verified;
    double unseen_pct; /* share of the output elements that no emulated block wrote, in percent */
    double found_pct;  /* probability that an error in 1% of the blocks (on a GPU: of the rows,
                          columns or tiles) is found; 0 if nothing was verified */
};

struct verdict_time {
    const char *workload; /* "time:0" */
    const char *shape;
    const char *who; /* "candidate", "naive", "torch", "torch.compile", "cublaslt", file */
    bool is_model;   /* false = measured */
    double median_ns, mad_ns;
    double lo_ns, hi_ns; /* 95% interval of the median. If is_model: the interval in which the
                            measured times of 80% of kernels of this kind lay */
    uint32_t n;          /* number of timed calls */
    double ratio, ratio_lo, ratio_hi; /* baseline time / candidate time; 0 for the candidate */
    /* Percent of the measured or data-sheet ceiling; 0 = unknown. */
    double roofline_pct;
    const char *limit; /* which ceiling: "DRAM" or "arithmetic"; in old verdicts also "L2", "" */
};

/* A baseline of the evaluation, judged by the same rules as a candidate. A baseline that is "wrong"
 * or "failed" has no times and ratios. */
struct verdict_baseline {
    const char *who;   /* "naive", "torch", "torch.compile", "cublaslt", a file */
    const char *state; /* "right"; "imprecise": a library over the error budget, or with errors up
                          to 4 times the tolerance; "wrong"; "failed": it could not run;
                          "unverified": no output of it was compared with the truth */
    const char *text;  /* why, in words; "" if it is right */
};

/* A finding of the emulator. `workload` names the workload in which the emulator saw it
 * ("check:1"), `role` is that workload's role. If the workload is held-out, an author is told only
 * the kind and the line (see verdict_hidden). */
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

/* A verdict never has counters of held-out workloads. Facts about the code itself have the
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
    const char *detector; /* the rule that decided: "input-hash", "sanitizer", ... */
    const char *summary;  /* one sentence */
    /* The rule that separates failing shapes from passing ones: "all 19 failing shapes have C >=
     * 4097; all with C <= 4096 pass"; "" = unknown */
    const char *separation;
    /* The facts with which an author can repair the candidate, in at most about 60 lines. */
    const char *detail;
    double score;   /* orders verdicts of one task, by kind first, then by error or time */
    double time_ns; /* geometric mean over the timed workloads; 0 = there are no times */
    double speedup; /* speedup over the baseline `speedup_over`; 0 = there is none */
    const char *speedup_over;
    bool time_is_model;
    VEC(struct verdict_workload) workloads;
    VEC(struct verdict_time) times;
    VEC(struct verdict_baseline) baselines;
    VEC(struct verdict_finding) findings;
    VEC(struct verdict_counter) counters;
    VEC(const char *) warnings;
    /* What the task promises about its inputs, such as "A is lower triangular"; "" = nothing. The
     * verdict holds for such inputs only. */
    const char *preconditions;
    /* The precision that the task declares ("float32", "TF32"), and the tensor-core products with
     * which the kernel reaches it; "" = unknown. */
    const char *precision;
    const char *bottleneck; /* "dram-bound: 91% of peak DRAM throughput (...)"; "" = unknown */
    const char *device, *gpu, *driver, *arch, *compiler;
    const char *source_sha, *task;
    const char *task_sha; /* the task's hash (task/snapshot.h); "" = unknown */
    uint64_t seed;
    uint64_t compile_ns, run_ns, total_ns;
};

const char *verdict_kind_name(enum verdict_kind k);
/* True for the held-out role and for unknown roles. An author must not learn what happened in
 * workloads with such a role. */
bool verdict_hidden(const char *role);
enum verdict_kind verdict_kind_from(const char *name, bool *ok);

json_t *verdict_to_json(const struct verdict *v);
/* Reads a verdict from a store, a recording or a file, and validates all of it. */
int verdict_from_json(struct verdict *v, const json_t *j, struct err *err);
/* Writes how much of the candidate's results was compared with the truth: "9 workloads verified
 * whole, 2 by sample, 1 only timed". */
void verdict_verified_text(const struct verdict *v, struct strbuf *out);
/* Returns the number of shapes over which time_ns is the geometric mean. */
unsigned verdict_timed_shapes(const struct verdict *v);
/* Sets *lo and *hi to the interval in which we expect the measured time, as factors of the modelled
 * time. Returns false if the verdict has no such interval. */
bool verdict_model_error(const struct verdict *v, double *lo, double *hi);
/* The ratio to the first baseline: the geometric mean over the shapes, with its 95% interval.
 * Modelled times have no spread, so their interval is empty (lo == hi). */
struct verdict_ratio {
    const char *who; /* the baseline */
    double mid, lo, hi;
};
/* Returns false if no baseline has a ratio. */
bool verdict_ratio(const struct verdict *v, struct verdict_ratio *out);
/* Sets `score` from the kind, then from the error or the time. */
void verdict_set_score(struct verdict *v);
/* Replaces control characters in texts that a candidate can influence (names, source lines, its
 * output). Otherwise a candidate could make a terminal show another verdict. */
void verdict_plain_text(struct verdict *v);
/* Inside Hone a candidate's file is called "kernel.cu". Replaces this name by the user's own file
 * name in the messages of the verdict. */
void verdict_name_file(struct verdict *v, const char *name);
/* Compares two verdicts. Returns a negative number if a is worse than b. */
int verdict_cmp(const struct verdict *a, const struct verdict *b);
void verdict_release(struct verdict *v);

#endif
