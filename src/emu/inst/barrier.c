/*
 * barrier.c - executes barriers of the block and the cluster, and fences.
 *
 * A fragment (lanes of a warp at one instruction) that executes bar.sync arrives once. Then it
 * polls until the barrier's phase has changed.
 *
 * A barrier without a count waits for all threads of the block that have not exited, as on GPUs
 * from sm_70 on. check_exited() reports exited threads only when the phase is complete. Before,
 * their number depends on the order in which the emulator runs the warps.
 *
 * A barrier with a count waits for that many threads. A warp whose live lanes arrive together
 * counts as 32.
 */
#include "base/util.h"
#include "emu/core/mem.h"

/* Members of struct insn:
 *   o[0]    destination of barrier.red
 *   o[1]    number of the barrier
 *   o[2]    thread count
 *   o[3]    predicate of barrier.red
 *   sub[0]  BAR_...
 *   sub[1]  whether the predicate is negated
 *   sub[2]  whether there is a thread count */
enum { BAR_SYNC, BAR_ARRIVE, BAR_POPC, BAR_AND, BAR_OR };

/* Reports threads that exited without arriving in this phase:
 * - as a mistake, if some of them executed code behind the barrier;
 * - as a mistake, if the barrier is aligned (bar.sync) and other lanes of their warps execute it,
 *   because PTX does not define what happens then;
 * - otherwise as a note. */
static void check_exited(const struct block *bl, struct barrier *b)
{
    struct warp *w = b->at.warp;
    uint32_t past = 0, split = 0;
    if (!w || bl->nlive == bl->nthreads || !w->launch->sanitize)
        return;
    struct frame *was = w->frame;
    w->frame = b->at.frame; /* for the source line of emu_finding() */
    uint32_t place = exits_place(w, b->at.pc);
    if (b->last_place == place && b->last_live == bl->nlive)
        goto out;
    b->last_place = place;
    b->last_live = bl->nlive;
    for (uint32_t i = 0; i < bl->nwarps; i++) {
        struct warp *o = &bl->warps[i];
        past += (uint32_t)__builtin_popcount(exits_past(o, FULL, EXITS_BARRIER, place));
        split += o->live ? (uint32_t)__builtin_popcount(warp_lanes(o) & ~o->live) : 0;
    }
    if (past)
        emu_finding(w, b->at.pc, (int)b->at.lane, FIND_BARRIER, "barrier", -1, NULL,
                    "barrier divergence: %u of the block's %u threads never reach this barrier, "
                    "although they execute code after it",
                    past, bl->nthreads);
    else if (split && (b->at.pc->flags & INSN_ALIGNED))
        emu_finding(w, b->at.pc, (int)b->at.lane, FIND_BARRIER, "barrier", -1, NULL,
                    "barrier divergence: %u threads exited before this barrier, and other threads "
                    "of their warps execute it: this barrier needs whole warps",
                    split);
    else
        emu_finding(w, b->at.pc, (int)b->at.lane, FIND_NOTE, "barrier", -1, NULL,
                    "%u of the block's %u threads exited before this barrier: from sm_70 on it "
                    "waits only for the others",
                    bl->nthreads - bl->nlive, bl->nthreads);
out:
    w->frame = was;
}

/* Suppose that some threads wait at instruction A, others at a later instruction B, and no loop
 * leads from B back to A. Then the threads at B went around A, which we report. */
static void check_places(struct barrier *b)
{
    for (uint32_t i = 0; i < b->nplaces; i++)
        for (uint32_t k = 0; k < b->nplaces; k++) {
            const struct barrier_place *at = &b->places[i], *since = &b->places[k];
            if (i == k || !exits_beyond(at->warp->launch, since->place, at->place))
                continue;
            struct frame *was = at->warp->frame;
            at->warp->frame = at->frame;
            const struct ptx_insn *p = insn_src(at->warp, since->pc);
            emu_finding(at->warp, at->pc, (int)at->lane, FIND_BARRIER, "barrier", -1, NULL,
                        "barrier divergence: %u threads wait at this barrier, and %u threads went "
                        "around it and wait at the barrier on line %u",
                        at->threads, since->threads, p ? p->line : 0);
            at->warp->frame = was;
        }
}

