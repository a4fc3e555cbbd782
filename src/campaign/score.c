/* score.c - computes the means and counts of a campaign (score.h). */
#include "campaign/score.h"

#include <math.h>

#include "base/util.h"
#include "job/torch_variants.h"

static bool is_done(const struct campaign_row *r)
{
    return r->state == ROW_PASS || r->state == ROW_NO_PASS || r->state == ROW_FAILED;
}

/* Counts a row. While rows are added, mean_passes holds the sum of logarithms. */
static void add_row(struct score *s, const struct campaign_row *r)
{
    s->n++;
    if (r->state != ROW_PASS) {
        s->failures++;
        return;
    }
    s->passes++;
    if (!r->ratio.who) {
        s->no_ratio++;
        return;
    }
    s->in_mean++;
    s->mean_passes += log(r->ratio.mid);
    s->wins += r->standing == ROW_WIN;
    s->losses += r->standing == ROW_LOSS;
    s->ties += r->standing == ROW_TIE;
}

/* Computes the means from the sum of logarithms. */
static void finish(struct score *s)
{
    unsigned all = s->in_mean + s->failures;
    s->mean = all ? exp(s->mean_passes / all) : 0; /* a failure adds log(1), which is 0 */
    s->mean_passes = s->in_mean ? exp(s->mean_passes / s->in_mean) : 0;
}

static struct score *score_of_kind(struct campaign_score *c, const char *kind)
{
    for (size_t i = 0; i < c->kinds.n; i++)
        if (str_eq(c->kinds.items[i].kind, kind))
            return &c->kinds.items[i].score;
    struct kind_score *k = vec_push(&c->kinds);
    k->kind = kind;
    return &k->score;
}

/* Returns whether a row counts in the means. If `measured`, passes with a modelled time do not. */
static bool counts(const struct campaign_row *r, bool measured)
{
    return is_done(r) && !r->kind.degenerate && !(measured && r->state == ROW_PASS && r->is_model);
}

static void add_beside(const struct campaign_table *t, const char *who, bool measured,
                       struct campaign_score *out)
{
    struct beside_score s = {.who = who};
    double sum = 0;
    vec_each (struct campaign_row, r, &t->rows)
        vec_each (struct row_baseline, b, &r->baselines)
            if (r->state == ROW_PASS && counts(r, measured) && str_eq(b->who, who)) {
                sum += log(b->ratio.mid);
                s.n++;
            }
    s.mean = s.n ? exp(sum / s.n) : 0;
    if (s.n)
        *vec_push(&out->beside) = s;
}

/* While rows are added, `mean` holds the sum of logarithms. */
static void add_default(struct default_score *s, const struct row_baseline *b)
{
    if (!b->who)
        return;
    s->n++;
    s->mean += log(b->ratio.mid);
}

static void add_defaults(const struct campaign_table *t, bool measured, struct campaign_score *out)
{
    struct default_score *both[] = {&out->default_eager, &out->default_compile};
    vec_each (struct campaign_row, r, &t->rows)
        if (r->state == ROW_PASS && counts(r, measured)) {
            add_default(both[0], &r->default_eager);
            add_default(both[1], &r->default_compile);
        }
    for (size_t i = 0; i < ARRAY_LEN(both); i++)
        both[i]->mean = both[i]->n ? exp(both[i]->mean / both[i]->n) : 0;
}

void campaign_score(const struct campaign_table *t, struct campaign_score *out)
{
    bool measured = false;
    *out = (struct campaign_score){.rows = (unsigned)t->rows.n};
    vec_each (struct campaign_row, r, &t->rows)
        measured |= r->ours_ns > 0 && !r->is_model;
    out->is_model = !measured;
    vec_each (struct campaign_row, r, &t->rows) {
        out->old += r->is_old;
        out->unfinished += !is_done(r);
        out->degenerate += r->kind.degenerate;
        out->collapsed += r->kind.collapsed;
        out->left_out += is_done(r) && !r->kind.degenerate && !counts(r, measured);
        if (!counts(r, measured))
            continue;
        add_row(&out->all, r);
        if (!r->kind.collapsed)
            add_row(&out->without_collapsed, r);
        add_row(score_of_kind(out, r->kind.name), r);
    }
    finish(&out->all);
    finish(&out->without_collapsed);
    for (size_t i = 0; i < out->kinds.n; i++)
        finish(&out->kinds.items[i].score);
    for (size_t i = 0; i < TORCH_VARIANTS; i++)
        if (torch_variants[i].beside)
            add_beside(t, torch_variants[i].name, measured, out);
    add_defaults(t, measured, out);
}

void campaign_score_release(struct campaign_score *s)
{
    vec_release(&s->kinds);
    vec_release(&s->beside);
}
