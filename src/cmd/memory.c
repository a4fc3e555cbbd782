/*
 * memory.c - `hone memory`: shows, removes, exports and imports lessons: which settings and changes
 * worked in earlier runs.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/eval_command.h"
#include "cmd/optimize_run.h"
#include "memory/memory.h"
#include "sys/file.h"
#include "sys/json.h"
#include "sys/term.h"

#define STORE_OPTION(v) OPT_STR(0, "store", v, "FILE", CMD_STORE_HELP)

/* ---- show ------------------------------------------------------------------------------------ */

static void print_point(const json_t *p)
{
    const char *name;
    json_t *v;
    printf("  %s:", json_string_value(json_object_get(p, "playbook")));
    json_object_foreach(json_object_get(p, "settings"), name, v)
    {
        printf(" %s=%lld", name, (long long)json_integer_value(v));
    }
    printf("  %.0f%% of the speed of the best kernel, worked in %lld of %lld runs\n",
           100 * json_number_value(json_object_get(p, "gain")),
           (long long)json_integer_value(json_object_get(p, "held")),
           (long long)json_integer_value(json_object_get(p, "tried")));
}

/* Shows the lessons that a run on this task would be offered. */
static int show_task(struct store *s, const char *task, const char *gpu, bool json, struct err *err)
{
    struct task *t = cmd_load_task(task);
    if (!t)
        return cmd_task_status(task);
    char *text = memory_recall(s, t, gpu, false, NULL, err);
    task_free(t);
    if (!text)
        return cmd_fail(err);
    json_t *j = *text ? json_loads(text, 0, NULL) : json_pack("{s:[], s:[]}", "points", "lines");
    const json_t *points = json_object_get(j, "points"), *lines = json_object_get(j, "lines");
    if (json)
        json_print(stdout, j);
    else if (!*text)
        printf("nothing: no earlier run on a task like '%s'\n", task);
    else {
        printf("points for the built-in author, best first:\n");
        for (size_t i = 0; i < json_array_size(points); i++)
            print_point(json_array_get(points, i));
        printf("lines for prompts:\n");
        for (size_t i = 0; i < json_array_size(lines); i++)
            printf("  %s\n", json_string_value(json_array_get(lines, i)));
    }
    json_decref(j);
    free(text);
    return HONE_OK;
}

/* The JSON of a run that left lessons. */
static json_t *run_json(const struct lesson_run_rec *r)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:b, s:I}", "run", json_text(r->run), "task",
                     json_text(r->task), "class", json_text(r->class), "gpu", json_text(r->gpu),
                     "measured", (int)r->measured, "imported", (int)r->imported, "lessons",
                     (json_int_t)r->lessons);
}

static void print_run(const struct lesson_run_rec *r)
{
    char *line = xasprintf("%-28s %-12s %-8s %-8s %4lld lessons  %s%s", r->task, r->class, r->gpu,
                           r->measured ? "measured" : "modelled", (long long)r->lessons,
                           r->imported ? "imported, " : "", r->run);
    term_clean(line, UINT_MAX);
    puts(line);
    free(line);
}

static int show_runs(struct store *s, bool json, struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct lesson_run_vec runs = VEC_INIT;
    json_t *rows = json_array();
    int rc = store_lesson_runs(s, &runs, &mem, err);
    vec_each (struct lesson_run_rec, r, &runs)
        if (json)
            json_array_append_new(rows, run_json(r));
        else
            print_run(r);
    if (rc == 0 && json)
        json_print(stdout, rows);
    json_decref(rows);
    vec_release(&runs);
    arena_release(&mem);
    return rc < 0 ? cmd_fail(err) : HONE_OK;
}

static int run_show(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct store *s;
    const char *path = NULL, *gpu = NULL;
    bool json = false;
    const struct option opts[] = {
        OPT_STR(0, "gpu", &gpu, "NAME",
                "TASK: the GPU of the run, by its name in the list without TASK (default h200);\n"
                "lessons of other GPUs count less"),
        STORE_OPTION(&path),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone memory show [options] [TASK]",
        .about =
            "Lists the runs that left lessons. With TASK, shows what a run on that task would\n"
            "be offered: points for the built-in author, lines for prompts. Lessons of the\n"
            "task itself are never among them.",
        .example = "hone memory show\nhone memory show softmax",
        .opts = opts};
    cmd_parse(&spec, &argc, argv);
    if (argc > 1)
        return cmd_usage(&spec, "give at most one TASK");
    if (gpu && !argc)
        return cmd_usage(&spec, "--gpu needs a TASK");
    if (cmd_open_store(&s, path, true, &err) < 0)
        return cmd_fail(&err);
    int rc =
        argc ? show_task(s, argv[0], gpu ? gpu : "h200", json, &err) : show_runs(s, json, &err);
    store_close(s);
    return rc;
}

