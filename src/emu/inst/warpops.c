/*
 * warpops.c - executes instructions in which lanes of a warp exchange values or meet: shuffles,
 * votes, matches, reductions, election, bar.warp.sync.
 *
 * The mask of an instruction names the lanes that take part. The instruction waits until all of
 * them have reached it or exited. If live lanes cannot come, it executes without them and we report
 * them.
 *
 * Lanes may meet at different copies of an instruction (struct meeting). A compiler makes such
 * copies: if a loop contains `if (lane == 0)`, it may make one loop for lane 0 and another for the
 * other lanes, each with its own shuffle.
 *
 * A lane takes no part if it has exited, does not execute the instruction, or is not in the mask.
 * Votes, matches and reductions leave such a lane out. A shuffle that reads from such a lane gets
 * an undefined value. We report this if the kernel uses the value.
 */
#include "base/util.h"
#include "emu/core/lanes.h"
#include "emu/core/mem.h"
#include "emu/core/numeric.h"

/* Reports a lane whose mask names a lane that has another mask. */
static void check_masks(struct warp *w, const struct insn *in, const uint32_t *m)
{
    FOR_LANES(i, w)
    for (uint32_t k = m[i] & w->active; k; k &= k - 1) {
        uint32_t j = (uint32_t)__builtin_ctz(k);
        if (m[j] == m[i])
            continue;
        emu_finding(w, in, (int)i, FIND_BARRIER, "warp", -1, NULL,
                    "lane %u names lane %u in its mask 0x%08x, but lane %u executes this "
                    "instruction with another mask, 0x%08x",
                    i, j, m[i], j, m[j]);
        return;
    }
}

/* Reports lanes in the mask that have exited. It is a finding if they jumped over the instruction
 * and ran code after it. Otherwise it is allowed. But if the instruction combines values
 * (`counts`), a note says that the result leaves these lanes out. */
static void check_exited(struct warp *w, const struct insn *in, uint32_t gone, bool counts)
{
    uint32_t past = exits_past(w, gone, EXITS_WARP, exits_place(w, in));
    if (past)
        emu_finding(w, in, __builtin_ctz(w->active), FIND_BARRIER, "warp", -1, NULL,
                    "lanes 0x%08x are named in the mask but never execute this instruction, "
                    "although they execute code after it",
                    past);
    else if (counts)
        emu_finding(w, in, __builtin_ctz(w->active), FIND_NOTE, "warp", -1, NULL,
                    "lanes 0x%08x are named in the mask but exited before: the result leaves them "
                    "out",
                    gone);
}

static void check_lanes(struct warp *w, const struct insn *in, const uint32_t *m, uint32_t need,
                        uint32_t missing, bool uniform)
{
    uint32_t unnamed = 0, gone = need & ~w->live & warp_lanes(w);
    FOR_LANES(i, w)
    unnamed |= ~m[i] & 1u << i;
    if (unnamed)
        emu_finding(w, in, __builtin_ctz(unnamed), FIND_BARRIER, "warp", -1, NULL,
                    "lanes 0x%08x execute this instruction but are not named in their own mask",
                    unnamed);
    if (missing)
        emu_finding(w, in, __builtin_ctz(w->active), FIND_BARRIER, "warp", -1, NULL,
                    "lanes 0x%08x are named in the mask but never execute this instruction",
                    missing);
    if (!uniform)
        check_masks(w, in, m);
    if (gone)
        check_exited(w, in, gone, in->flags & INSN_COMBINES);
}

/* The instructions at which lanes meet: usually one. If there are several, they have the same
 * operation, and each lane executes one of them. */
struct meeting {
    uint32_t n;
    struct party {
        const struct insn *in;
        uint32_t lanes;
    } at[WARP];
};

/* Returns whether the lanes that wait at `pc` can meet those of `mt`. In PTX all lanes of the mask
 * must execute an instruction with the same qualifiers and the same mask. We also require that
 * neither instruction comes after the other. If one does, the lanes that wait at the later one have
 * gone around the earlier one. */
static bool can_meet(const struct warp *w, const struct meeting *mt, const struct insn *pc)
{
    const struct insn *in = mt->at[0].in;
    if (pc == in || pc->exec != in->exec || memcmp(pc->sub, in->sub, sizeof in->sub) != 0)
        return false;
    for (uint32_t k = 0; k < mt->n; k++)
        if (!exits_in_two_branches(w, mt->at[k].in, pc))
            return false;
    return true;
}

