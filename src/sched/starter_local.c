/*
 * starter_local.c - starts one worker process for each GPU of this machine. Each worker locks its
 * GPU while it runs a bundle.
 *
 * Hone starts workers only while there are more bundles than ready workers. When a worker dies, its
 * bundle goes back to todo/ at once. After MAX_DEATHS deaths without a finished bundle, Hone gives
 * the GPU up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/gpulock.h"
#include "base/log.h"
#include "base/util.h"
#include "sched/sched.h"
#include "sched/starter.h"
#include "spool/beat.h"
#include "spool/name.h"
#include "sys/gpu_probe.h"
#include "sys/loop.h"
#include "sys/proc.h"

enum { MAX_GPUS = 64, MAX_DEATHS = 3 };
#define LOOK_NS UINT64_C(1000000000)  /* time between two readings of workers/W */
#define BEGIN_NS UINT64_C(2000000000) /* a new worker counts as ready for this time */

struct slot {
    struct local_starter *owner;
    int gpu;
    unsigned deaths; /* deaths in a row */
    bool ended;      /* the process has ended, and look_at_end() must still look at it */
    bool runs, given_up;
    bool in_use; /* we have told the user that others use the GPU */
    bool waits;  /* the worker waits for its GPU, or we do not know yet */
    uint64_t started_ns;
    char number[16], threads[16];
    const char *argv[9];
    const char *writable[3];
    struct jail jail;
    struct child_process child;
    char last_words[200];
};

struct local_starter {
    struct starter starter;
    struct spool_fs *fs;
    char *dir;
    bool pretend;
    struct loop *loop;
    struct strbuf worker;
    unsigned n;
    uint64_t looked_ns;
    struct slot slots[MAX_GPUS];
};

static void on_end(struct child_process *c, void *ctx)
{
    (void)c;
    ((struct slot *)ctx)->ended = true;
}

static int start(struct local_starter *l, struct slot *s, struct err *err)
{
    static const char *const readable[] = {"/", NULL};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = MAX(1u, (unsigned)MAX(cores, 1L) / l->n);
    snprintf(s->number, sizeof s->number, "%d", s->gpu);
    snprintf(s->threads, sizeof s->threads, "%u", threads);
    const char *const argv[] = {
        l->worker.buf, "--spool",   l->dir,     l->pretend ? "--pretend-gpu" : "--gpu",
        s->number,     "--threads", s->threads, NULL};
    memcpy(s->argv, argv, sizeof argv);
    /* A worker with an emulator runs the task's reference.c on the CPU. So it may write only into
     * the spool, and gets no network. We make its lock file, because it cannot. */
    if (l->pretend)
        gpu_unlock(pretend_gpu_lock(s->gpu));
    s->writable[0] = l->dir;
    s->writable[1] = "/dev/null";
    s->writable[2] = NULL;
    s->jail = (struct jail){
        .read = readable, .write = s->writable, .net = JAIL_NET_NONE, .optional = true};
    s->child = (struct child_process)CHILD_INIT;
    s->child.argv = s->argv;
    s->child.jail = l->pretend ? &s->jail : NULL;
    s->child.max_out = s->child.max_err = 64 << 10;
    s->child.on_end = on_end;
    s->child.ctx = s;
    if (child_start(&s->child, l->loop, err) < 0)
        return -1;
    s->runs = s->waits = true;
    s->started_ns = now_ns();
    return 0;
}

/* `worker` is HOST-PID-RANDOM. Returns 0 if it has no PID. */
static pid_t pid_of(const char *worker)
{
    const char *last = strrchr(worker, '-'), *at = last;
    while (at && at > worker && at[-1] != '-')
        at--;
    return at ? (pid_t)strtol(at, NULL, 10) : 0;
}

/* Puts the bundle of a dead worker back into todo/. Other processes would do so only when the
 * worker's lease (spool/lease.h) has run out. */
static void put_back(struct local_starter *l, const struct slot *s)
{
    struct spool_names names = VEC_INIT;
    l->fs->ops->list(l->fs, "claimed", &names);
    vec_each (char *, p, &names) {
        struct spool_name n;
        char from[SPOOL_NAME_MAX], to[SPOOL_NAME_MAX];
        if (!spool_name_claimed(&n, *p) || pid_of(n.worker) != s->child.pid)
            continue;
        spool_claimed_path(&n, from);
        n.taken++;
        spool_todo_path(&n, to);
        l->fs->ops->move(l->fs, from, to);
    }
    spool_names_release(&names);
}

/* Removes the file workers/W of a dead worker. Returns how many bundles the worker had finished. */
static uint64_t forget_worker(struct local_starter *l, const struct slot *s)
{
    struct spool_names names = VEC_INIT;
    char path[SPOOL_NAME_MAX];
    uint64_t done = 0;
    l->fs->ops->list(l->fs, "workers", &names);
    vec_each (char *, p, &names) {
        struct spool_beat b;
        if (pid_of(*p) != s->child.pid)
            continue;
        if (spool_beat_read(l->fs, *p, &b) == 0)
            done += b.done;
        snprintf(path, sizeof path, "workers/%s", *p);
        l->fs->ops->remove(l->fs, path);
    }
    spool_names_release(&names);
    return done;
}

