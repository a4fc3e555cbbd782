/*
 * case_order.h - which failing shape to name first, and what failing shapes have in common.
 *
 * If several cases lead to the same kind of verdict, the verdict keeps the message of the case that
 * was looked at first (check_blame()). So the rules of decide_verdict.h look at the cases in the
 * order that helps a person most.
 */
#ifndef CHECK_CASE_ORDER_H
#define CHECK_CASE_ORDER_H

#include "check/check_input.h"
#include "verdict/verdict.h"

/* A held-out case has a shape that is drawn at random, and that authors never see. Returns the
 * numbers of the job's cases, sorted by three keys: listed before held-out, then aligned before
 * misaligned, then small before large. The arena owns the array. */
const uint32_t *case_order(const struct check_input *in, struct arena *a);

/* Returns a sentence that names an axis by which failing and passing shapes can be told apart, for
 * example "all 19 failing shapes have C >= 4097; all with C <= 4096 pass". The sentence may
 * also say that the axis is no multiple of some power of two in the failing shapes. Returns "" if
 * no axis separates the shapes. Held-out shapes do not count. v->workloads must have one entry for
 * each case. */
const char *case_separation(struct verdict *v, const struct check_input *in);

#endif
