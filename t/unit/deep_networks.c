/*
 * Tests the references that Hone generates for deep networks: their text stays short, they compute
 * shared errors once, and tolerances that are proved with few runs are checked as strictly as those
 * that are proved with more runs.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "graph/json.h"
#include "graph/reference/reference.h"
#include "graph/tolerance/generated_task.h"
#include "graph/tolerance/prove.h"
#include "import/sizes.h"
#include "sys/file.h"
#include "task/check.h"
#include "task/check_result.h"
#include "task/oracle.h"
#include "task/oracle_trial.h"
#include "torch/task.h"

static void must(int rc, const struct err *err)
{
    if (rc < 0)
        fail_msg("%s", err->msg);
}

static void read_graph(struct graph *g, const char *text)
{
    struct err err = ERR_INIT;
    json_t *j = json_loads(text, 0, NULL);
    assert_non_null(j);
    must(graph_from_json(g, j, &err), &err);
    json_decref(j);
}

/* ---- the text -------------------------------------------------------------------------------- */

/* normalisation with batch statistics, then relu, then a convolution */
static const char normalised_conv[] =
    "{\"version\": 1, \"axes\": [\"B\", \"H\", \"W\"],"
    " \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"B\", 8, \"H\", \"W\"]},"
    "              {\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [16, 8, 3, 3]}], "
    "\"scalars\": [],"
    " \"values\": ["
    "  {\"id\": \"%1\", \"op\": \"mean\", \"args\": [\"x\"],"
    "   \"attrs\": {\"dim\": [0, 2, 3], \"keepdim\": true}},"
    "  {\"id\": \"%2\", \"op\": \"var\", \"args\": [\"x\"],"
    "   \"attrs\": {\"dim\": [0, 2, 3], \"keepdim\": true, \"correction\": 0}},"
    "  {\"id\": \"%3\", \"op\": \"add\", \"args\": [\"%2\", 1e-05]},"
    "  {\"id\": \"%4\", \"op\": \"rsqrt\", \"args\": [\"%3\"]},"
    "  {\"id\": \"%5\", \"op\": \"sub\", \"args\": [\"x\", \"%1\"]},"
    "  {\"id\": \"%6\", \"op\": \"mul\", \"args\": [\"%5\", \"%4\"]},"
    "  {\"id\": \"%7\", \"op\": \"relu\", \"args\": [\"%6\"]},"
    "  {\"id\": \"%8\", \"op\": \"conv\", \"args\": [\"%7\", \"w\"],"
    "   \"attrs\": {\"stride\": [1, 1], \"before\": [1, 1], \"after\": [1, 1],"
    "              \"dilation\": [1, 1], \"groups\": 1}}],"
    " \"outputs\": [{\"name\": \"y\", \"dtype\": \"float32\", \"shape\": [\"B\", 16, \"H\", \"W\"],"
    "               \"value\": \"%8\"}], \"guards\": []}";

static void shared_errors_are_computed_once(void **state)
{
    struct graph g;
    struct graph_reference r;
    struct err err = ERR_INIT;
    read_graph(&g, normalised_conv);
    must(graph_write_reference_as(&g, (struct reference_mode){.kind = REFERENCE_SIGMA}, &r, &err),
         &err);
    const char *conv = strstr(r.source.buf, "PHASE(reference)");
    assert_non_null(conv);
    /* there are two shared errors: of the mean, and of the reciprocal of the deviation */
    assert_non_null(strstr(conv, "OFF0_"));
    assert_non_null(strstr(conv, "OFF1_"));
    /* the convolution's loop over products does not compute the relu again */
    assert_null(strstr(conv, "hone_secant("));
    assert_null(strstr(conv, "sqrt("));
    graph_reference_release(&r);
    graph_release(&g);
}

static void add_type(struct strbuf *sb, const char *name)
{
    strbuf_addf(
        sb, "{\"name\": \"%s\", \"dtype\": \"float32\", \"shape\": [\"B\", 8, \"H\", \"W\"]", name);
}

/* Adds (x - mean) / deviation, with batch statistics, as the value %n<k>. */
static void add_norm(struct strbuf *sb, int k, const char *x)
{
    strbuf_addf(sb,
                "{\"id\": \"%%m%d\", \"op\": \"mean\", \"args\": [\"%s\"],"
                " \"attrs\": {\"dim\": [0, 2, 3], \"keepdim\": true}},"
                "{\"id\": \"%%v%d\", \"op\": \"var\", \"args\": [\"%s\"],"
                " \"attrs\": {\"dim\": [0, 2, 3], \"keepdim\": true, \"correction\": 0}},",
                k, x, k, x);
    strbuf_addf(sb,
                "{\"id\": \"%%e%d\", \"op\": \"add\", \"args\": [\"%%v%d\", 1e-05]},"
                "{\"id\": \"%%r%d\", \"op\": \"rsqrt\", \"args\": [\"%%e%d\"]},"
                "{\"id\": \"%%s%d\", \"op\": \"sub\", \"args\": [\"%s\", \"%%m%d\"]},"
                "{\"id\": \"%%n%d\", \"op\": \"mul\", \"args\": [\"%%s%d\", \"%%r%d\"]},",
                k, k, k, k, k, x, k, k, k, k);
}

