#include "author/playbook_torch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { MAX_DEPTH = 64, MAX_ARGS = 4, MAX_C = 16 << 10 };

/* $0, $1, ... are the arguments; absent ones take the defaults, in order. */
struct function {
    const char *name;
    unsigned least, most;
    const char *c;
    const char *defaults[MAX_ARGS];
};

static const struct function functions[] = {
    {"abs", 1, 1, "fabsf($0)", {0}},
    {"acos", 1, 1, "acosf($0)", {0}},
    {"add", 2, 2, "($0 + $1)", {0}},
    {"asin", 1, 1, "asinf($0)", {0}},
    {"atan", 1, 1, "atanf($0)", {0}},
    {"atan2", 2, 2, "atan2f($0, $1)", {0}},
    {"ceil", 1, 1, "ceilf($0)", {0}},
    {"clamp", 2, 3, "fminf(fmaxf($0, $1), $2)", {0, 0, "__int_as_float(0x7f800000)"}},
    {"clamp_max", 2, 2, "fminf($0, $1)", {0}},
    {"clamp_min", 2, 2, "fmaxf($0, $1)", {0}},
    {"cos", 1, 1, "cosf($0)", {0}},
    {"cosh", 1, 1, "coshf($0)", {0}},
    {"div", 2, 2, "($0 / $1)", {0}},
    {"elu", 1, 2, "($0 > 0.f ? $0 : $1 * expm1f($0))", {0, "1.f"}},
    {"erf", 1, 1, "erff($0)", {0}},
    {"erfc", 1, 1, "erfcf($0)", {0}},
    {"exp", 1, 1, "expf($0)", {0}},
    {"exp2", 1, 1, "exp2f($0)", {0}},
    {"expm1", 1, 1, "expm1f($0)", {0}},
    {"float", 1, 1, "($0)", {0}},
    {"floor", 1, 1, "floorf($0)", {0}},
    {"gelu", 1, 1, "(0.5f * $0 * (1.f + erff(0.70710678118654752f * $0)))", {0}},
    {"gelu_tanh",
     1,
     1,
     "(0.5f * $0 * (1.f + tanhf(0.79788456080286536f * ($0 + 0.044715f * $0 * $0 * $0))))",
     {0}},
    {"hardsigmoid", 1, 1, "fminf(fmaxf($0 / 6.f + 0.5f, 0.f), 1.f)", {0}},
    {"hardswish", 1, 1, "($0 * fminf(fmaxf($0 + 3.f, 0.f), 6.f) / 6.f)", {0}},
    {"hardtanh", 1, 3, "fminf(fmaxf($0, $1), $2)", {0, "-1.f", "1.f"}},
    {"leaky_relu", 1, 2, "($0 > 0.f ? $0 : $1 * $0)", {0, "0.01f"}},
    {"lerp", 3, 3, "($0 + $2 * ($1 - $0))", {0}},
    {"log", 1, 1, "logf($0)", {0}},
    {"log10", 1, 1, "log10f($0)", {0}},
    {"log1p", 1, 1, "log1pf($0)", {0}},
    {"log2", 1, 1, "log2f($0)", {0}},
    {"logsigmoid", 1, 1, "(fminf($0, 0.f) - log1pf(expf(-fabsf($0))))", {0}},
    {"masked_fill", 3, 3, "($1 ? $2 : $0)", {0}},
    {"maximum", 2, 2, "fmaxf($0, $1)", {0}},
    {"minimum", 2, 2, "fminf($0, $1)", {0}},
    {"mish", 1, 1, "($0 * tanhf($0 > 20.f ? $0 : log1pf(expf($0))))", {0}},
    {"mul", 2, 2, "($0 * $1)", {0}},
    {"neg", 1, 1, "(-$0)", {0}},
    {"pow", 2, 2, "powf($0, $1)", {0}},
    {"reciprocal", 1, 1, "(1.f / $0)", {0}},
    {"relu", 1, 1, "($0 > 0.f ? $0 : ($0 == $0 ? 0.f : $0))", {0}},
    {"relu6", 1, 1, "fminf(fmaxf($0, 0.f), 6.f)", {0}},
    {"round", 1, 1, "rintf($0)", {0}},
    {"rsqrt", 1, 1, "rsqrtf($0)", {0}},
    {"selu",
     1,
     1,
     "(1.0507009873554805f * ($0 > 0.f ? $0 : 1.6732632423543772f * expm1f($0)))",
     {0}},
    {"sigmoid", 1, 1, "(1.f / (1.f + expf(-$0)))", {0}},
    {"sign", 1, 1, "(float($0 > 0.f) - float($0 < 0.f))", {0}},
    {"silu", 1, 1, "($0 / (1.f + expf(-$0)))", {0}},
    {"sin", 1, 1, "sinf($0)", {0}},
    {"sinh", 1, 1, "sinhf($0)", {0}},
    {"softplus", 1, 1, "($0 > 20.f ? $0 : log1pf(expf($0)))", {0}},
    {"softsign", 1, 1, "($0 / (1.f + fabsf($0)))", {0}},
    {"sqrt", 1, 1, "sqrtf($0)", {0}},
    {"square", 1, 1, "($0 * $0)", {0}},
    {"sub", 2, 2, "($0 - $1)", {0}},
    {"tan", 1, 1, "tanf($0)", {0}},
    {"tanh", 1, 1, "tanhf($0)", {0}},
    {"trunc", 1, 1, "truncf($0)", {0}},
    {"where", 3, 3, "($0 ? $1 : $2)", {0}},
};

