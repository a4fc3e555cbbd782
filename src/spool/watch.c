/* watch.c - puts back bundles whose workers have stopped. See watch.h. */
#include "spool/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "spool/beat.h"

struct spool_watched {
    char claim[SPOOL_NAME_MAX]; /* without "claimed/" */
    uint64_t count;             /* the counter of the worker's last beat for this claim; 0 = none */
    uint64_t quiet_ns;          /* for how long `count` has not changed */
    uint64_t missing_ns;        /* for how long no listing has had the claim */
    bool listed;                /* the last listing of claimed/ has the claim */
};

static int by_claim(const void *a, const void *b)
{
    return strcmp(((const struct spool_watched *)a)->claim,
                  ((const struct spool_watched *)b)->claim);
}

static int key_to_claim(const void *key, const void *x)
{
    return strcmp(key, ((const struct spool_watched *)x)->claim);
}

/* Marks the claims that we watch and that are in the listing. Adds claims that are new, while there
 * is room. */
static void take_listing(struct spool_watch *w, const struct spool_names *names, const char *part)
{
    size_t known = w->seen.n; /* the first `known` items are sorted; new claims come after them */
    for (size_t k = 0; k < names->n; k++) {
        const char *claim = names->items[(k + w->first) % names->n];
        struct spool_name n;
        if (!strstr(claim, part) || strlen(claim) >= sizeof w->seen.items->claim ||
            !spool_name_claimed(&n, claim))
            continue;
        struct spool_watched *x =
            known ? bsearch(claim, w->seen.items, known, sizeof *x, key_to_claim) : NULL;
        if (!x) {
            if (w->most && w->seen.n >= w->most)
                continue;
            x = vec_push(&w->seen);
            snprintf(x->claim, sizeof x->claim, "%s", claim);
        }
        x->listed = true;
        x->missing_ns = 0;
    }
}

/* Returns the counter of the worker's last beat, or 0 if that beat does not name this claim. */
static uint64_t count_of(struct spool_watch *w, const char *claim, const char *worker)
{
    struct spool_beat b;
    return spool_beat_read(w->fs, worker, &b) == 0 && str_eq(b.claim, claim) ? b.count : 0;
}

/* Puts the bundle back if the worker's count has not changed for longer than the lease. Returns
 * whether it did. */
static bool look(struct spool_watch *w, struct spool_watched *x, uint64_t passed)
{
    struct spool_name n;
    spool_name_claimed(&n, x->claim);
    uint64_t count = count_of(w, x->claim, n.worker);
    if (count && count != x->count) {
        x->count = count;
        x->quiet_ns = 0;
        return false;
    }
    x->quiet_ns += passed;
    if (x->quiet_ns <= w->lease_ns)
        return false;
    char from[SPOOL_NAME_MAX], to[SPOOL_NAME_MAX];
    spool_claimed_path(&n, from);
    n.taken++;
    spool_todo_path(&n, to);
    return w->fs->ops->move(w->fs, from, to) == 0;
}

unsigned spool_watch_step(struct spool_watch *w, const char *part)
{
    struct spool_names names = VEC_INIT;
    uint64_t now = w->fs->ops->now_ns(w->fs);
    uint64_t passed = w->last_ns ? MIN(now - w->last_ns, w->lease_ns / 4) : 0;
    unsigned put_back = 0;
    w->last_ns = now;
    w->watched_ns += passed;
    for (size_t i = 0; i < w->seen.n; i++)
        w->seen.items[i].listed = false;
    int rc = w->fs->ops->list(w->fs, "claimed", &names);
    if (rc == 0)
        take_listing(w, &names, part);
    spool_names_release(&names);
    for (size_t i = 0; i < w->seen.n;) {
        struct spool_watched *x = &w->seen.items[i];
        bool gone = false;
        if (x->listed) {
            gone = look(w, x, passed);
            put_back += gone;
        } else if (rc == 0) {
            x->missing_ns += passed;
            gone = w->most || x->missing_ns > w->lease_ns;
        }
        /* If the claim is still quiet after we tried to put the bundle back, another watcher has
         * moved it. */
        if (gone || x->quiet_ns > 2 * w->lease_ns)
            *x = w->seen.items[--w->seen.n];
        else
            i++;
    }
    if (w->seen.n)
        qsort(w->seen.items, w->seen.n, sizeof *w->seen.items, by_claim);
    return put_back;
}

void spool_watch_release(struct spool_watch *w)
{
    vec_release(&w->seen);
}
