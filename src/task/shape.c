/*
 * shape.c - resolves one workload to one shape: draws held-out axes, then computes sizes, alignment
 * and generators.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "task/task.h"

#define DRAWS 500

int64_t shape_eval(const struct shape *s, const struct expr *e, struct err *err)
{
    int64_t v;
    if (expr_eval(e, &(struct expr_env){.values = s->axes}, &v, err) < 0)
        return -1;
    if (v < 0) {
        err_set(err, ERR_INPUT, "'%.200s' is negative: %lld", expr_text(e), (long long)v);
        return -1;
    }
    return v;
}

int shape_phase(const struct shape *s, const struct task_phase *p, int64_t *units, int64_t *repeat,
                struct err *err)
{
    if ((*units = shape_eval(s, p->units, err)) < 0)
        return err_prefix(err, "units of phase '%s'", p->fn);
    if ((*repeat = p->repeat ? shape_eval(s, p->repeat, err) : 1) < 0)
        return err_prefix(err, "repeat of phase '%s'", p->fn);
    if (*repeat > TASK_MAX_REPEAT)
        return err_set(err, ERR_LIMIT,
                       "repeat of phase '%s': %lld steps, more than the limit of %lld", p->fn,
                       (long long)*repeat, (long long)TASK_MAX_REPEAT);
    if (*units > TASK_MAX_UNITS / MAX(*repeat, 1))
        return err_set(err, ERR_LIMIT,
                       "phase '%s': %lld units in each of %lld steps, more than the limit of %lld "
                       "in all",
                       p->fn, (long long)*units, (long long)*repeat, (long long)TASK_MAX_UNITS);
    return 0;
}

int shape_dims(const struct shape *s, size_t i, int64_t dims[TASK_MAX_RANK], struct err *err)
{
    const struct task_tensor *t = &s->task->tensors.items[i];
    for (uint32_t d = 0; d < t->rank; d++)
        if ((dims[d] = shape_eval(s, t->shape[d], err)) < 0)
            return err_prefix(err, "shape of '%s'", t->name);
    return 0;
}

static int resolve_elems(struct shape *s, struct err *err)
{
    uint64_t total = 0;
    for (size_t i = 0; i < s->task->tensors.n; i++) {
        const struct task_tensor *t = &s->task->tensors.items[i];
        int64_t dims[TASK_MAX_RANK] = {0};
        uint64_t n = 1, bytes;
        if (shape_dims(s, i, dims, err) < 0)
            return -1;
        for (uint32_t d = 0; d < t->rank; d++)
            if (__builtin_mul_overflow(n, (uint64_t)dims[d], &n))
                return err_set(err, ERR_INPUT, "'%s' has more elements than 64 bits can count",
                               t->name);
        if (n == 0)
            return err_set(err, ERR_INPUT, "'%s' has no elements", t->name);
        if (__builtin_mul_overflow(n, (uint64_t)dtype_bytes(t->dtype), &bytes) ||
            __builtin_add_overflow(total, bytes, &total) || total > TASK_MAX_BYTES)
            return err_set(err, ERR_LIMIT,
                           "the tensors up to '%s', together, take more than %llu GiB", t->name,
                           (unsigned long long)(TASK_MAX_BYTES >> 30));
        s->elems[i] = n;
    }
    return 0;
}

static int check_constraints(const struct shape *s, struct err *err)
{
    for (size_t i = 0; i < s->task->constraint_exprs.n; i++) {
        const struct expr *e = s->task->constraint_exprs.items[i];
        int64_t v;
        if (expr_eval(e, &(struct expr_env){.values = s->axes}, &v, err) < 0)
            return -1;
        if (!v)
            return err_set(err, ERR_INPUT, "constraint '%.200s' does not hold", expr_text(e));
    }
    return 0;
}

/* Draws a value from the range. Kernels often break at edges, so half of the draws are edges: the
 * least value, the largest one, an odd one, or one next to a multiple of 32. */
static int64_t draw_axis(struct rng *r, const struct axis_range *x)
{
    int64_t m = x->multiple, lo = (x->lo + m - 1) / m, hi = x->hi / m;
    if (lo >= hi)
        return hi * m;
    int64_t v = rng_range(r, lo, hi);
    switch (rng_below(r, 8)) {
    case 0:
        return lo * m;
    case 1:
        return hi * m;
    case 2: /* odd */
        v |= 1;
        break;
    case 3: /* next to a multiple of 32 */
        v = v / 32 * 32 + (rng_below(r, 2) ? 1 : -1);
        break;
    default:
        break;
    }
    return MIN(MAX(v, lo), hi) * m;
}

