/* expand.c - replaces the placeholders of a template by the values of a point and the texts of a
 * binding. A point has one value for each setting, and a binding has the texts for one task
 * (book/book.h). */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "playbook/book/texts.h"
#include "playbook/playbook.h"
#include "sys/asset.h"

/* Returns the text of a placeholder: the value of a setting, written into `number`, or a bound
 * text. NULL if there is neither.
 */
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

/* If the key is "part:NAME", returns the text of playbooks/parts/NAME.cu, which several templates
 * share. */
static const char *shared_part(const char *key, size_t len)
{
    char path[96];
    if (len <= 5 || memcmp(key, "part:", 5) != 0)
        return NULL;
    snprintf(path, sizeof path, "playbooks/parts/%.*s.cu", (int)len - 5, key + 5);
    const struct asset *a = asset_find(path);
    return a ? a->data : NULL;
}

/* How deep placeholders may be nested in the texts of placeholders. */
enum { MAX_NESTING = 8 };

/* Expands a text. The text of a placeholder may contain placeholders; `depth` says how many levels
 * are left. A shared part does not use up a level, because it is treated like text of the template.
 */
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

int playbook_expand(const struct playbook *pb, const struct pb_binding *b, const struct pb_point *p,
                    struct strbuf *out, struct err *err)
{
    if (expand_text(pb, b, p, pb->template, MAX_NESTING, out, err) < 0)
        return -1;
    return out->truncated ? err_set(err, ERR_LIMIT, "playbook %s: the kernel is too long", pb->name)
                          : 0;
}
