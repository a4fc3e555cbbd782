/*
 * emu_sample.c - tests calls that run only a sample of the blocks. Such a call reports the elements
 * that the sampled blocks wrote, unless another block may change the values of these elements.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "emu_run.h"
#include "job/gen.h"

enum { BLOCKS = 4800, N = BLOCKS * 32 - 5, SEED = 77 }; /* the last block is not full */

#define HEAD                                                                                 \
    PTX_HEAD ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n"           \
             ".reg .b32 %r<8>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<4>;\n.reg .pred %p<2>;\n"   \
             ".shared .align 4 .b8 s[128];\n"                                                \
             "ld.param.u64 %rd0, [a];\nld.param.u64 %rd1, [b];\nld.param.u64 %rd2, [c];\n"   \
             "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r2, %r1, 32, %r0;\n" \
             "cvt.u64.u32 %rd3, %r2;\nsetp.ge.u64 %p0, %rd3, %rd2;\n@%p0 ret;\n"             \
             "shl.b64 %rd4, %rd3, 2;\nadd.u64 %rd5, %rd0, %rd4;\nadd.u64 %rd6, %rd1, %rd4;\n"
#define DOUBLED "ld.global.f32 %f0, [%rd5];\nadd.f32 %f0, %f0, %f0;\nst.global.f32 [%rd6], %f0;\n"
#define TAIL "ret;\n}\n"

struct sample {
    struct emu_run r;
    uint64_t x, y;
    struct device_written w;
    uint64_t written;
};

static struct job_buffer buffer(enum job_buffer_role role)
{
    return (struct job_buffer){.name = "x",
                               .role = role,
                               .dtype = DT_F32,
                               .elems = N,
                               .bytes = 4ull * N,
                               .gen = {.dist = GEN_NORMAL, .b = 2},
                               .stream = 1};
}

static uint64_t allocate(struct sample *s, enum job_buffer_role role, uint64_t offset)
{
    struct job_buffer b = buffer(role);
    struct device_alloc spec = {.name = "x",
                                .bytes = b.bytes,
                                .align = 256,
                                .offset = offset,
                                .elem_bytes = 4,
                                .role = role};
    uint64_t addr = 0;
    assert_int_equal(s->r.d->ops->alloc(s->r.d, &spec, &addr, &s->r.err), 0);
    bool poisoned = role == JOB_OUTPUT || role == JOB_WORKSPACE;
    int rc = poisoned ? s->r.d->ops->poison(s->r.d, addr, &b, 5, &s->r.err)
                      : s->r.d->ops->fill_gen(s->r.d, addr, &b, SEED, &s->r.err);
    assert_int_equal(rc, 0);
    return addr;
}

/* Begins a sampled call with further `flags`. Makes the tensors x and y, or with `in_place` one
 * tensor that is both. */
static void begin_with(struct sample *s, bool in_place, uint32_t flags)
{
    *s = (struct sample){0};
    emu_run_open(&s->r, false);
    s->r.job.nthreads = 2;
    s->r.d->ops->begin_call(
        s->r.d, &(struct job_call){.flags = JOB_CALL_TIMED | flags | JOB_CALL_BLOCK_SAMPLE});
    s->x = allocate(s, in_place ? JOB_INOUT : JOB_INPUT, 4);
    s->y = in_place ? s->x : allocate(s, JOB_OUTPUT, 12);
}

static void begin(struct sample *s, bool in_place)
{
    begin_with(s, in_place, 0);
}

static void launch(struct sample *s, const char *ptx, uint32_t grid)
{
    uint64_t args[] = {s->x, s->y, N};
    enum result_status st = emu_run_kernel(&s->r, ptx, "k", grid, 32, args, 3);
    if (st != RESULT_OK)
        fail_msg("%s", s->r.err.msg);
}

/* Checks that every element that the call reports is twice the input, and counts these elements in
 * `written`. */
static void look(struct sample *s)
{
    struct job_buffer b = buffer(JOB_INPUT);
    assert_int_equal(s->r.d->ops->written(s->r.d, s->y, 3, 1000000, &s->w, &s->r.err), 0);
    vec_each (struct device_piece, p, &s->w.pieces)
        for (uint32_t i = 0; i < p->elems; i++) {
            float want, got;
            gen_fill(&b.gen, b.dtype, SEED, b.stream, p->first + i, 1, &want);
            memcpy(&got, p->data + 4 * (size_t)i, 4);
            if (p->written[i / 8] >> i % 8 & 1) {
                assert_true(got == 2 * want);
                s->written++;
            }
        }
}

