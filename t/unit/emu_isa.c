/* Tests one instruction at a time, with extreme values. The expected results come from the PTX
 * manual and the hardware. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emu_run.h"

/* The sources a, b and c are in %rd1-3 (64 bits), %r1-3, %f1-3, %rs1-3 (16 bits), %fd1-3 and %p1-3
 * (true if odd). The result goes to %ro, %fo, %rdo, %fdo, %rso or %po. */
struct isa_case {
    const char *body;
    uint64_t a, b, c, want;
};

static const char frame_head[] = PTX_HEAD
    ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
    ".reg .b64 %rd<20>; .reg .b64 %rdo; .reg .b32 %r<20>; .reg .b32 %ro; .reg .f32 %f<10>;\n"
    ".reg .f32 %fo; .reg .b16 %rs<10>; .reg .b16 %rso; .reg .f64 %fd<10>; .reg .f64 %fdo;\n"
    ".reg .pred %p<10>; .reg .pred %po; .reg .pred %q; .reg .b128 %x<4>;\n"
    "ld.param.u64 %rd10, [in]; ld.param.u64 %rd11, [out];\n"
    "ld.global.u64 %rd1, [%rd10]; ld.global.u64 %rd2, [%rd10+8]; ld.global.u64 %rd3, [%rd10+16];\n"
    "cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3;\n"
    "mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;\n"
    "cvt.u16.u64 %rs1, %rd1; cvt.u16.u64 %rs2, %rd2; cvt.u16.u64 %rs3, %rd3;\n"
    "mov.b64 %fd1, %rd1; mov.b64 %fd2, %rd2; mov.b64 %fd3, %rd3;\n"
    "and.b32 %r10, %r1, 1; setp.ne.u32 %p1, %r10, 0; and.b32 %r10, %r2, 1;\n"
    "setp.ne.u32 %p2, %r10, 0; and.b32 %r10, %r3, 1; setp.ne.u32 %p3, %r10, 0;\n";

static const char *frame_tail(const char *body)
{
    if (strstr(body, "%rdo"))
        return "st.global.u64 [%rd11], %rdo; ret; }\n";
    if (strstr(body, "%fdo"))
        return "st.global.f64 [%rd11], %fdo; ret; }\n";
    if (strstr(body, "%rso"))
        return "cvt.u64.u16 %rd12, %rso; st.global.u64 [%rd11], %rd12; ret; }\n";
    if (strstr(body, "%po"))
        return "selp.u64 %rd12, 1, 0, %po; st.global.u64 [%rd11], %rd12; ret; }\n";
    if (strstr(body, "%fo"))
        return "mov.b32 %ro, %fo; cvt.u64.u32 %rd12, %ro; st.global.u64 [%rd11], %rd12; ret; }\n";
    return "cvt.u64.u32 %rd12, %ro; st.global.u64 [%rd11], %rd12; ret; }\n";
}

static uint64_t run_one(struct emu_run *r, const struct isa_case *c, uint64_t in, uint64_t out)
{
    char ptx[8192];
    uint64_t vals[3] = {c->a, c->b, c->c}, got = 0;
    snprintf(ptx, sizeof ptx, "%s%s\n%s", frame_head, c->body, frame_tail(c->body));
    r->d->ops->write(r->d, in, vals, sizeof vals, NULL);
    enum result_status st = emu_run_kernel(r, ptx, "k", 1, 1, (uint64_t[]){in, out}, 2);
    if (st != RESULT_OK) {
        print_error("%s: %s\n", c->body, r->err.msg);
        fail();
    }
    emu_run_read(r, out, &got, 8);
    return got;
}

