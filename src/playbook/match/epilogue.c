/* epilogue.c - writes the expression around a product, with the index of each input's element. */
#include "playbook/match/epilogue.h"

#include <string.h>

#include "base/util.h"

const struct value *only_one(const struct match *x, enum graph_op op)
{
    const struct value *found = NULL;
    const bool *needed = graph_needed(&x->m->g, x->v, NULL, &x->m->mem);
    for (size_t i = 0; i <= x->v->id; i++) {
        const struct value *v = x->m->g.values.items[i];
        if (!needed[i] || v->op != op)
            continue;
        if (found)
            return NULL;
        found = v;
    }
    return found;
}

int input_but_casts(const struct meaning *m, const struct value *v)
{
    while (v->op == OP_CAST && dtype_is_float(v->dtype) && dtype_is_float(v->args[0]->dtype))
        v = v->args[0];
    return meaning_input(m, v);
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool is_one(const struct value *t)
{
    for (uint32_t i = 0; i < t->rank; i++)
        if (!dim_is(t->shape[i], 1))
            return false;
    return true;
}

/* Does t have exactly one value for each index of that axis of the result? */
static bool is_along(const struct value *t, const struct graph_output *c, uint32_t axis)
{
    if (t->rank > c->rank || c->rank - t->rank > axis)
        return false;
    for (uint32_t i = 0; i < t->rank; i++) {
        uint32_t of_c = c->rank - t->rank + i;
        if (of_c == axis ? !dim_same(t->shape[i], c->shape[axis]) : !dim_is(t->shape[i], 1))
            return false;
    }
    return true;
}

static bool is_like(const struct value *t, const struct graph_output *c)
{
    bool same = t->rank == c->rank;
    for (uint32_t i = 0; same && i < t->rank; i++)
        same = dim_same(t->shape[i], c->shape[i]);
    return same;
}

/* The index at which input i holds the value for an element of the result, written with the
 * template's names. NULL if the input has none of the shapes that an epilogue may read. */
static const char *place_of(const struct match *x, const struct epilogue *e, int i)
{
    const struct graph_output *c = &x->m->g.outputs.items[0];
    const struct value *t = x->m->seen[i];
    uint32_t axis = e->rows ? c->rank - 1 : 1;
    return is_one(t) ? "0" : is_along(t, c, axis) ? "n" : is_like(t, c) ? "at" : NULL;
}

/* ---- the expression -------------------------------------------------------------------------- */

struct writing {
    struct match *x;
    const struct epilogue *e;
    bool used[2 * PB_MAX_TENSORS];
};

static void write_input(struct writing *w, int i, const char *place, struct strbuf *out)
{
    w->used[i] = true;
    strbuf_addf(out, "%s(e.v%d[%s])", value_type(w->x->m->types[i]), i, place);
}

static bool size_uses(const struct meaning *m, const struct dim *size, const char *name)
{
    for (size_t i = 0; i < m->g.dims.nnames; i++)
        if (str_eq(m->g.dims.names[i], name))
            return dim_uses(size, i);
    return false;
}

static bool leaf(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why)
{
    struct writing *w = ctx;
    struct match *x = w->x;
    if (v == w->e->product) {
        if (w->e->bias < 0) {
            strbuf_adds(out, "v");
            return true;
        }
        strbuf_adds(out, "(v + ");
        write_input(w, w->e->bias, "n", out);
        strbuf_addc(out, ')');
        return true;
    }
    int i = meaning_input(x->m, v);
    if (i >= 0) {
        const char *place = place_of(x, w->e, i);
        if (i == w->e->bias)
            strbuf_adds(
                why, "its bias does not have one value for each channel, or is used elsewhere too");
        else if (!place || !element_type(x->m->types[i]))
            strbuf_addf(why, "'%s' has neither the shape of the result nor one value for each %s",
                        x->m->names[i], w->e->rows ? "column" : "channel");
        else
            write_input(w, i, place, out);
        return true;
    }
    if (!write_value_number(x->m, v, "e.", out))
        return false;
    for (size_t k = x->m->inputs; k < x->m->n; k++)
        w->used[k] |= v->op == OP_SIZE ? size_uses(x->m, v->size, x->m->names[k])
                                       : str_eq(x->m->names[k], v->name);
    return true;
}

static bool is_output(const struct match *x, int i)
{
    vec_each (const struct graph_output, o, &x->m->g.outputs)
        if (str_eq(o->name, x->m->names[i]))
            return true;
    return false;
}

/* For everything that the expression reads, binds the member of the parameter struct, the kernel's
 * parameter, the plan's argument and the name.
 */
static bool bind_reads(struct match *x, const struct writing *w)
{
    struct strbuf fields = STRBUF_INIT(4096), params = STRBUF_INIT(4096), args = STRBUF_INIT(4096),
                  data = STRBUF_INIT(1024);
    bool ok = true, reads = false;
    for (int i = 0; ok && i < (int)x->m->n; i++) {
        bool in = i < (int)x->m->inputs;
        if (!w->used[i]) {
            ok = !in || i == w->e->operands[0] || i == w->e->operands[1];
            if (!ok)
                strbuf_addf(x->why, "its PyTorch expression does not use '%s'", x->m->names[i]);
            continue;
        }
        ok = !in || !is_output(x, i);
        if (!ok)
            strbuf_addf(x->why, "'%s' is updated in place", x->m->names[i]);
        const char *type = in ? element_type(x->m->types[i]) : value_type(x->m->types[i]);
        reads |= in;
        strbuf_addf(&fields, "%s%s%s %sv%d;", fields.len ? "\n    " : "", in ? "const " : "", type,
                    in ? "*" : "", i);
        strbuf_addf(&params, "%s%s %sv%d, ", in ? "const " : "", type, in ? "*" : "", i);
        strbuf_addf(&args, "\"%s\", ", x->m->names[i]);
        strbuf_addf(&data, "%sv%d", data.len ? ", " : "", i);
    }
    const struct {
        const char *key, *text;
    } texts[] = {{"fields", fields.buf},
                 {"params", params.buf},
                 {"extra", args.buf},
                 {"data", data.buf},
                 {"reads", reads ? "true" : "false"}};
    for (size_t i = 0; ok && i < ARRAY_LEN(texts); i++)
        bind_text(x->b, texts[i].key, texts[i].text);
    strbuf_release(&fields);
    strbuf_release(&params);
    strbuf_release(&args);
    strbuf_release(&data);
    return ok;
}

bool bind_epilogue(struct match *x, const struct epilogue *e)
{
    struct writing w = {.x = x, .e = e};
    struct strbuf expr = STRBUF_INIT(32 << 10);
    struct leaves leaves = {leaf, &w};
    bool ok = write_expression(x->v, &leaves, &expr, x->why) && bind_reads(x, &w);
    if (ok)
        bind_text(x->b, "epilogue", expr.buf);
    strbuf_release(&expr);
    return ok;
}
