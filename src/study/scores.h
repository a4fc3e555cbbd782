/*
 * scores.h - the runs of a study (study.h) with their scores, for its tables and its plot. A score
 * is the speed of a run's best kernel as a share of the best known speed: at most 1.
 */
#ifndef STUDY_SCORES_H
#define STUDY_SCORES_H

#include "study/study.h"

struct study_scores {
    const struct study *s;
    struct arena mem;
    struct study_row_vec rows;
    const struct study_row **index; /* by arm, task and seed; NULL = no row */
    /* For each task, the best time of any run; 0 if no kernel passed. */
    double *best_ns;
};
/* A mean and its 95% interval. */
struct study_interval {
    double mean, lo, hi;
};

int study_scores_load(struct study_scores *x, const struct study *s, struct err *err);
void study_scores_release(struct study_scores *x);
/* Returns the mean score, over all tasks, of an arm's runs with this seed after `after` candidates.
 * Returns -1 if a row is missing. A run in which no kernel passed scores 0. A task on which no
 * kernel of any run passed does not count. */
double study_score(const struct study_scores *x, const char *arm, uint32_t seed, uint32_t after);
/* Returns the mean of n numbers. Computes the interval by bootstrap. n must be above 0. */
struct study_interval study_mean(const double *v, uint32_t n);

#endif
