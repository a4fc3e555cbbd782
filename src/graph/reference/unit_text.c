/* unit_text.c - keeps the statements of a unit by scope, and writes those that are used. */
#include "graph/reference/unit_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* Indentation has a cap, because steps of an unrolled loop can nest blocks hundreds deep. */
enum { MAX_INDENT = 8 };

enum line_kind { LINE_LET, LINE_SET, LINE_DO, LINE_OPEN, LINE_CLOSE };

struct line {
    enum line_kind kind;
    unsigned name; /* 3 for v3; only for LINE_LET and LINE_SET */
    const char *text;
};
VEC_DECL(line_vec, struct line);

struct memory {
    const char *key;
    struct term term;
};

struct scope {
    struct scope *parent, *next_made; /* next_made links all scopes */
    unsigned depth;
    bool is_guard; /* the body of a condition */
    unsigned unrolls;
    struct line_vec lines;
    VEC(struct memory) known;
};

/* ---- scopes ---------------------------------------------------------------------------------- */

static struct scope *scope_new(struct unit_text *u, struct scope *parent)
{
    struct scope *s = xcalloc(1, sizeof *s);
    s->parent = parent;
    s->depth = parent ? parent->depth + 1 : 0;
    if (u->body) {
        s->next_made = u->body->next_made;
        u->body->next_made = s;
    }
    return s;
}

void unit_init(struct unit_text *u, struct arena *a, const struct graph *g)
{
    *u = (struct unit_text){.arena = a, .graph = g, .real = "double", .whole = "int64_t"};
    u->body = u->at = scope_new(u, NULL);
}

void unit_release(struct unit_text *u)
{
    for (struct scope *s = u->body, *next; s; s = next) {
        next = s->next_made;
        vec_release(&s->lines);
        vec_release(&s->known);
        free(s);
    }
    u->body = NULL;
}

unsigned scope_depth(const struct scope *s)
{
    return s->depth;
}

/* Returns the enclosing scope of this depth. Unlike unit_enter(), it also leaves conditions. */
static struct scope *scope_around(const struct unit_text *u, unsigned depth)
{
    struct scope *s = u->at;
    while (s->depth > depth)
        s = s->parent;
    return s;
}

struct scope *unit_enter(struct unit_text *u, unsigned depth)
{
    struct scope *was = u->at;
    while (u->at->depth > depth && !u->at->is_guard)
        u->at = u->at->parent;
    return was;
}

/* ---- statements ------------------------------------------------------------------------------ */

/* Appends the text with constants and casts of type float in place of double: 0.5 becomes 0.5f. */
static void in_float(const char *text, struct strbuf *out)
{
    for (const char *p = text; *p;) {
        size_t n = 0;
        bool is_real = false, is_hex = p[0] == '0' && p[1] == 'x';
        if (isdigit((unsigned char)*p)) {
            for (; isalnum((unsigned char)p[n]) || p[n] == '.' ||
                   (n && strchr("+-", p[n]) && p[n] && p[n - 1] == 'e' && !is_hex);
                 n++)
                is_real |= !is_hex && (p[n] == '.' || p[n] == 'e');
            strbuf_add(out, p, n);
            strbuf_adds(out, is_real ? "f" : "");
        } else if (isalpha((unsigned char)*p) || *p == '_') {
            while (isalnum((unsigned char)p[n]) || p[n] == '_')
                n++;
            strbuf_add(out, p, n);
        } else if (str_starts(p, "(double)")) {
            strbuf_adds(out, "(float)");
            n = strlen("(double)");
        } else {
            strbuf_addc(out, *p);
            n = 1;
        }
        p += n;
    }
}

static const char *formatted(struct unit_text *u, const char *fmt, va_list ap)
{
    struct strbuf sb = STRBUF_INIT(1 << 20), narrow = STRBUF_INIT(1 << 20);
    strbuf_vaddf(&sb, fmt, ap);
    bool is_float = str_eq(u->real, "float");
    if (is_float)
        in_float(sb.buf, &narrow);
    const char *s = arena_strdup(u->arena, is_float ? narrow.buf : sb.buf);
    strbuf_release(&sb);
    strbuf_release(&narrow);
    return s;
}

static void add_line(struct scope *s, enum line_kind kind, unsigned name, const char *text)
{
    struct line *l = vec_push(&s->lines);
    *l = (struct line){kind, name, text};
}

static const char *declare(struct unit_text *u, const char *type, char letter, struct scope *s,
                           const char *text)
{
    const char *name = arena_printf(u->arena, "%c%u", letter, ++u->names);
    add_line(s, LINE_LET, u->names, arena_printf(u->arena, "%s %s = %s;", type, name, text));
    return name;
}

const char *unit_let(struct unit_text *u, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = formatted(u, fmt, ap);
    va_end(ap);
    return declare(u, arena_printf(u->arena, "const %s", u->real), 'v', u->at, text);
}

const char *unit_var(struct unit_text *u, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = formatted(u, fmt, ap);
    va_end(ap);
    return declare(u, u->real, 'v', u->at, text);
}

