/*
 * undefined.c - follows undefined values from the instruction that made them to their first use.
 *
 * A kernel may load unwritten memory, or shuffle from a lane that takes no part, if it does not use
 * the value. So we report the load or shuffle only when its value is used. Until then we mark the
 * undefined bits of registers, lane by lane (undefined_bits.c). A use is one of these:
 * - A store to global memory that is not a workspace.
 * - The value decides a branch or a predicated instruction, or is part of an address.
 * - An instruction that this file does not follow reads the value, for example an atomic or a call.
 *
 * Copying is not a use. Marks go through local memory, shared memory, workspaces, exchanges between
 * lanes, and the matrix instructions of a warp (tensor/fragments.c).
 *
 * The origins of a value are the loads and shuffles from which it comes. Registers and local memory
 * keep all origins, a byte of shared memory one. An undefined byte of a workspace counts as
 * unwritten again, so a load of it is a new origin.
 *
 * In a function that the kernel calls, or when a table of this file is full, we report at once.
 */
#include "emu/sanitizer/undefined.h"

#include "base/util.h"

enum { MAX_REGS = 256, MAX_READS = 32, MAX_LOCAL = 256, MAX_ORIGINS = 255 };

struct undef_read {
    struct warp *warp;
    const struct insn *pc;
    enum finding_kind kind;
    uint32_t lane;
    const char *object;
    int64_t index;
    char text[256];
    /* If not NULL: the value is defined, but was loaded in a race (suspects.h). A use only sets
     * *used. */
    bool *used;
};

struct reg_mark {
    const struct ptx_var *var;
    uint32_t lanes; /* lanes in which the register has undefined bits */
    uint64_t bits[WARP];
    uint32_t origins[WARP]; /* bit i stands for undef.read[i] */
};

struct undef {
    uint32_t nregs, nreads, nlocal;
    struct reg_mark reg[MAX_REGS];
    struct undef_read read[MAX_READS];
    /* Undefined bytes of local memory. */
    struct {
        uint64_t addr;
        uint32_t lane, origins;
    } local[MAX_LOCAL];
    /* The present store if it copies undefined bytes to shared or global memory, else NULL. */
    const struct insn *store;
    uint64_t store_bad[WARP];     /* bit k: byte k is undefined */
    uint32_t store_origins[WARP]; /* the origins of these bytes */
};

