/*
 * time_in_processes.c - times short kernels in further processes (timing processes).
 *
 * The driver places page tables and other data of a process somewhere in the GPU's memory. If the
 * cache is flushed before each call, this place makes a kernel of 4 us up to 100 ns faster or
 * slower, in every call of the process. So further processes time a short candidate again, each
 * with as many calls as this process. Each is a worker that runs an inner bundle, a directory in
 * our bundle. We append its calls to ours. We leave out PyTorch, which takes seconds to start.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stats.h"
#include "base/util.h"
#include "job/poison.h"
#include "worker/bundle.h"
#include "worker/job_run.h"

/* A candidate with a median time below this is short. At 33 us, the times of two processes differ
 * by only 0.5% (median of 20 pairs, results/h200/noise.txt). */
static const double SHORT_NS = 20e3;

/* Slower baselines are not timed again. */
static const double LONG_NS = 1e6;

static double median_of(const struct job_run *r, uint32_t c, uint32_t program, size_t *n)
{
    double *t = job_run_times(r, c, program, n), median = stats_median(t, *n);
    free(t);
    return median;
}

bool candidate_is_short(const struct job_run *r, uint32_t c)
{
    size_t n;
    double median = median_of(r, c, 0, &n);
    return r->job->device == JOB_CUDA && r->job->timing_processes > 1 && n && median < SHORT_NS;
}

/* ---- the job of a timing process ------------------------------------------------------------ */

/* A job, and the numbers that its cases and programs have in our own job. */
struct timing_process {
    struct job job;
    uint32_t cases[JOB_MAX_CASES], programs[JOB_MAX_CASES][JOB_MAX_PROGRAMS];
};

static bool is_timed_again(const struct job_run *r, uint32_t c, uint32_t p)
{
    uint32_t m = r->job->cases[c].programs[p].module;
    size_t n;
    double median = median_of(r, c, p, &n);
    return !p || (r->job->modules[m].kind != JOB_MODULE_TORCH && r->mods[m].status == RESULT_OK &&
                  n && median < LONG_NS);
}

static void add_case(struct job_run *r, struct timing_process *s, uint32_t c)
{
    struct job_case *jc = &s->job.cases[s->job.ncases], *whole = &r->job->cases[c];
    size_t n;
    median_of(r, c, 0, &n);
    *jc = *whole;
    jc->ncalls = 0;
    jc->timing.min_calls = jc->timing.max_calls = (uint32_t)n;
    jc->nprograms = 0;
    jc->programs = arena_alloc(&r->arena, whole->nprograms * sizeof *jc->programs);
    for (uint32_t p = 0; p < whole->nprograms; p++)
        if (is_timed_again(r, c, p)) {
            s->programs[s->job.ncases][jc->nprograms] = p;
            jc->programs[jc->nprograms++] = whole->programs[p];
        }
    s->cases[s->job.ncases++] = c;
}

static struct timing_process *plan_timing_process(struct job_run *r)
{
    struct timing_process *s = xcalloc(1, sizeof *s);
    s->job = *r->job;
    s->job.timing_processes = 1;
    s->job.ncases = 0;
    s->job.cases = arena_alloc(&r->arena, r->job->ncases * sizeof *s->job.cases);
    for (uint32_t c = 0; c < r->job->ncases; c++)
        if (candidate_is_short(r, c))
            add_case(r, s, c);
    return s;
}

/* Gives each timing process its own data, from the job's seeds and `number` alone. */
static void reseed(const struct job_run *r, struct timing_process *s, uint32_t number)
{
    s->job.nonce = poison_mix(r->job->nonce + number);
    s->job.seed = poison_mix(r->job->seed + number);
    for (uint32_t c = 0; c < s->job.ncases; c++)
        s->job.cases[c].timing.seed = poison_mix(r->job->cases[s->cases[c]].timing.seed + number);
}

/* ---- the bundle and the process -------------------------------------------------------------- */

static int link_file(const struct job_run *r, const char *dir, const char *name, struct err *err)
{
    if (!*name)
        return 0;
    char *from = bundle_path(r->dir, name), *to = bundle_path(dir, name);
    /* The timing process will report a missing file. */
    bool done = link(from, to) == 0 || errno == EEXIST || errno == ENOENT;
    int rc = done ? 0 : err_errno(err, "cannot link %s", to);
    free(from);
    free(to);
    return rc;
}

