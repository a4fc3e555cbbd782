/*
 * run.c - does the runs of a study (study.h), in several processes. In phase 0 the built-in author
 * works on every task and its sibling tasks, and leaves lessons (memory/memory.h). In phase 1 every
 * arm works on every task with every seed. Arms with memory use the lessons.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/log.h"
#include "base/util.h"
#include "memory/memory.h"
#include "study/kept_judge.h"
#include "study/study.h"
#include "sys/file.h"
#include "sys/interrupt.h"
#include "sys/json.h"
#include "sys/pool.h"

#define STREAM_SIBLINGS 7401 /* see base/rng.h */

const struct study_arm study_arms[] = {
    {"refine", .strategy = "refine"},
    {"refine, with memory", "refine", .memory = true},
    {"refine, no restore", "refine", .ablate = "restore=off"},
    {"refine, profile always", "refine", .ablate = "profile=always", .words = true},
    {"refine, profile never", "refine", .ablate = "profile=never", .words = true},
    {"refine, no class prompts", "refine", .ablate = "class-prompts=off", .words = true},
    {"refine, no repairs", "refine", .option = "repairs=0"},
    {"refine, 1 repair", "refine", .option = "repairs=1"},
    {"refine, 1 try", "refine", .option = "tries=1"},
    {"refine, 1000 steps", "refine", .option = "steps=1000"},
    {"team", .strategy = "team"},
    {"team, with memory", "team", .memory = true},
    {"search", .strategy = "search"},
    {"search, with memory", "search", .memory = true},
    {"search, no anchors", "search", .ablate = "anchors=off"},
    {"search, flat context", "search", .ablate = "context=flat"},
    {"search, greedy", "search", .ablate = "select=greedy"},
    {"search, waves of 4", "search", .option = "wave=4"},
    {"sample", .strategy = "sample"},
    {"reflect", .strategy = "reflect"},
    {"playbook", "refine", .author = "playbook"},
    {"playbook, with memory", "refine", .memory = true, .author = "playbook"},
    {.name = NULL},
};

bool study_has_arm(const struct study *s, const struct study_arm *arm)
{
    size_t n = strlen(arm->name);
    for (const char *p = s->only; p && *p;) {
        size_t k = strcspn(p, ";");
        if (k == n && memcmp(p, arm->name, n) == 0)
            return true;
        p += k + (p[k] == ';');
    }
    return !s->only;
}

int study_set_option(struct run_config *c, const char *option, struct err *err)
{
    char *end;
    size_t n = strcspn(option, "=");
    unsigned long v = option[n] ? strtoul(option + n + 1, &end, 10) : 0;
    if (!option[n] || end == option + n + 1 || *end || v > RUN_MAX_TRIES)
        return err_set(err, ERR_INTERNAL, "'%s' is not an option with a number", option);
    if (str_starts(option, "repairs="))
        c->repairs = (int32_t)v;
    else if (str_starts(option, "tries="))
        c->tries = (uint32_t)v;
    else if (str_starts(option, "wave="))
        c->wave = (uint32_t)v;
    else if (str_starts(option, "steps="))
        c->steps = (uint32_t)v;
    else
        return err_set(err, ERR_INTERNAL, "a study cannot set '%s'", option);
    return 0;
}

uint32_t study_seeds(const struct study *s, const struct study_arm *arm)
{
    if (!study_has_arm(s, arm))
        return 0;
    return arm->author && !arm->memory ? 1 : s->seeds;
}

/* ---- one run --------------------------------------------------------------------------------- */

struct worker {
    const struct study *s;
    struct evaluator *e;
    struct judge *judge;
    struct temp_dir dir;
    uint32_t runs; /* for the names of stores */
};

static void take_curve(const struct agent *a, uint32_t budget, struct study_row *row)
{
    double best = 0;
    row->n = 0;
    vec_each (struct node *, n, &a->nodes) {
        double t = node_passes(*n) ? (*n)->verdict.time_ns : 0;
        best = t > 0 && (best <= 0 || t < best) ? t : best;
        if (row->n < budget)
            row->best_ns[row->n++] = best;
    }
    while (row->n < budget) {
        row->best_ns[row->n] = best;
        row->n++;
    }
}

