/*
 * graph_eval.h - computes the values of a graph, for tests. It does so in another way than the
 * references that Hone generates: operation by operation, over whole arrays of doubles.
 *
 *     struct array *all = eval_graph(&g, sizes, inputs, scalars);
 *     all[v->id].x[i]                       element i of value v
 *     eval_free(all, g.values.n);
 */
#ifndef T_GRAPH_EVAL_H
#define T_GRAPH_EVAL_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/graph.h"

struct array {
    uint32_t rank;
    int64_t dim[GRAPH_MAX_RANK], n;
    double *x;
};

struct eval {
    const int64_t *sizes;
    struct array *all;
};

static inline int64_t eval_size(const struct eval *e, const struct dim *d)
{
    int64_t n;
    if (!dim_eval(d, e->sizes, &n))
        BUG("a size has no value: %s", d->text);
    return n;
}

static inline struct array array_new(const struct eval *e, const struct value *v)
{
    struct array a = {.rank = v->rank, .n = 1};
    for (uint32_t i = 0; i < v->rank; i++)
        a.n *= a.dim[i] = eval_size(e, v->shape[i]);
    a.x = xcalloc((size_t)a.n + 1, sizeof *a.x);
    return a;
}

/* Sets at[d] to the index of element i along axis d. */
static inline void split(const struct array *a, int64_t i, int64_t *at)
{
    for (uint32_t d = a->rank; d-- > 0; i /= a->dim[d])
        at[d] = i % a->dim[d];
}

static inline int64_t join(const struct array *a, const int64_t *at)
{
    int64_t i = 0;
    for (uint32_t d = 0; d < a->rank; d++)
        i = i * a->dim[d] + at[d];
    return i;
}

/* Returns the element of a that broadcasting puts at place `at` of an array with `rank` axes. */
static inline double broadcast_get(const struct array *a, uint32_t rank, const int64_t *at)
{
    int64_t i = 0;
    for (uint32_t d = 0; d < a->rank; d++)
        i = i * a->dim[d] + (a->dim[d] == 1 ? 0 : at[rank - a->rank + d]);
    return a->x[i];
}

/* Returns the integer v as a value of type t, which may wrap around. */
static inline double as_dtype(enum dtype t, double v)
{
    int64_t i = (int64_t)v;
    switch (t) {
    case DT_I32:
        return (int32_t)i;
    case DT_I16:
        return (int16_t)i;
    case DT_I8:
        return (int8_t)i;
    case DT_U32:
        return (uint32_t)i;
    case DT_U16:
        return (uint16_t)i;
    case DT_U8:
        return (uint8_t)i;
    case DT_BOOL:
        return v != 0;
    default:
        return dtype_is_float(t) ? v : (double)i;
    }
}

static inline long double larger(long double a, long double b)
{
    return isnan(a) || isnan(b) ? NAN : a < b ? b : a;
}

static inline long double smaller(long double a, long double b)
{
    return -larger(-a, -b);
}

static inline long double limited(long double a, long double lo, long double hi)
{
    return smaller(larger(a, lo), hi);
}

static inline long double sigmoid_of(long double a)
{
    return a < 0 ? expl(a) / (1 + expl(a)) : 1 / (1 + expl(-a));
}

static inline long double softplus_of(long double a)
{
    return a > 0 ? a + log1pl(expl(-a)) : log1pl(expl(a));
}

