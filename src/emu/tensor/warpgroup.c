/*
 * warpgroup.c - wgmma: issue, groups, completion.
 *
 * A product (one wgmma) is one operation of four warps, each with its own 16 rows of D. So the
 * first warp that waits for a product waits until the others have issued it, then computes all
 * rows. We read the operands when we compute the product, so a change after its issue has an
 * effect.
 *
 * warp->watch marks the registers of products in flight: accumulators, and registers that hold A.
 * We report writes to a register that holds A, and uses of an accumulator. But an instruction may
 * copy an accumulator, because ptxas would have removed the copy. So before a copy, we complete the
 * warp's own rows (complete_early).
 *
 * In a called function we complete every product early, because the function's frame may be gone
 * before the wait. Elsewhere we do so at random (async_eager).
 */
#include <stdlib.h>
#include <string.h>

#include "emu/async/async.h"
#include "emu/core/machine.h"
#include "emu/tensor/tensor.h"
#include "emu/tensor/wgmma.h"

#define CACHE_SLOTS 8
#define MAX_WARPGROUPS 8

struct wg_insn {
    struct wgmma_op op;
    uint16_t nd; /* registers of D */
    /* a_regs: A is in registers. The operand scale-d says whether the product is added to D. If
     * has_scale_d, it is the predicate scale_d, negated if scale_neg. Otherwise it is
     * scale_const. */
    bool a_regs, has_scale_d, scale_neg;
    bool scale_const;
    uint32_t a_desc, b_desc, scale_d, meta; /* operand codes (core.h) */
    uint32_t sel;
};

/* A product that the warp has not waited for. */
struct wg_pending {
    const struct insn *pc;
    char *frame; /* registers of the frame in which it was issued */
    uint64_t a_desc, b_desc;
    bool scale_d;
    uint32_t group, seq; /* its commit group; its number among the warp's products */
    uint32_t meta[WARP];
    uint32_t san[4]; /* from san_async_begin(), for two ranges of A and two of B */
    bool done;
    bool early; /* completed before the wait, so instructions may use D */
};

struct wg_cache {
    struct {
        uint32_t seq;
        uint64_t desc;
        struct wgmma_op op;
        bool valid;
        uint32_t *x; /* decoded B, for all four warps */
        size_t cap;
    } slot[MAX_WARPGROUPS][CACHE_SLOTS];
};

void wg_cache_free(struct wg_cache *c)
{
    if (!c)
        return;
    for (int g = 0; g < MAX_WARPGROUPS; g++)
        for (int i = 0; i < CACHE_SLOTS; i++)
            free(c->slot[g][i].x);
    free(c);
}

static const uint32_t *decoded_b(struct warp *w, const struct wgmma_op *op,
                                 const struct wg_pending *p)
{
    struct block_async *a = block_async(w->block);
    if (!a->wg_cache)
        a->wg_cache = xcalloc(1, sizeof *a->wg_cache);
    struct wg_cache *c = a->wg_cache;
    __typeof__(&c->slot[0][0]) s = &c->slot[w->id / 4 % MAX_WARPGROUPS][p->seq % CACHE_SLOTS];
    /* The decoders zero the whole struct, so the padding is equal too.
     * NOLINTNEXTLINE(bugprone-*,cert-*) */
    bool same_op = !memcmp(&s->op, op, sizeof *op);
    if (s->valid && s->seq == p->seq && s->desc == p->b_desc && same_op)
        return s->x;
    size_t n = (size_t)op->k * op->n;
    if (s->cap < n) {
        free(s->x);
        s->x = xmalloc(n * sizeof *s->x);
        s->cap = n;
    }
    wgmma_load_b(op, w->block->smem, w->block->smem_bytes, p->b_desc, s->x);
    s->seq = p->seq;
    s->desc = p->b_desc;
    s->op = *op;
    s->valid = true;
    return s->x;
}

/* ---- watching registers --------------------------------------------------------------------- */

struct warp_watch {
    /* One bit for each 32 bytes of the frame. d: they belong to an accumulator. a: they belong to a
     * register that holds A. */
    uint64_t *d, *a;
    uint32_t granules;
};

