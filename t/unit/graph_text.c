/* Tests the text of a graph: the form of each line, of numbers and of attributes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "graph/print.h"

static const char *const names[] = {"R", "C", "D", "n"};
static struct graph g;
static struct err err;

static const struct dim *size(const char *text)
{
    const struct dim *d = dim_parse(&g.dims, text, &err);
    assert_non_null(d);
    return d;
}

static const struct value *input(const char *name, enum dtype t, const char *a, const char *b)
{
    const struct dim *shape[2] = {a ? size(a) : NULL, b ? size(b) : NULL};
    return graph_input(&g, name, t, (a != NULL) + (b != NULL), shape);
}

static void output(const char *name, enum dtype t, const char *a, const char *b,
                   const struct value *v)
{
    const struct dim *shape[2] = {a ? size(a) : NULL, b ? size(b) : NULL};
    graph_add_output(&g, name, t, (a != NULL) + (b != NULL), shape, v);
}

static const struct value *add(enum graph_op op, const struct value *a, const struct value *b,
                               const struct value *c, const struct attr *attrs)
{
    const struct value *args[GRAPH_MAX_ARGS] = {a, b, c};
    const struct value *v = graph_add(&g, op, args, attrs, &err);
    if (!v)
        fail_msg("%s", err.msg);
    return v;
}

static void prints(const char *want)
{
    struct strbuf sb = STRBUF_INIT(1 << 16);
    graph_print(&sb, &g);
    assert_string_equal(sb.buf, want);
    strbuf_release(&sb);
}

static int begin(void **state)
{
    (void)state;
    graph_init(&g, names, ARRAY_LEN(names));
    return 0;
}

static int end(void **state)
{
    (void)state;
    graph_release(&g);
    return 0;
}

/* An input, a scalar, a value and an output have lines of different forms. */
static void lines(void **state)
{
    (void)state;
    const struct value *x = input("x", DT_F32, "R", "C"), *b = input("b", DT_F32, "C", NULL);
    const struct value *eps = graph_scalar(&g, "eps", DT_F32);
    struct attr last[GRAPH_MAX_ATTRS] = {attr_axis(-1), attr_bool(true)};
    const struct value *m = add(OP_MEAN, add(OP_SQUARE, x, NULL, NULL, NULL), NULL, NULL, last);
    const struct value *s = add(OP_RSQRT, add(OP_ADD, m, eps, NULL, NULL), NULL, NULL, NULL);
    output("y", DT_F32, "R", "C", add(OP_ADD, add(OP_MUL, x, s, NULL, NULL), b, NULL, NULL));
    prints("x: float32[R, C]\n"
           "b: float32[C]\n"
           "eps: float32\n"
           "%1 = square(x): float32[R, C]\n"
           "%2 = mean(%1, dim=-1, keepdim): float32[R, 1]\n"
           "%3 = add(%2, eps): float32[R, 1]\n"
           "%4 = rsqrt(%3): float32[R, 1]\n"
           "%5 = mul(x, %4): float32[R, C]\n"
           "y: float32[R, C] = add(%5, b)\n");
}

/* The text leaves out values that no output needs. It shows and marks inputs that no output
 * needs. */
static void needed_values_only(void **state)
{
    (void)state;
    const struct value *x = input("x", DT_F16, "R", NULL), *z = input("z", DT_I32, NULL, NULL);
    add(OP_EXP, x, NULL, NULL, NULL);
    add(OP_NEG, z, NULL, NULL, NULL);
    output("y", DT_F16, "R", NULL, add(OP_TANH, x, NULL, NULL, NULL));
    prints("x: float16[R]\n"
           "z: int32[] (not used)\n"
           "y: float16[R] = tanh(x)\n");
}

/* An output and its value have separate lines if another value reads this value too, if the output
 * declares another dtype or shape, or if the value is an input. */
static void outputs_that_name_a_value(void **state)
{
    (void)state;
    const struct value *x = input("x", DT_F32, "R", "C");
    const struct value *s = add(OP_SIGMOID, x, NULL, NULL, NULL);
    struct attr all[GRAPH_MAX_ATTRS] = {attr_none()};
    output("s", DT_F32, "R", "C", s);
    output("y", DT_F16, "R", "C", add(OP_MUL, s, x, NULL, NULL));
    output("total", DT_F32, "1", NULL, add(OP_SUM, x, NULL, NULL, all));
    output("copy", DT_F32, "R", "C", x);
    prints("x: float32[R, C]\n"
           "%1 = sigmoid(x): float32[R, C]\n"
           "%2 = mul(%1, x): float32[R, C]\n"
           "%3 = sum(x): float32[]\n"
           "s: float32[R, C] = %1\n"
           "y: float16[R, C] = %2\n"
           "total: float32[1] = %3\n"
           "copy: float32[R, C] = x\n");
}

