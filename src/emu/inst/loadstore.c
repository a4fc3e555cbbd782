/*
 * loadstore.c - executes ld and st in every space, width and vector size.
 *
 * There is one exec function for each pair of memory type and register type. Members of struct
 * insn:
 *   v       the registers
 *   sub[0]  the state space
 *   sub[1]  the bytes of an element
 *   sub[2]  the access flags (MEM_..., ACCESS_...)
 *   sub[3]  the bits of an address; 0 for a .local variable of the frame. For .param: 1 for a
 *           parameter of the kernel, 0 for a variable of the frame
 *   o[2]    the bits of a register
 *   o[3]    whether a load extends the sign
 */
#include "base/util.h"
#include "emu/core/mem.h"

#define VMAX 8

/* Returns the address of lane 0's copy of a .param variable. Sets *stride to the bytes from one
 * lane's copy to the next; 0 for a kernel parameter, which all lanes share. */
static inline uint8_t *param_base(const struct warp *w, const struct insn *in, uint64_t *stride)
{
    if (in->sub[3]) {
        *stride = 0;
        return w->launch->params + in->imm;
    }
    *stride = w->frame->func->param_bytes;
    return (uint8_t *)w->frame->params + in->imm;
}

static inline bool contiguous(const uint64_t *addr, uint64_t step);

#define LOAD_FN(name, T, D)                                                                      \
    static int ld_##name(struct warp *w, const struct insn *in)                                  \
    {                                                                                            \
        uint64_t addr[WARP];                                                                     \
        struct lanes l;                                                                          \
        const uint32_t nv = in->nv;                                                              \
        lane_addrs(w, in, in->o[1], in->sub[3], addr);                                           \
        if (__builtin_expect(                                                                    \
                !mem_lanes(w, in, in->sub[0], addr, (uint32_t)sizeof(T) * nv, in->sub[2], &l),   \
                0)) {                                                                            \
            FOR_LANES(i, w)                                                                      \
            {                                                                                    \
                const T *p =                                                                     \
                    mem_at(w, in, i, in->sub[0], addr[i], (uint32_t)sizeof(T) * nv, in->sub[2]); \
                if (!p)                                                                          \
                    return EX_FAULT;                                                             \
                for (uint32_t k = 0; k < nv; k++)                                                \
                    ((D *)opnd(w, in->v[k]))[i] = (D)p[k];                                       \
            }                                                                                    \
            return EX_NEXT;                                                                      \
        }                                                                                        \
        if (w->counts)                                                                           \
            count_access(w, in, l.sp, addr, (uint32_t)sizeof(T) * nv, MEM_READ);                 \
        if (nv == 1) {                                                                           \
            D *d = opnd(w, in->v[0]);                                                            \
            if (w->active == FULL) {                                                             \
                if (l.stride == 0 && l.hi - l.lo == WARP * sizeof(T) && addr[0] == l.lo &&       \
                    contiguous(addr, sizeof(T))) {                                               \
                    const T *p = (const T *)(l.base + addr[0]);                                  \
                    for (uint32_t i = 0; i < WARP; i++)                                          \
                        d[i] = (D)p[i];                                                          \
                } else {                                                                         \
                    for (uint32_t i = 0; i < WARP; i++)                                          \
                        d[i] = (D) * (const T *)(l.base + addr[i] + i * l.stride);               \
                }                                                                                \
            } else {                                                                             \
                FOR_LANES(i, w)                                                                  \
                d[i] = (D) * (const T *)(l.base + addr[i] + i * l.stride);                       \
            }                                                                                    \
            return EX_NEXT;                                                                      \
        }                                                                                        \
        D *d[VMAX];                                                                              \
        for (uint32_t k = 0; k < nv; k++)                                                        \
            d[k] = opnd(w, in->v[k]);                                                            \
        FOR_LANES(i, w)                                                                          \
        {                                                                                        \
            const T *p = (const T *)(l.base + addr[i] + i * l.stride);                           \
            for (uint32_t k = 0; k < nv; k++)                                                    \
                d[k][i] = (D)p[k];                                                               \
        }                                                                                        \
        return EX_NEXT;                                                                          \
    }                                                                                            \
    static int ldp_##name(struct warp *w, const struct insn *in)                                 \
    {                                                                                            \
        uint64_t stride;                                                                         \
        const uint8_t *b = param_base(w, in, &stride);                                           \
        for (uint32_t k = 0; k < in->nv; k++) {                                                  \
            D *d = opnd(w, in->v[k]);                                                            \
            if (stride == 0 && w->active == w->live) {                                           \
                D v = (D) * (const T *)(b + k * sizeof(T));                                      \
                for (uint32_t i = 0; i < WARP; i++)                                              \
                    d[i] = v;                                                                    \
            } else {                                                                             \
                FOR_LANES(i, w)                                                                  \
                d[i] = (D) * (const T *)(b + i * stride + k * sizeof(T));                        \
            }                                                                                    \
        }                                                                                        \
        return EX_NEXT;                                                                          \
    }

