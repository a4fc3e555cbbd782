/* campaign.c - tests campaigns: suites, known times, kinds of work, scores, tables, and entries in
 * the store. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "campaign/campaign.h"
#include "campaign/known_times.h"
#include "campaign/table.h"
#include "store/sql.h"
#include "sys/file.h"
#include "sys/json.h"
#include "torch/read.h"
#include "view/view.h"

static struct err err;
#define OK(e)                                \
    do {                                     \
        err_clear(&err);                     \
        if ((e) < 0)                         \
            fail_msg("%s: %s", #e, err.msg); \
    } while (0)

/* ---- suites ---------------------------------------------------------------------------------- */

static void reads_a_suite(void **state)
{
    const char *text = "# a comment\n"
                       "softmax\r\n"
                       "\n"
                       "  own/task   # another\n"
                       "p.py:f x=float32[M,2*K] M=4096 K=7 label=named precision=fp32 "
                       "against=own/triton.py\n"
                       "q.py";
    struct arena a = ARENA_INIT;
    struct suite_item_vec v = VEC_INIT;
    OK(suite_parse(text, strlen(text), "s", "dir", &v, &a, &err));
    assert_int_equal(v.n, 4);
    assert_string_equal(v.items[0].operand, "softmax");
    assert_string_equal(v.items[1].operand, "dir/own/task");
    assert_string_equal(v.items[1].label, "task");
    assert_string_equal(v.items[2].operand, "dir/p.py:f");
    assert_string_equal(v.items[2].label, "named");
    assert_string_equal(v.items[2].precision, "fp32");
    assert_int_equal(v.items[2].inputs.n, 1);
    assert_string_equal(v.items[2].inputs.items[0], "x=float32[M,2*K]");
    assert_int_equal(v.items[2].sizes.n, 2);
    assert_string_equal(v.items[3].label, "q");
    assert_string_equal(v.items[2].against, "dir/own/triton.py");
    assert_string_equal(v.items[0].against, "");
    /* suite_read_options() gets back the options that suite_options() wrote for the store */
    struct torch_program own = {"triton.py", "def run(x): return x\n"};
    v.items[2].programs = (struct torch_programs){&own, 1};
    json_t *j = suite_options(&v.items[2]);
    char *json = json_dumps(j, 0);
    struct suite_item again = {.label = ""};
    OK(suite_read_options(json, &again, &a, &err));
    assert_string_equal(again.precision, "fp32");
    assert_string_equal(again.sizes.items[1], "K=7");
    assert_int_equal(again.programs.n, 1);
    assert_string_equal(again.programs.items[0].source, own.source);
    vec_release(&again.inputs);
    vec_release(&again.sizes);
    free(json);
    json_decref(j);
    suite_release(&v);
    arena_release(&a);
}

static void refuses_bad_suites(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"softmax\nx=3\n", "s:2"},
        {"softmax against=../own.py\n", "in the suite's folder"},
        {"softmax against=own.cu\n", "needs a PyTorch program"},
        {"/etc/x.py:f", "leads out"},
        {"a/../../x.py", "leads out"},
        {"..", "leads out"},
        {"x.py:", "needs a name"},
        {"asset:suites/problems.py:relu", "not a task"},
        {"softmax M=4", "only for a PyTorch file"},
        {"p.py:f 7", "NAME=VALUE"},
        {"p.py:f M=0", "neither"},
        {"p.py:f M=99999999999999999999", "neither"},
        {"p.py:f x=float32[M", "neither"},
        {"p.py:f x=float32[M][N]", "neither"},
        {"p.py:f label=../x", "letters"},
        {"soft\001max", "control"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        struct suite_item_vec v = VEC_INIT;
        err_clear(&err);
        int rc = suite_parse(cases[i].text, strlen(cases[i].text), "s", "", &v, &a, &err);
        if (rc == 0 || !strstr(err.msg, cases[i].want))
            fail_msg("'%s': %s", cases[i].text, rc ? err.msg : "accepted");
        suite_release(&v);
        arena_release(&a);
    }
}

