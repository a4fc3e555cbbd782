/*
 * schedule.c - estimates ptxas's machine code: how many instructions it has, which loads ptxas
 * issues together, and how long one warp alone takes to run it.
 *
 * ptxas turns a short branch into predicates. So the blocks around the branch form one region, and
 * ptxas moves the loads of a region together. Each load has a level. If load B takes its address
 * from the result of load A in the same region, the level of B is one higher than that of A.
 */
#include "base/util.h"
#include "emu/core/machine.h"
#include "emu/core/mem.h"

#define MAX_PREDICATED 8u /* ptxas predicates branches over about this many instructions */

/* Clocks until a result can be used, measured on an H200. The model adds waits for global loads. */
static const float latency[CK_COUNT] = {
    [CK_OTHER] = 4,      [CK_INT] = 4.5F,    [CK_FP32] = 4,     [CK_FP64] = 8,    [CK_HALF] = 5,
    [CK_SFU] = 20,       [CK_CVT] = 6,       [CK_PRED] = 6,     [CK_BRANCH] = 8,  [CK_SHUFFLE] = 24,
    [CK_LD_SHARED] = 26, [CK_LD_LOCAL] = 30, [CK_LD_CONST] = 6, [CK_TENSOR] = 33,
};

struct pass {
    const struct code_func *cf;
    struct reg_state {
        uint32_t region; /* the last region that wrote the register */
        uint8_t level;   /* highest level of the loads behind the value */
        float ready;     /* clocks from the region's start until the value is ready */
    } * regs;
    uint32_t region;
    /* The highest level of the operands of the instruction being scheduled, and when all operands
     * are ready. */
    uint8_t level;
    float start;
};

static void use(struct pass *p, const struct ptx_var *v)
{
    const struct reg_state *r = &p->regs[v->index];
    if (r->region != p->region)
        return;
    p->level = MAX(p->level, r->level);
    p->start = MAX(p->start, r->ready);
}

static void use_opnd(struct pass *p, const struct ptx_opnd *o)
{
    if (o->kind == PO_REG || (o->kind == PO_ADDR && o->var && o->var->space == SP_REG))
        use(p, o->var);
    for (uint32_t i = 0; i < o->n; i++)
        use_opnd(p, &o->list[i]);
    if (o->pair)
        use_opnd(p, o->pair);
}

static void define_opnd(struct pass *p, const struct ptx_opnd *o, uint8_t level, float ready)
{
    if (o->kind == PO_REG)
        p->regs[o->var->index] = (struct reg_state){p->region, level, ready};
    for (uint32_t i = 0; i < o->n; i++)
        define_opnd(p, &o->list[i], level, ready);
    if (o->pair)
        define_opnd(p, o->pair, level, ready);
}

static bool only_reads(const struct insn *in, const struct ptx_insn *p)
{
    switch (in->kind) {
    case CK_ST_GLOBAL:
    case CK_ST_SHARED:
    case CK_ST_LOCAL:
    case CK_BRANCH:
    case CK_BARRIER:
    case CK_FENCE:
    case CK_ASYNC_COPY:
        return true;
    default:
        return str_eq(p->op, "red") || str_eq(p->op, "wgmma");
    }
}

static float cost_of(const struct insn *in, const struct ptx_insn *p, float *issued)
{
    *issued = 1;
    bool packs = in->kind == CK_MOVE && p->nops == 2 && (p->ops[0].n || p->ops[1].n);
    if (packs) { /* a mov of {lo, hi} is often half of a wider operation */
        *issued = 0.5F;
        return 2;
    }
    bool offset = in->kind == CK_INT && str_eq(p->op, "add") && p->nops == 3 &&
                  p->ops[2].kind == PO_IMM && (ptx_has(p, "s64") || ptx_has(p, "u64"));
    /* ptxas folds such an instruction into another one */
    if (in->kind == CK_MOVE || offset || str_eq(p->op, "cvta")) {
        *issued = 0;
        return 0;
    }
    if (str_eq(p->op, "wgmma"))
        return 0;
    bool part = in->o[4] != OPND_NUMBER(0) && !MERGED_FIRST(in->o[4]);
    if ((in->kind == CK_LD_SHARED || in->kind == CK_ST_SHARED) && part)
        *issued = 0;
    return latency[in->kind];
}

