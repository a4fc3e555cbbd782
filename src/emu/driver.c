/* driver.c - the functions of the CUDA driver, on top of the emulator's device (driver.h). */
#include "emu/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "emu/device_emu.h"

/* With drivers up to CUDA 13.1, callers clear a bit in tensor maps that the emulator's maps do not
 * have. So we report a newer version. */
enum { DRIVER_VERSION = 13020 };

enum { MAX_PARAMS = 128, ADDRESS_SPACE_GB = 8 };

struct cu_context_st {
    char unused;
};

struct cu_module_st {
    struct device_module *code;
    struct cu_function_st *functions;
};

struct cu_function_st {
    struct cu_module_st *module;
    struct cu_function_st *next;
    struct job_arg arg[MAX_PARAMS]; /* only the sizes are set */
    uint32_t nargs;
    char name[];
};

/* There is one emulated GPU per process, because the driver's functions take no context. */
static struct {
    struct job job;
    struct device *device; /* NULL: not open */
    bool failed;
    char why[2048]; /* text of the last error */
} gpu;

static struct cu_context_st context;

/* ---- errors ---------------------------------------------------------------------------------- */

static cu_result fail(const char *why)
{
    snprintf(gpu.why, sizeof gpu.why, "%s", why);
    gpu.failed = true;
    return CU_LAUNCH_FAILED;
}

static cu_result error_name(cu_result r, const char **out)
{
    *out = r == CU_OUT_OF_MEMORY       ? "CUDA_ERROR_OUT_OF_MEMORY"
           : r == CU_LAUNCH_FAILED     ? "CUDA_ERROR_LAUNCH_FAILED"
           : r == CU_NO_BINARY_FOR_GPU ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
           : r == CU_INVALID_PTX       ? "CUDA_ERROR_INVALID_PTX"
           : r == CU_NOT_FOUND         ? "CUDA_ERROR_NOT_FOUND"
                                       : "CUDA_ERROR_INVALID_VALUE";
    return CU_SUCCESS;
}

static cu_result error_string(cu_result r, const char **out)
{
    *out = r == CU_OUT_OF_MEMORY                          ? "the emulator is out of memory"
           : r == CU_INVALID_PTX || r == CU_LAUNCH_FAILED ? gpu.why
                                                          : "an error of the emulator";
    return CU_SUCCESS;
}

/* ---- the device ------------------------------------------------------------------------------ */

static cu_result init(unsigned flags)
{
    return CU_SUCCESS;
}

static cu_result version(int *out)
{
    *out = DRIVER_VERSION;
    return CU_SUCCESS;
}

static cu_result device_count(int *n)
{
    *n = 1;
    return CU_SUCCESS;
}

static cu_result device_get(cu_device *out, int number)
{
    *out = 0;
    return number == 0 ? CU_SUCCESS : CU_INVALID_DEVICE;
}

static cu_result device_name(char *out, int size, cu_device d)
{
    snprintf(out, (size_t)size, "emulator");
    return CU_SUCCESS;
}

static cu_result device_attribute(int *out, int which, cu_device d)
{
    *out = which == CU_ATTR_CC_MAJOR                ? 9
           : which == CU_ATTR_MAX_THREADS_PER_BLOCK ? 1024
           : which == CU_ATTR_SM_COUNT              ? 132
           : which == CU_ATTR_SMEM_OPTIN            ? 232448
                                                    : 0;
    return CU_SUCCESS;
}

static cu_result device_memory(size_t *out, cu_device d)
{
    *out = gpu.job.limits.device_bytes;
    return CU_SUCCESS;
}

static cu_result context_retain(cu_context *out, cu_device d)
{
    *out = &context;
    return CU_SUCCESS;
}

static cu_result context_release(cu_device d)
{
    return CU_SUCCESS;
}

static cu_result context_flags(cu_device d, unsigned flags)
{
    return CU_SUCCESS;
}

static cu_result context_set(cu_context c)
{
    return CU_SUCCESS;
}

static cu_result context_get(cu_context *out)
{
    *out = &context;
    return CU_SUCCESS;
}

static cu_result context_device(cu_device *out)
{
    *out = 0;
    return CU_SUCCESS;
}

