/*
 * dim.c - makes sizes in canonical form, and computes with them.
 *
 * A size is a sum of terms. A term is an integer factor times atoms. An atom is one of these:
 *   - a name
 *   - an operation that cannot be written as a sum ("/", "%", "min", ...)
 *   - a division a/b where a constraint says that b divides a
 *   - a whole expression, kept as text
 *
 * A size's key is its text with sorted terms and atoms, so equal sums have equal keys. If a sum or
 * product exceeds a cap below, or a factor overflows 64 bits, the operation becomes an atom.
 */
#include "graph/dim.h"

#include <stdlib.h>
#include <string.h>

#include "base/expr.h"
#include "base/strbuf.h"
#include "base/util.h"

/* The most terms in a sum, atoms in a term, and characters in a key. */
enum { MAX_TERMS = 24, MAX_ATOMS = 12, MAX_KEY = 4000 };

/* ATOM_EXACT is a division without remainder. */
enum atom_kind { ATOM_NAME, ATOM_APPLY, ATOM_TEXT, ATOM_EXACT };

struct atom {
    enum atom_kind kind;
    size_t name;             /* ATOM_NAME: index in the pool's names */
    const char *op;          /* ATOM_APPLY, ATOM_EXACT: "/", "min", ... */
    const struct dim *a, *b; /* the operands of `op`; b may be NULL */
    const struct expr *expr; /* ATOM_TEXT: the whole expression */
    const char *key;
};

struct dim_term {
    int64_t factor;
    size_t n;
    const struct atom *atoms[MAX_ATOMS];
};

struct sum {
    size_t n;
    struct dim_term terms[MAX_TERMS];
};

void dim_pool_init(struct dim_pool *p, struct arena *a, const char *const *names, size_t n)
{
    *p = (struct dim_pool){.arena = a, .names = names, .nnames = n};
    p->values = arena_alloc(a, (n + 1) * sizeof *p->values);
}

