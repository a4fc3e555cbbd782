/* Tests graph_collapse(), which moves sums into products and convolutions: the values stay the
 * same, and the work shrinks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "graph/cost.h"
#include "graph/normal/collapse.h"
#include "graph_eval.h"
#include "torch_rig.h"

static int64_t size_named(const char *name)
{
    static const struct {
        const char *name;
        int64_t size;
    } sizes[] = {{"M", 3}, {"K", 5}, {"N", 2}, {"C", 4}, {"O", 6}, {"D", 7}, {"H", 11}, {"W", 10}};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        if (str_eq(sizes[i].name, name))
            return sizes[i].size;
    abort();
}

static void fill(double *x, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (double)(seed >> 40) / (1 << 24) - 0.25;
    }
}

struct result {
    double x[4096];
    size_t n;
    int64_t flops;
};

static struct result evaluate(struct graph *g, const int64_t *sizes)
{
    static double data[8][1 << 16];
    double *inputs[8];
    struct result r = {0};
    for (size_t k = 0; k < 8; k++) {
        fill(data[k], ARRAY_LEN(data[k]), k + 1);
        inputs[k] = data[k];
    }
    assert_true(g->inputs.n <= 8);
    struct array *all = eval_graph(g, sizes, inputs, (double[]){0.5, 2, 3});
    const struct array *y = &all[g->outputs.items[0].value->id];
    r.n = (size_t)y->n;
    assert_true(r.n <= ARRAY_LEN(r.x));
    memcpy(r.x, y->x, r.n * sizeof *r.x);
    assert_true(dim_eval(graph_flops(g), sizes, &r.flops));
    eval_free(all, g->values.n);
    return r;
}

/* Compares a graph before and after graph_collapse(). The values must be equal. With `moves`, the
 * flops must become fewer, and otherwise stay the same. In both cases they must become the least
 * number, which graph_least_flops() gives. */
static void compare(struct graph *g, const int64_t *sizes, const char *what, bool moves)
{
    int64_t least;
    struct result before = evaluate(g, sizes);
    assert_true(dim_eval(graph_least_flops(g), sizes, &least));
    /* graph_least_flops() did not change the graph. */
    assert_int_equal(evaluate(g, sizes).flops, before.flops);
    graph_collapse(g);
    struct result after = evaluate(g, sizes);
    if ((after.flops < before.flops) != moves || after.flops != least)
        fail_msg("%s: %lld flops, then %lld, the least %lld", what, (long long)before.flops,
                 (long long)after.flops, (long long)least);
    assert_int_equal(after.n, before.n);
    for (size_t k = 0; k < after.n; k++)
        if (fabs(after.x[k] - before.x[k]) > 1e-9 * (1 + fabs(before.x[k])))
            fail_msg("%s: element %zu is %g, not %g", what, k, after.x[k], before.x[k]);
}

