/*
 * reader.c - reads values out of JSON, and reports each problem with its line and column.
 */
#include "task/reader.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/options.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "sys/json.h"

#define NAME_MAX_LEN 64

static void add_problem(struct problem_log *r, const char *place, const char *text)
{
    if (r->n++ < PROBLEMS_MAX)
        vec_push(r->out)->text = xasprintf("%s%s: %s", r->file, place, text);
    else if (r->n == PROBLEMS_MAX + 1)
        vec_push(r->out)->text = xasprintf("%s: more problems follow; fix these first", r->file);
}

static void report_va(struct problem_log *r, const char *pointer, bool at_key, size_t within,
                      const char *fmt, va_list ap)
{
    struct json_place place = {0, 0};
    struct strbuf text = STRBUF_INIT(1500), where = STRBUF_INIT(64);
    if (r->n < PROBLEMS_MAX && json_find_place(r->text, r->len, pointer, at_key, &place))
        strbuf_addf(&where, ":%u:%zu", place.line, place.column + within);
    strbuf_vaddf(&text, fmt, ap);
    add_problem(r, where.buf, text.buf);
    strbuf_release(&text);
    strbuf_release(&where);
}

void problem_at(struct problem_log *r, const char *pointer, bool at_key, size_t within,
                const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report_va(r, pointer, at_key, within, fmt, ap);
    va_end(ap);
}

/* Reports err as a problem. err's message already names the file, and the line and column if they
 * are known. */
static void problem_from_err(struct problem_log *r, const struct err *err)
{
    r->n++;
    vec_push(r->out)->text = xstrdup(err->msg);
}

bool json_node_root(struct json_node *out, struct problem_log *r, struct arena *a)
{
    struct err err = ERR_INIT;
    struct json_caps caps = {.max_bytes = TASK_MAX_TEXT, .max_depth = 32};
    json_t *j = json_read_text(r->text, r->len, r->file, &caps, &err);
    *out = (struct json_node){r, a, j, ""};
    if (!j) {
        problem_from_err(r, &err);
        return false;
    }
    if (!json_is_object(j)) {
        json_node_bad(out, "expected an object in braces");
        json_node_root_release(out);
        return false;
    }
    return true;
}

void json_node_root_release(struct json_node *root)
{
    json_decref((json_t *)root->j);
    root->j = NULL;
}

void json_node_bad(const struct json_node *n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report_va(n->r, n->path, false, 0, fmt, ap);
    va_end(ap);
}

void json_node_bad_key(const struct json_node *n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report_va(n->r, n->path, true, 0, fmt, ap);
    va_end(ap);
}

struct task_place json_node_place(const struct json_node *n)
{
    struct json_place p = {0, 0};
    json_find_place(n->r->text, n->r->len, n->path, false, &p);
    return (struct task_place){p.line, p.column};
}

/* Appends the key to the node's JSON pointer. Escapes '~' and '/' as JSON pointers require. */
static const char *path_join(const struct json_node *n, const char *key)
{
    struct strbuf sb = STRBUF_INIT(64 << 10);
    strbuf_adds(&sb, n->path);
    strbuf_addc(&sb, '/');
    for (; *key; key++) {
        if (*key == '~')
            strbuf_adds(&sb, "~0");
        else if (*key == '/')
            strbuf_adds(&sb, "~1");
        else
            strbuf_addc(&sb, *key);
    }
    const char *path = arena_strdup(n->arena, sb.buf);
    strbuf_release(&sb);
    return path;
}

struct json_node json_node_member(const struct json_node *obj, const char *key, const json_t *value)
{
    return (struct json_node){obj->r, obj->arena, value, path_join(obj, key)};
}

struct json_node json_node_item(const struct json_node *arr, size_t i)
{
    char key[32];
    snprintf(key, sizeof key, "%zu", i);
    return json_node_member(arr, key, json_array_get(arr->j, i));
}

bool json_node_get(const struct json_node *obj, const char *key, struct json_node *out)
{
    const json_t *j = json_object_get(obj->j, key);
    if (!j)
        return false;
    *out = json_node_member(obj, key, j);
    return true;
}

bool json_node_need(const struct json_node *obj, const char *key, struct json_node *out)
{
    if (json_node_get(obj, key, out))
        return true;
    json_node_bad(obj, "missing \"%s\"", key);
    return false;
}

bool json_node_only(const struct json_node *obj, const char *const *known, size_t n)
{
    bool ok = true;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)obj->j, key, value)
    {
        bool found = false;
        for (size_t i = 0; i < n && !found; i++)
            found = str_eq(known[i], key);
        if (found)
            continue;
        ok = false;
        struct json_node at = json_node_member(obj, key, value);
        const char *near = strlen(key) <= NAME_MAX_LEN ? suggest_word(key, known, n) : NULL;
        if (near)
            json_node_bad_key(&at, "unknown key \"%.64s\"; did you mean \"%s\"?", key, near);
        else
            json_node_bad_key(&at, "unknown key \"%.64s\"", key);
    }
    return ok;
}

