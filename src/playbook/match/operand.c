/* operand.c - finds the inputs that a product multiplies, and gives them the shapes of matrices. */
#include "playbook/match/operand.h"

#include "base/util.h"

static bool is_input(void *m, const struct value *v)
{
    return v->op == OP_INPUT || meaning_input(m, v) >= 0;
}

/* If v is an input, or the reshape through which an input is used (m->seen), returns the number of
 * the input, else -1. */
static int number_of_input(const struct meaning *m, const struct value *v)
{
    for (size_t i = 0; i < m->inputs; i++)
        if (m->seen[i] == v || m->g.inputs.items[i] == v)
            return (int)i;
    return -1;
}

bool find_operand(struct meaning *m, const struct value *v, struct operand *out)
{
    const struct view_end end = {is_input, m, true};
    if (!read_view(&m->g.dims, v, &end, &out->view))
        return false;
    out->input = number_of_input(m, out->view.base);
    return out->input >= 0;
}

/* Puts the numbers of axes `from` to `to` - 1 into the list, and returns its new length. */
static uint32_t add_axes(uint32_t *axes, uint32_t n, uint32_t from, uint32_t to)
{
    while (from < to)
        axes[n++] = from++;
    return n;
}

bool operand_is_stored(const struct view *v, uint32_t batch, uint32_t mid, bool *turned)
{
    uint32_t axes[GRAPH_MAX_RANK], n = add_axes(axes, 0, 0, v->rank);
    *turned = false;
    if (view_in_order(v, axes, n))
        return true;
    *turned = true;
    n = add_axes(axes, 0, 0, batch);
    n = add_axes(axes, n, mid, v->rank);
    n = add_axes(axes, n, batch, mid);
    return view_in_order(v, axes, n);
}

json_t *tensor_with_shape(const struct meaning *m, size_t i, const struct dim *x,
                          const struct dim *y, const struct dim *z)
{
    const struct dim *const sizes[] = {x, y, z};
    const json_t *tensor = json_array_get(json_object_get(m->facts, "tensors"), i);
    json_t *copy = json_deep_copy(tensor), *shape = json_array();
    for (size_t k = 0; k < ARRAY_LEN(sizes) && sizes[k]; k++)
        json_array_append_new(shape, json_string(sizes[k]->text));
    json_object_set_new(copy, "shape", shape);
    return copy;
}
