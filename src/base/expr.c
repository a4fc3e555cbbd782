/*
 * expr.c - a recursive-descent parser that emits code for a small stack machine. It limits the
 * length and depth of the text and the height of the stack.
 */
#include "base/expr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expr_code.h"
#include "base/strbuf.h"
#include "base/util.h"

#define EXPR_MAX_NAME 128

struct parser {
    const char *text;
    size_t len, pos;
    const char *const *names;
    size_t nnames;
    bool allow_real;
    const char *const *reals;
    size_t nreals;
    bool real[EXPR_MAX_STACK + 64]; /* which operands on the stack are real */
    struct arena *arena;
    struct insn *insns;
    size_t n;
    const char *tensors[64]; /* the NAMEs in alignof(NAME) */
    size_t tensor_cols[64];
    size_t ntensors;
    int depth;
    int stack, max_stack; /* operands on the stack: now, and at most */
    size_t col;           /* column of the error */
    struct err *err;
};

#define fail(p, at, ...) \
    ((p)->col = (at), err_set((p)->err, ERR_INPUT, __VA_ARGS__), err_at_column((p)->err, (at)))

static int err_at_column(struct err *err, size_t col)
{
    if (err) {
        size_t n = strlen(err->msg);
        snprintf(err->msg + n, sizeof err->msg - n, " (column %zu of the expression)", col + 1);
    }
    return -1;
}

static void skip_space(struct parser *p)
{
    while (p->pos < p->len && strchr(" \t\r\n", p->text[p->pos]) && p->text[p->pos])
        p->pos++;
}

static char peek(struct parser *p)
{
    skip_space(p);
    return p->pos < p->len ? p->text[p->pos] : '\0';
}

static bool accept(struct parser *p, const char *token)
{
    skip_space(p);
    size_t n = strlen(token);
    if (p->len - p->pos < n || memcmp(p->text + p->pos, token, n) != 0)
        return false;
    p->pos += n;
    return true;
}

/* Appends an instruction and returns its index. `effect` says by how much the instruction changes
 * the height of the stack. */
static size_t emit(struct parser *p, enum op op, size_t col, int64_t arg, int effect)
{
    p->insns[p->n] = (struct insn){.op = (uint8_t)op, .col = (uint16_t)col, .arg = arg};
    p->stack += effect;
    p->max_stack = MAX(p->max_stack, p->stack);
    if (effect > 0)
        p->real[p->stack - 1] = false;
    return p->n++;
}

/* ---- real operands --------------------------------------------------------------------------- */

static bool *top_is_real(struct parser *p)
{
    return &p->real[p->stack - 1];
}

static void push_real(struct parser *p, enum op op, size_t col, int64_t arg)
{
    emit(p, op, col, arg, 1);
    *top_is_real(p) = true;
}

static void top_to_real(struct parser *p, size_t col)
{
    if (!*top_is_real(p))
        emit(p, OP_TO_REAL, col, 0, 0);
    *top_is_real(p) = true;
}

/* Emits an operator for the two values on top of the stack. If only one of them is real, converts
 * the other first. */
static int emit_binary(struct parser *p, enum op op, size_t at)
{
    bool below = p->real[p->stack - 2], top = p->real[p->stack - 1];
    bool compares = op >= OP_EQ && op <= OP_GE;
    if (!below && !top && op != OP_POW) {
        emit(p, op, at, 0, -1);
        return 0;
    }
    if (op == OP_MOD || op == OP_CDIV || op == OP_ALIGN)
        return fail(p, at, "%s takes integers, but an operand is a real number",
                    op == OP_MOD    ? "%"
                    : op == OP_CDIV ? "cdiv"
                                    : "align");
    top_to_real(p, at);
    if (!below)
        emit(p, OP_BELOW_TO_REAL, at, 0, 0);
    p->insns[emit(p, op, at, 0, -1)].real = true;
    *top_is_real(p) = !compares;
    return 0;
}

/* Fails if the operand on top of the stack is a real number. `what` names the operator or function
 * that takes integers. A real number is no condition: the user must compare it with another
 * number. */
