/*
 * regimes.c - chooses the workloads of t->regimes.
 *
 * The rule makes a list of goals: "axis C is 33", "R is odd while C is a multiple of 16". It takes
 * the first goal that no workload covers yet, tries some shapes that cover it, and adds the shape
 * that covers the most goals for its cost. So one workload serves several goals.
 *
 * Workloads with a displaced address stand apart: a kernel that sees such an address usually takes
 * its plain path, which would hide a mistake of the vectorised path. So these workloads cover no
 * goal about sizes, and their sizes are multiples of every vector width.
 *
 * Invariants:
 *   1. Every shape satisfies the constraints, and no axis exceeds its largest value in the task's
 *      own workloads.
 *   2. By the estimate of cost_ms(), one shape costs at most MAX_MS, and all shapes together at
 *   most total_ms().
 *   3. The choice is a function of the task: the random numbers have a constant seed.
 */
#include "task/regimes.h"

#include <string.h>

#include "base/rng.h"
#include "base/util.h"

enum {
    MAX_REGIMES = 136,
    MAX_VALUES = 56,
    MAX_TRIES = 20000, /* shapes that are tried in all; a limit, because a task may be hostile */
    SHAPE_TRIES = 16,  /* shapes that are tried for one goal */
    VECTOR = 16,       /* the widest vector has 16 bytes, and at most 16 elements */
    MAX_SCAN = 4200
};
static const double MAX_MS = 45, TOTAL_MS = 650, HEAVY_TOTAL_MS = 1000;

struct value {
    int64_t v;
    const char *text; /* "just above a warp (32)" */
    bool alone;       /* also wanted while all other axes are as small as possible */
};

struct axis_info {
    bool is_const;
    bool inner;           /* the innermost extent of some tensor depends on it */
    bool outer;           /* another extent of some tensor depends on it */
    struct expr *follows; /* the axis equals this expression, by a constraint; NULL = free */
    int64_t least, most;
    bool vectors; /* kernels use vectors along it: see find_vector_axes() */
    size_t n;
    struct value values[MAX_VALUES];
};

enum goal_kind { GOAL_ALONE, GOAL_VALUE, GOAL_PAIR };

enum size_class { SIZE_ONE, SIZE_ODD, SIZE_TWICE_ODD, SIZE_VECTORS, SIZE_CLASSES, SIZE_OTHER };

struct goal {
    enum goal_kind kind;
    size_t axis, other;
    int64_t v;
    enum size_class of_axis, of_other; /* GOAL_PAIR */
    const char *text;
    bool relaxed; /* GOAL_VALUE: one other axis above its least value is enough */
    bool done;
};

struct builder {
    struct task *t;
    struct arena mem;
    struct rng rng;
    struct axis_info axis[TASK_MAX_AXES];
    VEC(struct goal) goals;
    int tries;
    double spent_ms;
    bool heavy; /* much arithmetic for each element, as in a product of matrices */
    bool full;  /* a goal was left out because the budget was spent */
};

static size_t naxes(const struct builder *b)
{
    return b->t->axes.n;
}

static double total_ms(const struct builder *b)
{
    return b->heavy ? HEAVY_TOTAL_MS : TOTAL_MS;
}

static bool is_free(const struct builder *b, size_t i)
{
    return !b->axis[i].is_const && !b->axis[i].follows;
}

static bool is_only_inner(const struct builder *b, size_t i)
{
    return is_free(b, i) && b->axis[i].inner && !b->axis[i].outer;
}

/* ---- axes ------------------------------------------------------------------------------------ */

static bool uses_only(const struct builder *b, const struct expr *e, size_t axis)
{
    for (size_t i = 0; i < naxes(b); i++)
        if (i != axis && !b->axis[i].is_const && expr_uses(e, i))
            return false;
    return expr_uses(e, axis);
}

static void fill_scalars(const struct task *t, int64_t *x)
{
    size_t n = t->axes.n;
    vec_each (const struct task_scalar, s, &t->scalars)
        if (!dtype_is_float(s->dtype))
            x[n++] = (int64_t)s->value;
    for (size_t i = 0; i < t->axes.n; i++)
        if (t->axes.items[i].is_const)
            x[i] = t->axes.items[i].value;
}

/* Whether the constraints that name only this axis allow the value. */
static bool allowed(const struct builder *b, size_t axis, int64_t v)
{
    int64_t x[TASK_MAX_AXES + TASK_MAX_SCALARS] = {0}, holds;
    if (v < 1 || v > b->axis[axis].most)
        return false;
    fill_scalars(b->t, x);
    x[axis] = v;
    for (size_t i = 0; i < b->t->constraint_exprs.n; i++) {
        const struct expr *e = b->t->constraint_exprs.items[i];
        if (uses_only(b, e, axis) &&
            (expr_eval(e, &(struct expr_env){.values = x}, &holds, NULL) < 0 || !holds))
            return false;
    }
    return true;
}

