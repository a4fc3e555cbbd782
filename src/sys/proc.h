/*
 * proc.h - child processes, for everything that Hone runs: compilers, workers, authors, probes.
 *
 *     struct child_process c = CHILD_INIT;
 *     c.argv = argv;
 *     c.limit_ns = 10 * SEC;
 *     if (child_run(&c, err) < 0) ...                 the program did not start
 *     if (c.end == CHILD_EXITED && c.code == 0) use(c.out.buf);
 *     child_release(&c);
 *
 * A small process, the supervisor, runs between Hone and the program. It becomes the parent of all
 * processes that the program leaves behind, even of daemons. It kills them all when the program
 * ends, at a limit, at child_release, and when Hone dies.
 *
 * Limits on memory count resident anonymous and shared pages. They do not count addresses, because
 * CUDA and the sanitizers reserve terabytes of addresses that they never touch. If the machine may
 * be busy, limit the CPU time: a program then needs more elapsed time, but hardly more CPU time.
 */
#ifndef SYS_PROC_H
#define SYS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "sys/child_end.h"
#include "sys/jail.h"
#include "sys/loop.h"

struct child_process {
    /* ---- what to run: set before the start ---- */
    const char *const *argv; /* looked up on PATH */
    /* "NAME=VALUE" sets a variable, "NAME" removes it; NULL at the end. May be NULL. */
    const char *const *env;
    bool clean_env;    /* keep only PATH, HOME, TMPDIR, LANG, LD_LIBRARY_PATH */
    const char *dir;   /* working directory; NULL means Hone's own */
    const void *input; /* standard input; NULL means an empty one */
    size_t input_len;
    /* Standard streams; -1 means that `input`, `out` or `err` serves instead. */
    int in_fd, out_fd, err_fd;
    int pass_fd;               /* becomes descriptor 3; -1 = none */
    bool merge;                /* standard error joins standard output */
    size_t max_out, max_err;   /* bytes that Hone keeps; 0 means 1 MiB */
    uint64_t limit_ns;         /* elapsed time; in every limit_, 0 means no limit */
    uint64_t limit_cpu_ns;     /* CPU time of all descendants */
    uint64_t grace_ns;         /* from SIGTERM to SIGKILL; 0 means SIGKILL at once */
    uint64_t limit_bytes;      /* memory of all descendants */
    uint64_t limit_file_bytes; /* size of each file that the program writes */
    bool no_aslr;              /* no random placement of memory */
    const struct jail *jail;   /* limits on files and network, or NULL */
    /* Called by loop_step() when the program has ended and its output is complete. */
    void (*on_end)(struct child_process *c, void *ctx);
    void *ctx;

    /* ---- the outcome ---- */
    enum child_end end;
    int code; /* exit status, or number of the signal */
    struct strbuf out, err;
    uint64_t wall_ns, cpu_ns;
    /* The peak memory of all descendants together if limit_bytes is set, else of the largest one.
     */
    uint64_t peak_bytes;
    pid_t pid;

    /* ---- private ---- */
    struct loop *loop;
    pid_t super_pid;
    int super_fd, in_pipe, out_pipe, err_pipe;
    size_t input_done;
    uint64_t start_ns;
    bool started;
};

#define CHILD_INIT                                                                             \
    {                                                                                          \
        .in_fd = -1, .out_fd = -1, .err_fd = -1, .pass_fd = -1, .super_fd = -1, .in_pipe = -1, \
        .out_pipe = -1, .err_pipe = -1                                                         \
    }

/* Starts the program. Returns -1 if it did not start. The loop calls on_end when the program has
 * ended. */
int child_start(struct child_process *c, struct loop *l, struct err *err);
/* Starts the program and waits for its end. Returns -1 if the program did not start, or if the user
 * interrupted Hone. */
int child_run(struct child_process *c, struct err *err);
/* Sends SIGTERM at once, and SIGKILL after grace_ns. The loop calls on_end when the program has
 * ended. */
void child_terminate(struct child_process *c);
/* Frees what c owns. If the program still runs, kills it first, without a call of on_end. */
void child_release(struct child_process *c);

/* Appends "exit status 3" or "over its time limit of 2 s". */
void child_describe(const struct child_process *c, struct strbuf *out);

#endif
