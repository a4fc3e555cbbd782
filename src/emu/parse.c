/*
 * parse.c - PTX text to struct ptx_module.
 *
 * Names live in one hash table; each has a stack of bindings, innermost scope on top, so leaving a
 * scope pops what it bound. `.reg .b32 %r<45>` binds only the prefix; %r7 is made when first used.
 * Labels may be used before they are set: uses are kept per scope and handed to the enclosing one
 * when a scope closes without having set them.
 */
#include <stdarg.h>

#include "base/util.h"
#include "emu/lex.h"

#define MAX_DEPTH 64
#define MAX_REGS (1u << 20)
#define MAX_INSNS (4u << 20)
#define MAX_VAR_BYTES (1ull << 30)
#define MAX_INIT_BYTES (64ull << 20)
#define MAX_LIST 4096
#define NBUCKETS 16384

enum bind_kind { B_VAR, B_RANGE, B_FUNC, B_LABEL, B_TABLE };

struct binding {
    enum bind_kind kind;
    uint32_t depth;
    struct name *name;
    struct binding *below;    /* of the same name */
    struct binding *in_scope; /* next of the same scope */
    struct ptx_var *var;
    struct ptx_func *func;
    struct ptx_table *table;
    uint32_t label;
    enum ptx_type type; /* RANGE */
    uint32_t count;
};

struct name {
    const char *text;
    uint32_t hash;
    struct name *next;
    struct binding *top;
};

struct label_use {
    struct label_use *next;
    struct name *name;
    struct ptx_opnd *opnd; /* a branch's operand, or */
    uint32_t *target;      /* an entry of a .branchtargets */
    uint32_t line;
};

struct scope {
    struct binding *first;
    struct label_use *uses;
};

struct loc {
    struct loc *next;
    uint32_t file, line, col, in_file, in_line, in_col;
};

struct parser {
    struct lexer lx;
    struct ptx_module *m;
    struct ptx_func *f; /* being defined, or NULL */
    struct name *names[NBUCKETS];
    struct scope scopes[MAX_DEPTH];
    uint32_t depth;
    struct loc *locs[1024]; /* .loc with inlined_at, by position */
    uint32_t home_file;     /* file of the current function's first .loc */
    uint32_t cur_file, cur_line;
    uint32_t nesting;
    uint64_t init_bytes;
};

#define FAIL(...) lex_fail(&ps->lx, __VA_ARGS__)

/* ---- names ---------------------------------------------------------------------------------- */

static struct name *intern(struct parser *ps, const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)s[i]) * 16777619u;
    struct name **slot = &ps->names[h % NBUCKETS];
    for (struct name *e = *slot; e; e = e->next)
        if (e->hash == h && strlen(e->text) == n && memcmp(e->text, s, n) == 0)
            return e;
    struct name *e = arena_alloc(&ps->m->arena, sizeof *e);
    e->text = arena_strndup(&ps->m->arena, s, n);
    e->hash = h;
    e->next = *slot;
    *slot = e;
    return e;
}

/* Binds a name at a depth not above the innermost binding it already has. */
static struct binding *bind_at(struct parser *ps, struct name *nm, enum bind_kind kind,
                               uint32_t depth)
{
    struct binding *b = arena_alloc(&ps->m->arena, sizeof *b);
    b->kind = kind;
    b->depth = depth;
    b->name = nm;
    b->below = nm->top;
    b->in_scope = ps->scopes[depth].first;
    ps->scopes[depth].first = b;
    nm->top = b;
    return b;
}

static struct binding *bind(struct parser *ps, struct name *nm, enum bind_kind kind)
{
    if (nm->top && nm->top->depth == ps->depth && kind != B_FUNC)
        FAIL("'%s' is declared twice", nm->text);
    return bind_at(ps, nm, kind, ps->depth);
}

static void scope_open(struct parser *ps)
{
    if (++ps->depth >= MAX_DEPTH)
        FAIL("scopes are nested too deeply");
    memset(&ps->scopes[ps->depth], 0, sizeof ps->scopes[0]);
}

static void resolve_use(struct label_use *u, uint32_t label)
{
    if (u->opnd) {
        u->opnd->kind = PO_LABEL;
        u->opnd->target = label;
    } else {
        *u->target = label;
    }
}

static void scope_close(struct parser *ps)
{
    struct scope *s = &ps->scopes[ps->depth];
    struct label_use *left = NULL, *next;
    for (struct label_use *u = s->uses; u; u = next) {
        next = u->next;
        struct binding *b = u->name->top;
        if (b && b->kind == B_LABEL && b->depth == ps->depth) {
            resolve_use(u, b->label);
        } else {
            u->next = left;
            left = u;
        }
    }
    if (left && ps->depth <= 1) {
        ps->lx.line = left->line;
        FAIL("'%s' is not declared", left->name->text);
    }
    for (struct label_use *u = left; u; u = next) {
        next = u->next;
        u->next = ps->scopes[ps->depth - 1].uses;
        ps->scopes[ps->depth - 1].uses = u;
    }
    for (struct binding *b = s->first; b; b = b->in_scope)
        b->name->top = b->below;
    s->first = NULL;
    ps->depth--;
}

/* ---- tokens --------------------------------------------------------------------------------- */

static void next(struct parser *ps)
{
    lex_next(&ps->lx);
}

static bool accept(struct parser *ps, int ch)
{
    if (!lex_is(&ps->lx, ch))
        return false;
    next(ps);
    return true;
}

