/*
 * items.h - the declarations and directives at the top level of a kernel file, and which of them
 * several versions of the file can share.
 *
 *     struct item_vec items = VEC_INIT;
 *     if (items_split(code, &items))
 *         ...
 *     items_release(&items);
 */
#ifndef PLAYBOOK_ITEMS_H
#define PLAYBOOK_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

enum item_kind {
    ITEM_CODE,
    ITEM_INCLUDE,
    ITEM_MACRO,     /* declares macros */
    ITEM_NAMESPACE, /* it must stay at the top level */
};

struct item_name {
    const char *text; /* part of the code */
    size_t len;
};
VEC_DECL(item_name_vec, struct item_name);

struct item {
    enum item_kind kind;
    const char *text; /* part of the code, with the comments before the item */
    size_t len;
    size_t lead; /* bytes of comments and blanks before the item itself */
    /* The names that the item declares at the top level. The list may have other names too. */
    struct item_name_vec declares;
    struct item_name_vec words; /* all words of the item */
    bool own;                   /* see items_compare() */
};
VEC_DECL(item_vec, struct item);

/* The items are parts of `code`. Returns false if the code cannot be split, for example because its
 * braces do not match. */
bool items_split(const char *code, struct item_vec *out);
void items_release(struct item_vec *v);
/* Marks each item of `a` that differs between the versions `a` and `b`. Call it for each further
 * version `b`, and then items_spread(). Versions can share the items without a mark. Returns false
 * if the versions do not have the same number of items. */
bool items_compare(struct item_vec *a, const struct item_vec *b);
/* Completes the marks: an item that needs a marked one is marked too. */
void items_spread(struct item_vec *a);
/* Does an item declare `name`? Looks only at items whose mark is equal to `own`. */
bool items_declare(const struct item_vec *v, const char *name, size_t len, bool own);

#endif
