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

/* A move has room for 160 bytes with its label. So a table with a longer label than this is not
 * proposed. */
#define SPLIT_MAX_LABEL 130

/* Returns false if no untried table promises a clear gain over `base`. */
bool split_best(const struct bound_book *book, const struct shape_times *t,
                const struct pb_ranges *base, struct pb_ranges *out);
/* Like playbook_next(), but changes the settings of one range of a table. *range becomes this
 * range. *k is the number of the proposal, from 0 on; it counts the proposals for all ranges
 * together. If there are fewer, returns false and lowers *k by the number of proposals. */
bool split_next(const struct bound_book *book, const struct shape_times *t,
                const struct pb_ranges *base, int stage, uint32_t *k, struct pb_ranges *out,
                uint32_t *range, uint32_t *changed);

#endif
