/*
 * expr.c - a recursive-descent parser that emits code for a small stack machine.
 *
 * EXPR_MAX_LEN and EXPR_MAX_DEPTH limit the parser. Evaluation does not recurse. It needs at most
 * EXPR_MAX_STACK words, because the parser rejects expressions that would need more. && || ?: jump
 * over the branch that they do not need, so an error in that branch does not matter.
 */
#include "base/expr.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"

#define EXPR_MAX_STACK 1024
#define EXPR_MAX_NAME 128

enum op {
    OP_CONST,
    OP_NAME,
    OP_ALIGNOF,
    OP_NEG,
    OP_NOT,
    OP_BOOL,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_MIN,
    OP_MAX,
    OP_CDIV,
    OP_ALIGN,
    OP_POW2CEIL,
    OP_JUMP,
    OP_JUMP_IF_ZERO,     /* pops a value, and jumps if it is 0 */
    OP_JUMP_OR_POP_ZERO, /* &&: if the top is 0, keeps it and jumps; else pops it */
    OP_JUMP_OR_POP_ONE   /* ||: if the top is not 0, makes it 1 and jumps; else pops it */
};

struct insn {
    uint8_t op;
    uint16_t col;
    int64_t arg; /* constant, name, jump target, or index into `tensors` */
};

struct expr {
    const char *text;
    const char *const *tensors; /* the NAMEs in alignof(NAME) */
    size_t ntensors;
    const size_t *tensor_cols;
    size_t ninsns;
    struct insn insns[];
};

struct parser {
    const char *text;
    size_t len, pos;
    const char *const *names;
    size_t nnames;
    struct arena *arena;
    struct insn *insns;
    size_t n;
    const char *tensors[64];
    size_t tensor_cols[64];
    size_t ntensors;
    int depth;
    int stack, max_stack;
    size_t col; /* column of the error */
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

static size_t emit(struct parser *p, enum op op, size_t col, int64_t arg, int effect)
{
    p->insns[p->n] = (struct insn){(uint8_t)op, (uint16_t)col, arg};
    p->stack += effect;
    p->max_stack = MAX(p->max_stack, p->stack);
    return p->n++;
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

/* Reports what the parser found and what it expected. */
static int unexpected(struct parser *p, const char *expected)
{
    char c = peek(p);
    if (!c && p->pos >= p->len)
        return fail(p, p->pos, "%s expected, but the expression ends", expected);
    if (c < 32 || c > 126)
        return fail(p, p->pos, "%s expected, found byte 0x%02x", expected, (unsigned char)c);
    return fail(p, p->pos, "%s expected, found '%c'", expected, c);
}

static int parse_number(struct parser *p)
{
    size_t start = p->pos;
    int64_t v = 0;
    for (; p->pos < p->len && is_digit(p->text[p->pos]); p->pos++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, p->text[p->pos] - '0', &v))
            return fail(p, start, "number does not fit in 64 bits");
    char next = p->pos < p->len ? p->text[p->pos] : '\0';
    if (next == '.' || is_alpha(next))
        return fail(p, start, "only decimal integers are numbers here");
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
    fail(p, at, "unknown name '%.*s'; known here: %s", (int)MIN(n, 64), p->text + at,
         known.len ? known.buf : "none");
    strbuf_release(&known);
    return -1;
}

static const struct function {
    const char *name;
    enum op op;
    int min_args, max_args;
} functions[] = {
    {"min", OP_MIN, 2, 16},    {"max", OP_MAX, 2, 16},          {"cdiv", OP_CDIV, 2, 2},
    {"align", OP_ALIGN, 2, 2}, {"pow2ceil", OP_POW2CEIL, 1, 1},
};

static int parse_call(struct parser *p, const struct function *f, size_t at)
{
    int nargs = 0;
    if (!accept(p, ")")) {
        do {
            if (parse_ternary(p) < 0)
                return -1;
            /* min and max of several arguments are applied from left to right. */
            if (++nargs > 1 && f->max_args > 2 && nargs <= f->max_args)
                emit(p, f->op, at, 0, -1);
        } while (accept(p, ","));
        if (!accept(p, ")"))
            return unexpected(p, "',' or ')'");
    }
    if (nargs < f->min_args || nargs > f->max_args)
        return fail(p, at, "%s takes %s%d argument%s, not %d", f->name,
                    f->max_args > f->min_args ? "at least " : "", f->min_args,
                    f->min_args == 1 ? "" : "s", nargs);
    if (f->max_args <= 2)
        emit(p, f->op, at, 0, 1 - nargs);
    return 0;
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
            if (strlen(functions[i].name) == n && memcmp(functions[i].name, w, n) == 0)
                return parse_call(p, &functions[i], at);
        return fail(p, at,
                    "unknown function '%.*s'; there are min, max, cdiv, align, pow2ceil, alignof",
                    (int)MIN(n, 64), w);
    }
    for (size_t i = 0; i < p->nnames; i++)
        if (strlen(p->names[i]) == n && memcmp(p->names[i], w, n) == 0)
            return emit(p, OP_NAME, at, (int64_t)i, 1), 0;
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

/* Counts the depth. Every kind of nesting calls this function or parse_ternary. */
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
        if (rc == 0 && c != '+')
            emit(p, c == '-' ? OP_NEG : OP_NOT, at, 0, 0);
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
        emit(p, c == '*' ? OP_MUL : c == '/' ? OP_DIV : OP_MOD, at, 0, -1);
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
        emit(p, c == '+' ? OP_ADD : OP_SUB, at, 0, -1);
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
    emit(p, op, at, 0, -1);
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
        size_t jump = emit(p, OP_JUMP_OR_POP_ZERO, at, 0, -1);
        if (parse_comparison(p) < 0)
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
        size_t jump = emit(p, OP_JUMP_OR_POP_ONE, at, 0, -1);
        if (parse_and(p) < 0)
            return -1;
        emit(p, OP_BOOL, at, 0, 0);
        p->insns[jump].arg = (int64_t)p->n;
    }
}

