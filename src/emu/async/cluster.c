/*
 * cluster.c - executes mapa and getctarank, remote asynchronous stores (st.async, red.async), proxy
 * fences, and edits of tensor maps.
 */
#include <string.h>

#include "emu/async/async.h"

static int exec_nothing(struct warp *w, const struct insn *in)
{
    (void)w;
    (void)in;
    return EX_NEXT;
}

/* ---- mapa, getctarank ----------------------------------------------------------------------- */

/* in->sub[0] is the width of the address in bytes (4 or 8), in->sub[1] whether it is generic. */

static int exec_mapa(struct warp *w, const struct insn *in)
{
    const uint32_t *rank = opnd(w, in->o[2]);
    uint32_t nblocks = w->block->cluster->nblocks;
    FOR_LANES(i, w)
    {
        uint64_t a = addr_of(w, in->o[1], in->sub[0] * 8u, i, in->imm);
        if (rank[i] >= nblocks)
            return emu_fault(w, in, (int)i, RESULT_FAULT, FIND_OOB,
                             "mapa: there is no block %u in a cluster of %u", rank[i], nblocks);
        uint32_t s = ((rank[i] + 1) << SMEM_RANK_SHIFT) | ((uint32_t)a & SMEM_OFF_MASK);
        if (in->sub[0] == 4)
            ((uint32_t *)opnd(w, in->o[0]))[i] = s;
        else
            ((uint64_t *)opnd(w, in->o[0]))[i] = (in->sub[1] ? WIN_SHARED : 0) | s;
    }
    return EX_NEXT;
}

static int exec_getctarank(struct warp *w, const struct insn *in)
{
    uint32_t *d = opnd(w, in->o[0]);
    FOR_LANES(i, w)
    {
        uint32_t s = (uint32_t)addr_of(w, in->o[1], in->sub[0] * 8u, i, in->imm);
        uint32_t top = s >> SMEM_RANK_SHIFT;
        d[i] = top ? top - 1 : w->block->rank;
    }
    return EX_NEXT;
}

int decode_cluster(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    bool mapa = strcmp(p->op, "mapa") == 0;
    bool shared = ptx_has(p, "shared::cluster");
    enum ptx_type t = ptx_last_type(p);
    if (t != PT_U32 && t != PT_U64)
        return dec_unsupported(d, p);
    if (p->nops != (mapa ? 3 : 2))
        return dec_bad(d, p, "wrong number of operands");
    enum ptx_type at = t;
    /* getctarank.u32 names the type of its result. Its operand, the address, may have another
     * width. */
    if (!mapa && !shared)
        at = dec_reg_bits(&p->ops[1]) == 32 ? PT_U32 : PT_U64;
    if (!mapa && shared && dec_reg_bits(&p->ops[1]) == 64)
        at = PT_U64;
    if (dec_dst(d, p, &p->ops[0], mapa && t == PT_U64 ? 64 : 32, &in->o[0]) < 0 ||
        dec_src(d, p, &p->ops[1], at, &in->o[1]) < 0)
        return -1;
    if (mapa && dec_src(d, p, &p->ops[2], PT_U32, &in->o[2]) < 0)
        return -1;
    in->sub[0] = at == PT_U64 ? 8 : 4;
    in->sub[1] = !shared;
    in->exec = mapa ? exec_mapa : exec_getctarank;
    in->kind = CK_INT;
    return 0;
}

/* ---- st.async, red.async -------------------------------------------------------------------- */

struct st_insn {
    uint32_t dst, dst_bits, mbar, mbar_bits;
    int64_t dst_off, mbar_off;
    uint32_t elem; /* bytes of an element */
    enum red_op red;
    enum ptx_type type;
};

