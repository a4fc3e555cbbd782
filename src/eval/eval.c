/*
 * eval.c - evaluates each candidate, from its source to its verdict, as a small state machine.
 *
 *     COMPILING ──ok──> FILTERING (only if the device is a GPU)
 *        │                 │ ok
 *        │                 v
 *        └──emu────────> RUNNING (all workloads, on the device) ──> PROFILING ──> DONE
 *
 * FILTERING: the emulator runs the smoke workloads with its sanitizer. Any stage may end the
 * evaluation with a verdict.
 *
 * A kernel baseline (naive.cu, a file of --against) is judged like a candidate, in an evaluation
 * that no caller sees (`of_baseline`). A candidate's stage RUNNING waits for these verdicts.
 */
#include "eval/eval.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "base/util.h"
#include "compile/scan.h"
#include "eval/baseline_states.h"
#include "eval/bundle_files.h"
#include "eval/detail.h"
#include "eval/evaluation.h"
#include "eval/pack.h"
#include "eval/profile.h"
#include "eval/read_result.h"
#include "job/torch_variants.h"
#include "plan/plan.h"
#include "prof/prof.h"
#include "sys/hash.h"
#include "sys/interrupt.h"
#include "task/oracle.h"
#include "task/snapshot.h"

/* ---- ending with a verdict ---- */

static void finish(struct evaluator *e, struct evaluation *a)
{
    struct verdict *v = &a->v;
    a->stage = DONE;
    char sha[HASH_HEX];
    hash_hex(a->source, a->len, sha);
    v->source_sha = arena_strdup(&v->arena, sha);
    v->task = arena_strdup(&v->arena, a->task->name);
    char task_sha[TASK_HASH];
    task_hash(a->task, task_sha);
    v->task_sha = arena_strdup(&v->arena, task_sha);
    v->preconditions = task_preconditions(a->task, &v->arena);
    v->seed = a->cfg.seed;
    v->arch = arena_strdup(&v->arena, e->arch);
    v->gpu = arena_strdup(&v->arena, e->gpu.name);
    v->compiler = arena_strdup(&v->arena, compiler_version(e->compiler));
    v->total_ns = now_ns() - a->started_ns;
    v->run_ns = a->ran_ns;
    const char **texts[] = {&v->stage,     &v->detector,      &v->summary,    &v->detail,
                            &v->device,    &v->driver,        &v->bottleneck, &v->speedup_over,
                            &v->precision, &v->preconditions, &v->separation};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (!*texts[i])
            *texts[i] = "";
    for (const char *const *off = a->cfg.disabled_detectors; off && *off; off++)
        *vec_push(&v->warnings) =
            arena_printf(&v->arena, "detector '%s' was switched off: this is not a verdict", *off);
    verdict_plain_text(v);
    verdict_set_score(v);
    temp_dir_release(&a->dir);
}

static void finish_with(struct evaluator *e, struct evaluation *a, enum verdict_kind kind,
                        const char *stage, const char *detector, const char *summary,
                        const char *detail)
{
    /* If a test switched off this rule of check/, the candidate is unjudged. */
    for (const char *const *off = a->cfg.disabled_detectors; off && *off; off++)
        if (str_eq(*off, detector))
            kind = V_UNJUDGED;
    a->v.kind = kind;
    a->v.stage = stage;
    a->v.detector = detector;
    a->v.summary = arena_strdup(&a->v.arena, summary);
    a->v.detail = arena_strdup(&a->v.arena, detail ? detail : "");
    finish(e, a);
}

static void finish_unjudged(struct evaluator *e, struct evaluation *a, const char *stage,
                            const struct err *err)
{
    finish_with(e, a, V_UNJUDGED, stage, "status", err->msg, "");
}

/* ---- start: extract the plan, begin compiling ---- */

static void release_problems(struct problem_vec *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->items[i].text);
    vec_release(p);
}