static void run_cases(const struct isa_case *c, size_t n)
{
    struct emu_run r;
    int bad = 0;
    uint64_t zero[4] = {0};
    emu_run_open(&r, false);
    uint64_t in = emu_run_buffer(&r, "in", JOB_INPUT, zero, 32);
    uint64_t out = emu_run_buffer(&r, "out", JOB_OUTPUT, zero, 32);
    for (size_t i = 0; i < n; i++) {
        uint64_t got = run_one(&r, &c[i], in, out);
        if (got != c[i].want) {
            print_error("%s  a=%llx b=%llx c=%llx: got %llx, want %llx\n", c[i].body,
                        (unsigned long long)c[i].a, (unsigned long long)c[i].b,
                        (unsigned long long)c[i].c, (unsigned long long)got,
                        (unsigned long long)c[i].want);
            bad++;
        }
    }
    emu_run_close(&r);
    assert_int_equal(bad, 0);
}
#define RUN(t) run_cases(t, ARRAY_LEN(t))

#define NAN32 0x7fffffffull
#define INF32 0x7f800000ull
#define ONE 0x3f800000ull
#define TWO 0x40000000ull
#define SUB32 0x00000001ull
#define MIN32 0x80000000ull
#define MIN64 0x8000000000000000ull
#define NAN64 0xfff8000000000000ull

static void integers(void **state)
{
    static const struct isa_case t[] = {
        {"add.s32 %ro, %r1, %r2;", 0x7fffffff, 1, 0, MIN32},
        {"add.sat.s32 %ro, %r1, %r2;", 0x7fffffff, 1, 0, 0x7fffffff},
        {"sub.sat.s32 %ro, %r1, %r2;", MIN32, 1, 0, MIN32},
        {"add.u16 %rso, %rs1, %rs2;", 0xffff, 2, 0, 1},
        {"sub.s64 %rdo, %rd1, %rd2;", 0, 1, 0, ~0ull},
        {"mul.lo.s32 %ro, %r1, %r2;", 0x10001, 0x10001, 0, 0x20001},
        {"mul.hi.s32 %ro, %r1, %r2;", MIN32, MIN32, 0, 0x40000000},
        {"mul.hi.u32 %ro, %r1, %r2;", 0xffffffff, 0xffffffff, 0, 0xfffffffe},
        {"mul.hi.s64 %rdo, %rd1, %rd2;", MIN64, 2, 0, ~0ull},
        {"mul.hi.u64 %rdo, %rd1, %rd2;", ~0ull, ~0ull, 0, ~0ull - 1},
        {"mul.wide.s32 %rdo, %r1, %r2;", MIN32, 0xffffffff, 0, 0x80000000ull},
        {"mul.wide.u16 %ro, %rs1, %rs2;", 0xffff, 0xffff, 0, 0xfffe0001},
        {"mad.lo.s32 %ro, %r1, %r2, %r3;", 3, 5, 7, 22},
        {"mad.hi.s32 %ro, %r1, %r2, %r3;", MIN32, 2, 5, 4},
        {"mad.wide.s32 %rdo, %r1, %r2, %rd3;", 0xffffffff, 3, 10, 7},
        {"mul24.lo.s32 %ro, %r1, %r2;", 0x00ffffff, 2, 0, 0xfffffffe},
        {"mul24.hi.u32 %ro, %r1, %r2;", 0x00ffffff, 0x00ffffff, 0, 0xfffffe00},
        {"sad.s32 %ro, %r1, %r2, %r3;", 0xfffffffb, 5, 1, 11},
        {"sad.u32 %ro, %r1, %r2, %r3;", 5, 0xfffffffb, 1, 0xfffffff7},
        {"div.s32 %ro, %r1, %r2;", MIN32, 0xffffffff, 0, MIN32},
        {"rem.s32 %ro, %r1, %r2;", MIN32, 0xffffffff, 0, 0},
        {"div.s32 %ro, %r1, %r2;", 0xfffffff9, 2, 0, 0xfffffffd},
        {"rem.s32 %ro, %r1, %r2;", 0xfffffff9, 2, 0, 0xffffffff},
        {"div.u32 %ro, %r1, %r2;", 7, 0, 0, 0xffffffff},
        {"div.s64 %rdo, %rd1, %rd2;", MIN64, ~0ull, 0, MIN64},
        {"rem.u64 %rdo, %rd1, %rd2;", 17, 5, 0, 2},
        {"abs.s32 %ro, %r1;", MIN32, 0, 0, MIN32},
        {"neg.s32 %ro, %r1;", MIN32, 0, 0, MIN32},
        {"min.s32 %ro, %r1, %r2;", MIN32, 1, 0, MIN32},
        {"max.u32 %ro, %r1, %r2;", MIN32, 1, 0, MIN32},
        {"min.s16x2 %ro, %r1, %r2;", 0x8000ffff, 0x00010001, 0, 0x8000ffff},
        {"max.relu.s16x2 %ro, %r1, %r2;", 0x8000fffe, 0xffffffff, 0, 0},
        {"shl.b32 %ro, %r1, %r2;", 1, 32, 0, 0},
        {"shl.b32 %ro, %r1, %r2;", 1, 31, 0, MIN32},
        {"shr.u32 %ro, %r1, %r2;", MIN32, 33, 0, 0},
        {"shr.s32 %ro, %r1, %r2;", MIN32, 200, 0, 0xffffffff},
        {"shr.s64 %rdo, %rd1, %r2;", MIN64, 64, 0, ~0ull},
        {"shr.u16 %rso, %rs1, %r2;", 0x8000, 15, 0, 1},
        {"shl.b64 %rdo, %rd1, %r2;", 1, 63, 0, MIN64},
        {"add.cc.u32 %r4, %r1, %r2; addc.u32 %ro, %r3, 0;", 0xffffffff, 1, 5, 6},
        {"sub.cc.u32 %r4, %r1, %r2; subc.u32 %ro, %r3, 0;", 0, 1, 5, 4},
        {"sub.cc.u32 %r4, %r1, %r2; addc.u32 %ro, %r3, 0;", 0, 1, 5, 5},
        {"sub.cc.u32 %r4, %r1, %r2; addc.u32 %ro, %r3, 0;", 1, 1, 5, 6},
        {"sub.cc.u64 %rd4, %rd1, %rd2; subc.cc.u64 %rd4, 0, 0; addc.u64 %rdo, %rd3, 0;", 0, 1, 5,
         5},
        {"max.s32.relu %ro, %r1, %r2;", MIN32, 0xffffffff, 0, 0},
        {"mad.lo.cc.u32 %r4, %r1, %r2, %r3; madc.hi.u32 %ro, %r1, %r2, 0;", 0xffffffff, 2, 2, 2},
        {"add.cc.u64 %rd4, %rd1, %rd2; addc.u64 %rdo, %rd3, 0;", ~0ull, 1, 5, 6},
    };
    (void)state;
    RUN(t);
}

