/* Tests result.bin: facts are written and read back, the reader refuses truncated files, and it
 * survives changed bytes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job/result.h"
#include "wire_rig.h"

static uint64_t elem[] = {1, 5};
static double got[] = {NAN, 2}, want[] = {1, INFINITY};
static struct result_compare compare = {
    1,        100, 2,    1,   1,    INFINITY,          3.5, 1e6, 0.25, 5, 2,
    INFINITY, 2,   elem, got, want, "every 4th column"};
static struct result_call calls[] = {{0,
                                      3,
                                      RESULT_OK,
                                      1234.5,
                                      1000,
                                      1500,
                                      false,
                                      true,
                                      true,
                                      true,
                                      false,
                                      INFINITY,
                                      {90, 80, 70, 0.5},
                                      "",
                                      1,
                                      &compare},
                                     {1,
                                      1,
                                      RESULT_FAULT,
                                      -1,
                                      0,
                                      0,
                                      false,
                                      true,
                                      false,
                                      true,
                                      false,
                                      0.5,
                                      {0},
                                      "guard after y",
                                      0,
                                      NULL}};
static struct result_case one = {2, calls};
static struct result_module modules[] = {{RESULT_OK, ""}, {RESULT_LOAD_FAILED, "no torch"}};
static struct result_finding finding = {FIND_OOB, "k",  "cand.cu", 12, {1, 2, 3}, {4, 5, 6},
                                        "y",      1024, "past y",  "", 7,         1};
static struct result_counter counter = {"k", 3, "sectors", "1", 42, 2};

static struct result sample(void)
{
    return (struct result){.job_hash = 77,
                           .nonce = 78,
                           .status = RESULT_FAULT,
                           .message = "illegal address in 'k'",
                           .where_case = 0,
                           .where_call = 1,
                           .device = "NVIDIA H200",
                           .driver = "580",
                           .sm = 90,
                           .clock_mhz = {1980, 1965, 1980},
                           .throttle = 4,
                           .empty_launch_ns = 2100,
                           .setup_ns = 1,
                           .run_ns = 2,
                           .verify_ns = 3,
                           .nmodules = 2,
                           .modules = modules,
                           .ncases = 1,
                           .cases = &one,
                           .nfindings = 1,
                           .findings = &finding,
                           .ncounters = 1,
                           .counters = &counter,
                           .printf_text = "hello\n"};
}

static void round_trip(void **state)
{
    (void)state;
    struct result in = sample(), out;
    struct strbuf a = STRBUF_INIT(RESULT_MAX_BYTES), b = STRBUF_INIT(RESULT_MAX_BYTES);
    struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    result_write(&in, &a);
    assert_int_equal(a.buf[RESULT_STATUS_AT], RESULT_FAULT);
    assert_int_equal(result_read(&out, a.buf, a.len, &arena, &err), 0);
    assert_int_equal(out.status, RESULT_FAULT);
    assert_int_equal(out.job_hash, 77);
    assert_int_equal(out.nonce, 78);
    assert_string_equal(out.modules[1].message, "no torch");
    assert_string_equal(out.cases[0].calls[0].compares[0].pattern, "every 4th column");
    assert_true(isnan(out.cases[0].calls[0].compares[0].example_got[0]));
    assert_true(out.cases[0].calls[0].globals_intact);
    assert_false(out.cases[0].calls[1].guards_intact);
    assert_int_equal(out.findings[0].thread[2], 6);
    assert_int_equal(out.findings[0].index, 1024);
    assert_string_equal(out.counters[0].name, "sectors");
    assert_string_equal(out.printf_text, "hello\n");
    result_write(&out, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.buf, b.buf, a.len);
    arena_release(&arena);
    strbuf_release(&a);
    strbuf_release(&b);
}

static bool reads(const char *data, size_t len, struct arena *a)
{
    struct result out;
    if (result_read(&out, data, len, a, NULL) < 0) {
        assert_true(out.status != RESULT_OK);
        return false;
    }
    struct strbuf again = STRBUF_INIT(RESULT_MAX_BYTES);
    result_write(&out, &again); /* walks everything that was read */
    strbuf_release(&again);
    return true;
}

static void every_truncation_is_refused(void **state)
{
    struct result in = sample();
    struct strbuf a = STRBUF_INIT(RESULT_MAX_BYTES);
    result_write(&in, &a);
    wire_truncated(&a, reads);
    strbuf_release(&a);
}

static void mutations_are_refused_or_harmless(void **state)
{
    struct result in = sample();
    struct strbuf a = STRBUF_INIT(RESULT_MAX_BYTES);
    result_write(&in, &a);
    wire_mutated(&a, reads);
    strbuf_release(&a);
}

static void every_name_is_there(void **state)
{
    (void)state;
    for (int k = 0; k < FIND_COUNT; k++)
        assert_true(strlen(finding_kind_name((enum finding_kind)k)) > 1);
    for (int s = RESULT_OK; s <= RESULT_MACHINE; s++)
        assert_true(strlen(result_status_name((enum result_status)s)) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(mutations_are_refused_or_harmless),
        cmocka_unit_test(every_name_is_there),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
