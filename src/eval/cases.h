/*
 * cases.h - which workloads a candidate meets, and what is done to it on each.
 *
 * Smoke and check workloads are run as written; held-out ones are drawn afresh from the
 * evaluation's seed; time workloads are timed. Each checked case makes four calls: the data once
 * (verified), other data without reloading the module (verified: nothing may be carried over), the
 * same in a fresh module (verified, and bit-identical), and the first data with one element changed
 * (verified: the output must follow).
 */
#ifndef EVAL_CASES_H
#define EVAL_CASES_H

#include "check/check.h"
#include "compile/compile.h"
#include "job/job.h"
#include "plan/plan.h"
#include "task/task.h"

/* A contender: the candidate (first) or a baseline. */
struct contender {
    const char *name;
    enum job_module_kind kind;
    const struct plan *plan;         /* KERNEL */
    const struct sig_vec *sigs;      /* KERNEL */
    const struct library_gemm *gemm; /* LIBRARY */
    const struct compiled *code;     /* KERNEL: for its registers; NULL = unknown */
};

struct case_options {
    bool emu;
    bool smoke, check, heldout, time; /* which roles */
    bool profile;     /* one call of the candidate at each workload, for a profiler to look at */
    const char *only; /* one workload of any role: "smoke:0", or its number in the task; NULL */
    uint64_t seed;
    uint64_t measure_ns;
};

struct case_set {
    VEC(struct job_case) cases;
    VEC(struct check_case) info;
    VEC(const char *) shapes;
    VEC(const char *) notes; /* workloads left out, and why */
};

/*
 * Builds the cases. 1: the candidate's plan does not resolve on some workload (the story is in err:
 * a plan_error); -1: Hone's own failure; 0: done.
 */
int cases_build(struct case_set *out, const struct task *t, const struct contender *who, size_t n,
                const struct case_options *o, struct arena *a, struct err *err);
void cases_release(struct case_set *s);

#endif
