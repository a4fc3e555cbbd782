/* Tests how playbooks match a graph by forms: PyTorch expressions in which each name is the role of
 * a tensor or a scalar. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "playbook/match/match.h"
#include "playbook_rig.h"
#include "sys/file.h"

/* Opens a shelf with the playbook `mine`. This playbook has one operation with one form. */
static struct playbook_shelf *shelf_with_form(const struct temp_dir *dir, const char *form,
                                              const char *roles, const char *scalars)
{
    struct playbook_shelf *shelf;
    struct err err = ERR_INIT;
    char *d = xasprintf("%s/mine", dir->path), *j = xasprintf("%s/playbook.json", d);
    char *k = xasprintf("%s/kernel.cu", d);
    char *json = xasprintf(
        "{\"about\": \"a test\", \"class\": \"other\", \"ops\": {\"o\": {\"torch\": [\"%s\"]}},"
        " \"tensors\": [%s], \"scalars\": [%s], \"arch\": 80, \"settings\": [{\"name\": \"s\","
        " \"values\": [1], \"start\": 1, \"stage\": \"structure\", \"kind\": \"mapping\","
        " \"why\": \"w\"}], \"require\": []}",
        form, roles, scalars);
    assert_int_equal(dir_make(d, NULL), 0);
    assert_int_equal(file_write(j, json, strlen(json), NULL), 0);
    assert_int_equal(file_write(k, "@{s}\n", 5, NULL), 0);
    if (playbooks_open(&shelf, dir->path, &err) < 0)
        fail_msg("%s: %s", form, err.msg);
    free(json);
    free(k);
    free(j);
    free(d);
    return shelf;
}

#define ROLE(name, io, shape, dtypes)                                                              \
    "{\"role\": \"" name "\", \"io\": \"" io "\", \"shape\": [" shape "], \"dtype\": [" dtypes "]" \
    "}"
#define FLOATS "\"float32\", \"float16\""
#define ROWS_OF_TABLE                                  \
    ROLE("idx", "in", "\"N\"", "\"int32\", \"int64\"") \
    ", " ROLE("table", "in", "\"V\", \"D\"", FLOATS) ", " ROLE("y", "out", "\"N\", \"D\"", FLOATS)
#define SCAN \
    ROLE("table", "in", "\"*R\", \"C\"", FLOATS) ", " ROLE("y", "out", "\"*R\", \"C\"", FLOATS)
#define SCAN_AND_MORE                       \
    ROLE("idx", "in", "\"N\"", "\"int32\"") \
    ", " ROLE("table", "in", "\"R\", \"C\"", FLOATS) ", " ROLE("y", "out", "\"R\", \"C\"", FLOATS)
#define TWO_ALIKE                      \
    ROLE("idx", "in", "\"N\"", FLOATS) \
    ", " ROLE("table", "in", "\"N\"", FLOATS) ", " ROLE("y", "out", "\"N\"", FLOATS)
#define NORM                                  \
    ROLE("idx", "in", "\"R\", \"C\"", FLOATS) \
    ", " ROLE("table", "in", "\"C\"", FLOATS) ", " ROLE("y", "out", "\"R\", \"C\"", FLOATS)

