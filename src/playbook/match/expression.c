/* expression.c - writes elementwise values of a graph as CUDA C++ expressions. */
#include "playbook/match/expression.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "playbook/book/texts.h"
#include "playbook/match/functions.h"

enum { MAX_DEPTH = 200 };

enum kind { KIND_BOOL, KIND_WHOLE, KIND_REAL };

struct writer {
    const struct leaves *leaves;
    struct strbuf *why;
    unsigned depth;
};

static enum kind kind_of(const struct value *v)
{
    return v->dtype == DT_BOOL ? KIND_BOOL : dtype_is_float(v->dtype) ? KIND_REAL : KIND_WHOLE;
}

bool cannot_write(struct strbuf *why, const char *what, const struct value *v)
{
    const char *name = v->name ? v->name : op_row(v->op)->name;
    if (!why->len)
        strbuf_addf(why, "the task's PyTorch expression has %s '%s', which a playbook cannot write",
                    what, name);
    return false;
}

static bool write_as(struct writer *w, const struct value *v, enum kind kind, struct strbuf *out);

/* ---- leaves ---------------------------------------------------------------------------------- */

static void write_number(double v, bool real, struct strbuf *out)
{
    char text[40];
    if (!real) {
        strbuf_addf(out, "%lld", (long long)v);
        return;
    }
    if (v < 0) {
        strbuf_adds(out, "(-");
        write_number(-v, true, out);
        strbuf_addc(out, ')');
        return;
    }
    snprintf(text, sizeof text, "%.9g", v);
    if (isnan(v))
        strbuf_adds(out, C_NAN);
    else if (v > (double)FLT_MAX)
        strbuf_adds(out, C_INFINITY);
    else
        strbuf_addf(out, "%s%sf", text, strpbrk(text, ".e") ? "" : ".");
}

/* Returns the number of the scalar or axis with this name (meaning.h), or -1 if there is none. */
static int number_of(const struct meaning *m, const char *name, size_t len)
{
    for (size_t i = m->inputs; i < m->n; i++)
        if (strlen(m->names[i]) == len && memcmp(m->names[i], name, len) == 0)
            return (int)i;
    return -1;
}

/* Does the size consist only of axes, numbers and operators, without calls such as min()? */
static bool is_plain(const char *key)
{
    for (const char *s = key; (s = strchr(s, '(')); s++)
        if (s > key && (isalnum((unsigned char)s[-1]) || s[-1] == '_'))
            return false;
    return true;
}

/* Writes an expression of type int64_t. Axes and scalars become v<i>, where i is their number. */
static bool write_size(const struct meaning *m, const struct dim *d, const char *prefix,
                       struct strbuf *out)
{
    bool bare = !strpbrk(d->key, "*/+-");
    if (!is_plain(d->key))
        return false;
    strbuf_adds(out, bare ? "" : "(");
    for (const char *s = d->key; *s;) {
        size_t n = 0;
        while (isalnum((unsigned char)s[n]) || s[n] == '_')
            n++;
        if (n && !isdigit((unsigned char)*s)) {
            int i = number_of(m, s, n);
            if (i < 0)
                return false;
            strbuf_addf(out, m->types[i] == DT_I64 ? "%sv%d" : "int64_t(%sv%d)", prefix, i);
        } else {
            strbuf_add(out, s, n ? n : 1);
        }
        s += n ? n : 1;
    }
    strbuf_adds(out, bare ? "" : ")");
    return true;
}

bool write_value_number(const struct meaning *m, const struct value *v, const char *prefix,
                        struct strbuf *out)
{
    int input = meaning_input(m, v);
    if (v->op == OP_SIZE)
        return write_size(m, v->size, prefix, out);
    if (input < 0 && v->op == OP_SCALAR)
        input = number_of(m, v->name, strlen(v->name));
    if (input < 0)
        return false;
    strbuf_addf(out, "%sv%d", prefix, input);
    return true;
}

static bool usual_leaf(void *ctx, const struct value *v, struct strbuf *out, struct strbuf *why)
{
    return write_value_number(ctx, v, "", out);
}

