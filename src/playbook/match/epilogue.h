/*
 * epilogue.h - binds the epilogue of a kernel: what the kernel computes from an element of a
 * product or convolution before it stores the result. match.h explains binding.
 *
 * n is the column of a product or the channel of a convolution, and m is the row of a product. The
 * expression may read inputs of the result's shape, inputs with a single value, and inputs with one
 * value for each n. It may use n and m as numbers: torch.triu(x @ w) is x @ w where n - m >= 0,
 * else 0. For a product, bind_epilogue() also binds keep_from and keep_to: elements that depend on
 * the product have keep_from <= n - m <= keep_to.
 */
#ifndef PLAYBOOK_MATCH_EPILOGUE_H
#define PLAYBOOK_MATCH_EPILOGUE_H

#include "playbook/match/match.h"

struct epilogue {
    const struct value *product; /* the product or convolution, `v` in the expression */
    int operands[2];     /* the product's inputs; the expression must use all other inputs */
    bool rows;           /* n is the index along the last axis of the result, else the second */
    const struct dim *m; /* the number of rows; NULL if the template has no m */
    int bias; /* an input that is only added to the product, a value for each n; -1 if none */
};
/* Returns false, with the reason in x->why, if the epilogue cannot be written. */
bool bind_epilogue(struct match *x, const struct epilogue *e);

/* The only value with that operation; NULL if there is none or several. */
const struct value *only_one(const struct match *x, enum graph_op op);
/* Returns the number of the input that v is, apart from casts between floats; -1 if it is none. */
int input_but_casts(const struct meaning *m, const struct value *v);
/* Does the size contain the axis or scalar `name`? */
bool size_uses(const struct meaning *m, const struct dim *size, const char *name);

#endif
