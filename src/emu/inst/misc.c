/*
 * misc.c - executes address conversions, cache hints, and other small instructions.
 */
#include "base/util.h"
#include "emu/core/lanes.h"
#include "emu/core/mem.h"
#include "emu/core/numeric.h"

static uint64_t window(enum ptx_space sp)
{
    switch (sp) {
    case SP_SHARED:
    case SP_SHARED_CLUSTER:
        return WIN_SHARED;
    case SP_LOCAL:
        return WIN_LOCAL;
    case SP_CONST:
        return WIN_CONST;
    case SP_PARAM:
        return WIN_PARAM;
    default:
        return 0;
    }
}

/* ---- cvta, isspacep ------------------------------------------------------------------------- */

static int cvta_add(struct warp *w, const struct insn *in)
{
    uint64_t *d = opnd(w, in->o[0]);
    const uint64_t *a = opnd(w, in->o[1]);
    const uint64_t k = (uint64_t)in->imm;
    LANES(w, i, d[i] = a[i] + k);
}

static int decode_cvta(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    bool to = ptx_has(p, "to");
    enum ptx_space sp = mem_space(p);
    enum ptx_type t = ptx_last_type(p);
    in->kind = CK_INT;
    if (p->nops != 2 || (t != PT_U64 && t != PT_U32) || sp == SP_GENERIC)
        return dec_bad(d, p, "wrong operands or modifiers");
    if (t == PT_U32)
        return dec_unsupported(d, p);
    in->exec = cvta_add;
    in->imm = (int64_t)(to ? 0 - window(sp) : window(sp));
    if (dec_dst(d, p, &p->ops[0], 64, &in->o[0]) < 0)
        return -1;
    if (p->ops[1].kind == PO_SYM && p->ops[1].var->space == SP_LOCAL)
        return dec_unsupported(d, p);
    return dec_src(d, p, &p->ops[1], PT_U64, &in->o[1]);
}

static int exec_isspacep(struct warp *w, const struct insn *in)
{
    const uint64_t *a = opnd(w, in->o[1]);
    uint32_t bits = 0;
    FOR_LANES(i, w)
    {
        enum ptx_space sp = generic_space(a[i]);
        bool is = sp == (enum ptx_space)in->sub[0];
        if (in->sub[0] == SP_SHARED_CLUSTER)
            is = sp == SP_SHARED;
        else if (in->sub[0] == SP_SHARED && is)
            is = (a[i] >> SMEM_RANK_SHIFT & 0xff) == 0 ||
                 (a[i] >> SMEM_RANK_SHIFT & 0xff) == w->block->rank + 1;
        bits |= (uint32_t)is << i;
    }
    set_pred(w, in->o[0], bits);
    return EX_NEXT;
}

static int decode_isspacep(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    in->exec = exec_isspacep;
    in->kind = CK_PRED;
    in->sub[0] = (uint8_t)mem_space(p);
    if (p->nops != 2 || dec_dst(d, p, &p->ops[0], 1, &in->o[0]) < 0)
        return dec_bad(d, p, "wrong operands or modifiers");
    return dec_src(d, p, &p->ops[1], PT_U64, &in->o[1]);
}

/* ---- hints and waits ------------------------------------------------------------------------ */

static int exec_nothing(struct warp *w, const struct insn *in)
{
    (void)w;
    (void)in;
    return EX_NEXT;
}

static int exec_yield(struct warp *w, const struct insn *in)
{
    (void)w;
    (void)in;
    return EX_YIELD;
}

static int decode_hint(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    if (str_eq(p->op, "prefetch") && ptx_has(p, "tensormap"))
        return 1;
    in->kind = CK_OTHER;
    in->exec = exec_nothing;
    (void)d;
    return 0;
}

#define DISCARD_BYTES 128

/* A discard is a write of undefined bytes: a GPU may drop the line from its L2 before the line
 * reaches DRAM. */
static int exec_discard(struct warp *w, const struct insn *in)
{
    struct emu_mem *m = &w->launch->emu->mem;
    FOR_LANES(i, w)
    {
        uint64_t addr = addr_of(w, in->o[1], in->sub[0], i, in->imm);
        void *p = mem_at(w, in, i, SP_GLOBAL, addr, DISCARD_BYTES, MEM_WRITE);
        if (!p)
            return EX_FAULT;
        memset(p, w->launch->blank, DISCARD_BYTES);
        if (w->launch->sanitize)
            mem_mark_init(m, addr, DISCARD_BYTES, false);
    }
    return EX_NEXT;
}

static int decode_discard(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    uint32_t bits;
    if (p->nops != 2 || !ptx_has(p, "L2"))
        return dec_unsupported(d, p);
    in->kind = CK_OTHER;
    in->exec = exec_discard;
    if (dec_addr(d, p, &p->ops[0], SP_GLOBAL, &in->o[1], &bits, &in->imm) < 0)
        return -1;
    in->sub[0] = (uint8_t)bits;
    return 0;
}

static int decode_nanosleep(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    in->kind = CK_OTHER;
    in->exec = exec_yield;
    if (p->nops != 1)
        return dec_bad(d, p, "one operand is expected");
    return dec_src(d, p, &p->ops[0], PT_U32, &in->o[1]);
}

/* Makes a cache policy, which is an opaque number. We use the same number for all policies. */
static int exec_policy(struct warp *w, const struct insn *in)
{
    uint64_t *d = opnd(w, in->o[0]);
    LANES(w, i, d[i] = 0x14f0000000000000ull);
}

static int decode_policy(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    in->kind = CK_OTHER;
    in->exec = exec_policy;
    if (!p->nops)
        return dec_bad(d, p, "a destination is expected");
    return dec_dst(d, p, &p->ops[0], 64, &in->o[0]);
}

const struct decode_entry decode_misc_ops[] = {{"cvta", decode_cvta},
                                               {"isspacep", decode_isspacep},
                                               {"prefetch", decode_hint},
                                               {"prefetchu", decode_hint},
                                               {"applypriority", decode_hint},
                                               {"discard", decode_discard},
                                               {"griddepcontrol", decode_hint},
                                               {"createpolicy", decode_policy},
                                               {"setmaxnreg", decode_setmaxnreg},
                                               {"nanosleep", decode_nanosleep},
                                               {NULL, NULL}};