struct leaves usual_leaves(const struct meaning *m)
{
    return (struct leaves){usual_leaf, (void *)m, false};
}

/* ---- operators ------------------------------------------------------------------------------- */

static const char *operator_of(enum graph_op op)
{
    static const char *const names[OP_COUNT] = {
        [OP_ADD] = "+", [OP_SUB] = "-", [OP_MUL] = "*",  [OP_DIV] = "/",  [OP_AND] = "&",
        [OP_OR] = "|",  [OP_XOR] = "^", [OP_SHL] = "<<", [OP_SHR] = ">>", [OP_EQ] = "==",
        [OP_NE] = "!=", [OP_LT] = "<",  [OP_LE] = "<=",  [OP_GT] = ">",   [OP_GE] = ">="};
    return names[op];
}

static bool of_bools(const struct value *v, const char *a, const char *b, struct strbuf *out,
                     struct strbuf *why)
{
    const char *c = v->op == OP_ADD || v->op == OP_OR    ? "||"
                    : v->op == OP_MUL || v->op == OP_AND ? "&&"
                    : v->op == OP_XOR                    ? "!="
                                                         : NULL;
    if (!c)
        return cannot_write(why, "bools at", v);
    strbuf_addf(out, "(%s %s %s)", a, c, b);
    return true;
}

/* Computes in unsigned integers where results may wrap around. */
static void of_integers(const struct value *v, const char *a, const char *b, struct strbuf *out)
{
    const char *type = value_type(v->dtype), *op = operator_of(v->op);
    bool wraps = v->op == OP_ADD || v->op == OP_SUB || v->op == OP_MUL;
    if (wraps)
        strbuf_addf(out, "%s(uint64_t(%s) %s uint64_t(%s))", type, a, op, b);
    else if (v->op == OP_SHL)
        strbuf_addf(out, "%s(uint64_t(%s) << %s)", type, a, b);
    else
        strbuf_addf(out, "%s(%s %s %s)", type, a, op, b);
}

/* Is exactly one operand a uint32? C++ compares a uint32 and an int32 as unsigned integers, but
 * PyTorch compares both as int64. */
static bool mixes_signs(const struct value *x, const struct value *y)
{
    return !x->weak && !y->weak && (x->dtype == DT_U32) != (y->dtype == DT_U32);
}

static bool write_operator(struct writer *w, const struct value *v, struct strbuf *out)
{
    const struct value *x = v->args[0], *y = v->args[1];
    bool compares = op_row(v->op)->kind == OPK_ELEMENTWISE && v->dtype == DT_BOOL &&
                    v->op >= OP_EQ && v->op <= OP_GE;
    enum kind operands = MAX(kind_of(x), kind_of(y));
    bool quotient = v->op == OP_DIV && operands != KIND_REAL;
    struct strbuf a = STRBUF_INIT(MAX_EXPRESSION), b = STRBUF_INIT(MAX_EXPRESSION);
    bool ok = write_as(w, x, operands, &a) && write_as(w, y, operands, &b);
    if (ok && quotient)
        strbuf_addf(out, "(float(%s) / float(%s))", a.buf, b.buf);
    else if (ok && compares && operands == KIND_WHOLE && mixes_signs(x, y))
        strbuf_addf(out, "(int64_t(%s) %s int64_t(%s))", a.buf, operator_of(v->op), b.buf);
    else if (ok && (compares || operands == KIND_REAL))
        strbuf_addf(out, "(%s %s %s)", a.buf, operator_of(v->op), b.buf);
    else if (ok && operands == KIND_BOOL)
        ok = of_bools(v, a.buf, b.buf, out, w->why);
    else if (ok)
        of_integers(v, a.buf, b.buf, out);
    strbuf_release(&a);
    strbuf_release(&b);
    return ok;
}

