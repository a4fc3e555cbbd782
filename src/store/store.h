/*
 * store.h - the SQLite file that holds every run. A run is one `hone optimize`: an author (a
 * language model or a program) writes candidate kernels for a task, and Hone evaluates each of
 * them. The store has these records of a run:
 *
 *  - call: a prompt to the author, and the author's reply;
 *  - verdict: the result of one evaluation;
 *  - node: a candidate, with its parent, the candidate that it was made from;
 *  - idea: a change that was tried, and its effect;
 *  - event: a note, for example about a confirmation.
 *
 *     struct store *s;
 *     store_open(&s, "hone-out/hone.db", err);
 *     int64_t run;
 *     store_run_create(s, "softmax", "refine", config_json, "mailbox:box", &run, err);
 *     store_call_begin(s, run, &call, err);     before the author is asked
 *     store_call_end(s, run, &call, err);       before Hone uses the reply
 *
 * Invariants:
 *  1. A record is written before the next step begins. Each write is a synced transaction of its
 *     own, or part of the transaction between store_begin() and store_end().
 *  2. Keys of records do not depend on time. The key of a call is (run, role, index); of a verdict,
 *     a node and an idea (run, index); of an event (run, key). Writing a record again with the same
 *     contents changes nothing. So a run that is resumed after kill -9 can repeat the steps that it
 *     already did. Three kinds of records can be written again with other contents: nodes, ideas,
 *     and calls that have not ended.
 *  3. Texts (prompts, replies, sources, verdicts) are blobs named by their SHA-256 and stored once.
 *  4. Several processes may open the store. At most one of them works on a given run
 *     (store_run_lock).
 *  5. The store never holds an API key of a model's server.
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
#define STORE_SHA 65 /* a SHA-256 in 64 hex digits, and the NUL */

struct store;

/* Creates the store if there is none. A store that cannot be written is opened read-only. */
int store_open(struct store **out, const char *path, struct err *err);
/* Opens an existing store read-only. Other processes may write to it at the same time. The handle
 * never delays a writer. */
int store_open_read(struct store **out, const char *path, struct err *err);
/* Sets *version to a number that changes when another process has written to the store. */
int store_version(struct store *s, int64_t *version, struct err *err);
void store_close(struct store *s);
/* The path with which the store was opened. */
const char *store_path(const struct store *s);
/* Runs SQLite's integrity and foreign key checks, and compares every blob with its hash. */
int store_check(struct store *s, struct err *err);

int store_blob_put(struct store *s, const void *data, size_t len, char sha[STORE_SHA],
                   struct err *err);
/* Appends the blob to `out`. Fails if the store has no blob with this hash. */
int store_blob_get(struct store *s, const char *sha, struct strbuf *out, struct err *err);

/* ---- runs ----------------------------------------------------------------------------------- */

struct run_rec {
    int64_t id;
    const char *name, *task, *strategy;
    const char *state;  /* "running", "done", "stopped", "failed" */
    const char *reason; /* why the run ended */
    const char *config; /* the configuration of the run, as JSON */
    /* The author that the run began with, such as "mailbox:box". It never contains an API key. */
    const char *source;
    /* Who wrote the candidates, such as "exec:..., then playbook (best: playbook)". The names are
     * in the order of their first candidates. Equal to `source` if no candidate has an author. */
    const char *written_by;
    /* Who wrote the best kernel. "" if there is no best kernel, or if the user gave it. */
    const char *best_author;
    int64_t created_ms, updated_ms;
    uint64_t wall_ns;
    int64_t best; /* the index of the best node; -1 if there is none */
    /* `calls` counts the calls that have ended, `passes` the candidates with the verdict "pass". */
    uint64_t calls, nodes, passes, in_tokens, out_tokens;
    /* `usd` is the sum of the known costs. The other two are of the best node; struct verdict
     * explains the speedup. */
    double usd, best_time_ns, best_speedup;
    bool best_is_model; /* best_time_ns is modelled, not measured */
};
VEC_DECL(run_rec_vec, struct run_rec);

/* Creates a run with a new name TASK-STRATEGY-xxxx. */
int store_run_create(struct store *s, const char *task, const char *strategy, const char *config,
                     const char *source, int64_t *id, struct err *err);
/* Replaces the run's configuration, for example to allow more steps or another budget. */
int store_run_configure(struct store *s, int64_t run, const char *config, struct err *err);
/* Finds a run by its name, its number, "last", the beginning of its name, or the end of its name
 * after a '-'. A beginning or end must fit only one run. If several runs fit, the error names them.
 */
int store_run_find(struct store *s, const char *which, struct run_rec *out, struct arena *a,
                   struct err *err);
