/*
 * video.c - executes the video instructions: scalar ones (vadd, vabsdiff, vmad, ...) and packed
 * ones. A packed instruction works on each of the 2 halves or 4 bytes of a register: its parts.
 *
 * A selector in a scalar instruction selects one part of an operand (a.b1, a.h0). A selector of d
 * (d.h1) selects the part of d that gets the result; the other parts of d are copied from c. In a
 * packed instruction, a selector has one digit for each part that the instruction works on (a.h10,
 * b.b7654). The digit says which part of a or b to take: the parts of a are numbered from 0, and
 * those of b follow. A mask on d says which parts of d the instruction writes.
 */
#include "base/util.h"
#include "emu/core/lanes.h"
#include "emu/core/machine.h"
#include "emu/core/numeric.h"

enum { V_ADD, V_SUB, V_ABSDIFF, V_MIN, V_MAX, V_AVRG, V_SHL, V_SHR, V_SET, V_MAD, V_COUNT };
static const char *const names[V_COUNT] = {"vadd",  "vsub", "vabsdiff", "vmin", "vmax",
                                           "vavrg", "vshl", "vshr",     "vset", "vmad"};
enum { SEC_NONE, SEC_ADD, SEC_MIN, SEC_MAX };
enum { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE };
static const char *const cmps[] = {"eq", "ne", "lt", "le", "gt", "ge"};

struct part {
    uint8_t bits, at; /* at: the first bit */
};

struct video {
    /* parts: 1 in scalar instructions. second: how to combine the result with c (SEC_...). shift:
     * bits by which vmad shifts its result right. */
    uint8_t op, parts, cmp, second, shift;
    /* ds, as, bs: d, a, b are signed. plus_one: vmad adds 1 (.po). */
    bool ds, as, bs, sat, wrap, plus_one;
    struct part d, a, b; /* only in scalar instructions */
    /* Only in packed instructions: the selected parts, and the mask of the written parts. */
    uint8_t from_a[4], from_b[4], mask;
};

static int64_t part_of(uint32_t v, struct part p, bool sg)
{
    uint32_t e = p.bits == 32 ? v : v >> p.at & ((1u << p.bits) - 1);
    if (sg)
        return (int32_t)(e << (32 - p.bits)) >> (32 - p.bits);
    return e;
}

static int64_t compute(const struct video *v, int64_t a, int64_t b)
{
    switch (v->op) {
    case V_ADD:
        return a + b;
    case V_SUB:
        return a - b;
    case V_ABSDIFF:
        return a > b ? a - b : b - a;
    case V_MIN:
        return a < b ? a : b;
    case V_MAX:
        return a > b ? a : b;
    case V_AVRG:
        return (a + b + (a + b >= 0)) >> 1;
    case V_SHL:
        b = v->wrap ? b & 31 : MIN(b, 32);
        return (int64_t)((uint64_t)a << b);
    case V_SHR:
        b = v->wrap ? b & 31 : MIN(b, 32);
        return a >> b;
    default:
        return v->cmp == CMP_EQ   ? a == b
               : v->cmp == CMP_NE ? a != b
               : v->cmp == CMP_LT ? a < b
               : v->cmp == CMP_LE ? a <= b
               : v->cmp == CMP_GT ? a > b
                                  : a >= b;
    }
}

static int64_t clamp(int64_t r, uint32_t bits, bool sg)
{
    int64_t hi = sg ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1, lo = sg ? -hi - 1 : 0;
    return r > hi ? hi : r < lo ? lo : r;
}

static uint32_t mad(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
    bool sg = v->as || v->bs;
    __int128 r = (__int128)part_of(a, v->a, v->as) * part_of(b, v->b, v->bs);
    r += (int64_t)(int32_t)c + v->plus_one;
    int64_t n = (int64_t)(r >> v->shift);
    return (uint32_t)(v->sat ? clamp(n, 32, sg) : n);
}

