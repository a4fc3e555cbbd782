/*
 * snapshot.h - the snapshot of a task: one text that holds everything that defines the task.
 *
 * A snapshot holds task.json (without white space between its values), reference.c and naive.cu.
 * reference.c may include only hone_ref.h, and naive.cu may include no file of the user. So no
 * other file matters. The snapshot's SHA-256 identifies the task. It does not depend on paths,
 * dates or the layout of task.json. It changes with every value in task.json, with the order of its
 * keys, and with every byte of source.
 *
 *     struct strbuf was = STRBUF_INIT(TASK_MAX_SNAPSHOT);
 *     task_snapshot(t, &was);                                   a run keeps it in the store
 *     struct task *t = task_from_snapshot(was.buf, was.len, "run 'x'", &problems);
 */
#ifndef TASK_SNAPSHOT_H
#define TASK_SNAPSHOT_H

#include "base/err.h"
#include "base/strbuf.h"
#include "task/task.h"

#define TASK_MAX_SNAPSHOT (TASK_MAX_TEXT + TASK_MAX_REFERENCE + TASK_MAX_NAIVE + 4096u)
#define TASK_HASH 65 /* 64 hex digits and the NUL */

void task_snapshot(const struct task *t, struct strbuf *out);
void task_hash(const struct task *t, char hex[TASK_HASH]);

/* The caller frees the task. Returns NULL after it reported problems, whose text begins with
 * `name`. */
struct task *task_from_snapshot(const char *text, size_t len, const char *name,
                                struct problem_vec *problems);

/* Appends what differs, such as "reference.c; task.json: \"workloads\"", or nothing. */
void task_snapshot_diff(const struct strbuf *was, const struct strbuf *now, struct strbuf *out);

#endif
