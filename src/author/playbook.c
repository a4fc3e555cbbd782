/*
 * playbook.c - the built-in author. It answers each role from playbooks/, without a model or a key.
 *
 * Proposals depend only on the facts: the task, the candidate to improve ("node") and all
 * candidates tried. So a resumed run gets the same proposals. A move ends with the label of its
 * point, such as "[softmax 1.0.2]" (playbook/book/book.h), which tells later calls what was tried.
 * Settings in the kernel file itself (source/settings.h) come first.
 *
 * The roles code, repair and debug get the whole file for the next point; plan and advise get the
 * point in words. If no point is left, the reply is STOP.
 */
#include "playbook/playbook.h"

#include <stdlib.h>
#include <string.h>

#include "author/author.h"
#include "author/proposal/describe.h"
#include "author/proposal/split.h"
#include "author/proposal/tried.h"
#include "base/tokens.h"
#include "base/util.h"
#include "source/settings.h"

static int open_shelf(struct author *a, const char *arg, struct err *err)
{
    struct playbook_shelf *s;
    if (playbooks_open(&s, *arg ? arg : NULL, err) < 0)
        return -1;
    a->priv = s;
    return 0;
}

static void close_shelf(struct author *a)
{
    playbooks_close(a->priv);
}

/* ---- the next proposal ---------------------------------------------------------------------- */

struct proposal {
    const struct playbook *pb;
    /* The text of the kernel file whose settings the proposal tunes; then `pb` is &own. NULL if the
     * proposal is of a playbook. */
    const char *source;
    struct source_setting settings[SETTING_MAX];
    struct playbook own;
    struct pb_binding binding;
    struct pb_point point;
    struct pb_ranges table; /* if table.n > 1, ranges of shapes have these settings, not `point` */
    bool remembered;
    bool no_hints; /* memory misleads, so its slow values are not put last */
    char kind[24], move[160];
};

static bool has_table(const struct proposal *x)
{
    return x->table.n > 1;
}

static struct pb_ranges ranges_of(const struct proposal *x)
{
    return has_table(x) ? x->table : ranges_one(&x->point);
}

/* Writes the move in words, with its label, and sets its kind. `base` has the settings before the
 * move. If it is NULL, the move changes no kernel: it takes up the playbook. The kind is that of
 * the setting `changed`. */
static void describe(struct proposal *x, const struct pb_ranges *base, uint32_t changed)
{
    struct strbuf sb = STRBUF_INIT(400), code = STRBUF_INIT(400);
    struct pb_ranges now = ranges_of(x);
    ranges_code(x->pb, &now, &code);
    if (!base) {
        strbuf_addf(&sb, "playbook %s, %s", x->pb->name,
                    has_table(x)    ? "settings for ranges of shapes"
                    : x->remembered ? "a point from memory"
                                    : "starting point");
        snprintf(x->kind, sizeof x->kind, "algorithm");
    } else {
        if (now.n == 1 && base->n == 1)
            describe_point(x->pb, &base->items[0].point, &x->point, &sb);
        else
            describe_ranges(x->pb, base, &now, &sb);
        snprintf(x->kind, sizeof x->kind, "%s", x->pb->settings[changed].kind);
    }
    size_t room = sizeof x->move - 2 - code.len;
    bool cut = sb.len > room; /* dots mark the cut: half a number would look like a number */
    snprintf(x->move, sizeof x->move, "%.*s%s %s", (int)(cut ? room - 3 : sb.len), sb.buf,
             cut ? "..." : "", code.buf);
    strbuf_release(&sb);
    strbuf_release(&code);
}

static bool follow_advice(struct proposal *x, const json_t *facts)
{
    struct bound_book book = {x->pb, &x->binding, json_object_get(facts, "task")};
    struct pb_ranges r;
    if (!ranges_uncode(x->pb, facts_text(facts, "advice"), &r) || !ranges_allows(&book, &r))
        return false;
    x->point = r.items[0].point;
    x->table = r;
    return true;
}

/* Sets *out to a point from memory. A setting that `settings` does not name gets its value in
 * `start`. Returns false if the playbook lacks one of the named settings or values. */
