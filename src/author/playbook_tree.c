/* playbook_tree.c - PyTorch expressions to trees and back; comparing them. */
#include "author/playbook_tree.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "author/playbook_read.h"
#include "base/util.h"

enum { MAX_DEPTH = 64, MAX_NODES = 4096, MAX_PARTS = 32, MAX_BOUND = 32, MAX_OPERANDS = 12 };
enum { SAME_STEPS = 2000 };

/* ---- nodes ----------------------------------------------------------------------------------- */

struct tree *tree_node(struct arena *a, enum tree_kind kind, const char *text, size_t n)
{
    struct tree *t = arena_alloc(a, sizeof *t);
    t->kind = kind;
    t->text = text;
    t->n = n;
    t->at = n ? arena_alloc(a, n * sizeof(struct tree *)) : NULL;
    return t;
}

struct tree *tree_rebuilt(struct arena *a, const struct tree *t,
                          struct tree *(*part)(void *ctx, const struct tree *t), void *ctx)
{
    struct tree *c = tree_node(a, t->kind, t->text, t->n);
    c->module = t->module;
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i] && !(c->at[i] = part(ctx, t->at[i])))
            return NULL;
    return c;
}

const char *tree_free_name(struct arena *a, const char *text, const char *wish)
{
    while (strstr(text, wish))
        wish = arena_printf(a, "%s_", wish);
    return wish;
}

struct tree *tree_name(struct arena *a, enum tree_kind kind, const char *text)
{
    return tree_node(a, kind, text, 0);
}

struct tree *tree_binary(struct arena *a, const char *op, struct tree *l, struct tree *r)
{
    struct tree *t = tree_node(a, TREE_BINARY, op, 2);
    t->at[0] = l;
    t->at[1] = r;
    return t;
}

struct tree *tree_call(struct arena *a, const char *name, size_t n)
{
    return tree_node(a, TREE_CALL, name, n);
}

bool tree_is(const struct tree *t, enum tree_kind kind, const char *text)
{
    return t && t->kind == kind && str_eq(t->text, text);
}

bool tree_calls(const struct tree *t, const char *name)
{
    return tree_is(t, TREE_CALL, name) && t->module == TREE_TORCH;
}

bool tree_whole(const struct tree *t, long *out)
{
    if (t && t->kind == TREE_UNARY && str_eq(t->text, "-") && tree_whole(t->at[0], out)) {
        *out = -*out;
        return true;
    }
    if (!t || t->kind != TREE_NUMBER || strlen(t->text) > 9 ||
        t->text[strspn(t->text, "0123456789")])
        return false;
    *out = strtol(t->text, NULL, 10);
    return true;
}

/* ---- parsing --------------------------------------------------------------------------------- */

struct parser {
    struct arena *mem;
    const char *s;
    unsigned depth, nodes;
    struct {
        const char *name;
        struct tree *is;
    } bound[MAX_BOUND];
    size_t nbound;
};

static struct tree *expression(struct parser *p);
static struct tree *unary(struct parser *p);

static struct tree *node(struct parser *p, enum tree_kind kind, const char *text, size_t n)
{
    return ++p->nodes > MAX_NODES ? NULL : tree_node(p->mem, kind, text, n);
}

static bool take(struct parser *p, const char *token)
{
    return text_take(&p->s, token);
}

static struct tree *name_node(struct parser *p, const char *name)
{
    for (size_t i = p->nbound; i-- > 0;)
        if (str_eq(p->bound[i].name, name))
            return p->bound[i].is;
    return node(p, TREE_NAME, name, 0);
}

/* $last and $a are names in patterns. */
static const char *word(struct parser *p)
{
    take(p, "");
    size_t dollar = *p->s == '$', n = text_word(p->s + dollar);
    if (!n)
        return NULL;
    const char *w = arena_strndup(p->mem, p->s, dollar + n);
    p->s += dollar + n;
    return w;
}

static struct tree *number(struct parser *p)
{
    char *end;
    if (p->s[0] == '0' && isalnum((unsigned char)p->s[1]) && !isdigit((unsigned char)p->s[1]))
        return NULL; /* 0x10 */
    strtod(p->s, &end);
    if (end == p->s || isalnum((unsigned char)*end) || *end == '_')
        return NULL;
    struct tree *t = node(p, TREE_NUMBER, arena_strndup(p->mem, p->s, (size_t)(end - p->s)), 0);
    p->s = end;
    return t;
}

