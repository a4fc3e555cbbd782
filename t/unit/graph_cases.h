/*
 * graph_cases.h - graphs that use every row of ops.def, for tests of references.
 *
 * A test includes this file and defines check(), which every case calls for each graph. check()
 * releases the graph.
 */
#ifndef T_GRAPH_CASES_H
#define T_GRAPH_CASES_H

#include "graph_eval.h"
#include "graph_run.h"

enum { MAX_TENSORS = 40, NAXES = 3, NNAMES = 4, NSIZES = 4 };

static const char *const names[NNAMES] = {"A", "B", "C", "Q"}; /* Q is an integer scalar */
static const int64_t sizes[NSIZES][NNAMES] = {
    {3, 4, 5, 3}, {1, 1, 1, 3}, {2, 1, 7, 3}, {9, 11, 43, 3}};
static const double scalar_values[] = {3, 0.75}; /* Q, s */

/* ---- making graphs --------------------------------------------------------------------------- */

struct maker {
    struct graph g;
    const struct value *s; /* the scalar */
    unsigned outputs;
};

static void maker_open(struct maker *m)
{
    *m = (struct maker){.outputs = 0};
    graph_init(&m->g, names, NNAMES);
    graph_scalar(&m->g, "Q", DT_I64);
    m->s = graph_scalar(&m->g, "s", DT_F32);
}

static const struct dim *size(struct maker *m, const char *text)
{
    struct err err = ERR_INIT;
    const struct dim *d = dim_parse(&m->g.dims, text, &err);
    if (!d)
        fail_msg("%s", err.msg);
    return d;
}

static uint32_t shape(struct maker *m, const char *text, const struct dim **out)
{
    uint32_t rank = 0;
    char *copy = xstrdup(text), *save = NULL;
    for (char *d = strtok_r(copy, ",", &save); d; d = strtok_r(NULL, ",", &save))
        out[rank++] = size(m, d);
    free(copy);
    return rank;
}

static const struct value *in(struct maker *m, const char *name, enum dtype t, const char *dims)
{
    const struct value *there = graph_find(&m->g, name);
    const struct dim *d[GRAPH_MAX_RANK];
    uint32_t rank = shape(m, dims, d);
    return there ? there : graph_input(&m->g, name, t, rank, d);
}

static const struct value *x3(struct maker *m)
{
    return in(m, "x", DT_F32, "A,B,C");
}

static const struct value *number(struct maker *m, double v)
{
    return graph_number(&m->g, v);
}

static const struct value *op(struct maker *m, enum graph_op o, const struct value *const *args,
                              const struct attr *attrs)
{
    struct err err = ERR_INIT;
    const struct value *v = graph_add(&m->g, o, args, attrs, &err);
    if (!v)
        fail_msg("%s: %s", op_row(o)->name, err.msg);
    return v;
}

#define ARGS(...) ((const struct value *[GRAPH_MAX_ARGS]){__VA_ARGS__})
#define ATTRS(...) ((struct attr[GRAPH_MAX_ATTRS]){__VA_ARGS__})
#define AXES(...) attr_axes((int64_t[]){__VA_ARGS__}, ARRAY_LEN(((int64_t[]){__VA_ARGS__})))
#define INTS(...) attr_ints((int64_t[]){__VA_ARGS__}, ARRAY_LEN(((int64_t[]){__VA_ARGS__})))

static const struct value *op1(struct maker *m, enum graph_op o, const struct value *a)
{
    return op(m, o, ARGS(a), NULL);
}

static const struct value *op2(struct maker *m, enum graph_op o, const struct value *a,
                               const struct value *b)
{
    return op(m, o, ARGS(a, b), NULL);
}

static void out(struct maker *m, const struct value *v)
{
    char name[16];
    snprintf(name, sizeof name, "out%u", m->outputs++);
    graph_add_output(&m->g, name, v->dtype, v->rank, v->shape, v);
}

static void check(struct maker *m);

/* ---- data and tasks -------------------------------------------------------------------------- */

/* Returns element i of an input with n elements. The first letter of the input's name chooses the
 * kind of its data. axes[k] is the size of axis A, B or C. */
static double fill(const char *name, int64_t i, int64_t n, const int64_t *axes)
{
    double v = noise((uint64_t)i * 31 + (uint64_t)name[0] * 1009 + (uint64_t)name[1]);
    switch (name[0]) {
    case 'p': /* positive */
        return fabs(v) + 0.0625;
    case 'u': /* between -1 and 1 */
        return v / 4.25;
    case 'a': /* at least 1 */
        return fabs(v) + 1;
    case 'i': /* integers */
        return rint(v * 30);
    case 'k': /* small counts */
        return 1 + fmod(fabs(v * 64), 6);
    case 'b': /* bools */
        return v > 0;
    case 'n': /* an index into the axis that the second letter names */
        return fmod(fabs(v * 64), (double)axes[name[1] - 'A']);
    case 't': /* classes; losses ignore -100 */
        return i % 5 == 3 ? -100 : fmod(fabs(v * 64), (double)axes[2]);
    case 'o': /* offsets of bags: they rise from 0 to B * C */
        return (double)(i * axes[1] * axes[2] / (n > 1 ? n - 1 : 1));
    case 'e': /* some infinities and NaNs */
        return i % 4 == 1 ? INFINITY : i % 4 == 2 ? NAN : i % 8 == 3 ? -INFINITY : v;
    default:
        return v;
    }
}

