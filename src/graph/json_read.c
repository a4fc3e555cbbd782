/* json_read.c - reads a graph from JSON. Error messages begin with the JSON pointer of the
 * entry. */
#include "graph/json.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expr.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "graph/print.h"
#include "sys/json.h"

/* ---- entries and their limits ------------------------------------------------------- */

/* A name that sizes may mention. */
struct size_name {
    const char *name;
    int64_t value; /* the size of a constant axis, else 0 */
};

struct reader {
    struct graph *g;
    struct err *err;
    struct strbuf path; /* the JSON pointer of the entry that is read */
    json_t *ids;        /* maps ids, such as "%3", to indices in `made` */
    const struct value **made;
    VEC(struct size_name) names;
    char quote[44];
};

__attribute__((format(printf, 2, 3))) static int fail(struct reader *r, const char *fmt, ...)
{
    va_list ap;
    struct strbuf text = STRBUF_INIT(1500);
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    err_set(r->err, ERR_INPUT, "%s: %s", r->path.len ? r->path.buf : "graph", text.buf);
    strbuf_release(&text);
    return -1;
}

static int fail_here(struct reader *r)
{
    return err_prefix(r->err, "%s", r->path.len ? r->path.buf : "graph");
}

/* Appends a key to the path. Returns the path's old length, for step_out(). */
static size_t step_in(struct reader *r, const char *key)
{
    size_t before = r->path.len;
    strbuf_addc(&r->path, '/');
    for (const char *p = key; *p; p++)
        if (*p == '~' || *p == '/')
            strbuf_adds(&r->path, *p == '~' ? "~0" : "~1");
        else
            strbuf_addc(&r->path, *p);
    return before;
}

static size_t step_to(struct reader *r, size_t i)
{
    char key[24];
    snprintf(key, sizeof key, "%zu", i);
    return step_in(r, key);
}

static void step_out(struct reader *r, size_t before)
{
    r->path.len = before;
    if (r->path.cap)
        r->path.buf[before] = '\0';
}

/* Returns at most 40 characters of s in plain ASCII, for error messages. */
static const char *quoted(struct reader *r, const char *s)
{
    char *to = r->quote;
    for (; *s && to < r->quote + 40; s++)
        *to++ = *s >= ' ' && *s < 127 ? *s : '?';
    snprintf(to, 4, "%s", *s ? "..." : "");
    return r->quote;
}

/* Fails if j is not an object, has a key that is not among the n keys, or lacks one of them. Only
 * the last `noptional` keys may be missing. */
static int need_keys(struct reader *r, const json_t *j, const char *const *keys, size_t n,
                     size_t noptional)
{
    const char *key;
    json_t *member;
    if (!json_is_object(j))
        return fail(r, "expected an object");
    json_object_foreach((json_t *)j, key, member)
    {
        size_t i = 0;
        while (i < n && !str_eq(keys[i], key))
            i++;
        if (i == n)
            return fail(r, "unknown key '%s'", quoted(r, key));
    }
    for (size_t i = 0; i < n - noptional; i++)
        if (!json_object_get(j, keys[i]))
            return fail(r, "'%s' is missing", keys[i]);
    return 0;
}

static int need_array(struct reader *r, const json_t *j, size_t max)
{
    if (!json_is_array(j))
        return fail(r, "expected a list");
    if (json_array_size(j) > max)
        return fail(r, "%zu entries, more than the limit of %zu", json_array_size(j), max);
    return 0;
}

static int read_text(struct reader *r, const json_t *j, size_t max, const char **out)
{
    *out = json_string_value(j);
    if (!*out)
        return fail(r, "expected a text");
    if (json_string_length(j) > max)
        return fail(r, "a text of %zu bytes, more than the limit of %zu", json_string_length(j),
                    max);
    if (strlen(*out) != json_string_length(j))
        return fail(r, "a text with a NUL byte");
    return 0;
}

/* A name must be a C identifier, because references and kernels use it. */
static int read_name(struct reader *r, const json_t *j, const char **out)
{
    if (read_text(r, j, GRAPH_JSON_MAX_NAME, out) < 0)
        return -1;
    const char *s = *out;
    bool ok = isalpha((unsigned char)*s) || *s == '_';
    for (; ok && *s; s++)
        ok = isalnum((unsigned char)*s) || *s == '_';
    return ok ? 0
              : fail(r,
                     "'%s' is not a name: a name has letters, digits and _, and does not begin "
                     "with a digit",
                     quoted(r, *out));
}

