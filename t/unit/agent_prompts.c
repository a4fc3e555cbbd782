/* Tests what prompts teach, how they begin, and when Hone asks an author for a diagnosis. */
#include "agent_rig.h"

static char *cuda_reply(const char *move, const char *judge)
{
    return xasprintf("MOVE: %s\n```cuda\n/* hone-plan\n{}\n*/\n// judge: %s\n"
                     "extern \"C\" __global__ void k() {\n  int unchanged;\n}\n```\n",
                     move, judge);
}

/* Answers every role, without a word of CuTe. */
static char *cuda_script(const struct author_call *c)
{
    if (role_is(c, "plan"))
        return xstrdup("PLAN: p\nKIND: tiling\nANCHOR 4-4: x\n");
    if (role_is(c, "test"))
        return xstrdup("{\"cases\": []}");
    if (role_is(c, "diagnose") || role_is(c, "profile") || role_is(c, "advise"))
        return xstrdup("words");
    if (role_is(c, "repair") || role_is(c, "debug"))
        return edit_reply(c, "repair: it", c->index % 2 ? "pass 70" : "mismatch");
    char judge[64];
    snprintf(judge, sizeof judge, c->index % 2 ? "mismatch" : "pass %d", 100 - (int)c->index);
    return c->index && !role_is(c, "port") ? edit_reply(c, "tiling: t", judge)
                                           : cuda_reply("first: f", judge);
}

/* Runs a strategy on a task, with every prompt in `prompts`. */
static void run_task(const char *name, const char *strategy, const char *arch, enum dialect dialect)
{
    struct problem_vec problems = VEC_INIT;
    struct task *other = task_find(name, &problems), *usual = task;
    assert_non_null(other);
    task = other;
    struct run_config c = config(strategy);
    c.task = name;
    c.arch = arch;
    c.dialect = dialect;
    c.steps = 6;
    c.profile = PROFILE_ALWAYS;
    c.from = str_eq(strategy, "team") ? "__global__ void k(){}\n" : "";
    struct outcome o = run(&c, cuda_script);
    run_summary_release(&o.m);
    task = usual;
    task_free(other);
}

/* Returns whether the text has the word, in upper or lower case, even as part of another word. */
static bool mentions(const char *text, const char *word)
{
    for (; *text; text++)
        if (strncasecmp(text, word, strlen(word)) == 0)
            return true;
    return false;
}

/* With --dialect cuda, no prompt of any strategy says a word about CuTe. */
static void test_plain_cuda(void **state)
{
    static const char *const tasks[] = {"matmul_f16", "softmax"};
    static const char *const strategies[] = {"refine", "search", "team", "reflect"};
    static const char *const words[] = {"cute", "cutlass", "gmma::", "local_tile"};
    for (size_t t = 0; t < ARRAY_LEN(tasks); t++)
        for (size_t s = 0; s < ARRAY_LEN(strategies); s++) {
            run_task(tasks[t], strategies[s], "sm_90a", DIALECT_CUDA);
            assert_true(prompts.len > 10000);
            for (size_t w = 0; w < ARRAY_LEN(words); w++)
                if (mentions(prompts.buf, words[w]))
                    fail_msg("%s, %s: a prompt mentions %s", tasks[t], strategies[s], words[w]);
        }
}

/* Prompts explain tensor cores and TMA only for task classes that can use them, and only for
 * architectures that have them. */
