/*
 * declare.c - parses declarations: registers, variables and their initialisers.
 */
#include "emu/ptx/parser.h"

/* ---- variables ------------------------------------------------------------------------------ */

static void put_init(struct parser *ps, struct ptx_var *v, uint64_t off, uint64_t bits, uint32_t n)
{
    if (off + n > v->bytes)
        FAIL("too many initialisers for '%s'", v->name);
    memcpy(v->init + off, &bits, n);
}

static void add_reloc(struct parser *ps, struct ptx_var *v, struct ptx_reloc r)
{
    if ((v->nrelocs & (v->nrelocs - 1)) == 0) { /* grow at powers of two */
        struct ptx_reloc *n =
            arena_alloc(&ps->m->arena, sizeof *n * (v->nrelocs ? v->nrelocs * 2 : 1));
        if (v->nrelocs)
            memcpy(n, v->relocs, sizeof *n * v->nrelocs);
        v->relocs = n;
    }
    v->relocs[v->nrelocs++] = r;
}

static uint64_t parse_init_list(struct parser *ps, struct ptx_var *v, uint64_t off, uint32_t elem)
{
    if (++ps->nesting > 16)
        FAIL("initialisers are nested too deeply");
    do {
        if (lex_is(&ps->lx, '}'))
            break;
        if (ps_accept(ps, '{')) {
            off = parse_init_list(ps, v, off, elem);
            ps_expect(ps, '}');
            continue;
        }
        bool minus = lex_is(&ps->lx, '-');
        if (ps->lx.tok == T_IDENT && !ps_is(ps, T_IDENT, "WARP_SZ")) {
            struct ptx_reloc r = {.off = off, .size = elem};
            struct name *nm = ps_name(ps);
            if (lex_is(&ps->lx, '(') && str_eq(nm->text, "generic")) {
                ps_next(ps);
                r.generic = true;
                nm = ps_name(ps);
                ps_expect(ps, ')');
            }
            r.name = nm->text;
            if (lex_is(&ps->lx, '+') || lex_is(&ps->lx, '-'))
                r.addend = ps_const(ps, 0);
            put_init(ps, v, off, 0, elem);
            add_reloc(ps, v, r);
        } else if (ps->lx.tok == T_FLOAT || minus) {
            if (minus)
                ps_next(ps);
            if (ps->lx.tok == T_FLOAT) {
                double d = minus ? -ps->lx.fval : ps->lx.fval;
                float f = (float)d;
                uint64_t bits = 0;
                if (elem == 8)
                    memcpy(&bits, &d, 8);
                else
                    memcpy(&bits, &f, 4);
                put_init(ps, v, off, bits, elem);
                ps_next(ps);
            } else {
                put_init(ps, v, off, 0 - (uint64_t)ps_const(ps, 0), elem);
            }
        } else {
            uint64_t val = (uint64_t)ps_const(ps, 0);
            /* 0xff00(symbol) is one byte of the symbol's address: the mask 0xff00 selects it */
            if (lex_is(&ps->lx, '(')) {
                ps_next(ps);
                struct ptx_reloc r = {.off = off, .size = elem};
                if (ps_is(ps, T_IDENT, "generic")) {
                    ps_next(ps);
                    ps_expect(ps, '(');
                    r.generic = true;
                }
                r.name = ps_name(ps)->text;
                if (r.generic)
                    ps_expect(ps, ')');
                if (lex_is(&ps->lx, '+') || lex_is(&ps->lx, '-'))
                    r.addend = ps_const(ps, 0);
                ps_expect(ps, ')');
                r.shift = val ? (uint32_t)__builtin_ctzll(val) : 0;
                val = 0;
                add_reloc(ps, v, r);
            }
            put_init(ps, v, off, val, elem);
        }
        off += elem;
    } while (ps_accept(ps, ','));
    ps->nesting--;
    return off;
}

enum ptx_space ps_space(struct parser *ps)
{
    static const struct {
        const char *name;
        enum ptx_space sp;
    } t[] = {{"reg", SP_REG},     {"const", SP_CONST},   {"global", SP_GLOBAL}, {"local", SP_LOCAL},
             {"param", SP_PARAM}, {"shared", SP_SHARED}, {"tex", SP_GLOBAL}};
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        if (ps_is(ps, T_DOT, t[i].name))
            return t[i].sp;
    return SP_GENERIC;
}

/* Parses attributes and type of a declaration, after the state space (such as .global). Returns how
 * many elements the vector type has: 1 (no vector), 2 or 4. */
