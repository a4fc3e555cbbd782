/*
 * hone_ref.h - the only header that a task's reference.c includes.
 *
 * reference.c is written in the common subset of C17 and C++17. It defines phases, which run one
 * after the other. The body of a PHASE computes one *unit*, in double. Hone runs it for each unit
 * whose result is needed, in any order. In front of reference.c Hone puts the task's enumerators
 * (oracle_source in task/oracle.h): HT_x (tensors), HD_x (their dtypes), HA_N (axes), HS_eps
 * (scalars). cc compiles the text for the CPU, NVRTC for the GPU (one thread per unit).
 *
 *     #include "hone_ref.h"
 *     PHASE(rowsum)                       // units: R
 *     {
 *         double s = 0;
 *         for (int64_t j = 0; j < AX(C); j++)
 *             s += IN(x, unit * AX(C) + j);
 *         SCRATCH(unit) = s;
 *     }
 *     PHASE(reference)                    // units: R*C
 *     {
 *         OUT(y, unit, IN(x, unit) / SCRATCH(unit / AX(C)));
 *     }
 *
 * IN reads the input as it was before the call, even if the task updates the tensor in place.
 *
 * OUT_MAG(y, i, value, magnitude) also stores a magnitude, which says how large the terms of the
 * value's sum were. For a dot product it is the sum of |a*b|. With the magnitude the judge can tell
 * cancellation from a wrong answer. OUT stores |value| as the magnitude.
 *
 * OUT_ADD(y, i, dv, dm) adds to the value and the magnitude that the same unit stored before. It is
 * for units that fill many elements in one pass over their inputs. OUT_VALUE(y, i) and
 * OUT_MAGNITUDE(y, i) read what the same unit stored.
 *
 * OUT_SIGMA(y, i, value, sigma) is for outputs whose tolerance is given in "sigmas": sigma is the
 * standard deviation of the rounding error of a good implementation.
 *
 * The units of a repeated phase run several times. Each time is a step, and STEP is its number,
 * from 0. A step begins after all units of the step before have run. STEP is known only in the body
 * of a PHASE.
 *
 * HONE_SHARED declares a function that several phases call, so that it is compiled once. HONE_PLACE
 * declares a function whose result depends only on its arguments, axes and scalars, so that the
 * compiler can replace many calls by one.
 *
 * GOT(y, i, otherwise) reads element i of the candidate's own output y, or gives `otherwise` if
 * that is not known. It is for outputs with several right answers: an argmax may name any of the
 * largest elements. It works only for integer outputs whose tolerance is given in "sigmas".
 */
#ifndef HONE_REF_H
#define HONE_REF_H

#ifdef __CUDACC__
#define HONE_FN __device__ static inline
#define HONE_SHARED __device__ static __noinline__
#define HONE_PLACE __device__ static __noinline__
#else
#define HONE_FN static inline __attribute__((unused))
#define HONE_SHARED __attribute__((noinline)) static
#define HONE_PLACE __attribute__((noinline, const, unused)) static
#endif

#ifdef __CUDACC_RTC__
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned int uint32_t;
typedef unsigned short uint16_t;
typedef unsigned char uint8_t;
typedef int int32_t;
typedef signed char int8_t;
typedef short int16_t;
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#else
#include <math.h>
#include <stdint.h>
#endif

#define HONE_REF_MAX_TENSORS 2048

/* The program that runs the oracle fills it in. */
struct hone_ref_ctx {
    const void *in[HONE_REF_MAX_TENSORS];    /* one per tensor, NULL for pure outputs */
    double *out_value[HONE_REF_MAX_TENSORS]; /* NULL for pure inputs */
    double *out_mag[HONE_REF_MAX_TENSORS];
    const void *got[HONE_REF_MAX_TENSORS];   /* the candidate's outputs, for GOT; NULL = none */
    int64_t in_elems[HONE_REF_MAX_TENSORS];  /* how many elements IN may read */
    int64_t out_elems[HONE_REF_MAX_TENSORS]; /* how many elements OUT may write */
    const int64_t *axis;
    const double *scalar;
    double *scratch; /* scratch_elems doubles, and one more that takes accesses out of bounds */
    int64_t scratch_elems;
    /* The least hone_ref_fault_key() of all accesses out of bounds; all bits 1 = none. */
    uint64_t *fault;
    /* CPU only; may be NULL. Called before each read of an input, and before each access to the
     * scratch (`tensor` is -1). It may fill element i. */
    void (*need)(const struct hone_ref_ctx *hone, int tensor, int64_t i);
    /* Only with HONE_REF_CHECKED. Called for each access to an output or to the scratch (`tensor`
     * is -1). `kind` is one of HONE_REF_READ, HONE_REF_WRITE and HONE_REF_CHANGE. */
    void (*watch)(const struct hone_ref_ctx *hone, int kind, int tensor, int64_t i, int line);
};

