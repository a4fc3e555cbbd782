/*
 * evaluation.h - the state of the evaluator and of one evaluation. Only these files include it:
 * eval.c (the stages), evaluator.c (opening and closing), judge_job.c (from a job's result to the
 * verdict).
 */
#ifndef EVAL_EVALUATION_H
#define EVAL_EVALUATION_H

#include "eval/baseline_verdict.h"
#include "eval/bundle_files.h"
#include "eval/cases.h"
#include "eval/config.h"
#include "eval/gpu_difference.h"
#include "measure/timing.h"
#include "sched/sched.h"
#include "sys/file.h"

/* FILTERING means that the emulator runs the candidate on the smoke workloads, before a GPU runs
 * it. PROFILING means that a profiler measures it. */
enum eval_stage { COMPILING, FILTERING, RUNNING, PROFILING, DONE };

/* A baseline that is a kernel. A candidate can be compared with it only after the baseline has its
 * own verdict. */
struct needed_baseline {
    const char *name, *source; /* live in the evaluation's arena */
    char key[HASH_HEX];        /* the key of its verdict in evaluator.baselines */
};

struct evaluation {
    struct evaluation *next;
    /* "" if this evaluates a candidate. If it evaluates a baseline, the key of the baseline's
     * verdict. */
    char of_baseline[HASH_HEX];
    VEC(struct needed_baseline) needs;
    /* Baselines that failed and so ended a job of this evaluation. The next job leaves them out. */
    struct rejected_baseline_vec broken;
    /* In the stage RUNNING: the evaluation still waits for the verdicts of its baselines. */
    bool waiting;
    uint64_t ticket;
    const struct task *task;
    char *source;
    size_t len;
    struct eval_config cfg;
    enum eval_stage stage;
    struct verdict v;
    struct arena arena; /* holds the job, the cases and the shapes */
    struct plan *plan;
    struct compile_ticket *compiling;
    struct compiled code;
    bool have_code;            /* `code` is set */
    struct bundle_files parts; /* the baselines, the oracle and the service code (bundle_files.h) */
    struct temp_dir dir;       /* the bundle, the directory that a worker gets (pack.h) */
    struct job job;
    struct case_set cases;
    uint64_t sched_ticket;
    struct sched *sched; /* the scheduler that gave sched_ticket */
    bool under_ncu;      /* in the stage PROFILING: ncu (Nsight Compute) runs the worker */
    bool no_ncu;         /* do not use ncu: it was tried already, or is not available */
    double launch_ns;    /* the time of an empty launch, measured in this evaluation */
    uint64_t nonce;      /* a random number in the job; the result must contain the same number */
    uint64_t started_ns, ran_ns; /* when it began; how long its jobs ran so far */
};

struct evaluator {
    struct arena arena;
    bool cuda;   /* the device is a GPU; if false, the emulator */
    int ordinal; /* the number of the GPU */
    char *arch;
    struct job_gpu gpu;                /* the data sheet */
    char device_name[128], driver[80]; /* "" if the GPU is not in this machine */
    struct ceilings ceilings;
    struct compiler *compiler;
    struct baseline_verdicts baselines;
    char *on;              /* where bundles run: "local" or "spool:DIR" */
    struct sched *local;   /* runs bundles on the emulator */
    struct sched *main;    /* runs bundles on the device; may be the same as local */
    struct sched *one_gpu; /* runs bundles under a profiler, if `main` has several GPUs */
    /* The times of the baselines on each GPU, if there are several GPUs. */
    struct gpu_times gpu_times;
    struct evaluation *evaluations;
    uint64_t next_ticket;
};

/* evaluator.c: frees the evaluation and everything that it owns. */
void evaluation_free(struct evaluation *a);

/* judge_job.c: fills the verdict from the worker's result of a job. */
void judge_job(struct evaluator *e, struct evaluation *a, const struct result *r);
/* judge_job.c: copies the counters into the verdict, except those of held-out shapes. */
void copy_counters(struct verdict *v, const struct case_set *cases, const struct result *r);

#endif
