/* regime_axes.c - finds the sizes that axes allow, and chooses those at which kernels often go
 * wrong. */
#include "task/regime_axes.h"

#include <string.h>

#include "base/util.h"

size_t axes_count(const struct regime_axes *b)
{
    return b->t->axes.n;
}

bool axes_is_free(const struct regime_axes *b, size_t i)
{
    return !b->axis[i].is_const && !b->axis[i].follows;
}

static bool is_only_inner(const struct regime_axes *b, size_t i)
{
    return axes_is_free(b, i) && b->axis[i].inner && !b->axis[i].outer;
}

/* ---- axes ------------------------------------------------------------------------------------ */

static bool uses_only(const struct regime_axes *b, const struct expr *e, size_t axis)
{
    for (size_t i = 0; i < axes_count(b); i++)
        if (i != axis && !b->axis[i].is_const && expr_uses(e, i))
            return false;
    return expr_uses(e, axis);
}

void axes_fill_scalars(const struct task *t, int64_t *x)
{
    size_t n = t->axes.n;
    vec_each (const struct task_scalar, s, &t->scalars)
        if (!dtype_is_float(s->dtype))
            x[n++] = (int64_t)s->value;
    for (size_t i = 0; i < t->axes.n; i++)
        if (t->axes.items[i].is_const)
            x[i] = t->axes.items[i].value;
}

bool axes_allow(const struct regime_axes *b, size_t axis, int64_t v)
{
    int64_t x[TASK_MAX_AXES + TASK_MAX_SCALARS] = {0}, holds;
    if (v < 1 || v > b->axis[axis].most)
        return false;
    axes_fill_scalars(b->t, x);
    x[axis] = v;
    for (size_t i = 0; i < b->t->constraint_exprs.n; i++) {
        const struct expr *e = b->t->constraint_exprs.items[i];
        if (uses_only(b, e, axis) &&
            (expr_eval(e, &(struct expr_env){.values = x}, &holds, NULL) < 0 || !holds))
            return false;
    }
    return true;
}

int64_t axes_nearest(const struct regime_axes *b, size_t axis, int64_t v, int step)
{
    for (int64_t d = 0; d <= v / 4 + 1; d++)
        if (axes_allow(b, axis, v + step * d))
            return v + step * d;
    return 0;
}

/* If the constraint is `AXIS == expression` or `expression == AXIS`, returns the expression.
 * Otherwise, or if the expression depends on AXIS, returns NULL. */
static struct expr *value_in(struct regime_axes *b, const char *text, size_t axis)
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

/* Returns whether axis `of` follows from `axis`, perhaps through other axes. Axes that follow from
 * each other in a circle count as dependent. */
static bool depends_within(const struct regime_axes *b, size_t of, size_t axis, int depth)
{
    const struct expr *e = b->axis[of].follows;
    if (!e || depth > TASK_MAX_AXES)
        return depth > TASK_MAX_AXES;
    for (size_t i = 0; i < axes_count(b); i++)
        if (expr_uses(e, i) && (i == axis || depends_within(b, i, axis, depth + 1)))
            return true;
    return false;
}

bool axes_depend(const struct regime_axes *b, size_t of, size_t axis)
{
    return depends_within(b, of, axis, 0);
}

static void find_followers(struct regime_axes *b)
{
    for (size_t c = 0; c < b->t->constraints.n; c++)
        for (size_t i = 0; i < axes_count(b); i++) {
            struct expr *e = axes_is_free(b, i) ? value_in(b, b->t->constraints.items[c], i) : NULL;
            bool circular = false;
            for (size_t k = 0; e && k < axes_count(b); k++)
                circular = circular || (expr_uses(e, k) && depends_within(b, k, i, 0));
            if (e && !circular) {
                b->axis[i].follows = e;
                break;
            }
        }
}

double axes_flops(const struct regime_axes *b, const struct shape *s)
{
    double product = 2;
    if (b->t->flops)
        return (double)MAX(shape_eval(s, b->t->flops, NULL), 0);
    for (size_t i = 0; i < axes_count(b); i++)
        product *= (double)s->axes[i];
    return product;
}

/* A heavy task computes more than 16 flops for each element of its tensors, if each axis has size
 * 64, or its largest size if that is smaller. */
