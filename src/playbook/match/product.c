/*
 * product.c - matches one product of two inputs, each perhaps transposed, with an epilogue
 * (epilogue.h).
 *
 *     F.silu(x @ w.T + b)     the op "gemm_nt"; the epilogue is silu of (v + float(e.v2[n]))
 *
 * The op's tensors are A[Z, M, K], B[Z, K, N] and C[Z, M, N], or A[Z, K, M] and B[Z, N, K] if they
 * are stored transposed. Z is the batch.
 *
 * If only A has a batch, the batch counts as rows, and Z is 1. If batch and rows are not one axis
 * in memory, B is multiplied with every matrix of A instead. If only B has a batch, A is multiplied
 * with every matrix of B.
 */
#include <stdio.h>

#include "base/util.h"
#include "playbook/match/epilogue.h"
#include "playbook/match/operand.h"

/* ---- the sizes ------------------------------------------------------------------------------- */

/* C[Z, M, N] = A[Z, M, K] * B[Z, K, N] */
struct product {
    const struct value *v;
    const struct value *args[2]; /* before they were repeated along the batch */
    struct operand a, b;
    bool batched[2]; /* A and B: has a matrix for each index of the batch */
    bool turned[2];  /* A and B: stored transposed */
    const struct dim *z, *m, *n, *k;
};

static bool are_ones(const struct dim *const *d, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!dim_is(d[i], 1))
            return false;
    return true;
}

static bool are_same(const struct dim *const *d, const struct dim *const *e, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!dim_same(d[i], e[i]))
            return false;
    return true;
}

/* Removes an OP_EXPAND that repeats matrices along the batch. */
static const struct value *without_repeats(const struct value *v)
{
    const struct value *x = v->op == OP_EXPAND ? v->args[0] : v;
    bool matrices = x->rank > 1 && dim_same(x->shape[x->rank - 2], v->shape[v->rank - 2]) &&
                    dim_same(x->shape[x->rank - 1], v->shape[v->rank - 1]) &&
                    are_ones(x->shape, x->rank - 2);
    return x != v && matrices ? x : v;
}

static bool are_stored(struct product *p, uint32_t batch_a, uint32_t batch_b)
{
    return operand_is_stored(&p->a.view, batch_a, p->args[0]->rank - 1, &p->turned[0]) &&
           operand_is_stored(&p->b.view, batch_b, p->args[1]->rank - 1, &p->turned[1]);
}

/* Sets the sizes of the product. A vector counts as a matrix of one row or column. Returns false if
 * the operands do not have the layout that templates can read. */
static bool find_sizes(struct meaning *m, struct product *p)
{
    const struct value *a = p->args[0], *b = p->args[1];
    struct dim_pool *dims = &m->g.dims;
    if (!a->rank || !b->rank)
        return false;
    bool row = a->rank == 1, column = b->rank == 1;
    uint32_t na = row ? 0 : a->rank - 2, nb = column ? 0 : b->rank - 2;
    const struct dim *one = dim_number(dims, 1);
    p->k = a->shape[a->rank - 1];
    p->n = column ? one : b->shape[nb + 1];
    p->batched[0] = !are_ones(a->shape, na);
    p->batched[1] = !are_ones(b->shape, nb);
    if (!p->batched[1]) { /* try the batch of A as rows */
        p->z = one;
        p->m = row ? one : dim_product(dims, a->shape, na + 1);
        if (are_stored(p, 0, nb))
            return true;
    }
    if (row || column ||
        (p->batched[0] && p->batched[1] && (na != nb || !are_same(a->shape, b->shape, na))))
        return false;
    p->z = p->batched[0] ? dim_product(dims, a->shape, na) : dim_product(dims, b->shape, nb);
    p->m = a->shape[na];
    return are_stored(p, na, nb);
}

/* ---- the tensors ----------------------------------------------------------------------------- */

