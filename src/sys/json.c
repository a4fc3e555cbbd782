/* json.c - checks JSON from outside before jansson reads it, finds places in its text, and prints
 * it. */
#include "sys/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/util.h"
#include "sys/file.h"

/*
 * jansson recurses, and its own depth limit is fixed and high. So we first count how deep brackets
 * are nested. jansson reports all other errors.
 */
static int check_text(const char *text, size_t len, const char *name, unsigned max, struct err *err)
{
    unsigned depth = 0, line = 1;
    size_t line_start = 0;
    bool in_string = false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        /* jansson accepts a NUL between tokens, but JSON does not. */
        if (c == '\0')
            return err_set(err, ERR_INPUT, "%s:%u:%zu: a NUL byte: this is not text", name, line,
                           i - line_start + 1);
        if (c == '\n') {
            line++;
            line_start = i + 1;
        }
        if (in_string) {
            if (c == '\\' && i + 1 < len && text[i + 1])
                i++;
            else if (c == '"' || c == '\n')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > max)
                return err_set(err, ERR_LIMIT, "%s:%u:%zu: nested more than %u deep", name, line,
                               i - line_start + 1, max);
        } else if ((c == ']' || c == '}') && depth) {
            depth--;
        }
    }
    return 0;
}

json_t *json_read_text(const char *text, size_t len, const char *name, const struct json_caps *caps,
                       struct err *err)
{
    size_t max_bytes = caps && caps->max_bytes ? caps->max_bytes : JSON_READ_MAX_BYTES;
    unsigned max_depth = caps && caps->max_depth ? caps->max_depth : JSON_READ_MAX_DEPTH;
    if (len > max_bytes) {
        err_set(err, ERR_LIMIT, "%s: %zu bytes of JSON, more than the limit of %zu", name, len,
                max_bytes);
        return NULL;
    }
    if (check_text(text, len, name, max_depth, err) < 0)
        return NULL;
    json_error_t je;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &je);
    if (root)
        return root;
    if (len == 0)
        err_set(err, ERR_INPUT, "%s: empty, expected JSON", name);
    else if (je.line > 0)
        err_set(err, ERR_INPUT, "%s:%d:%d: %s", name, je.line, je.column > 0 ? je.column : 1,
                je.text);
    else
        err_set(err, ERR_INPUT, "%s: %s", name, je.text);
    return NULL;
}

json_t *json_read_file(const char *path, const struct json_caps *caps, struct err *err)
{
    size_t max = caps && caps->max_bytes ? caps->max_bytes : JSON_READ_MAX_BYTES;
    struct strbuf sb = STRBUF_INIT(max);
    json_t *root = NULL;
    if (file_read(path, max, &sb, err) == 0)
        root = json_read_text(sb.buf, sb.len, path, caps, err);
    strbuf_release(&sb);
    return root;
}

/* ---- places ------------------------------------------------------------------------------- */

/* A position in a text. The functions below never read past `end`, even if the text is not valid
 * JSON. */
struct scan {
    const char *p, *end;
};

static void skip_space(struct scan *s)
{
    while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p)
        s->p++;
}

static void skip_string(struct scan *s)
{
    for (s->p++; s->p < s->end && *s->p != '"'; s->p++)
        if (*s->p == '\\')
            s->p++;
    if (s->p < s->end)
        s->p++;
    s->p = MIN(s->p, s->end);
}

/* Moves s past one value. Not recursive, so that deep nesting needs no stack. */
static void skip_value(struct scan *s)
{
    size_t depth = 0;
    do {
        skip_space(s);
        if (s->p >= s->end)
            return;
        char c = *s->p;
        if (c == '"') {
            skip_string(s);
        } else if (c == '[' || c == '{') {
            depth++;
            s->p++;
        } else if (c == ']' || c == '}') {
            if (!depth)
                return;
            depth--;
            s->p++;
        } else if (c == ',' || c == ':') {
            s->p++;
        } else {
            do
                s->p++;
            while (s->p < s->end && !strchr(" \t\r\n,]}:", *s->p));
        }
        skip_space(s);
    } while (depth && s->p < s->end);
}

/* Copies the first step of a JSON pointer to `buf` and decodes its escapes. Returns the rest of the
 * pointer. */
static const char *pointer_step(const char *pointer, char *buf, size_t size)
{
    size_t n = 0;
    const char *p = pointer + 1;
    for (; *p && *p != '/'; p++) {
        char c = *p;
        if (c == '~' && (p[1] == '0' || p[1] == '1'))
            c = *++p == '0' ? '~' : '/';
        if (n + 1 < size)
            buf[n++] = c;
    }
    buf[n] = '\0';
    return p;
}

