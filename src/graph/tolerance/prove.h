/*
 * prove.h - tests the tolerance that a SIGMA reference gives (docs/tolerance.md). Needs a C
 * compiler and no GPU.
 *
 *     struct tolerance_report r;
 *     if (tolerance_prove(&g, mode, task, NULL, shapes, nshapes, &r, err) < 0 ||
 *         tolerance_accept(&r, err) < 0) ...
 *
 * A SIGMA reference (reference_mode.h) gives the true value of each element, and sigma: the
 * modelled standard deviation of a good kernel's rounding error. A NOISY reference rounds at
 * random. Its errors must stay below the *allowance*: TASK_SIGMAS times sigma plus half an ulp of
 * the output's dtype.
 */
#ifndef GRAPH_TOLERANCE_PROVE_H
#define GRAPH_TOLERANCE_PROVE_H

#include "graph/graph.h"
#include "graph/reference/reference_mode.h"
#include "task/task.h"

/* A shape gets TOLERANCE_RUNS noisy runs. It gets more, up to TOLERANCE_MORE_RUNS, while all errors
 * of an output are below TOLERANCE_LEAST times the allowance. If the errors stay below, the
 * allowance is far too wide. */
#define TOLERANCE_RUNS 8
#define TOLERANCE_LEAST 0.25
#define TOLERANCE_MORE_RUNS 64
/* If the noisy runs at a shape together need more operations than this, the shape gets fewer runs,
 * but at least TOLERANCE_FEW_RUNS. */
#define TOLERANCE_OPERATIONS 4e9
#define TOLERANCE_FEW_RUNS 2
/* Rounding may change a comparison on which an element depends. The element is undecided if that
 * makes its sigma more than twice as large. These are the largest shares of undecided elements that
 * are accepted. */
#define TOLERANCE_UNDECIDED_SAY 0.001 /* in t/unit/tolerance.c */
#define TOLERANCE_UNDECIDED_MOST 0.01 /* in tolerance_accept() */
/* A task is ill-conditioned if rms sigma divided by the rms of the output is above this. */
#define TOLERANCE_ILL 0x1p-6

struct tolerance_output {
    const char *name;
    double worst;     /* the largest error / its allowance; 0 without errors */
    uint64_t samples; /* compared values with sigma > 0, in all runs */
    double undecided; /* the share of the elements that are undecided */
    double noise;     /* rms of sigma / rms of the output, over all shapes */
    uint64_t worst_elem;
    const char *worst_at; /* a shape; in the report's arena */
};

struct tolerance_report {
    struct arena arena;
    uint64_t runs;
    uint64_t fewest; /* runs at the shape with the fewest runs, but at most TOLERANCE_RUNS */
    size_t n;
    struct tolerance_output *outputs; /* in the order of the task; in the arena */
};

/* Tests the tolerance of the graph g at n shapes of the task t, which has the same tensors. Only
 * the TF32 choices of `mode` count. `oracle_so` is the task's compiled reference, or NULL. If it is
 * not NULL, this function keeps the objects that it compiles in the same folder, for later proofs.
 * The caller always releases the report. */
int tolerance_prove(const struct graph *g, struct reference_mode mode, const struct task *t,
                    const char *oracle_so, const struct shape *shapes, size_t n,
                    struct tolerance_report *out, struct err *err);
void tolerance_report_release(struct tolerance_report *r);

/* Fails if an error is over its allowance, the allowance is far too wide, or too many elements are
 * undecided. */
int tolerance_accept(const struct tolerance_report *r, struct err *err);
/* Returns the least that `worst` must be: TOLERANCE_LEAST, or less with few independent samples. */
double tolerance_least(uint64_t samples);
/* Returns the largest number of noisy runs at a shape whose oracle takes this many operations. */
uint64_t tolerance_runs(double operations);
bool tolerance_is_ill(const struct tolerance_output *o);
bool tolerance_is_loose(const struct tolerance_report *r);

#endif