static bool read_remembered(const struct playbook *pb, const json_t *settings,
                            const struct pb_point *start, struct pb_point *out)
{
    size_t named = 0;
    *out = *start;
    for (uint32_t i = 0; i < pb->nsettings; i++) {
        const struct pb_setting *s = &pb->settings[i];
        const json_t *v = json_object_get(settings, s->name);
        uint32_t k = 0;
        while (v && k < s->n && s->values[k] != json_integer_value(v))
            k++;
        if (v && k == s->n)
            return false;
        out->at[i] = v ? (uint8_t)k : out->at[i];
        named += v != NULL;
    }
    return named == json_object_size(settings);
}

/* Appends a trial for each point of this playbook in memory. Memory has gains, not times. Only the
 * ratios of times matter, so a trial's time is 1 / gain. */
static void read_hints(const struct playbook *pb, const json_t *facts, const struct pb_point *start,
                       struct pb_trial_vec *out)
{
    const json_t *points = json_object_get(facts, "memory");
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *j = json_array_get(points, i);
        double gain = json_number_value(json_object_get(j, "gain"));
        struct pb_point p;
        if (str_eq(facts_text(j, "playbook"), pb->name) && gain > 0 &&
            read_remembered(pb, json_object_get(j, "settings"), start, &p))
            *vec_push(out) = (struct pb_trial){p, 1 / gain};
    }
}

/* Returns the first setting that has different values in the two tables. It gives the move its
 * kind. */
static uint32_t first_change(const struct playbook *pb, const struct pb_ranges *a,
                             const struct pb_ranges *b)
{
    for (uint32_t s = 0; s < pb->nsettings; s++)
        for (uint32_t i = 0; i < b->n; i++) {
            uint32_t k = ranges_choose(a, b->items[i].to);
            if (a->items[k].point.at[s] != b->items[i].point.at[s])
                return s;
        }
    return 0;
}

/* Proposes a table. The best table that the times so far promise comes first. Then come changes of
 * one range of `base`, if `base` has several ranges. */
static bool propose_table(struct proposal *x, const json_t *facts, const struct pb_ranges *base,
                          int stage, uint32_t *k)
{
    struct bound_book book = {x->pb, &x->binding, json_object_get(facts, "task")};
    struct shape_times t;
    uint32_t range, changed = 0;
    shape_times_read(&book, facts, &t);
    bool found = split_best(&book, &t, base, &x->table) && (*k)-- == 0;
    if (found)
        changed = first_change(x->pb, base, &x->table);
    else if (base->n > 1)
        found = split_next(&book, &t, base, stage, k, &x->table, &range, &changed);
    shape_times_release(&t);
    if (found)
        describe(x, base, changed);
    else
        x->table.n = 0;
    return found;
}

/* Proposes a point, the same for all shapes. */
static bool propose_point(struct proposal *x, const json_t *facts, const struct pb_point *from,
                          const struct pb_point *start, const struct pb_trial_vec *tried, int stage,
                          uint32_t k)
{
    struct pb_ranges base = ranges_one(from);
    struct pb_trial_vec hints = VEC_INIT;
    uint32_t changed = 0;
    if (!x->no_hints)
        read_hints(x->pb, facts, start, &hints);
    bool found = playbook_next_hinted(x->pb, &x->binding, tried, &hints, from, stage, k, &x->point,
                                      &changed);
    vec_release(&hints);
    if (found)
        describe(x, &base, changed);
    return found;
}

/* Proposes settings of the playbook x->pb. *k is 0 for the best next settings, 1 for the second
 * best, and so on. If there are fewer proposals, returns false and may lower *k by their number.
 * *known becomes true if the candidate to improve, or the best kernel, is of this playbook. */
static bool propose_from(struct proposal *x, const json_t *facts, uint32_t *k, bool *known)
{
    struct bound_book book = {x->pb, &x->binding, json_object_get(facts, "task")};
    struct pb_trial_vec tried = VEC_INIT;
    struct pb_ranges base;
    struct pb_point start = playbook_start(x->pb, &x->binding);
    int stage = MAX(playbook_stage(facts_text(facts, "stage")), 0);
    tried_points(x->pb, facts, &tried);
    *known = base_ranges(&book, facts, &base);
    bool found = false;
    if (follow_advice(x, facts)) {
        bool tables = *known && (base.n > 1 || has_table(x));
        describe(x, *known ? &base : NULL, tables ? first_change(x->pb, &base, &x->table) : 0);
        found = true;
    } else if (!tried.n && !*known) {
        found = *k == 0;
        x->point = start;
        *k -= *k > 0;
        if (found)
            describe(x, NULL, 0);
    }
    if (!found && *known)
        found = propose_table(x, facts, &base, stage, k);
    if (!found && (!*known || base.n == 1))
        found = propose_point(x, facts, *known ? &base.items[0].point : &start, &start, &tried,
                              stage, *k);
    vec_release(&tried);
    return found;
}

