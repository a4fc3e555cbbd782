/*
 * evaluation.h - the state of the evaluator and of one evaluation. Only these files include it:
 * eval.c (the stages), evaluator.c (opening and closing), judge_job.c (facts to verdict).
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

/* FILTERING: before a GPU runs the candidate, the emulator runs it on the smoke workloads. */
enum eval_stage { COMPILING, FILTERING, RUNNING, PROFILING, DONE };

/* A kernel baseline whose verdict a candidate needs. */
struct needed_baseline {
    const char *name, *source; /* in the evaluation's arena */
    char key[HASH_HEX];
};

struct evaluation {
    struct evaluation *next;
    /* If this evaluates a baseline, the key of its verdict; "" = a candidate. */
    char of_baseline[HASH_HEX];
    VEC(struct needed_baseline) needs;
    struct rejected_baseline_vec
        broken;   /* baselines whose failure ended a job of this evaluation */
    bool waiting; /* in the stage RUNNING: it still waits for the verdicts of its baselines */
    uint64_t ticket;
    const struct task *task;
    char *source;
    size_t len;
    struct eval_config cfg;
    enum eval_stage stage;
    struct verdict v;
    struct arena arena; /* job, cases, shapes */
    struct plan *plan;
    struct compile_ticket *compiling;
    struct compiled code;
    bool have_code;
    struct bundle_files parts; /* baselines, oracle, service code */
    struct temp_dir dir;
    struct job job;
    struct case_set cases;
    uint64_t sched_ticket;
    struct sched *sched; /* the scheduler that gave sched_ticket */
    bool under_ncu;      /* PROFILING: ncu runs the worker */
    bool no_ncu;         /* ncu was tried, or is not available */
    double launch_ns;    /* time of an empty launch, measured in this evaluation */
    uint64_t nonce;      /* a random number of the job, which its result must repeat */
    uint64_t started_ns, ran_ns;
};

struct evaluator {
    struct arena arena;
    bool cuda;
    int ordinal;
    char *arch;
    struct job_gpu gpu;
    char device_name[128], driver[80]; /* set for a local GPU */
    struct ceilings ceilings;
    struct compiler *compiler;
    struct baseline_verdicts baselines;
    char *on;                   /* where bundles run: "local", "spool:DIR" */
    struct sched *local;        /* runs bundles on the emulator */
    struct sched *main;         /* runs bundles on the device; may be the same as local */
    struct sched *one_gpu;      /* runs bundles under a profiler, if main has several GPUs */
    struct gpu_times gpu_times; /* times of baselines on each GPU, if there are several GPUs */
    struct evaluation *evaluations;
    uint64_t next_ticket;
};

/* evaluator.c: frees the evaluation and all that it owns. */
void evaluation_free(struct evaluation *a);

/* judge_job.c: fills the verdict from the facts of a job. */
void judge_job(struct evaluator *e, struct evaluation *a, const struct result *r);
/* judge_job.c: copies the counters into the verdict, except those of held-out shapes. */
void copy_counters(struct verdict *v, const struct case_set *cases, const struct result *r);

#endif
