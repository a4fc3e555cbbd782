/*
 * kept_judge.h - a judge (agent/judge.h) that keeps verdicts in a folder, by task and source. It
 * asks an evaluator only for verdicts that the folder does not have. Two sources count as the same
 * source if they differ only in // comments at their ends.
 */
#ifndef STUDY_KEPT_JUDGE_H
#define STUDY_KEPT_JUDGE_H

#include "agent/judge.h"

/* `dir` is the folder. The judge borrows the evaluator, which must outlive it. */
struct judge *judge_kept(const char *dir, struct evaluator *e);

#endif
