/* async.c - starts, moves and completes operations in flight (async.h). */
#include "emu/async/async.h"
#include "emu/async/tma_swizzle.h"

#include <stdlib.h>
#include <string.h>

#include "emu/core/machine.h"

const struct decode_entry decode_async_ops[] = {
    {"cp", decode_cp_async},
    {"cp", decode_cp_bulk},
    {"mbarrier", decode_mbarrier},
    {"mapa", decode_cluster},
    {"getctarank", decode_cluster},
    {"st", decode_st_async},
    {"red", decode_st_async},
    {"fence", decode_proxy_fence},
    {"tensormap", decode_tensormap},
    {"prefetch", decode_tensormap},
    {NULL, NULL},
};

enum ptx_space async_space(const struct ptx_insn *p)
{
    for (uint8_t i = 0; i < p->nmods; i++) {
        const char *s = p->mods[i];
        if (strcmp(s, "shared") == 0 || strcmp(s, "shared::cta") == 0)
            return SP_SHARED;
        if (strcmp(s, "shared::cluster") == 0)
            return SP_SHARED_CLUSTER;
        if (strcmp(s, "global") == 0)
            return SP_GLOBAL;
    }
    return SP_GENERIC;
}

/* ---- state ---------------------------------------------------------------------------------- */

struct warp_async *warp_async(struct warp *w)
{
    if (!w->async) {
        w->async = xcalloc(1, sizeof *w->async);
        w->async->bulk_tail = &w->async->bulk;
    }
    return w->async;
}

struct block_async *block_async(struct block *b)
{
    if (!b->async) {
        b->async = xcalloc(1, sizeof *b->async);
        b->async->tail = &b->async->ops;
    }
    return b->async;
}

bool async_eager(struct warp *w)
{
    if (emu_sanitizing(w) || !w->launch->seed)
        return false;
    struct warp_async *a = warp_async(w);
    if (!a->rng)
        a->rng = (uint32_t)(w->launch->seed * 2654435761u) ^ w->block->linear * 40503u ^ w->id;
    a->rng = a->rng * 1664525u + 1013904223u;
    return (a->rng >> 28) < 4;
}

struct async_op *async_new(struct warp *w, const struct insn *pc, uint32_t lane, enum async_kind k,
                           const char *what)
{
    struct async_op *op = xcalloc(1, sizeof *op);
    op->kind = k;
    op->w = w;
    op->pc = pc;
    op->lane = lane;
    op->what = what;
    return op;
}

struct async_run *async_add_run(struct async_op *op)
{
    if (op->nruns == op->runs_cap) {
        op->runs_cap = op->runs_cap ? op->runs_cap * 2 : 8;
        op->runs = xrealloc(op->runs, op->runs_cap * sizeof *op->runs);
    }
    return &op->runs[op->nruns++];
}

void async_free(struct async_op *op)
{
    free(op->runs);
    free(op->staged);
    free(op);
}

/* ---- moving the bytes ----------------------------------------------------------------------- */

/* `left` bytes of a run begin at offset `off` of the box. Returns how many of them swizzling keeps
 * contiguous, and sets *at to the shared address of the first. */
static inline uint32_t contiguous_bytes(const struct async_op *op, uint32_t off, uint32_t left,
                                        uint32_t *at)
{
    uint32_t addr = op->base + off;
    if (!op->map.swizzle) {
        *at = addr;
        return left;
    }
    *at = tensormap_swizzle(&op->map, addr);
    return MIN(left, 16 - addr % 16);
}

static void fill_shared(struct async_op *op)
{
    uint8_t *smem = op->block->smem;
    for (uint32_t r = 0; r < op->nruns; r++) {
        const struct async_run *run = &op->runs[r];
        for (uint32_t i = 0; i < run->bytes;) {
            uint32_t at, n = contiguous_bytes(op, run->off + i, run->bytes - i, &at);
            if (at + n > op->block->smem_bytes)
                return; /* reported when the copy was issued */
            if (!run->outside)
                tensormap_fill(&op->map, smem + at, n);
            else if (op->red)
                async_reduce(op->red, op->red_type, smem + at, run->outside + i, n);
            else
                memcpy(smem + at, run->outside + i, n);
            i += n;
        }
    }
}

