/*
 * playbook_normal.h - what the files of the normal form share: playbook_normal.c has the form and
 * its calls, playbook_shapes.c shapes, indices and axes, playbook_changes.c changes in place.
 *
 * A function that makes a node of another gives the node itself back if nothing is known of it,
 * unless it says NULL. Bounded: whoever walks a tree counts in `work`.
 */
#ifndef AUTHOR_PLAYBOOK_NORMAL_H
#define AUTHOR_PLAYBOOK_NORMAL_H

#include "author/playbook_read.h"
#include "author/playbook_tree.h"

enum { MAX_WORK = 20000, MAX_AXES = TORCH_MAX_RANK };

struct normal {
    struct arena *mem;
    const struct tree_facts *facts;
    unsigned work; /* nodes looked at */
    struct tree *(*rules)(struct arena *a,
                          struct tree *t); /* these only; NULL: all that is known */
};

struct tree *normal_form(struct normal *x, struct tree *t);

/* ---- playbook_shapes.c ---- */

struct tree *normal_number(struct normal *x, long v);
bool tree_is_none(const struct tree *t);
/* The input a name stands for; NULL if it is none. */
const json_t *normal_tensor_of(const struct normal *x, const struct tree *t);
bool tree_keeps_shape(const struct tree *call);
/* A tuple of dimensions; NULL if it is not known. */
struct tree *normal_shape_of(struct normal *x, const struct tree *t);
/* An axis, from 0 on; -1 if it is none of that many. */
long tree_axis(const struct tree *t, size_t rank);
struct tree *normal_product_of(struct normal *x, struct tree *const *dims, size_t n);
struct tree *normal_field(struct normal *x, struct tree *t);
struct tree *normal_arithmetic(struct normal *x, struct tree *t);
struct tree *normal_index(struct normal *x, struct tree *t);
/* Of max and min along an axis, the values or the indices; t if it is no such pair. */
struct tree *normal_of_pair(struct normal *x, struct tree *pair, bool indices, struct tree *t);
/* Where a reduction has its axis and its keepdim; false if it is none. */
bool tree_reduction(const struct tree *t, size_t *dim, size_t *keep);
/* A reduction along the last axis, which is put back: it was kept. NULL if it is no such. */
struct tree *normal_kept(struct normal *x, const struct tree *t);
struct tree *normal_transposed(struct normal *x, struct tree *of, long a, long b);
struct tree *normal_moved(struct normal *x, struct tree *t);
struct tree *normal_of_two_axes(struct normal *x, struct tree *t);
struct tree *normal_einsum(struct normal *x, struct tree *t);

/* ---- playbook_changes.c ---- */

/* May every change in place under t be taken for its value? */
bool tree_changes_are_values(const struct tree *root, const struct tree *t, unsigned *left);
/* Does every element of the result come of the elements at its own place? */
bool tree_is_elementwise(const struct tree *t, unsigned *left);
/* Where all is elementwise, what is expanded broadcasts by itself. */
struct tree *normal_without_expands(struct normal *x, struct tree *t);

#endif
