/*
 * evaluate.c - gives a syntax tree its meaning, node by node, by Python's and PyTorch's rules.
 */
#include "torch/evaluate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "torch/functions.h"
#include "torch/in_place.h"
#include "torch/numbers.h"

/* ---- names and literals ---------------------------------------------------------------------- */

/* Looks for a name of the caller (x->names), then for one of the task. */
static bool find_name(struct expression *x, const char *name, struct object *out)
{
    struct graph *g = x->b.g;
    for (size_t i = 0; x->names && i < x->names->n; i++)
        if (str_eq(x->names->items[i].name, name))
            return obj_set(&x->b, x->names->items[i].value, out);
    const struct value *v = graph_find(g, name);
    if (v && v->op == OP_INPUT)
        return obj_set(&x->b, v, out);
    for (size_t i = 0; i < g->dims.nnames; i++)
        if (str_eq(g->dims.names[i], name)) {
            *out = obj_int(dim_name(&g->dims, i));
            return true;
        }
    return v && obj_set(&x->b, v, out);
}

static bool name_object(struct expression *x, const char *name, struct object *out)
{
    if (find_name(x, name, out))
        return true;
    if (str_eq(name, "None"))
        *out = obj_none();
    else if (str_eq(name, "True") || str_eq(name, "False"))
        *out = obj_bool(*name == 'T');
    else if (str_eq(name, "..."))
        *out = (struct object){.kind = OBJ_DOTS};
    else
        return refuse(&x->b, "the name '%s' is not known: no input, scalar or axis has it", name);
    return true;
}

static bool number_object(struct expression *x, const char *text, struct object *out)
{
    if (text[strspn(text, "0123456789")]) {
        *out = obj_float(strtod(text, NULL));
        return true;
    }
    errno = 0;
    long long v = strtoll(text, NULL, 10);
    if (errno)
        return refuse(&x->b, "the number does not fit 64 bits");
    *out = obj_number(&x->b, v);
    return true;
}

static bool items_of(struct expression *x, const struct tree *t, struct object *out)
{
    struct object *all = arena_alloc(x->b.mem, (t->n ? t->n : 1) * sizeof *all);
    for (size_t i = 0; i < t->n; i++) {
        if (t->part[i] && !expression_object(x, t->part[i], &all[i]))
            return false;
        if (!t->part[i])
            all[i] = obj_none();
    }
    *out = (struct object){
        .kind = t->kind == TREE_SLICE ? OBJ_SLICE : OBJ_TUPLE, .items = all, .n = t->n};
    return true;
}

/* ---- operators ------------------------------------------------------------------------------- */

static bool is_number(const struct object *o)
{
    return o->kind == OBJ_INT || o->kind == OBJ_FLOAT || o->kind == OBJ_BOOL;
}

static enum graph_op operator_named(const char *op)
{
    static const struct {
        const char *text;
        enum graph_op op;
    } rows[] = {{"+", OP_ADD},        {"-", OP_SUB},       {"*", OP_MUL},  {"/", OP_DIV},
                {"//", OP_FLOOR_DIV}, {"%", OP_REMAINDER}, {"**", OP_POW}, {"@", OP_MATMUL},
                {"&", OP_AND},        {"|", OP_OR},        {"^", OP_XOR},  {"<<", OP_SHL},
                {">>", OP_SHR},       {"==", OP_EQ},       {"!=", OP_NE},  {"<", OP_LT},
                {"<=", OP_LE},        {">", OP_GT},        {">=", OP_GE}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_eq(rows[i].text, op))
            return rows[i].op;
    BUG("no operator %s", op);
}

/* Joins two tuples, as in (a, b) + (c,). */
static bool joined(struct expression *x, const struct object *l, const struct object *r,
                   struct object *out)
{
    size_t n = l->n + r->n;
    if (n > TORCH_MAX_PARTS)
        return refuse(&x->b, "this tuple has more than %d items", TORCH_MAX_PARTS);
    struct object *all = arena_alloc(x->b.mem, (n ? n : 1) * sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] = i < l->n ? l->items[i] : r->items[i - l->n];
    *out = (struct object){.kind = OBJ_TUPLE, .items = all, .n = n};
    return true;
}