static inline double eval_element(enum graph_op op, const double *p)
{
    long double a = p[0], b = p[1], c = p[2];
    switch (op) {
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_DIV:
        return a / b;
    case OP_FLOOR_DIV:
        return floorl(a / b);
    case OP_REMAINDER: {
        long double r = fmodl(a, b);
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case OP_POW:
        return powl(a, b);
    case OP_NEG:
        return -a;
    case OP_ABS:
        return a < 0 ? -a : a;
    case OP_SQUARE:
        return a * a;
    case OP_SIGN:
        return a > 0 ? 1 : a < 0 ? -1 : 0;
    case OP_RELU:
        return larger(a, 0);
    case OP_MAXIMUM:
    case OP_CLAMP_MIN:
        return larger(a, b);
    case OP_MINIMUM:
    case OP_CLAMP_MAX:
        return smaller(a, b);
    case OP_CLAMP:
        return limited(a, b, c);
    case OP_AND:
        return (double)((int64_t)a & (int64_t)b);
    case OP_OR:
        return (double)((int64_t)a | (int64_t)b);
    case OP_XOR:
        return (double)((int64_t)a ^ (int64_t)b);
    case OP_NOT:
        return -a - 1;
    case OP_SHL:
        return a * exp2l(b);
    case OP_SHR:
        return floorl(a / exp2l(b));
    case OP_EQ:
        return a == b;
    case OP_NE:
        return a != b;
    case OP_LT:
        return a < b;
    case OP_LE:
        return a <= b;
    case OP_GT:
        return a > b;
    case OP_GE:
        return a >= b;
    case OP_ISFINITE:
        return isfinite(a);
    case OP_ISINF:
        return isinf(a) != 0;
    case OP_ISNAN:
        return isnan(a);
    case OP_LOGICAL_AND:
        return a && b;
    case OP_LOGICAL_OR:
        return a || b;
    case OP_LOGICAL_XOR:
        return !a != !b;
    case OP_LOGICAL_NOT:
        return !a;
    case OP_WHERE:
        return a != 0 ? b : c;
    case OP_ACOS:
        return acosl(a);
    case OP_ACOSH:
        return acoshl(a);
    case OP_ASIN:
        return asinl(a);
    case OP_ASINH:
        return asinhl(a);
    case OP_ATAN:
        return atanl(a);
    case OP_ATAN2:
        return atan2l(a, b);
    case OP_ATANH:
        return atanhl(a);
    case OP_CEIL:
        return ceill(a);
    case OP_CELU:
        return larger(a, 0) + smaller(0, b * expm1l(a / b));
    case OP_COPYSIGN:
        return copysignl(a, b);
    case OP_COS:
        return cosl(a);
    case OP_COSH:
        return coshl(a);
    case OP_ELU:
        return a > 0 ? a : b * expm1l(a);
    case OP_ERF:
        return erfl(a);
    case OP_ERFC:
        return erfcl(a);
    case OP_EXP:
        return expl(a);
    case OP_EXP2:
        return exp2l(a);
    case OP_EXPM1:
        return expm1l(a);
    case OP_FLOOR:
        return floorl(a);
    case OP_FMOD:
        return fmodl(a, b);
    case OP_FRAC:
        return modfl(a, &b);
    case OP_GELU:
        return a / 2 * erfcl(-a * sqrtl(0.5L));
    case OP_GELU_TANH:
        return a * sigmoid_of(2 * sqrtl(2 / acosl(-1)) * a * (1 + 0.044715L * a * a));
    case OP_HARDSHRINK:
        return fabsl(a) > b ? a : 0;
    case OP_HARDSIGMOID:
        return limited((a + 3) / 6, 0, 1);
    case OP_HARDSWISH:
        return a * limited((a + 3) / 6, 0, 1);
    case OP_HYPOT:
        return hypotl(a, b);
    case OP_LEAKY_RELU:
        return a < 0 ? a * b : a;
    case OP_LERP:
        return a * (1 - c) + b * c;
    case OP_LOG:
        return logl(a);
    case OP_LOG10:
        return log10l(a);
    case OP_LOG1P:
        return log1pl(a);
    case OP_LOG2:
        return log2l(a);
    case OP_LOGADDEXP:
        return a + softplus_of(b - a);
    case OP_LOGSIGMOID:
        return -softplus_of(-a);
    case OP_MISH:
        return a * tanhl(softplus_of(a));
    case OP_RECIPROCAL:
        return 1 / a;
    case OP_ROUND:
        return nearbyintl(a);
    case OP_RSQRT:
        return 1 / sqrtl(a);
    case OP_SELU: {
        const long double scale = 1.0507009873554804934L, alpha = 1.6732632423543772849L;
        return a > 0 ? scale * a : scale * alpha * expm1l(a);
    }
    case OP_SIGMOID:
        return sigmoid_of(a);
    case OP_SILU:
        return a * sigmoid_of(a);
    case OP_SIN:
        return sinl(a);
    case OP_SINH:
        return sinhl(a);
    case OP_SOFTPLUS:
        return a * b > c ? a : softplus_of(a * b) / b;
    case OP_SOFTSHRINK:
        return a - limited(a, -b, b);
    case OP_SOFTSIGN:
        return a / (1 + fabsl(a));
    case OP_SQRT:
        return sqrtl(a);
    case OP_TAN:
        return tanl(a);
    case OP_TANH:
        return tanhl(a);
    case OP_TANHSHRINK:
        return a - tanhl(a);
    case OP_THRESHOLD:
        return a > b ? a : c;
    case OP_TRUNC:
        return truncl(a);
    default:
        BUG("no element of %s", op_row(op)->name);
    }
}

static inline void eval_elementwise(struct eval *e, const struct value *v, struct array *r)
{
    for (int64_t i = 0; i < r->n; i++) {
        int64_t at[GRAPH_MAX_RANK];
        double p[GRAPH_MAX_ARGS] = {0};
        split(r, i, at);
        for (uint32_t k = 0; k < v->nargs; k++)
            p[k] = broadcast_get(&e->all[v->args[k]->id], r->rank, at);
        if (v->op == OP_CAST)
            r->x[i] = as_dtype(v->dtype, p[0]);
        else if (v->dtype == DT_BOOL && v->op == OP_NOT)
            r->x[i] = p[0] == 0;
        else
            r->x[i] = as_dtype(v->dtype, eval_element(v->op, p));
    }
}

/* ---- reductions: gather the elements of each result, then combine them ----------------------- */

static inline int by_size(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

static inline double norm_of(const double *x, int64_t n, double p)
{
    long double s = p == -INFINITY ? INFINITY : 0;
    for (int64_t i = 0; i < n; i++) {
        long double a = fabs(x[i]);
        s = p == INFINITY    ? fmaxl(s, a)
            : p == -INFINITY ? fminl(s, a)
            : p == 0         ? s + (a != 0)
                             : s + powl(a, p);
    }
    return isinf(p) || p == 0 ? s : powl(s, 1 / (long double)p);
}

static inline double reduce_some(const struct value *v, double *x, int64_t n)
{
    long double sum = 0, product = 1, squares = 0;
    int64_t most = 0, least = 0, set = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
        product *= x[i];
        set += x[i] != 0;
        most = x[i] > x[most] ? i : most;
        least = x[i] < x[least] ? i : least;
    }
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - sum / n) * (x[i] - sum / n);
    switch (v->op) {
    case OP_SUM:
        return sum;
    case OP_MEAN:
        return sum / n;
    case OP_PROD:
        return product;
    case OP_AMAX:
        return x[most];
    case OP_AMIN:
        return x[least];
    case OP_ARGMAX:
        return (double)most;
    case OP_ARGMIN:
        return (double)least;
    case OP_ANY:
        return set > 0;
    case OP_ALL:
        return set == n;
    case OP_VAR:
        return squares / (n - value_attr(v, "correction")->i);
    case OP_STD:
        return sqrtl(squares / (n - value_attr(v, "correction")->i));
    case OP_NORM:
        return norm_of(x, n, value_attr(v, "p")->real);
    case OP_LOGSUMEXP: {
        long double s = 0;
        qsort(x, (size_t)n, sizeof *x, by_size);
        for (int64_t i = 0; i < n; i++)
            s += expl(x[i]);
        return logl(s);
    }
    default:
        BUG("no reduction %s", op_row(v->op)->name);
    }
}

