/*
 * score.h - computes the means of a campaign's ratios, and counts wins, losses and failures. row.h
 * explains rows and ratios.
 *
 * Rules:
 *  1. A row counts when it is done and its task is not degenerate (kind.h).
 *  2. In `mean` a failure counts as 1.0. `mean_passes` is the mean over the passes alone.
 *  3. A pass without a ratio (no baseline ran) is counted in `no_ratio` and is in no mean.
 *  4. Measured and modelled ratios are never mixed. If any row is measured, passes with a modelled
 *     time are left out and counted in `left_out`. Failures have no time; they stay (rule 2).
 *  5. A PyTorch variant that only ran beside is in no score. It has a mean of its own.
 */
#ifndef CAMPAIGN_SCORE_H
#define CAMPAIGN_SCORE_H

#include "campaign/row.h"

struct score {
    /* `n` rows count. The other numbers say how many of them are of each sort. */
    unsigned n, passes, failures, no_ratio, wins, losses, ties;
    unsigned in_mean;         /* how many passes have a ratio */
    double mean, mean_passes; /* geometric means of the ratios; 0 if there is no row to count */
};

struct kind_score {
    const char *kind;
    struct score score;
};

/* The ratios to a PyTorch variant that only ran beside the baselines. */
struct beside_score {
    const char *who;
    unsigned n;  /* how many of the counted passes have this ratio */
    double mean; /* the geometric mean of these ratios */
};

struct campaign_score {
    bool is_model; /* the rows that count are modelled, not measured */
    /* `all` is the score of all rows that count. `without_collapsed` leaves out rows of collapsed
     * tasks (kind.h). */
    struct score all, without_collapsed;
    VEC(struct kind_score) kinds;    /* in the order in which the kinds first appear in the rows */
    VEC(struct beside_score) beside; /* in the order of torch_variants (job/torch_variants.h) */
    /* `rows` is the number of all rows. The other numbers say how many of them are of each sort;
     * `old` counts the rows that another version of Hone made. */
    unsigned rows, degenerate, collapsed, unfinished, left_out, old;
};

void campaign_score(const struct campaign_table *t, struct campaign_score *out);
void campaign_score_release(struct campaign_score *s);

#endif
