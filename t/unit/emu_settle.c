/*
 * emu_settle.c - if a launch has a race, the emulator repeats the launch (core/settle.c). The
 * second run must lose no finding of the first: neither another kind of finding nor another race.
 *
 * Most bodies run in two warps. The first warp reads: it comes to READ late, after the other warp
 * has stored to [%r1], and no barrier orders the two. %p0 is true in the first warp. %rd1 is the
 * thread's element of the output, %rd2 an input of 32 elements, %rd3 the block's element of a
 * workspace, %rd5 the start of the workspace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "emu_run.h"

#define RACE (1u << FIND_RACE)
#define UNINIT (1u << FIND_UNINIT)
#define OOB (1u << FIND_OOB)
#define INPUT (1u << FIND_INPUT)
#define NOTE (1u << FIND_NOTE)
#define BARRIER (1u << FIND_BARRIER)

#define OTHERS_STORE                                                                        \
    "@%p0 bra READER;\nst.shared.u32 [%r1], %r0;\nret;\nREADER:\nmov.u32 %r5, 0;\nDELAY:\n" \
    "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 3000;\n@%p1 bra DELAY;\n"
#define OTHERS_LATE                                                     \
    "@%p0 bra READER;\nmov.u32 %r5, 0;\nDELAY:\nadd.u32 %r5, %r5, 1;\n" \
    "setp.lt.u32 %p1, %r5, 3000;\n@%p1 bra DELAY;\nst.shared.u32 [%r1], %r0;\nret;\nREADER:\n"
#define READ "ld.shared.u32 %r3, [%r1];\n"
#define OUT "st.global.u32 [%rd1], %r3;\n"
#define BLANK "ld.shared.u32 %r4, [%r1+512];\n"
#define BEYOND "ld.global.u32 %r6, [%rd2+128];\n"

static const struct {
    const char *what, *body;
    uint32_t kinds;
} cases[] = {
    {"a race", OTHERS_STORE READ OUT, RACE},
    {"the others store too late, which the race says", OTHERS_LATE READ OUT, RACE},
    {"the others store too late, and to another cell only",
     OTHERS_LATE READ BLANK "add.u32 %r3, %r3, %r4;\n" OUT, RACE | UNINIT},
    {"a race whose value is dropped", OTHERS_STORE READ, NOTE},
    {"an undefined value is added to the value of the race",
     OTHERS_STORE READ BLANK "add.u32 %r3, %r3, %r4;\n" OUT, RACE | UNINIT},
    {"the same in the other order", OTHERS_STORE BLANK READ "add.u32 %r3, %r4, %r3;\n" OUT,
     RACE | UNINIT},
    {"a product of both",
     OTHERS_STORE READ BLANK "mov.u32 %r5, 7;\nmad.lo.u32 %r3, %r5, %r4, %r3;\n" OUT,
     RACE | UNINIT},
    {"both, through a shuffle",
     OTHERS_STORE READ BLANK
     "add.u32 %r3, %r3, %r4;\nshfl.sync.bfly.b32 %r3, %r3, 1, 31, -1;\n" OUT,
     RACE | UNINIT},
    {"both, stored in shared memory and loaded again",
     OTHERS_STORE READ BLANK "add.u32 %r3, %r3, %r4;\nst.shared.u32 [%r2+1024], %r3;\n"
                             "ld.shared.u32 %r3, [%r2+1024];\n" OUT,
     RACE | UNINIT},
    {"the kernel uses the undefined value alone",
     OTHERS_STORE READ BLANK "selp.u32 %r3, %r3, %r4, %p1;\n" OUT, NOTE | UNINIT},
    {"the kernel uses the value of the race alone",
     OTHERS_STORE READ BLANK "selp.u32 %r3, %r4, %r3, %p1;\n" OUT, RACE},
    {"out of bounds before the race", OTHERS_STORE BEYOND READ OUT, RACE | OOB},
    {"out of bounds after the race", OTHERS_STORE READ BEYOND OUT, RACE | OOB},
    {"out of bounds after a race whose value is dropped", OTHERS_STORE READ BEYOND, NOTE | OOB},
    {"a write to an input after the race", OTHERS_STORE READ "st.global.u32 [%rd2], %r0;\n" OUT,
     RACE | INPUT},
    {"a barrier that lanes go around",
     OTHERS_STORE READ
     "setp.gt.u32 %p2, %r0, 15;\n@%p2 bra SKIP;\nvote.sync.any.pred %p3, %p2, -1;\n"
     "SKIP:\n" OUT,
     RACE | BARRIER},
    /* The first run records the race at once. The second run records the read out of bounds first,
     * because the kernel drops the value that it loads the first time. */
    {"the value is dropped once and then used",
     OTHERS_STORE "mov.u32 %r5, 0;\nLOOP:\n" READ "@%p1 bra DONE;\n" BEYOND
                  "setp.lt.u32 %p1, %r5, 9;\nbra LOOP;\nDONE:\n" OUT,
     RACE | OOB},
};

