/*
 * supervise.c - the supervisor: a process that runs a program, and ends with it. No descendant of
 * the program outlives the supervisor, except one that Linux does not end within 10 s of SIGKILL.
 *
 * Invariants:
 *   1. After SUPER_STARTED the supervisor sends SUPER_ENDED exactly once, when every descendant
 *      that it can kill is gone.
 *   2. It kills by number only its own children, which nobody else can reap. It kills the program's
 *      process group only before it has waited for the group's leader.
 *   3. It uses no allocation, no stdio and no locks: Hone may have had several threads when it
 *      forked.
 */
#include "sys/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "sys/child_end.h"
#include "sys/loop.h"

/* ---- helpers that are safe after fork ------------------------------------------------------- */

static void close_from(unsigned first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return;
#endif
    for (unsigned fd = first; fd < 4096; fd++)
        close((int)fd);
}

/* Linux before 5.3 and some sandboxes lack pidfd_open. Then watch() looks every 10 ms. */
static int pidfd_open_raw(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    errno = ENOSYS;
    return -1;
#endif
}

static char *put_text(char *at, const char *s)
{
    while (*s)
        *at++ = *s++;
    *at = '\0';
    return at;
}

static char *put_number(char *at, unsigned long v)
{
    char digits[24];
    int n = 0;
    do
        digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n)
        *at++ = digits[--n];
    *at = '\0';
    return at;
}

static void proc_path(char *buf, pid_t pid, const char *tail, pid_t tid, const char *tail2)
{
    char *p = put_text(buf, "/proc/");
    p = put_number(p, (unsigned long)pid);
    p = put_text(p, tail);
    if (tid)
        p = put_number(p, (unsigned long)tid);
    put_text(p, tail2);
}

static ssize_t read_small(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t len = 0;
    ssize_t n;
    while (len + 1 < size && (n = read(fd, buf + len, size - 1 - len)) > 0)
        len += (size_t)n;
    close(fd);
    buf[len] = '\0';
    return (ssize_t)len;
}

/* ---- descendants ------------------------------------------------------------------------- */

#define MAX_PIDS 2048
#define CPU_LOOK_NS (100 * MS) /* time between two sums of the CPU time */

struct pid_set {
    pid_t pid[MAX_PIDS];
    size_t n;
};

static void add_children_of_thread(struct pid_set *set, pid_t pid, pid_t tid)
{
    char path[96], buf[8192];
    proc_path(path, pid, "/task/", tid, "/children");
    if (read_small(path, buf, sizeof buf) <= 0)
        return;
    for (char *p = buf; *p && set->n < MAX_PIDS;) {
        char *end;
        long v = strtol(p, &end, 10);
        if (end == p)
            break;
        set->pid[set->n++] = (pid_t)v;
        p = end + (*end == ' ');
    }
}

struct kernel_dirent {
    uint64_t ino;
    int64_t off;
    unsigned short len;
    unsigned char type;
    char name[];
};

