/*
 * score.h - computes the means of a campaign's ratios, and counts wins, losses and failures
 * (row.h).
 *
 * Rules:
 *   1. A row counts when it is done and its task is not degenerate (kind.h).
 *   2. In `mean` a failure counts as 1.0. `mean_passes` covers passes alone.
 *   3. A pass without a ratio (no baseline ran) is in no mean.
 *   4. Measured and modelled ratios are never mixed. If any row is measured, passes with a modelled
 *      time are left out. Failures stay.
 *   5. A PyTorch variant that only ran beside the baselines is in no score. It has its own mean.
 */
#ifndef CAMPAIGN_SCORE_H
#define CAMPAIGN_SCORE_H

#include "campaign/row.h"

struct score {
    /* `n` rows count. The other numbers are parts of n. */
    unsigned n, passes, failures, no_ratio, wins, losses, ties;
    unsigned in_mean;         /* passes with a ratio */
    double mean, mean_passes; /* geometric means; 0 if no row counts */
};

struct kind_score {
    const char *kind;
    struct score score;
};

/* Ratios to a PyTorch variant of rule 5. */
struct beside_score {
    const char *who;
    unsigned n;  /* counted passes with this ratio */
    double mean; /* geometric mean */
};

/* Ratios to PyTorch with its default settings (row.h), over the passes that count. */
struct default_score {
    unsigned n;
    double mean; /* geometric mean; 0 if n is 0 */
};

struct campaign_score {
    bool is_model;                       /* the rows that count are modelled */
    struct score all, without_collapsed; /* the second leaves out collapsed tasks (kind.h) */
    VEC(struct kind_score) kinds;        /* in the order of their first rows */
    VEC(struct beside_score) beside;     /* in the order of torch_variants (job/torch_variants.h) */
    struct default_score default_eager, default_compile;
    /* `rows` is the number of all rows. Each other number counts some of these rows; `old` counts
     * those that another version of Hone made. */
    unsigned rows, degenerate, collapsed, unfinished, left_out, old;
};

void campaign_score(const struct campaign_table *t, struct campaign_score *out);
void campaign_score_release(struct campaign_score *s);

#endif
