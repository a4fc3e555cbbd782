/*
 * undefined.c - follows unwritten values from the load that read them to their first use.
 *
 * A kernel may load unwritten memory, such as the edge of a tile or the rest of a vector, as long
 * as it does not use the value. So we do not report such a load at once: we mark its destination
 * registers, lane by lane, and arithmetic passes the marks on. We report the load at the first use
 * of a marked value. A use is: the kernel stores the value; the value decides a branch or a
 * predicated instruction; it is part of an address; or it reaches an instruction that is not plain
 * arithmetic of one lane (shuffles, votes, tensor cores).
 *
 * Two things do not count as a use. One is a select or a condition whose result does not depend on
 * the marked part. The other is a plain copy of a partly written word to shared or local memory,
 * because copying a structure copies its padding. The copy then counts as written.
 *
 * We follow only registers of the entry. We report other loads at once: those in other functions,
 * and those for which the tables here have no room.
 */
#include "base/util.h"
#include "emu/sanitizer/state.h"

enum { MAX_REGS = 64, MAX_READS = 16 };

struct undef_read {
    const struct insn *pc;
    uint32_t lane;
    const char *object;
    int64_t index;
    char text[256];
};

struct undef {
    uint32_t nregs, nreads;
    struct {
        const struct ptx_var *var;
        uint32_t lanes, read; /* read: index of the load that the mark came from */
        bool in_part; /* the value is still as loaded, and some of its bytes had been written */
    } reg[MAX_REGS];
    struct undef_read read[MAX_READS];
};

static uint32_t lanes_of(const struct undef *u, const struct ptx_var *var)
{
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < u->nregs; i++)
        lanes |= u->reg[i].var == var ? u->reg[i].lanes : 0;
    return lanes;
}

static void unmark(struct undef *u, const struct ptx_var *var, uint32_t lanes)
{
    for (uint32_t i = 0; i < u->nregs;) {
        if (u->reg[i].var == var)
            u->reg[i].lanes &= ~lanes;
        if (u->reg[i].lanes)
            i++;
        else
            u->reg[i] = u->reg[--u->nregs];
    }
}

static bool mark(struct undef *u, const struct ptx_var *var, uint32_t lanes, uint32_t read,
                 bool in_part)
{
    for (uint32_t i = 0; i < u->nregs; i++)
        if (u->reg[i].var == var && u->reg[i].read == read) {
            u->reg[i].lanes |= lanes;
            u->reg[i].in_part = u->reg[i].in_part && in_part;
            return true;
        }
    if (u->nregs == MAX_REGS)
        return false;
    u->reg[u->nregs].var = var;
    u->reg[u->nregs].lanes = lanes;
    u->reg[u->nregs].in_part = in_part;
    u->reg[u->nregs++].read = read;
    return true;
}

/* Reports the load and removes all marks that came from it, so that it is reported once. */
static void report(struct warp *w, struct undef *u, uint32_t read)
{
    const struct undef_read *r = &u->read[read];
    emu_finding(w, r->pc, (int)r->lane, FIND_UNINIT, r->object, r->index, NULL, "%s", r->text);
    for (uint32_t i = 0; i < u->nregs;)
        if (u->reg[i].read == read)
            u->reg[i] = u->reg[--u->nregs];
        else
            i++;
}

static void report_var(struct warp *w, struct undef *u, const struct ptx_var *var, uint32_t lanes)
{
    for (uint32_t i = 0; i < u->nregs;)
        if (u->reg[i].var == var && (u->reg[i].lanes & lanes)) {
            report(w, u, u->reg[i].read);
            i = 0;
        } else {
            i++;
        }
}

