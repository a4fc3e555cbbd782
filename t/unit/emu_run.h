/*
 * emu_run.h - runs PTX text on the emulator, for tests. It launches one kernel whose parameters
 * have 8 bytes and are buffers or numbers.
 *
 *     struct emu_run r;
 *     emu_run_open(&r, true);
 *     uint64_t out = emu_run_buffer(&r, "out", JOB_OUTPUT, NULL, 128);
 *     status = emu_run_kernel(&r, ptx, "k", 1, 32, (uint64_t[]){out}, 1);
 *     emu_run_read(&r, out, got, 128);
 *     emu_run_close(&r);
 */
#ifndef EMU_RUN_H
#define EMU_RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "device/device.h"

struct emu_run {
    struct job job;
    struct device *d;
    struct err err;
    struct finding_vec found;
    struct counter_vec counted;
    uint32_t smem, cluster, block_y, regs, spill_bytes;
    bool cooperative;
    char dir[64];
};

static inline void emu_run_open(struct emu_run *r, bool sanitize)
{
    memset(r, 0, sizeof *r);
    r->job.device = JOB_EMU;
    r->job.sanitize = sanitize;
    r->job.nthreads = 1;
    r->job.limits.call_ns = 20ull * 1000 * 1000 * 1000;
    r->job.limits.device_bytes = 1ull << 30;
    r->job.gpu.name = "test";
    r->cluster = 1;
    r->block_y = 1;
    snprintf(r->dir, sizeof r->dir, "/tmp/emu_run.XXXXXX");
    if (!mkdtemp(r->dir) || emu_open(&r->d, &r->job, &r->err) < 0) {
        fprintf(stderr, "emu_run_open: %s\n", r->err.msg);
        abort();
    }
}

static inline void emu_run_close(struct emu_run *r)
{
    char path[128];
    snprintf(path, sizeof path, "%s/k.ptx", r->dir);
    unlink(path);
    rmdir(r->dir);
    r->d->ops->close(r->d);
    vec_release(&r->found);
    vec_release(&r->counted);
}

/* Allocates a buffer and returns its address. The buffer holds `data`, or poison if that is NULL.
 */
static inline uint64_t emu_run_buffer(struct emu_run *r, const char *name,
                                      enum job_buffer_role role, const void *data, uint64_t bytes)
{
    struct device_alloc spec = {.name = name,
                                .bytes = bytes,
                                .align = 256,
                                .elem_bytes = 4,
                                .role = role,
                                .rank = 1,
                                .dims = {(int64_t)bytes / 4}};
    uint64_t addr = 0;
    if (r->d->ops->alloc(r->d, &spec, &addr, &r->err) < 0)
        abort();
    if (data) {
        r->d->ops->write(r->d, addr, data, bytes, &r->err);
    } else {
        struct job_buffer b = {.dtype = DT_U32, .elems = bytes / 4, .bytes = bytes, .role = role};
        r->d->ops->poison(r->d, addr, &b, 7, &r->err);
    }
    return addr;
}

static inline enum result_status emu_run_kernel(struct emu_run *r, const char *ptx,
                                                const char *kernel, uint32_t grid, uint32_t block,
                                                const uint64_t *args, uint32_t nargs)
{
    char path[128];
    snprintf(path, sizeof path, "%s/k.ptx", r->dir);
    FILE *f = fopen(path, "w");
    if (!f || fputs(ptx, f) < 0 || fclose(f) != 0)
        abort();
    struct job_module m = {.name = "candidate", .ptx = "k.ptx", .cubin = "", .source = ""};
    struct device_module *mod = NULL;
    enum result_status st = r->d->ops->load(r->d, &m, r->dir, &mod, &r->err);
    if (st != RESULT_OK)
        return st;
    struct job_arg ja[16] = {0};
    void *pa[16];
    for (uint32_t i = 0; i < nargs; i++) {
        ja[i].size = 8;
        pa[i] = (void *)(uintptr_t)&args[i];
    }
    struct job_launch l = {.kernel = kernel,
                           .grid = {grid, 1, 1},
                           .block = {block, r->block_y, 1},
                           .cluster = {r->cluster, 1, 1},
                           .smem_bytes = r->smem,
                           .regs = r->regs,
                           .spill_bytes = r->spill_bytes,
                           .cooperative = r->cooperative,
                           .nargs = nargs,
                           .args = ja};
    st = r->d->ops->launch(r->d, mod, &l, pa, &r->err);
    if (st == RESULT_OK)
        st = r->d->ops->sync(r->d, 0, &r->err);
    r->d->ops->unload(r->d, mod);
    r->d->ops->findings(r->d, &r->found);
    r->d->ops->counters(r->d, &r->counted);
    return st;
}

static inline void emu_run_read(struct emu_run *r, uint64_t addr, void *dst, uint64_t n)
{
    if (r->d->ops->read(r->d, dst, addr, n, &r->err) < 0)
        abort();
}

#define PTX_HEAD ".version 8.7\n.target sm_90a\n.address_size 64\n"

#endif