static void end(struct sample *s)
{
    vec_release(&s->w.pieces);
    vec_release(&s->w.places);
    emu_run_close(&s->r);
}

static void written_elements_are_told(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        struct sample s;
        begin(&s, in_place);
        launch(&s, HEAD DOUBLED TAIL, BLOCKS);
        look(&s);
        assert_in_range(s.written, 48 * 32 - 5, 48 * 32);
        assert_true(s.w.most > 1.08 && s.w.most < 1.09);
        struct device_written few = {0};
        assert_int_equal(s.r.d->ops->written(s.r.d, s.y, 3, 10, &few, &s.r.err), 0);
        assert_int_equal(few.pieces.n, 10);
        vec_release(&few.pieces);
        vec_release(&few.places);
        end(&s);
    }
}

/* The lanes of a warp use elements that lie far apart. Pieces that no lane uses are not filled. */
static void lanes_far_apart(void **state)
{
    (void)state;
    struct sample s;
    begin(&s, false);
    launch(&s,
           HEAD "mul.lo.u64 %rd7, %rd3, 7919;\nrem.u64 %rd7, %rd7, %rd2;\nshl.b64 %rd4, %rd7, 2;\n"
                "add.u64 %rd5, %rd0, %rd4;\nadd.u64 %rd6, %rd1, %rd4;\n" DOUBLED TAIL,
           BLOCKS);
    look(&s);
    assert_in_range(s.written, 48 * 32 - 5, 48 * 32);
    assert_true(s.w.pieces.n > 48 * 8 && s.w.pieces.n < 4ull * N / DEVICE_PIECE);
    end(&s);
}

/* With one of these instructions on global memory, a block may depend on other blocks. Then the
 * call reports no elements. An atomic on shared memory does not matter. */
static void blocks_that_look_at_each_other(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool alone;
    } extra[] = {
        {"red.global.add.f32 [%rd6], 0f00000000;\n", false},
        {"atom.add.u32 %r4, [%rd6], 0;\n", false},
        {"ld.volatile.global.f32 %f1, [%rd5];\n", false},
        {"ld.acquire.gpu.f32 %f1, [%rd5];\n", false},
        {"mov.u32 %r5, s;\nred.shared.add.u32 [%r5], 1;\n", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(extra); i++) {
        char ptx[4096];
        struct sample s;
        snprintf(ptx, sizeof ptx, "%s%s%s%s", HEAD, DOUBLED, extra[i].text, TAIL);
        begin(&s, false);
        launch(&s, ptx, BLOCKS);
        look(&s);
        assert_int_equal(s.w.pieces.n > 0, extra[i].alone);
        end(&s);
    }
}

static void launches_that_build_on_each_other(void **state)
{
    (void)state;
    struct sample s;
    begin(&s, false);
    launch(&s, HEAD DOUBLED TAIL, BLOCKS);
    launch(&s, HEAD DOUBLED TAIL, BLOCKS);
    look(&s);
    assert_int_equal(s.w.pieces.n, 0);
    end(&s);
    begin(&s, false); /* both launches run all blocks */
    launch(&s, HEAD "red.global.add.f32 [%rd6], 0f3f800000;\n" TAIL, 90);
    launch(&s, HEAD DOUBLED TAIL, 90);
    look(&s);
    assert_int_equal(s.written, 90 * 32);
    assert_true(fabs(s.w.most - 90.0 * 32 / N) < 1e-6);
    end(&s);
    /* A launch may run a sample if no later launch stores anything. */
    begin(&s, false);
    launch(&s, HEAD DOUBLED TAIL, 90);
    launch(&s, HEAD DOUBLED TAIL, BLOCKS);
    launch(&s, HEAD TAIL, 90);
    look(&s);
    assert_in_range(s.written, 90 * 32, (90 + 48) * 32);
    end(&s);
    begin(&s, false);
    launch(&s, HEAD DOUBLED TAIL, BLOCKS);
    launch(&s, HEAD DOUBLED TAIL, 90);
    look(&s);
    assert_int_equal(s.w.pieces.n, 0);
    end(&s);
}

