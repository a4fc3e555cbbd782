/*
 * trace.c - keeps the newest spans in a ring. See trace.h.
 *
 * If `all` is true, also keeps a text in the format of Chrome's trace viewers. Until the text is
 * full, it gets an event for each span and for each name of a thread.
 */
#include "gnn/trace.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "base/vec.h"
#include "sys/file.h"

#define MAX_BYTES ((size_t)64 << 20)
#define LONGEST_EVENT 512u /* no event has more bytes */

enum { RING = 2048 }; /* how many of the newest spans we keep */

VEC_DECL(int_vec, int);

struct span {
    const char *thread, *what;
    int tid;
    uint64_t start_ns, end_ns;
    int64_t epoch, batch;
};

struct trace {
    pthread_mutex_t lock;
    bool all, full;     /* full: `text` had no room for an event, which was left out */
    struct strbuf text; /* events, each with a comma after it; empty if `all` is false */
    int rank;
    /* When the trace began, and how many spans were added. Span i is ring[i % RING]. */
    uint64_t zero_ns, count;
    struct span ring[RING];
};

/* The name that the calling thread gave itself. */
static _Thread_local const char *own_name;

struct trace *trace_new(int rank, bool all)
{
    struct trace *t = xcalloc(1, sizeof *t);
    t->all = all;
    t->rank = rank;
    t->zero_ns = now_ns();
    strbuf_init(&t->text, MAX_BYTES);
    pthread_mutex_init(&t->lock, NULL);
    if (all)
        strbuf_addf(&t->text,
                    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank "
                    "%d\"}},\n",
                    rank, rank);
    return t;
}

void trace_free(struct trace *t)
{
    if (!t)
        return;
    strbuf_release(&t->text);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* Returns whether the trace keeps a text that has room for one more event. Sets `full` if only the
 * room is missing. */
static bool wants_text(struct trace *t)
{
    bool room = t->text.len + LONGEST_EVENT <= MAX_BYTES;
    t->full |= t->all && !room;
    return t->all && room;
}

void trace_name(struct trace *t, const char *name)
{
    if (!t)
        return;
    own_name = name;
    pthread_mutex_lock(&t->lock);
    if (wants_text(t))
        strbuf_addf(&t->text,
                    "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{"
                    "\"name\":\"%s\"}},\n",
                    t->rank, (int)gettid(), name);
    pthread_mutex_unlock(&t->lock);
}

void trace_add(struct trace *t, const char *what, uint64_t start_ns, int64_t epoch, int64_t batch)
{
    if (!t)
        return;
    struct span s = {.thread = own_name ? own_name : "a thread",
                     .what = what,
                     .tid = (int)gettid(),
                     .start_ns = start_ns,
                     .end_ns = now_ns(),
                     .epoch = epoch,
                     .batch = batch};
    pthread_mutex_lock(&t->lock);
    t->ring[t->count++ % RING] = s;
    if (wants_text(t))
        strbuf_addf(&t->text,
                    "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
                    "\"args\":{\"epoch\":%" PRId64 ",\"batch\":%" PRId64 "}},\n",
                    what, t->rank, s.tid, (double)(start_ns - t->zero_ns) / 1e3,
                    (double)(s.end_ns - start_ns) / 1e3, epoch, batch);
    pthread_mutex_unlock(&t->lock);
}

int trace_write(struct trace *t, const char *path, struct err *err)
{
    struct strbuf out = STRBUF_INIT(MAX_BYTES + 4096);
    if (!t->all)
        BUG("the trace kept only the newest spans");
    pthread_mutex_lock(&t->lock);
    strbuf_adds(&out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    strbuf_add(&out, t->text.buf, t->text.len - 2); /* without the last comma */
    strbuf_addf(&out, "\n],\"otherData\":{\"complete\":\"%s\"}}\n",
                t->full ? "no: the trace reached its limit of 64 MiB" : "yes");
    pthread_mutex_unlock(&t->lock);
    int rc = file_write(path, out.buf, out.len, err);
    strbuf_release(&out);
    return rc;
}

/* Returns the index of a number in the list. Adds the number if it is new. */
static int index_of(struct int_vec *ids, int id)
{
    for (size_t i = 0; i < ids->n; i++)
        if (ids->items[i] == id)
            return (int)i;
    *vec_push(ids) = id;
    return (int)ids->n - 1;
}

/* Returns the index of a text in the list. Adds the text if it is new. */
static int index_of_text(json_t *texts, const char *text)
{
    size_t i;
    json_t *one;
    json_array_foreach(texts, i, one) if (str_eq(json_string_value(one), text)) return (int)i;
    json_array_append_new(texts, json_string(text));
    return (int)json_array_size(texts) - 1;
}

json_t *trace_newest(struct trace *t)
{
    json_t *threads = json_array(), *work = json_array(), *spans = json_array();
    struct int_vec ids = VEC_INIT;
    pthread_mutex_lock(&t->lock);
    for (uint64_t i = t->count > RING ? t->count - RING : 0; i < t->count; i++) {
        const struct span *s = &t->ring[i % RING];
        int thread = index_of(&ids, s->tid);
        if ((size_t)thread == json_array_size(threads))
            json_array_append_new(threads, json_string(s->thread));
        json_array_append_new(spans,
                              json_pack("[i, i, I, I, I, I]", thread, index_of_text(work, s->what),
                                        (json_int_t)((s->start_ns - t->zero_ns) / 1000),
                                        (json_int_t)((s->end_ns - s->start_ns) / 1000),
                                        (json_int_t)s->epoch + 1, (json_int_t)s->batch));
    }
    pthread_mutex_unlock(&t->lock);
    vec_release(&ids);
    return json_pack("{s:o, s:o, s:o}", "threads", threads, "work", work, "spans", spans);
}
