/*
 * scores.h - the runs of a study with their scores, for its tables and its plot. study.h explains
 * arms and seeds. A score is the speed of a run's best kernel as a share of the best known speed:
 * at most 1.
 */
#ifndef STUDY_SCORES_H
#define STUDY_SCORES_H

#include "study/study.h"

struct study_scores {
    const struct study *s;
    struct arena mem;
    struct study_row_vec rows;
    const struct study_row **index; /* the rows by arm, task and seed; NULL if there is no row */
    double *best_ns; /* for each task, the best time of any run; 0 if no kernel passed */
};
/* A mean, and the lower and upper end of its 95% interval. */
struct study_interval {
    double mean, lo, hi;
};

int study_scores_load(struct study_scores *x, const struct study *s, struct err *err);
void study_scores_release(struct study_scores *x);
/* Returns the row of this arm, task and seed, or NULL if the study does not have it yet. */
const struct study_row *study_find_row(const struct study_scores *x, const char *arm,
                                       const char *task, uint32_t seed);
/* Returns the score of an arm with a seed: the mean over all tasks of the scores that the runs had
 * after `after` candidates. Returns -1 if the study has no row for one of the tasks yet. A run in
 * which no kernel passed counts as 0. A task on which no kernel of any run passed is left out of
 * the mean. */
double study_score(const struct study_scores *x, const char *arm, uint32_t seed, uint32_t after);
/* Returns the mean of n values, with a 95% interval by bootstrap. n must be above 0. */
struct study_interval study_mean(const double *v, uint32_t n);

#endif
