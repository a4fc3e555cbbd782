/*
 * campaign.h - a campaign optimises many tasks side by side, each in a process of its own, and
 * records all runs in one store (store/store.h).
 *
 *     campaign_create(store, "cutegen19", &items, NULL, &config, &id, err);
 *     struct campaign_run r = {.store = store, .campaign = id, .jobs = 2, ...};
 *     campaign_run(&r, err);         0 = all done, 1 = stopped (r.stop says why), -1 = an error
 *
 * The process that calls campaign_run() decides which task is next. It starts
 *
 *     hone bench --work CAMPAIGN:NUMBER
 *
 * for each task. The started process imports the task if necessary, and begins or resumes the run
 * of the task. Before the first step of the run, it records in the store which run the task has. So
 * a campaign that was killed at any instant can go on: it leaves alone the tasks that are done, and
 * resumes a task that has a run. No recorded step is done again. When the process that called
 * campaign_run() dies, its children die with it (sys/proc.h).
 */
#ifndef CAMPAIGN_CAMPAIGN_H
#define CAMPAIGN_CAMPAIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "author/budget.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "campaign/suite.h"
#include "store/store.h"

enum { CAMPAIGN_MAX_JOBS = 64 };

/* The options that all runs of a campaign share. The store keeps them. */
struct campaign_config {
    const char *strategy, *author, *dialect;
    const char *device, *on, *gpu, *arch, *compiler; /* "" means the default */
    /* The GPU on which the campaign began, such as "NVIDIA H200"; "" if it is not known. */
    const char *gpu_model;
    const char *out; /* the folder for the results of the tasks; "" means hone-out/CAMPAIGN */
    uint64_t steps, proposals, seed; /* 0 means the default */
    uint64_t jobs;                   /* how many tasks run at the same time */
    bool smoke, baselines;           /* as in struct run_config (agent/config.h) */
    unsigned torch_variants;         /* as in struct run_config */
    struct budget budget;            /* the budget of the whole campaign; wall_ns is not used */
};

char *campaign_config_text(const struct campaign_config *c); /* the caller frees it */
int campaign_config_read(struct campaign_config *c, const char *text, struct arena *a,
                         struct err *err);

struct known_times;

/* Creates a campaign with an entry for each item. The campaign's name begins with `word`. If
 * `known` is not NULL, it gives the entries their known times of PyTorch (known_times.h). */
int campaign_create(struct store *s, const char *word, const struct suite_item_vec *items,
                    const struct known_times *known, const struct campaign_config *c, int64_t *id,
                    struct err *err);

struct campaign_watch {
    void (*started)(void *ctx, const struct entry_rec *e);
    void (*ended)(void *ctx, const struct entry_rec *e);
    /* Called a few times a second. To stop the campaign, it returns -1 and says why in
     * campaign_run.stop. */
    int (*tick)(void *ctx, unsigned running, unsigned waiting);
    void *ctx;
};

struct campaign_run {
    struct store *store;
    const char *store_path, *out_dir;
    int64_t campaign;
    const char *name, *hone; /* the campaign's name, and the version of this program */
    uint64_t jobs;
    struct budget budget;
    uint64_t until_ns; /* stop when now_ns() reaches this time; 0 means never */
    bool import_only;  /* only import the tasks, and start no run */
    bool retry;        /* try failed tasks again */
    bool more_budget;  /* continue tasks that ended because a budget was used up */
    /* Further options for the child processes. The list ends with NULL; no list (NULL) is
     * allowed. */
    const char *const *extra;
    struct campaign_watch watch;
    /* campaign_run() writes here why the campaign stopped before its end. The caller releases
     * it. */
    struct strbuf stop;
};

int campaign_run(struct campaign_run *r, struct err *err);

#endif
