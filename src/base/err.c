/*
 * err.c - writes the message of an error.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(err->msg, sizeof err->msg, fmt, ap);
        va_end(ap);
        err->kind = kind;
    }
    return -1;
}

int err_errno(struct err *err, const char *fmt, ...)
{
    int saved = errno;
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        int n = vsnprintf(err->msg, sizeof err->msg, fmt, ap);
        va_end(ap);
        if (n >= 0 && (size_t)n < sizeof err->msg)
            snprintf(err->msg + n, sizeof err->msg - (size_t)n, ": %s", strerror(saved));
        err->kind = ERR_SYSTEM;
    }
    errno = saved;
    return -1;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
    if (err) {
        char front[512];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(front, sizeof front - 2, fmt, ap);
        va_end(ap);
        size_t n = strlen(front);
        memcpy(front + n, ": ", 2);
        n += 2;
        memmove(err->msg + n, err->msg, sizeof err->msg - n);
        memcpy(err->msg, front, n);
        err->msg[sizeof err->msg - 1] = '\0';
    }
    return -1;
}

void err_clear(struct err *err)
{
    if (err) {
        err->kind = ERR_NONE;
        err->msg[0] = '\0';
    }
}
