/* compile_service.c - the process that runs compilers. compile_service.h has the invariants. */
#include "compile/compile_service.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "sys/memory.h"

/* The limit on elapsed time is WALL_FACTOR times that on processor time. While memory is short, the
 * service looks again every LOOK_AGAIN_MS. */
enum { MAX_SLOTS = 128, MAX_PCHS = 32, WALL_FACTOR = 4, LOOK_AGAIN_MS = 200 };
#define LEAST_CHILD_BYTES (UINT64_C(512) << 20)
/* exit codes of a child */
enum {
    CHILD_OK = 0,
    CHILD_BAD_REQUEST = 11,
    CHILD_PCH_UNUSED = 12,
    CHILD_NO_MEMORY = 13,
    CHILD_CRASHED = 14,
    CHILD_PCH_FULL = 15 /* NVRTC's heap was too small for the header */
};

enum slot_state { SLOT_FREE, SLOT_QUEUED, SLOT_RUNNING };

struct slot {
    enum slot_state state;
    struct compile_job_spec spec;
    int request_fd, result_fd, reply_fd;
    uint64_t seq; /* the lowest starts first */
    pid_t pid;
    uint64_t start_ns, deadline_ns;
    uint64_t cpu_ns;
    bool building; /* the child builds the header pchs[pch_index] */
    bool timed_out;
    bool gone;        /* the client has given up the job */
    bool without_pch; /* second try, after a crash with a header */
    bool pch_full;    /* in that crash NVRTC's heap was too small; the header is good */
    bool killed;      /* second try, after another process killed the child */
    int pch_index;    /* header that the child uses or builds, or -1 */
    int pch_failed;   /* header of the first try, or -1 */
};

enum pch_state { PCH_UNKNOWN, PCH_BUILDING, PCH_READY, PCH_BAD };

struct pch {
    char path[PCH_PATH_MAX];
    enum pch_state state;
};

/* Static, so that the service allocates nothing (invariant 1). */
static struct {
    struct slot slots[MAX_SLOTS];
    struct pch pchs[MAX_PCHS];
    size_t npchs;
    unsigned jobs, running; /* the most compiles at the same time, and how many run now */
    /* The expected memory of a compile. Larger compiles raise it, and others lower it a little. */
    uint64_t child_bytes;
    bool short_of_memory;
    unsigned background; /* 1 while a COMPILE_JOB_PCH runs; not in `running` */
    uint64_t seq;
    int signal_fd;
    sigset_t old_mask;
    bool have_nvrtc;
} sv;

/* ---- the child -------------------------------------------------------------------------------*/

static void limit(int resource, rlim_t value)
{
    struct rlimit r = {value, value + (resource == RLIMIT_CPU ? 2 : 0)};
    setrlimit(resource, &r);
}

static void child_setup(const struct slot *s, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(CHILD_BAD_REQUEST); /* the service died before PR_SET_PDEATHSIG took effect */
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &sv.old_mask, NULL);
    signal(SIGPIPE, SIG_DFL);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    limit(RLIMIT_CORE, 0);
    if (s->spec.kind == COMPILE_JOB_PCH && nice(5) < 0)
        errno = 0;
    limit(RLIMIT_CPU, s->spec.limit_ns / 1000000000u + 1);
#ifdef __SANITIZE_ADDRESS__
    /* AddressSanitizer reserves terabytes of addresses. */
    bool address_limit = false;
#else
    bool address_limit = s->spec.kind != COMPILE_JOB_NVCC; /* nvcc.c limits nvcc's memory itself */
#endif
    if (address_limit)
        limit(RLIMIT_AS, s->spec.limit_bytes + s->spec.heap_bytes);
}

static void *read_all(int fd, size_t *len)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size > (64 << 20))
        return NULL;
    char *p = malloc((size_t)st.st_size + 1);
    size_t n = 0;
    while (p && n < (size_t)st.st_size) {
        ssize_t k = pread(fd, p + n, (size_t)st.st_size - n, (off_t)n);
        if (k <= 0) {
            free(p);
            return NULL;
        }
        n += (size_t)k;
    }
    *len = n;
    return p;
}

static bool write_all(int fd, const char *p, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t k = pwrite(fd, p + done, n - done, (off_t)done);
        if (k <= 0)
            return false;
        done += (size_t)k;
    }
    return true;
}

