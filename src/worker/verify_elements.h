/*
 * verify_elements.h - verifies some elements of a call that is too large to verify whole.
 *
 *     verify_elements(oracle, jcase, call, written, nthreads, &arena, &result_call, err)
 *
 * The caller passes pieces of the outputs, 1024 bytes each, and places. A place is an element of
 * which the caller knows the block that wrote it. We take one element of each block, then random
 * elements, up to a limit on operations. No clock decides, so every run takes the same elements.
 *
 * The task does not say which units of a phase (task/hone_ref.h) compute an element, so we guess.
 * For an element in the middle of its tensor we run units in the middle of each phase. After a
 * wrong guess, the units write another element, or the value depends on old contents of the
 * scratch. We notice both, and do not compare the element.
 *
 * The chosen units of a repeated phase run in every step. No other unit writes to their slots of
 * the scratch (docs/task.md).
 */
#ifndef WORKER_VERIFY_ELEMENTS_H
#define WORKER_VERIFY_ELEMENTS_H

#include "base/arena.h"
#include "base/err.h"
#include "device/device.h"
#include "job/job.h"
#include "job/result.h"
#include "worker/oracle.h"

/* `written` has one entry for each buffer. Appends to out->compares an entry for each output with
 * an element whose truth we found. out->compares must have room for all buffers.
 * out->sample.verified becomes the number of blocks with such an element at a place. */
int verify_elements(struct oracle *o, const struct job_case *c, const struct job_call *call,
                    const struct device_written *written, unsigned nthreads, struct arena *a,
                    struct result_call *out, struct err *err);

/* Cuts `units` units into `parts` equal parts; part `at` is [*first, *end). A unit on the border of
 * two parts belongs to both. */
void verify_elements_units(uint64_t at, uint64_t parts, uint64_t units, uint64_t *first,
                           uint64_t *end);

#endif
