/* decide_verdict.c - the rules that turn the facts of a job into a verdict. */
#include "check/decide_verdict.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "check/case_order.h"
#include "job/unit_sample.h"

static bool switched_off(const struct check_input *in, const char *detector)
{
    for (const char *const *p = in ? in->off : NULL; p && *p; p++)
        if (str_eq(*p, detector))
            return true;
    return false;
}

void check_blame(struct verdict *v, const struct check_input *in, enum verdict_kind kind,
                 const char *stage, const char *detector, const char *fmt, ...)
{
    if (switched_off(in, detector) || v->kind <= kind)
        return;
    char text[1500];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    v->kind = kind;
    v->stage = arena_strdup(&v->arena, stage);
    v->detector = arena_strdup(&v->arena, detector);
    v->summary = arena_strdup(&v->arena, text);
}

static bool hidden(const struct check_input *in, uint32_t c)
{
    return in->cases[c].role == ROLE_HELDOUT;
}

/* Returns the text with '#' in place of each number, because numbers would reveal a held-out shape.
 * Names keep their digits. */
static const char *without_numbers(struct verdict *v, const char *text)
{
    char *out = arena_strdup(&v->arena, text ? text : ""), *w = out;
    bool name = false;
    for (const char *p = out; *p;) {
        if (!name && *p >= '0' && *p <= '9') {
            *w++ = '#';
            for (p++; (*p >= '0' && *p <= '9') || (*p == '.' && p[1] >= '0' && p[1] <= '9');)
                p++;
            continue;
        }
        name = *p == '_' || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
               (name && *p >= '0' && *p <= '9');
        *w++ = *p++;
    }
    *w = '\0';
    return out;
}

/* Returns the name and shape of case c for a message, such as "smoke:0 (M=4 N=7)". For a held-out
 * case, returns words that do not tell the shape. */
static const char *where(struct verdict *v, const struct check_input *in, uint32_t c)
{
    const struct check_case *k = &in->cases[c];
    if (hidden(in, c))
        return "a held-out shape (not shown: it differs from the listed ones in size or alignment)";
    if (!*k->shape)
        return in->job->cases[c].name;
    return arena_printf(&v->arena, "%s (%s)", in->job->cases[c].name, k->shape);
}

/* ---- one call ---- */

struct call_ctx {
    const struct check_input *in;
    uint32_t c, k;
    const struct result_call *r;
    const struct job_case *jc;
    const struct result_case *rc;
    bool first_ok; /* the first verified call was right */
    struct verdict_workload *w;
};

/* job_buffer.budget limits an output's rms error. We apply it only if at least this many elements
 * were compared. Fewer elements say nothing about the precision. */
enum { BUDGET_MIN_ELEMS = 256 };

/* most_written estimates the share of an output that all blocks write. Below this limit, the
 * kernel leaves a part unwritten. The limit is below 1 because one right byte in 256 equals the
 * poison by chance. */
static const double WRITTEN_ENOUGH = 0.98;

/* Returns the largest allowed rms_ratio, which is larger than the budget, because the mean over few
 * elements varies with the data. For a sample of blocks, it is twice the budget. For all blocks, it
 * is twice the budget at BUDGET_MIN_ELEMS elements, and nearer to the budget for more elements. */
static double allowed_ratio(const struct call_ctx *x, const struct result_compare *cmp)
{
    bool sample = x->r->flags & JOB_CALL_BLOCK_SAMPLE;
    double few = sqrt(BUDGET_MIN_ELEMS / (double)cmp->n);
    return x->jc->buffers[cmp->buffer].budget * (1 + (sample ? 1 : few));
}

static const char *what_is_wrong(const struct call_ctx *x, const struct result_compare *cmp)
{
    const struct job_buffer *b = &x->jc->buffers[cmp->buffer];
    if (cmp->unwritten)
        return "unwritten";
    if (cmp->bad || !(cmp->max_ratio <= 1))
        return "compare";
    bool enough = b->budget > 0 && cmp->n >= BUDGET_MIN_ELEMS;
    return enough && !(cmp->rms_ratio <= allowed_ratio(x, cmp)) ? "budget" : NULL;
}

/* Returns whether the next call, which has the same data in a fresh module, was wrong too. If so,
 * neither an earlier call nor a clock caused the error. */
