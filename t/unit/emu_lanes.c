/*
 * emu_lanes.c - lanes that do not take part in a shuffle, vote, match, reduction or barrier: they
 * have exited, they go around the instruction, or its mask leaves them out.
 *
 * Every body runs with several seeds, each of which gives another order of warps. All must give the
 * same findings. In a body, %r0 is the thread, %r1 the lane, %r2 the value (thread + 1), %rd1 the
 * thread's output, %r9 the address of shared memory for the thread. The body ends with its own
 * `ret`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "emu_run.h"

#define STORE "st.global.u32 [%rd1], %r3;\nret;\n"
#define LANE0 "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\nst.global.u32 [%rd1], %r3;\nDONE:\nret;\n"
#define DOWN(n) "shfl.sync.down.b32 %r4, %r3, " #n ", 31, -1;\nadd.u32 %r3, %r3, %r4;\n"
#define UPPER_RETURNS "setp.ge.u32 %p0, %r1, 16;\n@%p0 ret;\n"
#define UPPER_SKIPS "setp.ge.u32 %p0, %r1, 16;\n@%p0 bra SKIP;\n"
#define MOV "mov.u32 %r3, %r2;\n"
/* Lanes below 16 execute `low`, the others `high`. */
#define BRANCHES(low, high) UPPER_SKIPS low "bra.uni JOIN;\nSKIP:\n" high "JOIN:\n"
/* Traps if %r3 is not `low` in a lane below 16, or not `high` in another lane. */
#define EXPECT(low, high)                                     \
    "setp.lt.u32 %p0, %r1, 16;\nselp.b32 %r6, " low ", " high \
    ", %p0;\nsetp.ne.u32 %p0, %r3, %r6;\n"                    \
    "@%p0 trap;\n"
#define BFLY(d, src) "shfl.sync.bfly.b32 " d ", " src ", 16, 31, -1;\n"
#define UNDEFINED "ld.shared.u32 %r4, [%r9+512];\n"

enum { CLEAN = FIND_COUNT };

struct lane_case {
    const char *what;
    uint32_t threads;
    int want; /* a kind of finding, or CLEAN */
    const char *body;
};

