/*
 * trace.h - records what the threads of a process do. A span is one piece of work of one thread.
 * `hone serve` shows the newest spans as a time line. If asked, the trace keeps all spans for
 * Chrome's trace viewers (Perfetto, chrome://tracing).
 *
 *     struct trace *t = trace_new(rank, true);
 *     trace_name(t, "trains");                       each thread, once
 *     uint64_t start = now_ns();
 *     ... work ...
 *     trace_add(t, "forward, backward", start, epoch, batch);
 *     if (trace_write(t, "run.trace.json", err) < 0) ...
 *     trace_free(t);
 *
 * Any thread may add spans. With a trace of NULL, trace_name, trace_add and trace_free do nothing.
 * The file stops at 64 MiB, about half a million spans, and says so.
 */
#ifndef GNN_TRACE_H
#define GNN_TRACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct trace;

/* If `all` is false, the trace keeps only the newest spans, and trace_write must not be called. */
struct trace *trace_new(int rank, bool all);
void trace_free(struct trace *t);
/* Gives the calling thread a name. */
void trace_name(struct trace *t, const char *name);
/* Records that the calling thread did `what` from start_ns until now. `what` and the thread's name
 * must outlive the trace, and must need no escapes in JSON. */
void trace_add(struct trace *t, const char *what, uint64_t start_ns, int64_t epoch, int64_t batch);
int trace_write(struct trace *t, const char *path, struct err *err);
/*
 * Returns the newest spans, at most 2048:
 *
 *     {"threads": ["trains", ...], "work": ["update", ...],
 *      "spans": [[thread, work, start_us, length_us, epoch, batch], ...]}
 *
 * The first two numbers of a span are indices into the lists. Times count from the trace's
 * beginning, epochs from 1, batches from 0.
 */
json_t *trace_newest(struct trace *t);

#endif
