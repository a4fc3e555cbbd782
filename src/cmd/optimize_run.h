/*
 * optimize_run.h - carries out a run from its configuration to its report, for `hone optimize` and
 * `hone resume`. It also opens the store for all commands about runs.
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

/* Returns `given` if it is not NULL, else HONE_STORE, else hone-out/hone.db. */
const char *cmd_store_path(const char *given);
/* Returns a copy of that path, which the caller frees, or NULL if there is no store. */
char *cmd_existing_store(const char *given, struct err *err);
/* Opens the store. Creates it if there is none, unless `must_exist` is true. */
int cmd_open_store(struct store **out, const char *given, bool must_exist, struct err *err);
/* Returns the folder for the results: `given`, or hone-out/NAME if that is NULL or "". The caller
 * frees it. */
char *cmd_out_folder(const char *given, const char *name);

struct optimize_run {
    struct store *store;    /* NULL for a new run, which opens the store after its other checks */
    const char *store_path; /* as the user gave it; may be NULL */
    int64_t run; /* the run's number; for a new run, set when authors and device are open */
    const char *run_name;
    struct run_config *config;
    struct author_config author;
    const char *out_dir;    /* NULL = hone-out/RUN */
    uint64_t prior_wall_ns; /* resumed: how long earlier processes worked on the run */
    bool was_done;          /* resumed: the run had ended by itself */
    size_t nodes_before;    /* resumed: how many candidates the run had */
    bool resumed;
    bool json, quiet;
    struct task *task; /* of a new run, which frees it; NULL = load config->task */
    int64_t campaign;  /* 0 = none */
    uint64_t entry;    /* the place of the run's task in the campaign */
    const char *hone;  /* the version of Hone, for a campaign */
    const char *pool;  /* the file of the campaign's budget (author/limits/pool.h); NULL = none */
};

/* Checks that the author can be opened, and that its price is known if there is a budget of
 * money. */
int cmd_check_author(const char *spec, const struct budget *b, struct err *err);

/* Kernels in CuTe need the headers of CuTe. If they are missing, sets *d to plain CUDA and says so
 * on stderr; fails if the user asked for CuTe. */
int cmd_settle_dialect(bool asked, enum dialect *d, struct err *err);
/* Sets how many proposals (changes of the kernel) a step asks for, if the user did not. The
 * built-in author on a GPU makes several; the emulator's cost model ranks them, and the GPU runs
 * the best. */
void cmd_settle_proposals(struct run_config *c);

/* Prints progress, the summary and the paths written. Returns an exit code. */
int optimize_run_finish(struct optimize_run *s);

#endif
