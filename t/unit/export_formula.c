/* Expressions of plans as C and as Python: parentheses, division, checked operations. */
#include "export/formula.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"

static const char *const names[] = {"M", "N", "K", "z"};
static const int64_t lo[] = {1, 1, 1, -5}, hi[] = {INT32_MAX, INT32_MAX, 8, 5};

static void printed(const char *text, enum export_lang lang, enum formula_use use, const char *want)
{
    struct arena a = ARENA_INIT;
    struct strbuf sb = STRBUF_INIT(4096);
    struct formula_scope s = {
        .lang = lang, .n = ARRAY_LEN(names), .names = names, .lo = lo, .hi = hi};
    static const char *const reals[] = {"eps"}, *const real_values[] = {"0.1"};
    struct expr_names known = {names, ARRAY_LEN(names), reals, ARRAY_LEN(reals)};
    s.reals = real_values;
    struct expr *e = expr_parse_real(text, strlen(text), &known, &a, NULL, NULL);
    assert_non_null(e);
    formula_print(&sb, formula_of(e, &s, &a), &s, use);
    assert_string_equal(sb.buf, want);
    strbuf_release(&sb);
    arena_release(&a);
}

static void values(void **state)
{
    static const struct {
        const char *text, *c, *python;
    } cases[] = {
        {"cdiv(N,128)", "cdiv(N, 128)", "_cdiv(N, 128)"},
        {"2*(M+1)", "2 * (M + 1)", "2 * (M + 1)"},
        {"M-(N-1)", "M - (N - 1)", "M - (N - 1)"},
        {"M-N-1", "M - N - 1", "M - N - 1"},
        {"M/4%8", "M / 4 % 8", "M // 4 % 8"},
        {"M/(4%8)", "checked_div(plan, M, 4 % 8)", "_checked_div(M, 4 % 8)"},
        {"M*N", "M * N", "M * N"},
        {"4*M*N", "checked_mul(plan, 4 * M, N)", "4 * M * N"},
        {"K*M*4", "K * M * 4", "K * M * 4"},
        {"z/2", "z / 2", "_checked_div(z, 2)"},
        {"M/z", "checked_div(plan, M, z)", "_checked_div(M, z)"},
        {"align(M,K)", "align(M, K)", "_align(M, K)"},
        {"align(M,z)", "checked_align(plan, M, z)", "_checked_align(M, z)"},
        {"min(M,N,K)", "min(min(M, N), K)", "min(min(M, N), K)"},
        {"pow2ceil(M)", "pow2ceil(M)", "_pow2ceil(M)"},
        {"M > 4 ? N : K", "M > 4 ? N : K", "N if M > 4 else K"},
        {"(M > 4 ? N : K) + 1", "(M > 4 ? N : K) + 1", "(N if M > 4 else K) + 1"},
        {"M > 4 && N < 3", "M > 4 && N < 3", "int(M > 4 and N < 3)"},
        {"(M && N) * 4", "(M && N) * 4", "(int(bool(M and N))) * 4"},
        {"M > 4 && (N || !K)", "M > 4 && (N || !K)", "int(bool(M > 4 and (N or not K)))"},
        {"(M > 4) == (N > 4)", "(M > 4) == (N > 4)", "(M > 4) == (N > 4)"},
        {"-(M+1)", "-(M + 1)", "-(M + 1)"},
        {"100000*100000", "INT64_C(100000) * INT64_C(100000)", "100000 * 100000"},
        {"3000000000", "INT64_C(3000000000)", "3000000000"},
        {"alignof(in)", "alignment(args->in)", "align[\"in\"]"},
        {"1/sqrt(M)", "1 / sqrt(M)", "1 / math.sqrt(M)"},
        {"M/2*eps", "M / 2 * 0.1", "M // 2 * 0.1"},
        {"double(M)/N", "(double)(M) / N", "float(M) / N"},
        {"min(M, 0.5) - 1e-30", "fmin(M, 0.5) - 1e-30", "min(M, 0.5) - 1e-30"},
        {"0.5 / (M*N*N)", "0.5 / checked_mul(plan, M * N, N)", "0.5 / (M * N * N)"},
        {"eps < 1 ? 2. : M", "0.1 < 1 ? 2.0 : M", "2.0 if 0.1 < 1 else M"},
        {"pow(-eps, 2)", "pow(-0.1, 2)", "math.pow(-0.1, 2)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        printed(cases[i].text, LANG_C, FORMULA_VALUE, cases[i].c);
        printed(cases[i].text, LANG_PYTHON, FORMULA_VALUE, cases[i].python);
    }
}

/* gcc -Wall wants parentheses around && inside ||, and around ! before ==. It wants no others. */
static void conditions(void **state)
{
    static const struct {
        const char *text, *c, *python;
    } cases[] = {
        {"M && N && K", "M && N && K", "M and N and K"},
        {"M && N || K", "(M && N) || K", "M and N or K"},
        {"M || N && K", "M || (N && K)", "M or N and K"},
        {"(M || N) && K", "(M || N) && K", "(M or N) and K"},
        {"!(M && N)", "!(M && N)", "not (M and N)"},
        {"!M == N", "(!M) == N", "(int(not M)) == N"},
        {"M % 8 == 0 && !N", "M % 8 == 0 && !N", "M % 8 == 0 and not N"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        printed(cases[i].text, LANG_C, FORMULA_CONDITION, cases[i].c);
        printed(cases[i].text, LANG_PYTHON, FORMULA_CONDITION, cases[i].python);
    }
}

static void names_are_identifiers(void **state)
{
    struct arena a = ARENA_INIT;
    assert_string_equal(name_in(LANG_PYTHON, "in", &a), "in_");
    assert_string_equal(name_in(LANG_C, "in", &a), "in");
    assert_string_equal(name_in(LANG_C, "register", &a), "register_");
    assert_string_equal(name_in(LANG_C, "arg_x", &a), "arg_x_");
    assert_string_equal(name_of_text("2_matmul-relu", &a), "k2_matmul_relu");
    assert_string_equal(name_of_text("min", &a), "min_");
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(conditions),
        cmocka_unit_test(names_are_identifiers),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
