#include "author/playbook_read.h"

#include <ctype.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "author/playbook_bind.h"
#include "author/playbook_functions.h"
#include "base/util.h"

enum { MAX_DEPTH = 64, MAX_ARGS = TORCH_MAX_ARGS };

#define INFINITE TORCH_INFINITE

/* ---- texts ----------------------------------------------------------------------------------- */

bool text_take(const char **s, const char *token)
{
    *s += strspn(*s, " \t\r\n");
    if (!str_starts(*s, token))
        return false;
    *s += strlen(token);
    return true;
}

size_t text_word(const char *s)
{
    size_t n = 0;
    if (isalpha((unsigned char)*s) || *s == '_')
        while (isalnum((unsigned char)s[n]) || s[n] == '_')
            n++;
    return n;
}

bool reader_refuse(struct reader *r, const char *what, const char *at, size_t len)
{
    if (!r->why->len)
        strbuf_addf(r->why, "its PyTorch expression has %s '%.*s', which a playbook cannot write",
                    what, (int)MIN(len, 40), at);
    return false;
}

void reader_blanks(struct reader *r)
{
    text_take(&r->s, "");
}

bool reader_take(struct reader *r, const char *token)
{
    return text_take(&r->s, token);
}

bool reader_ends(struct reader *r)
{
    reader_blanks(r);
    return !*r->s || reader_refuse(r, "something unexpected at", r->s, strlen(r->s));
}

bool text_is(const char *at, size_t len, const char *text)
{
    return strlen(text) == len && memcmp(at, text, len) == 0;
}

/* ---- types ----------------------------------------------------------------------------------- */

const char *torch_value_type(enum dtype t)
{
    static const char *const names[DT_COUNT] = {
        [DT_I64] = "int64_t",  [DT_I32] = "int32_t",  [DT_I16] = "int16_t",
        [DT_I8] = "int8_t",    [DT_U64] = "uint64_t", [DT_U32] = "uint32_t",
        [DT_U16] = "uint16_t", [DT_U8] = "uint8_t",   [DT_BOOL] = "bool"};
    return names[t] ? names[t] : "float";
}

static const struct {
    const char *name;
    enum dtype t;
} short_names[] = {{"float", DT_F32}, {"half", DT_F16}, {"double", DT_F64},
                   {"long", DT_I64},  {"int", DT_I32},  {"short", DT_I16}};

enum dtype torch_dtype(const char *name, size_t len)
{
    char text[24];
    for (size_t i = 0; i < ARRAY_LEN(short_names); i++)
        if (text_is(name, len, short_names[i].name))
            return short_names[i].t;
    snprintf(text, sizeof text, "%.*s", (int)MIN(len, sizeof text - 1), name);
    return dtype_from_name(text);
}

enum dtype torch_cast_method(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(short_names); i++)
        if (text_is(name, len, short_names[i].name))
            return short_names[i].t;
    return text_is(name, len, "bfloat16") ? DT_BF16
           : text_is(name, len, "bool")   ? DT_BOOL
                                          : DT_NONE;
}

static struct value_type type_of(enum dtype t, bool weak)
{
    enum value_kind kind = t == DT_BOOL ? VALUE_BOOL : dtype_is_float(t) ? VALUE_REAL : VALUE_WHOLE;
    return (struct value_type){kind, kind == VALUE_REAL ? DT_F32 : t, weak};
}

/* The type of what two values make together. */
static struct value_type promoted(struct value_type a, struct value_type b)
{
    struct value_type wide = a.kind > b.kind ? a : b;
    bool weak = a.weak && b.weak;
    if (a.kind == b.kind && a.weak != b.weak)
        wide = a.weak ? b : a;
    else if (a.kind == b.kind && dtype_bytes(a.dtype) > dtype_bytes(b.dtype))
        wide = a;
    else if ((a.dtype == DT_U8 && b.dtype == DT_I8) || (a.dtype == DT_I8 && b.dtype == DT_U8))
        wide.dtype = DT_I16;
    else if (wide.weak && !weak && wide.kind == VALUE_WHOLE)
        wide.dtype = DT_I64;
    wide.weak = weak;
    return wide;
}

/* A value as a float. */
static void add_real(const char *c, struct value_type type, struct strbuf *out)
{
    strbuf_addf(out, type.kind == VALUE_REAL ? "%s" : "float(%s)", c);
}

