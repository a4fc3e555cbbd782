/*
 * err.h - one error: what happened, where, and what to do about it.
 *
 * A function that can fail takes a `struct err *` last and returns 0 or -1:
 *
 *     if (file_read(path, max, &buf, err) < 0)
 *         return err_prefix(err, "reading task '%s'", name);
 *
 * A NULL err is allowed everywhere. A candidate that fails is not an error: its verdict says so.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err_kind {
    ERR_NONE,
    ERR_INPUT,       /* the user's input is wrong: exit 1 */
    ERR_UNSUPPORTED, /* the input uses something that Hone does not know: exit 1 */
    ERR_USAGE,       /* the command line asks for something that does not exist: exit 2 */
    ERR_ENV,         /* this machine lacks something: exit 3 */
    ERR_LIMIT,       /* a cap on size, time or memory was reached: exit 3 */
    ERR_SYSTEM,      /* a system call failed, or the user interrupted: exit 3 */
    ERR_INTERNAL     /* a defect of Hone: exit 3 */
};

struct err {
    enum err_kind kind;
    char msg[2048];
};

#define ERR_INIT     \
    {                \
        ERR_NONE, "" \
    }

/* Always returns -1, so that `return err_set(...)` reads well. */
int err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Like err_set, and adds ": strerror(errno)". The kind is ERR_SYSTEM. */
int err_errno(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "prefix: " in front of the message; returns -1. */
int err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void err_clear(struct err *err);

#endif
