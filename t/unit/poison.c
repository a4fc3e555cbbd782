/* Tests poison: it has the right values for each dtype, differs by place and call, and is written
 * only where it belongs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "job/poison.h"
#include "job/ref_ctx.h"

enum { HT_x, HA_N, HS_s };
#include "task/hone_ref.h"

static void floats_are_uncommon_nans(void **state)
{
    (void)state;
    static const enum dtype types[] = {DT_F64, DT_F32, DT_F16, DT_BF16, DT_F8E4M3, DT_F8E5M2};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (uint64_t i = 0; i < 500; i++) {
            uint64_t bits = poison_bits((uint8_t)types[k], 42, i), nan;
            assert_true(isnan(dtype_load(types[k], &bits)));
            memset(&nan, 0, sizeof nan);
            dtype_store(types[k], &nan, NAN);
            if (poison_is_proof((uint8_t)types[k]))
                assert_true(bits != nan);
        }
}

static void bools_are_neither(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 500; i++)
        assert_true((poison_bits(DT_BOOL, 7, i) & 0xff) > 1);
}

static void patterns_differ_by_place_and_by_call(void **state)
{
    (void)state;
    int same_place = 0, same_call = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        same_place +=
            (uint32_t)poison_bits(DT_I32, 1, i) == (uint32_t)poison_bits(DT_I32, 1, i + 1);
        same_call += (uint32_t)poison_bits(DT_I32, 1, i) == (uint32_t)poison_bits(DT_I32, 2, i);
    }
    assert_int_equal(same_place, 0);
    assert_int_equal(same_call, 0);
}

static void fill_writes_exactly_its_bytes(void **state)
{
    (void)state;
    for (uint64_t bytes = 0; bytes < 40; bytes++) {
        uint8_t buf[48];
        memset(buf, 0xaa, sizeof buf);
        poison_fill(DT_NONE, 3, bytes, buf);
        for (uint64_t i = bytes; i < sizeof buf; i++)
            assert_int_equal(buf[i], 0xaa);
        if (bytes >= 8) {
            float f;
            memcpy(&f, buf + 4, sizeof f);
            assert_true(isnan(f));
        }
    }
}

static void oracle_context_is_the_same_struct(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct ref_ctx), sizeof(struct hone_ref_ctx));
    assert_int_equal(offsetof(struct ref_ctx, out_value), offsetof(struct hone_ref_ctx, out_value));
    assert_int_equal(offsetof(struct ref_ctx, out_mag), offsetof(struct hone_ref_ctx, out_mag));
    assert_int_equal(offsetof(struct ref_ctx, got), offsetof(struct hone_ref_ctx, got));
    assert_int_equal(offsetof(struct ref_ctx, in_elems), offsetof(struct hone_ref_ctx, in_elems));
    assert_int_equal(offsetof(struct ref_ctx, out_elems), offsetof(struct hone_ref_ctx, out_elems));
    assert_int_equal(offsetof(struct ref_ctx, axis), offsetof(struct hone_ref_ctx, axis));
    assert_int_equal(offsetof(struct ref_ctx, scalar), offsetof(struct hone_ref_ctx, scalar));
    assert_int_equal(offsetof(struct ref_ctx, scratch), offsetof(struct hone_ref_ctx, scratch));
    assert_int_equal(offsetof(struct ref_ctx, scratch_elems),
                     offsetof(struct hone_ref_ctx, scratch_elems));
    assert_int_equal(offsetof(struct ref_ctx, fault), offsetof(struct hone_ref_ctx, fault));
    assert_int_equal(offsetof(struct ref_ctx, watch), offsetof(struct hone_ref_ctx, watch));
    assert_int_equal(offsetof(struct ref_ctx, need), offsetof(struct hone_ref_ctx, need));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_uncommon_nans),
        cmocka_unit_test(bools_are_neither),
        cmocka_unit_test(patterns_differ_by_place_and_by_call),
        cmocka_unit_test(fill_writes_exactly_its_bytes),
        cmocka_unit_test(oracle_context_is_the_same_struct),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
