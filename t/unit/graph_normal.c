/* Tests the normal form of a graph, its other forms, and the comparison of graphs. Uses every rule
 * at least once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "cpu_time.h"
#include "graph/normal/compare.h"
#include "graph/normal/normal.h"
#include "graph/normal/pattern.h"

static const char *const axes[] = {"R", "C", "D", "K"}; /* K is always 64 */

/* A graph with these inputs: x, y [R, C]; q [D, R, C]; w, b [C]; h [R, 2*D]; k [R] int64;
 * half [R, C] float16; f [R, K]. It has the scalars eps and s. */
struct rig {
    struct graph g;
    struct arena mem; /* the memory of patterns */
    struct bindings names;
};

static const struct dim *dim(struct rig *r, const char *text)
{
    const struct dim *d = dim_parse(&r->g.dims, text, NULL);
    assert_non_null(d);
    return d;
}

static void add_input(struct rig *r, const char *name, enum dtype t, const char *a, const char *b,
                      const char *c)
{
    const char *texts[] = {a, b, c};
    const struct dim *shape[3];
    uint32_t rank = 0;
    while (rank < 3 && texts[rank]) {
        shape[rank] = dim(r, texts[rank]);
        rank++;
    }
    pattern_bind(&r->names, name, graph_input(&r->g, name, t, rank, shape));
}

static void rig_init(struct rig *r)
{
    *r = (struct rig){.mem = ARENA_INIT, .names = BINDINGS_INIT};
    graph_init(&r->g, axes, ARRAY_LEN(axes));
    dim_define(&r->g.dims, 3, dim_number(&r->g.dims, 64));
    add_input(r, "x", DT_F32, "R", "C", NULL);
    add_input(r, "y", DT_F32, "R", "C", NULL);
    add_input(r, "q", DT_F32, "D", "R", "C");
    add_input(r, "w", DT_F32, "C", NULL, NULL);
    add_input(r, "b", DT_F32, "C", NULL, NULL);
    add_input(r, "h", DT_F32, "R", "2*D", NULL);
    add_input(r, "k", DT_I64, "R", NULL, NULL);
    add_input(r, "half", DT_F16, "R", "C", NULL);
    add_input(r, "f", DT_F32, "R", "K", NULL);
    pattern_bind(&r->names, "eps", graph_scalar(&r->g, "eps", DT_F32));
    pattern_bind(&r->names, "s", graph_scalar(&r->g, "s", DT_F32));
    pattern_bind(&r->names, "C", graph_size(&r->g, dim(r, "C")));
    pattern_bind(&r->names, "R", graph_size(&r->g, dim(r, "R")));
    pattern_bind(&r->names, "D", graph_size(&r->g, dim(r, "D")));
    pattern_bind(&r->names, "float64", graph_number(&r->g, 64.0));
    pattern_bind(&r->names, "D2", graph_size(&r->g, dim(r, "2*D")));
}

static void rig_release(struct rig *r)
{
    graph_release(&r->g);
    arena_release(&r->mem);
}

/* Returns the value that a pattern's text describes. $NAME in the text is an input, a scalar or a
 * size of the rig. */
static const struct value *made(struct rig *r, const char *text)
{
    const struct pattern *p = pattern_parse(&r->mem, text);
    if (!p)
        fail_msg("no pattern: %s", text);
    const struct value *v = pattern_build(&r->g, p, &r->names);
    if (!v)
        fail_msg("the graph refuses %s", text);
    return v;
}

static const struct value *named(struct rig *r, const char *name)
{
    const struct value *v = graph_find(&r->g, name);
    assert_non_null(v);
    return v;
}

typedef const struct value *(*rewriter)(struct graph *g, const struct value *v);

/* A case has two texts. Checks that f() rewrites the value of the first text to that of the second,
 * and leaves the latter as it is. */
static void check_table(rewriter f, const char *const (*cases)[2], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct rig r;
        rig_init(&r);
        const struct value *from = made(&r, cases[i][0]), *to = made(&r, cases[i][1]);
        const struct value *is = f(&r.g, from);
        if (is != to)
            fail_msg("%s does not become %s", cases[i][0], cases[i][1]);
        if (f(&r.g, is) != is)
            fail_msg("%s is rewritten twice in different ways", cases[i][0]);
        assert_int_equal(is->dtype, from->dtype);
        assert_true(value_same_shape(is, from));
        rig_release(&r);
    }
}

