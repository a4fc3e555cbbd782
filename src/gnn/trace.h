/*
 * trace.h - records what the threads of a process do, for the viewers of Chrome's trace format
 * (Perfetto, chrome://tracing).
 *
 *     struct trace *t = trace_new(rank);
 *     trace_name(t, "trains");                       the calling thread, once
 *     uint64_t start = now_ns();
 *     ... work ...
 *     trace_add(t, "forward, backward", start, epoch, batch);
 *     if (trace_write(t, "run.trace.json", err) < 0) ...
 *     trace_free(t);
 *
 * Any thread may add. NULL as the trace is allowed and records nothing. A trace stops at 64 MiB,
 * about half a million spans, and says so in the file.
 */
#ifndef GNN_TRACE_H
#define GNN_TRACE_H

#include <stdint.h>

#include "base/err.h"

struct trace;

struct trace *trace_new(int rank);
void trace_free(struct trace *t);
/* Names the calling thread. */
void trace_name(struct trace *t, const char *name);
/* The calling thread did `what` from start_ns until now, for this batch. The text needs no escape
 * in JSON. */
void trace_add(struct trace *t, const char *what, uint64_t start_ns, int64_t epoch, int64_t batch);
int trace_write(struct trace *t, const char *path, struct err *err);

#endif
