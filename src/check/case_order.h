/*
 * case_order.h - which failing shape to name first, and what failing shapes have in common.
 *
 * The first message of a kind stays in a verdict (check_blame()). So rules look at the cases in the
 * order in which a person wants to read of them: the smallest shape first, and a shape with moved
 * addresses only if the plain shapes pass.
 */
#ifndef CHECK_CASE_ORDER_H
#define CHECK_CASE_ORDER_H

#include "check/check_input.h"
#include "verdict/verdict.h"

/* Returns the numbers of the job's cases in that order: listed cases before held-out ones, aligned
 * ones before misaligned ones, then by size. The arena owns the array. */
const uint32_t *case_order(const struct check_input *in, struct arena *a);

/* Returns a sentence that separates the failing shapes from the passing ones by one axis: "all 19
 * failing shapes have C >= 4097; all with C <= 4096 pass", or by whether it is a multiple of a
 * power of two. Returns "" if no axis does. Held-out shapes do not count. v->workloads has one
 * entry for each case. */
const char *case_separation(struct verdict *v, const struct check_input *in);

#endif
