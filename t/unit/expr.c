/* Tests the expression language: values, precedence, errors with their column, bounds. */
#include "base/expr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"

static const char *const names[] = {"M", "N", "K", "alignment"};
static const int64_t values[] = {10, 7, 0, 16};

static int align_of(void *ctx, const char *name, int64_t *out)
{
    if (!str_eq(name, "A"))
        return -1;
    *out = *(int64_t *)ctx;
    return 0;
}

/* Parses and evaluates an expression. Returns 0 and sets *out, or returns -1 with the message in
 * err. If the parser fails, *col is the column of the error. */
static int run(const char *text, int64_t *out, size_t *col, struct err *err)
{
    struct arena a = ARENA_INIT;
    int64_t alignment = 32;
    struct expr_env env = {.values = values, .alignof_fn = align_of, .ctx = &alignment};
    struct expr *e = expr_parse(text, strlen(text), names, ARRAY_LEN(names), &a, col, err);
    int rc = e ? expr_eval(e, &env, out, err) : -1;
    arena_release(&a);
    return rc;
}

static void values_are_exact(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } cases[] = {
        {"1+2*3", 7},
        {"(1+2)*3", 9},
        {"10-3-2", 5},
        {"100/10/5", 2},
        {"7/2", 3},
        {"-7/2", -3},
        {"-7%3", -1},
        {"7%-3", 1},
        {"- - 4", 4},
        {"+5", 5},
        {"!0 + !7", 1},
        {"M*N", 70},
        {"M % N", 3},
        {"1<2", 1},
        {"2<=1", 0},
        {"3>=3", 1},
        {"3>4", 0},
        {"M==10", 1},
        {"M!=10", 0},
        {"1+1 == 2", 1},
        {"5 && 3", 1},
        {"0 || 9", 1},
        {"0 || 0", 0},
        {"7 || 0", 1},
        {"1 || 0 && 0", 1},
        {"0 && 1 || 1", 1},
        {"0 && 0 && 1", 0},
        {"1 ? 2 : 3", 2},
        {"0 ? 2 : 3", 3},
        {"0 ? 1 : 0 ? 2 : 3", 3},
        {"1 ? 0 ? 4 : 5 : 6", 5},
        {"(M > 5 ? M : N) + 1", 11},
        {"min(3,2)", 2},
        {"max(3, 2)", 3},
        {"min(5,4,3,6)", 3},
        {"max(1,2,9,4)", 9},
        {"min(max(1,2),3)", 2},
        {"cdiv(10,3)", 4},
        {"cdiv(9,3)", 3},
        {"cdiv(0,3)", 0},
        {"cdiv(-7,2)", -3},
        {"cdiv(9223372036854775807,2)", INT64_C(4611686018427387904)},
        {"align(10,8)", 16},
        {"align(16,8)", 16},
        {"align(-3,8)", 0},
        {"align(10,6)", 12},
        {"pow2ceil(0)", 1},
        {"pow2ceil(-5)", 1},
        {"pow2ceil(1)", 1},
        {"pow2ceil(2)", 2},
        {"pow2ceil(5)", 8},
        {"pow2ceil(4611686018427387904)", INT64_C(4611686018427387904)},
        {"pow2ceil(4611686018427387903)", INT64_C(4611686018427387904)},
        {"alignof(A)", 32},
        {"alignof(A) % 16 == 0 && N % 4 == 0 ? 1 : 2", 2},
        {"alignment", 16},
        {" 1\t+\n2 ", 3},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807-1", INT64_MIN},
        /* The branch that is not taken may hold any error. */
        {"K != 0 && M/K > 1", 0},
        {"K == 0 || M/K > 1", 1},
        {"K ? M/K : 5", 5},
        {"1 ? 5 : M/K", 5},
        {"0 ? alignof(nothing) : 3", 3},
        {"1 || 9223372036854775807+1", 1},
        {"0 && (K == 0 || M/K)", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v = -12345;
        struct err err = ERR_INIT;
        if (run(cases[i].text, &v, NULL, &err) < 0)
            fail_msg("'%s': %s", cases[i].text, err.msg);
        if (v != cases[i].want)
            fail_msg("'%s' is %ld, not %ld", cases[i].text, (long)v, (long)cases[i].want);
    }
}

