/*
 * store.h - the SQLite file that holds every run. In a run (`hone optimize`) an author, a language
 * model or a program, writes candidate kernels for a task, and Hone evaluates them. The records of
 * a run:
 *
 *   - call: a prompt to the author, and the reply;
 *   - verdict: the result of one evaluation;
 *   - node: a candidate, and the parent from which it was made;
 *   - idea: a change that was tried, and its effect;
 *   - event: a note.
 *
 *     struct store *s;
 *     store_open(&s, "hone-out/hone.db", err);
 *     int64_t run;
 *     store_run_create(s, "softmax", "refine", config_json, "mailbox:box", &run, err);
 *     store_call_begin(s, run, &call, err);     before the author is asked
 *     store_call_end(s, run, &call, err);       before Hone uses the reply
 *
 * Invariants:
 *   1. A record is written before the next step begins. Each write is a synced transaction, or part
 *      of the transaction between store_begin() and store_end().
 *   2. Keys do not depend on time: (run, role, index) for calls, (run, key) for events, else
 *      (run, index). Writing a record again with the same contents changes nothing. So a run that
 *      is resumed after kill -9 can repeat its last steps. Only nodes, ideas, and calls that have
 *      not ended can be written again with other contents.
 *   3. Texts are blobs, named by their SHA-256 and stored once.
 *   4. Several processes may open the store, but only one works on a run (store_run_lock).
 *   5. The store never holds an API key.
 *
 * store_..._get(), store_run_named() and store_campaign_find() return 1 if there is such a record,
 * 0 if not, -1 on an error.
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

/* Creates the store if there is none. Opens it read-only if it cannot be written. */
int store_open(struct store **out, const char *path, struct err *err);
/* Opens an existing store read-only, without ever delaying a writer. */
int store_open_read(struct store **out, const char *path, struct err *err);
/* Sets *version to a number that changes when another process writes to the store. */
int store_version(struct store *s, int64_t *version, struct err *err);
void store_close(struct store *s);
const char *store_path(const struct store *s);
/* Checks the database, and compares every blob with its hash. */
int store_check(struct store *s, struct err *err);

int store_blob_put(struct store *s, const void *data, size_t len, char sha[STORE_SHA],
                   struct err *err);
/* Appends the blob to `out`. Fails if there is none with this hash. */
int store_blob_get(struct store *s, const char *sha, struct strbuf *out, struct err *err);

/* ---- runs ----------------------------------------------------------------------------------- */

struct run_rec {
    int64_t id;
    const char *name, *task, *strategy;
    const char *state;  /* "running", "done", "stopped", "failed" */
    const char *reason; /* why it ended */
    const char *config; /* JSON */
    const char *source; /* the first author, such as "mailbox:box" */
    /* Who wrote candidates, such as "exec:..., then playbook (best: playbook)". Equal to `source`
     * if no candidate has an author. */
    const char *written_by;
    const char *best_author; /* "" if there is no best kernel, or the user gave it */
    int64_t created_ms, updated_ms;
    uint64_t wall_ns;
    int64_t best; /* index of the best node, or -1 */
    /* calls: those that ended. nodes: all candidates. passes: candidates that passed. */
    uint64_t calls, nodes, passes, in_tokens, out_tokens;
    /* usd: the sum of the known costs. The other two belong to the best node (struct verdict). */
    double usd, best_time_ns, best_speedup;
    bool best_is_model; /* best_time_ns is modelled */
};
VEC_DECL(run_rec_vec, struct run_rec);

/* Creates a run with the name TASK-STRATEGY-xxxx. */
int store_run_create(struct store *s, const char *task, const char *strategy, const char *config,
                     const char *source, int64_t *id, struct err *err);
int store_run_configure(struct store *s, int64_t run, const char *config, struct err *err);
/* Finds a run by its name, its number, "last", the beginning of its name, or the end of its name
 * after a '-'. If several runs have this beginning or end, the error names them. */
int store_run_find(struct store *s, const char *which, struct run_rec *out, struct arena *a,
                   struct err *err);
/* Finds a run by its whole name. Does not fill the counts, sums and best_ members, which takes long
 * in a large store. */
int store_run_named(struct store *s, const char *name, struct run_rec *out, struct arena *a,
                    struct err *err);
int store_run_list(struct store *s, struct run_rec_vec *out, struct arena *a, struct err *err);
/* Lists at most `limit` runs, the newest first. If `before` is not 0, lists only runs with a lower
 * number than `before`. */
int store_run_page(struct store *s, int64_t before, int64_t limit, struct run_rec_vec *out,
                   struct arena *a, struct err *err);
int store_run_end(struct store *s, int64_t run, const char *state, const char *reason,
                  struct err *err);
int store_run_progress(struct store *s, int64_t run, uint64_t wall_ns, int64_t best,
                       struct err *err);
/* The lock holds until store_run_unlock() or the end of the process. Fails if another process has
 * it. */
