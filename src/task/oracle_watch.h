/*
 * oracle_watch.h - watches how an oracle accesses its outputs and its scratch.
 *
 * A phase of reference.c is a function that Hone calls for each unit, such as a row of a matrix.
 * Phases, and the steps of a repeated phase, run one after the other. Units may run in any order
 * and at the same time. So these accesses are errors:
 *  1. two units write one element of an output, in one phase or in two;
 *  2. a unit reads an output's element, or adds to it, and has not written it before;
 *  3. a unit reads scratch that no unit has written;
 *  4. two units use one slot of the scratch in one step of a phase, and one of them writes it;
 *  5. two units of one phase write one slot of the scratch in different steps.
 * on_error gets a text with the line of reference.c, the element and the unit.
 */
#ifndef TASK_ORACLE_WATCH_H
#define TASK_ORACLE_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "job/ref_ctx.h"
#include "task/task.h"

/* The last user of an element. `phase` counts from 1; 0 = nobody. */
struct oracle_user {
    uint16_t phase;
    bool several; /* several units used it in that step */
    uint32_t step;
    int64_t unit;
};

struct oracle_watch {
    const char *const *names;
    const char *fns[TASK_MAX_PHASES + 1]; /* the phases that ran, from index 1 */
    uint16_t phase;                       /* the running phase, from 1 */
    uint32_t step;
    int64_t unit;
    struct oracle_user *writer[REF_MAX_TENSORS];   /* for each element of each output */
    struct oracle_user *slot_writer, *slot_reader; /* for each element of the scratch */
    void (*on_error)(void *data, const char *text);
    void *data;
};

void oracle_watch_init(struct oracle_watch *w, const struct ref_ctx *ctx, const char *const *names,
                       void (*on_error)(void *data, const char *text), void *data);
void oracle_watch_release(struct oracle_watch *w);
/* Call this before each unit runs. `phase` counts from 0 here. `step` is 0 in a phase that is not
 * repeated. */
void oracle_watch_unit(struct oracle_watch *w, size_t phase, const char *fn, int64_t step,
                       int64_t unit);
/* Call this for each access of the unit that runs, to element i of a tensor. `tensor` -1 stands for
 * the scratch. `kind` is HONE_REF_READ, HONE_REF_WRITE or HONE_REF_CHANGE (hone_ref.h). `line` is
 * the line of reference.c. */
void oracle_watch_access(struct oracle_watch *w, int kind, int tensor, int64_t i, int line);

#endif
