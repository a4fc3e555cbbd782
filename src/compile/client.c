/*
 * client.c - starts the compile service, sends it jobs over a socket, and waits for their results.
 */
#include "compile/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "sys/file.h"
#include "sys/interrupt.h"

/* Finds the program `hone`. If this process is a test or a tool, looks in the same build folder. */
void client_program(char *out, size_t cap)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    *out = '\0';
    if (n <= 0)
        return;
    self[n] = '\0';
    char *base = strrchr(self, '/');
    if (!base)
        return;
    if (str_eq(base, "/hone")) {
        snprintf(out, cap, "%s", self);
        return;
    }
    *base = '\0';
    static const char *const beside[] = {"hone", "../hone", "../../../bin/hone"};
    for (size_t i = 0; i < ARRAY_LEN(beside); i++) {
        snprintf(out, cap, "%s/%s", self, beside[i]);
        if (file_is_executable(out))
            return;
    }
    *out = '\0';
}

static void run_service(const struct client *c, int fd, const char *program)
{
    setpgid(0, 0); /* an interrupt from the terminal must reach only the client */
    if (fd != COMPILE_SERVICE_FD)
        dup2(fd, COMPILE_SERVICE_FD);
    else
        fcntl(fd, F_SETFD, 0);
    if (*program) {
        char jobs[16];
        snprintf(jobs, sizeof jobs, "%u", c->jobs);
        personality(ADDR_NO_RANDOMIZE);
        /* The compiler's data are gigabytes of small objects. Huge pages save a fifth of its
         * time. */
        setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864", 0);
        execl(program, "hone", "compile", COMPILE_SERVICE_ARG, c->nvrtc, jobs, (char *)NULL);
    }
    close_range(COMPILE_SERVICE_FD + 1, ~0u, 0);
    _exit(compile_service_main(c->nvrtc, c->jobs));
}

static int client_start(struct client *c, struct err *err)
{
    if (c->pid)
        return 0;
    int pair[2];
    char program[4096], hello[512];
    client_program(program, sizeof program);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(err, "socketpair");
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        run_service(c, pair[1], program);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return err_errno(err, "cannot start the compile service");
    }
    c->pid = pid;
    c->fd = pair[0];
    c->fixed_addresses = *program != '\0';
    ssize_t n;
    do
        n = recv(c->fd, hello, sizeof hello - 1, 0);
    while (n < 0 && errno == EINTR);
    hello[MAX(n, 0)] = '\0';
    if (!str_eq(hello, "ready")) {
        client_stop(c);
        return err_set(err, ERR_ENV, "the compile service did not start: %s",
                       *hello ? hello : "it ended at once");
    }
    log_debug("compile", "service %d started: %s", (int)pid, *program ? program : "fork");
    return 0;
}

void client_stop(struct client *c)
{
    if (!c->pid)
        return;
    shutdown(c->fd, SHUT_RDWR);
    close(c->fd);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    c->pid = 0;
}

void client_reap(struct client *c, const struct client_job *job)
{
    if (c->pid && c->pid == job->service) {
        kill(c->pid, SIGKILL);
        client_stop(c);
    }
}

static int memfd_with(const char *name, const void *data, size_t len)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    for (size_t done = 0; fd >= 0 && done < len;) {
        ssize_t n = pwrite(fd, (const char *)data + done, len - done, (off_t)done);
        if (n <= 0) {
            close(fd);
            return -1;
        }
        done += (size_t)n;
    }
    return fd;
}

static int send_job(struct client *c, struct client_job *job, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(err, "socketpair");
    struct iovec iov = {&job->spec, sizeof job->spec};
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(3 * sizeof(int))];
    } u = {0};
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = u.buf, .msg_controllen = sizeof u.buf};
    struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(3 * sizeof(int));
    int fds[3] = {job->request_fd, job->result_fd, pair[1]};
    memcpy(CMSG_DATA(h), fds, sizeof fds);
    ssize_t n;
    do
        n = sendmsg(c->fd, &msg, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    close(pair[1]);
    if (n < 0) {
        close(pair[0]);
        return err_errno(err, "the compile service does not answer");
    }
    job->reply_fd = pair[0];
    job->service = c->pid;
    return 0;
}

int client_resubmit(struct client *c, struct client_job *job, struct err *err)
{
    if (job->reply_fd >= 0)
        close(job->reply_fd);
    job->reply_fd = -1;
    for (int tries = 0; tries < 2; tries++) {
        if (client_start(c, err) < 0)
            return -1;
        if (ftruncate(job->result_fd, 0) == 0 && send_job(c, job, err) == 0)
            return 0;
        client_stop(c); /* the service died: try once more with a new one */
    }
    return -1;
}

int client_submit(struct client *c, const struct compile_job_spec *spec,
                  const struct compile_job_request *rq, struct client_job *job, struct err *err)
{
    struct strbuf data = STRBUF_INIT((size_t)64 << 20);
    *job = (struct client_job)CLIENT_JOB_INIT;
    job->spec = *spec;
    compile_job_request_write(rq, &data);
    job->request_fd = memfd_with("hone-request", data.buf, data.len);
    job->result_fd = memfd_with("hone-result", "", 0);
    strbuf_release(&data);
    if (job->request_fd < 0 || job->result_fd < 0)
        return err_errno(err, "cannot create a memory file for a compile");
    return client_resubmit(c, job, err);
}

int client_wait(struct client_job *job, struct compile_job_reply *reply, struct err *err)
{
    struct pollfd p[] = {{.fd = job->reply_fd, .events = POLLIN},
                         {.fd = interrupt_fd(), .events = POLLIN}};
    ssize_t n;
    do {
        if (poll(p, ARRAY_LEN(p), -1) >= 0 && !p[0].revents && interrupt_check(err) < 0)
            return -1;
        n = recv(job->reply_fd, reply, sizeof *reply, MSG_DONTWAIT);
    } while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n < 0 && errno != ECONNRESET)
        return err_errno(err, "waiting for the compile service");
    return n == (ssize_t)sizeof *reply;
}

int client_result(struct client_job *job, struct compile_job_result *out, struct arena *a,
                  struct err *err)
{
    struct stat st;
    if (fstat(job->result_fd, &st) < 0)
        return err_errno(err, "compile result");
    if (st.st_size == 0)
        return err_set(err, ERR_INTERNAL, "the compile process wrote no result");
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, job->result_fd, 0);
    if (p == MAP_FAILED)
        return err_errno(err, "compile result");
    int rc = compile_job_result_read(p, (size_t)st.st_size, out, a, err);
    munmap(p, (size_t)st.st_size);
    return rc;
}

void client_job_release(struct client_job *job)
{
    int *fds[] = {&job->reply_fd, &job->request_fd, &job->result_fd};
    if (job->reply_fd >= 0)
        shutdown(job->reply_fd, SHUT_RDWR);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}