#define STORE_FN(name, T, D)                                                                     \
    static int st_##name(struct warp *w, const struct insn *in)                                  \
    {                                                                                            \
        uint64_t addr[WARP];                                                                     \
        struct lanes l;                                                                          \
        const uint32_t nv = in->nv;                                                              \
        lane_addrs(w, in, in->o[1], in->sub[3], addr);                                           \
        if (__builtin_expect(                                                                    \
                !mem_lanes(w, in, in->sub[0], addr, (uint32_t)sizeof(T) * nv, in->sub[2], &l),   \
                0)) {                                                                            \
            FOR_LANES(i, w)                                                                      \
            {                                                                                    \
                T *p =                                                                           \
                    mem_at(w, in, i, in->sub[0], addr[i], (uint32_t)sizeof(T) * nv, in->sub[2]); \
                if (!p)                                                                          \
                    return EX_FAULT;                                                             \
                for (uint32_t k = 0; k < nv; k++)                                                \
                    p[k] = (T)((const D *)opnd(w, in->v[k]))[i];                                 \
            }                                                                                    \
            return EX_NEXT;                                                                      \
        }                                                                                        \
        if (w->counts)                                                                           \
            count_access(w, in, l.sp, addr, (uint32_t)sizeof(T) * nv, MEM_WRITE);                \
        if (nv == 1) {                                                                           \
            const D *s = opnd(w, in->v[0]);                                                      \
            if (w->active == FULL && l.stride == 0 && l.hi - l.lo == WARP * sizeof(T) &&         \
                addr[0] == l.lo && contiguous(addr, sizeof(T))) {                                \
                T *p = (T *)(l.base + addr[0]);                                                  \
                for (uint32_t i = 0; i < WARP; i++)                                              \
                    p[i] = (T)s[i];                                                              \
            } else {                                                                             \
                FOR_LANES(i, w)                                                                  \
                *(T *)(l.base + addr[i] + i * l.stride) = (T)s[i];                               \
            }                                                                                    \
            return EX_NEXT;                                                                      \
        }                                                                                        \
        const D *s[VMAX];                                                                        \
        for (uint32_t k = 0; k < nv; k++)                                                        \
            s[k] = opnd(w, in->v[k]);                                                            \
        FOR_LANES(i, w)                                                                          \
        {                                                                                        \
            T *p = (T *)(l.base + addr[i] + i * l.stride);                                       \
            for (uint32_t k = 0; k < nv; k++)                                                    \
                p[k] = (T)s[k][i];                                                               \
        }                                                                                        \
        return EX_NEXT;                                                                          \
    }                                                                                            \
    static int stp_##name(struct warp *w, const struct insn *in)                                 \
    {                                                                                            \
        uint64_t stride;                                                                         \
        uint8_t *b = param_base(w, in, &stride);                                                 \
        for (uint32_t k = 0; k < in->nv; k++) {                                                  \
            const D *s = opnd(w, in->v[k]);                                                      \
            FOR_LANES(i, w)                                                                      \
            *(T *)(b + i * stride + k * sizeof(T)) = (T)s[i];                                    \
        }                                                                                        \
        return EX_NEXT;                                                                          \
    }

static inline bool contiguous(const uint64_t *addr, uint64_t step)
{
    uint64_t bad = 0;
    for (uint32_t i = 0; i < WARP; i++)
        bad |= addr[i] ^ (addr[0] + i * step);
    return bad == 0;
}