/* Bit 0 of soft[i]: ptxas joins a basic block that starts at i with the block before. Bit 1: i is a
 * branch that becomes predicates. */
static void find_soft(const struct code_func *cf, uint8_t *soft)
{
    uint16_t *sources = xcalloc(cf->n + 1, sizeof *sources);
    for (uint32_t i = 0; i < cf->n; i++) {
        const struct ptx_insn *p = &cf->src->insns.items[i];
        if (str_eq(p->op, "bra"))
            sources[MIN(p->ops[0].target, cf->n)] += sources[MIN(p->ops[0].target, cf->n)] < 60000;
        else if (str_eq(p->op, "brx"))
            goto out; /* we join no blocks if there is a table of branch targets */
    }
    for (uint32_t i = cf->n; i-- > 0;) {
        const struct ptx_insn *p = &cf->src->insns.items[i];
        uint32_t to = str_eq(p->op, "bra") && p->guard ? p->ops[0].target : 0;
        if (to <= i + 1 || to > cf->n || to - i - 1 > MAX_PREDICATED)
            continue;
        bool plain = true;
        for (uint32_t k = i + 1; k < to && plain; k++) {
            const struct insn *in = &cf->insns[k];
            plain = soft[k] & 2 ? cf->src->insns.items[k].ops[0].target <= to
                                : !(in->flags & INSN_BRANCH) && in->kind != CK_BARRIER &&
                                      in->kind != CK_SHUFFLE && in->kind != CK_FENCE &&
                                      in->kind != CK_TENSOR && in->kind != CK_ASYNC_COPY;
            plain = plain && (k == i + 1 || !(in->flags & INSN_LEADER) || soft[k] & 1);
        }
        if (!plain)
            continue;
        soft[i] |= 2;
        sources[to]--;
        if (!sources[i + 1])
            soft[i + 1] |= 1;
        if (!sources[to])
            soft[to] |= 1;
    }
out:
    free(sources);
}

void schedule_code(struct code_func *cf)
{
    uint8_t *soft = xcalloc(cf->n + 1, 1);
    struct pass p = {.cf = cf, .regs = xcalloc(cf->src->regs.n + 1, sizeof *p.regs)};
    struct insn_schedule *s = cf->schedule, *first = s;
    uint32_t until = 0; /* furthest target of branches that became predicates */
    uint8_t under = 0;  /* level of the predicate of the last such branch */
    find_soft(cf, soft);
    for (uint32_t i = 0; i <= cf->n; i++) {
        s[i] = (struct insn_schedule){.level = 1};
        if (i == cf->n || !i || (cf->insns[i].flags & INSN_LEADER && !(soft[i] & 1))) {
            first = &s[i];
            first->starts = true;
            p.region++;
            until = 0;
        }
        if (i == cf->n)
            break;
        const struct insn *in = &cf->insns[i];
        const struct ptx_insn *x = &cf->src->insns.items[i];
        bool reads = only_reads(in, x);
        float issued, clocks = cost_of(in, x, &issued);
        p.level = i < until ? under : 0;
        p.start = 0;
        for (uint32_t k = reads ? 0 : 1; k < x->nops; k++)
            use_opnd(&p, &x->ops[k]);
        if (x->guard)
            use(&p, x->guard);
        if (soft[i] & 2) {
            until = MAX(until, x->ops[0].target);
            under = p.level;
            continue;
        }
        bool load = in->kind == CK_LD_GLOBAL || in->kind == CK_LD_LOCAL || in->kind == CK_ATOMIC;
        uint8_t level = (uint8_t)MIN(p.level + load, 250);
        s[i].level = load ? level : 1;
        if (!reads && x->nops)
            define_opnd(&p, &x->ops[0], level, p.start + clocks);
        first->chain = MAX(first->chain, p.start + clocks);
        first->issued += issued;
    }
    free(p.regs);
    free(soft);
}
