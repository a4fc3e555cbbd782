/*
 * regs.c - gives every register of a function a place in the frame.
 *
 * Registers that are never live at the same time share a place, so that a warp's frame stays in the
 * host's cache. Liveness on the control flow graph is right even for diverged lanes: a write
 * changes only the active lanes, so a place may hold different registers in different lanes. If we
 * do not know whether an instruction reads or writes an operand, we assume both.
 */
#include "base/util.h"
#include "emu/core/flow.h"
#include "emu/core/machine.h"

/* If solve() would need larger bit sets, we do not call it. Then each register that is live in
 * several basic blocks gets a place of its own. */
#define MAX_BITSET_BYTES (96ull << 20)

/* True if the instruction writes its first operand and reads the others. */
static bool defines_first(const struct ptx_insn *in)
{
    static const char *const ops[] = {
        "add",   "sub",   "mul",  "mad",        "mad24",      "mul24",     "fma",    "div",
        "rem",   "abs",   "neg",  "min",        "max",        "sad",       "popc",   "clz",
        "bfind", "fns",   "brev", "bfe",        "bfi",        "bmsk",      "szext",  "dp4a",
        "dp2a",  "lop3",  "prmt", "shl",        "shr",        "shf",       "and",    "or",
        "xor",   "not",   "cnot", "mov",        "ld",         "ldu",       "cvt",    "cvta",
        "setp",  "set",   "selp", "slct",       "testp",      "copysign",  "rcp",    "sqrt",
        "rsqrt", "sin",   "cos",  "lg2",        "ex2",        "tanh",      "shfl",   "vote",
        "match", "redux", "atom", "activemask", "elect",      "isspacep",  "mapa",   "ldmatrix",
        "mma",   "addc",  "subc", "madc",       "getctarank", "movmatrix", "alloca", "stacksave"};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (str_eq(in->op, ops[i]))
            return true;
    return false;
}

struct live {
    uint32_t start, end; /* first and last instruction at which the register is live */
    uint32_t gid;        /* the register's bit in struct pass, or UINT32_MAX if it has none */
    /* The basic block that uses the register, or NO_BLOCK. MANY_BLOCKS: several blocks use it, or
     * its value may come from an earlier iteration of a loop. */
    uint32_t block;
    bool pinned; /* the register shares its place with no other */
};
#define NO_BLOCK UINT32_MAX
#define MANY_BLOCKS (UINT32_MAX - 1)

typedef void (*visit_fn)(void *ctx, struct ptx_var *v, bool use, bool def);

static void visit_opnd(const struct ptx_opnd *o, bool use, bool def, visit_fn fn, void *ctx)
{
    if (o->kind == PO_REG)
        fn(ctx, o->var, use, def);
    if (o->kind == PO_ADDR && o->var && o->var->space == SP_REG)
        fn(ctx, o->var, true, false);
    bool in_addr = o->kind == PO_ADDR;
    for (uint32_t i = 0; i < o->n; i++)
        visit_opnd(&o->list[i], use || in_addr, def && !in_addr, fn, ctx);
    if (o->pair)
        visit_opnd(o->pair, use, def, fn, ctx);
}

static void visit_insn(const struct ptx_insn *in, visit_fn fn, void *ctx)
{
    bool first = defines_first(in);
    for (uint32_t i = 0; i < in->nops; i++) {
        bool def = i == 0 || !first;
        bool use = i > 0 || !first || in->guard;
        visit_opnd(&in->ops[i], use, def, fn, ctx);
    }
    if (in->guard)
        fn(ctx, in->guard, true, false);
}

struct reg_search {
    const struct ptx_var *var;
    bool read;
};

static void find_read(void *ctx, struct ptx_var *v, bool use, bool def)
{
    struct reg_search *s = ctx;
    s->read |= v == s->var && use;
    (void)def;
}

bool regs_result_is_read(const struct ptx_func *f, const struct ptx_insn *p)
{
    const struct ptx_opnd *dst = p->nops ? &p->ops[0] : NULL;
    if (!dst || dst->kind == PO_SINK)
        return false;
    if (dst->kind != PO_REG)
        return true; /* several registers, or an unknown kind of operand */
    struct reg_search s = {dst->var, false};
    for (size_t i = 0; i < f->insns.n && !s.read; i++)
        if (&f->insns.items[i] != p)
            visit_insn(&f->insns.items[i], find_read, &s);
    return s.read;
}

struct pass {
    struct live *lives;
    uint32_t at, block; /* the visited instruction, and its basic block */
    /* Sets of registers, one bit per gid: those that the block reads before it writes them, and
     * those that it writes. */
    uint64_t *gen, *kill;
    bool pin; /* the instruction's registers share no places */
};

