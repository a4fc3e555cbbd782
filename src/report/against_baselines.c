/* against_baselines.c - finds the verdict that compares the best kernel with PyTorch, and writes it
 * as text, Markdown or JSON. */
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "job/torch_variants.h"
#include "report/run_summary.h"
#include "sys/json.h"
#include "task/task.h"

static bool is_kernel(const struct verdict_time *t)
{
    return str_eq(t->who, "candidate");
}

/* Returns false if this Hone cannot read the verdict, for example because another version wrote it.
 * The rest of the run can still be shown. */
static bool load_verdict(struct store *s, const char *json_sha, struct verdict *out)
{
    struct strbuf sb = STRBUF_INIT(16u << 20);
    struct err err = ERR_INIT;
    json_t *j = NULL;
    bool ok = store_blob_get(s, json_sha, &sb, &err) == 0 &&
              (j = json_read_text(sb.buf, sb.len, "verdict", NULL, &err)) &&
              verdict_from_json(out, j, &err) == 0;
    if (ok)
        verdict_plain_text(out);
    else
        log_warn("report", "a verdict of the store cannot be read: %s", err.msg);
    json_decref(j);
    strbuf_release(&sb);
    return ok;
}

static void add_unconfirmed(struct run_summary *m, struct store *s, const struct node_rec *n,
                            const struct verdict_rec *r)
{
    struct verdict v;
    const char *summary = "";
    if (load_verdict(s, r->json_sha, &v)) {
        summary = arena_printf(&m->arena, "%.*s", (int)strcspn(v.summary, "\n"), v.summary);
        verdict_release(&v);
    }
    *vec_push(&m->unconfirmed) = (struct unconfirmed){n, r->kind, summary};
}

/* Uses the verdict `r` if PyTorch is one of its baselines, and no earlier call used a verdict. */
static void take(struct run_summary *m, struct store *s, const struct verdict_rec *r)
{
    if (m->has_with_torch || !load_verdict(s, r->json_sha, &m->with_torch))
        return;
    vec_each (struct verdict_time, t, &m->with_torch.times)
        m->has_with_torch |= baseline_is_torch(t->who);
    vec_each (struct verdict_baseline, b, &m->with_torch.baselines)
        m->has_with_torch |= baseline_is_torch(b->who); /* a wrong baseline has no times */
    if (!m->has_with_torch)
        verdict_release(&m->with_torch);
}

static bool gives_ratio(const struct verdict_baseline *b)
{
    return !str_eq(b->state, "wrong") && !str_eq(b->state, "failed");
}

/* Copies what the report needs of the best kernel's own verdict. */
static void note_own(struct run_summary *m, struct store *s, const struct verdict_rec *own)
{
    struct verdict v;
    if (!load_verdict(s, own->json_sha, &v))
        return;
    m->timed_shapes = verdict_timed_shapes(&v);
    m->speedup_over = arena_strdup(&m->arena, v.speedup_over);
    vec_each (struct verdict_baseline, b, &v.baselines)
        if (!gives_ratio(b))
            *vec_push(&m->no_ratio) =
                (struct verdict_baseline){.who = arena_strdup(&m->arena, b->who),
                                          .state = arena_strdup(&m->arena, b->state),
                                          .text = arena_strdup(&m->arena, b->text)};
    vec_each (const char *, w, &v.warnings)
        *vec_push(&m->warnings) = arena_strdup(&m->arena, *w);
    verdict_release(&v);
}

int against_baselines_load(struct run_summary *m, struct store *s, struct err *err)
{
    struct verdict_rec_vec list = VEC_INIT;
    const struct verdict_rec *own = NULL, *again = NULL;
    int rc = store_verdict_list(s, m->run.id, &list, &m->arena, err);
    vec_each (struct verdict_rec, r, &list) {
        if (m->best && (int64_t)r->index == m->best->verdict)
            own = r;
        if (r->index < STORE_CONFIRM)
            continue;
        size_t at = run_summary_position(m, (int64_t)(r->index - STORE_CONFIRM));
        const struct node_rec *n = at < m->nodes.n ? &m->nodes.items[at] : NULL;
        if (n && !str_eq(r->kind, "pass"))
            add_unconfirmed(m, s, n, r);
        else if (n && n == m->best)
            again = r;
    }
    if (again)
        take(m, s, again);
    m->confirmed = m->has_with_torch;
    if (own)
        take(m, s, own);
    if (own)
        note_own(m, s, own);
    vec_release(&list);
    return rc;
}

static void heading(const struct run_summary *m, struct strbuf *out)
{
    strbuf_addf(out, "candidate %llu against its baselines%s", (unsigned long long)m->best->index,
                m->confirmed ? ", evaluated once more at the end of the run" : "");
}

