/*
 * epilogue.h - binds the epilogue of a kernel: what the kernel computes from an element of a
 * product or convolution before it stores the result. match.h explains binding.
 *
 * bind_epilogue() binds the texts for playbooks/parts/epilogue.cu. n is the column of a product or
 * the channel of a convolution, and m is the row of a product. The expression may read inputs of
 * the result's shape, inputs with a single value, and inputs with one value for each n. It may also
 * use n and m as numbers: torch.triu(x @ w) is x @ w where n - m >= 0, else 0. For a product,
 * bind_epilogue() also binds keep_from and keep_to: all elements that depend on the product have
 * keep_from <= n - m <= keep_to.
 */
#ifndef PLAYBOOK_MATCH_EPILOGUE_H
#define PLAYBOOK_MATCH_EPILOGUE_H

#include "playbook/match/match.h"

struct epilogue {
    /* The product or convolution, which the template's expression calls `v`. */
    const struct value *product;
    /* The numbers of the two inputs that the product multiplies. The expression must use all other
     * inputs of the task; it may use these two. */
    int operands[2];
    /* If true, n is the index along the last axis of the result, else along the second one. */
    bool rows;
    /* How many rows the product has; the template's m is the index of a row. NULL if the template
     * has no m. */
    const struct dim *m;
    /* The number of an input that is added to the product, with one value for each n. The
     * expression must not use this input elsewhere. -1 if there is no such input. */
    int bias;
};
/* Returns false, with the reason in x->why, if the epilogue cannot be written. */
bool bind_epilogue(struct match *x, const struct epilogue *e);

/* The only value with that operation in the task's graph; NULL if there is none or several. */
const struct value *only_one(const struct match *x, enum graph_op op);
/* If v, apart from casts between floats, is an input, returns the input's number, else -1. */
int input_but_casts(const struct meaning *m, const struct value *v);
/* Does the size contain the axis or scalar of that name? */
bool size_uses(const struct meaning *m, const struct dim *size, const char *name);

#endif
