/*
 * branch.c - executes control flow: bra, brx, ret, exit, trap. (call.c has the calls.)
 */
#include "base/util.h"
#include "emu/core/machine.h"

static int exec_bra(struct warp *w, const struct insn *in)
{
    return warp_branch(w, w->active, in->aux);
}

static int exec_brx(struct warp *w, const struct insn *in)
{
    const struct insn *const *targets = in->aux;
    const uint32_t *idx = opnd(w, in->o[0]);
    uint32_t lane = (uint32_t)__builtin_ctz(w->active), t = idx[lane], same = 0;
    FOR_LANES(i, w)
    same |= (uint32_t)(idx[i] == t) << i;
    if (t >= (uint32_t)in->imm)
        return emu_fault(w, in, (int)lane, RESULT_FAULT, FIND_OTHER,
                         "branch index %u is outside its table of %u targets", t,
                         (uint32_t)in->imm);
    if (same == w->active)
        return warp_branch(w, same, targets[t]);
    /* The lanes in `same` branch now. The other lanes execute this instruction again. */
    struct fragment *f = &w->frags[w->cur];
    warp_branch(w, same, targets[t]);
    f->pc = in;
    return EX_JUMP;
}

int exec_exit(struct warp *w, const struct insn *in)
{
    (void)in;
    warp_exit_lanes(w, w->active);
    return EX_EXIT;
}

int exec_ret(struct warp *w, const struct insn *in)
{
    if (!w->frame->caller)
        return exec_exit(w, in);
    return warp_return(w, w->active);
}

static int exec_trap(struct warp *w, const struct insn *in)
{
    return emu_fault(w, in, __builtin_ctz(w->active), RESULT_FAULT, FIND_TRAP,
                     "the kernel executed a trap");
}

static int exec_nop(struct warp *w, const struct insn *in)
{
    (void)w;
    (void)in;
    return EX_NEXT;
}

static int decode_bra(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    in->flags |= INSN_BRANCH;
    in->kind = CK_BRANCH;
    if (str_eq(p->op, "bra")) {
        if (p->nops != 1 || p->ops[0].kind != PO_LABEL)
            return dec_bad(d, p, "a label is expected");
        in->exec = exec_bra;
        in->aux = dec_target(d, p->ops[0].target);
        return 0;
    }
    if (p->nops != 2 || p->ops[1].kind != PO_TARGETS || !p->ops[1].table->is_branch)
        return dec_bad(d, p, "an index and a .branchtargets label are expected");
    const struct ptx_table *t = p->ops[1].table;
    const struct insn **targets = dec_alloc(d, sizeof *targets * t->n);
    for (uint32_t i = 0; i < t->n; i++)
        targets[i] = dec_target(d, t->targets[i]);
    in->exec = exec_brx;
    in->aux = targets;
    in->imm = t->n;
    return dec_src(d, p, &p->ops[0], PT_U32, &in->o[0]);
}

static int decode_end(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    bool event = str_eq(p->op, "pmevent"); /* pmevent passes a number or a mask to a profiler */
    if (p->nops != event)
        return dec_bad(d, p, event ? "a number is expected" : "no operands are expected");
    in->flags |= INSN_BRANCH;
    in->kind = CK_BRANCH;
    in->exec = str_eq(p->op, "ret")    ? exec_ret
               : str_eq(p->op, "exit") ? exec_exit
               : str_eq(p->op, "trap") ? exec_trap
                                       : exec_nop;
    return 0;
}

const struct decode_entry decode_flow_ops[] = {
    {"bra", decode_bra},  {"brx", decode_bra},   {"ret", decode_end},     {"exit", decode_end},
    {"trap", decode_end}, {"brkpt", decode_end}, {"pmevent", decode_end}, {NULL, NULL}};