static int read_dtype(struct reader *r, const json_t *j, enum dtype *out)
{
    const char *s;
    if (read_text(r, j, GRAPH_JSON_MAX_NAME, &s) < 0)
        return -1;
    *out = dtype_from_name(s);
    return *out == DT_NONE ? fail(r, "'%s' is not a dtype", quoted(r, s)) : 0;
}

static int read_int(struct reader *r, const json_t *j, int64_t *out)
{
    if (!json_is_integer(j))
        return fail(r, "expected an integer");
    *out = json_integer_value(j);
    return 0;
}

static int read_dim(struct reader *r, const json_t *j, const struct dim **out)
{
    const char *s;
    if (json_is_integer(j)) {
        *out = dim_number(&r->g->dims, json_integer_value(j));
        return 0;
    }
    if (!json_is_string(j))
        return fail(r, "expected a size: an expression or an integer");
    if (read_text(r, j, GRAPH_JSON_MAX_EXPR, &s) < 0)
        return -1;
    *out = dim_parse(&r->g->dims, s, r->err);
    return *out ? 0 : fail_here(r);
}

static int read_dims(struct reader *r, const json_t *j, size_t *n, const struct dim **out)
{
    if (need_array(r, j, GRAPH_MAX_RANK) < 0)
        return -1;
    *n = json_array_size(j);
    for (size_t i = 0; i < *n; i++) {
        size_t at = step_to(r, i);
        if (read_dim(r, json_array_get(j, i), &out[i]) < 0)
            return -1;
        if (out[i]->is_number && out[i]->value < 0)
            return fail(r, "a size of %" PRId64, out[i]->value);
        step_out(r, at);
    }
    return 0;
}

/* Runs the expression `call`, in which `member` stands for the member `key` of `obj`. */
#define IN_MEMBER(r, obj, key, call)                      \
    do {                                                  \
        size_t at_ = step_in((r), (key));                 \
        const json_t *member = json_object_get(obj, key); \
        if ((call) < 0)                                   \
            return -1;                                    \
        step_out((r), at_);                               \
    } while (0)

struct type {
    enum dtype dtype;
    size_t rank;
    const struct dim *shape[GRAPH_MAX_RANK];
};

static int read_type(struct reader *r, const json_t *obj, struct type *out)
{
    *out = (struct type){.dtype = DT_NONE};
    IN_MEMBER(r, obj, "dtype", read_dtype(r, member, &out->dtype));
    IN_MEMBER(r, obj, "shape", read_dims(r, member, &out->rank, out->shape));
    return 0;
}

/* ---- leaves ------------------------------------------------------------------------- */

static bool is_size_name(const struct reader *r, const char *name)
{
    vec_each (const struct size_name, n, &r->names)
        if (str_eq(n->name, name))
            return true;
    return false;
}

static int read_constant(struct reader *r, const json_t *j, int64_t *out)
{
    if (read_int(r, j, out) < 0)
        return -1;
    return *out >= 1 && *out <= GRAPH_JSON_MAX_SIZE ? 0
                                                    : fail(r, "a constant axis of %" PRId64, *out);
}

/* Reads "R", or {"name": "C", "value": 128} for a constant size. */
static int read_axis(struct reader *r, const json_t *j)
{
    static const char *const keys[] = {"name", "value"};
    struct size_name n = {.value = 0};
    if (json_is_object(j)) {
        if (need_keys(r, j, keys, ARRAY_LEN(keys), 0) < 0)
            return -1;
        IN_MEMBER(r, j, "name", read_name(r, member, &n.name));
        IN_MEMBER(r, j, "value", read_constant(r, member, &n.value));
    } else if (read_name(r, j, &n.name) < 0) {
        return -1;
    }
    if (is_size_name(r, n.name))
        return fail(r, "the name '%s' is taken", n.name);
    *vec_push(&r->names) = n;
    return 0;
}

static const char *const scalar_keys[] = {"name", "dtype"};

