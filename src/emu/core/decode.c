/*
 * decode.c - turns parsed instructions into executable ones: operand codes, constants, the opcode
 * table.
 *
 * An instruction that no decode function knows gets the exec function exec_unsupported(). If a warp
 * reaches that instruction, the launch ends with an error that names it. A malformed instruction
 * makes the kernel's first launch fail with RESULT_LOAD_FAILED.
 */
#include <stdarg.h>

#include "base/util.h"
#include "emu/core/mem.h"

struct fdecode {
    struct code_func *cf;
    struct reg_plan plan;
};

/* ---- errors --------------------------------------------------------------------------------- */

static void where(const struct decoder *d, const struct ptx_insn *p, char *buf, size_t n)
{
    const char *file = p->file < d->ptx->files.n ? d->ptx->files.items[p->file] : NULL;
    if (file && p->line) {
        const char *slash = strrchr(file, '/');
        snprintf(buf, n, "%s:%u", slash ? slash + 1 : file, p->line);
    } else {
        snprintf(buf, n, "PTX line %u", p->ptx_line);
    }
}

int dec_unsupported(struct decoder *d, const struct ptx_insn *p)
{
    char at[256];
    where(d, p, at, sizeof at);
    d->status = RESULT_UNSUPPORTED;
    return err_set(d->err, ERR_INPUT, "unsupported: %s at %s", p->text, at);
}

