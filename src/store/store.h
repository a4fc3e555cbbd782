/*
 * store.h - the SQLite file that holds every run. In a run (`hone optimize`) an author writes
 * candidate kernels for a task, and Hone evaluates them. The records of a run are calls (a prompt
 * and its reply), verdicts, nodes (candidates, each with the parent from which it was made), ideas
 * (changes that were tried) and events (notes).
 *
 * Invariants:
 *   1. A record is written before the next step begins. Each write is a synced transaction, or part
 *      of the transaction between store_begin() and store_end().
 *   2. Keys do not depend on time: (run, role, index) for calls, (run, key) for events, else
 *      (run, index). A run that is resumed after kill -9 may write its last records again. This
 *      changes only nodes, ideas, and calls that have not ended.
 *   3. Texts are blobs, named by their SHA-256 and stored once.
 *   4. Several processes may open the store, but only one works on a run (store_run_lock).
 *   5. The store never holds an API key.
 *
 * store_call_get(), store_verdict_get(), store_entry_get(), store_run_named() and
 * store_campaign_find() return 1 if there is such a record, 0 if not, -1 on an error.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define STORE_SCHEMA 4
#define STORE_SHA 65 /* 64 hex digits and the NUL */

struct store;

/* Opens the store, and creates it if there is none. If the file cannot be written, opens it only
 * for reading. */
int store_open(struct store **out, const char *path, struct err *err);
/* Opens an existing store only for reading, so it never delays processes that write. */
int store_open_read(struct store **out, const char *path, struct err *err);
/* Sets *version to a number that changes when another process writes to the store. */
int store_version(struct store *s, int64_t *version, struct err *err);
void store_close(struct store *s);
const char *store_path(const struct store *s);
/* Checks the database with SQLite's own checks, and compares every blob with its hash. */
int store_check(struct store *s, struct err *err);

int store_blob_put(struct store *s, const void *data, size_t len, char sha[STORE_SHA],
                   struct err *err);
/* Appends the blob to `out`. A missing blob is an error. */
int store_blob_get(struct store *s, const char *sha, struct strbuf *out, struct err *err);

/* ---- runs ----------------------------------------------------------------------------------- */

struct run_rec {
    int64_t id;
    const char *name, *task, *strategy;
    const char *state; /* "running", "done", "stopped", "failed" */
    const char *reason;
    const char *config; /* JSON */
    const char *source; /* the first author */
    /* All authors, such as "exec:..., then playbook (best: playbook)". Equal to `source` if no node
     * has an author. */
    const char *written_by;
    const char *best_author; /* "" if the user gave the best kernel, or there is none */
    int64_t created_ms, updated_ms;
    uint64_t wall_ns;
    int64_t best; /* index of a node, or -1 */
    /* Calls that ended; all nodes; nodes that passed; tokens. */
    uint64_t calls, nodes, passes, in_tokens, out_tokens;
    /* usd is the sum of the known costs. The next members describe the best node. */
    double usd, best_time_ns, best_speedup;
    bool best_is_model;
};
VEC_DECL(run_rec_vec, struct run_rec);

/* Names the run TASK-STRATEGY-xxxx. */
int store_run_create(struct store *s, const char *task, const char *strategy, const char *config,
                     const char *source, int64_t *id, struct err *err);
int store_run_configure(struct store *s, int64_t run, const char *config, struct err *err);
/* `which`: name, number, beginning of the name, end of the name after a '-', or "last". If several
 * runs match, the error names them. */
int store_run_find(struct store *s, const char *which, struct run_rec *out, struct arena *a,
                   struct err *err);
/* Finds the run with exactly this name. Leaves out the counts, the sums and the members best_*,
 * because in a large store they take long. */
int store_run_named(struct store *s, const char *name, struct run_rec *out, struct arena *a,
                    struct err *err);
int store_run_list(struct store *s, struct run_rec_vec *out, struct arena *a, struct err *err);
/* Lists at most `limit` runs, the newest first. If `before` is not 0, lists only runs with a lower
 * id. */
int store_run_page(struct store *s, int64_t before, int64_t limit, struct run_rec_vec *out,
                   struct arena *a, struct err *err);
int store_run_end(struct store *s, int64_t run, const char *state, const char *reason,
                  struct err *err);
int store_run_progress(struct store *s, int64_t run, uint64_t wall_ns, int64_t best,
                       struct err *err);
/* Fails if another process has the lock. The lock ends with store_run_unlock() or the process. */
int store_run_lock(struct store *s, int64_t run, struct err *err);
void store_run_unlock(struct store *s);
bool store_run_is_locked(struct store *s, int64_t run);
/* Returns "killed" if r->state is "running", but no process works on the run. */
const char *store_run_state(struct store *s, const struct run_rec *r);
/* Fails if a process works on the run, or if a campaign has it. Deletes unused blobs too, unless a
 * process works on another run, because that process may be about to use one. */
int store_run_remove(struct store *s, int64_t run, struct err *err);

/* ---- calls ---------------------------------------------------------------------------------- */

