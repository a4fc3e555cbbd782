/*
 * regimes.c - chooses the workloads of t->regimes, from the sizes in regime_axes.c.
 *
 * We list goals, such as "axis C is 33" or "R is odd and C is a multiple of 16". For each goal that
 * is not covered yet, we add the shape that covers most goals for its cost.
 *
 * Other workloads displace addresses: a tensor begins a few elements after an aligned address. They
 * cover no goals about sizes, because at such an address a kernel usually takes its plain path, and
 * mistakes of its vectorised path stay hidden.
 *
 * Invariants:
 *   1. Every shape satisfies the constraints. No axis exceeds its largest value in the task's own
 *      workloads.
 *   2. By cost_ms(), one shape costs at most MAX_MS, and all together total_ms().
 *   3. The choice depends only on the task.
 */
#include "task/regimes.h"

#include <string.h>

#include "base/rng.h"
#include "base/util.h"
#include "task/regime_axes.h"

enum {
    MAX_REGIMES = 136,
    MAX_TRIES = 20000, /* shapes tried in all; limited because a task may be hostile */
    SHAPE_TRIES = 16
};
static const double MAX_MS = 45, TOTAL_MS = 650, HEAVY_TOTAL_MS = 1000; /* see invariant 2 */

/* GOAL_ALONE: `axis` is v, all other axes have their least values. GOAL_VALUE: `axis` is v, all
 * other axes are above their least values. GOAL_PAIR: `axis` and `other` have sizes of the given
 * classes. */
enum goal_kind { GOAL_ALONE, GOAL_VALUE, GOAL_PAIR };

/* See class_of(). Goals use only the first four. */
enum size_class { SIZE_ONE, SIZE_ODD, SIZE_TWICE_ODD, SIZE_VECTORS, SIZE_CLASSES, SIZE_OTHER };

struct goal {
    enum goal_kind kind;
    size_t axis, other;
    int64_t v;
    enum size_class of_axis, of_other; /* only for GOAL_PAIR */
    const char *text;
    /* Set for a GOAL_VALUE that no shape covered. Then it is enough if one other axis is above its
     * least value. */
    bool relaxed;
    bool done;
};

struct builder {
    struct task *t;
    struct arena mem;
    struct rng rng;
    struct regime_axes ax;
    VEC(struct goal) goals;
    int tries;
    double spent_ms;
    bool full; /* we left out a workload, because of total_ms() or MAX_REGIMES */
};

