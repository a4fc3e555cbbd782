/*
 * evaluation.h - the state of the evaluator and of one evaluation. Private to eval.c, evaluator.c
 * and judge_job.c.
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

/* FILTERING: the emulator runs the smoke workloads before a GPU runs the candidate. */
enum eval_stage { COMPILING, FILTERING, RUNNING, PROFILING, DONE };

/* A kernel baseline. It needs a verdict before candidates are compared with it. */
struct needed_baseline {
    const char *name, *source;
    char key[HASH_HEX]; /* key of its verdict in evaluator.baselines */
};

struct evaluation {
    struct evaluation *next;
    /* the key of a baseline's verdict; "" for a candidate */
    char of_baseline[HASH_HEX];
    VEC(struct needed_baseline) needs;
    /* Baselines whose failure ended a job. The next job leaves them out. */
    struct rejected_baseline_vec broken;
    /* In the stage RUNNING: the evaluation waits for verdicts of its baselines. */
    bool waiting;
    uint64_t ticket;
    const struct task *task;
    char *source;
    size_t len;
    struct eval_config cfg;
    enum eval_stage stage;
    struct verdict v;
    struct arena arena;
    struct plan *plan;
    struct compile_ticket *compiling;
    struct compiled code;
    bool have_code;
    struct bundle_files parts;
    struct temp_dir dir; /* the bundle (pack.h) */
    struct job job;
    struct case_set cases;
    uint64_t sched_ticket;
    struct sched *sched;
    bool under_ncu;              /* in the stage PROFILING: ncu runs the worker */
    bool no_ncu;                 /* ncu was tried already, or is not available */
    double launch_ns;            /* measured time of an empty launch */
    uint64_t nonce;              /* random number that the result must repeat */
    uint64_t started_ns, ran_ns; /* when the evaluation began; how long its jobs ran */
};

struct evaluator {
    struct arena arena;
    bool cuda; /* the device is a GPU, not the emulator */
    int ordinal;
    char *arch;
    struct job_gpu gpu;                /* the data sheet */
    char device_name[128], driver[80]; /* "" if the GPU is not in this machine */
    struct ceilings ceilings;
    struct compiler *compiler;
    struct baseline_verdicts baselines;
    char *on;              /* as sched_open() takes it: "local", "spool:DIR", ... */
    struct sched *local;   /* runs bundles on the emulator */
    struct sched *main;    /* runs bundles on the device; may be `local` */
    struct sched *one_gpu; /* runs bundles under a profiler, if `main` has several GPUs */
    struct gpu_times gpu_times;
    struct evaluation *evaluations;
    uint64_t next_ticket;
};

void evaluation_free(struct evaluation *a);

void judge_job(struct evaluator *e, struct evaluation *a, const struct result *r);
/* Copies the counters of r to v, except those of held-out shapes. */
void copy_counters(struct verdict *v, const struct case_set *cases, const struct result *r);

#endif
