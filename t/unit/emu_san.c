/*
 * Tests the sanitizer and the warp scheduler on compiled CUDA, t/cases/emu/kernels.ptx. In its
 * source, kernels.cu, each kernel is one line. A kernel whose name begins with good_ must run
 * without findings. For the others, the sanitizer must report the kind of finding that `cases`
 * names, at the kernel's line in kernels.cu.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emu_run.h"

#define NONE FIND_COUNT

static const struct {
    const char *kernel;
    enum result_status status;
    enum finding_kind kind;
} cases[] = {
    {"good_reverse", RESULT_OK, NONE},
    {"race_no_barrier", RESULT_OK, FIND_RACE},
    {"uninit_shared", RESULT_OK, FIND_UNINIT},
    {"good_reduce", RESULT_OK, NONE},
    {"race_reduce", RESULT_OK, FIND_RACE},
    {"race_reuse", RESULT_OK, FIND_RACE},
    {"race_in_warp", RESULT_OK, FIND_RACE},
    {"good_syncwarp", RESULT_OK, NONE},
    {"race_two_writers", RESULT_OK, FIND_RACE},
    {"good_same_value", RESULT_OK, NONE},
    {"good_half_words", RESULT_OK, NONE},
    {"oob_read", RESULT_OK, FIND_OOB},
    {"oob_write", RESULT_OK, FIND_OOB},
    {"oob_negative", RESULT_OK, FIND_OOB},
    {"oob_far", RESULT_FAULT, FIND_OOB},
    {"oob_shared", RESULT_FAULT, FIND_OOB},
    {"misaligned", RESULT_FAULT, FIND_MISALIGNED},
    {"misaligned_vector", RESULT_FAULT, FIND_MISALIGNED},
    {"uninit_workspace", RESULT_OK, FIND_UNINIT},
    {"uninit_output", RESULT_OK, FIND_UNINIT},
    {"uninit_hole", RESULT_OK, FIND_UNINIT},
    {"unwritten", RESULT_OK, FIND_UNWRITTEN},
    {"barrier_in_branch", RESULT_OK, FIND_BARRIER},
    {"barrier_odd_lanes", RESULT_OK, FIND_BARRIER},
    {"barrier_after_exit", RESULT_OK, FIND_BARRIER},
    {"race_between_blocks", RESULT_OK, FIND_RACE},
    {"race_read_other_block", RESULT_OK, FIND_RACE},
    {"good_last_block", RESULT_OK, NONE},
    {"race_last_block", RESULT_OK, FIND_RACE},
    {"good_atomics", RESULT_OK, NONE},
    {"good_grid_barrier", RESULT_OK, NONE},
    {"good_look_back", RESULT_OK, NONE},
    {"race_flag_first", RESULT_OK, FIND_RACE},
    {"good_lane_waits_for_lane", RESULT_OK, NONE},
    {"good_spin_lock", RESULT_OK, NONE},
    {"hang_spin", RESULT_HANG, FIND_DEADLOCK},
    {"hang_barriers", RESULT_HANG, FIND_DEADLOCK},
    {"traps", RESULT_FAULT, FIND_TRAP},
    {"good_printf", RESULT_OK, NONE},
    {"good_calls", RESULT_OK, NONE},
    {"good_divergent_loop", RESULT_OK, NONE},
    {"good_switch", RESULT_OK, NONE},
    {"hang_shared_flag", RESULT_HANG, FIND_DEADLOCK},
    {"hang_chain", RESULT_HANG, FIND_DEADLOCK},
    {"good_long_wait", RESULT_OK, NONE},
    {"good_cas_seed", RESULT_OK, NONE},
    {"race_in_block", RESULT_OK, FIND_RACE},
    {"good_in_block", RESULT_OK, NONE},
    {"good_block_flag", RESULT_OK, NONE},
    {"good_generic_flag", RESULT_OK, NONE},
    {"good_wide_tile", RESULT_OK, NONE},
    {"oob_generic_shared", RESULT_FAULT, FIND_OOB},
};

static char *slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *s = xcalloc(1, 4u << 20);
    size_t n = fread(s, 1, (4u << 20) - 1, f);
    fclose(f);
    return n ? s : NULL;
}

static unsigned line_of(const char *source, const char *kernel)
{
    char want[128];
    snprintf(want, sizeof want, "K %s ARGS", kernel);
    const char *at = strstr(source, want);
    unsigned line = 1;
    for (const char *p = source; at && p < at; p++)
        line += *p == '\n';
    return at ? line : 0;
}

static char *ptx, *source;
static float x[1024], y[1024];

static enum result_status launch(struct emu_run *r, const char *kernel, uint32_t threads,
                                 uint64_t seed)
{
    static const uint32_t zeros[256];
    emu_run_open(r, true);
    r->job.nthreads = threads;
    r->job.seed = seed;
    r->job.limits.emu_steps = 12000000;
    r->d->ops->close(r->d);
    assert_int_equal(emu_open(&r->d, &r->job, &r->err), 0);
    for (int i = 0; i < 1024; i++)
        x[i] = (float)(i % 37) * 0.25f;
    uint64_t args[] = {emu_run_buffer(r, "x", JOB_INPUT, x, sizeof x),
                       emu_run_buffer(r, "y", JOB_OUTPUT, NULL, sizeof y),
                       emu_run_buffer(r, "ws", JOB_WORKSPACE, NULL, sizeof x),
                       emu_run_buffer(r, "cnt", JOB_WORKSPACE, zeros, sizeof zeros), 1024};
    r->cooperative = strstr(kernel, "grid_barrier") != NULL;
    enum result_status st = emu_run_kernel(r, ptx, kernel, 4, 256, args, 5);
    if (st == RESULT_OK)
        emu_run_read(r, args[1], y, sizeof y);
    return st;
}

static int judge(const struct emu_run *r, size_t i, enum result_status st)
{
    unsigned line = line_of(source, cases[i].kernel);
    bool found = cases[i].kind == NONE, other = false;
    for (size_t k = 0; k < r->found.n; k++) {
        const struct result_finding *f = &r->found.items[k];
        bool right = f->kind == cases[i].kind && (f->line == line || f->kind == FIND_UNWRITTEN);
        found |= right;
        other |= !right;
        if (!right)
            print_error("%s: [%s] line %u (not %u): %s\n", cases[i].kernel,
                        finding_kind_name(f->kind), f->line, line, f->text);
    }
    if (st != cases[i].status)
        print_error("%s: %s: %s\n", cases[i].kernel, result_status_name(st), r->err.msg);
    if (!found)
        print_error("%s: not reported\n", cases[i].kernel);
    return st != cases[i].status || !found || other || !line;
}

static void all_kernels(uint32_t threads, uint64_t seed)
{
    int bad = 0;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct emu_run r;
        enum result_status st = launch(&r, cases[i].kernel, threads, seed);
        bad += judge(&r, i, st);
        emu_run_close(&r);
    }
    assert_int_equal(bad, 0);
}

static void one_host_thread(void **state)
{
    (void)state;
    all_kernels(1, 0);
}

static void two_host_threads_and_a_seed(void **state)
{
    (void)state;
    all_kernels(2, 12345);
}

/* Launches a kernel, and appends all that the launch reports to sb: its status and its findings. */
static void tell_launch(struct strbuf *sb, const char *kernel, uint32_t threads, uint64_t seed)
{
    struct emu_run r;
    enum result_status st = launch(&r, kernel, threads, seed);
    strbuf_addf(sb, "%s %s\n", result_status_name(st), st == RESULT_OK ? "" : r.err.msg);
    for (size_t i = 0; i < r.found.n; i++) {
        const struct result_finding *f = &r.found.items[i];
        strbuf_addf(sb, "%s line %u block %u thread %u count %llu: %s; %s\n",
                    finding_kind_name(f->kind), f->line, f->block[0], f->thread[0],
                    (unsigned long long)f->count, f->text, f->other);
    }
    emu_run_close(&r);
}