/* Copies the box of a store to op->staged, run after run. */
static void stage(struct async_op *op)
{
    if (op->staged)
        return;
    uint32_t total = 0, pos = 0;
    for (uint32_t r = 0; r < op->nruns; r++)
        total += op->runs[r].bytes;
    op->staged = xmalloc(total + 1);
    for (uint32_t r = 0; r < op->nruns; r++) {
        const struct async_run *run = &op->runs[r];
        for (uint32_t i = 0; i < run->bytes;) {
            uint32_t at, n = contiguous_bytes(op, run->off + i, run->bytes - i, &at);
            if (at + n <= op->block->smem_bytes)
                memcpy(op->staged + pos, op->block->smem + at, n);
            pos += n;
            i += n;
        }
    }
    san_async_end(op->block, op->san);
}

static void finish_store(struct async_op *op)
{
    stage(op);
    uint32_t pos = 0;
    for (uint32_t r = 0; r < op->nruns; r++) {
        const struct async_run *run = &op->runs[r];
        if (run->outside && op->red)
            async_reduce(op->red, op->red_type, run->outside, op->staged + pos, run->bytes);
        else if (run->outside)
            memcpy(run->outside, op->staged + pos, run->bytes);
        pos += run->bytes;
    }
}

/* ---- completion ----------------------------------------------------------------------------- */

int mbar_apply(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b, uint32_t off,
               enum mbar_fn fn, int32_t n)
{
    struct mbar m;
    uint64_t *word = mbar_word(b, off);
    if (!mbar_unpack(&m, *word))
        return emu_fault(w, pc, (int)lane, RESULT_FAULT, FIND_UNINIT,
                         "the mbarrier at shared address 0x%x is not initialised", off);
    enum mbar_rc rc = fn == MBAR_FN_EXPECT     ? mbar_expect_tx(&m, n)
                      : fn == MBAR_FN_COMPLETE ? mbar_complete_tx(&m, n)
                                               : mbar_arrive(&m, (uint32_t)n, fn == MBAR_FN_DROP);
    if (rc == MBAR_UNDERFLOW)
        emu_finding(w, pc, (int)lane, FIND_BARRIER, "shared", off, NULL,
                    "%d more arrivals at the mbarrier than the %u that its phase expects",
                    n - (int)m.pending, m.expected);
    else if (rc == MBAR_TX_RANGE)
        emu_finding(w, pc, (int)lane, FIND_BARRIER, "shared", off, NULL,
                    "the mbarrier's transaction count is %d; a change by %d takes it out of range",
                    m.tx, n);
    *word = mbar_pack(&m);
    return EX_NEXT;
}

static void finish_load(struct async_op *op)
{
    const void *key = mbar_word(op->mbar_block, op->mbar_off);
    san_async_end(op->block, op->san);
    if (op->src_block)
        san_async_end(op->src_block, op->san_src);
    fill_shared(op);
    san_async_written(op->block, op->base, op->span, key);
    mbar_apply(op->w, op->pc, op->lane, op->mbar_block, op->mbar_off, MBAR_FN_COMPLETE, op->tx);
}

static void finish_cp_arrive(struct async_op *op)
{
    struct warp *w = op->w;
    uint32_t active = w->active, bit = 1u << op->lane;
    cp_complete(w, bit, op->cp_seq, true, 0);
    w->active = bit;
    san_release(w, mbar_word(op->mbar_block, op->mbar_off));
    mbar_apply(w, op->pc, op->lane, op->mbar_block, op->mbar_off, MBAR_FN_ARRIVE, 1);
    w->active = active;
}

static void finish(struct async_op *op)
{
    if (op->kind == ASYNC_LOAD)
        finish_load(op);
    else if (op->kind == ASYNC_STORE)
        finish_store(op);
    else
        finish_cp_arrive(op);
    async_free(op);
}