/* Written as C does: T(U(v)) may declare a function. */
static bool cast(struct reader *r, const char *c, enum dtype to, struct strbuf *out)
{
    struct value_type was = r->type;
    r->type = type_of(to, false);
    if (dtype_is_float(to) && dtype_bytes(to) < 4) /* it rounds */
        strbuf_addf(out, "float(%s{float(%s)})", c_type(to), c);
    else if (r->type.kind == VALUE_REAL && was.kind == VALUE_REAL)
        strbuf_adds(out, c);
    else if (r->type.kind == VALUE_BOOL)
        strbuf_addf(out, "(%s != 0)", c);
    else
        strbuf_addf(out, "(%s)(%s)", torch_value_type(to), c);
    return true;
}

/* ---- operators ------------------------------------------------------------------------------- */

struct operand {
    const char *c;
    struct value_type type;
};

static bool refuse_types(struct reader *r, const char *op)
{
    return reader_refuse(r, "values of these types at", op, strlen(op));
}

static bool on_bools(struct reader *r, const char *op, const char *a, const char *b,
                     struct strbuf *out)
{
    const char *c = strchr("+|", *op) ? "||" : strchr("*&", *op) ? "&&" : *op == '^' ? "!=" : NULL;
    if (!c)
        return refuse_types(r, op);
    strbuf_addf(out, "(%s %s %s)", a, c, b);
    return true;
}

/* Sums and products are of unsigned numbers: they wrap. */
static void on_wholes(const char *type, const char *op, const char *a, const char *b,
                      struct strbuf *out)
{
    if (strchr("+-*", *op))
        strbuf_addf(out, "%s(uint64_t(%s) %s uint64_t(%s))", type, a, op, b);
    else if (*op == '/' || *op == '%')
        strbuf_addf(out, "floor_%s<%s>(%s, %s)", *op == '/' ? "div" : "mod", type, a, b);
    else if (*op == '<')
        strbuf_addf(out, "%s(uint64_t(%s) << %s)", type, a, b);
    else
        strbuf_addf(out, "%s(%s %s %s)", type, a, op, b);
}

static bool is_comparison(const char *op)
{
    return strchr("=!", *op) || (strchr("<>", *op) && op[1] != *op);
}

