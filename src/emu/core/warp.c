/*
 * warp.c - runs one warp: its fragments (core.h), its frames, and the interpreter loop.
 *
 * Invariants:
 *  1. The masks of a warp's fragments are disjoint and their union is w->live.
 *  2. Only fragment w->cur runs. While it runs, its pc is in a local variable of run(). When it
 *     stops, run() writes the pc back to the fragment.
 *  3. If a warp has several fragments, run() stops at each border of a basic block. It picks the
 *     next fragment and merges into it all fragments with the same pc and frame.
 *  4. A fragment that has arrived at a barrier does not merge until the barrier lets it go.
 */
#include "base/util.h"
#include "emu/core/machine.h"

/* A jump after more than SPIN_STRONG strong loads and atomics ends the warp's slice. The jump may
 * belong to a loop that waits for another lane, warp or block. */
#define SPIN_STRONG 2u
#define likely(x) __builtin_expect(!!(x), 1)

const struct ptx_insn *insn_src(const struct warp *w, const struct insn *pc)
{
    const struct code_func *f = w->frame->func;
    if (pc < f->insns || pc > f->insns + f->n || !f->src->insns.n)
        return NULL;
    return &f->src->insns.items[pc->src];
}

int exec_unsupported(struct warp *w, const struct insn *in)
{
    return emu_fault(w, in, -1, RESULT_UNSUPPORTED, FIND_UNSUPPORTED, "%s", (const char *)in->aux);
}

/* ---- fragments ------------------------------------------------------------------------------ */

static void drop_fragment(struct warp *w, uint32_t i)
{
    w->frags[i] = w->frags[--w->nfrags];
    if (w->cur == w->nfrags)
        w->cur = i;
}

static bool merge_into(struct warp *w, uint32_t i)
{
    bool merged = false;
    w->cur = i;
    if (w->frags[i].arrived)
        return false;
    for (uint32_t k = 0; k < w->nfrags; k++) {
        struct fragment *a = &w->frags[i], *b = &w->frags[k];
        if (k == i || b->pc != a->pc || b->frame != a->frame || b->arrived)
            continue;
        a->mask |= b->mask;
        a->waiting = 0;
        uint32_t last = w->nfrags - 1;
        w->frags[k] = w->frags[last];
        w->nfrags--;
        if (i == last)
            i = k;
        if (w->cur >= w->nfrags)
            w->cur = i;
        merged = true;
        k--;
    }
    w->cur = i;
    return merged;
}

/* Returns the index of a fragment that does not wait, or -1. If `fair`, chooses the fragment that
 * ran longest ago. Otherwise chooses the fragment of least rank (flow.h) among those in the deepest
 * call. */
static int pick_fragment(struct warp *w, bool fair)
{
    int best = -1;
    for (uint32_t k = 0; k < w->nfrags; k++) {
        const struct fragment *f = &w->frags[k];
        if (f->waiting)
            continue;
        if (best < 0) {
            best = (int)k;
            continue;
        }
        const struct fragment *b = &w->frags[best];
        bool better;
        if (fair)
            better = f->ran < b->ran;
        else if (f->frame->depth != b->frame->depth)
            better = f->frame->depth > b->frame->depth;
        else if (f->pc->rank != b->pc->rank)
            better = f->pc->rank < b->pc->rank;
        else
            better = f->pc < b->pc;
        if (better)
            best = (int)k;
    }
    return best;
}

static const struct insn *enter(struct warp *w, uint32_t i)
{
    struct fragment *f = &w->frags[i];
    w->cur = i;
    w->mask = f->mask;
    w->frame = f->frame;
    w->base[0] = f->frame->regs;
    return f->pc;
}

int warp_branch(struct warp *w, uint32_t taken, const struct insn *pc)
{
    struct fragment *f = &w->frags[w->cur];
    if (taken == w->mask) {
        f->pc = pc;
        return EX_JUMP;
    }
    struct fragment *n = &w->frags[w->nfrags++];
    *n = (struct fragment){.mask = taken, .pc = pc, .frame = f->frame, .ran = f->ran};
    f->mask = w->mask & ~taken;
    f->pc = w->pc + 1;
    w->mask = f->mask;
    w->diverged++;
    return EX_JUMP;
}

int warp_call(struct warp *w, uint32_t lanes, struct frame *callee)
{
    struct fragment *f = &w->frags[w->cur];
    callee->ret_pc = w->pc + 1;
    callee->call = w->pc;
    if (lanes != w->mask) {
        struct fragment *n = &w->frags[w->nfrags++];
        *n = (struct fragment){.mask = w->mask & ~lanes, .pc = w->pc + 1, .frame = w->frame};
        f->mask = w->mask = lanes;
    }
    f->frame = callee;
    f->pc = callee->func->insns;
    return EX_JUMP;
}

