/* bench_work.c - works on one task of a campaign: imports it, and begins or resumes its run
 * (bench_work.h). */
#include "cmd/bench_work.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/util.h"
#include "campaign/campaign.h"
#include "cmd/command.h"
#include "cmd/eval_command.h"
#include "cmd/import_command.h"
#include "cmd/optimize_run.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "sys/json.h"
#include "task/snapshot.h"

struct place {
    struct store *store;
    struct campaign_rec campaign;
    struct campaign_config config;
    struct entry_rec entry;
    struct arena mem;
};

static int find_entry(struct place *p, const char *which, struct err *err)
{
    const char *colon = strrchr(which, ':');
    char *end = NULL, *name = colon ? xstrndup(which, (size_t)(colon - which)) : xstrdup("");
    uint64_t index = colon ? strtoull(colon + 1, &end, 10) : 0;
    int rc = 0;
    if (!colon || end == colon + 1 || *end)
        rc = err_set(err, ERR_USAGE, "--work %s: expected CAMPAIGN:N", which);
    else
        rc = store_campaign_find(p->store, name, &p->campaign, &p->mem, err);
    if (rc > 0)
        rc = store_entry_get(p->store, p->campaign.id, index, &p->entry, &p->mem, err);
    if (rc == 0)
        rc = err_set(err, ERR_INPUT, "the store has no entry '%s'", which);
    if (rc > 0)
        rc = campaign_config_read(&p->config, p->campaign.config, &p->mem, err);
    free(name);
    return rc;
}

/* ---- the task -------------------------------------------------------------------------------- */

/* Writes the PyTorch file of a built-in suite beside the store, where Python can read it. Returns
 * FILE.py:NAME with the file's path. */
static const char *unpack_operand(struct place *p, const char *store, struct err *err)
{
    const char *operand = p->entry.operand;
    if (!str_starts(operand, SUITE_ASSET))
        return operand;
    operand += strlen(SUITE_ASSET);
    const char *rest;
    char *file = cmd_split_python(operand, &rest);
    const struct asset *asset = asset_find(file);
    const char *slash = strrchr(store, '/'), *out = NULL;
    char *path = xasprintf("%.*simported/%s", (int)(slash ? slash + 1 - store : 0), store, file);
    char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));
    if (!asset)
        err_set(err, ERR_INPUT, "this Hone has no file '%s'", file);
    else if (dir_make(dir, err) == 0 && file_write(path, asset->data, asset->len, err) == 0)
        out = arena_printf(&p->mem, "%s%s%s", path, *rest ? ":" : "", rest);
    free(dir);
    free(path);
    free(file);
    return out;
}

static struct task *import_task(struct place *p, const char *store, struct err *err)
{
    struct suite_item item = {.label = ""};
    struct task *t = NULL;
    char *dir = NULL;
    const char *operand = unpack_operand(p, store, err);
    if (operand && suite_read_options(p->entry.options, &item, &p->mem, err) == 0) {
        struct import_wishes w = {.precision = *item.precision ? item.precision : NULL,
                                  .inputs = item.inputs,
                                  .sizes = item.sizes};
        dir = cmd_import_for_run(operand, &w, store, true, err);
    }
    if (dir && !(t = cmd_load_task(dir)))
        err_set(err, ERR_INPUT, "the imported task '%s' cannot be used", dir);
    vec_release(&item.inputs);
    vec_release(&item.sizes);
    free(dir);
    return t;
}

static struct task *task_of_snapshot(struct place *p, struct err *err)
{
    struct strbuf text = STRBUF_INIT(TASK_MAX_SNAPSHOT);
    struct problem_vec problems = VEC_INIT;
    struct task *t = NULL;
    if (store_blob_get(p->store, p->entry.task_sha, &text, err) == 0 &&
        !(t = task_from_snapshot(text.buf, text.len, p->entry.label, &problems)))
        err_set(err, ERR_INPUT, "the campaign's copy of the task: %s",
                problems.n ? problems.items[0].text : "it cannot be loaded");
    problems_release(&problems);
    strbuf_release(&text);
    return t;
}

/* Keeps a copy of the task, so that the campaign can go on without the task's files. */
static int keep_snapshot(struct place *p, const struct task *t, struct err *err)
{
    struct strbuf text = STRBUF_INIT(TASK_MAX_SNAPSHOT);
    char sha[STORE_SHA];
    task_snapshot(t, &text);
    int rc = store_blob_put(p->store, text.buf, text.len, sha, err);
    if (rc == 0)
        rc = store_entry_task(p->store, p->campaign.id, p->entry.index, sha, err);
    strbuf_release(&text);
    return rc;
}

