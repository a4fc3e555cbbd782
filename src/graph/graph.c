/* graph.c - makes the values of a graph, and checks a finished graph. Adding an operation again
 * with the same operands and attributes gives the value that is there already. */
#include "graph/graph.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "graph/infer.h"

void graph_init(struct graph *g, const char *const *names, size_t n)
{
    *g = (struct graph){.arena = ARENA_INIT};
    dim_pool_init(&g->dims, &g->arena, names, n);
}

void graph_release(struct graph *g)
{
    vec_release(&g->values);
    vec_release(&g->inputs);
    vec_release(&g->scalars);
    vec_release(&g->outputs);
    dim_pool_release(&g->dims);
    arena_release(&g->arena);
    *g = (struct graph){.arena = ARENA_INIT};
}

/* ---- one value for each meaning -------------------------------------------------------------- */

static uint32_t mix(uint32_t h, uint64_t v)
{
    uint64_t x = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(x >> 32) ^ (uint32_t)x;
}

static uint32_t hash_text(uint32_t h, const char *s)
{
    for (; s && *s; s++)
        h = mix(h, (unsigned char)*s);
    return h;
}

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static uint32_t hash_of(const struct value *v)
{
    uint32_t h = mix(17, v->op);
    for (uint32_t i = 0; i < v->nargs; i++)
        h = mix(h, v->args[i] ? v->args[i]->id + 1 : 0);
    for (uint32_t i = 0; i < v->nattrs; i++) {
        const struct attr *a = &v->attrs[i];
        h = mix(mix(h, a->kind), (uint64_t)a->i + a->n + a->dtype);
        for (size_t k = 0; k < a->n; k++)
            h = mix(h, (uint64_t)a->ints[k]);
        h = hash_text(h, a->text);
    }
    return hash_text(mix(h, bits_of(v->number)), v->name);
}

/* Compares bits: a NaN equals itself, and 0 differs from -0. */
static bool same_number(double a, double b)
{
    return bits_of(a) == bits_of(b);
}

static bool same(const struct value *a, const struct value *b)
{
    bool ok = a->hash == b->hash && a->op == b->op && a->size == b->size &&
              same_number(a->number, b->number) && a->dtype == b->dtype && a->weak == b->weak &&
              (a->name == b->name || (a->name && b->name && str_eq(a->name, b->name)));
    for (uint32_t i = 0; ok && i < a->nargs; i++)
        ok = a->args[i] == b->args[i];
    for (uint32_t i = 0; ok && i < a->nattrs; i++)
        ok = attr_same(&a->attrs[i], &b->attrs[i]);
    return ok;
}

static const struct value *find_same(const struct graph *g, struct value *v)
{
    v->hash = hash_of(v);
    vec_each (struct value *const, there, &g->values)
        if (same(*there, v))
            return *there;
    return NULL;
}

static const struct value *keep(struct graph *g, struct value *v)
{
    v->id = (uint32_t)g->values.n;
    for (uint32_t i = 0; i < v->nattrs; i++)
        if (v->attrs[i].kind == ATTR_TEXT)
            v->attrs[i].text = arena_strdup(&g->arena, v->attrs[i].text);
    struct value *kept = arena_alloc(&g->arena, sizeof *kept);
    *kept = *v;
    *vec_push(&g->values) = kept;
    return kept;
}

static const struct value *interned(struct graph *g, struct value *v)
{
    const struct value *there = find_same(g, v);
    return there ? there : keep(g, v);
}

/* ---- leaves ---------------------------------------------------------------------------------- */

const struct value *graph_input(struct graph *g, const char *name, enum dtype t, uint32_t rank,
                                const struct dim *const *shape)
{
    struct value v = {.op = OP_INPUT, .dtype = t, .rank = rank};
    v.name = arena_strdup(&g->arena, name);
    memcpy(v.shape, shape, rank * sizeof *shape);
    const struct value *made = interned(g, &v);
    *vec_push(&g->inputs) = made;
    return made;
}

static const struct value *scalar(struct graph *g, const char *name, enum dtype t)
{
    struct value v = {.op = OP_SCALAR, .dtype = t, .weak = true};
    v.name = arena_strdup(&g->arena, name);
    return interned(g, &v);
}

const struct value *graph_scalar(struct graph *g, const char *name, enum dtype t)
{
    const struct value *made = scalar(g, name, t);
    *vec_push(&g->scalars) = made;
    return made;
}

const struct value *graph_variable(struct graph *g, const char *name)
{
    return scalar(g, name, DT_F32);
}

