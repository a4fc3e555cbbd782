/*
 * compare_input.h - the data of one comparison: the bytes of an output, and the right values that
 * the oracle computed (the truth).
 */
#ifndef WORKER_COMPARE_INPUT_H
#define WORKER_COMPARE_INPUT_H

#include <stdint.h>
#include <string.h>

#include "job/compare_core.h"
#include "job/job.h"

struct compare_input {
    const struct job_buffer *b;
    const void *got; /* b->bytes bytes */
    /* The truth: the value and the magnitude (task/hone_ref.h) of each element. An element without
     * a truth has a negative magnitude (COMPARE_SKIPPED or COMPARE_UNSEEN). */
    const double *want, *mag;
    uint64_t poison; /* the pattern that the output held before the call (job/poison.h) */
};

static inline struct compare_rule compare_rule_of(const struct job_buffer *b, uint64_t poison)
{
    return (struct compare_rule){.rtol = b->rtol,
                                 .atol = b->atol,
                                 .acc_eps = b->acc_eps,
                                 .poison = poison,
                                 .dtype = (uint32_t)b->dtype,
                                 .poisoned = b->role == JOB_OUTPUT};
}

/* Returns the bits of element i, zero-extended. */
static inline uint64_t compare_element_bits(const void *p, uint64_t elem_bytes, uint64_t i)
{
    uint64_t v = 0;
    memcpy(&v, (const char *)p + i * elem_bytes, elem_bytes);
    return v;
}

#endif