/* `most` is an upper bound for the share of the output that all blocks together write. The bound is
 * computed as if four more blocks than the 48 of the sample had written, and is higher if some
 * blocks write less than others. */
static void shares(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double least, most;
    } all[] = {
        {"and.b32 %r4, %r2, 1;\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 ret;\n", 0.541, 0.543},
        {"setp.lt.u32 %p1, %r0, 4;\n@%p1 ret;\n", 0.947, 0.949},
        /* each block writes all or nothing, so the bound is loose */
        {"and.b32 %r4, %r1, 1;\nsetp.eq.u32 %p1, %r4, 0;\n@%p1 ret;\n", 0.501, 1.5},
        {"setp.gt.u32 %p1, %r1, 700;\n@%p1 ret;\n", 0.2, INFINITY},
        {"setp.gt.u32 %p1, %r1, 0;\n@%p1 ret;\n", INFINITY, INFINITY},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        char ptx[4096];
        struct sample s;
        snprintf(ptx, sizeof ptx, "%s%s%s%s", HEAD, all[i].text, DOUBLED, TAIL);
        begin(&s, false);
        launch(&s, ptx, BLOCKS);
        look(&s);
        assert_true(s.w.most >= all[i].least && s.w.most <= all[i].most);
        end(&s);
    }
}

/* The sample of long blocks depends on the limits of the job, not on the clock. */
static void long_blocks(void **state)
{
    (void)state;
    static const char ptx[] =
        HEAD DOUBLED "mov.u32 %r5, 0;\nL: add.u32 %r5, %r5, 1;\nxor.b32 %r6, %r5, %r2;\n"
                     "setp.lt.u32 %p1, %r5, 300000;\n@%p1 bra L;\n" TAIL;
    static const uint32_t grids[] = {BLOCKS, 60}; /* all 60 would run if they were short */
    struct sample s;
    for (size_t i = 0; i < ARRAY_LEN(grids); i++) {
        begin(&s, false);
        s.r.job.limits.emu_steps = 80000000; /* a quarter is for the sample, enough for 16 blocks */
        launch(&s, ptx, grids[i]);
        look(&s);
        assert_in_range(s.written, 15 * 32, 17 * 32);
        end(&s);
    }
}

/* A call that Hone verifies runs all blocks if that is cheap. Then the blocks may use atomics. If
 * one block in a hundred writes nothing, `most` shows it. */
static void verified_calls_run_more(void **state)
{
    (void)state;
    static const char skip[] = "rem.u32 %r4, %r1, 100;\nsetp.eq.u32 %p1, %r4, 37;\n@%p1 ret;\n";
    static const struct {
        const char *before, *after;
        uint32_t grid;
        double most;
        uint64_t ran;
    } all[] = {
        {"", "", BLOCKS, 1, BLOCKS},
        {"", "red.global.add.f32 [%rd6], 0f00000000;\n", BLOCKS, 1, BLOCKS},
        {"", "atom.add.u32 %r4, [%rd6], 0;\n", BLOCKS, 1, BLOCKS},
        {"", "ld.acquire.gpu.f32 %f1, [%rd5];\n", BLOCKS, 1, BLOCKS},
        {skip, "", BLOCKS, 0.99, BLOCKS},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        char ptx[4096];
        struct sample s;
        uint64_t blocks, ran;
        snprintf(ptx, sizeof ptx, "%s%s%s%s%s", HEAD, all[i].before, DOUBLED, all[i].after, TAIL);
        begin_with(&s, false, JOB_CALL_VERIFY);
        launch(&s, ptx, all[i].grid);
        look(&s);
        s.r.d->ops->blocks(s.r.d, &blocks, &ran);
        assert_int_equal(blocks, all[i].grid);
        assert_int_equal(ran, all[i].ran);
        assert_true(fabs(s.w.most - all[i].most) < 1e-3);
        assert_true(fabs(s.w.seen - all[i].most) < 1e-3);
        assert_true(s.w.places.n > 0.98 * BLOCKS);
        end(&s);
    }
}

/* Here it would cost too much to run all blocks of a verified call. So only a part of them runs,
 * which contains the first and the last block. But all blocks run if a block of the part writes
 * nothing, or if a block uses the result of an atomic. */