static void add_tensor(struct task *t, const char *name, enum dtype dtype, bool output)
{
    struct task_tensor *x = vec_push(&t->tensors);
    *x = (struct task_tensor){
        .name = name, .dtype = dtype, .is_input = !output, .is_output = output};
}

static void task_of_graph(struct task *t, const struct graph *g)
{
    *t = (struct task){.name = "graph", .dir = "generated"};
    for (int i = 0; i < NNAMES; i++) {
        *vec_push(&t->names) = names[i];
        if (i < NAXES)
            *vec_push(&t->axes) = (struct task_axis){.name = names[i]};
    }
    for (size_t i = 0; i < g->scalars.n; i++) {
        struct task_scalar *s = vec_push(&t->scalars);
        *s = (struct task_scalar){g->scalars.items[i]->name, g->scalars.items[i]->dtype,
                                  scalar_values[i], true};
    }
    for (size_t i = 0; i < g->inputs.n; i++)
        add_tensor(t, g->inputs.items[i]->name, g->inputs.items[i]->dtype, false);
    vec_each (const struct graph_output, o, &g->outputs)
        add_tensor(t, o->name, o->dtype, true);
}

static void task_drop(struct task *t)
{
    vec_release(&t->names);
    vec_release(&t->axes);
    vec_release(&t->scalars);
    vec_release(&t->tensors);
    vec_release(&t->phases);
}

/* ---- elementwise operations ------------------------------------------------------------------ */

static const struct value *usual_operand(struct maker *m, enum graph_op o)
{
    switch (o) {
    case OP_ACOS:
    case OP_ASIN:
    case OP_ATANH:
        return in(m, "u", DT_F32, "A,B,C");
    case OP_ACOSH:
        return in(m, "a", DT_F32, "A,B,C");
    case OP_LOG:
    case OP_LOG10:
    case OP_LOG1P:
    case OP_LOG2:
    case OP_SQRT:
    case OP_RSQRT:
    case OP_POW:
        return in(m, "p", DT_F32, "A,B,C");
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_NOT:
    case OP_SHL:
    case OP_SHR:
        return in(m, "i", DT_I32, "A,B,C");
    case OP_WHERE:
        return in(m, "b", DT_BOOL, "A,B,C");
    case OP_ISFINITE:
    case OP_ISINF:
    case OP_ISNAN:
    case OP_RELU:
    case OP_MAXIMUM:
        return in(m, "e", DT_F32, "A,B,C");
    default:
        return x3(m);
    }
}

static const struct value *second_operand(struct maker *m, enum graph_op o)
{
    switch (o) {
    case OP_AND:
    case OP_OR:
    case OP_XOR:
        return in(m, "i2", DT_I32, "B,1");
    case OP_SHL:
    case OP_SHR:
        return in(m, "k", DT_I32, "C");
    case OP_HARDSHRINK:
    case OP_SOFTSHRINK:
    case OP_LEAKY_RELU:
        return m->s;
    case OP_CELU:
    case OP_ELU:
    case OP_SOFTPLUS:
    case OP_THRESHOLD:
        return number(m, 1.25);
    case OP_CLAMP:
    case OP_CLAMP_MIN:
        return number(m, -1);
    default:
        return in(m, "y", DT_F16, "B,C");
    }
}

static void add_elementwise(struct maker *m, enum graph_op o)
{
    uint32_t n = op_args(o, NULL);
    const struct value *a = usual_operand(m, o);
    struct attr to = attr_dtype(DT_I16);
    out(m, op(m, o, ARGS(a, n > 1 ? second_operand(m, o) : NULL, n > 2 ? number(m, 2) : NULL),
              o == OP_CAST ? &to : NULL));
}

static void elementwise(void **state)
{
    struct maker m;
    unsigned n = 0;
    for (int o = 0; o < OP_COUNT; o++) {
        if (op_row((enum graph_op)o)->kind != OPK_ELEMENTWISE)
            continue;
        if (n++ % 6 == 0)
            maker_open(&m);
        add_elementwise(&m, (enum graph_op)o);
        if (n % 6 == 0)
            check(&m);
    }
    if (n % 6)
        check(&m);
}

/* Applies operations to a sum. Its magnitude, the sum of the absolute terms, can be larger than its
 * value. */
