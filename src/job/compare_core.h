/*
 * compare_core.h - compares one output element with the truth, in the common subset of C17 and
 * C++17, because hone-worker and Hone's device code share it.
 *
 * The task's oracle computes the truth, and a magnitude: how large the terms of the element's sum
 * are (task/hone_ref.h).
 *
 *   allowed = atol + rtol * magnitude + half an ulp of the dtype at the truth
 *   ratio   = |got - truth| / allowed; an element is bad unless ratio <= 1
 *   ideal^2 = ulp^2 / 12 + (acc_eps * magnitude)^2, the mean squared error of an ideal kernel
 *
 * A NaN is right if the truth is NaN. An infinity is right if the truth is the same infinity, or if
 * a value within the tolerance overflows the dtype. float8_e4m3fn has no infinity, so a NaN is
 * right there after an overflow. If the truth overflows a float8 type, the largest value is right
 * too.
 */
#ifndef JOB_COMPARE_CORE_H
#define JOB_COMPARE_CORE_H

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

#include "base/device_int.h"

#ifdef __CUDACC__
#define COMPARE_FN __device__ static inline
#else
#define COMPARE_FN static inline __attribute__((unused))
#endif

/* The magnitude of elements without a truth. Hone may let the oracle compute only a sample of its
 * units. */
#define COMPARE_SKIPPED (-1.0) /* in no unit: any value is right */
#define COMPARE_UNSEEN (-2.0)  /* outside the sample: any value but poison is right */

struct compare_rule {
    double rtol, atol, acc_eps; /* as in struct job_buffer (job.h) */
    uint64_t poison;            /* job/poison.h */
    uint32_t dtype;
    uint32_t poisoned; /* the output held poison before the call */
};

/* zero_ratio is what `ratio` would be if the kernel had given 0. err2 is the squared error. */
struct compare_elem {
    double ratio, zero_ratio, abs_err, err2, ideal2;
    int bad, unwritten;
};

struct compare_sum {
    uint64_t n, bad, unwritten, worst_elem;
    double max_ratio, zero_ratio, max_abs, err2, ideal2;
};

COMPARE_FN double compare_from_bits(uint64_t b)
{
    union {
        uint64_t u;
        double d;
    } x;
    x.u = b;
    return x.d;
}

COMPARE_FN uint64_t compare_to_bits(double d)
{
    union {
        uint64_t u;
        double d;
    } x;
    x.d = d;
    return x.u;
}

/* 2^e must be a normal number. */
COMPARE_FN double compare_exp2(int e)
{
    return compare_from_bits((uint64_t)(e + 1023) << 52);
}

COMPARE_FN double compare_inf(void)
{
    return compare_from_bits(0x7ff0000000000000u);
}

COMPARE_FN int compare_is_nan(double d)
{
    return d != d;
}

COMPARE_FN int compare_is_inf(double d)
{
    return (compare_to_bits(d) & 0x7fffffffffffffffu) == 0x7ff0000000000000u;
}

COMPARE_FN double compare_abs(double d)
{
    return compare_from_bits(compare_to_bits(d) & 0x7fffffffffffffffu);
}

/* mant: mantissa bits, 0 for integers; emin: least exponent. */
struct compare_type {
    int mant, emin;
    double overflow; /* the least value that overflows; 0 = none does */
};

/* These cases are numbers of enum dtype. Device code cannot include base/dtype.h. */
COMPARE_FN struct compare_type compare_type_of(uint32_t dtype)
{
    struct compare_type t = {0, 0, 0};
    switch (dtype) {
    case 1:
        t.mant = 52, t.emin = -1022;
        break;
    case 2:
        t.mant = 23, t.emin = -126, t.overflow = 3.4028235677973366e38;
        break;
    case 3:
        t.mant = 10, t.emin = -14, t.overflow = 65520.0;
        break;
    case 4:
        t.mant = 7, t.emin = -126, t.overflow = 3.3961775292304958e38;
        break;
    case 5:
        t.mant = 3, t.emin = -6, t.overflow = 464.0;
        break;
    case 6:
        t.mant = 2, t.emin = -14, t.overflow = 61440.0;
        break;
    default:
        break;
    }
    return t;
}