static bool is_blank(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r\n", s[i]))
            return false;
    return true;
}

static struct compile_request request_of(const struct evaluator *e, const struct plan *p,
                                         const char *source, size_t len, struct arena *mem)
{
    size_t nk;
    const char **kernels = kernels_of_plan(p, &nk, mem);
    return (struct compile_request){.source = source,
                                    .len = len,
                                    .name = "kernel.cu",
                                    .arch = e->arch,
                                    .kernels = kernels,
                                    .nkernels = nk,
                                    .options = plan_compile_options(p)};
}

static bool key_of(struct evaluator *e, const struct task *t, const char *source, size_t len,
                   char key[65])
{
    struct arena mem = ARENA_INIT;
    struct problem_vec problems = VEC_INIT;
    struct plan *p = plan_parse(source, len, t, &problems);
    if (p) {
        struct compile_request rq = request_of(e, p, source, len, &mem);
        compile_key(e->compiler, &rq, key);
    }
    release_problems(&problems);
    arena_release(&mem);
    plan_free(p);
    return p != NULL;
}

int eval_prepare(struct evaluator *e, const struct task *t, const char *source, size_t len)
{
    char key[65];
    return key_of(e, t, source, len, key) ? compile_prepare(e->compiler, key, e->arch) : -1;
}

static void start(struct evaluator *e, struct evaluation *a)
{
    struct err err = ERR_INIT;
    struct problem_vec problems = VEC_INIT;
    a->v.kind = V_PASS;
    if (is_blank(a->source, a->len)) {
        finish_with(e, a, V_NO_CODE, "extract", "plan", "the candidate is empty", "");
        return;
    }
    a->plan = plan_parse(a->source, a->len, a->task, &problems);
    if (!a->plan) {
        finish_with(e, a, V_PLAN_ERROR, "plan", "plan",
                    problems.n ? problems.items[0].text : "no launch plan",
                    detail_problems(&a->arena, &problems));
        release_problems(&problems);
        return;
    }
    struct compile_request rq = request_of(e, a->plan, a->source, a->len, &a->arena);
    char parent[65];
    if (a->cfg.parent && key_of(e, a->task, a->cfg.parent, strlen(a->cfg.parent), parent))
        rq.parent = parent;
    a->cfg.parent = NULL; /* the caller lends us the text only until eval_submit() returns */
    if (compile_start(e->compiler, &rq, &a->compiling, &err) < 0)
        finish_unjudged(e, a, "compile", &err);
}

/* ---- after compiling ---- */

static uint32_t line_of(const char *text, const char *at)
{
    uint32_t line = 1;
    for (const char *p = text; p < at; p++)
        line += *p == '\n';
    return line;
}

/* Returns an error text about a kernel that the plan launches and the source lacks. Returns NULL if
 * no kernel is missing, or if we find no kernel at all in the source. */
static const char *missing_kernel(struct evaluation *a)
{
    struct source_scan scan;
    struct strbuf known = STRBUF_INIT(2000);
    const char *text = NULL;
    size_t nk;
    const char **kernels = kernels_of_plan(a->plan, &nk, &a->arena);
    source_scan(a->source, a->len, true, &scan);
    for (size_t i = 0; i < scan.kernels.n; i++)
        strbuf_addf(&known, "%s%s", i ? ", " : "", scan.kernels.items[i]);
    for (size_t i = 0; i < nk && known.len && !text; i++) {
        const char *name = kernels[i];
        bool found = strpbrk(name, "<:") != NULL;
        for (size_t k = 0; k < scan.kernels.n; k++)
            found |= str_eq(scan.kernels.items[k], name);
        if (found)
            continue;
        const char *quoted = arena_printf(&a->arena, "\"%s\"", name);
        const char *at = strstr(a->source, quoted);
        text = arena_printf(&a->arena,
                            "kernel.cu:%u: the plan launches '%s', but the file has no extern "
                            "\"C\" __global__ function of this name; it has %s",
                            line_of(a->source, at ? at : a->source), name, known.buf);
    }
    strbuf_release(&known);
    source_scan_release(&scan);
    return text;
}

