/*
 * oracle_watch.h - watches the accesses of an oracle to its outputs and its scratch.
 *
 *     struct oracle_watch w;
 *     oracle_watch_init(&w, &ctx->ref, ctx->names, on_error, data);
 *     oracle_watch_unit(&w, phase, "row", step, unit);     before each unit
 *     ... the oracle calls oracle_watch_access() for each access
 *     oracle_watch_release(&w);
 *
 * A phase is a function of reference.c, which Hone calls for each unit, such as a row of a matrix.
 * Phases, and the steps of a repeated phase, run one after the other. Units may run in any order
 * and at the same time. So these accesses are errors:
 *  1. two units write one element of an output, in one phase or in two;
 *  2. a unit reads an element of an output, or adds to it, and has not written it before;
 *  3. a unit reads scratch that no unit has written;
 *  4. two units use the same slot of the scratch in one step of a phase, and one of them writes it;
 *  5. two units of one phase write the same slot of the scratch in different steps.
 * on_error gets a text with the line of reference.c, the element and the unit.
 */
#ifndef TASK_ORACLE_WATCH_H
#define TASK_ORACLE_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "job/ref_ctx.h"
#include "task/task.h"

/* Who used an element last. The phase counts from 1; 0 = nobody. */
struct oracle_user {
    uint16_t phase;
    bool several; /* several units used it in that step */
    uint32_t step;
    int64_t unit;
};

struct oracle_watch {
    const char *const *names;             /* of the tensors */
    const char *fns[TASK_MAX_PHASES + 1]; /* the phases that ran; fns[0] is not used */
    uint16_t phase;                       /* what runs now; the phase counts from 1 */
    uint32_t step;
    int64_t unit;
    struct oracle_user *writer[REF_MAX_TENSORS];   /* one per element of each output */
    struct oracle_user *slot_writer, *slot_reader; /* one per element of the scratch */
    void (*on_error)(void *data, const char *text);
    void *data;
};

void oracle_watch_init(struct oracle_watch *w, const struct ref_ctx *ctx, const char *const *names,
                       void (*on_error)(void *data, const char *text), void *data);
void oracle_watch_release(struct oracle_watch *w);
/* Says which unit runs now. `phase` counts from 0 here. `step` is 0 if nothing is repeated. */
void oracle_watch_unit(struct oracle_watch *w, size_t phase, const char *fn, int64_t step,
                       int64_t unit);
/* `kind` is HONE_REF_READ, HONE_REF_WRITE or HONE_REF_CHANGE (hone_ref.h). tensor -1 is the
 * scratch. `i` must be within bounds. */
void oracle_watch_access(struct oracle_watch *w, int kind, int tensor, int64_t i, int line);

#endif