/* ---- settings of a kernel file ------------------------------------------------------------- */

_Static_assert(SETTING_MAX <= PB_MAX_SETTINGS && SETTING_MAX_VALUES <= PB_MAX_VALUES,
               "a file's settings fit a playbook");

static bool own_settings(struct proposal *x, const char *source)
{
    size_t n = source_settings(source, strlen(source), x->settings);
    x->own = (struct playbook){.name = "settings",
                               .about = "The kernel with other values of its settings",
                               .class = "",
                               .template = "",
                               .nsettings = (uint32_t)n};
    for (size_t i = 0; i < n; i++) {
        struct pb_setting *s = &x->own.settings[i];
        *s = (struct pb_setting){.name = x->settings[i].name,
                                 .kind = "tuning",
                                 .why = "a setting of the file",
                                 .stage = playbook_stage("tuning"),
                                 .n = x->settings[i].n,
                                 .start = x->settings[i].at};
        memcpy(s->values, x->settings[i].values, sizeof x->settings[i].values);
    }
    x->source = source;
    x->pb = &x->own;
    return n > 0;
}

/* Adds to `tried` the candidates whose source is in the facts, such as the user's file. They have
 * no label. */
static void add_given(const struct playbook *own, const json_t *facts, struct pb_trial_vec *tried)
{
    const json_t *all = json_object_get(facts, "tried");
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *n = json_array_get(all, i), *v = json_object_get(n, "verdict");
        const char *source = facts_text(n, "source");
        struct proposal given = {.pb = NULL};
        if (!*source || !own_settings(&given, source) || given.own.nsettings != own->nsettings)
            continue;
        *vec_push(tried) = (struct pb_trial){
            playbook_start(&given.own, &given.binding),
            node_passes_facts(n) ? json_number_value(json_object_get(v, "time_ns")) : 0};
    }
}

static bool propose_settings(struct proposal *x, const json_t *facts, uint32_t *k)
{
    const json_t *node = json_object_get(facts, "node"), *best = json_object_get(facts, "best");
    const json_t *from = node_passes_facts(node) || !best ? node : best;
    struct pb_trial_vec tried = VEC_INIT;
    uint32_t changed = 0;
    bool found = false;
    x->binding = (struct pb_binding)PB_BINDING_INIT;
    if (from && own_settings(x, facts_text(from, "source"))) {
        struct pb_point base = playbook_start(x->pb, &x->binding);
        tried_points(x->pb, facts, &tried);
        add_given(x->pb, facts, &tried);
        found = follow_advice(x, facts) ||
                playbook_next(x->pb, &x->binding, &tried, &base, 0, *k, &x->point, &changed);
        if (found) {
            struct pb_ranges before = ranges_one(&base);
            describe(x, &before, changed);
        }
    }
    vec_release(&tried);
    if (!found)
        x->source = NULL;
    return found;
}

/* ---- points from memory ---------------------------------------------------------------------- */

enum {
    REMEMBERED = 3, /* how many points from memory to try first */
    TRUSTED = 2 /* how many of them come before the point that a run without memory begins with */
};
/* Memory misleads if its points take more than this many times as long as the starting point. */
#define REFUTED 1.005

/* A point of a playbook that fits the task. */
struct fitting_point {
    const struct playbook *pb;
    struct pb_binding binding;
    struct pb_point point;
};
struct first_points {
    struct fitting_point remembered[REMEMBERED]; /* all different */
    size_t n;
    /* A run without memory begins with it. If no playbook fits, start.pb is NULL. */
    struct fitting_point start;
    bool start_is_remembered;
};

static bool bind_book(const struct playbook *pb, const json_t *facts, uint32_t arch,
                      struct pb_binding *out)
{
    struct strbuf no = STRBUF_INIT(200);
    bool fits = pb && playbook_bind(pb, json_object_get(facts, "task"), arch, out, &no);
    strbuf_release(&no);
    return fits;
}

