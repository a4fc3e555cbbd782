/* describe.c - words for changes of settings (describe.h). */
#include "author/proposal/describe.h"

#include "base/util.h"

void describe_point(const struct playbook *pb, const struct pb_point *before,
                    const struct pb_point *after, struct strbuf *out)
{
    const char *between = "";
    for (uint32_t i = 0; i < pb->nsettings; i++) {
        const struct pb_setting *s = &pb->settings[i];
        if (before->at[i] == after->at[i])
            continue;
        strbuf_addf(out, "%s%s %lld -> %lld", between, s->name, (long long)s->values[before->at[i]],
                    (long long)s->values[after->at[i]]);
        between = ", ";
    }
}

/* Returns the range of `before` in which the largest size of range i of `after` lies. If range i
 * has no end, this is the last range of `before`. */
static uint32_t range_before(const struct pb_ranges *before, const struct pb_ranges *after,
                             uint32_t i)
{
    return ranges_choose(before, after->items[i].to);
}

void describe_ranges(const struct playbook *pb, const struct pb_ranges *before,
                     const struct pb_ranges *after, struct strbuf *out)
{
    bool comparable = before->n == 1 || after->n == 1 || str_eq(before->axis, after->axis);
    const char *between = "";
    for (uint32_t i = 0; i < after->n; i++) {
        struct strbuf change = STRBUF_INIT(4096);
        if (comparable)
            describe_point(pb, &before->items[range_before(before, after, i)].point,
                           &after->items[i].point, &change);
        if (change.len || !comparable) {
            strbuf_adds(out, between);
            if (after->n > 1)
                ranges_print_condition(after, i, out);
            strbuf_addf(out, "%s%s", after->n > 1 ? ": " : "",
                        comparable ? change.buf : "settings of its own");
            between = "; ";
        }
        strbuf_release(&change);
    }
    if (!*between)
        strbuf_addf(out, "other ranges of %s", after->axis);
}
