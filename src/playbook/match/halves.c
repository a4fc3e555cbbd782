/* halves.c - an elementwise expression of the two halves of each row of the only input. */
#include "base/util.h"
#include "playbook/match/match.h"

struct halves {
    const struct match *x;
    bool any;
};

/* 0 or 1: v is that half of the input's rows; -1: it is neither. */
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
    struct halves *h = ctx;
    int half = half_of(h->x, v);
    if (half >= 0) {
        strbuf_addf(out, "v%d", half);
        h->any = true;
    }
    return half >= 0;
}

/* Is there a half of the input's rows anywhere under v? */
static bool has_half(const struct match *x, const struct value *v, unsigned depth)
{
    if (half_of(x, v) >= 0)
        return true;
    for (uint32_t i = 0; i < v->nargs && depth < 100; i++)
        if (v->args[i] && has_half(x, v->args[i], depth + 1))
            return true;
    return false;
}

const struct pb_op *match_halves(struct match *x)
{
    struct halves h = {.x = x};
    struct leaves leaves = {leaf, &h};
    struct strbuf expr = STRBUF_INIT(MAX_EXPRESSION);
    if (x->m->inputs != 1)
        strbuf_adds(x->why, "it takes one tensor, whose halves it joins");
    else if (!has_half(x, x->v, 0))
        strbuf_adds(x->why, "its PyTorch expression has no half of the input's rows");
    bool ok = !x->why->len && write_expression(x->v, &leaves, &expr, x->why);
    if (ok)
        bind_text(x->b, "expr", expr.buf);
    strbuf_release(&expr);
    return ok ? op_called(x->pb, "*") : NULL;
}
