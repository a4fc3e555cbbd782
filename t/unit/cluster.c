/*
 * Tests the spool's protocol and the autoscaler on a simulated cluster. The actors are workers and
 * submitters: coroutines that run the real code. Every file operation takes simulated time, in
 * which other actors may act.
 *
 * The simulation has faults: listings are out of date, operations fail, renames succeed but report
 * failure, clocks differ, and the file server stops once. Workers die, hang, and write into bundles
 * that they lost. The seed decides everything.
 *
 * t/torture/protocol_faults.sh plants faults in the protocol. This test must notice them.
 *
 *     build/release/t/cluster                       10 seeds, 1,000 bundles, 30 workers
 *     CLUSTER="SEEDS BUNDLES WORKERS FIRST" build/release/t/cluster
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/util.h"
#include "cpu_time.h"
#include "job/result.h"
#include "sched/autoscale.h"
#include "spool/lease.h"
#include "spool/run.h"

#define MS UINT64_C(1000000)
#define SEC UINT64_C(1000000000)
#define LEASE (30 * SEC)
#define STALE (5 * SEC) /* maximum age of a listing */
#define POLL SEC
/* The longest time that a worker may take to find a waiting bundle: it may see an old listing, fail
 * twice, and wait for slow operations. */
#define MOST_IDLE (STALE + 6 * SEC)
enum { STACK = 160 << 10, WINDOW = 512 };

/* ---- the cluster ----------------------------------------------------------------------------- */

struct node {
    uint64_t nonce;
    char *data; /* contents of the file or of result.bin */
    int len;
};

struct entry {
    uint64_t hash, added_ns, removed_ns; /* removed_ns 0 = it exists */
    char *name;
    struct node *node;
};

struct folder {
    VEC(struct entry) entries;
    size_t there;
    uint64_t filled_ns; /* the last time when the folder got an entry while it was empty */
};

enum { TMP, WAITING, CLAIMED, DONE, WORKERS, FOLDERS };
static const char *const folder_names[FOLDERS] = {"tmp", "todo", "claimed", "done", "workers"};

enum job_state { PENDING, RUNNING, ENDED };

struct actor {
    struct spool_fs fs;
    ucontext_t context;
    char *stack;
    uint64_t wake_ns, order;
    double rate;        /* speed of its clock */
    uint64_t offset_ns; /* offset of its clock */
    enum job_state state;
    bool worker, dead, stop;
    struct actor *owner; /* the submitter that started this worker */
    uint64_t idle_ns;    /* when the worker began to look for a bundle */
    uint64_t stop_ns;    /* time limit; 0 = none */
    struct node *held;   /* the bundle that the worker claimed last, wherever it is moved */
    unsigned number;
    unsigned first, end; /* a submitter's bundles: first..end-1 */
    char run[33];        /* name of a submitter's run */
    /* A worker's last heartbeat: the claim in it, its time, and since when the heartbeats name this
     * claim. */
    char says[SPOOL_NAME_MAX];
    uint64_t beat_ns, steady_ns;
    void (*body)(struct actor *a);
};

struct sim {
    struct rng rng;
    uint64_t now_ns, order;
    struct folder folders[FOLDERS];
    VEC(struct actor *) heap;
    VEC(struct actor *) actors;
    struct actor *running, *submitters[3];
    unsigned nsubmitters;
    ucontext_t scheduler;
    bool over;
    unsigned bundles, workers;
    bool faults;
    uint64_t *nonces;            /* the nonce of each bundle */
    uint8_t *judged;             /* how often each bundle was judged */
    uint64_t outage_ns, back_ns; /* when the file server stops and comes back */
    uint64_t ops, listed, worst_idle_ns;
    unsigned deaths, hangs, lost, kills, wrong;
    unsigned stolen;    /* bundles taken from healthy workers */
    unsigned abandoned; /* claims taken from healthy workers that did not know of them */
    unsigned foreign;   /* bundles removed by another run */
    unsigned finished;  /* finished bundles of the run that is not killed */
};
enum { POISON = 7 }; /* the bundle that kills its workers */

static struct sim *sim;

static bool chance(double p)
{
    return sim->faults && rng_unit(&sim->rng) < p;
}

