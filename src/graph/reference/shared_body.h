/*
 * shared_body.h - lets similar phases of a reference share one function.
 *
 * A deep network has the same layer many times. The phases of such layers have the same text,
 * except for the regions of scratch that they use, the tensors, and some integers: the numbers of
 * values and sizes such as the channels. shared_bodies_find() finds phases of this kind. The
 * reference then has one function with the text of the first of them. The function's parameters
 * have the names of the first phase's regions and tensors: VAL12_at for VAL12(i), HT_x for IN(x,
 * i). So its text needs no change but for the integers that differ, which become n1, n2, ...
 *
 *     HONE_SHARED void shared_p7_mod(const struct hone_ref_ctx *hone, int64_t unit, int64_t
 * VAL12_at, int HT_x, int64_t n1)
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
    const char *fn;
    const char *about; /* a comment */
    char *text;        /* the statements */
    /* Set by shared_bodies_find(): */
    size_t first;              /* the first phase of its kind */
    size_t like;               /* how many phases of its kind there are */
    VEC(const char *) regions; /* names, in the order of the text */
    VEC(const char *) tensors; /* the same for tensors */
    VEC(int64_t) integers;     /* every integer of the text */
    VEC(size_t)
    numbers;         /* of the first phase: for each integer the
                        number k of its parameter nk, or 0 */
    size_t nnumbers; /* of the first phase */
};

struct shared_bodies {
    const struct body_names *names;
    const bool *sampled; /* one per value: its VAL and PART hold a number for each sample */
    const struct graph *g;
    struct arena *arena;
    /* Returns the C expression for the place in scratch where a region begins. */
    const char *(*place)(void *ctx, uint32_t id, const char *region);
    void *ctx;
    struct phase_body *bodies;
    size_t n;
    bool share; /* false: every phase keeps its own text */
};

void shared_bodies_find(struct shared_bodies *s);
/* Does phase i call a function that it shares with others? */
bool shared_body_is(const struct shared_bodies *s, size_t i);
/* Writes phase i. Before the first phase of a kind, it also writes the function that these phases
 * share. */
void shared_bodies_write(const struct shared_bodies *s, size_t i, struct strbuf *out);
void shared_bodies_release(struct shared_bodies *s);

#endif