static uint64_t low_bits(uint32_t n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* ---- marks ---------------------------------------------------------------------------------- */

static struct reg_mark *find_mark(struct undef *u, const struct ptx_var *var)
{
    for (uint32_t i = 0; i < u->nregs; i++)
        if (u->reg[i].var == var)
            return &u->reg[i];
    return NULL;
}

static uint32_t lanes_of(struct undef *u, const struct ptx_var *var)
{
    const struct reg_mark *m = find_mark(u, var);
    return m ? m->lanes : 0;
}

static uint64_t bits_of(struct undef *u, const struct ptx_var *var, uint32_t lane)
{
    const struct reg_mark *m = find_mark(u, var);
    return m && (m->lanes >> lane & 1) ? m->bits[lane] : 0;
}

static void unmark(struct undef *u, const struct ptx_var *var, uint32_t lanes)
{
    struct reg_mark *m = find_mark(u, var);
    if (!m)
        return;
    m->lanes &= ~lanes;
    if (!m->lanes)
        *m = u->reg[--u->nregs];
}

static bool mark_more(struct undef *u, const struct ptx_var *var, uint32_t lane, uint64_t bits,
                      uint32_t origins)
{
    bits &= low_bits(ptx_type_bits(var->type));
    if (!bits)
        return true;
    struct reg_mark *m = find_mark(u, var);
    if (!m) {
        if (u->nregs == MAX_REGS)
            return false;
        m = &u->reg[u->nregs++];
        m->var = var;
        m->lanes = 0;
    }
    bool more = m->lanes >> lane & 1;
    m->lanes |= 1u << lane;
    m->bits[lane] = bits | (more ? m->bits[lane] : 0);
    m->origins[lane] = origins | (more ? m->origins[lane] : 0);
    return true;
}

static bool mark(struct undef *u, const struct ptx_var *var, uint32_t lane, uint64_t bits,
                 uint32_t origins)
{
    unmark(u, var, 1u << lane);
    return mark_more(u, var, lane, bits, origins);
}

static void unmark_local(struct undef *u, uint32_t lane, uint64_t addr, uint64_t n)
{
    for (uint32_t i = 0; i < u->nlocal;)
        if (u->local[i].lane == lane && u->local[i].addr - addr < n)
            u->local[i] = u->local[--u->nlocal];
        else
            i++;
}

/* If nothing is marked, clears w->undef, so that undef_step() is no longer called. */
static void tidy(struct warp *w, struct undef *u)
{
    if (!u->nregs && !u->nlocal) {
        u->nreads = 0;
        w->undef = NULL;
    }
}

/* ---- reports -------------------------------------------------------------------------------- */

static void report_one(const struct undef_read *r)
{
    struct frame *was = r->warp->frame;
    r->warp->frame = r->warp->frame0; /* for the source line of emu_finding() */
    if (r->used)
        *r->used = true;
    else
        emu_finding(r->warp, r->pc, (int)r->lane, r->kind, r->object, r->index, NULL, "%s",
                    r->text);
    r->warp->frame = was;
}

/* Reports each of these origins, and removes them from all marks, so that each is reported once. */
static void report(struct undef *u, uint32_t origins)
{
    for (uint32_t m = origins; m; m &= m - 1)
        report_one(&u->read[__builtin_ctz(m)]);
    for (uint32_t i = 0; i < u->nregs;) {
        struct reg_mark *m = &u->reg[i];
        for (uint32_t k = 0; k < WARP; k++)
            if ((m->lanes >> k & 1) && !(m->origins[k] &= ~origins))
                m->lanes &= ~(1u << k);
        if (m->lanes)
            i++;
        else
            *m = u->reg[--u->nregs];
    }
    for (uint32_t i = 0; i < u->nlocal;)
        if (!(u->local[i].origins &= ~origins))
            u->local[i] = u->local[--u->nlocal];
        else
            i++;
}

static void report_var(struct undef *u, const struct ptx_var *var, uint32_t lanes)
{
    const struct reg_mark *m = find_mark(u, var);
    uint32_t origins = 0;
    for (uint32_t k = m ? m->lanes & lanes : 0; k; k &= k - 1)
        origins |= m->origins[__builtin_ctz(k)];
    if (origins)
        report(u, origins);
}

static void report_operand(struct undef *u, const struct ptx_opnd *o, uint32_t lanes)
{
    if ((o->kind == PO_REG || o->kind == PO_ADDR) && o->var)
        report_var(u, o->var, lanes);
    for (uint32_t i = 0; o->kind != PO_TARGETS && o->list && i < o->n; i++)
        report_operand(u, &o->list[i], lanes);
    if (o->pair)
        report_operand(u, o->pair, lanes);
}

static uint32_t marked_lanes(struct undef *u, const struct ptx_opnd *o)
{
    uint32_t lanes = 0;
    if ((o->kind == PO_REG || o->kind == PO_ADDR) && o->var)
        lanes |= lanes_of(u, o->var);
    for (uint32_t i = 0; o->kind != PO_TARGETS && o->list && i < o->n; i++)
        lanes |= marked_lanes(u, &o->list[i]);
    return lanes | (o->pair ? marked_lanes(u, o->pair) : 0);
}

static uint32_t origins_of(struct undef *u, const struct ptx_opnd *o, uint32_t lane)
{
    const struct reg_mark *m = o->kind == PO_REG && o->var ? find_mark(u, o->var) : NULL;
    uint32_t origins = m && (m->lanes >> lane & 1) ? m->origins[lane] : 0;
    for (uint32_t i = 0; o->kind == PO_VEC && i < o->n; i++)
        origins |= origins_of(u, &o->list[i], lane);
    return origins;
}

/* ---- new marks ------------------------------------------------------------------------------ */

static uint32_t marked_origins(const struct warp *w, const struct undef *u)
{
    uint32_t origins = 0;
    for (uint32_t i = 0; i < u->nregs; i++)
        for (uint32_t m = u->reg[i].lanes; m; m &= m - 1)
            origins |= u->reg[i].origins[__builtin_ctz(m)];
    for (uint32_t i = 0; i < u->nlocal; i++)
        origins |= u->local[i].origins;
    for (uint64_t m = w->matrix ? w->matrix->undefined : 0; m; m &= m - 1)
        origins |= w->matrix->at[__builtin_ctzll(m)].origins;
    return origins;
}

/* Finds or adds the record of a load or shuffle, and sets *read to its index. If the table is full,
 * the record replaces one that no mark names. Returns NULL if marks name all records. */
static struct undef *begin_read(struct warp *w, const struct undef_read *r, uint32_t *read)
{
    struct undef *u = w->san->undef;
    if (!u)
        u = w->san->undef = xcalloc(1, sizeof *u);
    if (!w->undef)
        u->nregs = u->nreads = u->nlocal = 0;
    for (*read = 0; *read < u->nreads; ++*read)
        if (u->read[*read].pc == r->pc && u->read[*read].used == r->used)
            break;
    if (*read == MAX_READS) {
        uint32_t unmarked = ~marked_origins(w, u);
        if (!unmarked)
            return NULL;
        *read = (uint32_t)__builtin_ctz(unmarked);
        u->read[*read] = *r;
    }
    if (*read == u->nreads)
        u->read[u->nreads++] = *r;
    return u;
}

/* Marks the undefined bits of the registers that a load of n bytes writes. Bit k of `bad`: byte k
 * of these bytes is undefined. Returns false if there are too many marks. */
static bool mark_loaded(struct undef *u, const struct ptx_insn *p, uint32_t lane, uint32_t n,
                        uint64_t bad, uint32_t origins)
{
    const struct ptx_opnd *to = &p->ops[0];
    uint32_t count = to->kind == PO_VEC ? to->n : 1, size = n / MAX(count, 1u);
    bool sign = ptx_is_signed(ptx_last_type(p));
    for (uint32_t k = 0; k < count; k++) {
        const struct ptx_opnd *o = to->kind == PO_VEC ? &to->list[k] : to;
        uint64_t bytes = bad >> (k * size) & low_bits(size), bits = 0;
        if (o->kind != PO_REG || !bytes)
            continue;
        for (uint32_t i = 0; i < MIN(size, 8u); i++)
            bits |= bytes >> i & 1 ? UINT64_C(0xff) << (8 * i) : 0;
        if (bytes >> 8) /* a register of 128 bits */
            bits = UINT64_MAX;
        if (sign && size < 8 && bits >> (8 * size - 1))
            bits |= ~low_bits(8 * size);
        if (!mark_more(u, o->var, lane, bits, origins))
            return false;
    }
    return true;
}

static bool can_follow(const struct warp *w, const struct ptx_insn *p, const char *op)
{
    return str_eq(p->op, op) && p->nops && w->frame == w->frame0;
}

static void add_undefined(struct matrix_access *a, uint64_t bytes, uint32_t origins)
{
    uint64_t bit = UINT64_C(1) << a->segment;
    if (!(a->undefined & bit))
        a->at[a->segment] = (struct matrix_segment){0};
    a->undefined |= bit;
    a->at[a->segment].bytes |= bytes;
    a->at[a->segment].origins |= origins;
}

static bool follow_load(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t n,
                        uint64_t bad, const struct undef_read *r)
{
    const struct ptx_insn *p = insn_src(w, pc);
    uint32_t read;
    bool matrix = w->matrix && w->frame == w->frame0;
    struct undef *u = matrix || can_follow(w, p, "ld") ? begin_read(w, r, &read) : NULL;
    if (!u)
        return false;
    w->undef = u;
    if (matrix)
        add_undefined(w->matrix, bad, 1u << read);
    return matrix || mark_loaded(u, p, lane, n, bad, 1u << read);
}

bool undef_read(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t n, uint64_t bad,
                const char *object, int64_t index, const char *text)
{
    struct undef_read r = {
        .warp = w, .pc = pc, .kind = FIND_UNINIT, .lane = lane, .object = object, .index = index};
    snprintf(r.text, sizeof r.text, "%s", text);
    return follow_load(w, pc, lane, n, bad, &r);
}

bool undef_follow(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t n, uint64_t bytes,
                  bool *used)
{
    struct undef_read r = {.warp = w,
                           .pc = pc,
                           .kind = FIND_RACE,
                           .lane = lane,
                           .object = "",
                           .index = -1,
                           .used = used};
    return follow_load(w, pc, lane, n, bytes, &r);
}

bool undef_absent(struct warp *w, const struct insn *pc, uint32_t lanes, const char *text)
{
    const struct ptx_insn *p = insn_src(w, pc);
    struct undef_read r = {.warp = w,
                           .pc = pc,
                           .kind = FIND_BARRIER,
                           .lane = (uint32_t)__builtin_ctz(lanes),
                           .object = "warp",
                           .index = -1};
    uint32_t read;
    snprintf(r.text, sizeof r.text, "%s", text);
    struct undef *u =
        can_follow(w, p, "shfl") && p->ops[0].kind == PO_REG ? begin_read(w, &r, &read) : NULL;
    if (!u)
        return false;
    w->undef = u;
    for (uint32_t m = lanes; m; m &= m - 1)
        if (!mark(u, p->ops[0].var, (uint32_t)__builtin_ctz(m), UINT64_MAX, 1u << read))
            return false;
    return true;
}

/* ---- copies in memory ----------------------------------------------------------------------- */

/* Returns a mask of the present store's undefined bytes. Sets *origin to one of their origins, or
 * NULL. */
static uint64_t bytes_stored(const struct warp *w, const struct insn *pc, uint32_t lane,
                             const struct undef_read **origin)
{
    const struct undef *u = w->undef;
    uint64_t bytes = u && u->store == pc ? u->store_bad[lane] : 0;
    uint32_t origins = bytes ? u->store_origins[lane] : 0;
    if (w->matrix && w->matrix->undefined >> w->matrix->segment & 1) {
        bytes = w->matrix->at[w->matrix->segment].bytes;
        origins = w->matrix->at[w->matrix->segment].origins;
    }
    *origin = bytes && origins && u ? &u->read[__builtin_ctz(origins)] : NULL;
    return *origin ? bytes : 0;
}

void undef_shared_stored(struct warp *w, const struct insn *pc, uint32_t lane, struct block *b,
                         uint32_t off, uint32_t n)
{
    struct block_san *s = b->san;
    const struct undef_read *r;
    uint64_t bad = bytes_stored(w, pc, lane, &r);
    uint8_t origin = 0;
    if (bad) {
        while (origin < s->norigins && s->origins[origin].pc != r->pc)
            origin++;
        if (origin == MAX_ORIGINS)
            bad = 0;
        else if (origin == s->norigins)
            s->origins[s->norigins++] = *r;
    }
    for (uint32_t k = 0; k < n && off + k < b->smem_bytes; k++)
        s->copies[off + k] = bad >> k & 1 ? (uint8_t)(origin + 1) : 0;
}

void undef_shared_clear(struct block_san *s, uint32_t off, uint32_t n)
{
    memset(s->copies + off, 0, n);
}

uint64_t undef_shared_copies(const struct block_san *s, uint32_t off, uint32_t n)
{
    uint64_t bad = 0;
    for (uint32_t k = 0; k < MIN(n, 64u); k++)
        bad |= (uint64_t)(s->copies[off + k] != 0) << k;
    return bad;
}

void undef_shared_load(struct warp *w, const struct insn *pc, uint32_t lane, struct block_san *s,
                       uint32_t off, uint32_t n, uint32_t access)
{
    uint64_t bad = undef_shared_copies(s, off, n);
    if (!bad)
        return;
    const struct undef_read *r = &s->origins[s->copies[off + (uint32_t)__builtin_ctzll(bad)] - 1];
    if (!(access & MEM_WRITE) && follow_load(w, pc, lane, n, bad, r))
        return;
    report_one(r);
}

void undef_shared_reset(struct block *b, bool release)
{
    struct block_san *s = b->san;
    if (release) {
        free(s->copies);
        free(s->origins);
    } else if (s->copying) {
        memset(s->copies, 0, b->smem_bytes);
        s->norigins = 0;
        s->copying = false;
    }
}

uint64_t undef_stored(const struct warp *w, const struct insn *pc, uint32_t lane)
{
    const struct undef_read *r;
    return bytes_stored(w, pc, lane, &r);
}

static uint64_t stored_bytes(struct undef *u, const struct ptx_insn *p, const struct insn *in,
                             uint32_t lane)
{
    const struct ptx_opnd *from = &p->ops[1];
    uint32_t count = from->kind == PO_VEC ? from->n : 1, size = in->sub[1];
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < count; k++) {
        const struct ptx_opnd *o = from->kind == PO_VEC ? &from->list[k] : from;
        uint64_t bits = o->kind == PO_REG ? bits_of(u, o->var, lane) : 0;
        for (uint32_t i = 0; bits && i < size && k * size + i < 64; i++)
            if (i >= 8 || (bits >> (8 * i) & 0xff))
                bytes |= UINT64_C(1) << (k * size + i);
    }
    return bytes;
}