static void host_threads_change_nothing(void **state)
{
    static const char *const kernels[] = {"race_between_blocks",
                                          "race_read_other_block",
                                          "race_last_block",
                                          "race_flag_first",
                                          "race_in_block",
                                          "race_reduce",
                                          "uninit_output",
                                          "oob_write",
                                          "oob_far",
                                          "good_atomics",
                                          "good_last_block"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kernels); i++) {
        struct strbuf want = STRBUF_INIT(1 << 16);
        tell_launch(&want, kernels[i], 1, 77);
        for (uint32_t threads = 2; threads <= 4; threads += 2)
            for (int k = 0; k < 4; k++) {
                struct strbuf got = STRBUF_INIT(1 << 16);
                tell_launch(&got, kernels[i], threads, 77);
                assert_string_equal(got.buf, want.buf);
                strbuf_release(&got);
            }
        strbuf_release(&want);
    }
}

static void right_values(void **state)
{
    struct emu_run r;
    (void)state;
    assert_int_equal(launch(&r, "good_spin_lock", 1, 1), RESULT_OK);
    assert_true(y[0] == 256 && y[1023] == 256);
    emu_run_close(&r);
    assert_int_equal(launch(&r, "good_calls", 1, 1), RESULT_OK);
    for (int i = 0; i < 1024; i++) {
        static const float fib[4] = {5, 8, 13, 21};
        assert_true(y[i] == (i & 1 ? x[i] * 2 : x[i] + 1) + fib[i & 3]);
    }
    emu_run_close(&r);
    assert_int_equal(launch(&r, "good_printf", 1, 1), RESULT_OK);
    assert_string_equal(r.d->ops->printf_text(r.d),
                        "hello 42  3.14 str 123456789012 %\n[ab   |  z|44|  ff|xy]\n");
    assert_true(y[3] == 4);
    emu_run_close(&r);
    assert_int_equal(launch(&r, "good_divergent_loop", 1, 9), RESULT_OK);
    for (int i = 0; i < 1024; i++)
        assert_true(y[i] == x[i] * (float)(i & 31));
    emu_run_close(&r);
    assert_int_equal(launch(&r, "good_look_back", 1, 3), RESULT_OK);
    assert_true(y[256] == x[0] && y[1023] == x[0] + x[256] + x[512]);
    emu_run_close(&r);
    assert_int_equal(launch(&r, "good_wide_tile", 1, 3), RESULT_OK);
    assert_true(y[0] == 9 + x[5] && y[200] == 9 + x[133]);
    emu_run_close(&r);
    /* a register without a value is all ones: a NaN */
    assert_int_equal(launch(&r, "poison_shuffle", 1, 0), RESULT_OK);
    assert_true(y[3] == x[7] && isnan(y[16]) && isnan(y[19]) && y[20] == x[20]);
    emu_run_close(&r);
    assert_int_equal(launch(&r, "poison_local", 1, 0), RESULT_OK);
    assert_true(isnan(y[2]) && y[5] == x[1] && isnan(y[514]));
    emu_run_close(&r);
}

