/*
 * emit.h - writes elements of a lowered graph (lower.h) as statements of a unit (unit_text.h).
 * reference.h explains phases, units and scratch memory.
 *
 * The text accesses scratch memory with macros. For element i of value 3, these are:
 *   VAL3(i)       the element
 *   MAG3(i)       its magnitude; in a SIGMA reference the variance of its rounding error
 *   BIAS3(i)      its one-sided error
 *   OWN3(i)       its variance without shared errors (struct shared_error)
 *   OFF0_3(i)     the element if source 0 of shared errors is off by 4 standard deviations (sigma)
 *   PART3(i), PMAG3(i), PBIAS3(i)   like VAL3, MAG3 and BIAS3, for partial result i of a reduction
 *
 * The magnitude of an element tells how large the terms of its sum are (docs/graph-reference.md).
 * One-sided errors have the same sign in many elements, for example because a tensor core cuts off
 * low bits. So a mean does not reduce them.
 *
 * A term's member `m` is its magnitude in a MAGNITUDE reference, its variance in a SIGMA reference,
 * and unused in a NOISY reference (reference_mode.h).
 */
#ifndef GRAPH_REFERENCE_EMIT_H
#define GRAPH_REFERENCE_EMIT_H

#include "graph/reference/place.h"
#include "graph/reference/reference_mode.h"

#define TERM_NO_ERROR "0.0" /* `m` of a term without error, in SIGMA and NOISY references */
#define EMIT_CHUNK 4096     /* elements of a partial result */

/* Which numbers of one value are stored in scratch memory, or in the workspaces of a kernel. */
struct store {
    bool is_stored;                 /* VAL is stored */
    bool in_parts;                  /* PART is stored: this is a reduction in two steps */
    bool needs_mag, part_needs_mag; /* MAG is stored; PMAG is stored */
    /* Only for kernels: the array has the value's own dtype, a 16-bit float. PyTorch rounds the
     * value to this dtype, too. Other 16-bit floats are stored as float32. */
    bool is_narrow;
    bool is_exact; /* magnitudes are |value|; in SIGMA and NOISY references: no rounding error */
    /* Only for kernels: the mean of some x, if this value is the sum of the squares of x - mean. */
    const struct value *centre;
    bool part_with_squares; /* only for kernels: this is the sum in the `centre` of another value */
    /* The sources of shared errors. If not NULL, OWN and OFF are stored. */
    const struct shared_error *offs;
    /* For a sum of products, or elementwise work on one: the axis along which the weight's columns
     * differ. Errors are one-sided along the other axes. -1 without one-sided errors. */
    int bias_axis;
    bool needs_bias, part_needs_bias; /* BIAS is stored; PBIAS is stored */
    bool is_limited; /* the drawn errors of a stored copy (drawn.h) limit the variance */
};

/* Errors that many terms of a sum share. Their source is an operand that is broadcast, such as the
 * mean of a row, or a value with one-sided errors. While emit.shared is set, emit_value() computes
 * the values on `path` with exact sources, or with one source off by 4 sigma. Beyond EMIT_SOURCES
 * sources, errors count as independent. */
#define EMIT_SOURCES 4
struct shared_error {
    const struct value *source[EMIT_SOURCES];
    struct index at[EMIT_SOURCES]; /* where the term written last reads the source */
    bool biased[EMIT_SOURCES];     /* the source has one-sided errors */
    uint32_t n;
    unsigned number;     /* differs between sums with different sources */
    int off;             /* the source that is off by 4 sigma, or -1 */
    const uint8_t *path; /* per value: is it a source, or between a source and the sum? */
};

/* Marks of values that drawn_plan() adds (drawn.h). */
enum {
    DRAWN_COPY = 1,    /* a copy of another value */
    DRAWN_ROUNDED = 2, /* an operand, rounded at random to TF32 */
};

struct emit {
    struct unit_text u;
    struct graph *g;
    struct reference_mode mode;
    const struct store *store;          /* per value */
    const uint8_t *notes;               /* per value: a set of enum lowered_note (lower.h) */
    struct shared_error *shared;        /* shared errors of the sum being written, or NULL */
    unsigned sums;                      /* how many sums with shared errors we have written */
    bool only_own;                      /* only elementwise operations of this unit add variance */
    const uint8_t *drawn;               /* per value: a set of DRAWN_COPY and DRAWN_ROUNDED */
    const struct value **drawn_outputs; /* per output: its copy with drawn errors, or NULL */
    const struct value **drawn_copies;  /* the same per value */
    /* Per value: the largest number of products with rounded operands on a path from an input. */
    const uint32_t *drawn_depth;
    /* While the loop over drawn samples is written, its depth; else 0. Statements must stay inside
     * that loop. */
    unsigned least_depth;
    /* Only for kernels: */
    const bool *keep; /* per value: must it be stored in any case? May be NULL. */
    int64_t repeat;   /* in place of STORES_REPEAT (stores.h), if not 0 */
    struct {
        const struct value *v; /* a value whose element is in the variable `text`, or NULL */
        const char *text;
    } known[2];
    bool in_lanes;     /* the threads of a group (the lanes) may share the loop of a reduction */
    const char *guard; /* written before a store to memory: "if (writes) " or "" */
};

/* Writes statements that compute the element of v at p, or that read it from scratch memory.
 * Returns a term for the element. */
struct term emit_value(struct emit *e, const struct value *v, struct place *p);
/* Does the same for a DRAWN_ROUNDED value. */
struct term emit_drawn(struct emit *e, const struct value *v, struct place *p);
/* Sets e->shared to `s`, the shared errors in the terms of the sum v, or to NULL if there are none.
 * Returns the old e->shared; the caller restores it. */