static void frame_free(struct warp *w, struct frame *f)
{
    if (f->depth == 0) /* the block owns the kernel's own frame */
        return;
    w->call_bytes -= f->func->frame_bytes + (size_t)f->func->param_bytes * WARP;
    free(f);
}

void warp_exit_lanes(struct warp *w, uint32_t lanes)
{
    struct block *b = w->block;
    w->live &= ~lanes;
    exits_left(w, lanes, w->pc);
    for (struct frame *fr = w->frame, *up; fr; fr = up) {
        up = fr->caller;
        fr->mask &= ~lanes;
        if (!fr->mask)
            frame_free(w, fr);
    }
    struct fragment *f = &w->frags[w->cur];
    f->mask &= ~lanes;
    w->mask = f->mask;
    f->pc = w->pc + 1;
    if (!f->mask)
        drop_fragment(w, w->cur);
    b->nlive -= (uint32_t)__builtin_popcount(lanes);
    barrier_exited(w, lanes);
    if (!w->live)
        async_warp_exit(w);
}

/* ---- frames --------------------------------------------------------------------------------- */

void warp_poison(struct warp *w, const struct launch *l, uint32_t lanes, uint32_t from, uint32_t n)
{
    for (; lanes && n; lanes &= lanes - 1)
        memset(w->local + (size_t)__builtin_ctz(lanes) * l->local_bytes + from, l->blank, n);
}

/* An unwritten register must not hold the right value by chance. It reads as NaN or -1 in the first
 * call, and as another value in a repeated call. */
void frame_poison(struct frame *fr, const struct launch *l)
{
    memset(fr->regs, l->blank, fr->func->frame_bytes);
    *(uint32_t *)(void *)(fr->regs + CC_OFF) = 0;
}

struct frame *frame_push(struct warp *w, struct code_func *f, uint32_t lanes)
{
    struct frame *up = w->frame;
    size_t head = (sizeof(struct frame) + 63) & ~63ull;
    size_t params = (size_t)f->param_bytes * WARP;
    char *m = aligned_alloc(64, (head + f->frame_bytes + params + 63) & ~63ull);
    if (!m)
        BUG("out of memory");
    struct frame *fr = (struct frame *)(void *)m;
    memset(m, 0, head + f->frame_bytes + params);
    fr->regs = m + head;
    fr->params = m + head + f->frame_bytes;
    fr->func = f;
    frame_poison(fr, w->launch);
    fr->caller = up;
    fr->mask = lanes;
    fr->depth = up->depth + 1;
    fr->local_base = up->local_top;
    fr->local_top = fr->local_base + f->local_bytes;
    warp_poison(w, w->launch, lanes, fr->local_base, f->local_bytes);
    w->call_bytes += f->frame_bytes + params;
    return fr;
}

int warp_return(struct warp *w, uint32_t lanes)
{
    struct frame *fr = w->frame, *up = fr->caller;
    struct fragment *f = &w->frags[w->cur];
    call_return_values(w, fr, lanes);
    fr->mask &= ~lanes;
    if (lanes == w->mask) {
        f->pc = fr->ret_pc;
        f->frame = up;
    } else {
        struct fragment *n = &w->frags[w->nfrags++];
        *n = (struct fragment){.mask = lanes, .pc = fr->ret_pc, .frame = up, .ran = f->ran};
        f->mask = w->mask & ~lanes;
        f->pc = w->pc + 1;
    }
    if (!fr->mask)
        frame_free(w, fr);
    return EX_JUMP;
}

void warp_release(struct warp *w)
{
    for (uint32_t i = 0; i < w->nfrags; i++) {
        struct frame *f = w->frags[i].frame;
        while (f && f->depth > 0) {
            struct frame *up = f->caller;
            f->mask &= ~w->frags[i].mask;
            if (!f->mask)
                free(f);
            f = up;
        }
    }
    w->nfrags = 0;
}

/* ---- the loop ------------------------------------------------------------------------------- */

/* An aligned instruction needs all live lanes of the warp, but only some have reached it. Returns
 * the lanes that execute it now, or 0 if they must wait for the others. */
static uint32_t converge(struct warp *w, const struct insn *pc)
{
    w->frags[w->cur].pc = pc;
    if (merge_into(w, w->cur)) {
        w->mask = w->frags[w->cur].mask;
        if (w->mask == w->live)
            return w->mask;
    }
    if (!emu_stuck(w))
        return 0;
    emu_finding(w, pc, __builtin_ctz(w->mask), FIND_BARRIER, NULL, -1, NULL,
                "only %d of the warp's %d threads reach this instruction, which needs all of them",
                __builtin_popcount(w->mask), __builtin_popcount(w->live));
    return w->mask;
}