static int open_run(struct worker *w, const struct task *t, const struct run_config *c,
                    struct store *store, struct author *author, struct study_row *row,
                    struct err *err)
{
    struct agent *a = NULL;
    int64_t run = 0;
    char *config = run_config_text(c, err);
    int rc = config
                 ? store_run_create(store, t->name, c->strategy, config, c->authors[0], &run, err)
                 : -1;
    free(config);
    const struct agent_setup in = {.store = store,
                                   .run = run,
                                   .run_name = t->name,
                                   .task = t,
                                   .config = c,
                                   .authors = {[AUTHOR_CODE] = author},
                                   .judge = w->judge};
    if (rc == 0)
        rc = agent_open(&a, &in, err);
    if (rc == 0)
        rc = agent_run(a, err) < 0 ? -1 : 0;
    if (rc == 0 && (a->failed || interrupted()))
        rc = err_set(err, ERR_ENV, "%s", interrupted() ? "interrupted" : a->stop.buf);
    if (rc == 0 && row)
        take_curve(a, w->s->budget, row);
    agent_close(a);
    return rc;
}

static int add_lessons(struct store *store, const char *path, struct err *err)
{
    json_t *j = json_read_file(path, NULL, err);
    const json_t *list = json_object_get(j, "lessons");
    int rc = j ? store_begin(store, err) : -1;
    bool begun = rc == 0;
    for (size_t i = 0; i < json_array_size(list) && rc == 0; i++) {
        struct lesson_rec l;
        rc = lesson_from_json(&l, json_array_get(list, i), err);
        l.imported = false;
        if (rc == 0)
            rc = store_lesson_put(store, &l, err);
    }
    if (begun)
        rc = store_end(store, rc == 0, err);
    json_decref(j);
    return rc;
}

static char *lessons_path(const struct study *s, const char *task)
{
    return xasprintf("%s/lessons/%u/%s.json", s->dir, s->budget, task);
}

/* Adds the lessons of about three quarters of the sibling tasks, chosen by the seed, to the store.
 * Returns the text that memory_recall() makes of them, or NULL on an error. */
static char *recall_siblings(struct worker *w, const struct task *t, uint32_t seed,
                             struct store *store, struct err *err)
{
    struct rng r = rng_seeded(seed, STREAM_SIBLINGS);
    struct study_sibling_vec all = VEC_INIT;
    int rc = 0;
    study_siblings(w->s, t, &all);
    uint64_t sure = all.n ? rng_below(&r, all.n) : 0;
    for (size_t i = 0; i < all.n && rc == 0; i++) {
        char *path = lessons_path(w->s, all.items[i]->name);
        if ((rng_below(&r, 4) || i == sure) && file_exists(path))
            rc = add_lessons(store, path, err);
        free(path);
    }
    vec_release(&all);
    return rc == 0 ? memory_recall(store, t, "h200", false, NULL, err) : NULL;
}

/* Does one run of an arm on a task. If `stop_ns` is not 0, the run ends as soon as a kernel takes
 * at most this time. Exports the lessons of the run to `lessons`, unless that is NULL. */
