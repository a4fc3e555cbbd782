/*
 * permute.c - matches a permutation of axes that templates know.
 *
 * Axes that are neighbours in both the input and the result count as one axis. The permutation must
 * then be "permute_zmn", [Z, M, N] to [Z, N, M], or "permute_rows", [Z, M, N, D] to [Z, N, M, D]. Z
 * is 1 if the first axis of the input is not the first axis of the result.
 */
#include "base/util.h"
#include "playbook/match/match.h"

/* The axes of the result, cut into runs. The axes of a run follow each other in the input too. Run
 * k has the axes [from[k], from[k] + len[k]) of the input. */
struct runs {
    size_t n, from[GRAPH_MAX_RANK], len[GRAPH_MAX_RANK];
};

static struct runs runs_of(const struct attr *perm)
{
    struct runs r = {0};
    for (size_t i = 0; i < perm->n; i++) {
        if (i && perm->ints[i] == perm->ints[i - 1] + 1) {
            r.len[r.n - 1]++;
            continue;
        }
        r.from[r.n] = (size_t)perm->ints[i];
        r.len[r.n++] = 1;
    }
    return r;
}

/* Returns a copy of the task in which the two tensors have the shapes of the op's roles. */
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

const struct pb_op *match_permute(struct match *x)
{
    const json_t *tensors = json_object_get(x->m->facts, "tensors");
    const json_t *shape = json_object_get(json_array_get(tensors, 0), "shape");
    if (json_array_size(tensors) != 2) {
        strbuf_adds(x->why, "the task does not have exactly one input and one output");
        return NULL;
    }
    if (x->v->op != OP_PERMUTE || meaning_input(x->m, x->v->args[0]) != 0) {
        cannot_write(x->why, "more than a permutation of axes, at", x->v);
        return NULL;
    }
    struct runs r = runs_of(value_attr(x->v, "dims"));
    size_t front = r.from[0] == 0, moved = r.n - front;
    bool rows = moved == 3 && r.from[r.n - 1] + r.len[r.n - 1] == x->v->rank;
    const struct pb_op *op = op_called(x->pb, rows ? "permute_rows" : "permute_zmn");
    if ((moved != 2 && !rows) || !op) {
        strbuf_adds(x->why, "the task moves axes in a way that no template knows");
        return NULL;
    }
    struct arena mem = ARENA_INIT;
    const char *dims[4] = {"1"};
    /* The runs are, in the order of the result: Z (if there is one), N, M, and for rows D. */
    for (size_t k = 0; k < r.n; k++) {
        size_t to = k < front ? 0 : k == front ? 2 : k == front + 1 ? 1 : 3;
        dims[to] = dims_product(&mem, shape, r.from[k], r.from[k] + r.len[k]);
    }
    x->seen = seen_as(x->m->facts, dims, rows);
    arena_release(&mem);
    return op;
}
