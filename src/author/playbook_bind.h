/* playbook_bind.h - what the files that bind a playbook to a task share. */
#ifndef AUTHOR_PLAYBOOK_BIND_H
#define AUTHOR_PLAYBOOK_BIND_H

#include "author/playbook.h"
#include "author/playbook_torch.h"
#include "base/dtype.h"

void bind_text(struct pb_binding *b, const char *key, const char *value);
/* What the key, of that length, stands for; NULL if it is not bound. */
const char *bound_text(const struct pb_binding *b, const char *key, size_t len);
/* "__restrict__ ", unless the output is one of the inputs. */
const char *restricted(const struct pb_binding *b);
/* The same expression, but for blanks? */
bool same_text(const char *a, const char *b);
bool same_shape(const json_t *a, const json_t *b);
const char *c_type(enum dtype t); /* NULL if it has none */
const struct pb_op *op_named(const struct playbook *pb, const char *name);
/* Dimensions [from, to) of a shape as one, "(A) * (B)", without those that are 1; "1" if there are
 * no others. In the arena. */
const char *dims_product(struct arena *a, const json_t *shape, size_t from, size_t to);

/* A dimension as a factor, in brackets; a product of two, where one that is 1 is left out. */
const char *dim_factor(struct arena *a, const char *dim);
const char *dims_times(struct arena *a, const char *left, const char *right);

/*
 * The first n tensors of the task: inputs whose shapes broadcast to the output's, each of its own
 * dtype. A task whose inputs are all like the output, and that has no scalars, needs none of this:
 * it is left to simpler playbooks.
 */
bool bind_broadcast(struct pb_binding *b, const struct pb_tensor *role, const json_t *task,
                    size_t n, const json_t *op, struct strbuf *why);

/* The names an expression may use, as v0, v1, ...: the task's inputs, then its scalars. */
struct values {
    const char *names[2 * PB_MAX_TENSORS];
    enum dtype types[2 * PB_MAX_TENSORS];
    size_t inputs, n;
};
struct values values_of(const json_t *task);
struct torch_names torch_names_of(const struct values *v); /* borrows from it */

/* The task with its inputs in the shapes that its PyTorch expression sees them in, w[:, None], and
 * the expression without those; the task itself if there are none. A new reference. */
json_t *without_views(const json_t *task);
/* The task with the axes that its PyTorch expression names as scalars, too. A new reference. */
json_t *with_axes(const json_t *task);

/*
 * An op {"from": "torch rows"} or {"from": "torch axis"}: the task's PyTorch expression works along
 * the last axis, or another, on an elementwise expression. It is one of the playbook's other ops;
 * where that has an `expr`, the elements are that, or else the input itself. *seen becomes the task
 * as the op sees it, where that is another.
 */
const struct pb_op *axis_op_from_torch(const struct playbook *pb, const json_t *task, bool rows,
                                       struct pb_binding *b, json_t **seen, struct strbuf *why);

/* An op one of whose `torch` forms the task's PyTorch expression has, or NULL; *seen is the task
 * with its tensors in the order of the op's roles. */
const struct pb_op *op_by_form(const struct playbook *pb, const json_t *task, json_t **seen);

/*
 * An op {"from": "torch gemm"}: the task's PyTorch expression is an elementwise one of a product.
 * The op is the playbook's "gemm_nt" (the second operand has N rows), "gemm_nn" and so on; *made
 * becomes the task as that op's tensors see it: two operands and the result, of three dimensions,
 * the first of them the batch. What else the epilogue reads is bound as texts.
 */
const struct pb_op *gemm_op_from_torch(const struct playbook *pb, const json_t *task,
                                       struct pb_binding *b, json_t **made, struct strbuf *why);

/*
 * What is done to a product before it is stored: an expression of v<product>, and of what else the
 * task gives. Binds the texts of playbooks/parts/epilogue.cu. Inputs may be like the result, hold
 * one value, or one for each n: in products of matrices a row, else one for each channel.
 */
struct epilogue {
    size_t product; /* its value; SIZE_MAX: it is called `v` already */
    size_t used[2]; /* the operands, which the expression need not mention */
    bool rows;
    const char *expr;
};
bool bind_epilogue(struct pb_binding *b, const json_t *task, const struct epilogue *e,
                   struct strbuf *why);

/*
 * An op {"from": "torch conv"}: one depthwise convolution in the task's PyTorch expression, with an
 * elementwise one around it. The op is "depthwise", of [N, C, H, W], [C, KH, KW] and [N, C, OH,
 * OW]; stride, pad and dilation are bound as stride:h, stride:w and so on.
 */
const struct pb_op *conv_op_from_torch(const struct playbook *pb, const json_t *task,
                                       struct pb_binding *b, json_t **made, struct strbuf *why);

/*
 * An op {"from": "torch chain"}: the task's PyTorch expression is elementwise but for reductions
 * along the last axis, which keep it. Binds `expr`, of the inputs, the scalars and the reductions
 * as v0, v1, ..., and `passes`, which computes those in order: a line of `float v3 = reduce(UNIT,
 * JOIN, TERM);` each.
 */
bool chain_from_torch(const json_t *task, struct pb_binding *b, struct strbuf *why);

/*
 * An op {"from": "torch halves"}: the task's PyTorch expression is an elementwise one of the two
 * halves of its input's rows, which are v0 and v1 in `expr`.
 */
bool halves_from_torch(const json_t *task, struct pb_binding *b, struct strbuf *why);

/*
 * An op {"from": "torch permute"}: the task permutes the axes of its input. Axes that stay together
 * are one; what is left must be the op "permute_zmn", [Z, M, N] -> [Z, N, M], or "permute_rows",
 * [Z, M, N, D] -> [Z, N, M, D], with a Z of 1 where no axis stays in front.
 */
const struct pb_op *permute_op_from_torch(const struct playbook *pb, const json_t *task,
                                          json_t **made, struct strbuf *why);

#endif