static void take_code(struct evaluator *e, struct evaluation *a)
{
    struct err err = ERR_INIT;
    int rc = compile_finish(a->compiling, &a->code, &err);
    a->compiling = NULL;
    if (rc < 0) {
        finish_unjudged(e, a, "compile", &err);
        return;
    }
    a->have_code = true;
    a->v.compile_ns = a->code.compile_ns;
    if (!a->code.ok) {
        bool trailer = a->code.diags.n && !a->code.diags.items[0].line &&
                       strstr(a->code.diags.items[0].message, "is not an extern \"C\"");
        const char *missing = trailer ? missing_kernel(a) : NULL;
        if (missing) {
            finish_with(e, a, V_PLAN_ERROR, "plan", "plan", missing, "");
            return;
        }
        char *detail = detail_diags(&a->arena, &a->code, a->source, 40);
        const char *first =
            a->code.diags.n ? a->code.diags.items[0].message : "the source does not compile";
        if (a->code.failure && *a->code.failure)
            first = arena_printf(&a->arena, "%s: %s", a->code.failure, first);
        finish_with(e, a, V_COMPILE_ERROR, "compile", "compile", first, detail);
        return;
    }
    struct problem_vec problems = VEC_INIT;
    if (plan_check_signature(a->plan, &a->code.sigs, &problems) < 0)
        finish_with(e, a, V_PLAN_ERROR, "plan", "plan",
                    problems.n ? problems.items[0].text : "plan and kernels disagree",
                    detail_problems(&a->arena, &problems));
    release_problems(&problems);
}

/* ---- running ---- */

/* Returns how long a job times calls: 2 s, and half a second more for each PyTorch contender that
 * the task did not ask for. So these do not take time from the other contenders. */
static uint64_t default_measure_ns(const struct bundle_files *p)
{
    unsigned more = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct torch_variant *v = torch_variant_find(p->items[i].name);
        more += p->items[i].kind == JOB_MODULE_TORCH && !(v && v->by_task);
    }
    return 2000000000u + more * UINT64_C(500000000);
}

/* PyTorch variants and programs of users compile during a job. Returns how much longer the job may
 * run because of that. */
static uint64_t variants_ns(const struct job *j)
{
    uint64_t sum_s = 0;
    for (uint32_t c = 0; c < j->ncases; c++)
        for (uint32_t p = 1; p < j->cases[c].nprograms; p++) {
            const struct torch_variant *v = torch_variant_find(j->modules[p].name);
            bool program = contender_is_program(j->modules[p].name);
            sum_s += program ? 300 : v && !v->by_task ? v->first_call_s : 0;
        }
    return sum_s * 1000000000u;
}

static void describe_job(struct evaluator *e, struct evaluation *a, bool on_emu, uint32_t nmodules)
{
    struct job *j = &a->job;
    memset(j, 0, sizeof *j);
    j->device = on_emu ? JOB_EMU : JOB_CUDA;
    j->ordinal = e->ordinal;
    j->sanitize = on_emu && a->cfg.sanitize;
    j->annotate = on_emu && a->cfg.annotate;
    j->seed = a->cfg.seed;
    j->timing_processes = a->stage == RUNNING ? 4 : 1;
    j->nonce = a->nonce;
    j->gpu = e->gpu;
    uint64_t measure = a->cfg.measure_ns ? a->cfg.measure_ns : default_measure_ns(&a->parts);
    j->limits = (struct job_limits){
        .wall_ns = (120000000000u + 4 * measure) * (on_emu ? JOB_EMU_PATIENCE : 1),
        /* A profiler repeats every launch many times. */
        .call_ns = a->cfg.call_ns          ? a->cfg.call_ns
                   : on_emu                ? 40000000000u
                   : a->stage == PROFILING ? 20000000000u
                                           : 5000000000u,
        .measure_ns = measure,
        .device_bytes = on_emu ? UINT64_C(12) << 30 : 0,
        .printf_bytes = 64 << 10,
    };
    j->nmodules = nmodules;
    j->modules = arena_alloc(&a->arena, sizeof *j->modules * nmodules);
}

