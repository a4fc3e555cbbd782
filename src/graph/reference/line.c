/* line.c - numbers the units that make many elements, and finds the places of these elements. See
 * line.h. */
#include "graph/reference/line.h"

#include "base/util.h"

bool op_makes_lines(enum graph_op op)
{
    enum op_kind k = op_row(op)->kind;
    return k == OPK_SCAN || k == OPK_ATTENTION || k == OPK_RECURRENT || op == OP_INDEX_ADD;
}

uint32_t line_axis(const struct value *v)
{
    return v->op == OP_ATTENTION ? v->rank - 1 : (uint32_t)value_attr(v, "dim")->ints[0];
}

const struct dim *emit_steps(const struct emit *e, const struct value *v)
{
    return op_row(v->op)->kind == OPK_RECURRENT && !e->mode.kernel ? v->shape[0] : NULL;
}

/* Finds the axes that number the units, and returns how many there are. There is one unit for each
 * place along these axes:
 *   - for a recurrent operation in a generated kernel: axis 1, the batch;
 *   - for index_add: the axes up to and including `dim`, or all axes in a generated kernel;
 *   - for other operations: all axes except line_axis().
 * Other rules number the units of a repeated phase (emit_lines()). */
static uint32_t unit_axes(const struct value *v, bool kernel, uint32_t *axes)
{
    if (op_row(v->op)->kind == OPK_RECURRENT) {
        axes[0] = 1;
        return 1;
    }
    uint32_t n = 0, axis = line_axis(v);
    for (uint32_t i = 0; i < v->rank; i++)
        if (v->op == OP_INDEX_ADD ? i <= axis || kernel : i != axis)
            axes[n++] = i;
    return n;
}

const struct dim *emit_lines(struct emit *e, const struct value *v)
{
    uint32_t axes[GRAPH_MAX_RANK], n = unit_axes(v, e->mode.kernel, axes);
    const struct dim *d = dim_number(&e->g->dims, 1);
    if (emit_steps(e, v))
        return dim_mul(&e->g->dims, v->shape[1], v->args[1]->shape[1]);
    for (uint32_t i = 0; i < n; i++)
        d = dim_mul(&e->g->dims, d, v->shape[axes[i]]);
    return d;
}

struct place line_place(struct emit *e, const struct value *v)
{
    uint32_t axes[GRAPH_MAX_RANK], n = unit_axes(v, e->mode.kernel, axes);
    const struct dim *shape[GRAPH_MAX_RANK];
    struct place p = place_empty(v->rank, v->shape);
    for (uint32_t i = 0; i < n; i++)
        shape[i] = v->shape[axes[i]];
    struct place lines = place_linear(n, shape, unit_index());
    for (uint32_t i = 0; i < n; i++)
        place_set(&p, axes[i], place_at(&e->u, &lines, i));
    return p;
}

void line_put(struct emit *e, const struct value *v, struct place p, const char *op, struct term t,
              bool with_mag)
{
    struct index i = place_number(&e->u, &p);
    unit_do(&e->u, "VAL%u(%s) %s %s", v->id, i.text, op, t.v);
    if (with_mag)
        unit_do(&e->u, "MAG%u(%s) %s %s", v->id, i.text, op, t.m);
}
