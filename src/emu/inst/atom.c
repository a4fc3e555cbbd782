/*
 * atom.c - executes atom and red in every operation, type, space and vector width.
 *
 * On global memory the update is a host compare-and-swap loop, because other host threads run other
 * blocks. Shared memory belongs to one host thread, but uses the same code. An exchange or
 * compare-and-swap of 16 bytes takes a lock. The lanes update memory in the order of their numbers.
 */
#include "base/util.h"
#include "emu/core/mem.h"
#include "emu/core/numeric.h"

enum { A_ADD, A_MIN, A_MAX, A_INC, A_DEC, A_AND, A_OR, A_XOR, A_EXCH, A_CAS, A_COUNT, A_ADD_L2 };
static const char *const names[A_COUNT] = {"add", "min", "max", "inc",  "dec",
                                           "and", "or",  "xor", "exch", "cas"};

static uint16_t half_op(uint8_t op, uint16_t x, uint16_t y, bool brain)
{
    float a = brain ? brain32(x) : half32(x), b = brain ? brain32(y) : half32(y);
    if (op == A_ADD)
        return brain ? brain_of32(a + b) : half_of32(a + b);
    if (a != a || b != b)
        return a != a && b != b ? 0x7fff : a != a ? y : x;
    if (a == b)
        return op == A_MAX ? x & y : x | y;
    return (a < b) == (op == A_MAX) ? y : x;
}

static uint64_t apply(uint8_t op, enum ptx_type t, uint64_t old, uint64_t b, uint64_t c)
{
    switch (op) {
    case A_AND:
        return old & b;
    case A_OR:
        return old | b;
    case A_XOR:
        return old ^ b;
    case A_EXCH:
        return b;
    case A_CAS:
        return old == b ? c : old;
    case A_INC:
        return (uint32_t)old >= (uint32_t)b ? 0 : old + 1;
    case A_DEC:
        return (uint32_t)old == 0 || (uint32_t)old > (uint32_t)b ? b : old - 1;
    }
    switch (t) {
    case PT_F32: {
        float x = float32((uint32_t)old), y = float32((uint32_t)b);
        return bits32(op == A_ADD      ? canon32(x + y)
                      : op == A_ADD_L2 ? ftz32(canon32(ftz32(x) + ftz32(y)))
                      : op == A_MIN    ? min32(x, y)
                                       : max32(x, y));
    }
    case PT_F64: {
        double x = float64(old), y = float64(b);
        if (op == A_ADD_L2 && (x != x || y != y))
            return y != y ? b : old;
        if (op == A_ADD || op == A_ADD_L2)
            return bits64(nan64(x + y, x, y, 0));
        return bits64(op == A_MIN ? min64(x, y) : max64(x, y));
    }
    case PT_F16:
    case PT_BF16:
        return half_op(op, (uint16_t)old, (uint16_t)b, t == PT_BF16);
    case PT_F16X2:
    case PT_BF16X2:
        return half_op(op, (uint16_t)old, (uint16_t)b, t == PT_BF16X2) |
               (uint64_t)half_op(op, (uint16_t)(old >> 16), (uint16_t)(b >> 16), t == PT_BF16X2)
                   << 16;
    default:
        break;
    }
    if (op == A_ADD)
        return old + b;
    bool less = t == PT_S32   ? (int32_t)old < (int32_t)b
                : t == PT_S64 ? (int64_t)old < (int64_t)b
                : t == PT_U32 ? (uint32_t)old < (uint32_t)b
                              : old < b;
    return less == (op == A_MIN) ? old : b;
}

#define UPDATE(T)                                                                     \
    do {                                                                              \
        T *at = (T *)p, seen = __atomic_load_n(at, __ATOMIC_RELAXED), want;           \
        do                                                                            \
            want = (T)apply(op, t, seen, b, c);                                       \
        while (!__atomic_compare_exchange_n(at, &seen, want, false, __ATOMIC_SEQ_CST, \
                                            __ATOMIC_RELAXED));                       \
        return seen;                                                                  \
    } while (0)

static uint64_t update(void *p, uint8_t op, enum ptx_type t, uint64_t b, uint64_t c)
{
    switch (ptx_type_bits(t)) {
    case 16:
        UPDATE(uint16_t);
    case 32:
        UPDATE(uint32_t);
    default:
        UPDATE(uint64_t);
    }
}