/* Adds the name of a scalar to the names that sizes may mention, unless the scalar is a float. */
static int read_scalar_name(struct reader *r, const json_t *j)
{
    const char *name;
    enum dtype t;
    if (need_keys(r, j, scalar_keys, ARRAY_LEN(scalar_keys), 0) < 0)
        return -1;
    IN_MEMBER(r, j, "dtype", read_dtype(r, member, &t));
    size_t at = step_in(r, "name");
    if (read_name(r, json_object_get(j, "name"), &name) < 0)
        return -1;
    if (is_size_name(r, name))
        return fail(r, "the name '%s' is taken", name);
    step_out(r, at);
    if (!dtype_is_float(t))
        *vec_push(&r->names) = (struct size_name){.name = name};
    return 0;
}

static int read_scalar(struct reader *r, const json_t *j)
{
    const char *name = json_string_value(json_object_get(j, "name"));
    if (graph_find(r->g, name))
        return fail(r, "the name '%s' is taken", name);
    graph_scalar(r->g, name, dtype_from_name(json_string_value(json_object_get(j, "dtype"))));
    return 0;
}

static int read_input(struct reader *r, const json_t *j)
{
    static const char *const keys[] = {"name", "dtype", "shape"};
    const char *name;
    struct type t;
    if (need_keys(r, j, keys, ARRAY_LEN(keys), 0) < 0)
        return -1;
    IN_MEMBER(r, j, "name", read_name(r, member, &name));
    if (graph_find(r->g, name) || is_size_name(r, name))
        return fail(r, "the name '%s' is taken", name);
    if (read_type(r, j, &t) < 0)
        return -1;
    graph_input(r->g, name, t.dtype, (uint32_t)t.rank, t.shape);
    return 0;
}

/* ---- guards ------------------------------------------------------------------------- */

static int read_guard(struct reader *r, const json_t *j, const char **out)
{
    const char *s;
    if (read_text(r, j, GRAPH_JSON_MAX_EXPR, &s) < 0)
        return -1;
    const struct dim_pool *d = &r->g->dims;
    const struct expr *e =
        expr_parse(s, strlen(s), d->names, d->nnames, &r->g->arena, NULL, r->err);
    if (!e)
        return fail_here(r);
    if (expr_alignof_name(e, 0, NULL))
        return fail(r, "'alignof' has no meaning for a graph");
    *out = arena_strdup(&r->g->arena, s);
    return 0;
}

/* dim_define_by() takes the guards "AXIS == SIZE". All others go to g->guards. */
static int read_guards(struct reader *r, const json_t *j)
{
    if (need_array(r, j, GRAPH_JSON_MAX_GUARDS) < 0)
        return -1;
    size_t n = json_array_size(j);
    const char **guards = arena_alloc(&r->g->arena, (n + 1) * sizeof *guards);
    r->g->guards = guards;
    for (size_t i = 0; i < n; i++) {
        size_t at = step_to(r, i);
        if (read_guard(r, json_array_get(j, i), &guards[r->g->nguards]) < 0)
            return -1;
        if (!dim_define_by(&r->g->dims, guards[r->g->nguards])) {
            dim_divide_by(&r->g->dims, guards[r->g->nguards]);
            r->g->nguards++;
        }
        step_out(r, at);
    }
    return 0;
}

/* ---- values ------------------------------------------------------------------------- */

static int read_number(struct reader *r, const json_t *j, const struct value **out)
{
    double v;
    if (json_is_integer(j)) {
        int64_t i = json_integer_value(j), limit = INT64_C(1) << 53;
        if (i < -limit || i > limit)
            return fail(r, "%" PRId64 " is beyond 2^53", i);
        *out = graph_integer(r->g, i);
        return 0;
    }
    if (json_get_double(j, &v) < 0)
        return fail(r, "expected a number, \"inf\", \"-inf\" or \"nan\"");
    *out = graph_number(r->g, v);
    return 0;
}

static int read_size(struct reader *r, const json_t *j, const struct value **out)
{
    const struct dim *d = NULL;
    if (read_dim(r, j, &d) < 0)
        return -1;
    *out = graph_size(r->g, d);
    return 0;
}

