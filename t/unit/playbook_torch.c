/* What a task's PyTorch expression says: its types, rows, products, permutations, forms and views.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "author/playbook_bind.h"
#include "author/playbook_form.h"
#include "author/playbook_torch.h"
#include "base/util.h"

static void test_torch(void **state)
{
    static const char *const words[] = {"x", "gate"};
    static const enum dtype types[] = {DT_F32, DT_F32}, masks[] = {DT_F32, DT_BOOL};
    const struct torch_names names = {words, types, 2, 2}, masked = {words, masks, 2, 2};
    static const char *const good[][2] = {
        {"x", "(v0)"},
        {"x * torch.sigmoid(gate)", "((v0) * ((1.f / (1.f + expf(-(v1))))))"},
        {"-x ** 2 + 1", "((-((v0) * (v0))) + (1.f))"},
        {"x.clamp(-1, 1.5)", "(min_nan(max_nan(v0, (-(1.f))), (1.5f)))"},
        {"x.clamp(max=1)", "(min_nan(v0, (1.f)))"},
        {"x.where(gate > 0, 1e39)", "((((v1) > (0.f)) ? v0 : (__int_as_float(0x7f800000))))"},
        {"((x > 0) + (gate > 0)).float()", NULL},
        {"F.relu(x, inplace=False)", NULL},
        {"torch.where(x > 0, x, 0.1 * x)", "((((v0) > (0.f)) ? (v0) : ((0.1f) * (v0))))"},
        {"F.gelu(x, approximate='none').to(x.dtype)", NULL},
        {"torch.nn.functional.leaky_relu(x, negative_slope=0.2)", NULL},
        {"x - gate - 1e-3", "(((v0) - (v1)) - (0.001f))"},
    };
    static const char *const bad[] = {
        "",
        "x.sum()",
        "torch.softmax(x, dim=-1)",
        "x[0]",
        "y + 1",
        "x +",
        "(x",
        "x if gate else 1",
        "torch.exp",
        "torch.exp(x, x)",
        "x.shape",
        "1.5abc",
        "torch.nn.functional.elu(x, alhpa=2)",
        "x; import os",
        "x.clamp(max=1, min=0)",
        "0 < x < 1",
        "(x > 0) - (gate > 0)",
        "~x",
        "x & 1",
        "torch.where(x, x, gate)",
        "x.masked_fill(gate, 1)",
        "F.silu(x, approximate='tanh')",
        "torch.add(x, gate, alpha=2)",
        "x.to(x)",
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct strbuf out = STRBUF_INIT(4096), why = STRBUF_INIT(400);
        enum dtype type;
        if (!torch_to_c(good[i][0], &names, &out, &type, &why))
            fail_msg("%s: %s", good[i][0], why.buf);
        if (good[i][1])
            assert_string_equal(out.buf, good[i][1]);
        strbuf_release(&out);
        strbuf_release(&why);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct strbuf out = STRBUF_INIT(4096), why = STRBUF_INIT(400);
        enum dtype type;
        if (torch_to_c(bad[i], &names, &out, &type, &why))
            fail_msg("'%s' became %s", bad[i], out.buf);
        assert_true(why.len > 0);
        strbuf_release(&out);
        strbuf_release(&why);
    }
    char deep[3000];
    memset(deep, '(', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    struct strbuf out = STRBUF_INIT(4096), why = STRBUF_INIT(400);
    enum dtype type;
    assert_false(torch_to_c(deep, &names, &out, &type, &why));
    memset(deep, '-', sizeof deep - 1);
    strbuf_clear(&why);
    strbuf_clear(&out);
    assert_false(torch_to_c(deep, &names, &out, &type, &why));
    strbuf_clear(&out);
    assert_true(torch_to_c("x.masked_fill(~gate, float('-inf'))", &masked, &out, &type, &why));
    assert_string_equal(out.buf, "(((!(v1)) ? (-__int_as_float(0x7f800000)) : v0))");
    strbuf_release(&out);
    strbuf_release(&why);
}

/* Integers keep their width and wrap; a Python number takes the width of what it meets. */
static void test_torch_types(void **state)
{
    static const char *const words[] = {"a", "b", "m", "x", "k"};
    static const enum dtype types[] = {DT_U8, DT_I8, DT_BOOL, DT_F16, DT_I32};
    const struct torch_names names = {words, types, 4, 5};
    const struct {
        const char *text, *c;
        enum dtype type;
    } good[] = {
        {"a + 1", "uint8_t(uint64_t((v0)) + uint64_t((1)))", DT_U8},
        {"a + b", "int16_t(uint64_t((v0)) + uint64_t((v1)))", DT_I16},
        {"a * k", "uint8_t(uint64_t((v0)) * uint64_t((v4)))", DT_U8},
        {"a / 2", "(float((v0)) / float((2)))", DT_F32},
        {"a * 0.5", "((v0) * (0.5f))", DT_F32},
        {"a & 15 | b << 4", NULL, DT_I16},
        {"-b", "int8_t(0 - uint64_t((v1)))", DT_I8},
        {"~b", "int8_t(~(v1))", DT_I8},
        {"~m & (a > 3)", "((!(v2)) && (((v0) > (3))))", DT_BOOL},
        {"m + 1", "int64_t(uint64_t((v2)) + uint64_t((1)))", DT_I64},
        {"torch.where(m, a, 0)", "(((v2) ? (v0) : (0)))", DT_U8},
        {"b.clamp(min=0)", NULL, DT_I8},
        {"torch.exp(a)", "(expf(float((v0))))", DT_F32},
        {"x.to(torch.int32)", "((int32_t)(v3))", DT_I32},
        {"x.to(torch.float8_e4m3fn)", "(float(cute::float_e4m3_t{float(v3)}))", DT_F32},
        {"a.float() - b.to(x.dtype)", NULL, DT_F32},
        {"b ** 2", NULL, DT_I8},
        {"a // 2", "floor_div<uint8_t>((v0), (2))", DT_U8},
        {"b % k", "floor_mod<int8_t>((v1), (v4))", DT_I8},
        {"x // 2", "floor_div<float>((v3), (2))", DT_F32},
        {"x % b * 2", NULL, DT_F32},
    };
    static const char *const bad[] = {"x & a",  "m - m",
                                      "-m",     "a ** b",
                                      "m // m", "m % 2 - m % m",
                                      "b ** 7", "a.masked_fill(m, 0.5)",
                                      "x << 1", "torch.where(a, x, x)"};
    for (size_t i = 0; i < ARRAY_LEN(good) + ARRAY_LEN(bad); i++) {
        struct strbuf out = STRBUF_INIT(4096), why = STRBUF_INIT(400);
        bool want = i < ARRAY_LEN(good);
        const char *text = want ? good[i].text : bad[i - ARRAY_LEN(good)];
        enum dtype type;
        bool ok = torch_to_c(text, &names, &out, &type, &why);
        if (ok != want)
            fail_msg("%s: %s%s", text, out.buf, why.buf);
        if (want && good[i].c)
            assert_string_equal(out.buf, good[i].c);
        if (want && type != good[i].type)
            fail_msg("%s is %s", text, dtype_name(type));
        strbuf_release(&out);
        strbuf_release(&why);
    }
}

