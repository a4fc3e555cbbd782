/*
 * run.c - begins and ends a run, watches its budgets, and keeps its ledger and its lessons.
 * asking.c asks authors; judging.c keeps the tree of candidates and their verdicts.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/confirm.h"
#include "agent/run.h"
#include "base/log.h"
#include "base/util.h"
#include "measure/gpu.h"
#include "memory/memory.h"
#include "playbook/playbook.h"
#include "prompt/say.h"
#include "sys/interrupt.h"

#define RNG_STREAM_AGENT 7001 /* the number of the run's random sequence */

const struct strategy *const strategy_table[] = {
    &strategy_refine, &strategy_team, &strategy_search, &strategy_sample, &strategy_reflect, NULL,
};

const struct strategy *strategy_find(const char *name)
{
    for (size_t i = 0; strategy_table[i]; i++)
        if (str_eq(strategy_table[i]->name, name))
            return strategy_table[i];
    return NULL;
}

int agent_open(struct agent **out, const struct agent_setup *in, struct err *err)
{
    if (!in->authors[AUTHOR_CODE])
        return err_set(err, ERR_INTERNAL, "a run needs an author");
    struct agent *a = xcalloc(1, sizeof *a);
    a->in = *in;
    a->cfg = in->config;
    a->task = in->task;
    a->rng = rng_seeded(in->config->seed, RNG_STREAM_AGENT);
    a->started_ns = a->saved_ns = now_ns();
    strbuf_init(&a->stop, AGENT_STOP_MAX);
    strbuf_init(&a->unconfirmed, 1024);
    a->memory = *a->cfg->memory ? json_loads(a->cfg->memory, 0, NULL) : NULL;
    *out = a;
    return 0;
}

void agent_close(struct agent *a)
{
    if (!a)
        return;
    vec_each (struct node *, n, &a->nodes)
        node_free(*n);
    vec_release(&a->nodes);
    vec_release(&a->ideas);
    vec_release(&a->roles);
    shown_files_release(&a->shown);
    strbuf_release(&a->stop);
    strbuf_release(&a->unconfirmed);
    task_free(a->extended);
    json_decref(a->memory);
    free(a);
}

uint64_t agent_wall_ns(const struct agent *a)
{
    return a->in.prior_wall_ns + (now_ns() - a->started_ns);
}

int agent_save_progress(struct agent *a, struct err *err)
{
    a->saved_ns = now_ns();
    return store_run_progress(a->in.store, a->in.run, agent_wall_ns(a),
                              a->best ? (int64_t)a->best->index : -1, err);
}

int agent_save_time(struct agent *a, struct err *err)
{
    static const uint64_t every_ns = 2000000000;
    return now_ns() - a->saved_ns < every_ns ? 0 : agent_save_progress(a, err);
}

int agent_stop(struct agent *a, const char *fmt, ...)
{
    if (!a->stop.len) {
        va_list ap;
        va_start(ap, fmt);
        strbuf_vaddf(&a->stop, fmt, ap);
        va_end(ap);
    }
    return 1;
}

int agent_may_go_on(struct agent *a)
{
    struct strbuf why = STRBUF_INIT(256);
    int rc = 0;
    a->spent.wall_ns = agent_wall_ns(a);
    if (interrupted())
        rc = agent_stop(a, "interrupted");
    else if (budget_over(&a->cfg->budget, &a->spent, &why))
        rc = agent_stop(a, "%s", why.buf);
    strbuf_release(&why);
    return rc;
}

/* ---- knowledge ------------------------------------------------------------------------------ */

static struct idea *find_idea(struct agent *a, const struct node *n)
{
    vec_each (struct idea, i, &a->ideas)
        if (i->of == n->index)
            return i;
    return NULL;
}

int agent_add_idea(struct agent *a, const struct node *n, const struct node *result,
                   const struct node *against, struct err *err)
{
    struct idea *i = find_idea(a, n);
    if (i && node_cmp(result, a->nodes.items[i->node]) <= 0)
        return 0;
    if (!i)
        i = vec_push(&a->ideas);
    i->of = n->index;
    i->node = (int64_t)result->index;
    snprintf(i->kind, sizeof i->kind, "%s", n->kind);
    snprintf(i->text, sizeof i->text, "%s", n->move);
    if (!node_passes(result)) {
        i->outcome = "failed";
    } else if (!against || !node_passes(against) || against->verdict.time_ns <= 0 ||
               result->verdict.time_ns <= 0) {
        i->outcome = "";
    } else {
        i->gain = against->verdict.time_ns / result->verdict.time_ns;
        i->outcome = i->gain > 1.01 ? "gain" : i->gain < 0.99 ? "regression" : "no change";
    }
    return store_idea_put(a->in.store, a->in.run,
                          &(struct idea_rec){.index = (uint64_t)(i - a->ideas.items),
                                             .node = i->node,
                                             .kind = i->kind,
                                             .text = i->text,
                                             .outcome = i->outcome,
                                             .gain = i->gain},
                          err);
}

