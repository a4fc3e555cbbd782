/* Tests how playbooks match a graph: expressions in C, rows, products, permutations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "cpu_time.h"
#include "playbook/match/match.h"
#include "playbook_rig.h"
#include "sys/file.h"

/* ---- expressions in C ------------------------------------------------------------------------ */

/* Appends to `out` the C expression for the task's only output, and sets *type to its type. If that
 * is not possible, returns false and appends the reason to `why`. */
static bool to_c(const char *torch, const char *spec, struct strbuf *out, enum dtype *type,
                 struct strbuf *why)
{
    struct meaning m;
    json_t *facts = rig_facts("", torch, spec);
    bool ok = meaning_read(&m, facts);
    meaning_take_axes(&m);
    const struct value *v = ok ? meaning_result(&m) : NULL;
    if (!ok) {
        strbuf_adds(why, m.why.buf);
    } else if (v) {
        struct leaves leaves = usual_leaves(&m);
        *type = v->dtype;
        ok = write_expression(v, &leaves, out, why);
    }
    meaning_release(&m);
    json_decref(facts);
    return ok && v;
}

static void must_write(const char *torch, const char *spec, const char *want, enum dtype type)
{
    struct strbuf out = STRBUF_INIT(MAX_EXPRESSION), why = STRBUF_INIT(2000);
    enum dtype got = DT_NONE;
    if (!to_c(torch, spec, &out, &got, &why))
        fail_msg("%s: %s", torch, why.buf);
    if (!str_eq(out.buf, want))
        fail_msg("%s became %s, not %s", torch, out.buf, want);
    if (got != type)
        fail_msg("%s is %s, not %s", torch, dtype_name(got), dtype_name(type));
    strbuf_release(&out);
    strbuf_release(&why);
}

static void must_refuse(const char *torch, const char *spec, const char *reason)
{
    struct strbuf out = STRBUF_INIT(MAX_EXPRESSION), why = STRBUF_INIT(2000);
    enum dtype type;
    if (to_c(torch, spec, &out, &type, &why))
        fail_msg("'%s' became %s", torch, out.buf);
    if (!strstr(why.buf, reason))
        fail_msg("'%s': %s", torch, why.buf);
    strbuf_release(&out);
    strbuf_release(&why);
}

