/* pattern.c - reads patterns, matches them against values and builds values from them. */
#include "graph/normal/pattern.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "graph/normal/compare.h"

enum { MAX_PLACES = GRAPH_MAX_ARGS + GRAPH_MAX_ATTRS, MAX_DEPTH = 16, MAX_OPERANDS = 8 };

enum pattern_kind {
    PATTERN_NAME, /* `text` is the name without "$" */
    PATTERN_OP,   /* `at` has the operation's nargs operands, then its attributes */
    PATTERN_NUMBER,
    PATTERN_WORD /* `text` is true, false, none, or a text attribute */
};

struct pattern {
    enum pattern_kind kind;
    const char *text;
    double number;
    enum graph_op op;
    size_t nargs, n;
    const struct pattern *at[MAX_PLACES];
};

/* ---- reading --------------------------------------------------------------------------------- */

struct reader {
    struct arena *mem;
    const char *s;
    unsigned depth;
};

static void skip_spaces(struct reader *r)
{
    while (*r->s == ' ')
        r->s++;
}

static bool take(struct reader *r, char c)
{
    skip_spaces(r);
    if (*r->s != c)
        return false;
    r->s++;
    return true;
}

static const char *take_word(struct reader *r)
{
    size_t n = 0;
    while (isalnum((unsigned char)r->s[n]) || r->s[n] == '_')
        n++;
    const char *word = n ? arena_strndup(r->mem, r->s, n) : NULL;
    r->s += n;
    return word;
}

static struct pattern *read_pattern(struct reader *r);

static struct pattern *read_places(struct reader *r, struct pattern *p)
{
    size_t want = p->nargs + op_attrs(p->op, NULL);
    while (!take(r, ')')) {
        if (p->n == want || (p->n && !take(r, ',')) || !(p->at[p->n++] = read_pattern(r)))
            return NULL;
    }
    return p->n == want ? p : NULL;
}

static struct pattern *read_number(struct reader *r, struct pattern *p)
{
    char *end;
    p->kind = PATTERN_NUMBER;
    p->number = strtod(r->s, &end);
    bool any = end != r->s;
    r->s = end;
    return any ? p : NULL;
}

static struct pattern *read_any(struct reader *r, struct pattern *p)
{
    if (take(r, '$')) {
        p->kind = PATTERN_NAME;
        return (p->text = take_word(r)) ? p : NULL;
    }
    if (isdigit((unsigned char)*r->s) || *r->s == '-')
        return read_number(r, p);
    if (!(p->text = take_word(r)))
        return NULL;
    if (str_eq(p->text, "inf")) {
        p->kind = PATTERN_NUMBER;
        p->number = INFINITY;
        return p;
    }
    p->kind = PATTERN_WORD;
    if (!take(r, '('))
        return p;
    p->kind = PATTERN_OP;
    p->op = op_named(p->text);
    if (p->op == OP_COUNT)
        return NULL;
    p->nargs = op_args(p->op, NULL);
    return read_places(r, p);
}

static struct pattern *read_pattern(struct reader *r)
{
    struct pattern *p = NULL;
    skip_spaces(r);
    if (++r->depth <= MAX_DEPTH)
        p = read_any(r, arena_alloc(r->mem, sizeof *p));
    r->depth--;
    return p;
}

const struct pattern *pattern_parse(struct arena *a, const char *text)
{
    struct reader r = {.mem = a, .s = text};
    struct pattern *p = read_pattern(&r);
    skip_spaces(&r);
    return p && !*r.s ? p : NULL;
}

