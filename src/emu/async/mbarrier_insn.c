/*
 * mbarrier_insn.c - executes the mbarrier instructions. A try_wait whose phase is not over first
 * completes the copies in flight that complete on this mbarrier. If the phase is still not over,
 * the warp waits. A test_wait never waits. Among a warp's test_waits whose phase is not over, every
 * fourth completes these copies; the others do not.
 */
#include <string.h>

#include "emu/async/async.h"

struct mbar_insn {
    enum ptx_space space;
    uint32_t base, base_bits;
    int64_t off;
    /* Operand code (core.h). For arrive: the register that gets the state. For a wait: the state or
     * the parity. */
    uint32_t state;
    uint32_t count; /* operand code (core.h) */
    /* has_state: this is arrive or arrive_drop. has_tx: the transaction count changes; it grows if
     * `expect`, else it shrinks. drop: this is arrive_drop. parity: `state` is a phase bit.
     * blocking: this is try_wait, not test_wait. */
    bool has_state, has_count, has_tx, drop, no_complete, parity, blocking, expect;
    uint32_t pred; /* the predicate that a wait writes */
};

/* Returns the block in whose shared memory the lane's mbarrier lies, and sets *off to its offset
 * there. Tells the sanitizer about the access. Returns NULL after a fault. */
static struct block *locate(struct warp *w, const struct insn *in, uint32_t lane, uint32_t access,
                            uint32_t *off)
{
    const struct mbar_insn *m = in->aux;
    uint64_t addr = addr_of(w, m->base, m->base_bits, lane, m->off);
    if (!mem_at(w, in, lane, m->space, addr, 8, access))
        return NULL;
    struct block *b = smem_block(w, (uint32_t)addr, off);
    if (!b || *off + 8 > b->smem_bytes) {
        emu_fault(w, in, (int)lane, RESULT_FAULT, FIND_OOB,
                  "the mbarrier at 0x%llx is outside shared memory", (unsigned long long)addr);
        return NULL;
    }
    return b;
}

static int exec_init(struct warp *w, const struct insn *in)
{
    const struct mbar_insn *m = in->aux;
    FOR_LANES(i, w)
    {
        uint32_t off, count = ((const uint32_t *)opnd(w, m->count))[i];
        struct block *b = locate(w, in, i, MEM_WRITE, &off);
        if (!b)
            return EX_FAULT;
        if (count < 1 || count > MBAR_MAX_COUNT)
            return emu_fault(w, in, (int)i, RESULT_FAULT, FIND_BARRIER,
                             "mbarrier.init with a count of %u; 1 to 2^20-1 is allowed", count);
        struct mbar bar;
        mbar_init(&bar, count);
        *mbar_word(b, off) = mbar_pack(&bar);
    }
    return EX_NEXT;
}

static int exec_inval(struct warp *w, const struct insn *in)
{
    FOR_LANES(i, w)
    {
        uint32_t off;
        struct block *b = locate(w, in, i, MEM_READ | MEM_WRITE | MEM_ATOMIC | MEM_STRONG, &off);
        if (!b)
            return EX_FAULT;
        *mbar_word(b, off) = 0;
    }
    return EX_NEXT;
}

#define RMW (MEM_READ | MEM_WRITE | MEM_ATOMIC | MEM_STRONG)

/* Executes a lane's arrive, arrive_drop, expect_tx or complete_tx, with their modifiers. */
static int arrive_lane(struct warp *w, const struct insn *in, uint32_t lane)
{
    const struct mbar_insn *m = in->aux;
    uint32_t off, n = m->has_count ? ((const uint32_t *)opnd(w, m->count))[lane] : 1;
    struct block *b = locate(w, in, lane, RMW, &off);
    if (!b)
        return EX_FAULT;
    uint64_t *word = mbar_word(b, off), before = *word;
    if (m->has_tx) {
        enum mbar_fn fn = m->expect ? MBAR_FN_EXPECT : MBAR_FN_COMPLETE;
        int rc = mbar_apply(w, in, lane, b, off, fn, (int32_t)MIN(n, 1u << 30));
        if (rc != EX_NEXT || !m->has_state)
            return rc;
        n = 1;
    }
    if (n < 1 || n > MBAR_MAX_COUNT)
        return emu_fault(w, in, (int)lane, RESULT_FAULT, FIND_BARRIER,
                         "mbarrier arrival with a count of %u; 1 to 2^20-1 is allowed", n);
    int rc = mbar_apply(w, in, lane, b, off, m->drop ? MBAR_FN_DROP : MBAR_FN_ARRIVE, (int32_t)n);
    struct mbar now, was;
    if (rc == EX_NEXT && m->no_complete && mbar_unpack(&was, before) && mbar_unpack(&now, *word) &&
        now.phase != was.phase)
        emu_finding(w, in, (int)lane, FIND_BARRIER, "shared", off, NULL,
                    "an arrival marked .noComplete completed the phase");
    ((uint64_t *)opnd(w, m->state))[lane] = before;
    return rc;
}

