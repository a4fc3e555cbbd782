/* spool.c - serves a spool: claims bundles, runs each in a child process, hands back results. */
#include "worker/spool.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/gpulock.h"
#include "base/log.h"
#include "base/util.h"
#include "device/gpu_users.h"
#include "job/job.h"
#include "job/result.h"
#include "spool/lease.h"
#include "worker/bundle.h"
#include "worker/tar.h"

enum {
    POLL_MS = 200, /* pause between two looks for a bundle */
    STEP_MS = 20   /* pause between two looks at a bundle's process */
};
/* A bundle's process stops itself at its limit. We wait this much longer before we kill it. */
#define GRACE_NS UINT64_C(10000000000)
#define USERS_NS UINT64_C(1000000000)

static volatile sig_atomic_t asked_to_stop;

static void on_signal(int sig)
{
    asked_to_stop = sig;
}

bool spool_interrupted(void)
{
    return asked_to_stop != 0;
}

struct server {
    const char *dir;
    const struct spool_options *options;
    char host[64];
    struct spool_worker w;
    struct utsname machine;
    char note[SPOOL_NOTE_MAX];
    struct gpu_users users;
    uint64_t users_ns;   /* when we last asked NVML */
    bool in_use;         /* by a process that is not Hone's */
    char user[128];      /* "in use by process 4711 (python3)" */
    const char *blocked; /* why we claim no bundle, or NULL */
    bool gave_up;        /* we waited too long for a job's GPU */
};

/* Returns how long to wait for bundles or for a GPU, with --once or --idle. 0 means for ever. */
static uint64_t patience_ns(const struct server *s)
{
    const struct spool_options *o = s->options;
    return o->idle_ns ? o->idle_ns : o->once ? s->w.lease_ns + s->w.lease_ns / 2 : 0;
}

/* Returns the time of the clock that we compare with patience_ns(). With --once alone, the worker
 * must watch others long enough to notice that one of them died. A slow machine looks less often,
 * so we count only the time for which the worker has watched. */
static uint64_t idle_clock_ns(const struct server *s)
{
    return s->options->idle_ns ? now_ns() : s->w.watch.watched_ns;
}

/* Returns a note for `hone workers`, such as "GPU 1: runs". */
static const char *say(struct server *s, const char *state)
{
    const struct worker_place *p = &s->options->place;
    if (p->gpu < 0)
        snprintf(s->note, sizeof s->note, "%s", state);
    else
        snprintf(s->note, sizeof s->note, "%sGPU %d: %s", p->pretend ? "pretend " : "", p->gpu,
                 state);
    return s->note;
}

/* ---- one bundle ------------------------------------------------------------------------------ */

static int write_gave_up_result(const char *bundle, const char *why)
{
    struct result res = {.status = RESULT_MACHINE, .message = why};
    char *data;
    size_t len;
    if (bundle_read(bundle, "job.bin", JOB_MAX_BYTES, &data, &len, NULL) == 0) {
        struct arena a = ARENA_INIT;
        struct job job;
        res.job_hash = job_hash(data, len);
        if (job_read(&job, data, len, &a, NULL) == 0)
            res.nonce = job.nonce;
        arena_release(&a);
        free(data);
    }
    struct strbuf sb = STRBUF_INIT(RESULT_MAX_BYTES);
    result_write(&res, &sb);
    int rc = bundle_write(bundle, "result.bin", sb.buf, sb.len, true, NULL);
    strbuf_release(&sb);
    return rc;
}

static void remove_file(const char *bundle, const char *name)
{
    char *p = bundle_path(bundle, name);
    unlink(p);
    free(p);
}

/* Returns the GPU that the bundle's job names, or -1 for the emulator, or if job.bin cannot be
 * read. Sets *wall_ns to the time limit of the job, or to an hour if job.bin cannot be read. */
