/*
 * verdict.h - the graded judgement of one candidate, and its JSON (schema/verdict.json).
 *
 * The truth is what the task's reference computes, in double. Authors are never told the shapes of
 * held-out workloads.
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

/* From worst to best, except V_UNJUDGED: Hone or the machine failed, which never counts against a
 * candidate. */
enum verdict_kind {
    V_NO_CODE,
    V_REJECTED, /* the source breaks a rule, or the kernel prints too much */
    V_CHEAT,    /* such as returning a result of an earlier call */
    V_COMPILE_ERROR,
    V_PLAN_ERROR, /* the plan does not fit the task or the kernels */
    V_OOM,
    V_HANG,
    V_FAULT, /* an illegal access, a trap or a failed assertion */
    V_MISMATCH,
    V_UNSAFE, /* such as a data race, or results that differ between equal calls */
    V_PASS,
    V_UNJUDGED
};

/* The note of a workload that did not run, because something failed before it. */
#define VERDICT_DID_NOT_RUN "did not run"
/* The most wrong workloads that verdict.detail describes. */
enum { VERDICT_TOLD_WORKLOADS = 4 };
/* The note of a workload at which the candidate gave no results. */
#define VERDICT_FAILED "failed"

struct verdict_workload {
    const char *name;  /* such as "smoke:0" */
    const char *role;  /* "smoke", "check", "time" or "heldout" */
    const char *shape; /* such as "M=256 N=512"; "" if hidden from authors */
    bool ok;           /* nothing wrong seen; `verified` says how much was compared */
    /* - "whole": every output element of at least one call was compared with the truth;
     * - "sample": verified_pct percent of the elements were compared;
     * - "none": no element was compared;
     * - "": unknown (an older verdict). */
    const char *verified;
    double verified_pct;
    /* max_ratio is the largest error, divided by the tolerance. rms_ratio is the rms error, divided
     * by that of an ideal implementation. */
    double max_ratio, rms_ratio;
    const char *output; /* the tensor with the worst error */
    const char *note;   /* what is wrong */
    /* If the emulator ran only some blocks: how many blocks there are, how many ran, and how many
     * wrote an element that was compared. Otherwise 0. */
    double blocks, blocks_ran, blocks_verified;
    double unseen_pct; /* share of the output that no emulated block wrote */
    /* If 1% of the blocks (on a GPU: of the rows, columns or tiles) were wrong, the probability
     * that the comparison finds this. 0 if nothing was verified. */
    double found_pct;
};

struct verdict_time {
    const char *workload;
    const char *shape;
    /* "candidate", "naive", "cublaslt", a file name, or a PyTorch variant
     * (job/torch_variants.h). */
    const char *who;
    bool is_model;            /* from the cost model, not measured */
    double median_ns, mad_ns; /* median; median absolute deviation */
    /* The 95% interval of the median. For a modelled time, an interval that held the measured times
     * of 80% of the kernels when we checked the model. */
    double lo_ns, hi_ns;
    uint32_t n; /* timed calls */
    /* In a baseline's row: its time / the candidate's, with the 95% interval. Otherwise 0. */
    double ratio, ratio_lo, ratio_hi;
    /* Percent of the highest rate that the GPU can reach. 0 if unknown. */
    double roofline_pct;
    /* The rate that bounds the kernel: "DRAM" or "arithmetic"; in old verdicts also "L2" or "". */
    const char *limit;
};

/* A baseline, which Hone judges like a candidate. If it is "wrong" or "failed", it has no times. */
struct verdict_baseline {
    const char *who;
    /* - "right";
     * - "imprecise": a library whose rms error is over the limit, or whose errors are up to 4 times
     *   the tolerance;
     * - "wrong";
     * - "failed": it could not run;
     * - "unverified": no output was compared with the truth. */
    const char *state;
    const char *text; /* the reason; "" if "right" */
};

/* The members mean the same as in struct result_finding. */
struct verdict_finding {
    /* At a held-out workload an author is told only the kind and the line. */
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

/* The members mean the same as in struct result_counter. A counter about the code itself has the
 * workload "code" and the role "static". */
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
    /* The stage that decided: "extract", "compile", "plan", "emulate", "run", "check", "time",
     * "profile". */
    const char *stage;
    const char *detector; /* the rule, such as "input-hash" */
    const char *summary;
    /* How failing shapes differ from passing ones: "all 19 failing shapes have C >= 4097; all with
     * C <= 4096 pass". */
    const char *separation;
    const char *detail; /* facts for a repair, at most about 60 lines */
    double score;
    double time_ns; /* geometric mean over the timed workloads, or 0 */
    /* Time of the baseline `speedup_over` / the candidate's; 0 without one. */
    double speedup;
    const char *speedup_over;
    bool time_is_model;
    VEC(struct verdict_workload) workloads;
    VEC(struct verdict_time) times;
    VEC(struct verdict_baseline) baselines;
    VEC(struct verdict_finding) findings;
    VEC(struct verdict_counter) counters;
    VEC(const char *) warnings;
    /* A promise such as "A is lower triangular", or "". The verdict holds only for such inputs. */
    const char *preconditions;
    /* The declared precision, such as "float32". For a float32 task also how many products of
     * tensor cores are in TF32 and in narrower types. */
    const char *precision;
    /* Such as "dram-bound: 91% of peak DRAM throughput (...)". */
    const char *bottleneck;
    const char *device, *gpu, *driver, *arch, *compiler;
    const char *source_sha, *task; /* SHA-256 of the source; name of the task */
    const char *task_sha;          /* see task/snapshot.h */
    uint64_t seed;
    uint64_t compile_ns, run_ns, total_ns;
};

const char *verdict_kind_name(enum verdict_kind k);
/* Returns true for the held-out role and for unknown roles. An author must not learn what happened
 * at workloads with these roles. */
bool verdict_hidden(const char *role);
enum verdict_kind verdict_kind_from(const char *name, bool *ok);

json_t *verdict_to_json(const struct verdict *v);
/* Fills *v from JSON. Checks everything, because the JSON comes from outside. */
int verdict_from_json(struct verdict *v, const json_t *j, struct err *err);
/* Appends "9 workloads verified whole, 2 by sample, 1 only timed". */
void verdict_verified_text(const struct verdict *v, struct strbuf *out);
unsigned verdict_timed_shapes(const struct verdict *v);
/* We expect a measured time from *lo to *hi times the modelled time. Returns false if the verdict
 * does not say. */
bool verdict_model_error(const struct verdict *v, double *lo, double *hi);
/* How fast the candidate is: the first baseline's time / the candidate's time. */
struct verdict_ratio {
    const char *who;
    /* The geometric mean over the shapes, and its 95% interval. For modelled times lo == hi. */
    double mid, lo, hi;
};
/* Returns false if no baseline has a ratio. */
bool verdict_ratio(const struct verdict *v, struct verdict_ratio *out);
void verdict_set_score(struct verdict *v);
/* Replaces control characters in all texts. With such characters, a candidate could make a terminal
 * show another verdict. */
void verdict_plain_text(struct verdict *v);
/* Replaces "kernel.cu", Hone's name for the candidate, by the user's name for the file. */
void verdict_name_file(struct verdict *v, const char *name);
int verdict_cmp(const struct verdict *a, const struct verdict *b);
void verdict_release(struct verdict *v);

#endif
