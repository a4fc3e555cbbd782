/*
 * tool_task.c - the tools list_tasks, show_task, check_task and import_task.
 */
#include <string.h>

#include "base/util.h"
#include "mcp/author_view.h"
#include "mcp/tools.h"

/* ---- list_tasks ------------------------------------------------------------------------------ */

static enum call_step list_start(struct call *c, struct err *err)
{
    (void)err;
    call_word(c, "task");
    call_word(c, "list");
    call_word(c, "--json");
    return CALL_CHILD;
}

static enum call_step list_finish(struct call *c, struct err *err)
{
    struct strbuf text = STRBUF_INIT(256 << 10);
    size_t i;
    json_t *task, *list = call_output(c, err);
    if (!list)
        return CALL_FAILED;
    json_array_foreach(list, i, task)
        strbuf_addf(&text, "%s (%s): %s\n", json_string_value(json_object_get(task, "name")),
                    json_string_value(json_object_get(task, "class")),
                    json_string_value(json_object_get(task, "description")));
    reply_text(&c->reply, "%s", text.buf);
    reply_structured(&c->reply, json_pack("{s:o}", "tasks", list));
    strbuf_release(&text);
    return CALL_DONE;
}

const struct tool tool_list_tasks = {"list_tasks", list_start, list_finish};

/* ---- show_task ------------------------------------------------------------------------------- */

static enum call_step show_start(struct call *c, struct err *err)
{
    const char *task;
    if (call_task(c, &task, err) < 0)
        return CALL_FAILED;
    call_show_task(c, task);
    return CALL_CHILD;
}

static enum call_step show_finish(struct call *c, struct err *err)
{
    struct strbuf text = STRBUF_INIT(1 << 20);
    json_t *task = call_output(c, err);
    if (!task)
        return CALL_FAILED;
    task_hide_held_out(task);
    json_add_text(&text, task, true);
    call_foreign(c, "the task", "task.json", "application/json", text.buf, text.len);
    reply_structured(&c->reply, task);
    strbuf_release(&text);
    return CALL_DONE;
}

const struct tool tool_show_task = {"show_task", show_start, show_finish};

/* ---- check_task ------------------------------------------------------------------------------ */

static enum call_step check_start(struct call *c, struct err *err)
{
    const char *task;
    if (call_task(c, &task, err) < 0)
        return CALL_FAILED;
    call_word(c, "task");
    call_word(c, "check");
    call_word(c, "--json");
    call_word(c, "--");
    call_word(c, task);
    return CALL_CHILD;
}

static void say_all(struct strbuf *sb, const json_t *texts, const char *before)
{
    size_t i;
    json_t *text;
    json_array_foreach(texts, i, text) strbuf_addf(sb, "%s%s\n", before, json_string_value(text));
}

static enum call_step check_finish(struct call *c, struct err *err)
{
    struct strbuf text = STRBUF_INIT(256 << 10);
    json_t *list = call_output(c, err), *one = json_array_get(list, 0);
    if (!list)
        return CALL_FAILED;
    bool ok = json_is_true(json_object_get(one, "ok"));
    reply_text(&c->reply, ok ? "The task is good." : "The task has problems.");
    say_all(&text, json_object_get(one, "problems"), "problem: ");
    say_all(&text, json_object_get(one, "notes"), "note: ");
    if (text.len)
        call_foreign(c, "what the check found", "check.txt", "text/plain", text.buf, text.len);
    reply_structured(&c->reply, json_incref(one));
    json_decref(list);
    strbuf_release(&text);
    return CALL_DONE;
}

const struct tool tool_check_task = {"check_task", check_start, check_finish};

/* ---- import_task ----------------------------------------------------------------------------- */

static void add_all(struct call *c, const char *option, const char *name)
{
    size_t i;
    json_t *v;
    json_array_foreach(json_object_get(c->args, name), i, v)
        call_option(c, option, json_string_value(v));
}

static enum call_step import_start(struct call *c, struct err *err)
{
    const struct host *h = &c->desk->host;
    const char *file = call_str(c, "file"), *name = call_str(c, "name"), *out = call_str(c, "out");
    enum workdir_kind kind;
    if (!h->config.allow_python) {
        err_set(err, ERR_INPUT,
                "importing runs a Python file, which is off: ask the user to start the server "
                "with `hone mcp --allow-python`");
        return CALL_FAILED;
    }
    if (workdir_kind(&h->dir, file, &kind, err) < 0)
        return CALL_FAILED;
    if (kind != WORKDIR_FILE || strchr(file, ':')) {
        err_set(err, ERR_INPUT, "'%.200s' is not a file%s", file,
                strchr(file, ':') ? ": give the name in `name`" : "");
        return CALL_FAILED;
    }
    if (out && (workdir_kind(&h->dir, out, &kind, err) < 0 ||
                (kind == WORKDIR_NOTHING && workdir_check_new(&h->dir, out, err) < 0)))
        return CALL_FAILED;
    call_word(c, "import");
    call_word(c, "torch");
    call_word(c, "--json");
    call_option(c, "out", out ? out : ".");
    call_option(c, "precision", call_str(c, "precision"));
    add_all(c, "input", "inputs");
    add_all(c, "size", "sizes");
    call_word(c, "--");
    call_word(c, name ? arena_printf(&c->mem, "%s:%s", file, name) : file);
    return CALL_CHILD;
}

static enum call_step import_finish(struct call *c, struct err *err)
{
    json_t *j = call_output(c, err);
    if (!j)
        return CALL_FAILED;
    reply_text(&c->reply, "Made the task %s. Use this path as `task`.",
               json_string_value(json_object_get(j, "dir")));
    reply_structured(&c->reply, j);
    return CALL_DONE;
}

const struct tool tool_import_task = {"import_task", import_start, import_finish};
