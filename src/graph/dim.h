/*
 * dim.h - sizes as expressions over a task's axes, in one canonical form.
 *
 *     struct dim_pool p;
 *     dim_pool_init(&p, names, n);                      the axes and integer scalars there are
 *     const struct dim *d = dim_parse(&p, "2*D", err);  the expression language of base/expr.h
 *     dim_div(&p, d, dim_number(&p, 2)) == dim_parse(&p, "D", err)
 *
 * A size is a sum of products of axes with integer factors; division, remainder, minimum and so on
 * stand as one factor where they cannot be worked out. The pool keeps one struct dim for each size,
 * so two sizes that are equal for this form are the same pointer. Sizes that are different pointers
 * may still be equal in value ("min(M,N)" and "M" where M < N): the form is exact where it says
 * yes, not where it says no. Sizes are not negative: (H - 1)/2 + 1 is (H + 1)/2. A size whose form
 * would take thousands of characters equals itself only and has no text.
 */
#ifndef GRAPH_DIM_H
#define GRAPH_DIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

struct dim {
    const char
        *text; /* valid in plans; as the task wrote it, if it was parsed before it was made */
    bool is_number;
    int64_t value;   /* of a number */
    const char *key; /* the canonical form as text: equal keys, equal sizes */
    const struct dim_term *terms;
    size_t n;
    const struct dim *fixed; /* the size with defined names replaced; see dim_same() */
};

struct dim_pool {
    struct arena *arena;
    const char *const *names;
    size_t nnames;
    const struct dim **values; /* one per name: the size that it is defined as, or NULL */
    VEC(struct dim *) all;
    bool too_long; /* a size was made that has no text: graph_verify() refuses the graph */
};

void dim_pool_init(struct dim_pool *p, struct arena *a, const char *const *names, size_t n);
void dim_pool_release(struct dim_pool *p);

/* Name number i is that size: a constant axis, or one that a constraint gives by others. The names
 * of a size stay as they are; dim_same() knows. False for a name that is defined already, and for a
 * definition by itself. */
bool dim_define(struct dim_pool *p, size_t i, const struct dim *d);
/* Defines the axis of a constraint "NAME == SIZE". False for a constraint that says more or
 * something else. */
bool dim_define_by(struct dim_pool *p, const char *constraint);

const struct dim *dim_number(struct dim_pool *p, int64_t v);
const struct dim *dim_name(struct dim_pool *p, size_t i); /* axis number i */
/* NULL with err set if the text is no expression over the pool's names. */
const struct dim *dim_parse(struct dim_pool *p, const char *text, struct err *err);

const struct dim *dim_add(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_sub(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_mul(struct dim_pool *p, const struct dim *a, const struct dim *b);
/* As in plans. What divides without remainder leaves the division: (2*D + 1)/2 is D. */
const struct dim *dim_div(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_mod(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_min(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_max(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_product(struct dim_pool *p, const struct dim *const *d, size_t n);

bool dim_is(const struct dim *d, int64_t v); /* the number v? */
/* The same size, by the definitions? */
bool dim_same(const struct dim *a, const struct dim *b);
/* Its value where each name has a value; false on overflow or a division by zero. */
bool dim_eval(const struct dim *d, const int64_t *values, int64_t *out);
/* Does the size mention name number i? */
bool dim_uses(const struct dim *d, size_t i);

#endif