static void parse_errors_name_the_column(void **state)
{
    static const struct {
        const char *text;
        size_t col;
        const char *says;
    } cases[] = {
        {"", 0, "the expression ends"},
        {"   ", 3, "the expression ends"},
        {"1+", 2, "the expression ends"},
        {"1 + * 2", 4, "found '*'"},
        {"M + Q", 4, "unknown name 'Q'; known here: M, N, K, alignment"},
        {"MM", 0, "unknown name 'MM'"},
        {"(1", 2, "')' expected, but the expression ends"},
        {"(1]", 2, "')' expected, found ']'"},
        {"1 2", 2, "an operator or the end expected, found '2'"},
        {"1)", 1, "found ')'"},
        {"99999999999999999999", 0, "does not fit in 64 bits"},
        {"1.5", 0, "only decimal integers"},
        {"M*1e5", 2, "only decimal integers"},
        {"0x10", 0, "only decimal integers"},
        {"007", 0, "may not start with 0"},
        {"M ** 2", 2, "no operator '**'"},
        {"M // 2", 2, "no operator '//'"},
        {"1 < 2 < 3", 6, "do not chain"},
        {"1 == 2 == 3", 7, "do not chain"},
        {"1 ? 2", 5, "':' expected"},
        {"1 ? : 2", 4, "found ':'"},
        {"min(1)", 0, "min takes at least 2 arguments, not 1"},
        {"cdiv(1,2,3)", 0, "cdiv takes 2 arguments, not 3"},
        {"pow2ceil()", 0, "pow2ceil takes 1 argument, not 0"},
        {"2*sqrt(4)", 2, "unknown function 'sqrt'"},
        {"M(3)", 0, "unknown function 'M'"},
        {"alignof(", 8, "a tensor's name expected"},
        {"alignof(3)", 8, "a tensor's name expected"},
        {"alignof(A", 9, "')' expected"},
        {"min(1,", 6, "the expression ends"},
        {"min(1 2)", 6, "',' or ')' expected"},
        {"M & N", 2, "found '&'"},
        {"M = N", 2, "found '='"},
        {"M\x01", 1, "found byte 0x01"},
        {"M \xc3\xa9", 2, "found byte 0xc3"},
        {"\"M\"", 0, "found '\"'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v;
        size_t col = 999;
        struct err err = ERR_INIT;
        if (run(cases[i].text, &v, &col, &err) == 0)
            fail_msg("'%s' was accepted", cases[i].text);
        if (col != cases[i].col || !strstr(err.msg, cases[i].says))
            fail_msg("'%s': column %zu (want %zu): %s", cases[i].text, col, cases[i].col, err.msg);
    }
}

static void evaluation_errors_name_the_column(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"M / K", "division by zero at column 3 of 'M / K'"},
        {"M % K", "division by zero at column 3"},
        {"cdiv(M,K)", "division by zero at column 1"},
        {"cdiv(M,-1)", "cdiv by a negative number at column 1"},
        {"align(M,K)", "align needs a divisor above 0"},
        {"align(M,-8)", "align by a negative number"},
        {"align(9223372036854775807,2)", "overflow at column 1"},
        {"1 + 9223372036854775807", "overflow at column 3"},
        {"-9223372036854775807 - 2", "overflow at column 22"},
        {"4294967296 * 4294967296", "overflow at column 12"},
        {"(-9223372036854775807-1) / -1", "overflow at column 26"},
        {"(-9223372036854775807-1) % -1", "overflow"},
        {"-(-9223372036854775807-1)", "overflow at column 1"},
        {"pow2ceil(4611686018427387905)", "overflow at column 1"},
        {"alignof(B)", "there is no tensor 'B' at column 9"},
        {"0 || M/K", "division by zero"},
        {"1 && M/K", "division by zero"},
        {"0 ? 1 : M/K", "division by zero"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v;
        struct err err = ERR_INIT;
        if (run(cases[i].text, &v, NULL, &err) == 0)
            fail_msg("'%s' was accepted", cases[i].text);
        if (!strstr(err.msg, cases[i].says))
            fail_msg("'%s': %s", cases[i].text, err.msg);
    }
}

static char *repeat(const char *s, size_t n, const char *mid, const char *t, size_t m)
{
    struct {
        char *p;
        size_t n;
    } o = {xcalloc(1, n * strlen(s) + strlen(mid) + m * strlen(t) + 1), 0};
    for (size_t i = 0; i < n; i++, o.n += strlen(s))
        memcpy(o.p + o.n, s, strlen(s));
    memcpy(o.p + o.n, mid, strlen(mid));
    o.n += strlen(mid);
    for (size_t i = 0; i < m; i++, o.n += strlen(t))
        memcpy(o.p + o.n, t, strlen(t));
    return o.p;
}

