/*
 * case_order.h - chooses the failing shape that a verdict names, and finds out what failing shapes
 * have in common.
 *
 * If several cases lead to the same kind of verdict, the message of the first case stays
 * (check_blame()). So decide_verdict.c looks at the cases in the order that helps a person most.
 */
#ifndef CHECK_CASE_ORDER_H
#define CHECK_CASE_ORDER_H

#include "check/check_input.h"
#include "verdict/verdict.h"

/* Returns the numbers of the job's cases in this order: listed cases come before held-out ones; in
 * each of these groups, aligned cases come before misaligned ones; and among these, small cases
 * come before large ones. The arena owns the array. */
const uint32_t *case_order(const struct check_input *in, struct arena *a);

/* Returns a sentence about an axis that separates failing from passing shapes, for example "all 19
 * failing shapes have C >= 4097; all with C <= 4096 pass". It may also say that the failing shapes
 * are no multiples of some power of two. Returns "" if no axis separates the shapes. Held-out
 * shapes do not count. v->workloads must have one entry for each case. */
const char *case_separation(struct verdict *v, const struct check_input *in);

#endif
