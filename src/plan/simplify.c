/* simplify.c - finds a launch plan in a file, and writes it in a shorter way (plan.h). */
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/expr.h"
#include "base/util.h"
#include "plan/model.h"
#include "plan/plan.h"

/* Returns the position behind the string's second quote, or `end` if there is none. */
static const char *string_end(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        p += *p == '\\' && p + 1 < end;
    return p < end ? p + 1 : end;
}

/* Is the string that ends at `p` a key? */
static bool is_key(const char *p, const char *end)
{
    while (p < end && strchr(" \t\r\n", *p))
        p++;
    return p < end && *p == ':';
}

static bool spells(const char *p, const char *end, const char *word)
{
    return (size_t)(end - p) == strlen(word) && memcmp(p, word, strlen(word)) == 0;
}

/* State of a pass over a plan, which calls `act` for each string that is no key. */
struct strings {
    void (*act)(struct strings *s, const char *p, const char *end); /* [p, end) has the quotes */
    const char *key, *key_end; /* the key before the string, without quotes */
    struct strbuf *out;        /* each_string() appends all other text to it; may be NULL */
    struct strbuf names;       /* each name of an integer once, with a blank before and after */
};

static void each_string(struct strings *s, const char *p, const char *end)
{
    s->key = s->key_end = p;
    while (p < end) {
        const char *to = *p == '"' ? string_end(p, end) : p + 1;
        bool string = *p == '"' && to - p >= 2 && to[-1] == '"', key = string && is_key(to, end);
        if (string && !key)
            s->act(s, p, to);
        else if (s->out)
            strbuf_add(s->out, p, (size_t)(to - p));
        if (key) {
            s->key = p + 1;
            s->key_end = to - 1;
        }
        p = to;
    }
}

/* Under these keys there are only expressions of integers. */
static bool is_integer_key(const struct strings *s)
{
    static const char *const keys[] = {"grid",  "block", "cluster", "smem",        "when",
                                       "bytes", "value", "offset",  "from_offset", "to_offset",
                                       "box",   "dims",  "strides", "elem_strides"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (spells(s->key, s->key_end, keys[i]))
            return true;
    return false;
}

static const char *word_end(const char *p, const char *end)
{
    while (p < end && (isalnum((unsigned char)*p) || *p == '_'))
        p++;
    return p;
}

static bool is_listed(struct strbuf *names, const char *p, const char *end, bool add)
{
    char name[EXPR_MAX_LEN];
    int n = snprintf(name, sizeof name, " %.*s ", (int)(end - p), p);
    bool listed = n < (int)sizeof name && memmem(names->buf, names->len, name, (size_t)n);
    if (!listed && add)
        strbuf_adds(names, name);
    return listed;
}

static void note_names(struct strings *s, const char *p, const char *end)
{
    if (!is_integer_key(s))
        return;
    for (const char *to; p < end; p = MAX(to, p + 1))
        if ((to = word_end(p, end)) > p)
            is_listed(&s->names, p, to, true);
}

/* Are all names in the argument known names of integers? Any other name may stand for a real
 * number. */
static bool has_integers_only(struct strings *s, const char *p, const char *end)
{
    for (const char *to; p < end; p = MAX(to, p + 1)) {
        to = word_end(p, end);
        bool name = to > p && !isdigit((unsigned char)*p) && *to != '(';
        if (name && !is_listed(&s->names, p, to, false))
            return false;
    }
    return true;
}

static void copy_string(struct strings *s, const char *p, const char *end)
{
    struct strbuf text = STRBUF_INIT(EXPR_MAX_LEN + 1);
    bool integer = is_integer_key(s) ||
                   (spells(s->key, s->key_end, "args") && has_integers_only(s, p + 1, end - 1));
    if (integer && expr_simplify(p + 1, (size_t)(end - p) - 2, &text))
        strbuf_addf(s->out, "\"%s\"", text.buf);
    else
        strbuf_add(s->out, p, (size_t)(end - p));
    strbuf_release(&text);
}

/* Copies the plan with shorter expressions of integers. An argument of a kernel can be real. So we
 * shorten an argument only if all its names also occur under keys where a real number would be an
 * error. */
static void copy_strings(const char *p, const char *end, struct strbuf *out)
{
    struct strings s = {.act = note_names, .names = STRBUF_INIT(1 << 16)};
    each_string(&s, p, end);
    s.act = copy_string;
    s.out = out;
    each_string(&s, p, end);
    strbuf_release(&s.names);
}

/* Returns the position behind the object that begins at p, or NULL if it has no end. */
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

/* Copies the launch [p, end). Leaves out the key "when" if its value is "1". */
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

static bool never_runs(const json_t *launch)
{
    const char *when = json_string_value(json_object_get(launch, "when"));
    return when && str_eq(when, "0");
}

static bool some_run(const json_t *launches)
{
    bool some = false;
    size_t i;
    json_t *l;
    json_array_foreach((json_t *)launches, i, l)
    {
        if (!json_is_object(l)) /* no plan: copy_launches() does not know where the value ends */
            return false;
        some |= !never_runs(l);
    }
    return some;
}

/* Returns the plan's key "launches", or NULL. If there are several, JSON takes the last. Skips
 * strings, and keys of inner objects, with the same text. */
static const char *launches_key(const char *p, const char *end)
{
    const char *key = NULL;
    for (size_t depth = 0; p < end;) {
        const char *to = *p == '"' ? string_end(p, end) : p + 1;
        depth += *p == '{' || *p == '[';
        depth -= depth && (*p == '}' || *p == ']');
        if (depth == 1 && spells(p, to, "\"launches\"") && is_key(to, end))
            key = p;
        p = to;
    }
    return key;
}

static void copy_launches(const char *plan, size_t len, struct strbuf *out)
{
    json_t *j = json_loadb(plan, len, 0, NULL), *launches = json_object_get(j, "launches");
    const char *p = plan, *end = plan + len, *key = launches_key(plan, end);
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
