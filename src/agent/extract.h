/*
 * extract.h - a candidate out of an author's reply, or the reason why not.
 *
 * A reply is either a whole file in one ```cuda fence, or edits of the file the author was shown:
 *
 *     <<<<<<< SEARCH
 *     lines exactly as they are
 *     =======
 *     what they become
 *     >>>>>>> REPLACE
 *
 * Edits are applied exactly or not at all: the lines must occur once. The reply's own words are in
 * `MOVE: kind: what was done` on a line of its own.
 */
#ifndef AGENT_EXTRACT_H
#define AGENT_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define EXTRACT_MAX_SOURCE (512u << 10)

struct extract {
    bool ok;
    bool edits; /* else a whole file */
    struct strbuf source;
    char move[160];   /* "16-byte loads"; "" if not said */
    char kind[24];    /* "vectorize"; "other" if not said */
    char reason[640]; /* !ok: why, in words for the author */
};

/* `parent` is the file edits apply to; NULL if there is none. */
void extract_reply(struct extract *x, const char *reply, size_t len, const char *parent);
void extract_release(struct extract *x);

/* The first "KEY: value" line of a reply, without the key; "" if there is none. */
void reply_field(const char *reply, const char *key, char *out, size_t n);

#endif