static bool write_floor(struct writer *w, const struct value *v, struct strbuf *out)
{
    struct strbuf a = STRBUF_INIT(MAX_EXPRESSION), b = STRBUF_INIT(MAX_EXPRESSION);
    bool ok = write_as(w, v->args[0], kind_of(v), &a) && write_as(w, v->args[1], kind_of(v), &b);
    if (ok && kind_of(v) == KIND_BOOL)
        ok = cannot_write(w->why, "bools at", v);
    else if (ok)
        strbuf_addf(out, "floor_%s<%s>(%s, %s)", v->op == OP_FLOOR_DIV ? "div" : "mod",
                    value_type(v->dtype), a.buf, b.buf);
    strbuf_release(&a);
    strbuf_release(&b);
    return ok;
}

/* Writes a power. Squares do not come here: they are an operation of their own. */
static bool write_power(struct writer *w, const struct value *v, struct strbuf *out)
{
    double n = 0;
    bool cube = value_is_number(v->args[1], &n) && n == 3;
    struct strbuf a = STRBUF_INIT(MAX_EXPRESSION), b = STRBUF_INIT(MAX_EXPRESSION);
    enum kind kind = kind_of(v);
    bool real_base = kind_of(v->args[0]) == KIND_REAL;
    bool ok = write_as(w, v->args[0], kind, &a) && write_as(w, v->args[1], kind, &b);
    if (ok && kind == KIND_WHOLE && cube)
        strbuf_addf(out, "%s(uint64_t(%s) * uint64_t(%s) * uint64_t(%s))", value_type(v->dtype),
                    a.buf, a.buf, a.buf);
    else if (ok && kind != KIND_REAL)
        ok = cannot_write(w->why, "a power of integers,", v);
    else if (ok && cube && real_base)
        strbuf_addf(out, "(%s * %s * %s)", a.buf, a.buf, a.buf);
    else if (ok)
        strbuf_addf(out, "powf(%s, %s)", a.buf, b.buf);
    strbuf_release(&a);
    strbuf_release(&b);
    return ok;
}

static bool write_negative(struct writer *w, const struct value *v, struct strbuf *out)
{
    struct strbuf a = STRBUF_INIT(MAX_EXPRESSION);
    bool ok = write_as(w, v->args[0], kind_of(v), &a);
    const char *type = value_type(v->dtype);
    if (ok && v->op == OP_NOT)
        strbuf_addf(out, v->dtype == DT_BOOL ? "(!%s)" : "%s(~%s)",
                    v->dtype == DT_BOOL ? a.buf : type, a.buf);
    else if (ok && kind_of(v) == KIND_WHOLE && !v->weak)
        strbuf_addf(out, "%s(0 - uint64_t(%s))", type, a.buf);
    else if (ok)
        strbuf_addf(out, "(-%s)", a.buf);
    strbuf_release(&a);
    return ok;
}

/* Writes (T)(v), because C++ may read T(U(v)) as the declaration of a function. */
static bool write_cast(struct writer *w, const struct value *v, struct strbuf *out)
{
    struct strbuf a = STRBUF_INIT(MAX_EXPRESSION);
    bool ok = write_as(w, v->args[0], kind_of(v->args[0]), &a);
    bool real = dtype_is_float(v->dtype);
    if (ok && real && dtype_bytes(v->dtype) < 4) /* rounds to the narrower float */
        strbuf_addf(out, "float(%s{float(%s)})", element_type(v->dtype), a.buf);
    else if (ok && real && kind_of(v->args[0]) == KIND_REAL)
        strbuf_adds(out, a.buf);
    else if (ok && v->dtype == DT_BOOL)
        strbuf_addf(out, "(%s != 0)", a.buf);
    else if (ok)
        strbuf_addf(out, "(%s)(%s)", value_type(v->dtype), a.buf);
    strbuf_release(&a);
    return ok;
}