static int gpu_of(const char *bundle, uint64_t *wall_ns)
{
    struct arena mem = ARENA_INIT;
    struct job job;
    char *data = NULL;
    size_t len;
    int gpu = -1;
    *wall_ns = UINT64_C(3600000000000);
    if (bundle_read(bundle, "job.bin", JOB_MAX_BYTES, &data, &len, NULL) == 0 &&
        job_read(&job, data, len, &mem, NULL) == 0) {
        gpu = job.device == JOB_CUDA ? job.ordinal : -1;
        *wall_ns = job.limits.wall_ns;
    }
    free(data);
    arena_release(&mem);
    return gpu;
}

static void end_child(pid_t pid)
{
    int status;
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
}

/* Runs the bundle in a child process, and returns how to end the claim. A worker without a GPU of
 * its own first waits for the job's GPU, for at most patience_ns(). Sets *lost if another process
 * has put the bundle back. */
static enum spool_end run_child(struct server *s, const char *bundle, bool *lost)
{
    uint64_t wall_ns, started = 0, asked = now_ns();
    int status, pidfd = -1, gpu = gpu_of(bundle, &wall_ns);
    int lock = gpu < 0 || s->options->place.gpu >= 0 ? GPU_NO_LOCK : GPU_BUSY;
    enum spool_end how = SPOOL_FAILED;
    pid_t pid = 0;
    while (pid >= 0) {
        if (lock == GPU_BUSY)
            lock = gpu_lock(gpu);
        if (lock != GPU_BUSY && !pid) {
            if ((pid = bundle_start(bundle)) < 0)
                break;
            started = now_ns();
            pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* wakes us when the process ends */
        }
        pid_t p = !pid ? 0 : waitpid(pid, &status, WNOHANG);
        if (pid && (p == pid || (p < 0 && errno != EINTR)))
            break;
        *lost = !spool_beat(&s->w, say(s, pid ? "runs" : "waits for its GPU"));
        s->gave_up = !pid && patience_ns(s) && now_ns() - asked > patience_ns(s);
        if (*lost || asked_to_stop || s->gave_up ||
            (pid && now_ns() - started > wall_ns + GRACE_NS)) {
            end_child(pid);
            how = asked_to_stop || s->gave_up ? SPOOL_PUT_BACK : SPOOL_FAILED;
            s->blocked = s->gave_up ? SPOOL_GPU_BUSY : NULL;
            break;
        }
        struct pollfd ends = {.fd = pid ? pidfd : -1, .events = POLLIN};
        poll(&ends, 1, STEP_MS);
    }
    if (pidfd >= 0)
        close(pidfd);
    gpu_unlock(lock);
    char *result = bundle_path(bundle, "result.bin");
    if (access(result, R_OK) == 0)
        how = SPOOL_FINISHED;
    free(result);
    return how;
}

static void run_claimed(struct server *s)
{
    char *bundle = bundle_path(s->dir, s->w.claim);
    bool lost = false;
    enum spool_end how;
    remove_file(bundle, "result.bin");
    remove_file(bundle, "progress.bin");
    if (spool_hopeless(&s->w)) {
        const char *why = s->w.name.failed >= SPOOL_MAX_FAILED
                              ? "the worker died or failed on this bundle three times"
                              : "twenty workers took this bundle, and none of them finished it";
        how = write_gave_up_result(bundle, why) < 0 ? SPOOL_PUT_BACK : SPOOL_FINISHED;
    } else {
        how = run_child(s, bundle, &lost);
    }
    if (!lost)
        spool_end(&s->w, how);
    free(bundle);
}

/* ---- serving --------------------------------------------------------------------------------- */

