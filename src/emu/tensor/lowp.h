/*
 * lowp.h - converts elements of the low-precision types of matrix instructions to float or int32,
 * and a float to f16.
 *
 * Operands of matrix instructions are packed little-endian into 32-bit words, element 0 in the low
 * bits. The conversions to float (all float types but f64) and to int32 (all integer types) are
 * exact. Loops have no branches, so that they vectorise.
 */
#ifndef EMU_TENSOR_LOWP_H
#define EMU_TENSOR_LOWP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tc_type {
    TC_NONE,
    TC_F16,
    TC_BF16,
    TC_TF32, /* stored in 32 bits; the low 13 mantissa bits are ignored */
    TC_F32,
    TC_F64,
    TC_E4M3,
    TC_E5M2,
    TC_S8,
    TC_U8,
    TC_S4,
    TC_U4,
    TC_B1,
    TC_S32
};

#define TC_NAN32 0x7fffffffu /* tensor cores write this for NaN */
#define TC_NAN16 0x7fffu

unsigned tc_bits(enum tc_type t);         /* bits of an element: 1, 4, 8, 16, 32 or 64 */
const char *tc_name(enum tc_type t);      /* PTX spelling: "f16", "e4m3", ... */
enum tc_type tc_from_name(const char *s); /* TC_NONE if unknown */
bool tc_is_int(enum tc_type t);           /* s8 u8 s4 u4 b1 s32 */

/* Converts n packed elements at src (any alignment). */
void tc_to_f32(enum tc_type t, const void *src, float *dst, size_t n);
/* Converts n packed elements. A b1 becomes 0 or 1. */
void tc_to_i32(enum tc_type t, const void *src, int32_t *dst, size_t n);

/* Rounds to nearest, ties to even. Returns the bits of an f16. A NaN becomes TC_NAN16. */
uint16_t tc_f16_round(float f);

#endif
