/*
 * starter_slurm.c - starts workers as jobs of Slurm.
 *
 * All jobs of a run have the name hone-NAME, with a random NAME. So squeue finds them even if the
 * reply of sbatch was lost, and scancel ends exactly these. BASE is a directory that all nodes
 * share:
 *
 *     BASE/hone-NAME/spool/    the spool
 *     BASE/hone-NAME/bin/      a worker program for each kind of machine, such as x86_64
 *     BASE/hone-NAME/log/      the output of each job
 *     BASE/hone-NAME/job.sh    checks the worker's hash, then runs the worker
 *     BASE/hone-NAME/owner     host and process id of the `hone` that made the directory
 *
 * A job that squeue does not list is over. If bundles are left, the autoscaler asks for another
 * job. So preemption, time limits and lost nodes need no special case. While squeue fails, Hone
 * neither starts nor cancels jobs.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "sched/autoscale.h"
#include "sched/sched.h"
#include "sched/slurm_spec.h"
#include "sched/starter.h"
#include "sys/file.h"
#include "sys/hash.h"
#include "sys/proc.h"

#define SECOND UINT64_C(1000000000)
/* Hone gives up after MAX_FAILURES failures in a row: sbatch refuses, or a job ends before a bundle
 * finishes. It also gives up if squeue fails at least MAX_FAILURES times in a row, for a minute
 * (BLIND_AT_FIRST * every_ns). Once squeue has worked, Hone waits a quarter of an hour instead
 * (BLIND_LATER * every_ns): Slurm's controller may be restarting while the jobs go on. */
enum { MAX_FAILURES = 5, BLIND_AT_FIRST = 12, BLIND_LATER = 180, MAX_WORKER_BYTES = 256 << 20 };

extern char **environ;

struct slurm_starter {
    struct starter starter;
    struct arena arena;
    struct slurm_spec spec;
    struct autoscale scale;
    char *dir;  /* BASE/hone-NAME */
    char *name; /* hone-NAME */
    bool emu;   /* the workers need no GPU */
    bool asked;
    unsigned pending, running; /* jobs, as the last squeue showed them */
    unsigned expected;         /* jobs that sbatch accepted and squeue has not shown yet */
    uint64_t accepted_ns;
    uint64_t looked_ns; /* 0 = never */
    uint64_t finished;
    uint64_t every_ns; /* time between two runs of squeue */
    bool seen;
    unsigned blind;
    uint64_t blind_ns; /* when the first of `blind` failures of squeue in a row happened */
    char last_words[300];
};

/* ---- running Slurm's programs ---------------------------------------------------------------- */

/* Runs a program of Slurm, and appends its standard output to `out`. `out` and `err` may be NULL.
 * On failure returns -1, with the reason in s->last_words. Sets *err only if the program could not
 * start. */
static int run(struct slurm_starter *s, const char *const *argv, struct strbuf *out,
               struct err *err)
{
    struct child_process c = CHILD_INIT;
    c.argv = argv;
    c.limit_ns = 60 * SECOND;
    c.max_out = 4 << 20;
    struct err why = ERR_INIT;
    int rc = child_run(&c, &why);
    if (rc < 0) {
        snprintf(s->last_words, sizeof s->last_words, "%.200s", why.msg);
        if (err)
            *err = why;
    } else if (c.end != CHILD_EXITED || c.code != 0) {
        struct strbuf how = STRBUF_INIT(1000);
        child_describe(&c, &how);
        snprintf(s->last_words, sizeof s->last_words, "%s: %.60s: %.200s", argv[0], how.buf,
                 c.err.len ? c.err.buf : "it said nothing");
        strbuf_release(&how);
        rc = -1;
    } else if (out) {
        strbuf_add(out, c.out.buf ? c.out.buf : "", c.out.len);
    }
    for (size_t n = strlen(s->last_words); n && s->last_words[n - 1] == '\n';)
        s->last_words[--n] = '\0';
    child_release(&c);
    return rc;
}

/* Runs a program, and returns whether it succeeded. Works even after Ctrl-C, when child_run()
 * refuses. Kills the program after 30 seconds. */
