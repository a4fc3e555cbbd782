/*
 * reader.h - reads JSON and validates all of it: finds every problem and its place.
 *
 *     struct report r = {.file = path, .text = sb.buf, .len = sb.len, .out = &problems};
 *     struct node root, n;
 *     if (!node_root(&root, &r, &arena)) return NULL;        not JSON: reports one problem
 *     node_only(&root, keys, ARRAY_LEN(keys));               reports unknown keys
 *     if (node_need(&root, "name", &n)) node_str(&n, 100, &name);
 *
 * Functions report a problem and return false. So the caller goes on with the next value, and the
 * user sees all problems of a file at once. Tasks and plans both use this.
 */
#ifndef TASK_READER_H
#define TASK_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/expr.h"
#include "task/task.h"

#define REPORT_MAX 100 /* problems of one file; after that one line says that there are more */

struct report {
    const char *file; /* printed before line:column */
    const char *text; /* the text in which places are looked up */
    size_t len;
    struct problem_vec *out;
    size_t n; /* reported so far */
};

/* Reports a problem with the value (or, with at_key, the key) that a JSON pointer names. The place
 * is `within` columns after its beginning. */
void report_at(struct report *r, const char *pointer, bool at_key, size_t within, const char *fmt,
               ...) __attribute__((format(printf, 5, 6)));

struct node {
    struct report *r;
    struct arena *arena;
    const json_t *j;
    const char *path; /* JSON pointer */
};

/* Parses the report's text. The JSON lives until node_root_release. */
bool node_root(struct node *out, struct report *r, struct arena *a);
void node_root_release(struct node *root);

/* Report what is wrong with this value, or with its key. */
void node_bad(const struct node *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void node_bad_key(const struct node *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns the place of the value; zeros if it cannot be found. */
struct task_place node_place(const struct node *n);

/* Return a child. node_need reports a missing member, node_get does not. null is a value. */
bool node_get(const struct node *obj, const char *key, struct node *out);
bool node_need(const struct node *obj, const char *key, struct node *out);
struct node node_member(const struct node *obj, const char *key, const json_t *value);
struct node node_item(const struct node *arr, size_t i);
/* Reports every key that is not in the list, and suggests the nearest one that is. */
bool node_only(const struct node *obj, const char *const *known, size_t n);

/* Read values of a type. */
bool node_object(const struct node *n, size_t max_members);
bool node_array(const struct node *n, size_t max_items);
bool node_str(const struct node *n, size_t max, const char **out);
bool node_int(const struct node *n, int64_t lo, int64_t hi, int64_t *out);
bool node_real(const struct node *n, double lo, double hi, double *out); /* finite */
bool node_flag(const struct node *n, bool *out);
/* Reads one of a list of words; *out is its index. */
bool node_word(const struct node *n, const char *const *words, size_t nwords, size_t *out);
/* Reads a string or an integer as an expression over names. */
bool node_expr(const struct node *n, const char *const *names, size_t nnames, struct expr **out);
/* Whether `name` is a C identifier of at most 64 characters; keys that name things must be. */
bool node_name_ok(const struct node *n, const char *name);

#endif