static void watch_free(struct warp *w)
{
    if (!w->watch)
        return;
    free(w->watch->d);
    free(w->watch->a);
    free(w->watch);
    w->watch = NULL;
}

static inline bool watched(const uint64_t *bits, uint32_t granules, uint32_t code)
{
    uint32_t g = code >> 5;
    return code < OPND_CONST && g < granules && (bits[g / 64] >> g % 64 & 1);
}

static void watch_add(struct warp *w, const struct wg_pending *p)
{
    const struct insn *in = p->pc;
    const struct wg_insn *g = in->aux;
    uint32_t granules = w->frame->func->frame_bytes / 32 + 1;
    if (!w->watch) {
        w->watch = xcalloc(1, sizeof *w->watch);
        w->watch->granules = granules;
        w->watch->d = xcalloc(granules / 64 + 1, 8);
        w->watch->a = xcalloc(granules / 64 + 1, 8);
    }
    for (unsigned i = 0; i < in->nv; i++) {
        uint64_t *bits = i < g->nd ? w->watch->d : w->watch->a;
        uint32_t at = (in->v[i] & OPND_OFF) >> 5;
        if (at < w->watch->granules)
            bits[at / 64] |= 1ull << at % 64;
    }
}

static void complete_early(struct warp *w);

static bool writes_v(const struct insn *in)
{
    return in->kind == CK_LD_GLOBAL || in->kind == CK_LD_SHARED || in->kind == CK_LD_LOCAL ||
           in->kind == CK_LD_CONST;
}

void async_touch(struct warp *w, const struct insn *in)
{
    const struct warp_watch *t = w->watch;
    if (in->flags & INSN_PIN)
        return; /* wgmma itself */
    bool acc = false, frag = watched(t->a, t->granules, in->o[0]);
    for (int i = 0; i < 5; i++)
        acc |= watched(t->d, t->granules, in->o[i]);
    for (unsigned i = 0; i < in->nv; i++) {
        acc |= watched(t->d, t->granules, in->v[i]);
        frag |= writes_v(in) && watched(t->a, t->granules, in->v[i]);
    }
    if (!acc && !frag)
        return;
    if (in->kind == CK_MOVE && acc) {
        complete_early(w);
        return;
    }
    emu_finding(w, in, -1, FIND_ASYNC, NULL, -1, NULL,
                acc ? "an accumulator of a wgmma in flight is used before wgmma.wait_group"
                    : "a register holding A of a wgmma in flight is overwritten before "
                      "wgmma.wait_group");
}

/* ---- completion ----------------------------------------------------------------------------- */

static uint32_t *reg_of(const struct wg_pending *p, unsigned i)
{
    return (uint32_t *)(void *)(p->frame + (p->pc->v[i] & OPND_OFF));
}

static uint64_t hash_acc(const struct wg_pending *p, unsigned n)
{
    uint64_t h = 1469598103934665603ull;
    for (unsigned r = 0; r < n; r++)
        for (unsigned i = 0; i < WARP; i++)
            h = (h ^ reg_of(p, r)[i]) * 1099511628211ull;
    return h;
}

static void registers(const struct wg_pending *p, uint32_t **out)
{
    for (unsigned i = 0; i < p->pc->nv; i++)
        out[i] = reg_of(p, i);
}

static bool same_acc(const struct wg_pending *a, const struct wg_pending *b)
{
    const struct wg_insn *x = a->pc->aux, *y = b->pc->aux;
    return a->frame == b->frame && x->nd == y->nd && x->op.n == y->op.n && x->op.d == y->op.d &&
           !memcmp(a->pc->v, b->pc->v, x->nd * sizeof *a->pc->v);
}

static void product(struct warp *w, struct wg_pending *p, uint32_t *const *regs, uint32_t *acc)
{
    static _Thread_local uint32_t xa[16 * WGMMA_MAX_K];
    const struct wg_insn *g = p->pc->aux;
    struct block *b = w->block;
    const uint32_t *xb = decoded_b(w, &g->op, p);
    if (g->a_regs)
        wgmma_load_a_regs(&g->op, regs + g->nd, xa);
    else
        wgmma_load_a(&g->op, b->smem, b->smem_bytes, p->a_desc, w->id & 3, xa);
    wgmma_product(&g->op, xa, xb, p->meta, g->sel, p->scale_d, acc);
    for (int i = 0; i < 4; i++) {
        if (p->san[i])
            san_async_end(b, p->san[i]);
        p->san[i] = 0;
    }
}