static const char *type_word(const json_t *j)
{
    static const char *const words[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number",  [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };
    return words[json_typeof(j)];
}

bool json_node_object(const struct json_node *n, size_t max_members)
{
    if (!json_is_object(n->j))
        json_node_bad(n, "expected an object, found %s", type_word(n->j));
    else if (json_object_size(n->j) > max_members)
        json_node_bad(n, "%zu members, more than the limit of %zu", json_object_size(n->j),
                      max_members);
    else
        return true;
    return false;
}

bool json_node_array(const struct json_node *n, size_t max_items)
{
    if (!json_is_array(n->j))
        json_node_bad(n, "expected an array, found %s", type_word(n->j));
    else if (json_array_size(n->j) > max_items)
        json_node_bad(n, "%zu items, more than the limit of %zu", json_array_size(n->j), max_items);
    else
        return true;
    return false;
}

bool json_node_str(const struct json_node *n, size_t max, const char **out)
{
    if (!json_is_string(n->j)) {
        json_node_bad(n, "expected a string, found %s", type_word(n->j));
        return false;
    }
    if (json_string_length(n->j) > max) {
        json_node_bad(n, "string of %zu bytes, more than the limit of %zu",
                      json_string_length(n->j), max);
        return false;
    }
    *out = arena_strdup(n->arena, json_string_value(n->j));
    return true;
}

bool json_node_int(const struct json_node *n, int64_t lo, int64_t hi, int64_t *out)
{
    if (!json_is_integer(n->j)) {
        json_node_bad(n, "expected an integer, found %s",
                      json_is_real(n->j) ? "a number with a fraction" : type_word(n->j));
        return false;
    }
    int64_t v = json_integer_value(n->j);
    if (v < lo || v > hi) {
        json_node_bad(n, "%lld is out of range: %lld to %lld", (long long)v, (long long)lo,
                      (long long)hi);
        return false;
    }
    *out = v;
    return true;
}

bool json_node_real(const struct json_node *n, double lo, double hi, double *out)
{
    if (!json_is_number(n->j)) {
        json_node_bad(n, "expected a number, found %s", type_word(n->j));
        return false;
    }
    double v = json_number_value(n->j);
    if (!(v >= lo && v <= hi)) {
        json_node_bad(n, "%g is out of range: %g to %g", v, lo, hi);
        return false;
    }
    *out = v;
    return true;
}

bool json_node_flag(const struct json_node *n, bool *out)
{
    if (!json_is_boolean(n->j)) {
        json_node_bad(n, "expected true or false, found %s", type_word(n->j));
        return false;
    }
    *out = json_is_true(n->j);
    return true;
}

bool json_node_word(const struct json_node *n, const char *const *words, size_t nwords, size_t *out)
{
    if (!json_is_string(n->j)) {
        json_node_bad(n, "expected a string, found %s", type_word(n->j));
        return false;
    }
    const char *s = json_string_value(n->j);
    for (size_t i = 0; i < nwords; i++)
        if (str_eq(words[i], s)) {
            *out = i;
            return true;
        }
    struct strbuf all = STRBUF_INIT(600);
    for (size_t i = 0; i < nwords; i++)
        strbuf_addf(&all, "%s%s", i ? ", " : "", words[i]);
    json_node_bad(n, "unknown \"%.64s\"; it must be one of: %s", s, all.buf);
    strbuf_release(&all);
    return false;
}

bool json_node_expr(const struct json_node *n, const char *const *names, size_t nnames,
                    struct expr **out)
{
    char digits[32];
    const char *text = digits;
    bool is_text = json_is_string(n->j);
    if (is_text) {
        text = json_string_value(n->j);
    } else if (json_is_integer(n->j)) {
        long long v = json_integer_value(n->j);
        if (v < 0) {
            json_node_bad(n, "%lld is negative", v);
            return false;
        }
        snprintf(digits, sizeof digits, "%lld", v);
    } else {
        json_node_bad(n, "expected an expression (a string or an integer), found %s",
                      type_word(n->j));
        return false;
    }
    struct err err = ERR_INIT;
    size_t col = 0;
    *out = expr_parse(text, strlen(text), names, nnames, n->arena, &col, &err);
    if (!*out)
        problem_at(n->r, n->path, false, is_text ? col + 1 : 0, "%s", err.msg);
    return *out != NULL;
}

bool json_node_name_ok(const struct json_node *n, const char *name)
{
    size_t len = strlen(name), i;
    for (i = 0; i < len && i <= NAME_MAX_LEN; i++) {
        char c = name[i];
        bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!alpha && !(i && c >= '0' && c <= '9'))
            break;
    }
    if (len && i == len && len <= NAME_MAX_LEN)
        return true;
    json_node_bad_key(
        n, "\"%.64s\" is not a name: at most %d letters, digits and _, not beginning with a digit",
        name, NAME_MAX_LEN);
    return false;
}

void problems_release(struct problem_vec *v)
{
    vec_each (struct problem, p, v)
        free(p->text);
    vec_release(v);
}
