/*
 * anchors.h - anchors: the lines of a file that a planner says to change. Hone checks that the
 * coder changed those lines and no others.
 *
 * A planner sees numbered lines. It answers with lines `ANCHOR first-last: what to do`, or with the
 * whole file, in which <<<IMPROVE BEGINS>>> and <<<IMPROVE ENDS>>> mark the spans to change. The
 * coder may always change the launch plan at the top of the file too.
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

/* Reads the anchors of a planner's reply; returns false with a reason if they do not fit. */
bool anchors_parse(const char *reply, const char *source, struct anchor_vec *out,
                   struct strbuf *reason);
/* True if every change from `before` to `after` is inside an anchor, and every anchor contains a
 * change. */
bool anchors_check(const char *before, const char *after, const struct anchor_vec *anchors,
                   struct strbuf *reason);
/* Appends the source with the anchors marked, for the coder. */
void anchors_mark(const char *source, const struct anchor_vec *anchors, struct strbuf *out);

#endif
