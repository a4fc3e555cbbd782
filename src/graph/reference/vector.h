/*
 * vector.h - what a kernel knows of indices while it writes several neighbouring elements at once.
 *
 * A thread of a generated kernel may compute `n` neighbouring elements, a vector. The text has the
 * statements of each element, one after the other. For element k, the number of the element is
 * `start + k`, where n divides `start`. Index arithmetic keeps track of this: an index is a base
 * that is the same for the whole vector, plus a constant. So a division by an axis whose length is
 * a multiple of n is done once for the vector, and elements that lie side by side in memory are
 * read with one load.
 *
 *     struct vector x = {.n = 4, .dims = &g->dims};
 *     u.vector = &x;
 *     struct index i = vector_element(&u, unit_index(), 1);       unit + 1
 *     i = index_mod(&u, i, index_dim(&u, columns));               unit % columns + 1
 *     if (vector_read(&u, i, &place, 4, &first, &k)) ...          element k of 4 from `first` on
 *     vector_when(&x, &sb);                                       columns % 4 == 0
 *
 * Some of this holds only for certain sizes. The member `needs` collects these conditions. The
 * launch plan checks them, and has another launch for sizes at which one of them is false.
 */
#ifndef GRAPH_REFERENCE_VECTOR_H
#define GRAPH_REFERENCE_VECTOR_H

#include "graph/reference/unit_text.h"

enum { VECTOR_MAX = 8, VECTOR_BYTES = 16, VECTOR_NEEDS = 12, VECTOR_TENSORS = 32 };

struct vector {
    int64_t n;
    struct dim_pool *dims;
    struct {
        const struct dim *dim;
        int64_t of; /* divides dim */
    } needs[VECTOR_NEEDS];
    size_t nneeds;
    struct {
        const char *name;
        int64_t bytes;
    } aligned[VECTOR_TENSORS]; /* addresses of tensors must be multiples of `bytes` */
    size_t naligned;
    bool strided; /* the elements of a vector lie far apart in memory, so vectors do not help */
    /* Not 0 while the text is inside of a condition that guards one element. There, no vectors are
     * read. */
    unsigned single;
    unsigned loops; /* how many loops run over vectors */
};

/* Facts about an index. The index is base + off. `sum` lists the summands of the base, and which
 * numbers divide each of them. If grain is not 0, the index differs between elements of the vector:
 * they have the same base and different `off`. Elements with the same off / grain, rounded down,
 * form a group. */
struct spread {
    const char *base;
    int64_t off, grain;
    const struct summand *sum;
};

/* Returns the index of element k of the vector that begins at `start`, a multiple of u->vector->n.
 */
struct index vector_element(struct unit_text *u, struct index start, int64_t k);
/* Returns the index `text`, and notes that it is the size d. */
struct index vector_dim(struct unit_text *u, struct index text, const struct dim *d);

/* Arithmetic as in place.h, for u->vector != NULL. */
struct index vector_add(struct unit_text *u, struct index a, struct index b);
struct index vector_sub(struct unit_text *u, struct index a, struct index b);
struct index vector_mul(struct unit_text *u, struct index a, struct index b);
struct index vector_div(struct unit_text *u, struct index a, struct index b);
struct index vector_mod(struct unit_text *u, struct index a, struct index b);

/* Requires that `of` divides d. Returns false if d is a number that `of` does not divide, if the
 * requirement contradicts another need, or if there are too many needs. */
bool vector_need(struct vector *x, const struct dim *d, int64_t of);
/* Is it known, without a further need, that `of` divides d? */
bool vector_knows(struct vector *x, const struct dim *d, int64_t of);
/* Requires that the address of tensor `name` is a multiple of `bytes`. Returns false if too many
 * tensors have such a requirement. */
bool vector_align(struct vector *x, const char *name, int64_t bytes);
/* If a < b is true for a whole group of elements or for none, returns an index whose comparison
 * with b gives the same result, and is the same text for the whole group. Else returns `a`. */
struct index vector_group(struct unit_text *u, struct index a, struct index b);
/* Can element i of a tensor of this shape be read with one load of `width` elements, whose address
 * is a multiple of their size? If so, sets *first to the first of these elements and *k so that
 * i = *first + *k, and returns true. */
bool vector_read(struct unit_text *u, struct index i, const struct dim *const *shape, uint32_t rank,
                 int64_t width, struct index *first, int64_t *k);
/* Appends the conditions, joined by &&. */
void vector_when(const struct vector *x, struct strbuf *out);

#endif