COMPARE_FN double compare_small(uint64_t bits, int mant, int ebits, int has_inf)
{
    int emask = (1 << ebits) - 1, bias = emask >> 1;
    int e = (int)(bits >> mant) & emask;
    uint64_t m = bits & ((1u << mant) - 1);
    double v;
    if (has_inf && e == emask)
        v = compare_from_bits(0x7ff0000000000000u | (m ? 0x8000000000000u : 0));
    else if (!has_inf && e == emask && m == (1u << mant) - 1)
        v = compare_from_bits(0x7ff8000000000000u);
    else if (e)
        v = (double)((1u << mant) + m) * compare_exp2(e - bias - mant);
    else
        v = (double)m * compare_exp2(1 - bias - mant);
    return bits >> (mant + ebits) & 1 ? -v : v;
}

COMPARE_FN double compare_decode(uint32_t dtype, uint64_t bits)
{
    switch (dtype) {
    case 1:
        return compare_from_bits(bits);
    case 2:
        return compare_small(bits & 0xffffffffu, 23, 8, 1);
    case 3:
        return compare_small(bits & 0xffffu, 10, 5, 1);
    case 4:
        return compare_small(bits & 0xffffu, 7, 8, 1);
    case 5:
        return compare_small(bits & 0xffu, 3, 4, 0);
    case 6:
        return compare_small(bits & 0xffu, 2, 5, 1);
    case 7:
        return (double)(int64_t)bits;
    case 8:
        return (double)(int32_t)bits;
    case 9:
        return (double)(int16_t)bits;
    case 10:
        return (double)(int8_t)bits;
    case 11:
        return (double)bits;
    case 12:
        return (double)(uint32_t)bits;
    case 13:
        return (double)(uint16_t)bits;
    default:
        return (double)(uint8_t)bits;
    }
}

COMPARE_FN double compare_ulp(struct compare_type t, double v)
{
    if (!t.mant)
        return 1.0;
    int e = (int)(compare_to_bits(v) >> 52 & 0x7ff) - 1023;
    if (e < t.emin)
        e = t.emin;
    e -= t.mant;
    return e < -1022 ? compare_from_bits((uint64_t)1 << (e < -1074 ? 0 : e + 1074))
                     : compare_exp2(e);
}

COMPARE_FN int compare_overflows(struct compare_type t, double v)
{
    return t.overflow > 0 && compare_abs(v) >= t.overflow;
}

/* `slack` is `allowed` without the half ulp. If got or want is not finite, returns 0 for a right
 * element and infinity for a wrong one. */
COMPARE_FN double compare_ratio(struct compare_type t, double got, double want, double slack,
                                double allowed)
{
    if (compare_is_nan(want))
        return compare_is_nan(got) ? 0 : compare_inf();
    if (compare_is_inf(want))
        return got == want ? 0 : compare_inf();
    int over = compare_overflows(t, want < 0 ? want - slack : want + slack);
    if (compare_is_nan(got))
        return over && t.mant == 3 ? 0 : compare_inf();
    if (compare_is_inf(got))
        return over && (got < 0) == (want < 0) ? 0 : compare_inf();
    /* A conversion to a narrow type may saturate. */
    if (t.mant && t.mant <= 3 && compare_overflows(t, want) && (got < 0) == (want < 0) &&
        compare_overflows(t, got + (got < 0 ? -1 : 1) * compare_ulp(t, got) / 2))
        return 0;
    return compare_abs(got - want) / allowed;
}

/* Arithmetic never produces the poison of these types. So an element with poison was not
 * written. */
