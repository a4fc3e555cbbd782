/*
 * reduce.c - does the element-wise reductions of bulk operations. Host threads share global memory,
 * so we update each element in a compare-and-swap loop on its 2, 4 or 8 bytes.
 */
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "emu/async/async.h"

enum red_op red_op_of(const char *s)
{
    static const char *const names[] = {
        [RED_ADD] = "add", [RED_MIN] = "min", [RED_MAX] = "max", [RED_INC] = "inc",
        [RED_DEC] = "dec", [RED_AND] = "and", [RED_OR] = "or",   [RED_XOR] = "xor",
    };
    for (int i = RED_ADD; i <= RED_XOR; i++)
        if (strcmp(names[i], s) == 0)
            return (enum red_op)i;
    return RED_NONE;
}

bool red_fits(enum red_op op, enum ptx_type t)
{
    switch (t) {
    case PT_F32:
    case PT_F64:
        return op == RED_ADD;
    case PT_F16:
    case PT_BF16:
        return op == RED_ADD || op == RED_MIN || op == RED_MAX;
    case PT_B32:
    case PT_B64:
        return op >= RED_AND;
    case PT_U32:
    case PT_S32:
    case PT_U64:
    case PT_S64:
        return op != RED_NONE;
    default:
        return false;
    }
}

static uint64_t int_op(enum red_op op, enum ptx_type t, uint64_t a, uint64_t b)
{
    bool less = t == PT_S32   ? (int32_t)a < (int32_t)b
                : t == PT_S64 ? (int64_t)a < (int64_t)b
                              : a < b;
    switch (op) {
    case RED_ADD:
        return a + b;
    case RED_MIN:
        return less ? a : b;
    case RED_MAX:
        return less ? b : a;
    case RED_INC:
        return a >= b ? 0 : a + 1;
    case RED_DEC:
        return a == 0 || a > b ? b : a - 1;
    case RED_AND:
        return a & b;
    case RED_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static float float_op(enum red_op op, float a, float b)
{
    return op == RED_ADD ? a + b : op == RED_MIN ? fminf(a, b) : fmaxf(a, b);
}

static uint64_t combine(enum red_op op, enum ptx_type t, uint64_t a, uint64_t b)
{
    float x, y;
    double u, v;
    uint32_t a32 = (uint32_t)a, b32 = (uint32_t)b;
    switch (t) {
    case PT_F16:
        return f16_from_f32(float_op(op, f16_to_f32((uint16_t)a), f16_to_f32((uint16_t)b)));
    case PT_BF16:
        return bf16_from_f32(float_op(op, bf16_to_f32((uint16_t)a), bf16_to_f32((uint16_t)b)));
    case PT_F32:
        memcpy(&x, &a32, 4);
        memcpy(&y, &b32, 4);
        x += y;
        memcpy(&a32, &x, 4);
        return a32;
    case PT_F64:
        memcpy(&u, &a, 8);
        memcpy(&v, &b, 8);
        u += v;
        memcpy(&a, &u, 8);
        return a;
    default:
        return int_op(op, t, a, b);
    }
}

#define CAS_LOOP(T)                                                                    \
    do {                                                                               \
        T *p = (T *)(void *)(dst + i), old = __atomic_load_n(p, __ATOMIC_RELAXED), b;  \
        memcpy(&b, src + i, sizeof b);                                                 \
        while (!__atomic_compare_exchange_n(p, &old, (T)combine(op, t, old, b), false, \
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))       \
            ;                                                                          \
    } while (0)

void async_reduce(enum red_op op, enum ptx_type t, uint8_t *dst, const uint8_t *src, uint32_t n)
{
    uint32_t bytes = ptx_type_bits(t) / 8;
    for (uint32_t i = 0; bytes && i + bytes <= n; i += bytes) {
        if (bytes == 2)
            CAS_LOOP(uint16_t);
        else if (bytes == 4)
            CAS_LOOP(uint32_t);
        else
            CAS_LOOP(uint64_t);
    }
}
