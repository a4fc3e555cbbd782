/*
 * extract.h - takes a candidate out of an author's reply, or says why there is none.
 *
 * A reply is either a whole file in one ```cuda fence, or edits of the file that the author was
 * shown:
 *
 *     <<<<<<< SEARCH
 *     lines exactly as they are
 *     =======
 *     the lines that replace them
 *     >>>>>>> REPLACE
 *
 * The SEARCH lines must occur exactly once in the file. If they occur more often and the author saw
 * only a part of the file, they must occur exactly once in that part. If one edit does not fit,
 * none is applied. The author names its move on a line of its own: `MOVE: kind: what was done`.
 */
#ifndef AGENT_EXTRACT_H
#define AGENT_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/anchors.h"
#include "base/strbuf.h"

#define EXTRACT_MAX_SOURCE (512u << 10)

struct extract {
    bool ok;
    bool edits; /* true if the reply has edits, false if it has a whole file */
    struct strbuf source;
    char move[160];   /* such as "16-byte loads"; "" if the reply names no move */
    char kind[24];    /* such as "vectorize"; "other" if the reply names no kind of move */
    char reason[640]; /* if `ok` is false, a text for the author that says why */
    /* The author may have seen only a part of the file that the edits apply to. These are the lines
     * that it was not shown, one text for each range of lines. */
    VEC(char *) unseen;
};

/* Fills *x from the reply. `parent` is the file that edits apply to; NULL if there is none. */
void extract_reply(struct extract *x, const char *reply, size_t len, const char *parent);
/* Does the same for an author who was not shown the lines `hidden` of `parent`. */
void extract_partial(struct extract *x, const char *reply, size_t len, const char *parent,
                     const struct line_range_vec *hidden);
void extract_release(struct extract *x);

/* Appends the list of the kinds of moves that a planner or coder may name: "tiling, layout, ...".
 * `tensor_cores` and `tma` say whether the list includes the moves that need them. */
void reply_kinds(bool tensor_cores, bool tma, struct strbuf *out);

/* Finds the first line "KEY: value" of a reply and copies the value to `out`, which has `n` bytes.
 * Copies "" if there is no such line. */
void reply_field(const char *reply, const char *key, char *out, size_t n);

/* Divides a reply that may have several moves. A move begins with a line "MOVE: ..." outside of
 * fences and edits; text before the first such line belongs to the first move. Sets from[i] to the
 * beginning of move i, for at most `max` moves; the last of them has the rest of the reply. Returns
 * their number, which is at least 1. */
size_t reply_moves(const char *reply, const char **from, size_t max);

#endif
