/*
 * supervise.h - the supervisor's side of proc.h: the process between Hone and a program.
 *
 * Hone may have several threads when it forks this process. So supervise() allocates nothing and
 * calls only functions that are safe after fork. It talks to Hone over a SOCK_SEQPACKET socket:
 *
 *     supervisor -> Hone   SUPER_STARTED | SUPER_FAILED, then (after STARTED) SUPER_ENDED, once
 *     Hone -> supervisor   a byte = SIGTERM now, SIGKILL after the grace time; closed = SIGKILL now
 *
 * Private to proc.c.
 */
#ifndef SYS_SUPERVISE_H
#define SYS_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sys/jail.h"

struct super_spec {
    const char *path;
    char *const *argv;
    char *const *envp;
    const char *dir;
    int fds[4];  /* become 0..3 of the program; all >= 10, but fds[3] may be -1 */
    int control; /* the socket to Hone */
    uint64_t limit_ns, limit_cpu_ns, grace_ns, limit_bytes, limit_file_bytes;
    bool no_aslr;
    int jail; /* from jail_prepare(), >= 10; -1 = none */
    enum jail_net net;
    bool jail_optional;
};

enum super_kind { SUPER_STARTED, SUPER_FAILED, SUPER_ENDED };

struct super_msg {
    int32_t kind;   /* enum super_kind */
    int32_t pid;    /* in STARTED: the program's */
    int32_t error;  /* in FAILED: errno */
    int32_t step;   /* in FAILED: 0 = fork, 1 = chdir, 2 = exec, 3 = jail */
    int32_t end;    /* in ENDED: enum child_end */
    int32_t status; /* in ENDED: exit status or signal */
    uint64_t cpu_ns, peak_bytes;
};

_Noreturn void supervise(const struct super_spec *s);

#endif
