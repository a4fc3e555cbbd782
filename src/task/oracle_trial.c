/*
 * oracle_trial.c - runs an oracle (a task's compiled reference) in a child process with limits.
 */
#include "task/oracle_trial.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "job/compare_core.h"
#include "job/gen.h"
#include "sys/file.h"
#include "sys/interrupt.h"
#include "sys/jail.h"
#include "task/oracle.h"
#include "task/oracle_watch.h"

/* Hone wrote the reference.c of an imported task (t->graph_json). It gets more CPU time. */
enum { CPU_SECONDS = 10, WALL_SECONDS = 600, IMPORTED_PATIENCE = 6 };
/* The limit on CPU time assumes this rate, but is at least CPU_SECONDS. */
static const double FLOPS_PER_SECOND = 1e8;
/* With more operations, units of an imported task run on all cores. */
static const double ONE_THREAD_OPS = 2e7;
/* If a run of an imported task has at least this many operations, a file keeps its results for
 * later runs. */
static const double LONG_OPS = 1e8;
#define MEMORY_BYTES (UINT64_C(16) << 30)

static double unwritten(void)
{
    return compare_from_bits(0x7ff8dead0000beefu);
}

bool oracle_is_unwritten(double v)
{
    return compare_to_bits(v) == 0x7ff8dead0000beefu;
}

/* ---- inputs and results ---------------------------------------------------------------------- */

