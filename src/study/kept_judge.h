/*
 * kept_judge.h - a judge that keeps verdicts in a folder, by task and source, and asks an evaluator
 * only for those that it does not have. Comments at the end of a source do not count.
 */
#ifndef STUDY_KEPT_JUDGE_H
#define STUDY_KEPT_JUDGE_H

#include "agent/judge.h"

/* The evaluator is borrowed. */
struct judge *judge_kept(const char *dir, struct evaluator *e);

#endif