/* Errors from six sources reach the relu before the convolution: the means and deviations of three
 * normalisations. A reference computes at most four of them (EMIT_SOURCES) as shared errors. */
static void many_sources_are_computed_once(void **state)
{
    struct strbuf sb = STRBUF_INIT(1 << 20);
    struct graph g;
    struct graph_reference r;
    struct err err = ERR_INIT;
    strbuf_adds(&sb, "{\"version\": 1, \"axes\": [\"B\", \"H\", \"W\"], \"inputs\": [");
    for (int k = 0; k < 3; k++) {
        add_type(&sb, (const char *[]){"x0", "x1", "x2"}[k]);
        strbuf_adds(&sb, "}, ");
    }
    strbuf_adds(&sb, "{\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [8, 8, 3, 3]}],"
                     " \"scalars\": [], \"values\": [");
    for (int k = 0; k < 3; k++) {
        add_norm(&sb, k, (const char *[]){"x0", "x1", "x2"}[k]);
        if (k)
            strbuf_addf(&sb,
                        "{\"id\": \"%%a%d\", \"op\": \"add\", \"args\": [\"%%n%d\", \"%%h%d\"]},",
                        k, k, k - 1);
        strbuf_addf(&sb, "{\"id\": \"%%h%d\", \"op\": \"relu\", \"args\": [\"%%%c%d\"]},", k,
                    k ? 'a' : 'n', k);
    }
    strbuf_adds(&sb, "{\"id\": \"%y\", \"op\": \"conv\", \"args\": [\"%h2\", \"w\"],"
                     " \"attrs\": {\"stride\": [1, 1], \"before\": [1, 1], \"after\": [1, 1],"
                     " \"dilation\": [1, 1], \"groups\": 1}}], \"outputs\": [");
    add_type(&sb, "y");
    strbuf_adds(&sb, ", \"value\": \"%y\"}], \"guards\": []}");
    read_graph(&g, sb.buf);
    must(graph_write_reference_as(&g, (struct reference_mode){.kind = REFERENCE_SIGMA}, &r, &err),
         &err);
    const char *conv = strstr(r.source.buf, "PHASE(reference)");
    assert_non_null(conv);
    assert_non_null(strstr(conv, "OFF3_")); /* the fourth shared error */
    assert_null(strstr(conv, "OFF4_"));
    assert_null(strstr(conv, "hone_secant("));
    assert_null(strstr(conv, "sqrt("));
    graph_reference_release(&r);
    graph_release(&g);
    strbuf_release(&sb);
}

/* A chain of `cat` operations joins the steps of an unrolled loop. */
static void unrolled_loops_stay_short(void **state)
{
    enum { STEPS = 200 };
    struct strbuf sb = STRBUF_INIT(1 << 20);
    struct graph g;
    struct graph_reference r;
    struct err err = ERR_INIT;
    strbuf_adds(
        &sb, "{\"version\": 1, \"axes\": [\"B\"], \"inputs\": ["
             "{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"B\", 4]}], \"scalars\": [],"
             "\"values\": [{\"id\": \"%1\", \"op\": \"tanh\", \"args\": [\"x\"]}");
    for (int i = 2; i <= STEPS; i++)
        strbuf_addf(&sb, ", {\"id\": \"%%%d\", \"op\": \"tanh\", \"args\": [\"%%%d\"]}", i, i - 1);
    strbuf_addf(&sb, ", {\"id\": \"%%c1\", \"op\": \"cat\", \"args\": [\"%%1\", \"%%2\"],"
                     " \"attrs\": {\"dim\": [0]}}");
    for (int i = 2; i < STEPS; i++)
        strbuf_addf(&sb,
                    ", {\"id\": \"%%c%d\", \"op\": \"cat\", \"args\": [\"%%c%d\", \"%%%d\"],"
                    " \"attrs\": {\"dim\": [0]}}",
                    i, i - 1, i + 1);
    strbuf_addf(&sb,
                "], \"outputs\": [{\"name\": \"y\", \"dtype\": \"float32\","
                " \"shape\": [\"%d*B\", 4], \"value\": \"%%c%d\"}], \"guards\": []}",
                STEPS, STEPS - 1);
    read_graph(&g, sb.buf);
    must(graph_write_reference_as(&g, (struct reference_mode){.kind = REFERENCE_SIGMA}, &r, &err),
         &err);
    if (r.source.len > 600000)
        fail_msg("%zu bytes", r.source.len);
    graph_reference_release(&r);
    graph_release(&g);
    strbuf_release(&sb);
}

/* Each step of an unrolled loop computes a product that only the output reads. The products are
 * alike, so they share their loops in the text. */
