/*
 * oracle_trial.h - runs a task's oracle at one shape, in a process of its own.
 *
 *     struct oracle_trial x;
 *     if (oracle_trial_init(&x, &shape, seed, err) == 0 &&
 *         oracle_trial_run(&x, "dir/oracle.so", ORACLE_IN_ORDER, err) == 0)
 *         x.value[i][k], x.mag[i][k]
 *     oracle_trial_release(&x);
 *
 * A reference.c is the user's code and may crash or run forever. Its process has limits on CPU time
 * and memory, writes no files and opens no sockets. After a crash, the error names the phase, and
 * the unit if units ran one at a time.
 */
#ifndef TASK_ORACLE_TRIAL_H
#define TASK_ORACLE_TRIAL_H

#include <stdbool.h>

#include "task/task.h"

enum oracle_mode {
    ORACLE_IN_ORDER,
    ORACLE_SHUFFLED, /* units in another order */
    ORACLE_WATCHED   /* units in order, with a shared object of oracle_build_checked() */
};

struct oracle_trial {
    const struct shape *shape;
    void *in[TASK_MAX_TENSORS]; /* inputs, generated from the seed */
    double *value[TASK_MAX_TENSORS], *mag[TASK_MAX_TENSORS];
    /* For a reference that rounds at random (graph/reference/reference_mode.h). */
    uint64_t noise_seed;
    uint64_t seed;  /* of the inputs */
    double *shared; /* all values and magnitudes, shared with the process */
    size_t shared_bytes;
};

/* The caller releases x, also after an error. */
int oracle_trial_init(struct oracle_trial *x, const struct shape *s, uint64_t seed,
                      struct err *err);
void oracle_trial_release(struct oracle_trial *x);
/* Runs all phases. For elements that no unit writes, oracle_is_unwritten() is true. For an imported
 * task, Hone wrote reference.c from a graph. If its run in ORACLE_IN_ORDER mode takes long, a file
 * beside `so` keeps the results for later runs with the same shape and seed. */
int oracle_trial_run(struct oracle_trial *x, const char *so, enum oracle_mode mode,
                     struct err *err);

/* Is v the NaN of an element that no unit wrote? No arithmetic produces it. */
bool oracle_is_unwritten(double v);

#endif
