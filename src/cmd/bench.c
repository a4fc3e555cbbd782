/*
 * bench.c - `hone bench SUITE|DIR|FILE...`: begins or resumes a campaign, which optimises many
 * tasks, and prints its table. A child process works on each task (bench_work.c).
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/util.h"
#include "campaign/campaign.h"
#include "campaign/known_times.h"
#include "campaign/table.h"
#include "cmd/bench_work.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/optimize_check.h"
#include "cmd/optimize_run.h"
#include "eval/eval.h"
#include "job/torch_variants.h"
#include "sched/sched.h"
#include "sys/file.h"
#include "sys/gpu_probe.h"
#include "sys/interrupt.h"
#include "sys/json.h"
#include "sys/loop.h"
#include "sys/term.h"

enum { MAX_TABLE = 64 << 20 };

struct bench {
    struct campaign_config config;
    struct str_vec operands;
    const char *resume, *store, *out_dir, *known, *work, *pool;
    const char *markdown, *csv, *variants, *against;
    uint64_t budget_time;
    bool json, quiet, import_only, retry, other_gpu, no_baselines, smoke;
    bool more_budget; /* --resume: a budget is larger than before */
    char hone[96];
};

/* ---- the live table -------------------------------------------------------------------------- */

/* The data that the callbacks below share while a campaign runs. */
struct live {
    struct bench *b;
    struct store *store;
    struct progress p;
    uint64_t begun_ns;
    unsigned done;
    struct strbuf names; /* the labels of the running tasks */
    VEC(uint64_t) running;
    struct sched *place; /* workers that all tasks share; NULL = none */
    struct strbuf *stop;
};

static void on_started(void *ctx, const struct entry_rec *e)
{
    struct live *l = ctx;
    *vec_push(&l->running) = e->index;
    strbuf_addf(&l->names, " %.40s", e->label);
}

static void forget_name(struct live *l, const char *label)
{
    char *word = xasprintf(" %.40s", label), *at = strstr(l->names.buf, word);
    if (at) {
        size_t n = strlen(word);
        memmove(at, at + n, l->names.len - (size_t)(at - l->names.buf) - n + 1);
        l->names.len -= n;
    }
    free(word);
}

static void on_ended(void *ctx, const struct entry_rec *e)
{
    struct live *l = ctx;
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct campaign_row row;
    struct strbuf text = STRBUF_INIT(16 << 10);
    l->done++;
    forget_name(l, e->label);
    if (l->b->quiet || l->b->import_only) {
        if (!l->b->quiet)
            progress_say(&l->p, "%s: %s", e->label,
                         str_eq(e->state, "failed") ? e->reason : "imported");
    } else if (campaign_row_load(&row, l->store, e, l->b->hone, &a, &err) == 0) {
        if (l->done == 1) {
            campaign_print_heading(&text);
            progress_say(&l->p, "%.*s", (int)strcspn(text.buf, "\n"), text.buf);
            strbuf_clear(&text);
        }
        campaign_print_row(&row, &text);
        progress_say(&l->p, "%.*s", (int)strcspn(text.buf, "\n"), text.buf);
        vec_release(&row.baselines);
    }
    strbuf_release(&text);
    arena_release(&a);
}