static struct case_options case_options_of(const struct evaluation *a, bool on_emu)
{
    bool full = a->stage == RUNNING, profiling = a->stage == PROFILING;
    return (struct case_options){.emu = on_emu,
                                 .smoke = !profiling,
                                 .check = full && a->cfg.depth >= EVAL_CHECK,
                                 .heldout = full && a->cfg.depth >= EVAL_CHECK,
                                 .time = profiling || (full && a->cfg.depth >= EVAL_TIME),
                                 .profile = profiling,
                                 .only = a->cfg.workload,
                                 .seed = a->cfg.seed,
                                 .measure_ns = a->job.limits.measure_ns,
                                 .warm_l2 = a->cfg.warm_l2};
}

static void profile_failed(struct evaluator *e, struct evaluation *a, const struct err *err);

static bool judged_baselines(struct evaluator *e, struct evaluation *a,
                             struct bundle_files_request *rq)
{
    struct judged_baseline *list = arena_alloc(&a->arena, (a->needs.n + 1) * sizeof *list);
    rq->judged = list;
    rq->njudged = a->needs.n;
    rq->broken = &a->broken;
    for (size_t i = 0; i < a->needs.n; i++) {
        const struct needed_baseline *b = &a->needs.items[i];
        list[i] = (struct judged_baseline){b->name, b->source,
                                           baseline_verdict_get(&e->baselines, b->key)};
        if (!list[i].verdict)
            return false;
    }
    return true;
}

static void submit_run(struct evaluator *e, struct evaluation *a)
{
    struct err err = ERR_INIT;
    bool full = a->stage == RUNNING, profiling = a->stage == PROFILING;
    bool on_emu = a->stage == FILTERING || !e->cuda || (profiling && a->no_ncu);
    struct bundle_files_request rq = {.task = a->task,
                                      .cfg = &a->cfg,
                                      .source = a->source,
                                      .compiler = e->compiler,
                                      .arch = e->arch,
                                      .emu = on_emu,
                                      .baselines = full && a->cfg.depth >= EVAL_TIME};
    a->waiting = rq.baselines && !judged_baselines(e, a, &rq);
    if (a->waiting)
        return;
    temp_dir_release(&a->dir);
    cases_release(&a->cases);
    bundle_files_release(&a->parts);
    if (temp_dir_make(&a->dir, &err) < 0 ||
        bundle_files_gather(&a->parts, &rq, a->dir.path, &err) < 0)
        goto broken;

    size_t n = 1 + a->parts.n;
    struct contender *who = arena_alloc(&a->arena, sizeof *who * n);
    struct pack_module *files = arena_alloc(&a->arena, sizeof *files * n);
    describe_job(e, a, on_emu, (uint32_t)n);
    who[0] =
        (struct contender){"candidate", JOB_MODULE_KERNEL, a->plan, &a->code.sigs, NULL, &a->code};
    files[0] = (struct pack_module){&a->code, a->source, NULL};
    for (size_t i = 1; i < n; i++)
        bundle_files_contender(&a->parts, i - 1, &who[i], &files[i]);
    for (size_t i = 0; i < n; i++) {
        a->job.modules[i].name = who[i].name;
        a->job.modules[i].kind = who[i].kind;
    }
    struct case_options co = case_options_of(a, on_emu);
    int rc = cases_build(&a->cases, a->task, who, n, &co, &a->arena, &err);
    if (rc > 0) {
        finish_with(e, a, V_PLAN_ERROR, "plan", "plan", err.msg, err.msg);
        return;
    }
    if (rc < 0)
        goto broken;
    a->job.ncases = (uint32_t)a->cases.cases.n;
    a->job.cases = a->cases.cases.items;
    a->job.oracle = a->parts.oracle;
    a->job.service = a->parts.service;
    a->job.limits.wall_ns += variants_ns(&a->job);
    if (on_emu)
        cases_allow_for_work(&a->cases, !a->cfg.call_ns, &a->job.limits);
    if (pack_write(a->dir.path, &a->job, files, &a->arena, &err) < 0)
        goto broken;
    const char *const *under = NULL;
    a->under_ncu = profiling && !on_emu;
    if (a->under_ncu && !(under = profile_ncu(a->dir.path, &a->arena))) {
        err_set(&err, ERR_ENV, "ncu was not found");
        goto broken;
    }
    /* If the device is a GPU, bundles for the emulator run on this machine. For all other bundles,
     * --on says where they run. */
    a->sched = on_emu && e->cuda ? e->local : under && e->one_gpu ? e->one_gpu : e->main;
    if (sched_submit(a->sched, a->dir.path, a->job.limits.wall_ns, under, &a->sched_ticket, &err) <
        0)
        goto broken;
    return;
broken:
    if (profiling)
        profile_failed(e, a, &err);
    else
        finish_unjudged(e, a, "run", &err);
}

