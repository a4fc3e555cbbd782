/* parse.c - parses PTX text into a struct ptx_module: instructions, source positions, functions. */
#include "emu/ptx/parser.h"

/* ---- instructions --------------------------------------------------------------------------- */

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
    in.inlined = ps->cur_inlined;
    in.op = ps_name(ps)->text;
    while (ps->lx.tok == T_DOT) {
        if (in.nmods == PTX_MAX_MODS)
            FAIL("too many modifiers");
        in.mods[in.nmods++] = ps_intern(ps, ps->lx.text, ps->lx.len)->text;
        ps_next(ps);
    }
    struct ptx_opnd ops[PTX_MAX_OPNDS] = {0};
    struct label_use *mark = ps->scopes[ps->depth].uses;
    if (!lex_is(&ps->lx, ';')) {
        do {
            if (in.nops == PTX_MAX_OPNDS)
                FAIL("too many operands");
            ps_operand(ps, &ops[in.nops++]);
        } while (ps_accept(ps, ','));
    }
    in.ops = ps_keep(ps, ops, in.nops, mark);
    in.text = squeeze(ps, start, ps->lx.start);
    if (!lex_is(&ps->lx, ';'))
        FAIL("';' is expected after '%s'", in.text);
    ps_next(ps);
    if (ps->f->insns.n >= MAX_INSNS)
        FAIL("too many instructions");
    *vec_push(&ps->f->insns) = in;
}

/* ---- source positions ----------------------------------------------------------------------- */

static struct loc **loc_slot(struct parser *ps, uint32_t file, uint32_t line, uint32_t col)
{
    return &ps->locs[(file * 31 + line * 7 + col) % ARRAY_LEN(ps->locs)];
}

/* If *l is in an inlined function, moves *l to the call of this function and returns true. */
static bool step_out(struct parser *ps, struct loc *l)
{
    if (!l->in_file)
        return false;
    struct loc up = {.file = l->in_file, .line = l->in_line, .col = l->in_col};
    for (struct loc *e = *loc_slot(ps, up.file, up.line, up.col); e; e = e->next)
        if (e->file == up.file && e->line == up.line && e->col == up.col) {
            up = *e;
            break;
        }
    *l = up;
    return true;
}

/* Records the inlined calls around l that are in the kernel's own file. Returns the index of the
 * innermost one, or 0. */
static uint32_t inlined_calls(struct parser *ps, struct loc l)
{
    struct ptx_inlined chain[MAX_INLINED];
    uint32_t n = 0, up = 0;
    const char *label = l.function;
    /* Bad PTX may say that a place is inlined into itself. The bound on hop ends this cycle. */
    for (int hop = 0; hop < MAX_INLINED && step_out(ps, &l); hop++) {
        if (l.file == ps->home_file)
            chain[n++] = (struct ptx_inlined){.label = label, .line = l.line};
        label = l.function;
    }
    while (n--) {
        struct ptx_inlined *last = NULL;
        uint32_t at = 0;
        for (size_t i = ps->m->inlined.n; i-- > 1 && !last && i + 64 > ps->m->inlined.n;) {
            struct ptx_inlined *c = &ps->m->inlined.items[i];
            if (c->label == chain[n].label && c->line == chain[n].line && c->up == up) {
                last = c;
                at = (uint32_t)i;
            }
        }
        if (!last) {
            at = (uint32_t)ps->m->inlined.n;
            chain[n].up = up;
            *vec_push(&ps->m->inlined) = chain[n];
        }
        up = at;
    }
    return up;
}

/* Sets the source line of the instructions that follow a .loc. This is the line that findings and
 * messages show: the innermost line in the kernel's own file or, if there is none, the outermost
 * line. */
static void set_source_line(struct parser *ps, struct loc l)
{
    if (!ps->home_file)
        ps->home_file = l.file;
    for (int hop = 0; hop < MAX_INLINED && l.file != ps->home_file; hop++)
        if (!step_out(ps, &l))
            break;
    ps->cur_file = l.file;
    ps->cur_line = l.line;
    ps->cur_inlined = l.in_file ? inlined_calls(ps, l) : 0;
}

