/*
 * jail.h - limits the files and the network of a child process. Hone uses it for code that it did
 * not write: a task's reference.c, and everything that `hone mcp` runs.
 *
 *     static const char *const read[] = {"/usr", "/lib", NULL}, *const write[] = {"work", NULL};
 *     struct jail j = {.read = read, .write = write, .net = JAIL_NET_NONE};
 *     c.jail = &j;                                    a field of struct child_process
 *
 * Files are limited with Landlock, sockets with seccomp (on x86_64 and aarch64). A child inherits
 * the limits of its parent and cannot take them off. If Linux lacks a limit that a jail asks for,
 * the program starts only if the jail is `optional`. An old Linux limits less. Before
 * Landlock 3 (Linux 6.2), the program can truncate a file that it is not allowed to write. Before
 * Landlock 6 (Linux 6.12), it can send signals to processes outside the jail and connect to their
 * abstract Unix sockets.
 */
#ifndef SYS_JAIL_H
#define SYS_JAIL_H

#include <stdbool.h>

#include "base/err.h"

enum jail_net {
    JAIL_NET_ALL,
    JAIL_NET_LOCAL, /* only Unix sockets: CUDA's services use them */
    JAIL_NET_NONE   /* no sockets, except those that socketpair() makes */
};

struct jail {
    /* files and trees that the child may read and run; NULL = files are not limited */
    const char *const *read;
    const char *const *write; /* files and trees that the child may also change; NULL = none */
    enum jail_net net;
    bool optional; /* leave out the limits that Linux does not have, and run the program */
};

/* True if Linux has Landlock here, of any version. */
bool jail_can_limit_files(void);

/* ---- for proc.c, supervise.c and code that forks by itself ----------------------------------- */

/* Sets *fd to a descriptor for jail_enter(). Sets it to -1 if the jail does not limit files, or if
 * the jail is optional and Linux cannot limit files. Leaves out paths that do not exist. Returns 0,
 * or -1 with an error. */
int jail_prepare(const struct jail *j, int *fd, struct err *err);
/* Limits this process. Safe after fork. Returns 0, or -1 with errno. */
int jail_enter(int fd, enum jail_net net);

#endif