/* Calls fn for every register of an operand. */
typedef void (*each_fn)(void *arg, const struct ptx_var *var);
static void each_reg(const struct ptx_opnd *o, each_fn fn, void *arg)
{
    if ((o->kind == PO_REG || o->kind == PO_ADDR) && o->var)
        fn(arg, o->var);
    for (uint32_t i = 0; o->kind != PO_TARGETS && o->list && i < o->n; i++)
        each_reg(&o->list[i], fn, arg);
    if (o->pair)
        each_reg(o->pair, fn, arg);
}

struct step {
    struct warp *w;
    struct undef *u;
    uint32_t lanes; /* that execute */
    uint32_t marked;
    uint32_t read;
    bool whole; /* some marked register is not in_part */
    bool full;
};

static void add_marks(void *arg, const struct ptx_var *var)
{
    struct step *s = arg;
    for (uint32_t i = 0; i < s->u->nregs; i++)
        if (s->u->reg[i].var == var && (s->u->reg[i].lanes & s->lanes)) {
            s->marked |= s->u->reg[i].lanes & s->lanes;
            s->read = s->u->reg[i].read;
            s->whole = s->whole || !s->u->reg[i].in_part;
        }
}

static void report_use(void *arg, const struct ptx_var *var)
{
    struct step *s = arg;
    report_var(s->w, s->u, var, s->lanes);
}

static void write_marks(void *arg, const struct ptx_var *var)
{
    struct step *s = arg;
    unmark(s->u, var, s->lanes);
    if (s->marked && !mark(s->u, var, s->marked, s->read, !s->whole))
        s->full = true;
}

/* Plain arithmetic of one lane: the result is marked if an operand is. */
static bool is_plain(const struct ptx_insn *p)
{
    static const char *const ops[] = {
        "mov",  "add",  "sub",   "mul",  "mad",  "fma", "neg", "abs",  "min",      "max",  "and",
        "or",   "xor",  "not",   "cnot", "shl",  "shr", "shf", "cvt",  "selp",     "setp", "set",
        "slct", "sqrt", "rsqrt", "rcp",  "ex2",  "lg2", "sin", "cos",  "tanh",     "div",  "rem",
        "prmt", "bfe",  "bfi",   "lop3", "popc", "clz", "sad", "brev", "copysign", "cvta"};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (str_eq(p->op, ops[i]))
            return !ptx_has(p, "cc"); /* marks do not follow the carry */
    return false;
}

/* Whether the instruction writes its first operand and does not read it. The exceptions are stores,
 * branches, barriers, nanosleep, and wgmma with its accumulators. */
static bool has_destination(const struct ptx_insn *p)
{
    static const char *const reads[] = {"bar", "barrier", "nanosleep", "wgmma", "brx", "st", "red"};
    for (size_t i = 0; i < ARRAY_LEN(reads); i++)
        if (str_eq(p->op, reads[i]))
            return false;
    return p->nops && (p->ops[0].kind == PO_REG || p->ops[0].kind == PO_VEC);
}

static uint32_t marked_in(struct step s, const struct ptx_opnd *o)
{
    s.marked = 0;
    each_reg(o, add_marks, &s);
    return s.marked;
}

static uint32_t pred_value(const struct warp *w, uint32_t code, bool negated)
{
    return opnd_pred(w, code) ^ (negated ? FULL : 0);
}

/* Lanes in which the result does not depend on the marked operand. */
static uint32_t independent_lanes(const struct step *s, const struct ptx_insn *p,
                                  const struct insn *in)
{
    const struct warp *w = s->w;
    if (str_eq(p->op, "selp") && p->nops == 4) {
        uint32_t c = pred_value(w, in->o[3], p->ops[3].neg);
        uint32_t a = marked_in(*s, &p->ops[1]), b = marked_in(*s, &p->ops[2]);
        return ~marked_in(*s, &p->ops[3]) & ((c & ~a) | (~c & ~b));
    }
    bool all = ptx_has(p, "and"), any = ptx_has(p, "or");
    if (ptx_has(p, "f16x2") || ptx_has(p, "bf16x2")) /* they compare two pairs */
        return 0;
    if (str_eq(p->op, "setp") && p->nops == 4 && (all || any)) {
        uint32_t c = pred_value(w, in->o[3], p->ops[3].neg), m = marked_in(*s, &p->ops[3]);
        return ~m & (all ? ~c : c);
    }
    all = str_eq(p->op, "and");
    any = str_eq(p->op, "or");
    if ((all || any) && ptx_has(p, "pred") && p->nops == 3) {
        uint32_t a = pred_value(w, in->o[1], p->ops[1].neg), ma = marked_in(*s, &p->ops[1]);
        uint32_t b = pred_value(w, in->o[2], p->ops[2].neg), mb = marked_in(*s, &p->ops[2]);
        return all ? (~ma & ~a) | (~mb & ~b) : (~ma & a) | (~mb & b);
    }
    return 0;
}