static void test_patterns(void **state)
{
    static const char *const bad[] = {"",          "mul($a",     "mul($a)",       "nothing($a)",
                                      "sum($a)",   "mul($a,$b,", "mul($a, $b) x", "$",
                                      "sum($a, )", "relu(-)"};
    struct rig r;
    rig_init(&r);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (pattern_parse(&r.mem, bad[i]))
            fail_msg("reads '%s'", bad[i]);
    struct bindings b = BINDINGS_INIT;
    const struct pattern *p = pattern_parse(&r.mem, "sub($a, amax($a, $axes, true))");
    assert_int_equal(pattern_op(p), OP_SUB);
    assert_true(pattern_matches(p, made(&r, "sub($x, amax($x, 1, true))"), &b));
    assert_int_equal(b.n, 2);
    b.n = 0;
    assert_false(pattern_matches(p, made(&r, "sub($x, amax($y, 1, true))"), &b));
    assert_false(pattern_matches(p, made(&r, "sub($x, amin($x, 1, true))"), &b));
    assert_int_equal(b.n, 0);
    /* a pattern with three terms matches a sum of them in any order and grouping */
    p = pattern_parse(&r.mem, "add(add($a, exp($a)), 1)");
    assert_true(pattern_matches(p, made(&r, "add(1, add(exp($x), $x))"), &b));
    rig_release(&r);
}

static void test_spellings(void **state)
{
    static const char *const cases[][2] = {
        {"mul($x, $x)", "square($x)"},
        {"mul(add($x, $y), add($y, $x))", "square(add($x, $y))"},
        {"pow($x, 2)", "square($x)"},
        {"pow($x, 0.5)", "sqrt($x)"},
        {"pow($x, -0.5)", "rsqrt($x)"},
        {"pow($x, 1)", "$x"},
        {"pow($x, 3)", "pow($x, 3)"},
        {"pow($k, 2)", "square($k)"},
        {"mul(mul($x, $y), $x)", "mul(square($x), $y)"},
        {"mul(mul($x, $y), mul($y, $x))", "mul(square($y), square($x))"},
        {"mul($eps, $eps)", "mul($eps, $eps)"}, /* stays: it multiplies numbers, not tensors */
        {"sqrt(sum(square($x), 1, false))", "norm($x, 2, 1, false)"},
        {"sqrt(sum(mul($x, $x), 1, true))", "norm($x, 2, 1, true)"},
        {"norm($x, 1, 1, true)", "sum(abs($x), 1, true)"},
        {"norm($x, inf, 1, false)", "amax(abs($x), 1, false)"},
        {"norm($x, 3, 1, false)", "norm($x, 3, 1, false)"},
        {"log(sum(exp($x), 1, true))", "logsumexp($x, 1, true)"},
        {"div(exp($x), sum(exp($x), 1, true))", "softmax($x, 1)"},
        {"where(gt($x, 20), $x, log1p(exp($x)))", "softplus($x, 1, 20)"},
        {"mul($x, tanh(where(gt($x, 20), $x, log1p(exp($x)))))", "mish($x)"},
        {"where(gt($x, 20), $y, log1p(exp($x)))", "where(gt($x, 20), $y, log1p(exp($x)))"},
        {"where(gt($x, 10), $x, log1p(exp($x)))", "where(gt($x, 10), $x, log1p(exp($x)))"},
        {"div(exp($x), sum(exp($x), 0, true))", "softmax($x, 0)"},
        {"div(exp($x), sum(exp($y), 1, true))", "div(exp($x), sum(exp($y), 1, true))"},
        {"div(exp(sub($x, amax($x, 1, true))), sum(exp(sub($x, amax($x, 1, true))), 1, true))",
         "softmax($x, 1)"},
        {"exp(sub($x, logsumexp($x, 1, true)))", "softmax($x, 1)"},
        {"sub($x, logsumexp($x, 1, true))", "log_softmax($x, 1)"},
        {"sub($x, log(sum(exp($x), 1, true)))", "log_softmax($x, 1)"},
        {"log(softmax($x, 1))", "log_softmax($x, 1)"},
        {"exp(log_softmax($x, 1))", "softmax($x, 1)"},
        {"softmax(sub($x, amax($x, 1, true)), 1)", "softmax($x, 1)"},
        {"softmax(sub($x, amax($x, 0, true)), 1)", "softmax(sub($x, amax($x, 0, true)), 1)"},
        /* means */
        {"div(sum($x, 1, true), $C)", "mean($x, 1, true)"},
        {"div(sum($x, 0, false), $R)", "mean($x, 0, false)"},
        {"div(sum($x, none, false), mul($C, $R))", "mean($x, none, false)"},
        {"div(sum($x, 1, false), $R)", "div(sum($x, 1, false), $R)"},
        {"div(sum($x, 1, false), 8)", "div(sum($x, 1, false), 8)"},
        /* this is no mean, because a mean takes no integers */
        {"div(sum($k, 0, false), $R)", "div(sum($k, 0, false), $R)"},
        {"div(sum(mul($x, $x), 1, true), $C)", "mean(square($x), 1, true)"},
        {"div(sum($f, 1, false), 64)", "mean($f, 1, false)"},
        {"div(sum($f, 1, false), $float64)", "mean($f, 1, false)"},
        {"div(sum($f, 1, false), 32)", "div(sum($f, 1, false), 32)"},
        /* sizes */
        {"add($x, floor_divide($D2, 2))", "add($x, $D)"},
        {"add($x, sub(add($D, $C), $D))", "add($x, $C)"},
        {"add(2, mul(3, 4))", "14"},
        {"neg(3)", "-3"},
        {"neg(neg(0.5))", "0.5"},
        {"floor_divide(7, 2)", "3"},
        {"floor_divide($C, 2)", "floor_divide($C, 2)"},
    };
    check_table(graph_normal, cases, ARRAY_LEN(cases));
}

