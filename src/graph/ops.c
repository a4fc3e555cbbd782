/*
 * ops.c - answers questions about the rows of ops.def: names, operands, attributes and their
 * defaults.
 */
#include "graph/ops.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static const struct op_row rows[OP_COUNT] = {
#define OP(id, name, kind, args, attrs, real, flops, rule) \
    [OP_##id] = {name, kind, args, attrs, real, flops},
#include "graph/ops.def"
#undef OP
};

struct params {
    uint32_t nargs, nattrs;
    struct op_param args[GRAPH_MAX_ARGS], attrs[GRAPH_MAX_ATTRS];
};

static struct params all[OP_COUNT];
static char names[16 << 10]; /* the names of all operands and attributes */
static size_t names_used;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *kept(const char *s, size_t n)
{
    if (names_used + n + 1 > sizeof names)
        BUG("ops.def: more names than there is room for");
    char *to = names + names_used;
    memcpy(to, s, n);
    to[n] = '\0';
    names_used += n + 1;
    return to;
}

static enum attr_kind kind_named(const char *s, size_t n)
{
    static const struct {
        const char *name;
        enum attr_kind kind;
    } kinds[] = {{"bool", ATTR_BOOL}, {"int", ATTR_INT},   {"real", ATTR_REAL},
                 {"axes", ATTR_AXES}, {"ints", ATTR_INTS}, {"dims", ATTR_DIMS},
                 {"dim", ATTR_DIM},   {"text", ATTR_TEXT}, {"dtype", ATTR_DTYPE}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strlen(kinds[i].name) == n && memcmp(kinds[i].name, s, n) == 0)
            return kinds[i].kind;
    BUG("ops.def: there is no kind of attribute '%.*s'", (int)n, s);
}

static struct attr default_of(enum attr_kind kind, const char *s)
{
    return kind == ATTR_BOOL   ? attr_bool(str_starts(s, "true"))
           : kind == ATTR_INT  ? attr_int(strtol(s, NULL, 10))
           : kind == ATTR_REAL ? attr_real(strtod(s, NULL))
                               : attr_none();
}

static void read_row(enum graph_op op)
{
    struct params *p = &all[op];
    for (const char *s = rows[op].args; *s; s += *s == ' ') {
        size_t n = strcspn(s, " ?");
        p->args[p->nargs++] = (struct op_param){.name = kept(s, n), .optional = s[n] == '?'};
        s += n + (s[n] == '?');
    }
    for (const char *s = rows[op].attrs; *s; s += *s == ' ') {
        size_t n = strcspn(s, ":"), k = strcspn(s + n + 1, " =");
        struct op_param *a = &p->attrs[p->nattrs++];
        const char *end = s + n + 1 + k;
        *a = (struct op_param){.name = kept(s, n), .kind = kind_named(s + n + 1, k)};
        a->value = *end == '=' ? default_of(a->kind, end + 1) : attr_none();
        s = end + strcspn(end, " ");
    }
}

static void read_rows(void)
{
    for (int op = 0; op < OP_COUNT; op++)
        read_row((enum graph_op)op);
}

static const struct params *params_of(enum graph_op op)
{
    pthread_once(&once, read_rows);
    return &all[op];
}

const struct op_row *op_row(enum graph_op op)
{
    return &rows[op];
}

uint32_t op_args(enum graph_op op, const struct op_param **out)
{
    const struct params *p = params_of(op);
    if (out)
        *out = p->args;
    return p->nargs;
}

uint32_t op_attrs(enum graph_op op, const struct op_param **out)
{
    const struct params *p = params_of(op);
    if (out)
        *out = p->attrs;
    return p->nattrs;
}

enum graph_op op_named(const char *name)
{
    for (int op = 0; op < OP_COUNT; op++)
        if (str_eq(rows[op].name, name))
            return (enum graph_op)op;
    return OP_COUNT;
}

bool op_is_commutative(enum graph_op op)
{
    switch (op) {
    case OP_ADD:
    case OP_MUL:
    case OP_MAXIMUM:
    case OP_MINIMUM:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_EQ:
    case OP_NE:
    case OP_LOGICAL_AND:
    case OP_LOGICAL_OR:
    case OP_LOGICAL_XOR:
        return true;
    default:
        return false;
    }
}

