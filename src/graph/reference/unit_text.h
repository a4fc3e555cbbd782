/*
 * unit_text.h - writes the C text of a phase's body: statements, loops and index arithmetic. One
 * run of the body computes one unit (emit.h).
 *
 * The text is a tree of scopes: the body, and a scope for each loop or condition inside it. A
 * statement goes to the outermost scope that has everything it depends on. So an expression that
 * does not change in a loop is computed before the loop, and the same index or element is computed
 * once. At the end, a statement is dropped if no other statement reads the variable that it sets.
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

/* An integer in the unit's text: a name, a number, or an expression in parentheses. `depth` is the
 * depth of the outermost scope in which it is known; 0 is the body. */
struct index {
    const char *text;
    unsigned depth;
};

/* A double in the unit's text, and its magnitude or variance (emit.h). */
struct term {
    const char *v, *m;
    unsigned depth;
    /* In a SIGMA reference, the one-sided error of a sum of products (emit.h); else NULL. */
    const char *bias;
};

struct scope;

struct unit_text {
    struct arena *arena;
    const struct graph *graph; /* says whether a name in a size is an axis or a scalar */
    struct scope *body, *at;   /* the outermost scope, and the current one */
    unsigned names;            /* how many variables have been given a name */
    /* `real` is the C type of the variables of unit_let() and unit_var(), `whole` that of indices.
     * If `real` is "float", numbers and casts in statements become float too. */
    const char *real, *whole;
    /* Only for kernels. If place_at() computed the indices along neighbouring axes from one
     * row-major number, place_number() uses that number again, and not the single indices. So a
     * loop over these axes needs no divisions. */
    bool joins;
    const struct coordinate *coordinates; /* the indices that place_at() computed, newest first */
};

void unit_init(struct unit_text *u, struct arena *a, const struct graph *g);
void unit_release(struct unit_text *u);
/* Writes the statements that are not dropped, indented by one level. */
void unit_write(struct unit_text *u, struct strbuf *out);

/* ---- indices --------------------------------------------------------------------------------- */

/* Returns the number of the unit. */
struct index unit_index(void);
struct index index_number(struct unit_text *u, int64_t v);
struct index index_dim(struct unit_text *u, const struct dim *d);
struct index index_add(struct unit_text *u, struct index a, struct index b);
struct index index_sub(struct unit_text *u, struct index a, struct index b);
struct index index_mul(struct unit_text *u, struct index a, struct index b);
struct index index_div(struct unit_text *u, struct index a, struct index b);
struct index index_mod(struct unit_text *u, struct index a, struct index b);
/* Makes an index of any other C expression. `depth` is the depth of the outermost scope in which
 * everything in the expression is known. */
struct index index_text(struct unit_text *u, unsigned depth, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A size as a C expression, with AX() around axes and SC() around scalars. The expression needs no
 * further parentheses. */
const char *dim_in_c(struct unit_text *u, const struct dim *d);

/* ---- statements ------------------------------------------------------------------------------ */

unsigned scope_depth(const struct scope *s);
/* Sets the current scope for a statement that reads memory. It becomes the enclosing scope of the
 * given depth. But if a condition lies deeper, it becomes the scope of the innermost condition,
 * because a read inside a condition must stay there. Returns the previous scope; the caller puts it
 * back into u->at. */
struct scope *unit_enter(struct unit_text *u, unsigned depth);

/* Writes "const double NAME = ..." in the current scope; returns NAME. */
const char *unit_let(struct unit_text *u, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes "double NAME = ..." for a variable that unit_set() changes; returns NAME. */
const char *unit_var(struct unit_text *u, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes a statement that changes a variable: `name` and then the text, which begins with an
 * operator such as "+=". The statement is dropped if no later statement reads the variable. */
void unit_set(struct unit_text *u, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes a statement that is never dropped. */
void unit_do(struct unit_text *u, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Opens the loop "for (i = first; i < end; i++)" and sets *out to i. Returns the scope to pass to
 * unit_close(). unit_loop_by() adds `step` instead of 1. */
struct scope *unit_loop(struct unit_text *u, struct index first, struct index end,
                        struct index *out);
struct scope *unit_loop_by(struct unit_text *u, struct index first, struct index end,
                           const char *step, struct index *out);
/* Asks the compiler to unroll the loop that was opened last, unless it contains another loop. */
void unit_unroll(struct unit_text *u);
/* Opens the loop "for (name = 0; name < n; name++)". The name is fixed, because macros of the
 * reference use it. */
struct scope *unit_loop_named(struct unit_text *u, const char *name, int n);
/* Opens "if (condition)". A statement in it that reads memory stays in it. */
struct scope *unit_if(struct unit_text *u, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void unit_close(struct unit_text *u, struct scope *was);

/* unit_recall() finds the term that unit_remember() noted under `key`. It returns false if there is
 * none, or if the term is not in scope here. */
bool unit_recall(const struct unit_text *u, const char *key, struct term *out);
void unit_remember(struct unit_text *u, struct scope *s, const char *key, struct term t);

/* ---- places ---------------------------------------------------------------------------------- */

/* Where an element is in a tensor: its row-major number (`linear`), its index along each axis
 * (`at`), or both. */
struct place {
    uint32_t rank;
    const struct dim *shape[GRAPH_MAX_RANK];
    bool has_linear, has_at[GRAPH_MAX_RANK];
    struct index linear, at[GRAPH_MAX_RANK];
};

struct place place_linear(uint32_t rank, const struct dim *const *shape, struct index linear);
struct place place_empty(uint32_t rank, const struct dim *const *shape); /* no index is set yet */
/* Sets the index along one axis. place_at() returns the index along one axis, and place_number()
 * the row-major number; both compute it if it is not set. */
void place_set(struct place *p, uint32_t axis, struct index at);
struct index place_at(struct unit_text *u, struct place *p, uint32_t axis);
struct index place_number(struct unit_text *u, struct place *p);

#endif