static bool binary(struct expression *x, const char *op, const struct object *l,
                   const struct object *r, struct object *out)
{
    struct build *b = &x->b;
    if (l->kind == OBJ_TUPLE && r->kind == OBJ_TUPLE && str_eq(op, "+"))
        return joined(x, l, r, out);
    int known = is_number(l) && is_number(r) ? number_binary(b, op, l, r, out) : 0;
    if (known)
        return known > 0;
    const struct value *a = need_value(b, l, "the left side"),
                       *c = need_value(b, r, "the right side");
    return a && c && obj_set(b, op2(b, operator_named(op), a, c), out);
}

static bool unary(struct expression *x, const char *op, const struct object *a, struct object *out)
{
    struct build *b = &x->b;
    int known = is_number(a) ? number_unary(b, op, a, out) : 0;
    if (known)
        return known > 0;
    return obj_set(b, op1(b, *op == '-' ? OP_NEG : OP_NOT, need_value(b, a, "the operand")), out);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static enum dtype dtype_named(const char *name)
{
    static const struct {
        const char *name;
        enum dtype t;
    } shorts[] = {{"float", DT_F32}, {"half", DT_F16}, {"double", DT_F64},
                  {"long", DT_I64},  {"int", DT_I32},  {"short", DT_I16}};
    for (size_t i = 0; i < ARRAY_LEN(shorts); i++)
        if (str_eq(shorts[i].name, name))
            return shorts[i].t;
    return dtype_from_name(name);
}

/* Evaluates a field of a module, such as torch.inf or torch.float32. */
static bool module_field(struct expression *x, const char *name, struct object *out)
{
    static const struct {
        const char *name;
        double value;
    } numbers[] = {{"inf", INFINITY}, {"nan", NAN}, {"pi", M_PI}, {"e", M_E}};
    static const char *const layouts[] = {"contiguous_format", "channels_last", "preserve_format",
                                          "channels_last_3d", "strided"};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (str_eq(numbers[i].name, name)) {
            *out = obj_float(numbers[i].value);
            return true;
        }
    for (size_t i = 0; i < ARRAY_LEN(layouts); i++)
        if (str_eq(layouts[i], name)) {
            *out = (struct object){.kind = OBJ_DEVICE};
            return true;
        }
    enum dtype t = dtype_named(name);
    if (t == DT_NONE)
        return lacks(&x->b, "'%s' is neither a constant nor a dtype that Hone knows", name);
    *out = (struct object){.kind = OBJ_DTYPE, .dtype = t};
    return true;
}

static bool limit_of(struct expression *x, enum dtype t, const char *name, struct object *out)
{
    static const struct {
        enum dtype t;
        double max, eps, tiny;
    } rows[] = {{DT_F64, 0x1.fffffffffffffp+1023, 0x1p-52, 0x1p-1022},
                {DT_F32, 0x1.fffffep+127, 0x1p-23, 0x1p-126},
                {DT_F16, 65504, 0x1p-10, 0x1p-14},
                {DT_BF16, 0x1.fep+127, 0x1p-7, 0x1p-126}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].t != t)
            continue;
        bool tiny = str_eq(name, "tiny") || str_eq(name, "smallest_normal");
        double v = str_eq(name, "max")   ? rows[i].max
                   : str_eq(name, "min") ? -rows[i].max
                   : str_eq(name, "eps") ? rows[i].eps
                   : tiny                ? rows[i].tiny
                                         : 0;
        *out = obj_float(v);
        return v != 0 || lacks(&x->b, "finfo.%s is not supported", name);
    }
    return lacks(&x->b, "finfo of %s is not supported", dtype_name(t));
}