static bool run_anyway(const char *const *argv)
{
    posix_spawnattr_t attr;
    pid_t pid;
    int status = -1;
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP); /* Ctrl-C must not reach the program */
    int rc = posix_spawnp(&pid, argv[0], NULL, &attr, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attr);
    if (rc != 0)
        return false;
    for (uint64_t until = now_ns() + 30 * SECOND;;) {
        pid_t p = waitpid(pid, &status, WNOHANG);
        if (p == pid)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if ((p < 0 && errno != EINTR) || now_ns() > until) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return false;
        }
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

static bool cancel_name(const char *name)
{
    char *option = xasprintf("--name=%s", name);
    const char *const argv[] = {"scancel", "--quiet", option, NULL};
    bool ok = false;
    for (int i = 0; i < 3 && !ok; i++)
        ok = run_anyway(argv);
    free(option);
    return ok;
}

/* ---- counting jobs --------------------------------------------------------------------------- */

static void count_line(struct slurm_starter *s, const char *line)
{
    static const char *const waits[] = {"PENDING",      "CONFIGURING",   "REQUEUED",
                                        "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"};
    static const char *const runs[] = {"RUNNING",  "COMPLETING", "SUSPENDED", "STOPPED",
                                       "RESIZING", "SIGNALING",  "STAGE_OUT"};
    const char *state = strchr(line, '|');
    /* At some sites squeue prints a greeting. Job lines begin with "ID|STATE". */
    if (!state || strspn(line, "0123456789_[]-%,") != (size_t)(state - line))
        return;
    state++;
    size_t n = strcspn(state, "|\n");
    for (size_t i = 0; i < ARRAY_LEN(waits); i++)
        s->pending += strlen(waits[i]) == n && strncmp(state, waits[i], n) == 0;
    for (size_t i = 0; i < ARRAY_LEN(runs); i++)
        s->running += strlen(runs[i]) == n && strncmp(state, runs[i], n) == 0;
}

static int look(struct slurm_starter *s, struct err *err)
{
    char *name = xasprintf("--name=%s", s->name);
    const char *const argv[] = {"squeue", "--noheader", "--array", name, "--format=%i|%T|%R", NULL};
    struct strbuf out = STRBUF_INIT(8 << 20);
    int rc = run(s, argv, &out, err);
    free(name);
    if (rc == 0) {
        unsigned had = s->pending + s->running;
        s->pending = s->running = 0;
        for (char *line = out.buf; line && *line;) {
            char *end = strchr(line, '\n');
            if (end)
                *end = '\0';
            count_line(s, line);
            line = end ? end + 1 : NULL;
        }
        unsigned have = s->pending + s->running;
        /* squeue may show a new job late. After 6 * every_ns we assume that the job ended at
         * once. */
        if (s->expected && have >= had + s->expected) {
            s->expected = 0;
        } else if (s->expected && now_ns() - s->accepted_ns > 6 * s->every_ns) {
            s->expected = 0;
            if (!have)
                autoscale_failed(&s->scale, now_ns());
        }
        if (have < had)
            autoscale_failed(&s->scale,
                             now_ns()); /* slurm_step() undoes this if a bundle finishes */
    }
    strbuf_release(&out);
    return rc;
}

/* ---- starting -------------------------------------------------------------------------------- */

static int write_text(const char *dir, const char *name, const char *text, unsigned mode,
                      struct err *err)
{
    char *path = xasprintf("%s/%s", dir, name);
    int rc = file_write_mode(path, text, strlen(text), mode, err);
    free(path);
    return rc;
}

static void quote(struct strbuf *out, const char *text)
{
    strbuf_addc(out, '\'');
    for (; *text; text++)
        if (*text == '\'')
            strbuf_adds(out, "'\\''");
        else
            strbuf_addc(out, *text);
    strbuf_addc(out, '\'');
}

