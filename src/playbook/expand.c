/* expand.c - replaces the placeholders of a template by the values of a point and the texts of a
 * binding (book/book.h). */
#include <stdio.h>
#include <string.h>

#include "base/expr.h"
#include "base/util.h"
#include "plan/model.h"
#include "plan/plan.h"
#include "playbook/book/texts.h"
#include "playbook/cuts.h"
#include "playbook/playbook.h"
#include "sys/asset.h"

/* Returns the text for the placeholder `key`: the value of a setting, which is written into
 * `number`, or a bound text. Returns NULL if there is neither. */
static const char *placeholder(const struct playbook *pb, const struct pb_binding *b,
                               const struct pb_point *p, const char *key, size_t len,
                               char number[32])
{
    for (uint32_t i = 0; i < pb->nsettings; i++) {
        const struct pb_setting *s = &pb->settings[i];
        if (strlen(s->name) == len && memcmp(s->name, key, len) == 0) {
            snprintf(number, 32, "%lld", (long long)s->values[p->at[i]]);
            return number;
        }
    }
    return bound_text(b, key, len);
}

/* For the key "part:NAME", returns playbooks/parts/NAME.cu, which several templates share. */
static const char *shared_part(const char *key, size_t len)
{
    char path[96];
    if (len <= 5 || memcmp(key, "part:", 5) != 0)
        return NULL;
    snprintf(path, sizeof path, "playbooks/parts/%.*s.cu", (int)len - 5, key + 5);
    const struct asset *a = asset_find(path);
    return a ? a->data : NULL;
}

enum { MAX_NESTING = 8 };

/* Appends `text` with its placeholders replaced. The text of a placeholder may have placeholders
 * too; `depth` says how many such levels are still allowed. A shared part does not use up a level,
 * because it counts as text of the template. */
static int expand_text(const struct playbook *pb, const struct pb_binding *b,
                       const struct pb_point *p, const char *text, unsigned depth,
                       struct strbuf *out, struct err *err)
{
    unsigned line = 1;
    for (const char *s = text; *s;) {
        char number[32];
        if (s[0] != '@' || s[1] != '{') {
            line += *s == '\n';
            strbuf_addc(out, *s++);
            continue;
        }
        const char *end = strchr(s, '}');
        size_t len = end ? (size_t)(end - s) - 2 : 0;
        const char *v = end ? placeholder(pb, b, p, s + 2, len, number) : NULL;
        bool part = end && !v;
        if (part)
            v = shared_part(s + 2, len);
        if (!v)
            return err_set(err, ERR_INPUT,
                           "playbook %s, kernel.cu:%u: the placeholder '@{%.*s}' has no text",
                           pb->name, line, (int)MIN(len, 60), s + 2);
        if (depth == 0 && !part)
            strbuf_adds(out, v);
        else if (expand_text(pb, b, p, v, part ? depth : depth - 1, out, err) < 0)
            return -1;
        s = end + 1;
    }
    return 0;
}

/* Appends the lines of the code. In a line such as "constexpr int kOutputs = (128/1/8*8);", puts
 * the computed value in place of the expression. */
static void copy_code(const char *line, struct strbuf *out)
{
    static const char start[] = "constexpr int ";
    while (*line) {
        size_t n = strcspn(line, "\n");
        const char *equals = str_starts(line, start) ? memmem(line, n, " = ", 3) : NULL;
        const char *end = equals ? memchr(equals, ';', (size_t)(line + n - equals)) : NULL;
        const char *value = equals ? equals + 3 : NULL;
        struct strbuf number = STRBUF_INIT(32);
        if (end && expr_simplify(value, (size_t)(end - value), &number) && !number.truncated &&
            number.buf[strspn(number.buf, "0123456789")] == '\0') {
            strbuf_add(out, line, (size_t)(value - line));
            strbuf_adds(out, number.buf);
            n -= (size_t)(end - line);
            line = end;
        }
        n += line[n] == '\n';
        strbuf_add(out, line, n);
        strbuf_release(&number);
        line += n;
    }
}

int playbook_expand(const struct playbook *pb, const struct pb_binding *b, const struct pb_point *p,
                    struct strbuf *out, struct err *err)
{
    struct strbuf text = STRBUF_INIT(PLAN_MAX_SOURCE);
    struct pb_binding cut = PB_BINDING_INIT;
    bool same = binding_has_cuts_of(pb, b, p);
    int rc = same ? 0 : bind_cuts_of(pb, b, p, &cut, err);
    if (rc == 0)
        rc = expand_text(pb, same ? b : &cut, p, pb->template, MAX_NESTING, &text, err);
    pb_binding_release(&cut);
    out->truncated |= text.truncated;
    const char *plan, *end;
    if (rc == 0 && plan_find(text.buf, &plan, &end)) {
        strbuf_add(out, text.buf, (size_t)(plan - text.buf));
        plan_simplify(plan, (size_t)(end - plan), out);
        copy_code(end, out);
    } else if (rc == 0) {
        strbuf_add(out, text.buf, text.len);
    }
    strbuf_release(&text);
    if (rc < 0)
        return -1;
    return out->truncated ? err_set(err, ERR_LIMIT, "playbook %s: the kernel is too long", pb->name)
                          : 0;
}