static bool field(struct expression *x, const struct object *of, const char *name,
                  struct object *out)
{
    struct build *b = &x->b;
    if (of->kind == OBJ_FINFO)
        return limit_of(x, of->dtype, name, out);
    if (of->kind == OBJ_TUPLE && of->pair && (str_eq(name, "values") || str_eq(name, "indices"))) {
        *out = of->items[*name == 'i'];
        return true;
    }
    if (of->kind != OBJ_VALUE || of->value->weak)
        return lacks(b, "%s has no attribute '%s' that Hone knows", obj_what(of), name);
    const struct value *v = of->value;
    if (str_eq(name, "shape"))
        *out = obj_shape(b, v);
    else if (str_eq(name, "ndim"))
        *out = obj_number(b, v->rank);
    else if (str_eq(name, "dtype"))
        *out = (struct object){.kind = OBJ_DTYPE, .dtype = v->dtype};
    else if (str_eq(name, "device"))
        *out = (struct object){.kind = OBJ_DEVICE};
    else if (str_eq(name, "T"))
        return obj_set(b, build_t(b, OP_PERMUTE, of), out);
    else if (str_eq(name, "mT"))
        return obj_set(b, build_mt(b, OP_PERMUTE, of), out);
    else
        return lacks(b, "a tensor has no attribute '%s' that Hone knows", name);
    return true;
}

/* ---- subscripts ------------------------------------------------------------------------------ */

/* Slices a tuple with clamped bounds, as Python does. Bounds must be known integers. */
static bool tuple_slice(struct expression *x, const struct object *of, const struct object *slice,
                        struct object *out)
{
    int64_t n = (int64_t)of->n, from = 0, to = n, step = 1;
    if ((!obj_is_none(&slice->items[0]) && !need_whole(&x->b, &slice->items[0], "slice", &from)) ||
        (!obj_is_none(&slice->items[1]) && !need_whole(&x->b, &slice->items[1], "slice", &to)) ||
        (!obj_is_none(&slice->items[2]) && !need_whole(&x->b, &slice->items[2], "slice", &step)))
        return false;
    if (step != 1 &&
        !(step == -1 && obj_is_none(&slice->items[0]) && obj_is_none(&slice->items[1])))
        return lacks(&x->b, "a slice of a tuple with the step %lld is not supported",
                     (long long)step);
    from = MIN(MAX(from < 0 ? from + n : from, 0), n);
    to = MIN(MAX(to < 0 ? to + n : to, from), n);
    struct object *all = arena_alloc(x->b.mem, of->n * sizeof *all + 1);
    for (int64_t i = from; i < to; i++)
        all[i - from] = of->items[step < 0 ? n - 1 - i : i];
    *out = (struct object){.kind = OBJ_TUPLE, .items = all, .n = (size_t)(to - from)};
    return true;
}

static bool subscript(struct expression *x, const struct object *of, const struct object *index,
                      struct object *out)
{
    int64_t i;
    if (of->kind == OBJ_TUPLE && index->kind == OBJ_SLICE)
        return tuple_slice(x, of, index, out);
    if (of->kind == OBJ_TUPLE) {
        if (!need_whole(&x->b, index, "the index of a tuple", &i))
            return false;
        i += i < 0 ? (int64_t)of->n : 0;
        if (i < 0 || i >= (int64_t)of->n)
            return refuse(&x->b, "the index is out of range: the tuple has %zu items", of->n);
        *out = of->items[i];
        return true;
    }
    const struct value *v = need_tensor(&x->b, of, "the indexed object");
    return v && obj_set(&x->b, build_index(&x->b, v, index), out);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A call whose arguments have been evaluated. */
struct call {
    const char *name;
    enum function_scope scope;
    struct argument *args; /* the first argument of a method is its object */
    size_t n;
    bool math; /* the function belongs to the module math or np */
};

static bool is_builtin(const char *name)
{
    static const char *const names[] = {"float", "int", "tuple", "list", "len", "bool",
                                        "max",   "min", "sum",   "abs",  "pow", "round"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(names[i], name))
            return true;
    return false;
}

static bool arguments(struct expression *x, const struct tree *t, struct call *c)
{
    for (size_t i = 1; i < t->n; i++) {
        struct argument *a = &c->args[c->n++];
        struct tree *value = t->part[i];
        if (value->kind == TREE_KEY) {
            a->key = value->text;
            value = value->part[0];
        }
        if (!expression_object(x, value, &a->object))
            return false;
    }
    return true;
}

static bool has_keys(const struct call *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->args[i].key)
            return true;
    return false;
}

