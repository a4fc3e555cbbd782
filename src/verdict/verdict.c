/* verdict.c - scores, compares and edits verdicts. verdict_json.c reads and writes them. */
#include "verdict/verdict.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "base/util.h"
#include "job/torch_variants.h"

static const char *const kind_names[] = {
    [V_NO_CODE] = "no_code",
    [V_REJECTED] = "rejected",
    [V_CHEAT] = "cheat",
    [V_COMPILE_ERROR] = "compile_error",
    [V_PLAN_ERROR] = "plan_error",
    [V_OOM] = "oom",
    [V_HANG] = "hang",
    [V_FAULT] = "fault",
    [V_MISMATCH] = "mismatch",
    [V_UNSAFE] = "unsafe",
    [V_PASS] = "pass",
    [V_UNJUDGED] = "unjudged",
};

const char *verdict_kind_name(enum verdict_kind k)
{
    return kind_names[k];
}

bool verdict_hidden(const char *role)
{
    static const char *const shown[] = {"smoke", "check", "time", "static"};
    for (size_t i = 0; role && i < ARRAY_LEN(shown); i++)
        if (str_eq(role, shown[i]))
            return false;
    return true;
}

enum verdict_kind verdict_kind_from(const char *name, bool *ok)
{
    for (size_t i = 0; i < ARRAY_LEN(kind_names); i++)
        if (str_eq(kind_names[i], name)) {
            *ok = true;
            return (enum verdict_kind)i;
        }
    *ok = false;
    return V_UNJUDGED;
}

void verdict_verified_text(const struct verdict *v, struct strbuf *out)
{
    static const struct {
        const char *state, *first, *next;
    } words[] = {{"whole", "verified whole", "verified whole"},
                 {"sample", "verified by sample", "by sample"},
                 {"none", "only timed", "only timed"}};
    size_t begin = out->len;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t n = 0;
        vec_each (struct verdict_workload, w, &v->workloads)
            n += w->verified && str_eq(w->verified, words[i].state) &&
                 !str_eq(w->note, VERDICT_DID_NOT_RUN);
        if (n && out->len == begin)
            strbuf_addf(out, "%zu workload%s %s", n, n == 1 ? "" : "s", words[i].first);
        else if (n)
            strbuf_addf(out, ", %zu %s", n, words[i].next);
    }
}

unsigned verdict_timed_shapes(const struct verdict *v)
{
    unsigned n = 0;
    vec_each (struct verdict_time, t, &v->times)
        n += str_eq(t->who, "candidate");
    return n;
}

bool verdict_ratio(const struct verdict *v, struct verdict_ratio *out)
{
    const char *who = NULL;
    double mean = 0, var = 0;
    unsigned n = 0;
    vec_each (struct verdict_time, t, &v->times) {
        if (str_eq(t->who, "candidate") || contender_is_beside(t->who) || !(t->ratio > 0) ||
            !(t->ratio_lo > 0))
            continue;
        who = who ? who : t->who;
        if (!str_eq(who, t->who))
            continue;
        double half = v->time_is_model ? 0 : log(t->ratio_hi / t->ratio_lo) / 2;
        mean += log(t->ratio);
        var += half * half;
        n++;
    }
    if (!n)
        return false;
    mean /= n;
    *out = (struct verdict_ratio){who, exp(mean), exp(mean - sqrt(var) / n),
                                  exp(mean + sqrt(var) / n)};
    return true;
}

void verdict_set_score(struct verdict *v)
{
    if (v->kind == V_UNJUDGED) {
        v->score = -1;
        return;
    }
    /* Within a kind, a smaller error or a smaller time gives a larger `part`, so a better score. */
    double part = 0.5;
    if (v->kind == V_PASS && v->time_ns > 0)
        part = 1 / (1 + log1p(v->time_ns));
    if (v->kind == V_MISMATCH) {
        double worst = 0;
        vec_each (struct verdict_workload, w, &v->workloads)
            if (!w->ok && !(w->max_ratio <= worst))
                worst = isfinite(w->max_ratio) ? w->max_ratio : 1e30;
        part = 1 / (1 + log1p(worst));
    }
    v->score = v->kind + part;
}

static void make_plain(struct verdict *v, const char **text)
{
    size_t n = *text ? strlen(*text) : 0, i = 0;
    while (i < n && (*text)[i] >= ' ' && (*text)[i] < 0x7f)
        i++;
    if (i == n)
        return;
    char *s = arena_strdup(&v->arena, *text);
    utf8_plain(s, n);
    *text = s;
}

void verdict_plain_text(struct verdict *v)
{
    make_plain(v, &v->summary);
    make_plain(v, &v->detail);
    vec_each (const char *, w, &v->warnings)
        make_plain(v, w);
    vec_each (struct verdict_workload, w, &v->workloads)
        make_plain(v, &w->note);
    vec_each (struct verdict_time, t, &v->times) {
        make_plain(v, &t->shape);
        make_plain(v, &t->who);
    }
    vec_each (struct verdict_baseline, b, &v->baselines) {
        make_plain(v, &b->who);
        make_plain(v, &b->text);
    }
    vec_each (struct verdict_finding, f, &v->findings) {
        make_plain(v, &f->text);
        make_plain(v, &f->kernel);
    }
}

static void name_file(struct verdict *v, const char **text, const char *name)
{
    static const char mark[] = "kernel.cu";
    const char *at, *from = *text, *from_mark;
    if (!from || !strstr(from, mark))
        return;
    struct strbuf sb = STRBUF_INIT(16u << 20);
    while ((at = strstr(from, mark))) {
        from_mark = at + sizeof mark - 1;
        bool other = (at > *text && !strchr(" \n\t\"'(", at[-1])) || !strchr(":)", *from_mark);
        strbuf_add(&sb, from, (size_t)(at - from));
        strbuf_adds(&sb, other || !*from_mark ? mark : name);
        from = from_mark;
    }
    strbuf_adds(&sb, from);
    *text = arena_strdup(&v->arena, sb.buf);
    strbuf_release(&sb);
}

void verdict_name_file(struct verdict *v, const char *name)
{
    name_file(v, &v->summary, name);
    name_file(v, &v->detail, name);
    vec_each (const char *, w, &v->warnings)
        name_file(v, w, name);
}

int verdict_cmp(const struct verdict *a, const struct verdict *b)
{
    return a->score < b->score ? -1 : a->score > b->score;
}

void verdict_release(struct verdict *v)
{
    vec_release(&v->workloads);
    vec_release(&v->times);
    vec_release(&v->baselines);
    vec_release(&v->findings);
    vec_release(&v->counters);
    vec_release(&v->warnings);
    arena_release(&v->arena);
    memset(v, 0, sizeof *v);
}

bool verdict_model_error(const struct verdict *v, double *lo, double *hi)
{
    double log_lo = 0, log_hi = 0;
    unsigned n = 0;
    vec_each (struct verdict_time, t, &v->times) {
        if (!t->is_model || !str_eq(t->who, "candidate") || t->lo_ns <= 0 || t->hi_ns <= t->lo_ns)
            continue;
        log_lo += log(t->lo_ns / t->median_ns);
        log_hi += log(t->hi_ns / t->median_ns);
        n++;
    }
    *lo = n ? exp(log_lo / n) : 1;
    *hi = n ? exp(log_hi / n) : 1;
    return n > 0;
}
