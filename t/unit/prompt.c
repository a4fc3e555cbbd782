/* Tests parts of prompts: the texts about a task and about a verdict, a file and its changes, and
 * excerpts of a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/excerpt.h"
#include "agent/extract.h"
#include "agent/shown_file.h"
#include "base/util.h"
#include "cpu_time.h"
#include "prompt/prompt.h"
#include "prompt/say.h"
#include "sys/asset.h"

static void expect_in(const char *text, const char *const *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strstr(text, wanted[i]))
            fail_msg("'%s' is not in:\n%s", wanted[i], text);
}

/* The text about a task tells the author why the tolerance is as it is, the range of each input,
 * and the graph. */
static void test_task_text(void **state)
{
    (void)state;
    static const struct {
        const char *name, *says[5];
    } cases[] = {
        {"softmax",
         {"Why: A fast fp32 exponential", "values from about -286 to 286; holds -inf",
          "y: float32[R, C] = softmax(x, dim=-1)", "Timed at (R, C): (4096, 1024), (8192, 8192)",
          "(7, 1023) [aligned to 4 bytes, 1 elements on]"}},
        {"embedding_gather", {"integers from 0 to V - 1", "Why: ", "= ", "Timed at", "Checked at"}},
        {"matmul_f16",
         {"%1 = permute(B, dims=[1, 0])\nC: float16[M, N] = matmul(A, %1)\n", "Why: Products",
          "values from about -4.9 to 4.9", "denormals in some places", "Checked at (M, N, K)"}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct problem_vec problems = VEC_INIT;
        struct strbuf sb = STRBUF_INIT(1 << 20);
        struct task *t = task_find(cases[i].name, &problems);
        assert_non_null(t);
        say_task(t, false, &sb);
        expect_in(sb.buf, cases[i].says, ARRAY_LEN(cases[i].says));
        strbuf_clear(&sb);
        say_task(t, true, &sb); /* for planners */
        assert_non_null(strstr(sb.buf, "Timed at"));
        assert_null(strstr(sb.buf, "Checked at"));
        strbuf_release(&sb);
        task_free(t);
    }
}

static void test_slots_of_templates(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    bool has;
    /* The slot is in part/head, which is a part of this prompt. */
    assert_int_equal(prompt_has_slot("step", "dialect", &has, &err), 0);
    assert_true(has);
    assert_int_equal(prompt_has_slot("profile", "dialect", &has, &err), 0);
    assert_false(has);
    assert_int_equal(prompt_has_slot("no_such", "dialect", &has, &err), -1);
}

/* A reply must begin with its MOVE line. So if a prompt also asks for sentences, it must first say
 * that the sentences come after this line. */
static void test_order_of_reply(void **state)
{
    (void)state;
    static const char *const names[] = {"step", "debug", "repair", "code_planned", "code_anchored"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *path = xasprintf("prompts/%s.md", names[i]);
        const struct asset *p = asset_find(path);
        assert_non_null(p);
        const char *words = strstr(p->data, "sentences"),
                   *line = strstr(p->data, "After the line `MOVE:`");
        if (words && (!line || line > words))
            fail_msg("%s asks for sentences, and does not say that the MOVE line comes first",
                     path);
        free(path);
    }
}

static const char *const old_file = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

static void test_changes(void **state)
{
    (void)state;
    static const struct {
        const char *after, *says;
    } cases[] = {
        {"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n", ""},
        {"zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n",
         "New at the beginning:\n```\nzero\n```\n"},
        {"one\ntwo\n2.5\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n",
         "New after line 2, `two`:\n```\n2.5\n```\n"},
        {"one\nfour\nfive\nsix\nseven\neight\nnine\nten\n", "Without line 2-3, `two` to `three`\n"},
        {"ONE\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nTEN",
         "Instead of line 1, `one`:\n```\nONE\n```\nInstead of line 10, `ten`:\n```\nTEN\n```\n"},
        {"one\nTWO\nthree\nFOUR\nfive\nsix\nseven\neight\nnine\nten\n", /* near each other */
         "Instead of line 2-4, `two` to `four`:\n```\nTWO\nthree\nFOUR\n```\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf sb = STRBUF_INIT(1 << 16);
        changes_text(old_file, cases[i].after, &sb);
        assert_string_equal(sb.buf, cases[i].says);
        strbuf_release(&sb);
    }
}

/* The first prompt of a role shows the file. Later prompts show this first file and the changes
 * since then. If the changes are longer than the file, a prompt shows the new file instead. */
static void test_shown_file(void **state)
{
    (void)state;
    struct shown_files v = VEC_INIT;
    struct strbuf sb = STRBUF_INIT(1 << 16), longer = STRBUF_INIT(1 << 16);
    for (int i = 0; i < 100; i++)
        strbuf_addf(&longer, "    line_%d += another * line;\n", i);
    char *grown = xasprintf("%s    one more line;\n", longer.buf);
    assert_string_equal(shown_file_next(&v, "code", longer.buf, &sb), longer.buf);
    assert_string_equal(sb.buf, "");
    assert_string_equal(shown_file_next(&v, "code", grown, &sb), longer.buf);
    assert_non_null(strstr(sb.buf, "one more line;"));
    strbuf_clear(&sb);
    assert_string_equal(shown_file_next(&v, "plan", grown, &sb), grown); /* its first prompt */
    assert_string_equal(sb.buf, "");
    assert_string_equal(shown_file_next(&v, "code", old_file, &sb), old_file); /* another file */
    assert_string_equal(sb.buf, "");
    assert_string_equal(shown_file_next(&v, "code", grown, &sb), grown);
    assert_string_equal(sb.buf, "");
    free(grown);
    shown_files_release(&v);
    strbuf_release(&longer);
    strbuf_release(&sb);
}

#define BODY "    a();\n    a();\n    a();\n    a();\n    a();\n    a();\n    a();\n    a();\n"

/* Lines 1 to 4 are the beginning of a file. Then come functions: helper (lines 5 to 15), a function
 * that nobody uses (16 to 26), the kernel (27 to 38), and another kernel. */
static const char *const functions =
    "/* hone-plan {\n*/\n#include <x> // {\nstruct S { int f(); };\n"
    "template <class T> __device__ int helper(T t)\n{\n" BODY "}\n"
    "__device__ int alone(const char *s = \"{\")\n{\n" BODY "}\n"
    "__global__ void __launch_bounds__(256) k()\n{\n    helper(1);\n" BODY "}\n"
    "__global__ void k2()\n{\n" BODY "}\n";

/* An excerpt shows the function that contains the anchor, and the functions that this one uses. It
 * hides the bodies of others. */
static void test_excerpt(void **state)
{
    (void)state;
    struct anchor_vec anchors = VEC_INIT;
    struct line_range_vec hidden = VEC_INIT;
    struct strbuf sb = STRBUF_INIT(1 << 16);
    assert_true(anchors_parse("ANCHOR `helper(1);`: do it\n", functions, &anchors, &sb));
    excerpt_find(functions, &anchors, &hidden);
    anchors_mark(functions, &anchors, &hidden, &sb);
    assert_int_equal(hidden.n, 2);
    assert_non_null(strstr(sb.buf, "helper(T t)\n{\n    a();"));
    assert_non_null(strstr(sb.buf, "= \"{\")\n{\n[8 lines not shown]\n}\n"));
    assert_non_null(strstr(sb.buf, "<<<IMPROVE BEGINS: do it>>>\n    helper(1);\n<<<IMPROVE ENDS"));
    assert_non_null(strstr(sb.buf, "k2()\n{\n[8 lines not shown]\n}\n"));

    /* The SEARCH text of an edit may also occur in lines that the coder was not shown. Then the
     * edit changes only the lines that were shown. */
    struct extract x;
    const char *reply = "MOVE: tiling: x\n<<<<<<< SEARCH\n    helper(1);\n    a();\n=======\n"
                        "    b();\n>>>>>>> REPLACE\n<<<<<<< SEARCH\n}\n__global__ void k2()\n"
                        "=======\n}\n__global__ void k3()\n>>>>>>> REPLACE\n";
    extract_partial(&x, reply, strlen(reply), functions, &hidden);
    assert_true(x.ok);
    extract_release(&x);
    char *twice = xasprintf("/* hone-plan */\n__global__ void k()\n{\n    once();\n}\n"
                            "void other()\n{\n    once();\n" BODY "}\n");
    const char *edit = "<<<<<<< SEARCH\n    once();\n=======\n    two();\n>>>>>>> REPLACE\n";
    extract_reply(&x, edit, strlen(edit), twice);
    assert_false(x.ok);
    extract_release(&x);
    hidden.n = 1;
    hidden.items[0] = (struct line_range){8, 16};
    extract_partial(&x, edit, strlen(edit), twice, &hidden);
    assert_true(x.ok);
    assert_non_null(strstr(x.source.buf, "k()\n{\n    two();\n}"));
    extract_release(&x);
    free(twice);

    hidden.n = 0; /* braces in literals and comments do not count */
    excerpt_find("const char *s = R\"x(}\n)\"}\" )x\"; int i = 1'0 + '}'; // \\\n}\n"
                 "void f()\n{\n" BODY "}\n",
                 &anchors, &hidden);
    assert_int_equal(hidden.n, 1);
    hidden.n = 0; /* if braces do not match, nothing is hidden */
    excerpt_find("void f()\n{\n{\n" BODY "}\n", &anchors, &hidden);
    excerpt_find("}\n" BODY, &anchors, &hidden);
    excerpt_find("", &anchors, &hidden);
    assert_int_equal(hidden.n, 0);
    vec_release(&anchors);
    vec_release(&hidden);
    strbuf_release(&sb);
}

/* The kernel uses fg(), which uses f(). So an excerpt shows fg() and both functions named f(), but
 * not fgh() and g(), whose names only contain a part of these names. */
static void test_excerpt_names(void **state)
{
    (void)state;
    const char *source = "__device__ void f(int)\n{\n" BODY "}\nvoid fgh()\n{\n" BODY "}\n"
                         "void f()\n{\n" BODY "}\nvoid fg()\n{\n    f();\n" BODY "}\n"
                         "void g()\n{\n" BODY "}\n__global__ void k()\n{\n    fg();\n" BODY "}\n";
    struct anchor_vec anchors = VEC_INIT;
    struct line_range_vec hidden = VEC_INIT;
    struct strbuf why = STRBUF_INIT(1000);
    assert_true(anchors_parse("ANCHOR `    fg();`: do it\n", source, &anchors, &why));
    excerpt_find(source, &anchors, &hidden);
    assert_int_equal(hidden.n, 2);
    assert_int_equal(hidden.items[0].first, 14); /* fgh */
    assert_int_equal(hidden.items[1].first, 48); /* g */
    vec_release(&anchors);
    vec_release(&hidden);
    strbuf_release(&why);
}

/* An excerpt of a file with many blocks takes only seconds. This file has a chain of functions, in
 * which each uses the one before, and many blocks that are no functions. */
static void test_excerpt_of_many(void **state)
{
    (void)state;
    struct anchor_vec anchors = VEC_INIT;
    struct line_range_vec hidden = VEC_INIT;
    struct strbuf source = STRBUF_INIT(4 << 20), out = STRBUF_INIT(8 << 20);
    double begun = cpu_seconds();
    for (int i = 1; i <= 20000; i++)
        strbuf_addf(&source, "void f%d() {f%d();\n\n\n\n\n\n\n\n}\n", i, i - 1);
    for (int i = 0; i < 20000; i++)
        strbuf_adds(&source, "union{}g(){\n\n\n\n\n\n\n\n}\n");
    strbuf_adds(&source, "void k() {f20000(); here();}\n");
    assert_true(anchors_parse("ANCHOR `here()`: do it\n", source.buf, &anchors, &out));
    excerpt_find(source.buf, &anchors, &hidden);
    assert_int_equal(hidden.n, 20000);
    anchors_mark(source.buf, &anchors, &hidden, &out);
    assert_non_null(strstr(out.buf, "f1() {f0();\n\n\n"));
    assert_non_null(strstr(out.buf, "g(){\n[7 lines not shown]\n}\n"));
    vec_release(&anchors);
    vec_release(&hidden);
    strbuf_release(&source);
    strbuf_release(&out);
    assert_true(cpu_seconds() - begun < 5);
}

/* The text about a verdict says "right at the shapes you know" only if that is true. */
static void test_hidden_failure(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct verdict v = {.kind = V_MISMATCH, .summary = "s", .detail = "d", .stage = "check"};
        struct strbuf sb = STRBUF_INIT(4096);
        *vec_push(&v.workloads) = (struct verdict_workload){.name = "smoke:0",
                                                            .role = "smoke",
                                                            .shape = "N=4",
                                                            .output = "y",
                                                            .note = "",
                                                            .ok = !known};
        *vec_push(&v.workloads) = (struct verdict_workload){
            .name = "heldout:0", .role = "heldout", .shape = "N=5", .output = "y", .note = ""};
        say_verdict(&v, &(struct say_verdict){0}, &sb);
        assert_int_equal(!strstr(sb.buf, "right at the shapes you know"), known);
        assert_int_equal(!strstr(sb.buf, "also wrong at 1 shape you were not told"), !known);
        strbuf_release(&sb);
        verdict_release(&v);
    }
}

/* Authors see the baselines, but not the variants of PyTorch that were only timed beside them
 * (job/torch_variants.h). */
static void test_variants_beside(void **state)
{
    (void)state;
    struct verdict v = {.kind = V_PASS, .summary = "", .detail = "", .stage = "time"};
    struct verdict other = {.kind = V_PASS, .summary = "", .detail = "", .stage = "time"};
    struct strbuf sb = STRBUF_INIT(4096);
    static const char *const who[] = {"candidate", "torch.compile", "torch.high"};
    v.time_ns = other.time_ns = 1e3;
    v.speedup_over = other.speedup_over = v.precision = other.precision = "";
    v.bottleneck = other.bottleneck = "";
    for (size_t i = 0; i < ARRAY_LEN(who); i++)
        *vec_push(&v.times) = (struct verdict_time){.workload = "time:0",
                                                    .shape = "N=4",
                                                    .who = who[i],
                                                    .limit = "",
                                                    .median_ns = 1e3,
                                                    .ratio = i ? 1.5 : 0,
                                                    .ratio_lo = 1.4,
                                                    .ratio_hi = 1.6};
    *vec_push(&other.times) = v.times.items[0];
    say_verdict(&v, &(struct say_verdict){0}, &sb);
    assert_non_null(strstr(sb.buf, "1.50x torch.compile"));
    assert_null(strstr(sb.buf, "torch.high"));
    strbuf_clear(&sb);
    say_verdict(&other, &(struct say_verdict){.with_torch = &v}, &sb);
    assert_non_null(strstr(sb.buf, "torch.compile took"));
    assert_null(strstr(sb.buf, "torch.high"));
    json_t *j = say_verdict_json(&v, &(struct say_verdict){0});
    assert_int_equal(json_array_size(json_object_get(j, "times")), 2);
    json_decref(j);
    strbuf_release(&sb);
    verdict_release(&v);
    verdict_release(&other);
}

/* A workload with a fault has no output and no error, only the note "failed". If no workload gives
 * a reason, the text also has the detail of the verdict. */
static void test_fault(void **state)
{
    (void)state;
    struct verdict v = {.kind = V_FAULT,
                        .summary = "the launch failed: illegal address",
                        .detail = "in kernel k",
                        .stage = "run"};
    struct strbuf sb = STRBUF_INIT(4096);
    *vec_push(&v.workloads) = (struct verdict_workload){.name = "smoke:48",
                                                        .role = "smoke",
                                                        .shape = "R=3 C=34",
                                                        .output = "",
                                                        .note = VERDICT_FAILED};
    *vec_push(&v.workloads) = (struct verdict_workload){.name = "smoke:49",
                                                        .role = "smoke",
                                                        .shape = "R=4 C=34",
                                                        .output = "y",
                                                        .max_ratio = 2,
                                                        .note = "wrong tail"};
    say_verdict(&v, &(struct say_verdict){0}, &sb);
    assert_string_equal(sb.buf,
                        "Verdict: **fault** at stage run. the launch failed: illegal address\n"
                        "- smoke:48 R=3 C=34: failed\n"
                        "- smoke:49 R=4 C=34: output `y`, worst error 2 times the tolerance; "
                        "wrong tail\n");
    sb.len = 0;
    v.workloads.n = 1;
    say_verdict(&v, &(struct say_verdict){0}, &sb);
    assert_non_null(strstr(sb.buf, "illegal address\nin kernel k\n- smoke:48 R=3 C=34: failed\n"));
    strbuf_release(&sb);
    verdict_release(&v);
}

/* If two times look the same when printed, the text calls them equally fast. */
static void test_times_against_the_best(void **state)
{
    static const struct {
        double mine, best;
        const char *text;
    } cases[] = {{38120, 38140, "as fast, 38.1 us"},
                 {38140, 38120, "as fast, 38.1 us"},
                 {38100, 41000, "faster, 38.1 us instead of 41.0 us"},
                 {41000, 38100, "SLOWER, 41.0 us instead of 38.1 us"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct verdict v = {.kind = V_PASS, .summary = "", .detail = "", .time_ns = cases[i].mine},
                       best = {.kind = V_PASS, .time_ns = cases[i].best};
        struct strbuf sb = STRBUF_INIT(4096);
        say_verdict(&v, &(struct say_verdict){.best = &best}, &sb);
        if (!strstr(sb.buf, cases[i].text))
            fail_msg("no '%s' in: %s", cases[i].text, sb.buf);
        strbuf_release(&sb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_against_the_best),
        cmocka_unit_test(test_task_text),
        cmocka_unit_test(test_slots_of_templates),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_shown_file),
        cmocka_unit_test(test_excerpt),
        cmocka_unit_test(test_excerpt_names),
        cmocka_unit_test(test_excerpt_of_many),
        cmocka_unit_test(test_hidden_failure),
        cmocka_unit_test(test_fault),
        cmocka_unit_test(test_variants_beside),
        cmocka_unit_test(test_order_of_reply),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
