/* baseline_states.c - judges the baselines of a job (baseline_states.h). */
#include "eval/baseline_states.h"

#include <string.h>

#include "base/util.h"
#include "job/torch_variants.h"

static void add(struct verdict *v, const char *who, const char *state, const char *text)
{
    *vec_push(&v->baselines) = (struct verdict_baseline){
        .who = arena_strdup(&v->arena, who), .state = state, .text = arena_strdup(&v->arena, text)};
}

/* A library's errors may be up to this many times the tolerance. The tolerance of a float32 sum is
 * made for chains of 1024 terms (docs/tolerance.md), but cuBLAS adds 8192 terms in one chain. TF32
 * still cannot pass for float32: with products rounded to TF32, errors are at least 30 times as
 * large as cuBLAS's. */
static const double LIBRARY_SLACK = 4;

/* True if program p wrote all its outputs with errors of at most LIBRARY_SLACK times the
 * tolerance. */
static bool is_imprecise(const struct check_input *in, uint32_t p)
{
    for (uint32_t c = 0; c < in->result->ncases; c++) {
        const struct result_case *rc = &in->result->cases[c];
        for (uint32_t k = 0; k < rc->ncalls; k++)
            for (uint32_t i = 0; rc->calls[k].program == p && i < rc->calls[k].ncompares; i++) {
                const struct result_compare *x = &rc->calls[k].compares[i];
                if (x->unwritten || x->stale || !(x->max_ratio <= LIBRARY_SLACK))
                    return false;
            }
    }
    return true;
}

/* Judges a baseline, program p of the job, by the results of its calls. Returns its state and sets
 * *text. */
static const char *judge_calls(struct verdict *v, const struct check_input *in, uint32_t p,
                               const char **text)
{
    enum job_module_kind kind = in->job->modules[p].kind;
    const struct torch_variant *variant = torch_variant_find(in->job->modules[p].name);
    if (variant && variant->unjudged) {
        *text = "its products may be TF32, so its result is not judged; only its time is taken";
        return "unverified";
    }
    struct verdict own = {.kind = V_PASS, .stage = "", .detector = "", .summary = ""};
    struct check_input of = *in;
    of.program = p;
    bool compared = check_baseline(&own, &of);
    const char *state = "right";
    *text = "";
    if (own.kind != V_PASS) {
        bool close = own.kind == V_MISMATCH && is_imprecise(in, p);
        bool imprecise = kind != JOB_MODULE_KERNEL && (str_eq(own.detector, "budget") || close);
        state = imprecise ? "imprecise" : "wrong";
        *text = arena_printf(&v->arena, "%s: %s", verdict_kind_name(own.kind), own.summary);
    } else if (!compared && kind != JOB_MODULE_KERNEL) {
        state = "unverified";
        *text = "its outputs could not be kept for comparison, or no truth was computed";
    }
    verdict_release(&own);
    return state;
}

/* Returns whether some case runs module p. Program p of a case is always module p of the job. */
static bool took_part(const struct job *j, uint32_t p)
{
    for (uint32_t c = 0; c < j->ncases; c++)
        if (p < j->cases[c].nprograms)
            return true;
    return false;
}

/* Returns whether the worker ran a PyTorch variant in a mode that is not the variant's mode. A
 * worker of an older version does so: if it does not know a variant, it runs it in eager mode. The
 * message of the sidecar ends with the mode in which the variant ran. */
static bool ran_another_mode(const char *name, const char *message)
{
    const struct torch_variant *v = torch_variant_find(name);
    return v && !v->by_task && !str_ends(message, v->mode);
}

void baseline_states(struct verdict *v, const struct check_input *in,
                     const struct rejected_baseline_vec *rejected, bool *left_out)
{
    const struct result *r = in->result;
    memset(left_out, 0, JOB_MAX_PROGRAMS * sizeof *left_out);
    vec_each (const struct rejected_baseline, x, rejected)
        add(v, x->name, x->failed ? "failed" : "wrong", x->text);
    if (v->kind != V_PASS)
        return; /* if the job ended early, its baselines may not have run */
    for (uint32_t p = 1; p < in->job->nmodules && p < JOB_MAX_PROGRAMS; p++) {
        const char *name = in->job->modules[p].name, *text = "";
        if (!took_part(in->job, p))
            continue;
        const struct result_module *m = p < r->nmodules ? &r->modules[p] : NULL;
        if (m && m->status != RESULT_OK) {
            left_out[p] = true;
            add(v, name, "failed",
                arena_printf(&v->arena, "%s: %.300s", result_status_name(m->status), m->message));
            continue;
        }
        if (m && ran_another_mode(name, m->message)) {
            left_out[p] = true;
            add(v, name, "failed", "the worker is of an older version, which has no such variant");
            continue;
        }
        const char *state = judge_calls(v, in, p, &text);
        left_out[p] = str_eq(state, "wrong");
        add(v, name, state, text);
    }
}

uint32_t baseline_that_broke_the_job(const struct result *r, const struct job *j)
{
    for (uint32_t m = 1; r->status == RESULT_MACHINE && m < r->nmodules && m < j->nmodules; m++)
        if (r->modules[m].status == RESULT_FAULT || r->modules[m].status == RESULT_HANG)
            return m;
    return 0;
}