static void depth_and_length_are_bounded(void **state)
{
    const struct {
        const char *open;
        size_t n;
        const char *mid, *close;
        size_t m;
        int rc;
        const char *says;
    } cases[] = {
        {"(", 90, "1", ")", 90, 0, ""},
        {"(", 1000, "1", ")", 1000, -1, "nested more than 200 deep"},
        {"(", 10000, "1", ")", 10000, -1, "longer than 4096"},
        {"-", 190, "1", "", 0, 0, ""},
        {"-", 4000, "1", "", 0, -1, "nested more than"},
        {"!", 4000, "1", "", 0, -1, "nested more than"},
        {"min(1,", 500, "1", ")", 500, -1, "nested more than"},
        {"1?1:", 1000, "1", "", 0, -1, "nested more than"},
        {"1?", 1000, "1", ":1", 1000, -1, "nested more than"},
        {"1+1*(", 90, "1", ")", 90, 0, ""},
        {"1||1&&1==1+1*(", 95, "1", ")", 95, 0, ""},
        {"", 0, "0", "+1", 2000, 0, ""},
        {"", 0, "1", "&&1", 1300, 0, ""},
        {"", 0, "1", "||0", 1300, 0, ""},
        {"", 0, "1", "+1", 3000, -1, "longer than 4096"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *text = repeat(cases[i].open, cases[i].n, cases[i].mid, cases[i].close, cases[i].m);
        int64_t v;
        struct err err = ERR_INIT;
        int rc = run(text, &v, NULL, &err);
        if (rc != cases[i].rc || !strstr(err.msg, cases[i].says))
            fail_msg("case %zu: rc %d: %s", i, rc, err.msg);
        free(text);
    }
}

static void names_used_are_known(void **state)
{
    struct arena a = ARENA_INIT;
    const char *text = "M + alignof(A) + alignof(Bc)";
    size_t col = 0;
    struct expr *e = expr_parse(text, strlen(text), names, ARRAY_LEN(names), &a, NULL, NULL);
    assert_non_null(e);
    assert_true(expr_uses(e, 0));
    assert_false(expr_uses(e, 1));
    assert_string_equal(expr_text(e), text);
    assert_string_equal(expr_alignof_name(e, 0, NULL), "A");
    assert_string_equal(expr_alignof_name(e, 1, &col), "Bc");
    assert_int_equal(col, 25);
    assert_null(expr_alignof_name(e, 2, NULL));
    int64_t v;
    struct err err = ERR_INIT;
    assert_int_equal(expr_eval(e, &(struct expr_env){.values = values}, &v, &err), -1);
    assert_non_null(strstr(err.msg, "alignof(A) has no meaning here"));
    arena_release(&a);
}

/* ---- folding: an expression becomes a text with all its parentheses ---- */

static void *text_of_number(void *ctx, int64_t v)
{
    return arena_printf(ctx, "%lld", (long long)v);
}

static void *text_of_name(void *ctx, size_t i)
{
    return arena_strdup(ctx, names[i]);
}

static void *text_of_operator(void *ctx, const char *op, void *a, void *b)
{
    return b ? arena_printf(ctx, "(%s %s %s)", op, (char *)a, (char *)b)
             : arena_printf(ctx, "(%s %s)", op, (char *)a);
}

static void *text_of_choice(void *ctx, void *condition, void *then, void *otherwise)
{
    return arena_printf(ctx, "(? %s %s %s)", (char *)condition, (char *)then, (char *)otherwise);
}

static void *text_of_alignof(void *ctx, const char *tensor)
{
    return arena_printf(ctx, "(alignof %s)", tensor);
}

static void *text_of_real(void *ctx, double v)
{
    return arena_printf(ctx, "%g", v);
}

static const char *const reals[] = {"eps", "scale"};
static const double real_values[] = {0.5, -3};

static void *text_of_real_name(void *ctx, size_t i)
{
    return arena_strdup(ctx, reals[i]);
}

static struct expr_fold fold_to_text(struct arena *a)
{
    return (struct expr_fold){.number = text_of_number,
                              .name = text_of_name,
                              .apply = text_of_operator,
                              .ctx = a,
                              .choose = text_of_choice,
                              .tensor_align = text_of_alignof,
                              .real = text_of_real,
                              .real_name = text_of_real_name};
}

static void folding_sees_every_operator(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"M + 2 * N", "(+ M (* 2 N))"},
        {"M && N && K", "(&& (&& M N) K)"},
        {"M || N && K", "(|| M (&& N K))"},
        {"(M || N) && -K", "(&& (|| M N) (neg K))"},
        {"M ? N : K", "(? M N K)"},
        {"M ? N ? 1 : 2 : K ? 3 : 4", "(? M (? N 1 2) (? K 3 4))"},
        {"(M && N ? 1 : 2) + (N || K)", "(+ (? (&& M N) 1 2) (|| N K))"},
        {"min(M, N ? 1 : 2, K)", "(min (min M (? N 1 2)) K)"},
        {"alignof(A) >= 16 && !K", "(&& (>= (alignof A) 16) (! K))"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        const char *text = cases[i].text;
        struct expr *e = expr_parse(text, strlen(text), names, ARRAY_LEN(names), &a, NULL, NULL);
        struct expr_fold f = fold_to_text(&a);
        assert_string_equal(expr_fold(e, &f), cases[i].want);
        f.choose = NULL;
        f.tensor_align = NULL;
        if (i > 0)
            assert_null(expr_fold(e, &f)); /* an operator without its callback fails */
        arena_release(&a);
    }
}