static void expect(struct parser *ps, int ch)
{
    if (!accept(ps, ch))
        FAIL("'%c' is expected", ch);
}

static bool tok_is(struct parser *ps, enum tok t, const char *s)
{
    return ps->lx.tok == t && strlen(s) == ps->lx.len && memcmp(ps->lx.text, s, ps->lx.len) == 0;
}

static bool accept_dot(struct parser *ps, const char *s)
{
    if (!tok_is(ps, T_DOT, s))
        return false;
    next(ps);
    return true;
}

static struct name *expect_name(struct parser *ps)
{
    if (ps->lx.tok != T_IDENT)
        FAIL("a name is expected");
    struct name *nm = intern(ps, ps->lx.text, ps->lx.len);
    next(ps);
    return nm;
}

/* ---- constant expressions -------------------------------------------------------------------- */

static int64_t const_expr(struct parser *ps, int min_prec);

static int64_t const_unary(struct parser *ps)
{
    if (++ps->nesting > 200)
        FAIL("expression is nested too deeply");
    int64_t v;
    if (accept(ps, '-')) {
        v = (int64_t)(0 - (uint64_t)const_unary(ps));
    } else if (accept(ps, '+')) {
        v = const_unary(ps);
    } else if (accept(ps, '~')) {
        v = ~const_unary(ps);
    } else if (accept(ps, '!')) {
        v = !const_unary(ps);
    } else if (accept(ps, '(')) {
        if (ps->lx.tok == T_DOT) { /* a cast: (.s64) */
            next(ps);
            expect(ps, ')');
            v = const_unary(ps);
        } else {
            v = const_expr(ps, 0);
            expect(ps, ')');
        }
    } else if (ps->lx.tok == T_INT) {
        v = (int64_t)ps->lx.ival;
        next(ps);
    } else if (tok_is(ps, T_IDENT, "WARP_SZ")) {
        v = 32;
        next(ps);
    } else {
        FAIL("a constant is expected");
    }
    ps->nesting--;
    return v;
}

static int prec_of(struct parser *ps)
{
    if (ps->lx.tok != T_PUNCT)
        return -1;
    switch (ps->lx.ch) {
    case '|':
        return 1;
    case '^':
        return 2;
    case '&':
        return 3;
    case CH_SHL:
    case CH_SHR:
        return 4;
    case '+':
    case '-':
        return 5;
    case '*':
    case '/':
    case '%':
        return 6;
    }
    return -1;
}

static int64_t const_expr(struct parser *ps, int min_prec)
{
    int64_t a = const_unary(ps);
    for (int p; (p = prec_of(ps)) > min_prec;) {
        int op = ps->lx.ch;
        next(ps);
        int64_t b = const_expr(ps, p);
        uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
        if ((op == '/' || op == '%') && (b == 0 || (a == INT64_MIN && b == -1)))
            FAIL("division by zero in a constant");
        switch (op) {
        case '|':
            a = a | b;
            break;
        case '^':
            a = a ^ b;
            break;
        case '&':
            a = a & b;
            break;
        case CH_SHL:
            a = ub > 63 ? 0 : (int64_t)(ua << ub);
            break;
        case CH_SHR:
            a = ub > 63 ? 0 : (int64_t)(ua >> ub);
            break;
        case '+':
            a = (int64_t)(ua + ub);
            break;
        case '-':
            a = (int64_t)(ua - ub);
            break;
        case '*':
            a = (int64_t)(ua * ub);
            break;
        case '/':
            a = a / b;
            break;
        case '%':
            a = a % b;
            break;
        }
    }
    return a;
}

/* ---- operands -------------------------------------------------------------------------------- */

static struct ptx_var *new_reg(struct parser *ps, const char *name, enum ptx_type type)
{
    if (ps->f->regs.n >= MAX_REGS)
        FAIL("too many registers");
    struct ptx_var *v = arena_alloc(&ps->m->arena, sizeof *v);
    v->name = name;
    v->space = SP_REG;
    v->type = type;
    v->index = (uint32_t)ps->f->regs.n;
    *vec_push(&ps->f->regs) = v;
    return v;
}

/* %r12 where `.reg .b32 %r<45>` is in sight: the register is made on first use. */
static struct binding *find_in_range(struct parser *ps, struct name *nm)
{
    size_t n = strlen(nm->text), k = n;
    while (k > 0 && nm->text[k - 1] >= '0' && nm->text[k - 1] <= '9')
        k--;
    if (k == n || k == 0 || n - k > 9 || (nm->text[k] == '0' && n - k > 1) || !ps->f)
        return NULL;
    struct name *prefix = intern(ps, nm->text, k);
    struct binding *r = prefix->top;
    while (r && r->kind != B_RANGE)
        r = r->below;
    if (!r || (nm->top && nm->top->depth >= r->depth))
        return NULL;
    if ((uint32_t)strtoul(nm->text + k, NULL, 10) >= r->count)
        return NULL;
    struct binding *b = bind_at(ps, nm, B_VAR, r->depth);
    b->var = new_reg(ps, nm->text, r->type);
    return b;
}

static struct binding *lookup(struct parser *ps, struct name *nm)
{
    struct binding *b = find_in_range(ps, nm);
    return b ? b : nm->top;
}

