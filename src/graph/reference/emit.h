/*
 * emit.h - elements of a lowered graph (lower.h) as statements of a unit (unit_text.h).
 *
 * emit_value() writes what computes one element of a value, down to inputs and to values that are
 * stored in scratch by an earlier phase. Which ones are stored, reference.c decides (struct store).
 *
 * Names in the text: VAL3(i), MAG3(i) are element i of stored value 3 and its magnitude; PART3(i),
 * PMAG3(i) the same of the partial results of a reduction in two steps. reference.c defines them.
 *
 * Magnitudes (how large the terms were that an element was added up from):
 *   inputs, numbers        |value|
 *   a + b, a - b           mag(a) + mag(b)
 *   a * b                  mag(a) * mag(b)
 *   a / b                  mag(a) / |b|
 *   a^2, |p| >= 1: a^p     |f| + |p * f / a| * (mag(a) - |a|)
 *   maximum, where, amax   that of the element chosen
 *   sum, scan, mean        sum of the magnitudes
 *   products, attention    sum of |a * b| over the values: operands count as if they were stored
 *   gelu                   mag(a), since 1 + tanh cancels
 *   bounded slope s        |f| + s * (mag(a) - |a|): sigmoid, silu, tanh, relu, clamp, sin, ...
 *   other functions        |f|
 */
#ifndef GRAPH_REFERENCE_EMIT_H
#define GRAPH_REFERENCE_EMIT_H

#include "graph/reference/unit_text.h"

#define EMIT_CHUNK 4096 /* elements that one unit of a reduction in two steps adds up */

struct store {
    bool is_stored; /* VAL, MAG */
    bool in_parts;  /* PART, PMAG: a reduction in two steps */
    bool needs_mag, part_needs_mag;
    bool is_exact; /* its magnitude is |value| */
};

struct emit {
    struct unit_text u;
    struct graph *g;
    const struct store *store; /* one per value */
};

/* The element of v there. A stored value is read back. */
struct term emit_value(struct emit *e, const struct value *v, struct place *p);
/* The same; v itself is computed, stored or not. */
struct term emit_computed(struct emit *e, const struct value *v, struct place *p);

/* ---- elementwise operations (emit_element.c) ------------------------------------------------- */

struct term emit_elementwise(struct emit *e, const struct value *v, const struct term *args,
                             unsigned depth);
bool term_is_exact(const struct term *t); /* its magnitude is |value| */
/* The same of a value; the operands' entries are set. */
bool value_is_exact(const struct value *v, const struct store *store);
/* A term whose magnitude is |value|. */
struct term term_of(struct emit *e, const char *v, unsigned depth);
const char *number_in_c(struct arena *a, double v);
/* "hone_int32(...)" around an expression of type uint64_t, for integer dtypes. */
const char *wrapped(struct emit *e, enum dtype t, const char *text);

/* ---- reductions and products (emit_reduce.c) ------------------------------------------------- */

struct term emit_reduction(struct emit *e, const struct value *v, struct place *p);
/* The body of the unit that makes partial result number `unit`. */
void emit_part(struct emit *e, const struct value *v, bool with_mag);
/* How many elements a reduction in two steps makes one of, and in how many parts. */
const struct dim *emit_reduced(struct emit *e, const struct value *v);
const struct dim *emit_parts(struct emit *e, const struct value *v);
struct term emit_conv(struct emit *e, const struct value *v, struct place *p);
struct term emit_cross_entropy(struct emit *e, const struct value *v, struct place *p);
struct term emit_embedding_bag(struct emit *e, const struct value *v, struct place *p);

/* ---- values that a unit makes a line of (emit_line.c) ---------------------------------------- */

/* Scans, attention, index_add: one unit makes several elements, VAL and MAG of v. */
bool op_makes_lines(enum graph_op op);
/* How many units there are. */
const struct dim *emit_lines(struct emit *e, const struct value *v);
void emit_line(struct emit *e, const struct value *v, bool with_mag);

/* ---- helpers --------------------------------------------------------------------------------- */

/* The place in an operand that broadcasts to v; axes count from the last. */
struct place place_broadcast(struct emit *e, struct place *p, const struct value *operand);
/* An index from a tensor, made safe for n elements: the scratch may hold anything. */
struct index emit_at(struct emit *e, struct term t, const struct dim *n);

#endif