static void parse_loc(struct parser *ps)
{
    struct loc l = {0};
    ps_next(ps);
    l.file = ps_u32(ps);
    l.line = ps_u32(ps);
    if (!ps->lx.bol && ps->lx.tok == T_INT)
        l.col = ps_u32(ps);
    while (!ps->lx.bol && ps->lx.tok != T_EOF) {
        if (ps_is(ps, T_IDENT, "inlined_at")) {
            ps_next(ps);
            l.in_file = ps_u32(ps);
            l.in_line = ps_u32(ps);
            l.in_col = ps_u32(ps);
        } else if (ps_is(ps, T_IDENT, "function_name")) {
            ps_next(ps);
            if (ps->lx.tok == T_IDENT)
                l.function = ps_name(ps)->text;
        } else {
            ps_next(ps);
        }
    }
    if (l.in_file) {
        struct loc *e = arena_alloc(&ps->m->arena, sizeof *e);
        struct loc **slot = loc_slot(ps, l.file, l.line, l.col);
        *e = l;
        e->next = *slot;
        *slot = e;
    }
    set_source_line(ps, l);
}

/* ---- functions ------------------------------------------------------------------------------ */

static uint32_t parse_params(struct parser *ps, struct ptx_var ***out, bool bind_them, bool is_ret)
{
    struct ptx_var *tmp[256];
    uint32_t n = 0;
    ps_expect(ps, '(');
    while (!lex_is(&ps->lx, ')')) {
        if (n == ARRAY_LEN(tmp))
            FAIL("too many parameters");
        if (!ps_accept_dot(ps, "param"))
            FAIL("a .param is expected");
        tmp[n] = ps_var(ps, SP_PARAM, bind_them);
        tmp[n]->is_ret = is_ret;
        n++;
        if (!ps_accept(ps, ','))
            break;
    }
    ps_expect(ps, ')');
    *out = arena_alloc(&ps->m->arena, sizeof **out * (n ? n : 1));
    memcpy(*out, tmp, sizeof **out * n);
    return n;
}

static void parse_table(struct parser *ps, struct name *label)
{
    struct ptx_table *t = arena_alloc(&ps->m->arena, sizeof *t);
    t->name = label->text;
    t->is_branch = ps_is(ps, T_DOT, "branchtargets");
    t->is_proto = ps_is(ps, T_DOT, "callprototype");
    ps_next(ps);
    if (t->is_proto) {
        if (lex_is(&ps->lx, '('))
            t->nret = parse_params(ps, &t->ret, false, true);
        (void)ps_name(ps);
        if (lex_is(&ps->lx, '('))
            t->nparam = parse_params(ps, &t->param, false, false);
        while (ps->lx.tok == T_DOT) {
            ps_next(ps);
            if (ps->lx.tok == T_INT)
                ps_next(ps);
        }
    } else {
        struct name *tmp[MAX_LIST];
        do {
            if (t->n == MAX_LIST)
                FAIL("too many targets");
            tmp[t->n++] = ps_name(ps);
        } while (ps_accept(ps, ','));
        t->names = arena_alloc(&ps->m->arena, sizeof *t->names * t->n);
        t->targets = arena_alloc(&ps->m->arena, sizeof *t->targets * t->n);
        for (uint32_t i = 0; i < t->n; i++) {
            t->names[i] = tmp[i]->text;
            if (t->is_branch)
                ps_label_use(ps, tmp[i], NULL, &t->targets[i]);
        }
    }
    ps_expect(ps, ';');
    ps_bind(ps, label, B_TABLE)->table = t;
}