static void add_label_use(struct parser *ps, struct name *nm, struct ptx_opnd *o, uint32_t *target)
{
    struct label_use *u = arena_alloc(&ps->m->arena, sizeof *u);
    u->name = nm;
    u->opnd = o;
    u->target = target;
    u->line = ps->lx.line;
    u->next = ps->scopes[ps->depth].uses;
    ps->scopes[ps->depth].uses = u;
}

static bool is_special(const char *s)
{
    static const char *const names[] = {"%tid",
                                        "%ntid",
                                        "%laneid",
                                        "%warpid",
                                        "%nwarpid",
                                        "%ctaid",
                                        "%nctaid",
                                        "%smid",
                                        "%nsmid",
                                        "%gridid",
                                        "%clusterid",
                                        "%nclusterid",
                                        "%cluster_",
                                        "%is_explicit_cluster",
                                        "%lanemask_",
                                        "%clock",
                                        "%pm",
                                        "%envreg",
                                        "%globaltimer",
                                        "%reserved_smem",
                                        "%total_smem_size",
                                        "%aggr_smem_size",
                                        "%dynamic_smem_size",
                                        "%current_graph_exec"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_starts(s, names[i]))
            return true;
    return false;
}

static void parse_operand(struct parser *ps, struct ptx_opnd *o);

/* Moves parsed operands to the arena; label uses made since `mark` follow them. */
static struct ptx_opnd *keep_operands(struct parser *ps, struct ptx_opnd *tmp, uint32_t n,
                                      struct label_use *mark)
{
    struct ptx_opnd *out = arena_alloc(&ps->m->arena, sizeof *out * (n ? n : 1));
    memcpy(out, tmp, sizeof *out * n);
    for (struct label_use *u = ps->scopes[ps->depth].uses; u && u != mark; u = u->next)
        if (u->opnd >= tmp && u->opnd < tmp + n)
            u->opnd = out + (u->opnd - tmp);
    return out;
}

/* Operands until `close`; commas between. */
static void parse_list(struct parser *ps, int close, struct ptx_opnd **out, uint32_t *n)
{
    struct ptx_opnd tmp[160];
    uint32_t k = 0;
    struct label_use *mark = ps->scopes[ps->depth].uses;
    if (!lex_is(&ps->lx, close)) {
        do {
            if (k >= ARRAY_LEN(tmp))
                FAIL("too many operands in a list");
            memset(&tmp[k], 0, sizeof tmp[k]);
            parse_operand(ps, &tmp[k]);
            k++;
        } while (accept(ps, ','));
    }
    expect(ps, close);
    *out = keep_operands(ps, tmp, k, mark);
    *n = k;
}

static void parse_name_operand(struct parser *ps, struct ptx_opnd *o)
{
    struct name *nm = expect_name(ps);
    if (str_eq(nm->text, "_")) {
        o->kind = PO_SINK;
        return;
    }
    struct binding *b = lookup(ps, nm);
    o->name = nm->text;
    if (b && b->kind == B_VAR) {
        o->kind = b->var->space == SP_REG ? PO_REG : PO_SYM;
        o->var = b->var;
    } else if (b && b->kind == B_FUNC) {
        o->kind = PO_FUNC;
        o->func = b->func;
    } else if (b && b->kind == B_TABLE) {
        o->kind = PO_TARGETS;
        o->table = b->table;
    } else if (nm->text[0] == '%' && is_special(nm->text)) {
        o->kind = PO_SPEC;
    } else {
        add_label_use(ps, nm, o, NULL);
        o->kind = PO_LABEL;
    }
}

static void parse_address(struct parser *ps, struct ptx_opnd *o)
{
    o->kind = PO_ADDR;
    if (ps->lx.tok == T_IDENT && !tok_is(ps, T_IDENT, "WARP_SZ")) {
        struct name *nm = expect_name(ps);
        struct binding *b = lookup(ps, nm);
        if (!b || b->kind != B_VAR)
            FAIL("'%s' is no register or variable", nm->text);
        o->var = b->var;
        o->name = nm->text;
        if (lex_is(&ps->lx, '+') || lex_is(&ps->lx, '-')) {
            bool minus = lex_is(&ps->lx, '-');
            next(ps);
            int64_t v = const_expr(ps, 5);
            o->imm = minus ? (int64_t)(0 - (uint64_t)v) : v;
        }
    } else {
        o->imm = const_expr(ps, 0);
    }
    if (accept(ps, ',')) {
        if (accept(ps, '{')) {
            parse_list(ps, '}', &o->list, &o->n);
        } else {
            struct ptx_opnd *one = arena_alloc(&ps->m->arena, sizeof *one);
            parse_operand(ps, one);
            o->list = one;
            o->n = 1;
        }
    }
    expect(ps, ']');
}