static int need_int(struct parser *p, size_t at, const char *what)
{
    return *top_is_real(p)
               ? fail(p, at, "%s takes integers; compare the real number with another", what)
               : 0;
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int parse_ternary(struct parser *p);

static int unexpected(struct parser *p, const char *expected)
{
    char c = peek(p);
    if (!c && p->pos >= p->len)
        return fail(p, p->pos, "%s expected, but the expression ends", expected);
    if (c < 32 || c > 126)
        return fail(p, p->pos, "%s expected, found byte 0x%02x", expected, (unsigned char)c);
    return fail(p, p->pos, "%s expected, found '%c'", expected, c);
}

static bool scan_real(struct parser *p, double *out)
{
    char text[64];
    size_t i = p->pos;
    bool is_real = false;
    while (i < p->len && is_digit(p->text[i]))
        i++;
    if (i < p->len && p->text[i] == '.') {
        is_real = true;
        for (i++; i < p->len && is_digit(p->text[i]); i++)
            ;
    }
    if (i < p->len && (p->text[i] == 'e' || p->text[i] == 'E')) {
        size_t k = i + 1;
        k += k < p->len && (p->text[k] == '+' || p->text[k] == '-');
        if (k < p->len && is_digit(p->text[k])) {
            is_real = true;
            for (i = k; i < p->len && is_digit(p->text[i]); i++)
                ;
        }
    }
    if (!is_real || i - p->pos >= sizeof text || (i < p->len && is_alpha(p->text[i])))
        return false;
    memcpy(text, p->text + p->pos, i - p->pos);
    text[i - p->pos] = '\0';
    *out = strtod(text, NULL);
    p->pos = i;
    return true;
}

static int parse_number(struct parser *p)
{
    size_t start = p->pos;
    int64_t v = 0;
    double real;
    if (p->allow_real && scan_real(p, &real)) {
        if (!isfinite(real))
            return fail(p, start, "number does not fit a double");
        push_real(p, OP_REAL_CONST, start, expr_bits(real));
        return 0;
    }
    for (; p->pos < p->len && is_digit(p->text[p->pos]); p->pos++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, p->text[p->pos] - '0', &v))
            return fail(p, start, "number does not fit in 64 bits");
    char next = p->pos < p->len ? p->text[p->pos] : '\0';
    if (next == '.' || is_alpha(next))
        return fail(p, start,
                    p->allow_real ? "this is not a number"
                                  : "only decimal integers are numbers here");
    if (p->text[start] == '0' && p->pos - start > 1)
        return fail(p, start, "a number may not start with 0");
    emit(p, OP_CONST, start, v, 1);
    return 0;
}

static int unknown_name(struct parser *p, size_t at, size_t n)
{
    struct strbuf known = STRBUF_INIT(512);
    for (size_t i = 0; i < p->nnames && known.len < 400; i++)
        strbuf_addf(&known, "%s%s", i ? ", " : "", p->names[i]);
    for (size_t i = 0; i < p->nreals && known.len < 400; i++)
        strbuf_addf(&known, "%s%s", known.len ? ", " : "", p->reals[i]);
    fail(p, at, "unknown name '%.*s'; known here: %s", (int)MIN(n, 64), p->text + at,
         known.len ? known.buf : "none");
    strbuf_release(&known);
    return -1;
}

static const struct function {
    const char *name;
    enum op op;
    int min_args, max_args;
    bool real; /* computes in double; only for expr_parse_real() */
} functions[] = {
    {"min", OP_MIN, 2, 16, false},     {"max", OP_MAX, 2, 16, false},
    {"cdiv", OP_CDIV, 2, 2, false},    {"align", OP_ALIGN, 2, 2, false},
    {"sqrt", OP_SQRT, 1, 1, true},     {"pow2ceil", OP_POW2CEIL, 1, 1, false},
    {"exp", OP_EXP, 1, 1, true},       {"log", OP_LOG, 1, 1, true},
    {"log2", OP_LOG2, 1, 1, true},     {"pow", OP_POW, 2, 2, true},
    {"double", OP_DOUBLE, 1, 1, true},
};

