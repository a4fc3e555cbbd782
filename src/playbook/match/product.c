/*
 * product.c - matches one product of two inputs, each perhaps transposed, with an epilogue.
 *
 *     F.silu(x @ w.T + b)     the op "gemm_nt"; the epilogue is silu of (v + float(e.v2[n]))
 *
 * The op's tensors are [Z, M, K] and so on. Z is the batch; it is 1 if the second operand has no
 * batch.
 */
#include <stdio.h>

#include "base/util.h"
#include "playbook/match/epilogue.h"

struct operand {
    int input;
    bool turned;
};

/* Finds an operand: an input, perhaps with its last two axes exchanged. Casts between floats do not
 * matter. */
static bool find_operand(const struct meaning *m, const struct value *v, struct operand *out)
{
    *out = (struct operand){input_but_casts(m, v), false};
    while (out->input < 0 && (v->op == OP_PERMUTE || v->op == OP_CAST)) {
        const struct value *of = v->args[0];
        if (v->op == OP_PERMUTE) {
            const struct attr *axes = value_attr(v, "dims");
            if (v->rank < 2 || axes->ints[v->rank - 1] != (int64_t)v->rank - 2 ||
                axes->ints[v->rank - 2] != (int64_t)v->rank - 1)
                return false;
            for (uint32_t i = 0; i + 2 < v->rank; i++)
                if (axes->ints[i] != (int64_t)i)
                    return false;
            out->turned = !out->turned;
        } else if (!dtype_is_float(v->dtype) || !dtype_is_float(of->dtype)) {
            return false;
        }
        v = of;
        out->input = input_but_casts(m, v);
    }
    return out->input >= 0;
}

static const json_t *tensor_at(const json_t *task, size_t i)
{
    return json_array_get(json_object_get(task, "tensors"), i);
}

static const char *dim_at(const json_t *tensor, size_t i)
{
    return json_string_value(json_array_get(json_object_get(tensor, "shape"), i));
}

/* Gives a tensor three axes. The axes before the last two become the batch, or rows of the matrix
 * if there is no batch. */
static json_t *as_matrices(struct arena *mem, const json_t *t, bool batched)
{
    const json_t *shape = json_object_get(t, "shape");
    size_t n = json_array_size(shape);
    json_t *copy = json_deep_copy(t);
    const char *lead = batched ? dims_product(mem, shape, 0, n - 2) : "1";
    const char *rows = batched || n == 2 ? dim_at(t, n - 2) : dims_product(mem, shape, 0, n - 1);
    json_object_set_new(copy, "shape", json_pack("[s, s, s]", lead, rows, dim_at(t, n - 1)));
    return copy;
}

static bool see_matrices(struct match *x, const struct operand *p, const struct operand *q)
{
    const json_t *task = x->m->facts, *a = tensor_at(task, (size_t)p->input),
                 *b = tensor_at(task, (size_t)q->input), *c = tensor_at(task, x->m->inputs);
    size_t na = json_array_size(json_object_get(a, "shape")),
           nb = json_array_size(json_object_get(b, "shape")),
           nc = json_array_size(json_object_get(c, "shape"));
    bool batched = nb > 2, same_batch = !batched || na == nb;
    for (size_t i = 0; batched && same_batch && i + 2 < nb; i++)
        same_batch = same_text(dim_at(a, i), dim_at(b, i));
    /* Without a batch the leading axes of the first operand are rows, which a transposed matrix
     * does not have in one piece. */
    same_batch = same_batch && (batched || !p->turned || na == 2);
    if (na < 2 || nb < 2 || nc != na || !same_batch ||
        json_array_size(json_object_get(task, "tensors")) != x->m->inputs + 1) {
        strbuf_adds(x->why,
                    "its operands are not matrices or batches of matrices that make one output");
        return false;
    }
    struct arena mem = ARENA_INIT;
    x->seen = json_pack("{s:[o, o, o], s:{}}", "tensors", as_matrices(&mem, a, batched),
                        as_matrices(&mem, b, batched), as_matrices(&mem, c, batched), "scalars");
    arena_release(&mem);
    return true;
}

const struct pb_op *match_product(struct match *x)
{
    const struct value *product = only_one(x, OP_MATMUL);
    struct operand a, b;
    char name[16];
    if (!product || !find_operand(x->m, product->args[0], &a) ||
        !find_operand(x->m, product->args[1], &b)) {
        cannot_write(x->why, "no product of two inputs, but", x->v);
        return NULL;
    }
    snprintf(name, sizeof name, "gemm_%c%c", a.turned ? 't' : 'n', b.turned ? 't' : 'n');
    const struct pb_op *op = op_called(x->pb, name);
    if (!op) {
        strbuf_addf(x->why, "it does not know '%s': products of operands with this layout", name);
        return NULL;
    }
    struct epilogue e = {
        .product = product, .operands = {a.input, b.input}, .rows = true, .bias = -1};
    return see_matrices(x, &a, &b) && bind_epilogue(x, &e) ? op : NULL;
}