/* Returns the allowed value nearest to v in direction `step`, at most a quarter of v away; 0 if
 * there is none. */
static int64_t nearest(const struct builder *b, size_t axis, int64_t v, int step)
{
    for (int64_t d = 0; d <= v / 4 + 1; d++)
        if (allowed(b, axis, v + step * d))
            return v + step * d;
    return 0;
}

/* Reads `AXIS == expression` or `expression == AXIS`. The other side may not depend on AXIS. */
static struct expr *value_in(struct builder *b, const char *text, size_t axis)
{
    const char *eq = strstr(text, "=="), *name = b->t->axes.items[axis].name;
    if (!eq || strstr(eq + 2, "==") || strpbrk(text, "<>!?&|"))
        return NULL;
    for (int side = 0; side < 2; side++) {
        const char *from = side ? eq + 2 : text;
        size_t len = side ? strlen(from) : (size_t)(eq - text);
        while (len && *from == ' ')
            from++, len--;
        while (len && from[len - 1] == ' ')
            len--;
        if (len != strlen(name) || memcmp(from, name, len) != 0)
            continue;
        const char *rest = side ? text : eq + 2;
        size_t n = side ? (size_t)(eq - text) : strlen(rest);
        struct expr *e =
            expr_parse(rest, n, b->t->names.items, b->t->names.n, &b->t->arena, NULL, NULL);
        return e && !expr_uses(e, axis) ? e : NULL;
    }
    return NULL;
}

/* Whether the value of axis `of` depends on `axis`, directly or through other axes. */
static bool depends(const struct builder *b, size_t of, size_t axis, int depth)
{
    const struct expr *e = b->axis[of].follows;
    if (!e || depth > TASK_MAX_AXES)
        return depth > TASK_MAX_AXES;
    for (size_t i = 0; i < naxes(b); i++)
        if (expr_uses(e, i) && (i == axis || depends(b, i, axis, depth + 1)))
            return true;
    return false;
}

static void find_followers(struct builder *b)
{
    for (size_t c = 0; c < b->t->constraints.n; c++)
        for (size_t i = 0; i < naxes(b); i++) {
            struct expr *e = is_free(b, i) ? value_in(b, b->t->constraints.items[c], i) : NULL;
            bool circular = false;
            for (size_t k = 0; e && k < naxes(b); k++)
                circular = circular || (expr_uses(e, k) && depends(b, k, i, 0));
            if (e && !circular) {
                b->axis[i].follows = e;
                break;
            }
        }
}

static double flops_of(const struct builder *b, const struct shape *s)
{
    double product = 2;
    if (b->t->flops)
        return (double)MAX(shape_eval(s, b->t->flops, NULL), 0);
    for (size_t i = 0; i < naxes(b); i++)
        product *= (double)s->axes[i];
    return product;
}

/* Decides whether the task is heavy, at a shape of one tile along every axis. */
static bool is_heavy(struct builder *b)
{
    int64_t x[TASK_MAX_AXES + TASK_MAX_SCALARS] = {0};
    fill_scalars(b->t, x);
    for (size_t i = 0; i < naxes(b); i++)
        if (!b->axis[i].is_const)
            x[i] = MIN(b->axis[i].most, 64);
    struct shape s = {.task = b->t, .axes = x};
    double elems = 1;
    for (size_t i = 0; i < b->t->tensors.n; i++) {
        int64_t dims[TASK_MAX_RANK] = {0};
        double n = shape_dims(&s, i, dims, NULL) == 0;
        for (uint32_t d = 0; d < b->t->tensors.items[i].rank; d++)
            n *= (double)dims[d];
        elems += n;
    }
    return flops_of(b, &s) / elems > 16;
}

static void read_axes(struct builder *b)
{
    struct task *t = b->t;
    for (size_t i = 0; i < naxes(b); i++) {
        struct axis_info *x = &b->axis[i];
        x->is_const = t->axes.items[i].is_const;
        vec_each (const struct task_workload, w, &t->workloads)
            x->most = MAX(x->most, w->axes[i].hi);
        vec_each (const struct task_tensor, tensor, &t->tensors)
            for (uint32_t d = 0; d < tensor->rank; d++)
                if (expr_uses(tensor->shape[d], i))
                    *(d + 1 == tensor->rank ? &x->inner : &x->outer) = true;
    }
    find_followers(b);
    for (size_t i = 0; i < naxes(b); i++)
        for (int64_t v = 1; v <= MAX_SCAN && !b->axis[i].least; v++)
            b->axis[i].least = allowed(b, i, v) ? v : 0;
}

/* Finds the axes along which a kernel uses vectors. An axis that also counts rows is such an axis
 * only in a heavy task, or if there is no other one. */
