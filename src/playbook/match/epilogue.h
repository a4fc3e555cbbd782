/*
 * epilogue.h - the epilogue: the computation on an element of a product or convolution before it is
 * stored.
 *
 * Binds the texts of playbooks/parts/epilogue.cu. The expression may read inputs like the result,
 * inputs with one value, and inputs with one value for each n: a column of a product, a channel of
 * a convolution.
 */
#ifndef PLAYBOOK_MATCH_EPILOGUE_H
#define PLAYBOOK_MATCH_EPILOGUE_H

#include "playbook/match/match.h"

struct epilogue {
    const struct value *product; /* `v` in the expression */
    int operands[2];             /* inputs that the expression need not mention */
    bool rows;                   /* n is the last axis; else the second one */
    int bias;                    /* an input that is added to the product, one value for each n; -1:
                                  * none. The expression must not use it again. */
};
bool bind_epilogue(struct match *x, const struct epilogue *e);

/* The only value with that operation in the task's graph; NULL if there is none or several. */
const struct value *only_one(const struct match *x, enum graph_op op);
/* The number of the input that the value is, casts between floats ignored; -1 if it is no input. */
int input_but_casts(const struct meaning *m, const struct value *v);

#endif
