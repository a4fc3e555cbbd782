/*
 * verdict.h - the graded judgement of one candidate, and its JSON (schema/verdict.json).
 *
 * A candidate is a kernel file that an author wrote: a language model, a program or a person. Hone
 * runs it at each workload of the task and compares its outputs with the truth, which the task's
 * reference computes in double. Authors are never told the shapes of held-out workloads.
 *
 * Kinds are ordered from worst to best. In most cases, a candidate that failed at a later stage has
 * a better kind. But `rejected` and `cheat` are among the worst, whichever stage they come from.
 * `unjudged` is outside the order. It means that Hone or the machine failed, so it never counts
 * against a candidate.
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
    V_NO_CODE,       /* there is no source */
    V_REJECTED,      /* the source breaks a rule, or the kernel prints too much */
    V_CHEAT,         /* for example the result comes from an earlier call */
    V_COMPILE_ERROR, /* the source does not compile */
    V_PLAN_ERROR,    /* the launch plan does not fit the task or the kernels */
    V_OOM,           /* too little device memory */
    V_HANG,          /* a kernel did not end in time */
    V_FAULT,         /* an illegal access, a trap or a failed assertion */
    V_MISMATCH,      /* a result is wrong */
    V_UNSAFE,        /* for example a data race, or results that differ between equal calls */
    V_PASS,
    V_UNJUDGED
};

/* The note of a workload that did not run because something failed before it. */
#define VERDICT_DID_NOT_RUN "did not run"
/* verdict.detail describes at most this many wrong workloads. verdict.workloads has all of them. */
enum { VERDICT_TOLD_WORKLOADS = 4 };
/* The note of a workload at which the candidate ended without results, for example by a fault. */
#define VERDICT_FAILED "failed"

struct verdict_workload {
    const char *name;  /* for example "smoke:0"; may be a held-out workload, which no author sees */
    const char *role;  /* the workload's role: "smoke", "check", "time" or "heldout" */
    const char *shape; /* for example "M=256 N=512"; "" if an author must not see it */
    bool ok;           /* true if Hone saw nothing wrong; `verified` says how much it compared */
    /* - "whole": every output element of at least one call was compared with the truth;
     * - "sample": verified_pct percent of the elements were compared;
     * - "none": no element was compared;
     * - "": unknown, because an older Hone made the verdict. */
    const char *verified;
    double verified_pct; /* share of the output elements that were compared, in percent */
    /* max_ratio: the largest error, divided by the tolerance. rms_ratio: the rms error, divided by
     * the rms error of an ideal implementation. */
    double max_ratio, rms_ratio;
    const char *output; /* name of the tensor with the worst error */
    const char *note;   /* what is wrong, in words */
    /* Set on the emulator if only some blocks ran. blocks: the number of blocks of all launches.
     * blocks_ran: how many of them ran. blocks_verified: how many of those that ran wrote an
     * element that was compared with the truth. All three are 0 if all blocks of every call ran. */
    double blocks, blocks_ran, blocks_verified;
    double unseen_pct; /* share of the output elements that no emulated block wrote, in percent */
    /* Suppose that the kernel is wrong in 1% of the blocks (on a GPU: of the rows, columns or
     * tiles). This is the probability, in percent, that Hone finds such an error. 0 if nothing was
     * verified. */
    double found_pct;
};

struct verdict_time {
    const char *workload; /* for example "time:0" */
    const char *shape;    /* as in struct verdict_workload */
    /* The contender: "candidate", "naive", "cublaslt", a file name, or the name of a PyTorch
     * variant (job/torch_variants.h), for example "torch" or "torch.compile". */
    const char *who;
    bool is_model; /* true if the cost model computed the time, false if it was measured */
    double median_ns, mad_ns; /* the median time; the median absolute deviation from it */
    /* If is_model is false: the 95% interval of the median. If it is true: the interval in which we
     * expect the measured time. We checked the model on other kernels that are limited by the same
     * unit of the GPU as this kernel: for 80% of them the measured time lay in the interval. */
    double lo_ns, hi_ns;
    uint32_t n; /* number of timed calls */
    /* For a baseline: its time divided by the candidate's time, with the 95% interval. 0 for the
     * candidate. */
    double ratio, ratio_lo, ratio_hi;
    /* A ceiling is the highest rate that the GPU can reach. It was measured, or comes from the data
     * sheet. This is the kernel's rate, in percent of the ceiling `limit`; 0 if unknown. */
    double roofline_pct;
    const char *limit; /* which ceiling: "DRAM" or "arithmetic"; in old verdicts also "L2" or "" */
};