static int exec_st_async(struct warp *w, const struct insn *in)
{
    const struct st_insn *s = in->aux;
    FOR_LANES(i, w)
    {
        uint32_t dst = (uint32_t)addr_of(w, s->dst, s->dst_bits, i, s->dst_off);
        uint32_t mbar = (uint32_t)addr_of(w, s->mbar, s->mbar_bits, i, s->mbar_off);
        uint32_t n = in->nv * s->elem, off, moff;
        if (!mem_at(w, in, i, SP_SHARED_CLUSTER, dst, n, MEM_ASYNC) ||
            !mem_at(w, in, i, SP_SHARED_CLUSTER, mbar, 8, MEM_READ | MEM_STRONG))
            return EX_FAULT;
        struct block *b = smem_block(w, dst, &off), *mb = smem_block(w, mbar, &moff);
        if (!b || b != mb)
            return emu_fault(w, in, (int)i, RESULT_FAULT, FIND_OTHER,
                             "the destination and its mbarrier are in different blocks");
        struct async_op *op = async_new(w, in, i, ASYNC_LOAD, s->red ? "red.async" : "st.async");
        for (unsigned k = 0; k < in->nv; k++)
            memcpy(op->imm + k * s->elem, (char *)opnd(w, in->v[k]) + (size_t)i * s->elem, s->elem);
        op->block = op->mbar_block = b;
        op->base = off;
        op->span = n;
        op->tx = (int32_t)n;
        op->mbar_off = moff;
        op->red = s->red;
        op->red_type = s->type;
        *async_add_run(op) = (struct async_run){op->imm, 0, n};
        op->san = san_async_begin(w, in, i, b, off, n, true, op->what);
        count_bytes(w, in, CB_DSMEM, n);
        async_start(op);
    }
    return EX_NEXT;
}

int decode_st_async(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    if (!p->nmods || strcmp(p->mods[0], "async") != 0 || ptx_has(p, "bulk"))
        return 1;
    struct st_insn *s = dec_alloc(d, sizeof *s);
    for (uint8_t i = 0; i < p->nmods; i++)
        if (red_op_of(p->mods[i]) != RED_NONE)
            s->red = red_op_of(p->mods[i]);
    s->type = ptx_last_type(p);
    s->elem = ptx_type_bits(s->type) / 8;
    if ((s->elem != 4 && s->elem != 8) || !ptx_has(p, "shared::cluster") ||
        (strcmp(p->op, "red") == 0) != (s->red != RED_NONE) ||
        (s->red && !red_fits(s->red, s->type)))
        return dec_unsupported(d, p);
    if (p->nops != 3)
        return dec_bad(d, p, "expected [address], value, [mbarrier]");
    uint32_t codes[4], n = 0;
    if (dec_addr(d, p, &p->ops[0], SP_SHARED_CLUSTER, &s->dst, &s->dst_bits, &s->dst_off) < 0 ||
        dec_addr(d, p, &p->ops[2], SP_SHARED_CLUSTER, &s->mbar, &s->mbar_bits, &s->mbar_off) < 0)
        return -1;
    if (p->ops[1].kind == PO_VEC) {
        if (dec_vec(d, p, &p->ops[1], s->elem * 8, false, codes, 4, &n) < 0)
            return -1;
    } else {
        n = 1;
        if (dec_src(d, p, &p->ops[1], s->type, codes) < 0)
            return -1;
    }
    if (n * s->elem > 16)
        return dec_unsupported(d, p);
    dec_set_v(d, in, codes, n);
    in->aux = s;
    in->exec = exec_st_async;
    in->kind = CK_ASYNC_COPY;
    return 0;
}

/* ---- fences --------------------------------------------------------------------------------- */

static int exec_proxy_fence(struct warp *w, const struct insn *in)
{
    (void)in;
    san_proxy_fence(w);
    return EX_NEXT;
}

/* Decodes fence.proxy.* and fence.mbarrier_init; inst/ decodes other fences. */
int decode_proxy_fence(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    (void)d;
    bool proxy = p->nmods && strcmp(p->mods[0], "proxy") == 0;
    bool init = p->nmods && strcmp(p->mods[0], "mbarrier_init") == 0;
    if (!proxy && !init)
        return 1;
    in->exec =
        proxy && p->nmods > 1 && str_starts(p->mods[1], "async") ? exec_proxy_fence : exec_nothing;
    in->kind = CK_FENCE;
    return 0;
}

/* ---- tensor maps ---------------------------------------------------------------------------- */

struct replace_insn {
    enum ptx_space space;
    uint32_t base, bits;
    uint32_t value; /* operand code of the new value */
    uint32_t ord;
    bool wide; /* the value has 64 bits, not 32 */
    const char *field;
    /* For cp_fenceproxy: the address of the map to copy. */
    uint32_t src, src_bits;
    int64_t src_off;
};