static void functions_of_sums(void **state)
{
    struct maker m;
    static const enum graph_op all[] = {
        OP_RELU, OP_SIGMOID, OP_SILU, OP_GELU,  OP_TANH,  OP_EXP, OP_SQUARE, OP_POW, OP_MAXIMUM,
        OP_DIV,  OP_MUL,     OP_LERP, OP_WHERE, OP_CLAMP, OP_ERF, OP_SELU,   OP_ABS, OP_SOFTPLUS};
    maker_open(&m);
    const struct value *sum = op2(&m, OP_SUB, x3(&m), in(&m, "y", DT_F32, "B,C"));
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        uint32_t n = op_args(all[i], NULL);
        const struct value *first = all[i] == OP_WHERE ? op2(&m, OP_GT, sum, m.s) : sum;
        const struct value *second = n < 2              ? NULL
                                     : all[i] == OP_POW ? number(&m, 3)
                                                        : number(&m, 1.5);
        out(&m, op(&m, all[i], ARGS(first, second, n > 2 ? sum : NULL), NULL));
    }
    check(&m);
}

static void whole_numbers(void **state)
{
    struct maker m;
    static const enum dtype types[] = {DT_I8, DT_U8, DT_I16, DT_I32, DT_I64};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        maker_open(&m);
        const struct value *a = in(&m, "i", types[i], "A,B,C"), *b = in(&m, "k", types[i], "C");
        const struct value *square = op2(&m, OP_MUL, a, a);
        out(&m, op2(&m, OP_ADD, square, op2(&m, OP_SHL, a, b)));
        out(&m, op2(&m, OP_SUB, op1(&m, OP_NEG, a), op1(&m, OP_NOT, b)));
        out(&m, op2(&m, OP_FLOOR_DIV, a, b));
        out(&m, op2(&m, OP_REMAINDER, a, b));
        out(&m, op2(&m, OP_DIV, a, b));
        out(&m, op2(&m, OP_MUL, a, m.s));
        out(&m, op(&m, OP_SUM, ARGS(a), ATTRS(AXES(1))));
        out(&m, op(&m, OP_AMAX, ARGS(square), ATTRS(AXES(0))));
        out(&m, op(&m, OP_CUMSUM, ARGS(a), ATTRS(AXES(2))));
        check(&m);
    }
}

static void casts(void **state)
{
    struct maker m;
    static const enum dtype to[] = {DT_F64, DT_F16, DT_I64, DT_I8, DT_U8, DT_BOOL, DT_BF16};
    maker_open(&m);
    for (size_t i = 0; i < ARRAY_LEN(to); i++) {
        struct attr t = attr_dtype(to[i]);
        out(&m, op(&m, OP_CAST, ARGS(op2(&m, OP_MUL, x3(&m), number(&m, 1.25))), &t));
        if (to[i] != DT_U8)
            out(&m, op(&m, OP_CAST, ARGS(in(&m, "i", DT_I32, "B")), &t));
    }
    out(&m, op2(&m, OP_ADD, in(&m, "b", DT_BOOL, "A,B"), in(&m, "b2", DT_BOOL, "B")));
    out(&m, op1(&m, OP_NOT, in(&m, "b", DT_BOOL, "A,B")));
    check(&m);
}

static void leaves(void **state)
{
    struct maker m;
    maker_open(&m);
    const struct value *n = graph_size(&m.g, size(&m, "min(2*A,B+1)*cdiv(C,2)"));
    out(&m, op2(&m, OP_DIV, op2(&m, OP_MUL, x3(&m), m.s), n));
    out(&m, op2(&m, OP_ADD, in(&m, "x2", DT_F32, "Q*B"), number(&m, -0.1)));
    out(&m, op1(&m, OP_NEG, in(&m, "x4", DT_F32, "")));
    out(&m, op2(&m, OP_ADD, in(&m, "x5", DT_F32, "1,C"), in(&m, "y5", DT_F32, "B,1")));
    check(&m);
}

/* ---- reductions and operations along an axis ------------------------------------------------- */

static void reductions(void **state)
{
    struct maker m;
    static const enum graph_op each[] = {OP_SUM,  OP_MEAN,      OP_PROD,   OP_AMAX,
                                         OP_AMIN, OP_LOGSUMEXP, OP_ARGMAX, OP_ARGMIN};
    for (size_t i = 0; i < ARRAY_LEN(each); i++) {
        bool one = each[i] == OP_ARGMAX || each[i] == OP_ARGMIN;
        maker_open(&m);
        const struct value *x = each[i] == OP_PROD ? in(&m, "u", DT_F32, "A,B,C") : x3(&m);
        out(&m, op(&m, each[i], ARGS(x), NULL));
        out(&m, op(&m, each[i], ARGS(x), ATTRS(AXES(1))));
        out(&m, op(&m, each[i], ARGS(x), ATTRS(AXES(-1), attr_bool(true))));
        if (!one)
            out(&m, op(&m, each[i], ARGS(x), ATTRS(AXES(0, 2), attr_bool(true))));
        check(&m);
    }
}

