/*
 * prove.h - tests the tolerance that a SIGMA reference gives (docs/tolerance.md). Needs a C
 * compiler and no GPU.
 *
 *     struct tolerance_report r;
 *     if (tolerance_prove(&g, mode, task, NULL, shapes, nshapes, &r, err) < 0 ||
 *         tolerance_accept(&r, err) < 0) ...
 *
 * A SIGMA reference (reference_mode.h) gives the true value of each element, and sigma: the
 * modelled standard deviation of a good kernel's rounding error. The *allowance* of an element is
 * TASK_SIGMAS times sigma plus half an ulp of the output's dtype. At each shape, tolerance_prove()
 * runs the SIGMA reference once and the NOISY reference, which rounds at random, several times on
 * the same data. It compares the errors of the noisy values with the allowances.
 */
#ifndef GRAPH_TOLERANCE_PROVE_H
#define GRAPH_TOLERANCE_PROVE_H

#include "graph/graph.h"
#include "graph/reference/reference_mode.h"
#include "task/task.h"

/* Each shape gets TOLERANCE_RUNS noisy runs. If some output then has only errors below
 * TOLERANCE_LEAST times their allowance, the shape gets more runs, up to TOLERANCE_MORE_RUNS in
 * all. If its errors stay that small, the allowance is far too wide. */
#define TOLERANCE_RUNS 8
#define TOLERANCE_LEAST 0.25
#define TOLERANCE_MORE_RUNS 64
/* A shape gets fewer runs if they would need more operations than this, but at least
 * TOLERANCE_FEW_RUNS. */
#define TOLERANCE_OPERATIONS 4e9
#define TOLERANCE_FEW_RUNS 2
/* Rounding may change a comparison on which an element depends. If such a change makes the
 * element's sigma more than twice as large, the element is undecided. These are shares of undecided
 * elements.
 */
#define TOLERANCE_UNDECIDED_SAY 0.001 /* the most that t/unit/tolerance.c allows */
#define TOLERANCE_UNDECIDED_MOST 0.01 /* the most that tolerance_accept() allows */
/* A task is ill-conditioned if rms sigma divided by the rms of the output is above this. */
#define TOLERANCE_ILL 0x1p-6

struct tolerance_output {
    const char *name;
    double worst;     /* the largest error divided by its allowance; 0 if there was none */
    uint64_t samples; /* compared values with sigma > 0, in all runs */
    double undecided; /* share of undecided elements */
    double noise;     /* rms sigma divided by the rms of the output, over all shapes */
    uint64_t worst_elem;
    const char *worst_at; /* a shape; in the report's arena */
};

struct tolerance_report {
    struct arena arena;
    uint64_t runs;   /* noisy runs at all shapes together */
    uint64_t fewest; /* runs at the shape with the fewest; TOLERANCE_RUNS if all have more */
    size_t n;
    struct tolerance_output *outputs; /* in the order of the task's outputs; in the arena */
};

/* Of `mode`, only the choice of TF32 for products and convolutions counts. Task and graph have the
 * same tensors. `oracle_so` is the task's compiled reference (task/oracle.h), or NULL. Its folder
 * keeps compiled objects for later proofs. The caller releases the report, also after an error. */
int tolerance_prove(const struct graph *g, struct reference_mode mode, const struct task *t,
                    const char *oracle_so, const struct shape *shapes, size_t n,
                    struct tolerance_report *out, struct err *err);
void tolerance_report_release(struct tolerance_report *r);

/* Returns 0 if no error is over its allowance, the allowance is not far too wide, and few elements
 * are undecided. Otherwise returns -1. */
int tolerance_accept(const struct tolerance_report *r, struct err *err);
/* The least that `worst` must be: TOLERANCE_LEAST, or less if there are few independent samples. */
double tolerance_least(uint64_t samples);
/* The limit on the number of noisy runs at a shape whose oracle takes this many operations. */
uint64_t tolerance_runs(double operations);
bool tolerance_is_ill(const struct tolerance_output *o);
/* Does the model allow far larger errors than the noisy runs had? */
bool tolerance_is_loose(const struct tolerance_report *r);

#endif
