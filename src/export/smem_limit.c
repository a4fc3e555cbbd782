/* smem_limit.c - checks whether the shared memory of a launch stays within the limit at all sizes
 * that the launch's condition allows. See smem_limit.h. */
#include "export/smem_limit.h"

#include <string.h>

#include "base/util.h"

/* Looks in a condition for the terms `NAME <= N` and `NAME < N`, which && may join. Lowers the
 * upper bound of each such NAME in `hi`. */
static void narrow(const struct formula *f, int64_t *hi)
{
    if (f->kind != FORMULA_APPLY)
        return;
    if (str_eq(f->op, "&&")) {
        narrow(f->a, hi);
        narrow(f->b, hi);
    } else if ((str_eq(f->op, "<=") || str_eq(f->op, "<")) && f->a->kind == FORMULA_NAME &&
               f->b->kind == FORMULA_NUMBER) {
        int64_t *bound = &hi[f->a->name];
        *bound = MIN(*bound, f->b->number - (f->op[1] == '\0'));
    }
}

const struct formula *smem_over_limit(struct export_model *m, const struct plan_launch *l,
                                      const struct formula_scope *s)
{
    if (l->kind != PLAN_KERNEL || !l->smem)
        return NULL;
    int64_t *hi = arena_alloc(&m->arena, (s->n + 1) * sizeof *hi);
    for (size_t i = 0; i < s->n; i++)
        hi[i] = s->hi[i];
    if (l->when)
        narrow(formula_of(l->when, s, &m->arena), hi);
    for (size_t i = 0; i < s->n; i++)
        hi[i] = MAX(hi[i], s->lo[i]);
    struct formula_scope within = *s;
    within.hi = hi;
    if (formula_of(l->smem, &within, &m->arena)->hi <= PLAN_MAX_SMEM)
        return NULL;
    return formula_of(l->smem, s, &m->arena);
}
