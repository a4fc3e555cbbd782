/*
 * prove.h - tests the tolerance that a SIGMA reference gives (docs/tolerance.md).
 *
 *     struct tolerance_report r;
 *     if (tolerance_prove(&g, mode, task, NULL, shapes, nshapes, &r, err) < 0 ||
 *         tolerance_accept(&r, err) < 0) ...
 *
 * A SIGMA reference (reference_mode.h) gives for each element the true value and sigma. Sigma is
 * the modelled standard deviation of a good kernel's rounding error. The *allowance* of an element
 * is TASK_SIGMAS times sigma plus half an ulp of the output's dtype. At each shape,
 * tolerance_prove() runs the graph's SIGMA reference. On the same data it runs the graph's NOISY
 * reference, which rounds at random, several times. It compares the errors of the noisy values with
 * the allowances. It needs a C compiler and no GPU.
 */
#ifndef GRAPH_TOLERANCE_PROVE_H
#define GRAPH_TOLERANCE_PROVE_H

#include "graph/graph.h"
#include "graph/reference/reference_mode.h"
#include "task/task.h"

/* There are TOLERANCE_RUNS noisy runs at each shape. The ratio of an error to its allowance should
 * reach TOLERANCE_LEAST somewhere in each output. Otherwise the allowance is far too wide. As long
 * as some output has not reached it, there are more runs, up to TOLERANCE_MORE_RUNS in all. */
#define TOLERANCE_RUNS 8
#define TOLERANCE_LEAST 0.25
#define TOLERANCE_MORE_RUNS 64
/* If the runs at a shape would need more operations than this, there are fewer runs, but at least
 * TOLERANCE_FEW_RUNS. */
#define TOLERANCE_OPERATIONS 4e9
#define TOLERANCE_FEW_RUNS 2
/* An element is undecided if rounding may change a comparison on which it depends, and if this
 * makes its sigma more than twice as large. The following are shares of undecided elements. */
#define TOLERANCE_UNDECIDED_SAY 0.001 /* the share that t/unit/tolerance.c allows */
#define TOLERANCE_UNDECIDED_MOST 0.01 /* tolerance_accept() refuses a task with a larger share */
/* A task is ill-conditioned if rms sigma divided by the rms of the output is above this. */
#define TOLERANCE_ILL 0x1p-6

struct tolerance_output {
    const char *name; /* borrowed from the task */
    double worst;     /* the largest error divided by its allowance; 0 if no error was seen */
    /* How many values were compared. Each run compares every element with sigma > 0. */
    uint64_t samples;
    double undecided; /* share of undecided elements */
    double noise;     /* rms sigma divided by the rms of the output, over all shapes */
    uint64_t worst_elem;
    const char *worst_at; /* the shape, in the report's arena */
};

struct tolerance_report {
    struct arena arena;
    uint64_t runs; /* runs with random rounding, at all shapes together */
    /* The smallest number of runs at any shape. Runs beyond TOLERANCE_RUNS do not count. */
    uint64_t fewest;
    size_t n;
    struct tolerance_output *outputs; /* in the order of the task's outputs; in the arena */
};

/* `mode` says which products and convolutions are in TF32; its other fields are ignored. `shapes`
 * are shapes of the task t. Task and graph have the same tensors. `oracle_so` is t's compiled
 * reference (task/oracle.h), or NULL if it is not built. The objects that tolerance_prove()
 * compiles stay in the folder of `oracle_so`, and a later proof of the same graph uses them again.
 * If `oracle_so` is NULL, they are deleted. The caller releases the report, also after an error. */
int tolerance_prove(const struct graph *g, struct reference_mode mode, const struct task *t,
                    const char *oracle_so, const struct shape *shapes, size_t n,
                    struct tolerance_report *out, struct err *err);
void tolerance_report_release(struct tolerance_report *r);

/* Returns 0 if no error is over its allowance, the allowance is not far too wide, and few elements
 * are undecided. Otherwise returns -1, and err says what is wrong with which output. */
int tolerance_accept(const struct tolerance_report *r, struct err *err);
/* The least that `worst` must be: TOLERANCE_LEAST, or less if there are few independent samples. */
double tolerance_least(uint64_t samples);
/* The largest number of noisy runs at a shape at which one run of the oracle takes `operations`
 * operations. */
uint64_t tolerance_runs(double operations);
bool tolerance_is_ill(const struct tolerance_output *o);
/* Does the model allow far larger errors than the noisy runs had? */
bool tolerance_is_loose(const struct tolerance_report *r);

#endif
