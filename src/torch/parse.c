/* parse.c - a recursive-descent parser of PyTorch expressions. Depth, nodes and length are
 * capped. */
#include "torch/parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* MAX_BOUND: names that ":=" binds. MAX_HEIGHT: height of the tree. */
enum { MAX_BOUND = 64, MAX_HEIGHT = 1000 };

static const char too_deep[] = "the expression nests too deeply: more than 31 brackets inside each "
                               "other, or fewer with signs, '**' or ':=' between them";

struct parser {
    struct arena *mem;
    const char *text, *s;
    unsigned depth, nodes;
    struct {
        const char *name;
        struct tree *is;
    } bound[MAX_BOUND];
    size_t nbound;
    struct err *err;
    bool failed;
};

/* ---- errors and nodes ------------------------------------------------------------------------ */

static struct tree *fail(struct parser *p, const char *at, const char *what)
{
    if (!p->failed)
        err_set(p->err, ERR_INPUT, "column %zu: %s", (size_t)(at - p->text) + 1, what);
    p->failed = true;
    return NULL;
}

static void skip_blanks(struct parser *p)
{
    p->s += strspn(p->s, " \t\r\n");
}

static struct tree *fail_here(struct parser *p)
{
    char what[64];
    skip_blanks(p);
    size_t n = strcspn(p->s, "\r\n");
    if (!n)
        return fail(p, p->s, "the expression ends too early");
    snprintf(what, sizeof what, "'%.*s' is not expected here", (int)MIN(n, 24), p->s);
    for (char *c = what; *c; c++)
        *c = isprint((unsigned char)*c) ? *c : '?';
    return fail(p, p->s, what);
}

static struct tree *node(struct parser *p, enum tree_kind kind, const char *at, const char *text,
                         struct tree *const *part, size_t n)
{
    if (p->nodes == TREE_MAX_NODES)
        return fail(p, at, "the expression has too many parts");
    struct tree *t = arena_alloc(p->mem, sizeof *t);
    t->kind = kind;
    t->id = p->nodes++;
    t->at = (uint32_t)(at - p->text);
    t->text = text;
    t->n = n;
    t->part = n ? arena_alloc(p->mem, n * sizeof(struct tree *)) : NULL;
    for (size_t i = 0; i < n; i++) {
        t->part[i] = part[i];
        t->height = MAX(t->height, part[i] ? part[i]->height + 1 : 0);
    }
    return t->height > MAX_HEIGHT ? fail(p, at, "the expression chains too many operations") : t;
}

static bool take(struct parser *p, const char *token)
{
    skip_blanks(p);
    if (!str_starts(p->s, token))
        return false;
    p->s += strlen(token);
    return true;
}

/* ---- names, numbers, strings ----------------------------------------------------------------- */

static struct tree *expression(struct parser *p);
static struct tree *unary(struct parser *p);

/* Reads a name: letters, digits and "_", not beginning with a digit, perhaps after a "$". Returns
 * NULL if there is none. */
static const char *word(struct parser *p)
{
    skip_blanks(p);
    size_t start = *p->s == '$', n = start;
    if (!isalpha((unsigned char)p->s[n]) && p->s[n] != '_')
        return NULL;
    while (isalnum((unsigned char)p->s[n]) || p->s[n] == '_')
        n++;
    const char *w = arena_strndup(p->mem, p->s, n);
    p->s += n;
    return w;
}

static struct tree *name_node(struct parser *p, const char *at, const char *name)
{
    for (size_t i = p->nbound; i-- > 0;)
        if (str_eq(p->bound[i].name, name))
            return p->bound[i].is;
    return node(p, TREE_NAME, at, name, NULL, 0);
}

static struct tree *number(struct parser *p)
{
    const char *at = p->s;
    char *end;
    strtod(at, &end);
    bool hex =
        at[0] == '0' && isalpha((unsigned char)at[1]) && tolower((unsigned char)at[1]) != 'e';
    if (end == at || hex || isalnum((unsigned char)*end) || *end == '_')
        return fail(p, at, "this is not a decimal number; Hone reads no other notation");
    p->s = end;
    return node(p, TREE_NUMBER, at, arena_strndup(p->mem, at, (size_t)(end - at)), NULL, 0);
}

