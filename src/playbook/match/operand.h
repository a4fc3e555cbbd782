/*
 * operand.h - operands of a product. An operand is a view (view.h) of an input. operand_is_stored()
 * tells whether the elements of the view lie in memory as an array of matrices.
 */
#ifndef PLAYBOOK_MATCH_OPERAND_H
#define PLAYBOOK_MATCH_OPERAND_H

#include "playbook/match/meaning.h"
#include "playbook/match/view.h"

struct operand {
    int input; /* the number of the input */
    /* The operand as a view of the input: batch axes, then the two axes of a matrix. */
    struct view view;
};

/* Finds an operand: a view of an input. Casts between floats do not matter. */
bool find_operand(struct meaning *m, const struct value *v, struct operand *out);

/* Is the view stored as an array of matrices? The axes before `batch` are the batch, the axes from
 * `batch` to `mid` - 1 are the rows of a matrix, and the others are its columns. *turned becomes
 * true if the matrices are stored transposed. */
bool operand_is_stored(const struct view *v, uint32_t batch, uint32_t mid, bool *turned);

/* The task's tensor number i, with another shape: up to three sizes, and NULL after the last one.
 * Returns a new reference. */
json_t *tensor_with_shape(const struct meaning *m, size_t i, const struct dim *x,
                          const struct dim *y, const struct dim *z);

#endif