const char *unit_object(struct unit_text *u, const char *type, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = formatted(u, fmt, ap);
    va_end(ap);
    return declare(u, type, 'v', u->at, text);
}

void unit_set(struct unit_text *u, const char *name, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = formatted(u, fmt, ap);
    va_end(ap);
    add_line(u->at, LINE_SET, (unsigned)strtoul(name + 1, NULL, 10),
             arena_printf(u->arena, "%s %s;", name, text));
}

void unit_do(struct unit_text *u, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_line(u->at, LINE_DO, 0, arena_printf(u->arena, "%s;", formatted(u, fmt, ap)));
    va_end(ap);
}

static struct scope *open_scope(struct unit_text *u, const char *text, bool is_guard)
{
    struct scope *was = u->at;
    u->at = scope_new(u, was);
    u->at->is_guard = is_guard;
    add_line(u->at, LINE_OPEN, 0, text);
    return was;
}

static struct scope *open_loop(struct unit_text *u, struct index first, struct index end,
                               const char *step, struct index *out)
{
    const char *i = arena_printf(u->arena, "i%u", ++u->names);
    struct scope *was = open_scope(u,
                                   arena_printf(u->arena, "for (%s %s = %s; %s < %s; %s%s) {",
                                                u->whole, i, first.text, i, end.text, i, step),
                                   false);
    *out = (struct index){i, u->at->depth, NULL};
    return was;
}

struct scope *unit_loop(struct unit_text *u, struct index first, struct index end,
                        struct index *out)
{
    return open_loop(u, first, end, "++", out);
}

struct scope *unit_loop_by(struct unit_text *u, struct index first, struct index end,
                           const char *step, struct index *out)
{
    return open_loop(u, first, end, arena_printf(u->arena, " += %s", step), out);
}

void unit_unroll(struct unit_text *u, unsigned times)
{
    u->at->unrolls = times;
}

struct scope *unit_loop_named(struct unit_text *u, const char *name, int n)
{
    return open_scope(
        u, arena_printf(u->arena, "for (int64_t %s = 0; %s < %d; %s++) {", name, name, n, name),
        false);
}

struct scope *unit_if(struct unit_text *u, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_printf(u->arena, "if (%s) {", formatted(u, fmt, ap));
    va_end(ap);
    return open_scope(u, text, true);
}

void unit_close(struct unit_text *u, struct scope *was)
{
    struct scope *s = u->at;
    bool inner = false;
    add_line(s, LINE_CLOSE, 0, "}");
    for (size_t i = 1; i < s->lines.n; i++)
        inner |= s->lines.items[i].kind == LINE_OPEN && str_starts(s->lines.items[i].text, "for");
    if (s->unrolls && !inner)
        s->lines.items[0].text =
            arena_printf(u->arena, "_Pragma(\"unroll %u\") %s", s->unrolls, s->lines.items[0].text);
    for (size_t i = 0; i < s->lines.n; i++)
        *vec_push(&s->parent->lines) = s->lines.items[i];
    s->lines.n = 0;
    u->at = was;
}

bool unit_recall(const struct unit_text *u, const char *key, struct term *out)
{
    for (const struct scope *s = u->at; s; s = s->parent)
        vec_each (const struct memory, k, &s->known)
            if (str_eq(k->key, key)) {
                *out = k->term;
                return true;
            }
    return false;
}

void unit_remember(struct unit_text *u, struct scope *s, const char *key, struct term t)
{
    struct memory *m = vec_push(&s->known);
    *m = (struct memory){arena_strdup(u->arena, key), t};
}

/* ---- the text -------------------------------------------------------------------------------- */

static void mark_used(const char *text, bool *used, unsigned n)
{
    for (const char *p = text; *p;) {
        if (!isalnum((unsigned char)*p) && *p != '_') {
            p++;
            continue;
        }
        const char *start = p;
        while (isalnum((unsigned char)*p) || *p == '_')
            p++;
        char *end;
        unsigned long k = strtoul(start + 1, &end, 10);
        if (strchr("iv", *start) && end == p && k <= n)
            used[k] = true;
    }
}

/* Sets stays[i] to whether line i stays. A LINE_LET or LINE_SET stays if a later line that stays
 * reads its name. A block stays if a statement in it stays. */
static void drop_unused(const struct unit_text *u, bool *stays)
{
    const struct line_vec *v = &u->body->lines;
    bool *used = xcalloc(u->names + 1, sizeof *used);
    /* The loop goes backwards. These lines close blocks whose opening line is still to come. */
    VEC(size_t) open = VEC_INIT;
    size_t kept = 0;
    VEC(size_t) kept_at_close = VEC_INIT; /* `kept` at each line in `open` */
    for (size_t i = v->n; i-- > 0;) {
        const struct line *l = &v->items[i];
        stays[i] = l->kind >= LINE_DO || used[l->name];
        if (l->kind == LINE_CLOSE) {
            *vec_push(&open) = i;
            *vec_push(&kept_at_close) = kept;
        } else if (l->kind == LINE_OPEN) {
            if (!open.n || !kept_at_close.n)
                BUG("a block opens that does not close");
            size_t close = open.items[--open.n];
            stays[i] = stays[close] = kept > kept_at_close.items[--kept_at_close.n];
        }
        if (!stays[i])
            continue;
        kept += l->kind < LINE_OPEN;
        if (l->kind == LINE_LET)
            mark_used(strchr(l->text, '='), used, u->names);
        else if (l->kind == LINE_SET)
            mark_used(strchr(l->text, ' '), used, u->names);
        else
            mark_used(l->text, used, u->names);
    }
    vec_release(&open);
    vec_release(&kept_at_close);
    free(used);
}

