/*
 * unit_text.h - writes the C text of a unit, one run of a phase's body (emit.h): statements, loops
 * and index arithmetic.
 *
 * The body is a scope, and so is each loop or condition in it. An index is computed in the
 * outermost scope that has everything on which it depends. So a loop does not compute an index
 * again that does not change in it. At the end, unit_write() drops statements whose result nothing
 * reads.
 *
 *     struct unit_text u;
 *     unit_init(&u, &arena, &graph);
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
    const struct spread
        *spread; /* what else is known of the index while a vector is written (vector.h), or NULL */
};

/* A double in the text, and its magnitude or variance (emit.h). */
struct term {
    const char *v, *m;
    unsigned depth;
    const char *bias; /* the one-sided error in a SIGMA reference, or NULL */
};

struct scope;

struct unit_text {
    struct arena *arena;
    const struct graph *graph;
    struct scope *body, *at;
    unsigned names;
    /* The C types of the text: `real` of floating-point values, `whole` of indices. If `real` is
     * "float", constants and casts become float too. */
    const char *real, *whole;
    /* Only for kernels: place_number() saves divisions. It reuses the number from which place_at()
     * computed several indices. */
    bool joins;
    const struct coordinate *coordinates; /* newest first */
    struct vector *vector;                /* the vector that is written (vector.h), or NULL */
};

void unit_init(struct unit_text *u, struct arena *a, const struct graph *g);
void unit_release(struct unit_text *u);
void unit_write(struct unit_text *u, struct strbuf *out);

/* ---- indices (place.h has arithmetic) ---------------------------------------------------------
 */

/* Returns an index with the value of the text, and declares a variable for it if there is none yet.
 * `depth` is that of the outermost scope that knows every name in the text. */
struct index index_text(struct unit_text *u, unsigned depth, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns an expression with AX() around axes and SC() around scalars, in parentheses if it needs
 * them. */
const char *dim_in_c(struct unit_text *u, const struct dim *d);

/* ---- statements ------------------------------------------------------------------------------ */

unsigned scope_depth(const struct scope *s);
/* Makes the enclosing scope of this depth the current one, for a read of memory. But stays inside
 * conditions, because they guard the read. Returns the previous scope; the caller restores
 * u->at. */
struct scope *unit_enter(struct unit_text *u, unsigned depth);

/* Writes "const double NAME = ..." and returns NAME. */
const char *unit_let(struct unit_text *u, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes "double NAME = ..." and returns NAME. unit_set() changes the variable. */
const char *unit_var(struct unit_text *u, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes "TYPE NAME = ..." and returns NAME. */
const char *unit_object(struct unit_text *u, const char *type, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes a statement of `name` and a text such as "+= v4". unit_write() drops the statement if
 * nothing reads the variable later. */
void unit_set(struct unit_text *u, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes a statement that is never dropped. */
void unit_do(struct unit_text *u, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Opens "for (i = first; i < end; i++)" and sets *out to i. Returns the scope for unit_close().
 * unit_loop_by() adds `step` instead of 1. */
struct scope *unit_loop(struct unit_text *u, struct index first, struct index end,
                        struct index *out);
struct scope *unit_loop_by(struct unit_text *u, struct index first, struct index end,
                           const char *step, struct index *out);
/* Asks the compiler to unroll the current loop `times` times, unless it contains another loop. */
void unit_unroll(struct unit_text *u, unsigned times);
/* Opens a loop in which the variable `name` counts from 0 to n - 1. Macros of the reference can use
 * this name. Returns the scope for unit_close(). */
struct scope *unit_loop_named(struct unit_text *u, const char *name, int n);
struct scope *unit_if(struct unit_text *u, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void unit_close(struct unit_text *u, struct scope *was);

/* Sets *out to the term that unit_remember() noted under `key` in the current scope or in one
 * around it. Returns false if there is none. */
bool unit_recall(const struct unit_text *u, const char *key, struct term *out);
void unit_remember(struct unit_text *u, struct scope *s, const char *key, struct term t);

#endif