static int read_named(struct reader *r, const json_t *j, const struct value **out)
{
    const char *s;
    if (read_text(r, j, GRAPH_JSON_MAX_NAME + 1, &s) < 0)
        return -1;
    if (*s != '%')
        *out = graph_find(r->g, s);
    else if (json_object_get(r->ids, s))
        *out = r->made[json_integer_value(json_object_get(r->ids, s))];
    if (*out)
        return 0;
    return *s == '%' ? fail(r, "no earlier value is called '%s'", quoted(r, s))
                     : fail(r, "no input or scalar is called '%s'", quoted(r, s));
}

/* Reads a name, a number, {"number": "inf"} or {"size": "2*D"}. */
static int read_operand(struct reader *r, const json_t *j, const struct value **out)
{
    static const char *const number[] = {"number"}, *const size[] = {"size"};
    *out = NULL;
    if (r->g->values.n >= GRAPH_MAX_VALUES)
        return fail(r, "more than %d values", GRAPH_MAX_VALUES);
    if (json_is_string(j))
        return read_named(r, j, out);
    if (json_is_number(j))
        return read_number(r, j, out);
    if (!json_is_object(j))
        return fail(r, "expected a name, a number, or an object with 'number' or 'size'");
    if (json_object_get(j, "size")) {
        if (need_keys(r, j, size, 1, 0) < 0)
            return -1;
        IN_MEMBER(r, j, "size", read_size(r, member, out));
    } else {
        if (need_keys(r, j, number, 1, 0) < 0)
            return -1;
        IN_MEMBER(r, j, "number", read_number(r, member, out));
    }
    return 0;
}

static int read_args(struct reader *r, const json_t *j, enum graph_op op, const struct value **out)
{
    const struct op_param *p;
    size_t n = op_args(op, &p);
    if (!json_is_array(j))
        return fail(r, "expected a list");
    if (json_array_size(j) > n)
        return fail(r, "%s takes %zu operand%s, not %zu", op_row(op)->name, n, n == 1 ? "" : "s",
                    json_array_size(j));
    for (size_t i = 0; i < n; i++) {
        const json_t *arg = json_array_get(j, i);
        size_t at = step_to(r, i);
        if (arg && !json_is_null(arg)) {
            if (read_operand(r, arg, &out[i]) < 0)
                return -1;
        } else if (!p[i].optional) {
            return fail(r, "%s needs its operand '%s'", op_row(op)->name, p[i].name);
        }
        step_out(r, at);
    }
    return 0;
}

static int read_ints(struct reader *r, const json_t *j, struct attr *out)
{
    if (need_array(r, j, GRAPH_MAX_RANK) < 0)
        return -1;
    out->n = json_array_size(j);
    for (size_t i = 0; i < out->n; i++) {
        size_t at = step_to(r, i);
        if (read_int(r, json_array_get(j, i), &out->ints[i]) < 0)
            return -1;
        step_out(r, at);
    }
    return 0;
}

static int read_attr(struct reader *r, const json_t *j, enum attr_kind kind, struct attr *out)
{
    *out = (struct attr){.kind = json_is_null(j) ? ATTR_NONE : kind};
    switch (out->kind) {
    case ATTR_NONE:
        return 0;
    case ATTR_BOOL:
        out->i = json_is_true(j);
        return json_is_boolean(j) ? 0 : fail(r, "expected true or false");
    case ATTR_INT:
        return read_int(r, j, &out->i);
    case ATTR_REAL:
        return json_get_double(j, &out->real) < 0
                   ? fail(r, "expected a number, \"inf\", \"-inf\" or \"nan\"")
                   : 0;
    case ATTR_AXES:
    case ATTR_INTS:
        return read_ints(r, j, out);
    case ATTR_DIMS:
        return read_dims(r, j, &out->n, out->dims);
    case ATTR_DIM:
        out->n = 1;
        return read_dim(r, j, &out->dims[0]);
    case ATTR_TEXT:
        return read_text(r, j, GRAPH_JSON_MAX_NAME, &out->text);
    case ATTR_DTYPE:
        return read_dtype(r, j, &out->dtype);
    }
    BUG("an attribute of kind %d", kind);
}

static int read_attrs(struct reader *r, const json_t *j, enum graph_op op, struct attr *out)
{
    const struct op_param *p;
    const char *key;
    json_t *member;
    op_attrs(op, &p);
    if (!json_is_object(j))
        return fail(r, "expected an object");
    json_object_foreach((json_t *)j, key, member)
    {
        size_t before = step_in(r, quoted(r, key));
        int place = op_attr_place(op, key);
        if (place < 0)
            return fail(r, "%s has no attribute '%s'", op_row(op)->name, quoted(r, key));
        if (read_attr(r, member, p[place].kind, &out[place]) < 0)
            return -1;
        step_out(r, before);
    }
    return 0;
}

