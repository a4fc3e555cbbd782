/*
 * body_text.h - reads the text of a phase's body (reference.h) token by token.
 *
 *     struct body_scan s = {.names = &names, .text = body};
 *     struct body_token t;
 *     while (body_next(&s, &t))
 *         printf("%.*s", (int)t.len, t.at);
 */
#ifndef GRAPH_REFERENCE_BODY_TEXT_H
#define GRAPH_REFERENCE_BODY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"

enum body_token_kind {
    TOKEN_REGION, /* the name of a macro that reads or writes scratch memory, such as VAL12 */
    TOKEN_TENSOR, /* the name of an input or output, such as x in IN(x, unit) */
    /* a variable of the body, such as v3, i4 or s3 (unit_text.h, sampled_body.h) */
    TOKEN_LOCAL,
    /* An integer in decimal digits. With a variable in its place, the text is still valid C. */
    TOKEN_INTEGER,
    TOKEN_OTHER /* another name, another number, or one character */
};

struct body_token {
    enum body_token_kind kind;
    const char *at;
    size_t len;
    /* For TOKEN_REGION: the id of the value whose region this is, such as 12 for VAL12. */
    uint32_t id;
    /* For TOKEN_REGION: how many letters the name begins with, such as 3 for VAL12 and OFF0_12. */
    size_t prefix;
};

/* Which names in a body are names of regions, that is, of parts of the scratch memory. */
struct body_names {
    size_t nvalues;
    /* One entry per value: the output that the value is written to directly, or NULL. VAL and MAG
     * of a value with an output access that output, so they are not names of regions. */
    const struct graph_output *const *direct;
};

struct body_scan {
    const struct body_names *names;
    const char *text;
    size_t at; /* the offset of the next token in `text` */
};

/* Returns false at the end of the text. */
bool body_next(struct body_scan *s, struct body_token *out);

#endif
