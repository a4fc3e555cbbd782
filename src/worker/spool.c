#include "worker/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/gpulock.h"
#include "base/log.h"
#include "base/util.h"
#include "base/vec.h"
#include "job/job.h"
#include "job/result.h"
#include "worker/bundle.h"
#include "worker/tar.h"

enum { POLL_MS = 200, BEAT_MS = 2000, MAX_TRIES = 3, LEASE_S = 30 };

static volatile sig_atomic_t asked_to_stop;

static void on_signal(int sig)
{
    asked_to_stop = sig;
}

bool spool_interrupted(void)
{
    return asked_to_stop != 0;
}

struct spool {
    const char *dir;
    char who[128];
    uint64_t lease_ns;
};

VEC_DECL(name_vec, char *);

/* ---- directories ----------------------------------------------------------------------------- */

static void names_release(struct name_vec *v)
{
    vec_each (char *, p, v)
        free(*p);
    vec_release(v);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the entries of dir/sub that do not start with a dot, sorted. */
static struct name_vec list_names(const char *dir, const char *sub)
{
    struct name_vec v = VEC_INIT;
    char *path = bundle_path(dir, sub);
    DIR *d = opendir(path);
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.')
            *vec_push(&v) = xstrdup(e->d_name);
    if (d)
        closedir(d);
    free(path);
    if (v.n)
        qsort(v.items, v.n, sizeof *v.items, by_name);
    return v;
}

static int make_dirs(const char *dir, struct err *err)
{
    static const char *const subs[] = {"", "tmp", "todo", "claimed", "done"};
    for (size_t i = 0; i < ARRAY_LEN(subs); i++) {
        char *path = bundle_path(dir, subs[i]);
        if (mkdir(path, 0777) < 0 && errno != EEXIST) {
            err_errno(err, "cannot make %s", path);
            free(path);
            return -1;
        }
        free(path);
    }
    return 0;
}

static char *spool_path(const struct spool *s, const char *sub, const char *name)
{
    return xasprintf("%s/%s/%s", s->dir, sub, name);
}

/* ---- time, by the file system's clock -------------------------------------------------------- */

static int touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return -1;
    int rc = futimens(fd, NULL);
    close(fd);
    return rc;
}

