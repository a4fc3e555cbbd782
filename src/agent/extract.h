/*
 * extract.h - takes a candidate out of an author's reply, or says why there is none.
 *
 * A reply is a whole file in one ```cuda fence, or edits of the file that the author was shown:
 *
 *     <<<<<<< SEARCH
 *     lines exactly as they are
 *     =======
 *     the lines that replace them
 *     >>>>>>> REPLACE
 *
 * The SEARCH lines must occur exactly once in the file, or in the part that the author was shown.
 * If one edit does not fit, none is applied. A line such as "MOVE: tiling: 128x64 tiles" names the
 * move.
 */
#ifndef AGENT_EXTRACT_H
#define AGENT_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/anchors.h"
#include "base/strbuf.h"

#define EXTRACT_MAX_SOURCE (4u << 20)

struct byte_range {
    size_t from, to;
};
VEC_DECL(byte_range_vec, struct byte_range);

struct extract {
    bool ok;
    bool edits; /* not a whole file */
    struct strbuf source;
    char move[160];   /* such as "16-byte loads", or "" */
    char kind[24];    /* such as "vectorize", or "other" */
    char reason[640]; /* for the author, if `ok` is false */
    /* The parts of `source` that the author was not shown, in order; empty where edits changed
     * them. */
    struct byte_range_vec unseen;
};

/* `parent` is the file that edits apply to, or NULL. */
void extract_reply(struct extract *x, const char *reply, size_t len, const char *parent);
/* The author was not shown the lines `hidden` of `parent`, which are in order. */
void extract_partial(struct extract *x, const char *reply, size_t len, const char *parent,
                     const struct line_range_vec *hidden);
void extract_release(struct extract *x);

/* Appends the kinds of moves that an author may name: "tiling, layout, ...". */
void reply_kinds(bool tensor_cores, bool tma, struct strbuf *out);

/* Copies the value of the first line "KEY: value" or "KEY 2: value", or "". */
void reply_field(const char *reply, const char *key, char *out, size_t n);

/* Sets from[i] to the beginning of move i: the line "MOVE: ..." or "MOVE 2: ...", outside of edits.
 * Authors forget to close fences. So such a line counts in a fence too, if it is the first of the
 * reply or follows an edit of the same move. Move 0 also has the text before its line, and the last
 * of `max` moves has all the rest. Returns the number of moves, at least 1. */
size_t reply_moves(const char *reply, const char **from, size_t max);
/* A copy of move i, which the caller frees; or NULL. */
char *reply_move(const char *reply, size_t i);

#endif
