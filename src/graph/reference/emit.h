/*
 * emit.h - writes elements of a lowered graph (lower.h) as statements of a unit (unit_text.h).
 *
 * emit_value() writes the statements that compute one element of a value, from inputs and from
 * values that an earlier phase has stored in scratch. stores.c decides which values are stored
 * (struct store).
 *
 * Names in the text: VAL3(i) is element i of stored value 3, and MAG3(i) its magnitude. PART3(i)
 * and PMAG3(i) are the same for the partial results of a reduction in two steps. reference.c
 * defines these macros.
 *
 * The magnitude of an element says how large the terms were that the element was added up from:
 *   inputs, numbers        |value|
 *   a + b, a - b           mag(a) + mag(b)
 *   a * b                  mag(a) * mag(b)
 *   a / b                  mag(a) / |b|
 *   a^2, |p| >= 1: a^p     |f| + |p * f / a| * (mag(a) - |a|)
 *   maximum, where, amax   the magnitude of the element chosen
 *   sum, scan, mean        sum of the magnitudes
 *   products, attention    sum of |a * b|; the magnitudes of the operands do not count
 *   gelu                   mag(a), since 1 + tanh cancels
 *   slope at most s        |f| + s * (mag(a) - |a|): sigmoid, silu, tanh, relu, clamp, sin, ...
 *   other functions        |f|
 */
#ifndef GRAPH_REFERENCE_EMIT_H
#define GRAPH_REFERENCE_EMIT_H

#include "graph/reference/unit_text.h"

#define EMIT_CHUNK 4096 /* elements that one unit of a reduction in two steps adds up */

struct store {
    bool is_stored; /* the value is in scratch, as VAL and MAG */
    bool in_parts;  /* a reduction in two steps; its partial results are PART and PMAG */
    bool needs_mag, part_needs_mag;
    bool is_exact; /* its magnitude is |value| */
};

struct emit {
    struct unit_text u;
    struct graph *g;
    const struct store *store; /* one per value */
};

/* Writes the element of v at place p. A stored value is read from scratch. */
struct term emit_value(struct emit *e, const struct value *v, struct place *p);
/* The same, but computes v even if it is stored. */
struct term emit_computed(struct emit *e, const struct value *v, struct place *p);

/* ---- elementwise operations (emit_element.c) ------------------------------------------------- */

struct term emit_elementwise(struct emit *e, const struct value *v, const struct term *args,
                             unsigned depth);
bool term_is_exact(const struct term *t); /* its magnitude is |value| */
/* Whether the magnitude of every element of v is |value|. The entries of its operands in `store`
 * must be set already. */
bool value_is_exact(const struct value *v, const struct store *store);
/* A term whose magnitude is |value|. */
struct term term_of(struct emit *e, const char *v, unsigned depth);
const char *number_in_c(struct arena *a, double v);
/* For integer dtypes, puts "hone_int32(...)" or the like around an expression of type uint64_t, so
 * that it wraps around. */
const char *wrapped(struct emit *e, enum dtype t, const char *text);

/* ---- reductions and products (emit_reduce.c) ------------------------------------------------- */

struct term emit_reduction(struct emit *e, const struct value *v, struct place *p);
/* The body of the unit that makes partial result number `unit`. */
void emit_part(struct emit *e, const struct value *v, bool with_mag);
/* How many elements a reduction combines into one. emit_parts() says into how many parts they are
 * split. */
const struct dim *emit_reduced(struct emit *e, const struct value *v);
const struct dim *emit_parts(struct emit *e, const struct value *v);
struct term emit_conv(struct emit *e, const struct value *v, struct place *p);
struct term emit_cross_entropy(struct emit *e, const struct value *v, struct place *p);
struct term emit_embedding_bag(struct emit *e, const struct value *v, struct place *p);

/* ---- values of which one unit makes a whole line (emit_line.c) ------------------------------- */

/* True for scans, attention and index_add, where one unit computes several elements of v. */
bool op_makes_lines(enum graph_op op);
/* How many units compute v. */
const struct dim *emit_lines(struct emit *e, const struct value *v);
void emit_line(struct emit *e, const struct value *v, bool with_mag);

/* ---- helpers --------------------------------------------------------------------------------- */

/* The place in an operand that broadcasts to v; axes count from the last. */
struct place place_broadcast(struct emit *e, struct place *p, const struct value *operand);
/* An index that was read from a tensor, clamped to n elements, because the tensor may hold any
 * number. */
struct index emit_at(struct emit *e, struct term t, const struct dim *n);

#endif
