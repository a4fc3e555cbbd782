/* guess.c - computes the values with which settings begin from the sizes of a task. */
#include <string.h>

#include "base/util.h"
#include "playbook/book/texts.h"

enum { MAX_AXES = 64 };

/* The axes of a timed shape. */
struct shape {
    const char *names[MAX_AXES];
    int64_t values[MAX_AXES];
    size_t n;
    double product;
};

static struct shape read_shape(const json_t *workload)
{
    struct shape s = {.product = 1};
    const char *name;
    json_t *v;
    json_object_foreach(json_object_get(workload, "axes"), name, v)
    {
        if (s.n == MAX_AXES)
            break;
        s.names[s.n] = name;
        s.values[s.n++] = json_integer_value(v);
        s.product *= (double)json_integer_value(v);
    }
    return s;
}

/* Finds the timed shape whose axes have the largest product; false if there is no timed shape. */
static bool find_largest(const json_t *task, struct shape *out)
{
    const json_t *all = json_object_get(task, "workloads");
    bool found = false;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *w = json_array_get(all, i);
        if (!str_eq(facts_text(w, "role"), "time"))
            continue;
        struct shape s = read_shape(w);
        if (!found || s.product > out->product)
            *out = s;
        found = true;
    }
    return found;
}

/* Writes a text of setting number `before` with its placeholders replaced. A placeholder is a text
 * of the binding or an earlier setting; returns false if it is neither. The text of a placeholder
 * may contain placeholders, but the texts of those may not: `depth` says how many levels are left.
 */
static bool fill_in(const struct playbook *pb, const struct pb_binding *b, uint32_t before,
                    const char *from, unsigned depth, struct strbuf *out)
{
    for (const char *s = from; *s;) {
        const char *end = s[0] == '@' && s[1] == '{' ? strchr(s, '}') : NULL;
        if (!end) {
            strbuf_addc(out, *s++);
            continue;
        }
        size_t len = (size_t)(end - s) - 2;
        const char *text = depth ? bound_text(b, s + 2, len) : NULL;
        uint32_t i = 0;
        while (
            !text && i < before &&
            (strlen(pb->settings[i].name) != len || memcmp(pb->settings[i].name, s + 2, len) != 0))
            i++;
        if (text) {
            strbuf_addc(out, '(');
            if (!fill_in(pb, b, before, text, depth - 1, out))
                return false;
            strbuf_addc(out, ')');
        } else if (i < before) {
            const struct pb_setting *t = &pb->settings[i];
            uint32_t at = b->guessed[i] ? b->guessed[i] - 1u : t->start;
            strbuf_addf(out, "%lld", (long long)t->values[at]);
        } else {
            return false;
        }
        s = end + 1;
    }
    return !out->truncated;
}

/* Returns 1 more than the index of the value that suits the shape; 0 if the guess has no value. */
static uint8_t guess(const struct playbook *pb, struct pb_binding *b, uint32_t i,
                     const struct shape *shape)
{
    const struct pb_setting *s = &pb->settings[i];
    struct strbuf text = STRBUF_INIT(EXPR_MAX_LEN);
    struct err err = ERR_INIT;
    size_t column;
    int64_t want = 0;
    bool ok = fill_in(pb, b, i, s->guess, 2, &text);
    struct expr *e =
        ok ? expr_parse(text.buf, text.len, shape->names, shape->n, &b->arena, &column, &err)
           : NULL;
    ok = e && expr_eval(e, &(struct expr_env){.values = shape->values}, &want, &err) == 0;
    strbuf_release(&text);
    if (!ok)
        return 0;
    uint32_t at = 0;
    while (at + 1 < s->n && s->values[at + 1] <= want)
        at++;
    return (uint8_t)(at + 1);
}

void guess_starts(const struct playbook *pb, const json_t *task, struct pb_binding *b)
{
    struct shape shape = {.n = 0};
    if (!find_largest(task, &shape))
        return;
    for (uint32_t i = 0; i < pb->nsettings; i++)
        if (pb->settings[i].guess)
            b->guessed[i] = guess(pb, b, i, &shape);
}
