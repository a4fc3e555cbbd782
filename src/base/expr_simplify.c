/*
 * expr_simplify.c - writes an expression in a shorter way (expr.h). It computes what is constant,
 * leaves out what changes nothing (x * 1, x + 0, 1 && x), and writes only the parentheses that are
 * needed.
 */
#include <ctype.h>
#include <string.h>

#include "base/expr.h"
#include "base/util.h"

enum { MAX_NAMES = 64 };

/* How tightly a text binds, from least to most. An operand needs parentheses if it binds less
 * tightly than its operator asks. */
enum binding { B_CHOICE, B_OR, B_AND, B_COMPARE, B_SUM, B_PRODUCT, B_UNARY, B_ATOM };

struct term {
    const char *text;
    enum binding binding;
    bool truth; /* the value is 0 or 1 */
    bool constant;
    int64_t value; /* if `constant` */
    /* If the term is a product x * c with a constant c: x and c. Otherwise NULL. */
    const struct term *x;
    const struct term *c;
};

struct simplifier {
    struct arena *arena;
    const char *names[MAX_NAMES];
    size_t n;
};

static void *make(struct simplifier *s, enum binding b, bool truth, const char *text)
{
    struct term *t = arena_alloc(s->arena, sizeof *t);
    *t = (struct term){.text = text, .binding = b, .truth = truth};
    return t;
}

static void *number(void *ctx, int64_t v)
{
    struct simplifier *s = ctx;
    if (v == INT64_MIN) /* the parser would not accept its text as a number */
        return NULL;
    struct term *t = make(s, v < 0 ? B_UNARY : B_ATOM, v == 0 || v == 1,
                          arena_printf(s->arena, "%lld", (long long)v));
    t->constant = true;
    t->value = v;
    return t;
}

static void *name(void *ctx, size_t i)
{
    struct simplifier *s = ctx;
    return make(s, B_ATOM, false, s->names[i]);
}

static void *tensor_align(void *ctx, const char *tensor)
{
    struct simplifier *s = ctx;
    return make(s, B_ATOM, false, arena_printf(s->arena, "alignof(%s)", tensor));
}

static bool is(const struct term *t, int64_t v)
{
    return t->constant && t->value == v;
}

static const char *operand(struct simplifier *s, const struct term *t, enum binding least)
{
    return t->binding < least ? arena_printf(s->arena, "(%s)", t->text) : t->text;
}

static const struct {
    const char *op;
    enum binding binding;
} operators[] = {{"||", B_OR},     {"&&", B_AND},     {"==", B_COMPARE}, {"!=", B_COMPARE},
                 {"<", B_COMPARE}, {"<=", B_COMPARE}, {">", B_COMPARE},  {">=", B_COMPARE},
                 {"+", B_SUM},     {"-", B_SUM},      {"*", B_PRODUCT},  {"/", B_PRODUCT},
                 {"%", B_PRODUCT}};

static struct term *write_operator(struct simplifier *s, const char *op, const struct term *a,
                                   const struct term *b)
{
    for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
        enum binding at = operators[i].binding;
        if (!str_eq(op, operators[i].op))
            continue;
        /* The right operand of - or / needs parentheses if it is a sum or a product. So does a
         * comparison inside a comparison. */
        const char *left = operand(s, a, at == B_COMPARE ? at + 1 : at),
                   *right = operand(s, b, at == B_OR || at == B_AND ? at : at + 1);
        bool spaces = at <= B_SUM;
        return make(s, at, at <= B_COMPARE,
                    arena_printf(s->arena, spaces ? "%s %s %s" : "%s%s%s", left, op, right));
    }
    if (!b)
        return str_eq(op, "neg") || str_eq(op, "!")
                   ? make(s, B_UNARY, *op == '!',
                          arena_printf(s->arena, "%s%s", *op == '!' ? "!" : "-",
                                       operand(s, a, B_ATOM)))
                   : make(s, B_ATOM, false, arena_printf(s->arena, "%s(%s)", op, a->text));
    return make(s, B_ATOM, false, arena_printf(s->arena, "%s(%s, %s)", op, a->text, b->text));
}

static struct term *truth_of(struct simplifier *s, struct term *t)
{
    if (t->truth)
        return t;
    return t->constant ? number(s, t->value != 0) : write_operator(s, "!=", t, number(s, 0));
}

