/*
 * kept_judge.h - a judge (agent/judge.h) that keeps verdicts in a folder, by task and source, and
 * asks an evaluator only for verdicts that the folder lacks. Two sources that differ only in
 * comments at their ends have the same verdict.
 */
#ifndef STUDY_KEPT_JUDGE_H
#define STUDY_KEPT_JUDGE_H

#include "agent/judge.h"

/* `dir` is the folder. The judge borrows the evaluator, which must outlive it. */
struct judge *judge_kept(const char *dir, struct evaluator *e);

#endif