/* If all missing lanes wait at other copies of the instruction, adds them to the meeting and
 * returns true. They then go on after their copies. Operand o[slot] of a copy holds the lanes'
 * masks; each of these masks must be equal to `mask`. */
static bool meet_at_copies(struct warp *w, struct meeting *mt, uint32_t slot, uint32_t mask,
                           uint32_t missing)
{
    uint32_t found[WARP], n = 0;
    for (uint32_t k = 0; k < w->nfrags && missing; k++) {
        const struct fragment *f = &w->frags[k];
        if (k == w->cur || !f->waiting || f->arrived || f->frame != w->frame ||
            !can_meet(w, mt, f->pc))
            continue;
        uint32_t p = f->pc->flags & INSN_GUARD ? opnd_pred(w, f->pc->guard) : FULL;
        uint32_t lanes = f->mask & (f->pc->flags & INSN_GUARD_NEG ? ~p : p);
        const uint32_t *m = opnd(w, f->pc->o[slot]);
        bool same = !(lanes & ~mask);
        for (uint32_t i = 0; i < WARP; i++)
            same &= !(lanes >> i & 1) || m[i] == mask;
        if (!same)
            continue;
        mt->at[mt->n++] = (struct party){f->pc, lanes};
        found[n++] = k;
        missing &= ~lanes;
    }
    if (missing) {
        mt->n = 1;
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        struct fragment *f = &w->frags[found[k]];
        const struct party *p = &mt->at[k + 1];
        if (w->counts)
            count_insn(w, p->in, p->lanes);
        w->active |= p->lanes;
        f->pc++;
        f->waiting = 0;
    }
    return true;
}

/* Gathers the lanes that the masks in operand o[slot] name. Returns EX_WAIT if some of them may
 * still come. Otherwise fills *mt with the lanes that are there, and returns 0. */
static int gather(struct warp *w, const struct insn *in, uint32_t slot, struct meeting *mt)
{
    const uint32_t *m = opnd(w, in->o[slot]);
    mt->n = 1;
    mt->at[0] = (struct party){in, w->active};
    uint32_t need = 0, all = FULL;
    if (w->active == FULL)
        for (uint32_t i = 0; i < WARP; i++) {
            need |= m[i];
            all &= m[i];
        }
    else
        FOR_LANES(i, w)
        {
            need |= m[i];
            all &= m[i];
        }
    uint32_t missing = need & w->live & ~w->active, gone = need & ~w->live & warp_lanes(w);
    if (missing && need == all && !(w->active & ~need) &&
        meet_at_copies(w, mt, slot, need, missing)) {
        if (w->launch->sanitize && gone)
            check_exited(w, in, gone, in->flags & INSN_COMBINES);
    } else {
        if (missing && !emu_stuck(w))
            return EX_WAIT;
        if (w->launch->sanitize && (need != all || need != w->active))
            check_lanes(w, in, m, need, missing, need == all);
    }
    for (uint32_t k = 0; k < mt->n; k++)
        exits_met(w, EXITS_WARP, mt->at[k].lanes, mt->at[k].in);
    san_warp_sync(w, need);
    return 0;
}

#define GATHER(slot)                          \
    struct meeting mt;                        \
    do {                                      \
        int rc_ = gather(w, in, (slot), &mt); \
        if (rc_)                              \
            return rc_;                       \
    } while (0)

/* Returns the values of operand o[slot] in all lanes; each has `bytes` bytes. If lanes meet at
 * several instructions, collects the values in `buf`. */
static const void *values(const struct warp *w, const struct meeting *mt, uint32_t slot,
                          size_t bytes, void *buf)
{
    if (mt->n == 1)
        return opnd(w, mt->at[0].in->o[slot]);
    memset(buf, 0, WARP * bytes);
    for (uint32_t k = 0; k < mt->n; k++) {
        const char *from = opnd(w, mt->at[k].in->o[slot]);
        for (uint32_t m = mt->at[k].lanes; m; m &= m - 1) {
            size_t at = (size_t)__builtin_ctz(m) * bytes;
            memcpy((char *)buf + at, from + at, bytes);
        }
    }
    return buf;
}