static inline void eval_reduction(struct eval *e, const struct value *v, struct array *r)
{
    const struct array *a = &e->all[v->args[0]->id];
    const struct attr *dim = value_attr(v, "dim");
    int64_t each = a->n / (r->n ? r->n : 1), *filled = xcalloc((size_t)r->n + 1, sizeof *filled);
    double *some = xcalloc((size_t)a->n + 1, sizeof *some);
    for (int64_t i = 0; i < a->n; i++) {
        int64_t at[GRAPH_MAX_RANK], to = 0;
        split(a, i, at);
        for (uint32_t d = 0; d < a->rank; d++) {
            bool gone = false;
            for (size_t k = 0; k < dim->n; k++)
                gone |= dim->ints[k] == (int64_t)d;
            to = gone ? to : to * a->dim[d] + at[d];
        }
        some[to * each + filled[to]++] = a->x[i];
    }
    for (int64_t o = 0; o < r->n; o++)
        r->x[o] = reduce_some(v, some + o * each, each);
    free(filled);
    free(some);
}

/* ---- along an axis: one line after the other ------------------------------------------------- */

static inline double along_one(const struct value *v, const struct eval *e, const double *x,
                               int64_t n, int64_t j)
{
    double sum = 0, product = 1, most = -INFINITY, least = INFINITY, up = 0, down = 0;
    bool soft = op_row(v->op)->kind == OPK_SOFTMAX;
    for (int64_t i = 0; soft && i < n; i++) {
        up += exp(x[i] - x[j]);
        down += exp(x[j] - x[i]);
    }
    for (int64_t i = 0; !soft && i <= j; i++) {
        sum += x[i];
        product *= x[i];
        most = fmax(most, x[i]);
        least = fmin(least, x[i]);
    }
    switch (v->op) {
    case OP_SOFTMAX:
        return 1 / up;
    case OP_LOG_SOFTMAX:
        return -log(up);
    case OP_SOFTMIN:
        return 1 / down;
    case OP_CUMSUM:
        return sum;
    case OP_CUMPROD:
        return product;
    case OP_CUMMAX:
        return most;
    case OP_CUMMIN:
        return least;
    case OP_NORMALIZE:
        return x[j] / fmax(norm_of(x, n, value_attr(v, "p")->real), e->all[v->args[1]->id].x[0]);
    default:
        BUG("nothing along an axis: %s", op_row(v->op)->name);
    }
}