/* A number has no line of its own. It stands where it is used, with as many digits as it needs. A
 * size stands there as an expression. */
static void numbers_inline(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } reals[] = {
        {1, "1.0"},       {0.1, "0.1"},      {1e-5, "1e-05"},     {1.0 / 3, "0.3333333333333333"},
        {-0.0, "-0.0"},   {INFINITY, "inf"}, {-INFINITY, "-inf"}, {NAN, "nan"},
        {1e300, "1e+300"}};
    struct strbuf sb = STRBUF_INIT(100);
    for (size_t i = 0; i < ARRAY_LEN(reals); i++) {
        strbuf_clear(&sb);
        graph_print_number(&sb, graph_number(&g, reals[i].v));
        assert_string_equal(sb.buf, reals[i].text);
    }
    strbuf_clear(&sb);
    graph_print_number(&sb, graph_integer(&g, -7));
    assert_string_equal(sb.buf, "-7");
    strbuf_release(&sb);
    const struct value *x = input("x", DT_F32, "R", "2*D");
    const struct value *v = add(OP_CLAMP, x, graph_integer(&g, 0), graph_number(&g, 6), NULL);
    v = add(OP_DIV, v, graph_size(&g, size("2*D")), NULL, NULL);
    output("y", DT_F32, "R", "2*D", v);
    prints("x: float32[R, 2*D]\n"
           "%1 = clamp(x, 0, 6.0): float32[R, 2*D]\n"
           "y: float32[R, 2*D] = div(%1, 2*D)\n");
}

/* Prints each kind of attribute. The text leaves out attributes that have their default, and those
 * that follow from the value's dtype or shape. */
static void attributes(void **state)
{
    (void)state;
    const struct value *x = input("x", DT_F32, "R", "C"), *i = input("i", DT_I64, "n", NULL);
    struct attr both[GRAPH_MAX_ATTRS] = {attr_axis(0), attr_int(0), attr_bool(true)};
    const struct value *v = add(OP_VAR, x, NULL, NULL, both);
    struct attr p[GRAPH_MAX_ATTRS] = {attr_real(INFINITY), attr_axis(1)};
    const struct value *norm = add(OP_NORM, x, NULL, NULL, p);
    struct attr turn[GRAPH_MAX_ATTRS] = {attr_axes((int64_t[]){1, 0}, 2)};
    const struct value *t = add(OP_PERMUTE, x, NULL, NULL, turn);
    struct attr part[GRAPH_MAX_ATTRS] = {attr_axis(1), attr_dim(size("D")), attr_dim(size("C-D"))};
    const struct value *s = add(OP_SLICE, x, NULL, NULL, part);
    struct attr first[GRAPH_MAX_ATTRS] = {attr_axis(0)};
    const struct value *rows = add(OP_INDEX_SELECT, x, i, NULL, first);
    output("v", DT_F32, "1", "C", v);
    output("norm", DT_F32, "R", NULL, norm);
    output("t", DT_F32, "C", "R", t);
    output("s", DT_F32, "R", "C-D", s);
    output("h", DT_F16, "n", "C", graph_cast(&g, rows, DT_F16, &err));
    const struct dim *flat[] = {size("R*C")};
    output("flat", DT_F32, "R*C", NULL, graph_reshape(&g, x, 1, flat, &err));
    prints("x: float32[R, C]\n"
           "i: int64[n]\n"
           "%5 = index_select(x, i, dim=0): float32[n, C]\n"
           "v: float32[1, C] = var(x, dim=0, correction=0, keepdim)\n"
           "norm: float32[R] = norm(x, p=inf, dim=-1)\n"
           "t: float32[C, R] = permute(x, dims=[1, 0])\n"
           "s: float32[R, C-D] = slice(x, dim=-1, start=D, length=C-D)\n"
           "h: float16[n, C] = cast(%5)\n"
           "flat: float32[R*C] = reshape(x)\n");
}

/* A constant axis has a line before the inputs. */
static void constant_axes(void **state)
{
    (void)state;
    dim_define(&g.dims, 1, dim_number(&g.dims, 64));
    const struct value *x = input("x", DT_F32, "R", "C"), *w = input("w", DT_F32, "64", NULL);
    output("y", DT_F32, "R", "C", add(OP_MUL, x, w, NULL, NULL));
    prints("C = 64\n"
           "x: float32[R, C]\n"
           "w: float32[64]\n"
           "y: float32[R, C] = mul(x, w)\n");
}

/* A constraint "AXIS == SIZE" defines an axis by other axes. Any other constraint defines nothing,
 * and an axis can be defined once. */
