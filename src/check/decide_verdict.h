/*
 * decide_verdict.h - decides from the facts of a job (result.bin) what is wrong with a candidate.
 *
 * Each rule has one or more names, its detectors, such as "compare". A rule that finds a mistake of
 * the candidate lowers the verdict through check_blame(), with the name of a detector. So the
 * verdict says what decided it. A test can switch a detector off, to prove that it is needed.
 *
 *     v->kind = V_PASS;
 *     check_facts(v, &(struct check_input){...});     lowers v->kind, fills workloads and findings
 *
 * The verdict gets the lowest kind (enum verdict_kind) that applies. Among equal kinds, the message
 * that came first stays.
 */
#ifndef CHECK_DECIDE_VERDICT_H
#define CHECK_DECIDE_VERDICT_H

#include "check/check_input.h"
#include "verdict/verdict.h"

/* Judges the candidate by all rules. If Hone or the machine failed and no rule found a mistake of
 * the candidate, the kind becomes V_UNJUDGED instead of V_PASS. */
void check_facts(struct verdict *v, const struct check_input *in);

/* Judges the calls of the baseline `in->program` by the same rules. If a rule finds a mistake,
 * lowers v->kind and sets detector and summary. Returns false if none of the baseline's outputs was
 * compared with the truth. */
bool check_baseline(struct verdict *v, const struct check_input *in);

/* Does only one part of check_facts: copies the sanitizer's findings to the verdict and lowers the
 * verdict if need be. Findings of listed workloads come first. A held-out shape (one that authors
 * never see) only adds findings that no listed workload showed. `in->task` may be NULL. */
void check_findings(struct verdict *v, const struct check_input *in);

/* If the verdict's kind is higher than `kind`, lowers it to `kind` and sets the verdict's stage,
 * detector and summary. Otherwise changes nothing, so the first message of a kind stays. */
void check_blame(struct verdict *v, const struct check_input *in, enum verdict_kind kind,
                 const char *stage, const char *detector, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

#endif
