/* playbook_bind.h - what the files that bind a playbook to a task share. */
#ifndef AUTHOR_PLAYBOOK_BIND_H
#define AUTHOR_PLAYBOOK_BIND_H

#include "author/playbook.h"
#include "base/dtype.h"

void bind_text(struct pb_binding *b, const char *key, const char *value);
/* The same expression, but for blanks? */
bool same_text(const char *a, const char *b);
bool same_shape(const json_t *a, const json_t *b);
const char *c_type(enum dtype t); /* NULL if it has none */
const struct pb_op *op_named(const struct playbook *pb, const char *name);
/* Dimensions [from, to) of a shape as one, "(A) * (B)", without those that are 1; "1" if there are
 * no others. In the arena. */
const char *dims_product(struct arena *a, const json_t *shape, size_t from, size_t to);

/* The names an expression may use, as v0, v1, ...: the task's inputs, then its scalars. */
struct values {
    const char *names[2 * PB_MAX_TENSORS];
    size_t inputs, n;
};
struct values values_of(const json_t *task);

/*
 * An op {"from": "torch gemm"}: the task's PyTorch expression is an elementwise one of a product.
 * The op is the playbook's "gemm_nt" (the second operand has N rows), "gemm_nn" and so on; *made
 * becomes the task as that op's tensors see it: two operands and the result, of three dimensions,
 * the first of them the batch. What else the epilogue reads is bound as texts.
 */
const struct pb_op *gemm_op_from_torch(const struct playbook *pb, const json_t *task,
                                       struct pb_binding *b, json_t **made, struct strbuf *why);

/*
 * An op {"from": "torch permute"}: the task permutes the axes of its input. Axes that stay together
 * are one; what is left must be the op "permute_zmn", [Z, M, N] -> [Z, N, M], or "permute_rows",
 * [Z, M, N, D] -> [Z, N, M, D], with a Z of 1 where no axis stays in front.
 */
const struct pb_op *permute_op_from_torch(const struct playbook *pb, const json_t *task,
                                          json_t **made, struct strbuf *why);

#endif