struct reader {
    const char *s;
    const char *const *names;
    size_t n;
    unsigned depth;
    struct strbuf *why;
    struct torch_gemm *gemm; /* one product of matrices may stand for a value; NULL = none may */
    const char *bare;        /* where it stands, if `@` wrote it */
};

static bool refuse(struct reader *r, const char *what, const char *at, size_t len)
{
    if (!r->why->len)
        strbuf_addf(r->why, "its PyTorch expression has %s '%.*s', which a playbook cannot write",
                    what, (int)MIN(len, 40), at);
    return false;
}

static void blanks(struct reader *r)
{
    r->s += strspn(r->s, " \t\r\n");
}

static bool take(struct reader *r, const char *token)
{
    blanks(r);
    size_t n = strlen(token);
    if (strncmp(r->s, token, n) != 0)
        return false;
    r->s += n;
    return true;
}

static size_t word(const char *s)
{
    size_t n = 0;
    if (isalpha((unsigned char)*s) || *s == '_')
        while (isalnum((unsigned char)s[n]) || s[n] == '_')
            n++;
    return n;
}

static bool expression(struct reader *r, struct strbuf *out);

static void fill(const char *c, struct strbuf *args, struct strbuf *out)
{
    for (; *c; c++) {
        if (*c == '$' && isdigit((unsigned char)c[1]))
            strbuf_adds(out, args[*++c - '0'].buf);
        else
            strbuf_addc(out, *c);
    }
}

/* What follows "(": arguments, then ")". args[0..have) are there already (a method's object). */
static bool arguments(struct reader *r, struct strbuf *args, unsigned *have, bool *is_tanh)
{
    if (take(r, ")"))
        return true;
    do {
        blanks(r);
        size_t n = word(r->s);
        const char *key = r->s;
        const char *eq = r->s + n + strspn(r->s + n, " ");
        if (n && *eq == '=' && eq[1] != '=') {
            r->s = eq + 1;
            if (n == 11 && memcmp(key, "approximate", 11) == 0) {
                *is_tanh = take(r, "'tanh'") || take(r, "\"tanh\"");
                if (*is_tanh || take(r, "'none'") || take(r, "\"none\""))
                    continue;
                return refuse(r, "the option", key, n);
            }
            bool known = (n == 3 && (!memcmp(key, "min", 3) || !memcmp(key, "max", 3))) ||
                         (n == 5 && !memcmp(key, "alpha", 5)) ||
                         (n == 14 && !memcmp(key, "negative_slope", 14));
            if (!known || (n == 3 && key[1] == 'a' && *have < 2))
                return refuse(r, "the option", key, n);
        }
        if (*have == MAX_ARGS)
            return refuse(r, "too many arguments at", key, strlen(key));
        if (!expression(r, &args[(*have)++]))
            return false;
    } while (take(r, ","));
    return take(r, ")") || refuse(r, "something unexpected at", r->s, strlen(r->s));
}