static void built_in_suites_are_sound(void **state)
{
    static const struct {
        const char *name;
        size_t n;
    } suites[] = {
        {"cutegen19", 19}, {"cutegen_v1", 26}, {"astra3", 3}, {"classics", 16}, {"blocks", 9}};
    for (size_t i = 0; i < ARRAY_LEN(suites); i++) {
        struct arena a = ARENA_INIT;
        struct suite_item_vec v = VEC_INIT;
        OK(suite_add(suites[i].name, &v, &a, &err));
        assert_int_equal(v.n, suites[i].n);
        vec_each (struct suite_item, x, &v)
            for (struct suite_item *y = v.items; y < x; y++)
                assert_string_not_equal(x->label, y->label);
        suite_release(&v);
        arena_release(&a);
    }
}

/* ---- known times ----------------------------------------------------------------------------- */

static void knows_times(void **state)
{
    const char *text = "# times\nlevel\tnumber\tname\teager\tcompile\tcudnn_bench\n"
                       "1\t3\tBatched\t20\t10\t\n2\t3\tBatched\t7\t-\t8\n1\t4\tNone\t\t\t\n";
    struct known_times k;
    OK(known_times_parse(&k, text, strlen(text), "t", &err));
    assert_true(known_times_find(&k, "/kb/level1/3_Batched.py") == 10e3);
    assert_true(known_times_find(&k, "/kb/level2/3_Batched.py") == 7e3);
    assert_true(known_times_find(&k, "tasks/3_Batched/") == 10e3);
    assert_true(known_times_find(&k, "level3/3_Batched.py") == 0);
    assert_true(known_times_find(&k, "4_None") == 0);
    known_times_release(&k);
    static const char *const bad[] = {"a\tb\n", "level\tnumber\tname\teager\n1\n",
                                      "level\tnumber\tname\teager\n1\t1\tx\t-3\n",
                                      "level\tnumber\tname\teager\n1\t1\tx\tnan\n",
                                      "level\tnumber\tname\teager\n1\t1\tx\t3 us\n"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_true(known_times_parse(&k, bad[i], strlen(bad[i]), "t", NULL) < 0);
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static void finds_kinds(void **state)
{
    static const struct {
        const char *text, *kind;
        bool collapsed;
    } cases[] = {
        {"torch.relu(x) + 1", "elementwise", false},
        {"x.transpose(0, 1)", "movement", false},
        {"torch.matmul(x, w)", "product", false},
        {"torch.relu(torch.matmul(x, w) + b)", "product", false},
        {"torch.softmax(torch.matmul(x, w), -1)", "product chain", false},
        {"torch.sum(torch.matmul(x, w), 1)", "product chain", true},
        {"torch.mean((torch.matmul(x, w) + b) * 2, 0)", "product chain", true},
        {"torch.sum(torch.relu(torch.matmul(x, w)), 1)", "product chain", false},
        {"torch.amax(torch.matmul(x, w), 1)", "product chain", false},
        {"torch.matmul(x, w) - torch.mean(torch.matmul(x, w), 0)", "product chain", false},
        {"torch.softmax(x, 1)", "softmax", false},
        {"torch.sum(x, 1)", "reduction", false},
        {"x / torch.sum(x, 1, keepdim=True)", "norm", false},
        {"torch.cumsum(x, 1)", "scan", false},
        {"F.layer_norm(x, (64,))", "norm", false},
    };
    static const char *const axes[] = {"M"};
    static const struct torch_tensor tensors[] = {
        {"x", DT_F32, 2, {"M", "64"}, true, false},
        {"w", DT_F32, 2, {"64", "32"}, true, false},
        {"b", DT_F32, 1, {"32"}, true, false},
        {"y", DT_F32, 1, {"1"}, false, true},
    };
    struct torch_task t = {.axes = axes, .naxes = 1, .tensors = tensors, .ntensors = 4};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct graph g;
        struct work_kind k = {.name = ""};
        err_clear(&err);
        if (torch_read(&g, cases[i].text, &t, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.msg);
        work_kind_of_graph(&g, &k);
        if (!str_eq(k.name, cases[i].kind) || k.collapsed != cases[i].collapsed)
            fail_msg("%s: %s%s", cases[i].text, k.name, k.collapsed ? ", collapsed" : "");
        graph_release(&g);
    }
}

/* PyTorch expressions have no pooling, so the test builds a graph itself. The graph pools windows
 * of two columns. */
static void finds_pooling(void **state)
{
    for (int product = 0; product < 2; product++) {
        struct graph g;
        struct work_kind k = {.name = ""};
        graph_init(&g, NULL, 0);
        const struct dim *shape[] = {dim_number(&g.dims, 8), dim_number(&g.dims, 8)};
        const struct value *x = graph_input(&g, "x", DT_F32, 2, shape);
        if (product)
            x = graph_add2(&g, OP_MATMUL, x, x, &err);
        struct attr windows[] = {
            {.kind = ATTR_AXES, .n = 1, .ints = {1}},
            {.kind = ATTR_DIM, .n = 1, .dims = {dim_number(&g.dims, 2)}},
            {.kind = ATTR_INT, .i = 2},
            {.kind = ATTR_INT, .i = 1},
        };
        struct attr last[] = {{.kind = ATTR_AXES, .n = 1, .ints = {2}}, {.kind = ATTR_BOOL}};
        const struct value *w = graph_add(&g, OP_WINDOWS, &x, windows, &err);
        assert_non_null(w);
        const struct value *y = graph_add(&g, OP_MEAN, &w, last, &err);
        assert_non_null(y);
        graph_add_output(&g, "y", DT_F32, y->rank, y->shape, y);
        work_kind_of_graph(&g, &k);
        assert_string_equal(k.name, product ? "product chain" : "pooling");
        assert_true(k.collapsed == (product == 1));
        graph_release(&g);
    }
}

/* ---- rows and scores ------------------------------------------------------------------------- */

static struct campaign_row *add_row(struct campaign_table *t, enum row_state state, double ratio,
                                    double half)
{
    struct campaign_row *r = vec_push(&t->rows);
    *r = (struct campaign_row){.index = t->rows.n - 1,
                               .label = "a|b,\"c\"\n",
                               .operand = "=x",
                               .run = "",
                               .state = state,
                               .reason = state == ROW_FAILED ? "why | not" : "",
                               .hone = "0 x",
                               .precision = "",
                               .gpu = "",
                               .kind = {.name = "product"}};
    if (ratio > 0) {
        r->ours_ns = 1000;
        *vec_push(&r->baselines) = (struct row_baseline){"naive", 9000, {"naive", 9, 8, 10}};
        *vec_push(&r->baselines) =
            (struct row_baseline){"torch", 5000, {"torch", ratio * 2, ratio, ratio * 3}};
        *vec_push(&r->baselines) = (struct row_baseline){
            "torch.compile", 1000 * ratio, {"torch.compile", ratio, ratio - half, ratio + half}};
    }
    campaign_row_compare(r);
    return r;
}

static void scores_by_the_rules(void **state)
{
    struct campaign_table t = {.campaign = {.name = "c"}};
    struct campaign_score s;
    assert_int_equal(add_row(&t, ROW_PASS, 4, 0.1)->standing, ROW_WIN);
    assert_string_equal(t.rows.items[0].ratio.who, "torch.compile"); /* the fastest baseline */
    assert_int_equal(add_row(&t, ROW_PASS, 0.5, 0.1)->standing, ROW_LOSS);
    assert_int_equal(add_row(&t, ROW_PASS, 1.05, 0.1)->standing, ROW_TIE);
    add_row(&t, ROW_FAILED, 0, 0);
    add_row(&t, ROW_NO_PASS, 0, 0);
    add_row(&t, ROW_WAITING, 0, 0);
    add_row(&t, ROW_PASS, 0, 0); /* no baseline ran */
    add_row(&t, ROW_PASS, 100, 1)->kind.degenerate = true;
    add_row(&t, ROW_PASS, 8, 1)->kind.collapsed = true;
    struct campaign_row *model = add_row(&t, ROW_PASS, 50, 1);
    model->is_model = true;
    campaign_row_compare(model);
    assert_int_equal(model->standing, ROW_NONE);
    assert_string_equal(model->ratio.who, "naive");
    campaign_score(&t, &s);
    assert_false(s.is_model);
    assert_int_equal(s.all.n, 7);
    assert_int_equal(s.all.passes, 5);
    assert_int_equal(s.all.failures, 2);
    assert_int_equal(s.all.no_ratio, 1);
    assert_int_equal(s.all.wins, 2);
    assert_int_equal(s.all.losses, 1);
    assert_int_equal(s.all.ties, 1);
    assert_int_equal(s.left_out, 1);
    assert_int_equal(s.degenerate, 1);
    assert_int_equal(s.unfinished, 1);
    double product = 4 * 0.5 * 1.05 * 8;
    assert_true(fabs(s.all.mean - pow(product, 1.0 / 6)) < 1e-9);
    assert_true(fabs(s.all.mean_passes - pow(product, 1.0 / 4)) < 1e-9);
    assert_int_equal(s.without_collapsed.n, 6);
    assert_true(fabs(s.without_collapsed.mean_passes - pow(product / 8, 1.0 / 3)) < 1e-9);
    campaign_score_release(&s);
    /* a user's text with "|", a comma, a quote or a line break stays inside its cell */
    struct strbuf text = STRBUF_INIT(1 << 20);
    campaign_markdown(&t, &text);
    assert_null(strstr(text.buf, "a|b"));
    assert_non_null(strstr(text.buf, "a\\|b"));
    strbuf_clear(&text);
    campaign_csv(&t, &text);
    assert_non_null(strstr(text.buf, "\"a|b,\"\"c\"\"\n\""));
    json_t *j = campaign_json(&t);
    assert_int_equal(json_array_size(json_object_get(j, "rows")), t.rows.n);
    json_decref(j);
    strbuf_release(&text);
    campaign_table_release(&t);
}

static void add_baseline(struct campaign_row *r, const char *who, double ratio)
{
    *vec_push(&r->baselines) =
        (struct row_baseline){who, 1000 * ratio, {who, ratio, ratio - 0.01, ratio + 0.01}};
    campaign_row_compare(r);
}

/* Writes to `out` the value that line number `line` of the CSV has in a column, and returns `out`.
 * Line 0 has the names of the columns. */
static const char *csv_value(const char *csv, const char *column, unsigned line, char out[64])
{
    unsigned at = 0;
    const char *name = strstr(csv, column), *p = csv;
    assert_non_null(name);
    for (const char *c = csv; c < name; c++)
        at += *c == ',';
    for (unsigned i = 0; i < line; i++)
        p = strchr(p, '\n') + 1;
    for (unsigned i = 0; i < at; i++)
        p = strchr(p, ',') + 1;
    snprintf(out, 64, "%.*s", (int)strcspn(p, ",\n"), p);
    return out;
}

/* Hone times some variants of PyTorch only *beside* the baselines (job/torch_variants.h). Such a
 * variant has columns and a mean of its own, and changes no ratio, no win and no other mean. */
static void variants_beside_count_nowhere(void **state)
{
    struct campaign_table t = {.campaign = {.name = "c"}};
    struct campaign_score s, with;
    struct strbuf text = STRBUF_INIT(1 << 20);
    for (int i = 0; i < 2; i++)
        add_row(&t, ROW_PASS, 1.5, 0.1)->label = "t";
    add_row(&t, ROW_FAILED, 0, 0)->label = "f";
    campaign_score(&t, &s);
    campaign_markdown(&t, &text);
    assert_null(strstr(text.buf, "beside"));
    add_baseline(&t.rows.items[0], "torch.high", 0.5);
    add_baseline(&t.rows.items[1], "torch.high", 2);
    add_baseline(&t.rows.items[0], "torch.channels-last", 0.25);
    assert_string_equal(t.rows.items[0].ratio.who, "torch.compile");
    assert_int_equal(t.rows.items[0].standing, ROW_WIN);
    campaign_score(&t, &with);
    assert_true(with.all.mean == s.all.mean && with.all.wins == s.all.wins && with.all.wins == 2);
    assert_int_equal(s.beside.n, 0);
    assert_int_equal(with.beside.n, 2);
    assert_string_equal(with.beside.items[0].who, "torch.high");
    assert_int_equal(with.beside.items[0].n, 2);
    assert_true(fabs(with.beside.items[0].mean - 1) < 1e-9);
    campaign_score_release(&s);
    campaign_score_release(&with);
    static const char *const texts[] = {
        " default compile | beside: torch.high | beside: torch.channels-last |\n",
        " | 500 ns, 0.50x [0.49, 0.51] | 250 ns, 0.25x [0.24, 0.26] |\n",
        " | 2.00 us, 2.00x [1.99, 2.01] |  |\n",
        "- beside torch.high: geometric mean 1.00x over 2 passes",
    };
    strbuf_clear(&text);
    campaign_markdown(&t, &text);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (!strstr(text.buf, texts[i]))
            fail_msg("no '%s' in: %s", texts[i], text.buf);
    assert_null(strstr(text.buf, "torch.high 500 ns")); /* not among the baselines */
    strbuf_release(&text);
    campaign_table_release(&t);
}

/* The variant max-autotune is a baseline, unlike the variants that Hone times only beside the
 * baselines. All variants have columns in CSV and entries in JSON. */
static void variants_have_columns(void **state)
{
    struct campaign_table t = {.campaign = {.name = "c"}};
    struct strbuf text = STRBUF_INIT(1 << 20);
    char cell[64];
    for (int i = 0; i < 2; i++)
        add_row(&t, ROW_PASS, 1.5, 0.1)->label = "t";
    add_baseline(&t.rows.items[0], "torch.high", 0.5);
    add_baseline(&t.rows.items[1], "torch.high", 2);
    add_baseline(&t.rows.items[1], "torch.max-autotune", 0.75);
    assert_string_equal(t.rows.items[1].ratio.who, "torch.max-autotune");
    assert_int_equal(t.rows.items[1].standing, ROW_LOSS);
    campaign_csv(&t, &text);
    assert_string_equal(csv_value(text.buf, "torch_high_ns", 1, cell), "500");
    assert_string_equal(csv_value(text.buf, "torch_high_ratio_hi", 2, cell), "2.01");
    assert_string_equal(csv_value(text.buf, "torch_max_autotune_ratio", 2, cell), "0.75");
    assert_string_equal(csv_value(text.buf, "torch_max_autotune_ratio", 1, cell), "");
    assert_string_equal(csv_value(text.buf, "torch_channels_last_timed_ns", 1, cell), "");
    json_t *j = campaign_json(&t), *rows = json_object_get(j, "rows");
    json_t *list = json_object_get(json_array_get(rows, 1), "baselines");
    assert_true(json_is_true(json_object_get(json_array_get(list, 3), "beside")));
    assert_true(json_is_false(json_object_get(json_array_get(list, 4), "beside")));
    assert_int_equal(json_array_size(json_object_get(j, "beside")), 1);
    json_decref(j);
    strbuf_release(&text);
    campaign_table_release(&t);
}

/* A row also has the ratios to PyTorch with its default settings, eager and compiled. For a task
 * without a convolution, these are the ratios to the usual baselines of PyTorch. For a task with a
 * convolution, Hone times two more baselines, with the default settings. An older Hone did not time
 * them, so a row of an older Hone lacks these ratios. */
static void default_settings_have_columns(void **state)
{
    struct campaign_table t = {.campaign = {.name = "c"}};
    struct campaign_score s;
    struct strbuf text = STRBUF_INIT(1 << 20);
    char cell[64];
    for (int i = 0; i < 3; i++)
        add_row(&t, ROW_PASS, 1.5, 0.1)->label = "t";
    t.rows.items[1].kind.may_convolve = t.rows.items[2].kind.may_convolve = true;
    add_baseline(&t.rows.items[1], "torch.eager-default", 4);
    add_baseline(&t.rows.items[1], "torch.compile-default", 1.25);
    campaign_row_compare(&t.rows.items[2]);
    /* a baseline with default settings can be the fastest one */
    assert_string_equal(t.rows.items[1].ratio.who, "torch.compile-default");
    assert_string_equal(t.rows.items[0].default_eager.who, "torch");
    assert_null(t.rows.items[2].default_eager.who);
    campaign_csv(&t, &text);
    static const struct {
        unsigned line;
        const char *column, *value;
    } cells[] = {
        {1, "default_eager_ratio", "3"},
        {1, "default_eager_ratio_lo", "1.5"},
        {1, "default_compile_ratio", "1.5"},
        {1, "default_run", "same"},
        {2, "default_eager_ns", "4000"},
        {2, "default_eager_ratio_hi", "4.01"},
        {2, "default_compile_ratio", "1.25"},
        {2, "default_run", "own"},
        {3, "default_eager_ratio", ""},
        {3, "default_run", ""},
        {2, "torch_ns", "5000"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cells); i++)
        assert_string_equal(csv_value(text.buf, cells[i].column, cells[i].line, cell),
                            cells[i].value);
    /* The baseline torch.eager-default has the columns default_eager_... and no others. */
    assert_null(strstr(text.buf, "torch_eager_default"));
    strbuf_clear(&text);
    campaign_markdown(&t, &text);
    static const char *const texts[] = {
        " notes | default eager | default compile |\n",
        " | 5.00 us, 3.00x [1.50, 4.50], same run | 1.50 us, 1.50x [1.40, 1.60], same run |\n",
        " | 4.00 us, 4.00x [3.99, 4.01] | 1.25 us, 1.25x [1.24, 1.26] |\n",
        "- against eager with default settings: geometric mean 3.46x over 2 passes\n",
        "- against torch.compile with default settings: geometric mean 1.37x over 2 passes\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (!strstr(text.buf, texts[i]))
            fail_msg("no '%s' in: %s", texts[i], text.buf);
    campaign_score(&t, &s);
    assert_int_equal(s.default_eager.n, 2);
    assert_true(fabs(s.default_eager.mean - sqrt(12)) < 1e-9);
    campaign_score_release(&s);
    json_t *j = campaign_json(&t), *rows = json_object_get(j, "rows");
    json_t *first = json_object_get(json_array_get(rows, 0), "default_compile");
    assert_string_equal(json_string_value(json_object_get(first, "who")), "torch.compile");
    assert_true(json_is_null(json_object_get(json_array_get(rows, 2), "default_eager")));
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(j, "default_eager"), "in_mean")), 2);
    json_decref(j);
    strbuf_release(&text);
    campaign_table_release(&t);
}

