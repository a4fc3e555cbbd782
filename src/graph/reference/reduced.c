/* reduced.c - the axes and elements of a reduction (reduced.h). */
#include "graph/reference/reduced.h"

#include "base/util.h"
#include "graph/reference/nest.h"

uint32_t reduced_axes(const struct value *v, const struct dim **out)
{
    const struct value *a = v->args[0];
    if (v->op == OP_MATMUL) {
        out[0] = a->shape[a->rank - 1];
        return 1;
    }
    const struct attr *dim = value_attr(v, "dim");
    for (size_t i = 0; i < dim->n; i++)
        out[i] = a->shape[dim->ints[i]];
    return (uint32_t)dim->n;
}

const struct dim *emit_reduced(struct emit *e, const struct value *v)
{
    const struct dim *axes[GRAPH_MAX_RANK];
    uint32_t n = reduced_axes(v, axes);
    return dim_product(&e->g->dims, axes, n);
}

struct place reduced_place(struct emit *e, const struct value *v, struct place *kept,
                           struct place *gone)
{
    const struct value *a = v->args[0];
    const struct attr *dim = value_attr(v, "dim");
    bool keep = value_flag(v, "keepdim");
    struct place q = place_empty(a->rank, a->shape);
    uint32_t k = 0, to = 0;
    bool rows = e->u.vector && dim->n && dim->ints[0] == (int64_t)(a->rank - dim->n);
    if (rows) { /* the indices along the last axes are computed if they are read */
        q.linear = place_join(&e->u, kept, gone);
        q.has_linear = true;
    }
    for (uint32_t i = 0; i < a->rank; i++)
        if (k < dim->n && dim->ints[k] == (int64_t)i) {
            if (!rows)
                place_set(&q, i, place_at(&e->u, gone, k));
            k++;
            to += keep;
        } else {
            place_set(&q, i, place_at(&e->u, kept, to++));
        }
    return q;
}

bool reduced_in_vectors(struct emit *e, const struct dim *all)
{
    struct vector *x = e->u.vector;
    return x && e->in_lanes && e->u.at == e->u.body && nest_has_many(all) &&
           vector_need(x, all, x->n);
}

const struct value *reduced_centre(struct emit *e, const struct value *v)
{
    if (v->op != OP_SUM || v->args[0]->op != OP_SQUARE || v->args[0]->args[0]->op != OP_SUB)
        return NULL;
    const struct value *x = v->args[0]->args[0]->args[0], *mean = v->args[0]->args[0]->args[1];
    if (mean->op != OP_DIV || mean->args[0]->op != OP_SUM || mean->args[1]->op != OP_SIZE)
        return NULL;
    const struct value *sum = mean->args[0];
    bool same = sum->args[0] == x && attr_same(value_attr(v, "dim"), value_attr(sum, "dim")) &&
                value_flag(sum, "keepdim") && value_same_shape(v->args[0], x) &&
                str_eq(kernel_type(v), kernel_type(sum)) &&
                mean->args[1]->size == emit_reduced(e, sum);
    return same ? mean : NULL;
}