static void dir_of(const char *path, char *out, size_t cap)
{
    const char *slash = strrchr(path, '/');
    snprintf(out, cap, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

static int child_work(struct slot *s, const void *data, size_t len)
{
    struct arena a = ARENA_INIT;
    struct compile_job_request rq = {0};
    struct compile_job_result res = {.log = "", .ptx = "", .cubin = ""};
    if (compile_job_request_read(data, len, &rq, &a, NULL) < 0 || chdir(rq.dir) < 0)
        return CHILD_BAD_REQUEST;
    if (s->building) {
        char dir[PCH_PATH_MAX];
        dir_of(s->spec.pch, dir, sizeof dir);
        setenv("TMPDIR", dir, 1);
        sandbox_enter(rq.roots, rq.nroots, (const char *[]){dir}, 1);
        return nvrtc_build_pch(&rq, &s->spec) == 0 ? CHILD_OK : CHILD_BAD_REQUEST;
    }
    if (s->spec.kind == COMPILE_JOB_NVCC) {
        nvcc_compile(&rq, &s->spec, &res, &a);
    } else {
        if (*s->spec.pch && access(s->spec.pch, R_OK) < 0)
            s->spec.pch[0] = '\0';
        const char **roots = arena_alloc(&a, (rq.nroots + 1) * sizeof *roots);
        for (size_t i = 0; i < rq.nroots; i++)
            roots[i] = rq.roots[i];
        roots[rq.nroots] = s->spec.pch;
        if (*rq.tmp)
            setenv("TMPDIR", rq.tmp, 1);
        sandbox_enter(roots, rq.nroots + (*s->spec.pch != '\0'), &rq.tmp, 1);
        nvrtc_compile(&rq, &s->spec, &res, &a);
    }
    if (res.code == COMPILE_JOB_TOOL_KILLED)
        raise(SIGKILL); /* another process killed nvcc; end_compile() tries again */
    struct strbuf out = STRBUF_INIT((size_t)1 << 30);
    compile_job_result_write(&res, &out);
    if (!write_all(s->result_fd, out.buf, out.len))
        return CHILD_BAD_REQUEST;
    if (*s->spec.pch && !res.ok && strstr(res.log, "unable to obtain mapped memory"))
        return CHILD_PCH_FULL;
    if (res.code == COMPILE_JOB_OUT_OF_MEMORY || (!res.ok && strstr(res.log, "out of memory")))
        return CHILD_NO_MEMORY;
    if (res.code == COMPILE_JOB_TOOL_CRASHED || strstr(res.log, "Loop in catastrophic error"))
        return CHILD_CRASHED;
    return *s->spec.pch && !res.used_pch ? CHILD_PCH_UNUSED : CHILD_OK;
}

static int child_main(struct slot *s, pid_t parent)
{
    child_setup(s, parent);
    /* An allocation below 32 MB makes no new mapping. So the size of the source does not change the
     * addresses of other mappings. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_ARENA_MAX, 1);
    size_t len;
    void *data = read_all(s->request_fd, &len);
    int rc = data ? child_work(s, data, len) : CHILD_BAD_REQUEST;
    free(data);
    return rc;
}

/* ---- slots -----------------------------------------------------------------------------------*/

static void slot_free(struct slot *s)
{
    close(s->request_fd);
    close(s->result_fd);
    close(s->reply_fd);
    memset(s, 0, sizeof *s);
}

static void slot_reply(struct slot *s, enum compile_job_end end, int status)
{
    struct compile_job_reply r = {.end = end, .status = status};
    r.wall_ns = s->start_ns ? now_ns() - s->start_ns : 0;
    r.cpu_ns = s->cpu_ns;
    send(s->reply_fd, &r, sizeof r, MSG_NOSIGNAL | MSG_DONTWAIT);
    slot_free(s);
}

static int pch_find(const char *path)
{
    for (size_t i = 0; i < sv.npchs; i++)
        if (str_eq(sv.pchs[i].path, path))
            return (int)i;
    if (sv.npchs == MAX_PCHS)
        return -1;
    struct pch *p = &sv.pchs[sv.npchs];
    size_t n = strnlen(path, sizeof p->path - 1);
    memcpy(p->path, path, n);
    p->path[n] = '\0';
    p->state = PCH_UNKNOWN;
    return (int)sv.npchs++;
}

static unsigned *counter_of(const struct slot *s)
{
    return s->spec.kind == COMPILE_JOB_PCH ? &sv.background : &sv.running;
}

static int slot_start(struct slot *s)
{
    pid_t self = getpid();
    s->start_ns = now_ns();
    /* limit_ns limits processor time, so a busy machine makes no candidate fail. The deadline
     * ends a child that sleeps. */
    s->deadline_ns = s->start_ns + s->spec.limit_ns * WALL_FACTOR;
    pid_t pid = fork();
    if (pid == 0)
        _exit(child_main(s, self));
    if (pid < 0)
        return -1;
    setpgid(pid, pid); /* either process may run first */
    s->pid = pid;
    s->state = SLOT_RUNNING;
    *counter_of(s) += 1;
    return 0;
}

/* Chooses the header that the slot uses or builds. Returns whether it may start now. */
static bool slot_ready(struct slot *s)
{
    s->building = false;
    s->pch_index = -1;
    if (!s->spec.pch[0])
        return true;
    int i = pch_find(s->spec.pch);
    struct pch *p = i < 0 ? NULL : &sv.pchs[i];
    /* Renews the header's time for cache_prune(), and finds out if it is missing. */
    if (p && p->state == PCH_READY && utimensat(AT_FDCWD, p->path, NULL, 0) < 0 && errno == ENOENT)
        p->state = PCH_UNKNOWN;
    if (p && p->state == PCH_UNKNOWN)
        p->state = pch_valid(p->path) ? PCH_READY : PCH_UNKNOWN;
    if (!p || p->state == PCH_BAD ||
        (p->state != PCH_READY && s->spec.pch_if_ready && s->spec.kind != COMPILE_JOB_PCH)) {
        s->spec.pch[0] = '\0';
        return true;
    }
    if (p->state == PCH_BUILDING)
        return false;
    s->pch_index = i;
    if (p->state == PCH_UNKNOWN) {
        s->building = true;
        p->state = PCH_BUILDING;
    }
    return true;
}

/* Returns whether memory suffices for one more compile, and for the growth of those that run. If no
 * compile runs, one may always start. */
static bool has_memory(void)
{
    uint64_t need = sv.child_bytes, available = sv.running ? memory_available() : 0;
    for (int i = 0; i < MAX_SLOTS && available; i++)
        if (sv.slots[i].state == SLOT_RUNNING)
            need += sv.child_bytes - MIN(memory_resident(sv.slots[i].pid), sv.child_bytes);
    return !available || need <= available;
}

/* Returns the oldest job that may start now, or NULL. A job that builds a header may overtake older
 * ones. */
static struct slot *next_slot(void)
{
    struct slot *next = NULL;
    bool queued = false;
    for (int i = 0; i < MAX_SLOTS && !queued; i++)
        queued = sv.slots[i].state == SLOT_QUEUED;
    sv.short_of_memory = queued && sv.running < sv.jobs && !has_memory();
    if (!queued || sv.short_of_memory)
        return NULL;
    for (int i = 0; i < MAX_SLOTS; i++) {
        struct slot *s = &sv.slots[i];
        bool room = s->spec.kind == COMPILE_JOB_PCH ? sv.background == 0 : sv.running < sv.jobs;
        if (s->state != SLOT_QUEUED || !room || (next && s->seq > next->seq) || !slot_ready(s))
            continue;
        next = s;
        if (s->building)
            break; /* this job must start, because slot_ready() has set PCH_BUILDING */
    }
    return next;
}

static void schedule(void)
{
    for (struct slot *s; (s = next_slot());) {
        if (s->spec.kind == COMPILE_JOB_PCH && !s->building) {
            slot_reply(s, s->pch_index >= 0 ? COMPILE_JOB_DONE : COMPILE_JOB_CRASHED, 0);
            continue; /* the header exists already, or cannot be built */
        }
        if (slot_start(s) == 0)
            continue;
        if (s->building)
            sv.pchs[s->pch_index].state = PCH_UNKNOWN;
        slot_reply(s, COMPILE_JOB_LOST, errno);
    }
}

/* ---- ends ------------------------------------------------------------------------------------*/

static void requeue(struct slot *s)
{
    s->state = SLOT_QUEUED;
    s->timed_out = false;
    if (s->gone)
        slot_free(s);
    else if (ftruncate(s->result_fd, 0) < 0)
        slot_reply(s, COMPILE_JOB_LOST, errno);
}

static void end_build(struct slot *s, int status)
{
    struct pch *p = &sv.pchs[s->pch_index];
    bool built = WIFEXITED(status) && WEXITSTATUS(status) == CHILD_OK;
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !s->timed_out;
    p->state = built ? PCH_READY : killed && !s->killed ? PCH_UNKNOWN : PCH_BAD;
    s->killed |= killed;
    s->building = false;
    if (s->spec.kind == COMPILE_JOB_PCH)
        slot_reply(s, built ? COMPILE_JOB_DONE : COMPILE_JOB_CRASHED, status);
    else
        requeue(s);
}

static enum compile_job_end classify(const struct slot *s, int status, const struct rusage *ru)
{
    uint64_t peak = (uint64_t)ru->ru_maxrss * 1024;
    if (s->timed_out || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
        return COMPILE_JOB_TIMEOUT;
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_NO_MEMORY)
        return COMPILE_JOB_MEMORY;
    if (WIFSIGNALED(status) || WEXITSTATUS(status) == CHILD_CRASHED)
        return peak > s->spec.limit_bytes / 2 ? COMPILE_JOB_MEMORY : COMPILE_JOB_CRASHED;
    if (WEXITSTATUS(status) == CHILD_OK || WEXITSTATUS(status) == CHILD_PCH_UNUSED)
        return COMPILE_JOB_DONE;
    return COMPILE_JOB_CRASHED;
}

static uint64_t time_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static void end_compile(struct slot *s, int status, const struct rusage *ru)
{
    s->cpu_ns = time_ns(ru->ru_utime) + time_ns(ru->ru_stime);
    uint64_t peak = (uint64_t)ru->ru_maxrss * 1024;
    sv.child_bytes = MAX(MAX(sv.child_bytes - sv.child_bytes / 8, peak), LEAST_CHILD_BYTES);
    enum compile_job_end end = classify(s, status, ru);
    int used = s->pch_index >= 0 ? s->pch_index : s->pch_failed;
    struct pch *p = used >= 0 ? &sv.pchs[used] : NULL;
    bool unused = WIFEXITED(status) && WEXITSTATUS(status) == CHILD_PCH_UNUSED;
    if (end == COMPILE_JOB_CRASHED && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        /* No compiler kills itself with SIGKILL, so the candidate is not at fault. */
        if (s->killed) {
            slot_reply(s, COMPILE_JOB_LOST, status);
        } else {
            s->killed = true;
            requeue(s);
        }
        return;
    }
    if (end == COMPILE_JOB_CRASHED && p && !s->without_pch) {
        s->without_pch = true;
        s->pch_failed = used;
        s->pch_full = WIFEXITED(status) && WEXITSTATUS(status) == CHILD_PCH_FULL;
        s->spec.pch[0] = '\0';
        requeue(s);
        return;
    }
    if (p && end == COMPILE_JOB_DONE && (unused || (s->without_pch && !s->pch_full))) {
        /* The header was built at another address, or is damaged. The next service builds it
         * again. */
        p->state = PCH_BAD;
        pch_discard(p->path);
    }
    slot_reply(s, end, status);
}

static void reap(void)
{
    struct signalfd_siginfo info[8];
    while (read(sv.signal_fd, info, sizeof info) > 0)
        ;
    int status;
    struct rusage ru;
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &ru)) > 0;) {
        for (int i = 0; i < MAX_SLOTS; i++) {
            struct slot *s = &sv.slots[i];
            if (s->state != SLOT_RUNNING || s->pid != pid)
                continue;
            kill(-pid, SIGKILL); /* the processes that the child started */
            *counter_of(s) -= 1;
            if (s->building)
                end_build(s, status);
            else
                end_compile(s, status, &ru);
            break;
        }
    }
}

