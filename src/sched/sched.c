/* sched.c - chooses the scheduler for a text such as "local" or "spool:DIR". See sched.h. */
#include "sched/sched.h"

#include <stdlib.h>

#include "base/util.h"
#include "job/result.h"
#include "sys/file.h"

static bool is_slurm(const char *on)
{
    return str_eq(on, "slurm") || str_starts(on, "slurm:");
}

/* The environment variable in which a parent process names the spool that it shares with us. */
#define SHARED_SPOOL "HONE_SHARED_SPOOL"

int sched_open(struct sched **out, const char *on, unsigned slots, int gpu, struct err *err)
{
    if (str_eq(on, "local"))
        return sched_local_open(out, slots, gpu, err);
    if (str_starts(on, "local:") && on[6])
        return sched_gpus_open(out, on + 6, gpu < 0, err);
    if (str_starts(on, "spool:") && on[6])
        return sched_spool_open(out, on + 6, err);
    const char *shared = getenv(SHARED_SPOOL);
    if (is_slurm(on) && shared && *shared)
        return sched_spool_open(out, shared, err);
    if (is_slurm(on))
        return sched_slurm_open(out, on[5] ? on + 6 : "", gpu < 0, err);
    return err_set(err, ERR_USAGE,
                   "unknown place '%s': use local, local:all, local:0,1, spool:DIR or slurm", on);
}

int sched_share(struct sched **out, const char *on, bool emu, struct err *err)
{
    *out = NULL;
    if (!is_slurm(on))
        return 0;
    if (sched_slurm_open(out, on[5] ? on + 6 : "", emu, err) < 0)
        return -1;
    setenv(SHARED_SPOOL, sched_spool_dir(*out), 1);
    return 0;
}

void sched_close(struct sched *s)
{
    if (s)
        s->ops->close(s);
}

int sched_submit(struct sched *s, const char *bundle_dir, uint64_t wall_ns,
                 const char *const *under, uint64_t *ticket, struct err *err)
{
    *ticket = ++s->next_ticket;
    if (s->ops->submit(s, bundle_dir, wall_ns, under, *ticket, err) < 0)
        return -1;
    s->outstanding++;
    return 0;
}

int sched_wait(struct sched *s, uint64_t timeout_ns, struct sched_done *out, struct err *err)
{
    int rc = s->ops->wait(s, timeout_ns, out, err);
    if (rc > 0)
        s->outstanding--;
    return rc;
}

void sched_progress(struct sched *s, uint64_t ticket, struct strbuf *out)
{
    /* Each progress message begins with these words. If the worker is killed, its newest message
     * stays and says what did not finish. Here the worker still runs, so we leave these words
     * out. */
    static const char lead[] = "did not finish: ";
    char *path = s->ops->progress_path(s, ticket);
    struct strbuf sb = STRBUF_INIT(RESULT_MAX_BYTES);
    struct arena a = ARENA_INIT;
    struct result r;
    if (path && file_read(path, RESULT_MAX_BYTES, &sb, NULL) == 0 &&
        result_read(&r, sb.buf, sb.len, &a, NULL) == 0 && *r.message)
        strbuf_addf(out, ": %.200s",
                    str_starts(r.message, lead) ? r.message + sizeof lead - 1 : r.message);
    arena_release(&a);
    strbuf_release(&sb);
    free(path);
}
