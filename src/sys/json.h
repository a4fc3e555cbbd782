/*
 * json.h - JSON from outside, over jansson: capped, strict, with places in its errors.
 *
 *     json_t *root = json_read_file("tasks/softmax/task.json", NULL, err);
 *     if (!root) return -1;                     "tasks/softmax/task.json:12:7: ..."
 *     ...
 *     json_decref(root);
 *
 * Strict: UTF-8 only, no duplicate keys, nothing after the value, nesting and size under a cap.
 * NaN and infinities, which JSON lacks, travel as the strings "nan", "inf" and "-inf".
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

/* A new reference, or NULL; caps may be NULL. `name` stands before line:column in errors. */
json_t *json_read_text(const char *text, size_t len, const char *name, const struct json_caps *caps,
                       struct err *err);
json_t *json_read_file(const char *path, const struct json_caps *caps, struct err *err);

/* Where a value is, for errors about its meaning: jansson forgets it. Lines and columns from 1. */
struct json_place {
    unsigned line, column;
};
/* Finds the value a JSON pointer names ("/inputs/x/shape/0", "~1" is '/', "~0" is '~'), or with
 * at_key the key in front of it. The text must be valid JSON. False if there is no such value. */
bool json_find_place(const char *text, size_t len, const char *pointer, bool at_key,
                     struct json_place *out);

/* Numbers, with NaN and infinities as strings. json_get_double takes integers, too; 0 or -1. */
json_t *json_from_double(double v);
int json_get_double(const json_t *j, double *out);

/* A string from anywhere (a path, a compiler's message): each byte that is no UTF-8 becomes U+FFFD,
 * where jansson would refuse the whole. NULL counts as "". */
json_t *json_text(const char *s);

/* Appends j; pretty is indented by two with a newline at the end, else it is one line. */
void json_add_text(struct strbuf *sb, const json_t *j, bool pretty);
/* Pretty, with a newline. */
void json_print(FILE *f, const json_t *j);

#endif
