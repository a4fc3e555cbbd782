/*
 * emit.h - writes elements of a lowered graph (lower.h) as statements of a unit (unit_text.h).
 *
 * A reference is C text that computes the right outputs of a task (reference.h). It has several
 * functions, its phases. A unit is what one run of a phase's body computes: one or more elements.
 * All units of a phase run before the next phase begins. Phases pass values on in scratch, an array
 * of doubles. emit_value() writes the statements that compute one element of a value, from inputs
 * and from values in scratch. stores.c decides which values are in scratch (struct store).
 *
 * Names in the text: VAL3(i) is element i of stored value 3, and MAG3(i) its magnitude. PART3(i)
 * and PMAG3(i) are the same for the partial results of a reduction in two steps. OWN3(i) is the
 * variance of the rounding error of element i of value 3, without the errors that this element
 * shares with other elements (struct shared_error). OFF0_3(i) is element i of value 3 as it would
 * be if the first source of shared errors were wrong by 4 standard deviations (4 sigma).
 * graph/reference/reference.c defines these macros.
 *
 * Errors are one-sided if many elements are off in the same direction. For example, a tensor core
 * cuts off the low bits of its sums. In a matrix product, all elements of a column use the same
 * column of the weight, so their errors can have the same direction. A mean over the rows keeps
 * such an error. BIAS3(i) is the one-sided error of element i of value 3. PBIAS3(i) is that of
 * partial result i.
 *
 * A reference is of one of three kinds (reference_mode.h). In a MAGNITUDE reference the member `m`
 * of a term is its magnitude. In a SIGMA reference `m` is the variance of its rounding error, and
 * MAG3(i) holds variances too. A NOISY reference has values only.
 *
 * The magnitude of an element says how large the terms were that the element was added up from. In
 * this table, a and b are operands, mag(a) is the magnitude of a, and f is the result:
 *   inputs, numbers        |value|
 *   a + b, a - b           mag(a) + mag(b)
 *   a * b                  mag(a) * mag(b)
 *   a / b                  mag(a) / |b|
 *   a^p, number p >= 1     |f| + |p * f / a| * (mag(a) - |a|)
 *   -a, |a|, remainder     mag(a)
 *   maximum, where, amax   the magnitude of the element chosen
 *   sum, cumsum            sum of the magnitudes
 *   prod, cumprod          product of the magnitudes
 *   products, attention    sum of |a * b|; the magnitudes of the operands do not count
 *   gelu                   mag(a), since 1 + erf cancels
 *   slope at most s        |f| + s * (mag(a) - |a|): sigmoid, silu, tanh, relu, clamp, sin, ...
 *   most other functions   |f|
 * emit_element.c has the rules of single operations, such as lerp and logaddexp.
 */
#ifndef GRAPH_REFERENCE_EMIT_H
#define GRAPH_REFERENCE_EMIT_H

#include "graph/reference/reference_mode.h"
#include "graph/reference/unit_text.h"

#define TERM_NO_ERROR "0.0" /* `m` of a term without error, in SIGMA and NOISY references */
#define EMIT_CHUNK 4096     /* elements that one unit of a reduction in two steps adds up */

/* How one value of the graph is kept in scratch. In a generated kernel, workspaces take the place
 * of scratch. */
struct store {
    bool is_stored;                 /* VAL is in scratch */
    bool in_parts;                  /* the value is a reduction in two steps; PART is in scratch */
    bool needs_mag, part_needs_mag; /* MAG is in scratch; PMAG is in scratch */
    /* In a MAGNITUDE reference, this says that the magnitude of every element is |value|. In a
     * SIGMA or NOISY reference, it says that the value has no rounding error. */
    bool is_exact;
    /* Only for kernels; usually NULL. If it is set, `centre` is the mean of some x. This value is
     * then the sum of the squares of x - centre, and it is added up in two steps. One launch makes
     * the partial results of this sum, and also of the sum of x that gives the mean. A partial
     * result of the squares uses the mean of its own elements as the centre. The second step
     * corrects this. */
    const struct value *centre;
    /* Only for kernels. This value is a sum of x, and the `centre` of another value comes from it.
     * The launch that makes the partial results of the other value also makes those of this sum. */
    bool part_with_squares;
    /* The sources of the value's shared errors (struct shared_error). If it is not NULL, scratch
     * also holds the value's variance without these errors (OWN). It then also holds what the value
     * would be if the first source, the second source, ... were wrong by 4 sigma (OFF0_, OFF1_,
     * ...). */
    const struct shared_error *offs;
    /* The value is a sum of products, or is computed element by element from such a sum. Then this
     * is the axis of the value along which the columns of the weight differ. Elements that differ
     * only in their place along other axes use the same column, so their errors are one-sided. It
     * is -1 if the value has no one-sided errors. */
    int bias_axis;
    bool needs_bias, part_needs_bias; /* BIAS is in scratch; PBIAS is in scratch */
    /* The value is a product deep in the network. The drawn errors of its copy, which is stored
     * too, limit its variance. */
    bool is_limited;
};