enum { HONE_REF_READ, HONE_REF_WRITE, HONE_REF_CHANGE };

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Packs an access that is out of bounds into one number. Bits 44-63 are the line. Bits 32-43 are
 * tensor + 1; 0 is the scratch. Bits 0-31 are the index + 2^31, clamped. The least number of all
 * units is kept, so their order does not matter. job/ref_ctx.c decodes it. */
HONE_FN uint64_t hone_ref_fault_key(int tensor, int64_t i, int line)
{
    const int64_t most = ((int64_t)1 << 31) - 1;
    int64_t at = i > most ? most : i < -most ? -most : i;
    return (uint64_t)(line & 0xfffff) << 44 | (uint64_t)(tensor + 1) << 32 |
           (uint64_t)(at + ((int64_t)1 << 31));
}

#ifdef __CUDACC__
__device__ static __noinline__ void hone_ref_outside(const struct hone_ref_ctx *hone, int tensor,
                                                     int64_t i, int line)
{
    atomicMin((unsigned long long *)hone->fault,
              (unsigned long long)hone_ref_fault_key(tensor, i, line));
}
#else
__attribute__((cold, noinline, unused)) static void
hone_ref_outside(const struct hone_ref_ctx *hone, int tensor, int64_t i, int line)
{
    uint64_t key = hone_ref_fault_key(tensor, i, line);
    uint64_t was = __atomic_load_n(hone->fault, __ATOMIC_RELAXED);
    while (key < was && !__atomic_compare_exchange_n(hone->fault, &was, key, 0, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED))
        ;
}
#endif

/* Records an access that is out of bounds and returns 0. Then the caller must skip the access, or
 * use the spare element of the scratch. */
HONE_FN int hone_ref_inside(const struct hone_ref_ctx *hone, int tensor, int64_t i, int64_t n,
                            int line)
{
#ifdef __CUDACC__
    int inside = (uint64_t)i < (uint64_t)n;
#else
    int inside = __builtin_expect((uint64_t)i < (uint64_t)n, 1);
#endif
    if (!inside)
        hone_ref_outside(hone, tensor, i, line);
    return inside;
}

/* The elements of a span that is out of bounds. */
#ifdef __CUDACC__
__device__ static const double hone_ref_zeros[16] = {0};
#else
__attribute__((unused)) static const double hone_ref_zeros[16] = {0};
#endif

/* ---- accesses -------------------------------------------------------------------------------- */

HONE_FN double hone_ref_load(int dtype, const void *p, int64_t i);

HONE_FN void hone_ref_need(const struct hone_ref_ctx *hone, int tensor, int64_t i)
{
#ifndef __CUDACC__
    if (__builtin_expect(hone->need != 0, 0))
        hone->need(hone, tensor, i);
#endif
}

HONE_FN double hone_ref_in(const struct hone_ref_ctx *hone, int dtype, int tensor, int64_t i,
                           int line)
{
    if (!hone_ref_inside(hone, tensor, i, hone->in_elems[tensor], line))
        return 0;
    hone_ref_need(hone, tensor, i);
    return hone_ref_load(dtype, hone->in[tensor], i);
}

HONE_FN double *hone_ref_scratch(const struct hone_ref_ctx *hone, int64_t i, int line)
{
    if (!hone_ref_inside(hone, -1, i, hone->scratch_elems, line))
        i = hone->scratch_elems;
    hone_ref_need(hone, -1, i);
    return &hone->scratch[i];
}

