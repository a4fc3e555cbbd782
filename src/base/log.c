/*
 * log.c - filters messages by HONE_LOG and prints them.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static int level_from(const char *s, size_t n)
{
    for (int i = 0; i < 4; i++)
        if (strlen(level_names[i]) == n && memcmp(level_names[i], s, n) == 0)
            return i;
    return -1;
}

bool log_enabled(const char *area, enum log_level level)
{
    int allowed = LOG_WARN;
    const char *s = getenv("HONE_LOG");
    while (s && *s) {
        size_t n = strcspn(s, ",");
        const char *colon = memchr(s, ':', n);
        if (!colon) {
            int l = level_from(s, n);
            allowed = l >= 0 ? l : allowed;
        } else if (strlen(area) == (size_t)(colon - s) && memcmp(area, s, strlen(area)) == 0) {
            int l = level_from(colon + 1, n - (size_t)(colon + 1 - s));
            return l >= 0 && (int)level <= l;
        }
        s += n + (s[n] == ',');
    }
    return (int)level <= allowed;
}

void log_at(const char *area, enum log_level level, const char *fmt, ...)
{
    if (!log_enabled(area, level))
        return;
    char line[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    fprintf(stderr, "hone: %s: %s: %s\n", level_names[level], area, line);
}