static bool python_extreme(struct expression *x, bool max, const struct object *all, size_t n,
                           struct object *out)
{
    struct dim_pool *p = &x->b.g->dims;
    if (!n)
        return refuse(&x->b, "max and min need a number");
    *out = all[0];
    for (size_t i = 1; i < n; i++) {
        double l, r;
        if (out->kind == OBJ_INT && all[i].kind == OBJ_INT)
            *out = obj_int((max ? dim_max : dim_min)(p, out->dim, all[i].dim));
        else if (obj_real(out, &l) && obj_real(&all[i], &r))
            *out = (max ? r > l : r < l) ? all[i] : *out;
        else
            return refuse(&x->b, "Python's %s takes numbers here, not %s; use torch.%s",
                          max ? "max" : "min", obj_what(&all[i]), max ? "maximum" : "minimum");
    }
    return true;
}

static bool python_sum(struct expression *x, const struct object *of, struct object *out)
{
    *out = obj_number(&x->b, 0);
    for (size_t i = 0; i < of->n; i++) {
        struct object so_far = *out;
        if (!binary(x, "+", &so_far, &of->items[i], out))
            return false;
    }
    return true;
}

static bool float_of(struct expression *x, const struct object *o, struct object *out)
{
    const char *t = o->kind == OBJ_TEXT ? o->text : "";
    double v;
    bool minus = *t == '-';
    t += minus || *t == '+';
    if (str_eq(t, "inf") || str_eq(t, "Inf") || str_eq(t, "infinity"))
        *out = obj_float(minus ? -INFINITY : INFINITY);
    else if (str_eq(t, "nan"))
        *out = obj_float(NAN);
    else if (obj_real(o, &v))
        *out = obj_float(v);
    else if (o->kind == OBJ_INT || (o->kind == OBJ_VALUE && o->value->weak))
        return obj_set(&x->b,
                       op2(&x->b, OP_MUL, need_value(&x->b, o, "x"), graph_number(x->b.g, 1)), out);
    else
        return lacks(&x->b, "float() of %s is not supported", obj_what(o));
    return true;
}

/* Calls Python's own float, int, len, max and so on. Returns 1 with the result in *out, -1 if Hone
 * refuses the call, or 0 if the call means PyTorch's function of this name. */
static int python_call(struct expression *x, const struct call *c, struct object *out)
{
    const struct object *o = &c->args[0].object;
    bool max = str_eq(c->name, "max"), tensor = c->n && o->kind == OBJ_VALUE;
    if (c->n && tensor &&
        (x->names || (!max && !str_eq(c->name, "min") && !str_eq(c->name, "sum"))) &&
        !str_eq(c->name, "float") && !str_eq(c->name, "int") && !str_eq(c->name, "len"))
        return 0;
    if (!c->n || has_keys(c))
        return refuse(&x->b, "Python's '%s' does not take these arguments", c->name) ? 1 : -1;
    bool one = c->n == 1, tuple = one && o->kind == OBJ_TUPLE, ok = false;
    struct object all[TORCH_MAX_PARTS];
    double v;
    for (size_t i = 0; i < c->n && i < ARRAY_LEN(all); i++)
        all[i] = c->args[i].object;
    if (one && str_eq(c->name, "float")) {
        ok = float_of(x, o, out);
    } else if (one && str_eq(c->name, "int") && (o->kind == OBJ_INT || obj_real(o, &v))) {
        ok = o->kind == OBJ_INT || fabs(v) < 9e18 || refuse(&x->b, "the number is too large");
        if (ok)
            *out = o->kind == OBJ_INT ? *o : obj_number(&x->b, (int64_t)v);
    } else if (tuple && (str_eq(c->name, "tuple") || str_eq(c->name, "list"))) {
        *out = *o;
        ok = true;
    } else if (tuple && str_eq(c->name, "len")) {
        *out = obj_number(&x->b, (int64_t)o->n);
        ok = true;
    } else if (one && str_eq(c->name, "len") && tensor && o->value->rank) {
        *out = obj_int(o->value->shape[0]);
        ok = true;
    } else if (tuple && str_eq(c->name, "sum")) {
        ok = python_sum(x, o, out);
    } else if ((max || str_eq(c->name, "min")) && (tuple || c->n > 1)) {
        ok = python_extreme(x, max, tuple ? o->items : all, tuple ? o->n : c->n, out);
    } else if (c->n == 2 && str_eq(c->name, "pow")) {
        ok = binary(x, "**", &all[0], &all[1], out);
    } else if (one && str_eq(c->name, "abs") && is_number(o)) {
        int64_t w;
        if (obj_whole(o, &w) && w > INT64_MIN)
            *out = obj_number(&x->b, w < 0 ? -w : w);
        else if (obj_real(o, &v))
            *out = obj_float(fabs(v));
        else
            *out = *o;
        ok = true;
    } else {
        ok = lacks(&x->b, "Python's '%s' is not supported for %s; use torch instead", c->name,
                   obj_what(o));
    }
    return ok ? 1 : -1;
}