static uint64_t make_worker_name(struct server *s, char who[SPOOL_ID_MAX])
{
    uint64_t r = 0;
    snprintf(s->host, sizeof s->host, "host");
    gethostname(s->host, sizeof s->host - 1);
    for (char *p = s->host; *p; p++)
        if (*p == '.' || *p == '/')
            *p = '-';
    if (getrandom(&r, sizeof r, 0) != sizeof r)
        r = now_ns() ^ (uint64_t)getpid();
    snprintf(who, SPOOL_ID_MAX, "%s-%d-%08x", s->host, (int)getpid(), (unsigned)r);
    return r;
}

static bool has_driver(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (lib)
        dlclose(lib);
    return lib != NULL;
}

/* Returns whether a process that is not Hone's uses the GPU. The caller holds the GPU's lock. NVML
 * takes some milliseconds, so we ask only once a second. */
static bool used_by_others(struct server *s)
{
    if (s->users_ns && now_ns() - s->users_ns < USERS_NS)
        return s->in_use;
    bool was = s->in_use;
    char user[100];
    s->in_use = gpu_users_find(&s->users, user, sizeof user);
    if (s->in_use)
        snprintf(s->user, sizeof s->user, SPOOL_GPU_IN_USE " %s", user);
    s->users_ns = now_ns();
    if (s->in_use && !was)
        log_warn("worker", "GPU %d is %s: this worker waits", s->options->place.gpu, s->user);
    return s->in_use;
}

/* Claims a bundle and runs it. Returns whether there was one. A worker with a GPU of its own locks
 * the GPU before it claims a bundle, so that it holds no bundle while it waits for the GPU. */
static bool serve_one(struct server *s)
{
    const struct worker_place *p = &s->options->place;
    int lock = p->gpu < 0 ? GPU_NO_LOCK : p->pretend ? pretend_gpu_lock(p->gpu) : gpu_lock(p->gpu);
    bool any = false;
    bool others = lock != GPU_BUSY && used_by_others(s);
    s->blocked = lock == GPU_BUSY ? SPOOL_GPU_BUSY : others ? s->user : NULL;
    if (!s->blocked && (any = spool_claim(&s->w))) {
        char id[SPOOL_ID_MAX];
        snprintf(id, sizeof id, "%s", s->w.name.id);
        log_info("worker", "GPU %d: begins %s at %" PRIu64 " ns", p->gpu, id, now_ns());
        run_claimed(s);
        log_info("worker", "GPU %d: ends %s at %" PRIu64 " ns", p->gpu, id, now_ns());
        s->users_ns = 0;
    }
    gpu_unlock(lock);
    return any;
}

static bool nothing_is_claimed(struct server *s)
{
    struct spool_names claims = VEC_INIT;
    int rc = s->w.fs->ops->list(s->w.fs, "claimed", &claims);
    bool none = rc == 0 && claims.n == 0;
    spool_names_release(&claims);
    return none;
}

static int leave_undone(const struct server *s, int bundles, struct err *err)
{
    char left[64] = "bundles";
    if (bundles >= 0)
        snprintf(left, sizeof left, "%d bundle%s", bundles, bundles == 1 ? "" : "s");
    return err_set(err, ERR_ENV, "this worker stops and leaves %s in %s/todo: %s%s", left, s->dir,
                   bundles < 0   ? "it cannot list them"
                   : !s->blocked ? "it cannot claim them"
                   : s->in_use   ? "its GPU is "
                                 : "",
                   s->blocked && bundles >= 0 ? s->blocked : "");
}

/* Returns whether the worker stops. With --once, it stays for about patience_ns() while its GPU is
 * busy, or while other workers hold bundles, because one of them may die. Sets *rc to -1 if the
 * worker stops and leaves bundles undone. */
static bool stops(struct server *s, uint64_t waited_ns, int *rc, struct err *err)
{
    uint64_t patience = patience_ns(s);
    bool late = patience && waited_ns > patience;
    if (!late && !s->options->once)
        return false;
    int left = spool_waiting(&s->w);
    if (left == 0)
        return late || nothing_is_claimed(s);
    /* A bundle may have come just now. So we try to claim it first. */
    if (!late || (!s->blocked && waited_ns <= 2 * patience))
        return false;
    *rc = leave_undone(s, left, err);
    return true;
}