static bool same_point(const struct fitting_point *a, const struct fitting_point *b)
{
    return a->pb == b->pb && points_equal(a->pb, &a->point, &b->point);
}

static const struct playbook *find_book(const struct playbook_shelf *s, const char *name)
{
    vec_each (struct playbook, pb, &s->books)
        if (str_eq(pb->name, name))
            return pb;
    return NULL;
}

/* Returns false if the point does not fit the task. Then the binding needs no release. */
static bool fit_remembered(const struct playbook_shelf *s, const json_t *facts, uint32_t arch,
                           const json_t *j, struct fitting_point *out)
{
    out->pb = find_book(s, facts_text(j, "playbook"));
    if (!bind_book(out->pb, facts, arch, &out->binding))
        return false;
    struct pb_point start = playbook_start(out->pb, &out->binding);
    if (read_remembered(out->pb, json_object_get(j, "settings"), &start, &out->point) &&
        playbook_allows(out->pb, &out->binding, &out->point))
        return true;
    pb_binding_release(&out->binding);
    return false;
}

static void find_start(const struct playbook_shelf *s, const json_t *facts, uint32_t arch,
                       struct fitting_point *out)
{
    out->pb = NULL;
    vec_each (struct playbook, pb, &s->books)
        if (!pb->last && bind_book(pb, facts, arch, &out->binding)) {
            out->pb = pb;
            out->point = playbook_start(pb, &out->binding);
            return;
        }
}

static void find_first_points(const struct playbook_shelf *s, const json_t *facts, uint32_t arch,
                              struct first_points *out)
{
    const json_t *points = json_object_get(facts, "memory");
    *out = (struct first_points){.n = 0};
    for (size_t i = 0; i < json_array_size(points) && out->n < REMEMBERED; i++) {
        struct fitting_point *p = &out->remembered[out->n];
        if (!fit_remembered(s, facts, arch, json_array_get(points, i), p))
            continue;
        bool known = false;
        for (size_t k = 0; k < out->n; k++)
            known |= same_point(&out->remembered[k], p);
        if (known)
            pb_binding_release(&p->binding);
        else
            out->n++;
    }
    if (!out->n)
        return;
    find_start(s, facts, arch, &out->start);
    for (size_t k = 0; k < out->n && out->start.pb; k++)
        out->start_is_remembered |= same_point(&out->remembered[k], &out->start);
}

static void release_first_points(struct first_points *f)
{
    for (size_t i = 0; i < f->n; i++)
        pb_binding_release(&f->remembered[i].binding);
    if (f->start.pb)
        pb_binding_release(&f->start.binding);
}

/* Returns the time of a tried point, 0 if it failed, or -1 if it was not tried. */
static double time_of(const struct fitting_point *p, const json_t *facts)
{
    struct pb_trial_vec tried = VEC_INIT;
    double ns = -1;
    tried_points(p->pb, facts, &tried);
    vec_each (struct pb_trial, t, &tried)
        if (points_equal(p->pb, &t->point, &p->point))
            ns = t->time_ns;
    vec_release(&tried);
    return ns;
}

/* Returns whether the point with which a run without memory begins was faster than all points from
 * memory that were tried. If so, the lessons do not hold for this task. */
static bool memory_misleads(const struct first_points *f, const json_t *facts)
{
    double start = f->start.pb && !f->start_is_remembered ? time_of(&f->start, facts) : -1;
    bool any = false;
    for (size_t i = 0; i < f->n && start > 0; i++) {
        double ns = time_of(&f->remembered[i], facts);
        if (ns > 0 && ns <= start * REFUTED)
            return false;
        any |= ns >= 0;
    }
    return any;
}

static bool is_advised(const struct playbook_shelf *s, const json_t *facts)
{
    struct pb_ranges r;
    vec_each (struct playbook, pb, &s->books)
        if (ranges_uncode(pb, facts_text(facts, "advice"), &r))
            return true;
    return false;
}

