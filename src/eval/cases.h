/*
 * cases.h - chooses the workloads at which a candidate runs, and the calls at each workload.
 *
 * A case is a workload at one shape, with its calls. A workload's role says what it is for. Smoke
 * and check workloads have the shapes that the task gives. Held-out workloads have shapes that are
 * drawn from the evaluation's seed. Time workloads are timed. A smoke, check or held-out case has
 * one call if Hone added its workload by a rule (task/regimes.h), or if its inputs are precision
 * data (precision.h). Otherwise it has these four calls, and the worker verifies each:
 *   1. some data;
 *   2. other data, without reloading the module: a kernel must not carry data from call to call;
 *   3. the data of call 2 in a fresh module; the result must be bit-identical;
 *   4. the data of call 1 with one element of a float input changed; the output must change
 *      accordingly. This call is left out if no input is float.
 * On the emulator the first smoke workload also gets four timed calls, and an untimed repeat of one
 * of them.
 */
#ifndef EVAL_CASES_H
#define EVAL_CASES_H

#include "check/decide_verdict.h"
#include "compile/compile.h"
#include "job/job.h"
#include "plan/plan.h"
#include "task/task.h"

/* A contender: the candidate (first) or a baseline. */
struct contender {
    const char *name;
    enum job_module_kind kind;
    const struct plan *plan;         /* only for a kernel */
    const struct sig_vec *sigs;      /* only for a kernel */
    const struct library_gemm *gemm; /* only for a library */
    /* only for a kernel: has its number of registers; NULL = unknown */
    const struct compiled *code;
};

struct case_options {
    bool emu;
    bool smoke, check, heldout, time; /* run the workloads of these roles */
    bool profile; /* make one call of the candidate at each workload, for a profiler */
    /* Run only these workloads: a list of names ("smoke:0,check:1"), of numbers of workloads in
     * the task, or of roles ("time"). NULL = all workloads of the roles above. */
    const char *only;
    uint64_t seed;
    uint64_t measure_ns;
    bool warm_l2;
};

struct case_set {
    VEC(struct job_case) cases;
    VEC(struct check_case) info; /* one for each case */
    VEC(const char *) shapes;    /* the shape of each case, in words */
    VEC(const char *) notes;     /* workloads left out, and why */
};

/*
 * Builds the cases. Returns 0 on success, and -1 if Hone itself failed. Returns 1 if the
 * candidate's plan does not resolve on some workload; then err has the reason, and the verdict is
 * plan_error.
 */
int cases_build(struct case_set *out, const struct task *t, const struct contender *who, size_t n,
                const struct case_options *o, struct arena *a, struct err *err);

/*
 * A large network has much work at its smallest shape too, so the emulator needs longer for an
 * honest kernel. Raises the limit of a job on the emulator and, if `calls` is true, that of each
 * call, by what the work of the cases may take. A case does not count if the emulator runs only a
 * sample of its blocks, as at timed shapes.
 */
void cases_allow_for_work(const struct case_set *s, bool calls, struct job_limits *limits);

/* `names` are names of workloads, separated by commas. Fails if an evaluation of the task can never
 * have a workload with one of these names. The error lists the possible names. */
int cases_check_workload(const struct task *t, const char *names, struct err *err);
/* True if some workload would be timed with these options. */
bool cases_time_any(const struct task *t, const struct case_options *o);
void cases_release(struct case_set *s);

#endif