/* Hone compares the candidate with a user's PyTorch program as with the baselines of PyTorch. */
static void a_program_has_columns(void **state)
{
    struct campaign_table t = {.campaign = {.name = "c"}};
    struct strbuf text = STRBUF_INIT(1 << 20);
    char cell[64];
    for (int i = 0; i < 2; i++)
        add_row(&t, ROW_PASS, 1.5, 0.1)->label = "t";
    add_baseline(&t.rows.items[0], "own.py", 0.5);
    t.rows.items[1].program_note = "own.py is wrong: why";
    assert_string_equal(t.rows.items[0].ratio.who, "own.py");
    assert_int_equal(t.rows.items[0].standing, ROW_LOSS);
    assert_string_equal(t.rows.items[1].ratio.who, "torch.compile");
    campaign_csv(&t, &text);
    assert_string_equal(csv_value(text.buf, "program_ratio", 1, cell), "0.5");
    assert_string_equal(csv_value(text.buf, "program,", 1, cell), "own.py");
    assert_string_equal(csv_value(text.buf, "program_ns", 2, cell), "");
    assert_non_null(strstr(text.buf, "own.py is wrong: why"));
    strbuf_release(&text);
    campaign_table_release(&t);
}

/* ---- the store ------------------------------------------------------------------------------- */

