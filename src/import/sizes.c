/* sizes.c - draws shapes that satisfy the graph's conditions, and keeps the best. */
#include "import/sizes.h"

#include <math.h>
#include <string.h>

#include "base/expr.h"
#include "base/rng.h"
#include "base/util.h"
#include "graph/cost.h"
#include "task/task.h"

#define TRIALS 6000
#define SMOKE_COST 3e6   /* the emulator runs a shape of this cost in well under a second */
#define CHECK_COST 1.5e8 /* the reference runs a shape of this cost in about a second */
#define HELDOUT_COST 6e7
#define CHECK_ELEMS 2097152
/* merit() subtracts this for a constant result. */
#define CONSTANT_COSTS 50
/* If DEEP or more variances follow each other, each must combine DEEP_STATISTICS elements. With
 * fewer, networks this deep have no useful tolerance. */
enum { DEEP = 8, DEEP_STATISTICS = 16 };
#define MAX_SHRINKS 100 /* each takes off a fifth; in the end, 2e-10 of a size is left */

/* Sizes at which kernels often go wrong, and small sizes, which are cheap. */
static const int64_t likely[] = {1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  12,
                                 13,  15,  16,  17,  20,  24,  28,  31,  32,  33,  36,
                                 40,  48,  56,  63,  64,  65,  72,  80,  96,  97,  100,
                                 112, 127, 128, 129, 130, 160, 192, 224, 255, 256, 257};

struct least_size {
    const struct dim *n;
    int64_t least;
};

struct search {
    struct graph *g;
    size_t n;
    const int64_t *original;
    struct size_limits limits;
    /* For each axis: the step between sizes, and the least size. */
    int64_t *multiple, *least;
    VEC(struct expr *) guards;
    VEC(const struct dim *) positive; /* sizes that could be below 1 */
    VEC(const struct dim *) flops;
    VEC(const struct value *) values;
    VEC(struct least_size) statistics;
    /* How many elements each variance, layer_norm and softmax combines. */
    VEC(const struct dim *) lengths;
};

/* ---- what a shape must satisfy --------------------------------------------------------------- */

/* Axes are at least 1, so sums of products of axes are too. Other sizes may be smaller. */
static bool always_positive(const struct dim *d)
{
    return d->is_number ? d->value >= 1 : !strpbrk(d->text, "-/%") && !strstr(d->text, "min");
}

static void note_size(struct search *s, const struct dim *d)
{
    if (always_positive(d))
        return;
    for (size_t i = 0; i < s->positive.n; i++)
        if (s->positive.items[i] == d)
            return;
    *vec_push(&s->positive) = d;
}

static bool fits(const struct search *s, const int64_t *axes)
{
    struct expr_env env = {.values = axes};
    int64_t v;
    for (size_t i = 0; i < s->n; i++)
        if (axes[i] < s->limits.floor && axes[i] < s->original[i])
            return false;
    vec_each (const struct least_size, l, &s->statistics)
        if (!dim_eval(l->n, axes, &v) || v < l->least)
            return false;
    for (size_t i = 0; i < s->guards.n; i++)
        if (expr_eval(s->guards.items[i], &env, &v, NULL) < 0 || !v)
            return false;
    for (size_t i = 0; i < s->positive.n; i++)
        if (!dim_eval(s->positive.items[i], axes, &v) || v < 1)
            return false;
    return true;
}

static double elements(const struct dim *const *shape, uint32_t rank, const int64_t *axes)
{
    double n = 1;
    for (uint32_t d = 0; d < rank; d++) {
        int64_t v = 1;
        dim_eval(shape[d], axes, &v);
        n *= (double)v;
    }
    return n;
}

static double largest_tensor(const struct search *s, const int64_t *axes)
{
    double most = 0;
    vec_each (const struct value *, v, &s->g->inputs)
        most = MAX(most, elements((*v)->shape, (*v)->rank, axes));
    vec_each (const struct graph_output, o, &s->g->outputs)
        most = MAX(most, elements(o->shape, o->rank, axes));
    return most;
}