/* For cycles_for_ever() in warp_sched.c: notes accesses to memory outside the cluster. */
static void note_outside_access(struct warp *w, const struct insn *pc)
{
    struct cluster *c = w->block->cluster;
    switch (pc->kind) {
    case CK_LD_GLOBAL:
        c->probe.reads = true;
        break;
    case CK_ATOMIC:
        c->probe.writes |= pc->sub[2] != SP_SHARED;
        break;
    case CK_ST_GLOBAL:
    case CK_ASYNC_COPY:
    case CK_TENSOR:
    case CK_OTHER:
        c->probe.writes = true;
        break;
    default:
        break;
    }
}

static inline __attribute__((always_inline)) enum slice_rc run(struct warp *w, uint32_t budget,
                                                               const bool count, const bool probe)
{
    const uint32_t start = budget;
    for (uint32_t k = 0; k < w->nfrags; k++)
        w->frags[k].waiting = 0;
    const bool fair = w->unfair;
    int i = pick_fragment(w, fair);
    w->unfair = false;
    const struct insn *pc = enter(w, (uint32_t)i);
    for (;;) {
        if (budget == 0) {
            w->frags[w->cur].pc = pc;
            w->frags[w->cur].ran = ++w->slices;
            w->unfair = w->nfrags > 1;
            break;
        }
        budget--;
        if (__builtin_expect(w->undef != NULL, 0))
            undef_step(w, pc);
        uint32_t m = w->mask;
        if (pc->flags & (INSN_GUARD | INSN_ALIGNED)) {
            if ((pc->flags & INSN_ALIGNED) && m != w->live && !w->frags[w->cur].arrived) {
                m = converge(w, pc);
                if (!m) {
                    budget++;
                    goto wait;
                }
            }
            if (pc->flags & INSN_GUARD) {
                uint32_t p = opnd_pred(w, pc->guard);
                m &= pc->flags & INSN_GUARD_NEG ? ~p : p;
                if (!m) {
                    pc++;
                    if (w->nfrags > 1 && (pc->flags & INSN_LEADER))
                        goto switch_fragment;
                    continue;
                }
            }
        }
        w->active = m;
        w->pc = pc;
        if (count) {
            count_insn(w, pc, m);
            count_waits(w, pc);
        }
        if (probe)
            note_outside_access(w, pc);
        if (__builtin_expect(w->watch != NULL, 0))
            async_touch(w, pc);
        int rc = pc->exec(w, pc);
        if (likely(rc == EX_NEXT)) {
            pc++;
            if (w->nfrags > 1 && (pc->flags & INSN_LEADER))
                goto switch_fragment;
            continue;
        }
        switch (rc) {
        case EX_JUMP:
            if (w->strong > SPIN_STRONG) {
                w->strong = 0;
                w->frags[w->cur].ran = ++w->slices;
                w->unfair = w->nfrags > 1;
                goto out;
            }
            if (w->nfrags > 1)
                goto pick_fragment;
            pc = enter(w, w->cur);
            continue;
        case EX_YIELD:
            pc++;
            w->frags[w->cur].pc = pc;
            w->frags[w->cur].ran = ++w->slices;
            w->unfair = w->nfrags > 1;
            goto out;
        case EX_EXIT:
            if (!w->nfrags)
                goto out;
            goto pick_fragment;
        case EX_WAIT:
            budget++;
            if (count)
                uncount_insn(w, pc, m);
            w->frags[w->cur].pc = pc;
            if (merge_into(w, w->cur)) {
                pc = enter(w, w->cur);
                continue;
            }
            goto wait;
        case EX_ARRIVED: /* counted when the warp leaves the barrier */
            if (count)
                uncount_insn(w, pc, m);
            w->frags[w->cur].pc = pc;
            goto wait;
        default:
            w->steps += start - budget;
            return SLICE_FAULT;
        }
    switch_fragment:
        w->frags[w->cur].pc = pc;
    pick_fragment:
        i = pick_fragment(w, false);
        if (i < 0)
            goto out;
        merge_into(w, (uint32_t)i);
        pc = enter(w, w->cur);
        continue;
    wait:
        w->frags[w->cur].waiting = 1;
        w->frags[w->cur].ran = ++w->slices;
        i = pick_fragment(w, fair && budget == start);
        if (i < 0)
            goto out;
        merge_into(w, (uint32_t)i);
        pc = enter(w, w->cur);
    }
out:
    w->steps += start - budget;
    if (!w->live)
        return SLICE_DONE;
    return budget == start ? SLICE_WAITS : SLICE_RAN;
}

enum slice_rc warp_run(struct warp *w, uint32_t budget)
{
    if (__builtin_expect(w->block->cluster->probe.on, 0))
        return w->counts ? run(w, budget, true, true) : run(w, budget, false, true);
    if (w->counts)
        return run(w, budget, true, false);
    return run(w, budget, false, false);
}