/* ---- the profile ---- */

static void set_bottleneck(struct evaluator *e, struct evaluation *a)
{
    struct strbuf sb = STRBUF_INIT(4096);
    double sheet = 1e3 * e->gpu.launch_us;
    bool model = !a->under_ncu;
    prof_verdict_text(&sb, &a->v, model || a->launch_ns <= 0 ? sheet : a->launch_ns);
    if (sb.len)
        a->v.bottleneck = arena_strdup(&a->v.arena, sb.buf);
    strbuf_release(&sb);
}

/* If ncu failed, the emulator profiles. If the emulator fails too, there is no profile. */
static void profile_failed(struct evaluator *e, struct evaluation *a, const struct err *err)
{
    *vec_push(&a->v.warnings) = arena_printf(
        &a->v.arena, "%s: %s", a->no_ncu ? "no profile" : "no hardware counters", err->msg);
    bool try_emulator = !a->no_ncu;
    a->no_ncu = true;
    if (try_emulator)
        submit_run(e, a);
    else
        finish(e, a);
}

static void take_profile(struct evaluator *e, struct evaluation *a, const struct sched_done *d)
{
    struct err err = ERR_INIT;
    struct result r = {0};
    if (a->under_ncu) {
        char *csv = xasprintf("%s/ncu.csv", a->dir.path);
        if (a->cfg.ncu_csv && file_exists(csv) && file_copy(csv, a->cfg.ncu_csv, &err) < 0)
            log_warn("eval", "%s", err.msg);
        free(csv);
        if (profile_read_ncu(&a->v, &a->job, a->dir.path, &err) < 0) {
            profile_failed(e, a, &err);
            return;
        }
    } else if (read_worker_result(&r, d, a->dir.path, &a->job, &a->arena, &err) < 0 ||
               r.status != RESULT_OK) {
        if (err.kind == ERR_NONE)
            err_set(&err, ERR_ENV, "%s", r.message);
        profile_failed(e, a, &err);
        return;
    } else {
        copy_counters(&a->v, &a->cases, &r);
    }
    set_bottleneck(e, a);
    finish(e, a);
}

/* Begins the profile, if the evaluation needs a job for it. Returns false if it needs none: then
 * the evaluation is complete. */
