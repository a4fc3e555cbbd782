/*
 * poison.h - the bits that fill an output before a call. The kernel did not write an element that
 * still holds them. poison_bits() gives:
 *  - for floats of 16 bits or more, a NaN whose payload no arithmetic produces;
 *  - for float8, a NaN that arithmetic may produce too;
 *  - for integers, random bits; a result hardly equals them in two calls with different patterns;
 *  - for bool, a byte that is neither 0 nor 1;
 *  - for a workspace (DT_NONE), float32 NaNs.
 *
 * This file is C17 and C++17, and also compiled into Hone's device code.
 */
#ifndef JOB_POISON_H
#define JOB_POISON_H

#include "base/device_int.h"

#ifdef __CUDACC__
#define POISON_FN __device__ static inline
#else
#define POISON_FN static inline __attribute__((unused))
#endif

/* Splitmix64. */
POISON_FN uint64_t poison_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* `dtype` is a number of enum dtype; the element is in the low bytes of the result. In floats of 16
 * bits or more, bit 0 is set and bit 1 is clear. So the payload differs from every canonical NaN,
 * such as 0x7fc00000 and 0x7fffffff. */
POISON_FN uint64_t poison_of_hash(uint8_t dtype, uint64_t h)
{
    switch (dtype) {
    case 1: /* float64 */
        return 0x7ff8000000000000u | (h & 0x8007fffffffffffcu) | 1;
    case 0: /* workspace */
    case 2: /* float32 */
        return 0x7fc00000u | (h & 0x803ffffcu) | 1;
    case 3: /* float16 */
        return 0x7e00u | (h & 0x81fcu) | 1;
    case 4: /* bfloat16 */
        return 0x7fc0u | (h & 0x803cu) | 1;
    case 5: /* float8_e4m3fn has one NaN */
        return 0x7fu | (h & 0x80u);
    case 6: /* float8_e5m2 */
        return 0x7du | (h & 0x80u);
    case 15: /* bool */
        return 0x02u | (h & 0xfcu);
    default:
        return h;
    }
}

POISON_FN uint64_t poison_bits(uint8_t dtype, uint64_t pattern, uint64_t i)
{
    return poison_of_hash(dtype, poison_mix(pattern ^ poison_mix(i)));
}

/* Whether poison proves that the kernel did not write the element, even if NaN is the right
 * answer. */
POISON_FN int poison_is_proof(uint8_t dtype)
{
    return (dtype >= 1 && dtype <= 4) || dtype == 15;
}

#ifndef __CUDACC__
#include "base/dtype.h"

/* A cheap test, usually false: can poison_bits() give these bits? */
static inline bool poison_may_be(uint8_t dtype, uint64_t bits)
{
    switch (dtype) {
    case 1:
        return (bits & 0x7ff8000000000003u) == 0x7ff8000000000001u;
    case 2:
        return (bits & 0x7fc00003u) == 0x7fc00001u;
    case 3:
        return (bits & 0x7e03u) == 0x7e01u;
    case 4:
        return (bits & 0x7fc3u) == 0x7fc1u;
    default:
        return true;
    }
}

/* If the last element does not fit whole, its low bytes are written. */
void poison_fill(enum dtype t, uint64_t pattern, uint64_t bytes, void *dst);
#endif

#endif
