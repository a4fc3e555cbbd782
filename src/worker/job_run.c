/* job_run.c - runs one job: reads the bundle, runs the cases, verifies, writes result.bin. */
#include "worker/job_run.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/gpulock.h"
#include "base/log.h"
#include "base/util.h"
#include "job/turn.h"
#include "worker/bundle.h"
#include "worker/place.h"
#include "worker/sidecar.h"

enum {
    TELL_NS = 50 * 1000 * 1000,     /* between two writes of progress.bin, unless urgent */
    TELL_EMULATED_NS = 5 * TELL_NS, /* the same on the emulator */
    TRY_LOCK_MS = 10,               /* how often we try to lock the GPU */
    TURN_NS = 1000 * 1000 * 1000    /* how often we write TURN_FILE while we wait */
};

/* ---- the result so far ---------------------------------------------------------------------- */

static void serialize(struct job_run *r)
{
    for (uint32_t c = 0; c < r->res.ncases; c++) {
        r->res.cases[c].ncalls = (uint32_t)r->calls[c].n;
        r->res.cases[c].calls = r->calls[c].items;
    }
    r->res.nfindings = (uint32_t)r->findings.n;
    r->res.findings = r->findings.items;
    r->res.ncounters = (uint32_t)r->counters.n;
    r->res.counters = r->counters.items;
    strbuf_clear(&r->bytes);
    result_write(&r->res, &r->bytes);
}

void job_run_save_progress(struct job_run *r, const char *where, bool now)
{
    uint64_t t = now_ns();
    bool emulated = r->job->device == JOB_EMU;
    bool soon = t - r->told_ns < (emulated ? TELL_EMULATED_NS : TELL_NS);
    if (!now && soon)
        return;
    /* Most emulated calls take a millisecond, and writing a file takes a third of that. So we leave
     * the writing to the watchdog, which does it only if the call takes more than 50 ms. */
    bool later = soon && emulated && r->job->limits.wall_ns;
    const char *was = r->res.message;
    r->res.status = RESULT_NOT_RUN;
    r->res.message = where;
    serialize(r);
    r->res.status = RESULT_OK;
    r->res.message = was;
    if (r->dog) /* the watchdog starts when we have the GPU */
        watchdog_snapshot(r->dog, r->bytes.buf, r->bytes.len, later);
    if (later)
        return;
    r->told_ns = t;
    bundle_write(r->dir, "progress.bin", r->bytes.buf, r->bytes.len, false, NULL);
}

