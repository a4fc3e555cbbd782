/*
 * body_text.h - reads the text of a phase's body token by token.
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
    TOKEN_REGION,  /* the name of a macro that reads or writes scratch: VAL12 */
    TOKEN_TENSOR,  /* the name of an input or output: x of IN(x, unit) */
    TOKEN_LOCAL,   /* a name that unit_text.h or sampled_body.h gave: v3, i4, s3 */
    TOKEN_INTEGER, /* a decimal number of type int or int64_t that may also be a variable */
    TOKEN_OTHER    /* another name, another number, or one character */
};

struct body_token {
    enum body_token_kind kind;
    const char *at;
    size_t len;
    uint32_t id;   /* TOKEN_REGION: of the value that lies there */
    size_t prefix; /* TOKEN_REGION: length of the letters, 3 for VAL12 and OFF0_12 */
};

/* Tells which names in a body are names of regions. */
struct body_names {
    size_t nvalues;
    const struct graph_output *const *direct; /* one per value: VAL and MAG are no regions */
};

struct body_scan {
    const struct body_names *names;
    const char *text;
    size_t at; /* the next token begins here */
};

/* Returns false at the end of the text. */
bool body_next(struct body_scan *s, struct body_token *out);

#endif
