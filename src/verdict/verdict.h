/*
 * verdict.h - the graded judgement of one candidate, and its JSON (schema/verdict.json).
 *
 * A candidate is a kernel file. Its author is a language model, a program or a person. Hone runs it
 * at each workload of the task and compares its outputs with the truth, which the task's reference
 * computes in double. Authors are never told the shapes of held-out workloads.
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

/* From worst to best, except V_UNJUDGED: Hone or the machine failed. This never counts against a
 * candidate. */
enum verdict_kind {
    V_NO_CODE,
    V_REJECTED, /* the source breaks a rule, or the kernel prints too much */
    V_CHEAT,    /* for example, the result comes from an earlier call */
    V_COMPILE_ERROR,
    V_PLAN_ERROR, /* the launch plan does not fit the task or the kernels */
    V_OOM,
    V_HANG,
    V_FAULT, /* an illegal access, a trap or a failed assertion */
    V_MISMATCH,
    V_UNSAFE, /* for example a data race, or results that differ between equal calls */
    V_PASS,
    V_UNJUDGED
};

/* The note of a workload that did not run because something failed before it. */
#define VERDICT_DID_NOT_RUN "did not run"
/* verdict.detail describes at most this many wrong workloads. */
enum { VERDICT_TOLD_WORKLOADS = 4 };
/* The note of a workload at which the candidate ended without results. */
#define VERDICT_FAILED "failed"

struct verdict_workload {
    const char *name;  /* for example "smoke:0" */
    const char *role;  /* "smoke", "check", "time" or "heldout" */
    const char *shape; /* for example "M=256 N=512"; "" if an author must not see it */
    bool ok;           /* Hone saw nothing wrong; `verified` says how much it compared */
    /* - "whole": every output element of at least one call was compared with the truth;
     * - "sample": verified_pct percent of the elements were compared;
     * - "none": no element was compared;
     * - "": unknown (an older verdict). */
    const char *verified;
    double verified_pct;
    /* The largest error, divided by the tolerance; the rms error, divided by that of an ideal
     * implementation. */
    double max_ratio, rms_ratio;
    const char *output; /* name of the tensor with the worst error */
    const char *note;   /* what is wrong, in words */
    /* On the emulator, if only some blocks ran: all blocks; those that ran; those that also wrote a
     * compared element. Otherwise 0. */
    double blocks, blocks_ran, blocks_verified;
    double unseen_pct; /* share of the output elements that no emulated block wrote */
    /* The probability that Hone finds an error that is in 1% of the blocks (on a GPU: of the rows,
     * columns or tiles). 0 if nothing was verified. */
    double found_pct;
};

struct verdict_time {
    const char *workload;
    const char *shape;
    /* "candidate", "naive", "cublaslt", a file name, or a PyTorch variant
     * (job/torch_variants.h). */
    const char *who;
    bool is_model;            /* the cost model computed the time; else it was measured */
    double median_ns, mad_ns; /* median, and median absolute deviation from it */
    /* The 95% interval of the median. For a modelled time: an interval that held the measured time
     * of 80% of the kernels with which we checked the model. */
    double lo_ns, hi_ns;
    uint32_t n; /* number of timed calls */
    /* For a baseline: its time divided by the candidate's, with the 95% interval. Otherwise 0. */
    double ratio, ratio_lo, ratio_hi;
    /* The kernel's rate, in percent of the highest that the GPU can reach. 0 if unknown. */
    double roofline_pct;
    /* What bounds this rate: "DRAM" or "arithmetic"; in old verdicts also "L2" or "". */
    const char *limit;
};

/* A baseline, judged as a candidate. If it is "wrong" or "failed", it has no times. */
struct verdict_baseline {
    const char *who;
    /* - "right";
     * - "imprecise": a library whose rms error is over the limit, or whose errors are up to 4 times
     *   the tolerance;
     * - "wrong";
     * - "failed": it could not run;
     * - "unverified": no output was compared with the truth. */
    const char *state;
    const char *text; /* the reason, in words; "" if "right" */
};