/* *out is the result of a change in place of the tensor `self`. Checks that it has the tensor's
 * shape, and casts it to the tensor's dtype. */
static bool in_place(struct expression *x, const struct object *self, struct object *out)
{
    if (self->kind != OBJ_VALUE || out->kind != OBJ_VALUE)
        return refuse(&x->b, "only a tensor can be changed in place");
    const struct value *a = self->value, *v = out->value;
    if (!value_same_shape(a, v))
        return refuse(&x->b, "a change in place cannot change the shape");
    if (dtype_is_float(v->dtype) && !dtype_is_float(a->dtype))
        return refuse(&x->b, "a tensor of %s cannot hold the floats of a change in place",
                      dtype_name(a->dtype));
    return obj_set(&x->b, cast_to(&x->b, v, a->dtype), out);
}

static bool einsum(struct expression *x, const struct call *c, struct object *out)
{
    struct object all[TORCH_MAX_PARTS];
    size_t n = c->n ? c->n - 1 : 0;
    if (has_keys(c) || !n || c->args[0].object.kind != OBJ_TEXT)
        return refuse(&x->b, "einsum takes a string and tensors");
    for (size_t i = 0; i < n; i++)
        all[i] = c->args[i + 1].object;
    bool list = n == 1 && all[0].kind == OBJ_TUPLE;
    return obj_set(
        &x->b,
        build_einsum(&x->b, c->args[0].object.text, list ? all[0].items : all, list ? all[0].n : n),
        out);
}

/* Calls those functions of torch that have no row in functions.c. Returns 1 with the result in
 * *out, -1 if Hone refuses the call, or 0 for any other function. */
static int torch_special(struct expression *x, const struct call *c, struct object *out)
{
    const struct object *o = c->n == 1 && !c->args[0].key ? &c->args[0].object : NULL;
    if (str_eq(c->name, "einsum"))
        return einsum(x, c, out) ? 1 : -1;
    if (str_eq(c->name, "device")) {
        *out = (struct object){.kind = OBJ_DEVICE};
        return 1;
    }
    if (str_eq(c->name, "finfo") && o && o->kind == OBJ_DTYPE) {
        *out = (struct object){.kind = OBJ_FINFO, .dtype = o->dtype};
        return 1;
    }
    if (str_eq(c->name, "Size") && o && o->kind == OBJ_TUPLE) {
        *out = *o;
        return 1;
    }
    return 0;
}

static int math_call(struct expression *x, const struct call *c, struct object *out)
{
    struct object all[TORCH_MAX_PARTS];
    if (has_keys(c))
        return 0;
    for (size_t i = 0; i < c->n; i++)
        all[i] = c->args[i].object;
    if (str_eq(c->name, "prod") && c->n == 1 && all[0].kind == OBJ_TUPLE) {
        struct object one = obj_number(&x->b, 1);
        for (size_t i = 0; i < all[0].n; i++, one = *out)
            if (!binary(x, "*", &one, &all[0].items[i], out))
                return -1;
        *out = one;
        return 1;
    }
    return number_function(&x->b, c->name, all, c->n, out);
}

