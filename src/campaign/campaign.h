/*
 * campaign.h - a campaign optimises many tasks side by side, each in a process of its own, and
 * records all runs in one store (store/store.h).
 *
 *     campaign_create(store, "cutegen19", &items, NULL, &config, &id, err);
 *     struct campaign_run r = {.store = store, .campaign = id, .jobs = 2, ...};
 *     campaign_run(&r, err);         0 = all done, 1 = stopped (r.stop says why), -1 = an error
 *
 * For each task, campaign_run() starts `hone bench --work CAMPAIGN:NUMBER`. This process imports
 * the task if necessary, and begins or resumes its run. Before the run's first step, it records in
 * the store which run the task has. So a campaign that was killed can go on, and no recorded step
 * is done again. When the process of campaign_run() dies, its children die too (sys/proc.h).
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

/* The options that all runs of a campaign share. */
struct campaign_config {
    const char *strategy, *author, *dialect;
    const char *device, *on, *gpu, *arch, *compiler; /* "" means the default */
    const char *gpu_model; /* GPU on which the campaign began, such as "NVIDIA H200"; or "" */
    const char *out;       /* folder for the results; "" means hone-out/CAMPAIGN */
    uint64_t steps, proposals, seed; /* 0 means the default */
    uint64_t jobs;                   /* tasks that run at the same time */
    bool smoke, baselines;           /* as in struct run_config (agent/config.h) */
    unsigned torch_variants;         /* as in struct run_config */
    struct budget budget;            /* of the whole campaign; wall_ns is not used */
};

char *campaign_config_text(const struct campaign_config *c); /* the caller frees it */
int campaign_config_read(struct campaign_config *c, const char *text, struct arena *a,
                         struct err *err);

struct known_times;

/* Creates a campaign with an entry for each item. Its name begins with `word`. `known`, or NULL,
 * gives known times of PyTorch (known_times.h). */
int campaign_create(struct store *s, const char *word, const struct suite_item_vec *items,
                    const struct known_times *known, const struct campaign_config *c, int64_t *id,
                    struct err *err);

struct campaign_watch {
    void (*started)(void *ctx, const struct entry_rec *e);
    void (*ended)(void *ctx, const struct entry_rec *e);
    /* Called a few times a second. To stop the campaign, returns -1 and says why in
     * campaign_run.stop. */
    int (*tick)(void *ctx, unsigned running, unsigned waiting);
    void *ctx;
};

struct campaign_run {
    struct store *store;
    const char *store_path, *out_dir;
    int64_t campaign;
    const char *name, *hone; /* the campaign's name; the version of this program */
    uint64_t jobs;
    struct budget budget;
    uint64_t until_ns;        /* stop at this now_ns(); 0 means never */
    bool import_only;         /* start no run */
    bool retry;               /* try failed tasks again */
    bool more_budget;         /* continue tasks that ended for lack of budget */
    const char *const *extra; /* options for the children, ended by NULL; or NULL */
    struct campaign_watch watch;
    struct strbuf stop; /* why the campaign stopped early; the caller releases it */
};

int campaign_run(struct campaign_run *r, struct err *err);

#endif
