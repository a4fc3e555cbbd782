/*
 * Tests src/cuda/ on a GPU: batches go through pinned memory, a copy stream and a compute stream,
 * and a kernel from PTX text adds one to each element. t/gpu/cuda.sh builds and runs this program.
 * It prints TAP, and exits with 77 where there is no GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cuda/context.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/module.h"
#include "cuda/stream.h"
#include "cuda/tensormap.h"

enum { N = 1 << 20, BYTES = N * 4, SLOTS = 2, BATCHES = 16, BLOCK = 256 };

/* extern "C" __global__ void add_one(uint32_t *x, uint32_t n), over any grid of one dimension. */
static const char ptx[] = ".version 7.0\n"
                          ".target sm_75\n"
                          ".address_size 64\n"
                          ".visible .global .align 4 .u32 counter = 41;\n"
                          ".visible .entry add_one(.param .u64 px, .param .u32 pn)\n"
                          "{\n"
                          "    .reg .pred p;\n"
                          "    .reg .b32 i, n, v, tid, size, step;\n"
                          "    .reg .b64 x, a;\n"
                          "    ld.param.u64 x, [px];\n"
                          "    cvta.to.global.u64 x, x;\n"
                          "    ld.param.u32 n, [pn];\n"
                          "    mov.u32 i, %ctaid.x;\n"
                          "    mov.u32 size, %ntid.x;\n"
                          "    mov.u32 tid, %tid.x;\n"
                          "    mad.lo.u32 i, i, size, tid;\n"
                          "    mov.u32 step, %nctaid.x;\n"
                          "    mul.lo.u32 step, step, size;\n"
                          "LOOP:\n"
                          "    setp.ge.u32 p, i, n;\n"
                          "    @p bra END;\n"
                          "    mad.wide.u32 a, i, 4, x;\n"
                          "    ld.global.u32 v, [a];\n"
                          "    add.u32 v, v, 1;\n"
                          "    st.global.u32 [a], v;\n"
                          "    add.u32 i, i, step;\n"
                          "    bra LOOP;\n"
                          "END:\n"
                          "    ret;\n"
                          "}\n";

struct slot {
    uint32_t *in, *out; /* pinned */
    cu_ptr dev;
    cu_event arrived, done;
};

struct gpu {
    const struct cu_driver *cu;
    cu_device dev;
    cu_context ctx;
    cu_stream copies, kernels;
    cu_event begin, end;
    cu_module mod;
    cu_function add_one;
    struct slot slot[SLOTS];
};

static int tests, failures;

static void ok(bool good, const char *name, const struct err *err)
{
    printf("%s %d - %s\n", good ? "ok" : "not ok", ++tests, name);
    if (!good)
        printf("# %s\n", err->msg);
    failures += !good;
}

static int open_slot(const struct cu_driver *cu, struct slot *s, struct err *err)
{
    if (cu_pinned_alloc(cu, BYTES, (void **)&s->in, err) < 0 ||
        cu_pinned_alloc(cu, BYTES, (void **)&s->out, err) < 0 ||
        cu_mem_alloc(cu, BYTES, &s->dev, err) < 0 || cu_event_create(cu, &s->arrived, err) < 0 ||
        cu_event_create(cu, &s->done, err) < 0)
        return -1;
    return 0;
}

static int open_gpu(struct gpu *g, struct err *err)
{
    const struct cu_driver *cu = g->cu;
    if (cu_device_get(cu, 0, &g->dev, err) < 0 ||
        cu_context_open(cu, g->dev, 0, &g->ctx, err) < 0 ||
        cu_stream_create(cu, &g->copies, err) < 0 || cu_stream_create(cu, &g->kernels, err) < 0 ||
        cu_event_create(cu, &g->begin, err) < 0 || cu_event_create(cu, &g->end, err) < 0 ||
        cu_module_load(cu, ptx, &g->mod, err) < 0 ||
        cu_module_function(cu, g->mod, "add_one", &g->add_one, err) < 0)
        return -1;
    for (int i = 0; i < SLOTS; i++)
        if (open_slot(cu, &g->slot[i], err) < 0)
            return -1;
    return 0;
}

static void close_gpu(struct gpu *g)
{
    const struct cu_driver *cu = g->cu;
    for (int i = 0; i < SLOTS; i++) {
        cu_event_destroy(cu, g->slot[i].arrived);
        cu_event_destroy(cu, g->slot[i].done);
        cu_mem_free(cu, g->slot[i].dev);
        cu_pinned_free(cu, g->slot[i].in);
        cu_pinned_free(cu, g->slot[i].out);
    }
    cu_module_unload(cu, g->mod);
    cu_event_destroy(cu, g->begin);
    cu_event_destroy(cu, g->end);
    cu_stream_destroy(cu, g->copies);
    cu_stream_destroy(cu, g->kernels);
    cu_context_close(cu, g->dev);
}

