/* lesson.c - reads and checks the parts of a lesson; lesson.h describes them. */
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

/* Reads a number of at most 12 digits. Returns the text after it, or NULL if there is none. */
static const char *read_number(const char *p, int64_t *out)
{
    size_t sign = *p == '-', n = strspn(p + sign, "0123456789");
    if (!n || n > 12)
        return NULL;
    *out = strtoll(p, NULL, 10);
    return p + sign + n;
}

/* Reads a name that is followed by the character `end`. Returns the text after `end`, or NULL if
 * there is no such name. */
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
    /* "point", and those kinds from the list in agent/extract.c that a move can have. */
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

bool lesson_clean(const char *text, char out[LESSON_TEXT])
{
    size_t n = 0;
    const char *p = text;
    for (; *p && n + 1 < LESSON_TEXT; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || strchr(".,:;+-*=>()%_/", *p);
        if (plain)
            out[n++] = *p;
        else if (n && out[n - 1] != ' ')
            out[n++] = ' ';
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    return p[strspn(p, " \n")] == '\0';
}

void lesson_make_name(const char *text, char out[LESSON_NAME])
{
    size_t n = 0;
    for (const char *p = text; *p && n + 1 < LESSON_NAME; p++) {
        char c = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
        out[n++] = lesson_is_name(&c, 1) ? c : '_';
    }
    out[n] = '\0';
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* Is s "", or a list of names (lesson_is_name) with single spaces between them? */
static bool is_words(const char *s, size_t max)
{
    if (strlen(s) > max)
        return false;
    for (const char *p = s; *p;) {
        size_t n = strcspn(p, " ");
        if (!lesson_is_name(p, n) || (p[n] && !p[n + 1]))
            return false;
        p += n + (p[n] == ' ');
    }
    return true;
}

/* Can s be the name of a task or of a run? Such a name has no '/', so it cannot be a path. */
static bool is_label(const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    size_t n = strlen(s);
    return n && n <= 160 && strspn(s, plain) == n;
}

static bool is_hex(const char *s, size_t n)
{
    return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

static bool is_sizes(const char *s)
{
    return strlen(s) < 80 && strspn(s, "0123456789.- ") == strlen(s);
}

/* If the lesson names a playbook, its text is a point or a change of settings. Otherwise the text
 * is a move in words, which lesson_clean() must leave as it is. */
static bool is_text(const struct lesson_rec *l)
{
    struct lesson_setting settings[LESSON_SETTINGS];
    char words[LESSON_TEXT];
    bool point = str_eq(l->kind, LESSON_POINT);
    if (strlen(l->text) >= LESSON_TEXT)
        return false;
    if (*l->playbook)
        return point ? lesson_read_point(l->text, settings) : lesson_read_move(l->text, settings);
    return !point && *l->text && lesson_clean(l->text, words) && str_eq(words, l->text);
}

const char *lesson_bad_field(const struct lesson_rec *l)
{
    bool point = str_eq(l->kind, LESSON_POINT);
    bool gain = l->gain >= 0 && l->gain <= (point ? 1.000001 : LESSON_MAX_GAIN);
    return !gain                                                               ? "gain"
           : !is_label(l->run)                                                 ? "run"
           : !is_label(l->task)                                                ? "task"
           : !is_hex(l->task_sha, 64)                                          ? "task_sha"
           : !lesson_is_name(l->class, strlen(l->class))                       ? "class"
           : !is_words(l->ops, 2000)                                           ? "ops"
           : !is_sizes(l->sizes)                                               ? "sizes"
           : !is_words(l->marks, LESSON_MARKS)                                 ? "marks"
           : !lesson_is_name(l->gpu, strlen(l->gpu))                           ? "gpu"
           : !lesson_is_kind(l->kind)                                          ? "kind"
           : *l->playbook && !lesson_is_name(l->playbook, strlen(l->playbook)) ? "playbook"
           : !is_text(l)                                                       ? "text"
                                                                               : NULL;
}
