/* trace.c - collects events as text in Chrome's trace format. See trace.h. */
#include "gnn/trace.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "sys/file.h"

#define MAX_BYTES ((size_t)64 << 20)
#define LONGEST_EVENT 512u

struct trace {
    pthread_mutex_t lock;
    struct strbuf text; /* events, each with a comma after it */
    bool full;
    int rank;
    uint64_t zero_ns;
};

struct trace *trace_new(int rank)
{
    struct trace *t = xcalloc(1, sizeof *t);
    *t = (struct trace){.text = STRBUF_INIT(MAX_BYTES), .rank = rank, .zero_ns = now_ns()};
    pthread_mutex_init(&t->lock, NULL);
    strbuf_addf(
        &t->text,
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}},\n",
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

/* Takes the lock if there is room for an event; else returns false. */
static bool begin_event(struct trace *t)
{
    pthread_mutex_lock(&t->lock);
    if (t->text.len + LONGEST_EVENT <= MAX_BYTES)
        return true;
    t->full = true;
    pthread_mutex_unlock(&t->lock);
    return false;
}

void trace_name(struct trace *t, const char *name)
{
    if (!t || !begin_event(t))
        return;
    strbuf_addf(&t->text,
                "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":"
                "\"%s\"}},\n",
                t->rank, (int)gettid(), name);
    pthread_mutex_unlock(&t->lock);
}

void trace_add(struct trace *t, const char *what, uint64_t start_ns, int64_t epoch, int64_t batch)
{
    if (!t)
        return;
    uint64_t end = now_ns();
    if (!begin_event(t))
        return;
    strbuf_addf(&t->text,
                "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
                "\"args\":{\"epoch\":%" PRId64 ",\"batch\":%" PRId64 "}},\n",
                what, t->rank, (int)gettid(), (double)(start_ns - t->zero_ns) / 1e3,
                (double)(end - start_ns) / 1e3, epoch, batch);
    pthread_mutex_unlock(&t->lock);
}

int trace_write(struct trace *t, const char *path, struct err *err)
{
    struct strbuf out = STRBUF_INIT(MAX_BYTES + 4096);
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