static void test_sums_move(void **state)
{
    static const struct {
        const char *torch, *tensors;
        bool moves;
    } cases[] = {
        {"(x @ w).sum(-1)", "x float32 M,K; w float32 K,O; y float32 M out", true},
        {"((x @ w.T + b - u) / 2).mean(1, keepdim=True)",
         "x float32 M,K; w float32 O,K; b float32 O; u float32 M,O; y float32 M,1 out", true},
        {"(3 - 2 * (x @ w)).sum(-1)", "x float32 M,K; w float32 K,O; y float32 M out", true},
        {"(x @ w).sum(0)", "x float32 M,K; w float32 K,O; y float32 O out", false},
        {"F.relu(x @ w).sum(-1)", "x float32 M,K; w float32 K,O; y float32 M out", false},
        {"(t := x @ w, t.sum(-1) + t.amax(-1))[-1]",
         "x float32 M,K; w float32 K,O; y float32 M out", false},
        {"((x @ w) * u).sum(-1)", "x float32 M,K; w float32 K,O; u float32 O; y float32 M out",
         false},
        {"F.conv2d(x, w, b, padding=1).sum((2, 3))",
         "x float32 N,C,H,W; w float32 O,C,3,3; b float32 O; y float32 N,O out", true},
        {"F.conv2d(x, w, padding=2, dilation=2).sum(3)",
         "x float32 N,C,H,W; w float32 O,C,3,3; y float32 N,O,H out", true},
        {"F.conv2d(x, w, b, padding=1).sum(2, keepdim=True)",
         "x float32 N,C,H,W; w float32 O,C,3,3; b float32 O; y float32 N,O,1,W out", true},
        {"F.conv2d(x, w, b, stride=2).mean((2, 3))",
         "x float32 N,C,H,W; w float32 O,C,3,3; b float32 O; y float32 N,O out", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct torch_rig r;
        struct graph g;
        struct err err = ERR_INIT;
        int64_t sizes[RIG_MAX];
        rig_spec(&r, cases[i].tensors);
        if (torch_read(&g, cases[i].torch, &r.task, &err) < 0)
            fail_msg("%s: %s", cases[i].torch, err.msg);
        for (size_t k = 0; k < r.task.naxes; k++)
            sizes[k] = size_named(r.axes[k]);
        compare(&g, sizes, cases[i].torch, cases[i].moves);
        graph_release(&g);
        arena_release(&r.mem);
    }
}

/* If only triu() or tril() reads a product, its flops are only those of the elements that they
 * keep. */
static void test_triangles(void **state)
{
    enum { SIDE = 11, PAIRS = 5 }; /* H and K of size_named() */
    for (int k = -SIDE - 2; k <= SIDE + 2; k++)
        for (int upper = 0; upper < 2; upper++) {
            struct torch_rig r;
            struct graph g;
            struct err err = ERR_INIT;
            int64_t sizes[RIG_MAX], flops, kept = 0;
            char torch[64];
            snprintf(torch, sizeof torch, "torch.tri%c(x @ w, %d)", upper ? 'u' : 'l', k);
            rig_spec(&r, "x float32 H,K; w float32 K,H; y float32 H,H out");
            assert_int_equal(torch_read(&g, torch, &r.task, &err), 0);
            for (size_t i = 0; i < r.task.naxes; i++)
                sizes[i] = size_named(r.axes[i]);
            assert_true(dim_eval(graph_flops(&g), sizes, &flops));
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++)
                    kept += upper ? j - i >= k : j - i <= k;
            /* for |k| <= 1, the flops of the triangle are an estimate; the comparison of indices
             * and `where` cost 3 flops an element
             */
            int64_t most = 2 * PAIRS * kept + 3 * SIDE * SIDE + (abs(k) <= 1 ? SIDE * PAIRS : 0);
            if (flops > most)
                fail_msg("%s: %lld flops, at most %lld", torch, (long long)flops, (long long)most);
            graph_release(&g);
            arena_release(&r.mem);
        }
}

/* A case: a convolution, usually transposed, and a mean or a pooling after it. The test builds its
 * graph itself, because Hone cannot read a transposed convolution from PyTorch text. `more` is
 * PyTorch's output_padding, and `gap` its dilation. */
struct transposed {
    const char *what;
    bool plain; /* the convolution is not transposed, and does not use `more` */
    int64_t window[2], stride, pad, more, gap, groups;
    int64_t pool; /* a pooling with windows of this size; 0 = a mean over `axes` */
    int64_t axes[2];
    size_t naxes;
    bool moves;
};

static const struct value *pooled(struct graph *g, const struct value *y, int64_t size)
{
    struct err err = ERR_INIT;
    for (int64_t axis = 2; axis < 4; axis++) {
        struct attr attrs[GRAPH_MAX_ATTRS] = {attr_axis(axis), attr_dim(dim_number(&g->dims, size)),
                                              attr_int(size), attr_int(1)};
        y = graph_add(g, OP_WINDOWS, &y, attrs, &err);
        assert_non_null(y);
    }
    struct attr both[GRAPH_MAX_ATTRS] = {attr_axes((int64_t[]){4, 5}, 2), attr_bool(false)};
    return graph_add(g, OP_SUM, &y, both, &err);
}

