/* python.c - starts python3 with Hone's Python program, and exchanges requests and replies with
 * it. */
#include "torch/python.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "sys/asset.h"
#include "sys/interrupt.h"
#include "sys/loop.h"
#include "sys/proc.h"

#define MEMORY_BYTES (UINT64_C(8) << 30)
#define WALL_FACTOR 10     /* elapsed time for an answer, in multiples of its CPU limit */
enum { REPLY_MAX = 4096 }; /* bytes; the rest is cut off */

struct python {
    struct loop *loop;
    struct child_process child;
    int to, from;
    const char *argv[5];
};

static int open_pipes(struct python *p, int in[2], int replies[2], struct err *err)
{
    if (pipe2(in, O_CLOEXEC) < 0)
        return err_errno(err, "cannot make a pipe");
    p->to = in[1];
    if (pipe2(replies, O_CLOEXEC) < 0) {
        close(in[0]);
        return err_errno(err, "cannot make a pipe");
    }
    p->from = replies[0];
    return 0;
}

struct python *python_start(struct err *err)
{
    const struct asset *program = asset_find("src/worker/torch_sidecar.py");
    const char *name = getenv("HONE_PYTHON");
    int in[2] = {-1, -1}, replies[2] = {-1, -1};
    if (!program)
        BUG("the sidecar's program is not embedded");
    struct python *p = xcalloc(1, sizeof *p);
    *p = (struct python){.child = CHILD_INIT, .to = -1, .from = -1};
    p->argv[0] = name && *name ? name : "python3";
    p->argv[1] = "-u";
    p->argv[2] = "-c";
    p->argv[3] = program->data;
    p->loop = loop_new();
    int rc = open_pipes(p, in, replies, err);
    if (rc == 0) {
        p->child.argv = p->argv;
        p->child.in_fd = in[0];
        p->child.pass_fd = replies[1];
        p->child.merge = true;
        p->child.limit_bytes = MEMORY_BYTES;
        rc = child_start(&p->child, p->loop, err);
        close(in[0]);
        close(replies[1]);
    }
    if (rc == 0)
        return p;
    python_stop(p);
    return NULL;
}

void python_stop(struct python *p)
{
    if (!p)
        return;
    child_release(&p->child);
    loop_free(p->loop);
    if (p->to >= 0)
        close(p->to);
    if (p->from >= 0)
        close(p->from);
    free(p);
}

static int no_answer(const struct python *p, struct err *err)
{
    const char *said = p->child.out.len ? p->child.out.buf : "";
    return err_set(err, ERR_ENV, "%s ended without an answer%s%.300s", p->argv[0],
                   *said ? ": " : "", said);
}

/* Sends a request to Python. There is one request at a time. If it is long, write() waits until
 * Python has read enough of it. */
static int send_line(struct python *p, const char *text, struct err *err)
{
    char *line = xasprintf("%s\n", text);
    size_t len = strlen(line);
    ssize_t n = write(p->to, line, len);
    free(line);
    return n == (ssize_t)len ? 0 : no_answer(p, err);
}

/* Returns the CPU time of all threads of the program; 0 if it has ended. */
static uint64_t cpu_ns(const struct python *p)
{
    struct timespec t;
    clockid_t clock;
    if (clock_getcpuclockid(p->child.pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
        return 0;
    return (uint64_t)t.tv_sec * SEC + (uint64_t)t.tv_nsec;
}

/* Reads a reply up to its newline. Meanwhile the loop reads what the program prints, so that the
 * pipe for this output does not fill up. */
static int read_line(struct python *p, uint64_t limit_ns, char *reply, struct err *err)
{
    uint64_t start = now_ns(), start_cpu = cpu_ns(p);
    size_t n = 0;
    for (;;) {
        struct pollfd fd = {p->from, POLLIN, 0};
        if (loop_step(p->loop, 0, err) < 0)
            return -1;
        if (cpu_ns(p) > start_cpu + limit_ns || now_ns() > start + WALL_FACTOR * limit_ns)
            return err_set(err, ERR_LIMIT, "%s did not answer within %.0f s of CPU time",
                           p->argv[0], (double)limit_ns / 1e9);
        if (poll(&fd, 1, 20) <= 0)
            continue;
        char c;
        ssize_t got = read(p->from, &c, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return no_answer(p, err);
        if (c == '\n')
            break;
        if (n < REPLY_MAX - 1)
            reply[n++] = c;
    }
    reply[n] = '\0';
    return 0;
}

char *python_ask(struct python *p, json_t *request, uint64_t limit_ns, struct err *err)
{
    char reply[REPLY_MAX], *text = json_dumps(request, JSON_COMPACT);
    json_decref(request);
    int rc = text ? send_line(p, text, err)
                  : err_set(err, ERR_INTERNAL, "a request to %s is not JSON", p->argv[0]);
    free(text);
    if (rc < 0 || read_line(p, limit_ns, reply, err) < 0)
        return NULL;
    if (str_starts(reply, "ok"))
        return xstrdup(reply[2] ? reply + 3 : "");
    err_set(err, ERR_INPUT, "%s", str_starts(reply, "error ") ? reply + 6 : reply);
    return NULL;
}