static void add_children(struct pid_set *set, pid_t pid)
{
    char path[96];
    _Alignas(struct kernel_dirent) char buf[4096];
    proc_path(path, pid, "/task", 0, "");
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    long n;
    while ((n = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0) {
        for (long at = 0; at < n;) {
            const struct kernel_dirent *d = (const void *)(buf + at);
            if (d->name[0] >= '1' && d->name[0] <= '9')
                add_children_of_thread(set, pid, (pid_t)strtol(d->name, NULL, 10));
            at += d->len;
        }
    }
    close(fd);
}

static uint64_t field_kib(const char *status, const char *name)
{
    const char *p = strstr(status, name);
    return p ? strtoull(p + strlen(name), NULL, 10) << 10 : 0;
}

static uint64_t memory_of(pid_t pid)
{
    char path[64], buf[4096];
    proc_path(path, pid, "/status", 0, "");
    if (read_small(path, buf, sizeof buf) <= 0)
        return 0;
    return field_kib(buf, "\nRssAnon:") + field_kib(buf, "\nRssShmem:");
}

static uint64_t cpu_of(pid_t pid)
{
    enum { FIRST = 14, LAST = 17 }; /* the fields utime to cstime: see proc(5) */
    char path[64], buf[4096];
    uint64_t ticks = 0;
    proc_path(path, pid, "/stat", 0, "");
    if (read_small(path, buf, sizeof buf) <= 0)
        return 0;
    /* Field 2 is the program's name in parentheses. It may contain any character. */
    char *p = strrchr(buf, ')');
    for (int field = 2; p && field <= LAST; field++) {
        ticks += field >= FIRST ? strtoull(p, NULL, 10) : 0;
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    return ticks * (SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

static uint64_t sum_over_descendants(struct pid_set *set, uint64_t (*of)(pid_t))
{
    uint64_t sum = 0;
    set->n = 0;
    add_children(set, getpid());
    for (size_t i = 0; i < set->n; i++) {
        sum += of(set->pid[i]);
        add_children(set, set->pid[i]);
    }
    return sum;
}

/* ---- the program ------------------------------------------------------------------------- */

struct start_failure {
    int error, step;
};

static _Noreturn void become_program(const struct super_spec *s, int failure_fd)
{
    struct start_failure f = {0, 1};
    sigset_t none;
    sigemptyset(&none);
    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the supervisor is killed, the program dies too */
    for (int i = 0; i < 4; i++)
        if (s->fds[i] >= 0 && dup2(s->fds[i], i) < 0)
            goto failed;
    if (s->dir && chdir(s->dir) < 0)
        goto failed;
    f.step = 2;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (s->limit_file_bytes)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){s->limit_file_bytes, s->limit_file_bytes});
    if (s->no_aslr)
        personality(ADDR_NO_RANDOMIZE);
#ifdef SYS_close_range
    syscall(SYS_close_range, s->fds[3] >= 0 ? 4u : 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
#endif
    f.step = 3;
    if (jail_enter(s->jail, s->net) < 0 && !s->jail_optional)
        goto failed;
    f.step = 2;
    execve(s->path, s->argv, s->envp);
failed:
    f.error = errno;
    if (write(failure_fd, &f, sizeof f) < 0)
        _exit(126);
    _exit(127);
}

static pid_t start_program(const struct super_spec *s, struct start_failure *f)
{
    int p[2];
    *f = (struct start_failure){0, 0};
    if (pipe2(p, O_CLOEXEC) < 0) {
        f->error = errno;
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        /* A high descriptor cannot collide with the program's 0..3. */
        become_program(s, fcntl(p[1], F_DUPFD_CLOEXEC, 10));
    }
    f->error = pid < 0 ? errno : 0;
    close(p[1]);
    ssize_t n;
    do
        n = read(p[0], f, sizeof *f);
    while (n < 0 && errno == EINTR);
    close(p[0]);
    if (n == (ssize_t)sizeof *f) {
        waitpid(pid, NULL, 0);
        return -1;
    }
    return pid;
}

/* ---- watching the program ------------------------------------------------------------------- */

struct supervisor {
    const struct super_spec *spec;
    pid_t pid;
    int pidfd;
    uint64_t start_ns, term_ns; /* term_ns: when SIGTERM was sent, or 0 */
    uint64_t cpu_looked_ns;
    enum child_end why; /* why we end the program; CHILD_RUNNING = we do not */
    struct super_msg report;
    struct pid_set pids;
};

static void sleep_ms(int ms)
{
    poll(NULL, 0, ms);
}

static bool program_is_dead(const struct supervisor *v)
{
    siginfo_t si;
    memset(&si, 0, sizeof si);
    return waitid(P_PID, (id_t)v->pid, &si, WEXITED | WNOHANG | WNOWAIT) == 0 && si.si_pid != 0;
}

/* Waits for those of our children that have ended, except for the program, which end_all() waits
 * for. Descendants of the program become our children when their parents end. */
static void reap_orphans(const struct supervisor *v)
{
    for (;;) {
        siginfo_t si;
        memset(&si, 0, sizeof si);
        if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) < 0 || si.si_pid == 0 ||
            si.si_pid == v->pid)
            return;
        waitpid(si.si_pid, NULL, 0);
    }
}

static uint64_t cpu_of_waited(struct rusage *ru)
{
    getrusage(RUSAGE_CHILDREN, ru);
    return (uint64_t)(ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) * SEC +
           (uint64_t)(ru->ru_utime.tv_usec + ru->ru_stime.tv_usec) * 1000;
}

static void end_all(struct supervisor *v)
{
    int status = 0;
    struct rusage ru;
    memset(&ru, 0, sizeof ru);
    kill(-v->pid, SIGKILL);
    kill(v->pid, SIGKILL);
    uint64_t give_up = now_ns() + 10 * SEC;
    while (wait4(v->pid, &status, WNOHANG, &ru) == 0 && now_ns() < give_up)
        sleep_ms(1);
    v->report.end = WIFSIGNALED(status) ? CHILD_SIGNALED : CHILD_EXITED;
    v->report.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);

    /* A grandchild becomes our child only when its parent dies: each generation needs a round. */
    pid_t r;
    do {
        v->pids.n = 0;
        add_children(&v->pids, getpid());
        for (size_t i = 0; i < v->pids.n; i++)
            kill(v->pids.pid[i], SIGKILL);
        while ((r = waitpid(-1, NULL, WNOHANG)) > 0)
            continue;
        if (r == 0)
            sleep_ms(1);
    } while (r == 0 && now_ns() < give_up);

    v->report.cpu_ns = cpu_of_waited(&ru);
    if (!v->spec->limit_bytes)
        v->report.peak_bytes = (uint64_t)ru.ru_maxrss << 10;
}