static inline void eval_along(struct eval *e, const struct value *v, struct array *r)
{
    const struct array *a = &e->all[v->args[0]->id];
    int64_t axis = value_attr(v, "dim")->ints[0], n = a->dim[axis], step = 1;
    double *line = xcalloc((size_t)n + 1, sizeof *line);
    for (uint32_t d = (uint32_t)axis + 1; d < a->rank; d++)
        step *= a->dim[d];
    for (int64_t i = 0; i < r->n; i++) {
        int64_t j = i / step % n, first = i - j * step;
        for (int64_t k = 0; k < n; k++)
            line[k] = a->x[first + k * step];
        r->x[i] = along_one(v, e, line, n, j);
    }
    free(line);
}

static inline void eval_norm(struct eval *e, const struct value *v, struct array *r)
{
    const struct array *a = &e->all[v->args[0]->id];
    bool centred = v->op == OP_LAYER_NORM;
    const struct value *weight = v->args[1], *bias = centred ? v->args[2] : NULL;
    double eps = e->all[v->args[centred ? 3 : 2]->id].x[0];
    int64_t n = 1;
    for (int64_t k = 0; k < value_attr(v, "axes")->i; k++)
        n *= a->dim[a->rank - 1 - k];
    for (int64_t i = 0; i < r->n; i++) {
        const double *row = a->x + i / n * n;
        long double mean = 0, square = 0;
        for (int64_t k = 0; k < n; k++) {
            mean += centred ? row[k] / (long double)n : 0;
            square += row[k] * (long double)row[k] / n;
        }
        long double y = (row[i % n] - mean) / sqrtl(square - mean * mean + eps);
        y *= weight ? e->all[weight->id].x[i % n] : 1;
        r->x[i] = y + (bias ? e->all[bias->id].x[i % n] : 0);
    }
}

/* ---- products -------------------------------------------------------------------------------- */

/* Multiplies every pair of elements that a matrix product multiplies, and adds the result to the
 * element of r to which it belongs. */