static void test_forms(void **state)
{
    static const char gather[] = "w float32 V,D; ids int32 N; y float32 N,D out";
    static const char cube[] = "w float32 A,B,C; y float32 A,B,C out";
    static const char beside[] = "w float32 R,C; ids int32 N; y float32 R,C out";
    static const char alike[] = "w float32 N; ids float32 N; y float32 N out";
    static const struct {
        const char *form, *roles, *scalars, *text, *spec, *idx, *table; /* table NULL: no match */
    } cases[] = {
        {"embedding(idx, table)", ROWS_OF_TABLE, "", "torch.nn.functional.embedding( ids,w )",
         gather, "ids", "w"},
        {"table[idx]", ROWS_OF_TABLE, "", "w[ids.long()]", gather, "ids", "w"},
        {"table[idx]", ROWS_OF_TABLE, "", "w[ids.to(torch.long)]", gather, "ids", "w"},
        {"table[idx]", ROWS_OF_TABLE, "", "w[ids] * 2", gather, NULL, NULL},
        /* an input cannot have two roles */
        {"table[idx]",
         ROLE("idx", "in", "\"N\"", "\"int64\"") ", " ROLE(
             "table", "in", "\"N\"", "\"int64\"") ", " ROLE("y", "out", "\"N\"", "\"int64\""),
         "", "w[w]", "w int64 N; y int64 N out", NULL, NULL},
        {"idx * idx", TWO_ALIKE, "", "ids * w", alike, NULL, NULL},
        {"idx * idx - table", TWO_ALIKE, "", "w * w - ids", alike, "w", "ids"},
        {"cumsum(table, $last)", SCAN, "", "torch.cumsum(w.float(), dim=-1).to(torch.half)",
         "w float16 A,B,C; y float16 A,B,C out", "", "w"},
        {"cumsum(table, $last)", SCAN, "", "torch.cumsum(w, 2)", cube, "", "w"},
        {"cumsum(table, $last)", SCAN, "", "torch.cumsum(w, 1)", cube, NULL, NULL},
        {"cumsum(table, $last)", SCAN, "", "torch.cumsum(w, -1) - w", cube, NULL, NULL},
        {"cumsum(table, $last) - table", SCAN, "", "torch.cumsum(w, -1) - w", cube, "", "w"},
        {"flip(table, $last)", SCAN, "", "torch.flip(w, dims=[-1])", cube, "", "w"},
        {"rms_norm(idx, idx.shape[-1], table, eps)", NORM, "\"eps\"",
         "F.rms_norm(ids, ids.shape[-1], w, eps=e)",
         "w float32 C; ids float32 R,C; y float32 R,C out; e scalar float32", "ids", "w"},
        {"rms_norm(idx, idx.shape[-1], table, eps)", NORM, "\"eps\"", "F.rms_norm(ids, (C,), w",
         "w float32 C; ids float32 R,C; y float32 R,C out; e scalar float32", NULL, NULL},
        {"rms_norm(idx, idx.shape[-1], table, eps)", NORM, "\"eps\"",
         "F.rms_norm(ids, (C,), other, e)",
         "w float32 C; ids float32 R,C; y float32 R,C out; e scalar float32", NULL, NULL},
        {"cumsum(table, $last)", SCAN, "", "torch.cumsum(w.int(), -1)", cube, NULL, NULL},
        {"cumsum(table, $last)", SCAN, "", "torch.cumsum(w.to(torch.int64), -1)", cube, NULL, NULL},
        {"cumsum(table, $last)", SCAN_AND_MORE, "", "torch.cumsum(w.to(ids.dtype), -1)", beside,
         NULL, NULL},
        {"cumsum(table, $last)", SCAN_AND_MORE, "", "torch.cumsum(w.to(w.dtype), -1)", beside,
         "ids", "w"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct temp_dir dir = TEMP_DIR_INIT;
        struct strbuf why = STRBUF_INIT(2000);
        struct pb_binding b;
        assert_int_equal(temp_dir_make(&dir, NULL), 0);
        struct playbook_shelf *shelf =
            shelf_with_form(&dir, cases[i].form, cases[i].roles, cases[i].scalars);
        json_t *task = rig_facts("", cases[i].text, cases[i].spec);
        bool fits = playbook_bind(rig_book(shelf, "mine"), task, 90, &b, &why);
        if (fits != (cases[i].table != NULL))
            fail_msg("'%s' %s '%s': %s", cases[i].text, fits ? "is" : "is not", cases[i].form,
                     why.buf);
        if (fits) {
            assert_string_equal(rig_text(&b, "idx"), cases[i].idx);
            assert_string_equal(rig_text(&b, "table"), cases[i].table);
            assert_string_equal(rig_text(&b, "eps"), *cases[i].scalars ? "e" : "");
            pb_binding_release(&b);
        }
        json_decref(task);
        playbooks_close(shelf);
        temp_dir_release(&dir);
        strbuf_release(&why);
    }
}

/* A form matches its computation, however a task writes it, and no other computation. */
static void test_norms(void **state)
{
    static const char spec[] =
        "x float16 R,C; w float16 C; y float16 R,C out; e scalar float32; R axis 0; C axis 0";
    static const char *const same[] = {
        "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + e) * w",
        "w * (x / torch.sqrt(e + torch.mean(torch.square(x), dim=1, keepdim=True)))",
        "(x.float() * torch.rsqrt((x.float() ** 2).mean(-1, True) + e)).to(x.dtype) * w",
        "x / ((x ** 2).sum(-1, keepdim=True) / C + e) ** 0.5 * w",
        "(s := x.float(), w * s * (s.square().mean(-1, keepdim=True) + e).rsqrt())[-1].half()",
    };
    static const char *const others[] = {
        "x * torch.rsqrt(x.pow(2).mean(0, keepdim=True) + e) * w",
        "x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + e) * w",
        "x * torch.rsqrt(x.pow(2).mean(-1) + e) * w",
        "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)) * w",
        "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + e) * w * w",
        "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + e) * (1 + w)",
        "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) - e) * w",
        "x * torch.rsqrt(x.abs().mean(-1, keepdim=True) + e) * w",
        "x / (torch.sqrt(x.pow(2).mean(-1, keepdim=True)) + e) * w",
        "x / ((x ** 2).sum(-1, keepdim=True) / R + e) ** 0.5 * w",
        "w * torch.rsqrt(w.pow(2).mean(-1, keepdim=True) + e) * x",
        "x.int() * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + e) * w",
    };
    const struct playbook *pb = rig_book(*state, "rownorm");
    for (size_t i = 0; i < ARRAY_LEN(same) + ARRAY_LEN(others); i++) {
        bool want = i < ARRAY_LEN(same);
        const char *text = want ? same[i] : others[i - ARRAY_LEN(same)];
        struct strbuf why = STRBUF_INIT(2000);
        struct pb_binding b;
        json_t *task = rig_facts("", text, spec);
        bool fits = playbook_bind(pb, task, 90, &b, &why);
        if (fits != want)
            fail_msg("'%s' %s: %s", text, want ? "is not the form" : "is the form", why.buf);
        if (fits) {
            assert_string_equal(rig_text(&b, "x"), "x");
            assert_string_equal(rig_text(&b, "w"), "w");
            assert_string_equal(rig_text(&b, "eps"), "e");
            pb_binding_release(&b);
        }
        json_decref(task);
        strbuf_release(&why);
    }
    /* A task may have a number where the form has a scalar. */
    struct strbuf why = STRBUF_INIT(2000);
    struct pb_binding b;
    json_t *task =
        rig_facts("", "x * (1 / torch.sqrt(x.pow(2).mean(dim=(-1,), keepdim=True) + 1e-6)) * w",
                  "x float16 R,C; w float16 C; y float16 R,C out");
    if (!playbook_bind(pb, task, 90, &b, &why))
        fail_msg("%s", why.buf);
    assert_string_equal(rig_text(&b, "eps:value"), "float(1.000000000e-06)");
    pb_binding_release(&b);
    json_decref(task);
    strbuf_release(&why);
}

/* The playbook `rowwise` takes chains of reductions and elementwise work. Checks along which axes
 * it reduces, and in how many stages. */
static void test_chains(void **state)
{
    static const char x4[] = "x float32 A,B,C,D; y float32 A,B,C,D out";
    static const struct {
        const char *text, *spec, *outer, *length, *inner, *stages;
    } cases[] = {
        {"x / x.abs().sum(-1, keepdim=True)", x4, "(A*B*C)", "(D)", "(1)", "1"},
        {"x / x.abs().sum((1, 2), keepdim=True)", x4, "(A)", "(B*C)", "(D)", "1"},
        {"x / torch.norm(x)", x4, "(1)", "(A*B*C*D)", "(1)", "1"},
        {"F.layer_norm(x, (B, C, D), w)",
         "x float32 A,B,C,D; w float32 B,C,D; y float32 A,B,C,D out", "(A)", "(B*C*D)", "(1)", "1"},
        {"(x - x.mean(1, True)) / x.var(1, keepdim=True, correction=0).sqrt()", x4, "(A)", "(B)",
         "(C*D)", "1"},
        {"(x - x.amax(-1, True)) / x.sum(-1, True)", x4, "(A*B*C)", "(D)", "(1)", "2"},
        {"(t := x.reshape(A, B * C, D), (t / t.abs().amax(-1, True)).reshape(A, B, C, D))[-1]", x4,
         "(A*B*C)", "(D)", "(1)", "1"},
    };
    static const struct {
        const char *text, *spec, *why;
    } others[] = {
        {"x / x.abs().sum((0, 2), keepdim=True)", x4, "side by side"},
        {"x / x.sum(0, True) / x.sum(1, True)", x4, "different axes"},
        {"x + 1", x4, "no reduction"},
    };
    const struct playbook *pb = rig_book(*state, "rowwise");
    for (size_t i = 0; i < ARRAY_LEN(cases) + ARRAY_LEN(others); i++) {
        bool want = i < ARRAY_LEN(cases);
        size_t k = want ? i : i - ARRAY_LEN(cases);
        const char *text = want ? cases[k].text : others[k].text;
        struct strbuf why = STRBUF_INIT(2000);
        struct pb_binding b;
        json_t *task = rig_facts("", text, want ? cases[k].spec : others[k].spec);
        bool fits = playbook_bind(pb, task, 90, &b, &why);
        if (fits != want || (!want && !strstr(why.buf, others[k].why)))
            fail_msg("'%s' %s: %s", text, want ? "does not fit" : "fits", why.buf);
        if (fits) {
            assert_string_equal(rig_text(&b, "outer"), cases[k].outer);
            assert_string_equal(rig_text(&b, "length"), cases[k].length);
            assert_string_equal(rig_text(&b, "inner"), cases[k].inner);
            assert_string_equal(rig_text(&b, "passes:stages"), cases[k].stages);
            pb_binding_release(&b);
        }
        json_decref(task);
        strbuf_release(&why);
    }
}

/* The kernel computes values that are the same for all elements of a row once. */
static void test_values_of_a_row(void **state)
{
    struct strbuf why = STRBUF_INIT(2000);
    struct pb_binding b;
    json_t *task =
        rig_facts("", "x * torch.rsqrt((x * x).mean(-1, True) + 1e-5) + x.amax(-1, True)",
                  "x float32 R,C; y float32 R,C out");
    assert_true(playbook_bind(rig_book(*state, "rowwise"), task, 90, &b, &why));
    const char *passes = rig_text(&b, "passes");
    assert_non_null(strstr(passes, "float u0 = (v2 / v1);"));
    assert_non_null(strstr(passes, "float u2 = rsqrtf(u1);"));
    assert_string_equal(rig_text(&b, "expr"), "((v0 * u2) + v3)");
    pb_binding_release(&b);
    json_decref(task);
    strbuf_release(&why);
}

/* The playbook `reduce_of` takes a reduction of an expression whose inputs broadcast. */
static void test_broadcast_reductions(void **state)
{
    static const struct {
        const char *text, *spec, *rows, *cols, *inner, *views;
    } cases[] = {
        /* Neighbouring axes become one dim of the kernel if every input reads them in the same way.
         * `inner` is the size of the innermost dim. */
        {"(x * t).mean()", "x float32 A,B; t float32 B; y float32 - out", "(1)", "((A) * (B))",
         "((B))", "view(v0, make_stride(_1{}, I(d0))), view(v1, make_stride(_1{}, _0{}))"},
        {"(x * t).sum((1, 2))", "x float32 A,B,C; t float32 A,B,1; y float32 A out", "((A))",
         "((B) * (C))", "((C))",
         "view(v0, make_stride(_1{}, I(d0), I(d0 * d1))), "
         "view(v1, make_stride(_0{}, _1{}, I(d1)))"},
        /* An axis that is reduced and one that is not are never the same dim. */
        {"torch.where(t, x, 0).sum(-1)", "x float32 A,B; t bool A,B; y float32 A out", "((A))",
         "((B))", "((B))",
         "view(v0, make_stride(_1{}, I(d0))), view(v1, make_stride(_1{}, I(d0)))"},
        {"(x * t).sum(-1)", "x float32 A,1; t bool A,1; y float32 A out", "((A))", "(1)", "(1)",
         "view(v0, make_stride(_1{}, I(d0))), view(v1, make_stride(_1{}, I(d0)))"},
    };
    const struct playbook *pb = rig_book(*state, "reduce_of");
    struct strbuf why = STRBUF_INIT(2000);
    struct pb_binding b;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *task = rig_facts("", cases[i].text, cases[i].spec);
        if (!playbook_bind(pb, task, 90, &b, &why))
            fail_msg("'%s' does not fit: %s", cases[i].text, why.buf);
        assert_string_equal(rig_text(&b, "R"), cases[i].rows);
        assert_string_equal(rig_text(&b, "C"), cases[i].cols);
        assert_string_equal(rig_text(&b, "dims:inner"), cases[i].inner);
        assert_string_equal(rig_text(&b, "in:views"), cases[i].views);
        pb_binding_release(&b);
        json_decref(task);
    }
    /* If nothing broadcasts, the playbook does not fit. */
    json_t *task =
        rig_facts("", "(x * t).sum(-1)", "x float32 A,B; t float32 A,B; y float32 A out");
    assert_false(playbook_bind(pb, task, 90, &b, &why));
    assert_non_null(strstr(why.buf, "needs no broadcasting"));
    json_decref(task);
    strbuf_release(&why);
}

