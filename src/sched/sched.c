#include "sched/sched.h"

#include "base/util.h"

int sched_open(struct sched **out, const char *on, unsigned slots, struct err *err)
{
    if (str_eq(on, "local"))
        return sched_local_open(out, slots, err);
    if (str_starts(on, "spool:") && on[6])
        return sched_spool_open(out, on + 6, err);
    return err_set(err, ERR_INPUT, "unknown place '%s': use local or spool:DIR", on);
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