/* Makes `p` the proposal. The proposal takes over the binding of `p`. */
static void take_first_point(struct proposal *x, struct fitting_point *p, const json_t *facts)
{
    struct bound_book book = {p->pb, &p->binding, json_object_get(facts, "task")};
    struct pb_ranges base, now = ranges_one(&p->point);
    bool known = base_ranges(&book, facts, &base);
    x->pb = p->pb;
    x->binding = p->binding;
    x->point = p->point;
    describe(x, known ? &base : NULL, known ? first_change(x->pb, &base, &now) : 0);
    p->binding = (struct pb_binding)PB_BINDING_INIT;
}

/* Proposes one of the first points that was not tried. The first points are TRUSTED points from
 * memory, the start, and further points from memory, in this order. If memory misleads, *misleads
 * becomes true, and nothing is proposed. */
static bool propose_remembered(const struct playbook_shelf *s, const json_t *facts, uint32_t arch,
                               struct proposal *x, uint32_t *k, bool *misleads)
{
    struct first_points f;
    bool found = false;
    find_first_points(s, facts, arch, &f);
    *misleads = memory_misleads(&f, facts);
    bool useful = f.n && !*misleads && !is_advised(s, facts);
    for (size_t i = 0; i <= f.n && useful && !found; i++) {
        bool is_start = i == MIN(TRUSTED, f.n);
        struct fitting_point *p = is_start ? &f.start : &f.remembered[i - (i > TRUSTED)];
        bool skip = is_start && (!p->pb || f.start_is_remembered);
        if (!skip && time_of(p, facts) < 0 && (*k)-- == 0) {
            x->remembered = !is_start;
            take_first_point(x, p, facts);
            found = true;
        }
    }
    release_first_points(&f);
    return found;
}

/* ---- the next proposal of any kind ----------------------------------------------------------- */

/* For a run in which no kernel has passed. If a playbook's kernel failed, proposes the starting
 * point of the next playbook. */
static bool propose_other_start(const struct playbook_shelf *s, const json_t *facts, uint32_t arch,
                                struct proposal *x)
{
    bool failed = false;
    vec_each (struct playbook, pb, &s->books) {
        struct strbuf no = STRBUF_INIT(200);
        bool fits =
            !pb->last && playbook_bind(pb, json_object_get(facts, "task"), arch, &x->binding, &no);
        strbuf_release(&no);
        if (!fits)
            continue;
        struct pb_trial_vec tried = VEC_INIT;
        tried_points(pb, facts, &tried);
        bool untried = tried.n == 0;
        vec_release(&tried);
        if (untried && failed) {
            x->pb = pb;
            x->point = playbook_start(pb, &x->binding);
            describe(x, NULL, 0);
            return true;
        }
        failed |= !untried;
        pb_binding_release(&x->binding);
    }
    return false;
}

/* Makes a proposal. The order is: the kernel's own settings, memory, the best kernel's playbook,
 * other playbooks. If no point is left, returns false, and sets *fits to whether any playbook fits
 * the task. If none does, `why` says why. */
static bool propose(const struct playbook_shelf *s, const json_t *facts, struct proposal *x,
                    bool *fits, struct strbuf *why)
{
    const json_t *task = json_object_get(facts, "task");
    uint32_t arch = playbook_arch(facts_text(facts, "arch")), fitting = 0, templates = 0;
    uint32_t k = (uint32_t)json_integer_value(json_object_get(facts, "proposal"));
    if (propose_settings(x, facts, &k))
        return true;
    if (propose_remembered(s, facts, arch, x, &k, &x->no_hints))
        return true;
    if (!json_object_get(facts, "best") && k == 0 && propose_other_start(s, facts, arch, x))
        return true;
    /* Rounds 2 and 3 are for playbooks with `last`, if no other fits. */
    for (int round = 0; round < 4; round++)
        vec_each (struct playbook, pb, &s->books) {
            struct strbuf no = STRBUF_INIT(200);
            bool known = false;
            if (pb->last != (round >= 2) || (pb->last && templates))
                continue;
            x->pb = pb;
            if (!playbook_bind(pb, task, arch, &x->binding, &no)) {
                bool told = pb->last || str_eq(pb->class, facts_text(task, "class"));
                if (round % 2 == 0 && told)
                    strbuf_addf(why, "%s%s: %s", why->len ? "; " : "", pb->name, no.buf);
                strbuf_release(&no);
                continue;
            }
            strbuf_release(&no);
            fitting++;
            templates += !pb->last;
            struct bound_book book = {pb, &x->binding, task};
            struct pb_ranges r;
            bool of_best = base_ranges(&book, facts, &r), any_best = json_object_get(facts, "best");
            /* Even rounds: the best kernel's playbook, or all playbooks if there is no best kernel.
             * Odd rounds: the other playbooks. */
            bool now = round % 2 == 0 ? of_best || !any_best : !of_best;
            if (now && propose_from(x, facts, &k, &known))
                return true;
            pb_binding_release(&x->binding);
        }
    if (fitting)
        strbuf_clear(why);
    *fits = fitting > 0;
    return false;
}

