/*
 * jail.h - limits the files and the network of a child process, for code that Hone did not write:
 * a task's reference.c, and all that `hone mcp` runs.
 *
 *     static const char *const read[] = {"/usr", "/lib", NULL}, *const write[] = {"work", NULL};
 *     struct jail j = {.read = read, .write = write, .net = JAIL_NET_NONE};
 *     c.jail = &j;                                    a field of struct child_process
 *
 * Files are limited with Landlock, sockets with seccomp. A child inherits the limits of its parent
 * and cannot take them off. If the kernel cannot do what a jail asks for, the program does not
 * start, unless the jail is optional.
 */
#ifndef SYS_JAIL_H
#define SYS_JAIL_H

#include <stdbool.h>

#include "base/err.h"

enum jail_net {
    JAIL_NET_ALL,
    JAIL_NET_LOCAL, /* only Unix sockets: CUDA's services use them */
    JAIL_NET_NONE   /* no sockets, except pairs that the process makes itself */
};

struct jail {
    const char *const *read;  /* files and trees that it may read and run; NULL = no limit */
    const char *const *write; /* files and trees that it may also change; may be NULL */
    enum jail_net net;
    bool optional; /* if the kernel cannot limit the process, run it without limits */
};

/* True if this kernel can limit which files a jailed process uses and which processes it may
 * signal. */
bool jail_can_limit_files(void);

/* ---- for proc.c, supervise.c and code that forks by itself ----------------------------------- */

/* Sets *fd to a descriptor for jail_enter(), or to -1 if the jail does not limit files, or if it is
 * optional and the kernel cannot limit files. Leaves out paths that do not exist. Returns 0, or -1
 * with an error. */
int jail_prepare(const struct jail *j, int *fd, struct err *err);
/* Limits this process. Safe after fork. Returns 0, or -1 with errno. */
int jail_enter(int fd, enum jail_net net);

#endif
