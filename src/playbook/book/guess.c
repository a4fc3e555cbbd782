/* guess.c - guesses first values for the settings of a playbook from the sizes of a task. Also
 * evaluates the playbook's condition `fits`. book.h explains points. */
#include <string.h>

#include "base/util.h"
#include "playbook/book/texts.h"

enum { MAX_AXES = 64, MAX_DEPTH = 8 };

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

/* Sets *out to the timed shape with the largest product of axes. Returns false if there is no timed
 * shape. */
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

uint32_t playbook_setting(const struct playbook *pb, uint32_t n, const char *name, size_t len)
{
    uint32_t i = 0;
    while (i < n &&
           (strlen(pb->settings[i].name) != len || memcmp(pb->settings[i].name, name, len) != 0))
        i++;
    return i;
}

/* Appends the expression with its placeholders filled in. A placeholder stands for a text of the
 * binding, or for the value of one of the first n settings at the point p. A text may hold
 * placeholders too; `depth` counts these levels. Returns false if the expression has another
 * placeholder, or if there are too many levels. */
static bool fill_in(const struct playbook *pb, const struct pb_binding *b, const char *expression,
                    const struct pb_point *p, uint32_t n, unsigned depth, struct strbuf *out)
{
    for (const char *s = expression; *s;) {
        const char *end = s[0] == '@' && s[1] == '{' ? strchr(s, '}') : NULL;
        if (!end) {
            strbuf_addc(out, *s++);
            continue;
        }
        size_t len = (size_t)(end - s) - 2;
        const char *text = bound_text(b, s + 2, len);
        uint32_t i = playbook_setting(pb, n, s + 2, len);
        if (text && depth < MAX_DEPTH) {
            strbuf_addc(out, '(');
            if (!fill_in(pb, b, text, p, n, depth + 1, out))
                return false;
            strbuf_addc(out, ')');
        } else if (!text && i < n) {
            strbuf_addf(out, "%lld", (long long)pb->settings[i].values[p->at[i]]);
        } else {
            return false;
        }
        s = end + 1;
    }
    return !out->truncated;
}

static bool compute(const struct playbook *pb, const struct pb_binding *b, const char *expression,
                    const struct pb_point *p, uint32_t n, const struct shape *shape, int64_t *out)
{
    struct strbuf text = STRBUF_INIT(EXPR_MAX_LEN);
    struct arena mem = ARENA_INIT;
    struct err err = ERR_INIT;
    size_t column;
    bool ok = fill_in(pb, b, expression, p, n, 0, &text);
    struct expr *e =
        ok ? expr_parse(text.buf, text.len, shape->names, shape->n, &mem, &column, &err) : NULL;
    ok = e && expr_eval(e, &(struct expr_env){.values = shape->values}, out, &err) == 0;
    strbuf_release(&text);
    arena_release(&mem);
    return ok;
}

bool playbook_fits(const struct playbook *pb, const struct pb_binding *b, const struct pb_point *p)
{
    const struct shape none = {.n = 0};
    int64_t yes = 0;
    return !pb->fits || (compute(pb, b, pb->fits, p, pb->nsettings, &none, &yes) && yes);
}

/* Returns 1 + the index of the value of setting i that suits the shape, or 0 if the setting's
 * `guess` cannot be computed. */
static uint8_t guess(const struct playbook *pb, struct pb_binding *b, uint32_t i,
                     const struct shape *shape)
{
    const struct pb_setting *s = &pb->settings[i];
    struct pb_point p = {{0}};
    int64_t want = 0;
    for (uint32_t k = 0; k < i; k++)
        p.at[k] = b->guessed[k] ? b->guessed[k] - 1 : (uint8_t)pb->settings[k].start;
    if (!compute(pb, b, s->guess, &p, i, shape, &want))
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
