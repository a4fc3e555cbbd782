/*
 * bitops.h - moves bits as instructions like bfe and prmt do. The instructions use these functions
 * on values; the sanitizer uses them on masks of undefined bits (sanitizer/undefined_bits.c).
 */
#ifndef EMU_CORE_BITOPS_H
#define EMU_CORE_BITOPS_H

#include "base/util.h"

/* Bit fields. 32-bit forms use the low 8 bits of position and length, 64-bit forms use all bits. If
 * `sg` is true, bfe() fills the bits above the field with the field's top bit. If the field reaches
 * beyond the operand, bfe() fills them with the operand's top bit. */
static inline uint64_t bfe(uint64_t a, uint32_t pos, uint32_t len, uint32_t width, bool sg)
{
    pos = width == 64 ? MIN(pos, 64u) : pos & 0xff;
    len = width == 64 ? MIN(len, 64u) : len & 0xff;
    uint64_t sign = 0, r = 0;
    uint32_t top = MIN(pos + len - 1, width - 1);
    if (sg && len)
        sign = a >> top & 1;
    if (!len)
        return 0;
    r = pos < width ? (width == 64 ? a : (uint32_t)a) >> pos : 0;
    uint32_t have = pos < width ? MIN(len, width - pos) : 0;
    if (have < 64)
        r &= (1ull << have) - 1;
    if (sign && have < 64)
        r |= ~0ull << have;
    return r;
}

static inline uint64_t bfi(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, uint32_t width)
{
    pos = width == 64 ? MIN(pos, 64u) : pos & 0xff;
    len = width == 64 ? MIN(len, 64u) : len & 0xff;
    if (!len || pos >= width)
        return b;
    uint64_t mask = len >= 64 ? ~0ull : (1ull << len) - 1;
    mask <<= pos;
    return (b & ~mask) | ((a << pos) & mask);
}

static inline uint32_t shf_l(uint32_t lo, uint32_t hi, uint32_t n)
{
    return n == 0 ? hi : n > 31 ? lo : hi << n | lo >> (32 - n);
}
static inline uint32_t shf_r(uint32_t lo, uint32_t hi, uint32_t n)
{
    return n == 0 ? lo : n > 31 ? hi : lo >> n | hi << (32 - n);
}

static inline uint32_t byte_of(uint64_t v, uint32_t sel)
{
    uint32_t b = (uint32_t)(v >> (8 * (sel & 7))) & 0xff;
    return sel & 8 ? (b & 0x80 ? 0xff : 0) : b;
}
static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t c, uint8_t mode)
{
    uint64_t v = a | (uint64_t)b << 32;
    uint32_t s = c & 3, r = 0;
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t sel;
        switch (mode) {
        case 1: /* f4e */
            sel = s + k;
            break;
        case 2: /* b4e */
            sel = (s + 8 - k) & 7;
            break;
        case 3: /* rc8 */
            sel = s;
            break;
        case 4: /* ecl */
            sel = MAX(s, k);
            break;
        case 5: /* ecr */
            sel = MIN(s, k);
            break;
        case 6: /* rc16 */
            sel = (s & 1) * 2 + (k & 1);
            break;
        default:
            sel = c >> (4 * k) & 15;
        }
        r |= byte_of(v, sel) << (8 * k);
    }
    return r;
}

static inline uint32_t lut3(uint32_t a, uint32_t b, uint32_t c, uint32_t lut)
{
    uint32_t r = 0;
    r |= lut & 0x01 ? ~a & ~b & ~c : 0;
    r |= lut & 0x02 ? ~a & ~b & c : 0;
    r |= lut & 0x04 ? ~a & b & ~c : 0;
    r |= lut & 0x08 ? ~a & b & c : 0;
    r |= lut & 0x10 ? a & ~b & ~c : 0;
    r |= lut & 0x20 ? a & ~b & c : 0;
    r |= lut & 0x40 ? a & b & ~c : 0;
    r |= lut & 0x80 ? a & b & c : 0;
    return r;
}

#endif