static void heap_push(struct actor *a)
{
    a->order = ++sim->order;
    size_t i = sim->heap.n;
    *vec_push(&sim->heap) = a;
    for (; i; i = (i - 1) / 2) {
        struct actor *up = sim->heap.items[(i - 1) / 2];
        if (up->wake_ns < a->wake_ns || (up->wake_ns == a->wake_ns && up->order < a->order))
            break;
        sim->heap.items[i] = up;
        sim->heap.items[(i - 1) / 2] = a;
    }
}

static bool before(size_t i, size_t k)
{
    const struct actor *a = sim->heap.items[i], *b = sim->heap.items[k];
    return a->wake_ns < b->wake_ns || (a->wake_ns == b->wake_ns && a->order < b->order);
}

static struct actor *heap_pop(void)
{
    struct actor *top = sim->heap.items[0];
    sim->heap.items[0] = sim->heap.items[--sim->heap.n];
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t k = 2 * i + 1; k <= 2 * i + 2; k++)
            if (k < sim->heap.n && before(k, least))
                least = k;
        if (least == i)
            return top;
        struct actor *x = sim->heap.items[i];
        sim->heap.items[i] = sim->heap.items[least];
        sim->heap.items[least] = x;
        i = least;
    }
}

/* Lets the other actors act for `ns`. Worker `a` may hang for longer, or die. */
static void sleep_for(struct actor *a, uint64_t ns)
{
    if (a->dead)
        return;
    if (a->worker && chance(2e-4)) {
        ns += rng_below(&sim->rng, 240 * SEC);
        sim->hangs++;
    }
    a->wake_ns = sim->now_ns + ns;
    heap_push(a);
    swapcontext(&a->context, &sim->scheduler);
    if (a->worker && chance(1e-4)) {
        a->dead = true;
        sim->deaths++;
    }
    if (sim->over)
        a->dead = true;
}

/* ---- the file system of the cluster ---------------------------------------------------------- */

static uint64_t hash_of(const char *s)
{
    uint64_t h = UINT64_C(1469598103934665603);
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
    return h;
}

static struct folder *folder_of(const char *path, char name[SPOOL_NAME_MAX], const char **file)
{
    size_t n = strcspn(path, "/");
    for (int i = 0; i < FOLDERS; i++)
        if (strlen(folder_names[i]) == n && strncmp(path, folder_names[i], n) == 0) {
            const char *rest = path[n] ? path + n + 1 : "";
            size_t len = strcspn(rest, "/");
            snprintf(name, SPOOL_NAME_MAX, "%.*s", (int)len, rest);
            *file = rest[len] ? rest + len + 1 : NULL;
            return &sim->folders[i];
        }
    fail_msg("no such folder: %s", path);
    return NULL;
}

static struct entry *lookup(struct folder *f, const char *name)
{
    uint64_t h = hash_of(name);
    for (size_t i = 0; i < f->entries.n; i++)
        if (f->entries.items[i].hash == h && !f->entries.items[i].removed_ns)
            return &f->entries.items[i];
    return NULL;
}

static void add_entry(struct folder *f, const char *name, struct node *node)
{
    /* frees the entries that were removed so long ago that no listing shows them */
    for (size_t i = 0; i < f->entries.n;) {
        struct entry *e = &f->entries.items[i];
        if (e->removed_ns && e->removed_ns + STALE < sim->now_ns) {
            free(e->name);
            *e = f->entries.items[--f->entries.n];
        } else {
            i++;
        }
    }
    if (!f->there++)
        f->filled_ns = sim->now_ns;
    *vec_push(&f->entries) = (struct entry){
        .hash = hash_of(name), .added_ns = sim->now_ns, .name = xstrdup(name), .node = node};
}

static void remove_entry(struct folder *f, struct entry *e)
{
    e->removed_ns = sim->now_ns ? sim->now_ns : 1;
    f->there--;
}

/* Takes the time of one file operation. Returns false if the actor died meanwhile. */
static bool operate(struct spool_fs *fs)
{
    struct actor *a = (struct actor *)fs;
    sim->ops++;
    if (sim->now_ns >= sim->outage_ns && sim->now_ns < sim->back_ns)
        sleep_for(a, sim->back_ns - sim->now_ns);
    sleep_for(a, chance(1e-3) ? rng_below(&sim->rng, SEC) : MS / 5 + rng_below(&sim->rng, 3 * MS));
    return !a->dead;
}

