/* resume.c - `hone resume RUN`: continues a run that was stopped, was killed or ran out of
 * budget. `hone resume CAMPAIGN` continues a campaign, as `hone bench --resume` does. */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cmd/bench_work.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/optimize_run.h"
#include "sys/json.h"

struct wishes {
    struct run_config config; /* budgets, steps, device, on */
    const char *author, *dialect;
    struct str_vec ablate; /* KEY=VALUE */
};

/* Takes over --dialect and --ablate for the rest of the run; `calls` author calls have been made.
 * --ablate can change only how strict the dialect is: after any other change, the resumed run would
 * not repeat its recorded steps. */
static int change_dialect(struct run_config *c, const struct wishes *w, uint64_t calls,
                          struct err *err)
{
    struct run_config now = *c;
    for (size_t i = 0; i < w->ablate.n; i++) {
        if (!str_starts(w->ablate.items[i], "dialect="))
            return err_set(err, ERR_USAGE,
                           "--ablate '%s': a resumed run can change only dialect=strict or "
                           "dialect=report",
                           w->ablate.items[i]);
        if (run_config_ablate(&now, w->ablate.items[i], err) < 0)
            return -1;
    }
    if (w->dialect && dialect_from_name(w->dialect, &now.dialect, err) < 0)
        return -1;
    return run_config_set_dialect(c, now.dialect, now.strict_dialect, calls, err);
}

static int carry_on(struct optimize_run *s, const char *which, const struct wishes *w,
                    struct arena *mem, struct err *err)
{
    const struct run_config *wish = &w->config;
    struct run_rec r;
    if (store_run_find(s->store, which, &r, mem, err) < 0)
        return -1;
    json_t *j = json_read_text(r.config, strlen(r.config), "config", NULL, err);
    int rc = j ? run_config_from_json(s->config, j, mem, err) : -1;
    json_decref(j);
    if (rc < 0)
        return -1;
    const struct budget *b = &wish->budget;
    s->config->budget.tokens = b->tokens ? b->tokens : s->config->budget.tokens;
    s->config->budget.usd = b->usd > 0 ? b->usd : s->config->budget.usd;
    s->config->budget.wall_ns = b->wall_ns ? b->wall_ns : s->config->budget.wall_ns;
    s->config->budget.steps = b->steps ? b->steps : s->config->budget.steps;
    s->config->steps = wish->steps ? wish->steps : s->config->steps;
    if (w->author) {
        s->config->authors[AUTHOR_CODE] = w->author;
        run_config_set_whole_files(s->config);
    }
    if (*wish->device)
        s->config->device = wish->device;
    if (*wish->on)
        s->config->on = wish->on;
    if (change_dialect(s->config, w, r.calls, err) < 0)
        return -1;
    s->run = r.id;
    s->run_name = r.name;
    s->prior_wall_ns = r.wall_ns;
    s->was_done = str_eq(r.state, "done");
    s->nodes_before = (size_t)r.nodes;
    return 0;
}