/* Returns whether this memory can hold marks. Prepares the tables for shared memory. */
static bool may_hold(struct warp *w, enum ptx_space sp, uint64_t addr)
{
    if (sp == SP_SHARED || sp == SP_SHARED_CLUSTER) {
        uint32_t off;
        struct block *b = smem_block(w, (uint32_t)addr, &off);
        if (!b || !b->san)
            return false;
        if (!b->san->copies) {
            b->san->copies = xcalloc(b->smem_bytes, 1);
            b->san->origins = xcalloc(MAX_ORIGINS, sizeof *b->san->origins);
        }
        b->san->copying = true;
        return b->san->norigins < MAX_ORIGINS;
    }
    if (sp == SP_GLOBAL) {
        const struct alloc *a = mem_find(&w->launch->emu->mem, addr);
        return a && a->role == JOB_WORKSPACE && a->shadowed;
    }
    return sp == SP_LOCAL;
}

static uint32_t suspects_of(const struct undef *u, uint32_t origins)
{
    uint32_t out = 0;
    for (uint32_t m = origins; m; m &= m - 1)
        out |= u->read[__builtin_ctz(m)].used ? m & -m : 0;
    return out;
}

/* Reports the origins of a stored value that we cannot follow in memory, and removes them from
 * *origins. Values loaded in a race are followed only in registers. Returns whether origins are
 * left. */
