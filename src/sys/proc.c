/*
 * proc.c - Hone's side of a child process: its pipes, its watches in the loop, and how it ended.
 *
 *     idle --child_start--> running --SUPER_ENDED or socket closed--> ended --child_release--> idle
 */
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "base/vec.h"
#include "sys/file.h"
#include "sys/supervise.h"

extern char **environ;

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- environment ------------------------------------------------------------------------- */

VEC_DECL(env_vec, char *);

static bool env_names(const char *entry, const char *name, size_t n)
{
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static void env_drop(struct env_vec *v, const char *name, size_t n)
{
    size_t kept = 0;
    vec_each (char *, e, v)
        if (!env_names(*e, name, n))
            v->items[kept++] = *e;
    v->n = kept;
}

/* Fills v with the environment of the child. The strings belong to `environ` and to c->env. */
static void build_env(const struct child_process *c, struct env_vec *v)
{
    static const char *const basic[] = {"PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH"};
    for (char **e = environ; *e; e++) {
        bool keep = !c->clean_env;
        for (size_t i = 0; i < ARRAY_LEN(basic) && !keep; i++)
            keep = env_names(*e, basic[i], strlen(basic[i]));
        if (keep)
            *vec_push(v) = *e;
    }
    for (const char *const *e = c->env; e && *e; e++) {
        size_t n = strcspn(*e, "=");
        env_drop(v, *e, n);
        if ((*e)[n] == '=')
            *vec_push(v) = (char *)*e;
    }
    *vec_push(v) = NULL;
}

/* ---- descriptors ------------------------------------------------------------------------- */

/* Returns a copy of fd with a number of 10 or above. The program gets the descriptors 0 to 3, so
 * ours must not have these numbers. */
static int move_high(int fd)
{
    int h = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    return h;
}

/* Makes a pipe between us and the program. Our end does not block. The program's end is 10 or
 * above. */
static int make_pipe(int *ours, int *theirs, bool we_write)
{
    int p[2];
    if (pipe2(p, O_CLOEXEC) < 0)
        return -1;
    *ours = p[we_write ? 1 : 0];
    int other = p[we_write ? 0 : 1];
    *theirs = move_high(other);
    close(other);
    fcntl(*ours, F_SETFL, O_NONBLOCK);
    return *theirs < 0 ? -1 : 0;
}

static int open_null(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), h = -1;
    if (fd >= 0) {
        h = move_high(fd);
        close(fd);
    }
    return h;
}

static int open_streams(struct child_process *c, int fds[4])
{
    if (c->in_fd >= 0)
        fds[0] = move_high(c->in_fd);
    else if (c->input)
        make_pipe(&c->in_pipe, &fds[0], true);
    else
        fds[0] = open_null();
    if (c->out_fd >= 0)
        fds[1] = move_high(c->out_fd);
    else
        make_pipe(&c->out_pipe, &fds[1], false);
    if (c->merge)
        fds[2] = move_high(fds[1]);
    else if (c->err_fd >= 0)
        fds[2] = move_high(c->err_fd);
    else
        make_pipe(&c->err_pipe, &fds[2], false);
    if (c->pass_fd >= 0)
        fds[3] = move_high(c->pass_fd);
    bool ok = fds[0] >= 0 && fds[1] >= 0 && fds[2] >= 0 && (c->pass_fd < 0 || fds[3] >= 0);
    return ok ? 0 : -1;
}

/* ---- the loop's callbacks ------------------------------------------------------------------ */

/* Appends what can be read from fd without waiting. Returns true if no more will come. */
static bool drain(int fd, struct strbuf *sb)
{
    char buf[65536];
    for (;;) {
        ssize_t n = read(fd, buf, sizeof buf);
        if (n > 0)
            strbuf_add(sb, buf, (size_t)n);
        else if (n < 0 && errno == EINTR)
            continue;
        else
            return n == 0 || errno != EAGAIN;
    }
}

static void stop_reading(struct child_process *c, int *fd)
{
    loop_unwatch(c->loop, *fd);
    close_fd(fd);
}

static void on_output(struct loop *l, int fd, short revents, void *ctx)
{
    struct child_process *c = ctx;
    bool is_out = fd == c->out_pipe;
    if (drain(fd, is_out ? &c->out : &c->err))
        stop_reading(c, is_out ? &c->out_pipe : &c->err_pipe);
}