static bool wrong_when_fresh(const struct call_ctx *x)
{
    if (x->k + 1 >= x->rc->ncalls)
        return false;
    const struct result_call *next = &x->rc->calls[x->k + 1];
    if (next->program != x->in->program || !(next->flags & JOB_CALL_REPEAT) ||
        next->status != RESULT_OK)
        return false;
    for (uint32_t i = 0; i < next->ncompares; i++)
        if (what_is_wrong(x, &next->compares[i]))
            return true;
    return next->repeat_equal;
}

/* Returns whether a call in a fresh module was wrong. Then the candidate has a plain mistake, and
 * an output that does not change with the input proves no cheat: the first call may have been right
 * by chance, for example if the output is one element. */
static bool has_plain_mistake(const struct check_input *in)
{
    const uint32_t not_fresh = JOB_CALL_KEEP_STATE | JOB_CALL_TIMED;
    for (uint32_t c = 0; c < MIN(in->result->ncases, in->job->ncases); c++) {
        struct call_ctx x = {
            .in = in, .c = c, .jc = &in->job->cases[c], .rc = &in->result->cases[c]};
        for (x.k = 0; x.k < x.rc->ncalls; x.k++) {
            x.r = &x.rc->calls[x.k];
            if (x.r->program != in->program || x.r->flags & not_fresh || x.r->status != RESULT_OK)
                continue;
            for (uint32_t i = 0; i < x.r->ncompares; i++)
                if (what_is_wrong(&x, &x.r->compares[i]))
                    return true;
        }
    }
    return false;
}

static enum verdict_kind kind_of_finding(enum finding_kind k)
{
    switch (k) {
    case FIND_OOB:
    case FIND_MISALIGNED:
    case FIND_TRAP:
    case FIND_ASSERT:
        return V_FAULT;
    case FIND_DEADLOCK:
        return V_HANG;
    case FIND_UNWRITTEN:
        return V_MISMATCH;
    case FIND_INPUT:
        return V_CHEAT;
    default: /* FIND_UNSUPPORTED and FIND_NOTE do not come here */
        return V_UNSAFE;
    }
}

static bool found_in(const struct check_input *in, uint32_t c, bool any_case, enum finding_kind k)
{
    for (uint32_t i = 0; i < in->result->nfindings && !switched_off(in, "sanitizer"); i++) {
        const struct result_finding *f = &in->result->findings[i];
        if ((f->case_index == c || any_case) && f->kind == k)
            return true;
    }
    return false;
}

/* Returns whether the sanitizer found a cause for a result of case c that depends on the order of
 * threads. If `any_case`, findings of all cases count. */
static bool unordered_in(const struct check_input *in, uint32_t c, bool any_case)
{
    return found_in(in, c, any_case, FIND_RACE) || found_in(in, c, any_case, FIND_BARRIER) ||
           found_in(in, c, any_case, FIND_ASYNC);
}

/* Returns whether the sanitizer found a cause for the result of a call. The sanitizer does not
 * watch calls that run a sample of the blocks. For such a call, findings of all cases count. A
 * workspace that the kernel never clears holds what earlier calls left. This is a mistake if fresh
 * calls are wrong too, and else perhaps a cheat. */
static bool has_cause(const struct call_ctx *x)
{
    bool sampled = x->r->flags & JOB_CALL_BLOCK_SAMPLE;
    bool later = x->r->flags & JOB_CALL_KEEP_STATE;
    return unordered_in(x->in, x->c, sampled) ||
           (later && found_in(x->in, x->c, sampled, FIND_UNINIT) && has_plain_mistake(x->in));
}

/* If the verdict is about a finding of the sanitizer, adds to the summary that the result is wrong
 * too. The finding stays first in the summary, because the author must repair its cause. */
static void add_consequence(struct verdict *v, const struct call_ctx *x, const char *story)
{
    static const char lead[] = "; so the result is wrong on ";
    if (v->kind == V_UNSAFE && !strstr(v->summary, lead))
        v->summary =
            arena_printf(&v->arena, "%s%s%s: %s", v->summary, lead, where(v, x->in, x->c), story);
}

/* Lowers the verdict because an output is wrong. The kind of call gives the detector, for example
 * "state" for a call after earlier ones. But the detector "budget" stays, because a low precision
 * shows in every kind of call. */
