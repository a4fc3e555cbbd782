/* watchdog.c - the watchdog's thread, and the handler that saves the newest snapshot in a crash. */
#include "worker/watchdog.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "worker/bundle.h"

#define LOOK_NS 50000000u /* how often to read the CPU time and look for an unsaved snapshot */

struct watchdog {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *dir;
    char *snapshot; /* NULL = none yet */
    size_t len;
    uint64_t save_at; /* when to write the snapshot to progress.bin; 0 = never */
    /* when the job and the call must have ended (now_ns()); 0 = no limit */
    uint64_t wall_end, call_end;
    uint64_t wakes_at;         /* when the thread wakes up by itself; 0 = never */
    uint64_t cpu_ns;           /* limit on the CPU time of this process; 0 = none */
    enum result_status status; /* status of the result if the time of the call runs out */
    bool stop;
};

/* Writes the snapshot as result.bin. _exit() runs no destructors: those of the driver might wait
 * for the kernel that hangs. */
static void end_process(struct watchdog *w, enum result_status status)
{
    if (w->snapshot && w->len > RESULT_STATUS_AT) {
        w->snapshot[RESULT_STATUS_AT] = (char)status;
        bundle_write(w->dir, "result.bin", w->snapshot, w->len, true, NULL);
        _exit(0);
    }
    _exit(3);
}

/* ---- crashes ---- */

#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer has handlers of its own */

/* These variables are static, because a signal handler gets no argument. */
static struct watchdog *in_crash;
static char *crash_path;

/* Writes an unsaved snapshot to progress.bin, which then names the call that crashed. The process
 * dies of the signal. */
static void save_in_crash(int sig)
{
    struct watchdog *w = in_crash;
    if (w && w->save_at && w->snapshot) {
        int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        size_t at = 0;
        for (ssize_t n; fd >= 0 && at < w->len; at += (size_t)n)
            if ((n = write(fd, w->snapshot + at, w->len - at)) <= 0)
                break;
    }
    raise(sig);
}

static void watch_crashes(struct watchdog *w)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    struct sigaction act = {.sa_handler = save_in_crash, .sa_flags = (int)SA_RESETHAND};
    if (w) {
        free(crash_path);
        crash_path = bundle_path(w->dir, "progress.bin");
    }
    in_crash = w;
    for (size_t i = 0; w && i < ARRAY_LEN(signals); i++)
        sigaction(signals[i], &act, NULL);
}

#else

static void watch_crashes(struct watchdog *w)
{
    (void)w;
}

#endif

static uint64_t process_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *watch(void *arg)
{
    struct watchdog *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        uint64_t now = now_ns();
        if (w->call_end && now >= w->call_end)
            end_process(w, w->status);
        if (w->wall_end && now >= w->wall_end)
            end_process(w, RESULT_MACHINE);
        if (w->cpu_ns && process_cpu_ns() >= w->cpu_ns)
            end_process(w, RESULT_MACHINE);
        if (w->save_at && now >= w->save_at) {
            bundle_write(w->dir, "progress.bin", w->snapshot, w->len, false, NULL);
            w->save_at = 0;
        }
        uint64_t next = w->wall_end;
        if (w->cpu_ns && (!next || now + LOOK_NS < next))
            next = now + LOOK_NS;
        if (w->call_end && (!next || w->call_end < next))
            next = w->call_end;
        w->wakes_at = next;
        if (!next) {
            pthread_cond_wait(&w->changed, &w->lock);
        } else {
            struct timespec ts = {(time_t)(next / 1000000000u), (long)(next % 1000000000u)};
            pthread_cond_timedwait(&w->changed, &w->lock, &ts);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int watchdog_start(struct watchdog **out, const char *dir, uint64_t wall_ns, uint64_t cpu_ns,
                   struct err *err)
{
    struct watchdog *w = xcalloc(1, sizeof *w);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&w->lock, NULL);
    w->dir = xstrdup(dir);
    w->wall_end = wall_ns ? now_ns() + wall_ns : 0;
    w->cpu_ns = cpu_ns;
    if (pthread_create(&w->thread, NULL, watch, w) != 0) {
        free(w->dir);
        free(w);
        return err_set(err, ERR_SYSTEM, "cannot start the watchdog thread");
    }
    if (cpu_ns)
        watch_crashes(w);
    *out = w;
    return 0;
}

void watchdog_snapshot(struct watchdog *w, const char *bytes, size_t len, bool save_later)
{
    char *copy = xmalloc(len);
    memcpy(copy, bytes, len);
    pthread_mutex_lock(&w->lock);
    free(w->snapshot);
    w->snapshot = copy;
    w->len = len;
    w->save_at = save_later ? now_ns() + LOOK_NS : 0;
    pthread_mutex_unlock(&w->lock);
}

void watchdog_arm(struct watchdog *w, uint64_t limit_ns, enum result_status status)
{
    pthread_mutex_lock(&w->lock);
    w->call_end = limit_ns ? now_ns() + limit_ns : 0;
    w->status = status;
    /* A wake-up costs more than a short call. So we wake the thread only if it would wake up too
     * late. */
    if (w->call_end && (!w->wakes_at || w->call_end < w->wakes_at))
        pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void watchdog_disarm(struct watchdog *w)
{
    watchdog_arm(w, 0, RESULT_OK);
}

void watchdog_stop(struct watchdog *w)
{
    if (!w)
        return;
    watch_crashes(NULL);
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w->snapshot);
    free(w->dir);
    free(w);
}
