/*
 * compare.h - a kept output against the oracle's values, on the CPU.
 *
 *     struct compare_input in = {.b = buffer, .got = bytes, .want = v, .mag = m, .poison = p};
 *     struct result_compare out = {.buffer = index};
 *     compare_output(&in, nthreads, &arena, &out);
 *
 * The arithmetic is job/compare_core.h's, shared with the device. `out` owns nothing: its arrays
 * and its words live in the arena.
 */
#ifndef WORKER_COMPARE_H
#define WORKER_COMPARE_H

#include "base/arena.h"
#include "job/compare_core.h"
#include "job/job.h"
#include "job/result.h"
#include "worker/compare_input.h"

/* Statistics, samples of bad elements and, if any are bad, the pattern in words. */
void compare_output(const struct compare_input *in, unsigned nthreads, struct arena *a,
                    struct result_compare *out);
/* From sums alone (a device made them): everything but samples, worst values and pattern. */
void compare_from_sum(const struct compare_sum *s, struct result_compare *out);

/* The same over the written elements of pieces of an output. */
struct piece_vec;
void compare_pieces(const struct job_buffer *b, const struct piece_vec *pieces, const double *want,
                    const double *mag, struct arena *a, struct result_compare *out);

#endif
