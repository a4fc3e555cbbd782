/* compare.c - `hone compare`: shows two kernels side by side: candidates of runs, or files. */
#include "report/compare_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/eval_command.h"
#include "cmd/optimize_run.h"
#include "report/run_summary.h"
#include "sys/file.h"
#include "sys/json.h"

struct request {
    const char *store;
    struct eval_options options;
    struct eval_config config;
    bool json;
};

/* Returns the exit status: 0 if both kernels pass. */
static int print_sides(const struct compare_side *a, const struct compare_side *b, bool json)
{
    struct strbuf sb = STRBUF_INIT(1 << 20);
    if (json) {
        json_t *j = compare_json(a, b);
        json_print(stdout, j);
        json_decref(j);
    } else {
        compare_text(a, b, &sb);
        cmd_print_foreign(sb.buf, sb.len);
    }
    strbuf_release(&sb);
    return compare_side_passes(a) && compare_side_passes(b) ? HONE_OK : HONE_NEGATIVE;
}

/* ---- candidates of runs ---------------------------------------------------------------------- */

struct named_candidate {
    struct run_summary run;
    const struct node_rec *node;
    char *name; /* RUN:NUMBER */
};

static int candidate_find(struct named_candidate *c, struct store *s, const char *which,
                          struct err *err)
{
    const char *colon = strrchr(which, ':');
    char *run = colon ? xstrndup(which, (size_t)(colon - which)) : xstrdup(which);
    int rc = run_summary_load(&c->run, s, run, err);
    free(run);
    if (rc < 0)
        return -1;
    c->node = run_summary_candidate(&c->run, colon ? colon + 1 : "best", err);
    if (!c->node) {
        run_summary_release(&c->run);
        return -1;
    }
    c->name = xasprintf("%s:%llu", c->run.run.name, (unsigned long long)c->node->index);
    return 0;
}

static void candidate_release(struct named_candidate *c)
{
    run_summary_release(&c->run);
    free(c->name);
}

/* Reads the verdict of RUN[:CANDIDATE], and sets *name to its full name, which the caller frees. */
static int find_verdict(struct store *s, const char *which, struct verdict *v, char **name,
                        struct err *err)
{
    struct named_candidate c;
    if (candidate_find(&c, s, which, err) < 0)
        return -1;
    int found = run_summary_verdict(&c.run, s, c.node, false, v, err);
    if (found == 0)
        err_set(err, ERR_INPUT, "candidate %llu of %s has no verdict",
                (unsigned long long)c.node->index, c.run.run.name);
    if (found == 1)
        *name = xstrdup(c.name);
    candidate_release(&c);
    return found == 1 ? 0 : -1;
}

static int compare_candidates(const struct request *rq, const char **which)
{
    struct err err = ERR_INIT;
    struct store *s = NULL;
    struct verdict v[2];
    char *name[2] = {NULL, NULL};
    int n = 0, rc = cmd_open_store(&s, rq->store, true, &err);
    for (; rc == 0 && n < 2; n += rc == 0)
        rc = find_verdict(s, which[n], &v[n], &name[n], &err);
    int status = rc < 0
                     ? cmd_fail(&err)
                     : print_sides(&(struct compare_side){name[0], &v[0], "candidate"},
                                   &(struct compare_side){name[1], &v[1], "candidate"}, rq->json);
    while (n-- > 0) {
        verdict_release(&v[n]);
        free(name[n]);
    }
    store_close(s);
    return status;
}

/* ---- files, judged now ---------------------------------------------------------------------- */

static int evaluate(struct evaluator *e, const struct task *t, const char *file, const char *name,
                    const struct eval_config *cfg, struct verdict *v, struct err *err)
{
    struct strbuf source = STRBUF_INIT(CMD_MAX_SOURCE);
    int rc = cmd_read_source(file, &source, err);
    if (rc == 0)
        rc = eval_command_evaluate(e, t, &source, cfg, v, err);
    if (rc == 0)
        verdict_name_file(v, name);
    strbuf_release(&source);
    return rc;
}

/* Evaluates A with B as its baseline, so that both run in one job. If A does not pass, nothing is
 * timed, and B gets an evaluation of its own. `name` has the names that the output shows. */
static int compare_files(const struct request *rq, const char *task, const char *const *file,
                         const char *const *name)
{
    struct err err = ERR_INIT;
    struct evaluator *e = NULL;
    struct verdict v[2] = {{.kind = V_UNJUDGED}, {.kind = V_UNJUDGED}};
    struct eval_config cfg = rq->config;
    const char *const against[] = {file[1], NULL};
    struct strbuf readable = STRBUF_INIT(CMD_MAX_SOURCE);
    int n = 0, rc = 0;
    struct task *t = cmd_load_task(task);
    if (!t)
        return cmd_task_status(task);
    cfg.baselines = BASELINES_NONE;
    cfg.against = against;
    if (cmd_read_source(file[1], &readable, &err) < 0 ||
        evaluator_open(&e, &rq->options, &err) < 0 ||
        evaluate(e, t, file[0], name[0], &cfg, &v[0], &err) < 0)
        rc = -1;
    n = rc == 0;
    cfg.against = NULL;
    if (rc == 0 && v[0].kind != V_PASS &&
        (rc = evaluate(e, t, file[1], name[1], &cfg, &v[1], &err)) == 0)
        n = 2;
    struct compare_side a = {name[0], &v[0], "candidate"}, b = {name[1], &v[0], file[1]};
    if (n == 2)
        b = (struct compare_side){name[1], &v[1], "candidate"};
    int status = rc < 0 ? cmd_fail(&err) : print_sides(&a, &b, rq->json);
    while (n-- > 0)
        verdict_release(&v[n]);
    evaluator_close(e);
    strbuf_release(&readable);
    task_free(t);
    return status;
}