static void blame_wrong(struct verdict *v, struct call_ctx *x, const char *detector,
                        const struct result_compare *cmp, const char *story)
{
    const struct check_input *in = x->in;
    bool plain = str_eq(detector, "compare") || str_eq(detector, "unwritten");
    if (plain && has_cause(x)) {
        add_consequence(v, x, story);
        return;
    }
    bool first = !x->first_ok || str_eq(detector, "budget") || wrong_when_fresh(x);
    bool perturbed = x->k < x->jc->ncalls && x->jc->calls[x->k].perturb_buffer >= 0;
    if (perturbed && (!cmp->stale /* the output changed with the input, but is wrong */ ||
                      has_plain_mistake(in)))
        first = true;
    if (!first && (x->r->flags & JOB_CALL_TIMED))
        check_blame(v, in, V_CHEAT, "time", "timed-sample",
                    "right in an untimed call but wrong in a timed call on %s: %s",
                    where(v, in, x->c), story);
    else if (!first && perturbed)
        check_blame(
            v, in, V_CHEAT, "check", "perturb",
            "when one element of '%s' was changed, the output did not change with it on %s: %s",
            x->jc->buffers[x->jc->calls[x->k].perturb_buffer].name, where(v, in, x->c), story);
    else if (!first && (x->r->flags & JOB_CALL_KEEP_STATE))
        check_blame(v, in, V_CHEAT, "check", "state",
                    "right in a fresh process but wrong after earlier calls on %s: data may be "
                    "carried from call to call, or the result may depend on a clock: %s",
                    where(v, in, x->c), story);
    else
        check_blame(v, in, V_MISMATCH, "check",
                    in->cases[x->c].role == ROLE_HELDOUT && str_eq(detector, "compare") ? "heldout"
                                                                                        : detector,
                    "wrong on %s: %s", where(v, in, x->c), story);
}

static void note_workload(struct call_ctx *x, struct verdict *v, const struct result_compare *cmp,
                          const char *story)
{
    struct verdict_workload *w = x->w;
    const struct job_buffer *b = &x->jc->buffers[cmp->buffer];
    if (!w->output || !(cmp->max_ratio <= w->max_ratio)) {
        w->max_ratio = cmp->max_ratio;
        w->rms_ratio = cmp->rms_ratio;
        w->output = arena_strdup(&v->arena, b->name);
    }
    if (story && w->ok) {
        w->ok = false;
        w->note = story;
    }
}

static void add_index(struct strbuf *sb, const struct job_buffer *b, uint64_t elem)
{
    int64_t idx[8] = {0};
    for (uint32_t d = b->rank; d-- > 0;) {
        int64_t n = b->dims[d] > 0 ? b->dims[d] : 1;
        idx[d] = (int64_t)(elem % (uint64_t)n);
        elem /= (uint64_t)n;
    }
    strbuf_addc(sb, '[');
    for (uint32_t d = 0; d < b->rank; d++)
        strbuf_addf(sb, d ? ", %lld" : "%lld", (long long)idx[d]);
    strbuf_addc(sb, ']');
}

static const char *tell_mismatch(struct verdict *v, const struct call_ctx *x,
                                 const struct result_compare *cmp)
{
    const struct job_buffer *b = &x->jc->buffers[cmp->buffer];
    bool pattern = cmp->pattern && *cmp->pattern;
    if (hidden(x->in, x->c))
        return arena_printf(&v->arena, "'%s' is wrong%s%s", b->name, pattern ? "; pattern: " : "",
                            pattern ? cmp->pattern : "");
    struct strbuf sb = STRBUF_INIT(1200);
    double pct = cmp->n ? 100.0 * (double)cmp->bad / (double)cmp->n : 0;
    if (x->r->flags & JOB_CALL_BLOCK_SAMPLE)
        strbuf_addf(&sb, "%.3g%% of %llu elements of '%s' that a sample of blocks wrote are wrong",
                    pct, (unsigned long long)cmp->n, b->name);
    else
        strbuf_addf(&sb, "%.3g%% of '%s' is wrong", pct, b->name);
    if (isfinite(cmp->max_ratio))
        strbuf_addf(&sb, ", at worst %.3g times the allowed error", cmp->max_ratio);
    strbuf_adds(&sb, " at ");
    add_index(&sb, b, cmp->worst_elem);
    strbuf_addf(&sb, " (got %.9g, want %.9g)", cmp->worst_got, cmp->worst_want);
    if (pattern)
        strbuf_addf(&sb, "; pattern: %s", cmp->pattern);
    char *s = arena_strdup(&v->arena, sb.buf);
    strbuf_release(&sb);
    return s;
}

