/*
 * launch.c - forks the ranks and waits for them. The ranks report errors in a page of shared
 * memory.
 */
#include "gnn/comm/launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "sys/interrupt.h"

enum { RANK_FAILED = 1 }; /* exit status of a rank after an error */

/* The first error that any rank reports. COMM_STOPPED does not count, because it only says that
 * another rank failed. A rank sets `taken` before it writes `rank` and `err`, and `written` after
 * that. */
struct report {
    _Atomic int taken, written;
    int rank;
    struct err err;
};

struct group {
    struct report *report;
    int ranks;
    pid_t *pid; /* 0 after the process has ended */
    /* ends[r] becomes readable when rank r has ended, and ends[ranks] after Ctrl-C */
    struct pollfd *ends;
};

static void report_error(struct report *r, int rank, const struct err *err)
{
    if (str_eq(err->msg, COMM_STOPPED) || atomic_exchange(&r->taken, 1))
        return;
    r->rank = rank;
    r->err = *err;
    atomic_store(&r->written, 1);
}

static _Noreturn void run_rank(struct comm *c, int rank, pid_t launcher, struct report *report,
                               rank_fn fn, void *ctx)
{
    struct err err = ERR_INIT;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher)
        _exit(RANK_FAILED);
    comm_set_rank(c, rank);
    int rc = fn(ctx, c, &err);
    if (rc < 0)
        report_error(report, rank, &err);
    fflush(NULL);
    _exit(rc < 0 ? RANK_FAILED : 0);
}

static void signal_ranks(const struct group *g, int sig)
{
    for (int r = 0; r < g->ranks; r++)
        if (g->pid[r] > 0)
            kill(g->pid[r], sig);
}

static void end_ranks(struct group *g)
{
    signal_ranks(g, SIGKILL);
    for (int r = 0; r < g->ranks; r++)
        while (g->pid[r] > 0 && waitpid(g->pid[r], NULL, 0) < 0 && errno == EINTR)
            ;
}

static int start_ranks(struct group *g, struct comm *c, rank_fn fn, void *ctx, struct err *err)
{
    pid_t self = getpid();
    fflush(NULL);
    for (int r = 0; r < g->ranks; r++) {
        g->pid[r] = fork();
        if (g->pid[r] == 0)
            run_rank(c, r, self, g->report, fn, ctx);
        if (g->pid[r] < 0)
            return err_errno(err, "cannot start rank %d", r);
        g->ends[r] =
            (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, g->pid[r], 0), .events = POLLIN};
        if (g->ends[r].fd < 0)
            return err_errno(err, "cannot watch rank %d", r);
    }
    g->ends[g->ranks] = (struct pollfd){.fd = interrupt_fd(), .events = POLLIN};
    return 0;
}

/* Another rank may notice the failure and end first. So we wait up to two seconds until the failed
 * rank has written its report. */
static void await_report(const struct report *r)
{
    const struct timespec step = {.tv_nsec = 10000000};
    for (int i = 0; i < 200 && !atomic_load(&r->written); i++)
        nanosleep(&step, NULL);
}

static int failure(const struct group *g, int rank, int status, struct err *err)
{
    const struct report *r = g->report;
    if (WIFEXITED(status))
        await_report(r);
    if (atomic_load(&r->written)) {
        if (err)
            *err = r->err;
        return interrupted() ? -1 : err_prefix(err, "rank %d", r->rank);
    }
    if (WIFSIGNALED(status))
        return err_set(err, ERR_SYSTEM,
                       "rank %d was ended by signal %d (%s); the others were ended too", rank,
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    return err_set(err, ERR_SYSTEM, "rank %d ended with status %d; the others were ended too", rank,
                   WEXITSTATUS(status));
}

/* Waits until all ranks have ended, or until one ends with an error. */
static int watch_ranks(struct group *g, struct err *err)
{
    for (int left = g->ranks; left > 0;) {
        if (poll(g->ends, (nfds_t)g->ranks + 1, -1) < 0 && errno != EINTR)
            return err_errno(err, "waiting for the ranks");
        if (interrupted() && g->ends[g->ranks].fd >= 0) {
            signal_ranks(g, SIGTERM); /* the ranks save their state and end */
            g->ends[g->ranks].fd = -1;
        }
        for (int r = 0; r < g->ranks; r++) {
            int status;
            if (g->pid[r] <= 0 || waitpid(g->pid[r], &status, WNOHANG) != g->pid[r])
                continue;
            g->pid[r] = 0;
            close(g->ends[r].fd);
            g->ends[r].fd = -1;
            left--;
            if (status != 0)
                return failure(g, r, status, err);
        }
    }
    return 0;
}

int launch_ranks(struct comm *c, rank_fn fn, void *ctx, struct err *err)
{
    struct group g = {.ranks = comm_ranks(c)};
    g.report =
        mmap(NULL, sizeof *g.report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (g.report == MAP_FAILED)
        return err_errno(err, "no memory for the ranks' errors");
    g.pid = xcalloc((size_t)g.ranks, sizeof *g.pid);
    g.ends = xcalloc((size_t)g.ranks + 1, sizeof *g.ends);
    for (int r = 0; r <= g.ranks; r++)
        g.ends[r].fd = -1;
    int rc = start_ranks(&g, c, fn, ctx, err);
    if (rc == 0)
        rc = watch_ranks(&g, err);
    end_ranks(&g);
    for (int r = 0; r < g.ranks; r++)
        if (g.ends[r].fd >= 0)
            close(g.ends[r].fd);
    munmap(g.report, sizeof *g.report);
    free(g.pid);
    free(g.ends);
    return rc;
}