/* A finding of the emulator, as in struct result_finding. */
struct verdict_finding {
    /* If the role is held-out, an author is told only the kind and the line. */
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

/* As in struct result_counter. Held-out workloads have no counters. A counter about the code itself
 * has the workload "code" and the role "static". */
struct verdict_counter {
    const char *workload, *role;
    const char *kernel, *name, *unit;
    uint32_t line;
    double value;
};

/* Texts are "" if unknown. */
struct verdict {
    struct arena arena;
    enum verdict_kind kind;
    /* Which stage decided: "extract", "compile", "plan", "emulate", "run", "check", "time" or
     * "profile". */
    const char *stage;
    const char *detector; /* which rule decided, for example "input-hash" or "sanitizer" */
    const char *summary;
    /* The difference between failing and passing shapes, for example "all 19 failing shapes have C
     * >= 4097; all with C <= 4096 pass". */
    const char *separation;
    const char *detail; /* facts for a repair, at most about 60 lines */
    double score;
    double time_ns; /* geometric mean over the timed workloads; 0 if none */
    /* Time of the baseline `speedup_over` divided by the candidate's: geometric mean over the timed
     * workloads. 0 without a baseline. */
    double speedup;
    const char *speedup_over;
    bool time_is_model;
    VEC(struct verdict_workload) workloads;
    VEC(struct verdict_time) times;
    VEC(struct verdict_baseline) baselines;
    VEC(struct verdict_finding) findings;
    VEC(struct verdict_counter) counters;
    VEC(const char *) warnings;
    /* A promise of the task about its inputs, for example "A is lower triangular", or "". The
     * verdict holds only for inputs that keep this promise. */
    const char *preconditions;
    /* The precision that the task declares, for example "float32". If a kernel of a float32 task
     * uses tensor cores, also how many products they do in TF32 and in narrower types. */
    const char *precision;
    /* For example "dram-bound: 91% of peak DRAM throughput (...)". */
    const char *bottleneck;
    const char *device, *gpu, *driver, *arch, *compiler;
    const char *source_sha, *task; /* SHA-256 of the source; name of the task */
    const char *task_sha;          /* hash of the task (task/snapshot.h) */
    uint64_t seed;
    uint64_t compile_ns, run_ns, total_ns;
};

const char *verdict_kind_name(enum verdict_kind k);
/* True for the held-out role and for unknown roles. An author must not learn what happened
 * there. */
bool verdict_hidden(const char *role);
/* Sets *ok to false if there is no such name. */
enum verdict_kind verdict_kind_from(const char *name, bool *ok);

json_t *verdict_to_json(const struct verdict *v);
/* Validates everything, because the JSON comes from outside. */
int verdict_from_json(struct verdict *v, const json_t *j, struct err *err);
/* Appends, for example, "9 workloads verified whole, 2 by sample, 1 only timed". */
void verdict_verified_text(const struct verdict *v, struct strbuf *out);
unsigned verdict_timed_shapes(const struct verdict *v);
/* We expect measured times between *lo and *hi times the modelled time. Returns false if the
 * verdict does not say. */
bool verdict_model_error(const struct verdict *v, double *lo, double *hi);
/* The time of the first baseline, divided by the candidate's. */
struct verdict_ratio {
    const char *who;
    /* Geometric mean over the shapes, and its 95% interval. For modelled times lo == hi. */
    double mid, lo, hi;
};
/* Returns false if no baseline has a ratio. */
bool verdict_ratio(const struct verdict *v, struct verdict_ratio *out);
void verdict_set_score(struct verdict *v);
/* Replaces control characters in texts that a candidate can influence. Otherwise a candidate could
 * make a terminal show another verdict. */
void verdict_plain_text(struct verdict *v);
/* Replaces "kernel.cu", Hone's name for the candidate's file, by the user's name. */
void verdict_name_file(struct verdict *v, const char *name);
/* Returns a negative number if a is worse than b. */
int verdict_cmp(const struct verdict *a, const struct verdict *b);
void verdict_release(struct verdict *v);

#endif
