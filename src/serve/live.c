/* live.c - the listeners, the table of runs, and the events made from it. See live.h. */
#include "serve/live.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "sys/json.h"
#include "sys/loop.h"
#include "view/view.h"

/* EVENT_MAX: the largest event, in bytes. BLOCK: bytes of libmicrohttpd's write buffer. */
enum { WATCHED_RUNS = 100, EVENT_MAX = 16 << 10, BLOCK = 1024 };
#define BEAT_NS (15 * SEC) /* a listener without news for so long gets a comment */

struct listener {
    struct live *live;
    struct MHD_Connection *c;
    struct listener *next, *prev;
    uint64_t seen;     /* live.version at its last event */
    uint64_t last_ns;  /* time of its last event or comment */
    struct strbuf out; /* the text of that event or comment */
    size_t at;         /* how much of `out` is sent */
    bool suspended;
};

/* A run, as the listeners know it. */
struct watched {
    int64_t id, updated_ms;
    uint64_t nodes, calls, changed; /* `changed`: live.version at the run's last change */
    char name[128], state[16];
};

struct live {
    const struct mhd *m;
    struct store *s;
    pthread_mutex_t lock;
    struct listener *first;
    unsigned count, max;
    bool closing;
    uint64_t version; /* counts the changes that live_look() found */
    int64_t store_version, training_version;
    uint64_t training_changed; /* `version` at the last change of training */
    VEC(struct watched) runs;
};

struct live *live_new(const struct mhd *m, struct store *s, unsigned max_listeners)
{
    struct live *l = xcalloc(1, sizeof *l);
    l->m = m;
    l->s = s;
    l->max = max_listeners;
    l->store_version = -1;
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void live_free(struct live *l)
{
    if (!l)
        return;
    pthread_mutex_destroy(&l->lock);
    vec_release(&l->runs);
    free(l);
}

/* ---- listeners: the server's thread --------------------------------------------------------- */

static void add_event(struct live *l, struct listener *x)
{
    json_t *runs = json_array();
    vec_each (struct watched, w, &l->runs)
        if (w->changed > x->seen)
            json_array_append_new(runs, json_pack("{s:o, s:I, s:o}", "run", json_text(w->name),
                                                  "candidates", (json_int_t)w->nodes, "state",
                                                  json_text(w->state)));
    json_t *event =
        json_pack("{s:o, s:b}", "runs", runs, "training", l->training_changed > x->seen);
    strbuf_adds(&x->out, "event: change\ndata: ");
    json_add_text(&x->out, event, false);
    while (x->out.len && x->out.buf[x->out.len - 1] == '\n')
        x->out.len--;
    strbuf_adds(&x->out, "\n\n");
    json_decref(event);
    x->seen = l->version;
}

/* Puts the next event or comment into x->out. Returns false if none is due. */
static bool next_text(struct live *l, struct listener *x)
{
    strbuf_clear(&x->out);
    x->at = 0;
    if (x->seen < l->version)
        add_event(l, x);
    else if (now_ns() - x->last_ns > BEAT_NS)
        strbuf_adds(&x->out, ": still here\n\n");
    if (x->out.len)
        x->last_ns = now_ns();
    return x->out.len > 0;
}

static ssize_t read_events(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct listener *x = cls;
    struct live *l = x->live;
    ssize_t got = 0;
    pthread_mutex_lock(&l->lock);
    if (l->closing) {
        got = MHD_CONTENT_READER_END_OF_STREAM;
    } else if (x->at < x->out.len || next_text(l, x)) {
        size_t n = MIN(max, x->out.len - x->at);
        memcpy(buf, x->out.buf + x->at, n);
        x->at += n;
        got = (ssize_t)n;
    } else {
        x->suspended = true;
        l->m->suspend(x->c);
    }
    pthread_mutex_unlock(&l->lock);
    return got;
}

static void end_listener(void *cls)
{
    struct listener *x = cls;
    struct live *l = x->live;
    pthread_mutex_lock(&l->lock);
    if (x->prev)
        x->prev->next = x->next;
    else
        l->first = x->next;
    if (x->next)
        x->next->prev = x->prev;
    l->count--;
    pthread_mutex_unlock(&l->lock);
    strbuf_release(&x->out);
    free(x);
}

struct MHD_Response *live_listen(struct live *l, struct MHD_Connection *c)
{
    struct listener *x = NULL;
    pthread_mutex_lock(&l->lock);
    if (l->count < l->max && !l->closing) {
        x = xcalloc(1, sizeof *x);
        *x = (struct listener){.live = l, .c = c, .seen = l->version, .last_ns = now_ns()};
        strbuf_init(&x->out, EVENT_MAX);
        strbuf_adds(&x->out, "retry: 1000\n\n");
        x->next = l->first;
        if (x->next)
            x->next->prev = x;
        l->first = x;
        l->count++;
    }
    pthread_mutex_unlock(&l->lock);
    if (!x)
        return NULL;
    return l->m->response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_events, x, end_listener);
}

/* ---- the store: the thread that calls live_look() ------------------------------------------- */

static struct watched *find_watched(struct live *l, int64_t id)
{
    vec_each (struct watched, w, &l->runs)
        if (w->id == id)
            return w;
    return NULL;
}

/* Compares the run with its entry in the table. If they differ, updates the entry, with `version`
 * as the time of the change. Returns whether they differed. */
static bool note_run(struct live *l, const struct run_rec *r, uint64_t version)
{
    struct watched *w = find_watched(l, r->id);
    if (w && w->nodes == r->nodes && w->calls == r->calls && w->updated_ms == r->updated_ms &&
        str_eq(w->state, r->state))
        return false;
    if (!w)
        w = vec_push(&l->runs);
    w->id = r->id;
    w->nodes = r->nodes;
    w->calls = r->calls;
    w->updated_ms = r->updated_ms;
    w->changed = version;
    snprintf(w->name, sizeof w->name, "%s", r->name);
    snprintf(w->state, sizeof w->state, "%s", r->state);
    return true;
}

static void wake(struct live *l, bool news)
{
    for (struct listener *x = l->first; x; x = x->next)
        if (x->suspended && (news || now_ns() - x->last_ns > BEAT_NS)) {
            x->suspended = false;
            l->m->resume(x->c);
        }
}

int live_look(struct live *l, struct err *err)
{
    struct run_rec_vec list = VEC_INIT;
    struct arena mem = ARENA_INIT;
    int64_t version;
    bool first = l->store_version < 0, news = false;
    int rc = store_version(l->s, &version, err);
    if (rc == 0 && version != l->store_version) {
        rc = store_run_page(l->s, 0, WATCHED_RUNS, &list, &mem, err);
        l->store_version = rc == 0 ? version : l->store_version;
    }
    int64_t training = view_training_version(l->s);
    pthread_mutex_lock(&l->lock);
    vec_each (struct run_rec, r, &list)
        news |= note_run(l, r, l->version + !first);
    if (training != l->training_version && !first) {
        l->training_changed = l->version + 1;
        news = true;
    }
    l->training_version = training;
    l->version += news && !first;
    wake(l, news);
    pthread_mutex_unlock(&l->lock);
    vec_release(&list);
    arena_release(&mem);
    return rc;
}

void live_close(struct live *l)
{
    pthread_mutex_lock(&l->lock);
    l->closing = true;
    wake(l, true);
    pthread_mutex_unlock(&l->lock);
}
