/*
 * resolve_tensormap.c - resolves a tensor map for one shape and checks it against the driver's
 * rules for cuTensorMapEncodeTiled. So the author gets a clear plan error for a wrong map, and not
 * an error number from CUDA.
 */
#include "base/util.h"
#include "plan/model.h"

static int eval_in(const struct plan_map *m, const struct shape *s, const struct expr *e,
                   const char *what, unsigned i, int64_t lo, int64_t hi, int64_t *out,
                   struct err *err)
{
    if (plan_eval(s, e, out, err) < 0)
        return err_prefix(err, "tensor map '%s': %s[%u]", m->name, what, i);
    if (*out < lo || *out > hi)
        return err_set(err, ERR_INPUT, "tensor map '%s': %s[%u] is %s; it must be %lld to %lld",
                       m->name, what, i, SHOWN(s, *out), (long long)lo, (long long)hi);
    return 0;
}

static int resolve_dims(const struct plan_map *m, const struct shape *s, const struct job_buffer *b,
                        struct job_tensormap *out, struct err *err)
{
    int64_t v;
    for (unsigned i = 0; i < m->rank; i++) {
        if (m->has_dims) {
            if (eval_in(m, s, m->dims[i], "dims", i, 1, INT64_C(1) << 32, &v, err) < 0)
                return -1;
        } else {
            v = b->dims[b->rank - 1 - i];
            if (v < 1 || v > INT64_C(1) << 32)
                return err_set(err, ERR_INPUT,
                               "tensor map '%s': dims[%u] is %s; it must be 1 to 2^32", m->name, i,
                               SHOWN(s, v));
        }
        out->dims[i] = (uint64_t)v;
        if (eval_in(m, s, m->box[i], "box", i, 1, 256, &v, err) < 0)
            return -1;
        out->box[i] = (uint32_t)v;
        v = 1;
        if (m->elem_strides[i] &&
            eval_in(m, s, m->elem_strides[i], "elem_strides", i, 1, 8, &v, err) < 0)
            return -1;
        out->elem_strides[i] = (uint32_t)v;
    }
    return 0;
}

static int resolve_strides(const struct plan_map *m, const struct shape *s,
                           struct job_tensormap *out, struct err *err)
{
    uint64_t size = dtype_bytes(m->dtype), limit = UINT64_C(1) << 40;
    for (unsigned i = 1; i < m->rank; i++) {
        int64_t v;
        if (m->has_strides) {
            if (plan_eval(s, m->strides[i], &v, err) < 0)
                return err_prefix(err, "tensor map '%s': strides[%u]", m->name, i - 1);
        } else {
            uint64_t before = i == 1 ? size : out->strides[i - 1];
            if (__builtin_mul_overflow(before, out->dims[i - 1], (uint64_t *)&v))
                v = INT64_MAX;
        }
        if (v <= 0 || (uint64_t)v >= limit || v % 16)
            return err_set(err, ERR_INPUT,
                           "tensor map '%s': the stride of dimension %u is %s; it must be a "
                           "multiple of 16 bytes under 2^40",
                           m->name, i, SHOWN(s, v));
        out->strides[i] = (uint64_t)v;
    }
    return 0;
}

/* Checks that the last byte that the map can reach is inside the buffer. */
static int check_extent(const struct plan_map *m, const struct shape *s, const struct job_buffer *b,
                        const struct job_tensormap *t, struct err *err)
{
    unsigned __int128 end = (unsigned __int128)t->dims[0] * dtype_bytes(m->dtype);
    for (unsigned i = 1; i < t->rank; i++)
        end += (unsigned __int128)(t->dims[i] - 1) * t->strides[i];
    if (end > b->bytes)
        return err_set(err, ERR_INPUT, "tensor map '%s' reaches beyond '%s', to byte %s", m->name,
                       b->name, SHOWN(s, MIN(end, (unsigned __int128)INT64_MAX)));
    return 0;
}

static int check_box(const struct plan_map *m, const struct job_buffer *b,
                     const struct job_tensormap *t, struct err *err)
{
    static const uint32_t span[] = {0, 32, 64, 128};
    uint64_t inner = (uint64_t)t->box[0] * dtype_bytes(m->dtype);
    if (inner % 16)
        return err_set(err, ERR_INPUT,
                       "tensor map '%s': box[0] is %u elements, %llu bytes; the innermost side of "
                       "a box must be a multiple of 16 bytes",
                       m->name, t->box[0], (unsigned long long)inner);
    if (m->swizzle && inner > span[m->swizzle])
        return err_set(err, ERR_INPUT,
                       "tensor map '%s': box[0] is %llu bytes, more than the %u that swizzle "
                       "\"%uB\" allows",
                       m->name, (unsigned long long)inner, span[m->swizzle], span[m->swizzle]);
    if (b->align < 16)
        return err_set(err, ERR_INPUT,
                       "tensor map '%s': the address of '%s' is aligned to %u bytes in this "
                       "workload; a map needs 16 (use \"when\": \"alignof(%s) >= 16\")",
                       m->name, b->name, b->align, b->name);
    return 0;
}

int plan_resolve_map(const struct plan *p, const struct plan_map *m, const struct shape *s,
                     const struct job_buffer *buffer, uint32_t buffer_index,
                     struct job_tensormap *out, struct err *err)
{
    *out = (struct job_tensormap){.buffer = buffer_index,
                                  .dtype = m->dtype,
                                  .rank = m->rank,
                                  .swizzle = m->swizzle,
                                  .l2promo = m->l2promo,
                                  .fill_nan = m->fill_nan};
    if (resolve_dims(m, s, buffer, out, err) < 0 || resolve_strides(m, s, out, err) < 0 ||
        check_box(m, buffer, out, err) < 0)
        return -1;
    return check_extent(m, s, buffer, out, err);
}