int op_attr_place(enum graph_op op, const char *name)
{
    const struct params *p = params_of(op);
    for (uint32_t i = 0; i < p->nattrs; i++)
        if (str_eq(p->attrs[i].name, name))
            return (int)i;
    return -1;
}

/* ---- attributes ------------------------------------------------------------------------------ */

const struct attr *value_attr(const struct value *v, const char *name)
{
    int i = op_attr_place(v->op, name);
    if (i < 0)
        BUG("%s has no attribute '%s'", rows[v->op].name, name);
    return &v->attrs[i];
}

bool value_flag(const struct value *v, const char *name)
{
    return value_attr(v, name)->i != 0;
}

bool value_is_number(const struct value *v, double *out)
{
    double inner;
    if (v->op == OP_NEG && value_is_number(v->args[0], &inner)) {
        *out = -inner;
        return true;
    }
    if (v->op != OP_NUMBER)
        return false;
    *out = v->number;
    return true;
}

bool value_same_shape(const struct value *a, const struct value *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

bool value_repeats(const struct value *a, const struct value *v)
{
    for (uint32_t i = 0; i < v->rank; i++) {
        bool absent = i + a->rank < v->rank;
        if (!dim_is(v->shape[i], 1) && (absent || dim_is(a->shape[i + a->rank - v->rank], 1)))
            return true;
    }
    return false;
}

bool attr_same(const struct attr *a, const struct attr *b)
{
    if (a->kind != b->kind || a->n != b->n)
        return false;
    switch (a->kind) {
    case ATTR_NONE:
        return true;
    case ATTR_BOOL:
    case ATTR_INT:
        return a->i == b->i;
    case ATTR_REAL:
        return a->real == b->real;
    case ATTR_AXES:
    case ATTR_INTS:
        return memcmp(a->ints, b->ints, a->n * sizeof *a->ints) == 0;
    case ATTR_DIMS:
    case ATTR_DIM:
        return memcmp(a->dims, b->dims, a->n * sizeof *a->dims) == 0;
    case ATTR_TEXT:
        return str_eq(a->text, b->text);
    case ATTR_DTYPE:
        return a->dtype == b->dtype;
    }
    return false;
}

struct attr attr_none(void)
{
    return (struct attr){.kind = ATTR_NONE};
}

struct attr attr_bool(bool v)
{
    return (struct attr){.kind = ATTR_BOOL, .i = v};
}

struct attr attr_int(int64_t v)
{
    return (struct attr){.kind = ATTR_INT, .i = v};
}

struct attr attr_real(double v)
{
    return (struct attr){.kind = ATTR_REAL, .real = v};
}

static struct attr ints_of(enum attr_kind kind, const int64_t *v, size_t n)
{
    struct attr a = {.kind = kind, .n = MIN(n, (size_t)GRAPH_MAX_RANK)};
    memcpy(a.ints, v, a.n * sizeof *v);
    return a;
}

struct attr attr_axis(int64_t axis)
{
    return ints_of(ATTR_AXES, &axis, 1);
}

struct attr attr_axes(const int64_t *axes, size_t n)
{
    return ints_of(ATTR_AXES, axes, n);
}

struct attr attr_last_axes(const struct value *v, int64_t n)
{
    int64_t axes[GRAPH_MAX_RANK];
    for (int64_t i = 0; i < n; i++)
        axes[i] = (int64_t)v->rank - n + i;
    return attr_axes(axes, (size_t)n);
}

struct attr attr_ints(const int64_t *v, size_t n)
{
    return ints_of(ATTR_INTS, v, n);
}

struct attr attr_dims(const struct dim *const *d, size_t n)
{
    struct attr a = {.kind = ATTR_DIMS, .n = MIN(n, (size_t)GRAPH_MAX_RANK)};
    memcpy(a.dims, d, a.n * sizeof *d);
    return a;
}

struct attr attr_dim(const struct dim *d)
{
    return (struct attr){.kind = ATTR_DIM, .n = 1, .dims = {d}};
}

struct attr attr_text(const char *s)
{
    return (struct attr){.kind = ATTR_TEXT, .text = s};
}

struct attr attr_dtype(enum dtype t)
{
    return (struct attr){.kind = ATTR_DTYPE, .dtype = t};
}