static const struct lane_case shuffles[] = {
    {"a sum over the warp", 64, CLEAN, MOV DOWN(16) DOWN(8) DOWN(4) DOWN(2) DOWN(1) LANE0},
    {"a sum over half a warp, the block's end", 48, CLEAN,
     MOV DOWN(8) DOWN(4) DOWN(2) DOWN(1) LANE0},
    {"a sum over the lanes that did not return", 32, CLEAN,
     UPPER_RETURNS MOV DOWN(8) DOWN(4) DOWN(2) DOWN(1) LANE0},
    {"a value of a returned lane that is not selected", 32, CLEAN,
     UPPER_RETURNS "shfl.sync.bfly.b32 %r4, %r2, 16, 31, -1;\n"
                   "setp.lt.u32 %p1, %r1, 32;\nselp.b32 %r3, %r2, %r4, %p1;\n" STORE},
    {"a source that is out of range gives the own value", 32, CLEAN,
     "shfl.sync.up.b32 %r3, %r2, 1, 0, -1;\n" STORE},
    {"a segment of the warp", 32, CLEAN,
     UPPER_RETURNS "shfl.sync.down.b32 %r3, %r2, 3, 0x1c03, -1;\n" STORE},
    {"the mask of the active lanes", 32, CLEAN,
     UPPER_SKIPS "activemask.b32 %r5;\nshfl.sync.bfly.b32 %r3, %r2, 8, 31, %r5;\n" STORE
                 "SKIP:\nmov.u32 %r3, 0;\n" STORE},
    {"two groups with a mask each", 32, CLEAN,
     "setp.lt.u32 %p0, %r1, 16;\nselp.b32 %r5, 0xffff, 0xffff0000, %p0;\n"
     "shfl.sync.bfly.b32 %r3, %r2, 8, 31, %r5;\n" STORE},
    {"lanes leave a loop early and return", 32, CLEAN,
     "shr.u32 %r6, %r1, 4;\nmov.u32 %r5, 0;\nLOOP:\nshfl.sync.idx.b32 %r3, %r2, %r1, 31, -1;\n"
     "add.u32 %r5, %r5, 1;\nsetp.le.u32 %p1, %r5, %r6;\n@%p1 bra LOOP;\n" STORE},
    {"a barrier of the warp after a return", 32, CLEAN,
     UPPER_RETURNS "bar.warp.sync -1;\n" MOV STORE},

    {"a copy of the shuffle in each of two branches", 32, CLEAN,
     "xor.b32 %r4, %r1, 16;\nadd.u32 %r7, %r4, 1;\nadd.u32 %r8, %r4, 101;\n" BRANCHES(
         BFLY("%r3", "%r2"), "add.u32 %r5, %r2, 100;\n" BFLY("%r3|%p2", "%r5")) EXPECT("%r8", "%r7")
         STORE},
    {"a loop for lane 0 and another for the other lanes", 32, CLEAN,
     "mov.u32 %r5, 0;\nsetp.eq.u32 %p0, %r1, 0;\n@%p0 bra ZERO;\n"
     "REST:\nshfl.sync.idx.b32 %r5, %r4, 0, 31, -1;\nsetp.lt.u32 %p1, %r5, 3;\n@%p1 bra REST;\n"
     "bra.uni JOIN;\nZERO:\nadd.u32 %r5, %r5, 1;\nshfl.sync.idx.b32 %r5, %r5, 0, 31, -1;\n"
     "setp.lt.u32 %p1, %r5, 3;\n@%p1 bra ZERO;\nJOIN:\nmov.u32 %r3, %r5;\n" EXPECT("3", "3") STORE},
    {"an undefined value from the other branch, dropped", 32, CLEAN,
     BRANCHES(BFLY("%r3", "%r2"), UNDEFINED BFLY("%r3", "%r4")) "@%p0 st.global.u32 [%rd1], %r3;\n"
                                                                "ret;\n"},
    {"an undefined value from the other branch", 32, FIND_UNINIT,
     BRANCHES(BFLY("%r3", "%r2"), UNDEFINED BFLY("%r3", "%r4")) STORE},
    {"two branches with different masks", 32, FIND_BARRIER,
     BRANCHES(BFLY("%r3", "%r2"), "shfl.sync.bfly.b32 %r3, %r2, 16, 31, 0x7fffffff;\n") STORE},
    {"two branches with different shuffles", 32, FIND_BARRIER,
     BRANCHES(BFLY("%r3", "%r2"), "shfl.sync.down.b32 %r3, %r2, 16, 31, -1;\n") STORE},
    {"lanes go around a shuffle and wait at the next", 32, FIND_BARRIER,
     UPPER_SKIPS BFLY("%r3", "%r2") "SKIP:\n" BFLY("%r3", "%r2") MOV STORE},
    {"lanes wait at the second shuffle of a loop", 32, FIND_BARRIER,
     "mov.u32 %r5, 0;\nLOOP:\n" UPPER_SKIPS BFLY("%r3", "%r2") "SKIP:\n" BFLY(
         "%r3",
         "%r2") "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 3;\n@%p1 bra LOOP;\n" MOV STORE},
    {"a value of a returned lane", 32, FIND_BARRIER,
     UPPER_RETURNS "shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1;\n" STORE},
    {"a lane past the end of the block", 48, FIND_BARRIER,
     "shfl.sync.down.b32 %r3, %r2, 16, 31, -1;\n" STORE},
    {"a sum that begins too far up", 48, FIND_BARRIER,
     MOV DOWN(16) DOWN(8) DOWN(4) DOWN(2) DOWN(1) LANE0},
    {"a lane that the mask does not name", 32, FIND_BARRIER,
     "setp.lt.u32 %p0, %r1, 16;\nselp.b32 %r5, 0xffff, 0xffff0000, %p0;\n"
     "shfl.sync.bfly.b32 %r3, %r2, 16, 31, %r5;\n" STORE},
    {"by way of other lanes", 32, FIND_BARRIER,
     UPPER_RETURNS "shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1;\n"
                   "shfl.sync.bfly.b32 %r3, %r3, 1, 31, -1;\n" STORE},
    {"by way of a vote", 32, FIND_BARRIER,
     UPPER_RETURNS "shfl.sync.bfly.b32 %r3, %r2, 16, 31, 0xffff;\nsetp.gt.u32 %p1, %r3, 5;\n"
                   "vote.sync.ballot.b32 %r3, %p1, 0xffff;\n" STORE},
    {"as an address", 32, FIND_BARRIER,
     UPPER_RETURNS "shfl.sync.bfly.b32 %r3, %r2, 16, 31, -1;\nand.b32 %r3, %r3, 4;\n"
                   "add.u32 %r3, %r3, %r9;\nst.shared.u32 [%r3], %r2;\nret;\n"},
    {"lanes that go around the shuffle", 32, FIND_BARRIER,
     UPPER_SKIPS "shfl.sync.down.b32 %r4, %r2, 1, 31, -1;\nSKIP:\n" MOV STORE},
    {"masks that disagree", 32, FIND_BARRIER,
     "setp.eq.u32 %p0, %r1, 0;\nselp.b32 %r5, -1, 0xfffffffe, %p0;\n"
     "shfl.sync.idx.b32 %r3, %r2, %r1, 31, %r5;\n" STORE},
    {"a lane that is not in its own mask", 32, FIND_BARRIER,
     "shfl.sync.idx.b32 %r3, %r2, %r1, 31, 0xffff;\n" STORE},
};