static void parse_operand(struct parser *ps, struct ptx_opnd *o)
{
    if (++ps->nesting > 16)
        FAIL("operands are nested too deeply");
    if (accept(ps, '{')) {
        o->kind = PO_VEC;
        parse_list(ps, '}', &o->list, &o->n);
    } else if (accept(ps, '[')) {
        parse_address(ps, o);
    } else if (lex_is(&ps->lx, '(')) {
        next(ps);
        o->kind = PO_LIST;
        parse_list(ps, ')', &o->list, &o->n);
    } else if (lex_is(&ps->lx, '!')) {
        next(ps);
        parse_name_operand(ps, o);
        o->neg = true;
    } else if (ps->lx.tok == T_IDENT && !tok_is(ps, T_IDENT, "WARP_SZ")) {
        parse_name_operand(ps, o);
        if (o->kind == PO_SYM && (lex_is(&ps->lx, '+') || lex_is(&ps->lx, '-'))) {
            bool minus = lex_is(&ps->lx, '-');
            next(ps);
            int64_t v = const_expr(ps, 5);
            o->imm = minus ? (int64_t)(0 - (uint64_t)v) : v;
        }
    } else {
        bool minus = lex_is(&ps->lx, '-');
        struct lexer save = ps->lx;
        if (minus)
            next(ps);
        o->kind = PO_IMM;
        if (ps->lx.tok == T_FLOAT) {
            o->is_float = true;
            o->is_f32 = ps->lx.is_f32;
            o->imm = (int64_t)ps->lx.ival;
            o->fimm = minus ? -ps->lx.fval : ps->lx.fval;
            if (minus)
                o->imm ^= o->is_f32 ? INT64_C(0x80000000) : INT64_MIN;
            next(ps);
        } else {
            ps->lx.p = save.p;
            ps->lx.start = save.start;
            ps->lx.line = save.line;
            ps->lx.tok = save.tok;
            ps->lx.ch = save.ch;
            ps->lx.ival = save.ival;
            o->imm = const_expr(ps, 1); /* `|` joins a pair, it is no operator here */
        }
    }
    if (lex_is(&ps->lx, '|')) {
        next(ps);
        o->pair = arena_alloc(&ps->m->arena, sizeof *o->pair);
        parse_operand(ps, o->pair);
    }
    ps->nesting--;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static const char *squeeze(struct parser *ps, const char *s, const char *e)
{
    char buf[200];
    size_t n = 0;
    bool blank = false;
    for (; s < e && n < sizeof buf - 2; s++) {
        if (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r') {
            blank = n > 0;
        } else {
            if (blank)
                buf[n++] = ' ';
            blank = false;
            buf[n++] = *s;
        }
    }
    return arena_strndup(&ps->m->arena, buf, n);
}

static void parse_insn(struct parser *ps, struct ptx_var *guard, bool guard_neg)
{
    struct ptx_insn in = {.guard = guard, .guard_neg = guard_neg};
    const char *start = ps->lx.start;
    in.ptx_line = ps->lx.line;
    in.file = ps->cur_file;
    in.line = ps->cur_line;
    in.op = expect_name(ps)->text;
    while (ps->lx.tok == T_DOT) {
        if (in.nmods == PTX_MAX_MODS)
            FAIL("too many modifiers");
        in.mods[in.nmods++] = intern(ps, ps->lx.text, ps->lx.len)->text;
        next(ps);
    }
    struct ptx_opnd ops[PTX_MAX_OPNDS] = {0};
    struct label_use *mark = ps->scopes[ps->depth].uses;
    if (!lex_is(&ps->lx, ';')) {
        do {
            if (in.nops == PTX_MAX_OPNDS)
                FAIL("too many operands");
            parse_operand(ps, &ops[in.nops++]);
        } while (accept(ps, ','));
    }
    in.ops = keep_operands(ps, ops, in.nops, mark);
    in.text = squeeze(ps, start, ps->lx.start);
    if (!lex_is(&ps->lx, ';'))
        FAIL("';' is expected after '%s'", in.text);
    next(ps);
    if (ps->f->insns.n >= MAX_INSNS)
        FAIL("too many instructions");
    *vec_push(&ps->f->insns) = in;
}

/* ---- source positions ------------------------------------------------------------------------ */

static struct loc **loc_slot(struct parser *ps, uint32_t file, uint32_t line, uint32_t col)
{
    return &ps->locs[(file * 31 + line * 7 + col) % ARRAY_LEN(ps->locs)];
}

/* The line to blame: the innermost in the kernel's own file, or else the outermost. */
static void blame(struct parser *ps, struct loc l)
{
    for (int hop = 0; hop < 64; hop++) {
        ps->cur_file = l.file;
        ps->cur_line = l.line;
        if (!ps->home_file)
            ps->home_file = l.file;
        if (l.file == ps->home_file)
            return;
        if (!l.in_file)
            return;
        struct loc up = {.file = l.in_file, .line = l.in_line, .col = l.in_col};
        for (struct loc *e = *loc_slot(ps, up.file, up.line, up.col); e; e = e->next)
            if (e->file == up.file && e->line == up.line && e->col == up.col) {
                up.in_file = e->in_file;
                up.in_line = e->in_line;
                up.in_col = e->in_col;
                break;
            }
        l = up;
    }
}

static uint32_t expect_u32(struct parser *ps)
{
    if (ps->lx.tok != T_INT || ps->lx.ival > UINT32_MAX)
        FAIL("a number is expected");
    uint32_t v = (uint32_t)ps->lx.ival;
    next(ps);
    return v;
}

static void parse_loc(struct parser *ps)
{
    struct loc l = {0};
    next(ps);
    l.file = expect_u32(ps);
    l.line = expect_u32(ps);
    if (!ps->lx.bol && ps->lx.tok == T_INT)
        l.col = expect_u32(ps);
    while (!ps->lx.bol && ps->lx.tok != T_EOF) {
        if (tok_is(ps, T_IDENT, "inlined_at")) {
            next(ps);
            l.in_file = expect_u32(ps);
            l.in_line = expect_u32(ps);
            l.in_col = expect_u32(ps);
        } else {
            next(ps);
        }
    }
    if (l.in_file) {
        struct loc *e = arena_alloc(&ps->m->arena, sizeof *e);
        struct loc **slot = loc_slot(ps, l.file, l.line, l.col);
        *e = l;
        e->next = *slot;
        *slot = e;
    }
    blame(ps, l);
}

/* ---- variables ------------------------------------------------------------------------------- */

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
        if (accept(ps, '{')) {
            off = parse_init_list(ps, v, off, elem);
            expect(ps, '}');
            continue;
        }
        bool minus = lex_is(&ps->lx, '-');
        if (ps->lx.tok == T_IDENT && !tok_is(ps, T_IDENT, "WARP_SZ")) {
            struct ptx_reloc r = {.off = off, .size = elem};
            struct name *nm = expect_name(ps);
            if (lex_is(&ps->lx, '(') && (str_eq(nm->text, "generic") || str_eq(nm->text, "mask"))) {
                next(ps);
                r.generic = str_eq(nm->text, "generic");
                if (!r.generic) { /* mask(0xff00)(symbol) is written 0xff00(symbol) too */
                    (void)const_expr(ps, 0);
                    expect(ps, ')');
                    expect(ps, '(');
                }
                nm = expect_name(ps);
                expect(ps, ')');
            }
            r.name = nm->text;
            if (lex_is(&ps->lx, '+') || lex_is(&ps->lx, '-'))
                r.addend = const_expr(ps, 0);
            put_init(ps, v, off, 0, elem);
            add_reloc(ps, v, r);
        } else if (ps->lx.tok == T_FLOAT || minus) {
            if (minus)
                next(ps);
            if (ps->lx.tok == T_FLOAT) {
                double d = minus ? -ps->lx.fval : ps->lx.fval;
                float f = (float)d;
                uint64_t bits = 0;
                if (elem == 8)
                    memcpy(&bits, &d, 8);
                else
                    memcpy(&bits, &f, 4);
                put_init(ps, v, off, bits, elem);
                next(ps);
            } else {
                put_init(ps, v, off, 0 - (uint64_t)const_expr(ps, 0), elem);
            }
        } else {
            uint64_t val = (uint64_t)const_expr(ps, 0);
            if (lex_is(&ps->lx, '(')) { /* 0xff00(symbol): that byte of the address */
                next(ps);
                struct ptx_reloc r = {.off = off, .size = elem};
                if (tok_is(ps, T_IDENT, "generic")) {
                    next(ps);
                    expect(ps, '(');
                    r.generic = true;
                }
                r.name = expect_name(ps)->text;
                if (r.generic)
                    expect(ps, ')');
                if (lex_is(&ps->lx, '+') || lex_is(&ps->lx, '-'))
                    r.addend = const_expr(ps, 0);
                expect(ps, ')');
                r.shift = val ? (uint32_t)__builtin_ctzll(val) : 0;
                val = 0;
                add_reloc(ps, v, r);
            }
            put_init(ps, v, off, val, elem);
        }
        off += elem;
    } while (accept(ps, ','));
    ps->nesting--;
    return off;
}

