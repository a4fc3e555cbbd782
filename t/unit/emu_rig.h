/*
 * emu_rig.h - a small rig for tests that run PTX text on the emulated device.
 *
 *     struct rig r;
 *     rig_open(&r, true);                      -- with the sanitizer
 *     rig_load(&r, "t/cases/emu/tma.ptx");
 *     uint64_t in = rig_alloc(&r, "in", data, bytes);
 *     rig_launch(&r, "kernel", grid, block, smem, cluster, "pp4", in, out, 7);
 *     rig_read(&r, host, out, bytes);
 *     rig_close(&r);
 */
#ifndef T_EMU_RIG_H
#define T_EMU_RIG_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "device/device.h"

struct rig {
    struct job job;
    struct device *dev;
    struct device_module *mod;
    struct finding_vec findings;
    struct err err;
    enum result_status status;
};

static inline void rig_fail(struct rig *r, const char *what)
{
    print_message("%s: %s\n", what, r->err.msg);
    fail();
}

static inline void rig_open(struct rig *r, bool sanitize)
{
    memset(r, 0, sizeof *r);
    r->job.device = JOB_EMU;
    r->job.sanitize = sanitize;
    r->job.nthreads = 1;
    r->job.limits.device_bytes = 1ull << 30;
    r->job.limits.call_ns = 20000000000ull;
    r->job.limits.printf_bytes = 1 << 16;
    r->job.gpu.name = "h200";
    if (emu_open(&r->dev, &r->job, &r->err) < 0)
        rig_fail(r, "emu_open");
}

static inline void rig_load(struct rig *r, const char *path)
{
    struct job_module m = {.name = "test", .ptx = path, .cubin = "", .spec = "", .source = ""};
    if (r->dev->ops->load(r->dev, &m, ".", &r->mod, &r->err) != RESULT_OK)
        rig_fail(r, path);
}

static inline uint64_t rig_alloc(struct rig *r, const char *name, const void *data, uint64_t bytes)
{
    struct device_alloc a = {.name = name,
                             .bytes = bytes,
                             .align = 256,
                             .elem_bytes = 1,
                             .role = data ? JOB_INPUT : JOB_OUTPUT};
    uint64_t addr = 0;
    if (r->dev->ops->alloc(r->dev, &a, &addr, &r->err) < 0)
        rig_fail(r, "alloc");
    if (data && r->dev->ops->write(r->dev, addr, data, bytes, &r->err) < 0)
        rig_fail(r, "write");
    return addr;
}

static inline void rig_read(struct rig *r, void *dst, uint64_t addr, uint64_t bytes)
{
    if (r->dev->ops->read(r->dev, dst, addr, bytes, &r->err) < 0)
        rig_fail(r, "read");
}

/* Launches a kernel and waits for its end. Returns the status, and keeps it and the findings in *r.
 * `types` has a letter for each argument that follows it: p for a pointer (uint64_t), 4 for an int,
 * m for a tensor map (const uint8_t *). */
static inline enum result_status rig_launch(struct rig *r, const char *kernel, uint32_t grid,
                                            uint32_t block, uint32_t smem, uint32_t cluster,
                                            const char *types, ...)
{
    struct job_arg args[16] = {0};
    void *ptr[16];
    static _Thread_local uint8_t store[16][128];
    va_list ap;
    va_start(ap, types);
    uint32_t n = 0;
    for (const char *t = types; *t; t++, n++) {
        ptr[n] = store[n];
        if (*t == 'p') {
            uint64_t v = va_arg(ap, uint64_t);
            memcpy(store[n], &v, 8);
            args[n] = (struct job_arg){.kind = JOB_ARG_BUFFER, .size = 8};
        } else if (*t == '4') {
            int v = va_arg(ap, int);
            memcpy(store[n], &v, 4);
            args[n] = (struct job_arg){.kind = JOB_ARG_BYTES, .size = 4};
        } else {
            memcpy(store[n], va_arg(ap, const uint8_t *), 128);
            args[n] = (struct job_arg){.kind = JOB_ARG_TENSORMAP, .size = 128};
        }
    }
    va_end(ap);
    struct job_launch l = {.kernel = kernel,
                           .grid = {grid, 1, 1},
                           .block = {block, 1, 1},
                           .cluster = {cluster, 1, 1},
                           .smem_bytes = smem,
                           .nargs = n,
                           .args = args};
    r->status = r->dev->ops->launch(r->dev, r->mod, &l, ptr, &r->err);
    if (r->status == RESULT_OK)
        r->status = r->dev->ops->sync(r->dev, 0, &r->err);
    r->dev->ops->findings(r->dev, &r->findings);
    return r->status;
}

static inline void rig_tensormap(struct rig *r, uint8_t out[128], const struct job_tensormap *t,
                                 uint64_t addr)
{
    if (r->dev->ops->tensormap(r->dev, t, addr, out, &r->err) != RESULT_OK)
        rig_fail(r, "tensormap");
}

static inline bool rig_found(const struct rig *r, enum finding_kind kind)
{
    for (size_t i = 0; i < r->findings.n; i++)
        if (r->findings.items[i].kind == kind)
            return true;
    return false;
}

/* Fails the test unless the launch succeeded without findings. */
static inline void rig_clean(struct rig *r)
{
    if (r->status != RESULT_OK)
        rig_fail(r, result_status_name(r->status));
    for (size_t i = 0; i < r->findings.n; i++)
        print_message("%s line %u: %s\n", finding_kind_name(r->findings.items[i].kind),
                      r->findings.items[i].line, r->findings.items[i].text);
    if (r->findings.n)
        fail();
}

static inline void rig_close(struct rig *r)
{
    vec_release(&r->findings);
    if (r->mod)
        r->dev->ops->unload(r->dev, r->mod);
    r->dev->ops->close(r->dev);
}

#endif
