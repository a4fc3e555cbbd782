/* json_write.c - writes a graph as JSON. */
#include "graph/json.h"

#include <inttypes.h>

#include "base/util.h"
#include "graph/print.h"
#include "sys/json.h"

static json_t *dims_json(const struct dim *const *d, size_t n)
{
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(a, json_text(d[i]->text));
    return a;
}

static json_t *ints_json(const int64_t *v, size_t n)
{
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(a, json_integer(v[i]));
    return a;
}

static json_t *attr_json(const struct attr *a)
{
    switch (a->kind) {
    case ATTR_NONE:
        return json_null();
    case ATTR_BOOL:
        return json_boolean(a->i);
    case ATTR_INT:
        return json_integer(a->i);
    case ATTR_REAL:
        return json_from_double(a->real);
    case ATTR_AXES:
    case ATTR_INTS:
        return ints_json(a->ints, a->n);
    case ATTR_DIMS:
        return dims_json(a->dims, a->n);
    case ATTR_DIM:
        return json_text(a->dims[0]->text);
    case ATTR_TEXT:
        return json_text(a->text);
    case ATTR_DTYPE:
        return json_string(dtype_name(a->dtype));
    }
    BUG("an attribute of kind %d", a->kind);
}

static json_t *number_json(const struct value *v)
{
    if (!dtype_is_float(v->dtype))
        return json_integer((json_int_t)v->number);
    json_t *j = json_from_double(v->number);
    return json_is_string(j) ? json_pack("{s:o}", "number", j) : j;
}

static json_t *operand_json(const struct value *v, const uint32_t *numbers)
{
    if (!v)
        return json_null();
    switch (v->op) {
    case OP_INPUT:
    case OP_SCALAR:
        return json_text(v->name);
    case OP_NUMBER:
        return number_json(v);
    case OP_SIZE:
        return json_pack("{s:o}", "size", json_text(v->size->text));
    default:
        return json_sprintf("%%%" PRIu32, numbers[v->id]);
    }
}

static json_t *tensor_json(const char *name, enum dtype t, uint32_t rank,
                           const struct dim *const *shape)
{
    return json_pack("{s:o, s:s, s:o}", "name", json_text(name), "dtype", dtype_name(t), "shape",
                     dims_json(shape, rank));
}

static json_t *value_json(const struct value *v, const uint32_t *numbers)
{
    const struct op_param *p;
    json_t *args = json_array(), *attrs = json_object();
    for (size_t i = 0; i < v->nargs; i++)
        json_array_append_new(args, operand_json(v->args[i], numbers));
    op_attrs(v->op, &p);
    for (size_t i = 0; i < v->nattrs; i++)
        if (!attr_same(&v->attrs[i], &p[i].value))
            json_object_set_new(attrs, p[i].name, attr_json(&v->attrs[i]));
    json_t *j = json_pack("{s:o, s:s, s:o}", "id", operand_json(v, numbers), "op",
                          op_row(v->op)->name, "args", args);
    if (json_object_size(attrs))
        json_object_set(j, "attrs", attrs);
    json_decref(attrs);
    json_object_set_new(j, "dtype", json_string(dtype_name(v->dtype)));
    json_object_set_new(j, "shape", dims_json(v->shape, v->rank));
    return j;
}

/* Writes the names that sizes may mention, except those of scalars. */
static json_t *axes_json(const struct graph *g)
{
    json_t *axes = json_array();
    for (size_t i = 0; i < g->dims.nnames; i++) {
        const char *name = g->dims.names[i];
        const struct dim *value = g->dims.values[i];
        const struct value *v = graph_find(g, name);
        if (v && v->op == OP_SCALAR)
            continue;
        bool constant = value && value->is_number;
        json_array_append_new(axes, constant ? json_pack("{s:o, s:I}", "name", json_text(name),
                                                         "value", (json_int_t)value->value)
                                             : json_text(name));
    }
    return axes;
}

/* Writes the guards (conditions on the sizes), and the definitions of axes that are computed from
 * others, for example "OH == (H+1)/2". */
static json_t *guards_json(const struct graph *g)
{
    json_t *guards = json_array();
    for (size_t i = 0; i < g->dims.nnames; i++) {
        const struct dim *value = g->dims.values[i];
        /* An axis C that is a multiple of 8 is defined as 8*(C/8), which mentions C itself. We
         * leave this out, because g->guards already has "C % 8 == 0". */
        if (value && !value->is_number && !dim_uses(value, i))
            json_array_append_new(guards, json_sprintf("%s == %s", g->dims.names[i], value->text));
    }
    for (size_t i = 0; i < g->nguards; i++)
        json_array_append_new(guards, json_text(g->guards[i]));
    return guards;
}

json_t *graph_to_json(const struct graph *g)
{
    struct arena a = ARENA_INIT;
    const uint32_t *numbers = graph_numbers(g, &a);
    json_t *inputs = json_array(), *scalars = json_array(), *values = json_array(),
           *outputs = json_array();
    vec_each (const struct value *const, v, &g->inputs)
        json_array_append_new(inputs,
                              tensor_json((*v)->name, (*v)->dtype, (*v)->rank, (*v)->shape));
    vec_each (const struct value *const, v, &g->scalars)
        json_array_append_new(scalars, json_pack("{s:o, s:s}", "name", json_text((*v)->name),
                                                 "dtype", dtype_name((*v)->dtype)));
    for (size_t i = 0; i < g->values.n; i++)
        if (numbers[i])
            json_array_append_new(values, value_json(g->values.items[i], numbers));
    vec_each (const struct graph_output, o, &g->outputs) {
        json_t *j = tensor_json(o->name, o->dtype, o->rank, o->shape);
        json_object_set_new(j, "value", operand_json(o->value, numbers));
        json_array_append_new(outputs, j);
    }
    arena_release(&a);
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "version", GRAPH_JSON_VERSION, "axes",
                     axes_json(g), "inputs", inputs, "scalars", scalars, "values", values,
                     "outputs", outputs, "guards", guards_json(g));
}
