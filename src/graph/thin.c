/* thin.c - finds the inputs to make thin. See thin.h. */
#include "graph/thin.h"

#include "base/util.h"

/* The input from which an operand is computed. */
struct source {
    const struct value *input; /* NULL = the operand is not computed from one input */
    uint32_t dims;             /* bit d: dimension d of the input is one that could be thin */
    bool alone;                /* nothing else uses the input */
};

static uint32_t bits(uint32_t first, uint32_t end)
{
    return (end < 32 ? (1u << end) - 1 : ~0u) & ~((1u << first) - 1);
}

/* Sets *out to the dimensions of a reshape's operand that correspond to `dims` of its result.
 * Leading and trailing dimensions of equal size correspond one to one, the others only as a group.
 * Returns false if `dims` has only some of the group. */
static bool through_reshape(const struct value *v, uint32_t dims, uint32_t *out)
{
    const struct value *x = v->args[0];
    uint32_t head = 0, tail = 0, least = MIN(v->rank, x->rank);
    while (head < least && dim_same(v->shape[head], x->shape[head]))
        head++;
    while (head + tail < least &&
           dim_same(v->shape[v->rank - 1 - tail], x->shape[x->rank - 1 - tail]))
        tail++;
    uint32_t between = bits(head, v->rank - tail), in_tail = dims & bits(v->rank - tail, v->rank);
    if ((dims & between) != 0 && (dims & between) != between)
        return false;
    *out = dims & bits(0, head);
    if (dims & between)
        *out |= bits(head, x->rank - tail);
    *out |= x->rank >= v->rank ? in_tail << (x->rank - v->rank) : in_tail >> (v->rank - x->rank);
    return true;
}

static uint32_t through_permute(const struct value *v, uint32_t dims)
{
    const struct attr *axes = value_attr(v, "dims");
    uint32_t out = 0;
    for (uint32_t d = 0; d < v->rank; d++)
        out |= dims >> d & 1 ? 1u << axes->ints[d] : 0;
    return out;
}

/* Sets *out to the dimensions of an expand's operand that correspond to `dims` of its result.
 * Returns false if one of `dims` is missing or broadcast in the operand. */
static bool through_expand(const struct value *v, uint32_t dims, uint32_t *out)
{
    const struct value *x = v->args[0];
    uint32_t lead = v->rank - x->rank;
    for (uint32_t d = 0; d < v->rank; d++)
        if (dims >> d & 1 && (d < lead || !dim_same(v->shape[d], x->shape[d - lead])))
            return false;
    *out = dims >> lead;
    return true;
}

/* Replaces *v by its operand, and *dims by the corresponding dimensions. Returns false if v does
 * not keep zeros, or if no dimensions correspond. */
static bool step(const struct value **v, uint32_t *dims)
{
    const struct value *x = *v;
    bool ok = true;
    switch (x->op) {
    case OP_CAST:
    case OP_NEG:
    case OP_ABS:
    case OP_SQUARE:
    case OP_RELU:
        break;
    case OP_RESHAPE:
        ok = through_reshape(x, *dims, dims);
        break;
    case OP_PERMUTE:
        *dims = through_permute(x, *dims);
        break;
    case OP_EXPAND:
        ok = through_expand(x, *dims, dims);
        break;
    case OP_MUL: /* zero times anything finite is zero */
        ok = value_same_shape(x, x->args[0]);
        break;
    default:
        return false;
    }
    *v = x->args[0];
    return ok;
}

/* Finds the float32 input from which v comes, and its dimensions that correspond to `dims`. */
static struct source find_source(const struct value *v, uint32_t dims, const uint32_t *uses)
{
    bool alone = uses[v->id] == 1;
    while (v->op != OP_INPUT) {
        if (!step(&v, &dims))
            return (struct source){.input = NULL};
        alone = alone && uses[v->id] == 1;
    }
    if (v->dtype != DT_F32 || !dims)
        return (struct source){.input = NULL};
    return (struct source){v, dims, alone};
}

static struct thin_input *of(const struct graph *g, struct thin *t, const struct value *input)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.items[i] == input)
            return &t->inputs[i];
    BUG("an input that the graph does not list");
}