static struct tree *string(struct parser *p)
{
    const char *at = p->s++;
    size_t n = strcspn(p->s, "'\"\\\n");
    if (p->s[n] != *at)
        return fail(p, at,
                    "this string does not end, or holds a quote or '\\', which is not supported");
    const char *text = arena_strndup(p->mem, p->s, n);
    p->s += n + 1;
    return node(p, TREE_STRING, at, text, NULL, 0);
}

/* ---- brackets -------------------------------------------------------------------------------- */

/* Reads parts with commas between them, up to and including `close`. Appends the parts to `out`.
 * *comma says whether a comma follows the last part. */
static bool parts(struct parser *p, const char *close, struct tree *(*part)(struct parser *),
                  struct tree **out, size_t *n, bool *comma)
{
    *comma = false;
    while (!take(p, close)) {
        if (*n == TORCH_MAX_PARTS)
            return fail(p, p->s,
                        "there are too many parts between these brackets: a tuple or an index has "
                        "at most 32, a call at most 31") != NULL;
        if (!(out[(*n)++] = part(p)))
            return false;
        *comma = take(p, ",");
        if (!*comma)
            return take(p, close) || fail_here(p);
    }
    return true;
}

static struct tree *in_brackets(struct parser *p, const char *at, const char *close)
{
    struct tree *all[TORCH_MAX_PARTS];
    size_t n = 0;
    bool comma;
    if (!parts(p, close, expression, all, &n, &comma))
        return NULL;
    return *close == ')' && n == 1 && !comma ? all[0] : node(p, TREE_TUPLE, at, "", all, n);
}

static struct tree *argument(struct parser *p)
{
    skip_blanks(p);
    const char *before = p->s, *key = word(p);
    if (key && take(p, "=") && *p->s != '=') {
        struct tree *value = expression(p);
        return value ? node(p, TREE_KEY, before, key, &value, 1) : NULL;
    }
    p->s = before;
    return expression(p);
}

static struct tree *subscript(struct parser *p)
{
    struct tree *all[3] = {NULL, NULL, NULL};
    skip_blanks(p);
    const char *at = p->s;
    for (size_t i = 0; i < 3; i++) {
        skip_blanks(p);
        bool empty = *p->s == ':' || *p->s == ',' || *p->s == ']';
        if (!empty && !(all[i] = expression(p)))
            return NULL;
        if (!take(p, ":"))
            return i ? node(p, TREE_SLICE, at, "", all, 3) : all[0] ? all[0] : fail_here(p);
    }
    return fail_here(p);
}

static struct tree *called(struct parser *p, const char *at, struct tree *callee)
{
    struct tree *all[TORCH_MAX_PARTS] = {callee};
    size_t n = 1;
    bool comma;
    return parts(p, ")", argument, all, &n, &comma) ? node(p, TREE_CALL, at, "", all, n) : NULL;
}

static struct tree *indexed(struct parser *p, const char *at, struct tree *of)
{
    struct tree *all[TORCH_MAX_PARTS];
    size_t n = 0;
    bool comma;
    if (!parts(p, "]", subscript, all, &n, &comma))
        return NULL;
    if (!n)
        return fail(p, at, "this index is empty");
    struct tree *index = n == 1 && !comma ? all[0] : node(p, TREE_TUPLE, at, "", all, n);
    struct tree *both[] = {of, index};
    return index ? node(p, TREE_INDEX, at, "", both, 2) : NULL;
}

/* ---- operators ------------------------------------------------------------------------------- */

static struct tree *primary(struct parser *p)
{
    skip_blanks(p);
    struct tree *t = NULL;
    const char *at = p->s, *name;
    if (take(p, "("))
        t = in_brackets(p, at, ")");
    else if (take(p, "["))
        t = in_brackets(p, at, "]");
    else if (take(p, "..."))
        t = node(p, TREE_NAME, at, "...", NULL, 0);
    else if (*p->s == '\'' || *p->s == '"')
        t = string(p);
    else if (isdigit((unsigned char)*p->s) || *p->s == '.')
        t = number(p);
    else if ((name = word(p)))
        t = name_node(p, at, name);
    else
        return fail_here(p);
    while (t) {
        skip_blanks(p);
        at = p->s;
        if (take(p, ".")) {
            const char *field = word(p);
            t = field ? node(p, TREE_FIELD, at, field, &t, 1) : fail_here(p);
        } else if (take(p, "(")) {
            t = called(p, at, t);
        } else if (take(p, "[")) {
            t = indexed(p, at, t);
        } else {
            break;
        }
    }
    return t;
}

