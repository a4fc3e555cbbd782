/* ways.c - the table of ways to find an op in a task's expression (match.h), and the simplest way:
 * elementwise. */
#include "base/util.h"
#include "playbook/match/match.h"

static const struct match_way ways[] = {
    {"torch", match_elementwise},         {"torch rows", match_rows},
    {"torch axis", match_axis},           {"torch gemm", match_product},
    {"torch matvec", match_matvec},       {"torch conv", match_conv},
    {"torch permute", match_permute},     {"torch chain", match_chain},
    {"torch halves", match_row_halves},   {"torch dense conv", match_dense_conv},
    {"torch pool", match_pool},           {"torch nested", match_nested},
    {"torch attention", match_attention}, {"torch recurrent", match_recurrent},
};

const struct match_way *match_way(const char *from)
{
    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        if (str_eq(ways[i].from, from))
            return &ways[i];
    return NULL;
}

const struct pb_op *match_elementwise(struct match *x)
{
    struct strbuf expr = STRBUF_INIT(MAX_EXPRESSION);
    struct leaves leaves = usual_leaves(x->m);
    enum dtype stored = x->m->g.outputs.items[0].dtype;
    /* We leave out an EXPAND at the end, because the kernel broadcasts the inputs to the output
     * anyway. */
    const struct value *v = x->v->op == OP_EXPAND ? x->v->args[0] : x->v;
    bool ok = write_expression(v, &leaves, &expr, x->why);
    if (ok) {
        bind_text(x->b, "expr", expr.buf);
        bind_text(x->b, "expr:type", value_type(dtype_is_float(stored) ? stored : x->v->dtype));
    }
    strbuf_release(&expr);
    return ok ? op_called(x->pb, "*") : NULL;
}
