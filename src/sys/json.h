/*
 * json.h - reads JSON from outside with jansson: capped, strict, with line and column in errors.
 *
 *     json_t *root = json_read_file("tasks/softmax/task.json", NULL, err);
 *     if (!root) return -1;                     "tasks/softmax/task.json:12:7: ..."
 *     ...
 *     json_decref(root);
 *
 * Strict means: UTF-8 only, no duplicate keys, nothing after the value, nesting and size under a
 * cap. JSON has no NaN and no infinities: they are written as the strings "nan", "inf" and "-inf".
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

/* Returns a new reference, or NULL. caps may be NULL. Errors begin with `name`, then
 * line:column. */
json_t *json_read_text(const char *text, size_t len, const char *name, const struct json_caps *caps,
                       struct err *err);
json_t *json_read_file(const char *path, const struct json_caps *caps, struct err *err);

/* The place of a value in its text, for errors about what the value means. jansson does not keep
 * places. Lines and columns count from 1. */
struct json_place {
    unsigned line, column;
};
/* Finds the value that a JSON pointer names, or, with at_key, the key in front of the value. A
 * pointer is a text such as "/inputs/x/shape/0". In a key of the pointer, "~1" stands for '/' and
 * "~0" for '~'. The text must be valid JSON. Returns false if there is no such value. */
bool json_find_place(const char *text, size_t len, const char *pointer, bool at_key,
                     struct json_place *out);

/* Convert between doubles and JSON, with NaN and infinities as strings. json_get_double also takes
 * integers. It returns 0 or -1. */
json_t *json_from_double(double v);
int json_get_double(const json_t *j, double *out);

/* Makes a string from any text (a path, a compiler's message). Each byte that is not UTF-8 becomes
 * U+FFFD; jansson would refuse the whole text. NULL counts as "". */
json_t *json_text(const char *s);

/* Appends j. If `pretty`, indents it by two columns and adds a newline; else writes it in one line,
 * without a newline at the end. */
void json_add_text(struct strbuf *sb, const json_t *j, bool pretty);
/* Prints j indented, with a newline at the end. */
void json_print(FILE *f, const json_t *j);

#endif