static bool is_heavy(struct regime_axes *b)
{
    int64_t x[TASK_MAX_AXES + TASK_MAX_SCALARS] = {0};
    axes_fill_scalars(b->t, x);
    for (size_t i = 0; i < axes_count(b); i++)
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
    return axes_flops(b, &s) / elems > 16;
}

static void read_axes(struct regime_axes *b)
{
    struct task *t = b->t;
    for (size_t i = 0; i < axes_count(b); i++) {
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
    for (size_t i = 0; i < axes_count(b); i++)
        for (int64_t v = 1; v <= MAX_SCAN && !b->axis[i].least; v++)
            b->axis[i].least = axes_allow(b, i, v) ? v : 0;
}

/* Finds the axes along which kernels use vectors: free inner axes that allow a size of 16, 32, 48
 * or 64. An inner axis that also counts the rows of a tensor is such an axis only if the task is
 * heavy, or if all free inner axes count rows. */
static void find_vector_axes(struct regime_axes *b)
{
    bool any = false;
    for (size_t i = 0; i < axes_count(b); i++)
        any = any || is_only_inner(b, i);
    for (size_t i = 0; i < axes_count(b); i++) {
        bool could =
            axes_is_free(b, i) && b->axis[i].inner && (b->heavy || !any || is_only_inner(b, i));
        for (int64_t v = VECTOR; could && v <= 64; v += VECTOR)
            b->axis[i].vectors = b->axis[i].vectors || axes_allow(b, i, v);
    }
}

/* If an inner axis follows from other axes, marks these axes as inner too. */
static void spread_inner(struct regime_axes *b)
{
    for (size_t k = 0; k < axes_count(b); k++)
        for (size_t i = 0; i < axes_count(b); i++)
            for (size_t f = 0; f < axes_count(b); f++)
                if (b->axis[f].inner && b->axis[f].follows && expr_uses(b->axis[f].follows, i))
                    b->axis[i].inner = true;
}

/* ---- the values of an axis that matter ------------------------------------------------------- */

static void add_value(struct regime_axes *b, size_t axis, int64_t v, bool alone, const char *text)
{
    struct axis_info *x = &b->axis[axis];
    for (size_t i = 0; i < x->n; i++)
        if (x->values[i].v == v)
            return;
    if (x->n < MAX_VALUES && axes_allow(b, axis, v))
        x->values[x->n++] = (struct axis_value){v, text, alone};
}

static const char *name_of_step(int64_t v)
{
    return v == 32 ? "a warp" : v <= 128 ? "a tile" : v <= 1024 ? "a block" : "a block of vectors";
}

static void add_around(struct regime_axes *b, size_t axis, int64_t v, bool alone)
{
    static const char *const where[] = {"just below", "exactly", "just above"};
    for (int k = -1; k <= 1; k++) {
        int64_t got = k ? axes_nearest(b, axis, v + k, k) : v;
        if (got)
            add_value(b, axis, got, alone || (v == 32 && k == 1),
                      arena_printf(&b->t->arena, "%s %s %s (%lld)", b->t->axes.items[axis].name,
                                   where[k + 1], name_of_step(v), (long long)v));
    }
}

/* Adds sizes just above a warp or a block that are multiples of one vector width, but not of the
 * next: of 2 but not of 4, of 4 but not of 8, of 8 but not of 16. */
static void add_multiples(struct regime_axes *b, size_t axis, bool vectors)
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

/* Chooses the sizes of an axis at which kernels often go wrong. An axis that only counts rows gets
 * fewer sizes: many kernels give each row a block, and many blocks take long to emulate. 63, 129
 * and 257 are next to the usual tiles 64, 128 and 256. */
static void choose_values(struct regime_axes *b, size_t axis)
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
        int64_t v = axes_nearest(b, axis, rows[i], 1), step = rows[i] / 128 * 128;
        if (v)
            add_value(b, axis, v, false,
                      arena_printf(&b->t->arena, "%s %s %s (%lld)", name,
                                   v == step ? "exactly" : "just above", name_of_step(step),
                                   (long long)step));
    }
}

void axes_read(struct regime_axes *b, struct task *t)
{
    *b = (struct regime_axes){.t = t};
    read_axes(b);
    spread_inner(b);
    b->heavy = is_heavy(b);
    find_vector_axes(b);
    for (size_t i = 0; i < axes_count(b); i++)
        if (!b->axis[i].is_const)
            choose_values(b, i);
}