static void test_unfoldings(void **state)
{
    static const char *const cases[][2] = {
        {"mean($x, 1, true)", "div(sum($x, 1, true), $C)"},
        {"var($x, 1, 0, false)",
         "div(sum(square(sub($x, div(sum($x, 1, true), $C))), 1, false), $C)"},
        {"var($x, 1, 1, true)",
         "div(sum(square(sub($x, div(sum($x, 1, true), $C))), 1, true), sub($C, 1))"},
        {"std($x, 1, 0, false)",
         "sqrt(div(sum(square(sub($x, div(sum($x, 1, true), $C))), 1, false), $C))"},
        {"norm($x, 2, 1, true)", "sqrt(sum(square($x), 1, true))"},
        {"logsumexp($x, 1, false)",
         "add(log(sum(exp(sub($x, amax($x, 1, true))), 1, false)), amax($x, 1, false))"},
        {"softmax($x, 1)",
         "div(exp(sub($x, amax($x, 1, true))), sum(exp(sub($x, amax($x, 1, true))), 1, true))"},
        {"log_softmax($x, 1)", "sub(sub($x, amax($x, 1, true)), "
                               "log(sum(exp(sub($x, amax($x, 1, true))), 1, true)))"},
        {"layer_norm($x, none, none, $eps, 1)",
         "mul(sub($x, div(sum($x, 1, true), $C)), rsqrt(add(div(sum(square(sub($x, div(sum($x, 1, "
         "true), $C))), 1, true), $C), $eps)))"},
        {"layer_norm($x, $w, none, $eps, 1)",
         "mul(mul(sub($x, div(sum($x, 1, true), $C)), rsqrt(add(div(sum(square(sub($x, "
         "div(sum($x, 1, true), $C))), 1, true), $C), $eps))), $w)"},
        {"layer_norm($x, $w, $b, $eps, 1)",
         "add(mul(mul(sub($x, div(sum($x, 1, true), $C)), rsqrt(add(div(sum(square(sub($x, "
         "div(sum($x, 1, true), $C))), 1, true), $C), $eps))), $w), $b)"},
        {"rms_norm($x, none, $eps, 1)",
         "mul($x, rsqrt(add(div(sum(square($x), 1, true), $C), $eps)))"},
        {"rms_norm($x, $w, $eps, 1)",
         "mul(mul($x, rsqrt(add(div(sum(square($x), 1, true), $C), $eps))), $w)"},
        {"normalize($x, $eps, 2, 1)", "div($x, clamp_min(sqrt(sum(square($x), 1, true)), $eps))"},
        {"normalize($x, $eps, 1, 1)", "div($x, clamp_min(sum(abs($x), 1, true), $eps))"},
        {"relu($x)", "relu($x)"},
    };
    check_table(graph_unfolded, cases, ARRAY_LEN(cases));
    struct rig r;
    rig_init(&r);
    const struct value *v = graph_unfolded(&r.g, made(&r, "layer_norm($q, none, none, $eps, 2)"));
    assert_int_equal(v->op, OP_MUL);
    const struct value *mean = v->args[0]->args[1];
    assert_int_equal(mean->op, OP_DIV);
    assert_int_equal(mean->args[0]->op, OP_SUM);
    assert_int_equal(value_attr(mean->args[0], "dim")->n, 2);
    rig_release(&r);
}