static void find_vector_axes(struct builder *b)
{
    bool any = false;
    for (size_t i = 0; i < naxes(b); i++)
        any = any || is_only_inner(b, i);
    for (size_t i = 0; i < naxes(b); i++) {
        bool could = is_free(b, i) && b->axis[i].inner && (b->heavy || !any || is_only_inner(b, i));
        for (int64_t v = VECTOR; could && v <= 64; v += VECTOR)
            b->axis[i].vectors = b->axis[i].vectors || allowed(b, i, v);
    }
}

/* If another axis follows from this one and is an inner axis, this one is an inner axis too. */
static void spread_inner(struct builder *b)
{
    for (size_t k = 0; k < naxes(b); k++)
        for (size_t i = 0; i < naxes(b); i++)
            for (size_t f = 0; f < naxes(b); f++)
                if (b->axis[f].inner && b->axis[f].follows && expr_uses(b->axis[f].follows, i))
                    b->axis[i].inner = true;
}

/* ---- the values of an axis that matter ------------------------------------------------------- */

static void add_value(struct builder *b, size_t axis, int64_t v, bool alone, const char *text)
{
    struct axis_info *x = &b->axis[axis];
    for (size_t i = 0; i < x->n; i++)
        if (x->values[i].v == v)
            return;
    if (x->n < MAX_VALUES && allowed(b, axis, v))
        x->values[x->n++] = (struct value){v, text, alone};
}

static const char *name_of_step(int64_t v)
{
    return v == 32 ? "a warp" : v <= 128 ? "a tile" : v <= 1024 ? "a block" : "a block of vectors";
}

static void add_around(struct builder *b, size_t axis, int64_t v, bool alone)
{
    static const char *const where[] = {"just below", "exactly", "just above"};
    for (int k = -1; k <= 1; k++) {
        int64_t got = k ? nearest(b, axis, v + k, k) : v;
        if (got)
            add_value(b, axis, got, alone || (v == 32 && k == 1),
                      arena_printf(&b->t->arena, "%s %s %s (%lld)", b->t->axes.items[axis].name,
                                   where[k + 1], name_of_step(v), (long long)v));
    }
}

/* Adds sizes that are multiples of one vector width but not of the next: some just above a warp,
 * some just above a block. */
static void add_multiples(struct builder *b, size_t axis, bool vectors)
{
    static const int64_t after[] = {32, 1024};
    for (size_t k = 0; k < (vectors ? ARRAY_LEN(after) : 1); k++)
        for (int64_t m = 2; m < VECTOR; m *= 2)
            add_value(b, axis, after[k] + m, vectors,
                      arena_printf(&b->t->arena, "%s a multiple of %lld, not of %lld",
                                   b->t->axes.items[axis].name, (long long)m, 2 * (long long)m));
}

static bool has_bytes(const struct task *t)
{
    vec_each (const struct task_tensor, x, &t->tensors)
        if (dtype_bytes(x->dtype) == 1)
            return true;
    return false;
}

/* Chooses the values of an axis. An axis that only counts rows gets fewer values, because many
 * kernels give each row a block, which makes rows expensive to emulate. Such an axis gets the sizes
 * around 32 and 64, and 129, 256 and 257: 256 is a multiple of larger tiles, 129 and 257 are just
 * above one, and 63 is below all of them. */
