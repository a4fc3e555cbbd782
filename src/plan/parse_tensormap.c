/*
 * parse_tensormap.c - parses the plan's tensor maps, with all checks that do not need a shape.
 */
#include <string.h>

#include "base/util.h"
#include "plan/model.h"

static bool map_target(struct plan *p, const struct json_node *n, struct plan_map *m)
{
    struct json_node c;
    const char *name;
    if (!json_node_need(n, "tensor", &c) || !json_node_str(&c, 128, &name))
        return false;
    int i = task_tensor_index(p->task, name);
    if (i >= 0) {
        m->index = (size_t)i;
        m->dtype = p->task->tensors.items[i].dtype;
        return true;
    }
    for (size_t k = 0; k < p->workspaces.n; k++)
        if (str_eq(p->workspaces.items[k].name, name)) {
            m->index = k;
            m->of_workspace = true;
            return true;
        }
    json_node_bad(&c, "there is no tensor or workspace \"%s\"", name);
    return false;
}

/* Parses an array of n expressions (1 to 5 if n is 0) into `out`, and sets *count. */
static bool map_list(struct plan *p, const struct json_node *obj, const char *key, size_t n,
                     struct expr **out, uint32_t *count)
{
    struct json_node c;
    if (!json_node_get(obj, key, &c))
        return false;
    if (!json_is_array(c.j)) {
        json_node_bad(&c, "expected an array, innermost dimension first");
        return false;
    }
    size_t have = json_array_size(c.j);
    if (n ? have != n : have < 1 || have > 5) {
        if (n)
            json_node_bad(&c, "%zu entries; with this box there must be %zu", have, n);
        else
            json_node_bad(&c, "a tensor map has 1 to 5 dimensions, not %zu", have);
        return false;
    }
    bool ok = true;
    for (size_t i = 0; i < have; i++) {
        struct json_node item = json_node_item(&c, i);
        ok = plan_expr(p, &item, &out[i]) && ok;
    }
    *count = (uint32_t)have;
    return ok;
}

static void map_words(const struct json_node *n, struct plan_map *m)
{
    static const char *const swizzles[] = {"none", "32B", "64B", "128B"};
    static const char *const promos[] = {"none", "64B", "128B", "256B"};
    static const char *const fills[] = {"zero", "nan"};
    static const char *const interleaves[] = {"none"};
    struct json_node c;
    size_t v;
    if (json_node_get(n, "swizzle", &c) && json_node_word(&c, swizzles, 4, &v))
        m->swizzle = (uint8_t)v;
    if (json_node_get(n, "l2promo", &c) && json_node_word(&c, promos, 4, &v))
        m->l2promo = (uint8_t)v;
    if (json_node_get(n, "interleave", &c))
        json_node_word(&c, interleaves, 1, &v);
    if (json_node_get(n, "fill", &c) && json_node_word(&c, fills, 2, &v)) {
        m->fill_nan = v == 1;
        if (m->fill_nan && !dtype_is_float(m->dtype))
            json_node_bad(&c, "a map of %s cannot be filled with NaN", dtype_name(m->dtype));
    }
}

static void map_dtype(const struct json_node *n, struct plan_map *m, const struct task *t)
{
    struct json_node c;
    const char *name;
    if (json_node_get(n, "dtype", &c)) {
        if (!json_node_str(&c, 64, &name))
            return;
        enum dtype d = dtype_from_name(name);
        if (d == DT_NONE) {
            json_node_bad(&c, "unknown dtype \"%s\"", name);
            return;
        }
        if (!m->of_workspace && !json_object_get(n->j, "dims") &&
            dtype_bytes(d) != dtype_bytes(t->tensors.items[m->index].dtype))
            json_node_bad(
                &c, "%s has another size than the tensor's elements, so the map needs \"dims\" too",
                name);
        m->dtype = d;
    } else if (m->of_workspace) {
        json_node_bad(n, "a map of a workspace needs \"dtype\"");
    }
}

static void map_dims(struct plan *p, const struct json_node *n, struct plan_map *m)
{
    struct json_node c;
    uint32_t count;
    if (!json_node_need(n, "box", &c) || !map_list(p, n, "box", 0, m->box, &m->rank))
        return;
    m->has_dims = map_list(p, n, "dims", m->rank, m->dims, &count);
    map_list(p, n, "elem_strides", m->rank, m->elem_strides, &count);
    if (m->rank > 1)
        m->has_strides = map_list(p, n, "strides", m->rank - 1, m->strides + 1, &count);
    else if (json_node_get(n, "strides", &c) && json_array_size(c.j) != 0)
        json_node_bad(&c, "a map of one dimension has no strides");
    if (json_object_get(n->j, "dims"))
        return;
    if (m->of_workspace)
        json_node_bad(n, "a map of a workspace needs \"dims\"");
    else if (m->rank != p->task->tensors.items[m->index].rank && json_node_get(n, "box", &c))
        json_node_bad(&c,
                      "the box has %u dimensions, but the tensor \"%s\" has %u; change the box or "
                      "give \"dims\"",
                      m->rank, p->task->tensors.items[m->index].name,
                      p->task->tensors.items[m->index].rank);
}

static bool name_taken(const struct plan *p, const char *name)
{
    for (size_t i = 0; i < p->task->axes.n; i++)
        if (str_eq(p->task->axes.items[i].name, name))
            return true;
    for (size_t i = 0; i < p->task->scalars.n; i++)
        if (str_eq(p->task->scalars.items[i].name, name))
            return true;
    for (size_t i = 0; i < p->workspaces.n; i++)
        if (str_eq(p->workspaces.items[i].name, name))
            return true;
    return task_tensor_index(p->task, name) >= 0;
}

static void parse_map(struct plan *p, const struct json_node *n, const char *name)
{
    static const char *const keys[] = {"tensor", "box",        "dims",    "strides", "elem_strides",
                                       "dtype",  "interleave", "swizzle", "l2promo", "fill"};
    struct plan_map m = {.name = arena_strdup(&p->arena, name)};
    if (!json_node_name_ok(n, name) || !json_node_object(n, 16))
        return;
    if (name_taken(p, name)) {
        json_node_bad_key(n, "\"%s\" is already a name of the task or of a workspace", name);
        return;
    }
    json_node_only(n, keys, ARRAY_LEN(keys));
    if (!map_target(p, n, &m))
        return;
    map_dtype(n, &m, p->task);
    map_words(n, &m);
    map_dims(p, n, &m);
    *vec_push(&p->maps) = m;
}

void plan_parse_maps(struct plan *p, const struct json_node *root)
{
    struct json_node n;
    const char *key;
    json_t *value;
    if (!json_node_get(root, "tensormaps", &n) || !json_node_object(&n, PLAN_MAX_MAPS) || !p->task)
        return;
    json_object_foreach((json_t *)n.j, key, value)
    {
        struct json_node c = json_node_member(&n, key, value);
        parse_map(p, &c, key);
    }
}