int dec_bad(struct decoder *d, const struct ptx_insn *p, const char *fmt, ...)
{
    char msg[256], at[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    where(d, p, at, sizeof at);
    d->status = RESULT_LOAD_FAILED;
    return err_set(d->err, ERR_INPUT, "bad instruction '%s' at %s (PTX line %u): %s", p->text, at,
                   p->ptx_line, msg);
}

/* ---- constants ------------------------------------------------------------------------------ */

void *dec_alloc(struct decoder *d, size_t n)
{
    return arena_alloc(&d->code->arena, n);
}

void dec_set_v(struct decoder *d, struct insn *in, const uint32_t *codes, uint32_t n)
{
    uint32_t *v = dec_alloc(d, sizeof *v * (n ? n : 1));
    memcpy(v, codes, sizeof *v * n);
    in->v = v;
    in->nv = (uint16_t)n;
}

static uint64_t const_at(const struct code *c, uint32_t off, uint32_t bits)
{
    uint64_t v = 0;
    memcpy(&v, c->consts + off, bits / 8);
    return v;
}

/* Doubles the hash table of constants. An entry is 0 if empty, else (offset | class) + 1. The
 * offset in the pool is a multiple of 4. Class 0, 1 or 2 means 16, 32 or 64 bits. */
static void const_rehash(struct code *c)
{
    uint32_t cap = c->const_hash_cap ? c->const_hash_cap * 2 : 256;
    uint32_t *t = xcalloc(cap, sizeof *t);
    for (uint32_t i = 0; i < c->const_hash_cap; i++) {
        uint32_t e = c->const_hash[i];
        if (!e)
            continue;
        uint32_t off = (e - 1) & ~3u, cls = (e - 1) & 3u;
        uint64_t v = const_at(c, off, 16u << cls);
        uint64_t h = (v + cls) * 0x9e3779b97f4a7c15ull >> 20;
        while (t[h % cap])
            h++;
        t[h % cap] = e;
    }
    free(c->const_hash);
    c->const_hash = t;
    c->const_hash_cap = cap;
}

/* Returns the operand code of a constant; adds it to the pool if it is not there. `bits` is 16, 32
 * or 64. */
static uint32_t dec_const(struct decoder *d, uint64_t value, uint32_t bits)
{
    struct code *c = d->code;
    uint32_t cls = bits == 16 ? 0 : bits == 32 ? 1 : 2;
    bits = 16u << cls;
    value &= bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    if (c->nconsts * 2 >= c->const_hash_cap)
        const_rehash(c);
    uint64_t h = (value + cls) * 0x9e3779b97f4a7c15ull >> 20;
    for (;; h++) {
        uint32_t e = c->const_hash[h % c->const_hash_cap];
        if (!e)
            break;
        if (((e - 1) & 3u) == cls && const_at(c, (e - 1) & ~3u, bits) == value)
            return OPND_CONST | ((e - 1) & ~3u);
    }
    uint32_t bytes = WARP * bits / 8, off = c->const_bytes_used;
    if (off + bytes > c->cap_consts) {
        uint32_t cap = c->cap_consts ? c->cap_consts * 2 : 16384;
        char *n = aligned_alloc(64, cap);
        if (!n)
            BUG("out of memory");
        memset(n, 0, cap);
        if (c->consts)
            memcpy(n, c->consts, off);
        free(c->consts);
        c->consts = n;
        c->cap_consts = cap;
    }
    for (uint32_t i = 0; i < WARP; i++)
        memcpy(c->consts + off + i * (bits / 8), &value, bits / 8);
    c->const_bytes_used = off + bytes;
    c->nconsts++;
    c->const_hash[h % c->const_hash_cap] = (off | cls) + 1;
    return OPND_CONST | off;
}

/* ---- operands ------------------------------------------------------------------------------- */

static uint32_t storage_bits(enum ptx_type t)
{
    uint32_t b = ptx_type_bits(t);
    return b == 8 ? 16 : b;
}

uint32_t dec_reg_bits(const struct ptx_opnd *o)
{
    return o->kind == PO_REG ? storage_bits(o->var->type) : 0;
}

static uint32_t reg_code(struct decoder *d, const struct ptx_var *v)
{
    return OPND_FRAME | d->f->plan.offset[v->index];
}

int dec_dst(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, uint32_t bits,
            uint32_t *out)
{
    if (o->kind == PO_SINK) {
        *out = bits == 1 ? SINK_PRED_OFF : SINK_OFF;
        return 0;
    }
    if (o->kind != PO_REG)
        return dec_bad(d, p, "a register is expected as the destination");
    if (storage_bits(o->var->type) != bits)
        return dec_bad(d, p, "register %s is %u bits wide, %u are expected", o->var->name,
                       storage_bits(o->var->type), bits);
    *out = reg_code(d, o->var);
    return 0;
}

static const struct {
    const char *name;
    uint32_t code;
} specials[] = {
    {"%tid.x", OPND_WARP | WS_TID_X << 7},
    {"%tid.y", OPND_WARP | WS_TID_Y << 7},
    {"%tid.z", OPND_WARP | WS_TID_Z << 7},
    {"%tid", OPND_WARP | WS_TID_X << 7},
    {"%laneid", OPND_WARP | WS_LANEID << 7},
    {"%warpid", OPND_WARP | WS_WARPID << 7},
    {"%lanemask_eq", OPND_WARP | WS_LANEMASK_EQ << 7},
    {"%lanemask_le", OPND_WARP | WS_LANEMASK_LE << 7},
    {"%lanemask_lt", OPND_WARP | WS_LANEMASK_LT << 7},
    {"%lanemask_ge", OPND_WARP | WS_LANEMASK_GE << 7},
    {"%lanemask_gt", OPND_WARP | WS_LANEMASK_GT << 7},
    {"%ntid.x", OPND_BLOCK | BS_NTID_X << 7},
    {"%ntid.y", OPND_BLOCK | BS_NTID_Y << 7},
    {"%ntid.z", OPND_BLOCK | BS_NTID_Z << 7},
    {"%ntid", OPND_BLOCK | BS_NTID_X << 7},
    {"%nctaid.x", OPND_BLOCK | BS_NCTAID_X << 7},
    {"%nctaid.y", OPND_BLOCK | BS_NCTAID_Y << 7},
    {"%nctaid.z", OPND_BLOCK | BS_NCTAID_Z << 7},
    {"%nctaid", OPND_BLOCK | BS_NCTAID_X << 7},
    {"%ctaid.x", OPND_BLOCK | BS_CTAID_X << 7},
    {"%ctaid.y", OPND_BLOCK | BS_CTAID_Y << 7},
    {"%ctaid.z", OPND_BLOCK | BS_CTAID_Z << 7},
    {"%ctaid", OPND_BLOCK | BS_CTAID_X << 7},
    {"%nwarpid", OPND_BLOCK | BS_NWARPID << 7},
    {"%smid", OPND_BLOCK | BS_SMID << 7},
    {"%nsmid", OPND_BLOCK | BS_NSMID << 7},
    {"%clusterid.x", OPND_BLOCK | BS_CLUSTERID_X << 7},
    {"%clusterid.y", OPND_BLOCK | BS_CLUSTERID_Y << 7},
    {"%clusterid.z", OPND_BLOCK | BS_CLUSTERID_Z << 7},
    {"%nclusterid.x", OPND_BLOCK | BS_NCLUSTERID_X << 7},
    {"%nclusterid.y", OPND_BLOCK | BS_NCLUSTERID_Y << 7},
    {"%nclusterid.z", OPND_BLOCK | BS_NCLUSTERID_Z << 7},
    {"%cluster_ctaid.x", OPND_BLOCK | BS_CLUSTER_CTAID_X << 7},
    {"%cluster_ctaid.y", OPND_BLOCK | BS_CLUSTER_CTAID_Y << 7},
    {"%cluster_ctaid.z", OPND_BLOCK | BS_CLUSTER_CTAID_Z << 7},
    {"%cluster_nctaid.x", OPND_BLOCK | BS_CLUSTER_NCTAID_X << 7},
    {"%cluster_nctaid.y", OPND_BLOCK | BS_CLUSTER_NCTAID_Y << 7},
    {"%cluster_nctaid.z", OPND_BLOCK | BS_CLUSTER_NCTAID_Z << 7},
    {"%cluster_ctarank", OPND_BLOCK | BS_CLUSTER_CTARANK << 7},
    {"%cluster_nctarank", OPND_BLOCK | BS_CLUSTER_NCTARANK << 7},
    {"%dynamic_smem_size", OPND_BLOCK | BS_DYNAMIC_SMEM << 7},
    {"%total_smem_size", OPND_BLOCK | BS_TOTAL_SMEM << 7},
    {"%aggr_smem_size", OPND_BLOCK | BS_TOTAL_SMEM << 7},
};

static int special_src(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o,
                       uint32_t bits, uint32_t *out)
{
    for (size_t i = 0; i < ARRAY_LEN(specials); i++)
        if (str_eq(o->name, specials[i].name)) {
            if (bits != 32)
                return dec_unsupported(d, p);
            *out = specials[i].code;
            return 0;
        }
    if (str_starts(o->name, "%reserved_smem_offset_") && bits == 32) {
        static const struct {
            const char *name;
            uint32_t at;
        } parts[] = {
            {"begin", 0}, {"end", SMEM_BASE}, {"cap", SMEM_BASE}, {"0", 0}, {"1", SMEM_SCRATCH}};
        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
            if (str_eq(o->name + strlen("%reserved_smem_offset_"), parts[i].name)) {
                d->code->smem_first = SMEM_SCRATCH;
                *out = dec_const(d, parts[i].at, 32);
                return 0;
            }
    }
    return dec_unsupported(d, p);
}

static int imm_bits(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o,
                    enum ptx_type t, uint64_t *out)
{
    uint32_t bits = ptx_type_bits(t);
    if (o->is_float) {
        if (bits == 64) {
            double v = o->fimm;
            memcpy(out, &v, 8);
        } else if (bits == 32 && t != PT_F16X2 && t != PT_BF16X2) {
            if (o->is_f32) {
                *out = (uint32_t)o->imm;
            } else {
                float v = (float)o->fimm;
                uint32_t u;
                memcpy(&u, &v, 4);
                *out = u;
            }
        } else if (t == PT_F16) {
            *out = f16_from_f64(o->fimm);
        } else if (t == PT_BF16) {
            *out = bf16_from_f64(o->fimm);
        } else {
            return dec_bad(d, p, "a float constant does not fit here");
        }
        return 0;
    }
    if (t == PT_F32) {
        float v = (float)o->imm;
        uint32_t u;
        memcpy(&u, &v, 4);
        *out = u;
    } else if (t == PT_F64) {
        double v = (double)o->imm;
        memcpy(out, &v, 8);
    } else {
        *out = (uint64_t)o->imm;
    }
    return 0;
}

/* Decodes the address of a variable, plus an offset. In global memory that is the full address, in
 * other spaces the offset in the window of the space (core.h). */
static int symbol_src(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o,
                      uint32_t bits, uint32_t *out)
{
    const struct ptx_var *v = o->var;
    if (v->space == SP_LOCAL)
        return dec_bad(d, p, "only mov can take the address of a .local variable");
    if (v->space == SP_PARAM && !v->is_kernel_param)
        return dec_unsupported(d, p);
    if (!v->placed)
        return dec_bad(d, p, "'%s' has no definition", v->name);
    if (bits != 32 && bits != 64)
        return dec_bad(d, p, "an address needs 32 or 64 bits");
    *out = dec_const(d, v->addr + (uint64_t)o->imm, bits);
    return 0;
}

int dec_src(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, enum ptx_type t,
            uint32_t *out)
{
    uint32_t bits = storage_bits(t);
    uint64_t v = 0;
    switch (o->kind) {
    case PO_REG:
        if (storage_bits(o->var->type) != bits)
            return dec_bad(d, p, "register %s is %u bits wide, %u are expected", o->var->name,
                           storage_bits(o->var->type), bits);
        *out = reg_code(d, o->var);
        return 0;
    case PO_IMM:
        if (bits != 16 && bits != 32 && bits != 64)
            return dec_bad(d, p, "a constant is not allowed here");
        if (imm_bits(d, p, o, t, &v) < 0)
            return -1;
        *out = dec_const(d, v, bits);
        return 0;
    case PO_SPEC:
        return special_src(d, p, o, bits, out);
    case PO_SYM:
        return symbol_src(d, p, o, bits, out);
    case PO_FUNC: {
        struct code_func *f = code_find(d->code, o->func->name);
        if (bits != 64 || !f)
            return dec_bad(d, p, "a function's address needs 64 bits");
        *out = dec_const(d, FUNC_BASE + f->index * 16u, 64);
        return 0;
    }
    default:
        return dec_bad(d, p, "a register or constant is expected");
    }
}

int dec_pred(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, uint32_t *out,
             bool *neg)
{
    if (o->kind == PO_IMM && !o->is_float) {
        *out = dec_const(d, o->imm ? FULL : 0, 32);
        *neg = false;
        return 0;
    }
    if (o->kind == PO_SPEC && str_eq(o->name, "%is_explicit_cluster")) {
        *out = OPND_BLOCK | BS_IS_EXPLICIT_CLUSTER << 7;
        *neg = o->neg;
        return 0;
    }
    if (o->kind != PO_REG || o->var->type != PT_PRED)
        return dec_bad(d, p, "a predicate is expected");
    *out = reg_code(d, o->var);
    *neg = o->neg;
    return 0;
}

int dec_addr(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o,
             enum ptx_space sp, uint32_t *base, uint32_t *base_bits, int64_t *off)
{
    if (o->kind != PO_ADDR)
        return dec_bad(d, p, "an address is expected");
    *off = o->imm;
    if (!o->var) {
        *base = dec_const(d, 0, 64);
        *base_bits = 64;
        return 0;
    }
    if (o->var->space == SP_REG) {
        uint32_t bits = storage_bits(o->var->type);
        if (bits != 32 && bits != 64)
            return dec_bad(d, p, "an address register has 32 or 64 bits");
        *base = reg_code(d, o->var);
        *base_bits = bits;
        return 0;
    }
    enum ptx_space vs = o->var->space;
    if (!o->var->placed)
        return dec_bad(d, p, "'%s' has no definition", o->var->name);
    uint64_t addr = o->var->addr;
    if (sp == SP_GENERIC) {
        if (vs == SP_SHARED)
            addr += WIN_SHARED;
        else if (vs == SP_CONST)
            addr += WIN_CONST;
        else if (vs != SP_GLOBAL)
            return dec_unsupported(d, p);
    } else if (sp == SP_SHARED_CLUSTER ? vs != SP_SHARED : vs != sp) {
        return dec_bad(d, p, "'%s' is in another state space", o->var->name);
    }
    if (vs == SP_LOCAL || (vs == SP_PARAM && !o->var->is_kernel_param)) {
        *off += (int64_t)addr;
        *base = dec_const(d, 0, 64);
        *base_bits = 0; /* lane_addrs() adds the frame's base */
        return 0;
    }
    *base = dec_const(d, addr, 64);
    *base_bits = 64;
    return 0;
}

int dec_vec(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o, uint32_t bits,
            bool is_dst, uint32_t *out, uint32_t max, uint32_t *n)
{
    const struct ptx_opnd *list = o->kind == PO_VEC ? o->list : o;
    *n = o->kind == PO_VEC ? o->n : 1;
    if (*n > max || *n == 0)
        return dec_bad(d, p, "a vector of up to %u elements is expected", max);
    enum ptx_type t = bits == 16    ? PT_B16
                      : bits == 32  ? PT_B32
                      : bits == 64  ? PT_B64
                      : bits == 128 ? PT_B128
                                    : PT_PRED;
    for (uint32_t i = 0; i < *n; i++)
        if ((is_dst ? dec_dst(d, p, &list[i], bits, &out[i])
                    : dec_src(d, p, &list[i], t, &out[i])) < 0)
            return -1;
    return 0;
}

const struct insn *dec_target(struct decoder *d, uint32_t index)
{
    return &d->f->cf->insns[index];
}

/* ---- the opcode table ----------------------------------------------------------------------- */

static const struct decode_entry *const tables[] = {
    decode_mem_ops,  decode_alu_ops,  decode_int_ops,    decode_fp_ops,
    decode_half_ops, decode_cvt_ops,  decode_flow_ops,   decode_sync_ops,
    decode_atom_ops, decode_misc_ops, decode_video_ops,  decode_bit_ops,
    decode_warp_ops, decode_call_ops, decode_tensor_ops, decode_async_ops,
};

/* True if an operand selects a part of a register (a.b1, a.h0), as in video instructions. */
static bool has_part(const struct ptx_opnd *o, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (o[i].sel || has_part(o[i].list, o[i].n) || (o[i].pair && has_part(o[i].pair, 1)))
            return true;
    return false;
}

static int decode_one(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    if (has_part(p->ops, p->nops) && p->op[0] != 'v')
        return dec_unsupported(d, p);
    for (size_t t = 0; t < ARRAY_LEN(tables); t++)
        for (const struct decode_entry *e = tables[t]; e->op; e++)
            if (str_eq(e->op, p->op)) {
                int rc = e->fn(d, p, in);
                if (rc <= 0)
                    return rc;
            }
    return dec_unsupported(d, p);
}

static int decode_guarded(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    if (decode_one(d, p, in) < 0) {
        if (d->status != RESULT_UNSUPPORTED)
            return -1;
        uint32_t src = in->src, rank = in->rank;
        uint8_t leader = in->flags & INSN_LEADER;
        memset(in, 0, sizeof *in);
        in->exec = exec_unsupported;
        in->src = src;
        in->rank = rank;
        in->flags = leader;
        in->aux = arena_strdup(&d->code->arena, d->err ? d->err->msg : "unsupported");
        err_clear(d->err);
    }
    if (p->guard) {
        in->guard = reg_code(d, p->guard);
        in->flags |= INSN_GUARD | (p->guard_neg ? INSN_GUARD_NEG : 0);
    }
    return 0;
}

/* ---- functions ------------------------------------------------------------------------------ */

/* Gives parameters, results, .param and .local variables their offsets in each lane's memory. */
static int place_locals(struct code_func *cf, struct err *err)
{
    struct ptx_func *f = cf->src;
    uint64_t po = 0, lo = 0;
    for (int pass = 0; pass < 2 && !f->is_entry; pass++)
        for (uint32_t i = 0; i < (pass ? f->nret : f->nparam); i++) {
            struct ptx_var *v = pass ? f->ret[i] : f->param[i];
            po = (po + v->align - 1) / v->align * v->align;
            v->addr = po;
            v->placed = true;
            po += v->bytes;
        }
    for (size_t i = 0; i < f->locals.n; i++) {
        struct ptx_var *v = f->locals.items[i];
        uint64_t *o = v->space == SP_PARAM ? &po : v->space == SP_LOCAL ? &lo : NULL;
        if (!o)
            continue;
        *o = (*o + v->align - 1) / v->align * v->align;
        v->addr = *o;
        v->placed = true;
        *o += v->bytes;
    }
    if (po > 1u << 16 || lo > 1u << 19)
        return err_set(err, ERR_LIMIT, "function '%s' has too much local memory", f->name);
    cf->param_bytes = (uint32_t)((po + 15) & ~15ull);
    cf->local_bytes = (uint32_t)((lo + 15) & ~15ull);
    cf->local_size = (uint32_t)lo;
    return 0;
}

/* Finds the size of the smallest access to shared and to global memory. Accesses of more than 4
 * bytes count as 4. */
static void access_minimum(struct code_func *cf)
{
    cf->smem_bytes_min = cf->gmem_bytes_min = 4;
    for (uint32_t i = 0; i < cf->n; i++) {
        const struct ptx_insn *p = &cf->src->insns.items[i];
        if (!str_eq(p->op, "ld") && !str_eq(p->op, "st") && !str_eq(p->op, "atom") &&
            !str_eq(p->op, "red") && !str_eq(p->op, "ldu"))
            continue;
        enum ptx_space sp = mem_space(p);
        uint8_t n = (uint8_t)MIN(MAX(ptx_type_bits(ptx_last_type(p)) / 8, 1u), 4u);
        if (sp == SP_SHARED || sp == SP_SHARED_CLUSTER || sp == SP_GENERIC)
            cf->smem_bytes_min = MIN(cf->smem_bytes_min, n);
        if (sp == SP_GLOBAL || sp == SP_GENERIC)
            cf->gmem_bytes_min = MIN(cf->gmem_bytes_min, n);
    }
}

static enum result_status decode_func(struct code *c, struct code_func *cf, struct err *err)
{
    struct ptx_func *f = cf->src;
    struct err scratch = ERR_INIT;
    struct fdecode fd = {.cf = cf};
    struct decoder d = {.emu = c->emu,
                        .code = c,
                        .ptx = &c->ptx,
                        .func = f,
                        .err = err ? err : &scratch,
                        .status = RESULT_LOAD_FAILED,
                        .f = &fd};
    if (place_locals(cf, err) < 0)
        return RESULT_LOAD_FAILED;
    if (regs_plan(&fd.plan, f, &c->arena, err) < 0)
        return RESULT_LOAD_FAILED;
    cf->n = (uint32_t)f->insns.n;
    cf->count_base = c->ninsns;
    c->ninsns += cf->n + 1;
    cf->frame_bytes = fd.plan.frame_bytes;
    cf->regs_live = fd.plan.regs_live;
    cf->insns = arena_alloc(&c->arena, sizeof *cf->insns * (cf->n + 1));
    for (uint32_t i = 0; i < cf->n; i++) {
        struct insn *in = &cf->insns[i];
        in->src = i;
        in->rank = fd.plan.rank[i];
        in->flags = fd.plan.leader[i] ? INSN_LEADER : 0;
        for (size_t k = 0; k < ARRAY_LEN(in->o); k++)
            in->o[k] = OPND_NUMBER(0);
        if (decode_guarded(&d, &f->insns.items[i], in) < 0)
            return d.status;
    }
    access_minimum(cf);
    merge_shared(cf);
    struct insn *end = &cf->insns[cf->n];
    end->exec = f->is_entry ? exec_exit : exec_ret;
    end->flags = INSN_LEADER | INSN_BRANCH;
    end->rank = fd.plan.rank[cf->n];
    end->src = cf->n ? cf->n - 1 : 0;
    cf->schedule = arena_alloc(&c->arena, sizeof *cf->schedule * (cf->n + 1));
    schedule_code(cf);
    cf->decoded = true;
    return RESULT_OK;
}

static bool calls_pointer(const struct ptx_insn *p)
{
    for (uint32_t k = 0; k < p->nops; k++)
        if (p->ops[k].kind == PO_REG)
            return true;
    return false;
}

/* Decodes a kernel and all functions that it may call. If some call goes through a pointer, these
 * are all device functions: we do not know where the pointer comes from. */
enum result_status code_prepare(struct code *c, struct code_func *entry, struct err *err)
{
    if (entry->decoded)
        return RESULT_OK;
    uint8_t *wanted = xcalloc(c->nfuncs + 1, 1);
    enum result_status st = RESULT_OK;
    wanted[entry->index] = 1;
    for (bool more = true; more && st == RESULT_OK;) {
        more = false;
        for (uint32_t i = 0; i < c->nfuncs && st == RESULT_OK; i++) {
            struct code_func *f = &c->funcs[i];
            if (!wanted[i] || wanted[i] == 2 || !f->src->defined)
                continue;
            wanted[i] = 2;
            more = true;
            if (!f->decoded && (st = decode_func(c, f, err)) != RESULT_OK)
                break;
            for (size_t k = 0; k < f->src->insns.n; k++) {
                const struct ptx_insn *p = &f->src->insns.items[k];
                bool is_call = str_eq(p->op, "call");
                entry->has_calls |= is_call || str_eq(p->op, "alloca");
                for (uint32_t o = 0; o < p->nops; o++)
                    if (p->ops[o].kind == PO_FUNC) {
                        struct code_func *g = code_find(c, p->ops[o].func->name);
                        if (g && !wanted[g->index])
                            wanted[g->index] = 1;
                    }
                if (is_call && calls_pointer(p))
                    for (uint32_t g = 0; g < c->nfuncs; g++)
                        if (!wanted[g] && !c->funcs[g].src->is_entry)
                            wanted[g] = 1;
            }
        }
    }
    if (st != RESULT_OK)
        entry->decoded = false;
    free(wanted);
    return st;
}
