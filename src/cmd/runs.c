/* runs.c - `hone runs`: lists the runs in the store, or removes one of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/optimize_run.h"
#include "report/run_summary.h"
#include "sys/file.h"
#include "sys/json.h"

/* Returns the time of the run's first kernel that passed, or 0. In a run with --from, that is the
 * user's file, if it passed. */
static double first_time(struct store *s, const struct run_rec *r)
{
    struct arena mem = ARENA_INIT;
    struct node_rec_vec nodes = VEC_INIT;
    double ns = 0;
    if (store_node_list(s, r->id, &nodes, &mem, NULL) == 0)
        vec_each (struct node_rec, n, &nodes)
            if (ns == 0 && str_eq(n->kind, "pass") && n->is_model == r->best_is_model)
                ns = n->time_ns;
    vec_release(&nodes);
    arena_release(&mem);
    return ns;
}

/* Writes the columns `before` and `gain`. `before` is the time of the first baseline, which is the
 * task's simple kernel if it has one. If no baseline was timed, `before` is first_time() with a
 * star. Then `gain` is "-" if times are measured, because measured times of two evaluations give no
 * ratio (docs/judge.md). Returns whether there is a star. */
static bool add_gain(struct store *s, const struct run_rec *r, struct strbuf *before,
                     struct strbuf *gain)
{
    double first = r->best_speedup > 0 || !(r->best_time_ns > 0) ? 0 : first_time(s, r);
    if (r->best_speedup > 0) {
        print_time(r->best_time_ns * r->best_speedup, r->best_is_model, before);
        strbuf_addf(gain, "%.2fx", r->best_speedup);
    } else if (first > 0) {
        print_time(first, r->best_is_model, before);
        strbuf_addc(before, '*');
    }
    if (first > 0 && r->best_is_model)
        strbuf_addf(gain, "%.2fx*", first / r->best_time_ns);
    strbuf_adds(before, before->len ? "" : "-");
    strbuf_adds(gain, gain->len ? "" : "-");
    return first > 0;
}

/* Prints the line of a run. Returns whether it has a star (add_gain()). */
static bool print_run(struct store *s, const struct run_rec *r)
{
    char when[32] = "", usd[16];
    struct strbuf before = STRBUF_INIT(128), after = STRBUF_INIT(128), gain = STRBUF_INIT(64);
    time_t t = (time_t)(r->created_ms / 1000);
    struct tm tm;
    if (localtime_r(&t, &tm))
        strftime(when, sizeof when, "%m-%d %H:%M", &tm);
    print_time(r->best_time_ns, r->best_is_model, &after);
    bool star = add_gain(s, r, &before, &gain);
    if (r->usd <= 0 && author_price_is_unknown(r->written_by))
        snprintf(usd, sizeof usd, "unknown");
    else
        snprintf(usd, sizeof usd, "%.2f", r->usd);
    printf("%4lld  %-34s %s  %-7s %3llu/%-3llu %18s %18s %8s %7.0fk  %7s  %s\n", (long long)r->id,
           r->name, when, store_run_state(s, r), (unsigned long long)r->passes,
           (unsigned long long)r->nodes, before.buf, after.buf, gain.buf,
           (double)(r->in_tokens + r->out_tokens) / 1e3, usd, r->written_by);
    strbuf_release(&before);
    strbuf_release(&after);
    strbuf_release(&gain);
    return star;
}

static json_t *run_json(struct store *s, const struct run_rec *r)
{
    return json_pack(
        "{s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:b}", "run",
        r->name, "task", json_text(r->task), "strategy", r->strategy, "state",
        store_run_state(s, r), "reason", json_text(r->reason), "author", json_text(r->written_by),
        "best_author", json_text(r->best_author), "created_ms", (json_int_t)r->created_ms,
        "candidates", (json_int_t)r->nodes, "passes", (json_int_t)r->passes, "in_tokens",
        (json_int_t)r->in_tokens, "out_tokens", (json_int_t)r->out_tokens, "usd", r->usd,
        "best_time_ns", r->best_time_ns, "best_speedup", r->best_speedup, "model",
        r->best_is_model);
}

/* True if `wanted` is the task or the end of its path: "softmax" or "tasks/softmax" for
 * "/home/me/tasks/softmax/". */
static bool is_task(const char *task, const char *wanted)
{
    size_t end = strlen(task), n = strlen(wanted);
    if (str_eq(task, wanted))
        return true;
    while (end && task[end - 1] == '/')
        end--;
    return n && end >= n && memcmp(task + end - n, wanted, n) == 0 &&
           (end == n || task[end - n - 1] == '/');
}

static void keep_task(struct run_rec_vec *list, const char *task)
{
    size_t n = 0;
    vec_each (struct run_rec, r, list)
        if (is_task(r->task, task))
            list->items[n++] = *r;
    list->n = n;
}