#ifndef HONE_REF_CHECKED /* hone_ref_checked.h defines spans */
/* Neighbouring elements of the scratch, for reading. */
typedef const double *hone_span;

/* Returns elements i to i + n - 1 of the scratch; n is at most 16. */
HONE_FN hone_span hone_ref_span(const struct hone_ref_ctx *hone, int64_t i, int64_t n, int line)
{
    int64_t starts = hone->scratch_elems >= n ? hone->scratch_elems - n + 1 : 0;
    if (!hone_ref_inside(hone, -1, i, starts, line))
        return hone_ref_zeros;
#ifndef __CUDACC__
    for (int64_t k = 0; __builtin_expect(hone->need != 0, 0) && k < n; k++)
        hone->need(hone, -1, i + k);
#endif
    return &hone->scratch[i];
}
#endif

HONE_FN void hone_ref_watch(const struct hone_ref_ctx *hone, int kind, int tensor, int64_t i,
                            int line)
{
#ifdef HONE_REF_CHECKED
    hone->watch(hone, kind, tensor, i, line);
#else
    (void)hone, (void)kind, (void)tensor, (void)i, (void)line;
#endif
}

HONE_FN void hone_ref_out(const struct hone_ref_ctx *hone, int tensor, int64_t i, double v,
                          double m, int line)
{
    if (!hone_ref_inside(hone, tensor, i, hone->out_elems[tensor], line))
        return;
    hone_ref_watch(hone, HONE_REF_WRITE, tensor, i, line);
    hone->out_value[tensor][i] = v;
    hone->out_mag[tensor][i] = m;
}

HONE_FN void hone_ref_out_add(const struct hone_ref_ctx *hone, int tensor, int64_t i, double dv,
                              double dm, int line)
{
    if (!hone_ref_inside(hone, tensor, i, hone->out_elems[tensor], line))
        return;
    hone_ref_watch(hone, HONE_REF_CHANGE, tensor, i, line);
    hone->out_value[tensor][i] += dv;
    hone->out_mag[tensor][i] += dm;
}

HONE_FN double hone_ref_got(const struct hone_ref_ctx *hone, int dtype, int tensor, int64_t i,
                            double otherwise, int line)
{
    if (!hone_ref_inside(hone, tensor, i, hone->out_elems[tensor], line) || !hone->got[tensor])
        return otherwise;
    return hone_ref_load(dtype, hone->got[tensor], i);
}

HONE_FN const double *hone_ref_written(const struct hone_ref_ctx *hone, const double *results,
                                       int tensor, int64_t i, int line)
{
    if (!hone_ref_inside(hone, tensor, i, hone->out_elems[tensor], line))
        return &hone->scratch[hone->scratch_elems];
    hone_ref_watch(hone, HONE_REF_READ, tensor, i, line);
    return &results[i];
}

#define IN(t, i) hone_ref_in(hone, HD_##t, HT_##t, (i), __LINE__)
#define AX(a) (hone->axis[HA_##a])
#define SC(s) (hone->scalar[HS_##s])
#define OUT_MAG(t, i, v, m) hone_ref_out(hone, HT_##t, (i), (v), (m), __LINE__)
#define OUT_SIGMA(t, i, v, s) hone_ref_out(hone, HT_##t, (i), (v), (s), __LINE__)
#define GOT(t, i, otherwise) hone_ref_got(hone, HD_##t, HT_##t, (i), (otherwise), __LINE__)
#define OUT_ADD(t, i, dv, dm) hone_ref_out_add(hone, HT_##t, (i), (dv), (dm), __LINE__)
#define OUT(t, i, v)                           \
    do {                                       \
        double hone_v_ = (v);                  \
        OUT_MAG(t, i, hone_v_, fabs(hone_v_)); \
    } while (0)
#define OUT_VALUE(t, i) (*hone_ref_written(hone, hone->out_value[HT_##t], HT_##t, (i), __LINE__))
#define OUT_MAGNITUDE(t, i) (*hone_ref_written(hone, hone->out_mag[HT_##t], HT_##t, (i), __LINE__))
#ifndef HONE_REF_CHECKED /* hone_ref_checked.h defines SCRATCH */
#define SCRATCH(i) (*hone_ref_scratch(hone, (i), __LINE__))
#endif