static const struct lane_case combiners[] = {
    {"ballot of all lanes", 32, CLEAN,
     "setp.gt.u32 %p1, %r2, 5;\nvote.sync.ballot.b32 %r3, %p1, -1;\n" STORE},
    {"the block's last lanes", 48, CLEAN,
     "setp.gt.u32 %p1, %r2, 5;\nvote.sync.ballot.b32 %r3, %p1, -1;\n" STORE},
    {"ballot after a return", 32, FIND_NOTE,
     UPPER_RETURNS "setp.gt.u32 %p1, %r2, 5;\nvote.sync.ballot.b32 %r3, %p1, -1;\n" STORE},
    {"match after a return", 32, FIND_NOTE,
     UPPER_RETURNS "match.any.sync.b32 %r3, %r2, -1;\n" STORE},
    {"redux after a return", 32, FIND_NOTE,
     UPPER_RETURNS "redux.sync.add.u32 %r3, %r2, -1;\n" STORE},
    {"ballot in a loop that lanes leave early", 32, FIND_NOTE,
     "shr.u32 %r6, %r1, 4;\nmov.u32 %r5, 0;\nLOOP:\nvote.sync.ballot.b32 %r3, %p1, -1;\n"
     "add.u32 %r5, %r5, 1;\nsetp.le.u32 %p2, %r5, %r6;\n@%p2 bra LOOP;\n" STORE},
    {"an undefined value voted on and dropped", 32, CLEAN,
     UPPER_RETURNS "shfl.sync.bfly.b32 %r3, %r2, 16, 31, 0xffff;\nsetp.gt.u32 %p1, %r3, 5;\n"
                   "vote.sync.any.pred %p1, %p1, 0xffff;\n" MOV STORE},
    {"a ballot in each of two branches", 32, CLEAN,
     "setp.lt.u32 %p1, %r1, 20;\n" BRANCHES("vote.sync.ballot.b32 %r3, %p1, -1;\n",
                                            "vote.sync.ballot.b32 %r3, !%p1, -1;\n")
         EXPECT("0xfff0ffff", "0xfff0ffff") STORE},
    {"a vote in each of two branches", 32, CLEAN,
     "setp.lt.u32 %p1, %r1, 16;\n" BRANCHES(
         "vote.sync.all.pred %p2, %p1, -1;\n",
         "vote.sync.all.pred %p3, !%p1, -1;\n") "selp.b32 %r3, 1, 0, %p2;\nselp.b32 %r4, 1, 0, "
                                                "%p3;\nsetp.lt.u32 %p0, %r1, 16;\n"
                                                "selp.b32 %r3, %r3, %r4, %p0;\n" EXPECT("1", "1")
                                                    STORE},
    {"a match in each of two branches", 32, CLEAN,
     "shr.u32 %r4, %r1, 3;\nand.b32 %r5, %r4, 1;\n" BRANCHES(
         "match.any.sync.b32 %r3, %r5, -1;\n",
         "sub.u32 %r7, %r4, 2;\nmatch.any.sync.b32 %r3, %r7, -1;\n") "setp.eq.u32 %p0, %r5, "
                                                                     "0;\nselp.b32 %r8, "
                                                                     "0x00ff00ff, 0xff00ff00, "
                                                                     "%p0;\n" EXPECT("%r8", "%r8")
                                                                         STORE},
    {"a reduction in each of two branches", 32, CLEAN,
     BRANCHES("redux.sync.add.u32 %r3, %r2, -1;\n", "redux.sync.add.u32 %r3, 100, -1;\n")
         EXPECT("1736", "1736") STORE},
    {"an election in each of two branches", 32, CLEAN,
     BRANCHES("elect.sync %r3|%p2, -1;\n", "elect.sync %r3|%p3, -1;\n") EXPECT("0", "0") STORE},
    {"a barrier of the warp in each of two branches", 32, CLEAN,
     MOV BRANCHES("bar.warp.sync -1;\n", "bar.warp.sync -1;\n") STORE},
    {"lanes go around a ballot", 32, FIND_BARRIER,
     UPPER_SKIPS "vote.sync.ballot.b32 %r4, %p0, -1;\nSKIP:\n" MOV STORE},
    {"lanes go around a match", 32, FIND_BARRIER,
     UPPER_SKIPS "match.any.sync.b32 %r4, %r2, -1;\nSKIP:\n" MOV STORE},
    {"lanes go around a reduction", 32, FIND_BARRIER,
     UPPER_SKIPS "redux.sync.add.u32 %r4, %r2, -1;\nSKIP:\n" MOV STORE},
    {"lanes go around an election", 32, FIND_BARRIER,
     UPPER_SKIPS "elect.sync %r4|%p1, -1;\nSKIP:\n" MOV STORE},
    {"lanes wait at a barrier instead", 32, FIND_BARRIER,
     UPPER_SKIPS "vote.sync.ballot.b32 %r4, %p0, -1;\nSKIP:\nbarrier.sync 0;\n" MOV STORE},
};

