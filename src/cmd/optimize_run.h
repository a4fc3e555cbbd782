/*
 * optimize_run.h - carries out a run for `hone optimize` and `hone resume`. It also opens the store
 * for all commands about runs.
 */
#ifndef CMD_OPTIMIZE_RUN_H
#define CMD_OPTIMIZE_RUN_H

#include <stdbool.h>

#include "agent/config.h"
#include "author/author.h"
#include "base/err.h"
#include "base/options.h"
#include "store/store.h"
#include "task/task.h"

#define CMD_STORE_HELP \
    "the file with all recorded runs (default: HONE_STORE, else hone-out/hone.db)"

const char *cmd_store_path(const char *given);
/* Returns a copy of cmd_store_path(), which the caller frees; NULL if there is no store. */
char *cmd_existing_store(const char *given, struct err *err);
/* Creates the store if there is none, unless `must_exist`. */
int cmd_open_store(struct store **out, const char *given, bool must_exist, struct err *err);
/* Returns a copy of `given`, or hone-out/NAME if `given` is NULL or "". The caller frees it. */
char *cmd_out_folder(const char *given, const char *name);

struct optimize_run {
    struct store *store;    /* NULL for a new run, which opens the store after its other checks */
    const char *store_path; /* as the user gave it; may be NULL */
    int64_t run; /* the run's number; for a new run, set when authors and device are open */
    const char *run_name;
    struct run_config *config;
    struct author_config author;
    const char *out_dir;    /* NULL = hone-out/RUN */
    uint64_t prior_wall_ns; /* resumed: wall time of earlier processes */
    bool was_done;          /* resumed: the run had ended by itself */
    size_t nodes_before;    /* resumed: candidates so far */
    bool resumed;
    bool json, quiet;
    struct task *task; /* for a new run; optimize_run_finish() frees it; NULL = load config->task */
    int64_t campaign;  /* 0 = none */
    uint64_t entry;    /* the task's number in the campaign */
    const char *hone;  /* Hone's version, for a campaign */
    const char *pool;  /* the campaign's budget (author/limits/pool.h), or NULL */
};

/* Fails if the author cannot be opened, or has no known price for a budget of money. */
int cmd_check_author(const char *spec, const struct budget *b, struct err *err);

/* If the headers of CuTe are missing, sets *d to plain CUDA and says so on stderr; fails if the
 * user asked for CuTe. */
int cmd_settle_dialect(bool asked, enum dialect *d, struct err *err);
/* Sets the number of proposals if the user gave none. The built-in author on a GPU gets several for
 * each step: the cost model ranks them, and the GPU runs only the best one. */
void cmd_settle_proposals(struct run_config *c);

/* Carries out the run, writes its report and prints its summary. Returns an exit code. */
int optimize_run_finish(struct optimize_run *s);

#endif
