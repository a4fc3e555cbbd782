/*
 * dim.h - sizes as expressions over a task's axes, in one canonical form.
 *
 *     struct dim_pool p;
 *     dim_pool_init(&p, &arena, names, n);              names of the axes and integer scalars
 *     const struct dim *d = dim_parse(&p, "2*D", err);  the expression language of base/expr.h
 *     dim_div(&p, d, dim_number(&p, 2)) == dim_parse(&p, "D", err)
 *
 * A size is a sum of products of axes with integer factors. Any other operation, such as a
 * remainder, is one factor of a product. The same pointer means equal sizes. Sizes with
 * different pointers may be equal too: "min(M,N)" is "M" where M < N. No size is negative, so a
 * division rounds down. A size of thousands of characters is equal only to itself, and launch plans
 * cannot use it.
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
    /* For launch plans: if dim_parse() made this size, the text that it read, else the key. */
    const char *text;
    bool is_number;
    int64_t value;
    const char *key;              /* the canonical form as text */
    const struct dim_term *terms; /* the n terms of the sum (dim.c) */
    size_t n;
    const struct dim *fixed; /* this size with defined names replaced; see dim_same() */
};

struct dim_pool {
    struct arena *arena;
    const char *const *names;
    size_t nnames;
    const struct dim **values; /* definition of each name (dim_define), or NULL */
    VEC(struct dim *) all;
    bool too_long; /* some size is too long for launch plans */
};

void dim_pool_init(struct dim_pool *p, struct arena *a, const char *const *names, size_t n);
void dim_pool_release(struct dim_pool *p);

/* Records that name number i equals d. Sizes keep the name, but their member `fixed` has d instead.
 * Returns false if the name is defined already, or if d contains it. */
bool dim_define(struct dim_pool *p, size_t i, const struct dim *d);
/* Uses a constraint "NAME == SIZE". Returns false for other constraints, or if dim_define() returns
 * false. */
bool dim_define_by(struct dim_pool *p, const char *constraint);

/* Uses a constraint "SIZE % NUMBER == 0". SIZE is a name, or a name plus a number. NUMBER is a
 * number of at least 2, or a name defined as such a number. After "C % 8 == 0", dim_same() knows
 * that 8*(C/8) is C. Returns false for other constraints, or if the name is defined already. */
bool dim_divide_by(struct dim_pool *p, const char *constraint);
/* Copies the definitions of names. Both pools must have the same names. */
void dim_take_values(struct dim_pool *to, const struct dim_pool *from);

/* Returns false if the size is too long to write: then its text is a message. */
bool dim_has_text(const struct dim *d);
const struct dim *dim_number(struct dim_pool *p, int64_t v);
const struct dim *dim_name(struct dim_pool *p, size_t i);
/* Returns NULL if the text is no expression, or has a name that the pool does not have. */
const struct dim *dim_parse(struct dim_pool *p, const char *text, struct err *err);

const struct dim *dim_add(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_sub(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_mul(struct dim_pool *p, const struct dim *a, const struct dim *b);
/* Divides the terms of `a` that are multiples of `b`: (2*D + E)/2 is D + E/2. Splits a number in
 * `a`: (D + 5)/2 is (D + 1)/2 + 2. If the rest would have a negative term, the result is a/b as one
 * factor. */
const struct dim *dim_div(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_mod(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_min(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_max(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_product(struct dim_pool *p, const struct dim *const *d, size_t n);

bool dim_is(const struct dim *d, int64_t v);
/* Returns whether a and b are the same size, with each defined name replaced by its definition. */
bool dim_same(const struct dim *a, const struct dim *b);
/* values[i] is the value of name number i. Returns false on overflow or a division by zero. */
bool dim_eval(const struct dim *d, const int64_t *values, int64_t *out);
/* Whether name number i occurs in d. */
bool dim_uses(const struct dim *d, size_t i);

#endif
