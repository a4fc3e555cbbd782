/* view.c - finds the base of a view behind reshapes and permutations. */
#include "playbook/match/view.h"

#include "base/util.h"

/* Makes the view of v itself, in which each axis is one axis of the base. */
static void see_array(const struct value *v, struct view *out)
{
    uint32_t at = 0;
    out->rank = v->rank;
    for (uint32_t i = 0; i < v->rank; i++) {
        out->first[i] = at;
        at += dim_is(v->shape[i], 1) ? 0 : 1;
        out->end[i] = at;
    }
}

bool view_in_order(const struct view *v, const uint32_t *axes, uint32_t n)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = axes[i];
        if (v->first[a] == v->end[a])
            continue;
        if (v->first[a] != at)
            return false;
        at = v->end[a];
    }
    return true;
}

bool view_is_array(const struct view *v)
{
    uint32_t axes[GRAPH_MAX_RANK];
    for (uint32_t i = 0; i < v->rank; i++)
        axes[i] = i;
    return view_in_order(v, axes, v->rank);
}

static void permute(const struct value *v, struct view *out)
{
    const struct attr *axes = value_attr(v, "dims");
    struct view was = *out;
    for (uint32_t i = 0; i < v->rank; i++) {
        out->first[i] = was.first[axes->ints[i]];
        out->end[i] = was.end[axes->ints[i]];
    }
}

/* If the elements of the view are in the order of the base (view_is_array()), any reshape is
 * allowed. Otherwise a reshape may only merge axes whose ranges lie side by side, and add or remove
 * axes of size 1. */
static bool reshape(struct dim_pool *dims, const struct value *v, struct view *out)
{
    const struct value *x = v->args[0];
    if (view_is_array(out)) {
        see_array(v, out);
        return true;
    }
    struct view was = *out;
    uint32_t k = 0;
    out->rank = v->rank;
    for (uint32_t i = 0; i < v->rank; i++) {
        const struct dim *size = dim_number(dims, 1);
        out->first[i] = out->end[i] = 0;
        while (k < x->rank && !dim_same(size, v->shape[i])) {
            bool none = was.first[k] == was.end[k], begins = out->first[i] == out->end[i];
            if (!none && !begins && was.first[k] != out->end[i])
                return false;
            size = dim_mul(dims, size, x->shape[k]);
            out->first[i] = !none && begins ? was.first[k] : out->first[i];
            out->end[i] = none ? out->end[i] : was.end[k];
            k++;
        }
        if (!dim_same(size, v->shape[i]))
            return false;
    }
    for (; k < x->rank; k++)
        if (was.first[k] != was.end[k])
            return false;
    return true;
}

bool read_view(struct dim_pool *dims, const struct value *v, const struct view_end *end,
               struct view *out)
{
    bool is_cast = end->casts && v->op == OP_CAST && dtype_is_float(v->dtype) &&
                   dtype_is_float(v->args[0]->dtype);
    if (end->stops(end->ctx, v) || (v->op != OP_RESHAPE && v->op != OP_PERMUTE && !is_cast)) {
        out->base = v;
        see_array(v, out);
        return true;
    }
    if (!read_view(dims, v->args[0], end, out))
        return false;
    if (v->op == OP_PERMUTE)
        permute(v, out);
    return v->op != OP_RESHAPE || reshape(dims, v, out);
}
