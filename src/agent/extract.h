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
 * If one edit does not fit, none is applied. The author names its move on a line of its own: `MOVE:
 * kind: what was done`.
 */
#ifndef AGENT_EXTRACT_H
#define AGENT_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/anchors.h"
#include "base/strbuf.h"

#define EXTRACT_MAX_SOURCE (4u << 20)

/* A part of a text: the bytes from `from` to before `to`. */
struct byte_range {
    size_t from, to;
};
VEC_DECL(byte_range_vec, struct byte_range);

struct extract {
    bool ok;
    bool edits; /* the reply has edits, not a whole file */
    struct strbuf source;
    char move[160];   /* such as "16-byte loads"; "" if not named */
    char kind[24];    /* such as "vectorize"; "other" if not named */
    char reason[640]; /* for the author, if `ok` is false */
    /* The parts of `source` that the author was not shown, in order. An edit that changes such a
     * part makes it empty. */
    struct byte_range_vec unseen;
};

/* `parent` is the file that edits apply to, or NULL. */
void extract_reply(struct extract *x, const char *reply, size_t len, const char *parent);
/* For an author who was not shown the lines `hidden` of `parent`, which are in order. */
void extract_partial(struct extract *x, const char *reply, size_t len, const char *parent,
                     const struct line_range_vec *hidden);
void extract_release(struct extract *x);

/* Appends the kinds of moves that authors may name: "tiling, layout, ...". The flags say whether
 * moves with tensor cores and TMA are among them. */
void reply_kinds(bool tensor_cores, bool tma, struct strbuf *out);

/* Copies the value of the first line "KEY: value" or "KEY 2: value" to `out`, of n bytes; "" if
 * there is none. */
void reply_field(const char *reply, const char *key, char *out, size_t n);

/* Divides a reply that may have several moves. A move begins with a line "MOVE: ..." or "MOVE 2:
 * ...", outside of edits. In a fence such a line counts only if it is the first of the reply, or if
 * an edit of the same move precedes it: authors forget to close fences. Text before the first such
 * line belongs to the first move. Sets from[i] to the beginning of move i, for at most `max` moves;
 * the last of them has the rest of the reply. Returns their number, which is at least 1. */
size_t reply_moves(const char *reply, const char **from, size_t max);
/* Returns a copy of move i, which the caller frees; NULL if the reply has no such move. */
char *reply_move(const char *reply, size_t i);

#endif
