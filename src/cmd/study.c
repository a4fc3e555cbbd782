/*
 * study.c - `hone study`: compares strategies at an equal budget of candidates, and prints the
 * tables. The author, who writes the kernels, is simulated.
 */
#include "study/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "author/author.h"
#include "base/util.h"
#include "campaign/suite.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "sys/file.h"
#include "sys/pool.h"

static int add_operands(struct study *s, int argc, const char **argv, struct err *err)
{
    struct suite_item_vec items = VEC_INIT;
    struct arena mem = ARENA_INIT;
    int rc = 0;
    for (int i = 0; i < argc && rc == 0; i++)
        rc = suite_add(argv[i], &items, &mem, err);
    if (rc == 0 && !argc)
        rc = suite_add("classics", &items, &mem, err);
    vec_each (struct suite_item, i, &items)
        if (rc == 0)
            rc = suite_is_python(i->operand)
                     ? err_set(err, ERR_USAGE,
                               "'%s': a study takes tasks; `hone import torch` makes one", i->label)
                     : study_add_task(s, i->operand, err);
    suite_release(&items);
    arena_release(&mem);
    return rc;
}

/* Checks the names in --arms. An arm is one form of a strategy (study/study.h), for example
 * "search, greedy". */
static int check_arms(const struct study *s, struct err *err)
{
    for (const char *p = s->only; p && *p;) {
        size_t n = strcspn(p, ";");
        bool known = false;
        for (const struct study_arm *a = study_arms; a->name; a++)
            known |= strlen(a->name) == n && memcmp(a->name, p, n) == 0;
        if (!known) {
            struct strbuf list = STRBUF_INIT(2048);
            for (const struct study_arm *a = study_arms; a->name; a++)
                strbuf_addf(&list, "\n  %s", a->name);
            err_set(err, ERR_USAGE, "there is no arm '%.*s'; there are:%s", (int)MIN(n, 100), p,
                    list.buf);
            strbuf_release(&list);
            return -1;
        }
        p += n + (p[n] == ';');
    }
    return 0;
}

static int check_author(const char *spec, struct err *err)
{
    struct author *a = NULL;
    if (!str_eq(spec, "noisy") && !str_starts(spec, "noisy:"))
        return err_set(err, ERR_USAGE,
                       "--author %s: a study simulates its author: give noisy[:RATES]", spec);
    int rc = author_open(&a, spec, NULL, err);
    author_close(a);
    return rc;
}

static int write_plot(const struct study *s, struct err *err)
{
    struct strbuf svg = STRBUF_INIT(8u << 20);
    char *path = xasprintf("%s/study.svg", s->dir);
    int rc = study_plot(s, &svg, err);
    if (rc == 0)
        rc = file_write(path, svg.buf, svg.len, err);
    if (rc == 0)
        printf("\nplot: %s\n", path);
    strbuf_release(&svg);
    free(path);
    return rc;
}

static int print_results(const struct study *s, struct err *err)
{
    struct strbuf text = STRBUF_INIT(1u << 20);
    int rc = study_table(s, &text, err);
    strbuf_addc(&text, '\n');
    if (rc == 0)
        rc = study_memory_table(s, &text, err);
    if (rc == 0)
        fputs(text.buf, stdout);
    strbuf_release(&text);
    return rc == 0 ? write_plot(s, err) : rc;
}

static bool uses_row(const struct study *s, const struct study_row *r)
{
    for (const struct study_arm *a = study_arms; a->name; a++)
        if (str_eq(a->name, r->arm))
            return r->seed <= study_seeds(s, a);
    return false;
}

static int check_runs(const struct study *s, struct err *err)
{
    struct study_row_vec rows = VEC_INIT;
    struct arena mem = ARENA_INIT;
    int rc = study_read_rows(s, &rows, &mem, err);
    size_t n = 0;
    vec_each (struct study_row, r, &rows)
        n += uses_row(s, r);
    if (rc == 0 && !n)
        rc = err_set(err, ERR_INPUT,
                     "%s/study.tsv has no run with these TASKs%s, --budget %u and --author %s: "
                     "repeat those of the study",
                     s->dir, s->only ? " and --arms" : "", s->budget, s->author);
    vec_release(&rows);
    arena_release(&mem);
    return rc;
}

static int run(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    uint64_t seeds = 20, budget = 12, jobs = 0;
    bool table = false;
    struct study s = {.dir = "hone-out/study", .author = "noisy"};
    const struct option opts[] = {
        OPT_POS_UINT_MOST(
            'n', "seeds", &seeds, STUDY_MAX_SEEDS, "N",
            "runs of each arm on each task (default 20); the arm `playbook` has one,\n"
            "because its author does not err"),
        OPT_POS_UINT_MOST(0, "budget", &budget, STUDY_MAX_BUDGET, "N",
                          "candidates of each run, at most 64 (default 12)"),
        OPT_STR(0, "arms", &s.only, "LIST",
                "compare only these arms, with ; between: 'refine;search, greedy' (default: all;\n"
                "an unknown name lists them)"),
        OPT_STR(
            'a', "author", &s.author, "WHO",
            "noisy (default), or noisy:compile=0.2,wrong=0.1 with other rates of errors; rates\n"
            "that are not given keep their defaults (docs/study.md); no other author"),
        OPT_POS_UINT_MOST('j', "jobs", &jobs, POOL_MAX_JOBS, "N",
                          "processes (default: the cores of this machine)"),
        OPT_FLAG(
            0, "table", &table,
            "run nothing: print the tables and write the plot of the runs in DIR that have the\n"
            "same TASKs, --budget and --author as this command: repeat them. --seeds and --arms\n"
            "leave out the runs of higher seeds and other arms"),
        OPT_STR('o', "out", &s.dir, "DIR", "the folder for results (default hone-out/study)"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone study [options] [TASK | SUITE]...",
        .about =
            "Compares strategies at an equal budget of candidates: as they are, without one\n"
            "of their ideas, with another value of an option, or with memory. Without TASK\n"
            "and SUITE it takes the suite classics. It is a simulation: the built-in author\n"
            "errs as often as the models of recorded runs did, and the emulator's cost model\n"
            "gives the times. Every source is judged once, whichever run comes upon it, and a\n"
            "study that was stopped goes on where it was. Prints tables; writes DIR/study.tsv\n"
            "and DIR/study.svg.",
        .example =
            "hone study classics --seeds 20\nhone study softmax rmsnorm --arms 'refine;search'",
        .opts = opts};
    cmd_parse(&spec, &argc, argv);
    s.seeds = (uint32_t)seeds;
    s.budget = (uint32_t)budget;
    s.jobs = (uint32_t)jobs;
    int rc = check_arms(&s, &err);
    if (rc == 0)
        rc = check_author(s.author, &err);
    if (rc == 0)
        rc = add_operands(&s, argc, argv, &err);
    if (rc == 0)
        rc = table ? check_runs(&s, &err) : study_run(&s, &err);
    if (rc == 0)
        rc = print_results(&s, &err);
    study_release(&s);
    return rc < 0 ? cmd_fail(&err) : HONE_OK;
}

const struct command cmd_study = {"study", "compare strategies at an equal budget (a simulation)",
                                  run};