static int exec_replace(struct warp *w, const struct insn *in)
{
    const struct replace_insn *r = in->aux;
    FOR_LANES(i, w)
    {
        uint64_t addr = addr_of(w, r->base, r->bits, i, in->imm);
        uint8_t *p = mem_at(w, in, i, r->space, addr, 128, MEM_READ | MEM_WRITE | MEM_NOALIGN);
        if (!p)
            return EX_FAULT;
        uint64_t v = r->wide ? ((const uint64_t *)opnd(w, r->value))[i]
                             : ((const uint32_t *)opnd(w, r->value))[i];
        struct tensormap t;
        struct err err = ERR_INIT;
        memcpy(&t, p, sizeof t);
        if (tensormap_replace(&t, r->field, r->ord, v, &err) < 0)
            return emu_fault(w, in, (int)i, RESULT_FAULT, FIND_OTHER, "%s", err.msg);
        memcpy(p, &t, sizeof t);
    }
    return EX_NEXT;
}

/* Copies a tensor map. The whole warp executes the instruction, with the same addresses in all
 * lanes, so we take the addresses of the first lane. */
static int exec_cp_fenceproxy(struct warp *w, const struct insn *in)
{
    const struct replace_insn *r = in->aux;
    uint32_t lane = (uint32_t)__builtin_ctz(w->active);
    uint64_t dst = addr_of(w, r->base, r->bits, lane, in->imm);
    uint64_t src = addr_of(w, r->src, r->src_bits, lane, r->src_off);
    uint8_t *d = mem_at(w, in, lane, SP_GLOBAL, dst, 128, MEM_WRITE | MEM_NOALIGN);
    uint8_t *s = d ? mem_at(w, in, lane, SP_SHARED, src, 128, MEM_READ | MEM_NOALIGN) : NULL;
    if (!s)
        return EX_FAULT;
    memcpy(d, s, 128);
    return EX_NEXT;
}

static int decode_replace(struct decoder *d, const struct ptx_insn *p, struct insn *in,
                          struct replace_insn *r)
{
    static const char *const fields[] = {
        "global_address", "rank",     "box_dim",           "global_dim",   "global_stride",
        "element_stride", "elemtype", "interleave_layout", "swizzle_mode", "fill_mode"};
    for (size_t f = 0; f < ARRAY_LEN(fields); f++)
        if (ptx_has(p, fields[f]))
            r->field = fields[f];
    if (!r->field || !ptx_has(p, "tile"))
        return dec_unsupported(d, p);
    if (p->nops < 2 || p->nops > 3 || (p->nops == 3 && p->ops[1].kind != PO_IMM))
        return dec_bad(d, p, "expected [map], ordinal, value");
    r->space = async_space(p);
    r->wide = ptx_last_type(p) == PT_B64;
    r->ord = p->nops == 3 ? (uint32_t)p->ops[1].imm : 0;
    if (dec_addr(d, p, &p->ops[0], r->space, &r->base, &r->bits, &in->imm) < 0 ||
        dec_src(d, p, &p->ops[p->nops - 1], r->wide ? PT_B64 : PT_B32, &r->value) < 0)
        return -1;
    in->exec = exec_replace;
    return 0;
}

int decode_tensormap(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    if (strcmp(p->op, "prefetch") == 0) {
        if (!ptx_has(p, "tensormap"))
            return 1;
        in->exec = exec_nothing;
        return 0;
    }
    struct replace_insn *r = dec_alloc(d, sizeof *r);
    in->aux = r;
    in->kind = CK_OTHER;
    if (ptx_has(p, "replace"))
        return decode_replace(d, p, in, r);
    if (!ptx_has(p, "cp_fenceproxy"))
        return dec_unsupported(d, p);
    if (p->nops != 3)
        return dec_bad(d, p, "expected [dst], [src], 128");
    if (dec_addr(d, p, &p->ops[0], SP_GLOBAL, &r->base, &r->bits, &in->imm) < 0 ||
        dec_addr(d, p, &p->ops[1], SP_SHARED, &r->src, &r->src_bits, &r->src_off) < 0)
        return -1;
    in->exec = exec_cp_fenceproxy;
    in->flags |= INSN_ALIGNED;
    return 0;
}