static uint32_t value(uint32_t batch, uint32_t i)
{
    return (i + 1) * 2654435761u + batch * 40503u;
}

/* Queues one batch: the copy to the GPU on the copy stream, the kernel and the copy back on the
 * compute stream. */
static int queue_batch(struct gpu *g, struct slot *s, struct err *err)
{
    const struct cu_driver *cu = g->cu;
    uint32_t n = N;
    void *args[] = {&s->dev, &n};
    if (cu_copy_to_device(cu, s->dev, s->in, BYTES, g->copies, err) < 0 ||
        cu_event_record(cu, s->arrived, g->copies, err) < 0 ||
        cu_stream_wait_event(cu, g->kernels, s->arrived, err) < 0 ||
        cu_launch_1d(cu, g->add_one, N / BLOCK, BLOCK, 0, g->kernels, args, err) < 0 ||
        cu_copy_to_host(cu, s->out, s->dev, BYTES, g->kernels, err) < 0 ||
        cu_event_record(cu, s->done, g->kernels, err) < 0)
        return -1;
    return 0;
}

static int check_batch(const struct slot *s, uint32_t batch, struct err *err)
{
    for (uint32_t i = 0; i < N; i++)
        if (s->out[i] != value(batch, i) + 1)
            return err_set(err, ERR_INTERNAL, "batch %u, element %u: %u instead of %u", batch, i,
                           s->out[i], value(batch, i) + 1);
    return 0;
}

/* The host fills one slot while the GPU works on the other. */
static int pipeline(struct gpu *g, struct err *err)
{
    if (cu_event_record(g->cu, g->begin, g->copies, err) < 0)
        return -1;
    for (uint32_t b = 0; b < BATCHES + SLOTS; b++) {
        struct slot *s = &g->slot[b % SLOTS];
        if (b >= SLOTS &&
            (cu_event_sync(g->cu, s->done, err) < 0 || check_batch(s, b - SLOTS, err) < 0))
            return -1;
        if (b >= BATCHES)
            continue;
        for (uint32_t i = 0; i < N; i++)
            s->in[i] = value(b, i);
        memset(s->out, 0, BYTES);
        if (queue_batch(g, s, err) < 0)
            return -1;
    }
    return cu_event_record(g->cu, g->end, g->kernels, err);
}

static int read_time(struct gpu *g, struct err *err)
{
    float ms = 0;
    uint64_t limit_ns = UINT64_C(10) * 1000000000;
    if (cu_stream_sync_within(g->cu, g->kernels, g->slot[0].done, limit_ns, err) < 0 ||
        cu_event_elapsed_ms(g->cu, g->begin, g->end, &ms, err) < 0)
        return -1;
    printf("# %d batches of %d bytes in %.3f ms\n", BATCHES, BYTES, (double)ms);
    return ms > 0 ? 0 : err_set(err, ERR_INTERNAL, "no time passed");
}

/* Runs the kernel on pinned memory, without a copy. The launch asks for 64 KiB of shared memory, so
 * the function must allow them first. */
static int in_place(struct gpu *g, bool cooperative, struct err *err)
{
    const struct cu_driver *cu = g->cu;
    struct slot *s = &g->slot[0];
    struct cu_launch l = {.grid = {4, 1, 1},
                          .block = {BLOCK, 1, 1},
                          .smem_bytes = 64 << 10,
                          .cooperative = cooperative,
                          .stream = g->kernels};
    uint32_t n = N;
    cu_ptr p;
    void *args[] = {&p, &n};
    for (uint32_t i = 0; i < N; i++)
        s->out[i] = value(3, i);
    if (cu_pinned_address(cu, s->out, &p, err) < 0 ||
        cu_function_set(cu, g->add_one, CU_FUNC_MAX_DYNAMIC_SMEM, 64 << 10, err) < 0 ||
        cu_launch(cu, g->add_one, &l, args, err) < 0 || cu_stream_sync(cu, g->kernels, err) < 0)
        return -1;
    return check_batch(s, 3, err);
}

