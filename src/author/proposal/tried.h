/*
 * tried.h - reads from the facts of a request which candidates were tried, for the built-in author.
 * A candidate's move ends with the label of its settings (playbook/book/ranges.h).
 */
#ifndef AUTHOR_PROPOSAL_TRIED_H
#define AUTHOR_PROPOSAL_TRIED_H

#include "playbook/playbook.h"

/* Returns whether a candidate in the facts passes. `node` may be NULL. */
bool node_passes_facts(const json_t *node);
/* Appends the tried candidates of this playbook that have one point for all shapes. */
void tried_points(const struct playbook *pb, const json_t *facts, struct pb_trial_vec *out);
/* Sets *out to the settings of a candidate: those of its label, or of the table in its file.
 * Returns false if the candidate has neither, or if the settings do not suit the task. */
bool node_ranges(const struct bound_book *book, const json_t *node, struct pb_ranges *out);
/* The same for the candidate to improve if that passes, else for the best kernel. */
bool base_ranges(const struct bound_book *book, const json_t *facts, struct pb_ranges *out);

#endif