static struct task *entry_task(struct place *p, const char *store, struct err *err)
{
    struct task *t;
    if (*p->entry.task_sha)
        return task_of_snapshot(p, err);
    if (suite_is_python(p->entry.operand)) {
        t = import_task(p, store, err);
    } else if (!(t = cmd_load_task(p->entry.operand))) {
        err_set(err, ERR_INPUT, "'%s' cannot be used as a task", p->entry.operand);
    }
    if (t && keep_snapshot(p, t, err) < 0) {
        task_free(t);
        t = NULL;
    }
    return t;
}

/* ---- the run --------------------------------------------------------------------------------- */

static void set_place(struct run_config *c, const struct campaign_config *from,
                      const struct bench_work *w)
{
    const char *device = *w->device ? w->device : from->device;
    const char *on = *w->on ? w->on : from->on;
    if (*device)
        c->device = device;
    if (*on)
        c->on = on;
}

static int configure_new(struct run_config *c, struct place *p, const struct bench_work *w,
                         const struct task *t, struct err *err)
{
    const struct campaign_config *k = &p->config;
    run_config_init(c);
    c->strategy = k->strategy;
    for (int i = 0; i < DIALECTS; i++)
        if (str_eq(k->dialect, dialect_names[i]))
            c->dialect = (enum dialect)i;
    if (str_eq(k->strategy, "team")) /* as `hone optimize` does */
        c->profile = PROFILE_ALWAYS;
    if (!strategy_find(k->strategy))
        return err_set(err, ERR_INPUT, "this Hone has no strategy '%s'", k->strategy);
    c->proposals = (uint32_t)k->proposals;
    c->use_memory = false; /* else a run would depend on the tasks that ended before it began */
    c->authors[AUTHOR_CODE] = k->author;
    c->task = p->entry.label;
    c->gpu = *k->gpu ? k->gpu : c->gpu;
    c->arch = *k->arch ? k->arch : c->arch;
    c->compiler = *k->compiler ? k->compiler : c->compiler;
    c->steps = (uint32_t)MIN(k->steps, RUN_MAX_STEPS);
    c->seed = k->seed ? k->seed : c->seed;
    c->wave = MAX(c->wave, 1);
    c->smoke = k->smoke;
    c->baselines = k->baselines;
    c->torch_variants = k->torch_variants;
    struct suite_item item = {.label = ""};
    int rc = suite_read_options(p->entry.options, &item, &p->mem, err);
    c->programs = item.programs;
    vec_release(&item.inputs);
    vec_release(&item.sizes);
    if (rc < 0)
        return -1;
    /* A run of a campaign times PyTorch at its end, beside the best kernel. But if the run has only
     * one candidate, PyTorch is timed beside this candidate at once. */
    c->torch_at_end = !(str_eq(c->strategy, "sample") && c->steps == 1);
    c->repairs = -1;
    c->budget = w->budget;
    set_place(c, k, w);
    cmd_settle_proposals(c);
    run_config_settle(c, t);
    return 0;
}

static int configure_resumed(struct run_config *c, struct place *p, const struct bench_work *w,
                             struct optimize_run *s, struct err *err)
{
    struct run_rec r;
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)p->entry.run);
    if (store_run_find(p->store, number, &r, &p->mem, err) < 0)
        return -1;
    json_t *j = json_read_text(r.config, strlen(r.config), "config", NULL, err);
    int rc = j ? run_config_from_json(c, j, &p->mem, err) : -1;
    json_decref(j);
    if (rc < 0)
        return -1;
    c->budget = w->budget;
    set_place(c, &p->config, w);
    s->run = r.id;
    s->run_name = r.name;
    s->prior_wall_ns = r.wall_ns;
    s->resumed = true;
    return 0;
}

int bench_work(const struct bench_work *w)
{
    struct err err = ERR_INIT;
    struct place p = {.store = NULL};
    struct run_config c;
    struct task *t = NULL;
    struct optimize_run s = {.config = &c,
                             .out_dir = w->out_dir,
                             .json = true,
                             .quiet = true,
                             .hone = w->hone,
                             .pool = w->pool};
    int rc = cmd_open_store(&p.store, w->store, true, &err);
    if (rc == 0)
        rc = find_entry(&p, w->which, &err);
    if (rc == 0 && (p.entry.run < 0 || w->import_only) &&
        !(t = entry_task(&p, cmd_store_path(w->store), &err)))
        rc = -1;
    if (rc == 0 && !w->import_only) {
        s.store = p.store;
        s.campaign = p.campaign.id;
        s.entry = p.entry.index;
        s.task = t;
        rc = p.entry.run >= 0 ? configure_resumed(&c, &p, w, &s, &err)
                              : configure_new(&c, &p, w, t, &err);
        if (rc == 0) {
            rc = optimize_run_finish(&s); /* frees the task */
            t = NULL;
        } else {
            rc = cmd_fail(&err);
        }
    } else {
        rc = rc < 0 ? cmd_fail(&err) : HONE_OK;
    }
    task_free(t);
    store_close(p.store);
    arena_release(&p.mem);
    return rc;
}
