/*
 * expr_run.c - evaluates the code of an expression, and folds it: calls a function for each
 * operator to turn it into another form, such as C text.
 *
 * && || ?: jump over the branch that they do not need, so an error in that branch does not matter.
 */
#include "base/expr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/expr_code.h"
#include "base/util.h"

static int divide(enum op op, int64_t x, int64_t y, int64_t *out, struct err *err)
{
    if (y == 0)
        return err_set(err, ERR_INPUT,
                       op == OP_ALIGN ? "align needs a divisor above 0" : "division by zero");
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

/* Applies an operator to x and, if it has two operands, y. Writes to *slot the bits of a double, or
 * 0 or 1 for a comparison. */
static int real_step(enum op op, int64_t *slot, double x, double y, struct err *err)
{
    double v = 0;
    switch (op) {
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
        *slot = op == OP_EQ   ? x == y
                : op == OP_NE ? x != y
                : op == OP_LT ? x < y
                : op == OP_LE ? x <= y
                : op == OP_GT ? x > y
                              : x >= y;
        return 0;
    case OP_ADD:
        v = x + y;
        break;
    case OP_SUB:
        v = x - y;
        break;
    case OP_MUL:
        v = x * y;
        break;
    case OP_DIV:
        if (y == 0)
            return err_set(err, ERR_INPUT, "division by zero");
        v = x / y;
        break;
    case OP_MIN:
        v = fmin(x, y);
        break;
    case OP_MAX:
        v = fmax(x, y);
        break;
    case OP_POW:
        v = pow(x, y);
        break;
    case OP_NEG:
        v = -x;
        break;
    case OP_SQRT:
        v = sqrt(x);
        break;
    case OP_EXP:
        v = exp(x);
        break;
    case OP_LOG:
        v = log(x);
        break;
    case OP_LOG2:
        v = log2(x);
        break;
    default: /* OP_DOUBLE */
        v = x;
        break;
    }
    if (!isfinite(v))
        return err_set(err, ERR_INPUT, "the result is not a finite number");
    *slot = expr_bits(v);
    return 0;
}

static bool has_one_operand(enum op op)
{
    return op == OP_NEG || op == OP_NOT || op == OP_POW2CEIL || (op >= OP_DOUBLE && op <= OP_LOG2);
}

/* Executes one instruction. *sp points past the top of the stack; *pc is the index of the next
 * instruction. */
static int step(const struct expr *e, const struct expr_env *env, const struct insn *in,
                int64_t **sp, size_t *pc, struct err *err)
{
    int64_t *top = *sp - 1;
    enum op op = (enum op)in->op;
    if (in->real && has_one_operand(op))
        return real_step(op, top, expr_real(*top), 0, err);
    if (in->real) {
        --*sp;
        return real_step(op, &top[-1], expr_real(top[-1]), expr_real(top[0]), err);
    }
    switch (op) {
    case OP_CONST:
    case OP_REAL_CONST:
        *(*sp)++ = in->arg;
        return 0;
    case OP_REAL_NAME:
        *(*sp)++ = expr_bits(env->reals[in->arg]);
        return 0;
    case OP_TO_REAL:
        *top = expr_bits((double)*top);
        return 0;
    case OP_BELOW_TO_REAL:
        top[-1] = expr_bits((double)top[-1]);
        return 0;
    case OP_NOTHING:
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

static int run(const struct expr *e, const struct expr_env *env, int64_t *out, struct err *err)
{
    int64_t stack[EXPR_MAX_STACK], *sp = stack;
    memset(stack, 0, MAX(e->stack, (size_t)1) * sizeof *stack);
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

int expr_eval(const struct expr *e, const struct expr_env *env, int64_t *out, struct err *err)
{
    if (e->is_real)
        return err_set(err, ERR_INPUT, "'%.200s' is a real number, not an integer", e->text);
    return run(e, env, out, err);
}

int expr_eval_real(const struct expr *e, const struct expr_env *env, double *out, struct err *err)
{
    int64_t v;
    if (run(e, env, &v, err) < 0)
        return -1;
    *out = e->is_real ? expr_real(v) : (double)v;
    return 0;
}

bool expr_is_real(const struct expr *e)
{
    return e->is_real;
}

/* Returns the operator's name for expr_fold. Returns NULL for an instruction that is not an
 * operator, such as a jump. */
static const char *operator_name(enum op op, bool real)
{
    static const char *const names[] = {
        [OP_NEG] = "neg",   [OP_NOT] = "!",       [OP_ADD] = "+",
        [OP_SUB] = "-",     [OP_MUL] = "*",       [OP_DIV] = "/",
        [OP_MOD] = "%",     [OP_EQ] = "==",       [OP_NE] = "!=",
        [OP_LT] = "<",      [OP_LE] = "<=",       [OP_GT] = ">",
        [OP_GE] = ">=",     [OP_MIN] = "min",     [OP_MAX] = "max",
        [OP_CDIV] = "cdiv", [OP_ALIGN] = "align", [OP_POW2CEIL] = "pow2ceil",
        [OP_SQRT] = "sqrt", [OP_EXP] = "exp",     [OP_LOG] = "log",
        [OP_LOG2] = "log2", [OP_POW] = "pow",     [OP_DOUBLE] = "double"};
    if (real && (op == OP_DIV || op == OP_MIN || op == OP_MAX))
        return op == OP_DIV ? "real/" : op == OP_MIN ? "fmin" : "fmax";
    return (size_t)op < ARRAY_LEN(names) ? names[op] : NULL;
}

/* One of && || ?: whose last operand is not folded yet. `first` is its first operand. `end` is the
 * index of the first instruction after the last operand. */
struct open_operator {
    const char *op;
    /* then: the second operand of ?:. It is NULL until that operand is folded; `end` of a ?: is
     * SIZE_MAX until then. For && and ||, `then` is always NULL. */
    void *first, *then;
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

static void *fold_value(struct folder *r, const struct insn *in)
{
    enum op op = (enum op)in->op;
    const struct expr_fold *f = r->f;
    const char *name = operator_name(op, in->real);
    if (op == OP_CONST)
        return f->number(f->ctx, in->arg);
    if (op == OP_NAME)
        return f->name(f->ctx, (size_t)in->arg);
    if (op == OP_REAL_CONST)
        return f->real ? f->real(f->ctx, expr_real(in->arg)) : NULL;
    if (op == OP_REAL_NAME)
        return f->real_name ? f->real_name(f->ctx, (size_t)in->arg) : NULL;
    if (op == OP_ALIGNOF)
        return f->tensor_align ? f->tensor_align(f->ctx, r->e->tensors[in->arg]) : NULL;
    if (!name)
        return NULL;
    bool one = has_one_operand(op);
    void *b = one ? NULL : *--r->sp;
    void *a = *--r->sp;
    return f->apply(f->ctx, name, a, b);
}

/* Folding leaves out an `op` that only converts: an integer operand to a real number, or an operand
 * of && or || to 0 or 1. Callers write C or Python, whose operators convert integers themselves.
 * But the caller must see to it that && and || give 0 or 1. */
static bool is_implicit(uint8_t op)
{
    return op == OP_BOOL || op == OP_TO_REAL || op == OP_BELOW_TO_REAL || op == OP_NOTHING;
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
        } else if (!is_implicit(in->op)) {
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