static void note_place(struct warp *w, const struct insn *in, struct barrier *b, uint32_t n)
{
    uint32_t place = exits_place(w, in), i = 0;
    while (i < b->nplaces && b->places[i].place != place)
        i++;
    if (i == ARRAY_LEN(b->places))
        return;
    if (i == b->nplaces)
        b->places[b->nplaces++] =
            (struct barrier_place){place, 0, w, w->frame, in, (uint32_t)__builtin_ctz(w->active)};
    b->places[i].threads += n;
}

static void complete(struct block *bl, struct barrier *b)
{
    if (!b->expected) {
        if (b->nplaces > 1)
            check_places(b);
        check_exited(bl, b);
        san_exits_release(bl, &b->key[b->phase & 1]);
    }
    b->at.warp = NULL;
    b->nplaces = 0;
    b->result[0] = b->red_popc;
    b->result[1] = b->red_and;
    b->result[2] = b->red_or;
    b->arrived = b->threads = b->expected = 0;
    b->red_popc = b->red_or = 0;
    b->red_and = 1;
    b->phase++;
}

static void try_complete(struct block *bl, struct barrier *b)
{
    if (b->threads == 0 && b->arrived == 0)
        return;
    if (b->expected ? b->arrived >= b->expected : b->threads >= bl->nlive)
        complete(bl, b);
}

static void cluster_try(struct cluster *c)
{
    if (c->bar.threads && c->bar.threads >= c->nlive) {
        for (uint32_t i = 0; i < c->nblocks; i++)
            san_exits_release(&c->blocks[i], &c->bar.key[c->bar.phase & 1]);
        c->bar.threads = 0;
        c->bar.phase++;
    }
}

void barrier_exited(struct warp *w, uint32_t lanes)
{
    struct block *b = w->block;
    struct cluster *c = b->cluster;
    san_exit(w);
    for (uint32_t i = 0; i < ARRAY_LEN(b->bar); i++)
        try_complete(b, &b->bar[i]);
    c->nlive -= (uint32_t)__builtin_popcount(lanes);
    if ((lanes & w->cluster_arrived) && w->cluster_phase == c->bar.phase)
        c->bar.threads -= (uint32_t)__builtin_popcount(lanes & w->cluster_arrived);
    cluster_try(c);
}

/* Returns whether all active lanes have the same value, and sets *out to it. */
static bool uniform(const struct warp *w, uint32_t code, uint32_t *out)
{
    const uint32_t *v = opnd(w, code);
    bool same = true;
    *out = v[__builtin_ctz(w->active)];
    if (w->active == FULL) {
        uint32_t differ = 0;
        for (uint32_t i = 0; i < WARP; i++)
            differ |= v[i] ^ *out;
        return !differ;
    }
    FOR_LANES(i, w)
    same &= v[i] == *out;
    return same;
}

static int arrive(struct warp *w, const struct insn *in, struct barrier *b, uint32_t count)
{
    uint32_t n = (uint32_t)__builtin_popcount(w->active);
    if (w->active != w->live && (in->flags & INSN_ALIGNED))
        emu_finding(w, in, __builtin_ctz(w->active), FIND_BARRIER, "barrier", -1, NULL,
                    "barrier divergence: only %u of the warp's %d threads execute this barrier", n,
                    __builtin_popcount(w->live));
    if (!b->at.warp || w->id < b->at.warp->id) {
        b->at.warp = w;
        b->at.frame = w->frame;
        b->at.pc = in;
        b->at.lane = (uint32_t)__builtin_ctz(w->active);
    }
    if (!count && w->launch->sanitize)
        note_place(w, in, b, n);
    if (b->threads && b->expected != count)
        emu_finding(w, in, __builtin_ctz(w->active), FIND_BARRIER, "barrier", -1, NULL,
                    "threads wait at this barrier with different thread counts (%u and %u)",
                    b->expected, count);
    b->expected = count;
    b->threads += n;
    b->arrived += w->active == w->live ? WARP : n;
    if (!b->red_init) {
        b->red_and = 1;
        b->red_init = true;
    }
    if (in->sub[0] >= BAR_POPC) {
        uint32_t p = (opnd_pred(w, in->o[3]) ^ (in->sub[1] ? FULL : 0)) & w->active;
        b->red_popc += (uint32_t)__builtin_popcount(p);
        b->red_or |= p != 0;
        b->red_and &= p == w->active;
    }
    san_release(w, &b->key[b->phase & 1]);
    w->barriers++;
    return 0;
}