static int read_op(struct reader *r, const json_t *j, enum graph_op *out)
{
    const char *s;
    if (read_text(r, j, GRAPH_JSON_MAX_NAME, &s) < 0)
        return -1;
    *out = op_named(s);
    if (*out == OP_COUNT)
        return fail(r, "there is no operation '%s'", quoted(r, s));
    if (op_row(*out)->kind == OPK_LEAF)
        return fail(r, "'%s' is not an operation on values", s);
    return 0;
}

static int read_id(struct reader *r, const json_t *j, const char **out)
{
    if (read_text(r, j, GRAPH_JSON_MAX_NAME + 1, out) < 0)
        return -1;
    const char *s = *out;
    bool ok = *s == '%' && s[1];
    for (s++; ok && *s; s++)
        ok = isalnum((unsigned char)*s) || *s == '_';
    if (!ok)
        return fail(r, "'%s' is not an id: an id is %% and then letters, digits and _",
                    quoted(r, *out));
    if (json_object_get(r->ids, *out))
        return fail(r, "a second value is called '%s'", *out);
    return 0;
}

static int compare_types(struct reader *r, const struct type *declared, const struct value *v)
{
    bool same = declared->dtype == v->dtype && declared->rank == v->rank;
    for (size_t d = 0; same && d < v->rank; d++)
        same = dim_same(declared->shape[d], v->shape[d]);
    if (same)
        return 0;
    struct strbuf a = STRBUF_INIT(600), b = STRBUF_INIT(600);
    graph_print_type(&a, declared->dtype, (uint32_t)declared->rank, declared->shape);
    graph_print_type(&b, v->dtype, v->rank, v->shape);
    fail(r, "%s gives %s here, but %s is declared", op_row(v->op)->name, b.buf, a.buf);
    strbuf_release(&a);
    strbuf_release(&b);
    return -1;
}

static int read_value(struct reader *r, const json_t *j)
{
    static const char *const keys[] = {"id", "op", "args", "dtype", "shape", "attrs"};
    const struct value *args[GRAPH_MAX_ARGS] = {NULL}, *v;
    struct attr attrs[GRAPH_MAX_ATTRS] = {{.kind = ATTR_NONE}};
    enum graph_op op = OP_COUNT;
    const char *id;
    struct type t;
    if (need_keys(r, j, keys, ARRAY_LEN(keys), 3) < 0)
        return -1;
    IN_MEMBER(r, j, "id", read_id(r, member, &id));
    IN_MEMBER(r, j, "op", read_op(r, member, &op));
    IN_MEMBER(r, j, "args", read_args(r, member, op, args));
    if (json_object_get(j, "attrs"))
        IN_MEMBER(r, j, "attrs", read_attrs(r, member, op, attrs));
    bool typed = json_object_get(j, "dtype") || json_object_get(j, "shape");
    if (typed && read_type(r, j, &t) < 0)
        return -1;
    v = graph_add(r->g, op, args, attrs, r->err);
    if (!v)
        return fail_here(r);
    if (typed && compare_types(r, &t, v) < 0)
        return -1;
    size_t n = json_object_size(r->ids);
    r->made[n] = v;
    json_object_set_new(r->ids, id, json_integer((json_int_t)n));
    return 0;
}

/* ---- outputs ------------------------------------------------------------------------ */

/* An output may have the name of an input. Both are then one tensor, updated in place. */
static int check_in_place(struct reader *r, const char *name, const struct type *t)
{
    const struct value *v = graph_find(r->g, name);
    vec_each (const struct graph_output, o, &r->g->outputs)
        if (str_eq(o->name, name))
            return fail(r, "the name '%s' is taken", name);
    if (is_size_name(r, name) || (v && v->op == OP_SCALAR))
        return fail(r, "the name '%s' is taken", name);
    bool same = !v || (v->dtype == t->dtype && v->rank == t->rank);
    for (size_t d = 0; v && same && d < v->rank; d++)
        same = dim_same(v->shape[d], t->shape[d]);
    return same ? 0 : fail(r, "input '%s' has another dtype or shape", name);
}

