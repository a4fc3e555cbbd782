/*
 * spool.c - passes bundles through a spool: a directory that workers on any machine serve. See
 * spool/run.h, and spool/lease.h for the workers' side. At most WINDOW bundles of this process are
 * in the spool, so that listings stay short.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/arena.h"
#include "base/util.h"
#include "job/job.h"
#include "sched/sched.h"
#include "sched/starter.h"
#include "spool/lease.h"
#include "spool/name.h"
#include "spool/run.h"
#include "sys/file.h"

/* After MAX_PUTS tries, Hone gives up a bundle that is lost each time. */
enum { WINDOW = 512, MAX_PUTS = 5 };

struct spooled {
    struct spooled *next;
    uint64_t ticket, submitted_ns, nonce;
    char *bundle;  /* the directory that gets the result */
    char kind[80]; /* says which workers can run it: KIND of spool/name.h */
    unsigned puts;
    bool waits; /* not in the spool yet */
};

struct spool {
    struct sched sched;
    char *dir;
    struct spool_fs *fs;
    struct spool_run run;
    struct spooled *items;
    struct spooled **tail;
    unsigned nitems;
    uint64_t newest_ns;
    struct starter *starter; /* starts workers; NULL = somebody else does */
    uint64_t finished;
    struct spool_names tended; /* ids that sched_tend() saw last */
    struct temp_dir own;       /* the spool, if only this process uses it */
};

static int random_name(char id[33], struct err *err)
{
    unsigned char b[16];
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        return err_errno(err, "getrandom");
    for (size_t i = 0; i < sizeof b; i++)
        snprintf(id + 2 * i, 3, "%02x", b[i]);
    return 0;
}

static int copy_tree(const char *from, const char *to, struct err *err)
{
    struct name_vec names = VEC_INIT;
    if (dir_make(to, err) < 0 || dir_list(from, &names, err) < 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < names.n && rc == 0; i++) {
        char *a = xasprintf("%s/%s", from, names.items[i]);
        char *b = xasprintf("%s/%s", to, names.items[i]);
        rc = file_copy(a, b, err);
        free(a);
        free(b);
    }
    name_vec_release(&names);
    return rc;
}

/* Sets x->kind and x->nonce from the bundle's job.bin. The nonce is a random number that the result
 * must repeat. */
static void read_job(struct spooled *x)
{
    struct strbuf sb = STRBUF_INIT(JOB_MAX_BYTES);
    struct arena a = ARENA_INIT;
    struct job job;
    struct utsname u;
    char *path = xasprintf("%s/job.bin", x->bundle);
    snprintf(x->kind, sizeof x->kind, "any");
    if (file_read(path, JOB_MAX_BYTES, &sb, NULL) == 0 &&
        job_read(&job, sb.buf, sb.len, &a, NULL) == 0) {
        x->nonce = job.nonce;
        /* For the emulator, the job has a reference that is compiled for this architecture. */
        if (job.device == JOB_CUDA)
            snprintf(x->kind, sizeof x->kind, "cuda");
        else if (uname(&u) == 0)
            snprintf(x->kind, sizeof x->kind, "emu_%s", u.machine);
    }
    arena_release(&a);
    strbuf_release(&sb);
    free(path);
}

static int put(struct spool *s, struct spooled *x, struct err *err)
{
    char id[SPOOL_ID_MAX];
    spool_run_id(&s->run, x->kind, id);
    char *tmp = xasprintf("%s/tmp/%s", s->dir, id);
    int rc = copy_tree(x->bundle, tmp, err);
    if (rc == 0) {
        errno = -spool_run_put(&s->run, id, x->nonce, x->ticket);
        if (errno)
            rc = err_errno(err, "cannot put a bundle into the spool %s", s->dir);
    }
    if (rc < 0)
        dir_remove(tmp, NULL);
    free(tmp);
    x->waits = rc < 0;
    x->puts += rc == 0;
    return rc;
}

static int fill_window(struct spool *s, struct err *err)
{
    for (struct spooled *x = s->items; x && s->run.items.n < WINDOW; x = x->next)
        if (x->waits && put(s, x, err) < 0)
            return -1;
    return 0;
}

static void spooled_free(struct spooled *x)
{
    free(x->bundle);
    free(x);
}