static void choose_values(struct builder *b, size_t axis)
{
    static const int64_t steps[] = {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
    static const int64_t rows[] = {129, 256, 257};
    const char *name = b->t->axes.items[axis].name;
    bool vectors = b->axis[axis].inner && !b->axis[axis].outer && !b->heavy;
    size_t n = vectors ? ARRAY_LEN(steps) : b->axis[axis].inner ? 4 : 2;
    if (b->axis[axis].least)
        add_value(b, axis, b->axis[axis].least, true,
                  arena_printf(&b->t->arena, "%s as small as possible", name));
    for (int64_t v = 2; v <= 3; v++)
        add_value(b, axis, v, true, arena_printf(&b->t->arena, "%s tiny", name));
    if (b->axis[axis].inner)
        add_multiples(b, axis, vectors);
    for (size_t i = 0; i < n; i++)
        add_around(b, axis, steps[i], vectors);
    if (vectors && has_bytes(b->t))
        add_around(b, axis, 16384, true);
    for (size_t i = 0; n == 2 && i < ARRAY_LEN(rows); i++) {
        int64_t v = nearest(b, axis, rows[i], 1), step = rows[i] / 128 * 128;
        if (v)
            add_value(b, axis, v, false,
                      arena_printf(&b->t->arena, "%s %s %s (%lld)", name,
                                   v == step ? "exactly" : "just above", name_of_step(step),
                                   (long long)step));
    }
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* The rows of the largest tensor. If several are as large, a kernel is free to choose the one with
 * the fewest rows. */
static uint64_t rows_of(const struct shape *s)
{
    uint64_t most = 0, rows = 1;
    for (size_t i = 0; i < s->task->tensors.n; i++) {
        int64_t dims[TASK_MAX_RANK] = {1};
        uint32_t rank = s->task->tensors.items[i].rank;
        if (s->elems[i] < most || shape_dims(s, i, dims, NULL) < 0)
            continue;
        uint64_t here = s->elems[i] / (uint64_t)MAX(dims[rank ? rank - 1 : 0], 1);
        rows = s->elems[i] > most ? here : MIN(rows, here);
        most = s->elems[i];
    }
    return rows;
}

static double elems_of(const struct shape *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->task->tensors.n; i++)
        sum += (double)s->elems[i];
    return sum;
}

static uint64_t round_up(uint64_t n, uint64_t m)
{
    return (n + m - 1) / m * m;
}

/* Estimates how long the emulator needs for a shape. Kernels of heavy tasks compute whole tiles of
 * the largest output, whatever its size. Other kernels often give each row to a block. */
static double cost_ms(const struct builder *b, const struct shape *s)
{
    double ms = 0.4 + 2e-4 * elems_of(s), tiles = 0;
    if (!b->heavy)
        return ms + 0.15 * (double)rows_of(s) + 2.5e-5 * flops_of(b, s);
    for (size_t i = 0; i < s->task->tensors.n; i++) {
        const struct task_tensor *t = &s->task->tensors.items[i];
        int64_t dims[TASK_MAX_RANK] = {0};
        if (!t->is_output || shape_dims(s, i, dims, NULL) < 0)
            continue;
        uint64_t inner = t->rank ? (uint64_t)dims[t->rank - 1] : 1;
        double terms = flops_of(b, s) / 2 / (double)s->elems[i];
        tiles = MAX(tiles, (double)round_up(s->elems[i] / inner, 64) * (double)round_up(inner, 64) *
                               (double)round_up((uint64_t)MIN(terms, 1e12) + 1, 32));
    }
    return ms + 12e-6 * tiles;
}

/* Computes the axes that follow from others. */
static bool complete(const struct builder *b, int64_t *x)
{
    for (size_t pass = 0; pass < naxes(b); pass++) {
        bool changed = false;
        for (size_t i = 0; i < naxes(b); i++) {
            int64_t v;
            if (!b->axis[i].follows)
                continue;
            if (expr_eval(b->axis[i].follows, &(struct expr_env){.values = x}, &v, NULL) < 0)
                return false;
            changed = changed || x[i] != v;
            x[i] = v;
        }
        if (!changed)
            return true;
    }
    return true;
}

/* Writes the axes into a workload. */
static struct task_workload workload_at(struct builder *b, const int64_t *x, struct arena *a)
{
    struct task_workload w = {.role = ROLE_SMOKE, .name = "", .place = b->t->workloads_place};
    w.axes = arena_alloc(a, naxes(b) * sizeof *w.axes);
    for (size_t i = 0; i < naxes(b); i++)
        w.axes[i] = (struct axis_range){!b->axis[i].is_const, x[i], x[i], 1};
    return w;
}

/* Completes the axes and returns the cost of the shape; -1 if it is not possible. */
static double try_shape(struct builder *b, int64_t *x)
{
    if (++b->tries > MAX_TRIES || !complete(b, x))
        return -1;
    for (size_t i = 0; i < naxes(b); i++)
        if (!b->axis[i].is_const && (x[i] < 1 || x[i] > b->axis[i].most))
            return -1;
    struct task_workload w = workload_at(b, x, &b->mem);
    struct shape s;
    if (shape_resolve(&s, b->t, &w, 1, &b->mem, NULL) < 0 || shape_verify(&s, NULL) < 0)
        return -1;
    for (size_t i = 0; i < b->t->tensors.n; i++)
        if (s.elems[i] > TASK_SMOKE_ELEMS)
            return -1;
    double ms = cost_ms(b, &s);
    return ms > MAX_MS ? -1 : ms;
}

/* ---- goals ----------------------------------------------------------------------------------- */

static enum size_class class_of(int64_t v)
{
    return v == 1            ? SIZE_ONE
           : v % 2           ? SIZE_ODD
           : v % 4           ? SIZE_TWICE_ODD
           : v % VECTOR == 0 ? SIZE_VECTORS
                             : SIZE_OTHER;
}

static bool is_covered(const struct builder *b, const struct goal *g, const int64_t *x)
{
    if (g->kind == GOAL_PAIR)
        return class_of(x[g->axis]) == g->of_axis && class_of(x[g->other]) == g->of_other;
    if (x[g->axis] != g->v)
        return false;
    size_t others = 0, above = 0, plain = 0;
    for (size_t i = 0; i < naxes(b); i++) {
        if (i == g->axis || !is_free(b, i))
            continue;
        others += b->axis[i].least < b->axis[i].most;
        above += x[i] > b->axis[i].least;
        plain += b->axis[i].vectors && x[i] % VECTOR;
    }
    if (g->kind == GOAL_ALONE)
        return above == 0;
    return g->relaxed ? above >= MIN(others, 1u) : above >= others && plain == 0;
}

static void add_goal(struct builder *b, struct goal g)
{
    if (b->goals.n < 4096)
        *vec_push(&b->goals) = g;
}

static size_t count_free(const struct builder *b)
{
    size_t n = 0;
    for (size_t i = 0; i < naxes(b); i++)
        n += is_free(b, i);
    return n;
}

static void set_goals(struct builder *b)
{
    static const char *const classes[] = {"1", "odd", "even, not a multiple of 4",
                                          "a multiple of 16"};
    bool one = count_free(b) <= 1;
    for (int kind = GOAL_ALONE; kind <= GOAL_VALUE; kind++)
        for (size_t k = 0; k < MAX_VALUES; k++)
            for (size_t i = 0; i < naxes(b); i++) {
                const struct value *v = &b->axis[i].values[k];
                if (k >= b->axis[i].n)
                    continue;
                if (kind == GOAL_ALONE ? is_free(b, i) && (v->alone || one) : !one)
                    add_goal(b, (struct goal){.kind = (enum goal_kind)kind,
                                              .axis = i,
                                              .v = v->v,
                                              .text = v->text});
            }
    for (size_t i = 0; i < naxes(b); i++)
        for (size_t j = i + 1; j < naxes(b); j++)
            for (int c = 0; c < SIZE_CLASSES * SIZE_CLASSES; c++)
                if (is_free(b, i) && is_free(b, j))
                    add_goal(b, (struct goal){.kind = GOAL_PAIR,
                                              .axis = i,
                                              .other = j,
                                              .of_axis = (enum size_class)(c / SIZE_CLASSES),
                                              .of_other = (enum size_class)(c % SIZE_CLASSES),
                                              .text = arena_printf(&b->t->arena, "%s %s, %s %s",
                                                                   b->t->axes.items[i].name,
                                                                   classes[c / SIZE_CLASSES],
                                                                   b->t->axes.items[j].name,
                                                                   classes[c % SIZE_CLASSES])});
}

/* Draws a value for an axis that the goal leaves open: one that some goal still needs, or a small
 * one. */
static int64_t draw_value(struct builder *b, size_t axis)
{
    static const int64_t small[] = {2, 3, 4, 5, 8, 16, 17, 32, 33}, vectors[] = {16, 32, 48, 64};
    const struct axis_info *x = &b->axis[axis];
    int64_t v = small[rng_below(&b->rng, ARRAY_LEN(small))];
    if (x->vectors && rng_below(&b->rng, 4))
        return vectors[rng_below(&b->rng, ARRAY_LEN(vectors))];
    if (x->n && rng_below(&b->rng, 2))
        v = x->values[rng_below(&b->rng, x->n)].v;
    if (!allowed(b, axis, v))
        v = x->n ? x->values[rng_below(&b->rng, x->n)].v : x->least;
    return v;
}

static int64_t draw_class(struct builder *b, size_t axis, enum size_class c)
{
    static const int64_t of[SIZE_CLASSES][4] = {
        {1, 1, 1, 1}, {3, 5, 17, 33}, {2, 6, 10, 34}, {16, 32, 48, 64}};
    for (int k = 0; k < 4; k++) {
        int64_t v = of[c][rng_below(&b->rng, 4)];
        if (allowed(b, axis, v))
            return v;
    }
    return 0;
}

/* Changes one free axis so that an axis that follows from it gets the value v. */
static bool steer(struct builder *b, int64_t *x, size_t axis, int64_t v)
{
    for (size_t j = 0; j < naxes(b); j++) {
        if (!is_free(b, j) || !depends(b, axis, j, 0))
            continue;
        int64_t was = x[j];
        for (int64_t y = 1; y <= MIN(b->axis[j].most, (int64_t)MAX_SCAN); y++) {
            x[j] = y;
            if (complete(b, x) && x[axis] == v)
                return true;
        }
        x[j] = was;
    }
    return false;
}

/* The smallest value above the least one with which a kernel may still take a vectorised path. */
static int64_t second_least(const struct builder *b, size_t axis)
{
    int64_t least = b->axis[axis].least;
    for (int64_t v = least + 1; v <= least + 64; v++)
        if (allowed(b, axis, v) && (!b->axis[axis].vectors || v % VECTOR == 0))
            return v;
    return least;
}

/* Sets the axes that a goal leaves open: all as small as possible, all a little larger, or drawn.
 * For a relaxed goal, one axis a little above its least value is enough. */
static void set_open_axes(struct builder *b, const struct goal *g, bool first, int64_t *x)
{
    size_t larger = SIZE_MAX;
    for (size_t i = naxes(b); g->relaxed && i-- > 0;)
        if (is_free(b, i) && i != g->axis && (larger == SIZE_MAX || b->axis[i].vectors))
            larger = i;
    for (size_t i = 0; i < naxes(b); i++) {
        if (!is_free(b, i))
            continue;
        if (g->kind == GOAL_ALONE)
            x[i] = b->axis[i].least;
        else if (first)
            x[i] = g->relaxed && i != larger ? b->axis[i].least : second_least(b, i);
        else
            x[i] = g->relaxed && rng_below(&b->rng, 2) ? b->axis[i].least : draw_value(b, i);
    }
}

/* Chooses axes that cover the goal; false if it found none. */
static bool draw_shape(struct builder *b, const struct goal *g, bool first, int64_t *x)
{
    fill_scalars(b->t, x);
    set_open_axes(b, g, first, x);
    if (g->kind == GOAL_PAIR) {
        x[g->axis] = draw_class(b, g->axis, g->of_axis);
        x[g->other] = draw_class(b, g->other, g->of_other);
    } else if (is_free(b, g->axis)) {
        x[g->axis] = g->v;
    } else if (!steer(b, x, g->axis, g->v)) {
        return false;
    }
    return true;
}

static uint32_t offset_of(const uint32_t *offsets, size_t tensor)
{
    return offsets ? offsets[tensor] : 0;
}

/* Whether a regime has this shape and these offsets already. If the constraints allow few values,
 * several regimes have the same nearest shape. */
static bool exists(const struct builder *b, const int64_t *x, const uint32_t *offsets)
{
    vec_each (const struct task_workload, w, &b->t->regimes) {
        bool same = true;
        for (size_t i = 0; i < naxes(b) && same; i++)
            same = w->axes[i].lo == x[i];
        for (size_t i = 0; i < b->t->tensors.n && same; i++)
            same = offset_of(w->offsets, i) == offset_of(offsets, i);
        if (same)
            return true;
    }
    return false;
}

static void add_workload(struct builder *b, const int64_t *x, const uint32_t *offsets, double ms,
                         const char *text)
{
    if (exists(b, x, offsets))
        return;
    struct task_workload w = workload_at(b, x, &b->t->arena);
    w.offsets = offsets;
    w.regime = text;
    b->spent_ms += ms;
    *vec_push(&b->t->regimes) = w;
}

/* If there is not time for all goals, the small sizes come first, then the pairs. */
static int turn_of(const struct goal *g)
{
    return g->kind == GOAL_PAIR ? 1 : g->v <= 65 ? 0 : 2;
}

static void cover(struct builder *b, struct goal *g)
{
    int64_t best[TASK_MAX_AXES + TASK_MAX_SCALARS] = {0};
    double best_score = 0, best_ms = 0;
    int tries = g->kind == GOAL_ALONE ? 1 : is_free(b, g->axis) ? SHAPE_TRIES : 4;
    for (int k = 0; k < tries; k++) {
        int64_t x[TASK_MAX_AXES + TASK_MAX_SCALARS] = {0};
        if (!draw_shape(b, g, k == 0, x))
            continue;
        double ms = try_shape(b, x), score = 0;
        if (ms < 0 || !is_covered(b, g, x))
            continue;
        vec_each (const struct goal, other, &b->goals)
            score += !other->done && is_covered(b, other, x);
        score /= ms + 1;
        if (score > best_score) {
            best_score = score;
            best_ms = ms;
            memcpy(best, x, sizeof best);
        }
    }
    if (best_score <= 0)
        return;
    if (b->spent_ms + best_ms > total_ms(b) || b->t->regimes.n >= MAX_REGIMES) {
        b->full = true;
        return;
    }
    vec_each (struct goal, other, &b->goals)
        other->done = other->done || is_covered(b, other, best);
    add_workload(b, best, NULL, best_ms, g->text);
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Sets the axes to a shape whose innermost extents are multiples of every vector width: `v` along
 * the inner axes, `rows` along the others. An axis that is an inner and an outer one gets just one
 * vector if another axis can be long, because many rows are expensive. */
static void set_vector_shape(const struct builder *b, int64_t v, int64_t rows, int64_t *x)
{
    fill_scalars(b->t, x);
    for (size_t i = 0; i < naxes(b); i++) {
        const struct axis_info *a = &b->axis[i];
        int64_t most = a->most >= VECTOR ? a->most / VECTOR * VECTOR : a->most;
        int64_t want = MIN(!a->inner ? rows : a->vectors ? v : VECTOR, most);
        if (!is_free(b, i))
            continue;
        x[i] = allowed(b, i, want) ? want : nearest(b, i, want, -1);
        x[i] = x[i] ? x[i] : a->least;
    }
}

/* Finds such a shape near `size` that costs at most `limit`, or, if there is none, one that costs
 * more. Products of matrices get as many rows as columns, because their kernels may ask for whole
 * tiles. */
static double vector_shape(struct builder *b, int64_t size, double limit, int64_t *x)
{
    size_t row_axes = 0;
    for (size_t i = 0; i < naxes(b); i++)
        row_axes += is_free(b, i) && b->axis[i].outer;
    const double limits[] = {limit, MAX_MS};
    for (size_t k = 0; k < ARRAY_LEN(limits); k++)
        for (int64_t v = size; v >= VECTOR; v /= 2) {
            const int64_t rows[] = {b->heavy ? v : size > 4096 || row_axes > 1 ? 2 : 4, 4, 2, 1};
            for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                set_vector_shape(b, v, rows[r], x);
                double ms = try_shape(b, x);
                if (ms >= 0 && ms <= limits[k])
                    return ms;
            }
        }
    return -1;
}

/* Which tensors have a displaced address: one, all but one, or all. */
enum displaced { ONLY, ALL_BUT, ALL };

static uint32_t elems_for(const struct task_tensor *t, uint32_t bytes)
{
    return MAX(bytes / (uint32_t)dtype_bytes(t->dtype), 1u);
}

/* Adds a workload with displaced addresses. `bytes` 0 means one element. An address may be
 * displaced only by a multiple of the alignment that the task promises. */
static void displace(struct builder *b, const int64_t *x, double ms, enum displaced who, size_t one,
                     uint32_t bytes)
{
    struct task *t = b->t;
    uint32_t *offsets = arena_alloc(&t->arena, t->tensors.n * sizeof *offsets);
    bool any = false;
    for (size_t i = 0; i < t->tensors.n; i++) {
        const struct task_tensor *tensor = &t->tensors.items[i];
        uint32_t size = (uint32_t)dtype_bytes(tensor->dtype);
        uint32_t n = bytes == VECTOR - 1 ? MAX(VECTOR / size - 1, 1u) : elems_for(tensor, bytes);
        bool moved = who == ALL || (who == ONLY) == (i == one);
        offsets[i] = moved && n * size % MAX(t->align, 1u) == 0 ? n : 0;
        any = any || offsets[i];
    }
    if (!any || b->spent_ms + ms > total_ms(b) || t->regimes.n >= MAX_REGIMES) {
        b->full = b->full || any;
        return;
    }
    const char *name = t->tensors.items[one].name;
    const char *which = who == ONLY      ? name
                        : who == ALL_BUT ? arena_printf(&t->arena, "all but %s", name)
                                         : "all tensors";
    const char *how = bytes == VECTOR       ? "aligned to 16 bytes, no more"
                      : bytes == VECTOR - 1 ? "one element before a multiple of 16 bytes"
                      : bytes       ? arena_printf(&t->arena, "misaligned by %u bytes", bytes)
                      : who == ONLY ? arena_printf(&t->arena, "misaligned by %zu bytes",
                                                   (size_t)dtype_bytes(t->tensors.items[one].dtype))
                                    : "misaligned by one element";
    add_workload(b, x, offsets, ms, arena_printf(&t->arena, "%s %s", which, how));
}

/* All regimes of addresses at one shape. `thorough` adds displacements by more than an element. */
static void displace_at(struct builder *b, const int64_t *x, double ms, bool thorough)
{
    const struct task *t = b->t;
    for (size_t i = 0; i < t->tensors.n; i++) {
        displace(b, x, ms, ONLY, i, 0);
        if (thorough && t->tensors.n > 2 && t->tensors.n < 5)
            displace(b, x, ms, ALL_BUT, i, 0);
        if (thorough && dtype_bytes(t->tensors.items[i].dtype) < 8)
            displace(b, x, ms, ONLY, i, 8);
    }
    displace(b, x, ms, ALL, 0, 0);
    displace(b, x, ms, ALL, 0, VECTOR - 1);
    if (thorough) {
        displace(b, x, ms, ALL, 0, 8);
        displace(b, x, ms, ALL, 0, VECTOR);
    }
}

/* Adds displaced addresses at sizes so small that a row ends before the next aligned address, and
 * at rows of odd length. */
static void displace_small(struct builder *b)
{
    static const int64_t sizes[] = {1, 2, 3, 1023};
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        int64_t x[TASK_MAX_AXES + TASK_MAX_SCALARS] = {0};
        bool odd_rows = sizes[k] > 3;
        double ms = -1;
        for (int64_t v = sizes[k]; ms < 0 && v >= (odd_rows ? 15 : sizes[k]); v /= 2) {
            fill_scalars(b->t, x);
            for (size_t i = 0; i < naxes(b); i++)
                if (is_free(b, i)) {
                    int64_t want = b->axis[i].inner ? v : odd_rows ? 3 : 1;
                    x[i] = allowed(b, i, want) ? want : b->axis[i].least;
                }
            ms = try_shape(b, x);
        }
        if (ms >= 0)
            displace(b, x, ms, ALL, 0, 0);
    }
}