/* ---- real numbers ---------------------------------------------------------------------------- */

static struct expr *parse_real(const char *text, struct arena *a, size_t *col, struct err *err)
{
    struct expr_names n = {names, ARRAY_LEN(names), reals, ARRAY_LEN(reals)};
    return expr_parse_real(text, strlen(text), &n, a, col, err);
}

static void reals_are_computed_in_double(void **state)
{
    static const struct {
        const char *text;
        double want;
        bool is_real;
    } cases[] = {
        {"1/sqrt(M)", 0x1.43d136248490fp-2, true},
        {"1.0/3", 1.0 / 3, true},
        {"0.1 + 0.2", 0.1 + 0.2, true},
        {"1/2*0.5", 0, true}, /* 1/2 divides integers */
        {"0.5*1/2", 0.25, true},
        {"double(M)/4", 2.5, true},
        {"M/4", 2, false},
        {"cdiv(M,4)*0.5", 1.5, true},
        {"-eps + scale", -3.5, true},
        {"eps < 1 ? M : N", 10, false},
        {"K ? 1.5 : N", 7, true},
        {"K ? 1 : eps", 0.5, true},
        {"K ? sqrt(-1) : 2", 2, true},
        {"min(M, 2.5, 7)", 2.5, true},
        {"max(1, scale)", 1, true},
        {"pow(2, M)", 1024, true},
        {"log2(8) + exp(0) + log(1)", 4, true},
        {"1e-3", 1e-3, true},
        {"2.5E+1", 25, true},
        {"3.", 3, true},
        {"(eps == 0.5) + 1", 2, false},
    };
    struct expr_env env = {.values = values, .reals = real_values};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        struct err err = ERR_INIT;
        double v = -1;
        struct expr *e = parse_real(cases[i].text, &a, NULL, &err);
        if (!e || expr_eval_real(e, &env, &v, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.msg);
        if (v != cases[i].want || expr_is_real(e) != cases[i].is_real)
            fail_msg("%s: %a", cases[i].text, v);
        int64_t whole;
        if (cases[i].is_real)
            assert_int_equal(expr_eval(e, &env, &whole, &err), -1);
        arena_release(&a);
    }
}

static void bad_reals_name_the_column(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"1.5 % 2", "% takes integers, but an operand is a real number (column 5"},
        {"cdiv(M, 2.5)", "cdiv takes integers"},
        {"pow2ceil(1.5)", "pow2ceil takes integers"},
        {"!eps", "! takes integers; compare"},
        {"eps && 1", "&& takes integers"},
        {"1 || eps", "|| takes integers"},
        {"eps ? 1 : 2", "the condition of ?: takes integers"},
        {"1.5x", "this is not a number (column 1"},
        {"1e", "this is not a number"},
        {"0x1p3", "this is not a number"},
        {"1e999", "does not fit a double"},
        {"sqrt()", "sqrt takes 1 argument, not 0"},
        {"sin(M)", "unknown function 'sin'"},
        {"gamma*2", "known here: M, N, K, alignment, eps, scale"},
        {"1/sqrt(K)", "division by zero at column 2 of"},
        {"sqrt(-M)", "the result is not a finite number at column 1"},
        {"log(0.0)", "the result is not a finite number"},
        {"exp(M*1000)", "the result is not a finite number"},
    };
    struct expr_env env = {.values = values, .reals = real_values};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        struct err err = ERR_INIT;
        double v;
        struct expr *e = parse_real(cases[i].text, &a, NULL, &err);
        if (e && expr_eval_real(e, &env, &v, &err) == 0)
            fail_msg("%s is %g", cases[i].text, v);
        if (!strstr(err.msg, cases[i].want))
            fail_msg("%s: %s", cases[i].text, err.msg);
        arena_release(&a);
    }
    struct arena a = ARENA_INIT;
    assert_null(expr_parse("1/sqrt(M)", 9, names, ARRAY_LEN(names), &a, NULL, NULL));
    assert_null(expr_parse("0.5", 3, names, ARRAY_LEN(names), &a, NULL, NULL));
    arena_release(&a);
}