/* Finds a run by its whole name. Leaves the counts and sums in *out 0, because computing them takes
 * long in a large store. Returns 1 if there is such a run, 0 if not, -1 on an error. */
int store_run_named(struct store *s, const char *name, struct run_rec *out, struct arena *a,
                    struct err *err);
int store_run_list(struct store *s, struct run_rec_vec *out, struct arena *a, struct err *err);
/* Lists at most `limit` runs, the newest first. If `before` is not 0, lists only runs with a number
 * below `before`. */
int store_run_page(struct store *s, int64_t before, int64_t limit, struct run_rec_vec *out,
                   struct arena *a, struct err *err);
int store_run_end(struct store *s, int64_t run, const char *state, const char *reason,
                  struct err *err);
int store_run_progress(struct store *s, int64_t run, uint64_t wall_ns, int64_t best,
                       struct err *err);
/* Locks the run until store_run_unlock() or the end of the process. Fails if another process has
 * locked it. */
int store_run_lock(struct store *s, int64_t run, struct err *err);
void store_run_unlock(struct store *s);
/* Whether a process works on the run, that is, holds the run's lock. */
bool store_run_is_locked(struct store *s, int64_t run);
/* Returns the state to show to people. This is r->state, with one exception: if r->state is
 * "running" but no process works on the run, returns "killed". */
const char *store_run_state(struct store *s, const struct run_rec *r);
/* Removes the run and all its records, and then every blob that no run uses any more. Fails if a
 * process works on the run, or if the run belongs to a campaign. While a process works on any other
 * run or campaign, the blobs stay, because that process may be about to use one of them. A later
 * removal deletes them. */
int store_run_remove(struct store *s, int64_t run, struct err *err);

/* ---- calls ---------------------------------------------------------------------------------- */

struct call_rec {
    const char *role; /* what the author was asked to do, such as "code" or "debug" */
    uint64_t index;   /* the number of the call among the calls of this role */
    bool ended, ok;   /* `ok` means that the reply can be used */
    const char *author, *model;
    const char *prompt_sha; /* the hash of the whole prompt (replay_prompt_sha) */
    /* The blobs of the prompt's two parts (prompt/prompt.h) and of the reply. */
    const char *stable_sha, *turn_sha, *reply_sha;
    /* Token counts, `estimated`, `drift`, `requests`, `continued`, `finish` and `notes` are copied
     * from struct author_reply, which explains them. */
    uint64_t in_tokens, cached_tokens, cache_write_tokens, out_tokens;
    bool estimated, drift;
    double usd; /* what the call cost, in US dollars; negative if the price is unknown */
    uint64_t latency_ns;
    uint32_t requests, continued;
    const char *finish, *handle, *error, *notes; /* store_call_handle() explains `handle` */
    int64_t at_ms;
};
VEC_DECL(call_rec_vec, struct call_rec);

int store_call_begin(struct store *s, int64_t run, const struct call_rec *c, struct err *err);
/* Notes the handle of a call that has not ended. With the handle, a resumed run gets the reply to
 * this call and does not have to ask again (author_call_handle). */
int store_call_handle(struct store *s, int64_t run, const char *role, uint64_t index,
                      const char *handle, struct err *err);
/* Records the reply to a call, or its error. If the call failed but can be made again, set c->ended
 * to false: a resumed run then makes the call again, maybe to another author. c->author replaces
 * the author of store_call_begin(); NULL keeps it. */
int store_call_end(struct store *s, int64_t run, const struct call_rec *c, struct err *err);
/* Returns 1 if there is such a call (ended or not), 0 if not, -1 on an error. */
int store_call_get(struct store *s, int64_t run, const char *role, uint64_t index,
                   struct call_rec *out, struct arena *a, struct err *err);
int store_call_list(struct store *s, int64_t run, struct call_rec_vec *out, struct arena *a,
                    struct err *err);
/* Lists at most `limit` calls of one role in the order of their index, beginning with the index
 * `from`. */
int store_call_page(struct store *s, int64_t run, const char *role, uint64_t from, int64_t limit,
                    struct call_rec_vec *out, struct arena *a, struct err *err);

/* ---- verdicts ------------------------------------------------------------------------------- */

struct verdict_rec {
    uint64_t index;
    const char *source_sha, *json_sha; /* the blobs of the source and of the verdict's JSON */
    /* The next four are copied from struct verdict, which explains them. */
    const char *kind;
    double score, time_ns, speedup;
    int64_t at_ms;
};
VEC_DECL(verdict_rec_vec, struct verdict_rec);

/* A run numbers its verdicts from 0. The confirmation of node n, a second evaluation of the same
 * source, has the index STORE_CONFIRM + n. */
