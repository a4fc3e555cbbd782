/* settings.c - chooses the point to begin with, and the points to try next. A point has one value
 * for each setting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "playbook/book/book.h"

/* A point loses if it takes more than DOMINATED times as long as another. */
#define DOMINATED 1.05

int playbook_stage(const char *name)
{
    static const char *const names[PB_STAGES] = {"structure", "movement", "pipelining", "tuning"};
    for (int i = 0; i < PB_STAGES; i++)
        if (str_eq(names[i], name))
            return i;
    return -1;
}

bool playbook_allows(const struct playbook *pb, const struct pb_binding *b,
                     const struct pb_point *p)
{
    int64_t values[PB_MAX_SETTINGS + 1];
    for (uint32_t i = 0; i < pb->nsettings; i++)
        values[i] = pb->settings[i].values[p->at[i]];
    values[pb->nsettings] = b->elem;
    vec_each (struct expr *, x, &pb->require) {
        int64_t v;
        if (expr_eval(*x, &(struct expr_env){.values = values}, &v, NULL) < 0 || !v)
            return false;
    }
    /* load.c checks starting values without texts. Then `fits` cannot be computed. */
    return !b->texts.n || playbook_fits(pb, b, p);
}

struct pb_point playbook_start(const struct playbook *pb, const struct pb_binding *b)
{
    struct pb_point p = {{0}};
    for (uint32_t i = 0; i < pb->nsettings; i++)
        p.at[i] = b->guessed[i] ? b->guessed[i] - 1 : (uint8_t)pb->settings[i].start;
    for (uint32_t i = 0; i < pb->nsettings && !playbook_allows(pb, b, &p); i++) {
        struct pb_point lower = p;
        while (lower.at[i] && !playbook_allows(pb, b, &lower))
            lower.at[i]--;
        if (playbook_allows(pb, b, &lower))
            p = lower;
    }
    return p;
}

void playbook_code(const struct playbook *pb, const struct pb_point *p, struct strbuf *out)
{
    strbuf_addf(out, "[%s ", pb->name);
    for (uint32_t i = 0; i < pb->nsettings; i++)
        strbuf_addf(out, "%s%u", i ? "." : "", p->at[i]);
    strbuf_addc(out, ']');
}

bool playbook_uncode(const struct playbook *pb, const char *text, struct pb_point *out)
{
    size_t n = strlen(pb->name);
    for (const char *s = text; (s = strchr(s, '[')); s++) {
        if (strncmp(s + 1, pb->name, n) != 0 || s[1 + n] != ' ')
            continue;
        const char *at = s + 2 + n;
        struct pb_point p = {{0}};
        uint32_t i = 0;
        for (; i < pb->nsettings; i++) {
            char *end;
            unsigned long v = strtoul(at, &end, 10);
            if (end == at || v >= pb->settings[i].n)
                break;
            p.at[i] = (uint8_t)v;
            at = end + (*end == '.');
        }
        if (i == pb->nsettings && *at == ']') {
            *out = p;
            return true;
        }
    }
    return false;
}

bool points_equal(const struct playbook *pb, const struct pb_point *a, const struct pb_point *b)
{
    return memcmp(a->at, b->at, pb->nsettings) == 0;
}

static const struct pb_trial *find(const struct playbook *pb, const struct pb_trial_vec *tried,
                                   const struct pb_point *p)
{
    vec_each (struct pb_trial, t, tried)
        if (points_equal(pb, &t->point, p))
            return t;
    return NULL;
}

/* Did two tried points differ only in setting s, and did the one with value v lose to the one with
 * value `to`? A point that failed also loses. */
static bool lost(const struct playbook *pb, const struct pb_trial_vec *tried, uint32_t s, uint8_t v,
                 uint8_t to)
{
    vec_each (struct pb_trial, t, tried) {
        struct pb_point other = t->point;
        if (t->point.at[s] != v)
            continue;
        other.at[s] = to;
        const struct pb_trial *o = find(pb, tried, &other);
        if (o && o->time_ns > 0 && (t->time_ns <= 0 || t->time_ns > o->time_ns * DOMINATED))
            return true;
    }
    return false;
}

