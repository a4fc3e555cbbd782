/* lease.c - the steps of a worker in a spool: claim, beat, finish, put back. See lease.h. */
#include "spool/lease.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define MOST_BEAT_NS UINT64_C(2000000000)      /* longest time between two beats */
#define LISTING_NS_PER_NAME UINT64_C(10000000) /* see listing_is_old() */
/* WATCH_MOST: the most claims that a worker watches. LOOK_MOST: the most bundles that choose()
 * compares. */
enum { WATCH_MOST = 8, MOVE_TRIES = 5, LOOK_MOST = 64 };

uint64_t spool_lease_ns(void)
{
    const char *text = getenv("HONE_SPOOL_LEASE_S");
    double s = text ? strtod(text, NULL) : 0;
    return s > 0 && s < 1e6 ? (uint64_t)(s * 1e9) : UINT64_C(30000000000);
}

/* ---- beats ----------------------------------------------------------------------------------- */

static int write_beat(struct spool_worker *w, bool first)
{
    w->beat.count++;
    w->beat_ns = w->fs->ops->now_ns(w->fs);
    return spool_beat_write(w->fs, w->who, &w->beat, first);
}

/* Writes a beat if the note has changed or the last beat is too old. Returns whether it did. */
static bool beat_if_due(struct spool_worker *w, const char *note)
{
    uint64_t every = MIN(MOST_BEAT_NS, w->lease_ns / 8);
    bool changed = strncmp(w->beat.note, note, sizeof w->beat.note - 1) != 0;
    if (!changed && w->fs->ops->now_ns(w->fs) - w->beat_ns < every)
        return false;
    snprintf(w->beat.note, sizeof w->beat.note, "%s", note);
    write_beat(w, false);
    return true;
}

int spool_worker_begin(struct spool_worker *w, struct spool_fs *fs, const char *who,
                       uint64_t lease_ns, uint64_t seed, struct err *err)
{
    memset(w, 0, sizeof *w);
    w->fs = fs;
    w->lease_ns = lease_ns;
    w->gpu = true;
    w->rng = rng_seeded(seed, 0);
    snprintf(w->who, sizeof w->who, "%s", who);
    w->watch = (struct spool_watch){
        .fs = fs, .lease_ns = lease_ns, .most = WATCH_MOST, .first = rng_below(&w->rng, 1 << 20)};
    /* The file system may report a failure although it made the file. So after a failure we try to
     * overwrite the file. Its name is random, so no other worker can have made it. */
    int rc = write_beat(w, true);
    for (int i = 0; rc < 0 && i < MOVE_TRIES; i++)
        rc = write_beat(w, rc == -ENOENT);
    if (rc < 0) {
        errno = -rc;
        return err_errno(err, "cannot write workers/%s in the spool", w->who);
    }
    return 0;
}

void spool_worker_end(struct spool_worker *w)
{
    char path[SPOOL_NAME_MAX];
    if (*w->claim)
        spool_end(w, SPOOL_PUT_BACK);
    snprintf(path, sizeof path, "workers/%s", w->who);
    w->fs->ops->remove(w->fs, path);
    spool_names_release(&w->todo);
    spool_watch_release(&w->watch);
}

/* ---- claims ---------------------------------------------------------------------------------- */

static bool serves(const struct spool_worker *w, const char *name)
{
    if (str_starts(name, "cuda-"))
        return w->gpu;
    if (!str_starts(name, "emu_"))
        return true;
    size_t n = w->machine ? strlen(w->machine) : 0;
    return !w->only_gpu &&
           (!w->machine || (str_starts(name + 4, w->machine) && name[4 + n] == '-'));
}

static bool is_for(const struct spool_worker *w, const char *name, struct spool_name *n)
{
    return strlen(name) < SPOOL_ID_MAX && spool_name_todo(n, name) && serves(w, name);
}

static bool claim_one(struct spool_worker *w, const char *name)
{
    char from[SPOOL_NAME_MAX], to[SPOOL_NAME_MAX];
    struct spool_name n;
    if (!is_for(w, name, &n))
        return false;
    snprintf(from, sizeof from, "todo/%s", name);
    snprintf(n.worker, sizeof n.worker, "%s", w->who);
    spool_claimed_path(&n, to);
    if (!spool_moved(w->fs, from, to))
        return false;
    w->name = n;
    w->missed = 0;
    snprintf(w->claim, sizeof w->claim, "%s", to);
    snprintf(w->beat.claim, sizeof w->beat.claim, "%s", to + strlen("claimed/"));
    write_beat(w, false);
    return true;
}

/* The more names todo/ has, the longer it takes to list them. So we use a listing for 10 ms per
 * name before we make a new one. */