/* Computes the warp's rows of its n oldest pending products, except those that are done. If several
 * consecutive products have the same accumulator, it stays in `acc` between them. */
static void run_pending(struct warp *w, size_t n)
{
    static _Thread_local uint32_t acc[16 * WGMMA_MAX_N];
    struct warp_async *a = w->async;
    uint32_t *regs[WGMMA_MAX_N / 2 + 4];
    size_t first = 0;
    while (first < n && a->wg.items[first].done)
        first++;
    for (size_t i = first; i < n; i++) {
        struct wg_pending *p = &a->wg.items[i];
        const struct wg_insn *g = p->pc->aux;
        registers(p, regs);
        if (i == first || !same_acc(p - 1, p))
            wgmma_acc_load(&g->op, regs, acc);
        product(w, p, regs, acc);
        p->done = true;
        if (i + 1 < n && same_acc(p, p + 1)) {
            wgmma_acc_round(&g->op, acc);
            continue;
        }
        wgmma_acc_store(&g->op, acc, regs);
        if (emu_sanitizing(w)) {
            a->wg_last = p->pc->v;
            a->wg_last_n = g->nd;
            a->wg_last_hash = hash_acc(p, g->nd);
        }
    }
}

static void watch_again(struct warp *w)
{
    struct warp_async *a = w->async;
    watch_free(w);
    for (size_t i = 0; i < a->wg.n; i++)
        if (!a->wg.items[i].early)
            watch_add(w, &a->wg.items[i]);
}

static void complete_early(struct warp *w)
{
    struct warp_async *a = w->async;
    run_pending(w, a->wg.n);
    for (size_t i = 0; i < a->wg.n; i++)
        a->wg.items[i].early = true;
    watch_free(w);
}

static void drop(struct warp *w, size_t n)
{
    struct warp_async *a = w->async;
    memmove(a->wg.items, a->wg.items + n, (a->wg.n - n) * sizeof *a->wg.items);
    a->wg.n -= n;
    watch_again(w);
}

static size_t pending_before(const struct warp *w, uint32_t end)
{
    size_t n = 0;
    while (w->async && n < w->async->wg.n && w->async->wg.items[n].seq < end)
        n++;
    return n;
}

static struct warp *member(const struct warp *w, unsigned i)
{
    uint32_t id = (w->id & ~3u) + i;
    return id < w->block->nwarps ? &w->block->warps[id] : NULL;
}

/* Computes the warpgroup's pending products with numbers below `end`. Returns false if one of the
 * four warps has not issued all of them yet. */
static bool run_warpgroup(struct warp *w, uint32_t end)
{
    for (unsigned i = 0; i < 4; i++) {
        const struct warp *m = member(w, i);
        if (m && (!m->async || m->async->wg_seq < end))
            return false;
    }
    for (unsigned i = 0; i < 4; i++) {
        struct warp *m = member(w, i);
        if (!m)
            continue;
        run_pending(m, pending_before(m, end));
        san_product_done(w, m->id, m->async->wg_clock[(end - 1) % WG_CLOCKS]);
    }
    return true;
}

void wg_release(struct warp *w)
{
    watch_free(w);
    vec_release(&w->async->wg);
}

void wg_check_exit(struct warp *w)
{
    struct warp_async *a = w->async;
    if (!a->wg.n)
        return;
    const struct wg_pending *p = &a->wg.items[0];
    emu_finding(w, p->pc, -1, FIND_ASYNC, NULL, -1, NULL,
                p->group < a->wg_committed
                    ? "the warp ends without wgmma.wait_group for this product"
                    : "this product is neither committed (wgmma.commit_group) nor waited for");
    for (size_t i = 0; i < a->wg.n; i++)
        for (int k = 0; k < 4; k++)
            if (a->wg.items[i].san[k])
                san_async_end(w->block, a->wg.items[i].san[k]);
    a->wg.n = 0;
    watch_free(w);
}

/* ---- the memory of a descriptor, for the sanitizer ------------------------------------------- */