static bool is_copy(const struct step *s, const struct ptx_insn *p)
{
    return str_eq(p->op, "st") && p->nops == 2 && !s->whole && !marked_in(*s, &p->ops[0]) &&
           (ptx_has(p, "shared") || ptx_has(p, "local"));
}

void undef_step(struct warp *w, const struct insn *in)
{
    struct undef *u = w->undef;
    const struct ptx_insn *p = insn_src(w, in);
    struct step s = {.w = w, .u = u, .lanes = w->mask};
    if (p->guard) {
        if (lanes_of(u, p->guard) & s.lanes)
            report_var(w, u, p->guard, s.lanes);
        uint32_t g = opnd_pred(w, in->guard);
        s.lanes &= in->flags & INSN_GUARD_NEG ? ~g : g;
    }
    uint32_t first = has_destination(p);
    for (uint32_t i = first; i < p->nops; i++)
        each_reg(&p->ops[i], add_marks, &s);
    s.whole = s.whole || (first && !str_eq(p->op, "mov"));
    if (s.marked && !is_plain(p) && !is_copy(&s, p)) {
        for (uint32_t i = first; i < p->nops; i++)
            each_reg(&p->ops[i], report_use, &s);
        s.marked = 0;
    }
    if (s.marked)
        s.marked &= ~independent_lanes(&s, p, in);
    if (first)
        each_reg(&p->ops[0], write_marks, &s);
    if (s.full)
        report(w, u, s.read);
    if (!u->nregs) {
        u->nreads = 0;
        w->undef = NULL;
    }
}

static uint64_t low_bits(uint32_t n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

bool undef_read(struct warp *w, const struct insn *pc, uint32_t lane, uint32_t n, uint64_t bad,
                const char *object, int64_t index, const char *text)
{
    const struct ptx_insn *p = insn_src(w, pc);
    if (!str_eq(p->op, "ld") || !p->nops || w->frame != w->frame0)
        return false;
    struct undef *u = w->san->undef;
    if (!u)
        u = w->san->undef = xcalloc(1, sizeof *u);
    if (!w->undef)
        u->nregs = u->nreads = 0;
    uint32_t read = 0;
    while (read < u->nreads && u->read[read].pc != pc)
        read++;
    if (read == MAX_READS)
        return false;
    if (read == u->nreads) {
        struct undef_read *r = &u->read[u->nreads++];
        *r = (struct undef_read){.pc = pc, .lane = lane, .object = object, .index = index};
        snprintf(r->text, sizeof r->text, "%s", text);
    }
    w->undef = u;
    const struct ptx_opnd *to = &p->ops[0];
    uint32_t count = to->kind == PO_VEC ? to->n : 1, size = n / MAX(count, 1u);
    for (uint32_t k = 0; k < count; k++) {
        const struct ptx_opnd *o = to->kind == PO_VEC ? &to->list[k] : to;
        bool hit = bad >> (k * size) & low_bits(size);
        if (hit && o->kind == PO_REG && !mark(u, o->var, 1u << lane, read, bad != low_bits(n)))
            return false;
    }
    return true;
}