static int sim_list(struct spool_fs *fs, const char *dir, struct spool_names *out)
{
    char name[SPOOL_NAME_MAX];
    const char *file;
    if (!operate(fs) || chance(3e-3))
        return -EIO;
    struct folder *f = folder_of(dir, name, &file);
    uint64_t old = chance(0.3) ? rng_below(&sim->rng, STALE) : 0;
    bool mixed = chance(0.5);
    for (size_t i = 0; i < f->entries.n; i++) {
        const struct entry *e = &f->entries.items[i];
        uint64_t age = mixed && old ? rng_below(&sim->rng, old) : old;
        uint64_t at = sim->now_ns > age ? sim->now_ns - age : 0;
        if (e->added_ns <= at && (!e->removed_ns || e->removed_ns > at)) {
            *vec_push(out) = xstrdup(e->name);
            sim->listed++;
        }
    }
    return 0;
}

static int move_now(const char *from, const char *to)
{
    char a[SPOOL_NAME_MAX], b[SPOOL_NAME_MAX];
    const char *file;
    struct folder *f = folder_of(from, a, &file), *t = folder_of(to, b, &file);
    struct entry *e = lookup(f, a);
    if (!e)
        return -ENOENT;
    if (lookup(t, b))
        return -ENOTEMPTY;
    struct node *n = e->node;
    remove_entry(f, e);
    add_entry(t, b, n);
    return 0;
}

/* Returns for how long a worker has sent no heartbeat, without the time when the file server was
 * down. */
static uint64_t silence(const struct actor *a)
{
    uint64_t ns = sim->now_ns - a->beat_ns, from = MAX(a->beat_ns, sim->outage_ns);
    return sim->now_ns >= sim->back_ns && from < sim->back_ns ? ns - (sim->back_ns - from) : ns;
}

static void note_beat(struct actor *a, const char *text, size_t len)
{
    char claim[SPOOL_NAME_MAX];
    const char *line = memchr(text, '\n', len);
    snprintf(claim, sizeof claim, "%.*s", line ? (int)strcspn(line + 1, "\n") : 0,
             line ? line + 1 : "");
    if (!str_eq(claim, a->says) || silence(a) > LEASE / 4)
        a->steady_ns = sim->now_ns;
    snprintf(a->says, sizeof a->says, "%s", claim);
    a->beat_ns = sim->now_ns;
}

static void check_move(const struct actor *mover, const char *from, const char *to)
{
    struct spool_name n;
    unsigned number;
    if (*mover->run && str_starts(to, "tmp/") && !strstr(from, mover->run))
        sim->foreign++;
    if (str_starts(to, "done/") && strstr(to, sim->submitters[1]->run))
        sim->finished++;
    if (!str_starts(from, "claimed/") || !str_starts(to, "todo/") ||
        !spool_name_claimed(&n, from + strlen("claimed/")) ||
        sscanf(n.worker, "node%u-", &number) != 1 || number >= sim->actors.n)
        return;
    const struct actor *w = sim->actors.items[number];
    if (w == mover || w->dead || w->state != RUNNING || silence(w) > LEASE / 4)
        return;
    if (!str_eq(w->says, from + strlen("claimed/")))
        sim->abandoned++;
    else if (sim->now_ns - w->steady_ns > LEASE + STALE)
        sim->stolen++;
}

static int sim_move(struct spool_fs *fs, const char *from, const char *to)
{
    struct actor *a = (struct actor *)fs;
    if (!operate(fs) || chance(3e-3))
        return -EIO;
    int rc = move_now(from, to);
    if (rc == 0)
        check_move(a, from, to);
    if (rc == 0 && str_starts(to, "claimed/")) {
        char name[SPOOL_NAME_MAX];
        const char *file;
        a->held = lookup(folder_of(to, name, &file), name)->node;
    }
    sleep_for(a, MS / 5);
    if (a->dead)
        return -EIO;
    /* The rename succeeded, but sometimes the actor is told that it failed. */
    return rc == 0 && chance(3e-2) ? (chance(0.5) ? -ENOENT : -EIO) : rc;
}