/* Reductions over the last axis, of two. */
static void test_torch_rows(void **state)
{
    static const char *const words[] = {"x", "k"};
    const struct torch_names names = {words, NULL, 2, 2};
    static const char *const good[][3] = {
        {"x.sum(dim=-1)", "sum", "(v0)"},
        {"torch.sum(x, 1, keepdim=True)", "sum", "(v0)"},
        {"torch.mean(k * x, axis = -1)", "mean", "((v1) * (v0))"},
        {"(x * x).sum(-1)", "sum", "(((v0) * (v0)))"},
        {"x.abs().amax(keepdim=False, dim=1)", "max", "(fabsf(v0))"},
        {"torch.max(x, dim=-1).values", "max", "(v0)"},
        {"x.min(-1)[0]", "min", "(v0)"},
        {" torch.linalg.vector_norm(x, dim=-1) ", "norm", "(v0)"},
        {"torch.exp(x).prod(-1)", "prod", "(expf((v0)))"},
        {"torch.argmax(x, dim=-1)", "argmax", "(v0)"},
        {"F.softmax(k * x, dim=-1, dtype=torch.float32)", "softmax", "((v1) * (v0))"},
        {"torch.nn.functional.log_softmax(x, 1)", "log_softmax", "(v0)"},
        {"x.norm(2, 1)", "norm", "(v0)"},
        {"torch.cummax(x, 1)[0]", "cummax", "(v0)"},
        {"torch.norm(x, dim=1, p=2)", "norm", "(v0)"},
        {"x.norm()", "norm", "(v0)"},
        {"x.sum(-1, True)", "sum", "(v0)"},
        {"x.std(dim=-1, correction=0)", "pstd", "(v0)"},
        {"torch.var(x, 1, False, True)", "pvar", "(v0)"},
        {"torch.var(x, 1, unbiased=True)", "var", "(v0)"},
    };
    static const char *const bad[] = {
        "",
        "x",
        "x.sum(dim=(1, 0))",
        "x.sum(dim=-1) + 1",
        "1 + x.sum(dim=-1)",
        "-x.sum(dim=-1)",
        "x.sum(dim=-1).sum(dim=-1)",
        "torch.sum(x, dim=-1).sqrt()",
        "x.sum(dim=-1",
        "x.sum(-1, -1)",
        "x.sum(-1, dtype=torch.int32)",
        "x.max(dim=-1)",
        "x.norm(1, dim=-1)",
        "x.norm(1)", /* the order, not an axis */
        "torch.norm(x, 1, -1)",
        "torch.linalg.norm(x, 2)", /* of a matrix that is another */
        "x.std(dim=-1, correction=2)",
        "F.softmax(x)",
        "torch.cumsum(x)",
        "torch.sum(torch.sum(x, -1), -1)",
        "y.sum(-1)",
        "x.median(dim=-1)",
        "torch.sum(",
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct torch_rows r = {.expr = STRBUF_INIT(4096)};
        struct strbuf why = STRBUF_INIT(400);
        if (!torch_to_rows(good[i][0], &names, 2, &r, &why))
            fail_msg("%s: %s", good[i][0], why.buf);
        assert_string_equal(r.name, good[i][1]);
        assert_string_equal(r.expr.buf, good[i][2]);
        strbuf_release(&r.expr);
        strbuf_release(&why);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct torch_rows r = {.expr = STRBUF_INIT(4096)};
        struct strbuf why = STRBUF_INIT(400);
        if (torch_to_rows(bad[i], &names, 2, &r, &why))
            fail_msg("'%s' became %s of %s", bad[i], r.name, r.expr.buf);
        assert_true(why.len > 0);
        strbuf_release(&r.expr);
        strbuf_release(&why);
    }
    struct torch_rows r = {.expr = STRBUF_INIT(4096)};
    struct strbuf why = STRBUF_INIT(400);
    assert_true(torch_to_rows("x.sum(dim=1)", &names, 2, &r, &why));
    assert_false(r.whole);
    assert_int_equal(r.from, 1);
    assert_int_equal(r.to, 2);
    strbuf_clear(&r.expr);
    assert_true(torch_to_rows("x.mean((1, -2), keepdim=True)", &names, 4, &r, &why));
    assert_int_equal(r.from, 1);
    assert_int_equal(r.to, 3);
    strbuf_clear(&r.expr);
    assert_false(torch_to_rows("x.mean((0, 2))", &names, 3, &r, &why));
    strbuf_clear(&why);
    strbuf_clear(&r.expr);
    assert_false(torch_to_rows("x.mean(3)", &names, 3, &r, &why));
    strbuf_clear(&why);
    strbuf_clear(&r.expr);
    assert_true(torch_to_rows("x.sum()", &names, 2, &r, &why));
    assert_true(r.whole);
    strbuf_release(&r.expr);
    strbuf_release(&why);
}