enum graph_op pattern_op(const struct pattern *p)
{
    return p->kind == PATTERN_OP ? p->op : OP_COUNT;
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool bind(struct bindings *b, const char *name, const struct value *v, const struct attr *at)
{
    for (size_t i = 0; i < b->n; i++)
        if (str_eq(b->of[i].name, name))
            return v ? b->of[i].value && graph_same_value(b->of[i].value, v)
                     : b->of[i].attr && attr_equal(b->of[i].attr, at);
    if (b->n == PATTERN_MAX_NAMES)
        BUG("a pattern has more than %d names", PATTERN_MAX_NAMES);
    b->of[b->n].name = name;
    b->of[b->n].value = v;
    b->of[b->n++].attr = at;
    return true;
}

void pattern_bind(struct bindings *b, const char *name, const struct value *v)
{
    if (!bind(b, name, v, NULL))
        BUG("$%s stands for two values", name);
}

void pattern_bind_attr(struct bindings *b, const char *name, const struct attr *a)
{
    if (!bind(b, name, NULL, a))
        BUG("$%s stands for two attributes", name);
}

static bool number_matches(double number, const struct attr *a)
{
    switch (a->kind) {
    case ATTR_INT:
        return (double)a->i == number;
    case ATTR_REAL:
        return a->real == number;
    case ATTR_AXES:
    case ATTR_INTS:
        return a->n == 1 && (double)a->ints[0] == number;
    case ATTR_DIM:
        return a->dims[0]->is_number && (double)a->dims[0]->value == number;
    default:
        return false;
    }
}

static bool match_attr(const struct pattern *p, const struct attr *a, struct bindings *b)
{
    switch (p->kind) {
    case PATTERN_NAME:
        return bind(b, p->text, NULL, a);
    case PATTERN_NUMBER:
        return number_matches(p->number, a);
    case PATTERN_WORD:
        if (str_eq(p->text, "none"))
            return a->kind == ATTR_NONE;
        if (a->kind == ATTR_BOOL)
            return str_eq(p->text, a->i ? "true" : "false");
        return a->kind == ATTR_TEXT && str_eq(p->text, a->text);
    case PATTERN_OP:
        return false;
    }
    return false;
}

static bool match(const struct pattern *p, const struct value *v, struct bindings *b);

/* If p's operation is `op`, a sum or product, adds its operands to out[n...], else adds p itself.
 * Returns the new count. */
static size_t pattern_operands(const struct pattern *p, enum graph_op op,
                               const struct pattern **out, size_t n)
{
    if (p->kind == PATTERN_OP && p->op == op) {
        n = pattern_operands(p->at[0], op, out, n);
        return pattern_operands(p->at[1], op, out, n);
    }
    if (n == MAX_OPERANDS)
        BUG("a pattern has more than %d operands in a row", MAX_OPERANDS);
    out[n] = p;
    return n + 1;
}

/* Matches operands [done, n) of pattern and value in any order. */
static bool match_orders(const struct pattern **p, const struct value **v, size_t done, size_t n,
                         struct bindings *b)
{
    if (done == n)
        return true;
    size_t mark = b->n;
    for (size_t i = done; i < n; i++) {
        const struct value *now = v[i];
        v[i] = v[done];
        v[done] = now;
        if (match(p[done], now, b) && match_orders(p, v, done + 1, n, b))
            return true;
        b->n = mark;
        v[done] = v[i];
        v[i] = now;
    }
    return false;
}

static bool match_operands(const struct pattern *p, const struct value *v, struct bindings *b)
{
    const struct pattern *ps[MAX_OPERANDS];
    const struct value *vs[MAX_OPERANDS];
    if (p->op == OP_ADD || p->op == OP_MUL) {
        size_t n = pattern_operands(p, p->op, ps, 0);
        return value_operands(v, p->op, vs, MAX_OPERANDS) == n && match_orders(ps, vs, 0, n, b);
    }
    if (op_is_commutative(p->op)) {
        memcpy(ps, p->at, 2 * sizeof(*ps));
        memcpy(vs, v->args, 2 * sizeof(*vs));
        return match_orders(ps, vs, 0, 2, b);
    }
    for (size_t i = 0; i < p->nargs; i++)
        if (!match(p->at[i], v->args[i], b))
            return false;
    return true;
}

static bool match(const struct pattern *p, const struct value *v, struct bindings *b)
{
    double number;
    if (!b->steps || !b->steps--)
        return false;
    switch (p->kind) {
    case PATTERN_NAME:
        return v && bind(b, p->text, v, NULL);
    case PATTERN_NUMBER:
        return v && value_is_number(v, &number) && number == p->number;
    case PATTERN_WORD:
        return !v && str_eq(p->text, "none");
    case PATTERN_OP:
        if (!v || v->op != p->op || !match_operands(p, v, b))
            return false;
        for (size_t i = p->nargs; i < p->n; i++)
            if (!match_attr(p->at[i], &v->attrs[i - p->nargs], b))
                return false;
        return true;
    }
    return false;
}

bool pattern_matches(const struct pattern *p, const struct value *v, struct bindings *b)
{
    size_t mark = b->n;
    if (match(p, v, b))
        return true;
    b->n = mark;
    return false;
}

bool pattern_matches_two(const struct pattern *p, const struct value *x, const struct value *y,
                         struct bindings *b)
{
    size_t mark = b->n;
    if (p->kind == PATTERN_OP && p->nargs == 2 && p->n == 2 && match(p->at[0], x, b) &&
        match(p->at[1], y, b))
        return true;
    b->n = mark;
    return false;
}

/* ---- building -------------------------------------------------------------------------------- */

static size_t find_binding(const struct bindings *b, const char *name)
{
    for (size_t i = 0; i < b->n; i++)
        if (str_eq(b->of[i].name, name))
            return i;
    BUG("a rule's right side has $%s, its left side does not", name);
}

static struct attr build_attr(const struct pattern *p, enum attr_kind kind,
                              const struct bindings *b)
{
    if (p->kind == PATTERN_NAME)
        return *b->of[find_binding(b, p->text)].attr;
    if (p->kind == PATTERN_NUMBER && kind == ATTR_REAL)
        return attr_real(p->number);
    if (p->kind == PATTERN_NUMBER && kind == ATTR_AXES)
        return attr_axis((int64_t)p->number);
    if (p->kind == PATTERN_NUMBER && kind == ATTR_INT)
        return attr_int((int64_t)p->number);
    if (p->kind == PATTERN_WORD && kind == ATTR_BOOL)
        return attr_bool(str_eq(p->text, "true"));
    if (p->kind == PATTERN_WORD && kind == ATTR_TEXT)
        return attr_text(p->text);
    if (p->kind == PATTERN_WORD && str_eq(p->text, "none"))
        return attr_none();
    BUG("a rule's right side has an attribute of the wrong kind");
}

/* A number below 1e9 without a fraction becomes a Python int, any other a Python float. */
static const struct value *build_number(struct graph *g, double number)
{
    bool whole = number == floor(number) && fabs(number) < 1e9;
    return whole ? graph_integer(g, (int64_t)number) : graph_number(g, number);
}

static const struct value *build_op(struct graph *g, const struct pattern *p,
                                    const struct bindings *b)
{
    const struct value *args[GRAPH_MAX_ARGS] = {NULL};
    struct attr attrs[GRAPH_MAX_ATTRS];
    const struct op_param *rows;
    for (size_t i = 0; i < p->nargs; i++) {
        bool absent = p->at[i]->kind == PATTERN_WORD;
        args[i] = absent ? NULL : pattern_build(g, p->at[i], b);
        if (!absent && !args[i])
            return NULL;
    }
    op_attrs(p->op, &rows);
    for (size_t i = 0; i < p->n - p->nargs; i++)
        attrs[i] = build_attr(p->at[p->nargs + i], rows[i].kind, b);
    return graph_add(g, p->op, args, attrs, NULL);
}

const struct value *pattern_build(struct graph *g, const struct pattern *p,
                                  const struct bindings *b)
{
    switch (p->kind) {
    case PATTERN_NAME:
        return b->of[find_binding(b, p->text)].value;
    case PATTERN_NUMBER:
        return build_number(g, p->number);
    case PATTERN_OP:
        return build_op(g, p, b);
    case PATTERN_WORD:
        break;
    }
    BUG("a rule's right side has '%s' where a value belongs", p->text);
}