static uint32_t parse_decl_type(struct parser *ps, enum ptx_type *type, uint32_t *align)
{
    uint32_t width = 1;
    *type = PT_NONE;
    *align = 0;
    while (ps->lx.tok == T_DOT) {
        if (ps_is(ps, T_DOT, "align")) {
            ps_next(ps);
            *align = ps_u32(ps);
            if (!*align || (*align & (*align - 1)) || *align > 1u << 20)
                FAIL("bad alignment");
        } else if (ps_is(ps, T_DOT, "v2") || ps_is(ps, T_DOT, "v4")) {
            width = ps->lx.text[1] == '2' ? 2 : 4;
            ps_next(ps);
        } else if (ps_is(ps, T_DOT, "ptr")) {
            ps_next(ps);
            while (ps->lx.tok == T_DOT) { /* .ptr .global .align 16 */
                bool is_align = ps_is(ps, T_DOT, "align");
                ps_next(ps);
                if (is_align)
                    (void)ps_u32(ps);
            }
        } else if (ps_is(ps, T_DOT, "attribute")) {
            ps_next(ps);
            ps_expect(ps, '(');
            while (!lex_is(&ps->lx, ')') && ps->lx.tok != T_EOF)
                ps_next(ps);
            ps_expect(ps, ')');
        } else {
            char buf[16];
            size_t n = MIN(ps->lx.len, sizeof buf - 1);
            memcpy(buf, ps->lx.text, n);
            buf[n] = 0;
            *type = ptx_type_of(buf);
            if (*type == PT_NONE)
                FAIL("unknown type '.%s'", buf);
            ps_next(ps);
        }
    }
    if (*type == PT_NONE)
        FAIL("a type is expected");
    return width;
}

static void parse_reg_decl(struct parser *ps)
{
    enum ptx_type type;
    uint32_t align;
    uint32_t width = parse_decl_type(ps, &type, &align);
    if (!ps->f || type == PT_OTHER || type == PT_B1024)
        FAIL("registers cannot be declared here");
    do {
        struct name *nm = ps_name(ps);
        if (ps_accept(ps, '<')) {
            struct binding *b = ps_bind(ps, nm, B_RANGE);
            b->type = type;
            b->count = ps_u32(ps);
            ps_expect(ps, '>');
        } else if (width > 1) {
            for (uint32_t i = 0; i < width; i++) {
                char buf[256];
                int n = snprintf(buf, sizeof buf, "%s.%c", nm->text, "xyzw"[i]);
                struct name *c = ps_intern(ps, buf, MIN((size_t)n, sizeof buf - 1));
                ps_bind(ps, c, B_VAR)->var = ps_new_reg(ps, c->text, type);
            }
        } else {
            ps_bind(ps, nm, B_VAR)->var = ps_new_reg(ps, nm->text, type);
        }
    } while (ps_accept(ps, ','));
}

/* Parses one variable or parameter, after its state space. */
struct ptx_var *ps_var(struct parser *ps, enum ptx_space sp, bool bind_it)
{
    enum ptx_type type;
    uint32_t align;
    uint32_t width = parse_decl_type(ps, &type, &align);
    struct name *nm = ps_name(ps);
    uint32_t elem = type == PT_PRED ? 1 : MAX(ptx_type_bits(type) / 8, 1u);
    struct ptx_var *v = arena_alloc(&ps->m->arena, sizeof *v);
    v->name = nm->text;
    v->space = sp;
    v->type = type;
    v->align = align ? align : elem * width;
    v->bytes = (uint64_t)elem * width;
    bool open = false;
    while (ps_accept(ps, '[')) {
        if (ps_accept(ps, ']')) {
            open = true;
            continue;
        }
        int64_t n = ps_const(ps, 0);
        if (n < 0 || (uint64_t)n > MAX_VAR_BYTES || v->bytes * (uint64_t)n > MAX_VAR_BYTES)
            FAIL("'%s' is too big", v->name);
        v->bytes *= (uint64_t)n;
        ps_expect(ps, ']');
    }
    if (open)
        v->bytes = 0;
    if (bind_it)
        ps_bind(ps, nm, B_VAR)->var = v;
    if (ps_accept(ps, '=')) {
        if (sp != SP_GLOBAL && sp != SP_CONST)
            FAIL("'%s' cannot have an initialiser", v->name);
        if (open)
            FAIL("'%s' needs a size", v->name);
        if (v->bytes > MAX_INIT_BYTES || (ps->init_bytes += v->bytes) > MAX_INIT_BYTES)
            FAIL("the module has too much initialised memory");
        v->init = arena_alloc(&ps->m->arena, v->bytes ? v->bytes : 1);
        v->init_bytes = v->bytes;
        if (ps_accept(ps, '{')) {
            parse_init_list(ps, v, 0, elem);
            ps_expect(ps, '}');
        } else {
            parse_init_list(ps, v, 0, elem);
        }
        ps->nesting = 0;
    }
    return v;
}

void ps_var_decl(struct parser *ps, enum ptx_space sp, bool is_extern)
{
    ps_next(ps);
    if (sp == SP_REG) {
        parse_reg_decl(ps);
    } else {
        struct ptx_var *v = ps_var(ps, sp, true);
        v->is_extern = is_extern;
        if (ps->f && sp != SP_GLOBAL && sp != SP_CONST)
            *vec_push(&ps->f->locals) = v;
        else
            *vec_push(&ps->m->vars) = v;
    }
    ps_expect(ps, ';');
}