static void names_the_place(void **state)
{
    struct emu_run r;
    (void)state;
    launch(&r, "oob_read", 1, 0);
    assert_int_equal(r.found.n, 1);
    assert_string_equal(r.found.items[0].object, "x");
    assert_int_equal(r.found.items[0].index, 1024);
    assert_int_equal(r.found.items[0].block[0], 3);
    assert_int_equal(r.found.items[0].thread[0], 255);
    assert_int_equal(r.found.items[0].count, 1);
    assert_string_equal(r.found.items[0].file, "kernels.cu");
    emu_run_close(&r);
    launch(&r, "unwritten", 1, 0);
    assert_int_equal(r.found.items[0].count, 512);
    assert_int_equal(r.found.items[0].index, 1);
    emu_run_close(&r);
    launch(&r, "hang_barriers", 1, 0);
    assert_non_null(strstr(r.found.items[0].text, "bar.sync 2, 256"));
    emu_run_close(&r);
    static const char *const spins[] = {"hang_shared_flag", "hang_chain"};
    for (size_t i = 0; i < ARRAY_LEN(spins); i++) {
        launch(&r, spins[i], 2, 7);
        assert_non_null(strstr(r.found.items[0].text, "repeat the same steps for ever"));
        emu_run_close(&r);
    }
}

