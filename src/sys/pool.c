/*
 * pool.c - forks the children, hands out pieces through shared memory, and hears through a pipe
 * which pieces are done.
 */
#include "sys/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "sys/interrupt.h"

struct pool_turn {
    const struct pool *pool;
    uint32_t *next; /* shared by all children */
    int fd;         /* end of the pipe to write to */
};

bool pool_next(struct pool_turn *turn, uint32_t *piece)
{
    if (interrupted())
        return false;
    *piece = __atomic_fetch_add(turn->next, 1, __ATOMIC_SEQ_CST);
    return *piece < turn->pool->pieces;
}

void pool_done(struct pool_turn *turn, uint32_t piece)
{
    /* Linux does not split so short a write to a pipe. We need not handle a dead parent: this
     * process dies with it. */
    while (write(turn->fd, &piece, sizeof piece) < 0 && errno == EINTR)
        continue;
}

static pid_t start(struct pool_turn *turn, pid_t parent)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the parent died before prctl() */
        _exit(1);
    int status = turn->pool->work(turn, turn->pool->ctx);
    fflush(NULL);
    _exit(status);
}

/* Calls on_done() for each finished piece, until all children have closed the pipe. After a signal,
 * sends SIGINT to each child once. */
static void listen_to(const struct pool *p, int fd, const pid_t *children, uint32_t n)
{
    bool told = false;
    for (;;) {
        uint32_t piece;
        ssize_t got = read(fd, &piece, sizeof piece);
        if (interrupted() && !told) {
            told = true;
            for (uint32_t i = 0; i < n; i++)
                kill(children[i], SIGINT);
        }
        if (got == 0 || (got < 0 && errno != EINTR))
            return;
        if (got == sizeof piece && p->on_done)
            p->on_done(piece, p->ctx);
    }
}

static uint32_t count_jobs(const struct pool *p)
{
    long processors = MIN(sysconf(_SC_NPROCESSORS_ONLN), (long)POOL_MAX_JOBS);
    uint32_t jobs = p->jobs ? p->jobs : (uint32_t)MAX(processors, 1L);
    return MAX(MIN(jobs, p->pieces), 1);
}

int pool_run(const struct pool *p, struct err *err)
{
    uint32_t jobs = count_jobs(p), started = 0;
    pid_t *children = xcalloc(jobs, sizeof *children), parent = getpid();
    int ends[2], bad = 0;
    uint32_t *next =
        mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (next == MAP_FAILED || pipe2(ends, O_CLOEXEC) < 0) {
        err_errno(err, "cannot start processes");
        if (next != MAP_FAILED)
            munmap(next, sizeof *next);
        free(children);
        return -1;
    }
    fflush(NULL); /* otherwise each child would print our buffers again */
    struct pool_turn turn = {.pool = p, .next = next, .fd = ends[1]};
    while (started < jobs) {
        pid_t pid = start(&turn, parent);
        if (pid < 0)
            break;
        children[started++] = pid;
    }
    bad = started < jobs ? err_errno(err, "cannot start a process") : 0;
    close(ends[1]);
    listen_to(p, ends[0], children, started);
    close(ends[0]);
    for (uint32_t i = 0; i < started; i++) {
        int status = 0;
        while (waitpid(children[i], &status, 0) < 0 && errno == EINTR)
            continue;
        if (status && bad == 0)
            bad = err_set(err, ERR_SYSTEM,
                          WIFSIGNALED(status) ? "a process was killed by signal %d"
                                              : "a process ended with status %d",
                          WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    munmap(next, sizeof *next);
    free(children);
    return bad;
}
