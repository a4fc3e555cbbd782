/*
 * verify_elements.h - the truth of a few elements of a call too large for the whole of it.
 *
 *     spots_verify(oracle, jcase, call, pieces, nthreads, &arena, compares, &n, err)
 *
 * Pieces of the outputs are given; elements of theirs are drawn, and the oracle's units that make
 * them run on inputs generated where they are read. Nobody says which units those are: an element
 * in the middle of its tensor is taken to come from the unit in the middle of the last phase, and
 * from units there of the phases before. A guess that fails is found out: the unit wrote another
 * element, or the value depends on what the scratch held before. What stays unknown is not
 * compared. How many are drawn depends on what a unit costs, not on the clock.
 */
#ifndef WORKER_VERIFY_ELEMENTS_H
#define WORKER_VERIFY_ELEMENTS_H

#include "base/arena.h"
#include "base/err.h"
#include "device/device.h"
#include "job/job.h"
#include "job/result.h"
#include "worker/oracle.h"

/* pieces: per buffer of the case. Appends to compares[*n] for each output of which something is
 * known. */
int spots_verify(struct oracle *o, const struct job_case *c, const struct job_call *call,
                 const struct piece_vec *pieces, unsigned nthreads, struct arena *a,
                 struct result_compare *compares, uint32_t *n, struct err *err);

/* Units [*first, *end) of `units` that lie where part `at` of `parts` does. */
void spots_units(uint64_t at, uint64_t parts, uint64_t units, uint64_t *first, uint64_t *end);

#endif
