/* tensormap.c - encodes and checks tensor maps, and walks their boxes (tensormap.h). */
#include "emu/async/tensormap.h"

#include <string.h>

#include "base/util.h"
#include "emu/core/numeric.h"

static const uint8_t elem_bytes[TMAP_ELEM_COUNT] = {
    [TMAP_U8] = 1,   [TMAP_U16] = 2,  [TMAP_U32] = 4,      [TMAP_S32] = 4,     [TMAP_U64] = 8,
    [TMAP_S64] = 8,  [TMAP_F16] = 2,  [TMAP_F32] = 4,      [TMAP_F32_FTZ] = 4, [TMAP_F64] = 8,
    [TMAP_BF16] = 2, [TMAP_TF32] = 4, [TMAP_TF32_FTZ] = 4,
};

static enum tmap_elem elem_of(enum dtype t)
{
    switch (t) {
    case DT_F64:
        return TMAP_F64;
    case DT_F32:
        return TMAP_F32;
    case DT_F16:
        return TMAP_F16;
    case DT_BF16:
        return TMAP_BF16;
    case DT_I64:
        return TMAP_S64;
    case DT_U64:
        return TMAP_U64;
    case DT_I32:
        return TMAP_S32;
    case DT_U32:
        return TMAP_U32;
    case DT_I16:
    case DT_U16:
        return TMAP_U16;
    default:
        return TMAP_U8;
    }
}

uint32_t tensormap_elem_bytes(const struct tensormap *t)
{
    return elem_bytes[t->elem];
}

/* ---- shape ---------------------------------------------------------------------------------- */

/* Returns how many elements a copy takes along dimension i: every elem_strides[i]-th of the box. */
static uint32_t tile_extent(const struct tensormap *t, unsigned i)
{
    return (t->box[i] + t->elem_strides[i] - 1u) / t->elem_strides[i];
}

static uint32_t inner_bytes(const struct tensormap *t)
{
    uint32_t n = t->mode == TMAP_IM2COL ? t->channels : tile_extent(t, 0);
    return n * tensormap_elem_bytes(t);
}

/* Returns the bytes from one row of the box to the next in shared memory. With a swizzle, a row
 * takes the whole swizzle span, even if the row is narrower. */
static uint32_t row_pitch(const struct tensormap *t)
{
    uint32_t span = t->swizzle ? 16u << t->swizzle : 0, inner = inner_bytes(t);
    return inner < span ? span : inner;
}

static uint32_t rows(const struct tensormap *t)
{
    if (t->mode == TMAP_IM2COL)
        return t->pixels;
    uint32_t n = 1;
    for (unsigned i = 1; i < t->rank; i++)
        n *= tile_extent(t, i);
    return n;
}

uint32_t tensormap_box_bytes(const struct tensormap *t)
{
    return inner_bytes(t) * rows(t);
}

uint32_t tensormap_smem_bytes(const struct tensormap *t)
{
    return row_pitch(t) * rows(t);
}

/* ---- checks --------------------------------------------------------------------------------- */

static int check_dims(const struct tensormap *t, struct err *err)
{
    uint64_t boxes = tensormap_elem_bytes(t);
    for (unsigned i = 0; i < t->rank; i++) {
        if (t->elem_strides[i] < 1 || t->elem_strides[i] > 8)
            return err_set(err, ERR_INPUT,
                           "tensor map: element stride %u of dimension %u must be 1 to 8",
                           t->elem_strides[i], i);
        if (t->mode == TMAP_TILE && (t->box[i] < 1 || t->box[i] > 256))
            return err_set(err, ERR_INPUT,
                           "tensor map: box of dimension %u is %u; 1 to 256 is allowed", i,
                           t->box[i]);
        boxes *= t->mode == TMAP_TILE ? tile_extent(t, i) : 1;
        if (boxes > 256 * 1024)
            return err_set(err, ERR_INPUT, "tensor map: the box does not fit into shared memory");
        if (i == 0)
            continue;
        uint64_t s = t->strides[i - 1];
        if (s % 16 || s >= 1ull << 40)
            return err_set(err, ERR_INPUT,
                           "tensor map: the stride of dimension %u is %llu bytes; it must be a "
                           "multiple of 16 below 2^40",
                           i, (unsigned long long)s);
    }
    return 0;
}

