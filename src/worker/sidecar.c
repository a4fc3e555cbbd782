/* sidecar.c - starts sidecars and sends them requests. See sidecar.h. */
#include "worker/sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "job/torch_variants.h"
#include "worker/bundle.h"

enum { REPLY_MAX = 1024, REQUEST_MAX = 1 << 20 };
static const uint64_t SEC = 1000000000;

__asm__(".section .rodata\n"
        "sidecar_program:\n"
        ".incbin \"src/worker/torch_sidecar.py\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char sidecar_program[];

struct sidecar {
    pid_t pid;
    int to, from;     /* pipes for requests and replies */
    uint32_t at_case; /* the case that the last request `case` sent; UINT32_MAX = none */
    bool opened;      /* `open` was sent */
    /* The reply to `open` is still to come. Without an earlier `load`, the process first imports
     * PyTorch. */
    bool opening;
    uint64_t born_ns;
};

/* ---- writing JSON ---------------------------------------------------------------------------- */

static void put_string(struct strbuf *sb, const char *s)
{
    strbuf_addc(sb, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            strbuf_addf(sb, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            strbuf_addf(sb, "\\u%04x", (unsigned char)*s);
        else
            strbuf_addc(sb, *s);
    }
    strbuf_addc(sb, '"');
}

/* ---- the process ----------------------------------------------------------------------------- */

static void exec_python(int in, int out, pid_t parent)
{
    const char *python = getenv("HONE_PYTHON");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(3);
    signal(SIGPIPE, SIG_DFL);
    /* Replies go to descriptor 3; all that the PyTorch program prints goes to stderr. */
    int o = fcntl(out, F_DUPFD, 10), i = fcntl(in, F_DUPFD, 10);
    if (dup2(i, 0) < 0 || dup2(2, 1) < 0 || dup2(o, 3) < 0)
        _exit(3);
    for (int fd = 4; fd < 1024; fd++)
        close(fd);
    unsetenv("CUDA_MODULE_LOADING");
    /* In a virtual environment, Python finds its packages by the path in argv[0]. */
    const char *program = python && *python ? python : "python3";
    execlp(program, program, "-u", "-c", sidecar_program, (char *)NULL);
    _exit(3);
}

static struct sidecar *start_python(struct err *err)
{
    int to[2] = {-1, -1}, from[2];
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0) {
        err_errno(err, "cannot make a pipe");
        if (to[0] >= 0) {
            close(to[0]);
            close(to[1]);
        }
        return NULL;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        exec_python(to[0], from[1], parent);
    close(to[0]);
    close(from[1]);
    if (pid < 0) {
        err_errno(err, "cannot start python3");
        close(to[1]);
        close(from[0]);
        return NULL;
    }
    struct sidecar *s = xcalloc(1, sizeof *s);
    *s = (struct sidecar){
        .pid = pid, .to = to[1], .from = from[0], .at_case = UINT32_MAX, .born_ns = now_ns()};
    return s;
}

void sidecar_stop(struct sidecar *s)
{
    if (!s)
        return;
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(s->to);
    close(s->from);
    free(s);
}

static int send_line(struct sidecar *s, const struct strbuf *line, struct err *err)
{
    for (size_t at = 0; at < line->len;) {
        ssize_t n = write(s->to, line->buf + at, line->len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(err, ERR_ENV,
                           "the PyTorch sidecar ended (is there a python3 with "
                           "PyTorch and CUDA?)");
        at += (size_t)n;
    }
    return 0;
}

static int read_reply(struct sidecar *s, char *reply, uint64_t timeout_ns, struct err *err)
{
    uint64_t end = now_ns() + timeout_ns;
    size_t n = 0;
    for (;;) {
        uint64_t now = now_ns();
        struct pollfd p = {s->from, POLLIN, 0};
        if (now >= end)
            return err_set(err, ERR_LIMIT, "the PyTorch sidecar did not answer within %.0f s",
                           (double)timeout_ns / 1e9);
        if (poll(&p, 1, (int)((end - now) / 1000000) + 1) <= 0)
            continue;
        char c;
        ssize_t got = read(s->from, &c, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return err_set(err, ERR_ENV,
                           "the PyTorch sidecar ended (is there a python3 with "
                           "PyTorch and CUDA?)");
        if (c == '\n')
            break;
        if (n < REPLY_MAX - 1)
            reply[n++] = c;
    }
    reply[n] = '\0';
    return 0;
}

/* Sends the request in `line`, and releases the buffer of `line`. */
static int request(struct sidecar *s, struct strbuf *line, struct err *err)
{
    strbuf_addc(line, '\n');
    int rc = line->truncated ? err_set(err, ERR_LIMIT, "the request is too long") : 0;
    if (rc == 0)
        rc = send_line(s, line, err);
    strbuf_release(line);
    return rc;
}

/* Waits for a reply. Fails if the reply does not begin with "ok". *rest becomes the text after "ok"
 * and a blank. */
static int wait_reply(struct sidecar *s, uint64_t timeout_ns, char *reply, const char **rest,
                      struct err *err)
{
    int rc = read_reply(s, reply, timeout_ns, err);
    if (rc == 0 && !str_starts(reply, "ok"))
        rc = err_set(err, ERR_ENV, "PyTorch: %s", str_starts(reply, "error ") ? reply + 6 : reply);
    if (rc == 0 && rest)
        *rest = str_starts(reply, "ok ") ? reply + 3 : "";
    return rc;
}

static int send_and_wait(struct sidecar *s, struct strbuf *line, uint64_t timeout_ns, char *reply,
                         const char **rest, struct err *err)
{
    return request(s, line, err) < 0 ? -1 : wait_reply(s, timeout_ns, reply, rest, err);
}

/* ---- requests -------------------------------------------------------------------------------- */

/*
 * A module's spec has the lines "axes NAME...", "scalars NAME...", "mode MODE", "tf32
 * 0|1|convs" and, if the mode needs them, "weights NAME...", then a blank line, then the program.
 * If a spec does not begin with "axes", all of it is the program, and the module's name decides the
 * mode.
 */
struct program {
    char *axes, *scalars, *weights; /* names, separated by spaces */
    char *mode;                     /* of a variant (job/torch_variants.h) */
    const char *tf32;               /* JSON: true, false, or "convs" for convolutions only */
    const char *source;
};

static char *header_line(const char *spec, const char *key)
{
    for (const char *p = spec; *p && *p != '\n'; p += strcspn(p, "\n"), p += *p == '\n')
        if (str_starts(p, key) && p[strlen(key)] == ' ')
            return xstrndup(p + strlen(key) + 1, strcspn(p, "\n") - strlen(key) - 1);
    return xstrdup("");
}

static struct program parse_program(const char *spec, const char *module)
{
    struct program p = {.source = spec};
    bool headed = str_starts(spec, "axes ") || str_starts(spec, "axes\n");
    const char *blank = headed ? strstr(spec, "\n\n") : NULL;
    const struct torch_variant *named = headed ? NULL : torch_variant_find(module);
    char *tf32 = header_line(headed ? spec : "", "tf32");
    p.axes = header_line(headed ? spec : "", "axes");
    p.scalars = header_line(headed ? spec : "", "scalars");
    p.weights = header_line(headed ? spec : "", "weights");
    p.mode = headed ? header_line(spec, "mode") : xstrdup(named ? named->mode : "eager");
    p.tf32 = str_eq(tf32, "1") ? "true" : str_eq(tf32, "convs") ? "\"convs\"" : "false";
    if (blank)
        p.source = blank + 2;
    free(tf32);
    return p;
}

static void program_release(struct program *p)
{
    free(p->axes);
    free(p->scalars);
    free(p->weights);
    free(p->mode);
}

/* `gpu` is a JSON text: a number, or null for the CPU. */
static int tell_open(struct sidecar *s, const struct program *p, const char *gpu, struct err *err)
{
    struct strbuf sb = STRBUF_INIT(REQUEST_MAX);
    strbuf_adds(&sb, "{\"op\": \"open\", \"source\": ");
    put_string(&sb, p->source);
    strbuf_adds(&sb, ", \"mode\": ");
    put_string(&sb, p->mode);
    if (*p->weights) {
        strbuf_adds(&sb, ", \"weights\": ");
        put_string(&sb, p->weights);
    }
    strbuf_addf(&sb, ", \"tf32\": %s, \"gpu\": %s}", p->tf32, gpu);
    s->opening = s->opened = true;
    return request(s, &sb, err);
}

static int tell_load(struct sidecar *s, const struct program *p, struct err *err)
{
    struct strbuf sb = STRBUF_INIT(REQUEST_MAX);
    strbuf_adds(&sb, "{\"op\": \"load\", \"mode\": ");
    put_string(&sb, p->mode);
    strbuf_addc(&sb, '}');
    return request(s, &sb, err);
}

static int await_open(struct job_run *r, struct sidecar *s, uint32_t module, struct err *err)
{
    char reply[REPLY_MAX];
    const char *info = "";
    if (!s->opening)
        return 0;
    s->opening = false;
    if (wait_reply(s, 120 * SEC, reply, &info, err) < 0)
        return -1;
    r->res.modules[module].message = arena_strdup(&r->arena, info);
    log_info("worker", "%s: ready after %.1f s", info, (double)(now_ns() - s->born_ns) / 1e9);
    return 0;
}

static int start_sidecar(struct job_run *r, struct module_state *ms, bool open, struct err *err)
{
    if (ms->sidecar && (ms->sidecar->opened || !open))
        return 0;
    const struct job_module *m = &r->job->modules[ms - r->mods];
    struct program p = parse_program(m->spec, m->name);
    char gpu[16];
    snprintf(gpu, sizeof gpu, "%d", (int)r->job->ordinal);
    if (!ms->sidecar)
        ms->sidecar = start_python(err);
    int rc = !ms->sidecar ? -1
             : open       ? tell_open(ms->sidecar, &p, gpu, err)
                          : tell_load(ms->sidecar, &p, err);
    program_release(&p);
    return rc;
}

static bool is_called(const struct job *j, uint32_t module)
{
    for (uint32_t c = 0; c < j->ncases; c++)
        for (uint32_t p = 0; p < j->cases[c].nprograms; p++)
            if (j->cases[c].programs[p].module == module)
                return true;
    return false;
}

static void start_all(struct job_run *r, bool open)
{
    for (uint32_t m = 0; m < r->job->nmodules; m++)
        if (r->job->modules[m].kind == JOB_MODULE_TORCH && is_called(r->job, m))
            start_sidecar(r, &r->mods[m], open, NULL); /* sidecar_call() tries again */
}

void sidecar_prepare(struct job_run *r)
{
    if (r->dev->ops->share)
        start_all(r, true);
}

void sidecar_load(struct job_run *r)
{
    start_all(r, false);
    for (uint32_t m = 0; m < r->job->nmodules; m++) {
        struct sidecar *s = r->mods[m].sidecar;
        char reply[REPLY_MAX];
        if (!s || wait_reply(s, 120 * SEC, reply, NULL, NULL) == 0)
            continue;
        sidecar_stop(s); /* sidecar_call() starts it again and reports failures */
        r->mods[m].sidecar = NULL;
    }
}

static void put_named(struct strbuf *sb, const char *names, uint32_t n, const int64_t *ints,
                      const double *doubles)
{
    strbuf_addc(sb, '{');
    for (uint32_t i = 0; i < n && *names; i++) {
        size_t len = strcspn(names, " ");
        char *name = xstrndup(names, len);
        strbuf_adds(sb, i ? ", " : "");
        put_string(sb, name);
        if (ints)
            strbuf_addf(sb, ": %" PRId64, ints[i]);
        else if (doubles)
            strbuf_addf(sb, ": %.17g", doubles[i]);
        free(name);
        names += len + (names[len] == ' ');
    }
    strbuf_addc(sb, '}');
}

static int tell_case(struct sidecar *s, const struct job_case *jc, const struct program *p,
                     bool workspaces, struct err *err)
{
    static const char *const roles[] = {"input", "output", "inout", "workspace"};
    bool any = false;
    struct strbuf sb = STRBUF_INIT(REQUEST_MAX);
    char reply[REPLY_MAX];
    strbuf_adds(&sb, "{\"op\": \"case\", \"axes\": ");
    put_named(&sb, p->axes, jc->naxes, jc->axes, NULL);
    strbuf_adds(&sb, ", \"scalars\": ");
    put_named(&sb, p->scalars, jc->nscalars, NULL, jc->scalars);
    strbuf_adds(&sb, ", \"buffers\": [");
    for (uint32_t i = 0; i < jc->nbuffers; i++) {
        const struct job_buffer *b = &jc->buffers[i];
        if (b->role == JOB_WORKSPACE && !workspaces)
            continue;
        strbuf_adds(&sb, any ? ", {\"name\": " : "{\"name\": ");
        any = true;
        put_string(&sb, b->name);
        strbuf_addf(&sb, ", \"role\": \"%s\", \"dtype\": \"%s\", \"shape\": [", roles[b->role],
                    dtype_name(b->dtype));
        for (uint32_t k = 0; k < b->rank; k++)
            strbuf_addf(&sb, "%s%" PRId64, k ? ", " : "", b->dims[k]);
        strbuf_adds(&sb, "]}");
    }
    strbuf_adds(&sb, "]}");
    return send_and_wait(s, &sb, 120 * SEC, reply, NULL, err);
}

/* Returns the time limit of a call. PyTorch may compile for minutes in the first call of a
 * shape. */
static uint64_t call_limit(const struct program *p)
{
    const struct torch_variant *v = torch_variant_of_mode(p->mode);
    return (v ? v->first_call_s : 300) * SEC;
}

static int tell_call(struct job_run *r, struct sidecar *s, uint32_t c, const struct job_call *call,
                     const uint64_t *addr, uint64_t limit_ns, double *time_ns, struct err *err)
{
    const struct job_case *jc = &r->job->cases[c];
    bool timed = call->flags & JOB_CALL_TIMED, any = false;
    struct strbuf sb = STRBUF_INIT(REQUEST_MAX);
    char reply[REPLY_MAX];
    const char *ns;
    strbuf_addf(&sb, "{\"op\": \"call\", \"timed\": %s, \"buffers\": [", timed ? "true" : "false");
    for (uint32_t i = 0; i < jc->nbuffers; i++) {
        uint8_t h[64];
        uint64_t offset;
        if (jc->buffers[i].role == JOB_WORKSPACE)
            continue;
        if (r->dev->ops->share(r->dev, addr[i], h, &offset, err) < 0) {
            strbuf_release(&sb);
            return -1;
        }
        strbuf_adds(&sb, any ? ", {\"handle\": \"" : "{\"handle\": \"");
        for (size_t k = 0; k < sizeof h; k++)
            strbuf_addf(&sb, "%02x", h[k]);
        strbuf_addf(&sb, "\", \"offset\": %" PRIu64 "}", offset);
        any = true;
    }
    strbuf_adds(&sb, "]}");
    uint64_t began = now_ns();
    if (send_and_wait(s, &sb, limit_ns, reply, &ns, err) < 0)
        return -1;
    if (now_ns() - began > SEC)
        log_info("worker", "a call of PyTorch took %.1f s", (double)(now_ns() - began) / 1e9);
    if (timed)
        *time_ns = strtod(ns, NULL);
    if (timed && !(*time_ns > 0))
        return err_set(err, ERR_ENV, "the PyTorch sidecar gave no time: '%.100s'", ns);
    return 0;
}

enum result_status sidecar_call(struct job_run *r, struct module_state *ms, uint32_t c,
                                const struct job_call *call, const uint64_t *addr, double *time_ns,
                                struct err *err)
{
    uint32_t module = (uint32_t)(ms - r->mods);
    if (!r->dev->ops->share) {
        err_set(err, ERR_ENV, "PyTorch baselines need a GPU");
        return RESULT_LOAD_FAILED;
    }
    /* Our queued work must finish before another process reads the buffers. */
    enum result_status st = r->dev->ops->sync(r->dev, r->job->limits.call_ns, err);
    if (st != RESULT_OK)
        return st;
    const struct job_module *m = &r->job->modules[module];
    struct program p = parse_program(m->spec, m->name);
    uint64_t limit_ns = call_limit(&p);
    int rc = start_sidecar(r, ms, true, err);
    if (rc == 0)
        rc = await_open(r, ms->sidecar, module, err);
    if (rc == 0 && ms->sidecar->at_case != c) {
        rc = tell_case(ms->sidecar, &r->job->cases[c], &p, true, err);
        ms->sidecar->at_case = c;
    }
    program_release(&p);
    if (rc == 0)
        rc = tell_call(r, ms->sidecar, c, call, addr, limit_ns, time_ns, err);
    if (rc < 0) {
        sidecar_stop(ms->sidecar);
        ms->sidecar = NULL;
    }
    return rc < 0 ? RESULT_LOAD_FAILED : RESULT_OK;
}

/* ---- a reference in Python ------------------------------------------------------------------- */

struct sidecar *sidecar_open_reference(const char *spec, struct err *err)
{
    char reply[REPLY_MAX];
    const char *info = "";
    struct program p = parse_program(spec, "");
    struct sidecar *s = start_python(err);
    int rc = s ? tell_open(s, &p, "null", err) : -1;
    rc = rc < 0 ? rc : wait_reply(s, 120 * SEC, reply, &info, err);
    program_release(&p);
    if (rc < 0) {
        err_prefix(err, "the task's reference is in Python and needs PyTorch (HONE_PYTHON)");
        sidecar_stop(s);
        return NULL;
    }
    log_info("worker", "%s computes the truth", info);
    return s;
}

/* Returns the name of the file that passes buffer i to or from the sidecar. The caller frees it. */
static char *data_name(uint32_t i)
{
    return xasprintf("truth.%u", i);
}

static int write_inputs(const struct job_case *c, const void *const *in, const char *dir,
                        struct strbuf *request, struct err *err)
{
    int rc = 0;
    bool any = false;
    for (uint32_t i = 0; i < c->nbuffers && rc == 0; i++) {
        if (c->buffers[i].role == JOB_WORKSPACE)
            continue;
        char *name = data_name(i), *path = bundle_path(dir, name);
        if (in[i])
            rc = bundle_write(dir, name, in[i], c->buffers[i].bytes, false, err);
        strbuf_adds(request, any ? ", {\"file\": " : "{\"file\": ");
        put_string(request, path);
        strbuf_addc(request, '}');
        any = true;
        free(path);
        free(name);
    }
    return rc;
}

static int read_outputs(const struct job_case *c, double *const *want, const char *dir,
                        struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < c->nbuffers && rc == 0; i++) {
        if (!want[i])
            continue;
        size_t bytes = c->buffers[i].elems * sizeof(double), len = 0;
        char *name = data_name(i), *data = NULL;
        rc = bundle_read(dir, name, bytes, &data, &len, err);
        if (rc == 0 && len != bytes)
            rc = err_set(err, ERR_SYSTEM, "PyTorch wrote %zu bytes of '%s'; %zu were expected", len,
                         c->buffers[i].name, bytes);
        if (rc == 0 && bytes)
            memcpy(want[i], data, bytes);
        free(data);
        free(name);
    }
    return rc;
}

int sidecar_truth(struct sidecar *s, const char *spec, const struct job_case *c,
                  const void *const *in, double *const *want, const char *dir, struct err *err)
{
    struct strbuf sb = STRBUF_INIT(REQUEST_MAX);
    struct program p = parse_program(spec, "");
    char reply[REPLY_MAX];
    strbuf_adds(&sb, "{\"op\": \"call\", \"timed\": false, \"wide\": true, \"buffers\": [");
    int rc = tell_case(s, c, &p, false, err);
    program_release(&p);
    rc = rc < 0 ? rc : write_inputs(c, in, dir, &sb, err);
    strbuf_adds(&sb, "]}");
    if (rc == 0)
        rc = send_and_wait(s, &sb, 300 * SEC, reply, NULL, err);
    else
        strbuf_release(&sb);
    rc = rc < 0 ? rc : read_outputs(c, want, dir, err);
    for (uint32_t i = 0; i < c->nbuffers; i++) {
        char *name = data_name(i), *path = bundle_path(dir, name);
        unlink(path);
        free(path);
        free(name);
    }
    return rc;
}
