/*
 * ptx.c - looks up types, modifiers and names in parsed PTX.
 */
#include "emu/ptx/ptx.h"

#include "base/util.h"

static const struct {
    const char *name;
    uint16_t bits;
    bool is_float, is_signed;
} types[PT_COUNT] = {
    [PT_NONE] = {"", 0, false, false},           [PT_PRED] = {"pred", 1, false, false},
    [PT_B8] = {"b8", 8, false, false},           [PT_B16] = {"b16", 16, false, false},
    [PT_B32] = {"b32", 32, false, false},        [PT_B64] = {"b64", 64, false, false},
    [PT_B128] = {"b128", 128, false, false},     [PT_U8] = {"u8", 8, false, false},
    [PT_U16] = {"u16", 16, false, false},        [PT_U32] = {"u32", 32, false, false},
    [PT_U64] = {"u64", 64, false, false},        [PT_S8] = {"s8", 8, false, true},
    [PT_S16] = {"s16", 16, false, true},         [PT_S32] = {"s32", 32, false, true},
    [PT_S64] = {"s64", 64, false, true},         [PT_F16] = {"f16", 16, true, true},
    [PT_F16X2] = {"f16x2", 32, true, true},      [PT_BF16] = {"bf16", 16, true, true},
    [PT_BF16X2] = {"bf16x2", 32, true, true},    [PT_F32] = {"f32", 32, true, true},
    [PT_F64] = {"f64", 64, true, true},          [PT_TF32] = {"tf32", 32, true, true},
    [PT_E4M3] = {"e4m3", 8, true, true},         [PT_E5M2] = {"e5m2", 8, true, true},
    [PT_E4M3X2] = {"e4m3x2", 16, true, true},    [PT_E5M2X2] = {"e5m2x2", 16, true, true},
    [PT_U16X2] = {"u16x2", 32, false, false},    [PT_S16X2] = {"s16x2", 32, false, true},
    [PT_F32X2] = {"f32x2", 64, true, true},      [PT_B1] = {"b1", 1, false, false},
    [PT_U4] = {"u4", 4, false, false},           [PT_S4] = {"s4", 4, false, true},
    [PT_E2M1] = {"e2m1", 4, true, true},         [PT_E2M3] = {"e2m3", 6, true, true},
    [PT_E3M2] = {"e3m2", 6, true, true},         [PT_E2M1X2] = {"e2m1x2", 8, true, true},
    [PT_E2M3X2] = {"e2m3x2", 16, true, true},    [PT_E3M2X2] = {"e3m2x2", 16, true, true},
    [PT_UE8M0X2] = {"ue8m0x2", 16, true, false}, [PT_U8X4] = {"u8x4", 32, false, false},
    [PT_S8X4] = {"s8x4", 32, false, true},       [PT_B1024] = {"b1024", 1024, false, false},
    [PT_OTHER] = {"opaque", 64, false, false},
};

enum ptx_type ptx_type_of(const char *mod)
{
    if (str_eq(mod, "texref") || str_eq(mod, "samplerref") || str_eq(mod, "surfref"))
        return PT_OTHER;
    for (int t = PT_PRED; t < PT_OTHER; t++)
        if (str_eq(mod, types[t].name))
            return (enum ptx_type)t;
    return PT_NONE;
}

uint32_t ptx_type_bits(enum ptx_type t)
{
    return types[t].bits;
}

const char *ptx_type_name(enum ptx_type t)
{
    return types[t].name;
}

bool ptx_is_float(enum ptx_type t)
{
    return types[t].is_float;
}

bool ptx_is_signed(enum ptx_type t)
{
    return types[t].is_signed;
}

/* Returns the index of a modifier, or -1. */
static int ptx_mod_index(const struct ptx_insn *in, const char *mod)
{
    for (int i = 0; i < in->nmods; i++)
        if (str_eq(in->mods[i], mod))
            return i;
    return -1;
}

bool ptx_has(const struct ptx_insn *in, const char *mod)
{
    return ptx_mod_index(in, mod) >= 0;
}

enum ptx_type ptx_nth_type(const struct ptx_insn *in, int n)
{
    for (int i = 0; i < in->nmods; i++) {
        enum ptx_type t = ptx_type_of(in->mods[i]);
        if (t != PT_NONE && n-- == 0)
            return t;
    }
    return PT_NONE;
}

enum ptx_type ptx_last_type(const struct ptx_insn *in)
{
    for (int i = in->nmods - 1; i >= 0; i--) {
        enum ptx_type t = ptx_type_of(in->mods[i]);
        if (t != PT_NONE)
            return t;
    }
    return PT_NONE;
}

struct ptx_func *ptx_find(const struct ptx_module *m, const char *name)
{
    for (size_t i = 0; i < m->funcs.n; i++)
        if (str_eq(m->funcs.items[i]->name, name))
            return m->funcs.items[i];
    return NULL;
}

void ptx_release(struct ptx_module *m)
{
    for (size_t i = 0; i < m->funcs.n; i++) {
        struct ptx_func *f = m->funcs.items[i];
        vec_release(&f->insns);
        vec_release(&f->regs);
        vec_release(&f->locals);
    }
    vec_release(&m->funcs);
    vec_release(&m->vars);
    vec_release(&m->files);
    vec_release(&m->inlined);
    vec_release(&m->strings);
    arena_release(&m->arena);
}

/* ---- inlined functions ---------------------------------------------------------------------- */

/* Copies the function's name out of a mangled name: "helper" from _ZN2ns6helperIfEET_S1_i. A lambda
 * has no name: _ZZ3addvENKUliE_clEi gives "a function inside add". A name that is not mangled is
 * copied unchanged. */
static void plain_function(const char *mangled, char *buf, size_t n)
{
    const char *p = mangled, *name = mangled;
    size_t len = strlen(mangled);
    const char *inside = str_starts(p, "_ZZ") ? "a function inside " : "";
    if (str_starts(p, "_Z")) {
        p += *inside ? 3 : 2;
        bool nested = *p == 'N';
        for (p += nested; *p;) {
            if (*p == 'K' || *p == 'L') { /* const member, internal linkage */
                p++;
                continue;
            }
            if (*p < '1' || *p > '9')
                break;
            size_t k = strtoul(p, (char **)&p, 10);
            if (k > strlen(p))
                break;
            name = p;
            len = k;
            p += k;
            if (!nested)
                break;
        }
    }
    snprintf(buf, n, "%s%.*s", inside, (int)MIN(len, 70u), name);
}

static void name_of(const struct ptx_module *m, const char *label, char *buf, size_t n)
{
    *buf = '\0';
    for (size_t i = 0; label && i < m->strings.n; i++)
        if (str_eq(m->strings.items[i].label, label))
            plain_function(m->strings.items[i].text, buf, n);
}

void ptx_describe_inlined(const struct ptx_module *m, const struct ptx_insn *in, char *buf,
                          size_t n)
{
    size_t at = 0;
    *buf = '\0';
    for (uint32_t i = in ? in->inlined : 0, k = 0; i && at < n && k < 4; k++) {
        const struct ptx_inlined *c = &m->inlined.items[i];
        char name[96];
        name_of(m, c->label, name, sizeof name);
        at += (size_t)snprintf(buf + at, n - at, "%s%s%s, called at line %u", k ? " of " : "in ",
                               *name ? name : "a function", *name ? "()" : "", c->line);
        i = c->up;
    }
}