static void note_blocks(void *ctx, struct ptx_var *v, bool use, bool def)
{
    struct pass *p = ctx;
    struct live *l = &p->lives[v->index];
    if (l->block == NO_BLOCK)
        l->block = p->block;
    else if (l->block != p->block)
        l->block = MANY_BLOCKS;
    if (l->start == UINT32_MAX)
        l->start = p->at;
    l->end = p->at;
    l->pinned |= p->pin;
    if (use && l->start == p->at)
        l->block = MANY_BLOCKS;
    (void)def;
}

static void note_gen(void *ctx, struct ptx_var *v, bool use, bool def)
{
    struct pass *p = ctx;
    uint32_t g = p->lives[v->index].gid;
    if (g == UINT32_MAX)
        return;
    if (use && !(p->kill[g / 64] >> (g % 64) & 1))
        p->gen[g / 64] |= 1ull << (g % 64);
    (void)def;
}

static void note_kill(void *ctx, struct ptx_var *v, bool use, bool def)
{
    struct pass *p = ctx;
    uint32_t g = p->lives[v->index].gid;
    if (g != UINT32_MAX && def && !use)
        p->kill[g / 64] |= 1ull << (g % 64);
}

static void extend(struct live *l, uint32_t at)
{
    l->start = MIN(l->start, at);
    l->end = MAX(l->end, at);
}

static void solve(const struct flow *g, const struct ptx_func *f, struct live *lives,
                  struct live **global, uint32_t nglobal)
{
    size_t words = (nglobal + 63) / 64;
    uint64_t *in = xcalloc(words * g->n, 8), *gen = xcalloc(words * g->n, 8);
    uint64_t *kill = xcalloc(words * g->n, 8), *out = xcalloc(words, 8);
    struct pass p = {.lives = lives};
    for (uint32_t b = 0; b < g->n; b++) {
        p.gen = gen + words * b;
        p.kill = kill + words * b;
        for (uint32_t i = g->blocks[b].first; i < g->blocks[b].end && i < f->insns.n; i++) {
            visit_insn(&f->insns.items[i], note_gen, &p);
            visit_insn(&f->insns.items[i], note_kill, &p);
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = g->n; b-- > 0;) {
            memset(out, 0, words * 8);
            for (uint32_t k = 0; k < g->blocks[b].nsucc; k++)
                for (size_t w = 0; w < words; w++)
                    out[w] |= in[words * g->blocks[b].succ[k] + w];
            for (size_t w = 0; w < words; w++) {
                uint64_t v = gen[words * b + w] | (out[w] & ~kill[words * b + w]);
                changed |= v != in[words * b + w];
                in[words * b + w] = v;
            }
        }
    }
    for (uint32_t b = 0; b < g->n; b++) {
        uint32_t first = g->blocks[b].first, last = g->blocks[b].end - 1;
        memset(out, 0, words * 8);
        for (uint32_t k = 0; k < g->blocks[b].nsucc; k++)
            for (size_t w = 0; w < words; w++)
                out[w] |= in[words * g->blocks[b].succ[k] + w];
        for (size_t w = 0; w < words; w++) {
            for (uint64_t m = in [words * b + w]; m; m &= m - 1)
                extend(global[w * 64 + (uint32_t)__builtin_ctzll(m)], first);
            for (uint64_t m = out[w]; m; m &= m - 1)
                extend(global[w * 64 + (uint32_t)__builtin_ctzll(m)], last);
        }
    }
    free(in);
    free(gen);
    free(kill);
    free(out);
}

static uint32_t slot_bytes(enum ptx_type t)
{
    switch (ptx_type_bits(t)) {
    case 1:
        return 4;
    case 8:
    case 16:
        return 64;
    case 32:
        return 128;
    case 64:
        return 256;
    default:
        return 512;
    }
}

static int slot_class(uint32_t bytes)
{
    return bytes == 4 ? 0 : bytes == 64 ? 1 : bytes == 128 ? 2 : bytes == 256 ? 3 : 4;
}

struct ending {
    uint32_t end, reg;
};

