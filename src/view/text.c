/* text.c - turns texts from outside into JSON: makes them valid UTF-8, cuts long ones, and shortens
 * the paths of this machine. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/util.h"
#include "sys/json.h"
#include "sys/short_paths.h"
#include "view/queries.h"

/* Returns how many bytes a character takes in JSON. It has `n` bytes in UTF-8; `c` is the first. */
static size_t escaped(unsigned char c, size_t n)
{
    if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r')
        return 2;
    return c < 32 ? 6 : n;
}

void view_set_text(json_t *j, const char *key, const char *text, size_t len, size_t max)
{
    char *copy = xmalloc(len + 1);
    size_t used = 0, at = 0;
    memcpy(copy, text, len);
    utf8_clean(copy, len); /* NUL, too, becomes '?' */
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

static json_t *short_string(const char *text, bool code)
{
    struct strbuf sb = STRBUF_INIT(16u << 20);
    short_paths(text, code, &sb);
    json_t *j = json_text(sb.buf);
    strbuf_release(&sb);
    return j;
}

static json_t *short_value(const json_t *j, bool code)
{
    json_t *out, *value;
    const char *key;
    size_t i;
    if (json_is_string(j))
        return short_string(json_string_value(j), code);
    if (json_is_array(j)) {
        out = json_array();
        json_array_foreach(j, i, value) json_array_append_new(out, short_value(value, code));
        return out;
    }
    if (json_is_object(j)) {
        out = json_object();
        json_object_foreach((json_t *)j, key, value)
        {
            json_object_set_new(out, key, short_value(value, code));
        }
        return out;
    }
    return json_deep_copy(j);
}

json_t *view_short_text(const char *text)
{
    return short_string(text, false);
}

json_t *view_short_json(const json_t *j)
{
    return short_value(j, false);
}

json_t *view_without_paths(const json_t *j)
{
    return short_value(j, true);
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