void unit_write(struct unit_text *u, struct strbuf *out)
{
    const struct line_vec *v = &u->body->lines;
    bool *stays = xcalloc(v->n + 1, sizeof *stays);
    int level = 1;
    drop_unused(u, stays);
    for (size_t i = 0; i < v->n; i++) {
        const struct line *l = &v->items[i];
        if (!stays[i])
            continue;
        level -= l->kind == LINE_CLOSE;
        strbuf_addf(out, "%*s%s\n", 4 * MIN(level, MAX_INDENT), "", l->text);
        level += l->kind == LINE_OPEN;
    }
    free(stays);
}

/* ---- sizes in C ------------------------------------------------------------------------------ */

static const char *name_in_c(struct unit_text *u, const char *s, size_t n)
{
    char *name = arena_strndup(u->arena, s, n);
    const struct value *v = graph_find(u->graph, name);
    return v && v->op == OP_SCALAR ? arena_printf(u->arena, "(int64_t)SC(%s)", name)
                                   : arena_printf(u->arena, "AX(%s)", name);
}

static const char *expr_in_c(struct unit_text *u, const char *s, size_t n);

/* Writes f(a, b, c) as hone_size_f(a, hone_size_f(b, c)). Returns the end of the call in s. */
static size_t call_in_c(struct unit_text *u, const char *s, size_t name, size_t n,
                        struct strbuf *out)
{
    size_t at = name + 1, from = at;
    int depth = 1, calls = 0;
    for (; at < n && depth > 0; at++) {
        depth += s[at] == '(' ? 1 : s[at] == ')' ? -1 : 0;
        bool last = depth == 0, comma = depth == 1 && s[at] == ',';
        if (!last && !comma)
            continue;
        bool more = comma || calls == 0;
        if (more) {
            strbuf_addf(out, "hone_size_%.*s(", (int)name, s);
            calls++;
        }
        strbuf_adds(out, expr_in_c(u, s + from, at - from));
        if (comma)
            strbuf_adds(out, ", ");
        from = at + 1;
    }
    while (calls-- > 0)
        strbuf_addc(out, ')');
    return at;
}

static const char *expr_in_c(struct unit_text *u, const char *s, size_t n)
{
    struct strbuf sb = STRBUF_INIT(1 << 16);
    for (size_t i = 0; i < n;) {
        size_t k = i;
        while (k < n && (isalnum((unsigned char)s[k]) || s[k] == '_'))
            k++;
        if (k == i) {
            bool spaced = strchr("+-*/%", s[i]) && s[i] && i && !strchr("(,", s[i - 1]);
            strbuf_addf(&sb, spaced ? " %c " : "%c", s[i]);
            i++;
            while (spaced && i < n && s[i] == ' ')
                i++;
        } else if (isdigit((unsigned char)s[i])) {
            strbuf_add(&sb, s + i, k - i);
            i = k;
        } else if (k < n && s[k] == '(') {
            i += call_in_c(u, s + i, k - i, n - i, &sb);
        } else {
            strbuf_adds(&sb, name_in_c(u, s + i, k - i));
            i = k;
        }
    }
    const char *text = arena_strdup(u->arena, sb.buf);
    strbuf_release(&sb);
    return text;
}

static bool is_atom(const char *s)
{
    int depth = 0;
    for (const char *p = s; *p; p++) {
        depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
        if (depth == 0 && !isalnum((unsigned char)*p) && *p != '_' && *p != ')')
            return false;
    }
    return *s != '(' || strstr(s, ")SC(") == NULL;
}

const char *dim_in_c(struct unit_text *u, const struct dim *d)
{
    const char *s = expr_in_c(u, d->key, strlen(d->key));
    return is_atom(s) ? s : arena_printf(u->arena, "(%s)", s);
}

/* ---- indices --------------------------------------------------------------------------------- */

struct index index_text(struct unit_text *u, unsigned depth, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = formatted(u, fmt, ap);
    va_end(ap);
    struct scope *s = scope_around(u, depth);
    struct term known;
    if (unit_recall(u, text, &known))
        return (struct index){known.v, known.depth, NULL};
    struct index i = {declare(u, arena_printf(u->arena, "const %s", u->whole), 'i', s, text),
                      s->depth, NULL};
    unit_remember(u, s, text, (struct term){i.text, NULL, i.depth, NULL});
    return i;
}