static void on_input(struct loop *l, int fd, short revents, void *ctx)
{
    struct child_process *c = ctx;
    const char *p = c->input;
    ssize_t n = write(fd, p + c->input_done, c->input_len - c->input_done);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        c->input_done += (size_t)n;
    if (n < 0 || c->input_done == c->input_len)
        stop_reading(c, &c->in_pipe);
}

/* Reads the rest of the output, closes all descriptors, and waits for the supervisor, which ends
 * the program first. If the program had ended before this call, the output is complete. */
static void read_rest(struct child_process *c)
{
    if (c->out_pipe >= 0)
        drain(c->out_pipe, &c->out);
    if (c->err_pipe >= 0)
        drain(c->err_pipe, &c->err);
    stop_reading(c, &c->in_pipe);
    stop_reading(c, &c->out_pipe);
    stop_reading(c, &c->err_pipe);
    stop_reading(c, &c->super_fd);
    while (c->super_pid > 0 && waitpid(c->super_pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    c->super_pid = 0;
    c->wall_ns = now_ns() - c->start_ns;
}

static ssize_t receive(struct child_process *c, struct super_msg *m)
{
    ssize_t n;
    do
        n = recv(c->super_fd, m, sizeof *m, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

static void on_report(struct loop *l, int fd, short revents, void *ctx)
{
    struct child_process *c = ctx;
    struct super_msg m;
    if (receive(c, &m) == (ssize_t)sizeof m && m.kind == SUPER_ENDED) {
        c->end = (enum child_end)m.end;
        c->code = m.status;
        c->cpu_ns = m.cpu_ns;
        c->peak_bytes = m.peak_bytes;
    } else {
        /* Somebody killed the supervisor. The program's process group can still be killed. */
        kill(-c->pid, SIGKILL);
        c->end = CHILD_SIGNALED;
        c->code = SIGKILL;
    }
    read_rest(c);
    if (c->on_end)
        c->on_end(c, c->ctx);
}

/* ---- start and end ------------------------------------------------------------------------- */

static int start_error(const struct child_process *c, const struct super_msg *m, struct err *err)
{
    errno = m->error;
    if (m->step == 3)
        return err_errno(err, "cannot limit what '%s' may do", c->argv[0]);
    if (m->step == 1 && c->dir)
        return err_errno(err, "cannot run '%s' in '%s'", c->argv[0], c->dir);
    return err_errno(err, "cannot run '%s'", c->argv[0]);
}

/* Starts the supervisor, and waits until it reports whether the program has started. */
static int launch(struct child_process *c, struct super_spec *s, struct err *err)
{
    int sv[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
        return err_errno(err, "socketpair");
    s->control = move_high(sv[1]);
    close(sv[1]);
    c->super_fd = sv[0];
    c->super_pid = fork();
    if (c->super_pid == 0) {
        close(sv[0]);
        supervise(s);
    }
    int fork_errno = errno;
    close(s->control);
    if (c->super_pid < 0) {
        errno = fork_errno;
        return err_errno(err, "cannot start a process");
    }
    struct super_msg m;
    if (receive(c, &m) != (ssize_t)sizeof m)
        return err_set(err, ERR_SYSTEM, "the supervisor of '%s' died at once", c->argv[0]);
    if (m.kind != SUPER_STARTED)
        return start_error(c, &m, err);
    c->pid = m.pid;
    return 0;
}

static int open_jail(const struct child_process *c, int *out, struct err *err)
{
    int fd = -1;
    if (!c->jail || jail_prepare(c->jail, &fd, err) < 0)
        return c->jail ? -1 : 0;
    *out = fd >= 0 ? move_high(fd) : -1;
    close_fd(&fd);
    return 0;
}

int child_start(struct child_process *c, struct loop *l, struct err *err)
{
    struct strbuf path = STRBUF_INIT(8192);
    struct env_vec env = VEC_INIT;
    int fds[4] = {-1, -1, -1, -1}, jail = -1, r = -1;
    if (!find_program(c->argv[0], &path)) {
        strbuf_release(&path);
        return err_set(err, ERR_ENV, "there is no program '%s'%s", c->argv[0],
                       strchr(c->argv[0], '/') ? "" : " on PATH");
    }
    /* A child that closes its standard input early must not kill Hone. */
    struct sigaction sa;
    if (sigaction(SIGPIPE, NULL, &sa) == 0 && sa.sa_handler == SIG_DFL)
        signal(SIGPIPE, SIG_IGN);
    strbuf_init(&c->out, c->max_out ? c->max_out : 1 << 20);
    strbuf_init(&c->err, c->max_err ? c->max_err : 1 << 20);
    c->loop = l;
    c->end = CHILD_RUNNING;
    c->start_ns = now_ns();
    c->input_done = 0;
    c->started = true;
    build_env(c, &env);
    if (open_streams(c, fds) < 0) {
        err_errno(err, "cannot make pipes for '%s'", c->argv[0]);
        goto out;
    }
    if (open_jail(c, &jail, err) < 0)
        goto out;
    struct super_spec s = {.path = path.buf,
                           .argv = (char *const *)c->argv,
                           .envp = env.items,
                           .dir = c->dir,
                           .fds = {fds[0], fds[1], fds[2], fds[3]},
                           .limit_ns = c->limit_ns,
                           .limit_cpu_ns = c->limit_cpu_ns,
                           .grace_ns = c->grace_ns,
                           .limit_bytes = c->limit_bytes,
                           .limit_file_bytes = c->limit_file_bytes,
                           .no_aslr = c->no_aslr,
                           .jail = jail,
                           .net = c->jail ? c->jail->net : JAIL_NET_ALL,
                           .jail_optional = c->jail && c->jail->optional};
    if (launch(c, &s, err) < 0)
        goto out;
    loop_watch(l, c->super_fd, POLLIN, on_report, c);
    if (c->in_pipe >= 0)
        loop_watch(l, c->in_pipe, POLLOUT, on_input, c);
    if (c->out_pipe >= 0)
        loop_watch(l, c->out_pipe, POLLIN, on_output, c);
    if (c->err_pipe >= 0)
        loop_watch(l, c->err_pipe, POLLIN, on_output, c);
    r = 0;
out:
    for (int i = 0; i < 4; i++)
        close_fd(&fds[i]);
    close_fd(&jail);
    if (r < 0)
        read_rest(c);
    vec_release(&env);
    strbuf_release(&path);
    return r;
}

int child_run(struct child_process *c, struct err *err)
{
    struct loop *l = loop_new();
    int r = child_start(c, l, err);
    while (r == 0 && c->end == CHILD_RUNNING)
        if (loop_step(l, LOOP_FOREVER, err) < 0)
            r = -1;
    if (c->super_fd >= 0) {
        close_fd(&c->super_fd);
        c->end = CHILD_KILLED;
        read_rest(c);
    }
    c->loop = NULL;
    loop_free(l);
    return r;
}

void child_terminate(struct child_process *c)
{
    if (c->super_fd >= 0)
        send(c->super_fd, "", 1, MSG_NOSIGNAL);
}

void child_release(struct child_process *c)
{
    if (!c->started)
        return;
    if (c->super_fd >= 0) {
        stop_reading(c, &c->super_fd);
        c->end = CHILD_KILLED;
        read_rest(c);
    }
    strbuf_release(&c->out);
    strbuf_release(&c->err);
    c->started = false;
}

void child_describe(const struct child_process *c, struct strbuf *out)
{
    switch (c->end) {
    case CHILD_RUNNING:
        strbuf_adds(out, "still running");
        return;
    case CHILD_EXITED:
        strbuf_addf(out, "exit status %d", c->code);
        return;
    case CHILD_SIGNALED:
        strbuf_addf(out, "killed by signal %d (%s)", c->code, strsignal(c->code));
        return;
    case CHILD_TIMEOUT:
        strbuf_addf(out, "over its time limit of %.3g s", (double)c->limit_ns / 1e9);
        return;
    case CHILD_CPU:
        strbuf_addf(out, "over its limit of %.3g s of CPU time", (double)c->limit_cpu_ns / 1e9);
        return;
    case CHILD_MEMORY:
        strbuf_addf(out, "over its memory limit of %.3g MiB", (double)c->limit_bytes / 0x1p20);
        return;
    case CHILD_KILLED:
        strbuf_adds(out, "killed on request");
        return;
    }
}