/* Stores the results in the first operand. */
static void put_values(const struct warp *w, const struct meeting *mt, const uint32_t *results)
{
    for (uint32_t k = 0; k < mt->n; k++) {
        uint32_t *d = opnd(w, mt->at[k].in->o[0]), lanes = mt->at[k].lanes;
        for (uint32_t i = 0; i < WARP; i++)
            d[i] = lanes >> i & 1 ? results[i] : d[i];
    }
}

static void put_bits(const struct warp *w, uint32_t code, uint32_t lanes, uint32_t bits)
{
    uint32_t *p = opnd(w, code);
    *p = (*p & ~lanes) | (bits & lanes);
}

/* Some instructions have a second result, a predicate, such as p of `shfl.sync d|p`. Stores it. */
static void put_second(const struct warp *w, const struct meeting *mt, uint32_t bits)
{
    for (uint32_t k = 0; k < mt->n; k++)
        if (mt->at[k].in->nv)
            put_bits(w, mt->at[k].in->v[0], mt->at[k].lanes, bits);
}

/* Sets at[i] to the instruction that lane i executes. */
static void instructions(const struct meeting *mt, const struct insn *at[WARP])
{
    for (uint32_t k = 0; k < mt->n; k++)
        for (uint32_t m = mt->at[k].lanes; m; m &= m - 1)
            at[__builtin_ctz(m)] = mt->at[k].in;
}

/* ---- shfl ----------------------------------------------------------------------------------- */

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

static void report_absent(struct warp *w, const struct insn *in, uint32_t lanes,
                          const uint32_t *from, const uint32_t *m)
{
    char text[200];
    uint32_t i = (uint32_t)__builtin_ctz(lanes), j = from[i];
    const char *why = !(m[i] >> j & 1)            ? "its mask does not name"
                      : !(warp_lanes(w) >> j & 1) ? "is past the end of the block"
                      : !(w->live >> j & 1)       ? "has exited"
                                                  : "does not execute it";
    snprintf(text, sizeof text,
             "the value that this shuffle gives lane %u is undefined, and the kernel uses it: lane "
             "%u reads lane %u, which %s",
             i, i, j, why);
    if (!undef_absent(w, in, lanes, text))
        emu_finding(w, in, (int)i, FIND_NOTE, "warp", -1, NULL,
                    "lane %u reads lane %u, which %s: the result is undefined", i, j, why);
}

/* Copies marks of undefined bits (undefined.c) from the lane that is read to the lane that
 * reads. */
static void pass_marks(struct warp *w, const struct meeting *mt, const uint32_t *from)
{
    uint32_t sets[WARP] = {0};
    const struct insn *at[WARP] = {NULL};
    instructions(mt, at);
    FOR_LANES(i, w)
    sets[i] = 1u << from[i];
    undef_exchange(w, at, sets);
}

/* Like pass_marks(), for instructions that combine the values of all lanes of the mask. */
static void combine_marks(struct warp *w, const struct meeting *mt, const uint32_t *m)
{
    uint32_t sets[WARP] = {0};
    const struct insn *at[WARP] = {NULL};
    if (!w->undef)
        return;
    instructions(mt, at);
    FOR_LANES(i, w)
    sets[i] = m[i] & w->active;
    undef_exchange(w, at, sets);
}