static int leave(struct warp *w, const struct insn *in, struct barrier *b, uint32_t phase)
{
    if (in->sub[2])
        san_acquire(w, &b->key[phase & 1]);
    else
        san_barrier_full(w, &b->key[phase & 1]);
    w->frags[w->cur].arrived = 0;
    exits_met(w, EXITS_BARRIER, w->active, in);
    if (in->sub[0] == BAR_POPC) {
        uint32_t *d = opnd(w, in->o[0]);
        FOR_LANES(i, w)
        d[i] = b->result[0];
    } else if (in->sub[0] > BAR_POPC) {
        set_pred(w, in->o[0], b->result[in->sub[0] == BAR_AND ? 1 : 2] ? FULL : 0);
    }
    return EX_NEXT;
}

static int exec_bar(struct warp *w, const struct insn *in)
{
    struct fragment *f = &w->frags[w->cur];
    uint32_t id, count = 0;
    if (!uniform(w, in->o[1], &id) || (in->sub[2] && !uniform(w, in->o[2], &count)))
        return emu_fault(w, in, -1, RESULT_UNSUPPORTED, FIND_UNSUPPORTED,
                         "unsupported: threads of one warp name different barriers");
    if (id >= ARRAY_LEN(w->block->bar))
        return emu_fault(w, in, -1, RESULT_FAULT, FIND_BARRIER, "there is no barrier %u", id);
    if (in->sub[2] && (count == 0 || count % WARP || count > MAX_THREADS_PER_BLOCK))
        return emu_fault(w, in, -1, RESULT_FAULT, FIND_BARRIER,
                         "a barrier's thread count (%u) must be a positive multiple of 32", count);
    struct barrier *b = &w->block->bar[id];
    if (f->arrived) {
        if (b->phase == f->phase)
            return EX_WAIT;
        return leave(w, in, b, f->phase);
    }
    uint32_t phase = b->phase;
    arrive(w, in, b, count);
    try_complete(w->block, b);
    if (in->sub[0] == BAR_ARRIVE)
        return EX_NEXT;
    if (b->phase != phase)
        return leave(w, in, b, phase);
    f->arrived = 1;
    f->phase = phase;
    return EX_ARRIVED;
}

static int decode_bar(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    bool is_bar = str_eq(p->op, "bar");
    uint32_t at = 0;
    in->kind = CK_BARRIER;
    if (p->nmods && str_eq(p->mods[0], "warp"))
        return 1;
    if (p->nmods && str_eq(p->mods[0], "cluster"))
        return 1;
    in->sub[0] = 255;
    for (int i = 0; i < p->nmods; i++) {
        const char *m = p->mods[i];
        if (str_eq(m, "sync"))
            in->sub[0] = BAR_SYNC;
        else if (str_eq(m, "arrive"))
            in->sub[0] = BAR_ARRIVE;
        else if (str_eq(m, "popc"))
            in->sub[0] = BAR_POPC;
        else if (str_eq(m, "and"))
            in->sub[0] = BAR_AND;
        else if (str_eq(m, "or"))
            in->sub[0] = BAR_OR;
        else if (!str_eq(m, "cta") && !str_eq(m, "aligned") && !str_eq(m, "red") &&
                 ptx_type_of(m) == PT_NONE)
            return dec_unsupported(d, p);
    }
    if (in->sub[0] == 255)
        return dec_unsupported(d, p);
    if (is_bar || ptx_has(p, "aligned"))
        in->flags |= INSN_ALIGNED;
    in->exec = exec_bar;
    bool red = in->sub[0] >= BAR_POPC;
    uint32_t n = p->nops;
    if (red) {
        if (n < 3 || dec_dst(d, p, &p->ops[0], in->sub[0] == BAR_POPC ? 32 : 1, &in->o[0]) < 0)
            return dec_bad(d, p, "wrong operands or modifiers");
        bool neg = false;
        if (dec_pred(d, p, &p->ops[n - 1], &in->o[3], &neg) < 0)
            return -1;
        in->sub[1] = neg;
        at = 1;
        n--;
    }
    if (n < at + 1 || n > at + 2 || (in->sub[0] == BAR_ARRIVE && n != at + 2))
        return dec_bad(d, p, "wrong number of operands");
    if (dec_src(d, p, &p->ops[at], PT_U32, &in->o[1]) < 0)
        return -1;
    in->sub[2] = n == at + 2;
    return in->sub[2] ? dec_src(d, p, &p->ops[at + 1], PT_U32, &in->o[2]) : 0;
}

