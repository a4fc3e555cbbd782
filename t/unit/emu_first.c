/* The shortest way through the emulator: load, launch, read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emu_run.h"

static const char vadd[] = PTX_HEAD
    ".visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 n)\n"
    "{\n"
    "  .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<12>;\n"
    "  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];\n"
    "  ld.param.u32 %r2, [n];\n"
    "  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"
    "  mad.lo.s32 %r1, %r3, %r4, %r5;\n"
    "  setp.ge.s32 %p1, %r1, %r2;\n"
    "  @%p1 bra $L1;\n"
    "  cvta.to.global.u64 %rd4, %rd1; mul.wide.s32 %rd5, %r1, 4; add.s64 %rd6, %rd4, %rd5;\n"
    "  cvta.to.global.u64 %rd7, %rd2; add.s64 %rd8, %rd7, %rd5;\n"
    "  ld.global.f32 %f1, [%rd8]; ld.global.f32 %f2, [%rd6]; add.f32 %f3, %f2, %f1;\n"
    "  cvta.to.global.u64 %rd9, %rd3; add.s64 %rd10, %rd9, %rd5; st.global.f32 [%rd10], %f3;\n"
    "$L1: ret;\n"
    "}\n";

static void adds_vectors(void **state)
{
    enum { N = 1000 };
    static float a[N], b[N], c[N];
    struct emu_run r;
    (void)state;
    emu_run_open(&r, true);
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = 0.5f * (float)i;
    }
    uint64_t args[] = {emu_run_buffer(&r, "a", JOB_INPUT, a, sizeof a),
                       emu_run_buffer(&r, "b", JOB_INPUT, b, sizeof b),
                       emu_run_buffer(&r, "c", JOB_OUTPUT, NULL, sizeof c), N};
    enum result_status st = emu_run_kernel(&r, vadd, "vadd", 8, 128, args, 4);
    if (st != RESULT_OK)
        print_error("%s\n", r.err.msg);
    assert_int_equal(st, RESULT_OK);
    emu_run_read(&r, args[2], c, sizeof c);
    for (int i = 0; i < N; i++)
        assert_true(c[i] == 1.5f * (float)i);
    assert_int_equal(r.found.n, 0);
    emu_run_close(&r);
}

static void refuses_nonsense(void **state)
{
    struct emu_run r;
    (void)state;
    emu_run_open(&r, true);
    assert_int_equal(emu_run_kernel(&r, "this is no PTX", "k", 1, 1, NULL, 0), RESULT_LOAD_FAILED);
    assert_non_null(strstr(r.err.msg, "line 1"));
    assert_int_equal(emu_run_kernel(&r, vadd, "other", 1, 1, NULL, 0), RESULT_LOAD_FAILED);
    assert_int_equal(emu_run_kernel(&r, vadd, "vadd", 1, 1, NULL, 0), RESULT_PLAN);
    assert_int_equal(emu_run_kernel(&r, vadd, "vadd", 1, 2048, (uint64_t[4]){0}, 4), RESULT_PLAN);
    assert_int_equal(emu_run_kernel(&r, vadd, "vadd", 1, 32, (uint64_t[4]){0, 0, 0, 5}, 4),
                     RESULT_FAULT);
    assert_non_null(strstr(r.err.msg, "illegal read"));
    emu_run_close(&r);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_vectors),
        cmocka_unit_test(refuses_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
