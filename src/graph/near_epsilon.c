/* near_epsilon.c - finds epsilons in a graph, and the inputs to scale for them. If a kernel has a
 * wrong epsilon, as in sqrt(variance + epsilon), the mistake shows only if the value beside the
 * epsilon is small too (near_epsilon.h). */
#include "graph/near_epsilon.h"

#include <math.h>
#include <string.h>

#include "base/util.h"

static const double MOST_EPSILON = 1e-3;
/* A value up to this many times as large as its epsilon is near enough. */
static const double NEAR = 16;
/* We multiply an input by 2^-k, where k is from LEAST_BITS to MOST_BITS. With a larger k floats
 * might become subnormal. */
enum { LEAST_BITS = 1, MOST_BITS = 60, MOST_BITS_F16 = 8 };

struct spread {
    double mean, variance;
};

struct search {
    const struct graph *g;
    const struct near_epsilon_input *inputs;
    const double *scalars;
    const int64_t *sizes;
    /* These arrays have an entry for each value, except chosen and bits. */
    struct spread *spread; /* mean and variance of the value's elements */
    bool *seen;            /* collect() has visited the value */
    bool *chosen;          /* for each input: it is to be scaled */
    /* If the chosen inputs are multiplied by s, the value is multiplied by s^degree. NAN means that
     * the value changes in another way. */
    double *degree;
    int *bits; /* for each input: see struct near_epsilon */
};

static size_t input_number(const struct search *x, const struct value *v)
{
    for (size_t i = 0; i < x->g->inputs.n; i++)
        if (x->g->inputs.items[i] == v)
            return i;
    BUG("an input that the graph does not list");
}

/* ---- how large values are -------------------------------------------------------------------- */

static double elements(const struct search *x, const struct dim *const *shape, uint32_t rank)
{
    double n = 1;
    int64_t size;
    for (uint32_t d = 0; d < rank; d++)
        if (dim_eval(shape[d], x->sizes, &size))
            n *= (double)MAX(size, 1);
    return n;
}

static double count(const struct search *x, const struct value *v)
{
    return elements(x, v->shape, v->rank);
}

/* Returns how many products one sum of a matrix product or a convolution has. */
static double terms(const struct search *x, const struct value *v)
{
    const struct value *a = v->args[0], *w = v->args[1];
    if (!a || !w)
        return 1; /* cannot happen */
    if (v->op == OP_MATMUL)
        return elements(x, &a->shape[a->rank - 1], 1);
    return count(x, w) / elements(x, &w->shape[v->op == OP_CONV ? 0 : 1], 1);
}

/* Returns the spread of a sum of n products. Each multiplies an element of `a` by an element of
 * b. */
static struct spread times(struct spread a, struct spread b, double n)
{
    return (struct spread){n * a.mean * b.mean,
                           n * (a.variance * b.variance + a.variance * b.mean * b.mean +
                                b.variance * a.mean * a.mean)};
}

/* Returns the root mean square. */
static double size_of(struct spread s)
{
    return sqrt(s.mean * s.mean + s.variance);
}

/* Estimates the mean and variance of v's elements from those of its operands. A rough estimate is
 * enough: a wrong epsilon shows even if the value is not very near the epsilon. */
static struct spread estimate(const struct search *x, const struct value *v)
{
    struct spread a = {0, 1}, b = {0, 0};
    double number;
    if (v->nargs > 0 && v->args[0])
        a = x->spread[v->args[0]->id];
    if (v->nargs > 1 && v->args[1])
        b = x->spread[v->args[1]->id];
    double n = v->nargs && v->args[0] ? count(x, v->args[0]) / count(x, v) : 1;
    switch (v->op) {
    case OP_INPUT:
        return (struct spread){x->inputs[input_number(x, v)].mean,
                               x->inputs[input_number(x, v)].variance};
    case OP_NUMBER:
        return (struct spread){value_is_number(v, &number) ? number : 0, 0};
    case OP_ADD:
        return (struct spread){a.mean + b.mean, a.variance + b.variance};
    case OP_SUB:
        return (struct spread){a.mean - b.mean, a.variance + b.variance};
    case OP_MUL:
        return times(a, b, 1);
    case OP_DIV:
        return size_of(b) > 0
                   ? (struct spread){a.mean / size_of(b), a.variance / (size_of(b) * size_of(b))}
                   : a;
    case OP_MATMUL:
    case OP_CONV:
    case OP_CONV_TRANSPOSE:
        return times(a, b, terms(x, v));
    case OP_SQUARE:
        return (struct spread){a.mean * a.mean + a.variance, 0};
    case OP_SQRT:
        return (struct spread){sqrt(size_of(a)), 0};
    case OP_SUM:
        return (struct spread){n * a.mean, n * a.variance};
    case OP_MEAN:
        return (struct spread){a.mean, a.variance / n};
    case OP_VAR:
        return (struct spread){a.variance, 0};
    case OP_STD:
        return (struct spread){sqrt(a.variance), 0};
    case OP_NORM:
        return (struct spread){sqrt(n) * size_of(a), 0};
    case OP_LAYER_NORM:
    case OP_RMS_NORM:
        return (struct spread){0, 1};
    default:
        return a;
    }
}

