/*
 * numbers.c - computes with numbers that are known while an expression is read, by Python's rules.
 */
#include "torch/numbers.h"

#include <math.h>
#include <string.h>

#include "base/util.h"

static int give(struct object o, struct object *out)
{
    *out = o;
    return 1;
}

static int too_large(struct build *b)
{
    refuse(b, "the number does not fit 64 bits");
    return -1;
}

static int by_zero(struct build *b)
{
    refuse(b, "a division by zero");
    return -1;
}

static bool is_comparison(const char *op)
{
    return strchr("=!", *op) || (strchr("<>", *op) && op[1] != *op);
}

static bool compare(const char *op, double a, double c)
{
    return str_eq(op, "==")   ? a == c
           : str_eq(op, "!=") ? a != c
           : str_eq(op, "<")  ? a < c
           : str_eq(op, "<=") ? a <= c
           : str_eq(op, ">")  ? a > c
                              : a >= c;
}

static int whole_power(struct build *b, int64_t a, int64_t n, struct object *out)
{
    int64_t v = 1;
    if (n < 0)
        return a ? give(obj_float(pow((double)a, (double)n)), out) : by_zero(b);
    if (a == 0 || a == 1 || a == -1)
        return give(obj_number(b, !n || a == 1 ? 1 : !a ? 0 : n % 2 ? -1 : 1), out);
    for (int64_t i = 0; i < n; i++)
        if (__builtin_mul_overflow(v, a, &v))
            return too_large(b);
    return give(obj_number(b, v), out);
}

/* Rounds down, as Python does. */
static int64_t floor_div(int64_t a, int64_t c)
{
    return a / c - (a % c != 0 && (a < 0) != (c < 0));
}

static int on_wholes(struct build *b, const char *op, int64_t a, int64_t c, struct object *out)
{
    int64_t v = 0;
    bool over = false;
    if (str_eq(op, "**"))
        return whole_power(b, a, c, out);
    bool divides = *op == '/' || *op == '%';
    if (divides && !c)
        return by_zero(b);
    if (divides && c == -1 && a == INT64_MIN)
        return too_large(b);
    if (str_eq(op, "/"))
        return give(obj_float((double)a / (double)c), out);
    if ((str_eq(op, "<<") || str_eq(op, ">>")) && (c < 0 || c > 62))
        return too_large(b);
    if (*op == '+')
        over = __builtin_add_overflow(a, c, &v);
    else if (*op == '-')
        over = __builtin_sub_overflow(a, c, &v);
    else if (*op == '*')
        over = __builtin_mul_overflow(a, c, &v);
    else if (*op == '/')
        v = floor_div(a, c);
    else if (*op == '%')
        v = a - floor_div(a, c) * c;
    else if (*op == '<')
        over = __builtin_mul_overflow(a, INT64_C(1) << c, &v);
    else
        v = *op == '>' ? a >> c : *op == '&' ? a & c : *op == '|' ? a | c : a ^ c;
    return over ? too_large(b) : give(obj_number(b, v), out);
}

static int on_reals(struct build *b, const char *op, double a, double c, struct object *out)
{
    double v;
    if ((*op == '/' || *op == '%') && c == 0)
        return by_zero(b);
    if (strchr("<>&|^@", *op)) {
        refuse(b, "'%s' does not take floats", op);
        return -1;
    }
    v = str_eq(op, "**")   ? pow(a, c)
        : str_eq(op, "//") ? floor(a / c)
        : *op == '+'       ? a + c
        : *op == '-'       ? a - c
        : *op == '*'       ? a * c
        : *op == '/'       ? a / c
                           : a - c * floor(a / c);
    if (isnan(v)) {
        refuse(b, "the result of '%s' is not a number", op);
        return -1;
    }
    return give(obj_float(v), out);
}

/* Computes with sizes: their sums, products, quotients and small powers are sizes again. Returns 1,
 * 0 or -1, as number_binary() does. */