static double cost_of(const struct search *s, const int64_t *axes)
{
    double sum = 0;
    for (size_t i = 0; i < s->flops.n; i++) {
        int64_t v = 0;
        sum += dim_eval(s->flops.items[i], axes, &v) ? (double)v : 1e18;
    }
    vec_each (const struct value *, v, &s->values)
        sum += elements((*v)->shape, (*v)->rank, axes);
    return sum;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Returns the least step by which axis i can change alone, such as 8 for channels. A step is
 * possible if its four largest multiples below the original size are allowed, or all if there are
 * fewer. */
static int64_t find_multiple(const struct search *s, size_t i, int64_t *axes)
{
    int64_t keep = axes[i], best = keep;
    for (int64_t m = 1; m < keep && m <= 4096; m++) {
        if (keep % m && m > 8)
            continue;
        int tried = 0, good = 0;
        for (int64_t v = keep / m * m - (keep % m == 0 ? m : 0); v >= m && tried < 4; v -= m) {
            axes[i] = v;
            good += fits(s, axes);
            tried++;
        }
        if (tried && good == tried) {
            best = m;
            break;
        }
    }
    axes[i] = keep;
    return best;
}

/* Returns the least multiple of the step of axis i that fits while the other axes stay. */
static int64_t find_least(const struct search *s, size_t i, int64_t *axes)
{
    int64_t keep = axes[i], m = s->multiple[i], v = m;
    for (; v < keep; v += m) {
        axes[i] = v;
        if (fits(s, axes))
            break;
    }
    axes[i] = keep;
    return MIN(v, keep);
}

/* ---- the search ------------------------------------------------------------------------------ */

static int64_t draw_size(const struct search *s, size_t i, struct rng *r)
{
    int64_t m = s->multiple[i], top = s->original[i];
    int64_t v = likely[rng_below(r, ARRAY_LEN(likely))];
    if (rng_below(r, 8) == 0) /* the original, divided by a power of 2 */
        v = top >> rng_below(r, 8);
    v = (v + m - 1) / m * m;
    v = MAX(v, s->least[i]);
    return MIN(v, top);
}

/* Scores how well a shape shows errors. A norm or softmax of one element costs most: its result is
 * constant, and hides all errors in what it reads. */
static double merit(const struct search *s, const int64_t *axes)
{
    double sum = 0;
    vec_each (const struct dim *, d, &s->lengths) {
        int64_t v = 0;
        sum -= dim_eval(*d, axes, &v) && v > 1 ? 0 : CONSTANT_COSTS;
    }
    for (size_t i = 0; i < s->n; i++)
        sum += (axes[i] > 1) + (axes[i] % 2 == 1 && axes[i] > 2) + (axes[i] > 8) * 0.5;
    return sum;
}

static bool is_among(const struct size_points *p, const int64_t *axes, size_t n)
{
    for (size_t k = 0; k < p->n; k++)
        if (memcmp(p->items[k].axes, axes, n * sizeof *axes) == 0)
            return true;
    return false;
}

struct wish {
    double most_cost, most_elems;
    double least_cost; /* cheaper shapes are worse, but allowed */
};

static bool add_best(struct size_choice *c, struct size_points *out, const struct search *s,
                     struct wish w, uint32_t stream)
{
    struct rng r = rng_seeded(1, stream);
    int64_t *axes = arena_alloc(&c->arena, (s->n + 1) * sizeof *axes), *best = NULL;
    double best_merit = -INFINITY;
    for (int t = 0; t < TRIALS; t++) {
        for (size_t i = 0; i < s->n; i++)
            axes[i] = t == 0 ? s->original[i] : t == 1 ? s->least[i] : draw_size(s, i, &r);
        if (!fits(s, axes) || largest_tensor(s, axes) > w.most_elems || is_among(out, axes, s->n))
            continue;
        double cost = cost_of(s, axes), m = merit(s, axes) + (cost >= w.least_cost ? 2 : 0);
        if (cost > w.most_cost || m <= best_merit)
            continue;
        if (!best)
            best = arena_alloc(&c->arena, (s->n + 1) * sizeof *best);
        memcpy(best, axes, s->n * sizeof *axes);
        best_merit = m;
    }
    if (best)
        *vec_push(out) = (struct size_point){best, cost_of(s, best)};
    return best != NULL;
}

/* Widens the range of the axis whose larger sizes cost least. Call this if each axis has only one
 * held-out size, for example because even the least sizes cost too much. */
static void widen_cheapest(const struct search *s, struct size_range *out)
{
    struct arena a = ARENA_INIT;
    int64_t *axes = arena_alloc(&a, (s->n + 1) * sizeof *axes);
    double least = 0;
    size_t best = s->n;
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->n; k++)
            axes[k] = s->least[k] + (k == i ? 2 * s->multiple[k] : 0);
        if (s->least[i] < s->original[i] && (best == s->n || cost_of(s, axes) < least)) {
            least = cost_of(s, axes);
            best = i;
        }
    }
    if (best < s->n)
        out[best].hi = MIN(s->original[best], out[best].lo + 2 * s->multiple[best]);
    arena_release(&a);
}