/* Returns whether an operand after TASK names a candidate of a run. If not, it names a file. */
static bool names_candidate(const char *operand)
{
    return !str_ends(operand, ".cu") && !file_exists(operand);
}

/* Writes a candidate's source to the file `path`. The caller frees *name, the full name. */
static int write_candidate(struct store *s, const char *which, const char *path, char **name,
                           struct err *err)
{
    struct named_candidate c;
    struct strbuf source = STRBUF_INIT(CMD_MAX_SOURCE);
    if (candidate_find(&c, s, which, err) < 0)
        return -1;
    int rc = store_blob_get(s, c.node->source_sha, &source, err);
    if (rc == 0)
        rc = file_write(path, source.buf, source.len, err);
    if (rc == 0)
        *name = xstrdup(c.name);
    strbuf_release(&source);
    candidate_release(&c);
    return rc;
}

/* Writes the operands that are candidates of runs to files in a temporary directory, and compares
 * the files. */
static int compare_operands(const struct request *rq, const char *task, const char **operand)
{
    struct err err = ERR_INIT;
    struct store *s = NULL;
    struct temp_dir dir = TEMP_DIR_INIT;
    char *written[2] = {NULL, NULL}, *full_name[2] = {NULL, NULL};
    const char *file[2] = {operand[0], operand[1]}, *name[2] = {operand[0], operand[1]};
    int rc = 0;
    for (int i = 0; rc == 0 && i < 2; i++) {
        if (!names_candidate(operand[i]))
            continue;
        if ((!s && cmd_open_store(&s, rq->store, true, &err) < 0) ||
            (!dir.path && temp_dir_make(&dir, &err) < 0)) {
            rc = -1;
            break;
        }
        written[i] = xasprintf("%s/%c.cu", dir.path, "ab"[i]);
        rc = write_candidate(s, operand[i], written[i], &full_name[i], &err);
        file[i] = written[i];
        name[i] = full_name[i];
    }
    int status = rc < 0 ? cmd_fail(&err) : compare_files(rq, task, file, name);
    for (int i = 0; i < 2; i++) {
        free(written[i]);
        free(full_name[i]);
    }
    temp_dir_release(&dir);
    store_close(s);
    return status;
}

static int run(int argc, const char **argv)
{
    struct request r = {.config = EVAL_CONFIG_INIT};
    const struct option opts[] = {
        OPT_STR(0, "store", &r.store, "FILE", CMD_STORE_HELP),
        OPT_GROUP("With a TASK"),
        OPT_STR(0, "device", &r.options.device, "DEV", CMD_DEVICE_HELP),
        OPT_STR(0, "on", &r.options.on, "PLACE", CMD_ON_HELP),
        OPT_STR(0, "gpu", &r.options.gpu, "NAME", CMD_GPU_HELP),
        OPT_STR(0, "arch", &r.options.arch, "ARCH", CMD_ARCH_HELP),
        OPT_POS_UINT(0, "seed", &r.config.seed, "N",
                     "seed of the data and held-out shapes (default: random)"),
        OPT_POS_TIME(
            0, "measure-time", &r.config.measure_ns, "TIME",
            "on a GPU: time both kernels for at most about TIME, all shapes together (default\n"
            "2s), as for `hone eval`"),
        OPT_GROUP("Output"),
        OPT_FLAG(0, "json", &r.json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone compare [options] RUN[:CANDIDATE] RUN[:CANDIDATE]\n"
                 "hone compare [options] TASK A.cu|RUN:CANDIDATE B.cu|RUN:CANDIDATE",
        .about =
            "Shows two kernels side by side: their verdicts, and their times shape by shape. Two\n"
            "candidates of runs (default: the best one) have been judged before, each in its own\n"
            "job, so they get no ratio. With a TASK, two files or candidates are judged now, in\n"
            "one job. A number alone is the number of a run: write last:2 for candidate 2 of the\n"
            "last run.\n"
            "Exit status: 0 both pass, 1 one does not, 3 they could not be judged.",
        .example = "hone compare last:0 last:best\nhone compare softmax mine.cu last:best",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    bool files = argc == 3 || (argc == 2 && (str_ends(argv[0], ".cu") || str_ends(argv[1], ".cu")));
    if (argc == 2 && files)
        return cmd_usage(&spec, "files need their TASK first: hone compare TASK %s %s", argv[0],
                         argv[1]);
    if (argc == 2 && (r.options.device || r.options.on || r.options.gpu || r.options.arch ||
                      r.config.seed || r.config.measure_ns))
        return cmd_usage(&spec, "two candidates have been judged before: --device, --on, --gpu, "
                                "--arch, --seed and --measure-time need a TASK first");
    if (argc == 2)
        return compare_candidates(&r, argv);
    if (argc != 3)
        return cmd_usage(&spec,
                         "give two candidates of runs, or a TASK and two files or candidates");
    return compare_operands(&r, argv[0], argv + 1);
}

const struct command cmd_compare = {"compare", "two kernels side by side", run};
