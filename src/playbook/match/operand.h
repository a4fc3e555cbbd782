/* operand.h - operands of a product. An operand is a view (view.h) of an input. */
#ifndef PLAYBOOK_MATCH_OPERAND_H
#define PLAYBOOK_MATCH_OPERAND_H

#include "playbook/match/meaning.h"
#include "playbook/match/view.h"

struct operand {
    int input; /* the number of the input */
    /* Batch axes, then the two axes of a matrix. */
    struct view view;
};

/* Returns false if v is no view of an input. Looks through casts between floats. */
bool find_operand(struct meaning *m, const struct value *v, struct operand *out);

/* Does the view lie in memory as an array of matrices? Axes before `batch` are the batch, those up
 * to `mid` - 1 the rows, the others the columns. *turned: the matrices are stored transposed. */
bool operand_is_stored(const struct view *v, uint32_t batch, uint32_t mid, bool *turned);

/* Tensor number i of the task, with a shape of up to three sizes, then NULL. Returns a new
 * reference. */
json_t *tensor_with_shape(const struct meaning *m, size_t i, const struct dim *x,
                          const struct dim *y, const struct dim *z);

#endif