/* `at` is at the opening quote of a JSON string. Returns whether the string is `key`. If it has
 * escapes, jansson decodes them. */
static bool key_is(const struct scan *at, const char *key)
{
    struct scan s = *at;
    skip_string(&s);
    size_t n = (size_t)(s.p - at->p);
    if (n >= 2 && !memchr(at->p, '\\', n))
        return n - 2 == strlen(key) && memcmp(at->p + 1, key, n - 2) == 0;
    json_t *j = json_loadb(at->p, n, JSON_DECODE_ANY, NULL);
    bool same = j && json_is_string(j) && str_eq(json_string_value(j), key);
    json_decref(j);
    return same;
}

/* Moves s from an object or array to the member or element that `step` names. Returns false if
 * there is none. *key becomes the place of the member's key, or of the element. */
static bool descend(struct scan *s, const char *step, const char **key)
{
    skip_space(s);
    if (s->p >= s->end || (*s->p != '{' && *s->p != '['))
        return false;
    bool object = *s->p++ == '{';
    unsigned long want = strtoul(step, NULL, 10);
    for (unsigned long i = 0;; i++) {
        skip_space(s);
        if (s->p >= s->end || *s->p == '}' || *s->p == ']')
            return false;
        bool found = object ? key_is(s, step) : i == want;
        *key = s->p;
        if (object) {
            skip_string(s);
            skip_space(s);
            s->p += s->p < s->end; /* the colon */
            skip_space(s);
        }
        if (found)
            return true;
        skip_value(s);
        if (s->p < s->end && *s->p == ',')
            s->p++;
    }
}

bool json_find_place(const char *text, size_t len, const char *pointer, bool at_key,
                     struct json_place *out)
{
    struct scan s = {text, text + len};
    skip_space(&s);
    const char *key = s.p;
    char step[512];
    while (*pointer == '/') {
        pointer = pointer_step(pointer, step, sizeof step);
        if (!descend(&s, step, &key))
            return false;
    }
    const char *at = at_key ? key : s.p;
    *out = (struct json_place){1, 1};
    for (const char *p = text; p < at; p++) {
        out->column++;
        if (*p == '\n')
            *out = (struct json_place){out->line + 1, 1};
    }
    return true;
}

/* ---- numbers and output ------------------------------------------------------------------- */

json_t *json_from_double(double v)
{
    if (isnan(v))
        return json_string("nan");
    if (isinf(v))
        return json_string(v > 0 ? "inf" : "-inf");
    return json_real(v);
}

int json_get_double(const json_t *j, double *out)
{
    if (json_is_number(j)) {
        *out = json_number_value(j);
        return 0;
    }
    const char *s = json_string_value(j);
    if (!s)
        return -1;
    if (str_eq(s, "nan"))
        *out = NAN;
    else if (str_eq(s, "inf"))
        *out = INFINITY;
    else if (str_eq(s, "-inf"))
        *out = -INFINITY;
    else
        return -1;
    return 0;
}

static int add_chunk(const char *data, size_t n, void *ctx)
{
    strbuf_add(ctx, data, n);
    return 0;
}

void json_add_text(struct strbuf *sb, const json_t *j, bool pretty)
{
    size_t flags = JSON_ENCODE_ANY | (pretty ? JSON_INDENT(2) : JSON_COMPACT);
    if (json_dump_callback(j, add_chunk, sb, flags) < 0)
        BUG("a JSON value that cannot be written");
    if (pretty)
        strbuf_addc(sb, '\n');
}

json_t *json_text(const char *s)
{
    s = s ? s : "";
    json_t *j = json_string(s);
    if (j)
        return j;
    struct strbuf clean = STRBUF_INIT(3 * strlen(s) + 1);
    const char *end = s + strlen(s);
    for (size_t n; s < end; s += MAX(n, 1)) {
        n = utf8_length(s, (size_t)(end - s));
        strbuf_add(&clean, n ? s : "\xef\xbf\xbd", n ? n : 3);
    }
    j = json_string(clean.buf);
    strbuf_release(&clean);
    return j;
}

void json_print(FILE *f, const json_t *j)
{
    if (!j)
        BUG("a JSON value that could not be made");
    json_dumpf(j, f, JSON_ENCODE_ANY | JSON_INDENT(2));
    fputc('\n', f);
}