static int emit_call(struct parser *p, const struct function *f, size_t at)
{
    if (f->min_args == 2)
        return emit_binary(p, f->op, at);
    if (!f->real && need_int(p, at, f->name) < 0)
        return -1;
    if (f->real)
        top_to_real(p, at);
    p->insns[emit(p, f->op, at, 0, 0)].real = f->real;
    return 0;
}

static int parse_call(struct parser *p, const struct function *f, size_t at)
{
    int nargs = 0;
    if (!accept(p, ")")) {
        do {
            if (parse_ternary(p) < 0)
                return -1;
            /* min and max fold their arguments from left to right. */
            if (++nargs > 1 && f->max_args > 2 && nargs <= f->max_args &&
                emit_binary(p, f->op, at) < 0)
                return -1;
        } while (accept(p, ","));
        if (!accept(p, ")"))
            return unexpected(p, "',' or ')'");
    }
    if (nargs < f->min_args || nargs > f->max_args)
        return fail(p, at, "%s takes %s%d argument%s, not %d", f->name,
                    f->max_args > f->min_args ? "at least " : "", f->min_args,
                    f->min_args == 1 ? "" : "s", nargs);
    return f->max_args <= 2 ? emit_call(p, f, at) : 0;
}

static size_t scan_word(struct parser *p)
{
    size_t start = p->pos;
    while (p->pos < p->len && (is_alpha(p->text[p->pos]) || is_digit(p->text[p->pos])))
        p->pos++;
    return p->pos - start;
}

static int parse_alignof(struct parser *p, size_t at)
{
    peek(p);
    size_t start = p->pos, n = scan_word(p);
    if (!n || !is_alpha(p->text[start]))
        return p->pos = start, unexpected(p, "a tensor's name");
    if (n > EXPR_MAX_NAME)
        return fail(p, start, "name longer than %d characters", EXPR_MAX_NAME);
    if (!accept(p, ")"))
        return unexpected(p, "')'");
    if (p->ntensors == ARRAY_LEN(p->tensors))
        return fail(p, at, "more than %zu uses of alignof", ARRAY_LEN(p->tensors));
    p->tensors[p->ntensors] = arena_strndup(p->arena, p->text + start, n);
    p->tensor_cols[p->ntensors] = start;
    emit(p, OP_ALIGNOF, start, (int64_t)p->ntensors++, 1);
    return 0;
}

static int parse_word(struct parser *p)
{
    size_t at = p->pos, n = scan_word(p);
    const char *w = p->text + at;
    if (peek(p) == '(') {
        p->pos++;
        if (n == 7 && memcmp(w, "alignof", 7) == 0)
            return parse_alignof(p, at);
        for (size_t i = 0; i < ARRAY_LEN(functions); i++)
            if (strlen(functions[i].name) == n && memcmp(functions[i].name, w, n) == 0 &&
                (p->allow_real || !functions[i].real))
                return parse_call(p, &functions[i], at);
        return fail(p, at,
                    "unknown function '%.*s'; there are min, max, cdiv, align, pow2ceil, alignof%s",
                    (int)MIN(n, 64), w, p->allow_real ? ", sqrt, exp, log, log2, pow, double" : "");
    }
    for (size_t i = 0; i < p->nnames; i++)
        if (strlen(p->names[i]) == n && memcmp(p->names[i], w, n) == 0)
            return emit(p, OP_NAME, at, (int64_t)i, 1), 0;
    for (size_t i = 0; i < p->nreals; i++)
        if (strlen(p->reals[i]) == n && memcmp(p->reals[i], w, n) == 0)
            return push_real(p, OP_REAL_NAME, at, (int64_t)i), 0;
    return unknown_name(p, at, n);
}

static int parse_primary(struct parser *p)
{
    char c = peek(p);
    if (is_digit(c))
        return parse_number(p);
    if (is_alpha(c))
        return parse_word(p);
    if (c != '(')
        return unexpected(p, "a number, a name or '('");
    p->pos++;
    if (parse_ternary(p) < 0)
        return -1;
    return accept(p, ")") ? 0 : unexpected(p, "')'");
}