static void kill_slot(struct slot *s)
{
    kill(-s->pid, SIGKILL);
    kill(s->pid, SIGKILL);
}

static void check_deadlines(void)
{
    uint64_t now = now_ns();
    for (int i = 0; i < MAX_SLOTS; i++) {
        struct slot *s = &sv.slots[i];
        if (s->state == SLOT_RUNNING && !s->timed_out && now >= s->deadline_ns) {
            s->timed_out = true;
            kill_slot(s);
        }
    }
}

/* The client has given up the job. A child that builds a header goes on, because other jobs need
 * the header. */
static void cancel(struct slot *s)
{
    s->gone = true;
    if (s->state == SLOT_QUEUED)
        slot_free(s);
    else if (!s->building)
        kill_slot(s);
}

/* ---- the loop --------------------------------------------------------------------------------*/

/* Returns false if the client closed the socket or sent anything but a job. */
static bool receive(int control)
{
    struct compile_job_spec spec;
    struct iovec iov = {&spec, sizeof spec};
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(3 * sizeof(int))];
    } c;
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.buf, .msg_controllen = sizeof c.buf};
    ssize_t n = recvmsg(control, &msg, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR)
        return true;
    struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
    if (n != (ssize_t)sizeof spec || spec.magic != COMPILE_JOB_MAGIC || !h ||
        h->cmsg_len != CMSG_LEN(3 * sizeof(int)))
        return false;
    int fds[3];
    memcpy(fds, CMSG_DATA(h), sizeof fds);
    spec.pch[PCH_PATH_MAX - 1] = '\0';
    for (int i = 0; i < MAX_SLOTS; i++) {
        struct slot *s = &sv.slots[i];
        if (s->state != SLOT_FREE)
            continue;
        *s = (struct slot){.state = SLOT_QUEUED,
                           .spec = spec,
                           .request_fd = fds[0],
                           .result_fd = fds[1],
                           .reply_fd = fds[2],
                           .seq = ++sv.seq,
                           .pch_index = -1,
                           .pch_failed = -1};
        return true;
    }
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    return true;
}

