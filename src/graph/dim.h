/*
 * dim.h - sizes as expressions over a task's axes, in one canonical form.
 *
 *     struct dim_pool p;
 *     dim_pool_init(&p, &arena, names, n);              names of the axes and integer scalars
 *     const struct dim *d = dim_parse(&p, "2*D", err);  the expression language of base/expr.h
 *     dim_div(&p, d, dim_number(&p, 2)) == dim_parse(&p, "D", err)
 *
 * A size is a sum of products of axes with integer factors. Some operations, for example a
 * division, a remainder or a minimum, cannot be written as a sum. Such an operation is one factor
 * of a product. The pool keeps one struct dim for each size, so two sizes with the same canonical
 * form are the same pointer. The same pointer always means equal sizes. Different pointers do not
 * mean different sizes: "min(M,N)" and "M" are equal where M < N. Hone assumes that no size is
 * negative. So a division, which truncates as in C, always rounds down, and Hone may write
 * (H - 1)/2 + 1 as (H + 1)/2. A size whose form would take thousands of characters is equal only to
 * itself, and launch plans (plan/) cannot use its text.
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
    /* The expression that launch plans use for this size. If dim_parse() was the first to make this
     * size, `text` is what dim_parse() read. Otherwise, and for every number, `text` is the key. */
    const char *text;
    bool is_number;
    int64_t value;                /* only if is_number is true */
    const char *key;              /* the canonical form as text; sizes with equal keys are equal */
    const struct dim_term *terms; /* the n terms of the sum; only dim.c knows struct dim_term */
    size_t n;
    const struct dim *fixed; /* the size with defined names replaced; see dim_same() */
};

struct dim_pool {
    struct arena *arena;
    const char *const *names;
    size_t nnames;
    /* For each name the size that defines it (dim_define), or NULL if it has no definition. */
    const struct dim **values;
    VEC(struct dim *) all;
    bool too_long; /* some size is too long to have a text, so graph_verify() refuses the graph */
};

void dim_pool_init(struct dim_pool *p, struct arena *a, const char *const *names, size_t n);
void dim_pool_release(struct dim_pool *p);

/* Records that name number i equals the size d. The name is a constant axis, or an axis that a
 * constraint computes from other axes. Sizes keep the name in their form, but dim_same() uses the
 * definition. False if the name is defined already, or if d contains the name itself. */
bool dim_define(struct dim_pool *p, size_t i, const struct dim *d);
/* Defines the axis of a constraint "NAME == SIZE". False for a constraint of any other form, or if
 * dim_define() refuses the definition. */
bool dim_define_by(struct dim_pool *p, const char *constraint);

/* Uses a constraint "SIZE % NUMBER == 0". SIZE is a name, or a name plus a number. NUMBER is at
 * least 2. From then on dim_same() knows, for "C % 8 == 0", that 8*(C/8) is C. Returns false
 * for a constraint of any other form, or if the name is defined already. */
bool dim_divide_by(struct dim_pool *p, const char *constraint);
/* Copies the definitions of all names from `from`, a pool with the same names. */
void dim_take_values(struct dim_pool *to, const struct dim_pool *from);

const struct dim *dim_number(struct dim_pool *p, int64_t v);
const struct dim *dim_name(struct dim_pool *p, size_t i); /* name number i */
/* NULL with err set if the text is not an expression over the pool's names. */
const struct dim *dim_parse(struct dim_pool *p, const char *text, struct err *err);

const struct dim *dim_add(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_sub(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_mul(struct dim_pool *p, const struct dim *a, const struct dim *b);
/* Divides as base/expr.h does: the quotient is truncated. If `b` has one term, dim_div() divides
 * those terms of `a` that are multiples of `b`. Only the rest of `a` stays in a division. For
 * example, (2*D + 1)/2 is D + 1/2, and 1/2 is 0. If `b` is a number, a number in `a` is split into
 * quotient and remainder: (D + 5)/2 is (D + 1)/2 + 2. If the rest would have a negative term,
 * nothing is divided, and the result is a/b as one factor. */
const struct dim *dim_div(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_mod(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_min(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_max(struct dim_pool *p, const struct dim *a, const struct dim *b);
const struct dim *dim_product(struct dim_pool *p, const struct dim *const *d, size_t n);

bool dim_is(const struct dim *d, int64_t v); /* is d the number v? */
/* Are a and b the same size once each defined name (dim_define) is replaced by its definition? */
bool dim_same(const struct dim *a, const struct dim *b);
/* Computes the size; name number i has values[i]. False on overflow or a division by zero. */
bool dim_eval(const struct dim *d, const int64_t *values, int64_t *out);
/* Does the size mention name number i? */
bool dim_uses(const struct dim *d, size_t i);

#endif