/* ---- which inputs scale a value -------------------------------------------------------------- */

static bool collect(struct search *x, const struct value *v);

static bool collect_all(struct search *x, const struct value *v)
{
    bool ok = true;
    for (uint32_t k = 0; k < v->nargs && ok; k++)
        ok = !v->args[k] || collect(x, v->args[k]);
    return ok;
}

/* Chooses inputs with which v probably grows; degree_of() checks this. Returns false if an input
 * may not be scaled, or if v depends on a number other than 0 or on an operation that is not listed
 * here. */
static bool collect(struct search *x, const struct value *v)
{
    double zero;
    if (x->seen[v->id])
        return true;
    x->seen[v->id] = true;
    switch (v->op) {
    case OP_INPUT:
        x->chosen[input_number(x, v)] = true;
        return x->inputs[input_number(x, v)].can_scale;
    case OP_NUMBER:
        return value_is_number(v, &zero) && zero == 0;
    case OP_ADD:
    case OP_SUB:
    case OP_CAT:
    case OP_MAXIMUM:
    case OP_MINIMUM:
        return collect_all(x, v);
    case OP_MATMUL:
    case OP_CONV:
    case OP_CONV_TRANSPOSE: /* the weight and the bias, not the input */
        return collect(x, v->args[1]) && (v->nargs < 3 || !v->args[2] || collect(x, v->args[2]));
    case OP_CAST:
    case OP_NEG:
    case OP_ABS:
    case OP_SQUARE:
    case OP_SQRT:
    case OP_RELU:
    case OP_LEAKY_RELU:
    case OP_MUL:
    case OP_DIV:
    case OP_POW:
    case OP_SUM:
    case OP_MEAN:
    case OP_AMAX:
    case OP_AMIN:
    case OP_VAR:
    case OP_STD:
    case OP_NORM:
    case OP_INDEX_SELECT:
    case OP_GATHER:
    case OP_RESHAPE:
    case OP_EXPAND:
    case OP_PERMUTE:
    case OP_SLICE:
    case OP_FLIP:
    case OP_PAD:
    case OP_WINDOWS:
        return collect(x, v->args[0]);
    default:
        return false;
    }
}

static double same(double a, double b)
{
    return a == b ? a : NAN;
}

/* Returns the degree of v (struct search). The operands of v must have their degrees already. */
static double degree_of(const struct search *x, const struct value *v)
{
    double d[GRAPH_MAX_ARGS] = {0}, number;
    bool any = false;
    for (uint32_t k = 0; k < v->nargs; k++) {
        d[k] = v->args[k] ? x->degree[v->args[k]->id] : 0;
        any = any || d[k] != 0;
    }
    if (v->op == OP_INPUT)
        return x->chosen[input_number(x, v)] ? 1 : 0;
    if (!any)
        return 0;
    switch (v->op) {
    case OP_ADD:
    case OP_SUB:
    case OP_CAT:
    case OP_MAXIMUM:
    case OP_MINIMUM:
        if (value_is_number(v->args[1], &number) && number == 0)
            return d[0];
        return same(d[0], d[1]);
    case OP_MUL:
    case OP_MATMUL:
        return d[0] + d[1];
    case OP_CONV:
    case OP_CONV_TRANSPOSE:
        return v->args[2] ? same(d[0] + d[1], d[2]) : d[0] + d[1];
    case OP_DIV:
        return d[0] - d[1];
    case OP_POW:
        return value_is_number(v->args[1], &number) ? number * d[0] : NAN;
    case OP_SQUARE:
    case OP_VAR:
        return 2 * d[0];
    case OP_SQRT:
        return d[0] / 2;
    case OP_CAST:
    case OP_NEG:
    case OP_ABS:
    case OP_RELU:
    case OP_LEAKY_RELU:
    case OP_SUM:
    case OP_MEAN:
    case OP_AMAX:
    case OP_AMIN:
    case OP_STD:
    case OP_NORM:
    case OP_INDEX_SELECT:
    case OP_GATHER:
    case OP_RESHAPE:
    case OP_EXPAND:
    case OP_PERMUTE:
    case OP_SLICE:
    case OP_FLIP:
    case OP_WINDOWS:
        return d[0];
    case OP_PAD:
        return value_is_number(v->args[1], &number) && number == 0 ? d[0] : NAN;
    default:
        return NAN;
    }
}