static uint32_t scalar(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
    if (v->op == V_MAD)
        return mad(v, a, b, c);
    int64_t r = compute(v, part_of(a, v->a, v->as),
                        part_of(b, v->b, v->op == V_SHL || v->op == V_SHR ? false : v->bs));
    if (v->sat)
        r = clamp(r, v->d.bits, v->ds);
    uint32_t e = (uint32_t)r;
    if (v->d.bits < 32) {
        uint32_t mask = ((1u << v->d.bits) - 1) << v->d.at;
        return (e << v->d.at & mask) | (c & ~mask);
    }
    if (v->second == SEC_NONE)
        return e;
    if (v->second == SEC_ADD)
        return c + e;
    bool sg = v->op == V_SET ? v->as || v->bs : v->ds;
    bool less = sg ? (int32_t)e < (int32_t)c : e < c;
    return less == (v->second == SEC_MIN) ? e : c;
}

static uint32_t packed(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
    uint8_t bits = (uint8_t)(32u / v->parts);
    uint32_t out = 0, each = (1u << bits) - 1, sum = 0;
    for (uint32_t k = 0; k < v->parts; k++) {
        struct part pa = {bits, (uint8_t)(v->from_a[k] % v->parts * bits)};
        struct part pb = {bits, (uint8_t)(v->from_b[k] % v->parts * bits)};
        int64_t r = compute(v, part_of(v->from_a[k] < v->parts ? a : b, pa, v->as),
                            part_of(v->from_b[k] < v->parts ? a : b, pb, v->bs));
        if (v->sat)
            r = clamp(r, bits, v->ds);
        uint32_t e = (uint32_t)r & each, at = k * bits;
        bool on = v->mask >> k & 1;
        out |= on ? e << at : c & each << at;
        if (on)
            sum += (uint32_t)r;
    }
    return v->second == SEC_ADD ? c + sum : out;
}

static int exec_video(struct warp *w, const struct insn *in)
{
    const struct video *v = in->aux;
    uint32_t *d = opnd(w, in->o[0]);
    const uint32_t *a = opnd(w, in->o[1]), *b = opnd(w, in->o[2]);
    const uint32_t *c = in->sub[0] ? opnd(w, in->o[3]) : b;
    FOR_LANES(i, w)
    d[i] = v->parts == 1 ? scalar(v, a[i], b[i], c[i]) : packed(v, a[i], b[i], c[i]);
    return EX_NEXT;
}

/* Parses a selector of a scalar instruction, such as "b1" or "h0", to *p. If `sel` is NULL, the
 * part is the whole register. Returns false if there is no such part. */
static bool scalar_part(const char *sel, struct part *p)
{
    *p = (struct part){32, 0};
    if (!sel)
        return true;
    p->bits = sel[0] == 'b' ? 8 : 16;
    if ((sel[0] != 'b' && sel[0] != 'h') || sel[1] < '0' || sel[1] >= '0' + 32 / p->bits || sel[2])
        return false;
    p->at = (uint8_t)((sel[1] - '0') * p->bits);
    return true;
}

/* Parses a selector of a packed instruction, such as "h10" or "b7654", to from[]. The digit for the
 * highest part comes first. If `sel` is NULL, the parts are those from number `first` on. Returns
 * false if the selector is wrong. */
static bool packed_parts(const char *sel, uint8_t parts, uint8_t first, uint8_t from[4])
{
    for (uint8_t k = 0; k < 4 && k < parts; k++)
        from[k] = first + k;
    if (!sel)
        return true;
    if (sel[0] != (parts == 2 ? 'h' : 'b') || strlen(sel) != 1u + parts)
        return false;
    for (uint8_t k = 0; k < 4 && k < parts; k++) {
        if (sel[parts - k] < '0' || sel[parts - k] >= '0' + 2 * parts)
            return false;
        from[k] = (uint8_t)(sel[parts - k] - '0');
    }
    return true;
}

static bool packed_mask(const char *sel, uint8_t parts, uint8_t *mask)
{
    *mask = (uint8_t)((1u << parts) - 1);
    if (!sel)
        return true;
    if (sel[0] != (parts == 2 ? 'h' : 'b') || !sel[1])
        return false;
    *mask = 0;
    for (const char *s = sel + 1; *s; s++) {
        if (*s < '0' || *s >= '0' + parts)
            return false;
        *mask |= (uint8_t)(1u << (*s - '0'));
    }
    return true;
}