static bool call(struct reader *r, const char *name, size_t len, const char *self,
                 struct strbuf *out)
{
    struct strbuf args[MAX_ARGS];
    unsigned have = 0;
    bool is_tanh = false, ok = false;
    for (unsigned i = 0; i < MAX_ARGS; i++)
        strbuf_init(&args[i], MAX_C);
    if (self)
        strbuf_adds(&args[have++], self);
    if (self && len == 2 && memcmp(name, "to", 2) == 0) { /* only the dtype changes */
        size_t skip = strcspn(r->s, ")");
        ok = r->s[skip] && !memchr(r->s, '(', skip);
        r->s += ok ? skip + 1 : 0;
        strbuf_adds(out, self);
    } else if (arguments(r, args, &have, &is_tanh)) {
        if (is_tanh)
            name = "gelu_tanh", len = 9;
        for (size_t i = 0; i < ARRAY_LEN(functions) && !ok; i++) {
            const struct function *f = &functions[i];
            if (strlen(f->name) != len || memcmp(f->name, name, len) != 0)
                continue;
            if (have < f->least || have > f->most)
                break;
            for (unsigned k = have; k < f->most; k++)
                strbuf_adds(&args[k], f->defaults[k]);
            fill(f->c, args, out);
            ok = !out->truncated;
        }
    }
    for (unsigned i = 0; i < MAX_ARGS; i++)
        strbuf_release(&args[i]);
    return ok || refuse(r, "the function", name, len);
}

static bool number(struct reader *r, struct strbuf *out)
{
    char *end;
    double v = strtod(r->s, &end);
    if (end == r->s || word(end))
        return refuse(r, "the number", r->s, 16);
    char text[40];
    snprintf(text, sizeof text, "%.9g", v);
    strbuf_addf(out, "%s%sf", text, strpbrk(text, ".e") ? "" : ".");
    r->s = end;
    return true;
}

/* ---- a product of matrices -------------------------------------------------------------------
 */

/* An input, perhaps transposed (its last two axes); casts do not matter. */
static bool matrix(struct reader *r, size_t *input, bool *transposed)
{
    static const char *const turns[] = {".T", ".mT", ".t()"};
    static const char *const casts[] = {".float()", ".half()", ".bfloat16()", ".contiguous()"};
    blanks(r);
    size_t n = word(r->s), i = 0;
    while (i < r->n && (strlen(r->names[i]) != n || memcmp(r->names[i], r->s, n) != 0))
        i++;
    if (!n || i == r->n)
        return false;
    r->s += n;
    *input = i;
    for (bool more = true; more;) {
        more = false;
        for (size_t k = 0; k < ARRAY_LEN(casts) && !more; k++)
            more = take(r, casts[k]);
        for (size_t k = 0; k < ARRAY_LEN(turns) && !more; k++)
            if (take(r, turns[k]) && !word(r->s)) {
                *transposed = !*transposed;
                more = true;
            }
        int a = 0, b = 0, len = 0;
        if (!more && sscanf(r->s, ".transpose( %d , %d )%n", &a, &b, &len) == 2 && len) {
            int low = MIN(a, b), high = MAX(a, b);
            if (!(low == -2 && high == -1) && !(low >= 0 && high == low + 1))
                return false;
            r->gemm->turned_axis = low >= 0 ? high : r->gemm->turned_axis;
            *transposed = !*transposed;
            r->s += len;
            more = true;
        }
    }
    return true;
}

/* Is a product of two inputs here? It reads as `v`, or `v` and a bias. If not, nothing is read. */
static bool product(struct reader *r, struct strbuf *out)
{
    static const char *const calls[] = {"torch.matmul(", "torch.mm(", "torch.bmm("};
    static const char *const linears[] = {"torch.nn.functional.linear(", "F.linear("};
    struct reader start = *r;
    struct torch_gemm g = *r->gemm;
    bool call = false, linear = false, ok;
    for (size_t i = 0; i < ARRAY_LEN(calls) && !call; i++)
        call = take(r, calls[i]);
    for (size_t i = 0; i < ARRAY_LEN(linears) && !call; i++)
        call = linear = take(r, linears[i]);
    g.a_turned = g.b_turned = false;
    ok = !g.found && matrix(r, &g.a, &g.a_turned) && take(r, call ? "," : "@") &&
         matrix(r, &g.b, &g.b_turned);
    g.b_turned ^= linear;
    struct strbuf bias = STRBUF_INIT(MAX_C);
    if (ok && linear && take(r, ",")) {
        take(r, "bias=");
        ok = expression(r, &bias);
    }
    if (call)
        ok = ok && take(r, ")");
    else if (ok && (take(r, "**") || take(r, ".") || take(r, "[") || take(r, "@")))
        ok = false;
    if (ok) {
        g.found = true;
        g.turned_axis = r->gemm->turned_axis;
        *r->gemm = g;
        r->bare = call ? NULL : start.s;
        strbuf_addf(out, bias.len ? "(v + %s)" : "v", bias.buf);
    } else {
        *r = start;
    }
    strbuf_release(&bias);
    return ok;
}

