/*
 * shared_body.h - lets similar phases of a reference share one function. emit.h explains phases and
 * scratch.
 *
 * A deep network has the same layer many times. The phases of such layers differ only in their
 * regions of scratch, their tensors and some integers. They share a function with the text of the
 * first phase. Its parameters have the names of that phase's regions and tensors: VAL12_at for
 * VAL12(i), HT_x for IN(x, i). Integers that differ become n1, n2, ...
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
 *     PHASE(p9_mod)
 *     {
 *         shared_p7_mod(hone, unit, hone_place(hone, 1, 0), HT_y, 128);
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
    char *text;        /* the statements of the body */
    bool is_repeated;  /* the body uses STEP */
    /* shared_bodies_find() sets the following members. Phases of one kind can share a function. */
    size_t first;              /* the number of the first phase of this kind */
    size_t like;               /* only in that first phase: how many phases the kind has */
    VEC(const char *) regions; /* the names of the regions, in the order of the text */
    VEC(const char *) tensors; /* the names of the tensors, in the order of the text */
    VEC(int64_t) integers;     /* every integer of the text, in order */
    /* Only in the first phase: integers[i] becomes parameter number numbers[i]; 0 = it stays. */
    VEC(size_t) numbers;
    size_t nnumbers; /* parameters for integers */
};

struct shared_bodies {
    const struct body_names *names;
    const bool *sampled; /* per value: do VAL and PART hold a number for each sample (drawn.h)? */
    const struct graph *g;
    struct arena *arena;
    /* Returns the C expression for the place in scratch where a region begins. */
    const char *(*place)(void *ctx, uint32_t id, const char *region);
    void *ctx;
    struct phase_body *bodies;
    size_t n;
    bool share; /* if false, every phase keeps its own text */
};

void shared_bodies_find(struct shared_bodies *s);
/* Does phase i share a function with others? */
bool shared_body_is(const struct shared_bodies *s, size_t i);
/* Writes phase i. Before the first phase of a kind, writes the function that they share. */
void shared_bodies_write(const struct shared_bodies *s, size_t i, struct strbuf *out);
void shared_bodies_release(struct shared_bodies *s);

#endif
