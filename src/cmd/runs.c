/* runs.c - `hone runs`: lists the runs in the store. */
#include <stdio.h>
#include <time.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/optimize_run.h"
#include "report/run_summary.h"
#include "sys/json.h"

/* The column `before` is the time of the first baseline, which is the task's simple kernel if it
 * has one. */
static void print_run(const struct run_rec *r)
{
    char when[32] = "", gain[16] = "";
    struct strbuf before = STRBUF_INIT(128), after = STRBUF_INIT(128);
    time_t t = (time_t)(r->created_ms / 1000);
    struct tm tm;
    if (localtime_r(&t, &tm))
        strftime(when, sizeof when, "%m-%d %H:%M", &tm);
    if (r->best_time_ns > 0)
        print_time(r->best_time_ns, r->best_is_model, &after);
    if (r->best_speedup > 0) {
        print_time(r->best_time_ns * r->best_speedup, r->best_is_model, &before);
        snprintf(gain, sizeof gain, "%.2fx", r->best_speedup);
    }
    printf("%-34s %s  %-7s %3llu/%-3llu %18s %18s %8s %7.0fk  %6.2f  %s\n", r->name, when, r->state,
           (unsigned long long)r->passes, (unsigned long long)r->nodes, before.buf, after.buf, gain,
           (double)(r->in_tokens + r->out_tokens) / 1e3, r->usd, r->source);
    strbuf_release(&before);
    strbuf_release(&after);
}

static json_t *run_json(const struct run_rec *r)
{
    return json_pack("{s:s, s:o, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:b}",
                     "run", r->name, "task", json_text(r->task), "strategy", r->strategy, "state",
                     r->state, "reason", json_text(r->reason), "author", json_text(r->source),
                     "created_ms", (json_int_t)r->created_ms, "candidates", (json_int_t)r->nodes,
                     "passes", (json_int_t)r->passes, "in_tokens", (json_int_t)r->in_tokens,
                     "out_tokens", (json_int_t)r->out_tokens, "usd", r->usd, "best_time_ns",
                     r->best_time_ns, "best_speedup", r->best_speedup, "model", r->best_is_model);
}

static int run(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct arena mem = ARENA_INIT;
    struct run_rec_vec list = VEC_INIT;
    struct store *s = NULL;
    const char *path = NULL;
    bool json = false, check = false;
    const struct option opts[] = {
        OPT_STR(0, "store", &path, "FILE", CMD_STORE_HELP),
        OPT_FLAG(0, "check", &check, "check the store's integrity first"),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone runs [options]",
        .about =
            "Lists the runs of the store, the oldest first. `before` is the first baseline (the\n"
            "task's simple kernel, where it has one), `after` the run's best kernel, both in the\n"
            "job that timed the best kernel. A time is the geometric mean over the timed shapes.",
        .example = "hone runs",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc)
        return cmd_usage(&spec, "no operand is expected");
    int rc = HONE_OK;
    if (cmd_open_store(&s, path, true, &err) < 0 || (check && store_check(s, &err) < 0) ||
        store_run_list(s, &list, &mem, &err) < 0) {
        rc = cmd_fail(&err);
    } else if (json) {
        json_t *j = json_array();
        vec_each (struct run_rec, r, &list)
            json_array_append_new(j, run_json(r));
        json_print(stdout, j);
        json_decref(j);
    } else {
        printf("%-34s %-11s  %-7s %-7s %18s %18s %8s %8s  %6s  %s\n", "run", "begun", "state",
               "passed", "before", "after", "gain", "tokens", "$", "author");
        vec_each (struct run_rec, r, &list)
            print_run(r);
    }
    vec_release(&list);
    arena_release(&mem);
    store_close(s);
    return rc;
}

const struct command cmd_runs = {"runs", "list the recorded runs", run};