static bool keep_copy(struct warp *w, struct undef *u, enum ptx_space sp, uint64_t addr,
                      uint32_t *origins)
{
    uint32_t now = may_hold(w, sp, addr) ? suspects_of(u, *origins) : *origins;
    if (now)
        report(u, now);
    *origins &= ~now;
    return *origins != 0;
}

static void store_lane(struct warp *w, struct undef *u, const struct ptx_insn *p,
                       const struct insn *in, uint32_t lane, uint64_t addr)
{
    enum ptx_space sp = in->sub[0] == SP_GENERIC ? generic_space(addr) : in->sub[0];
    uint64_t bad = stored_bytes(u, p, in, lane);
    uint32_t n = in->sub[1] * (uint32_t)in->nv;
    if (sp != SP_GLOBAL)
        addr &= ~WIN_MASK;
    if (sp == SP_LOCAL)
        unmark_local(u, lane, addr, n);
    if (!bad)
        return;
    uint32_t origins = origins_of(u, &p->ops[1], lane);
    if (!keep_copy(w, u, sp, addr, &origins))
        return;
    if (sp != SP_LOCAL) {
        u->store = in;
        u->store_bad[lane] = bad;
        u->store_origins[lane] = origins;
        return;
    }
    if (u->nlocal + (uint32_t)__builtin_popcountll(bad) > MAX_LOCAL) {
        report(u, origins);
        return;
    }
    for (; bad; bad &= bad - 1) {
        u->local[u->nlocal].addr = addr + (uint32_t)__builtin_ctzll(bad);
        u->local[u->nlocal].lane = lane;
        u->local[u->nlocal++].origins = origins;
    }
}

