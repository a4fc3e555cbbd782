/* resource.c - finds and reads the resource that a URI names. */
#include "mcp/resource.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "mcp/author_view.h"
#include "task/task.h"

struct place {
    char name[160], candidate[24], part[16];
};

static int unknown(const char *uri, struct err *err)
{
    return err_set(err, ERR_USAGE, "Resource not found: %.200s", uri);
}

/* `path` is the part of a URI after "hone://run/": RUN[/candidate/N/PART]. */
static bool read_run(const char *path, struct place *p)
{
    int n = 0;
    *p = (struct place){.name = ""};
    if (sscanf(path, "%159[^/]%n", p->name, &n) != 1)
        return false;
    if (!path[n])
        return true;
    int more = 0;
    return sscanf(path + n, "/candidate/%23[^/]/%15[^/]%n", p->candidate, p->part, &more) == 2 &&
           !path[n + more] && (str_eq(p->part, "source") || str_eq(p->part, "verdict"));
}

static void set_contents(struct call *c, const char *mime, const char *text, bool foreign)
{
    json_t *one = json_pack("{s:s, s:s, s:o}", "uri", call_str(c, "uri"), "mimeType", mime, "text",
                            json_text(text));
    if (foreign)
        json_object_set_new(one, "_meta", json_pack("{s:b}", "hone/untrusted", 1));
    reply_structured(&c->reply, json_pack("{s:[o]}", "contents", one));
}

static enum call_step start_result(struct call *c, const char *id, struct err *err)
{
    const struct shelf_text *t = shelf_find(&c->desk->shelf, id);
    if (!t) {
        unknown(call_str(c, "uri"), err);
        return CALL_FAILED;
    }
    set_contents(c, t->mime, t->text, true);
    return CALL_DONE;
}

static enum call_step start(struct call *c, struct err *err)
{
    const char *uri = call_str(c, "uri"), *task;
    struct place p;
    if (str_starts(uri, "hone://result/"))
        return start_result(c, uri + strlen("hone://result/"), err);
    if (str_starts(uri, "hone://task/") && !strchr(uri + strlen("hone://task/"), '/')) {
        if (host_task(&c->desk->host, uri + strlen("hone://task/"), &c->mem, &task, err) < 0)
            goto none;
        call_show_task(c, task);
        return CALL_CHILD;
    }
    if (!str_starts(uri, "hone://run/") || !read_run(uri + strlen("hone://run/"), &p) ||
        call_check_run(c, p.name, err) < 0 ||
        (*p.part && call_check_candidate(p.candidate, err) < 0))
        goto none;
    call_word(c, "show");
    call_word(c, "--json");
    call_word(c, "--");
    call_word(c, p.name);
    if (*p.part)
        call_word(c, p.candidate);
    return CALL_CHILD;
none:
    unknown(uri, err);
    return CALL_FAILED;
}

/* Returns what an author may see of `{"verdict": ...}`, or NULL if the verdict cannot be read. */
static json_t *hide(json_t *candidate)
{
    struct verdict v;
    struct err err = ERR_INIT;
    if (verdict_from_json(&v, json_object_get(candidate, "verdict"), &err) < 0)
        return NULL;
    json_t *facts = verdict_facts(&v);
    verdict_release(&v);
    return facts;
}

static enum call_step finish(struct call *c, struct err *err)
{
    const char *uri = call_str(c, "uri");
    struct strbuf text = STRBUF_INIT(32 << 20);
    json_t *j = call_output(c, err);
    enum call_step step = CALL_DONE;
    if (!j) {
        unknown(uri, err);
        return CALL_FAILED;
    }
    if (str_starts(uri, "hone://run/") && str_ends(uri, "/source")) {
        set_contents(c, "text/x-cuda", json_string_value(json_object_get(j, "source")), true);
        goto out;
    }
    if (str_starts(uri, "hone://run/") && str_ends(uri, "/verdict")) {
        json_t *facts = hide(j);
        json_decref(j);
        j = facts;
    } else if (str_starts(uri, "hone://task/")) {
        task_hide_held_out(j);
    }
    if (!j) {
        unknown(uri, err);
        step = CALL_FAILED;
    } else {
        json_add_text(&text, j, true);
        set_contents(c, "application/json", text.buf, true);
    }
out:
    json_decref(j);
    strbuf_release(&text);
    return step;
}

const struct tool resource_reader = {"resources/read", start, finish};

json_t *resource_list(void)
{
    struct arena a = ARENA_INIT;
    const char **names;
    size_t n = task_builtin_names(&a, &names);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list,
                              json_pack("{s:o, s:s, s:s}", "uri",
                                        json_text(arena_printf(&a, "hone://task/%s", names[i])),
                                        "name", names[i], "mimeType", "application/json"));
    arena_release(&a);
    return list;
}
