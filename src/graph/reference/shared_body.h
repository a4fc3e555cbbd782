/*
 * shared_body.h - lets similar phases of a reference share one function. emit.h explains phases,
 * and scratch, the array through which phases pass values on.
 *
 * A deep network has the same layer many times. The phases of such layers have almost the same
 * text. They differ only in the regions of scratch that they use, in the tensors, and in some
 * integers, such as ids of values and numbers of channels. shared_bodies_find() finds such phases.
 * The reference then has one function with the text of the first of them. The function's parameters
 * have the names of the first phase's regions and tensors: VAL12_at for VAL12(i), HT_x for IN(x,
 * i). So this text stays almost as it is. Only integers that differ between the phases become n1,
 * n2, ...
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
    /* shared_bodies_find() sets the following members. Phases are of one kind if they can share a
     * function. */
    size_t first;              /* the number of the first phase of the same kind */
    size_t like;               /* only in the first phase of a kind: how many phases the kind has */
    VEC(const char *) regions; /* the names of the regions, in the order of the text */
    VEC(const char *) tensors; /* the names of the tensors, in the order of the text */
    VEC(int64_t) integers;     /* every integer of the text, in order */
    /* Only the first phase of a kind has these two. numbers[i] says which parameter replaces
     * integers[i]: k for the parameter nk, or 0 if the integer stays. nnumbers is the number of
     * such parameters. */
    VEC(size_t) numbers;
    size_t nnumbers;
};

struct shared_bodies {
    const struct body_names *names;
    /* One entry per value: true if its regions VAL and PART hold a number for each sample
     * (drawn.h). */
    const bool *sampled;
    const struct graph *g;
    struct arena *arena;
    /* Returns the C expression for the place in scratch where a region begins. */
    const char *(*place)(void *ctx, uint32_t id, const char *region);
    void *ctx;
    struct phase_body *bodies;
    size_t n;
    bool share; /* if false, every phase keeps its own text */
};

/* Finds the phases that can share a function. */
void shared_bodies_find(struct shared_bodies *s);
/* Does phase i call a function that it shares with others? */
bool shared_body_is(const struct shared_bodies *s, size_t i);
/* Writes phase i. Before the first phase of a kind, it also writes the function that these phases
 * share. */
void shared_bodies_write(const struct shared_bodies *s, size_t i, struct strbuf *out);
void shared_bodies_release(struct shared_bodies *s);

#endif
