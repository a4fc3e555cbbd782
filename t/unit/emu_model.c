/*
 * emu_model.c - tests what the emulator counts for its cost model: waits, reuse of data in caches,
 * neighbouring accesses to shared memory that become one, and spills. The modelled time depends on
 * these counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "emu_run.h"

static double counter(const struct emu_run *r, const char *name)
{
    for (size_t i = 0; i < r->counted.n; i++)
        if (!r->counted.items[i].line && str_eq(r->counted.items[i].name, name))
            return r->counted.items[i].value;
    return 0;
}

/* Runs `body` as a kernel, in a call with counters. %rd0 is an input, %rd1 an output, and %rd2 is
 * `number`. %r0 is the thread, %r1 the block, %r2 the address of shared memory. */
static enum result_status run_counted(struct emu_run *r, const char *body, uint32_t grid,
                                      uint32_t block, uint64_t in_bytes, uint64_t number)
{
    char ptx[4096];
    snprintf(ptx, sizeof ptx, "%s%s%s%s", PTX_HEAD,
             ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
             ".reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .f32 %f<16>;\n.reg .pred %p<4>;\n"
             ".shared .align 16 .b8 s[4096];\n"
             "ld.param.u64 %rd0, [a];\nld.param.u64 %rd1, [b];\nld.param.u64 %rd2, [c];\n"
             "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, s;\n",
             body, "ret;\n}\n");
    uint64_t args[] = {emu_run_buffer(r, "in", JOB_INPUT, NULL, in_bytes),
                       emu_run_buffer(r, "out", JOB_OUTPUT, NULL, 65536), number};
    struct job_call call = {.flags = JOB_CALL_COUNT};
    r->d->ops->begin_call(r->d, &call);
    return emu_run_kernel(r, ptx, "k", grid, block, args, 3);
}

static void count(struct emu_run *r, const char *body, uint32_t grid, uint32_t block,
                  uint64_t in_bytes, uint64_t number)
{
    enum result_status st = run_counted(r, body, grid, block, in_bytes, number);
    if (st != RESULT_OK)
        fprintf(stderr, "%s\n", r->err.msg);
    assert_int_equal(st, RESULT_OK);
}

static double counted(const char *body, uint32_t grid, uint32_t block, uint64_t in_bytes,
                      uint64_t number, const char *name)
{
    struct emu_run r;
    emu_run_open(&r, false);
    count(&r, body, grid, block, in_bytes, number);
    double v = counter(&r, name);
    emu_run_close(&r);
    return v;
}

/* If an address is outside the emulated memory, the access itself faults, and the code that counts
 * does not follow the address. */
static void wild_addresses_fault(void **state)
{
    (void)state;
    static const uint64_t places[] = {
        0, 64, 1ull << 43, (1ull << 44) + (1ull << 42), 1ull << 60, (uint64_t)-64};
    static const char *const accesses[] = {"red.global.add.u32 [%rd2], 1;\n",
                                           "atom.global.add.u32 %r5, [%rd2], 1;\n",
                                           "atom.add.u32 %r5, [%rd2], 1;\n",
                                           "ld.global.u32 %r5, [%rd2];\n",
                                           "ld.volatile.global.u32 %r5, [%rd2];\n",
                                           "st.global.u32 [%rd2], %r0;\n",
                                           "cp.async.ca.shared.global [%r2], [%rd2], 16;\n"};
    for (size_t a = 0; a < ARRAY_LEN(accesses); a++)
        for (size_t i = 0; i < ARRAY_LEN(places); i++)
            for (int sanitize = 0; sanitize < 2; sanitize++) {
                struct emu_run r;
                emu_run_open(&r, sanitize);
                assert_int_equal(run_counted(&r, accesses[a], 2, 64, 4096, places[i]),
                                 RESULT_FAULT);
                emu_run_close(&r);
            }
}

/* In one generic atomic, some lanes may access shared memory and others global memory. */
static void atomics_on_two_spaces_are_counted(void **state)
{
    (void)state;
    const char *body = "mov.u64 %rd4, s;\ncvta.shared.u64 %rd3, %rd4;\n"
                       "and.b32 %r4, %r0, 1;\nsetp.eq.u32 %p0, %r4, 0;\n"
                       "selp.b64 %rd5, %rd1, %rd3, %p0;\natom.add.u32 %r5, [%rd5], 1;\n";
    assert_true(counted(body, 1, 32, 4096, 0, "dram_bytes") > 0);
}

/* A load waits for a store that may write the same place, unless the load is read-only (.nc). */
static void loads_after_stores_wait(void **state)
{
    (void)state;
    const char *text = "ld.global.f32 %%f0, [%%rd0];\nadd.f32 %%f0, %%f0, %%f0;\n"
                       "st.global.f32 [%%rd1], %%f0;\n"
                       "ld.global%s.f32 %%f1, [%%rd0+4];\nadd.f32 %%f1, %%f1, %%f1;\n"
                       "st.global.f32 [%%rd1+4], %%f1;\n";
    char body[1024];
    snprintf(body, sizeof body, text, "");
    assert_true(counted(body, 1, 32, 4096, 0, "global_waits") == 2);
    snprintf(body, sizeof body, text, ".nc");
    assert_true(counted(body, 1, 32, 4096, 0, "global_waits") == 1);
}