/* The sources of the errors that many terms of a sum share. A source is an operand that is
 * broadcast, such as the mean of a row, or a value with one-sided errors (`biased`). Shared errors
 * add up; the terms' own errors partly cancel. While the member `shared` of struct emit is set,
 * emit_value() treats the values on `path` in a special way. It computes them as if no source had
 * an error, or as if one source were wrong by 4 sigma (shared_error.c). A sum has at most
 * EMIT_SOURCES sources here. If there are more, the errors of the others count as independent. */
#define EMIT_SOURCES 4
struct shared_error {
    const struct value *source[EMIT_SOURCES];
    struct index at[EMIT_SOURCES]; /* where the term written most recently reads the source */
    bool biased[EMIT_SOURCES];     /* the errors of the source are one-sided */
    uint32_t n;                    /* how many sources there are */
    /* The number of the sum. It tells apart sums with different sources. */
    unsigned number;
    int off; /* which source is wrong by 4 sigma; -1 if none is */
    /* One entry per value: true if the value is a source, or lies between a source and the sum. */
    const uint8_t *path;
};

/* Marks of the values that drawn_plan() adds to the graph (drawn.h). */
enum {
    /* The value is a copy of another. A unit computes one element of it once for each sample. */
    DRAWN_COPY = 1,
    DRAWN_ROUNDED = 2, /* the value is its operand, rounded at random to TF32 */
};

struct emit {
    struct unit_text u;
    struct graph *g;
    struct reference_mode mode;
    const struct store *store;   /* one entry per value */
    const uint8_t *notes;        /* one entry per value: a set of enum lowered_note (lower.h) */
    struct shared_error *shared; /* see struct shared_error; NULL if it is not in use */
    unsigned sums;               /* how many sums with shared errors were written so far */
    /* While it is true, a term's variance counts only the roundings that elementwise operations of
     * this unit make. Values in scratch, sums and products count as exact. */
    bool only_own;
    const uint8_t *drawn; /* one entry per value: a set of DRAWN_COPY and DRAWN_ROUNDED */
    /* One entry per output: its copy with drawn errors, or NULL if it has none. */
    const struct value **drawn_outputs;
    /* The same with one entry per value. */
    const struct value **drawn_copies;
    /* One entry per value: the largest number of products with rounded operands on a path from an
     * input to the value. */
    const uint32_t *drawn_depth;
    /* While we write the loop over the samples of drawn errors, this is the depth of the loop.
     * Every statement must then stay inside the loop. Otherwise least_depth is 0. */
    unsigned least_depth;
    /* The following members are only for kernels. `keep` has one entry per value: true if the value
     * must be stored in any case. NULL if there is no such value. */
    const bool *keep;
    /* A value that this unit has already computed, and the name of the variable that holds it.
     * Every read of the value in this unit reads the same element. */
    const struct value *known;
    const char *known_text;
    bool in_lanes;     /* the threads of a group (the lanes) may share the loop of a reduction */
    const char *guard; /* the text before a store to memory: "if (writes) " or "" */
};

/* Writes the statements that compute the element of v at place p, and returns the element as a
 * term. If v is stored, the statements read it from scratch. */
struct term emit_value(struct emit *e, const struct value *v, struct place *p);
/* Like emit_value(), for a DRAWN_ROUNDED value. */
struct term emit_drawn(struct emit *e, const struct value *v, struct place *p);
/* Finds the shared errors in the terms of the sum v and writes them to `s`. Sets e->shared to `s`,
 * or to NULL if there are none. Returns the old e->shared, which the caller puts back
 * afterwards. */
struct shared_error *shared_begin(struct emit *e, const struct value *v, struct shared_error *s);
/* Finds the shared errors in terms that read the value v. If `biased` is true, values with
 * one-sided errors are sources too. s->path is allocated from `a`. Leaves e->shared as it is. */
void shared_of_value(struct emit *e, const struct value *v, bool biased, struct arena *a,
                     struct shared_error *s);
/* Finds the values with one-sided errors from which v is computed. Leaves e->shared as it is. */
void shared_bias(struct emit *e, const struct value *v, struct shared_error *s);
/* Like emit_value(), but writes the statements that compute the element even if v is stored. */
struct term emit_computed(struct emit *e, const struct value *v, struct place *p);

/* ---- elementwise operations (emit_element.c) ------------------------------------------------- */

/* Computes element i of v from the terms of its operands. */
struct term emit_elementwise(struct emit *e, const struct value *v, const struct term *args,
                             struct index i, unsigned depth);
/* Returns the C expression for the value of an element of v. */
const char *element_text(struct emit *e, const struct value *v, const struct term *args);
/* Whether the magnitude of the term is |value|. */
bool term_is_exact(const struct term *t);
/* Whether the magnitude of every element of v is |value|. The entries of its operands in `store`
 * must be set already. */