/* A finding about shared memory counts the bytes from the start of the variable that it names. */
static void names_the_byte_of_the_variable(void **state)
{
    static const char text[] =
        PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<2>;\n"
                 ".shared .align 4 .b8 first[256];\n.shared .align 4 .b8 keep[64];\n"
                 "ld.param.u64 %rd0, [out];\nmov.u32 %r0, 1;\nst.shared.u32 [first], %r0;\n"
                 "ld.shared.u32 %r1, [keep+8];\nst.global.u32 [%rd0], %r1;\nret;\n}\n";
    struct emu_run r;
    (void)state;
    emu_run_open(&r, true);
    uint64_t out = emu_run_buffer(&r, "out", JOB_INOUT, &(uint32_t){0}, 4);
    assert_int_equal(emu_run_kernel(&r, text, "k", 1, 1, &out, 1), RESULT_OK);
    assert_int_equal(r.found.n, 1);
    assert_non_null(strstr(r.found.items[0].text, "byte 8 of shared memory keep, which no thread"));
    emu_run_close(&r);
}

/* A finding in an inlined function names the function and the line of its call. The text about the
 * other side of a race does so too. */
static void names_the_caller(void **state)
{
    static const char text[] = PTX_HEAD
        ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<2>;\n"
        ".shared .align 4 .b8 s[256];\n.loc 1 20 0\nld.param.u64 %rd0, [out];\n"
        "mov.u32 %r0, %tid.x;\nmov.u32 %r1, s;\nmad.lo.u32 %r1, %r0, 4, %r1;\n"
        ".loc 1 8 3, function_name $put, inlined_at 1 22 5\nst.shared.u32 [%r1], %r0;\n"
        ".loc 1 7 3, function_name $outer, inlined_at 1 24 9\n"
        ".loc 1 5 3, function_name $get, inlined_at 1 7 3\n"
        "xor.b32 %r1, %r1, 128;\nld.shared.u32 %r2, [%r1];\n"
        ".loc 1 25 3\nst.global.u32 [%rd0], %r2;\nret;\n}\n.file 1 \"k.cu\"\n"
        ".section .debug_str\n{\n$get:\n.b8 95,90,78,50,110,115,51,103,101,116,73,102,69,69,118,0\n"
        "$put:\n.b8 95,90,90,51,112,117,116,102,69,78,75,85,108,118,69,95,99,108,69,118,0\n"
        "$outer:\n.b8 111,117,116,101,114,0\n}\n";
    struct emu_run r;
    (void)state;
    emu_run_open(&r, true);
    uint64_t out = emu_run_buffer(&r, "out", JOB_INOUT, &(uint32_t){0}, 4);
    assert_int_equal(emu_run_kernel(&r, text, "k", 1, 64, &out, 1), RESULT_OK);
    const struct result_finding *f = NULL;
    for (size_t i = 0; i < r.found.n; i++)
        if (r.found.items[i].line == 5)
            f = &r.found.items[i];
    assert_non_null(f);
    assert_non_null(strstr(f->text, "in get(), called at line 7 of outer(), called at line 24"));
    assert_non_null(strstr(f->other, "line 8 (in a function inside put(), called at line 22)"));
    emu_run_close(&r);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    ptx = slurp("t/cases/emu/kernels.ptx");
    source = slurp("t/cases/emu/kernels.cu");
    if (!ptx || !source) {
        printf("1..0 # skip run from the root of the tree\n");
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_host_thread),
        cmocka_unit_test(two_host_threads_and_a_seed),
        cmocka_unit_test(host_threads_change_nothing),
        cmocka_unit_test(right_values),
        cmocka_unit_test(names_the_place),
        cmocka_unit_test(names_the_byte_of_the_variable),
        cmocka_unit_test(names_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