static int try_draw(struct shape *s, struct rng *r, struct err *err)
{
    for (size_t i = 0; i < s->task->axes.n; i++) {
        const struct task_axis *axis = &s->task->axes.items[i];
        s->axes[i] = axis->is_const ? axis->value : draw_axis(r, &s->workload->axes[i]);
    }
    return check_constraints(s, err) < 0 || resolve_elems(s, err) < 0 ? -1 : 0;
}

/* Returns the workload's number: first come the task's own workloads, then its regimes. Returns 0
 * for any other workload. */
static size_t workload_number(const struct task *t, const struct task_workload *w)
{
    for (size_t i = 0; i < t->workloads.n; i++)
        if (w == &t->workloads.items[i])
            return i;
    for (size_t i = 0; i < t->regimes.n; i++)
        if (w == &t->regimes.items[i])
            return t->workloads.n + i;
    return 0; /* the list of regimes is still being built */
}

int shape_resolve(struct shape *s, const struct task *t, const struct task_workload *w,
                  uint64_t seed, struct arena *a, struct err *err)
{
    *s = (struct shape){.task = t, .workload = w, .turn = workload_number(t, w)};
    s->axes = arena_alloc(a, t->names.n * sizeof *s->axes);
    s->elems = arena_alloc(a, t->tensors.n * sizeof *s->elems);
    size_t n = t->axes.n;
    for (size_t i = 0; i < t->scalars.n; i++)
        if (!dtype_is_float(t->scalars.items[i].dtype))
            s->axes[n++] = (int64_t)t->scalars.items[i].value;
    bool fixed = true;
    for (size_t i = 0; i < t->axes.n; i++)
        fixed = fixed && (t->axes.items[i].is_const || w->axes[i].lo == w->axes[i].hi);
    struct rng r = rng_seeded(seed, (uint32_t)s->turn);
    for (int i = 0; i < (fixed ? 1 : DRAWS); i++)
        if (try_draw(s, &r, err) == 0)
            return 0;
    return fixed ? -1 : err_prefix(err, "none of %d draws from the ranges gives a shape", DRAWS);
}

uint64_t shape_offset(const struct shape *s, size_t i)
{
    uint64_t bytes = dtype_bytes(s->task->tensors.items[i].dtype);
    return s->workload->offsets ? bytes * s->workload->offsets[i] : 0;
}

uint32_t shape_align(const struct shape *s, size_t i)
{
    uint64_t bytes = dtype_bytes(s->task->tensors.items[i].dtype);
    uint64_t align = s->workload->align_bytes ? s->workload->align_bytes : TASK_DEFAULT_ALIGN;
    uint64_t offset = shape_offset(s, i);
    if (!s->workload->offsets)
        offset = bytes * s->workload->offset_elems;
    if (offset)
        align = MIN(align, offset & -offset);
    return (uint32_t)MAX(align, bytes);
}

/* Returns the largest value that a generator may give an integer type. For 64-bit types that is
 * 2^53, because generators get their bounds as doubles. */
static double int_limit(enum dtype t)
{
    switch (t) {
    case DT_BOOL:
        return 1;
    case DT_I8:
    case DT_I16:
    case DT_I32:
        return ldexp(1, (int)dtype_bytes(t) * 8 - 1) - 1;
    case DT_U8:
    case DT_U16:
    case DT_U32:
        return ldexp(1, (int)dtype_bytes(t) * 8) - 1;
    default:
        return 0x1p53;
    }
}

static int check_span(const struct task_tensor *t, double lo, double hi, struct err *err)
{
    double max = dtype_is_float(t->dtype) ? 0x1p53 : int_limit(t->dtype);
    double min = t->dtype >= DT_U64 ? 0 : -max - (max < 0x1p53);
    if (hi < lo)
        return err_set(err, ERR_INPUT, "init of '%s': max %.0f is less than min %.0f", t->name, hi,
                       lo);
    if (lo < min || hi > max)
        return err_set(err, ERR_INPUT, "init of '%s': %.0f to %.0f does not fit %s", t->name, lo,
                       hi, dtype_name(t->dtype));
    return 0;
}