struct call_rec {
    const char *role; /* such as "code" or "debug" */
    uint64_t index;
    bool ended, ok; /* ok: the reply can be used */
    const char *author, *model;
    const char *prompt_sha; /* of the whole prompt */
    /* The prompt's two parts (prompt/prompt.h), and the reply. */
    const char *stable_sha, *turn_sha, *reply_sha;
    /* struct author_reply explains these and the members below. */
    uint64_t in_tokens, cached_tokens, cache_write_tokens, out_tokens;
    bool estimated, drift;
    double usd; /* negative = unknown */
    uint64_t latency_ns;
    uint32_t requests, continued;
    const char *finish, *handle, *error, *notes; /* `handle`: see store_call_handle() */
    int64_t at_ms;
};
VEC_DECL(call_rec_vec, struct call_rec);

int store_call_begin(struct store *s, int64_t run, const struct call_rec *c, struct err *err);
/* Keeps the handle with which a resumed run gets the reply without asking again
 * (author_call_handle). */
int store_call_handle(struct store *s, int64_t run, const char *role, uint64_t index,
                      const char *handle, struct err *err);
/* If c->ended is false, a resumed run makes the call again. If c->author is NULL, the record keeps
 * its author. */
int store_call_end(struct store *s, int64_t run, const struct call_rec *c, struct err *err);
int store_call_get(struct store *s, int64_t run, const char *role, uint64_t index,
                   struct call_rec *out, struct arena *a, struct err *err);
int store_call_list(struct store *s, int64_t run, struct call_rec_vec *out, struct arena *a,
                    struct err *err);
/* Lists calls by index, from `from` on. */
int store_call_page(struct store *s, int64_t run, const char *role, uint64_t from, int64_t limit,
                    struct call_rec_vec *out, struct arena *a, struct err *err);

/* ---- verdicts ------------------------------------------------------------------------------- */

struct verdict_rec {
    uint64_t index;
    const char *source_sha, *json_sha; /* blobs with the source and with the verdict's JSON */
    const char *kind;
    double score, time_ns, speedup;
    int64_t at_ms;
};
VEC_DECL(verdict_rec_vec, struct verdict_rec);

/* The confirmation of node n is the verdict STORE_CONFIRM + n. Other verdicts count from 0. */
#define STORE_CONFIRM (UINT64_C(1) << 32)

int store_verdict_put(struct store *s, int64_t run, const struct verdict_rec *v, struct err *err);
int store_verdict_get(struct store *s, int64_t run, uint64_t index, struct verdict_rec *out,
                      struct arena *a, struct err *err);
int store_verdict_list(struct store *s, int64_t run, struct verdict_rec_vec *out, struct arena *a,
                       struct err *err);

/* ---- nodes: the tree of candidates ---------------------------------------------------------- */

struct node_rec {
    uint64_t index;
    int64_t parent;  /* index, or -1 for a root */
    int64_t verdict; /* index, or -1 */
    const char *source_sha;
    const char *role;   /* "given" for the user's file, else as in call_rec */
    const char *author; /* "" if unknown, or if the user gave the source */
    const char *stage;  /* "structure", "movement", "pipelining", "tuning", "repair", ... */
    const char *move;   /* the change from the parent */
    const char *fate;   /* "best", "kept", "regression", "failed", "pruned", ... */
    const char *kind;
    double time_ns, speedup, roofline_pct;
    bool is_model; /* time_ns is modelled */
};
VEC_DECL(node_rec_vec, struct node_rec);

int store_node_put(struct store *s, int64_t run, const struct node_rec *n, struct err *err);
int store_node_list(struct store *s, int64_t run, struct node_rec_vec *out, struct arena *a,
                    struct err *err);
/* Lists nodes by index, from `from` on. */
int store_node_page(struct store *s, int64_t run, uint64_t from, int64_t limit,
                    struct node_rec_vec *out, struct arena *a, struct err *err);
/* Counts the nodes with this role and a lower index. */
int store_node_rank(struct store *s, int64_t run, const char *role, uint64_t index, uint64_t *rank,
                    struct err *err);

/* ---- ideas and events ----------------------------------------------------------------------- */

struct idea_rec {
    uint64_t index;
    int64_t node;     /* index of the node that tried it, or -1 */
    const char *kind; /* such as "tiling" */
    const char *text;
    const char *outcome; /* "gain", "regression", "failed", "no change"; "" if unknown */
    double gain;         /* time of the parent / time of the node; 0 = unknown */
};
VEC_DECL(idea_rec_vec, struct idea_rec);

int store_idea_put(struct store *s, int64_t run, const struct idea_rec *i, struct err *err);
int store_idea_list(struct store *s, int64_t run, struct idea_rec_vec *out, struct arena *a,
                    struct err *err);

/* store_event_put() does nothing if the key exists. */
struct event_rec {
    const char *key, *kind, *text;
    int64_t at_ms;
};
VEC_DECL(event_rec_vec, struct event_rec);

int store_event_put(struct store *s, int64_t run, const char *key, const char *kind,
                    const char *text, struct err *err);
int store_event_list(struct store *s, int64_t run, struct event_rec_vec *out, struct arena *a,
                     struct err *err);

/* ---- campaigns: many tasks, a run for each --------------------------------------------------- */

