/* epilogue.c - writes the CUDA expression that an epilogue applies to each element of a product or
 * convolution (epilogue.h). */
#include "playbook/match/epilogue.h"

#include <string.h>

#include "base/util.h"
#include "playbook/match/band.h"
#include "playbook/match/view.h"

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

static bool is_along(const struct value *t, const struct value *d, uint32_t axis)
{
    if (t->rank > d->rank || d->rank - t->rank > axis)
        return false;
    for (uint32_t i = 0; i < t->rank; i++) {
        uint32_t of_d = d->rank - t->rank + i;
        if (of_d == axis ? !dim_same(t->shape[i], d->shape[axis]) : !dim_is(t->shape[i], 1))
            return false;
    }
    return true;
}

static bool is_like(const struct value *t, const struct value *d)
{
    bool same = t->rank == d->rank;
    for (uint32_t i = 0; same && i < t->rank; i++)
        same = dim_same(t->shape[i], d->shape[i]);
    return same;
}

/* d has the product's elements in the same order. Returns the axis of d along which n runs, the
 * index of the columns or channels. Returns -1 if a reshape split or merged this axis. */
static int axis_of_n(const struct epilogue *e, const struct value *d)
{
    const struct value *p = e->product;
    if (e->rows)
        return d->rank && dim_same(d->shape[d->rank - 1], p->shape[p->rank - 1]) ? (int)d->rank - 1
                                                                                 : -1;
    return d->rank > 1 && is_like(d, p) ? 1 : -1;
}

/* Returns the index at which the epilogue reads input t for an element of d: "0" if t has a single
 * value, "n" if t has one value for each column or channel, "at" if t has the shape of d. Otherwise
 * returns NULL. */
static const char *place_of(const struct epilogue *e, const struct value *t, const struct value *d)
{
    int axis = axis_of_n(e, d);
    return is_one(t)                                     ? "0"
           : axis >= 0 && is_along(t, d, (uint32_t)axis) ? "n"
           : is_like(t, d)                               ? "at"
                                                         : NULL;
}

/* An index is a value such as torch.arange(M)[:, None]. If v is an index along an axis of d,
 * returns its name: "n" along the columns or channels, "m" along the rows, "0" if v has a single
 * element. Otherwise returns NULL. */
static const char *index_name(const struct epilogue *e, const struct value *v,
                              const struct value *d)
{
    const struct value *from = v;
    int axis = axis_of_n(e, d);
    while (from->op == OP_RESHAPE)
        from = from->args[0];
    if (from->op != OP_IOTA || from->rank != 1)
        return NULL;
    if (is_one(v))
        return "0";
    if (axis >= 0 && is_along(v, d, (uint32_t)axis))
        return "n";
    bool rows = e->m && axis > 0 && dim_same(d->shape[axis - 1], e->m);
    return rows && is_along(v, d, (uint32_t)axis - 1) ? "m" : NULL;
}

/* ---- the expression -------------------------------------------------------------------------- */

struct writing {
    struct match *x;
    const struct epilogue *e;
    /* The indices in the text refer to the shape of this value. Inside a reshape, that is the value
     * before the reshape. */
    const struct value *domain;
    unsigned reshapes;
    bool used[2 * PB_MAX_TENSORS]; /* the expression reads v<i> */
};

enum { MAX_RESHAPES = 8 };

static void write_input(struct writing *w, int i, const char *place, struct strbuf *out)
{
    w->used[i] = true;
    strbuf_addf(out, "%s(e.v%d[%s])", value_type(w->x->m->types[i]), i, place);
}

bool size_uses(const struct meaning *m, const struct dim *size, const char *name)
{
    for (size_t i = 0; i < m->g.dims.nnames; i++)
        if (str_eq(m->g.dims.names[i], name))
            return dim_uses(size, i);
    return false;
}

static bool leaf(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why);

static bool is_any_input(void *m, const struct value *v)
{
    return meaning_input(m, v) >= 0;
}

/* Writes a reshape or permute that keeps the elements in order. v must have the shape of
 * w->domain. */