static int add_worker(struct slurm_starter *s, const char *path, const char *machine,
                      struct strbuf *script, struct err *err)
{
    struct strbuf bytes = STRBUF_INIT(MAX_WORKER_BYTES);
    char hex[HASH_HEX], *to = xasprintf("%s/bin/hone-worker-%s", s->dir, machine);
    int rc = file_read(path, MAX_WORKER_BYTES, &bytes, err);
    if (rc == 0)
        rc = file_write_mode(to, bytes.buf, bytes.len, 0700, err);
    if (rc == 0) {
        hash_hex(bytes.buf, bytes.len, hex);
        strbuf_addf(script, "%s) hash=%s ;;\n", machine, hex);
    }
    strbuf_release(&bytes);
    free(to);
    return rc;
}

static int write_script(struct slurm_starter *s, struct err *err)
{
    static const char *const others[] = {"x86_64", "aarch64"};
    struct strbuf script = STRBUF_INIT(64 << 10), worker = STRBUF_INIT(4096);
    struct utsname u;
    uname(&u);
    strbuf_adds(&script, "#!/bin/sh\n");
    if (s->spec.prolog)
        strbuf_addf(&script, "%s\n", s->spec.prolog);
    strbuf_adds(&script, "dir=");
    quote(&script, s->dir);
    strbuf_adds(&script, "\nmachine=$(uname -m)\nworker=$dir/bin/hone-worker-$machine\n"
                         "case $machine in\n");
    int rc = sched_find_worker(&worker, err);
    rc = rc < 0 ? rc : add_worker(s, worker.buf, u.machine, &script, err);
    for (size_t i = 0; i < ARRAY_LEN(others) && rc == 0; i++) {
        char *path = xasprintf("%s-%s", worker.buf, others[i]);
        if (!str_eq(others[i], u.machine) && file_is_executable(path))
            rc = add_worker(s, path, others[i], &script, err);
        free(path);
    }
    strbuf_addf(&script,
                "*) echo \"hone: there is no hone-worker for $machine\" >&2; exit 3 ;;\n"
                "esac\n"
                "echo \"$hash  $worker\" | sha256sum -c --status - || {\n"
                "    echo \"hone: $worker is not the program that hone put there\" >&2\n"
                "    exit 3\n"
                "}\n"
                "exec \"$worker\" --spool \"$dir/spool\" --idle %u%s "
                "${SLURM_CPUS_PER_TASK:+--threads $SLURM_CPUS_PER_TASK}\n",
                s->spec.idle_s, s->emu ? "" : " --gpu 0");
    if (rc == 0)
        rc = write_text(s->dir, "job.sh", script.buf, 0700, err);
    strbuf_release(&script);
    strbuf_release(&worker);
    return rc;
}

static int submit(struct slurm_starter *s, unsigned n, struct err *err)
{
    const char *argv[32];
    size_t k = 0;
    struct arena a = ARENA_INIT;
    argv[k++] = "sbatch";
    argv[k++] = "--parsable";
    argv[k++] = arena_printf(&a, "--job-name=%s", s->name);
    argv[k++] = arena_printf(&a, "--array=1-%u", n);
    argv[k++] = arena_printf(&a, "--output=%s/log/%%A_%%a.txt", s->dir);
    argv[k++] = "--signal=B:TERM@20"; /* 20 s for the worker to put its bundle back */
    argv[k++] = "--no-requeue";       /* we ask for new jobs ourselves */
    if (!s->spec.gres && !s->emu)
        argv[k++] = "--gres=gpu:1";
    if (!s->spec.time)
        argv[k++] = "--time=60";
    for (size_t i = 0; s->spec.options[i]; i++)
        argv[k++] = s->spec.options[i];
    argv[k++] = arena_printf(&a, "%s/job.sh", s->dir);
    argv[k] = NULL;
    s->asked = true;
    int rc = run(s, argv, NULL, err);
    arena_release(&a);
    return rc;
}

static void cancel_pending(struct slurm_starter *s)
{
    char *name = xasprintf("--name=%s", s->name);
    const char *const argv[] = {"scancel", "--quiet", "--state=PENDING", name, NULL};
    run(s, argv, NULL, NULL);
    free(name);
}

