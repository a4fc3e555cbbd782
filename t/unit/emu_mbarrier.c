/* Tests the mbarrier word: phases, transactions, arrivals that drop out of later phases, and misuse
 * that is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emu/async/mbarrier.h"

static void test_phases(void **state)
{
    struct mbar b, c;
    mbar_init(&b, 3);
    assert_true(mbar_done(&b, 1)); /* the phase before the first counts as complete */
    assert_false(mbar_done(&b, 0));
    assert_int_equal(mbar_arrive(&b, 1, false), MBAR_OK);
    assert_int_equal(mbar_arrive(&b, 1, false), MBAR_OK);
    assert_true(mbar_unpack(&c, mbar_pack(&b)));
    assert_int_equal(c.pending, 1);
    assert_int_equal(c.expected, 3);
    assert_int_equal(mbar_arrive(&c, 1, false), MBAR_FLIPPED);
    assert_true(mbar_done(&c, 0));
    assert_false(mbar_done(&c, 1));
    assert_int_equal(c.pending, 3);
    assert_int_equal(mbar_arrive(&c, 3, false), MBAR_FLIPPED);
    assert_false(mbar_done(&c, 0));
}

static void test_transactions(void **state)
{
    struct mbar b;
    mbar_init(&b, 1);
    assert_int_equal(mbar_complete_tx(&b, 256),
                     MBAR_OK); /* bytes may come before they are expected */
    assert_true(mbar_unpack(&b, mbar_pack(&b)));
    assert_int_equal(b.tx, -256);
    assert_int_equal(mbar_expect_tx(&b, 512), MBAR_OK);
    assert_int_equal(mbar_arrive(&b, 1, false), MBAR_OK);
    assert_false(mbar_done(&b, 0));
    assert_int_equal(mbar_complete_tx(&b, 256), MBAR_FLIPPED);
    assert_true(mbar_done(&b, 0));
    assert_int_equal(mbar_expect_tx(&b, 1 << 21), MBAR_TX_RANGE);
    assert_int_equal(mbar_expect_tx(&b, MBAR_MAX_TX), MBAR_OK);
    assert_int_equal(mbar_expect_tx(&b, 1), MBAR_TX_RANGE);
}

static void test_drop(void **state)
{
    struct mbar b;
    mbar_init(&b, 2);
    assert_int_equal(mbar_arrive(&b, 1, true), MBAR_OK);
    assert_int_equal(mbar_arrive(&b, 1, false), MBAR_FLIPPED);
    assert_int_equal(b.pending, 1); /* each later phase expects one arrival less */
    assert_int_equal(mbar_arrive(&b, 1, false), MBAR_FLIPPED);
}

static void test_misuse(void **state)
{
    struct mbar b;
    mbar_init(&b, 1);
    assert_int_equal(mbar_arrive(&b, 2, false), MBAR_UNDERFLOW);
    assert_int_equal(b.pending, 1);
    assert_false(mbar_unpack(&b, 0));
    assert_false(mbar_unpack(&b, 0x7fffffffffffffffull));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases),
        cmocka_unit_test(test_transactions),
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_misuse),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