static void products_of_unrolled_loops_are_alike(void **state)
{
    enum { STEPS = 60 };
    struct strbuf sb = STRBUF_INIT(1 << 20);
    struct graph g;
    struct graph_reference r;
    struct err err = ERR_INIT;
    strbuf_adds(&sb, "{\"version\": 1, \"axes\": [\"B\", \"N\"], \"scalars\": [], \"inputs\": ["
                     "{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"B\", \"N\"]},"
                     "{\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [\"N\", \"N\"]}],"
                     "\"values\": [{\"id\": \"%h0\", \"op\": \"tanh\", \"args\": [\"x\"]}");
    for (int i = 1; i <= STEPS; i++)
        strbuf_addf(&sb,
                    ", {\"id\": \"%%h%d\", \"op\": \"tanh\", \"args\": [\"%%h%d\"]},"
                    "{\"id\": \"%%p%d\", \"op\": \"matmul\", \"args\": [\"%%h%d\", \"w\"]}",
                    i, i - 1, i, i);
    for (int i = 2; i <= STEPS; i++)
        strbuf_addf(&sb,
                    ", {\"id\": \"%%c%d\", \"op\": \"cat\", \"args\": [\"%%%c%d\", \"%%p%d\"],"
                    " \"attrs\": {\"dim\": [0]}}",
                    i, i == 2 ? 'p' : 'c', i - 1, i);
    strbuf_addf(&sb,
                "], \"outputs\": [{\"name\": \"y\", \"dtype\": \"float32\","
                " \"shape\": [\"%d*B\", \"N\"], \"value\": \"%%c%d\"}], \"guards\": []}",
                STEPS, STEPS);
    read_graph(&g, sb.buf);
    must(graph_write_reference_as(
             &g, (struct reference_mode){.kind = REFERENCE_SIGMA, .share_from = 1}, &r, &err),
         &err);
    unsigned loops = 0;
    for (const char *p = r.source.buf; (p = strstr(p, "for (")); p++)
        loops++;
    if (loops > 20)
        fail_msg("%u loops", loops);
    graph_reference_release(&r);
    graph_release(&g);
    strbuf_release(&sb);
}

/* Each layer reads the results of all layers before it. */
static void dense_networks_stay_short(void **state)
{
    enum { LAYERS = 48 };
    struct strbuf sb = STRBUF_INIT(1 << 20);
    struct graph g;
    struct graph_reference r;
    struct err err = ERR_INIT;
    strbuf_adds(&sb, "{\"version\": 1, \"axes\": [\"B\", \"H\"], \"inputs\": ["
                     "{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"B\", 2, \"H\"]}");
    for (int k = 0; k < LAYERS; k++)
        strbuf_addf(&sb, ", {\"name\": \"w%d\", \"dtype\": \"float32\", \"shape\": [2, %d, 1]}", k,
                    2 * k + 2);
    strbuf_adds(&sb, "], \"scalars\": [], \"values\": [{\"id\": \"%x0\", \"op\": \"neg\", "
                     "\"args\": [\"x\"]}");
    for (int k = 0; k < LAYERS; k++) {
        strbuf_addf(&sb,
                    ", {\"id\": \"%%m%d\", \"op\": \"mean\", \"args\": [\"%%x%d\"],"
                    " \"attrs\": {\"dim\": [0, 2], \"keepdim\": true}},"
                    "{\"id\": \"%%s%d\", \"op\": \"sub\", \"args\": [\"%%x%d\", \"%%m%d\"]},"
                    "{\"id\": \"%%t%d\", \"op\": \"tanh\", \"args\": [\"%%s%d\"]},",
                    k, k, k, k, k, k, k);
        strbuf_addf(&sb,
                    "{\"id\": \"%%c%d\", \"op\": \"conv\", \"args\": [\"%%t%d\", \"w%d\"],"
                    " \"attrs\": {\"stride\": [1], \"before\": [0], \"after\": [0],"
                    " \"dilation\": [1], \"groups\": 1}},"
                    "{\"id\": \"%%x%d\", \"op\": \"cat\", \"args\": [\"%%x%d\", \"%%c%d\"],"
                    " \"attrs\": {\"dim\": [1]}}",
                    k, k, k, k + 1, k, k);
    }
    strbuf_addf(&sb,
                "], \"outputs\": [{\"name\": \"y\", \"dtype\": \"float32\","
                " \"shape\": [\"B\", %d, \"H\"], \"value\": \"%%x%d\"}], \"guards\": []}",
                2 * LAYERS + 2, LAYERS);
    read_graph(&g, sb.buf);
    for (int tf32 = 0; tf32 < 2; tf32++) { /* TF32 adds copies of values, with random errors */
        struct reference_mode mode = {.kind = REFERENCE_SIGMA, .tf32_convs = tf32 != 0};
        must(graph_write_reference_as(&g, mode, &r, &err), &err);
        if (r.source.len > 200000 + 120000 * (size_t)tf32)
            fail_msg("%zu bytes with %s", r.source.len, tf32 ? "TF32" : "float32");
        graph_reference_release(&r);
    }
    graph_release(&g);
    strbuf_release(&sb);
}

