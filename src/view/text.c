/* text.c - texts from outside as JSON: valid UTF-8, capped, without the paths of this machine. */
#include <ctype.h>
#include <string.h>

#include "base/utf8.h"
#include "base/util.h"
#include "sys/json.h"
#include "view/parts.h"

/* How many bytes a character of `n` bytes takes in JSON. */
static size_t escaped(unsigned char c, size_t n)
{
    if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r')
        return 2;
    return c < 32 ? 6 : n;
}

void view_set_text(json_t *j, const char *key, const char *text, size_t len, size_t max)
{
    char *copy = xstrndup(text, len);
    size_t used = 0, at = 0;
    len = strlen(copy);
    utf8_clean(copy, len);
    while (at < len) {
        size_t n = MAX(utf8_length(copy + at, len - at), (size_t)1);
        used += escaped((unsigned char)copy[at], n);
        if (used > max)
            break;
        at += n;
    }
    json_object_set_new(j, key, json_stringn(copy, at));
    if (at < len) {
        char name[64];
        snprintf(name, sizeof name, "%s_bytes", key);
        json_object_set_new(j, name, json_integer((json_int_t)len));
    }
    free(copy);
}

void view_set_blob(json_t *j, struct store *s, const char *key, const char *sha)
{
    struct strbuf sb = STRBUF_INIT(8u << 20);
    if (*sha && store_blob_get(s, sha, &sb, NULL) == 0)
        view_set_text(j, key, sb.buf, sb.len, VIEW_MAX_TEXT);
    else
        json_object_set_new(j, key, json_string(""));
    strbuf_release(&sb);
}

static bool path_char(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || (c && strchr("/._-+@~", c));
}

/* The length of the absolute path at p: "/a/b" or more, not "/", "//x" or "a/b". 0 = none. */
static size_t path_length(const char *text, const char *p)
{
    size_t n = 0, parts = 0;
    if (*p != '/' || p[1] == '/' || (p > text && (path_char(p[-1]) || p[-1] == '*')))
        return 0;
    while (path_char(p[n])) {
        parts += p[n] == '/' && path_char(p[n + 1]) && p[n + 1] != '/';
        n++;
    }
    return parts >= 2 ? n : 0;
}

void view_short_paths(const char *text, struct strbuf *out)
{
    for (const char *p = text; *p;) {
        size_t n = path_length(text, p);
        if (!n) {
            strbuf_addc(out, *p++);
            continue;
        }
        size_t end = n, last;
        while (end > 1 && (p[end - 1] == '/' || p[end - 1] == '.'))
            end--;
        for (last = end; p[last - 1] != '/';)
            last--;
        strbuf_add(out, p + last, n - last);
        p += n;
    }
}

json_t *view_short_text(const char *text)
{
    struct strbuf sb = STRBUF_INIT(8u << 20);
    view_short_paths(text, &sb);
    json_t *j = json_text(sb.buf);
    strbuf_release(&sb);
    return j;
}

json_t *view_short_json(const json_t *j)
{
    json_t *out, *value;
    const char *key;
    size_t i;
    if (json_is_string(j))
        return view_short_text(json_string_value(j));
    if (json_is_array(j)) {
        out = json_array();
        json_array_foreach(j, i, value) json_array_append_new(out, view_short_json(value));
        return out;
    }
    if (json_is_object(j)) {
        out = json_object();
        json_object_foreach((json_t *)j, key, value)
            json_object_set_new(out, key, view_short_json(value));
        return out;
    }
    return json_deep_copy(j);
}

static int append(const char *text, size_t n, void *out)
{
    strbuf_add(out, text, n);
    return 0;
}

void view_dump(const json_t *j, struct strbuf *out)
{
    json_dump_callback(j, append, out, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
}