/* A product with an elementwise expression around it; and what must not pass for one. */
static void test_torch_products(void **state)
{
    const char *words[] = {"x", "w", "b"};
    const struct torch_names names = {words, NULL, 3, 3};
    const struct {
        const char *text, *form, *expr;
    } good[] = {
        {"x @ w", "nn", "(v)"},
        {"x @ w.T + b", "nt", "((v) + (v2))"},
        {"torch.relu(torch.matmul(x.float(), w.mT))", "nt",
         "(((v) > 0.f ? (v) : ((v) == (v) ? 0.f : (v))))"},
        {"F.linear(x, w, b)", "nt", "((v + (v2)))"},
        {"torch.bmm(x, w.transpose(1, 2)) * 2", "nt", "((v) * (2.f))"},
        {"(x.t() @ w).abs()", "tn", "(fabsf((v)))"},
    };
    const char *const bad[] = {"x + w",
                               "x @ w @ b",
                               "b * x @ w",
                               "x @ w ** 2",
                               "(x + 1) @ w",
                               "x @ w + x @ b",
                               "x @ w.softmax(1)",
                               "x.transpose(0, 2) @ w",
                               "x @ w[0]",
                               "b / -x @ w",
                               "b ** x @ w",
                               "F.linear(x, w, x @ b)",
                               "x @ w.transpose(0, 1).transpose(1, 2)"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct torch_gemm g = {.expr = STRBUF_INIT(4096)};
        struct strbuf why = STRBUF_INIT(400);
        if (!torch_to_gemm(good[i].text, &names, &g, &why))
            fail_msg("%s: %s", good[i].text, why.buf);
        assert_string_equal(g.expr.buf, good[i].expr);
        assert_int_equal(g.a_turned, good[i].form[0] == 't');
        assert_int_equal(g.b_turned, good[i].form[1] == 't');
        assert_int_equal(g.a, 0);
        assert_int_equal(g.b, 1);
        strbuf_release(&g.expr);
        strbuf_release(&why);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct torch_gemm g = {.expr = STRBUF_INIT(4096)};
        struct strbuf why = STRBUF_INIT(400);
        if (torch_to_gemm(bad[i], &names, &g, &why))
            fail_msg("'%s' became %s", bad[i], g.expr.buf);
        assert_true(why.len > 0);
        strbuf_release(&g.expr);
        strbuf_release(&why);
    }
}

