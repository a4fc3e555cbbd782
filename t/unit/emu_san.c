/*
 * The sanitizer and the scheduler on compiled CUDA: t/cases/emu/kernels.ptx, each kernel one source
 * line. A kernel whose name begins with good_ must run and find nothing; the others must be
 * reported with the kind given here, at the line where they stand in kernels.cu.
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
    {"unwritten", RESULT_OK, FIND_UNWRITTEN},
    {"barrier_in_branch", RESULT_OK, FIND_BARRIER},
    {"barrier_odd_lanes", RESULT_OK, FIND_BARRIER},
    {"barrier_after_exit", RESULT_OK, FIND_NOTE},
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
        cmocka_unit_test(right_values),
        cmocka_unit_test(names_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