/* Runs `hone bench --resume` with the same options, and returns its exit status. */
static int resume_campaign(const char *name, const struct optimize_run *s,
                           const struct run_config *wish, const char *store, struct arena *mem)
{
    const struct budget *b = &wish->budget;
    const char *argv[24] = {"bench", "--resume", name};
    int n = 3;
    const struct {
        const char *option, *value; /* NULL if the option was not given */
    } given[] = {
        {"--store", store},
        {"--out", s->out_dir},
        {"--device", *wish->device ? wish->device : NULL},
        {"--on", *wish->on ? wish->on : NULL},
        {"--budget-tokens",
         b->tokens ? arena_printf(mem, "%llu", (unsigned long long)b->tokens) : NULL},
        {"--budget-usd", b->usd > 0 ? arena_printf(mem, "%.9g", b->usd) : NULL},
        {"--budget-steps",
         b->steps ? arena_printf(mem, "%llu", (unsigned long long)b->steps) : NULL},
        {"--budget-time",
         b->wall_ns ? arena_printf(mem, "%llums", (unsigned long long)b->wall_ns / 1000000 + 1)
                    : NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(given); i++)
        if (given[i].value) {
            argv[n++] = given[i].option;
            argv[n++] = given[i].value;
        }
    if (s->json)
        argv[n++] = "--json";
    if (s->quiet)
        argv[n++] = "--quiet";
    return cmd_bench.run(n, argv);
}

static int run(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct arena mem = ARENA_INIT;
    struct run_config c;
    struct wishes w = {.config = {.device = "", .on = ""}};
    struct optimize_run s = {.config = &c, .resumed = true};
    const char *store = NULL, *name = NULL;
    uint64_t steps = 0;
    const struct option opts[] = {
        OPT_STR(
            'a', "author", &w.author, "WHO",
            "RUN: another --author from now on, as for `hone optimize`; those of --author-plan,\n"
            "--author-debug, ... stay"),
        OPT_POS_UINT_MOST('n', "steps", &steps, RUN_MAX_STEPS, "N",
                          "RUN: a new --steps for the whole run, the steps so far included"),
        OPT_POS_UINT(
            0, "budget-tokens", &w.config.budget.tokens, "N",
            "a new budget of tokens, those so far included, for the whole run or campaign"),
        OPT_POS_REAL(0, "budget-usd", &w.config.budget.usd, "USD",
                     "a new budget of US dollars, those so far included, for the run or campaign"),
        OPT_POS_TIME(
            0, "budget-time", &w.config.budget.wall_ns, "TIME",
            "RUN: a new budget of wall time in which a process works on it, the time so far\n"
            "included: 2h; CAMPAIGN: wall time of this call"),
        OPT_POS_UINT(0, "budget-steps", &w.config.budget.steps, "N",
                     "a new budget of candidates that are judged, those so far included"),
        OPT_STR(
            0, "device", &w.config.device, "DEV",
            "evaluate on emu, cuda or cuda:N from now on (default: as before). Hone refuses to\n"
            "mix times: a RUN that has times stays on emu, or on its model of GPU"),
        OPT_STR(0, "on", &w.config.on, "PLACE",
                "evaluate there from now on (default: as before): local, local:0,2, local:all,\n"
                "spool:DIR, slurm[:KEY=VALUE,...], as for `hone optimize`"),
        OPT_STR(0, "dialect", &w.dialect, "NAME", "RUN: ask a model for cute or cuda from now on"),
        OPT_STRS(0, "ablate", &w.ablate, "KEY=VALUE",
                 "RUN: dialect=strict or dialect=report: with --dialect cute, reject kernels\n"
                 "without CuTe from now on, or only report them. No other KEY"),
        OPT_STR('o', "out", &s.out_dir, "DIR",
                "from now on the folder of RUN's report, or of CAMPAIGN's tasks (default: as\n"
                "before, else hone-out/RUN or hone-out/CAMPAIGN)"),
        OPT_STR(0, "store", &store, "FILE", CMD_STORE_HELP),
        OPT_FLAG('q', "quiet", &s.quiet, "no progress on stderr"),
        OPT_FLAG(0, "json", &s.json, "print the summary as JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone resume [options] RUN | CAMPAIGN",
        .about =
            "Goes on with a run. Recorded replies and verdicts are used again. A call that\n"
            "was not finished is picked up (mailbox) or made once more. The run keeps the\n"
            "task with which it began; if the task has changed since, Hone says how.\n"
            "`last` is the newest run, or the campaign of `hone bench` to which it belongs. For a\n"
            "campaign, `hone bench --resume` has more options. A RUN keeps each setting that no\n"
            "option changes, also its budgets.",
        .example = "hone resume last\nhone resume softmax-refine-3f2a --budget-usd 5\n"
                   "hone resume last --dialect cuda",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one RUN; `hone runs` lists them");
    w.config.steps = (uint32_t)steps;
    int rc, campaign = 0;
    if (cmd_open_store(&s.store, store, true, &err) < 0 ||
        (campaign = bench_names_campaign(s.store, argv[0], &name, &mem, &err)) < 0)
        rc = cmd_fail(&err);
    else if (campaign && (w.author || steps || w.dialect || w.ablate.n))
        rc = cmd_usage(&spec,
                       "--author, --steps, --dialect and --ablate are for a RUN, and '%s' is a "
                       "campaign",
                       name);
    else if (campaign)
        rc = resume_campaign(name, &s, &w.config, store, &mem);
    else if (carry_on(&s, argv[0], &w, &mem, &err) < 0)
        rc = cmd_fail(&err);
    else
        rc = optimize_run_finish(&s);
    store_close(s.store);
    vec_release(&w.ablate);
    arena_release(&mem);
    return rc;
}

const struct command cmd_resume = {"resume", "go on with a run that was stopped", run};
