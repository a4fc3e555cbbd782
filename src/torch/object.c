/*
 * object.c - makes Python objects, checks them against what parameters need, and adds operations to
 * the graph.
 */
#include "torch/object.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/util.h"

void give_reason(struct build *b, enum err_kind kind, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (b->err.kind != ERR_NONE)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err_set(&b->err, kind, "%s", text);
}

/* ---- making objects -------------------------------------------------------------------------- */

struct object obj_none(void)
{
    return (struct object){.kind = OBJ_NONE};
}

struct object obj_bool(bool yes)
{
    return (struct object){.kind = OBJ_BOOL, .yes = yes};
}

struct object obj_int(const struct dim *d)
{
    return (struct object){.kind = OBJ_INT, .dim = d};
}

struct object obj_number(struct build *b, int64_t v)
{
    return obj_int(dim_number(&b->g->dims, v));
}

struct object obj_float(double v)
{
    return (struct object){.kind = OBJ_FLOAT, .real = v};
}

struct object obj_tuple(struct build *b, const struct object *items, size_t n)
{
    struct object *all = arena_alloc(b->mem, (n ? n : 1) * sizeof *all);
    if (n)
        memcpy(all, items, n * sizeof *all);
    return (struct object){.kind = OBJ_TUPLE, .items = all, .n = n};
}

struct object obj_shape(struct build *b, const struct value *v)
{
    struct object sizes[GRAPH_MAX_RANK];
    for (uint32_t i = 0; i < v->rank; i++)
        sizes[i] = obj_int(v->shape[i]);
    return obj_tuple(b, sizes, v->rank);
}

bool obj_set(struct build *b, const struct value *v, struct object *out)
{
    if (!v)
        return refuse(b, "this has no value");
    if (v->op == OP_NUMBER && dtype_is_float(v->dtype))
        *out = obj_float(v->number);
    else if (v->op == OP_NUMBER)
        *out = obj_number(b, (int64_t)v->number);
    else if (v->op == OP_SIZE)
        *out = obj_int(v->size);
    else
        *out = (struct object){.kind = OBJ_VALUE, .value = v};
    return true;
}

/* ---- what an object is ----------------------------------------------------------------------- */

const char *obj_what(const struct object *o)
{
    static const char *const names[OBJ_COUNT] = {
        [OBJ_NONE] = "None",
        [OBJ_BOOL] = "a bool",
        [OBJ_INT] = "an integer",
        [OBJ_FLOAT] = "a float",
        [OBJ_VALUE] = "a tensor",
        [OBJ_TEXT] = "a string",
        [OBJ_DTYPE] = "a dtype",
        [OBJ_FINFO] = "a finfo",
        [OBJ_DEVICE] = "a device",
        [OBJ_TUPLE] = "a tuple",
        [OBJ_SLICE] = "a slice",
        [OBJ_DOTS] = "'...'",
        [OBJ_MISSING] = "a result that is not computed",
    };
    if (o->kind == OBJ_VALUE && o->value->weak)
        return "a number";
    return names[o->kind];
}

bool obj_is_none(const struct object *o)
{
    return o->kind == OBJ_NONE;
}

bool obj_is_text(const struct object *o, const char *text)
{
    return o->kind == OBJ_TEXT && str_eq(o->text, text);
}

bool obj_real(const struct object *o, double *out)
{
    if (o->kind == OBJ_FLOAT)
        *out = o->real;
    else if (o->kind == OBJ_INT && o->dim->is_number)
        *out = (double)o->dim->value;
    else if (o->kind == OBJ_BOOL)
        *out = o->yes;
    else
        return false;
    return true;
}

bool obj_whole(const struct object *o, int64_t *out)
{
    if (o->kind == OBJ_INT && o->dim->is_number)
        *out = o->dim->value;
    else if (o->kind == OBJ_BOOL)
        *out = o->yes;
    else
        return false;
    return true;
}

bool obj_is(const struct object *o, double v)
{
    double is;
    return obj_real(o, &is) && is == v;
}