static void parse_statement(struct parser *ps)
{
    struct lexer *lx = &ps->lx;
    if (lx->tok == T_DOT) {
        enum ptx_space sp = ps_space(ps);
        if (sp != SP_GENERIC) {
            ps_var_decl(ps, sp, false);
        } else if (ps_is(ps, T_DOT, "loc")) {
            parse_loc(ps);
        } else if (ps_is(ps, T_DOT, "pragma")) {
            while (!lex_is(lx, ';') && lx->tok != T_EOF)
                ps_next(ps);
            ps_expect(ps, ';');
        } else if (ps_is(ps, T_DOT, "file")) {
            lex_skip_line(lx);
        } else {
            FAIL("unexpected '.%.*s'", (int)MIN(lx->len, 40u), lx->text);
        }
        return;
    }
    if (ps_accept(ps, '@')) {
        bool neg = ps_accept(ps, '!');
        struct name *nm = ps_name(ps);
        struct binding *b = ps_lookup(ps, nm);
        if (!b || b->kind != B_VAR || b->var->space != SP_REG || b->var->type != PT_PRED)
            FAIL("'%s' is not a predicate", nm->text);
        if (lx->tok != T_IDENT)
            FAIL("an instruction is expected");
        parse_insn(ps, b->var, neg);
        return;
    }
    if (ps_accept(ps, ';'))
        return;
    if (lx->tok != T_IDENT)
        FAIL("an instruction is expected");
    const char *p = lx->p;
    while (p < lx->end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    if (p < lx->end && *p == ':' && !(p + 1 < lx->end && p[1] == ':')) {
        struct name *label = ps_name(ps);
        ps_next(ps); /* skip the colon */
        if (ps_is(ps, T_DOT, "branchtargets") || ps_is(ps, T_DOT, "calltargets") ||
            ps_is(ps, T_DOT, "callprototype"))
            parse_table(ps, label);
        else
            ps_bind(ps, label, B_LABEL)->label = (uint32_t)ps->f->insns.n;
        return;
    }
    parse_insn(ps, NULL, false);
}

static void parse_body(struct parser *ps)
{
    uint32_t base = ps->depth; /* the scope of the parameters */
    ps_expect(ps, '{');
    ps_open(ps);
    while (ps->depth > base) {
        ps->nesting = 0;
        if (ps->lx.tok == T_EOF)
            FAIL("the function is not closed");
        if (ps_accept(ps, '{'))
            ps_open(ps);
        else if (lex_is(&ps->lx, '}')) {
            ps_close(ps);
            ps_next(ps);
        } else
            parse_statement(ps);
    }
}

static void parse_dims(struct parser *ps, uint32_t out[3])
{
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        out[i] = ps_u32(ps);
        if (!ps_accept(ps, ','))
            break;
    }
}

static void parse_func_attrs(struct parser *ps, struct ptx_func *f)
{
    while (ps->lx.tok == T_DOT) {
        if (ps_accept_dot(ps, "maxntid"))
            parse_dims(ps, f->maxntid);
        else if (ps_accept_dot(ps, "reqntid"))
            parse_dims(ps, f->reqntid);
        else if (ps_accept_dot(ps, "minnctapersm"))
            f->minnctapersm = ps_u32(ps);
        else if (ps_accept_dot(ps, "maxnctapersm") || ps_accept_dot(ps, "maxclusterrank") ||
                 ps_accept_dot(ps, "abi_preserve") || ps_accept_dot(ps, "abi_preserve_control"))
            (void)ps_u32(ps);
        else if (ps_accept_dot(ps, "maxnreg"))
            f->maxnreg = ps_u32(ps);
        else if (ps_accept_dot(ps, "reqnctapercluster"))
            parse_dims(ps, f->cluster);
        else if (ps_accept_dot(ps, "noreturn") || ps_accept_dot(ps, "explicitcluster") ||
                 ps_accept_dot(ps, "unique") || ps_accept_dot(ps, "blocksareclusters"))
            continue;
        else if (ps_accept_dot(ps, "pragma")) {
            while (!lex_is(&ps->lx, ';') && ps->lx.tok != T_EOF)
                ps_next(ps);
            ps_expect(ps, ';');
        } else
            FAIL("unexpected '.%.*s'", (int)MIN(ps->lx.len, 40u), ps->lx.text);
    }
}

/* Gives each parameter its offset. For a kernel (.entry), the driver uses the same offsets. */
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
    bool is_entry = ps_is(ps, T_DOT, "entry");
    ps_next(ps);
    struct ptx_func tmp = {.is_entry = is_entry, .is_extern = is_extern};
    if (ps_accept_dot(ps, "attribute")) {
        while (!lex_is(&ps->lx, ')') && ps->lx.tok != T_EOF)
            ps_next(ps);
        ps_expect(ps, ')');
    }
    /* Parameters have a scope of their own, around the body. */
    ps_open(ps);
    if (lex_is(&ps->lx, '('))
        tmp.nret = parse_params(ps, &tmp.ret, true, true);
    struct name *nm = ps_name(ps);
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
        nm->top = nb; /* a binding at depth 0 is never popped */
    }
    if (ps_accept(ps, ';')) {
        ps_close(ps);
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
    ps->cur_file = ps->cur_line = ps->cur_inlined = 0;
    parse_body(ps);
    place_params(f);
    ps_close(ps);
    ps->f = NULL;
}

/* ---- module --------------------------------------------------------------------------------- */