static void test_comparison_rules(void **state)
{
    static const char *const cases[][2] = {
        {"div(1, $x)", "reciprocal($x)"},
        {"div($x, $y)", "mul($x, reciprocal($y))"},
        {"div($x, sqrt($y))", "mul($x, rsqrt($y))"},
        {"div(1, std($x, 1, 0, true))", "rsqrt(var($x, 1, 0, true))"},
        {"div(1, add(1, exp(neg($x))))", "sigmoid($x)"},
        {"div(1, add(exp(neg($x)), 1))", "sigmoid($x)"},
        {"mul($x, sigmoid($x))", "silu($x)"},
        {"mul(sigmoid($x), $x)", "silu($x)"},
        {"div($x, add(1, exp(neg($x))))", "silu($x)"},
        {"mul(mul($y, sigmoid($x)), $x)", "mul(silu($x), $y)"},
        {"mean(square(sub($x, mean($x, 1, true))), 1, false)", "var($x, 1, 0, false)"},
        {"clamp_min($x, 0)", "relu($x)"},
        {"maximum($x, 0)", "relu($x)"},
        {"maximum(0, $x)", "relu($x)"},
        {"clamp_min($x, 1)", "clamp_min($x, 1)"},
    };
    check_table(graph_reduced, cases, ARRAY_LEN(cases));
}

static const struct value *cast(struct rig *r, const char *text, enum dtype t)
{
    struct attr to = attr_dtype(t);
    const struct value *v = made(r, text);
    return graph_add(&r->g, OP_CAST, &v, &to, NULL);
}

static void test_casts(void **state)
{
    struct rig r;
    rig_init(&r);
    struct graph *g = &r.g;
    const struct value *x = named(&r, "x"), *half = named(&r, "half"), *k = named(&r, "k");
    const struct value *wide = cast(&r, "$half", DT_F32);
    assert_ptr_equal(graph_normal(g, cast(&r, "$x", DT_F32)), x); /* x is a float32 already */
    assert_ptr_equal(graph_normal(g, wide), wide);
    assert_ptr_equal(graph_without_casts(g, wide), half);
    assert_ptr_equal(graph_without_casts(g, graph_add1(g, OP_EXP, wide, NULL)),
                     made(&r, "exp($half)"));
    assert_ptr_equal(graph_without_casts(g, cast(&r, "$k", DT_I32)), k);
    /* a cast of integers stays if its operand is computed, and is no input */
    const struct value *sums = cast(&r, "add($k, 1)", DT_I32);
    assert_ptr_equal(graph_without_casts(g, sums), sums);
    const struct value *tiny = cast(&r, "$x", DT_F8E4M3);
    assert_ptr_equal(graph_without_casts(g, tiny), tiny);
    /* a mean takes no integers, so the cast before it stays */
    const struct value *reals = cast(&r, "$k", DT_F32), *mean = graph_add1(g, OP_MEAN, reals, NULL);
    assert_non_null(mean);
    assert_ptr_equal(graph_without_casts(g, mean), mean);
    rig_release(&r);
}

static const struct value *reshape(struct rig *r, const struct value *v, const char *a,
                                   const char *b)
{
    const struct dim *shape[] = {a ? dim(r, a) : NULL, b ? dim(r, b) : NULL};
    struct attr to = attr_dims(shape, (a != NULL) + (b != NULL));
    v = graph_add(&r->g, OP_RESHAPE, &v, &to, NULL);
    assert_non_null(v);
    return v;
}