const struct value *graph_number(struct graph *g, double v)
{
    struct value n = {.op = OP_NUMBER, .dtype = DT_F32, .weak = true, .number = v};
    return interned(g, &n);
}

const struct value *graph_integer(struct graph *g, int64_t v)
{
    struct value n = {.op = OP_NUMBER, .dtype = DT_I64, .weak = true, .number = (double)v};
    return interned(g, &n);
}

const struct value *graph_size(struct graph *g, const struct dim *d)
{
    if (d->is_number)
        return graph_integer(g, d->value);
    struct value v = {.op = OP_SIZE, .dtype = DT_I64, .weak = true, .size = d};
    return interned(g, &v);
}

const struct value *graph_find(const struct graph *g, const char *name)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        if (str_eq(g->inputs.items[i]->name, name))
            return g->inputs.items[i];
    for (size_t i = 0; i < g->scalars.n; i++)
        if (str_eq(g->scalars.items[i]->name, name))
            return g->scalars.items[i];
    return NULL;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Fills in v's operands and attributes as the operation's row in ops.def asks for them. */
static int fill(struct value *v, const struct value *const *args, const struct attr *attrs,
                struct err *err)
{
    const struct op_param *p;
    v->nargs = op_args(v->op, &p);
    for (uint32_t i = 0; i < v->nargs; i++) {
        v->args[i] = args ? args[i] : NULL;
        if (!v->args[i] && !p[i].optional)
            return err_set(err, ERR_INPUT, "%s needs its operand '%s'", op_row(v->op)->name,
                           p[i].name);
    }
    v->nattrs = op_attrs(v->op, &p);
    for (uint32_t i = 0; i < v->nattrs; i++) {
        v->attrs[i] = attrs && attrs[i].kind != ATTR_NONE ? attrs[i] : p[i].value;
        if (v->attrs[i].kind != ATTR_NONE && v->attrs[i].kind != p[i].kind)
            return err_set(err, ERR_INPUT, "%s: the attribute '%s' has the wrong kind",
                           op_row(v->op)->name, p[i].name);
    }
    return 0;
}

const struct value *graph_add(struct graph *g, enum graph_op op, const struct value *const *args,
                              const struct attr *attrs, struct err *err)
{
    struct value v = {.op = op};
    if (fill(&v, args, attrs, err) < 0 || infer_value(&g->dims, &v, err) < 0)
        return NULL;
    const struct value *there = find_same(g, &v);
    if (!there && g->values.n >= GRAPH_MAX_VALUES) {
        err_set(err, ERR_LIMIT, "more than %d values in one graph", GRAPH_MAX_VALUES);
        return NULL;
    }
    return there ? there : keep(g, &v);
}

const struct value *graph_add1(struct graph *g, enum graph_op op, const struct value *a,
                               struct err *err)
{
    const struct value *args[GRAPH_MAX_ARGS] = {a};
    return a ? graph_add(g, op, args, NULL, err) : NULL;
}

const struct value *graph_add2(struct graph *g, enum graph_op op, const struct value *a,
                               const struct value *b, struct err *err)
{
    const struct value *args[GRAPH_MAX_ARGS] = {a, b};
    return a && b ? graph_add(g, op, args, NULL, err) : NULL;
}

const struct value *graph_add3(struct graph *g, enum graph_op op, const struct value *a,
                               const struct value *b, const struct value *c, struct err *err)
{
    const struct value *args[GRAPH_MAX_ARGS] = {a, b, c};
    return a && b && c ? graph_add(g, op, args, NULL, err) : NULL;
}

const struct value *graph_cast(struct graph *g, const struct value *a, enum dtype to,
                               struct err *err)
{
    struct attr t = attr_dtype(to);
    if (!a || (a->dtype == to && !a->weak))
        return a;
    return graph_add(g, OP_CAST, &a, &t, err);
}

const struct value *graph_reshape(struct graph *g, const struct value *a, uint32_t rank,
                                  const struct dim *const *shape, struct err *err)
{
    struct attr s = attr_dims(shape, rank);
    if (!a)
        return NULL;
    if (rank == a->rank && memcmp(shape, a->shape, rank * sizeof *shape) == 0)
        return a;
    return graph_add(g, OP_RESHAPE, &a, &s, err);
}

const struct value *graph_permute(struct graph *g, const struct value *a, const int64_t *axes,
                                  struct err *err)
{
    if (!a)
        return NULL;
    struct attr d = attr_axes(axes, a->rank);
    return graph_add(g, OP_PERMUTE, &a, &d, err);
}