/* A name: an input, or a function with its modules before it. */
static bool name_or_call(struct reader *r, struct strbuf *out)
{
    size_t n = word(r->s);
    const char *at = r->s;
    for (size_t i = 0; i < r->n; i++)
        if (strlen(r->names[i]) == n && memcmp(r->names[i], at, n) == 0) {
            r->s += n;
            strbuf_addf(out, "v%zu", i);
            return true;
        }
    static const struct {
        const char *torch, *c;
    } values[] = {{"float('inf')", "__int_as_float(0x7f800000)"},
                  {"float(\"inf\")", "__int_as_float(0x7f800000)"},
                  {"float('-inf')", "-__int_as_float(0x7f800000)"},
                  {"float(\"-inf\")", "-__int_as_float(0x7f800000)"},
                  {"torch.inf", "__int_as_float(0x7f800000)"},
                  {"math.inf", "__int_as_float(0x7f800000)"},
                  {"torch.pi", "3.14159265f"},
                  {"math.pi", "3.14159265f"}};
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        if (take(r, values[i].torch)) {
            strbuf_adds(out, values[i].c);
            return true;
        }
    static const char *const modules[] = {"torch.nn.functional.", "torch.special.", "torch.", "F."};
    for (size_t i = 0; i < ARRAY_LEN(modules); i++)
        if (take(r, modules[i])) {
            at = r->s;
            n = word(at);
            r->s += n;
            return take(r, "(") ? call(r, at, n, NULL, out) : refuse(r, "the name", at, n);
        }
    return refuse(r, "the name", at, n ? n : 1);
}

static bool primary(struct reader *r, struct strbuf *out)
{
    struct strbuf self = STRBUF_INIT(MAX_C);
    bool ok;
    blanks(r);
    if (take(r, "("))
        ok = expression(r, &self) && (take(r, ")") || refuse(r, "no ')' at", r->s, 16));
    else if (r->gemm && product(r, &self))
        ok = true;
    else if (isdigit((unsigned char)*r->s) || *r->s == '.')
        ok = number(r, &self);
    else
        ok = name_or_call(r, &self);
    while (ok && take(r, ".")) { /* methods */
        struct strbuf next = STRBUF_INIT(MAX_C);
        const char *at = r->s;
        size_t n = word(at);
        r->s += n;
        ok = take(r, "(") ? call(r, at, n, self.buf, &next) : refuse(r, "the attribute", at, n);
        strbuf_release(&self);
        self = next;
    }
    blanks(r);
    if (ok && *r->s == '[')
        ok = refuse(r, "an index", r->s, 16);
    if (ok)
        strbuf_addf(out, "(%s)", self.buf);
    strbuf_release(&self);
    return ok && !out->truncated;
}

static bool unary(struct reader *r, struct strbuf *out);

static bool power(struct reader *r, struct strbuf *out)
{
    struct strbuf a = STRBUF_INIT(MAX_C), b = STRBUF_INIT(MAX_C);
    bool ok = primary(r, &a);
    if (ok && take(r, "**")) {
        ok = unary(r, &b);
        if (strcmp(b.buf, "(2.f)") == 0)
            strbuf_addf(out, "(%s * %s)", a.buf, a.buf);
        else if (strcmp(b.buf, "(3.f)") == 0)
            strbuf_addf(out, "(%s * %s * %s)", a.buf, a.buf, a.buf);
        else
            strbuf_addf(out, "powf(%s, %s)", a.buf, b.buf);
    } else if (ok) {
        strbuf_adds(out, a.buf);
    }
    strbuf_release(&a);
    strbuf_release(&b);
    return ok && !out->truncated;
}