static bool begin_profile(struct evaluator *e, struct evaluation *a)
{
    if (a->v.kind != V_PASS)
        return false;
    if (a->cfg.depth >= EVAL_PROFILE)
        profile_static(&a->v, &a->code);
    if (!e->cuda) /* the emulator has already counted during the run */
        set_bottleneck(e, a);
    if (!e->cuda || a->cfg.depth < EVAL_PROFILE || !a->v.times.n)
        return false;
    /* The emulator counted smoke workloads, which say nothing about the timed ones. So the profile
     * needs a job of its own. */
    a->stage = PROFILING;
    a->no_ncu = a->no_ncu || (str_eq(e->main->ops->name, "spool") && !e->one_gpu);
    submit_run(e, a);
    return true;
}

static void take_result(struct evaluator *e, struct evaluation *a, const struct sched_done *d)
{
    struct err err = ERR_INIT;
    struct result r = {0};
    a->ran_ns += d->wall_ns;
    if (*d->note)
        log_info("eval", "the worker said: %s", d->note);
    if (a->stage == PROFILING) {
        take_profile(e, a, d);
        return;
    }
    if (read_worker_result(&r, d, a->dir.path, &a->job, &a->arena, &err) < 0) {
        finish_unjudged(e, a, "run", &err);
        return;
    }
    uint32_t broke = baseline_that_broke_the_job(&r, &a->job);
    /* A failing baseline says nothing about the candidate, so we run again without it. */
    if (broke) {
        *vec_push(&a->broken) = (struct rejected_baseline){
            .name = xstrdup(a->job.modules[broke].name),
            .text = xasprintf("%s: %.300s", result_status_name(r.modules[broke].status),
                              r.modules[broke].message),
            .failed = true};
        submit_run(e, a);
        return;
    }
    bool unsupported = a->stage == FILTERING && r.status == RESULT_UNSUPPORTED;
    if (unsupported)
        *vec_push(&a->v.warnings) = arena_printf(&a->v.arena, "not emulated, so not sanitized: %s",
                                                 r.message ? r.message : "");
    else
        judge_job(e, a, &r);
    if (a->stage == FILTERING && (unsupported || a->v.kind == V_PASS)) {
        a->stage = RUNNING;
        submit_run(e, a);
        return;
    }
    if (a->stage != RUNNING || !begin_profile(e, a))
        finish(e, a);
}

/* ---- advancing all evaluations ---- */

static struct evaluation *by_sched_ticket(struct evaluator *e, uint64_t ticket,
                                          const struct sched *s)
{
    for (struct evaluation *a = e->evaluations; a; a = a->next)
        if (a->stage > COMPILING && a->stage < DONE && a->sched_ticket == ticket && a->sched == s)
            return a;
    return NULL;
}

static bool pump_compiles(struct evaluator *e, int timeout_ms)
{
    bool moved = false;
    for (struct evaluation *a = e->evaluations; a; a = a->next) {
        if (a->stage != COMPILING)
            continue;
        struct pollfd p = {.fd = compile_ticket_fd(a->compiling), .events = POLLIN};
        if (poll(&p, 1, timeout_ms) <= 0)
            continue;
        timeout_ms = 0;
        moved = true;
        take_code(e, a);
        if (a->stage != DONE) {
            a->stage = e->cuda ? FILTERING : RUNNING;
            submit_run(e, a);
        }
    }
    return moved;
}

static int pump_sched(struct evaluator *e, struct sched *s, uint64_t timeout_ns, struct err *err)
{
    struct sched_done d;
    int rc = s->outstanding ? sched_wait(s, timeout_ns, &d, err) : 0;
    if (rc > 0) {
        struct evaluation *a = by_sched_ticket(e, d.ticket, s);
        if (a)
            take_result(e, a, &d);
    }
    return rc;
}

static void take_baselines(struct evaluator *e)
{
    bool any = false;
    for (struct evaluation **p = &e->evaluations; *p;) {
        struct evaluation *a = *p;
        if (a->stage != DONE || !*a->of_baseline) {
            p = &a->next;
            continue;
        }
        *p = a->next;
        baseline_verdict_put(&e->baselines, a->of_baseline, &a->v);
        evaluation_free(a);
        any = true;
    }
    for (struct evaluation *a = e->evaluations; any && a; a = a->next)
        if (a->waiting)
            submit_run(e, a);
}

