/* judge_job.c - fills the verdict from the worker's result of one job: are the outputs right, and
 * is any time below the floor? Also judges the baselines. */
#include "base/util.h"
#include "check/case_order.h"
#include "check/decide_verdict.h"
#include "eval/baseline_states.h"
#include "eval/detail.h"
#include "eval/evaluation.h"

/* Leaves out the counters of held-out shapes: authors see all counters of a verdict, and must not
 * learn these shapes. */
void copy_counters(struct verdict *v, const struct case_set *cases, const struct result *r)
{
    for (uint32_t i = 0; i < r->ncounters; i++) {
        const struct result_counter *c = &r->counters[i];
        const char *role = workload_role_name(cases->info.items[c->case_index].role);
        if (verdict_hidden(role))
            continue;
        *vec_push(&v->counters) = (struct verdict_counter){
            .workload = arena_strdup(&v->arena, cases->cases.items[c->case_index].name),
            .role = role,
            .kernel = arena_strdup(
                &v->arena, job_kernel_label(cases->cases.items[c->case_index].programs, c->kernel)),
            .name = arena_strdup(&v->arena, c->name),
            .unit = arena_strdup(&v->arena, c->unit),
            .line = c->line,
            .value = c->value,
        };
    }
}

static void note_libraries(struct verdict *v, const struct evaluation *a, const bool *left_out)
{
    bool library = false, timed = false;
    for (uint32_t m = 1; m < a->job.nmodules && m < JOB_MAX_PROGRAMS; m++)
        library = library || (a->job.modules[m].kind != JOB_MODULE_KERNEL && !left_out[m]);
    for (uint32_t c = 0; c < a->job.ncases; c++)
        timed = timed || a->job.cases[c].timing.max_calls;
    if (a->cfg.baselines == BASELINES_ALL && timed && v->kind == V_PASS && !library)
        *vec_push(&v->warnings) = "no library (PyTorch, cuBLASLt) was timed beside this kernel";
}

static void note_warm_l2(struct verdict *v, const struct evaluation *a)
{
    bool warm = false;
    for (uint32_t c = 0; c < a->job.ncases; c++)
        warm = warm || a->job.cases[c].timing.warm_l2;
    if (warm)
        *vec_push(&v->warnings) =
            "timed with a warm L2: these times cannot be compared with those of other evaluations";
}

static const struct task_tensor *other_float_input(const struct task *t)
{
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_input && dtype_is_float(x->dtype) && x->dtype != DT_F32)
            return x;
    return NULL;
}

static bool takes_float32(const struct task *t)
{
    bool any = false;
    vec_each (const struct task_tensor, x, &t->tensors)
        any = any || (x->is_input && x->dtype == DT_F32);
    return any && !other_float_input(t) && t->compute == DT_F32;
}

/* Returns a text about the precision of the task's arithmetic. For a float32 task whose kernel uses
 * tensor cores, the text also says how many products they do in TF32 and in narrower types. */
static const char *precision_text(struct verdict *v, const struct task *t,
                                  const struct tensor_use *use)
{
    const char *declared = t->allow_tf32         ? "TF32"
                           : t->allow_tf32_convs ? "float32, TF32 convolutions"
                                                 : dtype_name(t->compute);
    const struct task_tensor *other = other_float_input(t);
    if (other)
        return arena_printf(&v->arena, "%s inputs, %s arithmetic", dtype_name(other->dtype),
                            declared);
    if (!takes_float32(t) || !(use->tf32 + use->narrow > 0))
        return arena_strdup(&v->arena, declared);
    /* On small sizes most of a tile is padding, so the numbers may be large. */
    return arena_printf(
        &v->arena,
        "%s; for each product of the task, tensor cores do %.2g products in TF32 and "
        "%.2g in narrower types%s",
        declared, use->tf32, use->narrow,
        use->tf32 + use->narrow > 12 ? ", those of padded tiles included" : "");
}

/* Returns the least share of a task's flops that a correct kernel needs; 0 = no limit. Strassen's
 * algorithm saves an eighth of a matrix product, and Winograd's more than half of a convolution.
 * The limits are lower still, because counts may come from a sample of blocks. In other classes the
 * task's flops are only a guess. */
static double least_arithmetic(const struct task *t)
{
    switch (t->class) {
    case CLASS_GEMM:
    case CLASS_ATTENTION:
        return 0.75;
    case CLASS_CONV:
    case CLASS_CHAIN:
        return 0.4;
    default:
        return 0;
    }
}

/* Returns whether the kernel is right at all workloads that are not timed. A kernel that is wrong
 * even there probably does too little by mistake, for example because the plan swaps two arguments.
 * So we call a kernel a cheat only if this is true. */
