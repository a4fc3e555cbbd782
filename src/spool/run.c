/* run.c - puts bundles into a spool, counts them, and takes their results. See run.h. */
#include "spool/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/util.h"
#include "job/result.h"

struct spool_item {
    uint64_t seq, tag, nonce;
    uint64_t missing_ns; /* how long it was in no folder */
    bool seen;           /* the current census has found it */
    char id[SPOOL_ID_MAX];
};

void spool_run_begin(struct spool_run *r, struct spool_fs *fs, const char *run, uint64_t lease_ns)
{
    memset(r, 0, sizeof *r);
    r->fs = fs;
    r->lease_ns = lease_ns;
    snprintf(r->run, sizeof r->run, "%s", run);
    r->watch = (struct spool_watch){.fs = fs, .lease_ns = lease_ns};
}

void spool_run_id(struct spool_run *r, const char *kind, char id[SPOOL_ID_MAX])
{
    snprintf(id, SPOOL_ID_MAX, "%s-%s-%u-%06" PRIx64, kind, r->run, r->seconds, ++r->next_seq);
}

static uint64_t seq_of(const char *id)
{
    const char *dash = strrchr(id, '-');
    return dash ? strtoull(dash + 1, NULL, 16) : 0;
}

static int by_seq(const void *key, const void *x)
{
    uint64_t a = *(const uint64_t *)key, b = ((const struct spool_item *)x)->seq;
    return a < b ? -1 : a > b;
}

static struct spool_item *find(struct spool_run *r, const char *id)
{
    uint64_t seq = seq_of(id);
    struct spool_item *x =
        r->items.n ? bsearch(&seq, r->items.items, r->items.n, sizeof *r->items.items, by_seq)
                   : NULL;
    return x && str_eq(x->id, id) ? x : NULL;
}

static void forget(struct spool_run *r, struct spool_item *x)
{
    size_t i = (size_t)(x - r->items.items);
    memmove(x, x + 1, (r->items.n - i - 1) * sizeof *x);
    r->items.n--;
}

