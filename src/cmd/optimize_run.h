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

/* Returns the path of the store: `given` if it is not NULL, else HONE_STORE, else
 * hone-out/hone.db. */
const char *cmd_store_path(const char *given);
/* Returns a copy of the path that cmd_store_path() gives; the caller frees it. If there is no store
 * at this path, returns NULL, and err says so. */
char *cmd_existing_store(const char *given, struct err *err);
/* Opens the store. If there is none, fails if `must_exist` is true, else creates the store. */
int cmd_open_store(struct store **out, const char *given, bool must_exist, struct err *err);
/* Returns the folder for the results of a run or campaign: `given`, or hone-out/NAME if that is
 * NULL or "". The caller frees it. */
char *cmd_out_folder(const char *given, const char *name);

struct optimize_run {
    struct store *store;    /* NULL for a new run, which opens the store after its other checks */
    const char *store_path; /* as the user gave it; may be NULL */
    int64_t run; /* the run's number; for a new run, set when authors and device are open */
    const char *run_name;
    struct run_config *config;
    struct author_config author;
    const char *out_dir;    /* NULL = hone-out/RUN */
    uint64_t prior_wall_ns; /* resumed: the time that earlier processes worked on the run */
    bool was_done;          /* resumed: the run had ended by itself */
    size_t nodes_before;    /* resumed: how many candidates the run had */
    bool resumed;
    bool json, quiet;
    struct task *task; /* the task of a new run; NULL = load config->task; the run frees it */
    /* If the run belongs to a campaign: the campaign, the entry of the run's task, and the version
     * of Hone. */
    int64_t campaign; /* 0 = none */
    uint64_t entry;
    const char *hone;
    const char *pool; /* the file of the campaign's budget (author/limits/pool.h); NULL = none */
};

/* Call it before a run exists. Checks that the author can be opened. If there is a budget of money,
 * also checks that the author's price is known. */
int cmd_check_author(const char *spec, const struct budget *b, struct err *err);

/* Without the headers of CuTe, no kernel in CuTe compiles. If they are missing, sets *d to plain
 * CUDA and says so on stderr; fails if the user asked for CuTe. */
int cmd_settle_dialect(bool asked, enum dialect *d, struct err *err);
/* Sets how many proposals (changes of the kernel) a step of `refine` asks for, if the user did not.
 * For the built-in author on a GPU there are several: the emulator's cost model ranks them, and the
 * GPU runs only the best. */
void cmd_settle_proposals(struct run_config *c);

/* Carries out the run. Prints progress, the summary and the paths written. Returns an exit code. */
int optimize_run_finish(struct optimize_run *s);

#endif