static int check(const struct tensormap *t, struct err *err)
{
    if (t->rank < 1 || t->rank > TMAP_MAX_RANK)
        return err_set(err, ERR_INPUT, "tensor map: the rank is %u; it must be 1 to 5", t->rank);
    if (t->elem >= TMAP_ELEM_COUNT || t->swizzle > 3 || t->fill_nan > 1 || t->mode > TMAP_IM2COL)
        return err_set(err, ERR_INPUT, "tensor map: type, swizzle, fill or mode is out of range");
    if (t->interleave)
        return err_set(err, ERR_INPUT, "tensor map: interleaved layouts are not supported");
    if (t->addr % 16)
        return err_set(err, ERR_INPUT, "tensor map: the tensor's address must be a multiple of 16");
    if (t->mode == TMAP_IM2COL &&
        (t->rank < 3 || t->channels < 1 || t->channels > 256 || t->pixels < 1 || t->pixels > 1024))
        return err_set(err, ERR_INPUT,
                       "tensor map: im2col needs rank 3..5, 1..256 channels and "
                       "1..1024 pixels");
    if (check_dims(t, err) < 0)
        return -1;
    uint32_t inner = inner_bytes(t), span = 16u << t->swizzle;
    if (inner % 16)
        return err_set(err, ERR_INPUT,
                       "tensor map: a row of the box has %u bytes; it must be a multiple of 16",
                       inner);
    if (t->swizzle && inner > span)
        return err_set(err, ERR_INPUT,
                       "tensor map: a row of the box has %u bytes, more than the %u-byte swizzle",
                       inner, span);
    if (t->fill_nan && (t->elem < TMAP_F16 || t->elem >= TMAP_ELEM_COUNT))
        return err_set(err, ERR_INPUT, "tensor map: NaN fill needs a floating-point type");
    return 0;
}

int tensormap_encode(struct tensormap *t, const struct job_tensormap *j, uint64_t addr,
                     struct err *err)
{
    memset(t, 0, sizeof *t);
    if (j->rank < 1 || j->rank > TMAP_MAX_RANK)
        return err_set(err, ERR_INPUT, "tensor map: the rank is %u; it must be 1 to 5", j->rank);
    t->magic = TMAP_MAGIC;
    t->addr = addr;
    t->elem = (uint8_t)elem_of(j->dtype);
    t->rank = (uint8_t)j->rank;
    t->swizzle = j->swizzle;
    t->interleave = j->interleave;
    t->fill_nan = j->fill_nan;
    for (unsigned i = 0; i < j->rank; i++) {
        if (j->dims[i] < 1 || j->dims[i] > 1ull << 32)
            return err_set(err, ERR_INPUT, "tensor map: dimension %u is %llu; 1 to 2^32 is allowed",
                           i, (unsigned long long)j->dims[i]);
        if (j->box[i] > 256 || j->elem_strides[i] > 8)
            return err_set(err, ERR_INPUT,
                           "tensor map: box %u (1 to 256) or element stride %u (1 to 8) of "
                           "dimension %u is too large",
                           j->box[i], j->elem_strides[i], i);
        t->dims[i] = (uint32_t)(j->dims[i] - 1);
        t->box[i] = (uint16_t)j->box[i];
        /* Without interleaving, dimension 0 has no element stride. */
        t->elem_strides[i] = i && j->elem_strides[i] ? (uint8_t)j->elem_strides[i] : 1;
        if (i)
            t->strides[i - 1] = j->strides[i];
    }
    return check(t, err);
}

int tensormap_load(struct tensormap *t, const void *bytes, struct err *err)
{
    memcpy(t, bytes, sizeof *t);
    if (t->magic != TMAP_MAGIC)
        return err_set(err, ERR_INPUT, "there is no tensor map at this address");
    return check(t, err);
}

int tensormap_replace(struct tensormap *t, const char *field, uint32_t ord, uint64_t v,
                      struct err *err)
{
    if (t->magic != TMAP_MAGIC)
        return err_set(err, ERR_INPUT, "tensormap.replace: there is no tensor map at this address");
    bool is_stride = str_eq(field, "global_stride");
    if (ord >= (is_stride ? 4u : 5u))
        return err_set(err, ERR_INPUT, "tensormap.replace: ordinal %u is out of range", ord);
    if (str_eq(field, "global_address"))
        t->addr = v;
    else if (str_eq(field, "rank"))
        t->rank = (uint8_t)(MIN(v, 250) + 1);
    else if (str_eq(field, "box_dim"))
        t->box[ord] = (uint16_t)MIN(v, 65535);
    else if (str_eq(field, "global_dim"))
        t->dims[ord] = (uint32_t)v - 1;
    else if (is_stride)
        t->strides[ord] = v;
    else if (str_eq(field, "element_stride"))
        t->elem_strides[ord] = ord ? (uint8_t)MIN(v, 255) : 1;
    else if (str_eq(field, "elemtype"))
        t->elem = (uint8_t)MIN(v, 255);
    else if (str_eq(field, "interleave_layout"))
        t->interleave = (uint8_t)MIN(v, 255);
    else if (str_eq(field, "swizzle_mode"))
        t->swizzle = (uint8_t)MIN(v, 255);
    else if (str_eq(field, "fill_mode"))
        t->fill_nan = (uint8_t)MIN(v, 255);
    else
        return err_set(err, ERR_INPUT, "tensormap.replace: field '%s' is not known", field);
    return 0;
}

