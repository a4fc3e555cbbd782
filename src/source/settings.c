/*
 * settings.c - finds the lines of a source that define settings, and writes other values into them.
 */
#include "source/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t back_over_blanks(const char *s, size_t i)
{
    while (i && (s[i - 1] == ' ' || s[i - 1] == '\t'))
        i--;
    return i;
}

/* Reads "constexpr int kName = 4;" from the end backwards. */
static bool read_constant(const char *line, size_t end, struct source_setting *out)
{
    char number[32];
    size_t i = back_over_blanks(line, end), stop;
    if (!i || line[i - 1] != ';')
        return false;
    stop = back_over_blanks(line, i - 1);
    for (i = stop; i && isdigit((unsigned char)line[i - 1]); i--)
        ;
    i -= i && i < stop && line[i - 1] == '-';
    if (i == stop || stop - i >= sizeof number)
        return false;
    out->start = i;
    out->len = stop - i;
    memcpy(number, line + i, out->len);
    number[out->len] = '\0';
    errno = 0;
    out->values[0] = strtoll(number, NULL, 10);
    i = back_over_blanks(line, i);
    if (errno || !i || line[i - 1] != '=')
        return false;
    stop = back_over_blanks(line, i - 1);
    for (i = stop; i && is_word(line[i - 1]); i--)
        ;
    if (i == stop || stop - i >= sizeof out->name || isdigit((unsigned char)line[i]))
        return false;
    memcpy(out->name, line + i, stop - i);
    out->name[stop - i] = '\0';
    return memmem(line, i, "constexpr ", 10) != NULL;
}

/* Returns false if there are fewer than two values, more than fit, or anything but integers. */
static bool read_values(const char *s, size_t len, struct source_setting *out)
{
    out->n = 0;
    for (size_t i = 0; i < len;) {
        char number[32], *end;
        size_t n = 0;
        if (strchr(" \t\r,", s[i])) {
            i++;
            continue;
        }
        while (i + n < len && n < sizeof number - 1 && !strchr(" \t\r,", s[i + n]))
            n++;
        memcpy(number, s + i, n);
        number[n] = '\0';
        errno = 0;
        int64_t v = strtoll(number, &end, 10);
        if (errno || end == number || *end || out->n == SETTING_MAX_VALUES)
            return false;
        out->values[out->n++] = v;
        i += n;
    }
    return out->n >= 2;
}

/* Sets `at`. If the list lacks the current value, puts it before the first larger value. */
static bool find_current(struct source_setting *s, int64_t now)
{
    for (s->at = 0; s->at < s->n; s->at++)
        if (s->values[s->at] == now)
            return true;
    if (s->n == SETTING_MAX_VALUES)
        return false;
    for (s->at = 0; s->at < s->n && s->values[s->at] < now; s->at++)
        ;
    memmove(s->values + s->at + 1, s->values + s->at, (s->n - s->at) * sizeof s->values[0]);
    s->values[s->at] = now;
    s->n++;
    return true;
}

static bool read_line(const char *line, size_t len, struct source_setting *out)
{
    static const char mark[] = "// hone:";
    const char *at = len ? memmem(line, len, mark, sizeof mark - 1) : NULL;
    memset(out, 0, sizeof *out);
    if (!at || !read_constant(line, (size_t)(at - line), out))
        return false;
    int64_t now = out->values[0];
    const char *list = at + sizeof mark - 1;
    return read_values(list, len - (size_t)(list - line), out) && find_current(out, now);
}

size_t source_settings(const char *source, size_t len, struct source_setting out[SETTING_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < len && n < SETTING_MAX;) {
        const char *end = memchr(source + i, '\n', len - i);
        size_t line = end ? (size_t)(end - (source + i)) : len - i;
        bool again = false;
        if (read_line(source + i, line, &out[n])) {
            for (size_t k = 0; k < n; k++)
                again |= str_eq(out[k].name, out[n].name);
            out[n].start += i;
            n += !again;
        }
        i += line + 1;
    }
    return n;
}

uint32_t source_broken_setting(const char *source, size_t len, char name[SETTING_MAX_NAME])
{
    static const char mark[] = "// hone:";
    uint32_t number = 1;
    for (size_t i = 0; i < len; number++) {
        struct source_setting s = {0};
        const char *end = memchr(source + i, '\n', len - i), *from = source + i;
        size_t line = end ? (size_t)(end - from) : len - i;
        const char *at = memmem(from, line, mark, sizeof mark - 1);
        if (at && read_constant(from, (size_t)(at - from), &s) && !read_line(from, line, &s)) {
            snprintf(name, SETTING_MAX_NAME, "%s", s.name);
            return number;
        }
        i += line + 1;
    }
    return 0;
}

void source_settings_apply(const char *source, size_t len, const struct source_setting *s, size_t n,
                           const uint8_t *at, struct strbuf *out)
{
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        strbuf_add(out, source + from, s[i].start - from);
        strbuf_addf(out, "%lld", (long long)s[i].values[at[i]]);
        from = s[i].start + s[i].len;
    }
    strbuf_add(out, source + from, len - from);
}
