/* tester.c - reads the tester's reply and adds its cases to a copy of the task. See tester.h. */
#include "agent/tester.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "sys/json.h"

/* Caps, because a hostile reply may contain megabytes of braces or very many cases. */
enum { MAX_BRACES = 100, MAX_LOOKED_AT = 8 * TESTER_MAX_CASES };

/* Finds the first JSON object with "cases" in a reply, inside or outside a code fence. */
static json_t *find_json(const char *reply)
{
    unsigned tries = 0;
    for (const char *p = reply; (p = strchr(p, '{')) && tries < MAX_BRACES; p++, tries++) {
        json_t *j = json_loads(p, JSON_DISABLE_EOF_CHECK, NULL);
        if (json_is_object(j) && json_object_get(j, "cases"))
            return j;
        json_decref(j);
    }
    return NULL;
}

static void problems_free(struct problem_vec *v)
{
    vec_each (struct problem, p, v)
        free(p->text);
    vec_release(v);
}

/* Makes a copy of the task with these cases added to its workloads. Returns NULL if the task's
 * loader refuses the copy. */
static struct task *with_cases(const struct task *t, const json_t *cases, struct strbuf *notes)
{
    struct problem_vec problems = VEC_INIT;
    struct task *x = NULL;
    json_t *root = json_read_text(t->text, strlen(t->text), t->file, NULL, NULL), *c;
    size_t i;
    if (!root)
        return NULL;
    json_array_foreach(cases, i, c)
    {
        json_t *w = json_pack("{s:s, s:O}", "role", "check", "axes", json_object_get(c, "axes"));
        static const char *const extras[] = {"align_bytes", "offset_elems"};
        for (size_t k = 0; w && k < ARRAY_LEN(extras); k++)
            if (json_integer_value(json_object_get(c, extras[k])) > 0)
                json_object_set(w, extras[k], json_object_get(c, extras[k]));
        json_array_append_new(json_object_get(root, "workloads"), w);
    }
    char *text = json_dumps(root, JSON_COMPACT);
    if (text)
        x = task_parse(text, strlen(text), t->file, t->reference_c, &problems);
    if (x) {
        x->dir = arena_strdup(&x->arena, t->dir);
        x->naive_cu = t->naive_cu ? arena_strdup(&x->arena, t->naive_cu) : NULL;
        x->is_copy = t->is_copy;
    }
    if (!x && problems.n && notes)
        strbuf_addf(notes, " (%.200s)", problems.items[0].text);
    problems_free(&problems);
    json_decref(root);
    free(text);
    return x;
}

static bool small_and_valid(const struct task *x, struct strbuf *notes)
{
    struct arena mem = ARENA_INIT;
    struct err err = ERR_INIT;
    struct shape s;
    const struct task_workload *last = &x->workloads.items[x->workloads.n - 1];
    bool ok = shape_resolve(&s, x, last, 1, &mem, &err) == 0;
    uint64_t total = 0;
    for (size_t i = 0; ok && i < x->tensors.n; i++)
        total = s.elems[i] > TESTER_MAX_ELEMS ? UINT64_MAX / 2 : total + s.elems[i];
    if (!ok)
        strbuf_addf(notes, " (%.200s)", err.msg);
    else if (total > TESTER_MAX_ELEMS) {
        strbuf_addf(notes, " (more than %u elements)", TESTER_MAX_ELEMS);
        ok = false;
    }
    arena_release(&mem);
    return ok;
}

static bool one_value_per_axis(const struct task *t, const json_t *axes)
{
    if (!json_is_object(axes))
        return false;
    vec_each (struct task_axis, x, &t->axes)
        if (!x->is_const && !json_is_integer(json_object_get(axes, x->name)))
            return false;
    return true;
}

struct task *task_with_tester_cases(const struct task *t, const char *reply, struct strbuf *notes)
{
    json_t *root = find_json(reply), *good = json_array(), *c;
    struct task *x = NULL;
    size_t i;
    if (!root)
        strbuf_adds(notes, "the tester's reply holds no cases\n");
    json_array_foreach(json_object_get(root, "cases"), i, c)
    {
        if (i == MAX_LOOKED_AT) {
            strbuf_addf(notes, "left out: all after the first %d cases\n", MAX_LOOKED_AT);
            break;
        }
        char *axes = json_dumps(json_object_get(c, "axes"), JSON_COMPACT | JSON_ENCODE_ANY);
        struct strbuf why = STRBUF_INIT(512);
        json_t *single = json_pack("[O]", c);
        struct task *one = NULL;
        if (json_array_size(good) == TESTER_MAX_CASES)
            strbuf_adds(&why, " (enough cases)");
        else if (!one_value_per_axis(t, json_object_get(c, "axes")))
            strbuf_adds(&why, " (give every axis one number)");
        else
            one = with_cases(t, single, &why);
        bool ok = one && small_and_valid(one, &why);
        if (ok)
            json_array_append(good, c);
        strbuf_addf(notes, "%s %s%s\n", ok ? "taken:" : "left out:", axes ? axes : "?", why.buf);
        task_free(one);
        json_decref(single);
        strbuf_release(&why);
        free(axes);
    }
    if (json_array_size(good))
        x = with_cases(t, good, notes);
    json_decref(good);
    json_decref(root);
    return x;
}