static bool sim_exists(struct spool_fs *fs, const char *path)
{
    char name[SPOOL_NAME_MAX];
    const char *file;
    if (!operate(fs) || chance(3e-2))
        return false;
    return lookup(folder_of(path, name, &file), name) != NULL;
}

static void set_data(struct node *n, const void *data, size_t len)
{
    free(n->data);
    n->data = xmalloc(len + 1);
    memcpy(n->data, data, len);
    n->len = (int)len;
}

static int sim_write(struct spool_fs *fs, const char *path, const void *data, size_t len)
{
    struct actor *a = (struct actor *)fs;
    char name[SPOOL_NAME_MAX];
    const char *file;
    if (!operate(fs) || chance(3e-3))
        return -EIO;
    struct entry *e = lookup(folder_of(path, name, &file), name);
    /* If the bundle was moved, a cached file handle may still lead to it. */
    struct node *n = e ? e->node : file && a->held && chance(0.5) ? a->held : NULL;
    if (!n)
        return -ENOENT;
    set_data(n, data, len);
    if (str_starts(path, "workers/"))
        note_beat(a, data, len);
    return 0;
}

static int sim_make(struct spool_fs *fs, const char *path, const void *data, size_t len)
{
    char name[SPOOL_NAME_MAX];
    const char *file;
    if (!operate(fs) || chance(3e-3))
        return -EIO;
    struct folder *f = folder_of(path, name, &file);
    if (lookup(f, name))
        return -EEXIST;
    struct node *n = xcalloc(1, sizeof *n);
    set_data(n, data, len);
    add_entry(f, name, n);
    return chance(3e-3) ? -EIO : 0;
}

static int sim_read(struct spool_fs *fs, const char *path, void *data, size_t max)
{
    char name[SPOOL_NAME_MAX];
    const char *file;
    if (!operate(fs) || chance(3e-3))
        return -EIO;
    struct entry *e = lookup(folder_of(path, name, &file), name);
    if (!e || !e->node->data)
        return -ENOENT;
    int n = MIN(e->node->len, (int)max);
    memcpy(data, e->node->data, (size_t)n);
    return n;
}

static void node_free(struct node *n)
{
    for (size_t i = 0; i < sim->actors.n; i++)
        if (sim->actors.items[i]->held == n)
            sim->actors.items[i]->held = NULL;
    free(n->data);
    free(n);
}

static void sim_remove(struct spool_fs *fs, const char *path)
{
    char name[SPOOL_NAME_MAX];
    const char *file;
    if (!operate(fs) || chance(3e-3))
        return;
    struct folder *f = folder_of(path, name, &file);
    struct entry *e = lookup(f, name);
    if (!e)
        return;
    node_free(e->node);
    e->node = NULL;
    remove_entry(f, e);
}

static uint64_t sim_now(struct spool_fs *fs)
{
    struct actor *a = (struct actor *)fs;
    return a->offset_ns + (uint64_t)((double)sim->now_ns * a->rate);
}

static const struct spool_fs_ops sim_ops = {sim_list,  sim_move, sim_exists, sim_make,
                                            sim_write, sim_read, sim_remove, sim_now};

/* ---- actors ---------------------------------------------------------------------------------- */

static void enter(void)
{
    struct actor *a = sim->running;
    a->body(a);
    a->state = ENDED;
    a->dead = true;
    swapcontext(&a->context, &sim->scheduler);
}

static struct actor *add_actor(void (*body)(struct actor *), uint64_t wake_ns)
{
    struct actor *a = xcalloc(1, sizeof *a);
    a->fs.ops = &sim_ops;
    a->body = body;
    a->number = (unsigned)sim->actors.n;
    a->offset_ns = rng_below(&sim->rng, 600 * SEC) + SEC;
    a->rate = 1 + 2e-4 * (rng_unit(&sim->rng) - 0.5);
    a->wake_ns = wake_ns;
    a->stack = xmalloc(STACK);
    getcontext(&a->context);
    a->context.uc_stack.ss_sp = a->stack;
    a->context.uc_stack.ss_size = STACK;
    makecontext(&a->context, enter, 0);
    *vec_push(&sim->actors) = a;
    heap_push(a);
    return a;
}

