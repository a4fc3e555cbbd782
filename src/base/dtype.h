/*
 * dtype.h - the element types of tensors, and conversion between them and double.
 *
 * The names of the types are those of FlashInfer-Bench. Conversion to double is exact, except for
 * 64-bit integers beyond 2^53. Conversion from double rounds once, to nearest even. A value too
 * large for a float type becomes infinity, or NaN in float8_e4m3fn, which has no infinity. With
 * `satfinite` it becomes the largest finite value. An integer type takes the nearest value in its
 * range, and 0 for NaN.
 */
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype {
    DT_NONE,
    DT_F64,
    DT_F32,
    DT_F16,
    DT_BF16,
    DT_F8E4M3,
    DT_F8E5M2,
    DT_I64,
    DT_I32,
    DT_I16,
    DT_I8,
    DT_U64,
    DT_U32,
    DT_U16,
    DT_U8,
    DT_BOOL,
    DT_COUNT
};

const char *dtype_name(enum dtype t);         /* "float16", ... */
enum dtype dtype_from_name(const char *name); /* DT_NONE if unknown */
size_t dtype_bytes(enum dtype t);
bool dtype_is_float(enum dtype t);
int dtype_mantissa_bits(enum dtype t); /* without the hidden bit: 10 for float16; 0 for integers */

double dtype_load(enum dtype t, const void *p);
void dtype_store(enum dtype t, void *p, double v);

/* Bit-level conversions; round to nearest even. */
uint16_t f16_from_f32(float f);
uint16_t f16_from_f64(double d);
float f16_to_f32(uint16_t h);
uint16_t bf16_from_f32(float f);
uint16_t bf16_from_f64(double d);
float bf16_to_f32(uint16_t h);
uint8_t f8e4m3_from_f64(double d, bool satfinite);
float f8e4m3_to_f32(uint8_t b);
uint8_t f8e5m2_from_f64(double d, bool satfinite);
float f8e5m2_to_f32(uint8_t b);

#endif