static bool unary(struct reader *r, struct strbuf *out)
{
    blanks(r);
    if (++r->depth > MAX_DEPTH)
        return refuse(r, "too deep a nesting at", r->s, 16);
    bool minus = take(r, "-"), nots = !minus && take(r, "~"), ok;
    if (minus || nots)
        strbuf_adds(out, minus ? "(-" : "(!");
    ok = minus || nots ? unary(r, out) : power(r, out);
    if (minus || nots)
        strbuf_adds(out, ")");
    r->depth--;
    return ok;
}

/* Left-associative operators of one precedence; longer tokens first. */
static bool chain(struct reader *r, unsigned level, struct strbuf *out)
{
    static const char *const levels[3][7] = {
        {"<=", ">=", "==", "!=", "<", ">", NULL}, {"+", "-", NULL}, {"*", "/", NULL}};
    if (level == 3)
        return unary(r, out);
    struct strbuf left = STRBUF_INIT(MAX_C);
    bool ok = chain(r, level + 1, &left), more = ok;
    while (more) {
        more = false;
        blanks(r);
        for (unsigned i = 0; levels[level][i] && !more; i++) {
            const char *op = levels[level][i];
            if (strncmp(r->s, "**", 2) == 0 || strncmp(r->s, "//", 2) == 0 || !take(r, op))
                continue;
            struct strbuf right = STRBUF_INIT(MAX_C), both = STRBUF_INIT(MAX_C);
            blanks(r);
            const char *at = r->s;
            ok = chain(r, level + 1, &right);
            if (ok && level == 2 && r->bare == at) /* a * b @ c is (a * b) @ c */
                ok = refuse(r, "a product of an expression at", at, 16);
            strbuf_addf(&both, "(%s %s %s)", left.buf, op, right.buf);
            strbuf_release(&left);
            strbuf_release(&right);
            left = both;
            more = ok && !left.truncated;
            ok = more;
            break;
        }
    }
    strbuf_adds(out, left.buf);
    strbuf_release(&left);
    return ok && !out->truncated;
}

static bool expression(struct reader *r, struct strbuf *out)
{
    if (++r->depth > MAX_DEPTH)
        return refuse(r, "too deep a nesting at", r->s, 16);
    bool ok = chain(r, 0, out);
    r->depth--;
    return ok;
}

bool torch_to_c(const char *text, const char *const *names, size_t n, struct strbuf *out,
                struct strbuf *why)
{
    struct reader r = {.s = text, .names = names, .n = n, .why = why};
    if (strlen(text) > TORCH_MAX_TEXT) {
        strbuf_adds(why, "its PyTorch expression is too long");
        return false;
    }
    struct strbuf c = STRBUF_INIT(MAX_C);
    bool ok = expression(&r, &c);
    blanks(&r);
    if (ok && *r.s)
        ok = refuse(&r, "something unexpected at", r.s, strlen(r.s));
    if (ok)
        strbuf_adds(out, c.buf);
    else if (!why->len)
        strbuf_adds(why, "its PyTorch expression is too long for a playbook");
    strbuf_release(&c);
    return ok;
}

bool torch_to_gemm(const char *text, const char *const *names, size_t n, struct torch_gemm *out,
                   struct strbuf *why)
{
    struct reader r = {.s = text, .names = names, .n = n, .why = why, .gemm = out};
    if (strlen(text) > TORCH_MAX_TEXT) {
        strbuf_adds(why, "its PyTorch expression is too long");
        return false;
    }
    bool ok = expression(&r, &out->expr);
    blanks(&r);
    if (ok && *r.s)
        ok = refuse(&r, "something unexpected at", r.s, strlen(r.s));
    if (ok && !out->found)
        ok = refuse(&r, "no product of two matrices in", text, strlen(text));
    return ok;
}

/* ---- reductions over the last axis ------------------------------------------------------------
 */

static const struct reduction {
    const char *torch, *name;
    bool pair; /* with a dim it gives values and indices */
} reductions[] = {{"sum", "sum", false},          {"mean", "mean", false},
                  {"amax", "max", false},         {"max", "max", true},
                  {"amin", "min", false},         {"min", "min", true},
                  {"prod", "prod", false},        {"norm", "norm", false},
                  {"vector_norm", "norm", false}, {"argmax", "argmax", false},
                  {"argmin", "argmin", false},    {"var", "var", false},
                  {"std", "std", false},          {"logsumexp", "logsumexp", false},
                  {"softmax", "softmax", false},  {"log_softmax", "log_softmax", false},
                  {"softmin", "softmin", false}};