static void see_matrices(struct match *x, const struct product *p)
{
    const struct meaning *m = x->m;
    size_t a = (size_t)p->a.input, b = (size_t)p->b.input, c = m->inputs;
    const bool *turned = p->turned;
    const struct dim *one = dim_number(&x->m->g.dims, 1);
    const struct dim *za = p->batched[0] ? p->z : one, *zb = p->batched[1] ? p->z : one;
    bind_text(x->b, "batched_a", p->batched[0] ? "1" : "0");
    bind_text(x->b, "batched_b", p->batched[1] ? "1" : "0");
    x->seen =
        json_pack("{s:[o, o, o], s:{}}", "tensors",
                  tensor_with_shape(m, a, za, turned[0] ? p->k : p->m, turned[0] ? p->m : p->k),
                  tensor_with_shape(m, b, zb, turned[1] ? p->n : p->k, turned[1] ? p->k : p->n),
                  tensor_with_shape(m, c, p->z, p->m, p->n), "scalars");
}

static bool find_product(struct match *x, struct product *p)
{
    *p = (struct product){.v = only_one(x, OP_MATMUL)};
    for (int i = 0; p->v && i < 2; i++)
        p->args[i] = without_repeats(p->v->args[i]);
    if (!p->v || !find_operand(x->m, p->args[0], &p->a) || !find_operand(x->m, p->args[1], &p->b))
        return cannot_write(x->why, "no product of two inputs, but", x->v);
    if (json_array_size(json_object_get(x->m->facts, "tensors")) == x->m->inputs + 1 &&
        find_sizes(x->m, p))
        return true;
    strbuf_adds(x->why, "the operands of the task's product are not matrices or batches of "
                        "matrices that make one output");
    return false;
}

const struct pb_op *match_product(struct match *x)
{
    struct product p;
    char name[16];
    if (!find_product(x, &p))
        return NULL;
    if (p.v->args[0]->rank < 2 || p.v->args[1]->rank < 2) {
        strbuf_adds(x->why, "one operand of the task's product is a vector");
        return NULL;
    }
    snprintf(name, sizeof name, "gemm_%c%c", p.turned[0] ? 't' : 'n', p.turned[1] ? 't' : 'n');
    const struct pb_op *op = op_called(x->pb, name);
    if (!op) {
        strbuf_addf(x->why, "it does not know '%s': products of operands with this layout", name);
        return NULL;
    }
    struct epilogue e = {
        .product = p.v, .operands = {p.a.input, p.b.input}, .rows = true, .m = p.m, .bias = -1};
    if (!bind_epilogue(x, &e))
        return NULL;
    see_matrices(x, &p);
    return op;
}

/* ---- a matrix and a vector ------------------------------------------------------------------- */

const struct pb_op *match_matvec(struct match *x)
{
    struct product p;
    if (!find_product(x, &p))
        return NULL;
    bool right = dim_is(p.n, 1) && !p.turned[0]; /* the vector is B */
    bool left = dim_is(p.m, 1) && p.turned[1];   /* the vector is A */
    if (!dim_is(p.z, 1) || (!right && !left)) {
        strbuf_adds(x->why,
                    "the task is not a product of a vector and a matrix whose rows run along K");
        return NULL;
    }
    struct epilogue e = {
        .product = p.v, .operands = {p.a.input, p.b.input}, .rows = true, .bias = -1};
    if (!bind_epilogue(x, &e))
        return NULL;
    const struct operand *matrix = right ? &p.a : &p.b, *vector = right ? &p.b : &p.a;
    const struct dim *rows = right ? p.m : p.n;
    const struct dim *columns = p.v->rank ? p.v->shape[p.v->rank - 1] : rows;
    bind_text(x->b, "columns", arena_printf(&x->b->arena, "(%s)", columns->text));
    x->seen = json_pack("{s:[o, o, o], s:{}}", "tensors",
                        tensor_with_shape(x->m, (size_t)matrix->input, rows, p.k, NULL),
                        tensor_with_shape(x->m, (size_t)vector->input, p.k, NULL, NULL),
                        tensor_with_shape(x->m, x->m->inputs, rows, NULL, NULL), "scalars");
    return op_called(x->pb, "rows");
}