#define STORE_CONFIRM (UINT64_C(1) << 32)

int store_verdict_put(struct store *s, int64_t run, const struct verdict_rec *v, struct err *err);
/* Returns 1 if there is such a verdict, 0 if not, -1 on an error. */
int store_verdict_get(struct store *s, int64_t run, uint64_t index, struct verdict_rec *out,
                      struct arena *a, struct err *err);
int store_verdict_list(struct store *s, int64_t run, struct verdict_rec_vec *out, struct arena *a,
                       struct err *err);

/* ---- nodes: the tree of candidates ---------------------------------------------------------- */

struct node_rec {
    uint64_t index;
    int64_t parent;  /* the index of the parent; -1 for a root */
    int64_t verdict; /* the index of the node's verdict; -1 if it has none */
    const char *source_sha;
    /* The role in which the author wrote the source, such as "code" or "debug". "given" for a file
     * that the user gave. */
    const char *role;
    /* Who wrote the source. "" if the user gave it, or if the author is not known. */
    const char *author;
    const char *stage; /* "structure", "movement", "pipelining", "tuning", "repair", ... */
    const char *move;  /* the change from the parent, in a few words */
    const char *fate;  /* "best", "kept", "regression", "failed", "pruned", ... */
    const char *kind;  /* the kind of the node's verdict */
    double time_ns, speedup, roofline_pct;
    bool is_model; /* the time is modelled, not measured */
};
VEC_DECL(node_rec_vec, struct node_rec);

int store_node_put(struct store *s, int64_t run, const struct node_rec *n, struct err *err);
int store_node_list(struct store *s, int64_t run, struct node_rec_vec *out, struct arena *a,
                    struct err *err);
/* Lists at most `limit` nodes, beginning with the first whose index is not below `from`. */
int store_node_page(struct store *s, int64_t run, uint64_t from, int64_t limit,
                    struct node_rec_vec *out, struct arena *a, struct err *err);
/* Sets *rank to the number of nodes with this role whose index is below `index`. */
int store_node_rank(struct store *s, int64_t run, const char *role, uint64_t index, uint64_t *rank,
                    struct err *err);

/* ---- ideas and events ----------------------------------------------------------------------- */

struct idea_rec {
    uint64_t index;
    int64_t node;        /* the index of the node that tried the idea; -1 if none has yet */
    const char *kind;    /* the kind of the move, such as "tiling" */
    const char *text;    /* the move in words */
    const char *outcome; /* "gain", "regression", "failed" or "no change"; "" if not known yet */
    double gain;         /* the parent's time divided by the node's time; 0 if not known */
};
VEC_DECL(idea_rec_vec, struct idea_rec);

int store_idea_put(struct store *s, int64_t run, const struct idea_rec *i, struct err *err);
int store_idea_list(struct store *s, int64_t run, struct idea_rec_vec *out, struct arena *a,
                    struct err *err);

/* A note about the run. If the key exists already, store_event_put() changes nothing. */
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
    const char *config; /* the configuration of the campaign, as JSON */
    int64_t created_ms;
    uint64_t entries, done; /* how many entries there are, and how many are done or failed */
};
VEC_DECL(campaign_rec_vec, struct campaign_rec);

/* One task of a campaign. */
struct entry_rec {
    uint64_t index;
    const char *label;    /* the name of the entry in tables */
    const char *operand;  /* a built-in task, a task's folder, or FILE.py:NAME */
    const char *options;  /* how to import FILE.py, as JSON */
    const char *task_sha; /* the blob of the task's snapshot; "" if not yet imported */
    int64_t run;          /* the run that optimises the task; -1 if there is none yet */
    /* "waiting", "running", "stopped", "done" or "failed". A stopped entry goes on later. A failed
     * entry ended without a verdict. */
    const char *state;
    const char *reason; /* why the entry has this state */
    const char *hone;   /* the version of Hone that last worked on the entry */
    double known_ns;    /* a time of PyTorch that is already known; 0 if there is none */
    int64_t at_ms;      /* when the state last changed */
};
VEC_DECL(entry_rec_vec, struct entry_rec);

/* Creates a campaign with a new name WORD-xxxx, and all its entries, in one transaction. */
int store_campaign_create(struct store *s, const char *word, const char *config,
                          const struct entry_rec *entries, size_t n, int64_t *id, struct err *err);
int store_campaign_configure(struct store *s, int64_t campaign, const char *config,
                             struct err *err);
/* Finds a campaign by its name, the unique beginning of a name, or "last". Returns 1 if there is
 * one, 0 if not, -1 on an error. */