int store_run_lock(struct store *s, int64_t run, struct err *err);
void store_run_unlock(struct store *s);
bool store_run_is_locked(struct store *s, int64_t run);
/* Returns r->state, or "killed" if it is "running" but no process works on the run. */
const char *store_run_state(struct store *s, const struct run_rec *r);
/* Removes the run, its records, and unused blobs. Fails if a process works on the run, or if the
 * run belongs to a campaign. While a process works on another run or campaign, blobs stay: it may
 * be about to use one. A later removal deletes them. */
int store_run_remove(struct store *s, int64_t run, struct err *err);

/* ---- calls ---------------------------------------------------------------------------------- */

struct call_rec {
    const char *role; /* such as "code" or "debug" */
    uint64_t index;   /* among the calls of this role */
    bool ended, ok;   /* ok: the reply can be used */
    const char *author, *model;
    const char *prompt_sha; /* hash of the whole prompt (replay_prompt_sha) */
    /* Blobs of the prompt's two parts (prompt/prompt.h) and of the reply. */
    const char *stable_sha, *turn_sha, *reply_sha;
    /* struct author_reply explains the token counts, `estimated`, `drift`, `requests`, `continued`,
     * `finish` and `notes`. */
    uint64_t in_tokens, cached_tokens, cache_write_tokens, out_tokens;
    bool estimated, drift;
    double usd; /* cost of the call; negative if unknown */
    uint64_t latency_ns;
    uint32_t requests, continued;
    const char *finish, *handle, *error, *notes; /* handle: see store_call_handle() */
    int64_t at_ms;
};
VEC_DECL(call_rec_vec, struct call_rec);

int store_call_begin(struct store *s, int64_t run, const struct call_rec *c, struct err *err);
/* Notes the handle with which a resumed run gets the reply without asking again
 * (author_call_handle). */
int store_call_handle(struct store *s, int64_t run, const char *role, uint64_t index,
                      const char *handle, struct err *err);
/* Records the reply or the error. If a resumed run should make a failed call again, set c->ended to
 * false. c->author replaces the author of store_call_begin(); NULL keeps it. */
int store_call_end(struct store *s, int64_t run, const struct call_rec *c, struct err *err);
int store_call_get(struct store *s, int64_t run, const char *role, uint64_t index,
                   struct call_rec *out, struct arena *a, struct err *err);
int store_call_list(struct store *s, int64_t run, struct call_rec_vec *out, struct arena *a,
                    struct err *err);
/* Lists at most `limit` calls of a role, by index, from index `from` on. */
int store_call_page(struct store *s, int64_t run, const char *role, uint64_t from, int64_t limit,
                    struct call_rec_vec *out, struct arena *a, struct err *err);

/* ---- verdicts ------------------------------------------------------------------------------- */

struct verdict_rec {
    uint64_t index;
    const char *source_sha, *json_sha; /* blobs of the source and of the verdict's JSON */
    /* The next four are copies from struct verdict. */
    const char *kind;
    double score, time_ns, speedup;
    int64_t at_ms;
};
VEC_DECL(verdict_rec_vec, struct verdict_rec);

/* The verdicts of a run have the indexes 0, 1, 2 ... The confirmation of node n, a second
 * evaluation of its source, has the index STORE_CONFIRM + n. */
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
    int64_t verdict; /* index, or -1 if it has none */
    const char *source_sha;
    const char *role;   /* "given" for the user's file, else the call's role, such as "code" */
    const char *author; /* "" if the user gave the source, or if unknown */
    const char *stage;  /* "structure", "movement", "pipelining", "tuning", "repair", ... */
    const char *move;   /* the change from the parent */
    const char *fate;   /* "best", "kept", "regression", "failed", "pruned", ... */
    const char *kind;   /* of the verdict */
    double time_ns, speedup, roofline_pct;
    bool is_model; /* time_ns is modelled, not measured */
};
VEC_DECL(node_rec_vec, struct node_rec);

int store_node_put(struct store *s, int64_t run, const struct node_rec *n, struct err *err);
int store_node_list(struct store *s, int64_t run, struct node_rec_vec *out, struct arena *a,
                    struct err *err);
/* Lists at most `limit` nodes, by index, from index `from` on. */
int store_node_page(struct store *s, int64_t run, uint64_t from, int64_t limit,
                    struct node_rec_vec *out, struct arena *a, struct err *err);
/* Sets *rank to the number of nodes with this role and a lower index. */
int store_node_rank(struct store *s, int64_t run, const char *role, uint64_t index, uint64_t *rank,
                    struct err *err);

/* ---- ideas and events ----------------------------------------------------------------------- */

struct idea_rec {
    uint64_t index;
    int64_t node;        /* index of the node that tried the idea, or -1 */
    const char *kind;    /* such as "tiling" */
    const char *text;    /* in words */
    const char *outcome; /* "gain", "regression", "failed", "no change"; "" if unknown */
    double gain;         /* the parent's time / the node's time; 0 if unknown */
};
VEC_DECL(idea_rec_vec, struct idea_rec);

int store_idea_put(struct store *s, int64_t run, const struct idea_rec *i, struct err *err);
int store_idea_list(struct store *s, int64_t run, struct idea_rec_vec *out, struct arena *a,
                    struct err *err);

/* A note about the run. store_event_put() does nothing if the key exists. */
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

