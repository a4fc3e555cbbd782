/* row_halves.c - matches an elementwise expression that combines the first and the second half of
 * each row. The task must have only one input. */
#include "base/util.h"
#include "playbook/match/match.h"

/* Returns 0 if v is the first half of each row of the input, 1 if it is the second half, else -1.
 */
static int half_of(const struct match *x, const struct value *v)
{
    if (v->op != OP_SLICE || meaning_input(x->m, v->args[0]) != 0 || value_attr(v, "step")->i != 1)
        return -1;
    const struct value *in = v->args[0];
    struct dim_pool *p = &x->m->g.dims;
    const struct dim *start = value_attr(v, "start")->dims[0],
                     *half = value_attr(v, "length")->dims[0];
    bool last = value_attr(v, "dim")->ints[0] == (int64_t)in->rank - 1;
    if (!last || dim_mul(p, half, dim_number(p, 2)) != in->shape[in->rank - 1])
        return -1;
    return dim_is(start, 0) ? 0 : start == half ? 1 : -1;
}

static bool leaf(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why)
{
    int half = half_of(ctx, v);
    if (half >= 0)
        strbuf_addf(out, "v%d", half);
    return half >= 0;
}

/* Does the task use the first or the second half of each row? */
static bool has_half(const struct match *x)
{
    const bool *needed = graph_needed(&x->m->g, x->v, NULL, &x->m->mem);
    for (size_t i = 0; i <= x->v->id; i++)
        if (needed[i] && half_of(x, x->m->g.values.items[i]) >= 0)
            return true;
    return false;
}

const struct pb_op *match_row_halves(struct match *x)
{
    struct leaves leaves = {leaf, x, false};
    struct strbuf expr = STRBUF_INIT(MAX_EXPRESSION);
    if (x->m->inputs != 1)
        strbuf_adds(x->why, "it takes one input, whose halves it combines");
    else if (!has_half(x))
        strbuf_adds(x->why, "the task's PyTorch expression has no half of the input's rows");
    bool ok = !x->why->len && write_expression(x->v, &leaves, &expr, x->why);
    if (ok)
        bind_text(x->b, "expr", expr.buf);
    strbuf_release(&expr);
    return ok ? op_called(x->pb, "*") : NULL;
}