static void write_result(struct actor *a, const struct spool_worker *w, uint64_t nonce)
{
    struct result res = {.status = RESULT_OK,
                         .message = w->who,
                         .nonce = chance(2e-3) ? nonce + 1 : nonce,
                         .device = "",
                         .driver = "",
                         .printf_text = ""};
    struct strbuf sb = STRBUF_INIT(RESULT_MAX_BYTES);
    char path[SPOOL_NAME_MAX + 16];
    result_write(&res, &sb);
    snprintf(path, sizeof path, "%s/result.bin", w->claim);
    for (int i = 0; i < 5 && a->fs.ops->write(&a->fs, path, sb.buf, sb.len) == -EIO; i++)
        ;
    strbuf_release(&sb);
}

/* Updates worst_idle_ns with the time that this worker has looked for a bundle while bundles
 * waited. */
static void note_idle(struct actor *a)
{
    const struct folder *todo = &sim->folders[WAITING];
    if (!todo->there || a->dead)
        return;
    uint64_t since = MAX(a->idle_ns, todo->filled_ns);
    if (sim->now_ns > since)
        sim->worst_idle_ns = MAX(sim->worst_idle_ns, sim->now_ns - since);
}

static void run_bundle(struct actor *a, struct spool_worker *w)
{
    uint64_t nonce = a->held ? a->held->nonce : 0, left = SEC + rng_below(&sim->rng, 8 * SEC);
    if (chance(0.02))
        left += LEASE + rng_below(&sim->rng, 3 * LEASE);
    if (spool_hopeless(w)) {
        write_result(a, w, nonce);
        spool_end(w, SPOOL_FINISHED);
        return;
    }
    if (sim->faults && sim->bundles > POISON && nonce == sim->nonces[POISON])
        a->dead = true;
    while (left && !a->dead && !a->stop) {
        uint64_t step = MIN(left, SEC);
        sleep_for(a, step);
        left -= step;
        if (!spool_beat(w, "runs"))
            return;
    }
    if (a->dead)
        return;
    if (left || chance(2e-3)) {
        spool_end(w, left ? SPOOL_PUT_BACK : SPOOL_FAILED);
        return;
    }
    write_result(a, w, nonce);
    struct node *n = a->held;
    if (n && n->data) {
        spool_end(w, SPOOL_FINISHED);
    } else {
        spool_end(w, SPOOL_PUT_BACK);
    }
}

static void worker_body(struct actor *a)
{
    struct spool_worker w;
    char who[SPOOL_ID_MAX];
    a->state = RUNNING;
    snprintf(who, sizeof who, "node%u-%08x", a->number, (unsigned)rng_u64(&sim->rng));
    if (spool_worker_begin(&w, &a->fs, who, LEASE, rng_u64(&sim->rng), NULL) < 0)
        return;
    uint64_t busy_ns = sim->now_ns, last_ns = sim->now_ns;
    a->idle_ns = sim->now_ns;
    while (!a->dead && !a->stop) {
        if (sim->now_ns - last_ns > 5 * SEC)
            a->idle_ns = sim->now_ns; /* the worker hung, which does not count as idle */
        last_ns = sim->now_ns;
        a->stop = a->stop_ns && sim->now_ns > a->stop_ns;
        if (spool_claim(&w)) {
            if (sim->now_ns - last_ns < 5 * SEC)
                note_idle(a);
            if (a->held)
                run_bundle(a, &w);
            busy_ns = last_ns = a->idle_ns = sim->now_ns;
            continue;
        }
        if (sim->now_ns - last_ns < 5 * SEC)
            note_idle(a);
        spool_idle(&w, "idle");
        if (sim->now_ns - busy_ns > 60 * SEC)
            break;
        sleep_for(a, POLL / 2 + rng_below(&sim->rng, POLL / 2));
    }
    spool_worker_end(&w);
}

/* ---- the submitter --------------------------------------------------------------------------- */

static void submit(struct actor *a, struct spool_run *run, uint64_t tag)
{
    char id[SPOOL_ID_MAX], path[SPOOL_NAME_MAX];
    do {
        spool_run_id(run, "any", id);
        snprintf(path, sizeof path, "tmp/%s", id);
        struct node *n = xcalloc(1, sizeof *n);
        n->nonce = sim->nonces[tag];
        add_entry(&sim->folders[TMP], id, n);
    } while (spool_run_put(run, id, sim->nonces[tag], tag) < 0 && !a->dead);
}

