/* simplify.c - finds a launch plan in a file, and writes it in a shorter way. See plan.h. */
#include <jansson.h>
#include <string.h>

#include "base/expr.h"
#include "base/util.h"
#include "plan/model.h"
#include "plan/plan.h"

/* Returns the end of the JSON string that begins at `p`: the position behind its second quote.
 * Returns `end` if there is no second quote. */
static const char *string_end(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        p += *p == '\\' && p + 1 < end;
    return p < end ? p + 1 : end;
}

/* Copies the plan, with every string that is an expression in its shorter form. */
static void copy_strings(const char *p, const char *end, struct strbuf *out)
{
    while (p < end) {
        if (*p != '"') {
            strbuf_addc(out, *p++);
            continue;
        }
        const char *to = string_end(p, end);
        size_t n = (size_t)(to - p);
        struct strbuf text = STRBUF_INIT(EXPR_MAX_LEN + 1);
        if (n > 2 && to[-1] == '"' && expr_simplify(p + 1, n - 2, &text))
            strbuf_addf(out, "\"%s\"", text.buf);
        else
            strbuf_add(out, p, n);
        strbuf_release(&text);
        p = to;
    }
}

/* Returns the end of the JSON object that begins at `p`, or NULL if it has none. */
static const char *object_end(const char *p, const char *end)
{
    for (size_t depth = 0; p < end;) {
        depth += *p == '{';
        depth -= *p == '}';
        if (!depth)
            return p + 1;
        p = *p == '"' ? string_end(p, end) : p + 1;
    }
    return NULL;
}

/* Copies a launch without the condition "1". */
static void copy_launch(const char *p, const char *end, struct strbuf *out)
{
    static const char always[] = "\"when\": \"1\",";
    const char *at = memmem(p, (size_t)(end - p), always, sizeof always - 1);
    if (at) {
        strbuf_add(out, p, (size_t)(at - p));
        p = at + sizeof always - 1;
        p += strspn(p, " \n");
    }
    strbuf_add(out, p, (size_t)(end - p));
}

/* Whether the launch has the condition "0". */
static bool never_runs(const json_t *launch)
{
    const char *when = json_string_value(json_object_get(launch, "when"));
    return when && str_eq(when, "0");
}

static bool some_run(const json_t *launches)
{
    size_t i;
    json_t *l;
    json_array_foreach((json_t *)launches, i, l)
    {
        if (!never_runs(l))
            return true;
    }
    return false;
}

/* Copies the plan without launches that never run. */
static void copy_launches(const char *plan, size_t len, struct strbuf *out)
{
    json_t *j = json_loadb(plan, len, 0, NULL), *launches = json_object_get(j, "launches");
    const char *p = plan, *end = plan + len, *key = memmem(plan, len, "\"launches\"", 10);
    const char *object = key ? memchr(key, '{', (size_t)(end - key)) : NULL, *to;
    size_t kept = 0, n = some_run(launches) ? json_array_size(launches) : 0;
    if (object && n) {
        strbuf_add(out, plan, (size_t)(object - plan));
        p = object;
    }
    for (size_t i = 0; i < n && object && (to = object_end(object, end)); i++) {
        if (!never_runs(json_array_get(launches, i))) {
            strbuf_adds(out, kept++ ? ",\n    " : "");
            copy_launch(object, to, out);
        }
        p = to;
        object = memchr(to, '{', (size_t)(end - to));
    }
    strbuf_add(out, p, (size_t)(end - p));
    json_decref(j);
}

bool plan_find(const char *source, const char **from, const char **end)
{
    static const char begin[] = "/* hone-plan";
    const char *at = strstr(source, begin);
    *from = at ? at + sizeof begin - 1 : NULL;
    *end = at ? strstr(*from, "*/") : NULL;
    return *end != NULL;
}

void plan_simplify(const char *plan, size_t len, struct strbuf *out)
{
    struct strbuf text = STRBUF_INIT(PLAN_MAX_SOURCE);
    copy_strings(plan, plan + len, &text);
    copy_launches(text.buf, text.len, out);
    out->truncated |= text.truncated;
    strbuf_release(&text);
}
