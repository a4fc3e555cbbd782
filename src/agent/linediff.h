/*
 * linediff.h - finds the lines in which two texts differ.
 */
#ifndef AGENT_LINEDIFF_H
#define AGENT_LINEDIFF_H

#include <stddef.h>

#include "base/strbuf.h"
#include "base/vec.h"

/* Lines [first, first+removed) of the old text became lines [new_first, new_first+added) of the new
 * text. Lines count from 1. */
struct hunk {
    size_t first, removed, new_first, added;
};
VEC_DECL(hunk_vec, struct hunk);

/* Appends the hunks in order. Texts that differ in very many lines may give one large hunk. */
void line_diff(const char *before, const char *after, struct hunk_vec *out);
/* Appends a unified diff with `context` lines around each hunk. name_a and name_b are the names
 * after --- and +++. */
void line_diff_print(const char *before, const char *after, const char *name_a, const char *name_b,
                     size_t context, struct strbuf *out);

#endif
