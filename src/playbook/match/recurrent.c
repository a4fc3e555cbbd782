/*
 * recurrent.c - matches one recurrent layer: lstm, gru or rnn (graph/ops.def).
 *
 * The op's tensors are gates[T, B, G], weight[G, H] and states[T, B, S]. G is H times the number of
 * gates; S is 2 H for an lstm, else H. `gates`, `weight` and the bias of a gru are inputs. The
 * states before the first step are inputs, or all elements of a state are the same number.
 */
#include "base/util.h"
#include "playbook/match/match.h"
#include "playbook/match/operand.h"

/* Operands besides gates and weight. */
struct extra {
    struct match *x;
    struct strbuf params, args;
    bool used[PB_MAX_TENSORS]; /* used[i]: an operand is input number i */
};

/* If v has the elements of a float32 input, in the same order, returns the number of the input.
 * Else returns -1. */
static int input_of(struct match *x, const struct value *v)
{
    struct operand in;
    bool found = find_operand(x->m, v, &in) && view_is_array(&in.view);
    return found && x->m->types[in.input] == DT_F32 ? in.input : -1;
}

/* Binds `key` to element i of v, as a float expression. */
static bool bind_element(struct extra *e, const char *key, const struct value *v)
{
    struct match *x = e->x;
    int in = input_of(x, v);
    while (in < 0 && v->nargs == 1 && (v->op == OP_CAST || op_row(v->op)->kind == OPK_VIEW))
        v = v->args[0];
    if (in < 0 && v->op != OP_NUMBER)
        return cannot_write(x->why, "an operand that is not stored, at", v);
    if (in < 0) {
        struct leaves leaves = usual_leaves(x->m);
        struct strbuf text = STRBUF_INIT(MAX_EXPRESSION);
        bool ok = write_expression(v, &leaves, &text, x->why);
        if (ok)
            bind_text(x->b, key, arena_printf(&x->m->mem, "float(%s)", text.buf));
        strbuf_release(&text);
        return ok;
    }
    bind_text(x->b, key, arena_printf(&x->m->mem, "v%d[i]", in));
    if (!e->used[in]) {
        strbuf_addf(&e->params, "const float *v%d, ", in);
        strbuf_addf(&e->args, "\"%s\", ", x->m->names[in]);
    }
    return e->used[in] = true;
}

/* Binds `key` to an element of operand k of the layer. If k is 0, the layer has no such operand,
 * and `key` is bound to zero. */
static bool bind_operand(struct extra *e, const char *key, uint32_t k)
{
    if (k)
        return bind_element(e, key, e->x->v->args[k]);
    bind_text(e->x->b, key, "0.f");
    return true;
}

static bool bind_states(struct extra *e)
{
    const struct value *v = e->x->v;
    bool gru = v->op == OP_GRU, relu = v->op == OP_RNN && value_flag(v, "relu");
    bind_text(e->x->b, "relu", relu ? "true" : "false");
    return bind_operand(e, "hidden", gru ? 3 : 2) && bind_operand(e, "bias", gru ? 2 : 0) &&
           bind_operand(e, "cell", v->op == OP_LSTM ? 3 : 0);
}

const struct pb_op *match_recurrent(struct match *x)
{
    const struct value *v = x->v;
    if (op_row(v->op)->kind != OPK_RECURRENT) {
        cannot_write(x->why, "more than a recurrent layer, at", v);
        return NULL;
    }
    int gates = input_of(x, v->args[0]), weight = input_of(x, v->args[1]);
    if (gates < 0 || weight < 0) {
        cannot_write(x->why, "gates or a weight that is not stored, at", v);
        return NULL;
    }
    struct extra e = {.x = x, .params = STRBUF_INIT(1024), .args = STRBUF_INIT(4096)};
    bool ok = bind_states(&e);
    for (int i = 0; ok && i < (int)x->m->n; i++)
        if (i >= (int)x->m->inputs || !(e.used[i] || i == gates || i == weight)) {
            strbuf_addf(x->why, "the recurrent layer does not use '%s'", x->m->names[i]);
            ok = false;
        }
    if (ok) {
        const struct dim *const *g = v->args[0]->shape, *const *w = v->args[1]->shape;
        bind_text(x->b, "params", e.params.buf);
        bind_text(x->b, "extra", e.args.buf);
        x->seen =
            json_pack("{s:[o, o, o], s:{}}", "tensors",
                      tensor_with_shape(x->m, (size_t)gates, g[0], g[1], g[2]),
                      tensor_with_shape(x->m, (size_t)weight, w[0], w[1], NULL),
                      tensor_with_shape(x->m, x->m->inputs, g[0], g[1], v->shape[2]), "scalars");
    }
    strbuf_release(&e.params);
    strbuf_release(&e.args);
    return ok ? op_called(x->pb, op_row(v->op)->name) : NULL;
}