static int exec_shfl(struct warp *w, const struct insn *in)
{
    GATHER(4);
    uint32_t d[WARP] = {0}, from[WARP], valid = 0, absent = 0, buf[4][WARP];
    const uint32_t *src = values(w, &mt, 1, 4, buf[0]), *b = values(w, &mt, 2, 4, buf[1]);
    const uint32_t *c = values(w, &mt, 3, 4, buf[2]), *m = values(w, &mt, 4, 4, buf[3]);
    FOR_LANES(i, w)
    {
        uint32_t seg = c[i] >> 8 & 31, cv = c[i] & 31, bv = b[i] & 31;
        int32_t max = (int32_t)((i & seg) | (cv & ~seg)), min = (int32_t)(i & seg), j;
        bool ok;
        switch (in->sub[0]) {
        case SHFL_UP:
            j = (int32_t)i - (int32_t)bv;
            ok = j >= max;
            break;
        case SHFL_DOWN:
            j = (int32_t)(i + bv);
            ok = j <= max;
            break;
        case SHFL_BFLY:
            j = (int32_t)(i ^ bv);
            ok = j <= max;
            break;
        default:
            j = min | (int32_t)(bv & ~seg);
            ok = j <= max;
        }
        /* The value of a lane that takes no part is undefined. Here it is all ones. */
        from[i] = ok ? (uint32_t)j & 31 : i;
        bool there = from[i] == i || (w->active & m[i]) >> from[i] & 1;
        d[i] = there ? src[from[i]] : UINT32_MAX;
        valid |= (uint32_t)ok << i;
        absent |= (uint32_t)!there << i;
    }
    if (__builtin_expect(w->undef != NULL, 0))
        pass_marks(w, &mt, from);
    for (uint32_t k = 0; k < mt.n && w->launch->sanitize; k++)
        if (absent & mt.at[k].lanes)
            report_absent(w, mt.at[k].in, absent & mt.at[k].lanes, from, m);
    put_values(w, &mt, d);
    put_second(w, &mt, valid);
    return EX_NEXT;
}

static int decode_shfl(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    if (!ptx_has(p, "sync") || p->nmods != 3 || p->nops != 5 || ptx_last_type(p) != PT_B32)
        return dec_unsupported(d, p);
    in->exec = exec_shfl;
    in->kind = CK_SHUFFLE;
    in->flags |= INSN_SYNCWARP;
    in->sub[0] = 255;
    for (uint8_t i = 0; i < 4; i++)
        if (ptx_has(p, modes[i]))
            in->sub[0] = i;
    if (in->sub[0] == 255)
        return dec_unsupported(d, p);
    if (dec_dst(d, p, &p->ops[0], 32, &in->o[0]) < 0)
        return -1;
    for (uint32_t i = 1; i < 5; i++)
        if (dec_src(d, p, &p->ops[i], PT_B32, &in->o[i]) < 0)
            return -1;
    if (p->ops[0].pair) {
        uint32_t pred;
        if (dec_dst(d, p, p->ops[0].pair, 1, &pred) < 0)
            return -1;
        dec_set_v(d, in, &pred, 1);
    }
    return 0;
}

/* ---- vote ----------------------------------------------------------------------------------- */

enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

static int exec_vote(struct warp *w, const struct insn *in)
{
    GATHER(2);
    uint32_t buf[WARP], d[WARP] = {0}, p = 0, bits = 0;
    const uint32_t *m = values(w, &mt, 2, 4, buf);
    combine_marks(w, &mt, m);
    for (uint32_t k = 0; k < mt.n; k++) {
        const struct party *at = &mt.at[k];
        p |= (opnd_pred(w, at->in->o[1]) ^ (at->in->imm ? FULL : 0)) & at->lanes;
    }
    FOR_LANES(i, w)
    {
        uint32_t mask = m[i] & w->active, v = p & mask;
        d[i] = v;
        bits |= (uint32_t)(in->sub[0] == VOTE_ALL   ? v == mask
                           : in->sub[0] == VOTE_ANY ? v != 0
                                                    : v == mask || v == 0)
                << i;
    }
    if (in->sub[0] == VOTE_BALLOT)
        put_values(w, &mt, d);
    else
        for (uint32_t k = 0; k < mt.n; k++)
            put_bits(w, mt.at[k].in->o[0], mt.at[k].lanes, bits);
    return EX_NEXT;
}

static int decode_vote(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    static const char *const modes[] = {"all", "any", "uni", "ballot"};
    bool neg = false;
    if (!ptx_has(p, "sync") || p->nops != 3)
        return dec_unsupported(d, p);
    in->exec = exec_vote;
    in->kind = CK_SHUFFLE;
    in->flags |= INSN_SYNCWARP | INSN_COMBINES;
    in->sub[0] = 255;
    for (uint8_t i = 0; i < 4; i++)
        if (ptx_has(p, modes[i]))
            in->sub[0] = i;
    if (in->sub[0] == 255)
        return dec_unsupported(d, p);
    if (dec_dst(d, p, &p->ops[0], in->sub[0] == VOTE_BALLOT ? 32 : 1, &in->o[0]) < 0 ||
        dec_pred(d, p, &p->ops[1], &in->o[1], &neg) < 0)
        return -1;
    in->imm = neg;
    return dec_src(d, p, &p->ops[2], PT_B32, &in->o[2]);
}

