/*
 * emu_undef.c - a load of memory that was never written is harmless until the value is used. The
 * tests show what counts as a use.
 *
 * Each body runs in one warp with %f1 loaded from shared memory that was never written; %f0 is 1,
 * %p0 is true, %p1 is false, %rd1 the output, written with %f0 at the end, %rd2 a workspace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "emu_run.h"

#define STORE "st.global.f32 [%rd1], %f2;\n"
#define OUT "st.global.u32 [%rd1], %r4;\n"
/* %r3 is a word of which only the lowest byte was written */
#define PART "st.shared.u8 [%r2+68], %r0;\nld.shared.u32 %r3, [%r2+68];\n"

static const struct {
    const char *what, *body;
    bool used;
} cases[] = {
    {"not looked at", "", false},
    {"overwritten", "mov.f32 %f1, %f0;\nadd.f32 %f2, %f1, %f0;\n" STORE, false},
    {"computed with and dropped", "fma.rn.f32 %f2, %f1, %f1, %f0;\nmov.f32 %f2, %f0;\n" STORE,
     false},
    {"not selected", "selp.f32 %f2, %f0, %f1, %p0;\n" STORE, false},
    {"behind a predicate that is false", "@%p1 st.global.f32 [%rd1], %f1;\n", false},
    {"a condition that is false anyway",
     "setp.gt.and.f32 %p2, %f1, %f0, %p1;\n@%p2 st.global.f32 [%rd1], %f0;\n", false},
    {"a condition that is true anyway",
     "setp.gt.f32 %p2, %f1, %f0;\nor.pred %p2, %p2, %p0;\n@%p2 st.global.f32 [%rd1], %f0;\n",
     false},
    {"the written half of a pair",
     "st.shared.f32 [%r2+64], %f0;\nld.shared.v2.f32 {%f2, %f3}, [%r2+64];\n" STORE, false},
    {"padding of a structure that is copied",
     "st.shared.f32 [%r2+64], %f0;\nst.shared.u8 [%r2+68], %r0;\n"
     "ld.shared.v4.u8 {%r3, %r4, %r5, %r6}, [%r2+68];\n"
     "st.shared.v4.u8 [%r2+580], {%r3, %r4, %r5, %r6};\n",
     false},
    {"a word with padding, copied by way of a register",
     "st.shared.u8 [%r2+68], %r0;\nld.shared.u32 %r3, [%r2+68];\nmov.u32 %r4, %r3;\n"
     "st.shared.u32 [%r2+580], %r4;\n",
     false},

    {"a word that is padding alone, copied",
     "st.shared.f32 [%r2+64], %f0;\nld.shared.u32 %r3, [%r2+68];\nst.shared.u32 [%r2+580], %r3;\n",
     false},
    {"padding that is copied twice",
     "st.shared.u8 [%r2+68], %r0;\nld.shared.u32 %r3, [%r2+68];\nst.shared.u32 [%r2+580], %r3;\n"
     "ld.shared.u32 %r4, [%r2+580];\nst.shared.u32 [%r2+68], %r4;\n",
     false},
    {"the written byte of a copied word",
     PART "st.shared.u32 [%r2+580], %r3;\nld.shared.u8 %r4, [%r2+580];\n" OUT, false},
    {"the written byte of a word that is copied to local memory",
     PART "st.local.u32 [l+4], %r3;\nld.local.u32 %r4, [l+4];\nand.b32 %r4, %r4, 255;\n" OUT,
     false},
    {"a local copy that is overwritten",
     PART "st.local.u32 [l], %r3;\nst.local.u32 [l], %r0;\nld.local.u32 %r4, [l];\n" OUT, false},
    {"a shared copy that is overwritten",
     PART "st.shared.u32 [%r2+580], %r3;\nst.shared.u32 [%r2+580], %r0;\n"
          "ld.shared.u32 %r4, [%r2+580];\n" OUT,
     false},
    {"a copy in a workspace", PART "st.global.u32 [%rd2], %r3;\nld.global.u8 %r4, [%rd2];\n" OUT,
     false},
    {"and", PART "and.b32 %r4, %r3, 0xff;\n" OUT, false},
    {"or with ones", PART "or.b32 %r4, %r3, 0xffffff00;\n" OUT, false},
    {"lop3", PART "lop3.b32 %r4, %r3, 0xff, %r0, 0xea;\n" OUT, false},
    {"bfe", PART "bfe.u32 %r4, %r3, 2, 6;\n" OUT, false},
    {"bfe of the sign", PART "bfe.s32 %r4, %r3, 2, 6;\n" OUT, false},
    {"bfi over the rest", PART "bfi.b32 %r4, %r0, %r3, 8, 24;\n" OUT, false},
    {"prmt", PART "prmt.b32 %r4, %r3, %r0, 0x5440;\n" OUT, false},
    {"shl", PART "shl.b32 %r4, %r3, 24;\n" OUT, false},
    {"shr after shl", PART "shl.b32 %r4, %r3, 24;\nshr.s32 %r4, %r4, 24;\n" OUT, false},
    {"shf", PART "shf.l.wrap.b32 %r4, %r0, %r3, 24;\nand.b32 %r4, %r4, 0xff000000;\n" OUT, false},
    {"cvt from a byte", PART "cvt.u32.u8 %r4, %r3;\n" OUT, false},
    {"cvt from a signed byte", PART "cvt.s32.s8 %r4, %r3;\n" OUT, false},
    {"a sum whose upper bits are masked",
     PART "add.u32 %r4, %r3, 77;\nand.b32 %r4, %r4, 0xff;\n" OUT, false},
    {"split into halves",
     "st.shared.u16 [%r2+68], %rs0;\nld.shared.u32 %r3, [%r2+68];\nmov.b32 {%rs1, %rs2}, %r3;\n"
     "cvt.u32.u16 %r4, %rs1;\n" OUT,
     false},
    {"a pair of halves, one of them written",
     "st.shared.u16 [%r2+68], %rs0;\nld.shared.u32 %r3, [%r2+68];\nadd.f16x2 %r3, %r3, %r3;\n"
     "mov.b32 {%rs1, %rs2}, %r3;\ncvt.u32.u16 %r4, %rs1;\n" OUT,
     false},
    {"packed again",
     "st.shared.u8 [%r2+68], %r0;\nld.shared.u32 %r3, [%r2+68];\nmov.b64 %rd3, {%r0, %r3};\n"
     "mov.b64 {%r4, %r5}, %rd3;\n" OUT,
     false},
    {"bytes differ that are written",
     "st.shared.u8 [%r2+68], 7;\nld.shared.u32 %r3, [%r2+68];\n"
     "setp.eq.u32 %p2, %r3, 0x11223344;\n@%p2 bra DONE;\nDONE:\n",
     false},
    {"another lane's, dropped", "mov.b32 %r3, %f1;\nshfl.sync.bfly.b32 %r3, %r3, 1, 31, -1;\n",
     false},

    {"padding that is computed with", PART "add.u32 %r4, %r3, 1;\n" OUT, true},
    {"an unwritten byte", PART "bfe.u32 %r4, %r3, 2, 7;\n" OUT, true},
    {"an unwritten byte by cvt", PART "cvt.u32.u16 %r4, %r3;\n" OUT, true},
    {"an unwritten byte by prmt", PART "prmt.b32 %r4, %r3, %r0, 0x5441;\n" OUT, true},
    {"a shift by an unwritten amount", PART "shl.b32 %r4, %r0, %r3;\n" OUT, true},
    {"a sum below its bits", PART "shr.u32 %r4, %r3, 4;\nadd.u32 %r4, %r4, 1;\n" OUT, true},
    {"bytes that may differ",
     "st.shared.u8 [%r2+68], 0x44;\nld.shared.u32 %r3, [%r2+68];\n"
     "setp.eq.u32 %p2, %r3, 0x11223344;\n@%p2 bra DONE;\nDONE:\n",
     true},
    {"the unwritten byte of a copied word",
     PART "st.shared.u32 [%r2+580], %r3;\nld.shared.u8 %r4, [%r2+581];\n" OUT, true},
    {"the unwritten byte of a local copy",
     PART "st.local.u32 [l+4], %r3;\nld.local.u8 %r4, [l+5];\n" OUT, true},
    {"the unwritten byte of a copy in a workspace",
     PART "st.global.u32 [%rd2], %r3;\nld.global.u8 %r4, [%rd2+1];\n" OUT, true},
    {"a copy that another lane reads",
     "st.shared.f32 [%r2+64], %f1;\nbar.warp.sync -1;\nxor.b32 %r3, %r2, 8;\n"
     "ld.shared.f32 %f2, [%r3+64];\n" STORE,
     true},
    {"padding that is part of the output",
     "st.shared.u8 [%r2+68], %r0;\nld.shared.u32 %r3, [%r2+68];\nst.global.u32 [%rd1], %r3;\n",
     true},
    {"the other half of a pair",
     "st.shared.f32 [%r2+64], %f0;\nld.shared.v2.f32 {%f3, %f2}, [%r2+64];\n" STORE, true},
    {"stored", "st.global.f32 [%rd1], %f1;\n", true},
    {"stored in shared memory and loaded again",
     "st.shared.f32 [%r2+64], %f1;\nld.shared.f32 %f2, [%r2+64];\n" STORE, true},
    {"added to", "add.f32 %f2, %f1, %f0;\n" STORE, true},
    {"a maximum that may swallow it", "max.f32 %f2, %f1, %f0;\n" STORE, true},
    {"selected", "selp.f32 %f2, %f1, %f0, %p0;\n" STORE, true},
    {"selects", "setp.gt.f32 %p2, %f1, %f0;\nselp.f32 %f2, %f0, %f3, %p2;\n" STORE, true},
    {"a branch that nobody takes", "setp.eq.f32 %p2, %f1, 0f4B189680;\n@%p2 bra DONE;\nDONE:\n",
     true},
    {"a store that nobody does",
     "setp.eq.f32 %p2, %f1, 0f4B189680;\n@%p2 st.global.f32 [%rd1], %f0;\n", true},
    {"a condition it decides",
     "setp.gt.or.f32 %p2, %f1, %f0, %p1;\n@%p2 st.global.f32 [%rd1], %f0;\n", true},
    {"an address",
     "mov.b32 %r3, %f1;\nand.b32 %r3, %r3, 4;\nadd.u32 %r3, %r3, %r2;\nst.shared.f32 [%r3], %f0;\n",
     true},
    {"another lane's", "mov.b32 %r3, %f1;\nshfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;\n" OUT, true},
    {"a vote", "setp.gt.f32 %p2, %f1, %f0;\nvote.sync.ballot.b32 %r4, %p2, -1;\n" OUT, true},
    {"a reduction", "mov.b32 %r3, %f1;\nredux.sync.add.u32 %r4, %r3, -1;\n" OUT, true},
};

