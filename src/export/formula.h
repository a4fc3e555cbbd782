/*
 * formula.h - turns an expression of a plan or a task into a tree, and prints it as C or Python.
 *
 *     const struct formula *f = formula_of(expr, &scope, &arena);
 *     formula_print(&sb, f, &scope, FORMULA_VALUE);           "cdiv(N, 128)"
 *
 * Both languages get infix text; the C text is also C++. In C an operation that may overflow, or
 * divide by a number that is not positive, becomes a checked call. formula_of() knows from the
 * bounds of the names which operations are safe.
 */
#ifndef EXPORT_FORMULA_H
#define EXPORT_FORMULA_H

#include "base/arena.h"
#include "base/expr.h"
#include "base/strbuf.h"
#include "export/names.h"

/* The names that expressions may use, as the printed code spells them. */
struct formula_scope {
    enum export_lang lang;
    size_t n;
    const char *const *names;
    const int64_t *lo, *hi;   /* the least and the greatest value of each name */
    bool wide;                /* C: print number literals as INT64_C(...) */
    const char *const *reals; /* the text of each floating-point scalar: its name or its value */
};

enum formula_kind {
    FORMULA_NUMBER,
    FORMULA_NAME,
    FORMULA_ALIGN,
    FORMULA_APPLY,
    FORMULA_CHOOSE,
    FORMULA_REAL,
    FORMULA_REAL_NAME
};

struct formula {
    enum formula_kind kind;
    int64_t number;     /* if kind is FORMULA_NUMBER */
    double value;       /* if kind is FORMULA_REAL */
    size_t name;        /* index in `names` for FORMULA_NAME, in `reals` for FORMULA_REAL_NAME */
    const char *tensor; /* if kind is FORMULA_ALIGN: the formula is alignof(tensor) */
    const char *op;     /* if kind is FORMULA_APPLY: "+", "min", "neg", "&&", ... */
    const struct formula *a, *b, *c;
    double lo, hi; /* the value lies between these, if no operation fails */
    bool may_fail; /* this operation may overflow 64 bits, or divide by 0 or less */
    bool real;     /* the value is a double; lo and hi say nothing */
};

enum formula_use { FORMULA_VALUE, FORMULA_CONDITION }; /* a condition: any number but 0 is true */

const struct formula *formula_of(const struct expr *e, const struct formula_scope *s,
                                 struct arena *a);
void formula_print(struct strbuf *out, const struct formula *f, const struct formula_scope *s,
                   enum formula_use use);
/* Writes v with so many digits that the compiler or interpreter reads exactly v. */
void formula_real(struct strbuf *out, double v, enum export_lang lang);
/* Returns how often name number i of the scope occurs in the formula. */
unsigned formula_uses(const struct formula *f, size_t i);

#endif