int spool_run_put(struct spool_run *r, const char *id, uint64_t nonce, uint64_t tag)
{
    char from[SPOOL_NAME_MAX], to[SPOOL_NAME_MAX];
    struct spool_name n = {.taken = 0};
    snprintf(n.id, sizeof n.id, "%s", id);
    snprintf(from, sizeof from, "tmp/%s", id);
    spool_todo_path(&n, to);
    int rc = r->fs->ops->move(r->fs, from, to);
    /* A move that reports a failure may have happened, and a worker may have the bundle by now. So
     * we look for the old name. */
    if (rc < 0 && r->fs->ops->exists(r->fs, from))
        return rc;
    struct spool_item *x = vec_push(&r->items);
    x->seq = seq_of(id);
    x->tag = tag;
    x->nonce = nonce;
    snprintf(x->id, sizeof x->id, "%s", id);
    return 0;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Returns how many seconds the worker took, rounded up. A broken result may hold any numbers, so
 * each of the three times counts as at most a day. */
static unsigned seconds_of(const struct result *res)
{
    const uint64_t day = UINT64_C(86400000000000);
    uint64_t ns = MIN(res->setup_ns, day) + MIN(res->run_ns, day) + MIN(res->verify_ns, day);
    return (unsigned)((ns + 999999999) / 1000000000);
}

/* Is path/result.bin a whole result with this nonce? With nonce 0, any file that is not empty
 * counts. Notes how long the worker took. */
static bool has_result(struct spool_run *r, const char *path, uint64_t nonce)
{
    char *file = xasprintf("%s/result.bin", path), *data = NULL;
    size_t max = 16 << 10;
    int n;
    do {
        max = MIN(max * 4, (size_t)RESULT_MAX_BYTES + 1);
        data = xrealloc(data, max);
        n = r->fs->ops->read(r->fs, file, data, max);
    } while (n >= 0 && (size_t)n == max && max <= RESULT_MAX_BYTES);
    struct arena a = ARENA_INIT;
    struct result res;
    bool whole = n > 0 && result_read(&res, data, (size_t)n, &a, NULL) == 0;
    bool ok = n > 0 && (!nonce || (whole && res.nonce == nonce));
    if (ok && whole)
        r->seconds = seconds_of(&res);
    arena_release(&a);
    free(data);
    free(file);
    return ok;
}

/* Moves done/ID to tmp/ID.result, describes the bundle in *out, and forgets it. Returns false if
 * done/ID cannot be moved. */
static bool take(struct spool_run *r, struct spool_item *x, struct spool_taken *out)
{
    char from[SPOOL_NAME_MAX];
    snprintf(from, sizeof from, "done/%s", x->id);
    snprintf(out->path, sizeof out->path, "tmp/%s.result", x->id);
    if (!spool_moved(r->fs, from, out->path))
        return false;
    /* The file system may fail for a moment, so we try three times. */
    bool ok = false;
    for (int i = 0; i < 3 && !ok; i++)
        ok = has_result(r, out->path, x->nonce);
    out->tag = x->tag;
    out->lost = !ok;
    forget(r, x);
    return true;
}

static void remove_second_result(struct spool_run *r, const char *id)
{
    char from[SPOOL_NAME_MAX], to[SPOOL_NAME_MAX];
    snprintf(from, sizeof from, "done/%s", id);
    snprintf(to, sizeof to, "tmp/%s.second", id);
    if (spool_moved(r->fs, from, to))
        r->fs->ops->remove(r->fs, to);
}

void spool_run_drop(struct spool_run *r, const struct spool_taken *t)
{
    if (*t->path)
        r->fs->ops->remove(r->fs, t->path);
}

/* ---- the census ------------------------------------------------------------------------------ */

static bool is_ours(const struct spool_run *r, const char *name)
{
    return strstr(name, r->run) != NULL;
}

/* Marks our bundles in the folder as seen. Returns how many there are, or -1 if the folder cannot
 * be listed. */
static int mark(struct spool_run *r, const char *folder,
                bool (*parse)(struct spool_name *out, const char *text))
{
    struct spool_names names = VEC_INIT;
    int n = 0, rc = r->fs->ops->list(r->fs, folder, &names);
    vec_each (char *, p, &names) {
        struct spool_name name;
        struct spool_item *x = is_ours(r, *p) && parse(&name, *p) ? find(r, name.id) : NULL;
        if (x)
            x->seen = true;
        n += x != NULL;
    }
    spool_names_release(&names);
    return rc < 0 ? -1 : n;
}

/* Counts our bundles, puts back those of dead workers, and notes which are in no folder. */
static void census(struct spool_run *r, uint64_t now)
{
    uint64_t every = r->lease_ns / 5;
    if (r->census_ns && now - r->census_ns < every)
        return;
    uint64_t passed = r->census_ns ? MIN(now - r->census_ns, 2 * every) : 0;
    r->census_ns = now;
    spool_watch_step(&r->watch, r->run);
    for (size_t i = 0; i < r->items.n; i++)
        r->items.items[i].seen = false;
    /* Bundles move from todo/ to claimed/ to done/. We list the folders in the same order, so we do
     * not miss a bundle that moves on meanwhile. We may miss a bundle that is put back meanwhile,
     * but the next census finds it. */
    int waiting = mark(r, "todo", spool_name_todo),
        running = mark(r, "claimed", spool_name_claimed);
    int done = mark(r, "done", spool_name_todo);
    if (waiting < 0 || running < 0 || done < 0)
        return;
    r->waiting = (size_t)waiting;
    r->running = (size_t)running;
    for (size_t i = 0; i < r->items.n; i++) {
        struct spool_item *x = &r->items.items[i];
        x->missing_ns = x->seen ? 0 : x->missing_ns + passed;
    }
}

static bool find_lost(struct spool_run *r, struct spool_taken *out)
{
    for (size_t i = 0; i < r->items.n; i++) {
        struct spool_item *x = &r->items.items[i];
        if (x->missing_ns <= 2 * r->lease_ns)
            continue;
        out->tag = x->tag;
        out->lost = true;
        out->path[0] = '\0';
        forget(r, x);
        return true;
    }
    return false;
}

bool spool_run_take(struct spool_run *r, uint64_t every_ns, struct spool_taken *out)
{
    for (int listed = 0; listed < 2; listed++) {
        while (r->done.n) {
            char *id = r->done.items[--r->done.n];
            struct spool_item *x = is_ours(r, id) ? find(r, id) : NULL;
            bool took = x && take(r, x, out);
            if (!x && is_ours(r, id))
                remove_second_result(r, id);
            free(id);
            if (took)
                return true;
        }
        if (listed)
            break;
        if (find_lost(r, out))
            return true;
        uint64_t now = r->fs->ops->now_ns(r->fs);
        if (r->list_ns && now - r->list_ns < every_ns)
            return false;
        r->list_ns = now;
        r->fs->ops->list(r->fs, "done", &r->done);
        census(r, now);
    }
    return false;
}

bool spool_run_where(struct spool_run *r, uint64_t tag, char claim[SPOOL_NAME_MAX])
{
    struct spool_names names = VEC_INIT;
    bool found = false;
    r->fs->ops->list(r->fs, "claimed", &names);
    for (size_t i = 0; i < names.n && !found; i++) {
        struct spool_name n;
        struct spool_item *x = is_ours(r, names.items[i]) && spool_name_claimed(&n, names.items[i])
                                   ? find(r, n.id)
                                   : NULL;
        found = x && x->tag == tag;
        if (found)
            snprintf(claim, SPOOL_NAME_MAX, "%s", names.items[i]);
    }
    spool_names_release(&names);
    return found;
}

/* Moves the bundle to tmp/ and deletes it there, so that no worker claims a half-deleted bundle. */
static void withdraw(struct spool_run *r, const char *folder, const char *name)
{
    char from[SPOOL_NAME_MAX], to[SPOOL_NAME_MAX];
    snprintf(from, sizeof from, "%s/%s", folder, name);
    snprintf(to, sizeof to, "tmp/%s.withdrawn", name);
    if (spool_moved(r->fs, from, to))
        r->fs->ops->remove(r->fs, to);
}

void spool_run_end(struct spool_run *r)
{
    static const char *const folders[] = {"todo", "done", "tmp"};
    for (size_t i = 0; r->fs && i < ARRAY_LEN(folders); i++) {
        struct spool_names names = VEC_INIT;
        r->fs->ops->list(r->fs, folders[i], &names);
        vec_each (char *, p, &names)
            if (is_ours(r, *p) && strlen(*p) < SPOOL_ID_MAX)
                withdraw(r, folders[i], *p);
        spool_names_release(&names);
    }
    spool_names_release(&r->done);
    spool_watch_release(&r->watch);
    vec_release(&r->items);
}