int store_campaign_find(struct store *s, const char *which, struct campaign_rec *out,
                        struct arena *a, struct err *err);
/* Lists at most `limit` campaigns, the newest first. If `before` is not 0, lists only campaigns
 * with a number below `before`. */
int store_campaign_page(struct store *s, int64_t before, int64_t limit,
                        struct campaign_rec_vec *out, struct arena *a, struct err *err);
/* Locks the campaign as store_run_lock locks a run. A struct store holds only one lock: a new lock
 * releases the lock before it. */
int store_campaign_lock(struct store *s, int64_t campaign, struct err *err);
int store_entry_list(struct store *s, int64_t campaign, struct entry_rec_vec *out, struct arena *a,
                     struct err *err);
/* Returns 1 if there is such an entry, 0 if not, -1 on an error. */
int store_entry_get(struct store *s, int64_t campaign, uint64_t index, struct entry_rec *out,
                    struct arena *a, struct err *err);
int store_entry_state(struct store *s, int64_t campaign, uint64_t index, const char *state,
                      const char *reason, struct err *err);
/* Notes the snapshot of the entry's task. The snapshot must be in the store already, as a blob. */
int store_entry_task(struct store *s, int64_t campaign, uint64_t index, const char *task_sha,
                     struct err *err);
/* Notes that the run `run` works on the entry from now on. `hone` is the version of the program. If
 * `run` is -1, the entry has no run, and a new one will begin. */
int store_entry_run(struct store *s, int64_t campaign, uint64_t index, int64_t run,
                    const char *hone, struct err *err);

/* ---- memory across runs: lessons (memory/memory.h) ------------------------------------------ */

/* The outcome of one point or one move in one run. A playbook is a template of
 * kernels with settings, and a point gives a value to each setting. A move is a change that an
 * author made to a candidate. */
struct lesson_rec {
    int64_t id;
    const char *run;                         /* the run that left the lesson */
    bool imported;                           /* the lesson came from `hone memory import` */
    const char *task, *task_sha;             /* the task's name and hash */
    const char *class, *ops, *sizes, *marks; /* the task's traits (memory/traits.h) */
    const char *gpu;                         /* such as "h200" */
    bool measured;                           /* true for measured times, false for modelled ones */
    const char *kind;                        /* "point", or the kind of a move */
    const char *playbook;                    /* the playbook's name; "" for a move without one */
    const char *text;                        /* the settings of the point, or the move in words */
    double gain;                             /* see memory/lesson.h; 0 if the candidate failed */
    int64_t at_ms;
};
VEC_DECL(lesson_rec_vec, struct lesson_rec);

/* Adds a lesson. If the run has the same lesson already, updates its gain and its time. Importing a
 * lesson that was imported before changes nothing. */
int store_lesson_put(struct store *s, const struct lesson_rec *l, struct err *err);
/* Lists at most `limit` lessons of tasks of one class (NULL = of all classes). The user's own
 * lessons come before imported ones; within each group the newest come first. */
int store_lesson_list(struct store *s, const char *class, int64_t limit, struct lesson_rec_vec *out,
                      struct arena *a, struct err *err);
/* One run, and how many lessons it left. */
struct lesson_run_rec {
    const char *run, *task, *class, *gpu;
    bool imported, measured;
    int64_t lessons;
};
VEC_DECL(lesson_run_vec, struct lesson_run_rec);
/* Lists the runs that left lessons. The user's own runs come before imported ones; within each
 * group the newest come first. */
int store_lesson_runs(struct store *s, struct lesson_run_vec *out, struct arena *a,
                      struct err *err);
/* Removes the lessons that have this task, this class and this run. NULL means any task, class or
 * run. If `imported` is true, removes only imported lessons. Sets *n to the number of removed
 * lessons. */
int store_lesson_forget(struct store *s, const char *task, const char *class, const char *run,
                        bool imported, int64_t *n, struct err *err);
/* Removes lessons until at most `keep` are left. Imported lessons are removed before the user's
 * own; within each group the oldest are removed first. */
int store_lesson_trim(struct store *s, int64_t keep, struct err *err);

/* Begins a transaction: either all writes until store_end() are kept, or none. */
int store_begin(struct store *s, struct err *err);
/* Ends the transaction. If `keep` is true and SQLite can write, keeps the writes since
 * store_begin() and returns 0. Otherwise drops these writes and returns -1. */
int store_end(struct store *s, bool keep, struct err *err);

/* For tests that end the process at each write in turn. The hook is called before and after every
 * write, with the number `n` of the write. */
void store_set_hook(struct store *s, void (*hook)(void *ctx, uint64_t n, bool after), void *ctx);

#endif