/* A baseline of the evaluation, judged by the same rules as a candidate. A baseline that is "wrong"
 * or "failed" has no times and ratios. */
struct verdict_baseline {
    const char *who; /* as in struct verdict_time */
    /* - "right";
     * - "imprecise": a library whose rms error is over the limit, or whose errors are up to 4 times
     *   the tolerance;
     * - "wrong";
     * - "failed": it could not run;
     * - "unverified": no output of it was compared with the truth. */
    const char *state;
    const char *text; /* the reason for this state, in words; "" if it is "right" */
};

/* A finding of the emulator. See struct result_finding for the members that are not explained
 * here. */
struct verdict_finding {
    /* The name of the workload in which the emulator saw the finding, for example "check:1", and
     * its role. If the workload is held-out, an author is told only the kind and the line (see
     * verdict_hidden()). */
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

/* A counter, as in struct result_counter. A verdict never has counters of held-out workloads. A
 * counter about the code itself has the workload "code" and the role "static". */
struct verdict_counter {
    const char *workload, *role;
    const char *kernel, *name, *unit;
    uint32_t line;
    double value;
};

struct verdict {
    struct arena arena;
    enum verdict_kind kind;
    /* The stage that decided: "extract", "compile", "plan", "emulate", "run", "check", "time" or
     * "profile". */
    const char *stage;
    const char *detector; /* the rule that decided, for example "input-hash" or "sanitizer" */
    const char *summary;  /* one sentence */
    /* What separates the failing shapes from the passing shapes, for example "all 19 failing shapes
     * have C >= 4097; all with C <= 4096 pass". "" if unknown. */
    const char *separation;
    /* The facts with which an author can repair the candidate, in at most about 60 lines. */
    const char *detail;
    double score;   /* orders verdicts of one task, by kind first, then by error or time */
    double time_ns; /* geometric mean over the timed workloads; 0 if there are no times */
    /* The time of the baseline `speedup_over`, divided by the candidate's time: the geometric mean
     * over the timed workloads. 0 if there is no baseline to compare with. */
    double speedup;
    const char *speedup_over;
    bool time_is_model; /* true if time_ns comes from the cost model */
    VEC(struct verdict_workload) workloads;
    VEC(struct verdict_time) times;
    VEC(struct verdict_baseline) baselines;
    VEC(struct verdict_finding) findings;
    VEC(struct verdict_counter) counters;
    VEC(const char *) warnings;
    /* What the task promises about its inputs, for example "A is lower triangular". "" if it
     * promises nothing. The verdict holds only for inputs that keep this promise. */
    const char *preconditions;
    /* The precision that the task declares, for example "float32" or "TF32". If the task takes
     * float32 and the kernel uses tensor cores, the text also says how many products they do in
     * TF32 and in narrower types. "" if unknown. */
    const char *precision;
    /* For example "dram-bound: 91% of peak DRAM throughput (...)". "" if unknown. */
    const char *bottleneck;
    const char *device, *gpu, *driver, *arch, *compiler;
    const char *source_sha, *task; /* SHA-256 of the candidate's source; name of the task */
    const char *task_sha;          /* the task's hash (task/snapshot.h); "" if unknown */
    uint64_t seed;
    uint64_t compile_ns, run_ns, total_ns;
};

const char *verdict_kind_name(enum verdict_kind k);
/* Returns true for the held-out role and for unknown roles. An author must not learn what happened
 * in workloads with such a role. */
bool verdict_hidden(const char *role);
/* Returns the kind with this name. Sets *ok to false if there is none. */
enum verdict_kind verdict_kind_from(const char *name, bool *ok);

json_t *verdict_to_json(const struct verdict *v);
/* Reads a verdict from a store, a recording or a file, and validates all of it. */
int verdict_from_json(struct verdict *v, const json_t *j, struct err *err);
/* Appends to `out` how much of the candidate's results was compared with the truth, for example "9
 * workloads verified whole, 2 by sample, 1 only timed". */
void verdict_verified_text(const struct verdict *v, struct strbuf *out);
/* Returns the number of shapes over which time_ns is the geometric mean. */
unsigned verdict_timed_shapes(const struct verdict *v);
/* Tells how far modelled times may be off: we expect the measured time between *lo times and *hi
 * times the modelled time. Returns false if the verdict does not say. */
bool verdict_model_error(const struct verdict *v, double *lo, double *hi);
/* The time of the first baseline, divided by the candidate's time. */
struct verdict_ratio {
    const char *who; /* the baseline */
    /* The geometric mean over the shapes, and its 95% interval. Modelled times have no spread, so
     * their interval is empty (lo == hi). */
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
