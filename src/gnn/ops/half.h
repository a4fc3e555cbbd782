/*
 * half.h - how products in half precision round and scale their operands. With `--precision fp16`,
 * all devices follow these rules.
 *
 * A product rounds both operands to half precision, to nearest with ties to even, and computes its
 * sums in float. Half precision ends at 65504, and below 2^-14 it loses bits. So there are two more
 * rules:
 *   1. A gradient is multiplied by 2^shift before it is rounded. The result is divided by 2^shift.
 *   2. If rounding made an operand infinite, each element of the result that uses this operand is
 *      computed again from operands that are not rounded. So a large value costs time, but the
 *      result stays right.
 */
#ifndef GNN_OPS_HALF_H
#define GNN_OPS_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Returns the shift for the gradients of a batch with this many seeds. The loss is a mean over the
 * seeds, so if all have labels, the gradient of a logit is at most 1 / seeds. Times 2^shift it is
 * at most 128, which is 2^9 times less than the largest half, and 2^21 times more than 2^-14. */
static inline int half_shift(int64_t seeds)
{
    int shift = 6;
    while (shift < 60 && (INT64_C(1) << (shift - 6)) < seeds)
        shift++;
    return shift;
}

/* Returns v rounded to half precision. The result is infinite if |v| is 65520 or more. */
static inline float half_round(float v)
{
    uint32_t bits;
    float size = fabsf(v), normal;
    memcpy(&bits, &size, sizeof bits);
    bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
    memcpy(&normal, &bits, sizeof normal);
    /* Floats from 0.5 to 1 are multiples of 2^-24, and so are halves below 2^-14. */
    float tiny = (size + 0.5f) - 0.5f;
    float r = size < 0x1p-14f ? tiny : size < 65520.f ? normal : size * INFINITY;
    return copysignf(r, v);
}

#endif
