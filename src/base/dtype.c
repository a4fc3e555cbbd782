/*
 * dtype.c - describes the element types in a table, and converts between their bits and numbers.
 */
#include "base/dtype.h"

#include <math.h>
#include <string.h>

#include "base/number_core.h"
#include "base/util.h"

static const struct {
    const char *name;
    uint8_t bytes, mantissa;
} types[DT_COUNT] = {
    [DT_NONE] = {"none", 0, 0},
    [DT_F64] = {"float64", 8, 52},
    [DT_F32] = {"float32", 4, 23},
    [DT_F16] = {"float16", 2, 10},
    [DT_BF16] = {"bfloat16", 2, 7},
    [DT_F8E4M3] = {"float8_e4m3fn", 1, 3},
    [DT_F8E5M2] = {"float8_e5m2", 1, 2},
    [DT_I64] = {"int64", 8, 0},
    [DT_I32] = {"int32", 4, 0},
    [DT_I16] = {"int16", 2, 0},
    [DT_I8] = {"int8", 1, 0},
    [DT_U64] = {"uint64", 8, 0},
    [DT_U32] = {"uint32", 4, 0},
    [DT_U16] = {"uint16", 2, 0},
    [DT_U8] = {"uint8", 1, 0},
    [DT_BOOL] = {"bool", 1, 0},
};

const char *dtype_name(enum dtype t)
{
    return types[t].name;
}

enum dtype dtype_from_name(const char *name)
{
    for (int t = DT_NONE + 1; t < DT_COUNT; t++)
        if (str_eq(types[t].name, name))
            return (enum dtype)t;
    return DT_NONE;
}

size_t dtype_bytes(enum dtype t)
{
    return types[t].bytes;
}

bool dtype_is_float(enum dtype t)
{
    return types[t].mantissa != 0;
}

int dtype_mantissa_bits(enum dtype t)
{
    return types[t].mantissa;
}

uint16_t f16_from_f64(double d)
{
    uint16_t sign = signbit(d) ? 0x8000 : 0;
    if (isnan(d))
        return 0x7fff;
    return (uint16_t)(sign | (isinf(d) ? 0x7c00 : gen_round(d, 10, -14, 15)));
}

uint16_t f16_from_f32(float f)
{
    return f16_from_f64((double)f);
}

float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
    uint32_t bits;
    if (e == 31) {
        bits = sign | 0x7f800000 | m << 13;
    } else if (e) {
        bits = sign | (e + 112) << 23 | m << 13;
    } else {
        float f = (float)m * 0x1p-24f;
        memcpy(&bits, &f, sizeof bits);
        bits |= sign;
    }
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

uint16_t bf16_from_f64(double d)
{
    uint16_t sign = signbit(d) ? 0x8000 : 0;
    if (isnan(d))
        return 0x7fff;
    return (uint16_t)(sign | (isinf(d) ? 0x7f80 : gen_round(d, 7, -126, 127)));
}

uint16_t bf16_from_f32(float f)
{
    return bf16_from_f64((double)f);
}