static int exec_arrive(struct warp *w, const struct insn *in)
{
    uint32_t all = w->active;
    const void *last = NULL;
    const struct mbar_insn *m = in->aux;
    FOR_LANES(i, w)
    {
        uint32_t off;
        uint64_t addr = addr_of(w, m->base, m->base_bits, i, m->off);
        struct block *b = smem_block(w, (uint32_t)addr, &off);
        const void *key = b ? (const void *)mbar_word(b, off) : NULL;
        if (key && key != last) { /* usually all lanes use one mbarrier */
            san_release(w, key);
            last = key;
        }
    }
    for (uint32_t mask = all; mask; mask &= mask - 1) {
        int rc = arrive_lane(w, in, (uint32_t)__builtin_ctz(mask));
        if (rc != EX_NEXT)
            return rc;
    }
    return EX_NEXT;
}

/* Returns 1 if the phase for which the lane waits is over, 0 if it is not, -1 after a fault. Sets
 * *key to the mbarrier's host address. */
static int lane_done(struct warp *w, const struct insn *in, uint32_t lane, const void **key)
{
    const struct mbar_insn *m = in->aux;
    uint32_t off;
    struct block *b = locate(w, in, lane, MEM_READ | MEM_STRONG, &off);
    struct mbar bar;
    if (!b)
        return -1;
    *key = mbar_word(b, off);
    if (!mbar_unpack(&bar, *mbar_word(b, off))) {
        emu_fault(w, in, (int)lane, RESULT_FAULT, FIND_UNINIT,
                  "waiting for the mbarrier at shared address 0x%x, which is not initialised", off);
        return -1;
    }
    bool parity = m->parity ? ((const uint32_t *)opnd(w, m->state))[lane] & 1
                            : ((const uint64_t *)opnd(w, m->state))[lane] >> 62 & 1;
    if (mbar_done(&bar, parity))
        return 1;
    bool poll = !m->blocking && ++warp_async(w)->polls % 4;
    /* Every fourth poll may complete copies. So warp_sched.c must not take a loop of polls for a
     * cycle that repeats for ever: a poll counts as a write. */
    w->block->cluster->probe.writes |= !m->blocking;
    if (poll || !async_settle(b, off))
        return 0;
    mbar_unpack(&bar, *mbar_word(b, off));
    return mbar_done(&bar, parity);
}

static int exec_wait(struct warp *w, const struct insn *in)
{
    const struct mbar_insn *m = in->aux;
    uint32_t done = 0, all = w->active, first = (uint32_t)__builtin_ctz(all);
    uint64_t a0 = addr_of(w, m->base, m->base_bits, first, m->off), s0 = 0;
    const void *key = NULL, *acquired = NULL;
    int last = -1;
    FOR_LANES(i, w)
    {
        uint64_t addr = addr_of(w, m->base, m->base_bits, i, m->off);
        uint64_t state = m->parity ? ((const uint32_t *)opnd(w, m->state))[i]
                                   : ((const uint64_t *)opnd(w, m->state))[i];
        if (last < 0 || addr != a0 || state != s0) {
            last = lane_done(w, in, i, &key);
            if (last < 0)
                return EX_FAULT;
            a0 = addr;
            s0 = state;
        }
        done |= (uint32_t)last << i;
        if (last && key != acquired) {
            w->active = all;
            san_acquire(w, key);
            acquired = key;
        }
    }
    if (!done && m->blocking && !emu_stuck(w))
        return EX_WAIT;
    set_pred(w, m->pred, done);
    return done == all ? EX_NEXT : EX_YIELD;
}

