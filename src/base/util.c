/*
 * util.c - allocation that aborts, short string functions, the clock, and BUG().
 */
#include "base/util.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *check_alloc(void *p, size_t n)
{
    if (!p) {
        fprintf(stderr, "hone: out of memory (asked for %zu bytes)\n", n);
        abort();
    }
    return p;
}

void *xmalloc(size_t n)
{
    return check_alloc(malloc(n ? n : 1), n);
}

void *xcalloc(size_t n, size_t size)
{
    return check_alloc(calloc(n ? n : 1, size ? size : 1), n * size);
}

void *xrealloc(void *p, size_t n)
{
    return check_alloc(realloc(p, n ? n : 1), n);
}

char *xstrdup(const char *s)
{
    return xstrndup(s, strlen(s));
}

char *xstrndup(const char *s, size_t n)
{
    n = strnlen(s, n);
    char *p = xmalloc(n + 1);
    memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap, copy;
    va_start(ap, fmt);
    va_copy(copy, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        BUG("bad format '%s'", fmt);
    char *p = xmalloc((size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, copy);
    va_end(copy);
    return p;
}

bool str_eq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
    size_t ls = strlen(s), lf = strlen(suffix);
    return ls >= lf && memcmp(s + ls - lf, suffix, lf) == 0;
}

void std_fds_fill(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

bool stdout_close(void)
{
    bool wrote = ferror(stdout) == 0;
    return fclose(stdout) == 0 && wrote;
}

uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void bug_at(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    fprintf(stderr, "BUG: %s:%d: ", file, line);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}