/* Chooses the first possible one of n sources, and makes its input thin. Returns false if none is
 * possible. An input that is already thin along other dimensions is not possible: it gets only one
 * set of dimensions. */
static bool thin_one(const struct graph *g, struct thin *t, const struct source *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct thin_input *x = s[i].input ? of(g, t, s[i].input) : NULL;
        if (!x || (x->dims && x->dims != s[i].dims))
            continue;
        x->dims = s[i].dims;
        return true;
    }
    return false;
}

/* Notes that Hone may multiply one input of a product by a number and divide the other by it. It
 * may do so only if nothing else uses the two inputs. */
static void scale_both(const struct graph *g, struct thin *t, const struct source *s)
{
    if (!s[0].input || !s[1].input || s[0].input == s[1].input || !s[0].alone || !s[1].alone)
        return;
    of(g, t, s[0].input)->scale = 1;
    of(g, t, s[1].input)->scale = -1;
}

/* Sets *a and *b, as bits, to the dimensions of v's first and second operand that v sums over. */
static void summed_dims(const struct value *v, uint32_t *a, uint32_t *b)
{
    const struct value *x = v->args[0], *w = v->args[1];
    *a = 1u << (x->rank - 1);
    switch (v->op) {
    case OP_MATMUL:
        *b = 1u << (w->rank > 1 ? w->rank - 2 : 0);
        break;
    /* A sum goes over a window of x and not over whole dimensions, so only w can be thin. */
    case OP_CONV:
        *a = 0;
        *b = bits(1, w->rank);
        break;
    case OP_CONV_TRANSPOSE:
        *a = 0;
        *b = bits(0, w->rank) & ~2u;
        break;
    default: /* attention sums over the last dimension of query and key */
        *b = 1u << (w->rank - 1);
        break;
    }
}

static void thin_product(const struct graph *g, struct thin *t, const struct value *v,
                         const uint32_t *uses)
{
    uint32_t a, b;
    summed_dims(v, &a, &b);
    /* The second operand comes first, because it is often a weight. */
    struct source s[] = {find_source(v->args[1], b, uses), find_source(v->args[0], a, uses)};
    bool ok = thin_one(g, t, s, 2);
    if (!a) /* without a dimension, find_source() found no input for scale_both() */
        s[1] = find_source(v->args[0], 1, uses);
    scale_both(g, t, s);
    if (v->op == OP_ATTENTION) {
        const struct value *values = v->args[2];
        struct source of_values = find_source(values, 1u << (values->rank - 2), uses);
        ok = thin_one(g, t, &of_values, 1) && ok;
    }
    t->products += ok;
    t->left += !ok;
}

static void thin_sum(const struct graph *g, struct thin *t, const struct value *v,
                     const uint32_t *uses)
{
    const struct attr *axes = value_attr(v, "dim");
    uint32_t dims = 0;
    for (size_t i = 0; i < axes->n; i++)
        dims |= 1u << axes->ints[i];
    struct source s = find_source(v->args[0], dims, uses);
    t->sums += thin_one(g, t, &s, 1);
}

struct thin graph_thin(const struct graph *g, struct arena *a)
{
    struct thin t = {.inputs = arena_alloc(a, (g->inputs.n + 1) * sizeof *t.inputs)};
    struct arena mem = ARENA_INIT;
    const uint32_t *uses = graph_uses(g, &mem);
    vec_each (struct value *const, p, &g->values) {
        const struct value *v = *p;
        enum op_kind kind = op_row(v->op)->kind;
        if (!uses[v->id] || v->dtype != DT_F32)
            continue;
        if (kind == OPK_PRODUCT || kind == OPK_CONV || kind == OPK_ATTENTION)
            thin_product(g, &t, v, uses);
    }
    vec_each (struct value *const, p, &g->values)
        if (uses[(*p)->id] && (*p)->dtype == DT_F32 && ((*p)->op == OP_SUM || (*p)->op == OP_MEAN))
            thin_sum(g, &t, *p, uses);
    arena_release(&mem);
    return t;
}
