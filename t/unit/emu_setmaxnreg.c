/*
 * setmaxnreg: warps that ask for more registers than their block got at launch wait for ever. The
 * instruction has no effect if ptxas does not know how many registers a thread starts with.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "emu_run.h"

/* The last 128 threads give registers back, the others take some. The kernel has the text `bounds`
 * after its parameters. */
static enum result_status launch(struct emu_run *r, const char *bounds, uint32_t threads, int dec,
                                 int inc, uint32_t reported)
{
    struct strbuf ptx = STRBUF_INIT(4096);
    strbuf_addf(&ptx,
                PTX_HEAD ".visible .entry k(.param .u64 out) %s {\n"
                         " .reg .b32 %%r<4>; .reg .b64 %%rd<4>; .reg .pred %%p1;\n"
                         " mov.u32 %%r1, %%tid.x;\n"
                         " setp.ge.u32 %%p1, %%r1, %u;\n"
                         " @%%p1 bra GIVE;\n"
                         " setmaxnreg.inc.sync.aligned.u32 %d;\n"
                         " bra.uni STORE;\n"
                         "GIVE:\n"
                         " setmaxnreg.dec.sync.aligned.u32 %d;\n"
                         "STORE:\n"
                         " ld.param.u64 %%rd1, [out];\n"
                         " mul.wide.u32 %%rd2, %%r1, 4;\n"
                         " add.s64 %%rd3, %%rd1, %%rd2;\n"
                         " st.global.u32 [%%rd3], %%r1;\n"
                         " ret;\n}\n",
                bounds, threads - 128, inc, dec);
    emu_run_open(r, true);
    r->regs = reported;
    uint64_t out = emu_run_buffer(r, "out", JOB_OUTPUT, NULL, 4ull * threads);
    enum result_status st = emu_run_kernel(r, ptx.buf, "k", 1, threads, &out, 1);
    strbuf_release(&ptx);
    return st;
}

static const struct {
    const char *bounds;
    uint32_t threads;
    int dec, inc;
    uint32_t reported; /* by the compiler; 0 = there is no report */
    enum result_status status;
} cases[] = {
    {".maxntid 384, 1, 1 .minnctapersm 1", 384, 40, 232, 168, RESULT_OK},
    {".maxntid 384, 1, 1 .minnctapersm 1", 384, 24, 240, 168, RESULT_OK},
    {".maxntid 384, 1, 1 .minnctapersm 1", 384, 32, 240, 168, RESULT_HANG},
    {".maxntid 384, 1, 1 .minnctapersm 1", 384, 32, 240, 0, RESULT_HANG},
    {".maxntid 384, 1, 1 .minnctapersm 2", 384, 40, 96, 80, RESULT_OK},
    {".maxntid 384, 1, 1 .minnctapersm 2", 384, 40, 112, 80, RESULT_HANG},
    {".maxntid 512, 1, 1 .minnctapersm 1", 512, 32, 160, 128, RESULT_OK},
    {".maxntid 512, 1, 1 .minnctapersm 1", 512, 40, 160, 128, RESULT_HANG},
    {".maxntid 256, 1, 1 .minnctapersm 1", 256, 240, 240, 240, RESULT_OK},
    {".maxnreg 128", 256, 40, 216, 128, RESULT_OK},
    {".maxnreg 128", 256, 40, 224, 128, RESULT_HANG},
    /* ptxas drops the instruction */
    {"", 384, 32, 240, 0, RESULT_OK},
    {".maxntid 384, 1, 1", 384, 32, 240, 0, RESULT_OK},
    {".maxntid 384, 1, 1 .minnctapersm 1", 384, 32, 240, 122, RESULT_OK},
};

static void test_pool(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct emu_run r;
        enum result_status st = launch(&r, cases[i].bounds, cases[i].threads, cases[i].dec,
                                       cases[i].inc, cases[i].reported);
        if (st != cases[i].status)
            print_error("case %zu (%s, %d and %d): %s\n", i, cases[i].bounds, cases[i].dec,
                        cases[i].inc, r.err.msg);
        assert_int_equal(st, cases[i].status);
        emu_run_close(&r);
    }
}

static void test_says_how_many(void **state)
{
    struct emu_run r;
    assert_int_equal(launch(&r, ".maxntid 384, 1, 1 .minnctapersm 1", 384, 32, 240, 168),
                     RESULT_HANG);
    assert_int_equal(r.found.n, 1);
    assert_int_equal(r.found.items[0].kind, FIND_DEADLOCK);
    assert_non_null(strstr(r.found.items[0].text, "the block started with 64512 (168 for each "
                                                  "thread), and its warps hold or ask for 65536"));
    emu_run_close(&r);
}

static void test_bad_count(void **state)
{
    struct emu_run r;
    assert_int_equal(launch(&r, "", 256, 20, 240, 0), RESULT_LOAD_FAILED);
    assert_non_null(strstr(r.err.msg, "a multiple of 8 from 24 to 256"));
    emu_run_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_says_how_many),
        cmocka_unit_test(test_bad_count),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