static void bits(void **state)
{
    static const struct isa_case t[] = {
        {"popc.b32 %ro, %r1;", 0xf00f, 0, 0, 8},
        {"popc.b64 %ro, %rd1;", ~0ull, 0, 0, 64},
        {"clz.b32 %ro, %r1;", 0, 0, 0, 32},
        {"clz.b64 %ro, %rd1;", 1, 0, 0, 63},
        {"bfind.u32 %ro, %r1;", 0, 0, 0, 0xffffffff},
        {"bfind.u32 %ro, %r1;", MIN32, 0, 0, 31},
        {"bfind.s32 %ro, %r1;", 0xffffffff, 0, 0, 0xffffffff},
        {"bfind.s32 %ro, %r1;", 0xfffffff0, 0, 0, 3},
        {"bfind.shiftamt.u32 %ro, %r1;", 1, 0, 0, 31},
        {"brev.b32 %ro, %r1;", 1, 0, 0, MIN32},
        {"brev.b64 %rdo, %rd1;", 1, 0, 0, MIN64},
        {"bfe.u32 %ro, %r1, %r2, %r3;", 0xabcd1234, 8, 8, 0x12},
        {"bfe.s32 %ro, %r1, %r2, %r3;", 0x0000f000, 12, 4, 0xffffffff},
        {"bfe.s32 %ro, %r1, %r2, %r3;", MIN32, 28, 16, 0xfffffff8},
        {"bfe.u32 %ro, %r1, %r2, %r3;", 0xffffffff, 40, 8, 0},
        {"bfe.s32 %ro, %r1, %r2, %r3;", MIN32, 40, 8, 0xffffffff},
        {"bfe.u32 %ro, %r1, %r2, %r3;", 0xffffffff, 0, 0, 0},
        {"bfi.b32 %ro, %r1, %r2, 8, 8;", 0xff, 0x11111111, 0, 0x1111ff11},
        {"bfi.b32 %ro, %r1, %r2, 32, 8;", 0xff, 0x11111111, 0, 0x11111111},
        {"bfi.b64 %rdo, %rd1, %rd2, 32, 32;", 0xdeadbeef, 0x12345678, 0, 0xdeadbeef12345678ull},
        {"bmsk.clamp.b32 %ro, %r1, %r2;", 4, 8, 0, 0xff0},
        {"bmsk.clamp.b32 %ro, %r1, %r2;", 28, 40, 0, 0xf0000000},
        {"bmsk.wrap.b32 %ro, %r1, %r2;", 33, 4, 0, 0x1e},
        {"szext.clamp.s32 %ro, %r1, %r2;", 0xf, 4, 0, 0xffffffff},
        {"szext.wrap.u32 %ro, %r1, %r2;", 0xfff, 36, 0, 0xf},
        {"fns.b32 %ro, %r1, %r2, %r3;", 0xaa, 0, 2, 3},
        {"fns.b32 %ro, %r1, %r2, %r3;", 0xaa, 7, (uint32_t)-3, 3},
        {"fns.b32 %ro, %r1, %r2, %r3;", 0xaa, 7, 5, 0xffffffff},
        {"lop3.b32 %ro, %r1, %r2, %r3, 0x80;", 0xff, 0x0f, 0x3c, 0x0c},
        {"lop3.b32 %ro, %r1, %r2, %r3, 0x96;", 0xff, 0x0f, 0x3c, 0xcc},
        {"lop3.b32 %ro, %r1, %r2, %r3, 0xca;", 0xf0, 0xff, 0x0f, 0xff},
        {"prmt.b32 %ro, %r1, %r2, 0x7531;", 0x33221100, 0x77665544, 0, 0x77553311},
        {"prmt.b32 %ro, %r1, %r2, 0x8888;", 0x33221180, 0, 0, 0xffffffff},
        {"prmt.b32.b4e %ro, %r1, %r2, %r3;", 0x33221100, 0x77665544, 1, 0x66770011},
        {"prmt.b32.rc16 %ro, %r1, %r2, %r3;", 0x33221100, 0x77665544, 1, 0x33223322},
        {"shf.l.wrap.b32 %ro, %r1, %r2, %r3;", 0x80000001, 0x1, 33, 3},
        {"shf.r.clamp.b32 %ro, %r1, %r2, %r3;", 0x80000001, 0xff, 40, 0xff},
        {"dp4a.s32.s32 %ro, %r1, %r2, %r3;", 0xff010203, 0x01010101, 10, 15},
        {"dp4a.u32.u32 %ro, %r1, %r2, %r3;", 0xff010203, 0x01010101, 10, 271},
        {"dp2a.lo.s32.s32 %ro, %r1, %r2, %r3;", 0xffff0002, 0x00000302, 1, 2},
        {"dp2a.hi.u32.u32 %ro, %r1, %r2, %r3;", 0x00010002, 0x03020000, 1, 8},
        {"cnot.b32 %ro, %r1;", 0, 0, 0, 1},
        {"selp.b32 %ro, %r1, %r2, %p3;", 1, 2, 1, 1},
        {"slct.u32.f32 %ro, %r1, %r2, %f3;", 1, 2, 0x80000000, 1},
        {"slct.u32.f32 %ro, %r1, %r2, %f3;", 1, 2, NAN32, 2},
        {"mov.b64 {%ro, %r4}, %rd1;", 0x1111222233334444ull, 0, 0, 0x33334444},
        {"mov.b64 %rdo, {%r1, %r2};", 7, 9, 0, 0x900000007ull},
        {"mov.b32 %ro, {%rs1, %rs2};", 7, 9, 0, 0x90007},
        {"mov.b128 %x0, {%rd1, %rd2}; mov.b128 {%rd4, %rdo}, %x0;", 7, 9, 0, 9},
    };
    (void)state;
    RUN(t);
}