static void parse_file_directive(struct parser *ps)
{
    ps_next(ps);
    uint32_t n = ps_u32(ps);
    if (n > 100000)
        FAIL("file number is too big");
    if (ps->lx.tok != T_STRING)
        FAIL("a file name is expected");
    while (ps->m->files.n <= n)
        *vec_push(&ps->m->files) = NULL;
    ps->m->files.items[n] = arena_strndup(&ps->m->arena, ps->lx.text, ps->lx.len);
    ps_next(ps);
    while (!ps->lx.bol && ps->lx.tok != T_EOF) /* skip timestamp and size */
        ps_next(ps);
}

/* The section .debug_str holds labels, each followed by the bytes of a string. */
static void parse_strings(struct parser *ps)
{
    struct lexer *lx = &ps->lx;
    char text[512];
    ps_expect(ps, '{');
    while (lx->tok == T_IDENT) {
        struct ptx_string s = {.label = ps_name(ps)->text};
        size_t n = 0;
        if (!ps_accept(ps, ':'))
            return;
        while (ps_accept_dot(ps, "b8"))
            do {
                if (lx->tok != T_INT)
                    return;
                if (lx->ival && n < sizeof text)
                    text[n++] = (char)lx->ival;
                ps_next(ps);
            } while (ps_accept(ps, ','));
        s.text = arena_strndup(&ps->m->arena, text, n);
        *vec_push(&ps->m->strings) = s;
    }
}

static void parse_section(struct parser *ps)
{
    ps_next(ps);
    if (ps_accept_dot(ps, "debug_str") && lex_is(&ps->lx, '{'))
        parse_strings(ps);
    while (!lex_is(&ps->lx, '}') && ps->lx.tok != T_EOF)
        ps_next(ps);
    ps_expect(ps, '}');
}

static void parse_toplevel(struct parser *ps)
{
    struct lexer *lx = &ps->lx;
    bool is_extern = false;
    if (ps_accept(ps, ';'))
        return;
    if (lx->tok != T_DOT)
        FAIL("a directive is expected");
    if (ps_accept_dot(ps, "version")) {
        if (lx->tok != T_FLOAT || !(lx->fval >= 1) || lx->fval > 100)
            FAIL("bad .version");
        ps->m->version = (uint32_t)(lx->fval * 10 + 0.5);
        ps_next(ps);
    } else if (ps_accept_dot(ps, "target")) {
        do {
            struct name *nm = ps_name(ps);
            if (str_starts(nm->text, "sm_"))
                ps->m->sm = (uint32_t)strtoul(nm->text + 3, NULL, 10);
        } while (ps_accept(ps, ','));
    } else if (ps_accept_dot(ps, "address_size")) {
        if (ps_u32(ps) != 64)
            FAIL("only 64-bit addresses are supported");
    } else if (ps_is(ps, T_DOT, "file")) {
        parse_file_directive(ps);
    } else if (ps_is(ps, T_DOT, "section")) {
        parse_section(ps);
    } else if (ps_is(ps, T_DOT, "pragma") || ps_is(ps, T_DOT, "alias")) {
        while (!lex_is(lx, ';') && lx->tok != T_EOF)
            ps_next(ps);
        ps_expect(ps, ';');
    } else if (ps_is(ps, T_DOT, "loc")) {
        parse_loc(ps);
    } else {
        while (ps_is(ps, T_DOT, "visible") || ps_is(ps, T_DOT, "extern") ||
               ps_is(ps, T_DOT, "weak") || ps_is(ps, T_DOT, "common")) {
            is_extern |= ps_is(ps, T_DOT, "extern");
            ps_next(ps);
        }
        if (ps_is(ps, T_DOT, "entry") || ps_is(ps, T_DOT, "func")) {
            parse_function(ps, is_extern);
        } else {
            enum ptx_space sp = ps_space(ps);
            if (sp == SP_GENERIC || sp == SP_REG || sp == SP_PARAM || sp == SP_LOCAL)
                FAIL("unexpected '.%.*s'", (int)MIN(lx->len, 40u), lx->text);
            ps_var_decl(ps, sp, is_extern);
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
    *vec_push(&m->inlined) = (struct ptx_inlined){0};
    lex_init(&ps->lx, text, len, err);
    if (setjmp(ps->lx.fail)) {
        free(ps);
        return -1;
    }
    ps_next(ps);
    while (ps->lx.tok != T_EOF) {
        ps->nesting = 0;
        parse_toplevel(ps);
    }
    free(ps);
    return 0;
}
