/*
 * tool_optimize.c - the tools start_optimization, poll_optimization and stop_optimization.
 */
#include <string.h>

#include "base/util.h"
#include "mcp/optimize.h"
#include "mcp/tools.h"

/* ---- who may write --------------------------------------------------------------------------- */

/* Fails if the user did not allow this author. Sets *kind. */
static int check_author(const struct call *c, const char *author, enum host_author *kind,
                        struct err *err)
{
    const struct mcp_config *config = &c->desk->host.config;
    struct strbuf list = STRBUF_INIT(1024);
    bool allowed = str_eq(author, "playbook");
    *kind = HOST_BUILT_IN;
    if (allowed)
        return 0;
    for (size_t i = 0; i < config->nauthors; i++) {
        allowed |= str_eq(author, config->authors[i]);
        strbuf_addf(&list, ", %s", config->authors[i]);
    }
    *kind = str_starts(author, "openai:") || str_starts(author, "anthropic:") ? HOST_REMOTE
            : str_starts(author, "replay:")                                   ? HOST_BUILT_IN
                                                                              : HOST_PROGRAM;
    if (!allowed)
        err_set(err, ERR_INPUT,
                "author '%.100s' is not allowed here. These are allowed: playbook%.800s. The user "
                "allows another one with `hone mcp --author`",
                author, list.buf);
    strbuf_release(&list);
    return allowed ? 0 : -1;
}

/* Decides how much of the server's money a run gets. Only a remote author gets any. */
static int grant_money(const struct call *c, enum host_author kind, double *usd, struct err *err)
{
    const json_t *asked = json_object_get(c->args, "budget_usd");
    double left = c->desk->host.config.budget_usd - c->desk->granted_usd;
    *usd = 0;
    if (kind != HOST_REMOTE)
        return 0;
    if (!(left > 0))
        return err_set(err, ERR_INPUT,
                       "the money that the user allowed for this server ($%.2f) is spent or given "
                       "to other runs",
                       c->desk->host.config.budget_usd);
    *usd = asked ? MIN(json_number_value(asked), left) : left;
    return 0;
}

/* ---- start_optimization ---------------------------------------------------------------------- */

static void option_int(struct call *c, const char *option, const char *name, const char *unit)
{
    json_int_t n = call_int(c, name, 0);
    if (n > 0)
        call_option(c, option, arena_printf(&c->mem, "%lld%s", (long long)n, unit));
}

static int command_line(struct call *c, const char *author, double usd, struct err *err)
{
    const char *task, *from = call_str(c, "from_file");
    enum workdir_kind kind = WORKDIR_FILE;
    if (call_task(c, &task, err) < 0 ||
        (from && workdir_kind(&c->desk->host.dir, from, &kind, err) < 0))
        return -1;
    if (kind != WORKDIR_FILE)
        return err_set(err, ERR_INPUT, "`from_file` must name a file, and '%.200s' is none", from);
    call_word(c, "optimize");
    call_word(c, "--json");
    call_option(c, "author", author);
    call_option(c, "strategy", call_str(c, "strategy"));
    call_option(c, "dialect", call_str(c, "dialect"));
    call_option(c, "device", call_str(c, "device"));
    call_option(c, "gpu", call_str(c, "gpu"));
    call_option(c, "from", from);
    option_int(c, "steps", "steps", "");
    option_int(c, "seed", "seed", "");
    option_int(c, "budget-time", "budget_seconds", "s");
    option_int(c, "budget-tokens", "budget_tokens", "");
    if (usd > 0)
        call_option(c, "budget-usd", arena_printf(&c->mem, "%.6f", usd));
    if (!call_bool(c, "baselines", true))
        call_word(c, "--skip-baselines");
    call_word(c, "--");
    call_word(c, task);
    return 0;
}

static const char *state_of(const struct optimization *o)
{
    return o->ended ? "done" : "running";
}