static bool is_plain_store(const struct ptx_insn *p, const struct insn *in)
{
    return str_eq(p->op, "st") && p->nops == 2 && !ptx_has(p, "async") && !ptx_has(p, "bulk") &&
           in->sub[0] != SP_PARAM && in->nv;
}

static void step_store(struct warp *w, struct undef *u, const struct ptx_insn *p,
                       const struct insn *in, uint32_t lanes)
{
    uint64_t addr[WARP];
    report_operand(u, &p->ops[0], lanes);
    if (!u->nlocal && !(marked_lanes(u, &p->ops[1]) & lanes))
        return;
    lane_addrs(w, in, in->o[1], in->sub[3], addr);
    memset(u->store_bad, 0, sizeof u->store_bad);
    for (uint32_t m = lanes; m; m &= m - 1)
        store_lane(w, u, p, in, (uint32_t)__builtin_ctz(m), addr[__builtin_ctz(m)]);
}

/* Marks the destination of a load from local memory. For other memory, global.c, shared.c and
 * suspects.c do this. */
static void step_load(struct warp *w, struct undef *u, const struct ptx_insn *p,
                      const struct insn *in, uint32_t lanes)
{
    uint64_t addr[WARP];
    if (!u->nlocal || (in->sub[0] != SP_LOCAL && in->sub[0] != SP_GENERIC) || !in->nv)
        return;
    lane_addrs(w, in, in->o[1], in->sub[3], addr);
    for (uint32_t m = lanes; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m), n = in->sub[1] * (uint32_t)in->nv, origins = 0;
        uint64_t bad = 0, a = addr[lane];
        if (in->sub[0] == SP_GENERIC && generic_space(a) != SP_LOCAL)
            continue;
        a &= ~WIN_MASK;
        for (uint32_t i = 0; i < u->nlocal; i++)
            if (u->local[i].lane == lane && u->local[i].addr - a < MIN(n, 64u)) {
                bad |= UINT64_C(1) << (u->local[i].addr - a);
                origins |= u->local[i].origins;
            }
        if (bad && !mark_loaded(u, p, lane, n, bad, origins))
            report(u, origins);
    }
}

