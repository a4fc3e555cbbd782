/*
 * bulk.c - decodes and issues cp.async.bulk, cp.async.bulk.tensor and cp.reduce.async.bulk.
 *
 * A copy's addresses are resolved and checked when a thread issues it, so that faults and findings
 * name that thread. The result is a list of runs (async.h) that async.c moves later.
 */
#include <string.h>

#include "emu/async/async.h"
#include "emu/async/tma_swizzle.h"
#include "emu/core/machine.h"

/* An address operand: the operand code (core.h) of its register, the register's width in bits, and
 * the offset to add. */
struct place {
    uint32_t base, bits;
    int64_t off;
};

struct bulk_insn {
    enum ptx_space dst_space, src_space;
    struct place dst, src, mbar, map;
    /* The members from here to `mask` are operand codes. */
    uint32_t size;
    uint32_t coords[5];
    uint32_t offsets[3]; /* for im2col: the filter offsets */
    uint32_t mask;       /* for multicast: a bit for each block of the cluster */
    uint8_t rank, noffsets;
    bool tensor, multicast, im2col;
    enum red_op red;
    enum ptx_type red_type;
    const char *what;
};

static uint64_t place_addr(const struct warp *w, const struct place *p, uint32_t lane)
{
    return addr_of(w, p->base, p->bits, lane, p->off);
}

static int misaligned(struct warp *w, const struct insn *in, uint32_t lane, const char *what,
                      const char *which, uint64_t addr, unsigned align)
{
    return emu_fault(w, in, (int)lane, RESULT_FAULT, FIND_MISALIGNED,
                     "%s: the %s 0x%llx is not a multiple of %u", what, which,
                     (unsigned long long)addr, align);
}

/* Returns the block that owns the n bytes at the shared address `addr`, and sets *off to their
 * offset in its shared memory. Returns NULL after a fault. */
static struct block *shared_range(struct warp *w, const struct insn *in, uint32_t lane,
                                  uint64_t addr, uint32_t n, const char *what, uint32_t *off)
{
    struct block *b = smem_block(w, (uint32_t)addr, off);
    if (b && *off <= b->smem_bytes && b->smem_bytes - *off >= n)
        return b;
    emu_fault(w, in, (int)lane, RESULT_FAULT, FIND_OOB,
              "%s: %u bytes at shared address 0x%llx lie outside shared memory (%u bytes)", what, n,
              (unsigned long long)addr, b ? b->smem_bytes : 0);
    return NULL;
}

/* ---- sources and destinations --------------------------------------------------------------- */

struct walk {
    struct warp *w;
    const struct insn *in;
    struct async_op *op;
    uint32_t access;       /* MEM_ flags (core.h) */
    uint64_t inside_bytes; /* bytes of global memory so far */
};

static int add_inside(struct walk *k, uint32_t off, uint64_t addr, uint32_t bytes)
{
    uint8_t *p = mem_at(k->w, k->in, k->op->lane, SP_GLOBAL, addr, bytes, k->access);
    if (!p)
        return EX_FAULT;
    k->inside_bytes += bytes;
    /* The cost model needs to know which 128-byte lines the launch touches. */
    uint8_t *touched = k->w->counts ? k->w->launch->emu->mem.touched : NULL;
    for (uint64_t a = addr & ~127ull; touched && a < addr + bytes; a += 128)
        touched[(a - GLOBAL_BASE) / 128] = 1;
    struct async_op *op = k->op;
    struct async_run *last = op->nruns ? &op->runs[op->nruns - 1] : NULL;
    if (last && last->outside && last->outside + last->bytes == p && last->off + last->bytes == off)
        last->bytes += bytes;
    else
        *async_add_run(op) = (struct async_run){p, off, bytes};
    return 0;
}

static int on_run(void *ctx, const struct tmap_run *r)
{
    struct walk *k = ctx;
    uint32_t eb = tensormap_elem_bytes(&k->op->map);
    if (!r->inside) {
        if (k->op->kind == ASYNC_LOAD)
            *async_add_run(k->op) = (struct async_run){NULL, r->box_off, r->bytes};
        return 0;
    }
    if (r->step == eb)
        return add_inside(k, r->box_off, r->addr, r->bytes);
    for (uint32_t i = 0; i < r->bytes / eb; i++) {
        int rc = add_inside(k, r->box_off + i * eb, r->addr + (uint64_t)i * r->step, eb);
        if (rc)
            return rc;
    }
    return 0;
}