/* A kernel may choose its path by the size too. So all addresses are displaced at several sizes;
 * the first one gets all displacements. */
static void cover_addresses(struct builder *b)
{
    static const int64_t sizes[] = {1024, 8192, 64}, tiles[] = {64, 128, 128};
    int64_t seen[ARRAY_LEN(sizes)][TASK_MAX_AXES + TASK_MAX_SCALARS] = {{0}};
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        double limit = b->heavy ? (k ? 32 : 10) : 16;
        double ms = vector_shape(b, b->heavy ? tiles[k] : sizes[k], limit, seen[k]);
        bool again = ms < 0;
        for (size_t i = 0; i < k; i++)
            again = again || memcmp(seen[i], seen[k], sizeof seen[k]) == 0;
        if (!again)
            displace_at(b, seen[k], ms, k == 0);
    }
    displace_small(b);
}

/* ---- what stays uncovered -------------------------------------------------------------------- */

static void note_axis(struct builder *b, size_t axis)
{
    static const int64_t wanted[] = {1,    31,   32,   33,   63,   64,   65,   127,  128,  129,
                                     255,  256,  257,  511,  512,  513,  1023, 1024, 1025, 2047,
                                     2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193};
    const struct axis_info *x = &b->axis[axis];
    const char *name = b->t->axes.items[axis].name;
    struct strbuf forbidden = STRBUF_INIT(1024), costly = STRBUF_INIT(1024);
    for (size_t k = 0; k < ARRAY_LEN(wanted) && wanted[k] <= x->most; k++)
        if (!allowed(b, axis, wanted[k]))
            strbuf_addf(&forbidden, "%s%lld", forbidden.len ? ", " : "", (long long)wanted[k]);
    vec_each (const struct goal, g, &b->goals)
        if (g->axis == axis && g->kind == (count_free(b) > 1 ? GOAL_VALUE : GOAL_ALONE) && !g->done)
            strbuf_addf(&costly, "%s%lld", costly.len ? ", " : "", (long long)g->v);
    if (forbidden.len)
        *vec_push(&b->t->uncovered) =
            arena_printf(&b->t->arena, "the constraints exclude %s = %s", name, forbidden.buf);
    if (costly.len)
        *vec_push(&b->t->uncovered) = arena_printf(
            &b->t->arena, "%s = %s: too expensive for the smoke stage", name, costly.buf);
    if (x->most < 1025)
        *vec_push(&b->t->uncovered) = arena_printf(
            &b->t->arena, "no workload of the task has %s over %lld", name, (long long)x->most);
    strbuf_release(&forbidden);
    strbuf_release(&costly);
}

