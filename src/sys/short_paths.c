/* short_paths.c - finds absolute paths in a text and shortens them. See short_paths.h. */
#include "sys/short_paths.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

static bool path_char(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || (c && strchr("/._-+@~", c));
}

/* After a letter or a slash, a path begins only in texts such as "-I/usr/include" and
 * "file:///usr/include". */
static bool may_begin(const char *text, const char *p)
{
    size_t before = (size_t)(p - text);
    if (before == 0)
        return true;
    if (before >= 3 && memcmp(p - 3, "://", 3) == 0)
        return true;
    if (before >= 2 && p[-2] == '-' && isupper((unsigned char)p[-1]))
        return before == 2 || !path_char(p[-3]);
    return !path_char(p[-1]) && p[-1] != '*';
}

/* Returns 0 if no absolute path begins at p. A path needs two parts, as "/a/b"; "/", "//x" and
 * "a/b" do not count. */
static size_t path_length(const char *text, const char *p)
{
    size_t n = 0, parts = 0;
    if (*p != '/' || p[1] == '/' || !may_begin(text, p))
        return 0;
    while (path_char(p[n])) {
        parts += p[n] == '/' && path_char(p[n + 1]) && p[n + 1] != '/';
        n++;
    }
    return parts >= 2 ? n : 0;
}

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

/* Are the n bytes at `path` "/home/NAME" or "/Users/NAME"? */
static bool is_home(const char *path, size_t n)
{
    size_t root = str_starts(path, "/home/") ? 6 : str_starts(path, "/Users/") ? 7 : 0;
    return root && n > root && !memchr(path + root, '/', n - root);
}

void short_paths(const char *text, bool code, struct strbuf *out)
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
