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
 * A small process, the supervisor, runs between Hone and the program. Hone forks the supervisor.
 *   1. The supervisor becomes the parent of every process that the program leaves behind, even of
 *      daemons, and waits for all of them. It gives up on a process that still exists 10 s after
 *      SIGKILL.
 *   2. It kills all these processes in four cases: the program ends; they exceed their limit on
 *      elapsed time, CPU time or memory; Hone calls child_release; Hone itself dies. It notices
 *      even a SIGKILL of Hone, because Hone's end of a socket then closes.
 *   3. It reports once how the program ended.
 * With a memory limit, the supervisor measures the memory of all descendants every 20 ms (resident
 * anonymous and shared pages). It does not limit the address space, because CUDA and the sanitizers
 * reserve terabytes that they never touch. With a limit on CPU time, it adds up the CPU time of all
 * descendants ten times a second. A limit on CPU time suits a busy machine: there a program takes
 * much more elapsed time than usual, but about the same CPU time. Hone reads output beyond the cap
 * and drops it, so a program that prints much neither fills memory nor hangs.
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
    /* Changes of the environment, or NULL for none. "NAME=VALUE" sets a variable, and "NAME"
     * removes it. The list ends with NULL. */
    const char *const *env;
    bool clean_env;    /* pass on only Hone's PATH, HOME, TMPDIR, LANG and LD_LIBRARY_PATH */
    const char *dir;   /* the working directory; NULL means that of Hone */
    const void *input; /* the text for the program's standard input; NULL means an empty one */
    size_t input_len;
    /* Descriptors for the program's three standard streams. If one is -1, `input`, `out` or `err`
     * takes its place. */
    int in_fd, out_fd, err_fd;
    int pass_fd;               /* becomes descriptor 3 of the program; -1 means none */
    bool merge;                /* standard error goes where standard output goes */
    size_t max_out, max_err;   /* caps on the bytes of output that are kept; 0 means 1 MiB */
    uint64_t limit_ns;         /* the limit on the elapsed time; 0 means none */
    uint64_t limit_cpu_ns;     /* the limit on the CPU time of all descendants; 0 means none */
    uint64_t grace_ns;         /* the time from SIGTERM to SIGKILL; 0 means SIGKILL immediately */
    uint64_t limit_bytes;      /* the limit on the memory of all descendants; 0 means none */
    uint64_t limit_file_bytes; /* the limit on the size of each written file; 0 means none */
    bool no_aslr;              /* switch off the random placement of memory */
    const struct jail *jail;   /* limits on files and network; NULL means none */
    /* loop_step() calls this when the program has ended and its output is complete. */
    void (*on_end)(struct child_process *c, void *ctx);
    void *ctx;

    /* ---- the outcome ---- */
    enum child_end end;
    int code;               /* the exit status, or the number of the signal */
    struct strbuf out, err; /* the program's output, up to the caps */
    uint64_t wall_ns, cpu_ns;
    /* The peak memory. If limit_bytes is set, that of all descendants together; else that of the
     * largest descendant. */
    uint64_t peak_bytes;
    pid_t pid; /* the program's process id */

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

/* Starts the program, and watches it with the loop `l`. loop_step() calls on_end later;
 * child_start() itself never does. Returns -1 with the reason in err if the program did not start,
 * for example because it does not exist. */
int child_start(struct child_process *c, struct loop *l, struct err *err);
/* Starts the program and waits for its end. Returns -1 if the program did not start, or if the user
 * interrupted it. */
int child_run(struct child_process *c, struct err *err);
/* Asks the program to end. Sends SIGTERM now and SIGKILL after grace_ns, or SIGKILL now if grace_ns
 * is 0. on_end is called later. */
void child_terminate(struct child_process *c);
/* Frees everything. If the program still runs, kills it first and does not call on_end. */
void child_release(struct child_process *c);

/* Appends how the program ended, such as "exit status 3", "killed by signal 11 (Segmentation
 * fault)" or "over its time limit of 2 s". */
void child_describe(const struct child_process *c, struct strbuf *out);

#endif
