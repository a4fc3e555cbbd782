/* band.c - reads comparisons of row and column as bands of a matrix. */
#include "playbook/match/band.h"

#include <math.h>

#include "base/util.h"

bool band_narrow(const struct value *condition, bool taken, const struct band_index *index,
                 struct band *out)
{
    /* LT and GE are opposites, and so are GT and LE. */
    static const enum graph_op ops[] = {OP_LT, OP_GE, OP_GT, OP_LE};
    size_t op = 0;
    while (op < ARRAY_LEN(ops) && ops[op] != condition->op)
        op++;
    if (op == ARRAY_LEN(ops))
        return false;
    const struct value *x = condition->args[0], *y = condition->args[1];
    double k = 0;
    if (x->op == OP_SUB && value_is_number(y, &k)) {
        y = x->args[1];
        x = x->args[0];
    }
    int sign = index->sign(index->ctx, x);
    if (!sign || index->sign(index->ctx, y) != -sign || fabs(k) > 1e9 || k != floor(k))
        return false;
    enum graph_op is = ops[taken ? op : op ^ 1];
    bool least = is == OP_GE || is == OP_GT, strict = is == OP_LT || is == OP_GT;
    int64_t bound = (int64_t)k + (strict ? (least ? 1 : -1) : 0);
    if (least == (sign > 0))
        out->from = MAX(out->from, sign * bound);
    else
        out->to = MIN(out->to, sign * bound);
    return true;
}

void bind_band(struct match *x, struct band b)
{
    const struct band all = BAND_EVERYWHERE;
    bind_text(x->b, "keep_from", arena_printf(&x->b->arena, "%lldLL", (long long)b.from));
    bind_text(x->b, "keep_to", arena_printf(&x->b->arena, "%lldLL", (long long)b.to));
    bind_text(x->b, "masked", b.from > all.from || b.to < all.to ? "1" : "0");
}