static void floats(void **state)
{
    static const struct isa_case t[] = {
        {"add.f32 %fo, %f1, %f2;", INF32, 0xff800000, 0, NAN32},
        {"add.f32 %fo, %f1, %f2;", SUB32, SUB32, 0, 2},
        {"add.ftz.f32 %fo, %f1, %f2;", SUB32, SUB32, 0, 0},
        {"add.sat.f32 %fo, %f1, %f2;", ONE, ONE, 0, ONE},
        {"add.sat.f32 %fo, %f1, %f2;", NAN32, ONE, 0, 0},
        {"add.rz.f32 %fo, %f1, %f2;", ONE, 0x33ffffff, 0, ONE},
        {"add.rp.f32 %fo, %f1, %f2;", ONE, SUB32, 0, 0x3f800001},
        {"add.rm.f32 %fo, %f1, %f2;", ONE, 0x80000001, 0, 0x3f7fffff},
        {"mul.rz.f32 %fo, %f1, %f2;", 0x7f7fffff, TWO, 0, 0x7f7fffff},
        {"mul.f32 %fo, %f1, %f2;", 0, INF32, 0, NAN32},
        {"mul.ftz.f32 %fo, %f1, %f2;", 0x00800000, 0x3f000000, 0, 0},
        {"fma.rn.f32 %fo, %f1, %f2, %f3;", 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},
        {"fma.rn.f32 %fo, %f1, %f2, %f3;", 0x7fc00001, ONE, ONE, NAN32},
        {"fma.rm.f32 %fo, %f1, %f2, %f3;", ONE, ONE, 0x80000001, 0x3f7fffff},
        {"div.rn.f32 %fo, %f1, %f2;", ONE, 0x40400000, 0, 0x3eaaaaab},
        {"div.rz.f32 %fo, %f1, %f2;", ONE, 0x40400000, 0, 0x3eaaaaaa},
        {"div.rn.f32 %fo, %f1, %f2;", 0, 0, 0, NAN32},
        {"rcp.rn.f32 %fo, %f1;", 0x80000000, 0, 0, 0xff800000},
        {"sqrt.rn.f32 %fo, %f1;", TWO, 0, 0, 0x3fb504f3},
        {"sqrt.rn.f32 %fo, %f1;", 0xbf800000, 0, 0, NAN32},
        {"min.f32 %fo, %f1, %f2;", NAN32, ONE, 0, ONE},
        {"min.f32 %fo, %f1, %f2;", 0, 0x80000000, 0, 0x80000000},
        {"max.f32 %fo, %f1, %f2;", 0x80000000, 0, 0, 0},
        {"max.NaN.f32 %fo, %f1, %f2;", 0x7fc00000, ONE, 0, NAN32},
        {"max.f32 %fo, %f1, %f2;", 0x7fc00000, 0xffc00000, 0, NAN32},
        {"min.xorsign.abs.f32 %fo, %f1, %f2;", 0xbf800000, TWO, 0, 0xbf800000},
        {"abs.f32 %fo, %f1;", 0xff800000, 0, 0, INF32},
        {"neg.f32 %fo, %f1;", 0, 0, 0, 0x80000000},
        {"copysign.f32 %fo, %f1, %f2;", 0x80000000, ONE, 0, 0xbf800000},
        {"ex2.approx.f32 %fo, %f1;", TWO, 0, 0, 0x40800000},
        {"ex2.approx.ftz.f32 %fo, %f1;", 0xc3160000, 0, 0, 0},
        {"lg2.approx.f32 %fo, %f1;", 0, 0, 0, 0xff800000},
        {"rsqrt.approx.f32 %fo, %f1;", 0x40800000, 0, 0, 0x3f000000},
        {"testp.subnormal.f32 %po, %f1;", SUB32, 0, 0, 1},
        {"testp.normal.f32 %po, %f1;", ONE, 0, 0, 1},
        {"testp.notanumber.f32 %po, %f1;", NAN32, 0, 0, 1},
        {"setp.ltu.f32 %po, %f1, %f2;", NAN32, ONE, 0, 1},
        {"setp.lt.f32 %po, %f1, %f2;", NAN32, ONE, 0, 0},
        {"setp.ne.f32 %po, %f1, %f2;", NAN32, ONE, 0, 0},
        {"setp.neu.f32 %po, %f1, %f2;", NAN32, ONE, 0, 1},
        {"setp.nan.f32 %po, %f1, %f2;", ONE, NAN32, 0, 1},
        {"setp.eq.ftz.f32 %po, %f1, %f2;", SUB32, 0, 0, 1},
        {"setp.lt.and.s32 %po, %r1, %r2, !%p3;", 1, 2, 1, 0},
        {"setp.lt.or.s32 %q|%po, %r1, %r2, %p3;", 1, 2, 0, 0},
        {"set.lt.f32.s32 %fo, %r1, %r2;", 1, 2, 0, ONE},
        {"set.eq.u32.f32 %ro, %f1, %f2;", ONE, ONE, 0, 0xffffffff},
        {"add.f64 %fdo, %fd1, %fd2;", 0x7ff0000000000000ull, 0xfff0000000000000ull, 0, NAN64},
        {"add.rp.f64 %fdo, %fd1, %fd2;", 0x3ff0000000000000ull, 1, 0, 0x3ff0000000000001ull},
        {"mul.rm.f64 %fdo, %fd1, %fd2;", 0x3ff0000000000001ull, 0xbff0000000000001ull, 0,
         0xbff0000000000003ull},
        {"div.rn.f64 %fdo, %fd1, %fd2;", 0x3ff0000000000000ull, 0x4008000000000000ull, 0,
         0x3fd5555555555555ull},
        {"sqrt.rn.f64 %fdo, %fd1;", 0x4000000000000000ull, 0, 0, 0x3ff6a09e667f3bcdull},
    };
    (void)state;
    RUN(t);
}