/* ---- walking a box -------------------------------------------------------------------------- */

static bool in_dim(const struct tensormap *t, unsigned i, int64_t c)
{
    return c >= 0 && c <= (int64_t)t->dims[i];
}

/* Walks one row of the box and splits it at the tensor's edges. The row has `n` elements. Their
 * coordinates in dimension 0 are c, c + es, c + 2*es and so on. `off` is the row's offset in the
 * box. outer_inside says whether the row's other coordinates are all inside the tensor. If they
 * are, `base` is the global address of the element with coordinate 0 in dimension 0. */
static int walk_row(const struct tensormap *t, uint32_t off, int64_t c, uint32_t n, uint32_t es,
                    bool outer_inside, uint64_t base, tmap_run_fn fn, void *ctx)
{
    uint32_t eb = tensormap_elem_bytes(t), i = 0;
    while (i < n) {
        bool inside = outer_inside && in_dim(t, 0, c + (int64_t)i * es);
        uint32_t end = i + 1;
        while (end < n && (outer_inside && in_dim(t, 0, c + (int64_t)end * es)) == inside)
            end++;
        struct tmap_run r = {
            .box_off = off + i * eb,
            .bytes = (end - i) * eb,
            .inside = inside,
            .addr = inside ? base + (uint64_t)(c + (int64_t)i * es) * eb : 0,
            .step = es * eb,
        };
        int rc = fn(ctx, &r);
        if (rc)
            return rc;
        i = end;
    }
    return 0;
}

static int walk_tile(const struct tensormap *t, const int32_t *coords, tmap_run_fn fn, void *ctx)
{
    uint32_t idx[TMAP_MAX_RANK] = {0}, pitch = row_pitch(t), n = rows(t);
    for (uint32_t row = 0; row < n; row++) {
        bool inside = true;
        uint64_t base = t->addr;
        for (unsigned i = 1; i < t->rank; i++) {
            int64_t c = coords[i] + (int64_t)idx[i] * t->elem_strides[i];
            inside = inside && in_dim(t, i, c);
            base += inside ? (uint64_t)c * t->strides[i - 1] : 0;
        }
        int rc = walk_row(t, row * pitch, coords[0], tile_extent(t, 0), t->elem_strides[0], inside,
                          base, fn, ctx);
        if (rc)
            return rc;
        for (unsigned i = 1; i < t->rank && ++idx[i] == tile_extent(t, i); i++)
            idx[i] = 0;
    }
    return 0;
}

/* Walks the pixels inside the bounding box along w, then along h and d, then over the batch. The
 * filter offsets shift the place from which each pixel is read. */
static int walk_im2col(const struct tensormap *t, const int32_t *coords, const uint16_t *offsets,
                       tmap_run_fn fn, void *ctx)
{
    unsigned spatial = t->rank - 2u;
    int64_t pos[TMAP_MAX_RANK] = {0};
    for (unsigned i = 0; i < t->rank; i++)
        pos[i] = coords[i];
    uint32_t pitch = row_pitch(t);
    for (uint32_t p = 0; p < t->pixels; p++) {
        bool inside = true;
        uint64_t base = t->addr;
        for (unsigned i = 1; i < t->rank; i++) {
            int64_t c = pos[i] + (i <= spatial ? offsets[i - 1] : 0);
            inside = inside && in_dim(t, i, c);
            base += inside ? (uint64_t)c * t->strides[i - 1] : 0;
        }
        int rc = walk_row(t, p * pitch, coords[0], t->channels, 1, inside, base, fn, ctx);
        if (rc)
            return rc;
        unsigned i = 1;
        for (; i <= spatial; i++) {
            pos[i] += t->elem_strides[i];
            if (pos[i] <= (int64_t)t->dims[i] + t->upper[i - 1])
                break;
            pos[i] = t->lower[i - 1];
        }
        if (i > spatial)
            pos[i]++;
    }
    return 0;
}

int tensormap_walk(const struct tensormap *t, const int32_t *coords, const uint16_t *offsets,
                   tmap_run_fn fn, void *ctx)
{
    if (t->mode == TMAP_IM2COL) {
        static const uint16_t none[3];
        return walk_im2col(t, coords, offsets ? offsets : none, fn, ctx);
    }
    return walk_tile(t, coords, fn, ctx);
}

void tensormap_fill(const struct tensormap *t, uint8_t *dst, uint32_t n)
{
    memset(dst, 0, n);
    if (!t->fill_nan)
        return;
    uint32_t eb = tensormap_elem_bytes(t);
    for (uint32_t i = 0; i + eb <= n; i += eb) {
        /* every 2 bytes get OOB_NAN, which fma.oob recognises */
        for (uint32_t k = 0; k < eb; k++)
            dst[i + k] = k % 2 ? OOB_NAN >> 8 : OOB_NAN & 0xff;
    }
}