static uint64_t load_reg(const struct warp *w, uint32_t code, uint32_t bits, uint32_t lane)
{
    const char *r = opnd(w, code);
    uint64_t v = 0;
    memcpy(&v, r + lane * (bits / 8), bits / 8);
    return v;
}

static void store_reg(struct warp *w, uint32_t code, uint32_t bits, uint32_t lane, uint64_t v)
{
    memcpy((char *)opnd(w, code) + lane * (bits / 8), &v, bits / 8);
}

/* How struct insn describes an atomic instruction:
 *   v       the destinations (only in atom), then the values, then the new values of cas
 *   sub[0]  the operation (A_...)
 *   sub[1]  the type
 *   sub[2]  the state space
 *   sub[3]  how many bits an address has
 *   o[2]    vector width | has destination << 8 | order << 16, where order is ACCESS_ACQUIRE,
 *           ACCESS_RELEASE, both or 0 */

static uint32_t order_of(const struct insn *in)
{
    return (in->o[2] & OPND_OFF) >> 16;
}

static bool gives_value(const struct insn *in)
{
    return in->o[2] >> 8 & 1;
}

/* Computes the lanes' addresses, and tells the sanitizer what the instruction releases. */
static void begin_atom(struct warp *w, const struct insn *in, uint64_t *addr)
{
    lane_addrs(w, in, in->o[1], in->sub[3], addr);
    if (w->launch->sanitize)
        san_order(w, in, (enum ptx_space)in->sub[2], addr, order_of(in), true);
}

/* Counts the accesses, and tells the sanitizer what the instruction acquires. Call it when mem_at()
 * has checked all addresses. */
static int end_atom(struct warp *w, const struct insn *in, uint64_t *addr, uint32_t bytes)
{
    if (w->counts)
        count_access(w, in, in->sub[2], addr, bytes, MEM_ATOMIC);
    if (w->launch->sanitize && gives_value(in)) /* `red` reads no value, so it acquires nothing */
        san_order(w, in, (enum ptx_space)in->sub[2], addr, order_of(in), false);
    w->strong++;
    w->block->cluster->strongs++;
    return EX_NEXT;
}

static int exec_atom(struct warp *w, const struct insn *in)
{
    uint32_t n = in->o[2] & 0xff, bits = ptx_type_bits((enum ptx_type)in->sub[1]);
    bool has_dst = gives_value(in), sum = in->sub[0] == A_ADD;
    sum = sum && (in->sub[1] == PT_F32 || in->sub[1] == PT_F64);
    const uint32_t *dst = in->v, *val = in->v + (has_dst ? n : 0), *newv = val + n;
    uint64_t addr[WARP];
    begin_atom(w, in, addr);
    FOR_LANES(i, w)
    {
        uint8_t *p = mem_at(w, in, i, (enum ptx_space)in->sub[2], addr[i], bits / 8 * n,
                            MEM_READ | MEM_WRITE | MEM_ATOMIC | MEM_STRONG);
        if (!p)
            return EX_FAULT;
        for (uint32_t k = 0; k < n; k++) {
            uint64_t b = load_reg(w, val[k], bits, i);
            uint64_t c = in->sub[0] == A_CAS ? load_reg(w, newv[k], bits, i) : 0;
            /* The L2 cache executes float additions on global memory. Its adder flushes denormals
             * of type f32, and returns a NaN of type f64 unchanged. */
            uint8_t op = sum && addr[i] >= GLOBAL_BASE ? A_ADD_L2 : in->sub[0];
            uint64_t old = update(p + k * (bits / 8), op, (enum ptx_type)in->sub[1], b, c);
            if (has_dst)
                store_reg(w, dst[k], bits, i, old);
        }
    }
    return end_atom(w, in, addr, bits / 8 * n);
}

static int exec_atom128(struct warp *w, const struct insn *in)
{
    bool cas = in->sub[0] == A_CAS;
    uint64_t addr[WARP];
    begin_atom(w, in, addr);
    FOR_LANES(i, w)
    {
        u128 *p = mem_at(w, in, i, (enum ptx_space)in->sub[2], addr[i], 16,
                         MEM_READ | MEM_WRITE | MEM_ATOMIC | MEM_STRONG);
        if (!p)
            return EX_FAULT;
        u128 b = ((const u128 *)opnd(w, in->v[1]))[i];
        pthread_mutex_lock(&mem_wide_lock);
        u128 old = *p;
        if (!cas)
            *p = b;
        else if (old == b)
            *p = ((const u128 *)opnd(w, in->v[2]))[i];
        pthread_mutex_unlock(&mem_wide_lock);
        ((u128 *)opnd(w, in->v[0]))[i] = old;
    }
    return end_atom(w, in, addr, 16);
}