struct campaign_rec {
    int64_t id;
    const char *name;
    const char *config; /* JSON */
    int64_t created_ms;
    uint64_t entries, done; /* all entries; those done or failed */
};
VEC_DECL(campaign_rec_vec, struct campaign_rec);

struct entry_rec {
    uint64_t index;
    const char *label;
    const char *operand;  /* a built-in task, a task's folder, or FILE.py:NAME */
    const char *options;  /* JSON: how to import FILE.py */
    const char *task_sha; /* blob of the task's snapshot; "" = none yet */
    int64_t run;          /* the run that optimises the task, or -1 */
    const char *state;    /* "waiting", "running", "stopped", "done", "failed" */
    const char *reason;
    const char *hone; /* version of Hone that last worked on it */
    double known_ns;  /* PyTorch's time, or 0 */
    int64_t at_ms;
};
VEC_DECL(entry_rec_vec, struct entry_rec);

/* Names the campaign WORD-xxxx. */
int store_campaign_create(struct store *s, const char *word, const char *config,
                          const struct entry_rec *entries, size_t n, int64_t *id, struct err *err);
int store_campaign_configure(struct store *s, int64_t campaign, const char *config,
                             struct err *err);
/* `which` is a name, the unique beginning of a name, or "last". */
int store_campaign_find(struct store *s, const char *which, struct campaign_rec *out,
                        struct arena *a, struct err *err);
/* As store_run_page(). */
int store_campaign_page(struct store *s, int64_t before, int64_t limit,
                        struct campaign_rec_vec *out, struct arena *a, struct err *err);
/* As store_run_lock(). A struct store holds one lock: a new one releases the old one. */
int store_campaign_lock(struct store *s, int64_t campaign, struct err *err);
int store_entry_list(struct store *s, int64_t campaign, struct entry_rec_vec *out, struct arena *a,
                     struct err *err);
int store_entry_get(struct store *s, int64_t campaign, uint64_t index, struct entry_rec *out,
                    struct arena *a, struct err *err);
int store_entry_state(struct store *s, int64_t campaign, uint64_t index, const char *state,
                      const char *reason, struct err *err);
/* The blob must be in the store. */
int store_entry_task(struct store *s, int64_t campaign, uint64_t index, const char *task_sha,
                     struct err *err);
/* `run` is -1 if a new run will begin. `hone` is the version of this program. */
int store_entry_run(struct store *s, int64_t campaign, uint64_t index, int64_t run,
                    const char *hone, struct err *err);

/* ---- memory across runs: lessons (memory/memory.h) ------------------------------------------ */

/* The outcome of a point or a move. A point is a choice of settings of a playbook, a template of
 * kernels. A move is a change that an author made to a candidate. */
struct lesson_rec {
    int64_t id;
    const char *run;
    bool imported; /* by `hone memory import` */
    const char *task, *task_sha;
    const char *class, *ops, *sizes, *marks; /* traits of the task (memory/traits.h) */
    const char *gpu;                         /* such as "h200" */
    bool measured;                           /* times were measured, not modelled */
    const char *kind;                        /* "point", or the kind of move */
    const char *playbook;                    /* "" for a move without one */
    const char *text;                        /* the point's settings, or the move */
    double gain;                             /* see memory/lesson.h; 0 = failed */
    int64_t at_ms;
};
VEC_DECL(lesson_rec_vec, struct lesson_rec);

/* Adds a lesson. If the run has it already, updates its gain and time, unless it was imported. */
int store_lesson_put(struct store *s, const struct lesson_rec *l, struct err *err);
/* Lists at most `limit` lessons of this class; NULL means all classes. Own lessons come before
 * imported ones. Within each group, new lessons come before old ones. */
int store_lesson_list(struct store *s, const char *class, int64_t limit, struct lesson_rec_vec *out,
                      struct arena *a, struct err *err);
struct lesson_run_rec {
    const char *run, *task, *class, *gpu;
    bool imported, measured;
    int64_t lessons;
};
VEC_DECL(lesson_run_vec, struct lesson_run_rec);
/* Lists the runs that have lessons, in the order of store_lesson_list(). */
int store_lesson_runs(struct store *s, struct lesson_run_vec *out, struct arena *a,
                      struct err *err);
/* Removes the lessons with this task, class and run; NULL means any. With `imported`, removes only
 * imported lessons. *n becomes the number of removed lessons. */
int store_lesson_forget(struct store *s, const char *task, const char *class, const char *run,
                        bool imported, int64_t *n, struct err *err);
/* Removes lessons until `keep` are left: imported ones first, then the oldest. */
int store_lesson_trim(struct store *s, int64_t keep, struct err *err);

/* The store keeps either all writes between store_begin() and store_end(), or none. If `keep` is
 * false or SQLite fails, store_end() drops these writes and returns -1. */
int store_begin(struct store *s, struct err *err);
int store_end(struct store *s, bool keep, struct err *err);

/* For tests: calls the hook before and after each write; n is the number of the write. */
void store_set_hook(struct store *s, void (*hook)(void *ctx, uint64_t n, bool after), void *ctx);

#endif