static void tests_of_all(void **state)
{
    struct maker m;
    maker_open(&m);
    const struct value *b = in(&m, "b", DT_BOOL, "A,B,C");
    out(&m, op(&m, OP_ANY, ARGS(b), ATTRS(AXES(2))));
    out(&m, op(&m, OP_ALL, ARGS(b), ATTRS(AXES(0))));
    out(&m, op(&m, OP_ANY, ARGS(b), NULL));
    out(&m, op(&m, OP_SUM, ARGS(b), ATTRS(AXES(1))));
    out(&m, op(&m, OP_ALL, ARGS(in(&m, "k", DT_I32, "A,B")), NULL));
    check(&m);
}

static void variances(void **state)
{
    struct maker m;
    maker_open(&m);
    out(&m, op(&m, OP_VAR, ARGS(x3(&m)), ATTRS(AXES(2))));
    out(&m, op(&m, OP_VAR, ARGS(x3(&m)), ATTRS(AXES(0, 1), attr_int(0), attr_bool(true))));
    out(&m, op(&m, OP_STD, ARGS(x3(&m)), ATTRS(AXES(1), attr_int(0))));
    out(&m, op(&m, OP_STD, ARGS(x3(&m)), NULL));
    check(&m);
}

static void norms(void **state)
{
    struct maker m;
    static const double p[] = {2, 1, 3, 0, INFINITY, -INFINITY};
    maker_open(&m);
    for (size_t i = 0; i < ARRAY_LEN(p); i++)
        out(&m, op(&m, OP_NORM, ARGS(x3(&m)), ATTRS(attr_real(p[i]), AXES(1, 2))));
    out(&m, op(&m, OP_NORMALIZE, ARGS(x3(&m), number(&m, 1e-12)), ATTRS(attr_real(2), AXES(1))));
    out(&m, op(&m, OP_NORMALIZE, ARGS(x3(&m), number(&m, 2.5)), ATTRS(attr_real(1), AXES(0))));
    check(&m);
    maker_open(&m);
    const struct value *eps = number(&m, 1e-5);
    const struct value *w = in(&m, "w", DT_F32, "C"), *b = in(&m, "y", DT_F32, "C");
    out(&m, op(&m, OP_LAYER_NORM, ARGS(x3(&m), w, b, eps), NULL));
    out(&m, op(&m, OP_LAYER_NORM, ARGS(x3(&m), NULL, NULL, eps), ATTRS(attr_int(2))));
    out(&m, op(&m, OP_RMS_NORM, ARGS(x3(&m), w, m.s), NULL));
    out(&m, op(&m, OP_RMS_NORM, ARGS(x3(&m), NULL, eps), ATTRS(attr_int(3))));
    check(&m);
}

/* Divides each row of x by its norm. */
static const struct value *unit_rows(struct maker *m, const struct value *x)
{
    const struct value *n = op(m, OP_NORM, ARGS(x), ATTRS(attr_real(2), AXES(1), attr_bool(true)));
    return op2(m, OP_DIV, x, op2(m, OP_MAXIMUM, n, number(m, 1e-12)));
}

/* Subtracts two sums of squares. The error of w's norm is in both of them, the error of x's norm in
 * the first only, and the error of y's norm in the second only. */
static void sums_with_common_errors(void **state)
{
    struct maker m;
    maker_open(&m);
    const struct value *rows[3];
    static const char *const name[] = {"w", "x", "y"};
    for (size_t i = 0; i < 3; i++)
        rows[i] = unit_rows(&m, in(&m, name[i], DT_F32, "B,C"));
    const struct value *far[2];
    for (size_t i = 0; i < 2; i++)
        far[i] = op(&m, OP_SUM, ARGS(op1(&m, OP_SQUARE, op2(&m, OP_SUB, rows[i + 1], rows[0]))),
                    ATTRS(AXES(1)));
    out(&m, op2(&m, OP_SUB, op2(&m, OP_ADD, far[0], number(&m, 3)), far[1]));
    check(&m);
}

static void softmaxes(void **state)
{
    struct maker m;
    static const enum graph_op each[] = {OP_SOFTMAX, OP_LOG_SOFTMAX, OP_SOFTMIN};
    maker_open(&m);
    for (size_t i = 0; i < ARRAY_LEN(each); i++)
        for (int64_t axis = 0; axis < 3; axis++)
            out(&m, op(&m, each[i], ARGS(x3(&m)), ATTRS(AXES(axis))));
    check(&m);
}

static void scans(void **state)
{
    struct maker m;
    static const enum graph_op each[] = {OP_CUMSUM, OP_CUMPROD, OP_CUMMAX, OP_CUMMIN};
    for (size_t i = 0; i < ARRAY_LEN(each); i++) {
        maker_open(&m);
        const struct value *u = in(&m, "u", DT_F32, "A,B,C");
        for (int64_t axis = 0; axis < 3; axis++)
            out(&m, op(&m, each[i], ARGS(u), ATTRS(AXES(axis))));
        const struct value *back = op(&m, OP_FLIP, ARGS(x3(&m)), ATTRS(AXES(1)));
        back = op(&m, OP_CUMSUM, ARGS(back), ATTRS(AXES(1)));
        out(&m, op2(&m, OP_SUB, op(&m, OP_FLIP, ARGS(back), ATTRS(AXES(1))), x3(&m)));
        check(&m);
    }
}

