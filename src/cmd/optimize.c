/*
 * optimize.c - `hone optimize TASK`: configures a run and begins it. optimize_run.c carries it out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "author/replay.h"
#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/eval_command.h"
#include "cmd/import_command.h"
#include "cmd/optimize_check.h"
#include "cmd/optimize_run.h"
#include "sys/file.h"
#include "sys/json.h"

enum { MAX_SOURCE = 4 << 20 };

struct wishes {
    const char *strategy, *dialect, *from, *store, *gpu, *arch;
    const char *author[AUTHOR_ROLES];
    struct str_vec ablate;       /* KEY=VALUE */
    struct import_wishes import; /* for FILE.py instead of a task */
    bool rejudge, no_baselines, smoke, torch_at_end;
    /* 0 = not given; for `repairs`, UINT64_MAX = not given */
    uint64_t steps, repairs, tries, wave, seed, proposals, moves;
};

static int choose(const struct wishes *w, struct run_config *c, struct err *err)
{
    if (dialect_from_name(w->dialect ? w->dialect : "cute", &c->dialect, err) < 0)
        return -1;
    if (!strategy_find(w->strategy)) {
        struct strbuf list = STRBUF_INIT(512);
        const char *names[32];
        size_t n = 0;
        for (size_t i = 0; strategy_table[i] && n < ARRAY_LEN(names); i++)
            names[n++] = strategy_table[i]->name;
        for (size_t i = 0; strategy_table[i]; i++)
            strbuf_addf(&list, "\n  %-8s %s", strategy_table[i]->name, strategy_table[i]->about);
        const char *near = suggest_word(w->strategy, names, n);
        err_set(err, ERR_USAGE, "there is no strategy '%s'%s%s%s; there are:%s", w->strategy,
                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", list.buf);
        strbuf_release(&list);
        return -1;
    }
    c->strategy = w->strategy;
    if (str_eq(w->strategy, "team")) /* as in Astra (docs/strategies.md), the profiler measures
                                      * from the first round on */
        c->profile = PROFILE_ALWAYS;
    c->baselines = !w->no_baselines;
    c->smoke = w->smoke;
    c->torch_at_end = w->torch_at_end;
    c->proposals = (uint32_t)w->proposals;
    c->moves = (uint32_t)w->moves;
    c->steps = (uint32_t)w->steps;
    c->repairs = w->repairs == UINT64_MAX ? -1 : (int32_t)w->repairs;
    c->tries = (uint32_t)w->tries;
    c->wave = (uint32_t)w->wave;
    c->seed = w->seed;
    for (size_t i = 0; i < w->ablate.n; i++)
        if (run_config_ablate(c, w->ablate.items[i], err) < 0)
            return -1;
    return 0;
}

/* --author replay:FILE repeats a recorded run. Refuses options whose values the recording gives. */
static int check_replay(const struct wishes *w, const struct budget *b, struct err *err)
{
    const struct {
        const char *option;
        bool given;
    } recorded[] = {
        {"strategy", w->strategy},
        {"author-plan", w->author[AUTHOR_PLAN]},
        {"author-debug", w->author[AUTHOR_DEBUG]},
        {"author-test", w->author[AUTHOR_TEST]},
        {"author-profile", w->author[AUTHOR_PROFILE]},
        {"author-port", w->author[AUTHOR_PORT]},
        {"from", w->from},
        {"dialect", w->dialect},
        {"steps", w->steps},
        {"repairs", w->repairs != UINT64_MAX},
        {"tries", w->tries},
        {"wave", w->wave},
        {"proposals", w->proposals},
        {"moves", w->moves},
        {"seed", w->seed},
        {"budget-tokens", b->tokens},
        {"budget-usd", b->usd > 0},
        {"budget-time", b->wall_ns},
        {"budget-steps", b->steps},
        {"gpu", w->gpu},
        {"arch", w->arch},
        {"skip-baselines", w->no_baselines},
        {"smoke", w->smoke},
        {"torch-at-end", w->torch_at_end},
        {"ablate", w->ablate.n},
    };
    for (size_t i = 0; i < ARRAY_LEN(recorded); i++)
        if (recorded[i].given)
            return err_set(err, ERR_USAGE,
                           "--%s has no effect with --author replay:FILE, because the run goes as "
                           "it was recorded: leave it out",
                           recorded[i].option);
    return 0;
}

/* Refuses options that would have no effect. */
static int check_use(const struct wishes *w, struct err *err)
{
    bool replay = str_starts(w->author[AUTHOR_CODE], "replay:"), from = w->from != NULL;
    const struct option_use uses[] = {
        {"--author-plan", w->author[AUTHOR_PLAN], "search and team"},
        {"--author-debug", w->author[AUTHOR_DEBUG], "refine, search and team"},
        {"--author-test", w->author[AUTHOR_TEST], "team"},
        {"--author-profile", w->author[AUTHOR_PROFILE], "team"},
        /* With --from, search too may have to port the file, and to repair the port. */
        {"--repairs", w->repairs != UINT64_MAX,
         from ? "refine, search and team" : "refine and team"},
        {"--tries", w->tries, from ? "refine, search and team" : "refine and search"},
        {"--wave", w->wave, "search and sample"},
        {"--proposals", w->proposals, "refine"},
        {"--moves", w->moves, "refine"},
    };
    if (w->moves > 1 && w->proposals > 1)
        return err_set(
            err, ERR_USAGE,
            "--moves has all changes evaluated, --proposals only one of them: give one of "
            "the two");
    if (w->rejudge && !replay)
        return err_set(err, ERR_USAGE, "--rejudge is for --author replay:FILE");
    if (replay)
        return 0;
    if (w->author[AUTHOR_PORT] && !from)
        return err_set(err, ERR_USAGE,
                       "--author-port is for the file of --from, and none is given");
    for (size_t i = 0; i < w->ablate.n; i++)
        if (ablation_check(w->ablate.items[i], w->strategy, err) < 0)
            return -1;
    return option_uses_check(uses, ARRAY_LEN(uses), w->strategy, err);
}

/* Takes the configuration from the recording, so that the replay is the same run. */
static int config_of_recording(struct run_config *c, const char *spec, const char *task,
                               bool rejudge, struct arena *mem, struct err *err)
{
    struct replay *r;
    struct run_config given = *c;
    if (replay_load(&r, spec + strlen("replay:"), err) < 0)
        return -1;
    int rc = run_config_from_json(c, json_object_get(replay_run(r), "config"), mem, err);
    replay_free(r);
    if (rc < 0)
        return -1;
    for (int i = 0; i < AUTHOR_ROLES; i++)
        c->authors[i] = NULL;
    c->authors[AUTHOR_CODE] = spec;
    c->budget = (struct budget){0};
    c->rejudge = rejudge;
    c->out = given.out;
    c->device = given.device;
    c->on = given.on;
    c->compiler = given.compiler;
    if (task)
        c->task = task;
    return 0;
}

/* If the operand is FILE.py, imports it and returns the folder of the task. Otherwise returns the
 * operand, a task's name or folder. Returns NULL on an error. */
static const char *task_of_operand(const struct optimize_run *s, const struct wishes *w,
                                   const char *operand, struct arena *mem, struct err *err)
{
    const struct import_wishes *in = &w->import;
    if (!cmd_is_python(operand)) {
        if (!in->inputs.n && !in->sizes.n && !in->precision && !in->recorded)
            return operand;
        err_set(err, ERR_USAGE,
                "--input, --size, --precision and --trace are for FILE.py, and '%s' is a task",
                operand);
        return NULL;
    }
    char *dir = cmd_import_for_run(operand, in, cmd_store_path(w->store), s->quiet, err);
    const char *task = dir ? arena_strdup(mem, dir) : NULL;
    free(dir);
    return task;
}

/* True if all authors are built in. Without --dialect, such a run asks for plain CUDA, because the
 * kernels that these authors write from a graph are plain CUDA. */
static bool only_built_in(const struct run_config *c)
{
    for (int i = 0; i < AUTHOR_ROLES; i++)
        if (c->authors[i] && !str_starts(c->authors[i], "playbook") &&
            !str_starts(c->authors[i], "noisy"))
            return false;
    return true;
}

/* Sets the architecture and the GPU: the user's, or else those of the device. */
static int choose_target(const struct wishes *w, struct run_config *c, struct arena *mem,
                         struct err *err)
{
    struct eval_target *t = arena_alloc(mem, sizeof *t);
    struct eval_options o = {.device = *c->device ? c->device : NULL,
                             .on = str_eq(c->on, "local") ? NULL : c->on,
                             .gpu = w->gpu,
                             .arch = w->arch};
    int rc = evaluator_target(&o, t, err);
    c->arch = t->arch;
    c->gpu = w->gpu ? w->gpu : t->gpu;
    return rc;
}

/* Checks, for example, that each author has a key, or that its program exists. Call it before an
 * import, which may take minutes. */
static int check_authors(const struct wishes *w, const struct budget *b, struct err *err)
{
    int rc = 0;
    for (int i = 0; i < AUTHOR_ROLES && rc == 0; i++)
        if (w->author[i])
            rc = cmd_check_author(w->author[i], b, err);
    return rc;
}

static int prepare(struct optimize_run *s, const struct wishes *w, const char *operand,
                   struct strbuf *source, struct arena *mem, struct err *err)
{
    struct run_config *c = s->config;
    const char *author = w->author[AUTHOR_CODE], *task = NULL;
    if (choose(w, c, err) < 0 || check_use(w, err) < 0 ||
        (operand && cmd_is_python(operand) && check_authors(w, &c->budget, err) < 0) ||
        (operand && !(task = task_of_operand(s, w, operand, mem, err))))
        return -1;
    if (str_starts(author, "replay:"))
        return config_of_recording(c, author, task, w->rejudge, mem, err);
    for (int i = 0; i < AUTHOR_ROLES; i++)
        c->authors[i] = w->author[i];
    c->authors[AUTHOR_CODE] = author;
    run_config_set_whole_files(c);
    if (choose_target(w, c, mem, err) < 0)
        return -1;
    if (!w->dialect && only_built_in(c))
        c->dialect = DIALECT_CUDA;
    if (cmd_settle_dialect(w->dialect != NULL, &c->dialect, err) < 0)
        return -1;
    c->task = task;
    if (w->from) {
        if (file_read(w->from, MAX_SOURCE, source, err) < 0)
            return -1;
        if (!source->len)
            return err_set(err, ERR_INPUT, "--from: '%s' is empty", w->from);
        const char *slash = strrchr(w->from, '/');
        c->from = source->buf;
        c->from_name = slash ? slash + 1 : w->from;
    }
    struct task *t = cmd_load_task(task);
    if (!t)
        return err_set(err, cmd_task_status(task) == HONE_USAGE ? ERR_USAGE : ERR_ENV,
                       "'%s' cannot be used as a task", task);
    cmd_settle_proposals(c);
    run_config_settle(c, t);
    int rc = optimize_check(c, t, err);
    task_free(t);
    return rc;
}

static int run(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct arena mem = ARENA_INIT;
    struct run_config c;
    struct strbuf source = STRBUF_INIT(MAX_SOURCE);
    struct optimize_run s = {.config = &c};
    struct wishes w = {.repairs = UINT64_MAX};
    run_config_init(&c);
    const struct option opts[] = {
        OPT_STR('s', "strategy", &w.strategy, "NAME",
                "refine (default): one kernel, improved move by move; search: a tree of\n"
                "kernels; team: planner, tester and profiler beside the coder; sample:\n"
                "kernels from scratch; reflect: one kernel, corrected by its verdicts"),
        OPT_STR('a', "author", &w.author[AUTHOR_CODE], "WHO",
                "who writes the kernels: playbook[:DIR] (built in; DIR: also your playbooks),\n"
                "openai:MODEL, anthropic:MODEL, exec:CMD (a program: prompt on stdin, reply on\n"
                "stdout), mailbox:DIR (prompts and replies as files), replay:FILE (a recording by\n"
                "`hone log --export`, which has the settings; TASK may be left out), or noisy\n"
                "(playbook that errs as often as recorded models; noisy:compile=0.2,idle=0 with\n"
                "other rates of compile, wrong, slower and idle: docs/study.md).\n"
                "Keys: OPENAI_API_KEY, ANTHROPIC_API_KEY; servers: OPENAI_BASE_URL,\n"
                "ANTHROPIC_BASE_URL (docs/authors.md). Default: HONE_AUTHOR, else playbook"),
        OPT_STR(0, "author-plan", &w.author[AUTHOR_PLAN], "WHO",
                "search, team: another author for plans (default of these five: --author)"),
        OPT_STR(0, "author-debug", &w.author[AUTHOR_DEBUG], "WHO",
                "refine, search, team: another author for finding and repairing errors"),
        OPT_STR(0, "author-test", &w.author[AUTHOR_TEST], "WHO",
                "team: another author for test shapes"),
        OPT_STR(0, "author-profile", &w.author[AUTHOR_PROFILE], "WHO",
                "team: another author for reading profiles"),
        OPT_STR(0, "author-port", &w.author[AUTHOR_PORT], "WHO",
                "--from: another author for porting a file without a launch plan"),
        OPT_STR(
            0, "from", &w.from, "FILE",
            "refine, search, team: start from this kernel file. The built-in author tunes its\n"
            "settings (constexpr int kRows = 4; // hone: 1 2 4 8), then tries its templates in\n"
            "place of the file. A model repairs a file that fails. Without a model, a file that\n"
            "does not compile or has a wrong plan ends the run; wrong results do not. FILE\n"
            "should begin with a launch plan, a comment that says how to launch it\n"
            "(docs/plan.md). A file without one, with host code, is ported by a model; playbook\n"
            "alone refuses it"),
        OPT_STR(0, "dialect", &w.dialect, "NAME",
                "what to ask a model for: cute (CUDA C++ with CuTe; default if CuTe's headers are\n"
                "here) or cuda (without).\n"
                "With cute, a right kernel without CuTe is kept, and the report says so. The\n"
                "templates of playbook do not depend on it"),
        OPT_POS_UINT_MOST(
            'n', "steps", &w.steps, RUN_MAX_STEPS, "N",
            "end after N improvements were tried (default 10); team: N rounds (5); search (30),\n"
            "sample, reflect (10): N kernels, the first one and failed ones included"),
        OPT_UINT_MOST(
            0, "repairs", &w.repairs, RUN_MAX_REPAIRS, "N",
            "refine, team, and the port of --from: attempts to repair a failed kernel, 0 for\n"
            "none (default 5; team 3)"),
        OPT_POS_UINT_MOST(
            0, "tries", &w.tries, RUN_MAX_TRIES, "N",
            "ask at most N times for a first kernel (default 3): refine until one passes,\n"
            "repaired or not; search until a reply has code, right or wrong; refine, search and\n"
            "team with --from until a port passes. Otherwise not for team, sample and reflect"),
        OPT_POS_UINT_MOST(0, "wave", &w.wave, RUN_MAX_WAVE, "N",
                          "search, sample: how many candidates to ask for and to judge at once\n"
                          "(default 1)"),
        OPT_POS_UINT_MOST(0, "proposals", &w.proposals, RUN_MAX_PROPOSALS, "N",
                          "refine: how many changes to ask for at a step, each in a call of its\n"
                          "own; the emulator's cost model picks the one to evaluate (default: 4\n"
                          "for playbook on a GPU, else 1)"),
        OPT_POS_UINT_MOST(0, "moves", &w.moves, RUN_MAX_MOVES, "N",
                          "refine: ask a model for N changes in one call, and evaluate all of\n"
                          "them (default 1). The kernel is then in one prompt instead of N.\n"
                          "Excludes --proposals"),
        OPT_POS_UINT(
            0, "seed", &w.seed, "N",
            "seed of the random choices of strategy and author (default 1), not of the data"),
        OPT_GROUP(
            "Budgets (default: none): the run stops when one is used up; `hone resume` can go on"),
        OPT_POS_UINT(0, "budget-tokens", &c.budget.tokens, "N",
                     "tokens of prompts and replies together; openai: and anthropic: never\n"
                     "exceed them, the last call of other authors may"),
        OPT_POS_REAL(
            0, "budget-usd", &c.budget.usd, "USD",
            "US dollars that openai: and anthropic: cost, by the prices that Hone knows\n"
            "(docs/authors.md), never exceeded; a model without a price is refused; other\n"
            "authors count as free"),
        OPT_POS_TIME(0, "budget-time", &c.budget.wall_ns, "TIME",
                     "wall time: 90s, 30m, 2h; then Hone ends an author's call, but lets an\n"
                     "evaluation finish"),
        OPT_POS_UINT(0, "budget-steps", &c.budget.steps, "N",
                     "candidates that are judged, failed ones and repairs too; a --wave that\n"
                     "has begun is judged to its end"),
        OPT_GROUP("Where candidates are evaluated"),
        OPT_STR(0, "device", &c.device, "DEV", CMD_DEVICE_HELP),
        OPT_STR(0, "on", &c.on, "PLACE", CMD_ON_HELP),
        OPT_STR(0, "gpu", &w.gpu, "NAME", CMD_GPU_HELP),
        OPT_STR(0, "arch", &w.arch, "ARCH", CMD_ARCH_HELP),
        OPT_STR(0, "compiler", &c.compiler, "NAME", CMD_COMPILER_HELP),
        OPT_FLAG(0, "skip-baselines", &w.no_baselines,
                 "time no baselines: neither the task's own nor PyTorch"),
        OPT_FLAG(0, "smoke", &w.smoke,
                 "check the small smoke shapes only, without times, and end at the first right\n"
                 "kernel"),
        OPT_FLAG(0, "torch-at-end", &w.torch_at_end,
                 "time PyTorch only at the end, beside the best kernel"),
        OPT_FLAG(0, "rejudge", &w.rejudge,
                 "replay:FILE: judge the kernels again, in place of the recorded verdicts"),
        OPT_GROUP("The import of FILE.py"),
        OPT_IMPORT_INPUT(&w.import.inputs),
        OPT_IMPORT_SIZE(&w.import.sizes),
        OPT_IMPORT_PRECISION(&w.import.precision),
        OPT_IMPORT_TRACE(&w.import.recorded),
        OPT_GROUP("Studies"),
        OPT_STRS(0, "ablate", &w.ablate, "KEY=VALUE", ABLATIONS),
        OPT_GROUP("Output"),
        OPT_STR('o', "out", &s.out_dir, "DIR",
                "the folder for best.cu and report.md (default hone-out/RUN)"),
        OPT_STR(0, "store", &w.store, "FILE", CMD_STORE_HELP),
        OPT_FLAG('q', "quiet", &s.quiet, "no progress on stderr"),
        OPT_FLAG(0, "json", &s.json, "print the summary as JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone optimize [options] TASK | FILE.py[:NAME]",
        .about =
            "Writes, judges and refines kernels for a task until --steps is reached, a budget\n"
            "is used up, or the best kernel reaches 95% of the roofline (not with sample and\n"
            "reflect). Writes the best kernel and a report. Everything is recorded, so `hone\n"
            "resume` can go on with a run that was interrupted. On a GPU, PyTorch is timed\n"
            "twice: with the first kernel that passes and, at the end, with the best one, which\n"
            "is evaluated once more for this. Hone refuses an option that is for other\n"
            "strategies, and with replay:FILE those whose values the recording has.\n"
            "\n"
            "FILE.py is a PyTorch module or function. Hone imports it first, as `hone import\n"
            "torch` does, into the folder `imported` beside the store.",
        .example = "hone optimize softmax --author anthropic:claude-sonnet-4-5 --budget-usd 2\n"
                   "hone optimize matmul_f16 --strategy search --author mailbox:box -n 12\n"
                   "hone optimize model.py --steps 4\n"
                   "hone optimize softmax --from mine.cu",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    const char *env = getenv("HONE_AUTHOR");
    if (!w.author[AUTHOR_CODE])
        w.author[AUTHOR_CODE] = env && *env ? env : "playbook";
    bool replay = str_starts(w.author[AUTHOR_CODE], "replay:");
    if (argc != 1 && !(replay && argc == 0))
        return cmd_usage(&spec, "give one TASK, or one FILE.py");
    int rc = replay ? check_replay(&w, &c.budget, &err) : 0;
    w.strategy = w.strategy ? w.strategy : "refine";
    s.store_path = w.store;
    if (rc < 0 || prepare(&s, &w, argc ? argv[0] : NULL, &source, &mem, &err) < 0)
        rc = cmd_fail(&err);
    else
        rc = optimize_run_finish(&s);
    store_close(s.store);
    vec_release(&w.ablate);
    vec_release(&w.import.inputs);
    vec_release(&w.import.sizes);
    strbuf_release(&source);
    arena_release(&mem);
    return rc;
}

const struct command cmd_optimize = {"optimize", "write and refine a kernel for a task", run};