static uint32_t kinds_found(const char *body, uint32_t grid, uint32_t threads, char *text, size_t n)
{
    char ptx[8192];
    snprintf(ptx, sizeof ptx,
             PTX_HEAD
             ".visible .entry k(.param .u64 out, .param .u64 in, .param .u64 ws)\n{\n"
             ".reg .b32 %%r<16>;\n.reg .b64 %%rd<8>;\n.reg .pred %%p<4>;\n"
             ".shared .align 16 .b8 s[4096];\n"
             "ld.param.u64 %%rd0, [out];\nld.param.u64 %%rd2, [in];\nld.param.u64 %%rd3, [ws];\n"
             "mov.u32 %%r0, %%tid.x;\nmov.u32 %%r9, %%ctaid.x;\nmul.wide.u32 %%rd1, %%r0, 4;\n"
             "add.u64 %%rd1, %%rd1, %%rd0;\nmov.u32 %%r1, s;\nmad.lo.u32 %%r2, %%r0, 4, %%r1;\n"
             "mov.u64 %%rd5, %%rd3;\nmul.wide.u32 %%rd4, %%r9, 4;\nadd.u64 %%rd3, %%rd3, %%rd4;\n"
             "setp.lt.u32 %%p0, %%r0, 32;\nmov.u32 %%r3, 0;\n.loc 1 100 1\n%sret;\n}\n.file 1 "
             "\"k.cu\"\n",
             body);
    struct emu_run r;
    emu_run_open(&r, true);
    uint64_t args[] = {emu_run_buffer(&r, "out", JOB_INOUT, (uint32_t[1024]){0}, 4096),
                       emu_run_buffer(&r, "in", JOB_INPUT, (uint32_t[32]){0}, 128),
                       emu_run_buffer(&r, "ws", JOB_INOUT, (uint32_t[64]){0}, 256)};
    enum result_status st = emu_run_kernel(&r, ptx, "k", grid, threads, args, 3);
    if (st != RESULT_OK)
        print_error("%s\n", r.err.msg);
    assert_int_equal(st, RESULT_OK);
    uint32_t kinds = 0;
    *text = '\0';
    for (size_t i = 0; i < r.found.n; i++) {
        size_t len = strlen(text);
        kinds |= 1u << r.found.items[i].kind;
        snprintf(text + len, n - len, "\n  %d: %s", (int)r.found.items[i].kind,
                 r.found.items[i].text);
    }
    emu_run_close(&r);
    return kinds;
}

