/*
 * compare.h - compares an output of a call with the truth, on the CPU.
 *
 *     struct compare_input in = {.b = buffer, .got = bytes, .want = v, .mag = m, .poison = p};
 *     struct result_compare out = {.buffer = index};
 *     compare_output(&in, nthreads, &arena, &out);
 *
 * The arithmetic is in job/compare_core.h, which the device uses too. `out` owns nothing: its
 * arrays and strings live in the arena.
 */
#ifndef WORKER_COMPARE_H
#define WORKER_COMPARE_H

#include "base/arena.h"
#include "job/compare_core.h"
#include "job/job.h"
#include "job/result.h"
#include "worker/compare_input.h"

/* Fills in the statistics. For wrong elements, adds examples and their pattern in words. */
void compare_output(const struct compare_input *in, unsigned nthreads, struct arena *a,
                    struct result_compare *out);
/* Fills in the statistics from sums, which a device may have computed. Leaves out the examples, the
 * worst values and the pattern. */
void compare_from_sum(const struct compare_sum *s, struct result_compare *out);

struct piece_vec;
/* Like compare_output(), for the written elements in some pieces of an output. Does not look for a
 * pattern, because these elements are too few to show one. */
void compare_pieces(const struct job_buffer *b, const struct piece_vec *pieces, const double *want,
                    const double *mag, struct arena *a, struct result_compare *out);

#endif
