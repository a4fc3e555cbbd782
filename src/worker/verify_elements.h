/*
 * verify_elements.h - verifies a few elements of a call that is too large to verify whole: finds
 * their right values (their truth) and compares.
 *
 *     verify_elements(oracle, jcase, call, written, nthreads, &arena, &result_call, err)
 *
 * The caller passes pieces of the outputs (a piece has 1024 bytes), and places: elements for which
 * it knows which block wrote them. As far as a limit on operations allows, we take one element of
 * each block, then draw more elements at random.
 *
 * An oracle consists of phases, and a phase consists of units (task/hone_ref.h). We run the units
 * that compute these elements, and generate only the inputs that these units read. The task does
 * not say which units compute an element, so we guess from the element's position. For example,
 * take an element in the middle of its tensor. For it we run the unit in the middle of the last
 * phase, and units in the middle of the earlier phases.
 *
 * The chosen units of a repeated phase run in every step. No other unit writes to their slots of
 * the scratch (docs/task.md), so the units that we leave out cannot change what they read there
 * later.
 *
 * Phases pass values on through the scratch. We notice a wrong guess, because then either the unit
 * writes another element, or the value depends on the old contents of the scratch. If the truth of
 * an element stays unknown, we do not compare the element. The number of elements depends on the
 * cost of a unit, not on the clock, so it is the same in every run.
 */
#ifndef WORKER_VERIFY_ELEMENTS_H
#define WORKER_VERIFY_ELEMENTS_H

#include "base/arena.h"
#include "base/err.h"
#include "device/device.h"
#include "job/job.h"
#include "job/result.h"
#include "worker/oracle.h"

/* `written` has one entry for each buffer of the case. For each output with at least one element
 * whose truth we found, appends an entry to out->compares, which has room for all buffers. Sets
 * out->sample.verified to the number of blocks that have a place whose truth we found. */
int verify_elements(struct oracle *o, const struct job_case *c, const struct job_call *call,
                    const struct device_written *written, unsigned nthreads, struct arena *a,
                    struct result_call *out, struct err *err);

/* Cuts `units` units into `parts` equal parts. [*first, *end) become the units of part number `at`.
 * A unit on the border of two parts belongs to both. */
void verify_elements_units(uint64_t at, uint64_t parts, uint64_t units, uint64_t *first,
                           uint64_t *end);

#endif