int agent_note(struct agent *a, const char *kind, struct err *err, const char *fmt, ...)
{
    char key[32];
    struct strbuf text = STRBUF_INIT(64 << 10);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    snprintf(key, sizeof key, "%06llu", (unsigned long long)a->events++);
    int rc = store_event_put(a->in.store, a->in.run, key, kind, text.buf, err);
    strbuf_release(&text);
    return rc;
}

bool profile_allowed(const struct agent *a, uint32_t step)
{
    switch (a->cfg->profile) {
    case PROFILE_NEVER:
        return false;
    case PROFILE_ALWAYS:
        return true;
    default:
        return (int64_t)step >= a->cfg->profile_delay;
    }
}

bool goal_reached(struct agent *a)
{
    double pct = 0;
    if (a->best && a->cfg->smoke) {
        agent_stop(a, "candidate %llu is right (--smoke)", (unsigned long long)a->best->index);
        return true;
    }
    if (a->best && a->cfg->stop_ns > 0 && a->best->verdict.time_ns <= a->cfg->stop_ns) {
        agent_stop(a, "the best kernel is as fast as was asked for");
        return true;
    }
    if (a->best)
        /* percentage of the roofline at the worst shape */
        verdict_roofline(&a->best->verdict, &pct);
    if (a->cfg->stop_pct <= 0 || pct < a->cfg->stop_pct)
        return false;
    agent_stop(a, "the best kernel is at %.0f%% of the roofline", pct);
    return true;
}

/* Returns the name of the GPU on which the best kernel was measured. If its time is modelled,
 * returns the GPU that the emulator modelled. */
static const char *judging_gpu(const struct agent *a, struct arena *mem)
{
    const struct verdict *v = &a->best->verdict;
    if (!v->time_is_model && v->device && *v->device)
        return gpu_name_of(v->device, mem);
    return v->gpu && *v->gpu ? v->gpu : a->cfg->gpu;
}

/* Keeps the lessons of this run for later runs. A failure only warns. */
static void learn(struct agent *a)
{
    const char *author = author_spec(a->in.authors[AUTHOR_CODE]);
    VEC(struct memory_outcome) all = VEC_INIT;
    struct memory_run run = {.name = a->in.run_name ? a->in.run_name : "run",
                             .task = a->in.task,
                             .books = str_starts(author, "playbook:") ? author + 9 : NULL};
    struct err err = ERR_INIT;
    if (!a->cfg->use_memory || str_starts(author, "replay:") || !a->best)
        return;
    run.measured = !a->best->verdict.time_is_model;
    struct arena mem = ARENA_INIT;
    run.gpu = judging_gpu(a, &mem);
    json_t *facts = say_task_json(a->in.task);
    run.facts = facts;
    run.arch = playbook_arch(a->cfg->arch);
    vec_each (struct node *, n, &a->nodes)
        if ((*n)->judged)
            *vec_push(&all) =
                (struct memory_outcome){.kind = (*n)->kind,
                                        .move = (*n)->move,
                                        .time_ns = node_passes(*n) ? (*n)->verdict.time_ns : 0,
                                        .gain = -1};
    vec_each (struct idea, i, &a->ideas)
        if (str_eq(i->outcome, "failed") || i->gain > 0)
            *vec_push(&all) =
                (struct memory_outcome){.kind = i->kind, .move = i->text, .gain = i->gain};
    if (memory_learn(a->in.store, &run, all.items, all.n, &err) < 0)
        log_warn("agent", "nothing is kept for later runs: %s", err.msg);
    json_decref(facts);
    vec_release(&all);
    arena_release(&mem);
}

int agent_run(struct agent *a, struct err *err)
{
    const struct strategy *s = strategy_find(a->cfg->strategy);
    if (!s)
        return err_set(err, ERR_INPUT, "there is no strategy '%s'", a->cfg->strategy);
    int rc = s->run(a, err);
    const char *state = a->failed ? "failed" : rc == 1 && !goal_reached(a) ? "stopped" : "done";
    int cut = rc < 0 ? -1 : agent_confirm(a, err);
    if (cut < 0) {
        store_run_end(a->in.store, a->in.run, "failed", err ? err->msg : "", NULL);
        return -1;
    }
    if (cut && rc == 0) {
        rc = 1;
        state = "stopped";
    }
    learn(a);
    struct strbuf reason = STRBUF_INIT(4096);
    strbuf_addf(&reason, "%s%s%s", a->stop.buf, a->stop.len && a->unconfirmed.len ? "; " : "",
                a->unconfirmed.buf);
    if (agent_save_progress(a, err) < 0 ||
        store_run_end(a->in.store, a->in.run, state, reason.buf, err) < 0)
        rc = -1;
    strbuf_release(&reason);
    a->spent.wall_ns = agent_wall_ns(a);
    return rc;
}