static const char *tell_unwritten(struct verdict *v, const struct call_ctx *x,
                                  const struct result_compare *cmp)
{
    const char *name = x->jc->buffers[cmp->buffer].name;
    const char *lead = cmp->pattern && *cmp->pattern ? "; pattern: " : "";
    if (hidden(x->in, x->c))
        return arena_printf(&v->arena, "elements of '%s' were never written%s%s", name, lead,
                            *lead ? cmp->pattern : "");
    return arena_printf(&v->arena, "%llu of %llu elements of '%s' were never written%s%s",
                        (unsigned long long)cmp->unwritten, (unsigned long long)cmp->n, name, lead,
                        cmp->pattern ? cmp->pattern : "");
}

static bool check_compare(struct verdict *v, struct call_ctx *x, const struct result_compare *cmp)
{
    const struct job_buffer *b = &x->jc->buffers[cmp->buffer];
    const char *story = NULL, *detector = what_is_wrong(x, cmp);
    if (detector && cmp->unwritten) {
        story = tell_unwritten(v, x, cmp);
    } else if (detector && str_eq(detector, "compare")) {
        story = tell_mismatch(v, x, cmp);
    } else if (detector) {
        story = arena_printf(&v->arena,
                             "errors of '%s' are %.3g times those of an ideal implementation in "
                             "the declared precision (%.3g allowed): a lower precision was used",
                             b->name, cmp->rms_ratio, allowed_ratio(x, cmp));
    }
    if (story && hidden(x->in, x->c))
        story = without_numbers(v, story);
    note_workload(x, v, cmp, story);
    if (!story)
        return true;
    blame_wrong(v, x, detector, cmp, story);
    return false;
}

/* Returns whether the calls compare all elements of the outputs. If they do not, the reference
 * leaves some elements undefined. */
static bool all_is_defined(const struct check_input *in)
{
    for (uint32_t c = 0; c < in->result->ncases && c < in->job->ncases; c++) {
        const struct job_case *jc = &in->job->cases[c];
        const struct result_case *rc = &in->result->cases[c];
        if (unit_sample_is_partial(jc))
            continue;
        for (uint32_t k = 0; k < rc->ncalls; k++)
            for (uint32_t i = 0; i < rc->calls[k].ncompares; i++)
                if (!(rc->calls[k].flags & JOB_CALL_BLOCK_SAMPLE) &&
                    rc->calls[k].compares[i].n < jc->buffers[rc->calls[k].compares[i].buffer].elems)
                    return false;
    }
    return true;
}

static void check_call(struct verdict *v, struct call_ctx *x, bool *verified)
{
    const struct check_input *in = x->in;
    const struct result_call *r = x->r;
    if (r->status != RESULT_OK)
        return; /* check_status() reports it */
    const char *damage = hidden(in, x->c) ? without_numbers(v, r->damage)
                         : r->damage      ? r->damage
                                          : "";
    if (!r->inputs_intact)
        check_blame(v, in, V_CHEAT, "check", "input-hash", "an input was modified on %s: %s",
                    where(v, in, x->c), damage);
    if (!r->guards_intact)
        check_blame(v, in, V_FAULT, "check", "guard",
                    "memory outside the buffers was written on %s: %s", where(v, in, x->c), damage);
    if (!r->globals_intact)
        check_blame(v, in, V_CHEAT, "check", "device-state",
                    "__device__ variables are not as they were before the call on %s (%s): data "
                    "could be carried from call to call; use the plan's workspace instead",
                    where(v, in, x->c), damage);
    if ((r->flags & JOB_CALL_REPEAT) && !r->repeat_equal && !in->task->nondeterministic_ok)
        check_blame(v, in, V_UNSAFE, "check", "determinism",
                    "the same input gave two different results on %s: a race, uninitialised data, "
                    "or atomics that add in no fixed order. If such atomics are meant, the task "
                    "must allow them with the flag nondeterministic_ok (docs/task.md)",
                    where(v, in, x->c));
    bool ok = true;
    bool all_ran = r->sample.ran == r->sample.blocks && r->sample.blocks;
    if ((r->flags & JOB_CALL_BLOCK_SAMPLE) &&
        r->most_written < (all_ran ? RESULT_WRITTEN_BY_ALL : WRITTEN_ENOUGH) &&
        all_is_defined(in)) {
        x->w->ok = ok = false;
        check_blame(v, in, V_MISMATCH, "check", "unwritten", "wrong on %s: %s %.4g%% of an output",
                    where(v, in, x->c),
                    all_ran ? "all blocks ran, and together they write"
                            : "a sample of blocks shows that all blocks together write at most",
                    100 * r->most_written);
    }
    for (uint32_t i = 0; i < r->ncompares; i++)
        ok = check_compare(v, x, &r->compares[i]) && ok;
    if (r->ncompares && !*verified) {
        *verified = true;
        x->first_ok = ok;
    }
}

