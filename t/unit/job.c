/* Tests job.bin: a job can be written and read back, the reader refuses truncated and hostile
 * files, and it survives changed bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"

#include "job/job.h"
#include "job/wire.h"
#include "wire_rig.h"

static struct job_arg args[] = {{JOB_ARG_BUFFER, 1, {0}, 8},
                                {JOB_ARG_TENSORMAP, 0, {0}, 128},
                                {JOB_ARG_BYTES, 0, {1, 2, 3, 4}, 4}};
static struct job_launch launches[] = {
    {.kernel = "k",
     .grid = {4, 2, 1},
     .block = {128, 1, 1},
     .cluster = {2, 1, 1},
     .smem_bytes = 4096,
     .cooperative = true,
     .pdl = true,
     .nargs = 3,
     .args = args},
    {.kind = JOB_MEMSET,
     .kernel = "memset",
     .transfer = {.to = 1, .to_offset = 4, .bytes = 8, .value = 9, .width = 4},
     .grid = {1, 1, 1},
     .block = {1, 1, 1},
     .cluster = {1, 1, 1}},
    {.kind = JOB_COPY,
     .kernel = "copy",
     .transfer = {.to = 1, .from = 0, .from_offset = 100, .bytes = 128, .width = 1},
     .grid = {1, 1, 1},
     .block = {1, 1, 1},
     .cluster = {1, 1, 1}},
};
static struct job_tensormap map = {.buffer = 0,
                                   .dtype = DT_F16,
                                   .rank = 2,
                                   .dims = {64, 32},
                                   .strides = {0, 128},
                                   .box = {64, 8},
                                   .elem_strides = {1, 1},
                                   .swizzle = 3,
                                   .l2promo = 2,
                                   .fill_nan = 1};
static struct job_program program = {
    .module = 1, .nlaunches = 3, .launches = launches, .ntensormaps = 1, .tensormaps = &map};
static struct job_buffer buffers[] = {{.name = "x",
                                       .role = JOB_INPUT,
                                       .dtype = DT_F16,
                                       .elems = 2048,
                                       .bytes = 4096,
                                       .align = 256,
                                       .rank = 2,
                                       .dims = {32, 64},
                                       .gen = {.dist = GEN_NORMAL,
                                               .special = {GEN_NEG_INF, GEN_SPECIAL_NUMBER},
                                               .every = {9, 8},
                                               .number = {0, -100},
                                               .a = 0.5,
                                               .b = 2,
                                               .n = 2048},
                                       .stream = 7,
                                       .file = "x.bin"},
                                      {.name = "y",
                                       .role = JOB_OUTPUT,
                                       .dtype = DT_F32,
                                       .elems = 32,
                                       .bytes = 128,
                                       .align = 4,
                                       .offset = 4,
                                       .rank = 1,
                                       .dims = {32},
                                       .rtol = 1e-5,
                                       .atol = 1e-7,
                                       .budget = 8,
                                       .acc_eps = 0x1p-24}};
static struct job_call calls[] = {{0, JOB_CALL_VERIFY, 11, 12, 0, 5},
                                  {0, JOB_CALL_REPEAT, 11, 13, -1, 0}};
static struct job_phase phases[] = {{"rowsum", 32, 7}, {"reference", 2048, 1}};
static int64_t axes[] = {32, 64};
static double scalars[] = {1e-5};
static struct job_case one_case = {.name = "smoke:0",
                                   .nbuffers = 2,
                                   .buffers = buffers,
                                   .nprograms = 1,
                                   .programs = &program,
                                   .ncalls = 2,
                                   .calls = calls,
                                   .timing = {8, 100, 3, 0.01, 99, true},
                                   .nphases = 2,
                                   .phases = phases,
                                   .scratch_elems = 64,
                                   .naxes = 2,
                                   .axes = axes,
                                   .nscalars = 1,
                                   .scalars = scalars,
                                   .max_units = 17,
                                   .flops = 3,
                                   .min_bytes = 4};
static struct job_module modules[] = {
    {"candidate", JOB_MODULE_KERNEL, "cand.cubin", "cand.ptx", "", "cand.cu"},
    {"torch", JOB_MODULE_TORCH, "", "", "torch.py", ""}};

static struct job sample(void)
{
    return (struct job){.device = JOB_CUDA,
                        .ordinal = 2,
                        .sanitize = true,
                        .nonce = 5,
                        .seed = 0x123456789abcdef,
                        .nthreads = 3,
                        .timing_processes = 2,
                        .limits = {1, 2, 3, 4, 5, 6},
                        .gpu = {.name = "h200", .sms = 132, .dram_latency_ns = 600.5},
                        .oracle = "oracle.cubin",
                        .service = "service.cubin",
                        .nmodules = 2,
                        .modules = modules,
                        .ncases = 1,
                        .cases = &one_case};
}

static void round_trip(void **state)
{
    (void)state;
    struct job in = sample(), out;
    struct strbuf a = STRBUF_INIT(JOB_MAX_BYTES), b = STRBUF_INIT(JOB_MAX_BYTES);
    struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    job_write(&in, &a);
    assert_int_equal(job_read(&out, a.buf, a.len, &arena, &err), 0);
    assert_int_equal(out.ordinal, 2);
    assert_int_equal(out.nonce, 5);
    assert_string_equal(out.modules[1].spec, "torch.py");
    assert_true(out.gpu.dram_latency_ns == 600.5);
    const struct job_case *c = &out.cases[0];
    assert_true(c->programs[0].launches[0].pdl && !c->programs[0].launches[1].pdl);
    assert_true(c->timing.warm_l2);
    assert_string_equal(c->buffers[1].name, "y");
    assert_true(c->buffers[0].gen.b == 2 && c->buffers[0].gen.special[0] == GEN_NEG_INF);
    assert_int_equal(c->buffers[0].gen.special[1], GEN_SPECIAL_NUMBER);
    assert_true(c->buffers[0].gen.number[1] == -100);
    assert_int_equal(c->buffers[0].dims[1], 64);
    assert_string_equal(c->buffers[0].file, "x.bin");
    assert_int_equal(c->programs[0].launches[0].args[2].bytes[3], 4);
    const struct job_launch *l = c->programs[0].launches;
    assert_true(l[0].kind == JOB_KERNEL && l[1].kind == JOB_MEMSET && l[2].kind == JOB_COPY);
    assert_true(l[1].transfer.value == 9 && l[1].transfer.to_offset == 4);
    assert_true(l[2].transfer.from_offset == 100 && l[2].transfer.bytes == 128);
    assert_int_equal(c->programs[0].tensormaps[0].strides[1], 128);
    assert_int_equal(c->calls[1].perturb_buffer, -1);
    assert_int_equal(c->timing.seed, 99);
    assert_string_equal(c->phases[1].fn, "reference");
    assert_true(c->phases[0].repeat == 7 && c->phases[1].repeat == 1);
    /* The bytes are the same if we write what we read. So neither job_write() nor job_read()
     * forgets a field that the other one has. */
    job_write(&out, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.buf, b.buf, a.len);
    assert_true(job_hash(a.buf, a.len) == job_hash(b.buf, b.len));
    assert_true(job_hash(a.buf, a.len) != job_hash(a.buf, a.len - 1));
    arena_release(&arena);
    strbuf_release(&a);
    strbuf_release(&b);
}