/* ---- products -------------------------------------------------------------------------------- */

static void products(void **state)
{
    struct maker m;
    maker_open(&m);
    const struct value *v = in(&m, "v", DT_F16, "C"), *b = in(&m, "y", DT_F32, "C,B"),
                       *c = in(&m, "z", DT_F32, "A,C,1"), *l = in(&m, "w", DT_F32, "B");
    const struct value *d = in(&m, "x6", DT_F32, "2,1,B,C"), *i = in(&m, "i", DT_I32, "C,A");
    out(&m, op2(&m, OP_MATMUL, x3(&m), b));
    out(&m, op2(&m, OP_MATMUL, x3(&m), v));
    out(&m, op2(&m, OP_MATMUL, v, b));
    out(&m, op2(&m, OP_MATMUL, v, v));
    out(&m, op2(&m, OP_MATMUL, l, x3(&m)));
    out(&m, op2(&m, OP_MATMUL, x3(&m), c));
    out(&m, op2(&m, OP_MATMUL, d, c));
    out(&m, op2(&m, OP_MATMUL, in(&m, "i3", DT_I32, "B,C"), i));
    check(&m);
}

/* Makes two graphs. In the first, several operations read a product. In the second, an operand of a
 * product takes so much work that a reference should store it. */
static void chains(void **state)
{
    struct maker m;
    maker_open(&m);
    const struct value *w = in(&m, "w", DT_F32, "C,B");
    const struct value *h = op2(&m, OP_MATMUL, x3(&m), w);
    out(&m, op2(&m, OP_MUL, h, op1(&m, OP_SIGMOID, h)));
    out(&m, op(&m, OP_SOFTMAX, ARGS(h), ATTRS(AXES(-1))));
    out(&m, op(&m, OP_MEAN, ARGS(op1(&m, OP_SQUARE, h)), NULL));
    out(&m, h);
    check(&m);
    maker_open(&m);
    w = in(&m, "w", DT_F32, "C,B");
    const struct value *n = op(&m, OP_LAYER_NORM, ARGS(x3(&m), NULL, NULL, number(&m, 1e-3)), NULL);
    h = op1(&m, OP_GELU, op2(&m, OP_MATMUL, n, w));
    h = op2(&m, OP_MATMUL, h, in(&m, "w2", DT_F32, "B,C"));
    out(&m, op2(&m, OP_ADD, h, x3(&m)));
    check(&m);
}

static const struct value *conv(struct maker *m, const struct value *x, const struct value *w,
                                const struct value *bias, struct attr stride, int64_t pad,
                                struct attr dilation, const char *groups)
{
    const struct dim *before[GRAPH_MAX_RANK], *after[GRAPH_MAX_RANK];
    for (size_t i = 0; i < stride.n; i++) {
        before[i] = dim_number(&m->g.dims, pad);
        after[i] = dim_number(&m->g.dims, pad + (int64_t)i);
    }
    return op(m, OP_CONV, ARGS(x, w, bias),
              ATTRS(stride, attr_dims(before, stride.n), attr_dims(after, stride.n), dilation,
                    attr_dim(size(m, groups))));
}

static void convolutions(void **state)
{
    struct maker m;
    maker_open(&m);
    out(&m, conv(&m, in(&m, "x", DT_F32, "A,B,C+3"), in(&m, "w", DT_F32, "2,B,3"), NULL, INTS(2), 1,
                 INTS(1), "1"));
    out(&m, conv(&m, in(&m, "x", DT_F32, "A,B,C+3"), in(&m, "w2", DT_F32, "2*B,1,2"),
                 in(&m, "y", DT_F32, "2*B"), INTS(1), 0, INTS(2), "B"));
    check(&m);
    maker_open(&m);
    const struct value *x = in(&m, "x", DT_F16, "A,4,B+2,C+3");
    out(&m, conv(&m, x, in(&m, "w", DT_F32, "6,2,3,2"), in(&m, "y", DT_F32, "6"), INTS(2, 1), 1,
                 INTS(1, 2), "2"));
    out(&m,
        op1(&m, OP_RELU,
            conv(&m, x, in(&m, "w2", DT_F32, "B,4,1,3"), NULL, INTS(1, 1), 0, INTS(1, 1), "1")));
    check(&m);
    maker_open(&m);
    x = in(&m, "x", DT_F32, "2,2,A+1,B,C");
    out(&m, conv(&m, x, in(&m, "w", DT_F32, "3,2,2,1,3"), in(&m, "y", DT_F32, "3"), INTS(1, 2, 1),
                 1, INTS(1, 1, 1), "1"));
    check(&m);
}