static int wait_ms(void)
{
    uint64_t now = now_ns(), next = UINT64_MAX;
    for (int i = 0; i < MAX_SLOTS; i++)
        if (sv.slots[i].state == SLOT_RUNNING && !sv.slots[i].timed_out)
            next = MIN(next, sv.slots[i].deadline_ns);
    if (next == UINT64_MAX)
        return -1;
    if (sv.short_of_memory)
        next = MIN(next, now + LOOK_AGAIN_MS * UINT64_C(1000000));
    return next <= now ? 0 : (int)MIN((next - now) / 1000000 + 1, 60000u);
}

static bool slots_full(void)
{
    for (int i = 0; i < MAX_SLOTS; i++)
        if (sv.slots[i].state == SLOT_FREE)
            return false;
    return true;
}

static void serve(void)
{
    static struct pollfd fds[MAX_SLOTS + 2];
    static int slot_of[MAX_SLOTS + 2];
    for (;;) {
        int n = 2;
        fds[0] = (struct pollfd){.fd = COMPILE_SERVICE_FD, .events = slots_full() ? 0 : POLLIN};
        fds[1] = (struct pollfd){.fd = sv.signal_fd, .events = POLLIN};
        for (int i = 0; i < MAX_SLOTS; i++)
            if (sv.slots[i].state != SLOT_FREE && !sv.slots[i].gone) {
                fds[n] = (struct pollfd){.fd = sv.slots[i].reply_fd, .events = POLLRDHUP};
                slot_of[n++] = i;
            }
        if (poll(fds, (nfds_t)n, wait_ms()) < 0 && errno != EINTR)
            return;
        for (int i = 2; i < n; i++)
            if (fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR))
                cancel(&sv.slots[slot_of[i]]);
        check_deadlines();
        if (fds[1].revents)
            reap();
        if (fds[0].revents & POLLIN) {
            if (!receive(COMPILE_SERVICE_FD))
                return;
        } else if (fds[0].revents) {
            return;
        }
        schedule();
    }
}

int compile_service_main(const char *nvrtc, unsigned jobs)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, &sv.old_mask);
    signal(SIGPIPE, SIG_IGN);
    sv.signal_fd = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
    fcntl(COMPILE_SERVICE_FD, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "hone-compile");
    sv.jobs = MAX(jobs, 1u);
    sv.child_bytes = LEAST_CHILD_BYTES;
    struct err err = ERR_INIT;
    if (*nvrtc && nvrtc_load(nvrtc, &err) < 0) {
        send(COMPILE_SERVICE_FD, err.msg, strlen(err.msg), MSG_NOSIGNAL);
        return 3;
    }
    send(COMPILE_SERVICE_FD, "ready", 5, MSG_NOSIGNAL);
    serve();
    for (int i = 0; i < MAX_SLOTS; i++)
        if (sv.slots[i].state == SLOT_RUNNING)
            kill_slot(&sv.slots[i]);
    while (wait(NULL) > 0)
        ;
    return 0;
}