/* Chooses the ranges of held-out sizes. To find their upper ends, shrinks all original sizes in one
 * ratio until the shape is cheap. No size gets smaller than its least size. */
static void choose_heldout(struct size_choice *c, const struct search *s)
{
    struct size_range *out = arena_alloc(&c->arena, (s->n + 1) * sizeof *out);
    int64_t *axes = arena_alloc(&c->arena, (s->n + 1) * sizeof *axes);
    double scale = 1;
    for (int shrunk = 0; shrunk < MAX_SHRINKS; shrunk++, scale *= 0.8) {
        for (size_t i = 0; i < s->n; i++) {
            int64_t m = s->multiple[i];
            axes[i] = MAX(s->least[i], (int64_t)((double)s->original[i] * scale) / m * m);
        }
        if (s->limits.work * cost_of(s, axes) <= HELDOUT_COST &&
            largest_tensor(s, axes) <= CHECK_ELEMS)
            break;
    }
    bool varies = false;
    for (size_t i = 0; i < s->n; i++) {
        out[i] = (struct size_range){s->least[i], MAX(axes[i], s->least[i]), s->multiple[i]};
        varies |= out[i].lo < out[i].hi;
    }
    if (!varies)
        widen_cheapest(s, out);
    c->heldout = out;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static int read_guards(struct search *s, struct size_choice *c, struct err *err)
{
    struct graph *g = s->g;
    for (size_t i = 0; i < g->nguards; i++) {
        const char *text = g->guards[i];
        struct expr *e =
            expr_parse(text, strlen(text), g->dims.names, g->dims.nnames, &c->arena, NULL, err);
        if (!e)
            return err_prefix(err, "guard '%s'", text);
        *vec_push(&s->guards) = e;
        *vec_push(&c->constraints) = arena_strdup(&c->arena, text);
    }
    return 0;
}

/* Notes d, the number of elements that a norm or softmax combines. At a shape where d is 1, the
 * result of the norm or softmax is constant and hides errors. */
static void note_length(struct search *s, const struct dim *d)
{
    int64_t original = 0;
    if (!d || d->is_number || !dim_eval(d, s->original, &original) || original < 2)
        return;
    for (size_t i = 0; i < s->lengths.n; i++)
        if (s->lengths.items[i] == d)
            return;
    *vec_push(&s->lengths) = d;
}

/* If v is a variance, a layer_norm or, with `softmaxes`, a softmax, returns how many elements it
 * combines. Else returns NULL. */
static const struct dim *elements_along(struct graph *g, const struct value *v, bool softmaxes)
{
    const struct value *x = v->args[0];
    const struct dim *gone[GRAPH_MAX_RANK];
    bool softmax = v->op == OP_SOFTMAX || v->op == OP_LOG_SOFTMAX;
    uint32_t n = 0;
    if (v->op == OP_VAR || v->op == OP_STD || (softmax && softmaxes)) {
        const struct attr *dim = value_attr(v, "dim");
        for (size_t i = 0; i < dim->n; i++)
            gone[n++] = x->shape[dim->ints[i]];
    } else if (v->op == OP_LAYER_NORM) {
        for (uint32_t i = x->rank - (uint32_t)value_attr(v, "axes")->i; i < x->rank; i++)
            gone[n++] = x->shape[i];
    }
    return n ? dim_product(&g->dims, gone, n) : NULL;
}

static void read_values(struct search *s, struct size_choice *c)
{
    const uint32_t *uses = graph_uses(s->g, &c->arena);
    for (size_t i = 0; i < s->g->values.n; i++) {
        const struct value *v = s->g->values.items[i];
        if (!uses[i])
            continue;
        *vec_push(&s->values) = v;
        for (uint32_t d = 0; d < v->rank; d++)
            note_size(s, v->shape[d]);
        note_length(s, elements_along(s->g, v, true));
        if (v->nargs && op_row(v->op)->flops)
            *vec_push(&s->flops) = value_flops(s->g, v);
    }
    vec_each (const struct dim *, d, &s->positive)
        *vec_push(&c->constraints) = arena_printf(&c->arena, "%s >= 1", (*d)->text);
    for (size_t i = 0; i < s->n; i++)
        *vec_push(&c->constraints) = arena_printf(&c->arena, "%s >= %lld", s->g->dims.names[i],
                                                  (long long)MIN(s->limits.floor, s->original[i]));
}

/* Returns the largest number of variances on one path through the graph. Variances of a constant
 * number of elements do not count. */
static uint32_t stacked_variances(struct search *s, struct size_choice *c)
{
    uint32_t *depth = arena_alloc(&c->arena, (s->g->values.n + 1) * sizeof *depth), most = 0;
    for (size_t i = 0; i < s->g->values.n; i++) {
        const struct value *v = s->g->values.items[i];
        const struct dim *n = v->nargs ? elements_along(s->g, v, false) : NULL;
        for (uint32_t k = 0; k < v->nargs; k++)
            if (v->args[k])
                depth[i] = MAX(depth[i], depth[v->args[k]->id]);
        depth[i] += n && !n->is_number;
        most = MAX(most, depth[i]);
    }
    return most;
}

/* Adds the condition that each variance combines at least limits.statistics elements. A variance of
 * two or three elements amplifies errors too much for a useful tolerance. */
static void note_statistics(struct search *s, struct size_choice *c)
{
    if (s->limits.statistics < DEEP_STATISTICS && stacked_variances(s, c) >= DEEP)
        s->limits.statistics = DEEP_STATISTICS;
    c->statistics = s->limits.statistics;
    vec_each (const struct value *, v, &s->values) {
        const struct dim *n = elements_along(s->g, *v, false);
        int64_t original = 0;
        bool known = !n || n->is_number || !dim_eval(n, s->original, &original);
        for (size_t i = 0; !known && i < s->statistics.n; i++)
            known = s->statistics.items[i].n == n;
        int64_t least = MIN(original, s->limits.statistics);
        if (known || least <= 1)
            continue;
        *vec_push(&s->statistics) = (struct least_size){n, least};
        *vec_push(&c->constraints) =
            arena_printf(&c->arena, "%s >= %lld", n->text, (long long)least);
    }
}

static int find_steps(struct search *s, struct size_choice *c, struct err *err)
{
    int64_t *axes = arena_alloc(&c->arena, (s->n + 1) * sizeof *axes);
    memcpy(axes, s->original, s->n * sizeof *axes);
    if (!fits(s, axes))
        return err_set(err, ERR_INPUT, "the original sizes do not satisfy the graph's guards");
    s->multiple = arena_alloc(&c->arena, (s->n + 1) * sizeof *s->multiple);
    s->least = arena_alloc(&c->arena, (s->n + 1) * sizeof *s->least);
    for (size_t i = 0; i < s->n; i++) {
        s->multiple[i] = find_multiple(s, i, axes);
        s->least[i] = find_least(s, i, axes);
    }
    return 0;
}

/* Returns the least sizes if they fit together. Else shrinks one axis after the other, in several
 * orders, and returns the cheapest result. */
static int64_t *least_together(struct size_choice *c, const struct search *s)
{
    int64_t *best = arena_alloc(&c->arena, (s->n + 1) * sizeof *best);
    int64_t *axes = arena_alloc(&c->arena, (s->n + 1) * sizeof *axes);
    memcpy(best, fits(s, s->least) ? s->least : s->original, s->n * sizeof *best);
    for (size_t start = 0; start < s->n && !fits(s, s->least); start++) {
        memcpy(axes, s->original, s->n * sizeof *axes);
        for (size_t k = 0; k < s->n; k++) {
            size_t i = (start + k) % s->n;
            axes[i] = find_least(s, i, axes);
        }
        if (cost_of(s, axes) < cost_of(s, best))
            memcpy(best, axes, s->n * sizeof *best);
    }
    return best;
}

static void add_least(struct size_choice *c, struct size_points *out, const struct search *s)
{
    int64_t *least = least_together(c, s);
    *vec_push(out) = (struct size_point){least, cost_of(s, least)};
}

static void choose(struct size_choice *c, const struct search *s)
{
    const double most = CHECK_COST / s->limits.work;
    static const struct wish smoke[] = {{SMOKE_COST / 30, TASK_SMOKE_ELEMS / 8.0, 1e3},
                                        {SMOKE_COST, TASK_SMOKE_ELEMS, SMOKE_COST / 20}};
    const struct wish check[] = {{most / 10, CHECK_ELEMS / 8.0, most / 100},
                                 {most, CHECK_ELEMS, most / 20},
                                 {most, CHECK_ELEMS, most / 20}};
    for (uint32_t i = 0; i < ARRAY_LEN(smoke); i++)
        add_best(c, &c->smoke, s, smoke[i], 100 + i);
    c->no_small_shape = c->smoke.n == 0;
    if (c->no_small_shape)
        add_least(c, &c->smoke, s);
    for (uint32_t i = 0; i < ARRAY_LEN(check); i++)
        add_best(c, &c->check, s, check[i], 200 + i);
    if (!c->check.n)
        add_least(c, &c->check, s);
    choose_heldout(c, s);
}

int sizes_choose(struct size_choice *c, struct graph *g, const int64_t *original,
                 struct size_limits limits, struct err *err)
{
    struct search s = {.g = g, .n = g->dims.nnames, .original = original, .limits = limits};
    *c = (struct size_choice){.heldout = NULL};
    int rc = read_guards(&s, c, err);
    if (rc == 0) {
        read_values(&s, c);
        note_statistics(&s, c);
        rc = find_steps(&s, c, err);
    }
    /* Each entry of s.least fits only beside the original sizes of the other axes. With all least
     * sizes at once, variances would have too few elements. */
    if (rc == 0 && s.statistics.n)
        s.least = least_together(c, &s);
    if (rc == 0)
        choose(c, &s);
    vec_release(&s.guards);
    vec_release(&s.positive);
    vec_release(&s.flops);
    vec_release(&s.values);
    vec_release(&s.statistics);
    vec_release(&s.lengths);
    if (rc < 0)
        sizes_release(c);
    return rc;
}

void sizes_release(struct size_choice *c)
{
    vec_release(&c->smoke);
    vec_release(&c->check);
    vec_release(&c->constraints);
    arena_release(&c->arena);
}