static bool selectors(struct video *v, const struct ptx_insn *p)
{
    const char *d = p->ops[0].sel, *a = p->ops[1].sel, *b = p->ops[2].sel;
    if (p->nops == 4 && p->ops[3].sel)
        return false;
    if (v->parts > 1)
        return packed_parts(a, v->parts, 0, v->from_a) &&
               packed_parts(b, v->parts, v->parts, v->from_b) && packed_mask(d, v->parts, &v->mask);
    return scalar_part(d, &v->d) && scalar_part(a, &v->a) && scalar_part(b, &v->b);
}

/* Returns false if the modifier is unknown. */
static bool modifier(struct video *v, const char *m, uint32_t *types)
{
    enum ptx_type t = ptx_type_of(m);
    for (uint8_t k = 0; v->op == V_SET && k < ARRAY_LEN(cmps); k++)
        if (str_eq(m, cmps[k])) {
            v->cmp = k;
            return true;
        }
    if (t == PT_U32 || t == PT_S32) {
        uint32_t which = (*types)++ + (v->op == V_SET);
        *(which == 0 ? &v->ds : which == 1 ? &v->as : &v->bs) = t == PT_S32;
    } else if (str_eq(m, "sat")) {
        v->sat = true;
    } else if (str_eq(m, "add")) {
        v->second = SEC_ADD;
    } else if (str_eq(m, "min")) {
        v->second = SEC_MIN;
    } else if (str_eq(m, "max")) {
        v->second = SEC_MAX;
    } else if (str_eq(m, "wrap")) {
        v->wrap = true;
    } else if (str_eq(m, "po")) {
        v->plus_one = true;
    } else if (str_eq(m, "shr7") || str_eq(m, "shr15")) {
        v->shift = m[3] == '7' ? 7 : 15;
    } else {
        return str_eq(m, "clamp");
    }
    return true;
}

static int decode_video(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    struct video *v = dec_alloc(d, sizeof *v);
    size_t n = strlen(p->op);
    uint32_t types = 0;
    v->parts = p->op[n - 1] == '2' ? 2 : p->op[n - 1] == '4' ? 4 : 1;
    v->op = V_COUNT;
    for (int i = 0; i < V_COUNT; i++)
        if (strlen(names[i]) == n - (v->parts > 1) &&
            strncmp(names[i], p->op, strlen(names[i])) == 0)
            v->op = (uint8_t)i;
    if (v->op == V_COUNT)
        return dec_unsupported(d, p);
    for (int i = 0; i < p->nmods; i++)
        if (!modifier(v, p->mods[i], &types))
            return dec_unsupported(d, p);
    /* The manual requires c in packed instructions. We require c only where the instruction uses
     * it. With a selector or mask on d, the other parts of d come from c. */
    bool needs_c = v->second || v->op == V_MAD || (p->nops > 0 && p->ops[0].sel);
    if ((p->nops != 3 && p->nops != 4) || (needs_c && p->nops != 4))
        return dec_bad(d, p, "wrong number of operands");
    /* In these cases ptxas does not follow the manual, so we cannot know the right result. */
    bool sg = v->as || v->bs, shifted = v->sat || v->shift;
    bool upper = p->ops[0].sel && str_eq(p->ops[0].sel, "h1");
    if ((v->parts == 1 && ((p->ops[0].sel && v->sat) || upper)) ||
        (v->op == V_MAD && !sg && shifted))
        return dec_unsupported(d, p);
    if (!selectors(v, p))
        return dec_bad(d, p, "no such part of a register");
    in->exec = exec_video;
    in->kind = CK_INT;
    in->aux = v;
    in->sub[0] = p->nops == 4;
    return dec_operands(d, p, in, PT_B32, PT_B32);
}

const struct decode_entry decode_video_ops[] = {
    {"vadd", decode_video},      {"vsub", decode_video},  {"vabsdiff", decode_video},
    {"vmin", decode_video},      {"vmax", decode_video},  {"vshl", decode_video},
    {"vshr", decode_video},      {"vset", decode_video},  {"vmad", decode_video},
    {"vadd2", decode_video},     {"vsub2", decode_video}, {"vabsdiff2", decode_video},
    {"vmin2", decode_video},     {"vmax2", decode_video}, {"vavrg2", decode_video},
    {"vset2", decode_video},     {"vadd4", decode_video}, {"vsub4", decode_video},
    {"vabsdiff4", decode_video}, {"vmin4", decode_video}, {"vmax4", decode_video},
    {"vavrg4", decode_video},    {"vset4", decode_video}, {NULL, NULL}};