/* ---- instructions --------------------------------------------------------------------------- */

static bool is_plain(const struct ptx_insn *p)
{
    static const char *const ops[] = {
        "mov",  "add",  "sub",   "mul",  "mad",  "fma", "neg", "abs",  "min",      "max",  "and",
        "or",   "xor",  "not",   "cnot", "shl",  "shr", "shf", "cvt",  "selp",     "setp", "set",
        "slct", "sqrt", "rsqrt", "rcp",  "ex2",  "lg2", "sin", "cos",  "tanh",     "div",  "rem",
        "prmt", "bfe",  "bfi",   "lop3", "popc", "clz", "sad", "brev", "copysign", "cvta"};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (str_eq(p->op, ops[i]))
            return !ptx_has(p, "cc") && p->nops <= UNDEF_OPERANDS; /* the carry flag has no marks */
    return false;
}

static bool is_exchange(const struct ptx_insn *p)
{
    return str_eq(p->op, "shfl") || str_eq(p->op, "vote") || str_eq(p->op, "match") ||
           str_eq(p->op, "redux");
}

/* Returns whether p writes its first operand without reading it. wgmma also reads its
 * accumulators. */
static bool has_destination(const struct ptx_insn *p)
{
    static const char *const reads[] = {"bar", "barrier", "nanosleep", "wgmma", "brx", "st", "red"};
    for (size_t i = 0; i < ARRAY_LEN(reads); i++)
        if (str_eq(p->op, reads[i]))
            return false;
    return p->nops && (p->ops[0].kind == PO_REG || p->ops[0].kind == PO_VEC);
}

static void unmark_operand(struct undef *u, const struct ptx_opnd *o, uint32_t lanes)
{
    if (o->kind == PO_REG)
        unmark(u, o->var, lanes);
    for (uint32_t i = 0; o->kind == PO_VEC && i < o->n; i++)
        unmark_operand(u, &o->list[i], lanes);
    if (o->pair)
        unmark_operand(u, o->pair, lanes);
}

/* Returns the undefined bits of an operand in one lane. The bits of a vector operand are packed as
 * mov packs its values. */
static uint64_t operand_bits(struct undef *u, const struct ptx_insn *p, const struct ptx_opnd *o,
                             uint32_t lane)
{
    uint64_t bits = 0;
    if (o->kind == PO_REG)
        return bits_of(u, o->var, lane);
    uint32_t part = o->kind == PO_VEC && o->n ? ptx_type_bits(ptx_last_type(p)) / o->n : 0;
    for (uint32_t i = 0; o->kind == PO_VEC && i < o->n; i++) {
        uint64_t b = o->list[i].kind == PO_REG ? bits_of(u, o->list[i].var, lane) : 0;
        bits |= b && part * i >= 64 ? UINT64_MAX : b ? (b & low_bits(part)) << (part * i) : 0;
    }
    return bits;
}

