/*
 * parse.h - a PyTorch expression as a syntax tree. evaluate.h gives the tree its meaning.
 *
 *     struct arena a = ARENA_INIT;
 *     struct tree *t = torch_parse(&a, "F.softmax(x, dim=-1)", err);
 *     t->kind == TREE_CALL, t->part[0] the callee, t->part[2]->kind == TREE_KEY
 *
 * After `NAME := expression`, each use of the name is the same node, so a node may be in several
 * places. A list is read as a tuple. Lambdas, comprehensions, `if`, `and`, `or`, `not` and chained
 * comparisons are refused. Playbooks also use names that start with "$".
 */
#ifndef TORCH_PARSE_H
#define TORCH_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/util.h"

#define TORCH_MAX_TEXT 8192  /* bytes */
#define TORCH_MAX_NESTING 64 /* a bracket counts 2; a sign, ** or := counts 1 */
#define TORCH_MAX_PARTS 32   /* parts of a tuple, an index, or a call (its callee counts) */
#define TREE_MAX_NODES 8192

enum tree_kind {
    TREE_NAME,   /* text: such as x or None */
    TREE_NUMBER, /* text: as written */
    TREE_STRING, /* text: without quotes */
    TREE_TUPLE,
    TREE_UNARY,  /* text: the operator */
    TREE_BINARY, /* text: the operator */
    TREE_FIELD,  /* PART.NAME: part[0] is PART, text is NAME */
    TREE_CALL,   /* part[0](part[1], ...) */
    TREE_KEY,    /* text=part[0], an argument */
    TREE_INDEX,  /* part[0][part[1]] */
    TREE_SLICE   /* part[0]:part[1]:part[2], each may be NULL */
};

struct tree {
    enum tree_kind kind;
    uint32_t id;     /* from 0 */
    uint32_t at;     /* byte offset in the text */
    uint32_t height; /* the longest path down to a leaf */
    const char *text;
    size_t n;
    struct tree **part;
    const void *made; /* the result, set by evaluate.c */
};

/* The tree lives in the arena. On an error returns NULL, with the column in err. */
struct tree *torch_parse(struct arena *a, const char *text, struct err *err);

static inline bool tree_is(const struct tree *t, enum tree_kind kind, const char *text)
{
    return t && t->kind == kind && str_eq(t->text, text);
}

#endif