static struct tree *string(struct parser *p)
{
    char quote = *p->s++;
    size_t n = strcspn(p->s, "'\"\\\n");
    if (p->s[n] != quote)
        return NULL;
    struct tree *t = node(p, TREE_STRING, arena_strndup(p->mem, p->s, n), 0);
    p->s += n + 1;
    return t;
}

/* Parts between commas up to `close`, which is taken. */
static bool parts(struct parser *p, const char *close, struct tree *(*part)(struct parser *),
                  struct tree **out, size_t *n, bool *comma)
{
    *comma = false;
    while (!take(p, close)) {
        if (*n == MAX_PARTS || !(out[(*n)++] = part(p)))
            return false;
        *comma = take(p, ",");
        if (!*comma)
            return take(p, close);
    }
    return true;
}

static struct tree *node_of(struct parser *p, enum tree_kind kind, const char *text,
                            struct tree **at, size_t n)
{
    struct tree *t = node(p, kind, text, n);
    if (t && n)
        memcpy(t->at, at, n * sizeof *at);
    return t;
}

static struct tree *in_brackets(struct parser *p, const char *close)
{
    struct tree *all[MAX_PARTS];
    size_t n = 0;
    bool comma;
    if (!parts(p, close, expression, all, &n, &comma))
        return NULL;
    return *close == ')' && n == 1 && !comma ? all[0] : node_of(p, TREE_TUPLE, "", all, n);
}

static struct tree *argument(struct parser *p)
{
    const char *before = p->s, *key = word(p);
    if (key && take(p, "=") && *p->s != '=') {
        struct tree *t = node(p, TREE_KEY, key, 1);
        return t && (t->at[0] = expression(p)) ? t : NULL;
    }
    p->s = before;
    return expression(p);
}

static struct tree *subscript(struct parser *p)
{
    struct tree *t = node(p, TREE_SLICE, "", 3);
    for (size_t i = 0; t && i < 3; i++) {
        take(p, "");
        if (*p->s != ':' && *p->s != ',' && *p->s != ']' && !(t->at[i] = expression(p)))
            return NULL;
        if (!take(p, ":"))
            return i ? t : t->at[0];
    }
    return NULL;
}

