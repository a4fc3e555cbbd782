/*
 * emu_undef.c - a load of memory that was never written is harmless until the value is used. The
 * tests show what counts as a use.
 *
 * Each body runs in one warp. %f1 is loaded from shared memory that was never written. %f0 is 1,
 * %p0 is true, %p1 is false. %rd1 is the lane's element of the output, to which the kernel stores
 * %f0 at the end. %rd2 is the lane's element of a workspace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "emu_run.h"

#define STORE "st.global.f32 [%rd1], %f2;\n"
#define OUT "st.global.u32 [%rd1], %r4;\n"
/* Loads %r3, a word of which only the lowest byte was written. */
#define PART "st.shared.u8 [%r2+68], %r0;\nld.shared.u32 %r3, [%r2+68];\n"

struct undef_case {
    const char *what, *body;
    bool used;
};

static const struct undef_case cases[] = {
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

/* The matrices lie in shared memory: 32 rows of 16 bytes. In lane i, %r7 is the address of row i.
 * ROWS_0 writes rows 0 to 7, the first matrix that ldmatrix loads. ROWS_8 writes rows 8 to 15,
 * ROWS_16 rows 16 to 31, and ROWS_ALL all rows. */
#define ROWS_0 "mad.lo.u32 %r6, %r0, 4, %r1;\nst.shared.u32 [%r6+0], %r0;\n"
#define ROWS_8 "mad.lo.u32 %r6, %r0, 4, %r1;\nst.shared.u32 [%r6+128], %r0;\n"
#define ROWS_16 \
    "mad.lo.u32 %r6, %r0, 4, %r1;\nst.shared.u32 [%r6+256], %r0;\nst.shared.u32 [%r6+384], %r0;\n"
#define ROWS_ALL ROWS_0 ROWS_8 ROWS_16
#define SYNC "bar.warp.sync -1;\n"
#define LOAD_4 SYNC "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r8, %r9, %r10, %r11}, [%r7];\n"
#define LOAD_2 SYNC "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r8, %r9}, [%r7];\n"
#define LOAD_1 SYNC "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r7];\n"
#define LOAD_1_TRANS SYNC "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r8}, [%r7];\n"
#define OUT_8 "st.global.u32 [%rd1], %r8;\n"
/* A quad is four lanes. EVEN_QUAD sets %p2 if the lane is in quad 0, 2, 4 or 6; QUAD_HALF sets %p3
 * if the lane is in the first half of its quad. */
#define EVEN_QUAD "and.b32 %r6, %r0, 4;\nsetp.eq.u32 %p2, %r6, 0;\n"
#define QUAD_HALF "and.b32 %r6, %r0, 2;\nsetp.eq.u32 %p3, %r6, 0;\n"
/* Writes rows 0 to 7, but only their even 16-bit elements. */
#define EVEN_ELEMENTS "mad.lo.u32 %r6, %r0, 4, %r1;\nst.shared.u16 [%r6], %rs0;\n"
#define PRODUCT                                                                \
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, " \
    "{%r8, %r9, %r10, %r11}, {%r12, %r13}, {%f8, %f9, %f10, %f11};\n"
#define ZERO_B "mov.u32 %r12, 0;\nmov.u32 %r13, 0;\n"
#define ZERO_C \
    "mov.f32 %f8, 0f00000000;\nmov.f32 %f9, %f8;\nmov.f32 %f10, %f8;\nmov.f32 %f11, %f8;\n"
#define ZERO_A "mov.u32 %r8, 0;\nmov.u32 %r9, 0;\nmov.u32 %r10, 0;\nmov.u32 %r11, 0;\n"
#define OUT_F4 "st.global.f32 [%rd1], %f4;\n"
#define OUT_F6 "st.global.f32 [%rd1], %f6;\n"
/* Makes the matrix B of a product. Its columns 4 to 7 (lanes 16 to 31) come from %f1, which is
 * undefined; the others are 0. */
#define HALF_B                                                                \
    "setp.ge.u32 %p2, %r0, 16;\nmov.b32 %r12, %f1;\n@!%p2 mov.u32 %r12, 0;\n" \
    "mov.u32 %r13, 0;\n"
#define STORE_1 "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r7+1024], {%r8};\n" SYNC
/* Makes a matrix in %r8. Rows 0 to 3 (lanes 0 to 15) are undefined, and the others are 0. */
#define UPPER_ROWS "setp.ge.u32 %p2, %r0, 16;\nmov.b32 %r8, %f1;\n@%p2 mov.u32 %r8, 0;\n"
#define MOVE "movmatrix.sync.aligned.m8n8.trans.b16 %r8, %r8;\n"
/* The wmma cases have A at byte 0 of shared memory, B at 1024 and D at 2048. A row of A has 32
 * bytes, so rows 0 to 7 are the first 256 bytes. */
#define WRITE_B                                                        \
    "mad.lo.u32 %r6, %r0, 16, %r1;\nst.shared.u64 [%r6+1024], %rd1;\n" \
    "st.shared.u64 [%r6+1032], %rd1;\n"
#define F8(a) "{" a "0, " a "1, " a "2, " a "3, " a "4, " a "5, " a "6, " a "7}"
#define WMMA                                                                                    \
    SYNC "mov.u32 %r6, 16;\nmov.f32 %f16, 0f00000000;\n"                                        \
         "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 " F8(                               \
             "%ra") ", [%r1], %r6;\n"                                                           \
                    "wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 " F8(                    \
                        "%rb") ", [%r1+1024], %r6;\n"                                           \
                               "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 " F8(           \
                                   "%fd") ", " F8("%ra") ", " F8("%rb") ", {%f16, %f16, %f16, " \
                                                                        "%f16, %f16, %f16, "    \
                                                                        "%f16, %f16};\n"
#define WMMA_SHARED \
    "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r1+2048], " F8("%fd") ", %r6;\n" SYNC
#define WMMA_GLOBAL                                                                     \
    "mov.u32 %r6, 16;\nwmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd0], " F8( \
        "%fd") ", %r6;\n"
#define FROM_D(row)                                                       \
    "mad.lo.u32 %r5, %r0, 2, %r1;\nld.shared.u16 %rs1, [%r5+" #row "];\n" \
    "cvt.u32.u16 %r4, %rs1;\n" OUT

static const struct undef_case matrices[] = {
    {"ldmatrix, not looked at", LOAD_4, false},
    {"a matrix that was written, beside one that was not", ROWS_0 LOAD_2 OUT_8, false},
    {"the lower half of each register", EVEN_ELEMENTS LOAD_1 "and.b32 %r4, %r8, 0xffff;\n" OUT,
     false},
    {"columns that were written", EVEN_ELEMENTS LOAD_1_TRANS EVEN_QUAD "@%p2 " OUT_8, false},
    {"ldmatrix, overwritten", LOAD_4 "mov.u32 %r8, 0;\n" OUT_8, false},
    {"addresses of lanes that ldmatrix does not read",
     ROWS_0 "setp.lt.u32 %p2, %r0, 8;\nmov.b32 %r5, %f1;\n@!%p2 mov.u32 %r7, %r5;\n" LOAD_1 OUT_8,
     false},
    {"a product, dropped", LOAD_4 ZERO_B ZERO_C PRODUCT, false},
    {"rows of a product whose rows of A were written",
     ROWS_0 ROWS_16 "mov.u32 %r6, %r7;\n" LOAD_4 ZERO_B ZERO_C PRODUCT OUT_F4, false},
    {"columns of a product whose columns of B are defined",
     ZERO_A HALF_B ZERO_C PRODUCT QUAD_HALF "@%p3 " OUT_F4, false},
    {"other elements of the sum", ZERO_A ZERO_B ZERO_C "mov.f32 %f8, %f1;\n" PRODUCT OUT_F6, false},
    {"a product of products",
     ROWS_0 ROWS_16 LOAD_4 ZERO_B ZERO_C PRODUCT
     "mov.f32 %f8, %f4;\nmov.f32 %f10, %f6;\n" PRODUCT OUT_F4,
     false},
    {"stmatrix", LOAD_1 STORE_1, false},
    {"movmatrix of defined rows", UPPER_ROWS MOVE QUAD_HALF "@!%p3 " OUT_8, false},
    {"wmma: rows that were written", ROWS_0 ROWS_8 WRITE_B WMMA WMMA_SHARED FROM_D(2048), false},

    {"ldmatrix of unwritten rows", LOAD_4 OUT_8, true},
    {"the unwritten matrix", ROWS_0 LOAD_2 "st.global.u32 [%rd1], %r9;\n", true},
    {"the upper half of each register", EVEN_ELEMENTS LOAD_1 "shr.u32 %r4, %r8, 16;\n" OUT, true},
    {"columns that were not written", EVEN_ELEMENTS LOAD_1_TRANS EVEN_QUAD "@!%p2 " OUT_8, true},
    {"rows of a product whose rows of A were not written",
     ROWS_0 ROWS_16 LOAD_4 ZERO_B ZERO_C PRODUCT OUT_F6, true},
    {"columns of a product whose columns of B are undefined",
     ZERO_A HALF_B ZERO_C PRODUCT QUAD_HALF "@!%p3 " OUT_F4, true},
    {"an element of the sum", ZERO_A ZERO_B ZERO_C "mov.f32 %f8, %f1;\n" PRODUCT OUT_F4, true},
    {"stmatrix, loaded again",
     LOAD_1 STORE_1 "mad.lo.u32 %r6, %r0, 4, %r1;\nld.shared.u32 %r4, [%r6+1024];\n" OUT, true},
    {"movmatrix", UPPER_ROWS MOVE QUAD_HALF "@%p3 " OUT_8, true},
    {"wmma: rows that were not written", ROWS_0 ROWS_8 WRITE_B WMMA WMMA_SHARED FROM_D(2560), true},
    {"wmma: an output", ROWS_0 ROWS_8 WRITE_B WMMA WMMA_GLOBAL, true},
    {"an address of ldmatrix",
     ROWS_ALL "mov.b32 %r5, %f1;\nand.b32 %r5, %r5, 0;\n"
              "mov.b32 %r6, %f1;\nand.b32 %r6, %r6, 16;\nadd.u32 %r7, %r7, %r6;\n" LOAD_1,
     true},
};

static size_t findings(const char *body)
{
    char ptx[8192];
    snprintf(ptx, sizeof ptx,
             PTX_HEAD
             ".visible .entry k(.param .u64 out, .param .u64 ws)\n{\n.reg .b32 %%r<16>;\n"
             ".reg .b32 %%ra<8>, %%rb<8>;\n.reg .f32 %%fd<8>;\n"
             ".reg .b16 %%rs<4>;\n.reg .b64 %%rd<4>;\n.reg .f32 %%f<20>;\n.reg .pred %%p<4>;\n"
             ".shared .align 16 .b8 s[4096];\n.local .align 16 .b8 l[16];\n"
             "ld.param.u64 %%rd0, [out];\n"
             "mov.u32 %%r0, %%tid.x;\ncvt.u16.u32 %%rs0, %%r0;\nmul.wide.u32 %%rd1, %%r0, 4;\n"
             "ld.param.u64 %%rd2, [ws];\nadd.u64 %%rd2, %%rd2, %%rd1;\n"
             "add.u64 %%rd1, %%rd1, %%rd0;\nmov.u32 %%r1, s;\nmad.lo.u32 %%r2, %%r0, 8, %%r1;\n"
             "mad.lo.u32 %%r7, %%r0, 16, %%r1;\n"
             "mov.f32 %%f0, 0f3F800000;\nmov.f32 %%f3, %%f0;\n"
             "setp.lt.u32 %%p0, %%r0, 99;\nnot.pred %%p1, %%p0;\n"
             "ld.shared.f32 %%f1, [%%r1+512];\n%sst.global.f32 [%%rd1], %%f0;\nret;\n}\n",
             body);
    struct emu_run r;
    emu_run_open(&r, true);
    uint64_t out = emu_run_buffer(&r, "out", JOB_INOUT, (uint32_t[256]){0}, 1024);
    uint64_t args[] = {out, emu_run_buffer(&r, "ws", JOB_WORKSPACE, NULL, 128)};
    enum result_status st = emu_run_kernel(&r, ptx, "k", 1, 32, args, 2);
    if (st != RESULT_OK)
        print_error("%s\n", r.err.msg);
    assert_int_equal(st, RESULT_OK);
    size_t n = r.found.n;
    for (size_t i = 0; i < n; i++) {
        if (r.found.items[i].kind != FIND_UNINIT)
            print_error("%s: %s\n", body, r.found.items[i].text);
        assert_int_equal(r.found.items[i].kind, FIND_UNINIT);
    }
    emu_run_close(&r);
    return n;
}

static void check(const struct undef_case *c, size_t n)
{
    int wrong = 0;
    for (size_t i = 0; i < n; i++) {
        size_t found = findings(c[i].body);
        if (found == (c[i].used ? 1 : 0))
            continue;
        print_error("%s: %zu findings\n", c[i].what, found);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static void only_uses_are_reported(void **state)
{
    (void)state;
    check(cases, ARRAY_LEN(cases));
}

static void matrix_instructions_are_followed(void **state)
{
    (void)state;
    check(matrices, ARRAY_LEN(matrices));
}

/* The use of a value that comes from two loads is reported for both loads. */
static void all_origins_are_reported(void **state)
{
    (void)state;
#define TWO "ld.shared.f32 %f5, [%r1+516];\n"
    assert_int_equal(findings(TWO "add.f32 %f2, %f1, %f5;\n" STORE), 2);
    assert_int_equal(findings(TWO "add.f32 %f2, %f1, %f5;\n"), 0);
    assert_int_equal(findings(TWO "selp.f32 %f2, %f1, %f5, %p1;\n" STORE), 1);
    assert_int_equal(findings(TWO "mov.b32 %r3, %f1;\nmov.b32 %r4, %f5;\n"
                                  "mov.b64 %rd3, {%r3, %r4};\nst.global.u64 [%rd0], %rd3;\n"),
                     2);
    assert_int_equal(
        findings(TWO ZERO_A ZERO_B "mov.b32 %r8, %f1;\nmov.b32 %r12, %f5;\n" ZERO_C PRODUCT OUT_F4),
        2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_uses_are_reported),
        cmocka_unit_test(matrix_instructions_are_followed),
        cmocka_unit_test(all_origins_are_reported),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