static bool listing_is_old(const struct spool_worker *w)
{
    return w->fs->ops->now_ns(w->fs) - w->listed_ns > w->listed * LISTING_NS_PER_NAME;
}

static void list_todo(struct spool_worker *w)
{
    spool_names_release(&w->todo);
    w->fs->ops->list(w->fs, "todo", &w->todo);
    w->listed_ns = w->fs->ops->now_ns(w->fs);
    w->listed = w->todo.n;
}

/* Returns a bundle's rank. Workers prefer bundles with a higher rank. Most runs evaluate one bundle
 * after the other, so bundles of a slow run rank high: that run should not end long after all
 * others. A first bundle ranks highest, because nobody knows yet how slow its run is. */
static unsigned rank_of(const char *name)
{
    return spool_name_seconds(name) - 1; /* 0 seconds (a first bundle) gives UINT_MAX */
}

/* Returns the position in w->todo of the bundle to claim. Every second call takes a random bundle,
 * so that workers seldom want the same one and no run waits forever. The other calls take the
 * bundle with the highest rank among at most LOOK_MOST. */
static size_t choose(struct spool_worker *w)
{
    size_t n = w->todo.n, first = (size_t)rng_below(&w->rng, n), best = first;
    if (w->claims++ % 2)
        return first;
    for (size_t i = 0; i < MIN(n, (size_t)LOOK_MOST); i++) {
        size_t k = (first + i) % n;
        if (rank_of(w->todo.items[k]) > rank_of(w->todo.items[best]))
            best = k;
    }
    return best;
}

bool spool_claim(struct spool_worker *w)
{
    for (bool fresh = false;;) {
        if (!fresh && (!w->todo.n || listing_is_old(w))) {
            list_todo(w);
            fresh = true;
        }
        if (!w->todo.n)
            return false;
        size_t i = choose(w);
        char *name = w->todo.items[i];
        w->todo.items[i] = w->todo.items[--w->todo.n];
        bool ours = claim_one(w, name);
        free(name);
        if (ours)
            return true;
    }
}

int spool_waiting(const struct spool_worker *w)
{
    struct spool_names names = VEC_INIT;
    struct spool_name name;
    int n = 0, rc = w->fs->ops->list(w->fs, "todo", &names);
    vec_each (char *, p, &names)
        n += is_for(w, *p, &name);
    spool_names_release(&names);
    return rc < 0 ? -1 : n;
}

bool spool_hopeless(const struct spool_worker *w)
{
    return w->name.failed >= SPOOL_MAX_FAILED || w->name.taken >= SPOOL_MAX_TAKEN;
}

bool spool_beat(struct spool_worker *w, const char *note)
{
    if (!beat_if_due(w, note) || !*w->claim)
        return true;
    /* One miss may be an error of the file system. */
    w->missed = w->fs->ops->exists(w->fs, w->claim) ? 0 : w->missed + 1;
    if (w->missed < 2)
        return true;
    w->claim[0] = w->beat.claim[0] = '\0';
    return false;
}

bool spool_idle(struct spool_worker *w, const char *note)
{
    beat_if_due(w, note);
    uint64_t now = w->fs->ops->now_ns(w->fs);
    if (w->watch_ns && now - w->watch_ns < w->lease_ns / 5)
        return false;
    w->watch_ns = now;
    return spool_watch_step(&w->watch, "") > 0;
}

/* Deletes the claimed bundle. Its place in done/ or todo/ is taken, so somebody else has finished
 * the bundle or put it back. */
static void discard(struct spool_worker *w)
{
    char junk[SPOOL_NAME_MAX];
    snprintf(junk, sizeof junk, "tmp/%s", w->claim + strlen("claimed/"));
    if (spool_moved(w->fs, w->claim, junk))
        w->fs->ops->remove(w->fs, junk);
}

bool spool_end(struct spool_worker *w, enum spool_end how)
{
    char to[SPOOL_NAME_MAX];
    struct spool_name next = w->name;
    next.taken++;
    next.failed += how == SPOOL_FAILED;
    if (how == SPOOL_FINISHED)
        snprintf(to, sizeof to, "done/%s", w->name.id);
    else
        spool_todo_path(&next, to);
    bool did = false;
    for (int i = 0; i < MOVE_TRIES && !did; i++) {
        int rc = w->fs->ops->move(w->fs, w->claim, to);
        did = rc == 0;
        if (rc == -ENOTEMPTY || rc == -EEXIST) {
            discard(w);
            break;
        }
        if (!did && !w->fs->ops->exists(w->fs, w->claim)) {
            /* The move happened although it reported a failure, or a watcher took the bundle. */
            break;
        }
    }
    w->beat.done += did && how == SPOOL_FINISHED;
    w->claim[0] = w->beat.claim[0] = '\0';
    write_beat(w, false);
    return did;
}