/* ---- epsilons -------------------------------------------------------------------------------- */

static bool is_epsilon(const struct search *x, const struct value *v, double *out)
{
    if (!v)
        return false;
    bool known = value_is_number(v, out);
    for (size_t i = 0; v->op == OP_SCALAR && i < x->g->scalars.n; i++)
        if (x->g->scalars.items[i] == v) {
            *out = x->scalars[i];
            known = true;
        }
    return known && *out > 0 && *out <= MOST_EPSILON;
}

/* Returns whether the operation v has an epsilon. If so, sets *epsilon to its value. *beside
 * becomes the value to which the epsilon is added or which it limits, and *size an estimate of how
 * large that value is. In a norm, *beside is the operand, and *size its variance or vector norm. If
 * *beside is multiplied by s, *size is multiplied by s^*power. */
static bool find_epsilon(const struct search *x, const struct value *v, const struct value **beside,
                         double *epsilon, double *size, double *power)
{
    *power = 1;
    switch (v->op) {
    case OP_ADD:
    case OP_MAXIMUM:
    case OP_CLAMP_MIN:
    case OP_CLAMP:
        for (uint32_t k = 0; k < 2; k++)
            if (is_epsilon(x, v->args[1 - k], epsilon) && (k == 0 || op_is_commutative(v->op))) {
                *beside = v->args[k];
                *size = size_of(x->spread[(*beside)->id]);
                return true;
            }
        return false;
    case OP_LAYER_NORM:
    case OP_RMS_NORM:
    case OP_NORMALIZE: {
        const struct value *eps = v->args[v->op == OP_LAYER_NORM ? 3
                                          : v->op == OP_RMS_NORM ? 2
                                                                 : 1];
        *beside = v->args[0];
        struct spread s = x->spread[(*beside)->id];
        *power = v->op == OP_NORMALIZE ? 1 : 2;
        *size = v->op == OP_LAYER_NORM ? s.variance : pow(size_of(s), *power);
        return is_epsilon(x, eps, epsilon);
    }
    default:
        return false;
    }
}

/* Sets x->bits of the inputs with which `beside` grows, so that the size of `beside` comes near
 * the epsilon. `ratio` is size / epsilon, and `power` is that of find_epsilon(). Returns false if
 * scaling does not help, or if an input is already scaled for another epsilon. */
static bool scale_for(struct search *x, const struct value *beside, double ratio, double power)
{
    size_t n = x->g->inputs.n;
    memset(x->seen, 0, x->g->values.n * sizeof *x->seen);
    memset(x->chosen, 0, n * sizeof *x->chosen);
    if (!collect(x, beside))
        return false;
    for (size_t i = 0; i < x->g->values.n; i++)
        x->degree[x->g->values.items[i]->id] = degree_of(x, x->g->values.items[i]);
    double degree = power * x->degree[beside->id];
    if (!(degree > 0))
        return false;
    double bits = -log2(ratio) / degree;
    for (size_t i = 0; i < n; i++) {
        double most =
            x->g->inputs.items[i]->dtype == DT_F16 ? (double)MOST_BITS_F16 : (double)MOST_BITS;
        if (x->chosen[i] && x->bits[i])
            return false;
        if (x->chosen[i])
            bits = MAX(bits, -most);
    }
    if (bits > -LEAST_BITS)
        return false;
    for (size_t i = 0; i < n; i++)
        if (x->chosen[i])
            x->bits[i] = (int)floor(bits);
    return true;
}

struct near_epsilon graph_near_epsilon(const struct graph *g,
                                       const struct near_epsilon_input *inputs,
                                       const double *scalars, const int64_t *sizes, struct arena *a)
{
    struct near_epsilon out = {.bits = arena_alloc(a, (g->inputs.n + 1) * sizeof *out.bits)};
    struct arena mem = ARENA_INIT;
    size_t n = g->values.n + 1;
    struct search x = {.g = g,
                       .inputs = inputs,
                       .scalars = scalars,
                       .sizes = sizes,
                       .spread = arena_alloc(&mem, n * sizeof *x.spread),
                       .seen = arena_alloc(&mem, n * sizeof *x.seen),
                       .chosen = arena_alloc(&mem, (g->inputs.n + 1) * sizeof *x.chosen),
                       .degree = arena_alloc(&mem, n * sizeof *x.degree),
                       .bits = out.bits};
    const uint32_t *uses = graph_uses(g, &mem);
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.items[i], *beside;
        double epsilon, size, power;
        x.spread[v->id] = estimate(&x, v);
        if (uses[v->id] && find_epsilon(&x, v, &beside, &epsilon, &size, &power) &&
            size > NEAR * epsilon)
            out.found += scale_for(&x, beside, size / epsilon, power);
    }
    arena_release(&mem);
    return out;
}
