/*
 * jail.h - limits the files and the network of a child process. Hone uses it for code that it did
 * not write: a task's reference.c, and everything that `hone mcp` runs.
 *
 *     static const char *const read[] = {"/usr", "/lib", NULL}, *const write[] = {"work", NULL};
 *     struct jail j = {.read = read, .write = write, .net = JAIL_NET_NONE};
 *     c.jail = &j;                                    a field of struct child_process
 *
 * Landlock limits files, and seccomp limits sockets (on x86_64 and aarch64). Children inherit the
 * limits and cannot take them off. Before Linux 6.2 (Landlock 3), the program can truncate files
 * that it must not write. Before Linux 6.12 (Landlock 6), it can send signals to processes outside
 * the jail and connect to their abstract Unix sockets.
 */
#ifndef SYS_JAIL_H
#define SYS_JAIL_H

#include <stdbool.h>

#include "base/err.h"

enum jail_net {
    JAIL_NET_ALL,
    JAIL_NET_LOCAL, /* only Unix sockets, for CUDA's services */
    JAIL_NET_NONE   /* no sockets but those of socketpair() */
};

struct jail {
    /* what the child may read and run; NULL = no limit */
    const char *const *read;
    const char *const *write; /* what it may also change; NULL = nothing */
    enum jail_net net;
    bool optional; /* start the program even if Linux lacks some limits */
};

/* Returns whether this Linux has Landlock, in any version. */
bool jail_can_limit_files(void);

/* ---- for proc.c, supervise.c and code that forks by itself ----------------------------------- */

/* Makes the rules for files, and sets *fd to their descriptor for jail_enter(), or to -1 if files
 * are not limited. Skips paths that do not exist. */
int jail_prepare(const struct jail *j, int *fd, struct err *err);
/* Limits this process. Safe after fork. Sets errno on failure. */
int jail_enter(int fd, enum jail_net net);

#endif
