/*
 * proc.h - child processes, for everything Hone runs: compilers, workers, authors, probes.
 *
 *     const char *argv[] = {"nvcc", "--version", NULL};
 *     struct child_process c = CHILD_INIT;
 *     c.argv = argv;
 *     c.limit_ns = 10 * SEC;
 *     if (child_run(&c, err) < 0) ...                 could not be run at all
 *     if (c.end == CHILD_EXITED && c.code == 0) use(c.out.buf);
 *     child_release(&c);
 *
 * Between Hone and the program stands a small supervisor, forked from Hone, that
 *   1. is the reaper of all the program's descendants, daemons included, and leaves none alive;
 *   2. ends them when the program ends, at the time limit, over the memory limit, on child_release,
 *      and when Hone itself dies, even by SIGKILL (its end of a socket closes);
 *   3. reports how it ended, once.
 * Memory is measured (resident anonymous and shared pages of all descendants, every 20 ms), not
 * limited by address space: CUDA and the sanitizers reserve terabytes they never touch.
 * Output past its cap is read and dropped, so that a chatty child neither fills memory nor hangs.
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
#include "sys/loop.h"

struct child_process {
    /* ---- what to run: set before the start ---- */
    const char *const *argv; /* argv[0] is looked up on PATH */
    const char *const *env;  /* "NAME=VALUE" sets, "NAME" unsets; NULL-terminated; or NULL */
    bool clean_env;          /* begin with PATH, HOME, TMPDIR, LANG and LD_LIBRARY_PATH alone */
    const char *dir;         /* working directory; NULL = ours */
    const void *input;       /* its standard input; NULL = nothing */
    size_t input_len;
    int in_fd, out_fd, err_fd; /* descriptors to use as they are; -1 = input, captured, captured */
    int pass_fd;               /* becomes descriptor 3 of the program; -1 = none */
    bool merge;                /* standard error goes where standard output goes */
    size_t max_out, max_err;   /* caps on what is kept; 0 = 1 MiB */
    uint64_t limit_ns;         /* 0 = none */
    uint64_t grace_ns;         /* between SIGTERM and SIGKILL; 0 = SIGKILL at once */
    uint64_t limit_bytes;      /* memory of all descendants; 0 = none */
    uint64_t limit_file_bytes; /* size of a file it writes; 0 = none */
    bool no_aslr;
    /* called from the loop when it has ended and its output is complete */
    void (*on_end)(struct child_process *c, void *ctx);
    void *ctx;

    /* ---- what came of it ---- */
    enum child_end end;
    int code;
    struct strbuf out, err; /* what it printed, capped */
    uint64_t wall_ns, cpu_ns, peak_bytes;
    pid_t pid; /* of the program */

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

/* Starts it in a loop; on_end follows from loop_step, never from here. -1 means it did not start
 * (no such program, no resources), and says why. */
int child_start(struct child_process *c, struct loop *l, struct err *err);
/* Starts it and waits for its end; -1 also if the user interrupts. */
int child_run(struct child_process *c, struct err *err);
/* Frees what the child left; kills it first if it still runs (without on_end). */
void child_release(struct child_process *c);

/* "exit status 3", "killed by signal 11 (Segmentation fault)", "over its time limit of 2 s", ... */
void child_describe(const struct child_process *c, struct strbuf *out);

#endif