/* "torch.nn.functional" and so on, before the name of a function. */
static bool module_of(const struct tree *t, enum tree_module *out)
{
    static const char *const names[] = {"torch", "F", "math", "nn", "np"};
    static const char *const fields[] = {"nn", "functional", "special"};
    if (t->kind == TREE_NAME) {
        *out = TREE_TORCH;
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            if (str_eq(t->text, names[i]))
                return true;
        return false;
    }
    if (t->kind != TREE_FIELD || !module_of(t->at[0], out))
        return false;
    if (str_eq(t->text, "linalg")) {
        *out = TREE_LINALG;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (str_eq(t->text, fields[i]))
            return *out == TREE_TORCH;
    return false;
}

static bool of_python(const char *name)
{
    static const char *const builtins[] = {"float", "int", "tuple", "list", "len", "bool",
                                           "max",   "min", "sum",   "abs",  "pow", "round"};
    for (size_t i = 0; i < ARRAY_LEN(builtins); i++)
        if (str_eq(name, builtins[i]))
            return true;
    return false;
}

/* The call of f, at what follows "(". */
static struct tree *called(struct parser *p, struct tree *f)
{
    struct tree *all[MAX_PARTS];
    enum tree_module module = TREE_METHOD;
    size_t n = 0;
    bool comma, function = f->kind == TREE_NAME && f->text[0] != '.';
    if (f->kind == TREE_FIELD) {
        function = module_of(f->at[0], &module);
        if (!function) {
            module = TREE_METHOD;
            all[n++] = f->at[0];
        }
    } else if (function) {
        module = of_python(f->text) ? TREE_PYTHON : TREE_TORCH;
    } else {
        return NULL;
    }
    if (!parts(p, ")", argument, all, &n, &comma))
        return NULL;
    struct tree *t = node_of(p, TREE_CALL, f->text, all, n);
    if (t)
        t->module = module;
    return t;
}

/* The index, at what follows "[". */
static struct tree *indexed(struct parser *p, struct tree *of)
{
    struct tree *all[MAX_PARTS], *t = node(p, TREE_INDEX, "", 2);
    size_t n = 0;
    bool comma;
    if (!t || !parts(p, "]", subscript, all, &n, &comma) || !n)
        return NULL;
    t->at[0] = of;
    t->at[1] = n == 1 && !comma ? all[0] : node_of(p, TREE_TUPLE, "", all, n);
    return t->at[1] ? t : NULL;
}

static struct tree *primary(struct parser *p)
{
    take(p, "");
    struct tree *t = NULL;
    const char *name;
    if (take(p, "("))
        t = in_brackets(p, ")");
    else if (take(p, "["))
        t = in_brackets(p, "]");
    else if (take(p, "..."))
        t = node(p, TREE_NAME, "...", 0);
    else if (*p->s == '\'' || *p->s == '"')
        t = string(p);
    else if (isdigit((unsigned char)*p->s) || *p->s == '.')
        t = number(p);
    else if ((name = word(p)))
        t = name_node(p, name);
    while (t) {
        if (take(p, ".")) {
            struct tree *f = node(p, TREE_FIELD, word(p), 1);
            if (!f || !f->text)
                return NULL;
            f->at[0] = t;
            t = f;
        } else if (take(p, "(")) {
            t = called(p, t);
        } else if (take(p, "[")) {
            t = indexed(p, t);
        } else {
            break;
        }
    }
    return t;
}

static struct tree *power(struct parser *p)
{
    struct tree *t = primary(p), *r;
    if (!t || !take(p, "**"))
        return t;
    struct tree *all[] = {t, NULL};
    return (r = unary(p)) ? (all[1] = r, node_of(p, TREE_BINARY, "**", all, 2)) : NULL;
}

static struct tree *unary(struct parser *p)
{
    static const char *const signs[] = {"-", "~", "+"};
    if (++p->depth > MAX_DEPTH)
        return NULL;
    struct tree *t = NULL, *of;
    bool sign = false;
    for (size_t i = 0; i < ARRAY_LEN(signs) && !sign; i++)
        if ((sign = take(p, signs[i])) && (of = unary(p)))
            t = *signs[i] == '+' ? of : node_of(p, TREE_UNARY, signs[i], &of, 1);
    if (!sign)
        t = power(p);
    p->depth--;
    return t;
}

/* Python's operators from the loosest on; longer tokens first. */
enum { LEVELS = 7, UNARY = LEVELS, POWER, PRIMARY, OBJECT };
static const char *const levels[LEVELS][7] = {{"<=", ">=", "==", "!=", "<", ">", NULL},
                                              {"|", NULL},
                                              {"^", NULL},
                                              {"&", NULL},
                                              {"<<", ">>", NULL},
                                              {"+", "-", NULL},
                                              {"*", "//", "/", "%", "@", NULL}};

static const char *take_operator(struct parser *p, unsigned level)
{
    take(p, "");
    if (str_starts(p->s, "**") ||
        (level == 0 && (str_starts(p->s, "<<") || str_starts(p->s, ">>"))))
        return NULL;
    for (unsigned i = 0; levels[level][i]; i++)
        if (take(p, levels[level][i]))
            return levels[level][i];
    return NULL;
}

static struct tree *chain(struct parser *p, unsigned level)
{
    if (level == LEVELS)
        return unary(p);
    struct tree *t = chain(p, level + 1);
    const char *op;
    for (unsigned n = 0; t && (op = take_operator(p, level)); n++) {
        struct tree *all[] = {t, chain(p, level + 1)};
        bool chained = level == 0 && n; /* a < b < c is (a < b) and (b < c) */
        t = all[1] && !chained ? node_of(p, TREE_BINARY, op, all, 2) : NULL;
    }
    return t;
}

static struct tree *expression(struct parser *p)
{
    if (++p->depth > MAX_DEPTH)
        return NULL;
    const char *before = p->s, *name = word(p);
    struct tree *t;
    if (name && take(p, ":=")) {
        t = expression(p);
        if (p->nbound == MAX_BOUND)
            return NULL;
        p->bound[p->nbound].name = name;
        p->bound[p->nbound++].is = t;
    } else {
        p->s = before;
        t = chain(p, 0);
    }
    p->depth--;
    return t;
}

struct tree *tree_parse(struct arena *a, const char *text)
{
    struct parser p = {.mem = a, .s = text};
    if (strlen(text) > TORCH_MAX_TEXT)
        return NULL;
    struct tree *all[MAX_PARTS];
    size_t n = 0;
    do { /* a tuple needs no brackets */
        if (n == MAX_PARTS || !(all[n++] = expression(&p)))
            return NULL;
    } while (take(&p, ","));
    if (!take(&p, "") || *p.s)
        return NULL;
    return n == 1 ? all[0] : node_of(&p, TREE_TUPLE, "", all, n);
}

/* ---- printing -------------------------------------------------------------------------------- */

static unsigned level_of(const struct tree *t)
{
    if (t->kind == TREE_UNARY)
        return UNARY;
    if (t->kind != TREE_BINARY)
        return t->kind == TREE_NUMBER ? PRIMARY : OBJECT; /* (2).sqrt() */
    for (unsigned l = 0; l < LEVELS; l++)
        for (unsigned i = 0; levels[l][i]; i++)
            if (str_eq(levels[l][i], t->text))
                return l;
    return POWER;
}

static void print(const struct tree *t, unsigned least, struct strbuf *out);

static void print_parts(struct tree *const *at, size_t n, struct strbuf *out)
{
    for (size_t i = 0; i < n; i++) {
        strbuf_adds(out, i ? ", " : "");
        print(at[i], 0, out);
    }
}

/* Functions that readers know as methods only. */
static bool prints_as_method(const struct tree *t)
{
    static const char *const names[] = {"transpose", "permute", "view", "reshape",
                                        "unsqueeze", "chunk",   "to",   "expand"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (tree_calls(t, names[i]) && t->n && t->at[0]->kind != TREE_KEY)
            return true;
    return t->module == TREE_METHOD && t->n;
}

static void print_call(const struct tree *t, struct strbuf *out)
{
    struct call_print how[MAX_PARTS] = {{"", false}};
    bool method = prints_as_method(t), any = false;
    call_printed(t, how, t->n);
    if (method)
        print(t->at[0], OBJECT, out);
    else if (t->module == TREE_LINALG)
        strbuf_adds(out, "torch.linalg");
    else if (t->module == TREE_TORCH || t->module == TREE_ODD)
        strbuf_adds(out, str_eq(t->text, "linear") || str_eq(t->text, "pad") ? "F" : "torch");
    strbuf_addf(out, t->module == TREE_PYTHON ? "%s(" : ".%s(", t->text);
    for (size_t i = method; i < t->n; i++) {
        if (how[i].left_out)
            continue;
        strbuf_adds(out, any ? ", " : "");
        if (*how[i].key)
            strbuf_addf(out, "%s=", how[i].key);
        print(t->at[i], 0, out);
        any = true;
    }
    strbuf_addc(out, ')');
}

/* What binds more loosely than `least` stands in brackets. */
static void print(const struct tree *t, unsigned least, struct strbuf *out)
{
    if (out->truncated || !t)
        return;
    unsigned level = level_of(t);
    if (level < least)
        strbuf_addc(out, '(');
    switch (t->kind) {
    case TREE_NAME:
    case TREE_NUMBER:
        strbuf_adds(out, t->text);
        break;
    case TREE_STRING:
        strbuf_addf(out, "'%s'", t->text);
        break;
    case TREE_TUPLE:
        strbuf_addc(out, '(');
        print_parts(t->at, t->n, out);
        strbuf_adds(out, t->n == 1 ? ",)" : ")");
        break;
    case TREE_UNARY:
        strbuf_adds(out, t->text);
        print(t->at[0], UNARY, out);
        break;
    case TREE_BINARY: /* ** groups from the right, comparisons do not */
        print(t->at[0], level == POWER ? PRIMARY : level + (level == 0), out);
        strbuf_addf(out, " %s ", t->text);
        print(t->at[1], level == POWER ? UNARY : level + 1, out);
        break;
    case TREE_FIELD:
        print(t->at[0], OBJECT, out);
        strbuf_addf(out, ".%s", t->text);
        break;
    case TREE_CALL:
        print_call(t, out);
        break;
    case TREE_KEY:
        strbuf_addf(out, "%s=", t->text);
        print(t->at[0], 0, out);
        break;
    case TREE_INDEX:
        print(t->at[0], OBJECT, out);
        strbuf_addc(out, '[');
        if (t->at[1]->kind == TREE_TUPLE)
            print_parts(t->at[1]->at, t->at[1]->n, out);
        else
            print(t->at[1], 0, out);
        strbuf_addc(out, ']');
        break;
    case TREE_SLICE:
        print(t->at[0], 0, out);
        strbuf_addc(out, ':');
        print(t->at[1], 0, out);
        if (t->at[2]) {
            strbuf_addc(out, ':');
            print(t->at[2], 0, out);
        }
        break;
    }
    if (level < least)
        strbuf_addc(out, ')');
}

bool tree_print(const struct tree *t, struct strbuf *out)
{
    print(t, 0, out);
    return !out->truncated;
}

/* ---- comparing ------------------------------------------------------------------------------- */

size_t tree_operands(const struct tree *t, const char *op, const struct tree **out, size_t max)
{
    if (!tree_is(t, TREE_BINARY, op)) {
        if (max)
            out[0] = t;
        return 1;
    }
    size_t n = tree_operands(t->at[0], op, out, max), left = n < max ? max - n : 0;
    return n + tree_operands(t->at[1], op, left ? out + n : NULL, left);
}

static bool same_number(const char *a, const char *b)
{
    return strtod(a, NULL) == strtod(b, NULL);
}

/* Operands [done, n) of the pattern against those of t that are left. */
static bool match_orders(struct tree_match *m, const struct tree **p, const struct tree **t,
                         size_t done, size_t n)
{
    if (done == n)
        return true;
    size_t mark = m->mark(m->ctx);
    for (size_t i = done; i < n; i++) {
        const struct tree *now = t[i];
        t[i] = t[done];
        t[done] = now;
        if (tree_matches(m, p[done], now) && match_orders(m, p, t, done + 1, n))
            return true;
        m->undo(m->ctx, mark);
        t[done] = t[i];
        t[i] = now;
    }
    return false;
}

static bool match_parts(struct tree_match *m, const struct tree *p, const struct tree *t)
{
    bool commutes = p->kind == TREE_BINARY && (*p->text == '+' || str_eq(p->text, "*"));
    const struct tree *ps[MAX_OPERANDS], *ts[MAX_OPERANDS];
    if (commutes) {
        size_t np = tree_operands(p, p->text, ps, MAX_OPERANDS);
        size_t nt = tree_operands(t, p->text, ts, MAX_OPERANDS);
        if (np == nt && np <= MAX_OPERANDS)
            return match_orders(m, ps, ts, 0, np);
        if (np <= MAX_OPERANDS && nt <= MAX_OPERANDS)
            return false;
    }
    for (size_t i = 0; i < p->n; i++)
        if (!tree_matches(m, p->at[i], t->at[i]))
            return false;
    return true;
}

bool tree_matches(struct tree_match *m, const struct tree *p, const struct tree *t)
{
    if (!p || !t || p == t)
        return p == t;
    if (!m->steps || !m->steps--)
        return false;
    int bound = p->kind == TREE_NAME || p->kind == TREE_INDEX ? m->bind(m->ctx, p, t) : -1;
    if (bound >= 0)
        return bound;
    if (p->kind == t->kind && p->kind == TREE_NUMBER)
        return same_number(p->text, t->text);
    return p->kind == t->kind && p->module == t->module && p->n == t->n &&
           str_eq(p->text, t->text) && match_parts(m, p, t);
}

static int no_variable(void *ctx, const struct tree *p, const struct tree *t)
{
    return -1;
}

static size_t no_mark(void *ctx)
{
    return 0;
}

static void no_undo(void *ctx, size_t mark)
{
}

bool tree_same(const struct tree *a, const struct tree *b)
{
    struct tree_match m = {no_variable, no_mark, no_undo, NULL, SAME_STEPS};
    return tree_matches(&m, a, b);
}