int oracle_trial_init(struct oracle_trial *x, const struct shape *s, uint64_t seed, struct err *err)
{
    const struct task *t = s->task;
    size_t outs = 0, k = 0;
    *x = (struct oracle_trial){.shape = s, .seed = seed};
    for (size_t i = 0; i < t->tensors.n; i++)
        outs += t->tensors.items[i].is_output ? s->elems[i] : 0;
    x->shared_bytes = 2 * outs * sizeof(double);
    x->shared =
        mmap(NULL, x->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (x->shared == MAP_FAILED) {
        x->shared = NULL;
        return err_errno(err, "memory for the oracle");
    }
    for (size_t i = 0; i < t->tensors.n; i++) {
        const struct task_tensor *tensor = &t->tensors.items[i];
        struct gen_spec spec;
        if (tensor->is_output) {
            x->value[i] = x->shared + k;
            x->mag[i] = x->shared + outs + k;
            k += s->elems[i];
        }
        if (!tensor->is_input)
            continue;
        if (shape_init(s, i, &spec, err) < 0)
            return -1;
        x->in[i] = xmalloc(s->elems[i] * dtype_bytes(tensor->dtype));
        gen_fill(&spec, tensor->dtype, seed, tensor->stream, 0, s->elems[i], x->in[i]);
    }
    return 0;
}

void oracle_trial_release(struct oracle_trial *x)
{
    for (size_t i = 0; i < TASK_MAX_TENSORS; i++)
        free(x->in[i]);
    if (x->shared)
        munmap(x->shared, x->shared_bytes);
    *x = (struct oracle_trial){.shape = NULL};
}

/* ---- in the child process -------------------------------------------------------------------- */

struct report {
    char text[1800];
    /* The numbers of the phase, unit and step that run now. phase is -1 between phases, unit is -1
     * while several units run, step is -1 in a phase that is not repeated. */
    volatile int64_t phase, unit, step;
};

struct child {
    struct oracle_ctx x; /* must be first: watch() casts its `ref` to struct child */
    struct oracle_watch watch;
    struct report *report;
};

static const char *step_text(const struct report *r, char *text, size_t size)
{
    text[0] = '\0';
    if (r->step >= 0)
        snprintf(text, size, " of step %lld", (long long)r->step);
    return text;
}

static void give_up(void *data, const char *text)
{
    struct report *r = data;
    snprintf(r->text, sizeof r->text, "%s", text);
    _exit(1);
}

static void watch(const struct ref_ctx *ctx, int kind, int tensor, int64_t i, int line)
{
    struct child *c = (struct child *)ctx;
    oracle_watch_access(&c->watch, kind, tensor, i, line);
}

/* Static, because the compiler's checks pass no argument to their handler. */
static struct report *undefined_to;

static void on_undefined(const char *what, const char *file, int line)
{
    char text[512], step[40];
    snprintf(text, sizeof text, "%s:%d: undefined behaviour: %s (unit %lld%s)", file, line, what,
             (long long)undefined_to->unit, step_text(undefined_to, step, sizeof step));
    give_up(undefined_to, text);
}

/* Returns the unit at position k of a shuffled order. This order visits all n units, in steps of
 * about 0.618 * n. */
static int64_t shuffled(int64_t k, int64_t n)
{
    if (n <= 1)
        return 0;
    int64_t step = MAX((int64_t)(0.6180339887 * (double)n), 1);
    for (;; step++) {
        int64_t a = step, b = n;
        while (b) {
            int64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            break;
    }
    return (int64_t)(((__int128)k * step + n / 2) % n);
}

static void run_step(struct child *c, const struct oracle_phase *p, size_t i, const char *fn,
                     int64_t step, enum oracle_mode mode)
{
    int64_t first = shuffled(0, p->units), stride = shuffled(1, p->units) - first;
    c->report->step = p->repeat > 1 ? step : -1;
    for (int64_t k = 0, at = first; k < p->units; k++) {
        int64_t unit = mode == ORACLE_SHUFFLED ? at : k;
        c->report->unit = unit;
        if (mode == ORACLE_WATCHED)
            oracle_watch_unit(&c->watch, i, fn, step, unit);
        p->fn(p->ctx, unit, 1, step);
        at += stride;
        at += at < 0 ? p->units : at >= p->units ? -p->units : 0;
    }
}

static int run_units(struct child *c, void *so, const struct shape *s, enum oracle_mode mode,
                     struct err *err)
{
    unsigned threads = oracle_operations(s) > ONE_THREAD_OPS ? oracle_threads() : 1;
    for (size_t i = 0; i < s->task->phases.n; i++) {
        struct oracle_phase p;
        if (oracle_find_phase(so, s, i, &c->x.ref, &p, err) < 0)
            return -1;
        c->report->phase = (int64_t)i;
        if (mode == ORACLE_IN_ORDER && threads > 1 && s->task->graph_json) {
            /* Units of a reference that Hone wrote do not depend on each other. */
            c->report->unit = -1;
            oracle_run_phase(&p, threads);
            continue;
        }
        for (int64_t step = 0; step < p.repeat; step++)
            run_step(c, &p, i, s->task->phases.items[i].fn, step, mode);
    }
    c->report->phase = -1;
    return ref_fault_check(&c->x.ref, c->x.fault, c->x.names, err);
}

static int run_here(struct oracle_trial *x, const char *so_path, enum oracle_mode mode,
                    struct report *report, struct err *err)
{
    struct child c = {.report = report};
    void *so = dlopen(so_path, RTLD_NOW | RTLD_LOCAL);
    if (!so)
        return err_set(err, ERR_SYSTEM, "cannot load the oracle: %s", dlerror());
    uint64_t *noise = dlsym(so, "hone_noise_seed");
    if (noise)
        *noise = x->noise_seed;
    if (oracle_ctx_init(&c.x, x->shape, x->in, x->value, x->mag, err) < 0)
        return -1;
    /* The shuffled mode fills the scratch with another number than the other modes. So results that
     * depend on unwritten scratch differ between the modes. */
    for (int64_t i = 0; i <= c.x.ref.scratch_elems; i++)
        c.x.ref.scratch[i] = mode == ORACLE_SHUFFLED ? 1e30 : -12345.678;
    if (mode == ORACLE_WATCHED) {
        oracle_watch_init(&c.watch, &c.x.ref, c.x.names, give_up, report);
        c.x.ref.watch = watch;
        void (**undefined)(const char *, const char *, int) = NULL;
        *(void **)&undefined = dlsym(so, "hone_ref_undefined");
        if (undefined)
            *undefined = on_undefined;
        undefined_to = report;
    }
    return run_units(&c, so, x->shape, mode, err);
}

static void limit(int what, uint64_t soft, uint64_t hard)
{
    setrlimit(what, &(struct rlimit){soft, hard});
}

static uint64_t cpu_seconds(const struct shape *s)
{
    uint64_t seconds = (uint64_t)MAX(CPU_SECONDS, oracle_operations(s) / FLOPS_PER_SECOND);
    /* A reference that Hone wrote always ends. It takes longer, because it also computes rounding
     * errors. */
    return s->task->graph_json ? seconds * IMPORTED_PATIENCE : seconds;
}

static void set_limits(const struct shape *s)
{
    uint64_t seconds = cpu_seconds(s);
    interrupt_default();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm((unsigned)(WALL_SECONDS + 10 * (seconds - CPU_SECONDS)));
    limit(RLIMIT_CPU, seconds, seconds + 1); /* SIGXCPU */
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_FSIZE, 0, 0);
#ifndef __SANITIZE_ADDRESS__ /* ASan reserves terabytes */
    limit(RLIMIT_DATA, MEMORY_BYTES, MEMORY_BYTES);
#endif
    /* The process must read files to load the oracle, but may not change any. */
    static const char *const readable[] = {"/", NULL};
    struct jail jail = {.read = readable, .net = JAIL_NET_NONE, .optional = true};
    int fd = -1;
    jail_prepare(&jail, &fd, NULL);
    jail_enter(fd, jail.net);
}

/* ---- in Hone --------------------------------------------------------------------------------- */

static int describe_signal(const struct shape *s, const struct report *r, int sig, struct err *err)
{
    char where[240] = "", step[40];
    if (r->phase >= 0 && (size_t)r->phase < s->task->phases.n && r->unit < 0)
        snprintf(where, sizeof where, " in PHASE(%s)", s->task->phases.items[r->phase].fn);
    else if (r->phase >= 0 && (size_t)r->phase < s->task->phases.n)
        snprintf(where, sizeof where, " in unit %lld%s of PHASE(%s)", (long long)r->unit,
                 step_text(r, step, sizeof step), s->task->phases.items[r->phase].fn);
    if (sig == SIGXCPU)
        return err_set(
            err, ERR_INPUT,
            "the oracle took more than its limit of %llu s of CPU time; it was stopped%s",
            (unsigned long long)cpu_seconds(s), *where ? where : " at its end");
    if (sig == SIGALRM || sig == SIGKILL)
        return err_set(err, ERR_INPUT, "the oracle was ended%s: %s", where,
                       sig == SIGALRM ? "it took too long" : "something killed it");
    return err_set(err, ERR_INPUT, "the oracle crashed%s: %s", where, strsignal(sig));
}

static int wait_for(pid_t pid, const struct shape *s, const struct report *r, struct err *err)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        if (interrupted())
            kill(pid, SIGKILL);
    if (interrupt_check(err) < 0)
        return -1;
    if (WIFSIGNALED(status))
        return describe_signal(s, r, WTERMSIG(status), err);
    if (WEXITSTATUS(status))
        return err_set(err, ERR_INPUT, "%s", *r->text ? r->text : "the oracle ended the process");
    return 0;
}

