/* row.c - loads the rows of a campaign's table from the store (row.h). */
#include "campaign/row.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "job/torch_variants.h"
#include "report/run_summary.h"
#include "sys/json.h"
#include "task/snapshot.h"

const char *const row_state_names[ROW_STATES] = {"waiting", "running", "stopped",
                                                 "pass",    "no pass", "failed"};
const char *const row_standing_names[ROW_STANDINGS] = {"", "win", "loss", "tie"};

/* ---- baselines ------------------------------------------------------------------------------- */

static struct row_baseline *baseline_of(struct campaign_row *r, const char *who, struct arena *a)
{
    vec_each (struct row_baseline, b, &r->baselines)
        if (str_eq(b->who, who))
            return b;
    struct row_baseline *b = vec_push(&r->baselines);
    *b = (struct row_baseline){.who = arena_strdup(a, who)};
    return b;
}

/* Computes the geometric means over the timed shapes. The shapes are measured independently, so the
 * 95% interval of a mean is usually narrower than that of one shape. */
static void add_baselines(struct campaign_row *r, const struct verdict *v, struct arena *a)
{
    vec_each (struct verdict_time, t, &v->times)
        if (!str_eq(t->who, "candidate") && t->ratio > 0 && t->ratio_lo > 0)
            baseline_of(r, t->who, a);
    vec_each (struct row_baseline, b, &r->baselines) {
        double mean = 0, var = 0, ns = 0;
        unsigned n = 0;
        vec_each (struct verdict_time, t, &v->times) {
            if (!str_eq(t->who, b->who) || !(t->ratio > 0) || !(t->ratio_lo > 0))
                continue;
            double half = v->time_is_model ? 0 : log(t->ratio_hi / t->ratio_lo) / 2;
            mean += log(t->ratio);
            ns += log(t->median_ns);
            var += half * half;
            n++;
        }
        mean /= n;
        b->ns = exp(ns / n);
        b->ratio = (struct verdict_ratio){b->who, exp(mean), exp(mean - sqrt(var) / n),
                                          exp(mean + sqrt(var) / n)};
    }
}

static struct row_baseline with_defaults(const struct campaign_row *r, const char *who)
{
    const char *own = torch_variant_default(who)->name;
    vec_each (const struct row_baseline, b, &r->baselines)
        if (str_eq(b->who, r->kind.may_convolve ? own : who))
            return *b;
    return (struct row_baseline){.who = NULL};
}