/* A nested reduction: each row is reduced, and then an expression of these results is reduced over
 * all rows. */
static void test_nested(void **state)
{
    static const char two[] = "x float32 A,B; k float32 A,B; y float32 - out";
    static const char rows[] = "x float32 A,B; k float32 A; y float32 - out";
    static const struct {
        const char *text, *spec, *take, *expr, *outer, *post;
    } cases[] = {
        {"(x - k).norm(dim=1).mean()", two, "p[0] = sum_of(p[0], ((v0 - v1) * (v0 - v1)));",
         "sqrtf(p[0])", "sum_of", "(v0 / n)"},
        {"x.mean(-1).amax() + 1", two, "p[0] = sum_of(p[0], v0);", "(p[0] / length)", "max_nan",
         "(v0 + 1.f)"},
        {"(x.sum(-1) * k).sum()", rows, "p[0] = sum_of(p[0], v0);", "(p[0] * v1)", "sum_of", "v0"},
        {"(x.amax(-1) - x.amin(-1)).sum()", two,
         "p[0] = max_nan(p[0], v0);\n    p[1] = min_nan(p[1], v0);", "(p[0] - p[1])", "sum_of",
         "v0"},
        {"F.triplet_margin_loss(x, k, z, margin=0.5, eps=0.25)",
         "x float32 A,B; k float32 A,B; z float32 A,B; y float32 - out",
         "p[0] = sum_of(p[0], (((v0 - v1) + 0.25f) * ((v0 - v1) + 0.25f)));\n    p[1] = "
         "sum_of(p[1], (((v0 - v2) + 0.25f) * ((v0 - v2) + 0.25f)));",
         NULL, "sum_of", "(v0 / n)"},
    };
    static const struct {
        const char *text, *spec, *why;
    } others[] = {
        {"(x * k).mean()", two, "no reduction inside of another"},
        {"x.logsumexp(-1).mean()", two, "uses the result of another"},
        {"x.sum(0).norm()", two, "not along the last axes"},
        {"x.norm(dim=1).mean() / k.norm(dim=1).mean()", two, "not part of each other"},
        {"(x.sum(-1) * k).sum() + (x * k.view(A, 1)).sum()", rows, "not part of each other"},
        {"(x.sum(-1) + x.sum(-1, True)).sum()", two, ""},
        {"(x.sum(-1) * k.sum(-1)).sum(-1)", "x float32 A,C,B; k float32 A,C,B; y float32 A out",
         "not over all rows"},
    };
    const struct playbook *pb = rig_book(*state, "loss");
    for (size_t i = 0; i < ARRAY_LEN(cases) + ARRAY_LEN(others); i++) {
        bool want = i < ARRAY_LEN(cases);
        size_t k = want ? i : i - ARRAY_LEN(cases);
        const char *text = want ? cases[k].text : others[k].text;
        struct strbuf why = STRBUF_INIT(2000);
        struct pb_binding b;
        json_t *task = rig_facts("", text, want ? cases[k].spec : others[k].spec);
        bool fits = playbook_bind(pb, task, 90, &b, &why);
        if (fits != want || (!want && !strstr(why.buf, others[k].why)))
            fail_msg("'%s' %s: %s", text, want ? "does not fit" : "fits", why.buf);
        if (fits) {
            assert_string_equal(rig_text(&b, "passes:take"), cases[k].take);
            if (cases[k].expr)
                assert_string_equal(rig_text(&b, "expr"), cases[k].expr);
            assert_string_equal(rig_text(&b, "outer:join"), cases[k].outer);
            assert_string_equal(rig_text(&b, "post"), cases[k].post);
            pb_binding_release(&b);
        }
        json_decref(task);
        strbuf_release(&why);
    }
}