bool value_is_exact(const struct value *v, const struct store *store);
/* Makes a term of the expression `v`. The term's magnitude is |v|. In SIGMA and NOISY references
 * the term has no error. */
struct term term_of(struct emit *e, const char *v, unsigned depth);
const char *number_in_c(struct arena *a, double v);
/* For an integer dtype, puts a function such as "hone_int32(...)" around an expression of type
 * uint64_t, so that the result wraps around as the dtype does. */
const char *wrapped(struct emit *e, enum dtype t, const char *text);

/* ---- rounding errors (emit_error.c) ---------------------------------------------------------- */

/* Like emit_elementwise(), for a SIGMA or NOISY reference. */
struct term emit_with_error(struct emit *e, const struct value *v, const struct term *args,
                            struct index i, unsigned depth);
/* t is an element of v, the result of an operation that is not elementwise. Rounds t to the dtype
 * of v if this is narrower than float32. */
struct term emit_rounded(struct emit *e, const struct value *v, struct term t, struct index i);
/* t is an element of v, and an output with the dtype `to` holds v. Rounds t to `to` if this is
 * narrower than the dtype of v. */
struct term emit_output(struct emit *e, const struct value *v, enum dtype to, struct term t);
/* The same as value_is_exact(), for a SIGMA or NOISY reference. */
bool value_has_no_error(const struct emit *e, const struct value *v, const struct store *store);
/* The variance of the rounding of a partial sum, divided by the square of that sum. */
double chain_rounding(const struct value *v);
/* The least variance that a rounding to t has, however small the number is. It corresponds to an
 * error of half the distance between two subnormal numbers. For float32 and bfloat16 it corresponds
 * to an error as large as the smallest normal number, because arithmetic in float32 may flush
 * subnormal numbers to zero. For float64 it is 0. */
double least_error(enum dtype t);
/* The variance of rounding an operand of the product v to TF32, divided by the square of the
 * operand. It is 0 if v is not computed in TF32. */
double tf32_rounding(const struct emit *e, const struct value *v);
/* The variance of a * b, as an expression. `tf32` is the result of tf32_rounding(). */
const char *product_variance(struct emit *e, struct term a, struct term b, double tf32);
/* Returns the expression `text` with a random error. The error is uniform between -spread and
 * +spread; then the sum is rounded to t, up or down at random. */
const char *noisy_text(struct emit *e, const char *text, const char *spread, enum dtype t,
                       const char *key);
/* Returns an expression of 64 random bits for element i of v. */
const char *noise_key(struct emit *e, const struct value *v, struct index i);

/* ---- kernels --------------------------------------------------------------------------------- */

/* Returns the C type in which a kernel computes v. It is double for float64, for integers, and for
 * floor_divide, remainder and fmod. It is float for other floats. A double holds integers exactly
 * up to 2^53, as in the reference. A bool is the number 0 or 1. Its type is double if an operand
 * of v is float64 or an integer, else float. */
const char *kernel_type(const struct value *v);

/* ---- reductions and products (emit_reduce.c) ------------------------------------------------- */

struct term emit_reduction(struct emit *e, const struct value *v, struct place *p);
/* Only for a SIGMA reference. v is an argmax or argmin, and the output `name` holds it. Returns the
 * index that counts as right for the unit's element. The candidate's index is right if the element
 * there differs from the best element by no more than rounding errors may explain. Otherwise the
 * index of the best element is right. */
const char *emit_chosen_index(struct emit *e, const struct value *v, const char *name);
/* Writes the body of the phase that makes the partial results of v. Each unit makes one. */
void emit_part(struct emit *e, const struct value *v, bool with_mag, bool with_bias);
/* emit_reduced() returns how many elements the reduction v combines into one element of the result.
 * emit_parts() returns how many partial results a reduction in two steps makes for one element of
 * the result. */
const struct dim *emit_reduced(struct emit *e, const struct value *v);
const struct dim *emit_parts(struct emit *e, const struct value *v);
struct term emit_conv(struct emit *e, const struct value *v, struct place *p);
struct term emit_conv_transpose(struct emit *e, const struct value *v, struct place *p);
struct term emit_embedding_bag(struct emit *e, const struct value *v, struct place *p);

/* ---- values of which one unit makes a whole line (emit_line.c, line.h) ---------------------- */

void emit_line(struct emit *e, const struct value *v, bool with_mag);

/* ---- helpers --------------------------------------------------------------------------------- */

/* p is a place in a result to which `operand` broadcasts. Returns the place in the operand that the
 * result reads there. The last axes of both correspond, as in PyTorch. */
struct place place_broadcast(struct emit *e, struct place *p, const struct value *operand);
/* Makes a valid index for n elements from t, an index that was read from a tensor. A negative index
 * counts from the end. An index out of range becomes 0. */
struct index emit_at(struct emit *e, struct term t, const struct dim *n);

#endif