struct shared_error *shared_begin(struct emit *e, const struct value *v, struct shared_error *s);
/* Sets *s to the shared errors in terms that read v. With `biased`, values with one-sided errors
 * are sources too. Allocates s->path from `a`. */
void shared_of_value(struct emit *e, const struct value *v, bool biased, struct arena *a,
                     struct shared_error *s);
/* Sets *s: its sources are the values with one-sided errors from which v is computed. */
void shared_bias(struct emit *e, const struct value *v, struct shared_error *s);
/* Does the same as emit_value(), but computes the element even if v is stored. */
struct term emit_computed(struct emit *e, const struct value *v, struct place *p);

/* Only while a vector is written (vector.h): computes the elements of v at `places`, which has one
 * place for each element of the vector. emit_value() then finds the results. With `own`, computes
 * only what the elements need: emit_computed() computes the elements themselves. */
void emit_vector(struct emit *e, const struct value *v, struct place *places, bool own);

/* ---- elementwise operations (emit_element.c) ------------------------------------------------- */

struct term emit_elementwise(struct emit *e, const struct value *v, const struct term *args,
                             struct index i, unsigned depth);
const char *element_text(struct emit *e, const struct value *v, const struct term *args);
/* Is the term's magnitude |value|? */
bool term_is_exact(const struct term *t);
/* `store` must be set for v's operands. */
bool value_is_exact(const struct value *v, const struct store *store);
/* Returns a term for the expression `v`, with the magnitude |v| or without error. */
struct term term_of(struct emit *e, const char *v, unsigned depth);
const char *number_in_c(struct arena *a, double v);
/* Returns a uint64_t expression inside a call such as "hone_int32(...)". */
const char *wrapped(struct emit *e, enum dtype t, const char *text);

/* ---- rounding errors (emit_error.c) ---------------------------------------------------------- */

struct term emit_with_error(struct emit *e, const struct value *v, const struct term *args,
                            struct index i, unsigned depth);
/* For operations that are not elementwise: rounds t to v's dtype, if that is narrower than
 * float32. */
struct term emit_rounded(struct emit *e, const struct value *v, struct term t, struct index i);
/* Rounds t, an element of v, if the output's dtype `to` is narrower than that of v. */
struct term emit_output(struct emit *e, const struct value *v, enum dtype to, struct term t);
/* Does the work of value_is_exact() for a SIGMA or NOISY reference. */
bool value_has_no_error(const struct emit *e, const struct value *v, const struct store *store);
/* Returns the variance of rounding a partial sum, divided by the square of the sum. */
double chain_rounding(const struct value *v);
/* Returns the least variance of a rounding to t: that of half a step between subnormal numbers. It
 * is larger for float32 and bfloat16, because arithmetic may flush their subnormal numbers to zero,
 * and 0 for float64. */
double least_error(enum dtype t);
/* Returns the variance of rounding an operand of v to TF32, divided by the square of the operand.
 * Returns 0 if v is not computed in TF32. */
double tf32_rounding(const struct emit *e, const struct value *v);
/* Returns an expression for the variance of a * b. `tf32` comes from tf32_rounding(). */
const char *product_variance(struct emit *e, struct term a, struct term b, double tf32);
/* Returns text that adds to `text` an error, uniform between -spread and +spread, and then rounds
 * to t, up or down at random. `key` is the text of the random bits. */
const char *noisy_text(struct emit *e, const char *text, const char *spread, enum dtype t,
                       const char *key);
/* Returns an expression of 64 random bits for element i of v. */
const char *noise_key(struct emit *e, const struct value *v, struct index i);

/* ---- kernels --------------------------------------------------------------------------------- */

/* Returns the type in which a kernel computes v: "float" or "double". A bool is 0 or 1. */
const char *kernel_type(const struct value *v);
/* Returns the bytes of an element of the stored value v. */
int64_t kernel_bytes(const struct emit *e, const struct value *v);
/* Writes a statement that stores `text` as the element of v with the number `unit`. */
void emit_kept(struct emit *e, const struct value *v, const char *text);

/* ---- reductions and products (emit_reduce.c) ------------------------------------------------- */

struct term emit_reduction(struct emit *e, const struct value *v, struct place *p);
/* v is an argmax or argmin that the output `name` holds. Returns the candidate's index if its
 * element is the best within rounding errors, else the index of the best element. Only for a SIGMA
 * reference. */
const char *emit_chosen_index(struct emit *e, const struct value *v, const char *name);
/* Writes the body of the phase that makes the partial results of v. */
void emit_part(struct emit *e, const struct value *v, bool with_mag, bool with_bias);
/* Returns how many elements one element of v combines. */
const struct dim *emit_reduced(struct emit *e, const struct value *v);
/* Returns how many partial results one element of v combines. */
const struct dim *emit_parts(struct emit *e, const struct value *v);
struct term emit_conv(struct emit *e, const struct value *v, struct place *p);
struct term emit_conv_transpose(struct emit *e, const struct value *v, struct place *p);
struct term emit_embedding_bag(struct emit *e, const struct value *v, struct place *p);

/* ---- values of which one unit makes a whole line (emit_line.c, line.h) ---------------------- */

void emit_line(struct emit *e, const struct value *v, bool with_mag);

/* ---- helpers --------------------------------------------------------------------------------- */

/* `operand` is broadcast to a value. Returns the place in `operand` to read for place p of that
 * value. */
struct place place_broadcast(struct emit *e, struct place *p, const struct value *operand);
/* Makes an index of n elements from t. A negative index counts from the end. An index out of range
 * becomes 0. */
struct index emit_at(struct emit *e, struct term t, const struct dim *n);

#endif