static void test_expressions(void **state)
{
    static const char floats[] = "x float32 N; gate float32 N; y float32 N out";
    static const char mask[] = "x float32 N; gate bool N; y float32 N out";
    static const char *const good[][2] = {
        {"x", "v0"},
        {"x * torch.sigmoid(gate)", "(v0 * (1.f / (1.f + expf(-v1))))"},
        {"-x ** 2 + 1", "((-(v0 * v0)) + 1.f)"},
        {"x.clamp(-1, 1.5)", "min_nan(max_nan(v0, (-1.f)), 1.5f)"},
        {"x.clamp(max=1)", "min_nan(v0, 1.f)"},
        {"x.clamp(max=1, min=0)", "min_nan(max_nan(v0, 0.f), 1.f)"},
        {"x.where(gate > 0, 1e39)", "((v1 > 0.f) ? v0 : __int_as_float(0x7f800000))"},
        {"((x > 0) + (gate > 0)).float()", "(float)(((v0 > 0.f) || (v1 > 0.f)))"},
        {"F.relu(x, inplace=False)", "(v0 > 0.f ? v0 : (v0 == v0 ? 0.f : v0))"},
        {"torch.where(x > 0, x, 0.1 * x)", "((v0 > 0.f) ? v0 : (0.1f * v0))"},
        {"F.gelu(x, approximate='none').to(x.dtype)",
         "(0.5f * v0 * (1.f + erff(0.70710678118654752f * v0)))"},
        {"torch.nn.functional.leaky_relu(x, negative_slope=0.2)", "(v0 > 0.f ? v0 : 0.2f * v0)"},
        {"x - gate - 1e-3", "((v0 - v1) - 0.001f)"},
        {"torch.add(x, gate, alpha=2)", "(v0 + (2.f * v1))"},
        {"x.to(x)", "v0"},
        {"torch.where(x > 0, 1, 0.5)", "((v0 > 0.f) ? 1.f : 0.5f)"},
        {"torch.where(x > 0, x, torch.nan)", "((v0 > 0.f) ? v0 : __int_as_float(0x7fffffff))"},
    };
    static const char *const bad[][2] = {
        {"torch.softmax(x, dim=-1)", "the function 'softmax'"},
        {"x.flip(0)", "the function 'flip'"},
        {"x[0]", "cannot be read"},
        {"z + 1", "the name 'z' is not known"},
        {"x +", "cannot be read"},
        {"(x", "cannot be read"},
        {"x if gate else 1", "cannot be read"},
        {"torch.exp", "cannot be read"},
        {"torch.exp(x, x)", "cannot be read"},
        {"x.shape", "cannot be read"},
        {"1.5abc", "cannot be read"},
        {"torch.nn.functional.elu(x, alhpa=2)", "'alhpa'"},
        {"x; import os", "cannot be read"},
        {"0 < x < 1", "do not chain"},
        {"(x > 0) - (gate > 0)", "cannot be read"},
        {"~x", "cannot be read"},
        {"x & 1", "cannot be read"},
        {"torch.where(x, x, gate)", "cannot be read"},
        {"x.masked_fill(gate, 1)", "cannot be read"},
        {"F.silu(x, approximate='tanh')", "'approximate'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        must_write(good[i][0], floats, good[i][1], DT_F32);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        must_refuse(bad[i][0], floats, bad[i][1]);
    must_write("x.masked_fill(~gate, float('-inf'))", mask,
               "((!v1) ? (-__int_as_float(0x7f800000)) : v0)", DT_F32);
    must_refuse("x.sum()", "x float32 N; y float32 1 out", "the function 'sum'");
    struct strbuf out = STRBUF_INIT(64), why = STRBUF_INIT(64);
    enum dtype type;
    /* a task without an expression has no C text, but that is no error */
    assert_false(to_c("", floats, &out, &type, &why));
    char deep[3000];
    memset(deep, '(', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    must_refuse(deep, floats, "cannot be read");
    memset(deep, '-', sizeof deep - 1);
    must_refuse(deep, floats, "cannot be read");
    strbuf_release(&out);
    strbuf_release(&why);
}

/* Integers of a tensor keep their width and wrap around. A number in the text gets the width of the
 * tensor with which it is combined. */
static void test_types(void **state)
{
    static const char inputs[] = "a uint8 N; b int8 N; m bool N; x float16 N; u uint32 N; "
                                 "k scalar int32";
    static const struct {
        const char *text, *c;
        enum dtype type;
    } good[] = {
        {"a + 1", "uint8_t(uint64_t(v0) + uint64_t(1))", DT_U8},
        {"u > b", "(int64_t(v4) > int64_t(v1))", DT_BOOL},
        {"b.clamp(3, 1)", "int8_t(v1 > 1 || 3 > 1 ? 1 : v1 < 3 ? 3 : v1)", DT_I8},
        {"a + b", "int16_t(uint64_t(v0) + uint64_t(v1))", DT_I16},
        {"a * k", "uint8_t(uint64_t(v0) * uint64_t(v5))", DT_U8},
        {"a / 2", "(float(v0) / float(2))", DT_F32},
        {"a * 0.5", "(v0 * 0.5f)", DT_F32},
        {"a & 15 | b << 4", "int16_t(uint8_t(v0 & 15) | int8_t(uint64_t(v1) << 4))", DT_I16},
        {"-b", "int8_t(0 - uint64_t(v1))", DT_I8},
        {"~b", "int8_t(~v1)", DT_I8},
        {"~m & (a > 3)", "((!v2) && (v0 > 3))", DT_BOOL},
        {"m + 1", "int64_t(uint64_t(v2) + uint64_t(1))", DT_I64},
        {"torch.where(m, a, 0)", "(v2 ? v0 : 0)", DT_U8},
        {"b.clamp(min=0)", "int8_t(v1 < 0 ? 0 : v1)", DT_I8},
        {"torch.exp(a)", "expf(float(v0))", DT_F32},
        {"torch.exp(x)", "exp_rough(v3)", DT_F16}, /* rounded to 16 bits */
        {"torch.sigmoid(x)", "ratio_rough(1.f, 1.f + exp_rough(-v3))", DT_F16},
        {"torch.exp(x.float())", "expf(v3)", DT_F32},
        {"x.to(torch.int32)", "(int32_t)(v3)", DT_I32},
        {"x.to(torch.float8_e4m3fn)", "float(cute::float_e4m3_t{float(v3)})", DT_F8E4M3},
        {"a.float() - b.to(x.dtype)", "((float)(v0) - float(cute::half_t{float(v1)}))", DT_F32},
        {"b ** 2", "int8_t(uint64_t(v1) * uint64_t(v1))", DT_I8},
        {"b ** 3", "int8_t(uint64_t(v1) * uint64_t(v1) * uint64_t(v1))", DT_I8},
        {"a // 2", "floor_div<uint8_t>(v0, 2)", DT_U8},
        {"b % k", "floor_mod<int8_t>(v1, v5)", DT_I8},
        {"x // 2", "floor_div<float>(v3, 2.f)", DT_F16},
        {"x % b * 2", "(floor_mod<float>(v3, v1) * 2.f)", DT_F16},
        {"x * (N - 1)", "(v3 * (v6-1))", DT_F16},
        {"x * (k * N)", "(v3 * (v6*int64_t(v5)))", DT_F16},
    };
    static const char *const bad[] = {"x & a",  "m - m",
                                      "-m",     "a ** b",
                                      "m // m", "m % 2 - m % m",
                                      "b ** 7", "a.masked_fill(m, 0.5)",
                                      "x << 1", "torch.where(a, x, x)"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        char *spec = xasprintf("%s; y %s N out", inputs, dtype_name(good[i].type));
        must_write(good[i].text, spec, good[i].c, good[i].type);
        free(spec);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char *spec = xasprintf("%s; y float32 N out", inputs);
        must_refuse(bad[i], spec, "");
        free(spec);
    }
}

/* ---- ways of matching ------------------------------------------------------------------------ */

/* The result of matching one playbook with one task. `op` is the operation, or NULL if the playbook
 * does not fit. */
struct found {
    struct meaning m;
    struct match x;
    struct strbuf why;
    struct pb_binding b;
    const struct pb_op *op;
    json_t *facts;
};

static void look(struct found *f, const struct playbook_shelf *shelf, const char *book,
                 const char *torch, const char *spec)
{
    const struct playbook *pb = rig_book(shelf, book);
    assert_non_null(pb);
    memset(f, 0, sizeof *f);
    f->facts = rig_facts("", torch, spec);
    f->why = (struct strbuf)STRBUF_INIT(4000);
    f->b = (struct pb_binding)PB_BINDING_INIT;
    bool ok = meaning_read(&f->m, f->facts);
    f->x = (struct match){.pb = pb, .m = &f->m, .b = &f->b, .why = &f->why};
    if (!ok) {
        strbuf_adds(&f->why, f->m.why.buf);
        return;
    }
    meaning_take_axes(&f->m);
    f->x.v = meaning_result(&f->m);
    assert_non_null(f->x.v);
    const char *from = json_string_value(json_object_get(op_called(pb, "*")->texts, "from"));
    f->op = match_way(from)->find(&f->x);
}

static void look_away(struct found *f)
{
    json_decref(f->x.seen);
    pb_binding_release(&f->b);
    meaning_release(&f->m);
    json_decref(f->facts);
    strbuf_release(&f->why);
}

static void must_not_find(const struct playbook_shelf *shelf, const char *book, const char *torch,
                          const char *spec, const char *reason)
{
    struct found f;
    look(&f, shelf, book, torch, spec);
    if (f.op)
        fail_msg("%s took '%s' for '%s'", book, torch, f.op->name);
    if (!f.why.len || !strstr(f.why.buf, reason))
        fail_msg("%s, '%s': %s", book, torch, f.why.buf);
    look_away(&f);
}

static const char *shape_text(const json_t *task, size_t i, char buf[128])
{
    const json_t *t = json_array_get(json_object_get(task, "tensors"), i);
    const json_t *shape = json_object_get(t, "shape");
    size_t len = 0;
    buf[0] = '\0';
    for (size_t k = 0; k < json_array_size(shape); k++)
        len += (size_t)snprintf(buf + len, 128 - len, "%s%s", k ? "," : "",
                                json_string_value(json_array_get(shape, k)));
    return buf;
}

static void test_rows(void **state)
{
    static const char kept[] = "x float32 R,C; k float32 R,C; y float32 R out";
    static const char like[] = "x float32 R,C; k float32 R,C; y float32 R,C out";
    static const char one[] = "x float32 R,C; k float32 R,C; y float32 1 out";
    static const char place[] = "x float32 R,C; k float32 R,C; y int64 R out";
    static const struct {
        /* post: the expression after the reduction, or NULL */
        const char *book, *spec, *text, *op, *expr, *post;
    } good[] = {
        {"reduce_row", kept, "x.sum(dim=-1)", "sum", "v0", NULL},
        {"reduce_row", kept, "torch.sum(x, 1, keepdim=True)", "sum", "v0", NULL},
        {"reduce_row", kept, "torch.mean(k * x, axis = -1)", "mean", "(v1 * v0)", NULL},
        {"reduce_row", kept, "(x * x).sum(-1)", "sum", "(v0 * v0)", NULL},
        {"reduce_row", kept, "x.abs().amax(keepdim=False, dim=1)", "max", "fabsf(v0)", NULL},
        {"reduce_row", kept, "torch.max(x, dim=-1).values", "max", "v0", NULL},
        {"reduce_row", kept, "x.min(-1)[0]", "min", "v0", NULL},
        {"reduce_row", kept, " torch.linalg.vector_norm(x, dim=-1) ", "norm", "v0", NULL},
        {"reduce_row", kept, "torch.exp(x).prod(-1)", "prod", "expf(v0)", NULL},
        {"reduce_row", place, "torch.argmax(x, dim=-1)", "argmax", "v0", NULL},
        {"softmax_of", like, "F.softmax(k * x, dim=-1, dtype=torch.float32)", "softmax",
         "(v1 * v0)", NULL},
        {"softmax_of", like, "torch.nn.functional.log_softmax(x, 1)", "log_softmax", "v0", NULL},
        {"reduce_row", kept, "x.norm(2, 1)", "norm", "v0", NULL},
        {"cumsum", like, "torch.cummax(x, 1)[0]", "cummax", "v0", NULL},
        {"reduce_row", kept, "torch.norm(x, dim=1, p=2)", "norm", "v0", NULL},
        {"reduce_row", one, "x.norm()", "norm", "v0", NULL},
        {"reduce_row", kept, "x.sum(-1, True)", "sum", "v0", NULL},
        {"reduce_row", kept, "x.std(dim=-1, correction=0)", "pstd", "v0", NULL},
        {"reduce_row", kept, "torch.var(x, 1, False, True)", "pvar", "v0", NULL},
        {"reduce_row", kept, "torch.var(x, 1, unbiased=True)", "var", "v0", NULL},
        /* axes in any order, norms that are sums, expressions after a reduction */
        {"reduce_row", one, "x.sum(dim=(1, 0))", "sum", "v0", NULL},
        {"reduce_row", kept, "x.norm(1, dim=-1)", "sum", "fabsf(v0)", NULL},
        {"reduce_row", one, "x.norm(1)", "sum", "fabsf(v0)", NULL},
        {"reduce_row", kept, "torch.norm(x, 1, -1)", "sum", "fabsf(v0)", NULL},
        {"reduce_row", kept, "torch.where(x > k, 1, 0.5).sum(1)", "sum", "((v0 > v1) ? 1.f : 0.5f)",
         NULL},
        {"reduce_row", kept, "x.sum(dim=-1) + 1", "sum", "v0", "(v0 + 1.f)"},
        {"reduce_row", kept, "1 + x.sum(dim=-1)", "sum", "v0", "(1.f + v0)"},
        {"reduce_row", kept, "-x.sum(dim=-1)", "sum", "v0", "(-v0)"},
        {"reduce_row", kept, "torch.sum(x, dim=-1).sqrt()", "sum", "v0", "sqrtf(v0)"},
        /* the size of an axis is used as a number after a reduction */
        {"reduce_row", one, "x.sum() / R", "sum", "v0", "(v0 / v2)"},
    };
    static const struct {
        const char *spec, *text;
    } bad[] = {
        {like, "x"},
        {one, "x.sum(dim=-1).sum(dim=-1)"},
        {kept, "x.sum(dim=-1"},
        {kept, "x.sum(-1, -1)"},
        {kept, "x.sum(-1, dtype=torch.int32)"},
        {kept, "x.max(dim=-1)"},
        {one, "torch.linalg.norm(x, 2)"}, /* a norm of a matrix is another operation */
        {kept, "x.std(dim=-1, correction=2)"},
        {like, "F.softmax(x)"},
        {like, "torch.cumsum(x)"},
        {one, "torch.sum(torch.sum(x, -1), -1)"},
        {kept, "y.sum(-1)"},
        {kept, "x.median(dim=-1)"},
        {kept, "torch.sum("},
        {"x float32 A,B,C; y float32 B out", "x.mean((0, 2))"},
        {"x float32 A,B,C; y float32 A,B out", "x.mean(3)"},
        {"x float32 R,C; b float32 R; y float32 R out", "x.sum(-1) * b"},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct found f;
        const char *post = good[i].post ? good[i].post : "v0";
        look(&f, *state, good[i].book, good[i].text, good[i].spec);
        if (!f.op)
            fail_msg("%s: %s", good[i].text, f.why.buf);
        assert_string_equal(f.op->name, good[i].op);
        assert_string_equal(rig_text(&f.b, "expr"), good[i].expr);
        if (!str_eq(rig_text(&f.b, "post"), post))
            fail_msg("%s: post is %s", good[i].text, rig_text(&f.b, "post"));
        look_away(&f);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        must_not_find(*state, "reduce_row", bad[i].text, bad[i].spec, "");
}

static void test_axes(void **state)
{
    static const struct {
        /* in, out: the shapes as the template sees them; NULL = as in the task */
        const char *book, *text, *spec, *in, *out;
    } cases[] = {
        {"reduce_row", "x.sum(dim=1)", "x float32 R,C; y float32 R out", NULL, NULL},
        {"reduce_row", "x.sum()", "x float32 R,C; y float32 1 out", "(R) * (C)", "1"},
        {"reduce_row", "x.sum((1, 2))", "x float32 A,B,C; y float32 A out", "A,(B) * (C)", "A"},
        {"reduce_over", "x.mean((1, -2), keepdim=True)", "x float32 A,B,C,D; y float32 A,1,1,D out",
         "(A),(B) * (C),(D)", "(A),(D)"},
        {"reduce_over", "x.mean(0)", "x float32 R,C; y float32 C out", "1,(R),(C)", "1,(C)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct found f;
        char text[128];
        look(&f, *state, cases[i].book, cases[i].text, cases[i].spec);
        if (!f.op)
            fail_msg("%s: %s", cases[i].text, f.why.buf);
        assert_int_equal(f.x.seen != NULL, cases[i].in != NULL);
        if (f.x.seen) {
            assert_string_equal(shape_text(f.x.seen, 0, text), cases[i].in);
            assert_string_equal(shape_text(f.x.seen, 1, text), cases[i].out);
        }
        look_away(&f);
    }
    must_not_find(*state, "reduce_row", "x.mean(0)", "x float32 R,C; y float32 C out", "last axis");
    must_not_find(*state, "reduce_over", "x.mean((0, 2))", "x float32 A,B,C; y float32 B out",
                  "side by side");
}

static void test_products(void **state)
{
    static const char nn[] = "x float16 M,K; w float16 K,N; b float16 N; y float16 M,N out";
    static const char nt[] = "x float16 M,K; w float16 N,K; b float16 N; y float16 M,N out";
    static const char square[] = "x float32 M,M; w float32 M,M; b float32 M,M; y float32 M,M out";
    static const struct {
        const char *spec, *text, *op, *epilogue;
    } good[] = {
        {"x float16 M,K; w float16 K,N; y float16 M,N out", "x @ w", "gemm_nn", "v"},
        {nn, "x @ w - b", "gemm_nn", "(v - float(e.v2[n]))"},
        {nt, "x @ w.T + b", "gemm_nt", "(v + float(e.v2[n]))"},
        {"x float16 M,K; w float16 N,K; y float16 M,N out",
         "torch.relu(torch.matmul(x.float(), w.float().mT))", "gemm_nt",
         "(v > 0.f ? v : (v == v ? 0.f : v))"},
        {nt, "F.linear(x, w, b)", "gemm_nt", "(v + float(e.v2[n]))"},
        {"x float16 Z,M,K; w float16 Z,N,K; y float16 Z,M,N out",
         "torch.bmm(x, w.transpose(1, 2)) * 2", "gemm_nt", "(v * 2.f)"},
        /* sizes and scalars are members of the epilogue's parameter `e` */
        {"q float16 B,S,D; k float16 B,T,D; y float16 B,S,T out", "q @ k.mT / math.sqrt(D)",
         "gemm_nt", "(v / sqrtf(float(e.v2)))"},
        {"q float16 B,S,D; k float16 B,T,D; y float16 B,S,T out", "q @ k.mT / (D - 1)", "gemm_nt",
         "(v / (e.v2-1))"},
        {"x float16 M,K; w float16 N,K; y float16 M,N out; s scalar float32", "s * (x @ w.T)",
         "gemm_nt", "(e.v2 * v)"},
    };
    static const char *const bad[] = {"x + w",
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
        struct found f;
        look(&f, *state, "gemm_sm80", good[i].text, good[i].spec);
        if (!f.op)
            fail_msg("%s: %s", good[i].text, f.why.buf);
        assert_string_equal(f.op->name, good[i].op);
        assert_string_equal(rig_text(&f.b, "epilogue"), good[i].epilogue);
        bool member = strstr(good[i].epilogue, "e.v2") != NULL;
        assert_int_equal(strstr(rig_text(&f.b, "fields"), "v2;") != NULL, member);
        assert_int_equal(*rig_text(&f.b, "extra") != '\0', member);
        look_away(&f);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        must_not_find(*state, "gemm_f32", bad[i], square, "");
}

/* Opens a shelf with the playbook `mine`, which multiplies two matrices if none is transposed. */
static struct playbook_shelf *shelf_with_product(const struct temp_dir *dir)
{
    static const char json[] =
        "{\"about\": \"a test\", \"class\": \"gemm\", \"ops\": {\"gemm_nn\": {}, \"*\": {\"from\":"
        " \"torch gemm\"}}, \"tensors\": ["
        "{\"role\": \"A\", \"io\": \"in\", \"shape\": [\"Z\", \"M\", \"K\"], \"dtype\": "
        "[\"float16\"]},"
        "{\"role\": \"B\", \"io\": \"in\", \"shape\": [\"Z\", \"K\", \"N\"], \"dtype\": "
        "[\"float16\"]},"
        "{\"role\": \"C\", \"io\": \"out\", \"shape\": [\"Z\", \"M\", \"N\"], \"dtype\": "
        "[\"float16\"]}],"
        " \"scalars\": [], \"arch\": 80, \"settings\": [{\"name\": \"s\", \"values\": [1],"
        " \"start\": 1, \"stage\": \"structure\", \"kind\": \"mapping\", \"why\": \"w\"}],"
        " \"require\": []}";
    struct playbook_shelf *shelf;
    struct err err = ERR_INIT;
    char *d = xasprintf("%s/mine", dir->path), *j = xasprintf("%s/playbook.json", d);
    char *k = xasprintf("%s/kernel.cu", d);
    assert_int_equal(dir_make(d, NULL), 0);
    assert_int_equal(file_write(j, json, strlen(json), NULL), 0);
    assert_int_equal(file_write(k, "@{s}\n", 5, NULL), 0);
    if (playbooks_open(&shelf, dir->path, &err) < 0)
        fail_msg("%s", err.msg);
    free(k);
    free(j);
    free(d);
    return shelf;
}

static void test_products_that_a_playbook_lacks(void **state)
{
    (void)state;
    struct temp_dir dir = TEMP_DIR_INIT;
    struct found f;
    assert_int_equal(temp_dir_make(&dir, NULL), 0);
    struct playbook_shelf *shelf = shelf_with_product(&dir);
    look(&f, shelf, "mine", "(x @ w).abs()", "x float16 M,K; w float16 K,N; y float16 M,N out");
    assert_non_null(f.op);
    look_away(&f);
    must_not_find(shelf, "mine", "(x.t() @ w).abs()",
                  "x float16 K,M; w float16 K,N; y float16 M,N out", "gemm_tn");
    playbooks_close(shelf);
    temp_dir_release(&dir);
}

static void test_products_of_halves(void **state)
{
    static const struct {
        const char *spec, *text, *op;
    } good[] = {
        {"x float16 M,K; w float16 K,N; y float16 M,N out", "x @ w", "gemm_nn"},
        {"x bfloat16 M,K; w bfloat16 N,K; y bfloat16 M,N out", "x @ w.T", "gemm_nt"},
        {"x float16 K,M; w float16 K,N; y float16 M,N out", "(x.t() @ w).abs()", "gemm_tn"},
        {"x bfloat16 B,K,M; w bfloat16 B,N,K; y bfloat16 B,M,N out", "x.mT @ w.mT", "gemm_tt"},
    };
    static const char *const books[] = {"gemm_sm80", "gemm_sm90"};
    for (size_t i = 0; i < ARRAY_LEN(books); i++) {
        for (size_t j = 0; j < ARRAY_LEN(good); j++) {
            struct found f;
            look(&f, *state, books[i], good[j].text, good[j].spec);
            if (!f.op)
                fail_msg("%s: %s: %s", books[i], good[j].text, f.why.buf);
            assert_string_equal(f.op->name, good[j].op);
            look_away(&f);
        }
    }
}

/* Each operand of a product in float32 may be transposed. */
static void test_products_of_float32(void **state)
{
    static const struct {
        const char *spec, *text, *op;
    } good[] = {
        {"x float32 M,K; w float32 K,N; y float32 M,N out", "x @ w", "gemm_nn"},
        {"x float32 M,K; w float32 N,K; y float32 M,N out", "x @ w.T", "gemm_nt"},
        {"x float32 K,M; w float32 K,N; y float32 M,N out", "(x.t() @ w).abs()", "gemm_tn"},
        {"x float32 B,K,M; w float32 B,N,K; y float32 B,M,N out", "x.mT @ w.mT", "gemm_tt"},
    };
    static const char *const books[] = {"gemm_f32", "gemm_3tf32_sm80", "gemm_3tf32_sm90"};
    for (size_t i = 0; i < ARRAY_LEN(books); i++) {
        for (size_t j = 0; j < ARRAY_LEN(good); j++) {
            struct found f;
            look(&f, *state, books[i], good[j].text, good[j].spec);
            if (!f.op)
                fail_msg("%s: %s: %s", books[i], good[j].text, f.why.buf);
            assert_string_equal(f.op->name, good[j].op);
            look_away(&f);
        }
    }
}

/* If one operand has no batch axis, all matrices of the other one are multiplied with it. */
static void test_products_with_one_matrix(void **state)
{
    static const struct {
        const char *spec, *text, *op, *a, *b;
    } good[] = {
        {"x float32 B,K,M; w float32 K,N; y float32 B,M,N out", "x.mT @ w", "gemm_tn", "1", "0"},
        {"x float32 M,K; w float32 A,B,K,N; y float32 A,B,M,N out", "x @ w", "gemm_nn", "0", "1"},
        {"x float32 B,K,M; w float32 1,N,K; y float32 B,M,N out",
         "torch.bmm(x.mT, w.mT.expand(B, K, N))", "gemm_tt", "1", "0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct found f;
        char sizes[128];
        look(&f, *state, "gemm_3tf32_sm90", good[i].text, good[i].spec);
        if (!f.op)
            fail_msg("%s: %s", good[i].text, f.why.buf);
        assert_string_equal(f.op->name, good[i].op);
        assert_string_equal(rig_text(&f.b, "batched_a"), good[i].a);
        assert_string_equal(rig_text(&f.b, "batched_b"), good[i].b);
        bool one = str_eq(good[i].a, "0");
        assert_int_equal(str_starts(shape_text(f.x.seen, 0, sizes), "1,"), one);
        assert_int_equal(str_starts(shape_text(f.x.seen, 1, sizes), "1,"), !one);
        look_away(&f);
    }
    must_not_find(*state, "gemm_3tf32_sm90", "x @ w",
                  "x float32 B,1,M,K; w float32 1,H,K,N; y float32 B,H,M,N out", "not matrices");
}

/* Several axes of an operand can together be the rows, the columns or the terms of a product.
 * `sizes` is the shape of the result as the template sees it. */
static void test_products_of_views(void **state)
{
    static const struct {
        const char *spec, *text, *op, *epilogue, *sizes;
    } good[] = {
        {"x float32 A,M,K; w float32 K,N; y float32 A,M,N out", "x @ w", "gemm_nn", "v", "1,A*M,N"},
        {"x float32 A,B,M,K; w float32 K,N; y float32 A,B,M,N out",
         "torch.einsum('abmk,kn->abmn', x, w)", "gemm_nn", "v", "1,A*B*M,N"},
        {"x float32 M,K; w float32 N,D,K; y float32 M,N,D out", "torch.einsum('mk,ndk->mnd', x, w)",
         "gemm_nt", "v", "1,M,D*N"},
        {"x float32 K,A,M; w float32 K,N; y float32 A,M,N out", "torch.einsum('kam,kn->amn', x, w)",
         "gemm_tn", "v", "1,A*M,N"},
        {"x float32 M,K,L; w float32 K,L,N; y float32 M,N out", "torch.einsum('mkl,kln->mn', x, w)",
         "gemm_nn", "v", "1,M,N"},
        {"x float32 A,M,K; w float32 K,N; b float32 N; y float32 A,M,N out",
         "(x.view(A * M, K) @ w + b).view(A, M, N)", "gemm_nn", "(v + float(e.v2[n]))", "1,A*M,N"},
        {"x float32 A,M,K; w float32 K,N; r float32 A,M,N; y float32 A,M,N out",
         "(x.view(A * M, K) @ w).view(A, M, N) * r", "gemm_nn", "(v * float(e.v2[at]))", "1,A*M,N"},
        {"x float32 A,M,K; w float32 1,K,N; y float32 A,M,N out", "x @ w", "gemm_nn", "v",
         "1,A*M,N"},
        {"x float32 A,B,M,K; w float32 A,B,K,N; y float32 A,B,M,N out",
         "torch.bmm(x.flatten(0, 1), w.flatten(0, 1)).view(A, B, M, N)", "gemm_nn", "v", "A*B,M,N"},
    };
    static const struct {
        const char *spec, *text;
    } bad[] = {
        {"x float32 A,M,K; w float32 K,N; y float32 M,A,N out", "(x @ w).transpose(0, 1)"},
        {"x float32 A,M,K; w float32 K,N; y float32 M,A,N out", "x.transpose(0, 1) @ w"},
        {"x float32 M,K,L; w float32 L,K,N; y float32 M,N out",
         "torch.einsum('mkl,lkn->mn', x, w)"},
        /* b has a value for each index of H, but the columns of the product count D and H */
        {"x float32 M,K; w float32 K,D*H; b float32 H; y float32 M,D,H out",
         "(x @ w).view(M, D, H) + b"},
        {"x float32 1,K; w float32 K,N; b float32 M,1; y float32 M,N out", "x @ w + b"},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        char sizes[128];
        struct found f;
        look(&f, *state, "gemm_f32", good[i].text, good[i].spec);
        if (!f.op)
            fail_msg("%s: %s", good[i].text, f.why.buf);
        assert_string_equal(f.op->name, good[i].op);
        assert_string_equal(rig_text(&f.b, "epilogue"), good[i].epilogue);
        assert_string_equal(shape_text(f.x.seen, 2, sizes), good[i].sizes);
        look_away(&f);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        must_not_find(*state, "gemm_f32", bad[i].text, bad[i].spec, "");
}

/* An epilogue may use the indices of rows and columns. If an epilogue ignores the product in some
 * elements, the match finds the diagonals in which the epilogue uses the product: those from
 * keep_from to keep_to. */
static void test_masked_products(void **state)
{
    static const char square[] = "x float32 N,N; w float32 N,N; y float32 N,N out";
    static const char batch[] = "x float32 B,M,K; w float32 B,K,N; y float32 B,M,N out";
    static const char no[] = "-1099511627776LL", none[] = "1099511627776LL";
    static const struct {
        const char *spec, *text, *from, *to;
    } good[] = {
        {square, "torch.triu(x @ w)", "0LL", none},
        {square, "torch.tril(x @ w)", no, "0LL"},
        {square, "torch.tril(x @ w, -2) * 3", no, "-2LL"},
        {batch, "torch.triu(x @ w, 5)", "5LL", none},
        {batch, "torch.triu(torch.tril(torch.relu(x @ w), 4), -4)", "-4LL", "4LL"},
        {square, "x @ w + torch.triu(x @ w)", no, none},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct found f;
        look(&f, *state, "gemm_f32", good[i].text, good[i].spec);
        if (!f.op)
            fail_msg("%s: %s", good[i].text, f.why.buf);
        assert_string_equal(rig_text(&f.b, "keep_from"), good[i].from);
        assert_string_equal(rig_text(&f.b, "keep_to"), good[i].to);
        look_away(&f);
    }
    /* here the matrices of x become one large matrix, and m counts the rows of this large matrix */
    must_not_find(*state, "gemm_f32", "torch.triu(x @ w)",
                  "x float32 B,M,K; w float32 K,N; y float32 B,M,N out", "");
}

static void test_guesses_for_products(void **state)
{
    static const struct {
        const char *book, *spec;
        int m, n, k;
        const char *setting;
        int64_t value;
    } cases[] = {
        {"gemm_3tf32_sm90", "x float32 M,K; w float32 K,N; y float32 M,N out", 256, 256, 524288,
         "split", 32},
        {"gemm_3tf32_sm90", "x float32 M,K; w float32 K,N; y float32 M,N out", 4096, 4096, 4096,
         "split", 1},
        {"gemm_3tf32_sm90", "x float32 M,K; w float32 K,N; y float32 M,N out", 128, 128, 512,
         "split", 1},
        /* an operand is copied (packed) if its rows are not multiples of 16 bytes */
        {"gemm_3tf32_sm90", "x float32 M,K; w float32 K,N; y float32 M,N out", 4096, 4096, 4097,
         "pack", 1},
        {"gemm_3tf32_sm90", "x float32 M,K; w float32 K,N; y float32 M,N out", 4096, 4097, 4096,
         "pack", 2},
        {"gemm_3tf32_sm90", "x float32 M,K; w float32 K,N; y float32 M,N out", 4096, 4096, 4096,
         "pack", 0},
        {"gemm_3tf32_sm90", "x float32 K,M; w float32 K,N; y float32 M,N out", 2048, 4096, 8192,
         "pack", 1},
        {"gemm_3tf32_sm90", "x float32 M,K; w float32 K,N; y float32 M,N out", 32768, 32768, 32,
         "run", 32},
        {"gemm_3tf32_sm80", "x float32 M,K; w float32 K,N; y float32 M,N out", 256, 256, 524288,
         "split", 16},
        {"matvec", "x float32 M,K; w float32 K,1; y float32 M,1 out", 2048, 1, 1048576, "split", 1},
        {"matvec", "x float32 M,K; w float32 K,1; y float32 M,1 out", 2048, 1, 1048576, "rows", 4},
        {"matvec", "x float32 M,K; w float32 K,1; y float32 M,1 out", 4, 1, 1048576, "split", 128},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct playbook *pb = rig_book(*state, cases[i].book);
        bool turned = str_starts(cases[i].spec, "x float32 K");
        json_t *facts = rig_facts("", turned ? "x.T @ w" : "x @ w", cases[i].spec);
        json_object_set_new(facts, "workloads",
                            json_pack("[{s:s, s:{s:i, s:i, s:i}}]", "role", "time", "axes", "M",
                                      cases[i].m, "N", cases[i].n, "K", cases[i].k));
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(400);
        if (!playbook_bind(pb, facts, 90, &b, &why))
            fail_msg("%s: %s", cases[i].book, why.buf);
        struct pb_point p = playbook_start(pb, &b);
        for (uint32_t k = 0; k < pb->nsettings; k++)
            if (str_eq(pb->settings[k].name, cases[i].setting))
                assert_int_equal(pb->settings[k].values[p.at[k]], cases[i].value);
        pb_binding_release(&b);
        strbuf_release(&why);
        json_decref(facts);
    }
}

static void test_matrix_and_vector(void **state)
{
    static const struct {
        const char *spec, *text, *epilogue, *columns;
    } good[] = {
        {"x float32 M,K; w float32 K; y float32 M out", "x @ w", "v", "(M)"},
        {"x float32 M,K; w float32 K,1; y float32 M,1 out", "x @ w", "v", "(1)"},
        {"x float16 1,K; w float16 N,K; b float16 N; y float16 1,N out", "F.linear(x, w, b)",
         "(v + float(e.v2[n]))", "(N)"},
        {"x float32 B,M,K; w float32 K; b float32 M; y float32 B,M out", "x @ w + b",
         "(v + float(e.v2[n]))", "(M)"},
        {"x float32 M,K; w float32 K,1; b float32 M,1; y float32 M,1 out", "x @ w + b",
         "(v + float(e.v2[at]))", "(1)"},
    };
    static const struct {
        const char *spec, *text;
    } bad[] = {
        {"x float32 M,K; w float32 K,N; y float32 M,N out", "x @ w"},
        {"x float32 K,M; w float32 K,1; y float32 M,1 out", "x.T @ w"},
        {"x float32 1,K; w float32 K,N; y float32 1,N out", "x @ w"},
        {"x float32 B,M,K; w float32 B,K,1; y float32 B,M,1 out", "x @ w"},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct found f;
        look(&f, *state, "matvec", good[i].text, good[i].spec);
        if (!f.op)
            fail_msg("%s: %s", good[i].text, f.why.buf);
        assert_string_equal(rig_text(&f.b, "epilogue"), good[i].epilogue);
        assert_string_equal(rig_text(&f.b, "columns"), good[i].columns);
        look_away(&f);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        must_not_find(*state, "matvec", bad[i].text, bad[i].spec, "");
}

static void test_permutations(void **state)
{
    static const struct {
        const char *text, *spec;
        size_t rank;
        int64_t perm[4];
    } good[] = {
        {"x.permute(0, 2, 3, 1)", "x float32 A,B,C,D; y float32 A,C,D,B out", 4, {0, 2, 3, 1}},
        {"torch.permute(x, (2, 0, 1)).contiguous()",
         "x float32 A,B,C; y float32 C,A,B out",
         3,
         {2, 0, 1}},
        {"x.transpose(1, -1)", "x float32 A,B,C; y float32 A,C,B out", 3, {0, 2, 1}},
        {"torch.transpose(x, 0, 1)", "x float32 A,B; y float32 B,A out", 2, {1, 0}},
        {"x.T", "x float32 A,B; y float32 B,A out", 2, {1, 0}},
        {"x.transpose(0, 1).transpose(1, 2)", "x float32 A,B,C; y float32 B,C,A out", 3, {1, 2, 0}},
    };
    static const char *const bad[] = {
        "x.permute(0, 0, 1)", "x.permute(0, 1)",       "x.transpose(0, 3)", "x.T",
        "y.permute(2, 1, 0)", "x.transpose(0, 1) + 1", "x.view(3)",         "torch.flip(x, 0, 1)"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct found f;
        look(&f, *state, "transpose", good[i].text, good[i].spec);
        if (!f.op)
            fail_msg("%s: %s", good[i].text, f.why.buf);
        assert_string_equal(f.op->name, "permute_zmn");
        assert_int_equal(f.x.v->op, OP_PERMUTE);
        const struct attr *perm = value_attr(f.x.v, "dims");
        assert_int_equal(perm->n, good[i].rank);
        for (size_t k = 0; k < perm->n; k++)
            assert_int_equal(perm->ints[k], good[i].perm[k]);
        look_away(&f);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        must_not_find(*state, "transpose", bad[i], "x float32 A,A,A; y float32 A,A,A out", "");
    /* two permutations that cancel each other are no permutation */
    must_write("x.mT.mT", "x float32 A,B,C; y float32 A,B,C out", "v0", DT_F32);
    must_not_find(*state, "transpose", "x.mT.mT", "x float32 A,B,C; y float32 A,B,C out",
                  "more than a permutation");
}

/* If a task uses an input only through a view that adds axes of size 1, matching treats the input
 * as if it had the shape of this view. */
static void test_views(void **state)
{
    static const struct {
        const char *torch, *spec, *shape; /* shape: that of w in the match */
    } cases[] = {
        {"x * w.view(1, -1, 1)", "x float32 A,C,B; w float32 C; y float32 A,C,B out", "1,C,1"},
        {"x * w[:, None]", "x float32 C,B; w float32 C; y float32 C,B out", "C,1"},
        {"x * w [None, :] + w[None, :]", "x float32 R,C; w float32 C; y float32 R,C out", "1,C"},
        {"x * w.unsqueeze(-1).unsqueeze(0)", "x float32 A,C,B; w float32 C; y float32 A,C,B out",
         "1,C,1"},
        {"x * w", "x float32 R,C; w float32 C; y float32 R,C out", "C"},
        {"x * w[..., None]", "x float32 C,B; w float32 C; y float32 C,B out", "C,1"},
        {"x * w[None, ..., :]", "x float32 R,C; w float32 C; y float32 R,C out", "1,C"},
        {"x * w.unsqueeze(dim=1)", "x float32 C,B; w float32 C; y float32 C,B out", "C,1"},
        /* w is used with two shapes */
        {"x * w[:, None] + w", "x float32 C,C; w float32 C; y float32 C,C out", "C"},
        /* w is not used through a view that only adds axes of size 1 */
        {"x * w[0]", "x float32 R,C; w float32 4; y float32 R,C out", "4"},
        {"x[:, :3] * w.view(2, -1)", "x float32 2,4; w float32 6; y float32 2,3 out", "6"},
        {"F.rms_norm(x, x.shape[-1:], w, 1e-6)", "x float32 R,C; w float32 C; y float32 R,C out",
         "C"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct meaning m;
        char text[128];
        json_t *facts = rig_facts("", cases[i].torch, cases[i].spec);
        if (!meaning_read(&m, facts))
            fail_msg("%s: %s", cases[i].torch, m.why.buf);
        if (!str_eq(shape_text(m.facts, 1, text), cases[i].shape))
            fail_msg("%s: w is seen as %s", cases[i].torch, text);
        meaning_release(&m);
        json_decref(facts);
    }
}

/* Matching visits each value once, even if many paths lead to it. So it ends soon for an expression
 * that would have 2^30 parts when written out. */
static void test_bounds(void **state)
{
    const struct playbook_shelf *shelf = *state;
    struct strbuf text = STRBUF_INIT(8192);
    strbuf_adds(&text, "(a := x");
    for (int i = 0; i < 25; i++)
        strbuf_addf(&text, ", %c := %c + torch.relu(%c)", 'b' + i, 'a' + i, 'a' + i);
    strbuf_adds(&text, ", a := z");
    for (int i = 0; i < 5; i++)
        strbuf_addf(&text, ", %c := %c + torch.relu(%c)", 'b' + i, 'a' + i, 'a' + i);
    strbuf_adds(&text, ")[-1]");
    json_t *task = rig_facts("", text.buf, "x float16 R,C; y float16 R,C out");
    double start = cpu_seconds();
    vec_each (const struct playbook, pb, &shelf->books) {
        struct strbuf why = STRBUF_INIT(2000);
        struct pb_binding b;
        if (playbook_bind(pb, task, 90, &b, &why)) {
            if (!pb->last) /* the last one writes a kernel for any graph */
                fail_msg("%s takes an expression of 2^30 parts", pb->name);
            pb_binding_release(&b);
        }
        assert_null(strstr(why.buf, "cannot be read"));
        strbuf_release(&why);
    }
    assert_true(cpu_seconds() - start < 5);
    json_decref(task);
    strbuf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_products_of_float32),
        cmocka_unit_test(test_products_of_halves),
        cmocka_unit_test(test_products_that_a_playbook_lacks),
        cmocka_unit_test(test_products_with_one_matrix),
        cmocka_unit_test(test_products_of_views),
        cmocka_unit_test(test_masked_products),
        cmocka_unit_test(test_guesses_for_products),
        cmocka_unit_test(test_matrix_and_vector),
        cmocka_unit_test(test_permutations),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_bounds),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, rig_open_shelf, rig_close_shelf);
}