/* ---- what a parameter asks for --------------------------------------------------------------- */

/* Returns the size d as a value of the graph. If d is just a scalar of the task, returns that
 * scalar. */
static const struct value *size_value(struct build *b, const struct dim *d)
{
    /* The reference computes in double, exact up to this number. */
    const int64_t most = INT64_C(1) << 53;
    if (d->is_number && (d->value < -most || d->value > most))
        return refuse_value(b, "the number %lld is beyond 2^53", (long long)d->value);
    for (size_t i = 0; i < b->g->scalars.n && !d->is_number; i++)
        if (str_eq(b->g->scalars.items[i]->name, d->key))
            return b->g->scalars.items[i];
    return graph_size(b->g, d);
}

const struct value *need_value(struct build *b, const struct object *o, const char *name)
{
    switch (o->kind) {
    case OBJ_VALUE:
        return o->value;
    case OBJ_INT:
        return size_value(b, o->dim);
    case OBJ_FLOAT:
        return graph_number(b->g, o->real);
    case OBJ_BOOL:
        return graph_cast(b->g, graph_integer(b->g, o->yes), DT_BOOL, &b->err);
    case OBJ_MISSING:
        return refuse_value(b, "%s cannot be computed here", o->text);
    default:
        return refuse_value(b, "'%s' must be a tensor or a number, not %s", name, obj_what(o));
    }
}

const struct value *need_tensor(struct build *b, const struct object *o, const char *name)
{
    if (o->kind == OBJ_VALUE && !o->value->weak)
        return o->value;
    if (o->kind == OBJ_MISSING)
        return refuse_value(b, "%s cannot be computed here", o->text);
    return refuse_value(b, "'%s' must be a tensor, not %s", name, obj_what(o));
}

const struct dim *need_dim(struct build *b, const struct object *o, const char *name)
{
    int64_t v;
    if (o->kind == OBJ_INT)
        return o->dim;
    if (obj_whole(o, &v))
        return dim_number(&b->g->dims, v);
    refuse(b, "'%s' must be an integer or a size, not %s", name, obj_what(o));
    return NULL;
}

bool need_whole(struct build *b, const struct object *o, const char *name, int64_t *out)
{
    return obj_whole(o, out) ||
           refuse(b, "'%s' must be an integer that is known, not %s", name, obj_what(o));
}

bool need_bool(struct build *b, const struct object *o, const char *name, bool *out)
{
    if (o->kind != OBJ_BOOL)
        return refuse(b, "'%s' must be True or False, not %s", name, obj_what(o));
    *out = o->yes;
    return true;
}

bool need_dtype(struct build *b, const struct object *o, const char *name, enum dtype *out)
{
    *out = o->dtype;
    return o->kind == OBJ_DTYPE ||
           refuse(b, "'%s' must be a dtype such as torch.float32, not %s", name, obj_what(o));
}

bool need_axis(struct build *b, const struct object *o, uint32_t rank, int64_t *out)
{
    if (!need_whole(b, o, "dim", out))
        return false;
    /* PyTorch accepts axis 0 and -1 for a value without axes. */
    int64_t axis = *out, n = rank ? rank : 1;
    *out += axis < 0 ? n : 0;
    return (*out >= 0 && *out < n) ||
           refuse(b, "a tensor of rank %u has no axis %lld", rank, (long long)axis);
}

bool need_axes(struct build *b, const struct object *o, uint32_t rank, struct attr *out)
{
    const struct object *all = o->kind == OBJ_TUPLE ? o->items : o;
    size_t n = o->kind == OBJ_TUPLE ? o->n : 1;
    *out = attr_none();
    if (o->kind == OBJ_NONE || (o->kind == OBJ_TUPLE && !n))
        return true;
    if (n > GRAPH_MAX_RANK)
        return refuse(b, "%zu axes are more than the tensor has", n);
    int64_t axes[GRAPH_MAX_RANK];
    for (size_t i = 0; i < n; i++)
        if (!need_axis(b, &all[i], rank, &axes[i]))
            return false;
    if (rank) /* a tensor without axes has none to name */
        *out = attr_axes(axes, n);
    return true;
}