/* ---- replies -------------------------------------------------------------------------------- */

static void say_stop(struct author_call *c, const json_t *task, bool fits, const struct strbuf *why)
{
    const json_t *best = json_object_get(c->facts, "best");
    const char *source = facts_text(best, "source");
    struct source_setting own[SETTING_MAX];
    size_t n = source_settings(source, strlen(source), own);
    if (n)
        strbuf_adds(&c->reply.text, "STOP: all values of the kernel's settings were tried or are "
                                    "dominated by others\n");
    else if (!fits && best)
        strbuf_addf(
            &c->reply.text,
            "STOP: the kernel has no settings to tune (a setting is a line such as: constexpr "
            "int kName = 4; // hone: 1 2 4 8), and no playbook fits '%s' (%s). Let a model improve "
            "the kernel "
            "(--author)\n",
            facts_text(task, "name"), why->len ? why->buf : "there is none for its class");
    else if (fits)
        strbuf_adds(&c->reply.text, "STOP: all points of the matching playbooks were tried or are "
                                    "dominated by others\n");
    else
        strbuf_addf(&c->reply.text,
                    "STOP: no playbook fits '%s' (%s). Let a model write the kernel (--author), "
                    "or add a playbook (docs/playbooks.md)\n",
                    facts_text(task, "name"), why->len ? why->buf : "there is none for its class");
}

static int write_source(const struct proposal *x, struct strbuf *out, struct err *err)
{
    struct pb_ranges r = ranges_of(x);
    if (!x->source)
        return playbook_expand_ranges(x->pb, &x->binding, &r, out, err);
    source_settings_apply(x->source, strlen(x->source), x->settings, x->pb->nsettings, x->point.at,
                          out);
    return 0;
}

static int reply_file(struct author_call *c, const struct proposal *x, struct err *err)
{
    struct strbuf source = STRBUF_INIT(4u << 20);
    int rc = write_source(x, &source, err);
    if (rc == 0)
        strbuf_addf(&c->reply.text, "%s.\n\nMOVE: %s: %s\n```cuda\n%s```\n", x->pb->about, x->kind,
                    x->move, source.buf);
    strbuf_release(&source);
    return rc;
}

/* Writes "ANCHOR FIRST-LAST: ..." for each span of lines that differ. Both texts have equally many
 * lines. The plan needs no anchor. */
static void add_anchors(const char *before, const char *after, struct strbuf *out)
{
    const char *plan_end = strstr(before, "*/");
    unsigned line = 1, first = 0;
    for (const char *b = before, *a = after; *b && *a; line++) {
        size_t nb = strcspn(b, "\n"), na = strcspn(a, "\n");
        bool differs = (nb != na || memcmp(a, b, nb) != 0) && (!plan_end || b > plan_end);
        if (differs && !first)
            first = line;
        if (!differs && first) {
            strbuf_addf(out, "ANCHOR %u-%u: set the new values\n", first, line - 1);
            first = 0;
        }
        b += nb + (b[nb] == '\n');
        a += na + (a[na] == '\n');
    }
    if (first)
        strbuf_addf(out, "ANCHOR %u-%u: set the new values\n", first, line - 1);
}

static int reply_plan(struct author_call *c, const struct proposal *x, struct err *err)
{
    const json_t *node = json_object_get(c->facts, "node");
    struct strbuf *out = &c->reply.text;
    struct strbuf source = STRBUF_INIT(4u << 20);
    struct pb_point p;
    int rc = write_source(x, &source, err);
    strbuf_addf(out, "%s.\n", x->pb->about);
    if (has_table(x))
        ranges_print(x->pb, &x->table, "- ", out);
    for (uint32_t i = 0; i < x->pb->nsettings && !has_table(x); i++)
        strbuf_addf(out, "- %s (%s): %lld\n", x->pb->settings[i].name, x->pb->settings[i].why,
                    (long long)x->pb->settings[i].values[x->point.at[i]]);
    strbuf_addf(out, "\nPLAN: %s\nKIND: %s\n", x->move, x->kind);
    bool same_lines = !has_table(x) && playbook_uncode(x->pb, facts_text(node, "move"), &p);
    if (x->source || same_lines)
        add_anchors(facts_text(node, "source"), source.buf, out);
    strbuf_release(&source);
    return rc;
}

