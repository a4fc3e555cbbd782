/*
 * video.c - the video instructions: scalar (vadd, vabsdiff, ...) and on 2 or 4 packed parts.
 *
 * Byte and half-word selectors on operands (a.b1, a.b7654) are not supported.
 */
#include "base/util.h"
#include "emu/lanes.h"
#include "emu/machine.h"
#include "emu/numeric.h"

enum { V_ADD, V_SUB, V_ABSDIFF, V_MIN, V_MAX, V_AVRG, V_SHL, V_SHR, V_SET, V_COUNT };
static const char *const names[V_COUNT] = {"vadd",  "vsub", "vabsdiff", "vmin", "vmax",
                                           "vavrg", "vshl", "vshr",     "vset"};
enum { SEC_NONE, SEC_ADD, SEC_MIN, SEC_MAX };
enum { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE };
static const char *const cmps[] = {"eq", "ne", "lt", "le", "gt", "ge"};

struct video {
    uint8_t op, parts, cmp, second;
    bool ds, as, bs, sat, wrap; /* signs of d, a, b */
};

static int64_t part_of(uint32_t v, uint32_t k, uint32_t bits, bool sg)
{
    uint32_t e = bits == 32 ? v : v >> (k * bits) & ((1u << bits) - 1);
    if (sg)
        return (int32_t)(e << (32 - bits)) >> (32 - bits);
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
        return a << b;
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

static uint32_t one(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t bits = 32u / v->parts, packed = 0;
    int64_t sum = 0;
    for (uint32_t k = 0; k < v->parts; k++) {
        int64_t r = compute(v, part_of(a, k, bits, v->as),
                            part_of(b, k, bits, v->op == V_SHL || v->op == V_SHR ? false : v->bs));
        if (v->sat)
            r = clamp(r, bits, v->ds);
        uint32_t e = (uint32_t)r & (bits == 32 ? FULL : (1u << bits) - 1);
        packed |= bits == 32 ? e : e << (k * bits);
        sum += v->ds && bits < 32 ? part_of(e, 0, bits, true) : (int64_t)e;
    }
    if (v->second == SEC_NONE)
        return packed;
    if (v->second == SEC_ADD)
        return c + (uint32_t)sum;
    bool less = v->ds ? (int32_t)packed < (int32_t)c : packed < c;
    return less == (v->second == SEC_MIN) ? packed : c;
}

static int exec_video(struct warp *w, const struct insn *in)
{
    const struct video *v = in->aux;
    uint32_t *d = opnd(w, in->o[0]);
    const uint32_t *a = opnd(w, in->o[1]), *b = opnd(w, in->o[2]);
    const uint32_t *c = in->sub[0] ? opnd(w, in->o[3]) : b;
    FOR_LANES(i, w)
    d[i] = one(v, a[i], b[i], c[i]);
    return EX_NEXT;
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
    bool is_set = v->op == V_SET;
    for (int i = 0; i < p->nmods; i++) {
        const char *m = p->mods[i];
        enum ptx_type t = ptx_type_of(m);
        bool known = false;
        for (uint8_t k = 0; is_set && k < ARRAY_LEN(cmps); k++)
            if (str_eq(m, cmps[k])) {
                v->cmp = k;
                known = true;
            }
        if (known)
            continue;
        if (t == PT_U32 || t == PT_S32) {
            bool sg = t == PT_S32;
            uint32_t which = is_set ? types + 1 : types;
            *(which == 0 ? &v->ds : which == 1 ? &v->as : &v->bs) = sg;
            types++;
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
        } else if (!str_eq(m, "clamp")) {
            return dec_unsupported(d, p);
        }
    }
    /* packed forms always name c, but without .add it only fills parts a mask leaves out */
    if ((p->nops != 3 && p->nops != 4) || (v->second && p->nops != 4))
        return dec_bad(d, p, "wrong number of operands");
    in->exec = exec_video;
    in->kind = CK_INT;
    in->aux = v;
    in->sub[0] = p->nops == 4;
    return dec_operands(d, p, in, PT_B32, PT_B32);
}

const struct decode_entry decode_video_ops[] = {{"vadd", decode_video},
                                                {"vsub", decode_video},
                                                {"vabsdiff", decode_video},
                                                {"vmin", decode_video},
                                                {"vmax", decode_video},
                                                {"vshl", decode_video},
                                                {"vshr", decode_video},
                                                {"vset", decode_video},
                                                {"vadd2", decode_video},
                                                {"vsub2", decode_video},
                                                {"vabsdiff2", decode_video},
                                                {"vmin2", decode_video},
                                                {"vmax2", decode_video},
                                                {"vavrg2", decode_video},
                                                {"vset2", decode_video},
                                                {"vadd4", decode_video},
                                                {"vsub4", decode_video},
                                                {"vabsdiff4", decode_video},
                                                {"vmin4", decode_video},
                                                {"vmax4", decode_video},
                                                {"vavrg4", decode_video},
                                                {"vset4", decode_video},
                                                {NULL, NULL}};