/* Covers the operand's chunks of 16 bytes by one or two ranges [lo, hi), and returns the number of
 * ranges. The second range begins with a chunk that is more than 1024 bytes away from the first. */
static unsigned ranges(const struct wgmma_desc *d, bool mn, const struct wgmma_span *s,
                       uint32_t lo[2], uint32_t hi[2])
{
    unsigned n = 0;
    for (unsigned l = 0; l < s->lines; l++)
        for (unsigned c = 0; c < s->chunks; c++) {
            uint32_t at = wgmma_chunk(d, mn, s->line0 + l, s->chunk0 + c);
            unsigned r = 0;
            while (r < n && (at + 1024 < lo[r] || at > hi[r] + 1024))
                r++;
            if (r == n && n < 2) {
                lo[n] = at;
                hi[n] = at + 16;
                n++;
                continue;
            }
            r = MIN(r, n - 1);
            lo[r] = MIN(lo[r], at);
            hi[r] = MAX(hi[r], at + 16);
        }
    return n;
}

/* Returns a shared address that is not below the operand's end. Swizzling moves a chunk only inside
 * its aligned 128 bytes. */
static uint32_t upper_bound(struct wgmma_desc d, bool mn, const struct wgmma_span *s)
{
    uint8_t keep = d.swizzle;
    uint32_t unit = 1u << keep;
    uint32_t line = s->line0 + s->lines - 1, chunk = s->chunk0 + s->chunks - 1, hi;
    if (keep == 0)
        hi = 112 + line / 8 * (mn ? d.lbo : d.sbo) + chunk * (mn ? d.sbo : d.lbo);
    else
        hi = 7 * unit * 16 + line / 8 * d.sbo + (unit - 1) * 16 + chunk / unit * d.lbo;
    return ((d.start + hi) | 127) + 1;
}

/* Checks that the operand is written, and that the writes are ordered before this read. Checks two
 * chunks at once if both are in the same aligned 32 bytes. */
static int check_bytes(struct warp *w, const struct insn *in, const struct wgmma_desc *d, bool mn,
                       const struct wgmma_span *s)
{
    bool pairs = !mn && s->chunks == 2 && d->swizzle && d->start % 32 == 0;
    for (unsigned l = 0; l < s->lines; l++)
        for (unsigned c = 0; c < (pairs ? 1 : s->chunks); c++) {
            uint32_t at = wgmma_chunk(d, mn, s->line0 + l, s->chunk0 + c);
            if (!smem_at(w, in, l & 31, pairs ? at & ~31u : at, pairs ? 32 : 16,
                         MEM_READ | MEM_ASYNC))
                return EX_FAULT;
        }
    return EX_NEXT;
}

static int check_operand(struct warp *w, const struct insn *in, uint64_t bits, bool mn,
                         const struct wgmma_span *s, bool is_a, uint32_t *san)
{
    struct wgmma_desc d = wgmma_desc(bits);
    uint32_t lo[2], hi[2], size = w->block->smem_bytes;
    bool sanitize = emu_sanitizing(w);
    if (upper_bound(d, mn, s) <= size && !sanitize)
        return EX_NEXT;
    unsigned n = ranges(&d, mn, s, lo, hi);
    for (unsigned i = 0; i < n; i++) {
        if (hi[i] > size)
            return emu_fault(w, in, -1, RESULT_FAULT, FIND_OOB,
                             "wgmma: matrix %c reaches shared address 0x%x, beyond the block's %u "
                             "bytes (descriptor 0x%llx)",
                             is_a ? 'A' : 'B', hi[i], size, (unsigned long long)bits);
        if (!sanitize)
            continue;
        san_proxy_check(w, in, w->block, lo[i], hi[i] - lo[i],
                        is_a ? "wgmma (matrix A)" : "wgmma (matrix B)");
        san[i] = san_async_begin(w, in, (uint32_t)__builtin_ctz(w->active), w->block, lo[i],
                                 hi[i] - lo[i], false, "wgmma");
    }
    if (!sanitize || (!is_a && (w->id & 3))) /* one of the four warps checks B */
        return EX_NEXT;
    return check_bytes(w, in, &d, mn, s);
}

