/*
 * match.h - finds the operation of a playbook that a task computes.
 *
 * A playbook has a kernel template with placeholders, and ops: the operations that the template can
 * compute. To bind a text means to give a placeholder its text.
 *
 * If a playbook has the ops {"*": {"from": WAY}}, WAY names one of the ways below to find the op. A
 * way looks at the value of the task's only output. If the value fits, the way returns the op and
 * binds the template's texts. It may set `seen` to a copy of the task whose tensors have the shapes
 * of the op's roles (the template's names for tensors). If the value does not fit, the way returns
 * NULL and says why.
 */
#ifndef PLAYBOOK_MATCH_MATCH_H
#define PLAYBOOK_MATCH_MATCH_H

#include "playbook/book/texts.h"
#include "playbook/match/expression.h"
#include "playbook/match/meaning.h"

struct match {
    const struct playbook *pb;
    struct meaning *m;
    const struct value *v; /* the value of the only output */
    struct pb_binding *b;
    struct strbuf *why;
    json_t *seen; /* NULL means the task as it is */
};

struct match_way {
    const char *from;
    const struct pb_op *(*find)(struct match *x);
};
const struct match_way *match_way(const char *from);

/* "torch": only elementwise operations. Binds expr, a CUDA C++ expression, and expr:type. */
const struct pb_op *match_elementwise(struct match *x);
/* "torch rows": one reduction, softmax or scan of an elementwise expression, expr, along the last
 * axes. Another elementwise expression, post, may follow a reduction. */
const struct pb_op *match_rows(struct match *x);
/* "torch axis": like "torch rows", but along other axes than the last. */
const struct pb_op *match_axis(struct match *x);
/* "torch gemm": one product of matrices, and an epilogue (epilogue.h). */
const struct pb_op *match_product(struct match *x);
/* "torch matvec": like "torch gemm", but of a vector and a matrix whose rows are contiguous along
 * the summed axis. Binds columns, the last size of the product. */
const struct pb_op *match_matvec(struct match *x);
/* "torch conv": one depthwise convolution, and an epilogue. Binds stride:h, pad:w and so on. */
const struct pb_op *match_conv(struct match *x);
/* "torch dense conv": one convolution that is not depthwise, maybe transposed, and an epilogue.
 * Binds groups, phases and taps, and also stride:d and so on. */
const struct pb_op *match_dense_conv(struct match *x);
/* "torch permute": a permutation of the axes of the only input. */
const struct pb_op *match_permute(struct match *x);
/* "torch chain": elementwise operations, and reductions along neighbouring axes with keepdim. Binds
 * expr, passes, and the sizes outer, length and inner: before, along and after these axes. */
const struct pb_op *match_chain(struct match *x);
/* "torch nested": sums and extremes of each row, an expression of them, and the sum or extreme of
 * this expression over all rows. Binds expr, post, rows and cols, and also passes:take and so on.
 */
const struct pb_op *match_nested(struct match *x);
/* "torch pool": pooling along the last one to three axes of the only input. Binds fill and post,
 * and also size:d, step:h and so on. */
const struct pb_op *match_pool(struct match *x);
/* "torch attention": softmax(score(Q K^T)) V. Binds score, plain, scale, the band of keys that
 * count for a query (band.h), and `empty`, the result of a query without keys. */
const struct pb_op *match_attention(struct match *x);
/* "torch recurrent": one recurrent layer. Binds hidden and cell to element i of the states before
 * the first step, and bias to element i of a gru's bias. Binds params and extra to the parameters
 * and arguments for these. Also binds relu. */
const struct pb_op *match_recurrent(struct match *x);
/* "torch halves": an elementwise expression of v0 and v1, the halves of each row of an input. */
const struct pb_op *match_row_halves(struct match *x);

/* Returns the op that has the task's expression among its `torch` forms, or NULL if there is none.
 * Sets *seen to a copy of the task with its tensors and scalars in the order of the op's roles; the
 * caller calls json_decref(). */
const struct pb_op *match_form(const struct playbook *pb, struct meaning *m, json_t **seen);

#endif