static int on_sizes(struct build *b, const char *op, const struct dim *a, const struct dim *c,
                    struct object *out)
{
    struct dim_pool *p = &b->g->dims;
    bool divides = str_eq(op, "//") || *op == '%';
    if (divides && dim_is(c, 0))
        return by_zero(b);
    if (divides && ((a->is_number && a->value < 0) || (c->is_number && c->value < 0)))
        return 0; /* division of sizes rounds towards zero, but Python rounds down */
    if (*op == '+')
        return give(obj_int(dim_add(p, a, c)), out);
    if (*op == '-')
        return give(obj_int(dim_sub(p, a, c)), out);
    if (str_eq(op, "*"))
        return give(obj_int(dim_mul(p, a, c)), out);
    if (str_eq(op, "//"))
        return give(obj_int(dim_div(p, a, c)), out);
    if (*op == '%')
        return give(obj_int(dim_mod(p, a, c)), out);
    if (str_eq(op, "**") && c->is_number && c->value >= 0 && c->value <= 8) {
        const struct dim *v = dim_number(p, 1);
        for (int64_t i = 0; i < c->value; i++)
            v = dim_mul(p, v, a);
        return give(obj_int(v), out);
    }
    if (str_eq(op, "==") && a == c)
        return give(obj_bool(true), out);
    return 0;
}

int number_binary(struct build *b, const char *op, const struct object *l, const struct object *r,
                  struct object *out)
{
    int64_t a, c;
    double x, y;
    bool whole = obj_whole(l, &a) && obj_whole(r, &c);
    if (*op == '@') {
        refuse(b, "'@' takes tensors");
        return -1;
    }
    if (is_comparison(op) && whole)
        return give(obj_bool(compare(op, a < c ? 0 : a > c ? 2 : 1, 1)), out);
    if (is_comparison(op) && obj_real(l, &x) && obj_real(r, &y))
        return give(obj_bool(compare(op, x, y)), out);
    if (whole)
        return on_wholes(b, op, a, c, out);
    if (obj_real(l, &x) && obj_real(r, &y))
        return on_reals(b, op, x, y, out);
    if (l->kind == OBJ_FLOAT || r->kind == OBJ_FLOAT)
        return 0;
    const struct dim *p = need_dim(b, l, op), *q = need_dim(b, r, op);
    return p && q ? on_sizes(b, op, p, q, out) : -1;
}

int number_unary(struct build *b, const char *op, const struct object *a, struct object *out)
{
    struct dim_pool *p = &b->g->dims;
    int64_t v;
    if (a->kind == OBJ_FLOAT && *op == '-')
        return give(obj_float(-a->real), out);
    if (a->kind == OBJ_FLOAT) {
        refuse(b, "'~' does not take floats");
        return -1;
    }
    if (obj_whole(a, &v) && *op == '~')
        return give(obj_number(b, ~v), out);
    if (obj_whole(a, &v))
        return v == INT64_MIN ? too_large(b) : give(obj_number(b, -v), out);
    return *op == '-' ? give(obj_int(dim_sub(p, dim_number(p, 0), a->dim)), out) : 0;
}

int number_function(struct build *b, const char *name, const struct object *args, size_t n,
                    struct object *out)
{
    static const struct {
        const char *name;
        double (*f)(double);
    } functions[] = {{"sqrt", sqrt},   {"exp", exp}, {"log", log},     {"log2", log2},
                     {"log10", log10}, {"sin", sin}, {"cos", cos},     {"tan", tan},
                     {"tanh", tanh},   {"erf", erf}, {"log1p", log1p}, {"expm1", expm1},
                     {"fabs", fabs},   {"abs", fabs}};
    double x, y;
    if (n == 2 && str_eq(name, "pow") && obj_real(&args[0], &x) && obj_real(&args[1], &y))
        return on_reals(b, "**", x, y, out);
    if (n != 1 || !obj_real(&args[0], &x))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (str_eq(functions[i].name, name)) {
            double v = functions[i].f(x);
            if (isnan(v)) {
                refuse(b, "math.%s(%g) is not a number", name, x);
                return -1;
            }
            return give(obj_float(v), out);
        }
    return 0;
}