static bool write_reshape(struct writing *w, const struct value *v, struct strbuf *out,
                          struct strbuf *why)
{
    const struct view_end end = {is_any_input, w->x->m, false};
    struct view view;
    if ((v->op != OP_RESHAPE && v->op != OP_PERMUTE) || w->reshapes == MAX_RESHAPES ||
        !is_like(v, w->domain) || !read_view(&w->x->m->g.dims, v, &end, &view) ||
        !view_is_array(&view))
        return false;
    struct leaves leaves = {leaf, w, false};
    const struct value *domain = w->domain;
    w->domain = view.base;
    w->reshapes++;
    write_expression(view.base, &leaves, out, why);
    w->reshapes--;
    w->domain = domain;
    return true;
}

static bool leaf(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why)
{
    struct writing *w = ctx;
    struct match *x = w->x;
    if (v == w->e->product) {
        if (w->e->rows && !is_like(v, w->domain))
            strbuf_adds(why, "the task's product is smaller than the result");
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
        const char *place = place_of(w->e, v, w->domain);
        if (i == w->e->bias)
            strbuf_adds(why, "the task's bias does not have one value for each channel, or is used "
                             "elsewhere too");
        else if (!place || !element_type(x->m->types[i]))
            strbuf_addf(why, "'%s' has neither the shape of the result nor one value for each %s",
                        x->m->names[i], w->e->rows ? "column" : "channel");
        else
            write_input(w, i, place, out);
        return true;
    }
    const char *index = index_name(w->e, v, w->domain);
    if (index) {
        strbuf_addf(out, "%s(%s)", value_type(v->dtype), index);
        return true;
    }
    if (write_reshape(w, v, out, why))
        return true;
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

/* Binds texts for everything that the expression reads:
 * - `fields`: the members of struct Extra (playbooks/parts/epilogue.cu);
 * - `params`: the kernel's parameters;
 * - `extra`: the plan's arguments;
 * - `data`: the names v<i>;
 * - `reads`: "true" if the expression reads an input, else "false".
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
                strbuf_addf(x->why, "the task's PyTorch expression does not use '%s'",
                            x->m->names[i]);
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

/* ---- masks ----------------------------------------------------------------------------------- */

static bool needs(const struct match *x, const struct value *v, const struct value *product)
{
    return v && v->id >= product->id && graph_needed(&x->m->g, v, NULL, &x->m->mem)[product->id];
}

struct place {
    const struct epilogue *e;
    const struct value *domain;
};

static int sign_of_index(void *ctx, const struct value *v)
{
    const struct place *at = ctx;
    const char *name = index_name(at->e, v, at->domain);
    return !name ? 0 : *name == 'n' ? 1 : *name == 'm' ? -1 : 0;
}

/* Finds the diagonal band (band.h) of the elements for which the epilogue uses the product. For the
 * other elements, a torch.where() ignores the product. */
static struct band find_band(const struct match *x, const struct epilogue *e)
{
    const struct value *v = x->v, *next;
    struct band all = BAND_EVERYWHERE;
    for (; v != e->product; v = next) {
        uint32_t ways = 0, at = 0;
        for (uint32_t i = 0; i < v->nargs; i++)
            if (needs(x, v->args[i], e->product)) {
                at = i;
                ways++;
            }
        if (ways != 1 || op_row(v->op)->kind != OPK_ELEMENTWISE)
            break;
        struct place place = {e, v};
        if (v->op == OP_WHERE && at > 0)
            band_narrow(v->args[0], at == 1, &(struct band_index){sign_of_index, &place}, &all);
        next = v->args[at];
    }
    return all;
}

bool bind_epilogue(struct match *x, const struct epilogue *e)
{
    struct writing w = {.x = x, .e = e, .domain = x->v};
    struct strbuf expr = STRBUF_INIT(32 << 10);
    struct leaves leaves = {leaf, &w, false};
    bool ok = write_expression(x->v, &leaves, &expr, x->why) && bind_reads(x, &w);
    if (ok)
        bind_text(x->b, "epilogue", expr.buf);
    if (ok && e->rows)
        bind_band(x, find_band(x, e));
    strbuf_release(&expr);
    return ok;
}