static unsigned in_state(const struct actor *owner, enum job_state s)
{
    unsigned n = 0;
    for (size_t i = 0; i < sim->actors.n; i++)
        n += sim->actors.items[i]->owner == owner && sim->actors.items[i]->state == s;
    return n;
}

/* Takes the place of squeue and sbatch: tells the autoscaler how many workers wait and run, and
 * starts as many workers as it asks for. Sometimes a start fails. */
static void scale(struct actor *a, struct autoscale *scaler, unsigned bundles)
{
    static const uint64_t starts = 20 * SEC;
    struct autoscale_seen seen = {bundles, in_state(a, PENDING), in_state(a, RUNNING)};
    int n = autoscale_step(scaler, &seen, sim_now(&a->fs));
    for (int i = 0; i < n; i++) {
        if (chance(0.02)) {
            autoscale_failed(scaler, sim_now(&a->fs));
            break;
        }
        struct actor *w = add_actor(worker_body, sim->now_ns + rng_below(&sim->rng, starts));
        w->worker = true;
        w->owner = a;
        if (sim->faults)
            w->stop_ns = sim->now_ns + 200 * SEC + rng_below(&sim->rng, 3000 * SEC);
    }
}

static unsigned unjudged(const struct actor *a)
{
    unsigned n = 0;
    for (unsigned i = a->first; i < a->end; i++)
        n += !sim->judged[i];
    return n;
}

/* Checks that the result has the nonce of its bundle. Reads the result without simulated faults. */
static void check_nonce(const struct spool_taken *t)
{
    char name[SPOOL_NAME_MAX];
    const char *file;
    struct arena mem = ARENA_INIT;
    struct result res;
    struct entry *e = lookup(folder_of(t->path, name, &file), name);
    if (!e || result_read(&res, e->node->data, (size_t)e->node->len, &mem, NULL) < 0 ||
        res.nonce != sim->nonces[t->tag])
        sim->wrong++;
    arena_release(&mem);
}

/* Submits those bundles of `a` that have no verdict yet. If a submitter is killed, its bundles stay
 * in the spool, and another submitter submits them under a new name. */
static void submitter_body(struct actor *a)
{
    struct spool_run run;
    struct autoscale scaler = {.most = sim->workers / 2};
    unsigned next = a->first, left = unjudged(a);
    uint64_t scaled_ns = 0;
    char name[33];
    a->state = RUNNING;
    snprintf(name, sizeof name, "%016" PRIx64, rng_u64(&sim->rng));
    snprintf(a->run, sizeof a->run, "%s", name);
    spool_run_begin(&run, &a->fs, name, LEASE);
    while (left && !a->dead) {
        struct spool_taken t;
        while (spool_run_take(&run, POLL, &t) && !a->dead) {
            if (t.lost) {
                sim->lost++;
                submit(a, &run, t.tag);
            } else {
                check_nonce(&t);
                sim->judged[t.tag]++;
                left--;
                autoscale_worked(&scaler);
            }
            spool_run_drop(&run, &t);
        }
        for (; next < a->end && run.items.n < WINDOW; next++)
            if (!sim->judged[next])
                submit(a, &run, next);
        if (sim->now_ns - scaled_ns > 5 * SEC) {
            scaled_ns = sim->now_ns;
            scale(a, &scaler, left);
        }
        sleep_for(a, POLL / 4);
        if (a->stop_ns && sim->now_ns > a->stop_ns) {
            a->dead = true; /* kill -9 */
            sim->kills++;
        }
    }
    spool_run_end(&run);
}

static void add_submitter(unsigned first, unsigned end, uint64_t at_ns, bool dies)
{
    struct actor *a = add_actor(submitter_body, at_ns);
    a->first = first;
    a->end = end;
    sim->submitters[sim->nsubmitters++] = a;
    if (dies)
        a->stop_ns = at_ns + 20 * SEC + rng_below(&sim->rng, 60 * SEC);
}

/* ---- one simulation -------------------------------------------------------------------------- */

struct outcome {
    double ops, listed;
    uint64_t took_ns, worst_idle_ns;
    unsigned deaths, hangs, lost, abandoned, finished;
    double cpu_s;
};