/* ---- match ---------------------------------------------------------------------------------- */

static int exec_match(struct warp *w, const struct insn *in)
{
    GATHER(2);
    bool wide = in->sub[1];
    uint32_t out[WARP] = {0}, all = 0, mask_buf[WARP];
    uint64_t buf[WARP];
    const uint32_t *m = values(w, &mt, 2, 4, mask_buf);
    const void *a = values(w, &mt, 1, wide ? 8 : 4, buf);
    const uint32_t *a32 = a;
    const uint64_t *a64 = a;
    combine_marks(w, &mt, m);
    FOR_LANES(i, w)
    {
        uint32_t mask = m[i] & w->active, same = 0;
        for (uint32_t k = 0; k < WARP; k++)
            if (mask >> k & 1)
                same |= (uint32_t)(wide ? a64[k] == a64[i] : a32[k] == a32[i]) << k;
        if (in->sub[0]) {
            out[i] = same == mask ? mask : 0;
            all |= (uint32_t)(same == mask) << i;
        } else {
            out[i] = same;
        }
    }
    put_values(w, &mt, out);
    put_second(w, &mt, all);
    return EX_NEXT;
}

static int decode_match(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    enum ptx_type t = ptx_last_type(p);
    if (!ptx_has(p, "sync") || p->nops != 3 || (t != PT_B32 && t != PT_B64) ||
        ptx_has(p, "any") == ptx_has(p, "all"))
        return dec_unsupported(d, p);
    in->exec = exec_match;
    in->kind = CK_SHUFFLE;
    in->flags |= INSN_SYNCWARP | INSN_COMBINES;
    in->sub[0] = ptx_has(p, "all");
    in->sub[1] = t == PT_B64;
    if (p->ops[0].pair) {
        uint32_t pred;
        if (dec_dst(d, p, p->ops[0].pair, 1, &pred) < 0)
            return -1;
        dec_set_v(d, in, &pred, 1);
    }
    if (dec_dst(d, p, &p->ops[0], 32, &in->o[0]) < 0 || dec_src(d, p, &p->ops[1], t, &in->o[1]) < 0)
        return -1;
    return dec_src(d, p, &p->ops[2], PT_B32, &in->o[2]);
}

/* ---- redux ---------------------------------------------------------------------------------- */

enum { R_ADD, R_MIN, R_MAX, R_AND, R_OR, R_XOR };