static void defined_axes(void **state)
{
    (void)state;
    assert_false(dim_define_by(&g.dims, "D == C && R > 1"));
    assert_false(dim_define_by(&g.dims, "D >= C"));
    assert_true(dim_define_by(&g.dims, "D == (C + 1)/2"));
    assert_false(dim_define_by(&g.dims, "D == R"));
    const struct value *x = input("x", DT_F32, "R", "D");
    output("y", DT_F32, "R", "C/2+C%2", add(OP_RELU, x, NULL, NULL, NULL));
    assert_int_equal(graph_verify(&g, &err), -1);
    g.outputs.items[0].shape[1] = size("(C+1)/2");
    assert_int_equal(graph_verify(&g, &err), 0);
    prints("D = (C + 1)/2\n"
           "x: float32[R, D]\n"
           "%1 = relu(x): float32[R, D]\n"
           "y: float32[R, (C + 1)/2] = %1\n");
}

/* A division is not split up if a term may be negative: (2*C - D)/2 does not become C - D/2. */
static void quotients(void **state)
{
    (void)state;
    static const char *const texts[] = {"(2*C - D)/2", "(C*D - 5)/D", "(R - C + 3)/2",
                                        "(2*C + D + 3)/2"};
    for (int64_t v = 1; v < 6; v++)
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
            int64_t values[] = {7, v, 3, 1}, r = 7, c = v, d = 3, got;
            int64_t want[] = {(2 * c - d) / 2, (c * d - 5) / d, (r - c + 3) / 2,
                              (2 * c + d + 3) / 2};
            assert_true(dim_eval(size(texts[i]), values, &got));
            if (2 * c >= d) /* sizes are not negative */
                assert_int_equal(got, want[i]);
        }
}

/* The text of a size may become too long to write. No graph may have such a size. */
static void long_sizes(void **state)
{
    (void)state;
    const struct dim *d = size("C");
    for (int i = 0; i < 12; i++)
        d = dim_max(&g.dims, dim_add(&g.dims, d, size("R")), dim_min(&g.dims, d, size("D")));
    assert_true(g.dims.too_long);
    assert_string_equal(d->text, "(a size too long to write)");
    const struct value *x = graph_input(&g, "x", DT_F32, 1, &d);
    graph_add_output(&g, "y", DT_F32, 1, &d, x);
    assert_int_equal(graph_verify(&g, &err), -1);
    assert_non_null(strstr(err.msg, "too long"));
}

/* A full graph takes no new value, but graph_add1() still finds a value that is there already. */
static void full_graph(void **state)
{
    (void)state;
    const struct value *x = input("x", DT_F32, "R", "C"), *v = x;
    const struct value *first = add(OP_RELU, x, NULL, NULL, NULL);
    while (g.values.n < GRAPH_MAX_VALUES)
        v = add(OP_NEG, v == x ? first : v, NULL, NULL, NULL);
    assert_null(graph_add1(&g, OP_NEG, v, &err));
    assert_ptr_equal(graph_add1(&g, OP_RELU, x, &err), first);
}

/* An operand that follows an absent operand is printed with its name. */
static void absent_operands(void **state)
{
    (void)state;
    const struct value *x = input("x", DT_F32, "R", "C"), *w = input("w", DT_F32, "C", NULL);
    const struct value *none[] = {x, NULL, graph_number(&g, 1e-6)},
                       *all[] = {x, w, graph_number(&g, 1e-6)};
    output("a", DT_F32, "R", "C", graph_add(&g, OP_RMS_NORM, none, NULL, &err));
    output("b", DT_F32, "R", "C", graph_add(&g, OP_RMS_NORM, all, NULL, &err));
    prints("x: float32[R, C]\n"
           "w: float32[C]\n"
           "a: float32[R, C] = rms_norm(x, eps=1e-06)\n"
           "b: float32[R, C] = rms_norm(x, w, 1e-06)\n");
}

/* A division of a division becomes one division, even if a number is added between the two. */
static void divisions(void **state)
{
    (void)state;
    assert_ptr_equal(size("(R/2)/2"), size("R/4"));
    assert_ptr_equal(size("(R/2-8)/2"), size("R/4-4"));
    assert_ptr_equal(size("((R-4)/2-4)/2"), size("R/4-3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(divisions, begin, end),
        cmocka_unit_test_setup_teardown(lines, begin, end),
        cmocka_unit_test_setup_teardown(needed_values_only, begin, end),
        cmocka_unit_test_setup_teardown(outputs_that_name_a_value, begin, end),
        cmocka_unit_test_setup_teardown(numbers_inline, begin, end),
        cmocka_unit_test_setup_teardown(attributes, begin, end),
        cmocka_unit_test_setup_teardown(constant_axes, begin, end),
        cmocka_unit_test_setup_teardown(defined_axes, begin, end),
        cmocka_unit_test_setup_teardown(quotients, begin, end),
        cmocka_unit_test_setup_teardown(long_sizes, begin, end),
        cmocka_unit_test_setup_teardown(full_graph, begin, end),
        cmocka_unit_test_setup_teardown(absent_operands, begin, end),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