#define TELL_UNVERIFIED \
    "the output was not verified, since blocks that were not run may contribute to it"

/* Verdicts state with which probability a sample finds an error in TOLD_SHARE of the blocks or
 * rows. They state at most NEVER_CERTAIN percent. */
static const double TOLD_SHARE = 0.01, NEVER_CERTAIN = 99.9999;

/* Returns `pct` as text, with as few digits as are accurate to about 0.5%. Rounds down, so that 100
 * means exactly 100. */
static const char *percent(struct verdict *v, double pct)
{
    for (int digits = 0; digits < 6; digits++) {
        double cut = floor(pct * pow(10, digits)) / pow(10, digits);
        if (cut >= 0.995 * pct && (pct == 100 || cut < 100))
            return arena_printf(&v->arena, "%.*f", digits, cut);
    }
    return arena_printf(&v->arena, "%.2g", pct);
}

static void note_seen(struct verdict *v, struct verdict_workload *w, const struct job_case *jc,
                      const struct result_call *r, uint64_t seed)
{
    uint64_t n = 0, all = 0;
    for (uint32_t i = 0; i < r->ncompares; i++)
        n += r->compares[i].n;
    for (uint32_t i = 0; i < jc->nbuffers; i++)
        all += jc->buffers[i].role == JOB_OUTPUT || jc->buffers[i].role == JOB_INOUT
                   ? jc->buffers[i].elems
                   : 0;
    if (r->flags & JOB_CALL_BLOCK_SAMPLE) {
        w->blocks = (double)r->sample.blocks;
        w->blocks_ran = (double)r->sample.ran;
        w->blocks_verified = (double)r->sample.verified;
        w->unseen_pct = 100 * r->sample.unseen;
        w->found_pct = 100 * unit_sample_hits(r->sample.blocks, r->sample.verified,
                                              TOLD_SHARE * (double)r->sample.blocks);
        if (r->sample.verified < r->sample.blocks)
            w->found_pct = MIN(w->found_pct, NEVER_CERTAIN);
        w->note =
            n ? arena_printf(
                    &v->arena,
                    "modelled from a sample of blocks; %llu of %llu blocks ran, %llu of them "
                    "were verified (%llu of %llu elements); no block that ran wrote %s%% of the "
                    "outputs; "
                    "an error in 1%% of the blocks is found with probability %s%%",
                    (unsigned long long)r->sample.ran, (unsigned long long)r->sample.blocks,
                    (unsigned long long)r->sample.verified, (unsigned long long)n,
                    (unsigned long long)all, percent(v, w->unseen_pct), percent(v, w->found_pct))
              : "modelled from a sample of blocks: " TELL_UNVERIFIED;
    } else if (n && unit_sample_is_partial(jc)) {
        w->found_pct = MIN(100 * unit_sample_finds(jc, seed, TOLD_SHARE), NEVER_CERTAIN);
        w->note =
            arena_printf(&v->arena,
                         "the truth of %llu of %llu elements was computed: an error in 1%% "
                         "of the rows, columns or tiles is found with probability %s%%",
                         (unsigned long long)n, (unsigned long long)all, percent(v, w->found_pct));
    }
}

/* Notes which share of the outputs a call verified. A reference may leave elements undefined. So a
 * call counts as whole if the truth of all elements was computed, even if fewer were compared. */
static void note_verified(struct verdict_workload *w, const struct job_case *jc,
                          const struct result_call *r)
{
    uint64_t n = 0, elems = 0;
    for (uint32_t i = 0; i < r->ncompares; i++) {
        n += r->compares[i].n;
        elems += jc->buffers[r->compares[i].buffer].elems;
    }
    if (r->status != RESULT_OK || !r->ncompares || (elems && !n))
        return;
    bool whole = n == elems || (!(r->flags & JOB_CALL_BLOCK_SAMPLE) && !unit_sample_is_partial(jc));
    double pct = whole || !elems ? 100 : 100.0 * (double)n / (double)elems;
    if (pct > w->verified_pct || !str_eq(w->verified, "whole"))
        w->verified = whole ? "whole" : "sample";
    w->verified_pct = MAX(w->verified_pct, pct);
}

