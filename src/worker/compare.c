/* compare.c - compares kept outputs with the truth, on the CPU, in threads. See compare.h. */
#include "worker/compare.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "device/device.h"
#include "job/poison.h"
#include "worker/pattern.h"

/* One thread compares the elements [first, end). */
struct slice {
    const struct compare_input *in;
    uint64_t first, end;
    uint8_t *bad; /* a byte per element of the output; 1 = wrong */
    struct compare_sum sum;
    pthread_t thread;
    bool started;
};

/* Compares the elements of a slice. This function is inlined for each of the usual types, so that
 * the compiler can drop the code for other types. */
static inline __attribute__((always_inline)) void compare_range(struct slice *s, uint32_t dtype,
                                                                uint64_t size)
{
    const struct compare_input *in = s->in;
    struct compare_rule r = compare_rule_of(in->b, in->poison);
    uint64_t mask = size == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * size)) - 1;
    r.dtype = dtype;
    for (uint64_t i = s->first; i < s->end; i++) {
        uint64_t bits = compare_element_bits(in->got, size, i);
        uint64_t poison = poison_may_be((uint8_t)dtype, bits)
                              ? poison_bits((uint8_t)dtype, r.poison, i) & mask
                              : ~bits;
        if (compare_left_out(&r, bits, poison, in->mag[i]))
            continue;
        struct compare_elem e = compare_element(&r, bits, poison, in->want[i], in->mag[i]);
        s->bad[i] = (uint8_t)(e.bad || e.unwritten);
        compare_sum_add(&s->sum, &e, i);
    }
}

static __attribute__((flatten)) void *compare_slice(void *arg)
{
    struct slice *s = arg;
    compare_sum_clear(&s->sum);
    switch (s->in->b->dtype) {
    case DT_F32:
        compare_range(s, DT_F32, 4);
        break;
    case DT_F16:
        compare_range(s, DT_F16, 2);
        break;
    case DT_BF16:
        compare_range(s, DT_BF16, 2);
        break;
    default:
        compare_range(s, (uint32_t)s->in->b->dtype, dtype_bytes(s->in->b->dtype));
    }
    return NULL;
}

static struct compare_sum compare_all(const struct compare_input *in, unsigned nthreads,
                                      uint8_t *bad)
{
    enum { MAX_SLICES = 64 };
    struct slice s[MAX_SLICES] = {0};
    uint64_t n = in->b->elems;
    unsigned k = MAX(1u, MIN(nthreads, (unsigned)MAX_SLICES));
    if (n < 65536)
        k = 1;
    for (unsigned t = 0; t < k; t++) {
        s[t] = (struct slice){.in = in, .first = n / k * t, .end = n / k * (t + 1), .bad = bad};
        if (t == k - 1)
            s[t].end = n;
        if (t + 1 < k)
            s[t].started = pthread_create(&s[t].thread, NULL, compare_slice, &s[t]) == 0;
        if (!s[t].started)
            compare_slice(&s[t]);
    }
    struct compare_sum sum;
    compare_sum_clear(&sum);
    for (unsigned t = 0; t < k; t++) {
        if (s[t].started)
            pthread_join(s[t].thread, NULL);
        compare_sum_merge(&sum, &s[t].sum);
    }
    return sum;
}

void compare_from_sum(const struct compare_sum *s, struct result_compare *out)
{
    out->n = s->n;
    out->bad = s->bad;
    out->unwritten = s->unwritten;
    out->max_ratio = s->max_ratio;
    out->zero_ratio = s->zero_ratio;
    out->max_abs = s->max_abs;
    out->worst_elem = s->worst_elem;
    out->rms_ratio = s->err2 <= 0 ? 0 : s->ideal2 > 0 ? sqrt(s->err2 / s->ideal2) : INFINITY;
    out->pattern = "";
}