static bool write_bits(struct undef *u, const struct ptx_insn *p, const struct ptx_opnd *o,
                       uint32_t lane, uint64_t bits, uint32_t origins)
{
    bool ok = true;
    uint32_t part = o->kind == PO_VEC && o->n ? ptx_type_bits(ptx_last_type(p)) / o->n : 0;
    if (o->kind == PO_REG)
        ok = mark(u, o->var, lane, bits, origins);
    for (uint32_t i = 0; o->kind == PO_VEC && i < o->n; i++)
        if (o->list[i].kind == PO_REG) {
            uint64_t b = part * i >= 64 ? (bits ? UINT64_MAX : 0) : bits >> (part * i);
            ok &= mark(u, o->list[i].var, lane, b & low_bits(part), origins);
        }
    if (o->pair && o->pair->kind == PO_REG)
        ok &= mark(u, o->pair->var, lane, bits ? UINT64_MAX : 0, origins);
    return ok;
}

/* Returns the origins of those operands that would make the result undefined even if all others
 * were defined. If there are no such operands, returns the origins of all operands. */
static uint32_t result_origins(const struct undef_operands *x, const uint32_t from[UNDEF_OPERANDS])
{
    uint32_t all = 0, alone = 0, marked = 0;
    for (uint32_t k = 1; k < x->p->nops; k++) {
        all |= from[k];
        marked += from[k] != 0;
    }
    for (uint32_t k = 1; k < x->p->nops && marked > 1; k++) {
        struct undef_operands one = *x;
        memset(one.u, 0, sizeof one.u);
        one.u[k] = x->u[k];
        if (from[k] && undef_result(&one))
            alone |= from[k];
    }
    return alone ? alone : all;
}

static void step_plain(struct warp *w, struct undef *u, const struct ptx_insn *p,
                       const struct insn *in, uint32_t lanes, uint32_t marked)
{
    struct undef_operands x = {.w = w, .p = p, .in = in};
    uint64_t bits[WARP];
    uint32_t origins[WARP];
    for (uint32_t m = marked; m; m &= m - 1) {
        uint32_t lane = x.lane = (uint32_t)__builtin_ctz(m), from[UNDEF_OPERANDS] = {0};
        for (uint32_t k = 1; k < p->nops; k++) {
            x.u[k] = operand_bits(u, p, &p->ops[k], lane);
            from[k] = origins_of(u, &p->ops[k], lane);
        }
        bits[lane] = undef_result(&x);
        origins[lane] = bits[lane] ? result_origins(&x, from) : 0;
    }
    unmark_operand(u, &p->ops[0], lanes & ~marked);
    for (uint32_t m = marked; m; m &= m - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(m);
        if (!write_bits(u, p, &p->ops[0], lane, bits[lane], origins[lane]))
            report(u, origins[lane]);
    }
}

/* ---- matrices ------------------------------------------------------------------------------- */

uint64_t undef_bits(const struct warp *w, const struct ptx_opnd *o, uint32_t lane,
                    uint32_t *origins)
{
    uint64_t bits = o->kind == PO_REG ? bits_of(w->undef, o->var, lane) : 0;
    if (bits)
        *origins |= origins_of(w->undef, o, lane);
    return bits;
}

void undef_mark(struct warp *w, const struct ptx_opnd *o, uint32_t lane, uint64_t bits,
                uint32_t origins)
{
    if (o->kind == PO_REG && !mark(w->undef, o->var, lane, bits, origins))
        report(w->undef, origins);
}

void undef_store_segment(struct warp *w, enum ptx_space sp, uint64_t addr, uint64_t bytes,
                         uint32_t origins)
{
    if (sp == SP_GENERIC)
        sp = generic_space(addr);
    if (sp != SP_GLOBAL)
        addr &= ~WIN_MASK;
    if (bytes && keep_copy(w, w->undef, sp, addr, &origins))
        add_undefined(w->matrix, bytes, origins);
}

