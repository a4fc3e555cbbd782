/* The strategy team: porting, the tester's shapes, rollback. */
#include "agent_rig.h"

static void test_team(void **state)
{
    struct run_config c = config("team");
    c.steps = 4;
    c.repairs = 1;
    c.profile = PROFILE_ALWAYS;
    c.from = "#include <torch/extension.h>\nvoid host() {}\n";
    c.from_name = "orig.cu";
    struct outcome o = run(&c, team_script);
    assert_string_equal(node(&o, 0)->role, "port");
    assert_string_equal(node(&o, 1)->stage, "tests");
    assert_string_equal(node(&o, 2)->fate, "kept"); /* 80 us; the kernel of 70 us beats it later */
    assert_string_equal(node(&o, 3)->fate, "regression");
    assert_int_equal(node(&o, 3)->parent, 2);
    assert_int_equal(node(&o, 4)->parent, 2); /* rollback */
    assert_int_equal(node(&o, 6)->parent, 2);
    assert_string_equal(node(&o, 6)->fate, "best");
    bool told = false;
    vec_each (struct event_rec, e, &o.m.events)
        told |= strstr(e->text, "taken: {\"R\":3,\"C\":129}") &&
                strstr(e->text, "left out: {\"R\":0") && strstr(e->text, "more than");
    assert_true(told);
    /* the tester sees no candidate */
    char *test = strstr(prompts.buf, "@@ test 0"), *after = strstr(test + 1, "\n@@ ");
    char *text = xstrndup(test, (size_t)(after - test));
    assert_null(strstr(text, "// judge"));
    assert_null(strstr(text, "void host"));
    free(text);
    run_summary_release(&o.m);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_team),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
