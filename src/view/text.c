/* text.c - turns texts from outside into JSON: makes them valid UTF-8, cuts long ones, and shortens
 * the paths of this machine. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "base/util.h"
#include "sys/json.h"
#include "view/parts.h"

/* Returns how many bytes a character takes in JSON. It has `n` bytes in UTF-8; `c` is the first. */
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

/* Returns the length of the absolute path at p, or 0 if there is none. A path has at least two
 * parts, as "/a/b"; "/", "//x" and "a/b" are not such paths. */
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

/* Returns whether two absolute paths begin with the same directory. */
static bool same_root(const char *path, const char *other)
{
    size_t n = strcspn(path + 1, "/");
    return other && *other == '/' && strcspn(other + 1, "/") == n &&
           memcmp(path + 1, other + 1, n) == 0;
}

static bool is_machine_path(const char *path)
{
    static const char *const roots[] = {
        "/home", "/Users", "/root", "/tmp",     "/var",        "/usr",     "/opt",
        "/mnt",  "/media", "/srv",  "/data",    "/work",       "/scratch", "/workspace",
        "/etc",  "/lib",   "/run",  "/private", "/workspaces", "/nfs",     "/lustre",
    };
    char here[4096];
    for (size_t i = 0; i < ARRAY_LEN(roots); i++)
        if (same_root(path, roots[i]))
            return true;
    return same_root(path, getenv("HOME")) ||
           same_root(path, getcwd(here, sizeof here) ? here : NULL);
}

/* Returns whether a path is a home directory, "/home/NAME" or "/Users/NAME". */
static bool is_home(const char *path, size_t n)
{
    size_t root = str_starts(path, "/home/") ? 6 : str_starts(path, "/Users/") ? 7 : 0;
    return root && n > root && !memchr(path + root, '/', n - root);
}

void view_short_paths(const char *text, bool code, struct strbuf *out)
{
    for (const char *p = text; *p;) {
        size_t n = *p == '/' ? path_length(text, p) : 0;
        if (!n || (code && !is_machine_path(p))) {
            strbuf_addc(out, *p++);
            continue;
        }
        size_t end = n, last;
        while (end > 1 && (p[end - 1] == '/' || p[end - 1] == '.'))
            end--;
        for (last = end; p[last - 1] != '/';)
            last--;
        if (is_home(p, end))
            strbuf_addc(out, '~');
        else
            strbuf_add(out, p + last, end - last);
        strbuf_add(out, p + end, n - end);
        p += n;
    }
}

static json_t *short_string(const char *text, bool code)
{
    struct strbuf sb = STRBUF_INIT(16u << 20);
    view_short_paths(text, code, &sb);
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