static const struct value *expand(struct rig *r, const struct value *v, const char *a,
                                  const char *b)
{
    const struct dim *shape[] = {dim(r, a), dim(r, b)};
    struct attr to = attr_dims(shape, 2);
    v = graph_add(&r->g, OP_EXPAND, &v, &to, NULL);
    assert_non_null(v);
    return v;
}

static const struct value *slice(struct rig *r, const struct value *v, int64_t axis,
                                 const char *from, const char *n)
{
    struct attr attrs[] = {attr_axis(axis), attr_dim(dim(r, from)), attr_dim(dim(r, n)),
                           attr_int(1)};
    v = graph_add(&r->g, OP_SLICE, &v, attrs, NULL);
    assert_non_null(v);
    return v;
}

static void test_views(void **state)
{
    struct rig r;
    rig_init(&r);
    struct graph *g = &r.g;
    const struct value *x = named(&r, "x"), *q = named(&r, "q"), *w = named(&r, "w");
    /* reshapes */
    assert_ptr_equal(graph_normal(g, reshape(&r, x, "R", "C")), x);
    const struct value *flat = reshape(&r, x, "R*C", NULL);
    assert_ptr_equal(graph_normal(g, reshape(&r, flat, "C", "R")), reshape(&r, x, "C", "R"));
    assert_ptr_equal(graph_normal(g, reshape(&r, flat, "R", "C")), x);
    assert_ptr_equal(graph_normal(g, reshape(&r, named(&r, "f"), "R", "64")), named(&r, "f"));
    /* permutations */
    const struct value *p = graph_permute(g, q, (int64_t[]){1, 2, 0}, NULL);
    assert_ptr_equal(graph_normal(g, p), p);
    assert_ptr_equal(graph_normal(g, graph_permute(g, p, (int64_t[]){2, 0, 1}, NULL)), q);
    assert_ptr_equal(graph_normal(g, graph_permute(g, p, (int64_t[]){1, 0, 2}, NULL)),
                     graph_permute(g, q, (int64_t[]){2, 1, 0}, NULL));
    assert_ptr_equal(graph_normal(g, graph_permute(g, x, (int64_t[]){0, 1}, NULL)), x);
    /* slices */
    assert_ptr_equal(graph_normal(g, slice(&r, x, 1, "0", "C")), x);
    const struct value *part = slice(&r, named(&r, "h"), 1, "0", "D");
    assert_ptr_equal(graph_normal(g, part), part);
    /* reductions that keep their axes, or drop them */
    assert_ptr_equal(graph_normal(g, reshape(&r, made(&r, "sum($x, 1, false)"), "R", "1")),
                     made(&r, "sum($x, 1, true)"));
    assert_ptr_equal(graph_normal(g, reshape(&r, made(&r, "var($x, 0, 1, false)"), "1", "C")),
                     made(&r, "var($x, 0, 1, true)"));
    assert_ptr_equal(graph_normal(g, reshape(&r, made(&r, "amax($x, 1, true)"), "R", NULL)),
                     made(&r, "amax($x, 1, false)"));
    const struct value *turned = reshape(&r, made(&r, "sum($x, 1, false)"), "1", "R");
    assert_ptr_equal(graph_normal(g, turned), turned);
    /* reductions over all axes */
    const struct value *sum = graph_add1(g, OP_SUM, flat, NULL);
    assert_ptr_equal(graph_normal(g, sum), made(&r, "sum($x, none, false)"));
    /* expansions under elementwise operations */
    const struct value *wide = expand(&r, w, "R", "C");
    assert_ptr_equal(graph_normal(g, graph_add2(g, OP_MUL, x, wide, NULL)),
                     made(&r, "mul($x, $w)"));
    assert_ptr_equal(graph_normal(g, graph_add1(g, OP_RELU, wide, NULL)),
                     expand(&r, made(&r, "relu($w)"), "R", "C"));
    assert_ptr_equal(graph_normal(g, expand(&r, x, "R", "C")), x);
    assert_ptr_equal(graph_normal(g, graph_add2(g, OP_MUL, wide, wide, NULL)),
                     expand(&r, made(&r, "square($w)"), "R", "C"));
    rig_release(&r);
}

