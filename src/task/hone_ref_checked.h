/*
 * hone_ref_checked.h - lets `hone task check` see undefined behaviour, and each access to the
 * scratch.
 *
 * `hone task check` puts this header between hone_ref.h and reference.c, and compiles the text as
 * C++ with -DHONE_REF_CHECKED. Here SCRATCH(i) is an object whose reads and writes call different
 * functions. The compiler's -fsanitize adds checks, which call the functions at the end of this
 * file. They call hone_ref_undefined, which task/oracle_trial.c sets before it runs a unit.
 */
#ifndef HONE_REF_CHECKED_H
#define HONE_REF_CHECKED_H

class hone_ref_slot
{
    const struct hone_ref_ctx *hone;
    int64_t i;
    int line;
    double *at(int kind) const
    {
        double *p = hone_ref_scratch(hone, i, line);
        if ((uint64_t)i < (uint64_t)hone->scratch_elems)
            hone_ref_watch(hone, kind, -1, i, line);
        return p;
    }

  public:
    hone_ref_slot(const struct hone_ref_ctx *h, int64_t n, int l) : hone(h), i(n), line(l)
    {
    }
    operator double() const
    {
        return *at(HONE_REF_READ);
    }
    double operator=(double v) const
    {
        return *at(HONE_REF_WRITE) = v;
    }
    double operator=(const hone_ref_slot &o) const
    {
        return *this = (double)o;
    }
    double operator+=(double v) const
    {
        return *at(HONE_REF_CHANGE) += v;
    }
    double operator-=(double v) const
    {
        return *at(HONE_REF_CHANGE) -= v;
    }
    double operator*=(double v) const
    {
        return *at(HONE_REF_CHANGE) *= v;
    }
    double operator/=(double v) const
    {
        return *at(HONE_REF_CHANGE) /= v;
    }
    double operator++() const
    {
        return *this += 1;
    }
    double operator--() const
    {
        return *this -= 1;
    }
    double operator++(int) const
    {
        double was = *this;
        *this = was + 1;
        return was;
    }
    double operator--(int) const
    {
        double was = *this;
        *this = was - 1;
        return was;
    }
    /* Hone could not see accesses through a pointer. */
    void operator&() const = delete;
};
#define SCRATCH(i) (hone_ref_slot(hone, (i), __LINE__))

class hone_span
{
    const struct hone_ref_ctx *hone;
    int64_t i;
    int line;

  public:
    hone_span(const struct hone_ref_ctx *h, int64_t n, int l) : hone(h), i(n), line(l)
    {
    }
    double operator[](int64_t k) const
    {
        return hone_ref_slot(hone, i + k, line);
    }
};

HONE_FN hone_span hone_ref_span(const struct hone_ref_ctx *hone, int64_t i, int64_t, int line)
{
    return hone_span(hone, i, line);
}

extern "C" {

void (*hone_ref_undefined)(const char *what, const char *file, int line);

/* The compiler describes a place in the source by a struct that begins like this. */
struct hone_ref_place {
    const char *file;
    uint32_t line, column;
};

#define HONE_REF_UB(name, what)                                                       \
    __attribute__((visibility("hidden"), used)) void hone_ref_##name(void *) __asm__( \
        "__ubsan_handle_" #name);                                                     \
    void hone_ref_##name(void *data)                                                  \
    {                                                                                 \
        const struct hone_ref_place *at = (const struct hone_ref_place *)data;        \
        hone_ref_undefined(what, at->file, (int)at->line);                            \
        __builtin_trap();                                                             \
    }
HONE_REF_UB(add_overflow_abort, "an integer overflows")
HONE_REF_UB(sub_overflow_abort, "an integer overflows")
HONE_REF_UB(mul_overflow_abort, "an integer overflows")
HONE_REF_UB(negate_overflow_abort, "an integer overflows")
HONE_REF_UB(divrem_overflow_abort, "a division of integers by zero, or an overflow in it")
HONE_REF_UB(shift_out_of_bounds_abort, "a shift by too many bits, or of a negative number")
HONE_REF_UB(out_of_bounds_abort, "an index outside an array of reference.c")
HONE_REF_UB(float_cast_overflow_abort, "a double that does not fit the integer it is converted to")
HONE_REF_UB(type_mismatch_v1_abort, "a null pointer is used")
HONE_REF_UB(vla_bound_not_positive_abort, "an array of no elements")
HONE_REF_UB(builtin_unreachable, "code that cannot be reached is reached")
HONE_REF_UB(missing_return, "a function ends without a value")
}

#endif