static int load_map(struct warp *w, const struct insn *in, uint32_t lane, struct tensormap *t)
{
    const struct bulk_insn *b = in->aux;
    uint64_t addr = place_addr(w, &b->map, lane);
    if (addr % 64)
        return misaligned(w, in, lane, b->what, "tensor map's address", addr, 64);
    void *p = mem_at(w, in, lane, SP_GENERIC, addr, 128, MEM_READ | MEM_NOALIGN);
    if (!p)
        return EX_FAULT;
    struct err err = ERR_INIT;
    if (tensormap_load(t, p, &err) < 0)
        return emu_fault(w, in, (int)lane, RESULT_FAULT, FIND_OTHER, "%s: %s", b->what, err.msg);
    if (t->rank != b->rank)
        return emu_fault(w, in, (int)lane, RESULT_FAULT, FIND_OTHER,
                         "%s: the instruction has %u dimensions, the tensor map %u", b->what,
                         b->rank, t->rank);
    if ((t->mode == TMAP_IM2COL) != b->im2col)
        return emu_fault(
            w, in, (int)lane, RESULT_FAULT, FIND_OTHER,
            "%s: either both the instruction and the tensor map must be in im2col mode, or neither",
            b->what);
    return EX_NEXT;
}

/* Faults if the hardware would reject the coordinates as an illegal instruction. */
static int check_coords(struct warp *w, const struct insn *in, const struct async_op *op,
                        const int32_t *c)
{
    const struct bulk_insn *b = in->aux;
    uint32_t eb = tensormap_elem_bytes(&op->map);
    if ((int64_t)c[0] * eb % 16)
        return emu_fault(w, in, (int)op->lane, RESULT_FAULT, FIND_MISALIGNED,
                         "%s: the innermost coordinate %d, in elements of %u bytes, is not a "
                         "multiple of 16 bytes",
                         b->what, c[0], eb);
    for (unsigned i = 1; i + 1 < b->rank && b->im2col; i++) {
        const struct tensormap *t = &op->map;
        int64_t lo = t->lower[i - 1], hi = (int64_t)t->dims[i] + t->upper[i - 1];
        if (c[i] < lo || c[i] > hi)
            return emu_fault(w, in, (int)op->lane, RESULT_FAULT, FIND_OOB,
                             "%s: coordinate %u (%d) is outside the bounding box, %lld to %lld",
                             b->what, i, c[i], (long long)lo, (long long)hi);
    }
    for (unsigned i = 0; i < b->rank && op->kind != ASYNC_LOAD; i++)
        if (c[i] < 0)
            return emu_fault(
                w, in, (int)op->lane, RESULT_FAULT, FIND_OOB,
                "%s: coordinate %d is negative (%d); only loads may have negative coordinates",
                b->what, i, c[i]);
    return EX_NEXT;
}

/* Fills op->runs with the global memory that the operation copies from or to. */
static int find_runs(struct warp *w, const struct insn *in, struct async_op *op)
{
    const struct bulk_insn *b = in->aux;
    bool load = op->kind == ASYNC_LOAD;
    uint32_t lane = op->lane;
    struct walk k = {w, in, op, MEM_ASYNC | MEM_NOALIGN, 0};
    k.access |= load     ? MEM_READ
                : b->red ? MEM_READ | MEM_WRITE | MEM_ATOMIC | MEM_STRONG
                         : MEM_WRITE;
    if (b->tensor) {
        int32_t c[5] = {0};
        uint16_t off[3] = {0};
        for (unsigned i = 0; i < b->rank; i++)
            c[i] = ((const int32_t *)opnd(w, b->coords[i]))[lane];
        for (unsigned i = 0; i < b->noffsets; i++)
            off[i] = ((const uint16_t *)opnd(w, b->offsets[i]))[lane];
        struct tensormap t = op->map;
        if (!load) /* for stores, the hardware rounds a row up to a multiple of 16 bytes */
            t.dims[0] |= 16 / tensormap_elem_bytes(&t) - 1;
        if (check_coords(w, in, op, c) != EX_NEXT || tensormap_walk(&t, c, off, on_run, &k))
            return EX_FAULT;
    } else {
        uint64_t addr = place_addr(w, load ? &b->src : &b->dst, lane);
        if (addr % 16)
            return misaligned(w, in, lane, b->what, "global address", addr, 16);
        if (op->span && add_inside(&k, 0, addr, op->span))
            return EX_FAULT;
    }
    count_bytes(w, in, load ? CB_GLOBAL_LD : CB_GLOBAL_ST, k.inside_bytes);
    count_bytes(w, in, load ? CB_SHARED_ST : CB_SHARED_LD, op->span);
    return EX_NEXT;
}