static const struct value *conv_transpose(struct maker *m, const struct value *x,
                                          const struct value *w, const struct value *bias,
                                          struct attr stride, struct attr pad, struct attr more,
                                          struct attr dilation, const char *groups)
{
    return op(m, OP_CONV_TRANSPOSE, ARGS(x, w, bias),
              ATTRS(stride, pad, more, dilation, attr_dim(size(m, groups))));
}

static void transposed_convolutions(void **state)
{
    struct maker m;
    maker_open(&m);
    out(&m, conv_transpose(&m, in(&m, "x", DT_F32, "A,B,C"), in(&m, "w", DT_F32, "B,2,3"), NULL,
                           INTS(1), INTS(0), INTS(0), INTS(1), "1"));
    out(&m, conv_transpose(&m, in(&m, "x", DT_F32, "A,B,C"), in(&m, "w2", DT_F32, "B,3,4"),
                           in(&m, "y", DT_F32, "3*B"), INTS(3), INTS(1), INTS(2), INTS(1), "B"));
    check(&m);
    maker_open(&m);
    out(&m, conv_transpose(&m, in(&m, "x", DT_F16, "A,4,B,C"), in(&m, "w", DT_F32, "4,3,3,2"),
                           in(&m, "y", DT_F32, "6"), INTS(2, 1), INTS(1, 0), INTS(1, 0), INTS(1, 2),
                           "2"));
    check(&m);
    maker_open(&m);
    const struct value *x = in(&m, "x", DT_F32, "2,2,A,B,C");
    out(&m, conv_transpose(&m, op1(&m, OP_EXP, x), in(&m, "w", DT_F32, "2,3,2,1,3"), NULL,
                           INTS(1, 2, 2), INTS(0, 0, 1), INTS(0, 1, 0), INTS(1, 1, 1), "1"));
    check(&m);
}

static void attentions(void **state)
{
    struct maker m;
    maker_open(&m);
    const struct value *q = in(&m, "q", DT_F16, "2,A,B,C"), *k = in(&m, "x", DT_F16, "2,A,B+2,C"),
                       *v = in(&m, "v", DT_F16, "2,A,B+2,5");
    out(&m, op(&m, OP_ATTENTION, ARGS(q, k, v), NULL));
    out(&m, op(&m, OP_ATTENTION, ARGS(q, k, v, in(&m, "b", DT_BOOL, "B,B+2")), NULL));
    out(&m, op(&m, OP_ATTENTION, ARGS(q, k, v, NULL, m.s), ATTRS(attr_bool(true))));
    check(&m);
    maker_open(&m);
    q = in(&m, "q", DT_F32, "A,B,C");
    v = op(&m, OP_ATTENTION, ARGS(q, q, q, in(&m, "y", DT_F32, "A,1,B"), number(&m, 0.5)), NULL);
    out(&m, op2(&m, OP_ADD, v, q));
    check(&m);
}

/* Makes a weight with small values. With larger ones, the errors of a recurrent layer would grow
 * from step to step. */
static const struct value *small_weight(struct maker *m, const char *name, enum dtype t,
                                        const char *shape)
{
    return op2(m, OP_MUL, in(m, name, t, shape), number(m, 0.0625));
}

/* A is the time, B the batch, C the hidden size. */
static void recurrent_layers(void **state)
{
    struct maker m;
    maker_open(&m);
    const struct value *h = in(&m, "h", DT_F32, "B,C"), *x = in(&m, "x", DT_F32, "A,B,4*C"),
                       *y = in(&m, "y", DT_F32, "A,B,3*C"), *last;
    out(&m,
        op(&m, OP_LSTM,
           ARGS(x, small_weight(&m, "w", DT_F32, "4*C,C"), h, in(&m, "z", DT_F32, "B,C")), NULL));
    last =
        op(&m, OP_GRU,
           ARGS(y, small_weight(&m, "w2", DT_F32, "3*C,C"), in(&m, "v", DT_F32, "3*C"), h), NULL);
    out(&m, op(&m, OP_SLICE, ARGS(last),
               ATTRS(AXES(0), attr_dim(size(&m, "A-1")), attr_dim(size(&m, "1")))));
    check(&m);
    maker_open(&m);
    const struct value *w = small_weight(&m, "w", DT_F32, "C,C"), *s = in(&m, "x", DT_F32, "A,B,C");
    h = op1(&m, OP_SIN, in(&m, "h", DT_F32, "B,C"));
    out(&m, op(&m, OP_RNN, ARGS(s, w, h), NULL));
    out(&m, op(&m, OP_RNN, ARGS(op1(&m, OP_SIN, s), w, h), ATTRS(attr_bool(true))));
    check(&m);
    maker_open(&m);
    h = in(&m, "h", DT_F16, "B,C");
    out(&m, op(&m, OP_LSTM,
               ARGS(in(&m, "x", DT_F16, "A,B,4*C"), small_weight(&m, "w", DT_F16, "4*C,C"), h, h),
               NULL));
    out(&m, op(&m, OP_GRU,
               ARGS(in(&m, "y", DT_BF16, "A,B,3*C"), small_weight(&m, "w2", DT_BF16, "3*C,C"),
                    in(&m, "v", DT_BF16, "3*C"), in(&m, "z", DT_BF16, "B,C")),
               NULL));
    check(&m);
}