static void check_case(struct verdict *v, const struct check_input *in, uint32_t c,
                       struct verdict_workload *w)
{
    const struct job_case *jc = &in->job->cases[c];
    const struct result_case *rc = &in->result->cases[c];
    *w = (struct verdict_workload){
        .name = arena_strdup(&v->arena, jc->name),
        .role = workload_role_name(in->cases[c].role),
        .shape = arena_strdup(&v->arena, in->cases[c].shape),
        .ok = true,
        .verified = "none",
        .output = NULL,
        .note = "",
    };
    struct call_ctx x = {.in = in, .c = c, .jc = jc, .rc = rc, .w = w};
    bool verified = false, ran = false;
    for (uint32_t k = 0; k < rc->ncalls; k++) {
        if (rc->calls[k].program != in->program)
            continue;
        if (rc->calls[k].status == RESULT_OK)
            note_seen(v, w, jc, &rc->calls[k], in->job->seed);
        note_verified(w, jc, &rc->calls[k]);
        x.k = k;
        x.r = &rc->calls[k];
        ran = ran || x.r->status == RESULT_OK;
        if (x.r->status != RESULT_OK && x.r->status != RESULT_NOT_RUN)
            w->ok = false;
        check_call(v, &x, &verified);
    }
    if (!ran) {
        bool here = !w->ok || (in->result->status != RESULT_OK && in->result->where_case == c);
        w->ok = false;
        w->note = here ? VERDICT_FAILED : VERDICT_DID_NOT_RUN;
    }
    if (!w->output)
        w->output = "";
}

/* ---- the whole job ---- */

static enum verdict_kind kind_of_status(enum result_status status)
{
    static const enum verdict_kind kinds[] = {
        [RESULT_OK] = V_PASS,
        [RESULT_NOT_RUN] = V_UNJUDGED,
        [RESULT_LOAD_FAILED] = V_PLAN_ERROR,
        [RESULT_PLAN] = V_PLAN_ERROR,
        [RESULT_OOM] = V_OOM,
        [RESULT_HANG] = V_HANG,
        [RESULT_FAULT] = V_FAULT,
        [RESULT_UNSUPPORTED] = V_UNJUDGED,
        [RESULT_MACHINE] = V_UNJUDGED,
    };
    return kinds[status];
}

static void check_status(struct verdict *v, const struct check_input *in)
{
    const struct result *r = in->result;
    enum verdict_kind k = kind_of_status(r->status);
    if (k == V_PASS || k == V_UNJUDGED)
        return;
    bool known = r->where_case < in->job->ncases;
    const char *at = known ? where(v, in, r->where_case) : "an unknown case";
    const char *story = known && !hidden(in, r->where_case) && r->message
                            ? r->message
                            : without_numbers(v, r->message);
    check_blame(v, in, k, "run", "status", "%s on %s: %s", result_status_name(r->status), at,
                story);
}

/* Call this if Hone or the machine failed before the job was done. Adds a warning to a verdict that
 * is already lowered; otherwise the candidate is unjudged. */
static void check_early_end(struct verdict *v, const struct check_input *in)
{
    const char *why = in->result->message;
    if (!why || !*why)
        why = "the worker failed";
    if (v->kind != V_PASS) {
        bool secret =
            in->result->where_case < in->job->ncases && hidden(in, in->result->where_case);
        *vec_push(&v->warnings) =
            arena_printf(&v->arena, "the run ended early, so later workloads were not judged: %s",
                         secret ? without_numbers(v, why) : why);
        return;
    }
    v->kind = V_UNJUDGED;
    v->stage = "run";
    v->detector = "status";
    v->summary = arena_strdup(&v->arena, why);
}

static const char *kernel_label(const struct check_input *in, const struct result_finding *f)
{
    const struct job_case *c = &in->job->cases[f->case_index];
    return c->nprograms ? job_kernel_label(c->programs, f->kernel) : f->kernel;
}

/* Returns whether the verdict already has a finding with the kind, kernel and line of `f`. If
 * `count`, also adds the count of `f` to that finding. */
static bool found_before(struct verdict *v, const struct check_input *in,
                         const struct result_finding *f, bool count)
{
    vec_each (struct verdict_finding, o, &v->findings)
        if (o->kind == f->kind && o->line == f->line && str_eq(o->kernel, kernel_label(in, f))) {
            o->count += count ? f->count : 0;
            return true;
        }
    return false;
}

static const char *line_of(struct verdict *v, uint32_t line)
{
    return line ? arena_printf(&v->arena, "at line %u of", line) : "in";
}

