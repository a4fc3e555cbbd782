/*
 * merge_shared.c - finds the accesses to shared memory that the GPU's assembler, ptxas, merges into
 * one.
 *
 * PTX may have four `ld.shared.f32` where the machine code has one LDS.128. ptxas merges accesses
 * of one basic block to neighbouring addresses, if they are aligned and no instruction between them
 * prevents it. We merge only to count wavefronts and bank conflicts; the emulator executes each
 * access alone. o[4] of each part gets the size of the merged access in bytes. It also says whether
 * the part is the earliest in the code. count.c checks at run time that the merged access is
 * aligned.
 */
#include "base/util.h"
#include "emu/core/mem.h"

#define MAX_OPEN 64

struct window {
    struct insn *at[MAX_OPEN]; /* accesses of one kind, in the order of the code */
    uint32_t n;
};

static uint32_t bytes_of(const struct insn *in)
{
    return in->sub[1] * MAX(in->nv, 1u);
}

static bool is_alike(const struct insn *a, const struct insn *b)
{
    uint8_t flags = INSN_GUARD | INSN_GUARD_NEG;
    return a->o[1] == b->o[1] && (a->flags & flags) == (b->flags & flags) &&
           (!(a->flags & INSN_GUARD) || a->guard == b->guard);
}

/* Merges accesses that together fill exactly the `width` bytes from the address of at[first] on.
 * Returns false if the accesses in the window do not fill these bytes. */
static bool merge_from(struct window *w, uint32_t first, uint32_t width)
{
    struct insn *parts[16], *lead = w->at[first];
    uint32_t n = 0, have = 0;
    if (lead->imm % width)
        return false;
    for (bool more = true; more && have < width;) {
        more = false;
        for (uint32_t i = 0; i < w->n && !more; i++) {
            struct insn *in = w->at[i];
            if (in->o[4] != OPND_NUMBER(0) || in->imm != lead->imm + have || !is_alike(in, lead) ||
                have + bytes_of(in) > width)
                continue;
            parts[n++] = in;
            have += bytes_of(in);
            more = true;
        }
    }
    if (have < width || n < 2)
        return false;
    struct insn *earliest = parts[0];
    for (uint32_t i = 1; i < n; i++)
        earliest = parts[i]->src < earliest->src ? parts[i] : earliest;
    for (uint32_t i = 0; i < n; i++)
        parts[i]->o[4] = MERGED(width, parts[i] == earliest);
    return true;
}

static void flush(struct window *w)
{
    for (uint32_t width = 16; width >= 2 && w->n > 1; width /= 2)
        for (uint32_t i = 0; i < w->n; i++)
            if (w->at[i]->o[4] == OPND_NUMBER(0))
                merge_from(w, i, width);
    w->n = 0;
}

static void add(struct window *w, struct insn *in)
{
    if (w->n == MAX_OPEN)
        flush(w);
    w->at[w->n++] = in;
}

/* True if the instruction writes the address or the guard of an access in the window. */
static bool changes_address(const struct insn *in, const struct window *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        const struct insn *a = w->at[i];
        bool hit = in->o[0] == a->o[1] || (a->flags & INSN_GUARD && in->o[0] == a->guard);
        for (uint32_t k = 0; k < in->nv && !hit; k++)
            hit = in->v[k] == a->o[1];
        if (hit)
            return true;
    }
    return false;
}

void merge_shared(struct code_func *cf)
{
    struct window loads = {.n = 0}, stores = {.n = 0};
    for (uint32_t i = 0; i < cf->n; i++) {
        struct insn *in = &cf->insns[i];
        const char *op = cf->src->insns.items[i].op;
        bool plain = (str_eq(op, "ld") || str_eq(op, "st")) && !(in->sub[2] & MEM_STRONG);
        bool load = plain && in->kind == CK_LD_SHARED, store = plain && in->kind == CK_ST_SHARED;
        bool pure = in->kind == CK_INT || in->kind == CK_FP32 || in->kind == CK_HALF ||
                    in->kind == CK_MOVE || in->kind == CK_PRED || in->kind == CK_SFU ||
                    in->kind == CK_CVT || in->kind == CK_FP64 || in->kind == CK_LD_GLOBAL ||
                    in->kind == CK_ST_GLOBAL || in->kind == CK_SHUFFLE || in->kind == CK_LD_CONST;
        if (in->flags & (INSN_LEADER | INSN_BRANCH) || !(pure || load || store)) {
            flush(&loads);
            flush(&stores);
        }
        if (store)
            flush(&loads);
        if (load)
            flush(&stores);
        if (load || store)
            add(load ? &loads : &stores, in);
        if (!store && changes_address(in, &loads))
            flush(&loads);
        if (!store && changes_address(in, &stores))
            flush(&stores);
    }
    flush(&loads);
    flush(&stores);
}
