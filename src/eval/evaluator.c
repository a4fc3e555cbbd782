/* evaluator.c - opens and closes an evaluator: its compiler, its schedulers and its device. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "eval/ceilings.h"
#include "eval/eval.h"
#include "eval/evaluation.h"
#include "measure/gpu.h"
#include "plan/plan.h"
#include "sys/gpu_probe.h"

const char *evaluator_device(const struct evaluator *e)
{
    return e->cuda ? "cuda" : "emu";
}

const char *evaluator_gpu(const struct evaluator *e, struct arena *a)
{
    return e->cuda && *e->device_name ? gpu_name_of(e->device_name, a) : e->gpu.name;
}

/* ---- opening ---- */

static bool is_elsewhere(const char *on)
{
    return on && !str_eq(on, "local") && !str_starts(on, "local:");
}

/* Returns whether there are several GPUs, all of one model. Times of different models cannot be
 * compared, and a kernel is compiled for only one model. */
static bool are_alike(const struct gpu_probe *p)
{
    for (unsigned i = 1; i < p->n; i++)
        if (!str_eq(p->gpus[i].name, p->gpus[0].name) || p->gpus[i].sm != p->gpus[0].sm)
            return false;
    return p->n > 1;
}

/* Decides whether the device is the emulator or a GPU. For a local GPU, also finds the architecture
 * and the data sheet. If the user named no GPU and the machine has several of one model, uses them
 * all. */
static int choose_device(struct evaluator *e, const struct eval_options *o, const char **gpu,
                         struct err *err)
{
    bool remote = is_elsewhere(o->on);
    struct gpu_probe probe = {.n = 0};
    struct err none = ERR_INIT;
    int probed = remote ? -1 : gpu_probe(&probe, &none);
    const char *d = o->device;
    if (!d)
        d = remote || probe.n ? "cuda" : "emu";
    if (str_eq(d, "emu"))
        return 0;
    if (!str_eq(d, "cuda") && !str_starts(d, "cuda:"))
        return err_set(err, ERR_USAGE, "unknown device '%s': use emu, cuda or cuda:N", d);
    e->cuda = true;
    bool listed = o->on && str_starts(o->on, "local:") && !str_eq(o->on, "local:all");
    if (d[4] && o->on && str_starts(o->on, "local:"))
        return err_set(err, ERR_USAGE,
                       "--device %s names one GPU, and --on %s names others: give only one of "
                       "these options",
                       d, o->on);
    e->ordinal = d[4] ? atoi(d + 5) : listed ? atoi(o->on + 6) : 0;
    if (remote)
        return 0;
    if (!d[4] && str_eq(e->on, "local") && are_alike(&probe)) {
        free(e->on);
        e->on = xstrdup("local:all");
    }
    if (probed < 0 || e->ordinal < 0 || (unsigned)e->ordinal >= probe.n)
        return err_set(err, ERR_ENV, "there is no GPU %d: %s; --device emu needs no GPU",
                       e->ordinal, probed < 0 ? none.msg : "the driver shows fewer");
    char arch[16];
    gpu_arch(probe.gpus[e->ordinal].sm, arch);
    e->arch = xstrdup(arch);
    const char *sheet = gpu_for_device(probe.gpus[e->ordinal].name, &e->arena);
    if (!*gpu && !sheet)
        log_warn("eval",
                 "Hone has no data sheet of '%s': the roofline is that of h200; name a data sheet "
                 "with --gpu FILE.json",
                 probe.gpus[e->ordinal].name);
    if (!*gpu && sheet)
        *gpu = sheet;
    snprintf(e->device_name, sizeof e->device_name, "%s", probe.gpus[e->ordinal].name);
    snprintf(e->driver, sizeof e->driver, "%s", probe.driver);
    return 0;
}

static int choose(struct evaluator *e, const struct eval_options *o, struct err *err)
{
    const char *gpu = o->gpu, *arch = NULL;
    if (o->arch && compile_check_arch(o->arch, err) < 0)
        return -1;
    e->on = xstrdup(o->on ? o->on : "local");
    if (choose_device(e, o, &gpu, err) < 0)
        return -1;
    if (gpu_load(gpu ? gpu : "h200", &e->gpu, &arch, &e->arena, err) < 0) {
        if (err && o->gpu)
            err->kind = ERR_USAGE;
        return -1;
    }
    if (o->arch || !e->arch) {
        free(e->arch);
        e->arch = xstrdup(o->arch ? o->arch : arch);
    }
    return 0;
}

int evaluator_target(const struct eval_options *o, struct eval_target *out, struct err *err)
{
    struct evaluator e = {0};
    int rc = choose(&e, o, err);
    snprintf(out->arch, sizeof out->arch, "%s", rc == 0 ? e.arch : "");
    snprintf(out->gpu, sizeof out->gpu, "%s", rc == 0 && !o->gpu ? e.gpu.name : "");
    free(e.arch);
    free(e.on);
    arena_release(&e.arena);
    return rc;
}

int evaluator_open(struct evaluator **out, const struct eval_options *o, struct err *err)
{
    struct evaluator *e = xcalloc(1, sizeof *e);
    temp_dir_sweep(); /* removes bundles of evaluations that were killed */
    if (choose(e, o, err) < 0)
        goto fail;
    struct compiler_config cc = {.kind = o->compiler, .cache_dir = o->cache_dir};
    if (compiler_open(&e->compiler, &cc, err) < 0)
        goto fail;
    baseline_verdicts_open(&e->baselines, o->cache_dir);
    if (sched_open(&e->local, "local", 0, -1, err) < 0)
        goto fail;
    e->main = e->local;
    bool remote = is_elsewhere(e->on), several = str_starts(e->on, "local:");
    /* Two workers on one GPU would disturb each other's times, so only one runs at a time. */
    int ordinal = e->cuda ? e->ordinal : -1;
    if ((remote || several || e->cuda) && sched_open(&e->main, e->on, 1, ordinal, err) < 0)
        goto fail;
    if (several && e->cuda && sched_open(&e->one_gpu, "local", 1, ordinal, err) < 0)
        goto fail;
    if (e->cuda && !remote)
        ceilings_get(&e->ceilings, &(struct ceilings_query){.compiler = e->compiler,
                                                            .arch = e->arch,
                                                            .cache_dir = o->cache_dir,
                                                            .gpu = e->device_name,
                                                            .driver = e->driver,
                                                            .ordinal = e->ordinal});
    *out = e;
    return 0;
fail:
    evaluator_close(e);
    return -1;
}

void evaluation_free(struct evaluation *a)
{
    compile_cancel(a->compiling);
    plan_free(a->plan);
    if (a->have_code)
        compiled_release(&a->code);
    bundle_files_release(&a->parts);
    temp_dir_release(&a->dir);
    cases_release(&a->cases);
    arena_release(&a->arena);
    verdict_release(&a->v);
    rejected_baselines_release(&a->broken);
    vec_release(&a->needs);
    free(a->source);
    free(a);
}

void evaluator_close(struct evaluator *e)
{
    if (!e)
        return;
    /* Workers write into the directories of their evaluations, so the workers end first. */
    if (e->main && e->main != e->local)
        sched_close(e->main);
    sched_close(e->one_gpu);
    if (e->local)
        sched_close(e->local);
    for (struct evaluation *a = e->evaluations, *next; a; a = next) {
        next = a->next;
        evaluation_free(a);
    }
    baseline_verdicts_close(&e->baselines);
    compiler_close(e->compiler);
    arena_release(&e->arena);
    gpu_times_release(&e->gpu_times);
    free(e->arch);
    free(e->on);
    free(e);
}