static uint32_t reduce(uint8_t op, enum ptx_type t, uint32_t a, uint32_t b)
{
    switch (op) {
    case R_ADD:
        return a + b;
    case R_MIN:
        return t == PT_S32 ? ((int32_t)a < (int32_t)b ? a : b) : (a < b ? a : b);
    case R_MAX:
        return t == PT_S32 ? ((int32_t)a > (int32_t)b ? a : b) : (a > b ? a : b);
    case R_AND:
        return a & b;
    case R_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static uint32_t reduce_f32(const struct insn *in, uint32_t a, uint32_t b)
{
    float x = float32(in->sub[2] & 1 ? a & 0x7fffffffu : a);
    float y = float32(in->sub[2] & 1 ? b & 0x7fffffffu : b);
    if ((in->sub[2] & 2) && (x != x || y != y))
        return 0x7fffffffu;
    return bits32(in->sub[0] == R_MAX ? max32(x, y) : min32(x, y));
}

static int exec_redux(struct warp *w, const struct insn *in)
{
    GATHER(2);
    uint32_t d[WARP] = {0}, buf[2][WARP];
    const uint32_t *m = values(w, &mt, 2, 4, buf[0]), *src = values(w, &mt, 1, 4, buf[1]);
    combine_marks(w, &mt, m);
    FOR_LANES(i, w)
    {
        uint32_t mask = m[i] & w->active, acc = 0;
        bool first = true;
        for (; mask; mask &= mask - 1) {
            uint32_t v = src[__builtin_ctz(mask)];
            if (in->sub[1] == PT_F32)
                acc = first ? reduce_f32(in, v, v) : reduce_f32(in, acc, v);
            else
                acc = first ? v : reduce(in->sub[0], (enum ptx_type)in->sub[1], acc, v);
            first = false;
        }
        d[i] = acc;
    }
    put_values(w, &mt, d);
    return EX_NEXT;
}

static int decode_redux(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    static const char *const ops[] = {"add", "min", "max", "and", "or", "xor"};
    enum ptx_type t = ptx_last_type(p);
    in->exec = exec_redux;
    in->kind = CK_SHUFFLE;
    in->flags |= INSN_SYNCWARP | INSN_COMBINES;
    in->sub[0] = 255;
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (ptx_has(p, ops[i]))
            in->sub[0] = (uint8_t)i;
    if (in->sub[0] == 255 || p->nops != 3 || !ptx_has(p, "sync") || ptx_type_bits(t) != 32 ||
        (t == PT_F32 && in->sub[0] != R_MIN && in->sub[0] != R_MAX))
        return dec_unsupported(d, p);
    in->sub[1] = (uint8_t)t;
    in->sub[2] = (uint8_t)((ptx_has(p, "abs") ? 1 : 0) | (ptx_has(p, "NaN") ? 2 : 0));
    if (dec_dst(d, p, &p->ops[0], 32, &in->o[0]) < 0 || dec_src(d, p, &p->ops[1], t, &in->o[1]) < 0)
        return -1;
    return dec_src(d, p, &p->ops[2], PT_B32, &in->o[2]);
}

/* ---- the rest ------------------------------------------------------------------------------- */

static int exec_warp_sync(struct warp *w, const struct insn *in)
{
    GATHER(1);
    w->syncwarps++;
    return EX_NEXT;
}

static int decode_warp_sync(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    if (p->nmods < 2 || !str_eq(p->mods[0], "warp") || !str_eq(p->mods[1], "sync"))
        return 1;
    in->exec = exec_warp_sync;
    in->kind = CK_BARRIER;
    in->flags |= INSN_SYNCWARP;
    if (p->nops != 1)
        return dec_bad(d, p, "a mask is expected");
    return dec_src(d, p, &p->ops[0], PT_B32, &in->o[1]);
}

static int exec_activemask(struct warp *w, const struct insn *in)
{
    uint32_t *d = opnd(w, in->o[0]), m = w->active;
    LANES(w, i, d[i] = m);
}

static int decode_activemask(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    in->exec = exec_activemask;
    in->kind = CK_MOVE;
    if (p->nops != 1)
        return dec_bad(d, p, "one operand is expected");
    return dec_dst(d, p, &p->ops[0], 32, &in->o[0]);
}

static int exec_elect(struct warp *w, const struct insn *in)
{
    GATHER(1);
    uint32_t d[WARP] = {0}, buf[WARP], bits = 0;
    const uint32_t *m = values(w, &mt, 1, 4, buf);
    FOR_LANES(i, w)
    {
        uint32_t mask = m[i] & w->active;
        uint32_t leader = mask ? (uint32_t)__builtin_ctz(mask) : i;
        d[i] = leader;
        bits |= (uint32_t)(leader == i) << i;
    }
    put_values(w, &mt, d);
    put_second(w, &mt, bits);
    return EX_NEXT;
}

static int decode_elect(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    in->exec = exec_elect;
    in->kind = CK_SHUFFLE;
    in->flags |= INSN_SYNCWARP;
    if (p->nops != 2 || dec_dst(d, p, &p->ops[0], 32, &in->o[0]) < 0)
        return dec_bad(d, p, "two operands are expected");
    if (p->ops[0].pair) {
        uint32_t pred;
        if (dec_dst(d, p, p->ops[0].pair, 1, &pred) < 0)
            return -1;
        dec_set_v(d, in, &pred, 1);
    }
    return dec_src(d, p, &p->ops[1], PT_B32, &in->o[1]);
}

const struct decode_entry decode_warp_ops[] = {{"shfl", decode_shfl},
                                               {"vote", decode_vote},
                                               {"match", decode_match},
                                               {"redux", decode_redux},
                                               {"activemask", decode_activemask},
                                               {"elect", decode_elect},
                                               {"bar", decode_warp_sync},
                                               {NULL, NULL}};