/* ---- instructions --------------------------------------------------------------------------- */

/* A product needs a wgmma.fence, unless it uses the unchanged accumulators of the last product and
 * A is not in registers. While the last product is in flight, async_touch() watches its registers
 * instead. After an early completion, we assume that the code did not write A. */
static void check_fence(struct warp *w, const struct insn *in, const struct wg_pending *p)
{
    struct warp_async *a = w->async;
    const struct wg_insn *g = in->aux;
    if (a->wg_fenced || !emu_sanitizing(w) || (a->wg.n > 1 && !p[-1].early))
        return;
    bool follows = a->wg.n > 1; /* no wait since the last product */
    bool same = a->wg_ever && a->wg_last && a->wg_last_n == g->nd &&
                !memcmp(a->wg_last, in->v, g->nd * sizeof *in->v) && (!g->a_regs || follows) &&
                hash_acc(p, g->nd) == a->wg_last_hash;
    if (!same)
        emu_finding(w, in, -1, FIND_ASYNC, NULL, -1, NULL,
                    "no wgmma.fence between the last use of this product's registers and the "
                    "product");
}

static int exec_wgmma(struct warp *w, const struct insn *in)
{
    const struct wg_insn *g = in->aux;
    struct warp_async *a = warp_async(w);
    uint32_t lane = (uint32_t)__builtin_ctz(w->active);
    struct wg_pending *p = vec_push(&a->wg);
    p->pc = in;
    p->frame = w->base[0];
    p->group = a->wg_committed;
    p->seq = a->wg_seq++;
    p->b_desc = ((const uint64_t *)opnd(w, g->b_desc))[lane];
    p->a_desc = g->a_regs ? 0 : ((const uint64_t *)opnd(w, g->a_desc))[lane];
    p->scale_d =
        !g->has_scale_d ? g->scale_const : (opnd_pred(w, g->scale_d) >> lane & 1) != g->scale_neg;
    if (g->op.sparse)
        memcpy(p->meta, opnd(w, g->meta), sizeof p->meta);
    check_fence(w, in, p);
    a->wg_ever = true;
    struct wgmma_span sb = wgmma_span_b(&g->op), sa = wgmma_span_a(&g->op, w->id & 3);
    int rc = check_operand(w, in, p->b_desc, g->op.b_mn, &sb, false, p->san + 2);
    if (rc == EX_NEXT && !g->a_regs)
        rc = check_operand(w, in, p->a_desc, g->op.a_mn, &sa, true, p->san);
    if (rc != EX_NEXT)
        return rc;
    a->wg_clock[p->seq % WG_CLOCKS] = san_product(w);
    if (w->frame->depth > 0 || async_eager(w))
        complete_early(w);
    else
        watch_add(w, p);
    return EX_NEXT;
}

static int exec_fence(struct warp *w, const struct insn *in)
{
    (void)in;
    warp_async(w)->wg_fenced = true;
    return EX_NEXT;
}

static int exec_commit(struct warp *w, const struct insn *in)
{
    (void)in;
    struct warp_async *a = warp_async(w);
    a->wg_committed++;
    a->wg_fenced = false;
    return EX_NEXT;
}

static int exec_wait(struct warp *w, const struct insn *in)
{
    struct warp_async *a = w->async;
    size_t n = 0;
    while (a && n < a->wg.n && a->wg.items[n].group + (uint32_t)in->imm < a->wg_committed)
        n++;
    if (!n)
        return EX_NEXT;
    if (!run_warpgroup(w, a->wg.items[n - 1].seq + 1))
        return EX_WAIT;
    drop(w, n);
    return EX_NEXT;
}

/* ---- decoding ------------------------------------------------------------------------------- */

static int imm_of(struct decoder *d, const struct ptx_insn *p, uint32_t i, int64_t *out)
{
    if (i >= p->nops || p->ops[i].kind != PO_IMM)
        return dec_bad(d, p, "operand %u must be a constant", i);
    *out = p->ops[i].imm;
    return 0;
}

/* The operands are scale-d, imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b. Integers have only
 * scale-d, and only 16-bit floats have imm-trans. A in registers has no imm-trans-a. */