static void verified_calls_run_a_part(void **state)
{
    (void)state;
#define WORK(n)                                                          \
    "mov.u32 %r5, 0;\nL: add.u32 %r5, %r5, 1;\nxor.b32 %r6, %r5, %r2;\n" \
    "setp.lt.u32 %p1, %r5, " #n ";\n@%p1 bra L;\n"
    static const struct {
        const char *text;
        bool all, verified;
    } all[] = {
        {"", false, true},
        {"rem.u32 %r4, %r1, 20;\nsetp.eq.u32 %p1, %r4, 7;\n@%p1 ret;\n", true, true},
        {"red.global.add.u32 [g], 1;\n", false, true},
        {"atom.global.add.u32 %r4, [g], 1;\nsetp.eq.u32 %p1, %r4, 99;\n@%p1 ret;\n", true, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        char ptx[4096];
        struct sample s;
        uint64_t blocks, ran;
        snprintf(ptx, sizeof ptx, "%s", HEAD);
        char *entry = strstr(ptx, ".visible .entry");
        size_t at = (size_t)(entry - ptx);
        snprintf(ptx + at, sizeof ptx - at, ".global .align 4 .u32 g;\n%s%s%s%s%s",
                 strstr(HEAD, ".visible .entry"), WORK(600), all[i].text, DOUBLED, TAIL);
        begin_with(&s, false, JOB_CALL_VERIFY);
        launch(&s, ptx, BLOCKS);
        look(&s);
        s.r.d->ops->blocks(s.r.d, &blocks, &ran);
        assert_int_equal(blocks, BLOCKS);
        assert_int_equal(ran == BLOCKS, all[i].all);
        assert_true(ran > 200);
        assert_int_equal(s.w.pieces.n > 0, all[i].verified);
        bool first = false, last = false;
        vec_each (const struct device_place, p, &s.w.places) {
            first |= p->elem < 32;
            last |= p->elem >= (BLOCKS - 1) * 32;
        }
        assert_true(all[i].all || (first && last));
        end(&s);
    }
}

static void workspaces_hold_zeros(void **state)
{
    (void)state;
    for (int sampled = 0; sampled < 2; sampled++) {
        struct sample s = {0};
        emu_run_open(&s.r, false);
        uint32_t flags = sampled ? JOB_CALL_TIMED | JOB_CALL_BLOCK_SAMPLE : 0;
        s.r.d->ops->begin_call(s.r.d, &(struct job_call){.flags = flags});
        uint32_t got[N], set = 0;
        emu_run_read(&s.r, allocate(&s, JOB_WORKSPACE, 0), got, sizeof got);
        for (int i = 0; i < N; i++)
            set += got[i] != 0;
        assert_int_equal(set > 0, !sampled);
        emu_run_close(&s.r);
    }
}

static void the_next_call_is_whole(void **state)
{
    (void)state;
    struct sample s;
    begin(&s, false);
    launch(&s, HEAD DOUBLED TAIL, BLOCKS);
    s.r.d->ops->free(s.r.d, s.x, &s.r.err);
    s.r.d->ops->free(s.r.d, s.y, &s.r.err);
    s.r.d->ops->begin_call(s.r.d, &(struct job_call){.flags = 0});
    s.x = allocate(&s, JOB_INPUT, 4);
    s.y = allocate(&s, JOB_OUTPUT, 12);
    launch(&s, HEAD DOUBLED TAIL, BLOCKS);
    float *x = xmalloc(4 * N), *y = xmalloc(4 * N);
    emu_run_read(&s.r, s.x, x, 4 * N);
    emu_run_read(&s.r, s.y, y, 4 * N);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == 2 * x[i] && x[i] != 0);
    free(x);
    free(y);
    look(&s);
    assert_int_equal(s.w.pieces.n, 0);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_elements_are_told),
        cmocka_unit_test(lanes_far_apart),
        cmocka_unit_test(blocks_that_look_at_each_other),
        cmocka_unit_test(launches_that_build_on_each_other),
        cmocka_unit_test(shares),
        cmocka_unit_test(long_blocks),
        cmocka_unit_test(verified_calls_run_more),
        cmocka_unit_test(verified_calls_run_a_part),
        cmocka_unit_test(workspaces_hold_zeros),
        cmocka_unit_test(the_next_call_is_whole),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
