/* The limits of a job on the emulator, which follow from the work of its cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "eval/cases.h"

static void more_work_raises_the_limits(void **state)
{
    (void)state;
    struct job_case cases[] = {
        /* a smoke shape of a small task */
        {.flops = 1e6, .min_bytes = 1e4, .ncalls = 5},
        /* a shape of a network: 200 s for the flops and 20 s for the bytes */
        {.flops = 1e10, .min_bytes = 1e8, .ncalls = 3},
        {.flops = 1e15, .min_bytes = 1e12, .ncalls = 2},
    };
    struct job_call calls[5] = {0}, sampled[] = {{0}, {.flags = JOB_CALL_BLOCK_SAMPLE}};
    struct case_set s = {.cases = {.items = cases, .n = 1}};
    cases[0].calls = cases[1].calls = calls;
    cases[2].calls = sampled;
    const uint64_t second = 1000000000u;

    struct job_limits l = {.call_ns = 40 * second, .wall_ns = 1200 * second};
    cases_allow_for_work(&s, true, &l);
    assert_in_range(l.call_ns, 40 * second, 41 * second);
    assert_in_range(l.wall_ns, 1200 * second, 1210 * second);

    s.cases.n = 3; /* the sampled case does not count */
    l = (struct job_limits){.call_ns = 40 * second, .wall_ns = 1200 * second};
    cases_allow_for_work(&s, true, &l);
    assert_in_range(l.call_ns, 260 * second, 261 * second);
    assert_in_range(l.wall_ns, (1200 + 3 * 2200) * second, (1210 + 3 * 2200) * second);

    l = (struct job_limits){.call_ns = second, .wall_ns = 1200 * second};
    cases_allow_for_work(&s, false, &l); /* the user has set the limit of a call */
    assert_int_equal(l.call_ns, second);
    assert_true(l.wall_ns > 1200 * second);

    sampled[1].flags = 0; /* now the last case counts, but a call gets at most one more hour */
    l = (struct job_limits){.call_ns = 40 * second};
    cases_allow_for_work(&s, true, &l);
    assert_int_equal(l.call_ns, 3640 * second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(more_work_raises_the_limits)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