COMPARE_FN int compare_poison_is_proof(uint32_t dtype)
{
    return (dtype >= 1 && dtype <= 4) || dtype == 15;
}

/* An element outside the sample is compared only if its poison proves that it is unwritten. */
COMPARE_FN int compare_left_out(const struct compare_rule *r, uint64_t bits, uint64_t poison_bits,
                                double mag)
{
    if (mag == COMPARE_UNSEEN)
        return !r->poisoned || bits != poison_bits || !compare_poison_is_proof(r->dtype);
    return mag == COMPARE_SKIPPED;
}

COMPARE_FN struct compare_elem compare_element(const struct compare_rule *r, uint64_t bits,
                                               uint64_t poison_bits, double want, double mag)
{
    struct compare_elem e;
    struct compare_type t = compare_type_of(r->dtype);
    double got = compare_decode(r->dtype, bits);
    if (mag == COMPARE_UNSEEN) {
        e.ratio = e.zero_ratio = e.abs_err = compare_inf();
        e.err2 = e.ideal2 = 0;
        e.bad = e.unwritten = 1;
        return e;
    }
    int finite = !compare_is_nan(want) && !compare_is_inf(want);
    if (!(mag >= 0) || compare_is_inf(mag))
        mag = finite ? compare_abs(want) : 0;
    double ulp = finite ? compare_ulp(t, want) : 0;
    double slack = r->atol + r->rtol * mag, allowed = slack + ulp / 2;
    e.ratio = compare_ratio(t, got, want, slack, allowed);
    e.zero_ratio = finite ? compare_abs(want) / allowed : compare_inf();
    e.bad = !(e.ratio <= 1);
    int same = finite && !compare_is_nan(got) && !compare_is_inf(got);
    e.abs_err = same ? compare_abs(got - want) : e.bad ? compare_inf() : 0;
    e.err2 = same && e.ratio > 0 ? (got - want) * (got - want) : 0;
    e.ideal2 = same ? ulp * ulp / 12 + r->acc_eps * mag * (r->acc_eps * mag) : 0;
    e.unwritten =
        r->poisoned && bits == poison_bits && (e.bad || compare_poison_is_proof(r->dtype));
    return e;
}

COMPARE_FN void compare_sum_clear(struct compare_sum *s)
{
    s->n = s->bad = s->unwritten = s->worst_elem = 0;
    s->max_ratio = s->zero_ratio = s->max_abs = s->err2 = s->ideal2 = 0;
}

COMPARE_FN void compare_sum_add(struct compare_sum *s, const struct compare_elem *e, uint64_t i)
{
    if (s->n == 0 || e->ratio > s->max_ratio) {
        s->max_ratio = e->ratio;
        s->worst_elem = i;
    }
    s->n++;
    s->bad += (uint64_t)e->bad;
    s->unwritten += (uint64_t)e->unwritten;
    s->zero_ratio = e->zero_ratio > s->zero_ratio ? e->zero_ratio : s->zero_ratio;
    s->max_abs = e->abs_err > s->max_abs ? e->abs_err : s->max_abs;
    s->err2 += e->err2;
    s->ideal2 += e->ideal2;
}

COMPARE_FN void compare_sum_merge(struct compare_sum *s, const struct compare_sum *o)
{
    if (!o->n)
        return;
    if (!s->n || o->max_ratio > s->max_ratio ||
        (o->max_ratio == s->max_ratio && o->worst_elem < s->worst_elem)) {
        s->max_ratio = o->max_ratio;
        s->worst_elem = o->worst_elem;
    }
    s->n += o->n;
    s->bad += o->bad;
    s->unwritten += o->unwritten;
    s->zero_ratio = o->zero_ratio > s->zero_ratio ? o->zero_ratio : s->zero_ratio;
    s->max_abs = o->max_abs > s->max_abs ? o->max_abs : s->max_abs;
    s->err2 += o->err2;
    s->ideal2 += o->ideal2;
}

#endif