/* With this cast, a reference.c that has a variable or enumerator STEP does not compile. */
#define STEP ((int64_t)hone_step)

#ifdef __CUDACC__
#define PHASE(name)                                                                        \
    __device__ static void hone_unit_##name(const struct hone_ref_ctx *hone, int64_t unit, \
                                            int64_t hone_step);                            \
    extern "C" __global__ void name(const struct hone_ref_ctx *ctx, const int64_t *start,  \
                                    int64_t run, int64_t count, int64_t step)              \
    {                                                                                      \
        for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;        \
             i += (int64_t)gridDim.x * blockDim.x)                                         \
            hone_unit_##name(ctx, start[i / run] + i % run, step);                         \
    }                                                                                      \
    __device__ static void hone_unit_##name(const struct hone_ref_ctx *hone, int64_t unit, \
                                            int64_t hone_step)
#else
#ifdef __cplusplus
#define HONE_REF_EXPORT extern "C"
#else
#define HONE_REF_EXPORT extern
#endif
#define PHASE(name)                                                                          \
    static void hone_unit_##name(const struct hone_ref_ctx *hone, int64_t unit,              \
                                 int64_t hone_step);                                         \
    HONE_REF_EXPORT void name(const struct hone_ref_ctx *hone, int64_t first, int64_t count, \
                              int64_t step);                                                 \
    void name(const struct hone_ref_ctx *hone, int64_t first, int64_t count, int64_t step)   \
    {                                                                                        \
        for (int64_t i = 0; i < count; i++)                                                  \
            hone_unit_##name(hone, first + i, step);                                         \
    }                                                                                        \
    static void hone_unit_##name(const struct hone_ref_ctx *hone, int64_t unit, int64_t hone_step)
#endif

HONE_FN float hone_ref_f32_bits(uint32_t b)
{
    union {
        uint32_t u;
        float f;
    } x;
    x.u = b;
    return x.f;
}

HONE_FN double hone_ref_f16(uint16_t h)
{
    uint32_t e = h >> 10 & 31, m = h & 0x3ff;
    double v = e == 0 ? m * (1.0 / (1 << 24))
                      : (double)hone_ref_f32_bits((e == 31 ? 255 : e + 112) << 23 | m << 13);
    return h & 0x8000 ? -v : v;
}

HONE_FN double hone_ref_f8(uint8_t b, int mant, int bias, int has_inf)
{
    int emax = (1 << (7 - mant)) - 1, e = b >> mant & emax, m = b & ((1 << mant) - 1);
    double v =
        e ? ldexp((double)((1 << mant) + m), e - bias - mant) : ldexp((double)m, 1 - bias - mant);
    if (has_inf && e == emax)
        v = m ? NAN : INFINITY;
    if (!has_inf && (b & 0x7f) == 0x7f)
        v = NAN;
    return b & 0x80 ? -v : v;
}

/* The cases are the numbers of enum dtype (base/dtype.h); a test checks this. `dtype` is a constant
 * in each call, so the compiler keeps only one case. */
HONE_FN double hone_ref_load(int dtype, const void *p, int64_t i)
{
    switch (dtype) {
    case 1:
        return ((const double *)p)[i];
    case 2:
        return ((const float *)p)[i];
    case 3:
        return hone_ref_f16(((const uint16_t *)p)[i]);
    case 4:
        return hone_ref_f32_bits((uint32_t)((const uint16_t *)p)[i] << 16);
    case 5:
        return hone_ref_f8(((const uint8_t *)p)[i], 3, 7, 0);
    case 6:
        return hone_ref_f8(((const uint8_t *)p)[i], 2, 15, 1);
    case 7:
        return (double)((const int64_t *)p)[i];
    case 8:
        return (double)((const int32_t *)p)[i];
    case 9:
        return (double)((const int16_t *)p)[i];
    case 10:
        return (double)((const int8_t *)p)[i];
    case 11:
        return (double)((const uint64_t *)p)[i];
    case 12:
        return (double)((const uint32_t *)p)[i];
    case 13:
        return (double)((const uint16_t *)p)[i];
    default:
        return (double)((const uint8_t *)p)[i];
    }
}

#endif