static void a_race_hides_no_finding(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[4096];
        uint32_t got = kinds_found(cases[i].body, 1, 64, text, sizeof text);
        /* The other warp may return before a barrier. That is a note, which we ignore here. */
        if (!(cases[i].kinds & NOTE))
            got &= ~NOTE;
        if (got == cases[i].kinds)
            continue;
        print_error("%s:%s\n", cases[i].what, *text ? text : " nothing");
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* Every block adds 1 to word 0 of the workspace, and counts itself in word 1. The block that counts
 * itself last loads the sum from word 0. */
#define LAST_BLOCK                                                                              \
    "red.global.add.u32 [%rd5], 1;\n" FENCE_A "atom.global.add.u32 %r4, [%rd5+4], 1;\n" FENCE_B \
    "setp.eq.u32 %p1, %r4, 7;\n@%p1 ld.global.u32 %r3, [%rd5];\n@%p1 " OUT
#define COUNTER_RESET "@%p1 st.global.u32 [%rd5+4], 0;\n"

static void atomics_of_earlier_blocks(void **state)
{
    (void)state;
    char text[4096];
#define FENCE_A "fence.acq_rel.gpu;\n"
#define FENCE_B "fence.acq_rel.gpu;\n"
    assert_int_equal(kinds_found(LAST_BLOCK COUNTER_RESET, 8, 1, text, sizeof text), 0);
#undef FENCE_B
#define FENCE_B ""
    assert_int_equal(kinds_found(LAST_BLOCK, 8, 1, text, sizeof text), RACE);
    assert_non_null(strstr(text, "this block, the reading side, lacks a fence"));
#undef FENCE_A
#define FENCE_A ""
    assert_int_equal(kinds_found(LAST_BLOCK, 8, 1, text, sizeof text), RACE);
    assert_non_null(strstr(text, "both sides lack a fence"));
    assert_int_equal(kinds_found("atom.global.inc.u32 %r4, [%rd5], 7;\nsetp.eq.u32 %p1, %r4, 7;\n"
                                 "@%p1 st.global.u32 [%rd5], 0;\n",
                                 8, 1, text, sizeof text),
                     0);
}

#define EIGHT(x) x x x x x x x x
#define LOAD_WS "ld.global.u32 %r3, [%rd3];\n"

/* Any number of lanes and blocks may load a value that a race can change. If the kernel drops the
 * value, the race is a note. If one thread of the last block uses it, the race is a finding. */
static void many_reads_are_followed(void **state)
{
    (void)state;
    char text[4096];
    /* one thread of each block stores the cell that the others load: LATE_STORE after their loads,
     * EARLY_STORE before */
#define LATE_STORE                                                                              \
    "setp.ne.u32 %p1, %r0, 0;\n@%p1 bra READ;\nmov.u32 %r5, 0;\nDELAY:\nadd.u32 %r5, %r5, 1;\n" \
    "setp.lt.u32 %p1, %r5, 60000;\n@%p1 bra DELAY;\nst.global.u32 [%rd3], %r5;\nret;\nREAD:\n"
    uint32_t got = kinds_found(LATE_STORE EIGHT(LOAD_WS), 4, 1024, text, sizeof text);
    if (got != NOTE)
        print_error("reads before the store: %s\n", text);
    assert_int_equal(got, NOTE);
#define EARLY_STORE                                                                                \
    "setp.ne.u32 %p1, %r0, 1;\n@%p1 bra READ;\nst.global.u32 [%rd3], 7;\nREAD:\nmov.u32 %r5, 0;\n" \
    "DELAY:\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 300;\n@%p1 bra DELAY;\n"
    got = kinds_found(EARLY_STORE EIGHT(LOAD_WS), 64, 512, text, sizeof text);
    if (got != NOTE)
        print_error("reads after the store: %s\n", text);
    assert_int_equal(got, NOTE);
    got = kinds_found(EARLY_STORE EIGHT(LOAD_WS) "setp.eq.u32 %p1, %r0, 300;\n"
                                                 "setp.eq.and.u32 %p1, %r9, 63, %p1;\n@%p1 " OUT,
                      64, 512, text, sizeof text);
    assert_true(got & RACE);
}

/* Each thread reads the cell of another warp's thread, then its own. Much later it stores to its
 * own. No barrier orders the warps, so every cell is part of a race. But the race is not the reason
 * why a thread finds its own cell unwritten. */
#define READ_CELLS                                                                  \
    "add.u32 %r5, %r0, 32;\nand.b32 %r5, %r5, 255;\nmad.lo.u32 %r5, %r5, 4, %r1;\n" \
    "ld.shared.u32 %r4, [%r5];\nld.shared.u32 %r6, [%r2];\nadd.u32 %r3, %r4, %r6;\n"
#define STORE_LATER                                                                              \
    ".loc 1 102 1\nmov.u32 %r5, 0;\nDELAY:\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 3000;\n" \
    "@%p1 bra DELAY;\nst.shared.u32 [%r2], %r0;\n" OUT

static void finds_race_and_unwritten(const char *ptx)
{
    char text[4096];
    uint32_t got = kinds_found(ptx, 1, 256, text, sizeof text);
    if (got != (RACE | UNINIT))
        print_error("%s\n", text);
    assert_int_equal(got, RACE | UNINIT);
}

static void a_thread_reads_its_cell_before_it_writes_it(void **state)
{
    (void)state;
    finds_race_and_unwritten(READ_CELLS STORE_LATER);
}

/* Each thread also reads 512 cells that no thread writes, and drops their values. */
static void many_reads_hide_no_read(void **state)
{
    (void)state;
    finds_race_and_unwritten(READ_CELLS "add.u32 %r5, %r1, 1024;\nadd.u32 %r7, %r5, 2048;\n"
                                        ".loc 1 101 1\nREADS:\nld.shared.u32 %r8, [%r5];\n"
                                        "add.u32 %r5, %r5, 4;\nsetp.lt.u32 %p1, %r5, %r7;\n"
                                        "@%p1 bra READS;\n" STORE_LATER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_race_hides_no_finding),
        cmocka_unit_test(atomics_of_earlier_blocks),
        cmocka_unit_test(many_reads_are_followed),
        cmocka_unit_test(a_thread_reads_its_cell_before_it_writes_it),
        cmocka_unit_test(many_reads_hide_no_read),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