static size_t findings(const char *body)
{
    char ptx[4096];
    snprintf(ptx, sizeof ptx,
             PTX_HEAD
             ".visible .entry k(.param .u64 out, .param .u64 ws)\n{\n.reg .b32 %%r<8>;\n"
             ".reg .b16 %%rs<4>;\n.reg .b64 %%rd<4>;\n.reg .f32 %%f<8>;\n.reg .pred %%p<4>;\n"
             ".shared .align 16 .b8 s[1024];\n.local .align 16 .b8 l[16];\n"
             "ld.param.u64 %%rd0, [out];\n"
             "mov.u32 %%r0, %%tid.x;\ncvt.u16.u32 %%rs0, %%r0;\nmul.wide.u32 %%rd1, %%r0, 4;\n"
             "ld.param.u64 %%rd2, [ws];\nadd.u64 %%rd2, %%rd2, %%rd1;\n"
             "add.u64 %%rd1, %%rd1, %%rd0;\nmov.u32 %%r1, s;\nmad.lo.u32 %%r2, %%r0, 8, %%r1;\n"
             "mov.f32 %%f0, 0f3F800000;\nmov.f32 %%f3, %%f0;\n"
             "setp.lt.u32 %%p0, %%r0, 99;\nnot.pred %%p1, %%p0;\n"
             "ld.shared.f32 %%f1, [%%r1+512];\n%sst.global.f32 [%%rd1], %%f0;\nret;\n}\n",
             body);
    struct emu_run r;
    emu_run_open(&r, true);
    uint64_t out = emu_run_buffer(&r, "out", JOB_OUTPUT, NULL, 128);
    uint64_t args[] = {out, emu_run_buffer(&r, "ws", JOB_WORKSPACE, NULL, 128)};
    enum result_status st = emu_run_kernel(&r, ptx, "k", 1, 32, args, 2);
    if (st != RESULT_OK)
        print_error("%s\n", r.err.msg);
    assert_int_equal(st, RESULT_OK);
    size_t n = r.found.n;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(r.found.items[i].kind, FIND_UNINIT);
    emu_run_close(&r);
    return n;
}

static void only_uses_are_reported(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = findings(cases[i].body);
        if (n == (cases[i].used ? 1 : 0))
            continue;
        print_error("%s: %zu findings\n", cases[i].what, n);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_uses_are_reported)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