static inline void eval_matmul(struct eval *e, const struct value *v, struct array *r)
{
    const struct array *a = &e->all[v->args[0]->id], *b = &e->all[v->args[1]->id];
    int64_t k_n = a->dim[a->rank - 1], n = b->rank > 1 ? b->dim[b->rank - 1] : 1,
            m = a->rank > 1 ? a->dim[a->rank - 2] : 1;
    struct array batch = {.rank = r->rank - (a->rank > 1) - (b->rank > 1), .n = 1};
    for (uint32_t d = 0; d < batch.rank; d++)
        batch.n *= batch.dim[d] = r->dim[d];
    struct array la = *a, lb = *b;
    la.rank = a->rank > 2 ? a->rank - 2 : 0;
    lb.rank = b->rank > 2 ? b->rank - 2 : 0;
    double *number = xcalloc((size_t)(a->n + b->n + 1), sizeof *number);
    for (int64_t i = 0; i < a->n + b->n; i++)
        number[i] = (double)i;
    la.x = lb.x = number; /* so broadcast_get() gives the number of a matrix */
    for (int64_t o = 0; o < batch.n; o++) {
        int64_t at[GRAPH_MAX_RANK];
        split(&batch, o, at);
        const double *x = a->x + (int64_t)broadcast_get(&la, batch.rank, at) * m * k_n;
        const double *y = b->x + (int64_t)broadcast_get(&lb, batch.rank, at) * k_n * n;
        for (int64_t k = 0; k < k_n; k++)
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++)
                    r->x[(o * m + i) * n + j] += x[i * k_n + k] * y[k * n + j];
    }
    free(number);
}

/* For every pixel of the image and every tap of the weights, adds their product to the element of r
 * that uses both. */
static inline void eval_conv(struct eval *e, const struct value *v, struct array *r)
{
    const struct array *x = &e->all[v->args[0]->id], *w = &e->all[v->args[1]->id];
    int64_t groups = eval_size(e, value_attr(v, "groups")->dims[0]), per = w->dim[0] / groups;
    for (int64_t i = 0; i < r->n; i++) {
        int64_t at[GRAPH_MAX_RANK];
        split(r, i, at);
        r->x[i] = v->args[2] ? e->all[v->args[2]->id].x[at[1]] : 0;
    }
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t t = 0; t < w->n; t++) {
            int64_t from[GRAPH_MAX_RANK], tap[GRAPH_MAX_RANK], to[GRAPH_MAX_RANK];
            split(x, i, from);
            split(w, t, tap);
            bool inside = tap[0] / per * w->dim[1] + tap[1] == from[1];
            to[0] = from[0];
            to[1] = tap[0];
            for (uint32_t d = 2; d < x->rank; d++) {
                int64_t stride = value_attr(v, "stride")->ints[d - 2];
                int64_t p = from[d] + eval_size(e, value_attr(v, "before")->dims[d - 2]) -
                            tap[d] * value_attr(v, "dilation")->ints[d - 2];
                to[d] = p / stride;
                inside &= p >= 0 && p % stride == 0 && to[d] < r->dim[d];
            }
            if (inside)
                r->x[join(r, to)] += x->x[i] * w->x[t];
        }
}

/* Each element of the input adds its window to the result. */
static inline void eval_conv_transpose(struct eval *e, const struct value *v, struct array *r)
{
    const struct array *x = &e->all[v->args[0]->id], *w = &e->all[v->args[1]->id];
    int64_t groups = eval_size(e, value_attr(v, "groups")->dims[0]), per = w->dim[0] / groups;
    for (int64_t i = 0; i < r->n; i++) {
        int64_t at[GRAPH_MAX_RANK];
        split(r, i, at);
        r->x[i] = v->args[2] ? e->all[v->args[2]->id].x[at[1]] : 0;
    }
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t t = 0; t < w->n; t++) {
            int64_t from[GRAPH_MAX_RANK], tap[GRAPH_MAX_RANK], to[GRAPH_MAX_RANK];
            split(x, i, from);
            split(w, t, tap);
            bool inside = tap[0] == from[1];
            to[0] = from[0];
            to[1] = from[1] / per * w->dim[1] + tap[1];
            for (uint32_t d = 2; d < x->rank; d++) {
                to[d] = from[d] * value_attr(v, "stride")->ints[d - 2] +
                        tap[d] * value_attr(v, "dilation")->ints[d - 2] -
                        value_attr(v, "padding")->ints[d - 2];
                inside &= to[d] >= 0 && to[d] < r->dim[d];
            }
            if (inside)
                r->x[join(r, to)] += x->x[i] * w->x[t];
        }
}

