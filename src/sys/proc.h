/*
 * proc.h - child processes, for everything that Hone runs: compilers, workers, authors, probes.
 *
 *     const char *argv[] = {"nvcc", "--version", NULL};
 *     struct child_process c = CHILD_INIT;
 *     c.argv = argv;
 *     c.limit_ns = 10 * SEC;
 *     if (child_run(&c, err) < 0) ...                 the program did not start
 *     if (c.end == CHILD_EXITED && c.code == 0) use(c.out.buf);
 *     child_release(&c);
 *
 * A small process, the supervisor, runs between Hone and the program. It is the parent of every
 * process that the program leaves behind, even of daemons. It kills them all when the program ends,
 * when they exceed a limit, when Hone calls child_release, and when Hone dies.
 *
 * The supervisor measures resident anonymous and shared pages every 20 ms, and CPU time every 100
 * ms. It does not limit the address space, because CUDA and the sanitizers reserve terabytes that
 * they never touch. On a busy machine, limit the CPU time: there only the elapsed time grows. Hone
 * reads and drops output beyond the caps.
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
    const char *const *argv; /* argv[0] is looked up on PATH */
    /* Changes of the environment, ending with NULL: "NAME=VALUE" sets a variable, "NAME" removes
     * it. May be NULL. */
    const char *const *env;
    bool clean_env;    /* pass on only PATH, HOME, TMPDIR, LANG and LD_LIBRARY_PATH */
    const char *dir;   /* the working directory; NULL means Hone's own */
    const void *input; /* text for the standard input; NULL means an empty one */
    size_t input_len;
    /* Descriptors for the standard streams. If one is -1, `input`, `out` or `err` takes its
     * place. */
    int in_fd, out_fd, err_fd;
    int pass_fd;               /* becomes descriptor 3 of the program; -1 means none */
    bool merge;                /* standard error goes where standard output goes */
    size_t max_out, max_err;   /* caps on the kept bytes; 0 means 1 MiB */
    uint64_t limit_ns;         /* elapsed time; 0 means no limit, here and below */
    uint64_t limit_cpu_ns;     /* CPU time of all descendants */
    uint64_t grace_ns;         /* time from SIGTERM to SIGKILL; 0 means SIGKILL at once */
    uint64_t limit_bytes;      /* memory of all descendants */
    uint64_t limit_file_bytes; /* size of each written file */
    bool no_aslr;              /* switch off the random placement of memory */
    const struct jail *jail;   /* limits on files and network; NULL means none */
    /* loop_step() calls it when the program has ended and its output is complete. */
    void (*on_end)(struct child_process *c, void *ctx);
    void *ctx;

    /* ---- the outcome ---- */
    enum child_end end;
    int code; /* the exit status, or the number of the signal */
    struct strbuf out, err;
    uint64_t wall_ns, cpu_ns;
    /* The peak memory of all descendants together if limit_bytes is set, else of the largest
     * one. */
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

/* Starts the program and watches it with the loop, which calls on_end later. Returns -1 if the
 * program did not start. */
int child_start(struct child_process *c, struct loop *l, struct err *err);
/* Starts the program and waits for its end. Returns -1 if the program did not start, or if the user
 * interrupted it. */
int child_run(struct child_process *c, struct err *err);
/* Sends SIGTERM now and SIGKILL after grace_ns, or SIGKILL now if grace_ns is 0. on_end is called
 * later. */
void child_terminate(struct child_process *c);
/* Frees everything. Kills a running program first, and does not call on_end. */
void child_release(struct child_process *c);

/* Appends, for example, "exit status 3" or "over its time limit of 2 s". */
void child_describe(const struct child_process *c, struct strbuf *out);

#endif