/* Sets at[i] to the host address of lane i's strong access. Returns false after a fault. The
 * callers move each element with one atomic access. They hold mem_wide_lock while they move 16
 * bytes or more for a lane, so that no other strong access sees a part of these bytes changed. */
static bool strong_places(struct warp *w, const struct insn *in, uint64_t *addr, uint8_t **at)
{
    struct lanes l;
    uint32_t n = in->sub[1] * (uint32_t)in->nv;
    if (mem_lanes(w, in, in->sub[0], addr, n, in->sub[2], &l)) {
        if (w->counts)
            count_access(w, in, l.sp, addr, n, in->sub[2]);
        FOR_LANES(i, w)
        at[i] = l.base + addr[i] + i * l.stride;
        return true;
    }
    FOR_LANES(i, w)
    if (!(at[i] = mem_at(w, in, i, in->sub[0], addr[i], n, in->sub[2])))
        return false;
    return true;
}

static uint64_t load_whole(const uint8_t *p, uint32_t bytes, bool sign)
{
    uint64_t v;
    switch (bytes) {
    case 1:
        v = __atomic_load_n(p, __ATOMIC_RELAXED);
        return sign ? (uint64_t)(int64_t)(int8_t)v : v;
    case 2:
        v = __atomic_load_n((const uint16_t *)(const void *)p, __ATOMIC_RELAXED);
        return sign ? (uint64_t)(int64_t)(int16_t)v : v;
    case 4:
        v = __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_RELAXED);
        return sign ? (uint64_t)(int64_t)(int32_t)v : v;
    default:
        return __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_RELAXED);
    }
}

static void store_whole(uint8_t *p, uint32_t bytes, uint64_t v)
{
    switch (bytes) {
    case 1:
        __atomic_store_n(p, (uint8_t)v, __ATOMIC_RELAXED);
        break;
    case 2:
        __atomic_store_n((uint16_t *)(void *)p, (uint16_t)v, __ATOMIC_RELAXED);
        break;
    case 4:
        __atomic_store_n((uint32_t *)(void *)p, (uint32_t)v, __ATOMIC_RELAXED);
        break;
    default:
        __atomic_store_n((uint64_t *)(void *)p, v, __ATOMIC_RELAXED);
    }
}

static int strong_ld(struct warp *w, const struct insn *in)
{
    uint32_t bytes = in->sub[1], dbits = in->o[2] & OPND_OFF;
    bool wide = bytes * in->nv >= 16;
    uint64_t addr[WARP], as_given[WARP];
    uint8_t *at[WARP];
    lane_addrs(w, in, in->o[1], in->sub[3], addr);
    memcpy(as_given, addr, sizeof addr);
    if (!strong_places(w, in, addr, at))
        return EX_FAULT;
    if (wide)
        pthread_mutex_lock(&mem_wide_lock);
    FOR_LANES(i, w)
    {
        for (uint32_t k = 0; k < in->nv; k++) {
            if (bytes == 16) {
                memcpy((u128 *)opnd(w, in->v[k]) + i, at[i] + k * 16, 16);
                continue;
            }
            uint64_t v = load_whole(at[i] + k * bytes, bytes, in->o[3] & OPND_OFF);
            memcpy((char *)opnd(w, in->v[k]) + i * (dbits / 8), &v, dbits / 8);
        }
    }
    if (wide)
        pthread_mutex_unlock(&mem_wide_lock);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    w->strong++;
    w->block->cluster->strongs++;
    san_order(w, in, in->sub[0], as_given, in->sub[2], false);
    return EX_NEXT;
}