static void halves(void **state)
{
    static const struct isa_case t[] = {
        {"add.f16 %rso, %rs1, %rs2;", 0x3c00, 0x3c00, 0, 0x4000},
        {"add.f16 %rso, %rs1, %rs2;", 0x7bff, 0x7bff, 0, 0x7c00},
        {"add.f16 %rso, %rs1, %rs2;", 0x7c00, 0xfc00, 0, 0x7fff},
        {"mul.f16 %rso, %rs1, %rs2;", 0x0001, 0x3800, 0, 0},
        {"mul.f16 %rso, %rs1, %rs2;", 0x0003, 0x3800, 0, 2},
        {"fma.rn.f16 %rso, %rs1, %rs2, %rs3;", 0x3c01, 0x3c01, 0x8001, 0x3c02},
        {"fma.rn.f16 %rso, %rs1, %rs2, %rs3;", 0x3c01, 0x3c01, 0xbc02, 0x0010},
        {"fma.rn.relu.f16 %rso, %rs1, %rs2, %rs3;", 0x3c00, 0xbc00, 0, 0},
        {"fma.rn.sat.f16 %rso, %rs1, %rs2, %rs3;", 0x4000, 0x4000, 0, 0x3c00},
        {"fma.rn.ftz.f16 %rso, %rs1, %rs2, %rs3;", 0x0001, 0x3c00, 0, 0},
        {"add.f16x2 %ro, %r1, %r2;", 0x3c003c00, 0x40003c00, 0, 0x42004000},
        {"sub.bf16x2 %ro, %r1, %r2;", 0x3f803f80, 0x3f803f00, 0, 0x00003f00},
        {"fma.rn.bf16 %rso, %rs1, %rs2, %rs3;", 0x3f80, 0x3f80, 0x3f80, 0x4000},
        {"fma.rn.bf16x2 %ro, %r1, %r2, %r3;", 0x3f803f81, 0x3f803f81, 0, 0x3f803f82},
        {"min.f16 %rso, %rs1, %rs2;", 0x7e00, 0x3c00, 0, 0x3c00},
        {"max.NaN.f16x2 %ro, %r1, %r2;", 0x7e003c00, 0x3c004000, 0, 0x7fff4000},
        {"neg.f16x2 %ro, %r1;", 0x3c00bc00, 0, 0, 0xbc003c00},
        {"abs.bf16 %rso, %rs1;", 0xbf80, 0, 0, 0x3f80},
        {"setp.lt.f16 %po, %rs1, %rs2;", 0x3c00, 0x4000, 0, 1},
        {"setp.eq.f16x2 %po|%q, %r1, %r2;", 0x3c004000, 0x3c004000, 0, 1},
        {"set.gt.f16x2.f16x2 %ro, %r1, %r2;", 0x40003c00, 0x3c003c00, 0, 0x3c000000},
        {"set.eq.f16.f16 %rso, %rs1, %rs2;", 0x3c00, 0x3c00, 0, 0x3c00},
        {"ex2.approx.f16 %rso, %rs1;", 0x4000, 0, 0, 0x4400},
        {"tanh.approx.f16 %rso, %rs1;", 0x7c00, 0, 0, 0x3c00},
    };
    (void)state;
    RUN(t);
}