static void last_log(struct slurm_starter *s, struct strbuf *out)
{
    char *dir = xasprintf("%s/log", s->dir);
    struct name_vec names = VEC_INIT;
    if (dir_list(dir, &names, NULL) == 0 && names.n) {
        struct strbuf text = STRBUF_INIT(1 << 20);
        char *path = xasprintf("%s/%s", dir, names.items[names.n - 1]);
        if (file_read(path, 1 << 20, &text, NULL) == 0 && text.len)
            strbuf_addf(out, "; a job printed: %.300s",
                        text.buf + (text.len > 300 ? text.len - 300 : 0));
        free(path);
        strbuf_release(&text);
    }
    name_vec_release(&names);
    free(dir);
}

static int give_up(struct slurm_starter *s, struct err *err)
{
    struct strbuf log = STRBUF_INIT(4096);
    last_log(s, &log);
    err_set(
        err, ERR_ENV,
        "no worker that Slurm started has finished a bundle after %u attempts. The reason: %s%s. "
        "Check the options of --on slurm:, which Hone passes to `sbatch`. The output of the jobs "
        "was in %s/log",
        s->scale.failures, *s->last_words ? s->last_words : "the jobs ended early", log.buf,
        s->dir);
    strbuf_release(&log);
    return -1;
}

static int still_blind(struct slurm_starter *s, struct err *err)
{
    uint64_t patience_ns = (s->seen ? BLIND_LATER : BLIND_AT_FIRST) * s->every_ns;
    log_warn("sched", "cannot see the jobs of Slurm: %s", s->last_words);
    if (!s->blind++)
        s->blind_ns = s->looked_ns;
    uint64_t for_ns = s->looked_ns - s->blind_ns;
    if (s->blind < MAX_FAILURES || for_ns < patience_ns)
        return 0;
    return err_set(
        err, ERR_ENV,
        "Slurm does not answer: squeue failed %u times in %.0f s, and no bundle "
        "finished in this time. The last error: %s. Make sure that `squeue --me` works on "
        "this machine",
        s->blind, (double)for_ns / 1e9, s->last_words);
}

static int slurm_step(struct starter *st, unsigned bundles, uint64_t finished, uint64_t wait_ns,
                      struct err *err)
{
    struct slurm_starter *s = (struct slurm_starter *)st;
    uint64_t now = now_ns();
    if (finished != s->finished) {
        autoscale_worked(&s->scale);
        s->blind = 0;
    }
    s->finished = finished;
    if (s->looked_ns && now - s->looked_ns < s->every_ns) {
        nanosleep(&(struct timespec){.tv_nsec = (long)MIN(wait_ns, SECOND - 1)}, NULL);
        return 0;
    }
    struct err why = ERR_INIT;
    bool blind = s->asked && look(s, &why) < 0;
    s->looked_ns = now_ns();
    if (why.kind == ERR_ENV) { /* there is no squeue */
        *err = why;
        return -1;
    }
    if (blind)
        return still_blind(s, err);
    s->blind = 0;
    s->seen |= s->asked;
    if (s->scale.failures >= MAX_FAILURES && !s->pending && !s->running && !s->expected)
        return give_up(s, err);
    struct autoscale_seen seen = {bundles, s->pending + s->expected, s->running};
    int n = autoscale_step(&s->scale, &seen, now_ns());
    if (n < 0 && bundles == 0)
        cancel_pending(s);
    if (n <= 0)
        return 0;
    if (submit(s, (unsigned)n, &why) < 0) {
        autoscale_failed(&s->scale, now_ns());
        log_warn("sched", "sbatch: %s", s->last_words);
        if (why.kind != ERR_NONE) { /* there is no sbatch */
            *err = why;
            return -1;
        }
        return 0;
    }
    s->expected += (unsigned)n;
    s->accepted_ns = now_ns();
    return 0;
}

/* Removes the directory BASE/hone-NAME. Workers of cancelled jobs may still write into it, so we
 * try for 5 seconds. */