static void *apply(void *ctx, const char *op, void *first, void *second);

/* Returns the result if one operand decides it or changes nothing, else NULL. Also writes x * 3 * 3
 * as x * 9. */
static struct term *shortcut(struct simplifier *s, const char *op, struct term *a, struct term *b)
{
    if (str_eq(op, "*") && a->x && a->c && b->constant) {
        struct term *c = apply(s, op, (void *)a->c, b);
        return c->constant ? apply(s, op, (void *)a->x, c) : NULL;
    }
    bool all = str_eq(op, "&&"), any = str_eq(op, "||");
    if (all || any) {
        struct term *x = a->constant ? a : b->constant ? b : NULL, *y = x == a ? b : a;
        if (!x)
            return NULL;
        return (x->value != 0) == all ? truth_of(s, y) : number(s, any);
    }
    if ((str_eq(op, "*") && is(a, 1)) || (str_eq(op, "+") && is(a, 0)))
        return b;
    if (((str_eq(op, "*") || str_eq(op, "/") || str_eq(op, "cdiv") || str_eq(op, "align")) &&
         is(b, 1)) ||
        ((str_eq(op, "+") || str_eq(op, "-")) && is(b, 0)))
        return a;
    return (str_eq(op, "min") || str_eq(op, "max")) && str_eq(a->text, b->text) ? a : NULL;
}

/* Computes a text without names. NULL if that fails, for example by overflow. */
static void *computed(struct simplifier *s, const char *text)
{
    size_t col;
    int64_t v;
    struct expr *e = expr_parse(text, strlen(text), NULL, 0, s->arena, &col, NULL);
    return e && expr_eval(e, &(struct expr_env){0}, &v, NULL) == 0 ? number(s, v) : NULL;
}

static void *apply(void *ctx, const char *op, void *first, void *second)
{
    struct simplifier *s = ctx;
    struct term *a = first, *b = second, *t = b ? shortcut(s, op, a, b) : NULL, *v = NULL;
    if (!t) {
        t = write_operator(s, op, a, b);
        if (str_eq(op, "*") && b->constant) {
            t->x = a;
            t->c = b;
        }
    }
    if (!t->constant && a->constant && (!b || b->constant))
        v = computed(s, t->text);
    return v ? v : t;
}

static void *choose(void *ctx, void *condition, void *then, void *otherwise)
{
    struct simplifier *s = ctx;
    const struct term *c = condition, *a = then, *b = otherwise;
    if (c->constant)
        return c->value ? then : otherwise;
    return make(s, B_CHOICE, a->truth && b->truth,
                arena_printf(s->arena, "%s ? %s : %s", operand(s, c, B_OR), operand(s, a, B_OR),
                             operand(s, b, B_OR)));
}

/* Sets s->names to all words of the text, also the names of functions: the parser still reads a
 * word before a parenthesis as a function. Returns false if there are too many words. */
static bool find_names(struct simplifier *s, const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t from = i;
        while (i < len && (isalnum((unsigned char)text[i]) || text[i] == '_'))
            i++;
        if (i == from) {
            i++;
            continue;
        }
        const char *word = arena_strndup(s->arena, text + from, i - from);
        bool known = isdigit((unsigned char)*word);
        for (size_t k = 0; k < s->n; k++)
            known |= str_eq(s->names[k], word);
        if (!known && s->n == MAX_NAMES)
            return false;
        if (!known)
            s->names[s->n++] = word;
    }
    return true;
}

bool expr_simplify(const char *text, size_t len, struct strbuf *out)
{
    struct arena arena = ARENA_INIT;
    struct simplifier s = {.arena = &arena};
    const struct expr_fold f = {.number = number,
                                .name = name,
                                .apply = apply,
                                .ctx = &s,
                                .choose = choose,
                                .tensor_align = tensor_align};
    size_t col;
    struct expr *e =
        find_names(&s, text, len) ? expr_parse(text, len, s.names, s.n, &arena, &col, NULL) : NULL;
    const struct term *t = e ? expr_fold(e, &f) : NULL;
    /* Parentheses may make the text too deep or too long. */
    bool ok = t && expr_parse(t->text, strlen(t->text), s.names, s.n, &arena, &col, NULL);
    if (ok)
        strbuf_adds(out, t->text);
    arena_release(&arena);
    return ok;
}