static void test_outputs(void **state)
{
    struct rig r;
    rig_init(&r);
    struct graph *g = &r.g;
    const struct dim *rc[] = {dim(&r, "R"), dim(&r, "C")}, *one[] = {dim(&r, "1")};
    graph_add_output(g, "a", DT_F32, 2, rc, made(&r, "mul(mul($x, $x), 2)"));
    graph_add_output(g, "b", DT_F32, 1, one,
                     reshape(&r, made(&r, "sum(mul($x, $x), none, false)"), "1", NULL));
    graph_add_output(g, "c", DT_F32, 1, one, made(&r, "sum($w, 0, true)"));
    assert_int_equal(graph_normalise(g, NULL), 0);
    assert_int_equal(graph_verify(g, NULL), 0);
    const struct value *want[] = {made(&r, "mul(square($x), 2)"),
                                  made(&r, "sum(square($x), none, false)"),
                                  made(&r, "sum($w, 0, false)")};
    for (size_t i = 0; i < 3; i++)
        assert_ptr_equal(g->outputs.items[i].value, want[i]);
    size_t before = g->values.n;
    assert_int_equal(graph_normalise(g, NULL), 0);
    assert_int_equal(g->values.n, before);
    for (size_t i = 0; i < 3; i++)
        assert_ptr_equal(g->outputs.items[i].value, want[i]);
    rig_release(&r);
}

static void test_same_value(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"add(add($x, $y), 1)", "add(1, add($y, $x))", true},
        {"mul(mul($x, $y), mul($w, 2))", "mul($w, mul(2, mul($y, $x)))", true},
        {"mul($x, 64)", "mul($float64, $x)", true},
        {"mul($x, 63)", "mul($float64, $x)", false},
        {"add($x, $y)", "add($x, $x)", false},
        {"sub($x, $y)", "sub($y, $x)", false},
        {"maximum($x, $y)", "maximum($y, $x)", true},
        {"add($x, neg(2))", "add($x, -2)", true},
        {"sum($x, 1, true)", "sum($x, 1, false)", false},
        {"sum($x, 1, true)", "sum($x, 0, true)", false},
        {"exp(add($x, $eps))", "exp(add($eps, $x))", true},
        {"exp(add($x, $eps))", "exp(add($s, $x))", false},
        {"div($x, $C)", "div($x, $R)", false},
        {"norm($x, 2, 1, true)", "norm($x, 3, 1, true)", false},
    };
    struct rig r;
    rig_init(&r);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (graph_same_value(made(&r, cases[i].a), made(&r, cases[i].b)) != cases[i].same)
            fail_msg("%s and %s: not %d", cases[i].a, cases[i].b, cases[i].same);
    const struct value *k = graph_size(&r.g, dim(&r, "K"));
    assert_int_equal(k->op, OP_SIZE);
    assert_true(graph_same_value(k, graph_integer(&r.g, 64)));
    assert_false(graph_same_value(k, graph_integer(&r.g, 63)));
    rig_release(&r);
}

static void test_variables(void **state)
{
    struct rig r;
    rig_init(&r);
    const struct value *eps = named(&r, "eps");
    struct value_match m = {.variables = &eps, .n = 1};
    const struct value *form = made(&r, "mul(add($x, $eps), add($y, $eps))");
    assert_true(value_matches(&m, form, made(&r, "mul(add($x, 0.25), add(0.25, $y))")));
    assert_true(m.bound[0]->number == 0.25);
    m.bound[0] = NULL;
    assert_true(value_matches(&m, form, made(&r, "mul(add($x, $s), add($y, $s))")));
    assert_ptr_equal(m.bound[0], named(&r, "s"));
    /* eps is still bound to `s`, so 0.25 does not match */
    assert_false(value_matches(&m, form, made(&r, "mul(add($x, 0.25), add(0.25, $y))")));
    assert_ptr_equal(m.bound[0], named(&r, "s"));
    m.bound[0] = NULL;
    assert_false(value_matches(&m, form, made(&r, "mul(add($x, 0.25), add(0.5, $y))")));
    assert_null(m.bound[0]);
    assert_false(value_matches(&m, form, made(&r, "mul(add($x, $w), add($y, $w))")));
    /* before it tries the other order of the factors, value_matches() undoes its bindings */
    form = made(&r, "mul(add($x, $eps), add($x, 2))");
    assert_true(value_matches(&m, form, made(&r, "mul(add($x, 2), add($x, 3))")));
    assert_true(m.bound[0]->number == 3);
    rig_release(&r);
}