static struct tree *power(struct parser *p)
{
    struct tree *all[2] = {primary(p)};
    skip_blanks(p);
    const char *at = p->s;
    if (!all[0] || !take(p, "**"))
        return all[0];
    return (all[1] = unary(p)) ? node(p, TREE_BINARY, at, "**", all, 2) : NULL;
}

static struct tree *unary(struct parser *p)
{
    static const char *const signs[] = {"-", "~", "+"};
    skip_blanks(p);
    const char *at = p->s;
    if (++p->depth > TORCH_MAX_NESTING)
        return fail(p, at, too_deep);
    struct tree *t = NULL, *of;
    bool sign = false;
    for (size_t i = 0; i < ARRAY_LEN(signs) && !sign; i++)
        if ((sign = take(p, signs[i])) && (of = unary(p)))
            t = *signs[i] == '+' ? of : node(p, TREE_UNARY, at, signs[i], &of, 1);
    if (!sign)
        t = power(p);
    p->depth--;
    return t;
}

/* Binary operators by level; the first level binds most loosely. On one level, an operator comes
 * before its prefixes: "//" before "/". power() and unary() read ** and the signs, which bind more
 * tightly. */
enum { LEVELS = 7, COMPARISONS = 0 };
static const char *const levels[LEVELS][7] = {{"<=", ">=", "==", "!=", "<", ">", NULL},
                                              {"|", NULL},
                                              {"^", NULL},
                                              {"&", NULL},
                                              {"<<", ">>", NULL},
                                              {"+", "-", NULL},
                                              {"*", "//", "/", "%", "@", NULL}};

static const char *take_operator(struct parser *p, unsigned level)
{
    skip_blanks(p);
    bool shift = str_starts(p->s, "<<") || str_starts(p->s, ">>");
    if (str_starts(p->s, "**") || (level == COMPARISONS && shift))
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
    for (unsigned n = 0; t; n++) {
        skip_blanks(p);
        const char *at = p->s, *op = take_operator(p, level);
        if (!op)
            break;
        if (level == COMPARISONS && n)
            return fail(p, at, "comparisons do not chain; write (a < b) & (b < c)");
        struct tree *all[] = {t, chain(p, level + 1)};
        t = all[1] ? node(p, TREE_BINARY, at, op, all, 2) : NULL;
    }
    return t;
}

static struct tree *expression(struct parser *p)
{
    skip_blanks(p);
    const char *before = p->s;
    if (++p->depth > TORCH_MAX_NESTING)
        return fail(p, before, too_deep);
    const char *name = word(p);
    struct tree *t;
    if (name && take(p, ":=")) {
        t = expression(p);
        if (t && p->nbound == MAX_BOUND)
            return fail(p, before, "the expression binds more than 64 names with ':='");
        if (t) {
            p->bound[p->nbound].name = name;
            p->bound[p->nbound++].is = t;
        }
    } else {
        p->s = before;
        t = chain(p, 0);
    }
    p->depth--;
    return t;
}

struct tree *torch_parse(struct arena *a, const char *text, struct err *err)
{
    struct parser p = {.mem = a, .text = text, .s = text, .err = err};
    if (strlen(text) > TORCH_MAX_TEXT)
        return fail(&p, text, "the expression is longer than 8192 bytes");
    struct tree *all[TORCH_MAX_PARTS];
    size_t n = 0;
    bool comma = false;
    do { /* a tuple needs no brackets */
        skip_blanks(&p);
        if (comma && !*p.s)
            break;
        if (n == TORCH_MAX_PARTS)
            return fail(&p, p.s, "the expression has more than 32 results");
        if (!(all[n++] = expression(&p)))
            return NULL;
    } while ((comma = take(&p, ",")));
    skip_blanks(&p);
    if (*p.s)
        return fail_here(&p);
    return n == 1 && !comma ? all[0] : node(&p, TREE_TUPLE, text, "", all, n);
}
