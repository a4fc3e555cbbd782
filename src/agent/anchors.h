/*
 * anchors.h - reads and checks anchors: the lines of a file that a planner tells the coder to
 * change. Hone checks that the coder changed those lines and no others.
 *
 * A planner names each place by its first and last line, in one of three forms:
 *   - it quotes the lines: "ANCHOR `first` to `last`: what to do", or "ANCHOR `line`: what to do";
 *   - it numbers them: "ANCHOR 12-15: what to do";
 *   - it answers with the whole file, in which <<<IMPROVE BEGINS>>> and <<<IMPROVE ENDS>>> mark the
 *     places.
 * The coder may always change the launch plan too. That is the comment at the top of the file that
 * says how to launch its kernels.
 */
#ifndef AGENT_ANCHORS_H
#define AGENT_ANCHORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "base/vec.h"

struct anchor {
    /* The first and last line of the place, counted from 1, in the file before the change. If first
     * is last + 1, the place is empty: it lies between the lines `last` and `first`. */
    size_t first, last;
    char what[400]; /* what the coder should do there */
};
VEC_DECL(anchor_vec, struct anchor);

/* Lines `first` to `last` of a file, counted from 1. */
struct line_range {
    size_t first, last;
};
VEC_DECL(line_range_vec, struct line_range);

/* Reads the anchors of a planner's reply, and sorts them by their lines. Returns false and appends
 * the reason to `reason` if there is no anchor, or if an anchor does not fit the source. */
bool anchors_parse(const char *reply, const char *source, struct anchor_vec *out,
                   struct strbuf *reason);
/* Returns true if every change from `before` to `after` is inside an anchor, and every anchor
 * contains a change. Otherwise appends the reason to `reason`. */
bool anchors_check(const char *before, const char *after, const struct anchor_vec *anchors,
                   struct strbuf *reason);
/* Appends a planner's reply without the lines that name places. */
void anchors_strip(const char *reply, struct strbuf *out);
/* Appends the source, with marks around the anchors, for the coder. Leaves out the lines in
 * `hidden`; a note in their place says how many lines are missing. */
void anchors_mark(const char *source, const struct anchor_vec *anchors,
                  const struct line_range_vec *hidden, struct strbuf *out);

#endif