int shape_init(const struct shape *s, size_t i, struct gen_spec *out, struct err *err)
{
    const struct task_tensor *t = &s->task->tensors.items[i];
    struct expr_env env = {.values = s->axes};
    int64_t a, b;
    *out = t->init;
    out->n = s->elems[i];
    if (out->mask || out->dist >= GEN_SORTED) {
        /* A tensor of lengths has a length for each row of a padded tensor, whose index is
         * `stream`. */
        size_t of = out->dist == GEN_LENGTHS ? t->stream : i;
        int64_t dims[TASK_MAX_RANK];
        uint32_t rank = s->task->tensors.items[of].rank;
        if (shape_dims(s, of, dims, err) < 0)
            return -1;
        out->cols = rank > 0 ? (uint64_t)MAX(dims[rank - 1], 1) : 1;
        out->rows = rank > 1 ? (uint64_t)MAX(dims[rank - 2], 1) : 1;
        if (out->cols >> 32)
            return err_set(err, ERR_INPUT, "init of '%s': a row has 2^32 elements or more",
                           t->name);
    }
    if (t->pick_a.n)
        out->a = t->pick_a.value[s->turn % t->pick_a.n];
    if (t->pick_b.n)
        out->b = t->pick_b.value[s->turn % t->pick_b.n];
    if (t->init_a) {
        if (expr_eval(t->init_a, &env, &a, err) < 0)
            return err_prefix(err, "init of '%s'", t->name);
        out->a = (double)a;
    }
    if (t->init_b) {
        if (expr_eval(t->init_b, &env, &b, err) < 0)
            return err_prefix(err, "init of '%s'", t->name);
        out->b = (double)b;
    }
    switch (out->dist) {
    case GEN_INT:
        return check_span(t, out->a, out->b, err);
    case GEN_UNIFORM:
    case GEN_SORTED:
        if (!(out->a <= out->b))
            return err_set(err, ERR_INPUT, "init of '%s': max %g is less than min %g", t->name,
                           out->b, out->a);
        return 0;
    case GEN_CSR:
        if (out->n < 2 || out->n > (UINT64_C(1) << 32))
            return err_set(err, ERR_INPUT, "init of '%s': csr needs 2 to 2^32 elements", t->name);
        out->a = out->b / (double)(out->n - 1);
        return check_span(t, 0, out->b, err);
    case GEN_PERM:
        return check_span(t, 0, (double)(out->n - 1), err);
    default:
        return 0;
    }
}

static int verify_sizes(const struct task *t, const struct shape *s, struct err *err)
{
    int64_t v = 0;
    if (t->flops && shape_eval(s, t->flops, err) < 0)
        return err_prefix(err, "flops");
    if (t->bytes && (v = shape_eval(s, t->bytes, err)) < 0)
        return err_prefix(err, "bytes");
    if (t->bytes && v == 0)
        return err_set(err, ERR_INPUT, "bytes '%s' is 0, but a kernel moves at least one byte",
                       expr_text(t->bytes));
    if (t->scratch && (v = shape_eval(s, t->scratch, err)) < 0)
        return err_prefix(err, "oracle scratch");
    if (t->scratch && (uint64_t)v > TASK_MAX_SCRATCH)
        return err_set(err, ERR_LIMIT, "oracle scratch: %lld doubles, more than the limit of %llu",
                       (long long)v, (unsigned long long)TASK_MAX_SCRATCH);
    vec_each (struct task_phase, p, &t->phases) {
        int64_t repeat;
        if (shape_phase(s, p, &v, &repeat, err) < 0)
            return -1;
        if (v == 0)
            return err_set(err, ERR_INPUT, "phase '%s' has no units", p->fn);
    }
    return 0;
}

int shape_verify(const struct shape *s, struct err *err)
{
    const struct task *t = s->task;
    for (size_t i = 0; i < t->tensors.n; i++) {
        const struct task_tensor *x = &t->tensors.items[i];
        struct gen_spec spec;
        struct shape any = *s;
        uint32_t turns = MAX(x->pick_a.n, 1u) * MAX(x->pick_b.n, 1u);
        for (any.turn = 0; x->is_input && any.turn < turns; any.turn++)
            if (shape_init(&any, i, &spec, err) < 0)
                return -1;
    }
    return verify_sizes(t, s, err);
}

const char *shape_text(const struct shape *s, struct arena *a)
{
    struct strbuf sb = STRBUF_INIT(4096);
    for (size_t i = 0; i < s->task->axes.n; i++)
        if (!s->task->axes.items[i].is_const)
            strbuf_addf(&sb, "%s%s=%lld", sb.len ? " " : "", s->task->axes.items[i].name,
                        (long long)s->axes[i]);
    const char *text = arena_strdup(a, sb.buf);
    strbuf_release(&sb);
    return text;
}