static int decode_scales(struct decoder *d, const struct ptx_insn *p, uint32_t i, struct wg_insn *g)
{
    int64_t v = 0;
    bool is_float = !tc_is_int(g->op.a), half = g->op.a == TC_F16 || g->op.a == TC_BF16;
    if (i >= p->nops)
        return dec_bad(d, p, "scale-d is missing");
    if (p->ops[i].kind == PO_IMM) {
        g->scale_const = p->ops[i].imm != 0;
    } else {
        g->has_scale_d = true;
        if (dec_pred(d, p, &p->ops[i], &g->scale_d, &g->scale_neg) < 0)
            return -1;
    }
    i++;
    if (is_float) {
        if (imm_of(d, p, i++, &v) < 0)
            return -1;
        g->op.a_neg = v < 0;
        if (imm_of(d, p, i++, &v) < 0)
            return -1;
        g->op.b_neg = v < 0;
    }
    if (half && !g->a_regs) {
        if (imm_of(d, p, i++, &v) < 0)
            return -1;
        g->op.a_mn = v != 0;
    }
    if (half) {
        if (imm_of(d, p, i++, &v) < 0)
            return -1;
        g->op.b_mn = v != 0;
    }
    if (i != p->nops)
        return dec_bad(d, p, "%u operands are too many", p->nops);
    return 0;
}

static int decode_mma_async(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    char text[256];
    ptx_opcode(p, text, sizeof text);
    struct wg_insn *g = dec_alloc(d, sizeof *g);
    if (wgmma_decode(&g->op, text, NULL) < 0)
        return dec_unsupported(d, p);
    if (p->nops < 4)
        return dec_bad(d, p, "too few operands");
    uint32_t codes[WGMMA_MAX_N / 2 + 4], n = 0, na = 0, i = 1;
    if (dec_vec(d, p, &p->ops[0], 32, true, codes, WGMMA_MAX_N / 2, &n) < 0)
        return -1;
    if (n != wgmma_d_regs(&g->op))
        return dec_bad(d, p, "the accumulator has %u registers, not %u", n, wgmma_d_regs(&g->op));
    g->nd = (uint16_t)n;
    g->a_regs = p->ops[1].kind == PO_VEC;
    if (g->a_regs) {
        if (dec_vec(d, p, &p->ops[i++], 32, false, codes + n, 4, &na) < 0)
            return -1;
        if (na != 4)
            return dec_bad(d, p, "A has %u registers, not 4", na);
    } else if (dec_src(d, p, &p->ops[i++], PT_B64, &g->a_desc) < 0) {
        return -1;
    }
    if (dec_src(d, p, &p->ops[i++], PT_B64, &g->b_desc) < 0)
        return -1;
    if (g->op.sparse) {
        int64_t sel = 0;
        if (i + 1 >= p->nops || dec_src(d, p, &p->ops[i], PT_B32, &g->meta) < 0 ||
            imm_of(d, p, i + 1, &sel) < 0)
            return -1;
        if (sel < 0 || sel > 1)
            return dec_bad(d, p, "the sparsity selector must be 0 or 1");
        g->sel = (uint32_t)sel;
        i += 2;
    }
    if (decode_scales(d, p, i, g) < 0)
        return -1;
    dec_set_v(d, in, codes, n + na);
    in->aux = g;
    in->exec = exec_wgmma;
    in->flags |= INSN_ALIGNED | INSN_PIN;
    in->kind = CK_TENSOR;
    in->tensor_ops = 2u * 16 * g->op.n * g->op.k; /* a quarter of the product */
    return 0;
}

int decode_wgmma(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    const char *what = p->nmods ? p->mods[0] : "";
    in->flags |= INSN_ALIGNED;
    if (strcmp(what, "mma_async") == 0)
        return decode_mma_async(d, p, in);
    in->kind = CK_FENCE;
    if (strcmp(what, "fence") == 0) {
        in->exec = exec_fence;
        return 0;
    }
    if (strcmp(what, "commit_group") == 0) {
        in->exec = exec_commit;
        return 0;
    }
    if (strcmp(what, "wait_group") == 0) {
        if (imm_of(d, p, 0, &in->imm) < 0)
            return -1;
        in->exec = exec_wait;
        return 0;
    }
    return dec_unsupported(d, p);
}