static const struct reduction *find_reduction(const char *s, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(reductions); i++)
        if (strlen(reductions[i].torch) == len && memcmp(reductions[i].torch, s, len) == 0)
            return &reductions[i];
    return NULL;
}

/* An axis, or several that lie side by side in brackets. */
static bool axes(struct reader *r, size_t rank, struct torch_rows *out)
{
    bool list = take(r, "(") || take(r, "["), first = true;
    do {
        blanks(r);
        char *end;
        long axis = strtol(r->s, &end, 10);
        if (end == r->s)
            return false;
        axis += axis < 0 ? (long)rank : 0;
        if (axis < 0 || axis >= (long)rank || (!first && axis != (long)out->to))
            return false;
        r->s = end;
        out->from = first ? (size_t)axis : out->from;
        out->to = (size_t)axis + 1;
        first = false;
    } while (list && take(r, ",") && *r->s != ')');
    return !list || take(r, ")") || take(r, "]");
}

/* What follows the values: [dim=]AXIS and keepdim, ")", and nothing else but a pair's choice. With
 * no axis everything is reduced. */
static bool reduction_ends(struct reader *r, const struct reduction *f, size_t rank,
                           struct torch_rows *out)
{
    bool has_dim = false;
    for (bool more = !take(r, ")"); more;) {
        blanks(r);
        const char *at = r->s;
        if (take(r, "keepdim")) {
            if (!take(r, "=") || (!take(r, "True") && !take(r, "False")))
                return refuse(r, "the option", at, 16);
        } else if (take(r, "dtype")) { /* the task says what it is */
            if (!take(r, "=") || !take(r, "torch."))
                return refuse(r, "the option", at, 16);
            r->s += word(r->s);
        } else {
            if ((take(r, "dim") || take(r, "axis")) && !take(r, "="))
                return refuse(r, "the option", at, 16);
            if (has_dim || !axes(r, rank, out))
                return refuse(r, "the option", at, 16);
            has_dim = true;
        }
        more = take(r, ",");
        if (!more && !take(r, ")"))
            return refuse(r, "something unexpected at", r->s, 16);
    }
    out->name = f->name;
    out->whole = !has_dim;
    if (!has_dim) {
        out->from = 0;
        out->to = rank;
    }
    if (f->pair && has_dim && !take(r, ".values") && !take(r, "[0]"))
        return refuse(r, "both values and indices of", f->torch, strlen(f->torch));
    blanks(r);
    return !*r->s || refuse(r, "something unexpected at", r->s, strlen(r->s));
}

/* torch.NAME(VALUES, ...) */
static bool reduce_as_function(struct reader *r, size_t rank, struct torch_rows *out)
{
    if (!take(r, "torch.linalg.") && !take(r, "torch.nn.functional.") && !take(r, "torch.") &&
        !take(r, "F."))
        return false;
    size_t n = word(r->s);
    const struct reduction *f = find_reduction(r->s, n);
    if (!f)
        return false;
    r->s += n;
    if (!take(r, "(") || !expression(r, &out->expr))
        return refuse(r, "something unexpected at", r->s, 16);
    take(r, ",");
    return reduction_ends(r, f, rank, out);
}

/* VALUES.NAME(...), where VALUES binds as tightly as the method: a name, a call, in brackets. */
static bool reduce_as_method(struct reader *r, size_t rank, struct torch_rows *out)
{
    const char *dot = NULL, *start = r->s;
    const struct reduction *f = NULL;
    for (const char *s = start; *s; s++) {
        size_t n = *s == '.' ? word(s + 1) : 0;
        const struct reduction *last = n && s[1 + n] == '(' ? find_reduction(s + 1, n) : NULL;
        if (last) {
            f = last;
            dot = s;
        }
    }
    if (!dot)
        return refuse(r, "no reduction that is known, in", start, strlen(start));
    char *values = xasprintf("%.*s", (int)(dot - start), start);
    struct reader inner = *r;
    inner.s = values;
    bool ok = primary(&inner, &out->expr);
    blanks(&inner);
    if (ok && *inner.s)
        ok = refuse(r, "more than a reduction, at", inner.s, strlen(inner.s));
    free(values);
    if (!ok)
        return false;
    r->s = dot + 1 + strlen(f->torch) + 1;
    return reduction_ends(r, f, rank, out);
}