static int one_run(struct worker *w, const struct study_arm *arm, const struct task *t,
                   uint32_t seed, double stop_ns, struct study_row *row, FILE *lessons,
                   struct err *err)
{
    const char *spec = arm->author ? arm->author : w->s->author;
    struct run_config c;
    struct author *author = NULL;
    struct store *store = NULL;
    char *path = xasprintf("%s/%u.db", w->dir.path, w->runs++), *memory = NULL;
    run_config_init(&c);
    c.strategy = arm->strategy;
    c.task = t->name;
    c.dialect = DIALECT_CUDA;
    c.device = "emu";
    c.baselines = false;
    c.authors[AUTHOR_CODE] = spec;
    c.seed = seed;
    c.steps = w->s->budget; /* refine divides its steps into stages */
    c.stop_pct = 0;
    c.stop_ns = stop_ns;
    c.budget.steps = w->s->budget;
    c.use_memory = lessons != NULL;
    if (str_eq(arm->strategy, "team"))
        c.profile = PROFILE_ALWAYS;
    int rc = arm->ablate ? run_config_ablate(&c, arm->ablate, err) : 0;
    if (rc == 0 && arm->option)
        rc = study_set_option(&c, arm->option, err);
    run_config_settle(&c, t);
    if (rc == 0)
        rc = store_open(&store, path, err);
    if (rc == 0)
        rc = author_open(&author, spec, NULL, err);
    if (rc == 0 && arm->memory) {
        memory = recall_siblings(w, t, seed, store, err);
        rc = memory ? 0 : -1;
        c.memory = memory ? memory : "";
    }
    if (rc == 0)
        rc = open_run(w, t, &c, store, author, row, err);
    if (rc == 0 && lessons)
        rc = memory_export(store, lessons, err);
    author_close(author);
    store_close(store);
    unlink(path);
    free(path);
    free(memory);
    return rc < 0 ? err_prefix(err, "%s on %s, seed %u", arm->name, t->name, seed) : 0;
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* Appends the row to study.tsv in a single write, because other processes append rows too. */
static int write_row(const struct study *s, const struct study_arm *arm, const struct task *t,
                     const struct study_row *row, struct err *err)
{
    struct strbuf line = STRBUF_INIT(4096);
    char *path = xasprintf("%s/study.tsv", s->dir);
    strbuf_addf(&line, "%s\t%s\t%u\t", arm->name, row->task, row->seed);
    study_setup(s, arm, t, &line);
    strbuf_addc(&line, '\t');
    for (uint32_t i = 0; i < row->n; i++)
        strbuf_addf(&line, "%s%.1f", i ? "," : "", row->best_ns[i]);
    strbuf_addc(&line, '\n');
    FILE *f = fopen(path, "a");
    int rc = f && fwrite(line.buf, 1, line.len, f) == line.len ? 0 : -1;
    if (f && fclose(f) != 0)
        rc = -1;
    if (rc < 0)
        err_errno(err, "cannot write '%s'", path);
    free(path);
    strbuf_release(&line);
    return rc;
}

static bool has_row(const struct study_row_vec *rows, const char *arm, const char *task,
                    uint32_t seed)
{
    vec_each (struct study_row, r, rows)
        if (r->seed == seed && str_eq(r->arm, arm) && str_eq(r->task, task))
            return true;
    return false;
}

static const struct study_arm *arm_named(const char *name)
{
    const struct study_arm *arm = study_arms;
    while (!str_eq(arm->name, name))
        arm++;
    return arm;
}

static int keep_lessons(struct worker *w, const struct task *t, const char *path,
                        struct study_row *row, struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    int rc = one_run(w, arm_named("playbook"), t, 1, 0, row, f, err);
    fclose(f);
    if (rc == 0 && row->best_ns[row->n - 1] <= 0)
        rc = err_set(
            err, ERR_ENV,
            "no kernel of the built-in author passes on '%s': `hone optimize %s` shows why; if "
            "a tool was missing, install it and remove '%s/verdicts'",
            t->name, t->name, w->s->dir);
    if (rc == 0)
        rc = file_write(path, text, n, err);
    free(text);
    return rc;
}

/* Runs the built-in author on t and keeps the lessons, unless there is a file with them. If t is
 * not a sibling task, the run is also the task's run of the arm `playbook`, so we write its row. */
static int learn_from(struct worker *w, const struct task *t, bool sibling,
                      const struct study_row_vec *rows, struct err *err)
{
    const struct study_arm *arm = arm_named("playbook");
    char *path = lessons_path(w->s, t->name);
    struct study_row row = {.arm = arm->name, .task = t->name, .seed = 1};
    int rc = 0;
    if (!file_exists(path)) {
        rc = keep_lessons(w, t, path, &row, err);
        if (rc == 0 && !sibling && !has_row(rows, arm->name, t->name, 1))
            rc = write_row(w->s, arm, t, &row, err);
    }
    free(path);
    return rc;
}

static int learn(struct worker *w, const struct study_task *t, const struct study_row_vec *rows,
                 struct err *err)
{
    int rc = learn_from(w, t->task, false, rows, err);
    for (int k = 0; k < STUDY_SIBLINGS && rc == 0; k++)
        rc = t->sibling[k] ? learn_from(w, t->sibling[k], true, rows, err) : 0;
    return rc;
}

/* Returns the time that a kernel must reach so that the run may stop, or 0. Only the built-in
 * author with memory has such a goal: 0.5% above its best time without memory. */
static double goal_of(const struct study_arm *arm, const char *task,
                      const struct study_row_vec *rows)
{
    vec_each (struct study_row, r, rows)
        if (arm->author && arm->memory && str_eq(r->arm, "playbook") && str_eq(r->task, task))
            return r->best_ns[r->n - 1] * STUDY_REACHED;
    return 0;
}

static int compare(struct worker *w, const struct study_task *t, uint32_t seed,
                   const struct study_row_vec *rows, struct err *err)
{
    int rc = 0;
    for (const struct study_arm *arm = study_arms; arm->name && rc == 0; arm++) {
        struct study_row row = {.arm = arm->name, .task = t->name, .seed = seed};
        if (seed > study_seeds(w->s, arm) || has_row(rows, arm->name, t->name, seed))
            continue;
        rc = one_run(w, arm, t->task, seed, goal_of(arm, t->name, rows), &row, NULL, err);
        if (rc == 0)
            rc = write_row(w->s, arm, t->task, &row, err);
    }
    return rc;
}

/* Removes a half-written last row, which a killed study may have left. */
static int drop_half_row(const struct study *s, struct err *err)
{
    char *path = xasprintf("%s/study.tsv", s->dir);
    struct strbuf text = STRBUF_INIT(64u << 20);
    int rc = file_exists(path) ? file_read(path, 64u << 20, &text, err) : 0;
    size_t whole = text.len;
    while (whole && text.buf[whole - 1] != '\n')
        whole--;
    if (rc == 0 && whole < text.len && truncate(path, (off_t)whole) < 0)
        rc = err_errno(err, "cannot shorten '%s'", path);
    strbuf_release(&text);
    free(path);
    return rc;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* A piece is a task in phase 0, and a task with a seed in phase 1. Seeds come one after the other,
 * so that a stopped study has complete seeds. */
static uint32_t pieces_of(const struct study *s, int phase)
{
    return (uint32_t)s->tasks.n * (phase ? s->seeds : 1);
}

static int do_piece(struct worker *w, int phase, uint32_t i, const struct study_row_vec *rows,
                    struct err *err)
{
    const struct study_task *t = &w->s->tasks.items[i % w->s->tasks.n];
    uint32_t seed = i / (uint32_t)w->s->tasks.n + 1;
    int rc = phase == 0 ? learn(w, t, rows, err) : compare(w, t, seed, rows, err);
    if (phase == 0)
        fprintf(stderr, "hone: study: %s: %s\n", rc == 0 ? "learnt from" : "stopped at", t->name);
    else if (rc < 0 || i % w->s->tasks.n == 0)
        fprintf(stderr, "hone: study: %s seed %u (%s)\n", rc == 0 ? "compared with" : "stopped at",
                seed, t->name);
    return rc;
}

struct phase {
    const struct study *s;
    int number;
    const struct study_row_vec *rows;
};

/* Does pieces of a phase, in a child process, until none is left. */
static int work(struct pool_turn *turn, void *ctx)
{
    const struct phase *p = ctx;
    struct err err = ERR_INIT;
    struct worker w = {.s = p->s, .dir = TEMP_DIR_INIT};
    char *verdicts = xasprintf("%s/verdicts", p->s->dir);
    if (access("/dev/shm", W_OK) == 0)
        /* Stores make many small synced writes, which are fast in memory. */
        setenv("TMPDIR", "/dev/shm", 0);
    int rc = temp_dir_make(&w.dir, &err);
    if (rc == 0)
        rc = evaluator_open(&w.e, &(struct eval_options){.device = "emu"}, &err);
    if (rc == 0) {
        w.judge = judge_kept(verdicts, w.e);
        for (uint32_t i; rc == 0 && pool_next(turn, &i);)
            rc = do_piece(&w, p->number, i, p->rows, &err);
        judge_close(w.judge);
        evaluator_close(w.e);
    }
    temp_dir_release(&w.dir);
    free(verdicts);
    if (rc < 0)
        fprintf(stderr, "hone: %s\n", err.msg);
    return rc < 0 ? 1 : 0;
}

static int run_phase(const struct study *s, int phase, const struct study_row_vec *rows,
                     struct err *err)
{
    struct phase p = {.s = s, .number = phase, .rows = rows};
    struct pool pool = {.jobs = s->jobs, .pieces = pieces_of(s, phase), .work = work, .ctx = &p};
    if (pool_run(&pool, NULL) < 0 || interrupted())
        return err_set(err, ERR_ENV, "the study is not complete: start it again to go on");
    return 0;
}

int study_run(struct study *s, struct err *err)
{
    char *verdicts = xasprintf("%s/verdicts", s->dir),
         *lessons = xasprintf("%s/lessons/%u", s->dir, s->budget);
    int rc = dir_make(verdicts, err);
    if (rc == 0)
        rc = dir_make(lessons, err);
    if (rc == 0)
        rc = drop_half_row(s, err);
    fflush(stdout);
    for (int phase = 0; phase < 2 && rc == 0; phase++) {
        struct arena mem = ARENA_INIT;
        struct study_row_vec rows = VEC_INIT;
        rc = study_read_rows(s, &rows, &mem, err);
        if (rc == 0)
            rc = run_phase(s, phase, &rows, err);
        vec_release(&rows);
        arena_release(&mem);
    }
    free(verdicts);
    free(lessons);
    return rc;
}
