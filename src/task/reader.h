/*
 * reader.h - reads JSON and reports every problem with its place.
 *
 *     if (!json_node_root(&root, &r, &arena)) return NULL;
 *     json_node_only(&root, keys, ARRAY_LEN(keys));
 *     if (json_node_need(&root, "name", &n)) json_node_str(&n, 100, &name);
 *
 * If a value is wrong, a function reports a problem and returns false. The caller goes on with the
 * next value, so that the user sees all problems of a file at once.
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

#define PROBLEMS_MAX \
    100 /* problems shown for one file; one further line then says that there are more */

struct problem_log {
    const char *file;
    const char *text;
    size_t len;
    struct problem_vec *out;
    size_t n; /* problems so far */
};

/* Adds a problem. Its place is `within` columns after the start of the value that the JSON pointer
 * names. With `at_key`, the place is counted from the start of the value's key. */
void problem_at(struct problem_log *r, const char *pointer, bool at_key, size_t within,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));

struct json_node {
    struct problem_log *r;
    struct arena *arena;
    const json_t *j;
    const char *path; /* JSON pointer */
};

/* r->text must be a JSON object. The JSON lives until json_node_root_release(). Strings and
 * expressions that are read from it live in the arena. */
bool json_node_root(struct json_node *out, struct problem_log *r, struct arena *a);
void json_node_root_release(struct json_node *root);

void json_node_bad(const struct json_node *n, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void json_node_bad_key(const struct json_node *n, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the place of the value in the file, or zeros if the value cannot be found. */
struct task_place json_node_place(const struct json_node *n);

/* Both set *out to the member `key` of an object, and return false if there is none. Only
 * json_node_need() reports that as a problem. A member with the value null is not missing. */
bool json_node_get(const struct json_node *obj, const char *key, struct json_node *out);
bool json_node_need(const struct json_node *obj, const char *key, struct json_node *out);
struct json_node json_node_member(const struct json_node *obj, const char *key,
                                  const json_t *value);
struct json_node json_node_item(const struct json_node *arr, size_t i);
/* Reports keys that are not in `known`. */
bool json_node_only(const struct json_node *obj, const char *const *known, size_t n);

/* These report a wrong type, more than `max` members, items or bytes, or a number not in [lo,
 * hi]. */
bool json_node_object(const struct json_node *n, size_t max_members);
bool json_node_array(const struct json_node *n, size_t max_items);
bool json_node_str(const struct json_node *n, size_t max, const char **out);
bool json_node_int(const struct json_node *n, int64_t lo, int64_t hi, int64_t *out);
bool json_node_real(const struct json_node *n, double lo, double hi, double *out);
bool json_node_flag(const struct json_node *n, bool *out);
/* The value must be one of `words`. *out becomes its index there. */
bool json_node_word(const struct json_node *n, const char *const *words, size_t nwords,
                    size_t *out);
/* Reads an expression over `names`: a string, or a non-negative integer. */
bool json_node_expr(const struct json_node *n, const char *const *names, size_t nnames,
                    struct expr **out);
/* Returns whether `name` is a C identifier of at most 64 characters. If not, reports a problem. */
bool json_node_name_ok(const struct json_node *n, const char *name);

#endif
