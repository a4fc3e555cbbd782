/*
 * playbook_torch.h - a task's PyTorch expression as a C expression, for elementwise playbooks,
 * reductions, products of matrices and permutations.
 *
 *     "x * torch.sigmoid(x)"  with x as v0  ->  "(v0 * (1.f / (1.f + expf(-(v0)))))"
 *
 * Understood: numbers, the task's inputs, + - * / **, & | ^ ~ << >>, comparisons, parentheses,
 * casts, and the elementwise functions of torch and torch.nn.functional, as calls or as methods.
 * Anything else (a reduction, an index, a name it does not know) is refused with the reason: a
 * guess would be a wrong kernel.
 */
#ifndef AUTHOR_PLAYBOOK_TORCH_H
#define AUTHOR_PLAYBOOK_TORCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/dtype.h"
#include "base/strbuf.h"

#define TORCH_MAX_TEXT 4096
#define TORCH_MAX_RANK 8

/* What an expression may mention: names[i] is called v<i> in the result. */
struct torch_names {
    const char *const *names;
    const enum dtype *types; /* NULL: all float32 */
    size_t tensors, n;       /* tensors, then scalars, which are Python numbers */
};

/* *type becomes the result's dtype: DT_F32 for all floats. */
bool torch_to_c(const char *text, const struct torch_names *names, struct strbuf *out,
                enum dtype *type, struct strbuf *why);
/* How values of a dtype are passed in C: "float", "bool", "int32_t", ... */
const char *torch_value_type(enum dtype t);

/*
 * The same for an elementwise expression of a product of two inputs, which is `v` in the result:
 *
 *     "F.silu(x @ w.T + b)"  ->  a = 0, b = 1, b_turned, expr "((v + v2) / (1.f + expf(-...)))"
 *
 * Understood: `a @ b`, torch.matmul, mm and bmm, F.linear with or without a bias; operands may be
 * transposed by .T, .mT, .t() or .transpose() of the last two axes.
 */
struct torch_gemm {
    size_t a, b; /* inputs */
    bool a_turned, b_turned, found;
    int turned_axis; /* the last axis, if a transposition named it by its number; else 0 */
    struct strbuf expr;
};
bool torch_to_gemm(const char *text, const struct torch_names *names, struct torch_gemm *out,
                   struct strbuf *why);

/*
 * The same for what works along an axis, or several side by side, a reduction, a softmax or a scan,
 * of an elementwise expression:
 *
 *     "(x * x).sum(dim=-1)"  ->  name "sum", expr "(v0 * v0)", from = rank - 1, to = rank
 *
 * As a function or a method. max and min, which give indices too, need a `.values` or `[0]`; `max`
 * and `amax` are both called "max", and so on; var and std without Bessel's correction are "pvar"
 * and "pstd".
 */
struct torch_rows {
    const char *name;
    struct strbuf expr;
    enum dtype type; /* of its values: DT_F32 for all floats */
    size_t from, to; /* the axes, side by side; all of them where none is given */
    bool whole;      /* none is given */
};
bool torch_to_rows(const char *text, const struct torch_names *names, size_t rank,
                   struct torch_rows *out, struct strbuf *why);

/*
 * And for a permutation of the axes of one input: axis i of the result is axis perm[i] of the
 * input. permute, transpose, .T, .mT, also one after the other; .contiguous() changes nothing.
 */
bool torch_to_permutation(const char *text, const char *name, size_t rank, size_t *perm,
                          struct strbuf *why);

#endif