/* Proposes shapes in which each axis is one larger than in a known shape. For every second shape,
 * also shifts all addresses by one element. */
static void reply_tests(struct author_call *c)
{
    const json_t *task = json_object_get(c->facts, "task");
    const json_t *workloads = json_object_get(task, "workloads");
    json_t *cases = json_array();
    for (size_t i = 0; i < json_array_size(workloads) && json_array_size(cases) < 6; i++) {
        const json_t *w = json_array_get(workloads, i);
        if (!str_eq(facts_text(w, "role"), "smoke") && !str_eq(facts_text(w, "role"), "check"))
            continue;
        json_t *axes = json_deep_copy(json_object_get(w, "axes"));
        const char *name;
        json_t *v;
        json_object_foreach(axes, name, v)
        {
            json_integer_set(v, json_integer_value(v) + 1);
        }
        json_array_append_new(cases, json_pack("{s:o, s:i, s:i, s:s}", "axes", axes, "align_bytes",
                                               0, "offset_elems", (int)(i % 2), "why",
                                               "one larger than a known size"));
    }
    json_t *reply = json_pack("{s:o}", "cases", cases);
    char *text = json_dumps(reply, JSON_COMPACT);
    strbuf_addf(&c->reply.text, "```json\n%s\n```\n", text ? text : "{}");
    free(text);
    json_decref(reply);
}

static void reply_words(struct author_call *c)
{
    const json_t *v = json_object_get(json_object_get(c->facts, "node"), "verdict");
    if (str_eq(c->role, "profile"))
        strbuf_addf(&c->reply.text, "Bound by: %s\n",
                    *facts_text(v, "bottleneck") ? facts_text(v, "bottleneck") : "not known");
    else
        strbuf_addf(&c->reply.text,
                    "CAUSE: this setting does not work here (%s).\nFIX: leave it out and take the "
                    "next one.\n",
                    facts_text(v, "kind"));
}

static int reply_proposal(struct author_call *c, struct err *err)
{
    const struct playbook_shelf *s = c->author->priv;
    struct proposal x = {.pb = NULL};
    struct strbuf why = STRBUF_INIT(4096);
    bool fits = false;
    int rc = 0;
    if (!propose(s, c->facts, &x, &fits, &why))
        say_stop(c, json_object_get(c->facts, "task"), fits, &why);
    else if (str_eq(c->role, "plan") || str_eq(c->role, "advise"))
        rc = reply_plan(c, &x, err);
    else
        rc = reply_file(c, &x, err);
    if (x.pb)
        pb_binding_release(&x.binding);
    strbuf_release(&why);
    return rc;
}

static int start(struct author_call *c, struct err *err)
{
    if (!c->facts)
        return err_set(err, ERR_INTERNAL, "the playbook author needs the request's facts");
    return 0;
}

static void step(struct author_call *c)
{
    struct err err = ERR_INIT;
    int rc = 0;
    if (str_eq(c->role, "test"))
        reply_tests(c);
    else if (str_eq(c->role, "profile") || str_eq(c->role, "diagnose"))
        reply_words(c);
    else
        rc = reply_proposal(c, &err);
    if (rc < 0)
        author_fail(c, err.kind, "%s", err.msg);
    else
        author_succeed(c, "stop");
}

static void wait_nothing(struct author *a, uint64_t timeout_ns)
{
}

static void end(struct author_call *c)
{
}

const struct author_ops author_playbook = {
    .scheme = "playbook",
    .usage = "playbook[:DIR]",
    .about = "built in: kernel templates with settings, no model (DIR: further playbooks)",
    .open = open_shelf,
    .close = close_shelf,
    .start = start,
    .step = step,
    .wait = wait_nothing,
    .end = end,
    .built_in = true,
};