static void look_at_end(struct local_starter *l, struct slot *s)
{
    struct strbuf how = STRBUF_INIT(1000);
    child_describe(&s->child, &how);
    const char *said = s->child.err.buf ? s->child.err.buf : "";
    size_t len = strlen(said), keep = 120;
    snprintf(s->last_words, sizeof s->last_words, "%.60s%s%s", how.buf, *said ? ": " : "",
             said + (len > keep ? len - keep : 0));
    for (size_t n = strlen(s->last_words); n && s->last_words[n - 1] == '\n';)
        s->last_words[--n] = '\0';
    s->ended = s->runs = false;
    put_back(l, s);
    s->deaths = forget_worker(l, s) ? 1 : s->deaths + 1;
    s->given_up = s->deaths >= MAX_DEATHS;
    if (s->given_up)
        log_warn("sched", "Hone no longer uses GPU %d: its worker ended %u times in a row (%s)",
                 s->gpu, s->deaths, s->last_words);
    child_release(&s->child);
    strbuf_release(&how);
}

/* Tells the user once if others use a GPU. */
static void look_for_users(struct local_starter *l)
{
    struct spool_names names = VEC_INIT;
    if (l->looked_ns && now_ns() - l->looked_ns < LOOK_NS)
        return;
    l->looked_ns = now_ns();
    l->fs->ops->list(l->fs, "workers", &names);
    vec_each (char *, p, &names) {
        struct spool_beat b;
        const char *user =
            spool_beat_read(l->fs, *p, &b) == 0 ? strstr(b.note, SPOOL_GPU_IN_USE) : NULL;
        for (unsigned i = 0; i < l->n; i++) {
            struct slot *s = &l->slots[i];
            if (!s->runs || s->child.pid != pid_of(*p))
                continue;
            if (user && !s->in_use)
                log_warn("sched",
                         "GPU %d is %s, so its worker waits; with HONE_SHARE_GPU=1 the worker "
                         "runs there all the same",
                         s->gpu, user);
            s->in_use = user != NULL;
            s->waits = user || strstr(b.note, SPOOL_GPU_BUSY);
        }
    }
    spool_names_release(&names);
}

static bool is_ready(const struct slot *s)
{
    return s->runs && (!s->waits || now_ns() - s->started_ns < BEGIN_NS);
}

static int local_step(struct starter *st, unsigned bundles, uint64_t finished, uint64_t wait_ns,
                      struct err *err)
{
    struct local_starter *l = (struct local_starter *)st;
    const char *why = "";
    unsigned alive = 0, ready = 0;
    (void)finished;
    for (unsigned i = 0; i < l->n; i++) {
        struct slot *s = &l->slots[i];
        if (s->ended)
            look_at_end(l, s);
        if (!s->runs && !s->given_up && ready < bundles && start(l, s, err) < 0)
            return -1;
        ready += is_ready(s);
        alive += !s->given_up;
        why = s->given_up ? s->last_words : why;
    }
    if (!alive)
        return err_set(err, ERR_ENV, "no worker is left: each of %u ended %d times in a row (%s)",
                       l->n, MAX_DEATHS, why);
    look_for_users(l);
    return loop_step(l->loop, wait_ns, err);
}

static void local_close(struct starter *st)
{
    struct local_starter *l = (struct local_starter *)st;
    for (unsigned i = 0; i < l->n; i++)
        if (l->slots[i].runs)
            child_release(&l->slots[i].child);
    loop_free(l->loop);
    strbuf_release(&l->worker);
    free(l->dir);
    free(l);
}

static const struct starter_ops local_ops = {local_step, local_close};

static int add_slot(struct local_starter *l, int gpu, struct err *err)
{
    for (unsigned i = 0; i < l->n; i++)
        if (l->slots[i].gpu == gpu)
            return err_set(err, ERR_USAGE, "GPU %d is listed twice in --on local:", gpu);
    if (l->n == MAX_GPUS)
        return err_set(err, ERR_USAGE, "--on local: takes at most %d GPUs", MAX_GPUS);
    l->slots[l->n++] = (struct slot){.gpu = gpu};
    return 0;
}

static int count_gpus(bool pretend, struct err *err)
{
    struct gpu_probe g = {.n = 0};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (pretend)
        return (int)MIN(MAX(cores, 1L), (long)MAX_GPUS);
    if (gpu_probe(&g, err) < 0)
        return -1;
    return g.n ? (int)g.n : err_set(err, ERR_ENV, "the driver shows no GPU");
}

static int read_list(struct local_starter *l, const char *list, struct err *err)
{
    int n = count_gpus(l->pretend, err);
    if (n < 0)
        return -1;
    if (str_eq(list, "all")) {
        for (int i = 0; i < n; i++)
            if (add_slot(l, i, err) < 0)
                return -1;
        return 0;
    }
    for (const char *p = list;; p++) {
        char *end;
        long gpu = strtol(p, &end, 10);
        if (end == p || gpu < 0 || gpu > 1023 || (*end && *end != ','))
            return err_set(err, ERR_USAGE,
                           "'%s' is not a list of GPUs: use local:all, or numbers like local:0,1",
                           list);
        if (!l->pretend && gpu >= n)
            return err_set(err, ERR_ENV, "there is no GPU %ld: this machine has %d", gpu, n);
        if (add_slot(l, (int)gpu, err) < 0)
            return -1;
        p = end;
        if (!*p)
            return 0;
    }
}

int starter_local(struct starter **out, struct spool_fs *fs, const char *dir, const char *list,
                  bool pretend, struct err *err)
{
    struct local_starter *l = xcalloc(1, sizeof *l);
    l->starter.ops = &local_ops;
    l->fs = fs;
    l->dir = xstrdup(dir);
    l->pretend = pretend;
    l->loop = loop_new();
    strbuf_init(&l->worker, 4096);
    if (sched_find_worker(&l->worker, err) < 0 || read_list(l, list, err) < 0) {
        local_close(&l->starter);
        return -1;
    }
    *out = &l->starter;
    return 0;
}