static int on_tick(void *ctx, unsigned running, unsigned waiting)
{
    struct live *l = ctx;
    struct err err = ERR_INIT;
    if (l->place && sched_tend(l->place, &err) < 0) {
        strbuf_adds(l->stop, err.msg);
        return -1;
    }
    if (l->b->quiet)
        return 0;
    progress_show(&l->p, "%.0f s, %u done, %u waiting, %u running:%.100s",
                  (double)(now_ns() - l->begun_ns) / 1e9, l->done, waiting, running, l->names.buf);
    return 0;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Returns the GPU on which candidates run, such as "NVIDIA H200". Returns "" if they run on the
 * emulator or on another machine. */
static const char *gpu_model(const struct campaign_config *c, struct arena *a)
{
    struct gpu_probe g = {.n = 0};
    unsigned at = 0;
    if (str_eq(c->device, "emu") || (*c->on && !str_starts(c->on, "local")))
        return "";
    if (str_starts(c->device, "cuda:"))
        at = (unsigned)strtoul(c->device + 5, NULL, 10);
    return gpu_probe(&g, NULL) == 0 && at < g.n ? arena_strdup(a, g.gpus[at].name) : "";
}

/* Opens the device once, so that a missing GPU or compiler fails here and not in every task.
 * `programs`: some task has a PyTorch program as a baseline. */
static int check_device(const struct campaign_config *c, bool programs, struct err *err)
{
    struct evaluator *e = NULL;
    struct eval_options o = {.device = *c->device ? c->device : NULL,
                             .on = !*c->on || str_eq(c->on, "local") ? NULL : c->on,
                             .gpu = *c->gpu ? c->gpu : "h200",
                             .arch = *c->arch ? c->arch : "sm_90a",
                             .compiler = *c->compiler ? c->compiler : NULL};
    int rc = evaluator_open(&e, &o, err);
    if (rc == 0 && c->torch_variants && !str_eq(evaluator_device(e), "cuda"))
        rc = err_set(err, ERR_USAGE,
                     "--torch-variants needs a GPU: PyTorch does not run on the emulator");
    if (rc == 0 && programs && c->baselines && !c->smoke && !str_eq(evaluator_device(e), "cuda"))
        rc = err_set(err, ERR_USAGE,
                     "a PyTorch program as a baseline (--against FILE.py, against=) needs a GPU: "
                     "PyTorch does not run on the emulator");
    evaluator_close(e);
    return rc;
}

/* Makes a path absolute, because child processes may run in other folders. */
static const char *full_path(const char *operand, struct arena *a)
{
    if (str_starts(operand, SUITE_ASSET) || (!strchr(operand, '/') && !suite_is_python(operand)))
        return operand;
    const char *py = suite_is_python(operand) ? strstr(operand, ".py") : NULL;
    size_t n = py ? (size_t)(py + 3 - operand) : strlen(operand);
    char *file = xstrndup(operand, n), *real = realpath(file, NULL);
    const char *out = real ? arena_printf(a, "%s%s", real, operand + n) : operand;
    free(real);
    free(file);
    return out;
}

/* Makes the folder of --out absolute. It need not exist yet. */
static const char *out_path(const char *out, struct arena *a)
{
    char here[PATH_MAX];
    if (!out || !*out)
        return "";
    return *out == '/' || !getcwd(here, sizeof here) ? arena_strdup(a, out)
                                                     : arena_printf(a, "%s/%s", here, out);
}

/* Returns the beginning of the campaign's name: with a single operand, the last part of its path;
 * otherwise "bench". */
static const char *word_of(const struct bench *b, struct arena *a)
{
    if (b->operands.n != 1)
        return "bench";
    const char *s = b->operands.items[0];
    size_t end = strlen(s);
    while (end > 1 && s[end - 1] == '/')
        end--;
    size_t from = end;
    while (from > 0 && s[from - 1] != '/')
        from--;
    return arena_strndup(a, s + from, end - from);
}

static int check_proposals(uint64_t proposals, const char *strategy, struct err *err)
{
    const struct option_use use = {"--proposals", proposals > 0, "refine"};
    return option_uses_check(&use, 1, strategy, err);
}

/* Checks or chooses the dialect (CuTe or plain CUDA). A built-in author ignores it. */
static int settle_dialect(struct campaign_config *c, struct err *err)
{
    enum dialect d = DIALECT_CUTE;
    if (c->dialect && dialect_from_name(c->dialect, &d, err) < 0)
        return -1;
    bool model = !str_starts(c->author, "playbook") && !str_starts(c->author, "noisy");
    if (model && cmd_settle_dialect(c->dialect != NULL, &d, err) < 0)
        return -1;
    c->dialect = dialect_names[d];
    return 0;
}

static int check_config(struct campaign_config *c, struct err *err)
{
    if (!strategy_find(c->strategy))
        return err_set(err, ERR_USAGE,
                       "there is no strategy '%s'; `hone optimize --help` lists "
                       "them",
                       c->strategy);
    if (settle_dialect(c, err) < 0)
        return -1;
    if (str_starts(c->author, "replay:") || str_starts(c->author, "mailbox:"))
        return err_set(err, ERR_USAGE, "'%s' serves one run at a time, not a campaign", c->author);
    return check_proposals(c->proposals, c->strategy, err);
}

static int set_program(const struct bench *b, struct suite_item_vec *items, struct err *err)
{
    if (items->n != 1)
        return err_set(err, ERR_USAGE,
                       "--against is for a campaign of one task, and this one has %zu: write "
                       "against=FILE.py into the task's line of a suite",
                       items->n);
    items->items[0].against = b->against;
    return 0;
}

static int begin(struct bench *b, struct store **s, struct campaign_rec *out, struct arena *a,
                 struct err *err)
{
    struct suite_item_vec items = VEC_INIT;
    struct known_times known = {.rows = VEC_INIT};
    char number[64];
    int64_t id = 0;
    bool programs = false;
    int rc = check_config(&b->config, err);
    vec_each (const char *, operand, &b->operands)
        rc = rc < 0 ? rc : suite_add(*operand, &items, a, err);
    if (rc == 0 && b->against)
        rc = set_program(b, &items, err);
    vec_each (struct suite_item, i, &items) {
        i->operand = full_path(i->operand, a);
        rc = rc < 0 ? rc : suite_read_program(i, a, err);
        programs |= i->programs.n > 0;
    }
    if (rc == 0 && b->known)
        rc = known_times_read(&known, b->known, err);
    b->config.gpu_model = gpu_model(&b->config, a);
    b->config.out = out_path(b->out_dir, a);
    if (rc == 0 && !b->import_only)
        rc = cmd_check_author(b->config.author, &b->config.budget, err);
    if (rc == 0 && !b->import_only)
        rc = check_device(&b->config, programs, err);
    if (rc == 0)
        rc = cmd_open_store(s, b->store, false, err);
    if (rc == 0)
        rc = campaign_create(*s, word_of(b, a), &items, &known, &b->config, &id, err);
    known_times_release(&known);
    suite_release(&items);
    if (rc < 0)
        return -1;
    snprintf(number, sizeof number, "last");
    return store_campaign_find(*s, number, out, a, err) == 1 && out->id == id
               ? 0
               : err_set(err, ERR_SYSTEM, "the campaign was not stored");
}

/* ---- resuming -------------------------------------------------------------------------------- */

/* Returns whether a limit is larger than before. If there was no limit before, it cannot grow. */
static bool has_grown(const struct budget *was, const struct budget *now)
{
    return (was->tokens && now->tokens > was->tokens) || (was->usd > 0 && now->usd > was->usd) ||
           (was->steps && now->steps > was->steps);
}

/* Returns 1 if a task has a PyTorch program as a baseline, 0 if none has, or -1. */
static int has_programs(struct store *s, int64_t campaign, struct arena *a, struct err *err)
{
    struct entry_rec_vec entries = VEC_INIT;
    int rc = store_entry_list(s, campaign, &entries, a, err);
    for (size_t i = 0; rc == 0 && i < entries.n; i++) {
        struct suite_item item = {.label = ""};
        rc = suite_read_options(entries.items[i].options, &item, a, err);
        rc = rc < 0 ? rc : item.programs.n > 0;
        vec_release(&item.inputs);
        vec_release(&item.sizes);
    }
    vec_release(&entries);
    return rc;
}

/* Finds the campaign and takes over its configuration. Options of this command replace those of the
 * campaign. */
static int resume(struct bench *b, struct store *s, struct campaign_rec *out, struct arena *a,
                  struct err *err)
{
    struct campaign_config was, *now = &b->config;
    int rc = store_campaign_find(s, b->resume, out, a, err);
    if (rc == 0)
        rc = err_set(err, ERR_INPUT, "the store has no campaign '%s'", b->resume);
    if (rc < 0 || campaign_config_read(&was, out->config, a, err) < 0)
        return -1;
    if (check_proposals(now->proposals, was.strategy, err) < 0)
        return -1;
    if (*now->device)
        was.device = now->device;
    if (*now->on)
        was.on = now->on;
    if (b->out_dir)
        was.out = out_path(b->out_dir, a);
    was.proposals = now->proposals ? now->proposals : was.proposals;
    was.jobs = now->jobs ? now->jobs : was.jobs;
    b->more_budget = has_grown(&was.budget, &now->budget);
    was.budget.tokens = now->budget.tokens ? now->budget.tokens : was.budget.tokens;
    was.budget.usd = now->budget.usd > 0 ? now->budget.usd : was.budget.usd;
    was.budget.steps = now->budget.steps ? now->budget.steps : was.budget.steps;
    const char *gpu = gpu_model(&was, a);
    if (*gpu && *was.gpu_model && !str_eq(gpu, was.gpu_model) && !b->other_gpu)
        return err_set(err, ERR_INPUT,
                       "campaign %s began on '%s', and this GPU is '%s': their times cannot be "
                       "compared. --other-gpu goes on all the same",
                       out->name, was.gpu_model, gpu);
    if (!*was.gpu_model)
        was.gpu_model = gpu;
    int programs = has_programs(s, out->id, a, err);
    if (programs < 0)
        return -1;
    if (!b->import_only && (cmd_check_author(was.author, &was.budget, err) < 0 ||
                            check_device(&was, programs, err) < 0))
        return -1;
    *now = was;
    char *text = campaign_config_text(now);
    rc = store_campaign_configure(s, out->id, text, err);
    free(text);
    return rc;
}

/* ---- the result ------------------------------------------------------------------------------ */

static int write_text(const char *path,
                      void (*print)(const struct campaign_table *, struct strbuf *),
                      const struct campaign_table *t, struct err *err)
{
    struct strbuf text = STRBUF_INIT(MAX_TABLE);
    print(t, &text);
    int rc = file_write(path, text.buf, text.len, err);
    strbuf_release(&text);
    return rc;
}

int bench_print(const struct campaign_table *t, const struct bench_output *o, struct err *err)
{
    if ((o->markdown && write_text(o->markdown, campaign_markdown, t, err) < 0) ||
        (o->csv && write_text(o->csv, campaign_csv, t, err) < 0))
        return -1;
    if (o->json) {
        json_t *j = campaign_json(t);
        json_print(stdout, j);
        json_decref(j);
    } else {
        struct strbuf text = STRBUF_INIT(MAX_TABLE);
        campaign_print(t, &text);
        fputs(text.buf, stdout);
        strbuf_release(&text);
    }
    return 0;
}

static bool all_pass(const struct campaign_table *t)
{
    vec_each (struct campaign_row, r, &t->rows)
        if (r->state != ROW_PASS)
            return false;
    return true;
}

static bool all_imported(const struct campaign_table *t)
{
    vec_each (struct campaign_row, r, &t->rows)
        if (r->state == ROW_FAILED)
            return false;
    return true;
}

static int finish(struct bench *b, struct store *s, const char *name, struct err *err)
{
    struct campaign_table t;
    struct bench_output o = {b->markdown, b->csv, b->json};
    if (campaign_table_load(&t, s, name, b->hone, err) < 0)
        return cmd_fail(err);
    int rc = bench_print(&t, &o, err) < 0                         ? cmd_fail(err)
             : interrupted()                                      ? HONE_INTERRUPTED
             : (b->import_only ? all_imported(&t) : all_pass(&t)) ? HONE_OK
                                                                  : HONE_NEGATIVE;
    campaign_table_release(&t);
    return rc;
}

static int carry_out(struct bench *b, struct store *s, const struct campaign_rec *c,
                     struct err *err)
{
    struct live l = {.b = b, .store = s, .begun_ns = now_ns(), .names = STRBUF_INIT(64 << 10)};
    const char *extra[8], *path = cmd_store_path(b->store);
    size_t n = 0;
    char *out = cmd_out_folder(b->config.out, c->name);
    if (*b->config.device) {
        extra[n++] = "--device";
        extra[n++] = b->config.device;
    }
    if (*b->config.on) {
        extra[n++] = "--on";
        extra[n++] = b->config.on;
    }
    extra[n] = NULL;
    struct campaign_run r = {
        .store = s,
        .store_path = path,
        .out_dir = out,
        .campaign = c->id,
        .name = c->name,
        .hone = b->hone,
        .jobs = b->config.jobs,
        .budget = b->config.budget,
        .until_ns = b->budget_time ? l.begun_ns + b->budget_time : 0,
        .import_only = b->import_only,
        .retry = b->retry,
        .more_budget = b->more_budget,
        .extra = extra,
        .watch = {.started = on_started, .ended = on_ended, .tick = on_tick, .ctx = &l},
        .stop = STRBUF_INIT(4096),
    };
    l.stop = &r.stop;
    progress_init(&l.p, stderr);
    if (!b->quiet)
        progress_say(&l.p, "campaign %s: %llu tasks, %llu at a time", c->name,
                     (unsigned long long)c->entries, (unsigned long long)b->config.jobs);
    int rc = b->import_only
                 ? 0
                 : sched_share(&l.place, b->config.on, str_eq(b->config.device, "emu"), err);
    if (rc == 0)
        rc = campaign_run(&r, err);
    progress_end(&l.p);
    sched_close(l.place);
    if (rc == 1)
        fprintf(stderr, "hone: stopped: %s; `hone bench --resume %s` goes on\n", r.stop.buf,
                c->name);
    strbuf_release(&r.stop);
    strbuf_release(&l.names);
    vec_release(&l.running);
    free(out);
    return rc < 0 ? -1 : 0;
}

static int run_campaign(struct bench *b)
{
    struct err err = ERR_INIT;
    struct arena a = ARENA_INIT;
    struct campaign_rec c = {.name = ""};
    struct store *s = NULL;
    int rc = b->resume ? cmd_open_store(&s, b->store, true, &err) : 0;
    if (rc == 0)
        rc = b->resume ? resume(b, s, &c, &a, &err) : begin(b, &s, &c, &a, &err);
    if (rc == 0)
        rc = carry_out(b, s, &c, &err);
    rc = rc < 0 ? cmd_fail(&err) : finish(b, s, c.name, &err);
    store_close(s);
    arena_release(&a);
    return rc;
}

/* Returns 1 if the run belongs to the campaign, 0 if not, or -1 on an error. */
static int has_run(struct store *s, const struct campaign_rec *c, int64_t run, struct arena *a,
                   struct err *err)
{
    struct entry_rec_vec entries = VEC_INIT;
    int rc = store_entry_list(s, c->id, &entries, a, err);
    vec_each (const struct entry_rec, e, &entries)
        if (rc == 0 && e->run == run)
            rc = 1;
    vec_release(&entries);
    return rc;
}

/* Finds the campaign that `last` means. Returns 1 with its name in *name, 0 if `last` means no
 * campaign, or -1 on an error. */
static int last_campaign(struct store *s, const char **name, struct arena *a, struct err *err)
{
    struct campaign_rec_vec campaigns = VEC_INIT;
    struct run_rec_vec runs = VEC_INIT;
    int found = 0;
    int rc = store_campaign_page(s, 0, 100, &campaigns, a, err);
    if (rc == 0 && campaigns.n)
        rc = store_run_page(s, 0, 1, &runs, a, err);
    const struct run_rec *run = runs.n ? &runs.items[0] : NULL;
    vec_each (const struct campaign_rec, c, &campaigns) {
        if (rc < 0 || found)
            break;
        found = !run || run->created_ms < c->created_ms ? 1 : has_run(s, c, run->id, a, err);
        *name = c->name;
    }
    if (rc == 0 && found == 1 && run)
        fprintf(stderr,
                "hone: `last` means the campaign %s. To choose the newest run, give its name: %s\n",
                *name, run->name);
    vec_release(&campaigns);
    vec_release(&runs);
    return rc < 0 ? rc : found;
}

int bench_names_campaign(struct store *s, const char *which, const char **name, struct arena *a,
                         struct err *err)
{
    struct campaign_rec c;
    struct run_rec r;
    if (str_eq(which, "last"))
        return last_campaign(s, name, a, err);
    int rc = store_campaign_find(s, which, &c, a, err);
    if (rc == 1 && !str_eq(c.name, which) && store_run_find(s, which, &r, a, NULL) == 0)
        rc = 0;
    *name = rc == 1 ? c.name : NULL;
    return rc;
}

void bench_version(char *out, size_t n)
{
    snprintf(out, n, "%s%s%s", hone_version, *hone_commit ? " " : "", hone_commit);
}

static int run(int argc, const char **argv)
{
    struct bench b = {.config = {.device = "",
                                 .on = "",
                                 .gpu = "",
                                 .arch = "",
                                 .compiler = "",
                                 .gpu_model = "",
                                 .out = ""}};
    struct campaign_config *c = &b.config;
    struct eval_target target = {0};
    struct err err = ERR_INIT;
    const struct option opts[] = {
        OPT_STR('s', "strategy", &c->strategy, "NAME",
                "refine (default), team, search, sample or reflect"),
        OPT_STR('a', "author", &c->author, "WHO",
                "who writes, as for `hone optimize`, but not mailbox or replay\n"
                "(default: HONE_AUTHOR, else playbook)"),
        OPT_STR(
            0, "dialect", &c->dialect, "NAME",
            "what to ask a model for: cute (default if CuTe's headers are here) or cuda, as for\n"
            "`hone optimize`"),
        OPT_POS_UINT_MOST(
            'n', "steps", &c->steps, RUN_MAX_STEPS, "N",
            "steps of each task, as for `hone optimize` (default 10; team 5, search 30)"),
        OPT_POS_UINT_MOST(
            0, "proposals", &c->proposals, RUN_MAX_PROPOSALS, "N",
            "refine: how many changes Hone asks for at each step, as for `hone optimize`. Hone\n"
            "compares several on the emulator, on a GPU machine too; 1 saves that time"),
        OPT_POS_UINT(0, "seed", &c->seed, "N",
                     "seed of the random choices of each run (default 1)"),
        OPT_POS_UINT_MOST(
            'j', "jobs", &c->jobs, CAMPAIGN_MAX_JOBS, "N",
            "how many tasks at a time (default 1); on one GPU their evaluations take turns"),
        OPT_FLAG(
            0, "smoke", &b.smoke,
            "check the small smoke shapes only, without times; a task ends at its first right\n"
            "kernel"),
        OPT_STR(
            0, "resume", &b.resume, "CAMPAIGN",
            "go on with a campaign: its name, or `last`. You may change --jobs, --device, --on,\n"
            "--out and the budgets. A new budget includes what the campaign has spent\n"
            "before (not the time);\n"
            "if it is larger, tasks that used up their share go on too. A new --proposals\n"
            "counts for tasks that have not begun. The campaign keeps its strategy, author,\n"
            "steps and seed; Hone refuses these options here"),
        OPT_FLAG(
            0, "retry", &b.retry,
            "--resume: also try again the tasks in the state `failed`, which Hone could not\n"
            "import or run. Tasks in the state `no pass` ran, but no kernel passed: they stay"),
        OPT_FLAG(0, "import-only", &b.import_only,
                 "make the tasks and stop. A machine without PyTorch can go on: copy the file of\n"
                 "--store there, then `hone bench --resume last`"),
        OPT_FLAG(0, "other-gpu", &b.other_gpu, "--resume: go on although the GPU is another model"),
        OPT_STR(0, "known-times", &b.known, "FILE.tsv",
                "PyTorch's times of KernelBench problems, measured before, in us. Tabs separate\n"
                "the columns: level, number, name, eager, and optionally compile and cudnn_bench.\n"
                "The first three of level1/19_ReLU.py are 1, 19, ReLU; for a file that lies in no\n"
                "folder levelN, the level does not count. Hone takes the smallest time of each\n"
                "task: --csv and --json show it as known_torch_ns. If Hone could not\n"
                "time PyTorch itself, a note shows the ratio to this time"),
        OPT_GROUP("Budgets of the whole campaign (default: none); a task that begins gets an equal "
                  "share of the rest, but of time"),
        OPT_POS_UINT(0, "budget-tokens", &c->budget.tokens, "N",
                     "tokens of prompts and replies together; openai: and anthropic: never\n"
                     "exceed them, the last call of each task with another author may"),
        OPT_POS_REAL(
            0, "budget-usd", &c->budget.usd, "USD",
            "US dollars that openai: and anthropic: cost, as for `hone optimize`; tasks side\n"
            "by side do not overdraw them"),
        OPT_POS_UINT(0, "budget-steps", &c->budget.steps, "N",
                     "candidates that are judged, failed ones too; not overdrawn either"),
        OPT_POS_TIME(0, "budget-time", &b.budget_time, "TIME",
                     "wall time of this command, for all tasks together: 9m. Then Hone stops all\n"
                     "tasks; --resume goes on, and its time counts from 0"),
        OPT_GROUP("Where candidates are evaluated"),
        OPT_STR(0, "device", &c->device, "DEV", CMD_DEVICE_HELP),
        OPT_STR(0, "on", &c->on, "PLACE", CMD_ON_HELP),
        OPT_STR(0, "gpu", &c->gpu, "NAME", CMD_GPU_HELP),
        OPT_STR(0, "arch", &c->arch, "ARCH", CMD_ARCH_HELP),
        OPT_STR(0, "compiler", &c->compiler, "NAME", CMD_COMPILER_HELP),
        OPT_FLAG(0, "skip-baselines", &b.no_baselines,
                 "time no baselines: neither the tasks' own nor PyTorch"),
        OPT_STR(0, "torch-variants", &b.variants, "LIST", CMD_VARIANTS_HELP),
        OPT_STR(
            0, "against", &b.against, "FILE.py",
            "on a GPU, for a single task: also time this PyTorch program with a function\n"
            "run(), which may call Triton, CuTe DSL or CUDA, as a further baseline. In a suite,\n"
            "write against=FILE.py into the task's line"),
        OPT_GROUP("Output"),
        OPT_STR('o', "out", &b.out_dir, "DIR",
                "the folder for the results; each task gets a folder in it (default:\n"
                "hone-out/CAMPAIGN; --resume: as before)"),
        OPT_STR(0, "store", &b.store, "FILE", CMD_STORE_HELP),
        OPT_STR(0, "markdown", &b.markdown, "FILE", "also write the table as Markdown"),
        OPT_STR(0, "csv", &b.csv, "FILE", "also write the table as CSV"),
        OPT_FLAG(0, "json", &b.json, "print the table as JSON, in place of text"),
        OPT_FLAG('q', "quiet", &b.quiet, "no progress on stderr"),
        OPT_GROUP("For Hone itself"),
        OPT_STR(0, "work", &b.work, "CAMPAIGN:N",
                "work on one task of a campaign; a campaign starts this"),
        OPT_STR(0, "budget-pool", &b.pool, "FILE",
                "--work: what the tasks of the campaign have spent and reserved"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone bench [options] (SUITE | DIR | FILE | TASK)...\n"
                 "hone bench [options] --resume CAMPAIGN",
        .about =
            "Optimises many tasks side by side and prints one table: each task's best\n"
            "kernel, how many times as fast it is as the fastest PyTorch baseline (with a\n"
            "95% interval), and the geometric means. Failures stay in the table and count as\n"
            "1.00x.\n"
            "\n"
            "SUITE is a built-in suite (astra3, blocks, classics, cutegen19, cutegen_v1) or a\n"
            "file with one task in each line. DIR holds PyTorch files or task folders; Hone\n"
            "ignores every other folder in DIR. FILE is a PyTorch file, FILE.py[:NAME]. Hone\n"
            "imports PyTorch files first. You may give several suites, folders, files and\n"
            "tasks. Hone times PyTorch once for each task, in one evaluation with the task's\n"
            "best kernel.\n"
            "The runs neither use nor leave lessons (`hone memory`). docs/bench.md has the\n"
            "details.\n"
            "\n"
            "Exit status: 0 if every task passes, 1 if one does not or is not done yet.",
        .example = "hone bench softmax layernorm --device emu --steps 1 --jobs 2\n"
                   "hone bench cutegen19 --budget-time 9m --markdown table.md\n"
                   "hone bench KernelBench/level1 --known-times times.tsv --jobs 4\n"
                   "hone bench classics --torch-variants all --csv table.csv\n"
                   "hone bench --resume last",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    bench_version(b.hone, sizeof b.hone);
    for (int i = 0; i < argc; i++)
        *vec_push(&b.operands) = argv[i];
    int rc = HONE_OK;
    if (b.work && (argc || b.resume)) {
        rc = cmd_usage(&spec, "--work takes no operand and no --resume");
    } else if (b.work) {
        struct bench_work w = {.which = b.work,
                               .store = b.store,
                               .out_dir = b.out_dir,
                               .hone = b.hone,
                               .device = c->device,
                               .on = c->on,
                               .budget = c->budget,
                               .pool = b.pool,
                               .import_only = b.import_only};
        rc = bench_work(&w);
    } else if (b.resume ? argc > 0 : argc == 0) {
        rc = cmd_usage(&spec, "give a SUITE, DIR, FILE or TASK, or --resume CAMPAIGN");
    } else if (b.resume && (c->steps || c->author || b.smoke || b.no_baselines || *c->gpu ||
                            *c->arch || *c->compiler || c->seed || b.known || b.variants ||
                            b.against || c->strategy || c->dialect)) {
        rc = cmd_usage(&spec, "a campaign keeps its strategy, author, dialect, steps, --seed, "
                              "--smoke, --skip-baselines, --torch-variants, --against, "
                              "--known-times, --gpu, --arch and "
                              "--compiler: leave them out");
    } else if ((b.retry || b.other_gpu) && !b.resume) {
        rc = cmd_usage(&spec, "--retry and --other-gpu need --resume");
    } else if (b.variants && (b.smoke || b.no_baselines)) {
        rc = cmd_usage(&spec, "--torch-variants times PyTorch, and --%s does not",
                       b.smoke ? "smoke" : "skip-baselines");
    } else if (b.against && (b.smoke || b.no_baselines)) {
        rc = cmd_usage(&spec, "--against times a baseline, and --%s times none",
                       b.smoke ? "smoke" : "skip-baselines");
    } else if (b.against && !contender_is_program(b.against)) {
        rc = cmd_usage(&spec, "--against takes a PyTorch program, FILE.py");
    } else if (b.variants && torch_variants_parse(b.variants, &c->torch_variants, &err) < 0) {
        rc = cmd_usage(&spec, "--torch-variants: %s", err.msg);
    } else {
        const char *env = getenv("HONE_AUTHOR");
        if (!c->author)
            c->author = env && *env ? env : "playbook";
        c->strategy = c->strategy ? c->strategy : "refine";
        c->smoke = b.smoke;
        c->baselines = !b.no_baselines;
        if (!b.resume && !c->jobs)
            c->jobs = 1;
        struct eval_options o = {.device = *c->device ? c->device : NULL,
                                 .on = !*c->on || str_eq(c->on, "local") ? NULL : c->on,
                                 .gpu = *c->gpu ? c->gpu : NULL};
        if (!b.resume && evaluator_target(&o, &target, NULL) == 0) {
            c->arch = *c->arch ? c->arch : target.arch;
            c->gpu = *c->gpu ? c->gpu : target.gpu;
        }
        rc = run_campaign(&b);
    }
    vec_release(&b.operands);
    return rc;
}

const struct command cmd_bench = {"bench", "optimise many tasks; one table", run};