static void test_torch_permutations(void **state)
{
    const struct {
        const char *text;
        size_t rank, perm[4];
    } good[] = {
        {"x.permute(0, 2, 3, 1)", 4, {0, 2, 3, 1}},
        {"torch.permute(x, (2, 0, 1)).contiguous()", 3, {2, 0, 1}},
        {"x.transpose(1, -1)", 3, {0, 2, 1}},
        {"torch.transpose(x, 0, 1)", 2, {1, 0}},
        {"x.T", 2, {1, 0}},
        {"x.transpose(0, 1).transpose(1, 2)", 3, {1, 2, 0}},
        {"x.mT.mT", 3, {0, 1, 2}},
    };
    const char *const bad[] = {
        "x.permute(0, 0, 1)", "x.permute(0, 1)",       "x.transpose(0, 3)", "x.T",
        "y.permute(2, 1, 0)", "x.transpose(0, 1) + 1", "x.view(3)",         "torch.flip(x, 0, 1)"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct strbuf why = STRBUF_INIT(400);
        size_t perm[TORCH_MAX_RANK];
        if (!torch_to_permutation(good[i].text, "x", good[i].rank, perm, &why))
            fail_msg("%s: %s", good[i].text, why.buf);
        for (size_t k = 0; k < good[i].rank; k++)
            assert_int_equal(perm[k], good[i].perm[k]);
        strbuf_release(&why);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct strbuf why = STRBUF_INIT(400);
        size_t perm[TORCH_MAX_RANK];
        assert_false(torch_to_permutation(bad[i], "x", 3, perm, &why));
        assert_true(why.len > 0);
        strbuf_release(&why);
    }
}