static int strong_st(struct warp *w, const struct insn *in)
{
    uint32_t bytes = in->sub[1], dbits = in->o[2] & OPND_OFF;
    bool wide = bytes * in->nv >= 16;
    uint64_t addr[WARP], as_given[WARP];
    uint8_t *at[WARP];
    lane_addrs(w, in, in->o[1], in->sub[3], addr);
    memcpy(as_given, addr, sizeof addr);
    if (!strong_places(w, in, addr, at))
        return EX_FAULT;
    san_order(w, in, in->sub[0], as_given, in->sub[2], true);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (wide)
        pthread_mutex_lock(&mem_wide_lock);
    FOR_LANES(i, w)
    {
        for (uint32_t k = 0; k < in->nv; k++) {
            uint64_t v = 0;
            if (bytes == 16) {
                memcpy(at[i] + k * 16, (u128 *)opnd(w, in->v[k]) + i, 16);
                continue;
            }
            memcpy(&v, (const char *)opnd(w, in->v[k]) + i * (dbits / 8), dbits / 8);
            store_whole(at[i] + k * bytes, bytes, v);
        }
    }
    if (wide)
        pthread_mutex_unlock(&mem_wide_lock);
    return EX_NEXT;
}

#define BOTH(name, T, D) \
    LOAD_FN(name, T, D)  \
    STORE_FN(name, T, D)

BOTH(u8_16, uint8_t, uint16_t)
BOTH(u8_32, uint8_t, uint32_t)
BOTH(u8_64, uint8_t, uint64_t)
BOTH(u16_16, uint16_t, uint16_t)
BOTH(u16_32, uint16_t, uint32_t)
BOTH(u16_64, uint16_t, uint64_t)
BOTH(u32_32, uint32_t, uint32_t)
BOTH(u32_64, uint32_t, uint64_t)
BOTH(u64_64, uint64_t, uint64_t)
BOTH(b128, u128, u128)
LOAD_FN(s8_16, int8_t, uint16_t)
LOAD_FN(s8_32, int8_t, uint32_t)
LOAD_FN(s8_64, int8_t, uint64_t)
LOAD_FN(s16_32, int16_t, uint32_t)
LOAD_FN(s16_64, int16_t, uint64_t)
LOAD_FN(s32_64, int32_t, uint64_t)

static const struct {
    uint8_t bytes, bits;
    bool is_signed;
    exec_fn ld, st, ldp, stp; /* ldp, stp: for .param variables */
} forms[] = {
    {1, 16, false, ld_u8_16, st_u8_16, ldp_u8_16, stp_u8_16},
    {1, 32, false, ld_u8_32, st_u8_32, ldp_u8_32, stp_u8_32},
    {1, 64, false, ld_u8_64, st_u8_64, ldp_u8_64, stp_u8_64},
    {2, 16, false, ld_u16_16, st_u16_16, ldp_u16_16, stp_u16_16},
    {2, 32, false, ld_u16_32, st_u16_32, ldp_u16_32, stp_u16_32},
    {2, 64, false, ld_u16_64, st_u16_64, ldp_u16_64, stp_u16_64},
    {4, 32, false, ld_u32_32, st_u32_32, ldp_u32_32, stp_u32_32},
    {4, 64, false, ld_u32_64, st_u32_64, ldp_u32_64, stp_u32_64},
    {8, 64, false, ld_u64_64, st_u64_64, ldp_u64_64, stp_u64_64},
    {16, 128, false, ld_b128, st_b128, ldp_b128, stp_b128},
    {1, 16, true, ld_s8_16, st_u8_16, ldp_s8_16, stp_u8_16},
    {1, 32, true, ld_s8_32, st_u8_32, ldp_s8_32, stp_u8_32},
    {1, 64, true, ld_s8_64, st_u8_64, ldp_s8_64, stp_u8_64},
    {2, 16, true, ld_u16_16, st_u16_16, ldp_u16_16, stp_u16_16},
    {2, 32, true, ld_s16_32, st_u16_32, ldp_s16_32, stp_u16_32},
    {2, 64, true, ld_s16_64, st_u16_64, ldp_s16_64, stp_u16_64},
    {4, 32, true, ld_u32_32, st_u32_32, ldp_u32_32, stp_u32_32},
    {4, 64, true, ld_s32_64, st_u32_64, ldp_s32_64, stp_u32_64},
    {8, 64, true, ld_u64_64, st_u64_64, ldp_u64_64, stp_u64_64},
};

/* ---- decoding ------------------------------------------------------------------------------- */

