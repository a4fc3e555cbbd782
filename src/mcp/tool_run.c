/*
 * tool_run.c - the tools list_runs, show_run, show_candidate and export_kernel.
 */
#include <string.h>

#include "base/util.h"
#include "mcp/author_view.h"
#include "mcp/tools.h"

/* ---- list_runs ------------------------------------------------------------------------------- */

static enum call_step list_start(struct call *c, struct err *err)
{
    if (!call_has_store(c, err)) {
        reply_text(&c->reply, "There are no runs yet: start_optimization begins one.");
        reply_structured(&c->reply, json_pack("{s:[]}", "runs"));
        return *err->msg ? CALL_FAILED : CALL_DONE;
    }
    call_word(c, "runs");
    call_word(c, "--json");
    return CALL_CHILD;
}

static enum call_step list_finish(struct call *c, struct err *err)
{
    struct strbuf text = STRBUF_INIT(256 << 10);
    json_t *all = call_output(c, err), *newest = json_array();
    if (!all) {
        json_decref(newest);
        return CALL_FAILED;
    }
    size_t n = json_array_size(all), limit = (size_t)call_int(c, "limit", 50);
    for (size_t i = n; i-- > 0 && json_array_size(newest) < limit;) {
        json_t *r = json_array_get(all, i);
        json_array_append(newest, r);
        strbuf_addf(&text, "%s: %s, %d of %d candidates pass\n",
                    json_string_value(json_object_get(r, "run")),
                    json_string_value(json_object_get(r, "state")),
                    (int)json_integer_value(json_object_get(r, "passes")),
                    (int)json_integer_value(json_object_get(r, "candidates")));
    }
    reply_text(&c->reply, "%zu of %zu runs, the newest first:\n%s", json_array_size(newest), n,
               text.buf);
    reply_structured(&c->reply, json_pack("{s:o, s:I}", "runs", newest, "total", (json_int_t)n));
    json_decref(all);
    strbuf_release(&text);
    return CALL_DONE;
}

const struct tool tool_list_runs = {"list_runs", list_start, list_finish};

/* show_run shows at most this many of the newest candidates. The run's resource has all. */
enum { MAX_NODES = 200 };

/* ---- show_run -------------------------------------------------------------------------------- */

static enum call_step show_start(struct call *c, struct err *err)
{
    const char *run = call_str(c, "run");
    if (call_check_run(c, run, err) < 0)
        return CALL_FAILED;
    call_word(c, "show");
    call_word(c, "--json");
    call_word(c, "--");
    call_word(c, run);
    return CALL_CHILD;
}

static enum call_step show_finish(struct call *c, struct err *err)
{
    struct strbuf text = STRBUF_INIT(4 << 20);
    json_t *j = call_output(c, err);
    if (!j)
        return CALL_FAILED;
    json_add_text(&text, j, true);
    call_foreign(c, "the run", "run.json", "application/json", text.buf, text.len);
    json_t *nodes = json_object_get(j, "nodes");
    size_t n = json_array_size(nodes);
    while (json_array_size(nodes) > MAX_NODES)
        json_array_remove(nodes, 0);
    if (n > MAX_NODES)
        json_object_set_new(j, "nodes_left_out", json_integer((json_int_t)(n - MAX_NODES)));
    reply_structured(&c->reply, j);
    strbuf_release(&text);
    return CALL_DONE;
}

const struct tool tool_show_run = {"show_run", show_start, show_finish};

/* ---- show_candidate -------------------------------------------------------------------------- */

static enum call_step candidate_start(struct call *c, struct err *err)
{
    const char *run = call_str(c, "run"), *candidate = call_str(c, "candidate");
    candidate = candidate ? candidate : "best";
    if (call_check_run(c, run, err) < 0 || call_check_candidate(candidate, err) < 0)
        return CALL_FAILED;
    call_word(c, "show");
    call_word(c, "--json");
    call_word(c, "--");
    call_word(c, run);
    call_word(c, candidate);
    return CALL_CHILD;
}

/* Reads the output of `hone show --json RUN CANDIDATE`: {"run", "candidate", "source",
 * "verdict"}. */
static enum call_step candidate_finish(struct call *c, struct err *err)
{
    struct verdict v;
    json_t *j = call_output(c, err), *verdict = json_object_get(j, "verdict");
    if (!j)
        return CALL_FAILED;
    const char *source = json_string_value(json_object_get(j, "source"));
    if (verdict && verdict_from_json(&v, verdict, err) < 0) {
        json_decref(j);
        return CALL_FAILED;
    }
    reply_text(&c->reply, "Candidate %s of %s:", json_string_value(json_object_get(j, "candidate")),
               json_string_value(json_object_get(j, "run")));
    if (verdict) {
        reply_verdict(&c->reply, &v);
        verdict_release(&v);
        json_object_set(j, "verdict", c->reply.structured);
        c->reply.is_error = false;
    }
    if (source)
        call_foreign(c, "the kernel's source", "kernel.cu", "text/x-cuda", source, strlen(source));
    json_object_set_new(j, "untrusted", json_pack("[s, s]", "source", "verdict"));
    reply_structured(&c->reply, j);
    return CALL_DONE;
}

const struct tool tool_show_candidate = {"show_candidate", candidate_start, candidate_finish};

/* ---- export_kernel --------------------------------------------------------------------------- */

/* Adds the operands: RUN[:N], or TASK and KERNEL. */
static int add_operands(struct call *c, struct err *err)
{
    const char *run = call_str(c, "run"), *candidate = call_str(c, "candidate");
    const char *task, *kernel;
    bool from_file = call_str(c, "task") || call_str(c, "file");
    if (!run == !from_file || (candidate && !run))
        return err_set(err, ERR_INPUT,
                       "give `run` (and perhaps `candidate`), or `task` and `file`");
    if (run) {
        if (call_check_run(c, run, err) < 0 ||
            (candidate && call_check_candidate(candidate, err) < 0))
            return -1;
        bool best = !candidate || str_eq(candidate, "best");
        call_word(c, best ? run : arena_printf(&c->mem, "%s:%s", run, candidate));
        return 0;
    }
    if (!call_str(c, "task") || !call_str(c, "file"))
        return err_set(err, ERR_INPUT, "give both `task` and `file`");
    if (call_task(c, &task, err) < 0 || call_kernel(c, &kernel, err) < 0)
        return -1;
    call_word(c, task);
    call_word(c, kernel);
    return 0;
}

static enum call_step export_start(struct call *c, struct err *err)
{
    const char *out = call_str(c, "out");
    if (workdir_check_new(&c->desk->host.dir, out, err) < 0)
        return CALL_FAILED;
    call_word(c, "export");
    call_word(c, "--json");
    call_option(c, "as", call_str(c, "as"));
    call_option(c, "out", out);
    call_word(c, "--");
    return add_operands(c, err) < 0 ? CALL_FAILED : CALL_CHILD;
}

static enum call_step export_finish(struct call *c, struct err *err)
{
    struct strbuf text = STRBUF_INIT(64 << 10);
    size_t i;
    json_t *file, *j = call_output(c, err);
    if (!j)
        return CALL_FAILED;
    json_array_foreach(json_object_get(j, "files"), i, file)
        strbuf_addf(&text, "\n%s", json_string_value(file));
    reply_text(&c->reply, "Written:%s", text.buf);
    reply_structured(&c->reply, j);
    strbuf_release(&text);
    return CALL_DONE;
}

const struct tool tool_export_kernel = {"export_kernel", export_start, export_finish};
