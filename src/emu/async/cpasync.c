/*
 * cpasync.c - executes cp.async: copies of 4, 8 or 16 bytes per thread, from global to shared
 * memory.
 *
 * Each thread has its own sequence of groups. A record (struct cp_rec) holds the copies of one warp
 * instruction, and the group of each lane's copy. We do a copy when the issuing thread waits for
 * the copy's group, or when any thread waits for an mbarrier at which the issuing thread arrived
 * (cp.async.mbarrier.arrive). For the sanitizer the write is an access of the issuing thread.
 */
#include <string.h>

#include "emu/async/async.h"
#include "emu/core/mem.h"

/* The members of struct insn for a copy:
 *   - o[0] and imm are the base and the offset of the destination address;
 *   - o[1] and *aux are the base and the offset of the source address;
 *   - o[2] is the src-size operand or the ignore predicate; sub[1] says which (EXTRA_...);
 *   - sub[0] is the number of bytes to copy;
 *   - sub[2] and sub[3] are the widths of the destination and source addresses in bytes. */
enum { EXTRA_NONE, EXTRA_SIZE, EXTRA_IGNORE, EXTRA_IGNORE_NEG };

static uint32_t source_bytes(struct warp *w, const struct insn *in, uint32_t lane)
{
    uint32_t size = in->sub[0];
    if (in->sub[1] == EXTRA_SIZE)
        return MIN(((const uint32_t *)opnd(w, in->o[2]))[lane], size);
    if (in->sub[1] == EXTRA_NONE)
        return size;
    bool ignore = opnd_pred(w, in->o[2]) >> lane & 1;
    return ignore != (in->sub[1] == EXTRA_IGNORE_NEG) ? 0 : size;
}

static int exec_cp(struct warp *w, const struct insn *in)
{
    struct warp_async *a = warp_async(w);
    uint32_t size = in->sub[0];
    bool san = emu_sanitizing(w);
    struct cp_rec *rec = vec_push(&a->cp);
    rec->pc = in;
    rec->size = size;
    rec->seq = a->cp_seq++;
    rec->mask = w->active;
    uint64_t from[WARP] = {0};
    uint32_t reading = 0, all = w->active;
    FOR_LANES(i, w)
    {
        rec->dst[i] = (uint32_t)addr_of(w, in->o[0], in->sub[2] * 8u, i, in->imm);
        uint64_t src = addr_of(w, in->o[1], in->sub[3] * 8u, i, *(const int64_t *)in->aux);
        uint32_t n = source_bytes(w, in, i), off = 0;
        rec->group[i] = a->cp_committed[i];
        rec->src_bytes[i] = (uint8_t)n;
        rec->src[i] = NULL;
        from[i] = src;
        if (n) {
            reading |= 1u << i;
            bool whole = n == size;
            if (src & (size - 1))
                return emu_fault(w, in, (int)i, RESULT_FAULT, FIND_MISALIGNED,
                                 "cp.async of %u bytes from the misaligned address 0x%llx", size,
                                 (unsigned long long)src);
            rec->src[i] = mem_at(w, in, i, SP_GLOBAL, src, n, MEM_READ | (whole ? 0 : MEM_NOALIGN));
            if (!rec->src[i])
                return EX_FAULT;
        }
        if (!smem_at(w, in, i, rec->dst[i], size, MEM_ASYNC))
            return EX_FAULT;
        struct block *b = san ? smem_block(w, rec->dst[i], &off) : NULL;
        rec->san[i] = b ? san_async_begin(w, in, i, b, off, size, true, "cp.async") : 0;
    }
    if (w->counts && reading) {
        w->active = reading;
        count_access(w, in, SP_GLOBAL, from, size, MEM_READ);
        w->active = all;
    }
    if (async_eager(w))
        cp_complete(w, w->active, rec->seq + 1, true, 0);
    return EX_NEXT;
}

static void complete_lane(struct warp *w, struct cp_rec *r, uint32_t lane)
{
    uint32_t off = 0;
    struct block *b = smem_block(w, r->dst[lane], &off);
    if (r->san[lane])
        san_async_end(b, r->san[lane]);
    uint8_t *dst = smem_at(w, r->pc, lane, r->dst[lane], r->size, MEM_WRITE);
    if (!dst)
        return;
    if (r->src_bytes[lane])
        memcpy(dst, r->src[lane], r->src_bytes[lane]);
    memset(dst + r->src_bytes[lane], 0, r->size - r->src_bytes[lane]);
}

void cp_complete(struct warp *w, uint32_t mask, uint32_t limit, bool all, uint32_t keep)
{
    struct warp_async *a = w->async;
    if (!a)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < a->cp.n; i++) {
        struct cp_rec *r = &a->cp.items[i];
        uint32_t lanes = (int32_t)(limit - r->seq) > 0 ? r->mask & mask : 0;
        for (uint32_t m = lanes; m; m &= m - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(m);
            if (!all && r->group[lane] + keep >= a->cp_committed[lane])
                continue;
            complete_lane(w, r, lane);
            r->mask &= ~(1u << lane);
        }
        if (!r->mask)
            continue;
        if (kept != i)
            a->cp.items[kept] = *r;
        kept++;
    }
    a->cp.n = kept;
}