static bool space_mod(const char *m, enum ptx_space *sp)
{
    static const struct {
        const char *name;
        enum ptx_space sp;
    } t[] = {{"global", SP_GLOBAL},      {"shared", SP_SHARED},
             {"shared::cta", SP_SHARED}, {"shared::cluster", SP_SHARED_CLUSTER},
             {"local", SP_LOCAL},        {"const", SP_CONST},
             {"param", SP_PARAM},        {"param::entry", SP_PARAM},
             {"param::func", SP_PARAM}};
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        if (str_eq(m, t[i].name)) {
            *sp = t[i].sp;
            return true;
        }
    return false;
}

enum ptx_space mem_space(const struct ptx_insn *p)
{
    enum ptx_space sp = SP_GENERIC;
    for (int i = 0; i < p->nmods; i++)
        if (space_mod(p->mods[i], &sp))
            break;
    return sp;
}

/* Returns whether a modifier changes no result. decode_ldst() handles .nc itself. */
static bool is_hint(const char *m)
{
    static const char *const t[] = {"ca",
                                    "cg",
                                    "cs",
                                    "lu",
                                    "cv",
                                    "wb",
                                    "wt",
                                    "nc",
                                    "cop",
                                    "weak",
                                    "L1::evict_normal",
                                    "L1::evict_unchanged",
                                    "L1::evict_first",
                                    "L1::evict_last",
                                    "L1::no_allocate",
                                    "L2::evict_normal",
                                    "L2::evict_first",
                                    "L2::evict_last",
                                    "L2::cache_hint",
                                    "L2::64B",
                                    "L2::128B",
                                    "L2::256B",
                                    "unified"};
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        if (str_eq(m, t[i]))
            return true;
    return false;
}

static bool is_scope(const char *m)
{
    return str_eq(m, "cta") || str_eq(m, "cluster") || str_eq(m, "gpu") || str_eq(m, "sys");
}

static bool is_strong(const char *m)
{
    return str_eq(m, "volatile") || str_eq(m, "relaxed") || str_eq(m, "acquire") ||
           str_eq(m, "release") || str_eq(m, "mmio");
}

static uint8_t access_kind(enum ptx_space sp, bool is_store)
{
    switch (sp) {
    case SP_SHARED:
    case SP_SHARED_CLUSTER:
        return is_store ? CK_ST_SHARED : CK_LD_SHARED;
    case SP_LOCAL:
        return is_store ? CK_ST_LOCAL : CK_LD_LOCAL;
    case SP_CONST:
        return CK_LD_CONST;
    case SP_PARAM:
        return CK_MOVE;
    default:
        return is_store ? CK_ST_GLOBAL : CK_LD_GLOBAL;
    }
}

static int pick_form(struct decoder *d, const struct ptx_insn *p, struct insn *in, enum ptx_type t,
                     uint32_t bits, bool is_store, bool is_param)
{
    uint32_t bytes = ptx_type_bits(t) / 8;
    bool is_signed = ptx_is_signed(t) && !ptx_is_float(t);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (forms[i].bytes == bytes && forms[i].bits == bits && forms[i].is_signed == is_signed) {
            in->exec = is_param ? (is_store ? forms[i].stp : forms[i].ldp)
                                : (is_store ? forms[i].st : forms[i].ld);
            in->sub[1] = (uint8_t)bytes;
            in->o[2] = OPND_NUMBER(bits);
            in->o[3] = OPND_NUMBER(is_signed);
            return 0;
        }
    return dec_bad(d, p, "a register of %u bits cannot hold %s", bits, ptx_type_name(t));
}

static int check_param(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *a,
                       struct insn *in, uint32_t bytes, bool is_store)
{
    const struct ptx_var *v = a->var;
    if (a->imm < 0 || (uint64_t)a->imm + bytes > v->bytes)
        return dec_bad(d, p, "the access leaves parameter '%s'", v->name);
    if ((v->addr + (uint64_t)a->imm) % in->sub[1])
        return dec_bad(d, p, "the access to parameter '%s' is misaligned", v->name);
    if (v->is_kernel_param && is_store)
        return dec_bad(d, p, "kernel parameters cannot be written");
    in->imm = (int64_t)v->addr + a->imm;
    in->sub[3] = v->is_kernel_param;
    return 0;
}

