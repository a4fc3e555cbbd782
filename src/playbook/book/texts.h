/*
 * texts.h - binds texts to the placeholders of a template, and does arithmetic on sizes that are
 * texts.
 *
 * The author facts (the JSON that describes a task) give sizes as texts ("2*D"), and launch plans
 * take sizes as texts. Two sizes of one task count as equal if their texts are equal without
 * blanks.
 */
#ifndef PLAYBOOK_BOOK_TEXTS_H
#define PLAYBOOK_BOOK_TEXTS_H

#include "base/dtype.h"
#include "playbook/book/book.h"

/* Binds a text to a key. If the key is bound already, the earlier text stays. */
void bind_text(struct pb_binding *b, const char *key, const char *value);
void bind_number(struct pb_binding *b, const char *key, int64_t v);
/* `key` has `len` bytes. Returns the text bound to it, or NULL. */
const char *bound_text(const struct pb_binding *b, const char *key, size_t len);
/* Returns "__restrict__ ", or "" if the output is one of the inputs. */
const char *restricted(const struct pb_binding *b);

/* Are the texts equal if blanks are ignored? */
bool same_text(const char *a, const char *b);
/* A shape is a list of sizes, each a text. Do both shapes have the same sizes? */
bool same_shape(const json_t *a, const json_t *b);

/* A size as a factor of a product, in parentheses unless it is "1". */
const char *dim_factor(struct arena *a, const char *dim);
/* A product of two sizes, without a factor that is 1. */
const char *dims_times(struct arena *a, const char *left, const char *right);
/* The product of sizes [from, to) of a shape: "(A) * (B)", without sizes that are 1. */
const char *dims_product(struct arena *a, const json_t *shape, size_t from, size_t to);

/* A tensor's element type in CUDA C++: "cute::half_t"; NULL if CUDA C++ has no such type. */
const char *element_type(enum dtype t);
/* The type in which one value is passed: "float" for all floats, "bool", "int32_t", ... */
const char *value_type(enum dtype t);

/* The op with that name; NULL if the playbook has none. */
const struct pb_op *op_called(const struct playbook *pb, const char *name);

#endif