static void compare_transposed(const struct transposed *t)
{
    static const char *const names[] = {"N", "C", "O", "H", "W"};
    struct err err = ERR_INIT;
    struct graph g;
    int64_t sizes[5];
    graph_init(&g, names, 5);
    const struct dim *d[5];
    for (size_t i = 0; i < 5; i++) {
        sizes[i] = size_named(names[i]);
        d[i] = dim_name(&g.dims, i);
    }
    const struct dim *window[] = {d[1], d[2], dim_number(&g.dims, t->window[0]),
                                  dim_number(&g.dims, t->window[1])};
    const struct dim *outputs = dim_mul(&g.dims, d[2], dim_number(&g.dims, t->groups));
    const struct dim *pad = dim_number(&g.dims, t->pad), *pads[] = {pad, pad};
    if (t->plain) {
        window[0] = d[2];
        window[1] = d[1];
        outputs = d[2];
    }
    const struct value *in[GRAPH_MAX_ARGS] = {
        graph_input(&g, "x", DT_F32, 4, (const struct dim *[]){d[0], d[1], d[3], d[4]}),
        graph_input(&g, "w", DT_F32, 4, window), graph_input(&g, "b", DT_F32, 1, &outputs)};
    struct attr attrs[GRAPH_MAX_ATTRS] = {
        attr_ints((int64_t[]){t->stride, t->stride}, 2), attr_ints((int64_t[]){t->pad, t->pad}, 2),
        attr_ints((int64_t[]){t->more, t->more}, 2), attr_ints((int64_t[]){t->gap, t->gap}, 2),
        attr_dim(dim_number(&g.dims, t->groups))};
    if (t->plain)
        attrs[1] = attrs[2] = attr_dims(pads, 2);
    const struct value *y = graph_add(&g, t->plain ? OP_CONV : OP_CONV_TRANSPOSE, in, attrs, &err);
    if (!y)
        fail_msg("%s: %s", t->what, err.msg);
    y = graph_add2(&g, OP_MUL, y, graph_number(&g, 0.5), &err);
    struct attr axes[GRAPH_MAX_ATTRS] = {attr_axes(t->axes, t->naxes), attr_bool(false)};
    y = t->pool ? pooled(&g, y, t->pool) : graph_add(&g, OP_MEAN, &y, axes, &err);
    assert_non_null(y);
    graph_add_output(&g, "y", DT_F32, y->rank, y->shape, y);
    compare(&g, sizes, t->what, t->moves);
    assert_int_equal(graph_verify(&g, &err), 0);
    graph_release(&g);
}

static void test_transposed_convolutions(void **state)
{
    static const struct transposed cases[] = {
        {"plain", false, {3, 3}, 1, 0, 0, 1, 1, 0, {2, 3}, 2, true},
        {"padded", false, {3, 3}, 1, 1, 0, 1, 1, 0, {2, 3}, 2, true},
        {"strided", false, {3, 3}, 2, 1, 1, 1, 1, 0, {2, 3}, 2, true},
        {"dilated", false, {4, 5}, 3, 4, 2, 2, 1, 0, {2, 3}, 2, true},
        {"far padding", false, {5, 4}, 1, 3, 0, 1, 1, 0, {2, 3}, 2, true},
        {"in groups", false, {3, 4}, 2, 1, 0, 1, 2, 0, {2, 3}, 2, false},
        {"one side", false, {3, 3}, 1, 1, 0, 1, 1, 0, {2}, 1, true},
        {"the other side, strided", false, {4, 3}, 2, 1, 1, 1, 2, 0, {3}, 1, true},
        {"pooled", false, {3, 3}, 2, 1, 0, 1, 1, 2, {0}, 0, true},
        {"pooled, window 4", false, {4, 4}, 2, 1, 0, 1, 1, 2, {0}, 0, true},
        {"pooled, in groups", false, {5, 3}, 2, 1, 0, 1, 2, 2, {0}, 0, true},
        {"pooled by another step", false, {3, 3}, 2, 1, 0, 1, 1, 3, {0}, 0, false},
        {"plain, pooled", true, {3, 3}, 1, 0, 0, 1, 1, 4, {0}, 0, true},
        {"plain, padded, pooled", true, {3, 2}, 1, 1, 0, 1, 1, 3, {0}, 0, true},
        {"plain, strided, pooled", true, {3, 3}, 2, 1, 0, 1, 1, 2, {0}, 0, false},
        {"plain, pooled by 1", true, {3, 3}, 1, 1, 0, 1, 1, 1, {0}, 0, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        compare_transposed(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums_move),
                                       cmocka_unit_test(test_triangles),
                                       cmocka_unit_test(test_transposed_convolutions)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