static double total_ms(const struct builder *b)
{
    return b->ax.heavy ? HEAVY_TOTAL_MS : TOTAL_MS;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Returns how many rows the largest tensor has. If several tensors are equally large, returns the
 * smallest such number. */
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

/* Estimates how long the emulator runs a kernel at this shape. Kernels of heavy tasks, such as
 * matrix products, compute whole tiles of the largest output. Other kernels often give each row to
 * a block. */
static double cost_ms(const struct builder *b, const struct shape *s)
{
    double ms = 0.4 + 2e-4 * elems_of(s), tiles = 0;
    if (!b->ax.heavy)
        return ms + 0.15 * (double)rows_of(s) + 2.5e-5 * axes_flops(&b->ax, s);
    for (size_t i = 0; i < s->task->tensors.n; i++) {
        const struct task_tensor *t = &s->task->tensors.items[i];
        int64_t dims[TASK_MAX_RANK] = {0};
        if (!t->is_output || shape_dims(s, i, dims, NULL) < 0)
            continue;
        uint64_t inner = t->rank ? (uint64_t)dims[t->rank - 1] : 1;
        double terms = axes_flops(&b->ax, s) / 2 / (double)s->elems[i];
        tiles = MAX(tiles, (double)round_up(s->elems[i] / inner, 64) * (double)round_up(inner, 64) *
                               (double)round_up((uint64_t)MIN(terms, 1e12) + 1, 32));
    }
    return ms + 12e-6 * tiles;
}

/* Sets the axes in x that follow from others. Returns false if such an axis has no value. */
static bool complete(const struct builder *b, int64_t *x)
{
    for (size_t pass = 0; pass < axes_count(&b->ax); pass++) {
        bool changed = false;
        for (size_t i = 0; i < axes_count(&b->ax); i++) {
            int64_t v;
            if (!b->ax.axis[i].follows)
                continue;
            if (expr_eval(b->ax.axis[i].follows, &(struct expr_env){.values = x}, &v, NULL) < 0)
                return false;
            changed = changed || x[i] != v;
            x[i] = v;
        }
        if (!changed)
            return true;
    }
    return true;
}

static struct task_workload workload_at(struct builder *b, const int64_t *x, struct arena *a)
{
    struct task_workload w = {.role = ROLE_SMOKE, .name = "", .place = b->t->workloads_place};
    w.axes = arena_alloc(a, axes_count(&b->ax) * sizeof *w.axes);
    for (size_t i = 0; i < axes_count(&b->ax); i++)
        w.axes[i] = (struct axis_range){!b->ax.axis[i].is_const, x[i], x[i], 1};
    return w;
}

/* Completes the shape x, and returns its cost. Returns -1 if the shape is not allowed, or is too
 * expensive. */
static double try_shape(struct builder *b, int64_t *x)
{
    if (++b->tries > MAX_TRIES || !complete(b, x))
        return -1;
    for (size_t i = 0; i < axes_count(&b->ax); i++)
        if (!b->ax.axis[i].is_const && (x[i] < 1 || x[i] > b->ax.axis[i].most))
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
    for (size_t i = 0; i < axes_count(&b->ax); i++) {
        if (i == g->axis || !axes_is_free(&b->ax, i))
            continue;
        others += b->ax.axis[i].least < b->ax.axis[i].most;
        above += x[i] > b->ax.axis[i].least;
        plain += b->ax.axis[i].vectors && x[i] % VECTOR;
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
    for (size_t i = 0; i < axes_count(&b->ax); i++)
        n += axes_is_free(&b->ax, i);
    return n;
}

static void set_goals(struct builder *b)
{
    static const char *const classes[] = {"1", "odd", "even, not a multiple of 4",
                                          "a multiple of 16"};
    bool one = count_free(b) <= 1;
    for (int kind = GOAL_ALONE; kind <= GOAL_VALUE; kind++)
        for (size_t k = 0; k < MAX_VALUES; k++)
            for (size_t i = 0; i < axes_count(&b->ax); i++) {
                const struct axis_value *v = &b->ax.axis[i].values[k];
                if (k >= b->ax.axis[i].n)
                    continue;
                if (kind == GOAL_ALONE ? axes_is_free(&b->ax, i) && (v->alone || one) : !one)
                    add_goal(b, (struct goal){.kind = (enum goal_kind)kind,
                                              .axis = i,
                                              .v = v->v,
                                              .text = v->text});
            }
    for (size_t i = 0; i < axes_count(&b->ax); i++)
        for (size_t j = i + 1; j < axes_count(&b->ax); j++)
            for (int c = 0; c < SIZE_CLASSES * SIZE_CLASSES; c++)
                if (axes_is_free(&b->ax, i) && axes_is_free(&b->ax, j))
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

static int64_t draw_value(struct builder *b, size_t axis)
{
    static const int64_t small[] = {2, 3, 4, 5, 8, 16, 17, 32, 33}, vectors[] = {16, 32, 48, 64};
    const struct axis_info *x = &b->ax.axis[axis];
    int64_t v = small[rng_below(&b->rng, ARRAY_LEN(small))];
    if (x->vectors && rng_below(&b->rng, 4))
        return vectors[rng_below(&b->rng, ARRAY_LEN(vectors))];
    if (x->n && rng_below(&b->rng, 2))
        v = x->values[rng_below(&b->rng, x->n)].v;
    if (!axes_allow(&b->ax, axis, v))
        v = x->n ? x->values[rng_below(&b->rng, x->n)].v : x->least;
    return v;
}

static int64_t draw_class(struct builder *b, size_t axis, enum size_class c)
{
    static const int64_t of[SIZE_CLASSES][4] = {
        {1, 1, 1, 1}, {3, 5, 17, 33}, {2, 6, 10, 34}, {16, 32, 48, 64}};
    for (int k = 0; k < 4; k++) {
        int64_t v = of[c][rng_below(&b->rng, 4)];
        if (axes_allow(&b->ax, axis, v))
            return v;
    }
    return 0;
}

/* `axis` follows from other axes. Changes one free axis so that `axis` becomes v. Returns false if
 * no free axis can do that. */
static bool steer(struct builder *b, int64_t *x, size_t axis, int64_t v)
{
    for (size_t j = 0; j < axes_count(&b->ax); j++) {
        if (!axes_is_free(&b->ax, j) || !axes_depend(&b->ax, axis, j))
            continue;
        int64_t was = x[j];
        for (int64_t y = 1; y <= MIN(b->ax.axis[j].most, (int64_t)MAX_SCAN); y++) {
            x[j] = y;
            if (complete(b, x) && x[axis] == v)
                return true;
        }
        x[j] = was;
    }
    return false;
}

/* Returns a small value of the axis above its least one. Along a vector axis the value is a
 * multiple of VECTOR, so that a kernel may take its vectorised path. Returns the least value if
 * there is no such value nearby. */
static int64_t second_least(const struct builder *b, size_t axis)
{
    int64_t least = b->ax.axis[axis].least;
    for (int64_t v = least + 1; v <= least + 64; v++)
        if (axes_allow(&b->ax, axis, v) && (!b->ax.axis[axis].vectors || v % VECTOR == 0))
            return v;
    return least;
}

/* Sets the free axes: at the first try to the smallest values that serve the goal, later to random
 * values. */
static void set_open_axes(struct builder *b, const struct goal *g, bool first, int64_t *x)
{
    size_t larger = SIZE_MAX;
    for (size_t i = axes_count(&b->ax); g->relaxed && i-- > 0;)
        if (axes_is_free(&b->ax, i) && i != g->axis &&
            (larger == SIZE_MAX || b->ax.axis[i].vectors))
            larger = i;
    for (size_t i = 0; i < axes_count(&b->ax); i++) {
        if (!axes_is_free(&b->ax, i))
            continue;
        if (g->kind == GOAL_ALONE)
            x[i] = b->ax.axis[i].least;
        else if (first)
            x[i] = g->relaxed && i != larger ? b->ax.axis[i].least : second_least(b, i);
        else
            x[i] = g->relaxed && rng_below(&b->rng, 2) ? b->ax.axis[i].least : draw_value(b, i);
    }
}

static bool draw_shape(struct builder *b, const struct goal *g, bool first, int64_t *x)
{
    axes_fill_scalars(b->t, x);
    set_open_axes(b, g, first, x);
    if (g->kind == GOAL_PAIR) {
        x[g->axis] = draw_class(b, g->axis, g->of_axis);
        x[g->other] = draw_class(b, g->other, g->of_other);
    } else if (axes_is_free(&b->ax, g->axis)) {
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

static bool exists(const struct builder *b, const int64_t *x, const uint32_t *offsets)
{
    vec_each (const struct task_workload, w, &b->t->regimes) {
        bool same = true;
        for (size_t i = 0; i < axes_count(&b->ax) && same; i++)
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

/* Returns the turn (0, 1 or 2) in which we try to cover a goal. total_ms() may not suffice for all
 * goals. So small sizes come first, then pairs, then large sizes. */
static int turn_of(const struct goal *g)
{
    return g->kind == GOAL_PAIR ? 1 : g->v <= 65 ? 0 : 2;
}

static void cover(struct builder *b, struct goal *g)
{
    int64_t best[TASK_MAX_AXES + TASK_MAX_SCALARS] = {0};
    double best_score = 0, best_ms = 0;
    int tries = g->kind == GOAL_ALONE ? 1 : axes_is_free(&b->ax, g->axis) ? SHAPE_TRIES : 4;
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

/* Sets x to a shape with long rows. Inner axes become about `v`, a multiple of every vector width.
 * Other axes become about `rows`. An inner axis without `vectors` counts rows too, and rows are
 * expensive. So such an axis becomes about VECTOR. */
static void set_vector_shape(const struct builder *b, int64_t v, int64_t rows, int64_t *x)
{
    axes_fill_scalars(b->t, x);
    for (size_t i = 0; i < axes_count(&b->ax); i++) {
        const struct axis_info *a = &b->ax.axis[i];
        int64_t most = a->most >= VECTOR ? a->most / VECTOR * VECTOR : a->most;
        int64_t want = MIN(!a->inner ? rows : a->vectors ? v : VECTOR, most);
        if (!axes_is_free(&b->ax, i))
            continue;
        x[i] = axes_allow(&b->ax, i, want) ? want : axes_nearest(&b->ax, i, want, -1);
        x[i] = x[i] ? x[i] : a->least;
    }
}

/* Sets x to a shape whose rows have at most about `size` elements, and returns its cost: at most
 * `limit` if possible, else at most MAX_MS. Returns -1 if there is no such shape. A heavy task
 * first gets as many rows as columns, because its kernels may need whole tiles. */
static double vector_shape(struct builder *b, int64_t size, double limit, int64_t *x)
{
    size_t row_axes = 0;
    for (size_t i = 0; i < axes_count(&b->ax); i++)
        row_axes += axes_is_free(&b->ax, i) && b->ax.axis[i].outer;
    const double limits[] = {limit, MAX_MS};
    for (size_t k = 0; k < ARRAY_LEN(limits); k++)
        for (int64_t v = size; v >= VECTOR; v /= 2) {
            const int64_t rows[] = {b->ax.heavy ? v : size > 4096 || row_axes > 1 ? 2 : 4, 4, 2, 1};
            for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
                set_vector_shape(b, v, rows[r], x);
                double ms = try_shape(b, x);
                if (ms >= 0 && ms <= limits[k])
                    return ms;
            }
        }
    return -1;
}

enum displaced { ONLY, ALL_BUT, ALL };

static uint32_t elems_for(const struct task_tensor *t, uint32_t bytes)
{
    return MAX(bytes / (uint32_t)dtype_bytes(t->dtype), 1u);
}

/* Adds a workload with displaced tensors: only tensor `one`, all but `one`, or all. `bytes` is the
 * distance from an aligned address. But 0 means a distance of one element, and VECTOR - 1 means
 * that the tensor begins one element before a multiple of 16 bytes. The distance must keep the
 * alignment that the task promises. */
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

/* Displaces shapes with rows of odd length, and with rows that end before the next aligned
 * address. */
static void displace_small(struct builder *b)
{
    static const int64_t sizes[] = {1, 2, 3, 1023};
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        int64_t x[TASK_MAX_AXES + TASK_MAX_SCALARS] = {0};
        bool odd_rows = sizes[k] > 3;
        double ms = -1;
        for (int64_t v = sizes[k]; ms < 0 && v >= (odd_rows ? 15 : sizes[k]); v /= 2) {
            axes_fill_scalars(b->t, x);
            for (size_t i = 0; i < axes_count(&b->ax); i++)
                if (axes_is_free(&b->ax, i)) {
                    int64_t want = b->ax.axis[i].inner ? v : odd_rows ? 3 : 1;
                    x[i] = axes_allow(&b->ax, i, want) ? want : b->ax.axis[i].least;
                }
            ms = try_shape(b, x);
        }
        if (ms >= 0)
            displace(b, x, ms, ALL, 0, 0);
    }
}

/* Adds the workloads that displace addresses. A kernel may choose its path also by the size, so we
 * displace addresses at several sizes. */
static void cover_addresses(struct builder *b)
{
    static const int64_t sizes[] = {1024, 8192, 64}, tiles[] = {64, 128, 128};
    int64_t seen[ARRAY_LEN(sizes)][TASK_MAX_AXES + TASK_MAX_SCALARS] = {{0}};
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        double limit = b->ax.heavy ? (k ? 32 : 10) : 16;
        double ms = vector_shape(b, b->ax.heavy ? tiles[k] : sizes[k], limit, seen[k]);
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
    const struct axis_info *x = &b->ax.axis[axis];
    const char *name = b->t->axes.items[axis].name;
    struct strbuf forbidden = STRBUF_INIT(1024), costly = STRBUF_INIT(1024);
    for (size_t k = 0; k < ARRAY_LEN(wanted) && wanted[k] <= x->most; k++)
        if (!axes_allow(&b->ax, axis, wanted[k]))
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
    for (size_t i = 0; i < axes_count(&b->ax); i++)
        if (!b->ax.axis[i].is_const)
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
        *vec_push(&t->uncovered) = "all of them, because Hone cannot check some of the constraints";
        return;
    }
    struct builder *b = xcalloc(1, sizeof *b);
    b->t = t;
    b->rng = rng_seeded(1, 0);
    axes_read(&b->ax, t);
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