static enum call_step start_start(struct call *c, struct err *err)
{
    const char *author = call_str(c, "author");
    enum host_author kind;
    double usd;
    if (c->waited) {
        if (!c->run->name) {
            optimization_error(c->run, err);
            return CALL_FAILED;
        }
        reply_text(&c->reply,
                   "Started run %s. Follow it with poll_optimization, end it with "
                   "stop_optimization.",
                   c->run->name);
        reply_structured(&c->reply, json_pack("{s:s, s:s, s:b, s:o}", "run", c->run->name, "state",
                                              state_of(c->run), "here", 1, "progress",
                                              json_text(c->run->last)));
        return CALL_DONE;
    }
    if (optimizations_running(c->desk) >= MAX_OPTIMIZATIONS) {
        err_set(err, ERR_LIMIT, "%d runs are in progress already: wait for one, or stop one",
                MAX_OPTIMIZATIONS);
        return CALL_FAILED;
    }
    author = author ? author : "playbook";
    if (check_author(c, author, &kind, err) < 0 || grant_money(c, kind, &usd, err) < 0 ||
        command_line(c, author, usd, err) < 0 || !(c->run = optimization_start(c, kind, usd, err)))
        return CALL_FAILED;
    c->until_named = true;
    return CALL_WAIT;
}

const struct tool tool_start_optimization = {"start_optimization", start_start, NULL};

/* ---- poll_optimization and stop_optimization ------------------------------------------------- */

static enum call_step ask_store(struct call *c, const char *run)
{
    call_word(c, "show");
    call_word(c, "--json");
    call_word(c, "--");
    call_word(c, run);
    return CALL_CHILD;
}

static enum call_step poll_start(struct call *c, struct err *err)
{
    const char *run = call_str(c, "run");
    json_int_t wait_s = call_int(c, "wait_s", 0);
    if (call_check_run(c, run, err) < 0)
        return CALL_FAILED;
    c->run = optimization_find(c->desk, run);
    if (!c->waited && c->run && !c->run->ended && wait_s > 0) {
        c->until_ns = now_ns() + (uint64_t)wait_s * SEC;
        return CALL_WAIT;
    }
    return ask_store(c, run);
}

/* A process that was killed leaves "running" in the store. If this server saw the process end, the
 * state is "stopped". */
static const char *true_state(const struct call *c, const json_t *summary)
{
    const char *state = json_string_value(json_object_get(summary, "state"));
    bool running = state && str_eq(state, "running");
    return running && c->run && c->run->ended ? "stopped" : state;
}

static enum call_step poll_finish(struct call *c, struct err *err)
{
    json_t *summary = call_output(c, err);
    if (!summary)
        return CALL_FAILED;
    const char *run = json_string_value(json_object_get(summary, "run"));
    const char *state = true_state(c, summary), *last = c->run ? c->run->last : "";
    reply_text(&c->reply, "Run %s: %s, %d candidates, %d pass.", run, state,
               (int)json_integer_value(json_object_get(summary, "candidates")),
               (int)json_integer_value(json_object_get(summary, "passes")));
    if (*last)
        reply_foreign(&c->reply, "its last step", last, strlen(last));
    json_t *j = json_pack("{s:s, s:s, s:b, s:o}", "run", run, "state", state, "here",
                          c->run != NULL, "progress", json_text(last));
    json_object_del(summary, "nodes"); /* show_run shows the nodes */
    json_object_set_new(j, "summary", summary);
    reply_structured(&c->reply, j);
    return CALL_DONE;
}

const struct tool tool_poll_optimization = {"poll_optimization", poll_start, poll_finish};

static enum call_step stop_start(struct call *c, struct err *err)
{
    const char *run = call_str(c, "run");
    if (call_check_run(c, run, err) < 0)
        return CALL_FAILED;
    c->run = optimization_find(c->desk, run);
    if (!c->run) {
        err_set(err, ERR_INPUT,
                "this server did not start a run '%.100s', so it cannot stop it; list_runs and "
                "poll_optimization show its state",
                run);
        return CALL_FAILED;
    }
    if (!c->waited && !c->run->ended) {
        optimization_stop(c->run);
        c->until_ns = now_ns() + 20 * SEC;
        return CALL_WAIT;
    }
    return ask_store(c, run);
}

const struct tool tool_stop_optimization = {"stop_optimization", stop_start, poll_finish};