/* ---- barrier.cluster ------------------------------------------------------------------------ */

static int exec_cluster_arrive(struct warp *w, const struct insn *in)
{
    struct cluster *c = w->block->cluster;
    if (w->cluster_arrived & w->active)
        emu_finding(w, in, __builtin_ctz(w->active), FIND_BARRIER, "cluster barrier", -1, NULL,
                    "a thread arrives twice at the cluster barrier without a wait in between");
    w->cluster_arrived |= w->active;
    w->cluster_phase = c->bar.phase;
    c->bar.threads += (uint32_t)__builtin_popcount(w->active);
    san_release(w, &c->bar.key[c->bar.phase & 1]);
    cluster_try(c);
    w->barriers++;
    return EX_NEXT;
}

static int exec_cluster_wait(struct warp *w, const struct insn *in)
{
    struct cluster *c = w->block->cluster;
    if (w->active & ~w->cluster_arrived) {
        emu_finding(w, in, __builtin_ctz(w->active), FIND_BARRIER, "cluster barrier", -1, NULL,
                    "a thread waits at the cluster barrier without having arrived");
        return EX_NEXT;
    }
    if (c->bar.phase == w->cluster_phase)
        return EX_WAIT;
    san_acquire(w, &c->bar.key[w->cluster_phase & 1]);
    w->cluster_arrived &= ~w->active;
    return EX_NEXT;
}

static int decode_cluster_bar(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    if (!p->nmods || !str_eq(p->mods[0], "cluster"))
        return 1;
    in->kind = CK_BARRIER;
    for (int i = 1; i < p->nmods; i++) {
        const char *m = p->mods[i];
        if (str_eq(m, "arrive"))
            in->exec = exec_cluster_arrive;
        else if (str_eq(m, "wait"))
            in->exec = exec_cluster_wait;
        else if (str_eq(m, "aligned"))
            in->flags |= INSN_ALIGNED;
        else if (!str_eq(m, "release") && !str_eq(m, "relaxed") && !str_eq(m, "acquire"))
            return dec_unsupported(d, p);
    }
    return in->exec ? 0 : dec_unsupported(d, p);
}

/* ---- fences --------------------------------------------------------------------------------- */

/* sub[0]: whether it is a fence of the async proxy. sub[1]: the scope for san_fence(). */
static int exec_fence(struct warp *w, const struct insn *in)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (in->sub[0])
        san_proxy_fence(w);
    else
        san_fence(w, in->sub[1]);
    return EX_NEXT;
}

static int decode_fence(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    static const char *const known[] = {"sc",
                                        "acq_rel",
                                        "acquire",
                                        "release",
                                        "cta",
                                        "cluster",
                                        "gpu",
                                        "sys",
                                        "gl",
                                        "level",
                                        "proxy",
                                        "alias",
                                        "async",
                                        "async::generic",
                                        "async.global",
                                        "global",
                                        "shared::cta",
                                        "shared::cluster",
                                        "async.shared::cta",
                                        "tensormap::generic",
                                        "mbarrier_init",
                                        "sync_restrict::shared::cta",
                                        "sync_restrict::shared::cluster"};
    for (int i = 0; i < p->nmods; i++) {
        bool ok = false;
        for (size_t k = 0; k < ARRAY_LEN(known); k++)
            ok |= str_eq(p->mods[i], known[k]);
        if (!ok)
            return dec_unsupported(d, p);
    }
    in->kind = CK_FENCE;
    in->exec = exec_fence;
    in->sub[0] = ptx_has(p, "async");
    in->sub[1] = ptx_has(p, "cta")                                      ? 0
                 : ptx_has(p, "cluster") || ptx_has(p, "mbarrier_init") ? 1
                                                                        : 2;
    return 0;
}

const struct decode_entry decode_sync_ops[] = {
    {"bar", decode_bar},      {"barrier", decode_bar}, {"barrier", decode_cluster_bar},
    {"membar", decode_fence}, {"fence", decode_fence}, {NULL, NULL}};