/* Tries to bind the playbook `cumsum` to a task whose graph puts the number `first` before the
 * cumulative sums of x[:, start:start + C - 1]. Returns whether it fits. */
static bool binds_exclusive(void **state, int first, const char *start, struct strbuf *why)
{
    struct pb_binding b;
    json_t *task = rig_facts("", "graph", "x float32 R,C; y float32 R,C out; R axis 0; C axis 0");
    char text[2048];
    snprintf(
        text, sizeof text,
        "{\"version\": 1, \"axes\": [\"R\", \"C\"], \"scalars\": [], \"guards\": [],"
        " \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"R\", \"C\"]}],"
        " \"values\": ["
        "{\"id\": \"%%1\", \"op\": \"slice\", \"args\": [\"x\"], \"attrs\": {\"dim\": [1],"
        " \"start\": %s, \"length\": \"C-1\", \"step\": 1}},"
        "{\"id\": \"%%2\", \"op\": \"cumsum\", \"args\": [\"%%1\"], \"attrs\": {\"dim\": [1]}},"
        "{\"id\": \"%%3\", \"op\": \"cast\", \"args\": [%d], \"attrs\": {\"dtype\": \"float32\"}},"
        "{\"id\": \"%%4\", \"op\": \"expand\", \"args\": [\"%%3\"], \"attrs\": {\"shape\": [\"R\", "
        "1]}},"
        "{\"id\": \"%%5\", \"op\": \"cat\", \"args\": [\"%%4\", \"%%2\"], \"attrs\": {\"dim\": "
        "[1]}}],"
        " \"outputs\": [{\"name\": \"y\", \"dtype\": \"float32\", \"shape\": [\"R\", \"C\"],"
        " \"value\": \"%%5\"}]}",
        start, first);
    json_object_set_new(task, "graph", json_loads(text, 0, NULL));
    bool fits = playbook_bind(rig_book(*state, "cumsum"), task, 90, &b, why);
    if (fits) {
        assert_string_equal(rig_text(&b, "exclusive"), "true");
        pb_binding_release(&b);
    }
    json_decref(task);
    return fits;
}

/* The playbook `cumsum` can write an exclusive scan: the results begin with a 0, and the last
 * element of x is left out. */
static void test_exclusive_scans(void **state)
{
    struct strbuf why = STRBUF_INIT(2000);
    if (!binds_exclusive(state, 0, "0", &why))
        fail_msg("%s", why.buf);
    assert_false(binds_exclusive(state, 1, "0", &why));
    assert_false(binds_exclusive(state, 0, "1", &why));
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_values_of_a_row),
        cmocka_unit_test(test_broadcast_reductions),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_exclusive_scans),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, rig_open_shelf, rig_close_shelf);
}
