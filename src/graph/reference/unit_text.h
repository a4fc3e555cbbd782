/*
 * unit_text.h - writes the C text of a unit, one run of a phase's body (emit.h): statements, loops
 * and index arithmetic.
 *
 * The body is a scope, and so is each loop or condition in it. A statement goes to the outermost
 * scope that has everything it depends on. So it leaves loops in which it does not change. At the
 * end, statements are dropped if nothing reads the variable that they set.
 *
 *     struct unit_text u;
 *     unit_init(&u, &arena, &graph);
 *     struct index row = index_div(&u, unit_index(), columns);
 *     struct scope *was = unit_loop(&u, index_number(&u, 0), columns, &j);
 *     ...
 *     unit_close(&u, was);
 *     unit_write(&u, out);
 */
#ifndef GRAPH_REFERENCE_UNIT_TEXT_H
#define GRAPH_REFERENCE_UNIT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "graph/graph.h"

/* An integer in the text: a name, a number, or an expression in parentheses. `depth` is that of the
 * outermost scope that knows it; 0 is the body. */
struct index {
    const char *text;
    unsigned depth;
};

/* A double in the text, and its magnitude or variance (emit.h). */
struct term {
    const char *v, *m;
    unsigned depth;
    const char *bias; /* the one-sided error of a sum of products in a SIGMA reference, or NULL */
};

struct scope;

struct unit_text {
    struct arena *arena;
    const struct graph *graph; /* tells axes from scalars in sizes */
    struct scope *body, *at;   /* the outermost scope, and the current one */
    unsigned names;            /* variables named so far */
    /* The C types of unit_let() and unit_var(), and of indices. If `real` is "float", numbers and
     * casts become float too. */
    const char *real, *whole;
    /* Only for kernels. place_number() reuses the number from which place_at() computed several
     * indices. This saves divisions. */
    bool joins;
    const struct coordinate *coordinates; /* the indices that place_at() computed, newest first */
};

void unit_init(struct unit_text *u, struct arena *a, const struct graph *g);
void unit_release(struct unit_text *u);
void unit_write(struct unit_text *u, struct strbuf *out);

/* ---- indices --------------------------------------------------------------------------------- */

struct index unit_index(void);
struct index index_number(struct unit_text *u, int64_t v);
struct index index_dim(struct unit_text *u, const struct dim *d);
struct index index_add(struct unit_text *u, struct index a, struct index b);
struct index index_sub(struct unit_text *u, struct index a, struct index b);
struct index index_mul(struct unit_text *u, struct index a, struct index b);
struct index index_div(struct unit_text *u, struct index a, struct index b);
struct index index_mod(struct unit_text *u, struct index a, struct index b);
/* Makes an index of any C expression. `depth` is that of the outermost scope that knows everything
 * in it. */
struct index index_text(struct unit_text *u, unsigned depth, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns a C expression that needs no more parentheses, with AX() around axes and SC() around
 * scalars. */
const char *dim_in_c(struct unit_text *u, const struct dim *d);

/* ---- statements ------------------------------------------------------------------------------ */

unsigned scope_depth(const struct scope *s);
/* Makes the enclosing scope of this depth the current one, for a statement that reads memory. Stops
 * at a condition, because the read must stay inside. Returns the previous scope; the caller
 * restores u->at. */
struct scope *unit_enter(struct unit_text *u, unsigned depth);

/* Writes "const double NAME = ..." in the current scope and returns NAME. */
const char *unit_let(struct unit_text *u, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Does the same for a variable that unit_set() changes. */
const char *unit_var(struct unit_text *u, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes `name` and the text, which begins with an operator such as "+=". The statement is dropped
 * if nothing reads the variable later. */
void unit_set(struct unit_text *u, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes a statement that is never dropped. */
void unit_do(struct unit_text *u, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Opens the loop "for (i = first; i < end; i++)" and sets *out to i. Returns the scope for
 * unit_close(). unit_loop_by() adds `step` instead of 1. */
struct scope *unit_loop(struct unit_text *u, struct index first, struct index end,
                        struct index *out);
struct scope *unit_loop_by(struct unit_text *u, struct index first, struct index end,
                           const char *step, struct index *out);
/* Asks the compiler to unroll the current loop, unless it contains another loop. */
void unit_unroll(struct unit_text *u);
/* Opens the loop "for (name = 0; name < n; name++)". Macros of the reference use the name. */
struct scope *unit_loop_named(struct unit_text *u, const char *name, int n);
struct scope *unit_if(struct unit_text *u, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void unit_close(struct unit_text *u, struct scope *was);

/* Finds the term that unit_remember() noted under `key`; false if there is none in scope. */
bool unit_recall(const struct unit_text *u, const char *key, struct term *out);
void unit_remember(struct unit_text *u, struct scope *s, const char *key, struct term t);

/* ---- places ---------------------------------------------------------------------------------- */

/* The place of an element in a tensor: its row-major number (`linear`), its index along each axis,
 * or both. */
struct place {
    uint32_t rank;
    const struct dim *shape[GRAPH_MAX_RANK];
    bool has_linear, has_at[GRAPH_MAX_RANK];
    struct index linear, at[GRAPH_MAX_RANK];
};

struct place place_linear(uint32_t rank, const struct dim *const *shape, struct index linear);
struct place place_empty(uint32_t rank, const struct dim *const *shape);
void place_set(struct place *p, uint32_t axis, struct index at);
/* place_at() and place_number() compute an index or number that is not set. */
struct index place_at(struct unit_text *u, struct place *p, uint32_t axis);
struct index place_number(struct unit_text *u, struct place *p);

#endif
