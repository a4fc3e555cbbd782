/*
 * local.c - runs bundles (sched.h) on this machine, each in a fresh `hone-worker` process. One
 * bundle runs in each slot; the others wait. Hone kills a worker that exceeds its time limit, with
 * all processes it started.
 *
 * The worker of a GPU first waits until no other process of Hone uses the GPU. While it waits, it
 * keeps writing its file `turn` (job/turn.h). The time limit counts from the moment when the worker
 * has the GPU.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "job/turn.h"
#include "sched/sched.h"
#include "sys/file.h"
#include "sys/loop.h"
#include "sys/proc.h"

/* A profiler runs each kernel many times and writes a report at the end. */
#define PROFILER_NS 600000000000u
#define LOOK_NS 250000000u /* how often we look for late workers */
/* A worker stops itself at its limit. Then it has this time to write results. */
#define GRACE_NS 10000000000u

struct local_bundle {
    struct local_bundle *next;
    struct local *owner;
    uint64_t ticket, wall_ns;
    char *dir;
    char **argv; /* owned, with its strings */
    bool profiled, killed;
    struct turn turn;
    uint64_t heard_ns; /* when `turn` last changed */
    uint64_t ended_ns;
    struct child_process child;
    const char *writable[3];
    struct jail jail;
    enum { WAITING, RUNNING, ENDED } state;
};

struct local {
    struct sched sched;
    struct loop *loop;
    struct local_bundle *runs; /* in order of submission */
    unsigned slots, running;
    int gpu; /* -1 = the emulator */
    uint64_t looked_ns;
    struct strbuf worker;
};

int sched_find_worker(struct strbuf *out, struct err *err)
{
    const char *env = getenv("HONE_WORKER");
    if (env && *env) {
        strbuf_adds(out, env);
        return 0;
    }
    if (self_dir(out, err) < 0)
        return -1;
    strbuf_adds(out, "/hone-worker");
    if (file_is_executable(out->buf))
        return 0;
    return err_set(err, ERR_ENV, "%s is missing: build it with `make`, or set HONE_WORKER",
                   out->buf);
}

static uint64_t limit_of(const struct local_bundle *r)
{
    return r->wall_ns + GRACE_NS + (r->profiled ? PROFILER_NS : 0);
}

static void on_end(struct child_process *c, void *ctx)
{
    (void)c;
    struct local_bundle *r = ctx;
    r->state = ENDED;
    r->ended_ns = now_ns();
    r->owner->running--;
}

static char *turn_path(const struct local_bundle *r)
{
    return xasprintf("%s/" TURN_FILE, r->dir);
}

static void read_turn(struct local_bundle *r)
{
    struct strbuf text = STRBUF_INIT(TURN_MAX);
    struct turn t;
    char *path = turn_path(r);
    if (file_read(path, TURN_MAX - 1, &text, NULL) == 0 && turn_read(&t, text.buf) &&
        t.begun_ns <= now_ns() && memcmp(&t, &r->turn, sizeof t) != 0) {
        r->turn = t;
        r->heard_ns = now_ns();
    }
    strbuf_release(&text);
    free(path);
}

/* Kills each worker that has had its GPU for longer than its limit. A worker that waits for the GPU
 * keeps writing its file `turn`. If this file has not changed for about as long, we kill the worker
 * too. */
static void end_late_workers(struct local *l)
{
    if (now_ns() - l->looked_ns < LOOK_NS)
        return;
    l->looked_ns = now_ns();
    for (struct local_bundle *r = l->runs; r; r = r->next) {
        if (r->state != RUNNING || r->killed)
            continue;
        read_turn(r);
        bool begun = r->turn.begun_ns != 0;
        uint64_t since = begun ? r->turn.begun_ns : r->heard_ns;
        if (now_ns() - since <= (begun ? limit_of(r) : limit_of(r) - GRACE_NS))
            continue;
        r->killed = true;
        child_terminate(&r->child);
    }
}

static int start_waiting(struct local *l, struct err *err)
{
    for (struct local_bundle *r = l->runs; r && l->running < l->slots; r = r->next) {
        if (r->state != WAITING)
            continue;
        r->child.argv = (const char *const *)r->argv;
        r->child.jail = l->gpu < 0 ? &r->jail : NULL;
        r->child.limit_ns = l->gpu < 0 ? limit_of(r) : 0;
        r->child.max_out = r->child.max_err = 64 << 10;
        r->child.on_end = on_end;
        r->child.ctx = r;
        char *turn = turn_path(r);
        unlink(turn); /* left by an earlier run of this bundle */
        free(turn);
        if (child_start(&r->child, l->loop, err) < 0)
            return -1;
        r->state = RUNNING;
        r->heard_ns = now_ns();
        l->running++;
    }
    return 0;
}

/* Returns the command line UNDER... WORKER [--lock] DIR. The caller frees the list and its
 * strings. */
static char **command(const char *const *under, const char *worker, bool lock, const char *dir)
{
    size_t n = 0;
    while (under && under[n])
        n++;
    char **argv = xcalloc(n + 4, sizeof *argv);
    for (size_t i = 0; i < n; i++)
        argv[i] = xstrdup(under[i]);
    argv[n++] = xstrdup(worker);
    if (lock)
        argv[n++] = xstrdup("--lock");
    argv[n] = xstrdup(dir);
    return argv;
}