/* Each layer adds its result to the value of the layer before. No sum over such a value computes
 * the products of the layers again. */
static void residual_layers_do_not_nest(void **state)
{
    enum { LAYERS = 6 };
    struct strbuf sb = STRBUF_INIT(1 << 20);
    struct graph g;
    struct graph_reference r;
    struct err err = ERR_INIT;
    strbuf_adds(&sb, "{\"version\": 1, \"axes\": [\"B\"], \"scalars\": [], \"inputs\": ["
                     "{\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [32, 32]},"
                     "{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"B\", 32]}],"
                     "\"values\": [{\"id\": \"%x0\", \"op\": \"layer_norm\","
                     "\"args\": [\"x\", null, null, 1e-05]}");
    for (int k = 0; k < LAYERS; k++)
        strbuf_addf(&sb,
                    ", {\"id\": \"%%n%d\", \"op\": \"layer_norm\","
                    " \"args\": [\"%%x%d\", null, null, 1e-05]},"
                    "{\"id\": \"%%p%d\", \"op\": \"matmul\", \"args\": [\"%%n%d\", \"w\"]},"
                    "{\"id\": \"%%x%d\", \"op\": \"add\", \"args\": [\"%%x%d\", \"%%p%d\"]}",
                    k, k, k, k, k + 1, k, k);
    strbuf_addf(&sb,
                "], \"outputs\": [{\"name\": \"y\", \"dtype\": \"float32\","
                " \"shape\": [\"B\", 32], \"value\": \"%%x%d\"}], \"guards\": []}",
                LAYERS);
    read_graph(&g, sb.buf);
    must(graph_write_reference_as(&g, (struct reference_mode){.kind = REFERENCE_SIGMA}, &r, &err),
         &err);
    assert_non_null(strstr(r.source.buf, "\n    for ("));
    assert_null(strstr(r.source.buf, "\n        for ("));
    graph_reference_release(&r);
    graph_release(&g);
    strbuf_release(&sb);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static int64_t fewest(const struct size_points *p)
{
    int64_t least = INT64_MAX;
    vec_each (const struct size_point, s, p)
        least = MIN(least, s->axes[0] * s->axes[1] * s->axes[2]);
    return least;
}

/* If the first tolerance is too loose, an import asks for shapes whose statistics are over more
 * elements: at least limits.statistics. */
static void variances_get_enough_elements(void **state)
{
    static const int64_t original[] = {10, 224, 224};
    struct graph g;
    struct size_choice c;
    struct err err = ERR_INIT;
    read_graph(&g, normalised_conv);
    for (int64_t least = 1; least <= 64; least *= 8) {
        struct size_limits limits = {.floor = 1, .statistics = least, .work = 1};
        must(sizes_choose(&c, &g, original, limits, &err), &err);
        assert_true(fewest(&c.smoke) >= least && fewest(&c.check) >= least);
        assert_true(c.heldout[0].lo * c.heldout[1].lo * c.heldout[2].lo >= least);
        bool told = false;
        for (size_t i = 0; i < c.constraints.n; i++)
            told |= least > 1 && strstr(c.constraints.items[i], ">= 64") != NULL;
        assert_int_equal(told, least == 64);
        sizes_release(&c);
    }
    graph_release(&g);
}

static void deep_networks_get_more_elements(void **state)
{
    static const int64_t original[] = {10, 224, 224};
    struct err err = ERR_INIT;
    for (int depth = 7; depth <= 8; depth++) {
        struct strbuf sb = STRBUF_INIT(1 << 20);
        struct graph g;
        struct size_choice c;
        struct size_limits limits = {.floor = 1, .statistics = 1, .work = 1};
        strbuf_adds(&sb, "{\"version\": 1, \"axes\": [\"B\", \"H\", \"W\"], \"inputs\": [");
        add_type(&sb, "x");
        strbuf_adds(&sb, "}], \"scalars\": [], \"values\": [");
        for (int k = 0; k < depth; k++) {
            char x[16] = "x";
            if (k)
                snprintf(x, sizeof x, "%%n%d", k - 1);
            add_norm(&sb, k, x);
        }
        strbuf_addf(&sb,
                    "{\"id\": \"%%y\", \"op\": \"relu\", \"args\": [\"%%n%d\"]}], \"outputs\": [",
                    depth - 1);
        add_type(&sb, "y");
        strbuf_adds(&sb, ", \"value\": \"%y\"}], \"guards\": []}");
        read_graph(&g, sb.buf);
        must(sizes_choose(&c, &g, original, limits, &err), &err);
        bool told = false;
        for (size_t i = 0; i < c.constraints.n; i++)
            told |= strstr(c.constraints.items[i], ">= 16") != NULL;
        assert_int_equal(told, depth == 8);
        assert_int_equal(c.statistics, depth == 8 ? 16 : 1);
        assert_true(depth < 8 || fewest(&c.smoke) >= 16);
        sizes_release(&c);
        graph_release(&g);
        strbuf_release(&sb);
    }
}

/* If each of the 256 groups had one channel, the softmax over a group would always be 1. */
static void softmaxes_get_several_elements(void **state)
{
    static const char grouped[] =
        "{\"version\": 1, \"axes\": [\"M\", \"N\"],"
        " \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\", \"N\"]}],"
        " \"scalars\": [], \"values\": ["
        "  {\"id\": \"%1\", \"op\": \"reshape\", \"args\": [\"x\"],"
        "   \"attrs\": {\"shape\": [\"M\", 256, \"N/256\"]}},"
        "  {\"id\": \"%2\", \"op\": \"softmax\", \"args\": [\"%1\"], \"attrs\": {\"dim\": [2]}}],"
        " \"outputs\": [{\"name\": \"y\", \"dtype\": \"float32\","
        "               \"shape\": [\"M\", 256, \"N/256\"], \"value\": \"%2\"}],"
        " \"guards\": [\"N%256 == 0\"]}";
    static const int64_t original[] = {1024, 8192};
    struct size_limits limits = {.floor = 1, .statistics = 1, .work = 1};
    struct graph g;
    struct size_choice c;
    struct err err = ERR_INIT;
    read_graph(&g, grouped);
    must(sizes_choose(&c, &g, original, limits, &err), &err);
    assert_true(c.smoke.n > 0 && c.check.n > 0);
    vec_each (const struct size_point, p, &c.smoke)
        assert_true(p->axes[1] >= 512);
    vec_each (const struct size_point, p, &c.check)
        assert_true(p->axes[1] >= 512);
    sizes_release(&c);
    graph_release(&g);
}

/* ---- proofs ---------------------------------------------------------------------------------- */

static void few_runs_still_refuse(void **state)
{
    struct tolerance_output o = {.name = "y", .samples = 1000, .worst_at = "here"};
    struct tolerance_report r = {.runs = TOLERANCE_FEW_RUNS, .n = 1, .outputs = &o};
    struct err err = ERR_INIT;
    assert_int_equal(tolerance_runs(1e6), TOLERANCE_MORE_RUNS);
    assert_int_equal(tolerance_runs(1e9), 4);
    assert_int_equal(tolerance_runs(1e15), TOLERANCE_FEW_RUNS);
    o.worst = 1.01;
    assert_int_equal(tolerance_accept(&r, &err), -1);
    assert_non_null(strstr(err.msg, "too tight"));
    o.worst = 1e-4;
    assert_true(tolerance_is_loose(&r));
    assert_int_equal(tolerance_accept(&r, NULL), -1);
    o.worst = 0.5;
    assert_false(tolerance_is_loose(&r));
    assert_int_equal(tolerance_accept(&r, NULL), 0);
}

/* The key `flops` of this task claims much work. So the runs of its reference count as long. */
static const char long_task[] =
    "{\"name\": \"t\", \"description\": \"A task of a test.\", \"class\": \"elementwise\","
    "\"axes\": {\"R\": {\"type\": \"var\"}, \"C\": {\"type\": \"var\"}},"
    "\"inputs\": {\"x\": {\"shape\": [\"R\", \"C\"], \"dtype\": \"float32\"},"
    "             \"w\": {\"shape\": [\"C\", \"C\"], \"dtype\": \"float32\"}},"
    "\"outputs\": {\"z\": {\"shape\": [\"R\", \"C\"], \"dtype\": \"float32\"}},"
    "\"constraints\": [\"R >= 1\"], \"compute\": \"float32\","
    "\"flops\": \"R*C*100000000\", \"bytes\": \"4\","
    "\"tolerance\": {\"z\": {\"sigmas\": 8, \"why\": \"by the model\"}},"
    "\"init\": {\"x\": {\"dist\": \"normal\", \"mean\": 0, \"std\": 1},"
    "           \"w\": {\"dist\": \"normal\", \"mean\": 0, \"std\": 1}},"
    "\"oracle\": {\"phases\": [{\"fn\": \"reference\", \"units\": \"R*C\"}]},"
    "\"baselines\": [], \"torch\": \"torch.relu(x @ w) @ w\","
    "\"workloads\": [{\"role\": \"smoke\", \"axes\": {\"R\": 67, \"C\": 33}},"
    "                {\"role\": \"check\", \"axes\": {\"R\": 5, \"C\": 7}},"
    "                {\"role\": \"heldout\", \"axes\": {\"R\": [1, 9], \"C\": 4}},"
    "                {\"role\": \"time\", \"axes\": {\"R\": 64, \"C\": 64}}]}";

static struct task *load_text(const char *dir, const char *text)
{
    struct problem_vec problems = VEC_INIT;
    struct err err = ERR_INIT;
    char *path = xasprintf("%s/task.json", dir), *c = xasprintf("%s/reference.c", dir);
    must(file_write(path, text, strlen(text), &err), &err);
    must(file_write(c, "\n", 1, &err), &err);
    struct task *t = task_load(dir, &problems);
    if (!t)
        fail_msg("%s", problems.items[0].text);
    free(path);
    free(c);
    return t;
}

static bool same(const struct oracle_trial *a, const struct oracle_trial *b)
{
    return a->shared_bytes == b->shared_bytes && memcmp(a->shared, b->shared, a->shared_bytes) == 0;
}

static int run(struct oracle_trial *x, const struct shape *s, uint64_t seed, const char *so,
               enum oracle_mode mode)
{
    struct err err = ERR_INIT;
    must(oracle_trial_init(x, s, seed, &err), &err);
    return oracle_trial_run(x, so, mode, NULL);
}

/* Several threads give the same result as one. The results of a long run are stored in files. They
 * are used only for a run with the same reference, inputs and shape. */
static void long_runs_are_shared(void **state)
{
    struct temp_dir dir = TEMP_DIR_INIT;
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct graph g;
    struct graph_reference ref;
    struct task copy;
    struct shape s, other;
    struct oracle_trial x[2], y[2], z;
    must(temp_dir_make(&dir, &err), &err);
    struct task *t = load_text(dir.path, long_task);
    char *so = xasprintf("%s/long.so", dir.path);
    must(torch_read_task(&g, t, &err), &err);
    must(graph_write_reference_as(&g, (struct reference_mode){.kind = REFERENCE_SIGMA}, &ref, &err),
         &err);
    must(generated_task_init(&copy, t, &ref, &a, &err), &err);
    copy.graph_json = "{}"; /* only Hone's own references use several threads */
    must(oracle_build(&copy, so, &err), &err);
    must(shape_resolve(&s, t, &t->workloads.items[0], 1, &a, &err), &err);
    must(shape_resolve(&other, t, &t->workloads.items[1], 1, &a, &err), &err);
    s.task = other.task = &copy;
    for (uint64_t k = 0; k < 2; k++) {
        assert_int_equal(run(&x[k], &s, k + 1, so, ORACLE_IN_ORDER), 0);
        assert_int_equal(run(&y[k], &s, k + 1, so, ORACLE_SHUFFLED), 0);
        assert_true(same(&x[k], &y[k]));
    }
    assert_false(same(&x[0], &x[1]));
    assert_int_equal(unlink(so), 0);
    assert_int_equal(run(&z, &s, 2, so, ORACLE_IN_ORDER), 0); /* reads the stored result */
    assert_true(same(&z, &x[1]));
    oracle_trial_release(&z);
    assert_int_equal(run(&z, &s, 3, so, ORACLE_IN_ORDER), -1); /* other inputs */
    oracle_trial_release(&z);
    assert_int_equal(run(&z, &other, 2, so, ORACLE_IN_ORDER), -1); /* another shape */
    oracle_trial_release(&z);
    for (int k = 0; k < 2; k++) {
        oracle_trial_release(&x[k]);
        oracle_trial_release(&y[k]);
    }
    generated_task_release(&copy);
    graph_reference_release(&ref);
    graph_release(&g);
    task_free(t);
    free(so);
    arena_release(&a);
    temp_dir_release(&dir);
}

static void attempts_share_objects(void **state)
{
    static const char reference[] = "#include \"hone_ref.h\"\n"
                                    "PHASE(reference)\n{\n    OUT_SIGMA(z, unit, 1, 0);\n}\n";
    struct temp_dir dir = TEMP_DIR_INIT;
    struct err err = ERR_INIT;
    must(temp_dir_make(&dir, &err), &err);
    struct task *t = load_text(dir.path, long_task);
    struct task_check_result r = TASK_CHECK_RESULT_INIT;
    char *so = xasprintf("%s/oracle.so", dir.path);
    r.oracle_so = so;
    t->reference_c = reference;
    for (int i = 0; i < 2; i++) {
        task_check(t, &r);
        assert_true(file_exists(so));
        for (size_t k = 0; k < r.problems.n; k++)
            assert_null(strstr(r.problems.items[k].text, "compile"));
        setenv("CC", "/nowhere/cc", 1);
        setenv("CXX", "/nowhere/c++", 1);
    }
    assert_int_equal(unlink(so), 0);
    task_check(t, &r);
    bool told = false;
    for (size_t k = 0; k < r.problems.n; k++)
        told |= strstr(r.problems.items[k].text, "/nowhere/cc") != NULL;
    assert_true(told);
    unsetenv("CC");
    unsetenv("CXX");
    task_check_result_release(&r);
    t->reference_c = NULL;
    task_free(t);
    free(so);
    temp_dir_release(&dir);
}

struct made {
    struct temp_dir dir;
    struct arena arena;
    struct task *t, copy;
    struct graph g;
    struct graph_reference ref;
    char *so;
};

static void make(struct made *m, const char *text, struct reference_mode mode)
{
    struct err err = ERR_INIT;
    *m = (struct made){.dir = TEMP_DIR_INIT, .arena = ARENA_INIT};
    must(temp_dir_make(&m->dir, &err), &err);
    m->t = load_text(m->dir.path, text);
    m->so = xasprintf("%s/sigma.so", m->dir.path);
    must(torch_read_task(&m->g, m->t, &err), &err);
    must(graph_write_reference_as(&m->g, mode, &m->ref, &err), &err);
    must(generated_task_init(&m->copy, m->t, &m->ref, &m->arena, &err), &err);
    must(oracle_build(&m->copy, m->so, &err), &err);
}

static void unmake(struct made *m)
{
    generated_task_release(&m->copy);
    graph_reference_release(&m->ref);
    graph_release(&m->g);
    task_free(m->t);
    free(m->so);
    arena_release(&m->arena);
    temp_dir_release(&m->dir);
}

/* The output of this task is a running statistic that hardly depends on a chain of five products in
 * TF32. */
static const char running_task[] =
    "{\"name\": \"t\", \"description\": \"A task of a test.\", \"class\": \"elementwise\","
    "\"axes\": {\"R\": {\"type\": \"var\"}, \"C\": {\"type\": \"var\"}},"
    "\"inputs\": {\"x\": {\"shape\": [\"R\", \"C\"], \"dtype\": \"float32\"},"
    "             \"w\": {\"shape\": [\"C\", \"C\"], \"dtype\": \"float32\"},"
    "             \"r\": {\"shape\": [\"C\"], \"dtype\": \"float32\"}},"
    "\"outputs\": {\"z\": {\"shape\": [\"C\"], \"dtype\": \"float32\"}},"
    "\"constraints\": [\"R >= 1\"], \"compute\": \"float32\", \"flops\": \"R*C\", \"bytes\": \"4\","
    "\"tolerance\": {\"z\": {\"sigmas\": 8, \"why\": \"by the model\"}},"
    "\"init\": {\"x\": {\"dist\": \"normal\", \"mean\": 0, \"std\": 1},"
    "           \"w\": {\"dist\": \"normal\", \"mean\": 0, \"std\": 0.3},"
    "           \"r\": {\"dist\": \"uniform\", \"min\": 1, \"max\": 2}},"
    "\"oracle\": {\"phases\": [{\"fn\": \"reference\", \"units\": \"C\"}]},"
    "\"baselines\": [], \"torch\": \"r * 0.9 + (x @ w @ w @ w @ w @ w).mean(0) * 1e-9\","
    "\"workloads\": [{\"role\": \"smoke\", \"axes\": {\"R\": 4, \"C\": 8}},"
    "                {\"role\": \"check\", \"axes\": {\"R\": 5, \"C\": 7}},"
    "                {\"role\": \"heldout\", \"axes\": {\"R\": [1, 9], \"C\": 4}},"
    "                {\"role\": \"time\", \"axes\": {\"R\": 64, \"C\": 64}}]}";

/* Random errors of the TF32 products limit the variance of an output (hone_limit()), but not the
 * part of it that the last two roundings add. Together, two roundings have sqrt(2) = 1.41 times the
 * sigma of one. */
static void last_roundings_count_in_full(void **state)
{
    struct made m;
    struct shape s;
    struct oracle_trial x;
    struct err err = ERR_INIT;
    make(&m, running_task, (struct reference_mode){.kind = REFERENCE_SIGMA, .tf32_products = true});
    assert_non_null(strstr(m.ref.source.buf, "hone_limit("));
    must(shape_resolve(&s, m.t, &m.t->workloads.items[0], 1, &m.arena, &err), &err);
    s.task = &m.copy;
    assert_int_equal(run(&x, &s, 1, m.so, ORACLE_IN_ORDER), 0);
    size_t z = (size_t)task_tensor_index(m.t, "z");
    for (uint64_t k = 0; k < s.elems[z]; k++) {
        double once = fabs(x.value[z][k]) * 0x1p-24 / sqrt(3); /* sigma of one rounding */
        assert_true(x.mag[z][k] > 1.4 * once && x.mag[z][k] < 1.5 * once);
    }
    oracle_trial_release(&x);
    unmake(&m);
}

/* If an element depends on no TF32 product, it has no random errors that could limit its variance.
 * Here the output adds 0 times the product, so with TF32 its magnitude stays the same. */
static void elements_without_products_keep_their_variance(void **state)
{
    static const char *const find = "r * 0.9 + (x @ w @ w @ w @ w @ w).mean(0) * 1e-9",
                             *const put = "(x * r).sum(0) + (x @ w @ w @ w @ w @ w).sum(0) * 0.0";
    struct made m[2];
    struct oracle_trial x[2];
    struct err err = ERR_INIT;
    const char *at = strstr(running_task, find);
    assert_non_null(at);
    char *text =
        xasprintf("%.*s%s%s", (int)(at - running_task), running_task, put, at + strlen(find));
    for (int tf32 = 0; tf32 < 2; tf32++) {
        struct shape s;
        make(&m[tf32], text,
             (struct reference_mode){.kind = REFERENCE_SIGMA, .tf32_products = tf32 != 0});
        must(shape_resolve(&s, m[tf32].t, &m[tf32].t->workloads.items[0], 1, &m[tf32].arena, &err),
             &err);
        s.task = &m[tf32].copy;
        assert_int_equal(run(&x[tf32], &s, 1, m[tf32].so, ORACLE_IN_ORDER), 0);
    }
    assert_non_null(strstr(m[1].ref.source.buf, "hone_limit("));
    size_t z = (size_t)task_tensor_index(m[0].t, "z");
    for (uint64_t k = 0; k < 8; k++)
        assert_true(x[1].mag[z][k] > 0.99 * x[0].mag[z][k]);
    for (int tf32 = 0; tf32 < 2; tf32++) {
        oracle_trial_release(&x[tf32]);
        unmake(&m[tf32]);
    }
    free(text);
}

/* Each output of this task is one element with one rounding. With one set of data, random rounding
 * gives only two results, and both may be too near the truth. So the runs of a proof must use other
 * data. */
static const char single_task[] =
    "{\"name\": \"t\", \"description\": \"A task of a test.\", \"class\": \"elementwise\","
    "\"axes\": {\"R\": {\"type\": \"var\"}},"
    "\"inputs\": {\"x\": {\"shape\": [\"R\"], \"dtype\": \"float32\"}},"
    "\"outputs\": {\"a\": {\"shape\": [\"R\"], \"dtype\": \"float32\"},"
    "              \"b\": {\"shape\": [\"R\"], \"dtype\": \"float32\"},"
    "              \"c\": {\"shape\": [\"R\"], \"dtype\": \"float32\"},"
    "              \"d\": {\"shape\": [\"R\"], \"dtype\": \"float32\"}},"
    "\"constraints\": [\"R >= 1\"], \"compute\": \"float32\", \"flops\": \"R\", \"bytes\": \"4\","
    "\"tolerance\": {\"a\": {\"sigmas\": 8, \"why\": \"by the model\"},"
    "                \"b\": {\"sigmas\": 8, \"why\": \"by the model\"},"
    "                \"c\": {\"sigmas\": 8, \"why\": \"by the model\"},"
    "                \"d\": {\"sigmas\": 8, \"why\": \"by the model\"}},"
    "\"init\": {\"x\": {\"dist\": \"uniform\", \"min\": 1.95, \"max\": 2}},"
    "\"oracle\": {\"phases\": [{\"fn\": \"reference\", \"units\": \"R\"}]}, \"baselines\": [],"
    "\"torch\": \"(x * 0.99, x * 0.991, x * 0.993, x * 0.997)\","
    "\"workloads\": [{\"role\": \"smoke\", \"axes\": {\"R\": 1}},"
    "                {\"role\": \"check\", \"axes\": {\"R\": 2}},"
    "                {\"role\": \"heldout\", \"axes\": {\"R\": [1, 9]}},"
    "                {\"role\": \"time\", \"axes\": {\"R\": 64}}]}";

static void further_runs_have_other_data(void **state)
{
    struct made m;
    struct shape s;
    struct tolerance_report r;
    struct err err = ERR_INIT;
    struct reference_mode mode = {.kind = REFERENCE_SIGMA};
    make(&m, single_task, mode);
    must(shape_resolve(&s, m.t, &m.t->workloads.items[0], 1, &m.arena, &err), &err);
    must(tolerance_prove(&m.g, mode, m.t, NULL, &s, 1, &r, &err), &err);
    must(tolerance_accept(&r, &err), &err);
    assert_int_equal(r.runs, TOLERANCE_MORE_RUNS);
    tolerance_report_release(&r);
    unmake(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_errors_are_computed_once),
        cmocka_unit_test(many_sources_are_computed_once),
        cmocka_unit_test(unrolled_loops_stay_short),
        cmocka_unit_test(products_of_unrolled_loops_are_alike),
        cmocka_unit_test(dense_networks_stay_short),
        cmocka_unit_test(residual_layers_do_not_nest),
        cmocka_unit_test(variances_get_enough_elements),
        cmocka_unit_test(deep_networks_get_more_elements),
        cmocka_unit_test(softmaxes_get_several_elements),
        cmocka_unit_test(few_runs_still_refuse),
        cmocka_unit_test(long_runs_are_shared),
        cmocka_unit_test(attempts_share_objects),
        cmocka_unit_test(last_roundings_count_in_full),
        cmocka_unit_test(elements_without_products_keep_their_variance),
        cmocka_unit_test(further_runs_have_other_data),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