/* The reader refuses a transfer that leaves its buffer, writes to an input, or names no buffer. It
 * refuses a width other than 1, 2 or 4, and an offset or size that is no multiple of the width. It
 * refuses a copy whose source and destination overlap. */
static void transfers_stay_in_their_buffers(void **state)
{
    static const struct job_transfer bad[] = {
        {.to = 1, .to_offset = 124, .bytes = 8, .width = 1},
        {.to = 1, .to_offset = UINT64_MAX - 3, .bytes = 8, .width = 1},
        {.to = 9, .bytes = 8, .width = 1},
        {.to = 0, .bytes = 8, .width = 1},
        {.to = 1, .bytes = 8, .width = 3},
        {.to = 1, .to_offset = 2, .bytes = 8, .width = 4},
        {.to = 1, .from = 1, .from_offset = 4, .bytes = 8, .width = 1},
        {.to = 1, .from = 0, .from_offset = 4090, .bytes = 8, .width = 1},
        {.to = 1, .from = 7, .bytes = 8, .width = 1},
    };
    struct job_launch before = launches[2];
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct arena arena = ARENA_INIT;
        struct err err = ERR_INIT;
        struct strbuf sb = STRBUF_INIT(JOB_MAX_BYTES);
        struct job in = sample(), out;
        launches[2].transfer = bad[i];
        job_write(&in, &sb);
        assert_int_equal(job_read(&out, sb.buf, sb.len, &arena, &err), -1);
        arena_release(&arena);
        strbuf_release(&sb);
    }
    launches[2] = before;
}

