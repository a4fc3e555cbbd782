#include "memory/lesson.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

bool lesson_is_name(const char *s, size_t n)
{
    if (!n || n >= LESSON_NAME)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9') ||
              (s[i] && strchr("_-.", s[i]))))
            return false;
    return true;
}

/* Reads a number of at most 12 digits. Returns the text after it, or NULL. */
static const char *read_number(const char *p, int64_t *out)
{
    size_t sign = *p == '-', n = strspn(p + sign, "0123456789");
    if (!n || n > 12)
        return NULL;
    *out = strtoll(p, NULL, 10);
    return p + sign + n;
}

static const char *read_name(const char *p, char end, struct lesson_setting *out)
{
    size_t n = strcspn(p, " =,");
    if (!lesson_is_name(p, n) || p[n] != end)
        return NULL;
    memcpy(out->name, p, n);
    out->name[n] = '\0';
    return p + n + 1;
}

size_t lesson_read_point(const char *text, struct lesson_setting out[LESSON_SETTINGS])
{
    size_t n = 0;
    for (const char *p = text; *p; n++) {
        if (n == LESSON_SETTINGS || !(p = read_name(p, '=', &out[n])) ||
            !(p = read_number(p, &out[n].to)) || (*p && *p != ' '))
            return 0;
        out[n].from = out[n].to;
        p += *p == ' ';
    }
    return n;
}

size_t lesson_read_move(const char *text, struct lesson_setting out[LESSON_SETTINGS])
{
    size_t n = 0;
    for (const char *p = text; *p; n++) {
        if (n == LESSON_SETTINGS || !(p = read_name(p, ' ', &out[n])) ||
            !(p = read_number(p, &out[n].from)) || !str_starts(p, " -> ") ||
            !(p = read_number(p + 4, &out[n].to)) || (*p && !str_starts(p, ", ")))
            return 0;
        p += *p ? 2 : 0;
    }
    return n;
}

bool lesson_is_kind(const char *kind)
{
    /* The kinds of agent/extract.c that a move can have, and "point". */
    static const char *const kinds[] = {
        LESSON_POINT, "tiling",   "layout",    "vectorize",  "tensor-core", "pipeline",
        "tma",        "fusion",   "reduction", "mapping",    "occupancy",   "intrinsics",
        "unroll",     "swizzle",  "split",     "persistent", "cluster",     "registers",
        "rewrite",    "prefetch", "algorithm", "tuning",     "other"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_eq(kinds[i], kind))
            return true;
    return false;
}

void lesson_clean(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (const char *p = text; *p && n + 1 < size; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || strchr(".,:;+-*=<>()%_/", *p);
        if (plain)
            out[n++] = *p;
        else if (n && out[n - 1] != ' ')
            out[n++] = ' ';
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
}
