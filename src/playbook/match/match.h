/*
 * match.h - finds the operation of a playbook that a task computes.
 *
 * A playbook has a kernel template with placeholders, and ops: the operations that the template can
 * compute. To bind a text means to give a placeholder its text.
 *
 * A playbook whose ops have {"*": {"from": WAY}} names one of the ways below to find the op. Each
 * way looks at the value of the task's only output. If the value fits, the way returns the op and
 * binds the texts that the template needs. It may also set `seen` to a copy of the task, in which
 * the tensors have the shapes of the op's roles (the template's names for tensors). If the value
 * does not fit, the way returns NULL and says why.
 */
#ifndef PLAYBOOK_MATCH_MATCH_H
#define PLAYBOOK_MATCH_MATCH_H

#include "playbook/book/texts.h"
#include "playbook/match/expression.h"
#include "playbook/match/meaning.h"

struct match {
    const struct playbook *pb;
    struct meaning *m;
    const struct value *v; /* the only output's value */
    struct pb_binding *b;
    struct strbuf *why;
    json_t *seen; /* the task in the shapes of the op's roles; NULL if the task is used as it is */
};

struct match_way {
    const char *from;
    const struct pb_op *(*find)(struct match *x);
};
/* The way of that name; NULL if there is no such way. */
const struct match_way *match_way(const char *from);

/* "torch": matches if all operations are elementwise. Binds expr, the value as a CUDA C++
 * expression (expression.h), and expr:type, its type. */
const struct pb_op *match_elementwise(struct match *x);
/* "torch rows": matches one reduction, softmax or scan of an elementwise expression along the last
 * axes. A further elementwise expression may follow a reduction. Binds expr, the first of these
 * expressions, and post, the second one. */
const struct pb_op *match_rows(struct match *x);
/* "torch axis": like "torch rows", but along other axes than the last. */
const struct pb_op *match_axis(struct match *x);
/* "torch gemm": matches one product of matrices, and an epilogue (epilogue.h). */
const struct pb_op *match_product(struct match *x);
/* "torch matvec": one product of a vector and a matrix, and an epilogue. Each row of the matrix is
 * contiguous along K, the axis that is summed over. Binds columns, the last size of the product. */
const struct pb_op *match_matvec(struct match *x);
/* "torch conv": one depthwise convolution, and an epilogue. Binds stride:h, pad:w and so on. */
const struct pb_op *match_conv(struct match *x);
/* "torch dense conv": one convolution that is not depthwise, and an epilogue. The convolution may
 * be transposed. Binds stride:d, pad:h, dilation:w and so on, groups, phases and taps. */
const struct pb_op *match_dense_conv(struct match *x);
/* "torch permute": a permutation of the axes of the only input. */
const struct pb_op *match_permute(struct match *x);
/* "torch chain": elementwise operations, and reductions along neighbouring axes with keepdim. Binds
 * expr, and passes, which has a line for each reduction. Also binds outer, length and inner, the
 * sizes before, along and after these axes. */
const struct pb_op *match_chain(struct match *x);
/* "torch nested": takes sums and extremes of each row, computes an expression of them, and takes
 * the sum or an extreme of this expression over all rows. An extreme is a maximum or a minimum.
 * Binds passes:take and other texts of the passes, expr, post, rows and cols. */
const struct pb_op *match_nested(struct match *x);
/* "torch pool": pooling of the only input. The windows lie along its last one, two or three axes.
 * Binds size:d, step:h, dilation:w, pad:d and so on, fill and post. */
const struct pb_op *match_pool(struct match *x);
/* "torch attention": softmax(score(Q K^T)) V. Binds score, plain and scale, which attention.c
 * explains. Also binds the band of keys that count for a query (band.h), and `empty`: the result
 * for a query for which no key counts. */
const struct pb_op *match_attention(struct match *x);
/* "torch halves": an elementwise expression of v0 and v1, the two halves of each row of the only
 * input. */
const struct pb_op *match_halves(struct match *x);

/* Finds an op that lists the task's expression among its `torch` forms; NULL if there is none. If
 * there is one, sets *seen to a new reference: the task with its tensors and scalars in the order
 * of the op's roles. */
const struct pb_op *match_form(const struct playbook *pb, struct meaning *m, json_t **seen);

#endif
