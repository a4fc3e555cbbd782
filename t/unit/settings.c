/* settings.c - tests the settings of a kernel file: which lines are settings, and how the author
 * `playbook` tunes them. */
#include "source/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "author/author.h"
#include "base/util.h"
#include "sys/json.h"

static const char source[] = "/* hone-plan\n{}\n*/\n"
                             "constexpr int kRows = 4; // hone: 1 2 4 8\n"
                             "static constexpr unsigned kWide=16 ;// hone: 32, 64\n"
                             "constexpr int kRows = 8; // hone: 1 8\n" /* the name is taken */
                             "int kPlain = 4; // hone: 1 2\n"          /* not constexpr */
                             "constexpr int kWord = 4; // hone: 1 two\n"
                             "constexpr int kOne = 4; // hone: 4\n"
                             "constexpr int kSum = 4 + 4; // hone: 8 16\n"
                             "constexpr int kMinus = -1; // hone: -1 0 1";

static void test_lines(void **state)
{
    struct source_setting s[SETTING_MAX];
    size_t n = source_settings(source, strlen(source), s);
    struct strbuf out = STRBUF_INIT(4096);
    assert_int_equal(n, 3);
    assert_string_equal(s[0].name, "kRows");
    assert_int_equal(s[0].n, 4);
    assert_int_equal(s[0].at, 2);
    assert_string_equal(s[1].name, "kWide"); /* the current value joins the list */
    assert_int_equal(s[1].n, 3);
    assert_int_equal(s[1].at, 0);
    assert_int_equal(s[1].values[0], 16);
    assert_string_equal(s[2].name, "kMinus");
    assert_int_equal(s[2].values[s[2].at], -1);
    source_settings_apply(source, strlen(source), s, n, (const uint8_t[]){3, 1, 2}, &out);
    assert_non_null(strstr(out.buf, "constexpr int kRows = 8; // hone: 1 2 4 8\n"));
    assert_non_null(strstr(out.buf, "kWide=32 ;// hone: 32, 64\n"));
    assert_non_null(strstr(out.buf, "kMinus = 1; // hone: -1 0 1"));
    strbuf_release(&out);
    /* these files are too short to have a setting before the comment */
    assert_int_equal(source_settings("// hone: 1 2", 12, s), 0);
    assert_int_equal(source_settings("; // hone: 1 2", 14, s), 0);
    assert_int_equal(source_settings("4; // hone: 1 2", 15, s), 0);
    assert_int_equal(source_settings("=4; // hone: 1 2", 16, s), 0);
    assert_int_equal(source_settings("", 0, s), 0);
}

/* ---- the built-in author -------------------------------------------------------------------- */

static json_t *candidate(const char *text, const char *move, double ns, bool with_source)
{
    json_t *j = json_pack("{s:s, s:s, s:{s:s, s:f}}", "role", "given", "move", move, "verdict",
                          "kind", ns > 0 ? "pass" : "fault", "time_ns", ns);
    if (with_source)
        json_object_set_new(j, "source", json_string(text));
    return j;
}

static char *ask(json_t *facts)
{
    struct author *a = NULL;
    struct author_call *c = NULL;
    struct err err = ERR_INIT;
    if (author_open(&a, "playbook", NULL, &err) < 0 ||
        author_start(a, &(struct author_request){.role = "code", .facts = facts}, &c, &err) < 0)
        fail_msg("%s", err.msg);
    while (!author_poll(c))
        ;
    char *text = xstrdup(author_reply(c)->text.buf);
    author_call_free(c);
    author_close(a);
    json_decref(facts);
    return text;
}

static void test_tuned(void **state)
{
    static const char two[] = "/* hone-plan {} */\nconstexpr int kA = 2; // hone: 1 2 4\n";
    static const char four[] = "/* hone-plan {} */\nconstexpr int kA = 4; // hone: 1 2 4\n";
    static const char none[] = "/* hone-plan {} */\n";
    json_t *facts =
        json_pack("{s:s, s:{s:s, s:s}, s:o, s:o, s:[o]}", "arch", "sm_90a", "task", "name", "odd",
                  "class", "none", "node", candidate(two, "mine.cu", 9, true), "best",
                  candidate(two, "mine.cu", 9, true), "tried", candidate(two, "mine.cu", 9, true));
    char *r = ask(facts);
    assert_non_null(strstr(r, "MOVE: tuning: kA 2 -> 4 [settings 2]"));
    assert_non_null(strstr(r, "constexpr int kA = 4; // hone: 1 2 4"));
    free(r);
    /* The best value is now 4. The file's own value, 2, was tried and was slower. So 1, which is
     * even further from 4, is not tried. */
    facts = json_pack(
        "{s:s, s:{s:s, s:s}, s:o, s:o, s:[o, o]}", "arch", "sm_90a", "task", "name", "odd", "class",
        "none", "node", candidate(four, "kA 2 -> 4 [settings 2]", 5, true), "best",
        candidate(four, "kA 2 -> 4 [settings 2]", 5, true), "tried",
        candidate(two, "mine.cu", 9, true), candidate(four, "kA 2 -> 4 [settings 2]", 5, false));
    r = ask(facts);
    assert_non_null(strstr(r, "STOP: all values of the kernel's settings were tried"));
    free(r);
    facts = json_pack("{s:s, s:{s:s, s:s}, s:o, s:o, s:[o]}", "arch", "sm_90a", "task", "name",
                      "odd", "class", "none", "node", candidate(none, "mine.cu", 9, true), "best",
                      candidate(none, "mine.cu", 9, true), "tried",
                      candidate(none, "mine.cu", 9, true));
    r = ask(facts);
    assert_non_null(strstr(r, "STOP: the kernel has no settings to tune"));
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_tuned),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
