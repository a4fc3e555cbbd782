/*
 * split.h - proposes settings for ranges of shapes, from the times of tried candidates at each
 * shape (shape_times.h).
 *
 * split_best() makes the table that the times so far promise to be the fastest: it gives each range
 * of an axis the point that was the fastest for the shapes of the range. split_next() changes a
 * setting of one range of a table.
 */
#ifndef AUTHOR_PROPOSAL_SPLIT_H
#define AUTHOR_PROPOSAL_SPLIT_H

#include "author/proposal/shape_times.h"

/* A move must fit into its field with the label, so longer labels are not proposed. */
#define SPLIT_MAX_LABEL 130

/* Returns false if no untried table promises a clear gain over `base`. */
bool split_best(const struct bound_book *book, const struct shape_times *t,
                const struct pb_ranges *base, struct pb_ranges *out);
/* Like playbook_next(), but for a table: *k counts the places of all ranges together. *range is the
 * range that changes. If there is no place *k, returns false and lowers *k by the number of
 * places. */
bool split_next(const struct bound_book *book, const struct shape_times *t,
                const struct pb_ranges *base, int stage, uint32_t *k, struct pb_ranges *out,
                uint32_t *range, uint32_t *changed);

#endif
