/* formula.c - bounds of expressions, and their text in C and Python. See formula.h. */
#include "export/formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "export/names.h"

#define INT64_LIMIT \
    9.2e18 /* a little below 2^63: a rounded bound below this still fits into 64 bits */
/* In exported code, alignof(tensor) is at most this many bytes. */
#define MAX_ALIGN 256

struct maker {
    const struct formula_scope *s;
    struct arena *a;
};

static struct formula *node(struct maker *m, enum formula_kind kind, double lo, double hi)
{
    struct formula *f = arena_alloc(m->a, sizeof *f);
    f->kind = kind;
    f->lo = lo;
    f->hi = hi;
    return f;
}

static void *make_number(void *ctx, int64_t v)
{
    struct formula *f = node(ctx, FORMULA_NUMBER, (double)v, (double)v);
    f->number = v;
    return f;
}

static void *make_name(void *ctx, size_t i)
{
    struct maker *m = ctx;
    struct formula *f = node(m, FORMULA_NAME, (double)m->s->lo[i], (double)m->s->hi[i]);
    f->name = i;
    return f;
}

static void *make_align(void *ctx, const char *tensor)
{
    struct formula *f = node(ctx, FORMULA_ALIGN, 1, MAX_ALIGN);
    f->tensor = arena_strdup(((struct maker *)ctx)->a, tensor);
    return f;
}

static void *make_choose(void *ctx, void *condition, void *then, void *otherwise)
{
    const struct formula *x = then, *y = otherwise;
    struct formula *f = node(ctx, FORMULA_CHOOSE, MIN(x->lo, y->lo), MAX(x->hi, y->hi));
    f->a = condition;
    f->b = x;
    f->c = y;
    f->real = x->real || y->real;
    return f;
}

static void *make_real(void *ctx, double v)
{
    struct formula *f = node(ctx, FORMULA_REAL, 0, 0);
    f->value = v;
    f->real = true;
    return f;
}

static void *make_real_name(void *ctx, size_t i)
{
    struct formula *f = node(ctx, FORMULA_REAL_NAME, 0, 0);
    f->name = i;
    f->real = true;
    return f;
}

/* Returns whether the operation gives a double. A comparison of doubles gives an integer. */
static bool gives_real(const char *op, const struct formula *a, const struct formula *b)
{
    static const char *const functions[] = {"real/", "fmin", "fmax", "sqrt",  "exp",
                                            "log",   "log2", "pow",  "double"};
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (str_eq(op, functions[i]))
            return true;
    return !strpbrk(op, "<>=!&|") && (a->real || (b && b->real));
}

static void bounds_of_product(struct formula *f)
{
    double p[] = {f->a->lo * f->b->lo, f->a->lo * f->b->hi, f->a->hi * f->b->lo,
                  f->a->hi * f->b->hi};
    f->lo = f->hi = p[0];
    for (int i = 1; i < 4; i++) {
        f->lo = MIN(f->lo, p[i]);
        f->hi = MAX(f->hi, p[i]);
    }
}

/* Finds the bounds of a quotient, a remainder or an aligned number if the divisor is 1 or more. If
 * the divisor may be smaller, sets may_fail, and the printed code checks the divisor. */
static void bounds_of_division(struct formula *f)
{
    const struct formula *x = f->a, *y = f->b;
    double most = MAX(-x->lo, x->hi);
    f->may_fail = y->lo < 1;
    if (str_eq(f->op, "%")) {
        f->lo = x->lo < 0 ? -most : 0;
        f->hi = MIN(most, MAX(y->hi, 1));
    } else if (str_eq(f->op, "align")) {
        f->lo = MIN(x->lo, 0);
        f->hi = MAX(x->hi, 0) + MAX(y->hi, 1);
    } else { /* |x| is at most `most`, the divisor at least b; the 1 is for rounding up */
        double b = MAX(y->lo, 1);
        f->lo = x->lo < 0 ? -most / b - 1 : 0;
        f->hi = most / b + 1;
    }
}

