/*
 * In a generated reference, similar phases can share a function. Tests that the results are the
 * same as without sharing, and that the text for a deep network becomes much shorter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "graph/reference/reference.h"
#include "graph/tolerance/generated_task.h"
#include "sys/file.h"
#include "task/check.h"
#include "task/oracle.h"
#include "task/oracle_trial.h"
#include "torch/task.h"

enum { LAYERS = 6 };

/* These names of inputs look like names in the text of a generated reference. */
static const char *const weights[LAYERS] = {"VAL3", "n1", "v7", "i4", "unit", "sample"};
static const int channels[LAYERS + 1] = {2, 2, 2, 3, 3, 3, 2};

static void must(int rc, const struct err *err)
{
    if (rc < 0)
        fail_msg("%s", err->msg);
}

/* Appends layer k of the graph: a convolution, a normalisation with batch statistics, a relu. */
static void add_layer(struct strbuf *sb, int k)
{
    char in[16] = "x";
    if (k)
        snprintf(in, sizeof in, "%%h%d", k - 1);
    strbuf_addf(sb,
                "%s{\"id\": \"%%c%d\", \"op\": \"conv\", \"args\": [\"%s\", \"%s\"], \"attrs\": "
                "{\"stride\": [1, 1], \"before\": [1, 1], \"after\": [1, 1], \"dilation\": [1, 1], "
                "\"groups\": 1}},",
                k ? "," : "", k, in, weights[k]);
    strbuf_addf(sb,
                "{\"id\": \"%%m%d\", \"op\": \"mean\", \"args\": [\"%%c%d\"], \"attrs\": "
                "{\"dim\": [0, 2, 3], \"keepdim\": true}},"
                "{\"id\": \"%%v%d\", \"op\": \"var\", \"args\": [\"%%c%d\"], \"attrs\": "
                "{\"dim\": [0, 2, 3], \"keepdim\": true, \"correction\": 0}},",
                k, k, k, k);
    strbuf_addf(sb,
                "{\"id\": \"%%e%d\", \"op\": \"add\", \"args\": [\"%%v%d\", 1e-05]},"
                "{\"id\": \"%%r%d\", \"op\": \"rsqrt\", \"args\": [\"%%e%d\"]},"
                "{\"id\": \"%%s%d\", \"op\": \"sub\", \"args\": [\"%%c%d\", \"%%m%d\"]},"
                "{\"id\": \"%%t%d\", \"op\": \"mul\", \"args\": [\"%%s%d\", \"%%r%d\"]},"
                "{\"id\": \"%%h%d\", \"op\": \"relu\", \"args\": [\"%%t%d\"]}",
                k, k, k, k, k, k, k, k, k, k, k, k);
}

static void add_task(struct strbuf *sb)
{
    strbuf_adds(sb, "{\"name\": \"t\", \"description\": \"A task of a test.\", \"class\": \"conv\","
                    "\"axes\": {\"i2\": {\"type\": \"var\"}, \"v3\": {\"type\": \"var\"}},"
                    "\"inputs\": {\"x\": {\"shape\": [\"i2\", 2, \"v3\", \"v3\"], "
                    "\"dtype\": \"float32\"}");
    for (int k = 0; k < LAYERS; k++)
        strbuf_addf(sb, ", \"%s\": {\"shape\": [%d, %d, 3, 3], \"dtype\": \"float32\"}", weights[k],
                    channels[k + 1], channels[k]);
    strbuf_adds(sb, "}, \"outputs\": {\"y\": {\"shape\": [\"i2\", 2, \"v3\", \"v3\"], "
                    "\"dtype\": \"float32\"}");
    for (int k = 0; k < LAYERS; k++)
        strbuf_addf(sb, ", \"mean%d\": {\"shape\": [1, %d, 1, 1], \"dtype\": \"float32\"}", k,
                    channels[k + 1]);
    strbuf_adds(sb, "}, \"constraints\": [\"v3 >= 3\"], \"compute\": \"float32\", "
                    "\"flops\": \"i2*v3\", \"bytes\": \"4\", \"baselines\": [], \"tolerance\": "
                    "{\"y\": {\"sigmas\": 8, \"why\": \"by the model\"}");
    for (int k = 0; k < LAYERS; k++)
        strbuf_addf(sb, ", \"mean%d\": {\"sigmas\": 8, \"why\": \"by the model\"}", k);
    strbuf_adds(sb, "}, \"init\": {\"x\": {\"dist\": \"normal\", \"mean\": 0, \"std\": 1}");
    for (int k = 0; k < LAYERS; k++)
        strbuf_addf(sb, ", \"%s\": {\"dist\": \"normal\", \"mean\": 0, \"std\": 1}", weights[k]);
    strbuf_adds(sb, "}, \"oracle\": {\"phases\": [{\"fn\": \"reference\", \"units\": \"i2\"}]},"
                    "\"workloads\": [{\"role\": \"smoke\", \"axes\": {\"i2\": 3, \"v3\": 5}},"
                    "{\"role\": \"heldout\", \"axes\": {\"i2\": [1, 3], \"v3\": 4}},"
                    "{\"role\": \"check\", \"axes\": {\"i2\": 1, \"v3\": 3}},"
                    "{\"role\": \"time\", \"axes\": {\"i2\": 4, \"v3\": 8}}], \"graph\": "
                    "{\"version\": 1, \"axes\": [\"i2\", \"v3\"], \"scalars\": [], \"inputs\": "
                    "[{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"i2\", 2, \"v3\", "
                    "\"v3\"]}");
    for (int k = 0; k < LAYERS; k++)
        strbuf_addf(sb, ", {\"name\": \"%s\", \"dtype\": \"float32\", \"shape\": [%d, %d, 3, 3]}",
                    weights[k], channels[k + 1], channels[k]);
    strbuf_adds(sb, "], \"values\": [");
    for (int k = 0; k < LAYERS; k++)
        add_layer(sb, k);
    strbuf_addf(sb,
                "], \"outputs\": [{\"name\": \"y\", \"dtype\": \"float32\", \"shape\": [\"i2\", 2, "
                "\"v3\", \"v3\"], \"value\": \"%%h%d\"}",
                LAYERS - 1);
    for (int k = 0; k < LAYERS; k++)
        strbuf_addf(sb,
                    ", {\"name\": \"mean%d\", \"dtype\": \"float32\", \"shape\": [1, %d, 1, 1], "
                    "\"value\": \"%%m%d\"}",
                    k, channels[k + 1], k);
    strbuf_adds(sb, "], \"guards\": []}}");
}