static bool write_choice(struct writer *w, const struct value *v, struct strbuf *out)
{
    struct strbuf part[3];
    bool ok = true;
    for (int i = 0; i < 3; i++) {
        strbuf_init(&part[i], MAX_EXPRESSION);
        ok = ok && write_as(w, v->args[i], i ? kind_of(v) : KIND_BOOL, &part[i]);
    }
    if (ok)
        strbuf_addf(out, "(%s ? %s : %s)", part[0].buf, part[1].buf, part[2].buf);
    for (int i = 0; i < 3; i++)
        strbuf_release(&part[i]);
    return ok;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Puts the operands in the place of $0, $1, ... */
static void fill(const char *c, const struct strbuf *args, struct strbuf *out)
{
    for (; *c; c++) {
        if (*c == '$' && isdigit((unsigned char)c[1]))
            strbuf_adds(out, args[*++c - '0'].buf);
        else
            strbuf_addc(out, *c);
    }
}

static bool write_function(struct writer *w, const struct value *v, struct strbuf *out)
{
    const struct c_function *f = c_function(v->op);
    struct strbuf args[GRAPH_MAX_ARGS];
    bool whole = kind_of(v) == KIND_WHOLE && f->whole;
    const struct c_fast_function *fast = c_fast_function(v->op);
    bool rough = fast->rough && dtype_is_float(v->dtype) && dtype_bytes(v->dtype) == 2;
    bool quick = fast->quick && w->leaves->quick;
    const char *real = quick ? fast->quick : rough ? fast->rough : f->real;
    const char *form = whole ? f->whole : f->test ? f->test : real;
    bool ok = form != NULL;
    for (uint32_t i = 0; i < v->nargs; i++) {
        enum kind own = kind_of(v->args[i]);
        strbuf_init(&args[i], MAX_EXPRESSION);
        bool convert = ok && !whole && !f->test && own != KIND_REAL && v->args[i]->op != OP_NUMBER;
        if (convert)
            strbuf_adds(&args[i], "float(");
        ok = ok && write_as(w, v->args[i], whole || f->test ? own : KIND_REAL, &args[i]);
        if (convert)
            strbuf_addc(&args[i], ')');
    }
    if (ok && whole)
        strbuf_adds(out, value_type(v->dtype));
    if (ok)
        fill(form, args, out);
    for (uint32_t i = 0; i < v->nargs; i++)
        strbuf_release(&args[i]);
    return ok || cannot_write(w->why, "the function", v);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool write_operation(struct writer *w, const struct value *v, struct strbuf *out)
{
    switch (v->op) {
    case OP_FLOOR_DIV:
    case OP_REMAINDER:
        return write_floor(w, v, out);
    case OP_POW:
        return write_power(w, v, out);
    case OP_NEG:
    case OP_NOT:
        return write_negative(w, v, out);
    case OP_CAST:
        return write_cast(w, v, out);
    case OP_WHERE:
        return write_choice(w, v, out);
    default:
        return operator_of(v->op) ? write_operator(w, v, out) : write_function(w, v, out);
    }
}

/* Writes a number as a float if `kind` or its own dtype is real, else as an integer. Any other
 * value keeps its type. */
static bool write_as(struct writer *w, const struct value *v, enum kind kind, struct strbuf *out)
{
    size_t before = w->why->len;
    bool ok = true;
    if (++w->depth > MAX_DEPTH || out->truncated)
        return cannot_write(w->why, "too much nesting at", v);
    if (v->op == OP_NUMBER)
        write_number(v->number, kind == KIND_REAL || dtype_is_float(v->dtype), out);
    else if (w->leaves->write(w->leaves->ctx, v, out, w->why))
        ok = w->why->len == before;
    else if (op_row(v->op)->kind != OPK_ELEMENTWISE)
        ok = cannot_write(w->why, v->op == OP_INPUT ? "the name" : "the function", v);
    else
        ok = write_operation(w, v, out);
    w->depth--;
    return ok && !out->truncated;
}

bool write_expression(const struct value *v, const struct leaves *leaves, struct strbuf *out,
                      struct strbuf *why)
{
    struct writer w = {leaves, why, 0};
    if (write_as(&w, v, kind_of(v), out))
        return true;
    if (!why->len)
        strbuf_adds(why, "the task's PyTorch expression is too long for a playbook");
    return false;
}