static struct evaluation *take_done(struct evaluator *e)
{
    take_baselines(e);
    for (struct evaluation **p = &e->evaluations; *p; p = &(*p)->next)
        if ((*p)->stage == DONE) {
            struct evaluation *a = *p;
            *p = a->next;
            return a;
        }
    return NULL;
}

static int random_u64(uint64_t *out, struct err *err)
{
    *out = 0;
    while (!*out)
        if (getrandom(out, sizeof *out, 0) < 0 && errno != EINTR)
            return err_errno(err, "getrandom");
    return 0;
}

static struct evaluation *add_evaluation(struct evaluator *e, const struct task *t,
                                         const char *source, size_t len,
                                         const struct eval_config *cfg, struct err *err)
{
    struct evaluation *a = xcalloc(1, sizeof *a);
    a->ticket = ++e->next_ticket;
    a->task = t;
    a->source = xmalloc(len + 1);
    memcpy(a->source, source, len);
    a->source[len] = '\0';
    a->len = len;
    a->cfg = *cfg;
    a->dir = (struct temp_dir)TEMP_DIR_INIT;
    a->started_ns = now_ns();
    if (random_u64(&a->nonce, err) < 0 || (!a->cfg.seed && random_u64(&a->cfg.seed, err) < 0)) {
        evaluation_free(a);
        return NULL;
    }
    a->next = e->evaluations;
    e->evaluations = a;
    return a;
}

static void key_of_baseline(const struct evaluator *e, const struct task *t, const char *source,
                            uint64_t call_ns, char key[HASH_HEX])
{
    struct baseline_place p = {.device = evaluator_device(e),
                               .gpu = e->gpu.name,
                               .gpu_name = e->device_name,
                               .driver = e->driver,
                               .arch = e->arch,
                               .compiler = compiler_version(e->compiler),
                               .on = e->on,
                               .call_ns = call_ns};
    baseline_key(&e->baselines, &p, t, source, key);
}

/* Begins to judge a baseline, unless its verdict is known or under way. On a GPU this leaves out
 * the timed shapes, because each job that times the baseline verifies it at these shapes. */
static int begin_baseline(struct evaluator *e, const struct task *t, const char *source,
                          uint64_t call_ns, const char *key, struct err *err)
{
    if (baseline_verdict_get(&e->baselines, key))
        return 0;
    for (struct evaluation *a = e->evaluations; a; a = a->next)
        if (str_eq(a->of_baseline, key))
            return 0;
    struct eval_config cfg = {.depth = e->cuda ? EVAL_CHECK : EVAL_TIME,
                              .seed = baseline_seed(t, source),
                              .sanitize = true,
                              .baselines = BASELINES_NONE,
                              .call_ns = call_ns};
    struct evaluation *a = add_evaluation(e, t, source, strlen(source), &cfg, err);
    if (!a)
        return -1;
    snprintf(a->of_baseline, sizeof a->of_baseline, "%s", key);
    start(e, a);
    return 0;
}

static int begin_baselines(struct evaluator *e, struct evaluation *a, struct err *err)
{
    struct bundle_files_request rq = {.task = a->task, .cfg = &a->cfg, .source = a->source};
    struct case_options co = {.time = a->cfg.depth >= EVAL_TIME, .only = a->cfg.workload};
    struct kernel_baseline *list;
    if (a->stage == DONE || a->cfg.depth < EVAL_TIME || !cases_time_any(a->task, &co))
        return 0;
    size_t n = bundle_files_kernels(&rq, &list, &a->arena);
    for (size_t i = 0; i < n; i++) {
        struct needed_baseline *b = vec_push(&a->needs);
        *b = (struct needed_baseline){.name = list[i].name, .source = list[i].source};
        key_of_baseline(e, a->task, b->source, a->cfg.call_ns, b->key);
        if (begin_baseline(e, a->task, b->source, a->cfg.call_ns, b->key, err) < 0)
            return -1;
    }
    return 0;
}