/* ---- by index -------------------------------------------------------------------------------- */

static void indices(void **state)
{
    struct maker m;
    maker_open(&m);
    const struct value *nb = in(&m, "nB", DT_I64, "C+2"), *two = in(&m, "nC2", DT_I32, "2,A");
    out(&m, op(&m, OP_INDEX_SELECT, ARGS(x3(&m), nb), ATTRS(AXES(1))));
    out(&m, op(&m, OP_INDEX_SELECT, ARGS(x3(&m), two), ATTRS(AXES(2))));
    out(&m, op(&m, OP_INDEX_SELECT, ARGS(x3(&m), in(&m, "nA", DT_I32, "")), ATTRS(AXES(0))));
    const struct value *best = op(&m, OP_ARGMAX, ARGS(x3(&m)), ATTRS(AXES(1)));
    out(&m, op(&m, OP_INDEX_SELECT, ARGS(in(&m, "y", DT_F32, "B"), best), ATTRS(AXES(0))));
    check(&m);
    maker_open(&m);
    out(&m,
        op(&m, OP_INDEX_ADD, ARGS(x3(&m), in(&m, "nA", DT_I64, "C"), in(&m, "y", DT_F32, "C,B,C")),
           ATTRS(AXES(0))));
    out(&m, op1(&m, OP_RELU,
                op(&m, OP_INDEX_ADD,
                   ARGS(x3(&m), in(&m, "nB", DT_I64, "9"), in(&m, "z", DT_F32, "A,9,C")),
                   ATTRS(AXES(1)))));
    check(&m);
    maker_open(&m);
    const struct value *chain = in(&m, "nA", DT_I64, "A"); /* then chain = chain[chain], 30 times */
    for (int i = 0; i < 30; i++)
        chain = op(&m, OP_INDEX_SELECT, ARGS(chain, chain), ATTRS(AXES(0)));
    out(&m, chain);
    check(&m);
    maker_open(&m);
    static const char *const modes[] = {"sum", "mean", "max"};
    for (size_t i = 0; i < ARRAY_LEN(modes); i++)
        out(&m, op(&m, OP_EMBEDDING_BAG,
                   ARGS(in(&m, "nA", DT_I32, "B*C"), in(&m, "x", DT_F16, "A,C"),
                        in(&m, "o", DT_I32, "A+1")),
                   ATTRS(attr_text(modes[i]))));
    check(&m);
}

/* ---- views ----------------------------------------------------------------------------------- */

static void views(void **state)
{
    struct maker m;
    const struct dim *d[GRAPH_MAX_RANK];
    maker_open(&m);
    uint32_t n = shape(&m, "B*A,C", d);
    const struct value *flat = op(&m, OP_RESHAPE, ARGS(x3(&m)), ATTRS(attr_dims(d, n)));
    out(&m, op2(&m, OP_MUL, flat, in(&m, "y", DT_F32, "C")));
    const struct value *turned = op(&m, OP_PERMUTE, ARGS(x3(&m)), ATTRS(AXES(2, 0, 1)));
    out(&m, turned);
    n = shape(&m, "C,A*B", d);
    out(&m, op(&m, OP_RESHAPE, ARGS(turned), ATTRS(attr_dims(d, n))));
    n = shape(&m, "2,B,C", d);
    out(&m, op(&m, OP_EXPAND, ARGS(in(&m, "z", DT_F32, "B,1")), ATTRS(attr_dims(d, n))));
    out(&m, op(&m, OP_FLIP, ARGS(x3(&m)), ATTRS(AXES(0, 2))));
    check(&m);
    maker_open(&m);
    const struct value *x = in(&m, "x", DT_F32, "A,2*B,C+4");
    const struct value *half =
        op(&m, OP_SLICE, ARGS(x), ATTRS(AXES(1), attr_dim(size(&m, "B")), attr_dim(size(&m, "B"))));
    out(&m, op1(&m, OP_NEG, half));
    out(&m, op(&m, OP_SLICE, ARGS(x),
               ATTRS(AXES(2), attr_dim(size(&m, "1")), attr_dim(size(&m, "2")), attr_int(3))));
    out(&m, op(&m, OP_PAD, ARGS(x3(&m), number(&m, -2.5)), ATTRS(INTS(0, 1, 2), INTS(1, 0, 3))));
    const struct value *wide = op(&m, OP_PAD, ARGS(op1(&m, OP_EXP, x), number(&m, 0)),
                                  ATTRS(INTS(0, 0, 2), INTS(0, 0, 2)));
    out(&m, op(&m, OP_SUM, ARGS(wide), ATTRS(AXES(2))));
    out(&m, op(&m, OP_SOFTMAX, ARGS(wide), ATTRS(AXES(2))));
    check(&m);
}