static void folding_sees_real_operators(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"1/sqrt(M)", "(real/ 1 (sqrt M))"}, {"M/2*eps", "(* (/ M 2) eps)"},
        {"min(M, 0.5)", "(fmin M 0.5)"},     {"K ? 1 : double(M)", "(? K 1 (double M))"},
        {"-scale < 1", "(< (neg scale) 1)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        struct expr_fold f = fold_to_text(&a);
        assert_string_equal(expr_fold(parse_real(cases[i].text, &a, NULL, NULL), &f),
                            cases[i].want);
        arena_release(&a);
    }
}

/* t/fuzz/expr.c checks that a simplified expression keeps its value. */
static void simplified_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want; /* NULL: not an expression of integers */
    } cases[] = {
        {"((H-2))", "H - 2"},
        {"(128/1/8*8)", "128"},
        {"C*1*H*W < 100 && (1)*1 <= 7", "C*H*W < 100"},
        {"0 == 1 && anything >= 64", "0"},
        {"x && 0 == 1", "0"},
        {"x || 3 > 2", "1"},
        {"1 && x", "x != 0"},
        {"1 && x > 2", "x > 2"},
        {"0 || x", "x != 0"},
        {"2 == 1 ? (3 + 1)/2 : K*2/2", "K*2/2"},
        {"a > b ? c : 0 + d", "a > b ? c : d"},
        {"(a ? b : c) ? d : e", "(a ? b : c) ? d : e"},
        {"cdiv(O/(1), (64*2))*cdiv(C, 1)", "cdiv(O, 128)*C"},
        {"x*3*3*8", "x*72"},
        {"3*x*3", "3*x*3"},
        {"x/4*4", "x/4*4"},
        {"a - (b - c)", "a - (b - c)"},
        {"(a - b) - c", "a - b - c"},
        {"a*(b*c)", "a*(b*c)"},
        {"a/(b*1)", "a/b"},
        {"(a < b) == (c < d)", "(a < b) == (c < d)"},
        {"!(a && b) || c", "!(a && b) || c"},
        {"-(2 - 5) + x", "3 + x"},
        {"a - -1", "a - -1"},
        {"min(4, 230000/(128*384))", "4"},
        {"max(x, x)", "x"},
        {"min(a, b, 7)", "min(min(a, b), 7)"},
        {"alignof(w) >= 8*2", "alignof(w) >= 16"},
        {"7/0", "7/0"},
        {"1 ? 2 : 7/0", "2"},
        {"9223372036854775807 + 1", "9223372036854775807 + 1"},
        {"gemm", "gemm"},
        {"512", "512"},
        {"1.5", NULL},
        {"c2::gemm", NULL},
        {"two words", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf out = STRBUF_INIT(EXPR_MAX_LEN);
        bool ok = expr_simplify(cases[i].text, strlen(cases[i].text), &out);
        if (ok != (cases[i].want != NULL) || (ok && strcmp(out.buf, cases[i].want) != 0))
            fail_msg("%s: %s", cases[i].text, out.buf);
        strbuf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_exact),
        cmocka_unit_test(simplified_texts),
        cmocka_unit_test(parse_errors_name_the_column),
        cmocka_unit_test(evaluation_errors_name_the_column),
        cmocka_unit_test(depth_and_length_are_bounded),
        cmocka_unit_test(names_used_are_known),
        cmocka_unit_test(folding_sees_every_operator),
        cmocka_unit_test(reals_are_computed_in_double),
        cmocka_unit_test(bad_reals_name_the_column),
        cmocka_unit_test(folding_sees_real_operators),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