static void check_finding(struct verdict *v, const struct check_input *in,
                          const struct result_finding *f)
{
    uint32_t c = f->case_index;
    *vec_push(&v->findings) = (struct verdict_finding){
        .workload = arena_strdup(&v->arena, in->job->cases[c].name),
        .role = workload_role_name(in->cases[c].role),
        .kind = f->kind,
        .kernel = arena_strdup(&v->arena, kernel_label(in, f)),
        .file = arena_strdup(&v->arena, f->file),
        .line = f->line,
        .block = {f->block[0], f->block[1], f->block[2]},
        .thread = {f->thread[0], f->thread[1], f->thread[2]},
        .object = arena_strdup(&v->arena, f->object),
        .index = f->index,
        .text = arena_strdup(&v->arena, f->text),
        .other = arena_strdup(&v->arena, f->other),
        .count = f->count,
    };
    /* Elements that a race left unwritten are not the cause. */
    bool consequence = f->kind == FIND_UNWRITTEN && unordered_in(in, c, false);
    if (f->kind != FIND_UNSUPPORTED && !consequence)
        check_blame(v, in, kind_of_finding(f->kind), "emulate",
                    f->kind == FIND_INPUT ? "input-hash" : "sanitizer",
                    "%s %s kernel '%s' on %s%s%s", finding_kind_name(f->kind), line_of(v, f->line),
                    kernel_label(in, f), where(v, in, c), hidden(in, c) ? "" : ": ",
                    hidden(in, c) ? "" : f->text);
}

/* Turns finding i, a note, into a warning. Warns once for each kernel and line. */
static void check_note(struct verdict *v, const struct check_input *in, uint32_t i)
{
    const struct result_finding *f = &in->result->findings[i];
    if (f->case_index >= in->job->ncases || hidden(in, f->case_index))
        return;
    for (uint32_t k = 0; k < i; k++) {
        const struct result_finding *o = &in->result->findings[k];
        if (o->kind == FIND_NOTE && o->line == f->line && str_eq(o->kernel, f->kernel) &&
            o->case_index < in->job->ncases && !hidden(in, o->case_index))
            return;
    }
    *vec_push(&v->warnings) = arena_printf(&v->arena, "%s kernel '%s': %s", line_of(v, f->line),
                                           kernel_label(in, f), f->text);
}

void check_findings(struct verdict *v, const struct check_input *in)
{
    const uint32_t *order = case_order(in, &v->arena);
    for (uint32_t i = 0; i < in->result->nfindings; i++)
        if (in->result->findings[i].kind == FIND_NOTE)
            check_note(v, in, i);
    for (uint32_t k = 0; k < in->job->ncases; k++)
        for (uint32_t i = 0; i < in->result->nfindings; i++) {
            const struct result_finding *f = &in->result->findings[i];
            if (f->kind != FIND_NOTE && f->case_index == order[k] &&
                !found_before(v, in, f, !hidden(in, order[k])))
                check_finding(v, in, f);
        }
}

static void check_probes(struct verdict *v, const struct check_input *in)
{
    for (uint32_t c = 0; c < in->result->ncases; c++) {
        const struct result_case *rc = &in->result->cases[c];
        for (uint32_t k = 0; k < rc->ncalls; k++)
            for (uint32_t i = 0; i < rc->calls[k].ncompares; i++)
                if (!(rc->calls[k].flags & JOB_CALL_BLOCK_SAMPLE) &&
                    rc->calls[k].compares[i].n > 64 && rc->calls[k].compares[i].zero_ratio <= 1) {
                    *vec_push(&v->warnings) = arena_printf(
                        &v->arena, "an all-zero '%s' would pass on %s: the task's data is too weak",
                        in->job->cases[c].buffers[rc->calls[k].compares[i].buffer].name,
                        in->job->cases[c].name);
                    return;
                }
    }
}

static void check_printf(struct verdict *v, const struct check_input *in)
{
    size_t n = in->result->printf_text ? strlen(in->result->printf_text) : 0;
    if (n && n >= in->job->limits.printf_bytes)
        check_blame(v, in, V_REJECTED, "run", "printf",
                    "the kernel prints too much (Hone kept the first %zu bytes): remove printf", n);
    else if (n)
        *vec_push(&v->warnings) =
            arena_strdup(&v->arena, "the kernel prints; its times include the printing");
}

/* A candidate that would pass becomes unjudged if memory was too small to keep an output for the
 * comparison. */