static bool right_where_checked(const struct verdict *v)
{
    vec_each (struct verdict_workload, w, &v->workloads)
        if (!w->ok && !str_eq(w->role, workload_role_name(ROLE_TIME)))
            return false;
    return true;
}

void judge_job(struct evaluator *e, struct evaluation *a, const struct result *r)
{
    struct verdict *v = &a->v;
    struct check_input in = {.task = a->task,
                             .job = &a->job,
                             .result = r,
                             .cases = a->cases.info.items,
                             .off = a->cfg.disabled_detectors};
    vec_release(&v->workloads);
    vec_release(&v->findings);
    vec_release(&v->baselines);
    check_facts(v, &in);
    struct measure_input mi = {.job = &a->job,
                               .result = r,
                               .shapes = a->cases.shapes.items,
                               .ceilings = &e->ceilings,
                               .operand = a->task->tensors.items[0].dtype,
                               .allow_tf32 = a->task->allow_tf32 || a->task->allow_tf32_convs,
                               .least_arithmetic = least_arithmetic(a->task),
                               .float32 = takes_float32(a->task)};
    double got, floor;
    bool floors = a->stage == RUNNING && right_where_checked(v);
    int c = floors ? measure_below_floor(&mi, &got, &floor) : -1;
    if (c >= 0)
        check_blame(v, &in, V_CHEAT, "time", "floor",
                    "%.3g us on %s is faster than the bytes and the arithmetic allow (%.3g us)",
                    got / 1e3, a->job.cases[c].name, floor / 1e3);
    bool arithmetic;
    c = floors && !e->cuda ? measure_skipped_work(&mi, &got, &arithmetic) : -1;
    if (c >= 0)
        check_blame(v, &in, V_CHEAT, "time", "floor",
                    "on %s the kernel %s only %.0f%% of the %s. Timed sizes need the same work as "
                    "checked sizes. If the work depends on the data, the task's `%s` may "
                    "be too large: it must be the least that any data needs (docs/task.md)",
                    a->job.cases[c].name, arithmetic ? "does" : "touches", 100 * got,
                    arithmetic ? "arithmetic that the task needs"
                               : "memory that the task must read and write",
                    arithmetic ? "flops" : "bytes");
    struct tensor_use use;
    c = measure_tensor_use(&mi, &use);
    if (c >= 0)
        check_blame(
            v, &in, V_MISMATCH, "check", "precision",
            "on %s, tensor cores do %.2g TF32 products and %.2g products of narrower types for "
            "each product of the task; %s",
            a->job.cases[c].name, use.tf32, use.narrow,
            mi.allow_tf32
                ? "TF32 precision needs 1 TF32 product, or 6 products of a 16-bit type"
                : "float32 precision needs 3 TF32 products, or 6 products of a 16-bit type");
    if (!v->precision || use.tf32 + use.narrow > 0)
        v->precision = precision_text(v, a->task, &use);
    bool left_out[JOB_MAX_PROGRAMS] = {false};
    if (a->stage == RUNNING)
        baseline_states(v, &in, &a->parts.rejected, left_out);
    mi.left_out = left_out;
    if (a->stage == RUNNING && v->kind == V_PASS)
        measure_times(v, &mi);
    copy_counters(v, &a->cases, r);
    a->launch_ns = r->empty_launch_ns > 0 ? r->empty_launch_ns : a->launch_ns;
    if (a->stage == RUNNING)
        note_libraries(v, a, left_out);
    note_warm_l2(v, a);
    for (size_t i = 0; i < a->parts.notes.n; i++)
        *vec_push(&v->warnings) = arena_strdup(&v->arena, a->parts.notes.items[i]);
    for (size_t i = 0; i < a->cases.notes.n; i++)
        *vec_push(&v->warnings) = arena_strdup(&v->arena, a->cases.notes.items[i]);
    v->device = arena_strdup(&v->arena, r->device);
    v->driver = arena_strdup(&v->arena, r->driver);
    if (a->stage == RUNNING && v->kind == V_PASS)
        gpu_difference_note(&e->gpu_times, v);
    if (v->kind == V_PASS && a->stage == RUNNING) {
        v->stage = "time";
        struct strbuf verified = STRBUF_INIT(256);
        verdict_verified_text(v, &verified);
        v->summary = arena_printf(&v->arena, "passes: %s", verified.buf);
        strbuf_release(&verified);
    }
    if (v->kind != V_PASS)
        v->detail = detail_findings(v, a->source, case_order(&in, &v->arena));
    v->separation = v->kind == V_MISMATCH ? case_separation(v, &in) : "";
}