static bool operate(struct reader *r, const char *op, struct operand a, struct operand b,
                    struct strbuf *out)
{
    struct value_type t = promoted(a.type, b.type);
    bool bits = strchr("&|^", *op) || str_eq(op, "<<") || str_eq(op, ">>");
    r->type = t;
    if (is_comparison(op)) {
        r->type = type_of(DT_BOOL, false);
        strbuf_addf(out, "(%s %s %s)", a.c, op, b.c);
    } else if (str_eq(op, "/") && t.kind != VALUE_REAL) {
        r->type = type_of(DT_F32, false);
        strbuf_addf(out, "(float(%s) / float(%s))", a.c, b.c);
    } else if (t.kind == VALUE_REAL) {
        if (bits)
            return refuse_types(r, op);
        if (str_eq(op, "//") || *op == '%')
            strbuf_addf(out, "floor_%s<float>(%s, %s)", *op == '/' ? "div" : "mod", a.c, b.c);
        else
            strbuf_addf(out, "(%s %s %s)", a.c, op, b.c);
    } else if (t.kind == VALUE_BOOL) {
        return on_bools(r, op, a.c, b.c, out);
    } else {
        on_wholes(torch_value_type(t.dtype), op, a.c, b.c, out);
    }
    return true;
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct call {
    const char *name;
    size_t len;
    struct strbuf args[MAX_ARGS];
    struct value_type types[MAX_ARGS];
    unsigned n;
    bool method, tanh; /* tanh: approximate='tanh' */
    bool max_only;     /* of a clamp */
};

static bool is_called(const struct call *c, const char *name)
{
    return text_is(c->name, c->len, name);
}

/* NAME=VALUE, at the place where the value may also stand without its name. */
static bool keyword(struct reader *r, struct call *c, const char *key, size_t len)
{
    static const struct {
        const char *name;
        unsigned place;
    } keys[] = {{"min", 1},   {"max", 2},   {"min_val", 1},  {"max_val", 2}, {"alpha", 1},
                {"other", 1}, {"value", 2}, {"exponent", 1}, {"mask", 1},    {"negative_slope", 1},
                {"end", 1},   {"weight", 2}};
    if (text_is(key, len, "max") && c->n == 1 && is_called(c, "clamp")) {
        c->max_only = true;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (text_is(key, len, keys[i].name) && keys[i].place == c->n)
            return true;
    return reader_refuse(r, "the option", key, len);
}

/* An option that is no value. */
static bool option(struct reader *r, struct call *c, const char *key, size_t len)
{
    if (text_is(key, len, "inplace"))
        return reader_take(r, "False"); /* True, where it is a value: playbook_changes.c */
    if (!text_is(key, len, "approximate") || !is_called(c, "gelu"))
        return false;
    c->tanh = reader_take(r, "'tanh'") || reader_take(r, "\"tanh\"");
    return c->tanh || reader_take(r, "'none'") || reader_take(r, "\"none\"");
}

/* What follows "(": arguments, then ")". A method's object is there already. */
static bool arguments(struct reader *r, struct call *c)
{
    if (reader_take(r, ")"))
        return true;
    do {
        reader_blanks(r);
        const char *key = r->s;
        size_t n = text_word(key);
        const char *eq = key + n + strspn(key + n, " ");
        if (n && *eq == '=' && eq[1] != '=') {
            r->s = eq + 1;
            if (option(r, c, key, n))
                continue;
            if (!keyword(r, c, key, n))
                return false;
        } else if (c->max_only) {
            return reader_refuse(r, "too many arguments at", key, strlen(key));
        }
        if (c->n == MAX_ARGS)
            return reader_refuse(r, "too many arguments at", key, strlen(key));
        if (!reader_expression(r, &c->args[c->n]))
            return false;
        c->types[c->n++] = r->type;
    } while (reader_take(r, ","));
    return reader_take(r, ")") || reader_refuse(r, "something unexpected at", r->s, strlen(r->s));
}

static void fill(const char *c, const struct strbuf *args, struct strbuf *out)
{
    for (; *c; c++) {
        if (*c == '$' && isdigit((unsigned char)c[1]))
            strbuf_adds(out, args[*++c - '0'].buf);
        else
            strbuf_addc(out, *c);
    }
}

static void make_real(struct call *c)
{
    for (unsigned i = 0; i < c->n; i++) {
        struct strbuf real = STRBUF_INIT(MAX_C);
        add_real(c->args[i].buf, c->types[i], &real);
        strbuf_release(&c->args[i]);
        c->args[i] = real;
    }
}

/* A function of one of the tables. */
static bool call_table(struct reader *r, struct call *c, struct strbuf *out)
{
    struct value_type all = c->n ? c->types[0] : type_of(DT_F32, true);
    for (unsigned i = 1; i < c->n; i++)
        all = promoted(all, c->types[i]);
    const struct torch_function *f = NULL;
    if (all.kind != VALUE_REAL)
        f = torch_function(OF_WHOLES, c->name, c->len, c->n);
    bool whole = f;
    if (!f && (f = torch_function(TESTS, c->name, c->len, c->n)))
        all = type_of(DT_BOOL, false);
    if (!f && (f = torch_function(OF_REALS, c->name, c->len, c->n))) {
        make_real(c);
        all = type_of(DT_F32, all.weak);
    }
    if (!f)
        return reader_refuse(r, "the function", c->name, c->len);
    for (unsigned k = c->n; k < f->most; k++)
        strbuf_adds(&c->args[k], f->defaults[k]);
    if (whole)
        strbuf_adds(out, torch_value_type(all.dtype));
    fill(f->c, c->args, out);
    r->type = all;
    return true;
}

/* where(c, a, b), a.where(c, b), a.masked_fill(c, b). */
static bool call_choice(struct reader *r, const struct call *c, struct strbuf *out)
{
    bool fill_in = is_called(c, "masked_fill");
    unsigned mask = fill_in || c->method ? 1 : 0, yes = fill_in ? 2 : !mask, no = fill_in ? 0 : 2;
    if (c->types[mask].kind != VALUE_BOOL)
        return reader_refuse(r, "a choice that is not by a bool in", c->name, c->len);
    if (fill_in && c->types[yes].kind > c->types[no].kind)
        return refuse_types(r, "masked_fill");
    r->type = promoted(c->types[yes], c->types[no]);
    strbuf_addf(out, "(%s ? %s : %s)", c->args[mask].buf, c->args[yes].buf, c->args[no].buf);
    return true;
}

static bool call_by_name(struct reader *r, struct call *c, struct strbuf *out)
{
    if (c->tanh)
        c->name = "gelu_tanh", c->len = strlen(c->name);
    if (c->max_only)
        c->name = "clamp_max", c->len = strlen(c->name);
    const char *op = c->n == 2 ? torch_operator(c->name, c->len) : NULL;
    if (op)
        return operate(r, op, (struct operand){c->args[0].buf, c->types[0]},
                       (struct operand){c->args[1].buf, c->types[1]}, out);
    if (c->n == 3 && (is_called(c, "where") || is_called(c, "masked_fill")))
        return call_choice(r, c, out);
    return call_table(r, c, out);
}

static enum dtype type_at(const struct torch_names *names, size_t i)
{
    return names->types ? names->types[i] : DT_F32;
}

/* .to(...), at what follows "(": a dtype, or a place, which changes nothing. */
static bool method_to(struct reader *r, const char *self, struct strbuf *out)
{
    const char *at = r->s;
    enum dtype t = DT_NONE;
    bool ok = false;
    if (reader_take(r, "dtype"))
        reader_take(r, "=");
    if (reader_take(r, "torch.")) {
        size_t n = text_word(r->s);
        t = torch_dtype(r->s, n);
        ok = t != DT_NONE;
        r->s += n;
    } else {
        reader_blanks(r);
        size_t n = text_word(r->s);
        for (size_t i = 0; i < r->names->tensors && !ok; i++)
            if (text_is(r->s, n, r->names->names[i])) {
                t = type_at(r->names, i);
                ok = true;
            }
        r->s += n;
        bool place = ok && reader_take(r, ".device");
        ok = place || (ok && reader_take(r, ".dtype"));
        t = place ? DT_NONE : t;
    }
    if (!ok || !reader_take(r, ")"))
        return reader_refuse(r, "a cast to", at, strcspn(at, ")"));
    if (t != DT_NONE)
        return cast(r, self, t, out);
    strbuf_adds(out, self);
    return true;
}

/* After "NAME(": the call's value. `self`, of type r->type, is a method's object. */
static bool call(struct reader *r, const char *name, size_t len, const char *self,
                 struct strbuf *out)
{
    struct call c = {.name = name, .len = len, .method = self != NULL};
    if (self && text_is(name, len, "to"))
        return method_to(r, self, out);
    if (self && torch_cast_method(name, len) != DT_NONE)
        return reader_take(r, ")") ? cast(r, self, torch_cast_method(name, len), out)
                                   : reader_refuse(r, "the function", name, len);
    if (self && text_is(name, len, "contiguous") && reader_take(r, ")")) {
        strbuf_adds(out, self);
        return true;
    }
    /* Of a function that is not known, the arguments say nothing. */
    if (!torch_knows(name, len) && !is_called(&c, "where") && !is_called(&c, "masked_fill"))
        return reader_refuse(r, "the function", name, len);
    for (unsigned i = 0; i < MAX_ARGS; i++)
        strbuf_init(&c.args[i], MAX_C);
    if (self) {
        strbuf_adds(&c.args[0], self);
        c.types[c.n++] = r->type;
    }
    bool ok = arguments(r, &c) && call_by_name(r, &c, out) && !out->truncated;
    for (unsigned i = 0; i < MAX_ARGS; i++)
        strbuf_release(&c.args[i]);
    return ok || reader_refuse(r, "the function", name, len);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Where all names are floats, so are all numbers. */
static bool all_real(const struct torch_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        if (!dtype_is_float(type_at(names, i)))
            return false;
    return true;
}

static bool number(struct reader *r, struct strbuf *out)
{
    char *end, text[40];
    double v = strtod(r->s, &end);
    size_t digits = strspn(r->s, "0123456789");
    if (end == r->s || text_word(end))
        return reader_refuse(r, "the number", r->s, 16);
    bool whole = r->s + digits == end && digits < 19 && !all_real(r->names);
    r->type = type_of(whole ? DT_I64 : DT_F32, true);
    snprintf(text, sizeof text, "%.9g", v);
    if (whole)
        strbuf_addf(out, "%lld", strtoll(r->s, NULL, 10));
    else if (v > (double)FLT_MAX)
        strbuf_adds(out, INFINITE);
    else
        strbuf_addf(out, "%s%sf", text, strpbrk(text, ".e") ? "" : ".");
    r->s = end;
    return true;
}

/* A name: an input, or a function with its modules before it. */
static bool name_or_call(struct reader *r, struct strbuf *out)
{
    static const struct {
        const char *torch, *c;
    } values[] = {{"float('inf')", INFINITE},      {"float(\"inf\")", INFINITE},
                  {"float('-inf')", "-" INFINITE}, {"float(\"-inf\")", "-" INFINITE},
                  {"torch.inf", INFINITE},         {"math.inf", INFINITE},
                  {"torch.pi", "3.14159265f"},     {"math.pi", "3.14159265f"}};
    static const char *const modules[] = {"torch.nn.functional.", "torch.special.", "torch.", "F."};
    size_t n = text_word(r->s);
    const char *at = r->s;
    for (size_t i = 0; i < r->names->n; i++)
        if (text_is(at, n, r->names->names[i])) {
            r->s += n;
            r->type = type_of(type_at(r->names, i), i >= r->names->tensors);
            strbuf_addf(out, "v%zu", i);
            return true;
        }
    r->type = type_of(DT_F32, true);
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        if (str_starts(at, values[i].torch) && !text_word(at + strlen(values[i].torch))) {
            r->s += strlen(values[i].torch);
            strbuf_adds(out, values[i].c);
            return true;
        }
    for (size_t i = 0; i < ARRAY_LEN(modules); i++)
        if (reader_take(r, modules[i])) {
            at = r->s;
            n = text_word(at);
            r->s += n;
            return reader_take(r, "(") ? call(r, at, n, NULL, out)
                                       : reader_refuse(r, "the name", at, n);
        }
    return reader_refuse(r, "the name", at, n ? n : 1);
}

bool reader_primary(struct reader *r, struct strbuf *out)
{
    struct strbuf self = STRBUF_INIT(MAX_C);
    bool ok, bare = false;
    reader_blanks(r);
    if (reader_take(r, "(")) {
        ok = reader_expression(r, &self) &&
             (reader_take(r, ")") || reader_refuse(r, "no ')' at", r->s, 16));
    } else if (r->gemm && reader_product(r, &self)) {
        ok = true;
        bare = r->bare;
    } else if (isdigit((unsigned char)*r->s) || *r->s == '.') {
        ok = number(r, &self);
    } else {
        ok = name_or_call(r, &self);
    }
    while (ok && reader_take(r, ".")) { /* methods */
        struct strbuf next = STRBUF_INIT(MAX_C);
        const char *at = r->s;
        size_t n = text_word(at);
        r->s += n;
        ok = reader_take(r, "(") ? call(r, at, n, self.buf, &next)
                                 : reader_refuse(r, "the attribute", at, n);
        strbuf_release(&self);
        self = next;
    }
    reader_blanks(r);
    if (ok && *r->s == '[')
        ok = reader_refuse(r, "an index", r->s, 16);
    if (ok)
        strbuf_addf(out, "(%s)", self.buf);
    r->bare = bare;
    strbuf_release(&self);
    return ok && !out->truncated;
}

static bool unary(struct reader *r, struct strbuf *out);

/* a ** b; small powers are products, and those of integers nothing else. */
static bool raise(struct reader *r, struct operand a, struct operand b, struct strbuf *out)
{
    bool square = str_eq(b.c, "(2.f)") || str_eq(b.c, "(2)");
    bool cube = str_eq(b.c, "(3.f)") || str_eq(b.c, "(3)");
    struct value_type t = promoted(a.type, b.type);
    if (t.kind != VALUE_REAL) {
        struct strbuf twice = STRBUF_INIT(MAX_C);
        bool ok = a.type.kind == VALUE_WHOLE && (square || cube) && operate(r, "*", a, a, &twice);
        if (ok && cube)
            ok = operate(r, "*", (struct operand){twice.buf, r->type}, a, out);
        else
            strbuf_adds(out, twice.buf);
        strbuf_release(&twice);
        return ok || refuse_types(r, "**");
    }
    r->type = t;
    if (square && a.type.kind == VALUE_REAL)
        strbuf_addf(out, "(%s * %s)", a.c, a.c);
    else if (cube && a.type.kind == VALUE_REAL)
        strbuf_addf(out, "(%s * %s * %s)", a.c, a.c, a.c);
    else
        strbuf_addf(out, "powf(%s, %s)", a.c, b.c);
    return true;
}

static bool power(struct reader *r, struct strbuf *out)
{
    struct strbuf a = STRBUF_INIT(MAX_C), b = STRBUF_INIT(MAX_C);
    bool ok = reader_primary(r, &a);
    struct value_type type = r->type;
    const char *at = r->s;
    if (ok && reader_take(r, "**")) {
        ok = unary(r, &b);
        if (ok && r->bare) /* a ** b @ c is (a ** b) @ c */
            ok = reader_refuse(r, "a product of an expression at", at, 16);
        ok = ok && raise(r, (struct operand){a.buf, type}, (struct operand){b.buf, r->type}, out);
    } else if (ok) {
        strbuf_adds(out, a.buf);
    }
    strbuf_release(&a);
    strbuf_release(&b);
    return ok && !out->truncated;
}

static bool negate(struct reader *r, char sign, const char *c, struct strbuf *out)
{
    bool whole = r->type.kind == VALUE_WHOLE;
    if (r->type.kind == (sign == '-' ? VALUE_BOOL : VALUE_REAL))
        return refuse_types(r, sign == '-' ? "-" : "~");
    if (sign == '-' && whole && !r->type.weak)
        strbuf_addf(out, "%s(0 - uint64_t(%s))", torch_value_type(r->type.dtype), c);
    else if (sign == '~' && whole)
        strbuf_addf(out, "%s(~%s)", torch_value_type(r->type.dtype), c);
    else
        strbuf_addf(out, sign == '-' ? "(-%s)" : "(!%s)", c);
    return true;
}

static bool unary(struct reader *r, struct strbuf *out)
{
    reader_blanks(r);
    if (++r->depth > MAX_DEPTH)
        return reader_refuse(r, "too deep a nesting at", r->s, 16);
    bool ok;
    char sign = *r->s;
    if (reader_take(r, "-") || reader_take(r, "~")) {
        struct strbuf c = STRBUF_INIT(MAX_C);
        ok = unary(r, &c) && negate(r, sign, c.buf, out);
        strbuf_release(&c);
    } else {
        ok = power(r, out);
    }
    r->depth--;
    return ok && !out->truncated;
}

/* Python's operators from the loosest on; longer tokens first. */
enum { LEVELS = 7, COMPARISONS = 0, PRODUCTS = 6 };
static const char *const levels[LEVELS][7] = {{"<=", ">=", "==", "!=", "<", ">", NULL},
                                              {"|", NULL},
                                              {"^", NULL},
                                              {"&", NULL},
                                              {"<<", ">>", NULL},
                                              {"+", "-", NULL},
                                              {"*", "//", "/", "%", NULL}};

static const char *take_operator(struct reader *r, unsigned level)
{
    reader_blanks(r);
    if (str_starts(r->s, "**"))
        return NULL;
    for (unsigned i = 0; levels[level][i]; i++)
        if (reader_take(r, levels[level][i]))
            return levels[level][i];
    return NULL;
}

static bool chain(struct reader *r, unsigned level, struct strbuf *out)
{
    if (level == LEVELS)
        return unary(r, out);
    struct strbuf left = STRBUF_INIT(MAX_C);
    bool ok = chain(r, level + 1, &left);
    struct value_type type = r->type;
    const char *op;
    for (unsigned n = 0; ok && (op = take_operator(r, level)); n++) {
        struct strbuf right = STRBUF_INIT(MAX_C), both = STRBUF_INIT(MAX_C);
        reader_blanks(r);
        const char *at = r->s;
        ok = chain(r, level + 1, &right);
        if (ok && level == PRODUCTS && r->bare) /* a * b @ c is (a * b) @ c */
            ok = reader_refuse(r, "a product of an expression at", at, 16);
        if (ok && level == COMPARISONS && n) /* a < b < c is (a < b) and (b < c) */
            ok = reader_refuse(r, "a chain of comparisons at", at, 16);
        ok = ok && operate(r, op, (struct operand){left.buf, type},
                           (struct operand){right.buf, r->type}, &both);
        type = r->type;
        strbuf_release(&left);
        strbuf_release(&right);
        left = both;
        ok = ok && !left.truncated;
    }
    strbuf_adds(out, left.buf);
    strbuf_release(&left);
    return ok && !out->truncated;
}

bool reader_expression(struct reader *r, struct strbuf *out)
{
    if (++r->depth > MAX_DEPTH)
        return reader_refuse(r, "too deep a nesting at", r->s, 16);
    bool ok = chain(r, 0, out);
    r->depth--;
    return ok;
}
