/*
 * epilogue.h - binds the epilogue of a kernel: what the kernel does with each element of a product
 * or convolution before it stores the result.
 *
 * n is the column of a product or the channel of a convolution; m is the row of a product. The
 * epilogue may read inputs of the result's shape, with a single value, or with one value for each
 * n. It may use n and m as numbers: torch.triu(x @ w) is x @ w where n - m >= 0, else 0. For a
 * product, bind_epilogue() also binds keep_from and keep_to: elements that depend on the product
 * have keep_from <= n - m <= keep_to.
 */
#ifndef PLAYBOOK_MATCH_EPILOGUE_H
#define PLAYBOOK_MATCH_EPILOGUE_H

#include "playbook/match/match.h"

struct epilogue {
    const struct value *product; /* the product or convolution, `v` in the expression */
    int operands[2];     /* numbers of the product's inputs; the epilogue must use all others */
    bool rows;           /* n is the index along the result's last axis, else along the second */
    const struct dim *m; /* the number of rows; NULL if the template has no m */
    int bias;            /* number of an input that is only added, one value per n; or -1 */
};
/* Binds the texts of the epilogue. If the kernel cannot compute it, returns false, with the reason
 * in x->why. */
bool bind_epilogue(struct match *x, const struct epilogue *e);

/* Returns the only value of operation `op` from which the task's result is computed. Returns NULL
 * if there are none or several. */
const struct value *only_one(const struct match *x, enum graph_op op);
/* If v is an input, or an input after casts between floats, returns the number of the input. Else
 * returns -1. */
int input_but_casts(const struct meaning *m, const struct value *v);
/* Does the size depend on `name`, an axis or a scalar? */
bool size_uses(const struct meaning *m, const struct dim *size, const char *name);

#endif