static int bytes_set(struct gpu *g, struct err *err)
{
    struct slot *s = &g->slot[1];
    if (cu_mem_set(g->cu, s->dev, 0xa5, BYTES, g->copies, err) < 0 ||
        cu_copy_to_host(g->cu, s->out, s->dev, BYTES, g->copies, err) < 0 ||
        cu_stream_sync(g->cu, g->copies, err) < 0)
        return -1;
    for (uint32_t i = 0; i < N; i++)
        if (s->out[i] != 0xa5a5a5a5u)
            return err_set(err, ERR_INTERNAL, "element %u is %x", i, s->out[i]);
    return 0;
}

static int variable(struct gpu *g, struct err *err)
{
    uint32_t *v = g->slot[0].out;
    cu_ptr p;
    size_t bytes = 0;
    if (cu_module_global(g->cu, g->mod, "counter", &p, &bytes, err) < 0 ||
        cu_copy_to_host(g->cu, v, p, sizeof *v, g->copies, err) < 0 ||
        cu_stream_sync(g->cu, g->copies, err) < 0)
        return -1;
    if (bytes != sizeof *v || *v != 41)
        return err_set(err, ERR_INTERNAL, "%zu bytes, %u", bytes, *v);
    return 0;
}

static int cluster_and_tensormap(struct gpu *g, struct err *err)
{
    struct cu_tensormap map;
    struct cu_tensormap_spec t = {.dtype = DT_F32,
                                  .rank = 2,
                                  .addr = g->slot[0].dev,
                                  .dims = {1024, 1024},
                                  .strides = {0, 4096},
                                  .box = {32, 64},
                                  .elem_strides = {1, 1},
                                  .swizzle = 3};
    struct cu_launch l = {
        .grid = {4, 1, 1}, .block = {32, 1, 1}, .cluster = {2, 1, 1}, .stream = g->kernels};
    uint32_t n = 0;
    void *args[] = {&g->slot[0].dev, &n};
    if (cu_tensormap_encode(g->cu, &t, &map, err) < 0 ||
        cu_launch(g->cu, g->add_one, &l, args, err) < 0)
        return -1;
    return cu_stream_sync(g->cu, g->kernels, err);
}

static bool refuses(struct gpu *g, struct err *err)
{
    uint32_t n = 0;
    void *args[] = {&g->slot[0].dev, &n};
    int rc = cu_launch_1d(g->cu, g->add_one, 1, 4096, 0, g->kernels, args, err);
    printf("# %s\n", err->msg);
    return rc == -CU_INVALID_VALUE && strstr(err->msg, "CUDA_ERROR_INVALID_VALUE");
}

int main(void)
{
    struct err err = ERR_INIT;
    struct gpu g = {.cu = cu_driver_load(&err)};
    char name[128] = "", pci[32] = "";
    int n = 0, sms = 0, major = 0;
    if (!g.cu || cu_device_count(g.cu, &n, &err) < 0 || n == 0) {
        printf("1..0 # SKIP %s\n", g.cu && !*err.msg ? "no GPU" : err.msg);
        return 77;
    }
    ok(open_gpu(&g, &err) == 0, "a context, two streams and a module from PTX can be opened", &err);
    if (!failures) {
        cu_device_name(g.cu, g.dev, name, sizeof name, NULL);
        cu_device_pci_id(g.cu, g.dev, pci, sizeof pci, NULL);
        cu_device_attribute(g.cu, g.dev, CU_ATTR_SM_COUNT, &sms, NULL);
        cu_device_attribute(g.cu, g.dev, CU_ATTR_CC_MAJOR, &major, NULL);
        printf("# %s at %s, %d SMs, CUDA %d\n", name, pci, sms, g.cu->version);
        ok(*name && *pci && sms > 0, "the GPU describes itself", &err);
        ok(pipeline(&g, &err) == 0, "two streams with copies in both directions give right results",
           &err);
        ok(read_time(&g, &err) == 0, "two events give the time between them", &err);
        ok(in_place(&g, false, &err) == 0, "a kernel changes pinned memory in place", &err);
        ok(in_place(&g, true, &err) == 0, "a cooperative launch changes pinned memory in place",
           &err);
        ok(bytes_set(&g, &err) == 0, "device memory is set", &err);
        ok(variable(&g, &err) == 0, "a variable of the module is found", &err);
        if (major >= 9)
            ok(cluster_and_tensormap(&g, &err) == 0,
               "a launch with a cluster and a tensor map gives right results", &err);
        ok(cu_l2_reset_persisting(g.cu, &err) == 0, "the persisting lines of the L2 can be reset",
           &err);
        ok(refuses(&g, &err), "a launch that is too large is refused with the reason", &err);
        close_gpu(&g);
    }
    printf("1..%d\n", tests);
    return failures ? 1 : 0;
}