/* Sets op->span to the operation's bytes in shared memory, and *tx to the bytes that the mbarrier
 * counts. */
static int extent(struct warp *w, const struct insn *in, struct async_op *op, uint32_t *tx)
{
    const struct bulk_insn *b = in->aux;
    if (b->tensor) {
        int rc = load_map(w, in, op->lane, &op->map);
        if (rc != EX_NEXT)
            return rc;
        op->span = tensormap_smem_bytes(&op->map);
        *tx = tensormap_box_bytes(&op->map);
        return EX_NEXT;
    }
    op->span = *tx = ((const uint32_t *)opnd(w, b->size))[op->lane];
    if (op->span % 16)
        return misaligned(w, in, op->lane, b->what, "size", op->span, 16);
    return EX_NEXT;
}

static int finish_issue(struct warp *w, int rc, struct async_op *op)
{
    if (rc != EX_NEXT)
        async_free(op);
    else
        async_start(op);
    return rc;
}

/* ---- loads ---------------------------------------------------------------------------------- */

/* Issues a load for one lane. If `to` is NULL, the load writes to the destination address and
 * reports to the mbarrier's address. Otherwise it is a part of a multicast: it uses the same two
 * offsets in the shared memory of block `to`. */
static int load_into(struct warp *w, const struct insn *in, uint32_t lane, struct block *to)
{
    const struct bulk_insn *b = in->aux;
    struct async_op *op = async_new(w, in, lane, ASYNC_LOAD, b->what);
    uint32_t tx = 0, off = 0, moff = 0;
    uint64_t dst = place_addr(w, &b->dst, lane), mbar = place_addr(w, &b->mbar, lane);
    unsigned align = b->tensor ? 128 : 16;
    int rc = extent(w, in, op, &tx);
    if (rc != EX_NEXT)
        return finish_issue(w, rc, op);
    if ((uint32_t)dst % align)
        return finish_issue(w, misaligned(w, in, lane, b->what, "shared address", dst, align), op);
    struct block *blk = shared_range(w, in, lane, dst, op->span, b->what, &off);
    struct block *mb = blk ? shared_range(w, in, lane, mbar, 8, "mbarrier", &moff) : NULL;
    if (!mb)
        return finish_issue(w, EX_FAULT, op);
    if (moff % 8)
        return finish_issue(w, misaligned(w, in, lane, b->what, "mbarrier address", mbar, 8), op);
    op->block = to ? to : blk;
    op->mbar_block = to ? to : mb;
    op->base = off;
    op->mbar_off = moff;
    op->tx = (int32_t)tx;
    op->red = b->red;
    op->red_type = b->red_type;
    if (b->src_space == SP_SHARED) {
        uint64_t src = place_addr(w, &b->src, lane);
        uint32_t soff;
        if ((uint32_t)src % 16)
            return finish_issue(w, misaligned(w, in, lane, b->what, "source", src, 16), op);
        op->src_block = shared_range(w, in, lane, src, op->span, b->what, &soff);
        if (!op->src_block)
            return finish_issue(w, EX_FAULT, op);
        *async_add_run(op) = (struct async_run){op->src_block->smem + soff, 0, op->span};
        san_proxy_check(w, in, op->src_block, soff, op->span, b->what);
        op->san_src =
            san_async_begin(w, in, op->lane, op->src_block, soff, op->span, false, b->what);
        count_bytes(w, in, CB_DSMEM, op->span);
    } else {
        rc = find_runs(w, in, op);
    }
    if (rc == EX_NEXT)
        op->san = san_async_begin(w, in, op->lane, op->block, op->base, op->span, true, b->what);
    return finish_issue(w, rc, op);
}