static bool call_named(struct expression *x, struct call *c, struct object *out)
{
    size_t n = strlen(c->name);
    int known = 0;
    if (c->math && c->scope == IN_TORCH)
        known = math_call(x, c, out);
    if (!known && c->scope == IN_TORCH)
        known = torch_special(x, c, out);
    if (known)
        return known > 0;
    const struct function *f = function_find(c->name, c->scope);
    bool changes = !f && n > 1 && c->name[n - 1] == '_';
    if (changes)
        f = function_find(arena_strndup(x->b.mem, c->name, n - 1), c->scope);
    if (!f)
        return lacks(&x->b,
                     c->scope == IN_METHODS ? "the method '%s' is not known"
                                            : "the function '%s' is not known",
                     c->name);
    struct object self = c->n ? c->args[0].object : obj_none();
    return function_call(&x->b, f, c->scope, c->args, c->n, out) &&
           (!changes || in_place(x, &self, out));
}

/* Returns whether t names a module. A name of the task has precedence over a module's name. */
static bool is_module(struct expression *x, const struct tree *t)
{
    struct object o;
    if (!tree_is_module(t))
        return false;
    while (t->kind == TREE_FIELD)
        t = t->part[0];
    return !find_name(x, t->text, &o);
}

static bool call(struct expression *x, const struct tree *t, struct object *out)
{
    struct tree *callee = t->part[0];
    struct call c = {.name = callee->text, .scope = IN_TORCH};
    c.args = arena_alloc(x->b.mem, (t->n + 1) * sizeof *c.args);
    bool builtin = false;
    if (callee->kind == TREE_FIELD && !is_module(x, callee->part[0])) {
        c.scope = IN_METHODS;
        if (!expression_object(x, callee->part[0], &c.args[c.n++].object))
            return false;
    } else if (callee->kind == TREE_FIELD) {
        const struct tree *module = callee->part[0];
        c.scope = str_eq(module->text, "linalg") ? IN_LINALG : IN_TORCH;
        c.math = str_eq(module->text, "math") || str_eq(module->text, "np");
    } else if (callee->kind == TREE_NAME) {
        builtin = is_builtin(callee->text);
    } else {
        return refuse(&x->b, "this is not a function");
    }
    if (!arguments(x, t, &c))
        return false;
    int known = builtin ? python_call(x, &c, out) : 0;
    return known ? known > 0 : call_named(x, &c, out);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool object_of(struct expression *x, struct tree *t, struct object *out)
{
    struct object l, r;
    switch (t->kind) {
    case TREE_NAME:
        return name_object(x, t->text, out);
    case TREE_NUMBER:
        return number_object(x, t->text, out);
    case TREE_STRING:
        *out = (struct object){.kind = OBJ_TEXT, .text = t->text};
        return true;
    case TREE_TUPLE:
    case TREE_SLICE:
        return items_of(x, t, out);
    case TREE_UNARY:
        return expression_object(x, t->part[0], &l) && unary(x, t->text, &l, out);
    case TREE_BINARY:
        return expression_object(x, t->part[0], &l) && expression_object(x, t->part[1], &r) &&
               binary(x, t->text, &l, &r, out);
    case TREE_FIELD:
        if (is_module(x, t->part[0]))
            return module_field(x, t->text, out);
        return expression_object(x, t->part[0], &l) && field(x, &l, t->text, out);
    case TREE_INDEX:
        return expression_object(x, t->part[0], &l) && expression_object(x, t->part[1], &r) &&
               subscript(x, &l, &r, out);
    case TREE_CALL:
        return call(x, t, out);
    case TREE_KEY:
        break;
    }
    return refuse(&x->b, "name=value is allowed only in a call");
}

bool expression_object(struct expression *x, struct tree *t, struct object *out)
{
    if (t->made) {
        *out = *(const struct object *)t->made;
        return true;
    }
    if (x->b.err.kind == ERR_NONE && object_of(x, t, out)) {
        struct object *made = arena_alloc(x->b.mem, sizeof *made);
        *made = *out;
        t->made = made;
        return true;
    }
    if (!x->placed)
        err_prefix(&x->b.err, "column %u", t->at + 1);
    x->placed = true;
    return false;
}