/* One task of a campaign. */
struct entry_rec {
    uint64_t index;
    const char *label;    /* its name in tables */
    const char *operand;  /* a built-in task, a task's folder, or FILE.py:NAME */
    const char *options;  /* how to import FILE.py, as JSON */
    const char *task_sha; /* blob of the task's snapshot; "" if not yet imported */
    int64_t run;          /* the run that optimises the task, or -1 */
    const char *state;    /* "waiting", "running", "stopped", "done", "failed" */
    const char *reason;   /* why it has this state */
    const char *hone;     /* version of Hone that last worked on it */
    double known_ns;      /* a known time of PyTorch, or 0 */
    int64_t at_ms;        /* when the state last changed */
};
VEC_DECL(entry_rec_vec, struct entry_rec);

/* Creates a campaign with the name WORD-xxxx, and its entries. */
int store_campaign_create(struct store *s, const char *word, const char *config,
                          const struct entry_rec *entries, size_t n, int64_t *id, struct err *err);
int store_campaign_configure(struct store *s, int64_t campaign, const char *config,
                             struct err *err);
/* Finds a campaign by its name, the unique beginning of its name, or "last". */
int store_campaign_find(struct store *s, const char *which, struct campaign_rec *out,
                        struct arena *a, struct err *err);
/* Lists campaigns as store_run_page() lists runs. */
int store_campaign_page(struct store *s, int64_t before, int64_t limit,
                        struct campaign_rec_vec *out, struct arena *a, struct err *err);
/* Works as store_run_lock(). A struct store holds one lock: a new lock releases the old one. */
int store_campaign_lock(struct store *s, int64_t campaign, struct err *err);
int store_entry_list(struct store *s, int64_t campaign, struct entry_rec_vec *out, struct arena *a,
                     struct err *err);
int store_entry_get(struct store *s, int64_t campaign, uint64_t index, struct entry_rec *out,
                    struct arena *a, struct err *err);
int store_entry_state(struct store *s, int64_t campaign, uint64_t index, const char *state,
                      const char *reason, struct err *err);
/* Notes the blob of the entry's task. The blob must be in the store. */
int store_entry_task(struct store *s, int64_t campaign, uint64_t index, const char *task_sha,
                     struct err *err);
/* Notes the entry's run, or -1 if a new one will begin, and the version of this program. */
int store_entry_run(struct store *s, int64_t campaign, uint64_t index, int64_t run,
                    const char *hone, struct err *err);

/* ---- memory across runs: lessons (memory/memory.h) ------------------------------------------ */

/* The outcome of a point or a move in a run. A point gives a value to each setting of a playbook, a
 * template of kernels. A move is a change that an author made to a candidate. */
struct lesson_rec {
    int64_t id;
    const char *run;
    bool imported; /* by `hone memory import` */
    const char *task, *task_sha;
    const char *class, *ops, *sizes, *marks; /* traits of the task (memory/traits.h) */
    const char *gpu;                         /* such as "h200" */
    bool measured;                           /* measured times, not modelled ones */
    const char *kind;                        /* "point", or the kind of a move */
    const char *playbook;                    /* its name; "" for a move without one */
    const char *text;                        /* the point's settings, or the move in words */
    double gain;                             /* see memory/lesson.h; 0 if the candidate failed */
    int64_t at_ms;
};
VEC_DECL(lesson_rec_vec, struct lesson_rec);

/* Adds a lesson. If the run already has it, updates its gain and time, except in an imported
 * lesson. */
int store_lesson_put(struct store *s, const struct lesson_rec *l, struct err *err);
/* Lists at most `limit` lessons of a class of tasks (NULL: of all). The user's own come before
 * imported ones; within each group the newest come first. */
int store_lesson_list(struct store *s, const char *class, int64_t limit, struct lesson_rec_vec *out,
                      struct arena *a, struct err *err);
/* A run that left lessons. */
struct lesson_run_rec {
    const char *run, *task, *class, *gpu;
    bool imported, measured;
    int64_t lessons;
};
VEC_DECL(lesson_run_vec, struct lesson_run_rec);
/* Lists runs in the order of store_lesson_list(). */
int store_lesson_runs(struct store *s, struct lesson_run_vec *out, struct arena *a,
                      struct err *err);
/* Removes lessons by task, class and run; NULL means any. If `imported`, removes only imported
 * ones. *n is the number of removed lessons. */
int store_lesson_forget(struct store *s, const char *task, const char *class, const char *run,
                        bool imported, int64_t *n, struct err *err);
/* Removes lessons until at most `keep` are left: imported before own ones, older before newer
 * ones. */
int store_lesson_trim(struct store *s, int64_t keep, struct err *err);

/* Of the writes until store_end(), either all are kept or none. store_end() returns 0 if they are
 * kept. If `keep` is false or SQLite fails, it drops them and returns -1. */
int store_begin(struct store *s, struct err *err);
int store_end(struct store *s, bool keep, struct err *err);

/* For tests: calls the hook before and after every write, with the number of the write. */
void store_set_hook(struct store *s, void (*hook)(void *ctx, uint64_t n, bool after), void *ctx);

#endif