static void test_forms(void **state)
{
    const char *const roles[] = {"idx", "table", "eps"}, *const names[] = {"w", "ids", "e"};
    const enum dtype types[] = {DT_F32, DT_I32, DT_F32};
    const struct form_names v = {roles, 2, 3, names, types, 3, 3, NULL};
    const struct {
        const char *form, *text;
        int stands_for[3]; /* [0] = -2: it does not match */
    } cases[] = {
        {"embedding(idx, table)", "torch.nn.functional.embedding( ids,w )", {1, 0, -1}},
        {"table[idx]", "w[ids.long()]", {1, 0, -1}},
        {"table[idx]", "w[w]", {0, 0, -1}},
        {"idx * idx", "ids * w", {-2}},
        {"cumsum(idx, $last)", "torch.cumsum(ids.float(), dim=-1).to(torch.half)", {1, -1, -1}},
        {"cumsum(idx, $last)", "torch.cumsum(ids, 2)", {1, -1, -1}},
        {"cumsum(idx, $last)", "torch.cumsum(ids, 1)", {-2}},
        {"cumsum(idx, $last)", "torch.cumsum(ids, -1) - ids", {-2}},
        {"cumsum(idx, $last) - idx", "torch.cumsum(ids, -1) - ids", {1, -1, -1}},
        {"flip(idx, $last)", "torch.flip(ids, dims=[-1])", {1, -1, -1}},
        {"rms_norm(idx, idx.shape[-1], table, eps)",
         "F.rms_norm(ids, ids.shape[-1], w, eps=e)",
         {1, 0, 2}},
        {"norm(idx, table)", "F.norm(ids, w", {-2}},
        {"cumsum(table, $last)", "torch.cumsum(w.int(), -1)", {-2}},
        {"cumsum(table, $last)", "torch.cumsum(w.to(torch.int64), -1)", {-2}},
        {"cumsum(table, $last)", "torch.cumsum(w.to(ids.dtype), -1)", {-2}},
        {"table[idx]", "w[ids.to(torch.long)]", {1, 0, -1}},
        {"norm(idx, table)", "F.norm(ids, other)", {-2}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int got[3] = {FORM_LACKS, FORM_LACKS, FORM_LACKS};
        double numbers[3];
        bool ok = form_matches(cases[i].form, cases[i].text, &v, got, numbers);
        if (ok != (cases[i].stands_for[0] != -2))
            fail_msg("'%s' %s '%s'", cases[i].text, ok ? "is" : "is not", cases[i].form);
        for (int k = 0; ok && k < 3; k++)
            assert_int_equal(got[k], cases[i].stands_for[k]);
    }
}

static void test_views(void **state)
{
    const struct {
        const char *torch, *plain, *shape; /* of w, which is [C] */
    } cases[] = {
        {"x * w.view(1, -1, 1)", "x * w", "1,C,1"},
        {"x * w[:, None]", "x * w", "C,1"},
        {"x * w [None, :] + w[None, :]", "x * w + w", "1,C"},
        {"x * w.unsqueeze(-1).unsqueeze(0)", "x * w", "1,C,1"},
        {"x * w", "x * w", "C"},
        {"x * w[..., None]", "x * w", "C,1"},
        {"x * w[None, ..., :]", "x * w", "1,C"},
        {"x * w.unsqueeze(dim=1)", "x * w", "C,1"},
        {"x * w[:, None] + w", "x * w[:, None] + w", "C"}, /* two shapes */
        {"x * w[0]", "x * w[0]", "C"},                     /* no view */
        {"x[:, :3] * w.view(2, -1)", "x[:, :3] * w.view(2, -1)", "C"},
        {"F.norm(x, x.shape[-1])", "F.norm(x, x.shape[-1])", "C"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *task = json_pack("{s:s, s:[{s:s, s:[s, s], s:b}, {s:s, s:[s], s:b}]}", "torch",
                                 cases[i].torch, "tensors", "name", "x", "shape", "R", "C", "input",
                                 1, "name", "w", "shape", "C", "input", 1);
        json_t *plain = without_views(task);
        struct strbuf sb = STRBUF_INIT(100);
        const json_t *shape =
            json_object_get(json_array_get(json_object_get(plain, "tensors"), 1), "shape");
        for (size_t k = 0; k < json_array_size(shape); k++)
            strbuf_addf(&sb, "%s%s", k ? "," : "", json_string_value(json_array_get(shape, k)));
        assert_string_equal(facts_text(plain, "torch"), cases[i].plain);
        assert_string_equal(sb.buf, cases[i].shape);
        strbuf_release(&sb);
        json_decref(plain);
        json_decref(task);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_torch),          cmocka_unit_test(test_torch_types),
        cmocka_unit_test(test_torch_products), cmocka_unit_test(test_torch_permutations),
        cmocka_unit_test(test_forms),          cmocka_unit_test(test_views),
        cmocka_unit_test(test_torch_rows),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