static int make_bundle(const struct job_run *r, const struct timing_process *s, const char *dir,
                       uint64_t *hash, struct err *err)
{
    struct strbuf sb = STRBUF_INIT(JOB_MAX_BYTES);
    bundle_remove(dir); /* a killed worker may have left it */
    if (mkdir(dir, 0700) < 0)
        return err_errno(err, "cannot make %s", dir);
    int rc =
        link_file(r, dir, s->job.oracle, err) < 0 || link_file(r, dir, s->job.service, err) < 0;
    for (uint32_t m = 0; m < s->job.nmodules && !rc; m++) {
        const struct job_module *jm = &s->job.modules[m];
        rc = link_file(r, dir, jm->cubin, err) < 0 || link_file(r, dir, jm->ptx, err) < 0 ||
             link_file(r, dir, jm->source, err) < 0;
    }
    for (uint32_t c = 0; c < s->job.ncases; c++)
        for (uint32_t b = 0; b < s->job.cases[c].nbuffers && !rc; b++)
            rc = link_file(r, dir, s->job.cases[c].buffers[b].file, err) < 0;
    job_write(&s->job, &sb);
    *hash = job_hash(sb.buf, sb.len);
    if (!rc)
        rc = bundle_write(dir, "job.bin", sb.buf, sb.len, false, err) < 0;
    strbuf_release(&sb);
    return rc ? -1 : 0;
}

static int run_worker(const char *dir, struct err *err)
{
    pid_t pid = bundle_start(dir);
    int status;
    if (pid < 0)
        return err_errno(err, "cannot start a process");
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_errno(err, "cannot wait for a process");
    return 0;
}

/* ---- the result of a timing process ---------------------------------------------------------- */

static int read_timing_process(struct job_run *r, const struct timing_process *s, const char *dir,
                               uint64_t hash, struct result *out, struct err *err)
{
    char *data;
    size_t len;
    if (bundle_read(dir, "result.bin", RESULT_MAX_BYTES, &data, &len, err) < 0)
        return -1;
    int rc = result_read(out, data, len, &r->arena, err);
    free(data);
    if (rc == 0 && out->job_hash != hash)
        rc = err_set(err, ERR_INPUT, "result.bin answers another job");
    return rc < 0 ? -1 : result_fits(out, &s->job, err);
}

/* Appends the calls of a timing process to ours. If the candidate failed in the timing process, our
 * job fails with the same status. Returns -1 if the machine failed or a module did not load. */
static int append_calls(struct job_run *r, const struct timing_process *s, const struct result *in,
                        struct err *err)
{
    bool machine = in->status == RESULT_MACHINE || in->status == RESULT_NOT_RUN ||
                   in->status == RESULT_LOAD_FAILED;
    if (machine)
        return err_set(err, ERR_ENV, "%s", in->message);
    if (in->status != RESULT_OK) {
        uint32_t c = in->where_case < s->job.ncases ? in->where_case : 0;
        job_run_fail(r, in->status, s->cases[c], (uint32_t)r->calls[s->cases[c]].n + in->where_call,
                     "%s", in->message);
    }
    for (uint32_t c = 0; c < in->ncases; c++)
        for (uint32_t k = 0; k < in->cases[c].ncalls; k++) {
            struct result_call call = in->cases[c].calls[k];
            call.program = s->programs[c][call.program];
            *vec_push(&r->calls[s->cases[c]]) = call;
        }
    r->res.throttle |= in->throttle;
    r->res.run_ns += in->setup_ns + in->run_ns;
    r->res.verify_ns += in->verify_ns;
    return 0;
}

static int run_timing_process(struct job_run *r, const struct timing_process *s, const char *dir,
                              struct err *err)
{
    struct result res;
    uint64_t hash = 0;
    return make_bundle(r, s, dir, &hash, err) < 0 || run_worker(dir, err) < 0 ||
                   read_timing_process(r, s, dir, hash, &res, err) < 0 ||
                   append_calls(r, s, &res, err) < 0
               ? -1
               : 0;
}

/* Closes our device before the timing processes begin. Two contexts at the same time would disturb
 * each other's times. */
static void close_device(struct job_run *r)
{
    r->res.printf_text = arena_strdup(&r->arena, r->res.printf_text);
    r->dev->ops->close(r->dev);
    r->dev = NULL;
}

static bool is_wrong(const struct job_run *r)
{
    for (uint32_t c = 0; c < r->job->ncases; c++)
        vec_each (struct result_call, call, &r->calls[c])
            for (uint32_t i = 0; !call->program && i < call->ncompares; i++)
                if (call->compares[i].bad || call->compares[i].unwritten)
                    return true;
    return false;
}

void time_in_processes(struct job_run *r)
{
    struct err err = ERR_INIT;
    if (r->res.status != RESULT_OK || !r->dev || is_wrong(r))
        return;
    struct timing_process *s = plan_timing_process(r);
    if (s->job.ncases)
        close_device(r);
    char *dir = bundle_path(r->dir, "again");
    for (uint32_t i = 1;
         i < r->job->timing_processes && s->job.ncases && r->res.status == RESULT_OK; i++) {
        job_run_save_progress(r, "did not finish: timing short kernels in other processes", true);
        reseed(r, s, i);
        int rc = run_timing_process(r, s, dir, &err);
        bundle_remove(dir);
        if (rc < 0) {
            log_warn("worker", "short kernels were timed in %u of %u processes: %s", i,
                     r->job->timing_processes, err.msg);
            break;
        }
    }
    free(dir);
    free(s);
}