static struct task *make_task(const char *dir)
{
    struct problem_vec problems = VEC_INIT;
    struct err err = ERR_INIT;
    struct strbuf text = STRBUF_INIT(1 << 20);
    char *path = xasprintf("%s/task.json", dir), *c = xasprintf("%s/reference.c", dir);
    add_task(&text);
    must(file_write(path, text.buf, text.len, &err), &err);
    must(file_write(c, "\n", 1, &err), &err);
    struct task *t = task_load(dir, &problems);
    if (!t)
        fail_msg("%s", problems.items[0].text);
    free(path);
    free(c);
    strbuf_release(&text);
    return t;
}

/* A reference and its results. Its phases share functions if run_version() got 1 as `from`, and do
 * not if it got SIZE_MAX. */
struct version {
    struct graph_reference ref;
    struct task task;
    struct shape shape;
    struct oracle_trial trial;
};

static void run_version(struct version *v, const struct task *t, struct reference_mode mode,
                        size_t from, const char *dir, struct arena *a)
{
    struct err err = ERR_INIT;
    struct graph g;
    char *so = arena_printf(a, "%s/%d-%d.so", dir, (int)mode.kind, from == 1);
    mode.share_from = from;
    must(torch_read_task(&g, t, &err), &err);
    must(graph_write_reference_as(&g, mode, &v->ref, &err), &err);
    must(generated_task_init(&v->task, t, &v->ref, a, &err), &err);
    must(oracle_build(&v->task, so, &err), &err);
    must(shape_resolve(&v->shape, t, &t->workloads.items[0], 1, a, &err), &err);
    v->shape.task = &v->task;
    must(oracle_trial_init(&v->trial, &v->shape, 1, &err), &err);
    v->trial.noise_seed = 12345;
    must(oracle_trial_run(&v->trial, so, ORACLE_IN_ORDER, &err), &err);
    graph_release(&g);
}

static void release_version(struct version *v)
{
    oracle_trial_release(&v->trial);
    generated_task_release(&v->task);
    graph_reference_release(&v->ref);
}

static unsigned count(const char *text, const char *word)
{
    unsigned n = 0;
    while ((text = strstr(text, word))) {
        text += strlen(word);
        n++;
    }
    return n;
}

static void compare(enum reference_kind kind)
{
    struct temp_dir dir = TEMP_DIR_INIT;
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct version shared, apart;
    struct reference_mode mode = {.kind = kind, .tf32_convs = kind != REFERENCE_MAGNITUDE};
    must(temp_dir_make(&dir, &err), &err);
    struct task *t = make_task(dir.path);
    run_version(&shared, t, mode, 1, dir.path, &a);
    run_version(&apart, t, mode, SIZE_MAX, dir.path, &a);
    assert_int_equal(count(apart.ref.source.buf, "HONE_SHARED"), 0);
    assert_true(count(shared.ref.source.buf, "HONE_SHARED") > 0);
    if (shared.ref.source.len > apart.ref.source.len * 2 / 3)
        fail_msg("%zu bytes instead of %zu", shared.ref.source.len, apart.ref.source.len);
    assert_int_equal(shared.trial.shared_bytes, apart.trial.shared_bytes);
    for (size_t i = 0; i < shared.trial.shared_bytes / sizeof(double); i++) {
        assert_false(oracle_is_unwritten(shared.trial.shared[i]));
        if (memcmp(&shared.trial.shared[i], &apart.trial.shared[i], sizeof(double)) != 0)
            fail_msg("number %zu: %.17g instead of %.17g\n%s", i, shared.trial.shared[i],
                     apart.trial.shared[i], shared.ref.source.buf);
    }
    /* Each layer has other weights, so the layers must differ. */
    assert_false(shared.trial.value[LAYERS + 2][0] == shared.trial.value[LAYERS + 3][0]);
    release_version(&shared);
    release_version(&apart);
    task_free(t);
    arena_release(&a);
    temp_dir_release(&dir);
}

static void magnitudes_are_the_same(void **state)
{
    compare(REFERENCE_MAGNITUDE);
}

static void sigmas_are_the_same(void **state)
{
    compare(REFERENCE_SIGMA);
}

static void noise_is_the_same(void **state)
{
    compare(REFERENCE_NOISY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(magnitudes_are_the_same),
        cmocka_unit_test(sigmas_are_the_same),
        cmocka_unit_test(noise_is_the_same),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