/* Returns the path of the file that keeps the results of a long run (LONG_OPS), or NULL if the run
 * is not to be kept. The caller frees the path. */
static char *results_path(const struct oracle_trial *x, const char *so, enum oracle_mode mode)
{
    const struct task *t = x->shape->task;
    struct strbuf sb = STRBUF_INIT(1 << 16);
    if (mode != ORACLE_IN_ORDER || x->noise_seed || !t->graph_json ||
        oracle_operations(x->shape) < LONG_OPS)
        return NULL;
    strbuf_addf(&sb, "%s-%llu-%llu", so, (unsigned long long)x->seed,
                (unsigned long long)x->shape->turn);
    for (size_t i = 0; i < t->names.n; i++)
        strbuf_addf(&sb, "-%lld", (long long)x->shape->axes[i]);
    return strbuf_detach(&sb, NULL);
}

static bool read_results(struct oracle_trial *x, const char *path)
{
    struct strbuf sb = STRBUF_INIT(x->shared_bytes + 16);
    bool found = path && file_exists(path) &&
                 file_read(path, x->shared_bytes + 1, &sb, NULL) == 0 && sb.len == x->shared_bytes;
    if (found)
        memcpy(x->shared, sb.buf, x->shared_bytes);
    strbuf_release(&sb);
    return found;
}

static int run_in_child(struct oracle_trial *x, const char *so, enum oracle_mode mode,
                        struct err *err)
{
    for (size_t i = 0; i < x->shared_bytes / sizeof *x->shared; i++)
        x->shared[i] = unwritten();
    struct report *r =
        mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r == MAP_FAILED)
        return err_errno(err, "memory for the oracle");
    r->phase = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct err e = ERR_INIT;
        set_limits(x->shape);
        if (run_here(x, so, mode, r, &e) == 0)
            _exit(0);
        give_up(r, e.msg);
    }
    int rc = pid < 0 ? err_errno(err, "running the oracle") : wait_for(pid, x->shape, r, err);
    munmap(r, sizeof *r);
    return rc;
}

int oracle_trial_run(struct oracle_trial *x, const char *so, enum oracle_mode mode, struct err *err)
{
    char *path = results_path(x, so, mode);
    int rc = read_results(x, path) ? 0 : run_in_child(x, so, mode, err);
    if (rc == 0 && path && !file_exists(path))
        file_write(path, x->shared, x->shared_bytes, NULL);
    free(path);
    return rc;
}