static void check_invariants(const struct job *j)
{
    for (uint32_t i = 0; i < j->ncases; i++) {
        const struct job_case *c = &j->cases[i];
        for (uint32_t p = 0; p < c->nprograms; p++) {
            assert_true(c->programs[p].module < j->nmodules);
            for (uint32_t l = 0; l < c->programs[p].nlaunches; l++) {
                const struct job_transfer *t = &c->programs[p].launches[l].transfer;
                enum job_launch_kind kind = c->programs[p].launches[l].kind;
                assert_true(kind == JOB_KERNEL ||
                            (t->to < c->nbuffers && c->buffers[t->to].role != JOB_INPUT &&
                             t->to_offset + t->bytes <= c->buffers[t->to].bytes));
                assert_true(kind != JOB_COPY ||
                            (t->from < c->nbuffers &&
                             t->from_offset + t->bytes <= c->buffers[t->from].bytes));
                for (uint32_t k = 0; k < c->programs[p].launches[l].nargs; k++) {
                    const struct job_arg *arg = &c->programs[p].launches[l].args[k];
                    assert_true(arg->kind != JOB_ARG_BUFFER || arg->index < c->nbuffers);
                    assert_true(arg->kind != JOB_ARG_TENSORMAP ||
                                arg->index < c->programs[p].ntensormaps);
                }
            }
        }
        for (uint32_t k = 0; k < c->ncalls; k++)
            assert_true(c->calls[k].program < c->nprograms);
        for (uint32_t k = 0; k < c->nphases; k++)
            assert_true(c->phases[k].repeat <= JOB_MAX_REPEAT &&
                        c->phases[k].units <= JOB_MAX_ELEMS &&
                        c->phases[k].units * c->phases[k].repeat <= JOB_MAX_ELEMS);
    }
}

static bool reads(const char *data, size_t len, struct arena *a)
{
    struct job out;
    if (job_read(&out, data, len, a, NULL) < 0)
        return false;
    check_invariants(&out);
    return true;
}

static void every_truncation_is_refused(void **state)
{
    struct job in = sample();
    struct strbuf a = STRBUF_INIT(JOB_MAX_BYTES);
    job_write(&in, &a);
    wire_truncated(&a, reads);
    strbuf_release(&a);
}

static void mutations_are_refused_or_harmless(void **state)
{
    struct job in = sample();
    struct strbuf a = STRBUF_INIT(JOB_MAX_BYTES);
    job_write(&in, &a);
    wire_mutated(&a, reads);
    strbuf_release(&a);
}

static int refused(const struct job *j, const char *word)
{
    struct job out;
    struct strbuf a = STRBUF_INIT(JOB_MAX_BYTES);
    struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    job_write(j, &a);
    int rc = job_read(&out, a.buf, a.len, &arena, &err);
    int ok = rc < 0 && strstr(err.msg, word);
    if (!ok)
        print_message("# wanted '%s', got %d '%s'\n", word, rc, err.msg);
    arena_release(&arena);
    strbuf_release(&a);
    return ok;
}

static void names_that_leave_the_bundle_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"../x", "/etc/passwd", "a/b", ".hidden", ".."};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct job j = sample();
        j.oracle = bad[i];
        assert_true(refused(&j, "oracle"));
        j = sample();
        modules[0].cubin = bad[i];
        assert_true(refused(&j, "module file"));
        modules[0].cubin = "cand.cubin";
    }
}

static void broken_references_are_refused(void **state)
{
    (void)state;
    struct job j = sample();
    args[0].index = 2;
    assert_true(refused(&j, "buffer argument"));
    args[0].index = 1;
    program.module = 2;
    assert_true(refused(&j, "program's module"));
    program.module = 1;
    buffers[0].bytes++;
    assert_true(refused(&j, "buffer size"));
    buffers[0].bytes--;
    calls[0].perturb_elem = 2048;
    assert_true(refused(&j, "perturbed element"));
    calls[0].perturb_elem = 5;
    calls[0].flags |= JOB_CALL_REPEAT;
    assert_true(refused(&j, "repeated call"));
    calls[0].flags &= ~(uint32_t)JOB_CALL_REPEAT;
}

static void phases_with_too_many_steps_are_refused(void **state)
{
    (void)state;
    struct job j = sample();
    struct job_phase was = phases[0];
    phases[0].repeat = JOB_MAX_REPEAT + 1;
    assert_true(refused(&j, "phase repeat"));
    phases[0] = (struct job_phase){"rowsum", JOB_MAX_ELEMS, 2};
    assert_true(refused(&j, "phase repeat"));
    phases[0] = (struct job_phase){"rowsum", (JOB_MAX_ELEMS >> 24) + 1, JOB_MAX_REPEAT};
    assert_true(refused(&j, "phase repeat"));
    phases[0] = (struct job_phase){"rowsum", JOB_MAX_ELEMS >> 24, JOB_MAX_REPEAT};
    assert_false(refused(&j, "phase repeat"));
    phases[0] = (struct job_phase){"rowsum", JOB_MAX_ELEMS + 1, 0};
    assert_true(refused(&j, "phase units"));
    phases[0] = was;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers_stay_in_their_buffers),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(mutations_are_refused_or_harmless),
        cmocka_unit_test(names_that_leave_the_bundle_are_refused),
        cmocka_unit_test(broken_references_are_refused),
        cmocka_unit_test(phases_with_too_many_steps_are_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