/* Returns the only instruction that writes the register. NULL if there are several, or if it has a
 * guard. */
static const struct ptx_insn *only_writer(const struct ptx_func *f, const struct ptx_var *reg)
{
    const struct ptx_insn *found = NULL;
    for (size_t i = 0; i < f->insns.n; i++) {
        const struct ptx_insn *p = &f->insns.items[i];
        const struct ptx_opnd *to = p->nops ? &p->ops[0] : NULL;
        bool writes = to && to->kind == PO_REG && to->var == reg && !str_eq(p->op, "st");
        for (uint32_t k = 0; to && to->kind == PO_VEC && k < to->n; k++)
            writes = writes || (to->list[k].kind == PO_REG && to->list[k].var == reg);
        if (!writes)
            continue;
        if (found || p->guard)
            return NULL;
        found = p;
    }
    return found;
}

static bool is_pure(const struct ptx_insn *p)
{
    static const char *const ops[] = {"add", "sub", "mul", "mad", "shl", "cvt", "and", "or"};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (str_eq(p->op, ops[i]))
            return true;
    return str_eq(p->op, "ld") && ptx_has(p, "param");
}

/* Returns whether operands a and b are certainly equal, because the function computes them in the
 * same way. Follows at most `depth` instructions. The result of a mov or cvta counts as equal to
 * its operand, because cvta gives another address of the same memory. */
static bool same_operand(const struct ptx_func *f, const struct ptx_opnd *a,
                         const struct ptx_opnd *b, uint32_t depth)
{
    const struct ptx_insn *pa = a->kind == PO_REG ? only_writer(f, a->var) : NULL;
    const struct ptx_insn *pb = b->kind == PO_REG ? only_writer(f, b->var) : NULL;
    bool copy_a = pa && (str_eq(pa->op, "cvta") || str_eq(pa->op, "mov")) && pa->nops == 2;
    bool copy_b = pb && (str_eq(pb->op, "cvta") || str_eq(pb->op, "mov")) && pb->nops == 2;
    if (a->kind == PO_REG && b->kind == PO_REG && a->var == b->var)
        return true;
    if (depth && copy_a)
        return same_operand(f, &pa->ops[1], b, depth - 1);
    if (depth && copy_b)
        return same_operand(f, a, &pb->ops[1], depth - 1);
    if (a->kind != b->kind || a->imm != b->imm)
        return false;
    if (a->kind == PO_IMM)
        return !a->is_float && !b->is_float;
    if (a->kind == PO_SPEC)
        return str_eq(a->name, b->name) && str_starts(a->name, "%tid");
    if (a->kind != PO_REG)
        return (a->kind == PO_SYM || a->kind == PO_ADDR) && a->var && a->var == b->var;
    if (!depth || !pa || !pb || !str_eq(pa->op, pb->op) || pa->nmods != pb->nmods ||
        pa->nops != pb->nops || !is_pure(pa))
        return false;
    for (int i = 0; i < pa->nmods; i++)
        if (!str_eq(pa->mods[i], pb->mods[i]))
            return false;
    for (uint32_t i = 1; i < pa->nops; i++)
        if (!same_operand(f, &pa->ops[i], &pb->ops[i], depth - 1))
            return false;
    return true;
}

static bool same_address(const struct ptx_func *f, const struct ptx_opnd *a,
                         const struct ptx_opnd *b)
{
    if (a->kind != PO_ADDR || b->kind != PO_ADDR || a->imm != b->imm)
        return false;
    if (a->var == b->var)
        return true;
    if (!a->var || !b->var || a->var->space != SP_REG || b->var->space != SP_REG)
        return false;
    struct ptx_opnd ra = {.kind = PO_REG, .var = a->var}, rb = {.kind = PO_REG, .var = b->var};
    return same_operand(f, &ra, &rb, 8);
}

/* Returns whether the function does a compare-and-swap at this address. Then a load from the
 * address is probably the `old = *p` before a loop with the compare-and-swap. The load counts as
 * relaxed, because a stale value only makes the loop run once more. */
