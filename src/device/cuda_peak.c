/* cuda_peak.c - measures the ceilings of a GPU: its highest rates of memory and arithmetic. */
#include "base/stats.h"
#include "base/util.h"
#include "device/ceilings.h"
#include "device/cuda.h"

enum { SAMPLES = 11 }; /* timed launches */

struct peak {
    struct cuda *d;
    cu_function f;
    unsigned grid, block, smem;
    void **args;
};

/* Returns the median time of a launch in nanoseconds, or < 0 on failure. The first two launches
 * only warm up. A gate kernel holds back each launch until the host has queued it (cuda_run.c). */
static double time_of(struct peak *p, struct err *err)
{
    double v[SAMPLES];
    size_t n = 0;
    for (int i = -2; i < SAMPLES; i++) {
        struct launch_stat stat;
        if (cuda_time_begin(&p->d->dev, err) < 0)
            return -1;
        int rc =
            cu_launch_1d(p->d->cu, p->f, p->grid, p->block, p->smem, p->d->stream, p->args, NULL);
        if (cuda_time_end(&p->d->dev, &stat, err) < 0 || rc < 0)
            return -1;
        if (i >= 0 && stat.time_ns > 0)
            v[n++] = stat.time_ns;
    }
    return n ? stats_median(v, n) : -1;
}

static int memory_rates(struct cuda *d, struct device_ceilings *out, struct err *err)
{
    uint64_t bytes = UINT64_C(1) << 30, n;
    cu_ptr a = 0, b = 0;
    int rc = -1;
    while (bytes > 64 << 20 && bytes * 4 > d->info.mem_bytes)
        bytes /= 2;
    n = bytes / 16;
    if (cu_mem_alloc(d->cu, bytes, &a, NULL) < 0 || cu_mem_alloc(d->cu, bytes, &b, NULL) < 0) {
        err_set(err, ERR_LIMIT, "no device memory to measure with");
        goto out;
    }
    cu_mem_set(d->cu, a, 1, bytes, d->stream, NULL);
    void *copy_args[] = {&b, &a, &n}, *read_args[] = {&a, &n, &d->slot};
    /* The best block count differs between GPUs. */
    for (unsigned per_sm = 4; per_sm <= 32; per_sm *= 2) {
        struct peak copy = {d, d->svc.copy, d->info.sms * per_sm, 256, 0, copy_args};
        struct peak read = {d, d->svc.flush_read, d->info.sms * per_sm, 256, 0, read_args};
        double tc = time_of(&copy, err), tr = time_of(&read, err);
        if (tc <= 0 || tr <= 0)
            goto out;
        out->copy_gbps = MAX(out->copy_gbps, 2.0 * (double)bytes / tc);
        out->read_gbps = MAX(out->read_gbps, (double)bytes / tr);
    }
    rc = 0;
out:
    if (a)
        cu_mem_free(d->cu, a);
    if (b)
        cu_mem_free(d->cu, b);
    return rc;
}

/* Returns the rate of a kernel, in 1e12 operations per second. The kernel repeats a loop *iters
 * times; one block does `ops_per_block_iter` operations each time. Returns 0 if the service cubin
 * (service.cu) has no such kernel, or if the measurement fails. */
static double rate(struct cuda *d, const char *name, unsigned blocks_per_sm, unsigned block,
                   unsigned smem, double ops_per_block_iter, void **args, uint32_t *iters,
                   struct err *err)
{
    struct peak p = {d, NULL, d->info.sms * blocks_per_sm, block, smem, args};
    if (cu_module_function(d->cu, d->svc.module, name, &p.f, NULL) < 0)
        return 0;
    if (smem > 48 * 1024)
        cu_function_set(d->cu, p.f, CU_FUNC_MAX_DYNAMIC_SMEM, (int)smem, NULL);
    double t = time_of(&p, err);
    return t > 0 ? ops_per_block_iter * *iters * p.grid / t / 1e3 : 0;
}

static void arithmetic_rates(struct cuda *d, struct device_ceilings *out, struct err *err)
{
    /* Both halves of `a` are the fp16 number 1.0, and both halves of `b` are 0.5. The mma kernels
     * make their operands from a and b. */
    uint32_t iters = 4096, a = 0x3c003c00, b = 0x38003800;
    float x = 0.999f, y = 0.001f;
    void *fma_args[] = {&d->slot, &iters, &x, &y};
    void *mma_args[] = {&d->slot, &iters, &a, &b};
    void *wgmma_args[] = {&d->slot, &iters};
    out->f32_tflops = rate(d, "hone_fma32", 8, 256, 0, 256 * 32.0, fma_args, &iters, err);
    double mma = rate(d, "hone_mma_f16", 4, 256, 0, 8 * 8 * 4096.0, mma_args, &iters, err);
    out->tf32_tflops = rate(d, "hone_mma_tf32", 4, 256, 0, 8 * 8 * 2048.0, mma_args, &iters, err);
    double wgmma = rate(d, "hone_wgmma_f16", 1, 384, 65536, 3 * 4 * 2.0 * 64 * 256 * 16, wgmma_args,
                        &iters, err);
    out->f16_tflops = MAX(mma, wgmma);
}

int cuda_ceilings(int ordinal, const char *dir, const char *service, struct device_ceilings *out,
                  struct err *err)
{
    struct job job = {.device = JOB_CUDA,
                      .ordinal = ordinal,
                      .limits = {.call_ns = UINT64_C(10) * 1000000000},
                      .oracle = "",
                      .service = service};
    struct device *dev;
    *out = (struct device_ceilings){0};
    if (cuda_open(&dev, &job, dir, err) < 0)
        return -1;
    struct cuda *d = cuda_of(dev);
    out->info = d->info;
    int rc = cuda_prepare_timing(dev, &out->empty_launch_ns, err);
    if (rc == 0)
        rc = memory_rates(d, out, err);
    if (rc == 0) {
        arithmetic_rates(d, out, err);
        dev->ops->health(dev, &out->health);
    }
    dev->ops->close(dev);
    return rc;
}
