/*
 * campaign.h - a campaign optimises many tasks side by side, each in a process of its own, and
 * records all runs in one store.
 *
 *     campaign_create(store, "cutegen19", &items, NULL, &config, &id, err);
 *     struct campaign_run r = {.store = store, .campaign = id, .jobs = 2, ...};
 *     campaign_run(&r, err);         0 = all done, 1 = stopped (r.stop says why), -1 = an error
 *
 * The process of a task is `hone bench --work CAMPAIGN:NUMBER`. It imports the task if necessary
 * and records its run in the store before the first step. So a campaign that was killed can go on,
 * and repeats no recorded step. These processes die with the process that called campaign_run()
 * (sys/proc.h).
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

struct campaign_config {
    const char *strategy, *author, *dialect;
    const char *device, *on, *gpu, *arch, *compiler; /* "" means the default */
    const char *gpu_model;           /* the GPU on which the campaign began: "NVIDIA H200", or "" */
    const char *out;                 /* "" means hone-out/CAMPAIGN */
    uint64_t steps, proposals, seed; /* 0 means the default */
    uint64_t jobs;
    bool smoke, baselines; /* as in struct run_config (agent/config.h) */
    unsigned torch_variants;
    struct budget budget; /* of the whole campaign; wall_ns is not used */
};

char *campaign_config_text(const struct campaign_config *c); /* the caller frees it */
int campaign_config_read(struct campaign_config *c, const char *text, struct arena *a,
                         struct err *err);

struct known_times;

/* Creates an entry for each item. The campaign's name begins with `word`. `known` has known times
 * of PyTorch (known_times.h), or is NULL. */
int campaign_create(struct store *s, const char *word, const struct suite_item_vec *items,
                    const struct known_times *known, const struct campaign_config *c, int64_t *id,
                    struct err *err);

struct campaign_watch {
    void (*started)(void *ctx, const struct entry_rec *e);
    void (*ended)(void *ctx, const struct entry_rec *e);
    /* Called a few times a second. Returns -1 to stop the campaign, and then sets
     * campaign_run.stop. */
    int (*tick)(void *ctx, unsigned running, unsigned waiting);
    void *ctx;
};

struct campaign_run {
    struct store *store;
    const char *store_path, *out_dir;
    int64_t campaign;
    const char *name, *hone; /* the campaign's name; this program's version */
    uint64_t jobs;
    struct budget budget;
    uint64_t until_ns; /* stop at this now_ns(); 0 means never */
    bool import_only;
    bool retry;
    bool more_budget;         /* continue tasks that ended for lack of budget */
    const char *const *extra; /* options for the children, ended by NULL; or NULL */
    struct campaign_watch watch;
    struct strbuf stop; /* why the campaign stopped early; the caller releases this buffer */
};

int campaign_run(struct campaign_run *r, struct err *err);

#endif