/* A load whose address comes from another load waits twice. A load under a short branch, which
 * ptxas turns into a predicate, is issued with the loads around it. */
static void chains_of_loads_wait_for_each_load(void **state)
{
    (void)state;
    const char *chain =
        "ld.global.u64 %rd3, [%rd0];\nand.b64 %rd3, %rd3, 0;\nadd.s64 %rd4, %rd0, %rd3;\n"
        "ld.global.f32 %f0, [%rd4];\nadd.f32 %f0, %f0, %f0;\n"
        "st.global.f32 [%rd1], %f0;\n";
    const char *branch = "setp.ge.u32 %p1, %r0, 64;\nld.global.nc.f32 %f0, [%rd0];\n"
                         "@%p1 bra SKIP;\nld.global.nc.f32 %f1, [%rd0+2048];\nSKIP:\n"
                         "add.f32 %f0, %f0, %f1;\nst.global.f32 [%rd1], %f0;\n";
    assert_true(counted(chain, 1, 32, 4096, 0, "global_waits") == 2);
    assert_true(counted(branch, 1, 32, 4096, 0, "global_waits") == 1);
}

/* Atomics of all threads on one word take longer than atomics of each thread on its own word.
 * Atomics on a float take longest. */
static void atomics_on_one_word_queue(void **state)
{
    (void)state;
    const char *one = "red.global.add.u32 [%rd1], 1;\n";
    const char *own = "mad.lo.u32 %r3, %r1, 32, %r0;\nmul.wide.u32 %rd3, %r3, 4;\n"
                      "add.s64 %rd3, %rd3, %rd1;\nred.global.add.u32 [%rd3], 1;\n";
    const char *real = "mov.f32 %f0, 0f3f800000;\nred.global.add.f32 [%rd1], %f0;\n";
    double t_one = counted(one, 512, 32, 4096, 0, "time");
    assert_true(t_one > 2 * counted(own, 512, 32, 4096, 0, "time"));
    assert_true(counted(real, 512, 32, 4096, 0, "time") > 1.4 * t_one);
}

/* Four loads, of one word each, count as one load of 16 bytes if they are aligned and no other
 * instruction is between them. */
static void neighbours_in_shared_memory_are_one(void **state)
{
    (void)state;
    static const struct {
        const char *base, *between;
        double conflicts;
    } t[] = {{"", "", 0},
             {"add.u32 %r3, %r3, 4;\n", "", 12},
             {"", "bar.sync 0;\n", 4}, /* two loads of 8 bytes each */
             {"", "mov.u32 %r3, %r3;\n", 4}};
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        char body[1024];
        snprintf(body, sizeof body,
                 "shl.b32 %%r3, %%r0, 4;\nadd.u32 %%r3, %%r3, %%r2;\n%s"
                 "ld.shared.f32 %%f1, [%%r3+4];\nld.shared.f32 %%f0, [%%r3];\n%s"
                 "ld.shared.f32 %%f2, [%%r3+8];\nld.shared.f32 %%f3, [%%r3+12];\n",
                 t[i].base, t[i].between);
        double got = counted(body, 1, 32, 4096, 0, "bank_conflicts");
        if (got != t[i].conflicts)
            fprintf(stderr, "case %zu: %g conflicts\n", i, got);
        assert_true(got == t[i].conflicts);
    }
}

/* In this body, each thread reads 16 bytes. The bytes of block %r1 begin at %r1 * %rd2. */
static const char read_own[] = "cvt.u64.u32 %rd3, %r1;\nmul.lo.u64 %rd3, %rd3, %rd2;\n"
                               "add.u64 %rd4, %rd0, %rd3;\nmul.wide.u32 %rd5, %r0, 16;\n"
                               "add.u64 %rd4, %rd4, %rd5;\n"
                               "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd4];\n"
                               "add.f32 %f0, %f0, %f1;\nst.global.f32 [%rd1], %f0;\n";

static void what_another_block_read_comes_sooner(void **state)
{
    (void)state;
    uint64_t each = 256 * 16, blocks = 8192;
    double own = counted(read_own, (uint32_t)blocks, 256, each * blocks, each, "time");
    double same = counted(read_own, (uint32_t)blocks, 256, each * blocks, 0, "time");
    assert_true(same > 0 && same < 0.8 * own);
}

static void spills_cost(void **state)
{
    (void)state;
    struct emu_run r;
    double time[2], bytes[2];
    for (uint32_t i = 0; i < 2; i++) {
        emu_run_open(&r, false);
        r.spill_bytes = i * 256;
        count(&r, read_own, 8192, 256, 4096 * 8192, 4096);
        time[i] = counter(&r, "time");
        bytes[i] = counter(&r, "dram_bytes");
        emu_run_close(&r);
    }
    assert_true(time[1] > 1.5 * time[0]);
    assert_true(bytes[1] > bytes[0]);
}

/* Each block reads %rd2 bytes twice. If the caches are too small, the second read comes from DRAM
 * too. */