static void sim_free(void)
{
    sim->over = true; /* so every coroutine finds that its actor is dead, and returns */
    for (size_t i = 0; i < sim->actors.n; i++) {
        struct actor *a = sim->actors.items[i];
        a->dead = true;
        if (a->state != ENDED) {
            sim->running = a;
            swapcontext(&sim->scheduler, &a->context);
        }
    }
    for (int f = 0; f < FOLDERS; f++) {
        vec_each (struct entry, e, &sim->folders[f].entries) {
            if (!e->removed_ns && e->node)
                node_free(e->node);
            free(e->name);
        }
        vec_release(&sim->folders[f].entries);
    }
    for (size_t i = 0; i < sim->actors.n; i++) {
        free(sim->actors.items[i]->stack);
        free(sim->actors.items[i]);
    }
    vec_release(&sim->actors);
    vec_release(&sim->heap);
    free(sim->nonces);
    free(sim->judged);
    free(sim);
    sim = NULL;
}

static bool active(void)
{
    for (unsigned i = 0; i < sim->nsubmitters; i++)
        if (sim->submitters[i]->state != ENDED)
            return true;
    return false;
}

static struct outcome simulate(uint64_t seed, unsigned bundles, unsigned workers, bool faults)
{
    double begun_s = cpu_seconds();
    sim = xcalloc(1, sizeof *sim);
    sim->rng = rng_seeded(seed, 1);
    sim->now_ns = SEC;
    sim->bundles = bundles;
    sim->workers = workers;
    sim->faults = faults;
    sim->nonces = xcalloc(bundles, sizeof *sim->nonces);
    sim->judged = xcalloc(bundles, 1);
    for (unsigned i = 0; i < bundles; i++)
        sim->nonces[i] = rng_u64(&sim->rng) | 2;
    if (faults) {
        sim->outage_ns = 40 * SEC + rng_below(&sim->rng, 60 * SEC);
        sim->back_ns = sim->outage_ns + 3 * LEASE;
    }
    /* Two runs share the spool. One of them is killed and resumed. */
    add_submitter(0, bundles / 2, SEC, faults);
    add_submitter(bundles / 2, bundles, SEC, false);
    const uint64_t most_ns = 100000 * SEC;
    while (active() && sim->now_ns < most_ns) {
        struct actor *a = heap_pop();
        sim->now_ns = MAX(sim->now_ns, a->wake_ns);
        sim->running = a;
        swapcontext(&sim->scheduler, &a->context);
        if (sim->kills && sim->nsubmitters == 2)
            add_submitter(0, bundles / 2, sim->now_ns + 10 * SEC, false);
    }
    unsigned missing = 0, twice = 0;
    for (unsigned i = 0; i < bundles; i++) {
        missing += sim->judged[i] == 0;
        twice += sim->judged[i] > 1;
    }
    struct outcome o = {.ops = (double)sim->ops / bundles,
                        .listed = (double)sim->listed / bundles,
                        .took_ns = sim->now_ns,
                        .worst_idle_ns = sim->worst_idle_ns,
                        .deaths = sim->deaths,
                        .hangs = sim->hangs,
                        .lost = sim->lost,
                        .abandoned = sim->abandoned,
                        .finished = sim->finished,
                        .cpu_s = cpu_seconds() - begun_s};
    size_t left = faults ? 0 : sim->folders[WAITING].there + sim->folders[DONE].there;
    unsigned wrong = sim->wrong, stolen = sim->stolen, foreign = sim->foreign;
    sim_free();
    if (missing || twice || left || wrong)
        fail_msg("seed %" PRIu64 ": %u bundles lost, %u judged twice, %u by a result of another "
                 "bundle, %zu left in the spool",
                 seed, missing, twice, wrong, left);
    if (stolen || foreign)
        fail_msg("seed %" PRIu64 ": %u bundles were taken from workers that live, and %u were "
                 "removed by another run",
                 seed, stolen, foreign);
    return o;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static unsigned seeds = 10, bundles = 1000, workers = 30, first_seed = 1;

static void nothing_is_lost_or_judged_twice(void **state)
{
    (void)state;
    unsigned deaths = 0, hangs = 0, lost = 0, abandoned = 0, finished = 0;
    uint64_t idle = 0;
    for (unsigned s = first_seed; s < first_seed + seeds; s++) {
        struct outcome o = simulate(s, bundles, workers, true);
        if (bundles > 10000)
            print_message("# seed %u passed: %.0f s of CPU time\n", s, o.cpu_s);
        deaths += o.deaths;
        hangs += o.hangs;
        idle = MAX(idle, o.worst_idle_ns);
        lost += o.lost;
        abandoned += o.abandoned;
        finished += o.finished;
        if (o.worst_idle_ns > MOST_IDLE)
            fail_msg("seed %u: a worker was idle for %.1f s while bundles waited", s,
                     (double)o.worst_idle_ns / 1e9);
    }
    print_message("# %u seeds, %u bundles, %u workers: %u deaths, %u hangs, idle at most %.1f s; "
                  "%u bundles were submitted again, %u claims abandoned\n",
                  seeds, bundles, workers, deaths, hangs, (double)idle / 1e9, lost, abandoned);
    /* If a result has a wrong nonce (0.2%), the run submits the bundle again. If a rename succeeds
     * but reports failure, and the worker's next look at the spool fails too (0.1%), the worker
     * does not know of its claim and abandons it. */
    if (lost > seeds * bundles / 100 || abandoned > seeds * bundles / 100)
        fail_msg("%u of %u bundles were submitted again, %u claims were abandoned", lost,
                 seeds * bundles, abandoned);
    unsigned own = seeds * (bundles - bundles / 2);
    if (finished > own + lost + own / 100)
        fail_msg("workers finished %u bundles of a run that has %u", finished, own);
    if (bundles >= 1000)
        assert_true(deaths > seeds && hangs > seeds);
}

static void a_few_bundles_are_judged_too(void **state)
{
    (void)state;
    for (unsigned n = 2; n < 10; n++)
        simulate(n, n, 2, true);
}

static void equal_seeds_give_equal_runs(void **state)
{
    (void)state;
    struct outcome a = simulate(3, 200, 20, true), b = simulate(3, 200, 20, true);
    assert_true(a.took_ns == b.took_ns && a.deaths == b.deaths);
    assert_true(a.ops == b.ops && a.listed == b.listed);
}

static struct outcome cost_among(unsigned n)
{
    struct outcome o = simulate(1, n, workers, true);
    print_message("# %7u %9.1f %9.0f %9.0f %9.0f\n", n, o.ops, o.listed, 1e6 * o.cpu_s / n,
                  (double)o.took_ns / 1e9);
    return o;
}

/* Compares the cost of a bundle among few bundles and among many. The CPU time includes the
 * simulator. */
static void a_bundle_costs_the_same_among_many(void **state)
{
    (void)state;
    unsigned few = 1000, many = MAX(bundles, 4000u);
    print_message("# what a bundle costs, with %u workers\n"
                  "# bundles operations   names   us of CPU   simulated s for all\n",
                  workers);
    struct outcome a = cost_among(few), b = a;
    for (unsigned n = MIN(10 * few, many);; n = MIN(10 * n, many)) {
        b = cost_among(n);
        assert_true(1e6 * b.cpu_s / n < 4 * 1e6 * a.cpu_s / few);
        assert_true(b.ops < 1.3 * a.ops);
        assert_true(b.listed < 2 * a.listed);
        if (n == many)
            break;
    }
}

static void without_faults_all_workers_are_busy(void **state)
{
    (void)state;
    struct outcome o = simulate(1, 1000, 50, false);
    assert_int_equal(o.lost, 0);
    /* 1,000 bundles of 5 s on 50 workers take 100 s. The first starts within 25 s. */
    assert_true(o.took_ns < 180 * SEC);
}

int main(void)
{
    const char *env = getenv("CLUSTER");
    if (env && sscanf(env, "%u %u %u %u", &seeds, &bundles, &workers, &first_seed) < 1)
        return 2;
    setlinebuf(stdout);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_or_judged_twice),
        cmocka_unit_test(a_few_bundles_are_judged_too),
        cmocka_unit_test(equal_seeds_give_equal_runs),
        cmocka_unit_test(a_bundle_costs_the_same_among_many),
        cmocka_unit_test(without_faults_all_workers_are_busy),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