bool need_dims(struct build *b, const struct object *o, const char *name, const struct dim **out,
               size_t *n)
{
    const struct object *all = o->kind == OBJ_TUPLE ? o->items : o;
    *n = o->kind == OBJ_TUPLE ? o->n : 1;
    if (*n > GRAPH_MAX_RANK)
        return refuse(b, "'%s' has %zu sizes; a tensor has at most %d axes", name, *n,
                      GRAPH_MAX_RANK);
    for (size_t i = 0; i < *n; i++)
        if (!(out[i] = need_dim(b, &all[i], name)))
            return false;
    return true;
}

/* ---- short ways to operations ---------------------------------------------------------------- */

const struct value *op1(struct build *b, enum graph_op op, const struct value *a)
{
    return a && b->err.kind == ERR_NONE ? graph_add1(b->g, op, a, &b->err) : NULL;
}

const struct value *op2(struct build *b, enum graph_op op, const struct value *a,
                        const struct value *c)
{
    return a && c && b->err.kind == ERR_NONE ? graph_add2(b->g, op, a, c, &b->err) : NULL;
}

const struct value *op3(struct build *b, enum graph_op op, const struct value *a,
                        const struct value *c, const struct value *d)
{
    return a && c && d && b->err.kind == ERR_NONE ? graph_add3(b->g, op, a, c, d, &b->err) : NULL;
}

const struct value *make_op(struct build *b, enum graph_op op, const struct value *const *args, ...)
{
    struct attr attrs[GRAPH_MAX_ATTRS] = {{.kind = ATTR_NONE}};
    va_list ap;
    va_start(ap, args);
    for (const char *name = va_arg(ap, const char *); name; name = va_arg(ap, const char *)) {
        const struct attr *a = va_arg(ap, const struct attr *);
        int at = op_attr_place(op, name);
        if (at < 0)
            BUG("%s has no attribute %s", op_row(op)->name, name);
        attrs[at] = *a;
    }
    va_end(ap);
    return b->err.kind == ERR_NONE ? graph_add(b->g, op, args, attrs, &b->err) : NULL;
}

const struct value *cast_to(struct build *b, const struct value *a, enum dtype t)
{
    return a ? graph_cast(b->g, a, t, &b->err) : NULL;
}

const struct value *reshape_to(struct build *b, const struct value *a, const struct dim *const *d,
                               size_t n)
{
    if (n > GRAPH_MAX_RANK)
        return refuse_value(b, "a tensor has at most %d axes", GRAPH_MAX_RANK);
    while (a && a->op == OP_RESHAPE)
        a = a->args[0];
    return a ? graph_reshape(b->g, a, (uint32_t)n, d, &b->err) : NULL;
}

const struct value *permute_to(struct build *b, const struct value *a, const int64_t *axes)
{
    int64_t all[GRAPH_MAX_RANK];
    bool moves = false;
    if (!a)
        return NULL;
    memcpy(all, axes, a->rank * sizeof *all);
    while (a->op == OP_PERMUTE) {
        const struct attr *earlier = value_attr(a, "dims");
        a = a->args[0];
        for (uint32_t i = 0; i < a->rank; i++)
            all[i] = earlier->ints[all[i]];
    }
    for (uint32_t i = 0; i < a->rank; i++)
        moves |= all[i] != (int64_t)i;
    return moves ? graph_permute(b->g, a, all, &b->err) : a;
}

const struct value *slice_of(struct build *b, const struct value *a, uint32_t axis,
                             const struct dim *start, const struct dim *length, int64_t step)
{
    if (!a || (dim_is(start, 0) && step == 1 && length == a->shape[axis]))
        return a;
    struct attr dim = attr_axis(axis), from = attr_dim(start), n = attr_dim(length),
                by = attr_int(step);
    return make_op(b, OP_SLICE, &a, "dim", &dim, "start", &from, "length", &n, "step", &by,
                   NO_MORE);
}