static void windows_and_joins(void **state)
{
    struct maker m;
    const struct dim *d[GRAPH_MAX_RANK];
    maker_open(&m);
    const struct value *x = in(&m, "x", DT_F32, "A,B+4,C+5");
    const struct value *rows = op(
        &m, OP_WINDOWS, ARGS(x), ATTRS(AXES(1), attr_dim(size(&m, "2")), attr_int(2), attr_int(3)));
    const struct value *both =
        op(&m, OP_WINDOWS, ARGS(rows),
           ATTRS(AXES(2), attr_dim(size(&m, "3")), attr_int(1), attr_int(1)));
    out(&m, op(&m, OP_AMAX, ARGS(both), ATTRS(AXES(3, 4))));
    out(&m, op(&m, OP_WINDOWS, ARGS(op1(&m, OP_EXP, x)), ATTRS(AXES(2), attr_dim(size(&m, "C")))));
    check(&m);
    maker_open(&m);
    const struct value *a = in(&m, "x", DT_F32, "A,B,C"), *b = in(&m, "y", DT_F16, "A,2,C");
    const struct value *joined = op(&m, OP_CAT, ARGS(a, op1(&m, OP_EXP, b)), ATTRS(AXES(1)));
    out(&m, joined);
    out(&m, op(&m, OP_SUM, ARGS(op(&m, OP_CAT, ARGS(joined, a), ATTRS(AXES(1)))), ATTRS(AXES(1))));
    uint32_t n = shape(&m, "C", d);
    const struct value *steps = op(&m, OP_IOTA, ARGS(NULL), ATTRS(attr_dims(d, n)));
    out(&m, steps);
    out(&m, op2(&m, OP_MUL, a, steps));
    check(&m);
    /* Joins many parts with cat. Two operations read the result. One part is a sum that only the
     * cat reads. */
    maker_open(&m);
    a = in(&m, "y", DT_F32, "A,C");
    joined = op(&m, OP_SUM, ARGS(in(&m, "x", DT_F32, "A,B,C")), ATTRS(AXES(1)));
    for (int i = 0; i < 7; i++)
        joined = op(&m, OP_CAT, ARGS(joined, op1(&m, i % 2 ? OP_EXP : OP_NEG, a)), ATTRS(AXES(1)));
    out(&m, op(&m, OP_SUM, ARGS(op1(&m, OP_SQUARE, joined)), ATTRS(AXES(1))));
    out(&m, op1(&m, OP_TANH, joined));
    check(&m);
    maker_open(&m);
    out(&m, op(&m, OP_GATHER, ARGS(in(&m, "x", DT_F32, "A*B,C"), in(&m, "nC", DT_I64, "A*B,1")),
               ATTRS(AXES(1))));
    check(&m);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void losses(void **state)
{
    struct maker m;
    static const char *const how[] = {"none", "mean", "sum"};
    maker_open(&m);
    for (size_t i = 0; i < ARRAY_LEN(how); i++) {
        struct attr a = attr_text(how[i]);
        out(&m, op(&m, OP_CROSS_ENTROPY,
                   ARGS(in(&m, "x", DT_F32, "A*B,C"), in(&m, "t", DT_I64, "A*B")), &a));
        out(&m, op(&m, OP_TRIPLET_MARGIN_LOSS,
                   ARGS(in(&m, "x2", DT_F32, "A*B,C"), in(&m, "y", DT_F32, "A*B,C"),
                        in(&m, "z", DT_F32, "A*B,C"), m.s, number(&m, 1e-6)),
                   &a));
    }
    check(&m);
    maker_open(&m);
    struct attr mean = attr_text("mean");
    const struct value *logits =
        op2(&m, OP_MATMUL, in(&m, "x", DT_F32, "A,B"), in(&m, "w", DT_F32, "B,C"));
    out(&m, op(&m, OP_CROSS_ENTROPY, ARGS(logits, in(&m, "t", DT_I64, "A")), &mean));
    check(&m);
}

#define GRAPH_CASES                                                                                \
    cmocka_unit_test(elementwise), cmocka_unit_test(functions_of_sums),                            \
        cmocka_unit_test(whole_numbers), cmocka_unit_test(casts), cmocka_unit_test(leaves),        \
        cmocka_unit_test(reductions), cmocka_unit_test(tests_of_all), cmocka_unit_test(variances), \
        cmocka_unit_test(norms), cmocka_unit_test(softmaxes), cmocka_unit_test(scans),             \
        cmocka_unit_test(products), cmocka_unit_test(chains), cmocka_unit_test(convolutions),      \
        cmocka_unit_test(attentions), cmocka_unit_test(indices), cmocka_unit_test(views),          \
        cmocka_unit_test(losses), cmocka_unit_test(transposed_convolutions),                       \
        cmocka_unit_test(windows_and_joins), cmocka_unit_test(recurrent_layers),                   \
        cmocka_unit_test(sums_with_common_errors),

#endif