static int read_output(struct reader *r, const json_t *j)
{
    static const char *const keys[] = {"name", "dtype", "shape", "value"};
    const struct value *v;
    const char *name;
    struct type t;
    if (need_keys(r, j, keys, ARRAY_LEN(keys), 0) < 0)
        return -1;
    IN_MEMBER(r, j, "name", read_name(r, member, &name));
    if (read_type(r, j, &t) < 0)
        return -1;
    if (check_in_place(r, name, &t) < 0)
        return -1;
    IN_MEMBER(r, j, "value", read_operand(r, member, &v));
    graph_add_output(r->g, name, t.dtype, (uint32_t)t.rank, t.shape, v);
    return 0;
}

/* ---- the whole ---------------------------------------------------------------------- */

static int read_list(struct reader *r, const json_t *root, const char *key, size_t max,
                     int (*read_one)(struct reader *r, const json_t *j))
{
    const json_t *list = json_object_get(root, key);
    size_t at = step_in(r, key);
    if (need_array(r, list, max) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t before = step_to(r, i);
        if (read_one(r, json_array_get(list, i)) < 0)
            return -1;
        step_out(r, before);
    }
    step_out(r, at);
    return 0;
}

static int read_version(struct reader *r, const json_t *j)
{
    int64_t v = 0;
    if (read_int(r, j, &v) < 0)
        return -1;
    return v == GRAPH_JSON_VERSION ? 0
                                   : fail(r, "version %" PRId64 ": this program reads version %d",
                                          v, GRAPH_JSON_VERSION);
}

/* graph_init() needs the names that sizes may mention, so we read them first. */
static int read_names(struct reader *r, const json_t *root)
{
    static const char *const keys[] = {"version", "axes",    "inputs", "scalars",
                                       "values",  "outputs", "guards"};
    if (need_keys(r, root, keys, ARRAY_LEN(keys), 0) < 0)
        return -1;
    IN_MEMBER(r, root, "version", read_version(r, member));
    if (read_list(r, root, "axes", GRAPH_JSON_MAX_AXES, read_axis) < 0)
        return -1;
    return read_list(r, root, "scalars", GRAPH_JSON_MAX_SCALARS, read_scalar_name);
}

static int read_rest(struct reader *r, const json_t *root)
{
    IN_MEMBER(r, root, "guards", read_guards(r, member));
    if (read_list(r, root, "scalars", GRAPH_JSON_MAX_SCALARS, read_scalar) < 0 ||
        read_list(r, root, "inputs", GRAPH_JSON_MAX_INPUTS, read_input) < 0 ||
        read_list(r, root, "values", GRAPH_MAX_VALUES, read_value) < 0 ||
        read_list(r, root, "outputs", GRAPH_JSON_MAX_OUTPUTS, read_output) < 0)
        return -1;
    if (!r->g->outputs.n)
        return fail(r, "there is no output");
    return graph_verify(r->g, r->err);
}

/* Initialises the graph. Copies the names to its arena, because they must live as long as the
 * graph. */
static void begin(struct reader *r)
{
    struct graph *g = r->g;
    size_t n = r->names.n;
    const char **names = xcalloc(n + 1, sizeof *names);
    graph_init(g, names, n);
    const char **kept = arena_alloc(&g->arena, (n + 1) * sizeof *kept);
    for (size_t i = 0; i < n; i++)
        kept[i] = arena_strdup(&g->arena, r->names.items[i].name);
    g->dims.names = kept;
    free(names);
    for (size_t i = 0; i < n; i++)
        if (r->names.items[i].value)
            dim_define(&g->dims, i, dim_number(&g->dims, r->names.items[i].value));
}

int graph_from_json(struct graph *g, const json_t *j, struct err *err)
{
    struct reader r = {.g = g, .err = err, .path = STRBUF_INIT(1024), .ids = json_object()};
    r.made = xcalloc(GRAPH_MAX_VALUES, sizeof *r.made);
    int rc = read_names(&r, j);
    if (rc == 0) {
        begin(&r);
        rc = read_rest(&r, j);
        if (rc < 0)
            graph_release(g);
    }
    json_decref(r.ids);
    free(r.made);
    vec_release(&r.names);
    strbuf_release(&r.path);
    return rc;
}
