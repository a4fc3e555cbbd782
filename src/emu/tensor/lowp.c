/*
 * lowp.c - converts elements of matrices between low-precision types and float or int32. See
 * lowp.h.
 */
#include "emu/tensor/lowp.h"

#include <pthread.h>
#include <string.h>

#include "base/dtype.h"
#include "base/util.h"

static const struct {
    const char *name;
    uint8_t bits;
    bool is_int;
} types[] = {
    [TC_NONE] = {"none", 0, false},  [TC_F16] = {"f16", 16, false},
    [TC_BF16] = {"bf16", 16, false}, [TC_TF32] = {"tf32", 32, false},
    [TC_F32] = {"f32", 32, false},   [TC_F64] = {"f64", 64, false},
    [TC_E4M3] = {"e4m3", 8, false},  [TC_E5M2] = {"e5m2", 8, false},
    [TC_S8] = {"s8", 8, true},       [TC_U8] = {"u8", 8, true},
    [TC_S4] = {"s4", 4, true},       [TC_U4] = {"u4", 4, true},
    [TC_B1] = {"b1", 1, true},       [TC_S32] = {"s32", 32, true},
};

unsigned tc_bits(enum tc_type t)
{
    return types[t].bits;
}

const char *tc_name(enum tc_type t)
{
    return types[t].name;
}

bool tc_is_int(enum tc_type t)
{
    return types[t].is_int;
}

enum tc_type tc_from_name(const char *s)
{
    for (size_t t = TC_NONE + 1; t < ARRAY_LEN(types); t++)
        if (str_eq(types[t].name, s))
            return (enum tc_type)t;
    return TC_NONE;
}

/* Converts one f16. The multiplication corrects the exponent's bias, and normalises denormals. */
static inline float f16_one(uint16_t h)
{
    uint32_t u = (uint32_t)(h & 0x7fff) << 13;
    float f;
    memcpy(&f, &u, 4);
    f *= 0x1p112f;
    memcpy(&u, &f, 4);
    u |= f >= 65536.0f ? 0x7f800000u : 0;
    u |= (uint32_t)(h & 0x8000) << 16;
    memcpy(&f, &u, 4);
    return f;
}

static float e4m3_table[256];
static pthread_once_t e4m3_once = PTHREAD_ONCE_INIT;

static void e4m3_init(void)
{
    for (int i = 0; i < 256; i++)
        e4m3_table[i] = f8e4m3_to_f32((uint8_t)i);
}

static void f16_to_floats(const uint8_t *s, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, s + 2 * i, 2);
        dst[i] = f16_one(h);
    }
}

static void words_to_floats(const uint8_t *s, float *dst, size_t n, uint32_t mask)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, s + 4 * i, 4);
        u &= mask;
        memcpy(&dst[i], &u, 4);
    }
}

void tc_to_f32(enum tc_type t, const void *src, float *dst, size_t n)
{
    const uint8_t *s = src;
    switch (t) {
    case TC_F16:
        f16_to_floats(s, dst, n);
        return;
    case TC_BF16:
        for (size_t i = 0; i < n; i++) {
            uint16_t h;
            memcpy(&h, s + 2 * i, 2);
            uint32_t u = (uint32_t)h << 16;
            memcpy(&dst[i], &u, 4);
        }
        return;
    case TC_TF32:
        words_to_floats(s, dst, n, 0xffffe000u);
        return;
    case TC_F32:
        words_to_floats(s, dst, n, 0xffffffffu);
        return;
    case TC_E4M3:
        pthread_once(&e4m3_once, e4m3_init);
        for (size_t i = 0; i < n; i++)
            dst[i] = e4m3_table[s[i]];
        return;
    case TC_E5M2:
        for (size_t i = 0; i < n; i++)
            dst[i] = f16_one((uint16_t)(s[i] << 8));
        return;
    default:
        BUG("tc_to_f32: type %s", tc_name(t));
    }
}

void tc_to_i32(enum tc_type t, const void *src, int32_t *dst, size_t n)
{
    const uint8_t *s = src;
    switch (t) {
    case TC_S8:
        for (size_t i = 0; i < n; i++)
            dst[i] = (int8_t)s[i]; /* NOLINT(bugprone-signed-char-misuse): extends the sign */
        return;
    case TC_U8:
        for (size_t i = 0; i < n; i++)
            dst[i] = s[i];
        return;
    case TC_S4:
        for (size_t i = 0; i < n; i++)
            dst[i] = (((s[i / 2] >> (4 * (i & 1))) & 15) ^ 8) - 8;
        return;
    case TC_U4:
        for (size_t i = 0; i < n; i++)
            dst[i] = (s[i / 2] >> (4 * (i & 1))) & 15;
        return;
    case TC_B1:
        for (size_t i = 0; i < n; i++)
            dst[i] = (s[i / 8] >> (i & 7)) & 1;
        return;
    case TC_S32:
        memcpy(dst, s, n * 4);
        return;
    default:
        BUG("tc_to_i32: type %s", tc_name(t));
    }
}

uint16_t tc_f16_round(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    u &= 0x7fffffffu;
    if (u > 0x7f800000u)
        return TC_NAN16;
    if (u >= 0x477ff000u) /* 65520 and above round to infinity */
        return sign | 0x7c00;
    if (u < 0x38800000u) { /* denormal result: add a float whose ulp is the f16 denormal ulp */
        float m;
        memcpy(&m, &u, 4);
        m += 0.5f;
        memcpy(&u, &m, 4);
        return sign | (uint16_t)(u - 0x3f000000u);
    }
    u += 0xfffu + (u >> 13 & 1); /* round to nearest even at bit 13 */
    return sign | (uint16_t)((u - 0x38000000u) >> 13);
}
