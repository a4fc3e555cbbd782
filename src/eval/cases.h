/*
 * cases.h - chooses the workloads at which a candidate runs, and the calls at each workload.
 *
 * A case is a workload at one shape, with its calls. The calls of a workload with the role `time`
 * are timed. Any other workload has these four calls, and the worker verifies each:
 *     1. some data;
 *     2. other data, without reloading the module: a kernel must not carry data from call to call;
 *     3. the data of call 2 in a fresh module; the result must be bit-identical;
 *     4. the data of call 1 with one element of a float input changed.
 * Two kinds of cases have one call: workloads that Hone adds by a rule (task/regimes.h), and cases
 * with precision data (precision.h). On the emulator the first smoke workload also gets timed
 * calls.
 */
#ifndef EVAL_CASES_H
#define EVAL_CASES_H

#include "check/decide_verdict.h"
#include "compile/compile.h"
#include "job/job.h"
#include "plan/plan.h"
#include "task/task.h"

struct contender {
    const char *name;
    enum job_module_kind kind;
    const struct plan *plan;         /* if kind is JOB_MODULE_KERNEL */
    const struct sig_vec *sigs;      /* if kind is JOB_MODULE_KERNEL */
    const struct library_gemm *gemm; /* if kind is JOB_MODULE_LIBRARY */
    /* If kind is JOB_MODULE_KERNEL. NULL = facts about the code are unknown. */
    const struct compiled *code;
};

struct case_options {
    bool emu;
    bool smoke, check, heldout, time;
    bool profile; /* one call of the candidate at each timed workload, for a profiler */
    /* Only these workloads, separated by commas ("smoke:0,3,time"): names, positions in the task's
     * list of workloads from 0 on, or roles. NULL = all workloads of the roles above. */
    const char *only;
    uint64_t seed;
    uint64_t measure_ns;
    bool warm_l2;
};

struct case_set {
    VEC(struct job_case) cases;
    VEC(struct check_case) info;
    VEC(const char *) shapes; /* for each case: its shape in words */
    VEC(const char *) notes;  /* each names a workload that was left out, and says why */
};

/*
 * Makes a case of each workload that `o` selects. who[0] is the candidate, and the other n - 1
 * contenders are baselines. Returns 1 if the candidate's plan does not resolve on some workload,
 * with the reason in err. Returns -1 if Hone itself failed.
 */
int cases_build(struct case_set *out, const struct task *t, const struct contender *who, size_t n,
                const struct case_options *o, struct arena *a, struct err *err);

/*
 * Raises the time limit of a job on the emulator by the time that the work of its cases may take.
 * With `calls`, also raises the limit of each call. Cases with sampled calls add nothing.
 */
void cases_allow_for_work(const struct case_set *s, bool calls, struct job_limits *limits);

/* `names` is a list as in case_options.only. Fails if an entry fits no workload that the task has
 * or that Hone may add to it. The error lists the workloads that the task has. */
int cases_check_workload(const struct task *t, const char *names, struct err *err);
bool cases_time_any(const struct task *t, const struct case_options *o);
void cases_release(struct case_set *s);

#endif