static void note_uncovered(struct builder *b)
{
    for (size_t i = 0; i < naxes(b); i++)
        if (!b->axis[i].is_const)
            note_axis(b, i);
    if (b->t->align >= VECTOR)
        *vec_push(&b->t->uncovered) = arena_printf(
            &b->t->arena, "the task promises addresses aligned to %u bytes", b->t->align);
    if (b->full)
        *vec_push(&b->t->uncovered) = "more regimes than a smoke stage has time for";
}

void regimes_add(struct task *t)
{
    if (!t->workloads.n || !t->tensors.n)
        return;
    if (t->unchecked.n) {
        *vec_push(&t->uncovered) = "all: Hone cannot check some of the constraints";
        return;
    }
    struct builder *b = xcalloc(1, sizeof *b);
    b->t = t;
    b->rng = rng_seeded(1, 0);
    read_axes(b);
    spread_inner(b);
    b->heavy = is_heavy(b);
    find_vector_axes(b);
    for (size_t i = 0; i < naxes(b); i++)
        if (!b->axis[i].is_const)
            choose_values(b, i);
    set_goals(b);
    cover_addresses(b);
    for (int turn = 0; turn < 3; turn++)
        vec_each (struct goal, g, &b->goals)
            if (!g->done && turn_of(g) == turn)
                cover(b, g);
    vec_each (struct goal, g, &b->goals)
        if (!g->done && g->kind == GOAL_VALUE) {
            g->relaxed = true;
            cover(b, g);
        }
    note_uncovered(b);
    vec_release(&b->goals);
    arena_release(&b->mem);
    free(b);
}