/* Counts a level of nesting. Every nesting construct calls this function or parse_ternary(). */
static int enter(struct parser *p)
{
    if (++p->depth > EXPR_MAX_DEPTH)
        return fail(p, p->pos, "nested more than %d deep", EXPR_MAX_DEPTH);
    if (p->stack > EXPR_MAX_STACK - 16)
        return fail(p, p->pos, "too complex: more than %d pending operands", EXPR_MAX_STACK);
    return 0;
}

static int parse_unary(struct parser *p)
{
    if (enter(p) < 0)
        return -1;
    char c = peek(p);
    size_t at = p->pos;
    int rc;
    if (c == '-' || c == '+' || (c == '!' && !(p->len - at > 1 && p->text[at + 1] == '='))) {
        p->pos++;
        rc = parse_unary(p);
        if (rc == 0 && c == '!')
            rc = need_int(p, at, "!");
        if (rc == 0 && c != '+')
            p->insns[emit(p, c == '-' ? OP_NEG : OP_NOT, at, 0, 0)].real = *top_is_real(p);
    } else {
        rc = parse_primary(p);
    }
    p->depth--;
    return rc;
}

static int parse_product(struct parser *p)
{
    if (parse_unary(p) < 0)
        return -1;
    for (;;) {
        char c = peek(p);
        size_t at = p->pos;
        if (c != '*' && c != '/' && c != '%')
            return 0;
        if (at + 1 < p->len && p->text[at + 1] == c)
            return fail(p, at, "there is no operator '%c%c'", c, c);
        p->pos++;
        if (parse_unary(p) < 0)
            return -1;
        if (emit_binary(p, c == '*' ? OP_MUL : c == '/' ? OP_DIV : OP_MOD, at) < 0)
            return -1;
    }
}

static int parse_sum(struct parser *p)
{
    if (parse_product(p) < 0)
        return -1;
    for (;;) {
        char c = peek(p);
        size_t at = p->pos;
        if (c != '+' && c != '-')
            return 0;
        p->pos++;
        if (parse_product(p) < 0)
            return -1;
        if (emit_binary(p, c == '+' ? OP_ADD : OP_SUB, at) < 0)
            return -1;
    }
}

static bool accept_comparison(struct parser *p, enum op *op)
{
    static const struct {
        const char *token;
        enum op op;
    } table[] = {{"==", OP_EQ}, {"!=", OP_NE}, {"<=", OP_LE},
                 {">=", OP_GE}, {"<", OP_LT},  {">", OP_GT}};
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (accept(p, table[i].token)) {
            *op = table[i].op;
            return true;
        }
    return false;
}

/* a < b < c means different things in C and in Python, so we reject it. */
static int parse_comparison(struct parser *p)
{
    enum op op;
    if (parse_sum(p) < 0)
        return -1;
    peek(p);
    size_t at = p->pos;
    if (!accept_comparison(p, &op))
        return 0;
    if (parse_sum(p) < 0)
        return -1;
    if (emit_binary(p, op, at) < 0)
        return -1;
    peek(p);
    at = p->pos;
    if (accept_comparison(p, &op))
        return fail(p, at, "comparisons do not chain; write a < b && b < c");
    return 0;
}

static int parse_and(struct parser *p)
{
    if (parse_comparison(p) < 0)
        return -1;
    for (;;) {
        peek(p);
        size_t at = p->pos;
        if (!accept(p, "&&"))
            return 0;
        if (need_int(p, at, "&&") < 0)
            return -1;
        size_t jump = emit(p, OP_JUMP_OR_POP_ZERO, at, 0, -1);
        if (parse_comparison(p) < 0 || need_int(p, at, "&&") < 0)
            return -1;
        emit(p, OP_BOOL, at, 0, 0);
        p->insns[jump].arg = (int64_t)p->n;
    }
}

static int parse_or(struct parser *p)
{
    if (parse_and(p) < 0)
        return -1;
    for (;;) {
        peek(p);
        size_t at = p->pos;
        if (!accept(p, "||"))
            return 0;
        if (need_int(p, at, "||") < 0)
            return -1;
        size_t jump = emit(p, OP_JUMP_OR_POP_ONE, at, 0, -1);
        if (parse_and(p) < 0 || need_int(p, at, "||") < 0)
            return -1;
        emit(p, OP_BOOL, at, 0, 0);
        p->insns[jump].arg = (int64_t)p->n;
    }
}