static void forget(struct spool *s, struct spooled *x)
{
    struct spooled **p = &s->items;
    while (*p != x)
        p = &(*p)->next;
    *p = x->next;
    if (!*p)
        s->tail = p;
    s->nitems--;
    spooled_free(x);
}

static int spool_submit(struct sched *sched, const char *bundle_dir, uint64_t wall_ns,
                        const char *const *under, uint64_t ticket, struct err *err)
{
    (void)wall_ns; /* the job has its own limits */
    if (under)
        return err_set(err, ERR_INPUT, "%s cannot be run through a spool", under[0]);
    struct spool *s = (struct spool *)sched;
    struct spooled *x = xcalloc(1, sizeof *x);
    x->ticket = ticket;
    x->submitted_ns = s->newest_ns = now_ns();
    x->bundle = xstrdup(bundle_dir);
    x->waits = true;
    read_job(x);
    *s->tail = x;
    s->tail = &x->next;
    s->nitems++;
    if (s->run.items.n < WINDOW && put(s, x, err) < 0) {
        forget(s, x);
        return -1;
    }
    return 0;
}

static struct spooled *find(struct spool *s, uint64_t ticket)
{
    for (struct spooled *x = s->items; x; x = x->next)
        if (x->ticket == ticket)
            return x;
    return NULL;
}

/* Handles a bundle that spool_run_take() returned. A lost bundle goes into the spool again, and we
 * return 0. Otherwise describes the end of the bundle in *out, copies its result, and returns 1.
 * Returns -1 on an error. */
static int fetch(struct spool *s, const struct spool_taken *t, struct sched_done *out,
                 struct err *err)
{
    struct spooled *x = find(s, t->tag);
    int rc = 1;
    if (!x)
        return 0;
    if (t->lost && x->puts < MAX_PUTS)
        return put(s, x, err);
    memset(out, 0, sizeof *out);
    out->ticket = x->ticket;
    out->wall_ns = now_ns() - x->submitted_ns;
    out->have_result = !t->lost;
    if (t->lost) {
        snprintf(out->note, sizeof out->note,
                 "the bundle was put into the spool %s %u times, and no worker returned its result",
                 s->dir, x->puts);
    } else {
        char *from = xasprintf("%s/%s/result.bin", s->dir, t->path);
        char *to = xasprintf("%s/result.bin", x->bundle);
        rc = file_copy(from, to, err) < 0 ? -1 : 1;
        free(from);
        free(to);
    }
    forget(s, x);
    s->finished++;
    return rc;
}

static int nap(struct spool *s, uint64_t ns, struct err *err)
{
    if (s->starter)
        return s->starter->ops->step(s->starter, s->nitems, s->finished, ns, err);
    nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
    return 0;
}

/* Returns the time until the next look, about a hundredth of the newest bundle's age. So we notice
 * the end of short bundles soon, and seldom look for long ones. */
static uint64_t pause_of(const struct spool *s)
{
    uint64_t age = now_ns() - s->newest_ns;
    return MIN(MAX(age / 100, UINT64_C(5000000)), UINT64_C(200000000));
}

static int spool_wait(struct sched *sched, uint64_t timeout_ns, struct sched_done *out,
                      struct err *err)
{
    struct spool *s = (struct spool *)sched;
    uint64_t until = now_ns() + timeout_ns;
    for (;;) {
        struct spool_taken t;
        uint64_t pause_ns = pause_of(s);
        while (spool_run_take(&s->run, pause_ns, &t)) {
            int rc = fetch(s, &t, out, err);
            spool_run_drop(&s->run, &t);
            if (rc != 0)
                return rc;
        }
        if (fill_window(s, err) < 0)
            return -1;
        uint64_t now = now_ns();
        if (!s->items || now >= until)
            return 0;
        if (nap(s, MIN(until - now, pause_ns), err) < 0)
            return -1;
    }
}