static void test_taught_where_useful(void **state)
{
    static const struct {
        const char *task, *arch;
        bool mma, tma, wgmma;
    } cases[] = {{"matmul_f16", "sm_90a", true, true, true},
                 {"attention_f16", "sm_90a", true, true, true},
                 {"transpose", "sm_90a", false, true, false},
                 {"softmax", "sm_90a", false, false, false},
                 {"vector_add", "sm_90a", false, false, false},
                 {"matmul_f16", "sm_100a", true, true, false},
                 {"transpose", "sm_120a", false, true, false},
                 {"transpose", "sm_110a", false, true, false},
                 {"reduce_max_dim1", "sm_80", false, false, false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int d = 0; d < DIALECTS; d++) {
            run_task(cases[i].task, "refine", cases[i].arch, (enum dialect)d);
            bool mma = mentions(prompts.buf, "ldmatrix") || mentions(prompts.buf, "mma.sync");
            bool tma = mentions(prompts.buf, "tensormaps"), wgmma = mentions(prompts.buf, "wgmma");
            if (mma != cases[i].mma || tma != cases[i].tma || wgmma != cases[i].wgmma)
                fail_msg("%s, %s, %s: mma %d, TMA %d, wgmma %d", cases[i].task, cases[i].arch,
                         dialect_names[d], mma, tma, wgmma);
            if (!cases[i].tma && (strstr(prompts.buf, "TMA") || strstr(prompts.buf, " tma,")))
                fail_msg("%s: a prompt mentions TMA", cases[i].task);
        }
    run_task("matmul_f16", "refine", "sm_80", DIALECT_CUTE);
    assert_true(mentions(prompts.buf, "ldmatrix"));
    assert_false(mentions(prompts.buf, "tensormaps"));
}

/* The candidate of step 1 does not compile, but its repair passes. The candidate of step 2 does not
 * compile, and neither does its first repair; the second one passes. The candidate of step 3 is
 * wrong. */
static char *slips_script(const struct author_call *c)
{
    static const char *const steps[] = {"pass 100", "compile_error 1", "compile_error 2",
                                        "mismatch"};
    static const char *const repairs[] = {"pass 80", "compile_error 3", "pass 70", "pass 60"};
    if (role_is(c, "diagnose"))
        return xstrdup("words");
    if (role_is(c, "repair"))
        return edit_reply(c, "repair: the slip", repairs[MIN(c->index, 3)]);
    return c->index ? edit_reply(c, "tiling: step", steps[MIN(c->index, 3)])
                    : file_reply("first: simple", steps[0]);
}

/* A simple compile error goes to repair at once. A repair that fails, and any other failure, needs
 * a diagnosis. */
static void test_simple_errors(void **state)
{
    struct run_config c = config("refine");
    c.steps = 3;
    struct outcome o = run(&c, slips_script);
    const char *first = strstr(prompts.buf, "@@ repair 0"),
               *words = strstr(prompts.buf, "@@ diagnose 0");
    assert_non_null(first);
    assert_non_null(words);
    assert_true(first < strstr(prompts.buf, "@@ code 2"));
    assert_true(words > strstr(prompts.buf, "@@ repair 1"));
    assert_true(words < strstr(prompts.buf, "@@ repair 2"));
    assert_non_null(strstr(prompts.buf, "@@ diagnose 1")); /* the mismatch */
    assert_null(strstr(prompts.buf, "@@ diagnose 2"));
    assert_true(strstr(first, "# Diagnosis") > words); /* none in the first two repairs */
    run_summary_release(&o.m);
}

/* The ledger credits the repair that made an idea work, in refine and in search. */
static void test_ledger_credit(void **state)
{
    struct run_config c = config("refine");
    c.steps = 2;
    struct outcome o = run(&c, slips_script);
    assert_non_null(strstr(strstr(prompts.buf, "@@ code 2"),
                           "- tiling: step => after a repair (the slip): 80.0 us; its parent took "
                           "100.0 us\n"));
    assert_int_equal(o.m.ideas.items[0].node, 2);
    assert_string_equal(o.m.ideas.items[0].outcome, "gain");
    run_summary_release(&o.m);

    c = config("search");
    c.steps = 12;
    c.stop_pct = 0;
    o = run(&c, search_script);
    for (size_t i = 0; i < o.m.ideas.n; i++) {
        const struct idea_rec *idea = &o.m.ideas.items[i];
        assert_string_not_equal(idea->kind, "repair"); /* a repair is not an idea */
        const struct node_rec *n = node(&o, (size_t)idea->node);
        bool repaired = false;
        vec_each (struct node_rec, child, &o.m.nodes)
            repaired |= child->parent == (int64_t)n->index && str_eq(child->role, "debug") &&
                        str_eq(child->kind, "pass");
        if (!str_eq(n->kind, "pass"))
            assert_false(repaired);
    }
    run_summary_release(&o.m);
}

/* The stable parts of the prompts of the role "code", by the index of the call. */
static char *stable[8];

static char *grow_script(const struct author_call *c)
{
    static const char *const times[] = {"pass 100", "pass 90", "pass 80", "pass 70", "pass 60"};
    if (c->index < ARRAY_LEN(stable))
        stable[c->index] = xstrdup(c->stable);
    char *body = xstrdup("");
    for (int i = 0; i < 60 && !c->index; i++) {
        char *more = xasprintf("%s  int line_%d_of_a_longer_kernel = %d;\n", body, i, i);
        free(body);
        body = more;
    }
    char *reply = c->index
                      ? edit_reply(c, "tiling: t", times[MIN(c->index, 4)])
                      : xasprintf("MOVE: first: f\n```cuda\n/* hone-plan\n{}\n*/\n// judge: %s\n"
                                  "extern \"C\" __global__ void k() {\n%s}\n```\n",
                                  times[0], body);
    free(body);
    return reply;
}

/* The best kernel changes at each step, but the beginning of the prompt does not. It shows the
 * kernel that step 1 began with. The rest of the prompt says what has changed since. */
static void test_same_beginning(void **state)
{
    struct run_config c = config("refine");
    c.steps = 4;
    struct outcome o = run(&c, grow_script);
    assert_string_equal(stable[1], stable[2]);
    assert_string_equal(stable[1], stable[4]);
    assert_non_null(strstr(stable[1], "line_59_of_a_longer_kernel"));
    const char *last = strstr(prompts.buf, "@@ code 4");
    assert_non_null(last);
    assert_non_null(
        strstr(last, "Instead of line 4, `// judge: pass 100`:\n```\n// judge: pass 70\n"));
    for (size_t i = 0; i < ARRAY_LEN(stable); i++)
        free(stable[i]);
    run_summary_release(&o.m);
}

/* With whole_files, each prompt shows the current kernel and no changes. */
static void test_whole_files(void **state)
{
    struct run_config c = config("refine");
    c.steps = 4;
    c.whole_files = true;
    struct outcome o = run(&c, grow_script);
    const char *last = strstr(prompts.buf, "@@ code 4");
    assert_non_null(last);
    assert_null(strstr(last, "Instead of line"));
    assert_non_null(strstr(stable[4], "// judge: pass 70\n"));
    for (size_t i = 0; i < ARRAY_LEN(stable); i++)
        free(stable[i]);
    run_summary_release(&o.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_cuda),     cmocka_unit_test(test_taught_where_useful),
        cmocka_unit_test(test_simple_errors),  cmocka_unit_test(test_ledger_credit),
        cmocka_unit_test(test_same_beginning), cmocka_unit_test(test_whole_files),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