static struct temp_dir tmp;
static char path[600];

static int set_up(void **state)
{
    tmp = (struct temp_dir)TEMP_DIR_INIT;
    if (temp_dir_make(&tmp, NULL) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/hone.db", tmp.path);
    return 0;
}

static int tear_down(void **state)
{
    temp_dir_release(&tmp);
    return 0;
}

static void keeps_entries(void **state)
{
    struct store *s = NULL;
    struct arena a = ARENA_INIT;
    struct campaign_rec c;
    struct entry_rec e;
    struct suite_item_vec items = VEC_INIT;
    struct campaign_config config = {.strategy = "refine",
                                     .author = "playbook",
                                     .dialect = "cute",
                                     .device = "emu",
                                     .on = "",
                                     .gpu = "",
                                     .arch = "",
                                     .compiler = "",
                                     .gpu_model = "G",
                                     .out = "/results",
                                     .steps = 3,
                                     .jobs = 2,
                                     .smoke = true,
                                     .torch_variants = 1u << 5 | 1u << 4,
                                     .budget = {.usd = 1.5}};
    struct campaign_config again;
    int64_t id = 0, run = 0;
    OK(store_open(&s, path, &err));
    OK(suite_add("softmax", &items, &a, &err));
    OK(suite_add("rmsnorm", &items, &a, &err));
    OK(campaign_create(s, "my suite", &items, NULL, &config, &id, &err));
    assert_int_equal(store_campaign_find(s, "my_suite", &c, &a, &err), 1);
    assert_int_equal(store_campaign_find(s, "last", &c, &a, &err), 1);
    assert_int_equal(store_campaign_find(s, "other", &c, &a, &err), 0);
    assert_int_equal(c.entries, 2);
    OK(campaign_config_read(&again, c.config, &a, &err));
    assert_int_equal(again.steps, 3);
    assert_true(again.smoke && !again.baselines && again.budget.usd == 1.5);
    assert_string_equal(again.gpu_model, "G");
    assert_string_equal(again.out, "/results");
    assert_int_equal(again.torch_variants, config.torch_variants);
    OK(campaign_config_read(&again, "{\"version\": 1}", &a, &err)); /* an older Hone wrote it */
    assert_int_equal(again.torch_variants, 0);
    /* a transaction stores both a run and its number in the entry, or neither */
    OK(store_begin(s, &err));
    OK(store_run_create(s, "t", "refine", "{}", "x", &run, &err));
    OK(store_entry_run(s, id, 1, run, "0.3 abc", &err));
    assert_true(store_end(s, false, &err) < 0);
    assert_int_equal(store_entry_get(s, id, 1, &e, &a, &err), 1);
    assert_int_equal(e.run, -1);
    OK(store_begin(s, &err));
    OK(store_run_create(s, "t", "refine", "{}", "x", &run, &err));
    OK(store_entry_run(s, id, 1, run, "0.3 abc", &err));
    OK(store_end(s, true, &err));
    OK(store_entry_state(s, id, 1, "done", "", &err));
    assert_int_equal(store_entry_get(s, id, 1, &e, &a, &err), 1);
    assert_int_equal(e.run, run);
    assert_string_equal(e.hone, "0.3 abc");
    assert_int_equal(store_entry_get(s, id, 2, &e, &a, &err), 0);
    OK(store_check(s, &err));
    /* a row is marked as old if another version of Hone made its run */
    struct campaign_table t;
    OK(campaign_table_load(&t, s, "last", "0.3 abd", &err));
    assert_int_equal(t.rows.n, 2);
    assert_int_equal(t.rows.items[0].state, ROW_WAITING);
    assert_int_equal(t.rows.items[1].state, ROW_NO_PASS);
    assert_true(t.rows.items[1].is_old && !t.rows.items[0].is_old);
    campaign_table_release(&t);
    /* the JSON of the page contains no path of this machine */
    struct view_query q = {.kind = VIEW_CAMPAIGN};
    snprintf(q.run, sizeof q.run, "%s", c.name);
    json_t *j = view_json(s, &q, &err);
    assert_int_equal(json_array_size(json_object_get(j, "rows")), 2);
    assert_null(json_object_get(json_array_get(json_object_get(j, "rows"), 0), "operand"));
    json_decref(j);
    snprintf(q.run, sizeof q.run, "my_suite"); /* only a whole name counts */
    assert_null(view_json(s, &q, &err));
    suite_release(&items);
    arena_release(&a);
    store_close(s);
}

static void only_one_process_works(void **state)
{
    struct store *s = NULL, *other = NULL;
    OK(store_open(&s, path, &err));
    OK(store_open(&other, path, &err));
    OK(store_campaign_lock(s, 1, &err));
    assert_true(store_campaign_lock(other, 1, &err) < 0);
    assert_non_null(strstr(err.msg, "campaign"));
    OK(store_run_lock(other, 1, &err)); /* a run with the same number has another lock */
    store_close(other);
    store_close(s);
}

static void opens_a_store_without_campaigns(void **state)
{
    struct store *s = NULL;
    struct arena a = ARENA_INIT;
    struct campaign_rec c;
    OK(store_open(&s, path, &err));
    OK(sql_exec(s,
                "DROP TABLE lesson; DROP TABLE entry; DROP TABLE campaign; ALTER TABLE node DROP "
                "COLUMN author; "
                "PRAGMA user_version = 1",
                &err));
    store_close(s);
    OK(store_open(&s, path, &err));
    assert_int_equal(store_campaign_find(s, "last", &c, &a, &err), 0);
    store_close(s);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_suite),
        cmocka_unit_test(refuses_bad_suites),
        cmocka_unit_test(built_in_suites_are_sound),
        cmocka_unit_test(knows_times),
        cmocka_unit_test(finds_kinds),
        cmocka_unit_test(finds_pooling),
        cmocka_unit_test(scores_by_the_rules),
        cmocka_unit_test(variants_beside_count_nowhere),
        cmocka_unit_test(variants_have_columns),
        cmocka_unit_test(default_settings_have_columns),
        cmocka_unit_test(a_program_has_columns),
        cmocka_unit_test_setup_teardown(keeps_entries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_one_process_works, set_up, tear_down),
        cmocka_unit_test_setup_teardown(opens_a_store_without_campaigns, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