/* Returns whether tensor/fragments.c passes on the marks of operand i. */
static bool is_fragment(const struct ptx_insn *p, uint32_t i)
{
    if (str_eq(p->op, "mma") || (str_eq(p->op, "wmma") && ptx_has(p, "mma")))
        return i < 4;
    if (str_eq(p->op, "ldmatrix") || (str_eq(p->op, "wmma") && ptx_has(p, "load")))
        return i == 0;
    if (str_eq(p->op, "stmatrix") || (str_eq(p->op, "wmma") && ptx_has(p, "store")))
        return i == 1;
    return str_eq(p->op, "movmatrix");
}

static bool handled_later(const struct ptx_insn *p, uint32_t i)
{
    return (i == 1 && is_exchange(p)) || is_fragment(p, i);
}

static uint32_t address_lanes(const struct ptx_insn *p)
{
    if (!str_eq(p->op, "ldmatrix") && !str_eq(p->op, "stmatrix"))
        return FULL;
    return ptx_has(p, "x1") ? 0xff : ptx_has(p, "x2") ? 0xffff : FULL;
}

/* ---- steps ---------------------------------------------------------------------------------- */

void undef_step(struct warp *w, const struct insn *in)
{
    struct undef *u = w->undef;
    const struct ptx_insn *p = insn_src(w, in);
    uint32_t lanes = w->mask, marked = 0;
    u->store = NULL;
    if (p->guard) {
        report_var(u, p->guard, lanes);
        uint32_t g = opnd_pred(w, in->guard);
        lanes &= in->flags & INSN_GUARD_NEG ? ~g : g;
    }
    if (is_plain_store(p, in)) {
        step_store(w, u, p, in, lanes);
        tidy(w, u);
        return;
    }
    uint32_t first = has_destination(p);
    if (first && is_plain(p)) {
        for (uint32_t i = 1; i < p->nops; i++)
            marked |= marked_lanes(u, &p->ops[i]) & lanes;
        step_plain(w, u, p, in, lanes, marked);
    } else {
        for (uint32_t i = first; i < p->nops; i++)
            if (!handled_later(p, i))
                report_operand(u, &p->ops[i], lanes & address_lanes(p));
        if (first && !is_exchange(p) && !is_fragment(p, 1))
            unmark_operand(u, &p->ops[0], lanes);
        if (str_eq(p->op, "ld"))
            step_load(w, u, p, in, lanes);
    }
    tidy(w, u);
}

static bool moves(const struct ptx_insn *p)
{
    return str_eq(p->op, "shfl");
}

void undef_exchange(struct warp *w, const struct insn *const at[WARP], const uint32_t from[WARP])
{
    struct undef *u = w->undef;
    const struct ptx_insn *p[WARP] = {NULL};
    uint64_t bits[WARP] = {0};
    uint32_t origins[WARP] = {0}, marked = 0;
    FOR_LANES(i, w)
    {
        p[i] = insn_src(w, at[i]);
        const struct ptx_opnd *src = &p[i]->ops[1];
        if (w->frame != w->frame0)
            report_operand(u, src, 1u << i);
        else if (src->kind == PO_REG)
            marked |= lanes_of(u, src->var) & 1u << i;
    }
    if (w->frame != w->frame0)
        return;
    FOR_LANES(i, w)
    {
        uint32_t sources = from[i] & marked;
        if (sources) {
            uint32_t k = (uint32_t)__builtin_ctz(sources);
            bits[i] = moves(p[i]) ? bits_of(u, p[k]->ops[1].var, k) : UINT64_MAX;
            for (uint32_t m = sources; m; m &= m - 1) {
                uint32_t j = (uint32_t)__builtin_ctz(m);
                origins[i] |= origins_of(u, &p[j]->ops[1], j);
            }
        }
    }
    FOR_LANES(i, w)
    {
        const struct ptx_opnd *dst = &p[i]->ops[0];
        unmark_operand(u, dst, 1u << i);
        if (!bits[i])
            continue;
        bool ok = dst->kind != PO_REG || mark(u, dst->var, i, bits[i], origins[i]);
        if (!moves(p[i]) && dst->pair && dst->pair->kind == PO_REG)
            ok &= mark(u, dst->pair->var, i, UINT64_MAX, origins[i]);
        if (!ok)
            report(u, origins[i]);
    }
    tidy(w, u);
}