/* Stores at most RESULT_MAX_EXAMPLES wrong elements, in ascending order and evenly spaced. */
static void take_examples(const struct compare_input *in, const uint8_t *bad, uint64_t nbad,
                          struct arena *a, struct result_compare *out)
{
    uint64_t want = MIN(nbad, (uint64_t)RESULT_MAX_EXAMPLES), seen = 0;
    uint64_t size = dtype_bytes(in->b->dtype);
    out->example_elem = arena_alloc(a, want * sizeof *out->example_elem);
    out->example_got = arena_alloc(a, want * sizeof *out->example_got);
    out->example_want = arena_alloc(a, want * sizeof *out->example_want);
    for (uint64_t i = 0; i < in->b->elems && out->nexamples < want; i++) {
        if (!bad[i])
            continue;
        if (seen++ * want / nbad < out->nexamples)
            continue;
        out->example_elem[out->nexamples] = i;
        out->example_got[out->nexamples] =
            compare_decode((uint32_t)in->b->dtype, compare_element_bits(in->got, size, i));
        out->example_want[out->nexamples++] = in->want[i];
    }
}

void compare_output(const struct compare_input *in, unsigned nthreads, struct arena *a,
                    struct result_compare *out)
{
    uint8_t *bad = xcalloc(in->b->elems, 1);
    struct compare_sum sum = compare_all(in, nthreads, bad);
    compare_from_sum(&sum, out);
    if (sum.n) {
        uint64_t size = dtype_bytes(in->b->dtype);
        out->worst_got = compare_decode((uint32_t)in->b->dtype,
                                        compare_element_bits(in->got, size, sum.worst_elem));
        out->worst_want = in->want[sum.worst_elem];
    }
    uint64_t nbad = 0;
    if (sum.bad || sum.unwritten)
        for (uint64_t i = 0; i < in->b->elems; i++)
            nbad += bad[i];
    if (nbad) {
        take_examples(in, bad, nbad, a, out);
        out->pattern =
            pattern_words(&(struct pattern_input){in, bad, nbad, sum.unwritten, sum.n}, a);
    }
    free(bad);
}

/* Adds an example of a wrong element. Keeps the examples in ascending order. */
static void note_bad(struct result_compare *out, uint64_t elem, double got, double want)
{
    uint32_t at = out->nexamples++;
    for (; at > 0 && out->example_elem[at - 1] > elem; at--) {
        out->example_elem[at] = out->example_elem[at - 1];
        out->example_got[at] = out->example_got[at - 1];
        out->example_want[at] = out->example_want[at - 1];
    }
    out->example_elem[at] = elem;
    out->example_got[at] = got;
    out->example_want[at] = want;
}

void compare_pieces(const struct job_buffer *b, const struct piece_vec *pieces, const double *want,
                    const double *mag, struct arena *a, struct result_compare *out)
{
    struct compare_rule rule = compare_rule_of(b, 0);
    struct compare_sum sum;
    uint64_t size = dtype_bytes(b->dtype);
    rule.poisoned = 0; /* only written elements count */
    compare_sum_clear(&sum);
    out->example_elem = arena_alloc(a, RESULT_MAX_EXAMPLES * sizeof *out->example_elem);
    out->example_got = arena_alloc(a, RESULT_MAX_EXAMPLES * sizeof *out->example_got);
    out->example_want = arena_alloc(a, RESULT_MAX_EXAMPLES * sizeof *out->example_want);
    vec_each (const struct device_piece, p, pieces)
        for (uint32_t i = 0; i < p->elems; i++) {
            uint64_t at = p->first + i, bits = compare_element_bits(p->data, size, i);
            if (!(p->written[i / 8] >> i % 8 & 1) || mag[at] == COMPARE_SKIPPED)
                continue;
            struct compare_elem e = compare_element(&rule, bits, 0, want[at], mag[at]);
            compare_sum_add(&sum, &e, at);
            double got = compare_decode(rule.dtype, bits);
            if (sum.worst_elem == at) {
                out->worst_got = got;
                out->worst_want = want[at];
            }
            if (e.bad && out->nexamples < RESULT_MAX_EXAMPLES)
                note_bad(out, at, got, want[at]);
        }
    compare_from_sum(&sum, out);
}