#define PASS "add.u32 %r3, %r2, 1;\n"
static const struct lane_case barriers[] = {
    {"nobody exits", 96, CLEAN, MOV "bar.sync 0;\n" STORE},
    {"a warp returns before the barrier", 96, FIND_NOTE,
     "setp.ge.u32 %p0, %r0, 64;\n@%p0 ret;\nbar.sync 0;\n" MOV STORE},
    {"half a warp returns before a barrier that is not aligned", 96, FIND_NOTE,
     "setp.ge.u32 %p0, %r0, 80;\n@%p0 ret;\nbarrier.sync 0;\n" MOV STORE},
    {"a warp works and returns", 96, FIND_NOTE,
     "setp.lt.u32 %p0, %r0, 64;\n@%p0 bra STAY;\nst.shared.u32 [%r9], %r2;\n" MOV STORE
     "STAY:\nbar.sync 0;\n" MOV STORE},
    {"it stores, and others read that after the barrier", 64, FIND_NOTE,
     "setp.lt.u32 %p0, %r0, 32;\n@%p0 bra STAY;\nst.shared.u32 [%r9], %r2;\nret;\n"
     "STAY:\nbar.sync 0;\nld.shared.u32 %r3, [%r9+128];\n" STORE},
    {"warps leave a loop of barriers early", 96, FIND_NOTE,
     "shr.u32 %r6, %r0, 5;\nmov.u32 %r5, 0;\nLOOP:\nbar.sync 0;\nadd.u32 %r5, %r5, 1;\n"
     "setp.le.u32 %p1, %r5, %r6;\n@%p1 bra LOOP;\n" MOV STORE},
    {"a loop with two barriers", 96, FIND_NOTE,
     "shr.u32 %r6, %r0, 5;\nmov.u32 %r5, 0;\nLOOP:\nbar.sync 0;\nst.shared.u32 [%r9], %r5;\n"
     "bar.sync 0;\nadd.u32 %r5, %r5, 1;\nsetp.le.u32 %p1, %r5, %r6;\n@%p1 bra LOOP;\n" MOV STORE},

    {"warps with different work meet at barriers of their own", 96, CLEAN,
     "setp.ge.u32 %p0, %r0, 64;\n@%p0 bra ELSE;\nst.shared.u32 [%r9], %r2;\nbar.sync 0;\n"
     "bra JOIN;\nELSE:\nbar.sync 0;\nst.shared.u32 [%r9], %r2;\nJOIN:\nbar.sync 0;\n" MOV STORE},
    {"the same in a loop", 96, CLEAN,
     "mov.u32 %r5, 0;\nLOOP:\nsetp.ge.u32 %p0, %r0, 64;\n@%p0 bra ELSE;\nbar.sync 0;\n"
     "bra JOIN;\nELSE:\nbar.sync 0;\nJOIN:\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 3;\n"
     "@%p1 bra LOOP;\n" MOV STORE},
    {"half a warp returns before the barrier", 96, FIND_BARRIER,
     "setp.ge.u32 %p0, %r0, 80;\n@%p0 ret;\nbar.sync 0;\n" MOV STORE},
    {"every second lane returns before the barrier", 96, FIND_BARRIER,
     "and.b32 %r4, %r0, 1;\nsetp.eq.u32 %p0, %r4, 0;\n@%p0 ret;\nbar.sync 0;\n" MOV STORE},
    {"a warp is one barrier ahead of the others", 96, FIND_BARRIER,
     "setp.ge.u32 %p0, %r0, 64;\n@%p0 bra LAST;\nbar.sync 0;\n" MOV "bar.sync 0;\n" MOV
     "LAST:\nbar.sync 0;\n" MOV STORE},
    {"a warp meets the others one barrier ahead, and they meet the next one alone", 96,
     FIND_BARRIER,
     "setp.ge.u32 %p0, %r0, 64;\n@%p0 bra LAST;\nst.shared.u32 [%r9], %r2;\nbar.sync 0;\n"
     "LAST:\nbar.sync 0;\n" MOV STORE},
    {"a warp goes around the barrier", 96, FIND_BARRIER,
     "setp.ge.u32 %p0, %r0, 64;\n@%p0 bra SKIP;\nbar.sync 0;\nSKIP:\n" PASS STORE},
    {"lanes go around the barrier", 96, FIND_BARRIER,
     "and.b32 %r4, %r0, 1;\nsetp.eq.u32 %p0, %r4, 0;\n@%p0 bra SKIP;\nbar.sync 0;\nSKIP:\n" PASS
         STORE},
    {"a warp whose barrier has a false predicate", 96, FIND_BARRIER,
     "setp.lt.u32 %p0, %r0, 64;\n@%p0 bar.sync 0;\n" PASS STORE},
    {"a warp goes around the second barrier", 96, FIND_BARRIER,
     "bar.sync 0;\nsetp.ge.u32 %p0, %r0, 64;\n@%p0 bra SKIP;\nbar.sync 0;\nSKIP:\n" PASS STORE},
    {"a warp goes around it and then returns elsewhere", 96, FIND_BARRIER,
     "setp.ge.u32 %p0, %r0, 64;\n@%p0 bra SKIP;\nbar.sync 0;\nSKIP:\n" PASS
     "setp.ge.u32 %p1, %r0, 90;\n@%p1 bra OTHER;\n" STORE "OTHER:\n" STORE},
    {"it passed the barrier, stored, and exited: that orders nothing", 64, FIND_RACE,
     "bar.sync 0;\nsetp.lt.u32 %p0, %r0, 32;\n@%p0 bra STAY;\nst.shared.u32 [%r9], %r2;\n" MOV STORE
     "STAY:\nld.shared.u32 %r3, [%r9+128];\n" STORE},
};

