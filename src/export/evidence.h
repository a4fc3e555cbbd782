/*
 * evidence.h - finds the candidate to export, and the verdict that allows its export.
 *
 *     struct evidence e;
 *     evidence_from_run(&e, store, "last:3", err);          a run's task, source and verdict
 *     evidence_from_file(&e, task, source, len, "k.cu");    a kernel file; it has no verdict yet
 *     evidence_search(&e, store, err);                      1 = the store has a verdict for it
 *     if (evidence_check(&e, &e.verdict, err) < 0) ...      err says why not
 *
 * A verdict allows export if it passes and is about this source and this task (by their hashes).
 * For each role of workloads except `time`, the kernel must have been right on one workload of that
 * role, if the task has any.
 */
#ifndef EXPORT_EVIDENCE_H
#define EXPORT_EVIDENCE_H

#include "base/err.h"
#include "base/strbuf.h"
#include "store/store.h"
#include "task/snapshot.h"
#include "verdict/verdict.h"

struct evidence {
    struct arena arena;
    struct task *task;
    struct strbuf source;
    char task_sha[TASK_HASH], source_sha[TASK_HASH];
    const char *from; /* where the candidate comes from; see struct export_source (model.h) */
    bool has_verdict;
    struct verdict verdict;
};

/* `which` is RUN, or RUN:N for candidate number N. Also succeeds if the candidate's verdict is not
 * a pass, or if it has no verdict. The caller releases e, also after an error. */
int evidence_from_run(struct evidence *e, struct store *s, const char *which, struct err *err);
/* Takes ownership of the task. */
void evidence_from_file(struct evidence *e, struct task *t, const char *source, size_t len,
                        const char *path);
/* Looks in all runs for a verdict that allows the export of e's source, and sets e->verdict.
 * Prefers a verdict with measured times to one with modelled times. Returns 1 if it found a
 * verdict, 0 if not, -1 on an error. */
int evidence_search(struct evidence *e, struct store *s, struct err *err);
/* Sets e->verdict from a file that `hone eval --json` wrote. */
int evidence_read_verdict(struct evidence *e, const char *path, struct err *err);
/* Returns -1 if the verdict does not allow export, and err says why. */
int evidence_check(const struct evidence *e, const struct verdict *v, struct err *err);
void evidence_release(struct evidence *e);

#endif