void campaign_row_compare(struct campaign_row *r)
{
    r->default_eager = with_defaults(r, "torch");
    r->default_compile = with_defaults(r, "torch.compile");
    r->ratio = (struct verdict_ratio){.who = NULL};
    r->standing = ROW_NONE;
    vec_each (struct row_baseline, b, &r->baselines) {
        bool counts = r->is_model ? !contender_is_beside(b->who) : baseline_is_torch(b->who);
        if (counts && (!r->ratio.who || (!r->is_model && b->ratio.mid < r->ratio.mid)))
            r->ratio = b->ratio;
    }
    if (r->ratio.who && !r->is_model)
        r->standing = r->ratio.lo > 1 ? ROW_WIN : r->ratio.hi < 1 ? ROW_LOSS : ROW_TIE;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Reads the best kernel's verdict from the store. Returns false if there is none. */
static bool best_verdict(const struct run_summary *m, struct store *s, struct verdict *out)
{
    struct strbuf text = STRBUF_INIT(16u << 20);
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct verdict_rec rec;
    json_t *j = NULL;
    bool ok = m->best && m->best->verdict >= 0 &&
              store_verdict_get(s, m->run.id, (uint64_t)m->best->verdict, &rec, &a, &err) == 1 &&
              store_blob_get(s, rec.json_sha, &text, &err) == 0 &&
              (j = json_read_text(text.buf, text.len, "verdict", NULL, &err)) &&
              verdict_from_json(out, j, &err) == 0;
    json_decref(j);
    strbuf_release(&text);
    arena_release(&a);
    return ok;
}

static void use_verdict(struct campaign_row *r, const struct verdict *v, struct arena *a)
{
    r->ours_ns = v->time_ns;
    r->is_model = v->time_is_model;
    r->shapes = verdict_timed_shapes(v);
    r->precision = arena_strdup(a, v->precision ? v->precision : "");
    r->gpu = arena_strdup(a, v->gpu ? v->gpu : "");
    add_baselines(r, v, a);
    vec_each (struct verdict_baseline, b, &v->baselines)
        if (contender_is_program(b->who) &&
            (str_eq(b->state, "wrong") || str_eq(b->state, "failed")))
            r->program_note =
                arena_printf(a, "%s %s: %.200s", b->who,
                             str_eq(b->state, "wrong") ? "is wrong" : "failed", b->text);
}

static void use_summary(struct campaign_row *r, const struct run_summary *m, struct store *s,
                        struct arena *a)
{
    struct verdict v;
    r->run = arena_strdup(a, m->run.name);
    r->judged = m->judged;
    r->passes = m->passes;
    r->tokens = m->in_tokens + m->out_tokens;
    r->usd = m->usd;
    r->usd_unknown = m->usd_unknown;
    r->wall_s = (double)m->run.wall_ns / 1e9;
    if (m->best)
        r->roofline_pct = m->best->roofline_pct;
    if (m->has_with_torch) {
        use_verdict(r, &m->with_torch, a);
    } else if (best_verdict(m, s, &v)) {
        use_verdict(r, &v, a);
        verdict_release(&v);
    }
}

/* Without a readable snapshot of the task in the store, the kind stays "unknown". */
static void use_task(struct campaign_row *r, struct store *s, const char *sha)
{
    struct strbuf text = STRBUF_INIT(TASK_MAX_SNAPSHOT);
    struct problem_vec problems = VEC_INIT;
    struct task *t = NULL;
    if (*sha && store_blob_get(s, sha, &text, NULL) == 0)
        t = task_from_snapshot(text.buf, text.len, "entry", &problems);
    if (t)
        work_kind_of(t, &r->kind);
    task_free(t);
    problems_release(&problems);
    strbuf_release(&text);
}

static enum row_state state_of(const struct entry_rec *e, bool has_best)
{
    if (str_eq(e->state, "done"))
        return has_best ? ROW_PASS : ROW_NO_PASS;
    return str_eq(e->state, "failed")    ? ROW_FAILED
           : str_eq(e->state, "running") ? ROW_RUNNING
           : str_eq(e->state, "stopped") ? ROW_STOPPED
                                         : ROW_WAITING;
}

int campaign_row_load(struct campaign_row *r, struct store *s, const struct entry_rec *e,
                      const char *hone, struct arena *a, struct err *err)
{
    *r = (struct campaign_row){
        .index = e->index,
        .label = arena_strdup(a, e->label),
        .operand = arena_strdup(a, e->operand),
        .run = "",
        .reason = arena_strdup(a, e->reason),
        .at_ms = e->at_ms,
        .hone = arena_strdup(a, e->hone),
        .is_old = hone && *e->hone && !str_eq(e->hone, hone),
        .kind = {.name = "unknown"},
        .precision = "",
        .gpu = "",
        .program_note = "",
        .known_ns = e->known_ns,
    };
    bool has_best = false;
    const char *sha = e->task_sha;
    if (e->run >= 0) {
        struct run_summary m;
        char number[32];
        snprintf(number, sizeof number, "%lld", (long long)e->run);
        if (run_summary_load(&m, s, number, err) < 0)
            return -1;
        use_summary(r, &m, s, a);
        has_best = m.best != NULL;
        if (!*sha)
            sha = arena_strdup(a, m.task_sha);
        run_summary_release(&m);
    }
    r->state = state_of(e, has_best);
    use_task(r, s, sha);
    campaign_row_compare(r);
    return 0;
}

int campaign_table_load(struct campaign_table *t, struct store *s, const char *which,
                        const char *hone, struct err *err)
{
    struct entry_rec_vec list = VEC_INIT;
    memset(t, 0, sizeof *t);
    int rc = store_campaign_find(s, which, &t->campaign, &t->arena, err);
    if (rc == 0)
        rc = err_set(err, ERR_INPUT, "the store has no campaign '%s'", which);
    if (rc > 0)
        rc = store_entry_list(s, t->campaign.id, &list, &t->arena, err);
    for (size_t i = 0; i < list.n && rc == 0; i++)
        rc = campaign_row_load(vec_push(&t->rows), s, &list.items[i], hone, &t->arena, err);
    vec_release(&list);
    if (rc < 0)
        campaign_table_release(t);
    return rc;
}

void campaign_table_release(struct campaign_table *t)
{
    vec_each (struct campaign_row, r, &t->rows)
        vec_release(&r->baselines);
    vec_release(&t->rows);
    arena_release(&t->arena);
}