#define BODY_LINE 100 /* the source line of every body, set by .loc */

static void set_up(struct emu_run *r, uint64_t seed)
{
    emu_run_open(r, true);
    r->job.seed = seed;
    r->d->ops->close(r->d);
    assert_int_equal(emu_open(&r->d, &r->job, &r->err), 0);
}

/* Runs the body of a case. Returns the kinds of its findings as a set: bit k is set if a finding
 * has kind k. Writes the texts of the findings to `text`, which has room for n characters. */
static uint32_t kinds_found(const struct lane_case *c, uint64_t seed, char *text, size_t n)
{
    char ptx[4096];
    snprintf(ptx, sizeof ptx,
             PTX_HEAD
             ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %%r<10>;\n"
             ".reg .b64 %%rd<4>;\n.reg .pred %%p<4>;\n.shared .align 16 .b8 s[1024];\n"
             "ld.param.u64 %%rd0, [out];\nmov.u32 %%r0, %%tid.x;\nand.b32 %%r1, %%r0, 31;\n"
             "add.u32 %%r2, %%r0, 1;\nmul.wide.u32 %%rd1, %%r0, 4;\nadd.u64 %%rd1, %%rd1, %%rd0;\n"
             "mov.u32 %%r9, s;\nmad.lo.u32 %%r9, %%r0, 4, %%r9;\nsetp.lt.u32 %%p1, %%r0, 7;\n"
             "mov.u32 %%r3, 0;\n.loc 1 %d 1\n%s}\n.file 1 \"k.cu\"\n",
             BODY_LINE, c->body);
    struct emu_run r;
    set_up(&r, seed);
    uint64_t out = emu_run_buffer(&r, "out", JOB_INOUT, (uint32_t[256]){0}, 1024);
    enum result_status st = emu_run_kernel(&r, ptx, "k", 1, c->threads, &out, 1);
    if (st != RESULT_OK)
        print_error("%s: %s\n", c->what, r.err.msg);
    assert_int_equal(st, RESULT_OK);
    uint32_t kinds = 0;
    *text = '\0';
    for (size_t i = 0; i < r.found.n; i++) {
        kinds |= 1u << r.found.items[i].kind;
        assert_int_equal(r.found.items[i].line, BODY_LINE);
        snprintf(text + strlen(text), n - strlen(text), "[%s]", r.found.items[i].text);
    }
    emu_run_close(&r);
    return kinds;
}

static void check_all(const struct lane_case *cases, size_t n)
{
    int wrong = 0;
    char text[1024];
    for (size_t i = 0; i < n; i++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            uint32_t got = kinds_found(&cases[i], seed, text, sizeof text);
            uint32_t want = cases[i].want == CLEAN ? 0 : 1u << cases[i].want;
            if (want && cases[i].want != FIND_NOTE)
                got &= ~(1u << FIND_NOTE); /* a note may stand beside a finding */
            if (got == want)
                continue;
            print_error("%s, seed %d: %s\n", cases[i].what, (int)seed, *text ? text : "clean");
            wrong++;
            break;
        }
    assert_int_equal(wrong, 0);
}

static void shuffles_read_lanes_that_take_part(void **state)
{
    (void)state;
    check_all(shuffles, ARRAY_LEN(shuffles));
}

static void votes_matches_and_reductions(void **state)
{
    (void)state;
    check_all(combiners, ARRAY_LEN(combiners));
}

static void barriers_wait_for_live_threads(void **state)
{
    (void)state;
    check_all(barriers, ARRAY_LEN(barriers));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffles_read_lanes_that_take_part),
        cmocka_unit_test(votes_matches_and_reductions),
        cmocka_unit_test(barriers_wait_for_live_threads),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