static void rereading_depends_on_how_much(void **state)
{
    (void)state;
    static const char twice[] = "cvt.u64.u32 %rd3, %r1;\nmul.lo.u64 %rd3, %rd3, %rd2;\n"
                                "add.u64 %rd3, %rd3, %rd0;\nmul.wide.u32 %rd5, %r0, 16;\n"
                                "mov.u32 %r4, 0;\n"
                                "again:\nmov.u64 %rd6, %rd5;\n"
                                "row:\nadd.u64 %rd7, %rd3, %rd6;\n"
                                "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd7];\n"
                                "add.f32 %f0, %f0, %f1;\nadd.u64 %rd6, %rd6, 4096;\n"
                                "setp.lt.u64 %p0, %rd6, %rd2;\n@%p0 bra row;\n"
                                "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p0, %r4, 2;\n@%p0 bra again;\n";
    uint64_t little = 16384, much = 2 << 20;
    double a = counted(twice, 32, 256, 32 * much, little, "dram_bytes");
    double b = counted(twice, 32, 256, 32 * much, much, "dram_bytes");
    assert_true(a == 32.0 * (double)little);
    assert_true(b > 1.3 * 32 * (double)much && b <= 2.0 * 32 * (double)much);
}

/* Runs a sampled call with a grid of 960 blocks, which form 48 parts of 20 blocks. Sets bit k of
 * *hits if the sample contains block k of any part. */
static void sampled_places(uint64_t seed, uint32_t *hits)
{
    static uint32_t ran[960];
    const char *ptx = PTX_HEAD ".visible .entry k(.param .u64 a)\n{\n.reg .b32 %r<4>;\n"
                               ".reg .b64 %rd<4>;\nld.param.u64 %rd0, [a];\n"
                               "mov.u32 %r0, %ctaid.x;\nmul.wide.u32 %rd1, %r0, 4;\n"
                               "add.u64 %rd0, %rd0, %rd1;\nmov.u32 %r1, 1;\n"
                               "st.global.u32 [%rd0], %r1;\nret;\n}\n";
    struct emu_run r;
    emu_run_open(&r, false);
    r.job.seed = seed;
    memset(ran, 0, sizeof ran);
    uint64_t out = emu_run_buffer(&r, "out", JOB_OUTPUT, ran, sizeof ran);
    r.d->ops->begin_call(r.d, &(struct job_call){.flags = JOB_CALL_TIMED | JOB_CALL_BLOCK_SAMPLE});
    assert_int_equal(emu_run_kernel(&r, ptx, "k", 960, 1, &out, 1), RESULT_OK);
    emu_run_read(&r, out, ran, sizeof ran);
    emu_run_close(&r);
    for (uint32_t part = 0; part < 48; part++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < 20; k++) {
            n += ran[part * 20 + k];
            *hits |= ran[part * 20 + k] << k;
        }
        assert_int_equal(n, 1); /* the sample has one block of every part */
    }
}

/* If a block could know that it is in the sample, a kernel could be fast in these blocks only. */
static void no_block_knows_that_it_is_sampled(void **state)
{
    (void)state;
    uint32_t hits = 0;
    for (uint64_t seed = 1; seed <= 4; seed++)
        sampled_places(seed, &hits);
    assert_int_equal(hits, (1u << 20) - 1);
}

/* A GPU refuses a cooperative grid whose blocks do not all fit at once. */
static void cooperative_grids_must_fit(void **state)
{
    (void)state;
    static const struct {
        uint32_t grid, block;
        bool cooperative, fits;
    } rooms[] = {{132 * 2, 1024, true, true},
                 {132 * 2 + 1, 1024, true, false},
                 {132 * 2 + 1, 1024, false, true},
                 {132 * 32, 32, true, true},
                 {132 * 32 + 1, 32, true, false}};
    for (size_t i = 0; i < ARRAY_LEN(rooms); i++) {
        struct emu_run r;
        emu_run_open(&r, false);
        r.cooperative = rooms[i].cooperative;
        enum result_status st = emu_run_kernel(&r, PTX_HEAD ".visible .entry k()\n{\nret;\n}\n",
                                               "k", rooms[i].grid, rooms[i].block, NULL, 0);
        assert_int_equal(st, rooms[i].fits ? RESULT_OK : RESULT_PLAN);
        assert_int_equal(strstr(r.err.msg, "fit on the GPU at once") != NULL, !rooms[i].fits);
        emu_run_close(&r);
    }
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_block_knows_that_it_is_sampled),
        cmocka_unit_test(loads_after_stores_wait),
        cmocka_unit_test(chains_of_loads_wait_for_each_load),
        cmocka_unit_test(atomics_on_one_word_queue),
        cmocka_unit_test(wild_addresses_fault),
        cmocka_unit_test(atomics_on_two_spaces_are_counted),
        cmocka_unit_test(neighbours_in_shared_memory_are_one),
        cmocka_unit_test(what_another_block_read_comes_sooner),
        cmocka_unit_test(spills_cost),
        cmocka_unit_test(rereading_depends_on_how_much),
        cmocka_unit_test(cooperative_grids_must_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