void async_start(struct async_op *op)
{
    if (op->kind != ASYNC_STORE && async_eager(op->w)) {
        finish(op);
        return;
    }
    if (op->kind == ASYNC_STORE) {
        struct warp_async *a = warp_async(op->w);
        op->group = a->bulk_committed[op->lane];
        *a->bulk_tail = op;
        a->bulk_tail = &op->next;
        return;
    }
    struct block_async *a = block_async(op->mbar_block);
    *a->tail = op;
    a->tail = &op->next;
}

static struct async_op *unlink_op(struct async_op **link, struct async_op ***tail)
{
    struct async_op *op = *link;
    *link = op->next;
    if (*tail == &op->next)
        *tail = link;
    op->next = NULL;
    return op;
}

int async_settle(struct block *b, uint32_t mbar_off)
{
    struct block_async *a = b->async;
    if (!a)
        return 0;
    int done = 0;
    struct mbar before, now;
    mbar_unpack(&before, *mbar_word(b, mbar_off));
    for (struct async_op **link = &a->ops; *link;) {
        if ((*link)->mbar_off != mbar_off) {
            link = &(*link)->next;
            continue;
        }
        finish(unlink_op(link, &a->tail));
        done++;
        mbar_unpack(&now, *mbar_word(b, mbar_off));
        if (now.phase != before.phase)
            break;
    }
    return done;
}

void async_bulk_wait(struct warp *w, uint32_t keep, bool read_only)
{
    struct warp_async *a = w->async;
    if (!a)
        return;
    for (struct async_op **link = &a->bulk; *link;) {
        struct async_op *op = *link;
        bool mine = w->active >> op->lane & 1;
        if (!mine || op->group + keep >= a->bulk_committed[op->lane]) {
            link = &op->next;
            continue;
        }
        if (read_only) {
            stage(op);
            link = &op->next;
        } else {
            finish(unlink_op(link, &a->bulk_tail));
        }
    }
}

/* ---- hooks of the core ---------------------------------------------------------------------- */

void async_block_begin(struct block *b)
{
    b->async = NULL;
}

static void end_stores(struct warp *w)
{
    struct warp_async *a = w->async;
    while (a->bulk) {
        struct async_op *op = unlink_op(&a->bulk, &a->bulk_tail);
        if (!op->staged)
            emu_finding(w, op->pc, (int)op->lane, FIND_ASYNC, "shared", op->base, NULL,
                        "%s still reads shared memory when the block ends: no "
                        "cp.async.bulk.wait_group waited for it",
                        op->what);
        finish(op);
    }
}

static void release_warp(struct warp *w)
{
    if (!w->async)
        return;
    end_stores(w);
    vec_release(&w->async->cp);
    wg_release(w);
    free(w->async);
    w->async = NULL;
}

void async_block_end(struct block *b)
{
    for (uint32_t i = 0; i < b->nwarps; i++)
        release_warp(&b->warps[i]);
    struct block_async *a = b->async;
    if (!a)
        return;
    while (a->ops) {
        struct async_op *op = unlink_op(&a->ops, &a->tail);
        if (op->kind == ASYNC_LOAD)
            emu_finding(op->w, op->pc, (int)op->lane, FIND_ASYNC, "shared", op->base, NULL,
                        "%s is still in flight when the block to which it writes ends", op->what);
        async_free(op);
    }
    wg_cache_free(a->wg_cache);
    free(a);
    b->async = NULL;
}

void async_warp_exit(struct warp *w)
{
    if (w->async)
        wg_check_exit(w);
}

int async_idle(struct cluster *c)
{
    int done = 0;
    for (uint32_t i = 0; i < c->nblocks; i++) {
        struct block_async *a = c->blocks[i].async;
        if (a && a->ops) {
            finish(unlink_op(&a->ops, &a->tail));
            done++;
        }
    }
    return done;
}

enum result_status emu_tensormap(const struct job_tensormap *t, uint64_t addr, uint8_t out[128],
                                 struct err *err)
{
    struct tensormap m;
    if (tensormap_encode(&m, t, addr, err) < 0)
        return RESULT_PLAN;
    memcpy(out, &m, sizeof m);
    return RESULT_OK;
}
