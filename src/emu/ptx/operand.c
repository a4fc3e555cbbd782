/*
 * operand.c - parses operands and constant expressions of PTX.
 */
#include "emu/ptx/parser.h"

/* ---- constant expressions ------------------------------------------------------------------- */

int64_t ps_const(struct parser *ps, int min_prec);

static int64_t const_unary(struct parser *ps)
{
    if (++ps->nesting > 200)
        FAIL("expression is nested too deeply");
    int64_t v;
    if (ps_accept(ps, '-')) {
        v = (int64_t)(0 - (uint64_t)const_unary(ps));
    } else if (ps_accept(ps, '+')) {
        v = const_unary(ps);
    } else if (ps_accept(ps, '~')) {
        v = ~const_unary(ps);
    } else if (ps_accept(ps, '!')) {
        v = !const_unary(ps);
    } else if (ps_accept(ps, '(')) {
        if (ps->lx.tok == T_DOT) { /* a cast: (.s64) */
            ps_next(ps);
            ps_expect(ps, ')');
            v = const_unary(ps);
        } else {
            v = ps_const(ps, 0);
            ps_expect(ps, ')');
        }
    } else if (ps->lx.tok == T_INT) {
        v = (int64_t)ps->lx.ival;
        ps_next(ps);
    } else if (ps_is(ps, T_IDENT, "WARP_SZ")) {
        v = 32;
        ps_next(ps);
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

int64_t ps_const(struct parser *ps, int min_prec)
{
    int64_t a = const_unary(ps);
    for (int p; (p = prec_of(ps)) > min_prec;) {
        int op = ps->lx.ch;
        ps_next(ps);
        int64_t b = ps_const(ps, p);
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

/* ---- operands ------------------------------------------------------------------------------- */

struct ptx_var *ps_new_reg(struct parser *ps, const char *name, enum ptx_type type)
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

/* Finds a register such as %r12 that a range declares (`.reg .b32 %r<45>`). Creates it on its first
 * use. */
static struct binding *find_in_range(struct parser *ps, struct name *nm)
{
    size_t n = strlen(nm->text), k = n;
    while (k > 0 && nm->text[k - 1] >= '0' && nm->text[k - 1] <= '9')
        k--;
    if (k == n || k == 0 || n - k > 9 || (nm->text[k] == '0' && n - k > 1) || !ps->f)
        return NULL;
    struct name *prefix = ps_intern(ps, nm->text, k);
    struct binding *r = prefix->top;
    while (r && r->kind != B_RANGE)
        r = r->below;
    if (!r || (nm->top && nm->top->depth >= r->depth))
        return NULL;
    if ((uint32_t)strtoul(nm->text + k, NULL, 10) >= r->count)
        return NULL;
    struct binding *b = ps_bind_at(ps, nm, B_VAR, r->depth);
    b->var = ps_new_reg(ps, nm->text, r->type);
    return b;
}

struct binding *ps_lookup(struct parser *ps, struct name *nm)
{
    struct binding *b = find_in_range(ps, nm);
    return b ? b : nm->top;
}

void ps_label_use(struct parser *ps, struct name *nm, struct ptx_opnd *o, uint32_t *target)
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

void ps_operand(struct parser *ps, struct ptx_opnd *o);

/* Copies the operands in `tmp` to the arena. Label uses that were added after `mark` may point into
 * `tmp`. This function makes them point to the copies. */
struct ptx_opnd *ps_keep(struct parser *ps, struct ptx_opnd *tmp, uint32_t n,
                         struct label_use *mark)
{
    struct ptx_opnd *out = arena_alloc(&ps->m->arena, sizeof *out * (n ? n : 1));
    memcpy(out, tmp, sizeof *out * n);
    for (struct label_use *u = ps->scopes[ps->depth].uses; u && u != mark; u = u->next)
        if (u->opnd >= tmp && u->opnd < tmp + n)
            u->opnd = out + (u->opnd - tmp);
    return out;
}

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
            ps_operand(ps, &tmp[k]);
            k++;
        } while (ps_accept(ps, ','));
    }
    ps_expect(ps, close);
    *out = ps_keep(ps, tmp, k, mark);
    *n = k;
}

/* Parses `%r1.h0`, where %r1 is a register. Sets o->sel to "h0". */
static struct binding *part_of_register(struct parser *ps, struct name *nm, struct ptx_opnd *o)
{
    const char *dot = strchr(nm->text, '.');
    if (!dot)
        return NULL;
    struct binding *b = ps_lookup(ps, ps_intern(ps, nm->text, (size_t)(dot - nm->text)));
    if (!b || b->kind != B_VAR || b->var->space != SP_REG)
        return NULL;
    o->sel = dot + 1;
    return b;
}

static void parse_name_operand(struct parser *ps, struct ptx_opnd *o)
{
    struct name *nm = ps_name(ps);
    if (str_eq(nm->text, "_")) {
        o->kind = PO_SINK;
        return;
    }
    struct binding *b = ps_lookup(ps, nm);
    if (!b)
        b = part_of_register(ps, nm, o);
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
        ps_label_use(ps, nm, o, NULL);
        o->kind = PO_LABEL;
    }
}