static enum ptx_space space_of(struct parser *ps)
{
    static const struct {
        const char *name;
        enum ptx_space sp;
    } t[] = {{"reg", SP_REG},     {"const", SP_CONST},   {"global", SP_GLOBAL}, {"local", SP_LOCAL},
             {"param", SP_PARAM}, {"shared", SP_SHARED}, {"tex", SP_GLOBAL}};
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        if (tok_is(ps, T_DOT, t[i].name))
            return t[i].sp;
    return SP_GENERIC;
}

/* Attributes and type of a declaration, after the space; returns elements per vector (1, 2, 4). */
static uint32_t parse_decl_type(struct parser *ps, enum ptx_type *type, uint32_t *align)
{
    uint32_t width = 1;
    *type = PT_NONE;
    *align = 0;
    while (ps->lx.tok == T_DOT) {
        if (tok_is(ps, T_DOT, "align")) {
            next(ps);
            *align = expect_u32(ps);
            if (!*align || (*align & (*align - 1)) || *align > 1u << 20)
                FAIL("bad alignment");
        } else if (tok_is(ps, T_DOT, "v2") || tok_is(ps, T_DOT, "v4")) {
            width = ps->lx.text[1] == '2' ? 2 : 4;
            next(ps);
        } else if (tok_is(ps, T_DOT, "ptr")) {
            next(ps);
            while (ps->lx.tok == T_DOT) { /* .ptr .global .align 16 */
                bool is_align = tok_is(ps, T_DOT, "align");
                next(ps);
                if (is_align)
                    (void)expect_u32(ps);
            }
        } else if (tok_is(ps, T_DOT, "attribute")) {
            next(ps);
            expect(ps, '(');
            while (!lex_is(&ps->lx, ')') && ps->lx.tok != T_EOF)
                next(ps);
            expect(ps, ')');
        } else {
            char buf[16];
            size_t n = MIN(ps->lx.len, sizeof buf - 1);
            memcpy(buf, ps->lx.text, n);
            buf[n] = 0;
            *type = ptx_type_of(buf);
            if (*type == PT_NONE)
                FAIL("unknown type '.%s'", buf);
            next(ps);
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
        struct name *nm = expect_name(ps);
        if (accept(ps, '<')) {
            struct binding *b = bind(ps, nm, B_RANGE);
            b->type = type;
            b->count = expect_u32(ps);
            expect(ps, '>');
        } else if (width > 1) {
            for (uint32_t i = 0; i < width; i++) {
                char buf[256];
                int n = snprintf(buf, sizeof buf, "%s.%c", nm->text, "xyzw"[i]);
                struct name *c = intern(ps, buf, MIN((size_t)n, sizeof buf - 1));
                bind(ps, c, B_VAR)->var = new_reg(ps, c->text, type);
            }
        } else {
            bind(ps, nm, B_VAR)->var = new_reg(ps, nm->text, type);
        }
    } while (accept(ps, ','));
}

/* One variable after its space; a parameter if `param`. */
static struct ptx_var *parse_var(struct parser *ps, enum ptx_space sp, bool bind_it)
{
    enum ptx_type type;
    uint32_t align;
    uint32_t width = parse_decl_type(ps, &type, &align);
    struct name *nm = expect_name(ps);
    uint32_t elem = type == PT_PRED ? 1 : MAX(ptx_type_bits(type) / 8, 1u);
    struct ptx_var *v = arena_alloc(&ps->m->arena, sizeof *v);
    v->name = nm->text;
    v->space = sp;
    v->type = type;
    v->align = align ? align : elem * width;
    v->bytes = (uint64_t)elem * width;
    bool open = false;
    while (accept(ps, '[')) {
        if (accept(ps, ']')) {
            open = true;
            continue;
        }
        int64_t n = const_expr(ps, 0);
        if (n < 0 || (uint64_t)n > MAX_VAR_BYTES || v->bytes * (uint64_t)n > MAX_VAR_BYTES)
            FAIL("'%s' is too big", v->name);
        v->bytes *= (uint64_t)n;
        expect(ps, ']');
    }
    if (open)
        v->bytes = 0;
    if (bind_it)
        bind(ps, nm, B_VAR)->var = v;
    if (accept(ps, '=')) {
        if (sp != SP_GLOBAL && sp != SP_CONST)
            FAIL("'%s' cannot have an initialiser", v->name);
        if (open)
            FAIL("'%s' needs a size", v->name);
        if (v->bytes > MAX_INIT_BYTES || (ps->init_bytes += v->bytes) > MAX_INIT_BYTES)
            FAIL("the module has too much initialised memory");
        v->init = arena_alloc(&ps->m->arena, v->bytes ? v->bytes : 1);
        v->init_bytes = v->bytes;
        if (accept(ps, '{')) {
            parse_init_list(ps, v, 0, elem);
            expect(ps, '}');
        } else {
            parse_init_list(ps, v, 0, elem);
        }
        ps->nesting = 0;
    }
    return v;
}

static void parse_var_decl(struct parser *ps, enum ptx_space sp, bool is_extern)
{
    next(ps);
    if (sp == SP_REG) {
        parse_reg_decl(ps);
    } else {
        struct ptx_var *v = parse_var(ps, sp, true);
        v->is_extern = is_extern;
        if (ps->f && sp != SP_GLOBAL && sp != SP_CONST)
            *vec_push(&ps->f->locals) = v;
        else
            *vec_push(&ps->m->vars) = v;
    }
    expect(ps, ';');
}

/* ---- functions ------------------------------------------------------------------------------- */

static uint32_t parse_params(struct parser *ps, struct ptx_var ***out, bool bind_them, bool is_ret)
{
    struct ptx_var *tmp[256];
    uint32_t n = 0;
    expect(ps, '(');
    while (!lex_is(&ps->lx, ')')) {
        if (n == ARRAY_LEN(tmp))
            FAIL("too many parameters");
        if (!accept_dot(ps, "param"))
            FAIL("a .param is expected");
        tmp[n] = parse_var(ps, SP_PARAM, bind_them);
        tmp[n]->is_ret = is_ret;
        n++;
        if (!accept(ps, ','))
            break;
    }
    expect(ps, ')');
    *out = arena_alloc(&ps->m->arena, sizeof **out * (n ? n : 1));
    memcpy(*out, tmp, sizeof **out * n);
    return n;
}

static void parse_table(struct parser *ps, struct name *label)
{
    struct ptx_table *t = arena_alloc(&ps->m->arena, sizeof *t);
    t->name = label->text;
    t->is_branch = tok_is(ps, T_DOT, "branchtargets");
    t->is_proto = tok_is(ps, T_DOT, "callprototype");
    next(ps);
    if (t->is_proto) {
        if (lex_is(&ps->lx, '('))
            t->nret = parse_params(ps, &t->ret, false, true);
        (void)expect_name(ps);
        if (lex_is(&ps->lx, '('))
            t->nparam = parse_params(ps, &t->param, false, false);
        while (ps->lx.tok == T_DOT) {
            next(ps);
            if (ps->lx.tok == T_INT)
                next(ps);
        }
    } else {
        struct name *tmp[MAX_LIST];
        do {
            if (t->n == MAX_LIST)
                FAIL("too many targets");
            tmp[t->n++] = expect_name(ps);
        } while (accept(ps, ','));
        t->names = arena_alloc(&ps->m->arena, sizeof *t->names * t->n);
        t->targets = arena_alloc(&ps->m->arena, sizeof *t->targets * t->n);
        for (uint32_t i = 0; i < t->n; i++) {
            t->names[i] = tmp[i]->text;
            if (t->is_branch)
                add_label_use(ps, tmp[i], NULL, &t->targets[i]);
        }
    }
    expect(ps, ';');
    bind(ps, label, B_TABLE)->table = t;
}

static void parse_statement(struct parser *ps)
{
    struct lexer *lx = &ps->lx;
    if (lx->tok == T_DOT) {
        enum ptx_space sp = space_of(ps);
        if (sp != SP_GENERIC) {
            parse_var_decl(ps, sp, false);
        } else if (tok_is(ps, T_DOT, "loc")) {
            parse_loc(ps);
        } else if (tok_is(ps, T_DOT, "pragma")) {
            while (!lex_is(lx, ';') && lx->tok != T_EOF)
                next(ps);
            expect(ps, ';');
        } else if (tok_is(ps, T_DOT, "file")) {
            lex_skip_line(lx);
        } else {
            FAIL("unexpected '.%.*s'", (int)MIN(lx->len, 40u), lx->text);
        }
        return;
    }
    if (accept(ps, '@')) {
        bool neg = accept(ps, '!');
        struct name *nm = expect_name(ps);
        struct binding *b = lookup(ps, nm);
        if (!b || b->kind != B_VAR || b->var->space != SP_REG || b->var->type != PT_PRED)
            FAIL("'%s' is no predicate", nm->text);
        if (lx->tok != T_IDENT)
            FAIL("an instruction is expected");
        parse_insn(ps, b->var, neg);
        return;
    }
    if (accept(ps, ';'))
        return;
    if (lx->tok != T_IDENT)
        FAIL("an instruction is expected");
    const char *p = lx->p;
    while (p < lx->end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    if (p < lx->end && *p == ':' && !(p + 1 < lx->end && p[1] == ':')) {
        struct name *label = expect_name(ps);
        next(ps); /* the colon */
        if (tok_is(ps, T_DOT, "branchtargets") || tok_is(ps, T_DOT, "calltargets") ||
            tok_is(ps, T_DOT, "callprototype"))
            parse_table(ps, label);
        else
            bind(ps, label, B_LABEL)->label = (uint32_t)ps->f->insns.n;
        return;
    }
    parse_insn(ps, NULL, false);
}

static void parse_body(struct parser *ps)
{
    uint32_t base = ps->depth; /* the scope of the parameters */
    expect(ps, '{');
    scope_open(ps);
    while (ps->depth > base) {
        ps->nesting = 0;
        if (ps->lx.tok == T_EOF)
            FAIL("the function is not closed");
        if (accept(ps, '{'))
            scope_open(ps);
        else if (lex_is(&ps->lx, '}')) {
            scope_close(ps);
            next(ps);
        } else
            parse_statement(ps);
    }
}

static void parse_dims(struct parser *ps, uint32_t out[3])
{
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        out[i] = expect_u32(ps);
        if (!accept(ps, ','))
            break;
    }
}

static void parse_func_attrs(struct parser *ps, struct ptx_func *f)
{
    while (ps->lx.tok == T_DOT) {
        if (accept_dot(ps, "maxntid"))
            parse_dims(ps, f->maxntid);
        else if (accept_dot(ps, "reqntid"))
            parse_dims(ps, f->reqntid);
        else if (accept_dot(ps, "minnctapersm"))
            f->minnctapersm = expect_u32(ps);
        else if (accept_dot(ps, "maxnctapersm") || accept_dot(ps, "abi_preserve") ||
                 accept_dot(ps, "abi_preserve_control"))
            (void)expect_u32(ps);
        else if (accept_dot(ps, "maxnreg"))
            f->maxnreg = expect_u32(ps);
        else if (accept_dot(ps, "reqnctapercluster"))
            parse_dims(ps, f->cluster);
        else if (accept_dot(ps, "maxclusterrank"))
            f->maxclusterrank = expect_u32(ps);
        else if (accept_dot(ps, "noreturn"))
            f->is_noreturn = true;
        else if (accept_dot(ps, "explicitcluster") || accept_dot(ps, "unique") ||
                 accept_dot(ps, "blocksareclusters"))
            continue;
        else if (accept_dot(ps, "pragma")) {
            while (!lex_is(&ps->lx, ';') && ps->lx.tok != T_EOF)
                next(ps);
            expect(ps, ';');
        } else
            FAIL("unexpected '.%.*s'", (int)MIN(ps->lx.len, 40u), ps->lx.text);
    }
}

/* Entries: the parameter block as the driver lays it out. */
static void place_params(struct ptx_func *f)
{
    uint64_t off = 0;
    for (uint32_t i = 0; i < f->nparam; i++) {
        struct ptx_var *v = f->param[i];
        off = (off + v->align - 1) / v->align * v->align;
        v->addr = off;
        v->placed = true;
        v->is_kernel_param = f->is_entry;
        off += v->bytes;
    }
    f->param_bytes = off > 1u << 16 ? 1u << 16 : (uint32_t)off;
}

static void parse_function(struct parser *ps, bool is_extern)
{
    bool is_entry = tok_is(ps, T_DOT, "entry");
    next(ps);
    struct ptx_func tmp = {.is_entry = is_entry, .is_extern = is_extern};
    if (accept_dot(ps, "attribute")) {
        while (!lex_is(&ps->lx, ')') && ps->lx.tok != T_EOF)
            next(ps);
        expect(ps, ')');
    }
    /* Parameters live in a scope of their own, around the body. */
    scope_open(ps);
    if (lex_is(&ps->lx, '('))
        tmp.nret = parse_params(ps, &tmp.ret, true, true);
    struct name *nm = expect_name(ps);
    if (lex_is(&ps->lx, '('))
        tmp.nparam = parse_params(ps, &tmp.param, true, false);
    tmp.name = nm->text;
    parse_func_attrs(ps, &tmp);
    struct binding *b = nm->top;
    while (b && b->depth > 0)
        b = b->below;
    struct ptx_func *f;
    if (b && b->kind == B_FUNC) {
        f = b->func;
        if (f->nret != tmp.nret || f->nparam != tmp.nparam || f->is_entry != is_entry)
            FAIL("'%s' was declared differently", tmp.name);
    } else {
        if (b)
            FAIL("'%s' is declared twice", tmp.name);
        f = arena_alloc(&ps->m->arena, sizeof *f);
        *f = tmp;
        *vec_push(&ps->m->funcs) = f;
        struct binding *nb = arena_alloc(&ps->m->arena, sizeof *nb);
        nb->kind = B_FUNC;
        nb->name = nm;
        nb->func = f;
        nb->below = NULL;
        if (nm->top)
            FAIL("'%s' is also a parameter", tmp.name);
        nm->top = nb; /* depth 0: never popped */
    }
    if (accept(ps, ';')) {
        scope_close(ps);
        return;
    }
    if (f->defined)
        FAIL("'%s' is defined twice", tmp.name);
    tmp.insns.items = NULL;
    *f = tmp;
    f->defined = true;
    f->is_extern = false;
    ps->f = f;
    ps->home_file = 0;
    ps->cur_file = ps->cur_line = 0;
    parse_body(ps);
    place_params(f);
    scope_close(ps);
    ps->f = NULL;
}

/* ---- module ---------------------------------------------------------------------------------- */

static void parse_file_directive(struct parser *ps)
{
    next(ps);
    uint32_t n = expect_u32(ps);
    if (n > 100000)
        FAIL("file number is too big");
    if (ps->lx.tok != T_STRING)
        FAIL("a file name is expected");
    while (ps->m->files.n <= n)
        *vec_push(&ps->m->files) = NULL;
    ps->m->files.items[n] = arena_strndup(&ps->m->arena, ps->lx.text, ps->lx.len);
    next(ps);
    while (!ps->lx.bol && ps->lx.tok != T_EOF) /* timestamp, size */
        next(ps);
}

static void skip_section(struct parser *ps)
{
    while (!lex_is(&ps->lx, '{') && ps->lx.tok != T_EOF)
        next(ps);
    while (!lex_is(&ps->lx, '}') && ps->lx.tok != T_EOF)
        next(ps);
    expect(ps, '}');
}

static void parse_toplevel(struct parser *ps)
{
    struct lexer *lx = &ps->lx;
    bool is_extern = false;
    if (accept(ps, ';'))
        return;
    if (lx->tok != T_DOT)
        FAIL("a directive is expected");
    if (accept_dot(ps, "version")) {
        if (lx->tok != T_FLOAT || !(lx->fval >= 1) || lx->fval > 100)
            FAIL("bad .version");
        ps->m->version = (uint32_t)(lx->fval * 10 + 0.5);
        next(ps);
    } else if (accept_dot(ps, "target")) {
        do {
            struct name *nm = expect_name(ps);
            if (str_starts(nm->text, "sm_"))
                ps->m->sm = (uint32_t)strtoul(nm->text + 3, NULL, 10);
        } while (accept(ps, ','));
    } else if (accept_dot(ps, "address_size")) {
        if (expect_u32(ps) != 64)
            FAIL("only 64-bit addresses are supported");
    } else if (tok_is(ps, T_DOT, "file")) {
        parse_file_directive(ps);
    } else if (tok_is(ps, T_DOT, "section")) {
        skip_section(ps);
    } else if (tok_is(ps, T_DOT, "pragma") || tok_is(ps, T_DOT, "alias")) {
        while (!lex_is(lx, ';') && lx->tok != T_EOF)
            next(ps);
        expect(ps, ';');
    } else if (tok_is(ps, T_DOT, "loc")) {
        parse_loc(ps);
    } else {
        while (tok_is(ps, T_DOT, "visible") || tok_is(ps, T_DOT, "extern") ||
               tok_is(ps, T_DOT, "weak") || tok_is(ps, T_DOT, "common")) {
            is_extern |= tok_is(ps, T_DOT, "extern");
            next(ps);
        }
        if (tok_is(ps, T_DOT, "entry") || tok_is(ps, T_DOT, "func")) {
            parse_function(ps, is_extern);
        } else {
            enum ptx_space sp = space_of(ps);
            if (sp == SP_GENERIC || sp == SP_REG || sp == SP_PARAM || sp == SP_LOCAL)
                FAIL("unexpected '.%.*s'", (int)MIN(lx->len, 40u), lx->text);
            parse_var_decl(ps, sp, is_extern);
        }
    }
}

int ptx_parse(struct ptx_module *m, const char *text, size_t len, struct err *err)
{
    memset(m, 0, sizeof *m);
    if (len > PTX_MAX_TEXT)
        return err_set(err, ERR_LIMIT, "the PTX text is too long (%zu bytes)", len);
    struct parser *ps = xcalloc(1, sizeof *ps);
    ps->m = m;
    lex_init(&ps->lx, text, len, err);
    if (setjmp(ps->lx.fail)) {
        free(ps);
        return -1;
    }
    next(ps);
    while (ps->lx.tok != T_EOF) {
        ps->nesting = 0;
        parse_toplevel(ps);
    }
    free(ps);
    return 0;
}