/* Begins to end the program, for the reason `why`. Returns true if the caller must kill it now.
 * With `polite` and a grace time, sends SIGTERM and returns false. */
static bool begin_end(struct supervisor *v, enum child_end why, bool polite)
{
    if (v->why == CHILD_RUNNING)
        v->why = why;
    if (!polite || !v->spec->grace_ns)
        return true;
    if (!v->term_ns) {
        v->term_ns = now_ns();
        kill(-v->pid, SIGTERM);
    }
    return false;
}

static int wait_ms(const struct supervisor *v, uint64_t now)
{
    const struct super_spec *s = v->spec;
    uint64_t wait = UINT64_MAX;
    if (v->term_ns)
        wait = v->term_ns + s->grace_ns > now ? v->term_ns + s->grace_ns - now : 0;
    else if (s->limit_ns)
        wait = v->start_ns + s->limit_ns > now ? v->start_ns + s->limit_ns - now : 0;
    if (s->limit_bytes)
        wait = MIN(wait, 20 * MS);
    if (s->limit_cpu_ns)
        wait = MIN(wait, CPU_LOOK_NS);
    if (v->pidfd < 0)
        wait = MIN(wait, 10 * MS);
    return wait == UINT64_MAX ? -1 : (int)MIN(wait / MS + 1, 1000000000);
}

static bool uses_too_much_cpu(struct supervisor *v, uint64_t now)
{
    struct rusage ru;
    if (now < v->cpu_looked_ns + CPU_LOOK_NS)
        return false;
    v->cpu_looked_ns = now;
    return cpu_of_waited(&ru) + sum_over_descendants(&v->pids, cpu_of) > v->spec->limit_cpu_ns;
}

static void watch(struct supervisor *v)
{
    const struct super_spec *s = v->spec;
    struct pollfd fds[2] = {{.fd = s->control, .events = POLLIN},
                            {.fd = v->pidfd, .events = POLLIN}};
    for (;;) {
        if (poll(fds, 2, wait_ms(v, now_ns())) < 0 && errno != EINTR)
            return;
        if (program_is_dead(v))
            return;
        reap_orphans(v);
        uint64_t now = now_ns();
        if (fds[0].revents) {
            char c;
            ssize_t n = recv(s->control, &c, 1, MSG_DONTWAIT);
            bool closed = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
            if ((closed || n == 1) && begin_end(v, CHILD_KILLED, !closed))
                return;
        }
        if (v->term_ns && now >= v->term_ns + s->grace_ns)
            return;
        if (s->limit_ns && !v->term_ns && now >= v->start_ns + s->limit_ns &&
            begin_end(v, CHILD_TIMEOUT, true))
            return;
        if (s->limit_cpu_ns && !v->term_ns && uses_too_much_cpu(v, now) &&
            begin_end(v, CHILD_CPU, true))
            return;
        if (s->limit_bytes) {
            uint64_t used = sum_over_descendants(&v->pids, memory_of);
            v->report.peak_bytes = MAX(v->report.peak_bytes, used);
            if (used > s->limit_bytes) {
                begin_end(v, CHILD_MEMORY, false);
                return;
            }
        }
    }
}

static void send_report(const struct super_spec *s, const struct super_msg *m)
{
    while (send(s->control, m, sizeof *m, MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}

static void drop_descriptors(struct super_spec *s)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    dup3(s->control, 3, O_CLOEXEC);
    s->control = 3;
    close_from(4);
}

_Noreturn void supervise(const struct super_spec *spec)
{
    /* Too large for the stack of a small thread. */
    static struct supervisor v;
    struct super_spec s = *spec;
    v.spec = &s;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "hone-supervisor");

    struct start_failure f;
    v.start_ns = now_ns();
    v.pid = start_program(&s, &f);
    drop_descriptors(&s);
    if (v.pid < 0) {
        v.report = (struct super_msg){.kind = SUPER_FAILED, .error = f.error, .step = f.step};
        send_report(&s, &v.report);
        _exit(0);
    }
    send_report(&s, &(struct super_msg){.kind = SUPER_STARTED, .pid = v.pid});

    v.pidfd = pidfd_open_raw(v.pid);
    watch(&v);
    v.report.kind = SUPER_ENDED;
    end_all(&v);
    if (v.why != CHILD_RUNNING)
        v.report.end = (int32_t)v.why;
    send_report(&s, &v.report);
    _exit(0);
}
