/* unit_text.c - keeps the statements of a unit by scope, and writes those that are used. */
#include "graph/reference/unit_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* Steps of an unrolled loop can nest hundreds of blocks deep. */
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
    bool unrolls;
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

/* Unlike unit_enter(), leaves conditions. */
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

/* Makes constants and casts float: 0.5 becomes 0.5f. */
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
    *out = (struct index){i, u->at->depth};
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

void unit_unroll(struct unit_text *u)
{
    u->at->unrolls = true;
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
            arena_printf(u->arena, "_Pragma(\"unroll 8\") %s", s->lines.items[0].text);
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

/* A LINE_LET or LINE_SET stays if a later line that stays reads its name. A block stays if a
 * statement in it does. */
static void drop_unused(const struct unit_text *u, bool *stays)
{
    const struct line_vec *v = &u->body->lines;
    bool *used = xcalloc(u->names + 1, sizeof *used);
    VEC(size_t) open = VEC_INIT; /* closing lines without their opening line yet */
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

struct index unit_index(void)
{
    return (struct index){"unit", 0};
}

struct index index_number(struct unit_text *u, int64_t v)
{
    return (struct index){arena_printf(u->arena, v < 0 ? "(%lld)" : "%lld", (long long)v), 0};
}

struct index index_text(struct unit_text *u, unsigned depth, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = formatted(u, fmt, ap);
    va_end(ap);
    struct scope *s = scope_around(u, depth);
    struct term known;
    if (unit_recall(u, text, &known))
        return (struct index){known.v, known.depth};
    struct index i = {declare(u, arena_printf(u->arena, "const %s", u->whole), 'i', s, text),
                      s->depth};
    unit_remember(u, s, text, (struct term){i.text, NULL, i.depth, NULL});
    return i;
}

/* In a reference, a size with a division gets a name before all loops. The compiler cannot move the
 * division there: a loop may call functions that report an access out of bounds. */
struct index index_dim(struct unit_text *u, const struct dim *d)
{
    const char *text = dim_in_c(u, d);
    if (str_eq(u->whole, "int64_t") && strpbrk(text, "/%"))
        return index_text(u, 0, "%s", text);
    return (struct index){text, 0};
}

static bool is_text(struct index a, const char *s)
{
    return str_eq(a.text, s);
}

struct index index_add(struct unit_text *u, struct index a, struct index b)
{
    if (is_text(a, "0"))
        return b;
    if (is_text(b, "0"))
        return a;
    return index_text(u, MAX(a.depth, b.depth), "%s + %s", a.text, b.text);
}

struct index index_sub(struct unit_text *u, struct index a, struct index b)
{
    if (is_text(b, "0"))
        return a;
    return index_text(u, MAX(a.depth, b.depth), "%s - %s", a.text, b.text);
}

struct index index_mul(struct unit_text *u, struct index a, struct index b)
{
    if (is_text(a, "0") || is_text(b, "1"))
        return a;
    if (is_text(b, "0") || is_text(a, "1"))
        return b;
    return index_text(u, MAX(a.depth, b.depth), "%s * %s", a.text, b.text);
}

struct index index_div(struct unit_text *u, struct index a, struct index b)
{
    if (is_text(a, "0") || is_text(b, "1"))
        return a;
    return index_text(u, MAX(a.depth, b.depth), "%s / %s", a.text, b.text);
}

struct index index_mod(struct unit_text *u, struct index a, struct index b)
{
    if (is_text(a, "0"))
        return a;
    if (is_text(b, "1"))
        return index_number(u, 0);
    return index_text(u, MAX(a.depth, b.depth), "%s %% %s", a.text, b.text);
}

/* ---- places ---------------------------------------------------------------------------------- */

struct place place_empty(uint32_t rank, const struct dim *const *shape)
{
    struct place p = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++)
        p.shape[i] = shape[i];
    return p;
}

struct place place_linear(uint32_t rank, const struct dim *const *shape, struct index linear)
{
    struct place p = place_empty(rank, shape);
    p.linear = linear;
    p.has_linear = true;
    return p;
}

void place_set(struct place *p, uint32_t axis, struct index at)
{
    p->at[axis] = at;
    p->has_at[axis] = true;
}

static const char *factors(struct unit_text *u, const struct place *p, uint32_t first, uint32_t end)
{
    struct strbuf sb = STRBUF_INIT(1 << 16);
    for (uint32_t i = first; i < end; i++)
        if (!dim_is(p->shape[i], 1))
            strbuf_addf(&sb, "%s%s", sb.len ? " * " : "", dim_in_c(u, p->shape[i]));
    const char *text = arena_strdup(u->arena, sb.buf);
    strbuf_release(&sb);
    return text;
}

static struct index product_of(struct unit_text *u, const char *factors)
{
    bool several = strstr(factors, " * ") != NULL;
    const char *text = several ? arena_printf(u->arena, "(%s)", factors) : factors;
    return (struct index){*text ? text : "1", 0};
}

static struct index extent(struct unit_text *u, const struct place *p, uint32_t first, uint32_t end)
{
    return product_of(u, factors(u, p, first, end));
}

/* An index along one axis that place_at() computed from a row-major number: number / tail % size,
 * or number / tail for the first axis. */
struct coordinate {
    const char *name;
    struct index number;
    const char *size, *tail;
    bool first;
    const struct coordinate *next;
};

static void note_coordinate(struct unit_text *u, const struct place *p, uint32_t axis, bool first)
{
    struct coordinate *c = arena_alloc(u->arena, sizeof *c);
    *c = (struct coordinate){.name = p->at[axis].text,
                             .number = p->linear,
                             .size = dim_in_c(u, p->shape[axis]),
                             .tail = factors(u, p, axis + 1, p->rank),
                             .first = first,
                             .next = u->coordinates};
    u->coordinates = c;
}

static const struct coordinate *find_coordinate(const struct unit_text *u, const char *name)
{
    const struct coordinate *c = u->coordinates;
    while (c && !str_eq(c->name, name))
        c = c->next;
    return c;
}

/* Did a and b come from the same number, and is b the axis after a? */
static bool are_neighbours(struct unit_text *u, const struct coordinate *a,
                           const struct coordinate *b)
{
    const char *tail = *b->tail ? arena_printf(u->arena, "%s * %s", b->size, b->tail) : b->size;
    return str_eq(a->number.text, b->number.text) && str_eq(a->tail, tail) && !b->first;
}

/* Finds the longest run of axes from `first` whose indices come from one number. Sets *at to the
 * row-major index along them. Returns the end of the run. */
static uint32_t join_run(struct unit_text *u, const struct place *p, uint32_t first,
                         struct index *at)
{
    const struct coordinate *head = find_coordinate(u, p->at[first].text), *last = head;
    uint32_t end = first + 1;
    for (uint32_t i = end; head && i < p->rank; i++) {
        const struct coordinate *c = NULL;
        if (dim_is(p->shape[i], 1))
            continue;
        c = find_coordinate(u, p->at[i].text);
        if (!c || !are_neighbours(u, last, c) || !str_eq(c->size, dim_in_c(u, p->shape[i])))
            break;
        last = c;
        end = i + 1;
    }
    *at = p->at[first];
    if (last == head)
        return end;
    *at = index_div(u, head->number, product_of(u, last->tail));
    if (!head->first) {
        const char *rest = factors(u, p, first + 1, end);
        *at = index_mod(u, *at, product_of(u, arena_printf(u->arena, "%s * %s", head->size, rest)));
    }
    return end;
}

struct index place_at(struct unit_text *u, struct place *p, uint32_t axis)
{
    if (p->has_at[axis])
        return p->at[axis];
    struct index at = index_number(u, 0);
    bool first = is_text(extent(u, p, 0, axis), "1"), one = dim_is(p->shape[axis], 1);
    if (!one) {
        at = index_div(u, p->linear, extent(u, p, axis + 1, p->rank));
        if (!first)
            at = index_mod(u, at, index_dim(u, p->shape[axis]));
    }
    place_set(p, axis, at);
    if (u->joins && !one)
        note_coordinate(u, p, axis, first);
    return at;
}

struct index place_number(struct unit_text *u, struct place *p)
{
    if (p->has_linear)
        return p->linear;
    struct index n = index_number(u, 0);
    for (uint32_t i = 0, end; i < p->rank; i = end) {
        struct index at = p->at[i];
        end = i + 1;
        if (dim_is(p->shape[i], 1))
            continue;
        if (u->joins)
            end = join_run(u, p, i, &at);
        n = index_add(u, index_mul(u, n, extent(u, p, i, end)), at);
    }
    p->linear = n;
    p->has_linear = true;
    return n;
}