static int exec_load(struct warp *w, const struct insn *in)
{
    const struct bulk_insn *b = in->aux;
    FOR_LANES(i, w)
    {
        int rc = EX_NEXT;
        if (!b->multicast) {
            rc = load_into(w, in, i, NULL);
        } else {
            struct cluster *c = w->block->cluster;
            uint32_t mask = ((const uint16_t *)opnd(w, b->mask))[i];
            if (!mask || mask >> c->nblocks)
                return emu_fault(w, in, (int)i, RESULT_FAULT, FIND_OOB,
                                 "%s: multicast mask 0x%x is not valid in a cluster of %u blocks",
                                 b->what, mask, c->nblocks);
            for (uint32_t r = 0; r < c->nblocks && rc == EX_NEXT; r++)
                if (mask >> r & 1)
                    rc = load_into(w, in, i, &c->blocks[r]);
        }
        if (rc != EX_NEXT)
            return rc;
    }
    return EX_NEXT;
}

/* ---- stores --------------------------------------------------------------------------------- */

/* Tells the sanitizer what a store reads: only the elements of the box inside the tensor. */
static int check_source(struct warp *w, const struct insn *in, const struct async_op *op)
{
    for (uint32_t r = 0; r < op->nruns; r++)
        for (uint32_t i = 0; i < op->runs[r].bytes;) {
            uint32_t at = op->base + op->runs[r].off + i;
            uint32_t n = op->runs[r].bytes - i;
            if (op->map.swizzle) {
                n = MIN(n, 16 - at % 16);
                at = tensormap_swizzle(&op->map, at);
            }
            if (!smem_at(w, in, op->lane, at, n, MEM_READ | MEM_ASYNC | MEM_NOALIGN))
                return EX_FAULT;
            i += n;
        }
    return EX_NEXT;
}

static const enum ptx_type elem_types[TMAP_ELEM_COUNT] = {
    [TMAP_U8] = PT_NONE,     [TMAP_U16] = PT_NONE, [TMAP_U32] = PT_U32,   [TMAP_S32] = PT_S32,
    [TMAP_U64] = PT_U64,     [TMAP_S64] = PT_S64,  [TMAP_F16] = PT_F16,   [TMAP_F32] = PT_F32,
    [TMAP_F32_FTZ] = PT_F32, [TMAP_F64] = PT_F64,  [TMAP_BF16] = PT_BF16, [TMAP_TF32] = PT_NONE,
};

static int store_lane(struct warp *w, const struct insn *in, uint32_t lane)
{
    const struct bulk_insn *b = in->aux;
    struct async_op *op = async_new(w, in, lane, ASYNC_STORE, b->what);
    uint32_t tx = 0;
    uint64_t src = place_addr(w, &b->src, lane);
    unsigned align = b->tensor ? 128 : 16;
    int rc = extent(w, in, op, &tx);
    if (rc != EX_NEXT)
        return finish_issue(w, rc, op);
    if ((uint32_t)src % align)
        return finish_issue(w, misaligned(w, in, lane, b->what, "shared address", src, align), op);
    op->block = shared_range(w, in, lane, src, op->span, b->what, &op->base);
    if (!op->block)
        return finish_issue(w, EX_FAULT, op);
    op->red = b->red;
    op->red_type = b->tensor ? elem_types[op->map.elem] : b->red_type;
    if (op->red && !red_fits(op->red, op->red_type))
        rc = emu_fault(w, in, (int)lane, RESULT_FAULT, FIND_OTHER,
                       "%s: this operator does not apply to the tensor map's type", b->what);
    else
        rc = find_runs(w, in, op);
    if (rc == EX_NEXT && emu_sanitizing(w)) {
        rc = check_source(w, in, op);
        san_proxy_check(w, in, op->block, op->base, op->span, b->what);
        op->san = san_async_begin(w, in, op->lane, op->block, op->base, op->span, false, b->what);
    }
    return finish_issue(w, rc, op);
}