static bool seeds_cas(const struct ptx_func *f, const struct ptx_opnd *addr)
{
    for (size_t i = 0; i < f->insns.n; i++) {
        const struct ptx_insn *p = &f->insns.items[i];
        if (p->nops == 4 && str_eq(p->op, "atom") && ptx_has(p, "cas") &&
            same_address(f, &p->ops[1], addr))
            return true;
    }
    return false;
}

static int decode_ldst(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    bool is_store = str_eq(p->op, "st");
    enum ptx_space sp = mem_space(p);
    enum ptx_type t = ptx_last_type(p);
    uint32_t vec = 1, access = is_store ? MEM_WRITE : MEM_READ;
    for (int i = 0; i < p->nmods; i++) {
        enum ptx_space ignored;
        const char *m = p->mods[i];
        if (str_eq(m, "v2") || str_eq(m, "v4") || str_eq(m, "v8"))
            vec = (uint32_t)(m[1] - '0');
        else if (is_strong(m))
            access |= MEM_STRONG | (str_eq(m, "acquire") ? ACCESS_ACQUIRE : 0) |
                      (str_eq(m, "release") ? ACCESS_RELEASE : 0);
        else if (str_eq(m, "async"))
            return 1;
        else if (str_eq(m, "nc"))
            in->o[4] = LD_CONST;
        else if (!is_hint(m) && !is_scope(m) && !space_mod(m, &ignored) &&
                 ptx_type_of(m) == PT_NONE)
            return dec_unsupported(d, p);
    }
    if (t == PT_NONE || p->nops < 2)
        return dec_bad(d, p, "a type and two operands are expected");
    const struct ptx_opnd *reg = &p->ops[is_store ? 1 : 0], *addr = &p->ops[is_store ? 0 : 1];
    const struct ptx_opnd *first = reg->kind == PO_VEC && reg->n ? &reg->list[0] : reg;
    uint32_t bits = dec_reg_bits(first);
    uint32_t type_bits = ptx_type_bits(t);
    if (type_bits < 8 || type_bits > 128)
        return dec_unsupported(d, p);
    for (uint32_t i = 0; reg->kind == PO_VEC && i < reg->n && !bits; i++)
        bits = dec_reg_bits(&reg->list[i]); /* the first may be `_` */
    if (!bits)                              /* a constant, or all are `_` */
        bits = MAX(type_bits, 16u);
    uint32_t codes[VMAX], n;
    if (bits == 1 || bits < type_bits)
        return dec_bad(d, p, "the register is too narrow");
    if (is_store && first->kind == PO_IMM && first->is_float) {
        n = 1;
        if (reg->kind == PO_VEC)
            n = reg->n;
        for (uint32_t i = 0; i < n && i < VMAX; i++)
            if (dec_src(d, p, reg->kind == PO_VEC ? &reg->list[i] : reg, t, &codes[i]) < 0)
                return -1;
    } else if (dec_vec(d, p, reg, bits, !is_store, codes, VMAX, &n) < 0) {
        return -1;
    }
    if (n != vec)
        return dec_bad(d, p, "%u registers are expected", vec);
    dec_set_v(d, in, codes, n);
    bool is_param =
        sp == SP_PARAM && addr->kind == PO_ADDR && addr->var && addr->var->space == SP_PARAM;
    if (pick_form(d, p, in, t, bits, is_store, is_param) < 0)
        return -1;
    in->kind = access_kind(sp, is_store);
    if (is_param)
        return check_param(d, p, addr, in, in->sub[1] * n, is_store);
    uint32_t abits;
    if (dec_addr(d, p, addr, sp, &in->o[1], &abits, &in->imm) < 0)
        return -1;
    if (!is_store && n == 1 && seeds_cas(d->func, addr))
        access |= MEM_STRONG;
    in->sub[0] = (uint8_t)sp;
    in->sub[2] = (uint8_t)access;
    in->sub[3] = (uint8_t)abits;
    if (access & MEM_STRONG)
        in->exec = is_store ? strong_st : strong_ld;
    in->flags |= ptx_has(p, "cta") ? INSN_CTA : 0;
    return 0;
}

const struct decode_entry decode_mem_ops[] = {
    {"ld", decode_ldst}, {"ldu", decode_ldst}, {"st", decode_ldst}, {NULL, NULL}};
