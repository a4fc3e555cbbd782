/*
 * A CUDA driver without a GPU, for tests of src/cuda/ and of programs that use it.
 *
 *     cc -std=gnu17 -D_GNU_SOURCE -shared -fPIC -iquote src -o DIR/libcuda.so.1 t/fake/libcuda.c
 *     LD_LIBRARY_PATH=DIR FAKE_CUDA_LOG=calls PROGRAM
 *
 * Device memory is host memory, and work is done when it is queued. Kernels do nothing, except
 * `add_one(uint32_t *x, uint32_t n)`, which adds 1 to each element. A module is PTX text or an ELF
 * file. PTX text has the kernels and variables whose names it contains. An ELF file has every
 * kernel and no variable.
 *
 *   FAKE_CUDA_LOG=FILE          each call becomes a line of FILE
 *   FAKE_CUDA_FAIL=NAME:CODE    every call of NAME returns the error CODE
 *   FAKE_CUDA_LOST=NAME:N:CODE  from the N-th call of NAME on, every function returns CODE
 *   FAKE_CUDA_BUSY=N            the first N queries of each event say "not ready"
 *   FAKE_CUDA_GPUS=N            there are N GPUs; GPU 1 has the PCI address 0000:01:00.0
 *   FAKE_CUDA_NAME=NAME         the model of the GPUs; "Fake GPU" without it
 *   FAKE_CUDA_OTHER=NAME        the model of all GPUs but the first
 *   -DWITHOUT_TENSOR_MAPS       builds an old driver, without cuTensorMapEncodeTiled
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/driver.h"

#define EXPORT __attribute__((visibility("default")))

struct cu_function_st {
    char name[64];
};
struct cu_module_st {
    char *text; /* NULL = ELF */
    unsigned nfn;
    struct cu_function_st fn[64];
};
struct cu_stream_st {
    int dummy;
};
struct cu_event_st {
    int asked;
};

/* Returns the error of FAKE_CUDA_LOST if the context is lost, else 0. */
static int lost(const char *name, size_t n)
{
    static int code, calls;
    const char *wish = getenv("FAKE_CUDA_LOST");
    char *end;
    if (code || !wish || strncmp(wish, name, n) != 0 || wish[n] != ':')
        return code;
    long at = strtol(wish + n + 1, &end, 10);
    if (++calls == at)
        code = atoi(end + 1);
    return code;
}

/* Logs the call. Returns the error that it must end with, or 0. The format begins with the
 * function's name. */
__attribute__((format(printf, 1, 2))) static int enter(const char *fmt, ...)
{
    const char *log = getenv("FAKE_CUDA_LOG"), *fail = getenv("FAKE_CUDA_FAIL");
    size_t n = strcspn(fmt, " ");
    FILE *f = log ? fopen(log, "a") : NULL;
    if (f) {
        va_list ap;
        va_start(ap, fmt);
        vfprintf(f, fmt, ap);
        fputc('\n', f);
        va_end(ap);
        fclose(f);
    }
    if (fail && strncmp(fail, fmt, n) == 0 && fail[n] == ':')
        return atoi(fail + n + 1);
    return lost(fmt, n);
}

