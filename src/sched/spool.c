/*
 * spool.c - passes bundles through a directory that any number of workers serve, here or elsewhere.
 *
 *     DIR/tmp/ID   ──rename──>  DIR/todo/ID      a complete bundle waits
 *     DIR/todo/ID  ──rename──>  DIR/claimed/ID.W worker W has it and touches its file `alive`
 *     DIR/claimed/ID.W ─rename─> DIR/done/ID     result.bin is there
 *
 * Invariants:
 *   1. Every step is one rename(2). So a bundle is always in exactly one place, and complete.
 *   2. done/ID is created once. A second result for the same bundle is dropped.
 *   3. If a worker stops touching `alive`, another worker moves its bundle back to todo.
 *   4. A result is accepted only if it repeats its job's nonce (the caller checks that).
 *
 * IDs are random, so several instances of Hone may share one directory.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/util.h"
#include "sched/sched.h"
#include "sys/file.h"

struct spooled {
    struct spooled *next;
    uint64_t ticket, submitted_ns;
    char id[33];
    char *bundle; /* the directory that gets the result */
};

struct spool {
    struct sched sched;
    char *dir;
    struct spooled *items;
};

static char *place(const struct spool *s, const char *room, const char *id)
{
    return xasprintf("%s/%s%s%s", s->dir, room, *id ? "/" : "", id);
}

static int random_id(char id[33], struct err *err)
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

static int spool_submit(struct sched *sched, const char *bundle_dir, uint64_t wall_ns,
                        const char *const *under, uint64_t ticket, struct err *err)
{
    (void)wall_ns; /* the job itself has the worker's limits */
    if (under)
        return err_set(err, ERR_INPUT, "%s cannot be run through a spool", under[0]);
    struct spool *s = (struct spool *)sched;
    struct spooled *x = xcalloc(1, sizeof *x);
    int rc = random_id(x->id, err);
    char *tmp = place(s, "tmp", x->id), *todo = place(s, "todo", x->id);
    rc = rc < 0 ? rc : copy_tree(bundle_dir, tmp, err);
    if (rc == 0 && rename(tmp, todo) < 0)
        rc = err_errno(err, "cannot rename the bundle to '%s'", todo);
    free(tmp);
    free(todo);
    if (rc < 0) {
        free(x);
        return -1;
    }
    x->ticket = ticket;
    x->submitted_ns = now_ns();
    x->bundle = xstrdup(bundle_dir);
    x->next = s->items;
    s->items = x;
    return 0;
}

/* Returns 1 if the result was copied back, 0 if the bundle is not done, -1 on an error. */
static int fetch(struct spool *s, struct spooled *x, struct sched_done *out, struct err *err)
{
    char *done = place(s, "done", x->id);
    char *from = xasprintf("%s/result.bin", done), *to = xasprintf("%s/result.bin", x->bundle);
    int rc = 0;
    if (file_is_dir(done)) {
        memset(out, 0, sizeof *out);
        out->ticket = x->ticket;
        out->wall_ns = now_ns() - x->submitted_ns;
        out->have_result = file_exists(from);
        rc = 1;
        if (out->have_result && file_copy(from, to, err) < 0)
            rc = -1;
        else if (!out->have_result)
            snprintf(out->note, sizeof out->note, "%s has no result.bin", done);
        dir_remove(done, NULL);
    }
    free(done);
    free(from);
    free(to);
    return rc;
}

static void spooled_free(struct spooled *x)
{
    free(x->bundle);
    free(x);
}

static int spool_wait(struct sched *sched, uint64_t timeout_ns, struct sched_done *out,
                      struct err *err)
{
    struct spool *s = (struct spool *)sched;
    const uint64_t nap_ns = 50000000;
    uint64_t until = now_ns() + timeout_ns;
    for (;;) {
        for (struct spooled **p = &s->items; *p; p = &(*p)->next) {
            int rc = fetch(s, *p, out, err);
            if (rc == 0)
                continue;
            struct spooled *x = *p;
            *p = x->next;
            spooled_free(x);
            return rc;
        }
        uint64_t now = now_ns();
        if (!s->items || now >= until)
            return 0;
        uint64_t ns = MIN(until - now, nap_ns);
        nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
    }
}

/* The path claimed/ID.WORKER/progress.bin. */
static char *spool_progress_path(struct sched *sched, uint64_t ticket)
{
    struct spool *s = (struct spool *)sched;
    struct name_vec names = VEC_INIT;
    char *claimed = place(s, "claimed", ""), *out = NULL;
    for (struct spooled *x = s->items; x; x = x->next) {
        if (x->ticket != ticket || dir_list(claimed, &names, NULL) < 0)
            continue;
        for (size_t i = 0; i < names.n && !out; i++)
            if (str_starts(names.items[i], x->id))
                out = xasprintf("%s/%s/progress.bin", claimed, names.items[i]);
        name_vec_release(&names);
    }
    free(claimed);
    return out;
}

/* Withdraws bundles that no worker has claimed. A bundle that runs goes on, but its result is
 * not read. */
static void spool_close(struct sched *sched)
{
    struct spool *s = (struct spool *)sched;
    for (struct spooled *x = s->items, *next; x; x = next) {
        next = x->next;
        char *todo = place(s, "todo", x->id);
        dir_remove(todo, NULL);
        free(todo);
        spooled_free(x);
    }
    free(s->dir);
    free(s);
}

static const struct sched_ops spool_ops = {"spool", spool_submit, spool_wait, spool_progress_path,
                                           spool_close};

int sched_spool_open(struct sched **out, const char *dir, struct err *err)
{
    static const char *const folders[] = {"tmp", "todo", "claimed", "done"};
    struct spool *s = xcalloc(1, sizeof *s);
    s->sched.ops = &spool_ops;
    s->dir = xstrdup(dir);
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        char *p = place(s, folders[i], "");
        int rc = dir_make(p, err);
        free(p);
        if (rc < 0) {
            spool_close(&s->sched);
            return err_prefix(err, "spool");
        }
    }
    *out = &s->sched;
    return 0;
}
