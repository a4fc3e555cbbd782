/*
 * anchors.h - anchors are the lines of a file that a planner tells the coder to change. Hone checks
 * that the coder changed only those lines.
 *
 * A planner names each place in one of three forms:
 *   - "ANCHOR `first line` to `last line`: what to do", or "ANCHOR `line`: what to do";
 *   - "ANCHOR 12-15: what to do", with line numbers;
 *   - the whole file, with <<<IMPROVE BEGINS>>> and <<<IMPROVE ENDS>>> around each place.
 *
 * The coder may always change the launch plan, the comment at the top of the file.
 */
#ifndef AGENT_ANCHORS_H
#define AGENT_ANCHORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "base/vec.h"

struct anchor {
    /* Lines of the file as it was before the change, counted from 1. If last is first - 1, the
     * place is empty and lies before line `first`. */
    size_t first, last;
    char what[400];
};
VEC_DECL(anchor_vec, struct anchor);

/* The lines from `first` to `last`, both included. Lines count from 1. */
struct line_range {
    size_t first, last;
};
VEC_DECL(line_range_vec, struct line_range);

/* Reads the anchors in a planner's reply, and sorts them by line. Returns false with a reason if
 * the reply has no anchor, or if an anchor does not fit the source. */
bool anchors_parse(const char *reply, const char *source, struct anchor_vec *out,
                   struct strbuf *reason);
/* Returns true if every change is inside an anchor or the launch plan, and every anchor contains a
 * change. Otherwise returns false and appends the reason. */
bool anchors_check(const char *before, const char *after, const struct anchor_vec *anchors,
                   struct strbuf *reason);
/* Appends the reply without the lines that are anchors. */
void anchors_strip(const char *reply, struct strbuf *out);
/* Appends the source with marks around the anchors. Replaces each range of `hidden`, which is
 * sorted, by "[12 lines not shown]". */
void anchors_mark(const char *source, const struct anchor_vec *anchors,
                  const struct line_range_vec *hidden, struct strbuf *out);

#endif