/* Parses "a : b" after the '?'. If only one branch is real, the other is converted. OP_NOTHING
 * keeps a place after the code for a, and becomes OP_TO_REAL if only b turns out to be real. */
static int parse_branches(struct parser *p, size_t at)
{
    if (need_int(p, at, "the condition of ?:") < 0)
        return -1;
    size_t to_else = emit(p, OP_JUMP_IF_ZERO, at, 0, -1);
    if (parse_ternary(p) < 0)
        return -1;
    if (!accept(p, ":"))
        return unexpected(p, "':'");
    bool first = *top_is_real(p);
    size_t convert = p->allow_real ? emit(p, OP_NOTHING, at, 0, 0) : 0;
    size_t to_end = emit(p, OP_JUMP, at, 0, -1);
    p->insns[to_else].arg = (int64_t)p->n;
    if (parse_ternary(p) < 0)
        return -1;
    if (first)
        top_to_real(p, at);
    else if (*top_is_real(p))
        p->insns[convert].op = OP_TO_REAL;
    p->insns[to_end].arg = (int64_t)p->n;
    return 0;
}

static int parse_ternary(struct parser *p)
{
    if (enter(p) < 0 || parse_or(p) < 0)
        return -1;
    peek(p);
    size_t at = p->pos;
    if (accept(p, "?") && parse_branches(p, at) < 0)
        return -1;
    p->depth--;
    return 0;
}

static struct expr *finish(struct parser *p)
{
    struct expr *e = arena_alloc(p->arena, sizeof *e + p->n * sizeof e->insns[0]);
    const char **tensors = arena_alloc(p->arena, p->ntensors * sizeof *tensors);
    size_t *cols = arena_alloc(p->arena, p->ntensors * sizeof *cols);
    for (size_t i = 0; i < p->ntensors; i++) {
        tensors[i] = p->tensors[i];
        cols[i] = p->tensor_cols[i];
    }
    e->text = arena_strndup(p->arena, p->text, p->len);
    e->tensors = tensors;
    e->tensor_cols = cols;
    e->ntensors = p->ntensors;
    e->is_real = p->real[0];
    e->ninsns = p->n;
    e->stack = (size_t)p->max_stack;
    memcpy(e->insns, p->insns, p->n * sizeof e->insns[0]);
    return e;
}

static struct expr *parse(const char *text, size_t len, const struct expr_names *names,
                          bool allow_real, struct arena *a, size_t *col, struct err *err)
{
    struct parser p = {.text = text,
                       .len = len,
                       .names = names->ints,
                       .nnames = names->nints,
                       .allow_real = allow_real,
                       .reals = names->reals,
                       .nreals = names->nreals,
                       .arena = a,
                       .err = err};
    struct expr *e = NULL;
    if (len > EXPR_MAX_LEN) {
        fail(&p, EXPR_MAX_LEN, "expression longer than %d characters", EXPR_MAX_LEN);
        goto out;
    }
    /* Four instructions for each character are enough. A real operator needs up to three: itself,
     * and two conversions of operands. The two characters of ?: need four together. */
    p.insns = xmalloc((4 * len + 4) * sizeof *p.insns);
    if (parse_ternary(&p) == 0) {
        peek(&p);
        if (p.pos < p.len)
            unexpected(&p, "an operator or the end");
        else
            e = finish(&p);
    }
out:
    if (!e && col)
        *col = p.col;
    free(p.insns);
    return e;
}

struct expr *expr_parse(const char *text, size_t len, const char *const *names, size_t nnames,
                        struct arena *a, size_t *col, struct err *err)
{
    return parse(text, len, &(struct expr_names){.ints = names, .nints = nnames}, false, a, col,
                 err);
}

struct expr *expr_parse_real(const char *text, size_t len, const struct expr_names *names,
                             struct arena *a, size_t *col, struct err *err)
{
    return parse(text, len, names, true, a, col, err);
}