const struct value *graph_rebuild(struct graph *g, const struct value *v,
                                  const struct value *const *args, struct err *err)
{
    if (op_row(v->op)->kind == OPK_LEAF)
        return v;
    return graph_add(g, v->op, args, v->attrs, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void graph_add_output(struct graph *g, const char *name, enum dtype t, uint32_t rank,
                      const struct dim *const *shape, const struct value *v)
{
    struct graph_output *o = vec_push(&g->outputs);
    o->name = arena_strdup(&g->arena, name);
    o->dtype = t;
    o->rank = rank;
    o->value = v;
    memcpy(o->shape, shape, rank * sizeof *shape);
}

static uint32_t long_axes(uint32_t rank, const struct dim *const *shape, const struct dim **out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < rank; i++)
        if (!dim_is(shape[i], 1))
            out[n++] = shape[i];
    return n;
}

static int bad_output(const struct graph_output *o, const char *what, struct err *err)
{
    return err_set(err, ERR_INPUT, "output '%s' %s", o->name, what);
}

static int verify_output(const struct graph_output *o, struct err *err)
{
    const struct dim *declared[GRAPH_MAX_RANK], *inferred[GRAPH_MAX_RANK];
    const struct value *v = o->value;
    uint32_t n = long_axes(o->rank, o->shape, declared), m = long_axes(v->rank, v->shape, inferred);
    for (uint32_t i = 0; i < MIN(n, m); i++)
        if (!dim_same(declared[i], inferred[i]))
            return err_set(err, ERR_INPUT,
                           "output '%s' is declared with size '%s' where the expression gives '%s'",
                           o->name, declared[i]->text, inferred[i]->text);
    if (n != m)
        return err_set(
            err, ERR_INPUT,
            "output '%s' is declared with %u axes longer than 1; the expression gives %u", o->name,
            n, m);
    if (dtype_is_float(v->dtype) && !dtype_is_float(o->dtype))
        return err_set(err, ERR_INPUT, "output '%s' is %s, and the expression gives %s", o->name,
                       dtype_name(o->dtype), dtype_name(v->dtype));
    if (o->dtype == DT_BOOL && v->dtype != DT_BOOL)
        return bad_output(o, "is bool, and the expression gives numbers", err);
    return 0;
}

static int verify_value(const struct graph *g, const struct value *v, struct err *err)
{
    for (uint32_t i = 0; i < v->nargs; i++)
        if (v->args[i] && (v->args[i]->id >= v->id || v->args[i]->id >= g->values.n ||
                           g->values.items[v->args[i]->id] != v->args[i]))
            return err_set(err, ERR_INTERNAL, "value %u (%s) has an operand with a later id", v->id,
                           op_row(v->op)->name);
    return 0;
}

int graph_verify(const struct graph *g, struct err *err)
{
    if (g->dims.too_long)
        return err_set(err, ERR_LIMIT, "a size of the graph is too long to write");
    for (size_t i = 0; i < g->values.n; i++)
        if (verify_value(g, g->values.items[i], err) < 0)
            return -1;
    vec_each (const struct graph_output, o, &g->outputs) {
        if (!o->value)
            return bad_output(o, "has no value", err);
        if (verify_output(o, err) < 0)
            return -1;
    }
    return g->outputs.n ? 0 : err_set(err, ERR_INPUT, "the graph has no output");
}

const uint32_t *graph_uses(const struct graph *g, struct arena *a)
{
    uint32_t *uses = arena_alloc(a, (g->values.n + 1) * sizeof *uses);
    vec_each (const struct graph_output, o, &g->outputs)
        uses[o->value->id]++;
    for (size_t i = g->values.n; i-- > 0;) { /* visits users before their operands */
        const struct value *v = g->values.items[i];
        for (uint32_t k = 0; uses[i] && k < v->nargs; k++)
            if (v->args[k])
                uses[v->args[k]->id]++;
    }
    return uses;
}

const bool *graph_needed(const struct graph *g, const struct value *v,
                         bool (*stop)(const struct value *v), struct arena *a)
{
    bool *needed = arena_alloc(a, (v->id + 1) * sizeof *needed);
    needed[v->id] = true;
    for (size_t i = v->id + 1; i-- > 0;) {
        const struct value *one = g->values.items[i];
        if (!needed[i] || (stop && stop(one)))
            continue;
        for (uint32_t k = 0; k < one->nargs; k++)
            if (one->args[k])
                needed[one->args[k]->id] = true;
    }
    return needed;
}