static void heap_push(struct ending *h, uint32_t *n, struct ending e)
{
    uint32_t i = (*n)++;
    while (i && h[(i - 1) / 2].end > e.end) {
        h[i] = h[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h[i] = e;
}

static void heap_pop(struct ending *h, uint32_t *n)
{
    struct ending e = h[--*n];
    uint32_t i = 0;
    for (uint32_t c; (c = 2 * i + 1) < *n; i = c) {
        if (c + 1 < *n && h[c + 1].end < h[c].end)
            c++;
        if (h[c].end >= e.end)
            break;
        h[i] = h[c];
    }
    h[i] = e;
}

struct by_start {
    uint32_t start, reg;
};

static int cmp_start(const void *a, const void *b)
{
    const struct by_start *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->reg < y->reg ? -1 : x->reg > y->reg;
}

static void assign(struct reg_plan *plan, const struct ptx_func *f, struct live *lives)
{
    uint32_t n = (uint32_t)f->regs.n, nheap = 0, order_n = 0, top = FRAME_HEAD, words = 0;
    struct by_start *order = xcalloc(n + 1, sizeof *order);
    struct ending *heap = xcalloc(n + 1, sizeof *heap);
    uint32_t *freed[5], nfreed[5] = {0};
    for (int c = 0; c < 5; c++)
        freed[c] = xcalloc(n + 1, 4);
    for (uint32_t r = 0; r < n; r++)
        if (lives[r].start != UINT32_MAX)
            order[order_n++] = (struct by_start){lives[r].start, r};
    qsort(order, order_n, sizeof *order, cmp_start);
    /* Predicates (4 bytes) come first, so that all other places are aligned to 64 bytes. */
    for (int preds = 1; preds >= 0; preds--) {
        nheap = 0;
        for (uint32_t k = 0; k < order_n; k++) {
            uint32_t r = order[k].reg, bytes = slot_bytes(f->regs.items[r]->type);
            int c = slot_class(bytes);
            if ((bytes == 4) != (preds == 1))
                continue;
            while (nheap && heap[0].end < lives[r].start) {
                uint32_t dead = heap[0].reg, db = slot_bytes(f->regs.items[dead]->type);
                int dc = slot_class(db);
                freed[dc][nfreed[dc]++] = plan->offset[dead];
                words -= db / 128;
                heap_pop(heap, &nheap);
            }
            if (nfreed[c]) {
                plan->offset[r] = freed[c][--nfreed[c]];
            } else {
                plan->offset[r] = top;
                top += bytes;
            }
            words += bytes / 128;
            plan->regs_live = MAX(plan->regs_live, words);
            heap_push(heap, &nheap, (struct ending){lives[r].end, r});
        }
        if (preds)
            top = (top + 63) & ~63u;
    }
    plan->frame_bytes = (top + 63) & ~63u;
    for (int c = 0; c < 5; c++)
        free(freed[c]);
    free(order);
    free(heap);
}

int regs_plan(struct reg_plan *plan, const struct ptx_func *f, struct arena *a, struct err *err)
{
    struct flow g;
    memset(plan, 0, sizeof *plan);
    if (flow_build(&g, f, a, err) < 0)
        return -1;
    uint32_t n = (uint32_t)f->regs.n, ni = (uint32_t)f->insns.n;
    plan->offset = arena_alloc(a, sizeof *plan->offset * (n + 1));
    plan->rank = arena_alloc(a, sizeof *plan->rank * (ni + 1));
    plan->leader = arena_alloc(a, ni + 1);
    struct live *lives = xcalloc(n + 1, sizeof *lives), **global = xcalloc(n + 1, sizeof *global);
    for (uint32_t r = 0; r < n; r++)
        lives[r] = (struct live){UINT32_MAX, 0, UINT32_MAX, NO_BLOCK, false};
    struct pass p = {.lives = lives};
    for (uint32_t b = 0; b < g.n; b++) {
        plan->leader[g.blocks[b].first] = 1;
        for (uint32_t i = g.blocks[b].first; i < g.blocks[b].end; i++) {
            plan->rank[i] = g.blocks[b].rank;
            if (i >= ni)
                continue;
            p.block = b;
            p.at = i;
            p.pin = str_eq(f->insns.items[i].op, "wgmma");
            visit_insn(&f->insns.items[i], note_blocks, &p);
        }
    }
    uint32_t nglobal = 0;
    for (uint32_t r = 0; r < n; r++) {
        if (lives[r].block == MANY_BLOCKS && !lives[r].pinned) {
            lives[r].gid = nglobal;
            global[nglobal++] = &lives[r];
        }
    }
    if ((uint64_t)nglobal / 8 * g.n * 3 > MAX_BITSET_BYTES) {
        for (uint32_t i = 0; i < nglobal; i++)
            global[i]->pinned = true;
    } else if (nglobal) {
        solve(&g, f, lives, global, nglobal);
    }
    for (uint32_t r = 0; r < n; r++) {
        if (lives[r].pinned) {
            lives[r].start = 0;
            lives[r].end = ni;
        }
    }
    assign(plan, f, lives);
    free(lives);
    free(global);
    if (plan->frame_bytes > MAX_FRAME_BYTES)
        return err_set(err, ERR_LIMIT, "function '%s' has too many registers", f->name);
    return 0;
}