static void conversions(void **state)
{
    static const struct isa_case t[] = {
        {"cvt.rzi.s32.f32 %ro, %f1;", NAN32, 0, 0, 0},
        {"cvt.rzi.s32.f32 %ro, %f1;", INF32, 0, 0, 0x7fffffff},
        {"cvt.rzi.s32.f32 %ro, %f1;", 0xff800000, 0, 0, MIN32},
        {"cvt.rzi.u32.f32 %ro, %f1;", 0xbf800000, 0, 0, 0},
        {"cvt.rni.s32.f32 %ro, %f1;", 0x40200000, 0, 0, 2},
        {"cvt.rni.s32.f32 %ro, %f1;", 0x40600000, 0, 0, 4},
        {"cvt.rmi.s32.f32 %ro, %f1;", 0xbfc00000, 0, 0, 0xfffffffe},
        {"cvt.rpi.s32.f32 %ro, %f1;", 0xbfc00000, 0, 0, 0xffffffff},
        {"cvt.rzi.s64.f32 %rdo, %f1;", NAN32, 0, 0, MIN64},
        {"cvt.rzi.u64.f64 %rdo, %fd1;", 0x43e0000000000000ull, 0, 0, MIN64},
        {"cvt.rzi.s32.f64 %ro, %fd1;", 0x41e0000000000000ull, 0, 0, 0x7fffffff},
        {"cvt.rni.f32.f32 %fo, %f1;", 0xbf000000, 0, 0, 0x80000000},
        {"cvt.rmi.f32.f32 %fo, %f1;", 0xbf000000, 0, 0, 0xbf800000},
        {"cvt.rpi.f64.f64 %fdo, %fd1;", 0x3fe0000000000000ull, 0, 0, 0x3ff0000000000000ull},
        {"cvt.rn.f32.s64 %fo, %rd1;", 0x7fffffffffffffffull, 0, 0, 0x5f000000},
        {"cvt.rz.f32.u64 %fo, %rd1;", ~0ull, 0, 0, 0x5f7fffff},
        {"cvt.rn.f32.u32 %fo, %r1;", 0xffffffff, 0, 0, 0x4f800000},
        {"cvt.rp.f32.s32 %fo, %r1;", 16777217, 0, 0, 0x4b800001},
        {"cvt.rn.f64.u64 %fdo, %rd1;", ~0ull, 0, 0, 0x43f0000000000000ull},
        {"cvt.rn.f16.f32 %rso, %f1;", 0x477fefff, 0, 0, 0x7bff},
        {"cvt.rn.f16.f32 %rso, %f1;", 0x477ff000, 0, 0, 0x7c00},
        {"cvt.rz.f16.f32 %rso, %f1;", 0x477fffff, 0, 0, 0x7bff},
        {"cvt.rn.f16.f32 %rso, %f1;", 0x33000001, 0, 0, 1},
        {"cvt.rn.f16.f32 %rso, %f1;", 0x33000000, 0, 0, 0},
        {"cvt.rn.f16.f32 %rso, %f1;", NAN32, 0, 0, 0x7fff},
        {"cvt.f32.f16 %fo, %rs1;", 0x0001, 0, 0, 0x33800000},
        {"cvt.f32.f16 %fo, %rs1;", 0xfc00, 0, 0, 0xff800000},
        {"cvt.rn.bf16.f32 %rso, %f1;", 0x3f808000, 0, 0, 0x3f80},
        {"cvt.rn.bf16.f32 %rso, %f1;", 0x3f818000, 0, 0, 0x3f82},
        {"cvt.rz.bf16.f32 %rso, %f1;", 0x3f81ffff, 0, 0, 0x3f81},
        {"cvt.rn.relu.bf16.f32 %rso, %f1;", 0xbf800000, 0, 0, 0},
        {"cvt.rn.f16x2.f32 %ro, %f1, %f2;", ONE, TWO, 0, 0x3c004000},
        {"cvt.rn.bf16x2.f32 %ro, %f1, %f2;", ONE, TWO, 0, 0x3f804000},
        {"cvt.rn.satfinite.e4m3x2.f32 %rso, %f1, %f2;", ONE, 0x47000000, 0, 0x387e},
        {"cvt.rn.satfinite.e5m2x2.f32 %rso, %f1, %f2;", ONE, NAN32, 0, 0x3c7f},
        {"cvt.rn.f16x2.e4m3x2 %ro, %rs1;", 0x387e, 0, 0, 0x3c005f00},
        {"cvt.rn.f16x2.e5m2x2 %ro, %rs1;", 0x3c7c, 0, 0, 0x3c007c00},
        {"cvt.rna.tf32.f32 %ro, %f1;", 0x3f801000, 0, 0, 0x3f802000},
        {"cvt.rn.f32.f64 %fo, %fd1;", 0x36a0000000000000ull, 0, 0, 1},
        {"cvt.sat.f32.f32 %fo, %f1;", 0xbf800000, 0, 0, 0},
        {"cvt.ftz.f32.f32 %fo, %f1;", SUB32, 0, 0, 0},
        {"cvt.sat.u8.s32 %ro, %r1;", 300, 0, 0, 255},
        {"cvt.s32.s8 %ro, %r1;", 0xff, 0, 0, 0xffffffff},
        {"cvt.u32.u8 %ro, %r1;", 0x1ff, 0, 0, 0xff},
        {"cvt.s64.s16 %rdo, %rs1;", 0x8000, 0, 0, 0xffffffffffff8000ull},
        {"cvt.sat.s16.s32 %rso, %r1;", 0x7fffffff, 0, 0, 0x7fff},
        {"cvt.pack.sat.s16.s32 %ro, %r1, %r2;", 0x7fffffff, MIN32, 0, 0x7fff8000},
        {"cvt.pack.sat.u8.s32.b32 %ro, %r1, %r2, %r3;", 300, 0xffffffff, 0x1234, 0x1234ff00},
    };
    (void)state;
    RUN(t);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers), cmocka_unit_test(bits),        cmocka_unit_test(floats),
        cmocka_unit_test(halves),   cmocka_unit_test(conversions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