void against_baselines_print(const struct run_summary *m, struct strbuf *out)
{
    const char *workload = "";
    if (!m->has_with_torch)
        return;
    strbuf_adds(out, "  ");
    heading(m, out);
    strbuf_adds(out, ":\n");
    vec_each (struct verdict_time, t, &m->with_torch.times) {
        struct strbuf time = STRBUF_INIT(64);
        print_time(t->median_ns, t->is_model, &time);
        if (!str_eq(workload, t->workload))
            strbuf_addf(out, "    %s\n", *t->shape ? t->shape : t->workload);
        workload = t->workload;
        strbuf_addf(out, "      %-14s %10s", is_kernel(t) ? "the kernel" : t->who, time.buf);
        if (t->ratio > 0)
            strbuf_addf(out, "  %.2fx [%.2f, %.2f]", t->ratio, t->ratio_lo, t->ratio_hi);
        strbuf_adds(out, contender_is_beside(t->who) ? "  (beside)\n" : "\n");
        strbuf_release(&time);
    }
    vec_each (struct verdict_baseline, b, &m->with_torch.baselines)
        if (!str_eq(b->state, "right"))
            strbuf_addf(out, "      %-14s %s: %.300s\n", b->who, b->state, b->text);
}

static const struct verdict_time *row_of(const struct verdict *v, const char *workload,
                                         const char *who)
{
    vec_each (struct verdict_time, t, &v->times)
        if (str_eq(t->workload, workload) && str_eq(t->who, who))
            return t;
    return NULL;
}

/* Is t the first entry for its baseline? Each baseline gets one column. */
static bool is_column(const struct verdict *v, const struct verdict_time *t)
{
    for (const struct verdict_time *b = v->times.items; b < t; b++)
        if (str_eq(b->who, t->who))
            return false;
    return !is_kernel(t);
}

void against_baselines_markdown(const struct run_summary *m, struct strbuf *out)
{
    const struct verdict *v = &m->with_torch;
    if (!m->has_with_torch)
        return;
    strbuf_adds(out, "## Against its baselines\n\n");
    heading(m, out);
    strbuf_adds(out,
                "; a ratio is the baseline's time divided by the kernel's, with its 95% interval."
                "\n\n| shape | the kernel |");
    vec_each (struct verdict_time, b, &v->times)
        if (is_column(v, b))
            strbuf_addf(out, " %s%s |", b->who, contender_is_beside(b->who) ? " (beside)" : "");
    strbuf_adds(out, "\n| --- | ---: |");
    vec_each (struct verdict_time, b, &v->times)
        if (is_column(v, b))
            strbuf_adds(out, " ---: |");
    vec_each (struct verdict_time, t, &v->times) {
        if (!is_kernel(t))
            continue;
        strbuf_addf(out, "\n| %s | ", *t->shape ? t->shape : t->workload);
        print_verdict_time(t, out);
        strbuf_adds(out, " |");
        vec_each (struct verdict_time, c, &v->times) {
            const struct verdict_time *b = row_of(v, t->workload, c->who);
            if (!is_column(v, c))
                continue;
            strbuf_addc(out, ' ');
            print_time(b ? b->median_ns : 0, b && b->is_model, out);
            if (b && b->ratio > 0)
                strbuf_addf(out, ", %.2fx [%.2f, %.2f]", b->ratio, b->ratio_lo, b->ratio_hi);
            strbuf_adds(out, " |");
        }
    }
    strbuf_adds(out, "\n\n");
    size_t before = out->len;
    vec_each (struct verdict_baseline, b, &v->baselines)
        if (!str_eq(b->state, "right"))
            strbuf_addf(out, "- %s is %s: %.300s%s\n", b->who, b->state, b->text,
                        gives_ratio(b) ? "" : "; it gives no ratio");
    if (out->len > before)
        strbuf_addc(out, '\n');
}

void against_baselines_json(const struct run_summary *m, json_t *out)
{
    json_t *failed = json_array(), *times = json_array();
    vec_each (struct unconfirmed, u, &m->unconfirmed)
        json_array_append_new(failed,
                              json_pack("{s:I, s:s, s:o}", "candidate", (json_int_t)u->node->index,
                                        "kind", u->kind, "summary", json_text(u->summary)));
    for (size_t i = 0; m->has_with_torch && i < m->with_torch.times.n; i++) {
        const struct verdict_time *t = &m->with_torch.times.items[i];
        json_array_append_new(times, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f}", "workload",
                                               t->workload, "shape", t->shape, "who", t->who,
                                               "median_ns", t->median_ns, "ratio", t->ratio,
                                               "ratio_lo", t->ratio_lo, "ratio_hi", t->ratio_hi));
    }
    json_object_set_new(out, "confirmed", json_boolean(m->confirmed));
    json_object_set_new(out, "unconfirmed", failed);
    json_t *baselines = json_array();
    for (size_t i = 0; m->has_with_torch && i < m->with_torch.baselines.n; i++) {
        const struct verdict_baseline *b = &m->with_torch.baselines.items[i];
        json_array_append_new(baselines, json_pack("{s:o, s:s, s:o}", "who", json_text(b->who),
                                                   "state", b->state, "text", json_text(b->text)));
    }
    json_object_set_new(out, "baselines", baselines);
    json_object_set_new(out, "beside", times);
}