static void find_bounds(struct formula *f)
{
    const struct formula *x = f->a, *y = f->b;
    const char *op = f->op;
    if (str_eq(op, "+")) {
        f->lo = x->lo + y->lo;
        f->hi = x->hi + y->hi;
    } else if (str_eq(op, "-")) {
        f->lo = x->lo - y->hi;
        f->hi = x->hi - y->lo;
    } else if (str_eq(op, "*")) {
        bounds_of_product(f);
    } else if (str_eq(op, "neg")) {
        f->lo = -x->hi;
        f->hi = -x->lo;
    } else if (str_eq(op, "min")) {
        f->lo = MIN(x->lo, y->lo);
        f->hi = MIN(x->hi, y->hi);
    } else if (str_eq(op, "max")) {
        f->lo = MAX(x->lo, y->lo);
        f->hi = MAX(x->hi, y->hi);
    } else if (str_eq(op, "pow2ceil")) {
        f->lo = 1;
        f->hi = MAX(2 * x->hi, 1);
    } else if (strpbrk(op, "/%") || str_eq(op, "cdiv") || str_eq(op, "align")) {
        bounds_of_division(f);
    } else { /* comparisons, ! && || */
        f->lo = 0;
        f->hi = 1;
    }
}

static void *make_apply(void *ctx, const char *op, void *a, void *b)
{
    struct formula *f = node(ctx, FORMULA_APPLY, 0, 0);
    f->op = op;
    f->a = a;
    f->b = b;
    f->real = gives_real(op, f->a, f->b);
    if (f->real)
        return f;
    find_bounds(f);
    if (f->lo < -INT64_LIMIT || f->hi > INT64_LIMIT) {
        f->may_fail = true;
        f->lo = MAX(f->lo, -INT64_LIMIT);
        f->hi = MIN(f->hi, INT64_LIMIT);
    }
    return f;
}

const struct formula *formula_of(const struct expr *e, const struct formula_scope *s,
                                 struct arena *a)
{
    struct maker m = {s, a};
    const struct formula *f = expr_fold(e, &(struct expr_fold){.number = make_number,
                                                               .name = make_name,
                                                               .apply = make_apply,
                                                               .ctx = &m,
                                                               .choose = make_choose,
                                                               .tensor_align = make_align,
                                                               .real = make_real,
                                                               .real_name = make_real_name});
    if (!f)
        BUG("the expression '%s' has no tree", expr_text(e));
    return f;
}

