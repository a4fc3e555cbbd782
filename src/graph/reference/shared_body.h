/*
 * shared_body.h - lets similar phases of a reference share one function. emit.h explains the
 * macros, such as VAL12, with which phases access their scratch memory.
 *
 * A deep network has the same layer many times. The phases of these layers differ only in their
 * regions of scratch memory, their tensors and some integers. So they share a function with the
 * text of the first phase. The differences are the parameters of this function:
 *
 *     HONE_SHARED void shared_p7_mod(const struct hone_ref_ctx *hone, int64_t unit,
 *                                    int64_t VAL12_at, int HT_x, int64_t n1)
 *     {
 *         VAL12(unit) = IN(x, unit % n1);
 *     }
 *     PHASE(p7_mod)
 *     {
 *         shared_p7_mod(hone, unit, hone_place(hone, 0, 3), HT_x, 64);
 *     }
 */
#ifndef GRAPH_REFERENCE_SHARED_BODY_H
#define GRAPH_REFERENCE_SHARED_BODY_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "graph/reference/body_text.h"

struct phase_body {
    const char *fn;    /* the name of the phase's function */
    const char *about; /* the comment before the phase */
    char *text;
    bool is_repeated; /* the body uses STEP */
    /* shared_bodies_find() sets the rest. Phases of one kind share a function. */
    size_t first;              /* the first phase of this kind */
    size_t like;               /* only in the first phase: how many phases the kind has */
    VEC(const char *) regions; /* names, in the order of the text */
    VEC(const char *) tensors; /* names, in the order of the text */
    VEC(int64_t) integers;     /* in the order of the text */
    /* Only in the first phase. If numbers[i] is 0, the function's text keeps integers[i]. Else the
     * integer is parameter numbers[i] of the function; parameters count from 1. */
    VEC(size_t) numbers;
    size_t nnumbers;
};

struct shared_bodies {
    const struct body_names *names;
    /* For each value of the graph: does the scratch memory hold all its samples (drawn.h)? */
    const bool *sampled;
    const struct graph *g;
    struct arena *arena;
    /* Returns a C expression for where the region begins in the scratch memory. */
    const char *(*place)(void *ctx, uint32_t id, const char *region);
    void *ctx;
    struct phase_body *bodies;
    size_t n;
    bool share;
};

void shared_bodies_find(struct shared_bodies *s);
/* Writes phase i. Before the first phase of a kind, writes the shared function. */
void shared_bodies_write(const struct shared_bodies *s, size_t i, struct strbuf *out);
void shared_bodies_release(struct shared_bodies *s);

#endif