static inline void eval_attention(struct eval *e, const struct value *v, struct array *r)
{
    const struct array *q = &e->all[v->args[0]->id], *k = &e->all[v->args[1]->id],
                       *w = &e->all[v->args[2]->id];
    int64_t rows = q->dim[q->rank - 2], d_n = q->dim[q->rank - 1], keys = k->dim[k->rank - 2],
            e_n = w->dim[w->rank - 1];
    double scale = v->args[4] ? e->all[v->args[4]->id].x[0] : 1 / sqrt((double)d_n);
    for (int64_t row = 0; row < r->n / e_n; row++) {
        int64_t head = row / rows, at[GRAPH_MAX_RANK];
        long double sum = 0, *out = xcalloc((size_t)e_n, sizeof *out);
        split(r, row * e_n, at);
        for (int64_t j = 0; j < keys; j++) {
            long double s = 0;
            for (int64_t d = 0; d < d_n; d++)
                s += q->x[row * d_n + d] * k->x[(head * keys + j) * d_n + d];
            s *= scale;
            at[r->rank - 1] = j;
            if (v->args[3]) {
                double m = broadcast_get(&e->all[v->args[3]->id], r->rank, at);
                s = v->args[3]->dtype != DT_BOOL ? s + m : m != 0 ? s : -INFINITY;
            }
            if (value_flag(v, "causal") && j > at[r->rank - 2])
                s = -INFINITY;
            sum += expl(s);
            for (int64_t d = 0; d < e_n; d++)
                out[d] += expl(s) * w->x[(head * keys + j) * e_n + d];
        }
        for (int64_t d = 0; d < e_n; d++)
            r->x[row * e_n + d] = sum > 0 ? out[d] / sum : 0;
        free(out);
    }
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

static inline void eval_recurrent(struct eval *e, const struct value *v, struct array *r)
{
    const struct array *x = &e->all[v->args[0]->id], *w = &e->all[v->args[1]->id];
    const double *bias = v->op == OP_GRU ? e->all[v->args[2]->id].x : NULL,
                 *first = e->all[v->args[bias ? 3 : 2]->id].x,
                 *cell = v->op == OP_LSTM ? e->all[v->args[3]->id].x : NULL;
    int64_t rows = x->dim[1], n = w->dim[1], gates = w->dim[0] / n, out = r->dim[2];
    for (int64_t i = 0; i < x->dim[0] * rows * n; i++) {
        int64_t t = i / n / rows, b = i / n % rows, j = i % n;
        const double *in = x->x + (t * rows + b) * gates * n,
                     *h = t ? r->x + ((t - 1) * rows + b) * out : first + b * n;
        double *to = r->x + (t * rows + b) * out, g[4];
        for (int64_t k = 0; k < gates; k++) {
            g[k] = bias ? bias[k * n + j] : 0;
            for (int64_t d = 0; d < n; d++)
                g[k] += w->x[(k * n + j) * n + d] * h[d];
            g[k] += bias && k == 2 ? 0 : in[k * n + j];
        }
        if (v->op == OP_RNN) {
            to[j] = value_flag(v, "relu") ? fmax(g[0], 0) : tanh(g[0]);
        } else if (v->op == OP_GRU) {
            double z = (double)sigmoid_of(g[1]),
                   m = tanh(in[2 * n + j] + (double)sigmoid_of(g[0]) * g[2]);
            to[j] = (1 - z) * m + z * h[j];
        } else {
            to[n + j] = (double)sigmoid_of(g[1]) * (t ? h[n + j] : cell[b * n + j]) +
                        (double)sigmoid_of(g[0]) * tanh(g[2]);
            to[j] = (double)sigmoid_of(g[3]) * tanh(to[n + j]);
        }
    }
}

/* ---- by index -------------------------------------------------------------------------------- */

static inline void eval_gather(struct eval *e, const struct value *v, struct array *r)
{
    const struct array *a = &e->all[v->args[0]->id], *b = &e->all[v->args[1]->id];
    if (v->op == OP_EMBEDDING_BAG) {
        const double *offsets = e->all[v->args[2]->id].x;
        const char *mode = value_attr(v, "mode")->text;
        for (int64_t i = 0; i < r->n; i++) {
            int64_t n = 0;
            double most = -INFINITY, sum = 0;
            for (int64_t j = 0; j < a->n; j++) {
                if (j < offsets[i / r->dim[1]] || j >= offsets[i / r->dim[1] + 1])
                    continue;
                double x = b->x[(int64_t)a->x[j] * b->dim[1] + i % r->dim[1]];
                sum += x;
                most = fmax(most, x);
                n++;
            }
            r->x[i] = !n                     ? 0
                      : str_eq(mode, "max")  ? most
                      : str_eq(mode, "mean") ? sum / (double)n
                                             : sum;
        }
        return;
    }
    int64_t axis = value_attr(v, "dim")->ints[0], inner = 1;
    for (uint32_t d = (uint32_t)axis + 1; d < a->rank; d++)
        inner *= a->dim[d];
    if (v->op == OP_GATHER) {
        for (int64_t i = 0; i < r->n; i++) {
            int64_t at[GRAPH_MAX_RANK];
            split(r, i, at);
            at[axis] = (int64_t)b->x[i];
            r->x[i] = a->x[join(a, at)];
        }
        return;
    }
    if (v->op == OP_INDEX_SELECT) {
        for (int64_t i = 0; i < r->n; i++) {
            int64_t outer = i / (inner * b->n), row = (int64_t)b->x[i / inner % b->n];
            r->x[i] = a->x[(outer * a->dim[axis] + row) * inner + i % inner];
        }
        return;
    }
    const struct array *s = &e->all[v->args[2]->id];
    memcpy(r->x, a->x, (size_t)a->n * sizeof *a->x);
    for (int64_t i = 0; i < s->n; i++) {
        int64_t outer = i / (inner * b->n), row = (int64_t)b->x[i / inner % b->n];
        r->x[(outer * a->dim[axis] + row) * inner + i % inner] += s->x[i];
    }
}

/* ---- views ----------------------------------------------------------------------------------- */

static inline void eval_view(struct eval *e, const struct value *v, struct array *r)
{
    const struct array *a = v->nargs ? &e->all[v->args[0]->id] : NULL;
    for (int64_t i = 0; i < r->n; i++) {
        int64_t at[GRAPH_MAX_RANK], from[GRAPH_MAX_RANK];
        bool inside = true;
        split(r, i, at);
        memcpy(from, at, sizeof from);
        if (v->op == OP_RESHAPE) {
            r->x[i] = a->x[i];
            continue;
        }
        if (v->op == OP_EXPAND) {
            r->x[i] = broadcast_get(a, r->rank, at);
            continue;
        }
        for (uint32_t d = 0; v->op == OP_PERMUTE && d < r->rank; d++)
            from[value_attr(v, "dims")->ints[d]] = at[d];
        for (size_t k = 0; v->op == OP_FLIP && k < value_attr(v, "dims")->n; k++) {
            int64_t d = value_attr(v, "dims")->ints[k];
            from[d] = a->dim[d] - 1 - at[d];
        }
        for (uint32_t d = 0; v->op == OP_PAD && d < r->rank; d++) {
            from[d] -= value_attr(v, "before")->ints[d];
            inside &= from[d] >= 0 && from[d] < a->dim[d];
        }
        if (v->op == OP_IOTA) {
            r->x[i] = i;
            continue;
        }
        if (v->op == OP_CAT) {
            int64_t d = value_attr(v, "dim")->ints[0];
            bool second = at[d] >= a->dim[d];
            from[d] -= second ? a->dim[d] : 0;
            const struct array *b = second ? &e->all[v->args[1]->id] : a;
            r->x[i] = b->x[join(b, from)];
            continue;
        }
        if (v->op == OP_WINDOWS) {
            int64_t d = value_attr(v, "dim")->ints[0];
            from[d] =
                at[d] * value_attr(v, "step")->i + at[r->rank - 1] * value_attr(v, "dilation")->i;
        }
        if (v->op == OP_SLICE) {
            int64_t d = value_attr(v, "dim")->ints[0];
            from[d] =
                eval_size(e, value_attr(v, "start")->dims[0]) + at[d] * value_attr(v, "step")->i;
        }
        r->x[i] = inside ? a->x[join(a, from)] : e->all[v->args[1]->id].x[0];
    }
}

/* ---- losses ---------------------------------------------------------------------------------- */

static inline double triplet_row(const struct eval *e, const struct value *v, int64_t row,
                                 int64_t n)
{
    const double *a = e->all[v->args[0]->id].x + row * n, *p = e->all[v->args[1]->id].x + row * n,
                 *q = e->all[v->args[2]->id].x + row * n;
    double margin = e->all[v->args[3]->id].x[0], eps = e->all[v->args[4]->id].x[0];
    long double near = 0, far = 0;
    for (int64_t i = 0; i < n; i++) {
        near = hypotl(near, a[i] - p[i] + eps);
        far = hypotl(far, a[i] - q[i] + eps);
    }
    return fmaxl(0, margin + near - far);
}

static inline double entropy_row(const struct eval *e, const struct value *v, int64_t row,
                                 int64_t n)
{
    const double *x = e->all[v->args[0]->id].x + row * n;
    int64_t target = (int64_t)e->all[v->args[1]->id].x[row];
    long double s = 0;
    for (int64_t i = 0; target >= 0 && i < n; i++)
        s += expl(x[i] - (long double)x[target]);
    return target < 0 ? 0 : logl(s);
}

static inline void eval_loss(struct eval *e, const struct value *v, struct array *r)
{
    const struct array *a = &e->all[v->args[0]->id];
    const char *how = value_attr(v, "reduction")->text;
    int64_t n = a->dim[a->rank - 1], counted = 0;
    long double sum = 0;
    for (int64_t row = 0; row < a->n / n; row++) {
        bool entropy = v->op == OP_CROSS_ENTROPY;
        double one = entropy ? entropy_row(e, v, row, n) : triplet_row(e, v, row, n);
        counted += !entropy || e->all[v->args[1]->id].x[row] != -100;
        sum += one;
        if (str_eq(how, "none"))
            r->x[row] = one;
    }
    if (!str_eq(how, "none"))
        r->x[0] = str_eq(how, "sum") ? sum : sum / counted;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static inline void eval_value(struct eval *e, const struct value *v, struct array *r)
{
    switch (op_row(v->op)->kind) {
    case OPK_ELEMENTWISE:
        eval_elementwise(e, v, r);
        break;
    case OPK_REDUCTION:
        eval_reduction(e, v, r);
        break;
    case OPK_SOFTMAX:
    case OPK_SCAN:
        eval_along(e, v, r);
        break;
    case OPK_NORM:
        if (v->op == OP_NORMALIZE)
            eval_along(e, v, r);
        else
            eval_norm(e, v, r);
        break;
    case OPK_PRODUCT:
        eval_matmul(e, v, r);
        break;
    case OPK_CONV:
        if (v->op == OP_CONV)
            eval_conv(e, v, r);
        else
            eval_conv_transpose(e, v, r);
        break;
    case OPK_ATTENTION:
        eval_attention(e, v, r);
        break;
    case OPK_RECURRENT:
        eval_recurrent(e, v, r);
        break;
    case OPK_GATHER:
        eval_gather(e, v, r);
        break;
    case OPK_VIEW:
        eval_view(e, v, r);
        break;
    case OPK_LOSS:
        eval_loss(e, v, r);
        break;
    case OPK_LEAF:
        break;
    }
}

/* Returns an array for each value of the graph, by its id; eval_free() frees them. inputs[k] has
 * the elements of the graph's input k, and scalars[k] is its scalar k. */
static inline struct array *eval_graph(const struct graph *g, const int64_t *sizes,
                                       double *const *inputs, const double *scalars)
{
    struct eval e = {.sizes = sizes, .all = xcalloc(g->values.n + 1, sizeof *e.all)};
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.items[i];
        struct array *r = &e.all[i];
        *r = array_new(&e, v);
        for (size_t k = 0; v->op == OP_INPUT && k < g->inputs.n; k++)
            if (g->inputs.items[k] == v)
                memcpy(r->x, inputs[k], (size_t)r->n * sizeof *r->x);
        for (size_t k = 0; v->op == OP_SCALAR && k < g->scalars.n; k++)
            if (g->scalars.items[k] == v)
                r->x[0] = scalars[k];
        if (v->op == OP_NUMBER)
            r->x[0] = v->number;
        else if (v->op == OP_SIZE)
            r->x[0] = (double)eval_size(&e, v->size);
        eval_value(&e, v, r);
    }
    return e.all;
}

static inline void eval_free(struct array *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(all[i].x);
    free(all);
}

#endif