static void remove_place(const char *dir)
{
    for (int i = 0; i < 50 && dir_remove(dir, NULL) < 0; i++)
        poll(NULL, 0, 100);
}

static void slurm_close(struct starter *st)
{
    struct slurm_starter *s = (struct slurm_starter *)st;
    if (s->asked && !cancel_name(s->name))
        log_warn("sched", "cannot cancel the jobs: run `scancel --name=%s`", s->name);
    if (s->dir)
        remove_place(s->dir);
    arena_release(&s->arena);
    free(s->dir);
    free(s->name);
    free(s);
}

static const struct starter_ops slurm_ops = {slurm_step, slurm_close};

/* ---- opening --------------------------------------------------------------------------------- */

static void sweep(const char *base)
{
    struct name_vec names = VEC_INIT;
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    if (dir_list(base, &names, NULL) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *dir = xasprintf("%s/%s", base, names.items[i]), *path = xasprintf("%s/owner", dir);
        struct strbuf text = STRBUF_INIT(1000);
        char owner[256];
        int pid = 0;
        if (str_starts(names.items[i], "hone-") && file_read(path, 999, &text, NULL) == 0 &&
            sscanf(text.buf, "%255s %d", owner, &pid) == 2 && str_eq(owner, host) && pid > 0 &&
            kill(pid, 0) < 0 && errno == ESRCH && cancel_name(names.items[i]))
            remove_place(dir);
        strbuf_release(&text);
        free(path);
        free(dir);
    }
    name_vec_release(&names);
}

static int make_dirs(struct slurm_starter *s, const char *base, struct err *err)
{
    static const char *const inner[] = {"", "/bin", "/log"};
    char host[256] = "?", *owner;
    gethostname(host, sizeof host - 1);
    owner = xasprintf("%s %d\n", host, (int)getpid());
    int rc = dir_make(base, err);
    for (size_t i = 0; i < ARRAY_LEN(inner) && rc == 0; i++) {
        char *path = xasprintf("%s/%s%s", base, s->name, inner[i]);
        rc = dir_make(path, err);
        if (rc == 0 && chmod(path, 0700) < 0)
            rc = err_errno(err, "cannot make %s private", path);
        free(path);
    }
    rc = rc < 0 ? rc : write_text(s->dir, "owner", owner, 0600, err);
    free(owner);
    return rc;
}

int starter_slurm(struct starter **out, const char *text, bool emu, const char *run_name,
                  struct strbuf *spool, struct err *err)
{
    struct slurm_starter *s = xcalloc(1, sizeof *s);
    struct strbuf base = STRBUF_INIT(4096), sbatch = STRBUF_INIT(4096);
    const char *every = getenv("HONE_SLURM_POLL_MS");
    s->starter.ops = &slurm_ops;
    s->emu = emu;
    s->every_ns = every ? strtoull(every, NULL, 10) * 1000000u : 5 * SECOND;
    s->name = xasprintf("hone-%s", run_name);
    int rc = slurm_spec_read(&s->spec, text, &s->arena, err);
    if (rc == 0 && !find_program("sbatch", &sbatch))
        rc = err_set(err, ERR_ENV,
                     "there is no `sbatch` on PATH: --on slurm needs Slurm's programs sbatch, "
                     "squeue and scancel");
    if (rc == 0 && s->spec.dir)
        strbuf_adds(&base, s->spec.dir);
    else if (rc == 0 && (rc = user_cache_dir(&base, err)) == 0)
        strbuf_adds(&base, "/slurm");
    if (rc == 0) {
        s->scale.most = s->spec.most;
        s->scale.unit_ns = s->every_ns / 5;
        sweep(base.buf);
        s->dir = xasprintf("%s/%s", base.buf, s->name);
        rc = make_dirs(s, base.buf, err);
    }
    if (rc == 0)
        rc = write_script(s, err);
    strbuf_release(&sbatch);
    if (rc == 0)
        strbuf_addf(spool, "%s/spool", s->dir);
    strbuf_release(&base);
    if (rc < 0) {
        slurm_close(&s->starter);
        return -1;
    }
    *out = &s->starter;
    return 0;
}