enum result_status job_run_fail(struct job_run *r, enum result_status st, uint32_t c, uint32_t k,
                                const char *fmt, ...)
{
    char text[sizeof((struct err *)0)->msg + 512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    r->res.status = st;
    r->res.message = arena_strdup(&r->arena, text);
    r->res.where_case = c;
    r->res.where_call = k;
    return st;
}

unsigned job_run_threads(const struct job_run *r)
{
    return r->job->nthreads ? r->job->nthreads : r->cores;
}

void job_run_note_clocks(struct job_run *r, int slot)
{
    struct device_health h = {0};
    if (!r->dev->ops->health)
        return;
    r->dev->ops->health(r->dev, &h);
    r->res.clock_mhz[slot] = h.clock_mhz;
    r->res.clock_mhz[2] = h.max_clock_mhz;
    r->res.throttle |= h.throttle;
}

/* ---- the whole job --------------------------------------------------------------------------- */

static uint32_t timed_cases_from(const struct job *j, uint32_t c)
{
    uint32_t n = 0;
    for (; c < j->ncases; c++)
        n += j->cases[c].timing.max_calls > 0;
    return n;
}

static int verify_and_drop_kept(struct job_run *r, struct err *err)
{
    uint64_t begin = now_ns();
    int rc = verify_kept_calls(r, err);
    while (r->kept.n)
        drop_kept_call(r, r->kept.n - 1);
    r->res.verify_ns += now_ns() - begin;
    return rc;
}

static enum result_status verify_so_far(struct job_run *r)
{
    struct err err = ERR_INIT;
    if (!r->kept.n)
        return RESULT_OK;
    job_run_save_progress(r,
                          "did not finish: computing the truth; `hone task check` tries "
                          "reference.c",
                          true);
    if (verify_and_drop_kept(r, &err) < 0)
        return job_run_fail(r, RESULT_MACHINE, r->res.where_case, r->res.where_call, "%s", err.msg);
    return RESULT_OK;
}

/* If Hone or the machine failed, verifies the calls before the failure. The failure itself says
 * nothing about the candidate, but these calls may show an error of the candidate. */
static void verify_after_failure(struct job_run *r)
{
    struct err err = ERR_INIT;
    bool undecided = r->res.status == RESULT_MACHINE || r->res.status == RESULT_UNSUPPORTED;
    uint32_t where_case = r->res.where_case, where_call = r->res.where_call;
    if (!undecided || !r->kept.n)
        return;
    if (verify_and_drop_kept(r, &err) < 0)
        log_warn("worker", "the calls before the failure were not verified: %s", err.msg);
    r->res.where_case = where_case;
    r->res.where_call = where_call;
}

/* Is c the first case with sampled calls? Only jobs for the emulator have such calls. */
static bool sampling_begins(const struct job *j, uint32_t c)
{
    for (uint32_t i = 0; i < c; i++)
        if (job_is_sampled(&j->cases[i]))
            return false;
    return job_is_sampled(&j->cases[c]);
}

/* The watchdog may end the process during a long sampled call. So we verify all earlier calls
 * before the first sampled one. This is safe: an emulated kernel cannot read the truth in the
 * host's memory. */
static enum result_status run_cases(struct job_run *r)
{
    enum result_status st = RESULT_OK;
    uint64_t spent = 0;
    sidecar_prepare(r);
    for (uint32_t c = 0; c < r->job->ncases && st == RESULT_OK; c++) {
        const struct job_case *jc = &r->job->cases[c];
        if (sampling_begins(r->job, c))
            st = verify_so_far(r);
        for (uint32_t k = 0; k < jc->ncalls && st == RESULT_OK; k++)
            st = run_call(r, c, &jc->calls[k]);
        if (st == RESULT_OK && jc->timing.max_calls) {
            uint64_t left =
                r->job->limits.measure_ns > spent ? r->job->limits.measure_ns - spent : 0;
            st = run_rounds(r, c, left / MAX(timed_cases_from(r->job, c), 1u), &spent);
            job_run_note_clocks(r, 1);
        }
    }
    return st;
}

static void unload_all(struct job_run *r)
{
    for (uint32_t m = 0; m < r->job->nmodules; m++) {
        if (r->mods[m].m)
            r->dev->ops->unload(r->dev, r->mods[m].m);
        r->mods[m].m = NULL;
        sidecar_stop(r->mods[m].sidecar);
        r->mods[m].sidecar = NULL;
    }
}

static uint64_t memory_to_keep(void)
{
    long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t avail = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 1u << 30;
    return MIN(avail / 2, UINT64_C(64) << 30);
}

static void describe_device(struct job_run *r)
{
    struct device_info info = {0};
    if (r->dev->ops->info(r->dev, &info, NULL) < 0)
        return;
    char place[128];
    worker_place_text(place, sizeof place);
    r->res.device = arena_printf(&r->arena, "%s%s", info.name, place);
    r->res.driver = arena_strdup(&r->arena, info.driver);
    r->res.sm = info.sm;
}

static void run_phases(struct job_run *r, open_device_fn open_device)
{
    struct err err = ERR_INIT;
    uint64_t t0 = now_ns();
    if (open_device(&r->dev, r->job, r->dir, &err) < 0) {
        job_run_fail(r, RESULT_MACHINE, 0, 0, "%s", err.msg);
        return;
    }
    describe_device(r);
    job_run_note_clocks(r, 0);
    uint64_t t1 = now_ns();
    enum result_status st = run_cases(r);
    if (!r->timing_ready)
        job_run_note_clocks(r, 1);
    unload_all(r);
    uint64_t t2 = now_ns();
    r->res.setup_ns = t1 - t0;
    r->res.run_ns = t2 - t1 - r->res.verify_ns;
    if (st == RESULT_OK)
        verify_so_far(r);
    else
        verify_after_failure(r);
    log_info("worker",
             "%" PRIu64 " calls: loading %.0f ms, data %.0f, running %.0f, inspecting %.0f, "
             "keeping %.0f; opening %.0f, the truth %.0f",
             r->spent.calls, (double)r->spent.load_ns / 1e6, (double)r->spent.data_ns / 1e6,
             (double)r->spent.run_ns / 1e6, (double)r->spent.look_ns / 1e6,
             (double)r->spent.keep_ns / 1e6, (double)r->res.setup_ns / 1e6,
             (double)r->res.verify_ns / 1e6);
    const char *text = r->dev->ops->printf_text ? r->dev->ops->printf_text(r->dev) : NULL;
    r->res.printf_text = text ? text : "";
}

static void job_run_init(struct job_run *r, const char *dir, const struct job *job, uint64_t hash)
{
    *r = (struct job_run){
        .dir = dir, .job = job, .start_ns = now_ns(), .kept_max = memory_to_keep()};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    r->cores = cores > 0 ? (unsigned)cores : 1;
    strbuf_init(&r->bytes, RESULT_MAX_BYTES);
    r->res = (struct result){.job_hash = hash,
                             .nonce = job->nonce,
                             .status = RESULT_OK,
                             .message = "",
                             .device = "",
                             .driver = "",
                             .printf_text = "",
                             .nmodules = job->nmodules,
                             .ncases = job->ncases};
    r->res.modules = arena_alloc(&r->arena, job->nmodules * sizeof *r->res.modules);
    r->res.cases = arena_alloc(&r->arena, job->ncases * sizeof *r->res.cases);
    for (uint32_t m = 0; m < job->nmodules; m++)
        r->res.modules[m].message = "";
}

static void job_run_release(struct job_run *r)
{
    while (r->kept.n)
        drop_kept_call(r, r->kept.n - 1);
    if (r->dev)
        r->dev->ops->close(r->dev);
    vec_release(&r->kept);
    for (uint32_t c = 0; c < r->job->ncases; c++)
        vec_release(&r->calls[c]);
    vec_release(&r->findings);
    vec_release(&r->counters);
    strbuf_release(&r->bytes);
    arena_release(&r->arena);
}

/* Returns the limit on the CPU time of the job; 0 = no limit. The limit on wall time contains the
 * factor JOB_EMU_PATIENCE for a busy machine. CPU time needs no such factor. */
static uint64_t cpu_limit(const struct job *job)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (job->device != JOB_EMU)
        return 0;
    return job->limits.wall_ns / JOB_EMU_PATIENCE * (uint64_t)MAX(cores, 1L);
}