unsigned formula_uses(const struct formula *f, size_t i)
{
    if (!f)
        return 0;
    return (f->kind == FORMULA_NAME && f->name == i) + formula_uses(f->a, i) +
           formula_uses(f->b, i) + formula_uses(f->c, i);
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Returns how tightly the formula's operator binds in both languages; a larger number binds
 * tighter. Returns 0 for a formula without an operator: a number, a name or a call. */
static int precedence(const struct formula *f)
{
    static const struct {
        const char *op;
        int level;
    } levels[] = {{"||", 2}, {"&&", 3}, {"!", 4},   {"==", 5},   {"!=", 5}, {"<", 5},
                  {"<=", 5}, {">", 5},  {">=", 5},  {"+", 6},    {"-", 6},  {"*", 7},
                  {"/", 7},  {"%", 7},  {"neg", 8}, {"real/", 7}};
    if (f->kind == FORMULA_CHOOSE)
        return 1;
    for (size_t i = 0; f->kind == FORMULA_APPLY && i < ARRAY_LEN(levels); i++)
        if (str_eq(levels[i].op, f->op))
            return levels[i].level;
    return 0;
}

static bool is_division(const struct formula *f)
{
    return f->kind == FORMULA_APPLY && (str_eq(f->op, "/") || str_eq(f->op, "%") ||
                                        str_eq(f->op, "cdiv") || str_eq(f->op, "align"));
}

/* Returns whether the operation is printed as a call of a helper. In C, a helper does each
 * operation that may fail. In Python, a helper does a division whose divisor may be 0 or less, and
 * a / or % of a number that may be negative: there Python rounds down, but C rounds towards
 * zero. */
static bool needs_call(const struct formula *f, enum export_lang lang)
{
    if (f->kind != FORMULA_APPLY || f->real)
        return false;
    if (lang == LANG_PYTHON)
        return is_division(f) && (f->b->lo < 1 || (strpbrk(f->op, "/%") && f->a->lo < 0));
    return f->may_fail;
}

static bool has_name(const struct formula *f)
{
    return f && (f->kind == FORMULA_NAME || f->kind == FORMULA_ALIGN || has_name(f->a) ||
                 has_name(f->b) || has_name(f->c));
}

static void print(struct strbuf *out, const struct formula *f, const struct formula_scope *s,
                  enum formula_use use);

/* Prints the operand f of an operator. Adds parentheses if f's own operator binds no tighter than
 * `level`. */
static void operand(struct strbuf *out, const struct formula *f, const struct formula_scope *s,
                    enum formula_use use, int level)
{
    int own = needs_call(f, s->lang) ? 0 : precedence(f);
    bool inside = own && own <= level;
    if (inside)
        strbuf_addc(out, '(');
    print(out, f, s, use);
    if (inside)
        strbuf_addc(out, ')');
}

static void print_call(struct strbuf *out, const struct formula *f, const struct formula_scope *s)
{
    static const struct {
        const char *op, *name;
    } checked[] = {
        {"+", "checked_add"},     {"-", "checked_sub"},       {"neg", "checked_neg"},
        {"*", "checked_mul"},     {"/", "checked_div"},       {"%", "checked_mod"},
        {"cdiv", "checked_cdiv"}, {"align", "checked_align"}, {"pow2ceil", "checked_pow2ceil"}};
    const char *name = NULL;
    bool call = needs_call(f, s->lang);
    for (size_t i = 0; call && i < ARRAY_LEN(checked); i++)
        if (str_eq(checked[i].op, f->op))
            name = checked[i].name;
    if (!name)
        name = f->op;
    if (f->real && s->lang == LANG_PYTHON) {
        bool own = str_eq(name, "fmin") || str_eq(name, "fmax");
        name = str_eq(name, "double") ? "float" : own ? name + 1 : name;
        strbuf_adds(out, own || str_eq(name, "float") ? "" : "math.");
    } else if (f->real && str_eq(name, "double")) {
        name = "(double)";
    }
    if (s->lang == LANG_PYTHON &&
        (call || str_eq(name, "cdiv") || str_eq(name, "align") || str_eq(name, "pow2ceil")))
        strbuf_addc(out, '_');
    strbuf_adds(out, name);
    strbuf_addc(out, '(');
    if (s->lang == LANG_C && call)
        strbuf_adds(out, "plan, ");
    print(out, f->a, s, FORMULA_VALUE);
    if (f->b) {
        strbuf_adds(out, ", ");
        print(out, f->b, s, FORMULA_VALUE);
    }
    strbuf_addc(out, ')');
}

/* Returns the `level` to pass to operand(). gcc -Wall warns about an && inside an || without
 * parentheses, so C gets them. */
static int logic_level(const struct formula *operand, const struct formula *in, bool python,
                       int level)
{
    bool and_in_or = str_eq(in->op, "||") && precedence(operand) == 3;
    return and_in_or && !python ? 3 : level;
}

/* Returns whether the formula is always True or False in Python. `3 and 5` is not: it is 5. */
static bool is_bool(const struct formula *f)
{
    int level = precedence(f);
    return level == 4 || level == 5 ||
           ((level == 2 || level == 3) && is_bool(f->a) && is_bool(f->b));
}

static void print_logic(struct strbuf *out, const struct formula *f, const struct formula_scope *s,
                        enum formula_use use)
{
    bool python = s->lang == LANG_PYTHON;
    bool to_number = python && use == FORMULA_VALUE;
    int level = precedence(f);
    if (to_number)
        strbuf_adds(out, is_bool(f) ? "int(" : "int(bool(");
    if (str_eq(f->op, "!")) {
        strbuf_adds(out, python ? "not " : "!");
        operand(out, f->a, s, FORMULA_CONDITION, python ? level - 1 : 8);
    } else {
        const char *word = str_eq(f->op, "&&") ? "and" : "or";
        operand(out, f->a, s, FORMULA_CONDITION, logic_level(f->a, f, python, level - 1));
        strbuf_addf(out, " %s ", python ? word : f->op);
        operand(out, f->b, s, FORMULA_CONDITION, logic_level(f->b, f, python, level));
    }
    if (to_number)
        strbuf_adds(out, is_bool(f) ? ")" : "))");
}

static void print_operator(struct strbuf *out, const struct formula *f,
                           const struct formula_scope *s, enum formula_use use)
{
    int level = precedence(f);
    if (level == 0 || needs_call(f, s->lang)) {
        print_call(out, f, s);
    } else if (level <= 4) {
        print_logic(out, f, s, use);
    } else if (str_eq(f->op, "neg")) {
        strbuf_addc(out, '-');
        operand(out, f->a, s, FORMULA_VALUE, level);
    } else {
        /* In Python a < b < c has another meaning than in C. So a comparison inside a comparison
         * gets parentheses. */
        operand(out, f->a, s, FORMULA_VALUE, level == 5 ? 5 : level - 1);
        strbuf_addf(out, " %s ",
                    str_eq(f->op, "real/")                         ? "/"
                    : s->lang == LANG_PYTHON && str_eq(f->op, "/") ? "//"
                                                                   : f->op);
        operand(out, f->b, s, FORMULA_VALUE, level);
    }
}

/* C computes small literals in 32 bits. If the result needs more, prints 64-bit literals. */
static void print_apply(struct strbuf *out, const struct formula *f, const struct formula_scope *s,
                        enum formula_use use)
{
    struct formula_scope wide = *s;
    if (!f->real && !has_name(f) && (f->hi > INT32_MAX || f->lo < INT32_MIN))
        wide.wide = true;
    print_operator(out, f, &wide, use);
}

static void print(struct strbuf *out, const struct formula *f, const struct formula_scope *s,
                  enum formula_use use)
{
    bool python = s->lang == LANG_PYTHON;
    switch (f->kind) {
    case FORMULA_NUMBER:
        strbuf_addf(out, !python && (s->wide || f->number > INT32_MAX) ? "INT64_C(%lld)" : "%lld",
                    (long long)f->number);
        break;
    case FORMULA_NAME:
        strbuf_adds(out, s->names[f->name]);
        break;
    case FORMULA_ALIGN:
        if (python)
            strbuf_addf(out, "align[\"%s\"]", f->tensor);
        else
            strbuf_addf(out, "alignment(args->%s%s)", f->tensor, name_suffix(LANG_C, f->tensor));
        break;
    case FORMULA_REAL:
        formula_real(out, f->value, s->lang);
        break;
    case FORMULA_REAL_NAME:
        strbuf_adds(out, s->reals[f->name]);
        break;
    case FORMULA_CHOOSE:
        operand(out, python ? f->b : f->a, s, python ? use : FORMULA_CONDITION, 1);
        strbuf_adds(out, python ? " if " : " ? ");
        operand(out, python ? f->a : f->b, s, python ? FORMULA_CONDITION : use, 1);
        strbuf_adds(out, python ? " else " : " : ");
        operand(out, f->c, s, use, 1);
        break;
    case FORMULA_APPLY:
        print_apply(out, f, s, use);
        break;
    }
}

void formula_real(struct strbuf *out, double v, enum export_lang lang)
{
    bool python = lang == LANG_PYTHON;
    char text[40];
    if (isnan(v)) {
        strbuf_adds(out, python ? "float(\"nan\")" : "(0.0 / 0.0)");
        return;
    }
    if (isinf(v)) {
        strbuf_adds(out, python ? (v > 0 ? "float(\"inf\")" : "float(\"-inf\")")
                                : (v > 0 ? "(1.0 / 0.0)" : "(-1.0 / 0.0)"));
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    strbuf_addf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

void formula_print(struct strbuf *out, const struct formula *f, const struct formula_scope *s,
                   enum formula_use use)
{
    print(out, f, s, use);
}