static cu_result context_limit(int which, size_t value)
{
    (void)which;
    (void)value;
    return CU_SUCCESS;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static cu_result memory_alloc(cu_ptr *out, size_t bytes)
{
    struct device_alloc spec = {
        .name = "device memory", .bytes = bytes, .align = 256, .role = JOB_INOUT};
    struct job_buffer b = {.name = spec.name, .role = JOB_INOUT, .dtype = DT_NONE, .bytes = bytes};
    const struct device_ops *o = gpu.device->ops;
    if (bytes == 0)
        return CU_INVALID_VALUE;
    if (o->alloc(gpu.device, &spec, out, NULL) < 0)
        return CU_OUT_OF_MEMORY;
    /* Nobody has written the memory yet: the sanitizer reports a kernel that reads it. */
    return gpu.job.sanitize && o->poison(gpu.device, *out, &b, 1, NULL) < 0 ? CU_INVALID_VALUE
                                                                            : CU_SUCCESS;
}

static cu_result memory_free(cu_ptr p)
{
    return gpu.device->ops->free(gpu.device, p, NULL) < 0 ? CU_INVALID_VALUE : CU_SUCCESS;
}

enum { HOST_PAGE = 4096 };

/* A header before pinned memory, which begins HOST_PAGE bytes after the start of this header. */
struct pinned {
    size_t bytes;
    cu_ptr mapped; /* emulated memory with a copy of the contents; 0 = none */
};

static struct pinned *pinned_of(void *p)
{
    return (struct pinned *)((char *)p - HOST_PAGE);
}

static cu_result host_alloc(void **out, size_t bytes, unsigned flags)
{
    *out = aligned_alloc(HOST_PAGE, (bytes + 2 * HOST_PAGE - 1) / HOST_PAGE * HOST_PAGE);
    if (!*out)
        return CU_OUT_OF_MEMORY;
    *out = (char *)*out + HOST_PAGE;
    *pinned_of(*out) = (struct pinned){.bytes = bytes};
    return CU_SUCCESS;
}

static cu_result host_free(void *p)
{
    struct pinned *m = pinned_of(p);
    if (m->mapped)
        memory_free(m->mapped);
    free(m);
    return CU_SUCCESS;
}

/* Kernels access emulated memory only, so mapping copies the contents. */
static cu_result host_address(cu_ptr *out, void *p, unsigned flags)
{
    struct pinned *m = pinned_of(p);
    cu_result r = m->mapped ? CU_SUCCESS : memory_alloc(&m->mapped, m->bytes);
    if (r == CU_SUCCESS)
        r = gpu.device->ops->write(gpu.device, m->mapped, p, m->bytes, NULL) < 0 ? CU_INVALID_VALUE
                                                                                 : CU_SUCCESS;
    *out = m->mapped;
    return r;
}

static cu_result done(int rc)
{
    return gpu.failed ? CU_LAUNCH_FAILED : rc < 0 ? CU_INVALID_VALUE : CU_SUCCESS;
}

static cu_result copy_in(cu_ptr to, const void *from, size_t bytes, cu_stream s)
{
    return done(gpu.device->ops->write(gpu.device, to, from, bytes, NULL));
}

static cu_result copy_out(void *to, cu_ptr from, size_t bytes, cu_stream s)
{
    return done(gpu.device->ops->read(gpu.device, to, from, bytes, NULL));
}

static cu_result copy_within(cu_ptr to, cu_ptr from, size_t bytes, cu_stream s)
{
    void *between = xmalloc(MAX(bytes, 1));
    int rc = gpu.device->ops->read(gpu.device, between, from, bytes, NULL);
    if (rc == 0)
        rc = gpu.device->ops->write(gpu.device, to, between, bytes, NULL);
    free(between);
    return done(rc);
}

static cu_result memory_set(cu_ptr to, unsigned char byte, size_t bytes, cu_stream s)
{
    if (byte == 0)
        return done(gpu.device->ops->zero(gpu.device, to, bytes, NULL));
    void *from = xmalloc(MAX(bytes, 1));
    memset(from, byte, bytes);
    int rc = gpu.device->ops->write(gpu.device, to, from, bytes, NULL);
    free(from);
    return done(rc);
}

static cu_result memory_fill(cu_ptr to, const void *pattern, size_t width, size_t count)
{
    char *from = xmalloc(MAX(count * width, 1));
    for (size_t i = 0; i < count; i++)
        memcpy(from + i * width, pattern, width);
    int rc = gpu.device->ops->write(gpu.device, to, from, count * width, NULL);
    free(from);
    return done(rc);
}

static cu_result memory_set16(cu_ptr to, unsigned short value, size_t count, cu_stream s)
{
    return memory_fill(to, &value, sizeof value, count);
}

static cu_result memory_set32(cu_ptr to, unsigned value, size_t count, cu_stream s)
{
    return memory_fill(to, &value, sizeof value, count);
}

/* ---- code ------------------------------------------------------------------------------------ */

static cu_result module_load(cu_module *out, const void *image)
{
    struct err err = ERR_INIT;
    if (memcmp(image, "\177ELF", 4) == 0)
        return CU_NO_BINARY_FOR_GPU;
    struct cu_module_st *m = xcalloc(1, sizeof *m);
    if (emu_load_text(gpu.device, image, strlen(image), &m->code, &err) != RESULT_OK) {
        snprintf(gpu.why, sizeof gpu.why, "%s", err.msg);
        free(m);
        return CU_INVALID_PTX;
    }
    *out = m;
    return CU_SUCCESS;
}

static cu_result module_unload(cu_module m)
{
    while (m->functions) {
        struct cu_function_st *f = m->functions;
        m->functions = f->next;
        free(f);
    }
    gpu.device->ops->unload(gpu.device, m->code);
    free(m);
    return CU_SUCCESS;
}

static cu_result module_function(cu_function *out, cu_module m, const char *name)
{
    uint32_t bytes[MAX_PARAMS];
    int n = emu_kernel_params(m->code, name, bytes, MAX_PARAMS);
    if (n < 0 || n > MAX_PARAMS)
        return CU_NOT_FOUND;
    struct cu_function_st *f = xcalloc(1, sizeof *f + strlen(name) + 1);
    memcpy(f->name, name, strlen(name) + 1);
    f->module = m;
    f->nargs = (uint32_t)n;
    for (int i = 0; i < n; i++)
        f->arg[i].size = bytes[i];
    f->next = m->functions;
    m->functions = f;
    *out = f;
    return CU_SUCCESS;
}

static cu_result function_get(int *out, int which, cu_function f)
{
    *out = which == CU_FUNC_MAX_THREADS ? 1024 : 0;
    return CU_SUCCESS;
}

static cu_result function_set(cu_function f, int which, int value)
{
    return CU_SUCCESS;
}

/* `type` is a CUtensorMapDataType. */
static cu_result tensor_map_encode(struct cu_tensormap *out, int type, uint32_t rank, void *at,
                                   const uint64_t *dims, const uint64_t *strides,
                                   const uint32_t *box, const uint32_t *elem_strides,
                                   int interleave, int swizzle, int l2promo, int fill_nan)
{
    static const enum dtype types[] = {DT_U8,  DT_U16, DT_U32, DT_I32, DT_U64,
                                       DT_I64, DT_F16, DT_F32, DT_F64, DT_BF16};
    if (type < 0 || type >= (int)ARRAY_LEN(types) || rank < 1 || rank > 5)
        return CU_INVALID_VALUE;
    struct job_tensormap t = {.dtype = types[type],
                              .rank = rank,
                              .swizzle = (uint8_t)swizzle,
                              .interleave = (uint8_t)interleave,
                              .l2promo = (uint8_t)l2promo,
                              .fill_nan = (uint8_t)fill_nan};
    for (uint32_t i = 0; i < rank; i++) {
        t.dims[i] = dims[i];
        t.strides[i] = i > 0 ? strides[i - 1] : 0;
        t.box[i] = box[i];
        t.elem_strides[i] = elem_strides[i];
    }
    struct err err = ERR_INIT;
    return gpu.device->ops->tensormap(gpu.device, &t, (uintptr_t)at, (uint8_t *)out, &err) == 0
               ? CU_SUCCESS
               : CU_INVALID_VALUE;
}

/* Fails if the sanitizer found something. */
static cu_result look_at_findings(const char *kernel)
{
    struct finding_vec found = VEC_INIT;
    cu_result rc = CU_SUCCESS;
    gpu.device->ops->findings(gpu.device, &found);
    if (found.n) {
        char why[sizeof gpu.why];
        const struct result_finding *f = &found.items[0];
        snprintf(why, sizeof why, "kernel '%s', line %u: %s", kernel, f->line, f->text);
        rc = fail(why);
    }
    vec_release(&found);
    return rc;
}

static cu_result launch_config(const struct cu_launch_config *c, cu_function f, void **args,
                               void **extra)
{
    struct err err = ERR_INIT;
    struct job_launch l = {
        .kernel = f->name, .smem_bytes = c->smem, .nargs = f->nargs, .args = f->arg};
    if (gpu.failed)
        return CU_LAUNCH_FAILED;
    for (int i = 0; i < 3; i++) {
        l.grid[i] = c->grid[i];
        l.block[i] = c->block[i];
        l.cluster[i] = 1;
    }
    for (unsigned i = 0; i < c->nattrs; i++) {
        const struct cu_launch_attr *a = &c->attrs[i];
        if (a->id == CU_LAUNCH_COOPERATIVE)
            l.cooperative = a->value.cooperative != 0;
        if (a->id == CU_LAUNCH_CLUSTER) {
            l.cluster[0] = a->value.cluster.x;
            l.cluster[1] = a->value.cluster.y;
            l.cluster[2] = a->value.cluster.z;
        }
    }
    enum result_status st = gpu.device->ops->launch(gpu.device, f->module->code, &l, args, &err);
    if (st != RESULT_OK)
        return fail(err.msg);
    return gpu.job.sanitize ? look_at_findings(f->name) : CU_SUCCESS;
}

static cu_result launch_kernel(cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned smem, cu_stream s, void **args,
                               void **extra)
{
    struct cu_launch_config c = {
        .grid = {gx, gy, gz}, .block = {bx, by, bz}, .smem = smem, .stream = s};
    return launch_config(&c, f, args, extra);
}

/* ---- streams and events ---------------------------------------------------------------------- */

static cu_result stream_create(cu_stream *out, unsigned flags)
{
    *out = (cu_stream)&context;
    return CU_SUCCESS;
}

static cu_result stream_done(cu_stream s)
{
    return done(0);
}

static cu_result stream_wait(cu_stream s, cu_event e, unsigned flags)
{
    return done(0);
}

static cu_result event_create(cu_event *out, unsigned flags)
{
    *out = (cu_event)&context;
    return CU_SUCCESS;
}

static cu_result event_record(cu_event e, cu_stream s)
{
    return done(0);
}

static cu_result event_done(cu_event e)
{
    return done(0);
}

static cu_result event_elapsed(float *ms, cu_event begin, cu_event end)
{
    *ms = 0;
    return CU_SUCCESS;
}

static cu_result nothing(void)
{
    return CU_SUCCESS;
}

int emu_driver_open(struct cu_driver *out, bool sanitize, struct err *err)
{
    if (gpu.device)
        return err_set(err, ERR_USAGE, "the emulator is already open in this process");
    memset(&gpu, 0, sizeof gpu);
    gpu.job = (struct job){.sanitize = sanitize,
                           .seed = 1,
                           .limits = {.device_bytes = (uint64_t)ADDRESS_SPACE_GB << 30}};
    if (emu_open(&gpu.device, &gpu.job, err) < 0)
        return -1;
    *out = (struct cu_driver){
        .version = DRIVER_VERSION,
        .Init = init,
        .DriverGetVersion = version,
        .GetErrorName = error_name,
        .GetErrorString = error_string,
        .DeviceGetCount = device_count,
        .DeviceGet = device_get,
        .DeviceGetName = device_name,
        .DeviceGetAttribute = device_attribute,
        .DeviceTotalMem = device_memory,
        .PrimaryCtxRetain = context_retain,
        .PrimaryCtxRelease = context_release,
        .PrimaryCtxSetFlags = context_flags,
        .CtxSetCurrent = context_set,
        .CtxGetCurrent = context_get,
        .CtxGetDevice = context_device,
        .CtxSetLimit = context_limit,
        .CtxResetPersistingL2Cache = nothing,
        .MemAlloc = memory_alloc,
        .MemFree = memory_free,
        .MemHostAlloc = host_alloc,
        .MemHostGetDevicePointer = host_address,
        .MemFreeHost = host_free,
        .MemcpyHtoDAsync = copy_in,
        .MemcpyDtoHAsync = copy_out,
        .MemcpyDtoDAsync = copy_within,
        .MemsetD8Async = memory_set,
        .MemsetD16Async = memory_set16,
        .MemsetD32Async = memory_set32,
        .ModuleLoadData = module_load,
        .ModuleUnload = module_unload,
        .ModuleGetFunction = module_function,
        .FuncGetAttribute = function_get,
        .FuncSetAttribute = function_set,
        .LaunchKernel = launch_kernel,
        .LaunchKernelEx = launch_config,
        .StreamCreate = stream_create,
        .StreamDestroy = stream_done,
        .StreamSynchronize = stream_done,
        .StreamWaitEvent = stream_wait,
        .EventCreate = event_create,
        .EventDestroy = event_done,
        .EventRecord = event_record,
        .EventQuery = event_done,
        .EventSynchronize = event_done,
        .EventElapsedTime = event_elapsed,
        .ProfilerStart = nothing,
        .ProfilerStop = nothing,
        .TensorMapEncodeTiled = tensor_map_encode,
    };
    return 0;
}

void emu_driver_close(void)
{
    if (gpu.device)
        gpu.device->ops->close(gpu.device);
    memset(&gpu, 0, sizeof gpu);
}