static int exec_pending(struct warp *w, const struct insn *in)
{
    uint32_t *d = opnd(w, in->o[0]);
    const uint64_t *s = opnd(w, in->o[1]);
    FOR_LANES(i, w)
    {
        struct mbar b;
        mbar_unpack(&b, s[i]);
        d[i] = b.pending;
    }
    return EX_NEXT;
}

/* ---- decoding ------------------------------------------------------------------------------- */

static int address(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o,
                   struct mbar_insn *m)
{
    m->space = async_space(p);
    if (m->space == SP_GLOBAL)
        return dec_bad(d, p, "an mbarrier must be in shared memory");
    return dec_addr(d, p, o, m->space, &m->base, &m->base_bits, &m->off);
}

static int decode_arrive(struct decoder *d, const struct ptx_insn *p, struct insn *in,
                         struct mbar_insn *m)
{
    m->drop = strcmp(p->mods[0], "arrive_drop") == 0;
    m->no_complete = ptx_has(p, "noComplete");
    m->has_tx = m->expect = ptx_has(p, "expect_tx");
    m->has_state = true;
    if (p->nops < 2 || p->nops > 3)
        return dec_bad(d, p, "expected a state, an address and a count");
    m->has_count = p->nops == 3;
    if (m->has_tx && !m->has_count)
        return dec_bad(d, p, "expect_tx needs a byte count");
    if (dec_dst(d, p, &p->ops[0], 64, &m->state) < 0 || address(d, p, &p->ops[1], m) < 0)
        return -1;
    if (m->has_count && dec_src(d, p, &p->ops[2], PT_U32, &m->count) < 0)
        return -1;
    in->exec = exec_arrive;
    return 0;
}

static int decode_wait(struct decoder *d, const struct ptx_insn *p, struct insn *in,
                       struct mbar_insn *m)
{
    m->blocking = strcmp(p->mods[0], "try_wait") == 0;
    m->parity = ptx_has(p, "parity");
    if (p->nops < 3 || p->nops > 4)
        return dec_bad(d, p, "expected a predicate, an address and a phase");
    if (dec_dst(d, p, &p->ops[0], 1, &m->pred) < 0 || address(d, p, &p->ops[1], m) < 0 ||
        dec_src(d, p, &p->ops[2], m->parity ? PT_U32 : PT_B64, &m->state) < 0)
        return -1;
    in->exec = exec_wait;
    return 0;
}

static int decode_simple(struct decoder *d, const struct ptx_insn *p, struct insn *in,
                         struct mbar_insn *m, exec_fn fn, bool count)
{
    if (p->nops != (count ? 2 : 1))
        return dec_bad(d, p, "wrong number of operands");
    if (address(d, p, &p->ops[0], m) < 0)
        return -1;
    m->has_count = count;
    if (count && dec_src(d, p, &p->ops[1], PT_U32, &m->count) < 0)
        return -1;
    in->exec = fn;
    return 0;
}

int decode_mbarrier(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    if (!p->nmods)
        return dec_unsupported(d, p);
    const char *what = p->mods[0];
    struct mbar_insn *m = dec_alloc(d, sizeof *m);
    in->aux = m;
    in->kind = CK_BARRIER;
    if (strcmp(what, "init") == 0)
        return decode_simple(d, p, in, m, exec_init, true);
    if (strcmp(what, "inval") == 0)
        return decode_simple(d, p, in, m, exec_inval, false);
    if (strcmp(what, "expect_tx") == 0 || strcmp(what, "complete_tx") == 0) {
        m->has_tx = true;
        m->expect = what[0] == 'e';
        return decode_simple(d, p, in, m, exec_arrive, true);
    }
    if (strcmp(what, "arrive") == 0 || strcmp(what, "arrive_drop") == 0)
        return decode_arrive(d, p, in, m);
    if (strcmp(what, "test_wait") == 0 || strcmp(what, "try_wait") == 0)
        return decode_wait(d, p, in, m);
    if (strcmp(what, "pending_count") == 0 && p->nops == 2) {
        if (dec_dst(d, p, &p->ops[0], 32, &in->o[0]) < 0 ||
            dec_src(d, p, &p->ops[1], PT_B64, &in->o[1]) < 0)
            return -1;
        in->exec = exec_pending;
        return 0;
    }
    return dec_unsupported(d, p);
}