float bf16_to_f32(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

uint8_t f8e4m3_from_f64(double d, bool satfinite)
{
    uint8_t sign = signbit(d) ? 0x80 : 0;
    if (isnan(d))
        return 0x7f;
    /* The all-ones pattern is NaN, so the largest finite value (448) is one pattern earlier. */
    uint64_t r = isinf(d) ? 0x7f : gen_round(d, 3, -6, 8);
    if (r >= 0x7f)
        return (uint8_t)(satfinite ? sign | 0x7e : sign | 0x7f);
    return (uint8_t)(sign | r);
}

float f8e4m3_to_f32(uint8_t b)
{
    int e = b >> 3 & 15, m = b & 7;
    float v = e ? ldexpf((float)(8 + m), e - 10) : ldexpf((float)m, -9);
    if ((b & 0x7f) == 0x7f)
        v = NAN;
    return b & 0x80 ? -v : v;
}

uint8_t f8e5m2_from_f64(double d, bool satfinite)
{
    uint8_t sign = signbit(d) ? 0x80 : 0;
    if (isnan(d))
        return 0x7f;
    uint64_t r = isinf(d) ? 0x7c : gen_round(d, 2, -14, 15);
    if (r >= 0x7c)
        return (uint8_t)(sign | (satfinite ? 0x7b : 0x7c));
    return (uint8_t)(sign | r);
}

float f8e5m2_to_f32(uint8_t b)
{
    return f16_to_f32((uint16_t)(b << 8));
}

#define LOAD(type)               \
    {                            \
        type v;                  \
        memcpy(&v, p, sizeof v); \
        return (double)v;        \
    }

double dtype_load(enum dtype t, const void *p)
{
    uint16_t h;
    switch (t) {
    case DT_F64:
        LOAD(double)
    case DT_F32:
        LOAD(float)
    case DT_F16:
        memcpy(&h, p, sizeof h);
        return (double)f16_to_f32(h);
    case DT_BF16:
        memcpy(&h, p, sizeof h);
        return (double)bf16_to_f32(h);
    case DT_F8E4M3:
        return (double)f8e4m3_to_f32(*(const uint8_t *)p);
    case DT_F8E5M2:
        return (double)f8e5m2_to_f32(*(const uint8_t *)p);
    case DT_I64:
        LOAD(int64_t)
    case DT_I32:
        LOAD(int32_t)
    case DT_I16:
        LOAD(int16_t)
    case DT_I8:
        LOAD(int8_t)
    case DT_U64:
        LOAD(uint64_t)
    case DT_U32:
        LOAD(uint32_t)
    case DT_U16:
        LOAD(uint16_t)
    case DT_U8:
    case DT_BOOL:
        LOAD(uint8_t)
    case DT_NONE:
    case DT_COUNT:
        break;
    }
    BUG("dtype_load of type %d", (int)t);
}

/* Rounds v to the nearest integer (ties to even) and clamps it to [lo, hi]; NaN becomes 0. */
static int64_t to_int(double v, double lo, double hi)
{
    if (isnan(v))
        return 0;
    v = rint(v);
    return (int64_t)(v < lo ? lo : v > hi ? hi : v);
}

static void store_int(void *p, size_t bytes, int64_t v)
{
    uint64_t u = (uint64_t)v;
    uint8_t *b = p;
    for (size_t i = 0; i < bytes; i++)
        b[i] = (uint8_t)(u >> (8 * i));
}

void dtype_store(enum dtype t, void *p, double v)
{
    float f;
    uint16_t h;
    switch (t) {
    case DT_F64:
        memcpy(p, &v, sizeof v);
        return;
    case DT_F32:
        f = (float)v;
        memcpy(p, &f, sizeof f);
        return;
    case DT_F16:
        h = f16_from_f64(v);
        memcpy(p, &h, sizeof h);
        return;
    case DT_BF16:
        h = bf16_from_f64(v);
        memcpy(p, &h, sizeof h);
        return;
    case DT_F8E4M3:
        *(uint8_t *)p = f8e4m3_from_f64(v, false);
        return;
    case DT_F8E5M2:
        *(uint8_t *)p = f8e5m2_from_f64(v, false);
        return;
    case DT_I64:
        store_int(p, 8, v >= 0x1p63 ? INT64_MAX : to_int(v, -0x1p63, 0x1p63));
        return;
    case DT_U64: {
        uint64_t u = isnan(v) || v < 0 ? 0 : v >= 0x1p64 ? UINT64_MAX : (uint64_t)rint(v);
        memcpy(p, &u, sizeof u);
        return;
    }
    case DT_I32:
    case DT_I16:
    case DT_I8: {
        double lim = ldexp(1, (int)dtype_bytes(t) * 8 - 1);
        store_int(p, dtype_bytes(t), to_int(v, -lim, lim - 1));
        return;
    }
    case DT_U32:
    case DT_U16:
    case DT_U8:
        store_int(p, dtype_bytes(t), to_int(v, 0, ldexp(1, (int)dtype_bytes(t) * 8) - 1));
        return;
    case DT_BOOL:
        *(uint8_t *)p = v != 0;
        return;
    case DT_NONE:
    case DT_COUNT:
        break;
    }
    BUG("dtype_store of type %d", (int)t);
}
