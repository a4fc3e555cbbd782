/* playbook_permute.c - permutations of axes, brought to the few forms that templates know. */
#include <string.h>

#include "author/playbook_bind.h"
#include "author/playbook_torch.h"
#include "base/util.h"

/* Axes of the result in runs that stay together: run k is axes [from, from + n) of the input. */
struct runs {
    size_t n, from[TORCH_MAX_RANK], len[TORCH_MAX_RANK];
};

static struct runs runs_of(const size_t *perm, size_t rank)
{
    struct runs r = {0};
    for (size_t i = 0; i < rank; i++) {
        if (i && perm[i] == perm[i - 1] + 1) {
            r.len[r.n - 1]++;
            continue;
        }
        r.from[r.n] = perm[i];
        r.len[r.n++] = 1;
    }
    return r;
}

/* The result has the input's dimensions, permuted? */
static bool is_permuted(const json_t *x, const json_t *y, const size_t *perm, size_t rank)
{
    bool same = json_array_size(y) == rank;
    for (size_t i = 0; same && i < rank; i++)
        same = same_text(json_string_value(json_array_get(x, perm[i])),
                         json_string_value(json_array_get(y, i)));
    return same;
}

static json_t *seen_as(const json_t *task, const char *const *dims, bool rows)
{
    json_t *copy = json_deep_copy(task), *tensors = json_object_get(copy, "tensors");
    json_t *x = json_pack("[s, s, s]", dims[0], dims[1], dims[2]);
    json_t *y = json_pack("[s, s, s]", dims[0], dims[2], dims[1]);
    if (rows) {
        json_array_append_new(x, json_string(dims[3]));
        json_array_append_new(y, json_string(dims[3]));
    }
    json_object_set_new(json_array_get(tensors, 0), "shape", x);
    json_object_set_new(json_array_get(tensors, 1), "shape", y);
    return copy;
}

const struct pb_op *permute_op_from_torch(const struct playbook *pb, const json_t *task,
                                          json_t **made, struct strbuf *why)
{
    const json_t *tensors = json_object_get(task, "tensors"), *t = json_array_get(tensors, 0);
    const json_t *x = json_object_get(t, "shape");
    const json_t *y = json_object_get(json_array_get(tensors, 1), "shape");
    size_t rank = json_array_size(x), perm[TORCH_MAX_RANK];
    if (json_array_size(tensors) != 2) {
        strbuf_adds(why, "it takes one tensor and makes one");
        return NULL;
    }
    if (!torch_to_permutation(facts_text(task, "torch"), facts_text(t, "name"), rank, perm, why))
        return NULL;
    struct runs r = runs_of(perm, rank);
    size_t front = r.from[0] == 0, moved = r.n - front;
    bool rows = moved == 3 && r.from[r.n - 1] + r.len[r.n - 1] == rank;
    const struct pb_op *op = op_named(pb, rows ? "permute_rows" : "permute_zmn");
    if (!is_permuted(x, y, perm, rank) || (moved != 2 && !rows) || !op) {
        strbuf_adds(why, "its axes move in another way");
        return NULL;
    }
    /* The result has the second before the first. */
    struct arena mem = ARENA_INIT;
    const char *dims[4] = {"1"};
    for (size_t k = 0; k < r.n; k++) {
        size_t to = k < front ? 0 : k == front ? 2 : k == front + 1 ? 1 : 3;
        dims[to] = dims_product(&mem, x, r.from[k], r.from[k] + r.len[k]);
    }
    *made = seen_as(task, dims, rows);
    arena_release(&mem);
    return op;
}
