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
    bool edits; /* the reply has edits, not a whole file */
    struct strbuf source;
    char move[160];   /* such as "16-byte loads", or "" */
    char kind[24];    /* such as "vectorize", or "other" */
    char reason[640]; /* if `ok` is false: what is wrong with the reply, in words for the author */
    /* The parts of `source` that the author was not shown, in order. If an edit changed a part, its
     * range is empty. */
    struct byte_range_vec unseen;
};

/* Fills *x from the reply. `parent` is the file that edits apply to, or NULL. */
void extract_reply(struct extract *x, const char *reply, size_t len, const char *parent);
/* The same, if the author was not shown all of `parent`. `hidden` has the lines that were left out,
 * in order. */
void extract_partial(struct extract *x, const char *reply, size_t len, const char *parent,
                     const struct line_range_vec *hidden);
void extract_release(struct extract *x);

/* Appends the kinds of moves that an author may name: "tiling, layout, ...". */
void reply_kinds(bool tensor_cores, bool tma, struct strbuf *out);

/* Finds the first line "KEY: value" or "KEY 2: value", and copies the value to `out`, which has
 * room for n bytes. Without such a line, `out` becomes "". */
void reply_field(const char *reply, const char *key, char *out, size_t n);

/* Divides a reply into moves, and sets from[i] to the beginning of move i. Returns the number of
 * moves, from 1 to `max`. A move begins with a line "MOVE: ..." or "MOVE 2: ...". Such a line does
 * not count inside an edit. It counts in a code fence only if it is the reply's first such line, or
 * if the move before it has an edit: then the author probably forgot to close the fence. Move 0
 * also has the text before its line, and the last move has all the rest. */
size_t reply_moves(const char *reply, const char **from, size_t max);
/* Returns a copy of the text of move i, which the caller frees. Returns NULL if the reply has fewer
 * moves. */
char *reply_move(const char *reply, size_t i);

#endif