static void test_same_graph(void **state)
{
    struct rig a, b;
    rig_init(&a);
    rig_init(&b);
    made(&b, "exp($y)"); /* so that the ids of b differ from those of a */
    const struct dim *da[] = {dim(&a, "R"), dim(&a, "C")}, *db[] = {dim(&b, "R"), dim(&b, "C")};
    graph_add_output(&a.g, "o", DT_F32, 2, da, made(&a, "add(div($x, $C), $y)"));
    graph_add_output(&b.g, "o", DT_F32, 2, db, made(&b, "add($y, div($x, $C))"));
    assert_true(graph_same(&a.g, &b.g));
    b.g.outputs.items[0].value = made(&b, "add($y, div($x, $R))");
    assert_false(graph_same(&a.g, &b.g));
    b.g.outputs.items[0].value = reshape(&b, made(&b, "$y"), "C", "R");
    a.g.outputs.items[0].value = reshape(&a, made(&a, "$y"), "C", "R");
    assert_true(graph_same(&a.g, &b.g));
    b.g.outputs.items[0].dtype = DT_F16;
    assert_false(graph_same(&a.g, &b.g));
    b.g.outputs.items[0].dtype = DT_F32;
    graph_input(&b.g, "more", DT_F32, 1, db);
    assert_false(graph_same(&a.g, &b.g));
    rig_release(&a);
    rig_release(&b);
}

/* Returns x + w + y + w + ..., with n terms after x. */
static const struct value *long_sum(struct rig *r, size_t n)
{
    const struct value *v = named(r, "x");
    for (size_t i = 0; i < n; i++)
        v = graph_add2(&r->g, OP_ADD, v, named(r, i % 2 ? "y" : "w"), NULL);
    assert_non_null(v);
    return v;
}

static void test_bounds(void **state)
{
    struct rig r, s;
    rig_init(&r);
    rig_init(&s);
    double start = cpu_seconds();
    const struct value *v = long_sum(&r, 4000);
    assert_ptr_equal(graph_normal(&r.g, v), v);
    assert_ptr_equal(graph_unfolded(&r.g, v), v);
    assert_ptr_equal(graph_reduced(&r.g, v), v);
    const struct dim *dr[] = {dim(&r, "R"), dim(&r, "C")}, *ds[] = {dim(&s, "R"), dim(&s, "C")};
    graph_add_output(&r.g, "o", DT_F32, 2, dr, v);
    graph_add_output(&s.g, "o", DT_F32, 2, ds, long_sum(&s, 4000));
    assert_true(graph_same(&r.g, &s.g));
    s.g.outputs.items[0].value = s.g.outputs.items[0].value->args[0];
    assert_false(graph_same(&r.g, &s.g));
    rig_release(&r);
    rig_release(&s);

    /* every step multiplies the product by itself */
    rig_init(&r);
    v = made(&r, "exp($x)");
    for (size_t i = 0; i < 60; i++)
        v = graph_add2(&r.g, OP_MUL, v, v, NULL);
    assert_non_null(graph_normal(&r.g, v));
    rig_release(&r);

    /* If the graph is too full, outputs stay as they are. First there is no room for the square
     * that replaces mul($x, $x). Then there is room for it, but not for the values that read it. */
    for (size_t room = 0; room < 2; room++) {
        rig_init(&r);
        v = made(&r, "mul($x, $x)");
        for (size_t i = 0; v && r.g.values.n + room < GRAPH_MAX_VALUES; i++)
            v = graph_add2(&r.g, OP_ADD, v, named(&r, i % 2 ? "y" : "w"), NULL);
        graph_add_output(&r.g, "o", DT_F32, 2, (const struct dim *[]){dim(&r, "R"), dim(&r, "C")},
                         v);
        assert_int_equal(graph_normalise(&r.g, NULL), room ? -1 : 0);
        assert_ptr_equal(r.g.outputs.items[0].value, v);
        rig_release(&r);
    }
    assert_true(cpu_seconds() - start < 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),   cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_unfoldings), cmocka_unit_test(test_comparison_rules),
        cmocka_unit_test(test_casts),      cmocka_unit_test(test_views),
        cmocka_unit_test(test_outputs),    cmocka_unit_test(test_same_value),
        cmocka_unit_test(test_variables),  cmocka_unit_test(test_same_graph),
        cmocka_unit_test(test_bounds),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
