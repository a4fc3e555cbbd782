/*
 * texts.h - binds texts to the placeholders of a template, and multiplies sizes that are texts.
 *
 * Author facts and launch plans give sizes as texts, such as "2*D". Two sizes count as equal if
 * their texts are equal without blanks.
 */
#ifndef PLAYBOOK_BOOK_TEXTS_H
#define PLAYBOOK_BOOK_TEXTS_H

#include "base/dtype.h"
#include "playbook/book/book.h"

/* Binds a text to the key. If the key is bound already, the earlier text stays. */
void bind_text(struct pb_binding *b, const char *key, const char *value);
void bind_number(struct pb_binding *b, const char *key, int64_t v);
/* Returns the text that is bound to the key, or NULL if there is none. */
const char *bound_text(const struct pb_binding *b, const char *key, size_t len);
/* Returns "__restrict__ ", or "" if the output is one of the inputs. */
const char *restricted(const struct pb_binding *b);

/* Are the texts equal without blanks? */
bool same_text(const char *a, const char *b);
/* Compares two JSON lists of sizes. */
bool same_shape(const json_t *a, const json_t *b);

/* Puts the size in parentheses unless it is "1". */
const char *dim_factor(struct arena *a, const char *dim);
/* Returns the product of two sizes. Leaves out a factor that is 1. */
const char *dims_times(struct arena *a, const char *left, const char *right);
/* Returns the product of the shape's sizes [from, to), such as "(A) * (B)", without sizes that are
 * 1. */
const char *dims_product(struct arena *a, const json_t *shape, size_t from, size_t to);

/* Returns the name of the type in CUDA C++, such as "cute::half_t", or NULL if there is none. */
const char *element_type(enum dtype t);
/* Returns the type in which one value is passed: "float" for all floats, "bool", "int32_t", ... */
const char *value_type(enum dtype t);

/* Returns the playbook's op of this name, or NULL if there is none. */
const struct pb_op *op_called(const struct playbook *pb, const char *name);

#endif