/* ---- forget ---------------------------------------------------------------------------------- */

static int run_forget(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct store *s;
    const char *path = NULL, *class = NULL, *run = NULL;
    bool imported = false, every = false;
    int64_t n = 0;
    const struct option opts[] = {
        OPT_STR(0, "class", &class, "CLASS",
                "only lessons of this class of tasks, such as softmax (`hone memory show`)"),
        OPT_STR(0, "run", &run, "RUN", "only lessons of this run (its whole name)"),
        OPT_FLAG(0, "imported", &imported, "only lessons that were imported"),
        OPT_FLAG(0, "all", &every, "every lesson; without a TASK and the other options"),
        STORE_OPTION(&path),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone memory forget [options] [TASK]",
        .about =
            "Removes the lessons that fit everything that you give: the name of their task, and\n"
            "the options. Give at least one of them, or --all. Runs stay as they are.",
        .example = "hone memory forget softmax\nhone memory forget --imported",
        .opts = opts};
    cmd_parse(&spec, &argc, argv);
    if (argc > 1)
        return cmd_usage(&spec, "give at most one TASK");
    if (!argc && !class && !run && !imported && !every)
        return cmd_usage(&spec, "say what to forget: a TASK, --class, --run, --imported or --all");
    if (every && (argc || class || run || imported))
        return cmd_usage(&spec, "--all forgets every lesson: give no TASK and no other option");
    if (cmd_open_store(&s, path, true, &err) < 0)
        return cmd_fail(&err);
    int rc = store_lesson_forget(s, argc ? argv[0] : NULL, class, run, imported, &n, &err);
    store_close(s);
    if (rc < 0)
        return cmd_fail(&err);
    printf("%lld lessons forgotten\n", (long long)n);
    return n ? HONE_OK : HONE_NEGATIVE;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int run_export(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct store *s;
    const char *path = NULL;
    const struct option opts[] = {STORE_OPTION(&path), OPT_END()};
    const struct options spec = {.usage = "hone memory export [options]",
                                 .about = "Prints all lessons as JSON.",
                                 .example = "hone memory export >lessons.json",
                                 .opts = opts};
    cmd_parse(&spec, &argc, argv);
    if (argc)
        return cmd_usage(&spec, "unexpected '%s'", argv[0]);
    if (cmd_open_store(&s, path, true, &err) < 0)
        return cmd_fail(&err);
    int rc = memory_export(s, stdout, &err);
    store_close(s);
    return rc < 0 ? cmd_fail(&err) : HONE_OK;
}

static int run_import(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct store *s = NULL;
    struct strbuf text = STRBUF_INIT(MEMORY_FILE);
    const char *path = NULL;
    size_t n = 0;
    const struct option opts[] = {STORE_OPTION(&path), OPT_END()};
    const struct options spec = {
        .usage = "hone memory import [options] FILE",
        .about = "Adds the lessons of a file that `hone memory export` wrote. They count half as\n"
                 "much as lessons of your own runs. If one of them is not valid, none is added.",
        .example = "hone memory import lessons.json",
        .opts = opts};
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one FILE");
    int rc = file_read(argv[0], MEMORY_FILE, &text, &err);
    if (rc == 0)
        rc = cmd_open_store(&s, path, false, &err);
    if (rc == 0)
        rc = memory_import(s, text.buf, text.len, argv[0], &n, &err);
    store_close(s);
    strbuf_release(&text);
    if (rc < 0)
        return cmd_fail(&err);
    printf("%zu lessons read\n", n);
    return HONE_OK;
}

static const struct command show_command = {"show", "which lessons there are", run_show};
static const struct command forget_command = {"forget", "remove lessons", run_forget};
static const struct command export_command = {"export", "print lessons as JSON", run_export};
static const struct command import_command = {"import", "add lessons of a file", run_import};

static int run(int argc, const char **argv)
{
    static const struct command *const parts[] = {&show_command, &forget_command, &export_command,
                                                  &import_command};
    const struct option opts[] = {OPT_END()};
    const struct options spec = {
        .usage = "hone memory show [options] [TASK]\nhone memory forget [options] [TASK]\n"
                 "hone memory export [options]\nhone memory import [options] FILE",
        .about =
            "Runs leave lessons in the store: which settings and moves were fast. A later run\n"
            "on a similar task begins with them.",
        .example = "hone memory show softmax\nhone memory export >lessons.json",
        .opts = opts,
        .stop_at_operand = true};
    return cmd_forms("memory", &spec, parts, ARRAY_LEN(parts), argc, argv);
}

const struct command cmd_memory = {"memory",
                                   "lessons of earlier runs: show, forget, export, import", run};