/* Defines a driver function. */
#define FAKE(name, params, fmt, args, body)   \
    EXPORT cu_result name params;             \
    EXPORT cu_result name params              \
    {                                         \
        int bad = enter(#name fmt PASS args); \
        if (bad)                              \
            return bad;                       \
        body;                                 \
        return CU_SUCCESS;                    \
    }
#define PASS(...) __VA_OPT__(, ) __VA_ARGS__

/* ---- devices and contexts -------------------------------------------------------------------- */

FAKE(cuInit, (unsigned flags), "", (), )
FAKE(cuDriverGetVersion, (int *v), "", (), *v = 12040)
static int gpus(void)
{
    const char *n = getenv("FAKE_CUDA_GPUS");
    return n ? atoi(n) : 1;
}
FAKE(cuDeviceGetCount, (int *n), "", (), *n = gpus())
FAKE(cuDeviceGet, (cu_device * dev, int i), " %d", (i),
     if (i < 0 || i >= gpus()) return CU_INVALID_DEVICE;
     *dev = i)
FAKE(cuDeviceGetName, (char *s, int n, cu_device dev), "", (),
     snprintf(s, (size_t)n, "%s",
              dev &&getenv("FAKE_CUDA_OTHER") ? getenv("FAKE_CUDA_OTHER")
              : getenv("FAKE_CUDA_NAME")      ? getenv("FAKE_CUDA_NAME")
                                              : "Fake GPU"))
FAKE(cuDeviceGetPCIBusId, (char *s, int n, cu_device dev), "", (),
     snprintf(s, (size_t)n, "0000:%02x:00.0", dev))
FAKE(cuDeviceTotalMem_v2, (size_t * n, cu_device dev), "", (), *n = (size_t)8 << 30)
FAKE(cuDevicePrimaryCtxRetain, (cu_context * c, cu_device dev), "", (),
     *c = (cu_context)(uintptr_t)64)
FAKE(cuDevicePrimaryCtxRelease_v2, (cu_device dev), "", (), )
FAKE(cuDevicePrimaryCtxSetFlags_v2, (cu_device dev, unsigned flags), " %u", (flags), )
FAKE(cuCtxSetCurrent, (cu_context c), "", (), )
FAKE(cuCtxGetCurrent, (cu_context * c), "", (), *c = (cu_context)(uintptr_t)64)
FAKE(cuCtxGetDevice, (cu_device * dev), "", (), *dev = 0)
FAKE(cuCtxSetLimit, (int which, size_t n), " %d %zu", (which, n), )
FAKE(cuCtxResetPersistingL2Cache, (void), "", (), )
FAKE(cuProfilerStart, (void), "", (), )
FAKE(cuProfilerStop, (void), "", (), )

static int attribute(int which)
{
    switch (which) {
    case CU_ATTR_SM_COUNT:
        return 132;
    case CU_ATTR_L2_BYTES:
        return 1 << 20;
    case CU_ATTR_CC_MAJOR:
        return 9;
    case CU_ATTR_SMEM_OPTIN:
        return 232448;
    default:
        return 0;
    }
}
FAKE(cuDeviceGetAttribute, (int *v, int which, cu_device dev), " %d", (which),
     *v = attribute(which))

EXPORT cu_result cuGetErrorName(cu_result r, const char **s);
EXPORT cu_result cuGetErrorName(cu_result r, const char **s)
{
    *s = r == CU_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : r == 999 ? NULL : "CUDA_ERROR_FAKE";
    return *s ? CU_SUCCESS : CU_INVALID_VALUE;
}

EXPORT cu_result cuGetErrorString(cu_result r, const char **s);
EXPORT cu_result cuGetErrorString(cu_result r, const char **s)
{
    *s = r == CU_OUT_OF_MEMORY ? "out of memory" : "made up";
    return CU_SUCCESS;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void *host(cu_ptr p)
{
    return (void *)(uintptr_t)p;
}

static cu_ptr new_memory(size_t n)
{
    return (cu_ptr)(uintptr_t)aligned_alloc(512, (n + 511) / 512 * 512);
}

FAKE(cuMemAlloc_v2, (cu_ptr * p, size_t n), " %zu", (n), *p = new_memory(n))
FAKE(cuMemFree_v2, (cu_ptr p), "", (), free(host(p)))
FAKE(cuMemHostAlloc, (void **p, size_t n, unsigned flags), " %zu %u", (n, flags),
     *p = host(new_memory(n)))
FAKE(cuMemHostGetDevicePointer_v2, (cu_ptr * d, void *p, unsigned flags), "", (),
     *d = (cu_ptr)(uintptr_t)p)
FAKE(cuMemFreeHost, (void *p), "", (), free(p))
FAKE(cuMemcpyHtoDAsync_v2, (cu_ptr dst, const void *src, size_t n, cu_stream s), " %zu", (n),
     memcpy(host(dst), src, n))
FAKE(cuMemcpyDtoHAsync_v2, (void *dst, cu_ptr src, size_t n, cu_stream s), " %zu", (n),
     memcpy(dst, host(src), n))
FAKE(cuMemcpyDtoDAsync_v2, (cu_ptr dst, cu_ptr src, size_t n, cu_stream s), " %zu", (n),
     memcpy(host(dst), host(src), n))
/* Does not clear large buffers: they are fresh pages of zeros, and clearing would cost time. */
static void set(cu_ptr p, unsigned char v, size_t n)
{
    if (v || n < 64u << 20)
        memset(host(p), v, n);
}

FAKE(cuMemsetD8Async, (cu_ptr p, unsigned char v, size_t n, cu_stream s), " %u %zu", (v, n),
     set(p, v, n))
FAKE(cuMemsetD16Async, (cu_ptr p, unsigned short v, size_t n, cu_stream s), " %u %zu", (v, n),
     for (size_t i = 0; i < n; i++) memcpy((char *)host(p) + 2 * i, &v, 2))
FAKE(cuMemsetD32Async, (cu_ptr p, unsigned v, size_t n, cu_stream s), " %u %zu", (v, n),
     for (size_t i = 0; i < n; i++) memcpy((char *)host(p) + 4 * i, &v, 4))
FAKE(cuIpcGetMemHandle, (struct cu_ipc_handle * h, cu_ptr p), "", (), memset(h, 0, sizeof *h);
     memcpy(h, &p, sizeof p))

/* cuMemCreate() makes memory without an address: here, a file without a name. As on a GPU, an
 * access to an address that is only reserved is fatal. */
static int new_file(uint64_t *h, size_t n)
{
    int fd = memfd_create("memory", MFD_CLOEXEC);
    *h = (uint64_t)fd;
    return fd >= 0 && ftruncate(fd, (off_t)n) == 0 ? CU_SUCCESS : CU_OUT_OF_MEMORY;
}

static int map(cu_ptr *p, size_t n, int protection, int flags, int fd)
{
    void *at = mmap(host(*p), n, protection, flags, fd, 0);
    *p = (cu_ptr)(uintptr_t)at;
    return at == MAP_FAILED ? CU_OUT_OF_MEMORY : CU_SUCCESS;
}

static int reserve(cu_ptr *p, size_t n, int fixed)
{
    *p = fixed ? *p : 0;
    return map(p, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1);
}

FAKE(cuMemGetAllocationGranularity, (size_t * n, const struct cu_mem_prop *prop, int which), "", (),
     *n = 2 << 20)
FAKE(cuMemCreate,
     (uint64_t * h, size_t n, const struct cu_mem_prop *prop, unsigned long long flags), " %zu",
     (n), return new_file(h, n))
FAKE(cuMemRelease, (uint64_t h), "", (), close((int)h))
FAKE(cuMemAddressReserve, (cu_ptr * p, size_t n, size_t align, cu_ptr at, unsigned long long flags),
     " %zu", (n), return reserve(p, n, 0))
FAKE(cuMemAddressFree, (cu_ptr p, size_t n), " %zu", (n), munmap(host(p), n))
FAKE(cuMemMap, (cu_ptr p, size_t n, size_t at, uint64_t h, unsigned long long flags), " %zu", (n),
     return map(&p, n, PROT_NONE, MAP_SHARED | MAP_FIXED, (int)h))
FAKE(cuMemUnmap, (cu_ptr p, size_t n), " %zu", (n), return reserve(&p, n, MAP_FIXED))
FAKE(cuMemSetAccess, (cu_ptr p, size_t n, const struct cu_mem_access *a, size_t count), " %zu", (n),
     mprotect(host(p), n, PROT_READ | PROT_WRITE))

/* ---- modules and launches -------------------------------------------------------------------- */

static int load(cu_module *m, const char *image)
{
    bool elf = memcmp(image, "\177ELF", 4) == 0;
    if (!elf && !strstr(image, ".entry"))
        return CU_INVALID_IMAGE;
    *m = calloc(1, sizeof **m);
    (*m)->text = elf ? NULL : strdup(image);
    return CU_SUCCESS;
}

static int function(cu_function *f, cu_module m, const char *name)
{
    if ((m->text && !strstr(m->text, name)) || m->nfn == 64)
        return CU_NOT_FOUND;
    *f = &m->fn[m->nfn++];
    snprintf((*f)->name, sizeof(*f)->name, "%s", name);
    return CU_SUCCESS;
}

static int variable(cu_ptr *p, size_t *n, cu_module m, const char *name)
{
    static uint64_t word;
    if (!m->text || !strstr(m->text, name))
        return CU_NOT_FOUND;
    *p = (cu_ptr)(uintptr_t)&word;
    *n = sizeof word;
    return CU_SUCCESS;
}

static void run(cu_function f, void **args)
{
    if (strcmp(f->name, "add_one") != 0)
        return;
    uint32_t *x = host(*(cu_ptr *)args[0]), n = *(uint32_t *)args[1];
    for (uint32_t i = 0; i < n; i++)
        x[i]++;
}

FAKE(cuModuleLoadData, (cu_module * m, const void *image), "", (), return load(m, image))
FAKE(cuModuleUnload, (cu_module m), "", (), free(m->text); free(m))
FAKE(cuModuleGetFunction, (cu_function * f, cu_module m, const char *name), " %s", (name),
     return function(f, m, name))
FAKE(cuModuleGetGlobal_v2, (cu_ptr * p, size_t *n, cu_module m, const char *name), " %s", (name),
     return variable(p, n, m, name))
FAKE(cuFuncGetAttribute, (int *v, int which, cu_function f), " %s %d", (f->name, which),
     *v = which == CU_FUNC_MAX_THREADS ? 1024 : 0)
FAKE(cuFuncSetAttribute, (cu_function f, int which, int v), " %s %d %d", (f->name, which, v), )
FAKE(cuLaunchKernel,
     (cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
      unsigned smem, cu_stream s, void **args, void **extra),
     " %s %u,%u,%u %u,%u,%u %u", (f->name, gx, gy, gz, bx, by, bz, smem), run(f, args))
FAKE(cuLaunchKernelEx, (const struct cu_launch_config *c, cu_function f, void **args, void **extra),
     " %s %u,%u,%u %u,%u,%u %u attributes %u: %d %u,%u,%u",
     (f->name, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->smem,
      c->nattrs, c->nattrs ? c->attrs[0].id : 0, c->nattrs ? c->attrs[0].value.cluster.x : 0,
      c->nattrs ? c->attrs[0].value.cluster.y : 0, c->nattrs ? c->attrs[0].value.cluster.z : 0),
     run(f, args))

#ifndef WITHOUT_TENSOR_MAPS
FAKE(cuTensorMapEncodeTiled,
     (struct cu_tensormap * m, int type, uint32_t rank, void *p, const uint64_t *dims,
      const uint64_t *strides, const uint32_t *box, const uint32_t *elem, int interleave,
      int swizzle, int promo, int fill),
     " %d %u %llu %llu %u %u %d %d %d %d",
     (type, rank, (unsigned long long)dims[0], rank > 1 ? (unsigned long long)strides[0] : 0,
      box[0], elem[0], interleave, swizzle, promo, fill),
     memset(m, 0xff, sizeof *m))
#endif

/* ---- streams and events ---------------------------------------------------------------------- */

FAKE(cuStreamCreate, (cu_stream * s, unsigned flags), " %u", (flags), *s = calloc(1, sizeof **s))
FAKE(cuStreamCreateWithPriority, (cu_stream * s, unsigned flags, int priority), " %u %d",
     (flags, priority), *s = calloc(1, sizeof **s))
FAKE(cuStreamDestroy_v2, (cu_stream s), "", (), free(s))
FAKE(cuStreamSynchronize, (cu_stream s), "", (), )
FAKE(cuStreamWaitEvent, (cu_stream s, cu_event e, unsigned flags), "", (), )
FAKE(cuEventCreate, (cu_event * e, unsigned flags), " %u", (flags), *e = calloc(1, sizeof **e))
FAKE(cuEventDestroy_v2, (cu_event e), "", (), free(e))
FAKE(cuEventRecord, (cu_event e, cu_stream s), "", (), e->asked = 0)
FAKE(cuEventSynchronize, (cu_event e), "", (), )
FAKE(cuEventElapsedTime, (float *ms, cu_event a, cu_event b), "", (), *ms = 0.25f)

static int ready(cu_event e)
{
    const char *busy = getenv("FAKE_CUDA_BUSY");
    return e->asked++ < (busy ? atoi(busy) : 0) ? CU_NOT_READY : CU_SUCCESS;
}
FAKE(cuEventQuery, (cu_event e), "", (), return ready(e))
