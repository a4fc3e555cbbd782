/*
 * register_pool.c - executes setmaxnreg, which moves registers from some warps of a block to
 * others.
 *
 * At launch a block gets the same number of registers for each thread. setmaxnreg.dec gives
 * registers of a warp back to the block's pool. setmaxnreg.inc takes registers from the pool, and
 * waits until it has enough. If the warps together ask for more than the block got, the last warp
 * waits for ever.
 *
 * The instruction has an effect only if ptxas knows the registers at launch, from .maxnreg or from
 * the launch bounds. Then a thread starts with as many registers as the bounds allow, but not more
 * than the largest setmaxnreg asks for. Otherwise ptxas drops the instruction.
 */
#include "base/util.h"
#include "emu/core/machine.h"

#define REGS_MOST 256u

static int exec_setmaxnreg(struct warp *w, const struct insn *in)
{
    struct block *b = w->block;
    uint32_t count = (uint32_t)in->imm;
    bool inc = in->sub[0];
    if (!w->regs || inc == (count <= w->regs))
        return EX_NEXT;
    uint32_t moved = (inc ? count - w->regs : w->regs - count) * WARP;
    if (inc && moved > b->regs_free) {
        w->regs_wanted = count;
        return EX_WAIT;
    }
    b->regs_free += inc ? -moved : moved;
    w->regs = count;
    w->regs_wanted = 0;
    return EX_NEXT;
}

int decode_setmaxnreg(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    if (p->nops != 1 || p->ops[0].kind != PO_IMM)
        return dec_bad(d, p, "a constant is expected");
    if (p->ops[0].imm < 24 || p->ops[0].imm > REGS_MOST || p->ops[0].imm % 8)
        return dec_bad(d, p, "a multiple of 8 from 24 to 256 is expected");
    in->kind = CK_OTHER;
    in->exec = exec_setmaxnreg;
    in->flags |= INSN_ALIGNED;
    in->imm = p->ops[0].imm;
    in->sub[0] = ptx_has(p, "inc");
    return 0;
}

uint32_t register_pool_at_start(const struct launch *l)
{
    const struct ptx_func *f = l->entry->src;
    const uint32_t *block = f->reqntid[0] ? f->reqntid : f->maxntid;
    uint32_t file = l->emu->job->gpu.regs_per_sm ? l->emu->job->gpu.regs_per_sm : 65536;
    uint32_t most = 0, regs = REGS_MOST;
    for (uint32_t i = 0; i < l->entry->n; i++)
        if (l->entry->insns[i].exec == exec_setmaxnreg)
            most = MAX(most, (uint32_t)l->entry->insns[i].imm);
    if (!most || (!block[0] && !f->maxnreg))
        return 0;
    if (block[0]) {
        uint32_t warps = (block[0] * block[1] * block[2] + WARP - 1) / WARP;
        regs = MIN(regs, file / (warps * WARP * MAX(f->minnctapersm, 1u)) / 8 * 8);
    }
    if (f->maxnreg)
        regs = MIN(regs, (f->maxnreg + 7) / 8 * 8);
    regs = MIN(regs, most);
    /* If the compiler's report (l->regs) differs from `regs`, ptxas dropped the setmaxnreg
     * instructions. Without a report we assume that ptxas keeps them if the kernel has .maxnreg or
     * .minnctapersm. */
    if (l->regs)
        return (l->regs + 7) / 8 * 8 == regs ? regs : 0;
    return f->maxnreg || f->minnctapersm ? regs : 0;
}

struct warp *register_pool_waits(const struct block *b, char *why, size_t n)
{
    struct warp *waits = NULL;
    uint32_t asked = 0, start = b->launch->pool_regs;
    for (uint32_t i = 0; i < b->nwarps; i++) {
        struct warp *w = &b->warps[i];
        asked += MAX(w->regs, w->regs_wanted) * WARP;
        if (!waits && w->live && w->regs_wanted)
            waits = w;
    }
    if (waits)
        snprintf(why, n,
                 "deadlock: setmaxnreg waits for registers that no warp gives back: the block "
                 "started with %u (%u for each thread), and its warps hold or ask for %u",
                 start * b->nwarps * WARP, start, asked);
    return waits;
}
