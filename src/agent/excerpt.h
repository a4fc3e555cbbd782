/*
 * excerpt.h - finds the parts of a file that a coder need not see.
 *
 * A coder may be allowed to change only named places (anchors.h). Then the coder needs the
 * functions around these places, the functions that those use, and all code outside functions. The
 * prompt can leave out the bodies of the other functions.
 *
 * excerpt_find() works on the text alone. If the braces do not match, it leaves out nothing.
 */
#ifndef AGENT_EXCERPT_H
#define AGENT_EXCERPT_H

#include "agent/anchors.h"

/* Finds the bodies that can be left out: ranges of lines, in order. */
void excerpt_find(const char *source, const struct anchor_vec *anchors, struct line_range_vec *out);

#endif
