/*
 * names.c - binds names in scopes and reads tokens, for the PTX parser. See parser.h.
 */
#include "emu/ptx/parser.h"

/* ---- names ---------------------------------------------------------------------------------- */

struct name *ps_intern(struct parser *ps, const char *s, size_t n)
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

/* Binds a name in the scope at `depth`. The name must have no binding in a deeper scope. */
struct binding *ps_bind_at(struct parser *ps, struct name *nm, enum bind_kind kind, uint32_t depth)
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

struct binding *ps_bind(struct parser *ps, struct name *nm, enum bind_kind kind)
{
    if (nm->top && nm->top->depth == ps->depth && kind != B_FUNC)
        FAIL("'%s' is declared twice", nm->text);
    return ps_bind_at(ps, nm, kind, ps->depth);
}

void ps_open(struct parser *ps)
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

void ps_close(struct parser *ps)
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

void ps_next(struct parser *ps)
{
    lex_next(&ps->lx);
}

bool ps_accept(struct parser *ps, int ch)
{
    if (!lex_is(&ps->lx, ch))
        return false;
    ps_next(ps);
    return true;
}

void ps_expect(struct parser *ps, int ch)
{
    if (!ps_accept(ps, ch))
        FAIL("'%c' is expected", ch);
}

bool ps_is(struct parser *ps, enum tok t, const char *s)
{
    return ps->lx.tok == t && strlen(s) == ps->lx.len && memcmp(ps->lx.text, s, ps->lx.len) == 0;
}

bool ps_accept_dot(struct parser *ps, const char *s)
{
    if (!ps_is(ps, T_DOT, s))
        return false;
    ps_next(ps);
    return true;
}

struct name *ps_name(struct parser *ps)
{
    if (ps->lx.tok != T_IDENT)
        FAIL("a name is expected");
    struct name *nm = ps_intern(ps, ps->lx.text, ps->lx.len);
    ps_next(ps);
    return nm;
}

uint32_t ps_u32(struct parser *ps)
{
    if (ps->lx.tok != T_INT || ps->lx.ival > UINT32_MAX)
        FAIL("a number is expected");
    uint32_t v = (uint32_t)ps->lx.ival;
    ps_next(ps);
    return v;
}
