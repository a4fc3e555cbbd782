/* noisy.c - tests the author `noisy`, which makes errors on purpose: which errors it makes, how it
 * repairs them, that the same seed gives the same errors, and that the author knows only what the
 * prompt says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "author/author.h"
#include "base/util.h"
#include "prompt/say.h"

static struct task *task;
static struct err err;

static int set_up(void **state)
{
    struct problem_vec problems = VEC_INIT;
    task = task_find("softmax", &problems);
    return task ? 0 : -1;
}

static int tear_down(void **state)
{
    task_free(task);
    return 0;
}

/* Asks for one reply. `extra` is JSON that is added to the facts. */
static char *ask(const char *spec, const char *role, uint64_t index, const char *turn,
                 const char *extra)
{
    struct author *a;
    struct author_call *c;
    json_t *facts = json_pack("{s:s, s:i, s:o, s:[]}", "arch", "sm_90a", "seed", 5, "task",
                              say_task_json(task), "tried");
    json_t *more = json_loads(extra, 0, NULL);
    assert_non_null(more);
    json_object_update(facts, more);
    assert_int_equal(author_open(&a, spec, NULL, &err), 0);
    const struct author_request rq = {
        .role = role, .index = index, .turn = turn, .temperature = -1, .facts = facts};
    assert_int_equal(author_start(a, &rq, &c, &err), 0);
    while (!author_poll(c))
        author_wait(a, 1000);
    assert_true(author_reply(c)->ok);
    char *text = xstrdup(author_reply(c)->text.buf);
    author_call_free(c);
    author_close(a);
    json_decref(facts);
    json_decref(more);
    return text;
}

#define NONE "slower=0,idle=0,compile=0,wrong=0"

static void has(char *reply, const char *text, bool wanted)
{
    if ((strstr(reply, text) != NULL) != wanted)
        fail_msg("%s '%s' in: %.600s", wanted ? "no" : "a", text, reply);
    free(reply);
}

static void errs_as_told(void **state)
{
    has(ask("noisy:" NONE, "code", 0, "", "{}"), "[softmax 0.1.1.2.1.3.1.0]", true);
    has(ask("noisy:" NONE ",compile=1", "code", 0, "", "{}"), "int not_finished = ;", true);
    has(ask("noisy:" NONE ",compile=1", "code", 0, "", "{}"), "{softmax 0.1.1.2.1.3.1.0}", true);
    has(ask("noisy:" NONE ",wrong=1", "code", 0, "", "{}"), "\"grid\": [\"max(1, (", true);
    has(ask("noisy:" NONE ",idle=1", "code", 1, "",
            "{\"node\": {\"index\": 0, \"move\": \"x [softmax 0.1.1.2.1.3.1.0]\", \"source\": "
            "\"abc\", "
            "\"verdict\": {\"kind\": \"pass\"}}}"),
        "```cuda\nabc\n// tidied\n```", true);
}

static void repairs_the_same_point(void **state)
{
    has(ask("noisy:" NONE, "repair", 0, "",
            "{\"node\": {\"index\": 3, \"move\": \"y {softmax 0.1.2.0.1.3.1.0}\", \"source\": "
            "\"abc\", "
            "\"verdict\": {\"kind\": \"compile_error\"}}}"),
        "[softmax 0.1.2.0.1.3.1.0]", true);
}

static void knows_only_its_prompt(void **state)
{
    const char *tried = "{\"tried\": [{\"index\": 0, \"move\": \"a [softmax 0.1.1.2.1.3.1.0]\", "
                        "\"verdict\": {\"kind\": \"pass\", \"time_ns\": 5}}]}";
    has(ask("noisy:" NONE, "code", 0, "nothing", tried), "[softmax 0.1.1.2.1.3.1.0]", true);
    has(ask("noisy:" NONE, "code", 0, "- a [softmax 0.1.1.2.1.3.1.0] 5 ns", tried),
        "[softmax 0.1.1.2.1.3.1.0]", false);
}

static void seeds_decide(void **state)
{
    unsigned spoilt = 0;
    for (uint64_t i = 0; i < 40; i++) {
        char *a = ask("noisy:compile=0.5,slower=0,idle=0,wrong=0", "code", i, "", "{}");
        char *b = ask("noisy:compile=0.5,slower=0,idle=0,wrong=0", "code", i, "", "{}");
        assert_string_equal(a, b);
        spoilt += strstr(a, "not_finished") != NULL;
        free(a);
        free(b);
    }
    assert_in_range(spoilt, 8, 32);
}

static void bad_rates_are_refused(void **state)
{
    static const char *const bad[] = {"noisy:x=1",
                                      "noisy:compile",
                                      "noisy:compile=2",
                                      "noisy:compile=nan",
                                      "noisy:compile=0.6,wrong=0.6",
                                      "noisy:=",
                                      "noisy:compile=0.1;"};
    struct author *a;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(author_open(&a, bad[i], NULL, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errs_as_told),          cmocka_unit_test(repairs_the_same_point),
        cmocka_unit_test(knows_only_its_prompt), cmocka_unit_test(seeds_decide),
        cmocka_unit_test(bad_rates_are_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
