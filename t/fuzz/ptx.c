/*
 * Any text as a PTX module: refused, or loaded, and its first kernel run for a few thousand
 * instructions on a small grid, with the sanitizer. Nothing of ours may be harmed by it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "emu/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct device *open_device(struct job *job, uint8_t how)
{
    struct device *d;
    memset(job, 0, sizeof *job);
    job->sanitize = how & 1;
    job->nthreads = 1;
    job->seed = how >> 1;
    job->limits.device_bytes = 32u << 20;
    job->limits.printf_bytes = 4096;
    job->limits.emu_steps = 20000;
    job->limits.call_ns = 2000000000;
    job->gpu.name = "fuzz";
    return emu_open(&d, job, NULL) < 0 ? NULL : d;
}

/* A launch whose arguments fit the entry: pointers to two buffers, small numbers. */
static void run(struct device *d, struct code *c, struct code_func *f, uint8_t how)
{
    static uint8_t bytes[4096];
    struct device_alloc spec = {.name = "buf", .bytes = 4096, .align = 256, .elem_bytes = 4};
    struct job_arg args[JOB_MAX_ARGS] = {0};
    void *values[JOB_MAX_ARGS];
    uint64_t addr[2], store[JOB_MAX_ARGS][1 + 4096 / 8] = {{0}};
    spec.role = JOB_INPUT;
    if (d->ops->alloc(d, &spec, &addr[0], NULL) < 0)
        return;
    spec.role = JOB_WORKSPACE;
    if (d->ops->alloc(d, &spec, &addr[1], NULL) < 0)
        return;
    d->ops->write(d, addr[0], bytes, sizeof bytes, NULL);
    d->ops->write(d, addr[1], bytes, sizeof bytes, NULL);
    if (f->src->nparam > JOB_MAX_ARGS)
        return;
    for (uint32_t i = 0; i < f->src->nparam; i++) {
        if (f->src->param[i]->bytes > 4096)
            return;
        args[i].size = (uint32_t)f->src->param[i]->bytes;
        store[i][0] = args[i].size == 8 ? addr[i & 1] : 64;
        values[i] = store[i];
    }
    struct job_launch l = {.kernel = f->src->name,
                           .grid = {2, 1, 1},
                           .block = {how & 2 ? 40u : 64u, 1, 1},
                           .cluster = {how & 4 ? 2u : 1u, 1, 1},
                           .smem_bytes = 2048,
                           .cooperative = how & 8,
                           .nargs = f->src->nparam,
                           .args = args};
    struct device_module *m = (struct device_module *)&c; /* its one member is the code */
    if (d->ops->launch(d, m, &l, values, NULL) == RESULT_OK)
        d->ops->sync(d, 0, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct job job;
    struct code *c;
    uint8_t how = 0;
    for (size_t i = 0; i < len; i++)
        how = (uint8_t)(how * 31 + data[i]);
    struct device *d = open_device(&job, how);
    if (!d)
        abort();
    if (code_load(&c, (struct emu *)d, (const char *)data, len, NULL) == RESULT_OK) {
        for (uint32_t i = 0; i < c->nfuncs; i++)
            if (c->funcs[i].src->is_entry && c->funcs[i].src->defined) {
                run(d, c, &c->funcs[i], how);
                break;
            }
        code_free(c);
    }
    d->ops->close(d);
    return 0;
}