void dim_pool_release(struct dim_pool *p)
{
    vec_release(&p->all);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static bool is_one_factor(const struct dim *d)
{
    return d->is_number ? d->value >= 0
                        : d->n == 1 && d->terms[0].factor == 1 && d->terms[0].n == 1;
}

static const char *grouped(struct dim_pool *p, const struct dim *d)
{
    return is_one_factor(d) ? d->key : arena_printf(p->arena, "(%s)", d->key);
}

static const char *apply_key(struct dim_pool *p, const char *op, const struct dim *a,
                             const struct dim *b)
{
    if (!b)
        return arena_printf(p->arena, "%s(%s)", str_eq(op, "neg") ? "-" : op, a->key);
    bool function = op[0] >= 'a' && op[0] <= 'z';
    return function ? arena_printf(p->arena, "%s(%s,%s)", op, a->key, b->key)
                    : arena_printf(p->arena, "(%s%s%s)", grouped(p, a), op, grouped(p, b));
}

static void add_term(const struct dim_term *t, bool first, struct strbuf *out)
{
    if (t->factor < 0 || !first)
        strbuf_addc(out, t->factor < 0 ? '-' : '+');
    uint64_t size = t->factor < 0 ? -(uint64_t)t->factor : (uint64_t)t->factor;
    if (size != 1 || !t->n)
        strbuf_addf(out, "%llu%s", (unsigned long long)size, t->n ? "*" : "");
    for (size_t i = 0; i < t->n; i++)
        strbuf_addf(out, "%s%s", i ? "*" : "", t->atoms[i]->key);
}

static int by_key(const void *x, const void *y)
{
    const struct atom *a = *(const struct atom *const *)x, *b = *(const struct atom *const *)y;
    return strcmp(a->key, b->key);
}

/* Orders terms by their atoms. Terms with more atoms come first, so a plain number comes last. */
static int by_atoms(const void *x, const void *y)
{
    const struct dim_term *a = x, *b = y;
    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    for (size_t i = 0; i < a->n; i++) {
        int order = strcmp(a->atoms[i]->key, b->atoms[i]->key);
        if (order)
            return order;
    }
    return 0;
}

static const struct dim *fixed_of(struct dim_pool *p, const struct dim *d);

/* ---- the pool -------------------------------------------------------------------------------- */

/* Makes a key for a size whose own key would be too long. No plan can read it as an expression. */
static const char *unwritten_key(struct dim_pool *p)
{
    p->too_long = true;
    return arena_printf(p->arena, "#%zu", p->all.n);
}

bool dim_has_text(const struct dim *d)
{
    return !strchr(d->key, '#');
}

static const struct dim *interned(struct dim_pool *p, struct sum *s)
{
    struct strbuf key = STRBUF_INIT(1 << 16);
    size_t n = 0;
    qsort(s->terms, s->n, sizeof s->terms[0], by_atoms);
    for (size_t i = 0; i < s->n; i++)
        if (s->terms[i].factor)
            s->terms[n++] = s->terms[i];
    for (size_t i = 0; i < n; i++)
        add_term(&s->terms[i], i == 0, &key);
    if (!n)
        strbuf_adds(&key, "0");
    if (key.truncated) {
        strbuf_clear(&key);
        strbuf_adds(&key, unwritten_key(p));
    }
    for (size_t i = 0; i < p->all.n; i++)
        if (str_eq(p->all.items[i]->key, key.buf)) {
            strbuf_release(&key);
            return p->all.items[i];
        }
    struct dim *d = arena_alloc(p->arena, sizeof *d);
    struct dim_term *terms = arena_alloc(p->arena, (n ? n : 1) * sizeof *terms);
    memcpy(terms, s->terms, n * sizeof *terms);
    d->key = d->text = arena_strdup(p->arena, key.buf);
    if (!dim_has_text(d))
        d->text = "(a size too long to write)";
    d->terms = terms;
    d->n = n;
    d->is_number = !n || (n == 1 && !terms[0].n);
    d->value = d->is_number && n ? terms[0].factor : 0;
    *vec_push(&p->all) = d;
    strbuf_release(&key);
    d->fixed = fixed_of(p, d);
    return d;
}

static const struct dim *of_atom(struct dim_pool *p, const struct atom *a)
{
    struct sum s = {.n = 1, .terms = {{.factor = 1, .n = 1, .atoms = {a}}}};
    return interned(p, &s);
}

/* Returns the size that `op` gives for a and b, as a single atom. Its key has a cap, because each
 * level of nesting could double the length. */
static const struct dim *applied(struct dim_pool *p, const char *op, const struct dim *a,
                                 const struct dim *b)
{
    struct atom *t = arena_alloc(p->arena, sizeof *t);
    *t = (struct atom){.kind = ATOM_APPLY, .op = op, .a = a, .b = b};
    bool long_key = strlen(a->key) + (b ? strlen(b->key) : 0) > MAX_KEY;
    t->key = long_key ? unwritten_key(p) : apply_key(p, op, a, b);
    return of_atom(p, t);
}

const struct dim *dim_number(struct dim_pool *p, int64_t v)
{
    struct sum s = {.n = 1, .terms = {{.factor = v}}};
    return interned(p, &s);
}

const struct dim *dim_name(struct dim_pool *p, size_t i)
{
    struct atom *t = arena_alloc(p->arena, sizeof *t);
    *t = (struct atom){.kind = ATOM_NAME, .name = i, .key = p->names[i]};
    return of_atom(p, t);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static bool same_atoms(const struct dim_term *a, const struct dim_term *b)
{
    return by_atoms(a, b) == 0;
}

static bool sum_add(struct sum *s, const struct dim_term *t, int64_t factor)
{
    int64_t f;
    if (__builtin_mul_overflow(t->factor, factor, &f))
        return false;
    for (size_t i = 0; i < s->n; i++)
        if (same_atoms(&s->terms[i], t))
            return !__builtin_add_overflow(s->terms[i].factor, f, &s->terms[i].factor);
    if (s->n == MAX_TERMS)
        return false;
    s->terms[s->n] = *t;
    s->terms[s->n++].factor = f;
    return true;
}

static const struct dim *added(struct dim_pool *p, const struct dim *a, const struct dim *b,
                               int64_t factor)
{
    struct sum s = {.n = 0};
    bool ok = true;
    for (size_t i = 0; ok && i < a->n; i++)
        ok = sum_add(&s, &a->terms[i], 1);
    for (size_t i = 0; ok && i < b->n; i++)
        ok = sum_add(&s, &b->terms[i], factor);
    return ok ? interned(p, &s) : applied(p, factor < 0 ? "-" : "+", a, b);
}

const struct dim *dim_add(struct dim_pool *p, const struct dim *a, const struct dim *b)
{
    return added(p, a, b, 1);
}

const struct dim *dim_sub(struct dim_pool *p, const struct dim *a, const struct dim *b)
{
    return added(p, a, b, -1);
}

const struct dim *dim_mul(struct dim_pool *p, const struct dim *a, const struct dim *b)
{
    struct sum s = {.n = 0};
    bool ok = true;
    for (size_t i = 0; ok && i < a->n; i++)
        for (size_t k = 0; ok && k < b->n; k++) {
            const struct dim_term *x = &a->terms[i], *y = &b->terms[k];
            struct dim_term t = {.factor = x->factor, .n = x->n + y->n};
            if (t.n > MAX_ATOMS) {
                ok = false;
                break;
            }
            memcpy(t.atoms, x->atoms, x->n * sizeof *x->atoms);
            memcpy(t.atoms + x->n, y->atoms, y->n * sizeof *y->atoms);
            qsort(t.atoms, t.n, sizeof *t.atoms, by_key);
            ok = sum_add(&s, &t, y->factor);
        }
    return ok ? interned(p, &s) : applied(p, "*", a, b);
}

/* Sets *out to t / d. Returns false if there is a remainder. */
static bool divides(const struct dim_term *t, const struct dim_term *d, struct dim_term *out)
{
    size_t k = 0;
    if (!d->factor || (d->factor == -1 && t->factor == INT64_MIN) || t->factor % d->factor)
        return false;
    *out = (struct dim_term){.factor = t->factor / d->factor};
    for (size_t i = 0; i < t->n; i++) {
        if (k < d->n && str_eq(t->atoms[i]->key, d->atoms[k]->key))
            k++;
        else
            out->atoms[out->n++] = t->atoms[i];
    }
    return k == d->n;
}

static bool both_numbers(const struct dim *a, const struct dim *b)
{
    return a->is_number && b->is_number;
}

/* Divides t, a plain number, by `by`. Adds the quotient to *out, and the remainder to *rest. The
 * remainder is never negative. */
static void split_number(const struct dim_term *t, int64_t by, struct sum *out, struct sum *rest)
{
    int64_t q = t->factor / by, r = t->factor % by;
    if (r < 0) {
        q--;
        r += by;
    }
    sum_add(out, &(struct dim_term){.factor = q}, 1);
    sum_add(rest, &(struct dim_term){.factor = r}, 1);
}

static bool has_minus(const struct dim *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->terms[i].factor < 0)
            return true;
    return false;
}

/* Turns (x/k + m)/c, with numbers k, m and c, into (x + k*m)/(k*c). Returns NULL if a/b has
 * another form. */
static const struct dim *nested_div(struct dim_pool *p, const struct dim *a, const struct dim *b)
{
    const struct dim_term *division = NULL;
    int64_t m = 0, km, kc;
    for (size_t i = 0; i < a->n && a->n <= 2; i++)
        if (!a->terms[i].n)
            m = a->terms[i].factor;
        else if (a->terms[i].n == 1 && a->terms[i].factor == 1)
            division = &a->terms[i];
    const struct atom *t = division && a->n == (m ? 2u : 1u) ? division->atoms[0] : NULL;
    if (!t || t->kind != ATOM_APPLY || !str_eq(t->op, "/") || !t->b->is_number ||
        t->b->value <= 0 || !b->is_number || b->value <= 0 || m < 0 ||
        __builtin_mul_overflow(t->b->value, m, &km) ||
        __builtin_mul_overflow(t->b->value, b->value, &kc))
        return NULL;
    return dim_div(p, dim_add(p, t->a, dim_number(p, km)), dim_number(p, kc));
}

const struct dim *dim_div(struct dim_pool *p, const struct dim *a, const struct dim *b)
{
    if (both_numbers(a, b) && b->value && !(b->value == -1 && a->value == INT64_MIN))
        return dim_number(p, a->value / b->value);
    const struct dim *joined = nested_div(p, a, b);
    if (joined)
        return joined;
    if (b->n != 1)
        return applied(p, "/", a, b);
    struct sum out = {.n = 0}, rest = {.n = 0};
    bool ok = true;
    for (size_t i = 0; ok && i < a->n; i++) {
        struct dim_term t;
        if (divides(&a->terms[i], &b->terms[0], &t))
            ok = sum_add(&out, &t, 1);
        else if (b->is_number && b->value > 0 && !a->terms[i].n)
            split_number(&a->terms[i], b->value, &out, &rest);
        else
            ok = sum_add(&rest, &a->terms[i], 1);
    }
    if (!ok)
        return applied(p, "/", a, b);
    const struct dim *left = interned(p, &rest), *whole = interned(p, &out);
    if (has_minus(left) && !dim_is(whole, 0)) /* `left` may be negative even if `a` is not */
        return applied(p, "/", a, b);
    bool nothing = left->is_number && (dim_is(left, 0) || (b->is_number && left->value < b->value));
    if (nothing)
        return whole;
    /* dim_div() may find a simpler form of left / b (nested_div) */
    return dim_add(p, whole, left == a ? applied(p, "/", a, b) : dim_div(p, left, b));
}

const struct dim *dim_mod(struct dim_pool *p, const struct dim *a, const struct dim *b)
{
    if (both_numbers(a, b) && b->value && b->value != -1)
        return dim_number(p, a->value % b->value);
    return a == b ? dim_number(p, 0) : applied(p, "%", a, b);
}

const struct dim *dim_min(struct dim_pool *p, const struct dim *a, const struct dim *b)
{
    if (both_numbers(a, b))
        return a->value < b->value ? a : b;
    return a == b                       ? a
           : strcmp(a->key, b->key) < 0 ? applied(p, "min", a, b)
                                        : applied(p, "min", b, a);
}

const struct dim *dim_max(struct dim_pool *p, const struct dim *a, const struct dim *b)
{
    if (both_numbers(a, b))
        return a->value > b->value ? a : b;
    return a == b                       ? a
           : strcmp(a->key, b->key) < 0 ? applied(p, "max", a, b)
                                        : applied(p, "max", b, a);
}

const struct dim *dim_product(struct dim_pool *p, const struct dim *const *d, size_t n)
{
    const struct dim *all = dim_number(p, 1);
    for (size_t i = 0; i < n; i++)
        all = dim_mul(p, all, d[i]);
    return all;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void *fold_apply(void *ctx, const char *op, void *a, void *b);

/* Returns d with each defined name replaced by its definition. */
static const struct dim *fixed_of(struct dim_pool *p, const struct dim *d)
{
    const struct dim *sum = NULL;
    bool any = false;
    for (size_t i = 0; i < d->n && !any; i++)
        for (size_t k = 0; k < d->terms[i].n && !any; k++) {
            const struct atom *t = d->terms[i].atoms[k];
            any = t->kind == ATOM_NAME ? p->values[t->name] != NULL
                                       : t->kind == ATOM_APPLY &&
                                             (t->a->fixed != t->a || (t->b && t->b->fixed != t->b));
        }
    for (size_t i = 0; any && i < d->n; i++) {
        const struct dim *term = dim_number(p, d->terms[i].factor);
        for (size_t k = 0; k < d->terms[i].n; k++) {
            const struct atom *t = d->terms[i].atoms[k];
            const struct dim *v =
                t->kind == ATOM_NAME && p->values[t->name] ? p->values[t->name]
                : t->kind == ATOM_APPLY
                    ? fold_apply(p, t->op, (void *)t->a->fixed, t->b ? (void *)t->b->fixed : NULL)
                    : of_atom(p, t);
            term = dim_mul(p, term, v);
        }
        sum = sum ? dim_add(p, sum, term) : term;
    }
    return sum ? sum : d;
}

static void set_value(struct dim_pool *p, size_t i, const struct dim *d)
{
    p->values[i] = d;
    /* Two rounds: fixed_of() uses the `fixed` of operands, which may come later in the pool. */
    for (size_t round = 0; round < 2; round++)
        for (size_t k = 0; k < p->all.n; k++)
            p->all.items[k]->fixed = fixed_of(p, p->all.items[k]);
    for (size_t k = 0; k < p->nnames; k++)
        if (p->values[k])
            p->values[k] = p->values[k]->fixed;
}

bool dim_define(struct dim_pool *p, size_t i, const struct dim *d)
{
    if (p->values[i] || dim_uses(d->fixed, i))
        return false;
    set_value(p, i, d->fixed);
    return true;
}

static void *fold_number(void *ctx, int64_t v)
{
    return (void *)dim_number(ctx, v);
}

static void *fold_name(void *ctx, size_t i)
{
    return (void *)dim_name(ctx, i);
}

static void *fold_apply(void *ctx, const char *op, void *a, void *b)
{
    static const struct {
        const char *op;
        const struct dim *(*make)(struct dim_pool *, const struct dim *, const struct dim *);
    } makers[] = {{"+", dim_add}, {"-", dim_sub},   {"*", dim_mul},  {"/", dim_div},
                  {"%", dim_mod}, {"min", dim_min}, {"max", dim_max}};
    for (size_t i = 0; i < ARRAY_LEN(makers); i++)
        if (b && str_eq(makers[i].op, op))
            return (void *)makers[i].make(ctx, a, b);
    if (str_eq(op, "neg"))
        return (void *)dim_sub(ctx, dim_number(ctx, 0), a);
    return (void *)applied(ctx, op, a, b);
}

const struct dim *dim_parse(struct dim_pool *p, const char *text, struct err *err)
{
    struct expr *e = expr_parse(text, strlen(text), p->names, p->nnames, p->arena, NULL, err);
    if (!e)
        return NULL;
    if (expr_alignof_name(e, 0, NULL)) {
        err_set(err, ERR_INPUT, "a size cannot depend on alignof");
        return NULL;
    }
    size_t before = p->all.n;
    const struct dim *d =
        expr_fold(e, &(struct expr_fold){
                         .number = fold_number, .name = fold_name, .apply = fold_apply, .ctx = p});
    if (!d) { /* expr_fold() refuses the operators &&, || and ?: here */
        struct atom *t = arena_alloc(p->arena, sizeof *t);
        *t = (struct atom){.kind = ATOM_TEXT, .expr = e};
        t->key = arena_printf(p->arena, "(%s)", text);
        d = of_atom(p, t);
    }
    for (size_t i = before; i < p->all.n; i++)
        if (p->all.items[i] == d && !d->is_number)
            p->all.items[i]->text = arena_strdup(p->arena, text);
    return d;
}

bool dim_define_by(struct dim_pool *p, const char *constraint)
{
    const char *equals = strstr(constraint, "==");
    size_t n = equals ? (size_t)(equals - constraint) : 0;
    while (n && constraint[n - 1] == ' ')
        n--;
    if (!n || strpbrk(equals + 2, "=<>!&|?"))
        return false;
    for (size_t i = 0; i < p->nnames; i++) {
        if (strlen(p->names[i]) != n || memcmp(p->names[i], constraint, n) != 0)
            continue;
        const char *size = equals + 2;
        const struct dim *d = dim_parse(p, size + strspn(size, " "), NULL);
        return d && dim_define(p, i, d);
    }
    return false;
}

/* For "NAME" or "NAME + NUMBER", returns the name, and sets *rest to the number or 0. Otherwise
 * NULL. */
static const struct atom *name_and_number(const struct dim *d, int64_t *rest)
{
    const struct dim_term *t = d->terms;
    bool ok = d->n >= 1 && d->n <= 2 && t[0].factor == 1 && t[0].n == 1 &&
              t[0].atoms[0]->kind == ATOM_NAME && (d->n == 1 || t[1].n == 0);
    *rest = ok && d->n == 2 ? t[1].factor : 0;
    return ok ? t[0].atoms[0] : NULL;
}

bool dim_divide_by(struct dim_pool *p, const char *constraint)
{
    const char *equals = strstr(constraint, "==");
    const char *zero = equals ? equals + 2 + strspn(equals + 2, " ") : "";
    if (*zero != '0' || zero[1 + strspn(zero + 1, " ")])
        return false;
    const char *left = arena_printf(p->arena, "%.*s", (int)(equals - constraint), constraint);
    const struct dim *d = dim_parse(p, left, NULL);
    if (!d || d->n != 1 || d->terms[0].factor != 1 || d->terms[0].n != 1)
        return false;
    const struct atom *mod = d->terms[0].atoms[0];
    const struct dim *by = mod->kind == ATOM_APPLY && str_eq(mod->op, "%") ? mod->b->fixed : NULL;
    if (!by || !by->is_number || by->value < 2)
        return false;
    int64_t rest;
    const struct atom *name = name_and_number(mod->a, &rest);
    if (!name || p->values[name->name])
        return false;
    struct atom *exact = arena_alloc(p->arena, sizeof *exact);
    *exact = (struct atom){.kind = ATOM_EXACT, .op = "/", .a = mod->a, .b = by};
    exact->key = apply_key(p, "/", mod->a, by);
    const struct dim *whole = dim_mul(p, of_atom(p, exact), by);
    set_value(p, name->name, dim_sub(p, whole, dim_number(p, rest)));
    return true;
}

void dim_take_values(struct dim_pool *to, const struct dim_pool *from)
{
    for (size_t i = 0; i < from->nnames; i++) {
        const struct dim *d = from->values[i] ? dim_parse(to, from->values[i]->key, NULL) : NULL;
        if (d)
            set_value(to, i, d->fixed);
    }
}

/* ---- questions ------------------------------------------------------------------------------- */

bool dim_is(const struct dim *d, int64_t v)
{
    return d->is_number && d->value == v;
}

bool dim_same(const struct dim *a, const struct dim *b)
{
    return a == b || a->fixed == b->fixed;
}

static bool divide_values(const char *op, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (b == -1 && a == INT64_MIN))
        return false;
    int64_t up = a / b + (a % b > 0);
    *out = op[0] == '/' ? a / b : op[0] == '%' ? a % b : up;
    return op[0] != 'a' || !__builtin_mul_overflow(up, b, out);
}

static bool apply_values(const char *op, int64_t a, int64_t b, int64_t *out)
{
    bool divides_by = strchr("/%", op[0]) || str_eq(op, "cdiv") || str_eq(op, "align");
    if (divides_by)
        return divide_values(op, a, b, out);
    switch (op[0]) {
    case '+':
        return !__builtin_add_overflow(a, b, out);
    case '-':
        return !__builtin_sub_overflow(a, b, out);
    case '*':
        return !__builtin_mul_overflow(a, b, out);
    case '=':
        *out = a == b;
        return true;
    case '!':
        *out = op[1] ? a != b : !a;
        return true;
    case '<':
        *out = op[1] ? a <= b : a < b;
        return true;
    case '>':
        *out = op[1] ? a >= b : a > b;
        return true;
    case 'm':
        *out = str_eq(op, "min") ? MIN(a, b) : MAX(a, b);
        return true;
    default: /* pow2ceil */
        for (*out = 1; *out < a && *out < INT64_C(1) << 62;)
            *out *= 2;
        return *out >= a;
    }
}

static bool atom_eval(const struct atom *t, const int64_t *values, int64_t *out)
{
    int64_t a, b = 0;
    if (t->kind == ATOM_NAME) {
        *out = values[t->name];
        return true;
    }
    if (t->kind == ATOM_TEXT)
        return expr_eval(t->expr, &(struct expr_env){.values = values}, out, NULL) == 0;
    return dim_eval(t->a, values, &a) && (!t->b || dim_eval(t->b, values, &b)) &&
           apply_values(t->op, a, b, out);
}

bool dim_eval(const struct dim *d, const int64_t *values, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < d->n; i++) {
        int64_t v = d->terms[i].factor, a;
        for (size_t k = 0; k < d->terms[i].n; k++)
            if (!atom_eval(d->terms[i].atoms[k], values, &a) || __builtin_mul_overflow(v, a, &v))
                return false;
        if (__builtin_add_overflow(*out, v, out))
            return false;
    }
    return true;
}

static bool atom_uses(const struct atom *t, size_t i)
{
    return t->kind == ATOM_NAME   ? t->name == i
           : t->kind == ATOM_TEXT ? expr_uses(t->expr, i)
                                  : dim_uses(t->a, i) || (t->b && dim_uses(t->b, i));
}

bool dim_uses(const struct dim *d, size_t i)
{
    for (size_t k = 0; k < d->n; k++)
        for (size_t j = 0; j < d->terms[k].n; j++)
            if (atom_uses(d->terms[k].atoms[j], i))
                return true;
    return false;
}
