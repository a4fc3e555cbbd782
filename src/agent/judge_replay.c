/* judge_replay.c - the judge that repeats the verdicts of a recording. */
#include <stdlib.h>

#include "agent/judge.h"
#include "base/util.h"
#include "base/vec.h"
#include "store/store.h"

struct pending {
    uint64_t ticket;
    const json_t *record;
};

struct recorded {
    const struct replay *replay;
    VEC(struct pending) queue;
    size_t done; /* how many verdicts of the queue wait_next() has returned */
};

static int submit(struct judge *j, const struct judge_order *o, uint64_t *ticket, struct err *err)
{
    struct recorded *r = j->priv;
    const json_t *rec = replay_verdict(r->replay, o->index);
    if (!rec && (replay_stopped(r->replay) || o->index >= STORE_CONFIRM))
        return 1;
    if (!rec)
        return err_set(err, ERR_INPUT, "the recording has no verdict %llu",
                       (unsigned long long)o->index);
    *ticket = o->index;
    *vec_push(&r->queue) = (struct pending){o->index, rec};
    return 0;
}

static int wait_next(struct judge *j, uint64_t timeout_ns, uint64_t *ticket, struct verdict *out,
                     struct err *err)
{
    struct recorded *r = j->priv;
    if (r->done == r->queue.n)
        return 0;
    struct pending *p = &r->queue.items[r->done++];
    *ticket = p->ticket;
    if (verdict_from_json(out, json_object_get(p->record, "verdict"), err) < 0)
        return err_prefix(err, "recorded verdict %llu", (unsigned long long)p->ticket);
    return 1;
}

static void close_recorded(struct judge *j)
{
    struct recorded *r = j->priv;
    vec_release(&r->queue);
    free(r);
}

static const struct judge_ops ops = {submit, wait_next, NULL, close_recorded, NULL};

struct judge *judge_replay(const struct replay *replay)
{
    struct judge *j = xcalloc(1, sizeof *j);
    struct recorded *r = xcalloc(1, sizeof *r);
    r->replay = replay;
    j->ops = &ops;
    j->priv = r;
    return j;
}

void judge_close(struct judge *j)
{
    if (!j)
        return;
    j->ops->close(j);
    free(j);
}