const char *sched_spool_dir(const struct sched *s)
{
    return ((const struct spool *)s)->dir;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_ids(struct spool *s, const char *folder,
                    bool (*parse)(struct spool_name *out, const char *text),
                    struct spool_names *out)
{
    struct spool_names names = VEC_INIT;
    struct spool_name n;
    bool ok = s->fs->ops->list(s->fs, folder, &names) == 0;
    vec_each (char *, p, &names)
        if (parse(&n, *p))
            *vec_push(out) = xstrdup(n.id);
    spool_names_release(&names);
    return ok;
}

/* Counts the bundles that have left todo/ and claimed/ since the last call. They finished, or their
 * process withdrew them. */
static void look_for_finished(struct spool *s)
{
    struct spool_names now = VEC_INIT;
    if (!add_ids(s, "todo", spool_name_todo, &now) ||
        !add_ids(s, "claimed", spool_name_claimed, &now)) {
        spool_names_release(&now);
        return;
    }
    if (now.n)
        qsort(now.items, now.n, sizeof *now.items, by_text);
    vec_each (char *, p, &s->tended)
        s->finished += !now.n || !bsearch(p, now.items, now.n, sizeof *now.items, by_text);
    spool_names_release(&s->tended);
    s->tended = now;
}

int sched_tend(struct sched *sched, struct err *err)
{
    struct spool *s = (struct spool *)sched;
    look_for_finished(s);
    return s->starter->ops->step(s->starter, (unsigned)s->tended.n, s->finished, 0, err);
}

static char *spool_progress_path(struct sched *sched, uint64_t ticket)
{
    struct spool *s = (struct spool *)sched;
    char claim[SPOOL_NAME_MAX];
    if (!spool_run_where(&s->run, ticket, claim))
        return NULL;
    return xasprintf("%s/claimed/%s/progress.bin", s->dir, claim);
}

static void spool_close(struct sched *sched)
{
    struct spool *s = (struct spool *)sched;
    if (s->starter)
        s->starter->ops->close(s->starter);
    spool_run_end(&s->run);
    spool_fs_close(s->fs);
    for (struct spooled *x = s->items, *next; x; x = next) {
        next = x->next;
        spooled_free(x);
    }
    spool_names_release(&s->tended);
    temp_dir_release(&s->own);
    free(s->dir);
    free(s);
}

static const struct sched_ops spool_ops = {"spool", spool_submit, spool_wait, spool_progress_path,
                                           spool_close};

/* Makes the folder in which the spool will be. spool_fs_open() makes the spool, readable only for
 * its owner. */
static int make_parent(const char *dir, struct err *err)
{
    const char *slash = strrchr(dir, '/');
    if (!slash || slash == dir)
        return 0;
    char *parent = xstrndup(dir, (size_t)(slash - dir));
    int rc = dir_make(parent, err);
    free(parent);
    return rc;
}

static int open_run(struct spool *s, const char *run, struct err *err)
{
    if (spool_fs_open(&s->fs, s->dir, err) < 0)
        return -1;
    spool_run_begin(&s->run, s->fs, run, spool_lease_ns());
    return 0;
}

static struct spool *new_spool(void)
{
    struct spool *s = xcalloc(1, sizeof *s);
    s->sched.ops = &spool_ops;
    s->tail = &s->items;
    s->own = (struct temp_dir)TEMP_DIR_INIT;
    return s;
}

int sched_spool_open(struct sched **out, const char *dir, struct err *err)
{
    char run[33];
    struct spool *s = new_spool();
    s->dir = xstrdup(dir);
    if (random_name(run, err) < 0 || make_parent(dir, err) < 0 || open_run(s, run, err) < 0) {
        spool_close(&s->sched);
        return -1;
    }
    *out = &s->sched;
    return 0;
}

int sched_gpus_open(struct sched **out, const char *list, bool pretend, struct err *err)
{
    char run[33];
    struct spool *s = new_spool();
    if (random_name(run, err) < 0 || temp_dir_make(&s->own, err) < 0)
        goto fail;
    s->dir = xasprintf("%s/spool", s->own.path);
    if (open_run(s, run, err) < 0 ||
        starter_local(&s->starter, s->fs, s->dir, list, pretend, err) < 0)
        goto fail;
    *out = &s->sched;
    return 0;
fail:
    spool_close(&s->sched);
    return -1;
}

int sched_slurm_open(struct sched **out, const char *text, bool emu, struct err *err)
{
    char run[33];
    struct spool *s = new_spool();
    struct strbuf dir = STRBUF_INIT(4096);
    int rc = random_name(run, err);
    rc = rc < 0 ? rc : starter_slurm(&s->starter, text, emu, run, &dir, err);
    s->dir = strbuf_detach(&dir, NULL);
    if (rc < 0 || open_run(s, run, err) < 0) {
        spool_close(&s->sched);
        return -1;
    }
    *out = &s->sched;
    return 0;
}