static int begin(struct server *s, struct spool_fs **fs, struct err *err)
{
    char who[SPOOL_ID_MAX];
    const struct worker_place *p = &s->options->place;
    uint64_t seed = make_worker_name(s, who);
    if (spool_fs_open(fs, s->dir, err) < 0)
        return -1;
    if (spool_worker_begin(&s->w, *fs, who, spool_lease_ns(), seed, err) < 0) {
        spool_fs_close(*fs);
        return -1;
    }
    uname(&s->machine);
    s->w.machine = s->machine.machine;
    s->w.gpu = !p->pretend && (p->gpu >= 0 || has_driver());
    worker_place_set(p);
    gpu_users_open(&s->users, p->gpu, p->pretend);
    return 0;
}

int spool_serve(const char *dir, const struct spool_options *options, struct err *err)
{
    struct server s = {.dir = dir, .options = options};
    struct spool_fs *fs;
    if (begin(&s, &fs, err) < 0)
        return -1;
    struct sigaction sa = {.sa_handler = on_signal};
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    uint64_t busy_ns = idle_clock_ns(&s);
    int rc = 0;
    while (!asked_to_stop) {
        bool any = serve_one(&s);
        if (s.gave_up) {
            rc = leave_undone(&s, spool_waiting(&s.w), err);
            break;
        }
        if (any)
            busy_ns = idle_clock_ns(&s);
        if (any || spool_idle(&s.w, say(&s, s.blocked ? s.blocked : "idle")))
            continue;
        if (stops(&s, idle_clock_ns(&s) - busy_ns, &rc, err))
            break;
        poll(NULL, 0, POLL_MS);
    }
    spool_worker_end(&s.w);
    spool_fs_close(fs);
    gpu_users_close(&s.users);
    return rc;
}

/* ---- one tar each way ------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int pack_results(const char *dir, const char *out, struct err *err)
{
    struct tar_writer *w;
    if (tar_create(&w, out, err) < 0)
        return -1;
    struct spool_fs *fs;
    struct spool_names v = VEC_INIT;
    int rc = spool_fs_open(&fs, dir, err);
    if (rc == 0) {
        errno = -fs->ops->list(fs, "done", &v);
        if (errno)
            rc = err_errno(err, "cannot list %s/done", dir);
        spool_fs_close(fs);
    }
    if (v.n)
        qsort(v.items, v.n, sizeof *v.items, by_name);
    vec_each (char *, p, &v) {
        char *bundle = xasprintf("%s/done/%s", dir, *p), *data;
        char *name = xasprintf("done/%s/result.bin", *p);
        size_t len;
        if (rc == 0)
            rc = bundle_read(bundle, "result.bin", RESULT_MAX_BYTES, &data, &len, err);
        if (rc == 0) {
            rc = tar_add(w, name, data, len, err);
            free(data);
        }
        free(name);
        free(bundle);
    }
    spool_names_release(&v);
    return tar_finish(w, rc == 0, err) < 0 ? -1 : rc;
}

int spool_tar(const char *in, const char *out, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = xasprintf("%s/hone-worker-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int rc = -1;
    if (!mkdtemp(dir)) {
        err_errno(err, "cannot make a directory like %s", dir);
        free(dir);
        return -1;
    }
    const struct spool_options options = {.once = true, .place = {.gpu = -1}};
    struct spool_fs *fs = NULL;
    if (spool_fs_open(&fs, dir, err) == 0 && tar_unpack(in, dir, err) == 0 &&
        spool_serve(dir, &options, err) == 0)
        rc = asked_to_stop ? err_set(err, ERR_SYSTEM, "interrupted") : pack_results(dir, out, err);
    spool_fs_close(fs);
    bundle_remove(dir);
    free(dir);
    return rc;
}