int eval_submit(struct evaluator *e, const struct task *t, const char *source, size_t len,
                const struct eval_config *cfg, uint64_t *ticket, struct err *err)
{
    struct evaluation *a = add_evaluation(e, t, source, len, cfg, err);
    if (!a)
        return -1;
    *ticket = a->ticket;
    start(e, a);
    return begin_baselines(e, a, err);
}

/* Advances evaluations, or waits up to 10 ms in each scheduler for something to do. */
static int pump(struct evaluator *e, struct err *err)
{
    const uint64_t slice_ns = 10000000;
    bool running =
        e->local->outstanding || e->main->outstanding || (e->one_gpu && e->one_gpu->outstanding);
    if (interrupt_check(err) < 0)
        return -1;
    if (pump_compiles(e, running ? 0 : 10))
        return 0;
    if (pump_sched(e, e->local, slice_ns, err) < 0)
        return -1;
    if (e->one_gpu && pump_sched(e, e->one_gpu, slice_ns, err) < 0)
        return -1;
    if (e->main != e->local && pump_sched(e, e->main, slice_ns, err) < 0)
        return -1;
    return 0;
}

const struct verdict *eval_baseline(struct evaluator *e, const struct task *t, const char *source,
                                    struct err *err)
{
    const struct verdict *v;
    char key[HASH_HEX];
    key_of_baseline(e, t, source, 0, key);
    if (begin_baseline(e, t, source, 0, key, err) < 0)
        return NULL;
    for (;;) {
        take_baselines(e);
        if ((v = baseline_verdict_get(&e->baselines, key)))
            return v;
        if (pump(e, err) < 0)
            return NULL;
    }
}

int eval_compile_oracle(struct evaluator *e, const struct task *t, char **log, struct err *err)
{
    struct bundle_files_request rq = {.task = t, .compiler = e->compiler, .arch = e->arch};
    struct strbuf source = STRBUF_INIT(ORACLE_MAX_BYTES);
    struct compiled out;
    *log = NULL;
    int rc = oracle_source(t, &source, err);
    rc = rc < 0 ? rc : bundle_files_compile(&rq, "oracle.cubin", source.buf, &out, err);
    strbuf_release(&source);
    if (rc < 0)
        return -1;
    if (!out.ok)
        *log = xasprintf("%.1500s", out.log ? out.log : "the compiler gives no reason");
    compiled_release(&out);
    return 0;
}

int eval_wait(struct evaluator *e, uint64_t timeout_ns, uint64_t *ticket, struct verdict *out,
              struct err *err)
{
    uint64_t until = now_ns() + timeout_ns;
    for (;;) {
        struct evaluation *a = take_done(e);
        if (a && a->v.kind == V_UNJUDGED && interrupted()) {
            evaluation_free(a); /* the user stopped Hone */
            continue;
        }
        if (a) {
            *ticket = a->ticket;
            *out = a->v;
            memset(&a->v, 0, sizeof a->v); /* now the caller owns it */
            evaluation_free(a);
            return 1;
        }
        if (pump(e, err) < 0)
            return -1;
        if (!e->evaluations || now_ns() >= until)
            return 0;
    }
}

void eval_progress(struct evaluator *e, uint64_t ticket, struct strbuf *out)
{
    static const char *const stages[] = {"compiling", "emulating", "running", "profiling", ""};
    for (struct evaluation *a = e->evaluations; a; a = a->next) {
        if (a->ticket != ticket)
            continue;
        strbuf_adds(out, a->waiting ? "judging its baselines" : stages[a->stage]);
        if (!a->waiting && a->stage > COMPILING && a->stage < DONE)
            sched_progress(a->sched, a->sched_ticket, out);
    }
}
