/*
 * util.h - small helpers for every file: allocation that cannot fail, BUG(), macros.
 *
 * Allocation aborts when memory runs out, because no caller could do better. Callers cap sizes that
 * come from outside before they allocate.
 */
#ifndef BASE_UTIL_H
#define BASE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/banned.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Returns the greatest common divisor of two numbers that are not negative. */
static inline int64_t int_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
/* Returns a / b, rounded down. b must be positive. */
static inline int64_t int_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

void *xmalloc(size_t n) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t n) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

bool str_eq(const char *a, const char *b);
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);

/* Call it first in a program. If stdout is closed, the next opened file gets its descriptor, and
 * printed text would go into that file. So this opens /dev/null, read-only, for each of stdin,
 * stdout and stderr that is closed. */
void std_fds_fill(void);
/* Call it last. Returns whether all printed text reached stdout. */
bool stdout_close(void);

/* Returns the time of a monotonic clock. */
uint64_t now_ns(void);

/* For a broken invariant in Hone itself: prints file, line and message, then aborts. */
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)
void bug_at(const char *file, int line, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

#endif