static void parse_address(struct parser *ps, struct ptx_opnd *o)
{
    o->kind = PO_ADDR;
    if (ps->lx.tok == T_IDENT && !ps_is(ps, T_IDENT, "WARP_SZ")) {
        struct name *nm = ps_name(ps);
        struct binding *b = ps_lookup(ps, nm);
        if (!b || b->kind != B_VAR)
            FAIL("'%s' is neither a register nor a variable", nm->text);
        o->var = b->var;
        o->name = nm->text;
        if (lex_is(&ps->lx, '+') || lex_is(&ps->lx, '-')) {
            bool minus = lex_is(&ps->lx, '-');
            ps_next(ps);
            int64_t v = ps_const(ps, 5);
            o->imm = minus ? (int64_t)(0 - (uint64_t)v) : v;
        }
    } else {
        o->imm = ps_const(ps, 0);
    }
    if (ps_accept(ps, ',')) {
        if (ps_accept(ps, '{')) {
            parse_list(ps, '}', &o->list, &o->n);
        } else {
            struct ptx_opnd *one = arena_alloc(&ps->m->arena, sizeof *one);
            ps_operand(ps, one);
            o->list = one;
            o->n = 1;
        }
    }
    ps_expect(ps, ']');
}

void ps_operand(struct parser *ps, struct ptx_opnd *o)
{
    if (++ps->nesting > 16)
        FAIL("operands are nested too deeply");
    if (ps_accept(ps, '{')) {
        o->kind = PO_VEC;
        parse_list(ps, '}', &o->list, &o->n);
    } else if (ps_accept(ps, '[')) {
        parse_address(ps, o);
    } else if (lex_is(&ps->lx, '(')) {
        ps_next(ps);
        o->kind = PO_LIST;
        parse_list(ps, ')', &o->list, &o->n);
    } else if (lex_is(&ps->lx, '!')) {
        ps_next(ps);
        parse_name_operand(ps, o);
        o->neg = true;
    } else if (ps->lx.tok == T_IDENT && !ps_is(ps, T_IDENT, "WARP_SZ")) {
        parse_name_operand(ps, o);
        if (o->kind == PO_SYM && (lex_is(&ps->lx, '+') || lex_is(&ps->lx, '-'))) {
            bool minus = lex_is(&ps->lx, '-');
            ps_next(ps);
            int64_t v = ps_const(ps, 5);
            o->imm = minus ? (int64_t)(0 - (uint64_t)v) : v;
        }
    } else {
        bool minus = lex_is(&ps->lx, '-');
        struct lexer save = ps->lx;
        if (minus)
            ps_next(ps);
        o->kind = PO_IMM;
        if (ps->lx.tok == T_FLOAT) {
            o->is_float = true;
            o->is_f32 = ps->lx.is_f32;
            o->imm = (int64_t)ps->lx.ival;
            o->fimm = minus ? -ps->lx.fval : ps->lx.fval;
            if (minus)
                o->imm ^= o->is_f32 ? INT64_C(0x80000000) : INT64_MIN;
            ps_next(ps);
        } else {
            ps->lx.p = save.p;
            ps->lx.start = save.start;
            ps->lx.line = save.line;
            ps->lx.tok = save.tok;
            ps->lx.ch = save.ch;
            ps->lx.ival = save.ival;
            o->imm = ps_const(ps, 1); /* stops at `|`, which separates a pair here */
        }
    }
    if (lex_is(&ps->lx, '|')) {
        ps_next(ps);
        o->pair = arena_alloc(&ps->m->arena, sizeof *o->pair);
        ps_operand(ps, o->pair);
    }
    ps->nesting--;
}
