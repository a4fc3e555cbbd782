/*
 * session.h - what `hone optimize` and `hone resume` share: a run from its configuration to its
 * report; and what the commands about runs share: the store, the task, one run by name.
 */
#ifndef CMD_SESSION_H
#define CMD_SESSION_H

#include <stdbool.h>

#include "agent/config.h"
#include "author/author.h"
#include "base/err.h"
#include "base/options.h"
#include "store/store.h"
#include "task/task.h"

#define SESSION_STORE_HELP "the store (default: HONE_STORE, else hone-out/hone.db)"

/* Opens the store a command shall use; `must_exist` for commands that only read. */
int session_store(struct store **out, const char *given, bool must_exist, struct err *err);

struct session {
    struct store *store;
    int64_t run; /* of one that is resumed; a new one gets its number once all it needs is there */
    const char *run_name;
    struct run_config *config;
    struct author_config author;
    const char *out_dir; /* NULL = hone-out/RUN */
    uint64_t prior_wall_ns;
    bool resumed;
    bool json, quiet;
};

/* Carries the run on to its end, prints progress, summary and where things are; an exit code. */
int session_run(struct session *s);

#endif
