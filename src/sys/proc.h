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
 * A small process, the supervisor, runs between Hone and the program. Hone forks it. The supervisor
 *   1. reaps all descendants of the program, also daemons, and leaves none alive (if Linux does not
 *      end one within 10 s of SIGKILL, it gives up);
 *   2. ends them when the program ends, at the limits on time and CPU time, over the memory limit,
 *      on child_release, and when Hone itself dies, even by SIGKILL (then Hone's end of a socket
 *      closes);
 *   3. reports once how the program ended.
 * With a memory limit, the supervisor measures the memory of all descendants every 20 ms (resident
 * anonymous and shared pages). It does not limit the address space, because CUDA and the sanitizers
 * reserve terabytes that they never touch. With a limit on CPU time, it adds up the CPU time of all
 * descendants ten times a second. On a busy machine, a program that works needs much more elapsed
 * time than usual, but the same CPU time. Hone reads output beyond the cap and drops it, so a
 * program that prints much neither fills memory nor hangs.
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
    const char *const *env;  /* "NAME=VALUE" sets, "NAME" unsets; NULL-terminated; or NULL */
    bool clean_env;          /* start with PATH, HOME, TMPDIR, LANG and LD_LIBRARY_PATH only */
    const char *dir;         /* working directory; NULL = Hone's */
    const void *input;       /* its standard input; NULL = empty */
    size_t input_len;
    int in_fd, out_fd, err_fd; /* its streams; -1 = use `input`, `out` or `err` instead */
    int pass_fd;               /* becomes descriptor 3 of the program; -1 = none */
    bool merge;                /* standard error goes where standard output goes */
    size_t max_out, max_err;   /* caps on the output that is kept; 0 = 1 MiB */
    uint64_t limit_ns;         /* limit on elapsed time; 0 = none */
    uint64_t limit_cpu_ns;     /* limit on the CPU time of all descendants; 0 = none */
    uint64_t grace_ns;         /* time between SIGTERM and SIGKILL; 0 = SIGKILL at once */
    uint64_t limit_bytes;      /* limit on the memory of all descendants; 0 = none */
    uint64_t limit_file_bytes; /* limit on the size of a file that it writes; 0 = none */
    bool no_aslr;
    const struct jail *jail; /* limits on files and network; NULL = none */
    /* loop_step() calls it when the program has ended and its output is complete */
    void (*on_end)(struct child_process *c, void *ctx);
    void *ctx;

    /* ---- the outcome ---- */
    enum child_end end;
    int code;
    struct strbuf out, err; /* its output, capped */
    uint64_t wall_ns, cpu_ns;
    /* peak memory of all descendants together; without limit_bytes, of the largest of them */
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

/* Starts the program in a loop. loop_step calls on_end later; child_start never does. Returns -1
 * with the reason if the program did not start (no such program, no resources). */
int child_start(struct child_process *c, struct loop *l, struct err *err);
/* Starts the program and waits for its end. Also returns -1 if the user interrupts. */
int child_run(struct child_process *c, struct err *err);
/* Asks the program to end: sends SIGTERM now and SIGKILL after grace_ns (if that is 0, SIGKILL
 * now). on_end is called later. */
void child_terminate(struct child_process *c);
/* Frees everything. If the program still runs, kills it first and does not call on_end. */
void child_release(struct child_process *c);

/* "exit status 3", "killed by signal 11 (Segmentation fault)", "over its time limit of 2 s", ... */
void child_describe(const struct child_process *c, struct strbuf *out);

#endif