static int exec_store(struct warp *w, const struct insn *in)
{
    FOR_LANES(i, w)
    {
        int rc = store_lane(w, in, i);
        if (rc != EX_NEXT)
            return rc;
    }
    return EX_NEXT;
}

static int exec_commit(struct warp *w, const struct insn *in)
{
    (void)in;
    struct warp_async *a = warp_async(w);
    FOR_LANES(i, w)
    a->bulk_committed[i]++;
    return EX_NEXT;
}

static int exec_wait(struct warp *w, const struct insn *in)
{
    async_bulk_wait(w, (uint32_t)in->imm, in->sub[0]);
    return EX_NEXT;
}

static int exec_nothing(struct warp *w, const struct insn *in)
{
    (void)w;
    (void)in;
    return EX_NEXT;
}

/* ---- decoding ------------------------------------------------------------------------------- */

static int take_addr(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o,
                     enum ptx_space sp, struct place *out)
{
    if (o->kind != PO_ADDR)
        return dec_bad(d, p, "expected an address in brackets");
    return dec_addr(d, p, o, sp, &out->base, &out->bits, &out->off);
}

static int take_map(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o,
                    struct bulk_insn *b)
{
    if (take_addr(d, p, o, SP_GENERIC, &b->map) < 0)
        return -1;
    if (o->n != b->rank)
        return dec_bad(d, p, "%u coordinates for %u dimensions", o->n, b->rank);
    for (uint32_t i = 0; i < o->n; i++)
        if (dec_src(d, p, &o->list[i], PT_S32, &b->coords[i]) < 0)
            return -1;
    return 0;
}

static int take_offsets(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o,
                        struct bulk_insn *b)
{
    uint32_t n = o->kind == PO_VEC ? o->n : 1;
    if (n != b->rank - 2u)
        return dec_bad(d, p, "%u im2col offsets for %u dimensions", n, b->rank);
    for (uint32_t i = 0; i < n; i++)
        if (dec_src(d, p, o->kind == PO_VEC ? &o->list[i] : o, PT_U16, &b->offsets[i]) < 0)
            return -1;
    b->noffsets = (uint8_t)n;
    return 0;
}

/* Reads the instruction's modifiers into *b, *group and *prefetch. If two modifiers name a space,
 * the first is the destination's and the second is the source's. Returns -1 if a modifier is
 * unknown. */
static int read_mods(struct bulk_insn *b, const struct ptx_insn *p, bool *group, bool *prefetch)
{
    unsigned spaces = 0;
    for (uint8_t i = 0; i < p->nmods; i++) {
        const char *s = p->mods[i];
        enum ptx_space sp = strcmp(s, "shared::cluster") == 0 ? SP_SHARED_CLUSTER
                            : strcmp(s, "shared::cta") == 0 || strcmp(s, "shared") == 0 ? SP_SHARED
                            : strcmp(s, "global") == 0                                  ? SP_GLOBAL
                                                       : SP_GENERIC;
        if (sp != SP_GENERIC) {
            if (spaces == 2)
                return -1;
            *(spaces++ ? &b->src_space : &b->dst_space) = sp;
        } else if (strlen(s) == 2 && s[1] == 'd' && s[0] >= '1' && s[0] <= '5') {
            b->rank = (uint8_t)(s[0] - '0');
        } else if (strcmp(s, "tensor") == 0) {
            b->tensor = true;
        } else if (strcmp(s, "multicast::cluster") == 0) {
            b->multicast = true;
        } else if (strcmp(s, "im2col") == 0 || strcmp(s, "im2col_no_offs") == 0) {
            b->im2col = true;
        } else if (strcmp(s, "bulk_group") == 0) {
            *group = true;
        } else if (strcmp(s, "prefetch") == 0) {
            *prefetch = true;
        } else if (red_op_of(s) != RED_NONE) {
            b->red = red_op_of(s);
        } else if (ptx_type_of(s) != PT_NONE) {
            b->red_type = ptx_type_of(s);
        } else if (strcmp(s, "async") != 0 && strcmp(s, "bulk") != 0 && strcmp(s, "reduce") != 0 &&
                   strcmp(s, "tile") != 0 && strcmp(s, "noftz") != 0 && strcmp(s, "L2") != 0 &&
                   strcmp(s, "L2::cache_hint") != 0 &&
                   strcmp(s, "mbarrier::complete_tx::bytes") != 0) {
            return -1;
        }
    }
    return 0;
}