static bool confirmed(const struct run_rec *r)
{
    char answer[16] = "";
    fprintf(stderr, "Remove run %s (%llu candidates, %llu pass) from the store? [y/N] ", r->name,
            (unsigned long long)r->nodes, (unsigned long long)r->passes);
    fflush(stderr);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* Returns the folder of the run's report, which the configuration names. The caller frees it. */
static char *report_folder(const struct run_rec *r)
{
    json_t *config = json_loads(r->config, 0, NULL);
    const char *out = json_string_value(json_object_get(config, "out"));
    char *dir = cmd_out_folder(out, r->name);
    json_decref(config);
    return dir;
}

static void print_removed(const struct run_rec *r)
{
    char *dir = report_folder(r);
    if (file_is_dir(dir))
        printf("removed %s from the store; its folder %s stays\n", r->name, dir);
    else
        printf("removed %s from the store\n", r->name);
    free(dir);
}

static int remove_run(struct store *s, const char *which, bool yes, struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct run_rec r;
    int rc = store_run_find(s, which, &r, &mem, err);
    if (rc == 0 && store_run_is_locked(s, r.id))
        rc = err_set(err, ERR_INPUT,
                     "a process is working on run %s: stop it first (Ctrl-C), then remove the run",
                     r.name);
    else if (rc == 0 && !yes && !isatty(STDIN_FILENO))
        rc = err_set(err, ERR_USAGE,
                     "--rm cannot ask here, because stdin is not a terminal: add --yes to remove "
                     "run %s",
                     r.name);
    else if (rc == 0 && !yes && !confirmed(&r))
        rc = err_set(err, ERR_INPUT, "run %s was not removed", r.name);
    else if (rc == 0 && (rc = store_run_remove(s, r.id, err)) == 0)
        print_removed(&r);
    arena_release(&mem);
    return rc;
}

static int list_runs(struct store *s, const char *task, bool json, struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct run_rec_vec list = VEC_INIT;
    int rc = store_run_list(s, &list, &mem, err);
    if (task)
        keep_task(&list, task);
    if (rc == 0 && json) {
        json_t *j = json_array();
        vec_each (struct run_rec, r, &list)
            json_array_append_new(j, run_json(s, r));
        json_print(stdout, j);
        json_decref(j);
    } else if (rc == 0) {
        printf("%4s  %-34s %-11s  %-7s %-7s %18s %18s %8s %8s  %7s  %s\n", "#", "run", "begun",
               "state", "passed", "before", "after", "gain", "tokens", "$", "author");
        bool star = false;
        vec_each (struct run_rec, r, &list)
            star = print_run(s, r) || star;
        if (star)
            puts("* no baseline was timed: before is the run's first kernel that passed");
        if (task && !list.n)
            fprintf(stderr, "hone: the store has no run of a task '%s'\n", task);
    }
    vec_release(&list);
    arena_release(&mem);
    return rc;
}

static int run(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct store *s = NULL;
    const char *path = NULL, *task = NULL, *rm = NULL;
    bool json = false, check = false, yes = false;
    const struct option opts[] = {
        OPT_STR(0, "task", &task, "TASK",
                "only the runs of this task: its name, or its path or the last parts of it"),
        OPT_STR(0, "rm", &rm, "RUN",
                "remove this run and its candidates from the store; asks first. Its lessons stay\n"
                "(`hone memory forget`), and so does its folder with report.md and best.cu. A run\n"
                "of a campaign cannot be removed"),
        OPT_FLAG(0, "yes", &yes, "--rm: do not ask"),
        OPT_STR(0, "store", &path, "FILE", CMD_STORE_HELP),
        OPT_FLAG(0, "check", &check,
                 "read the whole store first; if it is damaged, say what is, list nothing, exit 3"),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone runs [options]",
        .about =
            "Lists the runs of the store, the oldest first. Other commands take a run's number\n"
            "(the column #), its name, or the last part of the name. `before` is the first\n"
            "baseline (the task's simple kernel, where it has one), `after` the run's best "
            "kernel,\n"
            "both in the job that timed the best kernel. If no baseline was timed, `before` is "
            "the\n"
            "run's first kernel that passed, with a star; - means that there is none. A time is\n"
            "the geometric mean over the timed shapes.\n"
            "The state `killed` means that the run has not ended, but no process works on it;\n"
            "`hone resume` goes on with it.",
        .example = "hone runs --task softmax\nhone runs --rm softmax-refine-3f2a",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc)
        return cmd_usage(&spec, "no operand is expected");
    if (yes && !rm)
        return cmd_usage(&spec, "--yes needs --rm");
    if (rm && (task || json))
        return cmd_usage(&spec, "--rm removes one run: it excludes --task and --json");
    int rc = HONE_OK;
    if (cmd_open_store(&s, path, true, &err) < 0 || (check && store_check(s, &err) < 0) ||
        (rm ? remove_run(s, rm, yes, &err) : list_runs(s, task, json, &err)) < 0)
        rc = cmd_fail(&err);
    store_close(s);
    return rc;
}

const struct command cmd_runs = {"runs", "list the recorded runs", run};