static void check_unverified(struct verdict *v, const struct check_input *in)
{
    for (uint32_t c = 0; c < in->result->ncases && c < in->job->ncases; c++) {
        const struct result_case *rc = &in->result->cases[c];
        uint64_t elems = 0;
        for (uint32_t b = 0; b < in->job->cases[c].nbuffers; b++) {
            enum job_buffer_role role = in->job->cases[c].buffers[b].role;
            if (role == JOB_OUTPUT || role == JOB_INOUT)
                elems += in->job->cases[c].buffers[b].elems;
        }
        for (uint32_t k = 0; k < rc->ncalls && v->kind == V_PASS; k++) {
            const struct result_call *call = &rc->calls[k];
            if (call->program || !(call->flags & JOB_CALL_VERIFY) || call->ncompares || !elems ||
                call->status != RESULT_OK || (call->flags & JOB_CALL_BLOCK_SAMPLE))
                continue;
            v->kind = V_UNJUDGED;
            v->stage = "check";
            v->detector = "status";
            v->summary = arena_printf(&v->arena,
                                      "the outputs of %s, call %u could not be kept for "
                                      "comparison: this machine has too little memory",
                                      in->job->cases[c].name, k);
        }
    }
}

/* Returns whether a case that is not only timed launches the kernel. Also true if the job has no
 * such case. */
static bool launched_where_checked(const struct check_input *in, const char *kernel)
{
    bool any = false;
    for (uint32_t c = 0; c < in->job->ncases; c++) {
        const struct job_program *p = in->job->cases[c].programs;
        if (in->cases[c].role == ROLE_TIME || !in->job->cases[c].nprograms)
            continue;
        any = true;
        for (uint32_t l = 0; l < p->nlaunches; l++)
            if (str_eq(p->launches[l].kernel, kernel))
                return true;
    }
    return !any;
}

static bool ran_unverified(const struct result_case *rc)
{
    bool sampled = false;
    for (uint32_t k = 0; k < rc->ncalls; k++) {
        const struct result_call *r = &rc->calls[k];
        if (r->program || !(r->flags & JOB_CALL_BLOCK_SAMPLE) || r->status != RESULT_OK)
            continue;
        sampled = true;
        if (r->ncompares)
            return false;
    }
    return sampled;
}

/* Warns about timed workloads whose results were not verified. Does not lower the verdict, because
 * the emulator cannot verify every timed call, and honest plans may have kernels for large shapes
 * only. */
static void check_timed_results(struct verdict *v, const struct check_input *in)
{
    uint32_t n = 0, first = 0;
    for (uint32_t c = in->result->ncases; c-- > 0;) {
        const struct job_program *p = c < in->job->ncases ? in->job->cases[c].programs : NULL;
        if (!p || in->cases[c].role != ROLE_TIME || !ran_unverified(&in->result->cases[c]))
            continue;
        n++;
        first = c;
        for (uint32_t l = 0; l < p->nlaunches; l++)
            if (p->launches[l].kind == JOB_KERNEL &&
                !launched_where_checked(in, p->launches[l].kernel)) {
                *vec_push(&v->warnings) = arena_printf(
                    &v->arena,
                    "kernel '%s' runs on %s, which is only timed, and on no shape that is checked: "
                    "its results were not verified",
                    p->launches[l].kernel, where(v, in, c));
                return;
            }
    }
    if (n)
        *vec_push(&v->warnings) =
            arena_printf(&v->arena, "%u timed workload%s (first %s): %s", n, n > 1 ? "s" : "",
                         in->job->cases[first].name, TELL_UNVERIFIED);
}

bool check_baseline(struct verdict *v, const struct check_input *in)
{
    bool compared = false;
    for (uint32_t c = 0; c < in->result->ncases && c < in->job->ncases; c++)
        if (in->program < in->job->cases[c].nprograms)
            check_case(v, in, c, vec_push(&v->workloads));
    vec_each (struct verdict_workload, w, &v->workloads)
        compared = compared || !str_eq(w->verified, "none");
    return compared;
}

void check_facts(struct verdict *v, const struct check_input *in)
{
    bool early_end = kind_of_status(in->result->status) == V_UNJUDGED;
    check_status(v, in);
    check_printf(v, in);
    check_findings(v, in);
    uint32_t n = MIN(in->result->ncases, in->job->ncases);
    const uint32_t *order = case_order(in, &v->arena);
    for (uint32_t c = 0; c < n; c++)
        vec_push(&v->workloads);
    for (uint32_t i = 0; i < in->job->ncases; i++)
        if (order[i] < n)
            check_case(v, in, order[i], &v->workloads.items[v->workloads.n - n + order[i]]);
    if (early_end) {
        check_early_end(v, in);
        return;
    }
    check_unverified(v, in);
    check_timed_results(v, in);
    check_probes(v, in);
}
