/* Tests the trees of PyTorch expressions: the precedence of operators, the places of errors, and
 * texts that have no tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "torch/in_place.h"
#include "torch/parse.h"

/* Appends the tree as text, with every operation in brackets: (+ a (* b c)). */
static void show(const struct tree *t, struct strbuf *out)
{
    static const char *const heads[] = {
        [TREE_TUPLE] = "tuple", [TREE_FIELD] = "field", [TREE_CALL] = "call",
        [TREE_KEY] = "key",     [TREE_INDEX] = "index", [TREE_SLICE] = "slice"};
    if (!t || t->kind == TREE_NAME || t->kind == TREE_NUMBER || t->kind == TREE_STRING) {
        strbuf_adds(out, t ? t->text : "_");
        return;
    }
    bool sign = t->kind == TREE_UNARY || t->kind == TREE_BINARY;
    strbuf_addf(out, "(%s", sign ? t->text : heads[t->kind]);
    if (!sign && *t->text)
        strbuf_addf(out, " %s", t->text);
    for (size_t i = 0; i < t->n; i++) {
        strbuf_addc(out, ' ');
        show(t->part[i], out);
    }
    strbuf_addc(out, ')');
}

static void test_trees(void **state)
{
    static const char *const cases[][2] = {
        {"a + b * c", "(+ a (* b c))"},
        {"a - b - c", "(- (- a b) c)"},
        {"a * b @ c", "(@ (* a b) c)"},
        {"a // b % c", "(% (// a b) c)"},
        {"-a ** 2", "(- (** a 2))"},
        {"a ** -b ** c", "(** a (- (** b c)))"},
        {"+a", "a"},
        {"~a & b | c ^ d", "(| (& (~ a) b) (^ c d))"},
        {"a << b + c", "(<< a (+ b c))"},
        {"a < b & c", "(< a (& b c))"},
        {"(a < b) == (c < d)", "(== (< a b) (< c d))"},
        {"a.b.c(d, e=f)", "(call (field c (field b a)) d (key e f))"},
        {"a(b == c)", "(call a (== b c))"},
        {"a[b][1:, ::2, None, ...]",
         "(index (index a b) (tuple (slice 1 _ _) (slice _ _ 2) None ...))"},
        {"a[b,]", "(index a (tuple b))"},
        {"[a, 'b', (c,), (), (d)]", "(tuple a b (tuple c) (tuple) d)"},
        {"a, b", "(tuple a b)"},
        {"a,", "(tuple a)"},
        {"(t := a + b, t * t)[-1]", "(index (tuple (+ a b) (* (+ a b) (+ a b))) (- 1))"},
        {"(x := x + 1, x)[1]", "(index (tuple (+ x 1) (+ x 1)) 1)"},
        {"1e-5 * .5 + 5. - 0.25e+3", "(- (+ (* 1e-5 .5) 5.) 0.25e+3)"},
        {"mean(x, $last)", "(call mean x $last)"},
        {"  a\n + b ", "(+ a b)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena mem = ARENA_INIT;
        struct err err = ERR_INIT;
        struct strbuf sb = STRBUF_INIT(4096);
        struct tree *t = torch_parse(&mem, cases[i][0], &err);
        if (!t)
            fail_msg("%s: %s", cases[i][0], err.msg);
        show(t, &sb);
        assert_string_equal(sb.buf, cases[i][1]);
        strbuf_release(&sb);
        arena_release(&mem);
    }
}

/* A name that := binds stands for the same node wherever the expression uses it. */
static void test_sharing(void **state)
{
    struct arena mem = ARENA_INIT;
    struct tree *t = torch_parse(&mem, "(t := a + b, t * t)", NULL);
    assert_non_null(t);
    assert_ptr_equal(t->part[0], t->part[1]->part[0]);
    assert_ptr_equal(t->part[0], t->part[1]->part[1]);
    assert_int_equal(t->part[0]->at, 8);
    arena_release(&mem);
}

static void test_errors(void **state)
{
    static const char *const bad[][2] = {
        {"", "column 1: the expression ends too early"},
        {"x +", "column 4: the expression ends too early"},
        {"(x", "column 3"},
        {"x[]", "column 2: this index is empty"},
        {"x; w", "column 2: '; w' is not expected here"},
        {"lambda x: x", "column 8: 'x: x'"},
        {"x if w else h", "column 3: 'if w else h'"},
        {"[v for v in x]", "column 4: 'for v in x]'"},
        {"f(*x)", "column 3: '*x)'"},
        {"x < w < h", "column 7: comparisons do not chain"},
        {"0x10", "column 1: this is not a decimal number"},
        {"1.5abc", "column 1: this is not a decimal number"},
        {"1_000", "column 1"},
        {"'a\\'b'", "column 1: this string"},
        {"'abc", "column 1: this string"},
        {"x..y", "column 3"},
        {"x[1:2:3:4]", "column 9"},
        {"f(a b)", "column 5"},
        {"a = b", "column 3"},
        {"\x01", "column 1: '?'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct arena mem = ARENA_INIT;
        struct err err = ERR_INIT;
        if (torch_parse(&mem, bad[i][0], &err))
            fail_msg("'%s' has a tree", bad[i][0]);
        if (!strstr(err.msg, bad[i][1]))
            fail_msg("'%s': %s", bad[i][0], err.msg);
        arena_release(&mem);
    }
}

/* Makes a text of `head` and then `times` copies of `part`. Checks that torch_parse() refuses the
 * text, and that the message contains `why`. */
static void refuse_long(const char *head, const char *part, size_t times, const char *why)
{
    struct arena mem = ARENA_INIT;
    struct err err = ERR_INIT;
    struct strbuf sb = STRBUF_INIT(1 << 20);
    strbuf_adds(&sb, head);
    for (size_t i = 0; i < times; i++)
        strbuf_adds(&sb, part);
    if (torch_parse(&mem, sb.buf, &err))
        fail_msg("%zu times '%s' has a tree", times, part);
    if (!strstr(err.msg, why))
        fail_msg("%zu times '%s': %s", times, part, err.msg);
    strbuf_release(&sb);
    arena_release(&mem);
}

static void test_limits(void **state)
{
    refuse_long("", "(", 3000, "nests too deeply");
    refuse_long("", "-", 3000, "nests too deeply");
    refuse_long("x", " ** x", 1000, "nests too deeply");
    refuse_long("x", ".T", 1500, "chains too many");
    refuse_long("x", " + x", 1500, "chains too many");
    refuse_long("x", "         ", 1000, "longer than 8192");
    refuse_long("f(x", ", x", 40, "a call at most 31");
    refuse_long("x", ", x", 40, "more than 32 results");
    refuse_long("(a := x", ", a := a", 30, "ends too early");
}

/* An expression may change a tensor in place if it reads the tensor nowhere else, and if the tensor
 * is no view. */
static void test_changes(void **state)
{
    static const struct {
        const char *text;
        bool fine;
    } cases[] = {
        {"x.add_(w).mul_(2)", true},
        {"(x + 1).relu_()", true},
        {"F.linear(x, w).relu_()", true},
        {"F.relu(x, inplace=True)", true},
        {"F.relu(x, inplace=False) + x", true},
        {"F.relu_(x)", true},
        {"x.index_add_(0, i, h)", true},
        {"x.add_(1) + x", false},
        {"F.relu(x, inplace=True) + x", false},
        {"torch.relu_(x) + x", false},
        {"(t := x + 1, t.relu_() + t)[-1]", false},
        {"(t := x, t.add_(1) + x)[-1]", false},
        {"x.view(-1).add_(1)", false},
        {"x[0].add_(1)", false},
        {"x.add_(x)", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena mem = ARENA_INIT;
        struct err err = ERR_INIT;
        struct tree *t = torch_parse(&mem, cases[i].text, &err);
        assert_non_null(t);
        if ((in_place_check(t, &mem, &err) == 0) != cases[i].fine)
            fail_msg("'%s' %s", cases[i].text, cases[i].fine ? err.msg : "passes");
        arena_release(&mem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),   cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_errors),  cmocka_unit_test(test_limits),
        cmocka_unit_test(test_changes),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
