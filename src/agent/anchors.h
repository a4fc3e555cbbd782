/*
 * anchors.h - grounded instructions: where a planner says to change a file, and the check that the
 * coder changed it there and nowhere else.
 *
 * A planner sees numbered lines and answers with lines `ANCHOR first-last: what to do`, or with the
 * file itself with spans marked by <<<IMPROVE BEGINS>>> ... <<<IMPROVE ENDS>>>. The launch plan at
 * the top of a file may always change with them.
 */
#ifndef AGENT_ANCHORS_H
#define AGENT_ANCHORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "base/vec.h"

struct anchor {
    size_t first, last; /* lines of the parent, from 1; first == last + 1 is between lines */
    char what[400];
};
VEC_DECL(anchor_vec, struct anchor);

/* From a planner's reply; returns false with a reason if they do not fit the source. */
bool anchors_parse(const char *reply, const char *source, struct anchor_vec *out,
                   struct strbuf *reason);
/* True if `after` differs from `before` only inside anchors, and inside each of them. */
bool anchors_check(const char *before, const char *after, const struct anchor_vec *anchors,
                   struct strbuf *reason);
/* The source with the anchors marked, for the coder. */
void anchors_mark(const char *source, const struct anchor_vec *anchors, struct strbuf *out);

#endif
