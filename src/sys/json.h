/*
 * json.h - reads JSON from outside with jansson: capped, strict, with line and column in errors.
 *
 *     json_t *root = json_read_file("tasks/softmax/task.json", NULL, err);
 *     if (!root) return -1;                     "tasks/softmax/task.json:12:7: ..."
 *     ...
 *     json_decref(root);
 *
 * Strict: UTF-8 only, no duplicate keys, nothing after the value. NaN and infinities are the
 * strings "nan", "inf" and "-inf", because JSON has no numbers for them.
 */
#ifndef SYS_JSON_H
#define SYS_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/strbuf.h"

#define JSON_READ_MAX_BYTES (16u << 20)
#define JSON_READ_MAX_DEPTH 64u

struct json_caps {
    size_t max_bytes;   /* 0 = JSON_READ_MAX_BYTES */
    unsigned max_depth; /* 0 = JSON_READ_MAX_DEPTH */
};

/* Returns a new reference, or NULL on an error. `caps` may be NULL. Messages of errors begin with
 * `name`, or with the path. */
json_t *json_read_text(const char *text, size_t len, const char *name, const struct json_caps *caps,
                       struct err *err);
json_t *json_read_file(const char *path, const struct json_caps *caps, struct err *err);

/* The place of a value in its text, counted from 1. jansson does not keep it. */
struct json_place {
    unsigned line, column;
};
/* `pointer` is a JSON pointer such as "/inputs/x/shape/0"; "~1" in it stands for '/', "~0" for '~'.
 * With `at_key`, finds the value's key. The text must be valid JSON. Returns false if there is no
 * such value. */
bool json_find_place(const char *text, size_t len, const char *pointer, bool at_key,
                     struct json_place *out);

/* json_from_double() makes NaN and infinities strings, and json_get_double() reads these strings.
 * It also takes integers. It returns 0, or -1 if the value is neither a number nor such a
 * string. */
json_t *json_from_double(double v);
int json_get_double(const json_t *j, double *out);

/* Returns `s` as a JSON string. Bytes that are not UTF-8 become U+FFFD, because jansson would
 * refuse them. NULL counts as "". */
json_t *json_text(const char *s);

/* Appends the value as text. With `pretty`, the text is indented and ends with a newline. Otherwise
 * it is one line without a newline. */
void json_add_text(struct strbuf *sb, const json_t *j, bool pretty);
/* Prints the value, indented, with a newline at the end. */
void json_print(FILE *f, const json_t *j);

#endif