bool torch_to_rows(const char *text, const char *const *names, size_t n, size_t rank,
                   struct torch_rows *out, struct strbuf *why)
{
    struct reader r = {.s = text, .names = names, .n = n, .why = why};
    if (strlen(text) > TORCH_MAX_TEXT) {
        strbuf_adds(why, "its PyTorch expression is too long");
        return false;
    }
    blanks(&r);
    if (reduce_as_function(&r, rank, out))
        return true;
    if (why->len)
        return false;
    r.s = text;
    strbuf_clear(&out->expr);
    return reduce_as_method(&r, rank, out);
}

/* ---- permutations of axes --------------------------------------------------------------------
 */

static size_t numbers(struct reader *r, size_t rank, size_t *out)
{
    bool list = take(r, "(") || take(r, "[");
    size_t n = 0;
    do {
        blanks(r);
        char *end;
        long v = strtol(r->s, &end, 10);
        v += v < 0 ? (long)rank : 0;
        if (end == r->s || v < 0 || v >= (long)rank || n == rank)
            return 0;
        r->s = end;
        out[n++] = (size_t)v;
    } while (take(r, ","));
    return !list || take(r, ")") || take(r, "]") ? n : 0;
}

/* "permute", "transpose" and so on, at what follows "(": the axes, then ")". */
static bool permuted(struct reader *r, bool swaps, size_t rank, size_t *perm)
{
    size_t axes[TORCH_MAX_RANK], n = numbers(r, rank, axes), old[TORCH_MAX_RANK];
    memcpy(old, perm, sizeof old);
    bool seen[TORCH_MAX_RANK] = {false};
    for (size_t i = 0; i < n; i++) {
        if (seen[axes[i]] && !swaps)
            return false;
        seen[axes[i]] = true;
    }
    if (n != (swaps ? 2 : rank) || !take(r, ")"))
        return false;
    for (size_t i = 0; i < rank && !swaps; i++)
        perm[i] = old[axes[i]];
    if (swaps) {
        perm[axes[0]] = old[axes[1]];
        perm[axes[1]] = old[axes[0]];
    }
    return true;
}

bool torch_to_permutation(const char *text, const char *name, size_t rank, size_t *perm,
                          struct strbuf *why)
{
    static const struct {
        const char *name;
        bool swaps;
    } calls[] = {
        {"permute(", false}, {"transpose(", true}, {"swapaxes(", true}, {"swapdims(", true}};
    struct reader r = {.s = text, .why = why};
    bool ok = rank >= 1 && rank <= TORCH_MAX_RANK, function = false, swaps = false;
    for (size_t i = 0; ok && i < rank; i++)
        perm[i] = i;
    if (take(&r, "torch.")) {
        for (size_t i = 0; i < ARRAY_LEN(calls) && !function; i++) {
            function = take(&r, calls[i].name);
            swaps = calls[i].swaps;
        }
        ok = ok && function;
    }
    blanks(&r);
    size_t n = word(r.s);
    ok = ok && n == strlen(name) && memcmp(r.s, name, n) == 0;
    r.s += ok ? n : 0;
    if (ok && function)
        ok = take(&r, ",") && permuted(&r, swaps, rank, perm);
    while (ok && take(&r, ".")) {
        bool done = take(&r, "contiguous()") || take(&r, "clone()");
        if (!done && rank >= 2 &&
            (take(&r, "mT") || (rank == 2 && (take(&r, "t()") || take(&r, "T"))))) {
            size_t last = perm[rank - 1];
            perm[rank - 1] = perm[rank - 2];
            perm[rank - 2] = last;
            done = true;
        }
        for (size_t i = 0; i < ARRAY_LEN(calls) && !done; i++)
            if (take(&r, calls[i].name)) {
                done = permuted(&r, calls[i].swaps, rank, perm);
                break;
            }
        ok = done;
    }
    blanks(&r);
    return (ok && !*r.s) || refuse(&r, "more than a permutation of axes, at", r.s, strlen(r.s));
}
