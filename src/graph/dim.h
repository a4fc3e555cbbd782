/*
 * dim.h - sizes as expressions over a task's axes, in one canonical form.
 *
 *     struct dim_pool p;
 *     dim_pool_init(&p, &arena, names, n);              names of the axes and integer scalars
 *     const struct dim *d = dim_parse(&p, "2*D", err);  the expression language of base/expr.h
 *     dim_div(&p, d, dim_number(&p, 2)) == dim_parse(&p, "D", err)
 *
 * A size is a sum of products of axes with integer factors. Any other operation, such as a
 * remainder or a minimum, is one factor of a product. The pool keeps one struct dim for each
 * canonical form, so the same pointer means equal sizes. Different pointers may be equal too:
 * "min(M,N)" is "M" where M < N. Hone assumes that no size is negative, so a division rounds down.
 * A size whose form would take thousands of characters is equal only to itself, and has no text for
 * launch plans.
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
        *text; /* for launch plans: what dim_parse() read, if it made this size; or the key */
    bool is_number;
    int64_t value;                /* only if is_number */
    const char *key;              /* the canonical form as text */
    const struct dim_term *terms; /* the n terms of the sum (dim.c) */
    size_t n;
    const struct dim *fixed; /* the size with defined names replaced; see dim_same() */
};

struct dim_pool {
    struct arena *arena;
    const char *const *names;
    size_t nnames;
    const struct dim **values; /* the definition of each name (dim_define), or NULL */
    VEC(struct dim *) all;
    bool too_long; /* some size is too long to have a text */
};

void dim_pool_init(struct dim_pool *p, struct arena *a, const char *const *names, size_t n);
void dim_pool_release(struct dim_pool *p);

/* Records that name number i equals d. Sizes keep the name in their form, but dim_same() uses the
 * definition. False if the name is defined already, or if d contains the name itself. */
bool dim_define(struct dim_pool *p, size_t i, const struct dim *d);
/* Defines the axis of a constraint "NAME == SIZE". False for other constraints, or if dim_define()
 * refuses. */
bool dim_define_by(struct dim_pool *p, const char *constraint);

/* Uses a constraint "SIZE % NUMBER == 0": SIZE is a name, or a name plus a number, and NUMBER is at
 * least 2. From "C % 8 == 0" on, dim_same() knows that 8*(C/8) is C. False for other constraints,
 * or if the name is defined already. */
bool dim_divide_by(struct dim_pool *p, const char *constraint);
/* Copies all definitions from a pool with the same names. */
void dim_take_values(struct dim_pool *to, const struct dim_pool *from);

const struct dim *dim_number(struct dim_pool *p, int64_t v);
const struct dim *dim_name(struct dim_pool *p, size_t i); /* name number i */
/* NULL if the text is not an expression over the pool's names. */
const struct dim *dim_parse(struct dim_pool *p, const char *text, struct err *err);

const struct dim *dim_add(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_sub(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_mul(struct dim_pool *p, const struct dim *a, const struct dim *b);
/* The quotient is truncated. dim_div() divides the terms of `a` that are multiples of `b`:
 * (2*D + E)/2 is D + E/2. It splits a number in `a`: (D + 5)/2 is (D + 1)/2 + 2. If the rest would
 * have a negative term, the result is a/b as one factor. */
const struct dim *dim_div(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_mod(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_min(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_max(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_product(struct dim_pool *p, const struct dim *const *d, size_t n);

bool dim_is(const struct dim *d, int64_t v); /* is d the number v? */
/* Are a and b equal after each defined name is replaced by its definition? */
bool dim_same(const struct dim *a, const struct dim *b);
/* values[i] is the value of name number i. False on overflow or a division by zero. */
bool dim_eval(const struct dim *d, const int64_t *values, int64_t *out);
bool dim_uses(const struct dim *d, size_t i);

#endif
