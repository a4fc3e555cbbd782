/*
 * playbook_tree.h - a PyTorch expression as a tree: what the text says, whatever way it is written.
 *
 *     struct tree *t = tree_parse(&arena, "F.softmax(input=x, dim=-1)");   a call of "softmax"
 *     tree_print(t, &sb);                                            "torch.softmax(x, -1)"
 *
 * Calls of functions and of methods are the same kind of node, `:=` gives a name to a tree that
 * stands wherever the name does later on (so a tree may have a node in several places), a list is a
 * tuple. What is no plain expression (a lambda, a comprehension, `if`) has no tree.
 *
 * A call whose signature is known (playbook_calls.c) has all its arguments, at their places, after
 * tree_normal(): keywords, defaults and methods make no difference any more.
 */
#ifndef AUTHOR_PLAYBOOK_TREE_H
#define AUTHOR_PLAYBOOK_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/strbuf.h"

enum tree_kind {
    TREE_NAME,   /* x, None, ... */
    TREE_NUMBER, /* as it is written */
    TREE_STRING, /* without its quotes */
    TREE_TUPLE,
    TREE_UNARY,  /* text: the operator */
    TREE_BINARY, /* likewise */
    TREE_FIELD,  /* at[0].text */
    TREE_CALL,   /* text: the function; a method's object is at[0] */
    TREE_KEY,    /* text=at[0], an argument */
    TREE_INDEX,  /* at[0][at[1]] */
    TREE_SLICE,  /* at[0]:at[1]:at[2], each may be NULL */
};

/* Where a called function comes from; METHOD: at[0].text(...). ODD: of PyTorch, with arguments that
 * it has not. */
enum tree_module { TREE_TORCH, TREE_LINALG, TREE_PYTHON, TREE_METHOD, TREE_ODD };

struct tree {
    enum tree_kind kind;
    enum tree_module module;
    const char *text;
    size_t n;
    struct tree **at;
    struct tree *normal; /* what tree_normal() made of it, once it has */
};

/* NULL if the text is no expression it knows, or too large. */
struct tree *tree_parse(struct arena *a, const char *text);
/* False if it is longer than the buffer's cap. */
bool tree_print(const struct tree *t, struct strbuf *out);

struct tree *tree_name(struct arena *a, enum tree_kind kind, const char *text);
struct tree *tree_node(struct arena *a, enum tree_kind kind, const char *text, size_t n);
struct tree *tree_binary(struct arena *a, const char *op, struct tree *l, struct tree *r);
struct tree *tree_call(struct arena *a, const char *name, size_t n);
/* The node again, with what `part` makes of each of its parts; NULL if that is NULL of one. */
struct tree *tree_rebuilt(struct arena *a, const struct tree *t,
                          struct tree *(*part)(void *ctx, const struct tree *t), void *ctx);
/* The name wished for, or one like it that the text has not. */
const char *tree_free_name(struct arena *a, const char *text, const char *wish);

bool tree_is(const struct tree *t, enum tree_kind kind, const char *text);
bool tree_calls(const struct tree *t, const char *name); /* of PyTorch */
/* A whole number, with its sign? */
bool tree_whole(const struct tree *t, long *out);
/* The same expression? Numbers are by their value; sums and products in whatever order. */
bool tree_same(const struct tree *a, const struct tree *b);

/* What is known of the names in a text. */
struct tree_facts {
    const json_t *tensors; /* of a task; NULL: of none */
};
/*
 * The tree in its normal form: keywords at their places, methods as functions, shapes as what they
 * are, equivalent spellings as one (playbook_rules.c). Its printed text is what the readers read.
 */
struct tree *tree_normal(struct arena *a, struct tree *t, const struct tree_facts *facts);
/* What works along an axis, as sums and extremes: mean(x, -1) is sum(x, -1) / $n. Of a normal form.
 */
struct tree *tree_unfolded(struct arena *a, struct tree *t);
/* Also what a reader must not do but a comparison may: quotients as products, and so on. */
struct tree *tree_reduced(struct arena *a, struct tree *t);

/*
 * Does the pattern, a tree with variables, say what t says? `bind` is asked about every name of the
 * pattern, and says -1: it is no variable; 0: it does not stand for that; 1: it does. `undo` takes
 * back what was bound since `mark`: sums and products are tried in several orders.
 */
struct tree_match {
    int (*bind)(void *ctx, const struct tree *pattern, const struct tree *t);
    size_t (*mark)(void *ctx);
    void (*undo)(void *ctx, size_t mark);
    void *ctx;
    unsigned steps; /* so many are left */
};
bool tree_matches(struct tree_match *m, const struct tree *pattern, const struct tree *t);
/* The factors of a product, or the terms of a sum, `op`; how many, at most `max`. */
size_t tree_operands(const struct tree *t, const char *op, const struct tree **out, size_t max);

/* ---- playbook_calls.c: what functions take ----------------------------------------------------
 */

/* The call with every argument at its place; the call itself if its signature is not known; NULL if
 * it has an argument that the signature has not. */
struct tree *call_filled(struct arena *a, struct tree *call);
/* How the arguments of a filled call are printed; false if its signature is not known. */
struct call_print {
    char key[40]; /* "": by place */
    bool left_out;
};
bool call_printed(const struct tree *call, struct call_print *out, size_t n);
bool call_known(const char *name);

#endif