static int parse_branches(struct parser *p, size_t at)
{
    size_t to_else = emit(p, OP_JUMP_IF_ZERO, at, 0, -1);
    if (parse_ternary(p) < 0)
        return -1;
    if (!accept(p, ":"))
        return unexpected(p, "':'");
    size_t to_end = emit(p, OP_JUMP, at, 0, -1);
    p->insns[to_else].arg = (int64_t)p->n;
    if (parse_ternary(p) < 0)
        return -1;
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
    e->ninsns = p->n;
    memcpy(e->insns, p->insns, p->n * sizeof e->insns[0]);
    return e;
}

struct expr *expr_parse(const char *text, size_t len, const char *const *names, size_t nnames,
                        struct arena *a, size_t *col, struct err *err)
{
    struct parser p = {
        .text = text, .len = len, .names = names, .nnames = nnames, .arena = a, .err = err};
    struct expr *e = NULL;
    if (len > EXPR_MAX_LEN) {
        fail(&p, EXPR_MAX_LEN, "expression longer than %d characters", EXPR_MAX_LEN);
        goto out;
    }
    /* Each character emits at most one instruction, except that && || and ?: emit two each. */
    p.insns = xmalloc((2 * len + 4) * sizeof *p.insns);
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

static int divide(enum op op, int64_t x, int64_t y, int64_t *out, struct err *err)
{
    if (y == 0)
        return err_set(err, ERR_INPUT, op == OP_ALIGN ? "align to 0" : "division by zero");
    if (y == -1 && x == INT64_MIN)
        return err_set(err, ERR_INPUT, "overflow");
    if ((op == OP_CDIV || op == OP_ALIGN) && y < 0)
        return err_set(err, ERR_INPUT, "%s by a negative number", op == OP_CDIV ? "cdiv" : "align");
    int64_t up = x / y + (x % y > 0);
    switch (op) {
    case OP_DIV:
        *out = x / y;
        return 0;
    case OP_MOD:
        *out = x % y;
        return 0;
    case OP_CDIV:
        *out = up;
        return 0;
    default:
        return __builtin_mul_overflow(up, y, out) ? err_set(err, ERR_INPUT, "overflow") : 0;
    }
}

static int binary(enum op op, int64_t x, int64_t y, int64_t *out, struct err *err)
{
    bool over = false;
    switch (op) {
    case OP_ADD:
        over = __builtin_add_overflow(x, y, out);
        break;
    case OP_SUB:
        over = __builtin_sub_overflow(x, y, out);
        break;
    case OP_MUL:
        over = __builtin_mul_overflow(x, y, out);
        break;
    case OP_EQ:
        *out = x == y;
        break;
    case OP_NE:
        *out = x != y;
        break;
    case OP_LT:
        *out = x < y;
        break;
    case OP_LE:
        *out = x <= y;
        break;
    case OP_GT:
        *out = x > y;
        break;
    case OP_GE:
        *out = x >= y;
        break;
    case OP_MIN:
        *out = MIN(x, y);
        break;
    case OP_MAX:
        *out = MAX(x, y);
        break;
    default:
        return divide(op, x, y, out, err);
    }
    return over ? err_set(err, ERR_INPUT, "overflow") : 0;
}

static int unary(enum op op, int64_t *x, struct err *err)
{
    switch (op) {
    case OP_NEG:
        return __builtin_sub_overflow((int64_t)0, *x, x) ? err_set(err, ERR_INPUT, "overflow") : 0;
    case OP_NOT:
        *x = !*x;
        return 0;
    case OP_BOOL:
        *x = *x != 0;
        return 0;
    default: /* OP_POW2CEIL */
        if (*x > INT64_C(1) << 62)
            return err_set(err, ERR_INPUT, "overflow");
        if (*x > 1)
            *x = INT64_C(1) << (64 - __builtin_clzll((unsigned long long)*x - 1));
        else
            *x = 1;
        return 0;
    }
}

static int load_alignof(const struct expr *e, const struct expr_env *env, const struct insn *in,
                        int64_t *out, struct err *err)
{
    const char *name = e->tensors[in->arg];
    if (!env || !env->alignof_fn)
        return err_set(err, ERR_INPUT, "alignof(%s) has no meaning here", name);
    if (env->alignof_fn(env->ctx, name, out) < 0)
        return err_set(err, ERR_INPUT, "alignof: there is no tensor '%s'", name);
    return 0;
}

/* One instruction; sp points past the top of the stack. */
static int step(const struct expr *e, const struct expr_env *env, const struct insn *in,
                int64_t **sp, size_t *pc, struct err *err)
{
    int64_t *top = *sp - 1;
    enum op op = (enum op)in->op;
    switch (op) {
    case OP_CONST:
        *(*sp)++ = in->arg;
        return 0;
    case OP_NAME:
        *(*sp)++ = env->values[in->arg];
        return 0;
    case OP_ALIGNOF:
        return load_alignof(e, env, in, (*sp)++, err);
    case OP_NEG:
    case OP_NOT:
    case OP_BOOL:
    case OP_POW2CEIL:
        return unary(op, top, err);
    case OP_JUMP:
        *pc = (size_t)in->arg;
        return 0;
    case OP_JUMP_IF_ZERO:
        if (*--*sp == 0)
            *pc = (size_t)in->arg;
        return 0;
    case OP_JUMP_OR_POP_ZERO:
    case OP_JUMP_OR_POP_ONE:
        if ((*top == 0) == (op == OP_JUMP_OR_POP_ZERO)) {
            *top = *top != 0;
            *pc = (size_t)in->arg;
        } else {
            --*sp;
        }
        return 0;
    default:
        --*sp;
        return binary(op, top[-1], top[0], &top[-1], err);
    }
}

int expr_eval(const struct expr *e, const struct expr_env *env, int64_t *out, struct err *err)
{
    int64_t stack[EXPR_MAX_STACK] = {0}, *sp = stack;
    for (size_t pc = 0; pc < e->ninsns;) {
        const struct insn *in = &e->insns[pc++];
        if (step(e, env, in, &sp, &pc, err) < 0) {
            if (err) {
                size_t n = strlen(err->msg);
                snprintf(err->msg + n, sizeof err->msg - n, " at column %d of '%.200s'",
                         in->col + 1, e->text);
            }
            return -1;
        }
    }
    *out = stack[0];
    return 0;
}

/* Returns the operator's name, or NULL if it is not a plain operator. */
static const char *operator_name(enum op op)
{
    static const char *const names[] = {
        [OP_NEG] = "neg",   [OP_NOT] = "!",       [OP_ADD] = "+",
        [OP_SUB] = "-",     [OP_MUL] = "*",       [OP_DIV] = "/",
        [OP_MOD] = "%",     [OP_EQ] = "==",       [OP_NE] = "!=",
        [OP_LT] = "<",      [OP_LE] = "<=",       [OP_GT] = ">",
        [OP_GE] = ">=",     [OP_MIN] = "min",     [OP_MAX] = "max",
        [OP_CDIV] = "cdiv", [OP_ALIGN] = "align", [OP_POW2CEIL] = "pow2ceil"};
    return (size_t)op < ARRAY_LEN(names) ? names[op] : NULL;
}

/* An operator && || ?: whose last operand is not folded yet. `end` is the instruction that its jump
 * goes to: the first one after the last operand. */
struct open_operator {
    const char *op;
    void *first, *then; /* `then` is NULL before the ':' of ?: */
    size_t end;
};

struct folder {
    const struct expr *e;
    const struct expr_fold *f;
    void *stack[EXPR_MAX_STACK], **sp;
    struct open_operator open[EXPR_MAX_STACK];
    size_t nopen;
};

/* Ends the operators whose last operand ends before instruction `pc`. */
static bool close_operators(struct folder *r, size_t pc)
{
    while (r->nopen && r->open[r->nopen - 1].end == pc) {
        const struct open_operator *o = &r->open[--r->nopen];
        void *last = *--r->sp;
        void *made = o->then ? r->f->choose(r->f->ctx, o->first, o->then, last)
                             : r->f->apply(r->f->ctx, o->op, o->first, last);
        if (!made)
            return false;
        *r->sp++ = made;
    }
    return true;
}

static bool fold_jump(struct folder *r, const struct insn *in)
{
    struct open_operator *o = &r->open[r->nopen];
    switch ((enum op)in->op) {
    case OP_JUMP_OR_POP_ZERO:
    case OP_JUMP_OR_POP_ONE:
        *o = (struct open_operator){.op = in->op == OP_JUMP_OR_POP_ZERO ? "&&" : "||",
                                    .end = (size_t)in->arg};
        break;
    case OP_JUMP_IF_ZERO:
        *o = (struct open_operator){.op = "?:", .end = SIZE_MAX};
        break;
    default: /* OP_JUMP ends the second operand of ?: */
        o--;
        o->then = *--r->sp;
        o->end = (size_t)in->arg;
        return true;
    }
    if (!r->f->choose)
        return false;
    o->first = *--r->sp;
    r->nopen++;
    return true;
}

/* Folds an instruction that is not a jump. */
static void *fold_value(struct folder *r, const struct insn *in)
{
    enum op op = (enum op)in->op;
    const struct expr_fold *f = r->f;
    const char *name = operator_name(op);
    if (op == OP_CONST)
        return f->number(f->ctx, in->arg);
    if (op == OP_NAME)
        return f->name(f->ctx, (size_t)in->arg);
    if (op == OP_ALIGNOF)
        return f->tensor_align ? f->tensor_align(f->ctx, r->e->tensors[in->arg]) : NULL;
    if (!name)
        return NULL;
    bool one = op == OP_NEG || op == OP_NOT || op == OP_POW2CEIL;
    void *b = one ? NULL : *--r->sp;
    void *a = *--r->sp;
    return f->apply(f->ctx, name, a, b);
}

static void *fold(struct folder *r)
{
    for (size_t pc = 0; pc < r->e->ninsns; pc++) {
        const struct insn *in = &r->e->insns[pc];
        if (!close_operators(r, pc))
            return NULL;
        if (in->op >= OP_JUMP) {
            if (!fold_jump(r, in))
                return NULL;
        } else if (in->op != OP_BOOL) { /* OP_BOOL is not needed: `apply` of && || gives 0 or 1 */
            void *made = fold_value(r, in);
            if (!made)
                return NULL;
            *r->sp++ = made;
        }
    }
    return close_operators(r, r->e->ninsns) ? r->stack[0] : NULL;
}

void *expr_fold(const struct expr *e, const struct expr_fold *f)
{
    struct folder *r = xcalloc(1, sizeof *r);
    r->e = e;
    r->f = f;
    r->sp = r->stack;
    void *made = fold(r);
    free(r);
    return made;
}

const char *expr_text(const struct expr *e)
{
    return e->text;
}

void expr_fix(struct expr *e, size_t i, int64_t value)
{
    for (size_t k = 0; k < e->ninsns; k++)
        if (e->insns[k].op == OP_NAME && (size_t)e->insns[k].arg == i) {
            e->insns[k].op = OP_CONST;
            e->insns[k].arg = value;
        }
}

bool expr_uses(const struct expr *e, size_t i)
{
    for (size_t k = 0; k < e->ninsns; k++)
        if (e->insns[k].op == OP_NAME && (size_t)e->insns[k].arg == i)
            return true;
    return false;
}

const char *expr_alignof_name(const struct expr *e, size_t i, size_t *col)
{
    if (i >= e->ntensors)
        return NULL;
    if (col)
        *col = e->tensor_cols[i];
    return e->tensors[i];
}
