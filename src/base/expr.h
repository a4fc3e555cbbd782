/*
 * expr.h - expressions of 64-bit integers, in tasks and launch plans.
 *
 *     + - * / %  == != < <= > >=  ! && ||  ?:  ( )  min max cdiv align pow2ceil alignof(NAME)
 *
 *     static const char *names[] = {"M", "N"};
 *     struct expr *e = expr_parse("cdiv(N,128)", 11, names, 2, &arena, &col, err);
 *     int64_t v;
 *     if (expr_eval(e, &(struct expr_env){.values = axes}, &v, err) < 0) ...
 *
 * Division truncates as in C. cdiv(a,b) is a/b rounded up; align(a,b) rounds a up to a multiple of
 * b; both need b > 0. pow2ceil(a) rounds up to a power of 2. alignof(NAME) is the largest power of
 * 2, in bytes, that divides the address of tensor NAME. min and max take 2 to 16 arguments. && ||
 * ?: evaluate only the operands they need. a < b < c, overflow, division by zero and unknown names
 * are errors.
 *
 * expr_parse_real() also accepts real numbers (0.5, 1e-6), real names, and sqrt exp log log2 pow
 * double. As in C, an operator computes in double only if an operand is real, so 1/2*0.5 is 0.
 */
#ifndef BASE_EXPR_H
#define BASE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"

#define EXPR_MAX_LEN 4096
#define EXPR_MAX_DEPTH 200

struct expr;

typedef int (*expr_alignof_fn)(void *ctx, const char *name, int64_t *out);
struct expr_env {
    const int64_t *values;      /* one for each integer name */
    expr_alignof_fn alignof_fn; /* NULL: alignof is an error */
    void *ctx;
    const double *reals; /* one for each real name */
};

/* Parses an expression, which lives in the arena. On an error, returns NULL, and *col becomes the
 * column of the error, from 0. */
struct expr *expr_parse(const char *text, size_t len, const char *const *names, size_t nnames,
                        struct arena *a, size_t *col, struct err *err);
int expr_eval(const struct expr *e, const struct expr_env *env, int64_t *out, struct err *err);

struct expr_names {
    const char *const *ints;
    size_t nints;
    const char *const *reals;
    size_t nreals;
};
struct expr *expr_parse_real(const char *text, size_t len, const struct expr_names *names,
                             struct arena *a, size_t *col, struct err *err);
/* Returns whether the value is a real number. If so, expr_eval() fails, and expr_eval_real() gives
 * the value. It fails if an operator gives infinity or NaN. */
bool expr_is_real(const struct expr *e);
int expr_eval_real(const struct expr *e, const struct expr_env *env, double *out, struct err *err);
const char *expr_text(const struct expr *e);
/*
 * Turns an expression into another representation, from the leaves up. `apply` gets the operator
 * ("+", "min", "neg", "<", ...) and the results for its operands; b is NULL if there is only one.
 * Returns NULL if a callback did, or if the expression needs a callback that is NULL.
 *
 * && and || are operators of `apply`, but need `choose` too, because they may skip an operand. Real
 * operators are "+", "-", "*", "real/", "fmin", "fmax", "neg", "<", ..., "sqrt", "pow", "double".
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
/* Appends a shorter expression: "(64*1)/cdiv(N, 1) + 0" becomes "64/N". The new expression
 * has the same value wherever `text` has one. Any word in `text` may be a name. Returns false if
 * `text` is no expression of integers. */
bool expr_simplify(const char *text, size_t len, struct strbuf *out);
void expr_fix(struct expr *e, size_t i, int64_t value);
bool expr_uses(const struct expr *e, size_t i);
/* Returns NAME of the i-th alignof(NAME), and sets *col to its column. Returns NULL if there are
 * fewer. */
const char *expr_alignof_name(const struct expr *e, size_t i, size_t *col);

#endif