static bool allowed(uint8_t op, enum ptx_type t, uint32_t n)
{
    bool integer = t == PT_U32 || t == PT_S32 || t == PT_U64 || t == PT_S64;
    bool fp = t == PT_F16 || t == PT_BF16 || t == PT_F16X2 || t == PT_BF16X2;
    switch (op) {
    case A_ADD:
        return integer || fp || t == PT_F32 || t == PT_F64;
    case A_MIN:
    case A_MAX:
        return integer || (fp && n > 0) || t == PT_B32 || t == PT_B64;
    case A_INC:
    case A_DEC:
        return t == PT_U32;
    case A_AND:
    case A_OR:
    case A_XOR:
        return t == PT_B32 || t == PT_B64 || integer;
    case A_EXCH:
        return t == PT_B32 || t == PT_B64 || t == PT_B128 || integer || t == PT_F32;
    default:
        return t == PT_B16 || t == PT_B32 || t == PT_B64 || t == PT_B128 || integer;
    }
}

static int decode_atom(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    bool red = str_eq(p->op, "red");
    uint32_t n = 1, order = 0;
    enum ptx_type t = ptx_last_type(p);
    in->sub[0] = 255;
    for (int i = 0; i < p->nmods; i++) {
        const char *m = p->mods[i];
        for (int k = 0; k < A_COUNT; k++)
            if (str_eq(m, names[k]))
                in->sub[0] = (uint8_t)k;
        if (str_eq(m, "v2") || str_eq(m, "v4") || str_eq(m, "v8"))
            n = (uint32_t)(m[1] - '0');
        if (str_eq(m, "async"))
            return 1;
        if (str_eq(m, "acquire") || str_eq(m, "acq_rel"))
            order |= ACCESS_ACQUIRE;
        if (str_eq(m, "release") || str_eq(m, "acq_rel"))
            order |= ACCESS_RELEASE;
    }
    if (in->sub[0] == 255 || t == PT_NONE || !allowed(in->sub[0], t, n) || (red && t == PT_B128))
        return dec_unsupported(d, p);
    bool cas = in->sub[0] == A_CAS;
    uint32_t bits = ptx_type_bits(t), at = red ? 0 : 1, codes[24], k = 0, got;
    if (p->nops < at + 2u + cas)
        return dec_bad(d, p, "operands are missing");
    if (!red) {
        if (dec_vec(d, p, &p->ops[0], bits, true, codes, 8, &got) < 0)
            return -1;
        if (got != n)
            return dec_bad(d, p, "%u destinations are expected", n);
        k = n;
    }
    for (uint32_t v = 0; v < 1u + cas; v++) {
        const struct ptx_opnd *o = &p->ops[at + 1 + v];
        if (o->kind == PO_IMM) {
            if (dec_src(d, p, o, t, &codes[k]) < 0)
                return -1;
            got = 1;
        } else if (dec_vec(d, p, o, bits, false, codes + k, 8, &got) < 0) {
            return -1;
        }
        if (got != n)
            return dec_bad(d, p, "%u values are expected", n);
        k += n;
    }
    dec_set_v(d, in, codes, k);
    enum ptx_space sp = mem_space(p);
    uint32_t abits;
    if (dec_addr(d, p, &p->ops[at], sp, &in->o[1], &abits, &in->imm) < 0)
        return -1;
    if (!abits)
        return dec_unsupported(d, p);
    in->sub[1] = (uint8_t)t;
    in->sub[2] = (uint8_t)sp;
    in->sub[3] = (uint8_t)abits;
    in->o[2] = OPND_NUMBER(n | (red ? 0u : 1u << 8) | order << 16);
    in->flags |= ptx_has(p, "cta") ? INSN_CTA : 0;
    in->kind = CK_ATOMIC;
    in->exec = t == PT_B128 ? exec_atom128 : exec_atom;
    return 0;
}

const struct decode_entry decode_atom_ops[] = {
    {"atom", decode_atom}, {"red", decode_atom}, {NULL, NULL}};
