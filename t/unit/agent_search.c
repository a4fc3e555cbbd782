/* The strategy search: its tree, its seeds, pruning, anchors. */
#include "agent_rig.h"

static void test_search(void **state)
{
    struct strbuf a = STRBUF_INIT(1 << 20), b = STRBUF_INIT(1 << 20);
    struct run_config c = config("search");
    c.steps = 24;
    c.stop_pct = 0;
    struct outcome o = run(&c, search_script);
    assert_int_equal(o.m.nodes.n, 24);
    unsigned root_children = 0;
    vec_each (struct node_rec, n, &o.m.nodes)
        root_children += n->parent == 0;
    assert_true(root_children >= 1 && root_children <= c.n_root);
    /* The coder's reply does not name its move, so the move gets the name of the plan. */
    assert_string_equal(node(&o, 1)->move, "try harder");
    assert_non_null(strstr(prompts.buf, "<<<IMPROVE BEGINS: change the time>>>"));
    lineage(&o, &a);
    run_summary_release(&o.m);
    o = run(&c, search_script); /* the same seed gives the same tree */
    lineage(&o, &b);
    assert_string_equal(a.buf, b.buf);
    run_summary_release(&o.m);
    c.seed = 99;
    o = run(&c, search_script);
    lineage(&o, &b);
    assert_string_not_equal(a.buf, b.buf);
    run_summary_release(&o.m);
    c.select = SELECT_GREEDY; /* the seed does not matter */
    o = run(&c, search_script);
    lineage(&o, &a);
    run_summary_release(&o.m);
    c.seed = 1;
    o = run(&c, search_script);
    lineage(&o, &b);
    assert_string_equal(a.buf, b.buf);
    run_summary_release(&o.m);
    c.wave = 4; /* no node is selected twice in one wave */
    c.select = SELECT_EPS;
    o = run(&c, search_script);
    assert_int_equal(o.m.nodes.n, 24);
    for (size_t first = 4; first < 24; first += 4) /* the waves have 1, 2, then 4 nodes */
        for (size_t i = first; i < first + 4; i++)
            for (size_t k = first; k < i; k++)
                assert_true(node(&o, i)->parent != node(&o, k)->parent);
    run_summary_release(&o.m);
    strbuf_release(&a);
    strbuf_release(&b);
}

/* A node whose children all fail is pruned, and the search goes on with other nodes. */
static char *prune_script(const struct author_call *c)
{
    if (role_is(c, "plan"))
        return xstrdup("PLAN: p\nKIND: tiling\nANCHOR 5-5: x\n");
    if (role_is(c, "debug"))
        return edit_reply(c, "repair: no", "compile_error");
    if (c->index == 0)
        return file_reply("first: root", "pass 100");
    return edit_reply(c, "", c->index == 1 ? "pass 50" : "compile_error");
}

static void test_search_prunes(void **state)
{
    struct run_config c = config("search");
    c.steps = 20;
    c.select = SELECT_GREEDY;
    c.n_child = 2;
    c.n_root = 2;
    struct outcome o = run(&c, prune_script);
    unsigned pruned = 0;
    vec_each (struct node_rec, n, &o.m.nodes)
        pruned += str_eq(n->fate, "pruned");
    assert_true(pruned >= 1);
    assert_int_equal(o.m.run.best, 1);
    run_summary_release(&o.m);
}

/* The root is the first candidate whose reply contained a kernel, even if it is not candidate 0. It
 * is selected at most n_root times, and is not pruned when its children fail. */
static char *late_root_script(const struct author_call *c)
{
    if (role_is(c, "plan"))
        return xstrdup("PLAN: p\nKIND: tiling\nANCHOR 5-5: x\n");
    if (role_is(c, "debug"))
        return xstrdup("I give up");
    if (c->index < 2) /* the first try, and its second prompt */
        return xstrdup("no kernel");
    if (c->index == 2)
        return file_reply("first: root", "pass 100");
    return edit_reply(c, "", "compile_error");
}

static void test_late_root(void **state)
{
    struct run_config c = config("search");
    c.steps = 30;
    c.select = SELECT_GREEDY;
    c.n_child = 1;
    c.n_root = 4;
    strbuf_clear(&prompts);
    struct outcome o = run(&c, late_root_script);
    unsigned children = 0;
    vec_each (struct node_rec, n, &o.m.nodes)
        children += n->parent == 1;
    assert_string_equal(node(&o, 0)->kind, "no_code");
    assert_int_equal(o.m.run.best, 1);
    assert_int_equal(children, 4);
    assert_string_equal(node(&o, 1)->fate, "best");
    assert_non_null(strstr(o.stop, "exhausted"));
    assert_non_null(strstr(prompts.buf, "The root of the tree:\n- candidate 1,"));
    assert_null(strstr(prompts.buf, "The root of the tree:\n- candidate 0"));
    run_summary_release(&o.m);
}

/* If the coder changes lines outside the anchor, the search asks it once more. If the coder does it
 * again, the candidate is rejected. */
static char *stray_script(const struct author_call *c)
{
    if (role_is(c, "plan"))
        return xstrdup("PLAN: p\nKIND: tiling\nANCHOR 6-6: only there\n");
    if (c->index == 0)
        return file_reply("first: root", "pass 100");
    return edit_reply(c, "tiling: elsewhere", "pass 10"); /* line 5 */
}

static void test_anchors_hold(void **state)
{
    struct run_config c = config("search");
    c.steps = 2;
    struct outcome o = run(&c, stray_script);
    assert_string_equal(node(&o, 1)->kind, "rejected");
    assert_non_null(strstr(prompts.buf, "outside every anchor"));
    run_summary_release(&o.m);
    c.anchors = false;
    o = run(&c, stray_script);
    assert_string_equal(node(&o, 1)->kind, "pass");
    run_summary_release(&o.m);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_search_prunes),
        cmocka_unit_test(test_anchors_hold),
        cmocka_unit_test(test_late_root),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
