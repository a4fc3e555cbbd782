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

/* Sets *out to the input of which v is a view. Looks through casts between floats. Returns false if
 * v is not such a view. */
bool find_operand(struct meaning *m, const struct value *v, struct operand *out);

/* Does the view lie in memory as an array of matrices? The axes before `batch` are the batch. The
 * axes from `batch` to `mid` - 1 are the rows, the others the columns. Sets *turned to whether the
 * matrices are stored transposed. */
bool operand_is_stored(const struct view *v, uint32_t batch, uint32_t mid, bool *turned);

/* Returns a copy of tensor number i of the task with the shape [x, y, z]. The shape is shorter if
 * z, or y and z, are NULL. */
json_t *tensor_with_shape(const struct meaning *m, size_t i, const struct dim *x,
                          const struct dim *y, const struct dim *z);

#endif
