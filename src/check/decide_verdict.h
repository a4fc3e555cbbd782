/*
 * decide_verdict.h - decides from the facts of a job (result.bin) what is wrong with a candidate.
 *
 *     v->kind = V_PASS;
 *     check_facts(v, &(struct check_input){...});     lowers v->kind, fills workloads and findings
 *
 * A rule that finds a mistake lowers the verdict through check_blame(), with the name of a detector
 * such as "compare". The verdict gets the lowest kind (enum verdict_kind) that applies. A test can
 * switch a detector off, to prove that it is needed.
 */
#ifndef CHECK_DECIDE_VERDICT_H
#define CHECK_DECIDE_VERDICT_H

#include "check/check_input.h"
#include "verdict/verdict.h"

/* Applies all rules to the facts of a candidate. If Hone or the machine failed and no rule found a
 * mistake, the kind becomes V_UNJUDGED. */
void check_facts(struct verdict *v, const struct check_input *in);

/* Judges the baseline `in->program` by the same rules. Returns false if none of its outputs was
 * compared with the truth. */
bool check_baseline(struct verdict *v, const struct check_input *in);

/* The part of check_facts() for the sanitizer's findings. A held-out shape adds only findings that
 * no listed workload has. `in->task` may be NULL. */
void check_findings(struct verdict *v, const struct check_input *in);

/* Lowers the verdict's kind to `kind`, and sets stage, detector and summary. Does nothing if the
 * kind is already as low: the first message of a kind stays. */
void check_blame(struct verdict *v, const struct check_input *in, enum verdict_kind kind,
                 const char *stage, const char *detector, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

#endif
