/*
 * anchors.h - reads and checks anchors: the lines of a file that a planner tells the coder to
 * change. Hone checks that the coder changed those lines and no others.
 *
 * A planner names each place by its first and last line, in one of three forms:
 *   - it quotes the lines: "ANCHOR `first` to `last`: what to do", or "ANCHOR `line`: what to do";
 *   - it numbers them: "ANCHOR 12-15: what to do";
 *   - it answers with the whole file, in which <<<IMPROVE BEGINS>>> and <<<IMPROVE ENDS>>> mark the
 *     places.
 * The coder may always change the launch plan at the top of the file too.
 */
#ifndef AGENT_ANCHORS_H
#define AGENT_ANCHORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "base/vec.h"

struct anchor {
    /* Lines of the parent, from 1; first == last + 1 stands for the place between two lines. */
    size_t first, last;
    char what[400];
};
VEC_DECL(anchor_vec, struct anchor);

/* Lines of a file, from 1. */
struct line_range {
    size_t first, last;
};
VEC_DECL(line_range_vec, struct line_range);

/* Reads the anchors of a planner's reply, in the order of their lines. Returns false with a reason
 * if there is none, or if one does not fit the source. */
bool anchors_parse(const char *reply, const char *source, struct anchor_vec *out,
                   struct strbuf *reason);
/* True if every change from `before` to `after` is inside an anchor, and every anchor contains a
 * change. */
bool anchors_check(const char *before, const char *after, const struct anchor_vec *anchors,
                   struct strbuf *reason);
/* Appends a planner's reply without the lines that name places. */
void anchors_strip(const char *reply, struct strbuf *out);
/* Appends the source with the anchors marked, for the coder. A note of how many lines are missing
 * replaces each range of `hidden`. */
void anchors_mark(const char *source, const struct anchor_vec *anchors,
                  const struct line_range_vec *hidden, struct strbuf *out);

#endif