static int64_t mtime_ns(const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return -1;
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static int64_t spool_now(const struct spool *s)
{
    char *name = xasprintf("clock.%s", s->who), *path = spool_path(s, "tmp", name);
    touch(path);
    int64_t t = mtime_ns(path);
    unlink(path);
    free(path);
    free(name);
    return t;
}

/* ---- one bundle ------------------------------------------------------------------------------ */

static unsigned count_try(const char *bundle)
{
    char *data;
    size_t len;
    unsigned n = 0;
    if (bundle_read(bundle, "tries", 16, &data, &len, NULL) == 0) {
        n = (unsigned)strtoul(data, NULL, 10);
        free(data);
    }
    char text[16];
    snprintf(text, sizeof text, "%u", ++n);
    bundle_write(bundle, "tries", text, strlen(text), true, NULL);
    return n;
}

/* Writes a result that only says why the worker gave up the bundle. */
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

/* Returns the number of the GPU that a bundle is for, or -1 for the emulator. Also returns -1 if
 * the job cannot be read; the child then reports this. */
static int gpu_of(const char *bundle)
{
    struct arena mem = ARENA_INIT;
    struct job job;
    char *data = NULL;
    size_t len;
    int gpu = -1;
    if (bundle_read(bundle, "job.bin", JOB_MAX_BYTES, &data, &len, NULL) == 0 &&
        job_read(&job, data, len, &mem, NULL) == 0 && job.device == JOB_CUDA)
        gpu = job.ordinal;
    free(data);
    arena_release(&mem);
    return gpu;
}

/* Runs the child and touches `alive` while it runs. Returns 0 if result.bin exists, -1 if not, 1 if
 * another worker took the bundle back or a signal asked us to stop. */
static int run_child(const struct spool *s, const char *bundle)
{
    uint64_t every = MIN((uint64_t)BEAT_MS * 1000000u, s->lease_ns / 8);
    char *alive = bundle_path(bundle, "alive"), *result = bundle_path(bundle, "result.bin");
    pid_t pid = 0;
    int status = 0, rc = -1, gpu = gpu_of(bundle), lock = gpu < 0 ? GPU_NO_LOCK : GPU_BUSY;
    uint64_t beat = 0;
    bool lost = false;
    while (pid >= 0) {
        if (lock == GPU_BUSY)
            lock = gpu_lock(gpu);
        if (lock != GPU_BUSY && !pid && (pid = bundle_start(bundle)) < 0)
            break;
        pid_t p = !pid ? 0 : waitpid(pid, &status, WNOHANG);
        if (pid && (p == pid || (p < 0 && errno != EINTR)))
            break;
        if (now_ns() - beat >= every) {
            beat = now_ns();
            lost = touch(alive) < 0;
        }
        if (lost || asked_to_stop) {
            if (pid) {
                kill(pid, SIGKILL);
                waitpid(pid, &status, 0);
            }
            rc = 1;
            goto out;
        }
        poll(NULL, 0, 20);
    }
    if (access(result, R_OK) == 0)
        rc = 0;
out:
    gpu_unlock(lock);
    free(alive);
    free(result);
    return rc;
}

/* Moves the finished bundle into done/, or removes it if another worker's result is there
 * already. */
static void finish(const struct spool *s, const char *bundle, const char *id)
{
    char *done = spool_path(s, "done", id);
    if (rename(bundle, done) < 0 && errno != ENOENT) {
        char *junk = xasprintf("%s/tmp/%s.%s", s->dir, id, s->who);
        if (rename(bundle, junk) == 0)
            bundle_remove(junk);
        free(junk);
    }
    free(done);
}

static void give_back(const struct spool *s, const char *bundle, const char *id)
{
    char *todo = spool_path(s, "todo", id);
    rename(bundle, todo);
    free(todo);
}

/* Tries to claim todo/ID and runs it. Returns whether we got the claim. */
static bool claim_and_run(const struct spool *s, const char *id)
{
    char *todo = spool_path(s, "todo", id);
    char *mine = xasprintf("%s/claimed/%s.%s", s->dir, id, s->who);
    bool ours = rename(todo, mine) == 0;
    if (ours) {
        char *alive = bundle_path(mine, "alive");
        touch(alive);
        free(alive);
        remove_file(mine, "result.bin");
        remove_file(mine, "progress.bin");
        unsigned tries = count_try(mine);
        int rc = tries > MAX_TRIES
                     ? write_gave_up_result(mine, "the worker died or failed on this bundle "
                                                  "three times")
                     : run_child(s, mine);
        if (rc == 0)
            finish(s, mine, id);
        else
            give_back(s, mine, id);
    }
    free(todo);
    free(mine);
    return ours;
}

/* Moves bundles back to todo/ if their workers no longer touch `alive`. */
static void take_back(const struct spool *s)
{
    struct name_vec v = list_names(s->dir, "claimed");
    int64_t now = v.n ? spool_now(s) : 0;
    vec_each (char *, p, &v) {
        char *bundle = spool_path(s, "claimed", *p), *alive = bundle_path(bundle, "alive");
        int64_t beat = mtime_ns(alive);
        if (beat < 0)
            /* the bundle was just claimed, or its worker died before it touched `alive` */
            beat = mtime_ns(bundle);
        char *dot = strrchr(*p, '.');
        if (beat >= 0 && dot && dot != *p && now - beat > (int64_t)s->lease_ns) {
            *dot = '\0';
            log_info("worker", "moving %s back to todo/: its worker has stopped", *p);
            give_back(s, bundle, *p);
        }
        free(bundle);
        free(alive);
    }
    names_release(&v);
}

static void make_worker_name(struct spool *s)
{
    char host[64] = "host";
    uint32_t r = 0;
    gethostname(host, sizeof host - 1);
    for (char *p = host; *p; p++)
        if (*p == '.' || *p == '/')
            *p = '-';
    if (getrandom(&r, sizeof r, 0) != sizeof r)
        r = (uint32_t)now_ns();
    snprintf(s->who, sizeof s->who, "%s-%d-%08x", host, (int)getpid(), r);
}

int spool_serve(const char *dir, bool once, struct err *err)
{
    struct spool s = {.dir = dir, .lease_ns = (uint64_t)LEASE_S * 1000000000u};
    const char *lease = getenv("HONE_SPOOL_LEASE_S");
    if (lease)
        s.lease_ns = (uint64_t)(strtod(lease, NULL) * 1e9);
    if (make_dirs(dir, err) < 0)
        return -1;
    make_worker_name(&s);
    struct sigaction sa = {.sa_handler = on_signal};
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    while (!asked_to_stop) {
        bool any = false;
        struct name_vec v = list_names(dir, "todo");
        vec_each (char *, p, &v) {
            if (asked_to_stop)
                break;
            any = claim_and_run(&s, *p) || any;
        }
        names_release(&v);
        take_back(&s);
        if (any)
            continue;
        if (once) {
            v = list_names(dir, "todo");
            bool empty = v.n == 0;
            names_release(&v);
            if (empty)
                break;
        }
        poll(NULL, 0, POLL_MS);
    }
    return 0;
}

/* ---- one tar each way ------------------------------------------------------------------------ */

static int pack_results(const char *dir, const char *out, struct err *err)
{
    struct tar_writer *w;
    if (tar_create(&w, out, err) < 0)
        return -1;
    struct name_vec v = list_names(dir, "done");
    int rc = 0;
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
    names_release(&v);
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
    if (make_dirs(dir, err) == 0 && tar_unpack(in, dir, err) == 0 &&
        spool_serve(dir, true, err) == 0)
        rc = asked_to_stop ? err_set(err, ERR_SYSTEM, "interrupted") : pack_results(dir, out, err);
    bundle_remove(dir);
    free(dir);
    return rc;
}