static int exec_cp_commit(struct warp *w, const struct insn *in)
{
    (void)in;
    struct warp_async *a = warp_async(w);
    FOR_LANES(i, w)
    a->cp_committed[i]++;
    return EX_NEXT;
}

static int exec_cp_wait(struct warp *w, const struct insn *in)
{
    if (w->async)
        cp_complete(w, w->active, w->async->cp_seq, in->sub[0], (uint32_t)in->imm);
    return EX_NEXT;
}

/* Executes cp.async.mbarrier.arrive. The arrival happens when the copies that the thread has issued
 * so far are complete. Without .noinc, the phase also expects one more arrival. */
static int exec_cp_arrive(struct warp *w, const struct insn *in)
{
    struct warp_async *a = warp_async(w);
    FOR_LANES(i, w)
    {
        uint64_t addr = addr_of(w, in->o[0], in->sub[2] * 8u, i, in->imm);
        uint32_t access = MEM_READ | MEM_WRITE | MEM_ATOMIC | MEM_STRONG, off;
        if (!mem_at(w, in, i, (enum ptx_space)in->sub[1], addr, 8, access))
            return EX_FAULT;
        struct block *b = smem_block(w, (uint32_t)addr, &off);
        struct mbar m;
        if (!b || !mbar_unpack(&m, *mbar_word(b, off)))
            return emu_fault(w, in, (int)i, RESULT_FAULT, FIND_UNINIT,
                             "cp.async.mbarrier.arrive at an address that holds no mbarrier");
        if (!in->sub[0]) {
            m.pending = MIN(m.pending + 1, MBAR_MAX_COUNT);
            *mbar_word(b, off) = mbar_pack(&m);
        }
        struct async_op *op = async_new(w, in, i, ASYNC_CP_ARRIVE, "cp.async.mbarrier.arrive");
        op->block = op->mbar_block = b;
        op->mbar_off = off;
        op->cp_seq = a->cp_seq;
        async_start(op);
    }
    return EX_NEXT;
}

static int decode_copy(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    uint32_t bits;
    int64_t *src_off = dec_alloc(d, sizeof *src_off);
    if (p->nops < 3 || p->nops > 5 || p->ops[2].kind != PO_IMM)
        return dec_bad(d, p, "expected [dst], [src], size");
    int64_t size = p->ops[2].imm;
    if (size != 4 && size != 8 && size != 16)
        return dec_bad(d, p, "size must be 4, 8 or 16");
    if (ptx_has(p, "cg") && size != 16)
        return dec_bad(d, p, "cp.async.cg copies 16 bytes");
    if (dec_addr(d, p, &p->ops[0], SP_SHARED, &in->o[0], &bits, &in->imm) < 0)
        return -1;
    in->sub[2] = (uint8_t)(bits / 8);
    if (dec_addr(d, p, &p->ops[1], SP_GLOBAL, &in->o[1], &bits, src_off) < 0)
        return -1;
    in->sub[3] = (uint8_t)(bits / 8);
    in->sub[0] = (uint8_t)size;
    in->aux = src_off;
    bool hint = ptx_has(p, "L2::cache_hint");
    if (p->nops > (hint ? 4 : 3)) {
        bool neg = false;
        if (dec_reg_bits(&p->ops[3]) == 1) {
            if (dec_pred(d, p, &p->ops[3], &in->o[2], &neg) < 0)
                return -1;
            in->sub[1] = neg ? EXTRA_IGNORE_NEG : EXTRA_IGNORE;
        } else {
            if (dec_src(d, p, &p->ops[3], PT_U32, &in->o[2]) < 0)
                return -1;
            in->sub[1] = EXTRA_SIZE;
        }
    }
    in->exec = exec_cp;
    in->kind = CK_ASYNC_COPY;
    return 0;
}

static int decode_arrive(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    uint32_t bits;
    enum ptx_space sp = async_space(p);
    if (p->nops != 1 || sp == SP_GLOBAL)
        return dec_bad(d, p, "expected the address of an mbarrier");
    if (dec_addr(d, p, &p->ops[0], sp, &in->o[0], &bits, &in->imm) < 0)
        return -1;
    in->sub[0] = ptx_has(p, "noinc");
    in->sub[1] = (uint8_t)sp;
    in->sub[2] = (uint8_t)(bits / 8);
    in->exec = exec_cp_arrive;
    in->kind = CK_BARRIER;
    return 0;
}

int decode_cp_async(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    if (!p->nmods || strcmp(p->mods[0], "async") != 0 || ptx_has(p, "bulk"))
        return 1;
    if (ptx_has(p, "mbarrier"))
        return decode_arrive(d, p, in);
    in->kind = CK_ASYNC_COPY;
    if (ptx_has(p, "commit_group")) {
        in->exec = exec_cp_commit;
        return 0;
    }
    if (ptx_has(p, "wait_all") || ptx_has(p, "wait_group")) {
        in->sub[0] = ptx_has(p, "wait_all");
        if (!in->sub[0] && (p->nops != 1 || p->ops[0].kind != PO_IMM || p->ops[0].imm < 0))
            return dec_bad(d, p, "expected a constant number of groups");
        in->imm = in->sub[0] ? 0 : p->ops[0].imm;
        in->exec = exec_cp_wait;
        return 0;
    }
    return decode_copy(d, p, in);
}