static void run_free(struct local_bundle *r)
{
    child_release(&r->child);
    for (char **p = r->argv; *p; p++)
        free(*p);
    free(r->argv);
    free(r->dir);
    free(r);
}

/* The emulator's worker runs the task's reference.c on the CPU. So it gets no network, and may
 * write only into its bundle. */
static void set_jail(struct local_bundle *r)
{
    static const char *const readable[] = {"/", NULL};
    r->writable[0] = r->dir;
    r->writable[1] = "/dev/null";
    r->jail = (struct jail){
        .read = readable, .write = r->writable, .net = JAIL_NET_NONE, .optional = true};
}

static int local_submit(struct sched *s, const char *bundle_dir, uint64_t wall_ns,
                        const char *const *under, uint64_t ticket, struct err *err)
{
    struct local *l = (struct local *)s;
    struct local_bundle *r = xcalloc(1, sizeof *r);
    r->owner = l;
    r->ticket = ticket;
    r->wall_ns = wall_ns;
    r->dir = xstrdup(bundle_dir);
    r->profiled = under && *under;
    r->argv = command(under, l->worker.buf, l->gpu >= 0, bundle_dir);
    r->child = (struct child_process)CHILD_INIT;
    set_jail(r);
    struct local_bundle **tail = &l->runs;
    while (*tail)
        tail = &(*tail)->next;
    *tail = r;
    if (start_waiting(l, err) < 0) {
        for (tail = &l->runs; *tail && *tail != r;)
            tail = &(*tail)->next;
        /* We report an error, so nobody will wait for this bundle. If it has not begun, we drop
         * it. */
        if (*tail && r->state == WAITING) {
            *tail = r->next;
            run_free(r);
        }
        return -1;
    }
    return 0;
}

/* Returns how long the worker ran. Its wait for the GPU does not count. */
static uint64_t ran_ns(struct local_bundle *r)
{
    read_turn(r);
    if (!r->turn.begun_ns)
        return r->turn.count ? 0 : r->child.wall_ns;
    return r->ended_ns - r->turn.begun_ns;
}

static void describe(struct local_bundle *r, struct sched_done *out)
{
    memset(out, 0, sizeof *out);
    char *result = xasprintf("%s/result.bin", r->dir);
    out->ticket = r->ticket;
    out->have_result = file_exists(result);
    out->timed_out = r->killed || r->child.end == CHILD_TIMEOUT;
    out->exit_code = r->child.end == CHILD_EXITED ? r->child.code : 0;
    out->signal = r->child.end == CHILD_SIGNALED ? r->child.code : 0;
    out->wall_ns = ran_ns(r);
    const char *said = r->child.err.buf;
    size_t len = r->child.err.len, keep = sizeof out->note - 1;
    if (len > keep)
        said += len - keep;
    snprintf(out->note, sizeof out->note, "%s", said);
    free(result);
}

static bool take_ended(struct local *l, struct sched_done *out)
{
    for (struct local_bundle **p = &l->runs; *p; p = &(*p)->next)
        if ((*p)->state == ENDED) {
            struct local_bundle *r = *p;
            *p = r->next;
            describe(r, out);
            run_free(r);
            return true;
        }
    return false;
}

static int local_wait(struct sched *s, uint64_t timeout_ns, struct sched_done *out, struct err *err)
{
    struct local *l = (struct local *)s;
    uint64_t until = now_ns() + timeout_ns;
    for (;;) {
        if (take_ended(l, out))
            return start_waiting(l, err) < 0 ? -1 : 1;
        uint64_t now = now_ns();
        if (!l->runs || now >= until)
            return 0;
        uint64_t wait_ns = until - now;
        if (l->gpu >= 0) {
            end_late_workers(l);
            wait_ns = MIN(wait_ns, LOOK_NS);
        }
        if (loop_step(l->loop, wait_ns, err) < 0)
            return -1;
    }
}

static char *local_progress_path(struct sched *s, uint64_t ticket)
{
    for (struct local_bundle *r = ((struct local *)s)->runs; r; r = r->next)
        if (r->ticket == ticket && r->state == RUNNING)
            return xasprintf("%s/progress.bin", r->dir);
    return NULL;
}

static void local_close(struct sched *s)
{
    struct local *l = (struct local *)s;
    for (struct local_bundle *r = l->runs, *next; r; r = next) {
        next = r->next;
        run_free(r);
    }
    loop_free(l->loop);
    strbuf_release(&l->worker);
    free(l);
}

static const struct sched_ops local_ops = {"local", local_submit, local_wait, local_progress_path,
                                           local_close};

int sched_local_open(struct sched **out, unsigned slots, int gpu, struct err *err)
{
    struct local *l = xcalloc(1, sizeof *l);
    l->sched.ops = &local_ops;
    l->gpu = gpu;
    strbuf_init(&l->worker, 4096);
    if (sched_find_worker(&l->worker, err) < 0) {
        strbuf_release(&l->worker);
        free(l);
        return -1;
    }
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    l->slots = slots ? slots : cores > 0 ? (unsigned)cores : 1;
    l->loop = loop_new();
    *out = &l->sched;
    return 0;
}
