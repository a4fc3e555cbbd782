/*
 * expr.h - the expressions in tasks and launch plans. They compute with 64-bit integers. An
 * expression is parsed once and evaluated many times.
 *
 *     + - * / %  == != < <= > >=  ! && ||  ?:  ( )  min max cdiv align pow2ceil alignof(NAME)
 *
 *     static const char *names[] = {"M", "N"};
 *     struct expr *e = expr_parse("cdiv(N,128)", 11, names, 2, &arena, &col, err);
 *     int64_t v;
 *     if (expr_eval(e, &(struct expr_env){.values = axes}, &v, err) < 0) ...
 *
 * Division truncates as in C. cdiv(a,b) is a/b rounded up; align(a,b) is the least multiple of b
 * that is not below a; both need b > 0. pow2ceil(a) is the least power of 2 that is not below a.
 * alignof(NAME) is the largest power of 2, in bytes, that divides the address of the tensor NAME.
 * min and max take 2 to 16 arguments. && || ?: evaluate only the operands they need. a < b < c is
 * an error. Overflow, division by zero and an unknown name are errors; the message says at which
 * column. Depth and length are capped: 10,000 parentheses are an error, not a crash.
 *
 * expr_parse_real() also accepts real numbers (0.5, 1e-6), the names in expr_names.reals, and the
 * functions sqrt exp log log2 pow double. As in C, an operator with a real operand converts the
 * other operand and computes in double. An operator with two integer operands computes in integers,
 * so 1/2*0.5 is 0.
 */
#ifndef BASE_EXPR_H
#define BASE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

#define EXPR_MAX_LEN 4096
#define EXPR_MAX_DEPTH 200

struct expr;

/* Sets *out to the value of alignof(NAME) and returns 0; returns -1 if there is no such tensor. */
typedef int (*expr_alignof_fn)(void *ctx, const char *name, int64_t *out);
struct expr_env {
    const int64_t *values;      /* one per name given to expr_parse */
    expr_alignof_fn alignof_fn; /* NULL: alignof is an error */
    void *ctx;
    const double *reals; /* one per name in `reals` of expr_parse_real */
};

/* Returns the expression, which lives in the arena. On a parse error returns NULL, and *col is the
 * error's column (from 0), for callers that report file:line:column. */
struct expr *expr_parse(const char *text, size_t len, const char *const *names, size_t nnames,
                        struct arena *a, size_t *col, struct err *err);
int expr_eval(const struct expr *e, const struct expr_env *env, int64_t *out, struct err *err);

/* The names that an expression may use. `reals` are names of real numbers. */
struct expr_names {
    const char *const *ints;
    size_t nints;
    const char *const *reals;
    size_t nreals;
};
struct expr *expr_parse_real(const char *text, size_t len, const struct expr_names *names,
                             struct arena *a, size_t *col, struct err *err);
/* Whether the value is a real number. If so, expr_eval() fails; call expr_eval_real(). An operation
 * on real numbers whose result is not finite is an error. */
bool expr_is_real(const struct expr *e);
int expr_eval_real(const struct expr *e, const struct expr_env *env, double *out, struct err *err);
const char *expr_text(const struct expr *e);
/*
 * Turns an expression into another representation, from the leaves up. `apply` gets the operator
 * ("+", "min", "neg", "<", ...) and the results of the callbacks for its operands; b is NULL if
 * there is only one operand. expr_fold() returns the result of the last callback, which stands for
 * the whole expression. It returns NULL if a callback returned NULL, or if the expression needs a
 * callback that is NULL. ?: becomes a call of `choose`. && and || become calls of `apply`. These
 * three operators may skip an operand; if `choose` is NULL, expr_fold() refuses all three.
 * alignof(NAME) becomes a call of `tensor_align`, a real number a call of `real`, and a name in
 * `reals` a call of `real_name`. For operators on real numbers, `apply` gets the names "+", "-",
 * "*", "real/", "fmin", "fmax", "neg", "<", ..., "sqrt", "pow", "double".
 */
struct expr_fold {
    void *(*number)(void *ctx, int64_t v);
    void *(*name)(void *ctx, size_t i);
    void *(*apply)(void *ctx, const char *op, void *a, void *b);
    void *ctx;
    void *(*choose)(void *ctx, void *condition, void *then, void *otherwise);
    void *(*tensor_align)(void *ctx, const char *tensor);
    void *(*real)(void *ctx, double v);
    void *(*real_name)(void *ctx, size_t i);
};
void *expr_fold(const struct expr *e, const struct expr_fold *f);
/* Gives name number i a fixed value. From then on the expression does not mention the name. */
void expr_fix(struct expr *e, size_t i, int64_t value);
/* Whether the expression mentions name number i. */
bool expr_uses(const struct expr *e, size_t i);
/* `i` counts the uses of alignof(NAME) in the expression, from 0. Returns the NAME in use number i,
 * and sets *col to its column. Returns NULL if the expression has no use number i. */
const char *expr_alignof_name(const struct expr *e, size_t i, size_t *col);

#endif