/* Did v, or a value between v and base's value, lose to base's value? */
static bool dominated(const struct playbook *pb, const struct pb_trial_vec *tried,
                      const struct pb_point *base, uint32_t s, uint8_t v)
{
    int step = v > base->at[s] ? 1 : -1;
    for (int x = base->at[s] + step; x != v + step; x += step)
        if (lost(pb, tried, s, (uint8_t)x, base->at[s]))
            return true;
    return false;
}

/* Lists the numbers of all settings in `out`, those of the given stage first. Returns how many
 * there are. */
static uint32_t order_settings(const struct playbook *pb, int stage, uint32_t *out)
{
    uint32_t n = 0;
    for (int k = 0; k <= PB_STAGES; k++) {
        int want = k == 0 ? stage : k - 1;
        if (k && want == stage)
            continue;
        for (uint32_t i = 0; i < pb->nsettings; i++)
            if (pb->settings[i].stage == want)
                out[n++] = i;
    }
    return n;
}

struct search {
    const struct playbook *pb;
    const struct pb_binding *b;
    const struct pb_trial_vec *tried;
    const struct pb_point *base;
    const struct pb_trial_vec *hints;
    uint32_t order[PB_MAX_SETTINGS], n; /* the order in which to try settings */
    uint32_t skip;                      /* suitable points still to pass over */
    bool postponed; /* take only points that the hints put last; if false, only the others */
};

/* Do the hints say that one of the point's values loses to base's value? */
static bool is_postponed(const struct search *x, const struct pb_point *p)
{
    for (uint32_t s = 0; s < x->pb->nsettings; s++)
        if (p->at[s] != x->base->at[s] && dominated(x->pb, x->hints, x->base, s, p->at[s]))
            return true;
    return false;
}

static bool take(struct search *x, const struct pb_point *p)
{
    return playbook_allows(x->pb, x->b, p) && !find(x->pb, x->tried, p) &&
           is_postponed(x, p) == x->postponed && x->skip-- == 0;
}

/* Tries the values of setting order[i], those nearest to base's value first. With each value, also
 * changes `more` later settings. Returns true if a point was taken. */
static bool move_setting(struct search *x, const struct pb_point *p, uint32_t i, uint32_t more,
                         struct pb_point *out)
{
    uint32_t s = x->order[i];
    int at = x->base->at[s], n = (int)x->pb->settings[s].n;
    for (int d = 1; d < n; d++)
        for (int side = 0; side < 2; side++) {
            int v = side ? at - d : at + d;
            if (v < 0 || v >= n || dominated(x->pb, x->tried, x->base, s, (uint8_t)v))
                continue;
            struct pb_point q = *p;
            q.at[s] = (uint8_t)v;
            if (!more) {
                if (take(x, &q)) {
                    *out = q;
                    return true;
                }
                continue;
            }
            for (uint32_t j = i + 1; j < x->n; j++)
                if (move_setting(x, &q, j, more - 1, out))
                    return true;
        }
    return false;
}

bool playbook_next(const struct playbook *pb, const struct pb_binding *b,
                   const struct pb_trial_vec *tried, const struct pb_point *base, int stage,
                   uint32_t k, struct pb_point *out, uint32_t *changed)
{
    static const struct pb_trial_vec none = VEC_INIT;
    return playbook_next_hinted(pb, b, tried, &none, base, stage, k, out, changed);
}

bool playbook_next_hinted(const struct playbook *pb, const struct pb_binding *b,
                          const struct pb_trial_vec *tried, const struct pb_trial_vec *hints,
                          const struct pb_point *base, int stage, uint32_t k, struct pb_point *out,
                          uint32_t *changed)
{
    struct search x = {.pb = pb, .b = b, .tried = tried, .hints = hints, .base = base, .skip = k};
    x.n = order_settings(pb, stage, x.order);
    for (int pass = 0; pass < 2; pass++) {
        x.postponed = pass;
        for (uint32_t more = 0; more < 2; more++)
            for (uint32_t i = 0; i < x.n; i++)
                if (move_setting(&x, base, i, more, out)) {
                    *changed = x.order[i];
                    return true;
                }
    }
    return false;
}
