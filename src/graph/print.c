/* print.c - writes a graph as text, in the form that print.h shows. */
#include "graph/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

struct printer {
    struct strbuf *out;
    const struct graph *g;
    /* By a value's id: how often it is used, and its number in the text, such as 3 for "%3" (0 = it
     * has none). */
    const uint32_t *uses, *numbers;
};

/* ---- types and numbers ----------------------------------------------------------------------- */

static void print_dims(struct strbuf *out, const struct dim *const *d, size_t n)
{
    strbuf_addc(out, '[');
    for (size_t i = 0; i < n; i++)
        strbuf_addf(out, "%s%s", i ? ", " : "", d[i]->text);
    strbuf_addc(out, ']');
}

void graph_print_type(struct strbuf *out, enum dtype t, uint32_t rank,
                      const struct dim *const *shape)
{
    strbuf_adds(out, dtype_name(t));
    print_dims(out, shape, rank);
}

static void print_real(struct strbuf *out, double v)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (isnan(v) || strtod(text, NULL) == v)
            break;
    }
    strbuf_adds(out, isnan(v) ? "nan" : text);
    if (isfinite(v) && !strpbrk(text, ".e"))
        strbuf_adds(out, ".0");
}

void graph_print_number(struct strbuf *out, const struct value *v)
{
    if (dtype_is_float(v->dtype))
        print_real(out, v->number);
    else
        strbuf_addf(out, "%.0f", v->number);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void print_operand(const struct printer *p, const struct value *v)
{
    switch (v->op) {
    case OP_INPUT:
    case OP_SCALAR:
        strbuf_adds(p->out, v->name);
        break;
    case OP_NUMBER:
        graph_print_number(p->out, v);
        break;
    case OP_SIZE:
        strbuf_adds(p->out, v->size->text);
        break;
    default:
        strbuf_addf(p->out, "%%%" PRIu32, p->numbers[v->id]);
    }
}

static void print_ints(struct strbuf *out, const struct attr *a)
{
    strbuf_addc(out, '[');
    for (size_t i = 0; i < a->n; i++)
        strbuf_addf(out, "%s%" PRId64, i ? ", " : "", a->ints[i]);
    strbuf_addc(out, ']');
}

/* Prints axes in brackets. A single axis gets no brackets, and is -1 if it is the operand's last
 * axis. */
static void print_axes(struct strbuf *out, const struct value *v, const struct attr *a)
{
    uint32_t rank = v->nargs && v->args[0] ? v->args[0]->rank : 0;
    if (a->n != 1)
        print_ints(out, a);
    else if (a->ints[0] + 1 == rank)
        strbuf_adds(out, "-1");
    else
        strbuf_addf(out, "%" PRId64, a->ints[0]);
}

static void print_attr(struct strbuf *out, const struct value *v, const char *name,
                       const struct attr *a)
{
    strbuf_addf(out, "%s%s", out->buf[out->len - 1] == '(' ? "" : ", ", name);
    if (a->kind == ATTR_BOOL && a->i)
        return;
    strbuf_addc(out, '=');
    switch (a->kind) {
    case ATTR_NONE:
        strbuf_adds(out, "none");
        break;
    case ATTR_BOOL:
        strbuf_adds(out, "false");
        break;
    case ATTR_INT:
        strbuf_addf(out, "%" PRId64, a->i);
        break;
    case ATTR_REAL:
        print_real(out, a->real);
        break;
    case ATTR_AXES:
        print_axes(out, v, a);
        break;
    case ATTR_INTS:
        print_ints(out, a);
        break;
    case ATTR_DIMS:
        print_dims(out, a->dims, a->n);
        break;
    case ATTR_DIM:
        strbuf_adds(out, a->dims[0]->text);
        break;
    case ATTR_TEXT:
        strbuf_adds(out, a->text);
        break;
    case ATTR_DTYPE:
        strbuf_adds(out, dtype_name(a->dtype));
        break;
    }
}

/* The defaults of a conv are 1 for stride, dilation and groups, 0 for padding. */
static bool is_usual_conv(const char *name, const struct attr *a)
{
    bool pads = str_eq(name, "before") || str_eq(name, "after");
    for (size_t i = 0; i < a->n; i++)
        if (a->kind == ATTR_INTS ? a->ints[i] != 1 : !dim_is(a->dims[i], pads ? 0 : 1))
            return false;
    return true;
}

/* The text may leave out an attribute that has its default, or that the type of the result
 * shows. */
static bool is_left_out(const struct value *v, const struct op_param *p, const struct attr *a)
{
    const struct value *x = v->args[0];
    if (x && op_row(v->op)->kind == OPK_REDUCTION && str_eq(p->name, "dim"))
        return a->n == x->rank; /* all axes */
    if (v->op == OP_CONV)
        return is_usual_conv(p->name, a);
    return attr_same(a, &p->value) || (v->op == OP_CAST && str_eq(p->name, "dtype")) ||
           ((v->op == OP_RESHAPE || v->op == OP_EXPAND) && str_eq(p->name, "shape"));
}

static void print_call(const struct printer *p, const struct value *v)
{
    const struct op_param *par;
    bool absent = false, first = true;
    strbuf_addf(p->out, "%s(", op_row(v->op)->name);
    op_args(v->op, &par);
    for (size_t i = 0; i < v->nargs; i++) {
        if (!v->args[i]) {
            absent = true;
            continue;
        }
        strbuf_adds(p->out, first ? "" : ", ");
        if (absent)
            strbuf_addf(p->out, "%s=", par[i].name);
        print_operand(p, v->args[i]);
        first = false;
    }
    op_attrs(v->op, &par);
    for (size_t i = 0; i < v->nattrs; i++)
        if (!is_left_out(v, &par[i], &v->attrs[i]))
            print_attr(p->out, v, par[i].name, &v->attrs[i]);
    strbuf_addc(p->out, ')');
}

/* ---- the whole ------------------------------------------------------------------------------- */

const uint32_t *graph_numbers(const struct graph *g, struct arena *a)
{
    const uint32_t *uses = graph_uses(g, a);
    uint32_t *numbers = arena_alloc(a, (g->values.n + 1) * sizeof *numbers), n = 0;
    for (size_t i = 0; i < g->values.n; i++)
        if (uses[i] && op_row(g->values.items[i]->op)->kind != OPK_LEAF)
            numbers[i] = ++n;
    return numbers;
}

static void print_leaf(const struct printer *p, const struct value *v)
{
    strbuf_addf(p->out, "%s: ", v->name);
    if (v->op == OP_SCALAR)
        strbuf_adds(p->out, dtype_name(v->dtype));
    else
        graph_print_type(p->out, v->dtype, v->rank, v->shape);
    strbuf_adds(p->out, p->uses[v->id] ? "\n" : " (not used)\n");
}

/* The output's line can hold the operation if the value has no other use and has the declared
 * type. */
static bool is_only_output(const struct printer *p, const struct graph_output *o)
{
    const struct value *v = o->value;
    if (!p->numbers[v->id] || p->uses[v->id] != 1 || v->dtype != o->dtype || v->rank != o->rank)
        return false;
    for (uint32_t d = 0; d < v->rank; d++)
        if (v->shape[d] != o->shape[d])
            return false;
    return true;
}

static bool stands_in_output(const struct printer *p, const struct value *v)
{
    vec_each (const struct graph_output, o, &p->g->outputs)
        if (o->value == v)
            return is_only_output(p, o);
    return false;
}

static void print_value(const struct printer *p, const struct value *v)
{
    strbuf_addf(p->out, "%%%" PRIu32 " = ", p->numbers[v->id]);
    print_call(p, v);
    strbuf_adds(p->out, ": ");
    graph_print_type(p->out, v->dtype, v->rank, v->shape);
    strbuf_addc(p->out, '\n');
}

void graph_print(struct strbuf *out, const struct graph *g)
{
    struct arena a = ARENA_INIT;
    struct printer p = {out, g, graph_uses(g, &a), graph_numbers(g, &a)};
    for (size_t i = 0; i < g->dims.nnames; i++)
        if (g->dims.values[i] && !dim_uses(g->dims.values[i], i))
            strbuf_addf(out, "%s = %s\n", g->dims.names[i], g->dims.values[i]->text);
    vec_each (const struct value *const, v, &g->inputs)
        print_leaf(&p, *v);
    vec_each (const struct value *const, v, &g->scalars)
        print_leaf(&p, *v);
    for (size_t i = 0; i < g->values.n; i++)
        if (p.numbers[i] && !stands_in_output(&p, g->values.items[i]))
            print_value(&p, g->values.items[i]);
    vec_each (const struct graph_output, o, &g->outputs) {
        strbuf_addf(out, "%s: ", o->name);
        graph_print_type(out, o->dtype, o->rank, o->shape);
        strbuf_adds(out, " = ");
        if (is_only_output(&p, o))
            print_call(&p, o->value);
        else
            print_operand(&p, o->value);
        strbuf_addc(out, '\n');
    }
    arena_release(&a);
}