static int decode_load(struct decoder *d, const struct ptx_insn *p, struct insn *in,
                       struct bulk_insn *b)
{
    uint32_t i = 0, left = p->nops - (ptx_has(p, "L2::cache_hint") ? 1u : 0u);
    if (left < (b->tensor ? 3u : 4u))
        return dec_bad(d, p, "too few operands");
    if (take_addr(d, p, &p->ops[i++], b->dst_space, &b->dst) < 0)
        return -1;
    if (b->tensor) {
        if (take_map(d, p, &p->ops[i++], b) < 0)
            return -1;
    } else if (take_addr(d, p, &p->ops[i++], b->src_space, &b->src) < 0 ||
               dec_src(d, p, &p->ops[i++], PT_U32, &b->size) < 0) {
        return -1;
    }
    if (take_addr(d, p, &p->ops[i++], b->dst_space, &b->mbar) < 0)
        return -1;
    if (b->tensor && b->im2col && i < left && take_offsets(d, p, &p->ops[i++], b) < 0)
        return -1;
    if (b->multicast) {
        if (i >= left)
            return dec_bad(d, p, "multicast needs a mask");
        if (dec_src(d, p, &p->ops[i++], PT_U16, &b->mask) < 0)
            return -1;
    }
    if (i != left)
        return dec_bad(d, p, "too many operands");
    in->exec = exec_load;
    return 0;
}

static int decode_store(struct decoder *d, const struct ptx_insn *p, struct insn *in,
                        struct bulk_insn *b)
{
    uint32_t left = p->nops - (ptx_has(p, "L2::cache_hint") ? 1u : 0u);
    if (left != (b->tensor ? 2u : 3u))
        return dec_bad(d, p, "wrong number of operands");
    if (b->tensor ? take_map(d, p, &p->ops[0], b) < 0
                  : take_addr(d, p, &p->ops[0], SP_GLOBAL, &b->dst) < 0 ||
                        dec_src(d, p, &p->ops[2], PT_U32, &b->size) < 0)
        return -1;
    if (take_addr(d, p, &p->ops[1], SP_SHARED, &b->src) < 0)
        return -1;
    in->exec = exec_store;
    return 0;
}

static int decode_groups(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    in->kind = CK_ASYNC_COPY;
    if (ptx_has(p, "commit_group")) {
        in->exec = exec_commit;
        return 0;
    }
    if (p->nops != 1 || p->ops[0].kind != PO_IMM || p->ops[0].imm < 0)
        return dec_bad(d, p, "expected a constant number of groups");
    in->imm = p->ops[0].imm;
    in->sub[0] = ptx_has(p, "read");
    in->exec = exec_wait;
    return 0;
}

int decode_cp_bulk(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    if (!ptx_has(p, "bulk"))
        return 1;
    if (ptx_has(p, "commit_group") || ptx_has(p, "wait_group"))
        return decode_groups(d, p, in);
    struct bulk_insn *b = dec_alloc(d, sizeof *b);
    bool group = false, prefetch = false;
    if (read_mods(b, p, &group, &prefetch) < 0 || b->tensor != (b->rank != 0))
        return dec_unsupported(d, p);
    in->aux = b;
    in->kind = CK_ASYNC_COPY;
    if (prefetch) {
        in->exec = exec_nothing;
        return 0;
    }
    bool reduce = ptx_has(p, "reduce"), load = b->dst_space != SP_GLOBAL;
    if (load == group || reduce != (b->red != RED_NONE) ||
        (load ? b->dst_space == SP_GENERIC || b->src_space == SP_GENERIC
              : b->src_space != SP_SHARED))
        return dec_unsupported(d, p);
    if (reduce && !b->tensor && !red_fits(b->red, b->red_type))
        return dec_unsupported(d, p);
    b->what = b->tensor ? (load     ? "TMA load"
                           : reduce ? "TMA reduction"
                                    : "TMA store")
                        : (load     ? "bulk copy to shared memory"
                           : reduce ? "bulk reduction"
                                    : "bulk copy to global memory");
    return load ? decode_load(d, p, in, b) : decode_store(d, p, in, b);
}