static void write_turn(const struct job_run *r, const struct turn *t)
{
    char text[TURN_MAX];
    int len = turn_text(t, text);
    bundle_write(r->dir, TURN_FILE, text, (size_t)len, false, NULL);
}

/* Waits until no other process of Hone uses the GPU, and returns the GPU's lock. Before that, lets
 * the sidecars import PyTorch, because the import takes seconds and needs no GPU. */
static int take_gpu(struct job_run *r)
{
    int lock;
    struct turn turn = {0};
    uint64_t told_ns = 0;
    sidecar_load(r);
    job_run_save_progress(r, "waits until the GPU is free", true);
    while ((lock = gpu_lock(r->job->ordinal)) == GPU_BUSY) {
        if (now_ns() - told_ns > TURN_NS) {
            told_ns = now_ns();
            turn.count++;
            write_turn(r, &turn);
        }
        poll(NULL, 0, TRY_LOCK_MS);
    }
    r->start_ns = turn.begun_ns = now_ns();
    write_turn(r, &turn);
    return lock;
}

int run_bundle(const char *dir, open_device_fn open_device, bool lock_gpu, struct err *err)
{
    char *data = NULL;
    size_t len = 0;
    struct arena a = ARENA_INIT;
    struct job job;
    if (bundle_read(dir, "job.bin", JOB_MAX_BYTES, &data, &len, err) < 0)
        return -1;
    int rc = job_read(&job, data, len, &a, err);
    uint64_t hash = job_hash(data, len);
    free(data);
    if (rc == 0)
        worker_place_apply(&job);
    struct job_run *r = xcalloc(1, sizeof *r); /* too large for the stack */
    int lock = GPU_NO_LOCK;
    if (rc == 0)
        job_run_init(r, dir, &job, hash);
    if (rc == 0 && lock_gpu && job.device == JOB_CUDA)
        lock = take_gpu(r);
    if (rc == 0 &&
        (rc = watchdog_start(&r->dog, dir, job.limits.wall_ns, cpu_limit(&job), err)) == 0) {
        run_phases(r, open_device);
        time_in_processes(r);
        watchdog_stop(r->dog);
        serialize(r);
        rc = bundle_write(dir, "result.bin", r->bytes.buf, r->bytes.len, true, err);
        char *progress = bundle_path(dir, "progress.bin");
        unlink(progress);
        free(progress);
        job_run_release(r);
    }
    gpu_unlock(lock);
    free(r);
    arena_release(&a);
    return rc;
}
